"""What a medium may have after a power cut, made from the system calls that a process made (powercut.py).

What the medium is taken to do:
- What was complete when a sync of its file began is there when that sync has returned before the cut.
- Of what came later each sector of 512 bytes is as it was, or as any of the later writes left it: nothing, all, what
  came first with the last write torn, or each sector for itself, in any order. The same for the size of the file. Space
  that was never written is zero.
- Names (made, renamed, removed) are as they were when a sync of the folder began that has returned; of the later
  changes a beginning, or any of them, are there. That a sync of a file makes its name durable is not relied on.
- The lock file is memory that processes share, and never synced: it is not there, or zeros, or noise, or as it was at
  an earlier time.
"""

import os
import struct
import zlib

SECTOR = 512
# The records of faults.h, and the marks of powercut.c.
NEW, WRITE, SIZE, SYNC, SYNC_FOLDER, LINK, RENAME, UNLINK, GROW, MARK = 1, 2, 3, 4, 5, 6, 7, 8, 9, 100
TRIES, FULL, RELAXED, FLUSH, FLUSHED, LOCK_FILE, KILLED = (MARK + n for n in range(1, 8))
STORE = "s.objstore"


class File:
    """What of a file is certain, and the changes since."""

    def __init__(self, inode, content=b""):
        self.inode = inode
        self.certain = bytearray(content)
        self.changes = []  # (kind, offset or size, bytes)
        self.settled = 0  # changes that were made certain before those

    @staticmethod
    def apply(content, change):
        kind, at, data = change
        if kind == WRITE:
            if len(content) < at + len(data):
                content.extend(bytes(at + len(data) - len(content)))
            content[at : at + len(data)] = data
        elif kind == SIZE:
            if at < len(content):
                del content[at:]
            else:
                content.extend(bytes(at - len(content)))
        elif at > len(content):  # GROW
            content.extend(bytes(at - len(content)))

    def settle(self, until):
        """Everything up to that change is on the medium."""
        count = until - self.settled
        if count > 0:
            for change in self.changes[:count]:
                self.apply(self.certain, change)
            del self.changes[:count]
            self.settled = until

    def state(self, chance, way):
        content = bytearray(self.certain)
        if way == "nothing" or not self.changes:
            return content
        if way == "all":
            for change in self.changes:
                self.apply(content, change)
            return content
        if way == "torn":
            count = chance.randrange(len(self.changes))
            for change in self.changes[:count]:
                self.apply(content, change)
            kind, at, data = self.changes[count]
            if kind != WRITE:
                return content
            for start in range(at // SECTOR * SECTOR, at + len(data), SECTOR):
                if chance.random() < 0.5:
                    first, last = max(start, at), min(start + SECTOR, at + len(data))
                    self.apply(content, (WRITE, first, data[first - at : last - at]))
            return content
        # Each sector for itself.
        newest = chance.choice((0.1, 0.5, 0.9, 0.98))
        sizes, history = [len(content)], {}
        for change in self.changes:
            before = len(content)
            kind, at, data = change
            end = at + len(data) if kind == WRITE else before
            self.apply(content, change)
            touched = (
                range(at // SECTOR, -(-end // SECTOR))
                if kind == WRITE
                else range(at // SECTOR, -(-before // SECTOR))
                if kind == SIZE
                else ()
            )
            for sector in touched:
                start = sector * SECTOR
                old = history.get(sector)
                if old is None:
                    old = history[sector] = [bytes(self.certain[start : start + SECTOR]).ljust(SECTOR, b"\0")]
                old.append(bytes(content[start : start + SECTOR]).ljust(SECTOR, b"\0"))
            if len(content) != before:
                sizes.append(len(content))
        result = bytearray(self.certain)
        most = max(sizes)
        result.extend(bytes(-(-most // SECTOR) * SECTOR - len(result)) if most > len(result) else b"")
        for sector, values in history.items():
            value = values[-1] if chance.random() < newest else chance.choice(values)
            start = sector * SECTOR
            if len(result) < start + SECTOR:
                result.extend(bytes(start + SECTOR - len(result)))
            result[start : start + SECTOR] = value
        size = sizes[-1] if chance.random() < newest else chance.choice(sizes)
        del result[size:]
        result.extend(bytes(size - len(result)))
        return result


class Medium:
    def __init__(self, start):
        """start: name -> (inode, content)."""
        self.files = {}  # by inode, those that have it now
        self.names = {}  # the folder as it is certain
        self.now = {}  # and as the processes see it
        self.changes = []  # of names: function on a dictionary
        self.settled = 0
        self.open = {}  # (process, what) -> positions at which syncs began
        self.lock_file = b""
        for name, (inode, content) in start.items():
            self.files[inode] = self.now[name] = self.names[name] = File(inode, content)

    def change_names(self, change):
        change(self.now)
        self.changes.append(change)

    def play(self, record, is_lost=False):
        """One record; `is_lost`: a sync, or a write, that reports success and does nothing on the medium."""
        kind, process, inode, a, b, data = record
        if kind == NEW:
            file = self.files[inode] = File(inode)
            if data:
                name = os.path.basename(data.decode())
                self.change_names(lambda names: names.__setitem__(name, file))
        elif kind in (WRITE, SIZE, GROW):
            if not is_lost:
                self.files[inode].changes.append((kind, a, data))
        elif kind == SYNC:
            file = self.files[inode]
            if b == 0:
                self.open.setdefault((process, id(file)), []).append(file.settled + len(file.changes))
            else:
                # Two threads of a process may sync one file at once: the older beginning is the one that is certain.
                until = self.open[process, id(file)].pop(0)
                if not is_lost:
                    file.settle(until)
        elif kind == SYNC_FOLDER:
            if b == 0:
                self.open.setdefault((process, "folder"), []).append(self.settled + len(self.changes))
            else:
                until = self.open[process, "folder"].pop(0)
                count = until - self.settled
                if count > 0 and not is_lost:
                    for change in self.changes[:count]:
                        change(self.names)
                    del self.changes[:count]
                    self.settled = until
        elif kind == LINK:
            name, file = os.path.basename(data.decode()), self.files[inode]
            self.change_names(lambda names: names.__setitem__(name, file))
        elif kind == RENAME:
            old, new = (os.path.basename(part.decode()) for part in data.split(b"\0"))
            file = self.now[old]

            def change(names):
                if names.get(old) is file:
                    del names[old]
                names[new] = file

            self.change_names(change)
        elif kind == UNLINK:
            name = os.path.basename(data.decode())
            file = self.now[name]

            def change(names):
                if names.get(name) is file:
                    del names[name]

            self.change_names(change)
        elif kind == LOCK_FILE:
            self.lock_file = data

    def difference(self, folder):
        """None, or the first file that is not as all calls together leave it. Stores into a lock file are no calls."""
        if sorted(os.listdir(folder)) != sorted(self.now):
            return f"the names {sorted(os.listdir(folder))} but {sorted(self.now)}"
        for name, file in self.now.items():
            content = bytearray(file.certain)
            for change in file.changes:
                file.apply(content, change)
            if not name.endswith("-lock") and open(os.path.join(folder, name), "rb").read() != content:
                return name
        return None

    def state(self, chance):
        """name -> (inode, content); and how it came to be, in words."""
        names = dict(self.names)
        way_of_names = chance.choice(("nothing", "all", "first", "some"))
        if way_of_names != "nothing":
            count = chance.randint(0, len(self.changes)) if way_of_names == "first" else len(self.changes)
            for change in self.changes[:count]:
                if way_of_names != "some" or chance.random() < 0.5:
                    change(names)
        way = chance.choice(("nothing", "all", "torn", "sectors", "sectors", "sectors"))
        result, words = {}, []
        for name, file in sorted(names.items()):
            own = chance.choice(("nothing", "all", "torn", "sectors")) if chance.random() < 0.3 else way
            if name.endswith("-lock"):
                own = chance.choice(("gone", "zeros", "noise", "old", "old"))
                if own == "gone":
                    words.append(f"{name}: gone")
                    continue
                size = len(file.state(chance, "all")) if chance.random() < 0.8 else chance.choice((0, 4096))
                content = bytearray(size)
                if own == "noise":
                    content[: min(size, 8192)] = chance.randbytes(min(size, 8192))
                elif own == "old":
                    content[: len(self.lock_file)] = self.lock_file[:size]
            else:
                content = file.state(chance, own)
            words.append(f"{name}: {own} of {len(file.changes)}, {len(content)} bytes")
            result[name] = (file.inode, content)
        return result, f"names {way_of_names} of {len(self.changes)}; " + "; ".join(words)


def identity_of(state):
    """Two states with the same one are the same; of a lock file counts how long it is, and how it begins."""
    return tuple(
        (name, len(content), zlib.crc32(content[:64] if name.endswith("-lock") else content))
        for name, (_, content) in sorted(state.items())
    )


def write_state(state, folder):
    """Files, with their inodes where the store has noted them. Returns name -> (inode, content)."""
    os.mkdir(folder)
    result, identities = {}, {}
    for name, (inode, content) in state.items():
        with open(os.path.join(folder, name), "wb") as file:
            file.write(content)
            status = os.fstat(file.fileno())
        identities[inode] = (status.st_dev, status.st_ino)
        result[name] = (status.st_ino, content)
    if STORE in result and len(result[STORE][1]) >= 3 * 4096:
        # The session page (docs/file-format.md, 2.3) knows lock file and store by device and inode.
        inode, content = result[STORE]
        content = bytearray(content)
        for at in (8, 72):
            old = struct.unpack_from("<Q", content, 8192 + at + 8)[0]
            if old in identities and any(content[8192 : 8192 + 88]):
                struct.pack_into("<QQ", content, 8192 + at, *identities[old])
        with open(os.path.join(folder, STORE), "r+b") as file:
            file.seek(8192)
            file.write(content[8192 : 8192 + SECTOR])
        result[STORE] = (inode, content)
    return result


def read_log(path):
    data = open(path, "rb").read()
    at, records = 0, []
    header = struct.Struct("<IIQQQQ")
    while at < len(data):
        kind, process, file, a, b, count = header.unpack_from(data, at)
        at += header.size
        records.append((kind, process, file, a, b, data[at : at + count]))
        at += count
    return records

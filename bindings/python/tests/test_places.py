"""Where a store lies: files that are deleted or replaced under it, and the access rights of what is next to it."""

import multiprocessing
import os
import resource
import shutil
import stat

import pytest

import objstore
from objstore import Model, field


class Note(Model):
    id: int = field(primary_key=True)
    text: str = ""


def mode(path):
    return oct(stat.S_IMODE(os.stat(path).st_mode))


def replace_and_write(path, how, gate, done):
    """Another process puts a new store in the place of the one that its parent has open, and uses it twice."""
    if how == "deleted":
        os.unlink(path)
    elif how == "folder":
        shutil.rmtree(os.path.dirname(path))
        os.mkdir(os.path.dirname(path))
    else:
        os.replace(path + ".other", path)
    with objstore.open(path, models=[Note]) as store:
        with store.write():
            store.add(Note(id=10))
        done.set()
        gate.wait()
        with store.write():
            store.add(Note(id=11))
        assert sorted(note.id for note in store.objects(Note)) == [10, 11]


def about_to_replace(tmp_path, how):
    """The place of a store, the process that is going to replace it, and its events."""
    (tmp_path / "folder").mkdir()
    path = str(tmp_path / "folder" / "store")
    if how == "replaced":
        objstore.open(path + ".other", models=[Note]).close()
    context = multiprocessing.get_context("spawn")
    gate, done = context.Event(), context.Event()
    return path, context.Process(target=replace_and_write, args=(path, how, gate, done)), gate, done


@pytest.mark.parametrize("how", ["deleted", "folder", "replaced"])
def test_a_replaced_store(tmp_path, how):
    path, other, gate, done = about_to_replace(tmp_path, how)
    store = objstore.open(path, models=[Note])
    with store.write():
        store.add(Note(id=1))
    other.start()
    assert done.wait(60)
    with pytest.raises(objstore.Replaced, match="was deleted, or another one has its place"):
        with store.write():
            store.add(Note(id=2))
    if how != "folder":  # where nothing of the old one is left, readers cannot notice
        with pytest.raises(objstore.Replaced):
            store.statistics()
    gate.set()
    other.join()
    assert other.exitcode == 0
    store.close()
    with objstore.open(path, models=[Note]) as store:
        assert sorted(note.id for note in store.objects(Note)) == [10, 11]


@pytest.mark.parametrize("how", ["deleted", "replaced"])
def test_who_waits_hears_of_it(tmp_path, how):
    """A program that only observes."""
    path, other, gate, _ = about_to_replace(tmp_path, how)
    with objstore.open(path, models=[Note]) as store:
        told = []
        token = store.observe(Note, lambda change: told.append(change.insertion_count), initial=False)
        with store.write():
            store.add(Note(id=1))
        assert store.deliver() == 1
        other.start()
        try:
            with pytest.raises(objstore.Replaced, match="another one has its place"):
                while not store.wait(60):
                    pass
            with pytest.raises(objstore.Replaced):
                store.deliver()
        finally:
            gate.set()
            other.join()
        assert other.exitcode == 0 and told == [1] and not token.is_closed


def test_a_deleted_store_acknowledges_nothing(tmp_path):
    with objstore.open(tmp_path / "store", models=[Note]) as store:
        with store.write():
            store.add(Note(id=1))
        with pytest.raises(objstore.Replaced):
            with store.write():
                store.add(Note(id=2))
                os.unlink(tmp_path / "store")
        assert [note.id for note in store.objects(Note)] == [1]


@pytest.mark.parametrize("wanted", [0o600, 0o660, 0o666])
def test_files_beside_a_store_have_its_mode(tmp_path, wanted):
    path = str(tmp_path / "store")
    before = os.umask(0o022)
    try:
        with objstore.open(path, models=[Note]) as store, store.write():
            store.add(Note(id=1, text="swordfish"))
        os.chmod(path, wanted)
        with objstore.open(path, models=[Note]) as store:
            with store.write():
                store.add(Note(id=2))
            store.copy_to(path + ".copy")
            assert [mode(path + end) for end in ("-log", "-lock", ".copy")] == [oct(wanted)] * 3
        objstore.salvage(path, path + ".salvaged")
        with objstore.open(path + ".seeded", models=[Note], seed=path) as store:
            assert len(store.objects(Note)) == 2
            assert [mode(path + end) for end in (".salvaged", ".seeded", ".seeded-lock")] == [oct(wanted)] * 3
    finally:
        os.umask(before)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can open another user's store")
def test_root_locks_no_user_out(tmp_path):
    path = str(tmp_path / "store")
    objstore.open(path, models=[Note]).close()
    os.chown(path, 1234, 4321)
    os.chmod(path, 0o600)
    with objstore.open(path, models=[Note]) as store:
        with store.write():
            store.add(Note(id=1))
        for end in ("-lock", "-log"):
            status = os.stat(path + end)
            assert (status.st_uid, status.st_gid, stat.S_IMODE(status.st_mode)) == (1234, 4321, 0o600)


def test_immutable_is_for_files_that_no_process_writes(tmp_path):
    path = tmp_path / "store"
    with objstore.open(path, models=[Note]) as store:
        with store.write():
            store.add(Note(id=1))
    writer = objstore.open(path, models=[Note])
    process = multiprocessing.get_context("spawn").Pool(1)
    try:
        assert process.apply(open_immutable, (str(path),)).startswith("Busy: ")
        writer.close()
        assert process.apply(open_immutable, (str(path),)) == "1"
    finally:
        process.terminate()


def begin_beside_a_reader(path, gate, done):
    with objstore.open(path, models=[Note], mode="immutable"):
        gate.set()
        done.wait()


@pytest.mark.parametrize("timeout", [None, 5, 0])
def test_a_write_beside_an_immutable_reader_is_busy(tmp_path, timeout):
    path, context = str(tmp_path / "store"), multiprocessing.get_context("spawn")
    with objstore.open(path, models=[Note]) as store, store.write():
        store.add(Note(id=1))
    gate, done = context.Event(), context.Event()
    reader = context.Process(target=begin_beside_a_reader, args=(path, gate, done))
    reader.start()
    try:
        assert gate.wait(60)
        with objstore.open(path, models=[Note], write_timeout=timeout) as store:
            with pytest.raises(objstore.Busy, match="mode immutable"), store.write():
                pass
    finally:
        done.set()
        reader.join()
    with objstore.open(path, models=[Note]) as store, store.write():
        store.add(Note(id=2))


@pytest.mark.parametrize("mode", ["read-write", "read-only"])
def test_a_file_that_is_no_log_stays(tmp_path, mode):
    path = tmp_path / "store"
    with objstore.open(path, models=[Note]) as store, store.write():
        store.add(Note(id=1))
    foreign = tmp_path / "store-log"
    foreign.write_text("a text that is not a log")
    with objstore.open(path, models=[Note], mode=mode) as store:
        if mode == "read-write":
            with pytest.raises(objstore.Error, match="must be moved away"), store.write():
                store.add(Note(id=2))
        assert len(store.objects(Note)) == 1
    assert foreign.read_text() == "a text that is not a log"
    objstore.delete_files(path)
    assert not path.exists() and foreign.read_text() == "a text that is not a log"


def open_immutable(path):
    try:
        with objstore.open(path, models=[Note], mode="immutable") as store:
            return str(len(store.objects(Note)))
    except objstore.Error as error:
        return f"{type(error).__name__}: {error}"


def test_a_flush_of_a_deleted_store(tmp_path):
    path = tmp_path / "store"
    with objstore.open(path, models=[Note], durability="relaxed", relaxed=60) as store:
        with store.write():
            store.add(Note(id=1))
        store.flush()
        path.unlink()
        with pytest.raises(objstore.Replaced):
            store.flush()


@pytest.mark.parametrize("size", [8, 5000, 65536])
def test_a_file_that_is_no_lock_file_stays(tmp_path, size):
    path, foreign = tmp_path / "store", tmp_path / "store-lock"
    objstore.open(path, models=[Note]).close()
    text = b"somebody's notes, " * size
    foreign.unlink(missing_ok=True)
    foreign.write_bytes(text[:size])
    with pytest.raises(
        objstore.Error, match="is not the lock file of a store: it stays as it is, and must be moved away"
    ):
        objstore.open(path, models=[Note])
    assert foreign.read_bytes() == text[:size]
    foreign.unlink()
    # Zeros are what a power cut may leave, or anything in a file of the size that a lock file has at first (4096).
    foreign.write_bytes(bytes(size))
    with objstore.open(path, models=[Note]) as store, store.write():
        store.add(Note(id=1))


def test_a_file_with_the_inode_of_the_last_lock_file_stays(tmp_path):
    """What is deleted leaves its inode to the next file: here a text is written into a dead process's lock file."""
    path, foreign = tmp_path / "store", tmp_path / "store-lock"
    if (process := os.fork()) == 0:
        store = objstore.open(path, models=[Note])
        os._exit(0 if store else 1)
    os.waitpid(process, 0)
    text = b"somebody's notes, " * 300
    with open(foreign, "r+b") as file:
        file.truncate(0)
        file.write(text)
    with pytest.raises(objstore.Error, match="is not the lock file of a store"):
        objstore.open(path, models=[Note])
    assert foreign.read_bytes() == text
    foreign.unlink()
    objstore.open(path, models=[Note]).close()


@pytest.mark.parametrize("what", ["text", "store"])
def test_what_has_the_name_of_a_log_to_come_and_is_none_stays(tmp_path, what):
    path, beside = tmp_path / "store", tmp_path / "store-log.new"
    for is_there in (False, True):
        if is_there:
            beside.rename(tmp_path / "away")
            objstore.open(path, models=[Note]).close()
            (tmp_path / "away").rename(beside)
        elif what == "text":
            beside.write_text("my notes")
        else:
            with objstore.open(beside, models=[Note]) as other, other.write():
                other.add(Note(id=7))
        before = beside.read_bytes()
        for use in (
            lambda: objstore.open(path, models=[Note]),
            lambda: objstore.open(path, mode="read-only", models=[Note]),
            lambda: objstore.delete_files(path),
        )[: 3 if is_there else 1]:
            with pytest.raises(OSError, match="store-log.new is not the log of a store: it stays as it is"):
                use()
            assert beside.read_bytes() == before and path.exists() == is_there
    if what == "store":
        with objstore.open(beside, models=[Note]) as other:
            assert [note.id for note in other.objects(Note)] == [7]


@pytest.mark.parametrize("rest", [b"", b"\0" * 100, b"objslog"])
def test_what_a_killed_process_left_of_a_log_goes(tmp_path, rest):
    path = tmp_path / "store"
    objstore.open(path, models=[Note]).close()
    (tmp_path / "store-log.new").write_bytes(b"" if rest == b"objslog" else rest)
    with objstore.open(path, models=[Note]) as store, store.write():
        store.add(Note(id=1))
    assert [each.name for each in tmp_path.iterdir()] == ["store"]


@pytest.mark.parametrize("round", range(8))
def test_a_hard_link_to_the_lock_file_of_another_store(tmp_path, round):
    """Making such a link is harmless: the other store's users continue, also where its lock file has got the inode
    that one of this store had before (which is up to the file system: in every second round or so)."""
    other, path = tmp_path / "other", tmp_path / "store"
    objstore.open(path, models=[Note]).close()
    with objstore.open(other, models=[Note]) as first:
        with first.write():
            first.add(Note(id=1))
        (tmp_path / "store-lock").unlink(missing_ok=True)
        os.link(tmp_path / "other-lock", tmp_path / "store-lock")
        with objstore.open(path, models=[Note]) as second:
            with second.write():
                second.add(Note(id=2))
            with first.write():
                first.add(Note(id=3))
            assert [note.id for note in first.objects(Note)] == [1, 3] and [
                note.id for note in second.objects(Note)
            ] == [2]
            first.verify()
        assert len(first.objects(Note)) == 2
    assert not os.path.samefile(other, path)


def open_with_descriptors(path, count, result):
    highest = max(map(int, os.listdir("/proc/self/fd")))
    while (free := os.open(os.devnull, os.O_RDONLY)) < highest:
        pass  # what tests before have left free between others
    os.close(free)
    resource.setrlimit(resource.RLIMIT_NOFILE, (free + count, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
    try:
        objstore.open(path, models=[Note]).close()
        result.send("opened")
    except objstore.Error as error:
        result.send(str(error))


def test_a_failed_open_leaves_no_file_where_descriptors_run_out(tmp_path):
    context = multiprocessing.get_context("fork")
    answers = []
    for count in range(16):
        folder = tmp_path / str(count)
        folder.mkdir()
        mine, theirs = context.Pipe(duplex=False)
        process = context.Process(target=open_with_descriptors, args=(folder / "store", count, theirs))
        process.start()
        process.join()
        answers.append(mine.recv())
        assert os.listdir(folder) in ([], ["store"]), answers[-1]
        assert (os.listdir(folder) == ["store"]) == (answers[-1] == "opened"), f"{count}: {answers[-1]}"
        if answers[-1] == "opened":
            break
        assert "oo many open files" in answers[-1]
    assert answers[-1] == "opened" and len(answers) > 4


@pytest.mark.parametrize("how", ["moved", "linked", "folder", "exchanged"])
def test_a_store_that_is_moved_away(tmp_path, how):
    """Whoever has it open writes no more; what was written is in the file that was moved."""
    folder = tmp_path / "folder"
    folder.mkdir()
    path, aside = folder / "store", folder / "aside"

    def move():
        if how == "folder":
            folder.rename(tmp_path / "elsewhere")
            return
        if how == "linked":
            os.link(path, aside)
            path.unlink()
            return
        path.rename(aside)
        if how == "exchanged":
            objstore.open(path, models=[Note]).close()

    store = objstore.open(path, models=[Note])
    for number in range(100):
        with store.write():
            store.add(Note(id=number))
    with pytest.raises(objstore.Replaced), store.write():
        store.add(Note(id=1000))
        move()
    with pytest.raises(objstore.Replaced), store.write():
        pass
    if how != "exchanged":  # else readers get an error as well
        assert len(store.objects(Note)) == 100
    store.close()
    if how == "exchanged":
        with objstore.open(path, models=[Note]) as store:
            assert len(store.objects(Note)) == 0
    with objstore.open(tmp_path / "elsewhere" / "store" if how == "folder" else aside, models=[Note]) as store:
        assert [note.id for note in store.objects(Note)] == list(range(100))
        store.verify()


def test_moved_between_two_writes(tmp_path):
    """Also where one write follows another at once."""
    for number in range(30):
        path = tmp_path / f"store-{number}"
        store = objstore.open(path, models=[Note], durability="none")
        with store.write():
            store.add(Note(id=1))
        os.rename(path, tmp_path / "aside")
        with pytest.raises(objstore.Replaced), store.write():
            store.add(Note(id=2))
        store.close()

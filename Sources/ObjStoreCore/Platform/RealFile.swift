internal import CSystem

/// A file of the operating system.
///
/// Its descriptor carries the locks that `RealLock` takes, and is closed in a forked child.
package final class RealFile: StorageFile, @unchecked Sendable {
    let path: String
    private let inMemory: Bool
    private let fork = ForkGuard()
    private let state = Lock()
    /// Nil once closed. Closing while another thread is in a call is the caller's mistake.
    private var held: UnsafeMutablePointer<cs_held>?
    /// Bytes for which a `RealLock` exists.
    private var lockBytes: Set<Int64> = []
    private var wasLocked = false
    /// As it was when the file was opened; device and inode stay the same.
    private var opened = stat()

    /// To the system a path ends where a NUL is: that would be another file.
    static func check(_ path: String) throws(StoreError) {
        guard let end = path.utf8.firstIndex(of: 0) else { return }
        throw StoreError(.invalidArgument, "the path \(path[..<end]) goes on behind a NUL, which no path has")
    }

    package init(path: String, mode: OpenMode) throws(StoreError) {
        try RealFile.check(path)
        self.path = path
        inMemory = false
        let (flags, action) =
            switch mode {
            case .readOnly: (O_RDONLY, "open")
            case .existing: (O_RDWR, "open")
            case .create: (O_RDWR | O_CREAT, "open or create")
            case .createNew: (O_RDWR | O_CREAT | O_EXCL, "create")
            case .side: (O_RDWR | O_NOFOLLOW, "open")
            }
        // O_NONBLOCK: opening a pipe would wait for its other end. It means nothing for regular files.
        held = cs_held_open(path, flags | O_NONBLOCK, 0o666)
        super.init()
        guard let held else {
            let code = cs_errno()
            if code == ELOOP && mode == .side {
                throw StoreError(.io, "\(path) is a symbolic link: files beside a store are not followed")
            }
            throw systemError(code, "\(action) \(path)")
        }
        // Opening reads a few blocks here and there; reading ahead would cost more than them. Code that reads
        // everything reads much at once.
        cs_advise_random(held.pointee.fd)
        do throws(StoreError) {
            opened = try status("open")
            guard opened.st_mode & UInt32(S_IFMT) == UInt32(S_IFREG) else {
                throw StoreError(.io, "cannot open \(path): not a regular file")
            }
        } catch {
            close()
            // A caller that requested a new file and gets none does not know that there is one.
            if mode == .createNew { unlink(path) }
            throw error
        }
    }

    /// A file in the folder of `path` that has no name until `link`; nil where the file system has no such files.
    init?(unnamedFor path: String) throws(StoreError) {
        self.path = path
        inMemory = false
        held = cs_held_unnamed(splitPath(path).folder, 0o666)
        super.init()
        if held == nil {
            let code = cs_errno()
            // EISDIR: a kernel that does not know the flag.
            if code == EOPNOTSUPP || code == EISDIR || code == EINVAL { return nil }
            throw systemError(code, "create \(path)")
        }
        opened = try status("create")
    }

    /// Gives an unnamed file its name, unless another file has it; false where that cannot be done (no /proc, not
    /// allowed).
    func link(to path: String) throws(StoreError) -> Bool {
        if cs_link_unnamed(try descriptor("name"), path) == 0 { return true }
        let code = cs_errno()
        if code == EEXIST { return true }
        if code == ENOENT || code == EPERM || code == EXDEV || code == EOPNOTSUPP { return false }
        throw systemError(code, "give a new file the name \(path)")
    }

    /// An anonymous file in memory.
    init(anonymous name: String) throws(StoreError) {
        path = "memory:\(name)"
        inMemory = true
        held = cs_held_memory(name)
        super.init()
        if held == nil { throw systemError(cs_errno(), "create \(path)") }
        opened = try status("create")
    }

    /// Never called: without it the compiler makes one and warns of its recursion.
    private override init() { fatalError() }

    deinit { close() }

    /// The open descriptor; an error in a forked child and after `close`.
    package func descriptor(_ operation: String) throws(StoreError) -> Int32 {
        try fork.check(operation, path)
        guard let held else { throw StoreError(.io, "cannot \(operation) \(path): the file was closed") }
        return held.pointee.fd
    }

    private func status(_ operation: String) throws(StoreError) -> stat {
        var result = stat()
        if fstat(try descriptor(operation), &result) != 0 { throw systemError(cs_errno(), "\(operation) \(path)") }
        return result
    }

    private func namesAndSize(_ operation: String) throws(StoreError) -> (names: UInt32, size: Int64) {
        var names: UInt32 = 0, size: Int64 = 0
        if cs_names_and_size(try descriptor(operation), &names, &size) != 0 {
            throw systemError(cs_errno(), "\(operation) \(path)")
        }
        return (names, size)
    }

    package override func size() throws(StoreError) -> Int { Int(try namesAndSize("get the size of").size) }

    package override func identity() throws(StoreError) -> FileIdentity {
        _ = try descriptor("identify")
        return FileIdentity(device: UInt64(opened.st_dev), inode: UInt64(opened.st_ino))
    }

    package override func nameCount() throws(StoreError) -> Int {
        inMemory ? 1 : Int(try namesAndSize("look at").names)
    }

    package override func takeAccess(of other: StorageFile) throws(StoreError) {
        guard let other = other as? RealFile, !other.inMemory else { return }
        let model = try other.status("look at"), mine = try status("look at")
        var hasGroup = mine.st_gid == model.st_gid
        if !hasGroup || mine.st_uid != model.st_uid {
            let descriptor = try descriptor("give away")
            // Only root may give a file away; others may give it to a group that they are in.
            hasGroup = geteuid() == 0 && fchown(descriptor, model.st_uid, model.st_gid) == 0
            if !hasGroup { hasGroup = mine.st_gid == model.st_gid || fchown(descriptor, uid_t.max, model.st_gid) == 0 }
        }
        var mode = model.st_mode & 0o666 | 0o600
        if !hasGroup { mode = mode & 0o606 | (mode & 0o006) << 3 }
        if mine.st_mode & 0o777 != mode, fchmod(try descriptor("change the mode of"), mode) != 0 {
            throw systemError(cs_errno(), "change the mode of \(path)")
        }
    }

    /// Throws if this process, which has just made the file, could not open it again: with a umask that takes that
    /// from its owner, too.
    func checkReopening(as path: String) throws(StoreError) {
        let mode = try status("look at").st_mode & 0o777
        if mode & 0o600 == 0o600 { return }
        // Some processes may open what its mode forbids.
        let again = cs_open("/proc/self/fd/\(try descriptor("look at"))", O_RDWR)
        if again >= 0 {
            CSystem.close(again)
            return
        }
        throw StoreError(
            .io,
            """
            cannot create \(path): the umask leaves it the mode 0\(String(mode, radix: 8)), with which its owner \
            could not open it
            """
        )
        .system(EACCES)
    }

    /// Others that share the bytes may have them, too. False: a process has one of them exclusively.
    func lockShared(_ bytes: Range<Int64>) throws(StoreError) -> Bool {
        state.withLock { wasLocked = true }
        let code = cs_lock_shared(try descriptor("lock"), bytes.lowerBound, Int64(bytes.count))
        if code != 0 && code != EAGAIN { throw systemError(code, "lock \(path)") }
        return code == 0
    }

    /// Bytes that the file had when it was opened.
    var openedSize: Int { opened.st_size }

    // MARK: Reading and writing

    package override func read(into buffer: UnsafeMutableRawPointer, count: Int, at offset: Int) throws(StoreError) {
        let descriptor = try descriptor("read")
        var done = 0
        while done < count {
            let n = Int(cs_pread(descriptor, buffer + done, count - done, Int64(offset + done)))
            if n < 0 { throw systemError(cs_errno(), "read \(count - done) bytes at \(offset + done) of \(path)") }
            if n == 0 {
                memset(buffer + done, 0, count - done)
                return
            }
            done += n
        }
    }

    package override func write(_ vectors: UnsafePointer<WriteVector>, count: Int, at offset: Int) throws(StoreError) {
        let descriptor = try descriptor("write")
        try RealFile.writeAll(vectors, count: count, at: offset, path: path) { vectors, count, offset in
            cs_pwritev(descriptor, UnsafeRawPointer(vectors).assumingMemoryBound(to: iovec.self), count, offset)
        }
    }

    /// Loops over the kernel's limits: at most 1024 vectors a call, and any call may write less than requested.
    /// A call that writes nothing is an error, not a reason to continue.
    package static func writeAll(
        _ vectors: UnsafePointer<WriteVector>, count: Int, at start: Int, path: String,
        pwritev: (UnsafePointer<WriteVector>, Int32, Int64) -> Int64
    ) throws(StoreError) {
        var offset = start
        var index = 0  // the first vector that is not wholly written
        var written = 0  // bytes of it that are
        while true {
            while index < count, vectors[index].count == written { index += 1; written = 0 }
            if index == count { return }
            let n: Int
            if written == 0 {
                n = Int(pwritev(vectors + index, Int32(min(count - index, 1024)), Int64(offset)))
            } else {
                // Once in a blue moon: the rest of a vector that a short write cut goes alone.
                var rest = WriteVector(base: vectors[index].base! + written, count: vectors[index].count - written)
                n = Int(pwritev(&rest, 1, Int64(offset)))
            }
            if n <= 0 {
                let code = n < 0 ? cs_errno() : EIO
                let total = (0..<count).reduce(0) { $0 + vectors[$1].count }
                throw systemError(
                    code, "write \(total) bytes at \(start) of \(path) (\(offset - start) of them were written)")
            }
            offset += n
            written += n
            while index < count, written >= vectors[index].count {
                written -= vectors[index].count
                index += 1
            }
        }
    }

    package override func startWriting() {
        if !inMemory, let descriptor = try? descriptor("write") { cs_start_writing(descriptor) }
    }

    package override func sync() throws(StoreError) {
        let descriptor = try descriptor("sync")
        if !inMemory, cs_fdatasync(descriptor) != 0 {
            let code = cs_errno()
            throw StoreError(.syncFailed, "cannot sync \(path): \(errorText(code)) (errno \(code))")
        }
    }

    // MARK: Space

    /// All or nothing. The caller holds the lock under which the file grows.
    ///
    /// ext4 keeps what it got before the disk was full. So space is taken behind the end of the file
    /// first: then freeing it cannot cut off anything, and the file never looks longer than it is.
    package override func reserve(_ size: Int) throws(StoreError) {
        let descriptor = try descriptor("grow")
        let old = try self.size()
        if old >= size { return }
        if old == 0 {
            // An empty file has nothing that freeing could cut off.
            if cs_fallocate(descriptor, false, 0, Int64(size)) == 0 { return }
            let code = cs_errno()
            if code == EOPNOTSUPP || code == ENOSYS { return try writeZeros(from: 0, to: size) }
            _ = cs_ftruncate(descriptor, 0)
            throw growError(code, from: 0, to: size)
        }
        if cs_fallocate(descriptor, true, Int64(old), Int64(size - old)) != 0 {
            let code = cs_errno()
            if code == EOPNOTSUPP || code == ENOSYS { return try writeZeros(from: old, to: size) }
            if try self.size() == old { _ = cs_ftruncate(descriptor, Int64(old)) }
            throw growError(code, from: old, to: size)
        }
        // Moves the end only; unlike truncate it can never move it back.
        if cs_fallocate(descriptor, false, Int64(old), Int64(size - old)) != 0 {
            throw growError(cs_errno(), from: old, to: size)
        }
    }

    /// Where the file system cannot allocate: zeros written are space allocated.
    package func writeZeros(from old: Int, to size: Int) throws(StoreError) {
        let descriptor = try descriptor("grow")
        let piece = min(1 << 20, size - old)
        let zeros = try Memory.allocateAligned(piece, to: 4096)
        defer { zeros.deallocate() }
        memset(zeros, 0, piece)
        var offset = old
        while offset < size {
            var vector = iovec(iov_base: zeros, iov_len: min(piece, size - offset))
            let n = Int(cs_pwritev(descriptor, &vector, 1, Int64(offset)))
            if n <= 0 {
                let code = n < 0 ? cs_errno() : EIO
                _ = cs_ftruncate(descriptor, Int64(old))
                throw growError(code, from: old, to: size)
            }
            offset += n
        }
    }

    private func growError(_ code: Int32, from old: Int, to size: Int) -> StoreError {
        systemError(code, "grow \(path) by \(size - old) bytes from \(old) to \(size)")
    }

    package override func truncate(_ size: Int) throws(StoreError) {
        if cs_ftruncate(try descriptor("truncate"), Int64(size)) != 0 {
            throw systemError(cs_errno(), "truncate \(path) to \(size) bytes")
        }
    }

    // MARK: Maps

    package override func map(_ bytes: Int) throws(StoreError) -> FileMap {
        guard let map = cs_held_map(try descriptor("map"), bytes, false) else {
            throw systemError(cs_errno(), "map \(bytes) bytes of \(path)")
        }
        // Reading ahead around each fault makes a cold object 18 times as slow; scans prefetch themselves.
        // Only advice: where it is refused, everything still works.
        madvise(map.pointee.base, bytes, MADV_RANDOM)
        return RealFileMap(map)
    }

    /// Maps for reading and writing, shared with other processes.
    func mapShared(_ bytes: Int, isNew: Bool) throws(StoreError) -> SharedMemory {
        let identity = try identity()
        guard let map = cs_held_map(try descriptor("map"), bytes, true) else {
            throw systemError(cs_errno(), "map \(bytes) bytes of \(path)")
        }
        return RealSharedMemory(self, map, identity, isNew: isNew)
    }

    // MARK: Locks

    /// The kernel grants a second lock on one description at once, so each byte may have one lock object only.
    func claimLock(_ byte: Int64) {
        let isNew = state.withLock {
            wasLocked = true
            return lockBytes.insert(byte).inserted
        }
        precondition(isNew, "two lock objects for byte \(byte) of \(path): both would succeed")
    }

    func dropLock(_ byte: Int64) {
        if !fork.isChild { _ = state.withLock { lockBytes.remove(byte) } }
    }

    /// 0, `EAGAIN` where another description has it, or another errno.
    func lockByte(_ byte: Int64) throws(StoreError) -> Int32 { cs_lock_byte(try descriptor("lock"), byte, true) }

    /// Does nothing in a forked child: the lock is the parent's.
    func unlockByte(_ byte: Int64) {
        guard !fork.isChild, let held else { return }
        let code = cs_lock_byte(held.pointee.fd, byte, false)
        precondition(code == 0, "cannot release the lock on byte \(byte) of \(path): \(errorText(code))")
    }

    /// Whether this is a forked child of the process that opened the file.
    var isInherited: Bool { fork.isChild }

    // MARK: End

    /// Releases every lock of this file, too. In a forked child it only frees what is the child's own.
    package override func close() {
        // Another thread may have held `state` when the parent forked.
        guard let held = fork.isChild ? takeHeld() : state.withLock({ takeHeld() }) else { return }
        // A map outlives the descriptor and keeps its locks alive: they are released by hand, but not
        // in a forked child, where they are still the parent's.
        if wasLocked, !fork.isChild { _ = cs_unlock_all(held.pointee.fd) }
        cs_held_release(held)
    }

    private func takeHeld() -> UnsafeMutablePointer<cs_held>? {
        defer { held = nil }
        return held
    }
}

private final class RealFileMap: FileMap, @unchecked Sendable {
    private let held: UnsafeMutablePointer<cs_held>

    init(_ held: UnsafeMutablePointer<cs_held>) {
        self.held = held
        super.init(base: UnsafeRawPointer(held.pointee.base), bytes: held.pointee.bytes)
    }

    deinit { cs_held_release(held) }
}

private final class RealSharedMemory: SharedMemory, @unchecked Sendable {
    private let held: UnsafeMutablePointer<cs_held>
    private let state = Lock()
    /// Open until all of it has space.
    private var file: RealFile?

    init(_ file: RealFile, _ held: UnsafeMutablePointer<cs_held>, _ identity: FileIdentity, isNew: Bool) {
        self.held = held
        self.file = file
        super.init(base: held.pointee.base, bytes: held.pointee.bytes, identity: identity, isNew: isNew)
        if !isNew { didReserve() }
    }

    override func reserveAll() throws(StoreError) {
        try state.withLock { () throws(StoreError) in
            guard let file else { return }
            try file.reserve(bytes)
            didReserve()
        }
    }

    private func didReserve() {
        // Few pages of it are used, and those are not neighbours.
        madvise(base, bytes, MADV_RANDOM)
        closeFile()
    }

    private func closeFile() {
        file?.close()
        file = nil
    }

    deinit {
        closeFile()
        cs_held_release(held)
    }
}

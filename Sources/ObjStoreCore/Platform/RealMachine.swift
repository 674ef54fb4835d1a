internal import CSystem

/// The operating system itself (Linux).
package final class RealMachine: Machine, @unchecked Sendable {
    package static let shared = RealMachine()

    // MARK: Files

    package override func open(_ path: String, _ mode: OpenMode) throws(StoreError) -> StorageFile {
        try RealFile(path: path, mode: mode)
    }

    package override func create(
        _ path: String, like model: StorageFile?, _ fill: (StorageFile) throws(StoreError) -> Void
    ) throws(StoreError) {
        func make(_ file: StorageFile) throws(StoreError) {
            if let model { try file.takeAccess(of: model) } else { try real(file).checkReopening(as: path) }
            try fill(file)
        }
        if let file = try RealFile(unnamedFor: path) {
            defer { file.close() }
            try make(file)
            try file.sync()
            if try file.link(to: path) { return }
        }
        try createByRenaming(path, make)
    }

    /// For file systems without files that have no name. Killed in between, the file has another one.
    package func createByRenaming(_ path: String, _ make: (StorageFile) throws(StoreError) -> Void) throws(StoreError) {
        let temporary = path + ".new-" + String(random64(), radix: 36)
        let file = try RealFile(path: temporary, mode: .createNew)
        do throws(StoreError) {
            defer { file.close() }
            try make(file)
            try file.sync()
            try renameNew(temporary, to: path)
        } catch {
            try? remove(temporary)
            if error.code != .alreadyExists { throw error }
        }
    }

    package override func spareDescriptors() throws(StoreError) -> [EventDescriptor] {
        [try EventDescriptor(), try EventDescriptor()]
    }

    package override func openAnonymous(_ name: String) throws(StoreError) -> StorageFile {
        try RealFile(anonymous: name)
    }

    package override func createShared(
        _ path: String, bytes: Int, like model: StorageFile
    ) throws(StoreError) -> SharedMemory {
        try removeIfPresent(path)
        let file = try RealFile(path: path, mode: .createNew)
        do throws(StoreError) {
            try file.takeAccess(of: model)
            // A hole could not be filled later on a full disk: SIGBUS. New memory is mostly used by readers of a store
            // that no process writes, which touch its first part only.
            try file.writeZeros(from: 0, to: SharedMemory.firstPart)
            return try file.mapShared(bytes, isNew: true)
        } catch {
            file.close()
            try? remove(path)
            throw error
        }
    }

    package override func openShared(
        _ path: String, bytes: Int, _ identity: FileIdentity, like model: StorageFile?
    ) throws(StoreError) -> SharedMemory? {
        let file: RealFile
        do throws(StoreError) { file = try RealFile(path: path, mode: .side) } catch {
            if error.code == .notFound { return nil }
            throw error
        }
        do throws(StoreError) {
            // What is smaller than the first part was never memory, and stays as it is.
            guard try file.identity() == identity, file.openedSize >= SharedMemory.firstPart else {
                file.close()
                return nil
            }
            if let model { try file.takeAccess(of: model) }
            try file.reserve(bytes)
            return try file.mapShared(bytes, isNew: false)
        } catch {
            file.close()
            throw error
        }
    }

    package override func lockShared(_ file: StorageFile, bytes: Range<Int64>) throws(StoreError) -> Bool {
        try real(file).lockShared(bytes)
    }

    package override func fileSystem(of file: StorageFile) throws(StoreError) -> FileSystemKind {
        let file = real(file)
        let type = cs_filesystem_type(try file.descriptor("find the file system of"))
        if type < 0 { throw systemError(cs_errno(), "find the file system of \(file.path)") }
        return RealMachine.kind(ofType: type)
    }

    /// From `f_type` of statfs. Only systems of the kernel whose page cache and locks all processes share.
    package static func kind(ofType type: Int64) -> FileSystemKind {
        switch UInt32(truncatingIfNeeded: type) {
        case 0xEF53,  // ext2, ext3, ext4
            0x5846_5342,  // xfs
            0x9123_683E,  // btrfs
            0xF2F5_2010,  // f2fs
            0x2FC1_2FC1,  // zfs
            0xCA45_1A4E,  // bcachefs
            0x3153_464A,  // jfs
            0x794C_7630,  // overlay
            0x0102_1994,  // tmpfs
            0x8584_58F6:  // ramfs
            .coherent
        default:  // NFS, 9p, FUSE and virtiofs, SMB, ... and what has not been examined
            .incoherent
        }
    }

    // MARK: Names

    package override func identity(of path: String) throws(StoreError) -> FileIdentity {
        var status = stat()
        if stat(path, &status) != 0 { throw systemError(cs_errno(), "look at \(path)") }
        return FileIdentity(device: UInt64(status.st_dev), inode: UInt64(status.st_ino))
    }

    package override func exists(_ path: String) -> Bool { access(path, F_OK) == 0 }

    package override func resolve(_ path: String) throws(StoreError) -> String {
        try RealFile.check(path)
        return try resolveLinks(path, depth: 0)
    }

    package override func rename(_ from: String, to: String) throws(StoreError) {
        if CSystem.rename(from, to) != 0 { throw systemError(cs_errno(), "rename \(from) to \(to)") }
    }

    package override func renameNew(_ from: String, to: String) throws(StoreError) {
        if cs_rename_noreplace(from, to) == 0 { return }
        let code = cs_errno()
        if code != EINVAL && code != ENOSYS { throw systemError(code, "rename \(from) to the new name \(to)") }
        try RealMachine.linkAndUnlink(from, to: to)
    }

    /// For file systems that cannot rename without replacing. Killed in between, the file has both names.
    package static func linkAndUnlink(_ from: String, to: String) throws(StoreError) {
        if link(from, to) != 0 { throw systemError(cs_errno(), "link \(from) to the new name \(to)") }
        if unlink(from) != 0 { throw systemError(cs_errno(), "remove \(from) after linking it to \(to)") }
    }

    package override func remove(_ path: String) throws(StoreError) {
        if unlink(path) != 0 { throw systemError(cs_errno(), "remove \(path)") }
    }

    package override func syncFolder(of path: String) throws(StoreError) {
        let folder = splitPath(path).folder
        let descriptor = cs_open(folder, O_RDONLY | O_DIRECTORY)
        if descriptor < 0 { throw systemError(cs_errno(), "open the folder \(folder)") }
        let code = fsync(descriptor) == 0 ? 0 : cs_errno()
        close(descriptor)
        // EINVAL: the file system knows no sync of folders (some FUSE and network ones).
        if code != 0 && code != EINVAL {
            throw StoreError(.syncFailed, "cannot sync the folder \(folder): \(errorText(code)) (errno \(code))")
        }
    }

    // MARK: Locks and waiting

    package override func makeLock(_ file: StorageFile, byte: Int64) -> ExclusiveLock {
        RealLock(real(file), byte: byte)
    }

    package override func isLocked(_ file: StorageFile, bytes: Range<Int64>) throws(StoreError) -> Bool {
        let file = real(file)
        if bytes.isEmpty { return false }  // a length of 0 would mean: to the end
        let result = cs_lock_probe(try file.descriptor("look for locks of"), bytes.lowerBound, Int64(bytes.count))
        if result < 0 { throw systemError(-result, "look for locks of \(file.path)") }
        return result != 0
    }

    package override func wait(_ word: SharedWord, while value: UInt64, timeout: Int64) {
        // Linux runs Swift on little-endian machines only: the low half comes first.
        _ = cs_futex_wait(word.address, UInt32(truncatingIfNeeded: value), timeout)
    }

    package override func wake(_ word: SharedWord, count: Int32) { cs_futex_wake(word.address, count) }

    // MARK: Time and chance

    package override func monotonic() -> Int64 { cs_monotonic_ns() }
    package override func wallClock() -> Int64 { cs_realtime_ns() }

    /// From the kernel each time: buffered numbers would be the same again in a forked child.
    package override func random64() -> UInt64 {
        var value: UInt64 = 0
        let n = cs_random(&value, 8)  // up to 256 bytes are never cut short, by a signal neither
        precondition(n == 8, "getrandom failed: \(errorText(cs_errno()))")
        return value
    }

    /// Known once it was read: a process does not outlive its boot.
    private let boot = Lock()
    private var knownBoot: (UInt64, UInt64)?

    package override func bootID() throws(StoreError) -> (UInt64, UInt64) {
        if let known = boot.withLock({ knownBoot }) { return known }
        let id = try RealMachine.readBootID()
        boot.withLock { knownBoot = id }
        return id
    }

    private static func readBootID() throws(StoreError) -> (UInt64, UInt64) {
        let path = "/proc/sys/kernel/random/boot_id"
        let descriptor = cs_open(path, O_RDONLY)
        if descriptor < 0 {
            // The store is there, whatever the system says of this one.
            let code = cs_errno()
            throw StoreError(.io, "\(systemError(code, "open \(path)").message): a store in a file needs /proc").system(
                code)
        }
        defer { close(descriptor) }
        var words: (UInt64, UInt64) = (0, 0)
        var digits = 0
        var text = [UInt8](repeating: 0, count: 64)
        let n = Int(cs_pread(descriptor, &text, text.count, 0))
        if n < 0 { throw systemError(cs_errno(), "read \(path)") }
        for byte in text[..<n] {
            guard let digit = Character(Unicode.Scalar(byte)).hexDigitValue else { continue }
            if digits < 16 { words.0 = words.0 << 4 | UInt64(digit) } else { words.1 = words.1 << 4 | UInt64(digit) }
            digits += 1
        }
        guard digits == 32 else { throw StoreError(.io, "\(path) has \(digits) hexadecimal digits, 32 were expected") }
        return words
    }

    package override func startThread(
        _ name: String, _ body: @escaping @Sendable (WorkerThread) -> Void
    ) throws(StoreError) -> WorkerThread {
        try BackgroundThread(name: name) { body($0) }
    }

    private func real(_ file: StorageFile) -> RealFile {
        guard let file = file as? RealFile else { preconditionFailure("a file of another machine") }
        return file
    }
}

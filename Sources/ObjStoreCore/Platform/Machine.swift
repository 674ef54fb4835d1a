/// The door to the operating system: files, maps, locks, waiting, time, randomness.
///
/// There are two: `RealMachine`, and the simulated machine of the tests, which runs several
/// processes deterministically from a seed and cuts the power wherever it likes. Nothing outside
/// `Platform/` makes a system call. Every method may be a scheduling point of the simulation.
open class Machine: @unchecked Sendable {
    public init() {}

    /// Opens or creates a file. Symbolic links are resolved by the caller (`resolve`).
    open func open(_ path: String, _ mode: OpenMode) throws(StoreError) -> StorageFile { fatalError("abstract") }
    /// Makes the file `path`, unless there is one. It gets its name when `fill` has written all of it and it is synced:
    /// no process finds half of it, and one that is killed before leaves nothing behind, where the file system has
    /// files without a name. The name is durable after `syncFolder`. Its access is that of `model`
    /// (`StorageFile.takeAccess`), or what the process gives new files.
    open func create(
        _ path: String, like model: StorageFile?, _ fill: (StorageFile) throws(StoreError) -> Void
    ) throws(StoreError) { fatalError("abstract") }
    /// An anonymous file in memory, for in-memory stores; `sync` does nothing on it.
    open func openAnonymous(_ name: String) throws(StoreError) -> StorageFile { fatalError("abstract") }
    open func exists(_ path: String) -> Bool { fatalError("abstract") }
    /// Removes the name, if it is there: a symbolic link that leads nowhere, too.
    public final func removeIfPresent(_ path: String) throws(StoreError) {
        do throws(StoreError) { try remove(path) } catch { if error.code != .notFound { throw error } }
    }
    /// The path with every symbolic link of an existing file or its folder resolved.
    open func resolve(_ path: String) throws(StoreError) -> String { fatalError("abstract") }
    /// Of the file that the path leads to.
    open func identity(of path: String) throws(StoreError) -> FileIdentity { fatalError("abstract") }
    /// Whether the path leads to that file, and not to another one or to none.
    final func leads(_ path: String, to file: StorageFile) throws(StoreError) -> Bool {
        do throws(StoreError) { return try identity(of: path) == file.identity() } catch {
            if error.code == .notFound { return false }
            throw error
        }
    }
    /// Descriptors that clearing up will need, held until there is something to clear up: a process can run out of them
    /// at any step.
    package func spareDescriptors() throws(StoreError) -> [EventDescriptor] { [] }
    open func rename(_ from: String, to: String) throws(StoreError) { fatalError("abstract") }
    /// Like `rename`, but fails with `.alreadyExists` where `to` exists.
    open func renameNew(_ from: String, to: String) throws(StoreError) { fatalError("abstract") }
    open func remove(_ path: String) throws(StoreError) { fatalError("abstract") }
    /// Makes creations, renames and removals in the folder of `path` durable.
    open func syncFolder(of path: String) throws(StoreError) { fatalError("abstract") }

    /// A lock on one byte of a file (which need not exist), exclusive among all processes and threads.
    open func makeLock(_ file: StorageFile, byte: Int64) -> ExclusiveLock { fatalError("abstract") }
    /// Whether another open file description holds a lock on any byte of the range.
    open func isLocked(_ file: StorageFile, bytes: Range<Int64>) throws(StoreError) -> Bool { fatalError("abstract") }
    /// Whether this file has the bytes to itself or shares them with others that call this, until it is closed:
    /// `isLocked` is true for them. The file need only be readable.
    open func lockShared(_ file: StorageFile, bytes: Range<Int64>) throws(StoreError) -> Bool { fatalError("abstract") }
    /// New memory, all zeros, shared by all that open `path` afterwards; what had the name loses it. Its access is that
    /// of `model`. Only the first `SharedMemory.firstPart` bytes may be touched before `reserveAll`.
    open func createShared(_ path: String, bytes: Int, like model: StorageFile) throws(StoreError) -> SharedMemory {
        fatalError("abstract")
    }
    /// Memory that another process has made; nil where `path` leads to something else than that file. No symbolic link
    /// is followed. With a `model` it gets the access of that file.
    open func openShared(
        _ path: String, bytes: Int, _ identity: FileIdentity, like model: StorageFile?
    ) throws(StoreError) -> SharedMemory? { fatalError("abstract") }

    /// Sleeps while the low 32 bits of the word equal those of `value`; returns at a wake, a change,
    /// after `timeout` nanoseconds (negative: never) or for no reason.
    open func wait(_ word: SharedWord, while value: UInt64, timeout: Int64) { fatalError("abstract") }
    /// Wakes the waiters on the word, in every process; `count` of them at most.
    open func wake(_ word: SharedWord, count: Int32) { fatalError("abstract") }
    public final func wake(_ word: SharedWord) { wake(word, count: .max) }

    /// A thread that runs `body`; `name` is shown by the system's tools.
    open func startThread(
        _ name: String, _ body: @escaping @Sendable (WorkerThread) -> Void
    ) throws(StoreError) -> WorkerThread { fatalError("abstract") }
    /// Of the thread that asks, not 0; no other one of the process has it.
    open var threadNumber: UInt { ThreadIdentity.current }

    /// Nanoseconds that never go back.
    open func monotonic() -> Int64 { fatalError("abstract") }
    /// Nanoseconds since 1970.
    open func wallClock() -> Int64 { fatalError("abstract") }
    open func random64() -> UInt64 { fatalError("abstract") }
    /// Changes at every boot of the machine.
    open func bootID() throws(StoreError) -> (UInt64, UInt64) { fatalError("abstract") }
    /// What the file lies on; see `FileSystemKind`.
    open func fileSystem(of file: StorageFile) throws(StoreError) -> FileSystemKind { fatalError("abstract") }
}

public enum OpenMode: Sendable {
    /// Read only; the file must exist.
    case readOnly
    /// Read and write; the file must exist.
    case existing
    /// Read and write; created where missing.
    case create
    /// Read and write; must not exist.
    case createNew
    /// Read and write, a file beside a store: must exist, and no symbolic link is followed.
    case side
}

/// Whether mapped pages and locks are coherent among processes on the file system.
public enum FileSystemKind: Sendable {
    /// ext2/3/4, xfs, btrfs, zfs, f2fs, overlay, tmpfs: everything works.
    case coherent
    /// NFS, 9p, virtiofs, FUSE, SMB and unknown ones: one process at a time, by exclusive mode.
    case incoherent
}

/// An open file.
///
/// A failed `sync` is final: what was written since the last one may or may not be on the medium, and
/// no later sync says anything about it. Errors carry `.io`, `.outOfSpace` or `.syncFailed`.
open class StorageFile: @unchecked Sendable {
    public init() {}
    open func size() throws(StoreError) -> Int { fatalError("abstract") }
    /// Reads exactly `count` bytes; bytes past the end read as zero.
    open func read(into buffer: UnsafeMutableRawPointer, count: Int, at offset: Int) throws(StoreError) {
        fatalError("abstract")
    }
    /// Writes all vectors one after another from `offset` on. On an error any part may have been written.
    open func write(_ vectors: UnsafePointer<WriteVector>, count: Int, at offset: Int) throws(StoreError) {
        fatalError("abstract")
    }
    /// What was written will be synced, and the disk may begin: a hint, after which nothing more is known about it.
    open func startWriting() {}
    /// fdatasync.
    open func sync() throws(StoreError) { fatalError("abstract") }
    /// Allocates real space so that the file has at least `size` bytes; new bytes are zero.
    open func reserve(_ size: Int) throws(StoreError) { fatalError("abstract") }
    open func truncate(_ size: Int) throws(StoreError) { fatalError("abstract") }
    /// Maps `bytes` bytes read-only, also beyond the end of the file (not to be touched before the file grows there).
    open func map(_ bytes: Int) throws(StoreError) -> FileMap { fatalError("abstract") }
    /// Device and inode: two paths to one file give the same identity.
    open func identity() throws(StoreError) -> FileIdentity { fatalError("abstract") }
    /// How many names lead to the file; one in memory has none, needs none, and says 1.
    open func nameCount() throws(StoreError) -> Int { fatalError("abstract") }
    /// Whether some name still leads to the file.
    package final func hasName() throws(StoreError) -> Bool { try nameCount() > 0 }
    /// Gives this new file the access of another: users that may read or write that one may do so here, and no others.
    /// Owner and group as far as this process may give them away; where the group cannot be the same, it may do what
    /// all others may.
    open func takeAccess(of other: StorageFile) throws(StoreError) {}
    open func close() { fatalError("abstract") }

    /// The same for an existing file; false if it belongs to another user.
    public final func canTakeAccess(of other: StorageFile) -> Bool {
        do throws(StoreError) { try takeAccess(of: other) } catch { return false }
        return true
    }

    @_disfavoredOverload  // a pointer to vectors converts to a raw one
    public final func write(_ bytes: UnsafeRawPointer, count: Int, at offset: Int) throws(StoreError) {
        var vector = WriteVector(base: bytes, count: count)
        try write(&vector, count: 1, at: offset)
    }
}

/// Where a piece of a write comes from; laid out as `struct iovec`.
public struct WriteVector {
    public var base: UnsafeRawPointer?
    public var count: Int
    public init(base: UnsafeRawPointer?, count: Int) { self.base = base; self.count = count }
}

public struct FileIdentity: Hashable, Sendable {
    public var device: UInt64
    public var inode: UInt64
    public init(device: UInt64, inode: UInt64) { self.device = device; self.inode = inode }
}

/// A read-only mapping of a file; unmapped when the last reference goes.
open class FileMap: @unchecked Sendable {
    public let base: UnsafeRawPointer
    public let bytes: Int
    public init(base: UnsafeRawPointer, bytes: Int) { self.base = base; self.bytes = bytes }
}

/// Memory that several processes share; unmapped when the last reference goes.
open class SharedMemory: @unchecked Sendable {
    public let base: UnsafeMutableRawPointer
    public let bytes: Int
    public let identity: FileIdentity
    /// Made by this call, so all zeros.
    public let isNew: Bool
    /// What has real space from the beginning.
    public static let firstPart = 4096
    public init(base: UnsafeMutableRawPointer, bytes: Int, identity: FileIdentity, isNew: Bool) {
        self.base = base; self.bytes = bytes; self.identity = identity; self.isNew = isNew
    }
    /// Gives all of it real space; a second call does nothing. By any thread.
    open func reserveAll() throws(StoreError) {}
}

/// What the processes that want one lock share.
public struct LockWords: Sendable {
    /// 0, or the instance that has the lock.
    public var owner: SharedWord
    /// Counts releases that a thread may have slept for.
    public var releases: SharedWord
    /// Not 0: a thread of some process sleeps, or slept and was killed.
    public var waiters: SharedWord
    /// This process, as others find it in `owner`.
    public var instance: UInt64
    /// Whether the process with that instance lives. A dead one's lock is taken from it.
    public var isAlive: @Sendable (_ instance: UInt64) throws(StoreError) -> Bool

    public init(
        owner: SharedWord, releases: SharedWord, waiters: SharedWord, instance: UInt64,
        isAlive: @escaping @Sendable (UInt64) throws(StoreError) -> Bool
    ) {
        self.owner = owner; self.releases = releases; self.waiters = waiters; self.instance = instance;
        self.isAlive = isAlive
    }
}

/// A lock among all threads and processes; it is free again when its owner dies.
///
/// First come, first served among the threads of a process. It belongs to no thread: any thread may
/// release what another acquired.
open class ExclusiveLock: @unchecked Sendable {
    public init() {}
    /// Waits at most `timeout` nanoseconds (negative: for ever, 0: not at all). False = not acquired.
    open func acquire(timeout: Int64) throws(StoreError) -> Bool { fatalError("abstract") }
    /// The same for a wait that may be cancelled: it then returns false some milliseconds later.
    package func acquire(timeout: Int64, until end: WaitCancellation?) throws(StoreError) -> Bool {
        try acquire(timeout: timeout)
    }
    open func release() { fatalError("abstract") }
    /// By the owner: whether others see that the lock is this process's. False if the word that says so was
    /// overwritten.
    open var isStillHeld: Bool { true }
    /// Gives the lock words in memory that all processes share, so that taking and releasing it needs no system call,
    /// and a process that waits for another one sleeps until the release. All processes attach before their first use,
    /// while the lock is free; the words live as long as the lock is used.
    open func attach(_ words: LockWords) {}

    public final func acquire() throws(StoreError) { _ = try acquire(timeout: -1) }
}

extension Machine {
    /// The path of a store without links. `.notFound`.
    func resolveStore(_ path: String) throws(StoreError) -> String {
        do throws(StoreError) {
            return try resolve(path)
        } catch {
            // A folder that is not there holds no store.
            if error.code == .notFound { throw StoreError(.notFound, "there is no store at \(path): \(error.message)") }
            throw error
        }
    }
}

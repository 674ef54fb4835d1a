internal import ObjStoreCore

/// How much there is in a store and how much was done; the numbers may be a commit apart. Sizes in bytes.
public struct Statistics: Sendable {
    /// The newest version that is visible to all.
    public let publishedVersion: UInt64
    /// The newest version that would survive a power cut now.
    public let durableVersion: UInt64
    /// Where a recovery would begin.
    public let checkpointVersion: UInt64
    public let fileBytes: Int
    /// Of the file: in use by the newest version.
    public let liveBytes: Int
    /// Of the file: free to be used again.
    public let freeBytes: Int
    /// Of the file: freed, but needed by a version that is held.
    public let pinnedBytes: Int
    public let logFileBytes: Int
    /// Of the log: needed by a recovery.
    public let logUsedBytes: Int
    /// The oldest version that is held, in any process; nil: none is.
    public let oldestPinnedVersion: UInt64?
    /// Versions that are alive: the newest one, and older ones that are held, in all processes.
    public let versions: Int
    /// Processes that have the store open.
    public let processes: Int

    // Since the first of the processes that have the store open opened it.
    public let commits: UInt64
    public let checkpoints: UInt64
    public let syncs: UInt64
    public let logBytesWritten: UInt64
    public let fileBytesWritten: UInt64

    // Of this process.
    public let views: Int
    public let mappedBytes: Int
    /// Memory held for changes that are not committed.
    public let uncommittedBytes: Int

    init(_ core: StoreStatistics) {
        publishedVersion = core.published
        durableVersion = core.durable
        checkpointVersion = core.checkpoint
        fileBytes = core.fileBytes
        liveBytes = core.liveBytes
        freeBytes = core.freeBytes
        pinnedBytes = core.pinnedBytes
        logFileBytes = core.logFileBytes
        logUsedBytes = core.logUsedBytes
        oldestPinnedVersion = core.oldestPin == 0 ? nil : core.oldestPin
        versions = core.versions
        processes = core.processes
        commits = core.commits
        checkpoints = core.checkpoints
        syncs = core.syncs
        logBytesWritten = core.logBytesWritten
        fileBytesWritten = core.fileBytesWritten
        views = core.views
        mappedBytes = core.mappedBytes
        uncommittedBytes = core.arenaBytes
    }
}

extension Store {
    public func statistics() throws(ObjStoreError) -> Statistics {
        Statistics(try core { () throws(StoreError) in try space.handle.store.statistics() })
    }

    /// Reads and checks everything that the store shows; a line for each finding, none where it is sound. O(size).
    public func verify() throws(ObjStoreError) -> [String] {
        try core { () throws(StoreError) in try space.view.verify { (_, _) throws(StoreError) in } }
    }

    /// Writes what the store shows, also one in memory, into a new store at `path`: compact and whole, with a uuid of
    /// its own. Inside a write what that did so far is part of it.
    ///
    /// Errors: `.alreadyExists`, `.outOfSpace`, `.io`; no file is left behind. O(size).
    public func writeCopy(to path: String) throws(ObjStoreError) {
        try core { () throws(StoreError) in try space.current.copy(to: path) { (_, _) throws(StoreError) in } }
    }

    /// Makes every commit that returned durable, whatever its durability. Errors: `.poisoned`, `.io`,
    /// `.alreadyInWrite`.
    public func flush() throws(ObjStoreError) { try core { () throws(StoreError) in try space.handle.store.flush() } }

    /// Makes a checkpoint now; the library does that by itself when it is time.
    public func checkpoint() throws(ObjStoreError) {
        try core { () throws(StoreError) in try space.handle.store.checkpoint() }
    }

    /// Makes the file about as small as what lives in it, while others read and write: in small steps, for each of
    /// which writers wait a few milliseconds. Nothing that anybody sees changes. The store moves to the newest version.
    ///
    /// What a held version (for example by a ``Snapshot``) needs stays where it is, and is done by a later
    /// call. Errors: `.alreadyInWrite`, `.readOnly`, `.timeout`, `.outOfSpace` (moving needs free space first), `.io`,
    /// `.poisoned`, `.corrupt`. What was done before stays done. O(size).
    public func compact() throws(ObjStoreError) {
        try core { () throws(StoreError) in
            try space.handle.store.compact { (_, _) throws(StoreError) in _ = try space.view.refresh() }
        }
    }

    /// Does the file at `path` begin like a store?
    public static func exists(atPath path: String) throws(ObjStoreError) -> Bool {
        try ObjStore.core { () throws(StoreError) in try StoreFiles.exists(path) }
    }

    /// Deletes a store's files; false: there was none. Errors: `.notAStore`, `.busy` (some process has it open);
    /// nothing is deleted then.
    @discardableResult
    public static func delete(atPath path: String) throws(ObjStoreError) -> Bool {
        do throws(StoreError) { try StoreFiles.delete(path) } catch {
            if error.code == .notFound { return false }
            throw ObjStoreError(error)
        }
        return true
    }
}

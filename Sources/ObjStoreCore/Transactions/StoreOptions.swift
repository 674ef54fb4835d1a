/// How a store is opened, derived from the configuration of the interfaces.
package struct StoreOptions: Sendable {
    /// When a commit returns.
    package enum Durability: Equatable, Sendable {
        /// When it is on the medium.
        case full
        /// When it is visible; on the medium at most this many milliseconds later.
        case relaxed(milliseconds: Int)
        /// When it is visible; on the medium with the next checkpoint.
        case none
    }

    package var durability: Durability = .full
    /// Kept in memory: no files, no syncs, this process only.
    package var isInMemory = false
    package var isReadOnly = false
    /// One process only; needs no coherent maps.
    package var isExclusive = false
    /// Open a store that was not closed cleanly although its log is lost, and with it its last commits.
    package var opensWithoutLog = false
    /// The last process removes log and lock file when it leaves the store clean.
    package var leavesFileAlone = false
    /// Whether a missing file is created.
    package var creates = true

    /// First size of the log ring in bytes, and how far it may grow.
    package var logBytes = 1 << 20
    package var logBytesLimit = 64 << 20
    /// A checkpoint is made in the background when the log behind the last one has this many bytes.
    package var checkpointBytes = 32 << 20
    /// And when this many objects were changed behind it by this process.
    package var checkpointOperations = 1_000_000
    /// And when there was no write for this many nanoseconds; negative: not then.
    package var checkpointIdle: Int64 = 2_000_000_000
    package var shared = SharedState.Limits()
    /// A background thread makes checkpoints and syncs relaxed commits.
    package var hasBackgroundThread = true
    /// Nanoseconds to wait for other processes at open; negative: for ever.
    package var openTimeout: Int64 = 30_000_000_000
    /// Of the first one in the process that opens the file.
    package var openCancellation: WaitCancellation?
    /// The largest string or binary, in bytes.
    package var valueLimit = 64 << 20
    /// How many bytes of changed pages a transaction keeps in memory; more are written into the file ahead of the
    /// commit.
    package var transactionBytes = 64 << 20
    /// The file grows by at least this many pages at a time.
    package var growthPages = 256
    /// A checkpoint cuts off free pages at the end of the file where they are half of it, and at least this many.
    package var cutPages = 1024

    /// Nanoseconds in which no file can be given another name (a rename takes 4,000).
    package var shortestMove: Int64 = 2_000

    /// A file that is made gets the access of this one (`StorageFile.takeAccess`).
    package var accessModel: StorageFile?

    package init() {}
}

internal import ObjStoreCore

extension Store {
    /// Where a store is and how it is opened.
    public struct Configuration: Sendable {
        public enum Location: Sendable, Hashable {
            /// The path of the store's file; its log and its lock file lie beside it.
            case file(String)
            /// In memory. Stores of one name in this process are one store; nil is a store of its own.
            case memory(name: String? = nil)
        }

        public enum Access: Sendable, Hashable {
            /// Reading and writing; a missing file is created.
            case readWrite
            /// Reading and writing of a store that exists: a missing one is `.notFound`.
            case existing
            /// Reading, while others may write.
            case readOnly
            /// Reading a file that no process writes, for instance on a medium that cannot be written.
            case immutable
        }

        public var location: Location
        /// The classes that the program uses. Those that the file lacks are added to it; those that it has beside them
        /// are not seen through this store: `.noSuchClass`.
        public var models: [Object.Type]
        /// Higher than the file's allows new properties, other defaults and indexes, properties that were renamed
        /// (``Object/formerNames``), properties that may be nil now, or must not (where none is), and properties that
        /// are gone, whose values are dropped permanently; lower is `.schemaMismatch`. From 1. See ``migrationBlock``.
        public var schemaVersion: UInt64 = 1
        /// What the program calls version 1, for messages.
        package var firstSchemaVersion: UInt64 = 1
        /// Names of classes that files are not to have any more: with a higher ``schemaVersion`` a file loses them with
        /// all their objects, permanently. `.schemaMismatch`: a class that stays has a property that leads to one of
        /// them. Where they are not there, nothing happens.
        public var droppedClasses: [String] = []
        public var access = Access.readWrite
        public var durability = Durability.full
        /// How long to wait for other writers; nil: for ever.
        public var writeTimeout: Duration?
        /// How long to wait for other processes that open or close the store.
        public var openTimeout: Duration = .seconds(30)
        /// The largest text or binary, in bytes.
        public var valueLimit = 64 << 20
        /// Bytes of changed pages that a transaction keeps in memory; more are written into the file ahead of its
        /// commit. From 64 KiB.
        public var transactionLimit = 64 << 20
        /// Bytes that a query may allocate for what it finds, sorts and groups, all in all; more is `.outOfMemory`.
        /// From 1; nil: any number.
        public var queryLimit: Int?
        /// How many threads may scan the objects for one query: the one that asks, and others of the library, which
        /// call nothing of the program's. 1 to 256. `docs/query-language.md` says what they help with.
        public var queryThreads = 1
        /// How many versions an observer may be behind. One that stays behind farther lets go of the version that it
        /// knows, and its next change set is `isLost`: it begins anew. From 1; nil: a million.
        public var observerLag: Int?
        /// How many versions may be alive when a write begins: the newest one, and older ones that snapshots, frozen
        /// objects, observers that are not served, or stores that were not refreshed hold, in all processes. More are
        /// `.tooManyVersions` for the write, which says who holds them. Nil: any number. From 1.
        public var maximumNumberOfActiveVersions: Int?
        /// A thread of the library calls change handlers, and asynchronous bodies and completions, as soon as something
        /// is due. Else `deliver()` and `wait()` do. The same wherever this process opens the store. What a handler
        /// throws there, or reports, goes to ``onError``.
        public var deliversOnWorker = false
        /// For development: a file that has a class in another form than the models is deleted and recreated. `.busy`:
        /// it is open elsewhere. New classes, and a higher version alone, are no reason.
        public var deletesIfMigrationNeeded = false
        /// The path of a store whose content a new one begins with: copied when there is no file. It is only read, and
        /// no process may be writing it. Errors of opening: `.notFound`, `.notAStore`, `.needsLog` of the seed.
        public var seedPath: String?
        /// What the file at ``seedPath`` must be, byte for byte: its SHA-256, in 64 hexadecimal digits. Checked when it
        /// is copied. Errors of opening: `.corrupt`: it has another one, and no file is left; `.invalidArgument`: it is
        /// no SHA-256, or there is no ``seedPath``.
        public var seedSHA256: String?
        /// Fills a new store, in the write that creates its classes: once, whichever process opens it, and not where a
        /// seed was copied. What it throws leaves no file; opening throws it if it is an ``ObjStoreError``, and
        /// `.callback` with its description for any other error. Objects are of no use after it.
        public var initialData: (@Sendable (Transaction) throws -> Void)?
        /// Changes objects when ``schemaVersion`` is higher than the file's, in the write that changes the classes;
        /// gets the file's version. With it, properties can become required, get another type, and be the primary key.
        /// What it throws leaves the file as it was; opening throws it as for ``initialData``.
        public var migrationBlock: (@Sendable (_ migration: Migration, _ oldVersion: UInt64) throws -> Void)?
        /// Whether to make the file smaller before it is used; called for the first opener in the process, and
        /// only where no other process has it open. Sizes in bytes. Usual is `{ $0 > 100 << 20 && $1 < $0 / 2 }`.
        public var compactsOnOpen: (@Sendable (_ total: Int, _ used: Int) -> Bool)?
        /// Called every 200 ms by calls that wait for another writer, or for another opener of the file, on the thread
        /// that waits; what it throws ends the call: an ``ObjStoreError`` as it is, any other one as `.cancelled` with
        /// its description. `{ try Task.checkCancellation() }` lets the wait end with its task. It must not use the
        /// store.
        public var onWait: (@Sendable () throws -> Void)?
        /// Is called with errors of property accessors outside of `write` and `checked`, on the thread where they
        /// happen; and with those of handlers that a thread of the library calls, on that thread. Nil: a line on
        /// stderr.
        public var onError: (@Sendable (ObjStoreError) -> Void)?

        public init(_ location: Location, models: [Object.Type] = []) {
            self.location = location
            self.models = models
        }

        public init(path: String = "default.objstore", models: [Object.Type] = []) {
            self.init(.file(path), models: models)
        }

        /// What `Store()` opens, in all threads: at first `default.objstore` in the current directory, without models.
        /// Stores that are open stay as they are.
        public static var defaultConfiguration: Store.Configuration {
            get { standard.withLock { $0 } }
            set { standard.withLock { $0 = newValue } }
        }
        private static let standard = Guarded(Store.Configuration())
    }

    /// When a write returns.
    public enum Durability: Sendable, Hashable {
        /// When it is on the medium: it survives a power cut.
        case full
        /// Visible to all; on the medium at most this much later (1 ms to 60 s). Survives the process.
        case relaxed(within: Duration = .milliseconds(100))
        /// Visible to all; on the medium some time. Survives the process.
        case none
    }
}

extension Store.Configuration {
    func core(_ infos: [ClassInfo]) throws(ObjStoreError) -> StoreConfiguration {
        var result = StoreConfiguration()
        switch location {
        case .file(let path): result.place = .file(path)
        case .memory(let name): result.place = .memory(name ?? "")
        }
        switch access {
        case .readWrite: break
        case .existing: result.creation = .never
        case .readOnly: result.mode = .readOnly
        case .immutable: result.mode = .immutable
        }
        if !infos.isEmpty || !droppedClasses.isEmpty {
            var draft = SchemaDraft()
            for info in infos { try info.describe(in: &draft) }
            for name in droppedClasses {
                do throws(StoreError) { try draft.dropClass(name) } catch { throw ObjStoreError(error) }
            }
            draft.firstVersion = firstSchemaVersion
            result.schema = draft
        }
        guard schemaVersion > 0 else { throw ObjStoreError(.outOfRange, "schema versions begin with 1") }
        result.schemaVersion = schemaVersion
        do throws(StoreError) {
            switch durability {
            case .full: try result.set(.full)
            case .relaxed(let time): try result.set(.relaxed(milliseconds: Int(clamping: time.milliseconds)))
            case .none: try result.set(.none)
            }
            try result.set(.writeTimeout, writeTimeout?.milliseconds ?? -1)
            try result.set(.openTimeout, openTimeout.milliseconds)
            if let maximumNumberOfActiveVersions { try result.set(.versions, Int64(maximumNumberOfActiveVersions)) }
            // Only what is requested: it must be the same wherever this process opens the store.
            if deliversOnWorker { result.flags = .deliverOnWorker }
            if deletesIfMigrationNeeded { result.flags = (result.flags ?? []).union(.deletesWhereItDiffers) }
            let usual = Store.Configuration(path: "")
            if valueLimit != usual.valueLimit { try result.set(.valueBytes, Int64(valueLimit)) }
            if let seedSHA256 { result.steps.seedDigest = try SHA256(seedSHA256) }
            if let queryLimit { try result.set(.queryBytes, Int64(queryLimit)) }
            if let observerLag { try result.set(.observerLag, Int64(observerLag)) }
            if queryThreads != usual.queryThreads { try result.set(.queryThreads, Int64(queryThreads)) }
            if transactionLimit != usual.transactionLimit { try result.set(.transactionBytes, Int64(transactionLimit)) }
        } catch {
            throw ObjStoreError(error)
        }
        result.steps.seed = seedPath
        if let onWait {
            result.onWait = { () throws(StoreError) in
                do { try onWait() } catch let error as ObjStoreError { throw error.ofCore } catch {
                    throw StoreError(.cancelled, "\(error)")
                }
            }
        }
        if let compactsOnOpen { result.steps.compaction = { compactsOnOpen(Int(clamping: $0), Int(clamping: $1)) } }
        if let migrationBlock {
            result.steps.migration = { (new, old, from, to) throws(StoreError) in
                try StoreHandle.lend(new, infos, onError) { (space) throws in
                    try migrationBlock(Migration(space, old: old, new: new, oldVersion: from, newVersion: to), from)
                }
            }
        }
        if let initialData {
            result.steps.initialData = { (view) throws(StoreError) in
                try StoreHandle.lend(view, infos, onError) { (space) throws in try initialData(Transaction(space)) }
            }
        }
        return result
    }
}

extension Duration {
    /// Rounded up, never negative.
    fileprivate var milliseconds: Int64 {
        let (seconds, attoseconds) = components
        let (whole, overflow) = seconds.multipliedReportingOverflow(by: 1000)
        if overflow || seconds < 0 { return seconds < 0 ? 0 : .max }
        let (sum, tooMuch) = whole.addingReportingOverflow(
            (max(0, attoseconds) + 999_999_999_999_999) / 1_000_000_000_000_000)
        return tooMuch ? .max : sum
    }
}

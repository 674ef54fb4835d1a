/// One store in this process, behind every handle that was opened on it.
///
/// One file opened twice is one `SharedStore`, found by device and inode of the file; so is a name in memory.
package final class SharedStore: @unchecked Sendable {
    package let database: Database
    package let place: StoreConfiguration.Place
    /// Absolute path, or the name in memory.
    package let path: String
    /// `Database.storeTag` (a byte copy of a file has the uuid of the original).
    package let tag: UInt32
    package let isInMemory: Bool
    package let wasCreated: Bool
    /// The version of the file as this process has made it; nil: it was there, or another process was faster.
    let madeVersion: UInt64?
    let isImmutable: Bool
    let identity: FileIdentity?
    /// What opening and closing are serialised by.
    private let key: String
    /// Opening with something else later is `.configMismatch`.
    private let flags: StoreConfiguration.Flags
    private let limits: [StoreConfiguration.Limit: Int64]
    let log: LogSink?
    /// Change handlers run on the store's own thread.
    var deliversOnWorker: Bool { flags.contains(.deliverOnWorker) }
    private let fork = ForkGuard()

    private let lock = Lock()
    private var handles = 1
    private var isUnclaimed = true
    /// Schemas whose names and defaults were handed out.
    private var schemas: [Schema] = []
    /// The thread that began the transaction that is open; 0 = none.
    private var writerThread: UInt = 0
    /// Open views, transactions included.
    private var viewCount = 0
    /// How many live and frozen views are on a version.
    private var standing: [UInt64: Int] = [:]
    /// Of its handles, those that write asynchronously.
    private var queues: [WriteQueue] = []
    /// The open transaction of this process.
    private var writerView: Unmanaged<View>?

    private init(
        _ database: Database, _ configuration: StoreConfiguration, key: String, path: String, identity: FileIdentity?,
        tag: UInt32, wasCreated: Bool,
        madeVersion: UInt64?
    ) {
        self.database = database
        self.key = key
        self.path = path
        self.identity = identity
        self.tag = tag
        database.storeTag = tag
        self.wasCreated = wasCreated
        self.madeVersion = madeVersion
        place = configuration.place
        isInMemory = identity == nil
        isImmutable = configuration.mode == .immutable
        flags = configuration.sharedFlags ?? []
        limits = configuration.limits
        log = configuration.log
    }

    // MARK: The stores of this process

    private struct Registry {
        var stores: [SharedStore] = []
        /// Paths and names that some thread is opening.
        var opening: Set<String> = []
        /// Of the process that filled it; a forked child starts over.
        var owner = ForkGuard()
    }
    private nonisolated(unsafe) static var registry = Registry()

    /// Only under `StoresLock`.
    private static func withRegistry<T, E: Error>(_ body: (inout Registry) throws(E) -> T) throws(E) -> T {
        try StoresLock.withLock { () throws(E) in
            if registry.owner.isChild {
                // The parent's objects are left alone: nothing of them may run in the child.
                for store in registry.stores { _ = Unmanaged.passRetained(store) }
                registry = Registry()
            }
            return try body(&registry)
        }
    }

    /// For the simulated machine, whose processes are killed inside of this one: their stores are never found again,
    /// and none of their code runs.
    package static func forgetAll() {
        withRegistry { registry in
            for store in registry.stores { _ = Unmanaged.passRetained(store) }
            registry = Registry()
        }
    }

    /// Opens a store or joins the one that is open. Waits while another thread opens or closes the same one.
    static func open(_ configuration: StoreConfiguration, machine: Machine) throws(StoreError) -> SharedStore {
        let key: String
        var path = ""
        switch configuration.place {
        case .none: throw StoreError(.invalidArgument, "the configuration has neither a path nor a memory name")
        case .memory(let name):
            path = name
            // A name of its own is never shared, nor waited for.
            key = name.isEmpty ? "" : "memory:" + name
        case .file(let given):
            path = try machine.resolveStore(given)
            // A simulated process is a machine of its own.
            key = "file:\(UInt(bitPattern: ObjectIdentifier(machine).hashValue)):" + path
        }
        return try alone(key) { () throws(StoreError) in
            for _ in 0..<Database.attempts {
                if let store = try openAlone(configuration, key: key, path: path, machine: machine) { return store }
            }
            throw StoreError(.busy, "\(path) is deleted again and again")
        }
    }

    /// Opening and closing one store wait for each other.
    private static func alone<T>(_ key: String, _ body: () throws(StoreError) -> T) throws(StoreError) -> T {
        if key.isEmpty { return try body() }
        while !withRegistry({ $0.opening.insert(key).inserted }) { ThreadIdentity.sleep(200_000) }
        defer { withRegistry { _ = $0.opening.remove(key) } }
        return try body()
    }

    /// Nil: the file was there, and was deleted before it was open; a caller that may create one starts over.
    private static func openAlone(
        _ configuration: StoreConfiguration, key: String, path: String, machine: Machine
    ) throws(StoreError) -> SharedStore? {
        var identity: FileIdentity?
        var mayCreate = true
        if case .file = configuration.place {
            do throws(StoreError) { identity = try machine.identity(of: path) } catch {
                if error.code != .notFound { throw error }
            }
            let exists = identity != nil
            if exists && configuration.creation == .always {
                throw StoreError(.alreadyExists, "there is something at \(path) already")
            }
            if !exists && (configuration.mode != .readWrite || configuration.creation == .never) {
                throw StoreError(.notFound, "there is no store at \(path)")
            }
            mayCreate = !exists
        }
        let found = withRegistry { registry in
            registry.stores.first { store in
                guard !key.isEmpty else { return false }
                guard store.database.machine === machine else { return false }
                return identity != nil
                    ? store.identity == identity : store.isInMemory && store.place == configuration.place
            }
        }
        if case .memory(let name) = configuration.place {
            if found != nil && configuration.creation == .always {
                throw StoreError(.alreadyExists, "this process has a store \"\(name)\" in memory already")
            }
            if found == nil && (configuration.mode != .readWrite || configuration.creation == .never) {
                throw StoreError(.notFound, "this process has no store \"\(name)\" in memory")
            }
        }
        if let found, found.join() {
            do throws(StoreError) { try found.checkSame(configuration) } catch {
                try? found.leaveAlone()
                throw error
            }
            return found
        }
        var options = configuration.options()
        options.creates = options.creates && mayCreate
        let isNew = identity == nil
        if isNew && mayCreate { options.creates = true }
        var copied: Ref?
        if isNew, let seed = configuration.steps.seed, options.creates, !options.isInMemory {
            do throws(StoreError) {
                copied = try StoreFiles.copy(seed, configuration.steps.seedDigest, to: path, machine: machine)
            } catch {
                // Another process was faster.
                guard error.code == .alreadyExists, configuration.creation != .always else { throw error }
            }
        }
        // The file itself, and what its names are locked by (`StoreFiles.deleteUnused`).
        var spare = isNew && options.creates && !options.isInMemory ? try machine.spareDescriptors() : []
        defer { withExtendedLifetime(spare) {} }
        let database: Database
        do throws(StoreError) {
            database = try Database.open(path, options: options, machine: machine, isKnown: identity != nil)
        } catch {
            if error.code == .notFound, identity != nil, configuration.mode == .readWrite,
                configuration.creation != .never
            {
                return nil
            }
            // The file may have been made before that failed.
            spare = []
            if isNew && options.creates && !options.isInMemory, let made = try? machine.identity(of: path) {
                StoreFiles.deleteUnused(path, made, root: copied, machine: machine)
            }
            throw error
        }
        do throws(StoreError) {
            if case .file = configuration.place { identity = try database.file.identity() }
            if options.isInMemory, let seed = configuration.steps.seed {
                try StoreFiles.copy(seed, configuration.steps.seedDigest, into: database, machine: machine)
            }
        } catch {
            try? database.close()
            throw error
        }
        var madeVersion: UInt64?
        if isNew, let head = try? database.shared.headEntry(),
            database.isOwnMake ? head.version == 1 : head.root == copied
        {
            madeVersion = head.version
        }
        return withRegistry { registry in
            var tag = SharedStore.tag(database.uuid)
            while tag == 0 || registry.stores.contains(where: { $0.tag == tag }) { tag &+= 1 }
            let store = SharedStore(
                database, configuration, key: key, path: path, identity: identity, tag: tag, wasCreated: isNew,
                madeVersion: madeVersion)
            registry.stores.append(store)
            return store
        }
    }

    private static func tag(_ uuid: (UInt64, UInt64)) -> UInt32 {
        UInt32(truncatingIfNeeded: PageHash.mix(uuid.0 ^ 0x6f62_6a73_746f_7265, uuid.1))
    }

    /// True once: for the handle that opened the file.
    func claimFirst() -> Bool {
        lock.withLock {
            defer { isUnclaimed = false }
            return isUnclaimed
        }
    }

    private func join() -> Bool {
        lock.withLock {
            if handles == 0 || database.isClosed { return false }
            handles += 1
            return true
        }
    }

    private func checkSame(_ configuration: StoreConfiguration) throws(StoreError) {
        func mismatch(_ what: String) -> StoreError {
            StoreError(.configMismatch, "this process has \(path) open with \(what)")
        }
        if let asked = configuration.sharedFlags, asked != flags { throw mismatch("other flags") }
        for (limit, value) in configuration.limits where !limit.isOfHandle {
            let here = limits[limit] ?? limit.standard
            if here != value { throw mismatch("the limit \(limit) \(here), not \(value)") }
        }
        if isImmutable != (configuration.mode == .immutable) {
            throw mismatch(isImmutable ? "the mode immutable" : "another mode than immutable")
        }
    }

    /// Releases one handle; the last one closes the store, and what that throws says in what state the file is.
    func leave() throws(StoreError) {
        if fork.isChild { return }
        try SharedStore.alone(key) { () throws(StoreError) in try leaveAlone() }
    }

    private func leaveAlone() throws(StoreError) {
        let isLast = lock.withLock {
            handles -= 1
            return handles == 0
        }
        guard isLast else { return }
        defer { SharedStore.withRegistry { registry in registry.stores.removeAll { $0 === self } } }
        do throws(StoreError) {
            try database.close()
            log?.write(.info, "closed \(path)")
        } catch {
            log?.write(.error, "closing \(path): \(error.message)")
            throw error
        }
    }

    // MARK: Threads

    /// Throws where this thread would wait for itself.
    func checkOutside(_ operation: String) throws(StoreError) {
        if isWriterThread {
            throw StoreError(.alreadyInWrite, "\(operation): this thread has a transaction of the store open")
        }
    }

    /// This thread has a transaction open.
    var isWriterThread: Bool {
        let me = ThreadIdentity.current
        return lock.withLock { writerThread == me }
    }

    func didBegin() {
        let me = ThreadIdentity.current
        lock.withLock { writerThread = me }
    }

    /// Before the writer lock is released: afterwards the word is the next writer's.
    func willEnd() { lock.withLock { writerThread = 0 } }

    // MARK: Asynchronous writes

    func add(_ queue: WriteQueue) { lock.withLock { queues.append(queue) } }
    func remove(_ queue: WriteQueue) { lock.withLock { queues.removeAll { $0 === queue } } }

    /// A transaction that has begun for an asynchronous body that no thread has come for.
    func takeReady() -> WriteTransaction? {
        let queues = lock.withLock { self.queues }
        for queue in queues { if let transaction = queue.takeReady() { return transaction } }
        return nil
    }

    // MARK: Views

    func didOpen(_ version: UInt64?) {
        lock.withLock {
            viewCount += 1
            if let version { standing[version, default: 0] += 1 }
        }
    }

    func didMove(from old: UInt64, to new: UInt64) {
        lock.withLock {
            leaveVersion(old)
            standing[new, default: 0] += 1
        }
    }

    func didClose(_ version: UInt64?) {
        lock.withLock {
            viewCount -= 1
            if let version { leaveVersion(version) }
        }
    }

    private func leaveVersion(_ version: UInt64) {
        standing[version]? -= 1
        if standing[version] == 0 { standing[version] = nil }
    }

    var views: Int { lock.withLock { viewCount } }
    func views(on version: UInt64) -> Int { lock.withLock { standing[version] ?? 0 } }

    func isWritten(through view: View) { lock.withLock { writerView = .passUnretained(view) } }
    /// Before the view may go.
    func isNoLongerWritten(through view: View) {
        lock.withLock { if writerView?.toOpaque() == Unmanaged.passUnretained(view).toOpaque() { writerView = nil } }
    }
    /// Memory that the open transaction of this process takes.
    var arenaBytes: Int { lock.withLock { writerView?.strong }?.arenaBytes ?? 0 }

    /// Keeps what was handed out of a schema while the store is open.
    func keep(_ schema: Schema) {
        lock.withLock { if !schemas.contains(where: { $0 === schema }) { schemas.append(schema) } }
    }

    var isInherited: Bool { fork.isChild }
}

internal import CSystem

/// One store, open in this process: its files, the state it shares with other processes, its locks.
///
/// There is one per file and process. How versions come to be is in `Commit`, `Durability`, `Checkpoint` and
/// `Recovery`; the rules they follow are those of `docs/state-machine.md`.
package final class Database: @unchecked Sendable {
    let machine: Machine
    package let options: StoreOptions
    /// Resolved; empty for in-memory stores.
    package let path: String
    package let file: StorageFile
    package let shared: SharedState
    package let locks: Locks
    package let instance: UInt64
    let pins: PinTable

    /// Of the store, from its metas.
    package let uuid: (UInt64, UInt64)
    /// What objects carry to say which store they are of: the same in all processes, unless two open stores of this
    /// process would have the same one. Given once, before anything uses the store; 0 where no interface does.
    var storeTag: UInt32 = 0
    let incarnation: UInt64
    let seed: UInt64
    let created: Int64
    /// Kept in every meta, known or not.
    package let compatible: UInt32

    /// The log, once this process has opened it: a store that was not written to since it was cleanly closed may have
    /// none.
    private var openedLog: LogFile?
    /// Private free space. Under WRITER.
    var allocator: Allocator?
    /// Memory that write transactions take turns with. Under WRITER.
    private(set) var memory: WriterMemory?
    let recordBuffer = ByteBuffer(capacity: 4096)
    let deltaBuffer = ByteBuffer(capacity: 4096)
    /// The last result of `scanPins`. Under WRITER.
    var pinScratch: [UInt64] = []
    /// Estimated pages of the next free map: kept free for the checkpoint. Under WRITER.
    var freeMapPages = 1

    /// A reader has pinned a version that is long past: what it keeps makes the file grow. Under WRITER.
    var hasOldReader = false

    private let fork = ForkGuard()
    private let stateLock = Lock()
    private var currentMapping: Mapping
    /// By hash and birth of its node: a place in the file may be used again.
    private var cachedSchema: (hash: UInt64, born: UInt64, schema: Schema)?
    /// 1 until `open` has succeeded, and after `close`.
    private let closedFlag: SharedWord
    private var closed: Bool { closedFlag.current != 0 }
    /// Bytes live, free and pinned when the allocator was last looked at, for statistics. Under WRITER.
    var lastSpace = (0, 0, 0)
    /// The last ring that was found to lie in the log. Under WRITER.
    var knownRegion = LogRegion()
    /// The file had this many pages.
    private var knownPages = 0
    /// Opening it replayed a log.
    package internal(set) var wasRecovered = false
    /// This opening has made the file: of version 1, and empty.
    var isOwnMake = false

    /// When a writer of this process last saw the file in its place, and when one last wrote. Under WRITER.
    private var lastInPlace = Int64.min / 2
    var lastWritten = Int64.min / 2
    /// The file could not grow when that was tried last, and HEAD after room was made for a write. Under WRITER.
    var isFull = false, roomMadeAt: UInt64 = 0
    /// Only for the injected bug `lockStolen`.
    var stolenLocks = 0

    package nonisolated(unsafe) var probe: (any EngineProbe)?
    var background: BackgroundWork?
    /// For observers: notices new versions, and knows which ones are this process's.
    let watch: ChangeWatch
    let ownVersions = OwnVersions()

    /// The byte locks of the db file; nested in the order OPEN > CKPT > WRITER, and SYNC > WRITER.
    package struct Locks {
        let open: ExclusiveLock
        package let writer: ExclusiveLock
        let checkpoint: ExclusiveLock
        let sync: ExclusiveLock
        let live: ExclusiveLock

        static let first: Int64 = 1 << 62
        /// Of `-log.new`: see `SideNames`.
        static let names = first + 4
        /// Shared by readers that assume that the file is not being written.
        static let immutable: Range<Int64> = (first + 8)..<(first + 16)
        static let liveBase: Int64 = first + 16
        static func liveByte(_ instance: UInt64) -> Int64 { liveBase + Int64(instance & ((1 << 61) - 1)) }
        package static let allLive: Range<Int64> = liveBase..<(liveBase + (1 << 61))

        init(_ machine: Machine, _ file: StorageFile, instance: UInt64) {
            open = machine.makeLock(file, byte: Locks.first)
            writer = machine.makeLock(file, byte: Locks.first + 1)
            checkpoint = machine.makeLock(file, byte: Locks.first + 2)
            sync = machine.makeLock(file, byte: Locks.first + 3)
            live = machine.makeLock(file, byte: Locks.liveByte(instance))
        }

        /// Whether another instance has the store open; an instance that no longer holds LIVE is dead.
        static func isAlive(_ machine: Machine, _ file: StorageFile) -> @Sendable (UInt64) throws(StoreError) -> Bool {
            { (other) throws(StoreError) in
                let byte = liveByte(other)
                return try machine.isLocked(file, bytes: byte..<(byte + 1))
            }
        }

        /// The locks that every commit takes are words in shared memory.
        func attach(
            _ shared: SharedState, instance: UInt64, isAlive: @escaping @Sendable (UInt64) throws(StoreError) -> Bool
        ) {
            writer.attach(shared.lockWords(.writer, instance: instance, isAlive: isAlive))
            sync.attach(shared.lockWords(.sync, instance: instance, isAlive: isAlive))
        }
    }

    init(
        machine: Machine, options: StoreOptions, path: String, file: StorageFile, shared: SharedState, locks: Locks,
        instance: UInt64, meta: Meta, mapping: Mapping, log: LogFile?, probe: (any EngineProbe)?
    ) {
        self.machine = machine
        self.options = options
        self.path = path
        self.file = file
        self.shared = shared
        self.locks = locks
        self.instance = instance
        openedLog = log
        let flag = UnsafeMutablePointer<UInt64>.allocate(capacity: 1)
        flag.initialize(to: 1)
        closedFlag = SharedWord(UnsafeMutableRawPointer(flag))
        self.probe = probe
        uuid = meta.uuid
        incarnation = meta.incarnation
        seed = meta.hashSeed
        created = meta.created
        compatible = meta.compatible
        currentMapping = mapping
        watch = ChangeWatch(machine, shared)
        pins = PinTable(shared: shared, machine: machine, instance: instance, isAlive: Locks.isAlive(machine, file))
    }

    // MARK: Log, mapping and schema

    var log: LogFile? { stateLock.withLock { openedLog } }

    /// The log of a store that is prepared for writing; opened where another process prepared it.
    func requireLog() throws(StoreError) -> LogFile {
        if let log { return log }
        if options.isInMemory { throw StoreError(.internalError, "the log of an in-memory store is gone") }
        guard let opened = try Database.openLog(file, path, uuid: uuid, incarnation: incarnation, seed: seed, machine)
        else {
            throw StoreError(.needsLog, "the log \(path)-log was replaced or removed while the store was open")
        }
        return keepLog(opened)
    }

    /// The first one opened stays.
    @discardableResult
    func keepLog(_ new: LogFile) -> LogFile {
        let kept = stateLock.withLock { () -> LogFile in
            if let openedLog { return openedLog }
            openedLog = new
            return new
        }
        if kept !== new { new.file.close() }
        return kept
    }

    /// A mapping that covers the file at that size.
    func mapping(forPages pages: Int) throws(StoreError) -> Mapping {
        let bytes = pages * PageSize.page
        let now = stateLock.withLock { currentMapping }
        if bytes <= now.map.bytes { return now }
        let larger = try Mapping(file, bytes: Mapping.bytes(forFile: bytes))
        return stateLock.withLock {
            if currentMapping.map.bytes < larger.map.bytes { currentMapping = larger }
            return currentMapping
        }
    }

    /// A mapping for a version with that many pages, as the ring says, and how many of them can be read: what lies
    /// behind the end of the file (nothing of it is in use, if it was cut since) would end the process. Makes a system
    /// call only if the file has grown.
    func mapping(forVersionOf pages: Int) throws(StoreError) -> (mapping: Mapping, pages: Int) {
        let (now, known) = stateLock.withLock { (currentMapping, knownPages) }
        if pages <= known, pages * PageSize.page <= now.map.bytes { return (now, pages) }
        let inFile = try file.size() / PageSize.page, readable = min(pages, inFile)
        stateLock.withLock { knownPages = max(knownPages, inFile) }
        return (try mapping(forPages: readable), readable)
    }

    /// Made by the first write transaction. Under WRITER.
    func writerMemory(_ mapping: Mapping) throws(StoreError) -> WriterMemory {
        if let memory { return memory }
        let made = try WriterMemory(self, mapping)
        memory = made
        return made
    }

    /// The schema of the version with that root; decoded once per schema.
    func schema(at root: Ref, _ source: PageSource) throws(StoreError) -> Schema {
        let ref = RootNode.schema(try source.node(root, .root))
        let node = try source.node(ref, .schema)
        let hash = NodeHeader.hash(node), born = NodeHeader.born(node)
        let cached = stateLock.withLock { cachedSchema }
        if !ref.isDirty, let cached, cached.hash == hash, cached.born == born { return cached.schema }
        var reader = ByteReader(node + NodeHeader.size, count: NodeHeader.bytes(node) - NodeHeader.size)
        let schema = try SchemaCodec.read(&reader)
        guard schema.classes.count <= shared.limits.classes else {
            throw StoreError(.corrupt, "the schema has \(schema.classes.count) classes")
        }
        if let cached { schema.keepNames(of: cached.schema) }
        if !ref.isDirty { stateLock.withLock { cachedSchema = (hash, born, schema) } }
        return schema
    }

    // MARK: Reading

    /// Pins the newest visible version.
    package func snapshot() throws(StoreError) -> Snapshot {
        try checkOpen()
        return try Snapshot(self)
    }

    package var publishedVersion: UInt64 { shared.published.current }

    func unpin(_ version: UInt64) {
        if !fork.isChild { pins.unpin(version) }
    }

    func checkOpen() throws(StoreError) {
        if fork.isChild {
            throw StoreError(.forked, "the store was opened by the parent process: open it again after fork")
        }
        if closed { throw StoreError(.closedHandle, "the store is closed") }
    }

    /// Throws where the path does not lead to the file any more: it was deleted, replaced, or moved away. What is
    /// written there would never be found, and the store that has the path decides whose log is next to it.
    func checkInPlace() throws(StoreError) {
        if InjectedBug.active(.replacedUnseen) { return }
        try checkNotReplaced()
        if try !isInPlace() { throw replacedError }
    }

    /// The same, under WRITER, for transactions that follow each other within a moment: a look at a path takes as long
    /// as a small commit. In less than `shortestMove` nothing, not even this thread, can have moved the file between
    /// them; and what another process does is seen a millisecond later.
    func checkInPlaceSoon() throws(StoreError) {
        var now = machine.monotonic()
        if now - lastWritten > options.shortestMove || now - lastInPlace > 1_000_000 {
            try checkInPlace()
            // Behind the look, which takes as long as all else up to the commit.
            now = machine.monotonic()
            lastInPlace = now
        } else {
            try checkNotReplaced()
        }
        lastWritten = now
    }

    private func isInPlace() throws(StoreError) -> Bool {
        if options.isInMemory { return true }
        if InjectedBug.active(.movedUnseen) { return try file.hasName() }
        do throws(StoreError) { return try machine.leads(path, to: file) } catch {
            if error.systemError == ENOTDIR { return false }
            // A process that has become another user since, and may not look there, goes by what the file says.
            guard error.systemError == EACCES else { throw error }
            return try file.hasName()
        }
    }

    /// The same without a system call: it reveals another store in this one's place, not of an empty one.
    package func checkNotReplaced() throws(StoreError) {
        if shared.isReplaced { throw replacedError }
    }

    var replacedError: StoreError { Database.replaced(path) }

    static func replaced(_ path: String) -> StoreError {
        StoreError(
            .replaced,
            """
            the file \(path) was moved away, was deleted, or another one has its place: what is written here would be \
            lost; close the store and open it again
            """
        )
    }

    // MARK: Metas

    /// Both metas as the file has them now; nil where torn. `.versionMismatch` where a library that knows more wrote
    /// one: it may be the newer one, and what it refers to must not be written over.
    func readMetas() throws(StoreError) -> [Meta?] { try Database.readMetas(file) }

    static func readMetas(_ file: StorageFile) throws(StoreError) -> [Meta?] {
        let buffer = UnsafeMutableRawPointer.allocate(byteCount: PageSize.page + Meta.size, alignment: 64)
        defer { buffer.deallocate() }
        try file.read(into: buffer, count: PageSize.page + Meta.size, at: 0)
        var metas: [Meta?] = []
        for slot in 0..<2 {
            switch Result(catching: { () throws(Meta.Problem) in try Meta.decodeChecked(buffer + slot * PageSize.page) }
            ) {
            case .success(let meta): metas.append(meta)
            case .failure(.torn), .failure(.notAStore): metas.append(nil)
            case .failure(.newerFormat(let version)):
                throw StoreError(
                    .versionMismatch, "the file has format \(version); this library knows format \(Meta.formatVersion)")
            case .failure(.unknownFeatures(let bits)):
                throw StoreError(
                    .versionMismatch, "the file needs features that this library does not know (bits \(bits))")
            case .failure(.otherPageSize(let size)):
                throw StoreError(
                    .versionMismatch, "the file has pages of \(size) bytes; this library knows \(PageSize.page)")
            }
        }
        return metas
    }

    package static func newestMeta(_ metas: [Meta?]) -> (slot: Int, meta: Meta)? {
        var best: (slot: Int, meta: Meta)?
        for (slot, meta) in metas.enumerated() {
            if let meta, best == nil || meta.generation > best!.meta.generation { best = (slot, meta) }
        }
        return best
    }

    func writeMeta(_ meta: Meta, slot: Int) throws(StoreError) {
        try Database.writeMeta(meta, slot: slot, to: file)
        shared.dbBytes.add(UInt64(Meta.size))
    }

    static func writeMeta(_ meta: Meta, slot: Int, to file: StorageFile) throws(StoreError) {
        let buffer = UnsafeMutableRawPointer.allocate(byteCount: Meta.size, alignment: 64)
        defer { buffer.deallocate() }
        meta.encode(to: buffer)
        try file.write(UnsafeRawPointer(buffer), count: Meta.size, at: slot * PageSize.page)
    }

    // MARK: Syncs and poison

    /// Syncs the db file; a failure poisons before any lock is released.
    func syncDB() throws(StoreError) {
        do throws(StoreError) {
            try file.sync()
            shared.syncs.add(1)
        } catch {
            if !InjectedBug.active(.checkpointNoPoison) { setPoison() }
            throw StoreError(.syncFailed, error.message)
        }
    }

    func setPoison() {
        shared.poison()
        probe?.didPoison(self)
        announce()
    }

    /// Wakes all threads that wait for DURABLE or poison, and the observers.
    func announce() {
        shared.endAllRounds(machine)
        shared.event.ring(machine)
    }

    var poisonedError: StoreError {
        StoreError(
            .poisoned,
            """
            a sync failed, or damage was found, in some process: the store is read-only until every process has \
            closed it
            """
        )
    }

    // MARK: Closing

    var isClosed: Bool { closed }

    /// `open` has succeeded.
    func markOpen() { closedFlag.store(0) }

    /// From now on nothing begins. The caller holds OPEN.
    func markClosed() { closedFlag.store(1) }

    deinit {
        // Not closed: locks and slots go with the file descriptors, as if the process had died.
        if !closed && !fork.isChild { try? close() }
        closedFlag.address.deallocate()
    }
}

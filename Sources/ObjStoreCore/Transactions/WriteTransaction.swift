/// Is told where the version of a transaction becomes visible to others: just before, and just after.
protocol CommitWitness: AnyObject {
    func willBecomeVisible(_ version: UInt64)
    /// The transaction's base is the new version, of which no page is freed yet.
    func isVisible(_ transaction: WriteTransaction)
}

/// The one place where a store changes: holds the writer lock, sees its own changes, becomes a version at commit.
///
/// It starts from HEAD (which readers may not see yet) and works on copies in the arena. Several may be
/// committed as one group: each but the last with `seal`, the last with `commit`; the group survives as a
/// whole or not at all.
package final class WriteTransaction {
    package let database: Database
    /// What this transaction started from: HEAD, or the sealed member of the group before it.
    private(set) var base: SharedState.RingEntry
    /// The version of others that everything read here came from.
    package private(set) var seenVersion: UInt64
    package private(set) var schema: Schema
    var schemaRef: Ref
    /// The last one is the newest; what was read through the others may still be looked at.
    var mappings: [Mapping]
    var mapping: Mapping { mappings[mappings.count - 1] }
    let memory: WriterMemory
    var space: WriteSpace { memory.space }
    var ops: OpLog { memory.ops }
    /// A failure left the private state half changed: only cancel is possible.
    package var isBroken: Bool { isActive && memory.isBroken }
    package private(set) var isActive = true
    /// The open ones, the innermost last.
    var savepoints: [Savepoint] = []
    /// How many have begun: each has a name of its own.
    var savepointCount: UInt64 = 0
    /// The schema is another since a moment ago: classes that are looked at free indexes that it does not have.
    var isChangingIndexes = false
    /// False in recovery, which is alone and holds OPEN instead.
    private let holdsWriter: Bool
    /// Not nil: functions of the application are called in the middle of reading it.
    weak var gate: (any TransactionGate)?
    /// Is told where its version becomes visible.
    var witness: (any CommitWitness)?

    // The group so far.
    private(set) var group = Group()
    struct Group {
        var members = 0
        /// Whether any member, so the whole group, cannot be replayed.
        var hasSummary = false
        /// What the members before the last one did.
        var allocated: [(placed: [ExtentWriter.PlacedPage], freed: [FreedExtent], version: UInt64)] = []
        var firstVersion: UInt64 = 0
    }

    /// Takes the writer lock; waits at most `timeout` nanoseconds (negative: for ever): `.timeout`, or `.busy` if it
    /// only tries.
    package static func begin(
        _ database: Database, timeout: Int64 = -1, isTry: Bool = false, until end: WaitCancellation? = nil
    ) throws(StoreError) -> WriteTransaction {
        let entry = try database.lockForWriting(timeout: timeout, isTry: isTry, until: end)
        do throws(StoreError) {
            return try WriteTransaction(database, entry)
        } catch {
            database.poisonIfDamaged(error)
            database.releaseWriter()
            throw error
        }
    }

    init(_ database: Database, _ entry: SharedState.RingEntry, holdsWriter: Bool = true) throws(StoreError) {
        self.database = database
        self.holdsWriter = holdsWriter
        base = entry
        seenVersion = entry.version
        let (mapping, pages) = try database.mapping(forVersionOf: entry.filePages)
        memory = try database.writerMemory(mapping)
        mappings = [mapping]
        let source = mapping.source(filePages: pages, seed: database.seed, arena: memory.arena)
        let node = try source.node(entry.root, .root)
        schemaRef = RootNode.schema(node)
        schema = try database.schema(at: entry.root, source)
        memory.begin(
            source, schema, version: entry.version + 1, opsLimit: entry.log.region.bytes / 8,
            // Recovery has as much to do as the log has room for.
            spillLimit: holdsWriter ? database.options.transactionBytes : .max)
    }

    /// The version this transaction starts from.
    package var baseVersion: UInt64 { base.version }
    package var hasChanges: Bool { !ops.isEmpty || isMoving }
    /// It changes where things lie, and so makes a version, even if nothing that an application sees is another.
    var isMoving = false

    // MARK: Classes

    /// The writable state of a class.
    package func state(_ index: Int) throws(StoreError) -> ClassState {
        if let state = memory.openState(index) { return state }
        let root = try space.source.node(base.root, .root)
        let ref = index < NodeHeader.count(root) ? RootNode.classNode(root, index) : .null
        let state = memory.makeState(index, schema.classes[index], nextKey: database.shared.nextKey(index))
        try state.open(ref, dropping: isChangingIndexes)
        return state
    }

    /// Whether objects were looked at or changed already.
    var hasOpenClasses: Bool { memory.hasOpenStates }

    /// Adds or changes classes. Trees of unchanged classes stay as they are.
    package func setSchema(_ new: Schema) throws(StoreError) {
        guard new.classes.count <= database.shared.limits.classes else {
            throw StoreError(
                .invalidSchema, "a store can have \(database.shared.limits.classes) classes, not \(new.classes.count)")
        }
        guard !hasOpenClasses else {
            throw StoreError(.invalidArgument, "the schema can change only before anything else in its transaction")
        }
        let buffer = ByteBuffer()
        try SchemaCodec.append(new, to: buffer)
        let bytes = NodeHeader.size + buffer.count
        let (ref, pointer) = try space.newNode(.schema, bytes: bytes, capacity: bytes)
        (pointer + NodeHeader.size).copyMemory(from: buffer.base, byteCount: buffer.count)
        try space.discardNode(schemaRef, .schema)
        // Logged last of what can fail: a schema without its operation would be one that recovery does not know.
        try ops.schema(new)
        schemaRef = ref
        schema = new
        memory.use(new)
    }

    /// Moves the schema's node if it is among `victims`; returns its bytes.
    func moveSchema(_ victims: MovedPages) throws(StoreError) -> Int {
        let node = try space.source.node(schemaRef, .schema)
        guard victims.contains(schemaRef, bytes: NodeHeader.bytes(node), born: NodeHeader.born(node)) else { return 0 }
        schemaRef = try space.writableNode(schemaRef, .schema).ref
        return NodeHeader.bytes(node)
    }

    /// Logs only a summary, as if the changes had been many: for tests of barriers.
    package func forceSummary() { ops.becomeSummary() }

    // MARK: Ending

    /// Forgets everything, releases the lock, and returns when what was read here is shown to others, and durable as
    /// the store's durability (or `durability`) says. Keys that were given out are not given out again.
    ///
    /// Throws `.outcomeUnknown` where what was read may not survive; the transaction has left nothing all the same.
    package func cancel(_ durability: StoreOptions.Durability? = nil) throws(StoreError) {
        abandon()
        try database.confirm(seenVersion, durability ?? database.options.durability)
    }

    /// Cancels because of `error`; what is returned says more where what was read may not survive.
    package func cancel(because error: StoreError, _ durability: StoreOptions.Durability? = nil) -> StoreError {
        do throws(StoreError) { try cancel(durability) } catch { return error }
        return error
    }

    /// `cancel` where nothing that was read is reported.
    package func abandon() {
        guard isActive else { return }
        isActive = false
        giveBackPages()
        memory.end()
        if holdsWriter { database.releaseWriter() }
    }

    /// Undoes the takes of an attempt that came to nothing: the next one may use the pages.
    private func giveBackPages() {
        claimSpilled()
        for run in memory.takenRuns { database.allocator?.space.release(page: run.page, count: run.count) }
        memory.takenRuns.removeAll(keepingCapacity: true)
        group = Group()
    }

    /// Makes the changes a version and waits as the store's durability (or `durability`) says.
    ///
    /// Returns the version, which is the old one when nothing changed: then that one is waited for, since it was read
    /// here. Throws `.outOfSpace` or `.io` when nothing happened, `.outcomeUnknown` when the version may or may not
    /// survive.
    @discardableResult
    package func commit(_ durability: StoreOptions.Durability? = nil) throws(StoreError) -> UInt64 {
        try checkUsable()
        releaseAllSavepoints()
        let durability = durability ?? database.options.durability
        if !hasChanges && group.members == 0 {
            try cancel(durability)
            return seenVersion
        }
        let version: UInt64
        do throws(StoreError) { version = try write(isLast: true) } catch { throw cancel(because: error, durability) }
        try database.finishCommit(version, durability)
        return version
    }

    /// The same, but for the wait: afterwards the lock is released. The wait may need the lock in its turn, for a
    /// checkpoint; so nobody may be kept waiting by it who has a transaction.
    func end() throws(StoreError) -> EndedTransaction {
        try checkUsable()
        releaseAllSavepoints()
        if !hasChanges && group.members == 0 {
            abandon()
            return EndedTransaction(self, .unchanged)
        }
        do throws(StoreError) { return EndedTransaction(self, .version(try write(isLast: true))) } catch {
            abandon()
            return EndedTransaction(self, .failed(error))
        }
    }

    /// The same for one that is to leave nothing.
    func end(because error: StoreError) -> EndedTransaction {
        abandon()
        return EndedTransaction(self, .failed(error))
    }

    /// Whether a group may have one more member: the ring of roots keeps an entry for the checkpoint.
    package var canSeal: Bool {
        base.version &+ 2 &- database.shared.published.load() < UInt64(database.shared.limits.ringEntries - 1)
    }

    /// Ends one member of a group and begins the next, without letting go of the lock.
    package func seal() throws(StoreError) -> WriteTransaction {
        try checkUsable()
        releaseAllSavepoints()
        if !hasChanges { return self }
        _ = try write(isLast: false)
        do throws(StoreError) {
            let next = try WriteTransaction(database, base)
            next.group = group
            next.seenVersion = seenVersion
            isActive = false  // the lock and the group's pages are the next member's now
            return next
        } catch {
            isActive = false
            giveBackPages()
            database.releaseWriter()
            throw error
        }
    }

    func checkUsable() throws(StoreError) {
        guard isActive else { throw StoreError(.closedHandle, "the transaction has ended") }
        guard !isBroken else {
            throw StoreError(.corrupt, "a failed operation left the transaction unusable: it can only be cancelled")
        }
    }

    deinit { abandon() }

    // MARK: Writing

    /// Pages, then the record, then (for the last of a group) the ring entry and HEAD.
    private func write(isLast: Bool) throws(StoreError) -> UInt64 {
        let database = database
        let version = base.version + 1
        if group.members == 0 { group.firstVersion = version }
        var recordBegun = false
        do throws(StoreError) {
            try database.checkInPlaceSoon()
            try database.checkAlone(after: group.firstVersion - 1)
            try prepareForSpace()
            if group.members > 0,
                version &- database.shared.published.load() >= UInt64(database.shared.limits.ringEntries - 1)
                    && !InjectedBug.active(.ringOverrun)
            {
                throw StoreError(
                    .outOfSpace,
                    """
                    too many transactions in one group: the ring of roots has \(database.shared.limits.ringEntries) \
                    entries
                    """
                )
            }
            let root = try flush(version)
            let extents = memory.extents
            var record = LogRecord(version: version)
            if !isLast && !InjectedBug.active(.groupNoFlag) { record.flags.insert(.continues) }
            record.filePages = database.allocator!.space.pages
            record.root = root
            record.time = database.machine.wallClock()

            // What the version allocated and freed, for the allocators of others.
            let delta = AllocationDelta(allocated: claimSpilled() + extents.placed, freed: space.freed)
            try delta.encode(into: database.deltaBuffer, version: version)
            var summary: ByteBuffer?
            let limit = base.log.region.bytes / 8
            if ops.isSummary || ops.bytes.count > min(limit, max(4096, delta.allocated.count * PageSize.page)) {
                record.flags.insert(.summary)
                summary = try encodedSummary(limit)
                group.hasSummary = true
            }
            var freed = space.freed
            var placed = delta.allocated
            if database.deltaBuffer.count + (summary?.count ?? 0) > limit {
                try storeLargeDelta(&record, version: version, placed: &placed, freed: &freed)
                // Not to be replayed any more: what is logged is for observers.
                if summary == nil { summary = try encodedSummary(limit) }
            }
            try record.encode(
                into: database.recordBuffer, ops: summary ?? ops.bytes, delta: database.deltaBuffer, at: base.log,
                seed: database.seed)
            try checkLogSpace(record)

            try extents.finish(database.file)
            database.shared.dbBytes.add(UInt64(extents.bytesPlaced))
            database.probe?.willWriteRecord(
                database, version: version, chain: record.chain, previous: base.log.chain, continues: !isLast,
                isSummary: record.flags.contains(.summary), keepsContent: isMoving)
            var entry = SharedState.RingEntry(
                version: version, root: record.root, filePages: record.filePages, log: record.end, isCheckpoint: false,
                barrier: 0)
            if group.hasSummary && !InjectedBug.active(.barrierIgnored) {
                entry.barrier = InjectedBug.active(.barrierInGroup) ? version : group.firstVersion
                if InjectedBug.active(.barrierInWord) {
                    if database.shared.barrierWord.load() == 0 { database.shared.barrierWord.store(entry.barrier) }
                    entry.barrier = 0
                }
            }
            if InjectedBug.active(.headBeforeLog) { database.moveHead(entry, from: group.firstVersion) }
            recordBegun = true
            try database.requireLog().write(record, database.recordBuffer)
            database.shared.logBytes.add(UInt64(database.recordBuffer.count))
            group.members += 1
            base = entry
            if !isLast {
                group.allocated.append((placed, freed, version))
                if InjectedBug.active(.groupHead) { database.moveHead(entry, from: group.firstVersion) }
                return version
            }
            if database.shared.isPoisoned { throw database.poisonedError }
            try database.checkAlone(after: group.firstVersion - 1)
            database.ownVersions.note(group.firstVersion...version)
            witness?.willBecomeVisible(version)
            database.moveHead(entry, from: group.firstVersion)
            witness?.isVisible(self)
            applyToAllocator(placed, freed, version)
        } catch {
            // Nothing shared changed; what was written lies beyond HEAD and will be overwritten.
            isActive = false
            giveBackPages()
            memory.end()
            database.poisonIfDamaged(error)
            database.releaseWriter()
            if recordBegun && isLast {
                throw StoreError(.outcomeUnknown, "the commit may or may not survive: \(error.message)").system(
                    error.systemError)
            }
            throw error
        }
        isActive = false
        database.shared.commits.add(UInt64(group.members))
        group = Group()
        if let background = database.background {
            let changed = ops.changedObjects
            background.didChange(changed.all, deleted: changed.deleted)
        }
        memory.end()
        database.releaseWriter()
        return version
    }

    /// What happened to which objects; empty where that would be too much for the ring: observers then compare the
    /// two versions.
    private func encodedSummary(_ limit: Int) throws(StoreError) -> ByteBuffer {
        let buffer = ByteBuffer()
        try ops.encodeSummary(into: buffer)
        if buffer.count > limit { buffer.removeAll() }
        return buffer
    }

    /// Places every dirty extent, bottom-up; returns the new root. Nothing is written yet.
    private func flush(_ version: UInt64) throws(StoreError) -> Ref {
        let writer = memory.extents
        writer.begin(version: version, estimate: memory.arena.capacityInUse + 2 * PageSize.page, mapping: mapping)
        let old = try space.source.node(base.root, .root)
        let oldCount = NodeHeader.count(old)
        let bytes = RootNode.headerSize + 8 * schema.classes.count
        let (root, pointer) = try space.newNode(.root, bytes: bytes, capacity: bytes, word: version)
        (pointer + NodeHeader.size).initializeMemory(as: UInt8.self, repeating: 0, count: bytes - NodeHeader.size)
        NodeHeader.setCount(pointer, schema.classes.count)
        for index in 0..<schema.classes.count {
            var ref = index < oldCount ? RootNode.classNode(old, index) : .null
            if ref.isNull || memory.openState(index)?.hasChanges == true {
                ref = try state(index).flush(into: writer, replacing: ref)
            }
            RootNode.setClassNode(pointer, index, ref)
        }
        if schemaRef.isDirty { schemaRef = try writer.node(schemaRef) }
        RootNode.setSchema(pointer, schemaRef)
        try space.discardNode(base.root, .root)
        let ref = try writer.node(root)
        writer.endRuns()
        return ref
    }

    /// Writes the changes into fresh pages as part of `version`, which recovery makes durable with a meta.
    func writeForRecovery(_ version: UInt64) throws(StoreError) -> Ref {
        let root = try flush(version)
        try memory.extents.finish(database.file)
        try database.allocator!.space.apply(memory.extents.placed, space.freed, version: version)
        memory.takenRuns.removeAll(keepingCapacity: true)
        abandon()
        return root
    }

    /// A delta that does not fit in the ring lies in pages of its own, which die with the version itself:
    /// they can be reused once a meta at or past the version is durable (the version is a barrier).
    private func storeLargeDelta(
        _ record: inout LogRecord, version: UInt64, placed: inout [ExtentWriter.PlacedPage], freed: inout [FreedExtent]
    ) throws(StoreError) {
        let database = database
        // The delta names its own pages: room for that, before its length is known.
        let pages = PageSize.pages(database.deltaBuffer.count + 256)
        let run = try database.takePages(minimum: pages, wanted: pages)
        memory.takenRuns.append(run)
        mapping.forget(page: run.page, count: run.count)
        for page in run.page..<(run.page + run.count) {
            placed.append(ExtentWriter.PlacedPage(page: page, liveUnits: PageSize.unitsPerPage))
        }
        freed.append(
            FreedExtent(unit: run.page * PageSize.unitsPerPage, units: run.count * PageSize.unitsPerPage, born: version)
        )
        try AllocationDelta(allocated: placed, freed: freed).encode(into: database.deltaBuffer, version: version)
        let length = database.deltaBuffer.count
        precondition(length <= pages * PageSize.page)
        try database.deltaBuffer.pad(to: PageSize.page)
        let hash = PageHash.hash(
            UnsafeRawPointer(database.deltaBuffer.base), count: length, seed: PageHash.mix(database.seed, version))
        try database.file.write(
            UnsafeRawPointer(database.deltaBuffer.base), count: database.deltaBuffer.count, at: run.page * PageSize.page
        )
        record.deltaRef = Ref(offset: run.page * PageSize.page, hash: hash, born: version)
        record.deltaLength = length
        record.filePages = database.allocator!.space.pages
        database.deltaBuffer.removeAll()
        try database.deltaBuffer.append(hash)
        if !record.flags.contains(.summary) {
            // Replay does not need the delta, but a process that follows the log needs it until a meta is durable.
            record.flags.insert(.summary)
            group.hasSummary = true
        }
    }

    /// The lock was given with room for one small record and a checkpoint's; a larger one must fit too.
    private func checkLogSpace(_ record: LogRecord) throws(StoreError) {
        if InjectedBug.active(.logOverrun) { return }
        guard try database.logHasRoom(until: record.end, in: base.log) else {
            throw StoreError(
                .outOfSpace,
                """
                the log ring of \(base.log.region.bytes) bytes has no room for a record of \
                \(database.recordBuffer.count) bytes
                """
            )
        }
    }

    /// What the group allocated and freed; the arguments are its last member's.
    private func applyToAllocator(_ placed: [ExtentWriter.PlacedPage], _ freed: [FreedExtent], _ version: UInt64) {
        memory.takenRuns.removeAll(keepingCapacity: true)
        guard var allocator = database.allocator else { return }
        database.allocator = nil
        do throws(StoreError) {
            for member in group.allocated {
                try allocator.space.apply(member.placed, member.freed, version: member.version)
            }
            try allocator.space.apply(placed, freed, version: version)
            allocator.version = base.version
            allocator.position = base.log
            allocator.root = base.root
            allocator.filePages = base.filePages
            database.allocator = allocator
        } catch {
            // Double use of a page: never continue on such a map. The next writer reads it from the log, and fails
            // there.
            assertionFailure("\(error)")
        }
    }
}

/// A transaction that has ended, but for the wait until what it made, or what it has read, is durable.
struct EndedTransaction {
    enum Result { case version(UInt64), unchanged, failed(StoreError) }
    private let database: Database
    private let seen: UInt64
    private let result: Result

    fileprivate init(_ transaction: WriteTransaction, _ result: Result) {
        (database, seen, self.result) = (transaction.database, transaction.seenVersion, result)
    }

    /// Its version, or the one that it began with where it has changed nothing.
    func wait(_ durability: StoreOptions.Durability) throws(StoreError) -> UInt64 {
        switch result {
        case .version(let version):
            try database.finishCommit(version, durability)
            return version
        case .unchanged:
            try database.confirm(seen, durability)
            return seen
        case .failed(let error):
            try database.confirm(seen, durability)
            throw error
        }
    }
}

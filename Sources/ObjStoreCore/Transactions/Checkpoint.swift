/// Makes a version's tree durable by itself, so that the log before it is not needed any more.
///
/// A checkpoint is a version of its own, R = HEAD + 1, with a log record: it allocates the extent of the new
/// free map under WRITER like any other extent. Then, without WRITER:
/// ```
///   free map at R ─► sync db ─► meta into the slot that is not the durable one ─► sync db ─► release
/// ```
/// A failed write on the way leaves things as if the checkpointer had died: `intent` stays, and the next one
/// completes. A failed sync poisons.
extension Database {
    /// - Parameters:
    ///   - version: nothing to do when the durable meta has passed it.
    ///   - timeout: waits at most this many nanoseconds for another checkpoint and for a writer (negative: for ever).
    ///   - cutsAll: the file loses all that is free at its end.
    ///   - isIdle: there was no write for a while: a log that has grown goes back to its first size.
    ///   - isFull: there is no room on the disk: as `isIdle`, and another one where nothing has changed, since what is
    ///     free by the newest meta is not free by the one before it.
    ///   - end: of waiting for others.
    package func checkpoint(
        atLeast version: UInt64 = .max, clean: Bool = false, timeout: Int64 = -1, cutsAll: Bool = false,
        isIdle: Bool = false,
        isFull: Bool = false, until end: WaitCancellation? = nil
    ) throws(StoreError) {
        let deadline = timeout < 0 ? -1 : machine.monotonic() &+ timeout
        guard try wait(for: locks.checkpoint, timeout: timeout, until: end) else {
            throw StoreError(.timeout, "another checkpoint took more than \(timeout / 1_000_000) ms")
        }
        defer { locks.checkpoint.release() }
        if shared.isPoisoned { throw poisonedError }
        if shared.prepared.load() == 0 { return }
        if try !file.hasName() { throw replacedError }
        let shrinksLog = (isIdle || isFull) && canShrinkLog
        if version <= shared.metaVersion.load() && !shrinksLog { return }
        do throws(StoreError) {
            try checkpointLocked(
                clean: clean, deadline: deadline, cutsAll: cutsAll, shrinksLog: shrinksLog, isFull: isFull, until: end)
        } catch {
            if error.code == .syncFailed {
                if InjectedBug.active(.checkpointNoPoison) { shared.intent.store(0) }
                throw StoreError(
                    .outcomeUnknown,
                    "a sync failed during a checkpoint: the store is read-only until every process has closed it")
            }
            if InjectedBug.active(.intentCleared) { shared.intent.store(0) }
            poisonIfDamaged(error)
            throw error
        }
    }

    private func checkpointLocked(
        clean: Bool, deadline: Int64, cutsAll: Bool, shrinksLog: Bool, isFull: Bool, until end: WaitCancellation?
    ) throws(StoreError) {
        let isSuspect = shared.intent.load() != 0
        if isSuspect { try makeNewestMetaCertain() }
        let durable = try durableMeta()

        let region = try shrinksLog ? zeroed(firstRegion) : isFull ? LogRegion() : prepareNextRegion()
        guard
            try acquireWriterForUpkeep(timeout: deadline < 0 ? -1 : max(0, deadline - machine.monotonic()), until: end)
        else {
            throw StoreError(.timeout, "checkpoint: a transaction held the writer's lock for too long")
        }
        var holdsWriter = true
        defer { if holdsWriter { releaseWriterAfterUpkeep() } }
        if shared.isPoisoned { throw poisonedError }
        let head = try shared.headEntry()
        try prepareAllocator(for: head)
        if head.version == shared.metaVersion.load() && !clean && !shrinksLog && !isFull {
            shared.intent.store(0)
            return
        }
        var round = head
        var freeMap: (image: ByteBuffer, ref: Ref)?
        if head.isCheckpoint && head.version > shared.metaVersion.load() {
            // A dead checkpointer's record is HEAD: use it, there may be no room for another one.
            freeMap = try encodeFreeMap(at: head.version, in: head.freeMap)
            if freeMap != nil { shared.intent.store(head.version) }
        }
        if freeMap == nil {
            if InjectedBug.active(.checkpointPublishedOnly) && shared.published.load() < head.version { return }
            round = try writeCheckpointRecord(after: head, region: region, clean: clean, cutsAll: cutsAll)
            freeMap = try encodeFreeMap(at: round.version, in: round.freeMap)
        }
        // The free map is that of R: taken before others continue.
        guard let (image, freeMapRef) = freeMap else {
            throw StoreError(.internalError, "the free map does not fit in the pages that were taken for it")
        }
        // The file may have grown since R's record, by a commit that failed: the map speaks of all of it.
        let filePages = allocator!.space.pages
        let oldMetaVersion = shared.metaVersion.load()
        releaseWriterAfterUpkeep()
        holdsWriter = false
        if InjectedBug.active(.intentLate) { shared.intent.store(round.version) }

        if InjectedBug.active(.cutEarly) && round.filePages < head.filePages { try cutFile(deadline, until: end) }
        if isSuspect && !InjectedBug.active(.checkpointDeathTrusted) {
            // Pages that a dead one's failed sync left clean in the cache but not on the medium.
            try rewritePages(of: round, bornAfter: oldMetaVersion)
        }
        try file.write(UnsafeRawPointer(image.base), count: image.count, at: freeMapRef.offset)
        shared.dbBytes.add(UInt64(image.count))
        if !InjectedBug.active(.metaBeforeSync) { try syncDB() }
        var slot = durable.slot ^ 1
        if InjectedBug.active(.sameSlot) { slot ^= 1 }
        let meta = Meta(
            uuid: uuid, incarnation: incarnation, generation: durable.generation + 1, version: round.version,
            root: round.root,
            freeMap: freeMapRef, filePages: filePages, log: round.log, hashSeed: seed, created: created, isClean: clean,
            compatible: compatible)
        if InjectedBug.active(.logReleasedEarly) { shared.logStart.store(LogStart.word(meta.log)) }
        try writeMeta(meta, slot: slot)
        if !InjectedBug.active(.releasedBeforeSync) { try syncDB() }
        metaIsDurable(meta, slot: slot)
        shared.intent.store(0)
        shared.checkpoints.add(1)
        announce()
        if shrinksLog && round.log.region == firstRegion { try trimLog(to: firstRegion) }
        if round.filePages < head.filePages { try cutFile(deadline, until: end) }
    }

    /// How many pages the file has from this checkpoint on: if many at its end are free, and not pinned, most
    /// of them are cut off; nearly all of them when the store is closed, and by compaction. Under WRITER.
    private func pagesAfterCheckpoint(_ space: FreeSpace, clean: Bool, cutsAll: Bool) -> Int {
        let ready = space.readyAtEnd, least: Int, kept: Int
        if cutsAll {
            (least, kept) = (options.growthPages / 16, options.growthPages / 32)
        } else if clean {
            (least, kept) = (
                max(options.growthPages / 16, space.pages / 64), max(options.growthPages / 32, space.pages / 128)
            )
        } else {
            (least, kept) = (max(options.cutPages, space.pages / 2), ready / 4)
        }
        return ready <= least ? space.pages : space.pages - ready + kept
    }

    /// Gives the file system back what lies behind the newest version's pages. A meta that is durable says so already;
    /// what a failed commit has grown the file by goes, too.
    private func cutFile(_ deadline: Int64, until end: WaitCancellation?) throws(StoreError) {
        guard
            try acquireWriterForUpkeep(timeout: deadline < 0 ? -1 : max(0, deadline - machine.monotonic()), until: end)
        else { return }
        defer { releaseWriterAfterUpkeep() }
        let head = try shared.headEntry()
        // The file is cut where the log says so, not where the memory does.
        if allocator?.agrees(with: head) != true { try bringAllocatorForward(to: head) }
        let bytes = head.filePages * PageSize.page
        if try file.size() > bytes { try file.truncate(bytes) }
    }

    /// Which meta is durable, as the file says, too: a wrong word may not lead to the loss of the one that the store is
    /// based on.
    private func durableMeta() throws(StoreError) -> (slot: Int, generation: UInt64) {
        let slot = shared.durableSlot.load(), generation = shared.generation.load()
        let generations = try readMetas().map { $0?.generation ?? 0 }
        guard slot < 2, generations[Int(slot)] == generation, generation < .max else {
            throw StoreError(
                .corrupt,
                """
                the store's lock file says that meta \(slot) of generation \(generation) is durable, the store has \
                the generations \(generations)
                """
            )
        }
        return (Int(slot), generation)
    }

    /// The last checkpointer died, or could not write: make it certain which meta is durable.
    private func makeNewestMetaCertain() throws(StoreError) {
        guard let (slot, meta) = Database.newestMeta(try readMetas()) else {
            throw StoreError(.corrupt, "no valid meta")
        }
        if InjectedBug.active(.checkpointDeathTrusted) {
            shared.durableSlot.store(UInt64(slot))
            shared.generation.store(meta.generation)
            shared.metaPins[slot].store(meta.version)
            return
        }
        try writeMeta(meta, slot: slot)
        try syncDB()
        metaIsDurable(meta, slot: slot)
    }

    /// In the order in which others look: pins first (`intent` is still set), then space, then visibility.
    func metaIsDurable(_ meta: Meta, slot: Int) {
        shared.metaPins[slot].store(meta.version)
        shared.durableSlot.store(UInt64(slot))
        shared.generation.store(max(shared.generation.load(), meta.generation))
        shared.metaVersion.store(max(shared.metaVersion.load(), meta.version))
        if InjectedBug.active(.barrierInWord) && shared.barrierWord.load() <= meta.version {
            shared.barrierWord.store(0)
        }
        let start = shared.logStart.load()
        if LogStart.epoch(start) != LogStart.low(meta.log.epoch) || LogStart.lsn(start) < meta.log.lsn {
            // An older meta (completed for a dead checkpointer) never moves LOGSTART back.
            if meta.version >= shared.metaVersion.load() { shared.logStart.store(LogStart.word(meta.log)) }
        }
        shared.advance(to: meta.version)
    }

    /// Version R: the root of HEAD with a new free map. Under WRITER.
    private func writeCheckpointRecord(
        after head: SharedState.RingEntry, region: LogRegion, clean: Bool, cutsAll: Bool
    ) throws(StoreError) -> SharedState.RingEntry {
        let version = head.version + 1
        let log = try requireLog()
        guard let current = allocator else { throw StoreError(.internalError, "a checkpoint without an allocator") }
        guard version &- shared.published.load() < UInt64(shared.limits.ringEntries) || InjectedBug.active(.ringOverrun)
        else {
            throw StoreError(.outOfSpace, "the ring of roots has no entry for a checkpoint")
        }
        let oldMap = current.freeMap.extent(born: current.freeMapBorn)

        // As large as the map is now, and a quarter more: another process may have to complete it with more limbo.
        let measure = ByteBuffer()
        try current.space.encode(into: measure, version: version, collapseLimbo: false)
        let run = try takeCheckpointPages(PageSize.pages(NodeHeader.size + measure.count + measure.count / 4 + 64))
        freeMapPages = run.count + 1
        // The run is not ours until the record is written; then `allocate` makes it so.
        do throws(StoreError) {
            let placed = run.range.map { ExtentWriter.PlacedPage(page: $0, liveUnits: PageSize.unitsPerPage) }
            let delta =
                InjectedBug.active(.freeMapUnlogged)
                ? AllocationDelta() : AllocationDelta(allocated: placed, freed: [oldMap])
            try delta.encode(into: deltaBuffer, version: version)
            var record = LogRecord(version: version)
            record.flags = .checkpoint
            record.root = head.root
            record.filePages = pagesAfterCheckpoint(current.space, clean: clean, cutsAll: cutsAll)
            record.time = machine.wallClock()
            record.nextRegion = region
            record.freeMap = run
            try record.encode(into: recordBuffer, ops: nil, delta: deltaBuffer, at: head.log, seed: seed)
            let fits = try checkpointFits(head.log)
            guard fits || InjectedBug.active(.logOverrun) else {
                throw StoreError(.internalError, "no log space was left for a checkpoint's record")
            }
            probe?.willWriteRecord(
                self, version: version, chain: record.chain, previous: head.log.chain, continues: false,
                isSummary: false, keepsContent: true)
            try log.write(record, recordBuffer)
            shared.logBytes.add(UInt64(recordBuffer.count))
            for page in placed { try current.space.allocate(page: page.page, units: page.liveUnits, version: version) }
            try current.space.free(oldMap, version: version)
            try current.space.shrink(to: record.filePages)
            allocator = Allocator(
                space: current.space, version: version, position: record.end, root: head.root,
                filePages: record.filePages, freeMap: run, freeMapBorn: version)
            let entry = SharedState.RingEntry(
                version: version, root: head.root, filePages: record.filePages, log: record.end, isCheckpoint: true,
                freeMap: run, barrier: 0)
            // The pin of R is set before any process can see R.
            if !InjectedBug.active(.intentLate) { shared.intent.store(version) }
            try checkAlone(after: head.version)
            moveHead(entry, from: version)
            return entry
        } catch {
            current.space.release(page: run.page, count: run.count)
            if error.code == .corrupt { allocator = nil }
            throw error
        }
    }

    /// Whether the record just encoded for `position` ends before LOGSTART comes around.
    private func checkpointFits(_ position: LogPosition) throws(StoreError) -> Bool {
        let used = try shared.usedLog(to: position)
        let skip = position.bytesToEnd(position.lsn) < recordBuffer.count ? position.bytesToEnd(position.lsn) : 0
        return used + UInt64(skip + recordBuffer.count) <= UInt64(position.region.bytes)
    }

    private func takeCheckpointPages(_ count: Int) throws(StoreError) -> PageRun {
        func take() -> PageRun? {
            allocator!.space.takeRun(minimum: count, wanted: count).map { PageRun(page: $0.page, count: $0.count) }
        }
        if let run = take() { return run }
        try pins.reapDeadSlots()
        let (published, held) = scanPins()
        allocator!.space.advance(published: published, pins: held)
        if let run = take() { return run }
        try growFile(by: count + 8, wanted: count)
        guard let run = take() else { throw StoreError(.outOfSpace, "no run of \(count) pages for the free map") }
        return run
    }

    /// The free map at R as it will be in the file, and its ref. Nil when it does not fit in R's pages. Under
    /// WRITER.
    private func encodeFreeMap(at version: UInt64, in run: PageRun) throws(StoreError) -> (image: ByteBuffer, ref: Ref)?
    {
        try FreeMapNode.encode(allocator!.space, version: version, run: run, seed: seed)
    }

    // MARK: Log growth

    /// A larger region for the ring, when checkpoints come because the ring is full and not because of
    /// `checkpointBytes`. Zero-written and synced before any record names it. Without WRITER.
    private func prepareNextRegion() throws(StoreError) -> LogRegion {
        let head = try shared.headEntry()
        let position = head.log
        guard LogStart.epoch(shared.logStart.load()) == LogStart.low(position.epoch) else { return LogRegion() }
        let used = try shared.usedLog(to: position), now = position.region
        guard used * 4 >= UInt64(now.bytes), now.bytes / 4 < options.checkpointBytes else { return LogRegion() }
        // The file, of which this region is the last part, stays in proportion to the store.
        let limit = min(
            options.logBytesLimit,
            max(Database.smallLog * options.logBytes, head.filePages * PageSize.page) - now.offset - now.bytes)
        let bytes = min(now.bytes * 4, limit & ~(PageSize.page - 1))
        return bytes >= now.bytes * 2
            ? try zeroed(LogRegion(offset: now.offset + now.bytes, bytes: bytes)) : LogRegion()
    }

    /// How many times its first size a log may have beside the smallest store.
    private static let smallLog = 8

    /// Whether the ring is another one than the first, which no meta needs any more that a power cut may leave.
    private var canShrinkLog: Bool {
        let position = shared.ringEntry(shared.head.load()).log
        return position.region.offset >= firstRegion.offset + firstRegion.bytes
            && LogStart.epoch(shared.logStart.load()) == LogStart.low(position.epoch)
    }

    /// Empty where there is no space.
    private func zeroed(_ region: LogRegion) throws(StoreError) -> LogRegion {
        let log = try requireLog(), size = try log.file.size()
        do throws(StoreError) {
            try LogFile.zero(log.file, from: region.offset, bytes: region.bytes)
        } catch {
            // A full disk is no reason to stop: the ring stays as it is.
            if error.code == .outOfSpace {
                if try log.file.size() > size { try log.file.truncate(size) }
                return LogRegion()
            }
            throw error
        }
        do throws(StoreError) {
            try log.file.sync()
        } catch {
            setPoison()
            throw StoreError(.syncFailed, error.message)
        }
        return region
    }

    // MARK: Completing a dead checkpointer's work

    /// Writes again what R's tree got after the durable meta: a failed sync may have left it clean in the cache
    /// and not on the medium. Each extent is read with a full check first, for a rewrite would otherwise give
    /// stale content a valid place.
    private func rewritePages(of entry: SharedState.RingEntry, bornAfter version: UInt64) throws(StoreError) {
        let fresh = try Mapping(file, bytes: max(entry.filePages * PageSize.page, PageSize.page))
        let source = fresh.source(filePages: entry.filePages, seed: seed)
        try StoreWalk.forEachExtent(root: entry.root, source: source) { (extent) throws(StoreError) in
            if extent.born > version {
                let offset = extent.unit * PageSize.unit
                try file.write(fresh.map.base + offset, count: extent.units * PageSize.unit, at: offset)
            }
        }
    }
}

/// Making a store usable when no process has it open: after a power cut, after the last process was killed, and
/// the small part of it that a cleanly closed store needs before its first write.
extension Database {
    /// Alone, under OPEN. Trusts nothing that it did not write and sync itself, except what a valid meta
    /// vouches for. Any error: the open fails, nothing was lost, the next open begins again.
    func recover(_ meta: Meta, slot: Int, identity: SharedState.Identity) throws(StoreError) {
        guard let log else { throw StoreError(.internalError, "recovery without a log") }
        // Whatever the memory says is of an earlier life.
        shared.initialize(identity, firstVersion: meta.version)
        // Old write-back errors are reported now, not to the first commit.
        if !InjectedBug.active(.oldErrorsKept) { try syncQuietly(log.file) }
        if !InjectedBug.active(.recoveryTrustsMeta) {
            // The meta may be in the page cache only, and clean there.
            try Database.writeMeta(meta, slot: slot, to: file)
        }
        try rewriteKept()
        if !InjectedBug.active(.oldErrorsKept) { try file.sync() }

        let state = try loadAllocator(meta), kept = try readKept(meta)
        if kept.isEmpty || InjectedBug.active(.keptForgotten) {
            state.space.releaseAll()
        } else {
            state.space.advance(published: meta.version, pins: kept)
        }
        let scan = try scanForReplay(meta)
        try probe?.didRecover(
            self, chain: scan.chain, newChain: epochChain(scan.chain, meta.log.epoch), version: scan.version)
        if InjectedBug.active(.recoveryReuses) { state.space.forgetLivePages() }
        allocator = state

        // Replay in one batch into fresh pages. The version advances even when there was nothing to replay: the
        // new epoch's chain begins with it.
        let version = scan.version + (InjectedBug.active(.noEpoch) ? 0 : 1)
        var entry = SharedState.RingEntry(
            version: meta.version, root: meta.root, filePages: meta.filePages, log: meta.log)
        if scan.count > 0 { entry.root = try replay(meta, entry, count: scan.count, version: version) }
        let space = allocator!.space

        let region = try freshRegion()
        let oldMap = state.freeMap.extent(born: state.freeMapBorn)
        let measure = ByteBuffer()
        try space.encode(into: measure, version: version, collapseLimbo: false)
        let pages = PageSize.pages(NodeHeader.size + measure.count + measure.count / 4 + 64)
        let run = try takePages(minimum: pages, wanted: pages)
        for page in run.page..<(run.page + run.count) {
            try space.allocate(page: page, units: PageSize.unitsPerPage, version: version)
        }
        try space.free(oldMap, version: version)
        let mapRun = PageRun(page: run.page, count: run.count)
        guard let (image, mapRef) = try FreeMapNode.encode(space, version: version, run: mapRun, seed: seed) else {
            throw StoreError(.internalError, "the free map does not fit in the pages that were taken for it")
        }
        try file.write(UnsafeRawPointer(image.base), count: image.count, at: mapRef.offset)
        if !InjectedBug.active(.recoveryUnsynced) { try file.sync() }
        let position =
            InjectedBug.active(.noEpoch)
            ? scan.end
            : LogPosition(
                lsn: 0, epoch: meta.log.epoch + 1, chain: epochChain(scan.chain, meta.log.epoch), region: region)
        let new = Meta(
            uuid: uuid, incarnation: incarnation, generation: meta.generation + 1, version: version, root: entry.root,
            freeMap: mapRef,
            filePages: space.pages, log: position, hashSeed: seed, created: created, isClean: false,
            compatible: compatible)
        let other = InjectedBug.active(.recoverySameSlot) ? slot : slot ^ 1
        try Database.writeMeta(new, slot: other, to: file)
        try file.sync()
        allocator = Allocator(
            space: space, version: version, position: position, root: entry.root, filePages: space.pages,
            freeMap: mapRun, freeMapBorn: version)
        startSharedState(new, slot: other, otherPin: meta.version, identity: identity, isPrepared: true)
        try holdKept(kept)
        try trimLog(to: region)
    }

    /// Frees what the log file has behind its region, which no meta that a power cut may leave needs. Under CKPT,
    /// or alone.
    func trimLog(to region: LogRegion) throws(StoreError) {
        let file = try requireLog().file, end = region.offset + region.bytes
        if try file.size() > end { try file.truncate(end) }
    }

    /// A chain for a new epoch: records of the old one can never continue it.
    private func epochChain(_ chain: UInt64, _ epoch: UInt64) -> UInt64 { PageHash.mix(chain, epoch + 1) }

    /// A log that cannot be synced now will say so at the first commit.
    private func syncQuietly(_ file: StorageFile) throws(StoreError) {
        do { try file.sync() } catch { if error.code != .syncFailed { throw error } }
    }

    /// How many records after the meta count: up to the first summary, without an unterminated group.
    private func scanForReplay(
        _ meta: Meta
    ) throws(StoreError) -> (count: Int, version: UInt64, chain: UInt64, end: LogPosition) {
        var all: [(version: UInt64, end: LogPosition, flags: LogRecord.Flags)] = []
        let scanner = log!.scanner()
        var position = meta.log, version = meta.version
        while let record = try scanner.next(position, version: version + 1) {
            if record.flags.contains(.summary) && !InjectedBug.active(.barrierReplayed) { break }
            all.append((record.version, record.end, record.flags))
            position = record.end
            version = record.version
        }
        while let last = all.last, last.flags.contains(.continues) { all.removeLast() }
        guard let last = all.last else { return (0, meta.version, meta.log.chain, meta.log) }
        return (all.count, last.version, last.end.chain, last.end)
    }

    /// Applies the records after the meta to its tree; returns the new root.
    private func replay(
        _ meta: Meta, _ entry: SharedState.RingEntry, count: Int, version: UInt64
    ) throws(StoreError) -> Ref {
        var entry = entry
        var batch = try WriteTransaction(self, entry, holdsWriter: false)
        let scanner = log!.scanner()
        var position = meta.log
        for index in 0..<count {
            guard let record = try scanner.next(position, version: meta.version + UInt64(index) + 1) else {
                throw StoreError(.corrupt, "the log changed while it was read")
            }
            let bytes = record.flags.contains(.summary) ? 0 : scanner.ops.count
            var cursor = OpCursor(ByteReader(scanner.ops.base, count: bytes), schema: batch.schema)
            while let op = try Op.read(&cursor) {
                if case .schema = op, batch.hasOpenClasses {
                    // A schema changes before anything else in its transaction: what came before is written first.
                    entry.root = try batch.writeForRecovery(version)
                    entry.filePages = allocator!.space.pages
                    batch = try WriteTransaction(self, entry, holdsWriter: false)
                }
                try batch.replay(op)
                if case .schema = op { cursor.schema = batch.schema }
            }
            position = record.end
        }
        return try batch.writeForRecovery(version)
    }

    /// The ring at the beginning of the file, as after a clean open: it grows when it must.
    var firstRegion: LogRegion { LogRegion(offset: LogFile.headerSize, bytes: options.logBytes) }

    /// Where the ring continues after a recovery.
    private func freshRegion() throws(StoreError) -> LogRegion {
        let region = firstRegion
        let end = region.offset + region.bytes
        let size = try log!.file.size()
        if size < end {
            try LogFile.zero(
                log!.file, from: max(size, LogFile.headerSize) & ~4095,
                bytes: end - max(size, LogFile.headerSize) & ~4095)
            try log!.file.sync()
        }
        return region
    }

    /// The shared state is recreated; only then may others join.
    func startSharedState(_ meta: Meta, slot: Int, otherPin: UInt64, identity: SharedState.Identity, isPrepared: Bool) {
        shared.initialize(identity, firstVersion: meta.version)
        shared.setRingEntry(
            SharedState.RingEntry(
                version: meta.version, root: meta.root, filePages: meta.filePages, log: meta.log, isCheckpoint: false))
        shared.metaPins[slot].store(meta.version)
        shared.metaPins[slot ^ 1].store(otherPin)
        shared.durableSlot.store(UInt64(slot))
        shared.generation.store(meta.generation)
        shared.metaVersion.store(meta.version)
        shared.logStart.store(LogStart.word(meta.log))
        shared.prepared.store(isPrepared ? 1 : 0)
        shared.head.store(meta.version)
        shared.published.store(meta.version)
        shared.durable.store(meta.version)
        probe?.didStart(self, version: meta.version, chain: meta.log.chain, root: meta.root)
    }

    // MARK: The first write after a clean open

    /// A CLEAN meta must not be believed once there is a log: makes the log and a durable meta without CLEAN.
    func prepareForWriting() throws(StoreError) {
        do throws(StoreError) { try prepare() } catch { throw error.code == .syncFailed ? poisonedError : error }
    }

    private func prepare() throws(StoreError) {
        try locks.checkpoint.acquire()
        defer { locks.checkpoint.release() }
        if shared.isPoisoned { throw poisonedError }
        if shared.prepared.load() != 0 { return }
        if try machine.isLocked(file, bytes: Locks.immutable) {
            throw StoreError(.busy, "\(path) is being read in the mode immutable, in which nobody may write it")
        }
        try shared.reserveAll()
        try locks.writer.acquire()
        defer { locks.writer.release() }
        guard let (slot, meta) = Database.newestMeta(try readMetas()) else {
            throw StoreError(.corrupt, "no valid meta")
        }
        if InjectedBug.active(.cleanKept) && meta.version > 1 {
            try makeLog(meta)
            shared.prepared.store(1)
            return
        }
        let head = try shared.headEntry()
        guard
            (meta.version == head.version && (!meta.isClean || meta.log.chain == head.log.chain))
                || InjectedBug.active(.prepareAnyMeta)
        else {
            // What this session was opened on was in the page cache only, and is gone.
            setPoison()
            throw poisonedError
        }
        // As in recovery: the meta that this session is based on becomes certain before anything is written. It is not
        // clean if a process died just here: then that one is it.
        do throws(StoreError) { try makeLog(meta) } catch {
            // The folder's: the next sync of it would report success.
            if error.code == .syncFailed { setPoison() }
            throw error
        }
        try Database.writeMeta(meta, slot: slot, to: file)
        try rewriteKept()
        try syncDB()
        var new = meta
        // A process that died just here may have been configured for a larger region than this one is to make.
        let isNew = meta.isClean || meta.log.region != firstRegion
        if isNew {
            new.isClean = false
            new.generation += 1
            // A log of an earlier life may have been left beside a copy: its records must not continue ours.
            new.log = LogPosition(
                lsn: 0, epoch: meta.log.epoch + 1, chain: PageHash.mix(meta.log.chain, machine.random64()),
                region: firstRegion)
            try writeMeta(new, slot: slot ^ 1)
            try syncDB()
        }
        var entry = head
        entry.log = new.log
        shared.setRingEntry(entry)
        metaIsDurable(new, slot: isNew ? slot ^ 1 : slot)
        shared.logStart.store(LogStart.word(new.log))
        probe?.willMoveHead(
            self, version: entry.version, root: entry.root, freeMap: PageRun(), isCheckpoint: false,
            chain: new.log.chain)
        shared.prepared.store(1)
        try trimLog(to: new.log.region)
    }

    /// A zero-written log of this incarnation, under a temporary name and renamed; the folder synced before any
    /// meta relies on it. An existing log of this incarnation is kept when it is large enough.
    func makeLog(_ meta: Meta) throws(StoreError) {
        if log != nil { return }
        let bytes = options.logBytes
        let header = ByteBuffer(capacity: LogFile.headerSize)
        try LogFile.encodeHeader(uuid: uuid, incarnation: incarnation, into: header)
        if options.isInMemory {
            let file = try machine.openAnonymous("objstore log")
            try file.write(UnsafeRawPointer(header.base), count: header.count, at: 0)
            try LogFile.zero(file, from: LogFile.headerSize, bytes: bytes)
            keepLog(LogFile(file: file, seed: seed))
            return
        }
        let name = path + "-log"
        if let existing = try existingLog(name) {
            defer { existing.close() }
            if try LogFile.matches(existing, uuid: uuid, incarnation: incarnation),
                try existing.size() >= LogFile.headerSize + bytes,
                existing.canTakeAccess(of: self.file)
            {
                // Its creator may have died before its name was durable.
                if !InjectedBug.active(.folderNotSynced) { try machine.syncFolder(of: name) }
                return
            }
        }
        do throws(StoreError) {
            try SideNames.holding(of: path, for: file, timeout: options.openTimeout, machine) {
                (new) throws(StoreError) in
                try new.write(UnsafeRawPointer(header.base), count: header.count, at: 0)
                try LogFile.zero(new, from: LogFile.headerSize, bytes: bytes)
                try new.sync()
                try SideNames.rename(new, of: path, to: name, machine)
            }
        } catch {
            // Nothing relies on this file yet: a failed sync of it is harmless.
            throw error.code == .syncFailed ? StoreError(.io, error.message) : error
        }
        if !InjectedBug.active(.folderNotSynced) { try machine.syncFolder(of: name) }
    }

    /// What has the name of the log now; nil: nothing, or a symbolic link, which a new log replaces. Throws where it is
    /// something that no store has made.
    private func existingLog(_ name: String) throws(StoreError) -> StorageFile? {
        let file: StorageFile
        do throws(StoreError) { file = try machine.open(name, .side) } catch {
            if error.code == .notFound || error.isOfTheFile { return nil }
            throw error
        }
        if try LogFile.isLog(file) || options.opensWithoutLog { return file }
        file.close()
        throw StoreError(.io, "\(name) is not the log of a store: it stays as it is, and must be moved away")
    }
}

/// The steps of a commit that belong to the store, not to a transaction: the writer lock with its
/// preconditions, space, and the commit point.
extension Database {
    /// Takes WRITER and makes sure that one more version can be written: not poisoned, the ring of roots and
    /// the log have room for it **and for a checkpoint**. Returns the entry of HEAD. `isTry`: a call that would have to
    /// wait is `.busy`, and not late.
    func lockForWriting(
        timeout: Int64, isTry: Bool, until end: WaitCancellation? = nil
    ) throws(StoreError) -> SharedState.RingEntry {
        try checkOpen()
        if options.isReadOnly { throw StoreError(.readOnly, "the store was opened read-only") }
        let deadline = timeout < 0 ? -1 : machine.monotonic() &+ timeout
        var hasMadeRoom = false
        while true {
            if shared.isPoisoned { throw poisonedError }
            if shared.prepared.load() == 0 {
                try checkInPlace()
                try prepareForWriting()
            }
            let left = deadline < 0 ? -1 : max(0, deadline - machine.monotonic())
            guard try acquireWriter(timeout: left, until: end) else {
                throw isTry
                    ? StoreError(.busy, "another transaction is being written")
                    : StoreError(
                        .timeout, "another transaction held the writer's lock for more than \(timeout / 1_000_000) ms")
            }
            if isClosed && !InjectedBug.active(.closeAdmitsWriters) {
                releaseWriter(); throw StoreError(.closedHandle, "the store is closed")
            }
            if shared.isPoisoned { releaseWriter(); throw poisonedError }
            do throws(StoreError) { try checkInPlaceSoon() } catch {
                releaseWriter()
                throw error
            }
            if shared.prepared.load() == 0 { releaseWriter(); continue }
            if InjectedBug.active(.adoptBeyondHead) { try adoptBeyondHead() }
            let entry: SharedState.RingEntry, hasRoom: Bool, needsPages: Bool
            do throws(StoreError) {
                entry = try shared.headEntry()
                hasRoom = try logHasRoomForCommit(entry.log)
                try checkRegion(entry.log.region)
                needsPages = hasMadeRoom ? false : try wantsRoom(at: entry)
            } catch {
                releaseWriter()
                throw error
            }
            let head = entry.version
            // Back-pressure: one ring entry is the checkpoint's.
            if head &+ 1 &- shared.published.load() >= UInt64(shared.limits.ringEntries - 1)
                && !InjectedBug.active(.ringOverrun)
            {
                releaseWriter()
                do throws(StoreError) { try waitDurable(head) } catch {
                    throw error.code == .outcomeUnknown ? poisonedError : error
                }
                continue
            }
            if !hasRoom && !InjectedBug.active(.logOverrun) {
                releaseWriter()
                do throws(StoreError) { try checkpoint(timeout: left, until: end) } catch {
                    if error.code == .timeout && isTry { throw StoreError(.busy, "the log is full: \(error.message)") }
                    throw error.code == .outcomeUnknown ? poisonedError : error
                }
                continue
            }
            if hasMadeRoom { roomMadeAt = head }
            if needsPages {
                releaseWriter()
                hasMadeRoom = true
                try makeRoom(timeout: left, until: end)
                continue
            }
            return entry
        }
    }

    private func acquireWriter(timeout: Int64, until end: WaitCancellation?) throws(StoreError) -> Bool {
        if InjectedBug.active(.lockStolen) {
            if try !locks.writer.acquire(timeout: 0) { stolenLocks += 1 }
            return true
        }
        var isAcquired = try wait(for: locks.writer, timeout: timeout, until: end)
        if !isAcquired && timeout == 0 { isAcquired = try acquireFromNoWriter() }
        guard isAcquired else { return false }
        shared.setWriting(instance)
        return true
    }

    /// For callers that do not want to wait for another writer: who has not said that it is one, is none, as a
    /// checkpoint. It has the lock for microseconds, or for as long as the process is stopped.
    private func acquireFromNoWriter() throws(StoreError) -> Bool {
        let end = machine.monotonic() + 1_000_000_000
        while !shared.isWriting && machine.monotonic() < end {
            if try locks.writer.acquire(timeout: 1_000_000) { return true }
        }
        return false
    }

    func wait(for lock: ExclusiveLock, timeout: Int64, until end: WaitCancellation?) throws(StoreError) -> Bool {
        try Database.wait(for: lock, timeout: timeout, until: end, machine)
    }

    static func wait(
        for lock: ExclusiveLock, timeout: Int64, until end: WaitCancellation?, _ machine: Machine
    ) throws(StoreError) -> Bool {
        guard let end else { return try lock.acquire(timeout: timeout) }
        return try end.acquire(lock, timeout: timeout, machine)
    }

    /// WRITER for work of the store's own.
    package func acquireWriterForUpkeep(
        timeout: Int64 = -1, until end: WaitCancellation? = nil
    ) throws(StoreError) -> Bool {
        try wait(for: locks.writer, timeout: timeout, until: end)
    }

    package func releaseWriterAfterUpkeep() { locks.writer.release() }

    func releaseWriter() {
        lastWritten = machine.monotonic()
        if stolenLocks > 0 { return stolenLocks -= 1 }
        shared.setWriting(0)
        locks.writer.release()
    }

    /// Bytes that every commit leaves to the next checkpoint's record.
    static let checkpointReserve = 2 * LogRecord.sector

    /// Whether a record that ends at `end` still leaves room for a checkpoint's record.
    func logHasRoom(until end: LogPosition, in position: LogPosition) throws(StoreError) -> Bool {
        let used = try shared.usedLog(to: position) + (end.lsn - position.lsn)
        return used + UInt64(2 * Database.checkpointReserve) <= UInt64(position.region.bytes)
    }

    private func logHasRoomForCommit(_ position: LogPosition) throws(StoreError) -> Bool {
        // A summary record takes at most a quarter of the ring (beyond that its delta lies in pages), and may
        // have to skip as much before the ring's end.
        let needed = UInt64(position.region.bytes / 4 + 2 * LogRecord.sector)
        return try shared.usedLog(to: position) + 2 * needed + UInt64(2 * Database.checkpointReserve)
            <= UInt64(position.region.bytes)
    }

    /// Under WRITER: the ring lies in the log, which is checked once.
    private func checkRegion(_ region: LogRegion) throws(StoreError) {
        if region == knownRegion { return }
        guard region.offset >= LogFile.headerSize, region.bytes >= PageSize.page,
            region.offset + region.bytes <= (try requireLog().file.size())
        else {
            throw StoreError(
                .corrupt,
                """
                the log has \(try requireLog().file.size()) bytes, and the store's lock file says that \
                \(region.bytes) at \(region.offset) are in use
                """
            )
        }
        knownRegion = region
    }

    /// Free space as of HEAD, and which of it may be written now.
    func prepareAllocator(for entry: SharedState.RingEntry) throws(StoreError) {
        try bringAllocatorForward(to: entry)
        // What this process grew the file by for a commit that failed, another one's checkpoint may have cut off since.
        if !InjectedBug.active(.growthKept) { try allocator!.space.shrink(to: entry.filePages) }
        freeMapPages = max(freeMapPages, allocator!.freeMap.count + 1)
        let (published, pins) = scanPins()
        allocator!.space.advance(published: published, pins: pins)
    }

    /// A run of pages, from free space or by growing the file. Leaves the pages of a checkpoint's free map.
    func takePages(minimum: Int, wanted: Int) throws(StoreError) -> (page: Int, count: Int) {
        let reserve = InjectedBug.active(.noPageReserve) ? 0 : InjectedBug.active(.reserveOnePage) ? 1 : freeMapPages
        // A small commit in one piece is one write. Not while a reader keeps old pages: then single free pages must be
        // used up before the file grows.
        let space = allocator!.space
        if minimum < wanted, wanted <= 8, !hasOldReader,
            let run = space.takeRun(minimum: wanted, wanted: wanted, leaving: reserve)
        {
            return run
        }
        if let run = space.takeRun(minimum: minimum, wanted: wanted, leaving: reserve) { return run }
        // Perhaps a dead reader's pin holds what is needed.
        try pins.reapDeadSlots()
        let (published, held) = scanPins()
        space.advance(published: published, pins: held)
        if let run = space.takeRun(minimum: minimum, wanted: wanted, leaving: reserve) { return run }
        try growFile(by: minimum + reserve + 8, wanted: wanted)
        if let run = space.takeRun(minimum: minimum, wanted: wanted, leaving: reserve) { return run }
        throw StoreError(.outOfSpace, "no run of \(minimum) free pages in a file of \(allocator!.space.pages) pages")
    }

    /// Under WRITER: the file could not grow the last time, and more of its pages wait for a checkpoint than can be
    /// written now.
    private func wantsRoom(at entry: SharedState.RingEntry) throws(StoreError) -> Bool {
        if !isFull || roomMadeAt == entry.version || InjectedBug.active(.fullStays) { return false }
        try prepareAllocator(for: entry)
        let space = allocator!.space
        return space.limboCount > space.readyCount || entry.log.region != firstRegion
    }

    /// On a full disk only: what was deleted before HEAD can be written again, whichever meta a power cut leaves, and a
    /// log that has grown gives its space back. What cannot be done is reported by the write that needs it.
    private func makeRoom(timeout: Int64, until end: WaitCancellation?) throws(StoreError) {
        do throws(StoreError) {
            // One for each meta.
            for _ in 0..<2 { try checkpoint(timeout: timeout, isFull: true, until: end) }
        } catch {
            if error.code == .outcomeUnknown { throw poisonedError }
            if error.code != .timeout && error.code != .outOfSpace { throw error }
        }
    }

    /// Real space, allocated now: a full disk shows here, not at a sync.
    func growFile(by minimum: Int, wanted: Int) throws(StoreError) {
        let pages = allocator!.space.pages
        let more = max(minimum, min(wanted + minimum, 1 << 16), min(pages / 32, 1 << 14), options.growthPages)
        func grow(by count: Int) throws(StoreError) {
            try file.reserve((pages + count) * PageSize.page)
            try allocator!.space.extend(to: pages + count, isReady: true)
            isFull = false
        }
        do throws(StoreError) {
            do throws(StoreError) {
                try grow(by: more)
            } catch {
                guard error.code == .outOfSpace, more > minimum else { throw error }
                try grow(by: minimum)
            }
        } catch {
            isFull = isFull || error.code == .outOfSpace
            throw error
        }
    }

    /// Throws if another process may write, too: the words in the lock file that name the writer are not what this
    /// process has left there. `.corrupt`, which poisons, since what the other one does is built on the same pages.
    func checkAlone(after head: UInt64) throws(StoreError) {
        if InjectedBug.active(.lockStolen) || InjectedBug.active(.headBeforeLog) || InjectedBug.active(.groupHead) {
            return
        }
        if locks.writer.isStillHeld, shared.head.current == head { return }
        throw StoreError(
            .corrupt, "the lock file \(path)-lock has lost the word that says who writes: somebody has written into it")
    }

    /// The commit point among living processes: the ring entry, then HEAD. Under WRITER.
    func moveHead(_ entry: SharedState.RingEntry, from firstVersion: UInt64) {
        // Inside a group a dead writer may have left entries of its own.
        var version = firstVersion
        while version < entry.version {
            shared.clearRingEntry(version)
            version += 1
        }
        probe?.willMoveHead(
            self, version: entry.version, root: entry.root, freeMap: allocator?.freeMap ?? PageRun(),
            isCheckpoint: entry.isCheckpoint, chain: entry.log.chain)
        shared.setRingEntry(entry)
        shared.head.store(entry.version)
    }

    /// A check of hash, tag or structure failed on what this process is to build on: no process may continue to write.
    func poisonIfDamaged(_ error: StoreError) {
        if error.code == .corrupt { setPoison() }
    }
}

/// LOGSTART in one word: the lsn in sectors, and the low bits of the epoch it belongs to.
enum LogStart {
    static func word(_ position: LogPosition) -> UInt64 { low(position.epoch) << 44 | position.lsn >> 9 }
    static func low(_ epoch: UInt64) -> UInt64 { epoch & 0xf_ffff }
    static func epoch(_ word: UInt64) -> UInt64 { word >> 44 }
    static func lsn(_ word: UInt64) -> UInt64 { (word & ((1 << 44) - 1)) << 9 }
}

extension Database {
    /// An injected bug (C1): the next owner of the lock believes complete records beyond HEAD.
    private func adoptBeyondHead() throws(StoreError) {
        let scanner = try requireLog().scanner()
        var entry = shared.ringEntry(shared.head.load())
        while let record = try scanner.next(entry.log, version: entry.version + 1) {
            entry = SharedState.RingEntry(
                version: record.version, root: record.root, filePages: record.filePages, log: record.end,
                isCheckpoint: record.flags.contains(.checkpoint), freeMap: record.freeMap,
                barrier: record.flags.contains(.summary) ? record.version : 0)
            moveHead(entry, from: record.version)
        }
    }
}

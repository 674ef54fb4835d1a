/// When a commit is acknowledged: group commit by the thread that gets the sync lock.
extension Database {
    /// After HEAD: waits, or lets the version be seen, as the durability says.
    func finishCommit(_ version: UInt64, _ durability: StoreOptions.Durability) throws(StoreError) {
        defer { background?.didCommit(self) }
        if durability == .full { return try waitForCommit(version) }
        // Visible at once, unless there is a summary before it that a power cut would take away.
        if behindBarrier(version) == version || InjectedBug.active(.relaxedPastBarrier) {
            // What is no longer shown to readers is not acknowledged.
            guard shared.raisePublished(to: version) || InjectedBug.active(.poisonOvertakes) else {
                throw unknownOutcome(version)
            }
            announce()
            if case .relaxed(let milliseconds) = durability { background?.syncWithin(milliseconds: milliseconds) }
            return
        }
        try waitForCommit(version)
    }

    /// A transaction that began on `version` ends and leaves nothing: without changes, cancelled or refused. What it
    /// read may not be shown to others yet, and a power cut may take it: the end is not reported before the commit that
    /// it is based on is finished.
    func confirm(_ version: UInt64, _ durability: StoreOptions.Durability) throws(StoreError) {
        if InjectedBug.active(.endsUnconfirmed) { return }
        try shared.checkVersions()
        let isThere =
            durability == .full
            ? shared.durable.load() & ~SharedState.poisonBit >= version : shared.published.load() >= version
        if isThere { return }
        do throws(StoreError) { try finishCommit(version, durability) } catch {
            // The parent's process ends it.
            if error.code == .forked { throw error }
            throw StoreError(
                .outcomeUnknown,
                """
                the transaction has changed nothing, but what it read, version \(version), may not survive: \
                \(error.message)
                """
            ).system(error.systemError)
        }
    }

    /// HEAD has moved: whatever goes wrong now, the version may survive.
    private func waitForCommit(_ version: UInt64) throws(StoreError) {
        do throws(StoreError) { try waitDurable(version) } catch {
            throw error.code == .outcomeUnknown || error.code == .forked
                ? error
                : StoreError(.outcomeUnknown, "version \(version) may or may not survive: \(error.message)").system(
                    error.systemError)
        }
    }

    private func unknownOutcome(_ version: UInt64) -> StoreError {
        StoreError(
            .outcomeUnknown,
            """
            a sync failed, or damage was found: version \(version) is whole or absent, and the store is read-only \
            until every process has closed it
            """
        )
    }

    /// Returns when the version is on the medium. One waiter syncs the log for all; the sync lock decides which one,
    /// and is lost by a dead one.
    package func waitDurable(_ version: UInt64) throws(StoreError) {
        var deadline: Int64 = 0
        while true {
            try shared.checkVersions()
            let round = shared.currentRound
            let end = shared.end(of: round, for: version)
            // Before the look at DURABLE: what changes afterwards changes the word that is slept on.
            let rings = end.rings
            let durable = shared.durable.load()
            if durable & ~SharedState.poisonBit >= version { return }
            if durable & SharedState.poisonBit != 0 { throw unknownOutcome(version) }
            if InjectedBug.active(.stranded) && shared.syncing.load() != 0 {
                end.wait(machine, while: rings, timeout: 20_000_000)
            } else if let time = timeForOthers(durable, until: &deadline) {
                end.wait(machine, while: rings, timeout: time)
            } else if try locks.sync.acquire(timeout: 0) {
                try lead(for: version)
            } else {
                // The leader rings; a dead one does not, so look again now and then.
                end.wait(machine, while: rings, timeout: 20_000_000)
            }
        }
    }

    /// How long to leave the next sync to threads that are expected to commit presently; nil: not at all.
    private func timeForOthers(_ durable: UInt64, until deadline: inout Int64) -> Int64? {
        let patience = shared.syncPatience
        if patience.commits < 2 { return nil }
        if shared.head.load() &- durable >= patience.commits { return nil }
        let now = machine.monotonic()
        if deadline == 0 { deadline = now + patience.time }
        return now < deadline ? deadline - now : nil
    }

    /// Syncs the log and publishes what it covers. The caller holds SYNC, which is released here.
    private func lead(for version: UInt64) throws(StoreError) {
        var reached: UInt64 = 0
        do throws(StoreError) {
            if shared.durable.load() & ~SharedState.poisonBit >= version {
                locks.sync.release()
                // Another thread may have found the lock taken meanwhile.
                shared.endAllRounds(machine)
                return
            }
            if shared.syncing.load() != 0 && !InjectedBug.active(.leaderDeathTrusted) {
                // The last leader died between start and result: its sync may have failed, and a new one would
                // find nothing to write. Write the same bytes again first.
                try rewriteLog()
            }
            shared.syncing.store(1)
            // HEAD before the sync: what comes later is not covered.
            var head = shared.head.load()
            shared.beginRound(covering: head)
            let before = shared.durable.load() & ~SharedState.poisonBit, start = machine.monotonic()
            try requireLog().file.sync()
            shared.syncs.add(1)
            shared.setSyncPace(commits: shared.head.load() &- before, time: machine.monotonic() - start)
            if InjectedBug.active(.headAfterSync) { head = shared.head.load() }
            reached = behindBarrier(head)
            shared.advance(to: reached)
            shared.syncing.store(0)
        } catch {
            if InjectedBug.active(.noPoison) && error.code == .syncFailed {
                shared.syncing.store(0)
                locks.sync.release()
                return
            }
            // Only a failed sync poisons, and before its lock is released. What rewriteLog could not read or
            // write leaves SYNCING set for the next leader, unless data was lost.
            if error.code == .syncFailed || error.code == .corrupt { setPoison() }
            locks.sync.release()
            announce()
            throw error.code == .syncFailed ? unknownOutcome(version) : error
        }
        let ends = shared.ends
        locks.sync.release()
        ends.next.ring(machine, count: 1)
        ends.this.ring(machine)
        shared.event.ring(machine)
        if reached < version && !shared.isPoisoned { try checkpoint(atLeast: version) }
    }

    /// How far (PUBLISHED, head] may be acknowledged from the log alone: up to before the first barrier that no
    /// durable meta has passed.
    func behindBarrier(_ head: UInt64) -> UInt64 {
        // An outstanding barrier is beyond PUBLISHED, so its entry is still in the ring.
        var limit = head
        if InjectedBug.active(.barrierInWord) {
            let barrier = shared.barrierWord.load()
            return barrier != 0 && barrier <= head ? barrier - 1 : head
        }
        var version = shared.published.load() &+ 1
        let passed = shared.metaVersion.load()
        while version <= head {
            let entry = shared.ringEntry(version)
            if entry.version == version, entry.barrier > passed { limit = min(limit, entry.barrier - 1) }
            version += 1
        }
        return limit
    }

    /// Writes the log from the durable meta to HEAD again, byte for byte, so that the next sync really covers it.
    private func rewriteLog() throws(StoreError) {
        _ = try acquireWriterForUpkeep()
        defer { releaseWriterAfterUpkeep() }
        // The one that is known to be durable: a newer one may be on its way, and never arrive.
        let metas = try readMetas()
        let durable =
            InjectedBug.active(.rewriteFromVisibleMeta)
            ? Database.newestMeta(metas)?.meta : metas[Int(shared.durableSlot.load() & 1)]
        guard let meta = durable else { throw StoreError(.corrupt, "the durable meta cannot be read") }
        let head = try shared.headEntry()
        let log = try requireLog()
        let scanner = log.scanner()
        var position = meta.log, version = meta.version
        while version < head.version {
            guard let record = try scanner.next(position, version: version + 1) else {
                throw StoreError(
                    .corrupt,
                    "the log between the meta of version \(meta.version) and HEAD \(head.version) is not readable")
            }
            try log.rewrite(record, scanner)
            position = record.end
            version = record.version
        }
        guard position.chain == head.log.chain || meta.version > head.version else {
            throw StoreError(.corrupt, "the log does not lead to HEAD \(head.version)")
        }
    }

    /// Makes everything that is visible now durable (`flush` of relaxed commits).
    package func flush() throws(StoreError) {
        try checkOpen()
        // Only what relaxed commits left behind needs a sync.
        try waitDurable(shared.published.load())
    }
}

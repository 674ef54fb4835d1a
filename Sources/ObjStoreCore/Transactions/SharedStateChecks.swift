/// Words of the shared memory are believed only if they can be true.
///
/// A user that may write a store may write its lock file, with any words and at any time. No check distinguishes a
/// wrong number from a right one. But what leads out of the file or the memory, makes arithmetic overflow, or
/// contradicts the log is `.corrupt` where it is used first, and what a writer builds on is what the log says
/// (`Allocator.agrees`).
///
/// The words are looked at without the simulation's hook: on a sound machine nothing here has an effect.
extension SharedState {
    /// No store has had that many versions, or log bytes in one epoch.
    private static let most: UInt64 = 1 << 62
    /// No file has that many pages (64 TiB).
    private static let mostPages = 1 << 34

    private static func nonsense(_ what: String) -> StoreError {
        StoreError(.corrupt, "the memory that all processes share (the store's lock file) makes no sense: \(what)")
    }

    /// HEAD's entry in the ring. Building on an older one by mistake would overwrite what was acknowledged.
    func headEntry() throws(StoreError) -> RingEntry {
        while true {
            let version = head.load()
            let entry = ringEntry(version)
            if entry.version == version {
                try check(entry)
                try checkVersions()
                return entry
            }
            // Not under WRITER it may have gone on, once around the ring.
            if head.current == version {
                throw SharedState.nonsense("the ring of roots has no entry for HEAD \(version)")
            }
        }
    }

    /// Whether an entry can be one; for one that is not replaced meanwhile.
    func check(_ entry: RingEntry) throws(StoreError) {
        let pages = entry.filePages, region = entry.log.region, map = entry.freeMap
        guard entry.version > 0, entry.version < SharedState.most, pages >= FreeSpace.firstPage,
            pages <= SharedState.mostPages,
            !entry.root.isDirty, entry.root.offset >= FreeSpace.firstPage * PageSize.page,
            entry.root.offset < pages * PageSize.page,
            entry.log.lsn < SharedState.most, entry.log.lsn % UInt64(LogRecord.sector) == 0,
            entry.log.epoch < SharedState.most,
            region.bytes >= 0, region.offset >= 0, region.bytes <= SharedState.mostPages,
            region.offset <= SharedState.mostPages,
            (region.bytes | region.offset) % PageSize.page == 0,
            !entry.isCheckpoint
                || (map.page >= FreeSpace.firstPage && map.count > 0 && map.count <= pages
                    && map.page <= pages - map.count)
        else { throw SharedState.nonsense("the entry of version \(entry.version) in the ring of roots") }
    }

    /// DURABLE, PUBLISHED and HEAD: in this order, and the ring has room for what lies between them.
    func checkVersions() throws(StoreError) {
        // Each is read before what it cannot be greater than, and PUBLISHED once more behind HEAD.
        let durable = durable.current & ~SharedState.poisonBit, before = published.current, head = head.current,
            after = published.current
        guard head < SharedState.most, durable <= head, before <= head,
            after >= head || head - after <= UInt64(limits.ringEntries)
        else { throw SharedState.nonsense("DURABLE \(durable), PUBLISHED \(before), HEAD \(head)") }
    }

    /// How many slots for pins were ever in use.
    var usedSlots: Int { Int(min(slotHighWater.load(), UInt64(limits.slots))) }

    /// Bytes of the ring from LOGSTART to a position of the current epoch; right after a change of region nothing of it
    /// is used. Under WRITER, or CHECKPOINT: else LOGSTART may move past it.
    func usedLog(to position: LogPosition) throws(StoreError) -> UInt64 {
        let start = logStart.load()
        guard LogStart.epoch(start) == LogStart.low(position.epoch) else { return position.lsn }
        let first = LogStart.lsn(start)
        guard first <= position.lsn else {
            throw SharedState.nonsense("LOGSTART \(first) lies behind the end of the log, \(position.lsn)")
        }
        return position.lsn - first
    }
}

extension Allocator {
    /// Whether the ring says of this version what the log says: nothing is written on the word of the memory alone.
    func agrees(with entry: SharedState.RingEntry) -> Bool {
        if InjectedBug.active(.ringChainUnchecked) { return true }
        return version == entry.version && position == entry.log && root == entry.root && filePages == entry.filePages
    }
}

/// What a whole walk through one version reached.
package struct UsedUnitsOfVersion {
    let version: UInt64
    let pages: Int
    let used: UsedUnits
}

extension Database {
    /// Compares free space with what a version reaches; throws `.corrupt` naming the first page that is wrong.
    ///
    /// Exact where the version is still HEAD; else no page that the version reaches may be free. Takes the writer's lock
    /// for as long as a look at every page takes; waits at most `timeout` nanoseconds for it (negative: for ever).
    func checkFreeSpace(_ reached: UsedUnitsOfVersion, timeout: Int64) throws(StoreError) {
        if options.isReadOnly {
            guard let (_, meta) = Database.newestMeta(try readMetas()) else { throw StoreError(.corrupt, "no valid meta") }
            let allocator = try loadAllocator(meta)
            return try Database.compare(allocator, reached, isExact: meta.version == reached.version)
        }
        guard try locks.writer.acquire(timeout: timeout) else {
            throw StoreError(.timeout, "verify: another transaction held the writer's lock for more than \(timeout / 1_000_000) ms")
        }
        defer { releaseWriter() }
        // Nobody will allocate from it any more: the next recovery makes it anew.
        if shared.isPoisoned { return }
        let head = shared.ringEntry(shared.head.load())
        try prepareAllocator(for: head)
        try Database.compare(allocator!, reached, isExact: head.version == reached.version)
    }

    private static func compare(_ allocator: Allocator, _ reached: UsedUnitsOfVersion, isExact: Bool) throws(StoreError) {
        let space = allocator.space, map = allocator.freeMap
        for page in FreeSpace.firstPage..<max(space.pages, FreeSpace.firstPage) {
            var units = page < reached.pages ? reached.used.units(inPage: page) : 0
            if units > 0, space.isReady(page) { throw StoreError(.corrupt, "page \(page) is in use and counts as free") }
            if !isExact { continue }
            if page >= map.page, page < map.page + map.count { units += PageSize.unitsPerPage }
            if units != space.liveUnits(page) {
                throw StoreError(.corrupt, "page \(page) has \(units) units in use, free space counts \(space.liveUnits(page))")
            }
        }
    }
}

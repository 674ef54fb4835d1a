/// What a whole walk through one version reached.
package struct UsedUnitsOfVersion {
    let version: UInt64
    let pages: Int
    let used: UsedUnits
}

extension Database {
    /// Compares free space with what a version reaches, and reports each run of pages that is wrong.
    ///
    /// Exact where the version is still HEAD and all of it could be read; else no page that the version reaches may
    /// be free. Takes the writer's lock for as long as a look at every page takes; waits at most `timeout` nanoseconds
    /// for it (negative: for ever).
    func checkFreeSpace(
        _ reached: UsedUnitsOfVersion, isWhole: Bool, timeout: Int64, until end: WaitCancellation,
        finding: (String) throws(StoreError) -> Void
    ) throws(StoreError) {
        if options.isReadOnly {
            guard let (_, meta) = Database.newestMeta(try readMetas()) else {
                throw StoreError(.corrupt, "no valid meta")
            }
            return try FreeSpaceCheck.compare(
                try loadAllocator(meta), reached, isExact: isWhole && meta.version == reached.version, finding: finding)
        }
        guard try acquireWriterForUpkeep(timeout: timeout, until: end) else {
            throw StoreError(
                .timeout, "verify: another transaction held the writer's lock for more than \(timeout / 1_000_000) ms")
        }
        defer { releaseWriterAfterUpkeep() }
        // No process will allocate from it any more: the next recovery rebuilds it.
        if shared.isPoisoned { return }
        let head = try shared.headEntry()
        try prepareAllocator(for: head)
        try FreeSpaceCheck.compare(
            allocator!, reached, isExact: isWhole && head.version == reached.version, finding: finding)
    }
}

/// Compares a free map with the pages in use.
enum FreeSpaceCheck {
    private enum Fault: Equatable {
        case usedAndFree
        /// Nothing refers to what free space counts as in use.
        case leaked
        case uncounted
    }

    /// - Parameter isExact: every unit in use was reached, so that what was not is leaked.
    static func compare(
        _ allocator: Allocator, _ reached: UsedUnitsOfVersion, isExact: Bool,
        finding: (String) throws(StoreError) -> Void
    ) throws(StoreError) {
        let space = allocator.space, map = allocator.freeMap
        var run: (fault: Fault, pages: Range<Int>)?
        func end() throws(StoreError) {
            guard let (fault, pages) = run else { return }
            run = nil
            let name =
                pages.count == 1 ? "page \(pages.lowerBound)" : "pages \(pages.lowerBound)–\(pages.upperBound - 1)"
            switch fault {
            case .usedAndFree: try finding("free space: \(name): in use, and counted as free")
            case .leaked:
                try finding("free space: \(name): counted as in use, and nothing refers to what lies there (leaked)")
            case .uncounted: try finding("free space: \(name): more in use than free space counts")
            }
        }
        for page in FreeSpace.firstPage..<max(space.pages, FreeSpace.firstPage) {
            var units = page < reached.pages ? reached.used.units(inPage: page) : 0
            var fault: Fault?
            if units > 0, space.isReady(page) {
                fault = .usedAndFree
            } else if isExact {
                if page >= map.page, page < map.page + map.count { units += PageSize.unitsPerPage }
                if units != space.liveUnits(page) { fault = units < space.liveUnits(page) ? .leaked : .uncounted }
            }
            if let fault, let last = run, last.fault == fault, last.pages.upperBound == page {
                run = (fault, last.pages.lowerBound..<page + 1)
                continue
            }
            try end()
            if let fault { run = (fault, page..<page + 1) }
        }
        try end()
    }
}

/// Which pages of the file may be written: the allocator of one process, brought forward from the log.
///
/// Every page is in one of these states:
/// ```
///   live      units > 0: some extent in it belongs to the newest version
///   limbo     no unit left, but a snapshot in [born, died) may still look at it
///   ready     no pin p has born <= p < died, and died <= PUBLISHED
/// ```
/// All extents of a page were written by one transaction, so a page has one birth; it dies with its last
/// extent. A page that has become ready stays ready: new pins are never older than PUBLISHED.
///
/// A limbo page waits where it will be looked at again: `recent` until its death is published, then in the
/// bucket of one pin that holds it. So a commit looks only at what may have changed, however much a
/// long-lived reader holds.
package final class FreeSpace {
    /// Pages of the file; the first three (metas and session) are never free.
    package private(set) var pages: Int
    private var live: [UInt8] = []
    private var born: [UInt64] = []
    private var died: [UInt64] = []
    /// One bit a page: ready.
    private var ready: [UInt64] = []
    private(set) var readyCount = 0
    private var cursor = FreeSpace.firstPage
    /// Where `hasRun` found its last run; looked at again each time.
    private var reserve = 0

    /// Dead pages whose death may not be published yet, in order of death.
    private var recent: [Int] = []
    private var recentHead = 0
    /// Dead pages that the pin of this version holds.
    private var held: [UInt64: [Int]] = [:]

    static let firstPage = 3
    /// In `live`: given to a commit that has not written its record yet. An out-of-date entry of `recent` or
    /// `held` must not make such a page ready again.
    private static let taken: UInt8 = 0xff

    /// Errors: `.outOfMemory`.
    init(pages: Int) throws(StoreError) {
        self.pages = 0
        try extend(to: pages, isReady: false)
        for page in 0..<min(FreeSpace.firstPage, pages) { live[page] = UInt8(PageSize.unitsPerPage) }
    }

    /// More pages at the end of the file, ready at once (nothing has ever referred to them).
    ///
    /// Errors: `.outOfMemory`, and nothing has changed.
    func extend(to newPages: Int, isReady: Bool) throws(StoreError) {
        guard newPages > pages else { return }
        let more = newPages - pages
        // All three grow, and to twice the size where they have to move.
        if newPages > born.capacity { try Memory.check(for: 2 &* newPages, each: 2 * MemoryLayout<UInt64>.stride + 1) }
        live.append(contentsOf: repeatElement(0, count: more))
        born.append(contentsOf: repeatElement(0, count: more))
        died.append(contentsOf: repeatElement(0, count: more))
        let words = (newPages + 63) / 64
        if words > ready.count { ready.append(contentsOf: repeatElement(0, count: words - ready.count)) }
        let first = pages
        pages = newPages
        if isReady { for page in first..<newPages { setReady(page) } }
    }

    // MARK: Shrinking

    /// How many pages at the end of the file are ready.
    var readyAtEnd: Int {
        var page = pages
        while page > FreeSpace.firstPage, isReady(page - 1) || (InjectedBug.active(.cutInUse) && live[page - 1] == 0) {
            page -= 1
        }
        return pages - page
    }

    /// The file has only `newPages` pages from now on. Those that go are in no version that anybody can see.
    func shrink(to newPages: Int) throws(StoreError) {
        guard newPages < pages else { return }
        guard newPages >= FreeSpace.firstPage, !live[newPages...].contains(where: { $0 != 0 }) else {
            throw StoreError(.corrupt, "the file is to shrink to \(newPages) pages, and a later one is in use")
        }
        for page in newPages..<pages where isReady(page) { clearReady(page) }
        live.removeLast(pages - newPages)
        born.removeLast(pages - newPages)
        died.removeLast(pages - newPages)
        recent = recent[recentHead...].filter { $0 < newPages }
        recentHead = 0
        held = held.mapValues { $0.filter { $0 < newPages } }
        pages = newPages
        cursor = min(cursor, newPages)
        reserve = FreeSpace.firstPage
    }

    /// The next run is taken from the first page that is ready.
    func takeFromStart() { cursor = FreeSpace.firstPage }

    /// Pages that a compaction empties: those at the end of the file, and those of which little is live, as far as what
    /// lives there fits into the ready pages before them. At most `units` units of 512 bytes are to be moved; nil where
    /// nothing would be won, `slack` pages and an eighth of the file aside.
    func pagesToEmpty(units: Int, slack: Int) -> [UInt64]? {
        var last = pages - 1
        while last >= FreeSpace.firstPage, live[last] == 0 { last -= 1 }
        // The number of pages that live units would need if packed; some room stays.
        let liveUnits = live[FreeSpace.firstPage...].reduce(0) { $0 + Int($1) }
        let needed = FreeSpace.firstPage + liveUnits / PageSize.unitsPerPage
        if last < needed + needed / 8 + slack { return nil }
        var bits = [UInt64](repeating: 0, count: (pages + 63) / 64)
        var readyBefore = 0, page = FreeSpace.firstPage
        while page < last {
            if isReady(page) { readyBefore += 1 }
            page += 1
        }
        var chosen = 0
        page = last
        while page >= FreeSpace.firstPage, chosen < units, chosen < readyBefore * 7 {
            if isReady(page) { readyBefore -= 1 }
            // Before the place where all of it would end only pages that are mostly dead are worth it.
            if live[page] > 0, page > needed + needed / 16 || Int(live[page]) * 4 <= PageSize.unitsPerPage {
                chosen += Int(live[page])
                bits[page >> 6] |= 1 << UInt64(page & 63)
            }
            page -= 1
        }
        return chosen == 0 ? nil : bits
    }

    // MARK: The rule

    /// Moves pages to ready that no pin holds any more. `pins` ascending.
    func advance(published: UInt64, pins: [UInt64]) {
        if !held.isEmpty, held.keys.contains(where: { !pins.contains($0) }) {
            for pin in held.keys.sorted() where !pins.contains(pin) {
                for page in held.removeValue(forKey: pin)! { settle(page, published, pins) }
            }
        }
        while recentHead < recent.count {
            let page = recent[recentHead]
            // In order of death: what follows died no earlier.
            if died[page] > published && !InjectedBug.active(.reuseUnpublished) { break }
            settle(page, published, pins)
            recentHead += 1
        }
        if recentHead > 1024, recentHead * 2 > recent.count {
            recent.removeFirst(recentHead)
            recentHead = 0
        }
    }

    private func settle(_ page: Int, _ published: UInt64, _ pins: [UInt64]) {
        // Another process may have found it ready earlier, and used it: then this entry is out of date, and a
        // later death has an entry of its own.
        if live[page] != 0 || isReady(page) { return }
        if died[page] > published && !InjectedBug.active(.reuseUnpublished) { return }
        // The first pin at or after the birth decides: pins are few and ascending.
        for pin in pins where pin >= born[page] {
            if pin < died[page] {
                held[pin, default: []].append(page)
                return
            }
            break
        }
        setReady(page)
    }

    private func setReady(_ page: Int) {
        ready[page >> 6] |= 1 << UInt64(page & 63)
        readyCount += 1
    }

    // MARK: Taking and freeing

    /// The next run of at least `minimum` and at most `wanted` ready pages after the last one given, or nil.
    func takeRun(minimum: Int, wanted: Int) -> (page: Int, count: Int)? {
        guard let run = findRun(minimum: minimum, wanted: wanted, from: cursor) else { return nil }
        return take(run.page, min(run.count, wanted))
    }

    /// The same so that a run of `reserve` ready pages is left.
    func takeRun(minimum: Int, wanted: Int, leaving reserve: Int) -> (page: Int, count: Int)? {
        if reserve == 0 { return takeRun(minimum: minimum, wanted: wanted) }
        guard hasRun(reserve) else { return nil }
        let kept = self.reserve..<(self.reserve + reserve)
        var first = cursor
        // What was found may reach into the reserve or begin in it: then the next one behind it.
        for _ in 0..<2 {
            guard let run = findRun(minimum: minimum, wanted: wanted, from: first) else { return nil }
            let count = min(run.count, wanted)
            if run.page >= kept.upperBound || run.page + count <= kept.lowerBound { return take(run.page, count) }
            if kept.lowerBound - run.page >= minimum { return take(run.page, min(kept.lowerBound - run.page, wanted)) }
            first = kept.upperBound
        }
        return nil
    }

    private func take(_ first: Int, _ count: Int) -> (page: Int, count: Int) {
        for page in first..<(first + count) {
            clearReady(page)
            live[page] = FreeSpace.taken
        }
        cursor = first + count
        return (first, count)
    }

    /// The first run of at least `minimum` ready pages from a page on, going round; looks at `wanted` pages of it.
    private func findRun(minimum: Int, wanted: Int, from first: Int) -> (page: Int, count: Int)? {
        guard readyCount >= minimum else { return nil }
        let pages = pages
        return ready.withUnsafeBufferPointer { ready in
            var page = first < pages ? first : FreeSpace.firstPage
            var scanned = 0, start = -1, length = 0
            // Once around, and on far enough to see a run that crosses the starting point.
            while scanned <= pages &+ minimum {
                if page >= pages {
                    if length >= minimum { break }
                    page = FreeSpace.firstPage
                    length = 0
                    scanned &+= 1
                    continue
                }
                let bits = ready[page &>> 6] &>> UInt64(truncatingIfNeeded: page & 63)
                let inWord = min(64 &- (page & 63), pages &- page)
                if bits & 1 == 0 {
                    if length >= minimum { break }
                    length = 0
                    let skip = bits == 0 ? inWord : min(bits.trailingZeroBitCount, inWord)
                    page &+= skip
                    scanned &+= skip
                } else {
                    let run = min((~bits).trailingZeroBitCount, inWord)
                    if length == 0 { start = page }
                    length &+= run
                    page &+= run
                    scanned &+= run
                    if length >= wanted { break }
                }
            }
            return length >= minimum ? (start, length) : nil
        }
    }

    private func clearReady(_ page: Int) {
        ready[page >> 6] &= ~(1 << UInt64(page & 63))
        readyCount -= 1
    }

    /// Whether a run of that length is there, without taking it. Every commit needs this: the answer is mostly the run
    /// that was found the last time, and searching starts far from where `takeRun` takes next.
    func hasRun(_ count: Int) -> Bool {
        if isRun(reserve, count) { return true }
        guard
            let run = findRun(
                minimum: count, wanted: count, from: pages / 2 < cursor ? cursor - pages / 2 : cursor + pages / 2)
        else { return false }
        reserve = run.page
        return true
    }

    private func isRun(_ first: Int, _ count: Int) -> Bool {
        guard first >= FreeSpace.firstPage, first + count <= pages else { return false }
        for page in first..<(first + count) where !isReady(page) { return false }
        return true
    }

    /// Returns pages that were taken and not written.
    func release(page: Int, count: Int) {
        for p in page..<(page + count) {
            live[p] = 0
            setReady(p)
        }
        if cursor == page + count { cursor = page }
    }

    func isReady(_ page: Int) -> Bool { ready[page >> 6] >> UInt64(page & 63) & 1 != 0 }

    /// Version `version` wrote extents of that many units into a free page, by this or another process.
    func allocate(page: Int, units: Int, version: UInt64) throws(StoreError) {
        guard page >= FreeSpace.firstPage, page < pages, live[page] == 0 || live[page] == FreeSpace.taken, units > 0,
            units <= PageSize.unitsPerPage
        else {
            throw StoreError(
                .corrupt,
                """
                page \(page) of \(pages) allocated twice or outside the file: \(page < pages ? Int(live[page]) : -1) \
                units live, \(units) wanted
                """
            )
        }
        if isReady(page) { clearReady(page) }
        live[page] = UInt8(units)
        born[page] = version
        died[page] = 0
    }

    /// All that one version wrote and no longer refers to.
    func apply(_ placed: [ExtentWriter.PlacedPage], _ freed: [FreedExtent], version: UInt64) throws(StoreError) {
        for page in placed { try allocate(page: page.page, units: page.liveUnits, version: version) }
        for extent in freed { try free(extent, version: version) }
    }

    /// Version `version` no longer refers to the extent.
    func free(_ extent: FreedExtent, version: UInt64) throws(StoreError) {
        var unit = extent.unit
        let end = unit + extent.units
        guard unit >= FreeSpace.firstPage * PageSize.unitsPerPage, extent.units > 0,
            end <= pages * PageSize.unitsPerPage
        else {
            throw StoreError(.corrupt, "extent at unit \(extent.unit) freed outside the file")
        }
        while unit < end {
            let page = unit / PageSize.unitsPerPage
            let units = min(end, (page + 1) * PageSize.unitsPerPage) - unit
            guard Int(live[page]) >= units else { throw StoreError(.corrupt, "page \(page) freed twice") }
            live[page] -= UInt8(units)
            born[page] = extent.born
            if live[page] == 0 {
                died[page] = version
                recent.append(page)
            }
            unit += units
        }
    }

    /// No process lives that could look at an old version: all limbo is free.
    func releaseAll() {
        recent.removeAll()
        recentHead = 0
        held.removeAll()
        for page in FreeSpace.firstPage..<max(pages, FreeSpace.firstPage) where live[page] == 0 && !isReady(page) {
            born[page] = 0
            died[page] = 0
            setReady(page)
        }
    }

    /// An injected bug: the pages of the tree that recovery starts from count as free.
    package func forgetLivePages() {
        for page in FreeSpace.firstPage..<pages {
            live[page] = 0
            if !isReady(page) { setReady(page) }
        }
    }

    // MARK: For statistics and oracles

    package func liveUnits(_ page: Int) -> Int { Int(live[page]) }
    var liveBytes: Int { live.dropFirst(FreeSpace.firstPage).reduce(0) { $0 + Int($1) } * PageSize.unit }
    var limboCount: Int { recent.count - recentHead + held.values.reduce(0) { $0 + $1.count } }

    // MARK: The stored form

    /// Runs of pages that are not fully live:
    /// `gap, length, live units [, version - died, died - born]` as varints, gap counted from the end of the last run.
    func encode(into buffer: ByteBuffer, version: UInt64, collapseLimbo: Bool) throws(StoreError) {
        var last = FreeSpace.firstPage, page = FreeSpace.firstPage
        while page < pages {
            let units = live[page]
            if units == PageSize.unitsPerPage {
                page += 1
                continue
            }
            let isFree = units == 0 && (collapseLimbo || isReady(page))
            let b = units == 0 && !isFree ? born[page] : 0, d = units == 0 && !isFree ? died[page] : 0
            var end = page + 1
            while end < pages, live[end] == units {
                if units == 0 {
                    let otherFree = collapseLimbo || isReady(end)
                    if otherFree != isFree || (!isFree && (born[end] != b || died[end] != d)) { break }
                }
                end += 1
            }
            try buffer.appendVarint(UInt64(page - last))
            try buffer.appendVarint(UInt64(end - page))
            try buffer.append(units)
            if units == 0 {
                // A free page is stored as born = died = 0: held by no pin.
                try buffer.appendVarint(isFree ? 0 : version &- d &+ 1)
                if !isFree { try buffer.appendVarint(d &- b) }
            }
            last = end
            page = end
        }
    }

    package convenience init(pages: Int, decoding reader: inout ByteReader, version: UInt64) throws(StoreError) {
        try self.init(pages: pages)
        for page in FreeSpace.firstPage..<max(pages, FreeSpace.firstPage) { live[page] = UInt8(PageSize.unitsPerPage) }
        var last = FreeSpace.firstPage
        var limbo: [Int] = []
        while !reader.isAtEnd {
            let gap = try reader.readCount(), length = try reader.readCount()
            guard gap <= pages, length <= pages else { throw StoreError(.corrupt, "free map is not well formed") }
            let start = last + gap
            let units = try reader.read(UInt8.self)
            guard length > 0, start >= last, length <= pages - start, units < PageSize.unitsPerPage else {
                throw StoreError(.corrupt, "free map is not well formed")
            }
            var b: UInt64 = 0, d: UInt64 = 0
            if units == 0 {
                let age = try reader.readVarint()
                if age > 0 {
                    d = version &- (age - 1)
                    b = d &- (try reader.readVarint())
                    guard b <= d, d <= version, b < d || !InjectedBug.active(.bornBeforeDied) else {
                        throw StoreError(.corrupt, "free map is not well formed")
                    }
                }
            }
            for page in start..<(start + length) {
                live[page] = units
                born[page] = b
                died[page] = d
                if units == 0 {
                    if d == 0 { setReady(page) } else { try limbo.tryAppend(page) }
                }
            }
            last = start + length
        }
        recent = limbo.sorted { (died[$0], $0) < (died[$1], $1) }
    }
}

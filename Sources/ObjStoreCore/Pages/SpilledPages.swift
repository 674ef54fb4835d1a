/// The pages of the file that an open transaction has filled already, because its arena had become too large.
///
/// ```
///  arena ──spill──► pages of this version, which no one else can see
///    ▲                 │ changed again: copied back, and freed here;
///    └─────────────────┘ a page with nothing left is free for the next spill
/// ```
/// No version refers to them before the commit, so their extents need no limbo: what the transaction frees is used
/// again at once. Except where a savepoint may come back to it: then it counts as freed by the version, like an extent
/// of an older one.
package final class SpilledPages {
    /// The version that the transaction will be, which all of the extents have as their birth.
    private(set) var version: UInt64 = 0
    private var pages: [Int: Page] = [:]
    /// How many savepoints have begun: pages that were written since one have at least its number.
    private var savepoint = 0
    private var savepointsBegun = 0
    /// Pages with nothing left in them.
    private var emptied: [Int] = []

    package init() {}

    private struct Page {
        var liveUnits: Int
        var savepoint: Int
    }

    package func begin(version: UInt64) {
        self.version = version
        if !pages.isEmpty { pages.removeAll() }
        if !emptied.isEmpty { emptied.removeAll() }
        savepoint = 0
        savepointsBegun = 0
    }

    var isEmpty: Bool { pages.isEmpty && emptied.isEmpty }

    package func add(_ placed: [ExtentWriter.PlacedPage]) {
        pages.reserveCapacity(pages.count + placed.count)
        for page in placed { pages[page.page] = Page(liveUnits: page.liveUnits, savepoint: savepoint) }
    }

    /// Frees an extent of the version. False: a savepoint may come back to it; or it was not written here, whatever a
    /// damaged file says of its birth: the commit finds out.
    package func giveUp(unit: Int, units: Int) -> Bool {
        if units == 0 { return false }
        let range = unit..<unit + units
        let first = unit / PageSize.unitsPerPage, last = (range.upperBound - 1) / PageSize.unitsPerPage
        func live(_ page: Int) -> Int {
            range.clamped(to: page * PageSize.unitsPerPage..<(page + 1) * PageSize.unitsPerPage).count
        }
        // All pages of an extent were written together.
        guard let known = pages[first], known.savepoint >= savepoint || InjectedBug.active(.spillReused),
            (first...last).allSatisfy({ pages[$0].map(\.liveUnits) ?? 0 >= live($0) })
        else { return false }
        for page in first...last {
            let left = pages[page]!.liveUnits - live(page)
            if left > 0 {
                pages[page]!.liveUnits = left
            } else {
                pages[page] = nil
                emptied.append(page)
            }
        }
        return true
    }

    /// Pages that may be written again: they are the caller's.
    package func takeEmptied() -> [Int] {
        defer { emptied.removeAll(keepingCapacity: true) }
        return emptied
    }

    /// All that there is, in the order of the file.
    package var placed: [ExtentWriter.PlacedPage] {
        pages.keys.sorted().map { ExtentWriter.PlacedPage(page: $0, liveUnits: pages[$0]!.liveUnits) }
    }

    // MARK: Savepoints

    struct Mark {
        fileprivate var outer: Int
        fileprivate var own: Int
    }

    func mark() -> Mark {
        let outer = savepoint
        savepointsBegun += 1
        savepoint = savepointsBegun
        return Mark(outer: outer, own: savepoint)
    }

    func release(_ mark: Mark) { savepoint = mark.outer }

    /// Nothing refers any more to what was written since the mark.
    func rollBack(to mark: Mark) {
        savepoint = mark.outer
        // In the order of the file: what a seed does must not depend on the order of a table.
        for page in pages.keys.sorted() where pages[page]!.savepoint >= mark.own {
            pages[page] = nil
            emptied.append(page)
        }
    }
}

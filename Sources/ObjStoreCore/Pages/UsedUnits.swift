/// Which units of a file a walk has reached. An extent has one place in one tree: a walk that reaches it twice has
/// found damage, and stops before a few nodes that share their children make it endless.
final class UsedUnits {
    private let words: UnsafeMutablePointer<UInt64>
    private let count: Int
    /// Units reached.
    private(set) var total = 0

    init(fileBytes: Int) {
        count = (fileBytes / PageSize.unit + 63) / 64
        words = .allocate(capacity: count)
        words.initialize(repeating: 0, count: count)
    }

    deinit { words.deallocate() }

    /// Throws `.corrupt` where a unit of the extent was reached before.
    func insert(_ extent: VisitedExtent) throws(StoreError) {
        for unit in extent.unit..<(extent.unit + extent.units) {
            guard unit >> 6 < count else {
                throw StoreError(.corrupt, "an extent lies outside the file, at byte \(unit * PageSize.unit)")
            }
            let bit: UInt64 = 1 << UInt64(unit & 63)
            guard words[unit >> 6] & bit == 0 else {
                throw StoreError(.corrupt, "two extents overlap at byte \(unit * PageSize.unit)")
            }
            words[unit >> 6] |= bit
        }
        total += extent.units
    }

    /// How many units of a page were reached.
    func units(inPage page: Int) -> Int {
        let first = page * PageSize.unitsPerPage
        guard first >> 6 < count else { return 0 }
        return (words[first >> 6] >> UInt64(first & 63) & 0xff).nonzeroBitCount
    }
}

/// What a test of origins compares, of all objects of the class: made in one pass, when the first object is asked
/// about.
///
/// ```
///  Dog.owner   3  1  null  3      number of each owner + 1: 4 2 0 4     GroupSummary, or counts: [1] 1, [3] 2
/// ```
final class OriginValues {
    private let test: OriginTest
    private let trees: TreeAccess
    private let keys: PageSource
    private var isReady = false
    private var counts = GroupArray<Int64>()
    private var summary: GroupSummary?
    /// Keys of objects that are asked about are less.
    private let room: Int

    /// Nil: keys of objects are too far apart for an array.
    init?(_ test: OriginTest, _ trees: TreeAccess, _ reader: ClusterReader) throws(StoreError) {
        let objects = try reader.count(), last = try reader.row(at: max(0, objects - 1))?.key ?? -1
        guard last < Int64(min(Int(Int32.max) - 1, max(1 << 16, 8 * objects))) else { return nil }
        self.test = test
        self.trees = trees
        keys = reader.source
        room = Int(last) + 1
    }

    /// Few objects are asked about, as yet: they are cheaper one by one.
    func isLeft(_ mask: UnsafePointer<UInt64>) -> Bool {
        if isReady { return false }
        var rows = 0
        for word in 0..<LeafScan.words { rows += mask[word].nonzeroBitCount }
        single += rows
        return single <= OriginValues.mostSingle
    }
    private var single = 0
    private static let mostSingle = 16

    /// Leaves the rows for which it is true.
    func narrow(_ head: UnsafeRawPointer, _ mask: UnsafeMutablePointer<UInt64>) throws(StoreError) {
        let leaf = LeafKeys(keys, head)
        for word in 0..<LeafScan.words {
            var bits = mask[word]
            if bits != 0, !isReady { try make() }
            while bits != 0 {
                let bit = bits & (0 &- bits)
                bits ^= bit
                if !(try holds(try leaf.key(word &<< 6 &+ bit.trailingZeroBitCount))) { mask[word] ^= bit }
            }
        }
    }

    private func holds(_ key: Int64) throws(StoreError) -> Bool {
        let group = Int(key) + 1
        let value = summary.map { $0.value(group) } ?? .int(counts[group])
        if value.kind == .int, test.constant.kind == .int {
            return test.comparison.holds(value.low < test.constant.low ? -1 : value.low > test.constant.low ? 1 : 0)
        }
        return try ValueTest.holds(test.comparison, value, test.constant)
    }

    private func make() throws(StoreError) {
        isReady = true
        let run = try QueryRun(test.origins, trees), reader = try trees.objects(run.cls)
        let link = try NumberColumn(reader, try run.cls.position(test.propertyID))
        var columns = [link]
        try counts.extend(to: room + 1, with: 0)
        if let aggregate = test.aggregate {
            let value = try ObjectReader(aggregate.of, trees, run.cls, &columns)
            summary = GroupSummary(aggregate.kind, value, aggregate.sums)
            try summary?.extend(to: room + 1)
        }
        let numbers = try Memory.allocate(Int32.self, RowBlocks.most)
        defer { numbers.deallocate() }
        let blocks = try run.blocks(), room = room
        while try blocks.advance() {
            try link.read(blocks)
            let counts = counts.elements, keys = link.values, limit = UInt64(room)
            // Of nulls the keys are anything: they are nobody's, as is what a damaged file may say beyond.
            if link.hasNulls { for index in 0..<blocks.count where link.isNull(index) { keys[index] = -1 } }
            for index in 0..<blocks.count {
                let key = UInt64(bitPattern: keys[index])
                counts[key < limit ? Int(truncatingIfNeeded: key) &+ 1 : 0] &+= 1
            }
            guard let summary else { continue }
            for index in 0..<blocks.count {
                let key = UInt64(bitPattern: keys[index])
                numbers[index] = Int32(truncatingIfNeeded: key < limit ? key &+ 1 : 0)
            }
            try summary.add(blocks, numbers, groups: room + 1)
        }
    }
}

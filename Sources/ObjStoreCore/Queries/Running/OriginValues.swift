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
    /// By key + 1.
    private var counts = GroupArray<UInt32>()
    /// Where only counts are compared, with an int: those for which it is true, or false.
    private let range: CountRange?
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
        range = test.aggregate == nil ? CountRange(test.comparison, test.constant) : nil
        // More than a count has room for.
        let origins = try trees.objects(try trees.schema.cls(test.origins.classID)).count()
        if origins > Int(UInt32.max) { return nil }
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
        if let range, !LeafHead.isSparse(head) {
            // Keys follow each other, and so do their counts.
            let base = LeafHead.keyBase(head)
            if !isReady { try make() }
            if base >= 0, base + Int64(LeafHead.rowsPerLeaf) < Int64(counts.count) {
                return range.narrow(mask, UnsafePointer(counts.elements + Int(base) + 1))
            }
        }
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
        // Others are not of this class, whatever a damaged leaf says.
        let group = UInt64(bitPattern: key) < UInt64(room) ? Int(key) + 1 : 0
        let value = summary.map { $0.value(group) } ?? .int(Int64(counts[group]))
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
        // Whole leaves are compared at once.
        try counts.extend(to: room + 2 + LeafHead.rowsPerLeaf, with: 0)
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

/// Counts for which a comparison is true, as a range of words; or false.
private struct CountRange {
    private let low: UInt32
    private let span: UInt32
    private let isInverted: Bool

    /// Nil: there are no such counts, or all are, or it compares with something else.
    init?(_ comparison: Comparison, _ constant: Value) {
        guard constant.kind == .int, let count = UInt32(exactly: constant.low) else { return nil }
        isInverted = comparison == .notEqual
        switch comparison {
        case .equal, .notEqual: (low, span) = (count, 0)
        case .less:
            if count == 0 { return nil }
            (low, span) = (0, count - 1)
        case .lessOrEqual: (low, span) = (0, count)
        case .greater:
            if count == .max { return nil }
            (low, span) = (count + 1, .max - count - 1)
        case .greaterOrEqual: (low, span) = (count, .max - count)
        }
    }

    /// Of a leaf whose rows have these counts.
    func narrow(_ mask: UnsafeMutablePointer<UInt64>, _ counts: UnsafePointer<UInt32>) {
        withUnsafeTemporaryAllocation(of: UInt64.self, capacity: LeafScan.words) { found in
            let found = found.baseAddress.unsafelyUnwrapped
            found.initialize(repeating: 0, count: LeafScan.words)
            NumberKernels.mask(
                counts, LeafHead.rowsPerLeaf, width: 32, low: UInt64(low), span: UInt64(span), into: found)
            let flip: UInt64 = isInverted ? ~0 : 0
            for word in 0..<LeafScan.words { mask[word] &= found[word] ^ flip }
        }
    }
}

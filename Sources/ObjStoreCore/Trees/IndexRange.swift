/// A place between entries of an index: before or after all entries with a value.
package struct IndexBound {
    let target: IndexEntry
    let isAfter: Bool

    init(_ target: IndexEntry, isAfter: Bool) {
        self.target = target
        self.isAfter = isAfter
    }

    /// The bytes of a text value must live as long as the bound; a uuid or decimal comes from `withIndexBytes`.
    package static func before(_ value: Value, kind: ValueKind) throws(StoreError) -> IndexBound {
        IndexBound(try IndexEntry(value, key: .min, kind: kind), isAfter: false)
    }
    package static func after(_ value: Value, kind: ValueKind) throws(StoreError) -> IndexBound {
        IndexBound(try IndexEntry(value, key: .max, kind: kind), isAfter: true)
    }
    /// Before everything, nulls included.
    package static let start = IndexBound(.lowest, isAfter: false)
    /// After all nulls, before all values.
    package static let values = IndexBound(IndexEntry(bits: 0, key: .max, flags: 0), isAfter: true)
}

/// Entries from `lower` up to `upper`; nil: to the end.
package struct IndexRange {
    package var lower: IndexBound
    package var upper: IndexBound?

    package init(lower: IndexBound, upper: IndexBound?) {
        self.lower = lower
        self.upper = upper
    }
}

extension IndexReader {
    /// The entries that a comparison selects: at most two ranges, in order.
    ///
    /// Null equals only null and is in no ordering; NaN equals nothing and is in no ordering either.
    /// `body` gets them, since bounds point to the bytes of the value.
    func withMatches<T>(
        _ comparison: Comparison, _ value: Value, _ body: (IndexMatches) throws(StoreError) -> T
    ) throws(StoreError) -> T {
        try value.withIndexBytes { (value) throws(StoreError) -> T in
            // NaN comes last, and is not greater than anything.
            guard let nan = kind.nan, comparison == .greater || comparison == .greaterOrEqual else {
                return try body(try matches(comparison, value, end: nil))
            }
            return try nan.withIndexBytes { (nan) throws(StoreError) -> T in
                return try body(try matches(comparison, value, end: try .before(nan, kind: kind)))
            }
        }
    }

    private func matches(_ comparison: Comparison, _ value: Value, end: IndexBound?) throws(StoreError) -> IndexMatches
    {
        func found(_ first: IndexRange? = nil, _ second: IndexRange? = nil) -> IndexMatches {
            IndexMatches(index: self, first: first, second: second)
        }
        let isNaN = value.isNaN
        if comparison == .notEqual {
            if isNaN { return found(IndexRange(lower: .start, upper: nil)) }
            return found(
                IndexRange(lower: .start, upper: try .before(value, kind: kind)),
                IndexRange(lower: try .after(value, kind: kind), upper: nil))
        }
        if isNaN { return found() }
        if comparison == .equal {
            return found(IndexRange(lower: try .before(value, kind: kind), upper: try .after(value, kind: kind)))
        }
        if value.isNull { return found() }
        switch comparison {
        case .less: return found(IndexRange(lower: .values, upper: try .before(value, kind: kind)))
        case .lessOrEqual: return found(IndexRange(lower: .values, upper: try .after(value, kind: kind)))
        case .greater: return found(IndexRange(lower: try .after(value, kind: kind), upper: end))
        default: return found(IndexRange(lower: try .before(value, kind: kind), upper: end))
        }
    }

    /// How many entries a comparison selects. O(log n).
    package func count(_ comparison: Comparison, _ value: Value) throws(StoreError) -> Int {
        try withMatches(comparison, value) { (matches) throws(StoreError) in try matches.count() }
    }

    package func count(equal value: Value) throws(StoreError) -> Int { try count(.equal, value) }

    /// O(log n).
    package func count(in range: IndexRange) throws(StoreError) -> Int {
        let upper: Int
        if let bound = range.upper { upper = try rank(bound) } else { upper = try count() }
        return max(0, upper &- (try rank(range.lower)))
    }

    /// How many entries lie before a bound. O(log n).
    package func rank(_ bound: IndexBound) throws(StoreError) -> Int {
        if root.isNull { return 0 }
        var node = try source.node(root, .indexInner)
        var level = IndexInner.level(node)
        var before = 0
        while true {
            try checkEncoding(node)
            let child = try IndexInner.child(node, bound.target, order, byValue: false)
            before &+= IndexInner.entriesBefore(node, child)
            let ref = IndexInner.ref(node, child)
            if level == 1 {
                let leaf = try source.node(ref, .indexLeaf)
                try checkLeaf(leaf)
                return before &+ (try IndexSearch.position(leaf, bound.target, order, isAfter: bound.isAfter))
            }
            node = try source.node(ref, .indexInner)
            level &-= 1
            guard IndexInner.level(node) == level else { throw wrongLevel() }
        }
    }

    /// Visits the object keys of a comparison in the order of their values, then keys, until `body` returns
    /// false. Returns whether it came to the end.
    @discardableResult
    package func forEach(
        _ comparison: Comparison, _ value: Value, _ body: (Int64) throws(StoreError) -> Bool
    ) throws(StoreError) -> Bool {
        try withMatches(comparison, value) { (matches) throws(StoreError) in try matches.forEach(body) }
    }

    /// Visits the object keys of a range in ascending order until `body` returns false. Returns whether it
    /// came to the end. O(log n) and a few ns an entry.
    @discardableResult
    package func forEach(in range: IndexRange, _ body: (Int64) throws(StoreError) -> Bool) throws(StoreError) -> Bool {
        var cursor = IndexCursor(self)
        let count = try self.count(in: range)
        if count == 0 { return true }
        try cursor.seek(range.lower)
        var left = count
        while left > 0 {
            let block = min(left, cursor.entriesLeft)
            guard block > 0 else { throw wrongLevel() }
            if !(try cursor.visit(block, body)) { return false }
            left &-= block
            if left > 0 { try cursor.nextLeaf() }
        }
        return true
    }
}

/// The entries of an index that satisfy a comparison: at most two stretches of it, in order.
struct IndexMatches {
    let index: IndexReader
    let first: IndexRange?
    let second: IndexRange?

    /// O(log n).
    func count() throws(StoreError) -> Int {
        var count = 0
        if let first { count += try index.count(in: first) }
        if let second { count += try index.count(in: second) }
        return count
    }

    /// Visits the object keys in the order of their values, then keys, until `body` returns false. Returns whether it
    /// came to the end.
    @discardableResult
    func forEach(_ body: (Int64) throws(StoreError) -> Bool) throws(StoreError) -> Bool {
        if let first, !(try index.forEach(in: first, body)) { return false }
        if let second { return try index.forEach(in: second, body) }
        return true
    }
}

/// Walks an index upwards from a bound. Valid as long as its reader.
package struct IndexCursor {
    let reader: IndexReader
    /// The child that was taken in each inner node on the way down; level 1 is at 1.
    private var path: InlineArray<25, (node: UInt, child: Int)> = InlineArray(repeating: (0, 0))
    private(set) var leaf: UnsafeRawPointer?
    private(set) var position = 0
    private var entries = 0
    private var levels = 0

    package init(_ reader: IndexReader) { self.reader = reader }

    /// Entries of the current leaf that were not returned yet.
    var entriesLeft: Int { entries &- position }

    /// Goes to the first entry behind the bound.
    package mutating func seek(_ bound: IndexBound) throws(StoreError) {
        leaf = nil
        position = 0
        entries = 0
        if reader.root.isNull { return }
        var node = try reader.source.node(reader.root, .indexInner)
        levels = IndexInner.level(node)
        var level = levels
        while true {
            try reader.checkEncoding(node)
            let child = try IndexInner.child(node, bound.target, reader.order, byValue: false)
            path[level] = (UInt(bitPattern: node), child)
            if level == 1 { break }
            node = try reader.source.node(IndexInner.ref(node, child), .indexInner)
            level -= 1
            guard IndexInner.level(node) == level else { throw reader.wrongLevel() }
        }
        try enterLeaf()
        position = try IndexSearch.position(leaf!, bound.target, reader.order, isAfter: bound.isAfter)
        if position == entries { try nextLeaf() }
    }

    /// Goes to the entry with so many before it. O(log n).
    mutating func seek(rank: Int) throws(StoreError) {
        leaf = nil
        position = 0
        entries = 0
        if reader.root.isNull { return }
        var node = try reader.source.node(reader.root, .indexInner), left = rank
        levels = IndexInner.level(node)
        var level = levels
        while true {
            try reader.checkEncoding(node)
            let child = IndexInner.child(node, rank: &left)
            path[level] = (UInt(bitPattern: node), child)
            if level == 1 { break }
            node = try reader.source.node(IndexInner.ref(node, child), .indexInner)
            level -= 1
            guard IndexInner.level(node) == level else { throw reader.wrongLevel() }
        }
        try enterLeaf()
        guard left < entries else { throw reader.wrongLevel() }
        position = left
    }

    private mutating func enterLeaf() throws(StoreError) {
        let (address, child) = path[1]
        let leaf = try reader.source.node(IndexInner.ref(UnsafeRawPointer(bitPattern: address)!, child), .indexLeaf)
        try reader.checkLeaf(leaf)
        self.leaf = leaf
        position = 0
        entries = IndexLeaf.entries(leaf)
    }

    /// Goes to the beginning of the next leaf; behind the last one `entriesLeft` is 0.
    mutating func nextLeaf() throws(StoreError) {
        var level = 1
        while level <= levels {
            let node = UnsafeRawPointer(bitPattern: path[level].node)!
            if path[level].child + 1 < NodeHeader.count(node) { break }
            level += 1
        }
        if level > levels || leaf == nil {
            leaf = nil
            position = 0
            entries = 0
            return
        }
        path[level].child += 1
        while level > 1 {
            let node = UnsafeRawPointer(bitPattern: path[level].node)!
            let below = try reader.source.node(IndexInner.ref(node, path[level].child), .indexInner)
            level -= 1
            guard IndexInner.level(below) == level else { throw reader.wrongLevel() }
            try reader.checkEncoding(below)
            path[level] = (UInt(bitPattern: below), 0)
        }
        // The leaf after this one will be wanted soon.
        let node = UnsafeRawPointer(bitPattern: path[1].node)!
        if path[1].child + 1 < NodeHeader.count(node) {
            reader.source.prefetch(IndexInner.ref(node, path[1].child + 1))
        }
        try enterLeaf()
    }

    /// The object key of the next entry; nil behind the last.
    package mutating func next() throws(StoreError) -> Int64? {
        guard let leaf else { return nil }
        let key = IndexCursor.key(leaf, position)
        position += 1
        if position == entries { try nextLeaf() }
        return key
    }

    /// Calls `body` for the next `count` entries of the current leaf.
    mutating func visit(_ count: Int, _ body: (Int64) throws(StoreError) -> Bool) throws(StoreError) -> Bool {
        guard let leaf else { return true }
        let end = position + count
        if IndexLeaf.encoding(leaf) == IndexLeaf.runs {
            var run = IndexCursor.runIndex(leaf, position)
            while position < end {
                let entry = IndexLeaf.run(leaf, run)
                let start = IndexLeaf.runStart(leaf, run)
                let stop = min(end, start &+ entry.run)
                var key = entry.key &+ Int64(position &- start)
                while position < stop {
                    position &+= 1
                    if !(try body(key)) { return false }
                    key &+= 1
                }
                run &+= 1
            }
            return true
        }
        let keys = IndexLeaf.encoding(leaf) == IndexLeaf.text ? IndexLeaf.textKeys(leaf) : IndexLeaf.keys(leaf)
        while position < end {
            position &+= 1
            if !(try body(Int64(bitPattern: keys[position &- 1]))) { return false }
        }
        return true
    }

    private static func runIndex(_ leaf: UnsafeRawPointer, _ position: Int) -> Int {
        var low = 0, length = NodeHeader.count(leaf)
        while length > 1 {
            let half = length >> 1
            if IndexLeaf.runStart(leaf, low &+ half) <= position { low = low &+ half }
            length &-= half
        }
        return low
    }

    private static func key(_ leaf: UnsafeRawPointer, _ position: Int) -> Int64 {
        switch IndexLeaf.encoding(leaf) {
        case IndexLeaf.packed: return Int64(bitPattern: IndexLeaf.keys(leaf)[position])
        case IndexLeaf.text: return Int64(bitPattern: IndexLeaf.textKeys(leaf)[position])
        default:
            let run = runIndex(leaf, position)
            return IndexLeaf.run(leaf, run).key &+ Int64(position &- IndexLeaf.runStart(leaf, run))
        }
    }
}

internal import CSystem

/// Finds the rows of a leaf whose value in one column satisfies a comparison with a constant.
///
/// The comparison is prepared once: integers become a range, doubles a closed range, floats one or two ranges of
/// bit patterns, decimals keep their order key, text its fingerprint. `notEqual` is the complement of `equal` among the
/// rows that exist.
struct LeafMatcher {
    let source: PageSource
    let spec: ColumnSpec
    let hint: Int
    let comparison: Comparison
    let constant: Value

    /// What has to be found in a leaf; `notEqual` finds `equal` and complements.
    private enum Test {
        case nothing
        case null
        case integers(low: Int64, high: Int64)
        case doubles(low: Double, high: Double)
        /// Floats on both sides of zero: two ranges of bit patterns.
        case patterns(ClosedRange<Int64>, ClosedRange<Int64>)
        case pair
        case decimal(UInt128)
        case textEqual(fingerprint: UInt8)
        case textOrder
        case mixed
    }
    private let test: Test
    private let complement: Bool

    init(
        _ source: PageSource, _ spec: ColumnSpec, hint: Int, _ comparison: Comparison, _ constant: Value
    ) throws(StoreError) {
        guard constant.isNull || constant.kind == spec.kind || spec.kind == .mixed else {
            throw StoreError(.invalidArgument, "column \(spec.id) holds \(spec.kind), the constant is \(constant.kind)")
        }
        self.source = source
        self.spec = spec
        self.hint = hint
        self.comparison = comparison
        self.constant = constant
        complement = comparison == .notEqual
        test = spec.kind == .mixed && !constant.isNull ? .mixed : LeafMatcher.prepare(comparison, constant)
    }

    private static func prepare(_ comparison: Comparison, _ constant: Value) -> Test {
        switch constant.kind {
        case .null:
            return comparison == .equal || comparison == .notEqual ? .null : .nothing
        case .double:
            let value = constant.asDouble
            if value.isNaN { return .nothing }
            switch comparison {
            case .equal, .notEqual: return .doubles(low: value, high: value)
            case .less: return value == -.infinity ? .nothing : .doubles(low: -.infinity, high: value.nextDown)
            case .lessOrEqual: return .doubles(low: -.infinity, high: value)
            case .greater: return value == .infinity ? .nothing : .doubles(low: value.nextUp, high: .infinity)
            case .greaterOrEqual: return .doubles(low: value, high: .infinity)
            }
        case .float:
            return prepare(comparison, constant.asFloat)
        case .decimal128:
            return constant.isNaN ? .nothing : .decimal(constant.asDecimal.orderKey)
        case .string, .binary:
            if comparison == .equal || comparison == .notEqual {
                return .textEqual(fingerprint: Fingerprint.of(constant.pointer, constant.count))
            }
            return .textOrder
        case .timestamp, .objectID, .uuid:
            return .pair
        default:
            guard let (low, high) = range(comparison, constant.low) else { return .nothing }
            return .integers(low: low, high: high)
        }
    }

    /// Floats lie in a leaf as their bit patterns: those of 0.0 and above ascend from 0, those of -0.0 and below from
    /// 0x80000000 on, away from zero. A range of values is one range of patterns on each side.
    private static func prepare(_ comparison: Comparison, _ value: Float) -> Test {
        if value.isNaN { return .nothing }
        let low: Float, high: Float
        switch comparison {
        case .equal, .notEqual: (low, high) = (value, value)
        case .less:
            if value == -.infinity { return .nothing }
            (low, high) = (-.infinity, value.nextDown)
        case .lessOrEqual: (low, high) = (-.infinity, value)
        case .greater:
            if value == .infinity { return .nothing }
            (low, high) = (value.nextUp, .infinity)
        case .greaterOrEqual: (low, high) = (value, .infinity)
        }
        func pattern(_ magnitude: Float) -> Int64 { Int64(magnitude.magnitude.bitPattern) }
        let sign: Int64 = 0x8000_0000
        let above = high >= 0 ? pattern(max(low, 0))...pattern(high) : nil
        let below = low <= 0 ? sign | pattern(min(high, 0))...sign | pattern(low) : nil
        switch (above, below) {
        case (let above?, let below?): return .patterns(above, below)
        case (let one?, nil), (nil, let one?): return .integers(low: one.lowerBound, high: one.upperBound)
        case (nil, nil): return .nothing
        }
    }

    private static func range(_ comparison: Comparison, _ value: Int64) -> (Int64, Int64)? {
        switch comparison {
        case .equal, .notEqual: return (value, value)
        case .less: return value == .min ? nil : (.min, value - 1)
        case .lessOrEqual: return InjectedBug.active(.queryBoundTurned) ? (value, .max) : (.min, value)
        case .greater: return value == .max ? nil : (value + 1, .max)
        case .greaterOrEqual: return (value, .max)
        }
    }

    // MARK: Counting

    /// Matching rows of a leaf. `mask` is scratch memory of `maskWords` words.
    @inline(__always)
    func count(_ head: UnsafeRawPointer, _ mask: UnsafeMutablePointer<UInt64>) throws(StoreError) -> Int {
        // Every row exists and none is null: count packed cells without making a mask.
        if LeafHead.presence(head) == nil, let entry = LeafHead.entry(head, id: spec.id, hint: hint), !entry.hasAux {
            switch test {
            case .integers(let low, let high):
                let count = try countIntegers(head, entry, low, high)
                return complement ? LeafHead.rows(head) - count : count
            case .patterns(let above, let below):
                let count =
                    try countIntegers(head, entry, above.lowerBound, above.upperBound)
                    + countIntegers(head, entry, below.lowerBound, below.upperBound)
                return complement ? LeafHead.rows(head) - count : count
            case .doubles(let low, let high) where entry.encoding == LeafEncoding.double.rawValue && entry.width == 64:
                let count = try countDoubles(head, entry, low, high)
                return complement ? LeafHead.rows(head) - count : count
            default: break
            }
        }
        try matches(head, into: mask)
        var total = 0
        for word in 0..<64 { total &+= mask[word].nonzeroBitCount }
        return total
    }

    @inline(__always)
    private func countIntegers(
        _ head: UnsafeRawPointer, _ entry: LeafEntry, _ low: Int64, _ high: Int64
    ) throws(StoreError) -> Int {
        guard !entry.isText else { throw LeafReader.wrongEncoding(spec) }
        let rows = LeafHead.rows(head)
        switch cells(entry, rows, low, high) {
        case .none: return 0
        case .all: return rows
        case .slots(let slots): return slots.count
        case .cells(let first, let span):
            let reader = LeafReader(source: source)
            if !entry.isSegmented {
                return NumberKernels.count(
                    try reader.mainPart(head, entry, segment: 0, .numbers), rows, width: entry.width, low: first,
                    span: span)
            }
            let shift = entry.segmentShift
            var total = 0, row = 0
            while row < rows {
                let part = try reader.mainPart(head, entry, segment: row &>> shift, .numbers)
                total &+= NumberKernels.count(
                    part, min(1 &<< shift, rows &- row), width: entry.width, low: first, span: span)
                row &+= 1 &<< shift
            }
            return total
        }
    }

    private func countDoubles(
        _ head: UnsafeRawPointer, _ entry: LeafEntry, _ low: Double, _ high: Double
    ) throws(StoreError) -> Int {
        let rows = LeafHead.rows(head), shift = NumberCodec.segmentShift(64)
        if excludes(entry, low, high) { return 0 }
        let reader = LeafReader(source: source)
        var total = 0, row = 0
        while row < rows {
            let part = try reader.mainPart(head, entry, segment: row &>> shift, .numbers)
            total &+= NumberKernels.countDoubles(part, min(1 &<< shift, rows &- row), low: low, high: high)
            row &+= 1 &<< shift
        }
        return total
    }

    /// Whether the bounds say that no double of the part is in the range.
    private func excludes(_ entry: LeafEntry, _ low: Double, _ high: Double) -> Bool {
        if InjectedBug.active(.queryZoneNarrow), Double(bitPattern: UInt64(bitPattern: entry.max)) <= low {
            return true
        }
        return Double(bitPattern: UInt64(bitPattern: entry.max)) < low
            || Double(bitPattern: UInt64(bitPattern: entry.base)) > high
    }

    // MARK: Ranges of cells

    private enum Cells {
        case none
        case all
        case slots(Range<Int>)
        case cells(low: UInt64, span: UInt64)
    }

    /// A range of values as a range of cells, using the bounds to decide without looking at cells.
    @inline(__always)
    private func cells(_ entry: LeafEntry, _ rows: Int, _ low: Int64, _ high: Int64) -> Cells {
        let base = entry.base, width = entry.width
        if entry.encoding == LeafEncoding.linear.rawValue {
            // value = base + slot
            let last = base &+ Int64(rows &- 1)
            if low > last || high < base { return .none }
            return .slots(Int(max(low, base) &- base)..<Int(min(high, last) &- base) &+ 1)
        }
        if width == 0 { return low <= base && base <= high ? .all : .none }
        let top = entry.max
        if low > top || high < base { return .none }
        if low <= base, high >= top { return .all }
        let first = max(low, base), last = min(high, top)
        let span = UInt64(bitPattern: last &- first)
        return width == 64
            ? .cells(low: UInt64(bitPattern: first), span: span)
            : .cells(low: UInt64(bitPattern: first &- base), span: span)
    }

    /// Whether the bounds of a leaf say which of its rows match.
    func isDecided(_ head: UnsafeRawPointer) -> Bool {
        guard let entry = LeafHead.entry(head, id: spec.id, hint: hint) else { return true }
        switch test {
        case .nothing, .null: return true
        case .integers(let low, let high):
            switch cells(entry, LeafHead.rows(head), low, high) {
            case .none, .all, .slots: return true
            case .cells: return false
            }
        case .doubles(let low, let high):
            return entry.encoding == LeafEncoding.double.rawValue && excludes(entry, low, high)
        case .patterns, .pair, .decimal, .textEqual, .textOrder, .mixed: return false
        }
    }

    // MARK: Masks

    /// 64 words for the result and 64 for intermediate ones.
    static let maskWords = 3 * 64

    /// Sets the bits of existing rows that match in the first 64 words of `mask`.
    func matches(_ head: UnsafeRawPointer, into mask: UnsafeMutablePointer<UInt64>) throws(StoreError) {
        let rows = LeafHead.rows(head)
        if let entry = LeafHead.entry(head, id: spec.id, hint: hint) {
            try find(head, entry, rows, mask)
        } else {
            // The leaf is older than the column: every row has the fill value.
            LeafMatcher.fill(
                mask, rows, try LeafMatcher.holds(complement ? .equal : comparison, spec.fill, constant, in: spec.kind))
        }
        let presence = LeafHead.presence(head)
        if presence == nil, rows == LeafHead.rowsPerLeaf {
            if complement { for word in 0..<64 { mask[word] = ~mask[word] } }
        } else {
            limit(mask, to: rows, presence)
        }
        if InjectedBug.active(.queryNullEqual), complement, !constant.isNull,
            let entry = LeafHead.entry(head, id: spec.id, hint: hint), !entry.isText
        {
            removeNulls(head, entry, rows, mask)
        }
    }

    /// To those that exist.
    private func limit(_ mask: UnsafeMutablePointer<UInt64>, to rows: Int, _ presence: UnsafePointer<UInt64>?) {
        for word in 0..<64 {
            let left = rows &- word &<< 6
            let existing: UInt64 =
                presence.map { $0[word] } ?? (left >= 64 ? ~0 : left <= 0 ? 0 : 1 &<< UInt64(left) &- 1)
            mask[word] = existing & (complement ? ~mask[word] : mask[word])
        }
    }

    private static func fill(_ mask: UnsafeMutablePointer<UInt64>, _ rows: Int, _ on: Bool) {
        mask.update(repeating: 0, count: 64)
        if on { set(mask, 0..<rows) }
    }

    private static func set(_ mask: UnsafeMutablePointer<UInt64>, _ slots: Range<Int>) {
        var slot = slots.lowerBound
        while slot < slots.upperBound {
            let bit = slot & 63, run = min(64 &- bit, slots.upperBound &- slot)
            mask[slot &>> 6] |= (run == 64 ? ~0 : 1 &<< UInt64(run) &- 1) &<< UInt64(bit)
            slot &+= run
        }
    }

    /// Rows that match `test`, complemented by the caller; rows that do not exist may be in it.
    private func find(
        _ head: UnsafeRawPointer, _ entry: LeafEntry, _ rows: Int, _ mask: UnsafeMutablePointer<UInt64>
    ) throws(StoreError) {
        switch test {
        case .nothing:
            LeafMatcher.fill(mask, rows, false)
        case .null:
            try findNulls(head, entry, rows, mask)
        case .integers(let low, let high):
            guard !entry.isText else { throw LeafReader.wrongEncoding(spec) }
            try findIntegers(head, entry, rows, low, high, mask)
            removeNulls(head, entry, rows, mask)
        case .doubles(let low, let high):
            guard entry.encoding == LeafEncoding.double.rawValue else { throw LeafReader.wrongEncoding(spec) }
            try findDoubles(head, entry, rows, low, high, mask)
            removeNulls(head, entry, rows, mask)
        case .patterns(let above, let below):
            guard !entry.isText else { throw LeafReader.wrongEncoding(spec) }
            try findIntegers(head, entry, rows, above.lowerBound, above.upperBound, mask)
            try findIntegers(head, entry, rows, below.lowerBound, below.upperBound, mask + 64)
            for word in 0..<64 { mask[word] |= mask[word &+ 64] }
            removeNulls(head, entry, rows, mask)
        case .pair:
            try findPairs(head, entry, rows, mask)
            removeNulls(head, entry, rows, mask)
        case .decimal(let key):
            try findDecimals(head, entry, rows, key, mask)
            removeNulls(head, entry, rows, mask)
        case .textEqual(let fingerprint):
            try findEqualText(head, entry, rows, fingerprint, mask)
        case .textOrder:
            try findOrderedText(head, entry, rows, mask)
        case .mixed:
            try findMixed(head, entry, rows, mask)
        }
    }

    private func removeNulls(
        _ head: UnsafeRawPointer, _ entry: LeafEntry, _ rows: Int, _ mask: UnsafeMutablePointer<UInt64>
    ) {
        guard entry.hasAux, !InjectedBug.active(.queryNullForgotten) else { return }
        let nulls = (head + Int(entry.aux)).assumingMemoryBound(to: UInt64.self)
        for word in 0..<(LeafHead.bitmapBytes(rows: rows) / 8) { mask[word] &= ~nulls[word] }
    }

    private func findNulls(
        _ head: UnsafeRawPointer, _ entry: LeafEntry, _ rows: Int, _ mask: UnsafeMutablePointer<UInt64>
    ) throws(StoreError) {
        mask.update(repeating: 0, count: 64)
        if entry.isText {
            let fingerprints = try LeafReader(source: source).fingerprints(head, entry)
            NumberKernels.mask(fingerprints, rows, width: 8, low: 0, span: 0, into: mask)
        } else if entry.hasAux {
            memcpy(mask, head + Int(entry.aux), LeafHead.bitmapBytes(rows: rows))
        }
    }

    private func findIntegers(
        _ head: UnsafeRawPointer, _ entry: LeafEntry, _ rows: Int, _ low: Int64, _ high: Int64,
        _ mask: UnsafeMutablePointer<UInt64>
    ) throws(StoreError) {
        switch cells(entry, rows, low, high) {
        case .none: LeafMatcher.fill(mask, rows, false)
        case .all: LeafMatcher.fill(mask, rows, true)
        case .slots(let slots):
            LeafMatcher.fill(mask, rows, false)
            LeafMatcher.set(mask, slots)
        case .cells(let first, let span):
            mask.update(repeating: 0, count: 64)
            try LeafReader(source: source).forEachPart(head, entry, rows) { (part, row, count) in
                NumberKernels.mask(part, count, width: entry.width, low: first, span: span, into: mask + row >> 6)
            }
        }
    }

    private func findDoubles(
        _ head: UnsafeRawPointer, _ entry: LeafEntry, _ rows: Int, _ low: Double, _ high: Double,
        _ mask: UnsafeMutablePointer<UInt64>
    ) throws(StoreError) {
        if entry.width == 0 {
            let value = Double(bitPattern: UInt64(bitPattern: entry.base))
            return LeafMatcher.fill(mask, rows, value >= low && value <= high)
        }
        mask.update(repeating: 0, count: 64)
        if excludes(entry, low, high) { return }
        try LeafReader(source: source).forEachPart(head, entry, rows) { (part, row, count) in
            NumberKernels.maskDoubles(part, count, low: low, high: high, into: mask + row >> 6)
        }
    }

    /// (first word, second word) in lexical order: the first beyond, or equal and the second as requested.
    private func findPairs(
        _ head: UnsafeRawPointer, _ entry: LeafEntry, _ rows: Int, _ mask: UnsafeMutablePointer<UInt64>
    ) throws(StoreError) {
        guard !entry.isText, let second = LeafHead.secondLine(head, id: spec.id) else {
            throw LeafReader.wrongEncoding(spec)
        }
        let equalFirst = mask + 64, inner = mask + 128
        try findIntegers(head, entry, rows, constant.low, constant.low, equalFirst)
        if let (low, high) = LeafMatcher.range(comparison, constant.high) {
            try findIntegers(head, second, rows, low, high, inner)
        } else {
            LeafMatcher.fill(inner, rows, false)
        }
        let strict: Comparison
        switch comparison {
        case .less, .lessOrEqual: strict = .less
        case .greater, .greaterOrEqual: strict = .greater
        case .equal, .notEqual: strict = .equal
        }
        if strict != .equal, let (low, high) = LeafMatcher.range(strict, constant.low) {
            try findIntegers(head, entry, rows, low, high, mask)
        } else {
            LeafMatcher.fill(mask, rows, false)
        }
        for word in 0..<64 { mask[word] |= equalFirst[word] & inner[word] }
    }

    /// Row by row: equal numbers may have unequal bits.
    private func findDecimals(
        _ head: UnsafeRawPointer, _ entry: LeafEntry, _ rows: Int, _ wanted: UInt128,
        _ mask: UnsafeMutablePointer<UInt64>
    ) throws(StoreError) {
        guard !entry.isText, let second = LeafHead.secondLine(head, id: spec.id) else {
            throw LeafReader.wrongEncoding(spec)
        }
        mask.update(repeating: 0, count: 64)
        let words = UnsafeMutablePointer<Int64>.allocate(capacity: 2 &* rows)
        defer { words.deallocate() }
        let decoder = ColumnDecoder(source, head)
        try decoder.numbers(entry, first: 0, count: rows, into: words)
        try decoder.numbers(second, first: 0, count: rows, into: words + rows)
        for row in 0..<rows {
            let value = Decimal128(low: UInt64(bitPattern: words[row]), high: UInt64(bitPattern: words[rows &+ row]))
            if value.isNaN { continue }
            let key = value.orderKey
            if (complement ? Comparison.equal : comparison).holds(key < wanted ? -1 : key == wanted ? 0 : 1) {
                mask[row &>> 6] |= 1 &<< UInt64(row & 63)
            }
        }
    }
}

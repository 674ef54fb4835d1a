internal import CSystem

/// Finds the rows of a leaf whose value in one column compares with a constant as asked.
///
/// The comparison is prepared once: integers become a range, doubles a closed range, text keeps its
/// fingerprint. `notEqual` is the complement of `equal` among the rows that exist.
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
        case timestamp
        case textEqual(fingerprint: UInt8)
        case textOrder
    }
    private let test: Test
    private let complement: Bool

    init(_ source: PageSource, _ spec: ColumnSpec, hint: Int, _ comparison: Comparison, _ constant: Value) throws(StoreError) {
        guard constant.isNull || constant.kind == spec.kind else {
            throw StoreError(.invalidArgument, "column \(spec.id) holds \(spec.kind), the constant is \(constant.kind)")
        }
        self.source = source
        self.spec = spec
        self.hint = hint
        self.comparison = comparison
        self.constant = constant
        complement = comparison == .notEqual
        test = LeafMatcher.prepare(comparison, constant)
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
        case .string, .binary:
            if comparison == .equal || comparison == .notEqual { return .textEqual(fingerprint: Fingerprint.of(constant.pointer, constant.count)) }
            return .textOrder
        case .timestamp:
            return .timestamp
        default:
            guard let (low, high) = range(comparison, constant.low) else { return .nothing }
            return .integers(low: low, high: high)
        }
    }

    private static func range(_ comparison: Comparison, _ value: Int64) -> (Int64, Int64)? {
        switch comparison {
        case .equal, .notEqual: return (value, value)
        case .less: return value == .min ? nil : (.min, value - 1)
        case .lessOrEqual: return (.min, value)
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
    private func countIntegers(_ head: UnsafeRawPointer, _ entry: LeafEntry, _ low: Int64, _ high: Int64) throws(StoreError) -> Int {
        guard !entry.isText else { throw LeafReader.wrongEncoding(spec) }
        let rows = LeafHead.rows(head)
        switch cells(entry, rows, low, high) {
        case .none: return 0
        case .all: return rows
        case .slots(let slots): return slots.count
        case .cells(let first, let span):
            let reader = LeafReader(source: source)
            if !entry.isSegmented {
                return NumberKernels.count(try reader.mainPart(head, entry, segment: 0, .numbers), rows, width: entry.width, low: first, span: span)
            }
            let shift = entry.segmentShift
            var total = 0, row = 0
            while row < rows {
                let part = try reader.mainPart(head, entry, segment: row &>> shift, .numbers)
                total &+= NumberKernels.count(part, min(1 &<< shift, rows &- row), width: entry.width, low: first, span: span)
                row &+= 1 &<< shift
            }
            return total
        }
    }

    private func countDoubles(_ head: UnsafeRawPointer, _ entry: LeafEntry, _ low: Double, _ high: Double) throws(StoreError) -> Int {
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
        Double(bitPattern: UInt64(bitPattern: entry.max)) < low || Double(bitPattern: UInt64(bitPattern: entry.base)) > high
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
        return width == 64 ? .cells(low: UInt64(bitPattern: first), span: span) : .cells(low: UInt64(bitPattern: first &- base), span: span)
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
            LeafMatcher.fill(mask, rows, LeafMatcher.evaluate(complement ? .equal : comparison, spec.fill, constant))
        }
        let presence = LeafHead.presence(head)
        for word in 0..<64 {
            let left = rows &- word &<< 6
            let existing: UInt64 = presence.map { $0[word] } ?? (left >= 64 ? ~0 : left <= 0 ? 0 : 1 &<< UInt64(left) &- 1)
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
    private func find(_ head: UnsafeRawPointer, _ entry: LeafEntry, _ rows: Int, _ mask: UnsafeMutablePointer<UInt64>) throws(StoreError) {
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
        case .timestamp:
            try findTimestamps(head, entry, rows, mask)
            removeNulls(head, entry, rows, mask)
        case .textEqual(let fingerprint):
            try findEqualText(head, entry, rows, fingerprint, mask)
        case .textOrder:
            try findOrderedText(head, entry, rows, mask)
        }
    }

    private func removeNulls(_ head: UnsafeRawPointer, _ entry: LeafEntry, _ rows: Int, _ mask: UnsafeMutablePointer<UInt64>) {
        guard entry.hasAux else { return }
        let nulls = (head + Int(entry.aux)).assumingMemoryBound(to: UInt64.self)
        for word in 0..<(LeafHead.bitmapBytes(rows: rows) / 8) { mask[word] &= ~nulls[word] }
    }

    private func findNulls(_ head: UnsafeRawPointer, _ entry: LeafEntry, _ rows: Int, _ mask: UnsafeMutablePointer<UInt64>) throws(StoreError) {
        mask.update(repeating: 0, count: 64)
        if entry.isText {
            let fingerprints = try LeafReader(source: source).fingerprints(head, entry)
            NumberKernels.mask(fingerprints, rows, width: 8, low: 0, span: 0, into: mask)
        } else if entry.hasAux {
            memcpy(mask, head + Int(entry.aux), LeafHead.bitmapBytes(rows: rows))
        }
    }

    private func findIntegers(
        _ head: UnsafeRawPointer, _ entry: LeafEntry, _ rows: Int, _ low: Int64, _ high: Int64, _ mask: UnsafeMutablePointer<UInt64>
    ) throws(StoreError) {
        switch cells(entry, rows, low, high) {
        case .none: LeafMatcher.fill(mask, rows, false)
        case .all: LeafMatcher.fill(mask, rows, true)
        case .slots(let slots):
            LeafMatcher.fill(mask, rows, false)
            LeafMatcher.set(mask, slots)
        case .cells(let first, let span):
            mask.update(repeating: 0, count: 64)
            try forEachPart(head, entry, rows) { (part, row, count) in
                NumberKernels.mask(part, count, width: entry.width, low: first, span: span, into: mask + row >> 6)
            }
        }
    }

    private func findDoubles(
        _ head: UnsafeRawPointer, _ entry: LeafEntry, _ rows: Int, _ low: Double, _ high: Double, _ mask: UnsafeMutablePointer<UInt64>
    ) throws(StoreError) {
        if entry.width == 0 {
            let value = Double(bitPattern: UInt64(bitPattern: entry.base))
            return LeafMatcher.fill(mask, rows, value >= low && value <= high)
        }
        mask.update(repeating: 0, count: 64)
        if excludes(entry, low, high) { return }
        try forEachPart(head, entry, rows) { (part, row, count) in
            NumberKernels.maskDoubles(part, count, low: low, high: high, into: mask + row >> 6)
        }
    }

    /// Calls `body` with each part, its first row (a multiple of 64) and its number of rows.
    @inline(__always)
    private func forEachPart(_ head: UnsafeRawPointer, _ entry: LeafEntry, _ rows: Int, _ body: (UnsafeRawPointer, Int, Int) -> Void) throws(StoreError) {
        let reader = LeafReader(source: source), segmentRows = entry.segmentRows
        var row = 0
        while row < rows {
            let count = min(segmentRows, rows &- row)
            body(try reader.mainPart(head, entry, segment: entry.segmentIndex(row), .numbers), row, count)
            row &+= count
        }
    }

    /// (seconds, nanoseconds) in lexical order: seconds beyond, or equal seconds and nanoseconds as asked.
    private func findTimestamps(_ head: UnsafeRawPointer, _ entry: LeafEntry, _ rows: Int, _ mask: UnsafeMutablePointer<UInt64>) throws(StoreError) {
        guard !entry.isText, let nanoseconds = LeafHead.nanoseconds(head, id: spec.id) else { throw LeafReader.wrongEncoding(spec) }
        let equalSeconds = mask + 64, inner = mask + 128
        try findIntegers(head, entry, rows, constant.low, constant.low, equalSeconds)
        if let (low, high) = LeafMatcher.range(comparison, constant.high) {
            try findIntegers(head, nanoseconds, rows, low, high, inner)
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
        for word in 0..<64 { mask[word] |= equalSeconds[word] & inner[word] }
    }

    // MARK: Text

    private func findEqualText(
        _ head: UnsafeRawPointer, _ entry: LeafEntry, _ rows: Int, _ fingerprint: UInt8, _ mask: UnsafeMutablePointer<UInt64>
    ) throws(StoreError) {
        guard entry.isText else { throw LeafReader.wrongEncoding(spec) }
        mask.update(repeating: 0, count: 64)
        let reader = LeafReader(source: source)
        let fingerprints = try reader.fingerprints(head, entry)
        var word = 0
        while word &<< 6 < rows {
            var candidates: UInt64
            if rows &- word &<< 6 >= 64 {
                let a = fingerprints.loadUnaligned(fromByteOffset: word &<< 6, as: SIMD64<UInt8>.self)
                let equal = unsafeBitCast(a .== SIMD64<UInt8>(repeating: fingerprint), to: SIMD8<UInt64>.self)
                // Most blocks of 64 rows have no candidate, and then no mask is made.
                if (equal[0] | equal[1] | equal[2] | equal[3]) | (equal[4] | equal[5] | equal[6] | equal[7]) == 0 { word &+= 1; continue }
                candidates = NumberKernels.mask8(fingerprints + word &<< 6, low: fingerprint, span: 0)
            } else {
                candidates = 0
                NumberKernels.mask(fingerprints + word &<< 6, rows &- word &<< 6, width: 8, low: UInt64(fingerprint), span: 0, into: &candidates)
            }
            while candidates != 0 {
                let bit = candidates.trailingZeroBitCount, slot = word &<< 6 &+ bit
                candidates &= candidates &- 1
                if !LeafHead.isLive(head, slot) { continue }
                let (pointer, count) = try reader.text(head, entry, slot)
                if count == constant.count, count == 0 || memcmp(pointer, constant.pointer.unsafelyUnwrapped, count) == 0 {
                    mask[word] |= 1 &<< UInt64(bit)
                }
            }
            word &+= 1
        }
    }

    private func findOrderedText(_ head: UnsafeRawPointer, _ entry: LeafEntry, _ rows: Int, _ mask: UnsafeMutablePointer<UInt64>) throws(StoreError) {
        guard entry.isText else { throw LeafReader.wrongEncoding(spec) }
        mask.update(repeating: 0, count: 64)
        let reader = LeafReader(source: source)
        let fingerprints = try reader.fingerprints(head, entry).assumingMemoryBound(to: UInt8.self)
        let segmentRows = entry.segmentRows
        // The first eight bytes decide nearly always: compared as one word.
        let wanted = LeafMatcher.prefix(constant.pointer, constant.count)
        let greaterWanted: UInt64 = comparison == .greater || comparison == .greaterOrEqual ? 1 : 0
        var first = 0
        while first < rows {
            let count = min(segmentRows, rows &- first)
            let part = try reader.textSegment(head, entry, segment: entry.segmentIndex(first), rows: count)
            let blob = part + StringSegment.blobOffset(part), hasLong = StringSegment.hasLong(part)
            let blobBytes = StringSegment.offset(part, count)
            var start = 0
            for row in 0..<count {
                let end = StringSegment.offset(part, row &+ 1), slot = first &+ row
                let begin = start
                start = end
                if fingerprints[slot] == 0 || !LeafHead.isLive(head, slot) { continue }
                var pointer = blob + begin, length = end &- begin
                if hasLong, StringSegment.isLong(part, row) {
                    (pointer, length) = try reader.longValue(pointer)
                } else if begin &+ 8 <= blobBytes {
                    var word = UInt64(bigEndian: pointer.loadUnaligned(as: UInt64.self))
                    if length < 8 { word &= length == 0 ? 0 : ~0 &<< UInt64(64 &- length &<< 3) }
                    if word != wanted {
                        let lower = UInt64(unsafeBitCast(word < wanted, to: UInt8.self))
                        mask[slot &>> 6] |= (lower ^ greaterWanted) &<< UInt64(slot & 63)
                        continue
                    }
                }
                if LeafMatcher.holds(comparison, LeafMatcher.order(pointer, length, constant.pointer, constant.count)) {
                    mask[slot &>> 6] |= 1 &<< UInt64(slot & 63)
                }
            }
            first &+= count
        }
    }

    /// The first eight bytes as a number that orders like them; missing ones are zero.
    private static func prefix(_ bytes: UnsafeRawPointer?, _ count: Int) -> UInt64 {
        var word: UInt64 = 0
        for index in 0..<8 {
            word = word << 8 | (index < count ? UInt64(bytes.unsafelyUnwrapped.load(fromByteOffset: index, as: UInt8.self)) : 0)
        }
        return word
    }

    /// Negative, zero or positive: by bytes, a prefix first.
    @inline(__always)
    static func order(_ a: UnsafeRawPointer?, _ aCount: Int, _ b: UnsafeRawPointer?, _ bCount: Int) -> Int {
        let common = min(aCount, bCount)
        if common > 0 {
            let result = memcmp(a.unsafelyUnwrapped, b.unsafelyUnwrapped, common)
            if result != 0 { return Int(result) }
        }
        return aCount &- bCount
    }

    @inline(__always)
    static func holds(_ comparison: Comparison, _ order: Int) -> Bool {
        switch comparison {
        case .equal: return order == 0
        case .notEqual: return order != 0
        case .less: return order < 0
        case .lessOrEqual: return order <= 0
        case .greater: return order > 0
        case .greaterOrEqual: return order >= 0
        }
    }

    /// One comparison of two values of the same kind (or null): the definition that every kernel follows.
    static func evaluate(_ comparison: Comparison, _ a: Value, _ b: Value) -> Bool {
        if a.isNull || b.isNull {
            switch comparison {
            case .equal: return a.isNull && b.isNull
            case .notEqual: return !(a.isNull && b.isNull)
            default: return false
            }
        }
        switch a.kind {
        case .double:
            let x = a.asDouble, y = b.asDouble
            switch comparison {
            case .equal: return x == y
            case .notEqual: return x != y
            case .less: return x < y
            case .lessOrEqual: return x <= y
            case .greater: return x > y
            case .greaterOrEqual: return x >= y
            }
        case .string, .binary: return holds(comparison, order(a.pointer, a.count, b.pointer, b.count))
        case .timestamp: return holds(comparison, a.low != b.low ? (a.low < b.low ? -1 : 1) : a.high < b.high ? -1 : a.high == b.high ? 0 : 1)
        default: return holds(comparison, a.low < b.low ? -1 : a.low == b.low ? 0 : 1)
        }
    }
}

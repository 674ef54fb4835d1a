/// An inner node of an index: children with their entry counts, and what separates them.
///
/// ```
///  word of the header   16       17    18        19          20       21          22
///                      +--------+-----+---------+-----------+--------+-----------+----------------+
///                      |encoding|level|key width|value width|low wdth|count width|null separators |
///                      +--------+-----+---------+-----------+--------+-----------+----------------+
///  numbers  32 value base | 40 key base | 48 low base (4), 0 (4) | 56 values | keys | lows | counts | refs
///  text     32 length of common prefix (2), 0 (6) | 40 offsets (2 bytes, one more than children) | counts | refs
///           | common prefix | suffixes
/// ```
/// Separator i (i > 0) is greater than every entry of child i-1 and not greater than any of child i; what is at 0 is
/// never compared. The separators before index `null separators` are null: only their key counts. Level 1 is above the
/// leaves. A root is always an inner node; an empty index is the null ref.
///
/// A text separator is cut after the first byte that differs. One that needs more than the 64 stored bytes
/// (bit 15) represents the first entry below it, which exists: removing that entry replaces the separator, so that
/// `IndexLongValues` always has it.
package enum IndexInner {
    static let numbers: UInt8 = 1
    static let text: UInt8 = 3
    static let data = 56
    static let textData = 40
    static let deepest = 24

    @inline(__always) static func encoding(_ node: UnsafeRawPointer) -> UInt8 {
        node.load(fromByteOffset: 16, as: UInt8.self)
    }
    @inline(__always) static func level(_ node: UnsafeRawPointer) -> Int {
        Int(node.load(fromByteOffset: 17, as: UInt8.self))
    }
    @inline(__always) static func keyWidth(_ node: UnsafeRawPointer) -> Int {
        Int(node.load(fromByteOffset: 18, as: UInt8.self))
    }
    @inline(__always) static func valueWidth(_ node: UnsafeRawPointer) -> Int {
        Int(node.load(fromByteOffset: 19, as: UInt8.self))
    }
    @inline(__always) static func lowWidth(_ node: UnsafeRawPointer) -> Int {
        Int(node.load(fromByteOffset: 20, as: UInt8.self))
    }
    @inline(__always) static func countWidth(_ node: UnsafeRawPointer) -> Int {
        Int(node.load(fromByteOffset: 21, as: UInt8.self))
    }
    @inline(__always) static func nullSeparators(_ node: UnsafeRawPointer) -> Int {
        Int(node.load(fromByteOffset: 22, as: UInt16.self))
    }

    static func word(
        encoding: UInt8, level: Int, keyWidth: Int, valueWidth: Int, lowWidth: Int, countWidth: Int, nullSeparators: Int
    ) -> UInt64 {
        UInt64(encoding) | UInt64(level) << 8 | UInt64(keyWidth) << 16 | UInt64(valueWidth) << 24 | UInt64(lowWidth)
            << 32
            | UInt64(countWidth) << 40 | UInt64(nullSeparators) << 48
    }

    // MARK: Children

    @inline(__always)
    static func countsOffset(_ node: UnsafeRawPointer, _ count: Int) -> Int {
        encoding(node) == text
            ? textData &+ 2 &* (count &+ 1) : data &+ count &* (valueWidth(node) &+ keyWidth(node) &+ lowWidth(node))
    }
    @inline(__always)
    static func counts(_ node: UnsafeRawPointer) -> IndexColumn {
        IndexColumn(node + countsOffset(node, NodeHeader.count(node)), width: countWidth(node), base: 0)
    }
    @inline(__always)
    package static func refOffset(_ node: UnsafeRawPointer, _ child: Int) -> Int {
        let count = NodeHeader.count(node)
        return countsOffset(node, count) &+ count &* countWidth(node) &+ child &* 8
    }
    @inline(__always)
    package static func ref(_ node: UnsafeRawPointer, _ child: Int) -> Ref {
        Ref(raw: node.loadUnaligned(fromByteOffset: refOffset(node, child), as: UInt64.self))
    }
    @inline(__always)
    static func setRef(_ node: UnsafeMutableRawPointer, _ child: Int, _ ref: Ref) {
        node.storeBytes(of: ref.raw, toByteOffset: refOffset(node, child), as: UInt64.self)
    }
    package static func childKind(_ node: UnsafeRawPointer) -> NodeKind { level(node) == 1 ? .indexLeaf : .indexInner }

    /// Entries below the node.
    static func total(_ node: UnsafeRawPointer) -> Int { entriesBefore(node, NodeHeader.count(node)) }

    /// Entries below the children before `child`.
    static func entriesBefore(_ node: UnsafeRawPointer, _ child: Int) -> Int {
        let counts = counts(node)
        var sum: UInt64 = 0
        var index = 0
        while index < child {
            sum &+= counts.offset(index)
            index &+= 1
        }
        return Int(truncatingIfNeeded: sum)
    }

    /// The child that has the entry with so many before it below the node; `rank` becomes how many of its own are.
    static func child(_ node: UnsafeRawPointer, rank: inout Int) -> Int {
        let counts = counts(node)
        var child = 0
        while child &+ 1 < NodeHeader.count(node) {
            let entries = Int(truncatingIfNeeded: counts.offset(child))
            if rank < entries { break }
            rank &-= entries
            child &+= 1
        }
        return child
    }

    // MARK: Search

    @inline(__always)
    static func values(_ node: UnsafeRawPointer) -> IndexColumn {
        IndexColumn(node + data, width: valueWidth(node), base: IndexLeaf.base(node, 32))
    }
    static func keys(_ node: UnsafeRawPointer) -> IndexColumn {
        IndexColumn(
            node + (data &+ NodeHeader.count(node) &* valueWidth(node)), width: keyWidth(node),
            base: IndexLeaf.base(node, 40))
    }
    static func lows(_ node: UnsafeRawPointer) -> IndexColumn {
        IndexColumn(
            node + (data &+ NodeHeader.count(node) &* (valueWidth(node) &+ keyWidth(node))), width: lowWidth(node),
            base: UInt64(node.load(fromByteOffset: 48, as: UInt32.self)))
    }
    static func view(_ node: UnsafeRawPointer) -> IndexText {
        let count = NodeHeader.count(node)
        let prefix = node + (textData &+ 2 &* (count &+ 1) &+ count &* (countWidth(node) &+ 8))
        let length = Int(node.load(fromByteOffset: 32, as: UInt16.self))
        return IndexText(offsets: node + textData, prefix: prefix, prefixLength: length, blob: prefix + length)
    }

    /// The last child whose separator is not greater than the target. With `byValue` keys are ignored: the
    /// last child that may hold the value.
    static func child(
        _ node: UnsafeRawPointer, _ target: IndexEntry, _ order: IndexOrder, byValue: Bool
    ) throws(StoreError) -> Int {
        let count = NodeHeader.count(node), nulls = nullSeparators(node)
        var low = 0, high = count  // the answer lies in low..<high
        if target.isNull {
            high = max(nulls, 1)
            if byValue { return high - 1 }
            if encoding(node) == text {
                let view = view(node)
                while high - low > 1 {
                    let middle = (low + high) >> 1
                    if separatorKey(view, middle) <= target.key { low = middle } else { high = middle }
                }
            } else {
                let keys = keys(node)
                while high - low > 1 {
                    let middle = (low + high) >> 1
                    if Int64(bitPattern: keys[middle]) <= target.key { low = middle } else { high = middle }
                }
            }
            return low
        }
        if nulls > 0 { low = nulls - 1 }
        if encoding(node) == text {
            if high - low <= 1 { return low }
            let view = view(node)
            let c = view.comparePrefix(target)
            if c != 0 { return c < 0 ? high - 1 : low }
            while high - low > 1 {
                let middle = (low + high) >> 1
                var c = try view.compare(middle, target, order, key: { separatorKey(view, $0) })
                if c == 0, !byValue { c = separatorKey(view, middle) <= target.key ? 0 : 1 }
                if c <= 0 { low = middle } else { high = middle }
            }
            return low
        }
        let values = values(node)
        if byValue, lowWidth(node) == 0, values.base <= target.bits {
            if target.low < node.load(fromByteOffset: 48, as: UInt32.self) {
                // The second part of every separator is greater: an equal first one does not suffice.
                return values.base < target.bits ? last(values, target.bits &- values.base &- 1, low, high) : low
            }
            return last(values, target.bits &- values.base, low, high)
        }
        let keys = keys(node), lows = lows(node)
        while high - low > 1 {
            let middle = (low + high) >> 1
            let value = values[middle]
            var passes = value < target.bits
            if value == target.bits {
                let low = UInt32(truncatingIfNeeded: lows[middle])
                passes =
                    low < target.low
                    || (low == target.low && (byValue || Int64(bitPattern: keys[middle]) <= target.key))
            }
            if passes { low = middle } else { high = middle }
        }
        return low
    }

    /// The last index in `low..<high` whose offset is not greater than `wanted`; `low` where there is none.
    /// Halving without unpredictable branches: a guess by interpolation and prefetching by it gained nothing.
    @inline(__always)
    static func last(_ column: IndexColumn, _ wanted: UInt64, _ low: Int, _ high: Int) -> Int {
        var low = low, length = high &- low
        while length > 1 {
            let half = length >> 1
            if column.offset(low &+ half) <= wanted { low = low &+ half }
            length &-= half
        }
        return low
    }

    /// The key of a text separator; `.min` where it has none.
    static func separatorKey(_ view: IndexText, _ index: Int) -> Int64 {
        let (bytes, count, word) = view.suffix(index)
        if word & IndexText.keyedBit == 0 { return .min }
        return (bytes + count + (word & IndexLeaf.longBit != 0 ? IndexLeaf.longTrailer : 0)).loadUnaligned(
            as: Int64.self)
    }

    /// Whether separator `index` can only be compared by reading a row.
    static func isLongSeparator(_ node: UnsafeRawPointer, _ index: Int) -> Bool {
        index > 0 && encoding(node) == text && view(node).word(index) & IndexLeaf.longBit != 0
    }

    // MARK: First touch

    static func isWellFormed(_ node: UnsafeRawPointer, bytes: Int) -> Bool {
        let count = NodeHeader.count(node)
        guard bytes >= textData, count > 0, (1...deepest).contains(level(node)), nullSeparators(node) <= count else {
            return false
        }
        guard keyWidth(node) <= 8, valueWidth(node) <= 8, lowWidth(node) <= 4, (1...8).contains(countWidth(node)) else {
            return false
        }
        switch encoding(node) {
        case numbers:
            guard bytes == data + count * (valueWidth(node) + keyWidth(node) + lowWidth(node) + countWidth(node) + 8)
            else { return false }
        case text:
            let start =
                textData + 2 * (count + 1) + count * (countWidth(node) + 8)
                + Int(node.load(fromByteOffset: 32, as: UInt16.self))
            guard start <= bytes, view(node).isWellFormed(count: count, bytes: bytes - start, keyed: true) else {
                return false
            }
        default: return false
        }
        var total: UInt64 = 0
        let counts = counts(node)
        for child in 0..<count {
            let ref = ref(node, child), entries = counts.offset(child)
            guard !ref.isNull, !ref.isDirty, entries > 0, entries < 1 << 48 else { return false }
            total += entries
        }
        return total < 1 << 48
    }
}

extension NodeKind {
    @inline(__always) package static var indexInner: NodeKind {
        NodeKind(8) { IndexInner.isWellFormed($0, bytes: $1) }
    }
}

internal import CSystem

/// A list or map of a nested document. An element is found without a look at the others: O(1) by index, O(log n) by
/// key.
///
/// ```
/// 0      1          2            2 + w
/// +------+----------+------------+---------------------+-------------------------------+
/// | kind | w: 1,2,4 | count (w)  | ends (items × w)    | items, one behind the other   |
/// +------+----------+------------+---------------------+-------------------------------+
/// items of a list  count nodes
/// items of a map   count × { key, as UTF-8; node }      keys ascend bytewise and differ
/// ```
/// `ends` count from the beginning of the items; w is the smallest that count and the last end fit in.
package struct MixedContainer {
    package let kind: ValueKind
    package let width: Int
    package let count: Int
    let items: Int
    private let ends: UnsafeRawPointer
    private let body: UnsafeRawPointer
    let bodyBytes: Int

    package init(_ node: MixedNode) throws(StoreError) {
        kind = try node.kind
        guard kind == .list || kind == .map else {
            throw MixedNode.damaged("\(kind.indefinite) where a list or map should be")
        }
        guard node.count >= 3 else { throw MixedNode.damaged("\(kind.indefinite) of \(node.count) bytes") }
        width = Int(node.start.load(fromByteOffset: 1, as: UInt8.self))
        guard width == 1 || width == 2 || width == 4, node.count >= 2 &+ width else {
            throw MixedNode.damaged("\(kind.indefinite) with offsets of \(width) bytes")
        }
        count = MixedContainer.load(node.start + 2, width)
        items = kind == .map ? count &* 2 : count
        let header = 2 &+ width &* (items &+ 1)
        guard header <= node.count else {
            throw MixedNode.damaged("\(kind.indefinite) of \(count) elements in \(node.count) bytes")
        }
        ends = node.start + 2 + width
        body = node.start + header
        bodyBytes = node.count &- header
        guard (items == 0 ? 0 : MixedContainer.load(ends + width &* (items &- 1), width)) == bodyBytes else {
            throw MixedNode.damaged("the elements of \(kind.indefinite) do not have \(bodyBytes) bytes")
        }
    }

    @inline(__always)
    private static func load(_ address: UnsafeRawPointer, _ width: Int) -> Int {
        switch width {
        case 1: Int(address.load(as: UInt8.self))
        case 2: Int(address.loadUnaligned(as: UInt16.self))
        default: Int(address.loadUnaligned(as: UInt32.self))
        }
    }

    /// Bytes of an offset, where the greatest number is `largest`.
    static func width(_ largest: Int) -> Int { largest < 1 << 8 ? 1 : largest < 1 << 16 ? 2 : 4 }
    var isCompact: Bool { width == MixedContainer.width(max(count, bodyBytes)) }

    /// Where an item begins, as the file says.
    @inline(__always) private func begin(_ item: Int) -> Int {
        item == 0 ? 0 : MixedContainer.load(ends + width &* (item &- 1), width)
    }

    /// The bytes of an item below `items`.
    func item(_ item: Int) throws(StoreError) -> Range<Int> {
        let begin = begin(item), end = self.begin(item &+ 1)
        guard begin <= end, end <= bodyBytes else {
            throw MixedNode.damaged("an element of \(kind.indefinite) lies outside of it")
        }
        return begin..<end
    }

    /// Item in which the value of an element below `count` lies.
    @inline(__always) func valueItem(_ index: Int) -> Int { kind == .map ? index &* 2 &+ 1 : index }

    package func node(_ index: Int) throws(StoreError) -> MixedNode {
        let range = try item(valueItem(index))
        return try MixedNode(body + range.lowerBound, range.count)
    }

    /// Of maps.
    package func key(_ index: Int) throws(StoreError) -> UnsafeRawBufferPointer {
        let range = try item(index &* 2)
        return UnsafeRawBufferPointer(start: body + range.lowerBound, count: range.count)
    }

    /// Where a key of a map is, or would be.
    package func search(_ key: UnsafeRawBufferPointer) throws(StoreError) -> (index: Int, found: Bool) {
        var low = 0, high = count
        while low < high {
            let middle = (low &+ high) &>> 1, order = MixedContainer.compare(try self.key(middle), key)
            if order == 0 { return (middle, true) }
            if order < 0 { low = middle &+ 1 } else { high = middle }
        }
        return (low, false)
    }

    package static func compare(_ a: UnsafeRawBufferPointer, _ b: UnsafeRawBufferPointer) -> Int {
        let common = min(a.count, b.count)
        let order =
            common == 0 ? 0 : Int(memcmp(a.baseAddress.unsafelyUnwrapped, b.baseAddress.unsafelyUnwrapped, common))
        return order != 0 ? order : a.count &- b.count
    }

    // MARK: Writing

    /// Appends everything before the items of a container whose items have these lengths.
    static func appendHeader(_ kind: ValueKind, count: Int, ends: [Int], to buffer: ByteBuffer) throws(StoreError) {
        let width = width(max(count, ends.last ?? 0))
        try buffer.append(kind.rawValue)
        try buffer.append(UInt8(width))
        try append(count, width, to: buffer)
        for end in ends { try append(end, width, to: buffer) }
    }

    @inline(__always)
    private static func append(_ number: Int, _ width: Int, to buffer: ByteBuffer) throws(StoreError) {
        switch width {
        case 1: try buffer.append(UInt8(truncatingIfNeeded: number))
        case 2: try buffer.append(UInt16(truncatingIfNeeded: number))
        default: try buffer.append(UInt32(truncatingIfNeeded: number))
        }
    }

    /// Some items of a container give way to others.
    struct Replacement {
        let container: MixedContainer
        /// What goes: items, and their bytes.
        let items: Range<Int>
        let bytes: Range<Int>
        /// Bytes of what comes.
        let lengths: [Int]

        init(_ container: MixedContainer, items: Range<Int>, by lengths: [Int]) throws(StoreError) {
            self.container = container
            self.items = items
            self.lengths = lengths
            if items.isEmpty {
                let place = container.begin(items.lowerBound)
                guard place <= container.bodyBytes else {
                    throw MixedNode.damaged("an element of \(container.kind.indefinite) lies outside of it")
                }
                bytes = place..<place
            } else {
                let first = try container.item(items.lowerBound), last = try container.item(items.upperBound - 1)
                guard first.lowerBound <= last.upperBound else {
                    throw MixedNode.damaged("an element of \(container.kind.indefinite) lies outside of it")
                }
                bytes = first.lowerBound..<last.upperBound
            }
        }

        private var added: Int { lengths.reduce(0, +) }
        private var newItems: Int { container.items - items.count + lengths.count }
        private var newCount: Int { container.kind == .map ? newItems / 2 : newItems }
        private var newBodyBytes: Int { container.bodyBytes - bytes.count + added }
        private var newWidth: Int { MixedContainer.width(max(newCount, newBodyBytes)) }
        /// Of the whole container.
        var newBytes: Int { 2 + newWidth * (newItems + 1) + newBodyBytes }

        /// What precedes the items that come ...
        func appendBefore(to buffer: ByteBuffer) throws(StoreError) {
            let width = newWidth, old = container
            try buffer.append(old.kind.rawValue)
            try buffer.append(UInt8(width))
            try append(newCount, width, to: buffer)
            if width == old.width {
                try buffer.append(bytes: old.ends, count: items.lowerBound * width)
            } else {
                for item in 0..<items.lowerBound { try append(old.begin(item + 1), width, to: buffer) }
            }
            var end = bytes.lowerBound
            for length in lengths {
                end += length
                try append(end, width, to: buffer)
            }
            let shift = added &- bytes.count
            for item in items.upperBound..<old.items { try append(old.begin(item &+ 1) &+ shift, width, to: buffer) }
            try buffer.append(bytes: old.body, count: bytes.lowerBound)
        }

        /// ... and behind them.
        func appendBehind(to buffer: ByteBuffer) throws(StoreError) {
            try buffer.append(bytes: container.body + bytes.upperBound, count: container.bodyBytes - bytes.upperBound)
        }
    }
}

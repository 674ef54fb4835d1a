/// A list, set or map in the row of its owner: its elements, while they are few, or the word that they lie in the
/// property's collection tree.
///
/// ```
/// (no bytes)                                        no elements
/// 0                                                 the elements lie in the tree
/// count (1 to 63) · flags · elements × { [key] [kind] content }     at most 64 bytes
/// flags: 1 = some element is null, so that each has its kind before it
/// ```
/// Contents are written as in the log (`ValueCodec`).
package enum CollectionCell {
    static let longest = 64
    /// Collections come back from the tree when they need no more than this: not with every element that goes.
    static let shortestInTree = 40
    private static let inTree: UInt8 = 0
    private static let mostElements = 63

    /// The bytes of a cell.
    typealias Bytes = UnsafeRawBufferPointer

    @inline(__always)
    static func isInTree(_ cell: Bytes) -> Bool { cell.count == 1 && cell[0] == inTree }

    /// What says that the elements lie in the tree.
    static let treeMark: Value = Value(kind: .list, pointer: treeMarkBytes, count: 1)
    private nonisolated(unsafe) static let treeMarkBytes: UnsafeRawPointer = IndexBits.nothing

    /// How many elements lie in the cell.
    static func count(_ cell: Bytes) -> Int { cell.count == 0 ? 0 : Int(cell[0]) }

    /// Calls `body` with each element in order, until it returns false; texts point into the cell.
    static func forEach(
        _ cell: Bytes, _ elements: ElementSchema, _ body: (_ key: Value, _ value: Value) throws(StoreError) -> Bool
    ) throws(StoreError) {
        if cell.count == 0 { return }
        var reader = ByteReader(cell.baseAddress!, count: cell.count)
        let count = try reader.read(UInt8.self), flags = try reader.read(UInt8.self)
        for _ in 0..<count {
            let key = elements.keyKind == .null ? Value.null : try ValueCodec.readContent(elements.keyKind, &reader)
            let value =
                flags & 1 == 0 ? try ValueCodec.readContent(elements.kind, &reader) : try ValueCodec.read(&reader)
            guard try body(key, value) else { return }
        }
        guard reader.isAtEnd else {
            throw StoreError(.corrupt, "a collection's cell has \(reader.remaining) bytes too many")
        }
    }

    /// Writes the cell of some elements; false where they are too many for one of `limit` bytes.
    static func encode(
        _ list: ArraySlice<(key: Value, value: Value)>, _ elements: ElementSchema, limit: Int, into buffer: ByteBuffer
    ) throws(StoreError) -> Bool {
        buffer.removeAll()
        if list.isEmpty { return true }
        guard list.count <= mostElements else { return false }
        let hasKinds = list.contains { $0.value.kind != elements.kind }
        try buffer.append(UInt8(list.count))
        try buffer.append(hasKinds ? UInt8(1) : 0)
        for (key, value) in list {
            // Not to copy a text of megabytes only to find that it is too long.
            guard key.count + value.count <= limit else { return false }
            if elements.keyKind != .null { try ValueCodec.appendContent(key, to: buffer) }
            if hasKinds {
                try ValueCodec.append(value, to: buffer)
            } else {
                try ValueCodec.appendContent(value, to: buffer)
            }
            if buffer.count > limit { return false }
        }
        return true
    }
}

/// The elements of one object's list, set or map, in its cell or in the tree. Valid like what it was made from.
package struct CollectionElements {
    let owner: Int64
    let cell: CollectionCell.Bytes
    let tree: CollectionReader
    /// Of the elements in the tree, where a writer remembers it.
    let known: Range<Int>?
    package let elements: ElementSchema
    /// Sets are in the order of their values, maps in that of their keys.
    package let kind: ValueKind

    /// - Parameter cell: what the owner's row has in the property.
    init(
        _ owner: Int64, _ cls: ClassSchema, _ property: Int, cell: Value, tree: CollectionReader,
        known: Range<Int>? = nil
    ) {
        self.owner = owner
        self.cell = CollectionCell.Bytes(start: cell.pointer, count: cell.count)
        self.tree = tree
        self.known = known
        elements = cls.elements(of: property)
        kind = cls.columns[property].kind
    }

    /// Positions in the tree; nil where the elements lie in the cell.
    func range() throws(StoreError) -> Range<Int>? {
        guard CollectionCell.isInTree(cell) else { return nil }
        if let known { return known }
        return try tree.range(owner)
    }

    package func count() throws(StoreError) -> Int { try range()?.count ?? CollectionCell.count(cell) }

    /// Calls `body` with `limit` elements from `start` on, until it returns false.
    package func forEach(
        from start: Int = 0, limit: Int = .max, _ body: (_ key: Value, _ value: Value) throws(StoreError) -> Bool
    ) throws(StoreError) {
        if limit == 0 { return }
        guard let range = try range() else {
            var index = 0
            return try CollectionCell.forEach(cell, elements) { (key, value) throws(StoreError) in
                defer { index += 1 }
                if index < start { return true }
                return try body(key, value) && index + 1 - start < limit
            }
        }
        if start >= range.count { return }
        try forEachLeaf(in: range.lowerBound + start..<range.lowerBound + start + min(limit, range.count - start)) {
            (leaf, rest, _) throws(StoreError) in
            for index in rest {
                let value = try tree.resolve(leaf.values.stored(index))
                guard try body(kind == .map ? leaf.keys.stored(index).value : .null, value) else { return false }
            }
            return true
        }
    }

    /// Calls `body` with each leaf, what of it is in `range`, positions in the tree, and the index in `range` where
    /// that begins, until it returns false.
    func forEachLeaf(
        in range: Range<Int>,
        _ body: (_ leaf: CollectionLeaf, _ rest: Range<Int>, _ first: Int) throws(StoreError) -> Bool
    ) throws(StoreError) {
        if range.isEmpty { return }
        var cursor = try tree.cursor(at: range.lowerBound), left = range.count
        while true {
            let rest = cursor.rest(left)
            guard try body(cursor.leaf, rest, range.count - left) else { return }
            left -= rest.count
            if left == 0 { return }
            cursor.skip(to: rest.upperBound - 1)
            guard try cursor.advance() else {
                throw CollectionReader.damaged("it ends before the elements of \(owner)")
            }
        }
    }

    /// The element at an index, which must be less than the count.
    package func element(at index: Int) throws(StoreError) -> (key: Value, value: Value) {
        if let range = try range() {
            if kind == .map { return try tree.entry(at: range.lowerBound + index) }
            return (.null, try tree.value(at: range.lowerBound + index))
        }
        var found: (key: Value, value: Value)?
        try forEach(from: index, limit: 1) { key, value in
            found = (key, value)
            return false
        }
        guard let found else { throw CollectionReader.damaged("element \(index) is missing") }
        return found
    }

    /// Where an equal value (of sets) or key (of maps) is, or would be.
    package func search(_ wanted: Value) throws(StoreError) -> (index: Int, found: Bool) {
        if CollectionCell.isInTree(cell) {
            let (position, found) = try tree.search(owner, wanted)
            let start = if let known { known.lowerBound } else { try tree.start(owner) }
            return (position - start, found)
        }
        var index = 0, found = false
        try CollectionCell.forEach(cell, elements) { (key, value) throws(StoreError) in
            let order = CollectionOrder.compare(kind == .map ? key : value, wanted)
            found = order == 0
            if order < 0 { index += 1 }
            return order < 0
        }
        return (index, found)
    }

    /// The value of a map's key; nil: it is not there. Cost: O(log n).
    func value(of key: Value) throws(StoreError) -> Value? {
        if CollectionCell.isInTree(cell) { return try tree.value(owner, of: key) }
        let (index, found) = try search(key)
        return found ? try element(at: index).value : nil
    }

    /// The first element that equals a value. Cost: O(n), of a set O(log n).
    package func firstIndex(of wanted: Value) throws(StoreError) -> Int? {
        if kind == .set {
            let (index, found) = try search(wanted)
            return found ? index : nil
        }
        var index = 0, found = false
        try forEach { (_, value) throws(StoreError) in
            found = CollectionOrder.compare(value, wanted) == 0
            if !found { index += 1 }
            return !found
        }
        return found ? index : nil
    }
}

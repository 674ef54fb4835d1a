/// The bytes of one value of a mixed property, or of one value inside a nested document: its kind, then its content.
///
/// ```
/// null                 0                    only inside a document: a property that is null has no bytes
/// bool                 1 · 0 or 1
/// int                  2 · 1, 2, 4 or 8 bytes, little-endian, sign extended; as few as do
/// float, double        3, 4 · 4 or 8 bytes
/// decimal128           5 · 16 bytes (BID, little-endian)
/// string, binary       6, 7 · the bytes
/// timestamp            8 · i64 seconds · u32 nanoseconds
/// object id, uuid      9, 10 · 12 or 16 bytes
/// link                 11 · u32 class id · u32 store tag · i64 key
/// list, map            12, 14 · `MixedContainer`
/// ```
/// Where it ends is said by whoever has it. A value has exactly one form, so that equal documents have equal bytes. The
/// store of a link is 0 inside a store: only documents on their way in say it, so that an object of another store is
/// noticed. Borrowed: valid as long as the memory it lies in, which may be a file's: nothing is believed before it was
/// checked.
package struct MixedNode {
    package let start: UnsafeRawPointer
    /// With the kind: at least 1.
    package let count: Int

    package init(_ pointer: UnsafeRawPointer?, _ count: Int) throws(StoreError) {
        guard let pointer, count > 0 else { throw MixedNode.damaged("a value without bytes") }
        start = pointer
        self.count = count
    }

    /// Of the store tag in the node of a link.
    static let storeOffset = 5

    /// How deep lists and maps may be nested.
    package static let maximumDepth = 100

    static func damaged(_ what: String) -> StoreError { StoreError(.corrupt, "a mixed value: \(what)") }

    package var kind: ValueKind {
        get throws(StoreError) {
            let byte = start.load(as: UInt8.self)
            guard let kind = ValueKind(rawValue: byte), kind.isMixable else {
                throw MixedNode.damaged("no value has the kind \(byte)")
            }
            return kind
        }
    }

    @inline(__always) private var content: UnsafeRawPointer { start + 1 }
    @inline(__always) private var contentBytes: Int { count &- 1 }

    /// The value; a list or map as a document, of which only the kind is looked at. Texts and documents point into the
    /// node.
    package func value() throws(StoreError) -> Value {
        let kind = try kind
        switch kind {
        case .null:
            try expect(contentBytes == 0)
            return .null
        case .bool:
            try expect(contentBytes == 1)
            let byte = content.load(as: UInt8.self)
            try expect(byte <= 1)
            return .bool(byte != 0)
        case .int: return .int(try int())
        case .string:
            guard UTF8Check.isValid(content, contentBytes) else {
                throw MixedNode.damaged("a text that is not valid UTF-8")
            }
            return .string(content, contentBytes)
        case .binary: return .binary(content, contentBytes)
        case .timestamp:
            try expect(contentBytes == 12)
            let nanoseconds = content.loadUnaligned(fromByteOffset: 8, as: UInt32.self)
            try expect(nanoseconds <= 999_999_999)
            return .timestamp(seconds: content.loadUnaligned(as: Int64.self), nanoseconds: Int32(nanoseconds))
        case .link:
            try expect(contentBytes == 16)
            return Value(
                kind: .link, low: content.loadUnaligned(fromByteOffset: 8, as: Int64.self),
                high: content.loadUnaligned(as: Int64.self))
        case .list, .map: return Value(kind: .document, pointer: start, count: count)
        default:
            try expect(contentBytes == ValueCell.size(kind))
            return ValueCell.load(kind, content)
        }
    }

    private func int() throws(StoreError) -> Int64 {
        let value: Int64
        switch contentBytes {
        case 1: return Int64(content.load(as: Int8.self))
        case 2: value = Int64(content.loadUnaligned(as: Int16.self))
        case 4: value = Int64(content.loadUnaligned(as: Int32.self))
        case 8: value = content.loadUnaligned(as: Int64.self)
        default: throw MixedNode.damaged("an int of \(contentBytes) bytes")
        }
        try expect(MixedNode.intBytes(value) == contentBytes)
        return value
    }

    @inline(__always)
    private func expect(_ condition: Bool) throws(StoreError) {
        if !condition { throw MixedNode.damaged("\(contentBytes) bytes that no \(try kind) has") }
    }

    private static func intBytes(_ value: Int64) -> Int {
        if Int64(Int8(truncatingIfNeeded: value)) == value { return 1 }
        if Int64(Int16(truncatingIfNeeded: value)) == value { return 2 }
        return Int64(Int32(truncatingIfNeeded: value)) == value ? 4 : 8
    }

    /// The node of a cell, which may be null.
    static func of(_ cell: Value) throws(StoreError) -> MixedNode {
        cell.isNull ? try MixedNode(nullBytes, 1) : try MixedNode(cell.pointer, cell.count)
    }
    private nonisolated(unsafe) static let nullBytes: UnsafeRawPointer = IndexBits.nothing

    // MARK: Checking

    /// Everything below the value is as it should be: sizes, order of keys, UTF-8, depth. Returns how deep it is: 0 is
    /// no list or map. Cost: O(bytes).
    @discardableResult
    package func check() throws(StoreError) -> Int { try check(left: MixedNode.maximumDepth) }

    private func check(left: Int) throws(StoreError) -> Int {
        let kind = try kind
        guard kind == .list || kind == .map else {
            _ = try value()
            return 0
        }
        if left == 0 { throw MixedNode.damaged("lists and maps are nested more than \(MixedNode.maximumDepth) deep") }
        let container = try MixedContainer(self)
        guard container.isCompact else {
            throw MixedNode.damaged(
                "\(kind.indefinite) of \(container.count) elements with offsets of \(container.width) bytes")
        }
        var deepest = 0, last: UnsafeRawBufferPointer?
        for index in 0..<container.count {
            if kind == .map {
                let key = try container.key(index)
                guard UTF8Check.isValid(key.baseAddress, key.count) else {
                    throw MixedNode.damaged("a key that is not valid UTF-8")
                }
                if let last, MixedContainer.compare(last, key) >= 0 {
                    throw MixedNode.damaged("the keys of a map are not in order")
                }
                last = key
            }
            deepest = max(deepest, try container.node(index).check(left: left - 1))
        }
        return deepest + 1
    }

    // MARK: Writing

    /// Appends the node of a value, which was checked; a document is a node already.
    static func append(_ value: Value, to buffer: ByteBuffer) throws(StoreError) {
        if value.kind == .document { return try buffer.append(bytes: value.pointer, count: value.count) }
        try buffer.append(value.kind.rawValue)
        switch value.kind {
        case .null: break
        case .bool: try buffer.append(UInt8(truncatingIfNeeded: value.low))
        case .int:
            switch intBytes(value.low) {
            case 1: try buffer.append(Int8(truncatingIfNeeded: value.low))
            case 2: try buffer.append(Int16(truncatingIfNeeded: value.low))
            case 4: try buffer.append(Int32(truncatingIfNeeded: value.low))
            default: try buffer.append(value.low)
            }
        case .string, .binary: try buffer.append(bytes: value.pointer, count: value.count)
        case .timestamp:
            try buffer.append(value.low)
            try buffer.append(UInt32(truncatingIfNeeded: value.high))
        case .link:
            try buffer.append(value.high)
            try buffer.append(value.low)
        default:
            ValueCell.store(value, try buffer.extend(by: ValueCell.size(value.kind)))
        }
    }
}

extension ValueKind {
    /// A mixed property, or a document inside one, can have a value of this kind.
    var isMixable: Bool { self == .null || isScalar || self == .link || self == .list || self == .map }
}

/// Values as log records and the schema hold them: a kind byte, then the content.
enum ValueCodec {
    static func append(_ value: Value, to buffer: ByteBuffer) throws(StoreError) {
        try buffer.append(value.kind.rawValue)
        try appendContent(value, to: buffer)
    }

    /// The value without its kind.
    static func appendContent(_ value: Value, to buffer: ByteBuffer) throws(StoreError) {
        switch value.kind {
        // Of a collection it is only said that there is one: its elements have operations of their own.
        case .null, .list, .set, .map: break
        case .bool: try buffer.append(UInt8(truncatingIfNeeded: value.low))
        case .int, .link: try buffer.appendSigned(value.low)
        case .double: try buffer.append(value.low)
        case .timestamp:
            try buffer.appendSigned(value.low)
            try buffer.appendVarint(UInt64(bitPattern: value.high))
        case .string, .binary, .mixed, .document:
            try buffer.appendVarint(UInt64(value.count))
            try buffer.append(bytes: value.pointer, count: value.count)
        case .float: try buffer.append(UInt32(truncatingIfNeeded: value.low))
        case .decimal128:
            try buffer.append(value.low)
            try buffer.append(value.high)
        case .objectID:
            try buffer.append(ValueCell.bytes(value.low))
            try buffer.append(UInt32(truncatingIfNeeded: value.high).bigEndian)
        case .uuid:
            try buffer.append(ValueCell.bytes(value.low))
            try buffer.append(ValueCell.bytes(value.high))
        }
    }

    /// The result points into the reader's bytes.
    static func read(_ reader: inout ByteReader) throws(StoreError) -> Value {
        guard let kind = ValueKind(rawValue: try reader.read()) else {
            throw StoreError(.corrupt, "unknown kind of value")
        }
        return try readContent(kind, &reader)
    }

    static func readContent(_ kind: ValueKind, _ reader: inout ByteReader) throws(StoreError) -> Value {
        switch kind {
        case .null, .list, .set, .map: return Value(kind: kind)
        case .bool: return Value(kind: .bool, low: Int64(try reader.read(UInt8.self)) & 1)
        case .int, .link: return Value(kind: kind, low: try reader.readSigned())
        case .double: return Value(kind: .double, low: try reader.read())
        case .timestamp:
            let seconds = try reader.readSigned()
            let nanoseconds = try reader.readVarint()
            guard nanoseconds < 1_000_000_000 else {
                throw StoreError(.corrupt, "nanoseconds of a timestamp out of range")
            }
            return Value(kind: .timestamp, low: seconds, high: Int64(nanoseconds))
        case .string, .binary, .mixed, .document:
            let count = try reader.readCount()
            return Value(kind: kind, pointer: try reader.readBytes(count), count: count)
        case .float, .decimal128, .objectID, .uuid:
            return ValueCell.load(kind, try reader.readBytes(ValueCell.size(kind)))
        }
    }
}

/// Values of fixed size as applications pass and get them in arrays: as the members of `objstore_value`.
///
/// ```
/// bool 1 byte · float 4 · int, double 8 · object id 12 bytes · uuid 16 bytes
/// timestamp    i64 seconds, i32 nanoseconds, u32 0
/// decimal128   u64 low, u64 high
/// ```
package enum ValueCell {
    package static func size(_ kind: ValueKind) -> Int {
        switch kind {
        case .bool: 1
        case .float: 4
        case .objectID: 12
        case .timestamp, .decimal128, .uuid: 16
        default: 8
        }
    }

    /// The value of a cell, which need not be aligned.
    @inline(__always)
    package static func load(_ kind: ValueKind, _ cell: UnsafeRawPointer) -> Value {
        switch kind {
        case .bool: return Value(kind: .bool, low: cell.load(as: UInt8.self) == 0 ? 0 : 1)
        case .float: return Value(kind: .float, low: Int64(cell.loadUnaligned(as: UInt32.self)))
        case .timestamp:
            return .timestamp(
                seconds: cell.loadUnaligned(as: Int64.self),
                nanoseconds: cell.loadUnaligned(fromByteOffset: 8, as: Int32.self))
        case .decimal128:
            return Value(
                kind: .decimal128, low: cell.loadUnaligned(as: Int64.self),
                high: cell.loadUnaligned(fromByteOffset: 8, as: Int64.self))
        case .objectID:
            return Value(
                kind: .objectID, low: ordered(cell.loadUnaligned(as: UInt64.self)),
                high: Int64(UInt32(bigEndian: cell.loadUnaligned(fromByteOffset: 8, as: UInt32.self))))
        case .uuid:
            return Value(
                kind: .uuid, low: ordered(cell.loadUnaligned(as: UInt64.self)),
                high: ordered(cell.loadUnaligned(fromByteOffset: 8, as: UInt64.self)))
        default: return Value(kind: kind, low: cell.loadUnaligned(as: Int64.self))
        }
    }

    /// Fills a cell, all `size` bytes of it. Of null, which a validity bitmap marks, zeros.
    @inline(__always)
    package static func store(_ value: Value, _ cell: UnsafeMutableRawPointer) {
        switch value.kind {
        case .bool: cell.storeBytes(of: UInt8(truncatingIfNeeded: value.low), as: UInt8.self)
        case .float: cell.storeBytes(of: UInt32(truncatingIfNeeded: value.low), as: UInt32.self)
        case .timestamp:
            cell.storeBytes(of: value.low, as: Int64.self)
            cell.storeBytes(of: value.high & 0xffff_ffff, toByteOffset: 8, as: Int64.self)
        case .decimal128:
            cell.storeBytes(of: value.low, as: Int64.self)
            cell.storeBytes(of: value.high, toByteOffset: 8, as: Int64.self)
        case .objectID:
            cell.storeBytes(of: bytes(value.low), as: UInt64.self)
            cell.storeBytes(of: UInt32(truncatingIfNeeded: value.high).bigEndian, toByteOffset: 8, as: UInt32.self)
        case .uuid:
            cell.storeBytes(of: bytes(value.low), as: UInt64.self)
            cell.storeBytes(of: bytes(value.high), toByteOffset: 8, as: UInt64.self)
        default: cell.storeBytes(of: value.low, as: Int64.self)
        }
    }

    /// Eight bytes as a number whose signed order is theirs, and back.
    @inline(__always) static func ordered(_ bytes: UInt64) -> Int64 {
        Int64(bitPattern: UInt64(bigEndian: bytes) ^ 1 << 63)
    }
    @inline(__always) static func bytes(_ ordered: Int64) -> UInt64 {
        (UInt64(bitPattern: ordered) ^ 1 << 63).bigEndian
    }
}

extension Value {
    /// The first 16 (uuid) or 12 bytes (object id) at a pointer.
    package static func uuid(_ bytes: UnsafeRawPointer) -> Value { ValueCell.load(.uuid, bytes) }
    package static func objectID(_ bytes: UnsafeRawPointer) -> Value { ValueCell.load(.objectID, bytes) }
}

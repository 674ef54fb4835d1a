/// The values of one parameter, or of the result, of up to 4,096 rows, side by side.
///
/// ```
/// bool      bytes, 0 or 1          string, binary   pointer and length: 16 bytes each
/// int       64 bits                timestamp        seconds, nanoseconds, 4 unused bytes
/// double    64 bits                float            32 bits
/// ```
package struct FunctionColumn {
    package let kind: ValueKind
    package let data: UnsafeMutableRawPointer
    /// One bit a row, the lowest of byte 0 first: 1 = there is a value. Nil: there always is.
    package let validity: UnsafeMutablePointer<UInt8>?

    package func isValid(_ row: Int) -> Bool {
        guard let validity else { return true }
        return validity[row >> 3] >> UInt8(row & 7) & 1 != 0
    }

    /// - Parameter value: of the column's kind, or null.
    func set(_ row: Int, _ value: Value) {
        switch kind {
        case .bool: data.storeBytes(of: UInt8(truncatingIfNeeded: value.low & 1), toByteOffset: row, as: UInt8.self)
        case .float:
            data.storeBytes(of: UInt32(truncatingIfNeeded: value.low), toByteOffset: row * 4, as: UInt32.self)
        case .int, .double: data.storeBytes(of: value.low, toByteOffset: row * 8, as: Int64.self)
        case .timestamp:
            data.storeBytes(of: value.low, toByteOffset: row * 16, as: Int64.self)
            data.storeBytes(of: value.high, toByteOffset: row * 16 + 8, as: Int64.self)
        default:
            let start = value.isNull ? nil : value.pointer ?? FunctionColumn.nothing
            data.storeBytes(of: start, toByteOffset: row * 16, as: UnsafeRawPointer?.self)
            data.storeBytes(of: Int64(value.count), toByteOffset: row * 16 + 8, as: Int64.self)
        }
    }

    /// What an empty text that is not null points to.
    nonisolated(unsafe) static let nothing = UnsafeRawPointer(UnsafeMutablePointer<Int64>.allocate(capacity: 1))

    /// Of a column without texts. Errors: `.outOfRange`: it is no point in time.
    func value(_ row: Int) throws(StoreError) -> Value {
        switch kind {
        case .bool: return .bool(data.load(fromByteOffset: row, as: UInt8.self) != 0)
        case .float: return Value(kind: .float, low: Int64(data.load(fromByteOffset: row * 4, as: UInt32.self)))
        case .timestamp:
            let nanoseconds = data.load(fromByteOffset: row * 16 + 8, as: Int32.self)
            guard nanoseconds >= 0, nanoseconds < 1_000_000_000 else {
                throw StoreError(.outOfRange, "\(nanoseconds) are no nanoseconds of a second")
            }
            return .timestamp(seconds: data.load(fromByteOffset: row * 16, as: Int64.self), nanoseconds: nanoseconds)
        default: return Value(kind: kind, low: data.load(fromByteOffset: row * 8, as: Int64.self))
        }
    }

    /// Of a column of arguments.
    package func argument(_ row: Int) -> Value {
        guard isValid(row) else { return .null }
        switch kind {
        case .bool: return .bool(data.load(fromByteOffset: row, as: UInt8.self) != 0)
        case .float: return Value(kind: .float, low: Int64(data.load(fromByteOffset: row * 4, as: UInt32.self)))
        case .int, .double: return Value(kind: kind, low: data.load(fromByteOffset: row * 8, as: Int64.self))
        case .timestamp:
            return Value(
                kind: kind, low: data.load(fromByteOffset: row * 16, as: Int64.self),
                high: Int64(data.load(fromByteOffset: row * 16 + 8, as: Int32.self)))
        default:
            return Value(
                kind: kind, pointer: data.load(fromByteOffset: row * 16, as: UnsafeRawPointer?.self),
                count: Int(data.load(fromByteOffset: row * 16 + 8, as: Int64.self)))
        }
    }

    /// What a function gives for a row; null only where there may be none.
    package func fill(_ row: Int, _ value: Value) {
        if value.isNull {
            validity?[row >> 3] &= ~(1 << UInt8(row & 7))
        } else {
            set(row, value)
        }
    }

    /// Bytes of the validity of so many rows.
    static func validityBytes(_ rows: Int) -> Int { (rows + 7) >> 3 }
}

/// One property value on its way in or out: plain data of 40 bytes, no reference counting.
///
/// Text and binary point to memory of the caller (on the way in) or of the page (on the way out), valid
/// as long as that is. `low` holds bool (0/1), int, double (bit pattern) and a timestamp's seconds;
/// `high` a timestamp's nanoseconds.
package struct Value: @unchecked Sendable {
    package var kind: ValueKind
    package var low: Int64
    package var high: Int64
    package var pointer: UnsafeRawPointer?
    package var count: Int

    @inline(__always)
    package init(kind: ValueKind, low: Int64 = 0, high: Int64 = 0, pointer: UnsafeRawPointer? = nil, count: Int = 0) {
        self.kind = kind; self.low = low; self.high = high; self.pointer = pointer; self.count = count
    }

    package static let null = Value(kind: .null)
    @inline(__always) package static func int(_ value: Int64) -> Value { Value(kind: .int, low: value) }
    @inline(__always) package static func bool(_ value: Bool) -> Value { Value(kind: .bool, low: value ? 1 : 0) }
    @inline(__always) package static func double(_ value: Double) -> Value { Value(kind: .double, low: Int64(bitPattern: value.bitPattern)) }
    @inline(__always) package static func timestamp(seconds: Int64, nanoseconds: Int32) -> Value {
        Value(kind: .timestamp, low: seconds, high: Int64(nanoseconds))
    }
    @inline(__always) package static func string(_ pointer: UnsafeRawPointer?, _ count: Int) -> Value { Value(kind: .string, pointer: pointer, count: count) }
    @inline(__always) package static func binary(_ pointer: UnsafeRawPointer?, _ count: Int) -> Value { Value(kind: .binary, pointer: pointer, count: count) }

    @inline(__always) package var isNull: Bool { kind == .null }
    @inline(__always) package var asDouble: Double { Double(bitPattern: UInt64(bitPattern: low)) }
}

/// The type of a value and of a property; numbers as in `objstore_value` and in the file.
package enum ValueKind: UInt8, Sendable {
    case null = 0
    case bool = 1
    case int = 2
    case float = 3
    case double = 4
    case decimal128 = 5
    case string = 6
    case binary = 7
    case timestamp = 8
    case objectID = 9
    case uuid = 10
    case link = 11
    case list = 12
    case set = 13
    case map = 14
}

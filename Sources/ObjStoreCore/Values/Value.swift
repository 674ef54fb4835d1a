/// One property value on its way in or out: plain data of 40 bytes, no reference counting.
///
/// Text and binary point to memory of the caller (on the way in) or of the page (on the way out), valid
/// as long as that is. Everything else lies in the two words:
///
/// ```
/// kind         low                                   high
/// bool, int    the number                            0
/// float        bit pattern, 32 bits                  0
/// double       bit pattern                           0
/// timestamp    seconds                               nanoseconds
/// decimal128   bits 0 to 63 of the BID encoding      bits 64 to 127
/// objectID     bytes 0 to 7 *                        bytes 8 to 11, a number of 32 bits
/// uuid         bytes 0 to 7 *                        bytes 8 to 15 *
/// link         object key                            class id, and above it the store tag: see `Value.link`
/// ```
/// (*) big-endian with the top bit inverted, so that the signed order of (low, high) is that of the bytes. The
/// kinds that need both words are `isPair`; the order of decimals is in `Decimal128`.
///
/// Public like `ValueKind` and `ObjectID`, though no product shows it: what is `package` is never inlined in other
/// modules, and the layers above make one for every value.
public struct Value: @unchecked Sendable {
    public var kind: ValueKind
    public var low: Int64
    public var high: Int64
    public var pointer: UnsafeRawPointer?
    public var count: Int

    /// The most bytes that a text, a binary or a document can have in a file.
    package static let maximumBytes = Int(UInt32.max) - 1

    @inline(__always)
    public init(kind: ValueKind, low: Int64 = 0, high: Int64 = 0, pointer: UnsafeRawPointer? = nil, count: Int = 0) {
        self.kind = kind; self.low = low; self.high = high; self.pointer = pointer; self.count = count
    }

    @inline(__always) public static var null: Value { Value(kind: .null) }
    @inline(__always) public static func int(_ value: Int64) -> Value { Value(kind: .int, low: value) }
    @inline(__always) public static func bool(_ value: Bool) -> Value { Value(kind: .bool, low: value ? 1 : 0) }
    @inline(__always) public static func double(_ value: Double) -> Value {
        Value(kind: .double, low: Int64(bitPattern: value.bitPattern))
    }
    @inline(__always) public static func float(_ value: Float) -> Value {
        Value(kind: .float, low: Int64(value.bitPattern))
    }
    @inline(__always) package static func decimal128(_ value: Decimal128) -> Value {
        Value(kind: .decimal128, low: Int64(bitPattern: value.low), high: Int64(bitPattern: value.high))
    }
    @inline(__always) public static func timestamp(seconds: Int64, nanoseconds: Int32) -> Value {
        Value(kind: .timestamp, low: seconds, high: Int64(nanoseconds))
    }
    @inline(__always) public static func string(_ pointer: UnsafeRawPointer?, _ count: Int) -> Value {
        Value(kind: .string, pointer: pointer, count: count)
    }
    @inline(__always) public static func binary(_ pointer: UnsafeRawPointer?, _ count: Int) -> Value {
        Value(kind: .binary, pointer: pointer, count: count)
    }

    @inline(__always) public var isNull: Bool { kind == .null }
    @inline(__always) public var asDouble: Double { Double(bitPattern: UInt64(bitPattern: low)) }
    @inline(__always) public var asFloat: Float { Float(bitPattern: UInt32(truncatingIfNeeded: low)) }
    @inline(__always) package var asDecimal: Decimal128 {
        Decimal128(low: UInt64(bitPattern: low), high: UInt64(bitPattern: high))
    }
}

/// The type of a value and of a property; numbers as in `objstore_value` and in the file.
public enum ValueKind: UInt8, Sendable {
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
    /// Of a property: any of the others. Of a value inside the core: its cell, `MixedCell`.
    case mixed = 15
    /// No property's: a list or map of a mixed value, as the bytes of a `MixedNode`.
    case document = 16
}

extension ValueKind: CustomStringConvertible {
    /// Its one name, in every message and every language.
    public var description: String {
        switch self {
        case .null: "null"
        case .bool: "bool"
        case .int: "int"
        case .float: "float"
        case .double: "double"
        case .decimal128: "decimal128"
        case .string: "string"
        case .binary: "binary"
        case .timestamp: "timestamp"
        case .objectID: "object id"
        case .uuid: "uuid"
        case .link: "link"
        case .list: "list"
        case .set: "set"
        case .map: "map"
        case .mixed: "mixed"
        case .document: "document"
        }
    }

    /// With its article, as far as it has one.
    package var indefinite: String {
        switch self {
        case .null, .mixed: description
        case .int, .objectID: "an \(self)"
        default: "a \(self)"
        }
    }
}

extension ValueKind {
    /// A property can be of this kind, in this version.
    package var isStorable: Bool { isScalar || self == .link || isCollection || self == .mixed }

    /// A property or an element of a collection can be of this kind, in this version.
    package var isScalar: Bool {
        switch self {
        case .bool, .int, .float, .double, .decimal128, .string, .binary, .timestamp, .objectID, .uuid: true
        case .null, .link, .list, .set, .map, .mixed, .document: false
        }
    }

    /// A property of it can be a primary key.
    package var canBeKey: Bool { self == .int || self == .string || self == .objectID || self == .uuid }
    /// A property of it can be one of several that are the primary key together.
    package var canBeKeyPart: Bool { canBeKey || self == .bool || self == .timestamp }
    /// Values of it can be made by the store: object ids and uuids; ints only as primary keys, which are counted.
    package func canBeGenerated(isPrimaryKey: Bool) -> Bool {
        self == .objectID || self == .uuid || self == .int && isPrimaryKey
    }

    @inline(__always) package var isCollection: Bool {
        rawValue >= ValueKind.list.rawValue && rawValue <= ValueKind.map.rawValue
    }

    /// What a column of it has is not the value, but says what it is.
    @inline(__always) var isIndirect: Bool { rawValue >= ValueKind.list.rawValue }

    /// Bytes of any length, in memory of their own.
    @inline(__always) package var isText: Bool { self == .string || self == .binary }
    package var isNumber: Bool { self == .int || self == .float || self == .double || self == .decimal128 }

    /// Columns of it are given as bytes and offsets.
    @inline(__always) package var hasOffsets: Bool { isText || self == .mixed }

    /// A value of it, outside of the core, is bytes.
    @inline(__always) package var hasBytes: Bool { isText || self == .document }

    /// Leaves of objects keep it as bytes: texts, and the cells of collections (`CollectionCell`) and mixed values
    /// (`MixedCell`).
    @inline(__always) var isBytes: Bool { isText || isIndirect }

    /// Its values need both words of a `Value`: leaves keep each word in a line of its own.
    @inline(__always) package var isPair: Bool {
        switch self {
        case .timestamp, .decimal128, .objectID, .uuid: true
        default: false
        }
    }

    /// Indexes compare its values as bytes: those of a text, or the 16 of `withIndexBytes`.
    @inline(__always) package var isIndexedAsBytes: Bool {
        switch self {
        case .string, .binary, .decimal128, .uuid: true
        default: false
        }
    }
}

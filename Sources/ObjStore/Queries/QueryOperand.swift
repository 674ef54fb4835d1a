internal import ObjStoreCore

/// What a property can be compared with for equality.
public protocol QueryOperand {
    /// Properties of one family can be compared with each other.
    associatedtype _QueryFamily = Self
    /// The same where it may be null: of what is optional itself.
    associatedtype _QueryNullable: QueryOperand = Self?
    var _queryValue: _QueryValue { get }
}

/// What a property can be compared with by order.
public protocol OrderedQueryOperand: QueryOperand {}

/// Numbers and points in time: of a collection of them there are a least and a greatest.
public protocol AggregatedQueryOperand: OrderedQueryOperand {}

/// Numbers, which are computed with.
public protocol NumericQueryOperand: AggregatedQueryOperand where _QueryFamily == Double {}

/// Texts and bytes, which are searched in.
public protocol TextQueryOperand: QueryOperand {}

/// A constant of a query.
public enum _QueryValue: Sendable, Equatable {
    case null
    case bool(Bool)
    case int(Int64)
    case double(Double)
    case string(String)
    case bytes([UInt8])
    case timestamp(Timestamp)
    case float(Float)
    case decimal128(Decimal128)
    case objectId(ObjectId)
    /// Bytes 0 to 7 and 8 to 15, as in a `Value`.
    case uuid(Int64, Int64)
    /// Class id, store tag and key; nil: an unmanaged object, to which nothing links.
    case link(_ObjectName?)
    /// The node of a value of any type.
    case mixed([UInt8])
    /// It cannot be a value, because …
    case refused(ObjStoreError)

    /// For messages: the value alone.
    var plainText: String {
        if case .string(let value) = self { return "\"\(value)\"" }
        return Mirror(reflecting: self).children.first.map { "\($0.value)" } ?? "\(self)"
    }

    /// Calls `body` with the value, as the core takes it; it is valid until that returns.
    func withValue<T>(_ body: (Value) -> T) throws(ObjStoreError) -> T {
        switch self {
        case .null: return body(.null)
        case .bool(let value): return body(.bool(value))
        case .int(let value): return body(.int(value))
        case .double(let value): return body(.double(value))
        case .string(var value): return value.withUTF8 { body(.string($0.baseAddress, $0.count)) }
        case .bytes(let value): return value.withUnsafeBytes { body(.binary($0.baseAddress, $0.count)) }
        case .timestamp(let value):
            return body(.timestamp(seconds: value.seconds, nanoseconds: value.nanoseconds))
        case .float(let value): return body(.float(value))
        case .decimal128(let value): return body(.decimal128(value.core))
        case .objectId(let value): return body(value.value)
        case .uuid(let low, let high): return body(Value(kind: .uuid, low: low, high: high))
        case .link(let name):
            guard let name else {
                throw ObjStoreError(.wrongView, "an unmanaged object is in no store: nothing links to it")
            }
            return body(.link(ObjectID(classID: name.classID, storeTag: name.storeTag, key: name.key)))
        case .mixed(let bytes):
            let result = bytes.withUnsafeBytes { bytes in
                Result { () throws(StoreError) in body(try MixedNode(bytes.baseAddress, bytes.count).value()) }
            }
            return try core { () throws(StoreError) in try result.get() }
        case .refused(let reason): throw reason
        }
    }
}

/// Which object a link is compared with.
public struct _ObjectName: Sendable, Equatable {
    let classID: UInt32
    let storeTag: UInt32
    let key: Int64

    init(_ id: ObjectID) { (classID, storeTag, key) = (id.classID, id.storeTag, id.key) }
}

extension Persistable {
    /// A value that an index has, converted as in a dictionary for `create`; nil: it is none of this type.
    static func constant(_ value: Any) -> _QueryValue? { (_convert(value) as? any QueryOperand)?._queryValue }
}

// MARK: Types

extension FixedWidthInteger where Self: _PersistableInteger {
    public var _queryValue: _QueryValue { .int(Int64(self)) }
}
extension Int: NumericQueryOperand { public typealias _QueryFamily = Double }
extension Int64: NumericQueryOperand { public typealias _QueryFamily = Double }
extension Int32: NumericQueryOperand { public typealias _QueryFamily = Double }
extension Int16: NumericQueryOperand { public typealias _QueryFamily = Double }
extension Int8: NumericQueryOperand { public typealias _QueryFamily = Double }
extension Double: NumericQueryOperand { public var _queryValue: _QueryValue { .double(self) } }
extension Float: NumericQueryOperand {
    public typealias _QueryFamily = Double
    public var _queryValue: _QueryValue { .float(self) }
}
extension Decimal128: NumericQueryOperand {
    public typealias _QueryFamily = Double
    public var _queryValue: _QueryValue { .decimal128(self) }
}
extension Bool: OrderedQueryOperand { public var _queryValue: _QueryValue { .bool(self) } }
extension Timestamp: AggregatedQueryOperand { public var _queryValue: _QueryValue { .timestamp(self) } }
extension ObjectId: OrderedQueryOperand { public var _queryValue: _QueryValue { .objectId(self) } }
extension String: OrderedQueryOperand, TextQueryOperand { public var _queryValue: _QueryValue { .string(self) } }
extension Array: QueryOperand, TextQueryOperand where Element == UInt8 {
    public var _queryValue: _QueryValue { .bytes(self) }
}

extension Object: QueryOperand {
    public typealias _QueryFamily = Object
    public typealias _QueryNullable = Object?
    public var _queryValue: _QueryValue {
        guard let binding = _binding?.takeUnretainedValue() else { return .link(nil) }
        return .link(_ObjectName(binding.id(_key)))
    }
}

extension Optional: QueryOperand where Wrapped: QueryOperand {
    public typealias _QueryFamily = Wrapped._QueryFamily
    public typealias _QueryNullable = Wrapped?
    public var _queryValue: _QueryValue { self?._queryValue ?? .null }
}
extension Optional: OrderedQueryOperand where Wrapped: OrderedQueryOperand {}
extension Optional: AggregatedQueryOperand where Wrapped: AggregatedQueryOperand {}
extension Optional: NumericQueryOperand where Wrapped: NumericQueryOperand {}
extension Optional: TextQueryOperand where Wrapped: TextQueryOperand {}

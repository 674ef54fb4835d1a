internal import ObjStoreCore

/// An object, or a property of one, in the closure of `where`: `{ $0.age < 2 }`.
///
/// This version knows one comparison of a property with a value. Null equals null and nothing else; text compares by
/// code point; NaN equals nothing.
@dynamicMemberLookup
public struct Query<Value>: Sendable {
    let node: QueryNode

    init(_ node: QueryNode) { self.node = node }
}

// By its protocol: the compiler takes structs for classes when a superclass is required.
extension Query where Value: _ObservableObject {
    public subscript<Property: Persistable>(dynamicMember keyPath: KeyPath<Value, Property>) -> Query<Property> {
        Query<Property>(QueryNode { () throws(ObjStoreError) in .property(try KeyPaths.property(keyPath).index) })
    }
}

enum QueryNode: Sendable {
    case object
    case property(UInt32)
    case comparison(ComparisonNode)
    case failed(ObjStoreError)

    init(_ body: () throws(ObjStoreError) -> QueryNode) {
        do throws(ObjStoreError) { self = try body() } catch { self = .failed(error) }
    }

    func compared(_ comparison: Comparison, _ value: _QueryValue, isInside: Bool = false) -> QueryNode {
        switch self {
        case .property(let index):
            .comparison(ComparisonNode(index: index, comparison: comparison, value: value, isInside: isInside))
        case .failed: self
        case .object, .comparison:
            .failed(ObjStoreError(.notSupported, "only a property can be compared with a value in this version"))
        }
    }
}

/// `property op value`.
struct ComparisonNode: Sendable {
    let index: UInt32
    let comparison: Comparison
    let value: _QueryValue
    /// Objects that have the link `value` anywhere inside.
    var isInside = false
}

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

    func withValue<T>(_ body: (Value) throws(StoreError) -> T) throws(ObjStoreError) -> T {
        let encoder = _RowEncoder()
        switch self {
        case .mixed(let bytes):
            return try core { () throws(StoreError) in
                var result: Result<T, StoreError>!
                bytes.withUnsafeBytes { bytes in
                    result = Result { () throws(StoreError) in
                        try body(MixedNode(bytes.baseAddress, bytes.count).value())
                    }
                }
                return try result.get()
            }
        case .refused(let reason): throw reason
        case .null: encoder.append(.null)
        case .bool(let value): Bool._encode(value, encoder)
        case .int(let value): Int64._encode(value, encoder)
        case .double(let value): Double._encode(value, encoder)
        case .string(let value): String._encode(value, encoder)
        case .bytes(let value): [UInt8]._encode(value, encoder)
        case .timestamp(let value): Timestamp._encode(value, encoder)
        case .float(let value): Float._encode(value, encoder)
        case .decimal128(let value): Decimal128._encode(value, encoder)
        case .objectId(let value): ObjectId._encode(value, encoder)
        case .uuid(let low, let high): encoder.append(Value(kind: .uuid, low: low, high: high))
        case .link(let name):
            guard let name else {
                throw ObjStoreError(.wrongView, "an unmanaged object is in no store: nothing links to it")
            }
            encoder.append(.link(ObjectID(classID: name.classID, storeTag: name.storeTag, key: name.key)))
        }
        return try encoder.withValue(body)
    }
}

/// Which object a link is compared with.
public struct _ObjectName: Sendable, Equatable {
    let classID: UInt32
    let storeTag: UInt32
    let key: Int64
}

extension Object: QueryOperand {
    public var _queryValue: _QueryValue {
        guard let binding = _binding?.takeUnretainedValue() else { return .link(nil) }
        let id = binding.id(_key)
        return .link(_ObjectName(classID: id.classID, storeTag: id.storeTag, key: id.key))
    }
}

extension Persistable {
    /// A constant of `filter`, converted as in a dictionary for `create`; nil: it is none of this type.
    static func constant(_ value: Any) -> _QueryValue? { (_convert(value) as? any QueryOperand)?._queryValue }
}

/// What a property can be compared with for equality.
public protocol QueryOperand {
    var _queryValue: _QueryValue { get }
}

/// What a property can be compared with by order.
public protocol OrderedQueryOperand: QueryOperand {}

extension FixedWidthInteger where Self: _PersistableInteger {
    public var _queryValue: _QueryValue { .int(Int64(self)) }
}
extension Int: OrderedQueryOperand {}
extension Int64: OrderedQueryOperand {}
extension Int32: OrderedQueryOperand {}
extension Int16: OrderedQueryOperand {}
extension Int8: OrderedQueryOperand {}
extension Float: OrderedQueryOperand { public var _queryValue: _QueryValue { .float(self) } }
extension Decimal128: OrderedQueryOperand { public var _queryValue: _QueryValue { .decimal128(self) } }
extension ObjectId: OrderedQueryOperand { public var _queryValue: _QueryValue { .objectId(self) } }
extension Double: OrderedQueryOperand { public var _queryValue: _QueryValue { .double(self) } }
extension String: OrderedQueryOperand { public var _queryValue: _QueryValue { .string(self) } }
extension Timestamp: OrderedQueryOperand { public var _queryValue: _QueryValue { .timestamp(self) } }
extension Bool: OrderedQueryOperand { public var _queryValue: _QueryValue { .bool(self) } }
extension Array: QueryOperand where Element == UInt8 { public var _queryValue: _QueryValue { .bytes(self) } }
extension Optional: QueryOperand where Wrapped: QueryOperand {
    public var _queryValue: _QueryValue { self?._queryValue ?? .null }
}
extension Optional: OrderedQueryOperand where Wrapped: OrderedQueryOperand {}

extension Query where Value: QueryOperand {
    public static func == (left: Query, right: Value) -> Query<Bool> {
        .init(left.node.compared(.equal, right._queryValue))
    }
    public static func != (left: Query, right: Value) -> Query<Bool> {
        .init(left.node.compared(.notEqual, right._queryValue))
    }
}

extension Query {
    /// Objects that have a link to the object, as the value, as an element, or anywhere inside of a value of any type:
    /// the inverse of a property that declares none, `store.objects(Shelter.self).where { $0.dogs.links(to: rex) }`. A
    /// property without links: `.wrongType`.
    public func links(to object: Object) -> Query<Bool> {
        .init(node.compared(.equal, object._queryValue, isInside: true))
    }
}

extension Query where Value: OrderedQueryOperand {
    public static func < (left: Query, right: Value) -> Query<Bool> {
        .init(left.node.compared(.less, right._queryValue))
    }
    public static func <= (left: Query, right: Value) -> Query<Bool> {
        .init(left.node.compared(.lessOrEqual, right._queryValue))
    }
    public static func > (left: Query, right: Value) -> Query<Bool> {
        .init(left.node.compared(.greater, right._queryValue))
    }
    public static func >= (left: Query, right: Value) -> Query<Bool> {
        .init(left.node.compared(.greaterOrEqual, right._queryValue))
    }
}

// What other query languages have, said in words instead of "binary operator cannot be applied".
extension Query<Bool> {
    @available(
        *, unavailable,
        message: """
            this version knows one comparison in a where: filter the rest in Swift, or use an index of several \
            properties
            """
    )
    public static func && (left: Query, right: @autoclosure () throws -> Query) rethrows -> Query { left }
    @available(*, unavailable, message: "this version knows one comparison in a where: filter the rest in Swift")
    public static func || (left: Query, right: @autoclosure () throws -> Query) rethrows -> Query { left }
    @available(*, unavailable, message: "this version does not negate: compare with != or with false")
    public static prefix func ! (query: Query) -> Query { query }
}

// Where the value is an object, its own properties may have these names: so these are of the types that are none.
public protocol _CountedInQueries {}
extension String: _CountedInQueries {}
extension List: _CountedInQueries {}
extension MutableSet: _CountedInQueries {}
extension Map: _CountedInQueries {}
extension LinkingObjects: _CountedInQueries {}
extension Array: _CountedInQueries where Element == UInt8 {}
extension Optional: _CountedInQueries where Wrapped: _CountedInQueries {}

extension Query where Value: _CountedInQueries {
    @available(*, unavailable, message: "this version compares values, not how many there are: filter in Swift")
    public var count: Query<Int> { .init(node) }
    @available(
        *, unavailable,
        message: "this version compares values, not how many there are: compare a text with \"\", or filter in Swift"
    )
    public var isEmpty: Query<Bool> { .init(node) }
    @available(
        *, unavailable,
        message:
            "this version does not search in texts and collections: filter in Swift, or ask links(to:) for an object"
    )
    public func contains(_ other: some Any) -> Query<Bool> { .init(node) }
    @available(
        *, unavailable, message: "this version does not search in texts: compare with >= and <, or filter in Swift"
    )
    public func hasPrefix(_ prefix: String) -> Query<Bool> { .init(node) }
    @available(*, unavailable, message: "this version does not search in texts: filter in Swift")
    public func hasSuffix(_ suffix: String) -> Query<Bool> { .init(node) }
    @available(
        *, unavailable, message: "this version does not search in texts: compare with >= and <, or filter in Swift"
    )
    public func starts(with prefix: String) -> Query<Bool> { .init(node) }
    @available(*, unavailable, message: "this version does not search in texts: filter in Swift")
    public func like(_ pattern: String) -> Query<Bool> { .init(node) }
}

extension Query {
    @available(*, unavailable, message: "this version does not ask about single elements: filter in Swift")
    public subscript<Key, Element: CollectionElement>(_ key: Key) -> Query<Element> where Value == Map<Key, Element> {
        .init(node)
    }
    @available(
        *, unavailable,
        message: """
            this version does not follow links in a where: filter in Swift, or ask for the object first and compare \
            with it
            """
    )
    public subscript<Linked: Object, Property>(dynamicMember keyPath: KeyPath<Linked, Property>) -> Query<Property>
    where Value == Linked? { .init(node) }
    @available(
        *, unavailable,
        message: "this version does not ask about elements in a where: filter in Swift, or use links(to:)"
    )
    public subscript<Linked: Object, Property>(dynamicMember keyPath: KeyPath<Linked, Property>) -> Query<Property>
    where Value == List<Linked> { .init(node) }
    @available(
        *, unavailable,
        message: "this version does not ask about elements in a where: filter in Swift, or use links(to:)"
    )
    public subscript<Linked: Object, Property>(dynamicMember keyPath: KeyPath<Linked, Property>) -> Query<Property>
    where Value == MutableSet<Linked> { .init(node) }
    @available(*, unavailable, message: "this version does not ask about elements in a where: filter in Swift")
    public subscript<Linked: Object, Property>(dynamicMember keyPath: KeyPath<Linked, Property>) -> Query<Property>
    where Value == LinkingObjects<Linked> { .init(node) }
}

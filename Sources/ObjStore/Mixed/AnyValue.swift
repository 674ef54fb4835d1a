internal import ObjStoreCore

#if canImport(FoundationEssentials)
public import FoundationEssentials
#elseif canImport(Foundation)
public import Foundation
#endif

/// A value of any type: `@Persisted var extra: AnyValue`.
///
/// ```swift
/// dog.extra = ["name": "Rex", "seen": [1, 2.5, .none]]
/// if case .dictionary(let map) = dog.extra, case .string(let name)? = map["name"] { … }
/// dog.extra["seen"]?[0] = 7                        // writes that element alone
/// ```
/// What is stored comes back as the case that was set: an `.int` is never a `.double`, a `.bool` never a number. Lists
/// and dictionaries hold values of any type again, 100 deep at most; those of a managed object show what the object has
/// and write to it (``AnyList``, ``AnyMap``). `.none` is null.
///
/// An `.object` is a link to an object of any class but embedded ones, at any depth: `dog.companion = .object(spot)`.
/// It becomes `.none` when the object is deleted. An unmanaged object is added with the value, with all that it leads
/// to.
public enum AnyValue {
    case none
    case bool(Bool)
    case int(Int)
    case float(Float)
    case double(Double)
    case decimal128(Decimal128)
    case string(String)
    case data([UInt8])
    case date(Timestamp)
    case objectId(ObjectId)
    case uuid(UUID)
    case list(AnyList)
    case dictionary(AnyMap)
    case object(Object)

    /// An element of a list; nil: it is none, or has no such element. Setting replaces one that is there, nil removes
    /// it.
    ///
    /// Where it is no list, setting reports `.wrongType`: other code may have changed what a property has.
    public subscript(index: Int) -> AnyValue? {
        get {
            guard let list, list.indices.contains(index) else { return nil }
            return list[index]
        }
        nonmutating set {
            guard let list else {
                return ErrorReports.reportOfNoStore(
                    ObjStoreError(.wrongType, "an element is set of \(kindName), which is no list"))
            }
            if let newValue { list[index] = newValue } else { list.remove(at: index) }
        }
    }

    /// The value of a key of a dictionary; nil: it is none, or does not have the key. Setting adds or replaces, nil
    /// removes.
    ///
    /// Where it is no dictionary, setting reports `.wrongType`: other code may have changed what a property has.
    public subscript(key: String) -> AnyValue? {
        get { dictionary?[key] }
        nonmutating set {
            guard let dictionary else {
                return ErrorReports.reportOfNoStore(
                    ObjStoreError(.wrongType, "the key \"\(key)\" is set of \(kindName), which is no dictionary"))
            }
            dictionary[key] = newValue
        }
    }

    /// For messages.
    private var kindName: String {
        switch self {
        case .none: "nothing"
        case .bool: "a bool"
        case .int: "an int"
        case .float: "a float"
        case .double: "a double"
        case .decimal128: "a decimal"
        case .string: "a text"
        case .data: "data"
        case .date: "a date"
        case .objectId: "an object id"
        case .uuid: "a uuid"
        case .list: "a list"
        case .dictionary: "a dictionary"
        case .object: "an object"
        }
    }

    public var isNone: Bool { if case .none = self { true } else { false } }
    public var bool: Bool? { if case .bool(let value) = self { value } else { nil } }
    public var int: Int? { if case .int(let value) = self { value } else { nil } }
    public var float: Float? { if case .float(let value) = self { value } else { nil } }
    public var double: Double? { if case .double(let value) = self { value } else { nil } }
    public var decimal128: Decimal128? { if case .decimal128(let value) = self { value } else { nil } }
    public var string: String? { if case .string(let value) = self { value } else { nil } }
    public var data: [UInt8]? { if case .data(let value) = self { value } else { nil } }
    public var date: Timestamp? { if case .date(let value) = self { value } else { nil } }
    public var objectId: ObjectId? { if case .objectId(let value) = self { value } else { nil } }
    public var uuid: UUID? { if case .uuid(let value) = self { value } else { nil } }
    public var list: AnyList? { if case .list(let value) = self { value } else { nil } }
    public var dictionary: AnyMap? { if case .dictionary(let value) = self { value } else { nil } }
}

/// In a query numbers of all types are compared exactly, so that `.int(1)` equals `.double(1)`, and strings and data by
/// their bytes; `<` and the like are false between others of different types. ``AnyValue/none`` equals only itself.
extension AnyValue: AggregatedQueryOperand, TextQueryOperand {
    public typealias _QueryNullable = AnyValue
    public var _queryValue: _QueryValue {
        if case .none = self { return .null }
        if case .object(let object) = self, !(object is EmbeddedObject) { return object._queryValue }
        let builder = DocumentBuilder()
        do throws(StoreError) { try append(to: builder, _RowEncoder()) } catch { return .refused(ObjStoreError(error)) }
        return .mixed(Array(builder.node))
    }
}

extension AnyValue: ExpressibleByBooleanLiteral, ExpressibleByIntegerLiteral, ExpressibleByFloatLiteral,
    ExpressibleByStringLiteral,
    ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
    public init(booleanLiteral value: Bool) { self = .bool(value) }
    public init(integerLiteral value: Int) { self = .int(value) }
    public init(floatLiteral value: Double) { self = .double(value) }
    public init(stringLiteral value: String) { self = .string(value) }
    public init(arrayLiteral elements: AnyValue...) { self = .list(AnyList(elements)) }
    public init(dictionaryLiteral elements: (String, AnyValue)...) { self = .dictionary(AnyMap(entries: elements)) }
}

extension AnyValue: CustomStringConvertible {
    public var description: String { describe(0) }

    /// What no store takes is not written out: a text of it might use up the stack.
    func describe(_ level: Int) -> String {
        switch self {
        case .none: "none"
        case .bool(let value): "\(value)"
        case .int(let value): "\(value)"
        case .float(let value): "\(value)"
        case .double(let value): "\(value)"
        case .decimal128(let value): "\(value)"
        case .string(let value): "\"\(value)\""
        case .data(let value): "\(value.count) bytes"
        case .date(let value): "\(value)"
        case .objectId(let value): "\(value)"
        case .uuid(let value): "\(value)"
        case .list(let value): level > AnyValue.deepest ? "…" : value.describe(level)
        case .dictionary(let value): level > AnyValue.deepest ? "…" : value.describe(level)
        case .object(let value): value.name
        }
    }
}

extension AnyValue: Persistable {
    public static var _initial: AnyValue { AnyValue.none }
    public static var _type: _PropertyType { _PropertyType(.mixed) }
    public static func _write(_ storage: inout AnyValue, _ value: AnyValue) { storage = value.detached() }
    public static func _get(_ object: Object, _ index: UInt32) -> AnyValue {
        AnyPlace(CollectionPlace(object: object, index: index)).value() ?? AnyValue.none
    }
    public static func _set(_ object: Object, _ index: UInt32, _ value: AnyValue) {
        AnyPlace(CollectionPlace(object: object, index: index)).change(.set, to: value)
    }
    public static func _encode(_ value: AnyValue, _ encoder: _RowEncoder) {
        do throws(StoreError) { try value.encode(to: encoder) } catch { encoder.refuse(ObjStoreError(error)) }
    }

    public static func _takeReferences(_ object: Object, _ offset: Int, _ references: _References) {
        guard let reference = wrapper(object, offset).pointee.value.reference else { return }
        references.add(reference)
        wrapper(object, offset).pointee.value = .none
    }

    /// A value of one of the types that a case has, an integer of any width that fits in 64 bits, nil, an array or a
    /// dictionary with texts as keys of such; an object; or an `AnyValue`.
    public static func _convert(_ value: Any?) -> AnyValue? { converted(value, AnyValue.deepest) }

    /// What is nested deeper is refused when it is stored; here it must not use up the stack.
    private static let deepest = ClassInfo.deepest

    /// Why an array or a dictionary is not converted.
    static func isTooDeep(_ value: Any, _ left: Int = deepest) -> Bool {
        switch ClassInfo.unwrap(value) {
        case _ where left <= 0: true
        case let value as any GivenArray: value.givenElements.contains { isTooDeep($0, left - 1) }
        case let value as any GivenDictionary: value.givenEntries.contains { isTooDeep($0.value, left - 1) }
        default: false
        }
    }

    private static func converted(_ value: Any?, _ left: Int) -> AnyValue? {
        let given = value.flatMap { ClassInfo.unwrap($0) }
        guard left > 0 else { return nil }
        return switch given {
        case nil: AnyValue.none
        case let value as AnyValue: value
        case let value as Bool: .bool(value)
        case let value as Int: .int(value)
        case let value as any FixedWidthInteger: Int(exactly: value).map { .int($0) }
        case let value as GivenNumber: value.converted(to: .mixed) { AnyValue(scalar: $0) }
        case let value as Float: .float(value)
        case let value as Double: .double(value)
        case let value as Decimal128: .decimal128(value)
        case let value as String: .string(value)
        case let value as Substring: .string(String(value))
        // An empty array can be cast to one of any type.
        case let value as any GivenArray where type(of: value) == [UInt8].self: (value as? [UInt8]).map { .data($0) }
        case let value as any GivenArray: converted(elements: value.givenElements, left).map { .list(AnyList($0)) }
        case let value as any GivenDictionary: converted(value, left).map { .dictionary(AnyMap(entries: $0)) }
        case let value as Data: .data([UInt8](value))
        case let value as Timestamp: .date(value)
        case let value as Date: value.refusal == nil ? .date(Timestamp(value)) : nil
        case let value as ObjectId: .objectId(value)
        case let value as UUID: .uuid(value)
        case let value?: converted(instance: value)
        }
    }

    private static func converted(instance value: Any) -> AnyValue? {
        guard type(of: value) is AnyClass else { return nil }
        return switch value {
        case let value as AnyList: .list(value)
        case let value as AnyMap: .dictionary(value)
        case let value as Object: .object(value)
        default: nil
        }
    }

    private static func converted(elements: [Any], _ left: Int) -> [AnyValue]? {
        var result: [AnyValue] = []
        for value in elements {
            guard let element = converted(value, left - 1) else { return nil }
            result.append(element)
        }
        return result
    }

    private static func converted(_ dictionary: any GivenDictionary, _ left: Int) -> [(String, AnyValue)]? {
        var result: [(String, AnyValue)] = []
        guard let names = dictionary.givenNames else { return nil }
        for (name, value) in names {
            guard let element = converted(value, left - 1) else { return nil }
            result.append((name, element))
        }
        return result
    }
}

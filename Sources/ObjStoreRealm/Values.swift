public import ObjStore

// Values under Realm's names.

extension AnyValue {
    public var boolValue: Bool? { bool }
    public var intValue: Int? { int }
    public var floatValue: Float? { float }
    public var doubleValue: Double? { double }
    public var decimal128Value: Decimal128? { decimal128 }
    public var stringValue: String? { string }
    public var objectIdValue: ObjectId? { objectId }
    public var uuidValue: UUID? { uuid }
    public var dateValue: Date? { date.map { Date($0) } }
    public var dataValue: Data? { data.map { Data($0) } }
    public var listValue: AnyList? { list }
    public var dictionaryValue: AnyMap? { dictionary }

    public static func date(_ date: Date) -> AnyValue { .date(Timestamp(date)) }
    public static func data(_ data: Data) -> AnyValue { .data([UInt8](data)) }
    public static func fromArray(_ elements: [AnyValue]) -> AnyValue { .list(AnyList(elements)) }
    public static func fromDictionary(_ entries: [String: AnyValue]) -> AnyValue { .dictionary(AnyMap(entries)) }
    /// The object, where it is one of that class.
    public func object<T: Object>(_ type: T.Type) -> T? {
        if case .object(let object) = self { object as? T } else { nil }
    }
}

extension ObjectId {
    /// From 24 hexadecimal digits.
    public init(string: String) throws(ObjStoreError) {
        guard let id = ObjectId(string) else {
            throw ObjStoreError(.invalidArgument, "\"\(string)\" is no object id: 24 hexadecimal digits are")
        }
        self = id
    }
    public var stringValue: String { description }
}

extension Object {
    /// The name of the class.
    public static func className() -> String { "\(Self.self)" }
}

internal import ObjStoreCore

/// The classes that a store has, whether they are among the models or not: `store.schema`.
public struct Schema: Sendable, Hashable {
    /// In the order in which the file got them.
    public let objectSchema: [ObjectSchema]

    /// The class of that name; nil: the store has none.
    public subscript(className: String) -> ObjectSchema? { objectSchema.first { $0.className == className } }
}

/// A class of a store.
public struct ObjectSchema: Sendable, Hashable {
    public let className: String
    /// In the order of the file: that in which the class was declared first, then what was added later.
    public let properties: [Property]
    /// Of several properties, one of them alone the primary key included.
    public let indexes: [Index]
    public let isEmbedded: Bool

    /// The property that is the primary key alone; nil: there is none, or it is of several (``indexes``).
    public var primaryKeyProperty: Property? { properties.first(where: \.isPrimaryKey) }

    /// The property of that name; nil: the class has none.
    public subscript(name: String) -> Property? { properties.first { $0.name == name } }

    /// A property of a class.
    public struct Property: Sendable, Hashable {
        public let name: String
        /// Of the value, or of the elements of a collection.
        public let type: PropertyType
        /// Nil: it is a single value.
        public let collection: CollectionType?
        /// Of a map.
        public let keyType: PropertyType?
        /// Of links and embedded objects, and collections of them.
        public let objectClassName: String?
        /// It, or elements of it, may be nil.
        public let isOptional: Bool
        public let isPrimaryKey: Bool
        public let isIndexed: Bool
        public let isUnique: Bool
        public let isGenerated: Bool
        public let isCounter: Bool
        /// Words are searched for in it.
        public let isFullText: Bool
        /// Deleting its object deletes what it leads to.
        public let isCascading: Bool
        /// What an object gets that is made without a value; nil: there is none.
        public var defaultValue: AnyValue? { hasDefault ? AnyValue._convert(defaultStorage.value) : nil }

        let hasDefault: Bool
        private let defaultStorage: Default

        /// Values of all types are equal by what they are.
        private struct Default: @unchecked Sendable, Hashable {
            // Never changes, and has no objects.
            let value: AnyValue
            static func == (left: Default, right: Default) -> Bool { left.value == right.value }
            func hash(into hasher: inout Hasher) { hasher.combine(value.description) }
        }

        init(_ info: PropertyInfo, target: String?) {
            name = info.name
            type = PropertyType(info.elements?.kind ?? info.kind)
            collection = CollectionType(info.kind)
            keyType = info.kind == .map ? PropertyType(info.elements?.keyKind ?? .null) : nil
            objectClassName = target
            isOptional = info.flags.contains(.nullable)
            isPrimaryKey = info.flags.contains(.primaryKey)
            isIndexed = info.flags.contains(.indexed)
            isUnique = info.flags.contains(.unique)
            isGenerated = info.flags.contains(.generated)
            isCounter = info.flags.contains(.counter)
            isFullText = info.flags.contains(.fullText)
            isCascading = info.flags.contains(.cascade)
            hasDefault = info.flags.contains(.hasDefault)
            defaultStorage = Default(value: (try? AnyValue(copying: info.defaultValue, nil)) ?? AnyValue.none)
        }
    }
}

/// What a property, or an element of one, can be.
public enum PropertyType: Sendable, Hashable {
    case bool, int, float, double, decimal128, string, data, date, objectId, uuid
    /// A value of any type.
    case any
    /// An object, as a link or embedded.
    case object

    init(_ kind: ValueKind) {
        switch kind {
        case .bool: self = .bool
        case .int: self = .int
        case .float: self = .float
        case .double: self = .double
        case .decimal128: self = .decimal128
        case .string: self = .string
        case .binary: self = .data
        case .timestamp: self = .date
        case .objectID: self = .objectId
        case .uuid: self = .uuid
        case .link: self = .object
        default: self = .any
        }
    }
}

/// What holds several values.
public enum CollectionType: Sendable, Hashable {
    case list, set, map

    init?(_ kind: ValueKind) {
        switch kind {
        case .list: self = .list
        case .set: self = .set
        case .map: self = .map
        default: return nil
        }
    }
}

extension StoreReading {
    /// What the store has at the moment: classes and properties, of other programs, too. Names are those of the program
    /// where it maps some.
    ///
    /// Errors: `.closedHandle`. Cost: O(classes and properties).
    public var schema: Schema {
        get throws(ObjStoreError) {
            let view = _scope.space.current
            return try core { () throws(StoreError) in
                var classes: [ObjectSchema] = []
                for index in 0..<(try view.classCount()) {
                    classes.append(try view.objectSchema(try view.classInfo(at: index)))
                }
                return Schema(objectSchema: classes)
            }
        }
    }
}

extension View {
    func objectSchema(_ cls: ObjStoreCore.ClassInfo) throws(StoreError) -> ObjectSchema {
        var properties: [ObjectSchema.Property] = [], names: [UInt32: String] = [:]
        for place in 0..<cls.propertyCount {
            let info = try propertyInfo(cls.classID, at: place)
            names[info.propertyID] = info.name
            properties.append(
                ObjectSchema.Property(info, target: info.target == 0 ? nil : try classInfo(info.target).name))
        }
        var indexes: [Index] = []
        for place in 0..<(try indexCount(cls.classID)) {
            let info = try indexInfo(cls.classID, at: place)
            if info.properties.count > 1 {
                indexes.append(Index(info.properties.compactMap { names[$0] }, info.isUnique, info.isPrimaryKey))
            }
        }
        return ObjectSchema(className: cls.name, properties: properties, indexes: indexes, isEmbedded: cls.isEmbedded)
    }
}

// MARK: As text

extension Schema: CustomStringConvertible {
    /// The classes, each with a line for each property.
    public var description: String { objectSchema.map(\.description).joined(separator: "\n") }
}

extension ObjectSchema: CustomStringConvertible {
    public var description: String {
        var lines = ["\(isEmbedded ? "embedded " : "")class \(className)"]
        lines += properties.map { "    \($0)" }
        lines += indexes.map {
            """
                (\($0.properties.joined(separator: ", "))\
            )\($0.isPrimaryKey ? " primary key" : $0.isUnique ? " unique" : " indexed")
            """
        }
        return lines.joined(separator: "\n")
    }
}

extension ObjectSchema.Property: CustomStringConvertible {
    /// `age: int = 0 indexed`, `dogs: list<Dog>`, `weights: map<string, double?>`.
    public var description: String {
        // An object in a list or set, and a value of any type, cannot be required or not.
        let canBeRequired = type != .any && (type != .object || collection == .map)
        let value =
            (objectClassName ?? "\(type)")
            + (isOptional && canBeRequired || type == .object && collection == nil ? "?" : "")
        var text = "\(name): "
        switch collection {
        case .list: text += "list<\(value)>"
        case .set: text += "set<\(value)>"
        case .map: text += "map<\(keyType.map { "\($0)" } ?? "string"), \(value)>"
        case nil: text += isCounter ? "counter\(isOptional ? "?" : "")" : value
        }
        if let defaultValue { text += " = \(defaultValue)" }
        // A primary key is unique, what is unique is indexed.
        if isPrimaryKey {
            text += " primary key"
        } else if isUnique {
            text += " unique"
        } else if isIndexed {
            text += " indexed"
        }
        if isFullText { text += " full text" }
        if isGenerated { text += " generated" }
        if isCascading { text += " cascade" }
        return text
    }
}

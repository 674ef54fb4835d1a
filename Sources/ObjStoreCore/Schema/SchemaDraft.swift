/// Classes as an application describes them, before a file knows them.
package struct SchemaDraft: Sendable {
    /// What the program calls version 1, for messages: its own may begin with 0.
    package var firstVersion: UInt64 = 1

    package struct Class: Sendable {
        package var name: String
        package fileprivate(set) var isEmbedded = false
        package fileprivate(set) var properties: [PropertySchema] = []
        /// Compound ones, by the names of their properties.
        package fileprivate(set) var indexes: [(names: [String], isUnique: Bool, isPrimaryKey: Bool)] = []
        private var places: [String: Int] = [:]
        /// Of link properties, and collections of links: the class that they lead to, which may be described later.
        fileprivate(set) var targets: [String: String] = [:]
        /// What properties were called before, by their names.
        fileprivate(set) var formerNames: [String: [String]] = [:]
        /// What the file calls the class, and properties by their names, where that differs.
        fileprivate(set) var storedName: String?
        fileprivate(set) var storedNames: [String: String] = [:]
        /// Links that lead here, by the names that queries have for the way back.
        fileprivate(set) var inverses: [String: StoredNames.InverseName] = [:]
        /// By the names of properties.
        fileprivate(set) var enumerations: [String: PropertyEnumerations] = [:]
        /// Lines that a leaf's directory needs for them: values of two words take two.
        fileprivate(set) var lines = 0

        init(name: String) { self.name = name }

        func propertyIndex(named name: String) -> Int? { places[name] }

        /// The properties that are the primary key.
        fileprivate var keyName: String? {
            properties.first(where: \.isPrimaryKey)?.name
                ?? indexes.first(where: \.isPrimaryKey)?.names.joined(separator: ", ")
        }

        /// The property that was called so before.
        fileprivate func successor(of formerName: String) -> String? {
            formerNames.first { $0.value.contains(formerName) }?.key
        }

        /// With the names that the file has.
        fileprivate func withNames(_ classNames: [String: String]) throws(StoreError) -> Class {
            var result = Class(name: storedName ?? name)
            result.isEmbedded = isEmbedded
            for var property in properties {
                let own = property.name, target = targets[own].map { classNames[$0] ?? $0 }
                func invalid(_ what: String) -> StoreError {
                    StoreError(.invalidSchema, "\(name).\(own): \(what)").at(class: name, property: own)
                }
                property.name = storedNames[own] ?? own
                if let other = propertyIndex(named: property.name), properties[other].name != own {
                    throw invalid("it is stored as \(property.name), which is the name of another property")
                }
                if result.propertyIndex(named: property.name) != nil {
                    throw invalid("another property is stored as \(property.name), too")
                }
                result.append(property, target: target)
                result.formerNames[property.name] = formerNames[own]
                result.enumerations[property.name] = enumerations[own]
                if formerNames[own]?.contains(property.name) == true {
                    throw invalid("it was called \(property.name) before, which is what it is stored as")
                }
            }
            result.indexes = indexes.map { index in
                (index.names.map { storedNames[$0] ?? $0 }, index.isUnique, index.isPrimaryKey)
            }
            return result
        }

        fileprivate mutating func append(_ property: PropertySchema, target: String? = nil) {
            places[property.name] = properties.count
            targets[property.name] = target
            properties.append(property)
            lines += property.kind.isPair ? 2 : 1
        }
    }

    package struct Flags: OptionSet, Sendable {
        package let rawValue: UInt32
        package init(rawValue: UInt32) { self.rawValue = rawValue }
        package static let primaryKey = Flags(rawValue: 1)
        package static let indexed = Flags(rawValue: 2)
        package static let nullable = Flags(rawValue: 4)
        package static let unique = Flags(rawValue: 8)
        package static let cascade = Flags(rawValue: 0x10)
        package static let generated = Flags(rawValue: 0x20)
        package static let counter = Flags(rawValue: 0x40)
        package static let fullText = Flags(rawValue: 0x80)
        package static let hasDefault = Flags(rawValue: 0x100)
        /// What may be requested; `hasDefault` is output only.
        package static let all = Flags(rawValue: 0xff)
    }

    package struct IndexFlags: OptionSet, Sendable {
        package let rawValue: UInt32
        package init(rawValue: UInt32) { self.rawValue = rawValue }
        package static let unique = IndexFlags(rawValue: 1)
        package static let primaryKey = IndexFlags(rawValue: 2)
        package static let all = IndexFlags(rawValue: 3)
    }

    package private(set) var classes: [Class] = []
    /// Names of classes that a file is not to have any more.
    private(set) var dropped: [String] = []

    package init() {}

    // MARK: Describing

    package mutating func addClass(_ name: String) throws(StoreError) {
        try SchemaDraft.checkName(name, "class")
        guard !classes.contains(where: { $0.name == name }) else {
            throw StoreError(.invalidSchema, "the schema has a class \(name) already").at(class: name)
        }
        if dropped.contains(name) { throw SchemaDraft.isDropped(name) }
        classes.append(Class(name: name))
    }

    /// Says that a file with a lower version loses the class of that name with all its objects, if it has one.
    package mutating func dropClass(_ name: String) throws(StoreError) {
        try SchemaDraft.checkName(name, "class")
        if classes.contains(where: { $0.name == name }) { throw SchemaDraft.isDropped(name) }
        if !dropped.contains(name) { dropped.append(name) }
    }

    private static func isDropped(_ name: String) -> StoreError {
        StoreError(.invalidSchema, "class \(name) of the schema cannot be dropped from files, too").at(class: name)
    }

    /// Says that each object of the class lies in one property of one other object and goes with it, or not.
    package mutating func setEmbedded(_ className: String, _ isEmbedded: Bool) throws(StoreError) {
        let index = try classIndex(className)
        if isEmbedded, let key = classes[index].keyName { throw SchemaDraft.embeddedKey(className, key) }
        classes[index].isEmbedded = isEmbedded
    }

    private static func embeddedKey(_ className: String, _ name: String) -> StoreError {
        StoreError(.invalidSchema, "\(className).\(name): an embedded class cannot have a primary key").at(
            class: className, property: name)
    }

    package mutating func addProperty(
        _ className: String, _ name: String, _ kind: ValueKind, _ flags: Flags
    ) throws(StoreError) {
        let index = try classIndex(className)
        try SchemaDraft.checkName(name, "property")
        func invalid(_ what: String) -> StoreError {
            StoreError(.invalidSchema, "\(className).\(name): \(what)").at(class: className, property: name)
        }
        try checkIsNew(name, in: classes[index])
        if kind == .null { throw invalid("a property needs a kind of value") }
        if kind.isCollection {
            throw invalid("\(kind.indefinite) needs a kind of elements: it is added with addCollection")
        }
        if kind == .link {
            throw invalid("a link needs the class that it leads to: add it with objstore_schema_add_link")
        }
        guard kind.isStorable else {
            throw StoreError(
                .notSupported, "\(className).\(name): properties of kind \(kind) are not supported by this version"
            ).at(class: className, property: name)
        }
        if flags.contains(.primaryKey) {
            guard kind.canBeKey else {
                throw invalid("a primary key is an int, a string, an object id or a uuid, not \(kind.indefinite)")
            }
            if flags.contains(.counter) { throw invalid("a counter cannot be a primary key, which never changes") }
            if classes[index].isEmbedded { throw SchemaDraft.embeddedKey(className, name) }
            if let other = classes[index].keyName { throw invalid("the class has a primary key already: \(other)") }
        }
        if flags.contains(.counter), kind != .int { throw invalid("a counter is an int, not \(kind.indefinite)") }
        if flags.contains(.fullText), kind != .string {
            throw invalid("full text is a string, not \(kind.indefinite)")
        }
        if !flags.isDisjoint(with: [.indexed, .unique]), kind == .binary {
            throw invalid("a binary property cannot have an index of its own")
        }
        if flags.contains(.cascade) { throw invalid("only a link, or a collection of links, can cascade") }
        if flags.contains(.generated), !kind.canBeGenerated(isPrimaryKey: flags.contains(.primaryKey)) {
            throw invalid(
                """
                generated are object ids, uuids, and ints that are the primary key, not \
                \(kind == .int ? "other ints" : "\(kind.indefinite)")
                """
            )
        }
        guard classes[index].lines + (kind.isPair ? 2 : 1) <= SchemaDraft.maximumProperties else {
            throw invalid(SchemaDraft.tooMany)
        }
        classes[index].append(
            PropertySchema(
                name: name, kind: kind, isNullable: flags.contains(.nullable) || kind == .mixed,
                isPrimaryKey: flags.contains(.primaryKey),
                isIndexed: flags.contains(.indexed) && !flags.contains(.primaryKey),
                isUnique: flags.contains(.unique) && !flags.contains(.primaryKey),
                isGenerated: flags.contains(.generated), isCounter: flags.contains(.counter),
                isFullText: flags.contains(.fullText)))
    }

    /// An index of two properties or more; with `primaryKey` they are the primary key together.
    package mutating func addIndex(_ className: String, _ names: [String], _ flags: IndexFlags) throws(StoreError) {
        let number = try classIndex(className), cls = classes[number]
        let list = names.joined(separator: ", ")
        func invalid(_ what: String) -> StoreError {
            StoreError(.invalidSchema, "an index of \(className).(\(list)): \(what)").at(
                class: className, property: list)
        }
        guard (2...IndexSchema.mostProperties).contains(names.count) else {
            throw invalid(
                "it is of 2 to \(IndexSchema.mostProperties) properties; that of one is a flag of the property")
        }
        for (position, name) in names.enumerated() {
            guard let property = cls.propertyIndex(named: name) else {
                throw StoreError(.noSuchProperty, "class \(className) of the schema does not have a property \(name)")
                    .at(class: className, property: name)
            }
            if cls.properties[property].kind.isCollection {
                throw invalid("\(name) is \(cls.properties[property].kind.indefinite)")
            }
            if names[..<position].contains(name) { throw invalid("\(name) is given twice") }
            if flags.contains(.primaryKey) { try checkKeyPart(cls.properties[property], className) }
        }
        if cls.indexes.contains(where: { $0.names == names }) { throw invalid("the class has it already") }
        if flags.contains(.primaryKey) {
            if cls.isEmbedded { throw SchemaDraft.embeddedKey(className, list) }
            if let other = cls.keyName { throw invalid("the class has a primary key already: \(other)") }
        }
        classes[number].indexes.append((names, !flags.isEmpty, flags.contains(.primaryKey)))
    }

    private func checkKeyPart(_ property: PropertySchema, _ className: String) throws(StoreError) {
        func invalid(_ what: String) -> StoreError {
            StoreError(.invalidSchema, "\(className).\(property.name): \(what)").at(
                class: className, property: property.name)
        }
        guard property.kind.canBeKeyPart else {
            throw invalid(
                """
                part of a primary key is a bool, an int, a string, a timestamp, an object id or a uuid, not \
                \(property.kind.indefinite)
                """
            )
        }
        if property.isNullable { throw invalid("part of a primary key cannot be null") }
        if property.isCounter { throw invalid("a counter cannot be part of a primary key, which never changes") }
    }

    /// A list, set or map; in objects that do not give it elements it is empty. Elements that are links lead to objects
    /// of class `target`, which may be described later; those of a map can always be null, others never.
    package mutating func addCollection(
        _ className: String, _ name: String, _ kind: ValueKind, _ elements: ElementSchema, target: String? = nil,
        _ flags: Flags = []
    ) throws(StoreError) {
        var elements = elements
        let index = try classIndex(className)
        try SchemaDraft.checkName(name, "property")
        func invalid(_ what: String) -> StoreError {
            StoreError(.invalidSchema, "\(className).\(name): \(what)").at(class: className, property: name)
        }
        try checkIsNew(name, in: classes[index])
        guard kind.isCollection else { throw invalid("a collection is a list, a set or a map, not \(kind.indefinite)") }
        guard elements.kind != .null else { throw invalid("elements need a kind of value") }
        if let target {
            try SchemaDraft.checkName(target, "class")
            if elements.isNullable, kind != .map {
                throw invalid("links in \(kind.indefinite) cannot be null: one whose object is deleted is gone")
            }
            elements.isNullable = kind == .map
        } else if elements.kind == .link {
            throw invalid("links need the class that they lead to: add them with objstore_schema_add_link_collection")
        }
        // Like a mixed property.
        if elements.kind == .mixed { elements.isNullable = true }
        guard elements.kind.isScalar || elements.kind == .mixed || target != nil else {
            throw StoreError(
                .notSupported,
                "\(className).\(name): elements of kind \(elements.kind) are not supported by this version"
            ).at(class: className, property: name)
        }
        switch (kind, elements.keyKind) {
        case (.map, .int), (.map, .string), (.map, .objectID), (.map, .uuid): break
        case (.map, let key): throw invalid("keys are of kind int, string, object id or uuid, not \(key)")
        default: guard elements.keyKind == .null else { throw invalid("\(kind.indefinite) has no keys") }
        }
        guard classes[index].lines + 1 <= SchemaDraft.maximumProperties else {
            throw invalid("a class can have \(SchemaDraft.maximumProperties) properties")
        }
        if flags.contains(.primaryKey) { throw invalid("\(kind.indefinite) cannot be a primary key") }
        if flags.contains(.indexed) { throw invalid("\(kind.indefinite) cannot have an index") }
        if flags.contains(.unique) { throw invalid("\(kind.indefinite) cannot be unique") }
        if flags.contains(.generated) { throw invalid("\(kind.indefinite) cannot be generated") }
        if flags.contains(.cascade), target == nil {
            throw invalid("only a link, or a collection of links, can cascade")
        }
        classes[index].append(
            PropertySchema(name: name, kind: kind, isCascading: flags.contains(.cascade), elements: elements),
            target: target)
    }

    /// A link to an object of class `target`, which may be described later. It can always be null.
    package mutating func addLink(
        _ className: String, _ name: String, to target: String, _ flags: Flags = []
    ) throws(StoreError) {
        let index = try classIndex(className)
        try SchemaDraft.checkName(name, "property")
        func invalid(_ what: String) -> StoreError {
            StoreError(.invalidSchema, "\(className).\(name): \(what)").at(class: className, property: name)
        }
        try checkIsNew(name, in: classes[index])
        if flags.contains(.primaryKey) { throw invalid("a link cannot be a primary key") }
        if flags.contains(.indexed) { throw invalid("a link has an index anyway: it cannot be asked for") }
        if flags.contains(.unique) {
            throw invalid("a link cannot be unique by itself: an index of it and another property can")
        }
        if flags.contains(.generated) { throw invalid("a link cannot be generated") }
        if flags.contains(.counter) { throw invalid("a counter is an int, not a link") }
        if flags.contains(.fullText) { throw invalid("full text is a string, not a link") }
        try SchemaDraft.checkName(target, "class")
        guard classes[index].lines + 1 <= SchemaDraft.maximumProperties else { throw invalid(SchemaDraft.tooMany) }
        classes[index].append(
            PropertySchema(name: name, kind: .link, isNullable: true, isCascading: flags.contains(.cascade)),
            target: target)
    }

    package mutating func setDefault(_ className: String, _ name: String, _ value: Value) throws(StoreError) {
        let index = try classIndex(className)
        guard let property = classes[index].propertyIndex(named: name) else {
            throw StoreError(.noSuchProperty, "class \(className) of the schema does not have a property \(name)").at(
                class: className, property: name)
        }
        let declared = classes[index].properties[property]
        if declared.kind.isCollection {
            throw StoreError(
                .wrongType,
                """
                \(className).\(name) is \(declared.kind.indefinite): it is empty where nothing was given, and has no \
                other default
                """
            ).at(class: className, property: name)
        }
        if declared.kind == .link, !value.isNull {
            throw StoreError(.wrongType, "\(className).\(name) is a link: its default can only be null").at(
                class: className, property: name)
        }
        if declared.kind == .mixed {
            try MixedCell.admit(value, limit: Int(Int32.max))
            if try MixedLinks.has(value) {
                throw StoreError(.wrongType, "\(className).\(name): a default has no links").at(
                    class: className, property: name)
            }
        }
        if declared.isGenerated {
            throw StoreError(.invalidSchema, "\(className).\(name) is generated: it cannot have a default").at(
                class: className, property: name)
        }
        let cls = ClassSchema(name: className, id: 0, properties: classes[index].properties, nextColumnID: 0),
            cell = ByteBuffer()
        let value = try MixedCell.column(value, property, cls, limit: Int(Int32.max), into: cell)
        try ValueCheck.check(
            value, for: property, of: cls, limit: Int(declared.isPrimaryKey ? Int32(ClassSchema.longestKey) : .max))
        if let enumeration = classes[index].enumerations[name]?.values, !value.isNull, !enumeration.has(value) {
            throw cls.naming(enumeration.refuse(value, "the default "), property)
        }
        let owned = try OwnedValue(copying: value)
        classes[index].properties[property].defaultValue = owned
        classes[index].properties[property].fill = owned
        withExtendedLifetime(cell) {}
    }

    /// The values that a property, the elements of a collection, or with `areKeys` the keys of a map may have.
    package mutating func setEnumeration(
        _ className: String, _ name: String, areKeys: Bool, _ values: [Value]
    ) throws(StoreError) {
        try setEnumeration(className, name, areKeys: areKeys, values, mayBeGenerated: false)
    }

    private mutating func setEnumeration(
        _ className: String, _ name: String, areKeys: Bool, _ values: [Value], mayBeGenerated: Bool
    ) throws(StoreError) {
        let index = try classIndex(className)
        guard let position = classes[index].propertyIndex(named: name) else {
            throw StoreError(.noSuchProperty, "class \(className) of the schema does not have a property \(name)").at(
                class: className, property: name)
        }
        func refused(_ code: StatusCode, _ what: String) -> StoreError {
            StoreError(code, "\(className).\(name): \(what)").at(class: className, property: name)
        }
        let property = classes[index].properties[position]
        if areKeys, property.kind != .map {
            throw refused(.wrongType, "it is \(property.kind.indefinite): only the entries of a map have keys")
        }
        let kind = (areKeys ? property.elements?.keyKind : property.elements?.kind) ?? property.kind
        guard kind == .int || kind == .string else {
            throw refused(.wrongType, "an enumeration is of ints or of strings, not of kind \(kind)")
        }
        if property.isGenerated && !mayBeGenerated || property.isCounter {
            throw refused(
                .invalidSchema, "it is \(property.isCounter ? "a counter" : "generated"): it has no enumeration")
        }
        for value in values {
            guard value.kind == kind else {
                throw refused(.wrongType, "a value of its enumeration is of kind \(kind), not \(value.kindAndText)")
            }
            if kind == .string, !UTF8Check.isValid(value.pointer, value.count) {
                throw refused(.invalidUTF8, "the text is not valid UTF-8")
            }
        }
        guard let enumeration = try Enumeration(values) else {
            throw refused(.invalidArgument, "its enumeration has no values")
        }
        if !property.kind.isCollection, let given = property.defaultValue?.value, !given.isNull, !enumeration.has(given)
        {
            throw refused(.outOfRange, enumeration.refuse(given, "the default ").message)
        }
        if areKeys {
            classes[index].enumerations[name, default: PropertyEnumerations()].keys = enumeration
        } else {
            classes[index].enumerations[name, default: PropertyEnumerations()].values = enumeration
        }
    }

    /// The same for ints of a range that has zero: of types with fewer bits. What is generated is in it, too.
    package mutating func setRange(
        _ className: String, _ name: String, areKeys: Bool, _ range: ClosedRange<Int64>
    ) throws(StoreError) {
        try setEnumeration(className, name, areKeys: areKeys, [.int(0)], mayBeGenerated: true)
        let index = try classIndex(className)
        if areKeys {
            classes[index].enumerations[name]?.keys = Enumeration(range)
        } else {
            classes[index].enumerations[name]?.values = Enumeration(range)
        }
    }

    /// A property was called otherwise before: a file that knows it by that name keeps its values.
    package mutating func addFormerName(_ className: String, _ name: String, _ formerName: String) throws(StoreError) {
        let index = try classIndex(className), cls = classes[index]
        guard cls.propertyIndex(named: name) != nil else {
            throw StoreError(.noSuchProperty, "class \(className) of the schema does not have a property \(name)").at(
                class: className, property: name)
        }
        try SchemaDraft.checkName(formerName, "property")
        func invalid(_ what: String) -> StoreError {
            StoreError(.invalidSchema, "\(className).\(name): \(what)").at(class: className, property: name)
        }
        if cls.propertyIndex(named: formerName) != nil {
            throw invalid("it cannot have been \(formerName) before, which is a property of the class")
        }
        if let other = cls.successor(of: formerName), other != name {
            throw invalid("\(other) was \(formerName) before, too")
        }
        if cls.formerNames[name]?.contains(formerName) != true {
            classes[index].formerNames[name, default: []].append(formerName)
        }
    }

    /// The file calls a class otherwise than the program.
    package mutating func setStoredName(_ className: String, _ storedName: String) throws(StoreError) {
        let index = try classIndex(className)
        try SchemaDraft.checkName(storedName, "class")
        classes[index].storedName = storedName == className ? nil : storedName
    }

    /// The file calls a property otherwise than the program.
    package mutating func setStoredName(_ className: String, _ name: String, _ storedName: String) throws(StoreError) {
        let index = try classIndex(className)
        guard classes[index].propertyIndex(named: name) != nil else {
            throw StoreError(.noSuchProperty, "class \(className) of the schema does not have a property \(name)").at(
                class: className, property: name)
        }
        try SchemaDraft.checkName(storedName, "property")
        classes[index].storedNames[name] = storedName == name ? nil : storedName
    }

    /// The way back from where a link leads has a name, in queries.
    ///
    /// Errors: `.noSuchClass`; `.invalidSchema`: the name is no name, or is taken. What it is the inverse of is looked
    /// at when a store is opened.
    package mutating func addInverse(
        _ className: String, _ name: String, ofClass origin: String, _ property: String
    ) throws(StoreError) {
        let index = try classIndex(className)
        try SchemaDraft.checkName(name, "inverse")
        try checkIsFree(name, in: classes[index])
        for (other, what) in [(origin, "class"), (property, "property")] { try SchemaDraft.checkName(other, what) }
        classes[index].inverses[name] = StoredNames.InverseName(cls: origin, property: property)
    }

    /// `.invalidSchema`: there is no such link to the class.
    func check(_ origin: StoredNames.InverseName, isInverseOf cls: Class, _ name: String) throws(StoreError) {
        func invalid(_ what: String) -> StoreError {
            StoreError(.invalidSchema, "\(cls.name).\(name): \(what)").at(class: cls.name, property: name)
        }
        guard let other = classes.first(where: { $0.name == origin.cls }) else {
            throw invalid("the schema does not have a class \(origin.cls)")
        }
        guard let position = other.propertyIndex(named: origin.property) else {
            throw invalid("the class \(origin.cls) does not have a property \(origin.property)")
        }
        let property = other.properties[position]
        guard other.targets[origin.property] == cls.name || property.kind == .mixed || property.elements?.kind == .mixed
        else {
            throw invalid("\(origin.cls).\(origin.property) does not lead to \(cls.name)")
        }
    }

    func withNames(_ classNames: [String: String]) throws(StoreError) -> SchemaDraft {
        var result = self
        for index in classes.indices { result.classes[index] = try classes[index].withNames(classNames) }
        return result
    }

    private func checkIsNew(_ name: String, in cls: Class) throws(StoreError) {
        try checkIsFree(name, in: cls)
        if let other = cls.successor(of: name) {
            throw StoreError(.invalidSchema, "\(cls.name).\(name): that is what \(other) was called before").at(
                class: cls.name, property: name)
        }
    }

    /// No property has the name now, and no inverse.
    private func checkIsFree(_ name: String, in cls: Class) throws(StoreError) {
        func invalid(_ what: String) -> StoreError {
            StoreError(.invalidSchema, "\(cls.name).\(name): \(what)").at(class: cls.name, property: name)
        }
        if cls.propertyIndex(named: name) != nil { throw invalid("the class has a property of that name already") }
        if cls.inverses[name] != nil { throw invalid("the class has an inverse of that name already") }
    }

    private func classIndex(_ name: String) throws(StoreError) -> Int {
        guard let index = classes.firstIndex(where: { $0.name == name }) else {
            throw StoreError(.noSuchClass, "the schema does not have a class \(name)").at(class: name)
        }
        return index
    }

    /// Bounded by the ids of `PropertyID` and by the lines of a leaf's directory.
    static let maximumProperties = 65_000
    private static let tooMany =
        "a class can have \(maximumProperties) properties; timestamp, decimal128, object id and uuid count twice"

    /// 1 to 255 bytes: ASCII letters, digits, `_` and anything beyond ASCII, not beginning with a digit.
    private static func checkName(_ name: String, _ what: String) throws(StoreError) {
        func isAllowed(_ byte: UInt8) -> Bool {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), 0x80...:
                true
            default: false
            }
        }
        let bytes = name.utf8
        guard (1...255).contains(bytes.count), bytes.allSatisfy(isAllowed),
            !(UInt8(ascii: "0")...UInt8(ascii: "9")).contains(bytes.first!)
        else {
            throw StoreError(
                .invalidSchema,
                "\"\(name)\" is no name of a \(what): 1 to 255 bytes, letters, digits and _, not beginning with a digit"
            )
        }
    }
}

/// Classes as an application describes them, before a file knows them.
package struct SchemaDraft: Sendable {
    package struct Class: Sendable {
        package var name: String
        package fileprivate(set) var isEmbedded = false
        package fileprivate(set) var properties: [PropertySchema] = []
        /// Compound ones, by the names of their properties.
        package fileprivate(set) var indexes: [(names: [String], isUnique: Bool)] = []
        private var places: [String: Int] = [:]
        /// Of link properties, and collections of links: the class that they lead to, which may be described later.
        fileprivate private(set) var targets: [String: String] = [:]
        /// What properties were called before, by their names.
        fileprivate var formerNames: [String: [String]] = [:]
        /// Lines that a leaf's directory needs for them: values of two words take two.
        fileprivate private(set) var lines = 0

        init(name: String) { self.name = name }

        func propertyIndex(named name: String) -> Int? { places[name] }

        /// The property that was called so before.
        fileprivate func successor(of formerName: String) -> String? { formerNames.first { $0.value.contains(formerName) }?.key }

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
        package static let hasDefault = Flags(rawValue: 0x100)
        /// What may be asked for; `hasDefault` is only told.
        package static let all = Flags(rawValue: 0x3f)
    }

    package private(set) var classes: [Class] = []

    package init() {}

    // MARK: Describing

    package mutating func addClass(_ name: String) throws(StoreError) {
        try SchemaDraft.checkName(name, "class")
        guard !classes.contains(where: { $0.name == name }) else {
            throw StoreError(.invalidSchema, "the schema has a class \(name) already").at(class: name)
        }
        classes.append(Class(name: name))
    }

    /// Says that each object of the class lies in one property of one other object and goes with it, or not.
    package mutating func setEmbedded(_ className: String, _ isEmbedded: Bool) throws(StoreError) {
        let index = try classIndex(className)
        if isEmbedded, let key = classes[index].properties.first(where: \.isPrimaryKey) { throw SchemaDraft.embeddedKey(className, key.name) }
        classes[index].isEmbedded = isEmbedded
    }

    private static func embeddedKey(_ className: String, _ name: String) -> StoreError {
        StoreError(.invalidSchema, "\(className).\(name): an embedded class cannot have a primary key").at(class: className, property: name)
    }

    package mutating func addProperty(_ className: String, _ name: String, _ kind: ValueKind, _ flags: Flags) throws(StoreError) {
        let index = try classIndex(className)
        try SchemaDraft.checkName(name, "property")
        func invalid(_ what: String) -> StoreError { StoreError(.invalidSchema, "\(className).\(name): \(what)").at(class: className, property: name) }
        try checkIsNew(name, in: classes[index])
        if kind == .null { throw invalid("a property needs a kind of value") }
        if kind.isCollection { throw invalid("a \(kind) needs a kind of elements: it is added with addCollection") }
        if kind == .link { throw invalid("a link needs the class that it leads to: add it with objstore_schema_add_link") }
        guard kind.isStorable else {
            throw StoreError(.notSupported, "\(className).\(name): properties of kind \(kind) are not supported by this version").at(class: className, property: name)
        }
        if flags.contains(.primaryKey) {
            switch kind {
            case .int, .string, .objectID, .uuid: break
            default: throw invalid("a primary key is an int, a string, an object id or a uuid, not a \(kind)")
            }
            guard !flags.contains(.nullable) else { throw invalid("a primary key cannot be null") }
            if classes[index].isEmbedded { throw SchemaDraft.embeddedKey(className, name) }
            if let other = classes[index].properties.first(where: \.isPrimaryKey) { throw invalid("the class has a primary key already: \(other.name)") }
        }
        if !flags.isDisjoint(with: [.indexed, .unique]), kind == .binary { throw invalid("a binary property cannot have an index of its own") }
        if flags.contains(.cascade) { throw invalid("only a link, or a collection of links, can cascade") }
        if flags.contains(.generated), !kind.canBeGenerated(isPrimaryKey: flags.contains(.primaryKey)) {
            throw invalid("generated are object ids, uuids, and ints that are the primary key, not \(kind == .int ? "other ints" : "a \(kind)")")
        }
        guard classes[index].lines + (kind.isPair ? 2 : 1) <= SchemaDraft.maximumProperties else {
            throw invalid(SchemaDraft.tooMany)
        }
        classes[index].append(PropertySchema(
            name: name, kind: kind, isNullable: flags.contains(.nullable) || kind == .mixed, isPrimaryKey: flags.contains(.primaryKey),
            isIndexed: flags.contains(.indexed) && !flags.contains(.primaryKey), isUnique: flags.contains(.unique) && !flags.contains(.primaryKey),
            isGenerated: flags.contains(.generated)))
    }

    /// An index of two properties or more.
    package mutating func addIndex(_ className: String, _ names: [String], isUnique: Bool) throws(StoreError) {
        let number = try classIndex(className), cls = classes[number]
        let list = names.joined(separator: ", ")
        func invalid(_ what: String) -> StoreError { StoreError(.invalidSchema, "an index of \(className).(\(list)): \(what)").at(class: className, property: list) }
        guard (2...IndexSchema.mostProperties).contains(names.count) else {
            throw invalid("it is of 2 to \(IndexSchema.mostProperties) properties; that of one is a flag of the property")
        }
        for (position, name) in names.enumerated() {
            guard let property = cls.propertyIndex(named: name) else {
                throw StoreError(.noSuchProperty, "class \(className) of the schema does not have a property \(name)").at(class: className, property: name)
            }
            if cls.properties[property].kind.isCollection { throw invalid("\(name) is a \(cls.properties[property].kind)") }
            if names[..<position].contains(name) { throw invalid("\(name) is given twice") }
        }
        if cls.indexes.contains(where: { $0.names == names }) { throw invalid("the class has it already") }
        classes[number].indexes.append((names, isUnique))
    }

    /// A list, set or map; in objects that do not give it elements it is empty. Elements that are links lead to objects of
    /// class `target`, which may be described later; those of a map can always be null, others never.
    package mutating func addCollection(
        _ className: String, _ name: String, _ kind: ValueKind, _ elements: ElementSchema, target: String? = nil, isCascading: Bool = false
    ) throws(StoreError) {
        var elements = elements
        let index = try classIndex(className)
        try SchemaDraft.checkName(name, "property")
        func invalid(_ what: String) -> StoreError { StoreError(.invalidSchema, "\(className).\(name): \(what)").at(class: className, property: name) }
        try checkIsNew(name, in: classes[index])
        guard kind.isCollection else { throw invalid("a collection is a list, a set or a map, not a \(kind)") }
        guard elements.kind != .null else { throw invalid("elements need a kind of value") }
        if let target {
            try SchemaDraft.checkName(target, "class")
            if elements.isNullable, kind != .map { throw invalid("links in a \(kind) cannot be null: one whose object is deleted is gone") }
            elements.isNullable = kind == .map
        } else if elements.kind == .link {
            throw invalid("links need the class that they lead to: add them with objstore_schema_add_link_collection")
        }
        guard elements.kind.isScalar || target != nil else {
            throw StoreError(.notSupported, "\(className).\(name): elements of kind \(elements.kind) are not supported by this version").at(class: className, property: name)
        }
        switch (kind, elements.keyKind) {
        case (.map, .int), (.map, .string), (.map, .objectID), (.map, .uuid): break
        case (.map, let key): throw invalid("keys are of kind int, string, object id or uuid, not \(key)")
        default: guard elements.keyKind == .null else { throw invalid("a \(kind) has no keys") }
        }
        guard classes[index].lines + 1 <= SchemaDraft.maximumProperties else { throw invalid("a class can have \(SchemaDraft.maximumProperties) properties") }
        if isCascading, target == nil { throw invalid("only a link, or a collection of links, can cascade") }
        classes[index].append(PropertySchema(name: name, kind: kind, isCascading: isCascading, elements: elements), target: target)
    }

    /// A link to an object of class `target`, which may be described later. It can always be null.
    package mutating func addLink(_ className: String, _ name: String, to target: String, _ flags: Flags = []) throws(StoreError) {
        let index = try classIndex(className)
        try SchemaDraft.checkName(name, "property")
        func invalid(_ what: String) -> StoreError { StoreError(.invalidSchema, "\(className).\(name): \(what)").at(class: className, property: name) }
        try checkIsNew(name, in: classes[index])
        if flags.contains(.primaryKey) { throw invalid("a link cannot be a primary key") }
        if flags.contains(.indexed) { throw invalid("a link has an index anyway: it cannot be asked for") }
        if flags.contains(.generated) { throw invalid("a link cannot be generated") }
        try SchemaDraft.checkName(target, "class")
        guard classes[index].lines + 1 <= SchemaDraft.maximumProperties else { throw invalid(SchemaDraft.tooMany) }
        classes[index].append(PropertySchema(name: name, kind: .link, isNullable: true, isCascading: flags.contains(.cascade)), target: target)
    }

    package mutating func setDefault(_ className: String, _ name: String, _ value: Value) throws(StoreError) {
        let index = try classIndex(className)
        guard let property = classes[index].propertyIndex(named: name) else {
            throw StoreError(.noSuchProperty, "class \(className) of the schema does not have a property \(name)").at(class: className, property: name)
        }
        let declared = classes[index].properties[property]
        if declared.kind.isCollection {
            throw StoreError(.wrongType, "\(className).\(name) is a \(declared.kind): it is empty where nothing was given, and has no other default").at(class: className, property: name)
        }
        if declared.kind == .link, !value.isNull {
            throw StoreError(.wrongType, "\(className).\(name) is a link: its default can only be null").at(class: className, property: name)
        }
        if declared.isPrimaryKey {
            throw StoreError(.invalidSchema, "\(className).\(name) is the primary key: it cannot have a default").at(class: className, property: name)
        }
        if declared.isGenerated {
            throw StoreError(.invalidSchema, "\(className).\(name) is generated: it cannot have a default").at(class: className, property: name)
        }
        let cls = ClassSchema(name: className, id: 0, properties: classes[index].properties, nextColumnID: 0), cell = ByteBuffer()
        let value = try MixedCell.column(value, property, cls, limit: Int(Int32.max), into: cell)
        try ValueCheck.check(value, for: property, of: cls, limit: Int(Int32.max))
        classes[index].properties[property] = PropertySchema(
            name: name, kind: declared.kind, isNullable: declared.isNullable, isIndexed: declared.isIndexed, isUnique: declared.isUnique,
            isCascading: declared.isCascading, defaultValue: OwnedValue(value))
        withExtendedLifetime(cell) {}
    }

    /// A property was called otherwise before: a file that knows it by that name keeps its values.
    package mutating func addFormerName(_ className: String, _ name: String, _ formerName: String) throws(StoreError) {
        let index = try classIndex(className), cls = classes[index]
        guard cls.propertyIndex(named: name) != nil else {
            throw StoreError(.noSuchProperty, "class \(className) of the schema does not have a property \(name)").at(class: className, property: name)
        }
        try SchemaDraft.checkName(formerName, "property")
        func invalid(_ what: String) -> StoreError { StoreError(.invalidSchema, "\(className).\(name): \(what)").at(class: className, property: name) }
        if cls.propertyIndex(named: formerName) != nil { throw invalid("it cannot have been \(formerName) before, which is a property of the class") }
        if let other = cls.successor(of: formerName), other != name { throw invalid("\(other) was \(formerName) before, too") }
        if cls.formerNames[name]?.contains(formerName) != true { classes[index].formerNames[name, default: []].append(formerName) }
    }

    private func checkIsNew(_ name: String, in cls: Class) throws(StoreError) {
        func invalid(_ what: String) -> StoreError { StoreError(.invalidSchema, "\(cls.name).\(name): \(what)").at(class: cls.name, property: name) }
        if cls.propertyIndex(named: name) != nil { throw invalid("the class has a property of that name already") }
        if let other = cls.successor(of: name) { throw invalid("that is what \(other) was called before") }
    }

    private func classIndex(_ name: String) throws(StoreError) -> Int {
        guard let index = classes.firstIndex(where: { $0.name == name }) else {
            throw StoreError(.noSuchClass, "the schema does not have a class \(name)").at(class: name)
        }
        return index
    }

    /// Bounded by the ids of `PropertyID` and by the lines of a leaf's directory.
    static let maximumProperties = 65_000
    private static let tooMany = "a class can have \(maximumProperties) properties; timestamp, decimal128, object id and uuid count twice"

    /// 1 to 255 bytes: ASCII letters, digits, `_` and anything beyond ASCII, not beginning with a digit.
    private static func checkName(_ name: String, _ what: String) throws(StoreError) {
        func isAllowed(_ byte: UInt8) -> Bool {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), 0x80...: true
            default: false
            }
        }
        let bytes = name.utf8
        guard (1...255).contains(bytes.count), bytes.allSatisfy(isAllowed), !(UInt8(ascii: "0")...UInt8(ascii: "9")).contains(bytes.first!) else {
            throw StoreError(
                .invalidSchema, "\"\(name)\" is no name of a \(what): 1 to 255 bytes, letters, digits and _, not beginning with a digit")
        }
    }

    // MARK: Meeting a file

    /// What the file's schema becomes when the application opens it with this one; nil: it stays as it is.
    ///
    /// `.schemaMismatch` names class and property.
    package func merged(into file: Schema, version: UInt64) throws(StoreError) -> Schema? {
        try merged(into: file, version: version, migrates: false)
    }

    /// - Parameter migrates: a migration can put right what would be lost otherwise: kinds and primary keys may change.
    func merged(into file: Schema, version: UInt64, migrates: Bool) throws(StoreError) -> Schema? {
        guard version >= file.version else {
            throw StoreError(.schemaMismatch, "the file has schema version \(file.version), the program asks for \(version)")
        }
        var result = file.classes
        var changed = false
        let indexes = try classIndexes(in: file)
        for cls in classes {
            guard let index = file.classIndex(named: cls.name) else {
                let properties = cls.properties.enumerated().map { number, property in
                    var property = property
                    property.columnID = UInt32(number)
                    property.target = cls.targets[property.name].map { indexes[$0]! }
                    return property
                }
                let compounds = cls.indexes.enumerated().map { number, index in
                    IndexSchema(
                        id: IndexSchema.firstCompoundID + UInt32(number), properties: index.names.map { cls.propertyIndex(named: $0)! }, isUnique: index.isUnique)
                }
                result.append(ClassSchema(
                    name: cls.name, id: UInt32(result.count), properties: properties, nextColumnID: UInt32(properties.count), compounds: compounds,
                    nextIndexID: IndexSchema.firstCompoundID + UInt32(compounds.count), isEmbedded: cls.isEmbedded))
                changed = true
                continue
            }
            if let merged = try merge(cls, file.classes[index], indexes, file, mayChange: version > file.version, migrates: migrates) {
                result[index] = merged
                changed = true
            }
        }
        return changed || version > file.version ? Schema(classes: result, version: version) : nil
    }

    /// Where the draft's classes stand once the file has them, and that every link leads to one of them.
    private func classIndexes(in file: Schema) throws(StoreError) -> [String: Int] {
        var indexes: [String: Int] = [:], next = file.classes.count
        for cls in classes {
            if let index = file.classIndex(named: cls.name) {
                indexes[cls.name] = index
            } else {
                indexes[cls.name] = next
                next += 1
            }
        }
        for cls in classes {
            for property in cls.properties {
                guard let target = cls.targets[property.name] else { continue }
                func invalid(_ what: String) -> StoreError {
                    StoreError(.invalidSchema, "\(cls.name).\(property.name) \(what)").at(class: cls.name, property: property.name)
                }
                guard indexes[target] != nil else { throw invalid("leads to class \(target), which the schema does not have") }
                let isEmbedded = classes.first { $0.name == target }?.isEmbedded ?? file.classIndex(named: target).map { file.classes[$0].isEmbedded }
                if isEmbedded == true, property.kind == .set { throw invalid("is a set of \(target), an embedded class: a list or a map can be") }
            }
        }
        return indexes
    }

    private func merge(
        _ cls: Class, _ old: ClassSchema, _ indexes: [String: Int], _ file: Schema, mayChange: Bool, migrates: Bool
    ) throws(StoreError) -> ClassSchema? {
        func mismatch(_ property: String, _ what: String) -> StoreError {
            StoreError(.schemaMismatch, "\(cls.name).\(property): \(what)").at(class: cls.name, property: property)
        }
        guard cls.isEmbedded == old.isEmbedded else {
            throw StoreError(.schemaMismatch, "class \(cls.name) is \(old.isEmbedded ? "" : "not ")embedded in the file, unlike in the program").at(class: cls.name)
        }
        var places = try places(of: cls, in: old)
        if mayChange, migrates {
            // What is of another kind is another property: the old one goes, a new one comes.
            for (position, place) in places.enumerated() {
                guard let place, kindMismatch(cls, cls.properties[position], old.properties[place], file) != nil else { continue }
                places[position] = nil
            }
        }
        // Where properties of the file are when what is gone has been dropped.
        var stays: [Int?] = Array(repeating: nil, count: old.properties.count)
        for case let place? in places { stays[place] = place }
        var properties: [PropertySchema] = []
        for (place, property) in old.properties.enumerated() {
            if stays[place] != nil {
                stays[place] = properties.count
                properties.append(property)
            } else if !mayChange {
                throw mismatch(property.name, "the file has this property, the program's schema has not, and its version is not higher than the file's")
            }
        }
        var next = old.nextColumnID
        var lines = properties.reduce(0) { $0 + ($1.kind.isPair ? 2 : 1) }
        var changed = properties.count < old.properties.count
        for (position, property) in cls.properties.enumerated() {
            guard let place = places[position], let index = stays[place] else {
                guard mayChange else { throw mismatch(property.name, "the file lacks this property, and the schema version is not higher than the file's") }
                guard !property.isPrimaryKey || migrates else { throw mismatch(property.name, "a primary key can be added to a class that exists by a migration only, which gives it values") }
                guard next < UInt32(SchemaDraft.maximumProperties) else { throw mismatch(property.name, "the class has had too many properties") }
                var added = property
                added.columnID = next
                added.target = cls.targets[property.name].map { indexes[$0]! }
                next += 1
                properties.append(added)
                lines += property.kind.isPair ? 2 : 1
                guard lines <= SchemaDraft.maximumProperties else { throw mismatch(property.name, "the class would have too many properties") }
                changed = true
                continue
            }
            let there = old.properties[place]
            if there.name != property.name {
                guard mayChange else { throw mismatch(property.name, "the file calls it \(there.name), and the schema version is not higher than the file's") }
                properties[index].name = property.name
                changed = true
            }
            if let problem = kindMismatch(cls, property, there, file) {
                throw mismatch(property.name, mayChange ? "\(problem); a migration could convert it" : problem)
            }
            if there.isNullable != property.isNullable {
                guard mayChange else {
                    throw mismatch(property.name, "it \(there.isNullable ? "may be null" : "cannot be null") in the file, unlike in the program, and the schema version is not higher than the file's")
                }
                properties[index].isNullable = property.isNullable
                changed = true
            }
            if there.isPrimaryKey != property.isPrimaryKey {
                guard mayChange, migrates else {
                    throw mismatch(property.name, "it is \(there.isPrimaryKey ? "" : "not ")the primary key in the file, unlike in the program\(mayChange ? "; a migration could change that" : "")")
                }
                properties[index].isPrimaryKey = property.isPrimaryKey
                changed = true
            }
            if there.isCascading != property.isCascading || there.isGenerated != property.isGenerated {
                let what = there.isCascading != property.isCascading ? "it \(there.isCascading ? "cascades" : "does not cascade")" : "it is \(there.isGenerated ? "" : "not ")generated"
                guard mayChange else { throw mismatch(property.name, "\(what) in the file, unlike in the program, and the schema version is not higher than the file's") }
                properties[index].isCascading = property.isCascading
                properties[index].isGenerated = property.isGenerated
                changed = true
            }
            if there.isIndexed != property.isIndexed || there.isUnique != property.isUnique {
                guard mayChange else {
                    let what = there.isUnique != property.isUnique ? "it is \(there.isUnique ? "" : "not ")unique" : "it has \(there.isIndexed ? "an" : "no") index"
                    throw mismatch(property.name, "\(what) in the file, unlike in the program, and the schema version is not higher than the file's")
                }
                properties[index].isIndexed = property.isIndexed
                properties[index].isUnique = property.isUnique
                changed = true
            }
            if !SchemaDraft.sameDefault(there.defaultValue, property.defaultValue) {
                guard mayChange else { throw mismatch(property.name, "it has another default in the file, and the schema version is not higher than the file's") }
                properties[index].defaultValue = property.defaultValue
                changed = true
            }
        }
        var nextIndex = old.nextIndexID
        let (compounds, isOther) = try merge(cls, old, properties, &nextIndex, mayChange: mayChange)
        return changed || isOther
            ? ClassSchema(name: old.name, id: old.id, properties: properties, nextColumnID: next, compounds: compounds, nextIndexID: nextIndex, isEmbedded: old.isEmbedded)
            : nil
    }

    /// How a property of the file differs from that of the program in what its values are; nil: not at all.
    private func kindMismatch(_ cls: Class, _ property: PropertySchema, _ there: PropertySchema, _ file: Schema) -> String? {
        if there.kind != property.kind { return "it is of kind \(there.kind) in the file, \(property.kind) in the program" }
        if there.elements != property.elements { return "its elements, or its keys, are of another kind in the file than in the program" }
        if let target = there.target, let wanted = cls.targets[property.name], file.classes[target].name != wanted {
            return "it leads to class \(file.classes[target].name) in the file, to \(wanted) in the program"
        }
        return nil
    }

    /// For each property of the program's class its position in the file's, by its name or by one that it had before.
    private func places(of cls: Class, in old: ClassSchema) throws(StoreError) -> [Int?] {
        var places: [Int?] = []
        for property in cls.properties {
            let names = [property.name] + (cls.formerNames[property.name] ?? [])
            let found = names.compactMap { old.propertyIndex(named: $0) }
            if found.count > 1 {
                let both = found.map { old.properties[$0].name }.joined(separator: " and ")
                throw StoreError(.schemaMismatch, "\(cls.name).\(property.name): the file has \(both), which are to be one property")
                    .at(class: cls.name, property: property.name)
            }
            places.append(found.first)
        }
        return places
    }

    /// The compound indexes that a class gets: what it has already keeps its id, what becomes or ceases to be unique is another.
    private func merge(
        _ cls: Class, _ old: ClassSchema, _ properties: [PropertySchema], _ next: inout UInt32, mayChange: Bool
    ) throws(StoreError) -> (compounds: [IndexSchema], isOther: Bool) {
        let there = old.indexes.filter(\.isCompound)
        var kept: [IndexSchema] = [], added: [IndexSchema] = []
        for index in cls.indexes {
            let positions = index.names.map { name in properties.firstIndex { $0.name == name }! }
            let columns = positions.map { properties[$0].columnID }
            if let same = there.first(where: { $0.isUnique == index.isUnique && $0.properties.map { old.properties[$0].columnID } == columns }) {
                kept.append(IndexSchema(id: same.id, properties: positions, isUnique: same.isUnique))
                continue
            }
            let list = index.names.joined(separator: ", ")
            func mismatch(_ what: String) -> StoreError {
                StoreError(.schemaMismatch, "\(cls.name).(\(list)): \(what)").at(class: cls.name, property: list)
            }
            guard mayChange else { throw mismatch("the file has no such \(index.isUnique ? "unique " : "")index, and the schema version is not higher than the file's") }
            guard next < IndexSchema.endOfIDs else { throw mismatch("the class has had too many indexes") }
            added.append(IndexSchema(id: next, properties: positions, isUnique: index.isUnique))
            next += 1
        }
        if kept.count != there.count, !mayChange {
            let lost = there.first { index in !kept.contains { $0.id == index.id } }!
            throw StoreError(.schemaMismatch, "\(old.name(of: lost)): the file has this index, the program's schema has not, and its version is not higher")
                .at(class: cls.name, property: old.names(of: lost))
        }
        kept.sort { $0.id < $1.id }
        return (kept + added, !added.isEmpty || kept.count != there.count)
    }

    private static func sameDefault(_ a: OwnedValue?, _ b: OwnedValue?) -> Bool {
        switch (a, b) {
        case (nil, nil): true
        case (let a?, let b?): a.value.isSame(as: b.value)
        default: false
        }
    }
}

internal import CRuntime
internal import ObjStoreCore

/// A model class: its stored properties, read once from the class itself.
///
/// ```
///  an object in memory     isa · count │ space · binding · key · tracer │ _id{index, flags, value} │ _name{…} │ …
///                          0     8       16      24        32    40       offsets and types from reflection
/// ```
/// Names, offsets and types come from the runtime, flags and defaults from an object made with `init()`.
final class ClassInfo: @unchecked Sendable {
    struct Property {
        let name: String
        /// Of the wrapper in an object.
        let offset: Int
        /// Position in `properties`, which the wrapper of a managed object holds.
        let index: UInt32
        let type: _PropertyType
        let accessor: any Persistable.Type
        let flags: UInt8
        /// The default is another one each time (a random number, the time): no part of the schema.
        fileprivate(set) var hasChangingDefault = false

        var isPrimaryKey: Bool { flags & Persisted<Int>._isPrimaryKey != 0 }
        var hasDefault: Bool { flags & Persisted<Int>._hasDefault != 0 }
        var isCascading: Bool { flags & Persisted<Int>._isCascading != 0 }
        var isGenerated: Bool { flags & Persisted<Int>._isGenerated != 0 }
        /// What the declaration requests; what does not fit the type is refused by the draft.
        var declaredFlags: SchemaDraft.Flags {
            let asked: [(UInt8, SchemaDraft.Flags)] = [
                (Persisted<Int>._isPrimaryKey, .primaryKey), (Persisted<Int>._isIndexed, .indexed),
                (Persisted<Int>._isUnique, .unique),
                (Persisted<Int>._isCascading, .cascade), (Persisted<Int>._isGenerated, .generated),
                (Persisted<Int>._isFullText, .fullText),
            ]
            var all: SchemaDraft.Flags = asked.reduce(into: []) { if flags & $1.0 != 0 { $0.insert($1.1) } }
            if type.isOptional { all.insert(.nullable) }
            if type.isCounter { all.insert(.counter) }
            return all
        }
        /// Holds embedded objects.
        var embeds: Bool { type.linked is EmbeddedObject.Type }

        /// Has an object a value of any type with an object in it?
        func holdsObject(in object: Object) -> Bool {
            type.valueKind == .mixed && (accessor._anyValue(object, offset) as? AnyValue)?.objects.isEmpty == false
        }

        /// Has an object what an unmanaged one has at first? For callers that generate what is not given.
        func isNothing(_ object: Object) -> Bool {
            let encoder = _RowEncoder()
            encoder.begin(0)
            accessor._encode(object, offset, encoder)
            return encoder.isNothing
        }
    }

    /// What `@Persisted(originProperty:)` says.
    struct Inverse {
        let name: String
        let offset: Int
        let index: UInt32
        let accessor: any Persistable.Type
        /// The class that has the link, and the link's name there.
        let origin: Object.Type
        let originProperty: String
    }

    let type: Object.Type
    let name: String
    let properties: [Property]
    let primaryKey: Property?
    /// The primary key's properties: that one, or several.
    let key: [Property]
    /// Properties of any type.
    let mixed: [Property]
    /// Those that may lead to other objects.
    let references: [Property]
    let isEmbedded: Bool
    /// All properties are single values, and no links.
    let isFlat: Bool
    /// Inverses of links: not stored. Their indexes follow those of `properties`.
    let inverses: [Inverse]
    private let byName: [String: Int]
    /// Where the index of each property lies in an object. Classes are kept permanently: never freed.
    let indexOffsets: UnsafeBufferPointer<Int>
    /// Default expressions need not run for objects that are made for stored rows.
    let skipsDefaults: Bool
    /// An object with the defaults that are part of the schema, and whose they are.
    private let prototype: Object
    /// Reading an unmanaged property is a modifying access: stores are opened by several threads at once. A lock that
    /// ThreadSanitizer knows.
    private let prototypeLock = Lock()
    private let defaultProperties: [Int]

    // MARK: Finding

    private static let known = Guarded<[ObjectIdentifier: ClassInfo]>([:])

    static func name(of type: Object.Type) -> String { String(describing: type) }

    /// For messages: a Dog, an Item.
    static func indefinite(_ name: String) -> String {
        (name.first.map { "AEIOUaeiou".contains($0) } ?? false ? "an " : "a ") + name
    }

    /// Nil: it was not needed yet.
    static func found(_ type: Object.Type) -> ClassInfo? { known.withLock { $0[ObjectIdentifier(type)] } }

    /// Discovers the class at the first call. `.invalidSchema`: it cannot be read, and why.
    static func of(_ type: Object.Type) throws(ObjStoreError) -> ClassInfo {
        let id = ObjectIdentifier(type)
        if let info = found(type) { return info }
        // Not under the lock: `init()` of the class may do anything.
        let info = try ClassInfo(type)
        return known.withLock { known in
            if let other = known[id] { return other }
            known[id] = info
            return info
        }
    }

    // MARK: Discovery

    private static let ownFields = [16, 24, 32, 40]

    private init(_ type: Object.Type) throws(ObjStoreError) {
        let name = ClassInfo.name(of: type)
        func invalid(_ what: String, _ property: String? = nil) -> ObjStoreError {
            ObjStoreError(
                .invalidSchema, "\(name)\(property.map { "." + $0 } ?? ""): \(what)", class: name, property: property)
        }
        let fields = ClassInfo.fields(of: type)
        guard fields.prefix(4).map(\.offset) == ClassInfo.ownFields else {
            throw invalid("the layout of Object is not the one that this library was built for")
        }
        let (first, initCount) = ClassInfo.makePrototype(type)
        let second = type.init()
        var labels: [String] = []
        var mirror: Mirror? = Mirror(reflecting: first)
        while let level = mirror {
            labels.insert(contentsOf: level.children.map { $0.label ?? "" }, at: 0)
            mirror = level.superclassMirror
        }
        guard labels == fields.map(\.name), !fields.contains(where: { $0.name.isEmpty }) else {
            throw invalid("its properties cannot be read: its module must be built with reflection metadata and names")
        }

        var properties: [Property] = []
        var inverses:
            [(name: String, offset: Int, accessor: any Persistable.Type, origin: Object.Type, originProperty: String)] =
                []
        var hasPlainFields = false
        for field in fields.dropFirst(4) {
            guard let wrapper = field.type as? any AnyPersisted.Type else {
                hasPlainFields = true
                continue
            }
            let property = String(field.name.dropFirst())
            let accessor = wrapper.valueType
            let address = Unmanaged.passUnretained(first).toOpaque() + field.offset + accessor._indexOffset
            // A canary: every unmanaged wrapper holds it.
            guard field.name.first == "_", address.load(as: UInt32.self) == .max else {
                throw invalid("its place in memory is not what it should be", property)
            }
            guard !properties.contains(where: { $0.name == property }),
                !inverses.contains(where: { $0.name == property })
            else {
                throw invalid("a superclass has a property of that name", property)
            }
            let type = accessor._type
            if type.isInverse {
                guard let origin = type.linked, let name = accessor._originProperty(first, field.offset) else {
                    throw invalid(
                        "the inverse of which link it is must be said: @Persisted(originProperty: \"…\")", property)
                }
                inverses.append((property, field.offset, accessor, origin, name))
                continue
            }
            let flags = accessor._flags(first, field.offset)
            guard !type.needsDefault || flags & Persisted<Int>._hasDefault != 0 else {
                throw invalid(
                    "not every value that can be stored is one of its type, \(accessor): it needs a default, or to be "
                        + "optional", property)
            }
            properties.append(
                Property(
                    name: property, offset: field.offset, index: UInt32(properties.count), type: type,
                    accessor: accessor,
                    flags: flags))
        }

        var defaultProperties: [Int] = []
        for index in properties.indices where properties[index].hasDefault {
            let property = properties[index]
            // What a new object begins with is inserted when it is stored: the schema knows only empty ones.
            if property.type.isCollection {
                properties[index].hasChangingDefault = true
                continue
            }
            // An object of its own for each.
            if property.type.linked != nil {
                properties[index].hasChangingDefault =
                    ClassInfo.unwrap(property.accessor._anyValue(first, property.offset)) != nil
                continue
            }
            if property.holdsObject(in: first) {
                properties[index].hasChangingDefault = true
                continue
            }
            let encoder = _RowEncoder(), other = _RowEncoder()
            property.accessor._encode(first, property.offset, encoder)
            property.accessor._encode(second, property.offset, other)
            let isSame = try ClassInfo.isSame(encoder, other)
            // A primary key has no default in the schema.
            if property.isPrimaryKey || !isSame {
                properties[index].hasChangingDefault = true
                continue
            }
            defaultProperties.append(index)
        }
        self.type = type
        self.name = name
        self.properties = properties
        prototype = first
        self.defaultProperties = defaultProperties
        primaryKey = properties.first(where: \.isPrimaryKey)
        key =
            primaryKey.map { [$0] } ?? type.indexes.first(where: \.isPrimaryKey)?.properties.compactMap { part in
                properties.first { $0.name == part }
            } ?? []
        mixed = properties.filter { $0.type.valueKind == .mixed }
        references = properties.filter { $0.type.hasLinks || $0.type.valueKind == .mixed }
        isEmbedded = type is EmbeddedObject.Type
        isFlat = !properties.contains { $0.type.isCollection || $0.type.linked != nil }
        self.inverses = inverses.enumerated().map { number, inverse in
            Inverse(
                name: inverse.name, offset: inverse.offset, index: UInt32(properties.count + number),
                accessor: inverse.accessor,
                origin: inverse.origin, originProperty: inverse.originProperty)
        }
        var byName = Dictionary(uniqueKeysWithValues: properties.enumerated().map { ($1.name, $0) })
        // Those of the file are taken, too; that they meet others' is refused with the schema.
        for (name, storedName) in type.storedNames where byName[storedName] == nil { byName[storedName] = byName[name] }
        self.byName = byName
        let offsets = UnsafeMutableBufferPointer<Int>.allocate(capacity: properties.count + inverses.count)
        _ = offsets.initialize(
            fromContentsOf: properties.map { $0.offset + $0.accessor._indexOffset }
                + inverses.map { $0.offset + $0.accessor._indexOffset })
        indexOffsets = UnsafeBufferPointer(offsets)
        // Plain fields have defaults of their own, and `init()` may make other objects: both must get theirs.
        skipsDefaults = !hasPlainFields && initCount == properties.count(where: \.hasDefault)
    }

    private static func isSame(_ first: _RowEncoder, _ second: _RowEncoder) throws(ObjStoreError) -> Bool {
        var isSame = false
        try first.withValue { (first) throws(StoreError) in
            let owned = OwnedValue(first)
            do throws(ObjStoreError) {
                try second.withValue { (second) throws(StoreError) in isSame = owned.value.isSame(as: second) }
            } catch {
                throw StoreError(.internalError, error.message)
            }
        }
        return isSame
    }

    /// An object, and how many default expressions were evaluated to make it.
    private static func makePrototype(_ type: Object.Type) -> (object: Object, defaults: Int) {
        let mode = cr_set_defaults(Int32(CR_DEFAULTS_COUNTED))
        let count = cr_exchange_defaults_count(0)
        let object = type.init()
        let evaluated = cr_exchange_defaults_count(count)
        _ = cr_set_defaults(mode)
        return (object, Int(evaluated))
    }

    private static func fields(of type: Object.Type) -> [(name: String, offset: Int, type: Any.Type)] {
        let metadata = unsafeBitCast(type, to: UnsafeRawPointer.self)
        return (0..<swift_reflectionMirror_recursiveCount(metadata)).compactMap { index in
            var field = cr_field()
            guard let fieldType = swift_reflectionMirror_recursiveChildMetadata(metadata, index, &field) else {
                return nil
            }
            defer { field.free_name?(field.name) }
            return (
                field.name.map { String(cString: $0) } ?? "",
                swift_reflectionMirror_recursiveChildOffset(metadata, index),
                unsafeBitCast(fieldType, to: Any.Type.self)
            )
        }
    }

    // MARK: Schema

    func describe(in draft: inout SchemaDraft) throws(ObjStoreError) {
        do throws(StoreError) {
            try draft.addClass(name)
            if isEmbedded { try draft.setEmbedded(name, true) }
            for property in properties {
                if property.type.isCollection {
                    let target = property.type.linked.map { ClassInfo.name(of: $0) }
                    if let target, property.type.valueKind == .map, !property.type.elements.isNullable {
                        throw StoreError(
                            .invalidSchema,
                            """
                            \(name).\(property.name): links in a map are optional, Map<…, \(target)?>: they become \
                            nil when their object is deleted
                            """
                        ).at(class: name, property: property.name)
                    }
                    try draft.addCollection(
                        name, property.name, property.type.valueKind, property.type.elements, target: target,
                        property.declaredFlags)
                    try setEnumerations(property, in: &draft)
                    continue
                }
                if let target = property.type.linked {
                    try draft.addLink(name, property.name, to: ClassInfo.name(of: target), property.declaredFlags)
                } else {
                    try draft.addProperty(name, property.name, property.type.valueKind, property.declaredFlags)
                    try setEnumerations(property, in: &draft)
                }
            }
            for (property, formerName) in type.formerNames { try draft.addFormerName(name, property, formerName) }
            for (property, storedName) in type.storedNames { try draft.setStoredName(name, property, storedName) }
            if let storedName = type.storedName { try draft.setStoredName(name, storedName) }
            for inverse in inverses {
                try draft.addInverse(
                    name, inverse.name, ofClass: ClassInfo.name(of: inverse.origin), inverse.originProperty)
            }
            for index in type.indexes { try draft.addIndex(name, index.properties, index.flags) }
        } catch {
            throw ObjStoreError(error)
        }
        for index in defaultProperties {
            let property = properties[index]
            let encoder = _RowEncoder()
            prototypeLock.withLock { property.accessor._encode(prototype, property.offset, encoder) }
            try encoder.withValue { (value) throws(StoreError) in
                // an optional is nil by default anyway.
                if !value.isNull { try draft.setDefault(name, property.name, value) }
            }
        }
    }

    private func setEnumerations(_ property: Property, in draft: inout SchemaDraft) throws(StoreError) {
        for (range, areKeys) in [(property.type.range, false), (property.type.keyRange, true)] {
            if let range { try draft.setRange(name, property.name, areKeys: areKeys, range) }
        }
        for (cases, areKeys) in [(property.type.cases, false), (property.type.keyCases, true)] {
            guard let cases else { continue }
            let encoder = _RowEncoder()
            cases(encoder)
            let count = encoder.count
            var result = Result<Void, StoreError>.success(())
            encoder.drain { _, values in
                let values = Array(UnsafeBufferPointer(start: values, count: count))
                // Raw values of other kinds have no bounds.
                guard let first = values.first, first.kind == .int || first.kind == .string else { return }
                result = Result { () throws(StoreError) in
                    try draft.setEnumeration(name, property.name, areKeys: areKeys, values)
                }
            }
            try result.get()
        }
    }

    /// What a new object has in a property that is stored.
    func initialValue(_ index: Int) -> Any? {
        guard index < properties.count else { return nil }
        let property = properties[index]
        return prototypeLock.withLock { () -> Any in property.accessor._anyValue(prototype, property.offset) }
    }

    // MARK: Properties by name

    func find(_ name: String) -> Property? { byName[name].map { properties[$0] } }

    func property(named name: String) throws(ObjStoreError) -> Property {
        if let property = find(name) { return property }
        let what =
            inverse(named: name) != nil
            ? "\(self.name).\(name) is an inverse, not a property that is stored: it follows the links that lead here"
            : """
            class \(self.name) does not have a property \(name); it has \
            \(properties.map(\.name).joined(separator: ", "))
            """
        throw ObjStoreError(.noSuchProperty, what, class: self.name, property: name)
    }

    /// Of a property, or an inverse, by its index.
    func accessor(_ index: Int) -> (any Persistable.Type)? {
        if index < properties.count { return properties[index].accessor }
        let number = index - properties.count
        return number < inverses.count ? inverses[number].accessor : nil
    }

    /// The inverse of a link that leads to this class, where it is one of the models.
    func inverse(named name: String) -> Inverse? { inverses.first { $0.name == name } }

    func assign(_ value: Any?, _ property: Property, of object: Object) throws(ObjStoreError) {
        guard property.accessor._assign(value.flatMap { ClassInfo.unwrap($0) }, to: object, property.offset) else {
            throw wrongType(property, value)
        }
    }
}

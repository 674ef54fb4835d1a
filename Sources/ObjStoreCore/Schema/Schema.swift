/// The classes of a store, as the file has them.
///
/// Class ids and column ids are given in order of appearance and never reused: a renamed property keeps its
/// id, a dropped one leaves a gap. Immutable once made, so that every thread may read it.
package final class Schema: Sendable {
    package let classes: [ClassSchema]
    /// The application's number; a migration raises it.
    package let version: UInt64
    private let byName: [String: Int]
    let linkReaches = LinkReaches()
    /// `classes` without reference counting, for callers that keep the schema alive.
    nonisolated(unsafe) let table: UnsafeBufferPointer<Unmanaged<ClassSchema>>
    /// By class index: the links, and the collections of links, of all classes that lead to it.
    let incoming: [[IncomingLink]]
    /// By class index: the properties whose targets go when their object is deleted.
    let owning: [[OwningLink]]
    /// The mixed properties, and the collections of mixed elements, of all classes: they may link to any.
    let mixedOrigins: [MixedOrigin]

    package init(classes: [ClassSchema], version: UInt64) {
        self.classes = classes
        let table = UnsafeMutableBufferPointer<Unmanaged<ClassSchema>>.allocate(capacity: classes.count)
        for (index, cls) in classes.enumerated() {
            table.initializeElement(at: index, to: Unmanaged.passUnretained(cls))
        }
        self.table = UnsafeBufferPointer(table)
        self.version = version
        var incoming = Array(repeating: [IncomingLink](), count: classes.count)
        for (index, cls) in classes.enumerated() {
            for (position, property) in cls.properties.enumerated() {
                if let target = property.target {
                    incoming[target].append(
                        IncomingLink(classIndex: index, property: position, isCollection: property.kind.isCollection))
                }
            }
        }
        self.incoming = incoming
        mixedOrigins = classes.enumerated().flatMap { index, cls in
            cls.isDropped
                ? [] : cls.mixed.enumerated().map { MixedOrigin(classIndex: index, property: $1, position: $0) }
        }
        owning = classes.map { cls in
            cls.properties.enumerated().compactMap { position, property in
                guard let target = property.target, property.isCascading || classes[target].isEmbedded else {
                    return nil
                }
                return OwningLink(
                    property: position, target: target, isCollection: property.kind.isCollection,
                    isEmbedding: classes[target].isEmbedded)
            }
        }
        byName = Dictionary(uniqueKeysWithValues: classes.enumerated().filter { !$1.isDropped }.map { ($1.name, $0) })
    }

    deinit { table.deallocate() }

    /// For messages: what has been dropped since `older` keeps its name. Before anybody else has the schema.
    func keepNames(of older: Schema) {
        for (cls, before) in zip(classes, older.classes) { cls.keepNames(of: before) }
    }

    /// Without those that were dropped.
    var livingClasses: [ClassSchema] { classes.filter { !$0.isDropped } }

    package func classIndex(named name: String) -> Int? { byName[name] }
}

/// A mixed property, or a collection of mixed elements.
struct MixedOrigin: Sendable {
    let classIndex: Int
    /// Position in that class.
    let property: Int
    /// Position in `ClassSchema.mixedInverses`.
    let position: Int
}

/// A link property, or a collection of links, as the class that it leads to sees it.
struct IncomingLink: Sendable {
    /// Of the class that has the property.
    let classIndex: Int
    /// Position in that class.
    let property: Int
    let isCollection: Bool
}

/// A link property, or a collection of links, as its own class sees it, if what it leads to goes with its object.
struct OwningLink: Sendable {
    /// Position in the class.
    let property: Int
    /// Index of the class that it leads to.
    let target: Int
    let isCollection: Bool
    /// The targets are embedded: they also go when the link does.
    let isEmbedding: Bool
}

/// One class: its properties in the order in which they were declared.
package final class ClassSchema: Sendable {
    /// The longest text or binary that is a primary key, or key of a map, in bytes.
    static let longestKey = 1024

    package let name: String
    /// Position in `Schema.classes`, and class id in objects.
    package let id: UInt32
    package let properties: [PropertySchema]
    /// Each of its objects lies in one property of one other object, its parent, and goes with it.
    package let isEmbedded: Bool
    /// In a migration: objects may get other primary keys, and have one together till its end.
    let hasLooseKey: Bool
    /// In a migration: it has a primary key at its end, of the values that its objects have by then.
    let getsKey: Bool
    /// In a migration: it is embedded at its end, and its objects may have parents by then.
    let becomesEmbedded: Bool
    /// It was dropped with all that it had: what is left keeps its id from being given out again.
    package let isDropped: Bool
    /// The columns as trees see them, in the order of `properties`; valid as long as this object.
    package nonisolated(unsafe) let columns: UnsafeBufferPointer<ColumnSpec>
    /// Position of the primary key in `properties`, if that is one property.
    package let primaryKey: Int?
    /// Position in `indexes` of that of the primary key, of one property or several.
    package let keyIndex: Int?
    /// The primary key's first, then those of other properties, mixed ones last, then compound ones.
    package let indexes: [IndexSchema]
    /// How many of them have plain values: all but those of mixed properties and compound ones.
    package let plainIndexes: Int
    /// Positions in `indexes` of those that are unique beside the primary key.
    let constraints: [Int]
    /// Positions of the properties that are lists, sets or maps; the order of `ClassNode`'s collection trees.
    package let collections: [Int]
    /// Some property is mixed: its values are converted on their way in.
    package let hasMixed: Bool
    /// Of collections of links: which owners have which object among their elements. They are behind `indexes` in
    /// `ClassNode`.
    package let inverses: [IndexSchema]
    /// Positions of the mixed properties and of the collections of mixed elements, and of each the inverse of the links
    /// in its values. They are behind `inverses` in `ClassNode`, whose node may be older than they.
    let mixed: [Int]
    package let mixedInverses: [IndexSchema]
    /// The order of `ClassNode`'s entries.
    var allIndexes: [IndexSchema] { indexes + inverses + mixedInverses }
    package let nextColumnID: UInt32
    /// Id of the next compound index.
    package let nextIndexID: UInt32
    private let byName: [String: Int]
    /// For messages: names, by column, that properties had which are not here any more, as far as this process knows;
    /// under 0xffff the name of the class itself. Not changed once others have the schema.
    private nonisolated(unsafe) var formerNames: [UInt32: String] = [:]
    /// For each property the position in `indexes` of its own one, if that is plain, or -1.
    private nonisolated(unsafe) let indexPositions: UnsafePointer<Int>
    /// The same, but `changesTogether` where a change has more to do than to move one pair in one index.
    private nonisolated(unsafe) let changePlans: UnsafePointer<Int>
    /// For each property whether it is the primary key, or part of it.
    private nonisolated(unsafe) let keyParts: UnsafePointer<Bool>
    /// For each property its positions in `collections` and in `inverses` (or -1) and its elements, without reference
    /// counting.
    private nonisolated(unsafe) let collectionTable:
        UnsafePointer<(position: Int, inverse: Int, elements: ElementSchema)>

    /// - Parameter compounds: in the order of their ids.
    package init(
        name: String, id: UInt32, properties: [PropertySchema], nextColumnID: UInt32, compounds: [IndexSchema] = [],
        nextIndexID: UInt32 = IndexSchema.firstCompoundID, isEmbedded: Bool = false, isDropped: Bool = false,
        hasLooseKey: Bool = false,
        getsKey: Bool = false, becomesEmbedded: Bool = false
    ) {
        self.hasLooseKey = hasLooseKey
        self.getsKey = getsKey
        self.becomesEmbedded = becomesEmbedded
        self.name = name
        self.id = id
        self.isEmbedded = isEmbedded
        self.isDropped = isDropped
        self.properties = properties
        self.nextColumnID = nextColumnID
        let specs = UnsafeMutableBufferPointer<ColumnSpec>.allocate(capacity: properties.count)
        for (index, property) in properties.enumerated() {
            specs.initializeElement(
                at: index,
                to: ColumnSpec(
                    id: property.columnID, kind: property.kind, nullable: property.isNullable,
                    fill: property.fill.value,
                    target: property.target.map { ClassID.of($0) } ?? 0))
        }
        columns = UnsafeBufferPointer(specs)
        primaryKey = properties.firstIndex { $0.isPrimaryKey }
        hasMixed = properties.contains { $0.kind == .mixed }
        collections = properties.indices.filter { properties[$0].kind.isCollection }
        inverses = collections.filter { properties[$0].elements?.kind == .link }.map {
            IndexSchema(properties[$0], at: $0)
        }
        mixed = properties.indices.filter { properties[$0].kind == .mixed || properties[$0].elements?.kind == .mixed }
        mixedInverses = mixed.map { IndexSchema(inverseOfMixed: properties[$0], at: $0) }
        let others = properties.indices.filter { properties[$0].hasIndex && !properties[$0].isPrimaryKey }
        let singles = (properties.indices.filter { properties[$0].isPrimaryKey } + others).map {
            IndexSchema(properties[$0], at: $0)
        }
        let plain = singles.filter { !$0.isEncoded }
        indexes = plain + singles.filter(\.isEncoded) + compounds.map { $0.of { properties[$0].kind } }
        plainIndexes = plain.count
        constraints = indexes.indices.filter { [indexes] in indexes[$0].isConstraint }
        keyIndex = indexes.firstIndex { $0.isPrimaryKey }
        let parts = UnsafeMutablePointer<Bool>.allocate(capacity: max(1, properties.count))
        parts.initialize(repeating: false, count: max(1, properties.count))
        for index in indexes where index.isPrimaryKey { for property in index.properties { parts[property] = true } }
        keyParts = UnsafePointer(parts)
        self.nextIndexID = nextIndexID
        let positions = UnsafeMutablePointer<Int>.allocate(capacity: max(1, properties.count) * 2)
        positions.initialize(repeating: -1, count: max(1, properties.count) * 2)
        let plans = positions + max(1, properties.count)
        for property in mixed where properties[property].kind == .mixed { plans[property] = ClassSchema.mayLink }
        for (position, index) in indexes.enumerated() {
            let isTogether = index.isConstraint || index.isEncoded || hasLooseKey && index.isPrimaryKey
            for property in index.properties { plans[property] = isTogether ? ClassSchema.changesTogether : position }
            if !index.isEncoded { positions[index.first] = position }
        }
        indexPositions = UnsafePointer(positions)
        changePlans = UnsafePointer(plans)
        let table = UnsafeMutablePointer<(position: Int, inverse: Int, elements: ElementSchema)>.allocate(
            capacity: max(1, properties.count))
        table.initialize(repeating: (-1, -1, ElementSchema(kind: .null)), count: max(1, properties.count))
        for (position, property) in collections.enumerated() {
            if let elements = properties[property].elements { table[property] = (position, -1, elements) }
        }
        for (position, inverse) in inverses.enumerated() { table[inverse.first].inverse = position }
        collectionTable = UnsafePointer(table)
        byName = Dictionary(uniqueKeysWithValues: properties.enumerated().map { ($1.name, $0) })
    }

    deinit {
        columns.deallocate()
        collectionTable.deallocate()
        indexPositions.deallocate()
        keyParts.deallocate()
    }

    package func propertyIndex(named name: String) -> Int? { byName[name] }

    fileprivate func keepNames(of before: ClassSchema) {
        formerNames = before.formerNames
        for property in before.properties where !properties.contains(where: { $0.columnID == property.columnID }) {
            formerNames[property.columnID] = property.name
        }
        if isDropped, !before.isDropped { formerNames[ClassSchema.ownName] = before.name }
    }

    private static let ownName: UInt32 = 0xffff
    func formerName(ofColumn column: UInt32) -> String? { formerNames[column] }
    var formerName: String? { formerNames[ClassSchema.ownName] }

    var noPrimaryKey: StoreError {
        let what =
            getsKey
            ? "has no primary key before the migration is over: it is made of the values that its objects have then"
            : "does not have a primary key"
        return StoreError(.noPrimaryKey, "class \(name) \(what)").at(class: name)
    }

    /// Whether a property is the primary key, or part of it, and stays what it is.
    @inline(__always)
    func isKeyPart(_ property: Int) -> Bool { keyParts[property] && !hasLooseKey }
    /// The same where it may change.
    @inline(__always)
    func isOfKey(_ property: Int) -> Bool { keyParts[property] }
    /// Position in `collections`; nil where the property is none.
    @inline(__always)
    package func collectionPosition(of property: Int) -> Int? {
        let position = collectionTable[property].position
        return position < 0 ? nil : position
    }
    /// Position in `inverses`; nil where the property is no collection of links.
    @inline(__always)
    func inversePosition(of property: Int) -> Int? {
        let position = collectionTable[property].inverse
        return position < 0 ? nil : position
    }
    /// Position in `mixed` and `mixedInverses`; nil where neither the property nor its elements are mixed.
    func mixedPosition(of property: Int) -> Int? { mixed.firstIndex(of: property) }
    /// What the elements of a collection are.
    @inline(__always)
    package func elements(of property: Int) -> ElementSchema { collectionTable[property].elements }

    static let changesTogether = -2
    static let mayLink = -3
    /// What a change of a property has to do with indexes: the position of the one that has its values, -1 where there
    /// is none, `changesTogether`, or `mayLink` of a mixed one: its values may have links.
    @inline(__always) func changePlan(_ property: Int) -> Int { changePlans[property] }
    @inline(__always) var hasEncodedIndexes: Bool { indexes.count != plainIndexes }

    /// Position in `indexes` of the index of a mixed property alone.
    func encodedIndexPosition(of property: Int) -> Int? {
        indexes[plainIndexes...].firstIndex { !$0.isCompound && $0.first == property }
    }

    /// Position in `indexes` of the index of a property alone, whose keys are its values.
    @inline(__always)
    package func indexPosition(of property: Int) -> Int? {
        let position = indexPositions[property]
        return position < 0 ? nil : position
    }
}

/// One property of a class.
package struct PropertySchema: Sendable {
    package var name: String
    package var kind: ValueKind
    package var columnID: UInt32
    package var isNullable: Bool
    package var isPrimaryKey: Bool
    /// It was requested; links have one anyway.
    package var isIndexed: Bool
    /// Of a link, or a collection of links: the index of the class that it leads to; else nil.
    package var target: Int?
    /// No two objects have the same value; has an index, too.
    package var isUnique: Bool
    /// Of a link, or a collection of links: deleting its object deletes what it leads to.
    package var isCascading: Bool
    /// An object that is created without a value gets a new one, which no other has.
    package var isGenerated: Bool
    /// Of an int: it is meant to be added to.
    package var isCounter: Bool
    /// Of a string: words are searched for in it.
    package var isFullText: Bool
    /// Beside that of a primary key.
    var hasIndex: Bool { isIndexed || isUnique || kind == .link }
    /// What a new object gets where the application gives nothing; nil: a value is required.
    package var defaultValue: OwnedValue?
    /// What rows read that were written before the property was added; never changes.
    package var fill: OwnedValue
    /// Of lists, sets and maps.
    package var elements: ElementSchema?

    package init(
        name: String, kind: ValueKind, columnID: UInt32 = 0, isNullable: Bool = false, isPrimaryKey: Bool = false,
        isIndexed: Bool = false, isUnique: Bool = false, target: Int? = nil, isCascading: Bool = false,
        isGenerated: Bool = false,
        isCounter: Bool = false, isFullText: Bool = false, defaultValue: OwnedValue? = nil, fill: OwnedValue? = nil,
        elements: ElementSchema? = nil
    ) {
        self.isCascading = isCascading; self.isGenerated = isGenerated; self.isCounter = isCounter
        self.isFullText = isFullText
        self.elements = elements
        self.name = name; self.kind = kind; self.columnID = columnID; self.isNullable = isNullable
        self.isPrimaryKey = isPrimaryKey; self.isIndexed = isIndexed; self.isUnique = isUnique; self.target = target
        self.defaultValue = defaultValue
        // Objects that give a collection no elements have an empty one.
        if kind.isCollection { self.defaultValue = OwnedValue(.zero(of: kind)) }
        self.fill = fill ?? defaultValue ?? OwnedValue(isNullable ? .null : Value.zero(of: kind))
    }
}

/// What the elements of a list, set or map are.
package struct ElementSchema: Sendable, Equatable {
    package var kind: ValueKind
    package var isNullable: Bool
    /// Of maps: int, string, object id or uuid; else null.
    package var keyKind: ValueKind

    package init(kind: ValueKind, isNullable: Bool = false, keyKind: ValueKind = .null) {
        self.kind = kind; self.isNullable = isNullable; self.keyKind = keyKind
    }
}

extension Value {
    /// The value that means "nothing was given" in a property that cannot be null: 0, false, no bytes, all bytes
    /// 0.
    package static func zero(of kind: ValueKind) -> Value {
        switch kind {
        case .decimal128: .decimal128(.zero)
        case .objectID: Value(kind: .objectID, low: .min)
        case .uuid: Value(kind: .uuid, low: .min, high: .min)
        default: Value(kind: kind)
        }
    }
}

extension Schema {
    /// Throws if the schema requires what this library cannot write: it was not written by one, or only seems whole.
    func checkWritable() throws(StoreError) {
        for cls in classes {
            for property in cls.properties where !property.kind.isStorable {
                throw StoreError(
                    .corrupt, "the schema has a type that this library does not know: \(cls.name).\(property.name)")
            }
            guard Set(cls.properties.map(\.columnID)).count == cls.properties.count,
                cls.properties.count(where: \.isPrimaryKey) <= 1
            else {
                throw StoreError(.corrupt, "the schema contradicts itself: class \(cls.name)")
            }
        }
    }
}

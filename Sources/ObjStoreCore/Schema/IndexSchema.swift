/// One ordered index of a class: the properties that it is over, and whether two objects may have the same values
/// there.
///
/// ```
///                 key in the tree                              id
///  one property   the value itself                             the property's column id
///  a mixed one    the value, encoded (`IndexKey`)              the same
///  compound       the values encoded one after another         firstCompoundID + a number of its own
///                 (`IndexKey`), an index of binaries
///  inverse of a   the linked objects (`MixedInverse`)              firstMixedID + the property's column id
///  mixed one
/// ```
/// No id is given out twice in a class. What an index has for an object is decided by `extract` alone.
package struct IndexSchema: Sendable {
    package let id: UInt32
    /// Positions in the class; 2 to 8 of a compound one.
    package let properties: [Int]
    /// Of the keys in its tree.
    package let kind: ValueKind
    package let isUnique: Bool
    /// Its values are the primary key of the objects: that of one property, or a unique compound one.
    package let isPrimaryKey: Bool
    package let isCompound: Bool
    /// Keys are made by `IndexKey`: of a compound one, and of a mixed property.
    let isEncoded: Bool
    /// Of an encoded one: which of `properties` are mixed, a bit each.
    private var mixedParts: UInt8 = 0
    /// Of a collection of links: it has the objects that are linked to, and how many times (`InverseWriter`). It is
    /// none of `ClassSchema.indexes`, and nothing can be extracted for it from the row alone.
    let isInverse: Bool
    /// The first of `properties`.
    package let first: Int

    /// Beyond all column ids.
    package static let firstCompoundID: UInt32 = 1 << 16
    /// The inverse of a mixed property: this, and the column id. Beyond all compound ones.
    static let firstMixedID: UInt32 = 3 << 16
    /// Beyond all ids; see `IndexID`.
    static let endOfIDs: UInt32 = 1 << 18
    static let mostProperties = 8

    /// A compound one.
    package init(id: UInt32, properties: [Int], isUnique: Bool, isPrimaryKey: Bool = false) {
        self.id = id
        self.properties = properties
        self.isUnique = isUnique
        kind = .binary
        self.isPrimaryKey = isPrimaryKey
        isCompound = true
        isEncoded = true
        isInverse = false
        first = properties[0]
    }

    /// The inverse of the links in the values of a mixed property.
    init(inverseOfMixed property: PropertySchema, at position: Int) {
        id = IndexSchema.firstMixedID + property.columnID
        properties = [position]
        isInverse = true
        isEncoded = false
        kind = .objectID
        isUnique = false
        isPrimaryKey = false
        isCompound = false
        first = position
    }

    /// That of one property, or the inverse of a collection of links.
    init(_ property: PropertySchema, at position: Int) {
        id = property.columnID
        properties = [position]
        isInverse = property.kind.isCollection
        isEncoded = property.kind == .mixed
        kind = isInverse ? .link : isEncoded ? .binary : property.kind
        isUnique = property.isPrimaryKey || property.isUnique
        isPrimaryKey = property.isPrimaryKey
        isCompound = false
        first = position
        if isEncoded { mixedParts = 1 }
    }

    /// The same of properties of these kinds, in the order of the class.
    func of(_ kinds: (Int) -> ValueKind) -> IndexSchema {
        var index = self
        for (place, property) in properties.enumerated() where kinds(property) == .mixed {
            index.mixedParts |= 1 << UInt8(place)
        }
        return index
    }

    /// Adds the value of one of its properties, by its place among them, to a key.
    @inline(__always)
    func append(_ value: Value, at place: Int, to key: IndexKey) throws(StoreError) {
        if _slowPath(mixedParts >> UInt8(place) & 1 != 0) {
            try key.append(mixed: value)
        } else {
            try key.append(value)
        }
    }

    /// Unique, and not by being the primary key of one property, which is looked up where objects are created.
    var isConstraint: Bool { isUnique && !isKeyAlone }

    /// The primary key of one property. Its tree is unique: also null is one object's.
    var isKeyAlone: Bool { isPrimaryKey && !isCompound }

    /// What the index has for an object, whose values `value` gives by position. A compound key lies in `key` until
    /// that is used again. `.valueTooLarge` where it would be too long.
    @inline(__always)
    func extract(
        _ objectKey: Int64, into key: IndexKey, _ value: (Int) throws(StoreError) -> Value
    ) throws(StoreError) -> Value {
        if !isEncoded { return try value(first) }
        key.removeAll()
        for (place, property) in properties.enumerated() { try append(try value(property), at: place, to: key) }
        // Nulls make no two objects the same: no other object has this key.
        if isUnique && key.hasNull { try key.append(objectKey: objectKey) }
        return key.value
    }

    /// Whether other objects may have what `extract` gave, though the index is unique. A primary key of null is one
    /// object's.
    @inline(__always)
    func isShared(_ value: Value, _ key: IndexKey) -> Bool { value.isNull && !isKeyAlone || isEncoded && key.hasNull }
}

extension ClassSchema {
    /// For messages: "Person.age", "Person.(last, first)".
    func name(of index: IndexSchema) -> String {
        index.isCompound ? "\(name).(\(names(of: index)))" : "\(name).\(names(of: index))"
    }

    /// "age", "last, first".
    func names(of index: IndexSchema) -> String { index.properties.map { properties[$0].name }.joined(separator: ", ") }

    /// "age = 5", "last = \"Gray\", first = \"Ada\"".
    func text(of index: IndexSchema, _ value: (Int) throws(StoreError) -> Value) throws(StoreError) -> String {
        var parts: [String] = []
        for property in index.properties { parts.append("\(properties[property].name) = \(try value(property).text)") }
        return parts.joined(separator: ", ")
    }
}

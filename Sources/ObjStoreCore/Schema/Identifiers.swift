/// An object as applications know it: a plain value, the layout of `objstore_object`.
public struct ObjectID: Hashable, Sendable, BitwiseCopyable {
    /// See `ClassID`; 0 = no object.
    public var classID: UInt32
    /// Which store; see `SharedStore.tag`.
    public var storeTag: UInt32
    public var key: Int64

    @inline(__always)
    public init(classID: UInt32, storeTag: UInt32, key: Int64) {
        self.classID = classID
        self.storeTag = storeTag
        self.key = key
    }
    public static let none = ObjectID(classID: 0, storeTag: 0, key: 0)

    /// The error of one that is not of the store that it was given to.
    @inline(never)
    var wrongStore: StoreError {
        if self == .none { return StoreError(.noSuchObject, "no object was given: all its bytes are zero") }
        if Value.link(self).isNode {
            return StoreError(.wrongStore, "a reference to a node has a meaning in a graph alone, and as a link there")
        }
        return StoreError(.wrongStore, "the object is of another store (its tag is \(storeTag))")
    }
}

extension Value {
    /// A link to an object; what can be written is said by `ObjectWriter.checkLink`.
    @inline(__always)
    package static func link(_ object: ObjectID) -> Value {
        Value(
            kind: .link, low: object.key,
            high: Int64(bitPattern: UInt64(object.storeTag) &<< 32 | UInt64(object.classID)))
    }

    /// The object of a link that was read in a store with that tag.
    @inline(__always)
    package func linkedObject(storeTag: UInt32) -> ObjectID {
        ObjectID(classID: UInt32(truncatingIfNeeded: high), storeTag: storeTag, key: low)
    }

    /// The object of a link that an application gave.
    var givenObject: ObjectID { linkedObject(storeTag: UInt32(truncatingIfNeeded: high &>> 32)) }
}

/// Class ids of the interfaces: position in the schema + 1, so that 0 is none.
package enum ClassID {
    @inline(__always) static func of(_ index: Int) -> UInt32 { UInt32(truncatingIfNeeded: index &+ 1) }
    @inline(__always) package static func index(_ id: UInt32) -> Int { Int(id) &- 1 }
}

/// Property ids of the interfaces: class id << 16 | column id + 1. No property id is a class id or a property
/// of another class, and none changes when properties are added, dropped or renamed.
enum PropertyID {
    @inline(__always) static func of(_ classIndex: UInt32, _ column: UInt32) -> UInt32 {
        (classIndex &+ 1) &<< 16 | (column &+ 1)
    }
    @inline(__always) static func classIndex(_ id: UInt32) -> Int { Int(id &>> 16) &- 1 }

    /// The position of the property in its class; nil where the id is none of that class.
    @inline(__always)
    static func position(_ id: UInt32, _ classIndex: UInt32, _ columns: UnsafeBufferPointer<ColumnSpec>) -> Int? {
        guard id &>> 16 == classIndex &+ 1 else { return nil }
        let column = (id & 0xffff) &- 1
        let guess = Int(column)
        // Right unless properties were dropped.
        if _fastPath(guess < columns.count), columns.baseAddress.unsafelyUnwrapped[guess].id == column { return guess }
        return search(column, columns)
    }

    /// Columns ascend.
    @inline(never)
    private static func search(_ column: UInt32, _ columns: UnsafeBufferPointer<ColumnSpec>) -> Int? {
        var low = 0, high = columns.count
        while low < high {
            let middle = (low + high) >> 1
            if columns[middle].id < column { low = middle + 1 } else { high = middle }
        }
        return low < columns.count && columns[low].id == column ? low : nil
    }
}

/// Index ids of the interfaces: top bit · class id, 13 bits · id in the class, 18 bits. No class or property id is one.
enum IndexID {
    @inline(__always) static func of(_ classIndex: UInt32, _ id: UInt32) -> UInt32 {
        1 << 31 | (classIndex &+ 1) &<< 18 | id
    }
    @inline(__always) static func classIndex(_ id: UInt32) -> Int { id >> 31 == 0 ? -1 : Int(id &>> 18 & 0x1fff) &- 1 }
}

extension Schema {
    /// The class of an index, and its position there.
    func index(_ id: UInt32) throws(StoreError) -> (ClassSchema, Int) {
        let number = IndexID.classIndex(id)
        guard number >= 0, number < classes.count,
            let position = classes[number].indexes.firstIndex(where: { $0.id == id & (IndexSchema.endOfIDs - 1) })
        else {
            throw StoreError(.noSuchIndex, "no index has the id \(id)")
        }
        return (classes[number], position)
    }

    /// The same of a unique index. Errors: also `.invalidArgument`, for another.
    func uniqueIndex(_ id: UInt32) throws(StoreError) -> (cls: ClassSchema, position: Int) {
        let (cls, position) = try index(id)
        guard cls.indexes[position].isUnique else {
            throw StoreError(
                .invalidArgument,
                "the index \(cls.name(of: cls.indexes[position])) is not unique: several objects may have these values"
            ).at(class: cls.name)
        }
        return (cls, position)
    }

    func cls(_ id: UInt32) throws(StoreError) -> ClassSchema {
        let index = ClassID.index(id)
        guard index >= 0, index < classes.count, !classes[index].isDropped else { throw noSuchClass(id) }
        return classes[index]
    }

    /// The class of an object, if it is one of the store with that tag.
    @inline(__always)
    func cls(of object: ObjectID, in storeTag: UInt32) throws(StoreError) -> ClassSchema {
        guard _fastPath(object.storeTag == storeTag) else { throw object.wrongStore }
        let index = ClassID.index(object.classID)
        guard _fastPath(index >= 0 && index < classes.count && !classes[index].isDropped) else {
            throw noSuchClass(object.classID)
        }
        return classes[index]
    }

    /// A class and the position of one of its properties, by the id of the property alone.
    func property(_ id: UInt32) throws(StoreError) -> (cls: ClassSchema, position: Int) {
        let index = PropertyID.classIndex(id)
        guard index >= 0, index < classes.count else {
            throw StoreError(.noSuchProperty, "no property has the id \(id)")
        }
        return (classes[index], try classes[index].position(id))
    }

    /// Whether it has all of some properties.
    func has(_ propertyIDs: [UInt32]) -> Bool {
        propertyIDs.allSatisfy { (id) in
            let index = PropertyID.classIndex(id)
            return index >= 0 && index < classes.count
                && PropertyID.position(id, UInt32(index), classes[index].columns) != nil
        }
    }

    @inline(never)
    func noSuchClass(_ id: UInt32) -> StoreError {
        let index = ClassID.index(id)
        guard index >= 0, index < classes.count else { return StoreError(.noSuchClass, "no class has the id \(id)") }
        if let name = classes[index].formerName {
            return StoreError(.noSuchClass, "the class \(name) has been dropped").at(class: name)
        }
        return StoreError(.noSuchClass, "the class with the id \(id) has been dropped")
    }
}

extension ClassSchema {
    @inline(__always)
    func position(_ propertyID: UInt32) throws(StoreError) -> Int {
        guard let position = PropertyID.position(propertyID, id, columns) else { throw noSuchProperty(propertyID) }
        return position
    }

    func positions(_ propertyIDs: [UInt32]) throws(StoreError) -> [Int] {
        try propertyIDs.map { (id) throws(StoreError) in try position(id) }
    }

    @inline(never)
    func noSuchProperty(_ propertyID: UInt32) -> StoreError {
        let column = (propertyID & 0xffff) &- 1
        let wasDropped = propertyID &>> 16 == id &+ 1 && column < nextColumnID
        if wasDropped, let former = formerName(ofColumn: column) {
            return StoreError(.noSuchProperty, "\(name).\(former) was dropped meanwhile").at(
                class: name, property: former)
        }
        let what =
            wasDropped
            ? "has not got the property with the id \(propertyID) any more: it was dropped"
            : "does not have a property with the id \(propertyID)"
        return StoreError(.noSuchProperty, "class \(name) \(what)").at(class: name)
    }

    package var classID: UInt32 { ClassID.of(Int(id)) }
    package func propertyID(_ position: Int) -> UInt32 { PropertyID.of(id, columns[position].id) }

    @inline(never)
    func noSuchObject(_ key: Int64) -> StoreError {
        StoreError(.noSuchObject, "the object \(name)#\(key) was deleted or never existed").at(class: name)
    }

    /// An error that says nothing of the property yet.
    func naming(_ error: StoreError, _ property: Int) -> StoreError {
        named(error.prefixed("\(name).\(properties[property].name): "), property)
    }

    /// The same of one that may be about another object, of which it says all.
    func namingOnce(_ error: StoreError, _ property: Int) -> StoreError {
        error.className == nil ? naming(error, property) : error
    }

    func named(_ error: StoreError, _ property: Int) -> StoreError {
        error.at(class: name, property: properties[property].name)
    }
}

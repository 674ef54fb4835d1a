/// A class as applications see it.
package struct ClassInfo: Sendable {
    package let classID: UInt32
    package let name: String
    package let propertyCount: Int
    /// 0 = none, or one of several properties.
    package let primaryKey: UInt32
    /// The index of the primary key; 0 = none.
    package let keyIndex: UInt32
    package let isEmbedded: Bool
    /// Also of a class that becomes embedded, in the migration.
    package let hasParents: Bool
}

package struct PropertyInfo: Sendable {
    package let propertyID: UInt32
    package let classID: UInt32
    package let name: String
    package let kind: ValueKind
    /// Of a link or a collection of links: the class that it leads to; else 0.
    package let target: UInt32
    package let flags: SchemaDraft.Flags
    /// Its place in the class.
    package let index: Int
    /// Null where there is none; borrowed as long as the store is open.
    package let defaultValue: Value
    /// Of lists, sets and maps.
    package let elements: ElementSchema?
}

/// An index as applications see it.
package struct IndexInfo: Sendable {
    package let indexID: UInt32
    package let classID: UInt32
    package let isUnique: Bool
    package let isPrimaryKey: Bool
    /// Ids, in the order in which it compares.
    package let properties: [UInt32]
}

/// Classes, properties and indexes by name, id and place, as the view's version has them.
extension View {
    package func findClass(_ name: String) throws(StoreError) -> UInt32 {
        try serialised { () throws(StoreError) in
            guard let index = store.names.classIndex(name, try schema) else {
                throw StoreError(.noSuchClass, "there is no class \(name)").at(class: name)
            }
            return ClassID.of(index)
        }
    }

    package func findProperty(_ classID: UInt32, _ name: String) throws(StoreError) -> UInt32 {
        try serialised { () throws(StoreError) in
            let cls = try schema.cls(classID)
            guard let position = store.names.propertyIndex(name, cls) else {
                throw StoreError(.noSuchProperty, "class \(cls.name) does not have a property \(name)").at(
                    class: cls.name, property: name)
            }
            return cls.propertyID(position)
        }
    }

    package func classCount() throws(StoreError) -> Int {
        try serialised { () throws(StoreError) in try schema.livingClasses.count }
    }

    package func classInfo(at index: Int) throws(StoreError) -> ClassInfo {
        try serialised { () throws(StoreError) in
            let classes = try schema.livingClasses
            guard index >= 0, index < classes.count else {
                throw StoreError(.outOfRange, "class \(index) of \(classes.count)")
            }
            return info(classes[index])
        }
    }

    package func classInfo(_ classID: UInt32) throws(StoreError) -> ClassInfo {
        try serialised { () throws(StoreError) in info(try schema.cls(classID)) }
    }

    private func info(_ cls: ClassSchema) -> ClassInfo {
        ClassInfo(
            classID: cls.classID, name: store.names.name(cls), propertyCount: cls.properties.count,
            primaryKey: cls.primaryKey.map { cls.propertyID($0) } ?? 0,
            keyIndex: cls.keyIndex.map { IndexID.of(cls.id, cls.indexes[$0].id) } ?? 0, isEmbedded: cls.isEmbedded,
            hasParents: cls.isEmbedded || cls.becomesEmbedded)
    }

    package func propertyInfo(_ classID: UInt32, at index: Int) throws(StoreError) -> PropertyInfo {
        try serialised { () throws(StoreError) in
            let schema = try schema
            let cls = try schema.cls(classID)
            guard index >= 0, index < cls.properties.count else {
                throw StoreError(.outOfRange, "property \(index) of \(cls.properties.count) of class \(cls.name)").at(
                    class: cls.name)
            }
            return info(cls, index, schema)
        }
    }

    package func propertyInfo(_ propertyID: UInt32) throws(StoreError) -> PropertyInfo {
        try serialised { () throws(StoreError) in
            let schema = try schema
            let (cls, position) = try schema.property(propertyID)
            return info(cls, position, schema)
        }
    }

    /// The default of a property. (That of a mixed one was checked when the schema was read.)
    private static func shown(_ property: PropertySchema) -> Value {
        guard let value = property.defaultValue?.value, !property.kind.isCollection else { return .null }
        return property.kind == .mixed ? (try? MixedCell.value(value)) ?? .null : value
    }

    private func info(_ cls: ClassSchema, _ index: Int, _ schema: Schema) -> PropertyInfo {
        shared.keep(schema)
        let property = cls.properties[index]
        var flags: SchemaDraft.Flags = []
        if property.isPrimaryKey { flags.insert(.primaryKey) }
        if property.isIndexed { flags.insert(.indexed) }
        if property.isUnique { flags.insert(.unique) }
        if property.isCascading { flags.insert(.cascade) }
        if property.isGenerated { flags.insert(.generated) }
        if property.isCounter { flags.insert(.counter) }
        if property.isFullText { flags.insert(.fullText) }
        if property.isNullable || property.elements?.isNullable == true { flags.insert(.nullable) }
        if property.defaultValue != nil, !property.kind.isCollection { flags.insert(.hasDefault) }
        return PropertyInfo(
            propertyID: cls.propertyID(index), classID: cls.classID, name: store.names.name(cls, index),
            kind: property.kind, target: cls.columns[index].target,
            flags: flags, index: index, defaultValue: View.shown(property),
            elements: property.elements)
    }

    // MARK: Indexes

    package func indexCount(_ classID: UInt32) throws(StoreError) -> Int {
        try serialised { () throws(StoreError) in try schema.cls(classID).indexes.count }
    }

    /// The primary key's first, then those of other properties, then compound ones.
    package func indexInfo(_ classID: UInt32, at position: Int) throws(StoreError) -> IndexInfo {
        try serialised { () throws(StoreError) in
            let cls = try schema.cls(classID)
            guard position >= 0, position < cls.indexes.count else {
                throw StoreError(.outOfRange, "index \(position) of \(cls.indexes.count) of class \(cls.name)").at(
                    class: cls.name)
            }
            return View.info(cls, position)
        }
    }

    package func indexInfo(_ indexID: UInt32) throws(StoreError) -> IndexInfo {
        try serialised { () throws(StoreError) in
            let (cls, position) = try schema.index(indexID)
            return View.info(cls, position)
        }
    }

    private static func info(_ cls: ClassSchema, _ position: Int) -> IndexInfo {
        let index = cls.indexes[position]
        return IndexInfo(
            indexID: IndexID.of(cls.id, index.id), classID: cls.classID, isUnique: index.isUnique,
            isPrimaryKey: index.isPrimaryKey,
            properties: index.properties.map { cls.propertyID($0) })
    }

    /// The index of these properties, in this order.
    package func findIndex(_ classID: UInt32, _ properties: UnsafeBufferPointer<UInt32>) throws(StoreError) -> UInt32 {
        try serialised { () throws(StoreError) in
            let cls = try schema.cls(classID)
            var positions: [Int] = []
            for id in properties { positions.append(try cls.position(id)) }
            guard let index = cls.indexes.first(where: { $0.properties == positions }) else {
                let names = positions.map { cls.properties[$0].name }.joined(separator: ", ")
                throw StoreError(.noSuchIndex, "class \(cls.name) does not have an index of (\(names))").at(
                    class: cls.name, property: names)
            }
            return IndexID.of(cls.id, index.id)
        }
    }
}

/// The schema as the file stores it.
///
/// ```
/// schema version · classes × { name · next column id · count · properties × {
///                         name · kind · column id · flags · default? · fill · elements? · target? } [· indexes] }
/// flags: 1 nullable, 2 primary key, 4 indexed, 8 has a default, 16 has elements: their kind, 1 where they may be null,
///        kind of the keys, 32 unique, 64 cascades, of an int: is a counter, of a string: is full text, 128 is
///        generated. The target, of links and of collections of links only, is the index of a class. The kind of
///        elements that are links is 11 + 128: a library that does not know of their inverse meets an unknown kind.
/// traits   no name · 241 · 1: embedded, 2: dropped
/// indexes  no name · 240 · next index number · indexes × { number · flags · columns × column id }
///          flags: 1 unique, 2 primary key
/// ```
/// `indexes` follows where a class has, or had, compound indexes or unique properties, and counts as one more property:
/// a library that does not know it meets an unknown kind, and keeps away from a file whose constraints it would break.
/// So does `traits`, which embedded classes have, last of all. A class that was dropped has no name and nothing but its
/// traits.
package enum SchemaCodec {
    private static let indexes: UInt8 = 240
    private static let traits: UInt8 = 241
    private static let linkElements: UInt8 = ValueKind.link.rawValue | 0x80

    package static func append(_ schema: Schema, to buffer: ByteBuffer) throws(StoreError) {
        try buffer.appendVarint(schema.version)
        try buffer.appendVarint(UInt64(schema.classes.count))
        for cls in schema.classes { try append(cls, to: buffer) }
    }

    static func append(_ cls: ClassSchema, to buffer: ByteBuffer) throws(StoreError) {
        try buffer.append(text: cls.name)
        try buffer.appendVarint(UInt64(cls.nextColumnID))
        let hasIndexes = !cls.constraints.isEmpty || cls.nextIndexID > IndexSchema.firstCompoundID
        try buffer.appendVarint(
            UInt64(cls.properties.count + (hasIndexes ? 1 : 0) + (cls.isEmbedded || cls.isDropped ? 1 : 0)))
        for property in cls.properties {
            try buffer.append(text: property.name)
            try buffer.append(property.kind.rawValue)
            try buffer.appendVarint(UInt64(property.columnID))
            var flags: UInt8 = 0
            if property.isNullable { flags |= 1 }
            if property.isPrimaryKey { flags |= 2 }
            if property.isIndexed { flags |= 4 }
            if property.defaultValue != nil { flags |= 8 }
            if property.elements != nil { flags |= 16 }
            if property.isUnique { flags |= 32 }
            if property.isCascading || property.isCounter || property.isFullText { flags |= 64 }
            if property.isGenerated { flags |= 128 }
            try buffer.append(flags)
            if let value = property.defaultValue { try ValueCodec.append(value.value, to: buffer) }
            try ValueCodec.append(property.fill.value, to: buffer)
            if let elements = property.elements {
                try buffer.append(elements.kind == .link ? linkElements : elements.kind.rawValue)
                try buffer.append(elements.isNullable ? UInt8(1) : 0)
                try buffer.append(elements.keyKind.rawValue)
            }
            if let target = property.target { try buffer.appendVarint(UInt64(target)) }
        }
        if hasIndexes { try appendIndexes(cls, to: buffer) }
        if cls.isEmbedded || cls.isDropped {
            try buffer.append(text: "")
            try buffer.append(traits)
            try buffer.append(UInt8(cls.isEmbedded ? 1 : 2))
        }
    }

    private static func appendIndexes(_ cls: ClassSchema, to buffer: ByteBuffer) throws(StoreError) {
        try buffer.append(text: "")
        try buffer.append(indexes)
        try buffer.appendVarint(UInt64(cls.nextIndexID - IndexSchema.firstCompoundID))
        let compounds = cls.indexes.filter(\.isCompound)
        try buffer.appendVarint(UInt64(compounds.count))
        for index in compounds {
            try buffer.appendVarint(UInt64(index.id - IndexSchema.firstCompoundID))
            try buffer.append(UInt8((index.isUnique ? 1 : 0) | (index.isPrimaryKey ? 2 : 0)))
            try buffer.appendVarint(UInt64(index.properties.count))
            for property in index.properties { try buffer.appendVarint(UInt64(cls.columns[property].id)) }
        }
    }

    /// What follows the kind.
    private static func readIndexes(
        _ reader: inout ByteReader, _ cls: String, _ properties: [PropertySchema]
    ) throws(StoreError) -> (compounds: [IndexSchema], nextID: UInt32) {
        func contradiction() -> StoreError { StoreError(.corrupt, "the indexes of class \(cls) contradict themselves") }
        let next = try reader.readVarint()
        guard next <= UInt64(IndexSchema.firstMixedID - IndexSchema.firstCompoundID) else { throw contradiction() }
        var compounds: [IndexSchema] = []
        for _ in 0..<(try reader.readCount()) {
            let number = try reader.readVarint(), flags = try reader.read(UInt8.self), count = try reader.readCount()
            let id = UInt32(truncatingIfNeeded: number) &+ IndexSchema.firstCompoundID
            guard number < next, id > compounds.last?.id ?? 0, [0, 1, 3].contains(flags),
                (2...IndexSchema.mostProperties).contains(count)
            else { throw contradiction() }
            var positions: [Int] = []
            for _ in 0..<count {
                let column = try reader.readVarint()
                guard let position = properties.firstIndex(where: { UInt64($0.columnID) == column }),
                    !positions.contains(position)
                else { throw contradiction() }
                positions.append(position)
            }
            if flags & 2 != 0 {
                guard !properties.contains(where: \.isPrimaryKey), !compounds.contains(where: \.isPrimaryKey),
                    positions.allSatisfy({ properties[$0].kind.canBeKeyPart && !properties[$0].isNullable })
                else { throw contradiction() }
            }
            compounds.append(
                IndexSchema(id: id, properties: positions, isUnique: flags & 1 != 0, isPrimaryKey: flags & 2 != 0))
        }
        return (compounds, IndexSchema.firstCompoundID + UInt32(next))
    }

    package static func read(_ reader: inout ByteReader) throws(StoreError) -> Schema {
        let version = try reader.readVarint()
        let classCount = try reader.readCount()
        guard classCount <= reader.remaining else { throw ByteReader.truncated }
        var classes: [ClassSchema] = []
        for id in 0..<classCount {
            let name = try reader.readText()
            let nextColumnID = try reader.readVarint()
            let count = try reader.readCount()
            guard count <= reader.remaining, nextColumnID <= UInt64(UInt32.max) else { throw ByteReader.truncated }
            var properties: [PropertySchema] = []
            var compounds: [IndexSchema] = [], nextIndexID = IndexSchema.firstCompoundID, isEmbedded = false,
                isDropped = false
            for number in 0..<count {
                let propertyName = try reader.readText(), kindNumber = try reader.read(UInt8.self)
                if kindNumber == indexes, number >= count - 2 {
                    (compounds, nextIndexID) = try readIndexes(&reader, name, properties)
                    continue
                }
                if kindNumber == traits, number == count - 1 {
                    switch try reader.read(UInt8.self) {
                    case 1
                    where !properties.contains(where: \.isPrimaryKey) && !compounds.contains(where: \.isPrimaryKey):
                        isEmbedded = true
                    case 2 where count == 1 && name.isEmpty: isDropped = true
                    default: throw StoreError(.corrupt, "the traits of class \(name) are unknown, or do not fit")
                    }
                    continue
                }
                guard let kind = ValueKind(rawValue: kindNumber) else {
                    throw StoreError(.corrupt, "unknown type of property \(propertyName)")
                }
                let column = try reader.readVarint()
                let flags = try reader.read(UInt8.self)
                guard column < nextColumnID, properties.last.map({ column > UInt64($0.columnID) }) ?? true else {
                    throw StoreError(.corrupt, "column id of property \(propertyName) out of range")
                }
                let defaultValue = flags & 8 != 0 ? try OwnedValue(copying: try ValueCodec.read(&reader)) : nil
                let fill = try OwnedValue(copying: try ValueCodec.read(&reader))
                if let defaultValue { try checkDefault(defaultValue.value, kind, propertyName) }
                try checkDefault(fill.value, kind, propertyName)
                if kind == .mixed {
                    guard flags & 3 == 1 else {
                        throw StoreError(.corrupt, "the mixed property \(propertyName) is a key, or cannot be null")
                    }
                }
                var elements: ElementSchema?
                if flags & 16 != 0 {
                    let number = try reader.read(UInt8.self)
                    guard let element = number == linkElements ? .link : ValueKind(rawValue: number),
                        element != .link || number == linkElements
                    else { throw StoreError(.corrupt, "unknown type of the elements of \(propertyName)") }
                    let isNullable = try reader.read(UInt8.self) & 1 != 0
                    guard element.isScalar || element == .link || element == .mixed && isNullable else {
                        throw StoreError(
                            .corrupt,
                            "\(propertyName) has elements of kind \(element), or mixed ones that cannot be null")
                    }
                    guard let key = ValueKind(rawValue: try reader.read()) else {
                        throw StoreError(.corrupt, "unknown type of the keys of \(propertyName)")
                    }
                    elements = ElementSchema(kind: element, isNullable: isNullable, keyKind: key)
                }
                guard kind.isCollection == (elements != nil),
                    (kind == .map) == (elements.map { $0.keyKind != .null } ?? false)
                else {
                    throw StoreError(
                        .corrupt,
                        """
                        property \(propertyName) is \(kind.indefinite) \(elements == nil ? "without" : "with") elements
                        """
                    )
                }
                let target =
                    kind == .link || elements?.kind == .link ? try readTarget(&reader, propertyName, classCount) : nil
                // The target of a link may be deleted: a link becomes null, as the value in a map, and leaves a list or
                // set.
                let isNullable =
                    elements.map { !($0.kind == .link) || $0.isNullable == (kind == .map) }
                    ?? (kind != .link || flags & 7 == 1)
                guard isNullable else {
                    throw StoreError(
                        .corrupt, "the link \(propertyName) is a key, or cannot be null, or is an element that can")
                }
                guard flags & 64 == 0 || target != nil || kind == .int && flags & 2 == 0 || kind == .string,
                    flags & 128 == 0 || kind.canBeGenerated(isPrimaryKey: flags & 2 != 0)
                else {
                    throw StoreError(.corrupt, "the flags of \(propertyName) do not fit \(kind.indefinite)")
                }
                properties.append(
                    PropertySchema(
                        name: propertyName, kind: kind, columnID: UInt32(column), isNullable: flags & 1 != 0,
                        isPrimaryKey: flags & 2 != 0, isIndexed: flags & 4 != 0, isUnique: flags & 32 != 0,
                        target: target,
                        isCascading: flags & 64 != 0 && target != nil, isGenerated: flags & 128 != 0,
                        isCounter: flags & 64 != 0 && kind == .int, isFullText: flags & 64 != 0 && kind == .string,
                        defaultValue: defaultValue, fill: fill,
                        elements: elements))
            }
            guard Set(properties.map(\.name)).count == properties.count else {
                throw StoreError(.corrupt, "two properties of \(name) have one name")
            }
            classes.append(
                ClassSchema(
                    name: name, id: UInt32(id), properties: properties, nextColumnID: UInt32(nextColumnID),
                    compounds: compounds, nextIndexID: nextIndexID, isEmbedded: isEmbedded, isDropped: isDropped))
        }
        for cls in classes {
            if let property = cls.properties.first(where: { $0.target.map { classes[$0].isDropped } == true }) {
                throw StoreError(.corrupt, "\(cls.name).\(property.name) leads to a class that was dropped")
            }
            if let set = cls.properties.first(where: {
                $0.kind == .set && $0.target.map { classes[$0].isEmbedded } == true
            }) {
                throw StoreError(.corrupt, "the set \(set.name) is of embedded objects")
            }
        }
        let living = classes.filter { !$0.isDropped }
        guard Set(living.map(\.name)).count == living.count else {
            throw StoreError(.corrupt, "two classes have one name")
        }
        return Schema(classes: classes, version: version)
    }

    /// What rows have that were written before a property, or without it, is taken for what the property says.
    private static func checkDefault(_ value: Value, _ kind: ValueKind, _ property: String) throws(StoreError) {
        if value.isNull { return }
        guard value.kind == kind else {
            throw StoreError(.corrupt, "the default of \(property), \(kind.indefinite), is \(value.kind.indefinite)")
        }
        if kind == .mixed { try MixedCell.check(value) }
    }

    private static func readTarget(
        _ reader: inout ByteReader, _ name: String, _ classCount: Int
    ) throws(StoreError) -> Int {
        let target = try reader.readVarint()
        guard target < UInt64(classCount) else {
            throw StoreError(.corrupt, "the link \(name) leads to a class that does not exist")
        }
        return Int(target)
    }
}

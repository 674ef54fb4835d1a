/// The schema as the file stores it.
///
/// ```
/// schema version · classes × { name · next column id · properties × { name · kind · column id · flags · default? · fill
///                                                                               · elements? · target? } }
/// flags: 1 nullable, 2 primary key, 4 indexed, 8 has a default, 16 has elements: their kind, 1 where they may be null, kind of the keys
/// The target, of links only, is the index of a class.
/// ```
enum SchemaCodec {
    static func append(_ schema: Schema, to buffer: ByteBuffer) {
        buffer.appendVarint(schema.version)
        buffer.appendVarint(UInt64(schema.classes.count))
        for cls in schema.classes {
            buffer.append(text: cls.name)
            buffer.appendVarint(UInt64(cls.nextColumnID))
            buffer.appendVarint(UInt64(cls.properties.count))
            for property in cls.properties {
                buffer.append(text: property.name)
                buffer.append(property.kind.rawValue)
                buffer.appendVarint(UInt64(property.columnID))
                var flags: UInt8 = 0
                if property.isNullable { flags |= 1 }
                if property.isPrimaryKey { flags |= 2 }
                if property.isIndexed { flags |= 4 }
                if property.defaultValue != nil { flags |= 8 }
                if property.elements != nil { flags |= 16 }
                buffer.append(flags)
                if let value = property.defaultValue { ValueCodec.append(value.value, to: buffer) }
                ValueCodec.append(property.fill.value, to: buffer)
                if let elements = property.elements {
                    buffer.append(elements.kind.rawValue)
                    buffer.append(elements.isNullable ? UInt8(1) : 0)
                    buffer.append(elements.keyKind.rawValue)
                }
                if property.kind == .link { buffer.appendVarint(UInt64(property.target ?? 0)) }
            }
        }
    }

    static func read(_ reader: inout ByteReader) throws(StoreError) -> Schema {
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
            for _ in 0..<count {
                let propertyName = try reader.readText()
                guard let kind = ValueKind(rawValue: try reader.read()) else { throw StoreError(.corrupt, "unknown type of property \(propertyName)") }
                let column = try reader.readVarint()
                let flags = try reader.read(UInt8.self)
                guard column < nextColumnID else { throw StoreError(.corrupt, "column id of property \(propertyName) out of range") }
                let defaultValue = flags & 8 != 0 ? OwnedValue(try ValueCodec.read(&reader)) : nil
                let fill = OwnedValue(try ValueCodec.read(&reader))
                var elements: ElementSchema?
                if flags & 16 != 0 {
                    guard let element = ValueKind(rawValue: try reader.read()) else { throw StoreError(.corrupt, "unknown type of the elements of \(propertyName)") }
                    let isNullable = try reader.read(UInt8.self) & 1 != 0
                    guard let key = ValueKind(rawValue: try reader.read()) else { throw StoreError(.corrupt, "unknown type of the keys of \(propertyName)") }
                    elements = ElementSchema(kind: element, isNullable: isNullable, keyKind: key)
                }
                guard kind.isCollection == (elements != nil), (kind == .map) == (elements.map { $0.keyKind != .null } ?? false) else {
                    throw StoreError(.corrupt, "property \(propertyName) is a \(kind) \(elements == nil ? "without" : "with") elements")
                }
                let target = kind == .link ? try readTarget(&reader, propertyName, flags, classCount) : nil
                properties.append(PropertySchema(
                    name: propertyName, kind: kind, columnID: UInt32(column), isNullable: flags & 1 != 0,
                    isPrimaryKey: flags & 2 != 0, isIndexed: flags & 4 != 0, target: target, defaultValue: defaultValue, fill: fill, elements: elements))
            }
            guard Set(properties.map(\.name)).count == count else { throw StoreError(.corrupt, "two properties of \(name) have one name") }
            classes.append(ClassSchema(name: name, id: UInt32(id), properties: properties, nextColumnID: UInt32(nextColumnID)))
        }
        guard Set(classes.map(\.name)).count == classCount else { throw StoreError(.corrupt, "two classes have one name") }
        return Schema(classes: classes, version: version)
    }

    private static func readTarget(_ reader: inout ByteReader, _ name: String, _ flags: UInt8, _ classCount: Int) throws(StoreError) -> Int {
        let target = try reader.readVarint()
        guard target < UInt64(classCount) else { throw StoreError(.corrupt, "the link \(name) leads to a class that does not exist") }
        guard flags & 7 == 1 else { throw StoreError(.corrupt, "the link \(name) is a key, or cannot be null") }
        return Int(target)
    }
}

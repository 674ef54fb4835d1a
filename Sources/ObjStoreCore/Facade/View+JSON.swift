/// Objects as JSON text.
///
/// An object is a JSON object of its properties, in the order in which they were declared; lists and sets are arrays,
/// maps objects. A link leads to another object, which is written in its place, or as a *reference*: its primary key,
/// or `{"$ref": "Dog", "$id": 12}` where its class has none; with the primary key as `$id` where that is null, or of
/// several properties (`{"$ref": "City", "$id": {"country": "CH", "name": "Bern"}}`: the parts alone would describe a
/// new object). Embedded objects are always written, and count as no depth. References are what lies deeper than
/// requested, and an object that is being written already: so a cycle ends where it closes. In Extended JSON a link in
/// a mixed value is always such a long one: an object would come back as a map.
extension View {
    /// How deep links can be followed.
    package static let deepestJSON = 100

    /// Writes one object, as it is now.
    ///
    /// - Parameter depth: how many links are followed one after the other: 0 writes references only.
    package func write(_ object: ObjectID, depth: Int, to writer: JSONWriter) throws(StoreError) {
        try serialised { () throws(StoreError) in
            let schema = try schema
            var export = JSONExport(view: self, schema: schema, writer: writer)
            try export.object(try classOf(object, schema), object.key, depth)
        }
    }

    /// Writes the value of a property as it is in the text of its object, or what a path into mixed values leads
    /// to.
    package func write(
        _ object: ObjectID, _ propertyID: UInt32, _ path: [MixedStep], depth: Int, to writer: JSONWriter
    ) throws(StoreError) {
        if path.isEmpty {
            return try serialised { () throws(StoreError) in
                let schema = try schema, cls = try classOf(object, schema), position = try cls.position(propertyID),
                    reader = try reader(cls)
                guard let row = try row(cls, object.key, reader) else { throw cls.noSuchObject(object.key) }
                var export = JSONExport(view: self, schema: schema, writer: writer)
                try cls.locating(position) { () throws(StoreError) in
                    try export.value(try reader.value(row, position), cls, object.key, position, depth)
                }
            }
        }
        try reading(object, propertyID, path) { (node, cls, position) throws(StoreError) in
            guard let node else {
                throw cls.naming(StoreError(.notFound, "there is no \(MixedStep.text(path[...]))"), position)
            }
            var export = JSONExport(view: self, schema: try schema, writer: writer)
            try cls.locating(position) { () throws(StoreError) in try export.mixed(try node.value(), depth) }
        }
    }
}

extension ClassSchema {
    /// Names the property in what fails.
    fileprivate func locating(_ position: Int, _ body: () throws(StoreError) -> Void) throws(StoreError) {
        do throws(StoreError) { try body() } catch { throw namingOnce(error, position) }
    }
}

extension Results {
    /// Writes the objects that the results had when it began as an array, and calls `flush` with each piece of the
    /// text: outside of every lock, so that it may use the store. Of a view that moves each object is written as it is
    /// then, and left out where it is gone; a frozen view shows all of them at one time.
    package func writeJSON(
        depth: Int, _ options: JSONWriter.Options, _ flush: (UnsafeRawBufferPointer) throws(StoreError) -> Void
    ) throws(StoreError) {
        let writer = JSONWriter(options)
        try writer.begin(.list)
        let list = list()
        for index in 0..<list.count {
            let object = object(list.keys[index])
            do throws(StoreError) { try view.write(object, depth: depth, to: writer) } catch {
                // It was deleted since; anything else that is missing is an error.
                guard error.code == .noSuchObject, view.kind != .frozen, try !view.exists(object) else { throw error }
            }
            if writer.text.count >= Results.pieceOfJSON {
                try flush(writer.text)
                writer.removeText()
            }
        }
        try writer.end()
        try flush(writer.text)
    }

    private static let pieceOfJSON = 1 << 16
}

/// Writes objects of a view, serialised by the caller.
private struct JSONExport {
    let view: View
    let schema: Schema
    let writer: JSONWriter
    /// Objects that have begun and not ended.
    var open: [(classID: UInt32, key: Int64)] = []

    mutating func object(_ cls: ClassSchema, _ key: Int64, _ depth: Int) throws(StoreError) {
        let reader = try view.reader(cls)
        guard let row = try view.row(cls, key, reader) else { throw cls.noSuchObject(key) }
        try Stack.check()
        guard open.count < FlatValues.deepestObjects else {
            throw StoreError(
                .outOfRange, "\(cls.name)#\(key): more than \(FlatValues.deepestObjects) objects inside each other"
            ).at(class: cls.name)
        }
        open.append((cls.classID, key))
        try writer.begin(.map)
        for position in view.store.order.positions(cls) ?? Array(cls.properties.indices) {
            try writer.key(view.store.names.name(cls, position))
            try cls.locating(position) { () throws(StoreError) in
                try value(try reader.value(row, position), cls, key, position, depth)
            }
        }
        try writer.end()
        open.removeLast()
    }

    mutating func value(
        _ value: Value, _ cls: ClassSchema, _ key: Int64, _ position: Int, _ depth: Int
    ) throws(StoreError) {
        switch cls.columns[position].kind {
        case .list, .set, .map: try collection(cls, key, position, depth)
        case .mixed: try mixed(try MixedCell.value(value), depth)
        default: try element(value, cls, position, depth)
        }
    }

    /// A mixed value; links in it like those of properties.
    mutating func mixed(_ value: Value, _ depth: Int) throws(StoreError) {
        if value.kind == .link {
            return try link(try schema.cls(MixedTarget(value).classID), value.low, depth, isMixed: true)
        }
        guard value.kind == .document, try MixedLinks.has(value) else { return try writer.append(value) }
        let container = try MixedContainer(MixedNode(value.pointer, value.count))
        try writer.begin(container.kind)
        for index in 0..<container.count {
            if container.kind == .map { try writer.key(container.key(index)) }
            try mixed(try container.node(index).value(), depth)
        }
        try writer.end()
    }

    private mutating func element(_ value: Value, _ cls: ClassSchema, _ position: Int, _ depth: Int) throws(StoreError)
    {
        switch value.kind {
        case .link: try link(try schema.cls(cls.columns[position].target), value.low, depth)
        case .mixed: try mixed(try MixedCell.value(value), depth)
        default: try writer.append(value)
        }
    }

    private mutating func collection(_ cls: ClassSchema, _ key: Int64, _ position: Int, _ depth: Int) throws(StoreError)
    {
        let elements = try view.trees.elements(of: key, cls, position), isMap = elements.kind == .map
        try writer.begin(isMap ? .map : .list)
        try elements.forEach(from: 0, limit: .max) { (key, value) throws(StoreError) in
            if isMap { try self.key(key) }
            try self.element(value, cls, position, depth)
            return true
        }
        try writer.end()
    }

    /// Keys that are no texts are written as one.
    private func key(_ key: Value) throws(StoreError) {
        if key.kind == .string {
            try writer.key(UnsafeRawBufferPointer(start: key.pointer, count: key.count))
        } else {
            try writer.key(key.text)
        }
    }

    /// - Parameter isMixed: in a mixed value, which does not say of what class it is.
    private mutating func link(_ cls: ClassSchema, _ key: Int64, _ depth: Int, isMixed: Bool = false) throws(StoreError)
    {
        if cls.isEmbedded { return try object(cls, key, depth) }
        let isTold = isMixed && writer.isExtended
        if depth > 0, !isTold, !open.contains(where: { $0 == (cls.classID, key) }) {
            return try object(cls, key, depth - 1)
        }
        guard let index = cls.keyIndex else {
            try writer.beginReference(to: view.store.names.name(cls))
            try writer.append(.int(key))
            return try writer.end()
        }
        let reader = try view.reader(cls)
        guard let row = try view.row(cls, key, reader) else { throw cls.noSuchObject(key) }
        let primaryKey = cls.primaryKey == nil ? nil : try reader.value(row, cls.indexes[index].first)
        // What else is there is a number or a text: no link in a mixed value, and neither are null, or a map of the
        // parts, anywhere.
        let isTagged = isTold || primaryKey?.isNull ?? true
        if isTagged { try writer.beginReference(to: view.store.names.name(cls)) }
        if let primaryKey {
            try writer.append(primaryKey)
        } else {
            try writer.begin(.map)
            for position in cls.indexes[index].properties {
                try writer.key(view.store.names.name(cls, position))
                try writer.append(try reader.value(row, position))
            }
            try writer.end()
        }
        if isTagged { try writer.end() }
    }
}

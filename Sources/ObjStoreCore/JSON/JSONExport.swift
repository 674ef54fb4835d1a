/// Writes objects as JSON text.
///
/// An object is a JSON object of its properties, in the order in which they were declared; lists and sets are arrays,
/// maps objects. A link leads to another object, which is written in its place, or as a *reference*: its primary key,
/// or `{"$ref": "Dog", "$id": 12}` where its class has none; with the primary key as `$id` where that is null, or of
/// several properties (`{"$ref": "City", "$id": {"country": "CH", "name": "Bern"}}`: the parts alone would describe a
/// new object). Embedded objects are always written, and count as no depth. References are what lies deeper than
/// requested, and an object that is being written already: so a cycle ends where it closes. In Extended JSON a link in
/// a mixed value is always such a long one: an object would come back as a map.
struct JSONExport {
    let trees: TreeAccess
    let schema: Schema
    /// What classes and properties are called, and the order of properties.
    let names: StoredNames
    let order: DeclaredOrder
    let writer: JSONWriter
    /// Objects that have begun and not ended.
    private var open: [(classID: UInt32, key: Int64)] = []

    init(_ trees: TreeAccess, _ names: StoredNames, _ order: DeclaredOrder, _ writer: JSONWriter) {
        self.trees = trees
        schema = trees.schema
        self.names = names
        self.order = order
        self.writer = writer
    }

    /// How deep links can be followed.
    static let deepest = 100

    /// A property of an object.
    mutating func property(
        _ propertyID: UInt32, of key: Int64, _ cls: ClassSchema, _ depth: Int
    ) throws(StoreError) {
        let position = try cls.position(propertyID), reader = try trees.objects(cls)
        guard let row = try trees.find(cls, key, reader) else { throw cls.noSuchObject(key) }
        try cls.locating(position) { () throws(StoreError) in
            try value(try reader.value(row, position), cls, key, position, depth)
        }
    }

    /// What a path into mixed values leads to.
    mutating func node(
        _ node: MixedNode?, at path: [MixedStep], _ position: Int, _ cls: ClassSchema, _ depth: Int
    ) throws(StoreError) {
        guard let node else {
            throw cls.naming(StoreError(.notFound, "there is no \(MixedStep.text(path[...]))"), position)
        }
        try cls.locating(position) { () throws(StoreError) in try mixed(try node.value(), depth) }
    }

    mutating func object(_ cls: ClassSchema, _ key: Int64, _ depth: Int) throws(StoreError) {
        let reader = try trees.objects(cls)
        guard let row = try trees.find(cls, key, reader) else { throw cls.noSuchObject(key) }
        try Stack.check()
        guard open.count < FlatValues.deepestObjects else {
            throw StoreError(
                .outOfRange, "\(cls.name)#\(key): more than \(FlatValues.deepestObjects) objects inside each other"
            ).at(class: cls.name)
        }
        open.append((cls.classID, key))
        try writer.begin(.map)
        for position in order.positions(cls) ?? Array(cls.properties.indices) {
            try writer.key(names.name(cls, position))
            try cls.locating(position) { () throws(StoreError) in
                try value(try reader.value(row, position), cls, key, position, depth)
            }
        }
        try writer.end()
        open.removeLast()
    }

    private mutating func value(
        _ value: Value, _ cls: ClassSchema, _ key: Int64, _ position: Int, _ depth: Int
    ) throws(StoreError) {
        switch cls.columns[position].kind {
        case .list, .set, .map: try collection(cls, key, position, depth)
        case .mixed: try mixed(try MixedCell.value(value), depth)
        default: try element(value, cls, position, depth)
        }
    }

    /// A mixed value; links in it like those of properties.
    private mutating func mixed(_ value: Value, _ depth: Int) throws(StoreError) {
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
        let elements = try trees.elements(of: key, cls, position), isMap = elements.kind == .map
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
            try writer.beginReference(to: names.name(cls))
            try writer.append(.int(key))
            return try writer.end()
        }
        let reader = try trees.objects(cls)
        guard let row = try trees.find(cls, key, reader) else { throw cls.noSuchObject(key) }
        let primaryKey = cls.primaryKey == nil ? nil : try reader.value(row, cls.indexes[index].first)
        // What else is there is a number or a text: no link in a mixed value, and neither are null, or a map of the
        // parts, anywhere.
        let isTagged = isTold || primaryKey?.isNull ?? true
        if isTagged { try writer.beginReference(to: names.name(cls)) }
        if let primaryKey {
            try writer.append(primaryKey)
        } else {
            try writer.begin(.map)
            for position in cls.indexes[index].properties {
                try writer.key(names.name(cls, position))
                try writer.append(try reader.value(row, position))
            }
            try writer.end()
        }
        if isTagged { try writer.end() }
    }
}

extension ClassSchema {
    /// Names the property in what fails.
    fileprivate func locating(_ position: Int, _ body: () throws(StoreError) -> Void) throws(StoreError) {
        do throws(StoreError) { try body() } catch { throw namingOnce(error, position) }
    }
}

/// Writes an object as nested values (`FlatValues`), as an `Assembler` takes them: the way back.
///
/// ```
///  depth 0   {"id": 7, "dogs": [Dog#3, Dog#4], "address": {"city": "Rome"}}        embedded objects are always nested
///  depth 1   {"id": 7, "dogs": [{"name": "Rex", …}, {"name": "Ben", …}], "address": {"city": "Rome"}}
/// ```
final class Describer {
    private let trees: TreeAccess
    private let declared: DeclaredOrder
    private let storeTag: UInt32
    private let kept = KeptTexts()
    private(set) var values: [Value] = []
    /// The objects that are being described, one in the other.
    private var open: [ObjectID] = []
    private var path = "$"

    /// Used while `trees` are.
    init(_ trees: TreeAccess, _ declared: DeclaredOrder, storeTag: UInt32) {
        self.trees = trees
        self.declared = declared
        self.storeTag = storeTag
    }

    /// Texts live as long as this object.
    ///
    /// - Parameter depth: how many links on the way to an object are followed; beyond that, a link is written.
    /// `.invalidArgument`: a circle, `.outOfRange`: deeper than values can be nested.
    func describe(_ object: ObjectID, depth: Int) throws(StoreError) {
        try Stack.check()
        let cls = try trees.schema.cls(of: object, in: storeTag), reader = try trees.objects(cls)
        guard let row = try reader.find(object.key) else { throw cls.noSuchObject(object.key) }
        if open.contains(object) {
            throw StoreError(
                .invalidArgument,
                "\(path) leads back to \(cls.name)#\(object.key): a circle cannot be written as nested values"
            ).at(class: cls.name)
        }
        guard open.count < FlatValues.deepestObjects else {
            throw StoreError(.outOfRange, "\(path): more than \(FlatValues.deepestObjects) objects inside each other")
                .at(class: cls.name)
        }
        open.append(object)
        let length = path.utf8.count
        try values.tryAppend(Value(kind: .map, low: Int64(cls.properties.count)))
        for position in declared.positions(cls) ?? Array(cls.properties.indices) {
            let property = cls.properties[position]
            try append(text: property.name)
            path += ".\(property.name)"
            if property.kind.isCollection {
                try describeElements(object, cls, position, depth)
            } else {
                let value = try reader.value(row, position)
                if value.kind == .link {
                    try describe(value, depth)
                } else {
                    try append(value.kind == .mixed ? try cls.mixedValue(value, position) : value)
                }
            }
            path.removeLast(path.utf8.count - length)
        }
        open.removeLast()
    }

    /// What a link leads to, or the link.
    private func describe(_ link: Value, _ depth: Int) throws(StoreError) {
        let target = link.linkedObject(storeTag: storeTag)
        if trees.schema.classes[ClassID.index(target.classID)].isEmbedded {
            return try describe(target, depth: depth)
        }
        if depth == 0 { try values.tryAppend(.link(target)) } else { try describe(target, depth: depth - 1) }
    }

    private func describeElements(
        _ object: ObjectID, _ cls: ClassSchema, _ position: Int, _ depth: Int
    ) throws(StoreError) {
        let elements = try trees.elements(of: object.key, cls, position),
            isMap = cls.columns[position].kind == .map
        try values.tryAppend(Value(kind: isMap ? .map : .list, low: Int64(try elements.count())))
        var index = 0
        let length = path.utf8.count
        try elements.forEach { (key, value) throws(StoreError) in
            if isMap { try append(text: key.keyText) }
            if value.kind == .link {
                path += "[\(index)]"
                try describe(Value(kind: .link, low: value.low, high: Int64(cls.columns[position].target)), depth)
                path.removeLast(path.utf8.count - length)
            } else {
                try append(value.kind == .mixed ? try cls.mixedValue(value, position) : value)
            }
            index += 1
            return true
        }
    }

    private func append(_ value: Value) throws(StoreError) {
        if value.kind == .link { return try values.tryAppend(.link(value.linkedObject(storeTag: storeTag))) }
        // A document with links is taken apart: so they say of which store they are, and copies find them.
        guard value.kind == .document, try MixedLinks.has(value) else {
            return try values.tryAppend(value.pointer == nil ? value : try kept.keep(value))
        }
        try DocumentArray.unpack(value) { (part) throws(StoreError) in
            if part.kind == .link { return try values.tryAppend(.link(part.linkedObject(storeTag: storeTag))) }
            try values.tryAppend(part.pointer == nil ? part : try kept.keep(part))
        }
    }

    private func append(text: String) throws(StoreError) {
        var text = text
        // withUTF8 is rethrowing: the error goes around it.
        let result: Result<Value, StoreError> = text.withUTF8 { bytes in
            do throws(StoreError) {
                return .success(try kept.keep(.string(UnsafeRawPointer(bytes.baseAddress), bytes.count)))
            } catch {
                return .failure(error)
            }
        }
        try values.tryAppend(try result.get())
    }
}

extension Value {
    /// A map's key as a name: texts as they are, numbers and ids as their text.
    package var keyText: String {
        switch kind {
        case .int: "\(low)"
        case .string: FlatValues.name(self)
        default: text
        }
    }
}

/// Values of mixed properties, and mixed elements: lists and maps in them become documents, references and nodes links.
extension Assembler {
    func mixed(_ index: Int, _ cls: ClassSchema, _ position: Int) throws(StoreError) -> Value {
        let value = flat[index]
        if value.isNode { return try mixedNode(index, cls, position) }
        if value.kind == .document, graph != nil { return try mixedDocument(index, cls, position) }
        guard value.kind == .list || value.kind == .map else {
            if let convert = options.convert, let converted = try convert(value, .mixed, cls, position) {
                return converted
            }
            return value
        }
        if let link = try mixedReference(index) { return link }
        let builder = DocumentBuilder(limit: writer.valueLimit)
        var next = index
        do throws(StoreError) { try append(&next, to: builder, cls, position) } catch {
            current = min(next, flat.values.count) - 1
            throw cls.namingOnce(error, position)
        }
        let buffer = ByteBuffer(capacity: max(16, builder.node.count))
        try buffer.append(bytes: builder.node.baseAddress, count: builder.node.count)
        documents.append(buffer)
        return Value(kind: .document, pointer: UnsafeRawPointer(buffer.base), count: buffer.count)
    }

    private func append(
        _ next: inout Int, to builder: DocumentBuilder, _ cls: ClassSchema, _ position: Int
    ) throws(StoreError) {
        let value = flat[next]
        next += 1
        guard value.kind == .list || value.kind == .map else {
            if value.isNode { return try builder.append(try mixedNode(next - 1, cls, position)) }
            if value.kind == .document, graph != nil {
                return try builder.append(try mixedDocument(next - 1, cls, position))
            }
            if let convert = options.convert, let converted = try convert(value, .mixed, cls, position) {
                return try builder.append(converted)
            }
            return try builder.append(value)
        }
        if let link = try mixedReference(next - 1) {
            next = flat.end(next - 1)
            return try builder.append(link)
        }
        try builder.begin(value.kind)
        for _ in 0..<value.low {
            if value.kind == .map {
                try builder.key(UnsafeRawBufferPointer(start: flat[next].pointer, count: flat[next].count))
                next += 1
            }
            try append(&next, to: builder, cls, position)
        }
        try builder.end()
    }

    // MARK: Links

    /// A link in a mixed value, if a reference is there that says so itself: of Extended JSON. Null, and in
    /// `missing`, where it may wait.
    func mixedReference(_ index: Int) throws(StoreError) -> Value? {
        guard flat[index].kind == .map, flat[index].high == FlatValues.reference,
            let (name, key) = ExtendedJSON.reference(flat.values, index)
        else { return nil }
        guard let classIndex = names.classIndex(FlatValues.name(flat[name]), schema) else {
            throw StoreError(
                .noSuchClass, "\"$ref\" names a class \(FlatValues.name(flat[name])), which the store does not have")
        }
        let cls = schema.classes[classIndex]
        switch try object(try state(classIndex), withKeyAt: key) {
        case .object(let key): return .link(ObjectID(classID: cls.classID, storeTag: writer.storeTag, key: key))
        case .waits(_, let error):
            if let first = awaited[key] {
                isDescribed = true
                throw first
            }
            missing[key] = error
            return .null
        default: throw noKey(cls, key)
        }
    }

    /// What a link to a node leads to. Null, and in `missing`, where it is not there yet.
    func mixedNode(_ index: Int, _ cls: ClassSchema, _ position: Int) throws(StoreError) -> Value {
        let (graph, number) = try referred(by: flat[index], index, cls, position)
        return graph.object(number, in: writer.storeTag).map { .link($0) } ?? wait(index)
    }

    /// A packed document, its links to nodes leading to what these became; likewise.
    func mixedDocument(_ index: Int, _ cls: ClassSchema, _ position: Int) throws(StoreError) -> Value {
        let numbers = nodesIn(flat[index])
        if numbers.isEmpty { return flat[index] }
        var objects: [Int64: ObjectID] = [:]
        for number in numbers {
            let (graph, node) = try referred(by: .node(Int(number)), index, cls, position)
            guard let object = graph.object(node, in: writer.storeTag) else { return wait(index) }
            objects[number] = object
        }
        let buffer = ByteBuffer(capacity: max(16, flat[index].count))
        try buffer.append(bytes: flat[index].pointer, count: flat[index].count)
        documents.append(buffer)
        try MixedLinks.redirect(buffer.base, buffer.count) { Value.link($0).isNode ? objects[$0.key] : nil }
        return Value(kind: .document, pointer: UnsafeRawPointer(buffer.base), count: buffer.count)
    }

    private func wait(_ index: Int) -> Value {
        missing[index] = StoreError(.internalError, "a node was not made")
        return .null
    }
}

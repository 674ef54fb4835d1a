public import CObjStore
internal import ObjStoreCore

/// Failures of embedding an object.
private var embedding: Blame {
    [
        .noSuchProperty: "property_id", .wrongType: "property_id", .noSuchObject: "parent", .wrongStore: "parent",
        .notInWrite: "transaction",
        .outOfRange: "place", .missingValue: "properties", .notNullable: "values", .invalidUTF8: "values",
        .valueTooLarge: "values",
        .invalidArgument: "properties", .duplicateKey: "values",
    ]
}

/// Failures that are about an object.
private var ofObject: Blame {
    [.noSuchObject: "object", .wrongStore: "object", .wrongType: "object", .notInWrite: "transaction"]
}

@c @implementation
public func objstore_create_embedded(
    _ transaction: OpaquePointer?, _ parent: objstore_object, _ property_id: objstore_property_id,
    _ place: objstore_value,
    _ properties: UnsafePointer<objstore_property_id>?, _ values: UnsafePointer<objstore_value>?, _ count: Int,
    _ object: UnsafeMutablePointer<objstore_object>?
) -> objstore_status {
    Handles.use(transaction, .view, "transaction", embedding) { (view: View) throws(StoreError) in
        let properties = try propertyArray(properties, values, count)
        let place = try naming("place") { () throws(StoreError) in try Value(place) }
        let id = try withValues(values, count) { (values) throws(StoreError) in
            try view.createEmbedded(in: objectID(parent), property_id, at: place, properties, values)
        }
        object?.pointee = ObjStoreC.object(id)
    }
}

@c @implementation
public func objstore_create_from(
    _ transaction: OpaquePointer?, _ class_id: objstore_class_id, _ policy: objstore_policy, _ flags: UInt32,
    _ values: UnsafePointer<objstore_value>?,
    _ count: Int, _ object: UnsafeMutablePointer<objstore_object>?, _ outcome: UnsafeMutablePointer<objstore_outcome>?
) -> objstore_status {
    guard let values else { return failNull("values") }
    return Handles.use(transaction, .view, "transaction", nested) { (view: View) throws(StoreError) in
        let policy = try ObjStoreC.policy(policy)
        let reading = try Reading(flags)
        let (id, done) = try withNested(values, count) { (values) throws(StoreError) in
            try view.create(
                class_id, from: values, policy, exact: reading.exact, ignoresUnknown: reading.ignoresUnknown)
        }
        object?.pointee = ObjStoreC.object(id)
        outcome?.pointee = objstore_outcome(rawValue: done.rawValue)!
    }
}

@c @implementation
public func objstore_upsert_from_by(
    _ transaction: OpaquePointer?, _ index_id: objstore_index_id, _ policy: objstore_policy, _ flags: UInt32,
    _ values: UnsafePointer<objstore_value>?,
    _ count: Int, _ object: UnsafeMutablePointer<objstore_object>?, _ outcome: UnsafeMutablePointer<objstore_outcome>?
) -> objstore_status {
    guard let values else { return failNull("values") }
    return Handles.use(transaction, .view, "transaction", nestedByIndex) { (view: View) throws(StoreError) in
        let policy = try ObjStoreC.policy(policy)
        let reading = try Reading(flags)
        let (id, done) = try withNested(values, count) { (values) throws(StoreError) in
            try view.create(
                by: index_id, from: values, policy, exact: reading.exact, ignoresUnknown: reading.ignoresUnknown)
        }
        object?.pointee = ObjStoreC.object(id)
        outcome?.pointee = objstore_outcome(rawValue: done.rawValue)!
    }
}

@c @implementation
public func objstore_set_from(
    _ transaction: OpaquePointer?, _ object: objstore_object, _ property_id: objstore_property_id,
    _ policy: objstore_policy,
    _ values: UnsafePointer<objstore_value>?, _ count: Int, _ changed: UnsafeMutablePointer<Bool>?
) -> objstore_status {
    guard let values else { return failNull("values") }
    return Handles.use(transaction, .view, "transaction", nestedInProperty) { (view: View) throws(StoreError) in
        let policy = try ObjStoreC.policy(policy)
        let didChange = try withNested(values, count) { (values) throws(StoreError) in
            try view.set(objectID(object), property_id, from: values, policy)
        }
        changed?.pointee = didChange
    }
}

@c @implementation
public func objstore_create_graph(
    _ transaction: OpaquePointer?, _ policy: objstore_policy, _ flags: UInt32, _ nodes: UnsafePointer<objstore_node>?,
    _ node_count: Int, _ values: UnsafePointer<objstore_value>?, _ value_count: Int,
    _ objects: UnsafeMutablePointer<objstore_object>?, _ outcomes: UnsafeMutablePointer<objstore_outcome>?,
    _ embedded: UnsafeMutablePointer<objstore_object>?
) -> objstore_status {
    Handles.use(transaction, .view, "transaction", [.notInWrite: "transaction"]) { (view: View) throws(StoreError) in
        let policy = try ObjStoreC.policy(policy)
        let reading = try Reading(flags)
        try check(elements: node_count, "node_count")
        try check(elements: value_count, "value_count")
        try check(array: nodes, node_count, "nodes")
        try check(array: values, value_count, "values")
        try Memory.check(for: node_count, each: 192)
        var graph: [GraphNode] = []
        graph.reserveCapacity(node_count)
        for number in 0..<node_count {
            do throws(StoreError) { graph.append(try GraphNode(nodes.unsafelyUnwrapped[number])) } catch {
                throw StoreError(error.code, "nodes[\(number)]: \(error.message)").at(class: nil, position: number)
                    .namingArgument()
            }
        }
        // Nothing is written into them if it fails.
        var parts: [(index: Int, object: ObjectID)] = []
        let made = try flatValues(values, value_count).withUnsafeBufferPointer { (values) throws(StoreError) in
            try view.create(
                graph: graph, values, policy, exact: reading.exact, ignoresUnknown: reading.ignoresUnknown,
                embedded: embedded == nil ? nil : { parts.append(($0, $1)) })
        }
        for (number, made) in made.enumerated() {
            objects?[number] = ObjStoreC.object(made.object)
            outcomes?[number] = objstore_outcome(rawValue: made.outcome.rawValue)!
        }
        guard let embedded else { return }
        embedded.update(repeating: objstore_object(), count: value_count)
        for (index, part) in parts { embedded[index] = ObjStoreC.object(part) }
    }
}

/// How descriptions are read: the bits of OBJSTORE_FROM_….
private struct Reading {
    let exact: Bool
    let ignoresUnknown: Bool

    init(_ flags: UInt32) throws(StoreError) {
        let exact = UInt32(OBJSTORE_FROM_EXACT), ignoreUnknown = UInt32(OBJSTORE_FROM_IGNORE_UNKNOWN)
        try check(flags: flags, known: exact | ignoreUnknown)
        self.exact = flags & exact != 0
        ignoresUnknown = flags & ignoreUnknown != 0
    }
}

extension GraphNode {
    fileprivate init(_ node: objstore_node) throws(StoreError) {
        let root = UInt32(OBJSTORE_NODE_ROOT), element = UInt32(OBJSTORE_NODE_ELEMENT)
        let described = UInt32(OBJSTORE_NODE_DESCRIBED)
        guard node.flags & ~(root | element | described) == 0 else {
            throw StoreError(.invalidArgument, "unknown bits in flags, \(node.flags): was it initialised?")
        }
        let ids = [node.class_id, node.index_id, node.property_id], isElement = node.flags & element != 0
        guard ids.count(where: { $0 != 0 }) == 1 else {
            throw StoreError(.invalidArgument, "one of class_id, index_id and property_id says what it is, not \(ids)")
        }
        if isElement, node.property_id == 0 { throw StoreError(.invalidArgument, "an element is one of a property") }
        let target: Target =
            if node.class_id != 0 {
                .object(classID: node.class_id)
            } else if node.index_id != 0 {
                .indexed(indexID: node.index_id)
            } else if isElement {
                .element(objectID(node.owner), node.property_id)
            } else {
                .property(objectID(node.owner), node.property_id)
            }
        self.init(target, isRoot: node.flags & root != 0, isDescribed: node.flags & described != 0)
    }
}

/// Calls `body` with an array of nested values; errors in one name it.
private func withNested<T>(
    _ values: UnsafePointer<objstore_value>, _ count: Int, _ body: (UnsafeBufferPointer<Value>) throws(StoreError) -> T
) throws(StoreError) -> T {
    try check(elements: count, "count")
    return try flatValues(values, count).withUnsafeBufferPointer { (values) throws(StoreError) in try body(values) }
}

/// Failures of nested values, which say themselves where they are.
private var nested: Blame { [.noSuchClass: "class_id", .noPrimaryKey: "class_id", .notInWrite: "transaction"] }
private var nestedByIndex: Blame {
    [.noSuchIndex: "index_id", .invalidArgument: "index_id", .notInWrite: "transaction"]
}
private var nestedInProperty: Blame {
    [
        .notInWrite: "transaction", .noSuchObject: "object", .wrongStore: "object", .noSuchProperty: "property_id",
        .keyImmutable: "property_id",
    ]
}

@c @implementation
public func objstore_parent(
    _ view: OpaquePointer?, _ object: objstore_object, _ parent: UnsafeMutablePointer<objstore_object>?,
    _ property_id: UnsafeMutablePointer<objstore_property_id>?
) -> objstore_status {
    guard let parent else { return failNull("parent") }
    return Handles.use(view, .view, "view", ofObject) { (view: View) throws(StoreError) in
        guard let found = try view.parent(of: objectID(object)) else {
            throw StoreError(.noSuchObject, "the embedded object has no parent")
        }
        parent.pointee = ObjStoreC.object(found.object)
        property_id?.pointee = found.propertyID
    }
}

@c @implementation
public func objstore_describe(
    _ view: OpaquePointer?, _ object: objstore_object, _ depth: Int64, _ buffer: UnsafeMutablePointer<objstore_buffer>?,
    _ values: UnsafeMutablePointer<objstore_value>?, _ capacity: Int, _ count: UnsafeMutablePointer<Int>?
) -> objstore_status {
    guard buffer != nil else { return failNull("buffer") }
    guard let count else { return failNull("count") }
    return Handles.use(view, .view, "view", ofObject) { (view: View) throws(StoreError) in
        guard depth >= -1, depth <= 100 else {
            throw StoreError(.outOfRange, "depth: it is 0 to 100, or -1 (unlimited), not \(depth)")
        }
        try check(count: capacity, "capacity")
        try check(array: values, capacity, "values")
        let output = try outputBuffer(buffer)
        try view.describe(objectID(object), depth: depth < 0 ? .max : Int(clamping: depth), output) {
            (described) throws(StoreError) in
            count.pointee = described.count
            guard let values else { return }
            for (index, value) in described[..<min(capacity, described.count)].enumerated() {
                if value.kind == .list || value.kind == .map {
                    values[index] = objstore_null()
                    values[index].kind = value.kind == .list ? .OBJSTORE_KIND_LIST : .OBJSTORE_KIND_MAP
                    values[index].data.integer = value.low
                } else {
                    value.store(to: values + index, storeTag: view.shared.tag)
                }
            }
        }
    }
}

@c @implementation
public func objstore_copy_object(
    _ view: OpaquePointer?, _ object: objstore_object, _ transaction: OpaquePointer?, _ policy: objstore_policy,
    _ copy: UnsafeMutablePointer<objstore_object>?, _ outcome: UnsafeMutablePointer<objstore_outcome>?
) -> objstore_status {
    var target: SharedStore?, description: ObjectDescription?
    let known = Handles.use(transaction, .view, "transaction", ofObject) { (transaction: View) throws(StoreError) in
        _ = try ObjStoreC.policy(policy)
        try transaction.checkWriting()
        target = transaction.shared
    }
    if known != .OBJSTORE_OK { return known }
    let described = Handles.use(view, .view, "view", ofObject) { (source: View) throws(StoreError) in
        description = try source.description(of: objectID(object), for: target)
    }
    if described != .OBJSTORE_OK { return described }
    return Handles.use(transaction, .view, "transaction", nested) { (transaction: View) throws(StoreError) in
        let (id, done) = try transaction.create(description.unsafelyUnwrapped, try ObjStoreC.policy(policy))
        copy?.pointee = ObjStoreC.object(id)
        outcome?.pointee = objstore_outcome(rawValue: done.rawValue)!
    }
}

public import CObjStore
internal import ObjStoreCore

extension ValueResults: ClosedWithParent {
    func closeWithParent() {}
}

// MARK: Making

/// Errors of a query of plain values, by the collection and by what says which of its elements.
private func blame(_ source: StaticString) -> Blame {
    [
        .noSuchClass: source, .noSuchProperty: source, .wrongType: source, .invalidQuery: source, .invalidUTF8: source,
        .invalidArgument: source, .notSupported: source, .outOfRange: source, .wrongStore: source,
        .noSuchObject: source,
    ]
}

private let ofCollection: Blame = [
    .noSuchClass: "collection", .noSuchProperty: "collection", .wrongType: "collection",
    .noSuchObject: "collection", .wrongStore: "collection", .invalidArgument: "collection",
]

/// Makes a query of a collection, which is looked at first: what is wrong with it is not the fault of the text.
private func make(
    _ view: OpaquePointer?, _ collection: objstore_collection, _ query: UnsafeMutablePointer<OpaquePointer?>?,
    _ source: StaticString, _ body: (View, CollectionID) throws(StoreError) -> ValueQuery?
) -> objstore_status {
    guard let query else { return failNull("query") }
    query.pointee = nil
    var all: ValueQuery?
    let status = Handles.use(view, .view, "view", ofCollection) { (view: View) throws(StoreError) in
        all = try view.valueQuery(try collectionID(collection))
    }
    guard let all else { return status }
    return makeAnyQuery(view, query, blame(source)) { (view) throws(StoreError) in
        .values(try body(view, all.collection) ?? all)
    }
}

@c @implementation
public func objstore_query_values(
    _ view: OpaquePointer?, _ collection: objstore_collection, _ text: objstore_text,
    _ arguments: UnsafePointer<objstore_value>?, _ count: Int, _ query: UnsafeMutablePointer<OpaquePointer?>?
) -> objstore_status {
    make(view, collection, query, "text") { (view, id) throws(StoreError) in
        let (pointer, length) = try bytes(of: text)
        try check(count: count, "count")
        try check(array: arguments, count, "arguments")
        if length == 0, count == 0 { return nil }
        return try view.valueQuery(
            id, parsing: UnsafeRawBufferPointer(start: pointer, count: length),
            arguments: try naming("arguments") { () throws(StoreError) in try queryArguments(arguments, count) })
    }
}

@c @implementation
public func objstore_query_values_new(
    _ view: OpaquePointer?, _ collection: objstore_collection, _ nodes: UnsafePointer<objstore_query_node>?,
    _ count: Int, _ query: UnsafeMutablePointer<OpaquePointer?>?
) -> objstore_status {
    make(view, collection, query, "nodes") { (view, id) throws(StoreError) in
        try view.valueQuery(id, try queryNodes(nodes, count))
    }
}

@c @implementation
public func objstore_query_find_values(
    _ query: OpaquePointer?, _ view: OpaquePointer?, _ values: UnsafeMutablePointer<OpaquePointer?>?
) -> objstore_status {
    guard let values else { return failNull("values") }
    values.pointee = nil
    var found: ValueQuery?
    let status = Handles.use(query, .query, "query", [.invalidQuery: "query"]) { (box: QueryBox) throws(StoreError) in
        found = try box.any.ofValues()
    }
    guard let found else { return status }
    if found.callsFunctions {
        // They may use the view, and close what they like.
        return Handles.pin(view, .view, "view", asking) { (object: View) throws(StoreError) in
            values.pointee = try Handles.open(.values, try ValueResults(object, found), parent: view)
            return .OBJSTORE_OK
        }
    }
    return Handles.use(view, .view, "view", asking) { (object: View) throws(StoreError) in
        values.pointee = try Handles.open(.values, try ValueResults(object, found), parent: view)
    }
}

@c @implementation
public func objstore_values_update(
    _ values: OpaquePointer?, _ changed: UnsafeMutablePointer<Bool>?
) -> objstore_status {
    guard let handle = values else { return failNull("values") }
    let isInside = Handles.isInside(handle)
    return Handles.pin(handle, .values, "values") { (values: ValueResults) throws(StoreError) in
        if isInside {
            throw StoreError(.inCallback, "values: the call that runs this callback is updating them")
        }
        // Functions may use the view, and cannot close it, nor these values.
        return Handles.pin(Handles.parent(handle), .view, "values") { (_: View) throws(StoreError) in
            let isOther = try values.update()
            changed?.pointee = isOther
            return .OBJSTORE_OK
        }
    }
}

@c @implementation
public func objstore_values_close(_ values: OpaquePointer?) -> objstore_status {
    Handles.close(values, .values, "values")
}

// MARK: Reading

@c @implementation
public func objstore_values_count(_ values: OpaquePointer?, _ count: UnsafeMutablePointer<UInt64>?) -> objstore_status {
    guard let count else { return failNull("count") }
    return Handles.use(values, .values, "values") { (values: ValueResults) throws(StoreError) in
        count.pointee = UInt64(values.values().count)
    }
}

@c @implementation
public func objstore_values_read(
    _ values: OpaquePointer?, _ start: UInt64, _ capacity: Int, _ elements: UnsafeMutablePointer<objstore_value>?,
    _ places: UnsafeMutablePointer<UInt64>?, _ keys: UnsafeMutablePointer<objstore_value>?,
    _ count: UnsafeMutablePointer<Int>?
) -> objstore_status {
    guard let count else { return failNull("count") }
    return Handles.use(values, .values, "values", [.outOfRange: "start"]) { (values: ValueResults) throws(StoreError) in
        try check(count: capacity, "capacity")
        let found = values.values(), tag = values.view.shared.tag
        let range = try found.range(from: start, limit: capacity)
        for (number, index) in range.enumerated() {
            if let elements { found.value(index).store(to: elements + number, storeTag: tag) }
            if let places { places[number] = UInt64(found.place(index)) }
            if let keys { found.key(index).store(to: keys + number, storeTag: tag) }
        }
        count.pointee = range.count
    }
}

@c @implementation
public func objstore_values_aggregate(
    _ values: OpaquePointer?, _ aggregate: objstore_aggregate_kind, _ value: UnsafeMutablePointer<objstore_value>?
) -> objstore_status {
    guard let value else { return failNull("value") }
    let blame: Blame = [.wrongType: "values", .outOfRange: "values", .invalidArgument: "aggregate"]
    return Handles.use(values, .values, "values", blame) { (values: ValueResults) throws(StoreError) in
        guard let kind = AggregateKind(rawValue: aggregate.rawValue) else {
            throw StoreError(.invalidArgument, "\(aggregate.rawValue) has no name")
        }
        try values.aggregate(kind).store(to: value, storeTag: values.view.shared.tag)
    }
}

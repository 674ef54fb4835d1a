public import CObjStore
internal import ObjStoreCore

extension Results: ClosedWithParent {
    func closeWithParent() {}
}

@c @implementation
public func objstore_results_in(
    _ view: OpaquePointer?, _ results: OpaquePointer?, _ found: UnsafeMutablePointer<OpaquePointer?>?
) -> objstore_status {
    guard let found else { return failNull("found") }
    found.pointee = nil
    return Handles.pin(view, .view, "view", [.wrongStore: "results"]) { (object: View) throws(StoreError) in
        Handles.pin(results, .results, "results", [.wrongStore: "results"]) { (other: Results) throws(StoreError) in
            found.pointee = try Handles.open(.results, try object.find(as: other), parent: view)
            return .OBJSTORE_OK
        }
    }
}

private var incomingBlame: Blame {
    [
        .noSuchClass: "object", .noSuchObject: "object", .wrongStore: "object", .noSuchProperty: "property_id",
        .wrongType: "property_id",
    ]
}

@c @implementation
public func objstore_incoming(
    _ view: OpaquePointer?, _ object: objstore_object, _ property_id: objstore_property_id,
    _ results: UnsafeMutablePointer<OpaquePointer?>?
) -> objstore_status {
    guard let results else { return failNull("results") }
    results.pointee = nil
    return Handles.use(view, .view, "view", incomingBlame) { (asked: View) throws(StoreError) in
        results.pointee = try Handles.open(.results, try asked.incoming(objectID(object), property_id), parent: view)
    }
}

@c @implementation
public func objstore_query_incoming(
    _ view: OpaquePointer?, _ object: objstore_object, _ property_id: objstore_property_id,
    _ query: UnsafeMutablePointer<OpaquePointer?>?
) -> objstore_status {
    makeQuery(view, query, incomingBlame) { (view) throws(StoreError) in
        try view.query(incoming: objectID(object), property_id)
    }
}

@c @implementation
public func objstore_incoming_count(
    _ view: OpaquePointer?, _ object: objstore_object, _ property_id: objstore_property_id,
    _ count: UnsafeMutablePointer<UInt64>?
) -> objstore_status {
    guard let count else { return failNull("count") }
    return Handles.use(view, .view, "view", incomingBlame) { (view: View) throws(StoreError) in
        count.pointee = UInt64(try view.incomingCount(objectID(object), property_id))
    }
}

@c @implementation
public func objstore_results_count(_ results: OpaquePointer?, _ count: UnsafeMutablePointer<UInt64>?) -> objstore_status
{
    guard let count else { return failNull("count") }
    return Handles.use(results, .results, "results") { (results: Results) throws(StoreError) in
        count.pointee = UInt64(results.count)
    }
}

@c @implementation
public func objstore_results_at(
    _ results: OpaquePointer?, _ index: UInt64, _ object: UnsafeMutablePointer<objstore_object>?
) -> objstore_status {
    guard let object else { return failNull("object") }
    return Handles.use(results, .results, "results", [.outOfRange: "index"]) { (results: Results) throws(StoreError) in
        object.pointee = ObjStoreC.object(try results.object(at: index))
    }
}

@c @implementation
public func objstore_results_find_object(
    _ results: OpaquePointer?, _ object: objstore_object, _ index: UnsafeMutablePointer<UInt64>?,
    _ found: UnsafeMutablePointer<Bool>?
) -> objstore_status {
    guard let index else { return failNull("index") }
    guard let found else { return failNull("found") }
    return Handles.use(results, .results, "results", [.wrongStore: "object"]) { (results: Results) throws(StoreError) in
        let place = try results.find(objectID(object))
        if let place { index.pointee = UInt64(place) }
        found.pointee = place != nil
    }
}

@c @implementation
public func objstore_results_objects(
    _ results: OpaquePointer?, _ start: UInt64, _ objects: UnsafeMutablePointer<objstore_object>?, _ capacity: Int,
    _ count: UnsafeMutablePointer<Int>?
) -> objstore_status {
    guard let count else { return failNull("count") }
    return Handles.use(results, .results, "results", [.outOfRange: "start"]) { (results: Results) throws(StoreError) in
        try check(count: capacity, "capacity")
        try check(array: objects, capacity, "objects")
        // The same layout, field by field: see `ObjectID`.
        let out = UnsafeMutableRawPointer(objects)?.assumingMemoryBound(to: ObjectID.self)
        count.pointee = try results.objects(from: start, into: out, capacity: capacity)
    }
}

@c @implementation
public func objstore_results_update(
    _ results: OpaquePointer?, _ changed: UnsafeMutablePointer<Bool>?
) -> objstore_status {
    var found: Results?
    let status = Handles.use(results, .results, "results") { (results: Results) throws(StoreError) in
        guard !results.query.callsFunctions else {
            found = results
            return
        }
        let isOther = try results.update()
        changed?.pointee = isOther
    }
    guard let handle = results, let found else { return status }
    // Functions may use the view, and cannot close it, nor these results.
    return Handles.pin(handle, .results, "results") { (_: Results) throws(StoreError) in
        Handles.pin(Handles.parent(handle), .view, "results") { (_: View) throws(StoreError) in
            let isOther = try found.update()
            changed?.pointee = isOther
            return .OBJSTORE_OK
        }
    }
}

@c @implementation
public func objstore_results_close(_ results: OpaquePointer?) -> objstore_status {
    Handles.close(results, .results, "results")
}

internal import CSystem
public import CObjStore
internal import ObjStoreCore

/// Failures of paths into mixed values.
private var inside: Blame {
    [
        .noSuchClass: "object", .noSuchProperty: "property_id", .wrongType: "property_id, steps or value",
        .noSuchObject: "object",
        .wrongStore: "object", .notFound: "steps", .invalidUTF8: "steps or value", .valueTooLarge: "value",
        .notInWrite: "transaction",
        .wrongView: "buffer", .invalidArgument: "steps or value", .outOfRange: "steps or value", .notSupported: "value",
    ]
}

/// A path, as the application gives it.
func withPath<T>(
    _ steps: UnsafePointer<objstore_value>?, _ count: Int, _ body: ([MixedStep]) throws(StoreError) -> T
) throws(StoreError) -> T {
    try check(count: count, "step_count")
    try check(array: steps, count, "steps")
    // The first step may say which element of a collection: one more than a value is deep.
    guard count <= MixedNode.maximumDepth + 1 else {
        throw StoreError(.outOfRange, "steps: \(count) are more than \(MixedNode.maximumDepth + 1)").namingArgument()
    }
    var path: [MixedStep] = []
    path.reserveCapacity(count)
    for index in 0..<count {
        do throws(StoreError) { path.append(try MixedStep(Value(steps.unsafelyUnwrapped[index]))) } catch {
            throw StoreError(error.code, "steps[\(index)]: \(error.message)").namingArgument()
        }
    }
    return try body(path)
}

extension Value {
    /// A value that may be a list or map of this many elements.
    fileprivate func storeCounted(to out: UnsafeMutablePointer<objstore_value>, storeTag: UInt32) {
        guard kind == .list || kind == .map else { return store(to: out, storeTag: storeTag) }
        var value = objstore_null()
        value.kind = kind == .list ? .OBJSTORE_KIND_LIST : .OBJSTORE_KIND_MAP
        value.data.integer = low
        out.pointee = value
    }

    /// A value that may be a list or map of this many elements.
    init(counted value: objstore_value) throws(StoreError) {
        self = try Value(value)
        if kind == .list || kind == .map { low = value.data.integer }
    }
}

@c @implementation
public func objstore_mixed_observe(
    _ store: OpaquePointer?, _ object: objstore_object, _ property_id: objstore_property_id,
    _ steps: UnsafePointer<objstore_value>?, _ step_count: Int, _ flags: UInt32, _ handler: objstore_change_handler?,
    _ userdata: UnsafeMutableRawPointer?, _ free_userdata: objstore_free_userdata?,
    _ token: UnsafeMutablePointer<OpaquePointer?>?
) -> objstore_status {
    beginObserving(store, handler, Userdata(userdata, free_userdata), token, inside) {
        (store, handler) throws(StoreError) in
        try check(observeFlags: flags)
        return try withPath(steps, step_count) { (path) throws(StoreError) in
            try store.observe(mixed: objectID(object), property_id, path, options(flags), handler: handler)
        }
    }
}

private func read(
    _ view: OpaquePointer?, _ object: objstore_object, _ property_id: objstore_property_id,
    _ steps: UnsafePointer<objstore_value>?, _ step_count: Int,
    whole: Bool, _ buffer: UnsafeMutablePointer<objstore_buffer>?, _ value: UnsafeMutablePointer<objstore_value>?,
    _ found: UnsafeMutablePointer<Bool>?
) -> objstore_status {
    guard let value else { return failNull("value") }
    return Handles.use(view, .view, "view", inside) { (view: View) throws(StoreError) in
        let buffer = try outputBuffer(buffer)
        let element = try withPath(steps, step_count) { (path) throws(StoreError) in
            try view.mixed(objectID(object), property_id, path, whole: whole, buffer)
        }
        if element == nil, found == nil { throw StoreError(.notFound, "steps: the document has no such value") }
        (element ?? .null).storeCounted(to: value, storeTag: view.shared.tag)
        found?.pointee = element != nil
    }
}

@c @implementation
public func objstore_mixed_get(
    _ view: OpaquePointer?, _ object: objstore_object, _ property_id: objstore_property_id,
    _ steps: UnsafePointer<objstore_value>?,
    _ step_count: Int, _ buffer: UnsafeMutablePointer<objstore_buffer>?, _ value: UnsafeMutablePointer<objstore_value>?,
    _ found: UnsafeMutablePointer<Bool>?
) -> objstore_status {
    read(view, object, property_id, steps, step_count, whole: false, buffer, value, found)
}

@c @implementation
public func objstore_mixed_read(
    _ view: OpaquePointer?, _ object: objstore_object, _ property_id: objstore_property_id,
    _ steps: UnsafePointer<objstore_value>?,
    _ step_count: Int, _ buffer: UnsafeMutablePointer<objstore_buffer>?, _ value: UnsafeMutablePointer<objstore_value>?,
    _ found: UnsafeMutablePointer<Bool>?
) -> objstore_status {
    read(view, object, property_id, steps, step_count, whole: true, buffer, value, found)
}

@c @implementation
public func objstore_mixed_keys(
    _ view: OpaquePointer?, _ object: objstore_object, _ property_id: objstore_property_id,
    _ steps: UnsafePointer<objstore_value>?,
    _ step_count: Int, _ start: Int, _ capacity: Int, _ buffer: UnsafeMutablePointer<objstore_buffer>?,
    _ keys: UnsafeMutablePointer<objstore_value>?, _ count: UnsafeMutablePointer<Int>?
) -> objstore_status {
    guard let count else { return failNull("count") }
    return Handles.use(view, .view, "view", inside) { (view: View) throws(StoreError) in
        try check(count: capacity, "capacity")
        try check(array: keys, capacity, "keys")
        let buffer = try outputBuffer(buffer)
        let read = try withPath(steps, step_count) { (path) throws(StoreError) in
            try view.mixedKeys(
                objectID(object), property_id, path, from: start < 0 ? .max : start, limit: capacity, buffer
            ) { index, key in
                key.store(to: keys.unsafelyUnwrapped + index, storeTag: 0)
            }
        }
        guard let read else { throw StoreError(.notFound, "steps: the document has no such value") }
        count.pointee = read
    }
}

private func edit(
    _ transaction: OpaquePointer?, _ object: objstore_object, _ property_id: objstore_property_id,
    _ steps: UnsafePointer<objstore_value>?,
    _ step_count: Int, _ action: MixedAction, _ value: objstore_value
) -> objstore_status {
    Handles.use(transaction, .view, "transaction", inside) { (view: View) throws(StoreError) in
        try withPath(steps, step_count) { (path) throws(StoreError) in
            let value = try naming("value") { () throws(StoreError) in try Value(value) }
            try view.edit(objectID(object), property_id, path, action, value)
        }
    }
}

@c @implementation
public func objstore_mixed_set(
    _ transaction: OpaquePointer?, _ object: objstore_object, _ property_id: objstore_property_id,
    _ steps: UnsafePointer<objstore_value>?,
    _ step_count: Int, _ value: objstore_value
) -> objstore_status {
    edit(transaction, object, property_id, steps, step_count, .set, value)
}

@c @implementation
public func objstore_mixed_insert(
    _ transaction: OpaquePointer?, _ object: objstore_object, _ property_id: objstore_property_id,
    _ steps: UnsafePointer<objstore_value>?,
    _ step_count: Int, _ value: objstore_value
) -> objstore_status {
    edit(transaction, object, property_id, steps, step_count, .insert, value)
}

@c @implementation
public func objstore_mixed_remove(
    _ transaction: OpaquePointer?, _ object: objstore_object, _ property_id: objstore_property_id,
    _ steps: UnsafePointer<objstore_value>?,
    _ step_count: Int
) -> objstore_status {
    edit(transaction, object, property_id, steps, step_count, .remove, objstore_null())
}

// MARK: Documents

/// A call that needs no handle.
func plain(_ blame: Blame, _ body: () throws(StoreError) -> Void) -> objstore_status {
    do throws(StoreError) {
        if cs_memory_is_low(), !cs_memory_refill() { throw Handles.memoryIsLow }
        try body()
        return .OBJSTORE_OK
    } catch {
        return report(error, blame)
    }
}

@c @implementation
public func objstore_document_pack(
    _ values: UnsafePointer<objstore_value>?, _ count: Int, _ buffer: UnsafeMutablePointer<objstore_buffer>?,
    _ document: UnsafeMutablePointer<objstore_value>?
) -> objstore_status {
    guard buffer != nil else { return failNull("buffer") }
    return plain([
        .wrongType: "values", .invalidUTF8: "values", .valueTooLarge: "values", .outOfRange: "values",
        .notSupported: "values",
    ]) { () throws(StoreError) in
        try check(elements: count, "count")
        try check(array: values, count, "values")
        guard let output = try outputBuffer(buffer) else { return }
        let value = try flatValues(values, count).withUnsafeBufferPointer { (flat) throws(StoreError) in
            try DocumentArray.pack(flat, into: output)
        }
        document?.pointee = objstore_null()
        if let document { value.store(to: document, storeTag: 0) }
    }
}

@c @implementation
public func objstore_document_unpack(
    _ document: objstore_value, _ values: UnsafeMutablePointer<objstore_value>?, _ capacity: Int,
    _ count: UnsafeMutablePointer<Int>?
) -> objstore_status {
    guard let count else { return failNull("count") }
    return plain([.wrongType: "document", .invalidArgument: "document"]) { () throws(StoreError) in
        try check(count: capacity, "capacity")
        try check(array: values, capacity, "values")
        let value = try naming("document") { () throws(StoreError) in try Value(document) }
        guard value.kind == .document else { throw StoreError(.wrongType, "document: it is \(value.kind.indefinite)") }
        var found = 0
        try DocumentArray.unpack(value) { value in
            if found < capacity { value.storeCounted(to: values.unsafelyUnwrapped + found, storeTag: 0) }
            found += 1
        }
        count.pointee = found
    }
}

@c @implementation
public func objstore_value_compare(
    _ value: objstore_value, _ other: objstore_value, _ order: UnsafeMutablePointer<Int32>?
) -> objstore_status {
    guard let order else { return failNull("order") }
    return plain([.wrongType: "value or other", .invalidArgument: "value or other", .invalidUTF8: "value or other"]) {
        () throws(StoreError) in
        let a = try naming("value") { () throws(StoreError) in try Value(value) },
            b = try naming("other") { () throws(StoreError) in try Value(other) }
        order.pointee = Int32(try MixedOrder.compareGiven(a, b).signum())
    }
}

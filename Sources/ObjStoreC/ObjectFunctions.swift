public import CObjStore
internal import ObjStoreCore

func propertyArray(
    _ properties: UnsafePointer<objstore_property_id>?, _ values: UnsafeRawPointer?, _ count: Int
) throws(StoreError)
    -> UnsafeBufferPointer<UInt32>
{
    try check(properties: count, "count")
    try check(array: properties, count, "properties")
    try check(array: values, count, "values")
    return UnsafeBufferPointer(start: properties, count: count)
}

/// Failures of arrays of properties and values.
private var arrays: Blame {
    [
        .noSuchClass: "class_id", .noPrimaryKey: "class_id", .noSuchProperty: "properties", .wrongType: "values",
        .notNullable: "values",
        .invalidUTF8: "values", .valueTooLarge: "values", .missingValue: "properties", .notInWrite: "transaction",
        .noSuchObject: "object",
        .wrongStore: "object", .wrongView: "buffer", .invalidArgument: "properties", .outOfRange: "values",
        .duplicateKey: "values",
        .keyImmutable: "properties",
    ]
}

/// Failures of one property and one value.
private var single: Blame {
    [
        .noSuchClass: "object", .noSuchProperty: "property_id", .wrongType: "value", .notNullable: "value",
        .invalidUTF8: "value",
        .valueTooLarge: "value", .notInWrite: "transaction", .noSuchObject: "object", .wrongStore: "object",
        .wrongView: "buffer",
        .invalidArgument: "value", .outOfRange: "value", .keyImmutable: "property_id", .duplicateKey: "value",
    ]
}

@c @implementation
public func objstore_create(
    _ transaction: OpaquePointer?, _ class_id: objstore_class_id, _ properties: UnsafePointer<objstore_property_id>?,
    _ values: UnsafePointer<objstore_value>?, _ count: Int, _ object: UnsafeMutablePointer<objstore_object>?
) -> objstore_status {
    Handles.use(transaction, .view, "transaction", arrays) { (view: View) throws(StoreError) in
        let properties = try propertyArray(properties, values, count)
        let id = try withValues(values, count) { (values) throws(StoreError) in
            try view.create(class_id, properties, values)
        }
        object?.pointee = ObjStoreC.object(id)
    }
}

@c @implementation
public func objstore_upsert(
    _ transaction: OpaquePointer?, _ class_id: objstore_class_id, _ policy: objstore_policy,
    _ properties: UnsafePointer<objstore_property_id>?,
    _ values: UnsafePointer<objstore_value>?, _ count: Int, _ object: UnsafeMutablePointer<objstore_object>?,
    _ outcome: UnsafeMutablePointer<objstore_outcome>?
) -> objstore_status {
    guard let policy = UpsertPolicy(rawValue: policy.rawValue) else { return report(unknown(policy)) }
    return Handles.use(transaction, .view, "transaction", arrays) { (view: View) throws(StoreError) in
        let properties = try propertyArray(properties, values, count)
        let (id, done) = try withValues(values, count) { (values) throws(StoreError) in
            try view.upsert(class_id, policy, properties, values)
        }
        object?.pointee = ObjStoreC.object(id)
        outcome?.pointee = objstore_outcome(rawValue: done.rawValue)!
    }
}

func policy(_ policy: objstore_policy) throws(StoreError) -> UpsertPolicy {
    guard let policy = UpsertPolicy(rawValue: policy.rawValue) else { throw unknown(policy) }
    return policy
}

private func unknown(_ policy: objstore_policy) -> StoreError {
    StoreError(.invalidArgument, "policy \(policy.rawValue) has no name")
}

@c @implementation
public func objstore_get(
    _ view: OpaquePointer?, _ object: objstore_object, _ property_id: objstore_property_id,
    _ buffer: UnsafeMutablePointer<objstore_buffer>?,
    _ value: UnsafeMutablePointer<objstore_value>?
) -> objstore_status {
    guard let value else { return failNull("value") }
    return Handles.use(view, .view, "view", single) { (view: View) throws(StoreError) in
        try view.value(objectID(object), property_id, try outputBuffer(buffer)).store(
            to: value, storeTag: view.shared.tag)
    }
}

@c @implementation
public func objstore_get_row(
    _ view: OpaquePointer?, _ object: objstore_object, _ properties: UnsafePointer<objstore_property_id>?, _ count: Int,
    _ buffer: UnsafeMutablePointer<objstore_buffer>?, _ values: UnsafeMutablePointer<objstore_value>?
) -> objstore_status {
    Handles.use(view, .view, "view", arrays) { (view: View) throws(StoreError) in
        let properties = try propertyArray(properties, values, count)
        let buffer = try outputBuffer(buffer)
        var failure: StoreError?
        withUnsafeTemporaryAllocation(of: Value.self, capacity: max(count, 1)) { read in
            do throws(StoreError) {
                try view.values(objectID(object), properties, buffer, into: read.baseAddress!)
                for index in 0..<count {
                    read[index].store(to: values.unsafelyUnwrapped + index, storeTag: view.shared.tag)
                }
            } catch {
                failure = error
            }
        }
        if let failure { throw failure }
    }
}

@c @implementation
public func objstore_set(
    _ transaction: OpaquePointer?, _ object: objstore_object, _ property_id: objstore_property_id,
    _ value: objstore_value
) -> objstore_status {
    Handles.use(transaction, .view, "transaction", single) { (view: View) throws(StoreError) in
        try view.set(objectID(object), property_id, try Value(value))
    }
}

@c @implementation
public func objstore_set_row(
    _ transaction: OpaquePointer?, _ object: objstore_object, _ properties: UnsafePointer<objstore_property_id>?,
    _ values: UnsafePointer<objstore_value>?, _ count: Int
) -> objstore_status {
    Handles.use(transaction, .view, "transaction", arrays) { (view: View) throws(StoreError) in
        let properties = try propertyArray(properties, values, count)
        try withValues(values, count) { (values) throws(StoreError) in
            try view.set(objectID(object), properties, values)
        }
    }
}

@c @implementation
public func objstore_increment(
    _ transaction: OpaquePointer?, _ object: objstore_object, _ property_id: objstore_property_id, _ delta: Int64,
    _ value: UnsafeMutablePointer<Int64>?
) -> objstore_status {
    let blame: Blame = [
        .noSuchClass: "object", .noSuchProperty: "property_id", .wrongType: "property_id", .notInWrite: "transaction",
        .noSuchObject: "object",
        .wrongStore: "object", .outOfRange: "delta", .nullValue: "property_id", .keyImmutable: "property_id",
        .duplicateKey: "delta",
    ]
    return Handles.use(transaction, .view, "transaction", blame) { (view: View) throws(StoreError) in
        let sum = try view.increment(objectID(object), property_id, delta)
        value?.pointee = sum
    }
}

@c @implementation
public func objstore_find(
    _ view: OpaquePointer?, _ class_id: objstore_class_id, _ key: objstore_value,
    _ object: UnsafeMutablePointer<objstore_object>?,
    _ found: UnsafeMutablePointer<Bool>?
) -> objstore_status {
    guard let object else { return failNull("object") }
    let blame: Blame = [
        .noSuchClass: "class_id", .noPrimaryKey: "class_id", .wrongType: "key", .invalidUTF8: "key",
        .invalidArgument: "key", .noSuchObject: "key",
    ]
    return Handles.use(view, .view, "view", blame) { (view: View) throws(StoreError) in
        try answer(try view.find(class_id, try Value(key)), object, found)
    }
}

/// The object that was found, or that there is none.
func answer(
    _ id: ObjectID?, _ object: UnsafeMutablePointer<objstore_object>, _ found: UnsafeMutablePointer<Bool>?
) throws(StoreError) {
    if id == nil, found == nil { throw StoreError(.noSuchObject, "there is no such object") }
    object.pointee = ObjStoreC.object(id ?? .none)
    found?.pointee = id != nil
}

@c @implementation
public func objstore_exists(
    _ view: OpaquePointer?, _ object: objstore_object, _ exists: UnsafeMutablePointer<Bool>?
) -> objstore_status {
    guard let exists else { return failNull("exists") }
    return Handles.use(view, .view, "view", single) { (view: View) throws(StoreError) in
        exists.pointee = try view.exists(objectID(object))
    }
}

@c @implementation
public func objstore_delete(_ transaction: OpaquePointer?, _ object: objstore_object) -> objstore_status {
    Handles.use(transaction, .view, "transaction", single) { (view: View) throws(StoreError) in
        try view.delete(objectID(object))
    }
}

@c @implementation
public func objstore_delete_objects(
    _ transaction: OpaquePointer?, _ objects: UnsafePointer<objstore_object>?, _ count: Int
) -> objstore_status {
    Handles.use(
        transaction, .view, "transaction", [.noSuchClass: "objects", .noSuchObject: "objects", .wrongStore: "objects"]
    ) { (view: View) throws(StoreError) in
        try check(elements: count, "count")
        try check(array: objects, count, "objects")
        // The ids here, and the keys with what is deleted along with them.
        try Memory.check(for: count, each: 64)
        try view.delete(UnsafeBufferPointer(start: objects, count: count).map(objectID))
    }
}

@c @implementation
public func objstore_delete_all(
    _ transaction: OpaquePointer?, _ class_id: objstore_class_id, _ count: UnsafeMutablePointer<UInt64>?
) -> objstore_status {
    Handles.use(transaction, .view, "transaction", arrays) { (view: View) throws(StoreError) in
        let deleted = try view.deleteAll(class_id)
        count?.pointee = UInt64(deleted)
    }
}

@c @implementation
public func objstore_delete_orphans(
    _ transaction: OpaquePointer?, _ class_id: objstore_class_id, _ count: UnsafeMutablePointer<UInt64>?
) -> objstore_status {
    Handles.use(transaction, .view, "transaction", arrays) { (view: View) throws(StoreError) in
        let deleted = try view.deleteOrphans(class_id)
        count?.pointee = UInt64(deleted)
    }
}

@c @implementation
public func objstore_count(
    _ view: OpaquePointer?, _ class_id: objstore_class_id, _ count: UnsafeMutablePointer<UInt64>?
) -> objstore_status {
    guard let count else { return failNull("count") }
    return Handles.use(view, .view, "view", arrays) { (view: View) throws(StoreError) in
        count.pointee = UInt64(try view.count(class_id))
    }
}

public import CObjStore
internal import ObjStoreCore

/// Failures of values for the objects of results.
private var objects: Blame {
    [
        .noSuchClass: "results", .noSuchProperty: "properties", .wrongType: "values", .notNullable: "values",
        .invalidUTF8: "values",
        .valueTooLarge: "values", .notInWrite: "transaction", .noSuchObject: "results", .wrongStore: "results",
        .invalidArgument: "properties",
        .outOfRange: "values", .duplicateKey: "values", .keyImmutable: "properties",
    ]
}

/// Of values for the objects that a collection has links to.
private var linked: Blame {
    [
        .noSuchClass: "collection", .noSuchProperty: "collection or properties", .wrongType: "collection or values",
        .notNullable: "values",
        .invalidUTF8: "values", .valueTooLarge: "values", .notInWrite: "transaction", .noSuchObject: "collection",
        .wrongStore: "collection",
        .invalidArgument: "properties", .outOfRange: "values", .duplicateKey: "values", .keyImmutable: "properties",
    ]
}

/// Of a collection alone.
private var links: Blame {
    [
        .noSuchClass: "collection", .noSuchProperty: "collection", .wrongType: "collection", .notInWrite: "transaction",
        .noSuchObject: "collection",
        .wrongStore: "collection",
    ]
}

/// Runs a call on a transaction and results, which may be of any view.
private func change(
    _ results: OpaquePointer?, _ transaction: OpaquePointer?, _ blame: Blame, _ count: UnsafeMutablePointer<UInt64>?,
    _ body: (View, Results) throws(StoreError) -> Int
) -> objstore_status {
    var found: Results?
    let status = Handles.use(results, .results, "results") { (results: Results) throws(StoreError) in found = results }
    guard let found else { return status }
    return change(transaction, blame, count) { (view) throws(StoreError) in try body(view, found) }
}

private func change(
    _ transaction: OpaquePointer?, _ blame: Blame, _ count: UnsafeMutablePointer<UInt64>?,
    _ body: (View) throws(StoreError) -> Int
) -> objstore_status {
    Handles.use(transaction, .view, "transaction", blame) { (view: View) throws(StoreError) in
        let objects = try body(view)
        count?.pointee = UInt64(objects)
    }
}

// MARK: Results

@c @implementation
public func objstore_results_set(
    _ results: OpaquePointer?, _ transaction: OpaquePointer?, _ properties: UnsafePointer<objstore_property_id>?,
    _ values: UnsafePointer<objstore_value>?,
    _ count: Int, _ objects: UnsafeMutablePointer<UInt64>?
) -> objstore_status {
    change(results, transaction, ObjStoreC.objects, objects) { (view, results) throws(StoreError) in
        let properties = try propertyArray(properties, values, count)
        return try withValues(values, count) { (values) throws(StoreError) in try view.set(results, properties, values)
        }
    }
}

@c @implementation
public func objstore_results_increment(
    _ results: OpaquePointer?, _ transaction: OpaquePointer?, _ property_id: objstore_property_id,
    _ delta: objstore_value,
    _ objects: UnsafeMutablePointer<UInt64>?
) -> objstore_status {
    let blame: Blame = [
        .noSuchClass: "results", .noSuchProperty: "property_id", .wrongType: "delta", .notInWrite: "transaction",
        .noSuchObject: "results",
        .wrongStore: "results", .outOfRange: "delta", .keyImmutable: "property_id", .duplicateKey: "delta",
        .invalidArgument: "delta",
    ]
    return change(results, transaction, blame, objects) { (view, results) throws(StoreError) in
        try view.increment(results, property_id, try Value(delta))
    }
}

@c @implementation
public func objstore_results_delete(
    _ results: OpaquePointer?, _ transaction: OpaquePointer?, _ objects: UnsafeMutablePointer<UInt64>?
) -> objstore_status {
    change(results, transaction, ObjStoreC.objects, objects) { (view, results) throws(StoreError) in
        try view.delete(results)
    }
}

// MARK: Collections

@c @implementation
public func objstore_collection_set_objects(
    _ transaction: OpaquePointer?, _ collection: objstore_collection,
    _ properties: UnsafePointer<objstore_property_id>?,
    _ values: UnsafePointer<objstore_value>?, _ count: Int, _ objects: UnsafeMutablePointer<UInt64>?
) -> objstore_status {
    change(transaction, linked, objects) { (view) throws(StoreError) in
        let properties = try propertyArray(properties, values, count)
        return try withValues(values, count) { (values) throws(StoreError) in
            try view.setObjects(of: try collectionID(collection), properties, values)
        }
    }
}

@c @implementation
public func objstore_collection_delete_objects(
    _ transaction: OpaquePointer?, _ collection: objstore_collection, _ objects: UnsafeMutablePointer<UInt64>?
) -> objstore_status {
    change(transaction, links, objects) { (view) throws(StoreError) in
        try view.deleteObjects(of: try collectionID(collection))
    }
}

@c @implementation
public func objstore_collection_assign(
    _ transaction: OpaquePointer?, _ collection: objstore_collection, _ keys: UnsafePointer<objstore_value>?,
    _ values: UnsafePointer<objstore_value>?,
    _ count: Int
) -> objstore_status {
    let blame: Blame = [
        .noSuchClass: "collection", .noSuchProperty: "collection", .wrongType: "collection or values",
        .noSuchObject: "collection or values",
        .wrongStore: "collection or values", .notNullable: "values", .invalidUTF8: "values", .valueTooLarge: "values",
        .notInWrite: "transaction",
        .invalidArgument: "values",
    ]
    return Handles.use(transaction, .view, "transaction", blame) { (view: View) throws(StoreError) in
        try check(elements: count, "count")
        try check(array: values, count, "values")
        let id = try collectionID(collection)
        try withValues(values, count) { (values) throws(StoreError) in
            guard let keys else { return try view.assign(id, nil, values, count) }
            try withValues(keys, count) { (keys) throws(StoreError) in try view.assign(id, keys, values, count) }
        }
    }
}

@c @implementation
public func objstore_collection_assign_results(
    _ transaction: OpaquePointer?, _ collection: objstore_collection, _ results: OpaquePointer?
) -> objstore_status {
    let blame: Blame = [
        .noSuchClass: "collection", .noSuchProperty: "collection", .wrongType: "collection or results",
        .notInWrite: "transaction",
        .noSuchObject: "collection or results", .wrongStore: "collection or results",
    ]
    return change(results, transaction, blame, nil) { (view, results) throws(StoreError) in
        try view.assign(try collectionID(collection), results)
        return 0
    }
}

// MARK: Sets

private var sets: Blame {
    [
        .noSuchClass: "collection", .noSuchProperty: "collection", .wrongType: "collection or values",
        .noSuchObject: "collection or values",
        .wrongStore: "collection or values", .notNullable: "values", .invalidUTF8: "values", .valueTooLarge: "values",
        .notInWrite: "transaction",
        .invalidArgument: "operation or values", .outOfRange: "values",
    ]
}

@c @implementation
public func objstore_set_combine(
    _ transaction: OpaquePointer?, _ collection: objstore_collection, _ operation: objstore_set_operation,
    _ values: UnsafePointer<objstore_value>?,
    _ count: Int, _ changed: UnsafeMutablePointer<UInt64>?
) -> objstore_status {
    Handles.use(transaction, .view, "transaction", sets) { (view: View) throws(StoreError) in
        guard let operation = SetOperation(rawValue: operation.rawValue) else {
            throw StoreError(.invalidArgument, "no operation has the number \(operation.rawValue)")
        }
        try check(elements: count, "count")
        try check(array: values, count, "values")
        let number = try withValues(values, count) { (values) throws(StoreError) in
            try view.combine(try collectionID(collection), operation, values, count)
        }
        changed?.pointee = UInt64(number)
    }
}

@c @implementation
public func objstore_set_compare(
    _ view: OpaquePointer?, _ collection: objstore_collection, _ values: UnsafePointer<objstore_value>?, _ count: Int,
    _ relation: UnsafeMutablePointer<UInt32>?
) -> objstore_status {
    guard let relation else { return failNull("relation") }
    return Handles.use(view, .view, "view", sets) { (view: View) throws(StoreError) in
        try check(elements: count, "count")
        try check(array: values, count, "values")
        relation.pointee = try withValues(values, count) { (values) throws(StoreError) in
            try view.relation(try collectionID(collection), to: values, count).rawValue
        }
    }
}

// MARK: Everything

@c @implementation
public func objstore_delete_everything(
    _ transaction: OpaquePointer?, _ objects: UnsafeMutablePointer<UInt64>?
) -> objstore_status {
    change(transaction, [.notInWrite: "transaction"], objects) { (view) throws(StoreError) in
        try view.deleteEverything()
    }
}

public import CObjStore
internal import ObjStoreCore

/// Failures of lists, sets and maps as they are.
private var ofElements: Blame { elements(type: "collection", value: "collection", range: "index") }
/// With a value.
private var ofValue: Blame { elements(type: "collection or value", value: "value", range: "value") }
/// With a place and a value.
private var ofPlace: Blame { elements(type: "collection or value", value: "value", range: "index or value") }
/// With the key of an entry.
private var ofKey: Blame { elements(type: "collection or key", value: "key", range: "key") }
/// With one and its value.
private func ofEntry(_ key: objstore_value) -> Blame {
    elements(
        type: "collection, key or value", value: "key or value", range: "key or value",
        null: key.kind == .OBJSTORE_KIND_NULL ? "key" : "value")
}
/// With the place of the first one.
private var ofStart: Blame { elements(type: "collection", value: "collection", range: "start") }

/// - Parameter type: what can be of a wrong type; `value`: what can be a wrong text; `range`: what can be out of it;
///   `null`: what can be null, `value` too unless said otherwise.
private func elements(type: StaticString, value: StaticString, range: StaticString, null: StaticString? = nil) -> Blame
{
    [
        .noSuchClass: "collection", .noSuchProperty: "collection", .wrongType: type, .noSuchObject: "collection",
        .wrongStore: "collection",
        .notNullable: null ?? value, .invalidUTF8: value, .valueTooLarge: value, .notInWrite: "transaction",
        .wrongView: "buffer", .invalidArgument: value,
        .outOfRange: range,
    ]
}

/// An index of an element: more than there can be is out of range.
private func index(_ index: Int) -> Int { index < 0 ? .max : index }

@c @implementation
public func objstore_collection_count(
    _ view: OpaquePointer?, _ collection: objstore_collection, _ count: UnsafeMutablePointer<UInt64>?
) -> objstore_status {
    guard let count else { return failNull("count") }
    return Handles.use(view, .view, "view", ofElements) { (view: View) throws(StoreError) in
        count.pointee = UInt64(try view.elementCount(try collectionID(collection)))
    }
}

@c @implementation
public func objstore_collection_get(
    _ view: OpaquePointer?, _ collection: objstore_collection, _ index: Int,
    _ buffer: UnsafeMutablePointer<objstore_buffer>?,
    _ key: UnsafeMutablePointer<objstore_value>?, _ value: UnsafeMutablePointer<objstore_value>?
) -> objstore_status {
    guard let value else { return failNull("value") }
    return Handles.use(view, .view, "view", ofElements) { (view: View) throws(StoreError) in
        let element = try view.element(
            try collectionID(collection), at: ObjStoreC.index(index), try outputBuffer(buffer))
        if let key { element.key.store(to: key, storeTag: view.shared.tag) }
        element.value.store(to: value, storeTag: view.shared.tag)
    }
}

@c @implementation
public func objstore_collection_read(
    _ view: OpaquePointer?, _ collection: objstore_collection, _ start: Int, _ capacity: Int,
    _ buffer: UnsafeMutablePointer<objstore_buffer>?,
    _ keys: UnsafeMutablePointer<objstore_value>?, _ values: UnsafeMutablePointer<objstore_value>?,
    _ count: UnsafeMutablePointer<Int>?
) -> objstore_status {
    guard let count else { return failNull("count") }
    return Handles.use(view, .view, "view", ofStart) { (view: View) throws(StoreError) in
        try check(count: capacity, "capacity")
        let buffer = try outputBuffer(buffer)
        count.pointee = try view.elements(
            try collectionID(collection), from: ObjStoreC.index(start), limit: capacity, wantsKeys: keys != nil, buffer
        ) {
            position, key, value in
            if let keys { key.store(to: keys + position, storeTag: view.shared.tag) }
            if let values { value.store(to: values + position, storeTag: view.shared.tag) }
        }
    }
}

@c @implementation
public func objstore_collection_find(
    _ view: OpaquePointer?, _ collection: objstore_collection, _ value: objstore_value,
    _ index: UnsafeMutablePointer<Int64>?
) -> objstore_status {
    guard let index else { return failNull("index") }
    return Handles.use(view, .view, "view", ofValue) { (view: View) throws(StoreError) in
        index.pointee = Int64(try view.firstIndex(try collectionID(collection), of: try Value(value)) ?? -1)
    }
}

@c @implementation
public func objstore_query_collection(
    _ view: OpaquePointer?, _ collection: objstore_collection, _ query: UnsafeMutablePointer<OpaquePointer?>?
) -> objstore_status {
    makeQuery(view, query, ofElements) { (view) throws(StoreError) in
        try view.query(of: try collectionID(collection))
    }
}

@c @implementation
public func objstore_collection_remove(
    _ transaction: OpaquePointer?, _ collection: objstore_collection, _ index: Int, _ count: Int
) -> objstore_status {
    do throws(StoreError) { try check(count: count, "count") } catch { return report(error) }
    return Handles.use(transaction, .view, "transaction", ofElements) { (view: View) throws(StoreError) in
        try view.remove(try collectionID(collection), at: ObjStoreC.index(index), count: count)
    }
}

@c @implementation
public func objstore_collection_clear(
    _ transaction: OpaquePointer?, _ collection: objstore_collection
) -> objstore_status {
    Handles.use(transaction, .view, "transaction", ofElements) { (view: View) throws(StoreError) in
        try view.removeAllElements(try collectionID(collection))
    }
}

// MARK: Lists

@c @implementation
public func objstore_list_insert(
    _ transaction: OpaquePointer?, _ collection: objstore_collection, _ index: Int,
    _ values: UnsafePointer<objstore_value>?, _ count: Int
) -> objstore_status {
    Handles.use(transaction, .view, "transaction", ofPlace) { (view: View) throws(StoreError) in
        try check(elements: count, "count")
        try check(array: values, count, "values")
        // OBJSTORE_END has every bit set.
        let at = index == -1 ? nil : ObjStoreC.index(index)
        try withValues(values, count) { (values) throws(StoreError) in
            try view.insert(try collectionID(collection), at: at, UnsafeBufferPointer(start: values, count: count))
        }
    }
}

@c @implementation
public func objstore_list_set(
    _ transaction: OpaquePointer?, _ collection: objstore_collection, _ index: Int, _ value: objstore_value
) -> objstore_status {
    Handles.use(transaction, .view, "transaction", ofPlace) { (view: View) throws(StoreError) in
        try view.set(try collectionID(collection), at: ObjStoreC.index(index), try Value(value))
    }
}

@c @implementation
public func objstore_list_move(
    _ transaction: OpaquePointer?, _ collection: objstore_collection, _ index: Int, _ target: Int
) -> objstore_status {
    Handles.use(
        transaction, .view, "transaction",
        [
            .outOfRange: "index, target", .notInWrite: "transaction", .noSuchObject: "collection",
            .noSuchProperty: "collection", .wrongType: "collection", .wrongStore: "collection",
            .noSuchClass: "collection",
        ]
    ) {
        (view: View) throws(StoreError) in
        try view.move(try collectionID(collection), from: ObjStoreC.index(index), to: ObjStoreC.index(target))
    }
}

/// A change that says whether it found, or made, something new.
private func change(
    _ transaction: OpaquePointer?, _ out: UnsafeMutablePointer<Bool>?, _ blame: @autoclosure () -> Blame,
    _ body: (View) throws(StoreError) -> Bool
) -> objstore_status {
    Handles.use(transaction, .view, "transaction", blame()) { (view: View) throws(StoreError) in
        let answer = try body(view)
        out?.pointee = answer
    }
}

// MARK: Sets

@c @implementation
public func objstore_set_insert(
    _ transaction: OpaquePointer?, _ collection: objstore_collection, _ value: objstore_value,
    _ inserted: UnsafeMutablePointer<Bool>?
) -> objstore_status {
    change(transaction, inserted, ofValue) { (view) throws(StoreError) in
        try view.insert(try collectionID(collection), member: try Value(value))
    }
}

@c @implementation
public func objstore_set_remove(
    _ transaction: OpaquePointer?, _ collection: objstore_collection, _ value: objstore_value,
    _ removed: UnsafeMutablePointer<Bool>?
) -> objstore_status {
    change(transaction, removed, ofValue) { (view) throws(StoreError) in
        try view.remove(try collectionID(collection), member: try Value(value))
    }
}

// MARK: Maps

private func key(_ key: objstore_value) throws(StoreError) -> Value {
    try naming("key") { () throws(StoreError) in try Value(key) }
}

@c @implementation
public func objstore_map_get(
    _ view: OpaquePointer?, _ collection: objstore_collection, _ key: objstore_value,
    _ buffer: UnsafeMutablePointer<objstore_buffer>?,
    _ value: UnsafeMutablePointer<objstore_value>?, _ found: UnsafeMutablePointer<Bool>?
) -> objstore_status {
    guard let value else { return failNull("value") }
    return Handles.use(view, .view, "view", ofKey) { (view: View) throws(StoreError) in
        let buffer = try outputBuffer(buffer), key = try ObjStoreC.key(key)
        let id = try collectionID(collection)
        let element = try view.value(id, ofKey: key, buffer)
        if element == nil, found == nil { throw StoreError(.notFound, "key: the map does not have \(key.text)") }
        (element ?? .null).store(to: value, storeTag: view.shared.tag)
        found?.pointee = element != nil
    }
}

@c @implementation
public func objstore_map_set(
    _ transaction: OpaquePointer?, _ collection: objstore_collection, _ key: objstore_value, _ value: objstore_value,
    _ inserted: UnsafeMutablePointer<Bool>?
) -> objstore_status {
    change(transaction, inserted, ofEntry(key)) { (view) throws(StoreError) in
        try view.set(
            try collectionID(collection), key: try ObjStoreC.key(key),
            try naming("value") { () throws(StoreError) in try Value(value) })
    }
}

@c @implementation
public func objstore_map_remove(
    _ transaction: OpaquePointer?, _ collection: objstore_collection, _ key: objstore_value,
    _ removed: UnsafeMutablePointer<Bool>?
) -> objstore_status {
    change(transaction, removed, ofKey) { (view) throws(StoreError) in
        try view.remove(try collectionID(collection), key: try ObjStoreC.key(key))
    }
}

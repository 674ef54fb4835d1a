public import CObjStore
internal import ObjStoreCore

@c @implementation
public func objstore_schema_add_index(
    _ schema: OpaquePointer?, _ class_name: objstore_text, _ names: UnsafePointer<objstore_text>?, _ count: Int,
    _ flags: UInt32
) -> objstore_status {
    Handles.use(schema, .schema, "schema", [:]) { (box: SchemaBox) throws(StoreError) in
        try ConfigLock.withLock { () throws(StoreError) in
            let className = try naming("class_name") { () throws(StoreError) in try name(class_name) }
            try check(elements: count, "count")
            try check(array: names, count, "names")
            try check(flags: flags, known: SchemaDraft.IndexFlags.all.rawValue)
            guard count <= OBJSTORE_MAX_INDEX_PROPERTIES else {
                throw StoreError(.invalidSchema, tooMany(count).message).at(class: className)
            }
            var list: [String] = []
            for index in 0..<count {
                list.append(try naming("names") { () throws(StoreError) in try name(names.unsafelyUnwrapped[index]) })
            }
            try box.draft.addIndex(className, list, SchemaDraft.IndexFlags(rawValue: flags))
        }
    }
}

private func tooMany(_ count: Int) -> StoreError {
    StoreError(.noSuchIndex, "count is \(count): an index has \(OBJSTORE_MAX_INDEX_PROPERTIES) properties at most")
}

// MARK: By properties and id

@c @implementation
public func objstore_index_count(
    _ view: OpaquePointer?, _ class_id: objstore_class_id, _ count: UnsafeMutablePointer<Int>?
) -> objstore_status {
    guard let count else { return failNull("count") }
    return Handles.use(view, .view, "view", [.noSuchClass: "class_id"]) { (view: View) throws(StoreError) in
        count.pointee = try view.indexCount(class_id)
    }
}

private func full(_ info: IndexInfo) -> objstore_index_info {
    var full = objstore_index_info()
    full.index_id = info.indexID
    full.class_id = info.classID
    if info.isUnique { full.flags |= UInt32(OBJSTORE_INDEX_UNIQUE) }
    if info.isPrimaryKey { full.flags |= UInt32(OBJSTORE_INDEX_PRIMARY_KEY) }
    full.property_count = UInt32(info.properties.count)
    withUnsafeMutableBytes(of: &full.properties) { bytes in
        let properties = bytes.bindMemory(to: objstore_property_id.self)
        for (index, property) in info.properties.enumerated() { properties[index] = property }
    }
    return full
}

@c @implementation
public func objstore_index_at(
    _ view: OpaquePointer?, _ class_id: objstore_class_id, _ index: Int,
    _ info: UnsafeMutablePointer<objstore_index_info>?
) -> objstore_status {
    guard let info else { return failNull("info") }
    return describe(view, info, size: info.pointee.struct_size, [.noSuchClass: "class_id", .outOfRange: "index"]) {
        (view) throws(StoreError) in
        full(try view.indexInfo(class_id, at: index))
    }
}

@c @implementation
public func objstore_index_get_info(
    _ view: OpaquePointer?, _ index_id: objstore_index_id, _ info: UnsafeMutablePointer<objstore_index_info>?
) -> objstore_status {
    guard let info else { return failNull("info") }
    return describe(view, info, size: info.pointee.struct_size, [.noSuchIndex: "index_id"]) {
        (view) throws(StoreError) in full(try view.indexInfo(index_id))
    }
}

@c @implementation
public func objstore_find_index(
    _ view: OpaquePointer?, _ class_id: objstore_class_id, _ properties: UnsafePointer<objstore_property_id>?,
    _ count: Int,
    _ index_id: UnsafeMutablePointer<objstore_index_id>?
) -> objstore_status {
    guard let index_id else { return failNull("index_id") }
    return Handles.use(
        view, .view, "view", [.noSuchClass: "class_id", .noSuchProperty: "properties", .noSuchIndex: "properties"]
    ) {
        (view: View) throws(StoreError) in
        try check(elements: count, "count")
        try check(array: properties, count, "properties")
        guard count <= OBJSTORE_MAX_INDEX_PROPERTIES else { throw tooMany(count) }
        index_id.pointee = try view.findIndex(class_id, UnsafeBufferPointer(start: properties, count: count))
    }
}

// MARK: What they find

@c @implementation
public func objstore_find_by(
    _ view: OpaquePointer?, _ index_id: objstore_index_id, _ values: UnsafePointer<objstore_value>?, _ count: Int,
    _ object: UnsafeMutablePointer<objstore_object>?, _ found: UnsafeMutablePointer<Bool>?
) -> objstore_status {
    guard let object else { return failNull("object") }
    let blame: Blame = [
        .noSuchIndex: "index_id", .wrongType: "values", .invalidUTF8: "values", .outOfRange: "values",
        .valueTooLarge: "values", .invalidArgument: "values",
        .noSuchObject: "values",
    ]
    return Handles.use(view, .view, "view", blame) { (view: View) throws(StoreError) in
        try check(elements: count, "count")
        try check(array: values, count, "values")
        guard count <= OBJSTORE_MAX_INDEX_PROPERTIES else { throw StoreError(.invalidArgument, tooMany(count).message) }
        try withValues(values, count) { (values) throws(StoreError) in
            try answer(try view.find(by: index_id, UnsafeBufferPointer(start: values, count: count)), object, found)
        }
    }
}

@c @implementation
public func objstore_query_range(
    _ view: OpaquePointer?, _ index_id: objstore_index_id, _ from: UnsafePointer<objstore_value>?, _ from_count: Int,
    _ to: UnsafePointer<objstore_value>?, _ to_count: Int, _ flags: UInt32,
    _ query: UnsafeMutablePointer<OpaquePointer?>?
) -> objstore_status {
    let blame: Blame = [
        .noSuchIndex: "index_id", .wrongType: "from, to", .invalidUTF8: "from, to", .outOfRange: "from, to",
        .valueTooLarge: "from, to",
        .invalidArgument: "from, to",
    ]
    return makeQuery(view, query, blame) { (view) throws(StoreError) in
        try check(count: from_count, "from_count")
        try check(count: to_count, "to_count")
        try check(array: from, from_count, "from")
        try check(array: to, to_count, "to")
        try check(flags: flags, known: IndexStretch.Flags.all.rawValue)
        // More than an index can have are refused by their number.
        let most = Int(OBJSTORE_MAX_INDEX_PROPERTIES) + 1, fromCount = min(from_count, most),
            toCount = min(to_count, most)
        let stretch = try naming("from") { () throws(StoreError) in
            try withValues(from, fromCount) { (first) throws(StoreError) in
                try naming("to") { () throws(StoreError) in
                    try withValues(to, toCount) { (last) throws(StoreError) in
                        try IndexStretch(
                            index_id, from: UnsafeBufferPointer(start: first, count: fromCount),
                            to: UnsafeBufferPointer(start: last, count: toCount),
                            IndexStretch.Flags(rawValue: flags))
                    }
                }
            }
        }
        return try view.query(in: stretch)
    }
}

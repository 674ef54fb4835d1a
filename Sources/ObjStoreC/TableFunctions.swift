public import CObjStore
internal import ObjStoreCore

@c @implementation
public func objstore_query_table(
    _ query: OpaquePointer?, _ view: OpaquePointer?, _ table: UnsafeMutablePointer<OpaquePointer?>?
) -> objstore_status {
    guard let table else { return failNull("table") }
    table.pointee = nil
    let blame: Blame = [
        .wrongStore: "query", .noSuchClass: "query", .noSuchProperty: "query", .invalidQuery: "query",
    ]
    return askAny(query, view, blame) { (query, object) throws(StoreError) in
        table.pointee = try Handles.open(.table, try object.table(try query.ofTable()))
    }
}

@c @implementation
public func objstore_table_size(
    _ table: OpaquePointer?, _ rows: UnsafeMutablePointer<UInt64>?, _ columns: UnsafeMutablePointer<Int>?
) -> objstore_status {
    Handles.use(table, .table, "table") { (table: Table) throws(StoreError) in
        rows?.pointee = UInt64(table.rows)
        columns?.pointee = table.columns.count
    }
}

@c @implementation
public func objstore_table_column_at(
    _ table: OpaquePointer?, _ index: Int, _ column: UnsafeMutablePointer<objstore_table_column>?
) -> objstore_status {
    guard let column else { return failNull("column") }
    return Handles.use(table, .table, "table", [.outOfRange: "index"]) { (table: Table) throws(StoreError) in
        let found = try table.column(at: index)
        column.pointee = objstore_table_column(
            name: objstore_text(bytes: Value.text(found.shownName.pointer), length: Int64(found.shownName.count)),
            kind: unsafeBitCast(Int32(found.kind.rawValue), to: objstore_kind.self), class_id: found.target,
            values: found.values,
            offsets: found.offsets.map { UnsafePointer($0) }, validity: found.validity,
            values_bytes: UInt64(found.valueBytes), null_count: UInt64(found.nullCount), reserved: 0)
    }
}

@c @implementation
public func objstore_table_value(
    _ table: OpaquePointer?, _ row_index: UInt64, _ column_index: Int, _ value: UnsafeMutablePointer<objstore_value>?
) -> objstore_status {
    guard let value else { return failNull("value") }
    return Handles.use(table, .table, "table") { (table: Table) throws(StoreError) in
        let column = try naming("column_index") { () throws(StoreError) in try table.column(at: column_index) }
        let found = try naming("row_index") { () throws(StoreError) in try table.value(row_index, in: column) }
        found.store(to: value, storeTag: table.storeTag)
    }
}

@c @implementation
public func objstore_table_close(_ table: OpaquePointer?) -> objstore_status {
    Handles.close(table, .table, "table")
}

// MARK: Arrow

@c @implementation
public func objstore_query_arrow(
    _ query: OpaquePointer?, _ view: OpaquePointer?, _ flags: UInt32,
    _ stream: UnsafeMutablePointer<ArrowArrayStream>?
) -> objstore_status {
    guard let stream else { return failNull("stream") }
    stream.pointee = ArrowArrayStream()
    return askAny(query, view) { (query, view) throws(StoreError) in
        let texts = try textForm(flags)
        try view.arrow(query, texts: texts).export(to: UnsafeMutableRawPointer(stream))
    }
}

private func textForm(_ flags: UInt32) throws(StoreError) -> TextForm {
    let dictionaries = UInt32(OBJSTORE_ARROW_DICTIONARIES), views = UInt32(OBJSTORE_ARROW_VIEWS)
    try check(flags: flags, known: dictionaries | views)
    if flags == dictionaries | views {
        throw StoreError(.invalidArgument, "flags: texts are given as dictionaries or as views, not both")
            .namingArgument()
    }
    return flags == dictionaries ? .dictionary : flags == views ? .views : .plain
}

@c @implementation
public func objstore_results_arrow(
    _ results: OpaquePointer?, _ properties: UnsafePointer<objstore_property_id>?, _ property_count: Int,
    _ flags: UInt32, _ stream: UnsafeMutablePointer<ArrowArrayStream>?
) -> objstore_status {
    guard let stream else { return failNull("stream") }
    stream.pointee = ArrowArrayStream()
    let blame: Blame = [
        .noSuchProperty: "properties", .wrongType: "properties", .invalidArgument: "properties",
        .noSuchClass: "results",
    ]
    return Handles.use(results, .results, "results", blame) { (results: Results) throws(StoreError) in
        try check(count: property_count, "property_count")
        try check(array: properties, property_count, "properties")
        let ids = UnsafeBufferPointer(start: properties, count: property_count)
        let texts = try textForm(flags)
        try results.view.arrow(results, ids, texts: texts).export(to: UnsafeMutableRawPointer(stream))
    }
}

@c @implementation
public func objstore_table_arrow(
    _ table: OpaquePointer?, _ flags: UInt32, _ stream: UnsafeMutablePointer<ArrowArrayStream>?
) -> objstore_status {
    guard let stream else { return failNull("stream") }
    stream.pointee = ArrowArrayStream()
    return Handles.use(table, .table, "table") { (table: Table) throws(StoreError) in
        let texts = try textForm(flags)
        ArrowStream(table, texts: texts).export(to: UnsafeMutableRawPointer(stream))
    }
}

public import CObjStore
internal import ObjStoreCore

@c @implementation
public func objstore_insert_rows(
    _ transaction: OpaquePointer?, _ class_id: objstore_class_id, _ policy: objstore_policy,
    _ columns: UnsafePointer<objstore_column>?,
    _ column_count: Int, _ row_count: Int, _ keys: UnsafeMutablePointer<Int64>?,
    _ counts: UnsafeMutablePointer<objstore_insert_counts>?
) -> objstore_status {
    let blame: Blame = [
        .noSuchClass: "class_id", .noPrimaryKey: "class_id", .noSuchProperty: "columns", .wrongType: "columns",
        .notNullable: "columns",
        .invalidUTF8: "columns", .valueTooLarge: "columns", .missingValue: "columns", .notInWrite: "transaction",
        .outOfRange: "columns",
        .duplicateKey: "columns",
    ]
    return Handles.use(transaction, .view, "transaction", blame) { (view: View) throws(StoreError) in
        try check(properties: column_count, "column_count")
        try check(elements: row_count, "row_count")
        // Which rows are new, and what is generated for them.
        try Memory.check(for: row_count, each: 16)
        try check(array: columns, column_count, "columns")
        let policy = try ObjStoreC.policy(policy)
        var inputs: [InputColumn] = []
        inputs.reserveCapacity(column_count)
        for index in 0..<column_count {
            let column = columns.unsafelyUnwrapped[index]
            if let number = [column.reserved.0, column.reserved.1, column.reserved.2].first(where: { $0 != 0 }) {
                throw notReserved("column", number)
            }
            guard let kind = ValueKind(rawValue: UInt8(truncatingIfNeeded: column.kind.rawValue)),
                (1...15).contains(column.kind.rawValue)
            else {
                throw StoreError(.wrongType, "column \(index) has the kind \(column.kind.rawValue)")
            }
            inputs.append(
                InputColumn(
                    propertyID: column.property_id, kind: kind, values: column.values, offsets: column.offsets,
                    validity: column.validity,
                    valuesBytes: column.values_bytes))
        }
        var failure: StoreError?
        inputs.withUnsafeBufferPointer { inputs in
            do throws(StoreError) {
                let done = try view.insert(class_id, policy, inputs, rows: row_count, keys: keys)
                counts?.pointee = objstore_insert_counts(
                    created: UInt64(done.created), changed: UInt64(done.changed), unchanged: UInt64(done.unchanged),
                    reserved: 0)
            } catch {
                failure = error
            }
        }
        if let failure { throw failure.code == .invalidArgument ? named(failure) : failure }
    }
}

private func named(_ error: StoreError) -> StoreError {
    StoreError(error.code, "columns: \(error.message)").at(
        class: error.className, property: error.propertyName, position: error.position)
}

private var readBlame: Blame {
    [
        .noSuchClass: "class_id", .noSuchProperty: "property_id", .wrongType: "property_id", .outOfRange: "position",
        .nullValue: "validity",
    ]
}

@c @implementation
public func objstore_read_column(
    _ view: OpaquePointer?, _ class_id: objstore_class_id, _ property_id: objstore_property_id, _ capacity: Int,
    _ position: UnsafeMutablePointer<Int64>?, _ values: UnsafeMutableRawPointer?,
    _ validity: UnsafeMutablePointer<UInt8>?,
    _ keys: UnsafeMutablePointer<Int64>?, _ count: UnsafeMutablePointer<Int>?
) -> objstore_status {
    guard let position else { return failNull("position") }
    guard let count else { return failNull("count") }
    return Handles.use(view, .view, "view", readBlame) { (view: View) throws(StoreError) in
        try check(count: capacity, "capacity")
        try check(array: values, capacity, "values")
        var last = try start(position)
        let done = try view.readColumn(
            class_id, property_id, capacity: capacity, position: &last, values: values, validity: validity, keys: keys)
        position.pointee = last
        count.pointee = done
    }
}

private func start(_ position: UnsafePointer<Int64>) throws(StoreError) -> Int64 {
    guard position.pointee >= -1 else {
        throw StoreError(.outOfRange, "it is \(position.pointee): a key, or OBJSTORE_START")
    }
    return position.pointee
}

@c @implementation
public func objstore_read_text_column(
    _ view: OpaquePointer?, _ class_id: objstore_class_id, _ property_id: objstore_property_id, _ capacity: Int,
    _ position: UnsafeMutablePointer<Int64>?, _ buffer: UnsafeMutablePointer<objstore_buffer>?,
    _ offsets: UnsafeMutablePointer<Int64>?,
    _ validity: UnsafeMutablePointer<UInt8>?, _ keys: UnsafeMutablePointer<Int64>?, _ count: UnsafeMutablePointer<Int>?
) -> objstore_status {
    guard let position else { return failNull("position") }
    guard let buffer else { return failNull("buffer") }
    guard let offsets else { return failNull("offsets") }
    guard let count else { return failNull("count") }
    return Handles.use(view, .view, "view", readBlame) { (view: View) throws(StoreError) in
        try check(count: capacity, "capacity")
        var last = try start(position)
        let output = try outputBuffer(buffer).unsafelyUnwrapped
        let done = try view.readTextColumn(
            class_id, property_id, capacity: capacity, position: &last, buffer: output, offsets: offsets,
            validity: validity, keys: keys)
        position.pointee = last
        count.pointee = done
    }
}

@c @implementation
public func objstore_results_read(
    _ results: OpaquePointer?, _ start: UInt64, _ row_count: Int, _ properties: UnsafePointer<objstore_property_id>?,
    _ property_count: Int,
    _ buffer: UnsafeMutablePointer<objstore_buffer>?
) -> objstore_status {
    guard let buffer else { return failNull("buffer") }
    let blame: Blame = [.outOfRange: "start", .noSuchProperty: "properties"]
    return Handles.use(results, .results, "results", blame) { (results: Results) throws(StoreError) in
        try read(results, start, row_count, properties, property_count, buffer)
    }
}

/// Rows of results from `start` on, in packed form.
func read(
    _ results: Results, _ start: UInt64, _ row_count: Int, _ properties: UnsafePointer<objstore_property_id>?,
    _ property_count: Int, _ buffer: UnsafeMutablePointer<objstore_buffer>
) throws(StoreError) {
    try check(count: row_count, "row_count")
    try check(properties: property_count, "property_count")
    try check(array: properties, property_count, "properties")
    let output = try outputBuffer(buffer).unsafelyUnwrapped
    do throws(StoreError) {
        try results.read(
            from: start, limit: row_count, UnsafeBufferPointer(start: properties, count: property_count),
            into: output)
    } catch {
        if error.code == .invalidArgument {
            throw StoreError(error.code, "properties: \(error.message)").at(
                class: error.className, property: error.propertyName)
        }
        throw error
    }
}

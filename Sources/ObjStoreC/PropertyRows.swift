public import CObjStore
internal import ObjStoreCore

/// Classes that are described by a table, a row for each property.

/// Runs a body for each row; what fails names it.
private func forEachRow(
    _ rows: UnsafePointer<objstore_property_row>?, _ count: Int,
    _ body: (Int, objstore_property_row, _ name: String) throws(StoreError) -> Void
) throws(StoreError) {
    try check(properties: count, "count")
    try check(array: rows, count, "rows")
    for index in 0..<count {
        let row = rows.unsafelyUnwrapped[index]
        do throws(StoreError) {
            if let number = [row.reserved.0, row.reserved.1, row.reserved.2, row.reserved.3, row.reserved.4].first(
                where: { $0 != 0 })
            {
                throw notReserved("row", number)
            }
            guard let name = row.name else { throw StoreError(.invalidArgument, "name is NULL") }
            try body(
                index, row, try naming("name") { () throws(StoreError) in try ObjStoreC.name(objstore_cstr(name)) })
        } catch {
            throw error.prefixed("rows[\(index)]: ")
        }
    }
}

/// A text that may be left out.
private func optional(_ text: UnsafePointer<CChar>?, _ member: StaticString) throws(StoreError) -> String? {
    guard let text else { return nil }
    return try naming(member) { () throws(StoreError) in try ObjStoreC.name(objstore_cstr(text)) }
}

@c @implementation
public func objstore_schema_add_rows(
    _ schema: OpaquePointer?, _ class_name: objstore_text, _ class_flags: UInt32,
    _ rows: UnsafePointer<objstore_property_row>?, _ count: Int
) -> objstore_status {
    changeSchema(schema, [:]) { (draft) throws(StoreError) in
        let className = try naming("class_name") { () throws(StoreError) in try ObjStoreC.name(class_name) }
        try check(flags: class_flags, known: classEmbedded, "class_flags")
        // All, or nothing.
        var new = draft
        try new.addClass(className)
        try forEachRow(rows, count) { (_, row, name) throws(StoreError) in try add(row, name, className, to: &new) }
        try new.setEmbedded(className, class_flags & classEmbedded != 0)
        draft = new
    }
}

private func add(
    _ row: objstore_property_row, _ name: String, _ className: String, to draft: inout SchemaDraft
) throws(StoreError) {
    let kind = try valueKind(row.kind, "kind"), collection = try valueKind(row.collection, "collection"),
        key = try valueKind(row.key_kind, "key_kind")
    let target = try optional(row.target, "target"), given = SchemaDraft.Flags(rawValue: row.flags)
    func invalid(_ what: String) -> StoreError {
        StoreError(.invalidSchema, "\(className).\(name): \(what)").at(class: className, property: name)
    }
    if target != nil, kind != .link { throw invalid("target is for links, not for \(kind.indefinite)") }
    if kind == .link, target == nil { throw invalid("a link needs a target: the class that it leads to") }
    if collection != .null {
        let known: SchemaDraft.Flags = target == nil ? .nullable : [.nullable, .cascade]
        try check(row.flags, known)
        try draft.addCollection(
            className, name, collection, ElementSchema(kind: kind, isNullable: given.contains(.nullable), keyKind: key),
            target: target, given)
    } else {
        guard key == .null else { throw invalid("key_kind is for maps") }
        guard !kind.isCollection else {
            throw invalid(
                "\(kind.indefinite) needs a kind of elements: say \(kind) in collection, and what it holds in kind")
        }
        try check(row.flags, SchemaDraft.Flags.all)
        if let target {
            try draft.addLink(className, name, to: target, given)
        } else {
            try draft.addProperty(className, name, kind, given)
        }
    }
    let value = try naming("default_value") { () throws(StoreError) in try Value(row.default_value) }
    if !value.isNull {
        do throws(StoreError) { try draft.setDefault(className, name, value) } catch {
            throw error.prefixed("default_value: ")
        }
    }
    if let former = try optional(row.former_name, "former_name") { try draft.addFormerName(className, name, former) }
    if let stored = try optional(row.stored_name, "stored_name") { try draft.setStoredName(className, name, stored) }
}

@c @implementation
public func objstore_find_rows(
    _ view: OpaquePointer?, _ class_name: objstore_text, _ rows: UnsafePointer<objstore_property_row>?, _ count: Int,
    _ class_id: UnsafeMutablePointer<objstore_class_id>?, _ property_ids: UnsafeMutablePointer<objstore_property_id>?
) -> objstore_status {
    Handles.use(view, .view, "view") { (view: View) throws(StoreError) in
        let found = try view.findClass(
            try naming("class_name") { () throws(StoreError) in try ObjStoreC.name(class_name) })
        var ids: [objstore_property_id] = []
        try forEachRow(rows, count) { (_, _, name) throws(StoreError) in ids.append(try view.findProperty(found, name))
        }
        class_id?.pointee = found
        if let property_ids { for (index, id) in ids.enumerated() { property_ids[index] = id } }
    }
}

public import CObjStore
internal import ObjStoreCore

/// A schema being described, behind its handle.
final class SchemaBox {
    var draft = SchemaDraft()
}

func changeSchema(
    _ schema: OpaquePointer?, _ blame: @autoclosure () -> Blame, _ body: (inout SchemaDraft) throws(StoreError) -> Void
) -> objstore_status {
    Handles.use(schema, .schema, "schema", blame()) { (box: SchemaBox) throws(StoreError) in
        try ConfigLock.withLock { () throws(StoreError) in try body(&box.draft) }
    }
}

/// Names the argument in an error of reading it.
func naming<T>(_ argument: StaticString, _ body: () throws(StoreError) -> T) throws(StoreError) -> T {
    do throws(StoreError) { return try body() } catch { throw error.prefixed("\(argument): ").namingArgument() }
}

@c @implementation
public func objstore_schema_new(_ schema: UnsafeMutablePointer<OpaquePointer?>?) -> objstore_status {
    newHandle(schema, "schema", .schema) { SchemaBox() }
}

/// Makes a handle without a parent.
func newHandle(
    _ out: UnsafeMutablePointer<OpaquePointer?>?, _ argument: StaticString, _ kind: HandleKind, _ make: () -> AnyObject
) -> objstore_status {
    guard let out else { return failNull(argument) }
    out.pointee = nil
    if Handles.isSilent { return Handles.misused(nil, kind, argument) }
    do throws(StoreError) {
        out.pointee = try Handles.open(kind, make())
        return .OBJSTORE_OK
    } catch {
        return report(error)
    }
}

@c @implementation
public func objstore_schema_add_class(_ schema: OpaquePointer?, _ class_name: objstore_text) -> objstore_status {
    changeSchema(schema, [:]) { (draft) throws(StoreError) in
        try draft.addClass(try naming("class_name") { () throws(StoreError) in try name(class_name) })
    }
}

@c @implementation
public func objstore_schema_drop_class(_ schema: OpaquePointer?, _ class_name: objstore_text) -> objstore_status {
    changeSchema(schema, [:]) { (draft) throws(StoreError) in
        try draft.dropClass(try naming("class_name") { () throws(StoreError) in try name(class_name) })
    }
}

/// OBJSTORE_CLASS_EMBEDDED
let classEmbedded: UInt32 = 1

@c @implementation
public func objstore_schema_set_class_flags(
    _ schema: OpaquePointer?, _ class_name: objstore_text, _ flags: UInt32
) -> objstore_status {
    changeSchema(schema, [:]) { (draft) throws(StoreError) in
        let className = try naming("class_name") { () throws(StoreError) in try ObjStoreC.name(class_name) }
        try check(flags: flags, known: classEmbedded)
        try draft.setEmbedded(className, flags & classEmbedded != 0)
    }
}

@c @implementation
public func objstore_schema_add_property(
    _ schema: OpaquePointer?, _ class_name: objstore_text, _ name: objstore_text, _ kind: objstore_kind, _ flags: UInt32
) -> objstore_status {
    changeSchema(schema, [:]) { (draft) throws(StoreError) in
        let className = try naming("class_name") { () throws(StoreError) in try ObjStoreC.name(class_name) }
        let property = try naming("name") { () throws(StoreError) in try ObjStoreC.name(name) }
        let kind = try valueKind(kind, "kind")
        guard !kind.isCollection else {
            throw StoreError(
                .invalidSchema, "\(kind.indefinite) needs a kind of elements: objstore_schema_add_collection"
            ).at(class: className, property: property)
        }
        try check(flags, SchemaDraft.Flags.all)
        try draft.addProperty(className, property, kind, SchemaDraft.Flags(rawValue: flags))
    }
}

@c @implementation
public func objstore_schema_add_collection(
    _ schema: OpaquePointer?, _ class_name: objstore_text, _ name: objstore_text, _ collection: objstore_kind,
    _ key_kind: objstore_kind,
    _ kind: objstore_kind, _ flags: UInt32
) -> objstore_status {
    addCollection(schema, class_name, name, collection, key_kind, flags) { () throws(StoreError) in
        (try valueKind(kind, "kind"), nil)
    }
}

@c @implementation
public func objstore_schema_add_link_collection(
    _ schema: OpaquePointer?, _ class_name: objstore_text, _ name: objstore_text, _ collection: objstore_kind,
    _ key_kind: objstore_kind,
    _ target_class: objstore_text, _ flags: UInt32
) -> objstore_status {
    addCollection(schema, class_name, name, collection, key_kind, flags) { () throws(StoreError) in
        (.link, try naming("target_class") { () throws(StoreError) in try ObjStoreC.name(target_class) })
    }
}

private func addCollection(
    _ schema: OpaquePointer?, _ class_name: objstore_text, _ name: objstore_text, _ collection: objstore_kind,
    _ key_kind: objstore_kind, _ flags: UInt32,
    elements: () throws(StoreError) -> (kind: ValueKind, target: String?)
) -> objstore_status {
    changeSchema(schema, [:]) { (draft) throws(StoreError) in
        let className = try naming("class_name") { () throws(StoreError) in try ObjStoreC.name(class_name) }
        let property = try naming("name") { () throws(StoreError) in try ObjStoreC.name(name) }
        let collection = try valueKind(collection, "collection"), key = try valueKind(key_kind, "key_kind"),
            (kind, target) = try elements()
        let given = SchemaDraft.Flags(rawValue: flags),
            known: SchemaDraft.Flags = target == nil ? .nullable : [.nullable, .cascade]
        try check(flags, known)
        try draft.addCollection(
            className, property, collection,
            ElementSchema(kind: kind, isNullable: given.contains(.nullable), keyKind: key), target: target, given)
    }
}

/// Flags of a property that can be requested here.
func check(_ flags: UInt32, _ known: SchemaDraft.Flags) throws(StoreError) {
    let others = flags & ~known.rawValue
    if others == 0 { return }
    let what =
        SchemaDraft.Flags.all.union(.hasDefault).isSuperset(of: SchemaDraft.Flags(rawValue: others))
        ? "flags that such a property cannot have" : "unknown bits"
    throw StoreError(.invalidArgument, "flags: 0x\(String(others, radix: 16)): \(what)")
}

/// A kind of value, or of what is said of a property.
func valueKind(_ kind: objstore_kind, _ argument: StaticString) throws(StoreError) -> ValueKind {
    guard kind != .OBJSTORE_KIND_DOCUMENT else {
        throw StoreError(.invalidArgument, "\(argument): no property is a document; one of kind mixed can hold it")
    }
    guard kind.rawValue >= 0, kind.rawValue <= 15 else {
        throw StoreError(.invalidArgument, "\(argument): kind \(kind.rawValue) has no name")
    }
    return ValueKind(rawValue: UInt8(kind.rawValue))!
}

@c @implementation
public func objstore_schema_add_link(
    _ schema: OpaquePointer?, _ class_name: objstore_text, _ name: objstore_text, _ target_class: objstore_text,
    _ flags: UInt32
) -> objstore_status {
    changeSchema(schema, [:]) { (draft) throws(StoreError) in
        let className = try naming("class_name") { () throws(StoreError) in try ObjStoreC.name(class_name) }
        let property = try naming("name") { () throws(StoreError) in try ObjStoreC.name(name) }
        let target = try naming("target_class") { () throws(StoreError) in try ObjStoreC.name(target_class) }
        try check(flags, SchemaDraft.Flags.all)
        try draft.addLink(className, property, to: target, SchemaDraft.Flags(rawValue: flags))
    }
}

@c @implementation
public func objstore_schema_set_default(
    _ schema: OpaquePointer?, _ class_name: objstore_text, _ name: objstore_text, _ value: objstore_value
) -> objstore_status {
    changeSchema(schema, [.wrongType: "value", .notNullable: "value", .invalidUTF8: "value", .outOfRange: "value"]) {
        (draft) throws(StoreError) in
        let className = try naming("class_name") { () throws(StoreError) in try ObjStoreC.name(class_name) }
        let property = try naming("name") { () throws(StoreError) in try ObjStoreC.name(name) }
        let value = try naming("value") { () throws(StoreError) in try Value(value) }
        try draft.setDefault(className, property, value)
    }
}

@c @implementation
public func objstore_schema_set_enumeration(
    _ schema: OpaquePointer?, _ class_name: objstore_text, _ name: objstore_text,
    _ values: UnsafePointer<objstore_value>?, _ count: Int,
    _ flags: UInt32
) -> objstore_status {
    guard let values else { return failNull("values") }
    return changeSchema(schema, [.wrongType: "name or values", .invalidUTF8: "values"]) { (draft) throws(StoreError) in
        let className = try naming("class_name") { () throws(StoreError) in try ObjStoreC.name(class_name) }
        let property = try naming("name") { () throws(StoreError) in try ObjStoreC.name(name) }
        try check(elements: count, "count")
        guard flags & ~enumerationKeys == 0 else {
            throw StoreError(
                .invalidArgument, "flags: 0x\(String(flags, radix: 16)): others than OBJSTORE_ENUMERATION_KEYS")
        }
        try withValues(values, count) { (given) throws(StoreError) in
            try draft.setEnumeration(
                className, property, areKeys: flags != 0, Array(UnsafeBufferPointer(start: given, count: count)))
        }
    }
}

/// OBJSTORE_ENUMERATION_KEYS
private let enumerationKeys: UInt32 = 1

@c @implementation
public func objstore_schema_add_former_name(
    _ schema: OpaquePointer?, _ class_name: objstore_text, _ name: objstore_text, _ former_name: objstore_text
) -> objstore_status {
    changeSchema(schema, [:]) { (draft) throws(StoreError) in
        let className = try naming("class_name") { () throws(StoreError) in try ObjStoreC.name(class_name) }
        let property = try naming("name") { () throws(StoreError) in try ObjStoreC.name(name) }
        let former = try naming("former_name") { () throws(StoreError) in try ObjStoreC.name(former_name) }
        try draft.addFormerName(className, property, former)
    }
}

@c @implementation
public func objstore_schema_set_stored_name(
    _ schema: OpaquePointer?, _ class_name: objstore_text, _ name: objstore_text, _ stored_name: objstore_text
) -> objstore_status {
    changeSchema(schema, [:]) { (draft) throws(StoreError) in
        let className = try naming("class_name") { () throws(StoreError) in try ObjStoreC.name(class_name) }
        let property = try naming("name") { () throws(StoreError) in try ObjStoreC.name(name) }
        let stored = try naming("stored_name") { () throws(StoreError) in try ObjStoreC.name(stored_name) }
        try draft.setStoredName(className, property, stored)
    }
}

@c @implementation
public func objstore_schema_add_inverse(
    _ schema: OpaquePointer?, _ class_name: objstore_text, _ name: objstore_text, _ origin_class: objstore_text,
    _ origin_property: objstore_text
) -> objstore_status {
    changeSchema(schema, [:]) { (draft) throws(StoreError) in
        let className = try naming("class_name") { () throws(StoreError) in try ObjStoreC.name(class_name) }
        let inverse = try naming("name") { () throws(StoreError) in try ObjStoreC.name(name) }
        let origin = try naming("origin_class") { () throws(StoreError) in try ObjStoreC.name(origin_class) }
        let property = try naming("origin_property") { () throws(StoreError) in try ObjStoreC.name(origin_property) }
        try draft.addInverse(className, inverse, ofClass: origin, property)
    }
}

@c @implementation
public func objstore_schema_set_stored_class_name(
    _ schema: OpaquePointer?, _ class_name: objstore_text, _ stored_name: objstore_text
) -> objstore_status {
    changeSchema(schema, [:]) { (draft) throws(StoreError) in
        let className = try naming("class_name") { () throws(StoreError) in try ObjStoreC.name(class_name) }
        let stored = try naming("stored_name") { () throws(StoreError) in try ObjStoreC.name(stored_name) }
        try draft.setStoredName(className, stored)
    }
}

@c @implementation
public func objstore_schema_close(_ schema: OpaquePointer?) -> objstore_status {
    Handles.close(schema, .schema, "schema")
}

@c @implementation
public func objstore_migrate_property(
    _ transaction: OpaquePointer?, _ property_id: objstore_property_id, _ old: OpaquePointer?,
    _ old_property_id: objstore_property_id,
    _ count: UnsafeMutablePointer<UInt64>?
) -> objstore_status {
    // The first argument first.
    let first = Handles.use(transaction, .view, "transaction") { (_: View) throws(StoreError) in }
    if first != .OBJSTORE_OK { return first }
    return Handles.pin(old, .view, "old", [.wrongView: "old", .wrongStore: "old"]) { (old: View) throws(StoreError) in
        Handles.pin(
            transaction, .view, "transaction",
            [.notInWrite: "transaction", .noSuchProperty: "property_id", .wrongType: "property_id"]
        ) {
            (view: View) throws(StoreError) in
            if view.kind == .transaction, old.kind != .transaction {
                let (new, other) = (
                    try view.propertyInfo(property_id),
                    try naming("old_property_id") { () throws(StoreError) in try old.propertyInfo(old_property_id) }
                )
                guard new.classID == other.classID else {
                    throw StoreError(.noSuchProperty, "old_property_id is a property of another class")
                }
            }
            let done = try view.copyProperty(property_id, from: old, old_property_id)
            count?.pointee = UInt64(done)
            return .OBJSTORE_OK
        }
    }
}

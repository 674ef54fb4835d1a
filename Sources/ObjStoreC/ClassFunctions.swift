internal import CSystem
public import CObjStore
internal import ObjStoreCore

/// Names as C strings that are never freed: as many as there are different names.
private enum Names {
    private nonisolated(unsafe) static var known: [String: objstore_text] = [:]

    static func text(_ name: String) -> objstore_text {
        cs_global_lock(Int32(CS_LOCK_HANDLES))
        defer { cs_global_unlock(Int32(CS_LOCK_HANDLES)) }
        if let text = known[name] { return text }
        let bytes = name.utf8CString
        let copy = UnsafeMutableBufferPointer<CChar>.allocate(capacity: bytes.count)
        _ = copy.initialize(from: bytes)
        let text = objstore_text(bytes: UnsafePointer(copy.baseAddress), length: Int64(bytes.count - 1))
        known[name] = text
        return text
    }
}

@c @implementation
public func objstore_find_class(
    _ view: OpaquePointer?, _ name: objstore_text, _ class_id: UnsafeMutablePointer<objstore_class_id>?
) -> objstore_status {
    guard let class_id else { return failNull("class_id") }
    return Handles.use(view, .view, "view") { (view: View) throws(StoreError) in
        class_id.pointee = try view.findClass(try naming("name") { () throws(StoreError) in try ObjStoreC.name(name) })
    }
}

@c @implementation
public func objstore_find_property(
    _ view: OpaquePointer?, _ class_id: objstore_class_id, _ name: objstore_text,
    _ property_id: UnsafeMutablePointer<objstore_property_id>?
) -> objstore_status {
    guard let property_id else { return failNull("property_id") }
    return Handles.use(view, .view, "view", [.noSuchClass: "class_id"]) { (view: View) throws(StoreError) in
        property_id.pointee = try view.findProperty(
            class_id, try naming("name") { () throws(StoreError) in try ObjStoreC.name(name) })
    }
}

@c @implementation
public func objstore_class_count(_ view: OpaquePointer?, _ count: UnsafeMutablePointer<Int>?) -> objstore_status {
    guard let count else { return failNull("count") }
    return Handles.use(view, .view, "view") { (view: View) throws(StoreError) in count.pointee = try view.classCount() }
}

/// Fills a structure inside a call on a view.
func describe<T>(
    _ view: OpaquePointer?, _ info: UnsafeMutablePointer<T>, size: UInt32, _ blame: Blame,
    _ make: (View) throws(StoreError) -> T
) -> objstore_status {
    var result = objstore_status.OBJSTORE_OK
    let used = Handles.use(view, .view, "view", blame) { (view: View) throws(StoreError) in
        result = fill(info, try make(view), size: size, least: 8, "info")
    }
    return used == .OBJSTORE_OK ? result : used
}

private func full(_ info: ClassInfo) -> objstore_class_info {
    var full = objstore_class_info()
    full.class_id = info.classID
    full.name = Names.text(info.name)
    full.property_count = info.propertyCount
    full.primary_key = info.primaryKey
    full.flags = info.isEmbedded ? classEmbedded : 0
    full.key_index = info.keyIndex
    return full
}

private func full(_ info: PropertyInfo) -> objstore_property_info {
    var full = objstore_property_info()
    full.property_id = info.propertyID
    full.class_id = info.classID
    full.name = Names.text(info.name)
    full.kind = objstore_kind(rawValue: Int32((info.elements?.kind ?? info.kind).rawValue))!
    full.collection = info.elements == nil ? .OBJSTORE_KIND_NULL : objstore_kind(rawValue: Int32(info.kind.rawValue))!
    full.key_kind = objstore_kind(rawValue: Int32((info.elements?.keyKind ?? .null).rawValue))!
    full.flags = info.flags.rawValue
    full.index = UInt32(info.index)
    full.target_class_id = info.target
    // Never an object: the default of a link is null.
    info.defaultValue.store(to: &full.default_value, storeTag: 0)
    return full
}

@c @implementation
public func objstore_class_at(
    _ view: OpaquePointer?, _ index: Int, _ info: UnsafeMutablePointer<objstore_class_info>?
) -> objstore_status {
    guard let info else { return failNull("info") }
    return describe(view, info, size: info.pointee.struct_size, [.outOfRange: "index"]) { (view) throws(StoreError) in
        full(try view.classInfo(at: index))
    }
}

@c @implementation
public func objstore_class_get_info(
    _ view: OpaquePointer?, _ class_id: objstore_class_id, _ info: UnsafeMutablePointer<objstore_class_info>?
) -> objstore_status {
    guard let info else { return failNull("info") }
    return describe(view, info, size: info.pointee.struct_size, [.noSuchClass: "class_id"]) {
        (view) throws(StoreError) in full(try view.classInfo(class_id))
    }
}

@c @implementation
public func objstore_property_at(
    _ view: OpaquePointer?, _ class_id: objstore_class_id, _ index: Int,
    _ info: UnsafeMutablePointer<objstore_property_info>?
) -> objstore_status {
    guard let info else { return failNull("info") }
    return describe(view, info, size: info.pointee.struct_size, [.noSuchClass: "class_id", .outOfRange: "index"]) {
        (view) throws(StoreError) in
        full(try view.propertyInfo(class_id, at: index))
    }
}

@c @implementation
public func objstore_property_get_info(
    _ view: OpaquePointer?, _ property_id: objstore_property_id, _ info: UnsafeMutablePointer<objstore_property_info>?
) -> objstore_status {
    guard let info else { return failNull("info") }
    return describe(view, info, size: info.pointee.struct_size, [.noSuchProperty: "property_id"]) {
        (view) throws(StoreError) in
        full(try view.propertyInfo(property_id))
    }
}

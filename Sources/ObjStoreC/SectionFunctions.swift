public import CObjStore
internal import ObjStoreCore

extension Sections: ClosedWithParent {
    func closeWithParent() {}
}

// MARK: Making

/// Errors of sections that are being made, by the argument that says their key.
private func blame(_ source: StaticString) -> Blame {
    [
        .noSuchClass: source, .noSuchProperty: source, .wrongType: source, .invalidQuery: source, .invalidUTF8: source,
        .invalidArgument: source, .notSupported: source, .outOfRange: source, .noSuchObject: source,
    ]
}

private func sectionFlags(_ flags: UInt32) throws(StoreError) -> Sections.Flags {
    try check(flags: flags, known: Sections.Flags.all.rawValue)
    let both = UInt32(OBJSTORE_SECTIONS_ASCENDING) | UInt32(OBJSTORE_SECTIONS_DESCENDING)
    if flags & both == both {
        throw StoreError(.invalidArgument, "flags: sections ascend or descend, not both").namingArgument()
    }
    return Sections.Flags(rawValue: flags)
}

/// Makes sections as a handle of the view of the results.
private func make(
    _ results: OpaquePointer?, _ sections: UnsafeMutablePointer<OpaquePointer?>?, _ flags: UInt32,
    _ source: StaticString, _ body: (Results, Sections.Flags) throws(StoreError) -> Sections
) -> objstore_status {
    guard let sections else { return failNull("sections") }
    sections.pointee = nil
    guard let handle = results else { return failNull("results") }
    // Functions that the key calls may use the view, and cannot close it.
    return Handles.pin(handle, .results, "results") { (results: Results) throws(StoreError) in
        let parent = Handles.parent(handle)
        return Handles.pin(parent, .view, "results", blame(source)) { (_: View) throws(StoreError) in
            let made = try body(results, try sectionFlags(flags))
            sections.pointee = try Handles.open(.sections, made, parent: parent)
            return .OBJSTORE_OK
        }
    }
}

@c @implementation
public func objstore_sections_new(
    _ results: OpaquePointer?, _ nodes: UnsafePointer<objstore_query_node>?, _ count: Int, _ flags: UInt32,
    _ sections: UnsafeMutablePointer<OpaquePointer?>?
) -> objstore_status {
    make(results, sections, flags, "nodes") { (results, flags) throws(StoreError) in
        try results.sections(by: try queryNodes(nodes, count), flags)
    }
}

@c @implementation
public func objstore_sections_parse(
    _ results: OpaquePointer?, _ text: objstore_text, _ arguments: UnsafePointer<objstore_value>?, _ count: Int,
    _ flags: UInt32, _ sections: UnsafeMutablePointer<OpaquePointer?>?
) -> objstore_status {
    make(results, sections, flags, "text") { (results, flags) throws(StoreError) in
        let (pointer, length) = try bytes(of: text)
        try check(count: count, "count")
        try check(array: arguments, count, "arguments")
        return try results.sections(
            byParsing: UnsafeRawBufferPointer(start: pointer, count: length),
            try naming("arguments") { () throws(StoreError) in try queryArguments(arguments, count) }, flags)
    }
}

@c @implementation
public func objstore_sections_by(
    _ results: OpaquePointer?, _ flags: UInt32, _ function: objstore_section_key?,
    _ userdata: UnsafeMutableRawPointer?, _ free_userdata: objstore_free_userdata?,
    _ sections: UnsafeMutablePointer<OpaquePointer?>?
) -> objstore_status {
    let userdata = Userdata(userdata, free_userdata)
    defer { withExtendedLifetime(userdata) {} }
    guard let sections else { return failNull("sections") }
    sections.pointee = nil
    guard let function else { return failNull("function") }
    guard let handle = results else { return failNull("results") }
    return Handles.pin(handle, .results, "results") { (results: Results) throws(StoreError) in
        let flags = try sectionFlags(flags)
        // The view, too, cannot be closed by the function.
        let parent = Handles.parent(handle)
        let blame: Blame = [
            .wrongType: "function", .invalidUTF8: "function", .outOfRange: "function", .wrongStore: "function",
            .invalidArgument: "function",
        ]
        return Handles.pin(parent, .view, "results", blame) { (_: View) throws(StoreError) in
            let store = Handles.store(of: handle)
            let made = try results.sections(flags) { [weak own = results.view] (view, body) throws(StoreError) in
                // Observers ask in a view of their own.
                if view === own { return try body(asking(function, parent, userdata)) }
                let lent = try Handles.open(.view, view, parent: store, isLent: true)
                defer { if case .mine = Handles.claim(lent, .view, "view") { Handles.forget(lent) } }
                var failure: StoreError?
                // It cannot be closed by the function.
                let status = Handles.pin(lent, .view, "view") { (_: View) throws(StoreError) in
                    do throws(StoreError) { try body(asking(function, lent, userdata)) } catch { failure = error }
                    return .OBJSTORE_OK
                }
                if let failure { throw failure }
                if status != .OBJSTORE_OK { throw StoreError(.outOfMemory, "no memory to call the function") }
            }
            sections.pointee = try Handles.open(.sections, made, parent: parent)
            return .OBJSTORE_OK
        }
    }
}

/// Calls the application's function about objects in a view.
private func asking(
    _ function: @escaping objstore_section_key, _ view: OpaquePointer?, _ userdata: Userdata
) -> Sections.Ask {
    { (object) throws(StoreError) in
        var key = objstore_null()
        let status = try userdata.call { function(view, ObjStoreC.object(object), &key, $0) }
        guard status == .OBJSTORE_OK else { throw failed(status, "function") }
        return try Value(key)
    }
}

@c @implementation
public func objstore_sections_update(
    _ sections: OpaquePointer?, _ changed: UnsafeMutablePointer<Bool>?
) -> objstore_status {
    guard let handle = sections else { return failNull("sections") }
    let isInside = Handles.isInside(handle)
    return Handles.pin(handle, .sections, "sections") { (sections: Sections) throws(StoreError) in
        if isInside {
            throw StoreError(.inCallback, "sections: the call that runs this callback is updating them")
        }
        let blame: Blame = [
            .wrongType: "sections", .invalidUTF8: "sections", .outOfRange: "sections", .wrongStore: "sections",
            .invalidArgument: "sections",
        ]
        return Handles.pin(Handles.parent(handle), .view, "sections", blame) { (_: View) throws(StoreError) in
            let isOther = try sections.update()
            changed?.pointee = isOther
            return .OBJSTORE_OK
        }
    }
}

@c @implementation
public func objstore_sections_close(_ sections: OpaquePointer?) -> objstore_status {
    Handles.close(sections, .sections, "sections")
}

// MARK: Reading

@c @implementation
public func objstore_sections_count(
    _ sections: OpaquePointer?, _ count: UnsafeMutablePointer<UInt64>?
) -> objstore_status {
    guard let count else { return failNull("count") }
    return Handles.use(sections, .sections, "sections") { (sections: Sections) throws(StoreError) in
        count.pointee = UInt64(sections.now().count)
    }
}

@c @implementation
public func objstore_sections_at(
    _ sections: OpaquePointer?, _ index: UInt64, _ buffer: UnsafeMutablePointer<objstore_buffer>?,
    _ section: UnsafeMutablePointer<objstore_section>?
) -> objstore_status {
    guard let section else { return failNull("section") }
    let blame: Blame = [.outOfRange: "index", .wrongView: "buffer"]
    return Handles.use(sections, .sections, "sections", blame) { (sections: Sections) throws(StoreError) in
        let found = try sections.now().section(index, try outputBuffer(buffer))
        var key = objstore_null()
        found.key.store(to: &key, storeTag: sections.storeTag)
        section.pointee = objstore_section(key: key, start: UInt64(found.start), count: UInt64(found.count))
    }
}

@c @implementation
public func objstore_sections_objects(
    _ sections: OpaquePointer?, _ index: UInt64, _ start: UInt64, _ objects: UnsafeMutablePointer<objstore_object>?,
    _ positions: UnsafeMutablePointer<UInt64>?, _ capacity: Int, _ count: UnsafeMutablePointer<Int>?
) -> objstore_status {
    guard let count else { return failNull("count") }
    let blame: Blame = [.outOfRange: "index or start"]
    return Handles.use(sections, .sections, "sections", blame) { (sections: Sections) throws(StoreError) in
        try check(count: capacity, "capacity")
        // The same layout, field by field: see `ObjectID`.
        let out = UnsafeMutableRawPointer(objects)?.assumingMemoryBound(to: ObjectID.self)
        count.pointee = try sections.now().objects(
            index, from: start, into: out, positions: positions, capacity: capacity)
    }
}

@c @implementation
public func objstore_sections_read(
    _ sections: OpaquePointer?, _ index: UInt64, _ start: UInt64, _ row_count: Int,
    _ properties: UnsafePointer<objstore_property_id>?, _ property_count: Int,
    _ buffer: UnsafeMutablePointer<objstore_buffer>?
) -> objstore_status {
    guard let buffer else { return failNull("buffer") }
    let blame: Blame = [.outOfRange: "index or start", .noSuchProperty: "properties", .invalidArgument: "properties"]
    return Handles.use(sections, .sections, "sections", blame) { (sections: Sections) throws(StoreError) in
        try check(count: row_count, "row_count")
        try check(properties: property_count, "property_count")
        try check(array: properties, property_count, "properties")
        guard let buffer = try outputBuffer(buffer) else { return }
        try sections.now().read(
            index, from: start, limit: row_count,
            UnsafeBufferPointer(start: properties, count: property_count), into: buffer)
    }
}

// MARK: Searching

@c @implementation
public func objstore_sections_find_key(
    _ sections: OpaquePointer?, _ key: objstore_value, _ section: UnsafeMutablePointer<UInt64>?,
    _ found: UnsafeMutablePointer<Bool>?
) -> objstore_status {
    guard let section else { return failNull("section") }
    guard let found else { return failNull("found") }
    let blame: Blame = [
        .wrongType: "key", .invalidArgument: "key", .invalidUTF8: "key", .wrongStore: "key", .outOfRange: "key",
    ]
    return Handles.use(sections, .sections, "sections", blame) { (sections: Sections) throws(StoreError) in
        let number = try sections.now().find(key: try Value(key))
        if let number { section.pointee = UInt64(number) }
        found.pointee = number != nil
    }
}

private func find(
    _ sections: OpaquePointer?, _ section: UnsafeMutablePointer<UInt64>?, _ index: UnsafeMutablePointer<UInt64>?,
    _ found: UnsafeMutablePointer<Bool>?, _ blame: Blame,
    _ body: (SectionsNow) throws(StoreError) -> Sections.Place?
) -> objstore_status {
    guard let section else { return failNull("section") }
    guard let index else { return failNull("index") }
    guard let found else { return failNull("found") }
    return Handles.use(sections, .sections, "sections", blame) { (sections: Sections) throws(StoreError) in
        let place = try body(sections.now())
        if let place {
            section.pointee = UInt64(place.section)
            index.pointee = UInt64(place.index)
        }
        found.pointee = place != nil
    }
}

@c @implementation
public func objstore_sections_find_position(
    _ sections: OpaquePointer?, _ result: UInt64, _ section: UnsafeMutablePointer<UInt64>?,
    _ index: UnsafeMutablePointer<UInt64>?, _ found: UnsafeMutablePointer<Bool>?
) -> objstore_status {
    find(sections, section, index, found, [.outOfRange: "result"]) { (sections) throws(StoreError) in
        try sections.find(position: result)
    }
}

@c @implementation
public func objstore_sections_find_object(
    _ sections: OpaquePointer?, _ object: objstore_object, _ section: UnsafeMutablePointer<UInt64>?,
    _ index: UnsafeMutablePointer<UInt64>?, _ found: UnsafeMutablePointer<Bool>?
) -> objstore_status {
    find(sections, section, index, found, [.wrongStore: "object"]) { (sections) throws(StoreError) in
        try sections.find(objectID(object))
    }
}

// MARK: Change sets

extension ChangesBox {
    func changedSections() throws(StoreError) -> ChangedSections {
        if let sections = changes.sections { return sections }
        throw StoreError(.wrongType, "the change set is not of observed sections: only these have sections")
    }
}

@c @implementation
public func objstore_changes_sections(
    _ changes: OpaquePointer?, _ change: objstore_change, _ sections: UnsafeMutablePointer<UnsafePointer<UInt64>?>?,
    _ count: UnsafeMutablePointer<Int>?
) -> objstore_status {
    guard let sections else { return failNull("sections") }
    guard let count else { return failNull("count") }
    return Handles.use(changes, .changes, "changes", [.wrongType: "changes"]) { (box: ChangesBox) throws(StoreError) in
        let which = try place(of: change)
        guard which < 6 else {
            throw StoreError(.invalidArgument, "change \(change.rawValue) is about sections, which are in none")
        }
        let list = try box.lentSections(which)
        (sections.pointee, count.pointee) = (UnsafePointer(list.baseAddress), list.count)
    }
}

/// Errors: `.invalidArgument`.
func place(of change: objstore_change) throws(StoreError) -> Int {
    guard (1...8).contains(change.rawValue) else {
        throw StoreError(.invalidArgument, "change \(change.rawValue) has no name")
    }
    return Int(change.rawValue) - 1
}

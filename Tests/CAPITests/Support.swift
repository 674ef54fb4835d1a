import CObjStore
import CSystem
import Testing

/// A call that should have succeeded.
struct Failure: Error, CustomStringConvertible {
    let status: objstore_status
    let description: String
}

/// Throws where the status is not OK, with the library's message.
func ok(_ status: objstore_status) throws {
    if status != .OBJSTORE_OK {
        throw Failure(
            status: status,
            description: "\(String(cString: objstore_status_name(status))): \(String(cString: objstore_last_message()))"
        )
    }
}

/// Expects a failure and hands out its message.
@discardableResult
func refused(
    _ status: objstore_status, _ expected: objstore_status, sourceLocation: SourceLocation = #_sourceLocation
) -> String {
    let message = String(cString: objstore_last_message())
    #expect(
        status == expected, "\(String(cString: objstore_status_name(status))): \(message)",
        sourceLocation: sourceLocation)
    return message
}

/// Text that lives for ever: tests are short.
func text(_ string: String) -> objstore_text {
    let bytes = UnsafeMutableBufferPointer<CChar>.allocate(capacity: string.utf8.count + 1)
    var string = string
    string.withUTF8 { UnsafeMutableRawBufferPointer(bytes).copyMemory(from: UnsafeRawBufferPointer($0)) }
    bytes[string.utf8.count] = 0
    return objstore_text_of(bytes.baseAddress, Int64(string.utf8.count))
}

func string(_ text: objstore_text) -> String? {
    guard let bytes = text.bytes else { return nil }
    return String(decoding: UnsafeRawBufferPointer(start: bytes, count: Int(text.length)), as: UTF8.self)
}

func string(_ value: objstore_value) -> String? { value.kind == .OBJSTORE_KIND_STRING ? string(value.data.text) : nil }

/// A class as a test describes it: `name: (kind, flags)`.
struct TestClass {
    let name: String
    let properties: [(name: String, kind: objstore_kind, flags: Int32)]
    var defaults: [String: objstore_value] = [:]
}

// OBJSTORE_PROPERTY_…: the header checks that they are these (layout.c).
let primaryKey: Int32 = 1
let indexed: Int32 = 2
let nullable: Int32 = 4

let dogs = TestClass(
    name: "Dog", properties: [("name", .OBJSTORE_KIND_STRING, 0), ("age", .OBJSTORE_KIND_INT, 0)],
    defaults: ["age": objstore_int(0)])
let persons = TestClass(
    name: "Person",
    properties: [
        ("id", .OBJSTORE_KIND_INT, primaryKey), ("name", .OBJSTORE_KIND_STRING, 0),
        ("nick", .OBJSTORE_KIND_STRING, nullable),
    ])

/// Removes its files when it goes.
final class TestFolder {
    let path: String
    init() {
        var template = Array("/tmp/objstore-capi-XXXXXX".utf8CString)
        path = String(cString: mkdtemp(&template))
    }
    deinit {
        for name in ["store", "copy", "other"] {
            for suffix in ["", "-log", "-lock"] { unlink("\(path)/\(name)\(suffix)") }
        }
        rmdir(path)
    }
    var store: String { path + "/store" }
}

/// Opens stores of test classes.
func openStore(
    _ path: String?, _ classes: [TestClass], version: UInt64 = 1, configure: (OpaquePointer) throws -> Void = { _ in }
) throws -> OpaquePointer {
    var config: OpaquePointer?
    try ok(objstore_config_new(&config))
    defer { _ = objstore_config_close(config) }
    try ok(path.map { objstore_config_set_path(config, text($0)) } ?? objstore_config_set_memory(config, text("")))
    if !classes.isEmpty {
        let schema = try makeSchema(classes)
        defer { _ = objstore_schema_close(schema) }
        try ok(objstore_config_set_schema(config, schema, version))
    }
    try configure(config!)
    var store: OpaquePointer?
    try ok(objstore_open(config, &store))
    return store!
}

/// Opens a store of a schema that a test made itself.
func openStore(_ path: String?, _ schema: OpaquePointer?) throws -> OpaquePointer {
    try openStore(path, []) { config in try ok(objstore_config_set_schema(config, schema, 1)) }
}

/// Ids by name, as a view has them.
struct Names {
    private let view: OpaquePointer
    init(_ view: OpaquePointer) { self.view = view }

    func cls(_ name: String) throws -> objstore_class_id {
        var id: objstore_class_id = 0
        try ok(objstore_find_class(view, text(name), &id))
        return id
    }

    func property(_ cls: objstore_class_id, _ name: String) throws -> objstore_property_id {
        var id: objstore_property_id = 0
        try ok(objstore_find_property(view, cls, text(name), &id))
        return id
    }
}

func makeSchema(_ classes: [TestClass]) throws -> OpaquePointer {
    var schema: OpaquePointer?
    try ok(objstore_schema_new(&schema))
    for cls in classes {
        try ok(objstore_schema_add_class(schema, text(cls.name)))
        for property in cls.properties {
            try ok(
                objstore_schema_add_property(
                    schema, text(cls.name), text(property.name), property.kind, UInt32(property.flags)))
        }
        for (name, value) in cls.defaults {
            try ok(objstore_schema_set_default(schema, text(cls.name), text(name), value))
        }
    }
    return schema!
}

/// One class of a store: its ids, found once.
struct ClassOf {
    let id: objstore_class_id
    private let ids: [String: objstore_property_id]

    init(_ store: OpaquePointer, _ cls: TestClass) throws {
        let view = try liveView(store)
        defer { _ = objstore_view_close(view) }
        try self.init(tx: view, cls)
    }

    /// As a view sees it.
    init(tx view: OpaquePointer, _ cls: TestClass) throws {
        var id: objstore_class_id = 0
        try ok(objstore_find_class(view, text(cls.name), &id))
        var ids: [String: objstore_property_id] = [:]
        for property in cls.properties {
            var propertyID: objstore_property_id = 0
            try ok(objstore_find_property(view, id, text(property.name), &propertyID))
            ids[property.name] = propertyID
        }
        self.id = id
        self.ids = ids
    }

    subscript(_ name: String) -> objstore_property_id { ids[name]! }

    @discardableResult
    func create(_ tx: OpaquePointer, _ values: KeyValuePairs<String, objstore_value>) throws -> objstore_object {
        var object = objstore_object()
        try ok(objstore_create(tx, id, values.map { ids[$0.key]! }, values.map(\.value), values.count, &object))
        return object
    }

    @discardableResult
    func upsert(
        _ tx: OpaquePointer, _ policy: objstore_policy, _ values: KeyValuePairs<String, objstore_value>
    ) throws -> objstore_outcome {
        var outcome = objstore_outcome.OBJSTORE_OUTCOME_UNCHANGED
        try ok(
            objstore_upsert(
                tx, id, policy, values.map { ids[$0.key]! }, values.map(\.value), values.count, nil, &outcome))
        return outcome
    }

    func count(_ view: OpaquePointer) throws -> Int {
        var count: UInt64 = 0
        try ok(objstore_count(view, id, &count))
        return Int(count)
    }

    /// A string property, copied.
    func string(_ view: OpaquePointer, _ object: objstore_object, _ name: String) throws -> String? {
        var buffer = objstore_buffer_init(), value = objstore_value()
        defer { _ = objstore_buffer_free(&buffer) }
        try ok(objstore_get(view, object, self[name], &buffer, &value))
        return CAPITests.string(value)
    }

    func int(_ view: OpaquePointer, _ object: objstore_object, _ name: String) throws -> Int64 {
        var value = objstore_value()
        try ok(objstore_get(view, object, self[name], nil, &value))
        #expect(value.kind == .OBJSTORE_KIND_INT)
        return value.data.integer
    }

    func find(_ view: OpaquePointer, _ key: objstore_value) throws -> objstore_object? {
        var object = objstore_object(), found = false
        try ok(objstore_find(view, id, key, &object, &found))
        return found ? object : nil
    }
}

func liveView(_ store: OpaquePointer) throws -> OpaquePointer {
    var view: OpaquePointer?
    try ok(objstore_view_open(store, &view))
    return view!
}

/// Runs a body in a live view of the newest version.
@discardableResult
func reading<T>(_ store: OpaquePointer, _ body: (OpaquePointer) throws -> T) throws -> T {
    let view = try liveView(store)
    defer { _ = objstore_view_close(view) }
    return try body(view)
}

/// The same with a frozen one.
@discardableResult
func frozen<T>(_ store: OpaquePointer, _ body: (OpaquePointer) throws -> T) throws -> T {
    try reading(store) { live in
        var view: OpaquePointer?
        try ok(objstore_view_freeze(live, &view))
        defer { _ = objstore_view_close(view) }
        return try body(view!)
    }
}

/// Commits what the body does, or cancels when it throws.
@discardableResult
func writing<T>(_ store: OpaquePointer, _ body: (OpaquePointer) throws -> T) throws -> T {
    var tx: OpaquePointer?
    try ok(objstore_begin(store, &tx))
    do {
        let result = try body(tx!)
        try ok(objstore_commit(tx, nil))
        return result
    } catch {
        _ = objstore_cancel(tx)
        throw error
    }
}

/// No damage, according to the library itself.
func verify(_ store: OpaquePointer, sourceLocation: SourceLocation = #_sourceLocation) throws {
    try reading(store) { view in
        var report = objstore_buffer_init(), findings: UInt64 = 99
        defer { _ = objstore_buffer_free(&report) }
        let status = objstore_verify(view, nil, nil, nil, &report, &findings)
        #expect(
            status == .OBJSTORE_OK, "\(report.bytes.map { String(cString: $0) } ?? "")", sourceLocation: sourceLocation)
        #expect(findings == 0, sourceLocation: sourceLocation)
    }
}

/// Runs a body while changes of a class are observed: how many objects each delivered change set modified.
func hearing(
    _ store: OpaquePointer, _ classID: objstore_class_id, _ body: (_ heard: () -> [UInt64]) throws -> Void
) throws {
    nonisolated(unsafe) var heard: [UInt64] = []
    try withUnsafeMutablePointer(to: &heard) { heard in
        let handler: objstore_change_handler = { changes, userdata in
            var info = objstore_changes_info()
            info.struct_size = UInt32(MemoryLayout<objstore_changes_info>.size)
            if objstore_changes_get_info(changes, &info) == .OBJSTORE_OK {
                userdata!.assumingMemoryBound(to: [UInt64].self).pointee.append(info.modification_count)
            }
            return .OBJSTORE_OK
        }
        var token: OpaquePointer?
        try ok(objstore_observe(store, classID, 0, handler, heard, nil, &token))
        try ok(objstore_deliver(store, nil))
        try body { heard.pointee }
        try ok(objstore_token_close(token))
    }
}

/// `#expect` for what throws: inside a closure the compiler does not see a `try` inside a macro.
func expect(_ condition: Bool, _ comment: Comment? = nil, sourceLocation: SourceLocation = #_sourceLocation) {
    #expect(condition, comment, sourceLocation: sourceLocation)
}

/// `#require` for the same.
func require<T>(_ value: T?, sourceLocation: SourceLocation = #_sourceLocation) throws -> T {
    try #require(value, sourceLocation: sourceLocation)
}

/// The objects whose property links to one: asked in each way.
func incoming(_ view: OpaquePointer, _ target: objstore_object, _ property: objstore_property_id) throws -> [Int64] {
    func keys(_ results: OpaquePointer?) throws -> [Int64] {
        defer { _ = objstore_results_close(results) }
        var total: UInt64 = 0, count = 0
        try ok(objstore_results_count(results, &total))
        var objects = [objstore_object](repeating: objstore_object(), count: Int(total) + 1)
        try ok(objstore_results_objects(results, 0, &objects, objects.count, &count))
        return objects.prefix(count).map(\.key)
    }
    var results: OpaquePointer?, number: UInt64 = 0
    try ok(objstore_incoming(view, target, property, &results))
    let found = try keys(results)
    try ok(objstore_incoming_count(view, target, property, &number))
    expect(Int(number) == found.count)
    try linksTo(view, target, property, found)
    return found
}

/// Queries what has a link to `target`, which may have been deleted, in the ways of a question.
func linksTo(
    _ view: OpaquePointer, _ target: objstore_object, _ property: objstore_property_id, _ wanted: [Int64]
) throws {
    var info = objstore_property_info(), results: OpaquePointer?, number: UInt64 = 0, count = 0,
        first = objstore_object(), found = false
    info.struct_size = UInt32(MemoryLayout<objstore_property_info>.size)
    try ok(objstore_property_get_info(view, property, &info))
    let link = objstore_link(target)
    try ok(objstore_find_where(view, info.class_id, property, .OBJSTORE_LINKS_TO, link, &results))
    defer { _ = objstore_results_close(results) }
    var objects = [objstore_object](repeating: objstore_object(), count: wanted.count + 1)
    try ok(objstore_results_objects(results, 0, &objects, objects.count, &count))
    expect(objects.prefix(count).map(\.key) == wanted)
    try ok(objstore_count_where(view, info.class_id, property, .OBJSTORE_LINKS_TO, link, &number))
    expect(Int(number) == wanted.count)
    try ok(objstore_first_where(view, info.class_id, property, .OBJSTORE_LINKS_TO, link, &first, &found))
    expect(found == !wanted.isEmpty && (!found || first.key == wanted[0]))
}

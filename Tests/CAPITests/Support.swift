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
    var results: OpaquePointer?, number: UInt64 = 0
    try ok(objstore_incoming(view, target, property, &results))
    let found = try keys(results)
    try ok(objstore_incoming_count(view, target, property, &number))
    expect(Int(number) == found.count)
    try linksTo(view, target, property, found)
    return found
}

/// The keys of the objects of results, which are closed.
func keys(_ results: OpaquePointer?) throws -> [Int64] {
    defer { _ = objstore_results_close(results) }
    var total: UInt64 = 0, count = 0
    try ok(objstore_results_count(results, &total))
    var objects = [objstore_object](repeating: objstore_object(), count: Int(total) + 1)
    try ok(objstore_results_objects(results, 0, &objects, objects.count, &count))
    expect(count == Int(total))
    return objects.prefix(count).map(\.key)
}

/// Queries what has a link to `target`, which may have been deleted, in each way: `owner == $0`, `ANY pets == $0`. Of
/// mixed values and their collections no query says what has a link anywhere inside: see `objstore_incoming`.
func linksTo(
    _ view: OpaquePointer, _ target: objstore_object, _ property: objstore_property_id, _ wanted: [Int64]
) throws {
    var info = objstore_property_info()
    info.struct_size = UInt32(MemoryLayout<objstore_property_info>.size)
    try ok(objstore_property_get_info(view, property, &info))
    let isCollection = info.collection != .OBJSTORE_KIND_NULL
    if info.kind == .OBJSTORE_KIND_MIXED { return }
    let condition = comparison(property, .OBJSTORE_EQUAL, objstore_link(target), any: isCollection)
    var results: OpaquePointer?, number: UInt64 = 0, first = objstore_object(), found = false
    try ok(asking(view, info.class_id, condition) { objstore_query_find($0, view, &results) })
    expect(try keys(results) == wanted)
    try ok(asking(view, info.class_id, condition) { objstore_query_count($0, view, &number) })
    expect(Int(number) == wanted.count)
    try ok(asking(view, info.class_id, condition) { objstore_query_first($0, view, &first, &found) })
    expect(found == !wanted.isEmpty && (!found || first.key == wanted[0]))
}

// MARK: Queries

/// One node, of which the members are given that its kind has.
func node(
    _ kind: objstore_query_kind, operands: UInt32 = 0, choice: Int32 = 0, modifiers: Int = 0, number: Int64 = 0,
    value: objstore_value = objstore_null()
) -> objstore_query_node {
    objstore_query_node(
        kind: UInt8(kind.rawValue), choice: UInt8(choice), modifiers: UInt8(modifiers), reserved: 0,
        operands: operands, number: number, value: value)
}

/// The nodes of `property op value`; with `any` of a collection: ANY of its elements.
func comparison(
    _ property: objstore_property_id, _ op: objstore_operator, _ value: objstore_value, any: Bool = false
) -> [objstore_query_node] {
    let path = [
        node(.OBJSTORE_QUERY_VARIABLE), node(.OBJSTORE_QUERY_PROPERTY, operands: 1, number: Int64(property)),
    ]
    let quantifier = node(
        .OBJSTORE_QUERY_QUANTIFIED, operands: 1, choice: objstore_quantifier.OBJSTORE_ANY.rawValue)
    return path + (any ? [quantifier] : []) + [
        node(.OBJSTORE_QUERY_CONSTANT, value: value),
        node(.OBJSTORE_QUERY_COMPARE, operands: 2, choice: op.rawValue),
    ]
}

/// Makes a query of nodes, asks it, and closes it: the first status that is not OK.
func asking(
    _ view: OpaquePointer?, _ cls: objstore_class_id, _ nodes: [objstore_query_node],
    _ ask: (OpaquePointer) throws -> objstore_status
) rethrows -> objstore_status {
    var query: OpaquePointer?
    let made = objstore_query_new(view, cls, nodes, nodes.count, &query)
    return try made == .OBJSTORE_OK ? asking(query!, ask) : made
}

private func asking(
    _ query: OpaquePointer, _ ask: (OpaquePointer) throws -> objstore_status
) rethrows -> objstore_status {
    defer { #expect(objstore_query_close(query) == .OBJSTORE_OK) }
    return try ask(query)
}

/// A question of one comparison, made for one use. Its status is that of the call that failed.
func countWhere(
    _ view: OpaquePointer?, _ cls: objstore_class_id, _ property: objstore_property_id, _ op: objstore_operator,
    _ value: objstore_value, _ count: UnsafeMutablePointer<UInt64>
) -> objstore_status {
    asking(view, cls, comparison(property, op, value)) { objstore_query_count($0, view, count) }
}

func firstWhere(
    _ view: OpaquePointer?, _ cls: objstore_class_id, _ property: objstore_property_id, _ op: objstore_operator,
    _ value: objstore_value, _ object: UnsafeMutablePointer<objstore_object>, _ found: UnsafeMutablePointer<Bool>?
) -> objstore_status {
    asking(view, cls, comparison(property, op, value)) { objstore_query_first($0, view, object, found) }
}

func findWhere(
    _ view: OpaquePointer?, _ cls: objstore_class_id, _ property: objstore_property_id, _ op: objstore_operator,
    _ value: objstore_value, _ results: UnsafeMutablePointer<OpaquePointer?>
) -> objstore_status {
    asking(view, cls, comparison(property, op, value)) { objstore_query_find($0, view, results) }
}

/// All objects of a class.
func findAll(
    _ view: OpaquePointer?, _ cls: objstore_class_id, _ results: UnsafeMutablePointer<OpaquePointer?>
) -> objstore_status {
    asking(view, cls, []) { objstore_query_find($0, view, results) }
}

func aggregateAll(
    _ view: OpaquePointer?, _ cls: objstore_class_id, _ property: objstore_property_id,
    _ kind: objstore_aggregate_kind, _ value: UnsafeMutablePointer<objstore_value>
) -> objstore_status {
    asking(view, cls, []) { objstore_query_aggregate($0, view, property, kind, value) }
}

/// A query of a text, which the test closes.
func query(
    _ view: OpaquePointer?, _ cls: objstore_class_id, _ condition: String, _ arguments: [objstore_value] = []
) throws -> OpaquePointer {
    var query: OpaquePointer?
    try ok(objstore_query_parse(view, cls, text(condition), arguments, arguments.count, &query))
    return query!
}

/// What a query finds, asked in each way: by counting, for the first one, for all.
func found(
    _ query: OpaquePointer, _ view: OpaquePointer, sourceLocation: SourceLocation = #_sourceLocation
) throws -> [Int64] {
    var results: OpaquePointer?, count: UInt64 = 0, first = objstore_object(), isFound = false
    try ok(objstore_query_find(query, view, &results))
    let all = try keys(results)
    try ok(objstore_query_count(query, view, &count))
    #expect(Int(count) == all.count, sourceLocation: sourceLocation)
    try ok(objstore_query_first(query, view, &first, &isFound))
    #expect(isFound == !all.isEmpty && (!isFound || first.key == all[0]), sourceLocation: sourceLocation)
    return all
}

/// The same of a text.
func found(
    _ view: OpaquePointer, _ cls: objstore_class_id, _ condition: String, _ arguments: [objstore_value] = [],
    sourceLocation: SourceLocation = #_sourceLocation
) throws -> [Int64] {
    let query = try query(view, cls, condition, arguments)
    defer { _ = objstore_query_close(query) }
    return try found(query, view, sourceLocation: sourceLocation)
}

/// A query as a text.
func written(_ query: OpaquePointer) throws -> String {
    var buffer = objstore_buffer_init(), written = objstore_text()
    defer { _ = objstore_buffer_free(&buffer) }
    try ok(objstore_query_text(query, &buffer, &written))
    return string(written)!
}

/// A range of an index.
func asking(
    _ view: OpaquePointer?, _ index: objstore_index_id, _ from: [objstore_value], _ to: [objstore_value],
    _ flags: UInt32, _ ask: (OpaquePointer) throws -> objstore_status
) rethrows -> objstore_status {
    var query: OpaquePointer?
    let made = objstore_query_range(view, index, from, from.count, to, to.count, flags, &query)
    return try made == .OBJSTORE_OK ? asking(query!, ask) : made
}

func countIn(
    _ view: OpaquePointer?, _ index: objstore_index_id, _ from: [objstore_value], _ to: [objstore_value],
    _ flags: UInt32, _ count: UnsafeMutablePointer<UInt64>
) -> objstore_status {
    asking(view, index, from, to, flags) { objstore_query_count($0, view, count) }
}

func findIn(
    _ view: OpaquePointer?, _ index: objstore_index_id, _ from: [objstore_value], _ to: [objstore_value],
    _ flags: UInt32, _ results: UnsafeMutablePointer<OpaquePointer?>
) -> objstore_status {
    asking(view, index, from, to, flags) { objstore_query_find($0, view, results) }
}

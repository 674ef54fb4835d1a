import CObjStore
import Testing

/// Two handles of one store: one writes, and one watches with observers of every kind.
final class ObservedKennel {
    private let folder = TestFolder()
    private let isFile: Bool
    let named: NamedStore
    var store: OpaquePointer?
    let watching: OpaquePointer
    let view: OpaquePointer
    let keeper: objstore_object
    private(set) var copies: [ObservedCopy] = []
    /// What the observer of the keeper was told, and how often that of commits was.
    var written: [[String]] = []
    var commits = 0
    private var tokens: [OpaquePointer?] = []
    private var calls: [Call] = []

    /// In a file, or in memory under a name.
    init(memory: String? = nil) throws {
        isFile = memory == nil
        named = try NamedStore(isFile ? folder.store : nil, memory: memory ?? "", Self.describe)
        store = named.store
        let named = named
        keeper = try writing(named.store) { tx in
            let keeper = try named.from(
                tx, "Keeper",
                [
                    "id": 1, "name": "Dachary", "words": ["a", "b"], "numbers": [3059, 3062, 3064],
                    "notes": ["first": 1],
                    "journal": ["entries": [["what": "walk", "tags": ["park"]], "bath"], "weather": ["now": "rain"]],
                ])
            let rex = try named.from(tx, "Hound", ["name": "Rex", "age": 5, "keeper": .link(keeper)])
            var link = objstore_link(rex)
            try ok(objstore_list_insert(tx, objstore_collection_of(keeper, named["Keeper.dogs"]), 0, &link, 1))
            try ok(objstore_set_insert(tx, objstore_collection_of(keeper, named["Keeper.liked"]), link, nil))
            return keeper
        }
        watching = try openStore(isFile ? folder.store : nil, []) { config in
            if let memory { try ok(objstore_config_set_memory(config, text(memory))) }
        }
        view = try liveView(watching)
        try ok(objstore_view_set_autorefresh(view, true))
        try watch()
    }

    private static func describe(_ schema: OpaquePointer) throws {
        for cls in ["Hound", "Keeper", "Luke", "Node"] { try ok(objstore_schema_add_class(schema, text(cls))) }
        func add(_ cls: String, _ name: String, _ kind: objstore_kind, _ flags: Int = 0) throws {
            try ok(objstore_schema_add_property(schema, text(cls), text(name), kind, UInt32(flags)))
        }
        try add("Keeper", "id", .OBJSTORE_KIND_INT, OBJSTORE_PROPERTY_PRIMARY_KEY)
        try add("Luke", "id", .OBJSTORE_KIND_OBJECT_ID, OBJSTORE_PROPERTY_PRIMARY_KEY | OBJSTORE_PROPERTY_GENERATED)
        for cls in ["Hound", "Keeper", "Luke", "Node"] { try add(cls, "name", .OBJSTORE_KIND_STRING) }
        try add("Hound", "age", .OBJSTORE_KIND_INT)
        try ok(objstore_schema_set_default(schema, text("Hound"), text("age"), objstore_int(0)))
        try add("Keeper", "journal", .OBJSTORE_KIND_MIXED)
        try ok(objstore_schema_add_link(schema, text("Hound"), text("keeper"), text("Keeper"), 0))
        try ok(objstore_schema_add_link(schema, text("Node"), text("next"), text("Node"), 0))
        for (name, kind) in [("dogs", objstore_kind.OBJSTORE_KIND_LIST), ("liked", .OBJSTORE_KIND_SET)] {
            try ok(
                objstore_schema_add_link_collection(
                    schema, text("Keeper"), text(name), kind, .OBJSTORE_KIND_NULL, text("Hound"), 0))
        }
        for (name, collection, key, kind) in [
            (
                "words", objstore_kind.OBJSTORE_KIND_LIST, objstore_kind.OBJSTORE_KIND_NULL,
                objstore_kind.OBJSTORE_KIND_STRING
            ),
            ("numbers", .OBJSTORE_KIND_SET, .OBJSTORE_KIND_NULL, .OBJSTORE_KIND_INT),
            ("notes", .OBJSTORE_KIND_MAP, .OBJSTORE_KIND_STRING, .OBJSTORE_KIND_INT),
        ] {
            try ok(objstore_schema_add_collection(schema, text("Keeper"), text(name), collection, key, kind, 0))
        }
    }

    // MARK: What is written

    subscript(name: String) -> objstore_property_id { named[name] }

    func collection(_ name: String) -> objstore_collection { objstore_collection_of(keeper, named["Keeper.\(name)"]) }

    @discardableResult
    func from(
        _ tx: OpaquePointer, _ cls: String, _ values: Nested, _ policy: objstore_policy = .OBJSTORE_POLICY_ERROR
    ) throws -> objstore_object { try named.from(tx, cls, values, policy) }

    @discardableResult
    func add(_ tx: OpaquePointer, _ name: String, _ age: Int64 = 0) throws -> objstore_object {
        try named.from(tx, "Hound", ["name": .value(objstore_string(text(name))), "age": .value(objstore_int(age))])
    }

    /// To the end of the keeper's list.
    func append(_ tx: OpaquePointer, _ dogs: [(String, Int64)]) throws {
        let links = try dogs.map { objstore_link(try add(tx, $0.0, $0.1)) }
        try ok(
            objstore_list_insert(tx, collection("dogs"), Int(bitPattern: UInt(OBJSTORE_END)), links, links.count))
    }

    func set(_ tx: OpaquePointer, _ object: objstore_object, _ name: String, _ value: objstore_value) throws {
        try ok(objstore_set(tx, object, named[name], value))
    }

    func count(_ view: OpaquePointer, _ cls: String) throws -> Int { try named.count(view, cls) }

    func find(_ view: OpaquePointer, _ cls: String, _ key: objstore_value) throws -> objstore_object? {
        var object = objstore_object(), found = false
        try ok(objstore_find(view, named.classes[cls]!, key, &object, &found))
        return found ? object : nil
    }

    // MARK: What is read

    func object(_ cls: String, _ key: Int64) -> objstore_object {
        objstore_object(class_id: named.classes[cls]!, store_tag: keeper.store_tag, key: key)
    }

    func name(_ view: OpaquePointer, _ cls: String, _ key: Int64) throws -> String {
        try named.copied(view, object(cls, key), "\(cls).name") ?? "?"
    }

    /// Name and age of a dog, and whose it is.
    func line(_ view: OpaquePointer, _ key: Int64) throws -> String {
        let owner = try named.value(view, object("Hound", key), "Hound.keeper")
        let of = owner.kind == .OBJSTORE_KIND_NULL ? "" : " of \(try name(view, "Keeper", owner.data.link.key))"
        return "\(try name(view, "Hound", key)) \(try named.int(view, object("Hound", key), "Hound.age"))\(of)"
    }

    private func elements(_ view: OpaquePointer, _ name: String) throws -> [String] {
        var values = [objstore_value](repeating: objstore_value(), count: 300), keys = values, count = 0
        var buffer = objstore_buffer_init()
        defer { _ = objstore_buffer_free(&buffer) }
        let collection = collection(name), isMap = name == "notes"
        try ok(
            isMap
                ? objstore_collection_read(view, collection, 0, 300, &buffer, &keys, &values, &count)
                : objstore_collection_read(view, collection, 0, 300, &buffer, nil, &values, &count))
        return try (0..<count).map { at in
            let key = isMap ? "\(string(keys[at]) ?? "?"): " : ""
            switch values[at].kind {
            case .OBJSTORE_KIND_LINK: return try line(view, values[at].data.link.key)
            case .OBJSTORE_KIND_INT: return "\(key)\(values[at].data.integer)"
            default: return key + (string(values[at]) ?? "null")
            }
        }
    }

    /// The list or map at a place in the journal; nothing where there is none, or the other.
    private func place(_ view: OpaquePointer, _ steps: [Mixed.Step], isMap: Bool) throws -> [String] {
        var buffer = objstore_buffer_init(), value = objstore_null(), found = false
        defer { _ = objstore_buffer_free(&buffer) }
        let flat = steps.map(\.value)
        let status = objstore_mixed_read(
            view, keeper, named["Keeper.journal"], flat, flat.count, &buffer, &value, &found)
        if status == .OBJSTORE_ERR_WRONG_TYPE { return [] }
        try ok(status)
        if !found { return [] }
        func text(_ mixed: Mixed) -> String {
            switch mixed {
            case .list(let list): "[\(list.map(text).joined(separator: ", "))]"
            case .map(let map): "{\(entries(map).joined(separator: ", "))}"
            default: "\(mixed)"
            }
        }
        func entries(_ map: [String: Mixed]) -> [String] {
            map.sorted { Array($0.key.utf8).lexicographicallyPrecedes(Array($1.key.utf8)) }
                .map { "\($0.key): \(text($0.value))" }
        }
        switch try Mixed(value) {
        case .list(let list) where !isMap: return list.map(text)
        case .map(let map) where isMap: return entries(map)
        default: return []
        }
    }

    private func sections(
        _ view: OpaquePointer, _ condition: String, _ key: String
    ) throws -> [ObservedSectionsCopy.Section] {
        try withSections(view, condition, key) { sections in
            var total: UInt64 = 0
            try ok(objstore_sections_count(sections, &total))
            return try (0..<total).map { at in
                var section = objstore_section(), buffer = objstore_buffer_init(), count = 0
                defer { _ = objstore_buffer_free(&buffer) }
                try ok(objstore_sections_at(sections, at, &buffer, &section))
                var objects = [objstore_object](repeating: objstore_object(), count: Int(section.count))
                try ok(objstore_sections_objects(sections, at, 0, &objects, nil, objects.count, &count))
                return (keyText(section.key), try objects.map { try line(view, $0.key) })
            }
        }
    }

    private func keyText(_ key: objstore_value) -> String {
        switch key.kind {
        case .OBJSTORE_KIND_INT: "\(key.data.integer)"
        case .OBJSTORE_KIND_LINK: "keeper \(key.data.link.key)"
        default: string(key) ?? "null"
        }
    }

    private func withSections<T>(
        _ view: OpaquePointer, _ condition: String, _ key: String, _ body: (OpaquePointer) throws -> T
    ) throws -> T {
        var results: OpaquePointer?, sections: OpaquePointer?
        let query = try query(view, named.classes["Hound"]!, condition)
        defer { for status in [objstore_query_close(query), objstore_results_close(results)] { try? ok(status) } }
        try ok(objstore_query_find(query, view, &results))
        try ok(
            objstore_sections_parse(results, text(key), nil, 0, UInt32(OBJSTORE_SECTIONS_ASCENDING), &sections))
        defer { _ = objstore_sections_close(sections) }
        return try body(sections!)
    }

    // MARK: Watching

    private func watch() throws {
        let hound = named.classes["Hound"]!, flags = UInt32(OBJSTORE_OBSERVE_INITIAL)
        try observe(
            ObservedClassCopy(
                "class", { [unowned self] view, key in try line(view, key) },
                { [unowned self] view in try found(view, named.classes["Hound"]!, "TRUEPREDICATE") })
        ) { copy in
            objstore_observe(watching, hound, flags, ObservedCopy.handler, copy.me, nil, &copy.token)
        }
        for (name, condition) in [
            ("every one", "age >= 0"), ("query", "age < 10"), ("sorted", "TRUEPREDICATE SORT(name ASC)"),
            ("limited", "TRUEPREDICATE SORT(age DESC) LIMIT(3)"),
            ("distinct", "TRUEPREDICATE SORT(age ASC) DISTINCT(age)"),
            ("behind a link", "keeper.name != 'nobody' SORT(keeper.name ASC, age DESC)"), ("Ben", "name == 'Ben'"),
        ] { try watchQuery(name, "Hound", condition) { [unowned self] view, key in try line(view, key) } }
        try watchQuery("key path", "Hound", "TRUEPREDICATE SORT(name ASC)", paths: ["name"]) {
            [unowned self] view, key in try name(view, "Hound", key)
        }
        for cls in ["Luke", "Node"] {
            try watchQuery(cls, cls, "name != 'nobody'") { [unowned self] view, key in try name(view, cls, key) }
        }
        try watchQuery("who has one", "Keeper", "@links.Hound.keeper.@count > 0") { [unowned self] view, key in
            try name(view, "Keeper", key)
        }
        // By the names of who leads here; the objects themselves need not be written.
        try watchQuery("keepers", "Keeper", "id > 0", paths: ["name", "@links.Hound.keeper.name"]) {
            [unowned self] view, key in
            let dogs = try incoming(view, object("Keeper", key), named["Hound.keeper"])
            return try "\(name(view, "Keeper", key)): \(dogs.map { try name(view, "Hound", $0) })"
        }
        try watchCollections(flags)
        try watchRows(flags)
        try watchSections(flags)
        for (name, steps, isMap) in [
            ("journal", [], true), ("entries", [.key("entries")], false),
            ("tags", [.key("entries"), .index(0), .key("tags")], false), ("weather", [.key("weather")], true),
        ] as [(String, [Mixed.Step], Bool)] {
            let copy = ObservedCopy(name) { [unowned self] view in try place(view, steps, isMap: isMap) }
            try observe(copy) { copy in
                let flat = steps.map(\.value)
                return objstore_mixed_observe(
                    watching, keeper, named["Keeper.journal"], flat, flat.count, flags, ObservedCopy.handler, copy.me,
                    nil, &copy.token)
            }
        }
        try watchOthers()
        try follow("the beginning")
    }

    func observe<C: ObservedCopy>(_ copy: C, _ call: (C) throws -> objstore_status) throws {
        try ok(call(copy))
        copies.append(copy)
    }

    private func watchQuery(
        _ name: String, _ cls: String, _ condition: String, paths: [String]? = nil,
        _ line: @escaping (OpaquePointer, Int64) throws -> String
    ) throws {
        let query = try query(view, named.classes[cls]!, condition)
        defer { _ = objstore_query_close(query) }
        let copy = ObservedCopy(name) { [unowned self] view in
            try found(view, named.classes[cls]!, condition).map { try line(view, $0) }
        }
        let texts = paths.map { $0.map { text($0) } }
        try observe(copy) { copy in
            objstore_query_observe_paths(
                query, watching, texts, texts?.count ?? 0, UInt32(OBJSTORE_OBSERVE_INITIAL), ObservedCopy.handler,
                copy.me, nil, &copy.token)
        }
    }

    private func watchCollections(_ flags: UInt32) throws {
        for name in ["dogs", "liked", "words", "numbers", "notes"] {
            try observe(ObservedCopy(name) { [unowned self] view in try elements(view, name) }) { copy in
                objstore_collection_observe(
                    watching, collection(name), flags, ObservedCopy.handler, copy.me, nil, &copy.token)
            }
        }
        // Who is young in the list, and who leads to the keeper.
        func young(_ view: OpaquePointer) throws -> OpaquePointer {
            var all: OpaquePointer?, both: OpaquePointer?
            try ok(objstore_query_collection(view, collection("dogs"), &all))
            let those = try CAPITests.query(view, named.classes["Hound"]!, "age < 10")
            defer { for each in [all, those] { _ = objstore_query_close(each) } }
            try ok(objstore_query_then(all, those, &both))
            return both!
        }
        let query = try young(view)
        defer { _ = objstore_query_close(query) }
        let list = ObservedCopy("young of the list") { [unowned self] view in
            let query = try young(view)
            defer { _ = objstore_query_close(query) }
            return try found(query, view).map { try line(view, $0) }
        }
        try observe(list) { copy in
            objstore_query_observe(query, watching, flags, ObservedCopy.handler, copy.me, nil, &copy.token)
        }
        var results: OpaquePointer?
        try ok(objstore_incoming(view, keeper, named["Hound.keeper"], &results))
        defer { _ = objstore_results_close(results) }
        let inverse = ObservedCopy("inverse") { [unowned self] view in
            try incoming(view, keeper, named["Hound.keeper"]).map { try line(view, $0) }
        }
        try observe(inverse) { copy in
            objstore_results_observe(results, flags, ObservedCopy.handler, copy.me, nil, &copy.token)
        }
    }

    private func watchSections(_ flags: UInt32) throws {
        for (name, condition, key) in [
            ("by age", "TRUEPREDICATE SORT(name ASC)", "age"), ("by keeper", "TRUEPREDICATE SORT(age DESC)", "keeper"),
            ("by the keeper's name", "age < 10", "keeper.name"),
        ] {
            let copy = ObservedSectionsCopy(name) { [unowned self] view in try sections(view, condition, key) }
            try observe(copy) { copy in
                try withSections(view, condition, key) { sections in
                    objstore_sections_observe(
                        sections, nil, nil, 0, flags, ObservedCopy.handler, copy.me, nil, &copy.token)
                }
            }
        }
    }

    /// The keeper, and commits: no lists.
    private func watchOthers() throws {
        let me = Unmanaged.passUnretained(self).toOpaque()
        var one: OpaquePointer?, all: OpaquePointer?
        try ok(
            objstore_object_observe(
                watching, keeper, nil, 0, 0,
                { changes, userdata in
                    let kennel = Unmanaged<ObservedKennel>.fromOpaque(userdata!).takeUnretainedValue()
                    let names = ["id", "name", "dogs", "liked", "words", "numbers", "notes", "journal"]
                    var written: [String] = []
                    for name in names {
                        var isWritten = false
                        let status = objstore_changes_has(changes, 0, kennel["Keeper.\(name)"], &isWritten)
                        if status != .OBJSTORE_OK { return status }
                        if isWritten { written.append(name) }
                    }
                    kennel.written.append(written)
                    return .OBJSTORE_OK
                }, me, nil, &one))
        try ok(
            objstore_observe_commits(
                watching, 0,
                { _, userdata in
                    Unmanaged<ObservedKennel>.fromOpaque(userdata!).takeUnretainedValue().commits += 1
                    return .OBJSTORE_OK
                }, me, nil, &all))
        tokens = [one, all]
    }

    /// Delivers, compares all copies with what the view shows that has followed; which were told something.
    @discardableResult
    func follow(_ after: String) throws -> Set<String> {
        let before = copies.map(\.told)
        try ok(objstore_refresh(watching, nil, nil))
        for copy in copies { #expect(try copy.lines == copy.real(view), "\(copy.name) after \(after)") }
        return Set(zip(before, copies).filter { $0 != $1.told }.map(\.1.name))
    }

    func lines(_ name: String) -> [String] { copies.first { $0.name == name }!.lines }

    func close() throws {
        for copy in copies { try ok(objstore_token_close(copy.token)) }
        for token in tokens { try ok(objstore_token_close(token)) }
        try ok(objstore_close(watching))
        if store != nil { try ok(objstore_close(store)) }
    }

    // MARK: Asynchronous writes

    /// A closure as a function of C with its userdata.
    final class Call {
        let body: (OpaquePointer) throws -> Void
        let complete: () throws -> Void
        var ran = 0
        var completed: [objstore_status] = []
        init(_ body: @escaping (OpaquePointer) throws -> Void, completion: @escaping () throws -> Void = {}) {
            (self.body, complete) = (body, completion)
        }
        var me: UnsafeMutableRawPointer { Unmanaged.passUnretained(self).toOpaque() }
    }

    private static func call(
        _ userdata: UnsafeMutableRawPointer?, _ body: (Call) throws -> Void
    ) -> objstore_status {
        do { try body(Unmanaged<Call>.fromOpaque(userdata!).takeUnretainedValue()) } catch {
            Issue.record("\(error)")
            return .OBJSTORE_USER_STATUS
        }
        return .OBJSTORE_OK
    }
    static let body: objstore_write_body = { tx, userdata in
        call(userdata) { each in
            each.ran += 1
            try each.body(tx!)
        }
    }
    static let completion: objstore_completion = { status, _, userdata in
        call(userdata) { each in
            each.completed.append(status)
            try each.complete()
        }
    }

    @discardableResult
    func write(_ call: Call, flags: Int = 0, told: Bool = true) throws -> objstore_async_id {
        var id: objstore_async_id = 0
        calls.append(call)
        try ok(
            objstore_write_async(store, UInt32(flags), Self.body, told ? Self.completion : nil, call.me, nil, &id))
        return id
    }

    @discardableResult
    func begin(_ call: Call) throws -> objstore_async_id {
        var id: objstore_async_id = 0
        calls.append(call)
        try ok(objstore_begin_async(store, 0, Self.body, call.me, nil, &id))
        return id
    }

    @discardableResult
    func commit(_ tx: OpaquePointer, _ call: Call, flags: Int = 0) throws -> objstore_async_id {
        var id: objstore_async_id = 0
        calls.append(call)
        try ok(objstore_commit_async(tx, UInt32(flags), Self.completion, call.me, nil, &id))
        return id
    }

    var isWriting: Bool {
        get throws {
            var isWriting = false
            try ok(objstore_is_writing_async(store, &isWriting))
            return isWriting
        }
    }

    /// Until all that was called asynchronously has come to its end.
    func finish() throws { while try isWriting { try ok(objstore_wait(store, 10_000, nil)) } }
}

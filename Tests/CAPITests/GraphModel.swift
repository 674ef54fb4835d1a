import CObjStore
import Testing

/// A graph as tests write it: nodes with their values.
struct TestGraph {
    private(set) var nodes: [objstore_node] = []
    private(set) var values: [objstore_value] = []
    /// Where the description of each begins.
    private(set) var starts: [Int] = []

    /// - Parameter place: of an element, where in its parent's property.
    mutating func add(_ node: objstore_node, _ nested: Nested, at place: objstore_value? = nil) {
        starts.append(values.count)
        nodes.append(node)
        if let place { values.append(place) }
        values += nested.flat
    }

    mutating func add(_ cls: objstore_class_id, _ nested: Nested, flags: Int = 0) {
        add(objstore_node_of_class(cls, UInt32(flags)), nested)
    }

    struct Made {
        var objects: [objstore_object]
        var outcomes: [objstore_outcome]
        /// By where their descriptions begin.
        var embedded: [Int: objstore_object]
    }

    func status(_ tx: OpaquePointer, _ policy: objstore_policy, flags: Int = 0) -> objstore_status {
        objstore_create_graph(
            tx, policy, UInt32(flags), nodes, nodes.count, values, values.count, nil, nil, nil)
    }

    func make(
        _ tx: OpaquePointer, _ policy: objstore_policy = .OBJSTORE_POLICY_ERROR, flags: Int = 0
    ) throws -> Made {
        var made = Made(
            objects: Array(repeating: objstore_object(), count: nodes.count),
            outcomes: Array(repeating: .OBJSTORE_OUTCOME_UNCHANGED, count: nodes.count), embedded: [:])
        // What was there before is overwritten.
        var embedded = Array(repeating: objstore_object(class_id: 9, store_tag: 9, key: 9), count: values.count)
        try ok(
            objstore_create_graph(
                tx, policy, UInt32(flags), nodes, nodes.count, values, values.count, &made.objects, &made.outcomes,
                &embedded))
        for (index, object) in embedded.enumerated() where object.class_id != 0 { made.embedded[index] = object }
        return made
    }

    /// Expects that nothing can be made of it; the message, and which node is to blame.
    func refused(
        _ tx: OpaquePointer, _ status: objstore_status, _ policy: objstore_policy = .OBJSTORE_POLICY_ERROR,
        sourceLocation: SourceLocation = #_sourceLocation
    ) -> (message: String, node: Int) {
        let message = CAPITests.refused(self.status(tx, policy), status, sourceLocation: sourceLocation)
        var error = objstore_error_init()
        _ = objstore_last_error(&error)
        return (message, Int(error.position))
    }
}

extension Nested {
    static func node(_ number: Int) -> Nested { .value(objstore_node_link(Int64(number))) }
    static var notGiven: Nested { .value(objstore_not_given()) }
}

/// Persons, dogs and addresses, with everything that leads to others.
func graphStore() throws -> NamedStore {
    try NamedStore { schema in
        for cls in ["Person", "Dog", "Address"] { try ok(objstore_schema_add_class(schema, text(cls))) }
        try ok(objstore_schema_set_class_flags(schema, text("Address"), UInt32(OBJSTORE_CLASS_EMBEDDED)))
        func property(_ cls: String, _ name: String, _ kind: objstore_kind, _ flags: Int) throws {
            try ok(objstore_schema_add_property(schema, text(cls), text(name), kind, UInt32(flags)))
        }
        func link(_ cls: String, _ name: String, _ target: String) throws {
            try ok(objstore_schema_add_link(schema, text(cls), text(name), text(target), 0))
        }
        func links(_ cls: String, _ name: String, _ kind: objstore_kind, _ target: String) throws {
            try ok(
                objstore_schema_add_link_collection(
                    schema, text(cls), text(name), kind,
                    kind == .OBJSTORE_KIND_MAP ? .OBJSTORE_KIND_STRING : .OBJSTORE_KIND_NULL, text(target), 0))
        }
        try property("Person", "id", .OBJSTORE_KIND_INT, OBJSTORE_PROPERTY_PRIMARY_KEY)
        try property("Person", "name", .OBJSTORE_KIND_STRING, 0)
        try ok(objstore_schema_set_default(schema, text("Person"), text("name"), objstore_string(text("nobody"))))
        try link("Person", "friend", "Person")
        try links("Person", "friends", .OBJSTORE_KIND_LIST, "Person")
        try links("Person", "known", .OBJSTORE_KIND_SET, "Person")
        try links("Person", "dogs", .OBJSTORE_KIND_MAP, "Dog")
        try property("Person", "extra", .OBJSTORE_KIND_MIXED, 0)
        try ok(
            objstore_schema_add_collection(
                schema, text("Person"), text("anything"), .OBJSTORE_KIND_LIST, .OBJSTORE_KIND_NULL,
                .OBJSTORE_KIND_MIXED, 0))
        try link("Person", "home", "Address")
        try links("Person", "homes", .OBJSTORE_KIND_LIST, "Address")
        try property("Dog", "name", .OBJSTORE_KIND_STRING, OBJSTORE_PROPERTY_NULLABLE)
        try link("Dog", "owner", "Person")
        try property("Dog", "tag", .OBJSTORE_KIND_UUID, OBJSTORE_PROPERTY_GENERATED)
        try property("Address", "city", .OBJSTORE_KIND_STRING, OBJSTORE_PROPERTY_NULLABLE)
        try link("Address", "keeper", "Dog")
        try property("Address", "note", .OBJSTORE_KIND_MIXED, 0)
        try link("Address", "inner", "Address")
    }
}

extension NamedStore {
    /// Everything in the store, as text: each object with its class and key, and all properties.
    func dump(_ view: OpaquePointer) throws -> [String: [String: String]] {
        var all: [String: [String: String]] = [:]
        for cls in ["Person", "Dog"] {
            var results: OpaquePointer?, count: UInt64 = 0
            try ok(findAll(view, classes[cls]!, &results))
            defer { _ = objstore_results_close(results) }
            try ok(objstore_results_count(results, &count))
            for index in 0..<count {
                var object = objstore_object()
                try ok(objstore_results_at(results, index, &object))
                all["\(cls)#\(object.key)"] = try properties(view, object)
            }
        }
        return all
    }

    func properties(_ view: OpaquePointer, _ object: objstore_object) throws -> [String: String] {
        var buffer = objstore_buffer_init(), count = 0
        defer { _ = objstore_buffer_free(&buffer) }
        try ok(objstore_describe(view, object, 0, &buffer, nil, 0, &count))
        var values = Array(repeating: objstore_null(), count: count)
        try ok(objstore_describe(view, object, 0, &buffer, &values, count, &count))
        var next = 1, properties: [String: String] = [:]
        for _ in 0..<values[0].data.integer {
            let name = string(values[next])!
            next += 1
            properties[name] = shown(values, &next)
        }
        return properties
    }

    /// One value of a flat array, as text.
    func shown(_ values: [objstore_value], _ next: inout Int) -> String {
        let value = values[next]
        next += 1
        switch value.kind {
        case .OBJSTORE_KIND_LIST:
            return "[" + (0..<value.data.integer).map { _ in shown(values, &next) }.joined(separator: ", ") + "]"
        case .OBJSTORE_KIND_MAP:
            var entries: [String] = []
            for _ in 0..<value.data.integer {
                let name = string(values[next])!
                next += 1
                entries.append("\(name): \(shown(values, &next))")
            }
            return "{" + entries.sorted().joined(separator: ", ") + "}"
        case .OBJSTORE_KIND_DOCUMENT:
            var inner = Array(repeating: objstore_null(), count: 1000), count = 0, at = 0
            #expect(objstore_document_unpack(value, &inner, 1000, &count) == .OBJSTORE_OK)
            return shown(Array(inner[..<count]), &at)
        case .OBJSTORE_KIND_LINK: return shown(value.data.link)
        case .OBJSTORE_KIND_STRING: return "\"\(string(value)!)\""
        case .OBJSTORE_KIND_INT: return "\(value.data.integer)"
        case .OBJSTORE_KIND_NULL: return "null"
        default: return "\(value.kind.rawValue)"
        }
    }

    func shown(_ object: objstore_object) -> String {
        "\(classes.first { $0.value == object.class_id }?.key ?? "?")#\(object.key)"
    }
}

import CObjStore
import Testing

/// Nested values as tests write them: `["id": 7, "dogs": [["Buster", 5]]]`.
indirect enum Nested: ExpressibleByNilLiteral, ExpressibleByIntegerLiteral, ExpressibleByFloatLiteral,
    ExpressibleByStringLiteral, ExpressibleByBooleanLiteral,
    ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
    case value(objstore_value), list([Nested]), map([(String, Nested)])

    init(nilLiteral: ()) { self = .value(objstore_null()) }
    init(integerLiteral value: Int64) { self = .value(objstore_int(value)) }
    init(floatLiteral value: Double) { self = .value(objstore_double(value)) }
    init(booleanLiteral value: Bool) { self = .value(objstore_bool(value)) }
    init(stringLiteral value: String) { self = .value(objstore_string(text(value))) }
    init(arrayLiteral elements: Nested...) { self = .list(elements) }
    init(dictionaryLiteral elements: (String, Nested)...) { self = .map(elements) }
    static func link(_ object: objstore_object) -> Nested { .value(objstore_link(object)) }

    /// As `objstore_create_from` takes them.
    var flat: [objstore_value] {
        switch self {
        case .value(let value): [value]
        case .list(let all): [objstore_list_of(Int64(all.count))] + all.flatMap(\.flat)
        case .map(let all): [objstore_map_of(Int64(all.count))] + all.flatMap { [objstore_string(text($0))] + $1.flat }
        }
    }
}

/// A store with the ids of everything in it, by name.
struct NamedStore {
    let store: OpaquePointer
    private(set) var classes: [String: objstore_class_id] = [:]
    private var ids: [String: objstore_property_id] = [:]

    /// In memory, of a name or of nobody else, or at a path.
    init(_ path: String? = nil, memory: String = "", _ describe: (OpaquePointer) throws -> Void) throws {
        var schema: OpaquePointer?, config: OpaquePointer?, opened: OpaquePointer?
        try ok(objstore_schema_new(&schema))
        defer { _ = objstore_schema_close(schema) }
        try describe(schema!)
        try ok(objstore_config_new(&config))
        defer { _ = objstore_config_close(config) }
        try ok(
            path.map { objstore_config_set_path(config, CAPITests.text($0)) }
                ?? objstore_config_set_memory(config, CAPITests.text(memory)))
        try ok(objstore_config_set_schema(config, schema, 1))
        try ok(objstore_open(config, &opened))
        store = opened!
        let view = try liveView(store)
        defer { _ = objstore_view_close(view) }
        var count = 0
        try ok(objstore_class_count(view, &count))
        for index in 0..<count {
            var cls = objstore_class_info()
            cls.struct_size = UInt32(MemoryLayout<objstore_class_info>.size)
            try ok(objstore_class_at(view, index, &cls))
            let name = string(cls.name)!
            classes[name] = cls.class_id
            for place in 0..<cls.property_count {
                var property = objstore_property_info()
                property.struct_size = UInt32(MemoryLayout<objstore_property_info>.size)
                try ok(objstore_property_at(view, cls.class_id, place, &property))
                ids["\(name).\(string(property.name)!)"] = property.property_id
            }
        }
    }

    subscript(name: String) -> objstore_property_id { ids[name]! }

    func close() { _ = objstore_close(store) }

    func count(_ view: OpaquePointer, _ cls: String) throws -> Int {
        var count: UInt64 = 0
        try ok(objstore_count(view, classes[cls]!, &count))
        return Int(count)
    }

    func from(
        _ tx: OpaquePointer, _ cls: String, _ nested: Nested, _ policy: objstore_policy = .OBJSTORE_POLICY_ERROR,
        flags: UInt32 = 0
    ) throws -> objstore_object {
        var object = objstore_object()
        let flat = nested.flat
        try ok(objstore_create_from(tx, classes[cls]!, policy, flags, flat, flat.count, &object, nil))
        return object
    }

    /// Expects that nothing can be made of it; the message.
    func refused(
        _ tx: OpaquePointer, _ cls: String, _ nested: Nested, _ status: objstore_status,
        _ policy: objstore_policy = .OBJSTORE_POLICY_ERROR, flags: UInt32 = 0,
        sourceLocation: SourceLocation = #_sourceLocation
    ) -> String {
        let flat = nested.flat
        return CAPITests.refused(
            objstore_create_from(tx, classes[cls]!, policy, flags, flat, flat.count, nil, nil), status,
            sourceLocation: sourceLocation)
    }

    func value(_ tx: OpaquePointer, _ object: objstore_object, _ name: String) throws -> objstore_value {
        var value = objstore_null()
        try ok(objstore_get(tx, object, self[name], nil, &value))
        return value
    }
    func int(_ tx: OpaquePointer, _ object: objstore_object, _ name: String) throws -> Int64 {
        try value(tx, object, name).data.integer
    }
    func text(_ tx: OpaquePointer, _ object: objstore_object, _ name: String) throws -> String? {
        string(try value(tx, object, name))
    }
    /// The same through any view: copied.
    func copied(_ view: OpaquePointer, _ object: objstore_object, _ name: String) throws -> String? {
        var buffer = objstore_buffer_init(), value = objstore_null()
        defer { _ = objstore_buffer_free(&buffer) }
        try ok(objstore_get(view, object, self[name], &buffer, &value))
        return string(value)
    }

    /// The elements of a list, set or map of a transaction.
    func elements(_ tx: OpaquePointer, _ object: objstore_object, _ name: String) throws -> [objstore_value] {
        var values = Array(repeating: objstore_null(), count: 100), count = 0
        try ok(
            objstore_collection_read(tx, objstore_collection_of(object, self[name]), 0, 100, nil, nil, &values, &count))
        return Array(values[..<count])
    }
}

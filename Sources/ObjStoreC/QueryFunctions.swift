public import CObjStore
internal import ObjStoreCore

/// What a handle of a query refers to: the query with its text, where that was lent.
final class QueryBox: ClosedWithParent {
    let any: AnyQuery
    /// Of all: texts are lent rarely.
    private static let lock = Lock()
    private var text: OwnedValue?

    init(_ query: Query) { any = .objects(query) }
    init(_ query: AnyQuery) { any = query }

    /// Errors: `.invalidQuery`: it gives a table.
    var query: Query {
        get throws(StoreError) { try any.ofObjects() }
    }

    func closeWithParent() {}

    private static func withoutEnd(_ text: OwnedValue) -> Value {
        var value = text.value
        value.count -= 1
        return value
    }

    /// Errors: as of `Query.text`; `.outOfMemory`.
    func lend() throws(StoreError) -> Value {
        try QueryBox.lock.withLock { () throws(StoreError) in
            if let text { return QueryBox.withoutEnd(text) }
            let written = try any.ownedText()
            text = written
            return QueryBox.withoutEnd(written)
        }
    }
}

// MARK: Making

/// Errors of a query that is being made, by the argument that it is made of.
private func blame(_ source: StaticString) -> Blame {
    [
        .noSuchClass: "class_id", .noSuchProperty: source, .wrongType: source, .invalidQuery: source,
        .invalidUTF8: source, .invalidArgument: source, .notSupported: source, .outOfRange: source,
        .wrongStore: source, .noSuchObject: source,
    ]
}

/// Makes a query for objects in a view.
func makeQuery(
    _ view: OpaquePointer?, _ query: UnsafeMutablePointer<OpaquePointer?>?, _ blame: @autoclosure () -> Blame,
    _ body: (View) throws(StoreError) -> Query
) -> objstore_status {
    makeAnyQuery(view, query, blame()) { (view) throws(StoreError) in .objects(try body(view)) }
}

/// Makes a query in a view, as a handle of its store.
func makeAnyQuery(
    _ view: OpaquePointer?, _ query: UnsafeMutablePointer<OpaquePointer?>?, _ blame: @autoclosure () -> Blame,
    _ body: (View) throws(StoreError) -> AnyQuery
) -> objstore_status {
    guard let query else { return failNull("query") }
    query.pointee = nil
    return Handles.use(view, .view, "view", blame()) { (object: View) throws(StoreError) in
        query.pointee = try Handles.open(.query, QueryBox(try body(object)), parent: Handles.store(of: view!))
    }
}

@c @implementation
public func objstore_query_parse(
    _ view: OpaquePointer?, _ class_id: objstore_class_id, _ text: objstore_text,
    _ arguments: UnsafePointer<objstore_value>?, _ count: Int, _ query: UnsafeMutablePointer<OpaquePointer?>?
) -> objstore_status {
    makeAnyQuery(view, query, blame("text")) { (view) throws(StoreError) in
        let (pointer, length) = try bytes(of: text)
        try check(count: count, "count")
        try check(array: arguments, count, "arguments")
        return try view.anyQuery(
            class_id, parsing: UnsafeRawBufferPointer(start: pointer, count: length),
            arguments: try naming("arguments") { () throws(StoreError) in try queryArguments(arguments, count) })
    }
}

/// Lists are followed by their elements.
func queryArguments(
    _ values: UnsafePointer<objstore_value>?, _ count: Int
) throws(StoreError) -> [QueryArgument] {
    try Memory.check(for: count, each: MemoryLayout<QueryArgument>.stride + MemoryLayout<Value>.stride)
    var arguments: [QueryArgument] = [], index = 0
    while index < count {
        let value = values.unsafelyUnwrapped[index]
        index += 1
        guard value.kind == .OBJSTORE_KIND_LIST else {
            arguments.append(.value(try Value(value)))
            continue
        }
        let elements = value.data.integer
        guard value.reserved == 0, elements >= 0, elements <= Int64(count - index) else {
            throw StoreError(
                .invalidArgument, "a list of \(elements) elements, and \(count - index) values follow")
        }
        var list: [Value] = []
        list.reserveCapacity(Int(elements))
        for _ in 0..<elements {
            list.append(try Value(values.unsafelyUnwrapped[index]))
            index += 1
        }
        arguments.append(.list(list))
    }
    return arguments
}

@c @implementation
public func objstore_query_new(
    _ view: OpaquePointer?, _ class_id: objstore_class_id, _ nodes: UnsafePointer<objstore_query_node>?, _ count: Int,
    _ query: UnsafeMutablePointer<OpaquePointer?>?
) -> objstore_status {
    makeAnyQuery(view, query, blame("nodes")) { (view) throws(StoreError) in
        try view.anyQuery(class_id, try queryNodes(nodes, count))
    }
}

func queryNodes(_ nodes: UnsafePointer<objstore_query_node>?, _ count: Int) throws(StoreError) -> [QueryNode] {
    try check(count: count, "count")
    try check(array: nodes, count, "nodes")
    guard count <= QueryLimits.nodes else { throw StoreError(.invalidQuery, "more than \(QueryLimits.nodes) nodes") }
    try Memory.check(for: count, each: MemoryLayout<QueryNode>.stride)
    var own: [QueryNode] = []
    own.reserveCapacity(count)
    for index in 0..<count {
        do throws(StoreError) { own.append(try QueryNode(nodes.unsafelyUnwrapped[index])) } catch {
            throw error.at(class: nil, position: index)
        }
    }
    return own
}

extension QueryNode {
    fileprivate init(_ node: objstore_query_node) throws(StoreError) {
        guard let kind = Kind(rawValue: node.kind) else {
            throw StoreError(.invalidArgument, "no node has the kind \(node.kind)")
        }
        if node.reserved != 0 { throw notReserved("node", UInt32(node.reserved)) }
        self.init(kind, operands: Int(node.operands))
        // Choices are counted from 1, so that a zero was forgotten.
        switch kind {
        case .compare, .arithmetic, .element, .quantified, .aggregate, .sortKey:
            guard node.choice > 0 else { throw StoreError(.invalidArgument, "a \(kind) node without a choice") }
            choice = node.choice - 1
        default:
            guard node.choice == 0 else {
                throw StoreError(.invalidArgument, "a \(kind) node has no choice, and this one \(node.choice)")
            }
        }
        guard node.modifiers & ~3 == 0 else {
            throw StoreError(.invalidArgument, "no modifiers are \(node.modifiers)")
        }
        modifiers = Modifiers(rawValue: node.modifiers)
        number = node.number
        value = try Value(node.value)
    }
}

@c @implementation
public func objstore_query_then(
    _ query: OpaquePointer?, _ then: OpaquePointer?, _ joined: UnsafeMutablePointer<OpaquePointer?>?
) -> objstore_status {
    guard let joined else { return failNull("joined") }
    joined.pointee = nil
    let blame: Blame = [
        .wrongStore: "then", .invalidArgument: "then", .notSupported: "then", .invalidQuery: "query",
    ]
    return Handles.pin(query, .query, "query") { (first: QueryBox) throws(StoreError) in
        Handles.pin(then, .query, "then", blame) { (next: QueryBox) throws(StoreError) in
            joined.pointee = try Handles.open(
                .query, QueryBox(try first.any.then(next.any)), parent: Handles.parent(query!))
            return .OBJSTORE_OK
        }
    }
}

@c @implementation
public func objstore_query_text(
    _ query: OpaquePointer?, _ buffer: UnsafeMutablePointer<objstore_buffer>?,
    _ text: UnsafeMutablePointer<objstore_text>?
) -> objstore_status {
    guard let text else { return failNull("text") }
    return Handles.use(query, .query, "query") { (box: QueryBox) throws(StoreError) in
        var value = try box.lend()
        if let buffer = try outputBuffer(buffer) { try OutputBuffer.copy(&value, 1, into: buffer) }
        text.pointee = objstore_text(bytes: Value.text(value.pointer), length: Int64(value.count))
    }
}

@c @implementation
public func objstore_query_close(_ query: OpaquePointer?) -> objstore_status {
    Handles.close(query, .query, "query")
}

// MARK: Asking

var asking: Blame { [.wrongStore: "query", .noSuchClass: "query", .noSuchProperty: "query"] }

/// Runs a call on a query for objects and a view. The query may be closed meanwhile.
private func ask(
    _ query: OpaquePointer?, _ view: OpaquePointer?, _ argument: StaticString = "view",
    _ blame: @autoclosure () -> Blame = asking, _ body: (Query, View) throws(StoreError) -> Void
) -> objstore_status {
    var found: Query?
    let status = Handles.use(query, .query, "query", [.invalidQuery: "query"]) { (box: QueryBox) throws(StoreError) in
        found = try box.query
    }
    guard let found else { return status }
    if found.callsFunctions {
        // They may use the view, and close what they like.
        return Handles.pin(view, .view, argument, blame()) { (view: View) throws(StoreError) in
            try body(found, view)
            return .OBJSTORE_OK
        }
    }
    return Handles.use(view, .view, argument, blame()) { (view: View) throws(StoreError) in try body(found, view) }
}

/// The same of a query for objects or a table.
func askAny(
    _ query: OpaquePointer?, _ view: OpaquePointer?, _ blame: @autoclosure () -> Blame = asking,
    _ body: (AnyQuery, View) throws(StoreError) -> Void
) -> objstore_status {
    var found: AnyQuery?
    let status = Handles.use(query, .query, "query") { (box: QueryBox) throws(StoreError) in found = box.any }
    guard let found else { return status }
    return Handles.use(view, .view, "view", blame()) { (view: View) throws(StoreError) in try body(found, view) }
}

@c @implementation
public func objstore_query_count(
    _ query: OpaquePointer?, _ view: OpaquePointer?, _ count: UnsafeMutablePointer<UInt64>?
) -> objstore_status {
    guard let count else { return failNull("count") }
    return ask(query, view) { (query, view) throws(StoreError) in count.pointee = UInt64(try view.count(query)) }
}

@c @implementation
public func objstore_query_first(
    _ query: OpaquePointer?, _ view: OpaquePointer?, _ object: UnsafeMutablePointer<objstore_object>?,
    _ found: UnsafeMutablePointer<Bool>?
) -> objstore_status {
    guard let object else { return failNull("object") }
    return ask(query, view) { (query, view) throws(StoreError) in try answer(try view.first(query), object, found) }
}

@c @implementation
public func objstore_query_find(
    _ query: OpaquePointer?, _ view: OpaquePointer?, _ results: UnsafeMutablePointer<OpaquePointer?>?
) -> objstore_status {
    guard let results else { return failNull("results") }
    results.pointee = nil
    return ask(query, view) { (query, object) throws(StoreError) in
        results.pointee = try Handles.open(.results, try object.find(query), parent: view)
    }
}

@c @implementation
public func objstore_query_explain(
    _ query: OpaquePointer?, _ view: OpaquePointer?, _ flags: UInt32,
    _ buffer: UnsafeMutablePointer<objstore_buffer>?, _ text: UnsafeMutablePointer<objstore_text>?
) -> objstore_status {
    guard let text else { return failNull("text") }
    guard let buffer else { return failNull("buffer") }
    let blame: Blame = [
        .wrongStore: "query", .noSuchClass: "query", .noSuchProperty: "query", .invalidArgument: "flags",
    ]
    return askAny(query, view, blame) { (query, view) throws(StoreError) in
        let runs = UInt32(OBJSTORE_EXPLAIN_RUN), asJSON = UInt32(OBJSTORE_EXPLAIN_JSON)
        try check(flags: flags, known: runs | asJSON)
        let plan = try view.explain(query, runs: flags & runs != 0)
        let written = flags & asJSON != 0 ? try plan.json() : plan.text
        guard let buffer = try outputBuffer(buffer) else { return }
        try Array(written.utf8).withUnsafeBufferPointer { (bytes) throws(StoreError) in
            var value = Value.string(bytes.baseAddress, bytes.count)
            try OutputBuffer.copy(&value, 1, into: buffer)
            text.pointee = objstore_text(bytes: Value.text(value.pointer), length: Int64(value.count))
        }
    }
}

@c @implementation
public func objstore_query_aggregate(
    _ query: OpaquePointer?, _ view: OpaquePointer?, _ property_id: objstore_property_id,
    _ aggregate: objstore_aggregate_kind, _ value: UnsafeMutablePointer<objstore_value>?
) -> objstore_status {
    guard let value else { return failNull("value") }
    let blame: Blame = [
        .wrongStore: "query", .noSuchClass: "query", .noSuchProperty: "property_id", .wrongType: "property_id",
        .invalidArgument: "aggregate", .outOfRange: "property_id",
    ]
    return ask(query, view, "view", blame) { (query, view) throws(StoreError) in
        guard let kind = AggregateKind(rawValue: aggregate.rawValue) else {
            throw StoreError(.invalidArgument, "\(aggregate.rawValue) has no name")
        }
        try view.aggregate(query, property_id, kind).store(to: value, storeTag: view.shared.tag)
    }
}

@c @implementation
public func objstore_query_read(
    _ query: OpaquePointer?, _ view: OpaquePointer?, _ row_count: Int,
    _ properties: UnsafePointer<objstore_property_id>?,
    _ property_count: Int, _ buffer: UnsafeMutablePointer<objstore_buffer>?
) -> objstore_status {
    guard let buffer else { return failNull("buffer") }
    let blame: Blame = [.wrongStore: "query", .noSuchClass: "query", .noSuchProperty: "properties"]
    return ask(query, view, "view", blame) { (query, view) throws(StoreError) in
        try check(count: row_count, "row_count")
        try read(try view.find(query.limited(to: row_count)), 0, row_count, properties, property_count, buffer)
    }
}

// MARK: Changing

private let changing: Blame = [
    .wrongStore: "query", .noSuchClass: "query", .noSuchProperty: "properties", .wrongType: "values",
    .notNullable: "values", .invalidUTF8: "values", .valueTooLarge: "values", .notInWrite: "transaction",
    .invalidArgument: "properties", .outOfRange: "values", .duplicateKey: "values", .keyImmutable: "properties",
]

@c @implementation
public func objstore_query_set(
    _ query: OpaquePointer?, _ transaction: OpaquePointer?, _ properties: UnsafePointer<objstore_property_id>?,
    _ values: UnsafePointer<objstore_value>?, _ count: Int, _ objects: UnsafeMutablePointer<UInt64>?
) -> objstore_status {
    ask(query, transaction, "transaction", changing) { (query, view) throws(StoreError) in
        let properties = try propertyArray(properties, values, count)
        let number = try withValues(values, count) { (values) throws(StoreError) in
            try view.set(try view.findToChange(query), properties, values)
        }
        objects?.pointee = UInt64(number)
    }
}

@c @implementation
public func objstore_query_increment(
    _ query: OpaquePointer?, _ transaction: OpaquePointer?, _ property_id: objstore_property_id,
    _ delta: objstore_value, _ objects: UnsafeMutablePointer<UInt64>?
) -> objstore_status {
    let blame: Blame = [
        .wrongStore: "query", .noSuchClass: "query", .noSuchProperty: "property_id", .wrongType: "delta",
        .notInWrite: "transaction", .outOfRange: "delta", .keyImmutable: "property_id", .duplicateKey: "delta",
        .invalidArgument: "delta",
    ]
    return ask(query, transaction, "transaction", blame) { (query, view) throws(StoreError) in
        let number = try view.increment(try view.findToChange(query), property_id, try Value(delta))
        objects?.pointee = UInt64(number)
    }
}

@c @implementation
public func objstore_query_delete(
    _ query: OpaquePointer?, _ transaction: OpaquePointer?, _ objects: UnsafeMutablePointer<UInt64>?
) -> objstore_status {
    ask(query, transaction, "transaction", changing) { (query, view) throws(StoreError) in
        let number = try view.delete(try view.findToChange(query))
        objects?.pointee = UInt64(number)
    }
}

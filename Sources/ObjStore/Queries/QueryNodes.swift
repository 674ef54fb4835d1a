internal import ObjStoreCore

/// Nodes of a query, as the core takes them, with the bytes of their constants: what an expression in `where` is, and
/// what a `filter` is given for `$0`, `$1` …
struct QueryNodes: @unchecked Sendable {
    // Unchecked: what nodes point to is in `bytes`; `pointer` is the place there, counted from 1.
    private var nodes: [QueryNode]
    private var bytes: [UInt8] = []
    private var failure: Failure?

    /// In a class, for it is seldom there, and large.
    private final class Failure: Sendable {
        let error: ObjStoreError
        init(_ error: ObjStoreError) { self.error = error }
    }

    init() { nodes = [] }

    /// Why there is no query.
    init(failed error: ObjStoreError) {
        nodes = []
        failure = Failure(error)
    }

    /// The object that is asked about.
    static let object: QueryNodes = {
        var nodes = QueryNodes()
        nodes.append(.variable)
        return nodes
    }()

    // MARK: Appending

    mutating func append(
        _ kind: QueryNode.Kind, choice: UInt8 = 0, modifiers: QueryNode.Modifiers = [], operands: Int = 0,
        number: Int64 = 0
    ) {
        var node = QueryNode(kind, operands: operands)
        node.choice = choice
        node.modifiers = modifiers
        node.number = number
        nodes.append(node)
    }

    mutating func append(_ comparison: QueryOperator, _ modifiers: QueryNode.Modifiers = []) {
        append(.compare, choice: comparison.rawValue, modifiers: modifiers, operands: 2)
    }

    /// A property of values of any type with a link, which may be anywhere inside. The language of queries does not
    /// have it: it is a query of its own.
    mutating func appendInside(_ link: _QueryValue) {
        append(constant: link)
        append(.compare, choice: QueryNode.inside, operands: 2)
    }

    mutating func append(constant value: _QueryValue) {
        do throws(ObjStoreError) { try value.withValue { append(.constant, value: $0) } } catch { fail(error) }
    }

    /// A step of a path by its name, or a key of a map.
    mutating func append(_ kind: QueryNode.Kind, name: String) {
        var name = name
        name.withUTF8 { append(kind, operands: 1, value: .string($0.baseAddress, $0.count)) }
    }

    private mutating func append(_ kind: QueryNode.Kind, operands: Int = 0, value: Value) {
        var node = QueryNode(kind, operands: operands)
        node.value = value
        node.value.pointer = nil
        if value.kind.hasBytes, value.count > 0 {
            node.value.pointer = UnsafeRawPointer(bitPattern: bytes.count + 1)
            bytes.append(contentsOf: UnsafeRawBufferPointer(start: value.pointer, count: value.count))
        }
        nodes.append(node)
    }

    mutating func append(_ other: QueryNodes) {
        if failure == nil { failure = other.failure }
        let start = nodes.count, moved = bytes.count
        nodes.append(contentsOf: other.nodes)
        guard !other.bytes.isEmpty else { return }
        bytes.append(contentsOf: other.bytes)
        for index in start..<nodes.count { nodes[index].value.pointer = nodes[index].value.pointer.map { $0 + moved } }
    }

    mutating func fail(_ error: ObjStoreError) { if failure == nil { failure = Failure(error) } }

    // MARK: Conditions

    /// Makes a truth value of a property that is a bool.
    mutating func makeCondition() {
        switch nodes.last?.kind {
        case .truth, .and, .or, .not, .compare: return
        default: break
        }
        append(constant: .bool(true))
        append(.equal)
    }

    /// A chain of ANDs, or of ORs, is one node.
    mutating func join(_ other: QueryNodes, by kind: QueryNode.Kind) {
        makeCondition()
        var other = other, operands: UInt32 = 2
        other.makeCondition()
        if let last = nodes.last, last.kind == kind {
            operands = last.operands + 1
            nodes.removeLast()
        }
        append(other)
        append(kind, operands: Int(operands))
    }

    // MARK: For the core

    /// Calls `body` with the nodes; they are valid until it returns.
    func withNodes<T>(_ body: ([QueryNode]) throws(StoreError) -> T) throws(ObjStoreError) -> T {
        if let failure { throw failure.error }
        if bytes.isEmpty { return try core { () throws(StoreError) in try body(nodes) } }
        let result = bytes.withUnsafeBytes { bytes in
            var own = nodes
            for index in own.indices {
                own[index].value.pointer = own[index].value.pointer.map { place in
                    bytes.baseAddress.unsafelyUnwrapped + (Int(bitPattern: place) - 1)
                }
            }
            return Result { () throws(StoreError) in try body(own) }
        }
        return try core { () throws(StoreError) in try result.get() }
    }

    /// The same with constants, and lists of them, as the arguments of a text.
    func withArguments<T>(_ body: ([QueryArgument]) throws(StoreError) -> T) throws(ObjStoreError) -> T {
        try withNodes { (nodes) throws(StoreError) in
            var arguments: [QueryArgument] = []
            for node in nodes {
                guard node.kind == .list else {
                    arguments.append(.value(node.value))
                    continue
                }
                let elements = arguments.suffix(Int(node.operands))
                let values = elements.compactMap { if case .value(let value) = $0 { value } else { nil } }
                arguments.removeLast(elements.count)
                arguments.append(.list(values))
            }
            return try body(arguments)
        }
    }
}

extension QueryNode {
    fileprivate static let inside = UInt8.max

    /// See `QueryNodes.appendInside`.
    var isInside: Bool { kind == .compare && choice == QueryNode.inside }
}

import ObjStoreCore

/// One query that may be anything: a text, or an array of nodes. What is refused is refused with a reason; what is
/// taken is asked in many ways, which must agree (`QueryProof`).
///
/// ```
///  byte 0 % 8   7: the bytes behind it are the text
///               6: random words · 5: a text with bytes changed · 4: nodes changed · 3: random nodes
///               else a text that is mostly right
/// ```
/// The bytes of a seed, or of libFuzzer, are the decisions of which it is made.
enum QueryCase {
    /// Made once for a process: what a case does changes nothing.
    private nonisolated(unsafe) static var made: QueryStore?

    private static func store() -> QueryStore {
        if let made { return made }
        do throws(StoreError) {
            let store = try QueryStore()
            made = store
            return store
        } catch { fatalError("the store of queries could not be made: \(error)") }
    }

    /// Bytes of libFuzzer. Returns what became of the query, in a word.
    static func run(_ bytes: UnsafeRawBufferPointer) -> String {
        guard let first = bytes.first else { return "nothing" }
        if first % 8 == 7 {
            let cls = Int(first / 8) % QueryWords.classes.count
            return ask(text: Array(bytes.dropFirst()), cls)
        }
        var numbers = InputNumbers(bytes.bindMemory(to: UInt8.self))
        return run(&numbers)
    }

    /// One that is too large in one way or another.
    static func monster(_ number: Int) -> String { QueryMonsters.run(number, store()) }

    static func run(_ random: inout some NumberSource) -> String {
        let kind = random.below(256) % 8, cls = random.chance(0.8) ? 0 : random.below(QueryWords.classes.count)
        switch kind {
        case 3: return ask(nodes: nodes(&random), cls)
        case 6: return ask(text: words(&random), cls)
        case 7:
            // As libFuzzer gives them: decisions may end at any place.
            let bytes = (0..<random.below(60)).map { _ in UInt8(truncatingIfNeeded: random.next()) }
            return bytes.withUnsafeBytes { run($0) }
        default: break
        }
        var writer = QueryWriter(random)
        writer.query(QueryWords.classes[cls])
        random = writer.random
        var bytes = Array(writer.text.utf8)
        if kind == 4, let tree = try? QueryTree(parsing: writer.text, arguments: arguments) {
            var nodes = tree.nodes
            for _ in 0...random.below(3) { change(&nodes, &random) }
            return withExtendedLifetime(tree) { ask(nodes: nodes, cls) }
        }
        if kind == 5 { for _ in 0...random.below(3) { change(&bytes, &random) } }
        return ask(text: bytes, cls)
    }

    // MARK: Making

    private static func words(_ random: inout some NumberSource) -> [UInt8] {
        var text = ""
        for _ in 0..<random.below(random.chance(0.05) ? 200 : 14) {
            text += QueryWords.tokens[random.below(QueryWords.tokens.count)]
            if random.chance(0.7) { text += " " }
        }
        return Array(text.utf8)
    }

    private static func change(_ bytes: inout [UInt8], _ random: inout some NumberSource) {
        let at = random.below(bytes.count + 1)
        switch random.below(6) {
        case 0: bytes.removeLast(bytes.count - at)
        case 1 where at < bytes.count: bytes[at] = UInt8(truncatingIfNeeded: random.next())
        case 2 where at < bytes.count: bytes.remove(at: at)
        case 3 where at < bytes.count:
            let part = bytes[at..<min(bytes.count, at + random.below(20))]
            bytes.insert(contentsOf: part, at: random.below(bytes.count + 1))
        default:
            let word = QueryWords.tokens[random.below(QueryWords.tokens.count)]
            bytes.insert(contentsOf: " \(word) ".utf8, at: at)
        }
    }

    private static func change(_ nodes: inout [QueryNode], _ random: inout some NumberSource) {
        if nodes.isEmpty { return }
        let at = random.below(nodes.count)
        switch random.below(9) {
        case 0: nodes.remove(at: at)
        case 1: nodes.insert(node(&random), at: at)
        case 2: nodes.insert(nodes[random.below(nodes.count)], at: at)
        case 3: nodes.swapAt(at, random.below(nodes.count))
        case 4: nodes[at].kind = node(&random).kind
        case 5: nodes[at].choice = UInt8(random.below(random.chance(0.9) ? 16 : 256))
        case 6: nodes[at].number = number(&random)
        case 7: nodes[at].value = nodes[random.below(nodes.count)].value
        default: nodes[at].operands = UInt32(truncatingIfNeeded: number(&random))
        }
    }

    private static func nodes(_ random: inout some NumberSource) -> [QueryNode] {
        var nodes: [QueryNode] = []
        // Mostly a tree: the last ones become operands.
        var roots = 0
        for _ in 0..<1 + random.below(24) {
            var node = node(&random)
            let most = random.chance(0.97) ? roots : 5
            if most > 0 {
                switch node.kind {
                case .truth, .constant, .variable, .name, .limit, .offset: node.operands = 0
                case .compare, .arithmetic, .incoming, .filter, .aggregate: node.operands = UInt32(min(2, most))
                case .and, .or, .query, .sort, .distinct, .list: node.operands = UInt32(random.below(most + 1))
                default: node.operands = 1
                }
            }
            roots = max(0, roots - Int(node.operands)) + 1
            nodes.append(node)
        }
        if roots > 1, random.chance(0.9) {
            nodes.append(QueryNode(random.chance(0.5) ? .and : .query, operands: roots))
        }
        return nodes
    }

    private static let numbers: [Int64] = [0, 1, 2, 3, -1, 100, .max, .min, 1 << 32, 65536]

    private static func number(_ random: inout some NumberSource) -> Int64 {
        random.chance(0.8) ? numbers[random.below(numbers.count)] : Int64(bitPattern: random.next())
    }

    /// Of texts, which stay.
    private static let names: [OwnedValue] =
        (QueryWords.classes.map(\.name) + QueryWords.classes.flatMap { $0.properties.map(\.name) }
        + ["", "a", "nobody", "best"])
        .map { name in
            var name = name
            return name.withUTF8 { OwnedValue(.string($0.baseAddress, $0.count)) }
        }

    private static func node(_ random: inout some NumberSource) -> QueryNode {
        var node = QueryNode(QueryNode.Kind(rawValue: UInt8(1 + random.below(34))) ?? .constant)
        node.choice = UInt8(random.chance(0.9) ? random.below(4) : random.below(256))
        node.modifiers = QueryNode.Modifiers(rawValue: UInt8(random.chance(0.8) ? 0 : random.below(256)))
        node.number = random.chance(0.5) ? 0 : number(&random)
        switch node.kind {
        case .property, .name, .object, .incoming, .key: node.value = names[random.below(names.count)].value
        case .constant: node.value = value(&random)
        case .polygon, .box, .circle: node.value = random.chance(0.5) ? .null : value(&random)
        default: node.value = random.chance(0.9) ? .null : value(&random)
        }
        return node
    }

    private static func value(_ random: inout some NumberSource) -> Value {
        switch random.below(12) {
        case 0: return .null
        case 1, 2: return .int(number(&random))
        case 3: return .double([0, 1.5, -0.0, .nan, .infinity, 1e308][random.below(6)])
        case 4: return .float([0, 1.5, .nan, -.infinity][random.below(4)])
        case 5: return .bool(random.chance(0.5))
        case 6, 7: return names[random.below(names.count)].value
        case 8: return .link(ObjectID(classID: UInt32(random.below(5)), storeTag: 0, key: Int64(random.below(200))))
        case 9: return Value(kind: .decimal128, low: number(&random), high: number(&random))
        case 10: return .timestamp(seconds: number(&random), nanoseconds: Int32(random.below(1_000_000_000)))
        default:
            return Value(
                kind: random.chance(0.5) ? .objectID : .uuid, low: number(&random), high: Int64(random.below(9)))
        }
    }

    private static let arguments: [QueryArgument] = {
        let text = names[names.count - 3].value, path = names[names.count - 1].value
        let circle: StaticString = "geoCircle([1, 1], 0.3)"
        let place = Value.string(UnsafeRawPointer(circle.utf8Start), circle.utf8CodeUnitCount)
        let link = Value.link(ObjectID(classID: 1, storeTag: 0, key: 3))
        return [
            .value(.int(5)), .value(text), .list([.int(1), .null, text]), .value(link), .value(.null),
            .value(.double(.nan)), .value(place), .value(path),
        ]
    }()

    // MARK: Asking

    private static func ask(text: [UInt8], _ cls: Int) -> String {
        // Memory as long as the text: a sanitizer finds reads beyond it.
        let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: text.count, alignment: 1)
        defer { memory.deallocate() }
        memory.copyBytes(from: text)
        let shown = String(decoding: text, as: UTF8.self)
        let tree: QueryTree
        do throws(StoreError) {
            tree = try QueryTree(parsing: UnsafeRawBufferPointer(memory), arguments: arguments)
        } catch {
            return refused(error, [.invalidQuery, .invalidUTF8, .wrongType], text.count, shown)
        }
        QueryProof.isSameText(tree, shown)
        return ask(tree.nodes, cls, shown, text.count) { (view, id) throws(StoreError) in
            let made = try view.anyQuery(id, parsing: UnsafeRawBufferPointer(memory), arguments: arguments)
            // Of a table there is only one answer.
            if case .table(let query) = made { _ = try view.table(query) }
            return try made.ofObjects()
        }
    }

    private static func ask(nodes: [QueryNode], _ cls: Int) -> String {
        // Errors name the node, where it does not come from a text.
        var nodes = nodes
        for index in nodes.indices { nodes[index].position = -1 }
        let shown =
            (try? QueryPrinter.text(nodes)) ?? "\(nodes.map { "\($0.kind) \($0.choice) \($0.operands) \($0.number)" })"
        return ask(nodes, cls, "nodes of " + shown, nodes.count) { (view, id) throws(StoreError) in
            try view.query(id, nodes)
        }
    }

    private static func ask(
        _ nodes: [QueryNode], _ cls: Int, _ shown: String, _ length: Int,
        _ make: (View, UInt32) throws(StoreError) -> Query
    ) -> String {
        let store = store(), shown = "\(QueryWords.classes[cls].name): \(shown)"
        var answer = ""
        for view in [store.view, store.transaction] {
            let query: Query
            do throws(StoreError) { query = try make(view, store.classes[cls]) } catch {
                return refused(
                    error,
                    [
                        .invalidQuery, .wrongType, .noSuchProperty, .noSuchClass, .notSupported, .invalidArgument,
                        .invalidUTF8, .outOfRange, .wrongStore, .noPrimaryKey,
                    ], length, shown)
            }
            let proof = QueryProof(view, store.classes[cls], query, nodes, shown)
            answer = proof.run()
        }
        return answer
    }

    private static func refused(_ error: StoreError, _ codes: [StatusCode], _ length: Int, _ shown: String) -> String {
        precondition(codes.contains(error.code), "\(shown): \(error.code) is no answer to a query: \(error.message)")
        precondition(
            error.position <= length, "\(shown): an error behind the end, at \(error.position): \(error.message)")
        precondition(!error.message.isEmpty, "\(shown): an error without words")
        return "\(error.code)"
    }
}

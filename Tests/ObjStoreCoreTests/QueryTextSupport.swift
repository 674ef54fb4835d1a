import ObjStoreCore
import Synchronization

/// Addresses of the texts of `Value.staying`.
private let stayingTexts = Mutex<[String: UInt]>([:])

extension QueryArgument {
    /// A text that lives for ever.
    static func text(_ text: String) -> QueryArgument { .value(.staying(text)) }
}

extension Value {
    static func staying(_ text: String) -> Value {
        let address = stayingTexts.withLock { texts in
            if let known = texts[text] { return known }
            let bytes = UnsafeMutableRawPointer.allocate(byteCount: max(1, text.utf8.count), alignment: 1)
            bytes.copyMemory(from: Array(text.utf8), byteCount: text.utf8.count)
            texts[text] = UInt(bitPattern: bytes)
            return UInt(bitPattern: bytes)
        }
        return .string(UnsafeRawPointer(bitPattern: address), text.utf8.count)
    }

    /// All that it is: equal for equal values alone. A number's text counts by the decimal that it is.
    var shown: String {
        switch kind {
        case .string: "'\(bytes)'"
        case .binary: "b\(Array(UnsafeRawBufferPointer(start: pointer, count: count)))"
        case .float: "\(asFloat)f"
        case .double:
            if let exact = try? Decimal128(bytes), count > 0, exact != (try? Decimal128("\(asDouble)")) {
                "\(asDouble)~\(exact.text)"
            } else {
                "\(asDouble)"
            }
        case .timestamp: "T\(low):\(high)"
        case .bool, .int, .null: text
        case .link: "link \(high) \(low)"
        default: "\(kind) \(text)"
        }
    }

    /// Of a text.
    var bytes: String { String(decoding: UnsafeRawBufferPointer(start: pointer, count: count), as: UTF8.self) }
}

extension QueryTree {
    /// The tree in parentheses: operators first, paths as they are written. What a test compares.
    var shown: String {
        var operands: [String] = []
        for node in nodes {
            let own = Array(operands.suffix(Int(node.operands)))
            operands.removeLast(own.count)
            operands.append(node.shown(own))
        }
        return operands.joined(separator: " ??? ")
    }
}

extension QueryNode {
    private static let operators = [
        "==", "!=", "<", "<=", ">", ">=", "IN", "BETWEEN", "BEGINSWITH", "ENDSWITH", "CONTAINS", "LIKE", "TEXT",
        "GEOWITHIN",
    ]

    fileprivate func shown(_ operands: [String]) -> String {
        let folds = ["", "[c]", "[d]", "[cd]"][Int(modifiers.rawValue)]
        /// The object alone is 0, before a step nothing.
        let path = operands.first ?? ""
        func tree(_ name: String) -> String {
            "(" + ([name] + operands.map { $0.isEmpty ? "0" : $0 }).joined(separator: " ") + ")"
        }
        func step(_ text: String) -> String {
            (path.isEmpty && text.first != "." && text.first != "@" ? "0" : path) + text
        }
        switch kind {
        case .truth: return number == 1 ? "true!" : "false!"
        case .compare: return tree(Self.operators[Int(choice)] + folds)
        case .constant: return value.shown
        case .arithmetic: return tree(["+", "-", "*", "/", "negate"][Int(choice)])
        case .variable: return number == 0 ? "" : "\(number)"
        case .object: return tree("object \(value.shown)")
        case .call: return tree("call \(value.bytes)")
        case .property: return step("." + value.bytes)
        case .element: return step("[" + ["\(number)", "first", "last", "*"][Int(choice)] + "]")
        case .key: return step("[" + value.shown + "]")
        case .name: return value.bytes
        case .incoming: return path + "@" + operands[1] + "/" + value.bytes
        case .allIncoming: return path + "@all"
        case .keys, .values, .type, .count: return step("#\(kind)")
        case .aggregate: return tree(["sum", "minimum", "maximum", "average"][Int(choice)])
        case .quantified: return tree(["any", "all", "none"][Int(choice)])
        case .sortKey: return tree((choice == 0 ? "asc" : "desc") + folds)
        case .limit, .offset: return "(\(kind) \(number))"
        case .query: return operands.count == 1 ? operands[0] : tree("query")
        default: return tree("\(kind)")
        }
    }
}

struct QueryRandom {
    private var state: UInt64
    init(_ seed: UInt64) { state = seed &* 0x9e37_79b9_7f4a_7c15 | 1 }

    mutating func next() -> UInt64 {
        state ^= state << 13
        state ^= state >> 7
        state ^= state << 17
        return state &* 0x2545_f491_4f6c_dd1d
    }
    mutating func below(_ bound: Int) -> Int { Int((next() >> 11) % UInt64(bound)) }
    mutating func pick<T>(_ all: [T]) -> T { all[below(all.count)] }
}

/// Random nodes of a query that a text can say.
struct QueryGenerator {
    var random: QueryRandom
    private(set) var nodes: [QueryNode] = []
    /// Open subqueries, and how much may still be nested.
    private var level = 0
    private var room = 5

    init(_ seed: UInt64) { random = QueryRandom(seed) }

    mutating func query() -> [QueryNode] {
        nodes = []
        condition()
        var count = 1
        for _ in 0..<max(0, random.below(6) - 2) {
            count += 1
            switch random.below(4) {
            case 0:
                let kind: QueryNode.Kind = random.pick([.limit, .offset])
                add(kind, 0) { $0.number = Int64($1.below(1000)) }
            case 1: add(.distinct, repeated(1...3) { $0.path() })
            default:
                let keys = repeated(1...3) { generator in
                    generator.path()
                    generator.add(.sortKey, 1) {
                        $0.choice = UInt8($1.below(2))
                        $0.modifiers = .init(rawValue: UInt8($1.pick([0, 0, 1, 2, 3])))
                    }
                }
                add(.sort, keys)
            }
        }
        add(.query, count)
        return nodes
    }

    private mutating func add(
        _ kind: QueryNode.Kind, _ operands: Int, _ fill: (inout QueryNode, inout QueryRandom) -> Void = { _, _ in }
    ) {
        var node = QueryNode(kind, operands: operands)
        fill(&node, &random)
        nodes.append(node)
    }

    private mutating func repeated(_ count: ClosedRange<Int>, _ body: (inout QueryGenerator) -> Void) -> Int {
        let count = count.lowerBound + random.below(count.count)
        for _ in 0..<count { body(&self) }
        return count
    }

    /// One level further inside, unless that is too deep.
    private mutating func nested(_ body: (inout QueryGenerator) -> Void, else flat: (inout QueryGenerator) -> Void) {
        guard room > 0 else { return flat(&self) }
        room -= 1
        body(&self)
        room += 1
    }

    private mutating func condition() {
        switch random.below(7) {
        case 0: add(.truth, 0) { $0.number = Int64($1.below(2)) }
        case 1, 2:
            nested { generator in
                let count = generator.repeated(2...4) { $0.condition() }
                let kind: QueryNode.Kind = generator.random.pick([.and, .or])
                generator.add(kind, count)
            } else: {
                $0.comparison()
            }
        case 3:
            nested { generator in
                generator.condition()
                generator.add(.not, 1)
            } else: {
                $0.comparison()
            }
        default: comparison()
        }
    }

    private mutating func comparison() {
        value()
        let choice = random.pick((0..<14).compactMap { QueryOperator(rawValue: $0) })
        switch choice {
        case .between:
            _ = repeated(2...2) { $0.constant() }
            add(.list, 2)
        case .geoWithin: place()
        default: value()
        }
        add(.compare, 2) {
            $0.choice = choice.rawValue
            if choice.takesModifiers { $0.modifiers = .init(rawValue: UInt8($1.pick([0, 0, 0, 1, 2, 3]))) }
        }
    }

    private mutating func value() {
        switch random.below(13) {
        case 0: list()
        case 1: quantified()
        case 12:
            nested { generator in
                let count = generator.repeated(0...3) { $0.value() }
                let name = generator.random.pick(["f", "haversine", "_9", "Sorted"])
                generator.add(.call, count) { node, _ in node.value = .staying(name) }
            } else: {
                $0.path()
            }
        case 2, 3:
            nested { generator in
                generator.value()
                let choice = UInt8(generator.random.below(5))
                if choice < 4 { generator.value() }
                generator.add(.arithmetic, choice < 4 ? 2 : 1) { node, _ in node.choice = choice }
            } else: {
                $0.path()
            }
        case 4:
            nested {
                $0.subquery()
            } else: {
                $0.path()
            }
        case 5...7: constant()
        default: pathWithTail()
        }
    }

    private mutating func list() { add(.list, repeated(0...4) { $0.constant() }) }

    private mutating func quantified() {
        if random.below(3) == 0 { list() } else { pathWithTail() }
        add(.quantified, 1) { $0.choice = UInt8($1.below(3)) }
    }

    private mutating func pathWithTail() {
        path()
        tail(random.below(8))
    }

    private mutating func tail(_ choice: Int) {
        switch choice {
        case 0, 1: add(.count, 1)
        case 2: add(.type, 1)
        case 3...5:
            add(.variable, 0) { [level] node, _ in node.number = Int64(level + 1) }
            if random.below(3) > 0 { steps() }
            add(.aggregate, 2) { $0.choice = UInt8($1.below(4)) }
        default: break
        }
    }

    private mutating func subquery() {
        path()
        level += 1
        condition()
        level -= 1
        add(.filter, 2)
        tail(random.pick([0, 3]))
    }

    private mutating func path() {
        add(.variable, 0) { [level] in $0.number = Int64($1.below(level + 1)) }
        if random.below(30) > 0 { steps() }
    }

    private mutating func steps() {
        for _ in 0...random.below(3) {
            switch random.below(12) {
            case 0:
                add(.element, 1) {
                    $0.choice = UInt8($1.below(4))
                    if $0.choice == 0 { $0.number = Int64($1.below(9)) - 2 }
                }
            case 1: add(.key, 1) { $0.value = .staying(Self.text(&$1)) }
            case 2:
                let kind: QueryNode.Kind = random.pick([.keys, .values])
                add(kind, 1)
            case 3:
                add(.name, 0) { $0.value = .staying(Self.name(&$1)) }
                add(.incoming, 2) { $0.value = .staying(Self.name(&$1)) }
            default: add(.property, 1) { $0.value = .staying(Self.name(&$1)) }
            }
        }
    }

    private static func name(_ random: inout QueryRandom) -> String {
        let usual = ["a", "age", "owner", "_b", "name"]
        if random.below(3) > 0 { return random.pick(usual) }
        let words = [
            "not", "NOT", "any", "ALL", "null", "Nan", "true", "sort", "in", "oid", "SUBQUERY", "$x", "$0", "$K1", "$",
            "-",
            "你好",
            "a b", "a.b", "1", "-", "T1", "T1:2", "a\\b", "\"", "\t\n\0\u{1}", "B64", "@count", "x-1", "a'b", "🦮", "(",
            "c",
        ]
        return random.pick(words) + (random.below(4) == 0 ? random.pick(words) : "")
    }

    private static func text(_ random: inout QueryRandom) -> String {
        var text = ""
        let pieces = [
            "a", "B", " ", "\"", "'", "\\", "\n", "\0", "\u{7f}", "é", "🦮", "\u{ffff}", "$0", "\\n", "]", "0",
        ]
        for _ in 0..<random.below(6) { text += random.pick(pieces) }
        return text
    }

    private mutating func constant() {
        if random.below(12) == 0 {
            scalar()
            return add(.object, 1) { $0.value = .staying(Self.text(&$1)) }
        }
        scalar()
    }

    private mutating func scalar() {
        add(.constant, 0) { node, random in
            let bits = random.next(), small = Int64(random.below(200)) - 100
            switch random.below(14) {
            case 0: node.value = .null
            case 1: node.value = .bool(bits & 1 == 0)
            case 2: node.value = .int(Int64(bitPattern: bits))
            case 3: node.value = .int(small)
            case 4: node.value = .double(Double(bitPattern: bits).isNaN ? .nan : Double(bitPattern: bits))
            case 5: node.value = .double(Double(small) / 8)
            case 6:
                let float = Float(bitPattern: UInt32(truncatingIfNeeded: bits))
                node.value = .float(float.isNaN ? .nan : float)
            case 7:
                node.value = .decimal128(
                    Decimal128(isNegative: bits & 1 == 0, exponent: random.below(12287), coefficient: UInt128(bits)))
            case 8: node.value = .staying(Self.text(&random))
            case 9:
                node.value = .staying(Self.text(&random))
                node.value.kind = .binary
            case 10:
                node.value = .timestamp(
                    seconds: Int64(bitPattern: bits), nanoseconds: Int32(random.below(1_000_000_000)))
            case 11:
                node.value = Value(
                    kind: .objectID, low: Int64(bitPattern: bits), high: Int64(random.next() & 0xffff_ffff))
            case 12:
                node.value = Value(
                    kind: .uuid, low: Int64(bitPattern: bits), high: Int64(bitPattern: random.next()))
            default:
                node.value = .link(
                    ObjectID(classID: UInt32(bits & 0xff), storeTag: UInt32(random.below(2) * 77), key: small))
            }
        }
    }

    private mutating func place() {
        let number: (inout QueryGenerator) -> Void = {
            $0.add(.constant, 0) { $0.value = .double(Double($1.below(900)) / 7) }
        }
        switch random.below(3) {
        case 0: add(.box, repeated(4...4, number))
        case 1: add(.circle, repeated(3...3, number))
        default:
            add(
                .polygon,
                repeated(1...3) { ring in
                    let points = ring.random.below(4) + 1
                    for _ in 0..<points * 2 { number(&ring) }
                    ring.add(.list, points * 2)
                })
        }
    }
}

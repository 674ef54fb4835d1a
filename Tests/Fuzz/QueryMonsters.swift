import ObjStoreCore

/// Queries that are too deep, too long or too many: refused with a clear and short reason, or answered soon.
enum QueryMonsters {
    private enum Content {
        case text(() -> String, arguments: [QueryArgument] = [])
        case nodes(() -> [QueryNode])
    }

    private struct Monster {
        let name: String
        let content: Content
        /// Of the reason; nil: it is taken.
        var refused: String?
        var code = StatusCode.invalidQuery
    }

    static func run(_ number: Int, _ store: QueryStore) -> String {
        let monster = all[number % all.count]
        let query: Query
        do throws(StoreError) {
            query = try make(monster.content, store)
        } catch {
            guard let refused = monster.refused else { fatalError("\(monster.name): refused: \(error.message)") }
            precondition(
                error.code == monster.code && error.message.contains(refused),
                "\(monster.name): \(error.code): \(error.message.prefix(300))")
            precondition(
                error.message.utf8.count < 1000, "\(monster.name): \(error.message.utf8.count) bytes of reason")
            return "a monster refused"
        }
        precondition(monster.refused == nil, "\(monster.name): it was taken")
        do throws(StoreError) {
            let list = try store.view.find(query)
            precondition(try! store.view.count(query) == list.count, "\(monster.name): another count")
            let text = try query.text(), again = try store.view.query(store.classes[0], parsing: text)
            precondition(try! again.text() == text, "\(monster.name): another text")
            _ = try store.view.explain(query, runs: true).json()
        } catch { fatalError("\(monster.name): it was taken, and then: \(error.message.prefix(300))") }
        return "a monster answered"
    }

    private static func make(_ content: Content, _ store: QueryStore) throws(StoreError) -> Query {
        switch content {
        case .text(let text, let arguments):
            return try store.view.query(store.classes[0], parsing: text(), arguments: arguments)
        case .nodes(let nodes): return try store.view.query(store.classes[0], nodes())
        }
    }

    private static func many(_ text: String, _ count: Int) -> String { String(repeating: text, count: count) }

    private static func truth(_ operands: Int, _ kind: QueryNode.Kind) -> [QueryNode] {
        Array(repeating: QueryNode(.truth), count: operands) + [QueryNode(kind, operands: operands)]
    }

    private nonisolated(unsafe) static let all: [Monster] = [
        Monster(
            name: "100,000 NOTs",
            content: .nodes({ [QueryNode(.truth)] + Array(repeating: QueryNode(.not, operands: 1), count: 100_000) }),
            refused: "deeper than 100 levels"),
        Monster(
            name: "99 NOTs",
            content: .nodes({ [QueryNode(.truth)] + Array(repeating: QueryNode(.not, operands: 1), count: 99) })),
        Monster(
            name: "too many nodes", content: .nodes({ truth(QueryLimits.nodes, .or) }),
            refused: "more than \(QueryLimits.nodes) nodes"),
        Monster(name: "OR of 100,000", content: .nodes({ truth(100_000, .or) })),
        Monster(
            name: "200,000 queries, and not one",
            content: .nodes({ Array(repeating: QueryNode(.truth), count: 200_000) }),
            refused: "200000 queries, not one", code: .invalidArgument),
        Monster(
            name: "64 MiB of text", content: .text({ "s == '" + many("x", 64 << 20) + "'" }),
            refused: "more than \(QueryLimits.text) bytes"),
        Monster(name: "a constant of 1 MiB", content: .text({ "s == '" + many("x", 1 << 20) + "'" })),
        Monster(
            name: "too many arguments",
            content: .text(
                { "i == $0" }, arguments: Array(repeating: .value(.int(1)), count: QueryLimits.arguments + 1)),
            refused: "more than \(QueryLimits.arguments) arguments"),
        Monster(
            name: "as many arguments as there may be",
            content: .text(
                { "i == $65535" }, arguments: Array(repeating: .value(.int(1)), count: QueryLimits.arguments))),
        Monster(
            name: "a list of 100,000", content: .text({ "i IN $0" }, arguments: [.list((0..<100_000).map { .int($0) })])
        ),
        Monster(
            name: "a list that is too long",
            content: .text({ "i IN $0" }, arguments: [.list((0..<Int64(QueryLimits.nodes) + 1).map { .int($0) })]),
            refused: "more than \(QueryLimits.nodes) nodes"),
        Monster(name: "IN a list of 20,000 texts", content: .text({ "s IN {" + many("'ab', ", 20_000) + "''}" })),
        Monster(name: "1,000 ORs", content: .text({ "i == 1" + many(" OR n == 2", 1000) })),
        Monster(
            name: "a million parentheses", content: .text({ many("(", 1_000_000) }),
            refused: "nested more than 100 deep"),
        Monster(
            name: "a million NOTs", content: .text({ many("NOT ", 1_000_000) + "i == 1" }),
            refused: "nested more than 100 deep"),
        Monster(
            name: "a path of 1,000 links", content: .text({ many("best.", 1000) + "i == 1" }),
            refused: "nested more than 100 deep"),
        Monster(name: "a path of 90 links", content: .text({ many("best.", 90) + "i == 1" })),
        Monster(name: "ALL of a path of 30 lists", content: .text({ "NONE " + many("best.", 30) + "friends.i == 1" })),
        Monster(name: "SORT by 256 keys", content: .text({ "SORT(" + many("b ASC, ", 255) + "i DESC)" })),
        Monster(
            name: "SORT by 100,001 keys", content: .text({ "SORT(" + many("b ASC, ", 100_000) + "i DESC)" }),
            refused: "SORT has 100001 keys: at most 256 are allowed"),
        Monster(
            name: "DISTINCT by 257 keys", content: .text({ "DISTINCT(" + many("b, ", 256) + "i)" }),
            refused: "DISTINCT has 257 keys: at most 256 are allowed"),
        Monster(name: "2,000 LIMITs", content: .text({ many("LIMIT(5) OFFSET(0) ", 2000) })),
        Monster(
            name: "a name of 1 MiB", content: .text({ many("x", 1 << 20) + " == 1" }),
            refused: "does not have a property",
            code: .noSuchProperty),
        Monster(
            name: "a name of 40,000 nodes' length", content: .text({ "best." + many("é", 20_000) + " == 1" }),
            refused: "does not have a property", code: .noSuchProperty),
        Monster(
            name: "a class with a name of 1 MiB", content: .text({ "best == obj('" + many("x", 1 << 20) + "', 1)" }),
            refused: "there is no class", code: .noSuchClass),
        Monster(
            name: "links of a class with a name of 1 MiB",
            content: .text({ "@links." + many("x", 1 << 20) + ".a.i == 1" }),
            refused: "there is no class", code: .noSuchClass),
        Monster(
            name: "an int beside a text of 1 MiB", content: .text({ "i == '" + many("x", 1 << 20) + "'" }),
            refused: "is an int", code: .wrongType),
        Monster(name: "LIKE with 2,000 stars", content: .text({ "w LIKE[cd] '" + many("*a?", 2000) + "b'" })),
        Monster(name: "100,000 digits", content: .text({ "d == " + many("7", 100_000) }), refused: "beyond the range"),
        Monster(name: "300 digits", content: .text({ "d == " + many("7", 300) })),
        Monster(name: "a sum of 90", content: .text({ "i" + many(" + n", 90) + " > 1" })),
        Monster(
            name: "a sum of 1,000", content: .text({ "i" + many(" + n", 1000) + " > 1" }), refused: "nested more than"),
    ]
}

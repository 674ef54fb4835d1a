import ObjStoreCore

/// What must hold of every query that is taken: list, count, first object and plan agree; its text is the same query;
/// and other queries that mean the same find the same.
///
/// ```
///  c, NOT NOT c, c AND true, false OR c, c OR c, c AND c       the same, by index or scan
///  all objects THEN c behind a limit                           the same, object by object
///  NOT c                                                       the others
///  LIMIT n, OFFSET n                                           the beginning, the rest
/// ```
struct QueryProof {
    private let view: View
    private let cls: UInt32
    private let query: Query
    private let nodes: [QueryNode]
    private let shown: String

    init(_ view: View, _ cls: UInt32, _ query: Query, _ nodes: [QueryNode], _ shown: String) {
        self.view = view
        self.cls = cls
        self.query = query
        self.nodes = nodes
        self.shown = shown
    }

    /// A tree of a text, written and read again.
    static func isSameText(_ tree: QueryTree, _ shown: String) {
        do throws(StoreError) {
            let text = try tree.text(), again = try QueryTree(parsing: text).text()
            precondition(again == text, "\(shown): its text \(text) becomes \(again)")
        } catch {
            precondition(error.code == .notSupported, "\(shown): its text is no query: \(error.code) \(error.message)")
        }
    }

    func run() -> String {
        do throws(StoreError) {
            let keys = try keys(query)
            try check(keys)
            try checkText(keys)
            try checkParts(keys)
            try checkForms(keys)
            return keys.isEmpty ? "found nothing" : "found some"
        } catch {
            fatalError("\(shown): it was taken, and then: \(error.code) \(error.message)")
        }
    }

    private func keys(_ query: Query) throws(StoreError) -> [Int64] {
        let list = try view.find(query).list()
        return (0..<list.count).map { list.keys[$0] }
    }

    private func agree<T: Equatable>(_ what: String, _ found: T, _ expected: T) {
        precondition(found == expected, "\(shown): \(what) is \(found), and not \(expected)")
    }

    private func check(_ keys: [Int64]) throws(StoreError) {
        agree("its count", try view.count(query), keys.count)
        agree("its first", try view.first(query)?.key, keys.first)
        agree("how often objects are found", Set(keys).count, keys.count)
        for key in keys.prefix(3) {
            let object = ObjectID(classID: cls, storeTag: view.shared.tag, key: key)
            precondition(try! view.exists(object), "\(shown): finds \(key), which is no object")
        }
        let plan = try view.explain(query, runs: true)
        agree("the count of its plan", plan.outcome?.objects, keys.count)
        precondition(!plan.text.isEmpty && (try! !plan.json().isEmpty), "\(shown): its plan has no text")
    }

    private func checkText(_ keys: [Int64]) throws(StoreError) {
        let text: String
        do throws(StoreError) { text = try query.text() } catch {
            precondition(error.code == .notSupported, "\(shown): it has no text: \(error.code) \(error.message)")
            return
        }
        let again: Query
        do throws(StoreError) { again = try view.query(cls, parsing: text) } catch {
            fatalError("\(shown): its text \(text) is refused: \(error.code) \(error.message)")
        }
        agree("the text of its text", try again.text(), text)
        agree("what its text \(text) finds", try self.keys(again), keys)
    }

    private func checkParts(_ keys: [Int64]) throws(StoreError) {
        for count in Set([0, 1, keys.count / 2, keys.count + 1]) {
            let limited = query.limited(to: count), expected = Array(keys.prefix(count))
            agree("LIMIT(\(count))", try self.keys(limited), expected)
            agree("the count of LIMIT(\(count))", try view.count(limited), expected.count)
            agree("the first of LIMIT(\(count))", try view.first(limited)?.key, expected.first)
        }
        agree("behind all", try self.keys(try Query(all: cls).then(query)), keys)
        agree("followed by all", try self.keys(try query.then(Query(all: cls))), keys)
    }

    // MARK: The same by other means

    private func checkForms(_ keys: [Int64]) throws(StoreError) {
        guard let (condition, steps) = split() else { return }
        func truth(_ number: Int64) -> QueryNode {
            var node = QueryNode(.truth)
            node.number = number
            return node
        }
        let not = QueryNode(.not, operands: 1), and = QueryNode(.and, operands: 2), or = QueryNode(.or, operands: 2)
        for (name, form) in [
            ("NOT NOT", condition + [not, not]), ("AND true", condition + [truth(1), and]),
            ("false OR", [truth(0)] + condition + [or]), ("OR itself", condition + condition + [or]),
            ("AND itself", condition + condition + [and]),
        ] {
            guard let other = try made(form, steps) else { continue }
            agree("what \(name) finds", try self.keys(other), keys)
            agree("the count of \(name)", try view.count(other), keys.count)
            agree("the first of \(name)", try view.first(other)?.key, keys.first)
        }
        guard let plain = try made(condition, []) else { return }
        let found = steps.isEmpty ? keys : try self.keys(plain), all = try self.keys(Query(all: cls))
        agree("what is found, in the order of creation", found, found.sorted())
        // Behind a step that has to come first, each object is asked by itself.
        agree("what is true of single objects", try self.keys(try Query(all: cls).limited(to: .max).then(plain)), found)
        if let opposite = try made(condition + [not], []) {
            let others = Set(found)
            agree("NOT", try self.keys(opposite), all.filter { !others.contains($0) })
            agree("the count of NOT", try view.count(opposite), all.count - found.count)
        }
        let half = keys.count / 2
        var offset = QueryNode(.offset)
        offset.number = Int64(half)
        if let rest = try made(condition, steps + [[offset]]) {
            agree("OFFSET(\(half))", try self.keys(rest), Array(keys.dropFirst(half)))
            agree("the count of OFFSET(\(half))", try view.count(rest), keys.count - half)
            agree("the first of OFFSET(\(half))", try view.first(rest)?.key, keys.dropFirst(half).first)
        }
    }

    /// Nil: it would be too deep, or too long.
    private func made(_ condition: [QueryNode], _ steps: [[QueryNode]]) throws(StoreError) -> Query? {
        do throws(StoreError) {
            let query = QueryNode(.query, operands: 1 + steps.count)
            return try view.query(cls, condition + steps.joined() + [query])
        } catch {
            if error.code == .invalidQuery, error.message.contains("deep") || error.message.contains("more than") {
                return nil
            }
            throw error
        }
    }

    /// The condition and each step.
    private func split() -> (condition: [QueryNode], steps: [[QueryNode]])? {
        guard let last = nodes.last, let shape = try? QueryShape(nodes) else { return nil }
        if last.kind != .query { return (nodes, []) }
        let parts = shape.operands(of: nodes.count - 1, in: nodes).reversed().map {
            Array(nodes[Int(shape.starts[$0])...$0])
        }
        return (parts[0], Array(parts.dropFirst()))
    }
}

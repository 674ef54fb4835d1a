/// How a query finds its objects, and what that costs: what `explain` shows. Made by the same decisions as the answer.
package struct QueryPlan {
    package enum Access: String {
        /// All objects of the class, in the order of creation.
        case all
        /// Leaf by leaf, with the condition.
        case scan
        /// What an index, or an inverse, finds of a comparison that has to be true.
        case index
        /// What links to the objects that another condition finds.
        case links
        /// A part of an index, in its order.
        case range
        /// The first of all objects in the order of an index.
        case order
        /// What a list, set or map has links to, in its order.
        case collection
    }

    /// As a text; nil: it has none.
    package var query: String?
    package var className = ""
    /// How many objects the class has, and how many leaves of at most 4,096.
    package var objects = 0
    package var leaves = 0
    package var access = Access.all
    /// The comparison, or comparisons, that are looked up.
    package var by: String?
    /// How many objects the access finds; a bound where there are alternatives. Nil: nobody has counted.
    package var estimate: Int?
    /// What is asked of each object that the access finds.
    package var filter: String?
    /// What comes then, in its order.
    package var steps: [String] = []

    /// What came of it; nil: it was not asked.
    package struct Outcome {
        package var objects = 0
        package var microseconds: Int64 = 0
        /// Leaves that were looked into, and leaves that were left out because their bounds say all: of a scan.
        package var leavesRead = 0
        package var leavesSkipped = 0
        /// Of a table.
        package var rows: Int?
        /// How many have scanned, this one included; 0: no others.
        package var threads = 0
    }
    package var outcome: Outcome?

    /// For people: a line for each thing that is done.
    package var text: String {
        var lines = ["\(className): \(objects.counted("object")) in \(leaves.counted("leaf", "leaves"))"]
        let found = estimate.map { ", \($0.counted("object"))" } ?? ""
        switch access {
        case .all: lines.append("all of them")
        case .scan: lines.append("scan: \(filter ?? "")")
        case .index: lines.append("index: \(by ?? "")\(found)")
        case .links: lines.append("links: \(by ?? "")\(found)")
        case .range: lines.append("a part of an index, in its order\(found)")
        case .collection: lines.append("the links of \(by ?? "")\(found)")
        case .order: lines.append("the first in the order of an index: \(by ?? "")\(found)")
        }
        if access != .scan, let filter { lines.append("of each: \(filter)") }
        lines += steps.map { "then: \($0)" }
        if let outcome {
            let rows = outcome.rows.map { ", \($0.counted("row"))" } ?? ""
            var line = "found: \(outcome.objects.counted("object"))\(rows) in \(outcome.microseconds) µs"
            if access == .scan, outcome.rows == nil {
                line += ", \(outcome.leavesRead.counted("leaf", "leaves")) read, \(outcome.leavesSkipped) skipped"
            }
            if outcome.threads > 0 { line += ", threads: \(outcome.threads)" }
            lines.append(line)
        }
        return lines.map { $0 + "\n" }.joined()
    }
}

extension QueryRun {
    /// - Parameter now: a clock in nanoseconds; nil: the query is not asked.
    func plan(_ names: QueryNames, _ now: (() -> Int64)?) throws(StoreError) -> QueryPlan {
        var plan = QueryPlan()
        plan.query = try? query.text()
        plan.className = cls.name
        plan.objects = try trees.objectCount(cls)
        try trees.objects(cls).forEachLeaf { (_) in plan.leaves += 1 }
        try describeAccess(&plan, names)
        plan.steps =
            try query.tree.map { (tree) throws(StoreError) in try tree.stepTexts(names) } ?? query.steps.map(\.name)
        if let now {
            var outcome = QueryPlan.Outcome()
            let start = now()
            QueryThreads.used = 0
            outcome.objects = try keys().count
            outcome.threads = QueryThreads.used
            outcome.microseconds = (now() - start) / 1000
            if plan.access == .scan {
                let scan = try scan()
                try trees.objects(cls).forEachLeaf { (head) throws(StoreError) in
                    if try scan.isDecided(head) { outcome.leavesSkipped += 1 } else { outcome.leavesRead += 1 }
                }
            }
            plan.outcome = outcome
        }
        return plan
    }

    private func describeAccess(_ plan: inout QueryPlan, _ names: QueryNames) throws(StoreError) {
        if let order = try indexOrder(query.steps) {
            var few = try first(in: order)
            if few == nil { few = try ends(of: order) }
            if let few {
                plan.access = .order
                let name = ([order.key] + order.further).map { names.name(of: $0.properties[0]) ?? "?" }
                    .joined(separator: ", ")
                let equal = order.part.equal.map { describe($0, names) }.joined(separator: " and ")
                plan.by = equal.isEmpty ? name : "\(name) where \(equal)"
                plan.estimate = few.count
                if order.isAsked { plan.filter = describe(query.predicate, names) }
                return
            }
        }
        switch query.origin {
        case .objects: break
        case .stretch(let stretch):
            plan.access = .range
            plan.estimate = try trees.count(in: stretch)
            if !query.predicate.isTrue { plan.filter = describe(query.predicate, names) }
            return
        case .collection(let id):
            plan.access = .collection
            plan.estimate = try trees.count(in: id)
            plan.by = names.name(of: id.propertyID)
            if !query.predicate.isTrue { plan.filter = describe(query.predicate, names) }
            return
        }
        if query.predicate.isTrue {
            plan.estimate = plan.objects
            return
        }
        let condition = describe(query.predicate, names)
        if let test = query.predicate.single {
            let bound = try BoundTest(test, trees, cls, links)
            if let estimate = try bound.keysEstimate() {
                plan.access = bound.source == .targets ? .links : .index
                (plan.by, plan.estimate) = (condition, estimate)
                return
            }
            if !cls.hasEncodedIndexes {
                (plan.access, plan.filter) = (.scan, condition)
                return
            }
        }
        guard let few = try candidates() else {
            (plan.access, plan.filter) = (.scan, condition)
            return
        }
        plan.access = .index
        plan.estimate = few.estimate
        if case .comparison(let test) = few.source, test.hasTargets { plan.access = .links }
        plan.by = describe(few.source, names)
        if let other = few.other { plan.by? += " and then by \(describe(other, names))" }
        if !few.isWhole { plan.filter = condition }
    }

    // MARK: In words

    private func describe(_ source: Candidates.Source, _ names: QueryNames) -> String {
        switch source {
        case .comparison(let test): return describe(test, names)
        case .between(let low, let high): return "\(describe(low, names)) and \(describe(high, names))"
        case .oneOf(let tests): return tests.map { describe($0, names) }.joined(separator: " or ")
        case .part(let part):
            let tests = (part.equal + [part.low, part.high].compactMap(\.self)).map { describe($0, names) }
            return (tests + [part.beginning].compactMap { $0.map { describe($0, names) } }).joined(separator: " and ")
        }
    }

    private func describe(_ predicate: Predicate, _ names: QueryNames) -> String {
        var stack: [String] = []
        for node in predicate.nodes {
            switch node {
            case .truth(let truth): stack.append(truth ? "TRUEPREDICATE" : "FALSEPREDICATE")
            case .test(let test): stack.append(describe(test, names))
            case .values(let test): stack.append(describe(test, names))
            case .paths(let test):
                let how = test.origins == nil ? "followed object by object" : "counted in one pass"
                stack.append("\(how): \(list(test.properties, names))\(by(test.calls))")
            case .not: stack[stack.count - 1] = "!(\(stack[stack.count - 1]))"
            case .and, .or:
                let last = stack.removeLast()
                if case .and = node {
                    stack[stack.count - 1] += " and \(last)"
                } else {
                    stack[stack.count - 1] = "(\(stack[stack.count - 1]) or \(last))"
                }
            }
        }
        return stack.last ?? ""
    }

    private func describe(_ test: ValueTest, _ names: QueryNames) -> String {
        if let beginning = test.beginning {
            let text = Value.string(beginning.baseAddress, beginning.count).text
            return "\(list(test.properties, names)) BEGINSWITH \(text)"
        }
        return "computed of \(list(test.properties, names))\(by(test.calls))"
    }

    private func by(_ calls: [FunctionCall]) -> String {
        calls.isEmpty ? "" : " by \(calls.map(\.function.name).joined(separator: ", "))"
    }

    private func list(_ properties: [UInt32], _ names: QueryNames) -> String {
        properties.map { names.name(of: $0) ?? "?" }.joined(separator: ", ")
    }

    private func describe(_ test: ColumnTest, _ names: QueryNames) -> String {
        let name = names.name(of: test.propertyID) ?? "?"
        if let targets = test.targets {
            guard let run = try? QueryRun(targets, trees) else { return name }
            return "\(name) leads to \(run.cls.name) where \(run.describe(targets.predicate, names))"
        }
        if test.isInside { return "\(name) has \(test.value.text)" }
        let signs = ["==", "!=", "<", "<=", ">", ">="]
        return "\(name) \(signs[Int(test.comparison.rawValue)]) \(test.value.text)"
    }
}

extension QueryTree {
    /// What comes behind the condition.
    func stepTexts(_ names: QueryNames) throws(StoreError) -> [String] {
        let root = nodes.count - 1
        guard nodes[root].kind == .query else { return [] }
        let shape = try QueryShape(nodes)
        return try shape.operands(of: root, in: nodes).reversed().dropFirst().map { (step) throws(StoreError) in
            try QueryPrinter.text(Array(nodes[Int(shape.starts[step])...step])) { names.name($0) }
        }
    }
}

extension QueryStep {
    fileprivate var name: String {
        switch self {
        case .sort: "SORT"
        case .distinct: "DISTINCT"
        case .limit(let count): "LIMIT(\(count))"
        case .offset(let count): "OFFSET(\(count))"
        case .filter: "a condition"
        }
    }
}

extension QueryNames {
    func name(of propertyID: UInt32) -> String? {
        var node = QueryNode(.property)
        node.number = Int64(propertyID)
        return name(node)
    }
}

extension ClusterReader {
    /// Calls `body` with each leaf.
    func forEachLeaf(_ body: (UnsafeRawPointer) throws(StoreError) -> Void) throws(StoreError) {
        var cursor = LeafCursor(self, from: 0)
        while let head = try cursor.next() { try body(head) }
    }
}

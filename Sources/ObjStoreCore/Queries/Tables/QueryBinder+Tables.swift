/// GROUP, HAVING and SELECT. What is said of groups is bound against a class that there is not: its properties are the
/// slots of a group, and whatever stands for one of them in the nodes is replaced by it first.
///
/// ```
///  GROUP(city) HAVING(@avg.age > 30)     slots: 0 city   1 @avg.age       condition: [1] > 30
/// ```
extension QueryBinder {
    /// Errors: as of `bind`.
    func bindTable(_ steps: [Int]) throws(StoreError) -> (grouping: Grouping?, columns: [TableQuery.Column]) {
        guard let first = steps.first, nodes[first].kind == .group else {
            guard steps.count == 1 else {
                throw error(.invalidQuery, steps[1], "SELECT is the last step: \(described(steps[1])) comes before it")
            }
            var columns: [TableQuery.Column] = []
            for operand in operands(steps[0]) {
                let (index, name) = try column(operand), value = try tableValue(index)
                columns.append(
                    TableQuery.Column(name: name, kind: value.kind, target: value.target, source: .object(value)))
            }
            try checkNames(columns, steps[0])
            return (nil, columns)
        }
        var groups = GroupBinder(self), bound: [GroupStep] = []
        for operand in operands(first) { try groups.addKey(operand) }
        let keys = groups.slots.count
        var select: Int?
        for index in steps.dropFirst() {
            if let select {
                throw error(
                    .invalidQuery, index, "\(described(select)) is the last step: \(described(index)) comes before it")
            }
            switch nodes[index].kind {
            case .limit: bound.append(.limit(try count(index)))
            case .offset: bound.append(.offset(try count(index)))
            case .having: bound.append(.having(try groups.condition(index - 1)))
            case .sort: bound.append(.sort(try groups.sort(index)))
            case .select: select = index
            default:
                throw error(
                    .invalidQuery, index,
                    "HAVING, SORT, LIMIT, OFFSET or SELECT is expected behind GROUP, and not \(described(index))")
            }
        }
        var columns: [TableQuery.Column] = []
        if let select {
            for operand in operands(select) {
                let (index, name) = try column(operand, isOfGroup: true)
                columns.append(try groups.column(index, name))
            }
            try checkNames(columns, select)
        } else {
            columns = try groups.allColumns()
            try checkNames(columns, first)
        }
        return (Grouping(slots: groups.slots, keys: keys, steps: bound), columns)
    }

    /// One value of each object that a table can have.
    func tableValue(_ index: Int) throws(StoreError) -> ObjectValue {
        let value = try objectValue(index)
        if case .type = value.path?.source { throw notSupported(index, "a column of @type") }
        return value
    }

    /// What stands before the steps of a table, as nodes of a query of their own.
    func objects(_ table: [Int]) throws(StoreError) -> QueryTree {
        let first = Int(shape.starts[table[0]]), root = nodes.count - 1
        let operands = Int(nodes[root].operands) - table.count
        return try QueryTree(Array(nodes[..<first]) + [QueryNode(.query, operands: operands)])
    }

    /// The value of a column, and what it is called.
    func column(_ index: Int, isOfGroup: Bool = false) throws(StoreError) -> (value: Int, name: String) {
        if nodes[index].kind == .named { return (index - 1, QueryBinder.text(nodes[index].value) ?? "") }
        let start = Int(shape.starts[index])
        return (
            index,
            try QueryPrinter.text(
                Array(nodes[start...index]), ofGroup: isOfGroup, names: QueryNames(trees.schema, storedNames).name)
        )
    }

    private func checkNames(_ columns: [TableQuery.Column], _ index: Int) throws(StoreError) {
        var seen: Set<String> = []
        for column in columns where !seen.insert(column.name).inserted {
            throw error(
                .invalidQuery, index, "two columns are called \(column.name): give one of them another name, by AS")
        }
    }
}

/// Finds out which slots groups need, and binds what is said of groups.
struct GroupBinder {
    let binder: QueryBinder
    private(set) var slots: [GroupSlot] = []
    /// Of each slot what it is called.
    private var names: [String] = []
    /// The keys: their nodes, and their names where they have any.
    private var keys: [(range: ClosedRange<Int>, alias: String?)] = []
    private var targets: [Int?] = []

    init(_ binder: QueryBinder) { self.binder = binder }

    private var nodes: [QueryNode] { binder.nodes }

    /// Keys and aggregates.
    private static let most = 256

    mutating func addKey(_ operand: Int) throws(StoreError) {
        let (index, name) = try binder.column(operand)
        let value = try binder.tableValue(index)
        let range = range(index)
        if keys.contains(where: { areSame($0.range, range) }) {
            throw binder.error(.invalidQuery, index, "\(binder.described(index)) is given twice")
        }
        keys.append((range, nodes[operand].kind == .named ? name : nil))
        try add(.value(value), name, value.target)
    }

    private mutating func add(_ slot: GroupSlot, _ name: String, _ target: Int?) throws(StoreError) {
        guard slots.count < GroupBinder.most else {
            throw StoreError(.invalidQuery, "more than \(GroupBinder.most) things are asked of groups")
        }
        slots.append(slot)
        names.append(name)
        targets.append(target)
    }

    private func range(_ index: Int) -> ClosedRange<Int> { Int(binder.shape.starts[index])...index }

    /// They say the same.
    private func areSame(_ a: ClosedRange<Int>, _ b: ClosedRange<Int>) -> Bool {
        guard a.count == b.count else { return false }
        for (x, y) in zip(a, b) {
            let (x, y) = (nodes[x], nodes[y])
            guard x.kind == y.kind, x.choice == y.choice, x.modifiers == y.modifiers, x.operands == y.operands,
                x.number == y.number, x.value.kind == y.value.kind, x.value.low == y.value.low,
                x.value.high == y.value.high, x.value.utf8 == y.value.utf8
            else { return false }
        }
        return true
    }

    // MARK: What is said of groups

    /// Columns where nobody selects: the keys, and how many objects there are.
    mutating func allColumns() throws(StoreError) -> [TableQuery.Column] {
        let count = try slot(.count, "@count", nil)
        return (Array(keys.indices) + [count]).map { column(slot: $0) }
    }

    private func column(slot number: Int) -> TableQuery.Column {
        let kind = slots[number].kind
        return TableQuery.Column(
            name: names[number], kind: kind, target: targets[number],
            source: .group(
                GroupValue(program: ValueProgram(steps: [.property(0)], kind: kind), slots: [number])))
    }

    mutating func column(_ index: Int, _ name: String) throws(StoreError) -> TableQuery.Column {
        let value = try value(index)
        return TableQuery.Column(
            name: name, kind: value.program.kind, target: value.slot.flatMap { targets[$0] }, source: .group(value))
    }

    mutating func sort(
        _ index: Int
    ) throws(StoreError) -> [(value: GroupValue, isDescending: Bool, modifiers: QueryNode.Modifiers)] {
        var keys: [(value: GroupValue, isDescending: Bool, modifiers: QueryNode.Modifiers)] = []
        for operand in binder.operands(index) {
            let node = nodes[operand]
            guard node.kind == .sortKey else {
                throw binder.error(.invalidQuery, operand, "SORT has keys, and not \(binder.described(operand))")
            }
            let value = try value(operand - 1)
            if value.program.kind == .link { throw binder.notSupported(operand - 1, "an order of links") }
            keys.append((value, node.choice == 1, node.modifiers))
        }
        return keys
    }

    private mutating func value(_ index: Int) throws(StoreError) -> GroupValue {
        let group = try bound(index), root = group.nodes.count - 1
        var properties: [UInt32] = []
        let program = try group.program(try group.operand(root), root, &properties)
        if properties.isEmpty, program.calls.isEmpty {
            throw binder.error(.invalidQuery, index, "\(binder.described(index)) is the same for all groups")
        }
        return GroupValue(program: program, slots: properties.map(GroupBinder.slot))
    }

    mutating func condition(_ index: Int) throws(StoreError) -> [GroupTest] {
        let group = try bound(index)
        return try group.condition(group.nodes.count - 1).map { (node) throws(StoreError) in
            switch node {
            case .truth(let truth): return .truth(truth)
            case .test(let test) where !test.hasTargets && !test.isInside:
                return .column(GroupBinder.slot(test.propertyID), test.comparison, test.value)
            case .values(let test): return .values(test, slots: test.properties.map(GroupBinder.slot))
            case .not: return .not
            case .and: return .and
            case .or: return .or
            case .test, .paths: throw binder.notSupported(index, "such a condition about groups")
            }
        }
    }

    private static func slot(_ propertyID: UInt32) -> Int { Int(propertyID & 0xffff) - 1 }

    // MARK: Slots for nodes

    /// The subtree at a node with slots in it, as a question about the class of groups.
    private mutating func bound(_ index: Int) throws(StoreError) -> QueryBinder {
        var replaced: [QueryNode] = []
        try replace(index, &replaced)
        // Two may be called the same; ids tell them apart.
        var called: Set<String> = []
        let properties = slots.indices.map { number in
            var name = names[number]
            while !called.insert(name).inserted { name += "'" }
            return PropertySchema(
                name: name, kind: slots[number].kind, columnID: UInt32(number), isNullable: true,
                target: targets[number])
        }
        let cls = ClassSchema(
            name: "groups of \(binder.storedNames.name(binder.cls))",
            id: UInt32(binder.trees.schema.classes.count), properties: properties,
            nextColumnID: UInt32(properties.count))
        return try QueryBinder(replaced, binder.trees, cls, binder.storedNames, binder.functions)
    }

    private mutating func replace(_ index: Int, _ out: inout [QueryNode]) throws(StoreError) {
        let node = nodes[index]
        if let number = try slot(at: index) {
            out.append(QueryNode(.variable, position: Int(node.position)))
            var property = QueryNode(.property, operands: 1, position: Int(node.position))
            property.number = Int64(PropertyID.of(UInt32(binder.trees.schema.classes.count), UInt32(number)))
            out.append(property)
            return
        }
        guard node.kind != .variable, !node.kind.isStep else {
            let name = binder.described(index)
            throw binder.error(
                .invalidQuery, index,
                """
                \(name) is no key of GROUP: of a group its keys are known, @count, and @min, @max, @sum and @avg of \
                its objects, as in @max.\(name)
                """)
        }
        for operand in binder.operands(index) { try replace(operand, &out) }
        out.append(node)
    }

    /// What a subtree is of a group; nil: it is computed of others.
    private mutating func slot(at index: Int) throws(StoreError) -> Int? {
        let node = nodes[index], range = range(index)
        if let key = keys.firstIndex(where: { areSame($0.range, range) }) { return key }
        switch node.kind {
        case .property:
            let first = binder.shape.firstOperand(of: index, in: nodes)
            if isGroup(first), let name = QueryBinder.text(node.value),
                let key = keys.firstIndex(where: { $0.alias == name })
            {
                return key
            }
        case .count where isGroup(index - 1): return try slot(.count, "@count", nil)
        case .aggregate:
            let of = binder.operands(index)
            if isGroup(of[0]) { return try aggregate(index, of[1]) }
        default: break
        }
        // Behind a key that is a link: the same for all objects of the group.
        var before = index
        while nodes[before].kind.isStep || before == index && nodes[before].kind.isTail {
            before = binder.shape.firstOperand(of: before, in: nodes)
            let part = self.range(before)
            if let key = keys.firstIndex(where: { areSame($0.range, part) }), slots[key].kind == .link {
                let value = try binder.tableValue(index)
                return try slot(.value(value), binder.described(index), value.target)
            }
        }
        return nil
    }

    private func isGroup(_ index: Int) -> Bool { nodes[index].kind == .variable && nodes[index].number == 0 }

    /// One that is there, or a new one.
    private mutating func slot(_ slot: GroupSlot, _ name: String, _ target: Int?) throws(StoreError) -> Int {
        if let number = names.indices.dropFirst(keys.count).first(where: { names[$0] == name }) { return number }
        try add(slot, name, target)
        return slots.count - 1
    }

    private mutating func aggregate(_ index: Int, _ member: Int) throws(StoreError) -> Int {
        let aggregate = QueryAggregate(rawValue: nodes[index].choice).unsafelyUnwrapped
        if nodes[member].kind == .variable {
            throw binder.error(
                .invalidQuery, index, "\(binder.described(index)) is of objects: a property is missing behind it")
        }
        // Of each object of the group, as if it were asked about.
        let part = try range(member).map { (place) throws(StoreError) in
            var node = nodes[place]
            if node.kind == .variable { node.number -= 1 }
            return node
        }
        let ofObject = try QueryBinder(part, binder.trees, binder.cls, binder.storedNames, binder.functions)
        let value = try ofObject.tableValue(part.count - 1), kind = value.kind
        let isExtreme = aggregate == .minimum || aggregate == .maximum
        guard kind.isNumber || kind == .mixed || isExtreme && kind != .link && kind != .binary else {
            throw binder.error(
                .wrongType, index, "\(binder.described(index)): there is no \(aggregate) of values of kind \(kind)")
        }
        if isExtreme, kind.hasBytes, !value.calls.isEmpty {
            throw binder.notSupported(index, "extremes of texts that a function makes")
        }
        let sums: PathSum = kind == .int ? .ints : kind == .decimal128 || kind == .mixed ? .decimals : .doubles
        return try slot(
            .aggregate(aggregate, value, sums),
            try QueryPrinter.text(
                Array(nodes[range(index)]), ofGroup: true,
                names: QueryNames(binder.trees.schema, binder.storedNames).name),
            nil)
    }
}

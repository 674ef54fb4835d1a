/// Which test a comparison is: of one column with a constant where it can be, which kernels and indexes answer; else it
/// is computed.
extension QueryBinder {
    func comparison(_ index: Int) throws(StoreError) -> [Predicate.Node] {
        let node = nodes[index], operation = QueryOperator(rawValue: node.choice).unsafelyUnwrapped
        let leftPlace = Int(shape.starts[index - 1]) - 1, rightPlace = index - 1
        // Most are a property and a constant: their names are looked up once.
        let isPlain =
            operation != .text && isPlain(leftPlace) && (isPlain(rightPlace) || isListOf(operation, rightPlace))
        if !isPlain, needsPaths(index) { return try behindPaths(index) }
        let left = try operand(leftPlace), right = try operand(rightPlace)
        switch (left, right) {
        case (.links(let position), .constant(let value))
        where operation == .equal && value.kind == .link && cls.inversePosition(of: position) != nil:
            return try any(position, leftPlace, value, rightPlace)
        case (.constant(let value), .links(let position))
        where (operation == .equal || operation == .isIn) && value.kind == .link
            && cls.inversePosition(of: position) != nil:
            return try any(position, rightPlace, value, leftPlace)
        case (.links, _), (_, .links): return try behindPaths(index)
        case (.constant, .constant), (.constant, .list), (.list, .constant), (.list, .list):
            throw error(
                .invalidQuery, index, "a constant is compared with a constant: one side has to be about the object")
        default: break
        }
        let pair = Pair(
            index: index, left: left, right: right, places: (leftPlace, rightPlace), modifiers: node.modifiers)
        switch operation {
        case .isIn: return try isIn(pair)
        case .between: return try between(pair)
        case .beginsWith, .endsWith, .contains, .like: return try text(pair, QueryBinder.operation(operation))
        default: return try compare(pair, Comparison(rawValue: node.choice).unsafelyUnwrapped)
        }
    }

    /// A comparison with its two sides and where they stand.
    struct Pair {
        let index: Int
        let left: Operand, right: Operand
        let places: (left: Int, right: Int)
        let modifiers: QueryNode.Modifiers

        func with(_ value: Value) -> Pair {
            Pair(index: index, left: left, right: .constant(value), places: places, modifiers: modifiers)
        }

        var turned: Pair {
            Pair(index: index, left: right, right: left, places: (places.right, places.left), modifiers: modifiers)
        }
    }

    // MARK: Collections of links

    /// ANY, or NONE, of a collection is an object.
    private func any(
        _ position: Int, _ place: Int, _ object: Value, _ objectPlace: Int
    ) throws(StoreError) -> Program {
        let test = ColumnTest(cls.propertyID(position), .equal, ofQuery: object)
        do throws(StoreError) { _ = try BoundTest(test, trees, cls) } catch { throw placed(error, objectPlace) }
        let isNone =
            nodes[place].kind == .quantified && place != lifted && nodes[place].choice == Quantifier.none.rawValue
        return isNone ? [.test(test), .not] : [.test(test)]
    }

    // MARK: = != < <= > >=

    private func compare(_ pair: Pair, _ comparison: Comparison) throws(StoreError) -> Program {
        switch (pair.left, pair.right) {
        case (.constant, _):
            return try compare(pair.turned, QueryBinder.turned(comparison))
        case (_, .list), (.list, _): throw error(.invalidQuery, pair.index, "one value is expected, and not a list")
        case (.property(let position), .constant(let value)):
            if !pair.modifiers.isEmpty, !value.isNull {
                return try folded(pair, comparison)
            }
            return try column(pair, position, comparison, value)
        default:
            if !pair.modifiers.isEmpty { return try folded(pair, comparison) }
            return try computed(pair, comparison)
        }
    }

    static func turned(_ comparison: Comparison) -> Comparison {
        switch comparison {
        case .equal, .notEqual: comparison
        case .less: .greater
        case .lessOrEqual: .greaterOrEqual
        case .greater: .less
        case .greaterOrEqual: .lessOrEqual
        }
    }

    /// A property with a constant.
    private func column(
        _ pair: Pair, _ position: Int, _ comparison: Comparison, _ constant: Value
    ) throws(StoreError) -> Program {
        let kind = cls.columns[position].kind, id = cls.propertyID(position)
        func test(_ comparison: Comparison, _ value: Value) throws(StoreError) -> Program {
            let test = ColumnTest(id, comparison, ofQuery: value)
            do throws(StoreError) { _ = try BoundTest(test, trees, cls) } catch {
                throw placed(error, pair.places.right)
            }
            return [.test(test)]
        }
        let isEquality = comparison == .equal || comparison == .notEqual
        if constant.isNull { return isEquality ? try test(comparison, .null) : [.truth(false)] }
        let value = QueryBinder.plain(constant)
        if kind == .mixed || value.kind == kind { return try test(comparison, value) }
        guard kind.isNumber, value.kind.isNumber else {
            throw placed(
                cls.named(
                    StoreError(
                        .wrongType,
                        """
                        \(storedNames.name(cls)).\(storedNames.name(cls, position)) is \(kind.indefinite), and is \
                        compared with \(value.kindAndText)
                        """), position), pair.places.right)
        }
        if value.isNaN { return [.truth(comparison == .notEqual)] }
        switch (kind, value.kind) {
        case (.int, .float), (.int, .double):
            return try integer(comparison, value.kind == .float ? Double(value.asFloat) : value.asDouble, test)
        case (.float, .double) where Float(value.asDouble).isFinite:
            return try test(comparison, .float(Float(value.asDouble)))
        case (.double, .float): return try test(comparison, .double(Double(value.asFloat)))
        case (.decimal128, .double):
            do throws(StoreError) { return try test(comparison, try QueryBinder.decimal(constant)) } catch {
                throw placed(error, pair.places.right)
            }
        default:
            if let widened = value.widened(to: kind) { return try test(comparison, widened) }
            return try computed(pair, comparison)
        }
    }

    /// An int property with a number that may lie between ints, or beyond them.
    private func integer(
        _ comparison: Comparison, _ number: Double, _ test: (Comparison, Value) throws(StoreError) -> Program
    ) throws(StoreError) -> Program {
        if let exact = Int64(exactly: number) { return try test(comparison, .int(exact)) }
        switch comparison {
        case .equal: return [.truth(false)]
        case .notEqual: return [.truth(true)]
        default: break
        }
        let isLess = comparison == .less || comparison == .lessOrEqual
        guard let below = Int64(exactly: number.rounded(.down)) else {
            return isLess == (number > 0) ? try test(.notEqual, .null) : [.truth(false)]
        }
        return try test(isLess ? .lessOrEqual : .greater, .int(below))
    }

    private func computed(_ pair: Pair, _ comparison: Comparison) throws(StoreError) -> Program {
        var properties: [UInt32] = []
        let left = try program(pair.left, pair.places.left, &properties)
        var right = try program(
            pair.right, pair.places.right, &properties, keepsDigits: left.kind == .decimal128)
        if left.kind == .float, case .constant(let value) = pair.right {
            right.steps = [.constant(try converted(value, to: .float))]
        }
        guard QueryBinder.areComparable(left.kind, right.kind) else {
            throw error(
                .wrongType, pair.index,
                """
                \(described(pair.places.left)) is \(left.kind.indefinite), and is compared with \
                \(described(pair.places.right)), \(right.kind.indefinite)
                """)
        }
        let isEquality = comparison == .equal || comparison == .notEqual
        if !isEquality, left.kind == .link || left.kind == .binary {
            throw error(.wrongType, pair.index, "values of kind \(left.kind) are only compared for equality")
        }
        return [.values(ValueTest(left, .comparison(comparison), right, properties))]
    }

    static func areComparable(_ a: ValueKind, _ b: ValueKind) -> Bool {
        a == b || a == .mixed || b == .mixed || a == .null || b == .null || a.isNumber && b.isNumber
    }

    // MARK: BETWEEN, IN

    private func between(_ pair: Pair) throws(StoreError) -> Program {
        guard case .list(let bounds) = pair.right, bounds.count == 2 else {
            throw error(.invalidQuery, pair.places.right, "BETWEEN has a list of two constants: {low, high}")
        }
        return QueryBinder.joined(
            [try compare(pair.with(bounds[0]), .greaterOrEqual), try compare(pair.with(bounds[1]), .lessOrEqual)],
            .and)
    }

    /// As many are tested each by a kernel; more are looked for in one ordered set.
    private static let fewAlternatives = 8

    private func isIn(_ pair: Pair) throws(StoreError) -> Program {
        guard case .list(let values) = pair.right else {
            throw error(.invalidQuery, pair.places.right, "IN has a list: {1, 2, 3}, or an argument that is one")
        }
        var properties: [UInt32] = []
        let left = try program(pair.left, pair.places.left, &properties)
        // A list may have values of any types: those of others are equal to none.
        let fitting = values.filter { QueryBinder.areComparable(left.kind, $0.kind) }
        if fitting.isEmpty { return [.truth(false)] }
        let isFolded = !pair.modifiers.isEmpty && fitting.contains { $0.kind.isText }
        // A function is called once, however long the list.
        if fitting.count <= QueryBinder.fewAlternatives && left.calls.isEmpty || isFolded {
            var programs: [Program] = []
            for value in fitting { programs.append(try compare(pair.with(value), .equal)) }
            return QueryBinder.joined(programs, .or)
        }
        let set: ValueSet
        do throws(StoreError) {
            set = try ValueSet(
                try fitting.map { (value) throws(StoreError) in
                    try converted(value, to: left.kind)
                })
        } catch { throw placed(error, pair.places.right) }
        return [.values(ValueTest(left, .isOneOf(set), nil, properties))]
    }

    /// As `column` does it, for numbers that mean another one beside a property of that kind.
    func converted(_ value: Value, to kind: ValueKind) throws(StoreError) -> Value {
        if kind == .decimal128, value.kind == .double { return try QueryBinder.decimal(value) }
        let value = QueryBinder.plain(value)
        if kind == .float, value.kind == .double { return value.widened(to: .float) ?? value }
        return value
    }

    /// A double beside decimals: with the digits that were written, or the shortest that mean it, as it is written.
    private static func decimal(_ number: Value) throws(StoreError) -> Value {
        if let pointer = number.pointer {
            return .decimal128(try Decimal128(UnsafeRawBufferPointer(start: pointer, count: number.count)))
        }
        return .decimal128(try Decimal128(number.asDouble.description))
    }

    // MARK: Texts

    static func operation(_ operation: QueryOperator) -> TextPattern.Operation {
        switch operation {
        case .beginsWith: .beginsWith
        case .endsWith: .endsWith
        case .contains: .contains
        default: .like
        }
    }

    /// A comparison with `[c]` or `[d]`.
    private func folded(_ pair: Pair, _ comparison: Comparison) throws(StoreError) -> Program {
        switch comparison {
        case .equal: try text(pair, .equal)
        case .notEqual: QueryBinder.not(try text(pair, .equal))
        case .less: try text(pair, .less)
        case .lessOrEqual: try text(pair, .lessOrEqual)
        case .greater: try text(pair, .greater)
        case .greaterOrEqual: try text(pair, .greaterOrEqual)
        }
    }

    private func text(_ pair: Pair, _ operation: TextPattern.Operation) throws(StoreError) -> Program {
        var properties: [UInt32] = []
        let left = try program(pair.left, pair.places.left, &properties)
        let before = properties
        let right = try program(pair.right, pair.places.right, &properties)
        for (program, place) in [(left, pair.places.left), (right, pair.places.right)] {
            guard program.kind.isText || program.kind == .mixed || program.kind == .null else {
                throw error(
                    .wrongType, place, "\(described(place)) is \(program.kind.indefinite): a text is expected")
            }
        }
        guard left.kind == right.kind || !left.kind.isText || !right.kind.isText else {
            throw error(
                .wrongType, pair.index,
                """
                \(described(pair.places.left)) is \(left.kind.indefinite), \(described(pair.places.right)) is \
                \(right.kind.indefinite)
                """)
        }
        guard case .constant(let value) = pair.right else {
            return [.values(ValueTest(left, .text(operation, pair.modifiers), right, properties))]
        }
        if value.isNull { return operation == .equal ? try computed(pair, Comparison.equal) : [.truth(false)] }
        let pattern = try TextPattern(operation, value, pair.modifiers)
        return [.values(ValueTest(left, .pattern(pattern, of: value.kind), nil, before))]
    }
}

/// Which comparisons are about more than the single values of the object.
extension QueryBinder {
    /// A constant, or a property of the object: one value, if it is no collection.
    private func isPlain(_ index: Int) -> Bool {
        nodes[index].kind == .constant || nodes[index].kind == .property && isRoot(index - 1)
    }

    private func isListOf(_ operation: QueryOperator, _ index: Int) -> Bool {
        nodes[index].kind == .list && (operation == .isIn || operation == .between)
    }

    private func behindPaths(_ index: Int) throws(StoreError) -> Program {
        if let linked = try linked(index) { return linked }
        return [.paths(try PathTest(of: index, self))]
    }

    func needsPaths(_ index: Int) -> Bool {
        if isAboutOneOfLinks(index) { return false }
        // With a list: ANY of it.
        let operation = QueryOperator(rawValue: nodes[index].choice)
        if operation == .geoWithin || operation == .text { return true }
        let left = Int(shape.starts[index - 1]) - 1
        if nodes[left].kind == .list || nodes[index - 1].kind == .list && operation != .isIn && operation != .between {
            return true
        }
        return needsPaths(below: index - 1) || needsPaths(below: left)
    }

    /// Of an operand.
    func needsPaths(below root: Int) -> Bool {
        if nodes[root].kind == .list { return false }
        // Up to what the condition is about there is nothing to be looked at.
        let start = Int(shape.starts[root]), isBehindLink = self.root >= start && self.root < root
        for index in (isBehindLink ? self.root + 1 : start)...root {
            switch nodes[index].kind {
            case .element, .key, .incoming, .allIncoming, .keys, .values, .type, .filter, .aggregate: return true
            case .quantified where index != lifted: return true
            case .variable where nodes[index].number != 0 || index == root || nodes[index + 1].kind != .property:
                return true
            case .property:
                guard isRoot(index - 1) else { return true }
                // Who does not know it, says so later.
                guard let position = try? position(index, in: cls) else { continue }
                let kind = cls.columns[position].kind
                let isCounted = index < root && nodes[index + 1].kind == .count
                if kind.isCollection || isCounted && !kind.isText { return true }
            case .count where nodes[index - 1].kind != .property: return true
            default: break
            }
        }
        return false
    }

    /// ANY or NONE of a collection of links is an object: the inverse knows.
    private func isAboutOneOfLinks(_ index: Int) -> Bool {
        let node = nodes[index], left = Int(shape.starts[index - 1]) - 1, right = index - 1
        let operation = QueryOperator(rawValue: node.choice)
        guard operation == .equal || operation == .isIn else { return false }
        for (collection, object) in [(left, right), (right, left)] {
            guard nodes[object].kind == .constant, nodes[object].value.kind == .link else { continue }
            if operation == .isIn && object == right { continue }
            var place = collection
            if nodes[place].kind == .quantified, place != lifted {
                if nodes[place].choice == Quantifier.all.rawValue { continue }
                place -= 1
            }
            guard nodes[place].kind == .property, isRoot(place - 1),
                let position = try? position(place, in: cls), cls.inversePosition(of: position) != nil
            else { continue }
            return true
        }
        return false
    }
}

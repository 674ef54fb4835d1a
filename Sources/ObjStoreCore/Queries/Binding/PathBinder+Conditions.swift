/// Comparisons about paths, with the rules of types and quantifiers.
extension PathBinder {
    /// One side of a comparison.
    struct Side {
        var operand: PathOperand
        var kind: ValueKind
        /// Objects of this class.
        var target: Int?
        var isMany = false
        /// Of constants.
        var isList = false
        /// A sum of decimals, or of mixed values.
        var isDecimal = false
        let index: Int

        var constants: [Value]? { if case .constants(let values) = operand.source { values } else { nil } }
        var isConstant: Bool { constants != nil }
        var isType: Bool { if case .type = operand.source { true } else { false } }
    }

    mutating func condition(_ index: Int) throws(StoreError) -> PathCondition {
        let node = nodes[index]
        switch node.kind {
        case .truth: return .truth(node.number != 0)
        case .not: return .not(try condition(index - 1))
        case .and, .or:
            var conditions: [PathCondition] = []
            for operand in binder.operands(index) { conditions.append(try condition(operand)) }
            return PathBinder.joined(conditions[...], by: node.kind)
        case .compare: return try comparison(index)
        default:
            throw binder.error(
                .invalidQuery, index,
                "a condition is expected here, such as a comparison, and not \(binder.described(index))")
        }
    }

    /// In halves: a long chain is no deep tree.
    private static func joined(_ conditions: ArraySlice<PathCondition>, by kind: QueryNode.Kind) -> PathCondition {
        if conditions.count == 1 { return conditions[conditions.startIndex] }
        let middle = (conditions.startIndex + conditions.endIndex) / 2
        let first = joined(conditions[..<middle], by: kind), last = joined(conditions[middle...], by: kind)
        return kind == .and ? .and(first, last) : .or(first, last)
    }

    mutating func comparison(_ index: Int) throws(StoreError) -> PathCondition {
        let node = nodes[index], operation = QueryOperator(rawValue: node.choice).unsafelyUnwrapped
        if operation == .text { return try search(index) }
        if operation == .geoWithin { return try within(index) }
        var left = try side(binder.operands(index)[0]), right = try side(index - 1)
        if left.isConstant && right.isConstant {
            throw binder.error(
                .invalidQuery, index, "a constant is compared with a constant: one side has to be about the object")
        }
        if operation == .between { return try between(index, left, right) }
        if left.isType || right.isType { return try types(index, operation, left, right) }
        try settle(&left, beside: right)
        try settle(&right, beside: left)
        switch operation {
        case .beginsWith, .endsWith, .contains, .like:
            try checkTexts(left, right)
            return joined(left, try text(operation, left, right, node.modifiers), right, isIn: false)
        case .isIn:
            guard right.isMany || right.kind == .mixed else {
                throw binder.error(
                    .invalidQuery, right.index, "IN has a list: {1, 2, 3}, an argument that is one, or a collection")
            }
            if left.isList, left.operand.quantifier == nil { try wrap(&left) }
            return joined(left, try relation(index, .equal, left, right, node.modifiers), right, isIn: true)
        default:
            let comparison = Comparison(rawValue: node.choice).unsafelyUnwrapped
            return joined(left, try relation(index, comparison, left, right, node.modifiers), right, isIn: false)
        }
    }

    /// A comparison of one way for what stands on its two sides.
    private func joined(
        _ left: Side, _ relation: PathComparison.Relation, _ right: Side, isIn: Bool
    ) -> PathCondition {
        var one = left.operand, other = right.operand, extent = PathComparison.Extent.values
        func expands(_ side: Side) -> Bool { side.kind == .mixed && !side.isMany && !side.isConstant }
        if isIn || left.operand.quantifier != nil || right.operand.quantifier != nil {
            one.expands = expands(left) && left.operand.quantifier != nil
            other.expands = expands(right)
        } else if left.isMany && right.isMany {
            extent = .wholes
        } else if left.isList && expands(right) {
            extent = .wholesOfLists(leftIsMixed: false)
        } else if right.isList && expands(left) {
            extent = .wholesOfLists(leftIsMixed: true)
        }
        return .comparison(PathComparison(left: one, relation: relation, right: other, extent: extent))
    }

    // MARK: Sides

    mutating func side(_ index: Int) throws(StoreError) -> Side {
        let node = nodes[index]
        switch node.kind {
        case .constant, .list, .object:
            switch try binder.operand(index) {
            case .constant(let value):
                let target = value.kind == .link ? ClassID.index(UInt32(truncatingIfNeeded: value.high)) : nil
                return Side(
                    operand: PathOperand(source: .constants([value])),
                    kind: value.kind == .document ? .mixed : value.kind, target: target, index: index)
            case .list(let values):
                return Side(
                    operand: PathOperand(source: .constants(values)), kind: .null, isMany: true, isList: true,
                    index: index)
            default: throw binder.error(.invalidQuery, index, "a constant is expected here")
            }
        case .quantified:
            var inner = try side(index - 1)
            if index == binder.lifted { return inner }
            guard inner.isMany || inner.kind == .mixed && !inner.isConstant else {
                throw binder.error(
                    .invalidQuery, index,
                    "\(binder.described(index - 1)) is no collection: there is no ANY, ALL or NONE of it")
            }
            inner.operand.quantifier = Quantifier(rawValue: node.choice).unsafelyUnwrapped
            return inner
        case .arithmetic: return try arithmetic(index)
        case .call: return try call(index)
        case .count: return try count(index)
        case .type:
            let (path, end) = try path(index - 1)
            guard end.kind == .mixed else { throw wrong(index, "a mixed value", end) }
            return Side(
                operand: PathOperand(source: .type(path)), kind: .int, isMany: end.isMany || end.isCollection,
                index: index)
        case .aggregate: return try aggregate(index)
        case .variable, .property, .element, .key, .incoming, .allIncoming, .keys, .values, .filter:
            let (path, end) = try path(index)
            if end.collection == .allOrigins {
                throw binder.error(.invalidQuery, index, "of @links only the number can be asked: @links.@count")
            }
            return Side(
                operand: PathOperand(source: .path(path)), kind: end.kind, target: end.target,
                isMany: end.isMany || end.isCollection, index: index)
        case .box, .circle, .polygon:
            throw binder.error(.invalidQuery, index, "a place on the earth is for GEOWITHIN")
        default:
            throw binder.error(
                .invalidQuery, index, "a value is expected here, and not \(binder.described(index))")
        }
    }

    private mutating func count(_ index: Int) throws(StoreError) -> Side {
        guard nodes[index - 1].kind.isStep || nodes[index - 1].kind == .variable else {
            throw binder.error(
                .invalidQuery, index - 1, "\(binder.described(index - 1)) has no elements to be counted")
        }
        let (path, end) = try path(index - 1)
        guard end.isCollection || end.isLink || end.kind.isText || end.kind == .mixed else {
            throw wrong(index, "a collection, a text or a binary", end)
        }
        let ofObjects = end.isLink && end.collection != .map
        return Side(
            operand: PathOperand(source: .count(path, ofObjects: ofObjects)), kind: .int,
            isMany: end.isMany && !ofObjects, index: index)
    }

    private mutating func aggregate(_ index: Int) throws(StoreError) -> Side {
        let aggregate = QueryAggregate(rawValue: nodes[index].choice).unsafelyUnwrapped
        let of = binder.operands(index), (path, end) = try path(of[0])
        guard end.isCollection || end.isMany && end.isLink, end.collection != .allOrigins else {
            throw wrong(index, "a collection", end)
        }
        let level = begin(end.isLink ? end.target : nil)
        defer { endLevel() }
        var member: Path?, kind = end.kind
        if nodes[of[1]].kind != .variable {
            guard end.isLink, end.target != nil else { throw wrong(index, "a collection of objects", end) }
            let (memberPath, memberEnd) = try self.path(of[1])
            guard memberPath.level == level, !memberEnd.isMany, !memberEnd.isCollection else {
                throw binder.error(
                    .invalidQuery, of[1], "one value of each element is expected, and not \(binder.described(of[1]))")
            }
            (member, kind) = (memberPath, memberEnd.kind)
        }
        let isExtreme = aggregate == .minimum || aggregate == .maximum
        guard kind.isNumber || kind == .mixed || isExtreme && kind == .timestamp else {
            throw binder.error(
                .wrongType, index, "\(binder.described(index)): there is no \(aggregate) of values of kind \(kind)")
        }
        let sums: PathSum = kind == .int ? .ints : kind == .decimal128 || kind == .mixed ? .decimals : .doubles
        let made: ValueKind = sums == .decimals ? kind : aggregate == .average || kind != .int ? .double : .int
        return Side(
            operand: PathOperand(source: .aggregate(path, aggregate, member: member, sums: sums)),
            kind: isExtreme ? kind : made, isMany: end.isMany && member == nil,
            isDecimal: !isExtreme && sums == .decimals, index: index)
    }

    private mutating func arithmetic(_ index: Int) throws(StoreError) -> Side {
        let operation = Arithmetic(rawValue: nodes[index].choice).unsafelyUnwrapped
        var sides: [Side] = []
        for operand in binder.operands(index) {
            let side = try side(operand)
            guard side.kind.isNumber || side.kind == .mixed || side.kind == .null else {
                throw binder.error(
                    .wrongType, operand,
                    "\(binder.described(operand)) is \(side.kind.indefinite): a number is expected")
            }
            sides.append(side)
        }
        for index in sides.indices {
            try settle(&sides[index], beside: sides[sides.count - 1 - index])
        }
        var first = sides[0]
        if operation == .negate {
            first.operand.source = .negated(first.operand.source)
            return Side(
                operand: first.operand, kind: first.kind, isMany: first.isMany, index: index)
        }
        let last = sides[1]
        guard !first.isMany || !last.isMany else {
            throw binder.error(.invalidQuery, index, "in arithmetic one side may be a collection, and not both")
        }
        let kinds = [first.kind, last.kind]
        let kind: ValueKind =
            kinds.contains(.mixed)
            ? .mixed
            : kinds.contains(.decimal128)
                ? .decimal128 : kinds.allSatisfy { $0 == .int || $0 == .null } ? .int : .double
        return Side(
            operand: PathOperand(
                source: .arithmetic(operation, first.operand.source, last.operand.source),
                quantifier: first.operand.quantifier ?? last.operand.quantifier),
            kind: kind, isMany: first.isMany || last.isMany, index: index)
    }

    // MARK: Types

    /// Constants become what they mean beside the other side.
    func settle(_ side: inout Side, beside other: Side) throws(StoreError) {
        guard let values = side.constants else { return }
        let converted: [Value]
        do throws(StoreError) {
            converted = try values.map { (value) throws(StoreError) in
                try binder.converted(value, to: other.isDecimal ? .decimal128 : other.kind)
            }
        } catch { throw binder.placed(error, side.index) }
        side.operand.source = .constants(converted)
    }

    private func relation(
        _ index: Int, _ comparison: Comparison, _ left: Side, _ right: Side, _ modifiers: QueryNode.Modifiers
    ) throws(StoreError) -> PathComparison.Relation {
        if !modifiers.isEmpty {
            try checkTexts(left, right)
            return .folded(comparison, modifiers)
        }
        for (side, other) in [(left, right), (right, left)] {
            if side.kind == .link, side.isMany, other.constants?.first?.isNull == true, !other.isList {
                throw binder.error(
                    .invalidQuery, index, "\(binder.described(side.index)) are objects, and null is none")
            }
        }
        let isEquality = comparison == .equal || comparison == .notEqual
        if !isEquality, left.kind == .link || right.kind == .link {
            throw binder.error(.wrongType, index, "objects are only compared for equality")
        }
        if left.isList || right.isList { return .comparison(comparison, apart: isApart(left, right)) }
        guard QueryBinder.areComparable(left.kind, right.kind) else {
            throw binder.error(
                .wrongType, right.index,
                """
                \(binder.described(left.index)) is \(left.kind.indefinite), and is compared with \
                \(binder.described(right.index)), \(right.kind.indefinite)
                """)
        }
        if !isEquality, left.kind == .binary, right.kind == .binary {
            throw binder.error(.wrongType, index, "values of kind \(ValueKind.binary) are only compared for equality")
        }
        if left.kind == .link, right.kind == .link, let target = left.target, let other = right.target,
            target != other
        {
            let schema = binder.trees.schema
            throw binder.error(
                .wrongType, right.index,
                """
                \(binder.described(left.index)) leads to \(binder.storedNames.name(schema.classes[target])), and is \
                compared with an object of class \(binder.storedNames.name(schema.classes[other]))
                """)
        }
        try checkStore(left)
        try checkStore(right)
        return .comparison(comparison, apart: isApart(left, right))
    }

    private func isApart(_ left: Side, _ right: Side) -> Bool { left.kind != .mixed && right.kind != .mixed }

    /// Objects that are given are of this store.
    private func checkStore(_ side: Side) throws(StoreError) {
        for value in side.constants ?? [] where value.kind == .link {
            let object = value.givenObject
            guard object.storeTag == 0 || object.storeTag == binder.trees.storeTag else {
                throw binder.placed(object.wrongStore, side.index)
            }
        }
    }

    private func checkTexts(_ left: Side, _ right: Side) throws(StoreError) {
        for side in [left, right] {
            guard side.kind.isText || side.kind == .mixed || side.kind == .null else {
                throw binder.error(
                    .wrongType, side.index,
                    "\(binder.described(side.index)) is \(side.kind.indefinite): a text is expected")
            }
        }
        if left.kind.isText, right.kind.isText, left.kind != right.kind {
            throw binder.error(
                .wrongType, right.index,
                """
                \(binder.described(left.index)) is \(left.kind.indefinite), \(binder.described(right.index)) is \
                \(right.kind.indefinite)
                """)
        }
    }

    private func text(
        _ operation: QueryOperator, _ left: Side, _ right: Side, _ modifiers: QueryNode.Modifiers
    ) throws(StoreError) -> PathComparison.Relation {
        let operation = QueryBinder.operation(operation)
        guard let values = right.constants, values.count == 1, let value = values.first, value.kind.isText else {
            return .text(operation, modifiers)
        }
        return .pattern(PathComparison.Shared(try TextPattern(operation, value, modifiers)), of: value.kind)
    }

    /// Every value lies in the range.
    private func between(_ index: Int, _ value: Side, _ range: Side) throws(StoreError) -> PathCondition {
        guard let bounds = range.constants, range.isList, bounds.count == 2 else {
            throw binder.error(.invalidQuery, range.index, "BETWEEN has a list of two constants: {low, high}")
        }
        if value.isMany, value.operand.quantifier != .all {
            throw binder.error(.invalidQuery, index, "BETWEEN of a collection is about ALL of it")
        }
        var value = value
        value.operand.quantifier = .all
        var conditions: [PathCondition] = []
        for (bound, comparison) in [(bounds[0], Comparison.greaterOrEqual), (bounds[1], .lessOrEqual)] {
            var side = Side(
                operand: PathOperand(source: .constants([bound])), kind: bound.kind, index: range.index)
            try settle(&side, beside: value)
            let relation = try relation(index, comparison, value, side, [])
            conditions.append(.comparison(PathComparison(left: value.operand, relation: relation, right: side.operand)))
        }
        return .and(conditions[0], conditions[1])
    }

    /// A list left of IN is one value: a mixed one, that is looked for among others.
    private mutating func wrap(_ list: inout Side) throws(StoreError) {
        let builder = DocumentBuilder()
        try builder.begin(.list)
        for value in list.constants ?? [] { try builder.append(value) }
        try builder.end()
        let owned = try OwnedValue(
            copying: Value(kind: .document, pointer: builder.node.baseAddress, count: builder.node.count))
        constants.append(owned)
        list.operand.source = .constants([owned.value])
        (list.kind, list.isMany, list.isList) = (.mixed, false, false)
    }

    // MARK: @type

    private func types(
        _ index: Int, _ operation: QueryOperator, _ left: Side, _ right: Side
    ) throws(StoreError) -> PathCondition {
        guard operation == .equal || operation == .notEqual || operation == .isIn else {
            throw binder.error(.invalidQuery, index, "kinds of values are only compared by ==, != and IN")
        }
        var left = left, right = right
        for side in [left, right] where !side.isType && !side.isConstant {
            throw binder.error(
                .wrongType, side.index, "the name of a kind is expected, and not \(binder.described(side.index))")
        }
        if operation == .isIn, !right.isMany {
            throw binder.error(.invalidQuery, right.index, "IN has a list: {\"int\", \"string\"}")
        }
        try name(&left)
        try name(&right)
        return joined(left, .type(isEqual: operation != .notEqual), right, isIn: operation == .isIn)
    }

    /// Of constants beside `@type`: sets of kinds.
    private func name(_ side: inout Side) throws(StoreError) {
        guard let values = side.constants else { return }
        var kinds: [Value] = []
        for value in values {
            guard let text = QueryBinder.text(value), let named = KindNames.kinds(text) else {
                throw binder.error(
                    .invalidQuery, side.index,
                    "the name of a kind is expected, such as \"string\", and not \(value.kindAndText)")
            }
            kinds.append(.int(named))
        }
        side.operand.source = .constants(kinds)
    }
}

/// What kinds of values are called beside `@type`.
enum KindNames {
    /// As a set: the bit 1 << kind. Nil: none is called so.
    static func kinds(_ name: String) -> Int64? {
        let kinds: [ValueKind]
        switch name.lowercased() {
        case "null": kinds = [.null]
        case "int", "integer", "int16", "int32", "int64", "short", "long", "byte", "char": kinds = [.int]
        case "bool", "boolean": kinds = [.bool]
        case "string": kinds = [.string]
        case "binary", "data", "bytearray", "byte[]", "bindata": kinds = [.binary]
        case "date", "timestamp", "datetimeoffset": kinds = [.timestamp]
        case "float": kinds = [.float]
        case "double": kinds = [.double]
        case "decimal", "decimal128": kinds = [.decimal128]
        case "objectid": kinds = [.objectID]
        case "uuid", "guid": kinds = [.uuid]
        case "link", "objectlink": kinds = [.link]
        case "object", "dictionary": kinds = [.map]
        case "array", "list": kinds = [.list]
        case "numeric": kinds = [.int, .float, .double, .decimal128]
        case "collection": kinds = [.list, .map]
        default: return nil
        }
        return kinds.reduce(0) { $0 | 1 &<< Int64($1.rawValue) }
    }
}

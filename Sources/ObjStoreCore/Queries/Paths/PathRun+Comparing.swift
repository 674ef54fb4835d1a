/// Comparisons of what paths reach.
extension PathRun {
    func holds(_ comparison: PathComparison) throws(StoreError) -> Bool {
        switch comparison.extent {
        case .values: break
        case .wholes: return try areEqualWholes(comparison)
        case .wholesOfLists(let leftIsMixed):
            let mixed = try value((leftIsMixed ? comparison.left : comparison.right).source)
            if mixed.kind == .document, try MixedNode(mixed.pointer, mixed.count).kind == .list {
                return try areEqualWholes(comparison.expanding(left: leftIsMixed))
            }
        }
        return try quantified(comparison.left) { (left) throws(StoreError) in
            if let constant = comparison.constant { return try relates(left, comparison, constant) }
            return try quantified(comparison.right) { (right) throws(StoreError) in
                try PathRun.relate(left, comparison.relation, right)
            }
        }
    }

    private func relates(_ left: Value, _ comparison: PathComparison, _ right: Value) throws(StoreError) -> Bool {
        if case .within(let shape, let place) = comparison.relation {
            return try isWithin(left, shape.content, place)
        }
        return try PathRun.relate(left, comparison.relation, right)
    }

    private func isWithin(_ object: Value, _ shape: GeoShape, _ place: GeoProperties) throws(StoreError) -> Bool {
        guard object.kind == .link, let row = try row(of: object, place.type),
            case .value(let type) = try read(place.type, row), type.kind == .string, type.count == 5,
            "Point".utf8.elementsEqual(UnsafeRawBufferPointer(start: type.pointer, count: type.count))
        else { return false }
        var longitude = Double.nan, latitude = Double.nan, count = 0
        _ = try forEachElement(try read(place.coordinates, row)) { (number) throws(StoreError) in
            let number = ValueProgram.number(number) ?? .nan
            if count == 0 { longitude = number } else { latitude = number }
            count += 1
            return count < 2
        }
        return count == 2 && shape.contains(GeoShape.Point(longitude: longitude, latitude: latitude))
    }

    /// ANY, also where nothing is said, ALL or NONE of the values.
    private func quantified(
        _ operand: PathOperand, _ holds: (Value) throws(StoreError) -> Bool
    ) throws(StoreError) -> Bool {
        let wanted = operand.quantifier != .all
        // Ended by one that decides.
        let isOver = try forEach(operand) { (value) throws(StoreError) in try holds(value) != wanted }
        return operand.quantifier == nil || operand.quantifier == .any ? !isOver : isOver
    }

    /// Pair by pair, and as many on both sides; not equal is the opposite of equal.
    private func areEqualWholes(_ comparison: PathComparison) throws(StoreError) -> Bool {
        var relation = comparison.relation, isOpposite = false
        switch relation {
        case .comparison(.notEqual, let apart): (relation, isOpposite) = (.comparison(.equal, apart: apart), true)
        case .folded(.notEqual, let modifiers): (relation, isOpposite) = (.folded(.equal, modifiers), true)
        case .type(isEqual: false): (relation, isOpposite) = (.type(isEqual: true), true)
        default: break
        }
        var left: [Value] = [], number = 0
        _ = try forEach(comparison.left) { (value) throws(StoreError) in
            try left.tryAppend(value)
            return true
        }
        let isWhole = try forEach(comparison.right) { (value) throws(StoreError) in
            guard number < left.count, try PathRun.relate(left[number], relation, value) else { return false }
            number += 1
            return true
        }
        return (isWhole && number == left.count) != isOpposite
    }

    static func relate(
        _ left: Value, _ relation: PathComparison.Relation, _ right: Value
    ) throws(StoreError) -> Bool {
        switch relation {
        case .comparison(let comparison, let apart):
            if apart, left.kind.isText, right.kind.isText, left.kind != right.kind { return comparison == .notEqual }
            return try ValueTest.holds(comparison, left, right)
        case .pattern(let pattern, let kind):
            return left.kind == kind && pattern.content.matches(left.pointer, left.count)
        case .text(let operation, let modifiers): return try matches(left, operation, right, modifiers)
        case .folded(let comparison, let modifiers):
            guard left.kind.isText, right.kind.isText else { return try ValueTest.holds(comparison, left, right) }
            switch comparison {
            case .equal: return try matches(left, .equal, right, modifiers)
            case .notEqual: return try !matches(left, .equal, right, modifiers)
            case .less: return try matches(left, .less, right, modifiers)
            case .lessOrEqual: return try matches(left, .lessOrEqual, right, modifiers)
            case .greater: return try matches(left, .greater, right, modifiers)
            case .greaterOrEqual: return try matches(left, .greaterOrEqual, right, modifiers)
            }
        case .type(let isEqual): return (left.low & right.low != 0) == isEqual
        case .search(let search):
            return left.kind == .string && search.content.matches(left.pointer, left.count)
        case .within: return false
        }
    }

    private static func matches(
        _ left: Value, _ operation: TextPattern.Operation, _ right: Value, _ modifiers: QueryNode.Modifiers
    ) throws(StoreError) -> Bool {
        guard left.kind.isText, left.kind == right.kind else { return false }
        return try TextPattern(operation, right, modifiers).matches(left.pointer, left.count)
    }
}

/// An aggregate over values; nulls and NaN do not count, and neither does what is no number, but for the least and the
/// greatest.
struct PathSummary {
    private let aggregate: QueryAggregate
    private let sums: PathSum
    private var count = 0
    private var whole: Int128 = 0
    private var sum = 0.0
    private var decimal = Decimal128.zero
    private var best = Value.null

    init(_ aggregate: QueryAggregate, _ sums: PathSum) {
        self.aggregate = aggregate
        self.sums = sums
    }

    /// Always true: the next one, please.
    mutating func add(_ value: Value) throws(StoreError) -> Bool {
        if value.isNull || value.isNaN { return true }
        switch aggregate {
        case .minimum, .maximum:
            let order = best.isNull ? 0 : try MixedOrder.compare(value, best)
            if best.isNull || (aggregate == .minimum ? order < 0 : order > 0) { best = value }
        case .sum, .average:
            if sums == .decimals {
                guard let number = ValueProgram.decimal(value) else { return true }
                decimal = decimal + number
            } else {
                guard let number = ValueProgram.number(value) else { return true }
                if sums == .ints { whole += Int128(value.low) } else { sum += number }
            }
            count += 1
        }
        return true
    }

    var value: Value {
        switch (aggregate, sums) {
        case (.minimum, _), (.maximum, _): best
        // What leaves 64 bits is null, as in arithmetic.
        case (.sum, .ints): Int64(exactly: whole).map { .int($0) } ?? .null
        case (.sum, .doubles): .double(sum)
        case (.sum, .decimals): .decimal128(decimal)
        case (.average, .decimals):
            count == 0 ? .null : .decimal128(decimal / ExactNumber.decimal(Int64(count)))
        case (.average, .ints): count == 0 ? .null : .double(Double(whole) / Double(count))
        case (.average, .doubles): count == 0 ? .null : .double(sum / Double(count))
        }
    }
}

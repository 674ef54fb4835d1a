/// What a query of plain values asks, where its answer can follow what happens to the collection: conditions about the
/// elements, then an order of them, of equal ones the first, then a part of that.
struct FollowableValues: Sendable {
    let tests: [Predicate]
    /// Nil: in the order of the collection.
    let order: SortKey?
    /// Of elements that are equal, the first one.
    let isDistinct: Bool
    /// Of the answer without it.
    let part: Range<Int>
    /// Conditions and order.
    let steps: [QueryStep]

    /// Nil: it asks something else.
    init?(_ all: [QueryStep], of kind: ValueKind, isOfMap: Bool) {
        let reads = QueryReads(all)
        // What others say of an element is no change of its collection.
        guard !all.contains(where: \.callsFunctions), reads.classes.isEmpty, !reads.leadsAnywhere else { return nil }
        var tests: [Predicate] = [], order: SortKey?, part = Range.uncut, isDistinct = false
        for step in all {
            let isCut = part != .uncut
            switch step {
            // One behind DISTINCT may tell values apart that are equal.
            case .filter(let predicate) where !isCut && !isDistinct: tests.append(predicate)
            // The first of equal ones is so in each order: they stand as they do in the collection.
            case .sort(let keys) where !isCut && order == nil && keys.count == 1:
                guard FollowableValues.canSort(keys[0], kind, isOfMap: isOfMap) else { return nil }
                order = keys[0]
            case .distinct(let keys) where !isCut && !isDistinct && keys.count == 1:
                guard FollowableValues.isElement(keys[0]), keys[0].modifiers.isEmpty else { return nil }
                isDistinct = true
            case .offset, .limit: part.cut(by: step)
            case .filter, .sort, .distinct: return nil
            }
        }
        (self.tests, self.order, self.part, self.isDistinct) = (tests, order, part, isDistinct)
        steps = all.filter { step in
            switch step {
            case .filter, .sort: true
            case .distinct, .offset, .limit: false
            }
        }
    }

    private static func isElement(_ key: SortKey) -> Bool {
        guard !key.isFirstLetter, case .path(let path)? = key.path?.source else { return false }
        return path.level == 0 && path.steps.isEmpty
    }

    /// By the element itself. Where two elements of a list are equal nobody may see which one stands first.
    private static func canSort(_ key: SortKey, _ kind: ValueKind, isOfMap: Bool) -> Bool {
        isElement(key) && (isOfMap || key.modifiers.isEmpty && kind != .decimal128 && kind != .mixed)
    }

    /// Its first ones, which are found at once.
    var isStart: Bool { order == nil && !isDistinct && part.upperBound < .max }

    /// Whether one of several that are equal can be told from the others.
    static func isAmbiguous(_ value: Value) -> Bool {
        switch value.kind {
        case .double: value.isNaN || value.asDouble == 0 && value.low != 0
        case .float: value.isNaN || value.asFloat == 0 && value.low != 0
        default: false
        }
    }
}

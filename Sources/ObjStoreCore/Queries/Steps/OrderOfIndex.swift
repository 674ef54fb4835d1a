/// What an index has sorted already: the first objects in its order, in the opposite one, or in one that goes on behind
/// it.
extension QueryRun {
    /// The order of an index that steps begin with, of which only the first objects are wanted.
    struct IndexOrder {
        let key: SortKey
        /// Of its property.
        let position: Int
        let limit: Int
        /// No other keys follow.
        let isWhole: Bool
    }

    /// Nil: the steps begin with something else, or no index is in that order.
    func indexOrder(_ steps: [QueryStep]) throws(StoreError) -> IndexOrder? {
        guard case .sort(let keys) = steps.first, let key = keys.first, query.origin.isObjects,
            key.modifiers.isEmpty, key.path == nil, key.calls.isEmpty, !key.isFirstLetter, key.value.steps.count == 1,
            case .property = key.value.steps[0], let limit = QueryRun.end(of: steps.dropFirst())
        else { return nil }
        let position = try cls.position(key.properties[0]), kind = cls.columns[position].kind
        guard kind != .mixed, kind != .link, cls.indexPosition(of: position) != nil else { return nil }
        // An index has NaN last, SORT has it before the numbers.
        if let nan = kind.nan, try countNaN(position, nan) != 0 { return nil }
        return IndexOrder(key: key, position: position, limit: limit, isWhole: keys.count == 1)
    }

    private func countNaN(_ position: Int, _ nan: Value) throws(StoreError) -> Int? {
        try trees.withIndex(cls, position, finding: nan) { (reader) throws(StoreError) in
            try nan.withIndexBytes { (nan) throws(StoreError) in
                try reader.count(in: IndexRange(lower: try .before(nan, kind: reader.kind), upper: nil))
            }
        }
    }

    /// The objects in that order, as many as are wanted. Nil: sorting is the better way.
    func first(in order: IndexOrder) throws(StoreError) -> KeyBuffer? {
        if order.key.isDescending || !order.isWhole { return nil }
        let found = KeyBuffer()
        if order.limit == 0 { return found }
        if query.predicate.isTrue {
            let isKnown = try trees.withIndex(cls, order.position, finding: .null) { (reader) throws(StoreError) in
                try reader.forEach(in: IndexRange(lower: .start, upper: nil)) { (key) throws(StoreError) in
                    try found.append(key)
                    return found.count < order.limit
                }
            }
            return isKnown == nil ? nil : found
        }
        // Where few can satisfy the condition, they are found and sorted.
        if try candidates() != nil { return nil }
        return try walk(order, into: found) ? found : nil
    }

    /// So many entries are looked at in vain, at most, before the other way is taken: a few percent of what that costs.
    private var mostWalked: Int {
        get throws(StoreError) { max(64, try trees.objectCount(cls) / 512) }
    }

    /// Asks the condition of one object after the other; false: there are too few of which it is true.
    private func walk(_ order: IndexOrder, into found: KeyBuffer) throws(StoreError) -> Bool {
        let id = order.key.properties[0], test = try RowTest(query, trees)
        var left = try mostWalked, isEnough = false
        func visit(_ key: Int64) throws(StoreError) -> Bool {
            if left == 0 { return false }
            left -= 1
            let holds = try test.holds(key)
            if holds || InjectedBug.active(.queryWalkUnasked) { try found.append(key) }
            isEnough = found.count == order.limit
            return !isEnough
        }
        // It begins where a comparison of the same property lets it begin.
        let bounds = query.predicate.necessary.compactMap { $0.count == 1 && $0[0].propertyID == id ? $0[0] : nil }
        let bound =
            bounds.first { $0.comparison == .greater || $0.comparison == .greaterOrEqual }
            ?? bounds.first { $0.comparison == .less || $0.comparison == .lessOrEqual }
        let isOver = try trees.withIndex(cls, order.position, finding: bound?.value ?? .null) {
            (reader) throws(StoreError) in
            guard let bound else { return try reader.forEach(in: IndexRange(lower: .start, upper: nil), visit) }
            return try reader.forEach(bound.comparison, bound.value, visit)
        }
        return isEnough || isOver == true
    }

    /// Those that can be among the first, in the order of creation: from one end of the index as many as are wanted,
    /// and all whose value is that of the last of them. Nil: they are too many.
    func ends(of order: IndexOrder) throws(StoreError) -> KeyBuffer? {
        guard query.predicate.isTrue, order.limit > 0 else { return nil }
        let reader = try trees.objects(cls), most = max(64, try trees.objectCount(cls) / 50), limit = order.limit
        let found = KeyBuffer(), isDescending = order.key.isDescending
        let isKnown = try trees.withIndex(cls, order.position, finding: .null) { (index) throws(StoreError) -> Bool in
            let count = try index.count()
            if limit >= count { return false }
            var cursor = IndexCursor(index)
            try cursor.seek(rank: isDescending ? count - limit : limit - 1)
            guard let key = try cursor.next(), let row = try reader.find(key) else { return false }
            return try (try reader.value(row, order.position)).withIndexBytes { (value) throws(StoreError) in
                // A long text is not in the index as a whole.
                if value.kind.isText, value.count > IndexLimits.head { return false }
                var range = IndexRange(lower: .start, upper: nil)
                if isDescending {
                    range.lower = try .before(value, kind: index.kind)
                } else {
                    range.upper = try .after(value, kind: index.kind)
                }
                if try index.count(in: range) > limit + most { return false }
                try index.forEach(in: range) { (key) throws(StoreError) in
                    try found.append(key)
                    return true
                }
                return true
            }
        }
        return isKnown == true ? try found.ascending() : nil
    }
}

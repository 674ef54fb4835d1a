/// What an index has sorted already: the first objects in its order, in the opposite one, or in one that goes on behind
/// it.
///
/// ```
/// SORT(age ASC)                      index of age              from its beginning
/// SORT(age DESC, name ASC)           index of age              from its end, and sorted then
/// SORT(age DESC, name DESC)          index of (age, name)      from its end
/// chat == $0 SORT(time DESC)         index of (chat, time)     the part of that chat, from its end
/// ```
extension QueryRun {
    /// The order of an index that steps begin with, of which only the first objects are wanted.
    struct IndexOrder {
        let key: SortKey
        /// Of its property.
        let position: Int
        /// Keys behind it whose properties the index has behind it, too, in the same order.
        let further: [SortKey]
        let limit: Int
        /// No other keys follow.
        let isWhole: Bool
        /// The index, and what the condition says of its first properties: the key's is the next one.
        var part: IndexPart
        /// The condition says more than that.
        var isAsked: Bool
    }

    /// Nil: the steps begin with something else, or no index is in that order.
    func indexOrder(_ steps: [QueryStep]) throws(StoreError) -> IndexOrder? {
        guard case .sort(let keys) = steps.first, let key = keys.first, query.origin.isObjects,
            let limit = QueryRun.end(of: steps.dropFirst()), let position = try propertyPosition(key)
        else { return nil }
        // How often functions are called is not known before.
        if query.predicate.callsFunctions { return nil }
        var order: IndexOrder?
        func use(_ part: IndexPart, _ further: [SortKey] = []) {
            let isAsked = query.predicate.isTrue ? false : query.predicate.nodes.count != 2 * part.equal.count - 1
            order = IndexOrder(
                key: key, position: position, further: further, limit: limit, isWhole: keys.count == 1, part: part,
                isAsked: isAsked)
        }
        if let index = cls.indexPosition(of: position) { use(IndexPart(position: index)) }
        if _slowPath(cls.hasEncodedIndexes) {
            let tests = try equalities()
            for (number, index) in cls.indexes.enumerated() where index.isCompound {
                guard let place = index.properties.firstIndex(of: position) else { continue }
                let before = index.properties[..<place].compactMap { tests[$0] }
                guard before.count == place else { continue }
                let further = try self.further(keys, index.properties[(place + 1)...])
                let best = order.map { ($0.part.equal.count, $0.further.count) } ?? (-1, 0)
                if (place, further.count) > best { use(IndexPart(position: number, equal: before), further) }
            }
        }
        return order
    }

    /// Of a key that is a property as it stands, in the order that an index has; nil: it is something else.
    private func propertyPosition(_ key: SortKey) throws(StoreError) -> Int? {
        guard key.modifiers.isEmpty, key.path == nil, key.calls.isEmpty, !key.isFirstLetter,
            key.value.steps.count == 1, case .property = key.value.steps[0]
        else { return nil }
        let position = try cls.position(key.properties[0]), kind = cls.columns[position].kind
        return kind == .mixed || kind == .link ? nil : position
    }

    /// How far an index goes on as the keys do behind the first one. Where NaN stands is known of the first one alone.
    private func further(_ keys: [SortKey], _ properties: ArraySlice<Int>) throws(StoreError) -> [SortKey] {
        var found: [SortKey] = []
        for (key, property) in zip(keys.dropFirst(), properties) {
            guard key.isDescending == keys[0].isDescending, try propertyPosition(key) == property,
                cls.columns[property].kind.nan == nil
            else { break }
            found.append(key)
        }
        return found
    }

    /// What the condition says that properties equal, where a compound index can know it; by position.
    private func equalities() throws(StoreError) -> [Int: ColumnTest] {
        var found: [Int: ColumnTest] = [:]
        for tests in query.predicate.necessary where tests.count == 1 && tests[0].comparison == .equal {
            if try isOrdered(tests[0]) { found[try cls.position(tests[0].propertyID)] = tests[0] }
        }
        return found
    }

    /// So many entries are looked at in vain, at most, before the other way is taken: a few percent of what that costs.
    private var mostWalked: Int {
        get throws(StoreError) { max(64, try trees.objectCount(cls) / 512) }
    }

    // MARK: Read off

    /// The objects in that order, as many as are wanted, where it is that of an index and nothing has to be sorted.
    /// Nil: sorting is the better way.
    func first(in order: IndexOrder) throws(StoreError) -> KeyBuffer? {
        guard order.isReadOff, !cls.indexes[order.part.position].isCompound else { return nil }
        let found = KeyBuffer()
        if order.limit == 0 { return found }
        // Where few can satisfy the condition, they are found and sorted.
        if order.isAsked, try candidates() != nil { return nil }
        return try walk(order, into: found) ? found : nil
    }

    /// Asks the condition of one object after the other; false: there are too few of which it is true.
    private func walk(_ order: IndexOrder, into found: KeyBuffer) throws(StoreError) -> Bool {
        let id = order.key.properties[0], test = order.isAsked ? try RowTest(query, trees) : nil
        if let test, test.columns == nil { try check() }
        var left = order.isAsked ? try mostWalked : Int.max, isEnough = false
        func visit(_ key: Int64) throws(StoreError) -> Bool {
            if left == 0 { return false }
            left -= 1
            let holds = try test?.holds(key) ?? true
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
            (reader) throws(StoreError) -> Bool in
            if try hasNaN(order, reader, to: try reader.count()) { return false }
            guard let bound else { return try reader.forEach(in: IndexRange(lower: .start, upper: nil), visit) }
            return try reader.forEach(bound.comparison, bound.value, visit)
        }
        return isEnough || isOver == true
    }

    // MARK: From an end

    /// Those that can be among the first, in the order of creation: from one end of the part of the index as many as
    /// are wanted, and all whose value is that of the last of them. Nil: too many have to be looked at.
    func ends(of order: IndexOrder) throws(StoreError) -> KeyBuffer? {
        let count = try trees.objectCount(cls), limit = order.limit, isDescending = order.key.isDescending
        guard limit > 0, limit <= max(64, count / 8) else { return nil }
        if order.isAsked, order.part.equal.isEmpty {
            // `first(in:)` has tried, or it is found by the condition.
            if order.isReadOff { return nil }
            if try candidates() != nil { return nil }
        }
        let rows = try trees.objects(cls), test = order.isAsked ? try RowTest(query, trees) : nil, found = KeyBuffer()
        if let test, test.columns == nil { try check() }
        let mostAsked = order.isAsked ? try mostWalked : Int.max
        let mostEqual = order.isAsked ? mostAsked : max(64, count / 50)
        let isKnown = try within(order) { (index, range) throws(StoreError) -> Bool in
            /// Of entries, by their ranks.
            func look(_ part: Range<Int>) throws(StoreError) {
                if part.isEmpty { return }
                var cursor = IndexCursor(index)
                try cursor.seek(rank: part.lowerBound)
                for _ in part {
                    guard let key = try cursor.next() else { return }
                    let holds = try test?.holds(key) ?? true
                    if holds || InjectedBug.active(.queryWalkUnasked) { try found.append(key) }
                }
            }
            let low = try index.rank(range.lower), high: Int
            if let upper = range.upper { high = try index.rank(upper) } else { high = try index.count() }
            if try hasNaN(order, index, to: high) { return false }
            var next = isDescending ? high : low, looked = 0
            while found.count < limit, isDescending ? next > low : next < high {
                let left = isDescending ? next - low : high - next
                let some = min(left, max(limit - found.count, order.isAsked ? 32 : 0))
                looked += some
                if looked > mostAsked { return false }
                try look(isDescending ? next - some..<next : next..<next + some)
                next += isDescending ? -some : some
            }
            if next == (isDescending ? low : high) { return true }
            // Others may have the value of the last one.
            var cursor = IndexCursor(index)
            try cursor.seek(rank: isDescending ? next : next - 1)
            guard let key = try cursor.next(), let row = try rows.find(key) else { return false }
            var values = [try rows.value(row, order.position)]
            for key in order.further { values.append(try rows.value(row, try cls.position(key.properties[0]))) }
            let edge = try rank(order, values, index, isAfter: !isDescending)
            guard let edge, isDescending ? next - edge <= mostEqual : edge - next <= mostEqual else { return false }
            try look(isDescending ? min(edge, next)..<next : next..<max(edge, next))
            return true
        }
        return isKnown ? try found.ascending() : nil
    }

    /// The part of the index, whose bounds are valid inside `body`.
    private func within<T>(
        _ order: IndexOrder, _ body: (IndexReader, IndexRange) throws(StoreError) -> T
    ) throws(StoreError) -> T {
        if cls.indexes[order.part.position].isCompound { return try within(order.part, body) }
        return try trees.withIndex(cls, at: order.part.position, asksLong: false) { (reader) throws(StoreError) in
            try body(reader, IndexRange(lower: .start, upper: nil))
        }
    }

    /// How many entries are before those with values of the first keys, or before what follows them. Nil: there is a
    /// text that the index does not have as a whole.
    private func rank(
        _ order: IndexOrder, _ values: [Value], _ index: IndexReader, isAfter: Bool
    ) throws(StoreError) -> Int? {
        for value in values where value.count > IndexLimits.head / 4 { return nil }
        if cls.indexes[order.part.position].isCompound {
            let key = IndexKey()
            for test in order.part.equal { try key.append(test.value) }
            for value in values { try key.append(value) }
            if key.value.count > IndexLimits.head { return nil }
            if isAfter { key.becomeEnd() }
            return try index.rank(.before(key.value, kind: .binary))
        }
        return try values[0].withIndexBytes { (value) throws(StoreError) in
            try index.rank(isAfter ? .after(value, kind: index.kind) : .before(value, kind: index.kind))
        }
    }

    /// NaN is the last value of an index, and SORT has it before the numbers.
    private func hasNaN(_ order: IndexOrder, _ index: IndexReader, to end: Int) throws(StoreError) -> Bool {
        guard let nan = cls.columns[order.position].kind.nan else { return false }
        return try rank(order, [nan], index, isAfter: false) != end
    }
}

extension QueryRun.IndexOrder {
    /// The first entries that satisfy the condition are the first objects.
    fileprivate var isReadOff: Bool { isWhole && !key.isDescending && part.equal.isEmpty }
}

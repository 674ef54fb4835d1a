/// What is known of each group: see `GroupSlot`.
protocol GroupSlots: AnyObject {
    func slot(_ number: Int, _ group: Int) throws(StoreError) -> Value

    /// What a slot is of all groups, where that lies in one array of words; `null`: the group that has none, or -1.
    func words(_ number: Int) -> (words: UnsafePointer<Int64>, null: Int32)?
}

/// Groups as they were found by a pass over the objects.
final class AskedGroups: GroupSlots {
    let grouping: Grouping
    let keys: GroupKeys
    let summaries: [GroupSummary?]
    private let readers: [ObjectReader?]
    private var finder: RowFinder

    init(
        _ grouping: Grouping, _ keys: GroupKeys, _ readers: [ObjectReader?], _ summaries: [GroupSummary?],
        _ reader: ClusterReader
    ) {
        (self.grouping, self.keys, self.readers, self.summaries) = (grouping, keys, readers, summaries)
        finder = RowFinder(reader)
    }

    func slot(_ number: Int, _ group: Int) throws(StoreError) -> Value {
        switch grouping.slots[number] {
        case .count: return .int(keys.counts[group])
        case .aggregate: return summaries[number].unsafelyUnwrapped.value(group)
        case .value:
            if number == 0, let word = keys.word(group) { return word }
            return try readers[number].unsafelyUnwrapped.value(try finder.row(keys.firsts[group]))
        }
    }

    func words(_ number: Int) -> (words: UnsafePointer<Int64>, null: Int32)? {
        switch grouping.slots[number] {
        case .count: (UnsafePointer(keys.counts.elements), -1)
        case .aggregate: summaries[number].unsafelyUnwrapped.words.map { ($0, -1) }
        case .value: number == 0 ? keys.wordsAndNull : nil
        }
    }
}

/// The groups of a table with all that is known of them, and the list of those that are left.
final class FoundGroups {
    private let grouping: Grouping
    private let slots: any GroupSlots
    private let functions: FunctionRun?
    private(set) var list: [Int32]

    /// - Parameter list: all groups, in the order of their first objects.
    init(_ grouping: Grouping, _ slots: any GroupSlots, _ list: [Int32], _ functions: FunctionRun?) {
        (self.grouping, self.slots, self.list, self.functions) = (grouping, slots, list, functions)
    }

    var count: Int { list.count }

    // MARK: Values

    func value(_ value: GroupValue, _ group: Int) throws(StoreError) -> Value {
        functions?.begin()
        return try value.program.value(functions) { (number) throws(StoreError) in try slot(value.slots[number], group)
        }
    }

    private func slot(_ number: Int, _ group: Int) throws(StoreError) -> Value { try slots.slot(number, group) }

    // MARK: Columns

    /// What is computed of each group that is left.
    func column(_ column: TableQuery.Column, _ value: GroupValue) throws(StoreError) -> TableColumn {
        let made = try TableColumn(
            column.name, column.kind, target: column.target.map { ClassID.of($0) } ?? 0, expecting: list.count)
        if let slot = value.slot, let (words, null) = slots.words(slot) {
            try made.append(words, of: list, null: null)
            return made
        }
        var nextLook = WatchedQuery.stretch
        for (place, group) in list.enumerated() {
            try WatchedQuery.look(at: place, &nextLook)
            try made.append(try self.value(value, Int(group)))
        }
        return made
    }

    /// A key, whether it is shown or not.
    func column(key slot: Int) throws(StoreError) -> TableColumn {
        let kind = grouping.slots[slot].kind
        let value = GroupValue(program: ValueProgram(steps: [.property(0)], kind: kind), slots: [slot])
        var target: Int?
        if case .value(let key) = grouping.slots[slot] { target = key.target }
        return try column(
            TableQuery.Column(name: "", kind: kind, target: target, source: .group(value)), value)
    }

    // MARK: Steps

    func apply(_ steps: [GroupStep]) throws(StoreError) {
        for step in steps {
            var nextLook = WatchedQuery.stretch
            switch step {
            case .limit(let limit): if limit < list.count { list.removeSubrange(limit...) }
            case .offset(let offset): list.removeSubrange(..<min(offset, list.count))
            case .having(let condition):
                var kept = 0
                for place in list.indices {
                    let group = list[place]
                    if try holds(condition, Int(group)) {
                        list[kept] = group
                        kept += 1
                    }
                    try WatchedQuery.look(at: place, &nextLook)
                }
                list.removeSubrange(kept...)
            case .sort(let keys): try sort(keys)
            }
        }
    }

    private func holds(_ condition: [GroupTest], _ group: Int) throws(StoreError) -> Bool {
        var stack: UInt128 = 0
        for test in condition {
            switch test {
            case .truth(let truth): stack = stack << 1 | (truth ? 1 : 0)
            case .column(let number, let comparison, let constant):
                let value = try slot(number, group), holds: Bool
                if value.kind == .link, constant.kind == .link {
                    holds = (value.low == constant.low) == (comparison == .equal)
                } else {
                    holds = try ValueTest.holds(comparison, value, constant)
                }
                stack = stack << 1 | (holds ? 1 : 0)
            case .values(let test, let slots):
                functions?.begin()
                let holds = try test.holds { (program) throws(StoreError) in
                    try program.value(functions) { (number) throws(StoreError) in try slot(slots[number], group) }
                }
                stack = stack << 1 | (holds ? 1 : 0)
            case .not: stack ^= 1
            case .and: stack = stack >> 1 & ~1 | (stack & stack >> 1 & 1)
            case .or: stack = stack >> 1 | stack & 1
            }
        }
        return stack & 1 != 0
    }

    private func values(of value: GroupValue) throws(StoreError) -> FunctionValues {
        let values = try FunctionValues(list.count)
        for group in list { try values.append(try self.value(value, Int(group))) }
        return values
    }

    /// Stable. By numbers of the first key, where it is one; ties and everything else by comparing.
    private func sort(
        _ keys: [(value: GroupValue, isDescending: Bool, modifiers: QueryNode.Modifiers)]
    ) throws(StoreError) {
        var rows: [(prefix: UInt64, place: Int32)] = []
        try Memory.check(for: list.count, each: 32)
        rows.reserveCapacity(list.count)
        // What functions give of each group: they are called once.
        let known = try keys.map { (key) throws(StoreError) in
            try key.value.program.calls.isEmpty ? nil : values(of: key.value)
        }
        func value(_ key: Int, _ place: Int) throws(StoreError) -> Value {
            if let known = known[key] { return known[place] }
            return try self.value(keys[key].value, Int(list[place]))
        }
        var nextLook = WatchedQuery.stretch
        for place in list.indices {
            try WatchedQuery.look(at: place, &nextLook)
            let prefix = SortColumn.prefix(ofNumber: try value(0, place))
            rows.append((keys[0].isDescending ? ~prefix : prefix, Int32(truncatingIfNeeded: place)))
        }
        var failure: StoreError?, compared = 0
        nextLook = WatchedQuery.stretch
        rows.sort { a, b in
            // What failed, or was ended, is in no order that matters: without asking for values it is over soon.
            if failure != nil { return a.place < b.place }
            do throws(StoreError) {
                compared &+= 1
                try WatchedQuery.look(at: compared, &nextLook)
                if a.prefix != b.prefix { return a.prefix < b.prefix }
                for key in keys.indices {
                    let left = try value(key, Int(a.place)), right = try value(key, Int(b.place))
                    let order = try SortColumn.compare(left, right, keys[key].modifiers)
                    if order != 0 { return keys[key].isDescending ? order > 0 : order < 0 }
                }
            } catch { failure = error }
            return a.place < b.place
        }
        if let failure { throw failure }
        list = rows.map { list[Int($0.place)] }
    }
}

/// Steps that need no sorting of everything: the first objects of an order, and the first of those with equal values.
extension QueryRun {
    /// The objects that satisfy the condition, before any step.
    private func unorderedBlocks() throws(StoreError) -> RowBlocks {
        let reader = try trees.objects(cls)
        if query.predicate.isTrue { return try RowBlocks(reader, nil) }
        if let few = try fewKeys() { return try RowBlocks(reader, few, isAscending: true) }
        return try RowBlocks(reader, try scan())
    }

    // MARK: The first of an order

    /// Of the objects that satisfy the condition those that can be among the first `limit` in the order of some keys,
    /// in the order of creation: by eight bytes of the first key, of which more and more are too great. Nil: sort them
    /// all.
    func firstCandidates(_ keys: [SortKey], _ limit: Int) throws(StoreError) -> KeyBuffer? {
        guard let key = keys.first, key.calls.isEmpty, key.path == nil, key.value.steps.count == 1,
            key.modifiers.isEmpty, !key.isFirstLetter, query.origin.isObjects
        else { return nil }
        let kind = key.value.kind
        guard BlockPrefixes.has(kind), kind != .link else { return nil }
        let count = try trees.objectCount(cls)
        guard count >= 2 * RowBlocks.most, limit <= count / 8 else { return nil }
        if limit == 0 { return KeyBuffer() }
        let blocks = try unorderedBlocks(), position = try cls.position(key.properties[0])
        let prefixes = try BlockPrefixes(blocks.reader, position, kind, isDescending: key.isDescending)
        let least = try LeastRows(limit)
        while try blocks.advance() { try least.add(blocks, prefixes) }
        return try least.keys()
    }

    // MARK: The first of each value

    /// Those whose values no object before them has; nil: they have to be sorted to find out.
    func firstOfEach(_ keys: [SortKey], _ list: KeyBuffer?) throws(StoreError) -> KeyBuffer? {
        guard query.origin.isObjects || list != nil, !InjectedBug.active(.queryDistinctLate),
            keys.allSatisfy({ $0.modifiers.isEmpty && $0.calls.isEmpty && GroupKeys.isExact($0.value.kind) })
        else { return nil }
        let reader = try trees.objects(cls)
        let all: RowBlocks
        if let list { all = try RowBlocks(reader, list, isAscending: false) } else { all = try unorderedBlocks() }
        var columns: [NumberColumn] = []
        let readers = try keys.map { (key) throws(StoreError) in try ObjectReader(key.of, trees, cls, &columns) }
        let groups = GroupKeys(readers, isCounting: false), numbers = try Memory.allocate(Int32.self, RowBlocks.most)
        defer { numbers.deallocate() }
        while try all.advance() {
            try groups.assign(all, into: numbers)
        }
        let found = try KeyBuffer(expecting: groups.count)
        for group in 0..<groups.count { try found.append(groups.firsts[group]) }
        return found
    }
}

/// The objects with the least prefixes so far: all that are not greater than the `limit`-th of them.
private final class LeastRows {
    private let limit: Int
    private var threshold = UInt64.max
    private var prefixes = GroupArray<UInt64>()
    private var objects = GroupArray<Int64>()
    /// From so many on it is worth looking which are too great.
    private var most: Int

    init(_ limit: Int) throws(StoreError) {
        self.limit = limit
        most = max(1024, 4 * limit)
    }

    func add(_ block: RowBlocks, _ column: BlockPrefixes) throws(StoreError) {
        try column.forEach(block, atMost: threshold) { (index, prefix) throws(StoreError) in
            // It may have fallen since.
            if prefix > threshold { return }
            try prefixes.append(prefix)
            try objects.append(try block.row(index).key)
            if _slowPath(objects.count >= most) { try cut() }
        }
    }

    private func cut() throws(StoreError) {
        let words = try Memory.allocate(UInt64.self, prefixes.count)
        defer { words.deallocate() }
        words.update(from: prefixes.elements, count: prefixes.count)
        threshold = try RowOrder.least(limit, words, prefixes.count)
        var kept = 0
        for index in 0..<prefixes.count where prefixes[index] <= threshold {
            prefixes[kept] = prefixes[index]
            objects[kept] = objects[index]
            kept += 1
        }
        prefixes.cut(to: kept)
        objects.cut(to: kept)
        // Many may be equal.
        if kept > most / 2 { most *= 2 }
    }

    func keys() throws(StoreError) -> KeyBuffer {
        let found = try KeyBuffer(expecting: objects.count)
        for index in 0..<objects.count { try found.append(objects[index]) }
        return found
    }
}

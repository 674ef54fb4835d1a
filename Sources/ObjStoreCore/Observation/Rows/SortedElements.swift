/// Elements of a collection of plain values in an order of them, which knows the position of each.
///
/// ```
///  SORT(@self DESC)     9 9 7 │ 4 4 2 │ 1     chunks of up to 512
/// ```
/// Of a map elements with equal values are in the order of their keys; of a set in that of the set; of a list they are
/// the same. Costs O(log n), and moving a chunk; 56 bytes an element, and what its bytes are.
struct SortedElements {
    typealias Entry = CollectionDifference.Entry

    private struct Element {
        let value: Value
        /// Of a value that has bytes.
        let bytes: OwnedValue?
        /// Of a map.
        let key: OwnedValue?

        init(_ entry: Entry, isOfMap: Bool) throws(StoreError) {
            bytes = entry.value.kind.isBytes ? try OwnedValue(copying: entry.value) : nil
            value = bytes?.value ?? entry.value
            key = isOfMap ? try OwnedValue(copying: entry.key) : nil
        }

        func `is`(_ entry: Entry) -> Bool {
            value.isSame(as: entry.value) && key.map { $0.value.isSame(as: entry.key) } ?? true
        }
    }

    private static let capacity = 512
    private let isDescending: Bool
    private let modifiers: QueryNode.Modifiers
    private let isOfMap: Bool
    private var chunks: [[Element]] = []
    private var sizes: ChunkSizes

    /// - Parameter found: in that order.
    init(_ found: FoundValues, by key: SortKey, isOfMap: Bool) throws(StoreError) {
        (isDescending, modifiers, self.isOfMap) = (key.isDescending, key.modifiers, isOfMap)
        try Memory.check(for: found.count, each: MemoryLayout<Element>.stride)
        for start in stride(from: 0, to: max(1, found.count), by: SortedElements.capacity / 2) {
            var chunk: [Element] = []
            for index in start..<min(start + SortedElements.capacity / 2, found.count) {
                chunk.append(try Element((found.key(index), found.value(index)), isOfMap: isOfMap))
            }
            chunks.append(chunk)
        }
        sizes = ChunkSizes(chunks.map(\.count))
    }

    /// Whether an element stands before an entry; with `orEqual` also the entry itself.
    private func comes(_ element: Element, before entry: Entry, orEqual: Bool) throws(StoreError) -> Bool {
        var order = try SortColumn.compare(element.value, entry.value, modifiers)
        if order != 0 { return isDescending ? order > 0 : order < 0 }
        // Those with equal values are in the order of the collection.
        order = CollectionOrder.compare(element.key?.value ?? element.value, isOfMap ? entry.key : entry.value)
        return orEqual ? order <= 0 : order < 0
    }

    /// Where an entry is, or belongs: before those that are the same, or behind them.
    private func place(of entry: Entry, isBehind: Bool = false) throws(StoreError) -> (chunk: Int, index: Int) {
        var low = 0, high = chunks.count
        while low < high {
            let middle = (low + high) / 2
            if let first = chunks[middle].first, try comes(first, before: entry, orEqual: isBehind) {
                low = middle + 1
            } else {
                high = middle
            }
        }
        let chunk = max(0, low - 1)
        (low, high) = (0, chunks[chunk].count)
        while low < high {
            let middle = (low + high) / 2
            if try comes(chunks[chunk][middle], before: entry, orEqual: isBehind) {
                low = middle + 1
            } else {
                high = middle
            }
        }
        // Behind all of a chunk the next one begins.
        return low == chunks[chunk].count && chunk + 1 < chunks.count && !isBehind ? (chunk + 1, 0) : (chunk, low)
    }

    /// Takes entries out. Returns: their positions before, ascending, and which of them is there.
    mutating func remove(_ entries: [Entry]) throws(StoreError) -> [(position: Int, index: Int)] {
        var found: [(position: Int, index: Int)] = [], places: [(chunk: Int, index: Int)] = []
        for (number, entry) in entries.enumerated() {
            let place = try place(of: entry)
            guard place.index < chunks[place.chunk].count, chunks[place.chunk][place.index].is(entry) else {
                throw StoreError(.internalError, "an observed order of values has lost one of them")
            }
            // Of the same ones those behind the first.
            found.append((sizes.start(of: place.chunk) + place.index, number))
        }
        found.sort { ($0.position, $0.index) < ($1.position, $1.index) }
        for index in found.indices.dropFirst() where found[index].position <= found[index - 1].position {
            found[index].position = found[index - 1].position + 1
        }
        for one in found {
            let chunk = sizes.chunk(of: one.position)
            places.append((chunk, one.position - sizes.start(of: chunk)))
        }
        if InjectedBug.active(.valueUnsorted) { return found }
        for place in places.reversed() {
            chunks[place.chunk].remove(at: place.index)
            sizes.change(place.chunk, by: -1)
            if chunks[place.chunk].isEmpty && chunks.count > 1 {
                chunks.remove(at: place.chunk)
                sizes.remove(place.chunk)
            }
        }
        sizes.sum()
        return found
    }

    /// Puts entries in, behind those that are the same. Returns: their positions after, ascending, and which of them is
    /// there.
    mutating func insert(_ entries: [Entry]) throws(StoreError) -> [(position: Int, index: Int)] {
        for entry in entries {
            let place = try place(of: entry, isBehind: true)
            chunks[place.chunk].insert(try Element(entry, isOfMap: isOfMap), at: place.index)
            sizes.change(place.chunk, by: 1)
            if chunks[place.chunk].count > SortedElements.capacity {
                let half = chunks[place.chunk].count / 2, second = Array(chunks[place.chunk][half...])
                chunks[place.chunk].removeSubrange(half...)
                chunks.insert(second, at: place.chunk + 1)
                sizes.split(place.chunk, second: second.count)
            }
            sizes.sum()
        }
        var found: [(position: Int, index: Int)] = []
        for (number, entry) in entries.enumerated() {
            let place = try place(of: entry, isBehind: true)
            found.append((sizes.start(of: place.chunk) + place.index - 1, number))
        }
        // Of the same ones the last.
        found.sort { ($0.position, $0.index) < ($1.position, $1.index) }
        for index in found.indices.dropLast().reversed() where found[index].position >= found[index + 1].position {
            found[index].position = found[index + 1].position - 1
        }
        return found
    }

    /// That of a position that there is.
    func entry(at position: Int) -> Entry {
        let chunk = sizes.chunk(of: position), element = chunks[chunk][position - sizes.start(of: chunk)]
        return (element.key?.value ?? .null, element.value)
    }
}

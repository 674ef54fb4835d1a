/// The keys of a sorted answer, which knows the position of each and follows changes cheaply. It does not know the
/// values: whoever searches compares them. What was looked up of the first key of a chunk stays there: most searches
/// come by, and of a million objects each value takes a miss of the cache, or several.
///
/// ```
///  heads     3, "Bo"        7, –           8, "Rex"      values, as they were looked up
///  chunks    a b c …   │    k l m …   │    x y …         up to 1024 keys, as in `KeyRanks`
/// ```
/// A position costs some twenty comparisons, half of them of heads; 8 bytes a key.
package struct OrderedKeys {
    /// Where a key is, or belongs.
    package struct Place: Comparable {
        var chunk: Int
        var index: Int

        package static func < (a: Place, b: Place) -> Bool { (a.chunk, a.index) < (b.chunk, b.index) }
    }

    private static let capacity = 1024
    private var chunks: [[Int64]] = []
    private var sizes = ChunkSizes()
    private var heads = OrderHeads(count: 0)
    package var count: Int { sizes.count }

    /// Errors: `.outOfMemory`.
    package init(_ list: KeyBuffer) throws(StoreError) {
        try Memory.check(for: list.count, each: 8)
        var start = 0, counts: [Int] = []
        while start < list.count {
            let end = min(start + OrderedKeys.capacity / 2, list.count)
            chunks.append(Array(UnsafeBufferPointer(start: list.keys + start, count: end - start)))
            counts.append(end - start)
            start = end
        }
        heads = OrderHeads(count: chunks.count)
        sizes = ChunkSizes(counts)
    }

    /// Those at some positions, in their order.
    package func list(_ part: Range<Int> = 0..<Int.max) throws(StoreError) -> KeyBuffer {
        let part = part.clamped(to: 0..<count), list = try KeyBuffer(expecting: part.count)
        if part.isEmpty { return list }
        var chunk = sizes.chunk(of: part.lowerBound), start = sizes.start(of: chunk)
        while start < part.upperBound {
            for index in part.clamped(to: start..<start + sizes[chunk]) {
                try list.append(chunks[chunk][index - start])
            }
            start += sizes[chunk]
            chunk += 1
        }
        return list
    }

    /// At a position that there is.
    func key(at position: Int) -> Int64 {
        let chunk = sizes.chunk(of: position)
        return chunks[chunk][position - sizes.start(of: chunk)]
    }

    /// That of a position; of the number of keys: behind the last one.
    func place(at position: Int) -> Place {
        if position == count { return Place(chunk: max(0, chunks.count - 1), index: chunks.last?.count ?? 0) }
        let chunk = sizes.chunk(of: position)
        return Place(chunk: chunk, index: position - sizes.start(of: chunk))
    }

    /// At which of some positions a key is; ascending.
    func positions(of key: Int64, in part: Range<Int>) -> [Int] {
        var found: [Int] = []
        if part.isEmpty { return found }
        var chunk = sizes.chunk(of: part.lowerBound), start = sizes.start(of: chunk)
        while start < part.upperBound {
            for index in part.clamped(to: start..<start + sizes[chunk]) where chunks[chunk][index - start] == key {
                found.append(index)
            }
            start += sizes[chunk]
            chunk += 1
        }
        return found
    }

    /// Behind the last key that stands before some values: the first ones do, and no others.
    ///
    /// - Parameters:
    ///   - levels: of how many of the values; 0: of none, and nothing is looked up.
    ///   - values: all of a key's; they are kept, and have to be the same as long as the key is not taken out.
    ///   - isBefore: is given a key's values where they are known.
    package mutating func place(
        before probe: SortValues, levels: Int, values: (Int64) throws(StoreError) -> SortValues,
        isBefore: (Int64, SortValues?) throws(StoreError) -> Bool
    ) throws(StoreError) -> Place {
        var low = 0, high = chunks.count
        while low < high {
            let middle = (low + high) / 2
            if levels > 0 {
                try heads.learn(middle) { () throws(StoreError) in try values(chunks[middle][0]) }
            }
            let isLess: Bool
            if let known = heads.isBefore(middle, probe, levels) {
                isLess = known
            } else {
                isLess = try isBefore(chunks[middle][0], heads[middle])
            }
            if isLess { low = middle + 1 } else { high = middle }
        }
        guard low > 0 else { return Place(chunk: 0, index: 0) }
        let chunk = low - 1
        (low, high) = (1, chunks[chunk].count)
        while low < high {
            let middle = (low + high) / 2
            if try isBefore(chunks[chunk][middle], nil) { low = middle + 1 } else { high = middle }
        }
        return Place(chunk: chunk, index: low)
    }

    package func position(of place: Place) -> Int { sizes.start(of: place.chunk) + place.index }

    /// Nil: there is none; the place behind the last one of a chunk is the first one of the next.
    package func key(at place: Place) -> Int64? {
        guard place.chunk < chunks.count else { return nil }
        if place.index < chunks[place.chunk].count { return chunks[place.chunk][place.index] }
        return place.chunk + 1 < chunks.count ? chunks[place.chunk + 1][0] : nil
    }

    /// - Parameter places: of keys that are there, ascending.
    package mutating func remove(_ places: [Place]) {
        if places.isEmpty { return }
        for place in places.reversed() {
            let isNext = place.index == chunks[place.chunk].count, chunk = isNext ? place.chunk + 1 : place.chunk
            let index = isNext ? 0 : place.index
            chunks[chunk].remove(at: index)
            sizes.change(chunk, by: -1)
            if index == 0 { heads.forget(chunk) }
            if !chunks[chunk].isEmpty { continue }
            chunks.remove(at: chunk)
            heads.remove(chunk)
            sizes.remove(chunk)
        }
        sizes.sum()
    }

    /// - Parameter keys: ascending by where they belong; those of one place in their order.
    package mutating func insert(_ keys: [(key: Int64, place: Place)]) {
        if keys.isEmpty { return }
        if chunks.isEmpty { (chunks, heads) = ([[]], OrderHeads(count: 1)) }
        for (key, place) in keys.reversed() {
            // Those that came before may have split it.
            var (chunk, index) = (place.chunk, place.index)
            while index > chunks[chunk].count {
                index -= chunks[chunk].count
                chunk += 1
            }
            chunks[chunk].insert(key, at: index)
            sizes.change(chunk, by: 1)
            if index == 0 { heads.forget(chunk) }
            if chunks[chunk].count > OrderedKeys.capacity { split(chunk) }
        }
        sizes.sum()
    }

    private mutating func split(_ index: Int) {
        let chunk = chunks[index], half = chunk.count / 2
        chunks[index] = Array(chunk[..<half])
        chunks.insert(Array(chunk[half...]), at: index + 1)
        heads.insert(at: index + 1)
        sizes.split(index, second: chunk.count - half)
    }
}

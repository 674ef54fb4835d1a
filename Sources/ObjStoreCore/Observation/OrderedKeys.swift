/// The keys of a sorted answer, which knows the position of each and follows changes cheaply. It does not know the
/// values: whoever searches compares them.
///
/// Chunks of up to 1024 keys, as in `KeyRanks`: a position costs some twenty comparisons, 8 bytes a key.
package struct OrderedKeys {
    /// Where a key is, or belongs.
    package struct Place: Comparable {
        var chunk: Int
        var index: Int

        package static func < (a: Place, b: Place) -> Bool { (a.chunk, a.index) < (b.chunk, b.index) }
    }

    private static let capacity = 1024
    private var chunks: [[Int64]] = []
    /// Of each chunk how many there are, here: to look into all of them would take a miss of the cache each.
    private var sizes: [Int] = []
    /// And before it.
    private var starts: [Int] = []
    package private(set) var count = 0

    /// Errors: `.outOfMemory`.
    package init(_ list: KeyBuffer) throws(StoreError) {
        try Memory.check(for: list.count, each: 8)
        var start = 0
        while start < list.count {
            let end = min(start + OrderedKeys.capacity / 2, list.count)
            chunks.append(Array(UnsafeBufferPointer(start: list.keys + start, count: end - start)))
            sizes.append(end - start)
            start = end
        }
        sum()
    }

    /// Those at some positions, in their order.
    package func list(_ part: Range<Int> = 0..<Int.max) throws(StoreError) -> KeyBuffer {
        let part = part.clamped(to: 0..<count), list = try KeyBuffer(expecting: part.count)
        for chunk in chunks.indices
        where starts[chunk] < part.upperBound && starts[chunk] + sizes[chunk] > part.lowerBound {
            for index in part.clamped(to: starts[chunk]..<starts[chunk] + sizes[chunk]) {
                try list.append(chunks[chunk][index - starts[chunk]])
            }
        }
        return list
    }

    /// At a position that there is.
    func key(at position: Int) -> Int64 {
        var low = 0, high = starts.count
        while high - low > 1 {
            let middle = (low + high) / 2
            if starts[middle] <= position { low = middle } else { high = middle }
        }
        return chunks[low][position - starts[low]]
    }

    private mutating func sum() {
        starts.removeAll(keepingCapacity: true)
        count = 0
        for size in sizes {
            starts.append(count)
            count &+= size
        }
    }

    /// Behind the last key of which `isBefore` is true: it is of the first ones, and of no others.
    package func place(_ isBefore: (Int64) throws(StoreError) -> Bool) throws(StoreError) -> Place {
        var low = 0, high = chunks.count
        while low < high {
            let middle = (low + high) / 2
            if try isBefore(chunks[middle][0]) { low = middle + 1 } else { high = middle }
        }
        guard low > 0 else { return Place(chunk: 0, index: 0) }
        let chunk = low - 1
        (low, high) = (0, chunks[chunk].count)
        while low < high {
            let middle = (low + high) / 2
            if try isBefore(chunks[chunk][middle]) { low = middle + 1 } else { high = middle }
        }
        return Place(chunk: chunk, index: low)
    }

    package func position(of place: Place) -> Int { (chunks.isEmpty ? 0 : starts[place.chunk]) + place.index }

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
            chunks[chunk].remove(at: isNext ? 0 : place.index)
            sizes[chunk] -= 1
            if sizes[chunk] > 0 { continue }
            chunks.remove(at: chunk)
            sizes.remove(at: chunk)
        }
        sum()
    }

    /// - Parameter keys: ascending by where they belong; those of one place in their order.
    package mutating func insert(_ keys: [(key: Int64, place: Place)]) {
        if keys.isEmpty { return }
        if chunks.isEmpty { (chunks, sizes) = ([[]], [0]) }
        for (key, place) in keys.reversed() {
            // Those that came before may have split it.
            var (chunk, index) = (place.chunk, place.index)
            while index > sizes[chunk] {
                index -= sizes[chunk]
                chunk += 1
            }
            chunks[chunk].insert(key, at: index)
            sizes[chunk] += 1
            if sizes[chunk] > OrderedKeys.capacity { split(chunk) }
        }
        sum()
    }

    private mutating func split(_ index: Int) {
        let chunk = chunks[index], half = chunk.count / 2
        chunks[index] = Array(chunk[..<half])
        chunks.insert(Array(chunk[half...]), at: index + 1)
        sizes[index] = half
        sizes.insert(chunk.count - half, at: index + 1)
    }
}

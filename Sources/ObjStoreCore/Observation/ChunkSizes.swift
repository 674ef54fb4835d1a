/// How many elements each chunk of a long sequence has, and how many are before it: known without a look into the
/// chunks, which would take a miss of the cache each.
///
/// ```
///  chunks   a b c d │ e f │ g h i          sizes 4 2 3     starts 0 4 6
/// ```
/// Of a single chunk there is nothing to sum up, and no memory for it: there may be very many such sequences.
struct ChunkSizes {
    /// Of all chunks together, also while `starts` is behind.
    private(set) var count = 0
    /// Empty: there is one chunk, or none.
    private var sizes: [Int] = []
    private var starts: [Int] = []
    /// From this chunk on the starts have to be summed again.
    private var stale = 0

    init() {}

    init(_ sizes: [Int]) {
        count = sizes.reduce(0, +)
        if sizes.count < 2 { return }
        self.sizes = sizes
        starts = sizes
        sum()
    }

    subscript(chunk: Int) -> Int { sizes.isEmpty ? count : sizes[chunk] }

    func start(of chunk: Int) -> Int { starts.isEmpty ? 0 : starts[chunk] }

    /// In which chunk a position is.
    func chunk(of position: Int) -> Int {
        var low = 0, high = starts.count
        while high - low > 1 {
            let middle = (low + high) / 2
            if starts[middle] <= position { low = middle } else { high = middle }
        }
        return low
    }

    // MARK: Changes, after the last of which `sum` is called

    mutating func change(_ chunk: Int, by step: Int) {
        count += step
        if sizes.isEmpty { return }
        sizes[chunk] += step
        stale = min(stale, chunk)
    }

    /// A chunk is split: the second half goes into a new one behind it.
    mutating func split(_ chunk: Int, second: Int) {
        if sizes.isEmpty { (sizes, starts) = ([count], [0]) }
        sizes[chunk] -= second
        sizes.insert(second, at: chunk + 1)
        starts.append(0)
        stale = min(stale, chunk)
    }

    /// A chunk that has become empty goes.
    mutating func remove(_ chunk: Int) {
        if sizes.isEmpty { return }
        sizes.remove(at: chunk)
        starts.removeLast()
        stale = min(stale, chunk)
        if sizes.count < 2 { (sizes, starts) = ([], []) }
    }

    mutating func sum() {
        let count = sizes.count, first = stale
        stale = .max
        if first >= count { return }
        sizes.withUnsafeBufferPointer { sizes in
            starts.withUnsafeMutableBufferPointer { starts in
                var before = first == 0 ? 0 : starts[first - 1] &+ sizes[first - 1]
                for chunk in first..<count {
                    starts[chunk] = before
                    before &+= sizes[chunk]
                }
            }
        }
    }
}

/// How many elements each chunk of a long sequence has, and how many are before it: known without a look into the
/// chunks, which would take a miss of the cache each.
///
/// ```
///  chunks   a b c d │ e f │ g h i │ …          sizes    4 2 3 …
///  64 of them are a group                      groups   170 …       and how many are before each
/// ```
/// Of a single chunk there is nothing to sum up, and no memory for it: there may be very many such sequences.
struct ChunkSizes {
    /// Of all chunks together.
    private(set) var count = 0
    /// Empty: there is one chunk, or none.
    private var sizes: [Int] = []
    private var groups: [(count: Int, start: Int)] = []
    /// From this group on the starts have to be summed again.
    private var stale = 0

    private static let shift = 6

    init() {}

    init(_ sizes: [Int]) {
        count = sizes.reduce(0, +)
        if sizes.count < 2 { return }
        self.sizes = sizes
        group(from: 0)
        sum()
    }

    subscript(chunk: Int) -> Int { sizes.isEmpty ? count : sizes[chunk] }

    func start(of chunk: Int) -> Int {
        if sizes.isEmpty { return 0 }
        let group = chunk >> ChunkSizes.shift
        return sizes[group << ChunkSizes.shift..<chunk].reduce(groups[group].start, &+)
    }

    /// In which chunk a position is.
    func chunk(of position: Int) -> Int {
        if sizes.isEmpty { return 0 }
        var low = 0, high = groups.count
        while high - low > 1 {
            let middle = (low + high) / 2
            if groups[middle].start <= position { low = middle } else { high = middle }
        }
        var chunk = low << ChunkSizes.shift, end = groups[low].start + sizes[chunk]
        while end <= position {
            chunk += 1
            end += sizes[chunk]
        }
        return chunk
    }

    // MARK: Changes, after the last of which `sum` is called

    mutating func change(_ chunk: Int, by step: Int) {
        count += step
        if sizes.isEmpty { return }
        let group = chunk >> ChunkSizes.shift
        sizes[chunk] += step
        groups[group].count += step
        stale = min(stale, group)
    }

    /// A chunk is split: the second half goes into a new one behind it.
    mutating func split(_ chunk: Int, second: Int) {
        if sizes.isEmpty { sizes = [count] }
        sizes[chunk] -= second
        sizes.insert(second, at: chunk + 1)
        group(from: chunk >> ChunkSizes.shift)
    }

    /// A chunk that has become empty goes.
    mutating func remove(_ chunk: Int) {
        if sizes.isEmpty { return }
        sizes.remove(at: chunk)
        if sizes.count < 2 { sizes = [] }
        group(from: chunk >> ChunkSizes.shift)
    }

    private mutating func group(from first: Int) {
        groups.removeSubrange(min(first, groups.count)...)
        for start in stride(from: first << ChunkSizes.shift, to: sizes.count, by: 1 << ChunkSizes.shift) {
            let end = min(start + 1 << ChunkSizes.shift, sizes.count)
            groups.append((sizes[start..<end].reduce(0, &+), 0))
        }
        stale = min(stale, first)
    }

    mutating func sum() {
        var start = stale == 0 ? 0 : stale < groups.count ? groups[stale - 1].start + groups[stale - 1].count : 0
        for group in min(stale, groups.count)..<groups.count {
            groups[group].start = start
            start += groups[group].count
        }
        stale = .max
    }
}

/// How groups are found that are going to be followed.
struct GroupFollowing: Sendable {
    enum Sums: Sendable {
        /// As long as nothing is rounded on the way: see `ExactSum`.
        case exactly
        /// By their values, which are kept.
        case byValues
    }

    /// Of doubles.
    let sums: Sums
    /// Also the values behind the least or greatest one: see `BestValues`.
    let keepsBest: Bool
}

/// A sum of doubles that is rounded on the way, with its values in the order in which they are added up: that of the
/// keys of their objects. 16 bytes for each.
///
/// ```
///  chunks   a b c … │ k l m … │ x y z     up to 1024 numbers
///  sums     7.1       12.3      20.4      of all up to the end of a chunk: after a change of l those from there on are
///                                         added up again, and what comes behind z is added to 20.4
/// ```
package struct KeptNumbers {
    private struct Chunk {
        var numbers: [(key: Int64, number: Double)] = []
        /// Of all numbers up to its end.
        var sum = 0.0
    }

    private var chunks: [Chunk] = []
    /// From this chunk on sums have to be added up again.
    private var stale = Int.max
    private static let capacity = 1024

    /// So many are kept at most.
    static let most = 1 << 24

    package init() {}

    /// After `settle`.
    package var sum: Double { chunks.last?.sum ?? 0 }

    /// Of an object behind all others.
    package mutating func append(_ number: Double, of key: Int64) {
        if chunks.last.map({ $0.numbers.count == KeptNumbers.capacity }) ?? true {
            chunks.append(Chunk(sum: sum))
        }
        chunks[chunks.count - 1].numbers.append((key, number))
        chunks[chunks.count - 1].sum += number
    }

    /// Where the number of an object is, or belongs.
    private func place(of key: Int64) -> (chunk: Int, index: Int) {
        var low = 0, high = chunks.count
        while low < high {
            let middle = (low + high) / 2
            if let first = chunks[middle].numbers.first, first.key <= key { low = middle + 1 } else { high = middle }
        }
        let chunk = max(0, low - 1)
        if chunks.isEmpty { return (0, 0) }
        (low, high) = (0, chunks[chunk].numbers.count)
        while low < high {
            let middle = (low + high) / 2
            if chunks[chunk].numbers[middle].key < key { low = middle + 1 } else { high = middle }
        }
        return (chunk, low)
    }

    /// - Parameters:
    ///   - old: nil: it has none. The sum is right after `settle`.
    package mutating func replace(_ old: Double?, _ new: Double?, of key: Int64) {
        if old == nil && new == nil { return }
        let (chunk, index) = place(of: key)
        switch (old, new) {
        case (nil, let new?):
            let isLast = chunk >= chunks.count - 1 && index == (chunks.last?.numbers.count ?? 0)
            if isLast && stale == .max { return append(new, of: key) }
            if chunks.isEmpty { chunks.append(Chunk()) }
            chunks[chunk].numbers.insert((key, new), at: index)
            if chunks[chunk].numbers.count > KeptNumbers.capacity { split(chunk) }
        case (_?, let new?): chunks[chunk].numbers[index].number = new
        case (_, nil):
            chunks[chunk].numbers.remove(at: index)
            if chunks[chunk].numbers.isEmpty { chunks.remove(at: chunk) }
        }
        stale = min(stale, chunk)
    }

    private mutating func split(_ chunk: Int) {
        let half = chunks[chunk].numbers.count / 2
        chunks.insert(Chunk(numbers: Array(chunks[chunk].numbers[half...])), at: chunk + 1)
        chunks[chunk].numbers.removeSubrange(half...)
    }

    package mutating func settle() {
        guard stale < .max, !InjectedBug.active(.sumStale) else { return }
        var sum = stale == 0 ? 0 : chunks[stale - 1].sum
        for chunk in min(stale, chunks.count)..<chunks.count {
            chunks[chunk].numbers.withUnsafeBufferPointer { for pair in $0 { sum += pair.number } }
            chunks[chunk].sum = sum
        }
        stale = .max
    }
}

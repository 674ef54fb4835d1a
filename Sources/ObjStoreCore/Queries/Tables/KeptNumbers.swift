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
struct KeptNumbers {
    private var numbers: [(key: Int64, number: Double)] = []
    private(set) var sum = 0.0
    /// It has to be added up again.
    private var isStale = false

    /// One group has all values: asking anew is about as fast.
    static let leastGroups = 2
    /// So many are kept at most.
    static let most = 1 << 24

    /// Of an object behind all others.
    mutating func append(_ number: Double, of key: Int64) {
        numbers.append((key, number))
        sum += number
    }

    private func place(of key: Int64) -> Int {
        if let last = numbers.last, last.key < key { return numbers.count }
        var low = 0, high = numbers.count
        while low < high {
            let middle = (low + high) / 2
            if numbers[middle].key < key { low = middle + 1 } else { high = middle }
        }
        return low
    }

    /// - Parameters:
    ///   - old: nil: it has none. The sum is right after `settle`.
    mutating func replace(_ old: Double?, _ new: Double?, of key: Int64) {
        let place = place(of: key)
        switch (old, new) {
        case (nil, nil): return
        case (nil, let new?):
            if place == numbers.count && !isStale { return append(new, of: key) }
            numbers.insert((key, new), at: place)
        case (_?, nil): numbers.remove(at: place)
        case (_?, let new?): numbers[place].number = new
        }
        isStale = true
    }

    mutating func settle() {
        guard isStale, !InjectedBug.active(.sumStale) else { return }
        isStale = false
        sum = 0
        numbers.withUnsafeBufferPointer { for pair in $0 { sum += pair.number } }
    }
}

/// The objects of a class that have lost something, as runs of keys with the reason; shrinks where the log has newer
/// news.
struct LostKeys {
    /// Every object of the base version with a key in the range, without those that were taken out later.
    struct Run {
        var keys: Range<Int64>
        var count: Int
        var reason: String
    }

    private(set) var runs: [Run] = []
    private(set) var count = 0
    var isEmpty: Bool { count == 0 }
    private var removed: Set<Int64> = []
    /// No object that has lost nothing lies between the last run and the next key.
    private var isOpen = false

    /// A greater key than all before.
    mutating func append(_ key: Int64, _ reason: String) {
        count += 1
        if isOpen, let last = runs.indices.last, runs[last].reason == reason {
            runs[last].keys = runs[last].keys.lowerBound..<key + 1
            runs[last].count += 1
        } else {
            runs.append(Run(keys: key..<key + 1, count: 1, reason: reason))
        }
        isOpen = true
    }

    /// The next object has lost nothing.
    mutating func interrupt() { isOpen = false }

    /// Whether that object has lost something that the log had no news of.
    func contains(_ key: Int64) -> Bool { !removed.contains(key) && runs.contains { $0.keys.contains(key) } }

    /// Takes out an object of the base version: it is gone, or has a new value.
    mutating func remove(_ key: Int64) {
        var low = 0, high = runs.count
        while low < high {
            let middle = (low + high) / 2
            if runs[middle].keys.upperBound <= key { low = middle + 1 } else { high = middle }
        }
        guard low < runs.count, runs[low].keys.contains(key), removed.insert(key).inserted else { return }
        isOpen = false
        runs[low].count -= 1
        count -= 1
    }
}

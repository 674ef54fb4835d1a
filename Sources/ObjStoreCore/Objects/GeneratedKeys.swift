/// Which int primary keys a class has had: the next that is generated is above them.
///
/// Users may give any int as a key. What is kept for ever would be used up by one of `Int64.max`; so keys beyond `greatestKept`
/// count only as long as their object is there (the index knows it), or their transaction goes on.
struct GeneratedKeys {
    static let greatestKept: Int64 = 1 << 61

    /// Stored with the class; at most `greatestKept`.
    private(set) var kept: Int64 = 0
    /// Of the transaction: not less than `kept`.
    private(set) var greatest: Int64 = 0

    init() {}

    /// - Parameter kept: as a file has it, which may say anything.
    init(kept: Int64) { if (0...GeneratedKeys.greatestKept).contains(kept) { (self.kept, greatest) = (kept, kept) } }

    mutating func didGive(_ key: Int64) {
        if key <= kept { return }
        greatest = max(greatest, key)
        if key <= GeneratedKeys.greatestKept { kept = key }
    }

    mutating func didGive(_ key: Value) { if key.kind == .int { didGive(key.low) } }
}

/// Which int primary keys a class has had: the next that is generated is above them.
///
/// Users may give any int as a key. A permanent maximum would be used up by a single key of `Int64.max`; so keys beyond
/// `greatestKept` count only as long as their object is there: the index knows it.
struct GeneratedKeys {
    static let greatestKept: Int64 = 1 << 61

    /// Stored with the class; at most `greatestKept`.
    private(set) var kept: Int64 = 0
    /// What was generated in the transaction, also for objects that are not there yet; not less than `kept`.
    private(set) var greatest: Int64 = 0

    init() {}

    /// - Parameter kept: as a file has it, which may say anything.
    init(kept: Int64) { if (0...GeneratedKeys.greatestKept).contains(kept) { (self.kept, greatest) = (kept, kept) } }

    mutating func didGenerate(_ key: Int64) {
        greatest = max(greatest, key)
        didGive(key)
    }

    mutating func didGive(_ key: Int64) {
        if key <= kept || key > GeneratedKeys.greatestKept { return }
        kept = key
        greatest = max(greatest, key)
    }

    mutating func didGive(_ key: Value) { if key.kind == .int { didGive(key.low) } }
}

/// The new store that a salvage fills: objects with their keys, in transactions of bounded size.
final class SalvageTarget {
    private let database: Database
    private(set) var transaction: WriteTransaction
    private var changes = 0

    /// Changes in a transaction; its memory is bounded by that and by `bytes`.
    private static let changes = 200_000
    private static let bytes = 128 << 20

    init(_ database: Database, _ schema: Schema) throws(StoreError) {
        self.database = database
        transaction = try WriteTransaction.begin(database)
        try transaction.setSchema(schema)
    }

    var schema: Schema { transaction.schema }

    func state(_ cls: Int) throws(StoreError) -> ClassState { try transaction.state(cls) }

    /// Leaves out embedded objects, which no other has, with what is embedded in them. Returns how many of each class.
    func leaveOut(_ cls: Int, _ keys: [Int64]) throws(StoreError) -> [Int: Int] {
        let counts = try transaction.leaveOut(cls, keys)
        if !keys.isEmpty { try next() }
        return counts
    }

    /// After each change; true where what was changed so far was written.
    @discardableResult
    func didChange() throws(StoreError) -> Bool {
        changes += 1
        guard
            changes % SalvageTarget.changes == 0
                || (changes & 0xff == 0 && transaction.space.arena.capacityInUse > SalvageTarget.bytes)
        else { return false }
        try next()
        return true
    }

    func setSchema(_ schema: Schema) throws(StoreError) {
        if transaction.hasOpenClasses { try next() }
        try transaction.setSchema(schema)
    }

    private func next() throws(StoreError) {
        try end()
        transaction = try WriteTransaction.begin(database)
    }

    /// Nothing of it is logged: the close makes everything durable at once.
    func end() throws(StoreError) {
        transaction.forceSummary()
        try transaction.commit(StoreOptions.Durability.none)
    }
}

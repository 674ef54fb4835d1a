/// Changing the schema of a store that has objects, with a callback of the application in between.
///
/// ```
///  the file's schema ──► interim ── callback ──► the program's
///                          │                       what became required has no null any more, keys are unique,
///                          │                       indexes and keys are built from what there is now
///                          └ what was there stays as loose as it was, nothing else has changed its values yet
/// ```
/// Both steps are members of one group: they survive as a whole or not at all.
extension Store {
    /// `transaction` becomes the one that is to be committed, or cancelled.
    func migrate(
        _ transaction: inout WriteTransaction, to schema: Schema,
        _ body: (View, View, UInt64, UInt64) throws(StoreError) -> Void
    ) throws(StoreError) {
        let file = transaction.schema, interim = schema.interim(from: file)
        let old = try register(View(store: self, snapshot: Snapshot(transaction), kind: .frozen))
        defer { old.close(waitsForReaders: true) }
        try transaction.change(to: interim ?? schema)
        try lend(transaction) { (view) throws(StoreError) in try body(view, old, file.version, schema.version) }
        for (number, cls) in transaction.schema.classes.enumerated() where cls.hasLooseKey {
            try transaction.state(number).checkKeys()
        }
        guard interim != nil else { return }
        transaction = try transaction.seal()
        try transaction.change(to: schema)
    }
}

/// What a migration does beside creating, changing and deleting objects.
extension View {
    /// Gives a property of each object that both views have the value that another one has in `old`: how a property of
    /// the same kind gets another name by a callback. Returns how many there were.
    ///
    /// `.wrongType`: the two are of other kinds. `.notNullable`: some value is null, the property cannot be. O(n);
    /// values are written.
    package func copyProperty(_ propertyID: UInt32, from old: View, _ oldPropertyID: UInt32) throws(StoreError) -> Int {
        guard let writer else { throw notInWrite }
        guard old.shared === shared else { throw StoreError(.wrongStore, "it is a view of another store") }
        let source = try old.pinnedSnapshot("the old view")
        lock.lock()
        defer { lock.unlock() }
        _ = try writing()
        defer { tellMoves(of: writer) }
        return try writer.copyProperty(propertyID, from: source, oldPropertyID)
    }
}

/// Changes of all objects of results, or of a collection's, in one call: all or nothing, without a call for each.
///
/// Results are taken as they are, in whatever view they were found. An object of them that was deleted since is
/// `.noSuchObject`, like in any other call, and nothing happens.
extension View {
    // MARK: Results

    /// Writes the same values to all objects; returns how many there are.
    ///
    /// `.keyImmutable` for a primary key, but where the one object has it; `.duplicateKey` where two would have a
    /// unique value.
    package func set(
        _ results: Results, _ properties: UnsafeBufferPointer<UInt32>, _ values: UnsafePointer<Value>
    ) throws(StoreError) -> Int {
        try writeAll(results) { (writer, state, keys) throws(StoreError) in
            try writer.set(state, keys, properties, values)
        }
    }

    /// Adds to an int, float or double of all objects, but where it is null; returns how many were not.
    package func increment(_ results: Results, _ propertyID: UInt32, _ delta: Value) throws(StoreError) -> Int {
        try writeAll(results) { (writer, state, keys) throws(StoreError) in
            try writer.increment(state, keys, propertyID, delta)
        }
    }

    /// Deletes all objects; returns how many there were.
    package func delete(_ results: Results) throws(StoreError) -> Int {
        try writeAll(results) { (writer, state, keys) throws(StoreError) in try writer.delete(state, keys) }
    }

    /// Deletes objects of any classes, all or none; what goes with one of them may be one of them. `.noSuchObject`: one
    /// is not there, or is given twice.
    package func delete(_ objects: [ObjectID]) throws(StoreError) {
        try writeAll { (writer) throws(StoreError) in try writer.delete(objects) }
    }

    /// What a query finds in this transaction: for the three above.
    ///
    /// Errors: `.notInWrite`, and those of `find`.
    package func findToChange(_ query: Query) throws(StoreError) -> Results {
        try checkIsTransaction()
        return try find(query)
    }

    // MARK: Links of a collection

    /// Writes the same values to every object that a list, set or map has links to; returns how many there are.
    package func setObjects(
        of id: CollectionID, _ properties: UnsafeBufferPointer<UInt32>, _ values: UnsafePointer<Value>
    ) throws(StoreError) -> Int {
        try writeAll(id) { (writer, state, keys) throws(StoreError) in
            try writer.set(state, keys, properties, values)
        }
    }

    /// Deletes every object that a list, set or map has links to: its elements go, in a map they become null. Returns
    /// how many there were.
    package func deleteObjects(of id: CollectionID) throws(StoreError) -> Int {
        try writeAll(id) { (writer, state, keys) throws(StoreError) in try writer.delete(state, keys) }
    }

    // MARK: Rows of columns, everything

    /// Inserts rows of columns, like one call of `create` or `upsert` for each in order, all or none.
    ///
    /// Everything is checked before the first change. Errors name the row in `position`.
    package func insert(
        _ classID: UInt32, _ policy: UpsertPolicy, _ columns: UnsafeBufferPointer<InputColumn>, rows: Int,
        keys: UnsafeMutablePointer<Int64>?
    ) throws(StoreError) -> InsertCounts {
        try write(classID) { (writer, state) throws(StoreError) in
            try writer.insert(state, policy, columns, rows: rows, keys: keys)
        }
    }

    /// Deletes all objects of all classes; returns how many there were. The schema stays.
    package func deleteEverything() throws(StoreError) -> Int {
        try writeAll { (writer) throws(StoreError) in try writer.deleteEverything() }
    }

    // MARK: Inside

    /// The list of results of this store, found in whatever view.
    func list(of results: Results) throws(StoreError) -> KeyBuffer {
        guard results.view.shared.tag == shared.tag else {
            throw StoreError(.wrongStore, "the results are of another store")
        }
        return results.list()
    }

    private func writeAll(
        _ results: Results, _ body: (ObjectWriter, ClassState, KeyBuffer) throws(StoreError) -> Int
    ) throws(StoreError) -> Int {
        let keys = try list(of: results)
        return try write(results.classID) { (writer, state) throws(StoreError) in
            try body(writer, state, try keys.ascending())
        }
    }

    private func writeAll(
        _ id: CollectionID, _ body: (ObjectWriter, ClassState, KeyBuffer) throws(StoreError) -> Int
    ) throws(StoreError) -> Int {
        try write(id.owner) { (writer, owner) throws(StoreError) in
            let (state, keys) = try writer.targets(owner, id.owner.key, id.propertyID)
            return try body(writer, state, keys)
        }
    }
}

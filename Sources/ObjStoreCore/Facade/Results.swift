/// The objects that a query found, with the query: the list does not change until it is updated, whatever is written.
///
/// Its objects may have been deleted since. Any thread.
package final class Results: @unchecked Sendable {
    package let view: View
    package let query: Query
    private let lock = Lock()
    /// In the order of the query; replaced as a whole, never changed.
    private var keys = KeyBuffer()
    /// The view that the list was found in.
    private var version: UInt64 = 0

    init(_ view: View, _ query: Query) {
        self.view = view
        self.query = query
    }

    package var classID: UInt32 { query.classID }
    package var storeTag: UInt32 { view.shared.tag }

    /// Runs the query again in the view as it is now; returns whether the list changed.
    package func update() throws(StoreError) -> Bool {
        func find(_ trees: TreeAccess) throws(StoreError) -> (KeyBuffer, UInt64) {
            (try QueryRun(query, trees).keys(), trees.version)
        }
        let (new, version) = try view.asking(query.classID, query.callsFunctions, find)
        return lock.withLock {
            // Another call has come before with what is newer.
            if version < self.version { return false }
            self.version = version
            let isSame = new.count == keys.count && (0..<new.count).allSatisfy { new.keys[$0] == keys.keys[$0] }
            if !isSame { keys = new }
            return !isSame
        }
    }

    /// The list as it is now; later updates do not change it.
    package func list() -> KeyBuffer { lock.withLock { keys } }
    func listAndVersion() -> (KeyBuffer, UInt64) { lock.withLock { (keys, version) } }

    package var count: Int { list().count }

    package func object(at index: UInt64) throws(StoreError) -> ObjectID {
        let list = list()
        guard index < UInt64(list.count) else {
            throw StoreError(.outOfRange, "index \(index) of \(list.count.counted("result"))")
        }
        return object(list.keys[Int(index)])
    }

    /// The first place of an object; nil: it is none of them. O(n), at memory speed. Errors: `.wrongStore`.
    package func find(_ object: ObjectID) throws(StoreError) -> Int? {
        guard object.storeTag == view.shared.tag else {
            throw StoreError(.wrongStore, "the object is of another store")
        }
        return object.classID == classID ? list().firstIndex(of: object.key) : nil
    }

    /// Fills up to `capacity` objects from `start` on; returns how many.
    package func objects(
        from start: UInt64, into objects: UnsafeMutablePointer<ObjectID>?, capacity: Int
    ) throws(StoreError) -> Int {
        let list = list()
        let count = try range(start, capacity, list)
        if let objects { for index in 0..<count { objects[index] = object(list.keys[Int(start) + index]) } }
        return count
    }

    /// How many there are from `start` on, at most `limit`.
    func range(_ start: UInt64, _ limit: Int, _ list: KeyBuffer) throws(StoreError) -> Int {
        guard start <= UInt64(list.count) else {
            throw StoreError(.outOfRange, "start \(start) of \(list.count.counted("result"))")
        }
        return min(limit, list.count - Int(start))
    }

    /// Reads up to `limit` rows from `start` on, with the values of the view as it is now, into the layout of
    /// `objstore_packed`.
    package func read(
        from start: UInt64, limit: Int, _ properties: UnsafeBufferPointer<UInt32>,
        into buffer: UnsafeMutablePointer<OutputBuffer>
    ) throws(StoreError) {
        let list = list(), rows = try range(start, limit, list)
        defer { withExtendedLifetime(list) {} }
        try view.serialised { () throws(StoreError) in
            let trees = try view.trees
            try PackedRows.read(
                UnsafeBufferPointer(start: list.keys + Int(start), count: rows), try trees.schema.cls(classID),
                properties, trees, into: buffer)
        }
    }

    func object(_ key: Int64) -> ObjectID { ObjectID(classID: classID, storeTag: view.shared.tag, key: key) }
}

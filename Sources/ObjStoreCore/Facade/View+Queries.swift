/// Queries: what `Queries/` finds in the trees that the view shows.
extension View {
    private func run<T>(
        _ query: Query, _ body: (QueryRun) throws(StoreError) -> T
    ) throws(StoreError) -> T {
        if _slowPath(query.callsFunctions || isWatched) {
            return try calling(query.classID) { (trees) throws(StoreError) in try body(try QueryRun(query, trees)) }
        }
        return try serialised { () throws(StoreError) in try body(try QueryRun(query, try trees)) }
    }

    package func count(_ query: Query) throws(StoreError) -> Int {
        try run(query) { (run) throws(StoreError) in try run.count() }
    }

    /// The first in the order of the query.
    package func first(_ query: Query) throws(StoreError) -> ObjectID? {
        try run(query) { (run) throws(StoreError) in try run.first() }.map { object(query.classID, $0) }
    }

    /// All, in the order of the query.
    package func find(_ query: Query) throws(StoreError) -> Results {
        let results = Results(self, query)
        _ = try results.update()
        return results
    }

    /// How the query finds its objects here; with `runs` it is asked, and what came of it is told.
    package func explain(_ query: Query, runs: Bool) throws(StoreError) -> QueryPlan {
        let machine = store.shared.database.machine
        let names = try serialised { () throws(StoreError) in QueryNames(try schema, store.names) }
        return try run(query) { (run) throws(StoreError) in
            try run.plan(names, runs ? { machine.monotonic() } : nil)
        }
    }

    /// Over all objects that the query finds; nulls are skipped. Of nothing the sum is 0, the others are null.
    package func aggregate(
        _ query: Query, _ propertyID: UInt32, _ aggregate: AggregateKind
    ) throws(StoreError) -> Value {
        try run(query) { (run) throws(StoreError) in try run.aggregate(propertyID, aggregate) }
    }

    package func count(_ classID: UInt32) throws(StoreError) -> Int { try count(Query(all: classID)) }

    /// The object that has these values, one for each property of a unique index. None has null: null belongs to no
    /// object, except for a primary key of one property.
    package func find(by indexID: UInt32, _ values: UnsafeBufferPointer<Value>) throws(StoreError) -> ObjectID? {
        try serialised { () throws(StoreError) in
            let trees = try trees, (cls, position) = try trees.schema.index(indexID)
            return try trees.find(cls, at: position, values).map { object(cls.classID, $0) }
        }
    }

    /// The question for a part of an index.
    package func query(in stretch: IndexStretch) throws(StoreError) -> Query {
        try serialised { () throws(StoreError) in
            let trees = try trees
            let (cls, position) = try trees.check(stretch)
            let ordered = stretch.ordered(cls, cls.indexes[position])
            return Query(cls.classID, storeTag: trees.storeTag, of: .stretch(ordered))
        }
    }

    /// What the query of results finds here: in another view of the store.
    ///
    /// Errors: `.wrongStore`, `.noSuchClass` (the version is older than the class).
    package func find(as results: Results) throws(StoreError) -> Results {
        guard results.view.shared === shared else {
            throw StoreError(.wrongStore, "the results are of another store")
        }
        return try find(results.query)
    }

    /// The question for what a list, set or map has links to: in its order, an object as often as it is there, null
    /// aside. Where its owner is not there any more it finds nothing.
    ///
    /// Errors: `.noSuchObject`; `.wrongType`: its elements are no objects of one class.
    package func query(of id: CollectionID) throws(StoreError) -> Query {
        try serialised { () throws(StoreError) in
            let trees = try trees, cls = try classOf(id.owner, trees.schema)
            let position = try cls.collectionOfLinks(id.propertyID)
            _ = try trees.elements(of: id.owner.key, cls, position)
            let target = cls.columns[position].target
            return Query(target, storeTag: trees.storeTag, of: .collection(id))
        }
    }

    // MARK: Links backwards

    /// The objects whose property `propertyID` links to `object`, in the order of creation.
    package func incoming(_ object: ObjectID, _ propertyID: UInt32) throws(StoreError) -> Results {
        try find(try query(incoming: object, propertyID))
    }

    /// The same, as a query.
    package func query(incoming object: ObjectID, _ propertyID: UInt32) throws(StoreError) -> Query {
        let (cls, tag) = try serialised { () throws(StoreError) in
            let trees = try trees
            return (
                try trees.origin(of: propertyID, to: object.key, try classOf(object, trees.schema)), trees.storeTag
            )
        }
        let test = try ColumnTest(propertyID, .equal, .link(object), isInside: true)
        return Query(cls.classID, storeTag: tag, Predicate(test))
    }

    /// How many objects link to `object` by that property, an owner of a collection once. O(log n).
    package func incomingCount(_ object: ObjectID, _ propertyID: UInt32) throws(StoreError) -> Int {
        try serialised { () throws(StoreError) in
            let trees = try trees
            let cls = try trees.origin(of: propertyID, to: object.key, try classOf(object, trees.schema))
            let query = try Query(cls.classID, propertyID, .equal, .link(object), isInside: true)
            return try QueryRun(query, trees).count()
        }
    }

    // MARK: Columns

    /// Reads values of fixed size, laid out as `ValueCell` says, in the order of object keys from behind `position` on.
    ///
    /// Returns how many rows there were; `position` becomes the key of the last.
    package func readColumn(
        _ classID: UInt32, _ propertyID: UInt32, capacity: Int, position: inout Int64, values: UnsafeMutableRawPointer?,
        validity: UnsafeMutablePointer<UInt8>?, keys: UnsafeMutablePointer<Int64>?
    ) throws(StoreError) -> Int {
        try serialised { () throws(StoreError) in
            let trees = try trees
            return try trees.readColumn(
                try trees.schema.cls(classID), propertyID, capacity: capacity, position: &position, values: values,
                validity: validity,
                keys: keys)
        }
    }

    /// The same for text and binaries: bytes into `buffer`, `count + 1` offsets.
    package func readTextColumn(
        _ classID: UInt32, _ propertyID: UInt32, capacity: Int, position: inout Int64,
        buffer: UnsafeMutablePointer<OutputBuffer>,
        offsets: UnsafeMutablePointer<Int64>, validity: UnsafeMutablePointer<UInt8>?, keys: UnsafeMutablePointer<Int64>?
    ) throws(StoreError) -> Int {
        try serialised { () throws(StoreError) in
            let trees = try trees
            return try trees.readTextColumn(
                try trees.schema.cls(classID), propertyID, capacity: capacity, position: &position, buffer: buffer,
                offsets: offsets,
                validity: validity, keys: keys)
        }
    }
}

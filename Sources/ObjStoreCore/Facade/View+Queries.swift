/// Queries: what `Queries/` finds in the trees that the view shows.
extension View {
    /// What a class's objects are looked up in. Serialised.
    private func query<T>(
        _ classID: UInt32, _ body: (TreeAccess, ClassSchema) throws(StoreError) -> T
    ) throws(StoreError) -> T {
        try serialised { () throws(StoreError) in
            let trees = try trees
            return try body(trees, try trees.schema.cls(classID))
        }
    }

    private func found(_ results: Results) throws(StoreError) -> Results {
        _ = try results.update()
        return results
    }

    // MARK: All objects

    package func count(_ classID: UInt32) throws(StoreError) -> Int {
        try query(classID) { (trees, cls) throws(StoreError) in try trees.objectCount(cls) }
    }

    package func findAll(_ classID: UInt32) throws(StoreError) -> Results { try found(Results(self, classID, nil)) }

    /// The first of all objects in the order of creation.
    package func first(_ classID: UInt32) throws(StoreError) -> ObjectID? {
        try query(classID) { (trees, cls) throws(StoreError) in try trees.objects(cls).seek(0) }
            .map { object(classID, $0.key) }
    }

    // MARK: A condition

    package func count(_ classID: UInt32, where condition: Condition) throws(StoreError) -> Int {
        try query(classID) { (trees, cls) throws(StoreError) in try trees.count(cls, where: condition) }
    }

    /// The first in the order of creation.
    package func first(_ classID: UInt32, where condition: Condition) throws(StoreError) -> ObjectID? {
        try query(classID) { (trees, cls) throws(StoreError) in try trees.first(cls, where: condition) }
            .map { object(classID, $0) }
    }

    /// All, in the order of creation.
    package func find(_ classID: UInt32, where condition: Condition) throws(StoreError) -> Results {
        // What else is wrong with it is said when it is evaluated.
        let isInside =
            condition.isInside
            ? try query(classID) { (trees, cls) throws(StoreError) in try trees.isInside(cls, condition) } : false
        return try found(Results(self, classID, OwnedCondition(condition, isInside: isInside)))
    }

    /// Over all objects of a class, or those that satisfy a condition; nulls are skipped. Of nothing the sum is 0, the
    /// others are null.
    ///
    /// Cost: a scan of the column; with a condition, that of finding the objects and reading one value of each.
    package func aggregate(
        _ classID: UInt32, _ propertyID: UInt32, _ aggregate: AggregateKind, where condition: Condition? = nil
    ) throws(StoreError) -> Value {
        try query(classID) { (trees, cls) throws(StoreError) in
            try trees.aggregate(cls, propertyID, aggregate, where: condition)
        }
    }

    // MARK: An index

    /// The object that has these values, one for each property of a unique index. None has null: null belongs to no
    /// object, except for a primary key of one property.
    package func find(by indexID: UInt32, _ values: UnsafeBufferPointer<Value>) throws(StoreError) -> ObjectID? {
        try serialised { () throws(StoreError) in
            let trees = try trees, (cls, position) = try trees.schema.index(indexID)
            return try trees.find(cls, at: position, values).map { object(cls.classID, $0) }
        }
    }

    /// O(log n).
    package func count(in question: IndexQuestion) throws(StoreError) -> Int {
        try serialised { () throws(StoreError) in try trees.count(in: question) }
    }

    /// In the order of the index.
    package func find(in question: IndexQuestion) throws(StoreError) -> Results {
        let classID = try serialised { () throws(StoreError) in try schema.index(question.indexID).0.classID }
        return try found(Results(self, classID, nil, range: question))
    }

    // MARK: Elsewhere

    /// What the query of results finds here: in another view of the store.
    ///
    /// Errors: `.wrongStore`, `.noSuchClass` (the version is older than the class).
    package func find(as results: Results) throws(StoreError) -> Results {
        guard results.view.shared === shared else {
            throw StoreError(.wrongStore, "the results are of another store")
        }
        return try found(Results(self, results.classID, results.condition, range: results.range))
    }

    // MARK: Links backwards

    /// The objects whose property `propertyID` links to `object`, in the order of creation.
    package func incoming(_ object: ObjectID, _ propertyID: UInt32) throws(StoreError) -> Results {
        let cls = try serialised { () throws(StoreError) in
            try trees.origin(of: propertyID, to: object.key, try classOf(object, try schema))
        }
        return try find(cls.classID, where: Condition(propertyID, .equal, .link(object), isInside: true))
    }

    /// How many objects link to `object` by that property, an owner of a collection once. O(log n).
    package func incomingCount(_ object: ObjectID, _ propertyID: UInt32) throws(StoreError) -> Int {
        try serialised { () throws(StoreError) in
            let trees = try trees
            let cls = try trees.origin(of: propertyID, to: object.key, try classOf(object, trees.schema))
            return try trees.count(cls, where: Condition(propertyID, .equal, .link(object), isInside: true))
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
        try query(classID) { (trees, cls) throws(StoreError) in
            try trees.readColumn(
                cls, propertyID, capacity: capacity, position: &position, values: values, validity: validity,
                keys: keys)
        }
    }

    /// The same for text and binaries: bytes into `buffer`, `count + 1` offsets.
    package func readTextColumn(
        _ classID: UInt32, _ propertyID: UInt32, capacity: Int, position: inout Int64,
        buffer: UnsafeMutablePointer<OutputBuffer>,
        offsets: UnsafeMutablePointer<Int64>, validity: UnsafeMutablePointer<UInt8>?, keys: UnsafeMutablePointer<Int64>?
    ) throws(StoreError) -> Int {
        try query(classID) { (trees, cls) throws(StoreError) in
            try trees.readTextColumn(
                cls, propertyID, capacity: capacity, position: &position, buffer: buffer, offsets: offsets,
                validity: validity, keys: keys)
        }
    }
}

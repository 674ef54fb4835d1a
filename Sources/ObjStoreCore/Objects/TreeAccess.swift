/// The classes, objects, indexes and elements that a reader sees: those of a version, or of the transaction that
/// changes them. What is read is valid while the version is pinned, or until the next write of the transaction.
package enum TreeAccess {
    case version(Snapshot)
    case transaction(WriteTransaction)

    var schema: Schema {
        switch self {
        case .version(let snapshot): snapshot.schema
        case .transaction(let transaction): transaction.schema
        }
    }

    /// That of a pinned version; of a transaction the one that it began with.
    var version: UInt64 {
        switch self {
        case .version(let snapshot): snapshot.version
        case .transaction(let transaction): transaction.baseVersion
        }
    }

    /// What says of an object id that it is of this store.
    @inline(__always)
    var storeTag: UInt32 {
        switch self {
        case .version(let snapshot): snapshot.storeTag
        case .transaction(let transaction): transaction.database.storeTag
        }
    }

    /// The largest text or binary that may be written.
    var valueLimit: Int {
        switch self {
        case .version(let snapshot): snapshot.valueLimit
        case .transaction(let transaction): transaction.database.options.valueLimit
        }
    }

    /// Bytes of the store, about.
    var size: UInt64 {
        switch self {
        case .version(let snapshot): UInt64(snapshot.source.limit)
        case .transaction(let transaction): UInt64(transaction.space.source.limit)
        }
    }

    // MARK: Objects

    @inline(__always)
    func objects(_ cls: ClassSchema) throws(StoreError) -> ClusterReader {
        switch self {
        case .version(let snapshot):
            return ClusterReader(
                source: snapshot.source, root: ClassNode.cluster(try snapshot.trees.node(Int(cls.id))),
                columns: cls.columns)
        case .transaction(let transaction): return try transaction.state(Int(cls.id)).reader()
        }
    }

    /// An object's row. `reader` is that of the class; a transaction knows where it has just been.
    @inline(__always)
    func find(_ cls: ClassSchema, _ key: Int64, _ reader: ClusterReader) throws(StoreError) -> RowPosition? {
        switch self {
        case .version: return try reader.find(key)
        case .transaction(let transaction): return try transaction.state(Int(cls.id)).cluster.find(key)
        }
    }

    func objectCount(_ cls: ClassSchema) throws(StoreError) -> Int {
        switch self {
        case .version(let snapshot): ClassNode.objectCount(try snapshot.trees.node(Int(cls.id)))
        case .transaction(let transaction): try transaction.state(Int(cls.id)).objectCount
        }
    }

    /// The key of the object that comes next.
    func nextKey(_ cls: ClassSchema) throws(StoreError) -> Int64 {
        switch self {
        case .version(let snapshot): ClassNode.nextKey(try snapshot.trees.node(Int(cls.id)))
        case .transaction(let transaction): try transaction.state(Int(cls.id)).storedNextKey
        }
    }

    /// The primary keys that a class has generated.
    func generatedKeys(_ cls: ClassSchema) throws(StoreError) -> GeneratedKeys {
        switch self {
        case .version(let snapshot):
            let node = try snapshot.trees.node(Int(cls.id))
            guard let index = cls.indexes.first else { return GeneratedKeys() }
            for entry in 0..<NodeHeader.count(node) where ClassNode.indexID(node, entry) == index.id {
                return GeneratedKeys(kept: ClassNode.greatestKey(node, entry))
            }
            return GeneratedKeys()
        case .transaction(let transaction): return try transaction.state(Int(cls.id)).generatedKeys
        }
    }

    // MARK: Indexes

    /// The index of a property, in which `body` looks up `value`; nil: there is none, or a text so long that no index
    /// can hold it.
    func withIndex<T>(
        _ cls: ClassSchema, _ property: Int, finding value: Value, _ body: (IndexReader) throws(StoreError) -> T
    ) throws(StoreError) -> T? {
        guard let position = cls.indexPosition(of: property), value.count <= IndexKey.longest else { return nil }
        return try withIndex(cls, at: position, asksLong: value.count > IndexLimits.head, body)
    }

    /// - Parameter asksLong: it is searched for keys of which it has only the beginning.
    func withIndex<T>(
        _ cls: ClassSchema, at position: Int, asksLong: Bool, _ body: (IndexReader) throws(StoreError) -> T
    ) throws(StoreError) -> T {
        switch self {
        case .version(let snapshot):
            let index = cls.indexes[position]
            let root = ClassNode.root(try snapshot.trees.node(Int(cls.id)), of: index)
            let values = asksLong ? LongValues(try objects(cls), index: index) : nil
            defer { withExtendedLifetime(values) {} }
            return try body(IndexReader(source: snapshot.source, root: root, kind: index.kind, longValues: values))
        case .transaction(let transaction):
            return try body(try transaction.state(Int(cls.id)).indexes[position].reader())
        }
    }

    /// The inverse of a collection of links.
    func inverse(_ cls: ClassSchema, _ property: Int) throws(StoreError) -> IndexReader {
        switch self {
        case .version(let snapshot): try snapshot.trees.inverse(cls, property).unsafelyUnwrapped
        case .transaction(let transaction):
            try transaction.state(Int(cls.id)).inverses[cls.inversePosition(of: property)!].reader()
        }
    }

    /// The inverse of a mixed property.
    func mixedInverse(_ cls: ClassSchema, _ property: Int) throws(StoreError) -> IndexReader {
        switch self {
        case .version(let snapshot): try snapshot.trees.mixedInverse(cls, property).unsafelyUnwrapped
        case .transaction(let transaction):
            try transaction.state(Int(cls.id)).mixedInverses[cls.mixedPosition(of: property)!].reader()
        }
    }

    // MARK: Elements

    /// Of an object, in a property that is a collection. `.noSuchObject`.
    func elements(of key: Int64, _ cls: ClassSchema, _ property: Int) throws(StoreError) -> CollectionElements {
        switch self {
        case .version:
            let reader = try objects(cls)
            guard let row = try reader.find(key) else { throw cls.noSuchObject(key) }
            return try elements(row, cls, property, reader)
        case .transaction(let transaction): return try transaction.state(Int(cls.id)).elements(key, property)
        }
    }

    /// The same of a row that `reader` has given.
    func elements(
        _ row: RowPosition, _ cls: ClassSchema, _ property: Int, _ reader: ClusterReader
    ) throws(StoreError) -> CollectionElements {
        switch self {
        case .version(let snapshot):
            CollectionElements(
                row.key, cls, property, cell: try reader.value(row, property),
                tree: try snapshot.trees.collection(cls, property))
        case .transaction(let transaction): try transaction.state(Int(cls.id)).elements(row.key, property)
        }
    }
}

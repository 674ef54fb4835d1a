/// One class inside a write transaction: its objects, its indexes and what is logged about them.
///
/// Here it is opened, read, marked and placed. What a change of an object means is in `Objects/`, in extensions.
package final class ClassState {
    package let schema: ClassSchema
    /// The links that lead to objects of the class: deleting one makes them null (`WriteTransaction.delete`).
    let incoming: [IncomingLink]
    /// Its own links whose targets go when an object goes.
    let owning: [OwningLink]
    let space: WriteSpace
    package let cluster: ClusterWriter
    /// All that has entries for objects, in the order of `schema.allIndexes`.
    let family: [ClassIndex]
    /// The trees of the first of them, in the order of `schema.indexes`.
    let indexes: [IndexWriter]
    /// In the order of `schema.inverses`.
    package let inverses: [InverseWriter]
    /// In the order of `schema.mixedInverses`.
    let mixedInverses: [MixedInverse]
    /// Those of one property, with the property, for changes of one object: nothing is counted.
    let indexed: UnsafeMutableBufferPointer<(property: Int, index: Unmanaged<IndexWriter>)>
    /// The others of which a row has all entries.
    let extracted: [ClassIndex]
    /// Of `extracted`, for creating one object.
    let extractedCount: Int
    /// In the order of `schema.collections`.
    let collections: [CollectionWriter]
    let linkPlaces = LinkPlaces()
    let hasConstraints: Bool
    /// `generatesKeys`, for creating one object.
    private(set) var isCountingKeys = false
    /// Where keys of compound indexes are made that are only looked up.
    let lookUpKey = IndexKey()
    package let ops: OpLog
    /// Shared by all processes: a key is never given out twice, also not after a cancelled transaction.
    let sharedNextKey: UnsafeMutablePointer<Int64>
    var storedNextKey: Int64 = 0
    /// Of a class whose primary key is generated: above all that were generated, or assigned up to `greatestKept`. It
    /// goes back with the transaction, and is another counter than that of object keys, which no value of a user ever
    /// moves.
    var generatedKeys = GeneratedKeys()
    package internal(set) var objectCount = 0
    var hasChanges = false
    /// It is of the transaction that is open, not left over from one before.
    private(set) var isOpen = false
    /// Objects got other primary keys, which is to be looked at when all have theirs (`checkKeys`).
    var keysChanged = false
    /// A failing call could not be undone.
    package internal(set) var isBroken = false { didSet { if isBroken { space.mayBeBroken = true } } }

    init(
        _ schema: ClassSchema, incoming: [IncomingLink], owning: [OwningLink], space: WriteSpace,
        nextKey: UnsafeMutablePointer<Int64>, ops: OpLog
    ) {
        self.schema = schema
        self.incoming = incoming
        self.owning = owning
        self.space = space
        self.ops = ops
        sharedNextKey = nextKey
        cluster = ClusterWriter(space: space, root: .null, columns: schema.columns)
        let base = ClusterReader(source: space.source, root: .null, columns: schema.columns)
        let indexes = schema.indexes.map { index in
            let values = LongValues(base, index: index), unique = index.isKeyAlone && !schema.hasLooseKey
            return index.isEncoded
                ? EncodedIndex(index, space: space, unique: unique, longValues: values)
                : ClassIndex(index, space: space, unique: unique, longValues: values)
        }
        collections = schema.collections.map {
            let kind = schema.properties[$0].kind, isMixed = schema.properties[$0].elements?.kind == .mixed
            // Mixed values have no heads: a search compares them.
            return CollectionWriter(
                space: space, root: .null, hasKeys: kind == .map, isOrdered: kind == .map || kind == .set && !isMixed)
        }
        inverses = schema.inverses.map { InverseWriter($0, space: space) }
        mixedInverses = schema.mixedInverses.map { MixedInverse($0, space: space) }
        family = indexes + inverses + mixedInverses
        self.indexes = indexes.map(\.writer)
        indexed = .allocate(capacity: schema.plainIndexes)
        for position in 0..<schema.plainIndexes {
            indexed.initializeElement(
                at: position, to: (schema.indexes[position].first, Unmanaged.passUnretained(indexes[position].writer)))
        }
        extracted =
            indexes[schema.plainIndexes...]
            + mixedInverses.filter { !schema.columns[$0.schema.first].kind.isCollection }
        extractedCount = extracted.count
        hasConstraints = !schema.constraints.isEmpty
        isCountingKeys = generatesKeys
        for inverse in mixedInverses where schema.columns[inverse.schema.first].kind.isCollection {
            inverse.linked = { [unowned self, property = inverse.schema.first] (owner, targets) throws(StoreError) in
                try linked(owner, property, among: targets)
            }
        }
    }

    deinit { indexed.deallocate() }

    /// Begins with the class as that node describes it; null: it has no objects yet.
    ///
    /// - Parameter dropping: the schema has just changed: indexes and trees of elements that it has no more are given
    ///   up.
    func open(_ ref: Ref, dropping: Bool = false) throws(StoreError) {
        hasChanges = false
        keysChanged = false
        isBroken = false
        objectCount = 0
        storedNextKey = 0
        generatedKeys = GeneratedKeys()
        for collection in collections { collection.begin(root: .null) }
        var node: UnsafeRawPointer?
        // What a dropped class had was freed before (`WriteTransaction.change(to:)`).
        if schema.isDropped {
            hasChanges = dropping
        } else if !ref.isNull {
            let found = try space.source.node(ref, .classRoot)
            node = found
            objectCount = ClassNode.objectCount(found)
            storedNextKey = ClassNode.nextKey(found)
        }
        let clusterRoot = node.map(ClassNode.cluster) ?? .null
        cluster.begin(root: clusterRoot)
        let objects = ClusterReader(source: space.source, root: clusterRoot, columns: schema.columns)
        for index in family { index.begin(root: .null, objects, nextKey: storedNextKey) }
        if let node {
            for position in 0..<NodeHeader.count(node) {
                let id = ClassNode.indexID(node, position), root = ClassNode.indexRoot(node, position)
                if let target = family.firstIndex(where: { $0.schema.id == id }) {
                    family[target].begin(root: root, objects, nextKey: storedNextKey)
                    if target == 0, generatesKeys {
                        generatedKeys = GeneratedKeys(kept: ClassNode.greatestKey(node, position))
                    }
                    continue
                }
                guard dropping else {
                    throw StoreError(.corrupt, "class \(schema.name) has an index that its schema does not have")
                }
                try IndexWriter(space: space, root: root, kind: .binary, unique: false).removeAll()
                hasChanges = true
            }
            for position in 0..<ClassNode.collectionCount(node) {
                let column = ClassNode.collectionColumn(node, position), root = ClassNode.collectionRoot(node, position)
                if let target = schema.collections.firstIndex(where: { schema.columns[$0].id == column }) {
                    collections[target].begin(root: root)
                    continue
                }
                guard dropping else {
                    throw StoreError(
                        .corrupt, "class \(schema.name) has elements of a property that its schema does not have")
                }
                try CollectionWriter(
                    space: space, root: root, hasKeys: ClassNode.collectionKind(node, position) == .map,
                    isOrdered: false
                ).discardAll()
                hasChanges = true
            }
        }
        // What was reserved and not used since the first one opened the store is less than that.
        guard sharedNextKey.pointee &- storedNextKey < ClassState.mostKeysInVain else {
            throw StoreError(
                .corrupt,
                """
                the store's lock file says that class \(schema.name) has had \(sharedNextKey.pointee) objects, the \
                store \(storedNextKey)
                """
            ).at(class: schema.name)
        }
        if sharedNextKey.pointee < storedNextKey { sharedNextKey.pointee = storedNextKey }
        isOpen = true
    }

    /// Its transaction has ended. False: it holds so much memory that it should not be kept for the next one.
    func close() -> Bool {
        isOpen = false
        linkPlaces.forgetAll()
        return cluster.isSmall && family.allSatisfy(\.isSmall)
    }

    // MARK: Savepoints

    /// The state of the class when a savepoint began.
    struct Mark {
        fileprivate var cluster: Ref
        fileprivate var indexes: [Ref]
        fileprivate var collections: [Ref]
        fileprivate var objectCount: Int
        fileprivate var generatedKeys: GeneratedKeys
        fileprivate var hasChanges: Bool
    }

    /// Brings everything that waits into the trees. Cost: that of the changes since the last time.
    func settle() throws(StoreError) -> Mark {
        var roots: [Ref] = []
        for index in family { roots.append(try index.settle()) }
        return Mark(
            cluster: try cluster.settle(), indexes: roots, collections: collections.map(\.root),
            objectCount: objectCount, generatedKeys: generatedKeys, hasChanges: hasChanges)
    }

    /// Goes back to what `settle` returned. Keys that were given out since are not given out again.
    func restore(_ mark: Mark) {
        cluster.restore(root: mark.cluster)
        for (position, root) in mark.indexes.enumerated() { family[position].restore(root: root) }
        for (position, root) in mark.collections.enumerated() { collections[position].begin(root: root) }
        objectCount = mark.objectCount
        generatedKeys = mark.generatedKeys
        hasChanges = mark.hasChanges
        isBroken = false
    }

    // MARK: Placing

    /// Places what changed as far as no savepoint holds it; the transaction continues. Everything borrowed is void.
    func spill(into writer: ExtentWriter) throws(StoreError) {
        _ = try cluster.flush(into: writer)
        for index in family { try index.spill(into: writer) }
        for collection in collections { _ = try collection.flush(into: writer) }
    }

    /// Places the changed extents and the class node; `old` is the node that it replaces (null: none).
    func flush(into writer: ExtentWriter, replacing old: Ref) throws(StoreError) -> Ref {
        // They look at objects and elements, which are still here.
        for index in family { try index.resolve() }
        let clusterRoot = try cluster.flush(into: writer)
        let bytes = ClassNode.bytes(indexes: family.count, collections: collections.count)
        let (ref, node) = try space.newNode(.classRoot, bytes: bytes, capacity: bytes, word: UInt64(schema.id))
        (node + NodeHeader.size).initializeMemory(as: UInt8.self, repeating: 0, count: bytes - NodeHeader.size)
        NodeHeader.setCount(node, family.count)
        ClassNode.setCluster(node, clusterRoot)
        ClassNode.setObjectCount(node, objectCount)
        ClassNode.setNextKey(node, storedNextKey)
        for (position, index) in family.enumerated() {
            ClassNode.setIndex(node, position, index.schema, root: try index.flush(into: writer))
        }
        if isCountingKeys { ClassNode.setGreatestKey(node, 0, generatedKeys.kept) }
        ClassNode.setCollectionCount(node, collections.count)
        for (position, property) in schema.collections.enumerated() {
            let column = schema.columns[property]
            ClassNode.setCollection(
                node, position, column: column.id, kind: column.kind,
                root: try collections[position].flush(into: writer))
        }
        if !old.isNull { try space.discardNode(old, .classRoot) }
        return try writer.node(ref)
    }

    /// Moves extents that are among `victims`; returns how many bytes.
    func move(_ victims: MovedPages, budget: Int) throws(StoreError) -> Int {
        var moved = try cluster.move(victims, budget: budget)
        for index in family where moved < budget { moved += try index.writer.move(victims, budget: budget - moved) }
        for tree in collections where moved < budget { moved += try tree.move(victims, budget: budget - moved) }
        return moved
    }

    /// Frees all trees; nothing is logged.
    func discardAll() throws(StoreError) {
        try cluster.discardAll()
        for index in family { try index.removeAll() }
        for collection in collections { try collection.discardAll() }
    }

    /// Fewer are reserved by transactions that are cancelled, while the store is open.
    static let mostKeysInVain: Int64 = 1 << 48

    /// Whether ints are generated as primary keys.
    var generatesKeys: Bool {
        guard let primary = schema.primaryKey else { return false }
        return schema.properties[primary].isGenerated && schema.columns[primary].kind == .int
    }

    func undo(_ body: () throws(StoreError) -> Void) {
        do { try body() } catch { isBroken = true }
    }

    func noSuchObject(_ key: Int64) -> StoreError { schema.noSuchObject(key) }
}

/// One class inside a write transaction: its objects, its indexes and what is logged about them.
///
/// Values are given in the order of the class's properties and were validated (`ValueCheck`). Every call
/// happens as a whole: what fails on the way is undone by inverse operations, and a failing undo leaves the
/// transaction fit for nothing but cancelling.
package final class ClassState {
    package let schema: ClassSchema
    /// The links that lead to objects of the class: who deletes one makes them null (`WriteTransaction.delete`).
    let incoming: [IncomingLink]
    let space: WriteSpace
    let cluster: ClusterWriter
    /// In the order of `schema.indexes`.
    let indexes: [IndexWriter]
    /// In the order of `schema.collections`.
    let collections: [CollectionWriter]
    /// The same with the property of each, for those who change one object: nothing is counted.
    private let indexed: UnsafeMutableBufferPointer<(property: Int, index: Unmanaged<IndexWriter>)>
    let ops: OpLog
    /// Shared by all processes: a key is never given out twice, also not after a cancelled transaction.
    let sharedNextKey: UnsafeMutablePointer<Int64>
    var storedNextKey: Int64 = 0
    package internal(set) var objectCount = 0
    var hasChanges = false
    /// It is of the transaction that is open, not left over from one before.
    private(set) var isOpen = false
    private let longValues: [LongValues]
    /// A failing call could not be undone.
    package internal(set) var isBroken = false { didSet { if isBroken { space.mayBeBroken = true } } }

    init(_ schema: ClassSchema, incoming: [IncomingLink], space: WriteSpace, nextKey: UnsafeMutablePointer<Int64>, ops: OpLog) {
        self.schema = schema
        self.incoming = incoming
        self.space = space
        self.ops = ops
        sharedNextKey = nextKey
        cluster = ClusterWriter(space: space, root: .null, columns: schema.columns)
        let base = ClusterReader(source: space.source, root: .null, columns: schema.columns)
        let longValues = schema.indexes.map { LongValues(base, property: $0) }
        self.longValues = longValues
        indexes = schema.indexes.enumerated().map { position, property in
            IndexWriter(
                space: space, root: .null, kind: schema.columns[property].kind,
                unique: schema.properties[property].isPrimaryKey, longValues: longValues[position])
        }
        collections = schema.collections.map { CollectionWriter(space: space, root: .null, hasKeys: schema.properties[$0].kind == .map) }
        indexed = .allocate(capacity: indexes.count)
        for (position, property) in schema.indexes.enumerated() {
            indexed.initializeElement(at: position, to: (property, Unmanaged.passUnretained(indexes[position])))
        }
    }

    deinit { indexed.deallocate() }

    /// Begins with the class as that node describes it; null: it has no objects yet.
    func open(_ ref: Ref) throws(StoreError) {
        hasChanges = false
        isBroken = false
        objectCount = 0
        storedNextKey = 0
        var clusterRoot = Ref.null
        for index in indexes { index.begin(root: .null) }
        for collection in collections { collection.begin(root: .null) }
        if !ref.isNull {
            let node = try space.source.node(ref, .classRoot)
            clusterRoot = ClassNode.cluster(node)
            objectCount = ClassNode.objectCount(node)
            storedNextKey = ClassNode.nextKey(node)
            for position in 0..<NodeHeader.count(node) {
                let column = ClassNode.indexColumn(node, position)
                guard let target = schema.indexes.firstIndex(where: { schema.columns[$0].id == column }) else {
                    throw StoreError(.corrupt, "class \(schema.name) has an index of a column that it does not have")
                }
                indexes[target].begin(root: ClassNode.indexRoot(node, position))
            }
        }
        if !ref.isNull, !collections.isEmpty {
            let node = try space.source.node(ref, .classRoot)
            for (position, property) in schema.collections.enumerated() {
                collections[position].begin(root: ClassNode.collectionRoot(node, column: schema.columns[property].id))
            }
        }
        if sharedNextKey.pointee < storedNextKey { sharedNextKey.pointee = storedNextKey }
        cluster.begin(root: clusterRoot)
        let base = ClusterReader(source: space.source, root: clusterRoot, columns: schema.columns)
        for values in longValues { values.reader = base }
        isOpen = true
    }

    /// Its transaction has ended. False: it holds so much memory that it should not be kept for the next one.
    func close() -> Bool {
        isOpen = false
        return cluster.isSmall && indexes.allSatisfy(\.isSmall)
    }

    // MARK: Savepoints

    /// How the class stood when a savepoint began.
    struct Mark {
        fileprivate var cluster: Ref
        fileprivate var indexes: [Ref]
        fileprivate var collections: [Ref]
        fileprivate var objectCount: Int
        fileprivate var hasChanges: Bool
    }

    /// Brings everything that waits into the trees. Cost: that of the changes since the last time.
    func settle() throws(StoreError) -> Mark {
        var roots: [Ref] = []
        for index in indexes { roots.append(try index.settle()) }
        return Mark(cluster: try cluster.settle(), indexes: roots, collections: collections.map(\.root), objectCount: objectCount, hasChanges: hasChanges)
    }

    /// Goes back to what `settle` returned. Keys that were given out since are not given out again.
    func restore(_ mark: Mark) {
        cluster.restore(root: mark.cluster)
        for (position, root) in mark.indexes.enumerated() { indexes[position].restore(root: root) }
        for (position, root) in mark.collections.enumerated() { collections[position].begin(root: root) }
        objectCount = mark.objectCount
        hasChanges = mark.hasChanges
        isBroken = false
    }

    // MARK: Reading

    /// The object with that primary key, as the transaction sees it.
    package func find(primaryKey value: Value) throws(StoreError) -> Int64? {
        guard schema.primaryKey != nil else { throw noPrimaryKey }
        return try indexed[0].index.unretained { (index) throws(StoreError) in try index.find(value) }
    }

    @inline(__always)
    func hasPrimaryKey(of kind: ValueKind) -> Bool { schema.primaryKey.map { schema.columns[$0].kind == kind } ?? false }

    package func contains(_ key: Int64) throws(StoreError) -> Bool { try cluster.find(key) != nil }

    /// Where an object lies, until the next change of another.
    @inline(__always)
    func row(_ key: Int64) throws(StoreError) -> RowPosition {
        guard let row = try cluster.find(key) else { throw noSuchObject(key) }
        return row
    }

    /// Text and binaries point into the transaction's memory until its next write.
    package func value(_ key: Int64, _ property: Int) throws(StoreError) -> Value { try value(try row(key), property) }

    @inline(__always)
    func value(_ row: RowPosition, _ property: Int) throws(StoreError) -> Value { try cluster.tree.value(row, property) }

    /// What scans and cursors read: the transaction's own state, until its next write.
    package func reader() throws(StoreError) -> ClusterReader { try cluster.reader() }

    // MARK: Writing

    /// Creates an object; `values` has one for each property.
    package func create(_ values: UnsafePointer<Value>) throws(StoreError) -> Int64 {
        if let primary = schema.primaryKey, try indexes[0].find(values[primary]) != nil { throw duplicate(values[primary]) }
        let key = sharedNextKey.pointee
        sharedNextKey.pointee = key + 1
        try insert(key, values)
        ops.create(schema, key: key, values: values)
        return key
    }

    func insert(_ key: Int64, _ values: UnsafePointer<Value>) throws(StoreError) {
        try cluster.append(key, values)
        var done = 0
        do throws(StoreError) {
            while done < indexed.count {
                let (property, index) = indexed[done]
                try index.unretained { (index) throws(StoreError) in try index.insert(values[property], key) }
                done += 1
            }
        } catch {
            undo { () throws(StoreError) in
                for (property, index) in indexed[..<done] { try index.takeUnretainedValue().remove(values[property], key) }
                _ = try cluster.delete(key)
            }
            throw error
        }
        hasChanges = true
        objectCount += 1
        storedNextKey = max(storedNextKey, key + 1)
    }

    /// Writes one property, also when it has that value already.
    package func update(_ key: Int64, _ property: Int, _ value: Value) throws(StoreError) {
        try update(try row(key), property, value)
    }

    /// The same for the row that `row` gave, since when no other was changed.
    func update(_ row: RowPosition, _ property: Int, _ value: Value) throws(StoreError) {
        try change(row, property, value)
        ops.update(schema, key: row.key, property: property, value: value)
    }

    func change(_ row: RowPosition, _ property: Int, _ value: Value) throws(StoreError) {
        if let position = schema.indexPosition(of: property) {
            let old = try self.value(row, property)
            if !old.isSame(as: value) {
                return try indexed[position].index.unretained { (index) throws(StoreError) in try move(row, index, property, from: old, to: value) }
            }
        }
        try cluster.update(row, property, value)
        hasChanges = true
    }

    private func move(_ row: RowPosition, _ index: IndexWriter, _ property: Int, from old: Value, to value: Value) throws(StoreError) {
        let key = row.key
        // The old value lies in the leaf, which does not change before the last step.
        try index.remove(old, key)
        do throws(StoreError) {
            try index.insert(value, key)
            do throws(StoreError) {
                try cluster.update(row, property, value)
            } catch {
                undo { () throws(StoreError) in try index.remove(value, key) }
                throw error
            }
        } catch {
            undo { () throws(StoreError) in try index.insert(old, key) }
            throw error
        }
        hasChanges = true
    }

    /// Links to the object stay: `WriteTransaction.delete` is for others.
    package func delete(_ key: Int64) throws(StoreError) {
        try erase(try row(key))
        ops.delete(schema, key: key)
    }

    func erase(_ row: RowPosition) throws(StoreError) {
        let key = row.key
        var done = 0
        do throws(StoreError) {
            // Indexes change no leaf: the row stays where it is up to the last step.
            while done < indexed.count {
                let (property, index) = indexed[done]
                let old = try value(row, property)
                try index.unretained { (index) throws(StoreError) in try index.remove(old, key) }
                done += 1
            }
            if !collections.isEmpty { try eraseElements(row) }
            try cluster.delete(row)
        } catch {
            undo { () throws(StoreError) in
                for (property, index) in indexed[..<done] { try index.takeUnretainedValue().insert(try value(key, property), key) }
            }
            throw error
        }
        hasChanges = true
        objectCount -= 1
    }

    /// Deletes every object; returns how many there were. Links to them stay. Cost: O(pages), and O(n) in the log.
    func deleteAll() throws(StoreError) -> Int {
        let count = objectCount
        if count == 0 { return 0 }
        let reader = try cluster.reader()
        var next = try reader.seek(.min)
        while let row = next {
            ops.delete(schema, key: row.key)
            next = try reader.next(row)
        }
        do throws(StoreError) {
            try cluster.discardAll()
            for index in indexes { try index.removeAll() }
            for collection in collections { try collection.discardAll() }
        } catch {
            isBroken = true
            throw error
        }
        objectCount = 0
        hasChanges = true
        return count
    }

    /// One property of an int object plus `delta`; the caller has checked the kind.
    package func increment(_ key: Int64, _ property: Int, _ delta: Int64) throws(StoreError) -> Int64 {
        let row = try row(key)
        let old = try value(row, property)
        if old.isNull { throw StoreError(.nullValue, "\(schema.name).\(schema.properties[property].name) is null: there is nothing to add \(delta) to").at(class: schema.name, property: schema.properties[property].name) }
        let (sum, overflow) = old.low.addingReportingOverflow(delta)
        if overflow {
            throw StoreError(.outOfRange, "\(schema.name).\(schema.properties[property].name): \(old.low) + \(delta) does not fit in 64 bits").at(class: schema.name, property: schema.properties[property].name)
        }
        try update(row, property, .int(sum))
        return sum
    }

    // MARK: Replay

    /// Applies a logged operation: explicit keys, no checks of uniqueness (they passed when it was logged).
    func replayCreate(_ key: Int64, _ values: [Value]) throws(StoreError) {
        try values.withUnsafeBufferPointer { (buffer) throws(StoreError) in try insert(key, buffer.baseAddress!) }
        sharedNextKey.pointee = max(sharedNextKey.pointee, key + 1)
    }

    func replayUpdate(_ key: Int64, column: UInt32, _ value: Value) throws(StoreError) {
        guard let property = schema.columns.firstIndex(where: { $0.id == column }) else {
            throw StoreError(.corrupt, "the log changes a column that class \(schema.name) does not have")
        }
        try change(try row(key), property, value)
    }

    func replaySplice(_ key: Int64, column: UInt32, _ splice: Op.Splice) throws(StoreError) {
        guard let property = schema.columns.firstIndex(where: { $0.id == column }) else {
            throw StoreError(.corrupt, "the log changes a column that class \(schema.name) does not have")
        }
        let count = try elements(key, property).count()
        guard splice.at <= count, splice.removed <= count - splice.at else {
            throw StoreError(.corrupt, "the log changes elements that \(schema.name)#\(key) does not have")
        }
        try replaceElements(try row(key), property, splice.at..<splice.at + splice.removed, splice.inserted[...])
    }

    func replayDelete(_ key: Int64) throws(StoreError) { try erase(try row(key)) }

    // MARK: Commit

    /// Places the changed extents and the class node; `old` is the node that it replaces (null: none).
    func flush(into writer: ExtentWriter, replacing old: Ref) throws(StoreError) -> Ref {
        let clusterRoot = try cluster.flush(into: writer)
        let bytes = ClassNode.bytes(indexes: indexes.count, collections: collections.count)
        let (ref, node) = try space.newNode(.classRoot, bytes: bytes, capacity: bytes, word: UInt64(schema.id))
        (node + NodeHeader.size).initializeMemory(as: UInt8.self, repeating: 0, count: bytes - NodeHeader.size)
        NodeHeader.setCount(node, indexes.count)
        ClassNode.setCluster(node, clusterRoot)
        ClassNode.setObjectCount(node, objectCount)
        ClassNode.setNextKey(node, storedNextKey)
        for (position, property) in schema.indexes.enumerated() {
            ClassNode.setIndex(
                node, position, column: schema.columns[property].id, unique: schema.properties[property].isPrimaryKey,
                kind: schema.columns[property].kind, root: try indexes[position].flush(into: writer))
        }
        ClassNode.setCollectionCount(node, collections.count)
        for (position, property) in schema.collections.enumerated() {
            let column = schema.columns[property]
            ClassNode.setCollection(node, position, column: column.id, kind: column.kind, root: try collections[position].flush(into: writer))
        }
        if !old.isNull { try space.discardNode(old, .classRoot) }
        return try writer.node(ref)
    }

    // MARK: Errors

    func undo(_ body: () throws(StoreError) -> Void) {
        do { try body() } catch { isBroken = true }
    }

    private var noPrimaryKey: StoreError {
        StoreError(.noPrimaryKey, "class \(schema.name) does not have a primary key").at(class: schema.name)
    }

    func noSuchObject(_ key: Int64) -> StoreError {
        StoreError(.noSuchObject, "the object \(schema.name)#\(key) was deleted or never existed").at(class: schema.name)
    }

    func duplicate(_ value: Value) -> StoreError {
        let name = schema.properties[schema.primaryKey!].name
        return StoreError(.duplicateKey, "an object of class \(schema.name) with \(name) = \(value.text) already exists").at(class: schema.name, property: name)
    }
}

/// Long texts of an indexed property in one version: the index holds only their beginning and hash.
final class LongValues: IndexLongValues {
    var reader: ClusterReader
    private let property: Int

    private override init() { fatalError("made with a reader") }

    init(_ reader: ClusterReader, property: Int) {
        self.reader = reader
        self.property = property
    }

    override func bytes(of objectKey: Int64) throws(StoreError) -> UnsafeRawBufferPointer {
        guard let row = try reader.find(objectKey), let bytes = try reader.bytes(row, property) else {
            throw StoreError(.corrupt, "an index names the object \(objectKey), which does not exist or has no value")
        }
        return bytes
    }
}

extension WriteTransaction {
    /// Applies one operation of the log.
    func replay(_ op: Op) throws(StoreError) {
        switch op {
        case .schema(let schema): try setSchema(schema)
        case .create(let classID, let key, let values): try state(Int(classID)).replayCreate(key, values)
        case .update(let classID, let key, let changes):
            for change in changes { try state(Int(classID)).replayUpdate(key, column: change.columnID, change.value) }
        case .splice(let classID, let key, let column, let splice): try state(Int(classID)).replaySplice(key, column: column, splice)
        case .delete(let classID, let key): try state(Int(classID)).replayDelete(key)
        }
    }
}

/// One class inside a write transaction: its objects, its indexes and what is logged about them.
///
/// Values are given in the order of the class's properties and were validated (`ValueCheck`). Every call
/// happens as a whole: what fails on the way is undone by inverse operations, and a failing undo leaves the
/// transaction fit for nothing but cancelling.
package final class ClassState {
    package let schema: ClassSchema
    /// The links that lead to objects of the class: deleting one makes them null (`WriteTransaction.delete`).
    let incoming: [IncomingLink]
    /// Its own links whose targets go when an object goes.
    let owning: [OwningLink]
    let space: WriteSpace
    package let cluster: ClusterWriter
    /// In the order of `schema.indexes`.
    let indexes: [IndexWriter]
    /// In the order of `schema.collections`.
    let collections: [CollectionWriter]
    /// In the order of `schema.inverses`.
    package let inverses: [InverseWriter]
    let linkPlaces = LinkPlaces()
    /// In the order of `schema.mixedInverses`.
    let mixedInverses: [MixedInverse]
    /// Those of one property, with the property, for changes of one object: nothing is counted.
    let indexed: UnsafeMutableBufferPointer<(property: Int, index: Unmanaged<IndexWriter>)>
    /// The others.
    let compounds: [CompoundIndex]
    private let compoundCount: Int
    private let hasConstraints: Bool
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
    private let longValues: [LongValues]
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
        let longValues = schema.indexes.map { LongValues(base, index: $0) }
        self.longValues = longValues
        let indexes = schema.indexes.enumerated().map { position, index in
            IndexWriter(
                space: space, root: .null, kind: index.kind, unique: index.isKeyAlone && !schema.hasLooseKey,
                isLookedUp: index.isUnique, longValues: longValues[position])
        }
        collections = schema.collections.map {
            let kind = schema.properties[$0].kind, isMixed = schema.properties[$0].elements?.kind == .mixed
            // Mixed values have no heads: a search compares them.
            return CollectionWriter(
                space: space, root: .null, hasKeys: kind == .map, isOrdered: kind == .map || kind == .set && !isMixed)
        }
        inverses = schema.inverses.map { _ in InverseWriter(space: space) }
        mixedInverses = schema.mixedInverses.map { _ in MixedInverse(space: space) }
        self.indexes = indexes
        indexed = .allocate(capacity: schema.plainIndexes)
        for position in 0..<schema.plainIndexes {
            indexed.initializeElement(
                at: position, to: (schema.indexes[position].first, Unmanaged.passUnretained(indexes[position])))
        }
        compounds = (schema.plainIndexes..<indexes.count).map { CompoundIndex(schema.indexes[$0], indexes[$0]) }
        compoundCount = compounds.count
        hasConstraints = !schema.constraints.isEmpty
        isCountingKeys = generatesKeys
        for (position, property) in schema.mixed.enumerated() where schema.columns[property].kind.isCollection {
            mixedInverses[position].linked = { [unowned self] (owner, targets) throws(StoreError) in
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
        var clusterRoot = Ref.null
        for index in indexes { index.begin(root: .null) }
        for collection in collections { collection.begin(root: .null) }
        for inverse in inverses { inverse.begin(root: .null, nextKey: 0) }
        for inverse in mixedInverses { inverse.begin(root: .null) }
        // What a dropped class had was freed before (`WriteTransaction.change(to:)`).
        if schema.isDropped {
            hasChanges = dropping
        } else if !ref.isNull {
            let node = try space.source.node(ref, .classRoot)
            clusterRoot = ClassNode.cluster(node)
            objectCount = ClassNode.objectCount(node)
            storedNextKey = ClassNode.nextKey(node)
            for position in 0..<NodeHeader.count(node) {
                let id = ClassNode.indexID(node, position), root = ClassNode.indexRoot(node, position)
                if let target = schema.indexes.firstIndex(where: { $0.id == id }) {
                    indexes[target].begin(root: root)
                    if target == 0, generatesKeys {
                        generatedKeys = GeneratedKeys(kept: ClassNode.greatestKey(node, position))
                    }
                    continue
                }
                if let target = schema.inverses.firstIndex(where: { $0.id == id }) {
                    inverses[target].begin(root: root, nextKey: storedNextKey)
                    continue
                }
                if let target = schema.mixedInverses.firstIndex(where: { $0.id == id }) {
                    mixedInverses[target].begin(root: root)
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
        cluster.begin(root: clusterRoot)
        let base = ClusterReader(source: space.source, root: clusterRoot, columns: schema.columns)
        for values in longValues { values.reader = base }
        isOpen = true
    }

    /// Its transaction has ended. False: it holds so much memory that it should not be kept for the next one.
    func close() -> Bool {
        isOpen = false
        linkPlaces.forgetAll()
        return cluster.isSmall && indexes.allSatisfy(\.isSmall) && inverses.allSatisfy(\.isSmall)
            && mixedInverses.allSatisfy(\.isSmall)
    }

    // MARK: Savepoints

    /// The state of the class when a savepoint began.
    struct Mark {
        fileprivate var cluster: Ref
        fileprivate var indexes: [Ref]
        fileprivate var collections: [Ref]
        fileprivate var inverses: [Ref]
        fileprivate var mixedInverses: [Ref]
        fileprivate var objectCount: Int
        fileprivate var generatedKeys: GeneratedKeys
        fileprivate var hasChanges: Bool
    }

    /// Brings everything that waits into the trees. Cost: that of the changes since the last time.
    func settle() throws(StoreError) -> Mark {
        var roots: [Ref] = []
        for index in indexes { roots.append(try index.settle()) }
        var inverseRoots: [Ref] = []
        for inverse in inverses { inverseRoots.append(try inverse.settle()) }
        var mixedRoots: [Ref] = []
        for inverse in mixedInverses { mixedRoots.append(try inverse.settle()) }
        return Mark(
            cluster: try cluster.settle(), indexes: roots, collections: collections.map(\.root), inverses: inverseRoots,
            mixedInverses: mixedRoots, objectCount: objectCount,
            generatedKeys: generatedKeys, hasChanges: hasChanges)
    }

    /// Goes back to what `settle` returned. Keys that were given out since are not given out again.
    func restore(_ mark: Mark) {
        cluster.restore(root: mark.cluster)
        for (position, root) in mark.indexes.enumerated() { indexes[position].restore(root: root) }
        for (position, root) in mark.collections.enumerated() { collections[position].begin(root: root) }
        for (position, root) in mark.inverses.enumerated() { inverses[position].restore(root: root) }
        for (position, root) in mark.mixedInverses.enumerated() { mixedInverses[position].restore(root: root) }
        objectCount = mark.objectCount
        generatedKeys = mark.generatedKeys
        hasChanges = mark.hasChanges
        isBroken = false
    }

    // MARK: Reading

    /// The object with that primary key, as the transaction sees it.
    package func find(primaryKey value: Value) throws(StoreError) -> Int64? {
        guard schema.primaryKey != nil else { throw schema.noPrimaryKey }
        return try indexed[0].index.unretained { (index) throws(StoreError) in try index.find(value) }
    }

    /// The object whose primary key has these parts, given by position.
    func find(key parts: (Int) -> Value) throws(StoreError) -> Int64? {
        guard let position = schema.keyIndex else { throw schema.noPrimaryKey }
        let key = try schema.indexes[position].extract(0, into: lookUpKey) { (property) throws(StoreError) in
            parts(property)
        }
        return try indexes[position].find(key)
    }

    @inline(__always)
    func hasPrimaryKey(of kind: ValueKind) -> Bool {
        schema.primaryKey.map { schema.columns[$0].kind == kind } ?? false
    }

    package func contains(_ key: Int64) throws(StoreError) -> Bool { try cluster.find(key) != nil }

    /// Where an object lies, until the next change of another.
    @inline(__always)
    package func row(_ key: Int64) throws(StoreError) -> RowPosition {
        guard let row = try cluster.find(key) else { throw noSuchObject(key) }
        return row
    }

    /// Text and binaries point into the transaction's memory until its next write.
    package func value(_ key: Int64, _ property: Int) throws(StoreError) -> Value { try value(try row(key), property) }

    @inline(__always)
    func value(_ row: RowPosition, _ property: Int) throws(StoreError) -> Value {
        try cluster.tree.value(row, property)
    }

    /// What scans and cursors read: the transaction's own state, until its next write.
    package func reader() throws(StoreError) -> ClusterReader { try cluster.reader() }

    // MARK: Writing

    /// The int primary key for an object that is created next: above all that there are, and above all that were given
    /// here up to `GeneratedKeys.greatestKept`, so that none of those comes twice, also when the greatest is deleted.
    /// Where nothing is left above those, only existing ones count: a class is not used up by a key that is gone.
    func generateKey(_ bounds: Enumeration?) throws(StoreError) -> Int64 { try generateKeys(1, bounds) }

    /// The first of this many that follow each other. `.outOfRange`: one would be beyond the bounds.
    func generateKeys(_ count: Int, _ bounds: Enumeration?) throws(StoreError) -> Int64 {
        // At least 0, so that keys begin with 1.
        let last = try indexes[0].bound(atLeast: generatedKeys.greatest)
        if _fastPath(fits(count, above: last, bounds)) {
            generatedKeys.didGenerate(last + Int64(count))
            return last + 1
        }
        return try generateLastKeys(count, bounds)
    }

    @inline(never)
    private func generateLastKeys(_ count: Int, _ bounds: Enumeration?) throws(StoreError) -> Int64 {
        var last: Int64 = 0
        for least in [generatedKeys.kept, 0] {
            last = try indexes[0].bound(atLeast: least)
            guard fits(count, above: last, bounds) else { continue }
            generatedKeys.didGenerate(last + Int64(count))
            return last + 1
        }
        let what = "\(count == 1 ? "no key can" : "\(count) keys cannot") be generated, since there is one of \(last)"
        let isTooNarrow = last <= Int64.max - Int64(count)
        let error = isTooNarrow ? bounds?.refuse(.int(last + Int64(count)), "\(what): ") : nil
        throw schema.naming(error ?? StoreError(.outOfRange, what), schema.primaryKey!)
    }

    private func fits(_ count: Int, above last: Int64, _ bounds: Enumeration?) -> Bool {
        last <= Int64.max - Int64(count) && (count == 0 || bounds?.has(.int(last + Int64(count))) != false)
    }

    /// Whether ints are generated as primary keys.
    var generatesKeys: Bool {
        guard let primary = schema.primaryKey else { return false }
        return schema.properties[primary].isGenerated && schema.columns[primary].kind == .int
    }

    /// Object keys go up to here; each is given once.
    static let greatestObjectKey: Int64 = 1 << 62 - 1
    /// Fewer are reserved by transactions that are cancelled, while the store is open.
    static let mostKeysInVain: Int64 = 1 << 48

    /// The keys of this many new objects. They are not given again, whatever becomes of the transaction.
    @inline(__always)
    func takeObjectKeys(_ count: Int) throws(StoreError) -> Int64 {
        let first = sharedNextKey.pointee
        guard _fastPath(first >= 0 && Int64(count) <= ClassState.greatestObjectKey &- first) else {
            throw StoreError(
                .outOfRange,
                "class \(schema.name) has had \(first) objects: there are no numbers left for \(count) more"
            ).at(class: schema.name)
        }
        sharedNextKey.pointee = first &+ Int64(count)
        return first
    }

    /// Creates an object; `values` has one for each property.
    package func create(_ values: UnsafePointer<Value>) throws(StoreError) -> Int64 {
        if let primary = schema.primaryKey, try indexes[0].find(values[primary]) != nil {
            throw duplicate(values[primary])
        }
        return try createUnchecked(values)
    }

    /// The same where the primary key is known to be free.
    func createUnchecked(_ values: UnsafePointer<Value>) throws(StoreError) -> Int64 {
        if hasConstraints { try checkConstraints(values) }
        let key = try takeObjectKeys(1)
        try insert(key, values)
        ops.create(schema, key: key, values: values)
        return key
    }

    func insert(_ key: Int64, _ values: UnsafePointer<Value>) throws(StoreError) {
        if compoundCount > 0 { for compound in compounds { try compound.prepare(key, values) } }
        try cluster.append(key, values)
        var done = 0, doneCompounds = 0, links: [MixedLink] = [], doneLinks = 0
        do throws(StoreError) {
            while done < indexed.count {
                let (property, index) = indexed[done]
                try index.unretained { (index) throws(StoreError) in try index.insert(values[property], key) }
                done += 1
            }
            while doneCompounds < compoundCount {
                try compounds[doneCompounds].insertNew(key)
                doneCompounds += 1
            }
            if schema.hasMixed {
                links = try mixedLinks { (property) throws(StoreError) in values[property] }
                while doneLinks < links.count {
                    try links[doneLinks].inverse.insert(links[doneLinks].target, key)
                    doneLinks += 1
                }
            }
        } catch {
            undo { () throws(StoreError) in
                for link in links[..<doneLinks] { try link.inverse.remove(link.target, key) }
                for compound in compounds[..<doneCompounds] { try compound.removeNew(key) }
                for (property, index) in indexed[..<done] {
                    try index.takeUnretainedValue().remove(values[property], key)
                }
                _ = try cluster.delete(key)
            }
            throw error
        }
        hasChanges = true
        objectCount += 1
        storedNextKey = max(storedNextKey, key + 1)
        if _slowPath(isCountingKeys) { generatedKeys.didGive(values[schema.primaryKey.unsafelyUnwrapped]) }
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
        let position = schema.changePlan(property)
        if position >= 0 {
            let old = try self.value(row, property)
            if !old.isSame(as: value) {
                return try indexed[position].index.unretained { (index) throws(StoreError) in
                    try move(row, index, property, from: old, to: value)
                }
            }
        } else if position == ClassSchema.changesTogether {
            return try changeTogether(row, property, value)
        } else if position == ClassSchema.mayLink, try mayLink(property, value) {
            return try changeTogether(row, property, value)
        }
        try cluster.update(row, property, value)
        hasChanges = true
    }

    private func move(
        _ row: RowPosition, _ index: IndexWriter, _ property: Int, from old: Value, to value: Value
    ) throws(StoreError) {
        let key = row.key
        // The old value lies in the leaf, which does not change before the last step.
        if !InjectedBug.active(.inverseKept) || old.kind != .link { try index.remove(old, key) }
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
        var done = 0, doneCompounds = 0, links: [MixedLink] = [], doneLinks = 0
        if compoundCount > 0 { for compound in compounds { try compound.look(at: row, cluster.tree) } }
        do throws(StoreError) {
            // Indexes change no leaf: the row stays where it is up to the last step.
            while done < indexed.count {
                let (property, index) = indexed[done]
                let old = try value(row, property)
                try index.unretained { (index) throws(StoreError) in try index.remove(old, key) }
                done += 1
            }
            while doneCompounds < compoundCount {
                try compounds[doneCompounds].removeOld(key)
                doneCompounds += 1
            }
            if schema.hasMixed {
                links = try mixedLinks(of: row)
                while doneLinks < links.count {
                    try links[doneLinks].inverse.remove(links[doneLinks].target, key)
                    doneLinks += 1
                }
            }
            if !collections.isEmpty { try eraseElements(row) }
            try cluster.delete(row)
        } catch {
            // Its elements are gone, perhaps.
            if doneCompounds == compoundCount, !collections.isEmpty { isBroken = true }
            undo { () throws(StoreError) in
                for link in links[..<doneLinks] { try link.inverse.insert(link.target, key) }
                for compound in compounds[..<doneCompounds] { try compound.insertOld(key) }
                for (property, index) in indexed[..<done] {
                    try index.takeUnretainedValue().insert(try value(key, property), key)
                }
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
        do throws(StoreError) { try discardAll() } catch {
            isBroken = true
            throw error
        }
        objectCount = 0
        hasChanges = true
        return count
    }

    /// Frees all trees; nothing is logged.
    func discardAll() throws(StoreError) {
        try cluster.discardAll()
        for index in indexes { try index.removeAll() }
        for collection in collections { try collection.discardAll() }
        for inverse in inverses { try inverse.removeAll() }
        for inverse in mixedInverses { try inverse.removeAll() }
    }

    /// One property of an int object plus `delta`; the caller has checked the kind.
    package func increment(_ key: Int64, _ property: Int, _ delta: Int64) throws(StoreError) -> Int64 {
        let row = try row(key)
        let old = try value(row, property)
        if old.isNull {
            throw StoreError(
                .nullValue,
                "\(schema.name).\(schema.properties[property].name) is null: there is nothing to add \(delta) to"
            ).at(class: schema.name, property: schema.properties[property].name)
        }
        let (sum, overflow) = old.low.addingReportingOverflow(delta)
        if overflow {
            throw StoreError(
                .outOfRange,
                "\(schema.name).\(schema.properties[property].name): \(old.low) + \(delta) does not fit in 64 bits"
            ).at(class: schema.name, property: schema.properties[property].name)
        }
        try update(row, property, .int(sum))
        return sum
    }

    // MARK: Replay

    /// Applies a logged operation, which fits (`WriteTransaction.misfit`): explicit keys, no checks of uniqueness (they
    /// passed when it was logged).
    func replayCreate(_ key: Int64, _ values: [Value]) throws(StoreError) {
        try values.withUnsafeBufferPointer { (buffer) throws(StoreError) in try insert(key, buffer.baseAddress!) }
        sharedNextKey.pointee = max(sharedNextKey.pointee, key + 1)
    }

    /// The changes of one operation are made together, as they were then.
    func replayUpdate(_ key: Int64, _ changes: [(columnID: UInt32, value: Value)]) throws(StoreError) {
        var positions: [Int] = []
        for change in changes { positions.append(try property(ofColumn: change.columnID)) }
        let row = try row(key)
        if changes.count == 1 { return try change(row, positions[0], changes[0].value) }
        try changeSeveral(row, positions, changes.map(\.value), changes.count)
    }

    func replaySplice(_ key: Int64, column: UInt32, _ splice: Op.Splice) throws(StoreError) {
        try replaceElements(
            try row(key), try property(ofColumn: column), splice.at..<splice.at + splice.removed, splice.inserted[...])
    }

    private func property(ofColumn id: UInt32) throws(StoreError) -> Int {
        guard let property = schema.columns.firstIndex(where: { $0.id == id }) else {
            throw StoreError(.corrupt, "the log changes a column that class \(schema.name) does not have")
        }
        return property
    }

    func replayDelete(_ key: Int64) throws(StoreError) { try erase(try row(key)) }

    // MARK: Commit

    /// Places what changed as far as no savepoint holds it; the transaction continues. Everything borrowed is void.
    func spill(into writer: ExtentWriter) throws(StoreError) {
        _ = try cluster.flush(into: writer)
        for index in indexes { try index.spill(into: writer) }
        for inverse in inverses { try inverse.index.spill(into: writer) }
        for inverse in mixedInverses { try inverse.index.spill(into: writer) }
        for collection in collections { _ = try collection.flush(into: writer) }
    }

    /// Places the changed extents and the class node; `old` is the node that it replaces (null: none).
    func flush(into writer: ExtentWriter, replacing old: Ref) throws(StoreError) -> Ref {
        // They look at objects and elements, which are still here.
        for inverse in mixedInverses { try inverse.resolve() }
        let clusterRoot = try cluster.flush(into: writer)
        let bytes = ClassNode.bytes(
            indexes: indexes.count + inverses.count + mixedInverses.count, collections: collections.count)
        let (ref, node) = try space.newNode(.classRoot, bytes: bytes, capacity: bytes, word: UInt64(schema.id))
        (node + NodeHeader.size).initializeMemory(as: UInt8.self, repeating: 0, count: bytes - NodeHeader.size)
        NodeHeader.setCount(node, indexes.count + inverses.count + mixedInverses.count)
        ClassNode.setCluster(node, clusterRoot)
        ClassNode.setObjectCount(node, objectCount)
        ClassNode.setNextKey(node, storedNextKey)
        for (position, index) in schema.indexes.enumerated() {
            ClassNode.setIndex(node, position, index, root: try indexes[position].flush(into: writer))
        }
        if isCountingKeys { ClassNode.setGreatestKey(node, 0, generatedKeys.kept) }
        for (position, inverse) in schema.inverses.enumerated() {
            ClassNode.setIndex(
                node, indexes.count + position, inverse, root: try inverses[position].flush(into: writer))
        }
        for (position, inverse) in schema.mixedInverses.enumerated() {
            ClassNode.setIndex(
                node, indexes.count + inverses.count + position, inverse,
                root: try mixedInverses[position].flush(into: writer))
        }
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

    // MARK: Errors

    func undo(_ body: () throws(StoreError) -> Void) {
        do { try body() } catch { isBroken = true }
    }

    func noSuchObject(_ key: Int64) -> StoreError { schema.noSuchObject(key) }

    func duplicate(_ value: Value) -> StoreError {
        let name = schema.properties[schema.primaryKey!].name
        return StoreError(
            .duplicateKey, "an object of class \(schema.name) with \(name) = \(value.text) already exists"
        ).at(class: schema.name, property: name)
    }
}

/// Long keys of an index in one version, from the objects: the index holds only their beginning and hash.
final class LongValues: IndexLongValues {
    var reader: ClusterReader
    private let index: IndexSchema
    private let key = IndexKey()

    private override init() { fatalError("made with a reader") }

    init(_ reader: ClusterReader, index: IndexSchema) {
        self.reader = reader
        self.index = index
    }

    override func bytes(of objectKey: Int64) throws(StoreError) -> UnsafeRawBufferPointer {
        if let row = try reader.find(objectKey) {
            if !index.isEncoded, let bytes = try reader.bytes(row, index.first) { return bytes }
            if index.isEncoded {
                let value = try index.extract(objectKey, into: key) { (property) throws(StoreError) in
                    try reader.value(row, property)
                }
                return UnsafeRawBufferPointer(start: value.pointer, count: value.count)
            }
        }
        throw StoreError(.corrupt, "an index names the object \(objectKey), which does not exist or has no value")
    }
}

extension WriteTransaction {
    /// Applies one operation of the log; `.corrupt` where it does not fit.
    func replay(_ op: Op) throws(StoreError) {
        if let reason = try misfit(op) {
            throw StoreError(.corrupt, "the log has an operation that does not fit: \(reason)")
        }
        do throws(StoreError) { try apply(op) } catch {
            // It gives two objects one unique value, or makes a key that is too long.
            guard error.code == .duplicateKey || error.isDamage || error.isUnfit else { throw error }
            throw StoreError(.corrupt, "the log has an operation that does not fit: \(error.message)")
        }
    }

    /// The same for one that was looked at.
    func apply(_ op: Op) throws(StoreError) {
        switch op {
        case .schema(let schema): try setSchema(schema)
        case .create(let classID, let key, let values): try state(Int(classID)).replayCreate(key, values)
        case .update(let classID, let key, let changes):
            try state(Int(classID)).replayUpdate(key, changes)
        case .splice(let classID, let key, let column, let splice):
            try state(Int(classID)).replaySplice(key, column: column, splice)
        case .edit(let classID, let key, let column, let edit):
            try state(Int(classID)).replayEdit(key, column: column, edit)
        case .delete(let classID, let key): try state(Int(classID)).replayDelete(key)
        }
    }
}

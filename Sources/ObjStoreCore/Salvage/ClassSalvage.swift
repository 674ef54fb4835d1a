/// Copies what can be read of one class into a new store, and knows what could not be.
///
/// An object whose own pages are damaged in part is kept: a value that is lost is looked for in the property's index,
/// and else becomes null, or the property's default where it cannot be null. Without its primary key an object is lost,
/// and without a unique value that cannot be null.
struct ClassSalvage {
    let image: VersionImage
    let index: Int
    let cls: ClassSchema

    /// Objects that the class should have; nil: unknown.
    private(set) var expected: Int?
    /// Objects that were copied, and of those lost ones that the log deletes.
    private(set) var copied = 0
    var deletedLost = 0
    /// Objects that exist in the end.
    var objects = 0
    /// By column id.
    var lostValues: [UInt32: LostKeys] = [:]
    private var lostObjects = LostKeys()
    private var rescues: [Int: IndexRescue] = [:]
    private var collections: [CollectionSalvage] = []
    /// Of the object that is being copied.
    private var values: [Value]

    init(_ image: VersionImage, _ index: Int) {
        self.image = image
        self.index = index
        cls = image.schema.classes[index]
        values = Array(repeating: .null, count: cls.columns.count)
    }

    /// A class that only the log knows: nothing of it was lost.
    init(addedBy schema: Schema, _ index: Int, _ source: PageSource) {
        self.init(VersionImage(source: source, root: .null, version: 0, schema: schema), index)
        expected = 0
    }

    var lost: Int? { expected.map { max(0, $0 - copied - deletedLost) } }

    /// Embedded objects that were copied without their parent, and left out again.
    mutating func didLoseParents(_ count: Int) {
        objects -= count
        copied -= count
    }

    /// - Parameter copy: called after each object that was copied.
    mutating func run(
        _ target: SalvageTarget, finding: (String) throws(StoreError) -> Void,
        copied didCopy: () throws(StoreError) -> Void
    ) throws(StoreError) {
        let node: UnsafeRawPointer
        do throws(StoreError) { node = try image.classNode(index) } catch {
            guard error.isDamage else { throw error }
            return try finding("class \(cls.name), its node, so all its objects: \(error.message)")
        }
        expected = ClassNode.objectCount(node)
        for index in cls.indexes where !index.isEncoded {
            rescues[index.first] = IndexRescue(
                source: image.source, version: image.version, root: ClassNode.root(node, of: index), kind: index.kind)
        }
        collections = cls.collections.map {
            CollectionSalvage(
                cls: cls, property: $0,
                tree: CollectionReader(
                    source: image.source, root: ClassNode.collectionRoot(node, column: cls.columns[$0].id)))
        }
        let reader = image.reader(index, node), used = UsedUnits(fileBytes: image.source.limit)
        var walk = ClusterWalk(source: image.source, version: image.version)
        let nextKey = ClassNode.nextKey(node)
        try walk.run(
            reader.root, rows: expected, visit: { (extent) throws(StoreError) in try used.insert(extent) },
            leaf: { (head) throws(StoreError) in
                let keys = LeafKeys(image.source, head)
                do throws(StoreError) { try reader.checkKeys(head) } catch {
                    guard error.isDamage else { throw error }
                    interrupt()
                    let range = LeafHead.keyBase(head)..<LeafHead.keyBase(head) + LeafHead.keyEntry(head).max + 1
                    return try finding(
                        """
                        class \(cls.name), \(objectsText(range)), \(LeafHead.live(head)) of them, lost: \
                        \(error.message)
                        """
                    )
                }
                for slot in 0..<LeafHead.rows(head) where LeafHead.isLive(head, slot) {
                    if try copyRow(RowPosition(head: head, slot: slot, key: try keys.key(slot)), reader, target) {
                        try didCopy()
                    }
                }
            },
            damaged: { (damage) throws(StoreError) in
                interrupt()
                let rows = damage.rows.map { $0 == 0 ? "" : ", \($0) of them" } ?? ""
                try finding("class \(cls.name), \(objectsText(damage.keys))\(rows): \(damage.message)")
            })
        rescues = [:]
        try target.state(index).raiseNextKey(to: nextKey)
        for run in lostObjects.runs {
            try finding("class \(cls.name), \(objectsText(run.keys)), \(run.count) of them, lost: \(run.reason)")
        }
    }

    private mutating func interrupt() {
        lostObjects.interrupt()
        for id in lostValues.keys { lostValues[id]!.interrupt() }
    }

    /// False where the object is lost.
    private mutating func copyRow(
        _ row: RowPosition, _ reader: ClusterReader, _ target: SalvageTarget
    ) throws(StoreError) -> Bool {
        let key = row.key
        var losses: [(property: Int, reason: String)] = []
        // What the index gave stays as long as it is copied.
        var kept: [OwnedValue] = []
        for property in values.indices {
            if cls.columns[property].kind.isCollection {
                values[property] = .zero(of: cls.columns[property].kind)
                continue
            }
            do throws(StoreError) {
                values[property] = try reader.value(row, property)
                try ValueCheck.checkStored(values[property], for: property, of: cls)
            } catch {
                guard error.isDamage || error.isUnfit else { throw error }
                if let value = try rescue(property, key) {
                    kept.append(value)
                    values[property] = value.value
                    continue
                }
                if cls.isKeyPart(property) {
                    lostObjects.append(
                        key, "their primary key \(cls.properties[property].name) cannot be read: \(error.message)")
                    return false
                }
                // Any replacement could be the value of another object.
                if cls.properties[property].isUnique, !cls.columns[property].nullable {
                    lostObjects.append(
                        key, "their unique \(cls.properties[property].name) cannot be read: \(error.message)")
                    return false
                }
                losses.append((property, error.message))
                values[property] = cls.substitute(property)
            }
        }
        let state = try target.state(index)
        if let primary = cls.primaryKey, let other = try state.find(primaryKey: values[primary]) {
            lostObjects.append(
                key,
                "object \(other) has the same \(cls.properties[primary].name) \(values[primary].text), and came first")
            return false
        }
        do throws(StoreError) {
            guard try makeUnique(state, key, &losses) else { return false }
            if let reason = try state.misfit(newKey: key, values) { throw StoreError(.corrupt, reason) }
            try state.replayCreate(key, values)
        } catch {
            // Values that are each valid where they are, but not all together, as in a key of several.
            guard !target.transaction.isBroken, error.isDamage || error.isUnfit else { throw error }
            lostObjects.append(key, "they cannot be made again: \(error.message)")
            return false
        }
        withExtendedLifetime(kept) {}
        for collection in collections {
            if let reason = try collection.copy(row, reader, to: state) { losses.append((collection.property, reason)) }
        }
        copied += 1
        objects += 1
        lostObjects.interrupt()
        if !losses.isEmpty || !lostValues.isEmpty { note(losses, key) }
        try target.didChange()
        return true
    }

    /// Drops values that another object has, where they are to be unique: for null, where that is allowed, else the
    /// object is lost. Objects of a sound class have none such; one whose value was lost may have got that of another.
    private mutating func makeUnique(
        _ state: ClassState, _ key: Int64, _ losses: inout [(property: Int, reason: String)]
    ) throws(StoreError) -> Bool {
        while let (index, other) = try state.conflict(values) {
            let has = try cls.text(of: index) { (property) throws(StoreError) in values[property] }
            let reason = "object \(other) has the same \(has), which is unique, and came first"
            guard let property = index.properties.first(where: { cls.columns[$0].nullable }) else {
                lostObjects.append(key, reason)
                return false
            }
            losses.removeAll { $0.property == property }
            losses.append((property, reason))
            values[property] = .null
        }
        return true
    }

    private mutating func note(_ losses: [(property: Int, reason: String)], _ key: Int64) {
        for property in values.indices {
            let id = cls.columns[property].id
            if let loss = losses.first(where: { $0.property == property }) {
                lostValues[id, default: LostKeys()].append(key, loss.reason)
            } else if lostValues[id] != nil {
                lostValues[id]!.interrupt()
            }
        }
    }

    /// What the property's index says, if it is a value that the property can have.
    private mutating func rescue(_ property: Int, _ key: Int64) throws(StoreError) -> OwnedValue? {
        guard let value = try rescues[property]?.value(of: key) else { return nil }
        do throws(StoreError) { try ValueCheck.check(value, for: property, of: cls, limit: .max) } catch {
            guard error.isUnfit else { throw error }
            return nil
        }
        return try OwnedValue(copying: value)
    }
}

extension ClassSchema {
    /// What replaces a value that is lost: null where that is allowed, else the default, or what objects have that
    /// are older than the property.
    package func substitute(_ property: Int) -> Value {
        if columns[property].nullable { return .null }
        for value in [properties[property].defaultValue?.value, properties[property].fill.value] {
            if let value, (try? ValueCheck.check(value, for: property, of: self, limit: .max)) != nil { return value }
        }
        return .zero(of: columns[property].kind)
    }
}

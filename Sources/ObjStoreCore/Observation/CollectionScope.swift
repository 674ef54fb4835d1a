/// Which list, set or map an observer looks at; it is found anew in each version.
package final class CollectionScope: Sendable {
    let id: CollectionID
    let kind: ValueKind
    /// Inside of a mixed value; nil: what the property has itself.
    let path: NestedPath?
    private let propertyKind: ValueKind
    /// Of the property.
    let columnID: UInt32
    /// As an index in the schema: of the objects that the elements are links to; nil: they are values.
    let target: Int?
    /// Objects of the target lie inside of the owner: their changes are changes of his property.
    private let isEmbedding: Bool
    /// Which modifications of the objects that the elements are links to count.
    let paths: ObservedPaths

    /// - Parameter tag: what says of an object id that it is of this store.
    /// Errors: `.wrongStore`, `.noSuchClass`, `.noSuchProperty`, `.wrongType`, `.noSuchObject`.
    init(_ id: CollectionID, _ paths: ObservedPaths, in snapshot: Snapshot, tag: UInt32) throws(StoreError) {
        self.paths = paths
        let cls = try snapshot.schema.cls(of: id.owner, in: tag), position = try cls.collection(id.propertyID)
        self.id = id
        kind = cls.columns[position].kind
        columnID = cls.columns[position].id
        target = cls.columns[position].target == 0 ? nil : ClassID.index(cls.columns[position].target)
        isEmbedding = target.map { snapshot.schema.classes[$0].isEmbedded } ?? false
        path = nil
        propertyKind = kind
        if try elements(in: snapshot) == nil { throw cls.noSuchObject(id.owner.key) }
    }

    /// Of a list or map inside of a mixed value, which has no objects of one class.
    init(_ id: CollectionID, _ kind: ValueKind, _ path: NestedPath, _ column: ColumnSpec) {
        (self.id, self.kind, self.path) = (id, kind, path)
        paths = .usual
        columnID = column.id
        propertyKind = column.kind
        target = nil
        isEmbedding = false
    }

    /// What change sets tell of are objects: of lists and sets of links. Else positions, and of maps keys.
    var hasObjects: Bool { target != nil && kind != .map }
    /// As indexes in the schema.
    var ownerClass: Int { ClassID.index(id.owner.classID) }
    var toldClass: Int { hasObjects ? target ?? ownerClass : ownerClass }
    /// Whose changes have to be looked at.
    func classes(in schema: Schema) -> Set<UInt32> {
        var classes: Set = [UInt32(ownerClass)]
        if let target {
            classes.insert(UInt32(target))
            if target < schema.classes.count { paths.addClasses(from: target, of: schema, to: &classes) }
        }
        return classes
    }

    /// Where the property is in a version; nil: it, or its class, was dropped.
    private func position(in snapshot: Snapshot) -> Int? {
        guard ownerClass < snapshot.schema.classes.count else { return nil }
        let cls = snapshot.schema.classes[ownerClass]
        guard !cls.isDropped, let position = try? cls.position(id.propertyID),
            cls.columns[position].kind == propertyKind
        else { return nil }
        return position
    }

    /// Nil: the version does not have the owner, or not the property. They hold while it is pinned.
    func elements(in snapshot: Snapshot) throws(StoreError) -> ObservedElements? {
        guard let position = position(in: snapshot) else { return nil }
        let cls = snapshot.schema.classes[ownerClass], trees = TreeAccess.version(snapshot)
        let reader = try trees.objects(cls)
        guard let row = try reader.find(id.owner.key) else { return nil }
        if let path { return .nested(try path.entries(trees, cls, id, kind)) }
        return .stored(try trees.elements(row, cls, position, reader))
    }

    func describe(_ changes: ChangeSet) {
        changes.elements = hasObjects ? .objects : kind == .map ? .entries : .values
        if kind == .map { changes.keys = ChangedKeys() }
    }

    /// Whether elements may have come, gone or been replaced.
    func isWritten(_ reader: ChangeReader) throws(StoreError) -> Bool {
        if try reader.from.schemaRef() != reader.to.schemaRef() { return true }
        guard let changes = reader.classes[UInt32(ownerClass)] else { return false }
        if changes.deleted.hasAscending(id.owner.key) { return true }
        guard let index = changes.rowOfModification(id.owner.key) else { return false }
        guard let position = position(in: reader.to) else { return true }
        return changes.hasWritten([position], in: index)
    }

    /// The objects of the target class that were modified, where some of them may be in the collection; nil: none.
    func modifiedObjects(_ reader: ChangeReader) throws(StoreError) -> ModifiedObjects? {
        guard let target, target < reader.to.schema.classes.count else { return nil }
        let modified = try ModifiedObjects(reader, target, paths)
        if modified.isUntold { return nil }
        guard modified.masks.count <= CollectionScope.mostLookedUp, let position = position(in: reader.to),
            let inverse = try reader.to.trees.inverse(reader.to.schema.classes[ownerClass], position)
        else { return modified }
        for key in modified.told ?? Set(modified.masks.keys)
        where try inverse.linkCount(from: id.owner.key, to: key) > 0 { return modified }
        return nil
    }

    /// Where some objects are in the collection, ascending; nil: they are too many to look for each. Costs O(log n) of
    /// a set; of others a look at the links, where they lie side by side.
    func places(
        of wanted: Set<Int64>, in elements: CollectionElements, _ snapshot: Snapshot
    ) throws(StoreError) -> [Int]? {
        guard wanted.count <= CollectionScope.mostLookedUp, let position = position(in: snapshot),
            let inverse = try snapshot.trees.inverse(snapshot.schema.classes[ownerClass], position)
        else { return nil }
        var found: [Int] = [], links: [(key: Int64, count: Int)] = []
        for key in wanted {
            let count = try inverse.linkCount(from: id.owner.key, to: key)
            if count > 0 { links.append((key, count)) }
        }
        let range = kind == .set ? nil : try elements.range()
        if range != nil && links.count > CollectionScope.mostScans { return nil }
        for (key, count) in links {
            func add(_ index: Int, _: Value) { found.append(index) }
            if let range {
                try elements.forEachLink(.to(key), in: range, atMost: count, add)
            } else {
                try elements.forEachLink(.to(key), add)
            }
        }
        return found.sorted()
    }

    /// In so many scans of its links a comparison of all elements costs as much.
    private static let mostScans = 8

    /// More objects than these are looked for in the collection, not by its inverse.
    private static let mostLookedUp = 64

    /// Some of what concerns it comes from another process.
    func isFromOtherProcess(_ reader: ChangeReader) -> Bool {
        classes(in: reader.to.schema).contains { reader.classes[$0]?.isFromOtherProcess ?? false }
    }
}

/// Checks the lists, sets or maps of one property: every node, the order of elements, their kinds, and that those in
/// the tree and those in rows belong to objects that say so; of links also their inverse. It continues behind what is
/// damaged.
struct CollectionCheck {
    let cls: ClassSchema
    let property: Int
    let version: UInt64
    let tree: CollectionReader
    let objects: ClusterReader
    /// What the objects' own pages were found to have: it is not reported again.
    let known: Set<String>

    private let kind: ValueKind
    private let schema: ElementSchema
    private var isWhole = true
    /// Owners that have elements in the tree, ascending.
    private var owners: [Int64] = []
    private var lastKey: OwnedValue?
    /// Of links, where their inverse can be read.
    private var links: InverseCheck?

    /// - Parameter inverse: that of a collection of links, if it is whole, and how many entries it has.
    init(
        _ image: VersionImage, _ cls: ClassSchema, _ property: Int, _ node: UnsafeRawPointer, _ objects: ClusterReader,
        known: Set<String>,
        inverse: (root: Ref, entries: Int)?
    ) {
        self.cls = cls
        self.property = property
        self.objects = objects
        self.known = known
        version = image.version
        kind = cls.columns[property].kind
        schema = cls.properties[property].elements!
        tree = CollectionReader(
            source: image.source, root: ClassNode.collectionRoot(node, column: cls.columns[property].id))
        links = inverse.map {
            InverseCheck(
                "\(cls.name).\(cls.properties[property].name)",
                IndexReader(source: image.source, root: $0.root, kind: .link), entries: $0.entries)
        }
    }

    mutating func run(
        visit: (VisitedExtent) throws(StoreError) -> Void, finding: (String) throws(StoreError) -> Void
    ) throws(StoreError) {
        if !tree.root.isNull {
            try checkNode(tree.root, .collectionInner, above: nil, owners: 0..<Int64.max, visit, finding)
        }
        try checkOwners(finding)
    }

    private func name(_ keys: Range<Int64>) -> String {
        "class \(cls.name), elements of \(cls.properties[property].name), \(objectsText(keys))"
    }

    /// - Parameter owners: which may have elements here.
    private mutating func checkNode(
        _ ref: Ref, _ nodeKind: NodeKind, above: UnsafeRawPointer?, owners: Range<Int64>,
        _ visit: (VisitedExtent) throws(StoreError) -> Void,
        _ finding: (String) throws(StoreError) -> Void
    ) throws(StoreError) {
        let node: UnsafeRawPointer
        do throws(StoreError) {
            node = nodeKind == .collectionLeaf ? try tree.source.node(ref, nodeKind) : try tree.inner(ref, above: above)
            let born = NodeHeader.born(node)
            if born > version { throw CollectionReader.damaged("a node of version \(born) in version \(version)") }
            try visit(VisitedExtent(unit: ref.unit, units: PageSize.units(NodeHeader.bytes(node)), born: born))
        } catch {
            guard error.isDamage else { throw error }
            isWhole = false
            lastKey = nil
            return try finding("\(name(owners)): \(error.message)")
        }
        if nodeKind == .collectionLeaf { return try checkLeaf(CollectionLeaf(node), visit, finding) }
        let count = NodeHeader.count(node)
        for index in 0..<count {
            let child = CollectionInner.child(node, index)
            let end = index + 1 < count ? CollectionInner.owners(node)[index + 1] + 1 : owners.upperBound
            let told = isWhole
            try checkNode(
                child.ref, CollectionInner.childKind(node), above: node, owners: child.owner..<max(child.owner, end),
                visit, finding)
            guard told, isWhole else { continue }
            try checkChild(child, node, finding)
            if let wrong = try tree.wrongHead(node, index) {
                try finding("\(name(child.owner..<child.owner + 1)): \(wrong)")
            }
        }
    }

    /// What a parent says of a child that can be read.
    private func checkChild(
        _ child: CollectionChild, _ node: UnsafeRawPointer, _ finding: (String) throws(StoreError) -> Void
    ) throws(StoreError) {
        let owner: Int64, count: Int
        if CollectionInner.level(node) == 1 {
            let leaf = try tree.leaf(child.ref)
            (owner, count) = (leaf.firstOwner, leaf.count)
        } else {
            let below = try tree.inner(child.ref, above: node)
            (owner, count) = (CollectionInner.owners(below)[0], CollectionInner.total(below))
        }
        if owner != child.owner || count != child.count {
            try finding(
                """
                \(name(child.owner..<child.owner + 1)): a node has \(count) elements from object \(owner) on, its \
                parent says \(child.count) from \(child.owner)
                """
            )
        }
    }

    private mutating func checkLeaf(
        _ leaf: CollectionLeaf, _ visit: (VisitedExtent) throws(StoreError) -> Void,
        _ finding: (String) throws(StoreError) -> Void
    ) throws(StoreError) {
        guard leaf.hasKeys == (kind == .map) else {
            return try finding("\(name(leaf.firstOwner..<leaf.firstOwner + 1)): a leaf of another kind of collection")
        }
        for at in 0..<leaf.ownerCount {
            let owner = leaf.owner(at)
            if owners.last != owner {
                if let last = owners.last, last > owner {
                    try finding("\(name(owner..<owner + 1)): they stand behind those of object \(last)")
                }
                owners.append(owner)
                lastKey = nil
            }
            for index in leaf.start(at)..<leaf.end(at) {
                let stored = leaf.values.stored(index)
                do throws(StoreError) {
                    let value = try tree.resolve(stored), key = kind == .map ? leaf.keys.stored(index).value : value
                    if stored.isLong {
                        let cell = LongValue(stored.value.pointer!)
                        try visit(
                            VisitedExtent(
                                unit: Ref(raw: cell.ref).unit, units: PageSize.units(cell.bytes), born: cell.born))
                    }
                    try ValueCheck.check(key: key, value: value, elementOf: property, cls, after: lastKey)
                    if kind != .list { lastKey = OwnedValue(key) }
                    if value.kind == .link { try links?.add(value.low, of: owner, finding) }
                } catch {
                    guard error.isDamage || error.isUnfit else { throw error }
                    try finding("\(name(owner..<owner + 1)): \(error.message)")
                }
            }
        }
    }

    /// Rows and tree agree about whose elements lie in the tree; those in rows are whole.
    private mutating func checkOwners(_ finding: (String) throws(StoreError) -> Void) throws(StoreError) {
        var at = 0, areObjectsWhole = known.isEmpty
        func told(_ error: StoreError) throws(StoreError) {
            guard error.isDamage else { throw error }
            areObjectsWhole = false
        }
        var next: RowPosition?
        do throws(StoreError) { next = try objects.seek(.min) } catch { try told(error) }
        while let row = next {
            while at < owners.count, owners[at] < row.key {
                if areObjectsWhole { try finding("\(name(owners[at]..<owners[at] + 1)): the object does not exist") }
                at += 1
            }
            let hasTree = at < owners.count && owners[at] == row.key
            if hasTree { at += 1 }
            do throws(StoreError) {
                let value = try objects.value(row, property)
                let cell = CollectionCell.Bytes(start: value.pointer, count: value.count)
                if CollectionCell.isInTree(cell) != hasTree, hasTree || isWhole {
                    try finding(
                        """
                        \(name(row.key..<row.key + 1)): they are \(hasTree ? "" : "not ")in the tree, and the object \
                        says otherwise
                        """
                    )
                }
                if !CollectionCell.isInTree(cell) { try checkCell(cell, row.key, finding) }
                next = try objects.next(row)
            } catch {
                try told(error)
                break
            }
        }
        if areObjectsWhole, next == nil {
            while at < owners.count {
                try finding("\(name(owners[at]..<owners[at] + 1)): the object does not exist"); at += 1
            }
        }
        try links?.end(isWhole: isWhole && areObjectsWhole && next == nil, finding)
    }

    private mutating func checkCell(
        _ cell: CollectionCell.Bytes, _ owner: Int64, _ finding: (String) throws(StoreError) -> Void
    ) throws(StoreError) {
        var last: OwnedValue?
        do throws(StoreError) {
            try CollectionCell.forEach(cell, schema) { (key, value) throws(StoreError) in
                try ValueCheck.check(key: key, value: value, elementOf: property, cls, after: last)
                if kind != .list { last = OwnedValue(kind == .map ? key : value) }
                if value.kind == .link { try links?.add(value.low, of: owner, finding) }
                return true
            }
        } catch {
            guard error.isDamage || error.isUnfit else { throw error }
            try finding("\(name(owner..<owner + 1)): \(error.message)")
        }
    }
}

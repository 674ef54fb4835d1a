/// Checks one index of a class: every node, the order of its entries, and each pair (value, object) against the object;
/// of a link's index also that the object it leads to exists. What the inverse of a collection has is compared by
/// `InverseCheck`.
struct IndexCheck {
    let image: VersionImage
    let cls: ClassSchema
    let index: IndexSchema
    let reader: ClusterReader
    /// What the objects' own pages were found to have; see `ClusterCheck.messages`.
    let known: Set<String>

    /// Contradictions that are reported one by one; the others are counted.
    private static let told = 20

    /// Returns how many entries there are; nil where some cannot be read.
    @discardableResult
    func run(
        _ root: Ref, objects: Int, isObjectTreeSound: Bool, visit: (VisitedExtent) throws(StoreError) -> Void,
        compared: () throws(StoreError) -> Void, finding: (String) throws(StoreError) -> Void
    ) throws(StoreError) -> Int? {
        let name = cls.name(of: index), key = IndexKey()
        var reported: Set<UInt64> = []
        var isWhole = true, entries = 0, contradictions = 0
        let targets = try linkTargets()
        var target: (key: Int64, exists: Bool)?
        func damaged(_ ref: Ref, _ what: String) throws(StoreError) {
            reported.insert(ref.raw)
            isWhole = false
            if !known.contains(what) { try finding("index of \(name): \(what)") }
        }
        try walkExtents(root, .indexInner, above: IndexInner.deepest + 1, entries: objects, visit, damaged)
        let long = LongValues(reader, index: index)
        do throws(StoreError) {
            if reported.contains(root.raw) { return nil }
            _ = try IndexTree.checkInvariants(
                root, image.source, kind: index.kind, unique: index.isUnique, longValues: long,
                damaged: { (ref, error) throws(StoreError) in
                    guard error.isDamage else { throw error }
                    // What the walk above has reported is not reported again.
                    if reported.contains(ref.raw) { return }
                    try damaged(ref, error.message)
                },
                visit: { (value, objectKey) throws(StoreError) in
                    entries += 1
                    try compared()
                    var contradiction = index.isInverse ? nil : try compare(value, objectKey, key)
                    if let targets, !value.isNull {
                        if target?.key != value.low { target = (value.low, try exists(value.low, targets)) }
                        if contradiction == nil, target?.exists == false {
                            contradiction = "object \(objectKey) links to object \(value.low), which does not exist"
                        }
                    }
                    guard let contradiction else { return }
                    contradictions += 1
                    if contradictions <= IndexCheck.told { try finding("index of \(name): \(contradiction)") }
                })
        } catch {
            guard error.isDamage else { throw error }
            try damaged(root, error.message)
        }
        if contradictions > IndexCheck.told {
            try finding("index of \(name): \(contradictions - IndexCheck.told) more entries contradict their objects")
        }
        if isWhole, isObjectTreeSound, !index.isInverse, entries != objects {
            try finding("index of \(name): it has \(entries) entries for \(objects) objects")
        }
        return isWhole ? entries : nil
    }

    /// The objects that a link may lead to; nil where it is none, or where they cannot be read, which others say.
    private func linkTargets() throws(StoreError) -> ClusterReader? {
        guard !index.isEncoded, let target = cls.properties[index.first].target else { return nil }
        do throws(StoreError) { return image.reader(target, try image.classNode(target)) } catch {
            guard error.isDamage || error.code == .noSuchClass else { throw error }
            return nil
        }
    }

    /// True also where a page of the objects is damaged, which others say.
    private func exists(_ key: Int64, _ targets: ClusterReader) throws(StoreError) -> Bool {
        do throws(StoreError) { return try targets.find(key) != nil } catch {
            guard error.isDamage else { throw error }
            return true
        }
    }

    /// Nil where the pair is right, or the object's value cannot be read.
    private func compare(_ value: Value, _ objectKey: Int64, _ key: IndexKey) throws(StoreError) -> String? {
        do throws(StoreError) {
            guard let row = try reader.find(objectKey) else {
                return "it names object \(objectKey), which does not exist"
            }
            let stored = try index.extract(objectKey, into: key) { (property) throws(StoreError) in
                try reader.value(row, property)
            }
            if IndexCheck.isIndexed(stored, as: value) { return nil }
            let has = try cls.text(of: index) { (property) throws(StoreError) in try reader.value(row, property) }
            return index.isEncoded
                ? "it has another key for object \(objectKey), which has \(has)"
                : "it has \(value.text) for object \(objectKey), which has \(stored.text)"
        } catch {
            guard error.isDamage else { throw error }
            return nil
        }
    }

    private func walkExtents(
        _ ref: Ref, _ kind: NodeKind, above: Int, entries: Int, _ visit: (VisitedExtent) throws(StoreError) -> Void,
        _ damaged: (Ref, String) throws(StoreError) -> Void
    ) throws(StoreError) {
        if ref.isNull { return }
        let node: UnsafeRawPointer
        do throws(StoreError) {
            node = try image.source.node(ref, kind)
            if kind == .indexInner, IndexInner.level(node) >= above {
                throw StoreError(.corrupt, "a node of another level")
            }
            let born = NodeHeader.born(node)
            if born > image.version {
                throw StoreError(.corrupt, "a node of version \(born) in version \(image.version)")
            }
            try visit(VisitedExtent(unit: ref.unit, units: PageSize.units(NodeHeader.bytes(node)), born: born))
        } catch {
            guard error.isDamage else { throw error }
            return try damaged(ref, "\(error.message) (\(entries) entries)")
        }
        guard kind == .indexInner else { return }
        let counts = IndexInner.counts(node)
        for child in 0..<NodeHeader.count(node) {
            try walkExtents(
                IndexInner.ref(node, child), IndexInner.childKind(node), above: IndexInner.level(node),
                entries: Int(truncatingIfNeeded: counts.offset(child)), visit, damaged)
        }
    }

    /// Index entries hold doubles with one zero and one NaN, and texts cut after 64 bytes.
    private static func isIndexed(_ stored: Value, as entry: Value) -> Bool {
        guard stored.kind == entry.kind else { return false }
        switch stored.kind {
        case .double: return stored.asDouble == entry.asDouble || (stored.asDouble.isNaN && entry.asDouble.isNaN)
        case .float: return stored.asFloat == entry.asFloat || (stored.isNaN && entry.isNaN)
        case .decimal128: return stored.asDecimal == entry.asDecimal
        case .string, .binary:
            if stored.count <= entry.count { return stored.isSame(as: entry) }
            return Value(kind: stored.kind, pointer: stored.pointer, count: entry.count).isSame(as: entry)
        default: return stored.isSame(as: entry)
        }
    }
}

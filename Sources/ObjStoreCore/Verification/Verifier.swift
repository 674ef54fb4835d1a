/// Reads everything that a version consists of and checks it: hashes, structure, order, every index against
/// the objects, free space against pages in use. It continues behind what is damaged, and reports every finding.
package enum Verifier {
    /// How far a check is.
    package enum Step {
        /// An extent of this many bytes was read and its hash compared.
        case read(bytes: Int)
        /// An index entry was compared with its object, or the objects of a class with each other.
        case compared(entries: Int)
    }

    /// What a check has seen.
    struct Outcome {
        let used: UsedUnitsOfVersion
        /// Nothing was wrong.
        let isSound: Bool
        /// Of each class: objects that can be read, and how many cannot; nil = unknown.
        let classes: [(objects: Int, lost: Int?)]
    }

    /// A line of text for each finding; empty = sound. Without free space: the simulated machine's allocators
    /// belong to tasks that may be in the middle of something, and have an oracle of their own.
    ///
    /// - Parameter pause: called between objects; the simulated machine lets others run there.
    package static func findings(_ snapshot: Snapshot, pause: () -> Void = {}) -> [String] {
        var findings: [String] = []
        do throws(StoreError) {
            _ = try check(
                snapshot.image, step: { (_) throws(StoreError) in pause() },
                finding: { (text) throws(StoreError) in findings.append(text) })
        } catch {
            findings.append("the check ended: \(error.message)")
        }
        return findings
    }

    /// Passes to `finding` one by one what is wrong; what `step` or `finding` throw (`.cancelled`) ends the check.
    static func check(
        _ image: VersionImage, step: (Step) throws(StoreError) -> Void, finding: (String) throws(StoreError) -> Void
    ) throws(StoreError) -> Outcome {
        let used = UsedUnits(fileBytes: image.source.limit)
        var isSound = true
        func visit(_ extent: VisitedExtent) throws(StoreError) {
            try used.insert(extent)
            try step(.read(bytes: extent.units * PageSize.unit))
        }
        func wrong(_ text: String) throws(StoreError) {
            isSound = false
            try finding(text)
        }
        try checkHead(image, visit, wrong)
        var classes: [(objects: Int, lost: Int?)] = []
        for index in image.schema.classes.indices { classes.append(try checkClass(image, index, visit, step, wrong)) }
        for index in image.schema.classes.indices where image.schema.classes[index].isEmbedded {
            try ParentCheck(image: image, classIndex: index).run(finding: wrong)
        }
        let units = UsedUnitsOfVersion(version: image.version, pages: image.source.limit / PageSize.page, used: used)
        return Outcome(used: units, isSound: isSound, classes: classes)
    }

    /// Root and schema.
    private static func checkHead(
        _ image: VersionImage, _ visit: (VisitedExtent) throws(StoreError) -> Void,
        _ wrong: (String) throws(StoreError) -> Void
    ) throws(StoreError) {
        func node(_ ref: Ref, _ kind: NodeKind, _ name: String) throws(StoreError) -> UnsafeRawPointer? {
            do throws(StoreError) {
                let node = try image.source.node(ref, kind)
                let born = NodeHeader.born(node)
                if born > image.version {
                    throw StoreError(.corrupt, "it is of version \(born), in version \(image.version)")
                }
                try visit(VisitedExtent(unit: ref.unit, units: PageSize.units(NodeHeader.bytes(node)), born: born))
                return node
            } catch {
                guard error.isDamage else { throw error }
                try wrong("\(name): \(error.message)")
                return nil
            }
        }
        guard let root = try node(image.root, .root, "root") else { return }
        if NodeHeader.count(root) != image.schema.classes.count {
            try wrong("root: it has \(NodeHeader.count(root)) classes, the schema \(image.schema.classes.count)")
        }
        guard let schema = try node(RootNode.schema(root), .schema, "schema") else { return }
        do throws(StoreError) {
            var reader = ByteReader(schema + NodeHeader.size, count: NodeHeader.bytes(schema) - NodeHeader.size)
            _ = try SchemaCodec.read(&reader)
        } catch {
            guard error.isDamage else { throw error }
            try wrong("schema: \(error.message)")
        }
    }

    private static func checkClass(
        _ image: VersionImage, _ index: Int, _ visit: (VisitedExtent) throws(StoreError) -> Void,
        _ step: (Step) throws(StoreError) -> Void,
        _ wrong: (String) throws(StoreError) -> Void
    ) throws(StoreError) -> (objects: Int, lost: Int?) {
        let cls = image.schema.classes[index]
        let node: UnsafeRawPointer
        do throws(StoreError) {
            node = try image.classNode(index)
            let root = try image.source.node(image.root, .root)
            let unit = RootNode.classNode(root, index).unit
            try visit(
                VisitedExtent(unit: unit, units: PageSize.units(NodeHeader.bytes(node)), born: NodeHeader.born(node)))
        } catch {
            guard error.isDamage else { throw error }
            try wrong("class \(cls.name), its node, all objects and indexes: \(error.message)")
            return (0, nil)
        }
        let objects = ClassNode.objectCount(node)
        try step(.compared(entries: objects))
        var check = ClusterCheck(image, index, node)
        try check.run(node, visit: visit, finding: wrong)
        var inverses: [Int: (root: Ref, entries: Int)] = [:]
        for (position, index) in cls.allIndexes.enumerated() {
            let isMixed = position >= cls.indexes.count + cls.inverses.count
            if isMixed, position >= NodeHeader.count(node) {
                // The node is older than such links: there may be none.
                inverses[index.first] = (.null, 0)
                continue
            }
            guard position < NodeHeader.count(node), ClassNode.indexID(node, position) == index.id else {
                try wrong("index of \(cls.name(of: index)): it is missing")
                continue
            }
            let entries = try IndexCheck(
                image: image, cls: cls, index: index, reader: check.reader, known: check.messages
            ).run(
                ClassNode.indexRoot(node, position), objects: objects, isObjectTreeSound: check.isSound, visit: visit,
                compared: { () throws(StoreError) in try step(.compared(entries: 1)) }, finding: wrong)
            if index.isInverse, let entries { inverses[index.first] = (ClassNode.indexRoot(node, position), entries) }
        }
        if NodeHeader.count(node) > cls.allIndexes.count
            || ClassNode.collectionCount(node) > cls.collections.count
        {
            try wrong("class \(cls.name): its node has trees that the schema does not have")
        }
        for property in cls.mixed {
            guard let (root, entries) = inverses[property] else { continue }
            let elements =
                cls.columns[property].kind.isCollection
                ? CollectionReader(
                    source: image.source, root: ClassNode.collectionRoot(node, column: cls.columns[property].id)) : nil
            try MixedLinkCheck(
                image: image, cls: cls, property: property, root: root, entries: entries, elements: elements
            ).run(
                check.reader, isObjectTreeSound: check.isSound, wrong)
        }
        for property in cls.collections {
            var collection = CollectionCheck(
                image, cls, property, node, check.reader, known: check.messages,
                inverse: cls.inversePosition(of: property) == nil ? nil : inverses[property])
            try collection.run(visit: visit, finding: wrong)
        }
        return (check.objects, max(0, objects - check.objects))
    }
}

extension Snapshot {
    /// How many objects a class has, and the sum of one of its int properties; reads every row and allocates nothing.
    package func sumOfInts(_ classIndex: Int, _ property: Int) throws(StoreError) -> (count: Int, sum: Int64) {
        let cls = schema.classes[classIndex]
        let reader = try TreeAccess.version(self).objects(cls)
        var next = try reader.seek(.min)
        var count = 0, sum: Int64 = 0
        while let row = next {
            count += 1
            sum &+= try reader.int(row, property) ?? 0
            next = try reader.next(row)
        }
        return (count, sum)
    }

    /// The elements of a list, set or map, whose cell is among the values that `forEachObject` gives.
    package func elements(
        _ classIndex: Int, _ property: Int, of key: Int64, _ cell: Value
    ) throws(StoreError) -> CollectionElements {
        let cls = schema.classes[classIndex]
        return CollectionElements(key, cls, property, cell: cell, tree: try trees.collection(cls, property))
    }

    /// Visits every object of a class in key order; `values` are borrowed during the call.
    package func forEachObject(
        _ classIndex: Int, _ body: (Int64, [Value]) throws(StoreError) -> Void
    ) throws(StoreError) {
        let cls = schema.classes[classIndex]
        let reader = try TreeAccess.version(self).objects(cls)
        var next = try reader.seek(.min)
        while let row = next {
            var values: [Value] = []
            for property in 0..<cls.columns.count { values.append(try reader.value(row, property)) }
            try body(row.key, values)
            next = try reader.next(row)
        }
    }
}

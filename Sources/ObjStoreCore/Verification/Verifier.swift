/// Reads everything that a version consists of and checks it: hashes, structure, order, every index against
/// the objects.
package enum Verifier {
    /// A line of text for each finding; empty = sound.
    ///
    /// - Parameter pause: called between objects; the simulated machine lets others run there.
    package static func findings(_ snapshot: Snapshot, pause: () -> Void = {}) -> [String] {
        (try? check(snapshot) { () throws(StoreError) in pause() }) ?? ["cancelled"]
    }

    /// The same; a `pause` that throws `.cancelled` ends it.
    package static func check(_ snapshot: Snapshot, pause: () throws(StoreError) -> Void) throws(StoreError) -> [String] {
        var findings: [String] = []
        func attempt(_ what: String, _ body: () throws(StoreError) -> Void) throws(StoreError) {
            do throws(StoreError) { try body() } catch {
                if error.code == .cancelled { throw error }
                findings.append("\(what): \(error.message)")
            }
        }
        try attempt("pages") { () throws(StoreError) in try checkExtents(snapshot) }
        for (index, cls) in snapshot.schema.classes.enumerated() {
            try attempt("class \(cls.name)") { () throws(StoreError) in try checkClass(snapshot, index, pause: pause) }
        }
        return findings
    }

    /// Every extent is where it should be, and no two overlap.
    private static func checkExtents(_ snapshot: Snapshot) throws(StoreError) {
        var extents: [VisitedExtent] = []
        try StoreWalk.forEachExtent(root: snapshot.root, source: snapshot.source) { (extent) throws(StoreError) in
            if extent.born > snapshot.version { throw StoreError(.corrupt, "an extent of version \(extent.born) in version \(snapshot.version)") }
            extents.append(extent)
        }
        extents.sort { $0.unit < $1.unit }
        for index in extents.indices.dropFirst() where extents[index - 1].unit + extents[index - 1].units > extents[index].unit {
            throw StoreError(.corrupt, "two extents overlap at byte \(extents[index].unit * PageSize.unit)")
        }
    }

    private static func checkClass(_ snapshot: Snapshot, _ index: Int, pause: () throws(StoreError) -> Void) throws(StoreError) {
        let cls = snapshot.schema.classes[index]
        let node = try snapshot.classNode(index)
        let root = ClassNode.cluster(node)
        try ClusterReader.checkInvariants(root: root, source: snapshot.source, columns: cls.columns)
        let reader = ClusterReader(source: snapshot.source, root: root, columns: cls.columns)
        guard try reader.count() == ClassNode.objectCount(node) else {
            throw StoreError(.corrupt, "the class counts \(ClassNode.objectCount(node)) objects, its tree has \(try reader.count())")
        }
        if let last = try lastKey(reader), last >= ClassNode.nextKey(node) {
            throw StoreError(.corrupt, "object \(last) has a key that is still to be given out")
        }
        for (position, property) in cls.indexes.enumerated() {
            guard position < NodeHeader.count(node), ClassNode.indexColumn(node, position) == cls.columns[property].id else {
                throw StoreError(.corrupt, "the index of \(cls.properties[property].name) is missing")
            }
            let name = cls.properties[property].name
            var entries = 0
            let long = LongValues(reader, property: property)
            try IndexTree.checkInvariants(
                ClassNode.indexRoot(node, position), snapshot.source, kind: cls.columns[property].kind,
                unique: cls.properties[property].isPrimaryKey, longValues: long
            ) { (value, key) throws(StoreError) in
                entries += 1
                try pause()
                guard let row = try reader.find(key) else { throw StoreError(.corrupt, "the index of \(name) names object \(key), which does not exist") }
                let stored = try reader.value(row, property)
                guard isIndexed(stored, as: value) else {
                    throw StoreError(.corrupt, "the index of \(name) has \(value.text) for object \(key), which has \(stored.text)")
                }
            }
            guard entries == ClassNode.objectCount(node) else {
                throw StoreError(.corrupt, "the index of \(name) has \(entries) entries for \(ClassNode.objectCount(node)) objects")
            }
        }
    }

    /// Index entries hold doubles with one zero and one NaN, and texts cut after 64 bytes.
    private static func isIndexed(_ stored: Value, as entry: Value) -> Bool {
        guard stored.kind == entry.kind else { return false }
        switch stored.kind {
        case .double: return stored.asDouble == entry.asDouble || (stored.asDouble.isNaN && entry.asDouble.isNaN)
        case .string, .binary:
            if stored.count <= entry.count { return stored.isSame(as: entry) }
            return Value(kind: stored.kind, pointer: stored.pointer, count: entry.count).isSame(as: entry)
        default: return stored.isSame(as: entry)
        }
    }

    private static func lastKey(_ reader: ClusterReader) throws(StoreError) -> Int64? {
        let count = try reader.count()
        return count == 0 ? nil : try reader.row(at: count - 1)?.key
    }
}

extension Snapshot {
    /// How many objects a class has, and the sum of one of its int properties; reads every row and allocates nothing.
    package func sumOfInts(_ classIndex: Int, _ property: Int) throws(StoreError) -> (count: Int, sum: Int64) {
        let cls = schema.classes[classIndex]
        let reader = ClusterReader(source: source, root: ClassNode.cluster(try classNode(classIndex)), columns: cls.columns)
        var next = try reader.seek(.min)
        var count = 0, sum: Int64 = 0
        while let row = next {
            count += 1
            sum &+= try reader.int(row, property) ?? 0
            next = try reader.next(row)
        }
        return (count, sum)
    }

    /// Visits every object of a class in key order; `values` are borrowed during the call.
    package func forEachObject(_ classIndex: Int, _ body: (Int64, [Value]) throws(StoreError) -> Void) throws(StoreError) {
        let cls = schema.classes[classIndex]
        let reader = ClusterReader(source: source, root: ClassNode.cluster(try classNode(classIndex)), columns: cls.columns)
        var next = try reader.seek(.min)
        while let row = next {
            var values: [Value] = []
            for property in 0..<cls.columns.count { values.append(try reader.value(row, property)) }
            try body(row.key, values)
            next = try reader.next(row)
        }
    }
}

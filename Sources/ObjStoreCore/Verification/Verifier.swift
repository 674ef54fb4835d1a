/// Reads everything that a version consists of and checks it: hashes, structure, order, every index against
/// the objects, free space against pages in use.
package enum Verifier {
    /// How far a check is.
    package enum Step {
        /// An extent of so many bytes was read and its hash compared.
        case read(bytes: Int)
        /// An index entry was compared with its object, or the objects of a class with each other.
        case compared(entries: Int)
    }

    /// A line of text for each finding; empty = sound. Without free space: the simulated machine's allocators
    /// belong to tasks that may be in the middle of something, and have an oracle of their own.
    ///
    /// - Parameter pause: called between objects; the simulated machine lets others run there.
    package static func findings(_ snapshot: Snapshot, pause: () -> Void = {}) -> [String] {
        (try? check(snapshot, freeSpace: nil) { (_) throws(StoreError) in pause() }) ?? ["cancelled"]
    }

    /// The same; a `step` that throws `.cancelled` ends it. `freeSpace` compares free space with the units that were
    /// reached; asked when nothing else was found.
    package static func check(
        _ snapshot: Snapshot, freeSpace: ((UsedUnitsOfVersion) throws(StoreError) -> Void)?, step: (Step) throws(StoreError) -> Void
    ) throws(StoreError) -> [String] {
        var findings: [String] = []
        func attempt(_ what: String, _ body: () throws(StoreError) -> Void) throws(StoreError) {
            do throws(StoreError) { try body() } catch {
                if error.code == .cancelled || error.code == .timeout { throw error }
                findings.append("\(what): \(error.message)")
            }
        }
        // Each extent once: a tree that reaches one twice is not walked any further, nor checked in any other way.
        let used = UsedUnits(fileBytes: snapshot.source.limit)
        func visit(_ extent: VisitedExtent) throws(StoreError) {
            if extent.born > snapshot.version { throw StoreError(.corrupt, "an extent of version \(extent.born) in version \(snapshot.version)") }
            try used.insert(extent)
            try step(.read(bytes: extent.units * PageSize.unit))
        }
        try attempt("pages") { () throws(StoreError) in
            _ = try StoreWalk.forEachHead(root: snapshot.root, source: snapshot.source, visit: visit)
        }
        for (index, cls) in snapshot.schema.classes.enumerated() {
            try attempt("class \(cls.name)") { () throws(StoreError) in
                try StoreWalk.forEachExtent(ofClass: try snapshot.classNode(index), source: snapshot.source, visit: visit)
                try checkClass(snapshot, index, step)
            }
        }
        if findings.isEmpty, let freeSpace {
            try attempt("free space") { () throws(StoreError) in
                try freeSpace(UsedUnitsOfVersion(version: snapshot.version, pages: snapshot.source.limit / PageSize.page, used: used))
            }
        }
        return findings
    }

    private static func checkClass(_ snapshot: Snapshot, _ index: Int, _ step: (Step) throws(StoreError) -> Void) throws(StoreError) {
        let cls = snapshot.schema.classes[index]
        let node = try snapshot.classNode(index)
        let root = ClassNode.cluster(node)
        try ClusterReader.checkInvariants(root: root, source: snapshot.source, columns: cls.columns)
        try step(.compared(entries: ClassNode.objectCount(node)))
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
                try step(.compared(entries: 1))
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

    /// Index entries hold floats and doubles with one zero and one NaN, decimals by their number, and texts cut after 64
    /// bytes.
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

/// Checks all objects of a class: every node, every part of every column, and what the columns must hold.
struct ClusterCheck {
    let image: VersionImage
    let cls: ClassSchema
    let reader: ClusterReader

    /// Objects in leaves that can be read.
    private(set) var objects = 0
    /// What was wrong, and where in the file: an index that stumbles over the same page says nothing new.
    private(set) var messages: Set<String> = []

    init(_ image: VersionImage, _ index: Int, _ node: UnsafeRawPointer) {
        self.image = image
        cls = image.schema.classes[index]
        reader = image.reader(index, node)
    }

    var isSound: Bool { messages.isEmpty }

    mutating func run(
        _ node: UnsafeRawPointer, visit: (VisitedExtent) throws(StoreError) -> Void,
        finding: (String) throws(StoreError) -> Void
    ) throws(StoreError) {
        var walk = ClusterWalk(source: image.source, version: image.version)
        var objects = 0, last: Int64 = -1
        var messages: Set<String> = []
        func damaged(_ where: String, _ message: String) throws(StoreError) {
            messages.insert(message)
            try finding("class \(cls.name), \(`where`): \(message)")
        }
        try walk.run(
            reader.root, rows: ClassNode.objectCount(node), visit: visit,
            leaf: { (head) throws(StoreError) in
                objects += LeafHead.live(head)
                last = keys(head, 0..<LeafHead.rows(head)).upperBound - 1
                try checkLeaf(head, visit, damaged)
            },
            damaged: { (damage) throws(StoreError) in
                let rows = damage.rows.map { $0 == 0 ? "" : ", \($0) of them" } ?? ""
                try damaged("\(objectsText(damage.keys))\(rows)", damage.message)
            })
        if last >= ClassNode.nextKey(node) {
            try damaged("object \(last)", "it has a key that is still to be given out")
        }
        self.objects = objects
        self.messages = messages
    }

    private func checkLeaf(
        _ head: UnsafeRawPointer, _ visit: (VisitedExtent) throws(StoreError) -> Void,
        _ damaged: (String, String) throws(StoreError) -> Void
    ) throws(StoreError) {
        var broken: Set<UInt32> = []
        for line in 0..<LeafHead.entries(head) {
            let entry = LeafEntry(head + LeafHead.directory + line << 6)
            let isWhole = try checkParts(head, entry, visit, damaged)
            if !isWhole { broken.insert(entry.columnID) }
        }
        if !broken.contains(LeafKeys.column) {
            do throws(StoreError) { try reader.checkKeys(head) } catch {
                guard error.isDamage else { throw error }
                try damaged(
                    "\(name(LeafKeys.column)), \(objectsText(keys(head, 0..<LeafHead.rows(head))))", error.message)
            }
        }
        for column in 0..<reader.columns.count where !broken.contains(reader.columns[column].id) {
            do throws(StoreError) { try reader.checkColumn(head, column) } catch {
                guard error.isDamage else { throw error }
                try damaged(
                    "\(name(reader.columns[column].id)), \(objectsText(keys(head, 0..<LeafHead.rows(head))))",
                    error.message)
            }
        }
    }

    /// Whether every part of a line can be read, the long values of existing rows included.
    private func checkParts(
        _ head: UnsafeRawPointer, _ entry: LeafEntry, _ visit: (VisitedExtent) throws(StoreError) -> Void,
        _ damaged: (String, String) throws(StoreError) -> Void
    ) throws(StoreError) -> Bool {
        let leaf = LeafReader(source: image.source), rows = LeafHead.rows(head), epoch = LeafHead.bornEpoch(head)
        var isWhole = true, index = 0
        func attempt(_ rows: Range<Int>, _ what: String, _ body: () throws(StoreError) -> Void) throws(StoreError) {
            do throws(StoreError) { try body() } catch {
                guard error.isDamage else { throw error }
                isWhole = false
                try damaged("\(name(entry.columnID)), \(objectsText(keys(head, rows)))", what + error.message)
            }
        }
        func reached(_ raw: UInt64, _ bytes: Int, _ born: UInt64) throws(StoreError) {
            if born > image.version {
                throw StoreError(.corrupt, "a part of version \(born) in version \(image.version)")
            }
            try visit(VisitedExtent(unit: Ref(raw: raw).unit, units: PageSize.units(bytes), born: born))
        }
        try LeafExtents(image.source).forEachPart(head, entry) { (raw, bytes, born, hash, kind) throws(StoreError) in
            let isSegment = entry.isSegmented && kind != .fingerprints,
                first = isSegment ? index * entry.segmentRows : 0
            if isSegment { index += 1 }
            let part = min(first, rows)..<(isSegment ? min(rows, first + entry.segmentRows) : rows)
            try attempt(part, kind == .fingerprints ? "fingerprints: " : "") { () throws(StoreError) in
                _ = try leaf.part(raw, kind, head, bytes, hash, born)
                try reached(raw, bytes, epoch &+ UInt64(born))
            }
        }
        guard entry.isText, entry.flags & LeafEntry.Flags.longValues != 0 else { return isWhole }
        var first = 0
        while first < rows {
            let count = min(entry.segmentRows, rows - first)
            // A segment that cannot be read was reported above.
            if let part = try readable({ () throws(StoreError) in
                try leaf.textSegment(head, entry, segment: entry.segmentIndex(first), rows: count)
            }) {
                for row in 0..<count where StringSegment.isLong(part, row) && LeafHead.isLive(head, first + row) {
                    let cell = part + StringSegment.blobOffset(part) + StringSegment.offset(part, row),
                        value = LongValue(cell)
                    try attempt(first + row..<first + row + 1, "long value: ") { () throws(StoreError) in
                        _ = try leaf.longValue(cell)
                        try reached(value.ref, value.bytes, value.born)
                    }
                }
            }
            first += count
        }
        return isWhole
    }

    private func readable<T>(_ body: () throws(StoreError) -> T) throws(StoreError) -> T? {
        do throws(StoreError) { return try body() } catch {
            guard error.isDamage else { throw error }
            return nil
        }
    }

    /// The keys of some slots; where a list of keys cannot be read, all that the leaf may have.
    private func keys(_ head: UnsafeRawPointer, _ rows: Range<Int>) -> Range<Int64> {
        let base = LeafHead.keyBase(head), keys = LeafKeys(image.source, head)
        guard LeafHead.isSparse(head) else { return base + Int64(rows.lowerBound)..<base + Int64(rows.upperBound) }
        guard let first = try? keys.key(rows.lowerBound), let last = try? keys.key(rows.upperBound - 1), base <= first,
            first <= last
        else {
            return base..<base + LeafHead.keyEntry(head).max + 1
        }
        return first..<last + 1
    }

    private func name(_ column: UInt32) -> String {
        if column == LeafKeys.column { return "object keys" }
        if let property = cls.properties.first(where: { $0.columnID == column }) { return "property \(property.name)" }
        return "column \(column), which no property has any more"
    }
}

/// The invariants of every object tree; for `verify` and for tests. Reads everything.
extension ClusterReader {
    /// Visits every extent that a root reaches, parents before children, each checked before it is visited.
    package static func forEachExtent(
        root: Ref, source: PageSource, visit: (VisitedExtent) throws(StoreError) -> Void
    ) throws(StoreError) {
        let reader = ClusterReader(source: source, root: root, columns: UnsafeBufferPointer(start: nil, count: 0))
        switch try reader.rootNode() {
        case .empty: return
        case .leaf: try LeafExtents(source).visit(root, visit)
        case .inner: try reader.visitInner(root, visit)
        }
    }

    private func visitInner(_ ref: Ref, _ visit: (VisitedExtent) throws(StoreError) -> Void) throws(StoreError) {
        let node = try source.node(ref, .clusterInner)
        try visit(
            VisitedExtent(unit: ref.unit, units: PageSize.units(NodeHeader.bytes(node)), born: NodeHeader.born(node)))
        for index in 0..<NodeHeader.count(node) {
            let child = ClusterInner.ref(node, index)
            if ClusterInner.level(node) == 1 {
                try LeafExtents(source).visit(child, visit)
            } else {
                _ = try innerChild(node, index)
                try visitInner(child, visit)
            }
        }
    }

    /// Throws `.corrupt` naming the first thing that is wrong: order of keys, row counts, bitmaps, bounds,
    /// fingerprints, texts, overlapping extents.
    package static func checkInvariants(
        root: Ref, source: PageSource, columns: UnsafeBufferPointer<ColumnSpec>
    ) throws(StoreError) {
        if !root.isDirty {
            let used = UsedUnits(fileBytes: source.limit)
            try forEachExtent(root: root, source: source) { (extent) throws(StoreError) in try used.insert(extent) }
        }
        let reader = ClusterReader(source: source, root: root, columns: columns)
        switch try reader.rootNode() {
        case .empty: return
        case .leaf(let head): _ = try reader.checkLeaf(head, isDirty: root.isDirty)
        case .inner(let node): _ = try reader.checkInner(node, isRoot: true)
        }
    }

    static func wrong(_ what: String) -> StoreError { StoreError(.corrupt, "object tree: \(what)") }

    /// Returns keys and rows below.
    private func checkInner(
        _ node: UnsafeRawPointer, isRoot: Bool
    ) throws(StoreError) -> (first: Int64, last: Int64, rows: Int) {
        let count = NodeHeader.count(node), keys = ClusterInner.keys(node)
        if isRoot, count < 2 { throw ClusterReader.wrong("a root with \(count) child") }
        var last: Int64 = -1, total = 0, first: Int64 = -1
        for index in 0..<count {
            let below: (first: Int64, last: Int64, rows: Int)
            if ClusterInner.level(node) == 1 {
                let head = try leafChild(node, index)
                let rows = try checkLeaf(head, isDirty: ClusterInner.ref(node, index).isDirty)
                below = (LeafHead.keyBase(head), try LeafKeys(source, head).key(LeafHead.rows(head) - 1), rows)
            } else {
                below = try checkInner(try innerChild(node, index), isRoot: false)
            }
            if below.first < keys[index] || below.first <= last {
                throw ClusterReader.wrong("keys out of order at \(below.first)")
            }
            if index + 1 < count, below.last >= keys[index + 1] {
                throw ClusterReader.wrong("keys out of order at \(below.last)")
            }
            if Int(ClusterInner.rows(node)[index]) != below.rows {
                throw ClusterReader.wrong(
                    "row count of \(below.first): \(ClusterInner.rows(node)[index]), found \(below.rows)")
            }
            if index == 0 { first = below.first }
            last = below.last
            total += below.rows
        }
        return (first, last, total)
    }

    private func checkLeaf(_ head: UnsafeRawPointer, isDirty: Bool) throws(StoreError) -> Int {
        let rows = LeafHead.rows(head), name = "leaf \(LeafHead.keyBase(head))"
        if !isDirty, !LeafHead.isWellFormed(head, bytes: NodeHeader.bytes(head)) {
            throw ClusterReader.wrong("\(name) is not well formed")
        }
        var live = 0
        for slot in 0..<rows where LeafHead.isLive(head, slot) { live += 1 }
        if live != LeafHead.live(head) || live == 0 {
            throw ClusterReader.wrong("\(name) has \(live) rows, not \(LeafHead.live(head))")
        }
        try checkKeys(head)
        for column in 0..<columns.count { try checkColumn(head, column) }
        return live
    }

    /// The keys that a sparse leaf lists.
    func checkKeys(_ head: UnsafeRawPointer) throws(StoreError) {
        guard LeafHead.isSparse(head) else { return }
        let entry = LeafHead.keyEntry(head), reader = LeafReader(source: source)
        var last: Int64 = -1
        for slot in 0..<LeafHead.rows(head) {
            let offset = try reader.number(head, entry, slot)
            if offset <= last || offset > entry.max {
                throw ClusterReader.wrong("leaf \(LeafHead.keyBase(head)): keys out of order in slot \(slot)")
            }
            last = offset
        }
    }

    /// What one column of a leaf must hold: encoding, bounds, bitmaps, texts, fingerprints. Throws the first thing that
    /// is wrong.
    func checkColumn(_ head: UnsafeRawPointer, _ column: Int) throws(StoreError) {
        let spec = columns[column]
        guard let entry = LeafHead.entry(head, id: spec.id, hint: column) else { return }
        let place = "leaf \(LeafHead.keyBase(head)) column \(spec.id)"
        switch spec.kind {
        case .string, .binary, .list, .set, .map, .mixed:
            guard entry.isText else { throw LeafReader.wrongEncoding(spec) }
            try checkText(head, entry, spec, place)
        default:
            let wanted: [LeafEncoding] = spec.kind == .double ? [.double] : [.frame, .linear]
            guard wanted.contains(where: { $0.rawValue == entry.encoding }) else {
                throw LeafReader.wrongEncoding(spec)
            }
            try checkNumbers(head, entry, entry, spec, place)
            if spec.kind.isPair {
                guard let second = LeafHead.secondLine(head, id: spec.id) else { throw LeafReader.wrongEncoding(spec) }
                try checkNumbers(head, second, entry, spec, place)
            }
        }
    }

    private func checkNumbers(
        _ head: UnsafeRawPointer, _ entry: LeafEntry, _ nulls: LeafEntry, _ spec: ColumnSpec, _ place: String
    ) throws(StoreError) {
        let reader = LeafReader(source: source), rows = LeafHead.rows(head)
        if nulls.hasAux {
            for slot in rows..<(nulls.auxBytes * 8) where reader.isNullNumber(head, nulls, slot) {
                throw ClusterReader.wrong("\(place): null bit \(slot)")
            }
        }
        for slot in 0..<rows where LeafHead.isLive(head, slot) {
            if reader.isNullNumber(head, nulls, slot) {
                if !spec.nullable { throw ClusterReader.wrong("\(place) row \(slot) is null") }
                continue
            }
            let value = try reader.number(head, entry, slot)
            if spec.kind == .double {
                let number = Double(bitPattern: UInt64(bitPattern: value))
                let low = Double(bitPattern: UInt64(bitPattern: entry.base)),
                    high = Double(bitPattern: UInt64(bitPattern: entry.max))
                if entry.width != 0, number < low || number > high {
                    throw ClusterReader.wrong("\(place) row \(slot): \(number) is out of bounds")
                }
            } else if value < (entry.encoding == LeafEncoding.linear.rawValue ? Int64.min : entry.base)
                || value > entry.max
            {
                throw ClusterReader.wrong(
                    "\(place) row \(slot): \(value) is out of bounds \(entry.base)...\(entry.max)")
            }
        }
    }

    private func checkText(
        _ head: UnsafeRawPointer, _ entry: LeafEntry, _ spec: ColumnSpec, _ place: String
    ) throws(StoreError) {
        let reader = LeafReader(source: source), rows = LeafHead.rows(head)
        let fingerprints = try reader.fingerprints(head, entry).assumingMemoryBound(to: UInt8.self)
        var first = 0
        while first < rows {
            let count = min(entry.segmentRows, rows - first)
            let part = try reader.textSegment(head, entry, segment: entry.segmentIndex(first), rows: count)
            if StringSegment.rows(part) != count {
                throw ClusterReader.wrong("\(place): segment of \(StringSegment.rows(part)) rows")
            }
            for row in 0..<count {
                if !StringSegment.isDictionary(part),
                    StringSegment.offset(part, row) > StringSegment.offset(part, row + 1)
                {
                    throw ClusterReader.wrong("\(place) row \(first + row): offsets")
                }
                guard LeafHead.isLive(head, first + row) else { continue }
                let (pointer, length) = try reader.text(head, entry, first + row)
                if StringSegment.isLong(part, row) {
                    if entry.flags & LeafEntry.Flags.longValues == 0 {
                        throw ClusterReader.wrong("\(place): long value without flag")
                    }
                    if length <= StringSegment.shortValueLimit {
                        throw ClusterReader.wrong("\(place) row \(first + row): a short value outside")
                    }
                } else if length > StringSegment.inlineValueLimit {
                    throw ClusterReader.wrong("\(place) row \(first + row): a long value inside")
                }
                let found = fingerprints[first + row]
                if found == 0 {
                    if length != 0 || !spec.nullable {
                        throw ClusterReader.wrong("\(place) row \(first + row): null with \(length) bytes")
                    }
                } else if found != Fingerprint.of(pointer, length) {
                    throw ClusterReader.wrong("\(place) row \(first + row): fingerprint")
                }
                if spec.kind == .mixed, found != 0 {
                    try MixedCell.check(Value(kind: .mixed, pointer: pointer, count: length))
                }
            }
            first += count
        }
    }
}

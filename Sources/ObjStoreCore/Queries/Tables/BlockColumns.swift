/// A column of one word a row, bools, ints, floats, doubles and links, of the objects of one block after the other:
/// read once a block, whoever wants it.
final class NumberColumn {
    let position: Int
    private let spec: ColumnSpec
    private let reader: ClusterReader
    private let memory: UnsafeMutablePointer<Int64>
    /// Of the block that was read: of floats and doubles their bit patterns; of nulls anything.
    let values: UnsafeMutablePointer<Int64>
    /// A bit for each, 1: null. Only where there are nulls.
    let nulls: UnsafeMutablePointer<UInt64>
    private(set) var hasNulls = false
    private var readBlock = 0

    init(_ reader: ClusterReader, _ position: Int) throws(StoreError) {
        self.reader = reader
        self.position = position
        spec = reader.columns[position]
        let words = RowBlocks.most
        memory = try Memory.allocate(Int64.self, 2 * words + words / 64)
        values = memory
        nulls = UnsafeMutableRawPointer(memory + 2 * words).assumingMemoryBound(to: UInt64.self)
    }

    deinit { memory.deallocate() }

    /// A kind of which there is such a column.
    static func has(_ kind: ValueKind) -> Bool {
        switch kind {
        case .bool, .int, .float, .double, .link: true
        default: false
        }
    }

    /// What all values of ints, bools and links lie between, going by the leaves; nil: nobody knows.
    func bounds() throws(StoreError) -> ClosedRange<Int64>? {
        guard spec.kind == .int || spec.kind == .bool || spec.kind == .link else { return nil }
        var low = Int64.max, high = Int64.min
        rows = 0
        try reader.forEachLeaf { (head) throws(StoreError) in
            rows += LeafHead.live(head)
            guard let entry = LeafHead.entry(head, id: spec.id, hint: position) else {
                (low, high) = (min(low, spec.fill.low), max(high, spec.fill.low))
                return
            }
            if entry.isText { throw LeafReader.wrongEncoding(spec) }
            // Of nothing but nulls they are the wrong way round.
            if entry.base <= entry.max { (low, high) = (min(low, entry.base), max(high, entry.max)) }
        }
        return low <= high ? low...high : nil
    }

    /// How many objects the class has; after `bounds`.
    private(set) var rows = 0

    /// Nothing where it was read already: each who needs it may ask. All blocks are of one `RowBlocks`.
    func read(_ block: RowBlocks) throws(StoreError) {
        if block.number == readBlock { return }
        readBlock = block.number
        hasNulls = false
        guard let head = block.head else { return try readRows(block) }
        let count = block.count
        guard let entry = LeafHead.entry(head, id: spec.id, hint: position) else {
            if spec.fill.isNull { setNulls() } else { values.update(repeating: spec.fill.low, count: count) }
            return
        }
        guard !entry.isText else { throw LeafReader.wrongEncoding(spec) }
        let rows = LeafHead.rows(head), slots = block.slots
        if block.isWhole {
            try ColumnDecoder(reader.source, head).numbers(entry, first: 0, count: rows, into: values)
        } else if count &* 8 < rows {
            let leaf = LeafReader(source: reader.source)
            for index in 0..<count { values[index] = try leaf.number(head, entry, Int(slots[index])) }
        } else {
            let all = values + RowBlocks.most
            try ColumnDecoder(reader.source, head).numbers(entry, first: 0, count: rows, into: all)
            for index in 0..<count { values[index] = all[Int(slots[index])] }
        }
        guard entry.hasAux else { return }
        let bits = (head + Int(entry.aux)).assumingMemoryBound(to: UInt64.self)
        nulls.update(repeating: 0, count: RowBlocks.most / 64)
        for index in 0..<count {
            let slot = Int(slots[index])
            if bits[slot &>> 6] &>> UInt64(slot & 63) & 1 != 0 {
                nulls[index &>> 6] |= 1 &<< UInt64(index & 63)
                hasNulls = true
            }
        }
    }

    // MARK: In place

    /// The line of a block that is a whole leaf, where no row is null.
    private func whole(_ block: RowBlocks) -> (head: UnsafeRawPointer, entry: LeafEntry)? {
        guard block.isWhole, let head = block.head, let entry = LeafHead.entry(head, id: spec.id, hint: position),
            !entry.isText, !entry.hasAux
        else { return nil }
        return (head, entry)
    }

    /// Of a whole leaf, where each value is `base` and a byte, these; nil: they lie otherwise.
    func bytes(_ block: RowBlocks) throws(StoreError) -> (cells: UnsafePointer<UInt8>, base: Int64)? {
        guard let (head, entry) = whole(block), entry.width == 8, !entry.isSegmented,
            entry.encoding == LeafEncoding.frame.rawValue
        else { return nil }
        let part = try LeafReader(source: reader.source).mainPart(head, entry, segment: 0, .numbers)
        return (part.assumingMemoryBound(to: UInt8.self), entry.base)
    }

    /// Of a whole leaf, where values are words, calls `body` with runs of them, and the index in the block where each
    /// begins; false: they lie otherwise.
    func forEachRun(
        _ block: RowBlocks, _ body: (UnsafePointer<Int64>, _ first: Int, _ count: Int) -> Void
    ) throws(StoreError) -> Bool {
        guard let (head, entry) = whole(block), entry.width == 64 else { return false }
        let leaf = LeafReader(source: reader.source), shift = entry.isSegmented ? entry.segmentShift : LeafHead.log2Rows
        var first = 0
        while first < block.count {
            let part = try leaf.mainPart(head, entry, segment: first &>> shift, .numbers)
            let count = min(1 &<< shift, block.count &- first)
            // The next part may lie anywhere: its beginning is fetched meanwhile.
            if first &+ count < block.count { leaf.prefetch(head, entry, first &+ count) }
            body(part.assumingMemoryBound(to: Int64.self), first, count)
            first &+= count
        }
        return true
    }

    private func setNulls() {
        nulls.update(repeating: ~0, count: RowBlocks.most / 64)
        hasNulls = true
    }

    private func readRows(_ block: RowBlocks) throws(StoreError) {
        nulls.update(repeating: 0, count: RowBlocks.most / 64)
        for index in 0..<block.count {
            if !block.isMissing(index), let value = try reader.int(try block.row(index), position) {
                values[index] = value
            } else {
                nulls[index &>> 6] |= 1 &<< UInt64(index & 63)
                hasNulls = true
            }
        }
    }

    @inline(__always)
    func isNull(_ index: Int) -> Bool { hasNulls && nulls[index &>> 6] &>> UInt64(index & 63) & 1 != 0 }
}

/// A value of each object, in one version: of a column that is read a block at a time, or computed for one row after
/// the other.
final class ObjectReader {
    let value: ObjectValue
    /// The only column that it is; nil: it is computed, or no number.
    let number: NumberColumn?
    /// The position of the property of texts that it is; nil: it is none.
    let text: Int?
    private let reader: ClusterReader
    private let positions: [Int]
    private let run: PathRun?
    private let cls: ClassSchema
    /// Of links, above the key.
    private let targetID: Int64
    private let functions: FunctionRun?
    private let batch: FunctionBatch?

    init(
        _ value: ObjectValue, _ trees: TreeAccess, _ cls: ClassSchema, _ columns: inout [NumberColumn]
    ) throws(StoreError) {
        self.value = value
        self.cls = cls
        reader = try trees.objects(cls)
        positions = try cls.positions(value.properties)
        run = try value.path.map { (path) throws(StoreError) in
            try PathRun(trees, path.properties, levels: path.levels)
        }
        targetID = value.target.map { Int64(ClassID.of($0)) } ?? 0
        functions = value.calls.isEmpty || run != nil ? nil : FunctionRun(trees)
        if let functions, value.calls.contains(where: \.isBatch) {
            batch = try FunctionBatch([value.program], positions, reader, functions)
        } else {
            batch = nil
        }
        let isProperty = run == nil && value.program.steps.count == 1
        text = isProperty && value.kind.isText ? positions[0] : nil
        if isProperty, NumberColumn.has(value.kind) {
            if let known = columns.first(where: { [positions] in $0.position == positions[0] }) {
                number = known
            } else {
                let column = try NumberColumn(reader, positions[0])
                columns.append(column)
                number = column
            }
        } else {
            number = nil
        }
    }

    /// Of a mixed property what it has.
    func value(_ row: RowPosition) throws(StoreError) -> Value {
        if let run, let path = value.path {
            run.begin(row, cls)
            return try run.value(path.source)
        }
        functions?.begin()
        let found = try value.program.value(functions) { (number) throws(StoreError) in
            try reader.plainValue(row, positions[number])
        }
        return found.kind == .link && targetID != 0 ? Value(kind: .link, low: found.low, high: targetID) : found
    }

    /// Calls `body` with the value of each object of a block; functions that take columns are called once.
    func forEach(_ block: RowBlocks, _ body: (Int, Value) throws(StoreError) -> Void) throws(StoreError) {
        if let batch, !block.mayMiss {
            var rows: [RowPosition] = [], index = 0
            rows.reserveCapacity(block.count)
            for index in 0..<block.count { rows.append(try block.row(index)) }
            return try batch.forEach(rows) { (value) throws(StoreError) in
                try body(index, value)
                index += 1
            }
        }
        for index in 0..<block.count {
            try body(index, block.isMissing(index) ? .null : try value(try block.row(index)))
        }
    }
}

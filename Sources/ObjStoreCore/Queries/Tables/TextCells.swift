/// What keeps texts and has a cell for each.
protocol TextCells: AnyObject {
    associatedtype Cell: BitwiseCopyable
    /// Of null.
    static var nothing: Cell { get }
    func cell(_ pointer: UnsafeRawPointer, _ count: Int) throws(StoreError) -> Cell
}

/// What makes the cells of a column of texts, all of one size.
enum ColumnCells {
    case codes(TextCodes)
    case views(TextViews)

    var size: Int {
        switch self {
        case .codes: MemoryLayout<TextCodes.Cell>.stride
        case .views: MemoryLayout<TextViews.Cell>.stride
        }
    }

    func store(_ pointer: UnsafeRawPointer?, _ count: Int, _ cell: UnsafeMutableRawPointer) throws(StoreError) {
        let pointer = pointer ?? IndexBits.nothing
        switch self {
        case .codes(let codes): cell.storeBytes(of: try codes.cell(pointer, count), as: TextCodes.Cell.self)
        case .views(let views): cell.storeBytes(of: try views.cell(pointer, count), as: TextViews.Cell.self)
        }
    }

    /// Of a cell.
    func text(_ cell: UnsafeRawPointer) -> (pointer: UnsafeRawPointer, count: Int) {
        switch self {
        case .codes(let codes): codes.texts.text(Int(cell.load(as: TextCodes.Cell.self)))
        case .views(let views): views.text(cell)
        }
    }
}

/// The rows of a block on their way into cells, where they lie in one leaf: a segment at a time, and of a dictionary
/// each text that some row has is looked at once, however many rows have it.
struct CellRun<Cells: TextCells> {
    let cells: Cells
    let column: TableColumn
    let leaf: LeafReader
    let head: UnsafeRawPointer
    let entry: LeafEntry
    let slots: UnsafePointer<Int32>
    let count: Int
    /// Nil: nothing is null.
    private let prints: UnsafePointer<UInt8>?
    private let out: UnsafeMutablePointer<Cells.Cell>
    private let first: Int
    /// Of the segment: which of its rows a slot is.
    private let shift: Int, mask: Int
    /// Of the segment's dictionary: the cells of the texts that were seen.
    private let known: UnsafeMutablePointer<Cells.Cell>
    private let isKnown: UnsafeMutablePointer<Bool>
    private var index = 0

    /// All rows of a block, to the column's end.
    static func append(
        _ block: RowBlocks, _ head: UnsafeRawPointer, _ entry: LeafEntry, _ spec: ColumnSpec, _ cells: Cells,
        to column: TableColumn
    ) throws(StoreError) {
        try withUnsafeTemporaryAllocation(of: Cells.Cell.self, capacity: TextDictionary.mostValues) {
            (known) throws(StoreError) in
            try withUnsafeTemporaryAllocation(of: Bool.self, capacity: TextDictionary.mostValues) {
                (isKnown) throws(StoreError) in
                var run = try CellRun(
                    block, head, entry, spec, cells, column, known.baseAddress.unsafelyUnwrapped,
                    isKnown.baseAddress.unsafelyUnwrapped)
                try run.append()
            }
        }
        column.didStore(rows: block.count)
    }

    private init(
        _ block: RowBlocks, _ head: UnsafeRawPointer, _ entry: LeafEntry, _ spec: ColumnSpec, _ cells: Cells,
        _ column: TableColumn, _ known: UnsafeMutablePointer<Cells.Cell>, _ isKnown: UnsafeMutablePointer<Bool>
    ) throws(StoreError) {
        self.cells = cells
        self.column = column
        self.head = head
        self.entry = entry
        self.known = known
        self.isKnown = isKnown
        leaf = LeafReader(source: block.reader.source)
        slots = block.slots
        count = block.count
        first = column.count
        out = try column.newCells(Cells.Cell.self, block.count)
        prints = spec.nullable ? try leaf.fingerprints(head, entry).assumingMemoryBound(to: UInt8.self) : nil
        shift = entry.isSegmented ? entry.segmentShift : LeafHead.log2Rows
        mask = 1 &<< shift &- 1
    }

    private mutating func append() throws(StoreError) {
        // All, until one is found to be null.
        column.setValid(first, count)
        while index < count {
            let segment = Int(slots[index]) &>> shift
            let rows = min(LeafHead.rows(head) &- segment &<< shift, mask &+ 1)
            let part = try leaf.textSegment(head, entry, segment: segment, rows: rows)
            if StringSegment.isDictionary(part) {
                try appendDictionary(part, segment)
            } else {
                try appendTexts(part, segment, isPlain: StringSegment.isPlain(part))
            }
        }
    }

    private mutating func appendDictionary(_ part: UnsafeRawPointer, _ segment: Int) throws(StoreError) {
        let codes = TextDictionary.codes(part), width = TextDictionary.width(part)
        isKnown.update(repeating: false, count: TextDictionary.values(part))
        var index = index
        while index < count, Int(slots[index]) &>> shift == segment {
            let code = TextDictionary.code(codes, width, Int(slots[index]) & mask)
            if _fastPath(isKnown[code]) {
                out[index] = known[code]
            } else {
                let (pointer, length) = TextDictionary.value(part, code)
                if length == 0, isNull(index) {
                    setNull(index)
                } else {
                    let cell = try cells.cell(pointer, length)
                    out[index] = cell
                    // A null has the code of the text without bytes.
                    if length > 0 || prints == nil { (known[code], isKnown[code]) = (cell, true) }
                }
            }
            index &+= 1
        }
        self.index = index
    }

    private mutating func appendTexts(_ part: UnsafeRawPointer, _ segment: Int, isPlain: Bool) throws(StoreError) {
        let blob = part + StringSegment.blobOffset(part)
        var index = index
        while index < count, Int(slots[index]) &>> shift == segment {
            let pointer: UnsafeRawPointer, length: Int
            if isPlain {
                let row = Int(slots[index]) & mask, start = StringSegment.offset(part, row)
                length = StringSegment.offset(part, row &+ 1) &- start
                pointer = blob + start
            } else {
                (pointer, length) = try leaf.text(head, entry, Int(slots[index]))
            }
            if length == 0, isNull(index) { setNull(index) } else { out[index] = try cells.cell(pointer, length) }
            index &+= 1
        }
        self.index = index
    }

    /// Of what has no bytes: null has no fingerprint.
    private func isNull(_ index: Int) -> Bool {
        guard let prints else { return false }
        return prints[Int(slots[index])] == 0
    }

    private func setNull(_ index: Int) {
        out[index] = Cells.nothing
        column.becomeNull(first &+ index)
    }
}

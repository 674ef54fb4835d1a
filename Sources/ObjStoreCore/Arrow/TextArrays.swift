/// Texts in Arrow's other layouts: of a stream as its columns have them, of a table made of its plain ones.
enum TextArrays {
    /// One behind the other is a text as a window of the buffer that begins at most so far before it.
    private static let window = Int(Int32.max)

    // MARK: Dictionaries

    /// Of each row the number of its text.
    static func numbers(
        _ column: TableColumn, _ owner: ArrowOwner
    ) throws(StoreError) -> (numbers: UnsafeRawPointer?, values: (texts: DictionaryTexts, count: Int)) {
        if let dictionary = column.dictionary { return (column.values, dictionary) }
        let codes = try TextCodes(), out = try owner.allocate(TextCodes.Cell.self, column.count)
        for row in 0..<column.count {
            let value = column.value(row)
            out[row] =
                value.isNull ? TextCodes.nothing : try codes.cell(value.pointer ?? IndexBits.nothing, value.count)
        }
        return (UnsafeRawPointer(out), (codes.texts, codes.count))
    }

    /// The dictionary itself, as an array of the first `count` texts.
    static func record(
        _ texts: DictionaryTexts, _ count: Int, _ owner: ArrowOwner
    ) throws(StoreError) -> UnsafeMutablePointer<ArrowArrayRecord> {
        let record = try owner.allocate(ArrowArrayRecord.self, 1)
        let own = ArrowOwner(texts), buffers = try own.allocate(UnsafeRawPointer?.self, 3)
        buffers.initialize(to: nil)
        (buffers + 1).initialize(to: UnsafeRawPointer(texts.offsets))
        (buffers + 2).initialize(to: UnsafeRawPointer(texts.bytes))
        var array = ArrowArrayRecord()
        array.length = Int64(count)
        array.bufferCount = 3
        array.buffers = buffers
        array.release = ArrowArrayRecord.releasing
        array.owner = own.retained
        record.initialize(to: array)
        return record
    }

    // MARK: Views

    /// The buffers behind the bitmap: views, the bytes that they refer to, and how many those are in each.
    static func views(_ column: TableColumn, _ owner: ArrowOwner) throws(StoreError) -> [UnsafeRawPointer?] {
        var buffers: [UnsafeRawPointer?], parts: [(pointer: UnsafeRawPointer, count: Int)]
        if case .views(let views) = column.cells {
            buffers = [column.values]
            parts = views.buffers.map { (UnsafeRawPointer($0.pointer), $0.count) }
        } else {
            let (cells, windows) = try views(ofPlain: column, owner)
            buffers = [cells]
            parts = windows
        }
        let sizes = try owner.allocate(Int64.self, parts.count)
        for (index, part) in parts.enumerated() {
            buffers.append(part.pointer)
            sizes[index] = Int64(part.count)
        }
        buffers.append(UnsafeRawPointer(sizes))
        return buffers
    }

    /// Views of texts where they are: in parts of the column's bytes that 31 bits reach over.
    private static func views(
        ofPlain column: TableColumn, _ owner: ArrowOwner
    ) throws(StoreError) -> (cells: UnsafeRawPointer, windows: [(pointer: UnsafeRawPointer, count: Int)]) {
        let cells = try owner.allocate(TextViews.Cell.self, column.count)
        var windows: [(pointer: UnsafeRawPointer, count: Int)] = []
        for row in 0..<column.count {
            let value = column.value(row)
            guard let pointer = value.pointer, value.count > 0 else {
                cells[row] = TextViews.nothing
                continue
            }
            if value.count <= TextViews.mostInside {
                cells[row] = TextViews.inside(pointer, value.count)
                continue
            }
            if windows.isEmpty || pointer + value.count - windows[windows.count - 1].pointer > window {
                guard value.count <= window else { throw TextViews.tooLong(value.count) }
                windows.append((pointer, 0))
            }
            let last = windows.count - 1, start = pointer - windows[last].pointer
            windows[last].count = start + value.count
            cells[row] = TextViews.outside(pointer, value.count, buffer: last, start)
        }
        return (UnsafeRawPointer(cells), windows)
    }
}

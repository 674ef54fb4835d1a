internal import CSystem

/// The answer of a table query: columns of values, as many in each, which nothing changes any more. Any thread.
package final class Table: Sendable {
    package let columns: [TableColumn]
    package let rows: Int
    /// Of links in it.
    package let storeTag: UInt32

    init(_ columns: [TableColumn], rows: Int, storeTag: UInt32) {
        self.columns = columns
        self.rows = rows
        self.storeTag = storeTag
    }

    /// Errors: `.outOfRange`.
    package func column(at index: Int) throws(StoreError) -> TableColumn {
        guard columns.indices.contains(index) else {
            throw StoreError(.outOfRange, "column \(index) of \(columns.count.counted("column"))")
        }
        return columns[index]
    }

    /// Errors: `.outOfRange`.
    package func value(_ row: UInt64, in column: TableColumn) throws(StoreError) -> Value {
        guard row < UInt64(rows) else { throw StoreError(.outOfRange, "row \(row) of \(rows.counted("row"))") }
        let value = column.value(Int(row))
        guard value.kind == .link else { return value }
        return .link(
            ObjectID(classID: UInt32(truncatingIfNeeded: value.high), storeTag: storeTag, key: value.low))
    }
}

/// One column of a table: values one behind the other, as `objstore_column` has them, but for mixed ones, which are
/// kept as values; or, on the way into Arrow, texts of another form (`TextCells`).
package final class TableColumn: @unchecked Sendable {
    package let name: String
    /// The name, for who wants bytes, with a NUL behind them.
    private let nameBytes: OwnedValue
    package var shownName: Value { .string(nameBytes.value.pointer, nameBytes.value.count - 1) }
    package let kind: ValueKind
    /// Of links: the id of the class that they lead to; 0: any.
    package let target: UInt32
    /// Of texts that have a cell each: what makes the cells; of those of a dictionary until all are there.
    private(set) var cells: ColumnCells?
    /// Of texts that have numbers, when all are there: the texts, as many as there were then.
    private(set) var dictionary: (texts: DictionaryTexts, count: Int)?
    /// Bytes of each value; of texts 1.
    private let size: Int
    package private(set) var count = 0
    package private(set) var nullCount = 0
    /// Nil: mixed values.
    package var values: UnsafeRawPointer? { kind == .mixed ? nil : UnsafeRawPointer(bytes) }
    /// How many bytes the values of a text take.
    package var valueBytes: Int { textCount }
    /// Of texts and binaries, one more than there are rows.
    package private(set) var offsets: UnsafeMutablePointer<Int64>?
    /// One bit a row, 1: not null.
    package var validity: UnsafePointer<UInt8>? { nullCount == 0 ? nil : UnsafePointer(bits) }

    private var bytes: UnsafeMutableRawPointer
    private var bits: UnsafeMutablePointer<UInt8>
    /// How many rows there is room for.
    private var capacity: Int
    private var textCount = 0
    private var textCapacity = 0
    /// Of mixed values: where their bytes are.
    private let mixed: TextBuffer?

    init(
        _ name: String, _ kind: ValueKind, target: UInt32, expecting rows: Int = 0, cells: ColumnCells? = nil
    ) throws(StoreError) {
        self.name = name
        nameBytes = try OwnedValue.text(name)
        self.kind = kind
        self.target = target
        self.cells = cells
        let hasBytes = kind.isText && cells == nil
        size =
            kind == .mixed
            ? MemoryLayout<Value>.stride : kind.isText ? cells?.size ?? 1 : ValueCell.size(kind)
        mixed = kind == .mixed ? TextBuffer() : nil
        capacity = max(64, (rows + 63) & ~63)
        textCapacity = hasBytes ? max(1024, rows * 8) : 0
        bytes = try Memory.allocate(hasBytes ? textCapacity + 64 : capacity * size)
        do throws(StoreError) { bits = try Memory.allocate(UInt8.self, capacity / 8) } catch {
            bytes.deallocate()
            throw error
        }
        if hasBytes {
            do throws(StoreError) { offsets = try Memory.allocate(Int64.self, capacity + 1) } catch {
                bytes.deallocate()
                bits.deallocate()
                throw error
            }
            offsets?[0] = 0
        }
    }

    deinit {
        bytes.deallocate()
        bits.deallocate()
        offsets?.deallocate()
    }

    // MARK: Reading

    @inline(__always)
    package func isNull(_ row: Int) -> Bool { nullCount > 0 && bits[row &>> 3] &>> UInt8(row & 7) & 1 == 0 }

    /// Of a link with the class id above the key. Bytes belong to the column.
    package func value(_ row: Int) -> Value {
        if isNull(row) { return .null }
        if kind == .mixed { return mixedValue(row) }
        if let offsets {
            let start = Int(offsets[row])
            return Value(kind: kind, pointer: UnsafeRawPointer(bytes + start), count: Int(offsets[row + 1]) - start)
        }
        if kind.isText { return cellText(bytes + row * size) }
        var value = ValueCell.load(kind, bytes + row * size)
        if kind == .link { value.high = Int64(target) }
        return value
    }

    private func cellText(_ cell: UnsafeRawPointer) -> Value {
        let text = cells?.text(cell) ?? dictionary?.texts.text(Int(cell.load(as: TextCodes.Cell.self)))
        return Value(kind: kind, pointer: text?.pointer, count: text?.count ?? 0)
    }

    private func mixedValue(_ row: Int) -> Value {
        var value = bytes.load(fromByteOffset: row * size, as: Value.self)
        // Bytes are kept by where they begin: they move while the column grows.
        if value.kind.hasBytes, let mixed {
            value.pointer = UnsafeRawPointer(mixed.pointer + Int(bitPattern: value.pointer))
        }
        return value
    }

    // MARK: Making

    func append(_ value: Value) throws(StoreError) {
        if count == capacity { try grow(capacity * 2) }
        let row = count
        if value.isNull {
            setNull(row)
            if offsets == nil { memset(bytes + row * size, 0, size) }
        } else {
            setValid(row)
            if kind == .mixed {
                var kept = value
                if value.kind.hasBytes, let mixed {
                    kept.pointer = UnsafeRawPointer(bitPattern: mixed.count)
                    if let pointer = value.pointer, value.count > 0 { try mixed.append(pointer, value.count) }
                }
                bytes.storeBytes(of: kept, toByteOffset: row * size, as: Value.self)
            } else if let cells {
                try cells.store(value.pointer, value.count, bytes + row * size)
            } else if kind.isText {
                try append(value.pointer, value.count)
            } else {
                assert(value.kind == kind, "a column of \(kind) gets \(value.kind)")
                ValueCell.store(value, bytes + row * size)
            }
        }
        count += 1
        offsets?[count] = Int64(textCount)
    }

    @inline(__always)
    private func append(_ pointer: UnsafeRawPointer?, _ length: Int) throws(StoreError) {
        guard length > 0, let pointer else { return }
        if _slowPath(textCount &+ length > textCapacity) { try growText(length) }
        ColumnBuffer.copy(pointer, to: bytes + textCount, length)
        textCount &+= length
    }

    @inline(never)
    private func growText(_ length: Int) throws(StoreError) {
        let more = max(textCount + length, textCapacity * 2)
        // Copies of short texts may write a few bytes too many.
        bytes = try Memory.reallocate(bytes, more + 64)
        textCapacity = more
    }

    // MARK: Texts of a block; their validity is set when all are there

    func reserve(rows: Int) throws(StoreError) {
        if count + rows > capacity { try grow(max(capacity * 2, (count + rows + 63) & ~63)) }
    }

    @inline(__always)
    func appendText(_ pointer: UnsafeRawPointer?, _ length: Int) throws(StoreError) {
        try append(pointer, length)
        count &+= 1
        offsets.unsafelyUnwrapped[count] = Int64(textCount)
    }

    /// Texts that lie one behind the other. `end`: where each ends.
    @inline(__always)
    func appendTexts(
        _ pointer: UnsafeRawPointer, bytes length: Int, _ rows: Int, _ end: (Int) -> Int
    ) throws(StoreError) {
        if textCount + length > textCapacity { try growText(length) }
        memcpy(bytes + textCount, pointer, length)
        let out = offsets.unsafelyUnwrapped + (count + 1), start = textCount
        for row in 0..<rows { out[row] = Int64(start &+ end(row)) }
        textCount += length
        count += rows
    }

    // MARK: Cells of a block

    /// Room for cells of so many rows more, which `didStore` counts.
    func newCells<Cell>(_ type: Cell.Type, _ rows: Int) throws(StoreError) -> UnsafeMutablePointer<Cell> {
        try reserve(rows: rows)
        return (bytes + count * size).assumingMemoryBound(to: type)
    }

    func didStore(rows: Int) { count += rows }

    func length(of row: Int) -> Int {
        let offsets = offsets.unsafelyUnwrapped
        return Int(offsets[row + 1] - offsets[row])
    }

    /// So many from a row on, which is the last one yet.
    func setValid(_ row: Int, _ rows: Int) {
        if row & 7 == 0 {
            memset(bits + row / 8, 0xff, (rows + 7) / 8)
        } else {
            for index in 0..<rows { setValid(row + index) }
        }
    }

    // MARK: Words of groups

    /// Of each group of a list a word; `null`: of that group there is none.
    func append(_ words: UnsafePointer<Int64>, of list: [Int32], null: Int32) throws(StoreError) {
        try reserve(rows: list.count)
        let first = count
        list.withUnsafeBufferPointer { list in
            switch kind {
            case .bool:
                let out = (bytes + first).assumingMemoryBound(to: UInt8.self)
                for index in 0..<list.count { out[index] = words[Int(list[index])] != 0 ? 1 : 0 }
            case .float:
                let out = (bytes + first * 4).assumingMemoryBound(to: UInt32.self)
                for index in 0..<list.count { out[index] = UInt32(truncatingIfNeeded: words[Int(list[index])]) }
            default:
                let out = (bytes + first * 8).assumingMemoryBound(to: Int64.self)
                for index in 0..<list.count { out[index] = words[Int(list[index])] }
            }
        }
        setValid(first, list.count)
        count += list.count
        if null >= 0, let place = list.firstIndex(of: null) {
            let row = first + place
            becomeNull(row)
            memset(bytes + row * size, 0, size)
        }
    }

    /// The numbers of a block, of a kind that `NumberColumn` has.
    func append(_ column: NumberColumn, _ rows: Int) throws(StoreError) {
        if count + rows > capacity { try grow(max(capacity * 2, (count + rows + 63) & ~63)) }
        let values = column.values
        switch kind {
        case .bool:
            let out = (bytes + count).assumingMemoryBound(to: UInt8.self)
            for index in 0..<rows { out[index] = values[index] != 0 ? 1 : 0 }
        case .float:
            let out = (bytes + count * 4).assumingMemoryBound(to: UInt32.self)
            for index in 0..<rows { out[index] = UInt32(truncatingIfNeeded: values[index]) }
        default: memcpy(bytes + count * 8, values, rows * 8)
        }
        if !column.hasNulls && count & 7 == 0 {
            memset(bits + count / 8, 0xff, (rows + 7) / 8)
        } else {
            for index in 0..<rows {
                if column.isNull(index) {
                    setNull(count + index)
                    memset(bytes + (count + index) * size, 0, size)
                } else {
                    setValid(count + index)
                }
            }
        }
        count += rows
    }

    @inline(__always)
    func setValid(_ row: Int) {
        if row & 7 == 0 { bits[row &>> 3] = 1 } else { bits[row &>> 3] |= 1 &<< UInt8(row & 7) }
    }

    @inline(__always)
    func setNull(_ row: Int) {
        if row & 7 == 0 { bits[row &>> 3] = 0 } else { bits[row &>> 3] &= ~(1 &<< UInt8(row & 7)) }
        nullCount += 1
    }

    /// A row that was said to be valid.
    func becomeNull(_ row: Int) {
        bits[row >> 3] &= ~(1 << UInt8(row & 7))
        nullCount += 1
    }

    private func grow(_ rows: Int) throws(StoreError) {
        if let old = offsets {
            offsets = UnsafeMutableRawPointer(try Memory.reallocate(old, (rows + 1) * 8)).assumingMemoryBound(
                to: Int64.self)
        } else {
            bytes = try Memory.reallocate(bytes, rows * size)
        }
        bits = try Memory.reallocate(bits, rows / 8).assumingMemoryBound(to: UInt8.self)
        capacity = rows
    }

    /// All rows are there. Bits behind the last one are 0.
    func finish() {
        if case .codes(let codes) = cells {
            dictionary = (codes.texts, codes.count)
            cells = nil
        }
        if count & 7 != 0 { bits[count >> 3] &= 1 << UInt8(count & 7) - 1 }
    }
}

internal import CSystem

/// One column of rows to insert, in the application's memory.
package struct InputColumn {
    package var propertyID: UInt32
    package var kind: ValueKind
    package var values: UnsafeRawPointer?
    /// Text: rows + 1.
    package var offsets: UnsafePointer<Int64>?
    package var validity: UnsafePointer<UInt8>?
    /// Text: bytes at `values`.
    package var valuesBytes: UInt64

    package init(
        propertyID: UInt32, kind: ValueKind, values: UnsafeRawPointer?, offsets: UnsafePointer<Int64>?,
        validity: UnsafePointer<UInt8>?,
        valuesBytes: UInt64
    ) {
        self.propertyID = propertyID; self.kind = kind; self.values = values; self.offsets = offsets
        self.validity = validity; self.valuesBytes = valuesBytes
    }

    @inline(__always)
    func isNull(_ row: Int) -> Bool {
        guard let validity else { return false }
        return validity[row &>> 3] &>> UInt8(row & 7) & 1 == 0
    }

    /// The value of a row; text is borrowed.
    @inline(__always)
    func value(_ row: Int) -> Value {
        if isNull(row) { return .null }
        switch kind {
        case .string, .binary, .mixed:
            let start = Int(offsets.unsafelyUnwrapped[row])
            return Value(
                kind: kind, pointer: values.map { $0 + start }, count: Int(offsets.unsafelyUnwrapped[row &+ 1]) &- start
            )
        case .bool:
            return Value(
                kind: .bool, low: values.unsafelyUnwrapped.load(fromByteOffset: row, as: UInt8.self) == 0 ? 0 : 1)
        case .float, .timestamp, .decimal128, .objectID, .uuid:
            return ValueCell.load(kind, values.unsafelyUnwrapped + row &* ValueCell.size(kind))
        default:
            return Value(
                kind: kind, low: values.unsafelyUnwrapped.loadUnaligned(fromByteOffset: row &* 8, as: Int64.self))
        }
    }
}

package struct InsertCounts: Sendable {
    package var created = 0
    package var changed = 0
    package var unchanged = 0
}

/// Many objects in one call.
extension View {
    /// Inserts rows of columns, like one call of `create` or `upsert` for each in order, all or none.
    ///
    /// Everything is checked before the first change. Errors name the row in `position`.
    package func insert(
        _ classID: UInt32, _ policy: UpsertPolicy, _ columns: UnsafeBufferPointer<InputColumn>, rows: Int,
        keys: UnsafeMutablePointer<Int64>?
    ) throws(StoreError) -> InsertCounts {
        try write(classID) { (state) throws(StoreError) in
            let cls = state.schema
            if policy != .error, cls.keyIndex == nil { throw cls.noPrimaryKey }
            let insert = try ColumnInsert(self, cls, columns, rows)
            try insert.validate()
            try insert.findKeys(state, policy)
            return try changing(state) { () throws(StoreError) in
                if !cls.constraints.isEmpty || cls.hasEncodedIndexes {
                    return try applyUndoably(insert, state, policy, keys)
                }
                do throws(StoreError) {
                    return try insert.apply(state, policy, keys)
                } catch {
                    // The request itself is not at fault: memory, or a damaged page. Half of it is done.
                    state.isBroken = true
                    throw error
                }
            }
        }
    }

    /// Where a row can be refused when others were written: in a savepoint.
    private func applyUndoably(
        _ insert: ColumnInsert, _ state: ClassState, _ policy: UpsertPolicy, _ keys: UnsafeMutablePointer<Int64>?
    ) throws(StoreError) -> InsertCounts {
        let transaction = try writing(), savepoint = try transaction.beginSavepoint()
        let made = keys == nil ? nil : try Memory.allocate(Int64.self, max(1, insert.rows))
        defer { made?.deallocate() }
        do throws(StoreError) {
            let counts = try insert.apply(state, policy, made)
            try transaction.releaseSavepoint(savepoint)
            if let keys, let made { keys.update(from: made, count: insert.rows) }
            return counts
        } catch {
            do throws(StoreError) { try transaction.rollBack(toSavepoint: savepoint) } catch { state.isBroken = true }
            throw insert.naming(error)
        }
    }

    /// Reads values of fixed size, laid out as `ValueCell` says, in the order of object keys from behind `position` on.
    ///
    /// Returns how many rows there were; `position` becomes the key of the last.
    package func readColumn(
        _ classID: UInt32, _ propertyID: UInt32, capacity: Int, position: inout Int64, values: UnsafeMutableRawPointer?,
        validity: UnsafeMutablePointer<UInt8>?, keys: UnsafeMutablePointer<Int64>?
    ) throws(StoreError) -> Int {
        try serialised { () throws(StoreError) in
            let (cls, reader, column) = try column(classID, propertyID)
            let kind = cls.columns[column].kind
            guard !kind.hasOffsets else {
                throw wrongColumn(
                    cls, column, "is \(kind == .mixed ? "mixed" : "text"): read it with objstore_read_text_column")
            }
            guard !kind.isCollection else {
                throw wrongColumn(cls, column, "is \(kind.indefinite): its elements are read object by object")
            }
            // No more than there are, however much room the caller says there is.
            let capacity = min(capacity, try reader.count())
            guard capacity > 0, let values, position < Int64.max else { return 0 }
            let scratch = ColumnScratch(
                rows: capacity, pairs: kind.isPair, validity: validity == nil && cls.columns[column].nullable)
            defer { scratch.deallocate() }
            let bits = validity ?? scratch.validity
            var target = ColumnTarget(validity: bits)
            switch kind {
            case .bool: target.bytes = values.assumingMemoryBound(to: UInt8.self)
            case .float: target.singles = values.assumingMemoryBound(to: UInt32.self)
            case .timestamp, .decimal128, .objectID, .uuid:
                target.words = scratch.words
                target.secondWords = scratch.secondWords
            default: target.words = values.assumingMemoryBound(to: Int64.self)
            }
            let from = position &+ 1
            let count = try reader.readColumn(column, fromKey: from, count: capacity, into: target)
            if let bits { ColumnScratch.clearBeyond(bits, count, capacity) }
            if validity == nil, let bits, ColumnScratch.anyNull(bits, count) {
                throw cls.named(
                    StoreError(.nullValue, "\(cls.name).\(cls.properties[column].name) has nulls: validity is needed"),
                    column)
            }
            if kind.isPair { scratch.storeCells(kind, count, bits, values) }
            try reader.copyKeys(from: from, count: count, keys, last: &position)
            return count
        }
    }

    /// The same for text and binaries: bytes into `buffer`, `count + 1` offsets.
    package func readTextColumn(
        _ classID: UInt32, _ propertyID: UInt32, capacity: Int, position: inout Int64,
        buffer: UnsafeMutablePointer<OutputBuffer>,
        offsets: UnsafeMutablePointer<Int64>, validity: UnsafeMutablePointer<UInt8>?, keys: UnsafeMutablePointer<Int64>?
    ) throws(StoreError) -> Int {
        try serialised { () throws(StoreError) in
            let (cls, reader, column) = try column(classID, propertyID)
            let kind = cls.columns[column].kind
            guard kind.hasOffsets else {
                throw wrongColumn(cls, column, "is \(kind.indefinite): read it with objstore_read_column")
            }
            _ = try OutputBuffer.start(buffer, 0)
            offsets[0] = 0
            let capacity = min(capacity, try reader.count())
            var count = 0, anyNull = false
            var next = capacity > 0 && position < Int64.max ? try reader.seek(position &+ 1) : nil
            if let validity { ColumnScratch.clearBeyond(validity, 0, capacity) }
            while let row = next, count < capacity {
                if let bytes = try reader.bytes(row, column) {
                    if kind == .mixed {
                        try MixedCell.check(Value(kind: .mixed, pointer: bytes.baseAddress, count: bytes.count))
                    }
                    if bytes.count > 0 {
                        try OutputBuffer.extend(buffer, by: bytes.count).copyMemory(
                            from: bytes.baseAddress.unsafelyUnwrapped, byteCount: bytes.count)
                    }
                    if let validity { validity[count &>> 3] |= 1 &<< UInt8(count & 7) }
                } else {
                    anyNull = true
                }
                count &+= 1
                offsets[count] = Int64(buffer.pointee.length)
                if let keys { keys[count &- 1] = row.key }
                position = row.key
                next = count < capacity ? try reader.next(row) : nil
            }
            if anyNull, validity == nil {
                throw cls.named(
                    StoreError(.nullValue, "\(cls.name).\(cls.properties[column].name) has nulls: validity is needed"),
                    column)
            }
            return count
        }
    }

    private func column(_ classID: UInt32, _ propertyID: UInt32) throws(StoreError) -> (ClassSchema, ClusterReader, Int)
    {
        let cls = try schema.cls(classID)
        return (cls, try reader(cls), try cls.position(propertyID))
    }

    private func wrongColumn(_ cls: ClassSchema, _ column: Int, _ what: String) -> StoreError {
        cls.named(StoreError(.wrongType, "\(cls.name).\(cls.properties[column].name) \(what)"), column)
    }
}

/// Memory that a column read needs beside the caller's.
private struct ColumnScratch {
    var words: UnsafeMutablePointer<Int64>?
    var secondWords: UnsafeMutablePointer<Int64>?
    var validity: UnsafeMutablePointer<UInt8>?

    init(rows: Int, pairs: Bool, validity: Bool) {
        if pairs {
            words = .allocate(capacity: rows)
            secondWords = .allocate(capacity: rows)
        }
        if validity { self.validity = .allocate(capacity: (rows + 7) / 8) }
    }

    func deallocate() {
        words?.deallocate()
        secondWords?.deallocate()
        validity?.deallocate()
    }

    /// The pairs as the caller wants them; of nulls zeros.
    func storeCells(_ kind: ValueKind, _ count: Int, _ validity: UnsafePointer<UInt8>?, _ out: UnsafeMutableRawPointer)
    {
        guard let words, let secondWords else { return }
        let size = ValueCell.size(kind)
        for row in 0..<count {
            if let validity, validity[row &>> 3] &>> UInt8(row & 7) & 1 == 0 {
                memset(out + row &* size, 0, size)
            } else {
                ValueCell.store(Value(kind: kind, low: words[row], high: secondWords[row]), out + row &* size)
            }
        }
    }

    /// Bits from `count` on are 0.
    static func clearBeyond(_ bits: UnsafeMutablePointer<UInt8>, _ count: Int, _ capacity: Int) {
        let bytes = (capacity + 7) / 8, first = (count + 7) / 8
        if count & 7 != 0 { bits[count >> 3] &= 1 << UInt8(count & 7) - 1 }
        if first < bytes { (bits + first).update(repeating: 0, count: bytes - first) }
    }

    static func anyNull(_ bits: UnsafePointer<UInt8>, _ count: Int) -> Bool {
        for byte in 0..<(count >> 3) where bits[byte] != 0xff { return true }
        return count & 7 != 0 && bits[count >> 3] != 1 << UInt8(count & 7) - 1
    }
}

extension ClusterReader {
    /// The keys of `count` objects from `key` on, and the last of them.
    func copyKeys(
        from key: Int64, count: Int, _ out: UnsafeMutablePointer<Int64>?, last: inout Int64
    ) throws(StoreError) {
        if count == 0 { return }
        guard let out else {
            // Only the last is wanted.
            let before = try ordinal(of: key)
            if let row = try row(at: before + count - 1) { last = row.key }
            return
        }
        var cursor = LeafCursor(self, from: key)
        var done = 0
        while done < count, let head = try cursor.next() {
            let keys = LeafKeys(source, head)
            try keys.forEach(from: try keys.first(atLeast: key)) { (_, key) throws(StoreError) in
                out[done] = key
                done &+= 1
                return done < count
            }
        }
        last = out[count - 1]
    }
}

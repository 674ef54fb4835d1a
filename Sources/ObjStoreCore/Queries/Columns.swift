internal import CSystem

/// Whole columns, many rows in one call.
extension TreeAccess {
    /// Reads values of fixed size, laid out as `ValueCell` says, in the order of object keys from behind `position` on.
    ///
    /// Returns how many rows there were; `position` becomes the key of the last.
    func readColumn(
        _ cls: ClassSchema, _ propertyID: UInt32, capacity: Int, position: inout Int64,
        values: UnsafeMutableRawPointer?,
        validity: UnsafeMutablePointer<UInt8>?, keys: UnsafeMutablePointer<Int64>?
    ) throws(StoreError) -> Int {
        let reader = try objects(cls), column = try cls.position(propertyID)
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

    /// The same for text and binaries: bytes into `buffer`, `count + 1` offsets.
    func readTextColumn(
        _ cls: ClassSchema, _ propertyID: UInt32, capacity: Int, position: inout Int64,
        buffer: UnsafeMutablePointer<OutputBuffer>,
        offsets: UnsafeMutablePointer<Int64>, validity: UnsafeMutablePointer<UInt8>?, keys: UnsafeMutablePointer<Int64>?
    ) throws(StoreError) -> Int {
        let reader = try objects(cls), column = try cls.position(propertyID)
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

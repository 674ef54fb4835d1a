internal import CSystem

/// The destination of values of one column, one after another: an array of the caller.
///
/// Unused pointers are null. Text goes into `text`, which grows.
package struct ColumnTarget: @unchecked Sendable {
    /// Ints, doubles (8 bytes each), or the first words of pairs; null rows get 0.
    package var words: UnsafeMutablePointer<Int64>?
    /// Bools, one byte each (0 or 1).
    package var bytes: UnsafeMutablePointer<UInt8>?
    /// Floats, 4 bytes each.
    package var singles: UnsafeMutablePointer<UInt32>?
    /// The second words of pairs.
    package var secondWords: UnsafeMutablePointer<Int64>?
    /// `count + 1` offsets into `text`, the first 0.
    package var offsets: UnsafeMutablePointer<Int64>?
    package var text: TextBuffer?
    /// One bit a row, least significant first: 1 = not null. Null if not requested.
    package var validity: UnsafeMutablePointer<UInt8>?

    package init(
        words: UnsafeMutablePointer<Int64>? = nil, bytes: UnsafeMutablePointer<UInt8>? = nil,
        singles: UnsafeMutablePointer<UInt32>? = nil,
        secondWords: UnsafeMutablePointer<Int64>? = nil, offsets: UnsafeMutablePointer<Int64>? = nil,
        text: TextBuffer? = nil, validity: UnsafeMutablePointer<UInt8>? = nil
    ) {
        self.words = words
        self.bytes = bytes
        self.singles = singles
        self.secondWords = secondWords
        self.offsets = offsets
        self.text = text
        self.validity = validity
    }
}

/// Bytes that grow.
package final class TextBuffer {
    package private(set) var pointer: UnsafeMutableRawPointer
    package private(set) var count = 0
    private var capacity: Int

    package init(capacity: Int = 4096) {
        self.capacity = max(64, capacity)
        pointer = .allocate(byteCount: self.capacity, alignment: 16)
    }
    deinit { pointer.deallocate() }

    package func clear() { count = 0 }

    @inline(__always)
    func append(_ bytes: UnsafeRawPointer, _ length: Int) throws(StoreError) {
        if _slowPath(count &+ length > capacity) { try grow(count + length) }
        ColumnBuffer.copy(bytes, to: pointer + count, length)
        count &+= length
    }

    @inline(never)
    private func grow(_ needed: Int) throws(StoreError) {
        let bigger = try Memory.allocate(max(needed, capacity * 2))
        bigger.copyMemory(from: pointer, byteCount: count)
        pointer.deallocate()
        pointer = bigger
        capacity = max(needed, capacity * 2)
    }
}

extension ClusterReader {
    /// Reads up to `count` values of a column, in key order, from the object at position `ordinal` on; returns
    /// how many there were. Dense leaves are unpacked whole, at memory speed.
    package func readColumn(
        _ column: Int, from ordinal: Int, count: Int, into target: ColumnTarget
    ) throws(StoreError) -> Int {
        guard count > 0, let start = try row(at: ordinal) else {
            target.offsets?[0] = 0
            return 0
        }
        return try readColumn(column, fromKey: start.key, count: count, into: target)
    }

    /// The same from the first object with a key of at least `key` on.
    package func readColumn(
        _ column: Int, fromKey key: Int64, count: Int, into target: ColumnTarget
    ) throws(StoreError) -> Int {
        let spec = columns[column]
        if let validity = target.validity { memset(validity, 0xff, (count + 7) / 8) }
        target.offsets?[0] = 0
        let scratch = UnsafeMutablePointer<Int64>.allocate(capacity: LeafHead.rowsPerLeaf)
        defer { scratch.deallocate() }
        var cursor = LeafCursor(self, from: key)
        var done = 0
        while done < count, let head = try cursor.next() {
            try prefetchAhead(cursor, column: column, aux: false)
            let first = try LeafKeys(source, head).first(atLeast: key)
            done += try read(head, spec, column, from: first, at: done, count - done, target, scratch)
        }
        return done
    }

    /// Rows of one leaf from `first` on, at most `limit`, to positions from `at` on.
    private func read(
        _ head: UnsafeRawPointer, _ spec: ColumnSpec, _ column: Int, from first: Int, at: Int, _ limit: Int,
        _ target: ColumnTarget,
        _ scratch: UnsafeMutablePointer<Int64>
    ) throws(StoreError) -> Int {
        let rows = LeafHead.rows(head)
        guard first < rows, limit > 0 else { return 0 }
        let entry = LeafHead.entry(head, id: spec.id, hint: column)
        let isNumber = !spec.kind.isText
        if let entry, isNumber == entry.isText { throw LeafReader.wrongEncoding(spec) }
        if let entry, isNumber, LeafHead.presence(head) == nil {
            let count = min(limit, rows - first)
            try readRun(head, entry, spec, from: first, at: at, count, target, scratch)
            return count
        }
        let reader = LeafReader(source: source)
        var slot = LeafHead.nextLive(head, from: first), done = 0
        if let entry, isNumber, let words = target.words, !spec.kind.isPair {
            // Unpack the leaf once, then pick the rows that exist.
            try ColumnDecoder(source, head).numbers(entry, first: 0, count: rows, into: scratch)
            while slot < rows, done < limit {
                words[at &+ done] = scratch[slot]
                if entry.hasAux, reader.isNullNumber(head, entry, slot) { try store(.null, at: at + done, target) }
                done &+= 1
                slot = LeafHead.nextLive(head, from: slot &+ 1)
            }
            return done
        }
        while slot < rows, done < limit {
            try store(try reader.value(head, spec, hint: column, slot), at: at + done, target)
            done += 1
            slot = LeafHead.nextLive(head, from: slot + 1)
        }
        return done
    }

    /// Numbers of consecutive existing rows.
    private func readRun(
        _ head: UnsafeRawPointer, _ entry: LeafEntry, _ spec: ColumnSpec, from first: Int, at: Int, _ count: Int,
        _ target: ColumnTarget,
        _ scratch: UnsafeMutablePointer<Int64>
    ) throws(StoreError) {
        let decoder = ColumnDecoder(source, head)
        let direct = target.words.map { $0 + at }
        let values = direct ?? scratch
        try decoder.numbers(entry, first: first, count: count, into: values)
        if let bytes = target.bytes {
            for index in 0..<count { bytes[at &+ index] = UInt8(truncatingIfNeeded: values[index]) }
        }
        if let singles = target.singles {
            for index in 0..<count { singles[at &+ index] = UInt32(truncatingIfNeeded: values[index]) }
        }
        if spec.kind.isPair {
            guard let line = LeafHead.secondLine(head, id: spec.id) else { throw LeafReader.wrongEncoding(spec) }
            if let secondWords = target.secondWords {
                try decoder.numbers(line, first: first, count: count, into: secondWords + at)
            }
        }
        guard entry.hasAux else { return }
        for index in 0..<count where decoder.reader.isNullNumber(head, entry, first &+ index) {
            try store(.null, at: at &+ index, target)
        }
    }

    private func store(_ value: Value, at index: Int, _ target: ColumnTarget) throws(StoreError) {
        target.words?[index] = value.low
        target.bytes?[index] = UInt8(truncatingIfNeeded: value.low)
        target.singles?[index] = UInt32(truncatingIfNeeded: value.low)
        target.secondWords?[index] = value.high
        if let text = target.text {
            if let pointer = value.pointer, value.count > 0 { try text.append(pointer, value.count) }
            target.offsets?[index + 1] = Int64(text.count)
        }
        if value.isNull, let validity = target.validity { validity[index >> 3] &= ~(1 << UInt8(index & 7)) }
    }
}

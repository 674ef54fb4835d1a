internal import CSystem

/// A leaf under construction, unpacked: bulk appends collect here until the leaf is full.
final class LeafBuilder {
    let columns: UnsafeMutableBufferPointer<ColumnBuffer>
    private(set) var keyBase: Int64 = 0
    private(set) var rows = 0
    private(set) var live = 0
    /// 64 words; meaningful where `live < rows`.
    let presence: UnsafeMutablePointer<UInt64>
    /// Of a sparse leaf: the key of each row, as offset from `keyBase`. Code that puts rows there ensures it.
    private(set) var keys: UnsafeMutablePointer<Int64>?

    /// How many of `columns` there are: all, unless there was no memory for them.
    private var made = 0

    init(_ specs: UnsafeBufferPointer<ColumnSpec>) throws(StoreError) {
        columns = .allocate(capacity: specs.count)
        presence = .allocate(capacity: 64)
        presence.initialize(repeating: 0, count: 64)
        for spec in specs {
            columns.initializeElement(at: made, to: try ColumnBuffer(spec.kind))
            made += 1
        }
    }
    deinit {
        keys?.deallocate()
        presence.deallocate()
        for column in columns[..<made] { column.release() }
        columns.deallocate()
    }

    var presenceOrNil: UnsafePointer<UInt64>? { live == rows ? nil : UnsafePointer(presence) }

    func begin(keyBase: Int64) {
        keys?.deallocate()
        keys = nil
        self.keyBase = keyBase
        rows = 0
        live = 0
        presence.update(repeating: 0, count: 64)
        for index in columns.indices { columns[index].clear() }
    }

    /// Takes over the rows of an existing leaf.
    func load(
        _ head: UnsafeRawPointer, _ specs: UnsafeBufferPointer<ColumnSpec>, hints: UnsafePointer<Int>,
        _ space: WriteSpace
    ) throws(StoreError) {
        begin(keyBase: LeafHead.keyBase(head))
        let decoder = ColumnDecoder(space.source, head)
        for index in 0..<specs.count {
            try decoder.decode(specs[index], hint: hints[index], into: &columns[index], space)
        }
        rows = LeafHead.rows(head)
        live = LeafHead.live(head)
        if let bits = LeafHead.presence(head) {
            memcpy(presence, bits, LeafHead.presenceBytes)
        } else {
            setPresent(0, rows)
        }
    }

    /// Begins a leaf that lists its keys.
    func beginSparse(keyBase: Int64) throws(StoreError) {
        begin(keyBase: keyBase)
        keys = try Memory.allocate(Int64.self, LeafHead.rowsPerLeaf)
    }

    /// Adds the existing rows of another builder, which holds the leaf with the keys `keys`, to a sparse leaf.
    func gather(_ other: LeafBuilder, _ source: LeafKeys, _ space: WriteSpace) throws(StoreError) {
        let first = rows
        try source.forEach { (slot, key) throws(StoreError) in
            for index in columns.indices { try columns[index].append(other.columns[index], slot, at: rows) }
            keys.unsafelyUnwrapped[rows] = key &- keyBase
            rows &+= 1
            return true
        }
        setPresent(first, rows - first)
        live = rows
    }

    /// Takes over another builder's leaf with every row in its slot, but nothing of the slots without one.
    func copy(_ other: LeafBuilder) throws(StoreError) {
        begin(keyBase: other.keyBase)
        for slot in 0..<other.rows where other.isPresent(slot) {
            skip(to: slot)
            for index in columns.indices { try columns[index].append(other.columns[index], slot, at: slot) }
            rows = slot + 1
        }
        skip(to: other.rows)
        memcpy(presence, other.presence, LeafHead.presenceBytes)
        live = other.live
    }

    @inline(__always) private func isPresent(_ slot: Int) -> Bool {
        presence[slot &>> 6] &>> UInt64(slot & 63) & 1 != 0
    }

    /// What the texts take, in bytes, and how much of it belongs to slots without a row.
    var textBytes: (all: Int, holes: Int) {
        var all = 0, holes = 0
        for column in columns where column.isText {
            all += Int(column.offsets[rows])
            for slot in 0..<rows where !isPresent(slot) {
                holes += Int(column.offsets[slot + 1] - column.offsets[slot])
            }
        }
        return (all, holes)
    }

    private func setPresent(_ first: Int, _ count: Int) {
        var row = first
        let end = first + count
        while row < end {
            let word = row >> 6, bit = row & 63, run = min(64 - bit, end - row)
            presence[word] |= (run == 64 ? ~0 : (1 << UInt64(run) - 1)) << UInt64(bit)
            row += run
        }
    }

    /// Slots up to `slot` that no object has.
    private func skip(to slot: Int) {
        while rows < slot {
            for column in columns { column.appendGap(at: rows) }
            rows += 1
        }
    }

    /// Adds a row at or after the end.
    @inline(__always)
    func append(slot: Int, _ values: UnsafePointer<Value>, _ space: WriteSpace) throws(StoreError) {
        if _slowPath(slot > rows) { skip(to: slot) }
        let count = columns.count, base = columns.baseAddress
        for index in 0..<count { try base.unsafelyUnwrapped[index].append(values[index], at: slot, space) }
        presence[slot &>> 6] |= 1 &<< UInt64(slot & 63)
        rows = slot &+ 1
        live &+= 1
    }

    /// Adds rows `first ..< first + count` of column vectors from slot `slot` on.
    func append(
        slot: Int, _ vectors: UnsafePointer<ColumnVector>, first: Int, count: Int, _ space: WriteSpace
    ) throws(StoreError) {
        skip(to: slot)
        for index in 0..<columns.count {
            try columns[index].append(vectors[index], first: first, count: count, at: slot, space)
        }
        setPresent(slot, count)
        rows = slot + count
        live += count
    }
}

/// A column on its way in: many values of one kind, borrowed from the caller.
package struct ColumnVector: @unchecked Sendable {
    /// How `numbers` is laid out.
    package enum Layout: Sendable {
        /// 8 bytes each: ints, doubles, the first words of pairs.
        case words
        /// 4 bytes each: floats.
        case singles
        /// One byte each: bools (0 or not).
        case bytes
        /// Text or binary: `numbers` is not used.
        case text
    }

    package var layout: Layout
    /// Int64, Double, Float or UInt8 values.
    package var numbers: UnsafeRawPointer?
    /// Second words of pairs; null = all zero.
    package var secondWords: UnsafePointer<Int64>?
    /// Text: `count + 1` ascending offsets into `bytes`.
    package var offsets: UnsafePointer<Int64>?
    package var bytes: UnsafeRawPointer?
    /// Bit set = the value is present, least significant bit first; null pointer = no value is null.
    package var validity: UnsafePointer<UInt8>?
    /// Every row is null.
    package var allNull: Bool

    package init(
        layout: Layout, numbers: UnsafeRawPointer? = nil, secondWords: UnsafePointer<Int64>? = nil,
        offsets: UnsafePointer<Int64>? = nil,
        bytes: UnsafeRawPointer? = nil, validity: UnsafePointer<UInt8>? = nil, allNull: Bool = false
    ) {
        self.layout = layout
        self.numbers = numbers
        self.secondWords = secondWords
        self.offsets = offsets
        self.bytes = bytes
        self.validity = validity
        self.allNull = allNull
    }

    @inline(__always)
    package func isNull(_ index: Int) -> Bool {
        if allNull { return true }
        guard let validity else { return false }
        return validity[index &>> 3] &>> UInt8(index & 7) & 1 == 0
    }
}

extension ColumnBuffer {
    mutating func append(
        _ vector: ColumnVector, first: Int, count: Int, at row: Int, _ space: WriteSpace
    ) throws(StoreError) {
        if isText {
            for index in 0..<count {
                let from = first &+ index
                if vector.isNull(from) {
                    try append(.null, at: row &+ index, space)
                } else {
                    let start = Int(vector.offsets.unsafelyUnwrapped[from])
                    try appendText(
                        vector.bytes.map { $0 + start }, Int(vector.offsets.unsafelyUnwrapped[from &+ 1]) &- start,
                        at: row &+ index, space)
                }
            }
            return
        }
        if vector.allNull {
            (numbers + row).update(repeating: 0, count: count)
        } else if vector.layout == .bytes {
            let from = vector.numbers!.assumingMemoryBound(to: UInt8.self) + first
            for index in 0..<count { numbers[row &+ index] = from[index] == 0 ? 0 : 1 }
        } else if vector.layout == .singles {
            let from = vector.numbers! + first &<< 2
            for index in 0..<count {
                numbers[row &+ index] = Int64(from.loadUnaligned(fromByteOffset: index &<< 2, as: UInt32.self))
            }
        } else {
            memcpy(numbers + row, vector.numbers! + first &<< 3, count &<< 3)
        }
        if isPair {
            if let from = vector.secondWords {
                (secondWords + row).update(from: from + first, count: count)
            } else {
                (secondWords + row).update(repeating: 0, count: count)
            }
        }
        if vector.allNull || vector.validity != nil {
            for index in 0..<count where vector.isNull(first &+ index) { setNull(row &+ index) }
        }
    }
}

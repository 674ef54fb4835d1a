/// The columns of an insert as trees take them, some thousand rows at a time: pairs split, defaults repeated.
final class ColumnVectors {
    static let rows = 8192
    private let cls: ClassSchema
    private let columns: UnsafeBufferPointer<InputColumn>
    private let inputs: [Int?]
    private let vectors: UnsafeMutablePointer<ColumnVector>
    private var memory: [UnsafeMutableRawPointer] = []
    /// By property: where the words of pairs go.
    private var pairs: [(words: UnsafeMutablePointer<Int64>, secondWords: UnsafeMutablePointer<Int64>)?]

    init(_ cls: ClassSchema, _ columns: UnsafeBufferPointer<InputColumn>, _ inputs: [Int?]) throws(StoreError) {
        self.cls = cls
        self.columns = columns
        self.inputs = inputs
        vectors = .allocate(capacity: cls.columns.count)
        pairs = Array(repeating: nil, count: cls.columns.count)
        vectors.initialize(repeating: ColumnVector(layout: .words, allNull: true), count: cls.columns.count)
        for position in 0..<cls.columns.count {
            let kind = cls.columns[position].kind
            if inputs[position] == nil {
                vectors[position] = try constant(cls.properties[position].defaultValue?.value ?? .null, kind)
            }
            if kind.isPair, inputs[position] != nil {
                pairs[position] = (try room(Int64.self), try room(Int64.self))
            }
        }
    }

    deinit {
        vectors.deallocate()
        for block in memory { block.deallocate() }
    }

    private func room<T: BitwiseCopyable>(
        _: T.Type, _ count: Int = ColumnVectors.rows
    ) throws(StoreError) -> UnsafeMutablePointer<T> {
        let block = try Memory.allocate(max(count, 1) * MemoryLayout<T>.stride)
        memory.append(block)
        return block.assumingMemoryBound(to: T.self)
    }

    /// One value for every row.
    private func constant(_ value: Value, _ kind: ValueKind) throws(StoreError) -> ColumnVector {
        let layout: ColumnVector.Layout =
            kind == .bool ? .bytes : kind == .float ? .singles : kind.isBytes ? .text : .words
        if value.isNull { return ColumnVector(layout: layout, allNull: true) }
        let rows = ColumnVectors.rows
        switch kind {
        case .string, .binary, .list, .set, .map, .mixed:
            let offsets = try room(Int64.self, rows + 1), bytes = try room(UInt8.self, rows * value.count)
            for row in 0...rows { offsets[row] = Int64(row * value.count) }
            if value.count > 0 {
                for row in 0..<rows {
                    UnsafeMutableRawPointer(bytes + row * value.count).copyMemory(
                        from: value.pointer!, byteCount: value.count)
                }
            }
            return ColumnVector(layout: .text, offsets: offsets, bytes: UnsafeRawPointer(bytes))
        case .bool:
            let bytes = try room(UInt8.self)
            bytes.initialize(repeating: UInt8(truncatingIfNeeded: value.low), count: rows)
            return ColumnVector(layout: .bytes, numbers: UnsafeRawPointer(bytes))
        case .float:
            let singles = try room(UInt32.self)
            singles.initialize(repeating: UInt32(truncatingIfNeeded: value.low), count: rows)
            return ColumnVector(layout: .singles, numbers: UnsafeRawPointer(singles))
        default:
            let words = try room(Int64.self)
            words.initialize(repeating: value.low, count: rows)
            var vector = ColumnVector(layout: .words, numbers: UnsafeRawPointer(words))
            if kind.isPair {
                let secondWords = try room(Int64.self)
                secondWords.initialize(repeating: value.high, count: rows)
                vector.secondWords = UnsafePointer(secondWords)
            }
            return vector
        }
    }

    /// The vectors of rows `first ..< first + count`; valid until the next call.
    func fill(from first: Int, count: Int) throws(StoreError) -> UnsafePointer<ColumnVector> {
        for position in 0..<cls.columns.count {
            guard let input = inputs[position] else { continue }
            let column = columns[input]
            var vector: ColumnVector
            switch column.kind {
            case .string, .binary, .mixed:
                vector = ColumnVector(layout: .text, offsets: column.offsets.map { $0 + first }, bytes: column.values)
            case .bool: vector = ColumnVector(layout: .bytes, numbers: column.values.map { $0 + first })
            case .float: vector = ColumnVector(layout: .singles, numbers: column.values.map { $0 + first * 4 })
            case .timestamp, .decimal128, .objectID, .uuid:
                let (words, secondWords) = pairs[position]!
                for row in 0..<count {
                    let value = column.value(first &+ row)
                    words[row] = value.low
                    secondWords[row] = value.high
                }
                vector = ColumnVector(
                    layout: .words, numbers: UnsafeRawPointer(words), secondWords: UnsafePointer(secondWords))
            default: vector = ColumnVector(layout: .words, numbers: column.values.map { $0 + first * 8 })
            }
            if let validity = column.validity { vector.validity = try shifted(validity, first, count, position) }
            vectors[position] = vector
        }
        return UnsafePointer(vectors)
    }

    private var bitmaps: [Int: UnsafeMutablePointer<UInt8>] = [:]

    /// The bits from row `first` on, at bit 0.
    private func shifted(
        _ validity: UnsafePointer<UInt8>, _ first: Int, _ count: Int, _ position: Int
    ) throws(StoreError) -> UnsafePointer<UInt8> {
        if first & 7 == 0 { return validity + first >> 3 }
        let bits = if let made = bitmaps[position] { made } else { try room(UInt8.self, ColumnVectors.rows / 8 + 1) }
        bitmaps[position] = bits
        bits.update(repeating: 0, count: (count + 7) / 8)
        for row in 0..<count where validity[(first + row) >> 3] >> UInt8((first + row) & 7) & 1 != 0 {
            bits[row >> 3] |= 1 << UInt8(row & 7)
        }
        return UnsafePointer(bits)
    }
}

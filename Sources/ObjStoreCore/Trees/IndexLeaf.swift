/// A leaf of an index: entries (value, object key) in ascending order, in one of three encodings.
///
/// ```
///  word of the header   16        17    18        19          20       21  22
///                      +---------+-----+---------+-----------+--------+---+------+
///                      |encoding |form |key width|value width|low wdth| 0 | text |
///                      +---------+-----+---------+-----------+--------+---+------+
///  packed   32 value base | 40 key base | 48 low base (4), 0 (4) | 56 values | keys | lows
///  runs     32 entries    | 40 0        | 48 0                   | 56 runs of 24 bytes:
///                                               first value | first key | entries before it << 1 | ascending
///  text     32 key base   | 40 offsets (2 bytes, one more than entries) | keys | common prefix | suffixes
/// ```
/// The count in the header is that of entries, or of runs. Values are order bits (`IndexBits`), keys are
/// offsets from their base; `low` is a timestamp's nanoseconds, or the last four bytes of an object id. `form` 1: every
/// entry is null (the values have width 0). `text` is the length of the common prefix. Bit 15 of an offset says that
/// the value is long: after the suffix of its first 64 bytes follow its length (4 bytes) and the hash of all of it (8).
/// Other encodings and forms are free for compound keys, payloads and multiplicities.
enum IndexLeaf {
    static let packed: UInt8 = 1
    static let runs: UInt8 = 2
    static let text: UInt8 = 3

    /// Where columns and runs begin.
    static let data = 56
    static let runBytes = 24
    static let textData = 40
    /// After the suffix of a long value.
    static let longTrailer = 12
    static let longBit: UInt16 = 0x8000
    static let offsetMask: UInt16 = 0x3fff

    @inline(__always) static func encoding(_ leaf: UnsafeRawPointer) -> UInt8 {
        leaf.load(fromByteOffset: 16, as: UInt8.self)
    }
    @inline(__always) static func isNull(_ leaf: UnsafeRawPointer) -> Bool {
        leaf.load(fromByteOffset: 17, as: UInt8.self) != 0
    }
    @inline(__always) static func keyWidth(_ leaf: UnsafeRawPointer) -> Int {
        Int(leaf.load(fromByteOffset: 18, as: UInt8.self))
    }
    @inline(__always) static func valueWidth(_ leaf: UnsafeRawPointer) -> Int {
        Int(leaf.load(fromByteOffset: 19, as: UInt8.self))
    }
    @inline(__always) static func lowWidth(_ leaf: UnsafeRawPointer) -> Int {
        Int(leaf.load(fromByteOffset: 20, as: UInt8.self))
    }
    @inline(__always) static func prefixLength(_ leaf: UnsafeRawPointer) -> Int {
        Int(leaf.load(fromByteOffset: 22, as: UInt16.self))
    }
    @inline(__always) static func base(_ leaf: UnsafeRawPointer, _ offset: Int) -> UInt64 {
        leaf.load(fromByteOffset: offset, as: UInt64.self)
    }

    static func word(
        encoding: UInt8, isNull: Bool, keyWidth: Int, valueWidth: Int = 0, lowWidth: Int = 0, prefixLength: Int = 0
    ) -> UInt64 {
        UInt64(encoding) | (isNull ? 1 << 8 : 0) | UInt64(keyWidth) << 16 | UInt64(valueWidth) << 24 | UInt64(lowWidth)
            << 32
            | UInt64(prefixLength) << 48
    }

    /// How many entries the leaf holds.
    @inline(__always)
    static func entries(_ leaf: UnsafeRawPointer) -> Int {
        encoding(leaf) == runs ? Int(base(leaf, 32)) : NodeHeader.count(leaf)
    }

    // MARK: Packed

    @inline(__always)
    static func values(_ leaf: UnsafeRawPointer) -> IndexColumn {
        IndexColumn(leaf + data, width: valueWidth(leaf), base: base(leaf, 32))
    }
    @inline(__always)
    static func keys(_ leaf: UnsafeRawPointer) -> IndexColumn {
        IndexColumn(
            leaf + (data &+ NodeHeader.count(leaf) &* valueWidth(leaf)), width: keyWidth(leaf), base: base(leaf, 40))
    }
    @inline(__always)
    static func lows(_ leaf: UnsafeRawPointer) -> IndexColumn {
        IndexColumn(
            leaf + (data &+ NodeHeader.count(leaf) &* (valueWidth(leaf) &+ keyWidth(leaf))), width: lowWidth(leaf),
            base: UInt64(leaf.load(fromByteOffset: 48, as: UInt32.self)))
    }

    /// Bytes of an entry, at least, if the entries of a packed leaf and of the one behind it are in one. Leaves
    /// that end where numbers would have got wider are small for that reason, and stay so.
    static func joinedWidth(_ a: UnsafeRawPointer, _ b: UnsafeRawPointer) -> Int {
        func width(_ x: IndexColumn, _ y: IndexColumn) -> Int {
            let (low, high) =
                Int64(bitPattern: x.base) < Int64(bitPattern: y.base) ? (x.base, y.base) : (y.base, x.base)
            return max(x.width, y.width, IndexColumn.width(high &- low))
        }
        let first = values(a)[0], last = values(b)[NodeHeader.count(b) &- 1]
        return IndexColumn.width(last &- first) &+ width(keys(a), keys(b)) &+ width(lows(a), lows(b))
    }

    // MARK: Runs

    @inline(__always)
    static func runWord(_ leaf: UnsafeRawPointer, _ run: Int, _ word: Int) -> UInt64 {
        leaf.load(fromByteOffset: data &+ run &* runBytes &+ word &* 8, as: UInt64.self)
    }
    /// Entries before the run.
    @inline(__always) static func runStart(_ leaf: UnsafeRawPointer, _ run: Int) -> Int {
        Int(runWord(leaf, run, 2) >> 1)
    }

    /// The run as one entry.
    @inline(__always)
    static func run(_ leaf: UnsafeRawPointer, _ index: Int) -> IndexEntry {
        let word = runWord(leaf, index, 2)
        let end = index &+ 1 < NodeHeader.count(leaf) ? runStart(leaf, index &+ 1) : Int(base(leaf, 32))
        var flags = isNull(leaf) ? 0 : IndexEntry.present
        if word & 1 != 0 { flags |= IndexEntry.ascending }
        return IndexEntry(
            bits: runWord(leaf, index, 0), low: leaf.load(fromByteOffset: 48, as: UInt32.self),
            key: Int64(bitPattern: runWord(leaf, index, 1)), extra: UInt(bitPattern: end &- Int(word >> 1) &- 1),
            flags: flags)
    }

    // MARK: Text

    @inline(__always)
    static func textKeys(_ leaf: UnsafeRawPointer) -> IndexColumn {
        IndexColumn(
            leaf + (textData &+ 2 &* (NodeHeader.count(leaf) &+ 1)), width: keyWidth(leaf), base: base(leaf, 32))
    }
    @inline(__always)
    static func view(_ leaf: UnsafeRawPointer) -> IndexText {
        let count = NodeHeader.count(leaf), prefix = prefixLength(leaf)
        let start = textData &+ 2 &* (count &+ 1) &+ count &* keyWidth(leaf)
        return IndexText(
            offsets: leaf + textData, prefix: leaf + start, prefixLength: prefix, blob: leaf + (start &+ prefix))
    }

    // MARK: First touch

    /// Whether every later access stays inside the node, and the numbers are in order (so that widths
    /// computed from the first and the last hold for all). Never reads beyond `bytes`.
    static func isWellFormed(_ leaf: UnsafeRawPointer, bytes: Int) -> Bool {
        let count = NodeHeader.count(leaf)
        guard bytes >= data || (bytes >= textData && encoding(leaf) == text), count > 0 else { return false }
        guard leaf.load(fromByteOffset: 17, as: UInt8.self) <= 1, keyWidth(leaf) <= 8, valueWidth(leaf) <= 8,
            lowWidth(leaf) <= 4
        else {
            return false
        }
        switch encoding(leaf) {
        case packed: return isPackedWellFormed(leaf, bytes: bytes, count: count)
        case runs: return areRunsWellFormed(leaf, bytes: bytes, count: count)
        case text:
            let start = textData + 2 * (count + 1) + count * keyWidth(leaf) + prefixLength(leaf)
            guard !isNull(leaf), start <= bytes else { return false }
            return view(leaf).isWellFormed(count: count, bytes: bytes - start, keyed: false)
        default: return false
        }
    }

    private static func isPackedWellFormed(_ leaf: UnsafeRawPointer, bytes: Int, count: Int) -> Bool {
        guard bytes == data + count * (valueWidth(leaf) + keyWidth(leaf) + lowWidth(leaf)) else { return false }
        if isNull(leaf), valueWidth(leaf) != 0 || lowWidth(leaf) != 0 { return false }
        let values = values(leaf), keys = keys(leaf), lows = lows(leaf)
        guard !values.base.addingReportingOverflow(values.offset(count - 1)).overflow else { return false }
        var index = 1
        var value = values.offset(0), low = lows.offset(0), key = Int64(bitPattern: keys[0])
        if valueWidth(leaf) | lowWidth(leaf) == 0 {
            // One value for all: the common leaf of a property with few values, read after every commit that wrote it.
            while index < count {
                let nextKey = Int64(bitPattern: keys[index])
                if key >= nextKey { return false }
                key = nextKey
                index &+= 1
            }
            return true
        }
        while index < count {
            let nextValue = values.offset(index), nextLow = lows.offset(index), nextKey = Int64(bitPattern: keys[index])
            if value >= nextValue {
                if value > nextValue || lows.base &+ low > lows.base &+ nextLow { return false }
                if low == nextLow, key >= nextKey { return false }
            }
            (value, low, key) = (nextValue, nextLow, nextKey)
            index &+= 1
        }
        return true
    }

    private static func areRunsWellFormed(_ leaf: UnsafeRawPointer, bytes: Int, count: Int) -> Bool {
        let total = base(leaf, 32)
        guard bytes == data + count * runBytes, total < 1 << 48 else { return false }
        var previous: IndexEntry?
        for index in 0..<count {
            let start = runWord(leaf, index, 2) >> 1
            let end = index + 1 < count ? runWord(leaf, index + 1, 2) >> 1 : total
            guard index > 0 || start == 0, end > start, end <= total else { return false }
            let run = run(leaf, index)
            let last = run.advanced(run.run - 1)
            guard last.bits >= run.bits, last.key >= run.key else { return false }
            if let previous {
                guard previous.bits < run.bits || (previous.bits == run.bits && previous.key < run.key) else {
                    return false
                }
            }
            if isNull(leaf), run.bits != 0 || run.step != 0 { return false }
            previous = last
        }
        return true
    }
}

extension NodeKind {
    @inline(__always) package static var indexLeaf: NodeKind {
        NodeKind(7) { IndexLeaf.isWellFormed($0, bytes: $1) }
    }
}

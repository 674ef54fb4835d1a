internal import Glibc

/// One (value, object key) pair in memory, or a run of them; also a separator of an inner node, a search
/// target and a change that waits to be merged. Plain data of 32 bytes.
///
/// Numbers are compared by `bits`, an unsigned integer in the order of the values, then by `low`. Text (string,
/// binary, and the 16 bytes of uuids and decimals) is compared byte by byte: `address` reaches the first `head`
/// bytes, or all where the entry is `whole`.
struct IndexEntry {
    /// Numbers: order bits. Text: hash of the whole value (0 if it is not needed).
    var bits: UInt64
    var key: Int64
    /// Numbers: how many further entries the run has. Text: address of the bytes.
    var extra: UInt
    /// Timestamps: nanoseconds in unsigned order. Object ids: the last four bytes. Text: length of the whole value in
    /// bytes.
    var low: UInt32
    var flags: UInt32

    static let present: UInt32 = 1
    /// Text longer than an entry of the tree stores.
    static let long: UInt32 = 2
    /// `address` reaches the whole value, however long.
    static let whole: UInt32 = 4
    /// The values of a run grow by one an entry; otherwise they are equal. Object keys always grow by one.
    static let ascending: UInt32 = 8
    static let removal: UInt32 = 16
    static let dead: UInt32 = 32

    @inline(__always)
    init(bits: UInt64, low: UInt32 = 0, key: Int64, extra: UInt = 0, flags: UInt32) {
        self.bits = bits; self.key = key; self.extra = extra; self.low = low; self.flags = flags
    }

    @inline(__always) var isNull: Bool { flags & IndexEntry.present == 0 }
    @inline(__always) var isLong: Bool { flags & IndexEntry.long != 0 }
    @inline(__always) var isWhole: Bool { flags & IndexEntry.whole != 0 }
    @inline(__always) var isRemoval: Bool { flags & IndexEntry.removal != 0 }
    @inline(__always) var isDead: Bool { flags & IndexEntry.dead != 0 }
    @inline(__always) var address: UnsafeRawPointer { UnsafeRawPointer(bitPattern: extra).unsafelyUnwrapped }
    /// Length of a run of numbers.
    @inline(__always) var run: Int { Int(bitPattern: extra) &+ 1 }
    /// What the value grows by from one entry of a run to the next: 0 or 1.
    @inline(__always) var step: UInt64 { UInt64(truncatingIfNeeded: (flags & IndexEntry.ascending) >> 3) }
    /// Bytes of text that a tree stores for this entry.
    @inline(__always) var head: Int { isLong ? min(Int(low), IndexLimits.head) : Int(low) }

    /// The entry `offset` places further in a run of numbers; with the rest of the run.
    @inline(__always)
    func advanced(_ offset: Int) -> IndexEntry {
        var entry = self
        entry.bits = bits &+ (step &* UInt64(bitPattern: Int64(offset)))
        entry.key = key &+ Int64(offset)
        entry.extra = extra &- UInt(bitPattern: offset)
        return entry
    }

    /// The separator that lets everything through: smaller than any entry.
    static let lowest = IndexEntry(bits: 0, key: .min, flags: 0)
}

/// Sizes that decide when index nodes split. The format knows only what fits; tests make nodes tiny.
package struct IndexLimits: Sendable {
    package var leafBytes = 1024
    package var innerBytes = 2048
    package var leafEntries = 60_000
    package var innerChildren = 60_000
    /// Runs in a leaf of runs.
    package var runs = 40
    /// A run of at least this many entries is stored as a run, not entry by entry.
    package var longRun = 48
    /// Changes that wait in memory before they are merged into the tree.
    package var pending = 1 << 18

    package init() {}
    package static let standard = IndexLimits()

    /// Bytes of a text that an entry stores; the rest is read from `IndexLongValues`.
    static let head = 64
}

/// Gives the whole bytes of texts longer than an index stores (64 bytes), so that the order is by the full
/// value and equality is never decided by a hash.
///
/// The layer that owns the rows supplies it. For a reader: the row of the *same snapshot* that the index
/// root belongs to. For a writer: the row of the transaction's **base** snapshot, whatever the transaction
/// has done to the row since (the index is searched after rows were changed, and its entries are still those
/// of the base). The writer itself remembers the long values that were inserted in the transaction.
open class IndexLongValues {
    public init() {}

    /// The indexed property's value in that snapshot. The bytes stay valid until the next call.
    /// Throws `.corrupt` where the object does not exist or has no long value: the index then lies.
    open func bytes(of objectKey: Int64) throws(StoreError) -> UnsafeRawBufferPointer { fatalError("abstract") }

    /// `hash` distinguishes the values that one object had in the course of a transaction.
    func bytes(of objectKey: Int64, hash: UInt64) throws(StoreError) -> UnsafeRawBufferPointer {
        try bytes(of: objectKey)
    }
}

/// The order of entries: null first, then by value, then by object key. A value of two words.
struct IndexOrder {
    let isText: Bool
    /// Not retained: the maker of an `IndexOrder` keeps it alive.
    let longValues: Unmanaged<IndexLongValues>?

    init(kind: ValueKind, longValues: IndexLongValues?) {
        isText = kind.isIndexedAsBytes
        self.longValues = longValues.map { Unmanaged.passUnretained($0) }
    }

    /// Negative, zero or positive, of the first entries of both runs.
    @inline(__always)
    func compare(_ a: IndexEntry, _ b: IndexEntry) throws(StoreError) -> Int {
        let value = try compareValues(a, b)
        if value != 0 { return value }
        return a.key == b.key ? 0 : a.key < b.key ? -1 : 1
    }

    @inline(__always)
    func compareValues(_ a: IndexEntry, _ b: IndexEntry) throws(StoreError) -> Int {
        if (a.flags ^ b.flags) & IndexEntry.present != 0 { return a.isNull ? -1 : 1 }
        if a.isNull { return 0 }
        if isText { return try compareText(a, b) }
        if a.bits != b.bits { return a.bits < b.bits ? -1 : 1 }
        return a.low == b.low ? 0 : a.low < b.low ? -1 : 1
    }

    private func compareText(_ a: IndexEntry, _ b: IndexEntry) throws(StoreError) -> Int {
        let shared = min(a.head, b.head)
        if shared > 0 {
            let order = memcmp(a.address, b.address, shared)
            if order != 0 { return Int(order) }
        }
        if a.isLong && b.isLong { return try compareLong(a, b) }
        return Int(a.low) &- Int(b.low)
    }

    @inline(never)
    private func compareLong(_ a: IndexEntry, _ b: IndexEntry) throws(StoreError) -> Int {
        if a.isWhole {
            return
                -(try compareStored(
                    key: b.key, hash: b.bits, length: b.low, isWhole: b.isWhole, b.extra, with: a.address, Int(a.low)))
        }
        if b.isWhole {
            return try compareStored(
                key: a.key, hash: a.bits, length: a.low, isWhole: false, a.extra, with: b.address, Int(b.low))
        }
        if a.key == b.key, a.bits == b.bits, a.low == b.low { return 0 }
        // Both lie in rows, and reading one may overwrite the other.
        let bytes = try whole(key: a.key, hash: a.bits, length: a.low)
        let copy = try Memory.allocate(bytes.count)
        defer { copy.deallocate() }
        copy.copyMemory(from: bytes.baseAddress!, byteCount: bytes.count)
        return
            -(try compareStored(
                key: b.key, hash: b.bits, length: b.low, isWhole: false, b.extra, with: copy, bytes.count))
    }

    private func compareStored(
        key: Int64, hash: UInt64, length: UInt32, isWhole: Bool, _ address: UInt, with other: UnsafeRawPointer,
        _ count: Int
    ) throws(StoreError) -> Int {
        let bytes: UnsafeRawPointer
        if isWhole {
            bytes = UnsafeRawPointer(bitPattern: address).unsafelyUnwrapped
        } else {
            bytes = try whole(key: key, hash: hash, length: length).baseAddress!
        }
        let order = memcmp(bytes, other, min(Int(length), count))
        return order != 0 ? Int(order) : Int(length) &- count
    }

    /// The whole bytes of a long value of the tree.
    func whole(key: Int64, hash: UInt64, length: UInt32) throws(StoreError) -> UnsafeRawBufferPointer {
        guard let longValues else { throw StoreError(.corrupt, "an index has a long value, and nobody to ask for it") }
        let bytes = try longValues.takeUnretainedValue().bytes(of: key, hash: hash)
        guard bytes.count == Int(length) else {
            throw StoreError(.corrupt, "index and object \(key) disagree: \(length) and \(bytes.count) bytes")
        }
        return bytes
    }
}

extension IndexEntry {
    /// The entry of a value from a caller. Text is not copied: it lives as long as the caller says.
    ///
    /// Doubles, floats: -0.0 is 0.0, every NaN is the same and greater than infinity. Uuids and decimals come as
    /// `withIndexBytes` makes them.
    init(_ value: Value, key: Int64, kind: ValueKind) throws(StoreError) {
        if value.kind == .null {
            self.init(bits: 0, key: key, flags: 0)
            return
        }
        guard value.kind == kind else {
            throw StoreError(.invalidArgument, "\(value.kind.indefinite) in an index of \(kind)")
        }
        switch kind {
        case .bool, .int, .link:
            self.init(bits: IndexBits.signed(value.low), key: key, flags: IndexEntry.present)
        case .double:
            self.init(bits: IndexBits.double(value.asDouble), key: key, flags: IndexEntry.present)
        case .float:
            self.init(bits: IndexBits.double(Double(value.asFloat)), key: key, flags: IndexEntry.present)
        case .objectID:
            self.init(
                bits: IndexBits.signed(value.low), low: UInt32(truncatingIfNeeded: value.high), key: key,
                flags: IndexEntry.present)
        case .timestamp:
            self.init(
                bits: IndexBits.signed(value.low), low: UInt32(truncatingIfNeeded: value.high) ^ 0x8000_0000, key: key,
                flags: IndexEntry.present)
        case .string, .binary:
            guard value.count <= IndexKey.longest else {
                throw StoreError(.invalidArgument, "\(kind.indefinite) of \(value.count) bytes cannot be indexed")
            }
            let long = value.count > IndexLimits.head ? IndexEntry.long : 0
            self.init(
                bits: 0, low: UInt32(truncatingIfNeeded: value.count), key: key,
                extra: UInt(bitPattern: value.pointer ?? IndexBits.nothing),
                flags: IndexEntry.present | IndexEntry.whole | long)
        case .decimal128, .uuid:
            guard let bytes = value.pointer, value.count == Value.indexBytes else {
                throw StoreError(.invalidArgument, "\(kind.indefinite) without its bytes")
            }
            self.init(
                bits: 0, low: UInt32(Value.indexBytes), key: key, extra: UInt(bitPattern: bytes),
                flags: IndexEntry.present | IndexEntry.whole)
        default:
            throw StoreError(.invalidArgument, "\(kind.indefinite) cannot be indexed")
        }
    }

    /// The value again, or of equal ones the plainest (0.0, 1.5 for 1.50); text points to where the entry points, and
    /// is cut where a long one is not whole.
    func value(_ kind: ValueKind) -> Value {
        if isNull { return .null }
        switch kind {
        case .double: return Value(kind: .double, low: IndexBits.doublePattern(bits))
        case .float: return .float(Float(Double(bitPattern: UInt64(bitPattern: IndexBits.doublePattern(bits)))))
        case .objectID: return Value(kind: .objectID, low: IndexBits.toSigned(bits), high: Int64(low))
        case .decimal128, .uuid: return head == Value.indexBytes ? Value.indexed(kind, address) : .null
        case .timestamp:
            return Value(
                kind: .timestamp, low: IndexBits.toSigned(bits), high: Int64(Int32(bitPattern: low ^ 0x8000_0000)))
        case .string, .binary:
            return Value(kind: kind, pointer: address, count: isWhole ? Int(low) : head)
        default: return Value(kind: kind, low: IndexBits.toSigned(bits))
        }
    }
}

/// One committed version as the redo log has it.
///
/// ```
///   0 u32 magic "OREC", u32 bytes   8 epoch   16 version   24 chain (hash of the record before)
///  32 u32 flags, u32 format         40 lsn    48 root      56 free map (checkpoints)   64 file pages
///  72 u32 ops bytes, u32 delta bytes          80 delta ref  88 delta length
///  96 next region offset, 104 next region bytes (0: stay)  112 time (ns since 1970)    120 hash64
/// 128 ops (OpCodec), then the allocation delta (AllocationDelta); zero up to a multiple of 512
/// ```
/// A record never crosses the end of the ring. Where it does not fit before the end, a skip mark of 512
/// bytes (magic "OSKP", chained like the record) sends the reader to the ring's start.
struct LogRecord {
    static let headerSize = 128
    static let sector = 512
    static let recordMagic: UInt32 = 0x4345_524f
    static let skipMagic: UInt32 = 0x504b_534f
    static let formatVersion: UInt32 = 1

    struct Flags: OptionSet {
        let rawValue: UInt32
        /// More records of the same group follow: the group survives as a whole or not at all.
        static let continues = Flags(rawValue: 1)
        /// The ops say only which objects changed: this version cannot be replayed.
        static let summary = Flags(rawValue: 2)
        static let checkpoint = Flags(rawValue: 4)
    }

    var version: UInt64
    var flags: Flags = []
    var root: Ref = .null
    /// Of a checkpoint: the pages that it allocated for the free map.
    var freeMap = PageRun()
    var filePages = 0
    /// Where a large allocation delta lies, instead of in the record.
    var deltaRef: Ref = .null
    var deltaLength = 0
    var nextRegion = LogRegion()
    var time: Int64 = 0
    var opsBytes = 0
    var deltaBytes = 0

    /// Set by `encode` and `decode`: position before and after this record, and its hash (the new chain).
    private(set) var start = LogPosition()
    private(set) var end = LogPosition()
    var chain: UInt64 { end.chain }

    // MARK: Encoding

    /// Fills `buffer` with header and payload, ready to be written at `position` (or after a skip mark).
    mutating func encode(
        into buffer: ByteBuffer, ops: ByteBuffer?, delta: ByteBuffer?, at position: LogPosition, seed: UInt64
    ) throws(StoreError) {
        buffer.removeAll()
        opsBytes = ops?.count ?? 0
        deltaBytes = delta?.count ?? 0
        let bytes = LogRecord.headerSize + opsBytes + deltaBytes
        let rounded = (bytes + LogRecord.sector - 1) & ~(LogRecord.sector - 1)
        start = position
        let lsn = position.bytesToEnd(position.lsn) < rounded ? position.nextLap : position.lsn
        try buffer.append(LogRecord.recordMagic)
        try buffer.append(UInt32(bytes))
        try buffer.append(position.epoch)
        try buffer.append(version)
        try buffer.append(position.chain)
        try buffer.append(flags.rawValue)
        try buffer.append(LogRecord.formatVersion)
        try buffer.append(lsn)
        try buffer.append(root.raw)
        try buffer.append(freeMap.word)
        try buffer.append(UInt64(filePages))
        try buffer.append(UInt32(opsBytes))
        try buffer.append(UInt32(deltaBytes))
        try buffer.append(deltaRef.raw)
        try buffer.append(UInt64(deltaLength))
        try buffer.append(UInt64(nextRegion.offset))
        try buffer.append(UInt64(nextRegion.bytes))
        try buffer.append(time)
        try buffer.append(UInt64(0))
        if let ops { try buffer.append(bytes: UnsafeRawPointer(ops.base), count: ops.count) }
        if let delta { try buffer.append(bytes: UnsafeRawPointer(delta.base), count: delta.count) }
        try buffer.pad(to: LogRecord.sector)
        let hash = LogRecord.hash(UnsafeRawPointer(buffer.base), bytes: buffer.count, seed: seed)
        buffer.store(hash, at: 120)
        end = LogRecord.end(lsn: lsn, rounded: rounded, position: position, hash: hash, nextRegion: nextRegion)
    }

    private static func end(
        lsn: UInt64, rounded: Int, position: LogPosition, hash: UInt64, nextRegion: LogRegion
    ) -> LogPosition {
        nextRegion.bytes == 0
            ? LogPosition(lsn: lsn + UInt64(rounded), epoch: position.epoch, chain: hash, region: position.region)
            : LogPosition(lsn: 0, epoch: position.epoch + 1, chain: hash, region: nextRegion)
    }

    /// Hash of a record in memory, whose hash field counts as zero; seeded, and chained by its content.
    static func hash(_ base: UnsafeRawPointer, bytes: Int, seed: UInt64) -> UInt64 {
        PageHash.mix(
            PageHash.hash(base, count: 96, seed: seed),
            PageHash.hash(
                base + 128, count: bytes - 128,
                seed: PageHash.mix(
                    base.load(fromByteOffset: 96, as: UInt64.self) ^ base.load(fromByteOffset: 104, as: UInt64.self)
                        &* 31,
                    base.load(fromByteOffset: 112, as: UInt64.self))))
    }

    static func encodeSkip(
        into buffer: ByteBuffer, version: UInt64, at position: LogPosition, seed: UInt64
    ) throws(StoreError) {
        buffer.removeAll()
        try buffer.append(skipMagic)
        try buffer.append(UInt32(sector))
        try buffer.append(position.epoch)
        try buffer.append(version)
        try buffer.append(position.chain)
        try buffer.append(UInt64(0))
        try buffer.append(position.lsn)
        try buffer.pad(to: sector)
        buffer.store(hash(UnsafeRawPointer(buffer.base), bytes: sector, seed: seed), at: 120)
    }

    // MARK: Decoding

    /// Decodes the fixed part; the caller has checked magic, length and hash.
    init(header p: UnsafeRawPointer, start: LogPosition) throws(StoreError) {
        func get<T: BitwiseCopyable>(_ offset: Int, _: T.Type = T.self) -> T {
            p.loadUnaligned(fromByteOffset: offset, as: T.self)
        }
        version = get(16)
        flags = Flags(rawValue: get(32))
        root = Ref(raw: get(48))
        freeMap = PageRun(word: get(56))
        opsBytes = Int(get(72, UInt32.self))
        deltaBytes = Int(get(76, UInt32.self))
        deltaRef = Ref(raw: get(80))
        time = get(112)
        let bytes = Int(get(4, UInt32.self))
        let pages: UInt64 = get(64), length: UInt64 = get(88), offset: UInt64 = get(96), size: UInt64 = get(104)
        let limit = UInt64(1) << 52
        guard get(36, UInt32.self) == LogRecord.formatVersion, bytes == LogRecord.headerSize + opsBytes + deltaBytes,
            pages < limit, length < limit, offset < limit, size < limit
        else { throw StoreError(.corrupt, "log record of version \(version) is not well formed") }
        filePages = Int(pages)
        deltaLength = Int(length)
        nextRegion = LogRegion(offset: Int(offset), bytes: Int(size))
        self.start = start
        let rounded = (bytes + LogRecord.sector - 1) & ~(LogRecord.sector - 1)
        end = LogRecord.end(lsn: get(40), rounded: rounded, position: start, hash: get(120), nextRegion: nextRegion)
    }

    init(version: UInt64) { self.version = version }
}

extension LogPosition {
    /// The lsn of the ring's next start.
    var nextLap: UInt64 { (lsn / UInt64(region.bytes) + 1) * UInt64(region.bytes) }
}

/// A version that the store keeps under a name, whoever has it open: what it needs is not reused, after a restart and
/// a power cut neither, until it is released.
///
/// They lie in page 2 of the file, behind the session, in records that are written in place:
/// ```
///  8192       8704               8896                                         11968     12288
///  +---------+------------------+------------------+------------------------+---------+
///  | session | record 0         | record 1         | …            record 16 | zero    |
///  +---------+------------------+------------------+------------------------+---------+
///
///  record, 192 bytes; one that is not there is zero, one that is torn does not count
///    0 u64 magic "objkept\x01"   8 u64 incarnation   16 u64 sequence   24 u64 hash64
///   32 u64 version   40 ref root   48 u64 hash64 of the root   56 u64 pages of the file   64 i64 time (ns since 1970)
///   72 u64 log lsn   80 u64 log epoch   88 u64 log chain   96 u64 region offset   104 u64 region bytes
///  112 u64 the version that wrote the root
///  120 u8 bytes of the name, 121 the name, up to 64 bytes, zero behind it
/// ```
/// A name moves to another version by a record in a free place, and only then the old one goes: of two with one name,
/// which a power cut may leave, the one with the higher sequence counts. The meta that is durable when a record is
/// written is of its version or a later one, so that its pages are in the file and its free map knows of them.
struct KeptVersion: Equatable {
    static let magic: UInt64 = 0x0174_7065_6b6a_626f
    static let size = 192
    static let first = 2 * PageSize.page + 512
    /// One of them is free, so that a name can move.
    static let places = 17
    static let nameBytes = 64

    var name: String
    var sequence: UInt64
    /// Where its root is, and how the log goes on from there.
    var entry: SharedState.RingEntry
    var rootHash: UInt64
    /// That one, or the one of which it is a checkpoint.
    var stateVersion: UInt64
    /// Since when it is kept.
    var time: Int64

    var version: UInt64 { entry.version }
}

extension KeptVersion {
    private static func hash(_ record: UnsafeRawPointer) -> UInt64 {
        func word(_ offset: Int) -> UInt64 { record.loadUnaligned(fromByteOffset: offset, as: UInt64.self) }
        return PageHash.hash(
            record + 32, count: size - 32, seed: PageHash.mix(PageHash.mix(word(0), word(8)), word(16)))
    }

    func encode(incarnation: UInt64) throws(StoreError) -> ByteBuffer {
        let buffer = ByteBuffer(capacity: KeptVersion.size), log = entry.log
        for word in [
            KeptVersion.magic, incarnation, sequence, 0, entry.version, entry.root.raw, rootHash,
            UInt64(entry.filePages), UInt64(bitPattern: time), log.lsn, log.epoch, log.chain,
            UInt64(log.region.offset), UInt64(log.region.bytes), stateVersion,
        ] { try buffer.append(word) }
        try buffer.append(UInt8(name.utf8.count))
        for byte in name.utf8 { try buffer.append(byte) }
        while buffer.count < KeptVersion.size { try buffer.append(UInt8(0)) }
        buffer.store(KeptVersion.hash(UnsafeRawPointer(buffer.base)), at: 24)
        return buffer
    }

    /// Nil where there is none of this store.
    init?(_ record: UnsafeRawPointer, incarnation: UInt64) {
        func word(_ offset: Int) -> UInt64 { record.loadUnaligned(fromByteOffset: offset, as: UInt64.self) }
        let bytes = Int(record.load(fromByteOffset: 120, as: UInt8.self)), limit = UInt64(1) << 52
        guard word(0) == KeptVersion.magic, word(8) == incarnation, word(24) == KeptVersion.hash(record),
            (1...KeptVersion.nameBytes).contains(bytes), word(16) < limit, word(56) < limit, word(96) < limit,
            word(104) < limit
        else { return nil }
        name = String(decoding: UnsafeRawBufferPointer(start: record + 121, count: bytes), as: UTF8.self)
        sequence = word(16)
        entry = SharedState.RingEntry(
            version: word(32), root: Ref(raw: word(40)), filePages: Int(word(56)),
            log: LogPosition(
                lsn: word(72), epoch: word(80), chain: word(88),
                region: LogRegion(offset: Int(word(96)), bytes: Int(word(104)))))
        rootHash = word(48)
        stateVersion = word(112)
        time = Int64(bitPattern: word(64))
    }
}

/// The records of page 2, by place.
struct KeptVersions {
    fileprivate(set) var places: [KeptVersion?]

    var all: [KeptVersion] { places.compactMap { $0 } }

    /// What is valid in the file; of two with one name both.
    init(_ file: StorageFile, incarnation: UInt64) throws(StoreError) {
        let count = KeptVersion.places * KeptVersion.size
        let bytes = UnsafeMutableRawPointer.allocate(byteCount: count, alignment: 8)
        defer { bytes.deallocate() }
        try file.read(into: bytes, count: count, at: KeptVersion.first)
        places = (0..<KeptVersion.places).map {
            KeptVersion(UnsafeRawPointer(bytes) + $0 * KeptVersion.size, incarnation: incarnation)
        }
    }

    /// The one that counts last.
    func places(of name: String) -> [Int] {
        places.indices.filter { places[$0]?.name == name }.sorted { places[$0]!.sequence < places[$1]!.sequence }
    }

    /// Nil: the record goes.
    mutating func write(
        _ kept: KeptVersion?, at place: Int, to file: StorageFile, incarnation: UInt64
    ) throws(StoreError) {
        let buffer: ByteBuffer
        if let kept {
            buffer = try kept.encode(incarnation: incarnation)
        } else {
            buffer = ByteBuffer(capacity: KeptVersion.size)
            for _ in 0..<(KeptVersion.size / 8) { try buffer.append(UInt64(0)) }
        }
        try file.write(
            UnsafeRawPointer(buffer.base), count: KeptVersion.size,
            at: KeptVersion.first + place * KeptVersion.size)
        places[place] = kept
    }
}

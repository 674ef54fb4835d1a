/// One of the two places (pages 0 and 1) that say where everything is: written in turn by checkpoints.
///
/// ```
///   0 magic "objstore" · 8 u32 format, compat, read-only-compat, incompat bits · 24 u32 page size, u32 flags: 1 CLEAN
///  32 uuid (16) · 48 incarnation · 56 generation · 64 version · 72 root · 80 free map · 88 file pages
///  96 log epoch · 104 log lsn · 112 log chain · 120 log region offset · 128 log region bytes · 136 hash seed
/// 144 time of creation (ns since 1970) · 152 reserved, zero · 248 hash64 of the bytes before
/// ```
package struct Meta: Equatable, Sendable {
    package static let size = 256
    static let magic: UInt64 = 0x6572_6f74_736a_626f  // "objstore"
    static let formatVersion: UInt32 = 1

    package var uuid: (UInt64, UInt64) = (0, 0)
    /// Changes when the file is recreated (created, copied, compacted): a log of another one is not ours.
    package var incarnation: UInt64 = 0
    /// The meta with the higher one is newer.
    package var generation: UInt64 = 0
    package var version: UInt64 = 0
    package var root: Ref = .null
    package var freeMap: Ref = .null
    package var filePages = 0
    package var log = LogPosition()
    package var hashSeed: UInt64 = 0
    package var created: Int64 = 0
    /// Nothing in the log belongs to the file: it is complete by itself.
    package var isClean = false
    /// Features that a library may not know and still read and write, if it keeps their bits.
    package var compatible: UInt32 = 0
    /// Features that a library must know to write; without, it may read.
    package var readOnlyCompatible: UInt32 = 0

    package static func == (a: Meta, b: Meta) -> Bool {
        a.uuid == b.uuid && a.incarnation == b.incarnation && a.generation == b.generation && a.version == b.version
            && a.root == b.root && a.freeMap == b.freeMap && a.filePages == b.filePages && a.log == b.log
            && a.hashSeed == b.hashSeed && a.created == b.created && a.isClean == b.isClean
            && a.compatible == b.compatible
            && a.readOnlyCompatible == b.readOnlyCompatible
    }

    package func encode(to page: UnsafeMutableRawPointer) {
        page.initializeMemory(as: UInt8.self, repeating: 0, count: Meta.size)
        func set<T: BitwiseCopyable>(_ offset: Int, _ value: T) {
            page.storeBytes(of: value, toByteOffset: offset, as: T.self)
        }
        set(0, Meta.magic)
        set(8, Meta.formatVersion)
        set(12, compatible)
        set(16, readOnlyCompatible)
        set(24, UInt32(PageSize.page))
        set(28, UInt32(isClean ? 1 : 0))
        set(32, uuid.0)
        set(40, uuid.1)
        set(48, incarnation)
        set(56, generation)
        set(64, version)
        set(72, root.raw)
        set(80, freeMap.raw)
        set(88, UInt64(filePages))
        set(96, log.epoch)
        set(104, log.lsn)
        set(112, log.chain)
        set(120, UInt64(log.region.offset))
        set(128, UInt64(log.region.bytes))
        set(136, hashSeed)
        set(144, created)
        set(248, Meta.hash(page))
    }

    package static func hash(_ page: UnsafeRawPointer) -> UInt64 {
        PageHash.hash(
            page, count: 224,
            seed: PageHash.mix(
                page.load(fromByteOffset: 224, as: UInt64.self), page.load(fromByteOffset: 232, as: UInt64.self)))
            ^ page.load(fromByteOffset: 240, as: UInt64.self)
    }

    enum Problem: Error, Equatable {
        case notAStore
        case torn
        /// Whole, but of a library that knows more.
        case newerFormat(UInt32)
        case unknownFeatures(UInt32)
        case otherPageSize(UInt32)
    }

    /// What the bytes of a meta page say; a torn or never written one is no meta.
    package static func decode(_ page: UnsafeRawPointer) -> Meta? { try? decodeChecked(page) }

    static func decodeChecked(_ page: UnsafeRawPointer) throws(Problem) -> Meta {
        func get<T: BitwiseCopyable>(_ offset: Int, _: T.Type = T.self) -> T {
            page.loadUnaligned(fromByteOffset: offset, as: T.self)
        }
        guard get(0, UInt64.self) == magic else { throw .notAStore }
        guard get(248, UInt64.self) == hash(page) || InjectedBug.active(.hashUnchecked) else { throw .torn }
        // Incompatible bits: a library that does not know them must not even read.
        guard get(8, UInt32.self) == formatVersion else { throw .newerFormat(get(8)) }
        guard get(20, UInt32.self) == 0 else { throw .unknownFeatures(get(20)) }
        guard get(24, UInt32.self) == UInt32(PageSize.page) else { throw .otherPageSize(get(24)) }
        guard let meta = fields(page) else { throw .torn }
        return meta
    }

    /// What the bytes of a meta page say where its hash is wrong: nothing to rely on, but what it refers to may prove
    /// itself. Nil for what is none of this format.
    static func unchecked(_ page: UnsafeRawPointer) -> Meta? {
        guard page.loadUnaligned(fromByteOffset: 24, as: UInt32.self) == UInt32(PageSize.page) else { return nil }
        return fields(page)
    }

    private static func fields(_ page: UnsafeRawPointer) -> Meta? {
        func get<T: BitwiseCopyable>(_ offset: Int, _: T.Type = T.self) -> T {
            page.loadUnaligned(fromByteOffset: offset, as: T.self)
        }
        // Numbers that are counted on from here: far from where they would overflow.
        guard [56, 64, 96, 104].allSatisfy({ get($0, UInt64.self) < 1 << 62 }) else { return nil }
        // No place in a file: that of a transaction's own memory.
        guard !Ref(raw: get(72)).isDirty, !Ref(raw: get(80)).isDirty else { return nil }
        guard get(88, UInt64.self) < 1 << 40, get(120, UInt64.self) < 1 << 40, get(128, UInt64.self) <= 4 << 30 else {
            return nil
        }
        return Meta(
            uuid: (get(32), get(40)), incarnation: get(48), generation: get(56), version: get(64),
            root: Ref(raw: get(72)),
            freeMap: Ref(raw: get(80)), filePages: Int(get(88, UInt64.self)),
            log: LogPosition(
                lsn: get(104), epoch: get(96), chain: get(112),
                region: LogRegion(offset: Int(get(120, UInt64.self)), bytes: Int(get(128, UInt64.self)))),
            hashSeed: get(136), created: get(144), isClean: get(28, UInt32.self) & 1 != 0, compatible: get(12),
            readOnlyCompatible: get(16))
    }

    /// Whether a file begins like a store, with one meta or the other.
    static func isStore(_ file: StorageFile) -> Bool {
        // What cannot be read (a folder) is no store.
        for slot in 0..<2 {
            var magic: UInt64 = 0
            let isRead = withUnsafeMutableBytes(of: &magic) { bytes in
                (try? file.read(into: bytes.baseAddress!, count: 8, at: slot * PageSize.page)) != nil
            }
            if isRead, magic == Meta.magic { return true }
        }
        return false
    }
}

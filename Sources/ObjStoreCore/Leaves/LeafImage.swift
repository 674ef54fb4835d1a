internal import CSystem

/// One directory line that is to be laid out in a head, with the content of what lies inline.
///
/// The pointers go to the old head or to scratch memory; both stay valid until the layout is done.
struct ColumnImage {
    var id: UInt32
    var encoding: LeafEncoding
    var width = 0
    var segmentShift = 0
    var flags: UInt8 = 0
    var base: Int64 = 0
    var max: Int64 = 0
    /// The extent of the only part.
    var main: UInt64 = 0
    var mainBytes = 0
    var mainHash: UInt32 = 0
    var mainBorn: UInt32 = 0
    /// The inline part, or the table of segments.
    var mainSource: UnsafeRawPointer?
    /// Bytes to reserve for an inline part that is about to grow.
    var mainRoom = 0
    var segments = 0
    var aux: UInt64 = 0
    var auxBytes = 0
    var auxHash: UInt32 = 0
    var auxBorn: UInt32 = 0
    var auxSource: UnsafeRawPointer?

    init(id: UInt32, encoding: LeafEncoding) { self.id = id; self.encoding = encoding }

    /// What an existing head says.
    init(_ head: UnsafeRawPointer, _ entry: LeafEntry) {
        id = entry.columnID
        encoding = LeafEncoding(rawValue: entry.encoding) ?? .frame
        width = entry.width
        segmentShift = entry.segmentShift
        flags = entry.flags
        base = entry.base
        max = entry.max
        mainBytes = entry.mainBytes
        mainHash = entry.mainHash
        mainBorn = entry.mainBorn
        auxBytes = entry.auxBytes
        auxHash = entry.auxHash
        auxBorn = entry.auxBorn
        if entry.isSegmented {
            segments = entry.segmentCount(rows: LeafHead.rows(head))
            mainSource = head + Int(entry.main)
        } else if entry.isMainInline {
            mainSource = head + Int(entry.main)
        } else {
            main = entry.main
        }
        if entry.isAuxInline { auxSource = head + Int(entry.aux) } else { aux = entry.aux }
    }

    var isSegmented: Bool { flags & LeafEntry.Flags.segmented != 0 }
    var isMainInline: Bool { flags & LeafEntry.Flags.mainInline != 0 }
    var isAuxInline: Bool { flags & LeafEntry.Flags.auxInline != 0 }

    /// The table has room for all segments a leaf can have, so that it never moves when rows are added.
    private var tableRoom: Int { ((LeafHead.rowsPerLeaf >> segmentShift) * LeafSegment.size + 63) & ~63 }
    private var inlineMainRoom: Int { LeafHead.inlineRoom(Swift.max(mainBytes, mainRoom)) }

    mutating func setInlineMain(_ pointer: UnsafeRawPointer, bytes: Int) {
        flags |= LeafEntry.Flags.mainInline
        mainSource = pointer
        mainBytes = bytes
    }
    mutating func setMain(_ ref: Ref, bytes: Int) {
        flags &= ~LeafEntry.Flags.mainInline
        main = ref.raw
        mainBytes = bytes
        mainHash = 0
        mainBorn = 0
    }
    mutating func setSegments(_ table: UnsafeRawPointer, count: Int, shift: Int) {
        flags |= LeafEntry.Flags.segmented
        segmentShift = shift
        mainSource = table
        segments = count
    }
    mutating func setInlineAux(_ pointer: UnsafeRawPointer, bytes: Int) {
        flags |= LeafEntry.Flags.aux | LeafEntry.Flags.auxInline
        auxSource = pointer
        auxBytes = bytes
    }
    mutating func setAux(_ ref: Ref, bytes: Int) {
        flags |= LeafEntry.Flags.aux
        flags &= ~LeafEntry.Flags.auxInline
        aux = ref.raw
        auxBytes = bytes
    }

    // MARK: Layout

    /// What a head has besides its columns.
    struct HeadFields {
        var keyBase: Int64
        var rows: Int
        var live: Int
        var bornEpoch: UInt64
        /// 64 words, or null where every row exists.
        var presence: UnsafePointer<UInt64>?
        var isSparse: Bool
    }

    static func headBytes(_ images: UnsafeBufferPointer<ColumnImage>, presence: Bool) -> Int {
        var bytes = LeafHead.directory + images.count << 6
        for image in images {
            if image.isSegmented {
                bytes += image.tableRoom
            } else if image.isMainInline {
                bytes += image.inlineMainRoom
            }
            if image.isAuxInline { bytes += LeafHead.inlineRoom(image.auxBytes) }
        }
        return bytes + (presence ? LeafHead.presenceBytes : 0)
    }

    /// Lays out a head of `headBytes` bytes: directory, presence bitmap, tables, inline parts.
    static func layOut(
        _ images: UnsafeBufferPointer<ColumnImage>, mainEntries: Int, _ fields: HeadFields, bytes: Int,
        into head: UnsafeMutableRawPointer
    ) {
        let directoryEnd = LeafHead.directory + images.count << 6
        memset(head + LeafHead.directory, 0, bytes - LeafHead.directory)
        LeafHead.initialize(
            head, bytes: bytes, keyBase: fields.keyBase, rows: fields.rows, entries: images.count,
            mainEntries: mainEntries, live: fields.live,
            bornEpoch: fields.bornEpoch)
        if fields.isSparse { LeafHead.setSparse(head) }
        var at = directoryEnd
        // Right behind the directory: its place must fit 16 bits, however many tables follow.
        if let presence = fields.presence {
            (head + at).copyMemory(from: presence, byteCount: LeafHead.presenceBytes)
            LeafHead.setPresence(head, offset: at)
            at += LeafHead.presenceBytes
        }
        for index in 0..<images.count where images[index].isSegmented {
            let image = images[index]
            (head + at).copyMemory(from: image.mainSource!, byteCount: image.segments * LeafSegment.size)
            (head + LeafHead.directory + index << 6).storeBytes(of: UInt64(at), toByteOffset: 24, as: UInt64.self)
            at += image.tableRoom
        }
        for index in 0..<images.count {
            let image = images[index]
            let line = head + LeafHead.directory + index << 6
            line.storeBytes(of: image.id, as: UInt32.self)
            line.storeBytes(of: image.encoding.rawValue, toByteOffset: 4, as: UInt8.self)
            line.storeBytes(of: UInt8(image.width), toByteOffset: 5, as: UInt8.self)
            line.storeBytes(of: UInt8(image.segmentShift), toByteOffset: 6, as: UInt8.self)
            line.storeBytes(of: image.flags, toByteOffset: 7, as: UInt8.self)
            line.storeBytes(of: image.base, toByteOffset: 8, as: Int64.self)
            line.storeBytes(of: image.max, toByteOffset: 16, as: Int64.self)
            if image.isMainInline {
                (head + at).copyMemory(from: image.mainSource!, byteCount: image.mainBytes)
                line.storeBytes(of: UInt64(at), toByteOffset: 24, as: UInt64.self)
                at += image.inlineMainRoom
            } else if !image.isSegmented {
                line.storeBytes(of: image.main, toByteOffset: 24, as: UInt64.self)
            }
            line.storeBytes(of: UInt32(image.mainBytes), toByteOffset: 40, as: UInt32.self)
            line.storeBytes(of: image.mainHash, toByteOffset: 44, as: UInt32.self)
            line.storeBytes(of: image.mainBorn, toByteOffset: 48, as: UInt32.self)
            if image.isAuxInline {
                (head + at).copyMemory(from: image.auxSource!, byteCount: image.auxBytes)
                line.storeBytes(of: UInt64(at), toByteOffset: 32, as: UInt64.self)
                at += LeafHead.inlineRoom(image.auxBytes)
            } else {
                line.storeBytes(of: image.aux, toByteOffset: 32, as: UInt64.self)
            }
            line.storeBytes(of: UInt32(image.auxBytes), toByteOffset: 52, as: UInt32.self)
            line.storeBytes(of: image.auxHash, toByteOffset: 56, as: UInt32.self)
            line.storeBytes(of: image.auxBorn, toByteOffset: 60, as: UInt32.self)
        }
    }
}

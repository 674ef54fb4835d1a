internal import CSystem

/// Where the parts of one packed column lie, from the start of the buffer; 0 = it has none.
private struct PackedPart {
    var validity = 0, offsets = 0, values = 0, valueBytes = 0, nulls = 0
}

/// Writes several properties of many objects into one buffer: the layout of `objstore_packed`.
///
/// ```
///   0   header                     64 bytes
///  64   one line per column        48 bytes each
///       keys                       int64 × rows
///       then per column: validity, offsets, values, as far as it has them; each at a multiple of 8
/// ```
enum PackedRows {
    static let magic: UInt32 = 0x4B50_4F4F
    private static let header = 64
    private static let line = 48

    /// - Parameter keys: of the objects; those that were deleted are marked.
    static func read(
        _ keys: UnsafeBufferPointer<Int64>, _ cls: ClassSchema, _ properties: UnsafeBufferPointer<UInt32>,
        _ trees: TreeAccess, into buffer: UnsafeMutablePointer<OutputBuffer>
    ) throws(StoreError) {
        let rows = keys.count
        var positions: [Int] = []
        for id in properties { positions.append(try cls.position(id)) }
        for index in positions.indices where positions[..<index].contains(positions[index]) {
            throw cls.named(
                StoreError(.invalidArgument, "\(cls.name).\(cls.properties[positions[index]].name) is given twice"),
                positions[index])
        }
        for position in positions where cls.columns[position].kind.isCollection {
            throw cls.wrongCollection(position, "a single value", "elements are read object by object")
        }
        let reader = try trees.objects(cls)

        // Where each object lies; the keys are ascending, and mostly neighbours.
        let places = try Memory.allocate(RowPosition?.self, rows + 1)
        defer { places.deallocate() }
        var deleted = 0
        for row in 0..<rows {
            let key = keys[row]
            if row > 0, let last = places[row - 1], LeafHead.keyBase(last.head) == LeafHead.keyBase(of: key) {
                places[row] = try LeafKeys(reader.source, last.head).slot(of: key).map {
                    RowPosition(head: last.head, slot: $0, key: key)
                }
            } else {
                places[row] = try reader.find(key)
            }
            if places[row] == nil { deleted += 1 }
        }

        // The parts of fixed size first; then text is appended.
        var offset = PackedRows.header + PackedRows.line * positions.count
        let keysOffset = offset
        offset += rows * 8
        let bitmap = (rows + 7) / 8
        var parts: [PackedPart] = []
        for position in positions {
            let spec = cls.columns[position]
            var part = PackedPart()
            if spec.nullable || deleted > 0 {
                part.validity = offset
                offset += (bitmap + 7) & ~7
            }
            if spec.kind.hasOffsets {
                part.offsets = offset
                offset += (rows + 1) * 8
            } else {
                part.values = offset
                part.valueBytes = rows * ValueCell.size(spec.kind)
                offset += (part.valueBytes + 7) & ~7
            }
            parts.append(part)
        }
        let base = try OutputBuffer.start(buffer, offset)
        memset(base, 0, offset)
        let shownKeys = (base + keysOffset).assumingMemoryBound(to: Int64.self)
        for row in 0..<rows { shownKeys[row] = places[row] == nil ? -1 : keys[row] }

        for (index, position) in positions.enumerated() {
            let spec = cls.columns[position]
            if spec.kind.hasOffsets {
                try readText(reader, position, places, rows, buffer, &parts[index])
            } else {
                let base = buffer.pointee.bytes.unsafelyUnwrapped
                let validity =
                    parts[index].validity == 0
                    ? nil : (base + parts[index].validity).assumingMemoryBound(to: UInt8.self)
                parts[index].nulls = try readNumbers(
                    reader, position, places, rows, base + parts[index].values, validity)
            }
        }

        let total = buffer.pointee.length
        let front = buffer.pointee.bytes.unsafelyUnwrapped
        func set<T: BitwiseCopyable>(_ value: T, _ at: Int) {
            front.storeBytes(of: value, toByteOffset: at, as: T.self)
        }
        set(PackedRows.magic, 0)
        set(UInt32(1), 4)
        set(UInt64(rows), 8)
        set(UInt32(positions.count), 16)
        set(cls.classID, 20)
        set(trees.storeTag, 24)
        set(trees.version, 32)
        set(UInt64(keysOffset), 40)
        set(UInt64(total), 48)
        set(UInt64(deleted), 56)
        for index in positions.indices {
            let at = PackedRows.header + PackedRows.line * index, part = parts[index]
            set(properties[index], at)
            set(UInt32(cls.columns[positions[index]].kind.rawValue), at + 4)
            set(UInt64(part.nulls > 0 ? part.validity : 0), at + 8)
            set(UInt64(part.offsets), at + 16)
            set(UInt64(part.values), at + 24)
            set(UInt64(part.valueBytes), at + 32)
            set(UInt64(part.nulls), at + 40)
        }
    }

    private static func readNumbers(
        _ reader: ClusterReader, _ column: Int, _ places: UnsafePointer<RowPosition?>, _ rows: Int,
        _ out: UnsafeMutableRawPointer,
        _ validity: UnsafeMutablePointer<UInt8>?
    ) throws(StoreError) -> Int {
        let kind = reader.columns[column].kind
        var nulls = 0
        for row in 0..<rows {
            guard let place = places[row] else {
                nulls += 1
                continue
            }
            if kind.isPair || kind == .float {
                let value = try reader.value(place, column)
                if value.isNull {
                    nulls += 1
                    continue
                }
                ValueCell.store(value, out + row &* ValueCell.size(kind))
            } else {
                guard let value = try reader.int(place, column) else {
                    nulls += 1
                    continue
                }
                if kind == .bool {
                    out.storeBytes(of: UInt8(truncatingIfNeeded: value), toByteOffset: row, as: UInt8.self)
                } else {
                    out.storeBytes(of: value, toByteOffset: row &* 8, as: Int64.self)
                }
            }
            if let validity { validity[row &>> 3] |= 1 &<< UInt8(row & 7) }
        }
        return nulls
    }

    private static func readText(
        _ reader: ClusterReader, _ column: Int, _ places: UnsafePointer<RowPosition?>, _ rows: Int,
        _ buffer: UnsafeMutablePointer<OutputBuffer>,
        _ part: inout PackedPart
    ) throws(StoreError) {
        let isMixed = reader.columns[column].kind == .mixed
        part.values = buffer.pointee.length
        for row in 0..<rows {
            var bytes: UnsafeRawBufferPointer?
            if let place = places[row] { bytes = try reader.bytes(place, column) }
            if let bytes {
                if isMixed { try MixedCell.check(Value(kind: .mixed, pointer: bytes.baseAddress, count: bytes.count)) }
                if bytes.count > 0 {
                    let out = try OutputBuffer.extend(buffer, by: bytes.count)
                    memcpy(out, bytes.baseAddress.unsafelyUnwrapped, bytes.count)
                }
                if part.validity != 0 {
                    let bits = (buffer.pointee.bytes.unsafelyUnwrapped + part.validity).assumingMemoryBound(
                        to: UInt8.self)
                    bits[row &>> 3] |= 1 &<< UInt8(row & 7)
                }
            } else {
                part.nulls += 1
            }
            buffer.pointee.bytes.unsafelyUnwrapped.storeBytes(
                of: Int64(buffer.pointee.length - part.values), toByteOffset: part.offsets &+ (row &+ 1) &* 8,
                as: Int64.self)
        }
        part.valueBytes = buffer.pointee.length - part.values
        let gap = -buffer.pointee.length & 7
        if gap > 0 { memset(try OutputBuffer.extend(buffer, by: gap), 0, gap) }
    }
}

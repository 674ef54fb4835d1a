internal import CSystem

/// How a column looks in Arrow: its type, and its values, without a copy where they are kept as Arrow has them.
///
/// ```
///  bool                   b        packed into bits
///  int, float, double     l f g    as they are
///  string, binary         U Z      as they are: 64-bit offsets; or vu vz; of strings or i, and a dictionary
///  timestamp              tsn:UTC  nanoseconds since 1970: from 1677 to 2262
///  decimal128             U        as texts, with every digit: in Arrow all values of a column have one exponent
///  object id              w:12
///  uuid                   w:16     arrow.uuid
///  link                   l        keys of objects
///  mixed                  U        arrow.json: JSON, extended for what JSON has not
/// ```
struct ArrowColumn {
    let name: String
    let kind: ValueKind
    /// Plain where the kind has no other form.
    private let texts: TextForm

    init(_ name: String, _ kind: ValueKind, _ texts: TextForm) {
        self.name = name
        self.kind = kind
        self.texts = texts.of(kind)
    }

    /// Of what a column has behind a dictionary's numbers, too.
    private var format: String {
        switch kind {
        case .string where texts == .views: "vu"
        case .binary where texts == .views: "vz"
        case .bool: "b"
        case .int, .link: "l"
        case .float: "f"
        case .double: "g"
        case .string, .decimal128, .mixed, .document: "U"
        case .binary: "Z"
        case .timestamp: "tsn:UTC"
        case .objectID: "w:12"
        case .uuid: "w:16"
        case .null, .list, .set, .map: "n"
        }
    }

    /// The name of an extension type.
    private var meaning: String? {
        switch kind {
        case .uuid: "arrow.uuid"
        case .mixed: "arrow.json"
        default: nil
        }
    }

    func export(to record: UnsafeMutablePointer<ArrowSchemaRecord>) throws(StoreError) {
        let owner = ArrowOwner()
        var schema = ArrowSchemaRecord()
        schema.format = try owner.text(texts == .dictionary ? "i" : format)
        schema.name = try owner.text(name)
        if let meaning { schema.metadata = try ArrowColumn.metadata("ARROW:extension:name", meaning, owner) }
        if texts == .dictionary {
            let values = try owner.allocate(ArrowSchemaRecord.self, 1)
            try ArrowColumn("", kind, .plain).export(to: values)
            schema.dictionary = values
        }
        schema.flags = ArrowSchemaRecord.nullable
        schema.release = ArrowSchemaRecord.releasing
        schema.owner = owner.retained
        record.initialize(to: schema)
    }

    /// One pair: how many, then each of the texts behind its length.
    private static func metadata(
        _ key: String, _ value: String, _ owner: ArrowOwner
    ) throws(StoreError) -> UnsafePointer<UInt8> {
        var bytes: [UInt8] = []
        func append(_ number: Int) { for shift in [0, 8, 16, 24] { bytes.append(UInt8(number >> shift & 0xff)) } }
        append(1)
        for text in [key, value] {
            append(text.utf8.count)
            bytes += text.utf8
        }
        let copy = try owner.allocate(UInt8.self, bytes.count)
        for (index, byte) in bytes.enumerated() { copy[index] = byte }
        return UnsafePointer(copy)
    }

    // MARK: Values

    /// All rows of a column.
    func export(
        _ column: TableColumn, to record: UnsafeMutablePointer<ArrowArrayRecord>
    ) throws(StoreError) {
        let owner = ArrowOwner(column), rows = column.count
        var array = ArrowArrayRecord()
        array.length = Int64(rows)
        array.nullCount = Int64(column.nullCount)
        var buffers: [UnsafeRawPointer?] = [column.validity.map { UnsafeRawPointer($0) }]
        var dictionary: (texts: DictionaryTexts, count: Int)?
        switch kind {
        case .bool: buffers.append(try ArrowColumn.bits(column, owner))
        case .timestamp: buffers.append(try nanoseconds(column, owner))
        case .string where texts == .dictionary:
            let (numbers, values) = try TextArrays.numbers(column, owner)
            buffers.append(numbers)
            dictionary = values
        case .string where texts == .views, .binary where texts == .views:
            buffers += try TextArrays.views(column, owner)
        case .string, .binary: buffers += [column.offsets.map { UnsafeRawPointer($0) }, column.values]
        case .decimal128, .mixed:
            let (offsets, text) = try ArrowColumn.texts(column, owner)
            buffers += [offsets, text]
        default: buffers.append(column.values)
        }
        let list = try owner.allocate(UnsafeRawPointer?.self, buffers.count)
        for (index, buffer) in buffers.enumerated() { (list + index).initialize(to: buffer) }
        array.bufferCount = Int64(buffers.count)
        array.buffers = list
        // The last that can fail: nothing would release it.
        if let dictionary { array.dictionary = try TextArrays.record(dictionary.texts, dictionary.count, owner) }
        array.release = ArrowArrayRecord.releasing
        array.owner = owner.retained
        record.initialize(to: array)
    }

    private static func bits(_ column: TableColumn, _ owner: ArrowOwner) throws(StoreError) -> UnsafeRawPointer {
        let out = try owner.allocate(UInt8.self, (column.count + 7) / 8)
        memset(out, 0, (column.count + 7) / 8)
        guard let values = column.values?.assumingMemoryBound(to: UInt8.self) else { return UnsafeRawPointer(out) }
        for row in 0..<column.count where values[row] != 0 { out[row >> 3] |= 1 << UInt8(row & 7) }
        return UnsafeRawPointer(out)
    }

    private func nanoseconds(_ column: TableColumn, _ owner: ArrowOwner) throws(StoreError) -> UnsafeRawPointer {
        let out = try owner.allocate(Int64.self, column.count)
        for row in 0..<column.count {
            let value = column.value(row)
            if value.isNull {
                out[row] = 0
                continue
            }
            let (product, isBeyond) = value.low.multipliedReportingOverflow(by: 1_000_000_000)
            let (sum, isBeyondToo) = product.addingReportingOverflow(value.high)
            guard !isBeyond, !isBeyondToo else {
                throw StoreError(
                    .outOfRange,
                    "\(name) is \(value.text), and Arrow's nanoseconds reach from the year 1677 to 2262 only")
            }
            out[row] = sum
        }
        return UnsafeRawPointer(out)
    }

    /// Decimals with all their digits, mixed values as JSON.
    private static func texts(
        _ column: TableColumn, _ owner: ArrowOwner
    ) throws(StoreError) -> (offsets: UnsafeRawPointer, text: UnsafeRawPointer) {
        let offsets = try owner.allocate(Int64.self, column.count + 1), text = TextBuffer()
        var scratch = OutputBuffer()
        defer { OutputBuffer.free(&scratch) }
        offsets[0] = 0
        for row in 0..<column.count {
            let value = column.value(row)
            if !value.isNull {
                if value.kind == .decimal128, column.kind == .decimal128 {
                    for byte in value.asDecimal.text.utf8 {
                        try withUnsafePointer(to: byte) { (byte) throws(StoreError) in
                            try text.append(UnsafeRawPointer(byte), 1)
                        }
                    }
                } else {
                    let json = try withUnsafeMutablePointer(to: &scratch) { (buffer) throws(StoreError) in
                        try JSONDocument.write(value, JSONWriter.Options.extended, into: buffer)
                    }
                    if let pointer = json.pointer, json.count > 0 { try text.append(pointer, json.count) }
                }
            }
            offsets[row + 1] = Int64(text.count)
        }
        let copy = try owner.allocate(text.count)
        copy.copyMemory(from: text.pointer, byteCount: text.count)
        return (UnsafeRawPointer(offsets), UnsafeRawPointer(copy))
    }
}

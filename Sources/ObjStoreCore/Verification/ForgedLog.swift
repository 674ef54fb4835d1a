/// A log as an attacker who knows the format would write it: versions, chain and hashes are right, whatever its records
/// say. For tests of code that reads logs.
package struct ForgedLog {
    /// What records say is up to their author; what else they have stays as it was.
    package struct Record {
        package var ops: [UInt8]
        /// It is no summary, so that its operations are applied.
        package var isApplied: Bool { !record.flags.contains(.summary) }
        fileprivate var delta: [UInt8]
        fileprivate var record: LogRecord
    }

    package let meta: Meta
    /// Of the version of `meta`.
    package let schema: Schema
    /// Those that follow the newest meta.
    package var records: [Record] = []

    /// Nil where the store has no whole meta, or one that needs no log.
    package init?(store: [UInt8], log: [UInt8]) throws(StoreError) {
        guard store.count >= 3 * PageSize.page else { return nil }
        let metas = store.withUnsafeBytes { bytes in
            (0..<2).map { Meta.decode(bytes.baseAddress! + $0 * PageSize.page) }
        }
        guard let (_, meta) = Database.newestMeta(metas), !meta.isClean else { return nil }
        self.meta = meta
        schema = try ForgedLog.schema(store, meta)
        let scanner = LogScanner(
            read: { (buffer, count, offset) throws(StoreError) in
                guard offset >= 0, count <= log.count, offset <= log.count - count else {
                    throw StoreError(.corrupt, "behind the end of the log")
                }
                log.withUnsafeBytes { buffer.copyMemory(from: $0.baseAddress! + offset, byteCount: count) }
            }, seed: meta.hashSeed)
        var position = meta.log, version = meta.version
        while let record = try? scanner.next(position, version: version + 1) {
            let ops = scanner.ops, delta = scanner.delta
            records.append(
                Record(
                    ops: Array(UnsafeRawBufferPointer(start: ops.base, count: ops.count)),
                    delta: Array(UnsafeRawBufferPointer(start: delta.base, count: delta.count)),
                    record: record))
            (position, version) = (record.end, record.version)
        }
    }

    private static func schema(_ store: [UInt8], _ meta: Meta) throws(StoreError) -> Schema {
        try ForgedStore.withSource(store, meta.hashSeed) { (source) throws(StoreError) in
            let node = try source.node(RootNode.schema(try source.node(meta.root, .root)), .schema)
            var reader = ByteReader(node + NodeHeader.size, count: NodeHeader.bytes(node) - NodeHeader.size)
            return try SchemaCodec.read(&reader)
        }
    }

    /// A record more, of the next version, which does these things and says that it allocated nothing.
    package mutating func append(_ ops: ForgedOps) {
        let delta = ByteBuffer(), version = (records.last?.record.version ?? meta.version) + 1
        try! AllocationDelta().encode(into: delta, version: version)
        var record = LogRecord(version: version)
        record.filePages = records.last?.record.filePages ?? meta.filePages
        record.root = records.last?.record.root ?? meta.root
        records.append(
            Record(
                ops: ops.bytes, delta: Array(UnsafeRawBufferPointer(start: delta.base, count: delta.count)),
                record: record))
    }

    /// The operations of a record, up to the first that cannot be read, where the schema is the store's.
    package func operations(_ record: Record) -> [Range<Int>] {
        var found: [Range<Int>] = []
        record.ops.withUnsafeBytes { bytes in
            guard let base = bytes.baseAddress else { return }
            var cursor = OpCursor(ByteReader(base, count: bytes.count), schema: schema), start = 0
            while let op = try? Op.read(&cursor) {
                if case .schema = op { cursor.schema = schema }
                let end = bytes.count - cursor.remaining
                found.append(start..<end)
                start = end
            }
        }
        return found
    }

    /// Writes the records where those were that it was made with, as many as find room.
    package func write(into log: inout [UInt8]) {
        var position = meta.log, version = meta.version
        let buffer = ByteBuffer(), skip = ByteBuffer(), ops = ByteBuffer(), delta = ByteBuffer()
        func put(_ bytes: ByteBuffer, _ offset: Int) {
            guard offset >= 0, offset + bytes.count <= log.count else { return }
            log.withUnsafeMutableBytes {
                $0.baseAddress!.advanced(by: offset).copyMemory(from: bytes.base, byteCount: bytes.count)
            }
        }
        for record in records {
            version += 1
            ops.removeAll()
            record.ops.withUnsafeBytes { try! ops.append(bytes: $0.baseAddress, count: $0.count) }
            delta.removeAll()
            record.delta.withUnsafeBytes { try! delta.append(bytes: $0.baseAddress, count: $0.count) }
            var header = record.record
            header.version = version
            try! header.encode(into: buffer, ops: ops, delta: delta, at: position, seed: meta.hashSeed)
            let start = header.start
            guard position.lsn + UInt64(buffer.count) < UInt64(position.region.bytes) + meta.log.lsn else { return }
            if start.bytesToEnd(start.lsn) < buffer.count {
                try! LogRecord.encodeSkip(into: skip, version: version, at: start, seed: meta.hashSeed)
                put(skip, start.offset(of: start.lsn))
                put(buffer, start.offset(of: start.nextLap))
            } else {
                put(buffer, start.offset(of: start.lsn))
            }
            position = header.end
        }
    }
}

/// Operations of a log that may say anything. Only tests make them: without memory they end.
package struct ForgedOps {
    private let buffer = ByteBuffer()

    package init() {}

    package var bytes: [UInt8] { Array(UnsafeRawBufferPointer(start: buffer.base, count: buffer.count)) }

    package func create(_ cls: UInt64, _ key: Int64, _ values: [Value]) {
        begin(.create, cls, key)
        for value in values { try! ValueCodec.append(value, to: buffer) }
    }

    package func update(_ cls: UInt64, _ key: Int64, _ changes: [(column: UInt64, value: Value)]) {
        begin(.update, cls, key)
        try! buffer.appendVarint(UInt64(changes.count))
        for change in changes {
            try! buffer.appendVarint(change.column)
            try! ValueCodec.append(change.value, to: buffer)
        }
    }

    package func delete(_ cls: UInt64, _ key: Int64) { begin(.delete, cls, key) }

    /// - Parameter keys: of a map, as many as `values`; else none.
    package func splice(
        _ cls: UInt64, _ key: Int64, _ column: UInt64, at: UInt64, removed: UInt64, keys: [Value] = [],
        _ values: [Value]
    ) {
        begin(.splice, cls, key)
        for number in [column, at, removed, UInt64(values.count)] { try! buffer.appendVarint(number) }
        for (index, value) in values.enumerated() {
            if index < keys.count { try! ValueCodec.append(keys[index], to: buffer) }
            try! ValueCodec.append(value, to: buffer)
        }
    }

    /// - Parameter value: a node; nil: a value is removed.
    package func edit(
        _ cls: UInt64, _ key: Int64, _ column: UInt64, _ path: [MixedStep], _ action: MixedAction, _ value: [UInt8]?
    ) {
        begin(.edit, cls, key)
        try! buffer.appendVarint(column)
        (value ?? []).withUnsafeBytes { try! Op.Edit(path: path, action: action, value: $0).append(to: buffer) }
    }

    package func schema(_ schema: Schema) {
        try! buffer.append(OpLog.Code.schema.rawValue)
        try! SchemaCodec.append(schema, to: buffer)
    }

    private func begin(_ code: OpLog.Code, _ cls: UInt64, _ key: Int64) {
        try! buffer.append(code.rawValue)
        try! buffer.appendVarint(cls)
        try! buffer.appendSigned(key)
    }
}

internal import CSystem

/// A stream of record batches, as the Arrow C stream interface has it: whoever got it asks for one batch after the
/// other, then releases it. Batches stay until they are released themselves.
///
/// What it reads lies in a version that it keeps pinned, or in tables that were made with it. Threads that ask at the
/// same time get one batch after the other.
package final class ArrowStream {
    private let columns: [ArrowColumn]
    private let source: any ArrowSource
    private let fork = ForkGuard()
    private let turn = Turn()
    private var message: UnsafeMutablePointer<UInt8>?

    init(_ columns: [ArrowColumn], _ source: any ArrowSource) {
        self.columns = columns
        self.source = source
    }

    /// Of a table, without a copy; of its texts there are numbers, or views of where they are.
    package convenience init(_ table: Table, texts: TextForm) {
        self.init(
            table.columns.map { ArrowColumn($0.name, $0.kind, texts) },
            TablesSource(table.rows == 0 ? [] : [table]))
    }

    deinit {
        message?.deallocate()
        if !fork.isChild { source.end() }
    }

    /// Gives it away: the record's `release` ends it.
    package func export(to pointer: UnsafeMutableRawPointer) {
        var record = ArrowStreamRecord()
        record.getSchema = { (stream, out) in
            ArrowStream.call(stream, out) { (stream, out) throws(StoreError) in try stream.schema(out) }
        }
        record.getNext = { (stream, out) in
            ArrowStream.call(stream, out) { (stream, out) throws(StoreError) in try stream.next(out) }
        }
        record.getLastError = { (stream) in
            ArrowStream.of(stream)?.takeUnretainedValue().message.map { UnsafePointer($0) }
        }
        record.release = { (stream) in
            ArrowStream.of(stream)?.release()
            let record = stream?.assumingMemoryBound(to: ArrowStreamRecord.self)
            record?.pointee.owner = nil
            record?.pointee.release = nil
        }
        record.owner = Unmanaged.passRetained(self).toOpaque()
        pointer.assumingMemoryBound(to: ArrowStreamRecord.self).initialize(to: record)
    }

    private static func of(_ pointer: UnsafeMutableRawPointer?) -> Unmanaged<ArrowStream>? {
        pointer?.assumingMemoryBound(to: ArrowStreamRecord.self).pointee.owner.map { .fromOpaque($0) }
    }

    /// The number of an error of the system; 0: none.
    private static func call(
        _ pointer: UnsafeMutableRawPointer?, _ out: UnsafeMutableRawPointer?,
        _ body: (ArrowStream, UnsafeMutableRawPointer) throws(StoreError) -> Void
    ) -> Int32 {
        guard let stream = of(pointer)?.takeUnretainedValue(), let out else { return EINVAL }
        // Whoever had the turn then is not here to give it back.
        if stream.fork.isChild {
            stream.keep("the stream was made before a fork, in the parent")
            return EIO
        }
        let code = stream.turn.take { () -> Int32 in
            do throws(StoreError) {
                try body(stream, out)
                return 0
            } catch {
                stream.keep(error.message)
                return error.code == .outOfMemory ? ENOMEM : EIO
            }
        }
        if let code { return code }
        stream.keep("the stream is asked by what it called: it has not got to an end with the batch before")
        return EIO
    }

    private func keep(_ text: String) {
        message?.deallocate()
        let utf8 = Array(text.utf8.filter { $0 != 0 }),
            copy = UnsafeMutablePointer<UInt8>.allocate(capacity: utf8.count + 1)
        for (index, byte) in utf8.enumerated() { copy[index] = byte }
        copy[utf8.count] = 0
        message = copy
    }

    /// A struct, whose fields are the columns.
    private func schema(_ out: UnsafeMutableRawPointer) throws(StoreError) {
        let owner = ArrowOwner(), records = try owner.allocate(ArrowSchemaRecord.self, columns.count)
        let children = try owner.allocate(UnsafeMutablePointer<ArrowSchemaRecord>.self, columns.count)
        var done = 0
        do throws(StoreError) {
            for (index, column) in columns.enumerated() {
                try column.export(to: records + index)
                (children + index).initialize(to: records + index)
                done += 1
            }
            var schema = ArrowSchemaRecord()
            schema.format = try owner.text("+s")
            schema.name = try owner.text("")
            schema.childCount = Int64(columns.count)
            schema.children = children
            schema.release = ArrowSchemaRecord.releasing
            schema.owner = owner.retained
            out.assumingMemoryBound(to: ArrowSchemaRecord.self).initialize(to: schema)
        } catch {
            for index in 0..<done { records[index].release?(records + index) }
            throw error
        }
    }

    /// The next batch; behind the last one a record that has no `release`.
    private func next(_ out: UnsafeMutableRawPointer) throws(StoreError) {
        let record = out.assumingMemoryBound(to: ArrowArrayRecord.self)
        guard let table = try source.next() else {
            record.initialize(to: ArrowArrayRecord())
            return
        }
        let owner = ArrowOwner(), records = try owner.allocate(ArrowArrayRecord.self, columns.count)
        let children = try owner.allocate(UnsafeMutablePointer<ArrowArrayRecord>.self, columns.count)
        let buffers = try owner.allocate(UnsafeRawPointer?.self, 1)
        buffers.initialize(to: nil)
        var done = 0
        do throws(StoreError) {
            for (index, column) in columns.enumerated() {
                try column.export(table.columns[index], to: records + index)
                (children + index).initialize(to: records + index)
                done += 1
            }
        } catch {
            for index in 0..<done { records[index].release?(records + index) }
            throw error
        }
        var array = ArrowArrayRecord()
        array.length = Int64(table.rows)
        array.bufferCount = 1
        array.buffers = buffers
        array.childCount = Int64(columns.count)
        array.children = children
        array.release = ArrowArrayRecord.releasing
        array.owner = owner.retained
        record.initialize(to: array)
    }
}

/// Where the batches of a stream come from.
protocol ArrowSource: AnyObject {
    /// Nil: there are no more.
    func next() throws(StoreError) -> Table?
    /// Nobody asks any more.
    func end()
}

/// Tables that are there.
final class TablesSource: ArrowSource {
    private var tables: ArraySlice<Table>
    init(_ tables: [Table]) { self.tables = tables[...] }
    func next() -> Table? { tables.popFirst() }
    func end() {}
}

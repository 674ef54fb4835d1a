/// Follows the chain of records in the log: by version, epoch and hash of the record before.
///
/// It reads through a closure, so that the simulated machine can scan what a power cut would leave.
struct LogScanner {
    /// Fills the buffer from a byte offset of the log file.
    let read: (_ buffer: UnsafeMutableRawPointer, _ count: Int, _ offset: Int) throws(StoreError) -> Void
    let seed: UInt64
    /// The last record's bytes, header included.
    let buffer = ScanBuffer()

    /// A buffer that grows to the largest record seen.
    final class ScanBuffer {
        var bytes = UnsafeMutableRawPointer.allocate(byteCount: 4096, alignment: 64)
        var capacity = 4096
        func reserve(_ count: Int) throws(StoreError) {
            if count <= capacity { return }
            let larger = try Memory.allocateAligned(count)
            larger.copyMemory(from: bytes, byteCount: capacity)
            bytes.deallocate()
            bytes = larger
            capacity = count
        }
        deinit { bytes.deallocate() }
    }

    var ops: (base: UnsafeRawPointer, count: Int) {
        (
            UnsafeRawPointer(buffer.bytes) + LogRecord.headerSize,
            Int(buffer.bytes.load(fromByteOffset: 72, as: UInt32.self))
        )
    }
    var delta: (base: UnsafeRawPointer, count: Int) {
        let (base, count) = ops
        return (base + count, Int(buffer.bytes.load(fromByteOffset: 76, as: UInt32.self)))
    }

    /// The record that continues `position` as `version`, or nil where there is none (yet).
    func next(_ position: LogPosition, version: UInt64) throws(StoreError) -> LogRecord? {
        guard position.region.bytes >= PageSize.page else { return nil }
        switch try probe(position, lsn: position.lsn, version: version) {
        case .record(let record): return record
        case .nothing: return nil
        case .skip:
            if case .record(let record) = try probe(position, lsn: position.nextLap, version: version) { return record }
            return nil
        }
    }

    private enum Found {
        case nothing
        case skip
        case record(LogRecord)
    }

    private func probe(_ position: LogPosition, lsn: UInt64, version: UInt64) throws(StoreError) -> Found {
        let offset = position.offset(of: lsn), room = position.bytesToEnd(lsn)
        guard room >= LogRecord.sector else { return .nothing }
        try read(buffer.bytes, LogRecord.sector, offset)
        func get<T: BitwiseCopyable>(_ at: Int, _: T.Type = T.self) -> T {
            buffer.bytes.load(fromByteOffset: at, as: T.self)
        }
        let magic: UInt32 = get(0)
        guard magic == LogRecord.recordMagic || magic == LogRecord.skipMagic,
            get(16, UInt64.self) == version, get(40, UInt64.self) == lsn,
            InjectedBug.active(.noChain)
                || (get(8, UInt64.self) == position.epoch && get(24, UInt64.self) == position.chain)
        else { return .nothing }
        let bytes = Int(get(4, UInt32.self))
        guard bytes >= LogRecord.headerSize, bytes <= room else { return .nothing }
        let rounded = (bytes + LogRecord.sector - 1) & ~(LogRecord.sector - 1)
        if rounded > LogRecord.sector {
            try buffer.reserve(rounded)
            try read(buffer.bytes + LogRecord.sector, rounded - LogRecord.sector, offset + LogRecord.sector)
        }
        guard
            LogRecord.hash(UnsafeRawPointer(buffer.bytes), bytes: rounded, seed: seed) == get(120, UInt64.self)
                || InjectedBug.active(.hashUnchecked)
        else { return .nothing }
        if magic == LogRecord.skipMagic { return .skip }
        return .record(try LogRecord(header: UnsafeRawPointer(buffer.bytes), start: position))
    }
}

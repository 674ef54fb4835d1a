/// What follows a version in the log, as far as the chain of records goes.
struct LogChain {
    /// Records that can be applied: without summaries, and without an unfinished group at the end.
    var count = 0
    /// The version that the last of them makes.
    var version: UInt64 = 0
    /// Whole records that continue the chain but cannot be applied: from a summary on, or of an unfinished group.
    var blocked = 0
    /// Whole records of later versions with changes that do not continue the chain.
    var stray = 0

    init(version: UInt64 = 0) { self.version = version }
}

/// The log beside a store's file, read only.
struct LogImage {
    private let file: StorageFile?
    let exists: Bool

    init(_ path: String, machine: Machine) throws(StoreError) {
        exists = machine.exists(path)
        file = exists ? try machine.open(path, .readOnly) : nil
    }

    func close() { file?.close() }

    /// What it means that there is none, of a file that was not closed cleanly.
    func missing(after version: UInt64, _ doubt: String) -> String {
        """
        log: it is missing, and with it what was committed after version \(version): the file was not closed \
        cleanly\(doubt)
        """
    }

    /// Whether its header names that life of the store. Where the header is damaged the chain can still prove itself.
    func matches(_ meta: Meta) throws(StoreError) -> Bool {
        guard let file else { return false }
        return try LogFile.matches(file, uuid: meta.uuid, incarnation: meta.incarnation)
    }

    /// Follows the chain behind a meta, as recovery would; nothing beyond version `limit`.
    func follow(_ meta: Meta, limit: UInt64 = .max) throws(StoreError) -> LogChain {
        var chain = LogChain(version: meta.version)
        guard let file else { return chain }
        let scanner = LogFile(file: file, seed: meta.hashSeed).scanner()
        var position = meta.log, version = meta.version, pending = 0
        var isBlocked = false
        while version < limit, let record = try next(scanner, position, version: version + 1) {
            if record.flags.contains(.summary) { isBlocked = true }
            if isBlocked { chain.blocked += 1 } else { pending += 1 }
            if !isBlocked, !record.flags.contains(.continues) {
                chain.count += pending
                chain.version = record.version
                pending = 0
            }
            (position, version) = (record.end, record.version)
        }
        chain.blocked += pending
        if version < limit {
            chain.stray = try strayRecords(meta.hashSeed, epoch: meta.log.epoch, after: version, position.region)
        }
        return chain
    }

    /// Calls `body` with each record that `chain.count` counts; what its ops point into is valid during the call.
    func forEachRecord(
        _ meta: Meta, _ chain: LogChain, _ body: (LogRecord, ByteReader) throws(StoreError) -> Void
    ) throws(StoreError) {
        guard let file else { return }
        let scanner = LogFile(file: file, seed: meta.hashSeed).scanner()
        var position = meta.log
        for index in 0..<chain.count {
            guard let record = try next(scanner, position, version: meta.version + UInt64(index) + 1) else {
                throw StoreError(.corrupt, "the log changed while it was read")
            }
            try body(record, ByteReader(scanner.ops.base, count: scanner.ops.count))
            position = record.end
        }
    }

    /// Nil also for a record that is whole and not well formed: there the chain ends.
    private func next(_ scanner: LogScanner, _ position: LogPosition, version: UInt64) throws(StoreError) -> LogRecord?
    {
        do throws(StoreError) { return try scanner.next(position, version: version) } catch {
            guard error.isDamage else { throw error }
            return nil
        }
    }

    /// Looks at every sector of a ring for whole records of versions behind `version` that change something; without a
    /// ring, at the whole log.
    func strayRecords(
        _ seed: UInt64, epoch: UInt64, after version: UInt64, _ region: LogRegion? = nil
    ) throws(StoreError) -> Int {
        guard let file else { return 0 }
        let size = try file.size(),
            region = region ?? LogRegion(offset: LogFile.headerSize, bytes: max(0, size - LogFile.headerSize))
        let end = min(region.offset + region.bytes, size)
        guard region.bytes >= PageSize.page, region.offset >= LogFile.headerSize, region.offset < end else { return 0 }
        let chunk = 1 << 20
        let buffer = try Memory.allocateAligned(chunk)
        defer { buffer.deallocate() }
        // Records do not overlap: more than this is what a hostile file says.
        var found = 0, start = region.offset, left = 2 * (end - region.offset)
        while start < end {
            let count = min(chunk, end - start)
            try file.read(into: buffer, count: count, at: start)
            for sector in stride(from: 0, to: count - LogRecord.headerSize, by: LogRecord.sector) {
                let bytes = Int(buffer.load(fromByteOffset: sector + 4, as: UInt32.self))
                guard buffer.load(fromByteOffset: sector, as: UInt32.self) == LogRecord.recordMagic,
                    buffer.load(fromByteOffset: sector + 8, as: UInt64.self) >= epoch,
                    buffer.load(fromByteOffset: sector + 16, as: UInt64.self) > version,
                    buffer.load(fromByteOffset: sector + 72, as: UInt32.self) > 0,
                    bytes >= LogRecord.headerSize, bytes <= min(left, end - start - sector)
                else { continue }
                let rounded = (bytes + LogRecord.sector - 1) & ~(LogRecord.sector - 1)
                left -= rounded
                let record = try Memory.allocateAligned(rounded)
                defer { record.deallocate() }
                try file.read(into: record, count: rounded, at: start + sector)
                if LogRecord.hash(UnsafeRawPointer(record), bytes: rounded, seed: seed)
                    == record.load(fromByteOffset: 120, as: UInt64.self)
                {
                    found += 1
                }
            }
            start += count
        }
        return found
    }
}

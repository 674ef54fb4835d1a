/// What the simulated machine's oracles need of the inside of a database.
extension Database {
    package var seedForOracle: UInt64 { seed }
    package var metaVersionForOracle: UInt64 { shared.metaVersion.current }
    package var durableForOracle: UInt64 { shared.durable.current & ~SharedState.poisonBit }
    /// Bytes that all processes wrote into the db file, and how many pages it has.
    package var pageUse: (bytesWritten: Int, filePages: Int) {
        (Int(shared.dbBytes.current), shared.ringEntry(shared.head.current).filePages)
    }
    package var fileForOracle: StorageFile { file }
    package var writerLockForOracle: ExclusiveLock { locks.writer }
    package var wordsForOracle: (head: UInt64, published: UInt64, isPoisoned: Bool) {
        (shared.head.current, shared.published.current, shared.durable.current & SharedState.poisonBit != 0)
    }
}

extension Database {
    /// As if nothing had been touched yet: the next access to each page checks it again.
    package func forgetChecks() {
        guard let mapping = try? mapping(forPages: 1), let bytes = try? file.size() else { return }
        mapping.forget(page: 0, count: bytes / PageSize.page + 1)
    }
}

/// Injected bugs that the workload of the harness makes, not the engine.
extension Database {
    /// Row 13: what a forked child's finaliser would do without the generation word.
    package func releasePinsAsForkedChildWould() {
        for index in 0..<Int(shared.slotHighWater.load()) where shared.slot(index).instance.load() == instance {
            shared.slot(index).version.store(0)
        }
    }

    /// Row 7: the pin of a version moves to another slot.
    package func movePin(_ version: UInt64) {
        let count = shared.limits.slots
        for index in 0..<count
        where shared.slot(index).instance.load() == instance && shared.slot(index).version.load() == version {
            for other in 0..<count where shared.slot(other).instance.compareExchange(0, instance) {
                if shared.slotHighWater.load() <= UInt64(other) { shared.slotHighWater.store(UInt64(other + 1)) }
                shared.slot(other).version.store(version)
                shared.slot(index).version.store(0)
                shared.slot(index).instance.store(0)
                return
            }
            return
        }
    }
}

/// Walks a tree in any image of the db file, with every check.
package enum OracleTree {
    package static func forEachExtent(
        of root: Ref, file: UnsafeRawPointer, bytes: Int, seed: UInt64, visit: (VisitedExtent) -> Void
    ) throws(StoreError) {
        let units = bytes / PageSize.unit + 1
        let checked = UnsafeMutablePointer<UInt16>.allocate(capacity: units)
        checked.initialize(repeating: 0, count: units)
        defer { checked.deallocate() }
        let source = PageSource(base: file, limit: bytes, checked: checked, seed: seed, arena: nil)
        try StoreWalk.forEachExtent(root: root, source: source) { (extent) throws(StoreError) in visit(extent) }
    }
}

/// Follows the log in any image of it.
package struct OracleLog {
    package struct Step {
        package var version: UInt64
        package var chain: UInt64
        package var isSummary: Bool
        /// Byte ranges of the file that the record needs: itself, and the skip mark before it.
        package var ranges: [Range<Int>]
    }

    private let scanner: LogScanner

    package init(seed: UInt64, read: @escaping (UnsafeMutableRawPointer, Int, Int) -> Void) {
        scanner = LogScanner(
            read: { (buffer, count, offset) throws(StoreError) in read(buffer, count, offset) }, seed: seed)
    }

    /// The records from a meta to a version, or nil where the chain ends before.
    package func follow(_ meta: Meta, to version: UInt64) -> [Step]? {
        var steps: [Step] = []
        var position = meta.log, at = meta.version
        while at < version {
            guard let record = try? scanner.next(position, version: at + 1) else { return nil }
            let bytes = Int(scanner.buffer.bytes.load(fromByteOffset: 4, as: UInt32.self))
            let lsn: UInt64 = scanner.buffer.bytes.load(fromByteOffset: 40, as: UInt64.self)
            let start = position.offset(of: lsn)
            var ranges = [start..<(start + (bytes + 511) / 512 * 512)]
            if lsn != position.lsn {
                ranges.append(position.offset(of: position.lsn)..<(position.offset(of: position.lsn) + 512))
            }
            steps.append(
                Step(
                    version: record.version, chain: record.chain, isSummary: record.flags.contains(.summary),
                    ranges: ranges))
            position = record.end
            at = record.version
        }
        return steps
    }

    /// Version and chain of a record in memory, if it is one.
    package static func header(_ bytes: UnsafeRawBufferPointer) -> (version: UInt64, chain: UInt64)? {
        guard bytes.count >= LogRecord.headerSize, bytes.load(as: UInt32.self) == LogRecord.recordMagic else {
            return nil
        }
        return (bytes.load(fromByteOffset: 16, as: UInt64.self), bytes.load(fromByteOffset: 120, as: UInt64.self))
    }
}

/// Facts about a store that do not change while it is open, except for the schema's version.
package struct StoreInfo: Sendable {
    package let uuid: [UInt8]
    /// From 1.
    package let schemaVersion: UInt64
    package let format: UInt32
    package let pageBytes: UInt32
}

extension Store {
    package func info() throws(StoreError) -> StoreInfo {
        try checkOpen()
        let uuid = shared.database.uuid
        return StoreInfo(
            uuid: withUnsafeBytes(of: uuid.0) { Array($0) } + withUnsafeBytes(of: uuid.1) { Array($0) },
            schemaVersion: max(1, try shared.database.snapshot().schema.version), format: Meta.formatVersion,
            pageBytes: UInt32(PageSize.page))
    }
}

/// How much there is and how much was done; the numbers may be a commit apart.
package struct StoreStatistics: Sendable {
    package var published: UInt64 = 0
    package var durable: UInt64 = 0
    package var checkpoint: UInt64 = 0
    package var fileBytes = 0
    package var liveBytes = 0
    package var freeBytes = 0
    package var pinnedBytes = 0
    package var logFileBytes = 0
    package var logUsedBytes = 0
    package var oldestPin: UInt64 = 0
    package var readerSlots = 0
    package var processes = 0
    // Since the first of the processes that have the store open opened it.
    package var commits: UInt64 = 0
    package var checkpoints: UInt64 = 0
    package var syncs: UInt64 = 0
    package var logBytesWritten: UInt64 = 0
    package var fileBytesWritten: UInt64 = 0
    // Of this process.
    package var views = 0
    package var mappedBytes = 0
    package var arenaBytes = 0
    /// Of all processes, the newest included.
    package var versions = 0
    package var observers = 0
    package var changeSets: UInt64 = 0
}

package enum PinHolder: Int32, Sendable {
    case view = 1
    case observer = 2
    case checkpoint = 3
    /// By name: see `Store.keptVersions`.
    case kept = 4
}

/// One pinned version: while it is, the pages that it needs are not reused.
package struct PinInfo: Sendable {
    package var version: UInt64
    /// Milliseconds since 1970; 0 = not known.
    package var since: Int64
    package var instance: UInt64
    package var process: Int64
    package var holder: PinHolder
    package var count: Int
}

extension Store {
    package func statistics() throws(StoreError) -> StoreStatistics {
        try checkOpen()
        let database = shared.database
        var result = StoreStatistics()
        try database.fillStatistics(&result)
        result.views = shared.views
        result.arenaBytes = shared.arenaBytes
        (result.observers, result.changeSets) = database.watch.statistics
        return result
    }

    /// Before anything is written.
    ///
    /// Errors: `.tooManyVersions`, which says who pins them.
    func checkVersions() throws(StoreError) {
        if maxVersions == .max { return }
        let pins = try pins().filter { $0.holder == .view }
        let newest = shared.database.publishedVersion
        let alive = Set(pins.map(\.version) + [newest]).count
        if alive <= maxVersions { return }
        let now = shared.database.machine.wallClock() / 1_000_000
        let old = pins.filter { $0.version != newest }
        let named = old.prefix(8).map { pin in
            "version \(pin.version) by process \(pin.process) for \(max(0, now - pin.since) / 1000) s"
        }
        throw StoreError(
            .tooManyVersions,
            """
            \(alive) versions are alive, and \(maxVersions) may be: \(named.joined(separator: ", "))\
            \(old.count > 8 ? ", …" : "")
            """)
    }

    /// Oldest version first.
    package func pins() throws(StoreError) -> [PinInfo] {
        try checkOpen()
        var pins = try shared.database.pinnedSlots()
        for index in pins.indices where pins[index].instance == shared.database.instance && pins[index].holder == .view
        {
            pins[index].count = max(1, shared.views(on: pins[index].version))
        }
        return pins
    }
}

extension Database {
    fileprivate func fillStatistics(_ result: inout StoreStatistics) throws(StoreError) {
        result.published = shared.published.current
        result.durable = shared.durable.current & ~SharedState.poisonBit
        result.checkpoint = shared.metaVersion.current
        let head = try shared.headEntry()
        result.fileBytes = head.filePages * PageSize.page
        if let log {
            result.logFileBytes = try log.file.size()
            let start = shared.logStart.current
            if LogStart.epoch(start) == LogStart.low(head.log.epoch) {
                // Of shared words, which others may have overwritten.
                result.logUsedBytes = max(
                    0, min(result.logFileBytes, Int(truncatingIfNeeded: head.log.lsn &- LogStart.lsn(start))))
            }
        }
        try fillSpace(&result)
        let slots = try pinnedSlots().filter { $0.holder == .view }
        result.readerSlots = slots.count
        result.oldestPin = slots.map(\.version).min() ?? 0
        result.versions = Set(slots.map(\.version) + [result.published]).count
        var instances: Set<UInt64> = [instance]
        for index in 0..<shared.usedSlots {
            let owner = shared.slot(index).instance.current
            if owner != 0 && owner != PinTable.keeper { instances.insert(owner) }
        }
        result.processes = instances.count
        result.commits = shared.commits.current
        result.checkpoints = shared.checkpoints.current
        result.syncs = shared.syncs.current
        result.logBytesWritten = shared.logBytes.current
        result.fileBytesWritten = shared.dbBytes.current
        result.mappedBytes = try mapping(forPages: 1).map.bytes
    }

    /// Free space is known to the holder of the writer lock only; while another has it, the numbers are those of the
    /// last time.
    private func fillSpace(_ result: inout StoreStatistics) throws(StoreError) {
        if !options.isReadOnly, try acquireWriterForUpkeep(timeout: 0) {
            defer { releaseWriterAfterUpkeep() }
            try prepareAllocator(for: try shared.headEntry())
            if let space = allocator?.space {
                lastSpace = (space.liveBytes, space.readyCount * PageSize.page, space.limboCount * PageSize.page)
            }
        }
        (result.liveBytes, result.freeBytes, result.pinnedBytes) = lastSpace
    }

    /// Pins of all living processes, and what a recovery begins with.
    fileprivate func pinnedSlots() throws(StoreError) -> [PinInfo] {
        if !options.isInMemory && !options.isReadOnly { try pins.reapDeadSlots() }
        var result: [PinInfo] = []
        for index in 0..<shared.usedSlots {
            let slot = shared.slot(index)
            let version = slot.version.current, owner = slot.instance.current
            if version == 0 || owner == 0 { continue }
            let isKept = owner == PinTable.keeper
            result.append(
                PinInfo(
                    version: version, since: Int64(bitPattern: slot.since.current) / 1_000_000,
                    instance: isKept ? 0 : owner, process: Int64(truncatingIfNeeded: slot.process),
                    holder: isKept ? .kept : .view, count: 1))
        }
        for version in Set(shared.metaPins.map(\.current) + [shared.intent.current]) where version != 0 {
            result.append(PinInfo(version: version, since: 0, instance: 0, process: 0, holder: .checkpoint, count: 1))
        }
        return result.sorted { ($0.version, $0.holder.rawValue) < ($1.version, $1.holder.rawValue) }
    }
}

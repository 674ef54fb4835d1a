/// The free space of one process, as of a version of the log: used only under WRITER.
struct Allocator {
    var space: FreeSpace
    var version: UInt64
    var position: LogPosition
    /// What the version's record says: its root, and how many pages the file has.
    var root: Ref
    var filePages: Int
    /// The pages of the newest free map and its version: freed by the next checkpoint.
    var freeMap: PageRun
    var freeMapBorn: UInt64
}

extension Allocator {
    /// The free space of a meta, as its free map says.
    init(_ meta: Meta, source: PageSource) throws(StoreError) {
        let node = try source.node(meta.freeMap, .freeMap)
        guard NodeHeader.word(node) == UInt64(meta.filePages) else {
            throw StoreError(.corrupt, "free map of another file size")
        }
        var reader = ByteReader(node + NodeHeader.size, count: NodeHeader.bytes(node) - NodeHeader.size)
        let space = try FreeSpace(pages: meta.filePages, decoding: &reader, version: meta.version)
        let run = PageRun(page: meta.freeMap.offset / PageSize.page, count: NodeHeader.count(node))
        guard run.count * PageSize.page >= NodeHeader.bytes(node) else {
            throw StoreError(.corrupt, "free map is not well formed")
        }
        self.init(
            space: space, version: meta.version, position: meta.log, root: meta.root, filePages: meta.filePages,
            freeMap: run, freeMapBorn: NodeHeader.born(node))
    }
}

extension Database {
    /// Brings the allocator forward to the version of `entry`, or loads it from the newest meta when the log
    /// no longer has what is missing. Under WRITER.
    ///
    /// In a living process the log between the newest meta and HEAD is always readable, and its last hash is
    /// that of the ring: anything else means that written data was lost, and poisons.
    func bringAllocatorForward(to entry: SharedState.RingEntry) throws(StoreError) {
        if var current = allocator {
            allocator = nil
            if try follow(&current, to: entry) {
                allocator = current
                try tellProbe(entry)
                return
            }
        }
        guard
            let meta = try readMetas().compactMap({ $0 }).filter({ $0.version <= entry.version }).max(by: {
                $0.generation < $1.generation
            })
        else {
            throw StoreError(.corrupt, "no valid meta at or before version \(entry.version)")
        }
        var fresh = try loadAllocator(meta)
        guard try follow(&fresh, to: entry) else {
            throw StoreError(
                .corrupt,
                "the log between the meta of version \(meta.version) and version \(entry.version) is not readable")
        }
        allocator = fresh
        try tellProbe(entry)
    }

    func loadAllocator(_ meta: Meta) throws(StoreError) -> Allocator {
        try Allocator(meta, source: try mapping(forPages: meta.filePages).source(filePages: meta.filePages, seed: seed))
    }

    /// False when the log does not lead from here to the entry.
    private func follow(_ state: inout Allocator, to entry: SharedState.RingEntry) throws(StoreError) -> Bool {
        if state.version > entry.version { return false }
        if state.version == entry.version { return state.agrees(with: entry) }
        let scanner = try requireLog().scanner()
        while state.version < entry.version {
            guard let record = try scanner.next(state.position, version: state.version + 1) else { return false }
            if record.deltaLength > 0 {
                guard let delta = try readLargeDelta(record, hashBytes: scanner.delta) else { return false }
                var reader = ByteReader(UnsafeRawPointer(delta.base), count: delta.count)
                try AllocationDelta.apply(
                    &reader, version: record.version, filePages: record.filePages, to: state.space)
            } else {
                var reader = ByteReader(scanner.delta.base, count: scanner.delta.count)
                try AllocationDelta.apply(
                    &reader, version: record.version, filePages: record.filePages, to: state.space)
            }
            if record.freeMap.count > 0 {
                state.freeMap = record.freeMap
                state.freeMapBorn = record.version
            }
            state.version = record.version
            state.position = record.end
            state.root = record.root
            state.filePages = record.filePages
        }
        return state.agrees(with: entry)
    }

    /// A delta too large for the ring lies in pages of its own; gone (reused) when a meta behind it is durable.
    private func readLargeDelta(
        _ record: LogRecord, hashBytes: (base: UnsafeRawPointer, count: Int)
    ) throws(StoreError) -> ByteBuffer? {
        let offset = record.deltaRef.offset
        guard hashBytes.count == 8, record.deltaLength <= record.filePages * PageSize.page - offset else { return nil }
        let rounded = PageSize.roundedToUnit(record.deltaLength)
        let buffer = ByteBuffer(capacity: rounded)
        let bytes = try Memory.allocateAligned(rounded)
        defer { bytes.deallocate() }
        try file.read(into: bytes, count: rounded, at: offset)
        let hash = PageHash.hash(bytes, count: record.deltaLength, seed: PageHash.mix(seed, record.version))
        guard hash == hashBytes.base.loadUnaligned(as: UInt64.self) else { return nil }
        try buffer.append(bytes: UnsafeRawPointer(bytes), count: record.deltaLength)
        return buffer
    }

    /// Versions that a reader may lag behind before writers become sparing with space.
    private static let oldReader: UInt64 = 32

    /// PUBLISHED, then the versions that pages must be kept for, ascending.
    ///
    /// The scan follows the direction in which a pin can move: PUBLISHED, reader slots, intent, metas.
    func scanPins() -> (published: UInt64, pins: [UInt64]) {
        let published = shared.published.load()
        pinScratch.removeAll(keepingCapacity: true)
        hasOldReader = false
        for index in 0..<shared.usedSlots {
            let version = shared.slot(index).version.load()
            if version == 0 || InjectedBug.active(.pinsIgnored) { continue }
            pinScratch.append(version)
            if version &+ Database.oldReader < published { hasOldReader = true }
        }
        if InjectedBug.active(.pinScanOrder) { for word in shared.metaPins { pinScratch.append(word.load()) } }
        let intent = shared.intent.load()
        if intent != 0 && !InjectedBug.active(.intentReaped) { pinScratch.append(intent) }
        if !InjectedBug.active(.pinScanOrder) { for word in shared.metaPins { pinScratch.append(word.load()) } }
        pinScratch.sort()
        return (published, pinScratch)
    }
}

extension Database {
    private func tellProbe(_ entry: SharedState.RingEntry) throws(StoreError) {
        guard let probe, let allocator else { return }
        try probe.didLoadAllocator(
            self, version: entry.version, root: entry.root, space: allocator.space, freeMap: allocator.freeMap)
    }
}

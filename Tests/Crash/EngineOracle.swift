import ObjStoreCore
import ObjStoreSimulation

/// Knows every version that was ever written, and what must hold of them: the three oracles of the commit
/// protocol, ported from its model.
///
/// 1. At every acknowledgement: whatever meta a power cut may leave now, its tree is on the medium, and the
///    log leads from it to the acknowledged version without a summary on the way.
/// 2. At every write: no page of a meta that may be chosen, of a pinned version or of PUBLISHED…HEAD is hit,
///    nor a log record that is still needed.
/// 3. At every load of an allocator: units in use, as it counts them, are exactly those of tree and free map.
final class EngineOracle: EngineProbe, Oracle {
    enum Status { case pending, committed, failed, unknown, lost }

    /// One record (or start of an epoch) by its chain hash.
    struct Known {
        var version: UInt64
        var parent: UInt64?
        var content: Content
        var continues = false
        var status: Box?
        var isSummary = false
    }
    final class Box { var status = Status.pending }

    unowned let world: World
    private(set) var known: [UInt64: Known] = [:]
    /// The chain hash of each version of the present life.
    private(set) var official: [UInt64: UInt64] = [:]
    /// Pages of each version's tree, of the present life.
    private var trees: [UInt64: Set<Int>] = [:]
    private var metaPages: [UInt64: Set<Int>] = [:]
    /// Byte ranges of the extents of each meta's tree: beside them a page may hold dead ones, which are not needed.
    private var metaExtents: [UInt64: [Range<Int>]] = [:]
    private var records: [UInt64: (version: UInt64, range: Range<Int>)] = [:]
    private var acknowledged: UInt64?
    private var relaxed: UInt64?
    private var poisonedAt: UInt64?
    /// The newest version that a reader of this life has read, or a transaction that has ended.
    private(set) var seen: UInt64 = 0
    private var losesData = false
    private var readers: [(process: Int, version: UInt64)] = []
    /// What the transaction that a process is about to commit will contain.
    var pending: [Int: (content: Content, box: Box)] = [:]
    private(set) var acknowledgements = 0
    private(set) var commits = 0
    private(set) var recoveries = 0
    private(set) var reads = 0
    /// States of the disk that were opened by a process that found none alive, and compared as a whole.
    private(set) var crashStates = 0
    private var firstOpeners: Set<UInt64> = []
    private(set) var poisonings = 0

    static let path = "d/store"
    /// Of a store that had the path, and has no name any more.
    private var pastFiles: (db: DiskFile, log: DiskFile?)?
    private var db: DiskFile? { pastFiles?.db ?? world.folders[EngineOracle.path] }
    private var logFile: DiskFile? { pastFiles.map(\.log) ?? world.folders[EngineOracle.path + "-log"] }

    /// - Parameter origin: the store is a copy of another one, as it was after that one's record of this chain hash.
    init(_ world: World, from origin: (store: EngineOracle, chain: UInt64)? = nil) {
        self.world = world
        guard let origin else { return }
        var link: UInt64? = origin.chain
        while let current = link, var entry = origin.store.known[current] {
            // Whatever becomes of them there, here they are.
            if entry.status != nil {
                entry.status = Box()
                entry.status?.status = .committed
            }
            known[current] = entry
            link = entry.parent
        }
        (acknowledged, relaxed) = (origin.chain, origin.chain)
    }

    /// The file of that name is about to be replaced.
    func becomePast(_ file: DiskFile, log: DiskFile?) { pastFiles = (file, log) }
    /// Whether it is one of those of a store that has no name any more.
    func isAbout(_ file: DiskFile) -> Bool { file === pastFiles?.db || file === pastFiles?.log }
    /// Of a store that was closed, for good.
    var chainOfClosed: UInt64? {
        guard let db, databases.isEmpty, db.isCertain(0..<db.size) else { return nil }
        let metas = choosableMetas()
        guard metas.count == 1, metas[0].isClean, known[metas[0].log.chain] != nil else { return nil }
        return metas[0].log.chain
    }

    private func fail(_ text: String) { world.fail(text) }

    // MARK: What the engine tells

    func content(of database: Database, version: UInt64) -> Content? {
        guard let chain = official[version] else { return nil }
        return known[chain]?.content
    }

    /// Whether the version is one inside a group, which no reader may see.
    func isInsideGroup(_ version: UInt64) -> Bool { official[version].flatMap { known[$0] }?.continues == true }

    func willWriteRecord(
        _ database: Database, version: UInt64, chain: UInt64, previous: UInt64, continues: Bool, isSummary: Bool,
        keepsContent: Bool
    ) {
        world.quietly {
            if let lock = database.writerLockForOracle as? SimulatedLock, !lock.isHeld {
                return fail("P3: a record of version \(version) is written by who does not have WRITER")
            }
            guard let parent = known[previous] else {
                return fail("P1: a record of version \(version) continues an unknown chain")
            }
            var entry = Known(
                version: version, parent: previous, content: parent.content, continues: continues, isSummary: isSummary)
            if !keepsContent, let process = world.running?.process.id, let next = pending[process] {
                entry.content = next.content
                entry.status = next.box
            }
            known[chain] = entry
        }
    }

    func willMoveHead(
        _ database: Database, version: UInt64, root: Ref, freeMap: PageRun, isCheckpoint: Bool, chain: UInt64
    ) {
        world.quietly {
            if known[chain] == nil {
                // The first write after a clean open begins a new chain at the same version.
                guard let old = official[version], let entry = known[old] else {
                    return fail("P1: HEAD \(version) of an unknown chain")
                }
                known[chain] = Known(version: version, parent: old, content: entry.content)
            }
            if let parent = known[chain]?.parent, known[parent]?.version == version {
                // The first write after a clean open: its meta is durable.
                (acknowledged, relaxed) = (chain, chain)
            }
            commits += 1
            trees[version] = pages(of: root, database.seedForOracle)
            var link: UInt64? = chain
            while let current = link, let entry = known[current], official[entry.version] != current {
                official[entry.version] = current
                link = entry.parent
            }
            // Versions inside a group are never visible.
            if let parent = known[chain]?.parent {
                var inside = parent
                while let entry = known[inside], entry.continues {
                    trees[entry.version] = nil
                    guard let next = entry.parent else { break }
                    inside = next
                }
            }
            world.say("HEAD = \(version)\(isCheckpoint ? " checkpoint" : "")")
        }
    }

    func didLoadAllocator(
        _ database: Database, version: UInt64, root: Ref, space: FreeSpace, freeMap: PageRun
    ) throws(StoreError) {
        if InjectedBug.active(.freeMapUnlogged) { return }
        world.quietly {
            var units = [Int](repeating: 0, count: space.pages)
            do throws(StoreError) {
                try walk(root, database.seedForOracle) { extent in
                    var unit = extent.unit
                    while unit < extent.unit + extent.units {
                        let page = unit / 8
                        let count = min(extent.unit + extent.units, (page + 1) * 8) - unit
                        if page < units.count { units[page] += count }
                        unit += count
                    }
                }
            } catch {
                // After an eviction damage is seen, which is right; what is not seen must be whole.
                if world.hasEvicted { return }
                return fail("P2: the tree of version \(version) is damaged: \(error.message)")
            }
            for page in freeMap.page..<(freeMap.page + freeMap.count) where page < units.count { units[page] += 8 }
            for page in 3..<space.pages where units[page] != space.liveUnits(page) {
                return fail(
                    """
                    P6: allocator of P\(world.running?.process.id ?? 0) at version \(version): page \(page) has \
                    \(units[page]) units in use, the allocator counts \(space.liveUnits(page))
                    """
                )
            }
        }
    }

    func didRecover(_ database: Database, chain: UInt64, newChain: UInt64, version: UInt64) throws(StoreError) {
        world.quietly {
            recoveries += 1
            firstOpeners.insert(database.instance)
            // No process lives whose words count; they may even be in a lock file of their own.
            self.database = nil
            if known[chain] == nil, version == 1, acknowledged.map({ known[promised($0)]!.version == 1 }) ?? true {
                // A new store; also where the first one, which was never written to, was lost with its name.
                known[chain] = Known(version: version, parent: nil, content: [:])
                (acknowledged, relaxed) = (nil, nil)
            }
            guard let entry = known[chain] else { return fail("P1: recovered an unknown chain at version \(version)") }
            if let acknowledged, !isAncestor(promised(acknowledged), of: chain) {
                return fail("P1: acknowledged version \(known[acknowledged]!.version) lost; recovered \(entry.version)")
            }
            if let relaxed, !losesData, !isAncestor(promised(relaxed), of: chain) {
                return fail(
                    """
                    P1: relaxed version \(known[relaxed]!.version) lost without a power cut; recovered \(entry.version)
                    """
                )
            }
            if entry.continues { return fail("P5: half of a group survives at version \(entry.version)") }
            var link: UInt64? = chain
            while let current = link, let ancestor = known[current] {
                if ancestor.status?.status == .failed || ancestor.status?.status == .lost {
                    return fail(
                        """
                        P1: a transaction known as \(ancestor.status!.status) was recovered, version \
                        \(ancestor.version)
                        """
                    )
                }
                link = ancestor.parent
            }
            if newChain != chain {
                known[newChain] = Known(version: version + 1, parent: chain, content: entry.content)
            }
            world.say("recovery decides for version \(version)")
        }
    }

    func didStart(_ database: Database, version: UInt64, chain: UInt64, root: Ref) {
        world.quietly {
            official = [version: chain]
            trees = [version: pages(of: root, database.seedForOracle)]
            // What an open shows is promised, whether it recovered or found the store clean.
            (acknowledged, relaxed) = (chain, chain)
            poisonedAt = nil
            seen = version
            losesData = world.hasLostSectors(EngineOracle.path) || world.hasLostSectors(EngineOracle.path + "-log")
            readers = []
            var survives = Set<UInt64>()
            var link: UInt64? = chain
            while let current = link { survives.insert(current); link = known[current]?.parent }
            for (key, entry) in known where !survives.contains(key) { entry.status?.status = .lost }
            // Older lives cannot come back any more.
            records = [:]
        }
    }

    func didPoison(_ database: Database) {
        if poisonedAt == nil {
            poisonedAt = database.durableForOracle
            poisonings += 1
            world.say("POISON")
        }
    }

    // MARK: What the workload tells

    func acknowledge(_ database: Database, _ version: UInt64, durable: Bool) {
        world.quietly {
            guard let chain = official[version] else {
                return fail("P1: acknowledged version \(version) is not of this life")
            }
            if database.publishedVersion < version {
                return fail("P8: version \(version) acknowledged before it is published")
            }
            if durable {
                acknowledgements += 1
                if let poisonedAt, version > poisonedAt {
                    return fail("P7: version \(version) acknowledged after poison")
                }
                if acknowledged == nil || known[acknowledged!]!.version < version { acknowledged = chain }
                checkDurable(version, chain, database.seedForOracle)
            } else if relaxed == nil || known[relaxed!]!.version < version {
                relaxed = chain
            }
            didSee(version)
            world.say(durable ? "ACK \(version)" : "relaxed ack \(version)")
        }
    }

    func didSee(_ version: UInt64) { seen = max(seen, version) }

    /// A transaction on `version` has left nothing, and its program knows that it has ended: what it saw is not
    /// taken back.
    func endedWithoutChange(_ database: Database, _ version: UInt64, durable: Bool) {
        world.quietly {
            guard let chain = official[version] else {
                return fail("P9: version \(version), which a transaction saw, is not of this life")
            }
            if database.publishedVersion < version {
                return fail(
                    """
                    P9: a transaction that changed nothing has seen version \(version), and others see \
                    \(database.publishedVersion)
                    """
                )
            }
            didSee(version)
            if durable {
                if let poisonedAt, version > poisonedAt {
                    return fail("P9: a transaction that saw version \(version) ends well after poison")
                }
                if acknowledged == nil || known[acknowledged!]!.version < version { acknowledged = chain }
                checkDurable(version, chain, database.seedForOracle)
            } else if relaxed == nil || known[relaxed!]!.version < version {
                relaxed = chain
            }
            world.say("ended on \(version)")
        }
    }

    /// A process has closed the store, and no sync had failed: what it committed as relaxed up to `version` is durable.
    func closed(_ seed: UInt64, _ version: UInt64) {
        world.quietly {
            guard poisonedAt == nil, let chain = official[version] else { return }
            acknowledgements += 1
            if acknowledged == nil || known[acknowledged!]!.version < version { acknowledged = chain }
            checkDurable(version, chain, seed)
            world.say("closed after \(version)")
        }
    }

    /// Pages of versions that are certainly kept, by name, also in the next lives.
    private var keptPages: [String: Set<Int>] = [:]
    func keeps(_ name: String, _ version: UInt64?) { keptPages[name] = version.flatMap { trees[$0] } }
    func chain(of version: UInt64) -> UInt64? { official[version] }
    func content(ofChain chain: UInt64) -> Content? { known[chain]?.content }

    func pinned(_ process: Int, _ version: UInt64) { readers.append((process, version)) }
    func unpinned(_ process: Int, _ version: UInt64) {
        if let index = readers.firstIndex(where: { $0 == (process, version) }) { readers.remove(at: index) }
    }
    /// Snapshots that are being read.
    var pinCount: Int { readers.count }
    func didRead() { reads += 1 }
    /// The first reading of a process that has opened the store has found everything right.
    func didCompareOpened(_ database: Database) {
        if firstOpeners.remove(database.instance) != nil { crashStates += 1 }
    }

    // MARK: Oracle 1: at every acknowledgement

    private func checkDurable(_ version: UInt64, _ chain: UInt64, _ seed: UInt64) {
        guard let db, let logFile else { return }
        for meta in choosableMetas() {
            for range in metaExtents[key(meta)] ?? [] where !world.hasEvicted {
                if !db.isCertain(range) {
                    return fail(
                        """
                        P1: at ack of \(version): page \(range.lowerBound / 4096) of meta \(meta.version) is not \
                        durable
                        """
                    )
                }
            }
            if meta.version >= version { continue }
            let reader = OracleLog(seed: seed) { buffer, count, offset in
                logFile.copyDurable(into: buffer, count: count, at: offset)
            }
            guard let steps = reader.follow(meta, to: version), steps.last?.chain == chain else {
                return fail(
                    "P1: at ack of \(version): the log after meta \(meta.version) does not lead to it on the medium")
            }
            for step in steps {
                if step.isSummary { return fail("P1: at ack of \(version): a summary lies after meta \(meta.version)") }
                for range in step.ranges where !logFile.isCertain(range) {
                    return fail(
                        "P1: at ack of \(version): the record of version \(step.version) is not certain on the medium")
                }
            }
        }
    }

    /// Every meta that a recovery could take now.
    private func choosableMetas() -> [Meta] {
        guard let db else { return [] }
        var slots: [[Meta?]] = []
        for slot in 0..<2 {
            var found: [Meta?] = []
            db.choosable(slot * 4096..<(slot * 4096 + 512)) { bytes in
                let meta = Meta.decode(bytes.baseAddress!)
                if !found.contains(where: { $0 == meta }) { found.append(meta) }
            }
            slots.append(found)
        }
        var metas: [Meta] = []
        for a in slots[0] {
            for b in slots[1] {
                let best = [a, b].compactMap { $0 }.max { $0.generation < $1.generation }
                if let best, !metas.contains(best) { metas.append(best) }
            }
        }
        return metas
    }

    private func key(_ meta: Meta) -> UInt64 {
        meta.generation &* 0x9e37_79b9_7f4a_7c15 ^ meta.version ^ meta.freeMap.raw << 20 ^ meta.log.chain
    }

    // MARK: Oracle 2: at every write

    func willWrite(_ process: SimulatedProcess, _ file: DiskFile, _ bytes: UnsafeRawBufferPointer, at offset: Int) {
        if file === db { checkPages(file, bytes, offset) } else if file === logFile { checkLog(file, bytes, offset) }
    }

    private func checkPages(_ file: DiskFile, _ bytes: UnsafeRawBufferPointer, _ offset: Int) {
        for slot in 0..<2 where offset < slot * 4096 + Meta.size && offset + bytes.count > slot * 4096 {
            // As it will be after this write, which may be only a piece of it.
            let image = UnsafeMutableRawPointer.allocate(byteCount: Meta.size, alignment: 8)
            defer { image.deallocate() }
            image.copyMemory(from: file.visible + slot * 4096, byteCount: Meta.size)
            let from = max(offset, slot * 4096), to = min(offset + bytes.count, slot * 4096 + Meta.size)
            (image + (from - slot * 4096)).copyMemory(from: bytes.baseAddress! + (from - offset), byteCount: to - from)
            if let meta = Meta.decode(image) { note(meta) }
        }
        let changed = Set(file.changedSectors(bytes, at: offset).map { $0 * file.sectorBytes / 4096 }).filter { $0 > 2 }
        if changed.isEmpty { return }
        // A page that was lost and evicted meanwhile is mended by the right content, not overwritten.
        if world.hasEvicted { return }
        for meta in choosableMetas() {
            if let page = (metaPages[key(meta)] ?? []).first(where: changed.contains) {
                return fail(
                    "P4: page \(page) of the meta of version \(meta.version), which may be durable, is overwritten")
            }
        }
        for (name, pages) in keptPages {
            if let page = pages.first(where: changed.contains) {
                return fail("P11: page \(page) of the version kept as \(name) is overwritten")
            }
        }
        for reader in readers {
            if let page = trees[reader.version]?.first(where: changed.contains) {
                return fail("P2: page \(page) of the pinned version \(reader.version) is overwritten")
            }
        }
        if let shared = current, !shared.isPoisoned {
            var version = shared.published
            while version <= shared.head {
                if let page = trees[version]?.first(where: changed.contains) {
                    return fail(
                        """
                        P4: page \(page) of version \(version), PUBLISHED \(shared.published) … HEAD \(shared.head), \
                        is overwritten
                        """
                    )
                }
                version += 1
            }
        }
    }

    /// HEAD and PUBLISHED of the present life; nil before a database was opened.
    var current: (head: UInt64, published: UInt64, isPoisoned: Bool)? { database?.wordsForOracle }
    weak var database: Database?

    private func note(_ meta: Meta) {
        let name = key(meta)
        if metaPages[name] != nil { return }
        if known[meta.log.chain] == nil, let old = official[meta.version], let entry = known[old] {
            known[meta.log.chain] = Known(version: meta.version, parent: old, content: entry.content)
        }
        var set: Set<Int> = [], extents: [Range<Int>] = []
        do throws(StoreError) {
            try walk(meta.root, meta.hashSeed) { extent in
                for page in extent.unit / 8...(extent.unit + extent.units - 1) / 8 { set.insert(page) }
                extents.append(extent.unit * 512..<(extent.unit + extent.units) * 512)
            }
        } catch {
            if !world.hasEvicted { fail("P2: the tree of a meta that is being written is damaged: \(error.message)") }
        }
        if let db, meta.freeMap.offset + 32 <= db.size {
            let count = Int((db.visible + meta.freeMap.offset).load(fromByteOffset: 2, as: UInt16.self))
            for page in 0..<max(1, min(count, 64)) { set.insert(meta.freeMap.offset / 4096 + page) }
            let bytes = Int((db.visible + meta.freeMap.offset).load(fromByteOffset: 4, as: UInt32.self))
            extents.append(meta.freeMap.offset..<(meta.freeMap.offset + min(bytes, 64 * 4096)))
        }
        metaPages[name] = set
        metaExtents[name] = extents
    }

    private func checkLog(_ file: DiskFile, _ bytes: UnsafeRawBufferPointer, _ offset: Int) {
        // The record that is being written now, for later.
        defer {
            if let record = OracleLog.header(bytes) {
                records[record.chain] = (record.version, offset..<(offset + bytes.count))
            }
        }
        let changed = file.changedSectors(bytes, at: offset)
        if changed.isEmpty || world.hasEvicted { return }
        guard let current else { return }
        let metas = choosableMetas()
        for (chain, record) in records where official[record.version] == chain && record.version <= current.head {
            guard changed.contains(where: { record.range.contains($0 * file.sectorBytes) }) else { continue }
            for meta in metas where meta.version < record.version {
                return fail(
                    """
                    P4: the record of version \(record.version), after the meta of version \(meta.version), is \
                    overwritten
                    """
                )
            }
        }
    }

    // MARK: Other events

    func didLose(_ file: DiskFile) { losesData = true }

    /// A page that a process has checked, and that is then lost and evicted, comes back unchecked: no engine
    /// that maps its file can see that. What it can see, at a first touch, it must see.
    func didEvict(_ file: DiskFile) {
        let reading = Set(readers.map(\.process))
        for process in world.processes where reading.contains(process.id) { world.kill(process) }
        for (_, database) in databases { database.forgetChecks() }
    }

    /// By process; of those that live.
    var databases: [(process: Int, database: Database)] = []
    func didKill(_ process: SimulatedProcess) {
        readers.removeAll { $0.process == process.id }
        databases.removeAll { $0.process == process.id }
        pending[process.id] = nil
    }
    func didPowerCut(_ world: World) {
        losesData = true
        readers = []
        pending = [:]
        databases = []
        database = nil
    }

    // MARK: Helpers

    /// What was promised with a version: the last transaction in it. A checkpoint's record on top of that, or
    /// the start of an epoch, may be lost again.
    private func promised(_ chain: UInt64) -> UInt64 {
        var link = chain
        while let entry = known[link], entry.status == nil, let parent = entry.parent { link = parent }
        return link
    }

    private func isAncestor(_ chain: UInt64, of start: UInt64) -> Bool {
        var link: UInt64? = start
        while let current = link {
            if current == chain { return true }
            link = known[current]?.parent
        }
        return false
    }

    private func pages(of root: Ref, _ seed: UInt64) -> Set<Int> {
        var set: Set<Int> = []
        do throws(StoreError) {
            try walk(root, seed) { extent in
                for page in extent.unit / 8...(extent.unit + extent.units - 1) / 8 { set.insert(page) }
            }
        } catch {
            if !world.hasEvicted { fail("P2: a tree that is being published is damaged: \(error.message)") }
        }
        return set
    }

    private func walk(_ root: Ref, _ seed: UInt64, _ visit: (VisitedExtent) -> Void) throws(StoreError) {
        guard let db else { return }
        try OracleTree.forEachExtent(
            of: root, file: UnsafeRawPointer(db.visible), bytes: db.size, seed: seed, visit: visit)
    }
}

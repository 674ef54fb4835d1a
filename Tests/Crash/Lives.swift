import ObjStoreCore
import ObjStoreSimulation

/// The stores that had the path one after the other, each with an oracle of its own: a process that has an older one
/// open continues in it, and all that holds of a store holds of that one too, while any process lives that knows it.
///
/// ```
///  d/store  ─► store A     deleted     store B     a backup of A is put there     store C
///                 └── processes that have A open still read it, and get an error when they want to write
/// ```
final class Lives: EngineProbe, Oracle {
    private unowned let world: World
    private(set) var present: EngineOracle
    private var past: [EngineOracle] = []

    init(_ world: World) {
        self.world = world
        present = EngineOracle(world)
    }

    var all: [EngineOracle] { past + [present] }

    func of(_ database: Database) -> EngineOracle {
        guard let file = database.fileForOracle as? SimulatedFile else { return present }
        return past.first { $0.isAbout(file.diskFile) } ?? present
    }

    /// The file of this database can no longer be found.
    func isPast(_ database: Database) -> Bool { of(database) !== present }

    // MARK: What an outside program does

    /// A store that was closed, as `cp` copies it: its bytes, and what it contains.
    struct Backup {
        fileprivate let bytes: [UInt8]
        fileprivate let oracle: EngineOracle
        fileprivate let chain: UInt64
    }

    /// Nil where the store is not closed, a power cut could still change it, or nothing has changed since the last one.
    func backup(after last: Backup?) -> Backup? {
        guard let file = world.folders[EngineOracle.path], let chain = present.chainOfClosed, chain != last?.chain
        else { return nil }
        return Backup(
            bytes: [UInt8](UnsafeRawBufferPointer(start: file.visible, count: file.size)), oracle: present, chain: chain
        )
    }

    /// Another file, or none, gets the path; the log and the lock file stay where they are.
    ///
    /// - Parameter keepsName: the former one keeps a name, elsewhere.
    func replace(by backup: Backup?, keepsName: Bool) {
        guard let file = world.folders[EngineOracle.path] else { return }
        present.becomePast(file, log: world.folders[EngineOracle.path + "-log"])
        past.append(present)
        present = EngineOracle(world, from: backup.map { ($0.oracle, $0.chain) })
        world.replace(
            EngineOracle.path, by: backup?.bytes, aside: keepsName ? EngineOracle.path + "-moved-\(past.count)" : nil)
    }

    /// The log or the lock file goes.
    func deleteBeside(_ suffix: String) { world.replace(EngineOracle.path + suffix, by: nil) }

    // MARK: What the engine tells

    func didLoadAllocator(
        _ database: Database, version: UInt64, root: Ref, space: FreeSpace, freeMap: PageRun
    ) throws(StoreError) {
        try of(database).didLoadAllocator(database, version: version, root: root, space: space, freeMap: freeMap)
    }
    func willMoveHead(
        _ database: Database, version: UInt64, root: Ref, freeMap: PageRun, isCheckpoint: Bool, chain: UInt64
    ) {
        of(database).willMoveHead(
            database, version: version, root: root, freeMap: freeMap, isCheckpoint: isCheckpoint, chain: chain)
    }
    func willWriteRecord(
        _ database: Database, version: UInt64, chain: UInt64, previous: UInt64, continues: Bool, isSummary: Bool,
        keepsContent: Bool
    ) {
        of(database).willWriteRecord(
            database, version: version, chain: chain, previous: previous, continues: continues, isSummary: isSummary,
            keepsContent: keepsContent)
    }
    func didRecover(_ database: Database, chain: UInt64, newChain: UInt64, version: UInt64) throws(StoreError) {
        try of(database).didRecover(database, chain: chain, newChain: newChain, version: version)
    }
    func didStart(_ database: Database, version: UInt64, chain: UInt64, root: Ref) {
        of(database).didStart(database, version: version, chain: chain, root: root)
    }
    func didPoison(_ database: Database) { of(database).didPoison(database) }

    // MARK: What the machine tells

    private func of(_ file: DiskFile) -> EngineOracle { past.first { $0.isAbout(file) } ?? present }

    func willWrite(_ process: SimulatedProcess, _ file: DiskFile, _ bytes: UnsafeRawBufferPointer, at offset: Int) {
        of(file).willWrite(process, file, bytes, at: offset)
    }
    func didLose(_ file: DiskFile) { of(file).didLose(file) }
    func didEvict(_ file: DiskFile) { for oracle in all { oracle.didEvict(file) } }
    func didKill(_ process: SimulatedProcess) { for oracle in all { oracle.didKill(process) } }
    func didPowerCut(_ world: World) { for oracle in all { oracle.didPowerCut(world) } }
}

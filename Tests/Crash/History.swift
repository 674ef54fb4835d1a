import ObjStoreCore
import ObjStoreSimulation

/// One history: several processes open, write, read, check-point and close a store while the machine fails
/// around them; in the end nothing fails any more, and the store must open, be right and work.
final class History {
    let world: World
    let oracle: EngineOracle
    private let options: StoreOptions
    private var counter: Int64 = 0
    private var openProblem: String?
    /// Transactions that were committed after the last fault.
    private(set) var finalCommits = 0
    private(set) var unknownOutcomes = 0

    enum Kind: Int, CaseIterable { case synced, relaxed, group, big, checkpoint, many }

    static func storeOptions(_ tight: Bool) -> StoreOptions {
        var options = StoreOptions()
        options.hasBackgroundThread = false
        options.logBytes = tight ? 16384 : 32768
        options.logBytesLimit = 65536
        options.checkpointBytes = 1 << 20
        options.growthPages = 4
        options.shared = SharedState.Limits(ringEntries: tight ? 6 : 12, slots: 6, classes: 4)
        options.openTimeout = -1
        return options
    }

    init(_ choices: Choices, _ worldOptions: World.Options, seed: UInt64, tight: Bool) {
        world = World(choices, worldOptions, entropy: seed)
        oracle = EngineOracle(world)
        world.oracle = oracle
        options = History.storeOptions(tight)
    }

    // MARK: Processes

    /// Opens the store in a new process, checks what it finds, and goes on with `then`.
    @discardableResult
    func launch(_ then: @escaping (Database, SimulatedProcess) -> Void) -> SimulatedProcess {
        let process = world.startProcess()
        process.spawn("open") { [self] machine in
            do throws(StoreError) {
                let database = try Database.open(EngineOracle.path, options: options, machine: machine, probe: oracle)
                process.own(database)
                oracle.database = database
                oracle.databases.append((process.id, database))
                read(database, process)
                then(database, process)
            } catch {
                openProblem = error.message
                world.say("open failed: \(error)")
                if error.code == .corrupt || error.code == .notAStore || error.code == .needsLog || error.code == .internalError {
                    if !world.hasEvicted { world.fail("P1: open: \(error)") }
                }
            }
        }
        return process
    }

    /// A process with one or two writers, perhaps a reader and a checkpointer, by choice.
    func randomWork(_ database: Database, _ process: SimulatedProcess, profile: Int) {
        let kinds: [[Kind]] = [
            [.synced, .relaxed, .group, .big, .checkpoint, .synced, .relaxed, .many], [.synced, .relaxed, .group], [.big, .group, .checkpoint],
        ]
        for _ in 0...world.pick(.workload, 2) {
            let length = 1 + world.pick(.workload, profile == 1 ? 7 : 3)
            let plan = (0..<length).map { _ in kinds[profile][world.pick(.workload, kinds[profile].count)] }
            process.spawn("writer") { [self] _ in
                for kind in plan where !perform(kind, database, process) { return }
            }
        }
        if world.pick(.workload, 2) == 1 {
            let rounds = 1 + world.pick(.workload, 3)
            process.spawn("reader") { [self] _ in for _ in 0..<rounds { read(database, process) } }
        }
        if profile != 1, world.pick(.workload, 2) == 1 {
            process.spawn("checkpointer") { [self] _ in _ = perform(.checkpoint, database, process) }
        }
    }

    /// A process that has nothing more to do closes its store and ends.
    func closeQuietly(_ process: SimulatedProcess) {
        guard let database = oracle.databases.first(where: { $0.process == process.id })?.database else { return process.exit() }
        process.spawn("closer") { [self] _ in close(database, process) }
    }

    func close(_ database: Database, _ process: SimulatedProcess) {
        do throws(StoreError) { try database.close() } catch { world.say("close: \(error)") }
        process.disown(database)
        oracle.databases.removeAll { $0.process == process.id }
    }

    // MARK: Transactions

    /// False: this process can go on no further (poison).
    func perform(_ kind: Kind, _ database: Database, _ process: SimulatedProcess) -> Bool {
        for _ in 0..<4 {
            do throws(StoreError) {
                if kind == .checkpoint {
                    try database.checkpoint()
                } else {
                    try write(kind, database, process)
                }
                return true
            } catch {
                world.say("\(kind): \(error)")
                switch error.code {
                case .poisoned, .closedHandle: return false
                case .outcomeUnknown:
                    unknownOutcomes += 1
                    return true
                case .outOfSpace:
                    do throws(StoreError) { try database.checkpoint() } catch { world.say("checkpoint: \(error)") }
                case .io: continue
                case .corrupt:
                    if !world.hasEvicted { world.fail("P2: damaged without a fault: \(error)") }
                    return false
                case .tooManyReaders: return true
                default:
                    world.fail("unexpected error: \(error)")
                    return false
                }
            }
        }
        return true
    }

    private func write(_ kind: Kind, _ database: Database, _ process: SimulatedProcess) throws(StoreError) {
        var transaction = try WriteTransaction.begin(database)
        guard var content = oracle.content(of: database, version: transaction.baseVersion) else {
            world.fail("P1: HEAD \(transaction.baseVersion) is not a version of this life")
            return
        }
        if kind == .group {
            try change(transaction, &content, count: 1 + world.pick(.workload, 2))
            let box = EngineOracle.Box()
            oracle.pending[process.id] = (content, box)
            if world.pick(.workload, 6) == 1 { transaction.forceSummary() }
            do throws(StoreError) { transaction = try transaction.seal() } catch {
                box.status = .failed
                throw error
            }
        }
        try change(transaction, &content, count: kind == .many ? 20 : 1 + world.pick(.workload, 2))
        if kind == .big { transaction.forceSummary() }
        if world.pick(.workload, 12) == 1 && kind != .group {
            transaction.cancel()
            return
        }
        let box = EngineOracle.Box()
        oracle.pending[process.id] = (content, box)
        let isRelaxed = kind == .relaxed
        do throws(StoreError) {
            let version = try transaction.commit(isRelaxed ? .relaxed(milliseconds: 1000) : .full)
            box.status = .committed
            oracle.acknowledge(database, version, durable: !isRelaxed)
        } catch {
            box.status = error.code == .outcomeUnknown ? .unknown : .failed
            throw error
        }
    }

    private func change(_ transaction: WriteTransaction, _ content: inout Content, count: Int) throws(StoreError) {
        do throws(StoreError) {
            if transaction.schema.classes.isEmpty { try transaction.setSchema(History.schema) }
            let state = try transaction.state(0)
            for _ in 0..<count {
                counter += 1
                let id = Int64(world.pick(.workload, count > 2 ? 40 : 6))
                let text: String? = counter % 5 == 0 ? nil : String(repeating: "t\(counter) ", count: Int(counter % 7) * (counter % 11 == 0 ? 60 : 1))
                try apply(state, &content, id, Item(number: counter % 17, text: text), isDelete: world.pick(.workload, 5) == 1)
            }
        } catch {
            transaction.cancel()
            throw error
        }
    }

    private func apply(_ state: ClassState, _ content: inout Content, _ id: Int64, _ item: Item, isDelete: Bool) throws(StoreError) {
        let key = try state.find(primaryKey: .int(id))
        guard (key != nil) == (content[id] != nil) else {
            // A page that was checked, then lost by a failed write-back and evicted, may be read as it was before.
            if world.hasEvicted { throw StoreError(.corrupt, "stale content after an eviction") }
            return world.fail("P2: object \(id) is \(key == nil ? "missing" : "there") in a transaction, expected \(String(describing: content[id]))")
        }
        if let key, isDelete {
            try state.delete(key)
            content[id] = nil
            return
        }
        var bytes = item.text ?? ""
        let text: Value = item.text == nil ? .null : bytes.withUTF8 { .string(copy($0), $0.count) }
        if let key {
            try state.update(key, 1, .int(item.number))
            try state.update(key, 2, text)
        } else {
            let values: [Value] = [.int(id), .int(item.number), text]
            let pointer = UnsafeMutablePointer<Value>.allocate(capacity: 3)
            defer { pointer.deallocate() }
            for (index, value) in values.enumerated() { (pointer + index).initialize(to: value) }
            _ = try state.create(pointer)
        }
        content[id] = item
    }

    /// Small, and few: freed with the process.
    private func copy(_ bytes: UnsafeBufferPointer<UInt8>) -> UnsafeRawPointer? {
        let target = UnsafeMutableRawPointer.allocate(byteCount: max(1, bytes.count), alignment: 1)
        if bytes.count > 0 { target.copyMemory(from: bytes.baseAddress!, byteCount: bytes.count) }
        leaked.append(target)
        return UnsafeRawPointer(target)
    }
    private var leaked: [UnsafeMutableRawPointer] = []
    deinit { for pointer in leaked { pointer.deallocate() } }

    static let schema = Schema(
        classes: [
            ClassSchema(
                name: "Item", id: 0,
                properties: [
                    PropertySchema(name: "id", kind: .int, columnID: 0, isPrimaryKey: true),
                    PropertySchema(name: "number", kind: .int, columnID: 1, isIndexed: true),
                    PropertySchema(name: "text", kind: .string, columnID: 2, isNullable: true),
                ], nextColumnID: 3)
        ], version: 1)

    // MARK: Reading

    /// Pins a version and compares everything, slowly, with what it should contain.
    func read(_ database: Database, _ process: SimulatedProcess) {
        do throws(StoreError) {
            let snapshot = try database.snapshot()
            oracle.pinned(process.id, snapshot.version)
            defer { oracle.unpinned(process.id, snapshot.version) }
            guard let expected = oracle.content(of: database, version: snapshot.version) else {
                return world.fail("P2: version \(snapshot.version) was read, which no transaction of this life made")
            }
            var found: Content = [:]
            if !snapshot.schema.classes.isEmpty {
                try snapshot.forEachObject(0) { (_, values) throws(StoreError) in
                    let text = values[2].isNull ? nil : String(decoding: UnsafeRawBufferPointer(start: values[2].pointer, count: values[2].count), as: UTF8.self)
                    found[values[0].low] = Item(number: values[1].low, text: text)
                    if InjectedBug.active(.forkRelease) && world.pick(.workload, 4) == 1 { database.releasePinsAsForkedChildWould() }
                    if InjectedBug.active(.slotMove) { database.movePin(snapshot.version) }
                    world.pause()
                }
            }
            if found != expected && !world.hasEvicted {
                world.fail("P2: version \(snapshot.version) is read as \(found.sorted { $0.key < $1.key }), not \(expected.sorted { $0.key < $1.key })")
            }
            let findings = Verifier.findings(snapshot) { self.world.pause() }
            if let first = findings.first, !world.hasEvicted { world.fail("P2: version \(snapshot.version): \(first)") }
            oracle.didRead()
        } catch {
            if error.code == .corrupt && !world.hasEvicted { world.fail("P2: a reader meets a foreign page: \(error)") }
        }
    }

    // MARK: The end

    /// Everybody comes to an end without faults; perhaps the power is cut once more; then the store must open,
    /// be right, take commits and give space back.
    func finish(cut: Bool) {
        world.drain(limit: 400_000)
        if world.violation != nil { return }
        for process in world.processes { world.kill(process) }
        if cut { world.powerCut() }
        var works = false
        for _ in 0..<4 where !works && world.violation == nil {
            openProblem = nil
            launch { [self] database, process in
                for _ in 0..<4 {
                    let before = oracle.acknowledgements
                    guard perform(.synced, database, process) else { return }
                    finalCommits += oracle.acknowledgements - before
                    do throws(StoreError) { try database.checkpoint() } catch {
                        if error.code != .poisoned && error.code != .outcomeUnknown { world.fail("P6: a fresh store cannot make a checkpoint: \(error)") }
                        return
                    }
                }
                read(database, process)
                close(database, process)
                works = true
            }
            world.drain(limit: 400_000)
            for process in world.processes { world.kill(process) }
        }
        if !works && world.violation == nil { world.fail("P1: the store cannot be used any more: \(openProblem ?? "no commit")") }
    }
}

import ObjStoreCore
import ObjStoreSimulation

/// One history: several processes open, write, read, check-point and close a store while the machine fails
/// around them; in the end nothing fails any more, and the store must open, be right and work.
final class History {
    let world: World
    let lives: Lives
    /// Of the store that has the path.
    var oracle: EngineOracle { lives.present }
    private let options: StoreOptions
    private var counter: Int64 = 0
    private var openProblem: String?
    /// The last relaxed commit of each process.
    private var relaxed: [Int: UInt64] = [:]
    /// Transactions that were committed after the last fault.
    private(set) var finalCommits = 0
    private(set) var unknownOutcomes = 0
    /// What should be kept by names; nil: nobody keeps anything.
    var kept: KeptModel?

    /// `addClass` changes the schema, `columns` inserts from columns, `scattered` frees more extents than the log
    /// has room for. `unchanged`, `unchangedRelaxed` and `cancelled` leave nothing. `close` is the last thing that a
    /// process does.
    enum Kind: Int, CaseIterable {
        case synced, relaxed, group, big, checkpoint, many, addClass, columns, scattered, close, compact, unchanged,
            unchangedRelaxed, cancelled
    }
    private let scatteredCount = 900

    /// - Parameter background: checkpoints and late syncs happen by themselves, soon in the world's time.
    static func storeOptions(_ tight: Bool, background: Bool = false) -> StoreOptions {
        var options = StoreOptions()
        options.hasBackgroundThread = background
        options.checkpointIdle = 300_000
        options.logBytes = tight ? 16384 : 32768
        options.logBytesLimit = 65536
        options.checkpointBytes = 1 << 20
        options.growthPages = 4
        options.cutPages = 6
        options.shared = SharedState.Limits(ringEntries: tight ? 6 : 12, slots: 6, classes: 4)
        options.openTimeout = -1
        options.shortestMove = -1
        return options
    }

    init(_ choices: Choices, _ worldOptions: World.Options, seed: UInt64, options: StoreOptions) {
        world = World(choices, worldOptions, entropy: seed)
        lives = Lives(world)
        world.oracle = lives
        self.options = options
    }

    // MARK: Processes

    /// Opens the store in a new process, checks what it finds, and continues with `then`.
    @discardableResult
    func launch(
        options: StoreOptions? = nil, _ then: @escaping (Database, SimulatedProcess) -> Void
    ) -> SimulatedProcess {
        let process = world.startProcess()
        let options = options ?? self.options
        process.spawn("open") { [self] machine in
            do throws(StoreError) {
                let database = try Database.open(EngineOracle.path, options: options, machine: machine, probe: lives)
                process.own(database)
                let oracle = lives.of(database)
                oracle.database = database
                oracle.databases.append((process.id, database))
                if read(database, process) { oracle.didCompareOpened(database) }
                checkKept(database, process)
                then(database, process)
            } catch {
                openProblem = error.message
                world.say("open failed: \(error)")
                if error.code == .corrupt || error.code == .notAStore || error.code == .needsLog
                    || error.code == .internalError
                {
                    if !world.hasEvicted { world.fail("P1: open: \(error)") }
                }
            }
        }
        return process
    }

    /// A process with one or two writers, perhaps a reader and a checkpointer, by choice.
    func randomWork(_ database: Database, _ process: SimulatedProcess, profile: Int) {
        let kinds: [[Kind]] = [
            [.synced, .relaxed, .group, .big, .checkpoint, .synced, .relaxed, .many, .addClass, .columns],
            [.synced, .relaxed, .group], [.big, .group, .checkpoint],
        ]
        for _ in 0...world.pick(.workload, 2) {
            let length = 1 + world.pick(.workload, profile == 1 ? 7 : 3)
            var plan = (0..<length).map { _ in kinds[profile][world.pick(.workload, kinds[profile].count)] }
            // Slow, so seldom.
            if profile == 0 && world.pick(.workload, 60) == 1 { plan += [.scattered, .scattered] }
            // Not by a choice of its own, so that the histories of old seeds stay what they were.
            if profile == 0 && plan.count % 3 == 2 { plan.insert(.compact, at: plan.count / 2) }
            if plan.count % 4 != 0 {
                plan.insert([.unchanged, .unchangedRelaxed, .cancelled][plan.count % 3], at: plan.count - 1)
            }
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
        let open = lives.all.flatMap(\.databases)
        guard let database = open.first(where: { $0.process == process.id })?.database else { return process.exit() }
        process.spawn("closer") { [self] _ in close(database, process) }
    }

    func close(_ database: Database, _ process: SimulatedProcess) {
        let oracle = lives.of(database)
        let seed = database.seedForOracle
        do throws(StoreError) {
            try database.close()
            if let version = relaxed[process.id] { oracle.closed(seed, version) }
        } catch {
            world.say("close: \(error)")
        }
        process.disown(database)
        oracle.databases.removeAll { $0.process == process.id }
    }

    // MARK: Transactions

    /// False: this process cannot continue (poison).
    func perform(_ kind: Kind, _ database: Database, _ process: SimulatedProcess) -> Bool {
        for _ in 0..<4 {
            do throws(StoreError) {
                if kind == .close {
                    close(database, process)
                    return false
                } else if kind == .checkpoint {
                    try database.checkpoint()
                } else if kind == .compact {
                    try database.compact(timeout: -1) { _, _ in }
                } else {
                    try write(kind, database, process)
                }
                return true
            } catch {
                world.say("\(kind): \(error)")
                switch error.code {
                case .poisoned, .closedHandle: return false
                case .replaced where lives.isPast(database): return false
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
                // A page that was checked, then lost by a failed write-back and evicted, is as it was before: the
                // object is not in it.
                case .noSuchObject where world.hasEvicted: return false
                default:
                    world.fail("unexpected error: \(error)")
                    return false
                }
            }
        }
        return true
    }

    private func write(_ kind: Kind, _ database: Database, _ process: SimulatedProcess) throws(StoreError) {
        let leavesNothing: Set<Kind> = [.unchanged, .unchangedRelaxed]
        let members = (0..<(kind == .group ? 2 : 1)).map { _ in leavesNothing.contains(kind) ? [] : edits(kind) }
        // One member of a group may be a summary; a big one always is.
        let summary = kind == .big ? 0 : kind == .group && world.pick(.workload, 6) == 1 ? 0 : nil
        let cancels = kind == .cancelled || kind != .group && world.pick(.workload, 12) == 1
        let isRelaxed = kind == .relaxed || kind == .unchangedRelaxed
        try transact(
            members, isRelaxed ? .relaxed(milliseconds: 1) : .full, summary: summary, cancels: cancels, database,
            process)
    }

    func edits(_ kind: Kind) -> [Edit] {
        switch kind {
        case .columns:
            // With many the log keeps only a summary.
            let count = [20, 300][world.pick(.workload, 2)]
            counter += 1
            // Some of them are changed at once: a known text, a new one, none.
            let first = 1000 * counter
            return [
                .columns(first: first, count: count),
                .put(Name(id: first + 3), Item(number: 1, text: String(decoding: Editor.few(2), as: UTF8.self))),
                .put(Name(id: first + 5), Item(number: 2, text: "another \(counter)")), .delete(Name(id: first + 6)),
                .put(Name(id: first + 7), Item(number: 3, text: nil)),
                .together(atOnce, cls: 0, ids: Array(first..<first + Int64(count))),
            ]
        case .scattered:
            return [.scattered(first: 1_000_000_000, count: scatteredCount)]
        default:
            var edits: [Edit] = kind == .addClass ? [.addClass] : []
            let range = kind == .many ? 40 : 6
            for _ in 0..<(kind == .many ? 20 : 1 + world.pick(.workload, 2)) {
                counter += 1
                let name = Name(cls: world.pick(.workload, 3) == 1 ? 1 : 0, id: Int64(world.pick(.workload, range)))
                let text: String? =
                    counter % 5 == 0
                    ? nil : String(repeating: "t\(counter) ", count: Int(counter % 7) * (counter % 11 == 0 ? 60 : 1))
                edits.append(
                    world.pick(.workload, 5) == 1 ? .delete(name) : .put(name, Item(number: counter % 17, text: text)))
            }
            // Seldom, and not by a choice of its own: one of those that came from columns.
            if counter % 5 == 3, counter > 12 {
                let id = 1000 * (counter - counter % 10) + counter % 40
                edits.append(
                    .put(
                        Name(id: id),
                        Item(
                            number: counter % 17,
                            text: counter % 2 == 0
                                ? String(decoding: Editor.few(Int(counter)), as: UTF8.self) : "t\(counter)")))
            }
            // Now and then several at once, and seldom all.
            if counter % 6 == 2 {
                edits.append(.together(atOnce, cls: Int(counter / 6 % 2), ids: Array(0..<Int64(range))))
            }
            if counter % 97 == 60 { edits.append(.clear) }
            // Seldom, and not by a choice of its own.
            if counter % 8 == 5 { edits.insert(.exchange, at: 0) }
            // Now and then a savepoint before the last of them, with another inside: both kept, or one, or none.
            if counter % 7 < 3 {
                let names = (0..<3).map { Name(cls: Int(counter + $0) % 2, id: (counter + $0) % Int64(range)) }
                let inner = Edit.scope(
                    [.delete(names[1]), .put(names[2], Item(number: counter, text: "inner"))], undone: counter % 3 == 0)
                edits.insert(
                    .scope(
                        [.put(names[0], Item(number: counter, text: nil)), inner, .delete(names[0])],
                        undone: counter % 7 == 1), at: edits.count - 1)
            }
            return edits
        }
    }

    /// Another one each time, not by a choice of its own.
    private var atOnce: Together {
        switch counter / 2 % 5 {
        case 0: .changed(counter % 3 == 0 ? nil : "all \(counter)", friend: counter)
        case 1, 4: .rewritten(number: counter % 5)
        case 2: .refused
        default: .deleted
        }
    }

    /// A transaction, or a group of several, with everything that the oracle must know of it.
    ///
    /// - Parameter summary: the member that cannot be replayed.
    func transact(
        _ members: [[Edit]], _ durability: StoreOptions.Durability = .full, summary: Int? = nil, cancels: Bool = false,
        _ database: Database, _ process: SimulatedProcess
    ) throws(StoreError) {
        let oracle = lives.of(database), wasPast = lives.isPast(database)
        var transaction = try WriteTransaction.begin(database)
        if wasPast { return world.fail("P10: a transaction begins in a store that nobody will ever find") }
        let seen = transaction.baseVersion
        guard var content = oracle.content(of: database, version: seen) else {
            return world.fail("P1: HEAD \(seen) is not a version of this life")
        }
        func cancel(because error: StoreError) -> StoreError {
            let error = transaction.cancel(because: error, durability)
            if error.code != .outcomeUnknown { oracle.endedWithoutChange(database, seen, durable: durability == .full) }
            return error
        }
        for (index, edits) in members.enumerated() {
            var editor = Editor(transaction, content)
            do throws(StoreError) { try editor.apply(edits) } catch { throw cancel(because: error) }
            if let mismatch = editor.mismatch {
                transaction.abandon()
                // A page that was checked, then lost by a failed write-back and evicted, may be read as it was before.
                if world.hasEvicted { throw StoreError(.corrupt, "stale content after an eviction") }
                return world.fail("P2: \(mismatch)")
            }
            content = editor.content
            if index == summary { transaction.forceSummary() }
            if cancels {
                try transaction.cancel(durability)
                return oracle.endedWithoutChange(database, seen, durable: durability == .full)
            }
            let box = EngineOracle.Box()
            oracle.pending[process.id] = (content, box)
            let isPast = lives.isPast(database)
            do throws(StoreError) {
                if index < members.count - 1 {
                    transaction = try transaction.seal()
                } else {
                    let version = try transaction.commit(durability)
                    if isPast && version != seen {
                        return world.fail("P10: version \(version) is committed to a store that nobody will ever find")
                    }
                    if version == seen {
                        return oracle.endedWithoutChange(database, seen, durable: durability == .full)
                    }
                    box.status = .committed
                    oracle.acknowledge(database, version, durable: durability == .full)
                    // Without a thread no one owes it a sync.
                    if case .relaxed = durability, options.hasBackgroundThread { relaxed[process.id] = version }
                }
            } catch {
                box.status = error.code == .outcomeUnknown ? .unknown : .failed
                if index == members.count - 1, error.code != .outcomeUnknown {
                    oracle.endedWithoutChange(database, seen, durable: durability == .full)
                }
                throw error
            }
        }
    }

    // MARK: Reading

    /// Pins a version and compares everything, slowly, with what it should contain.
    ///
    /// - Parameter isFirstTouch: this process has looked at nothing yet, so it must see damage even where lost
    ///   pages were evicted.
    /// - Returns: whether it was compared, and right.
    @discardableResult
    func read(_ database: Database, _ process: SimulatedProcess, isFirstTouch: Bool = false) -> Bool {
        do throws(StoreError) {
            let oracle = lives.of(database)
            let seen = oracle.seen
            let snapshot = try database.snapshot()
            if snapshot.version < seen {
                return fail("P9: version \(snapshot.version) is read after somebody has seen \(seen)")
            }
            oracle.didSee(snapshot.version)
            oracle.pinned(process.id, snapshot.version)
            defer { oracle.unpinned(process.id, snapshot.version) }
            guard let expected = oracle.content(of: database, version: snapshot.version) else {
                return fail("P2: version \(snapshot.version) was read, which no transaction of this life made")
            }
            if oracle.isInsideGroup(snapshot.version) {
                return fail("P5: version \(snapshot.version) is read, which is half of a group")
            }
            let found = try contentFound(database, snapshot)
            let sees = isFirstTouch || !world.hasEvicted
            if found != expected && sees {
                return fail("P2: version \(snapshot.version) is read wrong: \(difference(found, expected))")
            }
            var visited = 0
            let findings = Verifier.findings(snapshot) {
                visited += 1
                self.pauseSometimes(visited)
            }
            if let first = findings.first, sees && !(world.hasEvicted && first.contains("damaged")) {
                return fail("P2: version \(snapshot.version): \(first)")
            }
            oracle.didRead()
            return sees
        } catch {
            if error.code == .corrupt && !world.hasEvicted { world.fail("P2: a reader meets a foreign page: \(error)") }
            return false
        }
    }

    /// All that is in a version, slowly.
    func contentFound(_ database: Database, _ snapshot: Snapshot) throws(StoreError) -> Content {
        var found: Content = [:], ids: [Int64: Int64] = [:], links: [(name: Name, key: Int64)] = [],
            pals: [(name: Name, keys: [Int64?])] = []
        for cls in snapshot.schema.classes.indices {
            try snapshot.forEachObject(cls) { (key, values) throws(StoreError) in
                let text =
                    values[2].isNull
                    ? nil
                    : String(
                        decoding: UnsafeRawBufferPointer(start: values[2].pointer, count: values[2].count),
                        as: UTF8.self)
                found[Name(cls: cls, id: values[0].low)] = Item(
                    number: values[1].low,
                    text: try Derived.fit(snapshot, cls, key, values)
                        ? text : "mark, price or trail of another number")
                if cls == 0 { ids[key] = values[0].low }
                if values.count > 6, !values[6].isNull {
                    links.append((Name(cls: cls, id: values[0].low), values[6].low))
                }
                if values.count > 7 {
                    var keys: [Int64?] = []
                    try snapshot.elements(cls, 7, of: key, values[7]).forEach { (_, value) throws(StoreError) in
                        keys.append(value.isNull ? nil : value.low)
                        return true
                    }
                    if !keys.isEmpty { pals.append((Name(cls: cls, id: values[0].low), keys)) }
                }
                if InjectedBug.active(.forkRelease) && world.pick(.workload, 4) == 1 {
                    database.releasePinsAsForkedChildWould()
                }
                if InjectedBug.active(.slotMove) { database.movePin(snapshot.version) }
                pauseSometimes(found.count)
            }
        }
        for (name, key) in links { found[name]!.friend = ids[key] ?? -1 }
        for (name, keys) in pals { found[name]!.pals = keys.map { $0.map { ids[$0] ?? -1 } } }
        return found
    }

    private func fail(_ text: String) -> Bool {
        world.fail(text)
        return false
    }

    /// Others run between two objects; not so often where there are many.
    private func pauseSometimes(_ objects: Int) { if objects < 64 || objects % 64 == 0 { world.pause() } }

    func difference(_ found: Content, _ expected: Content) -> String {
        let names = Set(found.keys).union(expected.keys).filter { found[$0] != expected[$0] }.sorted()
        let shown = names.prefix(3).map {
            "\($0) is \(found[$0].map { "\($0)" } ?? "missing"), not \(expected[$0].map { "\($0)" } ?? "missing")"
        }
        return "\(names.count) of \(expected.count) objects: \(shown.joined(separator: "; "))"
    }

    // MARK: An outside program

    /// Over all stores that had the path.
    func sum(_ count: KeyPath<EngineOracle, Int>) -> Int { lives.all.reduce(0) { $0 + $1[keyPath: count] } }

    private var backups: [Lives.Backup] = []

    /// Keeps a copy, where the store is closed.
    func keepBackup() {
        if backups.count < 3, let backup = lives.backup(after: backups.last) { backups.append(backup) }
    }

    /// Deletes the store, alone or with what is next to it, or moves it away, or puts a backup in its place, even while
    /// it is open.
    func replace(_ choice: Int) {
        let backup = choice % 3 == 0 ? nil : backups.isEmpty ? nil : backups[choice % backups.count]
        // What is moved away still takes its room on the disk.
        lives.replace(by: backup, keepsName: choice % 7 < 3 && world.capacity == 0)
        if choice % 4 == 1 { lives.deleteBeside("-log") }
        if choice % 5 == 1 { lives.deleteBeside("-lock") }
    }

    // MARK: The end

    /// All processes end without faults; perhaps the power is cut once more; then the store must open,
    /// be right, take commits and free space.
    func finish(cut: Bool, limit: Int = 400_000) {
        world.drain(limit: limit)
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
                        if error.code != .poisoned && error.code != .outcomeUnknown {
                            world.fail("P6: a fresh store cannot make a checkpoint: \(error)")
                        }
                        return
                    }
                }
                read(database, process)
                checkKept(database, process)
                close(database, process)
                works = true
            }
            world.drain(limit: limit)
            for process in world.processes { world.kill(process) }
        }
        if !works && world.violation == nil {
            world.fail("P1: the store cannot be used any more: \(openProblem ?? "no commit")")
        }
    }
}

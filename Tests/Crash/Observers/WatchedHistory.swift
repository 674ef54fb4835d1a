import ObjStoreCore
import ObjStoreSimulation

/// Random histories of observers of one store that several processes write to: each commit comes from one of them, and
/// the observers of all of them are told of it, or of many at once, whenever they are served.
///
/// ```
///  P1  ──commit──────────────deliver──────────── commit, silent ──────deliver──►     dies with all
///  P2  ─────────commit ✗ in the middle
///  P3                 opens ── newer schema ─────────── commit ── closes
///  P4                                  checkpoint, a log that has come round ──►
///  P5                                          all have closed it, or died ── opens ── since what was written down ──►
/// ```
/// On the simulated machine, so that a seed is the same history each time; it fails only as the history wants it.
final class WatchedHistory {
    typealias Editor = WatchedEditor

    /// A process that has the store open.
    final class Actor {
        let number: Int
        let process: SimulatedProcess
        var store: Store!
        var readers: [WatchedReader] = []

        init(_ number: Int, _ process: SimulatedProcess) { (self.number, self.process) = (number, process) }
    }

    /// A transaction whose process died: whether it is there the next one finds out.
    struct Pending {
        let turn: Int64
        let commit: WatchedPast.Commit
    }

    let world: World
    let random: WatchedEditor.RandomSource
    var past = WatchedPast()
    var actors: [Actor] = []
    var pending: Pending?
    /// Their handlers may be running.
    private var closing: [WatchedReader] = []
    /// What a transaction would be that is just being committed.
    var inFlight: Pending?
    private(set) var violation: String?
    var turn: Int64 = 0
    private var processes = 0
    var readerNumbers = 0
    /// What programs have written down.
    var notes: [WatchedNote] = []
    /// What is certainly kept by names; of uncertain ones a process died over it.
    var kept: [String: Bookmark] = [:]
    var uncertain: Set<String> = []
    /// Who stays behind farther than some versions begins anew.
    let mayLose: Bool
    var counts = WatchedCounts()
    private var steps = 0

    init(seed: UInt64) {
        var profile = Profile()
        profile.spuriousChance = 0
        var options = World.Options()
        options.addressSpace = 1 << 31
        world = World(Choices(seed: seed, profile: profile), options, entropy: seed)
        world.faults = false
        random = WatchedEditor.RandomSource(seed: seed &* 31 &+ 7)
        mayLose = seed % 4 == 0
    }

    func fail(_ what: String) { if violation == nil { violation = what } }

    /// With `--trace`.
    func say(_ what: @autoclosure () -> String) { if Stage.traces { print("    \(what())") } }

    // MARK: Running

    /// Something that a process does, to its end; or only so many steps of it: then the process dies. False: it died.
    @discardableResult
    func perform(
        _ actor: Actor, steps most: Int = .max, _ body: @escaping () throws(StoreError) -> Void
    ) throws(StoreError) -> Bool {
        var outcome: Result<Void, StoreError>?
        actor.process.spawn("deed") { _ in outcome = Result(catching: { () throws(StoreError) in try body() }) }
        var count = 0
        while outcome == nil, count < most {
            count += 1
            if !world.step() || count > 5_000_000 {
                fail("standstill: \(world.violation ?? world.tasksForReports)")
                return true
            }
        }
        steps = count
        if let outcome {
            try outcome.get()
            return true
        }
        die(actor)
        return false
    }

    private func die(_ actor: Actor) {
        counts.deaths += 1
        world.kill(actor.process)
        // None of its code runs any more, not even to free what it had.
        _ = Unmanaged.passRetained(actor)
        actors.removeAll { $0 === actor }
        if let inFlight { pending = inFlight }
        inFlight = nil
    }

    // MARK: Processes

    func configuration() throws(StoreError) -> StoreConfiguration {
        var configuration = StoreConfiguration()
        configuration.place = .file("d/store")
        configuration.durability = random.chance(0.6) ? .relaxed(milliseconds: 50) : .full
        try configuration.set(.logBytes, 1 << 20)
        if mayLose { try configuration.set(.observerLag, 6) }
        return configuration
    }

    func startActor() -> Actor {
        processes += 1
        return Actor(processes, world.startProcess())
    }

    func open(_ actor: Actor, with schema: WatchedSchema? = nil) throws(StoreError) {
        try perform(actor) { [self] () throws(StoreError) in
            var configuration = try configuration()
            if let schema {
                configuration.schema = try schema.draft()
                configuration.schemaVersion = schema.version
            }
            actor.store = try Store.open(configuration, machine: actor.process.machine)
        }
        actors.append(actor)
    }

    func close(_ actor: Actor) throws(StoreError) {
        try perform(actor) { () throws(StoreError) in
            for reader in actor.readers { reader.observer?.close() }
            try actor.store.close()
        }
        actors.removeAll { $0 === actor }
        world.kill(actor.process)
    }

    // MARK: The course

    func run(steps: Int) throws(StoreError) -> String? {
        let content = WatchedContent(), maker = startActor(), first = startActor()
        past.append(WatchedPast.Commit(version: 0, content: content, actor: 0))
        try open(maker, with: content.schema)
        try close(maker)
        // Without a schema: it is not refused whatever becomes of that.
        try open(first)
        for _ in 0..<4 { try write(first, silencing: []) }
        for kind in WatchedKind.all where random.chance(0.35) {
            try observe(kind, first)
            // Those who ask the same have one answer in common.
            if random.chance(0.2) { try observe(kind, first) }
        }
        for _ in 0..<steps where violation == nil { try step() }
        for actor in actors where violation == nil {
            try pass(WatchedHistory.longest, actor)
            try deliver(actor, resumingAll: true)
        }
        if violation == nil { try compareContent() }
        if violation == nil { for actor in actors { try close(actor) } }
        return violation
    }

    func end() {
        for process in world.processes { world.kill(process) }
        SharedStore.forgetAll()
        world.end()
    }

    private func step() throws(StoreError) {
        let actor = actors[random.below(actors.count)], what = random.below(112)
        say("P\(actor.number) does \(what)")
        switch what {
        case 0...54: try write(actor, silencing: random.chance(0.3) ? silenceable(actor) : [])
        case 55...79: try deliver(actor)
        case 80...82: if actors.count < 3 { try join() }
        case 83: if actor !== actors[0] { try close(actor) }
        case 84...86: if actor !== actors[0] { try dieWriting(actor) }
        case 87...89: try changeSchema(by: random.chance(0.4) ? actor : nil)
        case 90...91: try perform(actor) { () throws(StoreError) in try actor.store.checkpoint() }
        case 92: if random.chance(0.3) { try lapTheLog(actor) }
        case 93...95: try endOneAndBegin(actor)
        case 96: if random.chance(0.5) { try observeFound(actor) }
        case 97...98: try rest(actor)
        case 99...108: try comeAndGo(actor)
        case 109: if random.chance(0.5) { try reopen() }
        default: try pause(actor)
        }
    }

    private func join() throws(StoreError) {
        let actor = startActor()
        try open(actor)
        for kind in WatchedKind.all where random.chance(0.11) { try observe(kind, actor) }
    }

    private func pause(_ actor: Actor) throws(StoreError) {
        guard let reader = random.one(of: actor.readers) else { return }
        reader.isPaused.toggle()
        try perform(actor) { () throws(StoreError) in
            if reader.isPaused { reader.observer!.pause() } else { reader.observer!.resume() }
        }
    }

    private func endOneAndBegin(_ actor: Actor) throws(StoreError) {
        if let reader = random.one(of: actor.readers) {
            actor.readers.removeAll { $0 === reader }
            try perform(actor) { () throws(StoreError) in reader.observer!.close() }
        }
        // Those whose end was told give way to others.
        for reader in actor.readers where reader.isEnded && random.chance(0.5) {
            actor.readers.removeAll { $0 === reader }
            try perform(actor) { () throws(StoreError) in reader.observer!.close() }
            try observe(reader.kind, actor)
        }
        if let kind = random.one(of: WatchedKind.all) { try observe(kind, actor) }
    }

    private func silenceable(_ actor: Actor) -> [WatchedReader] {
        actor.readers.filter { !$0.isEnded && !$0.wantsInitial && !$0.isReturning && random.chance(0.25) }
    }

    // MARK: Delivery

    func deliver(_ actor: Actor, resumingAll: Bool = false) throws(StoreError) {
        try perform(actor) { [self] () throws(StoreError) in
            for reader in actor.readers where reader.isPaused && (resumingAll || random.chance(0.3)) {
                reader.isPaused = false
                reader.observer!.resume()
            }
            for reader in actor.readers { reader.refuses = random.chance(0.1) }
            let view = try actor.store.openView()
            try settle(view)
            let start = try deliverAll(actor)
            _ = try view.refresh()
            let version = try view.version()
            view.close()
            for reader in actor.readers where !reader.isPaused && reader.rests.atMost <= start && violation == nil {
                if reader.wantsInitial { fail("missed: \(reader.name) is not told that it begins") }
                if reader.mustBeLost { fail("lost: \(reader.name) is not told that it begins anew") }
                (reader.isReturning, reader.mayBeLost) = (false, false)
                if reader.known >= version { continue }
                let step = past.step(from: reader.known, to: version, of: reader)
                if let problem = reader.miss(step) { fail(problem) }
                reader.known = version
            }
            counts.deliveries += 1
        }
        let known = actors.flatMap { $0.readers.map(\.known) } + notes.map(\.bookmark.version)
        let oldest = known.min() ?? past.newestVersion
        past.forget(before: min(oldest, past.newestVersion))
        if violation == nil, random.chance(0.1) { try compareContent() }
    }

    func take(_ changes: ChangeSet, _ reader: WatchedReader, _ actor: Actor) {
        if world.now < reader.rests.atLeast {
            fail("interval: \(reader.name) is told \(reader.rests.atLeast - world.now) ns too soon")
        }
        defer { if reader.interval > 0 { reader.rests = (world.now + reader.interval, .max) } }
        if reader.refuses {
            reader.refuses = false
            changes.isUntold = true
            return
        }
        counts.note(changes)
        if reader.interval > 0 { counts.rested += 1 }
        if reader.isPaused { fail("told: \(reader.name) is paused") }
        if changes.isInitial != reader.wantsInitial { return fail("told: \(reader.name) that it begins") }
        if changes.isInitial || changes.isLost {
            if changes.isLost && !mayLose && !reader.mayBeLost { fail("told: \(reader.name) is lost") }
            if !changes.changes.isEmpty { fail("told: \(reader.name) of changes when it begins") }
            reader.wantsInitial = false
            (reader.isReturning, reader.mayBeLost, reader.mustBeLost) = (false, false, false)
            let content = past.content(at: changes.toVersion)
            reader.begin(content, at: changes.toVersion)
            reader.isEnded = reader.isEnded || !reader.exists(in: content)
            if changes.isOwnerDeleted != !reader.exists(in: content) {
                fail("owner: \(reader.name) begins: \(changes.isOwnerDeleted)")
            }
            return
        }
        if reader.mustBeLost { return fail("lost: \(reader.name) is not told that it begins anew") }
        if reader.isReturning { counts.returned += 1 }
        (reader.isReturning, reader.mayBeLost) = (false, false)
        if changes.fromVersion < reader.toldVersion {
            return fail(
                "twice: \(reader.name) knows version \(reader.toldVersion), and is told from \(changes.fromVersion) on")
        }
        if reader.known < changes.fromVersion {
            // It was moved on by itself, since there was nothing to tell.
            let gap = past.step(from: reader.known, to: changes.fromVersion, of: reader)
            if let problem = reader.missModified(gap) { return fail(problem) }
            reader.known = changes.fromVersion
        }
        let step = past.step(from: reader.known, to: changes.toVersion, of: reader)
        counts.note(step, reader.kind)
        say(
            """
            P\(actor.number) \(reader.name): \(changes.fromVersion) (\(reader.known)) to \(changes.toVersion)\
            \(changes.isCompared ? ", compared" : "")\(step.isPartlySilent ? ", partly silent" : ""): deleted \
            \(changes.deleted), inserted \(changes.inserted), modified \(changes.modified), moved \(changes.moved)
            """)
        if let problem = reader.take(changes, step) {
            return fail("\(problem), from version \(changes.fromVersion) to \(changes.toVersion)")
        }
        do throws(StoreError) {
            if let problem = try reader.checkSides(changes, step, actor.store) {
                return fail("\(problem), from version \(changes.fromVersion) to \(changes.toVersion)")
            }
        } catch {
            fail("unexpected error: \(error), asking a table")
        }
        if changes.isFromOtherProcess, !step.isReopened || !changes.isCompared,
            !past.hasOthers(than: actor.number, from: reader.known, to: changes.toVersion)
        {
            fail("told: \(reader.name) of another process")
        }
        (reader.known, reader.toldVersion) = (changes.toVersion, changes.toVersion)
        do throws(StoreError) { try act(changes, reader, actor) } catch {
            fail("unexpected error: \(error), in a handler")
        }
    }

    /// What a handler does beside reading, now and then: it ends an observer, also its own, lets one rest, writes, or
    /// notes what it has seen.
    private func act(_ changes: ChangeSet, _ reader: WatchedReader, _ actor: Actor) throws(StoreError) {
        switch random.below(400) {
        case 0...3:
            guard let other = random.chance(0.5) ? reader : random.one(of: actor.readers) else { return }
            actor.readers.removeAll { $0 === other }
            closing.append(other)
            other.observer!.close()
        case 4...7:
            guard let other = random.one(of: actor.readers) else { return }
            other.isPaused = true
            other.observer!.pause()
        case 8...11: try writeInside(actor, silencing: random.chance(0.5) && !reader.isEnded ? [reader] : [])
        case 12...15:
            let view = try actor.store.view(of: changes, before: false)
            try writeDown(reader, view, actor)
            view.close()
        default: break
        }
    }

    /// The plain values are those of the store.
    private func compareContent() throws(StoreError) {
        let actor = actors[0]
        try perform(actor) { [self] () throws(StoreError) in
            let view = try actor.store.openView().freeze()
            defer { view.close() }
            try settle(view)
            if let problem = try Editor(view, past.content(at: try view.version()), random).difference() {
                fail("history: \(problem)")
            }
        }
    }
}

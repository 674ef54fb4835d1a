import ObjStoreCore
import ObjStoreSimulation

/// A history whose course is written down: which process runs how far, which dies, which call fails. Everything that is
/// not said takes its default course.
///
/// What a scenario does not say exactly it enumerates (`Places`): a kill after every step, not "between the
/// sync and the poison". So it still finds the place when the engine takes other steps.
final class Stage {
    let history: History
    private let choices: Choices
    var world: World { history.world }
    /// Whether the power is cut before the store is opened for the last time.
    var cutsAtEnd = true

    /// An open store in a process of its own.
    struct Actor {
        let process: SimulatedProcess
        let database: Database
    }

    /// Something that an actor has to do.
    final class Deed {
        fileprivate(set) var task: SimulatedTask!
        fileprivate(set) var error: StoreError?
        var isFinished: Bool { task.isFinished }
    }

    init(_ kernel: SimulatedKernel, sectorBytes: Int = 512, options: StoreOptions = History.storeOptions(false)) {
        var worldOptions = World.Options()
        worldOptions.kernel = kernel
        worldOptions.addressSpace = 1 << 31
        worldOptions.sectorBytes = sectorBytes
        worldOptions.trace = Stage.traces
        choices = Choices(script: [])
        choices.startRecording()
        history = History(choices, worldOptions, seed: 1, options: options)
    }

    nonisolated(unsafe) static var traces = false

    // MARK: Faults

    /// What happens at a choice, until `calm`.
    func fault(_ decide: @escaping (ChoiceKind, _ options: Int) -> Int?) { choices.decide = decide }
    func calm() { choices.decide = nil }

    var db: DiskFile { world.folders[EngineOracle.path]! }
    var log: DiskFile { world.folders[EngineOracle.path + "-log"]! }
    var runner: SimulatedProcess? { world.running?.process }

    /// Written data of the file is lost without a sync; what processes see follows. Of several values that a
    /// sector may have the `value`-th stays (0: the one on the medium).
    func lose(_ file: DiskFile, value: Int = 0, evicting: Bool = true) {
        fault { kind, options in kind == .loss ? (options > value ? value : 0) : nil }
        world.failWritingBack(of: file)
        calm()
        if evicting { world.evict() }
    }

    // MARK: Actors

    /// Opens the store; no other process runs meanwhile. Nil where that failed.
    func open(_ options: StoreOptions? = nil) -> Actor? {
        var actor: Actor?
        let process = history.launch(options: options) { actor = Actor(process: $1, database: $0) }
        run { $0.process === process }
        return actor
    }

    func begin(_ actor: Actor, _ body: @escaping (Database, SimulatedProcess) throws(StoreError) -> Void) -> Deed {
        let deed = Deed()
        deed.task = actor.process.spawn("deed") { _ in
            do throws(StoreError) { try body(actor.database, actor.process) } catch { deed.error = error }
        }
        return deed
    }

    func beginCommit(
        _ actor: Actor, _ members: [[Edit]], _ durability: StoreOptions.Durability = .full, summary: Int? = nil
    ) -> Deed {
        begin(actor) { [history] (database, process) throws(StoreError) in
            try history.transact(members, durability, summary: summary, database, process)
        }
    }

    func beginCheckpoint(_ actor: Actor) -> Deed {
        begin(actor) { (database, _) throws(StoreError) in try database.checkpoint() }
    }

    // MARK: Running

    /// Only these tasks run, until none of them can, at most `steps`. Returns the number of steps.
    @discardableResult
    func run(steps: Int = 20_000, _ only: @escaping (SimulatedTask) -> Bool) -> Int {
        world.mayRun = only
        defer { world.mayRun = nil }
        return world.run(steps: steps)
    }

    /// That many steps of this deed alone. False where it ended, or waits for others, before.
    func advance(_ deed: Deed, _ steps: Int) -> Bool {
        run(steps: steps) { $0 === deed.task } == steps && !deed.isFinished
    }

    /// Steps of this deed until something is so. False where it never is.
    func advance(_ deed: Deed, until isSo: () -> Bool) -> Bool {
        for _ in 0..<20_000 {
            if isSo() { return true }
            if run(steps: 1, { $0 === deed.task }) == 0 { return false }
        }
        return false
    }

    /// Runs a deed to its end, and no other; it needs no other.
    @discardableResult
    func complete(_ deed: Deed) -> StoreError? {
        run { $0 === deed.task }
        if !deed.isFinished && deed.task.process.isAlive && world.violation == nil {
            world.fail("standstill: \(deed.task!), though nobody else is in its way")
        }
        return deed.error
    }

    /// All run until all is done.
    func runAll() {
        run { _ in true }
        if !world.isIdle && world.violation == nil { world.fail("standstill of all") }
    }

    @discardableResult
    func commit(
        _ actor: Actor, _ edits: [Edit], _ durability: StoreOptions.Durability = .full, summary: Bool = false
    ) -> StoreError? {
        complete(beginCommit(actor, [edits], durability, summary: summary ? 0 : nil))
    }

    @discardableResult
    func checkpoint(_ actor: Actor) -> StoreError? { complete(beginCheckpoint(actor)) }

    func kill(_ actor: Actor) { world.kill(actor.process) }

    var head: UInt64 { history.oracle.current?.head ?? 0 }
}

/// The places that a scenario tries, one after another: some numbers, each counted up from 0 until the scenario
/// says that there is no such place.
final class Places: CustomStringConvertible {
    private var digits: [Int] = []
    private var isPast: [Bool] = []
    private var used = 0
    private static let most = 1000

    /// The next number. `below`: there are only this many places.
    func next(below limit: Int = .max) -> Int {
        if used == digits.count {
            digits.append(0)
            isPast.append(false)
        }
        used += 1
        if digits[used - 1] >= limit { isPast[used - 1] = true }
        if digits[used - 1] > Places.most { fatalError("more than \(Places.most) places: somebody polls for ever") }
        return digits[used - 1]
    }

    /// The number that was given last is beyond the last place.
    func pastEnd() { isPast[used - 1] = true }
    /// The scenario has nothing more to do at this place.
    var isBeyond: Bool { isPast.prefix(used).contains(true) }

    /// Goes to the next place; false: all were tried.
    func advance() -> Bool {
        defer {
            used = 0
            isPast = isPast.map { _ in false }
        }
        let position = (isPast.prefix(used).firstIndex(of: true) ?? used) - 1
        guard position >= 0 else { return false }
        digits[position] += 1
        for inner in digits.indices.dropFirst(position + 1) { digits[inner] = 0 }
        return true
    }

    var description: String { digits.prefix(used == 0 ? digits.count : used).map(String.init).joined(separator: ".") }
}

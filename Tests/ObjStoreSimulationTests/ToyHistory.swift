import ObjStoreCore
import ObjStoreSimulation

/// The oracle of the toy store: what was acknowledged must be on the medium, now and for ever.
final class Ledger: Oracle {
    let world: World
    /// False: only what is found after recovery counts.
    let looksAhead: Bool
    private var written: Set<UInt64> = []
    private var acknowledged: [Int: UInt64] = [:]
    private(set) var acknowledgements = 0
    private(set) var recoveries = 0
    private var payload: UInt64 = 0

    init(_ world: World, looksAhead: Bool) {
        self.world = world
        self.looksAhead = looksAhead
    }

    func nextPayload() -> UInt64 { payload += 1; return payload }

    func willCommit(_ hash: UInt64) { written.insert(hash) }

    func didAcknowledge(_ store: ToyStore, _ number: Int, _ hash: UInt64) {
        acknowledgements += 1
        world.say("ACK \(number)")
        if let other = acknowledged[number], other != hash { world.fail("two records \(number) acknowledged") }
        acknowledged[number] = hash
        guard looksAhead, let disk = world.folders["d/toy"] else { return }
        if !disk.isCertain(0..<number * ToyStore.slotBytes) { world.fail("at ack of \(number): not durable") }
        if !world.folders.isCertain("d/toy") { world.fail("at ack of \(number): the name is not durable") }
    }

    func didRecover(_ machine: SimulatedMachine, _ chain: [UInt64]) {
        recoveries += 1
        world.say("recovered \(chain.count)")
        if let number = chain.firstIndex(where: { !written.contains($0) }) {
            world.fail("recovered record \(number + 1), which nobody wrote")
        }
        for (number, hash) in acknowledged.sorted(by: { $0.key < $1.key }) {
            if number > chain.count { world.fail("acknowledged record \(number) lost"); return }
            if chain[number - 1] != hash { world.fail("acknowledged record \(number) changed"); return }
        }
    }

    func willWrite(_ process: SimulatedProcess, _ file: DiskFile, _ bytes: UnsafeRawBufferPointer, at offset: Int) {
        guard looksAhead, world.folders["d/toy"] === file else { return }
        for sector in file.changedSectors(bytes, at: offset) where !world.hasEvicted {
            let number = sector * file.sectorBytes / ToyStore.slotBytes + 1
            if acknowledged[number] != nil { world.fail("acknowledged record \(number) overwritten") }
        }
    }
}

/// One history of the toy store.
struct ToyHistory {
    var bug: ToyBug?
    var kernel = SimulatedKernel.errseq
    var looksAhead = true
    var options = World.Options()
    var trace = false

    struct Result {
        var violation: String?
        var traceHash: UInt64
        var steps: Int
        var statistics: World.Statistics
        var acknowledgements: Int
        var record: [Choices.Choice]
    }

    private func makeWorld(_ choices: Choices, _ seed: UInt64) -> (World, Ledger) {
        var options = options
        options.kernel = kernel
        options.trace = trace
        options.addressSpace = 1 << 20
        let world = World(choices, options, entropy: seed)
        let ledger = Ledger(world, looksAhead: looksAhead)
        world.oracle = ledger
        return (world, ledger)
    }

    /// A process that opens the store, commits from one or two threads while a reader looks, and perhaps closes.
    private func launch(_ world: World, _ ledger: Ledger, _ done: (@escaping () -> Void) = {}) {
        let bug = bug
        let process = world.startProcess()
        process.spawn("open") { machine in
            guard let store = try? ToyStore(machine, ledger, bug) else { return }
            process.own(store)
            let threads = 1 + world.pick(.workload, 2), count = 1 + world.pick(.workload, 4)
            for _ in 0..<threads {
                process.spawn("writer") { _ in
                    for _ in 0..<count {
                        guard let outcome = try? store.commitDurably(ledger.nextPayload()) else { return }
                        if outcome != .acknowledged && outcome != .unknown { return }
                    }
                    done()
                }
            }
            if world.pick(.workload, 2) == 1 { process.spawn("reader") { _ in store.checkMap() } }
        }
    }

    private func result(_ world: World, _ ledger: Ledger) -> Result {
        let result = Result(
            violation: world.violation, traceHash: world.traceHash, steps: world.steps,
            statistics: world.statistics, acknowledgements: ledger.acknowledgements,
            record: world.choices.record)
        world.end()
        return result
    }

    /// Faults for a while, then none; then everything dies, and the store must open, be right and work.
    func random(_ seed: UInt64, script: [Int32]? = nil, recording: Bool = false, profile: Profile? = nil) -> Result {
        World.note("toy store, seed \(seed)")
        let profile = profile ?? Profile.random(seed)
        let choices =
            script.map { Choices(script: $0, profile: profile, recording: true) }
            ?? Choices(seed: seed, profile: profile, recording: recording)
        let (world, ledger) = makeWorld(choices, seed)
        for _ in 0...world.pick(.workload, 2) { launch(world, ledger) }
        var launches = 0
        let budget = [200, 600, 1500][world.pick(.workload, 3)]
        while world.steps < budget && world.violation == nil {
            let idle = !world.step()
            if idle || (world.steps % 64 == 0 && world.pick(.workload, 2) == 1) {
                if world.processes.count >= 4 {
                    if let quiet = world.processes.first(where: { $0.taskCount == 0 }) {
                        quiet.exit()
                    } else if idle {
                        break
                    }
                } else {
                    launches += 1
                    if launches > 8 { break }
                    launch(world, ledger)
                }
            }
        }
        finish(world, ledger, cut: world.pick(.workload, 2) == 1)
        return result(world, ledger)
    }

    private func finish(_ world: World, _ ledger: Ledger, cut: Bool) {
        world.drain(limit: 100_000)
        if cut && world.violation == nil { world.powerCut() }
        for process in world.processes { world.kill(process) }
        var works = false
        for _ in 0..<4 where !works && world.violation == nil {  // an old error may be reported to the first opener
            launch(world, ledger) { works = true }
            world.drain(limit: 100_000)
            for process in world.processes where !works { world.kill(process) }
        }
        if !works && world.violation == nil && ledger.acknowledgements < ToyStore.slots / 2 {
            world.fail("the store cannot be opened and written any more")
        }
    }

    /// Two processes that are open commit at the same time; deviations are enumerated from there on.
    func scripted(_ choices: Choices) -> Result {
        World.note("toy store, enumeration")
        let (world, ledger) = makeWorld(choices, 1)
        let bug = bug
        world.faults = false
        var stores: [ToyStore] = []
        for _ in 0..<2 {
            let process = world.startProcess()
            process.spawn("open") { machine in
                if let store = try? ToyStore(machine, ledger, bug) { process.own(store); stores.append(store) }
            }
            world.run(steps: 10_000)
        }
        world.faults = true
        choices.startRecording()
        for store in stores {
            store.machine.process.spawn("writer") { _ in _ = try? store.commitDurably(ledger.nextPayload()) }
        }
        stores = []
        world.run(steps: 2000)
        finish(world, ledger, cut: true)
        return result(world, ledger)
    }
}

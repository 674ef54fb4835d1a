import ObjStoreCore
import ObjStoreSimulation

/// The outcome of one history.
struct Outcome {
    var violation: String?
    var steps = 0
    /// Recovered or reopened states whose whole content was compared.
    var states = 0
    var acknowledgements = 0
    var wentOn = false
    var statistics = World.Statistics()
    var poisonings = 0
    var trace: UInt64 = 0
}

/// A random history, made from its seed alone.
func randomHistory(_ seed: UInt64, kernel: SimulatedKernel, trace: Bool = false) -> Outcome {
    World.note("seed \(seed)")
    var random = RandomNumbers(seed: seed &* 31 &+ 7)
    var options = World.Options()
    options.kernel = kernel
    options.trace = trace
    options.addressSpace = 1 << 31
    // With small sectors even a meta can be torn.
    options.sectorBytes = random.chance(0.3) ? 128 : 512
    let tight = random.chance(0.5)
    // One history in six runs on a disk that becomes full.
    if random.chance(1.0 / 6) { options.capacity = 420_000 + random.below(200_000) }
    let history = History(Choices(seed: seed, profile: Profile.random(seed, stepsPerAction: 8)), options, seed: seed, tight: tight)
    let world = history.world
    let profile = [0, 0, 0, 1, 1, 2][random.below(6)]
    for _ in 0..<(1 + random.below(3)) { history.launch { history.randomWork($0, $1, profile: profile) } }
    let budget = [1500, 4000, 8000][random.below(3)]
    var launches = 0
    while world.steps < budget && world.violation == nil {
        let isIdle = !world.step()
        if isIdle && random.chance(0.3) {
            for process in world.processes where process.taskCount == 0 { history.closeQuietly(process) }
        } else if isIdle || (world.steps % 400 == 0 && random.chance(0.5)) {
            launches += 1
            if launches > 10 { break }
            if world.processes.count < 4 {
                history.launch { history.randomWork($0, $1, profile: profile) }
            } else if let quiet = world.processes.first(where: { $0.taskCount == 0 }) {
                if random.chance(0.4) { quiet.exit() } else { history.closeQuietly(quiet) }
            }
        }
    }
    history.finish(cut: random.chance(0.6))
    let outcome = Outcome(
        violation: world.violation, steps: world.steps, states: history.oracle.recoveries + history.oracle.reads,
        acknowledgements: history.oracle.acknowledgements, wentOn: history.finalCommits > 0, statistics: world.statistics,
        poisonings: history.oracle.poisonings, trace: world.traceHash)
    world.end()
    return outcome
}

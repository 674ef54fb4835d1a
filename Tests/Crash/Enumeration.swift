import Glibc
import ObjStoreCore
import ObjStoreSimulation

/// A small scenario whose every single deviation is tried: each call of the disk fails in each way, and the
/// power is cut or a process killed after every step; with `preempts` every other order of two tasks too.
struct Scenario {
    let name: String
    /// For each process, for each of its tasks: what it does, in order.
    let processes: [[[History.Kind]]]
    var preempts = false

    static let all: [Scenario] = [
        Scenario(name: "commit", processes: [[[.synced, .synced]]]),
        Scenario(name: "checkpoint", processes: [[[.synced, .checkpoint, .synced, .checkpoint, .synced]]]),
        Scenario(name: "barrier", processes: [[[.big, .synced]], [[.synced]]]),
        Scenario(name: "group", processes: [[[.group, .relaxed, .group]], [[.checkpoint]]]),
        Scenario(name: "many", processes: [[[.many, .checkpoint, .many]]]),
        Scenario(name: "leader", processes: [[[.synced]], [[.synced]]], preempts: true),
        Scenario(name: "two checkpointers", processes: [[[.synced, .checkpoint]], [[.synced, .checkpoint]]], preempts: true),
        Scenario(name: "mixed", processes: [[[.relaxed, .checkpoint]], [[.synced, .checkpoint]]], preempts: true),
    ]

    /// One history of the scenario along the given choices.
    func run(_ choices: Choices, kernel: SimulatedKernel, fresh: Bool) -> (outcome: Outcome, steps: Int) {
        var options = World.Options()
        options.kernel = kernel
        options.addressSpace = 1 << 31
        let history = History(choices, options, seed: 1, tight: false)
        let world = history.world
        world.faults = false
        if fresh {
            // Creation, opening and the first write are part of what fails.
            choices.startRecording()
            world.faults = true
            launchAll(history)
        } else {
            var opened: [(Database, SimulatedProcess)] = []
            for _ in processes { history.launch { opened.append(($0, $1)) } }
            world.drain(limit: 100_000)
            choices.startRecording()
            world.faults = true
            for (plans, (database, process)) in zip(processes, opened) { start(history, plans, database, process) }
        }
        world.run(steps: 60_000)
        history.finish(cut: true)
        let outcome = Outcome(
            violation: world.violation, steps: world.steps, states: history.oracle.recoveries + history.oracle.reads,
            acknowledgements: history.oracle.acknowledgements, wentOn: history.finalCommits > 0, statistics: world.statistics)
        world.end()
        return (outcome, world.steps)
    }

    private func launchAll(_ history: History) {
        for plans in processes { history.launch { start(history, plans, $0, $1) } }
    }

    private func start(_ history: History, _ plans: [[History.Kind]], _ database: Database, _ process: SimulatedProcess) {
        for plan in plans {
            process.spawn("writer") { _ in
                for kind in plan where !history.perform(kind, database, process) { return }
            }
        }
    }
}

/// Every single deviation of every scenario, as far as `--seconds` reach; `--states N` ends earlier.
func runEnumeration(_ arguments: Arguments) -> Int32 {
    var states = 0, violations = 0, histories = 0, wentOn = 0
    let start = now()
    for (index, scenario) in Scenario.all.enumerated() {
        for kernel in [SimulatedKernel.errseq, .once] {
            for fresh in [true, false] where !(fresh && index > 1) {
                // A share of the time each; what is not reached is said.
                let jobs = Double(2 * (Scenario.all.count + 2)), share = arguments.seconds / jobs
                let from = now()
                var exploration = Exploration()
                if !scenario.preempts { exploration.fixed.insert(.schedule) }
                exploration.fixed.insert(.read)
                exploration.limit = 40_000
                var isCut = false
                var local = 0
                let result = exploration.run { choices in
                    if now() - from > share || states >= arguments.states {
                        isCut = true
                        return (nil, 0)
                    }
                    let (outcome, steps) = scenario.run(choices, kernel: kernel, fresh: fresh)
                    states += outcome.states
                    local += 1
                    if outcome.wentOn { wentOn += 1 }
                    return (outcome.violation, steps)
                }
                histories += local
                if let violation = result.violation {
                    violations += 1
                    let deviations = result.script.enumerated().filter { $0.element != 0 }.map { "\($0.offset):\($0.element)" }
                    print("\(scenario.name) \(kernel)\(fresh ? " fresh" : ""): \(violation) [choices \(deviations.suffix(6).joined(separator: " ")) of \(result.script.count)]")
                }
                print("\(scenario.name) \(kernel)\(fresh ? " fresh" : ""): \(local) histories\(isCut ? ", cut short" : ", all single deviations")")
                fflush(nil)
            }
        }
    }
    print("\(histories) histories in \(Int(now() - start)) s; \(histories == 0 ? 0 : wentOn * 100 / histories) % went on to commit")
    print("states \(states), violations \(violations), seed 0")
    return violations == 0 ? 0 : 1
}

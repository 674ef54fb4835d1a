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
        Scenario(name: "classes", processes: [[[.synced, .addClass, .columns, .synced]]]),
        Scenario(name: "close", processes: [[[.synced, .close]], [[.relaxed, .close]]]),
        Scenario(name: "leader", processes: [[[.synced]], [[.synced]]], preempts: true),
        Scenario(
            name: "two checkpointers", processes: [[[.synced, .checkpoint]], [[.synced, .checkpoint]]], preempts: true),
        Scenario(
            name: "unchanged", processes: [[[.relaxed, .synced]], [[.unchanged, .cancelled, .unchangedRelaxed]]],
            preempts: true),
        Scenario(name: "mixed", processes: [[[.relaxed, .checkpoint]], [[.synced, .checkpoint]]], preempts: true),
    ]

    /// One history of the scenario along the given choices.
    func run(_ choices: Choices, kernel: SimulatedKernel, fresh: Bool) -> (outcome: Outcome, steps: Int) {
        var options = World.Options()
        options.kernel = kernel
        options.addressSpace = 1 << 31
        let history = History(choices, options, seed: 1, options: History.storeOptions(false))
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
            violation: world.violation, steps: world.steps, states: history.oracle.crashStates,
            acknowledgements: history.oracle.acknowledgements, wentOn: history.finalCommits > 0,
            statistics: world.statistics)
        world.end()
        return (outcome, world.steps)
    }

    private func launchAll(_ history: History) {
        for plans in processes { history.launch { start(history, plans, $0, $1) } }
    }

    private func start(_ history: History, _ plans: [[History.Kind]], _ database: Database, _ process: SimulatedProcess)
    {
        for plan in plans {
            process.spawn("writer") { _ in
                for kind in plan where !history.perform(kind, database, process) { return }
            }
        }
    }
}

/// Every single deviation of every scenario. `--part I/N`: of the places of a deviation every N-th, from the I-th on.
func runEnumeration(_ arguments: Arguments) -> Int32 {
    var total = Tally(), violations = 0
    let start = now()
    for (index, scenario) in Scenario.all.enumerated()
    where arguments.name.isEmpty || scenario.name.contains(arguments.name) {
        for kernel in [SimulatedKernel.errseq, .once] {
            // Creation and opening are the same in all of them.
            for fresh in [true, false] where !(fresh && index > 1) {
                let (tally, violation) = enumerate(scenario, kernel, fresh: fresh, arguments.part)
                total.add(tally)
                let name = "\(scenario.name) \(kernel)\(fresh ? " fresh" : "")"
                if let violation {
                    violations += 1
                    print("\(name): \(violation)")
                }
                print("\(name): \(tally.histories) histories, \(tally.states) crash states")
                fflush(nil)
            }
        }
    }
    let part =
        arguments.part.of == 1
        ? "all single deviations" : "part \(arguments.part.index) of \(arguments.part.of) of the single deviations"
    print(
        """
        \(part): \(total.histories) histories in \(Int(now() - start)) s; \
        \(total.histories == 0 ? 0 : total.wentOn * 100 / total.histories) % went on to commit
        """
    )
    return arguments.conclude(states: total.states, violations: violations)
}

private struct Tally {
    var histories = 0, states = 0, wentOn = 0
    mutating func add(_ other: Tally) {
        histories += other.histories
        states += other.states
        wentOn += other.wentOn
    }
    init() {}
    /// As a child sends it.
    var line: String { "tally \(histories) \(states) \(wentOn)\n" }
    init?(line: Substring) {
        let words = line.split(separator: " ").dropFirst().compactMap { Int($0) }
        guard line.hasPrefix("tally "), words.count == 3 else { return nil }
        (histories, states, wentOn) = (words[0], words[1], words[2])
    }
}

/// Two processes at a time, each with a share: what killed tasks leak goes with them.
private func enumerate(
    _ scenario: Scenario, _ kernel: SimulatedKernel, fresh: Bool, _ part: (index: Int, of: Int)
) -> (Tally, violation: String?) {
    let shares = max(2, 64 / part.of)
    var tally = Tally(), violation: String?
    func collect(_ child: ChildProcess) {
        let (text, signal) = child.finish()
        var isWhole = false
        for line in text.split(separator: "\n") {
            if let share = Tally(line: line) {
                tally.add(share)
                isWhole = true
            } else {
                violation = violation ?? String(line)
            }
        }
        if !isWhole { violation = violation ?? "a child ends with signal \(signal)" }
    }
    var running: [ChildProcess] = []
    for share in 0..<shares where violation == nil {
        if running.count == 2 { collect(running.removeFirst()) }
        running.append(
            ChildProcess.start { send in
                var exploration = Exploration()
                if !scenario.preempts { exploration.fixed.insert(.schedule) }
                exploration.fixed.insert(.read)
                exploration.part = (part.index + part.of * share, part.of * shares)
                var tally = Tally(), isFirst = true
                let result = exploration.run { choices in
                    choices.tears = true
                    let (outcome, steps) = scenario.run(choices, kernel: kernel, fresh: fresh)
                    // The history without a deviation belongs to the first share.
                    if !isFirst || share == 0 { tally.add(outcome) }
                    isFirst = false
                    return (outcome.violation, steps)
                }
                if let violation = result.violation {
                    let deviations = result.script.enumerated().filter { $0.element != 0 }.map {
                        "\($0.offset):\($0.element)"
                    }
                    send(
                        """
                        \(violation) [choices \(deviations.suffix(6).joined(separator: " ")) of \
                        \(result.script.count)]\n
                        """
                    )
                }
                send(tally.line)
            })
    }
    for child in running { collect(child) }
    return (tally, violation)
}

extension Tally {
    mutating func add(_ outcome: Outcome) {
        histories += 1
        states += outcome.states
        wentOn += outcome.wentOn ? 1 : 0
    }
}

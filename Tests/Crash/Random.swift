import Glibc
import ObjStoreCore
import ObjStoreSimulation

/// The outcome of one history.
struct Outcome {
    var violation: String?
    var steps = 0
    /// Crash states: of the disk, opened by a process that found none alive, and compared as a whole.
    var states = 0
    /// Versions that were read and compared as a whole.
    var reads = 0
    var acknowledgements = 0
    var wentOn = false
    var statistics = World.Statistics()
    var poisonings = 0
    var trace: UInt64 = 0
}

/// A random history, made from its seed alone.
///
/// - Parameter isReplaced: an outside program deletes the store now and then, or restores a backup.
/// - Parameter isAsync: processes write asynchronously, most of them.
/// - Parameter isKept: versions are kept by names.
func randomHistory(
    _ seed: UInt64, kernel: SimulatedKernel, trace: Bool = false, isReplaced: Bool = false, isAsync: Bool = false,
    isKept: Bool = false
) -> Outcome {
    World.note("seed \(seed)")
    var random = RandomNumbers(seed: seed &* 31 &+ 7)
    var options = World.Options()
    options.kernel = kernel
    options.trace = trace
    options.addressSpace = 1 << 31
    // With small sectors even a meta can be torn.
    options.sectorBytes = random.chance(0.3) ? 128 : 512
    let tight = random.chance(0.5)
    // Some write ahead of their commits after a few changes, or after many.
    let transactionBytes = [64 << 20, 12 << 10, 100 << 10][Int(seed % 3)]
    // One history in six runs on a disk that becomes full.
    if random.chance(1.0 / 6) { options.capacity = 420_000 + random.below(200_000) }
    var storeOptions = History.storeOptions(tight, background: random.chance(0.3))
    storeOptions.transactionBytes = transactionBytes
    let history = History(
        Choices(seed: seed, profile: Profile.random(seed, stepsPerAction: 8)), options, seed: seed,
        options: storeOptions)
    let world = history.world
    let profile = [0, 0, 0, 1, 1, 2][random.below(6)]
    if isKept { history.kept = KeptModel() }
    func work(_ database: Database, _ process: SimulatedProcess) {
        if isKept { history.spawnKeeper(database, process) }
        // With one that does not, they wait for each other's locks.
        guard isAsync, process.id % 4 != 3 else { return history.randomWork(database, process, profile: profile) }
        process.spawn("queue") { _ in QueuedWork(history, database, process).run() }
    }
    // All find no file, and one of them makes it; in one history of five many of them.
    let firstOpeners = 1 + random.below(3) + (seed % 5 == 4 ? 3 : 0)
    for _ in 0..<firstOpeners { history.launch(work) }
    let budget = [1500, 4000, 8000][random.below(3)]
    var launches = 0
    // Not by choices of the others, so that the histories of old seeds stay what they were.
    var outside = RandomNumbers(seed: seed &* 131 &+ 3)
    var nextReplacement = outside.below(1200)
    while world.steps < budget && world.violation == nil {
        if isReplaced {
            history.keepBackup()
            if world.steps >= nextReplacement {
                history.replace(outside.below(1 << 20))
                nextReplacement = world.steps + 100 + outside.below(1500)
            }
        }
        let isIdle = !world.step()
        if isIdle && random.chance(0.3) {
            for process in world.processes where process.taskCount == 0 { history.closeQuietly(process) }
        } else if isIdle || (world.steps % 400 == 0 && random.chance(0.5)) {
            launches += 1
            if launches > 10 { break }
            if world.processes.count < 4 {
                history.launch(work)
            } else if let quiet = world.processes.first(where: { $0.taskCount == 0 }) {
                if random.chance(0.4) { quiet.exit() } else { history.closeQuietly(quiet) }
            }
        }
    }
    history.finish(cut: random.chance(0.6))
    let outcome = Outcome(
        violation: world.violation, steps: world.steps, states: history.sum(\.crashStates), reads: history.sum(\.reads),
        acknowledgements: history.sum(\.acknowledgements), wentOn: history.finalCommits > 0,
        statistics: world.statistics,
        poisonings: history.sum(\.poisonings), trace: world.traceHash)
    world.end()
    return outcome
}

/// Sums over histories, as a child sends them to its parent.
private struct Sums {
    var histories = 0, states = 0, reads = 0, wentOn = 0, steps = 0, acknowledgements = 0, kills = 0, cuts = 0,
        errors = 0, poisonings = 0

    mutating func add(_ outcome: Outcome) {
        histories += 1
        states += outcome.states
        reads += outcome.reads
        wentOn += outcome.wentOn ? 1 : 0
        steps += outcome.steps
        acknowledgements += outcome.acknowledgements
        kills += outcome.statistics.kills
        cuts += outcome.statistics.powerCuts
        errors += outcome.statistics.inputOutputErrors
        poisonings += outcome.poisonings
    }

    private static var fields: [WritableKeyPath<Sums, Int>] {
        [
            \.histories, \.states, \.reads, \.wentOn, \.steps, \.acknowledgements, \.kills, \.cuts, \.errors,
            \.poisonings,
        ]
    }
    var line: String { "sums " + Sums.fields.map { String(self[keyPath: $0]) }.joined(separator: " ") + "\n" }
    /// False where the line is something else.
    mutating func add(line: Substring) -> Bool {
        let words = line.split(separator: " ")
        guard words.first == "sums" else { return false }
        for (field, word) in zip(Sums.fields, words.dropFirst()) { self[keyPath: field] += Int(word) ?? 0 }
        return true
    }
}

/// Random histories until time or states are used up; the last line is crash states, violations, seed, and what was not
/// reached.
///
/// A few hundred at a time in a process of their own, with which goes what their killed tasks leak.
func runRandom(_ arguments: Arguments) -> Int32 {
    let start = now(), batch = 300
    var seed = arguments.seed, total = Sums(), violations = 0
    var lastReport = start
    while now() - start < arguments.seconds, total.states < arguments.states, total.histories < arguments.histories,
        violations < 5
    {
        let states = arguments.states - total.states, histories = min(batch, arguments.histories - total.histories)
        let child = ChildProcess.start { [seed] send in
            var sums = Sums()
            while sums.histories < histories, sums.states < states, now() - start < arguments.seconds {
                let next = seed + UInt64(sums.histories)
                send("seed \(next)\n")
                let outcome = randomHistory(
                    next, kernel: arguments.kernel ?? (next % 2 == 0 ? .errseq : .once),
                    isReplaced: arguments.isReplaced, isAsync: arguments.isAsync, isKept: arguments.isKept)
                sums.add(outcome)
                if let violation = outcome.violation { send("violation seed \(next): \(violation)\n") }
            }
            send(sums.line)
        }
        let (text, signal) = child.finish()
        let before = total.histories
        var last: Substring = ""
        for line in text.split(separator: "\n") {
            if line.hasPrefix("seed ") { last = line }
            if line.hasPrefix("violation "), violations < 5 {
                violations += 1
                print(line.dropFirst(10))
            }
            _ = total.add(line: line)
        }
        if signal != 0 {
            violations += 1
            print("\(last): the engine stops with signal \(signal)")
            seed = (UInt64(last.dropFirst(5)) ?? seed) + 1
        } else {
            seed += UInt64(total.histories - before)
        }
        if arguments.bug != nil && violations > 0 { break }
        if now() - lastReport > 10 {
            lastReport = now()
            fflush(nil)
            print(
                """
                \(total.histories) histories, \(total.states) crash states, \(violations) violations, \
                \(Int(Double(total.steps) / (now() - start))) steps/s
                """
            )
        }
    }
    let seconds = now() - start
    print(
        """
        \(total.histories) histories in \(Int(seconds)) s, \(total.steps) steps \
        (\(Int(Double(total.steps) / max(seconds, 0.001)))/s), \(total.reads) versions compared, \
        \(total.acknowledgements) acknowledgements, \(total.kills) kills, \(total.cuts) power cuts, \(total.errors) \
        I/O errors, \(total.poisonings) poisonings; \
        \(total.histories == 0 ? 0 : total.wentOn * 100 / total.histories) % went on to commit
        """
    )
    return arguments.conclude(states: total.states, histories: total.histories, violations: violations)
}

extension Arguments {
    /// The last line; 0 where nothing is wrong and all that was requested was reached.
    func conclude(states found: Int, histories: Int? = nil, violations: Int) -> Int32 {
        var missing = ""
        if states != .max, found < states, (histories ?? 0) < self.histories || self.histories == .max {
            missing = ", of \(states) asked for: NOT REACHED"
        }
        print("crash states \(found)\(missing), violations \(violations), seed \(seed)")
        return violations == 0 && missing.isEmpty ? 0 : 1
    }
}

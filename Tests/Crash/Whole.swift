import Glibc
import ObjStoreCore
import ObjStoreSimulation
import WholeModel

/// What came of one history of the whole object model.
private struct WholeOutcome {
    var violation: String?
    /// Crash states: opened after a crash, and compared as a whole.
    var states = 0
    /// Contents that were compared as a whole.
    var compared = 0
    var recoveries = 0, kills = 0, cuts = 0
    var counts: [String: Int] = [:]

    mutating func take(_ history: WholeHistory) {
        states = history.comparedAfterCrash
        compared = history.compared
        recoveries = history.recovered
        counts = history.counts
    }

    /// What ends a history; nil: the machine failed, as it may.
    static func violation(_ error: any Error, _ history: WholeHistory) -> String? {
        if case Stop.engine = error { return nil }
        if case Stop.problem(let text) = error { return "\(text)\n    \(history.place)" }
        return "\(error)\n    \(history.place)"
    }
}

/// On this machine: nothing fails.
private func realHistory(_ seed: UInt64) -> WholeOutcome {
    var outcome = WholeOutcome()
    let folder = "/tmp/objstore-whole-\(getpid())"
    mkdir(folder, 0o700)
    defer {
        _ = StoreFilesOf.remove(folder)
    }
    let history = WholeHistory(seed: seed, path: folder + "/db-\(seed)")
    do {
        for life in 0..<8 {
            // In some another handle takes turns.
            if (seed &+ UInt64(life)) % 3 == 0 { history.companion = .inThisProcess() }
            try history.live(transactions: 6, steps: 30)
        }
    } catch {
        outcome.violation = WholeOutcome.violation(error, history) ?? "\(history.place)\n    \(error)"
    }
    outcome.take(history)
    return outcome
}

private enum StoreFilesOf {
    /// Removes a folder of files.
    static func remove(_ folder: String) -> Bool {
        guard let stream = opendir(folder) else { return false }
        while let entry = readdir(stream) {
            let name = withUnsafePointer(to: entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            unlink(folder + "/" + name)
        }
        closedir(stream)
        return rmdir(folder) == 0
    }
}

/// What is wrong with the history of a seed; nil: nothing.
func wholeViolation(_ seed: UInt64) -> String? {
    simulatedHistory(seed).violation.map { String($0.prefix { $0 != "\n" }) }
}

/// On the simulated machine: each life of the store is a process, and many are killed, or their power is cut, at any
/// step.
///
/// What recovery finds must be the content after some transaction, none of those that were durable missing.
private func simulatedHistory(_ seed: UInt64) -> WholeOutcome {
    World.note("whole seed \(seed)")
    var random = RandomNumbers(seed: seed &* 71 &+ 3), outcome = WholeOutcome()
    var options = World.Options()
    options.addressSpace = 1 << 31
    options.sectorBytes = random.chance(0.3) ? 128 : 512
    options.trace = Stage.traces
    var profile = Profile()
    // Lives end where this function says; between that a write or sync fails now and then.
    profile.eventChance = 0
    profile.spuriousChance = 0
    profile.faultChance = random.chance(0.3) ? 0.0005 : 0
    let world = World(Choices(seed: seed, profile: profile), options, entropy: seed)
    var history: WholeHistory?, wasCut = false
    let lives = 3 + random.below(4)
    for life in 0...lives where outcome.violation == nil && world.violation == nil {
        let process = world.startProcess(), isLast = life == lives
        world.faults = !isLast
        let current =
            history?.next(on: process.machine, losesMemory: wasCut)
            ?? WholeHistory(seed: seed, path: "d/store", machine: process.machine)
        history = current
        var stop: (any Error)?, isDone = false
        let transactions = 1 + random.below(4), steps = 6 + random.below(20)
        process.spawn("life") { _ in
            do { try current.live(transactions: transactions, steps: steps) } catch { stop = error }
            isDone = true
        }
        var companion: SimulatedProcess?
        if random.chance(0.4) {
            let other = world.startProcess(),
                user = Companion(
                    machine: other.machine, pause: { _ in world.pause() }, isThere: { _ in other.isAlive },
                    mayFail: { world.faults })
            companion = other
            current.companion = user
            other.spawn("companion") { _ in
                while !isDone {
                    user.answer()
                    world.pause()
                }
            }
        }
        let companionEnds = random.chance(0.5) ? Int.max : 20 + random.below(3000)
        let ends = isLast ? Int.max : random.chance(0.2) ? Int.max : 20 + random.below(random.chance(0.3) ? 300 : 3000)
        var number = 0
        while !isDone, number < ends, number < 2_000_000, world.step() {
            number += 1
            if number == companionEnds, let companion { world.kill(companion) }
        }
        if let stop { world.say("stop: \(stop)".split(separator: "\n").joined(separator: " ")) }
        if let stop { outcome.violation = WholeOutcome.violation(stop, current) }
        if isLast, outcome.violation == nil, let stop {
            outcome.violation = "without a fault: \(stop) \(current.place)"
        }
        // A process may have been killed inside of a write.
        if !isDone, process.isAlive, number >= 2_000_000 || (number < ends && world.violation == nil) {
            outcome.violation = "standstill: \(world.tasksForReports)\n    \(current.place)"
        }
        wasCut = random.chance(0.6)
        for process in world.processes { world.kill(process) }
        if wasCut { world.powerCut() }
        SharedStore.forgetAll()
    }
    outcome.violation = outcome.violation ?? world.violation
    if let history {
        _ = Unmanaged.passRetained(history)
        outcome.take(history)
    }
    outcome.kills = world.statistics.kills
    outcome.cuts = world.statistics.powerCuts
    world.end()
    return outcome
}

/// Histories until time, states or their number are used up; the last line is states, violations, seed.
func runWhole(_ arguments: Arguments) -> Int32 {
    let start = now(), batch: UInt64 = 20
    var seed = arguments.seed, histories = 0, states = 0, recoveries = 0, compared = 0, cuts = 0, violations = 0
    var counts: [String: Int] = [:]
    while now() - start < arguments.seconds, states < arguments.states, histories < arguments.histories, violations < 5
    {
        let first = seed, most = min(batch, UInt64(min(arguments.histories - histories, 1 << 20))),
            wanted = arguments.states - states
        let child = ChildProcess.start { send in
            var states = 0
            for seed in first..<first + most where now() - start < arguments.seconds && states < wanted {
                send("seed \(seed)\n")
                let outcome = arguments.isReal ? realHistory(seed) : simulatedHistory(seed)
                states += outcome.states
                if let violation = outcome.violation { send("violation seed \(seed): \(violation)\n") }
                for (name, count) in outcome.counts { send("count \(count) \(name)\n") }
                send("sums \(outcome.states) \(outcome.recoveries) \(outcome.cuts) \(outcome.compared)\n")
            }
        }
        let (text, signal) = child.finish()
        for line in text.split(separator: "\n") {
            let words = line.split(separator: " ")
            switch words.first {
            case "seed": seed = (UInt64(words[1]) ?? seed) + 1
            case "violation":
                violations += 1
                print(line.dropFirst(10))
            case "count": counts[words.dropFirst(2).joined(separator: " "), default: 0] += Int(words[1]) ?? 0
            case "sums":
                histories += 1
                let numbers = words.dropFirst().compactMap { Int($0) }
                (states, recoveries, cuts, compared) = (
                    states + numbers[0], recoveries + numbers[1], cuts + numbers[2], compared + numbers[3]
                )
            default: print(line)
            }
        }
        if signal != 0 {
            violations += 1
            histories += 1
            print("seed \(seed - 1): the engine stops with signal \(signal)")
        }
        fflush(nil)
        if arguments.bug != nil && violations > 0 { break }
    }
    for (name, count) in counts.sorted(by: { $0.key < $1.key }) { print("    \(count) \(name)") }
    print(
        """
        \(histories) histories in \(Int(now() - start)) s, \(recoveries) recoveries, \(cuts) power cuts, \(compared) \
        contents compared
        """
    )
    return arguments.conclude(states: states, histories: histories, violations: violations)
}

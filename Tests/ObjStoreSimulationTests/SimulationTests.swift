import ObjStoreCore
import ObjStoreSimulation
import Testing

/// The simulated machine finds what it was built to find, and nothing else.
@Suite(.serialized) struct SimulationTests {
    @Test(arguments: [SimulatedKernel.errseq, .once])
    func correctStoreIsClean(_ kernel: SimulatedKernel) {
        var steps = 0, acknowledged = 0, total = World.Statistics()
        let clock = ContinuousClock()
        let begin = clock.now
        for seed in 0..<UInt64(1500) {
            let history = ToyHistory(kernel: kernel)
            let result = history.random(seed)
            #expect(result.violation == nil, "seed \(seed)")
            if result.violation != nil { return }
            steps += result.steps
            acknowledged += result.acknowledgements
            total.kills += result.statistics.kills
            total.powerCuts += result.statistics.powerCuts
            total.inputOutputErrors += result.statistics.inputOutputErrors
            total.evictions += result.statistics.evictions
            total.abandonedTasks += result.statistics.abandonedTasks
        }
        let seconds =
            Double((clock.now - begin).components.attoseconds) / 1e18
            + Double((clock.now - begin).components.seconds)
        print(
            "\(kernel): 1500 histories, \(steps) steps, \(Int(Double(steps) / seconds)) steps/s, \(acknowledged) acks,",
            "\(total.kills) kills, \(total.powerCuts) power cuts, \(total.inputOutputErrors) I/O errors,",
            "\(total.evictions) evicted sectors, \(total.abandonedTasks) abandoned tasks")
        // The histories are worth something: the store works in most of them, and is disturbed in most.
        #expect(acknowledged > 1500 * 4)
        #expect(total.kills > 1000 && total.powerCuts > 500 && total.inputOutputErrors > 500 && total.evictions > 100)
    }

    @Test(arguments: ToyBug.allCases)
    func brokenStoreIsCaught(_ bug: ToyBug) {
        for looksAhead in [true, false] {
            var caught: (seed: UInt64, violation: String)?
            for seed in 0..<UInt64(20_000) {
                let history = ToyHistory(bug: bug, kernel: .once, looksAhead: looksAhead)
                if let violation = history.random(seed).violation { caught = (seed, violation); break }
            }
            #expect(caught != nil, "\(bug)")
            if let caught {
                print(
                    "\(bug)\(looksAhead ? "" : ", seen only after recovery"): seed \(caught.seed): \(caught.violation)")
            }
        }
    }

    @Test func sameSeedSameHistory() {
        for seed in 0..<UInt64(200) {
            let first = ToyHistory().random(seed, recording: true)
            let second = ToyHistory().random(seed)
            #expect(first.traceHash == second.traceHash && first.steps == second.steps, "seed \(seed)")
            // and the list of its choices is the same history again
            let replay = ToyHistory().random(seed, script: first.record.map { $0.taken })
            #expect(first.traceHash == replay.traceHash, "replay of seed \(seed)")
        }
        #expect(ToyHistory().random(1).traceHash != ToyHistory().random(2).traceHash)
    }

    @Test func recordedViolationReplays() throws {
        for seed in 0..<UInt64(2000) {
            let found = ToyHistory(bug: .acknowledgesBeforeSync).random(seed, recording: true)
            guard let violation = found.violation else { continue }
            let again = ToyHistory(bug: .acknowledgesBeforeSync).random(seed, script: found.record.map { $0.taken })
            #expect(again.violation == violation)
            #expect(again.traceHash == found.traceHash)
            return
        }
        Issue.record("not found")
    }

    @Test func everySingleDeviation() {
        for kernel in [SimulatedKernel.errseq, .once] {
            let clean = Exploration().run { choices in
                let result = ToyHistory(kernel: kernel).scripted(choices)
                return (result.violation, result.steps)
            }
            #expect(clean.violation == nil)
            #expect(clean.histories > 200)
            print("every single deviation, \(kernel): \(clean.histories) histories, \(clean.steps) steps")
        }
        for bug in [ToyBug.acknowledgesBeforeSync, .noLock, .trustsTornRecord] {
            var exploration = Exploration()
            exploration.bound = 2
            let broken = exploration.run { choices in
                let result = ToyHistory(bug: bug, looksAhead: false).scripted(choices)
                return (result.violation, result.steps)
            }
            #expect(broken.violation != nil, "\(bug)")
            print("\(bug) by enumeration: history \(broken.histories): \(broken.violation ?? "-")")
            let choices = Choices(script: broken.script)
            #expect(ToyHistory(bug: bug, looksAhead: false).scripted(choices).violation == broken.violation)
        }
    }

    /// Each has a name of its own, and the names are in the order of the numbers.
    @Test func everyInjectedBugHasItsName() {
        #expect(InjectedBug.names.map(\.bug.number) == Array(0..<InjectedBug.count))
        #expect(Set(InjectedBug.names.map(\.name)).count == Int(InjectedBug.count))
        #expect(InjectedBug(named: "lockStolen") == .lockStolen && InjectedBug(named: "none") == nil)
    }
}

import ObjStoreCore
import ObjStoreSimulation

/// What is wrong with one history; nil: nothing.
func observersViolation(_ seed: UInt64, _ counts: inout WatchedCounts) -> String? {
    World.note("observers seed \(seed)")
    let history = WatchedHistory(seed: seed)
    var violation: String?
    do throws(StoreError) { violation = try history.run(steps: 120) } catch {
        violation = history.violation ?? "unexpected error: \(error)"
    }
    counts = history.counts
    history.end()
    // Processes that were killed leave what they had.
    _ = Unmanaged.passRetained(history)
    return violation ?? history.world.violation
}

/// What is wrong with the first of so many histories; nil: nothing.
func observersViolation(seeds: Range<UInt64>) -> String? {
    for seed in seeds {
        var counts = WatchedCounts()
        if let violation = observersViolation(seed, &counts) { return "\(violation), seed \(seed)" }
    }
    return nil
}

/// Histories until time or their number are used up, in batches, each in a process of its own.
func runObservers(_ arguments: Arguments) -> Int32 {
    let start = now(), batch: UInt64 = 20
    let most = arguments.histories
    var seed = arguments.seed, histories = 0, violations = 0
    var counts = WatchedCounts()
    while histories < most, now() - start < arguments.seconds, violations < 8 {
        let first = seed, wanted = min(batch, UInt64(min(most - histories, 1 << 20)))
        let child = ChildProcess.start { send in
            for seed in first..<first + wanted where now() - start < arguments.seconds {
                send("seed \(seed)\n")
                var counts = WatchedCounts()
                if let violation = observersViolation(seed, &counts) { send("violation seed \(seed): \(violation)\n") }
                send("sums \(WatchedCounts.fields.map { "\(counts[keyPath: $0])" }.joined(separator: " "))\n")
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
            case "sums":
                histories += 1
                counts.add(words.dropFirst().compactMap { Int($0) })
            default: print(line)
            }
        }
        if signal != 0 {
            violations += 1
            histories += 1
            print("seed \(seed - 1): the engine stops with signal \(signal)")
        }
        if seed == first { break }
    }
    print(
        """
        \(histories) histories of observers of several processes from seed \(arguments.seed) in \
        \(Int(now() - start)) s, \(counts.text): \(violations) violations
        """)
    if counts.told < arguments.told { print("change sets should be \(arguments.told) at least") }
    return violations == 0 && counts.told >= arguments.told ? 0 : 1
}

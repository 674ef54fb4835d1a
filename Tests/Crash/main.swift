import Glibc
import ObjStoreCore
import ObjStoreSimulation

/// The crash harness: `crash random --seconds N | --states N [--seed S] [--kernel once] [--bug NAME]`,
/// `crash trace --seed S`.
struct Arguments {
    var mode = "random"
    var seconds: Double = 30
    var states = Int.max
    var seed: UInt64 = 1
    var histories = Int.max
    var kernel: SimulatedKernel?
    var bug: InjectedBug?
    /// Only the controls that chance catches within seconds.
    var isQuick = false

    init(_ words: [String]) {
        var rest = words.dropFirst()
        if let first = rest.first, !first.hasPrefix("-") { mode = first; rest.removeFirst() }
        while let word = rest.popFirst() {
            func value() -> String {
                guard let next = rest.popFirst() else { usage("\(word) needs a value") }
                return next
            }
            switch word {
            case "--seconds": seconds = Double(value()) ?? usageError(word)
            case "--states": states = Int(value()) ?? usageError(word)
            case "--seed": seed = UInt64(value()) ?? usageError(word)
            case "--histories": histories = Int(value()) ?? usageError(word)
            case "--kernel": kernel = value() == "once" ? .once : .errseq
            case "--bug":
                let name = value()
                guard let found = InjectedBug.allCases.first(where: { "\($0)" == name }) else { usage("no injected bug is called \(name)") }
                bug = found
            case "--quick": isQuick = true
            default: usage("unknown argument \(word)")
            }
        }
    }
}

func usage(_ problem: String) -> Never {
    print(problem)
    print("usage: crash [random|enumerate|controls|trace] [--seconds N] [--states N] [--histories N] [--seed S] [--kernel errseq|once] [--bug NAME] [--quick]")
    exit(2)
}
func usageError<T>(_ word: String) -> T { usage("bad value for \(word)") }

func now() -> Double {
    var t = timespec()
    clock_gettime(CLOCK_MONOTONIC, &t)
    return Double(t.tv_sec) + Double(t.tv_nsec) / 1e9
}

let arguments = Arguments(CommandLine.arguments)
if let bug = arguments.bug { InjectedBug.set(bug, true) }

switch arguments.mode {
case "trace":
    let outcome = randomHistory(arguments.seed, kernel: arguments.kernel ?? (arguments.seed % 2 == 0 ? .errseq : .once), trace: true)
    print(outcome.violation ?? "clean")
    exit(outcome.violation == nil ? 0 : 1)
case "random":
    exit(runRandom(arguments))
case "enumerate":
    exit(runEnumeration(arguments))
case "controls":
    exit(runControls(arguments))
default:
    usage("unknown mode \(arguments.mode)")
}

/// Random histories until time or states are used up; the last line is states, violations, seed.
func runRandom(_ arguments: Arguments) -> Int32 {
    let start = now()
    var seed = arguments.seed, histories = 0, states = 0, violations = 0, wentOn = 0, steps = 0, acknowledgements = 0
    var kills = 0, cuts = 0, errors = 0, poisonings = 0
    var lastReport = start
    while now() - start < arguments.seconds && states < arguments.states && histories < arguments.histories {
        let outcome = randomHistory(seed, kernel: arguments.kernel ?? (seed % 2 == 0 ? .errseq : .once))
        histories += 1
        states += outcome.states
        steps += outcome.steps
        acknowledgements += outcome.acknowledgements
        kills += outcome.statistics.kills
        cuts += outcome.statistics.powerCuts
        errors += outcome.statistics.inputOutputErrors
        poisonings += outcome.poisonings
        if outcome.wentOn { wentOn += 1 }
        if let violation = outcome.violation {
            violations += 1
            print("seed \(seed): \(violation)")
            if violations >= 5 || arguments.bug != nil { break }
        }
        seed += 1
        if now() - lastReport > 10 {
            lastReport = now()
            fflush(nil)
            print("\(histories) histories, \(states) states, \(violations) violations, \(Int(Double(steps) / (now() - start))) steps/s")
        }
    }
    let seconds = now() - start
    print("\(histories) histories in \(Int(seconds)) s, \(steps) steps (\(Int(Double(steps) / max(seconds, 0.001)))/s), \(acknowledgements) acknowledgements, \(kills) kills, \(cuts) power cuts, \(errors) I/O errors, \(poisonings) poisonings; \(histories == 0 ? 0 : wentOn * 100 / histories) % went on to commit")
    print("states \(states), violations \(violations), seed \(arguments.seed)")
    return violations == 0 ? 0 : 1
}

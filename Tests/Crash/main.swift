import Glibc
import ObjStoreCore
import ObjStoreSimulation
import WholeModel

/// The crash harness.
///
/// ```
/// crash random --seconds N | --states N [--seed S] [--kernel once] [--bug NAME]   random histories
///              --replaced: an outside program deletes the store now and then, or restores a backup
///              --async: processes write asynchronously
///              --kept: versions are kept by names
/// crash trace --seed S                                                             one of them, step by step
/// crash directed [--name PART] [--bug NAME] [--trace]                              written courses, at every place
/// crash enumerate [--name PART] [--part I/N]                                       every single deviation
/// crash replay [--histories N] [--seed S]                                          the log against the live content
/// crash whole [--states N] [--histories N] [--seconds N] [--seed S] [--machine real] [--bug NAME]
///                                                                                  the whole object model
/// crash queue [--depth N] [--part I/N]                                             every course of asynchronous writes
/// crash silence [--histories N] [--seed S]                                         transactions without notifying
/// crash paths [--histories N] [--seed S]                                           observers with key paths
/// crash lists [--histories N] [--seed S]                                           observers of sorted and other lists
/// crash collections [--histories N] [--seed S]                                     observers of lists, sets and maps
/// crash observers [--histories N] [--seed S] [--trace]          observers of all kinds, of a store that several
///                                                               processes write, with newer schemas and deaths
/// crash controls [--bug NAME] --histories N | --seconds N                          injected bugs, each in N at most
/// ```
/// A run ends by its counts, where it is given some, on a slow machine too; without any after 30 seconds.
struct Arguments {
    var mode = "random"
    private var limit: Double?
    var seconds: Double { limit ?? (states < .max || histories < .max ? .infinity : 30) }
    var states = Int.max
    var seed: UInt64 = 1
    var histories = Int.max
    var kernel: SimulatedKernel?
    var bug: InjectedBug?
    var isReplaced = false
    var isAsync = false
    var isKept = false
    /// Not the simulated machine, but this one.
    var isReal = false
    /// Of an enumeration.
    var part = (index: 0, of: 1)
    /// Of the courses of a queue.
    var depth = 7
    /// So many change sets have to be told at least.
    var told = 0
    /// Part of a scenario's name.
    var name = ""

    /// Histories from the seed on till one is wrong: as many as are wanted, or as there is time for; else the usual
    /// number.
    func run(usual: Int, _ violation: (UInt64) -> String?) -> (count: Int, violation: String?) {
        let start = now(), most = histories < .max ? histories : limit == nil ? usual : .max
        var count = 0
        while count < most, now() - start < limit ?? .infinity {
            if let found = violation(seed &+ UInt64(count)) { return (count + 1, found) }
            count += 1
        }
        return (count, nil)
    }

    init(_ words: [String]) {
        var rest = words.dropFirst()
        if let first = rest.first, !first.hasPrefix("-") { mode = first; rest.removeFirst() }
        while let word = rest.popFirst() {
            func value() -> String {
                guard let next = rest.popFirst() else { usage("\(word) needs a value") }
                return next
            }
            switch word {
            case "--seconds": limit = Double(value()) ?? usageError(word)
            case "--states": states = Int(value()) ?? usageError(word)
            case "--seed": seed = UInt64(value()) ?? usageError(word)
            case "--histories": histories = Int(value()) ?? usageError(word)
            case "--kernel": kernel = value() == "once" ? .once : .errseq
            case "--bug":
                let name = value()
                guard let found = InjectedBug(named: name) else {
                    usage("no injected bug is called \(name)")
                }
                bug = found
            case "--part":
                let numbers = value().split(separator: "/").compactMap { Int($0) }
                guard numbers.count == 2, numbers[1] > 0, (0..<numbers[1]).contains(numbers[0]) else {
                    usage("--part needs I/N")
                }
                part = (numbers[0], numbers[1])
            case "--depth": depth = Int(value()) ?? usageError(word)
            case "--told": told = Int(value()) ?? usageError(word)
            case "--name": name = value()
            case "--replaced": isReplaced = true
            case "--async": isAsync = true
            case "--kept": isKept = true
            case "--machine": isReal = value() == "real"
            case "--trace":
                Stage.traces = true
                WholeHistory.traces = true
            default: usage("unknown argument \(word)")
            }
        }
    }
}

func usage(_ problem: String) -> Never {
    print(problem)
    print(
        """
        usage: crash [random|whole|directed|replay|enumerate|queue|silence|lists|sections|paths|collections|observers|\
        controls|trace] [--seconds N] [--states N] [--histories N] [--seed S] [--kernel errseq|once] [--bug NAME] \
        [--told N] [--name PART] [--part I/N] [--depth N] [--machine simulated|real] [--replaced] [--async] [--kept] \
        [--trace]
        """
    )
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
    let outcome = randomHistory(
        arguments.seed, kernel: arguments.kernel ?? (arguments.seed % 2 == 0 ? .errseq : .once), trace: true,
        isReplaced: arguments.isReplaced, isAsync: arguments.isAsync, isKept: arguments.isKept)
    print(outcome.violation ?? "clean")
    exit(outcome.violation == nil ? 0 : 1)
case "random":
    exit(runRandom(arguments))
case "replay":
    exit(runReplay(arguments))
case "enumerate":
    exit(runEnumeration(arguments))
case "queue":
    exit(runQueue(arguments))
case "silence":
    exit(runSilence(arguments))
case "lists":
    exit(runLists(arguments))
case "sections":
    exit(runSections(arguments))
case "paths":
    exit(runPaths(arguments))
case "collections":
    exit(runCollections(arguments))
case "observers":
    exit(runObservers(arguments))
case "directed":
    exit(runDirected(arguments))
case "whole":
    exit(runWhole(arguments))
case "controls":
    exit(runControls(arguments))
default:
    usage("unknown mode \(arguments.mode)")
}

/// Every directed scenario at every place, each in a process of its own; without `--bug` all must be clean.
func runDirected(_ arguments: Arguments) -> Int32 {
    let start = now()
    var histories = 0, states = 0, violations = 0
    for scenario in DirectedScenario.all where arguments.name.isEmpty || scenario.name.contains(arguments.name) {
        let child = ChildProcess.start { send in
            let result = scenario.explore()
            if let violation = result.violation { send("violation \(result.place): \(violation)\n") }
            send("counts \(result.histories) \(result.states)\n")
        }
        let (text, signal) = child.finish()
        var counts: [Int] = []
        for line in text.split(separator: "\n") {
            if line.hasPrefix("violation ") {
                violations += 1
                print(line.dropFirst(10))
            }
            if line.hasPrefix("counts ") { counts = line.split(separator: " ").dropFirst().compactMap { Int($0) } }
        }
        guard counts.count == 2 else {
            violations += 1
            print("\(scenario.name): ends with signal \(signal)")
            continue
        }
        histories += counts[0]
        states += counts[1]
        print("\(scenario.name): \(counts[0]) histories")
        fflush(nil)
    }
    print("\(histories) histories in \(Int(now() - start)) s")
    return arguments.conclude(states: states, violations: violations)
}

import Glibc
import ObjStoreCore
import ObjStoreSimulation

/// Hostile input: `fuzz [store|log|lock|signature|json|nested|query|bound|all] [--seconds N] [--cases N] [--seed S]
/// [--only SEED] [--bug NAME]`, or `fuzz libfuzzer` with arguments of libFuzzer (see `LibFuzzer`).
///
/// A case is made from its seed alone: a query (`QueryCase`); functions made at run time, on threads, which repeat a
/// case in parts only (`BoundCase`); or a real store file, a real log, what killed processes shared, a signature, a
/// JSON text or nested values, changed in a few places with knowledge of the format. Hashes and refs are made to fit
/// (`ForgedStore`, `ForgedLog`), or, in half of the cases, not compared (`InjectedBug.hashUnchecked`). Each file is
/// verified, salvaged to a store that must be sound, opened, read in every way and written. Whatever the library
/// answers is right, as long as it answers: a trap, a signal, a report of a sanitizer, or more than 20 seconds of work
/// is a finding. `--only` runs one case in this process.
struct Arguments {
    var targets = Target.allCases
    var seconds = Double.infinity
    var cases = 0
    var seed: UInt64 = 1
    var only: UInt64?

    init(_ words: [String]) {
        var rest = words.dropFirst()
        if let word = rest.first, !word.hasPrefix("-") {
            rest.removeFirst()
            if word != "all" {
                guard let target = Target(rawValue: word) else { usage() }
                targets = [target]
            }
        }
        while let word = rest.popFirst() {
            guard let value = rest.popFirst() else { usage() }
            func number<T: LosslessStringConvertible>() -> T {
                guard let number = T(value) else { usage() }
                return number
            }
            switch word {
            case "--seconds": seconds = number()
            case "--cases": cases = number()
            case "--seed": seed = number()
            case "--only": only = number()
            case "--bug":
                guard let bug = InjectedBug(named: value) else { usage() }
                InjectedBug.set(bug, true)
            default: usage()
            }
        }
        if cases == 0 { cases = seconds == .infinity ? 3000 : .max }
    }
}

func usage() -> Never {
    print(
        """
        usage: fuzz [store|log|lock|signature|json|nested|query|bound|all] [--seconds N] [--cases N] [--seed S]\n   \
                [--only SEED] [--bug NAME]\n   \
            fuzz libfuzzer ARGUMENTS of libFuzzer
        """
    )
    exit(2)
}

func now() -> Double {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
}

let parent = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : getenv("TMPDIR").map { String(cString: $0) } ?? "/var/tmp"
let folder = "\(parent)/objstore-fuzz-\(getpid())"
mkdir(folder, 0o700)
// libFuzzer reads the other arguments itself, and starts processes of its own (to minimise what it has found, to
// merge).
let isLibFuzzer = CommandLine.arguments.dropFirst().first == "libfuzzer"
let isOfLibFuzzer = isLibFuzzer || getenv("OBJSTORE_LIBFUZZER") != nil
if isOfLibFuzzer {
    atexit {
        removeFiles(); rmdir(folder)
    }
    setenv("OBJSTORE_LIBFUZZER", "1", 1)
}
let arguments = isOfLibFuzzer ? Arguments([]) : Arguments(CommandLine.arguments)
let result =
    isOfLibFuzzer
    ? LibFuzzer.run([CommandLine.arguments[0]] + CommandLine.arguments.dropFirst(isLibFuzzer ? 2 : 1)) : run()
removeFiles()
rmdir(folder)
exit(result)

func removeFiles(_ folder: String = folder) {
    for name in ["base", "case", "salvaged"] {
        for suffix in ["", "-log", "-lock"] { unlink("\(folder)/\(name)\(suffix)") }
    }
}

func run() -> Int32 {
    let small: [Subject], large: [Subject]
    do {
        small = arguments.targets.contains(where: \.isFile) ? try Kinds.all(folder) + Subject.small(folder) : []
        large = arguments.targets.contains(where: \.isFile) ? try Subject.all(folder) : []
    } catch {
        print("the stores to begin with could not be made: \(error)")
        return 1
    }
    // Most are small: what matters is how many there are.
    func answer(_ target: Target, _ seed: UInt64, _ folder: String) -> String {
        target.run(seed, seed % 256 == 255 && target != .lock ? large : small, folder)
    }
    if let only = arguments.only {
        for target in arguments.targets { print("\(target) \(only): \(answer(target, only, folder))") }
        return 0
    }
    let workers = (0..<max(1, min(8, sysconf(Int32(_SC_NPROCESSORS_ONLN))))).map { "\(folder)/\($0)" }
    for worker in workers { mkdir(worker, 0o700) }
    defer {
        for worker in workers {
            removeFiles(worker)
            rmdir(worker)
        }
    }
    var findings: [String] = []
    var total: UInt64 = 0, isShort = false
    for target in arguments.targets {
        let end = now() + arguments.seconds / Double(arguments.targets.count)
        let last = arguments.cases == .max ? UInt64.max : arguments.seed + UInt64(arguments.cases)
        var answers: [String: Int] = [:], next = arguments.seed, done: UInt64 = 0
        // What a process that died has left.
        var rest: [Range<UInt64>] = []
        while (next < last || !rest.isEmpty), now() < end, findings.count < 20 {
            // A process of its own for some cases: what one left behind does not hide or make the next one's.
            var batches: [(worker: String, seeds: Range<UInt64>, child: ChildProcess)] = []
            for worker in workers {
                var seeds = rest.popLast() ?? next..<min(last, next + 200)
                if seeds.lowerBound == next { next = seeds.upperBound }
                if seeds.isEmpty { continue }
                seeds = seeds.lowerBound..<min(seeds.upperBound, seeds.lowerBound + 200)
                batches.append(
                    (
                        worker, seeds,
                        ChildProcess.start { send in
                            for seed in seeds where now() < end {
                                send("case \(seed)\n")
                                // Of processor time; and minutes for one that sleeps on a busy machine.
                                var limit = itimerval(
                                    it_interval: timeval(tv_sec: 0, tv_usec: 0),
                                    it_value: timeval(tv_sec: 20, tv_usec: 0))
                                setitimer(__itimer_which_t(ITIMER_PROF.rawValue), &limit, nil)
                                alarm(300)
                                send("\(answer(target, seed, worker))\n")
                            }
                            alarm(0)
                            send("end\n")
                        }
                    ))
            }
            for (worker, seeds, child) in batches {
                let (text, signal) = child.finish()
                let lines = text.split(separator: "\n")
                for line in lines where !line.hasPrefix("case ") && line != "end" {
                    answers[String(line), default: 0] += 1
                }
                let reached =
                    lines.last { $0.hasPrefix("case ") }.flatMap { UInt64($0.dropFirst(5)) } ?? seeds.lowerBound
                done += UInt64(lines.count { $0.hasPrefix("case ") })
                if lines.last != "end" {
                    let what =
                        signal == SIGALRM || signal == SIGPROF
                        ? "more than 20 s" : signal == 0 ? "the process ended" : "signal \(signal)"
                    findings.append("\(target) case \(reached): \(what)")
                    print(findings.last!)
                    fflush(nil)
                    if reached + 1 < seeds.upperBound { rest.append(reached + 1..<seeds.upperBound) }
                }
                removeFiles(worker)
            }
        }
        total += done
        let summary = answers.sorted { $0.value > $1.value }.map { "\($0.key) \($0.value)" }.joined(separator: ", ")
        let missing = arguments.cases == .max ? 0 : UInt64(arguments.cases) - min(done, UInt64(arguments.cases))
        if missing > 0 { isShort = true }
        print("\(target): \(done) cases\(missing > 0 ? ", \(missing) were not reached" : ""); \(summary)")
        fflush(nil)
    }
    print("fuzz: \(total) cases, \(findings.count) findings, seed \(arguments.seed)")
    return findings.isEmpty && !isShort ? 0 : 1
}

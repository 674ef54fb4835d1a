import Glibc
import ObjStoreCore
import ObjStoreSimulation

/// Threads of one process under page reuse: `threads --scans N [--readers R] [--writers W] [--seed S] [--bug NAME]`.
///
/// Writers overwrite, delete and insert rows, so that most pages they write were used before; readers pin
/// versions, keep some of them for a while, and read all of it again and again. Every version has the same sum,
/// and a digest of its own content: a scan that finds anything else, or an error, has read a page that was
/// written under it. The last line is scans, versions, how often each page was written, and what was wrong.
struct Arguments {
    var scans = 100_000
    var readers = 4
    var writers = 2
    var seed: UInt64 = 1

    init(_ words: [String]) {
        var rest = words.dropFirst()
        while let word = rest.popFirst() {
            guard let value = rest.popFirst() else { usage() }
            func number<T: FixedWidthInteger>() -> T {
                guard let number = T(value) else { usage() }
                return number
            }
            switch word {
            case "--scans": scans = number()
            case "--readers": readers = number()
            case "--writers": writers = number()
            case "--seed": seed = number()
            case "--bug":
                guard let bug = InjectedBug(named: value) else { usage() }
                InjectedBug.set(bug, true)
            default: usage()
            }
        }
    }
}

func usage() -> Never {
    print("usage: threads [--scans N] [--readers R] [--writers W] [--seed S] [--bug NAME]")
    exit(2)
}

func now() -> Double {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
}

/// What the threads share besides the store.
final class Progress: @unchecked Sendable {
    private var mutex = pthread_mutex_t()
    private var remaining: Int
    private(set) var problem: String?
    private(set) var done = 0

    init(scans: Int) {
        pthread_mutex_init(&mutex, nil)
        remaining = scans
    }

    private func locked<T>(_ body: () -> T) -> T {
        pthread_mutex_lock(&mutex)
        defer { pthread_mutex_unlock(&mutex) }
        return body()
    }

    /// Up to this many scans for a reader to make; 0 = enough were made, or something was wrong.
    func take(_ count: Int) -> Int {
        locked {
            let given = problem == nil ? min(count, remaining) : 0
            remaining -= given
            return given
        }
    }

    func finished(_ scans: Int) { locked { done += scans } }
    func fail(_ text: String) { locked { if problem == nil { problem = text } } }
    var isOver: Bool { locked { problem != nil || remaining == 0 } }
}

func startThread(_ body: @escaping () -> Void) -> pthread_t {
    final class Box {
        let body: () -> Void
        init(_ body: @escaping () -> Void) { self.body = body }
    }
    var thread = pthread_t()
    let code = pthread_create(
        &thread, nil,
        { box in
            Unmanaged<Box>.fromOpaque(box!).takeRetainedValue().body()
            return nil
        }, Unmanaged.passRetained(Box(body)).toOpaque())
    if code != 0 { fatalError("no thread: error \(code)") }
    return thread
}

let arguments = Arguments(CommandLine.arguments)
let folder = (getenv("TMPDIR").map { String(cString: $0) } ?? "/var/tmp") + "/objstore-threads-\(getpid())"
mkdir(folder, 0o700)
let outcome = run(arguments, folder: folder)
for name in ["store", "store-log", "store-lock"] { unlink(folder + "/" + name) }
rmdir(folder)
exit(outcome)

func run(_ arguments: Arguments, folder: String) -> Int32 {
    do throws(StoreError) {
        var options = StoreOptions()
        options.growthPages = 16
        options.checkpointBytes = 4 << 20
        let database = try Database.open(folder + "/store", options: options, machine: RealMachine())
        try Ledger.prepare(database)
        let start = now(), first = database.publishedVersion
        let progress = Progress(scans: arguments.scans)
        var threads: [pthread_t] = []
        for index in 0..<arguments.writers {
            threads.append(
                startThread {
                    let ledger = Ledger(database, seed: arguments.seed &+ UInt64(index) &* 7919)
                    do throws(StoreError) { while !progress.isOver { try ledger.write() } } catch {
                        progress.fail("writer: \(error)")
                    }
                })
        }
        for index in 0..<arguments.readers {
            threads.append(
                startThread {
                    do throws(StoreError) {
                        try read(database, progress, seed: arguments.seed &+ 1000 &+ UInt64(index))
                    } catch { progress.fail("reader: \(error)") }
                })
        }
        for thread in threads { pthread_join(thread, nil) }
        let seconds = now() - start
        let versions = database.publishedVersion - first
        let usage = try pageUse(database)
        if progress.problem == nil, let finding = Verifier.findings(try database.snapshot()).first {
            progress.fail("verify: \(finding)")
        }
        print(
            """
            \(progress.done) scans and \(versions) versions in \(Int(seconds)) s; \(usage.written) pages were written \
            into a file of \(usage.pages)
            """
        )
        if let problem = progress.problem {
            print("threads: inconsistent after \(progress.done) scans: \(problem)")
            return 1
        }
        // Otherwise nothing was reused, and nothing was proved.
        if usage.written < 10 * usage.pages {
            print("threads: pages were hardly reused")
            return 1
        }
        try database.close()
        print(
            """
            threads: \(progress.done) scans, 0 inconsistent, each page written \(usage.written / usage.pages) times, \
            seed \(arguments.seed)
            """
        )
        return 0
    } catch {
        print("threads: \(error)")
        return 1
    }
}

func pageUse(_ database: Database) throws(StoreError) -> (written: Int, pages: Int) {
    let usage = database.pageUse
    return (usage.bytesWritten / 4096, usage.filePages)
}

/// Pins versions, holds up to three older ones beside the newest, and reads whole versions.
func read(_ database: Database, _ progress: Progress, seed: UInt64) throws(StoreError) {
    var random = RandomNumbers(seed: seed)
    var held: [Snapshot] = []
    while true {
        let count = progress.take(8)
        if count == 0 { return }
        for _ in 0..<count {
            if held.isEmpty || random.chance(0.5) {
                if held.count == 4 { held.remove(at: random.below(4)) }
                held.append(try database.snapshot())
            }
            let snapshot = held[random.below(held.count)]
            if let problem = try Ledger.problem(in: snapshot) {
                progress.fail("version \(snapshot.version): \(problem)")
                return
            }
        }
        progress.finished(count)
    }
}

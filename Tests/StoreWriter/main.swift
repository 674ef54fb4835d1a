import Glibc
import ObjStoreCore

// The other process of tests: opens a store, does what its standard input says, and answers each line.
//
//     store-writer PATH
//     create N           creates N items in one transaction       → ok VERSION
//     update KEY NUMBER  sets the number of an item               → ok VERSION
//     delete KEY                                                  → ok VERSION
//     observe            observes the items; nothing delivers      → ok 0
//     deliver MS         waits and delivers                       → ok CALLS DELETED INSERTED MODIFIED
//     cpu MS             sleeps, then says what it cost           → ok CPU-MICROSECONDS SWITCHES
//     exit

let path = CommandLine.arguments[1]
let database = try Database.open(path, options: StoreOptions(), machine: RealMachine.shared)
let hub = ObserverHub(database)
nonisolated(unsafe) var observers: [Observer] = []
nonisolated(unsafe) var counts = (deleted: 0, inserted: 0, modified: 0)

/// Class 0 of `ObservedStore`: id, number, text, flag, time, score.
func create(_ count: Int, in items: ClassState) throws {
    for _ in 0..<count {
        let id = Int64(items.objectCount) &* 1000 &+ Int64(getpid() % 1000)
        var values: [Value] = [.int(id), .int(id % 100), .null, .bool(id % 2 == 0), .null, .double(Double(id))]
        // Ids that another process gave are skipped.
        while try items.find(primaryKey: values[0]) != nil { values[0] = .int(values[0].low &+ 1) }
        _ = try values.withUnsafeBufferPointer { try items.create($0.baseAddress!) }
    }
}

func write(_ body: (ClassState) throws -> Void) throws -> String {
    let transaction = try WriteTransaction.begin(database)
    do {
        try body(try transaction.state(0))
        return "ok \(try transaction.commit())"
    } catch {
        try transaction.cancel()
        throw error
    }
}

/// Of context switches those at which it went to sleep: on a busy machine others take the processor from it.
func usage() -> (microseconds: Int, switches: Int) {
    var usage = rusage()
    getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
    let time =
        (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1_000_000
        + Int(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec)
    return (time, usage.ru_nvcsw)
}

func answer(_ words: [Substring]) throws -> String {
    switch words[0] {
    case "create": return try write { try create(Int(words[1])!, in: $0) }
    case "update": return try write { try $0.update(Int64(words[1])!, 1, .int(Int64(words[2])!)) }
    case "delete": return try write { try $0.delete(Int64(words[1])!) }
    case "observe":
        let cls = try database.snapshot().schema.classes[0]
        observers.append(
            try hub.observe(ObserverScope(class: cls)) { changes in
                counts.deleted += changes.deleted.count
                counts.inserted += changes.inserted.count
                counts.modified += changes.modified.count
                return nil
            })
        return "ok 0"
    case "deliver":
        counts = (0, 0, 0)
        let calls = try hub.wait(timeout: Int64(words[1])! * 1_000_000)
        return "ok \(calls) \(counts.deleted) \(counts.inserted) \(counts.modified)"
    case "cpu":
        let before = usage()
        usleep(UInt32(words[1])! * 1000)
        let after = usage()
        return "ok \(after.microseconds - before.microseconds) \(after.switches - before.switches)"
    default: return "unknown command"
    }
}

func say(_ line: String) {
    print(line)
    fflush(nil)
}

say("ready")
while let line = readLine(), line != "exit" {
    do { say(try answer(line.split(separator: " "))) } catch { say("error \(error)") }
}
try hub.close()
observers = []
try database.close()

import Glibc
import ObjStoreCore
import ObjStoreSimulation

/// Real processes on one file, to be killed at any time by `storm.py`:
/// `storm writer PATH ID ACKS [fork]`, `storm reader PATH`, `storm check PATH ACKS…`, `storm commit PATH N`; or by
/// `lives.py` (`Lives`).
///
/// A bank: every transaction moves an amount between two accounts, so that the sum of all never changes, and
/// counts itself in the writer's own row. A writer notes the count in its ACKS file after the commit returned.
let accounts: Int64 = 64
let startBalance: Int64 = 1000

let schema = Schema(
    classes: [
        ClassSchema(
            name: "Account", id: 0,
            properties: [
                PropertySchema(name: "id", kind: .int, columnID: 0, isPrimaryKey: true),
                PropertySchema(name: "balance", kind: .int, columnID: 1, isIndexed: true),
                PropertySchema(name: "note", kind: .string, columnID: 2, isNullable: true),
            ], nextColumnID: 3)
    ], version: 1)

func fail(_ text: String) -> Never {
    let line = text + "\n"
    _ = line.withCString { write(2, $0, strlen($0)) }
    exit(1)
}

func open(_ path: String) throws(StoreError) -> Database {
    var options = StoreOptions()
    options.checkpointBytes = 1 << 20
    return try Database.open(path, options: options, machine: RealMachine())
}

func create(_ state: ClassState, _ id: Int64, _ balance: Int64) throws(StoreError) {
    let values: [Value] = [.int(id), .int(balance), .null]
    let pointer = UnsafeMutablePointer<Value>.allocate(capacity: 3)
    pointer.initialize(from: values, count: 3)
    defer { pointer.deallocate() }
    _ = try state.create(pointer)
}

/// The first writer makes the accounts; each makes the row that counts its transactions (id 1000 + its own).
func prepare(_ database: Database, _ id: Int64) throws(StoreError) -> Int64 {
    let transaction = try WriteTransaction.begin(database)
    if transaction.schema.classes.isEmpty {
        try transaction.setSchema(schema)
        let state = try transaction.state(0)
        for account in 0..<accounts { try create(state, account, startBalance) }
    }
    let state = try transaction.state(0)
    if try state.find(primaryKey: .int(1000 + id)) == nil { try create(state, 1000 + id, 0) }
    let count = try state.value(try state.find(primaryKey: .int(1000 + id))!, 1).low
    try transaction.commit()
    return count
}

func transfer(_ database: Database, _ id: Int64, _ count: Int64, _ random: inout RandomNumbers) throws(StoreError) {
    let transaction = try WriteTransaction.begin(database)
    let state = try transaction.state(0)
    let from = Int64(random.below(Int(accounts))), to = Int64(random.below(Int(accounts)))
    let amount = Int64(random.below(20))
    for (account, change) in [(from, -amount), (to, amount)] {
        let key = try state.find(primaryKey: .int(account))!
        try state.update(key, 1, .int(try state.value(key, 1).low + change))
    }
    try state.update(try state.find(primaryKey: .int(1000 + id))!, 1, .int(count))
    if random.below(50) == 0 { transaction.forceSummary() }
    try transaction.commit(random.below(4) == 0 ? .relaxed(milliseconds: 5) : .full)
}

func writer(_ path: String, _ id: Int64, _ acks: String, forks: Bool) throws(StoreError) -> Never {
    let database = try open(path)
    var count = try prepare(database, id)
    if forks {
        // A child that sleeps: if it kept the locks of its parent, no other could continue after the parent's death.
        _ = ChildProcess.start { _ in sleep(600) }
    }
    var random = RandomNumbers(seed: UInt64(getpid()) &* 77 &+ UInt64(id))
    let file = Glibc.open(acks, O_WRONLY | O_CREAT | O_CLOEXEC, 0o644)
    if file < 0 { fail("cannot open \(acks)") }
    print("ready")
    fflush(nil)
    while true {
        count += 1
        try transfer(database, id, count, &random)
        // Only commits that waited for the medium are promised, but a killed process loses none of either kind.
        var value = count
        if pwrite(file, &value, 8, 0) != 8 { fail("cannot write \(acks)") }
    }
}

func sum(_ snapshot: Snapshot) throws(StoreError) -> (sum: Int64, accounts: Int64, counters: [Int64: Int64]) {
    var total: Int64 = 0, number: Int64 = 0
    var counters: [Int64: Int64] = [:]
    try snapshot.forEachObject(0) { (_, values) throws(StoreError) in
        if values[0].low < 1000 {
            total += values[1].low
            number += 1
        } else {
            counters[values[0].low - 1000] = values[1].low
        }
    }
    return (total, number, counters)
}

/// The counters of the writers; ends the run where the bank is not whole.
func counters(_ snapshot: Snapshot) throws(StoreError) -> [Int64: Int64] {
    let found = try sum(snapshot)
    if found.accounts != accounts || found.sum != accounts * startBalance {
        fail("version \(snapshot.version): \(found.accounts) accounts with \(found.sum)")
    }
    return found.counters
}

/// What a writer was promised, as it noted in that file; 0: nothing yet.
func promised(_ path: String) -> Int64 {
    var value: Int64 = 0
    let file = Glibc.open(path, O_RDONLY | O_CLOEXEC)
    if file < 0 { return 0 }
    defer { Glibc.close(file) }
    return pread(file, &value, 8, 0) == 8 ? value : 0
}

func reader(_ path: String) throws(StoreError) -> Never {
    let database = try open(path)
    print("ready")
    fflush(nil)
    var reads = 0
    while true {
        let snapshot = try database.snapshot()
        if snapshot.schema.classes.isEmpty { continue }
        for _ in 0..<3 {
            _ = try counters(snapshot)
        }
        reads += 1
        if reads % 1000 == 0, let finding = Verifier.findings(snapshot).first {
            fail("version \(snapshot.version): \(finding)")
        }
    }
}

func check(_ path: String, _ acks: ArraySlice<String>) throws(StoreError) {
    let database = try open(path)
    let snapshot = try database.snapshot()
    let findings = Verifier.findings(snapshot)
    if !findings.isEmpty { fail(findings.joined(separator: "\n")) }
    let counters = try counters(snapshot)
    var transactions: Int64 = 0
    for (id, path) in acks.enumerated() {
        let count = counters[Int64(id), default: 0], value = promised(path)
        if count < value { fail("writer \(id) was promised transaction \(value), the store has \(count)") }
        transactions += count
    }
    print("version \(snapshot.version), \(transactions) transactions, sum \(accounts * startBalance), sound")
    _ = consume snapshot
    try database.close()
}

/// Latency of durable commits of one object, without the C layer.
func commit(_ path: String, _ number: Int) throws(StoreError) {
    let database = try open(path)
    _ = try prepare(database, 0)
    var random = RandomNumbers(seed: 1)
    var times: [Double] = []
    for index in 0..<number {
        var a = timespec(), b = timespec()
        clock_gettime(CLOCK_MONOTONIC, &a)
        let transaction = try WriteTransaction.begin(database)
        let state = try transaction.state(0)
        let key = try state.find(primaryKey: .int(Int64(random.below(Int(accounts)))))!
        try state.update(key, 1, .int(Int64(index)))
        try transaction.commit()
        clock_gettime(CLOCK_MONOTONIC, &b)
        times.append(Double(b.tv_sec - a.tv_sec) * 1e6 + Double(b.tv_nsec - a.tv_nsec) / 1e3)
    }
    times.sort()
    print("commit: p50 \(times[number / 2]) µs, p99 \(times[number * 99 / 100]) µs")
    try database.close()
}

/// Reads the newest version over and over, pinning it again each time.
func spin(_ path: String, _ rounds: Int) throws(StoreError) {
    let database = try open(path)
    var seen = 0
    for _ in 0..<rounds {
        let snapshot = try database.snapshot()
        seen += try snapshot.sumOfInts(0, 1).count
    }
    print("\(seen) objects")
    try database.close()
}

let words = CommandLine.arguments
// The control: a mistake that must be noticed.
if let name = getenv("STORM_BUG"), let bug = InjectedBug(named: String(cString: name)) {
    InjectedBug.set(bug, true)
}
guard words.count >= 3 else {
    fail("usage: storm writer|reader|check|commit|spin|lives-writer|lives-reader|lives-check PATH …")
}
do throws(StoreError) {
    switch words[1] {
    case "writer": try writer(words[2], Int64(words[3])!, words[4], forks: words.count > 5)
    case "reader": try reader(words[2])
    case "check": try check(words[2], words[3...])
    case "commit": try commit(words[2], Int(words[3])!)
    case "lives-writer": try Lives.writer(words[2], Int64(words[3])!, words[4])
    case "lives-reader": try Lives.reader(words[2])
    case "lives-check": try Lives.check(words[2], words[3])
    case "spin": try spin(words[2], Int(words[3])!)
    default: fail("unknown mode \(words[1])")
    }
} catch {
    fail("\(error)")
}

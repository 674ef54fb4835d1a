import ObjStoreCore
import ObjStoreSimulation

/// Everything that a version consists of, read object by object; its indexes are compared with the objects by
/// `Verifier` at the same time.
private struct Dump: Equatable {
    var objects: [[String]] = []
    var findings: [String] = []

    init(_ snapshot: Snapshot) throws(StoreError) {
        for cls in snapshot.schema.classes.indices {
            var lines: [String] = []
            try snapshot.forEachObject(cls) { (key, values) throws(StoreError) in
                let text =
                    values[2].isNull
                    ? "-"
                    : String(
                        decoding: UnsafeRawBufferPointer(start: values[2].pointer, count: values[2].count),
                        as: UTF8.self)
                var trail = ""
                try snapshot.elements(cls, 5, of: key, values[5]).forEach { name, value in
                    trail += " \(name.low):\(value.low)"
                    return true
                }
                lines.append(
                    "\(key): \(values[0].low) \(values[1].low) \(text) \(values[3].text) \(values[4].text)\(trail)")
            }
            objects.append(lines)
        }
        findings = Verifier.findings(snapshot)
    }

    /// The first difference, for people.
    func difference(_ other: Dump) -> String {
        for (cls, (a, b)) in zip(objects, other.objects).enumerated() where a != b {
            let at = zip(a, b).enumerated().first { $0.element.0 != $0.element.1 }?.offset ?? min(a.count, b.count)
            return
                """
                class \(cls), object \(at): live \(at < a.count ? a[at] : "none"), replayed \
                \(at < b.count ? b[at] : "none")
                """
        }
        return objects.count != other.objects.count
            ? "\(objects.count) classes live, \(other.objects.count) replayed"
            : "findings \(findings) live, \(other.findings) replayed"
    }
}

/// Random transactions, then every process is killed; what recovery makes of the log behind the last checkpoint
/// must be what was there: object keys, values, schema, every index. Several lives, each on the last one's.
///
/// Returns what is wrong, and how many records were replayed.
private func replayHistory(_ seed: UInt64) -> (violation: String?, records: Int) {
    World.note("replay seed \(seed)")
    var random = RandomNumbers(seed: seed)
    var options = History.storeOptions(false)
    // Large enough that a life's records stay in it.
    options.logBytes = 1 << 20
    options.shared.ringEntries = 64
    if seed % 2 == 0 { options.transactionBytes = 16 << 10 }
    var worldOptions = World.Options()
    worldOptions.addressSpace = 1 << 31
    let history = History(Choices(seed: seed, profile: Profile()), worldOptions, seed: seed, options: options)
    let world = history.world
    world.faults = false
    let kinds: [History.Kind] = [.synced, .relaxed, .group, .many, .addClass, .columns, .scattered]
    var records = 0
    var problem: String?
    func fail(_ text: String) { problem = problem ?? text }
    var live: Dump?
    for life in 0..<4 where problem == nil && world.violation == nil {
        let length = 1 + random.below(12), checkpointAt = random.chance(0.3) ? random.below(length) : -1
        let plan = (0..<length).map { _ in
            let kind = kinds[random.below(kinds.count)]
            // Slow, so seldom.
            return kind == .scattered && random.below(8) > 0 ? .synced : kind
        }
        history.launch { database, process in
            do throws(StoreError) {
                let found = try Dump(database.snapshot())
                if let live, found != live { fail("life \(life): \(live.difference(found))") }
                if life > 0 && !database.wasRecovered { fail("life \(life) began without a recovery") }
                for (index, kind) in plan.enumerated() {
                    let members = (0..<(kind == .group ? 2 : 1)).map { _ in history.edits(kind) }
                    try history.transact(
                        members, kind == .relaxed ? StoreOptions.Durability.none : .full, database, process)
                    if index == checkpointAt { try database.checkpoint() }
                }
                live = try Dump(database.snapshot())
                records += Int(database.publishedVersion - database.metaVersionForOracle)
            } catch { fail("life \(life): \(error)") }
        }
        world.drain()
        for process in world.processes { world.kill(process) }
    }
    let violation = problem ?? world.violation
    world.end()
    return (violation, records)
}

func runReplay(_ arguments: Arguments) -> Int32 {
    let start = now(), wanted = arguments.histories == .max ? 200 : arguments.histories
    var histories = 0, records = 0, violations = 0
    // The control: what the log lacks must show, and show here.
    InjectedBug.set(.updateUnlogged, true)
    let found = (0..<100).lazy.compactMap { replayHistory(arguments.seed + $0).violation }.first
    InjectedBug.set(.updateUnlogged, false)
    if found == nil {
        violations += 1
        print("a log without some updates was not noticed")
    }
    while histories < wanted && violations < 5 {
        let seed = arguments.seed + UInt64(histories)
        let (violation, replayed) = replayHistory(seed)
        if let violation {
            violations += 1
            print("seed \(seed): \(violation)")
        }
        histories += 1
        records += replayed
    }
    if records < histories {
        violations += 1
        print("only \(records) records were replayed")
    }
    print(
        """
        \(histories) histories in \(Int(now() - start)) s, \(records) records replayed, violations \(violations), \
        seed \(arguments.seed)
        """
    )
    return violations == 0 ? 0 : 1
}

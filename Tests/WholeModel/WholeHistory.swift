package import ObjStoreCore

/// A random history of one store, made from its seed alone: lives of the store, each with transactions, and what stands in it after
/// each of them.
///
/// ```
///  life:  open (now and then with another schema, a migration, a compaction) ── transactions ── close
///                     │                                                            │ or the machine fails
///                     └─ after a failure: which of the contents that it may have does it have? ◄┘
/// ```
package final class WholeHistory {
    package let seed: UInt64
    /// Prints every operation.
    nonisolated(unsafe) package static var traces = false
    private var chance: Chance
    private let machine: Machine
    private let path: String
    private var store: Store?
    private var isRelaxed = false
    /// Set when the machine failed: the content has to be found out.
    private var isUnknown = true
    /// Contents since the last one that is certainly durable, which is the first; the last one is what was committed last.
    private var contents: [Content]
    /// What a commit may have written that did not come to an end.
    private var pending: Content?
    private var life = 0, transactions = 0
    private var worker: Worker?
    /// A version that is kept, and what it must go on to say.
    private var kept: (view: View, content: Content)?
    private var step = "begin" { didSet { if WholeHistory.traces { print("  \(step)") } } }

    /// For reports.
    package private(set) var counts: [String: Int] = [:]
    package private(set) var recovered = 0
    /// Contents that were compared as a whole.
    package private(set) var compared = 0

    package init(seed: UInt64, path: String, machine: Machine = RealMachine.shared) {
        self.seed = seed
        self.path = path
        self.machine = machine
        chance = Chance(seed)
        contents = [Content(Plan())]
    }

    private init(of other: WholeHistory, machine: Machine) {
        seed = other.seed
        path = other.path
        self.machine = machine
        chance = other.chance
        contents = other.contents
        pending = other.pending
        life = other.life
        transactions = other.transactions
        counts = other.counts
        recovered = other.recovered
        compared = other.compared
    }

    /// The same history on a machine that was started again: whatever this one still holds is never used again.
    ///
    /// - Parameter losesMemory: the power was cut, so that what was not synced may be lost.
    package func next(on machine: Machine, losesMemory: Bool) -> WholeHistory {
        // Nothing of what it holds may run any more, not even to be freed.
        _ = Unmanaged.passRetained(self)
        // Whoever was killed before it had found that out has changed nothing.
        if !losesMemory, !isUnknown { contents.removeFirst(contents.count - 1) }
        return WholeHistory(of: self, machine: machine)
    }

    /// Where the history is, for people.
    package var place: String {
        "life \(life), transaction \(transactions), \(step)\(worker.map { ", after\n    " + $0.log.joined(separator: "\n    ") } ?? "")"
    }

    // MARK: Lives

    /// One life: opens, writes, and closes the store again.
    package func live(transactions count: Int, steps: Int) throws {
        life += 1
        if isUnknown { try findOut() }
        try open()
        for _ in 0..<count { try transact(steps: steps) }
        step = "close"
        try close()
    }

    private func configuration(_ plan: Plan?, dropping: [String] = []) throws -> StoreConfiguration {
        var configuration = StoreConfiguration()
        configuration.place = .file(path)
        if let plan {
            configuration.schema = try must("schema") { () throws(StoreError) in try plan.draft(dropping: dropping) }
            configuration.schemaVersion = plan.version
        }
        isRelaxed = chance.percent(30)
        if isRelaxed { configuration.durability = .relaxed(milliseconds: 5) }
        if chance.percent(30) { try must("limit") { () throws(StoreError) in try configuration.set(.transactionBytes, 64 << 10) } }
        return configuration
    }

    /// Which of its possible contents the store has.
    private func findOut() throws {
        step = "recovery"
        let configuration = try configuration(nil)
        let store = try must("open after a failure") { () throws(StoreError) in try Store.open(configuration, machine: machine) }
        self.store = store
        recovered += 1
        let view = try must("view") { () throws(StoreError) in try store.openView().freeze() }
        var problems: [String] = []
        for content in [pending].compactMap({ $0 }) + contents.reversed() {
            do {
                let session = try Session(view, content.plan)
                try session.compareSchema("after recovery")
                try session.compare(content, "after recovery")
                try Session.verify(view, "after recovery")
                compared += 1
                contents = [content]
                pending = nil
                isUnknown = false
                return try close()
            } catch Stop.problem(let text) {
                problems.append(text)
            }
        }
        throw problem("recovery: none of \(problems.count) contents that may be there; against the newest: \(problems.first ?? "none")")
    }

    private func open() throws {
        var evolution = Evolution(contents.last!, &chance)
        step = evolution.name
        var configuration = try configuration(evolution.plan, dropping: evolution.dropped)
        if chance.percent(15) { configuration.steps.compaction = { (_, _) throws(StoreError) in true } }
        nonisolated(unsafe) var stop: Stop?
        nonisolated(unsafe) var migrated: Content?
        let before = evolution
        nonisolated(unsafe) let this = self
        if evolution.migrates {
            configuration.steps.migration = { (new, old, _, _) throws(StoreError) in
                do { migrated = try this.migrate(new, old, before) } catch let error as Stop {
                    stop = error
                    throw StoreError(.callback, "the model stops")
                } catch { throw StoreError(.callback, "\(error)") }
                if before.fails { throw StoreError(.callback, "the migration fails") }
            }
        }
        // Whatever a migration makes of it is known only when it has run, before the commit.
        var refusals = evolution.schemaRefusals.isEmpty ? evolution.contentRefusals : evolution.schemaRefusals
        pending = evolution.migrates || !refusals.isEmpty ? nil : evolution.content
        let result = attempt { () throws(StoreError) in try Store.open(configuration, machine: machine) }
        if let stop { throw stop }
        if let migrated {
            evolution.content = migrated
            if refusals.isEmpty { refusals = evolution.fails ? [.callback] : evolution.refusals(of: migrated) }
        }
        switch result {
        case .success(let store):
            self.store = store
            if !refusals.isEmpty { throw problem("refusal: \(evolution.name) succeeded, should be refused as \(refusals)") }
            if evolution.migrates, migrated == nil { throw problem("\(evolution.name): the migration did not run") }
            counts[evolution.plan.version == contents.last!.plan.version ? "open" : "open with another schema", default: 0] += 1
            did(evolution.content, durable: true)
        case .failure(let error):
            if error.isOfMachine { throw Stop.engine(error) }
            if !refusals.contains(error.code) { throw problem("\(evolution.name): \(error.code) \(error.message)") }
            counts["open refused: \(error.code)", default: 0] += 1
            pending = nil
            let configuration = try self.configuration(contents.last!.plan)
            store = try must("open after a refusal") { () throws(StoreError) in try Store.open(configuration, machine: machine) }
        }
        try compareNow("after \(step)")
    }

    /// What a migration does, and what it makes of the content.
    private func migrate(_ view: View, _ old: View, _ evolution: Evolution) throws -> Content {
        var migrator = try Migrator(evolution, view, old)
        try migrator.run { self.worker = $0 }
        for (name, count) in migrator.counts { counts[name, default: 0] += count }
        pending = evolution.fails || !evolution.refusals(of: migrator.content).isEmpty ? nil : migrator.content
        return migrator.content
    }

    private func did(_ content: Content, durable: Bool) {
        pending = nil
        if durable { contents = [content] } else { contents.append(content) }
    }

    private func close() throws {
        guard let store else { return }
        kept = nil
        try must("close") { () throws(StoreError) in try store.close() }
        self.store = nil
        contents.removeFirst(contents.count - 1)
    }

    private func compareNow(_ when: String) throws {
        let view = try must("view") { () throws(StoreError) in try store!.openView() }, frozen = try must("view") { () throws(StoreError) in try view.freeze() }
        defer {
            frozen.close()
            view.close()
        }
        let session = try Session(frozen, contents.last!.plan)
        try session.compareSchema(when)
        try session.compare(contents.last!, when)
        try Session.verify(frozen, when)
        compared += 1
    }

    // MARK: Transactions

    private func transact(steps: Int) throws {
        transactions += 1
        step = "begin"
        let store = store!, view = try must("begin") { () throws(StoreError) in try store.begin() }
        let worker = Worker(try Session(view, contents.last!.plan), contents.last!, Chance(chance.next()))
        self.worker = worker
        defer { for (name, count) in worker.counts { counts[name, default: 0] += count } }
        for number in 0..<(1 + chance.below(steps)) {
            step = "step \(number)"
            try worker.step()
        }
        if chance.percent(30) { try worker.session.compare(worker.content, "inside the transaction") }
        if chance.percent(15) {
            step = "cancel"
            try must("cancel") { () throws(StoreError) in try view.cancel() }
        } else {
            step = "commit"
            pending = worker.content
            try must("commit") { () throws(StoreError) in try view.commit() }
            did(worker.content, durable: !isRelaxed)
        }
        counts[step, default: 0] += 1
        try compareNow("after \(step)")
        self.worker = nil
        try between()
        try lookBack()
    }

    /// A frozen view says the same for ever, whatever was written, cut off and compacted since.
    private func lookBack() throws {
        if let (view, content) = kept {
            if chance.percent(60) { return }
            step = "an old version"
            try Session(view, content.plan).compare(content, step)
            view.close()
            kept = nil
            counts[step, default: 0] += 1
        } else if chance.percent(30) {
            let store = store!, view = try must("view") { () throws(StoreError) in try store.openView() }
            kept = (try must("freeze") { () throws(StoreError) in try view.freeze() }, contents.last!)
            view.close()
        }
    }

    /// What happens to a store beside transactions.
    private func between() throws {
        let store = store!
        switch chance.below(20) {
        case 0, 1:
            step = "checkpoint"
            try must(step) { () throws(StoreError) in try store.checkpoint() }
        case 2:
            step = "compact"
            try must(step) { () throws(StoreError) in try store.compact { (_, _) throws(StoreError) in } }
            try compareNow("after compacting")
        case 3:
            step = "copy"
            try copy()
        case 4:
            step = "flush"
            try must(step) { () throws(StoreError) in try store.flush() }
            contents.removeFirst(contents.count - 1)
        default: break
        }
    }

    private func copy() throws {
        let target = path + "-copy\(life)-\(transactions)", store = store!
        let view = try must("view") { () throws(StoreError) in try store.openView() }
        defer { view.close() }
        try must("copy") { () throws(StoreError) in try view.copy(to: target, machine: machine) { (_, _) throws(StoreError) in } }
        var configuration = StoreConfiguration()
        configuration.place = .file(target)
        let copy = try must("open the copy") { () throws(StoreError) in try Store.open(configuration, machine: machine) }
        let other = try must("view of the copy") { () throws(StoreError) in try copy.openView() }, frozen = try must("view of the copy") { () throws(StoreError) in try other.freeze() }
        try Session(frozen, contents.last!.plan).compare(contents.last!, "in a copy")
        try Session.verify(frozen, "in a copy")
        try must("close the copy") { () throws(StoreError) in try copy.close() }
        try must("delete the copy") { () throws(StoreError) in try StoreFiles.delete(target, machine: machine) }
        counts["copy", default: 0] += 1
    }
}

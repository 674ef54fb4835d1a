package import ObjStoreCore

/// A random history of one store, made from its seed alone: lives of the store, each with transactions, and its content
/// after each of them.
///
/// ```
///  life:  open (now and then with another schema, a migration, a compaction) ── transactions ── close
///                     │                                                            │ or the machine fails
///                     └─ after a failure: which of the contents that it may have does it have? ◄┘
/// ```
///
/// In some lives transactions come from two users in turn, see `Companion`.
package final class WholeHistory {
    package let seed: UInt64
    /// Prints every operation.
    nonisolated(unsafe) package static var traces = false
    var chance: Chance
    let machine: Machine
    let path: String
    /// The process that lives the life, once the store is open.
    private(set) var user: User?
    /// What the next life has beside it, and what that is as a user.
    package var companion: Companion?
    var other: User?
    /// Set when the machine failed: the content has to be found out.
    private var isUnknown = true
    /// Then it is what was committed last, or what a commit may have written: only processes were killed.
    private var isNewest = false
    /// Contents since the last one that is certainly durable, which is the first; the last one is what was committed
    /// last.
    private(set) var contents: [Content]
    /// Whose those are.
    private var unsynced: [Machine] = []
    /// What a commit may have written that did not come to an end.
    var pending: Content?
    /// What a companion may have written that died over it, though the next writer did not find it: its record can come
    /// back until a later commit is durable.
    var abandoned: Content?
    private(set) var life = 0
    private var transactions = 0
    var worker: Worker?
    /// A version that is kept, and what it must keep saying.
    private var kept: (view: View, content: Content)?

    /// A process that has the store open.
    struct User {
        let store: Store
        let machine: Machine
        let configuration: StoreConfiguration
        /// Its commits may be lost with the power.
        var isRelaxed: Bool { if case .relaxed = configuration.durability { true } else { false } }
    }

    var step = "begin" { didSet { if WholeHistory.traces { print("  \(step)") } } }

    /// For reports.
    package internal(set) var counts: [String: Int] = [:]
    package private(set) var recovered = 0
    /// Contents that were compared as a whole.
    package private(set) var compared = 0
    /// Of these, what an open after a crash found.
    package private(set) var comparedAfterCrash = 0

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
        unsynced = other.unsynced
        pending = other.pending
        abandoned = other.abandoned
        life = other.life
        transactions = other.transactions
        counts = other.counts
        recovered = other.recovered
        compared = other.compared
        comparedAfterCrash = other.comparedAfterCrash
    }

    /// The same history on a machine that was started again: whatever this one still holds is never used again.
    ///
    /// - Parameter losesMemory: the power was cut, so that what was not synced may be lost.
    package func next(on machine: Machine, losesMemory: Bool) -> WholeHistory {
        // Nothing of what it holds may run any more, not even to be freed.
        _ = Unmanaged.passRetained(self)
        let next = WholeHistory(of: self, machine: machine)
        // Whoever was killed before it had found that out has changed nothing.
        next.isNewest = !losesMemory && (isNewest || !isUnknown)
        return next
    }

    /// Where the history is, for people.
    package var place: String {
        """
        life \(life), transaction \(transactions), \
        \(step)\(worker.map { ", after\n    " + $0.log.joined(separator: "\n    ") } ?? "")
        """
    }

    // MARK: Lives

    /// One life: opens, writes, and closes the store again.
    package func live(transactions count: Int, steps: Int) throws {
        life += 1
        if isUnknown { try findOut() }
        try open()
        try ofCompanion { try $0.join($1) }
        for _ in 0..<count {
            if other != nil, chance.percent(50) {
                try ofCompanion { this, _ in
                    this.counts["transaction of a companion", default: 0] += 1
                    try this.transact(this.other!, steps: steps)
                }
                try compareNow(user!, "after a transaction of the companion")
            } else {
                try transact(user!, steps: steps)
                if chance.percent(50) {
                    try ofCompanion { this, _ in try this.compareNow(this.other!, "for the companion") }
                }
            }
            try lookBack()
        }
        let leavesFirst = chance.percent(50)
        if leavesFirst { try leave() }
        step = "close"
        try close()
        if !leavesFirst { try leave() }
        if chance.percent(10) { try compareSalvaged(try salvage(), contents.suffix(1)) }
    }

    func configuration(_ plan: Plan?, dropping: [String] = []) throws -> StoreConfiguration {
        var configuration = StoreConfiguration()
        configuration.place = .file(path)
        if let plan {
            configuration.schema = try must("schema") { () throws(StoreError) in try plan.draft(dropping: dropping) }
            configuration.schemaVersion = plan.version
        }
        if chance.percent(30) { configuration.durability = .relaxed(milliseconds: 5) }
        if chance.percent(30) {
            try must("limit") { () throws(StoreError) in try configuration.set(.transactionBytes, 64 << 10) }
        }
        return configuration
    }

    func open(_ configuration: StoreConfiguration, _ what: String, _ machine: Machine) throws -> User {
        let store = try must(what) { () throws(StoreError) in try Store.open(configuration, machine: machine) }
        return User(store: store, machine: machine, configuration: configuration)
    }

    /// Which of its possible contents the store has.
    private func findOut() throws {
        step = "recovery"
        let salvaged = chance.percent(25) ? try salvage() : nil
        step = "recovery"
        let configuration = try configuration(nil)
        let store = try open(configuration, "open after a failure", machine)
        user = store
        recovered += 1
        let view = try must("view") { () throws(StoreError) in try store.store.openView().freeze() }
        // A commit that only processes outlived is where the abandoned one was.
        let returning = isNewest && contents.count > 1 ? nil : abandoned
        let candidates =
            [pending].compactMap { $0 } + (isNewest ? contents.suffix(1) : contents.reversed())
            + [returning].compactMap { $0 }
        let content = try recognise(view, candidates, "recovery")
        try Session.verify(view, "after recovery")
        comparedAfterCrash += 1
        did(content)
        isUnknown = false
        try close()
        try compareSalvaged(salvaged, candidates)
    }

    /// Which of these contents a view has.
    func recognise(_ view: View, _ candidates: [Content], _ when: String) throws -> Content {
        var problems: [String] = []
        for content in candidates {
            do {
                let session = try Session(view, content.plan)
                try session.compareSchema("in \(when)")
                try session.compare(content, "in \(when)")
                compared += 1
                return content
            } catch Stop.problem(let text) {
                problems.append(text)
            }
        }
        throw problem(
            """
            \(when): none of \(problems.count) contents that may be there; against the newest: \
            \(problems.first ?? "none")
            """
        )
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
            user = User(store: store, machine: machine, configuration: configuration)
            if !refusals.isEmpty {
                throw problem("refusal: \(evolution.name) succeeded, should be refused as \(refusals)")
            }
            if evolution.migrates, migrated == nil { throw problem("\(evolution.name): the migration did not run") }
            let isSame = evolution.plan.version == contents.last!.plan.version
            counts[isSame ? "open" : "open with another schema", default: 0] += 1
            did(evolution.content)
        case .failure(let error):
            if error.isOfMachine { throw Stop.engine(error) }
            if !refusals.contains(error.code) { throw problem("\(evolution.name): \(error.code) \(error.message)") }
            counts["open refused: \(error.code)", default: 0] += 1
            pending = nil
            user = try open(try self.configuration(contents.last!.plan), "open after a refusal", machine)
        }
        try compareNow(user!, "after \(step)")
    }

    /// What a migration does, and what it makes of the content.
    private func migrate(_ view: View, _ old: View, _ evolution: Evolution) throws -> Content {
        var migrator = try Migrator(evolution, view, old)
        try migrator.run { self.worker = $0 }
        for (name, count) in migrator.counts { counts[name, default: 0] += count }
        pending = evolution.fails || !evolution.refusals(of: migrator.content).isEmpty ? nil : migrator.content
        return migrator.content
    }

    /// A commit came to its end.
    ///
    /// - Parameter relaxed: its maker, if it may be lost with the power.
    func did(_ content: Content, by relaxed: User? = nil) {
        pending = nil
        contents.append(content)
        if let relaxed { unsynced.append(relaxed.machine) } else { isDurable() }
    }

    /// All commits are.
    func isDurable() {
        if contents.count > 1 { abandoned = nil }
        contents.removeFirst(contents.count - 1)
        unsynced = []
    }

    /// A process makes its own commits durable before it leaves, no others.
    func hasLeft(_ user: User) {
        if unsynced.allSatisfy({ $0 === user.machine }) { isDurable() }
    }

    private func close() throws {
        guard let user else { return }
        kept = nil
        try must("close") { () throws(StoreError) in try user.store.close() }
        self.user = nil
        hasLeft(user)
    }

    func compareNow(_ user: User, _ when: String) throws {
        let view = try must("view") { () throws(StoreError) in try user.store.openView() },
            frozen = try must("view") { () throws(StoreError) in try view.freeze() }
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

    private func transact(_ user: User, steps: Int) throws {
        transactions += 1
        step = "begin"
        let view = try must("begin") { () throws(StoreError) in try user.store.begin() }
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
            // One that changes nothing writes nothing, and makes no other process's commits durable.
            if contents.last!.difference(worker.content) == nil {
                pending = nil
            } else {
                did(worker.content, by: user.isRelaxed ? user : nil)
            }
        }
        counts[step, default: 0] += 1
        try compareNow(user, "after \(step)")
        self.worker = nil
        try between(user)
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
            let view = try must("view") { [user] () throws(StoreError) in try user!.store.openView() }
            kept = (try must("freeze") { () throws(StoreError) in try view.freeze() }, contents.last!)
            view.close()
        }
    }

    /// What happens to a store beside transactions.
    private func between(_ user: User) throws {
        let store = user.store
        switch chance.below(20) {
        case 0, 1:
            step = "checkpoint"
            try must(step) { () throws(StoreError) in try store.checkpoint() }
        case 2:
            step = "compact"
            try must(step) { () throws(StoreError) in try store.compact { (_, _) throws(StoreError) in } }
            try compareNow(user, "after compacting")
        case 3:
            step = "copy"
            try copy(user)
        case 4:
            step = "flush"
            try must(step) { () throws(StoreError) in try store.flush() }
            isDurable()
        default: break
        }
    }

    private func copy(_ user: User) throws {
        let target = path + "-copy\(life)-\(transactions)"
        let view = try must("view") { () throws(StoreError) in try user.store.openView() }
        defer { view.close() }
        try must("copy") { () throws(StoreError) in
            try view.copy(to: target, machine: user.machine) { (_, _) throws(StoreError) in }
        }
        var configuration = StoreConfiguration()
        configuration.place = .file(target)
        try compareStore(configuration, contents.suffix(1), "copy", user.machine)
        counts["copy", default: 0] += 1
    }
}

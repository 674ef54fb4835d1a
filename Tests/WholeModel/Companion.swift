package import ObjStoreCore

/// The other user of a store in one life: a process beside the one that lives it, or another handle of the same one.
///
/// ```
///  the life      asks ──┐ waits …           ┌── goes on, or finds out what is there: the companion died over it
///                       ▼                   │
///  the companion      answers ──── done ────┘
/// ```
package final class Companion {
    /// Of its process.
    let machine: Machine
    private let pause: (Companion) -> Void
    private let isThere: (Companion) -> Bool
    /// Whether its machine fails now and then.
    let mayFail: () -> Bool
    private var request: (() throws -> Void)?
    private var outcome: Result<Void, any Error>?

    /// - Parameter pause: lets it run, where the life waits.
    /// - Parameter isThere: false where its process is dead.
    package init(
        machine: Machine, pause: @escaping (Companion) -> Void, isThere: @escaping (Companion) -> Bool,
        mayFail: @escaping () -> Bool
    ) {
        self.machine = machine
        self.pause = pause
        self.isThere = isThere
        self.mayFail = mayFail
    }

    /// Another handle of this process, in the same thread.
    package static func inThisProcess(_ machine: Machine = RealMachine.shared) -> Companion {
        Companion(machine: machine, pause: { $0.answer() }, isThere: { _ in true }, mayFail: { false })
    }

    /// What it does all the time: whatever it is asked.
    package func answer() {
        guard let request else { return }
        self.request = nil
        let result = Result { try request() }
        outcome = result
    }

    /// Has it do something. False: it died over that.
    func ask(_ request: @escaping () throws -> Void) throws -> Bool {
        outcome = nil
        self.request = request
        while outcome == nil {
            guard isThere(self) else { return false }
            pause(self)
        }
        try outcome!.get()
        return true
    }
}

extension WholeHistory {
    /// Has the companion do something. Where it dies over that, or its machine fails, it is gone, and what it did is
    /// found out.
    func ofCompanion(_ body: @escaping (WholeHistory, Companion) throws -> Void) throws {
        guard let companion else { return }
        do {
            if try companion.ask({ try body(self, companion) }) { return }
            counts["companion killed", default: 0] += 1
        } catch let error as Stop {
            guard case .engine = error, companion.mayFail() else { throw error }
            counts["companion failed", default: 0] += 1
        }
        // Its store is never used again, not even to be freed.
        if let other { _ = Unmanaged.passRetained(other.store) }
        (self.companion, other, worker) = (nil, nil, nil)
        if let user { try settle(user) }
    }

    /// The companion opens the store.
    func join(_ companion: Companion) throws {
        step = "companion opens"
        var configuration = try configuration(chance.percent(30) ? nil : contents.last!.plan)
        if companion.machine === machine {
            // Handles of one process agree in what they share.
            configuration = user!.configuration
            (configuration.steps.migration, configuration.steps.compaction) = (nil, nil)
        }
        other = try open(configuration, "open by a companion", companion.machine)
        try compareNow(other!, "for the companion")
        counts["companion", default: 0] += 1
    }

    /// The companion closes the store.
    func leave() throws {
        try ofCompanion { this, _ in
            this.step = "companion closes"
            try must("close by a companion") { () throws(StoreError) in try this.other!.store.close() }
            this.hasLeft(this.other!)
        }
        (companion, other) = (nil, nil)
    }

    /// Whether the transaction is there over which the companion died: the next writer knows.
    private func settle(_ user: User) throws {
        step = "after the companion's end"
        let view = try must("begin") { () throws(StoreError) in try user.store.begin() }
        let content = try recognise(view, contents.suffix(1) + [pending].compactMap { $0 }, step)
        try must("cancel") { () throws(StoreError) in try view.cancel() }
        // Readers see it only when it is durable, which now concerns only the next writer.
        try must("checkpoint") { () throws(StoreError) in try user.store.checkpoint() }
        // What is not there can still come back when all have died, as long as no later commit is durable: its record
        // is in the log.
        if contents.last!.difference(content) == nil {
            isDurable()
            abandoned = pending
        } else {
            did(content)
        }
        try compareNow(user, step)
    }
}

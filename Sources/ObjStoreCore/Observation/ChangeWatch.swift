/// Notices new versions, of this and other processes: one thread a store, only while somebody observes.
///
/// It sleeps on the shared EVENT word, which every publication changes, and never polls.
final class ChangeWatch: @unchecked Sendable {
    private let machine: Machine
    private let shared: SharedState
    /// One start or stop of the thread at a time.
    private let lifecycle = Lock()
    private var thread: BackgroundThread?

    private let lock = Lock()
    // Under `lock`; a hub's own lock may be taken inside.
    private var hubs: [ObserverHub] = []
    private var stops = false
    private var threadNumber: UInt = 0
    private var handlerCalls: UInt64 = 0

    init(_ machine: Machine, _ shared: SharedState) {
        self.machine = machine
        self.shared = shared
    }

    func add(_ hub: ObserverHub) throws(StoreError) {
        if isOnThread {
            // A handler on this very thread: it runs already.
            lock.withLock { if !hubs.contains(where: { $0 === hub }) { hubs.append(hub) } }
            return
        }
        try lifecycle.withLock { () throws(StoreError) in
            lock.withLock {
                stops = false
                if !hubs.contains(where: { $0 === hub }) { hubs.append(hub) }
            }
            if thread != nil { return }
            let seen = shared.published.load()
            thread = try BackgroundThread(name: "objstore watch") { [unowned self] _ in self.run(from: seen) }
        }
    }

    /// If the hub has no observers any more. The last hub to go ends the thread; from the thread itself that is
    /// left to the next one, or to the end of the store.
    func remove(_ hub: ObserverHub) {
        func drop() -> Bool {
            lock.withLock {
                if !hub.isNeeded { hubs.removeAll { $0 === hub } }
                return hubs.isEmpty
            }
        }
        if isOnThread {
            _ = drop()
            return
        }
        lifecycle.withLock { if drop() { end() } }
    }

    func count(_ calls: Int) { lock.withLock { handlerCalls += UInt64(calls) } }

    /// Observers that are open, and calls of handlers so far, of all hubs of the process.
    var statistics: (observers: Int, calls: UInt64) { lock.withLock { (hubs.reduce(0) { $0 + $1.observerCount }, handlerCalls) } }

    /// With the store.
    func stop() {
        lifecycle.withLock {
            lock.withLock { hubs.removeAll() }
            end()
        }
    }

    /// Makes the thread look again.
    func wake() { shared.event.ring(machine) }

    private func end() {
        guard let thread else { return }
        lock.withLock { stops = true }
        wake()
        thread.stopAndJoin()
        self.thread = nil
    }

    var isOnThread: Bool { lock.withLock { threadNumber } == ThreadIdentity.current }

    private func run(from start: UInt64) {
        lock.withLock { threadNumber = ThreadIdentity.current }
        defer { lock.withLock { threadNumber = 0 } }
        var seen = start
        while true {
            // In this order: what is published after the look changes the word that is slept on.
            let rings = shared.event.rings
            let published = shared.published.load()
            let (hubs, stops) = lock.withLock { (self.hubs, self.stops) }
            if stops { return }
            var isBusy = published > seen
            if isBusy {
                seen = published
                for hub in hubs { hub.notice(published) }
            }
            for hub in hubs where hub.isDueOnWorker {
                isBusy = true
                hub.deliverOnWorker()
            }
            if !isBusy { shared.event.wait(machine, while: rings, timeout: -1) }
        }
    }
}

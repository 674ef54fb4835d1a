/// Gets notified of new versions, and of what is due for the thread that notices them (`ObserverHub`).
protocol VersionListener: AnyObject {
    /// It has observers, or is about to.
    var isNeeded: Bool { get }
    var observerCount: Int { get }
    /// A version became visible.
    func notice(_ version: UInt64)
    /// Another store has the place of this one: nothing more comes.
    func noticeReplaced()
    /// When one of its observers may be told again, by the monotonic clock; nil: none waits for that.
    var nextDue: Int64? { get }
    /// That time may have come.
    func noticeTime()
    /// Handlers are to be called on the thread.
    var isDueOnWorker: Bool { get }
    func deliverOnWorker()
}

/// Notices new versions, of this and other processes: one thread a store, only while there are observers.
///
/// It sleeps on the shared EVENT word, which every publication changes, and never polls.
final class ChangeWatch: @unchecked Sendable {
    private let machine: Machine
    private let shared: SharedState
    /// One start or stop of the thread at a time.
    private let lifecycle = Lock()
    private var thread: WorkerThread?

    private let lock = Lock()
    // Under `lock`; a hub's own lock may be taken inside.
    private var hubs: [any VersionListener] = []
    private var stops = false
    /// The thread calls handlers now, which may take as long as they like.
    private var isDelivering = false
    /// The thread looks at nothing any more, and is about to return.
    private var hasEnded = false
    private var threadNumber: UInt = 0
    private var handlerCalls: UInt64 = 0

    init(_ machine: Machine, _ shared: SharedState) {
        self.machine = machine
        self.shared = shared
    }

    func add(_ hub: any VersionListener) throws(StoreError) {
        if isOnThread {
            // A handler on this very thread: it runs already.
            lock.withLock { if !hubs.contains(where: { $0 === hub }) { hubs.append(hub) } }
            return
        }
        try lifecycle.withLock { () throws(StoreError) in
            let goesOn = lock.withLock { () -> Bool in
                stops = false
                if !hubs.contains(where: { $0 === hub }) { hubs.append(hub) }
                return thread != nil && !hasEnded
            }
            if goesOn { return }
            thread?.stopAndJoin()
            thread = nil
            lock.withLock { hasEnded = false }
            let seen = shared.published.load()
            thread = try machine.startThread("objstore watch") { [unowned self] _ in self.run(from: seen) }
        }
    }

    /// If the hub has no observers any more. The last hub to go ends the thread. A caller that requests that never
    /// waits for a handler that runs there, which may be waiting for it: the thread then ends by itself, and the next
    /// `add`, or the end of the store, puts it away.
    func remove(_ hub: any VersionListener) {
        if isOnThread {
            lock.withLock { if !hub.isNeeded { hubs.removeAll { $0 === hub } } }
            return
        }
        lifecycle.withLock {
            let (isLast, isBusy) = lock.withLock { () -> (Bool, Bool) in
                if !hub.isNeeded { hubs.removeAll { $0 === hub } }
                if hubs.isEmpty { stops = true }
                return (hubs.isEmpty, isDelivering)
            }
            guard isLast, thread != nil else { return }
            if isBusy { wake() } else { end() }
        }
    }

    func count(_ calls: Int) { lock.withLock { handlerCalls += UInt64(calls) } }

    /// Observers that are open, and calls of handlers so far, of all hubs of the process.
    var statistics: (observers: Int, calls: UInt64) {
        lock.withLock { (hubs.reduce(0) { $0 + $1.observerCount }, handlerCalls) }
    }

    /// With the store.
    func stop() {
        lifecycle.withLock {
            lock.withLock { hubs.removeAll() }
            end()
        }
    }

    /// Makes the thread look again.
    func wake() { shared.event.ringForSure(machine) }

    private func end() {
        guard let thread else { return }
        lock.withLock { stops = true }
        wake()
        thread.stopAndJoin()
        self.thread = nil
    }

    var isOnThread: Bool { lock.withLock { threadNumber } == machine.threadNumber }

    private func run(from start: UInt64) {
        let number = machine.threadNumber
        lock.withLock { threadNumber = number }
        defer { lock.withLock { threadNumber = 0 } }
        var seen = start, isReplaced = false
        while true {
            // In this order: what is published after the look changes the word that is slept on.
            let rings = shared.event.rings
            let published = shared.published.load()
            let (hubs, stops) = lock.withLock { () -> ([any VersionListener], Bool) in
                if self.stops { hasEnded = true }
                return (self.hubs, self.stops)
            }
            if stops { return }
            var isBusy = published > seen
            if isBusy {
                seen = published
                for hub in hubs { hub.notice(published) }
            }
            if shared.isReplaced && !isReplaced {
                (isReplaced, isBusy) = (true, true)
                for hub in hubs { hub.noticeReplaced() }
            }
            for hub in hubs where hub.nextDue != nil { hub.noticeTime() }
            for hub in hubs where hub.isDueOnWorker {
                // A caller that stops the thread knows from here on that it must not wait for it.
                guard
                    lock.withLock({ () -> Bool in
                        isDelivering = !self.stops
                        return isDelivering
                    })
                else { break }
                isBusy = true
                hub.deliverOnWorker()
                lock.withLock { isDelivering = false }
            }
            if isBusy { continue }
            let due = hubs.compactMap(\.nextDue).min()
            let timeout = due.map { max(0, $0 &- machine.monotonic()) } ?? -1
            if timeout != 0 { shared.event.wait(machine, while: rings, timeout: timeout) }
        }
    }
}

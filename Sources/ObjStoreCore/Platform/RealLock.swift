internal import CSystem

/// A lock among processes behind a queue of this process's threads.
///
///     threads ──► spin a little ──► queue (first come, first served) ──► owner ──► word that all processes share
///
/// - The word names the process that has the lock (`LockWords.owner`): taken by compare-and-exchange, released by a
///   store, and taken from a dead process by the one that finds it there. A process is known to live by a lock of
///   the kernel's that it keeps as long as the file is open. Before `attach` an OFD lock on one byte of the file does
///   the same for two system calls.
/// - It belongs to the process: one thread of it, the owner, tries to get it. An owner that releases leaves it to the
///   process's other threads.
/// - A released lock is free for whoever runs: handing it to a thread that sleeps would leave it idle
///   until that thread is awake, with every commit (a convoy). One thread at a time spins for it, and each
///   release wakes the first of the queue, to be the next one that spins. So that no process starves, the
///   first one is given the lock outright once it has waited for `patience`, at most once in that time.
/// - While another process waits, the lock changes hands at most `turn` times before it is free among processes
///   for `pause`, or until the other process has had it.
/// - A thread that waits for another process sleeps on a word that all processes share, which the releaser bumps. Never
///   longer than `longestSleep`: a killed owner wakes no thread. Before `attach` it sleeps with a growing back-off.
///
/// The shared words are touched without the simulation's hook: this lock is never part of one.
/// One object per file and byte: the kernel would grant the byte twice to one description (asserted).
package final class RealLock: ExclusiveLock, @unchecked Sendable {
    private static let turn = 16
    private static let pause: Int64 = 200_000
    private static let longestSleep: Int64 = 20_000_000
    private static let backOff: (first: Int64, last: Int64) = (200_000, 10_000_000)
    /// About twice what a small transaction takes; longer than it takes to sleep and be woken.
    private static let spin: Int64 = 35_000
    private static let patience: Int64 = 1_000_000
    /// Spinning on the only processor keeps the owner from running.
    private static let canSpin = cs_processors() > 1

    private let file: RealFile
    private let byte: Int64

    // Guarded by `queue`.
    private let queue = Lock()
    /// 1 = a thread owns the lock, or tries to get it for the process. Read by spinning threads without `queue`.
    private let taken: UnsafeMutablePointer<UInt32>
    /// The process has the lock, be it that no thread owns it now.
    private var isOurs = false
    private var isSpinning = false
    private var first: UnsafeMutablePointer<Waiter>?
    private var last: UnsafeMutablePointer<Waiter>?
    private var lastHandOver: Int64 = 0
    /// Releases in a row while another process may have been waiting.
    private var streak = 0

    // Belong to the owner.
    /// Another process comes first: the next owner waits a little before it tries.
    private var mustPause = false
    /// `waiters` is set again before every sleep and cleared by the releaser, so a killed one costs one needless wake.
    private var words: LockWords?

    package init(_ file: RealFile, byte: Int64) {
        self.file = file
        self.byte = byte
        taken = .allocate(capacity: 1)
        taken.initialize(to: 0)
        super.init()
        file.claimLock(byte)
    }

    /// Never called: without it the compiler makes one and warns of its recursion.
    private override init() { fatalError() }

    deinit {
        file.dropLock(byte)
        taken.deallocate()
    }

    /// By the owner, or while the lock is not in use.
    package override func attach(_ words: LockWords) { queue.withLock { self.words = words } }

    /// Threads of this process in the queue; for tests.
    package var queued: Int {
        queue.withLock {
            sequence(first: first, next: { $0?.pointee.next }).prefix { $0 != nil }.count
        }
    }

    // MARK: Acquire

    package override func acquire(timeout: Int64) throws(StoreError) -> Bool {
        try acquire(timeout: timeout, until: nil)
    }

    package override func acquire(timeout: Int64, until end: WaitCancellation?) throws(StoreError) -> Bool {
        if file.isInherited { _ = try file.descriptor("lock") }  // throws, and never touches the queue
        let deadline = timeout > 0 ? cs_monotonic_ns() &+ timeout : timeout
        queue.lock()
        if isTaken {
            if timeout == 0 {
                queue.unlock()
                return false
            }
            guard waitForTurn(until: deadline, or: end) else { return false }
        } else {
            isTaken = true
            queue.unlock()
        }
        // This thread is the owner, alone with what belongs to it.
        if isOurs { return true }
        do throws(StoreError) {
            if try takeForProcess(until: deadline, or: end) {
                isOurs = true
                return true
            }
        } catch {
            giveUpOwnership()
            throw error
        }
        giveUpOwnership()
        return false
    }

    private var isTaken: Bool {
        get { cs_load32(taken) != 0 }
        set { cs_store32(taken, newValue ? 1 : 0) }
    }

    private func giveUpOwnership() {
        queue.lock()
        isTaken = false
        settle()
    }

    /// Until this thread owns the lock (true) or the deadline. `queue` is locked at the call and unlocked at the end.
    private func waitForTurn(until deadline: Int64, or end: WaitCancellation?) -> Bool {
        if spinForTurn(until: deadline) { return true }
        var waiter = Waiter(since: cs_monotonic_ns())
        return withUnsafeMutablePointer(to: &waiter) { (waiter) -> Bool in
            if let last { last.pointee.next = waiter } else { first = waiter }
            last = waiter
            while true {
                queue.unlock()
                let isInTime = sleep(waiter, until: deadline, or: end)
                queue.lock()
                if waiter.pointee.grant == Waiter.owner {
                    queue.unlock()
                    return true
                }
                // Called, or late: in any case awake.
                waiter.pointee.grant = Waiter.asleep
                if !isTaken || (isInTime && spinForTurn(until: deadline, unlocking: false)) {
                    isTaken = true
                    remove(waiter)
                    queue.unlock()
                    return true
                }
                if waiter.pointee.grant == Waiter.owner { continue }
                if !isInTime {
                    remove(waiter)
                    settle()
                    return false
                }
            }
        }
    }

    /// Looks for a while whether the lock comes free, if no other thread does. True: it is this thread's.
    private func spinForTurn(until deadline: Int64, unlocking: Bool = true) -> Bool {
        guard RealLock.canSpin, !isSpinning else { return false }
        isSpinning = true
        queue.unlock()
        let start = cs_monotonic_ns()
        let end = deadline < 0 ? start &+ RealLock.spin : min(deadline, start &+ RealLock.spin)
        var count = 0
        while isTaken {
            cs_pause()
            count += 1
            if count & 15 == 0, cs_monotonic_ns() >= end { break }
        }
        queue.lock()
        isSpinning = false
        if isTaken { return false }
        isTaken = true
        if unlocking { queue.unlock() }
        return true
    }

    /// Sleeps until called; false at the deadline, or when its end has come.
    private func sleep(_ waiter: UnsafeMutablePointer<Waiter>, until deadline: Int64, or end: WaitCancellation?) -> Bool
    {
        while cs_load32(waiter) == Waiter.asleep {
            if let end, end.isCancelled { return false }
            var remaining: Int64 = -1
            if deadline >= 0 {
                remaining = deadline - cs_monotonic_ns()
                if remaining <= 0 { return false }
            }
            if end != nil { remaining = remaining < 0 ? RealLock.longestSleep : min(remaining, RealLock.longestSleep) }
            _ = cs_futex_wait_local(waiter, 0, remaining)
        }
        return true
    }

    /// Gets the lock for the process, for the owner. `deadline`: 0 = one try, negative = none.
    private func takeForProcess(until deadline: Int64, or end: WaitCancellation?) throws(StoreError) -> Bool {
        if mustPause {
            mustPause = false
            if deadline != 0 { nap(RealLock.pause, until: deadline) }
        }
        var nextSleep = RealLock.backOff.first
        while true {
            if try tryForProcess() { return true }
            if deadline == 0 || (deadline > 0 && cs_monotonic_ns() >= deadline) { return false }
            if let end, end.isCancelled { return false }
            if let words {
                let seen = words.releases.current
                cs_store64(words.waiters.address, 1)
                if try tryForProcess() { return true }  // released before it could see the flag
                if spin(words.releases, while: seen) { continue }
                wait(words.releases, while: seen, at: RealLock.longestSleep, until: deadline)
            } else {
                nap(nextSleep, until: deadline)
                nextSleep = min(nextSleep * 2, RealLock.backOff.last)
            }
        }
    }

    /// Another process is likely to be done soon.
    private func spin(_ word: SharedWord, while seen: UInt64) -> Bool {
        guard RealLock.canSpin else { return false }
        let end = cs_monotonic_ns() &+ RealLock.spin
        repeat {
            for _ in 0..<16 {
                if word.current != seen { return true }
                cs_pause()
            }
        } while cs_monotonic_ns() < end
        return false
    }

    private func tryForProcess() throws(StoreError) -> Bool {
        if let words {
            if cs_cas64(words.owner.address, 0, words.instance) { return true }
            let owner = cs_load64(words.owner.address)
            if owner == 0 { return false }
            if try words.isAlive(owner) { return false }
            return cs_cas64(words.owner.address, owner, words.instance)
        }
        switch try file.lockByte(byte) {
        case 0: return true
        case EAGAIN: return false
        case let code: throw systemError(code, "lock byte \(byte) of \(file.path)")
        }
    }

    /// Lets another process go first: until it has released the lock again, if that can be seen.
    private func nap(_ longest: Int64, until deadline: Int64) {
        if let words {
            let seen = words.releases.current
            cs_store64(words.waiters.address, 1)
            wait(words.releases, while: seen, at: longest, until: deadline)
        } else {
            let duration = bounded(longest, deadline)
            var time = timespec(tv_sec: Int(duration / 1_000_000_000), tv_nsec: Int(duration % 1_000_000_000))
            nanosleep(&time, nil)
        }
    }

    private func wait(_ word: SharedWord, while seen: UInt64, at longest: Int64, until deadline: Int64) {
        _ = cs_futex_wait(word.address, UInt32(truncatingIfNeeded: seen), bounded(longest, deadline))
    }

    private func bounded(_ longest: Int64, _ deadline: Int64) -> Int64 {
        deadline < 0 ? longest : max(0, min(longest, deadline - cs_monotonic_ns()))
    }

    package override var isStillHeld: Bool { words.map { cs_load64($0.owner.address) == $0.instance } ?? true }

    // MARK: Release

    package override func release() {
        if file.isInherited { return }
        queue.lock()
        precondition(isTaken, "the lock on byte \(byte) of \(file.path) is released but nobody owns it")
        let othersWait = words.map { $0.waiters.current != 0 } ?? (first != nil)
        streak = othersWait ? streak + 1 : 0
        if streak >= RealLock.turn {
            streak = 0
            mustPause = true
            releaseForProcess()
        } else if let head = first {
            let now = cs_monotonic_ns()
            if now - max(head.pointee.since, lastHandOver) > RealLock.patience {
                lastHandOver = now
                remove(head)
                return call(head, Waiter.owner)
            }
        }
        isTaken = false
        settle()
    }

    /// The lock is free, or another thread's: makes sure that a thread of this process takes it, or it is free for
    /// other processes. Unlocks the queue.
    private func settle() {
        if isTaken { return queue.unlock() }  // its owner comes back here
        if let head = first, head.pointee.grant == Waiter.asleep { return call(head, Waiter.called) }
        if isOurs && first == nil && !isSpinning { releaseForProcess() }
        queue.unlock()
    }

    private func releaseForProcess() {
        isOurs = false
        guard let words else { return file.unlockByte(byte) }
        // Not a store: an owner that was taken for dead has nothing to release.
        _ = cs_cas64(words.owner.address, words.instance, 0)
        if words.waiters.current == 0 { return }
        cs_store64(words.waiters.address, 0)
        _ = cs_add64(words.releases.address, 1)
        cs_futex_wake(words.releases.address, .max)
    }

    private func remove(_ waiter: UnsafeMutablePointer<Waiter>) {
        var previous: UnsafeMutablePointer<Waiter>?
        var current = first
        while current != waiter { previous = current; current = current!.pointee.next }
        if let previous { previous.pointee.next = waiter.pointee.next } else { first = waiter.pointee.next }
        if last == waiter { last = previous }
    }

    /// Unlocks the queue. The waiter lies on its thread's stack and may be gone once it sees the grant; a wake of the
    /// address alone is harmless.
    private func call(_ waiter: UnsafeMutablePointer<Waiter>, _ grant: UInt32) {
        cs_store32(waiter, grant)
        queue.unlock()
        cs_futex_wake_local(waiter, 1)
    }

    /// A thread in the queue; the first four bytes are its futex word.
    private struct Waiter {
        static let asleep: UInt32 = 0
        /// The lock was free: awake, and to look for itself.
        static let called: UInt32 = 1
        /// The lock is this thread's, which is no longer in the queue.
        static let owner: UInt32 = 2

        var grant: UInt32 = Waiter.asleep
        let since: Int64
        var next: UnsafeMutablePointer<Waiter>?

        init(since: Int64) { self.since = since }
    }
}

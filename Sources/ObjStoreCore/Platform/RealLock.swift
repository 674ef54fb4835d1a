internal import CSystem

/// An OFD lock on one byte of a file behind a queue of this process's threads.
///
///     threads ──► queue (first come, first served) ──► one candidate or owner ──► kernel: byte of the file
///
/// - The kernel's lock belongs to the process: one thread of it, the *candidate*, tries to get it. The
///   owner passes it on to the next thread of the queue without asking the kernel.
/// - While another process waits, the lock changes hands at most `turn` times before the kernel's
///   lock is free for `pause`, or until the other process has had it.
/// - The candidate sleeps on a word that all processes share (`attach`), which the releaser bumps.
///   Never longer than `longestSleep`: a killed owner wakes nobody, the kernel just drops its lock.
///   Before `attach` it sleeps with a growing back-off.
///
/// The shared words are touched without the simulation's hook: this lock is never part of one.
/// One object per file and byte: the kernel would grant the byte twice to one description (asserted).
final class RealLock: ExclusiveLock, @unchecked Sendable {
    private static let turn = 16
    private static let pause: Int64 = 200_000
    private static let longestSleep: Int64 = 20_000_000
    private static let backOff: (first: Int64, last: Int64) = (200_000, 10_000_000)

    private let file: RealFile
    private let byte: Int64

    // Guarded by `queue`.
    private let queue = Lock()
    /// A thread owns the lock, or is the candidate.
    private var taken = false
    private var first: UnsafeMutablePointer<Waiter>?
    private var last: UnsafeMutablePointer<Waiter>?
    /// Releases in a row while another process may have been waiting.
    private var streak = 0

    // Belong to the owner or candidate.
    /// Another process comes first: the next candidate waits a little before it asks the kernel.
    private var mustPause = false
    private var releases: SharedWord?
    /// Not 0 = a candidate of some process sleeps, or slept and was killed. Set again before every
    /// sleep and cleared by the releaser, so a killed one costs one needless wake.
    private var waiters: SharedWord?

    init(_ file: RealFile, byte: Int64) {
        self.file = file
        self.byte = byte
        super.init()
        file.claimLock(byte)
    }

    /// Never called: without it the compiler makes one and warns of its recursion.
    private override init() { fatalError() }

    deinit { file.dropLock(byte) }

    /// By the owner, or while nobody uses the lock.
    override func attach(releases: SharedWord, waiters: SharedWord) {
        queue.withLock {
            self.releases = releases
            self.waiters = waiters
        }
    }

    /// Threads of this process that stand in the queue; for tests.
    var queued: Int {
        queue.withLock {
            sequence(first: first, next: { $0?.pointee.next }).prefix { $0 != nil }.count
        }
    }

    // MARK: Acquire

    override func acquire(timeout: Int64) throws(StoreError) -> Bool {
        if file.isInherited { _ = try file.descriptor("lock") }  // throws, and never touches the queue
        let deadline = timeout > 0 ? cs_monotonic_ns() &+ timeout : timeout
        queue.lock()
        if taken {
            if timeout == 0 {
                queue.unlock()
                return false
            }
            var waiter = Waiter()
            let grant = withUnsafeMutablePointer(to: &waiter) { sleep($0, until: deadline) }
            switch grant {
            case .none: return false
            case .owner: return true
            case .candidate: break
            }
        } else {
            taken = true
            queue.unlock()
        }
        do throws(StoreError) {
            if try takeFromKernel(until: deadline) { return true }
        } catch {
            passOn()
            throw error
        }
        passOn()
        return false
    }

    /// Enters the queue, unlocks it and sleeps until this thread's turn or the deadline.
    private func sleep(_ waiter: UnsafeMutablePointer<Waiter>, until deadline: Int64) -> Waiter.Grant {
        if let last { last.pointee.next = waiter } else { first = waiter }
        last = waiter
        queue.unlock()
        while true {
            let grant = cs_load32(waiter)
            if grant != 0 { return Waiter.Grant(rawValue: grant)! }
            var remaining: Int64 = -1
            if deadline >= 0 {
                remaining = deadline - cs_monotonic_ns()
                if remaining <= 0 { return giveUp(waiter) }
            }
            _ = cs_futex_wait_local(waiter, 0, remaining)
        }
    }

    /// Leaves the queue, unless the turn has come meanwhile.
    private func giveUp(_ waiter: UnsafeMutablePointer<Waiter>) -> Waiter.Grant {
        queue.withLock {
            let grant = Waiter.Grant(rawValue: cs_load32(waiter))!
            if grant != .none { return grant }
            var previous: UnsafeMutablePointer<Waiter>?
            var current = first
            while current != waiter { previous = current; current = current!.pointee.next }
            if let previous { previous.pointee.next = waiter.pointee.next } else { first = waiter.pointee.next }
            if last == waiter { last = previous }
            return .none
        }
    }

    /// The candidate's part. `deadline`: 0 = one try, negative = none.
    private func takeFromKernel(until deadline: Int64) throws(StoreError) -> Bool {
        if mustPause {
            mustPause = false
            if deadline != 0 { nap(RealLock.pause, until: deadline) }
        }
        var nextSleep = RealLock.backOff.first
        while true {
            if try tryKernel() { return true }
            if deadline == 0 || (deadline > 0 && cs_monotonic_ns() >= deadline) { return false }
            if let releases, let waiters {
                let seen = releases.current
                cs_store64(waiters.address, 1)
                if try tryKernel() { return true }  // released before it could see the flag
                wait(releases, while: seen, at: RealLock.longestSleep, until: deadline)
            } else {
                nap(nextSleep, until: deadline)
                nextSleep = min(nextSleep * 2, RealLock.backOff.last)
            }
        }
    }

    private func tryKernel() throws(StoreError) -> Bool {
        switch try file.lockByte(byte) {
        case 0: return true
        case EAGAIN: return false
        case let code: throw systemError(code, "lock byte \(byte) of \(file.path)")
        }
    }

    /// Lets another process go first: until it has released the lock again, if that can be seen.
    private func nap(_ longest: Int64, until deadline: Int64) {
        if let releases, let waiters {
            let seen = releases.current
            cs_store64(waiters.address, 1)
            wait(releases, while: seen, at: longest, until: deadline)
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

    // MARK: Release

    override func release() {
        if file.isInherited { return }
        queue.lock()
        precondition(taken, "the lock on byte \(byte) of \(file.path) is released but nobody owns it")
        let othersWait = waiters.map { $0.current != 0 } ?? (first != nil)
        streak = othersWait ? streak + 1 : 0
        if streak < RealLock.turn, let next = removeFirst() {
            wake(next, .owner)
            return
        }
        if streak >= RealLock.turn {
            streak = 0
            mustPause = true
        }
        file.unlockByte(byte)
        wakeOtherProcesses()
        passOnLocked()
    }

    private func wakeOtherProcesses() {
        guard let releases, let waiters, waiters.current != 0 else { return }
        cs_store64(waiters.address, 0)
        _ = cs_add64(releases.address, 1)
        cs_futex_wake(releases.address, .max)
    }

    /// The candidate gives up, or the owner has released the kernel's lock: the next thread tries.
    private func passOn() {
        queue.lock()
        passOnLocked()
    }

    private func passOnLocked() {
        if let next = removeFirst() {
            wake(next, .candidate)
        } else {
            taken = false
            queue.unlock()
        }
    }

    private func removeFirst() -> UnsafeMutablePointer<Waiter>? {
        guard let waiter = first else { return nil }
        first = waiter.pointee.next
        if first == nil { last = nil }
        return waiter
    }

    /// Unlocks the queue. The waiter lies on its thread's stack and is gone once it sees the grant; a
    /// wake of the address alone harms nobody.
    private func wake(_ waiter: UnsafeMutablePointer<Waiter>, _ grant: Waiter.Grant) {
        cs_store32(waiter, grant.rawValue)
        queue.unlock()
        cs_futex_wake_local(waiter, 1)
    }

    /// A thread that stands in the queue; the first four bytes are its futex word.
    private struct Waiter {
        enum Grant: UInt32 {
            case none = 0
            /// Owns the lock, the kernel's too.
            case owner = 1
            /// Has to get the kernel's lock.
            case candidate = 2
        }
        var grant: UInt32 = 0
        var next: UnsafeMutablePointer<Waiter>?
    }
}

internal import CSystem

/// Something that other threads may help with: `HelperThreads`.
class HelperJob: @unchecked Sendable {
    // Under the pool's lock.
    fileprivate var wanted = 0
    fileprivate var helping = 0
    /// A futex word: how many helpers have left it.
    fileprivate let left: UnsafeMutablePointer<UInt32>

    init() {
        left = .allocate(capacity: 1)
        left.initialize(to: 0)
    }

    deinit { left.deallocate() }

    /// What a helper does: it takes pieces of the work until there are none left.
    func help() { fatalError("abstract") }
}

/// Threads of the process that help with queries, as many as the one that may have the most, whatever number is asked.
///
/// ```
///  caller   offers a job ──► works on it itself ──► takes back what nobody has begun ──► waits for who has begun
///  helper        └──► begins, or comes too late ──► works on it until nothing is left ──► sleeps; ends later
/// ```
/// A helper that there is none of, because a thread could not be made, costs nothing but time. They block all signals,
/// and call nothing of the application's. A forked child has none of them, and makes its own.
final class HelperThreads: @unchecked Sendable {
    private let lock = Lock()
    private let generation: UInt64
    /// Of the process that this one was forked from: one of its threads may be inside for ever.
    private let inherited: UnsafeRawPointer?
    /// Those of which somebody is wanted.
    private var jobs: [HelperJob] = []
    private var threads = 0
    private var idle = 0
    /// The largest number that a job has wanted.
    private var most = 0
    /// A futex word: how many jobs have been offered.
    private let offers: UnsafeMutablePointer<UInt32>

    private static let stackBytes = 1 << 20
    /// So long a thread sleeps before it ends.
    private static let patience: Int64 = 5_000_000_000

    private init(after inherited: UnsafeRawPointer?) {
        // Says when the process is another one.
        _ = ForkGuard()
        generation = cs_fork_generation()
        self.inherited = inherited
        offers = .allocate(capacity: 1)
        offers.initialize(to: 0)
    }

    /// Another thread was first: nobody has seen this one.
    deinit { offers.deallocate() }

    /// That of this process, which stays.
    private static var current: HelperThreads {
        while true {
            let pointer = cs_helpers()
            if let pointer {
                let pool = Unmanaged<HelperThreads>.fromOpaque(pointer).takeUnretainedValue()
                if pool.generation == cs_fork_generation() { return pool }
            }
            let made = Unmanaged.passRetained(HelperThreads(after: pointer))
            if cs_replace_helpers(pointer, made.toOpaque()) { return made.takeUnretainedValue() }
            made.release()
        }
    }

    /// Runs `body`, which works on the job, while up to `count` others help with it. When it returns no other thread
    /// works on the job.
    static func sharing(_ job: HelperJob, with count: Int, _ body: () -> Void) {
        let pool = current
        pool.offer(job, count)
        body()
        // `body` may have been told something by the application, which may have forked: then nobody is there.
        if pool.generation == cs_fork_generation() { pool.takeBack(job) }
    }

    private func offer(_ job: HelperJob, _ count: Int) {
        let (woken, made) = lock.withLock { () -> (Int, Int) in
            job.wanted = count
            jobs.append(job)
            most = max(most, count)
            cs_store32(offers, cs_load32(offers) &+ 1)
            let woken = min(idle, count), made = max(0, min(count - woken, most - threads))
            threads += made
            return (woken, made)
        }
        if woken > 0 { cs_futex_wake_local(offers, Int32(woken)) }
        var failed = made
        while failed > 0, start() { failed -= 1 }
        if failed > 0 { lock.withLock { threads -= failed } }
    }

    private func start() -> Bool {
        // It stays as long as the process.
        let this = UnsafeMutableRawPointer(Unmanaged.passUnretained(self).toOpaque())
        return cs_helper_start(
            { argument in
                Unmanaged<HelperThreads>.fromOpaque(argument.unsafelyUnwrapped).takeUnretainedValue().live()
                return nil
            }, this, HelperThreads.stackBytes)
    }

    private func takeBack(_ job: HelperJob) {
        lock.lock()
        if job.wanted > 0 {
            job.wanted = 0
            jobs.removeAll { $0 === job }
        }
        while job.helping > 0 {
            let seen = cs_load32(job.left)
            lock.unlock()
            _ = cs_futex_wait_local(job.left, seen, -1)
            lock.lock()
        }
        lock.unlock()
    }

    /// Under the lock.
    private func beginJob() -> Unmanaged<HelperJob>? {
        guard let job = jobs.first else { return nil }
        job.wanted -= 1
        job.helping += 1
        if job.wanted == 0 { jobs.removeFirst() }
        return .passUnretained(job)
    }

    /// Of a thread.
    private func live() {
        _ = cs_thread_name(pthread_self(), "objstore-query")  // only for show
        lock.lock()
        while true {
            if let job = beginJob() {
                lock.unlock()
                // Whoever offered it keeps it, and frees it: it may hold what is the program's.
                job._withUnsafeGuaranteedRef { $0.help() }
                lock.lock()
                job._withUnsafeGuaranteedRef { job in
                    job.helping -= 1
                    cs_store32(job.left, cs_load32(job.left) &+ 1)
                    if job.helping == 0 { cs_futex_wake_local(job.left, 1) }
                }
                continue
            }
            let seen = cs_load32(offers)
            idle += 1
            lock.unlock()
            let code = cs_futex_wait_local(offers, seen, HelperThreads.patience)
            lock.lock()
            idle -= 1
            if code == ETIMEDOUT, jobs.isEmpty {
                threads -= 1
                lock.unlock()
                return
            }
        }
    }
}

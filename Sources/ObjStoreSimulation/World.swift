internal import CFibers
internal import CSystem
package import ObjStoreCore

/// How the kernel reports errors of writing back.
package enum SimulatedKernel: Sendable {
    /// Each description that was open at the time reports an error once (Linux from 4.13 on).
    case errseq
    /// The first to sync gets it, no other.
    case once
}

/// A computer: disk, memory, processes, and the only source of non-determinism.
///
/// ```
///   history = seed or list of choices ─► Choices ◄── pick(kind, n) ── World ── scheduler, events
///                                                                      │
///            SimulatedProcess ── SimulatedMachine ── SimulatedFile, SimulatedLock ── DiskFile, Folders
///                  └─ SimulatedTask = fiber: runs the code under test until its next access
/// ```
/// Each task is a fiber that stops *before* every call of the machine and every access to a shared word, so
/// between two stops lies at most one of them. After each step anything may happen: a kill, a power cut, an
/// error of writing back. Time is virtual. Everything happens on the caller's thread; several worlds may
/// run on several threads. Objects that belong to killed tasks leak (`statistics.abandonedTasks` counts
/// them): their code never runs again, so run large numbers of histories in batches (`ChildProcess`).
package final class World {
    package struct Options {
        package var sectorBytes = 512
        package var kernel = SimulatedKernel.errseq
        /// Bytes that all files together may have; 0 = unbounded.
        package var capacity = 0
        /// Address space that each file reserves twice: the largest file and the largest map.
        package var addressSpace = 4 << 30
        /// Whether a waiter also wakes when its word merely changes. A futex does not do that: without, a
        /// forgotten wake-up is seen as a standstill.
        package var wakesOnChange = false
        package var fileSystem = FileSystemKind.coherent
        package var trace = false
        package init() {}
    }

    package struct Statistics {
        package var kills = 0, powerCuts = 0, inputOutputErrors = 0, evictions = 0, outOfSpace = 0
        package var writes = 0, syncs = 0, spuriousWakes = 0, timeouts = 0
        /// Fibers that were stopped for ever; what they owned leaks.
        package var abandonedTasks = 0
        package init() {}
    }

    package let choices: Choices
    package let options: Options
    package var statistics = Statistics()
    package weak var oracle: (any Oracle)?
    /// Nothing fails and no process is killed while false.
    package var faults = true
    /// Bytes that all files together may have; 0 = unbounded.
    package var capacity: Int
    /// The wall clock always shows the same time.
    package var clockStands = false
    /// Only these tasks run, for histories whose course is written down; nil: all.
    package var mayRun: ((SimulatedTask) -> Bool)?
    /// The file that a choice of writing, syncing or losing is about.
    package internal(set) weak var touched: DiskFile?
    /// The first thing that an oracle or the workload found wrong; the history stops there.
    package private(set) var violation: String?
    package private(set) var steps = 0
    /// Whether written data was lost in this history (power cut, failed write-back).
    package internal(set) var isLossy = false
    /// Whether lost pages have been evicted since the last power cut: visible content may have gone back.
    package internal(set) var hasEvicted = false
    /// Virtual nanoseconds since the world began.
    package internal(set) var now: Int64 = 0
    package internal(set) var boots = 1
    /// Fingerprint of everything that was chosen and written so far: equal for equal histories.
    package private(set) var traceHash: UInt64 = 0xcbf2_9ce4_8422_2325

    package internal(set) var files: [DiskFile] = []
    package internal(set) var processes: [SimulatedProcess] = []
    /// Where `resolve` leads a path.
    package var symbolicLinks: [String: String] = [:]
    package let folders = Folders()
    var tasks: [SimulatedTask] = []
    var killAfterStep: SimulatedProcess?
    var hotUntil = 0
    private var processCount = 0
    private var taskCount = 0
    private var current: SimulatedTask?
    private var consecutive = 0
    private var awake: [Int] = []
    private var stalled: [Int] = []
    private var entropy: RandomNumbers

    package init(_ choices: Choices, _ options: Options = Options(), entropy seed: UInt64 = 1) {
        self.choices = choices
        self.options = options
        capacity = options.capacity
        entropy = RandomNumbers(seed: seed &* 0x2545_f491_4f6c_dd1d)
        cs_set_yield_hook(fiber_yield)
    }

    /// Frees the disk and forgets all processes. Call it at the end of each history: leaked objects of killed
    /// processes may keep the world itself alive.
    package func end() {
        for process in processes { forget(process) }
        for file in files { file.release() }
        processes = []
        files = []
        folders.removeAll()
    }

    /// What the handler of fatal signals prints if the code under test traps: name the seed here.
    package static func note(_ text: String) { fiber_note(text) }

    // MARK: Choices

    /// One of 0..<options.
    package func pick(_ kind: ChoiceKind, _ options: Int) -> Int {
        if options <= 1 { return 0 }
        let taken = choices.pick(kind, options, hot: steps < hotUntil, lossy: isLossy)
        mix(UInt64(kind.rawValue) << 56 ^ UInt64(options) << 28 ^ UInt64(taken))
        return taken
    }

    /// For keys, identities, garbage: not a choice, but the same in each run of a history.
    func random64() -> UInt64 { entropy.next() }

    func mix(_ value: UInt64) {
        traceHash = (traceHash ^ value) &* 0x0000_0100_0000_01b3
        traceHash ^= traceHash >> 29
    }

    func mix(_ bytes: UnsafeRawBufferPointer) {
        var hash: UInt64 = 0x9e37_79b9_7f4a_7c15
        var offset = 0
        while offset + 8 <= bytes.count {
            hash = (hash ^ bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self)) &* 0xff51_afd7_ed55_8ccd
            hash ^= hash >> 32
            offset += 8
        }
        while offset < bytes.count {
            hash = (hash ^ UInt64(bytes[offset])) &* 0x0000_0100_0000_01b3
            offset += 1
        }
        mix(hash)
    }

    // MARK: Processes and tasks

    package func startProcess(_ name: String = "") -> SimulatedProcess {
        processCount += 1
        let process = SimulatedProcess(id: processCount, name: name, world: self)
        processes.append(process)
        return process
    }

    /// - Parameter isService: a thread of the engine, which may sleep for ever.
    @discardableResult
    func spawn(
        _ process: SimulatedProcess, _ name: String, isService: Bool = false, _ body: @escaping () -> Void
    ) -> SimulatedTask {
        precondition(process.isAlive, "a dead process starts no task")
        taskCount += 1
        let task = SimulatedTask(id: taskCount, name: name, process: process, isService: isService, body: body)
        task.start()
        tasks.append(task)
        if !isService { process.taskCount += 1 }
        return task
    }

    /// All tasks have ended, except threads of the engine.
    package var isIdle: Bool { tasks.allSatisfy { $0.isService } }

    /// The task whose code runs now.
    package var running: SimulatedTask? {
        fiber_current().map { Unmanaged<SimulatedTask>.fromOpaque(fiber_argument($0)).takeUnretainedValue() }
    }

    // MARK: Scheduler

    /// A scheduling point of the workload, as if it accessed a shared word here.
    package func pause() { fiber_yield() }

    /// Runs one task up to its next access, then perhaps one event. False: no task can run, or a violation.
    @discardableResult
    package func step() -> Bool {
        precondition(fiber_current() == nil, "a task cannot run the world")
        if violation != nil || !chooseRunnable() { return false }
        let count = awake.count
        if consecutive > 200 && count > 1 && awake[0] == indexOfCurrent() {
            awake.append(awake.removeFirst())  // a task that spins for ever must let others run, in an enumeration too
            consecutive = 0
        }
        let index = awake[pick(.schedule, count)]
        let task = tasks[index]
        if task === current { consecutive += 1 } else { consecutive = 0 }
        current = task
        steps += 1
        now += 1000
        if faults {
            let stalls = choices.profile.stalls
            let stall = pick(.stall, stalls.count)
            if stall > 0 { task.stalledUntil = steps + stalls[stall] }
        }
        fiber_resume(task.fiber)
        if fiber_finished(task.fiber) { finish(task) }
        if let process = killAfterStep {
            killAfterStep = nil
            kill(process, "kill inside of a write")
        } else if faults && violation == nil {
            event()
        }
        return violation == nil
    }

    /// Steps until no task can run, at most `limit`. Returns the number of steps.
    @discardableResult
    package func run(steps limit: Int) -> Int {
        var count = 0
        while count < limit && step() { count += 1 }
        return count
    }

    /// Which tasks there are, and what they wait for.
    package var tasksForReports: String { tasks.map { $0.description }.joined(separator: ", ") }

    /// No more faults: all must end within `limit` steps; else that is a violation.
    package func drain(limit: Int = 1_000_000) {
        faults = false
        for task in tasks { task.stalledUntil = 0 }
        run(steps: limit)
        if !isIdle && violation == nil {
            fail("standstill: \(tasksForReports)")
        }
    }

    /// Fills `awake` with the tasks that can run, the current one first.
    private func chooseRunnable() -> Bool {
        if collect() { return true }
        // All wait: time jumps to the first timeout.
        var earliest = Int64.max
        for task in tasks where task.deadline < earliest && mayRun?(task) ?? true { earliest = task.deadline }
        if earliest == Int64.max { return false }
        now = max(now, earliest)
        return collect()
    }

    private func collect() -> Bool {
        awake.removeAll(keepingCapacity: true)
        stalled.removeAll(keepingCapacity: true)
        for index in 0..<tasks.count {
            let task = tasks[index]
            if !task.isReady(now, options.wakesOnChange) { continue }
            if let mayRun, !mayRun(task) { continue }
            if task.stalledUntil > steps { stalled.append(index) } else { awake.append(index) }
        }
        if awake.isEmpty { swap(&awake, &stalled) }
        if awake.count > 1, let at = awake.firstIndex(where: { tasks[$0] === current }), at > 0 {
            awake.insert(awake.remove(at: at), at: 0)
        }
        return !awake.isEmpty
    }

    private func indexOfCurrent() -> Int { tasks.firstIndex { $0 === current } ?? -1 }

    private func finish(_ task: SimulatedTask) {
        fiber_destroy(task.fiber)
        task.isFinished = true
        tasks.removeAll { $0 === task }
        if !task.isService { task.process.taskCount -= 1 }
        if task === current { current = nil }
    }

    /// Stops the fibers of a process for ever.
    func forget(_ process: SimulatedProcess) {
        for task in tasks where task.process === process {
            fiber_destroy(task.fiber)
            statistics.abandonedTasks += 1
            if task === current { current = nil }
        }
        tasks.removeAll { $0.process === process }
        process.taskCount = 0
        process.die()
        processes.removeAll { $0 === process }
    }

    // MARK: Findings

    /// Something is wrong: the history ends here. Called by a task it does not return.
    package func fail(_ text: @autoclosure () -> String) {
        if violation == nil {
            violation = text()
            say("VIOLATION " + violation!)
        }
        fiber_stop()
    }

    package func say(_ text: @autoclosure () -> String) {
        if options.trace { print("\(steps)\t\(running.map { "P\($0.process.id)" } ?? "-")\t\(text())") }
    }

    /// The oracle's questions are no accesses of the code under test.
    func ask(_ question: (any Oracle) -> Void) {
        guard let oracle else { return }
        fiber_pause(true)
        question(oracle)
        fiber_pause(false)
    }
}

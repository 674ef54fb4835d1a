internal import CFibers
internal import CSystem
internal import ObjStoreCore

/// A thread that the engine started by itself: a task of its process that is not waited for in the end.
final class SimulatedThread: WorkerThread, @unchecked Sendable {
    private let world: World
    private let process: SimulatedProcess
    private var isSignalled = false
    private var stops = false
    /// Changes with every signal, and at the end of the body; a sleeper waits for that.
    private let word = UnsafeMutablePointer<UInt64>.allocate(capacity: 1)
    private var hasEnded = false
    private var isJoined = false

    init(_ process: SimulatedProcess, _ name: String, _ body: @escaping @Sendable (WorkerThread) -> Void) {
        self.process = process
        world = process.world
        super.init()
        word.initialize(to: 0)
        world.spawn(process, name, isService: true) { [self] in
            body(self)
            hasEnded = true
            change()
        }
    }

    deinit { word.deallocate() }

    private func change() {
        word.pointee &+= 1
        for task in world.tasks {
            if case .word(let address, _) = task.waiting, address == UnsafeMutableRawPointer(word) {
                task.isWoken = true
            }
        }
    }

    private func sleep(timeout: Int64) {
        world.running?.block(
            .word(UnsafeMutableRawPointer(word), UInt32(truncatingIfNeeded: word.pointee)), timeout: timeout)
    }

    override var isStopping: Bool { stops }

    override func signal() {
        fiber_yield()
        isSignalled = true
        change()
    }

    override func waitForSignal(timeout: Int64) -> Bool {
        fiber_yield()
        let deadline = timeout < 0 ? Int64.max : world.now + timeout
        while !isSignalled {
            if world.now >= deadline { return false }
            sleep(timeout: timeout < 0 ? -1 : deadline - world.now)
        }
        isSignalled = false
        return true
    }

    override func stopAndJoin() {
        if isJoined { return }
        isJoined = true
        stops = true
        signal()
        while !hasEnded && process.isAlive { sleep(timeout: -1) }
    }
}

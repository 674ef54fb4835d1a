internal import CFibers
package import ObjStoreCore

/// A byte of a file that descriptions lock.
final class ByteLock {
    let byte: Int64
    var owner: OpenDescription?
    /// Tasks that want it, of all processes; within a process the first one comes first.
    var waiters: [SimulatedTask] = []

    init(_ byte: Int64) { self.byte = byte }

    func isFree(for task: SimulatedTask) -> Bool {
        owner == nil && waiters.first { $0.process === task.process } === task
    }
}

/// An OFD lock behind a queue of the threads of its process. Which of several processes gets it is a choice of the
/// scheduler.
package final class SimulatedLock: ExclusiveLock, @unchecked Sendable {
    private let file: SimulatedFile
    private let byte: Int64
    /// Attached: an owner that is not seen to live loses it to the next one.
    private var isWord = false

    init(_ file: SimulatedFile, _ byte: Int64) {
        self.file = file
        self.byte = byte
        super.init()
    }

    private var world: World { file.process.world }
    private var lock: ByteLock {
        if let lock = file.description.file.locks[byte] { return lock }
        let lock = ByteLock(byte)
        file.description.file.locks[byte] = lock
        return lock
    }

    package override func attach(_ words: LockWords) { isWord = true }

    /// On the real machine the lock of a process that has released LIVE is free for all live ones.
    private func checkLives() {
        let description = file.description
        guard isWord else { return }
        let live = description.file.locks.filter { (byte, lock) in
            Database.Locks.allLive.contains(byte) && lock.owner != nil
        }
        if live.isEmpty || live.contains(where: { $0.value.owner === description }) { return }
        world.fail(
            """
            P3: process \(file.process.id) uses lock \(byte) and has given up LIVE: others take it for dead, and the \
            lock from it
            """
        )
    }

    package override func acquire(timeout: Int64) throws(StoreError) -> Bool {
        fiber_yield()
        if !file.process.isAlive { throw StoreError(.io, "the process is dead") }
        checkLives()
        let lock = lock
        lock.waiters.removeAll { !$0.process.isAlive }
        if lock.owner == nil && !lock.waiters.contains(where: { $0.process === file.process }) {
            file.description.take(lock)
            return true
        }
        if timeout == 0 { return false }
        guard let task = world.running else { fatalError("would wait for lock \(byte) outside of a task") }
        lock.waiters.append(task)
        task.block(.lock(lock), timeout: timeout)
        let isMine = lock.isFree(for: task)
        lock.waiters.removeAll { $0 === task }
        if isMine { file.description.take(lock) } else { world.statistics.timeouts += 1 }
        return isMine
    }

    package override func release() {
        fiber_yield()
        if !file.process.isAlive { return }
        checkLives()
        let lock = lock
        if lock.owner !== file.description {
            world.fail("P3: process \(file.process.id) releases lock \(byte), which it does not hold")
            return
        }
        file.description.release(lock)
    }

    /// Whether this process holds it, for oracles and assertions.
    package var isHeld: Bool { lock.owner === file.description }
}

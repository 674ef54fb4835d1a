internal import CFibers
internal import CSystem

/// One process of the world: its machine, its open files, its tasks (threads).
package final class SimulatedProcess {
    package let id: Int
    package let name: String
    package let world: World
    package private(set) lazy var machine = SimulatedMachine(self)
    package private(set) var isAlive = true
    /// Tasks that have not come to an end.
    package internal(set) var taskCount = 0
    var descriptions: [OpenDescription] = []
    private var belongings: [AnyObject] = []

    init(id: Int, name: String, world: World) {
        self.id = id
        self.name = name
        self.world = world
    }

    /// Starts a thread of this process.
    @discardableResult
    package func spawn(_ name: String = "task", _ body: @escaping (SimulatedMachine) -> Void) -> SimulatedTask {
        let machine = machine
        return world.spawn(self, name) { body(machine) }
    }

    /// Keeps an object for as long as the process lives. If the process is killed the object leaks: its
    /// `deinit` is code of the dead process and must not run. Hold open databases like this.
    package func own(_ object: AnyObject) { belongings.append(object) }
    package func disown(_ object: AnyObject) { belongings.removeAll { $0 === object } }

    /// The process ends by itself; its objects go as in `exit`, without any `deinit`.
    package func exit() { world.leave(self) }

    /// A child with this process's open files, and so with its locks, which it keeps when this one dies, unless
    /// the handler that the engine registers with `pthread_atfork` closed them. It runs no code before `spawn`.
    package func fork(closingFiles: Bool) -> SimulatedProcess {
        let child = world.startProcess(name + " child")
        if !closingFiles {
            for description in descriptions { description.holders += 1 }
            child.descriptions = descriptions
        }
        return child
    }

    /// What the kernel does.
    func die() {
        isAlive = false
        for description in descriptions { description.drop() }
        descriptions = []
        for object in belongings { _ = Unmanaged.passRetained(object) }
        belongings = []
    }
}

/// A thread of a simulated process: a fiber and what it waits for.
package final class SimulatedTask: CustomStringConvertible {
    package let id: Int
    package let name: String
    package let process: SimulatedProcess
    /// It has come to its end; false for ever when its process was killed.
    package internal(set) var isFinished = false
    private(set) var fiber: OpaquePointer!
    let isService: Bool
    private let body: () -> Void

    enum Waiting {
        case nothing
        case word(UnsafeMutableRawPointer, UInt32)
        case lock(ByteLock)
    }
    var waiting = Waiting.nothing
    var isWoken = false
    /// When the wait ends by itself; `Int64.max`: never, or it does not wait.
    var deadline = Int64.max
    var stalledUntil = 0

    init(id: Int, name: String, process: SimulatedProcess, isService: Bool, body: @escaping () -> Void) {
        self.id = id
        self.name = name
        self.process = process
        self.isService = isService
        self.body = body
    }

    func start() {
        fiber = fiber_create(
            { argument in
                Unmanaged<SimulatedTask>.fromOpaque(argument!).takeUnretainedValue().body()
            }, Unmanaged.passUnretained(self).toOpaque())
        if fiber == nil { fatalError("no memory for a fiber") }
    }

    func isReady(_ now: Int64, _ wakesOnChange: Bool) -> Bool {
        switch waiting {
        case .nothing: return true
        case .lock(let lock): return deadline <= now || lock.isFree(for: self)
        case .word(let address, let value):
            return isWoken || deadline <= now
                || (wakesOnChange && cs_load32(address) != value)
        }
    }

    /// Sleeps in the scheduler until `isReady`.
    func block(_ what: Waiting, timeout: Int64) {
        waiting = what
        isWoken = false
        deadline = timeout < 0 ? Int64.max : process.world.now &+ timeout
        fiber_yield()
        waiting = .nothing
        deadline = Int64.max
    }

    package var description: String {
        switch waiting {
        case .nothing: "P\(process.id) \(name)"
        case .word(_, let value): "P\(process.id) \(name) waits for a word to leave \(value)"
        case .lock(let lock): "P\(process.id) \(name) waits for lock \(lock.byte)"
        }
    }
}

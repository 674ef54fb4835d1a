import Glibc
import ObjStoreCore
import ObjStoreSimulation

/// Observers that are told at intervals: never sooner, and of everything when the time has come, for which somebody is
/// woken.
extension WatchedHistory {
    static let longest: Int64 = 20_000_000
    private static let intervals: [Int64] = [0, 100_000, 1_000_000, 5_000_000, longest]

    /// Of a process that runs.
    func setInterval(_ reader: WatchedReader) throws(StoreError) {
        reader.interval = random.one(of: WatchedHistory.intervals)!
        try reader.observer!.setInterval(nanoseconds: reader.interval)
        reader.rests = (.min, .min)
    }

    /// Delivers till nothing is due; returns when it began to for the last time.
    func deliverAll(_ actor: Actor) throws(StoreError) -> Int64 {
        while true {
            let start = world.now, calls = try actor.store.hub.deliver()
            for reader in actor.readers where reader.rests.atMost == .max {
                reader.rests.atMost = world.now + reader.interval
            }
            if calls == 0 || violation != nil { return start }
        }
    }

    /// Nothing happens for so long.
    func pass(_ nanoseconds: Int64, _ actor: Actor) throws(StoreError) {
        try perform(actor) { () throws(StoreError) in
            let memory = UnsafeMutablePointer<UInt64>.allocate(capacity: 1), word = SharedWord(memory)
            memory.initialize(to: 0)
            actor.process.machine.wait(word, while: 0, timeout: nanoseconds)
            memory.deallocate()
        }
    }

    /// Some time passes, or an observer gets another interval, or it is waited for one for which there is something.
    func rest(_ actor: Actor) throws(StoreError) {
        switch random.below(5) {
        case 0: try pass(random.one(of: WatchedHistory.intervals)!, actor)
        case 1...2:
            guard let reader = random.one(of: actor.readers) else { return }
            try perform(actor) { [self] () throws(StoreError) in try setInterval(reader) }
        default:
            try deliver(actor)
            if violation == nil { try awaitBell(actor) }
        }
    }

    /// When the time of one that rests has come, and there is something that it is to be told, its program is woken
    /// though nothing more is committed.
    private func awaitBell(_ actor: Actor) throws(StoreError) {
        try write(actor, silencing: [])
        try perform(actor) { [self] () throws(StoreError) in _ = try deliverAll(actor) }
        if violation != nil { return }
        let waiting = actor.readers.filter { reader in
            if reader.isPaused || reader.isEnded || reader.rests.atLeast <= world.now { return false }
            return !reader.has(past.newest)
        }
        guard let first = waiting.map(\.rests.atMost).min() else { return }
        // And the time that its thread takes.
        try pass(max(0, first - world.now) + 1_000_000, actor)
        try perform(actor) { [self] () throws(StoreError) in
            var request = pollfd(
                fd: try actor.store.hub.notifyDescriptor(), events: Int16(POLLIN), revents: 0)
            if poll(&request, 1, 0) != 1 { fail("interval: nobody is woken for \(waiting.map(\.name))") }
            counts.bells += 1
        }
        try deliver(actor)
    }
}

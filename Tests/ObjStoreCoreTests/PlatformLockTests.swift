import CSystem
import Foundation
import Synchronization
import Testing

import ObjStoreCore

@Suite(.serialized) struct PlatformLockTests {
    let folder = TestFolder()
    let machine = RealMachine.shared

    /// Two of these on one path are as far apart as two processes: each has its own file description.
    final class Side: @unchecked Sendable {
        let file: RealFile
        let lock: RealLock
        private let live: RealLock
        var count = 0
        private static let instances = Atomic<UInt64>(0)
        init(_ path: String, words: SharedWords?, byte: Int64 = 7) throws {
            file = try RealFile(path: path, mode: .create)
            lock = RealLock(file, byte: byte)
            let instance = Side.instances.add(1, ordering: .relaxed).newValue
            live = RealLock(file, byte: SharedWords.liveByte(instance))
            try live.acquire()
            if let words { lock.attach(words.lockWords(file, instance: instance)) }
        }
    }

    /// Changed without atomics, under the lock.
    final class Guarded: @unchecked Sendable {
        var value = 0
        var order: [Int] = []
    }

    @Test func excludesTheThreadsOfOneProcess() throws {
        let side = try Side(folder["db"], words: nil)
        let guarded = Guarded()
        try onThreads(8) { _ in
            for _ in 0..<5000 {
                try! side.lock.acquire()
                guarded.value += 1
                side.lock.release()
            }
        }
        #expect(guarded.value == 40_000)
    }

    @Test(arguments: [true, false])
    func excludesTwoSidesAndStarvesNone(attached: Bool) throws {
        let words = SharedWords()
        let sides = try (0..<2).map { _ in try Side(folder["db"], words: attached ? words : nil) }
        // ThreadSanitizer sees no lock of the kernel: read and written by two accesses that it knows as
        // atomic, so two owners at once would lose an update all the same.
        let total = SharedWords()
        let end = machine.monotonic() + 1_000_000_000
        try onThreads(8) { index in
            let side = sides[index & 1]
            while cs_monotonic_ns() < end {
                try! side.lock.acquire()
                cs_store64(total.memory, cs_load64(total.memory) + 1)
                side.count += 1
                side.lock.release()
            }
        }
        #expect(Int(cs_load64(total.memory)) == sides[0].count + sides[1].count)
        let least = min(sides[0].count, sides[1].count)
        #expect(
            Double(least) > 0.02 * Double(sides[0].count + sides[1].count),
            "\(sides[0].count) against \(sides[1].count)")
    }

    /// One thread that takes the lock again at once leaves no gap by itself.
    @Test func greedyThreadLetsAnotherProcessIn() throws {
        let words = SharedWords()
        let greedy = try Side(folder["db"], words: words)
        let other = try Side(folder["db"], words: words)
        let stop = Guarded()
        let thread = try BackgroundThread(name: "greedy") { thread in
            while !thread.isStopping {
                try! greedy.lock.acquire()
                stop.value += 1
                greedy.lock.release()
            }
        }
        usleep(20_000)
        var worst = 0.0
        for _ in 0..<50 {
            var acquired = false
            worst = max(worst, try milliseconds { acquired = try other.lock.acquire(timeout: 5_000_000_000) })
            try #require(acquired)
            other.lock.release()
        }
        thread.stopAndJoin()
        #expect(worst < 500, "waited \(worst) ms")
    }

    @Test func firstComeFirstServed() throws {
        let side = try Side(folder["db"], words: nil)
        let guarded = Guarded()
        try side.lock.acquire()
        var threads: [BackgroundThread] = []
        for index in 0..<8 {
            threads.append(
                try BackgroundThread(name: "waiter") { _ in
                    try! side.lock.acquire()
                    guarded.order.append(index)
                    side.lock.release()
                })
            while side.lock.queued != index + 1 { usleep(100) }
        }
        side.lock.release()
        threads.forEach { $0.stopAndJoin() }
        #expect(guarded.order == Array(0..<8))
    }

    @Test func timeouts() throws {
        let words = SharedWords()
        let owner = try Side(folder["db"], words: words)
        let other = try Side(folder["db"], words: words)
        #expect(try owner.lock.acquire(timeout: 0))
        // By a thread of the same process and by another one.
        for lock in [owner.lock, other.lock] {
            for (timeout, range) in [(0, 0.0..<20), (50, 50..<500)] as [(Int64, Range<Double>)] {
                var acquired = true
                let waited = try milliseconds { acquired = try lock.acquire(timeout: timeout * 1_000_000) }
                #expect(!acquired)
                #expect(range.contains(waited), "\(waited) ms")
            }
        }
        #expect(owner.lock.queued == 0)
        owner.lock.release()
        #expect(try other.lock.acquire(timeout: 0))
        #expect(try !owner.lock.acquire(timeout: 0))
        other.lock.release()
    }

    /// Threads that leave the queue at its head, in the middle and at its end take no other with them.
    @Test func timeoutInTheMiddleOfTheQueue() throws {
        let side = try Side(folder["db"], words: nil)
        let guarded = Guarded()
        try side.lock.acquire()
        var threads: [BackgroundThread] = []
        for index in 0..<5 {
            threads.append(
                try BackgroundThread(name: "waiter") { _ in
                    if try! side.lock.acquire(timeout: index % 2 == 0 ? 200_000_000 : -1) {
                        guarded.order.append(index)
                        side.lock.release()
                    }
                })
            while side.lock.queued != index + 1 { usleep(100) }
        }
        while side.lock.queued != 2 { usleep(1000) }
        side.lock.release()
        threads.forEach { $0.stopAndJoin() }
        #expect(guarded.order == [1, 3])
    }

    @Test func anyThreadMayRelease() throws {
        let side = try Side(folder["db"], words: nil)
        try side.lock.acquire()
        try onThreads(1) { _ in side.lock.release() }
        #expect(try side.lock.acquire(timeout: 0))
        side.lock.release()
    }

    @Test func bytesAreIndependentAndVisible() throws {
        let one = try Side(folder["db"], words: nil, byte: 100)
        let two = try RealFile(path: folder["db"], mode: .existing)
        let far = machine.makeLock(two, byte: 1 << 40)
        #expect(try far.acquire(timeout: 0))
        #expect(try one.lock.acquire(timeout: 0))
        #expect(try machine.isLocked(two, bytes: 0..<101))
        #expect(try machine.isLocked(two, bytes: 100..<(1 << 41)))
        #expect(try !machine.isLocked(two, bytes: 0..<100))
        #expect(try !machine.isLocked(two, bytes: 100..<100))
        #expect(try !machine.isLocked(two, bytes: 101..<(1 << 41)))  // its own
        #expect(try machine.isLocked(one.file, bytes: 101..<(1 << 41)))
        one.file.close()
        #expect(try !machine.isLocked(two, bytes: 0..<101))
    }

    /// A map references the description: the locks must go with `close` all the same.
    @Test func closeReleasesAlthoughAMapLives() throws {
        let one = try Side(folder["db"], words: nil)
        let map = try one.file.map(4096)
        try one.lock.acquire()
        let two = try Side(folder["db"], words: nil)
        #expect(try !two.lock.acquire(timeout: 0))
        one.file.close()
        #expect(try two.lock.acquire(timeout: 0))
        one.lock.release()  // harmless
        #expect(throws: StoreError.self) { try one.lock.acquire(timeout: 0) }
        #expect(try machine.isLocked(RealFile(path: folder["db"], mode: .existing), bytes: 7..<8))  // by two
        withExtendedLifetime(map) {}
    }

    @Test func readOnlyFileCannotLock() throws {
        _ = try RealFile(path: folder["db"], mode: .create)
        let lock = RealLock(try RealFile(path: folder["db"], mode: .readOnly), byte: 1)
        #expect(throws: StoreError.self) { try lock.acquire(timeout: 0) }
        #expect(throws: StoreError.self) { try lock.acquire(timeout: 0) }  // and leaves no owner behind
    }

    /// A thread in the queue is overtaken by those that run, but not for ever: six threads that never
    /// pause leave the lock to the seventh within its time, each time.
    @Test func waitingThreadIsNotOvertakenForEver() throws {
        let side = try Side(folder["db"], words: nil)
        let total = Guarded()
        let done = SharedWords()
        try onThreads(7) { index in
            if index == 0 {
                for _ in 0..<100 {
                    let inTime = try! side.lock.acquire(timeout: 10_000_000_000)
                    #expect(inTime)
                    guard inTime else { break }
                    total.value += 1
                    side.lock.release()
                }
                cs_store64(done.memory, 1)
                return
            }
            while cs_load64(done.memory) == 0 {
                try! side.lock.acquire()
                let end = cs_monotonic_ns() + 20_000
                while cs_monotonic_ns() < end {}
                side.lock.release()
            }
        }
        #expect(total.value == 100)
        #expect(side.lock.queued == 0)
        // The kernel has it back.
        #expect(try !machine.isLocked(try RealFile(path: folder["db"], mode: .existing), bytes: 7..<8))
    }

    // MARK: Other processes

    @Test(arguments: [true, false])
    func killedOwner(attached: Bool) throws {
        let words = SharedWords()
        let side = try Side(folder["db"], words: attached ? words : nil)
        for _ in 0..<3 {
            // The other process has the lock: of the kernel, or in its name in the shared word.
            let other = try OtherProcess.holding(folder["db"], byte: attached ? SharedWords.liveByte(77) : 7)
            if attached { words.owner.store(77) }
            #expect(try !side.lock.acquire(timeout: 30_000_000))
            let guarded = Guarded()
            let thread = try BackgroundThread(name: "waiter") { _ in
                try! side.lock.acquire()
                guarded.value = Int(cs_monotonic_ns())
                side.lock.release()
            }
            usleep(50_000)
            let killed = Int(cs_monotonic_ns())
            other.kill()
            thread.stopAndJoin()
            let waited = Double(guarded.value - killed) / 1e6
            #expect(waited > 0 && waited < 100, "\(waited) ms")
        }
    }

    /// An owner that was taken for dead while it had the lock (it closed the store under a thread) releases nothing of
    /// the next owner's.
    @Test func releaseByALateOwner() throws {
        let words = SharedWords()
        let late = try Side(folder["db"], words: words), next = try Side(folder["db"], words: words)
        try late.lock.acquire()
        words.owner.store(12345)  // no live owner: dead
        #expect(try next.lock.acquire(timeout: 0))
        let owner = words.owner.load()
        late.lock.release()
        #expect(words.owner.load() == owner)
        #expect(try !late.lock.acquire(timeout: 0))
        next.lock.release()
        #expect(words.owner.load() == 0)
        #expect(try late.lock.acquire(timeout: 0))
        late.lock.release()
    }

    @Test func waitAndWake() throws {
        let memory = try machine.createShared(folder["lock"], bytes: 4096, like: machine.open(folder["db"], .create))
        let word = SharedWord(memory.base + 64)
        #expect(milliseconds { machine.wait(word, while: 1, timeout: -1) } < 1000)  // differs: returns at once
        let slept = milliseconds { machine.wait(word, while: 1 << 32, timeout: 30_000_000) }  // the low half is equal
        #expect(slept >= 30)
        let thread = try BackgroundThread(name: "sleeper") { _ in
            while word.load() == 0 { RealMachine.shared.wait(word, while: 0, timeout: -1) }
        }
        usleep(10_000)
        // From another process, through its own map.
        let other = try OtherProcess(
            """
            import ctypes, mmap, sys
            file = open(sys.argv[1], "r+b")
            page = mmap.mmap(file.fileno(), 4096)
            page[64] = 1
            word = ctypes.c_uint32.from_buffer(page, 64)
            FUTEX_WAKE, SYS_futex = 1, {"x86_64": 202}.get(__import__("platform").machine(), 98)
            ctypes.CDLL(None).syscall(SYS_futex, ctypes.byref(word), FUTEX_WAKE, 1)
            print("ready", flush=True)
            """, folder["lock"])
        thread.stopAndJoin()
        withExtendedLifetime(other) {}
    }
}

import CSystem
import Foundation
import Testing

import ObjStoreCore

@Suite struct PlatformThreadTests {
    final class Box: @unchecked Sendable { var values: [Int] = [] }

    @Test func signalsAndDeadlines() throws {
        let box = Box(), lock = Lock()
        let thread = try BackgroundThread(name: "a name of more than 15 bytes") { thread in
            while true {
                let signalled = thread.waitForSignal(timeout: 20_000_000)
                if thread.isStopping { return }
                lock.withLock { box.values.append(signalled ? 1 : 0) }
            }
        }
        while lock.withLock({ box.values.count }) < 2 { usleep(1000) }  // two deadlines
        lock.withLock { #expect(!box.values.contains(1)) }
        let woken = milliseconds {
            thread.signal()
            while !lock.withLock({ box.values.contains(1) }) { usleep(100) }
        }
        #expect(woken < 500)
        thread.stopAndJoin()
        thread.stopAndJoin()
    }

    @Test func signalBeforeTheWaitIsKept() throws {
        let box = Box()
        let thread = try BackgroundThread(name: "early") { thread in
            while !thread.isStopping { usleep(100) }
            box.values = [thread.waitForSignal(timeout: -1) ? 1 : 0, thread.waitForSignal(timeout: 0) ? 1 : 0]
        }
        thread.signal()
        thread.signal()
        thread.stopAndJoin()
        #expect(box.values == [1, 0])  // signals do not add up
    }

    @Test func blocksSignals() throws {
        let box = Box()
        var before = sigset_t(), after = sigset_t()
        pthread_sigmask(SIG_BLOCK, nil, &before)
        let thread = try BackgroundThread(name: "mask") { _ in
            var mask = sigset_t()
            pthread_sigmask(SIG_BLOCK, nil, &mask)
            box.values = [SIGINT, SIGTERM, SIGALRM, SIGUSR1].map { Int(sigismember(&mask, $0)) }
        }
        thread.stopAndJoin()
        #expect(box.values == [1, 1, 1, 1])
        pthread_sigmask(SIG_BLOCK, nil, &after)
        #expect((1...64).allSatisfy { sigismember(&before, $0) == sigismember(&after, $0) })  // the maker's stays
    }

    @Test func lockExcludes() throws {
        let box = Box(), lock = Lock()
        box.values = [0]
        try onThreads(4) { _ in
            for _ in 0..<50_000 { lock.withLock { box.values[0] += 1 } }
        }
        #expect(box.values == [200_000])
        #expect(throws: StoreError.self) {
            try lock.withLock { () throws(StoreError) in throw StoreError(.io, "inside") }
        }
        lock.withLock {}  // the error has unlocked it
    }
}

import Glibc
import Synchronization
import Testing

import ObjStoreCore

/// Writers that do not want to wait for another one.
@Suite struct TryWriteTests {
    private let store: Store

    init() throws {
        var configuration = StoreConfiguration()
        configuration.place = .memory("")
        store = try Store.open(configuration)
        // The first write prepares the store.
        try store.begin().commit()
    }

    /// What a try on another thread comes to.
    private final class Try: Sendable {
        private let result = Atomic(0)
        var isOver: Bool { result.load(ordering: .acquiring) != 0 }
        /// Nil: it has written.
        var error: StatusCode? {
            result.load(ordering: .acquiring) == -1
                ? nil : StatusCode(rawValue: Int32(result.load(ordering: .acquiring)))
        }

        func run(_ store: Store) {
            do throws(StoreError) {
                try store.begin(.notAtAll).commit()
                result.store(-1, ordering: .releasing)
            } catch {
                result.store(Int(error.code.rawValue), ordering: .releasing)
            }
        }
    }

    /// A checkpoint, which comes by itself, has the writers' lock for a moment: no process is writing.
    @Test func aCheckpointIsNoWriter() throws {
        let database = store.shared.database, lock = try #require(database.locks.writer as? RealLock)
        for _ in 0..<20 {
            #expect(try database.acquireWriterForUpkeep())
            let attempt = Try()
            let other = try BackgroundThread(name: "writer") { [store] _ in attempt.run(store) }
            while lock.queued == 0 && !attempt.isOver { sched_yield() }
            database.releaseWriterAfterUpkeep()
            other.stopAndJoin()
            #expect(attempt.isOver && attempt.error == nil)
        }
    }

    /// Also before its thread, which was given the lock after it had waited for a writer, has woken up.
    @Test func aCheckpointThatIsBeingWokenIsNoWriter() throws {
        let database = store.shared.database, lock = try #require(database.locks.writer as? RealLock)
        for _ in 0..<100 {
            let transaction = try store.begin()
            let upkeep = try BackgroundThread(name: "upkeep") { _ in
                do throws(StoreError) {
                    _ = try database.acquireWriterForUpkeep()
                    database.releaseWriterAfterUpkeep()
                } catch { Issue.record(error) }
            }
            defer { upkeep.stopAndJoin() }
            // For so long that it is given the lock, rather than has to look for it.
            let start = ContinuousClock.now
            while lock.queued == 0 || ContinuousClock.now - start < .milliseconds(2) { sched_yield() }
            try transaction.cancel()
            try store.begin(.notAtAll).commit()
        }
    }

    /// A holder that has not said yet what it wants the lock for is waited for, not taken for a writer.
    @Test func aHolderThatHasNotSaidYetIsNoWriter() throws {
        let database = store.shared.database, lock = database.locks.writer
        for _ in 0..<20 {
            _ = try lock.acquire(timeout: -1)
            let attempt = Try()
            let other = try BackgroundThread(name: "writer") { [store] _ in attempt.run(store) }
            let start = ContinuousClock.now
            while ContinuousClock.now - start < .milliseconds(3) && !attempt.isOver { sched_yield() }
            lock.release()
            other.stopAndJoin()
            #expect(attempt.isOver && attempt.error == nil)
        }
    }

    /// Later writers do.
    @Test func aWriterIsOne() throws {
        let database = store.shared.database
        #expect(try database.acquireWriterForUpkeep())
        database.releaseWriterAfterUpkeep()
        let transaction = try store.begin()
        let attempt = Try()
        try BackgroundThread(name: "writer") { [store] _ in attempt.run(store) }.stopAndJoin()
        #expect(attempt.error == .busy)
        try transaction.cancel()
    }
}

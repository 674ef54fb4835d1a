import Glibc
import ObjStore
import Synchronization
import Testing

/// Writes that were begun and that nothing can end any more.
@Suite struct OpenWriteTests {
    private static func told(_ models: [Object.Type] = [Dog.self]) throws -> (Store, Errors) {
        let errors = Errors()
        var configuration = Store.Configuration(.memory(), models: models)
        configuration.onError = { errors.add($0) }
        return (try Store(configuration), errors)
    }

    @Test func aThreadThatEndsInsideOfAWrite() throws {
        let (store, errors) = try OpenWriteTests.told()
        for round in 1...3 {
            onThreads(1) { _ in
                do { try store.beginWrite().create(Dog.self, value: [round, "lost", 3]) } catch {
                    errors.add(ObjStoreErrorSample.missing)
                }
            }
            // It would wait for ever.
            try store.write { tx in try tx.create(Dog.self, value: [round]) }
            #expect(
                errors.all.count == round
                    && errors.all.allSatisfy { $0.code == .cancelled && $0.message.contains("thread") })
        }
        #expect(store.lastError?.code == .cancelled)
        #expect(store.objects(Dog.self).map(\.name) == ["", "", ""])
        #expect(try store.verify() == [])
    }

    /// Inside the body of `write`, too.
    @Test func aThreadThatExitsFromABody() throws {
        let (store, errors) = try OpenWriteTests.told()
        onThreads(1) { _ in
            try? store.write { tx in
                try tx.create(Dog.self, value: [1])
                pthread_exit(nil)
            }
        }
        try store.write { tx in try tx.create(Dog.self, value: [2]) }
        #expect(errors.all.map(\.code) == [.cancelled])
        #expect(store.objects(Dog.self).map(\.id) == [2])
    }

    /// Several stores at once, one of which is gone; and what the handler does with another one.
    @Test func storesOfAThreadThatEnds() throws {
        let (first, errors) = try OpenWriteTests.told(), (second, _) = try OpenWriteTests.told()
        let third = try memoryStore([Dog.self])
        var configuration = Store.Configuration(.memory(), models: [Dog.self])
        configuration.onError = { _ in _ = try? third.write { tx in try tx.create(Dog.self, value: [7]) } }
        let fourth = LastStore(try Store(configuration))
        let kept = LastStore(nil), last = configuration
        onThreads(1) { _ in
            for store in [first, second] { try! store.beginWrite() }
            try! fourth.store!.beginWrite()
            fourth.store = nil
            let gone = try! memoryStore([Dog.self])
            try! gone.beginWrite()
            kept.store = try! Store(last)
            try! kept.store!.beginWrite()
        }
        for store in [first, second] { try store.write { tx in try tx.create(Dog.self, value: [1]) } }
        #expect(errors.all.map(\.code) == [.cancelled])
        #expect(third.objects(Dog.self).count == 1)
        // Nothing is reported of writes that were ended.
        onThreads(1) { _ in
            try! first.beginWrite().create(Dog.self, value: [2])
            try! first.commitWrite()
        }
        #expect(errors.all.count == 1 && first.objects(Dog.self).count == 2)
    }

    /// The library's own threads never end.
    @Test func aHandlerThatNeverEndsItsWrite() throws {
        let errors = Errors(), begun = Atomic<Int>(0)
        var configuration = Store.Configuration(.memory(), models: [Dog.self])
        configuration.onError = { errors.add($0) }
        configuration.deliversOnWorker = true
        let store = try Store(configuration)
        let token = try store.objects(Dog.self).observe { change in
            guard begun.add(1, ordering: .relaxed).newValue == 1 else { return }
            try store.beginWrite().create(Dog.self, value: [1])
        }
        while errors.all.isEmpty { usleep(1000) }
        try store.write { tx in try tx.create(Dog.self, value: [2]) }
        #expect(errors.all.map(\.code) == [.cancelled] && errors.all[0].message.contains("handler"))
        #expect(store.objects(Dog.self).map(\.id) == [2])
        withExtendedLifetime(token) {}
    }

    @Test func anAsyncBodyThatNeverEndsItsWrite() async throws {
        let (store, errors) = try OpenWriteTests.told(), (other, _) = try OpenWriteTests.told()
        try await store.asyncWrite { tx in
            try tx.cancel()
            try store.beginWrite().create(Dog.self, value: [1])
            try other.beginWrite()
        }
        try await other.asyncWrite { tx in try tx.create(Dog.self, value: [2]) }
        try await store.asyncWrite { tx in try tx.create(Dog.self, value: [2]) }
        #expect(errors.all.map(\.code) == [.cancelled] && errors.all[0].message.contains("asyncWrite"))
        #expect(store.objects(Dog.self).map(\.id) == [2] && other.lastError?.code == .cancelled)
    }

    /// Synchronous functions that a task calls: the compiler does not see what is between them.
    private static func begin(_ store: Store, _ id: Int) throws { try store.beginWrite().create(Dog.self, value: [id]) }
    private static func commit(_ store: Store) throws { try store.commitWrite() }

    @Test func aTaskThatNeverEndsItsWrite() async throws {
        let (store, errors) = try OpenWriteTests.told()
        let task = Task.detached {
            try OpenWriteTests.begin(store, 1)
            try await Task.sleep(for: .seconds(3600))
            try OpenWriteTests.commit(store)
        }
        task.cancel()
        #expect(await task.result.failed)
        let writer = Task.detached { try store.write { tx in try tx.create(Dog.self, value: [2]) }.id }
        #expect(try await writer.value == 2)
        #expect(await errors.all(1).map(\.code) == [.cancelled])
        #expect(store.objects(Dog.self).map(\.id) == [2])
    }

    /// Writers that wait for writes that were left on each other's threads: as many of them as there are threads for
    /// tasks, and more.
    @Test func tasksThatWaitForEachOther() async throws {
        let stores = try (0..<8).map { _ in try OpenWriteTests.told().0 }
        await withTaskGroup(of: Void.self) { group in
            for store in stores { group.addTask { try? OpenWriteTests.begin(store, 1) } }
        }
        await withTaskGroup(of: Void.self) { group in
            for store in stores.reversed() {
                group.addTask { _ = try? store.write { tx in try tx.create(Dog.self, value: [2]) } }
            }
        }
        for store in stores { #expect(store.objects(Dog.self).map(\.id) == [2]) }
    }

    /// Whether it continues on its thread or another one, a task commits what it did, or gets an error that it is lost.
    @Test func aTaskThatWaitsInsideOfAWrite() async throws {
        let (store, errors) = try OpenWriteTests.told()
        let lost = try await withThrowingTaskGroup(of: Int.self) { group in
            for id in 0..<50 {
                group.addTask {
                    do {
                        try OpenWriteTests.begin(store, id)
                        await Task.yield()
                        try OpenWriteTests.commit(store)
                        return 0
                    } catch let error as ObjStoreError where error.code == .notInWrite {
                        return 1
                    }
                }
            }
            return try await group.reduce(0, +)
        }
        #expect(store.objects(Dog.self).count == 50 - lost)
        #expect(await errors.all(lost).map(\.code) == Array(repeating: .cancelled, count: lost))
        try store.write { tx in try tx.create(Dog.self, value: [100]) }
    }

    /// Memory of a task that has ended is that of another one at once; the thread on which it left its write may have
    /// nothing to do.
    @Test func aTaskInThePlaceOfAnotherOne() async throws {
        let (store, errors) = try OpenWriteTests.told()
        for id in 0..<40 {
            try await Task.detached { try OpenWriteTests.begin(store, id) }.value
            let second = Task.detached {
                #expect(!store.isInWrite)
                if id % 2 == 0 {
                    try store.write { tx in try tx.create(Dog.self, value: [1000 + id]) }
                } else {
                    try OpenWriteTests.commit(store)
                }
            }
            if id % 2 == 0 { try await second.value } else { #expect(await second.result.failed) }
        }
        try store.write { tx in try tx.create(Dog.self, value: [5000]) }
        #expect(store.objects(Dog.self).map(\.id) == (0..<20).map { 1000 + 2 * $0 } + [5000])
        #expect(await errors.all(40).map(\.code) == Array(repeating: .cancelled, count: 40))
    }

    /// What another task does on the same thread is not reported to the one that has a write open.
    @Test @MainActor func errorsOfAnotherTask() async throws {
        let (store, errors) = try OpenWriteTests.told()
        let dog = try store.write { tx in try tx.create(Dog.self, value: [1, "Rex"]) }
        let hasBegun = Mutex(false), isRefused = Mutex(false)
        let first = Task { @MainActor in
            try OpenWriteTests.begin(store, 2)
            hasBegun.withLock { $0 = true }
            while !isRefused.withLock({ $0 }) { await Task.yield() }
            try OpenWriteTests.commit(store)
        }
        let second = Task { @MainActor in
            while !hasBegun.withLock({ $0 }) { await Task.yield() }
            dog.name = "changed"
            isRefused.withLock { $0 = true }
        }
        await second.value
        // It may have been seen by the watcher, and cancelled.
        let isLost = await first.result.failed
        #expect(
            errors.all.map(\.code) == [.notInWrite] + (isLost ? [.cancelled] : [])
                || errors.all.map(\.code) == [.cancelled, .notInWrite])
        #expect(store.objects(Dog.self).map(\.id) == (isLost ? [1] : [1, 2]) && dog.name == "Rex")
    }

    /// A task on the thread of another one is not inside of its write.
    @Test @MainActor func anotherTaskOnTheSameThread() async throws {
        let (store, errors) = try OpenWriteTests.told()
        let dog = try store.write { tx in try tx.create(Dog.self, value: [1, "Rex"]) }
        let first = Task { @MainActor in
            try OpenWriteTests.begin(store, 2)
            await Task.yield()
            try OpenWriteTests.commit(store)
        }
        let second = Task { @MainActor in
            #expect(!store.isInWrite)
            #expect(code { try Store.checked { dog.name = "changed" } } == .notInWrite)
            try store.write { tx in try tx.create(Dog.self, value: [3]) }
        }
        try await second.value
        do { try await first.value } catch let error as ObjStoreError { #expect(error.code == .notInWrite) }
        #expect(store.objects(Dog.self).count + errors.all.count == 3)
        #expect(dog.name == "Rex")
    }
}

/// What one thread at a time looks at.
private final class LastStore: @unchecked Sendable {
    var store: Store?
    init(_ store: Store?) { self.store = store }
}

extension Result {
    fileprivate var failed: Bool { if case .failure = self { true } else { false } }
}

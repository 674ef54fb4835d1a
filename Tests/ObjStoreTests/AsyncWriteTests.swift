import Dispatch
import ObjStore
import Synchronization
import Testing

private final class Runs: Sendable {
    let count = Atomic(0)
}

/// A writer on a thread of its own, which stays in its write until it is let go.
private final class Holder: Sendable {
    private let mayEnd = DispatchSemaphore(value: 0)

    /// Returns once it is in its write.
    func hold(_ store: Store) async {
        await withCheckedContinuation { continuation in
            DispatchQueue(label: "holder").async { [self] in
                try! store.write { tx in
                    try tx.create(Dog.self, value: [1000])
                    continuation.resume()
                    mayEnd.wait()
                }
            }
        }
    }

    func letGo() { mayEnd.signal() }
}

@Suite struct AsyncWriteTests {
    /// What a body ends with may be an object, as of `write`, which is not returned.
    @Test func bodiesThatEndWithAnObject() async throws {
        let store = try memoryStore([Dog.self])
        try await store.asyncWrite { tx in try tx.create(Dog.self, value: [1]) }
        try await store.asyncWrite { tx in [try tx.create(Dog.self, value: [2])] }
        try await store.asyncWrite { tx in try tx.dynamicCreate("Dog", value: ["id": 3]) }
        let id = try await store.asyncWrite { tx in try tx.create(Dog.self, value: [4]).id }
        #expect(id == 4 && store.objects(Dog.self).map(\.id) == [1, 2, 3, 4])
    }

    /// Whatever it is that is not `Sendable`: also of `write` in a task, which would hand it on.
    @Test func bodiesThatEndWithWhatStaysOnItsThread() async throws {
        let store = try memoryStore([Dog.self])
        try await Task { try store.write { tx in try tx.create(Dog.self, value: [1]) } }.value
        try await Task { try store.tryWrite { tx in try tx.create(Dog.self, value: [2]) } }.value
        try await Task.detached { try store.write { tx in (try tx.create(Dog.self, value: [3]), 1) } }.value
        try await store.asyncWrite { tx in (try tx.create(Dog.self, value: [4]), 1) }
        try await store.asyncWrite { tx in List([try tx.create(Dog.self, value: [5])]) }
        try await store.asyncWrite { tx in AnyValue.object(try tx.create(Dog.self, value: [6])) }
        try await store.asyncWrite { tx in
            let dog = try tx.create(Dog.self, value: [7])
            return ["dog": dog]
        }
        try await withThrowingTaskGroup { group in
            group.addTask { try store.write { tx in try tx.create(Dog.self, value: [8]) } }
            try await group.waitForAll()
        }
        // What can be returned still is.
        let count = try await Task { try store.write { tx in tx.objects(Dog.self).count } }.value
        let ninth = try store.write { tx in try tx.create(Dog.self, value: [9]) }
        #expect(count == 8 && ninth.id == 9)
        #expect(store.objects(Dog.self).map(\.id) == Array(1...9))
    }

    /// Many tasks wait for a writer that waits for a task: more of them than there are threads for tasks.
    @Test func waitingWritersLeaveTheThreadsToOthers() async throws {
        let store = try memoryStore([Dog.self])
        let holder = Holder()
        await holder.hold(store)
        try await withThrowingTaskGroup(of: Int.self) { group in
            for id in 0..<100 {
                group.addTask { try await store.asyncWrite { tx in try tx.create(Dog.self, value: [id]).id } }
            }
            // With all threads waiting this task would never run.
            group.addTask {
                for _ in 0..<100 { await Task.yield() }
                holder.letGo()
                return 0
            }
            var sum = 0
            for try await id in group { sum += id }
            #expect(sum == 4950)
        }
        #expect(store.objects(Dog.self).count == 101)
    }

    @Test func errorsAndResults() async throws {
        let store = try memoryStore([Dog.self])
        #expect(try await store.asyncWrite { tx in try tx.create(Dog.self, value: [7, "Rex"]).name } == "Rex")
        await #expect(throws: ObjStoreError.self) {
            try await store.asyncWrite { tx in try tx.create(Dog.self, value: [7]).id }
        }
        await #expect(throws: ObjStoreError.self) {
            try await store.asyncWrite { _ in store.objects(Dog.self)[0].id = 9 }
        }
        #expect(store.objects(Dog.self).map(\.id) == [7])
    }

    /// Tasks that are cancelled while another writer continues return while it does, and their bodies never run.
    @Test func tasksThatAreCancelledWhileTheyWait() async throws {
        let store = try memoryStore([Dog.self])
        let holder = Holder(), runs = Runs()
        await holder.hold(store)
        let tasks = (0..<20).map { id in
            Task.detached {
                try await store.asyncWrite { tx in
                    runs.count.add(1, ordering: .relaxed)
                    return try tx.create(Dog.self, value: [id]).id
                }
            }
        }
        for _ in 0..<100 { await Task.yield() }
        for task in tasks.prefix(15) { task.cancel() }
        for task in tasks.prefix(15) { await #expect(throws: CancellationError.self) { try await task.value } }
        #expect(runs.count.load(ordering: .relaxed) == 0)
        holder.letGo()
        for (id, task) in Array(tasks.enumerated()).suffix(5) { #expect((try? await task.value) == id) }
        #expect(
            store.objects(Dog.self).map(\.id).sorted() == [15, 16, 17, 18, 19, 1000]
                && runs.count.load(ordering: .relaxed) == 5)
    }

    @Test func aTaskThatIsCancelledBeforeItsTurn() async throws {
        let store = try memoryStore([Dog.self])
        let task = Task.detached {
            while !Task.isCancelled { await Task.yield() }
            return try await store.asyncWrite { tx in try tx.create(Dog.self, value: [1]).id }
        }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(store.objects(Dog.self).isEmpty)
    }
}

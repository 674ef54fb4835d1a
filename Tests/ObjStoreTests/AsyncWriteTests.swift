import Dispatch
import ObjStore
import Synchronization
import Testing

private final class Flags: Sendable {
    let isOpen = Atomic(false), mayEnd = Atomic(false), runs = Atomic(0)
}

@Suite struct AsyncWriteTests {
    private static let isOpen = Atomic<Bool>(false), mayEnd = Atomic<Bool>(false)

    /// Many tasks wait for a writer that waits for a task: more of them than there are threads for tasks.
    @Test func waitingWritersLeaveTheThreadsToOthers() async throws {
        let store = try memoryStore([Dog.self])
        DispatchQueue(label: "holder").async {
            try! store.write { tx in
                try tx.create(Dog.self, value: [1000])
                AsyncWriteTests.isOpen.store(true, ordering: .releasing)
                while !AsyncWriteTests.mayEnd.load(ordering: .acquiring) {}
            }
        }
        while !AsyncWriteTests.isOpen.load(ordering: .acquiring) { await Task.yield() }
        try await withThrowingTaskGroup(of: Int.self) { group in
            for id in 0..<100 { group.addTask { try await store.asyncWrite { tx in try tx.create(Dog.self, value: [id]).id } } }
            // With all threads waiting this task would never run.
            group.addTask {
                for _ in 0..<100 { await Task.yield() }
                AsyncWriteTests.mayEnd.store(true, ordering: .releasing)
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
        await #expect(throws: ObjStoreError.self) { try await store.asyncWrite { tx in try tx.create(Dog.self, value: [7]).id } }
        await #expect(throws: ObjStoreError.self) { try await store.asyncWrite { _ in store.objects(Dog.self)[0].id = 9 } }
        #expect(store.objects(Dog.self).map(\.id) == [7])
    }

    /// Tasks that are cancelled while another writer goes on return while he does, and their bodies never run.
    @Test func tasksThatAreCancelledWhileTheyWait() async throws {
        let store = try memoryStore([Dog.self])
        let flags = Flags()
        await withTaskGroup(of: Void.self) { group in
            group.addTask {
                await withCheckedContinuation { continuation in
                    DispatchQueue(label: "holder").async {
                        try! store.write { tx in
                            try tx.create(Dog.self, value: [1000])
                            flags.isOpen.store(true, ordering: .releasing)
                            while !flags.mayEnd.load(ordering: .acquiring) {}
                        }
                        continuation.resume()
                    }
                }
            }
            while !flags.isOpen.load(ordering: .acquiring) { await Task.yield() }
            let tasks = (0..<20).map { id in
                Task.detached {
                    try await store.asyncWrite { tx in
                        flags.runs.add(1, ordering: .relaxed)
                        return try tx.create(Dog.self, value: [id]).id
                    }
                }
            }
            for _ in 0..<100 { await Task.yield() }
            for task in tasks.prefix(15) { task.cancel() }
            for task in tasks.prefix(15) { await #expect(throws: CancellationError.self) { try await task.value } }
            #expect(flags.runs.load(ordering: .relaxed) == 0)
            flags.mayEnd.store(true, ordering: .releasing)
            for (id, task) in Array(tasks.enumerated()).suffix(5) { #expect((try? await task.value) == id) }
            await group.waitForAll()
        }
        #expect(store.objects(Dog.self).map(\.id).sorted() == [15, 16, 17, 18, 19, 1000] && flags.runs.load(ordering: .relaxed) == 5)
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

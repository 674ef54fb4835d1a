import Glibc
import ObjStore
import Synchronization
import Testing

/// Writes of tasks.
@Suite struct AsyncWriteTests {
    /// What a body ends with may be an object, as of `write`; it need not be wanted.
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
        #expect(store.objects(Dog.self).count == 100)
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
        let holder = Holder(), happened = Happened()
        await holder.hold(store)
        let tasks = (0..<20).map { id in
            Task.detached {
                try await store.asyncWrite { tx in
                    happened.add("body")
                    return try tx.create(Dog.self, value: [id]).id
                }
            }
        }
        for _ in 0..<100 { await Task.yield() }
        for task in tasks.prefix(15) { task.cancel() }
        for task in tasks.prefix(15) { await #expect(throws: CancellationError.self) { try await task.value } }
        #expect(happened.all.isEmpty && holder.isHolding.load(ordering: .acquiring))
        holder.letGo()
        for (id, task) in Array(tasks.enumerated()).suffix(5) { #expect((try? await task.value) == id) }
        #expect(
            store.objects(Dog.self).map(\.id).sorted() == [15, 16, 17, 18, 19] && happened.all.count == 5)
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

    /// A body that began runs to its end, and is committed, whatever becomes of its task.
    @Test func aTaskThatIsCancelledInsideOfItsBody() async throws {
        let store = try memoryStore([Dog.self])
        let task = Task.detached {
            try await store.asyncWrite { tx in
                withUnsafeCurrentTask { $0?.cancel() }
                return try tx.create(Dog.self, value: [1]).id
            }
        }
        #expect(try await task.value == 1 && store.objects(Dog.self).map(\.id) == [1])
    }

    private struct ApplicationError: Error, Equatable { let number: Int }

    @Test func errorsOfTheProgram() async throws {
        let store = try memoryStore([Dog.self])
        await #expect(throws: ApplicationError(number: 7)) {
            try await store.asyncWrite { tx in
                try tx.create(Dog.self, value: [1])
                throw ApplicationError(number: 7)
            }
        }
        // Undone without an error, with what it returns.
        let count = try await store.asyncWrite { tx in
            try tx.create(Dog.self, value: [2])
            let count = store.objects(Dog.self).count
            try tx.cancel()
            return count
        }
        #expect(count == 1 && store.objects(Dog.self).isEmpty)
        var configuration = Store.Configuration(path: Folder().file())
        configuration.access = .readOnly
        let folder = Folder()
        try Store.open(path: folder.file(), models: [Dog.self]).close()
        configuration.location = .file(folder.file())
        let readOnly = try Store(configuration)
        #expect(await codeOf { try await readOnly.asyncWrite { _ in } } == .readOnly)
        try store.close()
        #expect(await codeOf { try await store.asyncWrite { _ in } } == .closedHandle)
    }

    /// A task that waits when its store is closed.
    @Test func closingWhileTasksWait() async throws {
        let folder = Folder(), holder = Holder(), happened = Happened()
        let configuration = Store.Configuration(path: folder.file(), models: [Dog.self])
        let store = try Store(configuration), other = try Store(configuration)
        await holder.hold(other)
        let tasks = (0..<5).map { _ in
            Task.detached { await codeOf { try await store.asyncWrite { _ in happened.add("body") } } }
        }
        while !store.isPerformingAsynchronousWriteOperations { await Task.yield() }
        try store.close()
        for task in tasks { #expect(await task.value == .closedHandle) }
        holder.letGo()
        #expect(happened.all.isEmpty)
    }

    /// The commit of a task is under way when the actor that it is on closes the store: it is stored, and the task,
    /// which continues only then, learns that.
    @MainActor @Test func closingWhileATaskCommits() async throws {
        for _ in 0..<5 {
            let folder = Folder(), store = try Store.open(path: folder.file(), models: [Dog.self])
            var hasRun = false
            let task = Task {
                try await store.asyncWrite { tx in
                    hasRun = true
                    return try tx.create(Dog.self, value: [1]).id
                }
            }
            while !hasRun { await Task.yield() }
            try store.close()
            #expect(try await task.value == 1)
            #expect(try Store.open(path: folder.file(), models: [Dog.self]).objects(Dog.self).count == 1)
        }
    }

    /// A task whose commit is under way, or not, when its store is closed: it learns which.
    @Test func closingWhileTasksCommit() async throws {
        let folder = Folder(), configuration = Store.Configuration(path: folder.file(), models: [Dog.self])
        var stored = 0
        for round in 0..<60 {
            let store = try Store(configuration)
            let tasks = (0..<4).map { number in
                Task.detached {
                    await codeOf {
                        try await store.asyncWrite { tx in try tx.create(Dog.self, value: [4 * round + number]) }
                    }
                }
            }
            for _ in 0..<round { await Task.yield() }
            try store.close()
            for task in tasks {
                let code = await task.value
                #expect(code == nil || code == .closedHandle)
                if code == nil { stored += 1 }
            }
            #expect(try Store(configuration).objects(Dog.self).count == stored)
        }
    }

    /// What the actor has goes into the body and comes out of it; its other work goes on meanwhile, in the same state.
    actor Kennel {
        let store: Store
        private var names: [String] = []
        private var last: Dog?

        init(_ store: Store) { self.store = store }

        func add(_ id: Int) async throws {
            last = try await store.asyncWrite { tx in
                let dog = Dog()
                (dog.id, dog.name) = (id, "dog \(names.count)")
                names.append(dog.name)
                try tx.add(dog)
                return dog
            }
        }

        func addNow(_ id: Int) throws { try store.write { tx in try tx.create(Dog.self, value: [id, "now"]) } }
        var all: [String] { names }
        var lastName: String? { last?.name }
        func refresh() async throws -> Bool { try await store.asyncRefresh() }
    }

    @Test func bodiesOnAnActor() async throws {
        let kennel = Kennel(try memoryStore([Dog.self]))
        try await withThrowingTaskGroup { group in
            for id in 0..<100 { group.addTask { try await kennel.add(id) } }
            try await group.waitForAll()
        }
        let names = await kennel.all
        #expect(names == (0..<100).map { "dog \($0)" })
        #expect(Set(kennel.store.objects(Dog.self).map(\.name)) == Set(names))
        #expect(await kennel.lastName != nil)
        #expect(try await !kennel.refresh())
    }

    /// A synchronous write of the actor goes first, also where the turn of its task has come: neither waits for the
    /// other.
    @Test func aSynchronousWriteOfTheSameActor() async throws {
        let kennel = Kennel(try memoryStore([Dog.self]))
        for round in 0..<200 {
            let task = Task { try await kennel.add(2 * round) }
            try await kennel.addNow(2 * round + 1)
            try await task.value
        }
        #expect(kennel.store.objects(Dog.self).count == 400)
    }

    /// The program's main loop goes on while another thread has the lock.
    @MainActor @Test func theMainActorIsNotBlocked() async throws {
        let store = try memoryStore([Dog.self]), holder = Holder()
        await holder.hold(store)
        var isStored = false
        let task = Task {
            let dog = try await store.asyncWrite { tx in
                MainActor.assertIsolated()
                return try tx.create(Dog.self, value: [1, "Rex"])
            }
            isStored = dog.name == "Rex"
        }
        for _ in 0..<200 { await Task.yield() }
        #expect(!isStored && holder.isHolding.load(ordering: .acquiring))
        holder.letGo()
        try await task.value
        #expect(isStored)
    }

    /// A thousand of them share a few syncs.
    @Test func groupedWrites() async throws {
        let folder = Folder(), store = try Store.open(path: folder.file(), models: [Dog.self])
        let before = try store.statistics().syncs
        try await withThrowingTaskGroup { group in
            for id in 0..<1000 {
                group.addTask {
                    try await store.asyncWrite(allowGrouping: true) { tx in try tx.create(Dog.self, value: [id]) }
                }
            }
            try await group.waitForAll()
        }
        let syncs = try store.statistics().syncs - before
        #expect(store.objects(Dog.self).map(\.id).sorted() == Array(0..<1000))
        #expect(syncs < 500, "\(syncs) syncs of 1,000 commits")
        #expect(!store.isPerformingAsynchronousWriteOperations)
        try store.close()
    }

    @MainActor @Test func openingWithoutBlocking() async throws {
        let folder = Folder(), happened = Happened(), thread = pthread_self()
        var configuration = Store.Configuration(path: folder.file(), models: [Dog.self])
        configuration.initialData = { tx in
            happened.add(pthread_self() == thread ? "here" : "elsewhere")
            try tx.create(Dog.self, value: [1])
        }
        let store = try await opened(configuration)
        #expect(happened.all == ["elsewhere"] && store.objects(Dog.self).count == 1)
        configuration.location = .file(folder.path + "/none/there")
        let missing = configuration
        #expect(await codeOf { _ = try await opened(missing) } == .notFound)
        let task = Task { @MainActor in
            while !Task.isCancelled { await Task.yield() }
            return try await opened(Store.Configuration(path: folder.file(), models: [Dog.self]))
        }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
    }
}

@MainActor private func opened(_ configuration: Store.Configuration) async throws -> Store {
    try await Store(configuration: configuration, actor: MainActor.shared)
}

/// The code of the error that a body throws; nil where it throws none.
func codeOf(
    isolation: isolated (any Actor)? = #isolation, _ body: () async throws -> Void
) async -> ObjStoreError.Code? {
    do { try await body() } catch { return (error as? ObjStoreError)?.code ?? .internalError }
    return nil
}

import Dispatch
import Glibc
import ObjStore
import Synchronization
import Testing

/// What happened, in its order, on any thread.
final class Happened: Sendable {
    private let events = Mutex<[String]>([])
    var all: [String] { events.withLock { $0 } }
    func add(_ event: String) { events.withLock { $0.append(event) } }
}

/// A writer on a thread of its own, which stays in its write until it is let go.
final class Holder: Sendable {
    private let mayEnd = DispatchSemaphore(value: 0)
    let isHolding = Atomic(false)

    /// Returns once it is in its write.
    func hold(_ store: Store) async {
        await withCheckedContinuation { continuation in start(store) { continuation.resume() } }
    }

    func holdNow(_ store: Store) {
        let began = DispatchSemaphore(value: 0)
        start(store) { began.signal() }
        began.wait()
    }

    private func start(_ store: Store, _ began: @escaping @Sendable () -> Void) {
        DispatchQueue(label: "holder").async { [self] in
            try! store.write { _ in
                isHolding.store(true, ordering: .releasing)
                began()
                mayEnd.wait()
                isHolding.store(false, ordering: .releasing)
            }
        }
    }

    func letGo() { mayEnd.signal() }
}

extension Store {
    /// Delivers until nothing that was called asynchronously is left.
    func finishAsyncWrites() throws {
        while isPerformingAsynchronousWriteOperations { try wait(atMost: .seconds(10)) }
    }
}

/// The acceptance scenarios of asynchronous and silent writes, by number.
@Suite struct AsyncScenarioTests {
    final class Todo: Object {
        @Persisted(primaryKey: true, generated: true) var _id: ObjectId
        @Persisted var name: String
        @Persisted var owner: String
        @Persisted var status: String
    }

    private static func kennel() throws -> Store {
        let store = try memoryStore(K.models)
        try store.write { tx in try tx.create(K.Person.self, value: ["id": 1, "name": "Dachary"]) }
        return store
    }

    private static func dachary(_ store: Store) throws -> K.Person {
        try #require(try store.object(ofType: K.Person.self, forPrimaryKey: 1))
    }

    @Test func A43_appendAsynchronously() throws {
        let store = try AsyncScenarioTests.kennel()
        let dachary = try AsyncScenarioTests.dachary(store)
        try store.writeAsync { _ in
            dachary.dogs.append(objectsIn: [K.dog("Ben", 13), K.dog("Lita", 9), K.dog("Maui", 1)])
        }
        try store.finishAsyncWrites()
        let dogs = try AsyncScenarioTests.dachary(store).dogs
        #expect(dogs.map(\.name) == ["Ben", "Lita", "Maui"])
        #expect(store.objects(K.Dog.self).where { $0.name == "Ben" }.count == 1)
    }

    @Test func A50_writeAsync() throws {
        let store = try AsyncScenarioTests.kennel(), happened = Happened(), thread = pthread_self()
        let dachary = try AsyncScenarioTests.dachary(store)
        #expect(!store.isPerformingAsynchronousWriteOperations)
        try store.writeAsync { tx in
            #expect(store.isInWrite && pthread_self() == thread)
            dachary.dogs.append(objectsIn: [K.dog("Ben"), K.dog("Lita"), K.dog("Maui")])
            #expect(store.objects(K.Dog.self).count == 3 && tx.objects(K.Dog.self).count == 3)
            happened.add("body")
        } onComplete: { error in
            #expect(error == nil && store.isPerformingAsynchronousWriteOperations && !store.isInWrite)
            #expect(pthread_self() == thread && (try? AsyncScenarioTests.dachary(store).dogs.count) == 3)
            happened.add("complete")
        }
        #expect(store.isPerformingAsynchronousWriteOperations && happened.all.isEmpty)
        try store.finishAsyncWrites()
        #expect(!store.isPerformingAsynchronousWriteOperations && happened.all == ["body", "complete"])
        try store.write { _ in #expect(!store.isPerformingAsynchronousWriteOperations) }
    }

    @Test func A51_aBeginWithoutACommit() throws {
        let store = try memoryStore([Dog.self]), happened = Happened()
        try store.beginAsyncWrite { tx in
            try tx.create(Dog.self, value: [1])
            happened.add("body")
        }
        try store.finishAsyncWrites()
        #expect(happened.all == ["body"] && store.objects(Dog.self).isEmpty)
    }

    @Test func A52_beginAndCommit() throws {
        let store = try memoryStore([Dog.self]), happened = Happened()
        try store.beginAsyncWrite { tx in
            try tx.create(Dog.self, value: [1])
            try store.commitAsyncWrite { error in happened.add("complete \(error.map { "\($0)" } ?? "well")") }
            #expect(!store.isInWrite && code { try tx.create(Dog.self, value: [2]) } == .notInWrite)
        }
        try store.finishAsyncWrites()
        #expect(happened.all == ["complete well"] && store.objects(Dog.self).map(\.id) == [1])
    }

    @Test func A53_cancelABegin() throws {
        let store = try memoryStore([Dog.self]), happened = Happened()
        let id = try store.beginAsyncWrite { tx in
            happened.add("body")
            try tx.create(Dog.self, value: [1])
            try store.commitAsyncWrite { _ in happened.add("complete") }
        }
        store.cancelAsyncWrite(id)
        try store.finishAsyncWrites()
        #expect(happened.all.isEmpty && store.objects(Dog.self).isEmpty)
        let other = try store.writeAsync { _ in
            happened.add("body")
        } onComplete: { _ in
            happened.add("complete")
        }
        store.cancelAsyncWrite(other)
        store.cancelAsyncWrite(other)
        store.cancelAsyncWrite(id)
        try store.finishAsyncWrites()
        #expect(happened.all.isEmpty && id != other)
    }

    /// Inside of the body, after it, and of a commit of what began synchronously: it happens all the same.
    @Test func A54_cancelACommit() throws {
        let store = try memoryStore([Dog.self]), happened = Happened(), later = Mutex<AsyncWriteId?>(nil)
        try store.beginAsyncWrite { tx in
            try tx.create(Dog.self, value: [1])
            store.cancelAsyncWrite(try store.commitAsyncWrite { _ in happened.add("complete") })
        }
        try store.beginAsyncWrite { tx in
            try tx.create(Dog.self, value: [2])
            let id = try store.commitAsyncWrite { _ in happened.add("complete") }
            later.withLock { $0 = id }
        }
        while later.withLock({ $0 }) == nil { try store.wait(atMost: .seconds(10)) }
        // Its completion may be due by now, but this thread delivers.
        if let id = later.withLock({ $0 }) { store.cancelAsyncWrite(id) }
        try store.beginWrite().create(Dog.self, value: [3])
        store.cancelAsyncWrite(try store.commitAsyncWrite { _ in happened.add("complete") })
        try store.finishAsyncWrites()
        #expect(happened.all.isEmpty && store.objects(Dog.self).map(\.id) == [1, 2, 3])
    }

    /// Grouped, 200 small commits need a fraction of the syncs, and leave the same. (How many share one is a question
    /// of time: a delivery runs bodies for half a millisecond.)
    @Test func A55_grouping() throws {
        func syncs(grouped: Bool) throws -> UInt64 {
            let folder = Folder(), store = try Store.open(path: folder.file(), models: [Dog.self])
            let before = try store.statistics().syncs
            for id in 0..<200 {
                try store.beginAsyncWrite { tx in
                    try tx.create(Dog.self, value: [id])
                    try store.commitAsyncWrite(allowGrouping: grouped)
                }
            }
            try store.finishAsyncWrites()
            #expect(store.objects(Dog.self).map(\.id) == Array(0..<200))
            return try store.statistics().syncs - before
        }
        let alone = try syncs(grouped: false), grouped = try syncs(grouped: true)
        #expect(grouped * 2 <= alone, "\(alone) syncs alone, \(grouped) grouped")
    }

    @Test func A56_closeWaits() throws {
        let folder = Folder(), happened = Happened()
        let store = try Store.open(path: folder.file(), models: [Dog.self])
        for id in 0..<20 {
            try store.writeAsync { tx in
                try tx.create(Dog.self, value: [id])
            } onComplete: { error in
                happened.add(error == nil ? "\(id)" : "failed")
            }
        }
        try store.close()
        #expect(happened.all == (0..<20).map { "\($0)" })
        #expect(code { try store.writeAsync { _ in } } == .closedHandle)
        let again = try Store.open(path: folder.file(), models: [Dog.self])
        #expect(again.objects(Dog.self).map(\.id) == Array(0..<20))
    }

    actor TodoActor {
        private var store: Store!
        private(set) var ticks = 0

        init(_ configuration: Store.Configuration) async throws {
            store = try await Store(configuration: configuration, actor: self)
        }

        func tick() { ticks += 1 }
        var count: Int { store.objects(Todo.self).count }

        func createTodo(name: String, owner: String, status: String) async throws -> String {
            // What the body returns is the managed object, on this actor.
            let todo = try await store.asyncWrite { tx in
                ticks += 1
                return try tx.create(Todo.self, value: ["name": name, "owner": owner, "status": status])
            }
            #expect(todo.isManaged && !todo.isInvalidated)
            return todo.name
        }
    }

    @Test func A57_anActorThatIsNotBlocked() async throws {
        let folder = Folder(), holder = Holder(), happened = Happened()
        let configuration = Store.Configuration(path: folder.file(), models: [Todo.self])
        let todos = try await TodoActor(configuration)
        await holder.hold(try Store(configuration))
        let task = Task {
            let name = try await todos.createTodo(
                name: "Take the ring to Mount Doom", owner: "Frodo", status: "In Progress")
            happened.add(name)
        }
        // The actor is at work while the lock is held and its task waits for it.
        for _ in 0..<100 {
            await todos.tick()
            await Task.yield()
        }
        #expect(await todos.ticks == 100 && holder.isHolding.load(ordering: .acquiring) && happened.all.isEmpty)
        #expect(await todos.count == 0)
        holder.letGo()
        try await task.value
        #expect(await todos.count == 1 && happened.all == ["Take the ring to Mount Doom"])
    }

    @Test func A58_theItemThatWasAdded() async throws {
        let store = try memoryStore([Todo.self])
        let item = try await store.asyncWrite { tx in
            try tx.create(Todo.self, value: ["name": "Learn to write", "owner": "Jane", "status": "Open"])
        }
        #expect(item.isManaged && item.name == "Learn to write" && !store.isInWrite)
        try store.write { _ in item.status = "Done" }
        #expect(store.objects(Todo.self).first?.status == "Done")
    }

    @Test func A60_silentWrite() throws {
        let store = try memoryStore([Dog.self])
        try store.write { tx in for id in 0..<3 { try tx.create(Dog.self, value: [id]) } }
        let first = Happened(), second = Happened()
        func observing(_ happened: Happened) throws -> NotificationToken {
            try store.objects(Dog.self).observe { change in
                if change.isInitial { return }
                happened.add("\(change.deletions) \(change.insertions) \(change.modifications)")
            }
        }
        let one = try observing(first), two = try observing(second)
        try store.deliver()
        try store.write(withoutNotifying: [one]) { tx in try tx.delete(store.objects(Dog.self)[0]) }
        try store.deliver()
        #expect(first.all.isEmpty && second.all == ["[0] [] []"])
        // Positions of the later change are those of who knows of the silent one.
        try store.write { _ in store.objects(Dog.self)[1].age = 7 }
        try store.deliver()
        #expect(first.all == ["[] [] [1]"] && second.all == ["[0] [] []", "[] [] [1]"])
        withExtendedLifetime((one, two)) {}
    }

    @Test func A61_whileAnotherThreadWrites() throws {
        let store = try memoryStore([Dog.self]), holder = Holder(), happened = Happened()
        holder.holdNow(store)
        try store.writeAsync { tx in
            try tx.create(Dog.self, value: [1])
        } onComplete: { error in
            happened.add(error == nil ? "complete" : "failed")
        }
        #expect(holder.isHolding.load(ordering: .acquiring) && store.isPerformingAsynchronousWriteOperations)
        #expect(try store.deliver() == 0 && happened.all.isEmpty)
        holder.letGo()
        try store.finishAsyncWrites()
        #expect(happened.all == ["complete"] && store.objects(Dog.self).count == 1)
    }
}

import Dispatch
import Glibc
import ObjStore
import Synchronization
import Testing

/// What the store shows, and when that moves; and where handlers are called.
@Suite struct RefreshingTests {
    /// Two stores of one file, and what an observer of the first was told.
    private final class Kennel: @unchecked Sendable {
        let folder = Folder()
        let store: Store, other: Store
        let told = Received<Int>()

        init(_ change: (inout Store.Configuration) -> Void = { _ in }) throws {
            var configuration = Store.Configuration(path: folder.file(), models: [Dog.self, Toy.self])
            change(&configuration)
            store = try Store(configuration)
            other = try Store(configuration)
        }

        /// Through the second store.
        func add(_ ids: Int...) throws {
            try other.write { tx in for id in ids { try tx.create(Dog.self, value: [id, "dog \(id)"]) } }
        }

        var shown: Int { store.objects(Dog.self).count }

        func observe() throws -> NotificationToken {
            try store.objects(Dog.self).observe { [told] change in
                if !change.isInitial { told.append(change.insertions.count) }
            }
        }

        func close() throws {
            try store.close()
            try other.close()
        }
    }

    // MARK: refresh

    @Test func refreshDeliversAndMoves() throws {
        let kennel = try Kennel(), token = try kennel.observe()
        #expect(try !kennel.store.refresh())
        try kennel.add(1)
        try kennel.add(2, 3)
        #expect(try kennel.store.refresh())
        #expect(kennel.told.take() == [3] && kennel.shown == 3)
        #expect(try !kennel.store.refresh())
        #expect(try kennel.store.deliver() == 0 && kennel.told.take() == [])
        token.invalidate()
        try kennel.close()
    }

    @Test func refreshInsideOfAHandlerOrAWriteDoesNothing() throws {
        let kennel = try Kennel(), refreshed = Received<Bool>(), store = kennel.store
        store.autorefresh = false
        let token = try store.objects(Dog.self).observe { change in
            if change.isInitial { return }
            kennel.told.append(change.insertions.count)
            refreshed.append(try store.refresh())
            if change.insertions.count == 1 { try kennel.add(10, 11) }
        }
        try store.deliver()
        try kennel.add(1)
        #expect(try store.refresh())
        #expect(refreshed.take() == [false] && kennel.told.take() == [1])
        // What the handler has written is told by the next one, and only that; the store has moved over it already.
        #expect(try !store.refresh())
        #expect(refreshed.take() == [false] && kennel.told.take() == [2] && kennel.shown == 3)
        try kennel.add(2, 3)
        try store.write { tx in
            #expect(try !store.refresh())
            try tx.create(Dog.self, value: [4])
        }
        #expect(kennel.told.take() == [])
        // Undone, it tells nobody.
        #expect(throws: ObjStoreError.self) {
            try store.write { tx in
                try tx.create(Dog.self, value: [5])
                throw ObjStoreError(.cancelled, "not now")
            }
        }
        try store.refresh()
        #expect(kennel.told.take() == [3])
        token.invalidate()
        try kennel.close()
    }

    @Test func withoutAutorefreshItStandsStill() throws {
        let kennel = try Kennel(), store = kennel.store
        try kennel.add(1)
        try store.refresh()
        let first = try #require(store.objects(Dog.self).first), dogs = store.objects(Dog.self)
        #expect(store.autorefresh)
        store.autorefresh = false
        let token = try kennel.observe()
        try kennel.other.write { tx in
            try #require(try tx.object(ofType: Dog.self, forPrimaryKey: 1)).name = "renamed"
            try tx.create(Dog.self, value: [2])
        }
        // Told all the same.
        #expect(try store.deliver() == 1)
        #expect(dogs.count == 1 && first.name == "dog 1")
        #expect(try store.refresh())
        #expect(dogs.count == 2 && first.name == "renamed")
        try kennel.add(3)
        #expect(dogs.count == 2)
        try store.write { tx in try tx.create(Dog.self, value: [4]) }
        #expect(dogs.count == 4, "a write of its own sees the newest version, and moves what is live")
        try kennel.add(5)
        store.autorefresh = true
        #expect(dogs.count == 4)
        try store.deliver()
        #expect(dogs.count == 5)
        // What is live is another view after this, of which the same is true.
        store.autorefresh = false
        try store.invalidate()
        try kennel.add(6)
        try store.deliver()
        #expect(store.objects(Dog.self).count == 5)
        token.invalidate()
        try kennel.close()
    }

    /// Where something is delivered, what is live moves first, also where nothing is observed, or by another thread.
    @Test func deliveringMoves() throws {
        let kennel = try Kennel()
        try kennel.add(1)
        #expect(kennel.shown == 0)
        #expect(try kennel.store.deliver() == 0 && kennel.shown == 1)
        try kennel.add(2)
        #expect(try kennel.store.wait(atMost: .milliseconds(1)) == 0 && kennel.shown == 2)
        try kennel.add(3)
        onThreads(1) { _ in _ = try? kennel.store.deliver() }
        #expect(kennel.shown == 3)
        try kennel.close()
    }

    @Test func theWorkerMoves() throws {
        let kennel = try Kennel { $0.deliversOnWorker = true }, told = DispatchSemaphore(value: 0)
        let token = try kennel.store.observeCommits { _ in told.signal() }
        try kennel.add(1)
        told.wait()
        #expect(kennel.shown == 1)
        #expect(try !kennel.store.refresh(), "handlers are the worker's")
        token.invalidate()
        try kennel.close()
    }

    @Test func aLoopMoves() async throws {
        let kennel = try Kennel()
        var changes = kennel.store.objects(Dog.self).changes.makeAsyncIterator()
        #expect(await changes.next()?.isInitial == true)
        for id in 1...5 {
            try kennel.add(id)
            let change = try #require(await changes.next())
            #expect(change.insertions == [id - 1] && kennel.shown == id)
        }
        try kennel.close()
    }

    @Test func asyncRefreshGivesOthersTheirTurn() async throws {
        let kennel = try Kennel()
        try kennel.add(1)
        #expect(try await kennel.store.asyncRefresh())
        #expect(try await !kennel.store.asyncRefresh())
        #expect(kennel.shown == 1)
        try kennel.close()
    }

    // MARK: On an actor

    private actor Office {
        private var store: Store!
        func open(_ configuration: Store.Configuration) async throws -> Store {
            store = try await Store(configuration: configuration, actor: self)
            return store
        }
        var shown: Int { store.objects(Dog.self).count }
        var turns = 0
        func turn() {
            turns += 1
            assertIsolated()
        }
        /// Between two suspensions nothing moves.
        func standsStill(while body: @Sendable () throws -> Void) throws -> Bool {
            let before = shown
            try body()
            return shown == before
        }
        func stop() { store.autorefresh = false }
        func close() throws { try store.close() }
    }

    @Test func aStoreOfAnActorFollowsByItself() async throws {
        let kennel = try Kennel(), office = Office()
        _ = try await office.open(Store.Configuration(path: kennel.folder.file(), models: [Dog.self, Toy.self]))
        for id in 1...20 {
            #expect(try await office.standsStill { try kennel.add(id) })
            while await office.shown < id { await Task.yield() }
        }
        await office.stop()
        try kennel.add(21)
        for _ in 0..<200 { await Task.yield() }
        #expect(await office.shown == 20)
        try await office.close()
        try kennel.close()
    }

    /// Neither the store nor the actor is kept by what follows.
    @Test func anActorAndItsStoreGo() async throws {
        let folder = Folder()
        weak var gone: Office?
        weak var store: Store?
        do {
            let office = Office()
            gone = office
            store = try await office.open(Store.Configuration(path: folder.file(), models: [Dog.self]))
            #expect(await office.shown == 0)
        }
        #expect(gone == nil && store == nil)
        // It was closed: nothing of it is beside the file.
        let other = try Store.open(path: folder.file(), models: [Dog.self])
        try other.write { tx in try tx.create(Dog.self, value: [1]) }
        try other.close()
    }

    // MARK: Where handlers are called

    @Test func handlersOnAQueue() throws {
        let kennel = try Kennel(), queue = DispatchQueue(label: "handlers"), told = DispatchSemaphore(value: 0)
        let token = try kennel.store.objects(Dog.self).observe(on: queue) { change in
            dispatchPrecondition(condition: .onQueue(queue))
            kennel.told.append(change.isInitial ? -1 : change.insertions.count)
            told.signal()
        }
        told.wait()
        try kennel.add(1, 2)
        told.wait()
        #expect(kennel.told.take() == [-1, 2] && kennel.shown == 2)
        #expect(try kennel.store.deliver() == 0)
        // Held back by the queue, they come together.
        queue.suspend()
        for id in 3...6 { try kennel.add(id) }
        queue.resume()
        var count = 0
        while count < 4 {
            told.wait()
            count += kennel.told.take().reduce(0, +)
        }
        // It can be left out, paused, and ended, as any other.
        try kennel.store.write(withoutNotifying: [token]) { tx in try tx.create(Dog.self, value: [7]) }
        token.pause()
        try kennel.add(8)
        queue.sync {}
        #expect(kennel.told.take() == [])
        token.resume()
        told.wait()
        #expect(kennel.told.take() == [1])
        token.invalidate()
        try kennel.add(9)
        queue.sync {}
        #expect(kennel.told.take() == [])
        try kennel.close()
    }

    @Test func handlersOnAQueueOfEverything() throws {
        let kennel = try Kennel(), queue = DispatchQueue(label: "handlers"), told = Received<String>()
        let semaphore = DispatchSemaphore(value: 0), store = kennel.store
        try kennel.add(1)
        try store.refresh()
        @Sendable func tell(_ line: String) {
            told.append(line)
            semaphore.signal()
        }
        let rex = try #require(store.objects(Dog.self).first)
        let tokens = [
            try rex.observe(on: queue) { change in
                guard case .change(let dog, let properties) = change else { return tell("gone") }
                tell("\(dog.name) \(properties.map(\.name))")
            },
            try store.objects(Dog.self).where { $0.name == "Max" }.observe(keyPaths: ["name"], on: queue) { change in
                tell("results \(change.insertions)")
            },
        ]
        semaphore.wait()
        try store.write { _ in rex.name = "Max" }
        semaphore.wait()
        semaphore.wait()
        #expect(told.take().sorted() == ["Max [\"name\"]", "results [0]", "results []"])
        for token in tokens { token.invalidate() }
        try kennel.close()
    }

    @Test func whatAHandlerOnAQueueThrowsIsReported() throws {
        let reported = Received<ObjStoreError>(), told = DispatchSemaphore(value: 0)
        let kennel = try Kennel {
            $0.onError = {
                reported.append($0); told.signal()
            }
        }
        struct Wrong: Error {}
        let queue = DispatchQueue(label: "handlers")
        let token = try kennel.store.objects(Dog.self).observe(on: queue) { change in
            if !change.isInitial { throw Wrong() }
        }
        queue.sync {}
        try kennel.add(1)
        told.wait()
        #expect(reported.take().map(\.code) == [.callback])
        #expect(throws: ObjStoreError.self) {
            try kennel.store.objects(Dog.self).observe(keyPaths: ["nothing"], on: queue) { _ in }
        }
        token.invalidate()
        try kennel.close()
    }

    /// A handler may let go of everything: its store is closed when it has returned, not inside of it.
    @Test func aHandlerOnAQueueEndsItself() throws {
        let folder = Folder(), queue = DispatchQueue(label: "handlers"), over = DispatchSemaphore(value: 0)
        let kept = Mutex<NotificationToken?>(nil), failures = Received<ObjStoreError>()
        do {
            let store = try Store.open(path: folder.file(), models: [Dog.self])
            queue.suspend()
            let token = try store.objects(Dog.self).observe(on: queue) { _ in
                do { try store.close() } catch let error as ObjStoreError { failures.append(error) }
                kept.withLock { $0 = nil }
                over.signal()
            }
            kept.withLock { $0 = token }
        }
        queue.resume()
        over.wait()
        queue.sync {}
        #expect(failures.take().map(\.code) == [.inCallback])
        let again = try Store.open(path: folder.file(), models: [Dog.self])
        try again.write { tx in try tx.create(Dog.self, value: [1]) }
        try again.close()
    }

    private actor Screen {
        var rows: [String] = []
        func take() -> [String] {
            defer { rows = [] }
            return rows
        }
        func show(_ row: String) { rows.append(row) }
        func observe(_ dogs: Results<Dog>) throws -> NotificationToken {
            try dogs.observe(on: self) { me, change in
                me.assertIsolated()
                me.rows += (change.isInitial ? Array(change.results) : Array(change.inserted)).map(\.name)
            }
        }
    }

    @Test func handlersOnAnActor() async throws {
        let kennel = try Kennel(), screen = Screen()
        let token = try await screen.observe(kennel.store.objects(Dog.self))
        var rows: [String] = []
        for id in 1...10 {
            try kennel.add(id)
            while rows.count < id {
                rows += await screen.take()
                await Task.yield()
            }
        }
        #expect(rows == (1...10).map { "dog \($0)" })
        token.invalidate()
        try kennel.close()
    }

    @MainActor @Test func handlersOnTheMainActor() async throws {
        let kennel = try Kennel()
        var rows = 0
        let token = try kennel.store.objects(Dog.self).observe(on: MainActor.shared) { _, change in
            MainActor.assertIsolated()
            MainActor.assumeIsolated { rows = change.results.count }
        }
        try kennel.add(1, 2)
        while rows < 2 { await Task.yield() }
        token.invalidate()
        try kennel.close()
    }
}

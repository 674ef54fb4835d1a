import Glibc
import ObjStore
import Synchronization
import Testing

/// Collects what a handler got.
final class Received<T>: @unchecked Sendable {
    private let lock = Mutex<Void>(())
    private var list: [T] = []

    func append(_ value: T) { lock.withLock { _ in list.append(value) } }
    func take() -> [T] {
        lock.withLock { _ in
            defer { list = [] }
            return list
        }
    }
}

/// Change sets of results and objects, by handlers and in loops.
@Suite struct ObservingTests {
    private func kennel(_ count: Int = 5) throws -> Store {
        let store = try memoryStore([Dog.self, Toy.self])
        try store.write { tx in for id in 0..<count { try tx.create(Dog.self, value: [id, "dog \(id)", id]) } }
        return store
    }

    private func dog(_ store: Store, _ id: Int) throws -> Dog {
        try #require(try store.object(ofType: Dog.self, forPrimaryKey: id))
    }

    // MARK: Handlers

    @Test func initialThenUpdates() throws {
        let store = try kennel()
        let received = Received<ChangeSet<Dog>>()
        let token = try store.objects(Dog.self).observe { received.append($0) }
        #expect(try store.deliver() == 1)
        let initial = try #require(received.take().first)
        #expect(initial.isInitial && initial.deletions.isEmpty && initial.results.count == 5)
        guard case .initial(let dogs) = initial.kind else { throw Unexpected("the first change set is no initial one") }
        #expect(dogs.count == 5)
        #expect(try store.deliver() == 0)

        try store.write { tx in
            try tx.delete(try dog(store, 1))
            try dog(store, 3).name = "three"
            try tx.create(Dog.self, value: [9, "nine", 9])
        }
        try store.write { tx in
            try dog(store, 3).weight = 7.5
            // Came and went: not reported.
            try tx.delete(try tx.create(Dog.self, value: [10]))
        }
        #expect(try store.deliver() == 1, "two commits, one change set")
        let change = try #require(received.take().first)
        #expect(!change.isInitial && !change.isFromOtherProcess && change.toVersion == change.fromVersion + 2)
        #expect(
            change.deletions == [1] && change.insertions == [4] && change.modifications == [2]
                && change.modificationsBefore == [3])
        #expect(change.deleted.map(\.name) == ["dog 1"])
        #expect(change.inserted.map(\.name) == ["nine"])
        #expect(change.modified.map(\.name) == ["three"] && change.modifiedBefore.map(\.name) == ["dog 3"])
        #expect(try change.changedProperties(at: 0) == ["name", "weight"])
        #expect(try change.hasChanged(\.weight, at: 0) && !change.hasChanged(\.age, at: 0))
        #expect(code { try change.changedProperties(at: 1) } == .outOfRange)
        #expect(code { try Store.checked { _ = change.inserted[1] } } == .outOfRange)
        guard case .update(let results, let deletions, let insertions, let modifications) = change.kind else {
            throw Unexpected("no update")
        }
        #expect(deletions == [1] && insertions == [4] && modifications == [2])
        #expect(results[insertions[0]].name == "nine" && results[modifications[0]].name == "three")
        // It stays as it is.
        try store.write { tx in try tx.deleteAll(Dog.self) }
        #expect(results.count == 5 && change.modified[0].weight == 7.5)
        token.invalidate()
        #expect(try store.deliver() == 0)
    }

    /// Objects come and go by what they are compared with.
    @Test func conditions() throws {
        let store = try kennel()
        let received = Received<ChangeSet<Dog>>()
        let old = store.objects(Dog.self).where { $0.age >= 3 }
        let token = try old.observe { received.append($0) }
        try store.deliver()
        _ = received.take()
        try store.write { _ in
            try dog(store, 0).age = 100
            try dog(store, 3).age = 1
            try dog(store, 4).name = "four"
            try dog(store, 1).name = "not seen"
        }
        #expect(try store.deliver() == 1)
        let change = try #require(received.take().first)
        #expect(change.deletions == [0] && change.insertions == [0] && change.modifications == [1])
        #expect(change.results.map(\.id) == [0, 4])
        #expect(old.map(\.id) == [0, 4], "the live results show what the handler was told")
        try store.write { _ in try dog(store, 1).name = "still not seen" }
        #expect(try store.deliver() == 0)
        token.invalidate()
    }

    @Test func keyPaths() throws {
        let store = try kennel()
        let ages = Received<ChangeSet<Dog>>(), names = Received<ChangeSet<Dog>>()
        let tokens = [
            try store.objects(Dog.self).observe(keyPaths: [\.age, \.weight]) { ages.append($0) },
            try store.objects(Dog.self).observe(keyPaths: ["name"]) { names.append($0) },
        ]
        try store.deliver()
        _ = (ages.take(), names.take())
        try store.write { _ in
            try dog(store, 1).name = "one"
            try dog(store, 2).age = 20
        }
        #expect(try store.deliver() == 2)
        #expect(ages.take().map { $0.modified.map(\.id) } == [[2]])
        #expect(names.take().map { $0.modified.map(\.id) } == [[1]])
        try store.write { _ in try dog(store, 3).weight = 1 }
        #expect(try store.deliver() == 1, "who does not care is not called")
        #expect(ages.take().map(\.modifications) == [[3]])
        // What comes and goes is reported all the same.
        try store.write { tx in try tx.delete(try dog(store, 0)) }
        #expect(try store.deliver() == 2)
        #expect(names.take().map(\.deletions) == [[0]])
        #expect(code { try store.objects(Dog.self).observe(keyPaths: ["tail"]) { _ in } } == .noSuchProperty)
        #expect(code { try store.objects(Dog.self).observe(keyPaths: [\.description]) { _ in } } == .invalidQuery)
        tokens.forEach { $0.invalidate() }
    }

    @Test func objects() throws {
        let store = try kennel()
        let received = Received<ObjectChange<Dog>>(), ages = Received<ObjectChange<Dog>>()
        let two = try dog(store, 2)
        let tokens = [try two.observe { received.append($0) }, try two.observe(keyPaths: [\.age]) { ages.append($0) }]
        #expect(try store.deliver() == 0)
        try store.write { _ in
            two.name = "Rex"
            try dog(store, 3).age = 50
        }
        #expect(try store.deliver() == 1)
        guard case .change(let dog, let properties) = try #require(received.take().first) else {
            throw Unexpected("no change")
        }
        #expect(dog.name == "Rex" && dog.isFrozen)
        #expect(properties.map(\.name) == ["name"])
        #expect(properties[0].oldValue as? String == "dog 2" && properties[0].newValue as? String == "Rex")
        try store.write { _ in two.weight = 3 }
        #expect(try store.deliver() == 1)
        guard case .change(_, let properties) = try #require(received.take().first) else {
            throw Unexpected("no change")
        }
        #expect(properties[0].oldValue == nil && properties[0].newValue as? Double == 3)
        try store.write { tx in try tx.delete(two) }
        #expect(try store.deliver() == 2)
        for list in [received.take(), ages.take()] {
            guard case .deleted = try #require(list.first) else { throw Unexpected("the object is gone") }
        }
        #expect(code { try two.observe { (_: ObjectChange<Dog>) in } } == .noSuchObject)
        #expect(code { try store.freeze().objects(Dog.self)[0].observe { (_: ObjectChange<Dog>) in } } == .wrongView)
        tokens.forEach { $0.invalidate() }
    }

    @Test func tokens() throws {
        let store = try kennel()
        let received = Received<ChangeSet<Dog>>()
        var token: NotificationToken? = try store.objects(Dog.self).observe { received.append($0) }
        try store.deliver()
        try store.write { _ in try dog(store, 1).age = 7 }
        token = nil
        #expect(token == nil)
        #expect(try store.deliver() == 0, "the token went")
        #expect(received.take().count == 1)
        let own = Received<NotificationToken>()
        own.append(try store.objects(Dog.self).observe { change in own.take().forEach { $0.invalidate() } })
        #expect(try store.deliver() == 1)
        try store.write { _ in try dog(store, 1).age = 8 }
        #expect(try store.deliver() == 0, "it has ended itself")
    }

    private struct ApplicationError: Error {}
    private struct Unexpected: Error {
        let what: String
        init(_ what: String) { self.what = what }
    }

    @Test func failuresOfHandlers() throws {
        let store = try kennel()
        let received = Received<String>()
        let gone = Carried(value: try dog(store, 4))
        let tokens = [
            try store.objects(Dog.self).observe { change in if !change.isInitial { throw ApplicationError() } },
            try store.objects(Dog.self).observe { change in received.append("called") },
            try store.objects(Toy.self).observe { _ in try store.write { tx in _ = try tx.create(Dog.self, value: [1]) }
            },
            try store.objects(Toy.self).observe { change in if !change.isInitial { received.append(gone.value.name) } },
        ]
        #expect(code { try store.deliver() } == .duplicateKey, "the handler's own error")
        #expect(received.take() == ["called"])
        try store.write { tx in try tx.delete(gone.value) }
        do {
            try store.deliver()
            Issue.record("a failing handler")
        } catch {
            #expect(error.code == .callback && error.message.contains("ApplicationError"))
        }
        #expect(received.take() == ["called"], "the others were called")
        tokens[2].invalidate()
        try store.write { tx in try tx.create(Toy.self, value: ["price": 1]) }
        #expect(code { try store.deliver() } == .noSuchObject, "what an accessor reported")
        #expect(try store.deliver() == 0)
        tokens.forEach { $0.invalidate() }
    }

    @Test func insideHandlers() throws {
        let store = try kennel()
        let received = Received<ObjStoreError.Code?>()
        let token = try store.objects(Dog.self).observe { change in
            received.append(code { try store.deliver() })
            received.append(code { try store.close() })
            // Writing and observing are allowed.
            if change.isInitial { try store.write { tx in try tx.create(Toy.self, value: ["price": 2]) } }
            try store.objects(Toy.self).observe { _ in }.invalidate()
        }
        #expect(try store.deliver() == 1)
        #expect(received.take() == [.inCallback, .inCallback])
        #expect(store.objects(Toy.self).count == 1 && !store.isClosed)
        token.invalidate()
    }

    @Test func descriptorAndWaiting() throws {
        let store = try kennel()
        let token = try store.objects(Dog.self).observe { _ in }
        var descriptor = pollfd(fd: try store.notifyDescriptor, events: Int16(POLLIN), revents: 0)
        #expect(poll(&descriptor, 1, 0) == 1)
        #expect(try store.deliver() == 1)
        #expect(poll(&descriptor, 1, 0) == 0)
        #expect(try store.wait(atMost: .milliseconds(20)) == 0)
        let errors = Errors()
        onThreads(2) { number in
            do {
                if number == 0 {
                    if try store.wait() != 1 { errors.add(ObjStoreErrorSample.missing) }
                } else {
                    try store.write { _ in try #require(try store.object(ofType: Dog.self, forPrimaryKey: 1)).age = 70 }
                }
            } catch {
                errors.add(error as? ObjStoreError ?? ObjStoreErrorSample.missing)
            }
        }
        #expect(errors.all.isEmpty)
        onThreads(2) { number in
            do throws(ObjStoreError) { if number == 0 { try store.wait() } else { try store.close() } } catch {
                errors.add(error)
            }
        }
        #expect(errors.all.map(\.code) == [.closedHandle])
        #expect(code { try store.deliver() } == .closedHandle)
        token.invalidate()
    }

    @Test func worker() async throws {
        var configuration = Store.Configuration(.memory(), models: [Dog.self])
        configuration.deliversOnWorker = true
        let store = try Store(configuration)
        try store.write { tx in try tx.create(Dog.self, value: [1, "Rex"]) }
        let (stream, continuation) = AsyncStream.makeStream(of: ChangeSet<Dog>.self)
        let token = try store.objects(Dog.self).observe { continuation.yield($0) }
        #expect(code { try store.notifyDescriptor } == .notSupported)
        var changes = stream.makeAsyncIterator()
        #expect(try #require(await changes.next()).isInitial)
        try store.write { _ in try dog(store, 1).name = "Max" }
        let change = try #require(await changes.next())
        #expect(change.modified.map(\.name) == ["Max"])
        token.invalidate()
    }

    /// No caller waits for a handler on the library's thread: what it throws, and what its accessors report, is passed
    /// on.
    @Test func whatHandlersOfTheWorkerDoWrong() async throws {
        struct Oops: Error {}
        let (stream, continuation) = AsyncStream.makeStream(of: ObjStoreError.self)
        var configuration = Store.Configuration(.memory(), models: [Dog.self])
        configuration.deliversOnWorker = true
        configuration.onError = { continuation.yield($0) }
        let store = try Store(configuration)
        var errors = stream.makeAsyncIterator()
        let throwing = try store.objects(Dog.self).observe { _ in throw Oops() }
        let first = try #require(await errors.next())
        #expect(first.code == .callback && first.message.contains("Oops"))
        let reading = try store.objects(Dog.self).observe { _ in _ = store.objects(Dog.self)[99] }
        #expect(try #require(await errors.next()).code == .outOfRange)
        throwing.invalidate()
        try store.write { tx in try tx.create(Dog.self, value: [1, "Rex"]) }
        let last = try #require(await errors.next())
        #expect(last.code == .outOfRange && last.message.contains("99 of 1"))
        #expect(store.lastError?.code == .outOfRange)
        reading.invalidate()
    }

    @Test func refused() throws {
        let store = try kennel()
        #expect(code { try store.freeze().objects(Dog.self).observe { _ in } } == .wrongView)
        #expect(code { try store.objects(KennelDog.self).observe { _ in } } == .noSuchClass)
        let received = Received<ChangeSet<Dog>>()
        let token = try store.objects(Dog.self).observe { received.append($0) }
        try store.deliver()
        try store.write { tx in try tx.delete(try dog(store, 1)) }
        try store.deliver()
        try store.close()
        // What was delivered before is closed like everything else.
        let change = received.take()[1]
        #expect(change.deletions == [1])
        #expect(code { try Store.checked { _ = change.deleted[0].name } } == .closedHandle)
        #expect(code { try Store.checked { _ = change.results.count } } == .closedHandle)
        #expect(code { try store.objects(Dog.self).observe { _ in } } == .closedHandle)
        token.invalidate()
    }

    /// Observed while another thread writes and refreshes: nothing is lost between the results and the first change.
    @Test func beginningWhileOthersWrite() throws {
        let store = try kennel(0)
        let errors = Errors()
        onThreads(2) { number in
            do {
                for round in 0..<100 {
                    if number == 0 {
                        try store.write { tx in try tx.create(Dog.self, value: [round]) }
                        continue
                    }
                    let received = Received<ChangeSet<Dog>>()
                    let token = try store.objects(Dog.self).observe { received.append($0) }
                    try store.deliver()
                    var count = 0
                    for change in received.take() {
                        count = change.isInitial ? change.results.count : count + change.insertions.count
                        if change.results.count != count { errors.add(ObjStoreErrorSample.missing) }
                    }
                    token.invalidate()
                }
            } catch {
                errors.add(error as? ObjStoreError ?? ObjStoreErrorSample.missing)
            }
        }
        #expect(errors.all.isEmpty)
    }

    // MARK: Loops

    @Test func loop() async throws {
        let store = try kennel()
        let results = store.objects(Dog.self).where { $0.age < 100 }
        var changes = results.changes.makeAsyncIterator()
        let initial = try #require(await changes.next())
        #expect(initial.isInitial && initial.results.count == 5)
        // A slow reader gets one change set of all that happened.
        for name in ["a", "b", "c"] {
            try store.write { tx in try tx.create(Dog.self, value: [50 + Int(name.utf8.first!), name, 1]) }
        }
        let change = try #require(await changes.next())
        #expect(change.insertions == [5, 6, 7] && change.inserted.map(\.name) == ["a", "b", "c"])
        // A waiting one is woken.
        async let next: [Int]? = { [results] in
            for await change in results.changes(keyPaths: [\.name]) where !change.isInitial {
                return change.modifications
            }
            return nil
        }()
        try store.write { _ in try dog(store, 0).age = 5 }
        #expect(try #require(await changes.next()).modifications == [0])
        // The loop may have begun before or after the first of these writes; it ends with one of them.
        let isFound = Atomic(false)
        async let writing: Void = {
            var number = 0
            while !isFound.load(ordering: .acquiring) {
                number += 1
                try store.write { _ in try dog(store, 2).name = "name \(number)" }
                await Task.yield()
            }
        }()
        #expect(await next == [2])
        isFound.store(true, ordering: .releasing)
        try await writing
    }

    @Test func endsOfLoops() async throws {
        let store = try kennel()
        // Cancelled while it waits.
        let begun = AsyncStream.makeStream(of: Void.self)
        let task = Task {
            var count = 0
            for await _ in store.objects(Dog.self).changes {
                count += 1
                begun.continuation.yield()
            }
            return count
        }
        for await _ in begun.stream { break }
        task.cancel()
        #expect(await task.value == 1)
        // Closed while it waits.
        let closing = Task {
            for await change in store.objects(Dog.self).changes where change.isInitial { begun.continuation.yield() }
            return "ended"
        }
        let again = AsyncStream.makeStream(of: Void.self)
        let third = Task {
            for await _ in store.objects(Toy.self).changes { again.continuation.yield() }
            return "ended"
        }
        for await _ in again.stream { break }
        try store.close()
        #expect(await closing.value == "ended")
        #expect(await third.value == "ended")
    }

    @Test func loopsThatCannotBegin() async throws {
        let errors = Errors()
        var configuration = Store.Configuration(.memory(), models: [Dog.self])
        configuration.onError = { errors.add($0) }
        let store = try Store(configuration)
        for await _ in try store.freeze().objects(Dog.self).changes { Issue.record("frozen results do not change") }
        for await _ in store.objects(Dog.self).changes(keyPaths: ["tail"]) { Issue.record("no such property") }
        for await _ in store.objects(Toy.self).changes { Issue.record("no such class") }
        #expect(errors.all.map(\.code) == [.wrongView, .noSuchProperty, .noSuchClass])
        try store.close()
        for await _ in store.objects(Dog.self).changes { Issue.record("the store is closed") }
        #expect(errors.all.count == 3, "that a store is closed is no failure")
    }

    // MARK: Another process

    @Test func changesOfAnotherProcess() async throws {
        let folder = Folder()
        let path = folder.file()
        let store = try Store.open(path: path, models: [Dog.self])
        try store.write { tx in try tx.create(Dog.self, value: [1, "Rex", 3]) }
        let received = Received<ChangeSet<Dog>>(), single = Received<ObjectChange<Dog>>()
        let tokens = [
            try store.objects(Dog.self).observe { received.append($0) },
            try dog(store, 1).observe { single.append($0) },
        ]
        try store.deliver()
        _ = received.take()
        var changes = store.objects(Dog.self).where { $0.age > 2 }.changes.makeAsyncIterator()
        #expect(try #require(await changes.next()).isInitial)
        await #expect(processExitsWith: .success) { [path = path as String] in
            let other = try Store.open(path: path, models: [Dog.self])
            try other.write { tx in
                try tx.create(Dog.self, value: [2, "Max", 2])
                try tx.create(Dog.self, value: [3, "Bo", 4])
                try #require(try tx.object(ofType: Dog.self, forPrimaryKey: 1)).name = "Rexi"
            }
            try other.close()
        }
        #expect(try store.wait(atMost: .seconds(10)) == 2)
        let change = try #require(received.take().first)
        #expect(change.isFromOtherProcess && change.insertions == [1, 2] && change.modifications == [0])
        #expect(change.inserted.map(\.name) == ["Max", "Bo"])
        guard case .change(let rex, _) = try #require(single.take().first) else { throw Unexpected("no change") }
        #expect(rex.name == "Rexi")
        let next = try #require(await changes.next())
        #expect(next.isFromOtherProcess && next.insertions == [1] && next.modifications == [0])
        tokens.forEach { $0.invalidate() }
    }

    /// A list that follows what it is told.
    private final class Follower: @unchecked Sendable {
        var rows: [Int], moves: [ChangeSet<Dog>.Move] = [], written: [[String]] = []

        init(_ results: Results<Dog>) { rows = results.map(\.id) }

        func take(_ change: ChangeSet<Dog>) throws {
            guard case .update(let now, let deletions, let insertions, _) = change.kind else { return }
            for place in deletions.reversed() { rows.remove(at: place) }
            for place in insertions { rows.insert(now[place].id, at: place) }
            moves += change.moves
            for (index, dog) in change.moved.enumerated() {
                written.append([dog.name] + (try change.changedProperties(ofMove: index)))
            }
            #expect(throws: ObjStoreError.self) { try change.changedProperties(ofMove: change.moves.count) }
        }
    }

    /// Sorted and limited results, and what moves in them.
    @Test func moves() throws {
        let store = try kennel()
        let results = store.objects(Dog.self).sorted(by: \.age)
        let oldest = store.objects(Dog.self).sorted(by: \.age, ascending: false).limit(2)
        let all = Follower(results), top = Follower(oldest)
        let tokens = [try results.observe { try all.take($0) }, try oldest.observe { try top.take($0) }]
        try store.deliver()
        try store.write { _ in try dog(store, 1).age = 100 }
        try store.deliver()
        #expect(all.rows == [0, 2, 3, 4, 1] && top.rows == [1, 4] && all.moves == [.init(from: 1, to: 4)])
        #expect(all.written == [["dog 1", "age"]])
        try store.write { tx in
            try tx.delete(try dog(store, 4))
            try tx.create(Dog.self, value: [9, "dog 9", -1])
            try dog(store, 3).name = "three"
        }
        try store.deliver()
        #expect(all.rows == [9, 0, 2, 3, 1] && all.rows == results.map(\.id) && top.rows == [1, 3])
        #expect(all.moves.count == 1)
        tokens.forEach { $0.invalidate() }
    }

    /// What a delivery costs follows what changed.
    @Test func costDoesNotFollowTheNumberOfObjects() throws {
        var times: [Double] = []
        for count in [2_000, 40_000] {
            let store = try memoryStore([Dog.self])
            try store.write { tx in _ = try tx.insert(Dog.self, [Column(\.id, Array(0..<count))]) }
            let tokens = [
                try store.objects(Dog.self).observe { _ = $0.modified.first?.age },
                try store.objects(Dog.self).where { $0.age < 10 }.observe { _ in },
            ]
            try store.deliver()
            let dog = try dog(store, count / 2)
            var best = Double.infinity
            for round in 0..<40 {
                try store.write { _ in dog.age = round % 20 + 1 }
                let start = ContinuousClock.now
                try store.deliver()
                let time = (ContinuousClock.now - start).components
                best = min(best, Double(time.seconds) * 1e6 + Double(time.attoseconds) / 1e12)
            }
            times.append(best)
            tokens.forEach { $0.invalidate() }
        }
        print("one update delivered to two observers: \(times[0]) µs of 2,000 objects, \(times[1]) µs of 40,000")
        #expect(times[1] < times[0] * 4 + 100)
    }
}

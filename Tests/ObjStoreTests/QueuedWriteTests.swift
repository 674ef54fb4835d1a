import Glibc
import ObjStore
import Synchronization
import Testing

/// Writes that no thread waits for: their order, their errors and their ends.
@Suite struct QueuedWriteTests {
    private struct ApplicationError: Error, Equatable { let number: Int }

    /// Bodies in the order of the calls, of `writeAsync` and `beginAsyncWrite` alike; completions in the order in which
    /// bodies have ended; what is called inside of a body comes behind.
    @Test func order() throws {
        let store = try memoryStore([Dog.self]), happened = Happened()
        for number in 0..<10 {
            if number % 2 == 0 {
                try store.writeAsync(allowGrouping: number % 4 == 0) { tx in
                    happened.add("body \(number)")
                    if number == 0 {
                        try store.writeAsync { _ in
                            happened.add("body inside")
                        } onComplete: { _ in
                            happened.add("complete inside")
                        }
                    }
                    try tx.create(Dog.self, value: [number])
                } onComplete: { _ in
                    happened.add("complete \(number)")
                }
            } else {
                try store.beginAsyncWrite { tx in
                    happened.add("body \(number)")
                    try tx.create(Dog.self, value: [number])
                    try store.commitAsyncWrite { _ in happened.add("complete \(number)") }
                }
            }
        }
        try store.finishAsyncWrites()
        let numbers = (0..<10).map { "\($0)" } + ["inside"]
        #expect(happened.all.filter { $0.hasPrefix("body") } == numbers.map { "body \($0)" })
        #expect(happened.all.filter { $0.hasPrefix("complete") } == numbers.map { "complete \($0)" })
        #expect(store.objects(Dog.self).map(\.id) == Array(0..<10))
    }

    @Test func aSynchronousWriteThatIsCalledFirstGoesFirst() throws {
        let store = try memoryStore([Dog.self]), happened = Happened()
        try store.writeAsync { _ in happened.add("asynchronous") }
        try store.write { tx in
            happened.add("synchronous")
            // Inside of it, too, one may be called, which comes behind.
            try store.writeAsync { _ in happened.add("inside") }
        }
        try store.finishAsyncWrites()
        #expect(happened.all == ["synchronous", "asynchronous", "inside"])
    }

    /// What the body throws comes as it is; what accessors report, and what the store refuses, as an error of the
    /// store.
    @Test func errors() throws {
        let store = try memoryStore([Dog.self]), happened = Happened()
        try store.write { tx in try tx.create(Dog.self, value: [7, "Rex"]) }
        @Sendable func told(_ what: String) -> @Sendable ((any Error)?) -> Void {
            { error in
                let error = (error as? ObjStoreError).map { "\($0.code)" } ?? error.map { "\($0)" } ?? "none"
                happened.add("\(what): \(error)")
            }
        }
        try store.writeAsync(
            { tx in
                try tx.create(Dog.self, value: [1])
                throw ApplicationError(number: 3)
            }, onComplete: told("thrown"))
        try store.writeAsync({ tx in try tx.create(Dog.self, value: [7]) }, onComplete: told("refused"))
        try store.writeAsync({ _ in store.objects(Dog.self)[0].id = 9 }, onComplete: told("reported"))
        try store.writeAsync(
            { tx in
                try tx.create(Dog.self, value: [2])
                try tx.cancel()
            }, onComplete: told("cancelled"))
        try store.writeAsync(
            { tx in
                try tx.create(Dog.self, value: [3])
                try store.commitWrite()
            }, onComplete: told("committed"))
        try store.writeAsync(
            { tx in
                try tx.create(Dog.self, value: [4])
                try store.commitAsyncWrite(onComplete: told("inner"))
                throw ApplicationError(number: 4)
            }, onComplete: told("outer"))
        try store.writeAsync({ _ in try store.write { _ in } }, onComplete: told("nested"))
        try store.finishAsyncWrites()
        #expect(
            happened.all == [
                "thrown: ApplicationError(number: 3)", "refused: duplicateKey", "reported: keyImmutable",
                "cancelled: cancelled", "committed: none", "inner: ApplicationError(number: 4)",
                "outer: ApplicationError(number: 4)", "nested: alreadyInWrite",
            ])
        #expect(store.objects(Dog.self).map(\.id) == [7, 3] && store.lastError == nil)
    }

    /// Where there is no completion, who delivers is told; not of what was cancelled.
    @Test func errorsThatNobodyWaitsFor() throws {
        let store = try memoryStore([Dog.self]), errors = Errors()
        func failures() -> [ObjStoreError.Code] {
            var codes: [ObjStoreError.Code] = []
            while store.isPerformingAsynchronousWriteOperations {
                if let code = code({ try store.wait(atMost: .seconds(10)) }) { codes.append(code) }
            }
            return codes
        }
        try store.writeAsync { _ in throw ApplicationError(number: 1) }
        #expect(failures() == [.callback])
        try store.beginAsyncWrite { _ in throw ApplicationError(number: 2) }
        #expect(failures() == [.callback])
        try store.writeAsync { tx in try tx.create(Dog.self, value: ["none": 1]) }
        #expect(failures() == [.noSuchProperty])
        try store.writeAsync { tx in try tx.cancel() }
        #expect(failures() == [])
        try store.writeAsync { _ in
        } onComplete: { _ in
            store.objects(Dog.self)[5].age = 1
        }
        #expect(failures() == [.outOfRange])
        // A body that has committed by itself is stored: what it throws then is told, and undoes nothing.
        var configuration = Store.Configuration(.memory(), models: [Dog.self])
        configuration.onError = { errors.add($0) }
        let other = try Store(configuration)
        try other.beginAsyncWrite { tx in
            try tx.create(Dog.self, value: [1])
            try other.commitWrite()
            throw ApplicationError(number: 3)
        }
        try other.finishAsyncWrites()
        #expect(errors.all.map(\.code) == [.callback] && other.objects(Dog.self).count == 1)
    }

    @Test func whatIsNoWrite() throws {
        let store = try memoryStore([Dog.self])
        #expect(code { try store.commitAsyncWrite() } == .notInWrite)
        try store.write { tx in
            try tx.create(Dog.self, value: [1])
            #expect(code { try store.commitAsyncWrite() } == .notInWrite)
        }
        try store.beginWrite()
        store.objects(Dog.self)[0].id = 5
        #expect(code { try store.commitAsyncWrite() } == .keyImmutable)
        #expect(!store.isInWrite && store.objects(Dog.self)[0].id == 1)
        let folder = Folder()
        try Store.open(path: folder.file(), models: [Dog.self]).close()
        var configuration = Store.Configuration(path: folder.file(), models: [Dog.self])
        configuration.access = .readOnly
        let readOnly = try Store(configuration)
        #expect(code { try readOnly.writeAsync { _ in } } == .readOnly)
        #expect(code { try readOnly.beginAsyncWrite { _ in } } == .readOnly)
    }

    /// The thread that has begun goes on at once, and its store moves when the commit is over.
    @Test func aCommitOfASynchronousWrite() throws {
        let folder = Folder(), store = try Store.open(path: folder.file(), models: [Dog.self]), happened = Happened()
        for id in 0..<5 {
            try store.beginWrite().create(Dog.self, value: [id])
            try store.commitAsyncWrite { error in happened.add("\(error == nil) \(store.objects(Dog.self).count > id)")
            }
            #expect(!store.isInWrite && store.isPerformingAsynchronousWriteOperations)
        }
        try store.finishAsyncWrites()
        #expect(happened.all == Array(repeating: "true true", count: 5))
        #expect(store.objects(Dog.self).map(\.id) == Array(0..<5))
    }

    /// From inside, and by another thread while it runs: it is undone, and told so.
    @Test func cancellingABodyThatRuns() throws {
        let store = try memoryStore([Dog.self]), happened = Happened(), own = Mutex<AsyncWriteId?>(nil)
        let id = try store.writeAsync { tx in
            try tx.create(Dog.self, value: [1])
            if let id = own.withLock({ $0 }) { store.cancelAsyncWrite(id) }
        } onComplete: { error in
            happened.add("\((error as? ObjStoreError)?.code == .cancelled)")
        }
        own.withLock { $0 = id }
        try store.finishAsyncWrites()
        #expect(happened.all == ["true"] && store.objects(Dog.self).isEmpty)
        // That of another store is not meant.
        let other = try memoryStore([Dog.self])
        let waiting = try store.writeAsync { tx in try tx.create(Dog.self, value: [2]) }
        other.cancelAsyncWrite(waiting)
        try store.finishAsyncWrites()
        #expect(store.objects(Dog.self).map(\.id) == [2])
    }

    /// The library's thread runs them, and keeps the store for as long.
    @Test func onTheWorker() throws {
        let folder = Folder(), errors = Errors()
        var configuration = Store.Configuration(path: folder.file(), models: [Dog.self])
        configuration.deliversOnWorker = true
        configuration.onError = { errors.add($0) }
        let last = configuration, completed = Atomic(0)
        do {
            let store = try Store(last), thread = pthread_self()
            for id in 0..<50 {
                try store.writeAsync(allowGrouping: true) { tx in
                    #expect(pthread_self() != thread)
                    try tx.create(Dog.self, value: [id])
                    if id == 49 { throw ApplicationError(number: id) }
                }
            }
            try store.writeAsync { _ in
            } onComplete: { _ in
                completed.store(1, ordering: .releasing)
            }
        }
        while completed.load(ordering: .acquiring) == 0 { sched_yield() }
        let again = try Store(last)
        #expect(again.objects(Dog.self).map(\.id) == Array(0..<49))
        #expect(errors.all.map(\.code) == [.callback])
        try again.invalidate()
        #expect(again.objects(Dog.self).count == 49)
    }

    /// What completions are told, by the id of the object that was to be stored. (With a lock that ThreadSanitizer
    /// knows, as it does not know `Mutex`.)
    private final class Outcomes: @unchecked Sendable {
        private var all: [Int: [Bool]] = [:]
        private let lock = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)

        init() { pthread_mutex_init(lock, nil) }
        deinit {
            pthread_mutex_destroy(lock)
            lock.deallocate()
        }

        private func locked<R>(_ body: () -> R) -> R {
            pthread_mutex_lock(lock)
            defer { pthread_mutex_unlock(lock) }
            return body()
        }

        func add(_ id: Int, _ error: (any Error)?) { locked { all[id, default: []].append(error == nil) } }
        var areOnce: Bool { locked { all.values.allSatisfy { $0.count == 1 } } }
        var stored: Set<Int> { locked { Set(all.filter { $0.value == [true] }.keys) } }
        var count: Int { locked { all.count } }
    }

    /// Threads that write in all ways, cancel and deliver at a time, until the store is closed: each completion once,
    /// and what was told to be stored is.
    @Test(arguments: [false, true]) func manyThreads(onWorker: Bool) throws {
        let folder = Folder(), outcomes = Outcomes(), errors = Errors(), rounds = 40
        var configuration = Store.Configuration(path: folder.file(), models: [Dog.self])
        configuration.deliversOnWorker = onWorker
        configuration.onError = { errors.add($0) }
        let store = try Store(configuration)
        onThreads(8) { number in
            do {
                for round in 0..<rounds {
                    let id = number * rounds + round
                    switch (number + round) % 6 {
                    case 0, 1:
                        try store.writeAsync(allowGrouping: round % 2 == 0) { tx in
                            try tx.create(Dog.self, value: [id])
                        } onComplete: { error in
                            outcomes.add(id, error)
                        }
                    case 2:
                        try store.beginAsyncWrite { tx in
                            try tx.create(Dog.self, value: [id])
                            try store.commitAsyncWrite(allowGrouping: true) { error in outcomes.add(id, error) }
                        }
                    case 3:
                        // An object of no number that is checked: it may be stored, or not.
                        store.cancelAsyncWrite(
                            try store.writeAsync { tx in try tx.create(Dog.self, value: [-1 - id]) })
                        outcomes.add(id, ObjStoreErrorSample.missing)
                    case 4:
                        try store.write { tx in try tx.create(Dog.self, value: [id]) }
                        outcomes.add(id, nil)
                    default:
                        try store.beginWrite().create(Dog.self, value: [id])
                        try store.commitAsyncWrite { error in outcomes.add(id, error) }
                        try store.deliver()
                    }
                }
            } catch {
                errors.add(error as? ObjStoreError ?? ObjStoreErrorSample.missing)
            }
        }
        try store.close()
        #expect(errors.all.isEmpty, "\(errors.all)")
        #expect(outcomes.areOnce && outcomes.count == 8 * rounds)
        let again = try Store(configuration)
        #expect(Set(again.objects(Dog.self).map(\.id).filter { $0 >= 0 }) == outcomes.stored)
        #expect(outcomes.stored.count >= 8 * rounds / 2)
        #expect(try again.verify() == [])
    }

    /// As of `write`, in each of the ways to write; never of another store's token, nor of one that has ended.
    @Test func withoutNotifying() async throws {
        let store = try memoryStore([Dog.self]), told = Happened(), silent = Happened()
        func observing(_ happened: Happened) throws -> NotificationToken {
            try store.objects(Dog.self).observe { change in
                if !change.isInitial { happened.add("\(change.insertions)") }
            }
        }
        let token = try observing(silent), other = try observing(told)
        try store.deliver()
        var expected = 0
        func check(_ write: (Int) async throws -> Void) async throws {
            try await write(expected)
            try store.finishAsyncWrites()
            try store.deliver()
            expected += 1
            #expect(told.all.count == expected && silent.all.isEmpty)
        }
        try await check { id in
            try store.write(withoutNotifying: [token]) { tx in try tx.create(Dog.self, value: [id]) }
        }
        try await check { id in
            try store.tryWrite(withoutNotifying: [token]) { tx in try tx.create(Dog.self, value: [id]) }
        }
        try await check { id in
            try await store.asyncWrite(withoutNotifying: [token]) { tx in try tx.create(Dog.self, value: [id]) }
        }
        try await check { id in
            try store.writeAsync(withoutNotifying: [token]) { tx in try tx.create(Dog.self, value: [id]) }
        }
        try await check { id in
            try store.beginAsyncWrite(withoutNotifying: [token]) { tx in
                try tx.create(Dog.self, value: [id])
                try store.commitAsyncWrite()
            }
        }
        try await check { id in
            try store.beginAsyncWrite(alone: true) { tx in
                try tx.create(Dog.self, value: [id])
                try store.commitAsyncWrite(withoutNotifying: [token])
            }
        }
        try await check { id in try QueuedWriteTests.commitSilently(store, id, token, waits: true) }
        try await check { id in try QueuedWriteTests.commitSilently(store, id, token, waits: false) }
        try store.write { tx in try tx.create(Dog.self, value: [100]) }
        try store.deliver()
        #expect(silent.all == ["[\(expected)]"] && told.all.count == expected + 1)

        let foreign = try memoryStore([Dog.self]).objects(Dog.self).observe { _ in }
        other.invalidate()
        for (token, reason) in [(foreign, ObjStoreError.Code.wrongStore), (other, .closedHandle)] {
            func refused(_ write: () throws -> Void) { #expect(code(write) == reason) }
            refused { try store.write(withoutNotifying: [token]) { _ in Issue.record("a refused write ran") } }
            refused { try QueuedWriteTests.commitSilently(store, 101, token, waits: true) }
            refused { try QueuedWriteTests.commitSilently(store, 101, token, waits: false) }
            #expect(
                await codeOf {
                    try await store.asyncWrite(withoutNotifying: [token]) { _ in
                        Issue.record("a refused write ran")
                    }
                } == reason)
            let happened = Happened()
            try store.writeAsync(withoutNotifying: [token]) { _ in
                happened.add("body")
            } onComplete: { error in
                happened.add("\((error as? ObjStoreError)?.code == reason)")
            }
            try store.finishAsyncWrites()
            #expect(happened.all == ["true"])
        }
        try store.beginAsyncWrite { tx in
            try tx.create(Dog.self, value: [102])
            #expect(code { try store.commitAsyncWrite(withoutNotifying: [token]) } == .invalidArgument)
        }
        try store.finishAsyncWrites()
        #expect(store.objects(Dog.self).count == expected + 1)
    }

    private static func commitSilently(_ store: Store, _ id: Int, _ token: NotificationToken, waits: Bool) throws {
        try store.beginWrite().create(Dog.self, value: [id])
        if waits {
            try store.commitWrite(withoutNotifying: [token])
        } else {
            try store.commitAsyncWrite(withoutNotifying: [token])
        }
    }
}

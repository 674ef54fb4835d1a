import Glibc
import ObjStore
import Synchronization
import Testing

final class Named: Object {
    @Persisted(primaryKey: true) var key: String
    @Persisted var note: String?
}

/// One store, many threads: no thread owns an object, and a transaction is its thread's alone.
@Suite struct ThreadTests {
    @Test func anotherThreadSeesNothingOfATransaction() throws {
        let store = try memoryStore([Dog.self])
        let dog = Carried(value: try store.write { tx in try tx.create(Dog.self, value: [1, "Rex", 3]) })
        try store.write { tx in
            dog.value.name = "changed"
            try tx.create(Dog.self, value: [2])
            let transaction = Carried(value: tx)
            onThreads(1) { _ in
                #expect(dog.value.name == "Rex")
                #expect(store.objects(Dog.self).count == 1)
                #expect(!store.isInWrite)
                #expect(code { try Store.checked { dog.value.name = "disturbed" } } == .notInWrite)
                #expect(code { try transaction.value.create(Dog.self, value: [3]) } == .notInWrite)
                #expect(code { try transaction.value.cancel() } == .notInWrite)
                #expect(code { try store.tryWrite { _ in } } == .busy)
            }
            #expect(dog.value.name == "changed")
        }
        #expect(dog.value.name == "changed")
        #expect(store.objects(Dog.self).count == 2)
    }

    /// A sum that every write keeps; live reads by frozen snapshots while two threads write.
    @Test func snapshotsAreConsistent() throws {
        let store = try memoryStore([Dog.self])
        try store.write { tx in try tx.add((0..<20).map { try Dog(value: [$0, "", 100]) }) }
        let errors = Errors()
        onThreads(4) { number in
            do {
                for round in 0..<200 {
                    if number < 2 {
                        try store.write { tx in
                            let dogs = store.objects(Dog.self)
                            dogs[(round * 7 + number) % 20].age -= 5
                            dogs[(round * 11 + 3) % 20].age += 5
                        }
                    } else {
                        let snapshot = try store.freeze()
                        let total = snapshot.objects(Dog.self).reduce(0) { $0 + $1.age }
                        let sum = try snapshot.objects(Dog.self).sum(of: \.age)
                        if total != 2000 || sum != 2000 { errors.add(ObjStoreErrorSample.missing) }
                    }
                }
            } catch {
                errors.add(error as? ObjStoreError ?? ObjStoreErrorSample.missing)
            }
        }
        #expect(errors.all.isEmpty)
        #expect(try store.objects(Dog.self).sum(of: \.age) == 2000)
        #expect(try store.verify() == [])
    }

    /// A description, and a hash, of an object that goes meanwhile: as it was, or that it is gone. Nothing is reported.
    @Test func describedWhileTheyGo() throws {
        let store = try memoryStore([Named.self])
        let keys = (0..<8).map { "the key of number \($0), longer than what a String holds in itself" }
        @Sendable func fill(_ tx: Transaction) throws {
            for key in keys { try tx.create(Named.self, value: ["key": key, "note": key]) }
        }
        try store.write(fill)
        let texts = Set(store.objects(Named.self).map { "\($0)" } + ["Named { deleted or closed }"])
        let names = Set(keys.map { "Named(\($0))" } + ["Named"])
        #expect(texts.count == 9)
        let ends = Atomic<Bool>(false), errors = Errors()
        onThreads(2) { number in
            do {
                if number == 0 {
                    while !ends.load(ordering: .relaxed) {
                        try store.write { tx in try tx.deleteAll(Named.self) }
                        try store.write(fill)
                    }
                } else {
                    defer { ends.store(true, ordering: .relaxed) }
                    for _ in 0..<4000 {
                        try Store.checked {
                            for object in store.objects(Named.self) {
                                let (text, name) = ("\(object)", "\(AnyValue.object(object))")
                                #expect(texts.contains(text))
                                #expect(names.contains(name))
                                #expect(Set([object, object]).count == 1)
                            }
                            for object in store.dynamicObjects("Named") { _ = "\(object)" }
                        }
                    }
                }
            } catch {
                errors.add(error as? ObjStoreError ?? ObjStoreErrorSample.missing)
            }
        }
        #expect(errors.all.isEmpty)
        #expect(store.lastError == nil)
    }

    /// An object's hash stays what it was first, on any thread, and when the object is deleted.
    @Test func hashedByManyThreads() throws {
        let store = try memoryStore([Named.self])
        for round in 0..<200 {
            let key = "the key of round \(round), longer than what a String holds in itself"
            let object = Carried(value: try store.write { tx in try tx.create(Named.self, value: ["key": key]) })
            let hash = try #require(try store.object(ofType: Named.self, forPrimaryKey: key)).hashValue
            let others = Atomic<Int>(0)
            onThreads(3) { _ in
                for _ in 0..<50 where object.value.hashValue != hash || object.value.key != key {
                    others.add(1, ordering: .relaxed)
                }
            }
            try store.write { tx in try tx.delete(object.value) }
            #expect(others.load(ordering: .relaxed) == 0 && object.value.hashValue == hash)
        }
        #expect(store.lastError == nil)
    }

    /// Two threads are the first to hash one object after the other, and others read the key of each at that moment:
    /// code that is not optimised, as this is, copies all of a property to read where it is.
    @Test func readWhileHashedFirst() throws {
        let store = try memoryStore([Named.self])
        let end = "longer than what a String holds in itself"
        let objects = Carried(
            value: try store.write { tx in
                try (0..<20_000).map { try tx.create(Named.self, value: ["key": "\($0), \(end)"]) }
            })
        let position = Atomic<Int>(0), others = Atomic<Int>(0)
        onThreads(4) { number in
            guard number > 0 else {
                for (index, object) in objects.value.enumerated() {
                    position.store(index, ordering: .relaxed)
                    _ = object.hashValue
                }
                return position.store(-1, ordering: .relaxed)
            }
            while case let index = position.load(ordering: .relaxed), index >= 0 {
                let object = objects.value[index]
                if number == 1 {
                    _ = object.hashValue
                } else if object.key != "\(index), \(end)" {
                    others.add(1, ordering: .relaxed)
                }
            }
        }
        #expect(others.load(ordering: .relaxed) == 0)
        #expect(store.lastError == nil)
    }

    /// Objects, results and counts of the live store on threads that do not write, while one does.
    @Test func liveReadsWhileAnotherThreadWrites() throws {
        let store = try memoryStore([Dog.self])
        let dog = Carried(value: try store.write { tx in try tx.create(Dog.self, value: [0, "Rex", 0]) })
        let results = store.objects(Dog.self).where { $0.age >= 0 }
        let errors = Errors()
        onThreads(4) { number in
            do {
                if number == 0 {
                    for id in 1...300 {
                        try store.write { tx in
                            try tx.create(Dog.self, value: [id, "dog \(id)", id])
                            dog.value.name = "Rex \(id)"
                        }
                    }
                } else {
                    var last = 0
                    for _ in 0..<500 {
                        try Store.checked {
                            let count = results.count
                            if count < last { errors.add(ObjStoreErrorSample.missing) }
                            last = count
                            if !dog.value.name.hasPrefix("Rex") { errors.add(ObjStoreErrorSample.missing) }
                            for found in results.prefix(5) where found.age < 0 {
                                errors.add(ObjStoreErrorSample.missing)
                            }
                        }
                    }
                }
            } catch {
                errors.add(error as? ObjStoreError ?? ObjStoreErrorSample.missing)
            }
        }
        #expect(errors.all.isEmpty)
        #expect(results.count == 301)
    }

    /// Frozen objects take no lock: closing waits until no thread reads one any more.
    @Test func closingWhileFrozenObjectsAreRead() throws {
        let folder = Folder()
        let count = 20_000
        let errors = Errors()
        do {
            let store = try Store.open(path: folder.file(), models: [Dog.self])
            try store.write { tx in
                _ = try tx.insert(
                    Dog.self, [Column(\.id, Array(0..<count)), Column(\.name, (0..<count).map { "dog number \($0)" })])
            }
            try store.close()
        }
        for _ in 0..<10 {
            let store = try Store.open(path: folder.file(), models: [Dog.self])
            let snapshot = try store.freeze()
            let dogs = Carried(value: snapshot.objects(Dog.self).prefix(600).map { $0 })
            let names = snapshot.objects(Dog.self).where { $0.name != "dog" }
            let reading = Atomic(0)
            onThreads(3) { number in
                if number == 0 {
                    while reading.load(ordering: .acquiring) < 2 {}
                    do throws(ObjStoreError) { try store.close() } catch { errors.add(error) }
                    return
                }
                // What was read before the store was closed is right; the first read after says so.
                var isRight = true, error: ObjStoreError.Code?, round = 0
                while isRight && error == nil {
                    if round == 1 { reading.add(1, ordering: .releasing) }
                    var found = count, id = -1, name = ""
                    error = code {
                        try Store.checked {
                            if number == 1 { return found = names.count }
                            let dog = dogs.value[round % 600]
                            id = dog.id
                            name = dog.name
                        }
                    }
                    if error == nil { isRight = number == 1 ? found == count : name == "dog number \(id)" }
                    round += 1
                }
                if !isRight || error != .closedHandle { errors.add(ObjStoreErrorSample.missing) }
            }
        }
        #expect(errors.all.isEmpty)
    }
}

/// A store that goes, or is closed, while other threads are at work with it, or end.
@Suite struct GoingTests {
    /// A concurrent writer has committed, or gets an error that the store is closed. What it is closed with is not used
    /// any more.
    @Test(arguments: [false, true]) func writersThatMeetClose(inMemory: Bool) throws {
        let folder = Folder(), errors = Errors()
        for round in 0..<(inMemory ? 300 : 60) {
            let place = Store.Configuration(path: folder.file("store \(round)"), models: [Dog.self])
            let store = try inMemory ? memoryStore([Dog.self]) : Store(place)
            let writes = Atomic<Int>(0)
            onThreads(4) { number in
                do {
                    if number == 3 {
                        while writes.load(ordering: .relaxed) < round % 40 { sched_yield() }
                        try store.close()
                    } else {
                        for id in 0..<100_000 {
                            try store.write { tx in try tx.create(Dog.self, value: [number * 100_000 + id]) }
                            writes.add(1, ordering: .relaxed)
                        }
                    }
                } catch let error as ObjStoreError where error.code == .closedHandle {
                } catch {
                    errors.add(error as? ObjStoreError ?? ObjStoreErrorSample.missing)
                }
            }
            if !inMemory { #expect(try Store(place).objects(Dog.self).count == writes.load(ordering: .relaxed)) }
        }
        #expect(errors.all.isEmpty, "\(errors.all)")
    }

    /// Frozen versions whose last reference goes while they are closed.
    @Test func snapshotsThatMeetClose() throws {
        for round in 0..<300 {
            let store = try memoryStore([Dog.self]), reads = Atomic<Int>(0)
            onThreads(3) { number in
                if number == 2 {
                    while reads.load(ordering: .relaxed) < round % 40 { sched_yield() }
                    try? store.close()
                } else {
                    while let frozen = try? store.freeze() {
                        _ = frozen.objects(Dog.self).count
                        reads.add(1, ordering: .relaxed)
                    }
                }
            }
        }
    }

    /// Each has the last reference to the store, as likely as the others.
    @Test func threadsThatEndWhileTheirStoreGoes() throws {
        for _ in 0..<300 {
            final class Shared: @unchecked Sendable { var store: Store? }
            let shared = Shared()
            shared.store = try memoryStore([Dog.self])
            let left = Atomic<Int>(3)
            onThreads(3) { number in
                try? shared.store!.write { tx in try tx.create(Dog.self, value: [number]) }
                if left.subtract(1, ordering: .acquiringAndReleasing).newValue == 0 { shared.store = nil }
            }
        }
    }
}

/// What a program says while it waits for another writer.
@Suite struct WaitTests {
    private struct Enough: Error {}

    @Test func waitsAreEndedByTheProgram() throws {
        let folder = Folder(), asked = Mutex(0)
        let writing = try Store(Store.Configuration(path: folder.file("a"), models: [Dog.self]))
        var configuration = Store.Configuration(path: folder.file("a"), models: [Dog.self])
        configuration.onWait = {
            if asked.withLock({
                $0 += 1; return $0
            }) >= 2 {
                throw Enough()
            }
        }
        let waiting = try Store(configuration)
        configuration.models = [Dog.self, Named.self]
        let other = configuration
        try writing.write { tx in
            try tx.create(Dog.self, value: ["id": 1])
            onThreads(1) { _ in
                for call in [
                    { try waiting.checkpoint() }, { try waiting.compact() }, { try waiting.write { _ in } },
                    { _ = try Store(other) },
                ] as [() throws -> Void] {
                    #expect { try call() } throws: {
                        ($0 as? ObjStoreError)?.code == .cancelled
                            && ($0 as? ObjStoreError)?.message.contains("Enough") == true
                    }
                    #expect(
                        asked.withLock {
                            let count = $0; $0 = 0; return count
                        } == 2)
                }
            }
        }
        try waiting.write { tx in try tx.create(Dog.self, value: ["id": 2]) }
        #expect(waiting.objects(Dog.self).count == 2 && asked.withLock { $0 } == 0)
    }
}

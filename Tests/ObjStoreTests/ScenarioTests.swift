import Glibc
import ObjStore
import Synchronization
import Testing

/// The acceptance scenarios of this version, by number.
@Suite struct ScenarioTests {
    private struct ApplicationError: Error, Equatable { let number: Int }

    @Test func A01_createAddAndReopen() throws {
        let folder = Folder()
        let store = try Store.open(path: folder.file(), models: [KennelDog.self])
        let dog = KennelDog()
        dog.name = "Rex"
        dog.age = 10
        #expect(!dog.isManaged)
        try store.write { tx in try tx.add(dog) }
        #expect(dog.isManaged)
        #expect(dog.name == "Rex")
        try store.close()
        let again = try Store.open(path: folder.file(), models: [KennelDog.self])
        let dogs = again.objects(KennelDog.self)
        #expect(dogs.count == 1)
        #expect(dogs[0].name == "Rex")
        #expect(dogs[0].age == 10)
    }

    @Test func A02_writeReturnsAValue() throws {
        let store = try memoryStore([WPerson.self])
        let yoda = try store.write { tx in
            let person = try WPerson(value: ["id": 1, "name": "Yoda"])
            try tx.add(person)
            return person
        }
        #expect(yoda.name == "Yoda")
        #expect(store.objects(WPerson.self).count == 1)
    }

    @Test func A03_addAllInOneCommit() throws {
        let store = try memoryStore([WPerson.self])
        let before = try store.version
        let heard = Errors(), insertions = Atomic(0)
        let token = try store.objects(WPerson.self).observe { change in
            if change.isInitial { return }
            if insertions.exchange(change.insertions.count, ordering: .relaxed) != 0 {
                heard.add(ObjStoreErrorSample.missing)
            }
        }
        try store.deliver()
        try store.write { tx in
            try tx.add(
                ["Figrin D'an", "Greedo", "Toro"].enumerated().map { try WPerson(value: ["id": $0, "name": $1]) })
        }
        #expect(store.objects(WPerson.self).map(\.name) == ["Figrin D'an", "Greedo", "Toro"])
        #expect(try store.version == before + 1)
        #expect(
            try store.deliver() == 1 && insertions.load(ordering: .relaxed) == 3 && heard.all.isEmpty,
            "the observer hears of it once")
        token.invalidate()
    }

    @Test func A04_createWithKeyThenSetInTheSameWrite() throws {
        let store = try memoryStore([Turtle.self, TurtleEnthusiast.self])
        try store.write { tx in
            let turtle = try tx.create(Turtle.self, value: ["id": 7])
            turtle.name = "Max"
            try tx.create(TurtleEnthusiast.self, value: ["id": 8])
        }
        let turtle = try #require(try store.object(ofType: Turtle.self, forPrimaryKey: 7))
        let enthusiast = try #require(try store.object(ofType: TurtleEnthusiast.self, forPrimaryKey: 8))
        #expect(turtle.name == "Max")
        #expect(enthusiast.name == nil)
        #expect(turtle.age == 0)
    }

    @Test func A05_settingOutsideAWriteIsRefused() throws {
        let errors = Errors()
        var configuration = Store.Configuration(.memory(), models: [Dog.self])
        configuration.onError = { errors.add($0) }
        let store = try Store(configuration)
        let dog = try store.write { tx in try tx.create(Dog.self, value: ["id": 1, "name": "Rex"]) }
        dog.name = "Wolfie"
        #expect(dog.name == "Rex")
        #expect(errors.all.map(\.code) == [.notInWrite])
        #expect(errors.all.first?.className == "Dog")
        #expect(errors.all.first?.propertyName == "name")
        #expect(store.lastError?.code == .notInWrite)
        #expect(code { try Store.checked { dog.name = "Wolfie" } } == .notInWrite)
        #expect(code { try dog.setValue("Wolfie", forKey: "name") } == .notInWrite)
        #expect(errors.all.count == 1, "a collected error is not reported as well")
        #expect(dog.name == "Rex")
        #expect(try store.freeze().objects(Dog.self)[0].name == "Rex")
        // A refused caller can continue.
        try store.write { _ in dog.name = "Wolfie" }
        #expect(dog.name == "Wolfie")
    }

    @Test func A06_everythingOfOneWriteAtOnce() throws {
        let folder = Folder()
        let store = try Store.open(path: folder.file(), models: [Dog.self])
        let other = try Store.open(path: folder.file(), models: [Dog.self])
        try store.write { tx in
            try tx.create(Dog.self, value: [1, "One", 1])
            try tx.create(Dog.self, value: [2, "Two", 2])
        }
        try other.refresh()
        try store.write { tx in
            try tx.create(Dog.self, value: [3, "Three", 3])
            try tx.create(Dog.self, value: [4, "Four", 4])
            try #require(try tx.object(ofType: Dog.self, forPrimaryKey: 1)).name = "Uno"
            try tx.delete(try #require(try tx.object(ofType: Dog.self, forPrimaryKey: 2)))
            #expect(store.objects(Dog.self).map(\.name) == ["Uno", "Three", "Four"])
            try other.refresh()
            #expect(other.objects(Dog.self).map(\.name) == ["One", "Two"], "not before the write returns")
        }
        try other.refresh()
        #expect(other.objects(Dog.self).map(\.name) == ["Uno", "Three", "Four"])
        #expect(store.objects(Dog.self).map(\.name) == ["Uno", "Three", "Four"])
    }

    @Test func A07_anApplicationErrorUndoesTheWrite() throws {
        let store = try memoryStore([Dog.self])
        let dog = Dog()
        dog.id = 1
        #expect(throws: ApplicationError(number: 42)) {
            try store.write { tx in
                try tx.add(dog)
                throw ApplicationError(number: 42)
            }
        }
        #expect(store.objects(Dog.self).isEmpty)
        #expect(dog.isInvalidated)
        #expect(!store.isInWrite)
        try store.write { tx in try tx.create(Dog.self, value: ["id": 1]) }
        #expect(store.objects(Dog.self).count == 1)
    }

    @Test func A08_aDuplicateKeyUndoesBothInserts() throws {
        let store = try memoryStore([Dog.self])
        do {
            try store.write { tx in
                try tx.create(Dog.self, value: ["id": 1, "name": "Kermit"])
                try tx.create(Dog.self, value: ["id": 1, "name": "Wirt"])
            }
            Issue.record("the second create was not refused")
        } catch ObjStoreError.Code.duplicateKey {
        }
        #expect(store.objects(Dog.self).isEmpty)
    }

    @Test func A09_readingItsOwnChangesInsideAWrite() throws {
        // As far as this version goes: no links, so the batch sets a name instead of an owner.
        let store = try memoryStore([Dog.self])
        try store.write { tx in
            for (id, age) in [(1, 5), (2, 1), (3, 1)] { try tx.create(Dog.self, value: [id, "", age]) }
        }
        try store.write { tx in
            let young = store.objects(Dog.self).where { $0.age < 2 }
            for dog in young { dog.name = "Ali's" }
            #expect(store.objects(Dog.self).where { $0.name == "Ali's" }.count == 2)
        }
        #expect(store.objects(Dog.self).map(\.name) == ["", "Ali's", "Ali's"])
    }

    @Test func A10_twoThreadsIncrement() throws {
        let folder = Folder()
        let path = folder.file()
        let store = try Store.open(path: path, models: [Dog.self])
        try store.write { tx in _ = try tx.create(Dog.self, value: [1, "Rex", 5]) }
        let errors = Errors()
        onThreads(2) { _ in
            do {
                let mine = try Store(Store.Configuration(path: path, models: [Dog.self]))
                guard let dog = try mine.object(ofType: Dog.self, forPrimaryKey: 1) else {
                    return errors.add(ObjStoreErrorSample.missing)
                }
                for _ in 0..<500 { try mine.write { _ in dog.age += 1 } }
            } catch let error as ObjStoreError {
                errors.add(error)
            } catch {
                errors.add(ObjStoreErrorSample.missing)
            }
        }
        #expect(errors.all.isEmpty)
        try store.refresh()
        #expect(store.objects(Dog.self)[0].age == 1005)
    }

    /// The other one is inside its body only after the first has left: by the clock, without waiting for any time.
    @Test func A10_theSecondWriterIsBlocked() throws {
        let store = try memoryStore([Dog.self])
        let isInside = Atomic(false), isTrying = Atomic(false)
        let left = Mutex<ContinuousClock.Instant?>(nil)
        let errors = Errors()
        onThreads(2) { number in
            do {
                if number == 0 {
                    try store.write { _ in
                        isInside.store(true, ordering: .releasing)
                        while !isTrying.load(ordering: .acquiring) {}
                        left.withLock { $0 = .now }
                    }
                } else {
                    while !isInside.load(ordering: .acquiring) {}
                    if code({ try store.tryWrite { _ in } }) != .busy { errors.add(ObjStoreErrorSample.missing) }
                    isTrying.store(true, ordering: .releasing)
                    try store.write { _ in
                        let now = ContinuousClock.now
                        if left.withLock({ $0.map { $0 <= now } }) != true { errors.add(ObjStoreErrorSample.missing) }
                    }
                }
            } catch {
                errors.add(error as? ObjStoreError ?? ObjStoreErrorSample.missing)
            }
        }
        #expect(errors.all.isEmpty)
    }

    @Test func A11_aKilledWriterLeavesWholeTransactions() async throws {
        let folder = Folder()
        let path = folder.file()
        let counter = folder.file("acknowledged")
        for round in 1...3 {
            await #expect(processExitsWith: .signal(SIGKILL)) {
                [path = path as String, counter = counter as String, round = round as Int] in
                let store = try Store.open(path: path, models: [KennelDog.self])
                let file = open(counter, O_CREAT | O_RDWR, 0o600)
                var total = Int64(store.objects(KennelDog.self).count)
                // Killed by another thread after some transactions, wherever the writer is then.
                final class Left: Sendable { let count = Atomic(0) }
                let left = Left()
                left.count.store(round * 3, ordering: .releasing)
                var thread = pthread_t()
                pthread_create(
                    &thread, nil,
                    { argument in
                        let left = Unmanaged<Left>.fromOpaque(argument!).takeRetainedValue()
                        while left.count.load(ordering: .acquiring) > 0 { usleep(50) }
                        kill(getpid(), SIGKILL)
                        return nil
                    }, Unmanaged.passRetained(left).toOpaque())
                while true {
                    try store.write { tx in
                        for _ in 0..<50 { try tx.create(KennelDog.self, value: ["name": "Rex"]) }
                    }
                    total += 50
                    pwrite(file, &total, 8, 0)
                    left.count.subtract(1, ordering: .acquiringAndReleasing)
                }
            }
            var acknowledged: Int64 = 0
            let file = open(counter, O_RDONLY)
            #expect(pread(file, &acknowledged, 8, 0) == 8)
            Glibc.close(file)
            let store = try Store.open(path: path, models: [KennelDog.self])
            let count = store.objects(KennelDog.self).count
            #expect(count % 50 == 0)
            #expect(count >= Int(acknowledged))
            #expect(acknowledged > 0)
            #expect(try store.verify() == [])
            try store.close()
        }
    }

    @Test func A14_addingAnObjectOfAnotherStore() throws {
        let first = try memoryStore([Dog.self]), second = try memoryStore([Dog.self])
        let dog = try first.write { tx in try tx.create(Dog.self, value: ["id": 1]) }
        #expect(code { try second.write { tx in try tx.add(dog) } } == .wrongStore)
        #expect(second.objects(Dog.self).isEmpty)
        // The error caught inside: the write continues.
        try second.write { tx in
            #expect(code { try tx.add(dog) } == .wrongStore)
            #expect(code { try tx.delete(dog) } == .wrongStore)
            try tx.create(Dog.self, value: ["id": 2])
        }
        #expect(second.objects(Dog.self).map(\.id) == [2])
        #expect(!dog.isInvalidated)
    }

    @Test func A15_readingAfterClose() throws {
        let folder = Folder()
        let errors = Errors()
        var configuration = Store.Configuration(path: folder.file(), models: [Dog.self])
        configuration.onError = { errors.add($0) }
        let store = try Store(configuration)
        let dog = try store.write { tx in try tx.create(Dog.self, value: [1, "Rex"]) }
        let dogs = store.objects(Dog.self)
        try store.close()
        #expect(code { try Store.checked { _ = dog.name } } == .closedHandle)
        #expect(dog.name == "")
        #expect(dogs.count == 0)
        #expect(dogs.first == nil)
        for _ in dogs { Issue.record("a closed store has no objects") }
        #expect(errors.all.map(\.code) == [.closedHandle, .closedHandle, .closedHandle, .closedHandle])
        #expect(dog.isInvalidated)
        #expect(code { try store.write { _ in } } == .closedHandle)
        #expect(code { try dog.freeze() } == .closedHandle)
        #expect(code { try Store.checked { dog.name = "Ben" } } == .closedHandle)
        try store.close()
    }

    @Test func A16_observingAnUnmanagedObject() throws {
        let store = try memoryStore([Dog.self])
        let dog = try Dog(value: [1, "Rex"])
        do throws(ObjStoreError) {
            _ = try dog.observe { (_: ObjectChange<Dog>) in Issue.record("an unmanaged object changes nothing") }
            Issue.record("an unmanaged object was observed")
        } catch {
            #expect(error.code == .wrongView && error.className == "Dog" && error.message.contains("unmanaged"))
        }
        // The same object, from now on in the store.
        try store.write { tx in try tx.add(dog) }
        let names = Mutex<[String]>([])
        let token = try dog.observe { (change: ObjectChange<Dog>) in
            if case .change(let dog, _) = change { names.withLock { $0.append(dog.name) } }
        }
        try store.write { _ in dog.name = "Wolfie" }
        #expect(try store.deliver() == 1)
        #expect(names.withLock { $0 } == ["Wolfie"])
        token.invalidate()
    }

    @Test func A29_missingAndNullForARequiredProperty() throws {
        let store = try memoryStore([TodoItem.self, WPerson.self])
        try store.write { tx in
            do {
                try tx.create(WPerson.self, value: ["id": 1])
                Issue.record("a required property without default was missing")
            } catch let error as ObjStoreError {
                #expect(error.code == .missingValue)
                #expect(error.className == "WPerson")
                #expect(error.propertyName == "name")
            }
            do {
                try tx.create(WPerson.self, value: ["id": 1, "name": String?.none as Any])
                Issue.record("null for a required property")
            } catch let error as ObjStoreError {
                #expect(error.code == .notNullable)
                #expect(error.propertyName == "name")
            }
        }
        #expect(store.objects(WPerson.self).isEmpty)
    }

    @Test func A30_upsertAllReplacesEveryProperty() throws {
        let store = try memoryStore([TodoItem.self])
        try store.write { tx in
            let item = try TodoItem(value: ["X", "Defibrillate the Master Oscillator", "Open", "Aimee"])
            try tx.add(item)
        }
        try store.write { tx in
            let item = try TodoItem(value: ["X", "Fluxify the Turbo Encabulator", "Open", "Aimee"])
            try tx.add(item, update: .all)
        }
        #expect(store.objects(TodoItem.self).map(\.name) == ["Fluxify the Turbo Encabulator"])
    }

    @Test func A31_upsertModified() throws {
        let store = try memoryStore([WPerson.self])
        try store.write { tx in try tx.add(try WPerson(value: [1234, "Jones"]), update: .modified) }
        try store.write { tx in try tx.add(try WPerson(value: [1234, "Bowie"]), update: .modified) }
        #expect(store.objects(WPerson.self).map(\.name) == ["Bowie"])
        // Nothing differs: no new version.
        let version = try store.version
        try store.write { tx in try tx.add(try WPerson(value: [1234, "Bowie"]), update: .modified) }
        #expect(try store.version == version)
    }

    @Test func A32_addWithAnExistingKey() throws {
        let store = try memoryStore([Dog.self])
        try store.write { tx in _ = try tx.create(Dog.self, value: [1, "Kermit", 42]) }
        let second = try Dog(value: [1, "Wirt", 7])
        #expect(code { try store.write { tx in try tx.add(second) } } == .duplicateKey)
        #expect(store.objects(Dog.self).map(\.name) == ["Kermit"])
        #expect(!second.isManaged, "refused: still an object of its own")
        #expect(second.name == "Wirt")
    }

    @Test func A36_upsertWithoutAPrimaryKey() throws {
        let store = try memoryStore([KennelDog.self])
        for policy in [UpdatePolicy.modified, .all] {
            #expect(code { try store.write { tx in try tx.add(KennelDog(), update: policy) } } == .noPrimaryKey)
            #expect(
                code { try store.write { tx in try tx.create(KennelDog.self, value: ["name": "x"], update: policy) } }
                    == .noPrimaryKey)
        }
        #expect(store.objects(KennelDog.self).isEmpty)
    }

    @Test func A71_setAndIncrement() throws {
        let store = try memoryStore([Dog.self])
        let dog = try store.write { tx in try tx.create(Dog.self, value: [1, "Rex", 10]) }
        try store.write { _ in
            dog.name = "Wolfie"
            dog.age += 1
        }
        #expect(dog.name == "Wolfie")
        #expect(dog.age == 11)
        #expect(store.objects(Dog.self).where { $0.age == 11 }.count == 1, "the index follows")
    }

    @Test func A75_readingADeletedObject() throws {
        let store = try memoryStore([WPerson.self])
        let obi = try store.write { tx in try tx.create(WPerson.self, value: [1, "Obi-Wan"]) }
        #expect(!obi.isInvalidated)
        try store.write { tx in try tx.delete(obi) }
        #expect(store.objects(WPerson.self).count == 0)
        #expect(obi.isInvalidated)
        do {
            try Store.checked { _ = obi.name }
            Issue.record("a deleted object was read")
        } catch let error as ObjStoreError {
            #expect(error.code == .noSuchObject)
            #expect(error.className == "WPerson")
            #expect(error.propertyName == "name")
        }
        #expect(code { try store.write { tx in try tx.delete(obi) } } == .noSuchObject)
    }

    @Test func A78_deleteAllOfOneClass() throws {
        let store = try memoryStore([WPerson.self, Team.self])
        try store.write { tx in
            try tx.create(WPerson.self, value: [1, "Boba Fett"])
            try tx.create(WPerson.self, value: [2, "Jango Fett"])
            try tx.create(Team.self, value: [1, "Bounty Hunters"])
        }
        let count = try store.write { tx in try tx.deleteAll(WPerson.self) }
        #expect(count == 2)
        #expect(store.objects(WPerson.self).count == 0)
        #expect(store.objects(Team.self).count == 1)
        try store.write { _ in try store.deleteAll() }
        #expect(store.objects(Team.self).count == 0)
    }

    /// Ruled: the object simply works on the other thread.
    @Test func A89_anObjectOnAnotherThread() throws {
        let store = try memoryStore([Dog.self])
        let dog = Carried(value: try store.write { tx in try tx.create(Dog.self, value: [1, "Rex", 10]) })
        let errors = Errors()
        onThreads(4) { number in
            do {
                try Store.checked { if dog.value.name != "Rex" { errors.add(ObjStoreErrorSample.missing) } }
                for _ in 0..<50 { try store.write { _ in dog.value.age += 1 } }
            } catch {
                errors.add(error as? ObjStoreError ?? ObjStoreErrorSample.missing)
            }
        }
        #expect(errors.all.isEmpty)
        #expect(dog.value.age == 210)
    }
}

/// An error to record where a test found something else than it should.
enum ObjStoreErrorSample {
    static var missing: ObjStoreError {
        do { try Store.open(path: "/nonexistent/folder/x").close() } catch { return error }
        preconditionFailure("a store in a folder that does not exist was opened")
    }
}

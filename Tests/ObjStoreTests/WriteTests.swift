import ObjStore
import Synchronization
import Testing

/// Writing: create, add, update, delete, cancel, nesting; and what is refused.
@Suite struct WriteTests {
    private func dogs(_ store: Store) -> [String] {
        store.objects(Dog.self).map { "\($0.id) \($0.name) \($0.age) \($0.weight.map { "\($0)" } ?? "-")" }
    }

    @Test func createFromDictionariesAndArrays() throws {
        let store = try memoryStore([Dog.self])
        try store.write { tx in
            try tx.create(Dog.self, value: ["id": 1, "name": "A", "age": 3, "weight": 4.5])
            try tx.create(Dog.self, value: ["id": 2])
            try tx.create(Dog.self, value: [3, "C", 5, nil] as [Any?])
            try tx.create(Dog.self, value: [4, "D"])
            try tx.create(Dog.self, value: ["id": Int8(5), "weight": 3] as [String: Any])
            try tx.create(Dog.self, value: try Dog(value: [6, "F"]))
            try tx.create(Dog.self, value: [7, "G", 1, 2.0], exact: true)
        }
        #expect(dogs(store) == ["1 A 3 4.5", "2  0 -", "3 C 5 -", "4 D 0 -", "5  0 3.0", "6 F 0 -", "7 G 1 2.0"])
        try store.write { tx in
            #expect(code { try tx.create(Dog.self, value: [8, "H"], exact: true) } == .missingValue)
            #expect(code { try tx.create(Dog.self, value: [8, "H", 1, 2.0, 3]) } == .outOfRange)
            #expect(code { try tx.create(Dog.self, value: ["id": 8, "colour": "red"]) } == .noSuchProperty)
            #expect(code { try tx.create(Dog.self, value: ["id": "8"]) } == .wrongType)
            #expect(code { try tx.create(Dog.self, value: ["id": 8.5]) } == .wrongType)
            #expect(code { try tx.create(Dog.self, value: ["id": true]) } == .wrongType)
            #expect(code { try tx.create(Dog.self, value: ["id": 8, "age": 2.5]) } == .wrongType)
            #expect(
                code { try tx.create(Dog.self, value: ["id": 8, "weight": Int.max]) } == .wrongType,
                "no double is 2^63 - 1")
            #expect(code { try tx.create(Dog.self, value: ["id": 8, "name": 5]) } == .wrongType)
            #expect(code { try tx.create(Dog.self, value: ["name": "without a key"]) } == .missingValue)
            #expect(code { try tx.create(Dog.self, value: 8) } == .wrongType)
        }
        #expect(store.objects(Dog.self).count == 7, "what was refused left nothing")
    }

    @Test func updatePolicies() throws {
        let store = try memoryStore([Dog.self])
        let dog = try store.write { tx in try tx.create(Dog.self, value: [1, "Rex", 3, 4.5]) }
        try store.write { tx in
            let same = try tx.create(Dog.self, value: ["id": 1, "name": "Max"], update: .modified)
            #expect(same == dog)
        }
        #expect(dogs(store) == ["1 Max 3 4.5"], "a dictionary keeps what it does not have")
        try store.write { tx in try tx.create(Dog.self, value: ["id": 1, "age": 4], update: .all) }
        #expect(dogs(store) == ["1 Max 4 4.5"])
        let object = try Dog(value: [1, "Moritz"])
        try store.write { tx in try tx.add(object, update: .all) }
        #expect(dogs(store) == ["1 Moritz 0 -"], "an object writes every property")
        #expect(object.isSameObject(as: dog))
        try store.write { tx in
            try tx.add(object)
            try store.add(object, update: .all)
        }
        #expect(store.objects(Dog.self).count == 1, "what is managed here already stays")
    }

    @Test func savepointsUndoTheirPart() throws {
        struct Problem: Error {}
        let store = try memoryStore([Dog.self])
        let kept = try Dog(value: [2, "B"]), undone = try Dog(value: [3, "C"])
        try store.write { tx in
            try tx.create(Dog.self, value: [1, "A"])
            let name = try tx.savepoint {
                try tx.add(kept)
                return kept.name
            }
            #expect(name == "B")
            #expect(throws: Problem.self) {
                try tx.savepoint {
                    try tx.add(undone)
                    kept.name = "changed"
                    #expect(dogs(store) == ["1 A 0 -", "2 changed 0 -", "3 C 0 -"])
                    try tx.savepoint { try tx.create(Dog.self, value: [4, "D"]) }
                    throw Problem()
                }
            }
            #expect(dogs(store) == ["1 A 0 -", "2 B 0 -"])
            #expect(undone.isInvalidated && kept.name == "B")
            // What an accessor reports undoes the scope, too.
            #expect(code { try tx.savepoint { kept.id = 5 } } == .keyImmutable)
            try tx.create(Dog.self, value: [3, "C again"])
        }
        #expect(dogs(store) == ["1 A 0 -", "2 B 0 -", "3 C again 0 -"])
        try store.write { tx in
            let cancelled = try tx.savepoint { () throws -> Int in
                try tx.create(Dog.self, value: [9, "never"])
                try tx.cancel()
                return 1
            }
            #expect(cancelled == 1)
            #expect(code { try tx.savepoint {} } == .notInWrite)
        }
        #expect(store.objects(Dog.self).count == 3)
    }

    @Test func cancelAndErrors() throws {
        let store = try memoryStore([Dog.self])
        let result = try store.write { tx in
            let dog = try tx.create(Dog.self, value: [1])
            try tx.cancel()
            #expect(!store.isInWrite && code { try tx.cancel() } == .notInWrite)
            #expect(code { try tx.create(Dog.self, value: [2]) } == .notInWrite)
            return dog.isInvalidated
        }
        #expect(result == true)
        #expect(store.objects(Dog.self).count == 0)
        var kept: Transaction?
        try store.write { tx in kept = tx }
        try store.write { tx in
            #expect(code { try kept?.create(Dog.self, value: [3]) } == .notInWrite)
            #expect(code { try kept?.cancel() } == .notInWrite)
            try tx.create(Dog.self, value: [4])
        }
        #expect(store.objects(Dog.self).map(\.id) == [4])
        #expect(code { try store.add(Dog()) } == .notInWrite)
        #expect(code { try store.deleteAll() } == .notInWrite)
        #expect(code { try store.write { _ in try store.write { _ in } } } == .alreadyInWrite)
        #expect(code { try store.tryWrite { _ in try store.freeze() } } == .wrongView)
        #expect(!store.isInWrite)
    }

    @Test func anErrorCaughtInsideLeavesTheRest() throws {
        let store = try memoryStore([Dog.self])
        try store.write { tx in
            try tx.create(Dog.self, value: [1, "A"])
            #expect(
                code { try tx.add([try Dog(value: [2, "B"]), try Dog(value: [1, "C"]), try Dog(value: [3, "D"])]) }
                    == .duplicateKey)
            try tx.create(Dog.self, value: [4, "E"])
        }
        #expect(store.objects(Dog.self).map(\.id) == [1, 2, 4])
        #expect(store.objects(Dog.self).where { $0.age == 0 }.count == 3)
        #expect(try store.verify() == [])
    }

    /// An accessor's error that was not looked at: the write does not commit half of what was meant.
    @Test func anAccessorErrorUndoesTheWrite() throws {
        let store = try memoryStore([Dog.self])
        let (first, second) = try store.write { tx in
            (try tx.create(Dog.self, value: [1, "A"]), try tx.create(Dog.self, value: [2, "B"]))
        }
        try store.write { tx in try tx.delete(second) }
        do {
            try store.write { tx in
                first.name = "changed"
                second.name = "gone"
                try tx.create(Dog.self, value: [3, "C"])
            }
            Issue.record("the write of a deleted object was committed")
        } catch let error as ObjStoreError {
            #expect(error.code == .noSuchObject)
            #expect(error.className == "Dog" && error.propertyName == "name")
        }
        #expect(first.name == "A")
        #expect(store.objects(Dog.self).map(\.id) == [1])
        #expect(store.lastError == nil)
    }

    @Test func beginAndCommit() throws {
        let store = try memoryStore([Dog.self])
        let tx = try store.beginWrite()
        #expect(store.isInWrite)
        let dog = try tx.create(Dog.self, value: [1, "Rex"])
        dog.age = 4
        #expect(code { try store.beginWrite() } == .alreadyInWrite)
        #expect(code { try store.write { _ in } } == .alreadyInWrite)
        onThreads(1) { _ in
            #expect(!store.isInWrite && store.objects(Dog.self).isEmpty)
            #expect(code { try store.commitWrite() } == .notInWrite && code { try store.cancelWrite() } == .notInWrite)
        }
        try store.commitWrite()
        #expect(!store.isInWrite && dogs(store) == ["1 Rex 4 -"])
        #expect(code { try store.commitWrite() } == .notInWrite)
        #expect(code { try tx.create(Dog.self, value: [2]) } == .notInWrite)

        try store.beginWrite()
        try store.add(try Dog(value: [2, "Max"]))
        dog.name = "changed"
        try store.cancelWrite()
        #expect(code { try store.cancelWrite() } == .notInWrite)
        #expect(dogs(store) == ["1 Rex 4 -"])
        // In the body of a write: cancelling is allowed, committing is the body's end.
        try store.write { tx in
            try tx.create(Dog.self, value: [3])
            #expect(code { try store.commitWrite() } == .notInWrite)
            try store.cancelWrite()
        }
        #expect(store.objects(Dog.self).count == 1)
        // Closed in between: undone.
        try store.beginWrite().create(Dog.self, value: [4])
        try store.close()
        #expect(code { try store.commitWrite() } == .closedHandle)
    }

    /// Closed inside, the write is undone; the writer gets the error, and no one else.
    @Test func closedInsideIsReportedOnce() throws {
        let errors = Errors()
        for isExplicit in [false, true] {
            var configuration = Store.Configuration(.memory(), models: [Dog.self])
            configuration.onError = { errors.add($0) }
            let store = try Store(configuration)
            func body(_ tx: Transaction) throws {
                try tx.create(Dog.self, value: [1])
                try store.close()
            }
            let told = code {
                guard isExplicit else { return try store.write(body) }
                try body(try store.beginWrite())
                try store.commitWrite()
            }
            #expect(told == .closedHandle)
            #expect(store.lastError == nil)
        }
        #expect(errors.all.isEmpty)
    }

    /// As in the body of `write`: nothing is committed when an accessor could not do its work.
    @Test func accessorErrorsOfBeginAndCommit() throws {
        let errors = Errors()
        var configuration = Store.Configuration(.memory(), models: [Dog.self])
        configuration.onError = { errors.add($0) }
        let store = try Store(configuration)
        let first = try store.write { tx in try tx.create(Dog.self, value: [1, "A"]) }
        let second = Carried(value: try store.write { tx in try tx.create(Dog.self, value: [2, "B"]) })
        try store.write { tx in try tx.delete(second.value) }
        try store.beginWrite()
        first.name = "changed"
        second.value.name = "gone"
        #expect(code { try Store.checked { _ = second.value.age } } == .noSuchObject, "the innermost one gets it")
        onThreads(1) { _ in _ = second.value.name }
        #expect(errors.all.map(\.code) == [.noSuchObject], "another thread's is its own")
        #expect(code { try store.commitWrite() } == .noSuchObject)
        #expect(first.name == "A" && !store.isInWrite)
        try store.beginWrite()
        first.name = "changed"
        try store.commitWrite()
        #expect(first.name == "changed" && errors.all.count == 1)
        first.name = "outside"
        #expect(errors.all.map(\.code) == [.noSuchObject, .notInWrite])
    }

    final class Ticket: Object {
        @Persisted(primaryKey: true) var id = Ticket.next()
        @Persisted var code = Ticket.next()
        @Persisted var label = "ticket"

        private static let last = Atomic(0)
        private static func next() -> Int { last.add(1, ordering: .relaxed).newValue }
    }

    @Test func columns() throws {
        let store = try memoryStore([Dog.self, Everything.self, Ticket.self])
        try store.write { tx in
            let counts = try tx.insert(
                Dog.self,
                [
                    Column(\.id, Array(0..<3000)), Column(\.name, (0..<3000).map { "dog \($0)" }),
                    Column(\.weight, (0..<3000).map { $0 % 3 == 0 ? nil : Double($0) }),
                ])
            #expect(counts == InsertCounts(created: 3000, changed: 0, unchanged: 0))
        }
        let dogs = store.objects(Dog.self)
        #expect(dogs.count == 3000 && dogs.map(\.id) == Array(0..<3000))
        #expect(
            dogs[2047].name == "dog 2047" && dogs[2047].weight == 2047 && dogs[3 * 700].weight == nil
                && dogs[5].age == 0)
        #expect(try dogs.where { $0.weight == nil }.count == 1000 && dogs.sum(of: \.age) == 0)
        try store.write { tx in
            let counts = try tx.insert(
                Dog.self, [Column(\.id, [1, 2, 5000]), Column(\.name, ["dog 1", "two", "new"])], update: .modified)
            #expect(counts == InsertCounts(created: 1, changed: 1, unchanged: 1))
            // Refused as a whole.
            do throws(ObjStoreError) {
                try tx.insert(Dog.self, [Column(\.id, [6000, 7])])
                Issue.record("a key that exists")
            } catch {
                #expect(error.code == .duplicateKey && error.position == 1 && error.propertyName == "id")
            }
            #expect(code { try tx.insert(Dog.self, [Column(\.id, [1]), Column(\.age, [1, 2])]) } == .invalidArgument)
            #expect(code { try tx.insert(Dog.self, [Column(\.id, [1]), Column(\.id, [1])]) } == .invalidArgument)
            #expect(code { try tx.insert(Dog.self, []) } == .invalidArgument)
            #expect(code { try tx.insert(Dog.self, [Column(\.name, ["without a key"])]) } == .missingValue)
            #expect(code { try tx.insert(Dog.self, [Column(\.description, ["x"])]) } == .invalidQuery)
            #expect(code { try tx.insert(Toy.self, [Column(\.label, ["x"])]) } == .noSuchClass)
        }
        #expect(code { try store.insert(Dog.self, [Column(\.id, [1])]) } == .notInWrite)
        #expect(dogs.count == 3001 && dogs[2].name == "two")
        // Every type, with and without null.
        try store.write { tx in
            try tx.insert(
                Everything.self,
                [
                    Column(\.key, ["a", "", "ü"]), Column(\.flag, [true, false, true]),
                    Column(\.number, [1, -1, .max]), Column(\.tiny, [1, -1, .min]),
                    Column(\.short, [1, 2, 3]), Column(\.medium, [1, 2, 3]), Column(\.long, [1, 2, 3]),
                    Column(\.real, [1.5, -0.0, .infinity]),
                    Column(\.text, ["", "x", "two\nlines"]), Column(\.bytes, [[], [0], [1, 2, 255]]),
                    Column(\.time, [-1, 0, 1].map { Timestamp(seconds: $0, nanoseconds: 999_999_999) }),
                    Column(\.color, [.brown, .white, .black]),
                    Column(\.size, [.small, .large, .small]), Column(\.flagOrNot, [nil, false, true]),
                    Column(\.textOrNot, ["", nil, "t"]),
                    Column(\.bytesOrNot, [nil, [], [7]]), Column(\.timeOrNot, [Timestamp(seconds: 5), nil, nil]),
                    Column(\.colorOrNot, [nil, .white, nil]),
                ])
        }
        let all = store.objects(Everything.self)
        #expect(
            all.map(\.key) == ["a", "", "ü"] && all.map(\.flag) == [true, false, true]
                && all.map(\.number) == [1, -1, .max])
        #expect(
            all.map(\.tiny) == [1, -1, .min] && all.map(\.real) == [1.5, 0, .infinity]
                && all.map(\.text) == ["", "x", "two\nlines"])
        #expect(
            all.map(\.bytes) == [[], [0], [1, 2, 255]] && all.map(\.color) == [.brown, .white, .black]
                && all.map(\.size) == [.small, .large, .small])
        #expect(all.map(\.time.seconds) == [-1, 0, 1] && all[0].time.nanoseconds == 999_999_999)
        #expect(
            all.map(\.flagOrNot) == [nil, false, true] && all.map(\.textOrNot) == ["", nil, "t"]
                && all.map(\.bytesOrNot) == [nil, [], [7]])
        #expect(
            all.map(\.timeOrNot) == [Timestamp(seconds: 5), nil, nil] && all.map(\.colorOrNot) == [nil, .white, nil])
        // Defaults that are another value each time.
        try store.write { tx in
            try tx.insert(Ticket.self, [Column(\.label, ["x", "y"])])
            #expect(code { try tx.insert(Ticket.self, [Column(\.id, [1])], update: .modified) } == .missingValue)
        }
        let tickets = store.objects(Ticket.self)
        #expect(Set(tickets.flatMap { [$0.id, $0.code] }).count == 4 && tickets.map(\.label) == ["x", "y"])
        #expect(try store.verify() == [])
    }

    @Test func deleting() throws {
        let store = try memoryStore([Dog.self])
        try store.write { tx in try tx.add((0..<10).map { try Dog(value: [$0, "d", $0 % 3]) }) }
        try store.write { tx in try tx.delete(store.objects(Dog.self).where { $0.age == 0 }) }
        #expect(store.objects(Dog.self).map(\.id) == [1, 2, 4, 5, 7, 8])
        let dog = store.objects(Dog.self)[0]
        let frozen = try dog.freeze()
        try store.write { tx in
            #expect(code { try tx.delete(Dog()) } == .wrongView)
            #expect(code { try tx.delete(frozen) } == .wrongView)
            #expect(code { try tx.add(frozen) } == .wrongView)
            try tx.delete(dog)
            #expect(dog.isInvalidated)
            #expect(code { try tx.delete(dog) } == .noSuchObject)
            #expect(code { try tx.add(dog) } == .noSuchObject)
            #expect(code { try tx.create(Dog.self, value: dog) } == .noSuchObject)
        }
        #expect(code { try dog.detached() } == .noSuchObject)
        #expect(code { try dog.freeze() } == .noSuchObject)
        #expect(frozen.id == 1 && !frozen.isInvalidated)
    }

    @Test func equalityAndHash() throws {
        let store = try memoryStore([Dog.self, Toy.self])
        let dog = try Dog(value: [7, "Rex"])
        let toy = Toy()
        let set: Set<Object> = [dog, toy]
        try store.write { tx in try tx.add([dog, toy] as [Object]) }
        #expect(set.contains(dog) && set.contains(toy))
        let again = try #require(try store.object(ofType: Dog.self, forPrimaryKey: 7))
        #expect(again !== dog && again == dog && set.contains(again))
        let toyAgain = try #require(store.objects(Toy.self).first)
        #expect(toyAgain != toy && toyAgain.isSameObject(as: toy))
        #expect(try dog.freeze() != dog)
        try store.write { tx in try tx.delete(dog) }
        #expect(set.contains(dog), "also when it was deleted")
        #expect(store.lastError == nil)
    }
}

import ObjStore
import Testing

/// Writing: create, add, update, delete, cancel, nesting; and what is refused.
@Suite struct WriteTests {
    private func dogs(_ store: Store) -> [String] { store.objects(Dog.self).map { "\($0.id) \($0.name) \($0.age) \($0.weight.map { "\($0)" } ?? "-")" } }

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
            #expect(code { try tx.create(Dog.self, value: [8, "H", 1, 2.0, 3]) } == .invalidArgument)
            #expect(code { try tx.create(Dog.self, value: ["id": 8, "colour": "red"]) } == .noSuchProperty)
            #expect(code { try tx.create(Dog.self, value: ["id": "8"]) } == .wrongType)
            #expect(code { try tx.create(Dog.self, value: ["id": 8.5]) } == .wrongType)
            #expect(code { try tx.create(Dog.self, value: ["id": true]) } == .wrongType)
            #expect(code { try tx.create(Dog.self, value: ["id": 8, "age": 2.5]) } == .wrongType)
            #expect(code { try tx.create(Dog.self, value: ["id": 8, "weight": Int.max]) } == .wrongType, "no double is 2^63 - 1")
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

    @Test func cancelAndErrors() throws {
        let store = try memoryStore([Dog.self])
        let result = try store.write { tx in
            let dog = try tx.create(Dog.self, value: [1])
            tx.cancel()
            #expect(!store.isInWrite)
            #expect(code { try tx.create(Dog.self, value: [2]) } == .notInWrite)
            return dog.isInvalidated
        }
        #expect(result == true)
        #expect(store.objects(Dog.self).count == 0)
        var kept: Transaction?
        try store.write { tx in kept = tx }
        try store.write { tx in
            #expect(code { try kept?.create(Dog.self, value: [3]) } == .notInWrite)
            kept?.cancel()
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
            #expect(code { try tx.add([try Dog(value: [2, "B"]), try Dog(value: [1, "C"]), try Dog(value: [3, "D"])]) } == .duplicateKey)
            try tx.create(Dog.self, value: [4, "E"])
        }
        #expect(store.objects(Dog.self).map(\.id) == [1, 2, 4])
        #expect(store.objects(Dog.self).where { $0.age == 0 }.count == 3)
        #expect(try store.verify() == [])
    }

    /// An accessor's error that nobody looked at: the write does not commit half of what was meant.
    @Test func anAccessorErrorUndoesTheWrite() throws {
        let store = try memoryStore([Dog.self])
        let (first, second) = try store.write { tx in (try tx.create(Dog.self, value: [1, "A"]), try tx.create(Dog.self, value: [2, "B"])) }
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

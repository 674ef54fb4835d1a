import ObjStore
import Testing

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The finer rules of creating and updating, by number. Rule 6 (a nil primary key) is in KeyTests, rule 10 (one key
/// twice in a copy) in CopyTests.
@Suite struct CreateRuleTests {
    final class Note: Object {
        @Persisted var text = ""
    }
    final class Owner: Object {
        @Persisted(primaryKey: true) var id: Int
        @Persisted var age: Int
        @Persisted var name = "nobody"
        @Persisted var tags: List<String>
        @Persisted var marks: MutableSet<Int>
        @Persisted var byName: Map<String, Int>
        @Persisted var best: Owner?
        @Persisted var others: List<Owner>
        @Persisted var note: Note?
        @Persisted var notes: List<Note>
    }

    private static let updates: [UpdatePolicy] = [.modified, .all],
        policies: [UpdatePolicy] = [.error, .modified, .all]
    private func open() throws -> Store { try memoryStore([Note.self, Owner.self]) }
    private func owner(_ id: Int, _ age: Int, name: String? = nil) -> Owner {
        let owner = Owner()
        (owner.id, owner.age) = (id, age)
        if let name { owner.name = name }
        return owner
    }
    private func note(_ text: String) -> Note {
        let note = Note()
        note.text = text
        return note
    }
    private func collections(_ owner: Owner) -> String {
        "\(Array(owner.tags)) \(owner.marks.sorted()) \(owner.byName.map { "\($0.key) \($0.value)" }.sorted())"
    }

    @Test("rule 1: collections are replaced", arguments: updates) func collectionsAreReplaced(
        _ update: UpdatePolicy
    ) throws {
        let store = try open()
        try store.write { tx in
            let first = try tx.create(
                Owner.self,
                value: ["id": 1, "age": 1, "tags": ["a", "b"], "marks": [1, 2], "byName": ["x": 1, "y": 2]]
                    as [String: Any])
            try tx.create(
                Owner.self,
                value: ["id": 1, "tags": ["c", "a"], "marks": [2, 3], "byName": ["y": 3]] as [String: Any],
                update: update)
            #expect(collections(first) == #"["c", "a"] [2, 3] ["y 3"]"#)
            try tx.create(Owner.self, json: #"{"id":1,"tags":["d"],"marks":[4]}"#, update: update)
            #expect(collections(first) == #"["d"] [4] ["y 3"]"#)
            let unmanaged = owner(1, 1)
            unmanaged.tags = ["e"]
            unmanaged.byName = ["z": 0]
            try tx.add(unmanaged, update: update)
            #expect(collections(first) == #"["e"] [] ["z 0"]"#)
        }
    }

    @Test("rule 2: linked objects with a key are updated, others made", arguments: updates) func linkedObjects(
        _ update: UpdatePolicy
    ) throws {
        let store = try open()
        try store.write { tx in
            let best = try tx.create(Owner.self, value: ["id": 2, "age": 20])
            let first = try tx.create(
                Owner.self,
                value: ["id": 1, "age": 10, "best": best, "note": ["text": "n"], "notes": [["text": "n"]]]
                    as [String: Any])
            let old = first.note
            let values: [String: Any] = [
                "id": 1, "best": ["id": 2, "age": 21],
                "others": [["id": 2, "name": "B"], ["id": 3, "age": 30]] as [[String: Any]], "note": ["text": "n"],
                "notes": [["text": "n"]],
            ]
            try tx.create(Owner.self, value: values, update: update)
            #expect(first.best == best && best.age == 21 && best.name == "B")
            #expect(first.others.map(\.id) == [2, 3] && tx.objects(Owner.self).count == 3)
            #expect(first.note != old && first.note?.text == "n" && tx.objects(Note.self).count == 4)
            let unmanaged = owner(1, 11)
            (unmanaged.best, unmanaged.note) = (owner(2, 22), note("n"))
            try tx.add(unmanaged, update: update)
            #expect(first.best == best && best.age == 22 && best.name == "nobody")
            #expect(tx.objects(Owner.self).count == 3 && tx.objects(Note.self).count == 5)
        }
    }

    @Test("rule 3: what is not given stays; an object gives everything", arguments: updates) func whatIsNotGiven(
        _ update: UpdatePolicy
    ) throws {
        let store = try open()
        try store.write { tx in
            let first = try tx.create(
                Owner.self,
                value: ["id": 1, "age": 10, "name": "Ann", "tags": ["a"], "note": ["text": "n"]] as [String: Any])
            try tx.create(Owner.self, value: ["id": 1, "age": 11], update: update)
            #expect(first.age == 11 && first.name == "Ann" && Array(first.tags) == ["a"] && first.note?.text == "n")
            try tx.create(Owner.self, json: #"{"id":1,"age":12}"#, update: update)
            #expect(first.age == 12 && first.name == "Ann" && Array(first.tags) == ["a"] && first.note?.text == "n")
            try tx.add(owner(1, 13), update: update)
            #expect(first.age == 13 && first.name == "nobody" && first.tags.isEmpty && first.note == nil)
        }
    }

    final class User: Object {
        @Persisted(primaryKey: true) var id = ObjectId.generate()
        @Persisted(unique: true) var email = ""
        @Persisted var owner: Owner?
        @Persisted var role = "main"
        @Persisted var n = 0
        @Persisted var token = UUID()
        @Persisted var tags: List<String> = ["new"]
        override class var indexes: [Index] { [Index("owner", "role", unique: true)] }
    }
    final class Seat: Object {
        @Persisted var row = 7
        @Persisted var number: Int
        @Persisted var token = UUID()
        @Persisted var n = 0
        override class var indexes: [Index] { [Index("row", "number", primaryKey: true)] }
    }
    final class Setting: Object {
        @Persisted(primaryKey: true) var id = 1
        @Persisted var token = UUID()
        @Persisted var n = 0
    }
    final class Choice: Object {
        @Persisted(primaryKey: true) var id: String?
        @Persisted var token = UUID()
        @Persisted var n = 0
    }

    /// However the object is known, defaults that are evaluated are for new ones.
    @Test("rule 3: evaluated defaults", arguments: updates) func evaluatedDefaults(_ update: UpdatePolicy) throws {
        let store = try memoryStore([Note.self, Owner.self, User.self, Seat.self, Setting.self, Choice.self])
        try store.write { tx in
            let owner = try tx.create(Owner.self, value: ["id": 1, "age": 1])
            let user = try tx.create(User.self, value: ["email": "a", "owner": owner] as [String: Any]), id = user.id,
                token = user.token
            user.tags = ["old"]
            for by in [["email"], ["owner", "role"]] {
                let given: [[String: Any]] =
                    by == ["email"]
                    ? [["email": "a"]]
                    : [["owner": owner], ["owner": ["id": 1]], ["owner": ["id": 1], "role": "main"]]
                for (number, value) in given.enumerated() {
                    let n = number + 2
                    #expect(
                        try tx.create(User.self, value: value.merging(["n": n]) { a, _ in a }, update: update, by: by)
                            .isSameObject(as: user))
                    #expect(
                        user.n == n && user.id == id && user.token == token && Array(user.tags) == ["old"],
                        "\(by) \(number)")
                }
            }
            let other = try tx.create(User.self, value: ["email": "b"], update: update, by: ["email"])
            #expect(
                other.id != id && other.token != token && Array(other.tags) == ["new"]
                    && store.objects(User.self).count == 2)
            #expect(
                code {
                    try tx.create(
                        User.self, value: ["id": ObjectId.generate(), "email": "a"] as [String: Any], update: update,
                        by: ["email"])
                } == .keyImmutable)
            // What is not given of the key itself.
            let seat = try tx.create(Seat.self, value: ["number": 3]), seatToken = seat.token
            try tx.create(Seat.self, value: ["number": 3, "n": 5], update: update)
            #expect(seat.n == 5 && seat.token == seatToken && store.objects(Seat.self).count == 1)
            let setting = try tx.create(Setting.self), settingToken = setting.token
            try tx.create(Setting.self, value: ["n": 5], update: update)
            #expect(setting.n == 5 && setting.token == settingToken && store.objects(Setting.self).count == 1)
            let choice = try tx.create(Choice.self), choiceToken = choice.token
            try tx.create(Choice.self, value: ["n": 5], update: update)
            #expect(choice.n == 5 && choice.token == choiceToken && store.objects(Choice.self).count == 1)
        }
    }

    @Test("rule 4: a missing value", arguments: policies) func missingValue(_ update: UpdatePolicy) throws {
        let store = try open()
        try store.write { tx in
            try tx.create(Owner.self, value: ["id": 1, "age": 1])
            let error = ObjStoreError.of {
                try tx.create(Owner.self, value: ["id": 2, "name": "Ann"] as [String: Any], update: update)
            }
            #expect(error?.code == .missingValue && error?.className == "Owner" && error?.propertyName == "age")
            let values: [String: Any] = ["id": 3, "age": 1, "others": [["id": 4, "age": 1], ["id": 5]]]
            let nested = ObjStoreError.of { try tx.create(Owner.self, value: values, update: update) }
            #expect(
                nested?.code == .missingValue && nested?.propertyName == "age"
                    && nested?.message.hasPrefix("$.others[1].age: ") == true, "\(String(describing: nested))")
            #expect(tx.objects(Owner.self).map(\.id) == [1])
        }
    }

    @Test("rule 5: nil for what must not be nil", arguments: updates) func nilForARequiredValue(
        _ update: UpdatePolicy
    ) throws {
        let store = try open()
        try store.write { tx in
            let first = try tx.create(Owner.self, value: ["id": 1, "age": 10, "name": "Ann"] as [String: Any])
            for (name, values) in [("age", ["id": 1, "age": nil]), ("name", ["id": 1, "age": 5, "name": nil])]
                as [(String, [String: Int?])]
            {
                let error = ObjStoreError.of { try tx.create(Owner.self, value: values, update: update) }
                #expect(error?.code == .notNullable && error?.propertyName == name)
            }
            let error = ObjStoreError.of {
                try tx.create(Owner.self, json: #"{"id":1,"name":"Eve","age":null}"#, update: update)
            }
            #expect(error?.code == .notNullable && error?.propertyName == "age")
            #expect(first.age == 10 && first.name == "Ann")
        }
    }

    @Test("rule 7: the later of two with one key wins", arguments: updates) func theLaterWins(
        _ update: UpdatePolicy
    ) throws {
        let store = try open()
        try store.write { tx in
            try tx.create(Owner.self, value: ["id": 7, "age": 1])
            let root = owner(1, 1)
            root.best = owner(7, 2, name: "earlier")
            root.others = [owner(7, 3, name: "later"), owner(8, 8), owner(8, 9)]
            try tx.add(root, update: update)
            #expect(tx.objects(Owner.self).count == 3)
            #expect(root.best == root.others[0] && root.best?.age == 3 && root.best?.name == "later")
            #expect(root.others[1] == root.others[2] && root.others[2].age == 9)
            let refused = owner(10, 1)
            refused.others = [owner(11, 1), owner(11, 2)]
            #expect(ObjStoreError.of { try tx.add(refused) }?.code == .duplicateKey)
            #expect(tx.objects(Owner.self).count == 3)
        }
    }

    @Test("rule 8: from a managed object") func fromAManagedObject() throws {
        let store = try open(), other = try open()
        let (first, best) = try store.write { tx in
            let best = try tx.create(Owner.self, value: ["id": 2, "age": 20])
            let values: [String: Any] = [
                "id": 1, "age": 10, "best": best, "tags": ["a"], "note": ["text": "n"], "notes": [["text": "m"]],
            ]
            let first = try tx.create(Owner.self, value: values)
            #expect(ObjStoreError.of { try tx.create(Owner.self, value: first) }?.code == .duplicateKey)
            for update in Self.updates {
                #expect(try tx.create(Owner.self, value: first, update: update) == first)
            }
            #expect(tx.objects(Note.self).count == 2 && tx.objects(Owner.self).count == 2)
            let old = try #require(first.note)
            let copy = try tx.create(Note.self, value: old)
            #expect(copy != old && copy.text == "n" && tx.objects(Note.self).count == 3)
            return (first, best)
        }
        let deep = try other.write { tx in
            let deep = try tx.create(Owner.self, value: first)
            #expect(
                deep.age == 10 && Array(deep.tags) == ["a"] && deep.best?.age == 20 && deep.note?.text == "n"
                    && deep.notes.map(\.text) == ["m"])
            #expect(tx.objects(Owner.self).count == 2 && tx.objects(Note.self).count == 2)
            return deep
        }
        try store.write { _ in best.age = 21 }
        #expect(deep.best?.age == 20)
    }

    @Test("rule 9: what is managed already", arguments: policies) func whatIsManagedAlready(
        _ update: UpdatePolicy
    ) throws {
        let store = try open(), other = try open()
        let first = try store.write { tx in
            let first = try tx.create(Owner.self, value: ["id": 1, "age": 10, "tags": ["a"]] as [String: Any])
            try tx.add(first, update: update)
            #expect(tx.objects(Owner.self).count == 1 && Array(first.tags) == ["a"])
            return first
        }
        try other.write { tx in
            #expect(ObjStoreError.of { try tx.add(first, update: update) }?.code == .wrongStore)
            let leading = owner(2, 1)
            leading.best = first
            #expect(ObjStoreError.of { try tx.add(leading, update: update) }?.code == .wrongStore)
            #expect(tx.objects(Owner.self).isEmpty && !leading.isManaged)
        }
    }

    @Test("rule 11: what was deleted", arguments: policies) func whatWasDeleted(_ update: UpdatePolicy) throws {
        let store = try open()
        try store.write { tx in
            let first = try tx.create(Owner.self, value: ["id": 1, "age": 10])
            try tx.delete(first)
            let leading = owner(2, 1)
            leading.best = first
            for error in [
                ObjStoreError.of { try tx.add(first, update: update) }, .of { try tx.add(leading, update: update) },
                .of { try tx.create(Owner.self, value: first, update: update) },
                .of {
                    try tx.create(
                        Owner.self, value: ["id": 3, "age": 1, "best": first] as [String: Any], update: update)
                },
            ] {
                #expect(error?.code == .noSuchObject)
            }
            #expect(tx.objects(Owner.self).isEmpty)
        }
    }

    @Test("rule 12: unmanaged objects are not observed") func unmanagedObjectsAreNotObserved() throws {
        let store = try open()
        let unmanaged = owner(1, 1)
        #expect(ObjStoreError.of { try unmanaged.observe { _ in } } != nil)
        try store.write { tx in
            try tx.add(unmanaged)
            #expect(unmanaged.age == 1)
        }
    }
}

import ObjStore
import Testing

final class KeyPathCity: Object {
    @Persisted(primaryKey: true) var name: String
    @Persisted var size = 0
    @Persisted var twin: KeyPathCity?
}
final class KeyPathHome: EmbeddedObject {
    @Persisted var street = ""
    @Persisted var city: KeyPathCity?
}
final class KeyPathOwner: Object {
    @Persisted(primaryKey: true) var name: String
    @Persisted var age = 0
    @Persisted var home: KeyPathHome?
    @Persisted(originProperty: "owner") var pets: LinkingObjects<KeyPathPet>
}
final class KeyPathPet: Object {
    @Persisted(primaryKey: true) var name: String
    @Persisted var age = 0
    @Persisted var owner: KeyPathOwner?
    @Persisted var siblings: List<KeyPathPet>
}

/// Which modifications observers are told of; rests; commits.
@Suite struct KeyPathObservingTests {
    private func kennel() throws -> Store {
        let store = try memoryStore([KeyPathPet.self, KeyPathOwner.self, KeyPathCity.self, KeyPathHome.self])
        try store.write { tx in
            let graz = try tx.create(KeyPathCity.self, value: ["Graz"])
            let bern = try tx.create(KeyPathCity.self, value: ["Bern", 0, graz])
            let ann = try tx.create(KeyPathOwner.self, value: ["Ann"])
            ann.home = try KeyPathHome(value: ["A", bern])
            let rex = try tx.create(KeyPathPet.self, value: ["Rex", 0, ann])
            rex.siblings.append(try tx.create(KeyPathPet.self, value: ["Lita"]))
        }
        return store
    }

    private func find<T: Object>(_ store: Store, _ type: T.Type, _ name: String) throws -> T {
        try #require(try store.object(ofType: type, forPrimaryKey: name))
    }

    /// What observers with these paths are told of a change: names and properties.
    private func told(
        _ store: Store, _ keyPaths: [String]?, _ change: (Transaction) throws -> Void
    ) throws -> [String] {
        let received = Received<String>()
        let token = try store.objects(KeyPathPet.self).observe(keyPaths: keyPaths) { change in
            for (index, pet) in change.modified.enumerated() {
                received.append("\(pet.name) \(try change.changedProperties(at: index).joined(separator: ","))")
            }
        }
        try store.deliver()
        try store.write { tx in try change(tx) }
        try store.deliver()
        token.invalidate()
        return received.take()
    }

    @Test func fourLinksWhereNothingIsSaid() throws {
        let store = try kennel()
        #expect(try told(store, nil) { _ in try find(store, KeyPathCity.self, "Graz").size = 1 } == ["Rex owner"])
        #expect(
            try told(store, nil) { _ in try find(store, KeyPathPet.self, "Lita").age = 1 } == [
                "Rex siblings", "Lita age",
            ])
        #expect(try told(store, ["*"]) { _ in try find(store, KeyPathOwner.self, "Ann").age = 1 } == [])
        try store.write { tx in
            let oslo = try tx.create(KeyPathCity.self, value: ["Oslo"])
            let rome = try tx.create(KeyPathCity.self, value: ["Rome", 0, oslo])
            try find(store, KeyPathCity.self, "Graz").twin = rome
        }
        // owner, home.city, twin, twin: four links; what is embedded is none.
        #expect(try told(store, nil) { _ in try find(store, KeyPathCity.self, "Rome").size = 1 } == ["Rex owner"])
        #expect(try told(store, nil) { _ in try find(store, KeyPathCity.self, "Oslo").size = 1 } == [])
        let far = ["owner.home.city.twin.twin.twin.size"]
        #expect(try told(store, far) { _ in try find(store, KeyPathCity.self, "Oslo").size = 2 } == ["Rex owner"])
    }

    @Test func A59_aDeletionAnInsertionAndAModification() throws {
        let store = try kennel()
        let holder = try find(store, KeyPathPet.self, "Rex")
        let pets = try store.write { tx in
            try tx.delete(try find(store, KeyPathPet.self, "Lita"))
            let pets = try (0..<4).map { try tx.create(KeyPathPet.self, value: ["\($0)", $0]) }
            for pet in pets { holder.siblings.append(pet) }
            return pets
        }
        let received = Received<[[Int]]>()
        let handler: @Sendable (ChangeSet<KeyPathPet>) -> Void = { change in
            received.append(change.isInitial ? [] : [change.deletions, change.insertions, change.modificationsBefore])
        }
        let all = store.objects(KeyPathPet.self).where { $0.name != "Rex" }
        let tokens = [
            try all.observe(keyPaths: [\.age], handler), try all.sorted(by: \.name).observe(keyPaths: [\.age], handler),
            try holder.siblings.observe(keyPaths: ["age"]) { change in
                received.append(
                    change.isInitial ? [] : [change.deletions, change.insertions, change.modificationsBefore])
            },
        ]
        #expect(try store.deliver() == 3 && received.take() == [[], [], []])
        try store.write { tx in
            try tx.delete(pets[1])
            holder.siblings.append(try tx.create(KeyPathPet.self, value: ["9", 9]))
            pets[2].age = 2
        }
        #expect(try store.deliver() == 3 && received.take() == Array(repeating: [[1], [3], [2]], count: 3))
        for token in tokens { token.invalidate() }
    }

    @Test func A90_anObserverOfTwoProperties() throws {
        let store = try kennel(), rex = try find(store, KeyPathPet.self, "Rex")
        let received = Received<[String]>()
        let token = try rex.observe(keyPaths: [\.age, \.siblings]) { change in
            if case .change(_, let properties) = change { received.append(properties.map(\.name)) }
        }
        try store.write { _ in rex.age = 8 }
        try store.deliver()
        try store.write { _ in rex.owner = nil }
        try store.deliver()
        #expect(received.take() == [["age"]])
        token.invalidate()
    }

    @Test func pathsAreExact() throws {
        let store = try kennel()
        let ann = try find(store, KeyPathOwner.self, "Ann")
        #expect(try told(store, ["owner.age"]) { _ in ann.age += 1 } == ["Rex owner"])
        #expect(try told(store, ["owner.home.street"]) { _ in ann.age += 1 } == [])
        #expect(try told(store, ["owner.home.street"]) { _ in ann.home!.street = "B" } == ["Rex owner"])
        #expect(try told(store, ["owner.home.street"]) { _ in ann.home!.city = nil } == [])
        #expect(try told(store, ["siblings"]) { _ in try find(store, KeyPathPet.self, "Lita").age += 1 } == [])
        #expect(
            try told(store, ["siblings.age"]) { _ in try find(store, KeyPathPet.self, "Lita").age += 1 }
                == ["Rex siblings"])

        let received = Received<Int>()
        let token = try store.objects(KeyPathPet.self).observe(keyPaths: [\.owner?.home?.street]) { change in
            received.append(change.modified.count)
        }
        try store.deliver()
        try store.write { _ in ann.home!.street = "C" }
        try store.write { _ in ann.age += 1 }
        try store.deliver()
        #expect(received.take() == [0, 1])
        token.invalidate()

        let owners = Received<Int>()
        let other = try store.objects(KeyPathOwner.self).observe(keyPaths: ["pets.age"]) { change in
            owners.append(change.modified.count)
        }
        try store.deliver()
        try store.write { _ in try find(store, KeyPathPet.self, "Rex").age = 7 }
        try store.deliver()
        try store.write { _ in try find(store, KeyPathPet.self, "Rex").owner = nil }
        try store.deliver()
        #expect(owners.take() == [0, 1, 1], "through an inverse")
        other.invalidate()

        let one = Received<[String]>()
        let object = try ann.observe(keyPaths: ["home.city.size"]) { change in
            if case .change(_, let properties) = change { one.append(properties.map(\.name)) }
        }
        try store.write { _ in
            ann.age = 50
            ann.home!.city = try find(store, KeyPathCity.self, "Bern")
        }
        try store.deliver()
        try store.write { _ in try find(store, KeyPathCity.self, "Bern").size = 50 }
        try store.deliver()
        #expect(one.take() == [["age", "home"], ["home"]])
        object.invalidate()
    }

    @Test func whatIsNoPath() throws {
        let store = try kennel()
        let pets = store.objects(KeyPathPet.self)
        for (path, code, part) in [
            ("wings", .noSuchProperty, "wings"), ("owner.wings", .noSuchProperty, "key path owner.wings"),
            ("age.x", .wrongType, "age"), ("", .noSuchProperty, ""),
        ] as [(String, ObjStoreError.Code, String)] {
            do {
                _ = try pets.observe(keyPaths: [path]) { _ in }
                Issue.record("\(path) is accepted")
            } catch let error as ObjStoreError {
                #expect(error.code == code && error.message.contains(part), "\(path): \(error)")
            }
        }
    }

    @Test func pausesAndIntervals() throws {
        let store = try kennel()
        let rex = try find(store, KeyPathPet.self, "Rex"), received = Received<Int>()
        let token = try store.objects(KeyPathPet.self).observe(keyPaths: [\.age]) { received.append($0.modified.count) }
        try store.deliver()
        token.pause()
        for age in 1...3 {
            try store.write { _ in rex.age = age }
            #expect(try store.deliver() == 0)
        }
        token.resume()
        #expect(try store.deliver() == 1 && received.take() == [0, 1])

        try token.setInterval(.milliseconds(200))
        for age in 4...9 {
            try store.write { _ in rex.age = age }
            try store.deliver()
        }
        #expect(received.take() == [1], "the first one at once")
        #expect(try store.wait(atMost: .seconds(10)) == 1 && received.take() == [1], "the others when the time is over")
        for wrong in [Duration.seconds(-1), .seconds(90_000), .nanoseconds(-1)] {
            #expect(throws: ObjStoreError.self) { try token.setInterval(wrong) }
        }
        token.invalidate()
        token.pause()
        token.resume()
    }

    @Test func commitsAreTold() throws {
        let store = try kennel()
        let received = Received<[Int]>()
        let token = try store.observeCommits { commits in
            let counts = [try commits.before(), try commits.after()].map { $0.objects(KeyPathCity.self).count }
            received.append([Int(commits.toVersion - commits.fromVersion)] + counts)
        }
        #expect(try store.deliver() == 0)
        try store.write { tx in _ = try tx.create(KeyPathCity.self, value: ["Ulm"]) }
        try store.write { tx in _ = try tx.create(KeyPathCity.self, value: ["Rom"]) }
        #expect(try store.deliver() == 1 && received.take() == [[2, 2, 4]])
        try store.write { _ in }
        #expect(try store.deliver() == 0)
        try store.write(withoutNotifying: [token]) { tx in _ = try tx.create(KeyPathCity.self, value: ["Bonn"]) }
        #expect(try store.deliver() == 0)
        token.invalidate()
    }
}

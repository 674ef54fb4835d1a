import ObjStore
import Testing

/// What an observer gets first, and what owners get of what is embedded in them.
@Suite struct EmbeddedObservingTests {
    private func store() throws -> Store {
        let store = try memoryStore(R.models)
        try store.write { tx in
            try tx.create(
                R.Contact.self,
                value: [
                    "id": 1, "name": "Kermit", "address": ["street": "Swamp Lane", "country": ["name": "Florida"]],
                ] as [String: Any])
            try tx.create(R.Contact.self, value: ["id": 2, "name": "Piggy"])
            try tx.create(
                R.Business.self,
                value: [
                    "id": 1, "name": "Pond", "addresses": [["street": "a"], ["street": "b", "tags": ["t"]]],
                    "branches": ["x": ["street": "c"]],
                ] as [String: Any])
        }
        return store
    }

    /// What was committed between observing and the first delivery is in the first change set, and not reported again.
    @Test(arguments: [false, true]) func A164_initialIsTheStateAtItsDelivery(hasCondition: Bool) throws {
        let store = try store()
        let all = store.objects(R.Contact.self), contacts = hasCondition ? all.where { $0.id <= 4 } : all
        let received = Received<ChangeSet<R.Contact>>()
        let token = try contacts.observe { received.append($0) }
        try store.write { tx in
            try tx.create(R.Contact.self, value: ["id": 3, "name": "Gonzo"])
            try tx.delete(try #require(try store.object(ofType: R.Contact.self, forPrimaryKey: 1)))
        }
        try store.write { tx in try tx.create(R.Contact.self, value: ["id": 9, "name": "Rizzo"]) }
        #expect(try store.deliver() == 1)
        let initial = try #require(received.take().first)
        let wanted = hasCondition ? ["Piggy", "Gonzo"] : ["Piggy", "Gonzo", "Rizzo"]
        #expect(initial.isInitial && initial.fromVersion == initial.toVersion)
        #expect(try initial.toVersion == store.version)
        #expect(initial.deletions.isEmpty && initial.insertions.isEmpty && initial.results.map(\.name) == wanted)
        #expect(try store.deliver() == 0, "it is not told again")
        // Positions continue from there.
        try store.write { tx in
            try tx.delete(try #require(try store.object(ofType: R.Contact.self, forPrimaryKey: 2)))
            try tx.create(R.Contact.self, value: ["id": 4, "name": "Animal"])
        }
        #expect(try store.deliver() == 1)
        let change = try #require(received.take().first)
        #expect(
            change.deletions == [0] && change.insertions == [wanted.count - 1]
                && change.fromVersion == initial.toVersion)
        token.invalidate()
    }

    @Test func A164_loops() async throws {
        let store = try store()
        var changes = store.objects(R.Contact.self).changes.makeAsyncIterator()
        try await store.asyncWrite { tx in _ = try tx.create(R.Contact.self, value: ["id": 3, "name": "Gonzo"]) }
        let initial = try #require(await changes.next())
        #expect(initial.isInitial && initial.results.count == 3)
        try await store.asyncWrite { tx in _ = try tx.create(R.Contact.self, value: ["id": 4, "name": "Animal"]) }
        #expect(try #require(await changes.next()).insertions == [3])
    }

    @Test func changesInsideAreTheOwners() throws {
        let store = try store()
        let kermit = try #require(try store.object(ofType: R.Contact.self, forPrimaryKey: 1)),
            pond = store.objects(R.Business.self)[0]
        let contacts = Received<ChangeSet<R.Contact>>(), businesses = Received<ChangeSet<R.Business>>(),
            names = Received<ChangeSet<R.Contact>>()
        let tokens = [
            try store.objects(R.Contact.self).observe { contacts.append($0) },
            try store.objects(R.Business.self).observe { businesses.append($0) },
            try store.objects(R.Contact.self).observe(keyPaths: [\.name]) { names.append($0) },
        ]
        try store.deliver()
        _ = (contacts.take(), businesses.take(), names.take())
        func told(_ body: () throws -> Void) throws -> (contacts: [[String]], businesses: [[String]]) {
            try store.write { _ in try body() }
            try store.deliver()
            return (
                try contacts.take().map { try $0.modifications.indices.contains(0) ? $0.changedProperties(at: 0) : [] },
                try businesses.take().map {
                    try $0.modifications.indices.contains(0) ? $0.changedProperties(at: 0) : []
                }
            )
        }
        #expect(try told { kermit.address?.street = "Muppet Road" } == ([["address"]], []))
        #expect(try told { kermit.address?.country?.name = "Louisiana" } == ([["address"]], []), "also deep inside")
        #expect(try told { pond.addresses[1].tags.append("u") } == ([], [["addresses"]]), "in a list, a list")
        #expect(try told { (pond.branches["x"] ?? nil)?.street = "C" } == ([], [["branches"]]))
        #expect(try told { kermit.address?.country = nil } == ([["address"]], []))
        #expect(names.take().isEmpty, "who wants names only hears nothing of it")
        // A link to an owner that goes is null in the address then: Piggy's business hears of it.
        let piggy = try #require(try store.object(ofType: R.Contact.self, forPrimaryKey: 2))
        #expect(try told { pond.addresses[0].propertyOwner = piggy } == ([], [["addresses"]]))
        try store.write { tx in try tx.delete(piggy) }
        try store.deliver()
        #expect(contacts.take().map(\.deletions) == [[1]])
        #expect(try businesses.take().map { try $0.changedProperties(at: 0) } == [["addresses"]])
        // One that comes and goes with its owner is no modification.
        try store.write { tx in
            try tx.create(R.Contact.self, value: ["id": 5, "address": ["street": "new"]] as [String: Any]).address?
                .street = "newer"
        }
        try store.deliver()
        let change = try #require(contacts.take().first)
        #expect(change.insertions == [1] && change.modifications.isEmpty)
        tokens.forEach { $0.invalidate() }
    }

    @Test func oneOwner() throws {
        let store = try store()
        let kermit = try #require(try store.object(ofType: R.Contact.self, forPrimaryKey: 1)),
            piggy = try #require(try store.object(ofType: R.Contact.self, forPrimaryKey: 2))
        let received = Received<[String]>()
        let token = try kermit.observe { change in
            guard case .change(let contact, let properties) = change else { return }
            received.append(
                properties.map {
                    """
                    \($0.name): \(($0.oldValue as? R.EAddress)?.street ?? "-") \
                    \(($0.newValue as? R.EAddress)?.street ?? "-") \(contact.name)
                    """
                })
        }
        let other = Received<Bool>()
        let named = try kermit.observe(keyPaths: ["name"]) { _ in other.append(true) }
        try store.write { _ in
            piggy.address = R.address("Broadway")
            kermit.address?.street = "Muppet Road"
        }
        try store.write { _ in piggy.address?.street = "Fifth Avenue" }
        try store.deliver()
        #expect(received.take() == [["address: Swamp Lane Muppet Road Kermit"]])
        #expect(other.take().isEmpty)
        token.invalidate()
        named.invalidate()
    }
}

import Dispatch
import ObjStore
import Testing

/// Key paths of the models say which modifications count, wherever handlers are called.
@Suite struct KeyPathPlaceTests {
    final class City: Object {
        @Persisted(primaryKey: true) var name: String
        @Persisted var size = 0
    }
    final class Owner: Object {
        @Persisted(primaryKey: true) var name: String
        @Persisted var age = 0
        @Persisted var city: City?
        @Persisted var pets: List<Pet>
        @Persisted var seen: MutableSet<Pet>
        @Persisted var named: Map<String, Pet?>
        @Persisted var tags: List<String>
    }
    final class Pet: Object {
        @Persisted(primaryKey: true) var id: Int
        @Persisted var name = ""
        @Persisted var age = 0
        @Persisted var owner: Owner?
    }
    final class PetName: Projection<Pet> {
        @Projected(\Pet.name) var title
        @Projected(\Pet.age) var years
    }

    private func kennel() throws -> Store {
        let store = try memoryStore([City.self, Owner.self, Pet.self])
        try store.write { tx in
            let ann = try tx.create(Owner.self, value: ["Ann", 30, try tx.create(City.self, value: ["Bern"])])
            for id in 0..<3 {
                let pet = try tx.create(Pet.self, value: [id, "pet \(id)", id, ann])
                ann.pets.append(pet)
                ann.seen.insert(pet)
                ann.named["\(id)"] = pet
            }
        }
        return store
    }

    /// Tells names of observers, one for each call that is not the first one.
    private final class Board: Sendable {
        let lines = Received<String>()
        let told = DispatchSemaphore(value: 0)
        func tell(_ name: String, _ count: Int) {
            lines.append("\(name) \(count)")
            told.signal()
        }
        func take(_ count: Int) -> [String] {
            for _ in 0..<count { told.wait() }
            return lines.take().sorted()
        }
    }

    @Test func onAQueue() throws {
        let store = try kennel(), pets = store.objects(Pet.self), ann = try #require(store.objects(Owner.self).first)
        let queue = DispatchQueue(label: "pets"), board = Board(), rex = pets[0]
        let names = store.objects(PetName.self)
        var tokens = [
            try pets.observe(keyPaths: [\.age, \.owner?.city?.name], on: queue) {
                board.tell("results", $0.modifications.count)
            },
            try ann.pets.observe(keyPaths: [\.age, \.owner?.city?.name], on: queue) {
                board.tell("list", $0.modifications.count)
            },
            try ann.seen.observe(keyPaths: [\.age], on: queue) { board.tell("set", $0.modifications.count) },
            try ann.named.observe(keyPaths: [\.age], on: queue) { board.tell("map", $0.modifications.count) },
            try names.observe(keyPaths: [\.years], on: queue) { board.tell("projections", $0.modifications.count) },
        ]
        #expect(board.take(5) == ["list 0", "map 0", "projections 0", "results 0", "set 0"])
        tokens += [
            try rex.observe(keyPaths: [\.age], on: queue) { change in
                if case .change(_, let properties) = change, properties.contains(where: { $0.name == "age" }) {
                    board.tell("object", 1)
                }
            },
            try PetName(projecting: rex).observe(keyPaths: [\.years], on: queue) { change in
                if case .change(_, let properties) = change { board.tell("projection", properties.count) }
            },
        ]
        try store.write { _ in rex.name = "nobody looks" }
        try store.write { _ in rex.age = 7 }
        #expect(
            board.take(7) == ["list 1", "map 1", "object 1", "projection 1", "projections 1", "results 1", "set 1"])
        try store.write { _ in ann.age = 3 }
        try store.write { _ in ann.city?.size = 3 }
        try store.write { tx in ann.city = try tx.create(City.self, value: ["Chur"]) }
        #expect(board.take(2) == ["list 3", "results 3"])
        queue.sync {}
        #expect(board.lines.take().isEmpty)
        for token in tokens { token.invalidate() }
        try store.close()
    }

    private actor Screen {
        var lines: [String] = []
        func observe(_ store: Store) throws -> [NotificationToken] {
            let pets = store.objects(Pet.self), ann = try #require(store.objects(Owner.self).first)
            return [
                try pets.observe(keyPaths: [\.owner?.city?.name], on: self) { me, change in
                    me.lines.append("results \(change.modifications.count)")
                },
                try ann.pets.observe(keyPaths: [\.age], on: self) { me, change in
                    me.lines.append("list \(change.modifications.count)")
                },
                try pets[0].observe(keyPaths: [\.age], on: self) { me, change in me.lines.append("object") },
                try PetName(projecting: pets[0]).observe(keyPaths: [\.years], on: self) { me, change in
                    me.lines.append("projection")
                },
            ]
        }
        func take() -> [String] {
            defer { lines = [] }
            return lines.sorted()
        }
    }

    @Test func onAnActor() async throws {
        let store = try kennel(), screen = Screen(), tokens = try await screen.observe(store)
        func take(_ count: Int) async -> [String] {
            while await screen.lines.count < count { await Task.yield() }
            return await screen.take()
        }
        #expect(await take(2) == ["list 0", "results 0"])
        try store.write { _ in store.objects(Pet.self)[0].name = "nobody looks" }
        try store.write { _ in store.objects(Pet.self)[0].age = 9 }
        #expect(await take(3) == ["list 1", "object", "projection"])
        try store.write { _ in store.objects(City.self)[0].size = 9 }
        try store.write { _ in store.objects(Owner.self)[0].city = nil }
        #expect(await take(1) == ["results 3"])
        for token in tokens { token.invalidate() }
        try store.close()
    }

    /// With neither a queue nor an actor: of collections, and from a version on.
    @Test func whereTheProgramDelivers() throws {
        let store = try kennel(), pets = store.objects(Pet.self), ann = try #require(store.objects(Owner.self).first)
        let board = Board(), bookmark = try store.bookmark
        try store.keepVersion("seen", at: bookmark)
        var tokens = [
            try ann.pets.observe(keyPaths: [\.age]) { board.tell("list", $0.modifications.count) },
            try ann.seen.observe(keyPaths: [\.age]) { board.tell("set", $0.modifications.count) },
            try ann.named.observe(keyPaths: [\.age]) { board.tell("map", $0.modifications.count) },
            try pets.observe(keyPaths: []) { board.tell("nothing", $0.modifications.count) },
        ]
        try store.deliver()
        #expect(board.take(4) == ["list 0", "map 0", "nothing 0", "set 0"])
        try store.write { _ in pets[0].name = "nobody looks" }
        #expect(try store.deliver() == 0)
        try store.write { _ in pets[0].age = 8 }
        try store.deliver()
        #expect(board.take(3) == ["list 1", "map 1", "set 1"])
        for token in tokens { token.invalidate() }
        tokens = [
            try pets.observe(keyPaths: [\.age], since: bookmark) { board.tell("ages", $0.modifications.count) },
            try pets.observe(keyPaths: [\.owner], since: bookmark) { board.tell("owners", $0.modifications.count) },
            try ann.pets.observe(keyPaths: [\.age], since: bookmark) { board.tell("list", $0.modifications.count) },
            try pets[0].observe(keyPaths: [\.age], since: bookmark) { _ in board.tell("object", 1) },
            try PetName(projecting: pets[0]).observe(keyPaths: [\.years], since: bookmark) { _ in
                board.tell("projection", 1)
            },
        ]
        try store.deliver()
        #expect(board.take(4) == ["ages 1", "list 1", "object 1", "projection 1"])
        for token in tokens { token.invalidate() }
        try store.close()
    }

    @Test func keyPathsThatAreNone() throws {
        let store = try kennel(), pets = store.objects(Pet.self), ann = try #require(store.objects(Owner.self).first)
        let queue = DispatchQueue(label: "pets")
        #expect(code { _ = try pets.observe(keyPaths: [\.age.nonzeroBitCount], on: queue) { _ in } } == .invalidQuery)
        #expect(code { _ = try pets.observe(keyPaths: [\.age.description]) { _ in } } == .invalidQuery)
        #expect(code { _ = try ann.pets.observe(keyPaths: [\.isFrozen], on: queue) { _ in } } == .invalidQuery)
        #expect(code { _ = try ann.named.observe(keyPaths: [\.isFrozen]) { _ in } } == .invalidQuery)
        #expect(code { _ = try pets[0].observe(keyPaths: [\.isFrozen], on: queue) { _ in } } == .invalidQuery)
        #expect(
            code {
                _ = try pets.sectioned(by: \.age).observe(keyPaths: [\.isFrozen], on: queue) { _ in }
            } == .invalidQuery)
        #expect(
            code {
                _ = try store.objects(PetName.self).observe(keyPaths: [\.isFrozen], on: queue) { _ in }
            } == .invalidQuery)
        #expect(code { _ = try ann.tags.observe(keyPaths: ["age"], on: queue) { _ in } } == .invalidArgument)
        #expect(code { _ = try List<Pet>().observe(keyPaths: [\.age], on: queue) { _ in } } == .wrongView)
        try store.close()
    }
}

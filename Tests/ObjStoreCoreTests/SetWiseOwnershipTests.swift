import Testing

import ObjStoreCore

/// Changes of many objects at once where others go with them: embedded objects, and what cascading links lead to.
@Suite struct SetWiseOwnershipTests {
    private final class Homes {
        let store: Store, tx: View
        let room: UInt32, home: UInt32
        private var ids: [String: UInt32] = [:]

        init(_ folder: TestFolder) throws {
            var configuration = StoreConfiguration()
            configuration.place = .file(folder["db"])
            configuration.schema = try OwnershipTests.draft()
            configuration.durability = StoreOptions.Durability.none
            store = try Store.open(configuration)
            tx = try store.begin()
            room = try tx.findClass("Room")
            home = try tx.findClass("Home")
            for name in ["hall", "rooms", "named", "annex", "sheds"] { ids[name] = try tx.findProperty(home, name) }
            ids["n"] = try tx.findProperty(room, "n")
        }

        subscript(_ name: String) -> UInt32 { ids[name]! }
        var rooms: Int { get throws { try tx.count(room) } }
        var homes: Int { get throws { try tx.count(home) } }

        /// A home with a hall and two rooms.
        func create() throws -> ObjectID {
            let none: [UInt32] = [], values = [Value.null]
            return try none.withUnsafeBufferPointer { none in
                try values.withUnsafeBufferPointer { values in
                    let made = try tx.create(home, none, values.baseAddress!)
                    try [self["n"]].withUnsafeBufferPointer { n in
                        try [Value.int(1)].withUnsafeBufferPointer { one in
                            for (property, count) in [("hall", 1), ("rooms", 2)] {
                                for _ in 0..<count {
                                    _ = try tx.createEmbedded(in: made, self[property], at: .null, n, one.baseAddress!)
                                }
                            }
                        }
                    }
                    return made
                }
            }
        }

        func set(_ results: Results, _ property: String, _ value: Value) throws -> Int {
            try [self[property]].withUnsafeBufferPointer { ids in
                try [value].withUnsafeBufferPointer { try tx.set(results, ids, $0.baseAddress!) }
            }
        }

        func check() throws {
            _ = try tx.commit()
            #expect(try store.openView().verify { _, _ in } == [])
        }
    }

    @Test func embeddedObjectsGoWithTheirPlaces() throws {
        let folder = TestFolder(), fixture = try Homes(folder), tx = fixture.tx
        let homes = try (0..<100).map { _ in try fixture.create() }
        let all = try tx.find(Query(all: fixture.home))
        #expect(try fixture.rooms == 300 && fixture.set(all, "hall", .null) == 100 && fixture.rooms == 200)
        // Another's cannot be given, and nothing has happened.
        let other = try tx.find(Query(all: fixture.room)).object(at: 0)
        #expect(throws: StoreError.self) { _ = try fixture.set(all, "hall", .link(other)) }
        let rooms = CollectionID(owner: homes[0], propertyID: fixture["rooms"])
        #expect(throws: StoreError.self) { try tx.assign(rooms, tx.find(Query(all: fixture.room))) }
        #expect(try fixture.rooms == 200)
        // The objects of a collection are embedded ones.
        let count = try [fixture["n"]].withUnsafeBufferPointer { ids in
            try [Value.int(7)].withUnsafeBufferPointer { try tx.setObjects(of: rooms, ids, $0.baseAddress!) }
        }
        #expect(try count == 2 && tx.count(Query(fixture.room, fixture["n"], .equal, .int(7))) == 2)
        #expect(try tx.deleteObjects(of: rooms) == 2 && fixture.rooms == 198 && tx.elementCount(rooms) == 0)
        try tx.assign(CollectionID(owner: homes[1], propertyID: fixture["rooms"]), nil, nil, 0)
        #expect(try fixture.rooms == 196)
        // Of its own class: they leave their parents.
        #expect(
            try tx.delete(try tx.find(Query(fixture.room, fixture["n"], .equal, .int(1)))) == 196
                && fixture.rooms == 0)
        #expect(try fixture.homes == 100)
        try fixture.check()
    }

    @Test func aListMayHaveWhatGoesWithAnother() throws {
        let folder = TestFolder(), fixture = try Homes(folder), tx = fixture.tx
        let homes = try (0..<40).map { _ in try fixture.create() }
        // Each owns the next, and the last one the first; the even ones own their neighbours twice.
        for index in homes.indices {
            let next = homes[(index + 1) % homes.count]
            try tx.set(homes[index], fixture["annex"], .link(next))
            if index % 2 == 0 {
                try [Value.link(next), .link(next)].withUnsafeBufferPointer {
                    try tx.insert(CollectionID(owner: homes[index], propertyID: fixture["sheds"]), at: nil, $0)
                }
            }
        }
        let alone = try fixture.create()
        let annexed = try tx.find(Query(fixture.home, fixture["annex"], .notEqual, .null))
        #expect(
            try annexed.count == 40 && tx.delete(annexed) == 40 && fixture.homes == 1 && fixture.rooms == 3
                && tx.exists(alone))
        #expect(throws: StoreError.self) { _ = try tx.delete(annexed) }
        // From a list of which one has gone already nothing goes.
        let more = try (0..<3).map { _ in try fixture.create() }, stale = try tx.find(Query(all: fixture.home))
        try tx.delete(more[1])
        #expect(throws: StoreError.self) { _ = try tx.delete(stale) }
        #expect(try fixture.homes == 3 && fixture.rooms == 9)
        #expect(try tx.deleteEverything() == 12 && fixture.homes == 0 && fixture.rooms == 0)
        try fixture.check()
    }
}

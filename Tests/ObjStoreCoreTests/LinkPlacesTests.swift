import Foundation
import Testing

import ObjStoreCore
import WholeModel

/// Deleting one by one what large lists and maps lead to, while they are changed in other ways, too, against a model of
/// arrays: their places are guessed, and no guess may be believed.
@Suite struct LinkPlacesTests {
    private static func draft() throws -> SchemaDraft {
        var draft = SchemaDraft()
        for cls in ["Person", "Dog"] {
            try draft.addClass(cls)
            try draft.addProperty(cls, "n", .int, [])
        }
        try draft.addCollection("Person", "dogs", .list, ElementSchema(kind: .link, keyKind: .null), target: "Dog")
        try draft.addCollection("Person", "named", .map, ElementSchema(kind: .link, keyKind: .string), target: "Dog")
        return draft
    }

    private struct Model: Equatable {
        var dogs: Set<Int64> = []
        var lists: [[Int64]] = []
        /// The names are "00000", "00001", …
        var map: [Int64?] = []
    }

    private final class Fixture: StoreHistory<Model> {
        private var classes: [UInt32] = [], ids: [UInt32] = [], n: [UInt32] = []
        private var persons: [ObjectID] = []

        /// - Parameter spread: 1: dogs have keys that follow on each other.
        init(seed: UInt64, dogs count: Int = 3000, lists: Int, spread: Int) throws {
            try super.init(seed, try LinkPlacesTests.draft(), Model())
            classes = try ["Person", "Dog"].map { try tx.findClass($0) }
            ids = try ["dogs", "named"].map { try tx.findProperty(classes[0], $0) }
            n = try classes.map { try tx.findProperty($0, "n") }
            var dogs: [Int64] = []
            for number in 0..<count * spread {
                let key = try create(1).key
                if number % spread == 0 { dogs.append(key) }
            }
            model.dogs = Set(dogs)
            for _ in 0..<lists {
                persons.append(try create(0))
                model.lists.append([])
                // All of them, and some again, one of them often.
                for keys in [
                    dogs.shuffled(using: &random), (0..<500).map { _ in dogs[below(dogs.count)] },
                    Array(repeating: dogs[7], count: 40),
                ] {
                    try insert(
                        keys, at: below(model.lists[model.lists.count - 1].count + 1), list: model.lists.count - 1)
                }
            }
            let named = CollectionID(owner: persons[0], propertyID: ids[1])
            for (number, key) in (dogs + dogs.prefix(300)).shuffled(using: &random).enumerated() {
                var name = String(format: "%05d", number)
                try name.withUTF8 {
                    _ = try tx.set(named, key: .string(UnsafeRawPointer($0.baseAddress), $0.count), link(key))
                }
                model.map.append(key)
            }
            try end(mayCancel: false)
        }

        private func create(_ cls: Int) throws -> ObjectID {
            try [n[cls]].withUnsafeBufferPointer { properties in
                try withUnsafePointer(to: Value.int(0)) { try tx.create(classes[cls], properties, $0) }
            }
        }

        private func link(_ key: Int64) -> Value {
            .link(ObjectID(classID: classes[1], storeTag: tx.shared.tag, key: key))
        }
        private func list(_ number: Int) -> CollectionID { CollectionID(owner: persons[number], propertyID: ids[0]) }

        func insert(_ keys: [Int64], at index: Int, list number: Int) throws {
            try keys.map { link($0) }.withUnsafeBufferPointer { try tx.insert(list(number), at: index, $0) }
            model.lists[number].insert(contentsOf: keys, at: index)
        }

        private func forget(_ keys: Set<Int64>) {
            model.dogs.subtract(keys)
            for number in model.lists.indices { model.lists[number].removeAll(in: keys) }
            model.map = model.map.map { $0.map { keys.contains($0) } == true ? nil : $0 }
        }

        func delete() throws {
            guard let key = model.dogs.randomElement(using: &random) else { return }
            try tx.delete(ObjectID(classID: classes[1], storeTag: tx.shared.tag, key: key))
            forget([key])
        }

        func step() throws {
            let number = below(model.lists.count), count = model.lists[number].count
            switch below(60) {
            case 0...44: try delete()
            case 45 where count > 0:
                let keys = (0..<below(4) + 1).map { _ in model.lists[number][below(count)] }
                try insert(keys, at: below(2) == 0 ? count : below(count + 1), list: number)
            case 46 where count > 0:
                let at = below(count), length = min(count - at, below(5) + 1)
                try tx.remove(list(number), at: at, count: length)
                model.lists[number].removeSubrange(at..<at + length)
            case 47 where count > 0:
                let from = below(count), to = below(count)
                try tx.move(list(number), from: from, to: to)
                model.lists[number].insert(model.lists[number].remove(at: from), at: to)
            case 48 where count > 0:
                let at = below(count), key = model.lists[number][below(count)]
                try tx.set(list(number), at: at, link(key))
                model.lists[number][at] = key
            case 49:
                let keys = Set((0..<below(30) + 1).compactMap { _ in model.dogs.randomElement(using: &random) })
                try tx.delete(keys.map { ObjectID(classID: classes[1], storeTag: tx.shared.tag, key: $0) })
                forget(keys)
            case 50...52: try beginScope()
            case 53: try releaseScope()
            case 54...55: try rollBackScope()
            case 56 where below(5) == 0: try end()
            default: try delete()
            }
        }

        override func check() throws {
            var buffer = OutputBuffer()
            defer { OutputBuffer.free(&buffer) }
            func read(_ id: CollectionID) throws -> [Int64?] {
                var found: [Int64?] = []
                _ = try tx.elements(id, from: 0, limit: .max, wantsKeys: false, &buffer) { _, _, value in
                    found.append(value.isNull ? nil : value.low)
                }
                return found
            }
            for (number, wanted) in model.lists.enumerated() where try read(list(number)) != wanted {
                Issue.record("list \(number) is not the model's")
            }
            if try read(CollectionID(owner: persons[0], propertyID: ids[1])) != model.map {
                Issue.record("the map is not the model's")
            }
        }
    }

    /// One list, as many as are remembered, and more; dogs that lie so far from each other that a list is not worth
    /// remembering.
    @Test(arguments: [(1, 1, 1), (2, 2, 1), (3, 6, 1), (4, 1, 90)] as [(UInt64, Int, Int)]) func historiesAgainstAModel(
        seed: UInt64, lists: Int, spread: Int
    ) throws {
        let fixture = try Fixture(seed: seed, lists: lists, spread: spread)
        for number in 0..<1200 {
            try fixture.step()
            if number % 100 == 0 { try fixture.check() }
        }
        try fixture.check()
        #expect(
            fixture.undone > 5 && fixture.model.dogs.count < 2900,
            "seed \(seed): \(fixture.undone) undone, \(fixture.model.dogs.count) left")
        try fixture.end()
        try fixture.close()
    }

    /// More elements than there are numbers of blocks: several share one.
    @Test func elementsThatShareABlock() throws {
        let fixture = try Fixture(seed: 5, dogs: 70_000, lists: 1, spread: 1)
        for _ in 0..<300 { try fixture.step() }
        try fixture.check()
        #expect(fixture.model.dogs.count < 69_800)
        try fixture.end()
        try fixture.close()
    }
}

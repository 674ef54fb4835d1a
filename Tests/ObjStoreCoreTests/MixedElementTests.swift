import Foundation
import Testing

import ObjStoreCore
import WholeModel

/// Lists, sets and maps of mixed elements, with links of any depth in them, against a model that knows nothing of
/// inverses: whole content, all counts of which objects link to which and `verify`.
@Suite struct MixedElementTests {
    typealias Target = MixedTree.Target

    /// What an object has in its collections.
    struct Content: Equatable {
        var list: [MixedTree] = []
        /// No lists or maps.
        var set: Set<MixedTree> = []
        var map: [String: MixedTree] = [:]

        func without(_ gone: Set<Target>) -> Content {
            func isGone(_ tree: MixedTree) -> Bool {
                if case .link(let target) = tree { gone.contains(target) } else { false }
            }
            return Content(
                list: list.map { $0.without { gone.contains($0) } }, set: set.filter { !isGone($0) },
                map: map.mapValues { $0.without { gone.contains($0) } })
        }

        func trees(_ property: Int) -> [MixedTree] {
            property == 0 ? list : property == 1 ? Array(set) : Array(map.values)
        }
    }

    static func draft() throws -> SchemaDraft {
        var draft = SchemaDraft()
        for cls in ["A", "B"] { try draft.addClass(cls) }
        try draft.addProperty("A", "n", .int, [])
        try draft.addCollection("A", "list", .list, ElementSchema(kind: .mixed))
        try draft.addCollection("A", "set", .set, ElementSchema(kind: .mixed))
        try draft.addCollection("A", "map", .map, ElementSchema(kind: .mixed, keyKind: .string))
        try draft.addProperty("B", "n", .int, [])
        return draft
    }

    /// A's objects by key, and B's keys.
    private struct Model {
        var owners: [Int64: Content] = [:], others: Set<Int64> = []
    }

    private final class Fixture: StoreHistory<Model> {
        private(set) var classes: [UInt32] = [], properties: [UInt32] = [], numbers: [UInt32] = []
        private(set) var nulled = 0, edits = 0, moved = 0, longest = 0

        init(seed: UInt64) throws {
            try super.init(seed, try MixedElementTests.draft(), Model())
            classes = try ["A", "B"].map { try tx.findClass($0) }
            properties = try ["list", "set", "map"].map { try tx.findProperty(classes[0], $0) }
            numbers = try classes.map { try tx.findProperty($0, "n") }
        }

        var trees: MixedTrees { MixedTrees(classes: classes, storeTag: tx.shared.tag) }
        func object(_ target: Target) -> ObjectID { trees.object(target, storeTag: tx.shared.tag) }
        func id(_ owner: Int64, _ property: Int) -> CollectionID {
            CollectionID(owner: object(Target(cls: 0, key: owner)), propertyID: properties[property])
        }

        /// Often one of few, so that some have many.
        func any(_ cls: Int) -> Int64? {
            let keys = (cls == 0 ? Array(model.owners.keys) : Array(model.others)).ascending()
            return keys.isEmpty ? nil : keys[below(below(2) == 0 ? min(3, keys.count) : keys.count)]
        }

        func tree(_ depth: Int = 2) -> MixedTree {
            // Too long for a leaf.
            if depth == 2, below(30) == 0 { return .list((0..<300).map { .int(Int64($0)) } + [tree(0)]) }
            switch below(depth > 0 ? 9 : 5) {
            case 0: return .null
            // Some have the byte that is the kind of a link.
            case 1: return .int(Int64(below(14)))
            case 2...4:
                let cls = below(2)
                return any(cls).map { .link(Target(cls: cls, key: $0)) } ?? .int(5)
            case 5...7: return .list((0..<below(4)).map { _ in tree(depth - 1) })
            default: return .map((0..<below(3)).map { _ in tree(depth - 1) })
            }
        }

        func withValue<T>(_ tree: MixedTree, _ body: (Value) throws -> T) throws -> T {
            try trees.withValue(tree, saysStore: below(2) == 0, body)
        }

        func withValues<T>(_ all: [MixedTree], _ body: (UnsafeBufferPointer<Value>) throws -> T) throws -> T {
            func next(_ left: ArraySlice<MixedTree>, _ values: [Value]) throws -> T {
                guard let first = left.first else { return try values.withUnsafeBufferPointer(body) }
                return try withValue(first) { try next(left.dropFirst(), values + [$0]) }
            }
            return try next(all[...], [])
        }

        func withText<T>(_ text: String, _ body: (Value) throws -> T) rethrows -> T {
            try Array(text.utf8).withUnsafeBytes { try body(.string($0.baseAddress, $0.count)) }
        }

        func create() throws {
            let cls = below(2)
            let made = try [numbers[cls]].withUnsafeBufferPointer { given in
                try [Value.int(1)].withUnsafeBufferPointer { try tx.create(classes[cls], given, $0.baseAddress!) }
            }
            if cls == 0 { model.owners[made.key] = Content() } else { model.others.insert(made.key) }
        }

        // MARK: Changes

        func changeList(_ owner: Int64) throws {
            var list = model.owners[owner]!.list
            let id = id(owner, 0), at = list.isEmpty ? 0 : below(list.count)
            switch below(list.count > 60 ? 6 : 9) {
            case 0:
                guard !list.isEmpty else { return }
                let count = 1 + below(list.count - at)
                try tx.remove(id, at: at, count: count)
                list.removeSubrange(at..<at + count)
            case 1:
                guard !list.isEmpty else { return }
                let new = tree()
                try withValue(new) { try tx.set(id, at: at, $0) }
                list[at] = new
            case 2:
                guard !list.isEmpty else { return }
                let target = below(list.count)
                try tx.move(id, from: at, to: target)
                list.insert(list.remove(at: at), at: target)
                moved += 1
            case 3:
                let new = (0..<below(20)).map { _ in tree() }
                try withValues(new) { try tx.assign(id, nil, $0.baseAddress, $0.count) }
                list = new
            case 4: try editList(owner, &list)
            case 5:
                guard below(4) == 0 else { return }
                try tx.removeAllElements(id)
                list = []
            default:
                let new = (0..<1 + below(6)).map { _ in tree() }
                try withValues(new) { try tx.insert(id, at: at, $0) }
                list.insert(contentsOf: new, at: at)
            }
            longest = max(longest, list.count)
            model.owners[owner]!.list = list
        }

        /// By a path.
        private func editList(_ owner: Int64, _ list: inout [MixedTree]) throws {
            guard let at = list.indices.filter({ list[$0].isContainer || below(3) == 0 }).first else { return }
            let owner = object(Target(cls: 0, key: owner)), new = tree(1),
                step = MixedStep.index(below(2) == 0 ? at : at - list.count)
            edits += 1
            guard case .list(var items) = list[at], !items.isEmpty else {
                // The element itself.
                if below(2) == 0 {
                    try withValue(new) { try tx.edit(owner, properties[0], [step], .set, $0) }
                    list[at] = new
                } else {
                    try withValue(new) { try tx.edit(owner, properties[0], [.index(at)], .insert, $0) }
                    list.insert(new, at: at)
                }
                return
            }
            let index = below(items.count)
            switch below(3) {
            case 0:
                try withValue(new) { try tx.edit(owner, properties[0], [step, .index(index)], .set, $0) }
                items[index] = new
            case 1:
                try withValue(new) { try tx.edit(owner, properties[0], [step, .index(index)], .insert, $0) }
                items.insert(new, at: index)
            default:
                try tx.edit(owner, properties[0], [step, .index(index)], .remove, .null)
                items.remove(at: index)
            }
            list[at] = .list(items)
        }

        func changeSet(_ owner: Int64) throws {
            let id = id(owner, 1), new = tree(0)
            switch below(4) {
            case 0...1:
                #expect(
                    try withValue(new) { try tx.insert(id, member: $0) }
                        == model.owners[owner]!.set.insert(new).inserted)
            case 2:
                #expect(
                    try withValue(new) { try tx.remove(id, member: $0) }
                        == (model.owners[owner]!.set.remove(new) != nil))
            default:
                let all = (0..<below(12)).map { _ in tree(0) }
                try withValues(all) { try tx.assign(id, nil, $0.baseAddress, $0.count) }
                model.owners[owner]!.set = Set(all)
            }
        }

        func changeMap(_ owner: Int64) throws {
            let id = id(owner, 2), key = "key \(below(12))", new = tree()
            switch below(5) {
            case 0...1:
                let isNew = try withText(key) { key in try withValue(new) { try tx.set(id, key: key, $0) } }
                #expect(isNew == (model.owners[owner]!.map[key] == nil))
                model.owners[owner]!.map[key] = new
            case 2:
                #expect(
                    try withText(key) { try tx.remove(id, key: $0) }
                        == (model.owners[owner]!.map.removeValue(forKey: key) != nil))
            case 3:
                try Array(key.utf8).withUnsafeBytes { key in
                    try withValue(new) { try tx.edit(id.owner, properties[2], [.key(key)], .set, $0) }
                }
                model.owners[owner]!.map[key] = new
            default:
                guard case .map(var items)? = model.owners[owner]!.map[key], !items.isEmpty else { return }
                edits += 1
                let at = below(items.count), step = Array("k\(at)".utf8)
                try Array(key.utf8).withUnsafeBytes { key in
                    try step.withUnsafeBytes { step in
                        try withValue(new) { try tx.edit(id.owner, properties[2], [.key(key), .key(step)], .set, $0) }
                    }
                }
                items[at] = new
                model.owners[owner]!.map[key] = .map(items)
            }
        }

        func forget(_ gone: Set<Target>) {
            for target in gone {
                if target.cls == 0 { model.owners[target.key] = nil } else { model.others.remove(target.key) }
            }
            for (key, content) in model.owners {
                let left = content.without(gone)
                if left != content { nulled += 1 }
                model.owners[key] = left
            }
        }

        /// What must be refused, and change nothing.
        func refuse() throws {
            guard let owner = any(0) else { return }
            func expect(_ code: StatusCode, _ property: String, _ body: () throws -> Void) {
                var refusal: StoreError?
                do { try body() } catch { refusal = error as? StoreError }
                #expect(
                    refusal?.code == code && refusal?.className == "A" && refusal?.propertyName == property,
                    "\(String(describing: refusal))")
            }
            let missing = Value.link(object(Target(cls: 1, key: 1 << 40)))
            expect(.noSuchObject, "list") {
                try [.int(1), missing].withUnsafeBufferPointer { try tx.insert(id(owner, 0), at: 0, $0) }
            }
            expect(.noSuchObject, "set") { _ = try tx.insert(id(owner, 1), member: missing) }
            expect(.noSuchObject, "map") { _ = try withText("k") { try tx.set(id(owner, 2), key: $0, missing) } }
            expect(.wrongStore, "set") {
                _ = try tx.insert(
                    id(owner, 1), member: .link(ObjectID(classID: classes[1], storeTag: tx.shared.tag ^ 1, key: 0)))
            }
            expect(.wrongStore, "list") {
                _ = try tx.firstIndex(
                    id(owner, 0), of: .link(ObjectID(classID: classes[1], storeTag: tx.shared.tag ^ 1, key: 0)))
            }
            expect(.wrongType, "set") {
                _ = try withValue(.list([.int(1)])) { try tx.insert(id(owner, 1), member: $0) }
            }
            expect(.wrongType, "set") {
                _ = try withValues([.int(1), .map([])]) { try tx.assign(id(owner, 1), nil, $0.baseAddress, $0.count) }
            }
            expect(.wrongType, "list") {
                try tx.edit(object(Target(cls: 0, key: owner)), properties[0], [], .remove, .null)
            }
            expect(.notFound, "list") {
                try tx.edit(object(Target(cls: 0, key: owner)), properties[0], [.index(1 << 40)], .set, .int(1))
            }
            expect(.wrongType, "set") {
                try tx.edit(object(Target(cls: 0, key: owner)), properties[1], [.index(0)], .set, .int(1))
            }
            expect(.wrongType, "map") {
                try tx.edit(object(Target(cls: 0, key: owner)), properties[2], [.index(0)], .set, .int(1))
            }
            expect(.wrongType, "n") {
                try tx.edit(object(Target(cls: 0, key: owner)), numbers[0], [.index(0)], .set, .int(1))
            }
            let gone = object(Target(cls: 0, key: 1 << 40))
            for property in properties {
                #expect { _ = try tx.mixed(gone, property, [], whole: true, nil) } throws: {
                    ($0 as? StoreError)?.code == .noSuchObject
                }
                #expect { try tx.edit(gone, property, [.index(0)], .set, .int(1)) } throws: {
                    ($0 as? StoreError)?.code == .noSuchObject
                }
            }
        }

        func step() throws {
            switch below(34) {
            case 0...3: try create()
            case 4...10: if let owner = any(0) { try changeList(owner) }
            case 11...14: if let owner = any(0) { try changeSet(owner) }
            case 15...18: if let owner = any(0) { try changeMap(owner) }
            case 19...21:
                let cls = below(2)
                guard let key = any(cls) else { return }
                try tx.delete(object(Target(cls: cls, key: key)))
                forget([Target(cls: cls, key: key)])
            case 22:
                guard below(4) == 0 else { return }
                let cls = below(2), keys = cls == 0 ? Set(model.owners.keys) : model.others
                #expect(try tx.deleteAll(classes[cls]) == keys.count)
                forget(Set(keys.map { Target(cls: cls, key: $0) }))
            case 23: try refuse()
            case 24: try check()
            case 25...26: try beginScope()
            case 27...28: try rollBackScope()
            default: if below(3) == 0 { try end(copying: true) }
            }
        }

        // MARK: Checks

        private func read(_ id: CollectionID, keys wantsKeys: Bool) throws -> [(key: String, value: MixedTree)] {
            let buffer = UnsafeMutablePointer<OutputBuffer>.allocate(capacity: 1)
            buffer.initialize(to: OutputBuffer())
            defer {
                OutputBuffer.free(buffer)
                buffer.deallocate()
            }
            var all: [(key: String, value: MixedTree)] = [], failure: (any Error)?
            _ = try tx.elements(id, from: 0, limit: .max, wantsKeys: wantsKeys, buffer) { _, key, value in
                do { all.append((wantsKeys ? FlatValues.name(key) : "", try trees.tree(value))) } catch {
                    failure = error
                }
            }
            if let failure { throw failure }
            return all
        }

        /// Every object with its elements, and which objects link to which.
        override func check() throws {
            var found: [Int64: Content] = [:]
            var row = try RowCursor(tx, classes[0])
            while try row.next() {
                let key = try row.object().key, members = try read(id(key, 1), keys: false).map(\.value)
                #expect(Set(members).count == members.count)
                for (index, member) in members.enumerated() {
                    #expect(try withValue(member) { try tx.firstIndex(id(key, 1), of: $0) } == index)
                }
                found[key] = Content(
                    list: try read(id(key, 0), keys: false).map(\.value), set: Set(members),
                    map: Dictionary(uniqueKeysWithValues: try read(id(key, 2), keys: true).map { ($0.key, $0.value) }))
            }
            if found != model.owners {
                Issue.record("the objects are not those of the model: \(found.count) of \(model.owners.count)")
            }
            for property in 0..<3 {
                var linking: [Target: Int] = [:]
                for content in model.owners.values {
                    var targets = Set<Target>()
                    for tree in content.trees(property) { tree.forEach { targets.insert($0) } }
                    for target in targets { linking[target, default: 0] += 1 }
                }
                for target in model.owners.keys.map({ Target(cls: 0, key: $0) })
                    + model.others.map({ Target(cls: 1, key: $0) })
                {
                    #expect(try tx.incomingCount(object(target), properties[property]) == linking[target] ?? 0)
                }
            }
        }
    }

    @Test(arguments: [1, 2, 3, 4] as [UInt64]) func historiesAgainstAModel(seed: UInt64) throws {
        let fixture = try Fixture(seed: seed)
        for _ in 0..<2000 { try fixture.step() }
        try fixture.check()
        #expect(
            fixture.nulled > 20 && fixture.undone > 5 && fixture.reopened > 3 && fixture.replayed > 3
                && fixture.edits > 5 && fixture.longest > 20,
            """
            seed \(seed): \(fixture.nulled) nulled, \(fixture.undone) undone, \(fixture.reopened) reopened, \
            \(fixture.replayed) replayed, \(fixture.edits) edits, \(fixture.moved) moved, \(fixture.longest) elements
            """)
        try fixture.close()
    }
}

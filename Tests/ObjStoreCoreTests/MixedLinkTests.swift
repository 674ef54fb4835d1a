import Testing

import ObjStoreCore
import WholeModel

/// Links in mixed values, against a model that knows nothing of inverses: whole content, all counts of which objects
/// link to which and `verify` after each step that ends something.
@Suite struct MixedLinkTests {
    typealias Target = MixedTree.Target
    typealias Tree = MixedTree

    /// The mixed properties, as (class, property): A.x is indexed, C has none and no typed link leads to it.
    private static let properties: [(cls: Int, name: String)] = [(0, "x"), (0, "y"), (1, "z")]

    static func draft() throws -> SchemaDraft {
        var draft = SchemaDraft()
        for cls in ["A", "B", "C"] { try draft.addClass(cls) }
        try draft.addProperty("A", "id", .int, [.primaryKey])
        try draft.addProperty("A", "x", .mixed, [.indexed])
        try draft.addProperty("A", "y", .mixed, [])
        try draft.addProperty("B", "z", .mixed, [])
        try draft.addLink("B", "typed", to: "A", [.nullable])
        try draft.addProperty("C", "n", .int, [])
        return draft
    }

    /// By class.
    private final class Fixture: StoreHistory<[[Int64: [Tree]]]> {
        private(set) var classes: [UInt32] = [], ids: [UInt32] = []
        private var number: UInt32 = 0, count: UInt32 = 0
        private var counter: Int64 = 0
        private(set) var nulled = 0, edits = 0

        init(seed: UInt64) throws {
            try super.init(seed, try MixedLinkTests.draft(), [[:], [:], [:]])
            classes = try ["A", "B", "C"].map { try tx.findClass($0) }
            ids = try MixedLinkTests.properties.map { try tx.findProperty(classes[$0.cls], $0.name) }
            number = try tx.findProperty(classes[0], "id")
            count = try tx.findProperty(classes[2], "n")
        }

        func object(_ target: Target) -> ObjectID {
            ObjectID(classID: classes[target.cls], storeTag: tx.shared.tag, key: target.key)
        }
        func places(_ cls: Int) -> [Int] {
            MixedLinkTests.properties.indices.filter { MixedLinkTests.properties[$0].cls == cls }
        }

        /// Often one of few, so that some have many.
        func any(_ cls: Int) -> Target? {
            let keys = model[cls].keys.ascending()
            if keys.isEmpty { return nil }
            return Target(cls: cls, key: keys[below(below(2) == 0 ? min(3, keys.count) : keys.count)])
        }

        func tree(_ depth: Int = 2) -> Tree {
            switch below(depth > 0 ? 9 : 5) {
            case 0: return .null
            // Some have the byte that is the kind of a link.
            case 1: return .int(Int64(below(14)))
            case 2...4: return any(below(3)).map { .link($0) } ?? .int(5)
            case 5...7: return .list((0..<below(4)).map { _ in tree(depth - 1) })
            default: return .map((0..<below(3)).map { _ in tree(depth - 1) })
            }
        }

        var trees: MixedTrees { MixedTrees(classes: classes, storeTag: tx.shared.tag) }
        func withValue<T>(_ tree: Tree, _ body: (Value) throws -> T) throws -> T {
            try trees.withValue(tree, saysStore: below(2) == 0, body)
        }

        func create() throws {
            let cls = below(3)
            if cls == 2 {
                let made = try [count].withUnsafeBufferPointer { given in
                    try [Value.int(1)].withUnsafeBufferPointer { try tx.create(classes[2], given, $0.baseAddress!) }
                }
                model[2][made.key] = []
                return
            }
            let trees = places(cls).map { _ in tree() }
            counter += 1
            func make(_ left: ArraySlice<Tree>, _ values: [Value]) throws -> ObjectID {
                if let first = left.first { return try withValue(first) { try make(left.dropFirst(), values + [$0]) } }
                let given = places(cls).map { ids[$0] } + (cls == 0 ? [number] : []),
                    all = values + (cls == 0 ? [.int(counter)] : [])
                return try given.withUnsafeBufferPointer { given in
                    try all.withUnsafeBufferPointer {
                        cls == 0 && below(2) == 0
                            ? try tx.upsert(classes[0], .modified, given, $0.baseAddress!).0
                            : try tx.create(classes[cls], given, $0.baseAddress!)
                    }
                }
            }
            model[cls][try make(trees[...], []).key] = trees
        }

        func change() throws {
            let cls = below(2)
            guard let target = any(cls) else { return }
            let at = below(places(cls).count), new = tree(), property = ids[places(cls)[at]]
            if case .list(var items) = model[cls][target.key]![at], !items.isEmpty, below(2) == 0 {
                // Inside the value.
                edits += 1
                let index = below(items.count), inner = tree(1)
                switch below(3) {
                case 0:
                    try withValue(inner) { try tx.edit(object(target), property, [.index(index)], .set, $0) }
                    items[index] = inner
                case 1:
                    try withValue(inner) { try tx.edit(object(target), property, [.index(index)], .insert, $0) }
                    items.insert(inner, at: index)
                default:
                    try tx.edit(object(target), property, [.index(index)], .remove, .null)
                    items.remove(at: index)
                }
                model[cls][target.key]![at] = .list(items)
                return
            }
            if cls == 0, below(3) == 0 {
                // Both at once.
                let other = tree()
                try withValue(new) { new in
                    try withValue(other) { other in
                        try [ids[0], ids[1]].withUnsafeBufferPointer { given in
                            try [new, other].withUnsafeBufferPointer {
                                try tx.set(object(target), given, $0.baseAddress!)
                            }
                        }
                    }
                }
                model[0][target.key] = [new, other]
                return
            }
            try withValue(new) { try tx.set(object(target), property, $0) }
            model[cls][target.key]![at] = new
        }

        func forget(_ gone: Set<Target>) {
            for target in gone { model[target.cls][target.key] = nil }
            for cls in model.indices {
                for (key, trees) in model[cls] {
                    let left = trees.map { $0.without { gone.contains($0) } }
                    if left != trees { nulled += 1 }
                    model[cls][key] = left
                }
            }
        }

        /// What must be refused, and change nothing.
        func refuse() throws {
            guard let target = any(1) else { return }
            func expect(_ code: StatusCode, _ value: Value) {
                var refusal: StoreError?
                do { try tx.set(object(target), ids[2], value) } catch { refusal = error as? StoreError }
                #expect(
                    refusal?.code == code && refusal?.className == "B" && refusal?.propertyName == "z",
                    "\(value): \(String(describing: refusal))")
            }
            expect(.noSuchObject, .link(object(Target(cls: 2, key: 1 << 40))))
            expect(.noSuchObject, .link(object(Target(cls: 2, key: -5))))
            expect(.noSuchClass, .link(ObjectID(classID: 77, storeTag: tx.shared.tag, key: 0)))
            expect(.wrongStore, .link(ObjectID(classID: classes[1], storeTag: tx.shared.tag ^ 1, key: target.key)))
            for (code, object) in [
                (StatusCode.wrongStore, ObjectID(classID: classes[1], storeTag: tx.shared.tag ^ 1, key: target.key)),
                (.noSuchObject, ObjectID(classID: classes[1], storeTag: 0, key: 1 << 41)),
            ] {
                let builder = DocumentBuilder()
                try builder.begin(.list)
                try builder.append(.link(object))
                try builder.end()
                withExtendedLifetime(builder) {
                    expect(code, Value(kind: .document, pointer: builder.node.baseAddress, count: builder.node.count))
                }
            }
        }

        func step() throws {
            switch below(30) {
            case 0...6: try create()
            case 7...14: try change()
            case 15...17:
                guard let target = any(below(3)) else { return }
                try tx.delete(object(target))
                forget([target])
            case 18:
                guard below(3) == 0 else { return }
                let cls = below(3)
                #expect(try tx.deleteAll(classes[cls]) == model[cls].count)
                forget(Set(model[cls].keys.map { Target(cls: cls, key: $0) }))
            case 19: try refuse()
            case 20: try check()
            case 21...22: try beginScope()
            case 23...24: try rollBackScope()
            default: if below(3) == 0 { try end(copying: true) }
            }
        }

        /// Every object with its values, which objects link to which, and what an index and a comparison find.
        override func check() throws {
            for cls in 0..<3 {
                var found: [Int64: [Tree]] = [:]
                var row = try RowCursor(tx, classes[cls])
                while try row.next() {
                    let object = try row.object(), buffer = UnsafeMutablePointer<OutputBuffer>.allocate(capacity: 1)
                    buffer.initialize(to: OutputBuffer())
                    defer {
                        OutputBuffer.free(buffer)
                        buffer.deallocate()
                    }
                    found[object.key] = try places(cls).map { place in
                        try trees.tree(try tx.value(object, ids[place], buffer))
                    }
                }
                if found != model[cls] {
                    Issue.record(
                        "class \(cls): the objects are not those of the model: \(found.count) of \(model[cls].count)")
                }
            }
            for (place, spec) in MixedLinkTests.properties.enumerated() {
                let at = places(spec.cls).firstIndex(of: place)!
                var owners: [Target: Set<Int64>] = [:], alone: [Target: Int] = [:]
                for (key, trees) in model[spec.cls] {
                    trees[at].forEach { owners[$0, default: []].insert(key) }
                    if case .link(let target) = trees[at] { alone[target, default: 0] += 1 }
                }
                for cls in 0..<3 {
                    for key in model[cls].keys {
                        let target = Target(cls: cls, key: key)
                        let
                            inside = try Query(
                                classes[spec.cls], ids[place], .equal, .link(object(target)), isInside: true),
                            wanted = (owners[target] ?? []).ascending()
                        #expect(
                            try tx.incomingCount(object(target), ids[place]) == wanted.count
                                && tx.count(inside) == wanted.count)
                        #expect(try tx.first(inside)?.key == wanted.first)
                        let found = try tx.find(inside).list()
                        #expect((0..<found.count).map { found.keys[$0] } == wanted)
                        #expect(
                            try tx.count(Query(classes[spec.cls], ids[place], .equal, .link(object(target))))
                                == alone[target] ?? 0)
                    }
                }
            }
        }
    }

    @Test(arguments: [1, 2, 3] as [UInt64]) func historiesAgainstAModel(seed: UInt64) throws {
        let fixture = try Fixture(seed: seed)
        for _ in 0..<1200 { try fixture.step() }
        try fixture.check()
        #expect(
            fixture.nulled > 20 && fixture.undone > 5 && fixture.reopened > 3 && fixture.replayed > 3
                && fixture.edits > 10,
            """
            seed \(seed): \(fixture.nulled) nulled, \(fixture.undone) undone, \(fixture.reopened) reopened, \
            \(fixture.replayed) replayed, \(fixture.edits) edits
            """
        )
        try fixture.close()
    }

    /// The order of D42 among links: class, then key; links come after everything but lists and maps.
    @Test func order() throws {
        func link(_ cls: UInt32, _ key: Int64, tag: UInt32 = 0) -> Value {
            .link(ObjectID(classID: cls, storeTag: tag, key: key))
        }
        let uuid = Value(kind: .uuid, low: .max, high: .max),
            ascending = [uuid, link(1, 5), link(1, 6), link(2, 0), link(2, 1 << 40)]
        for (index, value) in ascending.enumerated() {
            for (other, second) in ascending.enumerated() {
                #expect(try MixedOrder.compare(value, second).signum() == (index - other).signum())
                let key = IndexKey(), otherKey = IndexKey()
                try key.append(mixed: value)
                try otherKey.append(mixed: second)
                let order = MixedContainer.compare(
                    UnsafeRawBufferPointer(start: key.value.pointer, count: key.value.count),
                    UnsafeRawBufferPointer(start: otherKey.value.pointer, count: otherKey.value.count))
                #expect(order.signum() == (index - other).signum())
            }
        }
        #expect(try MixedOrder.compare(link(1, 5, tag: 9), link(1, 5)) == 0)
    }
}

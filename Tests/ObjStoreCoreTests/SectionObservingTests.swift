import ObjStoreCore
import Testing

/// Observers of sections in small cases: all of them. Random histories are in Tests/Crash/Sections.swift.
@Suite struct SectionObservingTests {
    private typealias Section = (key: Int64, objects: [Int64])

    /// Sections that follow what they are told.
    private final class Follower {
        var sections: [Section]
        let one: Bool
        let content: () -> [Section]
        private(set) var problem: String?
        private(set) var told = 0

        init(one: Bool, _ content: @escaping () -> [Section]) {
            (self.one, self.content, sections) = (one, content, content())
        }

        func take(_ changes: ChangeSet) {
            guard let changed = changes.sections, let indices = changes.indices else { return problem = "no sections" }
            told += 1
            typealias List = KeyPath<ChangeSet.Indices, [UInt64]>
            func places(_ list: List, _ keys: [Int64]) -> [(section: Int, index: Int, key: Int64)] {
                zip(zip(changed.numbers[keyPath: list], indices[keyPath: list]), keys).map {
                    (one ? 0 : Int($0.0), Int($0.1), $1)
                }
            }
            let gone = places(\.deleted, changes.deleted) + places(\.movedBefore, changes.moved)
            for (section, index, key) in gone.sorted(by: { ($0.section, $0.index) > ($1.section, $1.index) }) {
                guard section < sections.count, index < sections[section].objects.count,
                    sections[section].objects.remove(at: index) == key
                else { return problem = "\(key) is not at [\(section)][\(index)]" }
            }
            for (number, key) in zip(changed.deleted, changed.keys.deleted).reversed() {
                let section = sections.remove(at: one ? 0 : Int(number))
                if !section.objects.isEmpty || section.key != key.low { problem = "section \(number) is deleted" }
            }
            for (number, key) in zip(changed.inserted, changed.keys.inserted) {
                sections.insert((key.low, []), at: one ? 0 : Int(number))
            }
            let come = places(\.inserted, changes.inserted) + places(\.movedAfter, changes.moved)
            for (section, index, key) in come.sorted(by: { ($0.section, $0.index) < ($1.section, $1.index) }) {
                sections[section].objects.insert(key, at: index)
            }
            for (section, index, key) in places(\.modifiedAfter, changes.modified)
            where sections[section].objects[index] != key { problem = "\(key) is modified elsewhere" }
        }

        var isRight: Bool {
            let wanted = content()
            return problem == nil && sections.map(\.key) == wanted.map(\.key)
                && sections.map(\.objects) == wanted.map(\.objects)
        }
    }

    private static func open() throws -> (Store, UInt32, [UInt32]) {
        var configuration = StoreConfiguration(), draft = SchemaDraft()
        configuration.place = .memory("")
        configuration.durability = .relaxed(milliseconds: 1000)
        try draft.addClass("Item")
        try draft.addProperty("Item", "section", .int, [])
        try draft.addProperty("Item", "rank", .int, [])
        configuration.schema = draft
        let store = try Store.open(configuration), view = try store.openView()
        defer { view.close() }
        let item = try view.findClass("Item")
        return (store, item, [try view.findProperty(item, "section"), try view.findProperty(item, "rank")])
    }

    private static func sections(
        _ store: Store, _ item: UInt32, _ query: String, _ flags: Sections.Flags
    ) throws -> Sections {
        let view = try store.openView(), results = try view.find(try view.query(item, parsing: query))
        var text = "section"
        return try text.withUTF8 { try results.sections(byParsing: UnsafeRawBufferPointer($0), [], flags) }
    }

    /// From each way to put objects into sections, or nowhere, to each other one: in the order of keys, of appearance,
    /// of a part, of one section, and of objects whose order turns round with every step.
    @Test(arguments: [(4, 2), (3, 3)]) func everyPairOfPartitions(count: Int, most: Int) throws {
        let (store, item, properties) = try Self.open()
        var ids: [ObjectID] = [], state = [Int64](repeating: 0, count: count), isTurned = false
        let view = try store.begin(.atMost(5000))
        for rank in 0..<count {
            let values: [Value] = [.int(0), .int(Int64(rank))]
            ids.append(
                try properties.withUnsafeBufferPointer { properties in
                    try values.withUnsafeBufferPointer { try view.create(item, properties, $0.baseAddress!) }
                })
        }
        _ = try view.commit()
        func content(_ objects: [Int], _ order: Sections.Flags, _ one: Int64?) -> [Section] {
            var found: [Section] = []
            for object in objects where state[object] > 0 {
                if let place = found.firstIndex(where: { $0.key == state[object] }) {
                    found[place].objects.append(ids[object].key)
                } else {
                    found.append((state[object], [ids[object].key]))
                }
            }
            if order == .ascending { found.sort { $0.key < $1.key } }
            if order == .descending { found.sort { $0.key > $1.key } }
            return one == nil ? found : found.filter { $0.key == one }
        }
        let forth = Array(0..<count), back = Array(forth.reversed())
        let cases: [(query: String, flags: Sections.Flags, one: Int64?, objects: () -> [Int])] = [
            ("section > 0", .ascending, nil, { forth }),
            ("section > 0 SORT(rank DESC)", .descending, nil, { isTurned ? forth : back }),
            ("section > 0 SORT(rank ASC)", [], nil, { isTurned ? back : forth }),
            ("section > 0 SORT(rank ASC)", [], 2, { isTurned ? back : forth }),
            (
                "section > 0 SORT(rank ASC) LIMIT(2)", [], nil,
                {
                    Array((isTurned ? back : forth).filter { state[$0] > 0 }.prefix(2))
                }
            ),
        ]
        var followers: [Follower] = [], observers: [Observer] = []
        for (query, flags, one, objects) in cases {
            let follower = Follower(one: one != nil) { content(objects(), flags, one) }
            let sections = try Self.sections(store, item, query, flags)
            observers.append(
                try sections.observe(ObserverOptions(), one: one.map { .int($0) }) { changes in
                    follower.take(changes)
                    return nil
                })
            followers.append(follower)
        }
        func step(to next: [Int64]) throws {
            let view = try store.begin(.atMost(5000))
            isTurned.toggle()
            for object in 0..<count {
                if next[object] != state[object] { try view.set(ids[object], properties[0], .int(next[object])) }
                try view.set(ids[object], properties[1], .int(Int64(isTurned ? count - object : object)))
            }
            _ = try view.commit()
            state = next
            _ = try store.hub.deliver()
            for (follower, each) in zip(followers, cases) where !follower.isRight {
                throw Problem("\(each.query) \(each.flags): \(follower.sections), \(follower.problem ?? "") at \(next)")
            }
        }
        var states: [[Int64]] = [[]]
        for _ in 0..<count { states = states.flatMap { state in (0...most).map { state + [Int64($0)] } } }
        for (place, first) in states.enumerated() {
            try step(to: first)
            for other in states[(place + 1)...] {
                try step(to: other)
                try step(to: first)
            }
        }
        #expect(followers.allSatisfy { $0.told > states.count * states.count / 4 })
        for observer in observers { observer.close() }
        try store.close()
    }

    private struct Problem: Error, CustomStringConvertible {
        let description: String
        init(_ description: String) { self.description = description }
    }
}

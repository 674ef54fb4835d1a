import ObjStoreCore
import Testing

/// What is told of observed plain values makes of the copy that a reader had the answer that asking finds, bit by bit:
/// of lists, sets and maps of each kind, short ones and such of many chunks.
@Suite struct FollowedValueTests {
    private struct Kind {
        let name: String
        let kind: ValueKind
        let collection: ValueKind
        let queries: [String]
    }

    private static let kinds: [Kind] = {
        let numbers = [
            "@self > 2", "SORT(@self DESC)", "@self < 5 SORT(@self ASC) OFFSET(1) LIMIT(3)", "NOT @self == 3 LIMIT(4)",
            "", "DISTINCT(@self)", "@self > 1 DISTINCT(@self) SORT(@self DESC)", "DISTINCT(@self) OFFSET(1) LIMIT(3)",
        ]
        let texts = [
            "@self CONTAINS 'e'", "@self BEGINSWITH[c] 'B' OR @self == ''", "SORT(@self ASC)",
            "@self.@size > 1 SORT(@self DESC) LIMIT(4)", "@self != 'Bern' DISTINCT(@self)",
            "SORT(@self ASC) DISTINCT(@self) LIMIT(5)",
        ]
        let others = [
            "@self != NULL", "SORT(@self DESC)", "@self > 1 SORT(@self ASC)", "DISTINCT(@self)",
            "SORT(@self DESC) DISTINCT(@self)", "@self > 2 DISTINCT(@self)",
        ]
        let all: [(String, ValueKind, [String])] = [
            ("ints", .int, numbers), ("doubles", .double, numbers), ("texts", .string, texts),
            ("decimals", .decimal128, others), ("mixed", .mixed, others),
        ]
        return all.flatMap { name, kind, queries in
            [ValueKind.list, .set, .map].map {
                Kind(name: "\(name)_\($0)", kind: kind, collection: $0, queries: queries)
            }
        }
    }()

    private static func value(_ kind: ValueKind, _ random: inout IndexRandom, _ most: Int) throws -> OwnedValue {
        switch kind {
        case .int: return OwnedValue(.int(Int64(random.below(most))))
        case .double:
            // Two zeros, and numbers that are none: now and then, for nobody can follow an order of them.
            let rare: [Double] = [.nan, -0.0, .infinity]
            return OwnedValue(.double(random.below(60) == 0 ? rare[random.below(3)] : Double(random.below(most)) / 2))
        case .string:
            let text =
                ["", "Bern", "bern", "Genf", "Thun", "Béziers"][random.below(6)]
                + (most > 10 ? "\(random.below(most))" : "")
            return Array(text.utf8).withUnsafeBytes { OwnedValue(.string($0.baseAddress, $0.count)) }
        case .decimal128:
            let places = random.below(3), number = UInt128(random.below(most)) * [1, 10, 100][places]
            return OwnedValue(
                .decimal128(Decimal128(isNegative: false, exponent: Decimal128.bias - places, coefficient: number)))
        default: return try MixedSample.next(&random)
        }
    }

    /// All that there is of it.
    private static func text(_ value: Value) -> String {
        if [.string, .binary, .document].contains(value.kind) {
            return "\(value.kind) \(Array(UnsafeRawBufferPointer(start: value.pointer, count: value.count)))"
        }
        return "\(value.kind) \(value.low) \(value.high)"
    }

    private struct Row: Equatable {
        let key: String
        var value: String
    }

    private final class Reader: @unchecked Sendable {
        let name: String
        let isOfMap: Bool
        var rows: [Row] = []
        var wrong: String?
        var told = 0, modified = 0, moved = 0
        var observer: Observer?

        init(_ name: String, isOfMap: Bool) { (self.name, self.isOfMap) = (name, isOfMap) }

        func take(_ changes: ChangeSet, _ after: [Row]) {
            guard let indices = changes.indices else { return wrong = "no positions" }
            told += 1
            (modified, moved) = (modified + indices.modifiedAfter.count, moved + indices.movedAfter.count)
            let before = rows
            for place in (indices.deleted + indices.movedBefore).sorted(by: >) { rows.remove(at: Int(place)) }
            for place in (indices.inserted + indices.movedAfter).sorted() {
                guard place <= rows.count, place < after.count else { return wrong = "position \(place)" }
                rows.insert(after[Int(place)], at: Int(place))
            }
            for (from, to) in zip(indices.modifiedBefore, indices.modifiedAfter) {
                if !isOfMap || rows[Int(to)].key != before[Int(from)].key || rows[Int(to)] == after[Int(to)] {
                    wrong = "modified: \(from) \(to)"
                }
                rows[Int(to)] = after[Int(to)]
            }
            if rows != after { wrong = "\(rows.map(\.value)), not \(after.map(\.value))" }
            if (try? changes.masks().count) != changes.modified.count + changes.moved.count {
                wrong = "masks"
            }
            guard isOfMap else { return }
            let keys = changes.keys
            func texts(_ keys: [Value]?) -> [String] { (keys ?? []).map { FollowedValueTests.text($0) } }
            if texts(keys?.deleted) != indices.deleted.map({ before[Int($0)].key })
                || texts(keys?.inserted) != indices.inserted.map({ after[Int($0)].key })
                || texts(keys?.modified) != indices.modifiedAfter.map({ after[Int($0)].key })
            {
                wrong = "keys \(texts(keys?.deleted)) \(texts(keys?.inserted)) \(texts(keys?.modified)) of \(after)"
            }
        }
    }

    private static func rows(_ found: FoundValues) -> [Row] {
        (0..<found.count).map { Row(key: text(found.key($0)), value: text(found.value($0))) }
    }

    @Test(arguments: [(7, 0), (8, 0), (1300, 1300), (9, 600)]) func changesMakeWhatAskingFinds(
        most: Int, start: Int
    ) throws {
        var configuration = StoreConfiguration(), draft = SchemaDraft()
        configuration.place = .memory("")
        configuration.durability = .relaxed(milliseconds: 1000)
        try draft.addClass("Box")
        for kind in Self.kinds {
            try draft.addCollection(
                "Box", kind.name, kind.collection,
                ElementSchema(kind: kind.kind, isNullable: true, keyKind: kind.collection == .map ? .string : .null))
        }
        configuration.schema = draft
        let store = try Store.open(configuration)
        var random = IndexRandom(UInt64(most)), ids: [CollectionID] = []
        var view = try store.begin(.atMost(5000))
        let cls = try view.findClass("Box")
        var none: UInt32 = 0, nothing = Value.null
        let box = try view.create(cls, UnsafeBufferPointer(start: &none, count: 0), &nothing)
        for kind in Self.kinds {
            ids.append(CollectionID(owner: box, propertyID: try view.findProperty(cls, kind.name)))
            for _ in 0..<start { try Self.change(view, ids[ids.count - 1], kind, 0, &random, most, grows: true) }
        }
        _ = try view.commit()
        let asking = try store.openView()
        defer { asking.close() }
        var readers: [Reader] = []
        for (kind, id) in zip(Self.kinds, ids) {
            for text in kind.queries {
                let query = try asking.valueQuery(id, parsing: text), isOfMap = kind.collection == .map
                let reader = Reader("\(kind.name): \(text)", isOfMap: isOfMap)
                reader.rows = Self.rows(try ValueResults(asking, query).values())
                reader.observer = try store.observe(.values(query), ObserverOptions()) { changes in
                    do {
                        let now = try store.openView()
                        defer { now.close() }
                        let asked = Self.rows(try ValueResults(now, query).values())
                        let side = try store.view(of: changes, before: false)
                        defer { side.close() }
                        let told = Self.rows(try store.values(of: changes, before: false, in: side).values())
                        if told != asked { reader.wrong = "shows \(told.map(\.value))" }
                        reader.take(changes, asked)
                    } catch { reader.wrong = "\(error)" }
                    return nil
                }
                readers.append(reader)
            }
        }
        var counts = Array(repeating: start, count: ids.count)
        for step in 0..<(start > 0 ? 30 : 200) {
            view = try store.begin(.atMost(5000))
            for _ in 0...random.below(3) {
                let number = random.below(ids.count)
                counts[number] = try Self.change(
                    view, ids[number], Self.kinds[number], counts[number], &random, most, grows: false)
            }
            _ = try view.commit()
            _ = try store.hub.deliver()
            for reader in readers {
                if let wrong = reader.wrong {
                    Issue.record("step \(step), \(reader.name): \(wrong)")
                    return
                }
            }
        }
        let now = try store.openView()
        defer { now.close() }
        for (number, id) in ids.enumerated() {
            for (place, text) in Self.kinds[number].queries.enumerated() {
                let reader = readers[Self.kinds[..<number].reduce(0) { $0 + $1.queries.count } + place]
                let asked = Self.rows(try ValueResults(now, try now.valueQuery(id, parsing: text)).values())
                #expect(reader.rows == asked, "missed: \(reader.name)")
                reader.observer?.close()
            }
        }
        let told = readers.reduce(0) { $0 + $1.told }
        #expect(told > (start > 0 ? 50 : 400), "\(told)")
        #expect(start > 0 || readers.contains { $0.modified > 0 } && readers.contains { $0.moved > 0 })
        try store.close()
    }

    /// What comes between two others, again and again: the numbers by which the first ones are known get no closer.
    @Test func firstOnesComeBetweenTwoOthers() throws {
        var configuration = StoreConfiguration(), draft = SchemaDraft()
        configuration.place = .memory("")
        configuration.durability = .relaxed(milliseconds: 1000)
        try draft.addClass("Box")
        try draft.addCollection("Box", "ints", .list, ElementSchema(kind: .int))
        configuration.schema = draft
        let store = try Store.open(configuration)
        var view = try store.begin(.atMost(5000)), none: UInt32 = 0, nothing = Value.null
        let cls = try view.findClass("Box")
        let box = try view.create(cls, UnsafeBufferPointer(start: &none, count: 0), &nothing)
        let list = CollectionID(owner: box, propertyID: try view.findProperty(cls, "ints"))
        _ = try view.commit()
        let asking = try store.openView()
        defer { asking.close() }
        let query = try asking.valueQuery(list, parsing: "DISTINCT(@self)"), reader = Reader("", isOfMap: false)
        let observer = try store.observe(.values(query), ObserverOptions()) { changes in
            do {
                let now = try store.openView()
                defer { now.close() }
                reader.take(changes, Self.rows(try ValueResults(now, query).values()))
            } catch { reader.wrong = "\(error)" }
            return nil
        }
        defer { observer.close() }
        for number in 0..<300 {
            view = try store.begin(.atMost(5000))
            // Behind the one that came last, or before it; of those that there are already at the end.
            for value in [Int64(number), Int64(number / 2)] {
                let place = value == number ? min(number, 1 + number % 2 * (number / 3)) : nil
                try withUnsafePointer(to: Value.int(value)) {
                    try view.insert(list, at: place, UnsafeBufferPointer(start: $0, count: 1))
                }
            }
            _ = try view.commit()
            _ = try store.hub.deliver()
            #expect(reader.wrong == nil && reader.rows.count == number + 1, "\(number)")
        }
    }

    /// Returns: how many elements a list has then, at most.
    @discardableResult
    private static func change(
        _ view: View, _ id: CollectionID, _ kind: Kind, _ count: Int, _ random: inout IndexRandom, _ most: Int,
        grows: Bool
    ) throws -> Int {
        var value = try value(kind.kind, &random, most)
        if kind.collection == .set, value.value.kind == .document { value = OwnedValue(.bool(true)) }
        let goes = !grows && random.below(2) == 0
        defer { withExtendedLifetime(value) {} }
        switch kind.collection {
        case .list:
            if goes && count > 0 {
                let place = random.below(count)
                if random.below(3) == 0 {
                    try view.set(id, at: place, value.value)
                    return count
                }
                let removed = min(1 + random.below(2), count - place)
                try view.remove(id, at: place, count: removed)
                return count - removed
            }
            let place = grows ? nil : random.below(count + 1)
            try withUnsafePointer(to: value.value) {
                try view.insert(id, at: place, UnsafeBufferPointer(start: $0, count: 1))
            }
            return count + 1
        case .set:
            _ = goes ? try view.remove(id, member: value.value) : try view.insert(id, member: value.value)
        default:
            let key = Array("k\(random.below(grows ? 100_000 : most))".utf8)
            try key.withUnsafeBytes { bytes in
                let key = Value.string(bytes.baseAddress, bytes.count)
                if goes { _ = try view.remove(id, key: key) } else { _ = try view.set(id, key: key, value.value) }
            }
        }
        return 0
    }
}

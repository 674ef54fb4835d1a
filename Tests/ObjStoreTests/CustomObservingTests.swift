import ObjStore
import Testing

/// Properties of types of the program are observed by their names, and values are of these types.
@Suite struct CustomObservingTests {
    private func reading() throws -> (Store, C.Reading) {
        let store = try memoryStore([C.Reading.self]), made = C.Reading()
        made.serial = C.Serial(persistedValue: 1)
        made.temperature = C.Celsius(21.5)
        made.others = [C.Celsius(1), C.Celsius(2)]
        made.days["mon"] = C.Celsius(3)
        made.seen.insert(C.Serial(persistedValue: 5))
        try store.write { tx in try tx.add(made) }
        return (store, made)
    }

    @Test func oneObject() throws {
        let (store, reading) = try reading()
        let all = Received<[PropertyChange]>(), some = Received<[PropertyChange]>(),
            stored = Received<[PropertyChange]>()
        let tokens = [
            try reading.observe { if case .change(_, let written) = $0 { all.append(written) } },
            try reading.observe(keyPaths: [\.lowest]) { if case .change(_, let written) = $0 { some.append(written) } },
            try reading.observe(keyPaths: [\.highest]) { _ in Issue.record("it was not written") },
            try reading.dynamic().observe { if case .change(_, let written) = $0 { stored.append(written) } },
        ]
        try store.deliver()
        try store.write { _ in
            reading.temperature = C.Celsius(-3)
            reading.lowest = C.Celsius(-40)
            reading.origin = C.Code("FR")
            // The value that it has is written, too.
            reading.country = try #require(C.Code("CH"))
            reading.others.append(C.Celsius(9))
        }
        try store.deliver()
        let written = try #require(all.take().first)
        #expect(written.map(\.name) == ["temperature", "lowest", "country", "origin", "others"])
        #expect(written.map { ($0.oldValue as? C.Celsius)?.degrees } == [21.5, nil, nil, nil, nil])
        #expect(written.map { ($0.newValue as? C.Celsius)?.degrees } == [-3, -40, nil, nil, nil])
        #expect(written[1].oldValue == nil && written[3].oldValue == nil)
        #expect((written[2].oldValue as? C.Code)?.text == "CH" && (written[2].newValue as? C.Code)?.text == "CH")
        #expect((written[3].newValue as? C.Code)?.text == "FR")
        #expect((written[4].oldValue as? List<C.Celsius>)?.map(\.degrees) == [1, 2])
        #expect((written[4].newValue as? List<C.Celsius>)?.map(\.degrees) == [1, 2, 9])
        #expect(try #require(some.take().first).contains { $0.name == "lowest" })
        // Without the classes of the program it is what is stored.
        let values = try #require(stored.take().first)
        #expect(values.map(\.name) == written.map(\.name))
        #expect(values[0].oldValue as? AnyValue == .double(21.5) && values[0].newValue as? AnyValue == .double(-3))
        #expect(values[3].newValue as? AnyValue == .string("FR"))
        try store.write { _ in reading.lowest = nil }
        try store.deliver()
        let last = try #require(all.take().first)
        #expect(last.map(\.name) == ["lowest"] && last[0].newValue == nil)
        #expect((last[0].oldValue as? C.Celsius)?.degrees == -40)
        for token in tokens { token.invalidate() }
        try store.close()
    }

    @Test func resultsAndCollections() throws {
        let (store, reading) = try reading()
        let warm = store.objects(C.Reading.self).where { $0.temperature.persistableValue > 0 }.sorted(by: \.temperature)
        let results = Received<ChangeSet<C.Reading>>(), list = Received<CollectionChange<List<C.Celsius>>>()
        let map = Received<CollectionChange<Map<String, C.Celsius?>>>()
        let set = Received<CollectionChange<MutableSet<C.Serial>>>()
        let tokens = [
            try warm.observe(keyPaths: [\.temperature]) { results.append($0) },
            try reading.others.observe { list.append($0) }, try reading.days.observe { map.append($0) },
            try reading.seen.observe { set.append($0) },
        ]
        try store.deliver()
        _ = (results.take(), list.take(), map.take(), set.take())
        try store.write { _ in
            reading.temperature = C.Celsius(30)
            reading.highest = C.Celsius(40)
            reading.others[0] = C.Celsius(7)
            reading.days["tue"] = C.Celsius(8)
            reading.seen.insert(C.Serial(persistedValue: 4))
        }
        try store.deliver()
        let change = try #require(results.take().first)
        #expect(change.modified.map(\.temperature) == [C.Celsius(30)])
        #expect(change.modifiedBefore.map(\.temperature) == [C.Celsius(21.5)])
        #expect(try change.changedProperties(at: 0) == ["temperature", "highest", "others", "days", "seen"])
        #expect(try change.hasChanged(\.temperature, at: 0) && !change.hasChanged(\.lowest, at: 0))
        let elements = try #require(list.take().first)
        #expect(elements.modifications == [0] && Array(elements.collection) == [C.Celsius(7), C.Celsius(2)])
        let entries = try #require(map.take().first)
        #expect(entries.insertedKeys == ["tue"] && entries.collection["tue"] == C.Celsius(8))
        let members = try #require(set.take().first)
        #expect(members.insertions == [0] && members.collection.map(\.number) == [4, 5])
        try store.write { _ in reading.temperature = C.Celsius(-1) }
        try store.deliver()
        let gone = try #require(results.take().first)
        #expect(gone.deletions == [0] && gone.deleted.map(\.temperature) == [C.Celsius(30)])
        for token in tokens { token.invalidate() }
        try store.close()
    }
}

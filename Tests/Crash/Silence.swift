import ObjStoreCore
import ObjStoreSimulation

/// Random histories of transactions of which some observers are not told, against readers who apply those themselves:
/// each has a copy of what it observes, and whatever it is told, its copy is the content in the end.
private final class SilenceHistory {
    /// An observer and its reader.
    private final class Reader {
        let name: String
        /// What it observes, of objects by their number.
        let wants: @Sendable (Int64) -> Bool
        let isOrdered: Bool
        /// Is told of modifications of the mark, too.
        let seesMarks: Bool
        var observer: Observer?
        /// Number and mark of what is in its list, by key.
        var copy: [Int64: [Int64]] = [:]
        /// Makes its work undone now and then.
        var refuses = false

        init(
            _ name: String, isOrdered: Bool, seesMarks: Bool = true, _ wants: @escaping @Sendable (Int64) -> Bool
        ) {
            (self.name, self.isOrdered, self.seesMarks, self.wants) = (name, isOrdered, seesMarks, wants)
        }
    }

    private let store: Store
    private let cls: ClassSchema
    private let classID: UInt32, properties: [UInt32]
    private var random: RandomNumbers
    private var content: [Int64: [Int64]] = [:]
    private var ids: [Int64: ObjectID] = [:]
    private var violation: String?
    private let readers = [
        Reader("class", isOrdered: false) { _ in true }, Reader("small", isOrdered: true) { $0 < 50 },
        Reader("large", isOrdered: true) { $0 >= 30 }, Reader("numbers", isOrdered: true, seesMarks: false) { $0 < 70 },
    ]

    init(seed: UInt64) throws(StoreError) {
        random = RandomNumbers(seed: seed)
        var configuration = StoreConfiguration()
        configuration.place = .memory("")
        configuration.durability = .relaxed(milliseconds: 1000)
        var draft = SchemaDraft()
        try draft.addClass("Item")
        try draft.addProperty("Item", "number", .int, [])
        try draft.addProperty("Item", "mark", .int, [])
        configuration.schema = draft
        store = try Store.open(configuration)
        cls = try store.shared.database.snapshot().schema.classes[0]
        let view = try store.openView()
        defer { view.close() }
        classID = try view.findClass("Item")
        properties = [try view.findProperty(classID, "number"), try view.findProperty(classID, "mark")]
    }

    func run(steps: Int) throws(StoreError) -> String? {
        try write(silencing: [])
        for reader in readers {
            reader.copy = content.filter { reader.wants($0.value[0]) }
            reader.observer = try store.hub.observe(try query(reader)) { [unowned self, unowned reader] changes in
                do throws(StoreError) { try take(changes, reader) } catch { return error }
                return nil
            }
        }
        for step in 0..<steps where violation == nil {
            try write(silencing: readers.filter { _ in random.chance(0.35) })
            if step % 7 == 6 {
                // Also one that cannot do its work the first time.
                for reader in readers { reader.refuses = random.chance(0.2) }
                while try store.hub.deliver() > 0, violation == nil {}
                check()
            } else if random.chance(0.3) {
                _ = try store.hub.deliver()
            }
        }
        try store.close()
        return violation
    }

    private func query(_ reader: Reader) throws(StoreError) -> ObserverScope {
        switch reader.name {
        case "small": ObserverScope(try Query(cls.classID, cls.propertyID(0), .less, .int(50)))
        case "large": ObserverScope(try Query(cls.classID, cls.propertyID(0), .greaterOrEqual, .int(30)))
        case "numbers":
            ObserverScope(
                try Query(cls.classID, cls.propertyID(0), .less, .int(70)), .some(ObservedPath(cls, [0])))
        default: ObserverScope(class: cls)
        }
    }

    private func fail(_ what: String) { if violation == nil { violation = what } }

    // MARK: Writing

    private func write(silencing silenced: [Reader]) throws(StoreError) {
        let old = content, view = try store.begin(.atMost(5000))
        try view.withoutNotifying(silenced.compactMap(\.observer))
        for _ in 0...random.below(6) { try change(view) }
        _ = try view.commit()
        for reader in silenced where reader.observer != nil { apply(from: old, to: reader) }
    }

    private func change(_ view: View) throws(StoreError) {
        let keys = content.keys.sorted()
        switch random.below(10) {
        case 0...3:
            let values = [Int64(random.below(100)), Int64(random.below(5))]
            let id = try view.create(classID, properties, values.map { .int($0) })
            (content[id.key], ids[id.key]) = (values, id)
        case _ where keys.isEmpty: break
        case 4...5:
            let key = keys[random.below(keys.count)]
            try view.delete(ids[key]!)
            content[key] = nil
        case let which:
            let key = keys[random.below(keys.count)], property = which < 9 ? 0 : 1
            let value = Int64(random.below(property == 0 ? 100 : 5))
            try view.set(ids[key]!, properties[property], .int(value))
            content[key]![property] = value
        }
    }

    // MARK: Reading

    /// What the transaction did, to the reader's own copy.
    private func apply(from old: [Int64: [Int64]], to reader: Reader) {
        for key in Set(old.keys).union(content.keys) where old[key] != content[key] {
            let was = old[key].map { reader.wants($0[0]) } ?? false, now = content[key]
            guard let now, reader.wants(now[0]) else {
                if was { reader.copy[key] = nil }
                continue
            }
            if !was {
                reader.copy[key] = now
            } else if reader.copy[key] != nil {
                for property in 0...1 where old[key]![property] != now[property] {
                    reader.copy[key]![property] = now[property]
                }
            }
        }
    }

    private func take(_ changes: ChangeSet, _ reader: Reader) throws(StoreError) {
        if reader.refuses {
            reader.refuses = false
            changes.isUntold = true
            return
        }
        if changes.changes.isEmpty { fail("told: \(reader.name) of nothing") }
        let before = reader.copy.keys.sorted()
        for key in changes.deleted where reader.copy.removeValue(forKey: key) == nil {
            fail("told: \(reader.name) of the deletion of \(key), which it does not have")
        }
        for key in changes.inserted where reader.copy[key] != nil {
            fail("told: \(reader.name) of the insertion of \(key), which it has")
        }
        for key in changes.inserted { reader.copy[key] = try values(key, changes.after) }
        for (index, key) in changes.modified.enumerated() {
            guard reader.copy[key] != nil else {
                fail("told: \(reader.name) of a modification of \(key), which it does not have")
                continue
            }
            for property in 0...1 where changes.hasChanged(property, ofModification: index) {
                reader.copy[key]![property] = try values(key, changes.after)[property]
            }
        }
        guard reader.isOrdered else { return }
        let after = reader.copy.keys.sorted()
        func check(_ positions: [UInt64]?, _ keys: [Int64], in list: [Int64], _ what: String) {
            let named = positions?.map { Int($0) < list.count ? list[Int($0)] : -1 }
            if named != keys { fail("positions: \(reader.name), \(what): \(named ?? []), not \(keys)") }
        }
        check(changes.indices?.deleted, changes.deleted, in: before, "deleted")
        check(changes.indices?.modifiedBefore, changes.modified, in: before, "modified before")
        check(changes.indices?.inserted, changes.inserted, in: after, "inserted")
        check(changes.indices?.modifiedAfter, changes.modified, in: after, "modified after")
    }

    private func values(_ key: Int64, _ snapshot: Snapshot) throws(StoreError) -> [Int64] {
        var found: [Int64]?
        try snapshot.forEachObject(0) { (at, values) throws(StoreError) in
            if at == key { found = [Int64(values[0].low), Int64(values[1].low)] }
        }
        guard let found else {
            fail("told: object \(key) is not in version \(snapshot.version)")
            return [0, 0]
        }
        return found
    }

    private func check() {
        for reader in readers {
            var wanted = content.filter { reader.wants($0.value[0]) }, copy = reader.copy
            if !reader.seesMarks {
                for key in wanted.keys { wanted[key]![1] = 0 }
                for key in copy.keys { copy[key]![1] = 0 }
            }
            if copy != wanted { fail("content: \(reader.name) has \(copy), not \(wanted)") }
        }
    }
}

/// What is wrong with the first of so many histories of silent transactions; nil: nothing.
func silenceViolation(seeds: Range<UInt64>) -> String? {
    for seed in seeds {
        do throws(StoreError) {
            if let violation = try SilenceHistory(seed: seed).run(steps: 70) { return "\(violation), seed \(seed)" }
        } catch {
            return "unexpected error: \(error), seed \(seed)"
        }
    }
    return nil
}

func runSilence(_ arguments: Arguments) -> Int32 {
    let (count, violation) = arguments.run(usual: 300) { silenceViolation(seeds: $0..<$0 + 1) }
    if let violation {
        print("violation: \(violation)")
        return 1
    }
    print("\(count) histories of silent transactions from seed \(arguments.seed): 0 violations")
    return 0
}

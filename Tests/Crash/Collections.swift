import ObjStoreCore
import ObjStoreSimulation

/// Random histories of observers of lists, sets and maps: of numbers, texts, mixed values, links and embedded objects.
/// Each reader has a copy of his collection, to which he does what he is told; all of it is compared with what the
/// version has that he was told of, and with the newest.
private final class CollectionHistory {
    private struct Property {
        let name: String
        let kind: ValueKind, elements: ElementSchema
        var target: String?

        init(_ name: String, _ kind: ValueKind, _ element: ValueKind, key: ValueKind = .null, to target: String? = nil)
        {
            (self.name, self.kind, self.target) = (name, kind, target)
            elements = ElementSchema(kind: element, isNullable: name.hasSuffix("OrNull"), keyKind: key)
        }
        var hasObjects: Bool { target != nil && kind != .map }
    }

    private static let properties = [
        Property("numbers", .list, .int), Property("textsOrNull", .list, .string),
        Property("mixed", .list, .mixed), Property("items", .list, .link, to: "Item"),
        Property("rooms", .list, .link, to: "Room"), Property("numberSet", .set, .int),
        Property("textSetOrNull", .set, .string), Property("itemSet", .set, .link, to: "Item"),
        Property("numberOf", .map, .int, key: .string), Property("textOfOrNull", .map, .string, key: .int),
        Property("itemOf", .map, .link, key: .string, to: "Item"),
        Property("roomOf", .map, .link, key: .string, to: "Room"),
    ]

    /// Of objects: which one, and its number, which a modification may be about.
    private struct Entry: Equatable {
        var key = "", value: String, number = ""
    }

    private final class Reader {
        let property: Property
        let id: CollectionID
        var observer: Observer?
        var copy: [Entry] = []
        /// Makes its work undone now and then.
        var refuses = false
        var isOwnerDeleted = false
        /// Something was written of which it is to be told.
        var isDue = false
        var name: String { "\(property.name) of \(id.owner.key)" }

        init(_ property: Property, _ id: CollectionID) { (self.property, self.id) = (property, id) }
    }

    private let store: Store
    private let owner: UInt32, item: UInt32, blob: UInt32
    private let propertyIDs: [UInt32], number: UInt32, roomNumber: UInt32, content: UInt32
    private var random: RandomNumbers
    private var owners: [ObjectID] = [], items: [ObjectID] = []
    private var readers: [Reader] = []
    private var violation: String?
    private(set) var counts = CollectionCounts()

    init(seed: UInt64) throws(StoreError) {
        random = RandomNumbers(seed: seed)
        var configuration = StoreConfiguration()
        configuration.place = .memory("")
        configuration.durability = .relaxed(milliseconds: 1000)
        try configuration.set(.logBytes, 1 << 20)
        var draft = SchemaDraft()
        for name in ["Owner", "Item", "Room", "Blob"] { try draft.addClass(name) }
        try draft.setEmbedded("Room", true)
        try draft.addProperty("Item", "number", .int, [])
        try draft.addProperty("Room", "number", .int, [])
        try draft.addProperty("Blob", "content", .binary, [])
        for property in CollectionHistory.properties {
            try draft.addCollection("Owner", property.name, property.kind, property.elements, target: property.target)
        }
        configuration.schema = draft
        store = try Store.open(configuration)
        let view = try store.openView()
        defer { view.close() }
        let owner = try view.findClass("Owner")
        self.owner = owner
        item = try view.findClass("Item")
        blob = try view.findClass("Blob")
        var ids: [UInt32] = []
        for property in CollectionHistory.properties { ids.append(try view.findProperty(owner, property.name)) }
        propertyIDs = ids
        number = try view.findProperty(item, "number")
        roomNumber = try view.findProperty(try view.findClass("Room"), "number")
        content = try view.findProperty(blob, "content")
    }

    func run(steps: Int) throws(StoreError) -> String? {
        let view = try store.begin(.atMost(5000))
        for _ in 0..<2 { owners.append(try view.create(owner, [], [])) }
        for _ in 0..<6 { try makeItem(view) }
        for _ in 0..<60 { try change(view, mayDelete: false) }
        _ = try view.commit()
        for owner in owners {
            for (index, property) in CollectionHistory.properties.enumerated() {
                readers.append(Reader(property, CollectionID(owner: owner, propertyID: propertyIDs[index])))
            }
        }
        try reading { (view) throws(StoreError) in
            for reader in readers { reader.copy = try entries(reader, view) }
        }
        for reader in readers {
            reader.observer = try store.observe(reader.id, ObserverOptions()) {
                [unowned self, unowned reader] changes in
                do throws(StoreError) { try take(changes, reader) } catch { return error }
                return nil
            }
        }
        for _ in 0..<steps where violation == nil {
            // Who writes without being told has been told of everything before.
            if random.chance(0.5) { try deliver() }
            let isCurrent = readers.allSatisfy { !$0.isDue }
            try write(silencing: isCurrent ? readers.filter { _ in random.chance(0.2) } : [])
            if random.chance(0.02) { try lapTheLog() }
            if random.chance(0.6) { try deliver() }
        }
        try deliver()
        try store.close()
        return violation
    }

    private func deliver() throws(StoreError) {
        // Also one that cannot do its work the first time.
        for reader in readers { reader.refuses = random.chance(0.2) }
        while try store.hub.deliver() > 0, violation == nil {}
        for reader in readers { reader.isDue = false }
        if violation == nil { try check() }
    }

    private func fail(_ what: String) { if violation == nil { violation = what } }

    // MARK: Writing

    private func write(silencing silenced: [Reader]) throws(StoreError) {
        let view = try store.begin(.atMost(5000))
        try view.withoutNotifying(silenced.compactMap(\.observer))
        for _ in 0...random.below(8) { try change(view, mayDelete: true) }
        _ = try view.commit()
        for reader in readers { if !silenced.contains(where: { $0 === reader }) { reader.isDue = true } }
        try reading { (view) throws(StoreError) in
            for reader in silenced {
                reader.copy = try entries(reader, view)
                reader.isOwnerDeleted = try !view.exists(reader.id.owner)
            }
        }
    }

    /// So much that who lags behind has to compare versions.
    private func lapTheLog() throws(StoreError) {
        let bytes = [UInt8](repeating: 7, count: 100_000)
        for _ in 0..<12 {
            let view = try store.begin(.atMost(5000))
            try with(bytes) { (value) throws(StoreError) in _ = try view.create(blob, [content], [value]) }
            _ = try view.commit()
        }
    }

    private func with(_ bytes: [UInt8], _ body: (Value) throws(StoreError) -> Void) throws(StoreError) {
        let kept = try OwnedValue(copying: bytes.withUnsafeBytes { .binary($0.baseAddress, $0.count) })
        try body(kept.value)
        withExtendedLifetime(kept) {}
    }

    private func makeItem(_ view: View) throws(StoreError) {
        items.append(try view.create(item, [number], [.int(Int64(random.below(100)))]))
    }

    private func change(_ view: View, mayDelete: Bool) throws(StoreError) {
        switch random.below(30) {
        case 0, 1: try makeItem(view)
        case 2, 3:
            guard let item = items.randomOne(&random) else { return }
            try view.set(item, number, .int(Int64(random.below(100))))
        case 4 where mayDelete && random.chance(0.5):
            guard let index = items.indices.randomOne(&random) else { return }
            try view.delete(items.remove(at: index))
        case 5 where mayDelete && random.chance(0.05):
            guard let index = owners.indices.randomOne(&random) else { return }
            try view.delete(owners.remove(at: index))
        default:
            guard let owner = owners.randomOne(&random) else { return }
            let index = random.below(CollectionHistory.properties.count), property = CollectionHistory.properties[index]
            let id = CollectionID(owner: owner, propertyID: propertyIDs[index]), count = try view.elementCount(id)
            if random.chance(0.04) { return try view.removeAllElements(id) }
            switch property.kind {
            case .list: try changeList(view, id, property, count)
            case .set: try changeSet(view, id, property, count)
            default: try changeMap(view, id, property, count)
            }
        }
    }

    private func changeList(
        _ view: View, _ id: CollectionID, _ property: Property, _ count: Int
    ) throws(StoreError) {
        if property.target == "Room", random.chance(0.6) || count == 0 {
            return try makeRoom(view, id, at: .int(Int64(random.below(count + 1))))
        }
        switch random.below(count == 0 ? 3 : 10) {
        case 0...2:
            if property.target == "Room" { return }
            let at = random.below(count + 1), some = random.chance(0.03) ? 100 : 1 + random.below(2)
            try withValues(property, some) { (values) throws(StoreError) in try view.insert(id, at: at, values) }
        case 3...4:
            let at = random.below(count)
            if property.target == "Room" {
                let room = try view.element(id, at: at, nil).value.linkedObject(storeTag: id.owner.storeTag)
                return try view.set(room, roomNumber, .int(Int64(random.below(100))))
            }
            if random.chance(0.3) {
                // The same again.
                let buffer = KeptElement(try view.element(id, at: at, nil).value, id.owner.storeTag)
                return try view.set(id, at: at, buffer.value)
            }
            try withValues(property, 1) { (values) throws(StoreError) in try view.set(id, at: at, values[0]) }
        case 5...6:
            let at = random.below(count)
            try view.remove(id, at: at, count: random.chance(0.1) ? count - at : 1)
        case 7...8: try view.move(id, from: random.below(count), to: random.below(count))
        default:
            if property.target == "Room" { return }
            try withValues(property, random.below(12)) { (values) throws(StoreError) in
                try view.assign(id, nil, values.baseAddress, values.count)
            }
        }
    }

    private func changeSet(
        _ view: View, _ id: CollectionID, _ property: Property, _ count: Int
    ) throws(StoreError) {
        switch random.below(8) {
        case 0...4:
            try withValues(property, random.chance(0.05) ? 80 : 1) { (values) throws(StoreError) in
                for value in values { _ = try view.insert(id, member: value) }
            }
        case 5...6:
            if count > 0 { return try view.remove(id, at: random.below(count), count: 1) }
        default:
            let operations: [SetOperation] = [.union, .subtraction, .intersection, .symmetricDifference]
            let operation = operations[random.below(4)]
            try withValues(property, 4) { (values) throws(StoreError) in
                _ = try view.combine(id, operation, values.baseAddress, values.count)
            }
        }
    }

    private func changeMap(
        _ view: View, _ id: CollectionID, _ property: Property, _ count: Int
    ) throws(StoreError) {
        try withKey(property) { (key) throws(StoreError) in
            switch random.below(8) {
            case 0...4:
                if property.target == "Room" { return try makeRoom(view, id, at: key) }
                try withValues(property, 1) { (values) throws(StoreError) in
                    _ = try view.set(id, key: key, values[0])
                }
            case 5: _ = try view.remove(id, key: key)
            case 6:
                guard count > 0 else { return }
                let value = try view.element(id, at: random.below(count), nil).value
                guard property.target == "Room", !value.isNull else { return }
                let room = value.linkedObject(storeTag: id.owner.storeTag)
                try view.set(room, roomNumber, .int(Int64(random.below(100))))
            default:
                if count > 0 { try view.remove(id, at: random.below(count), count: 1) }
            }
        }
    }

    private func makeRoom(_ view: View, _ id: CollectionID, at place: Value) throws(StoreError) {
        let value = Value.int(Int64(random.below(100)))
        var result: Result<ObjectID, StoreError>!
        withUnsafePointer(to: value) { value in
            withUnsafePointer(to: roomNumber) { property in
                result = Result { () throws(StoreError) in
                    try view.createEmbedded(
                        in: id.owner, id.propertyID, at: place, UnsafeBufferPointer(start: property, count: 1), value)
                }
            }
        }
        _ = try result.get()
    }

    private func withKey(_ property: Property, _ body: (Value) throws(StoreError) -> Void) throws(StoreError) {
        let key = random.below(20)
        if property.elements.keyKind == .int { return try body(.int(Int64(key) - 10)) }
        try KeptElement.text("key \(key)").with(body)
    }

    /// Values that the property takes, of few different ones.
    private func withValues(
        _ property: Property, _ count: Int, _ body: (UnsafeBufferPointer<Value>) throws(StoreError) -> Void
    ) throws(StoreError) {
        var kept: [KeptElement] = []
        for _ in 0..<count {
            if property.elements.isNullable, random.chance(0.1) {
                kept.append(KeptElement(.null, 0))
                continue
            }
            switch property.elements.kind {
            case .link:
                guard let item = items.randomOne(&random) else { return }
                kept.append(KeptElement(.link(item), item.storeTag))
            case .int: kept.append(KeptElement(.int(Int64(random.below(count > 20 ? 300 : 25))), 0))
            case .mixed where random.chance(0.3):
                guard let item = items.randomOne(&random) else { return }
                kept.append(KeptElement(.link(item), item.storeTag))
            case .mixed where random.chance(0.5): kept.append(try KeptElement.document(Int64(random.below(5))))
            default:
                let text = "text \(random.below(count > 20 ? 300 : 25))"
                // Now and then one that lies in pages of its own.
                kept.append(KeptElement.text(random.chance(0.1) ? String(repeating: text, count: 120) : text))
            }
        }
        let values = kept.map(\.value)
        try values.withUnsafeBufferPointer { (values) throws(StoreError) in try body(values) }
        withExtendedLifetime(kept) {}
    }

    // MARK: Reading

    private func reading(_ body: (View) throws(StoreError) -> Void) throws(StoreError) {
        let live = try store.openView(), view = try live.freeze()
        defer {
            view.close()
            live.close()
        }
        try body(view)
    }

    /// None where the owner is gone.
    private func entries(_ reader: Reader, _ view: View) throws(StoreError) -> [Entry] {
        guard try view.exists(reader.id.owner) else { return [] }
        var entries: [Entry] = [], links: [(index: Int, object: ObjectID)] = []
        _ = try view.elements(
            reader.id, from: 0, limit: .max, wantsKeys: reader.property.kind == .map, nil
        ) { index, key, value in
            entries.append(
                Entry(key: key.isNull ? "" : CollectionHistory.text(key), value: CollectionHistory.text(value)))
            if reader.property.target != nil, value.kind == .link {
                links.append((index, value.linkedObject(storeTag: reader.id.owner.storeTag)))
            }
        }
        for (index, object) in links {
            let property = reader.property.target == "Room" ? roomNumber : number
            entries[index].number = String(try view.value(object, property, nil).low)
        }
        return entries
    }

    private static func text(_ value: Value) -> String {
        switch value.kind {
        case .string: String(decoding: UnsafeRawBufferPointer(start: value.pointer, count: value.count), as: UTF8.self)
        case .document:
            "document \(UnsafeRawBufferPointer(start: value.pointer, count: value.count).map { String($0) })"
        case .link: "object \(value.low)"
        default: value.text
        }
    }

    /// Does to the copy what the change set says, in the order that it documents: what went and what was moved is taken
    /// out from the back, then put in from the front.
    private func take(_ changes: ChangeSet, _ reader: Reader) throws(StoreError) {
        if reader.refuses {
            reader.refuses = false
            changes.isUntold = true
            return
        }
        let name = reader.name, isMap = reader.property.kind == .map
        counts.note(changes)
        if !reader.isDue { fail("told: \(name) of what it has done itself") }
        if changes.changes.isEmpty && !changes.isOwnerDeleted { fail("told: \(name) of nothing") }
        if changes.isOwnerDeleted { reader.isOwnerDeleted = true }
        guard let indices = changes.indices else { return fail("positions: \(name) has none") }
        if isMap != (changes.keys != nil) { fail("keys: \(name)") }
        let view = try store.view(of: changes, before: false), before = reader.copy, after = try entries(reader, view)
        view.close()
        func isSound(_ positions: [UInt64], in list: [Entry], _ what: String, isAscending: Bool = true) -> Bool {
            if positions.allSatisfy({ $0 < list.count }),
                !isAscending || zip(positions, positions.dropFirst()).allSatisfy({ $0 < $1 })
            {
                return true
            }
            fail("positions: \(name), \(what): \(positions) of \(list.count)")
            return false
        }
        guard isSound(indices.deleted, in: before, "deleted"), isSound(indices.inserted, in: after, "inserted"),
            isSound(indices.modifiedBefore, in: before, "modified before"),
            isSound(indices.modifiedAfter, in: after, "modified after"),
            isSound(indices.movedBefore, in: before, "moved before"),
            isSound(indices.movedAfter, in: after, "moved after", isAscending: false)
        else { return }
        checkNamed(changes, reader, before, after, indices)
        var copy = before
        for place in (indices.deleted + indices.movedBefore).sorted(by: >) { copy.remove(at: Int(place)) }
        for place in (indices.inserted + indices.movedAfter).sorted() {
            guard place <= copy.count else { return fail("positions: \(name): \(place) of \(copy.count)") }
            copy.insert(after[Int(place)], at: Int(place))
        }
        for (old, new) in zip(indices.modifiedBefore, indices.modifiedAfter) {
            guard copy.indices.contains(Int(new)) else { return fail("positions: \(name): \(new) of \(copy.count)") }
            if copy[Int(new)] != before[Int(old)] { fail("positions: \(name): modified at \(old), and \(new)") }
            copy[Int(new)] = after[Int(new)]
        }
        for (old, new) in zip(indices.movedBefore, indices.movedAfter)
        where before[Int(old)].value != after[Int(new)].value {
            fail("positions: \(name): moved from \(old) to \(new)")
        }
        if changes.isCleared != (!before.isEmpty && after.isEmpty) { fail("cleared: \(name): \(changes.isCleared)") }
        if copy != after { fail("content: \(name) has \(copy.map(\.value)), not \(after.map(\.value))") }
        reader.copy = copy
    }

    /// Objects, or keys, are those that stand at the positions.
    private func checkNamed(
        _ changes: ChangeSet, _ reader: Reader, _ before: [Entry], _ after: [Entry], _ indices: ChangeSet.Indices
    ) {
        func compare(_ named: [String], _ list: [Entry], _ positions: [UInt64], _ what: KeyPath<Entry, String>) {
            let wanted = positions.map { list[Int($0)][keyPath: what] }
            if named != wanted {
                fail("\(what == \.key ? "keys" : "objects"): \(reader.name): \(named), not \(wanted)")
            }
        }
        if reader.property.hasObjects {
            compare(changes.deleted.map { "object \($0)" }, before, indices.deleted, \.value)
            compare(changes.inserted.map { "object \($0)" }, after, indices.inserted, \.value)
            compare(changes.modified.map { "object \($0)" }, after, indices.modifiedAfter, \.value)
            compare(changes.moved.map { "object \($0)" }, after, indices.movedAfter, \.value)
        } else if let keys = changes.keys {
            compare(keys.deleted.map(CollectionHistory.text), before, indices.deleted, \.key)
            compare(keys.inserted.map(CollectionHistory.text), after, indices.inserted, \.key)
            compare(keys.modified.map(CollectionHistory.text), after, indices.modifiedAfter, \.key)
        }
    }

    private func check() throws(StoreError) {
        try reading { (view) throws(StoreError) in
            for reader in readers {
                let wanted = try entries(reader, view)
                if reader.copy != wanted {
                    fail("content: \(reader.name) has \(reader.copy.map(\.value)), not \(wanted.map(\.value))")
                }
                let isGone = try !view.exists(reader.id.owner)
                if reader.isOwnerDeleted != isGone {
                    fail("told: \(reader.name) of its owner: \(reader.isOwnerDeleted)")
                }
            }
        }
    }
}

/// A value with its bytes.
private final class KeptElement {
    let value: Value
    private let kept: OwnedValue?

    /// Of a value that the store has lent: a link comes without its store.
    init(_ value: Value, _ tag: UInt32) {
        kept = try? OwnedValue(copying: value)
        let copy = kept?.value ?? value
        self.value = copy.kind == .link ? .link(copy.linkedObject(storeTag: tag)) : copy
    }

    static func text(_ text: String) -> KeptElement {
        var text = text
        return text.withUTF8 { KeptElement(.string($0.baseAddress, $0.count), 0) }
    }

    /// {number: …}, or a list.
    static func document(_ number: Int64) throws(StoreError) -> KeptElement {
        let builder = DocumentBuilder()
        try builder.begin(.list)
        for count in 0...number { try builder.append(.int(count)) }
        try builder.end()
        return KeptElement(Value(kind: .document, pointer: builder.node.baseAddress, count: builder.node.count), 0)
    }

    func with(_ body: (Value) throws(StoreError) -> Void) throws(StoreError) {
        try body(value)
        withExtendedLifetime(self) {}
    }
}

extension RandomAccessCollection where Index == Int {
    fileprivate func randomOne(_ random: inout RandomNumbers) -> Element? {
        isEmpty ? nil : self[startIndex + random.below(count)]
    }
}

/// What histories have come by.
struct CollectionCounts {
    var told = 0, moves = 0, modifications = 0, compared = 0, cleared = 0, gone = 0

    mutating func note(_ changes: ChangeSet) {
        told += 1
        moves += changes.moved.count
        modifications += changes.modified.count
        if changes.isCompared { compared += 1 }
        if changes.isCleared { cleared += 1 }
        if changes.isOwnerDeleted { gone += 1 }
    }

    mutating func add(_ other: CollectionCounts) {
        told += other.told
        moves += other.moves
        modifications += other.modifications
        compared += other.compared
        cleared += other.cleared
        gone += other.gone
    }
}

/// What is wrong with the first of so many histories of observed collections; nil: nothing.
func collectionViolation(seeds: Range<UInt64>, counts: inout CollectionCounts) -> String? {
    for seed in seeds {
        do throws(StoreError) {
            let history = try CollectionHistory(seed: seed)
            if let violation = try history.run(steps: 60) { return "\(violation), seed \(seed)" }
            counts.add(history.counts)
        } catch {
            return "unexpected error: \(error), seed \(seed)"
        }
    }
    return nil
}

func runCollections(_ arguments: Arguments) -> Int32 {
    var counts = CollectionCounts()
    let (count, violation) = arguments.run(usual: 300) { collectionViolation(seeds: $0..<$0 + 1, counts: &counts) }
    if let violation {
        print("violation: \(violation)")
        return 1
    }
    print(
        """
        \(count) histories of observed collections from seed \(arguments.seed), \(counts.told) change sets, \
        \(counts.compared) by comparing, with \(counts.modifications) modifications and \(counts.moves) moves, \
        \(counts.cleared) cleared, \(counts.gone) without owner: 0 violations
        """)
    return 0
}

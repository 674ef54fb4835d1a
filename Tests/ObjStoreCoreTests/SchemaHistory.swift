import Foundation
import Testing

import ObjStoreCore
import WholeModel

/// A store whose class gains, loses and renames properties again and again, and beside it what must be in it.
final class SchemaHistory {
    typealias Row = [Int: OwnedValue]

    struct Property {
        /// Another one for each property that ever was, whatever it is called.
        let number: Int
        var name: String
        let kind: ValueKind
        var isIndexed: Bool
        /// It cannot be null.
        var isRequired = false
        /// What older objects have.
        let fill: Value
        /// The id in the interfaces, once it is known.
        var id: UInt32 = 0
    }

    struct State {
        var properties: [Property] = []
        var compounds: [[Int]] = []
        var rows: [Int64: Row] = [:]
        var lists: [Int64: [Int: [Int64]]] = [:]
        /// Numbers of the objects of the other class, which comes and goes; nil: the file has no such class.
        var others: [Int64]? = []
    }

    let seed: UInt64
    var random: IndexRandom
    private let folder = TestFolder()
    private var store: Store
    private(set) var state: State
    private var version: UInt64 = 1
    private var nextNumber = 0
    private var everyID: Set<UInt32> = []
    /// Views of versions before the last changes, and what they must show.
    private var kept: [(store: Store, view: View, state: State)] = []
    private(set) var drops = 0, renames = 0, adds = 0, migrations = 0, refusals = 0, classDrops = 0

    private static let kinds: [ValueKind] = [.int, .string, .timestamp, .double, .list, .link, .uuid, .string]

    init(seed: UInt64) throws {
        self.seed = seed
        random = IndexRandom(seed)
        var first = State()
        first.properties = [Property(number: 0, name: "id", kind: .int, isIndexed: false, fill: .int(0))]
        nextNumber = 1
        for _ in 0..<7 { first.properties.append(SchemaHistory.property(&nextNumber, &random, isFirst: true)) }
        state = first
        store = try SchemaHistory.open(folder["db"], first, [:], 1)
        try learnIDs([:])
    }

    func end() throws {
        try forgetOld()
        try store.close()
    }

    private func forgetOld() throws {
        for old in kept { try old.store.close() }
        kept = []
    }

    private func below(_ bound: Int) -> Int { random.below(bound) }
    private func fail(_ what: String) -> IndexFailure {
        IndexFailure(description: "seed \(seed), schema \(version): \(what)")
    }

    // MARK: Schemas

    private static func property(_ next: inout Int, _ random: inout IndexRandom, isFirst: Bool = false) -> Property {
        let kind = kinds[random.below(kinds.count)], number = next
        next += 1
        // Names come back: what was dropped under them must not.
        let name = isFirst ? "p\(number)" : "p\(random.below(12))"
        let isNumber = kind == .int || kind == .double
        let fill: Value =
            isNumber && random.below(2) == 0 ? (kind == .int ? .int(Int64(number)) : .double(Double(number))) : .null
        return Property(
            number: number, name: name, kind: kind, isIndexed: ![.list, .link].contains(kind) && random.below(3) == 0,
            fill: fill)
    }

    private static func draft(_ state: State, _ former: [Int: String]) throws(StoreError) -> SchemaDraft {
        var draft = SchemaDraft()
        if state.others == nil {
            try draft.dropClass("Other")
        } else {
            try draft.addClass("Other")
            try draft.addProperty("Other", "x", .int, [.indexed])
            try draft.addCollection("Other", "rows", .list, ElementSchema(kind: .link), target: "Row")
        }
        try draft.addClass("Row")
        for property in state.properties {
            switch property.kind {
            case .list: try draft.addCollection("Row", property.name, .list, ElementSchema(kind: .int))
            case .link: try draft.addLink("Row", property.name, to: "Row")
            default:
                var flags: SchemaDraft.Flags = property.number == 0 ? .primaryKey : property.isRequired ? [] : .nullable
                if property.isIndexed { flags.insert(.indexed) }
                try draft.addProperty("Row", property.name, property.kind, flags)
                if !property.fill.isNull, property.number > 0 {
                    try draft.setDefault("Row", property.name, property.fill)
                }
            }
            if let name = former[property.number] { try draft.addFormerName("Row", property.name, name) }
        }
        let names = Dictionary(uniqueKeysWithValues: state.properties.map { ($0.number, $0.name) })
        for compound in state.compounds { try draft.addIndex("Row", compound.map { names[$0]! }, []) }
        return draft
    }

    private static func open(
        _ path: String, _ state: State, _ former: [Int: String], _ version: UInt64,
        migration: (@Sendable (View, View, UInt64, UInt64) throws(StoreError) -> Void)? = nil
    ) throws(StoreError) -> Store {
        var configuration = StoreConfiguration()
        configuration.steps.migration = migration
        configuration.place = .file(path)
        configuration.schema = try draft(state, former)
        configuration.schemaVersion = version
        configuration.durability = .none
        return try Store.open(configuration)
    }

    /// What is new has an id that none ever had, everything else the one it had.
    private func learnIDs(_ before: [Int: UInt32]) throws {
        let view = try store.openView()
        defer { view.close() }
        let cls = try view.findClass("Row")
        for index in state.properties.indices {
            let id = try view.findProperty(cls, state.properties[index].name)
            if let old = before[state.properties[index].number] {
                if old != id { throw fail("\(state.properties[index].name) had the id \(old), now \(id)") }
            } else if !everyID.insert(id).inserted {
                throw fail("the id \(id) of \(state.properties[index].name) was another one's")
            }
            state.properties[index].id = id
        }
    }

    func changeSchema() throws {
        let old = state, path = folder["db"]
        var new = old, former: [Int: String] = [:]
        var gone: Set<Int> = []
        for property in old.properties.dropFirst() where below(5) == 0 { gone.insert(property.number) }
        new.properties.removeAll { gone.contains($0.number) }
        drops += gone.count
        // No name of now may be one of before: new ones are made first.
        for _ in 0..<below(4) {
            let property = SchemaHistory.property(&nextNumber, &random)
            guard !new.properties.contains(where: { $0.name == property.name }) else { continue }
            if old.properties.contains(where: { $0.name == property.name && !gone.contains($0.number) }) { continue }
            // Under the name of one that is dropped in the same step it would be the same property.
            if old.properties.contains(where: { $0.name == property.name }) { continue }
            new.properties.append(property)
            adds += 1
        }
        for index in new.properties.indices
        where below(4) == 0 && old.properties.contains(where: { $0.number == new.properties[index].number }) {
            let name = "q\(version)_\(index)"
            former[new.properties[index].number] = new.properties[index].name
            new.properties[index].name = name
            renames += 1
        }
        for index in new.properties.indices.dropFirst()
        where below(8) == 0 && ![.list, .link].contains(new.properties[index].kind) {
            new.properties[index].isIndexed.toggle()
        }
        let change = Change(
            required: toggleRequired(&new, gone, former), converted: convert(&new, &gone, former, old),
            ids: Dictionary(uniqueKeysWithValues: old.properties.map { ($0.number, $0.id) }))
        new.compounds.removeAll { !$0.allSatisfy { number in !gone.contains(number) } || below(6) == 0 }
        let candidates = new.properties.filter { $0.kind != .list }.map(\.number)
        if below(2) == 0, candidates.count > 2 {
            let first = below(candidates.count),
                pair = [candidates[first], candidates[(first + 1 + below(candidates.count - 1)) % candidates.count]]
            if !new.compounds.contains(pair) { new.compounds.append(pair) }
        }
        for property in new.properties where !old.properties.contains(where: { $0.number == property.number }) {
            let source = change.converted.first { $0.to == property.number }?.from
            for (key, row) in old.rows {
                new.rows[key]![property.number] = OwnedValue(
                    source.map { Change.text(row[$0]!.value) } ?? property.fill)
            }
        }
        for property in new.properties where change.required.contains(where: { $0.number == property.number }) {
            for key in new.rows.keys where new.rows[key]![property.number]!.value.isNull {
                new.rows[key]![property.number] = OwnedValue(Change.value(property.kind))
            }
        }
        for key in new.rows.keys {
            for number in gone {
                new.rows[key]![number] = nil
                new.lists[key]?[number] = nil
            }
        }
        if below(3) == 0 {
            if new.others != nil { classDrops += 1 }
            new.others = new.others == nil ? [] : nil
        }
        // The same version is no reason to change anything, and says which property it is about.
        if !gone.isEmpty || !former.isEmpty {
            do throws(StoreError) {
                let other = try SchemaHistory.open(path, new, former, version)
                try? other.close()
                throw StoreError(.internalError, "accepted")
            } catch {
                let isDropped = new.others == nil && old.others != nil && error.className == "Other"
                if error.code != .schemaMismatch
                    || !isDropped && (error.className != "Row" || error.propertyName == nil)
                {
                    throw fail("another schema of the same version: \(error)")
                }
            }
        }
        version += 1
        if change.isNeeded(old) {
            // Without the migration, and with one that does nothing, the file stays as it is.
            for isIdle in change.hasNulls(old) ? [false, true] : [false] {
                do throws(StoreError) {
                    let other = try SchemaHistory.open(
                        path, new, former, version, migration: isIdle ? Change.nothing : nil)
                    try? other.close()
                    throw StoreError(.internalError, "accepted")
                } catch {
                    if error.code != .schemaMismatch || error.className != "Row" || error.propertyName == nil {
                        throw fail("a migration is needed: \(error)")
                    }
                }
                refusals += 1
            }
            migrations += 1
        }
        let migration = change.isNeeded(old) || below(4) == 0 ? change.migration : nil
        let ids = Dictionary(uniqueKeysWithValues: old.properties.map { ($0.number, $0.id) })
        // A second handle beside the one that is open, or all of them closed before.
        if below(3) == 0 {
            try forgetOld()
            try store.close()
            state = new
            store = try SchemaHistory.open(path, new, former, version, migration: migration)
        } else {
            let live = try store.openView()
            kept.append((store, try live.freeze(), old))
            live.close()
            store = try SchemaHistory.open(path, new, former, version, migration: migration)
            state = new
        }
        try learnIDs(ids)
        while kept.count > 3 { try kept.removeFirst().store.close() }
        for number in gone {
            let view = try store.openView()
            defer { view.close() }
            do throws(StoreError) {
                _ = try view.propertyInfo(ids[number]!)
                throw StoreError(.internalError, "it is there")
            } catch {
                if error.code != .noSuchProperty { throw fail("a dropped property: \(error)") }
            }
        }
    }

    /// Some properties become required, some optional. Returns the former.
    private func toggleRequired(_ new: inout State, _ gone: Set<Int>, _ former: [Int: String]) -> [Property] {
        var required: [Property] = []
        for index in new.properties.indices.dropFirst()
        where ![.list, .link].contains(new.properties[index].kind) && new.properties[index].id != 0 && below(5) == 0 {
            new.properties[index].isRequired.toggle()
            if new.properties[index].isRequired { required.append(new.properties[index]) }
        }
        return required
    }

    /// Now and then an int becomes a text of the same name: another property.
    private func convert(
        _ new: inout State, _ gone: inout Set<Int>, _ former: [Int: String], _ old: State
    ) -> [(from: Int, to: Int, name: String)] {
        guard below(3) == 0,
            let index = new.properties.indices.dropFirst().first(where: { index in
                let property = new.properties[index]
                return property.kind == .int && property.id != 0 && former[property.number] == nil
                    && !property.isRequired
            })
        else { return [] }
        let before = new.properties.remove(at: index), number = nextNumber
        nextNumber += 1
        gone.insert(before.number)
        new.properties.append(
            Property(number: number, name: before.name, kind: .string, isIndexed: below(2) == 0, fill: .null))
        return [(before.number, number, before.name)]
    }

    /// What a migration has to do.
    private struct Change: @unchecked Sendable {
        let required: [Property]
        let converted: [(from: Int, to: Int, name: String)]
        let ids: [Int: UInt32]

        @Sendable static func nothing(_: View, _: View, _: UInt64, _: UInt64) throws(StoreError) {}
        static func value(_ kind: ValueKind) -> Value { kind == .string ? textOf("none") : .zero(of: kind) }
        static func text(_ value: Value) -> Value { value.isNull ? .null : textOf("v\(value.low)") }
        private static func textOf(_ text: String) -> Value {
            var text = text
            return text.withUTF8 { OwnedTexts.keep(.string(UnsafeRawPointer($0.baseAddress!), $0.count)) }
        }

        func hasNulls(_ old: State) -> Bool {
            required.contains { property in old.rows.values.contains { $0[property.number]!.value.isNull } }
        }
        func isNeeded(_ old: State) -> Bool { !converted.isEmpty || hasNulls(old) }

        @Sendable func migration(_ new: View, _ old: View, _ from: UInt64, _ to: UInt64) throws(StoreError) {
            let cls = try new.findClass("Row")
            var cursor = try RowCursor(old, cls)
            while try cursor.next() {
                let object = try cursor.object()
                for property in required {
                    if try new.value(object, property.id, nil).isNull {
                        try new.set(object, property.id, Change.value(property.kind))
                    }
                }
                for (from, _, name) in converted {
                    try new.set(
                        object, try new.findProperty(cls, name), Change.text(try old.value(object, ids[from]!, nil)))
                }
            }
        }
    }

    // MARK: Objects

    private func cell(_ property: Property) -> Value {
        if below(5) == 0, property.number > 0, !property.isRequired { return .null }
        switch property.kind {
        case .int: return .int(Int64(below(50)))
        case .double: return .double(Double(below(20)) / 2)
        case .timestamp: return .timestamp(seconds: Int64(below(1000)), nanoseconds: Int32(below(5)))
        case .uuid: return Value(kind: .uuid, low: Int64(below(9)), high: Int64(below(9)))
        case .link:
            return state.rows.isEmpty
                ? .null : Value(kind: .link, low: state.rows.keys.ascending()[below(state.rows.count)])
        default:
            // Now and then one that lies outside of its leaf.
            let count = below(40) == 0 ? 5000 + below(3000) : below(30)
            let bytes = [UInt8](repeating: UInt8(97 + below(26)), count: count)
            return bytes.withUnsafeBytes { OwnedTexts.keep(.string($0.baseAddress, $0.count)) }
        }
    }

    /// Some new objects, changes, lists and deletions in one transaction.
    func write(_ count: Int) throws {
        let tx = try store.begin(), cls = try tx.findClass("Row"), tag = tx.shared.tag
        func object(_ key: Int64) -> ObjectID { ObjectID(classID: cls, storeTag: tag, key: key) }
        func given(_ value: Value) -> Value { value.kind == .link ? .link(object(value.low)) : value }
        for _ in 0..<count {
            let keys = below(3) > 0 ? state.rows.keys.ascending() : []
            if keys.isEmpty || below(2) == 0 {
                let ids = state.properties.filter { $0.kind != .list }
                var row: Row = [:]
                for property in ids {
                    row[property.number] = OwnedValue(
                        property.number == 0 ? .int(Int64.random(in: 0...Int64.max, using: &random)) : cell(property))
                }
                let values = ids.map { given(row[$0.number]!.value) }
                let made = try values.withUnsafeBufferPointer { values in
                    try ids.map(\.id).withUnsafeBufferPointer { try tx.create(cls, $0, values.baseAddress!) }
                }
                state.rows[made.key] = row
                state.lists[made.key] = [:]
                continue
            }
            let key = keys[below(keys.count)], property = state.properties[1...].randomElement(using: &random)
            if below(8) == 0 || property == nil {
                try tx.delete(object(key))
                state.rows[key] = nil
                state.lists[key] = nil
                for link in state.properties where link.kind == .link {
                    for other in state.rows.keys
                    where state.rows[other]![link.number]?.value.low == key
                        && state.rows[other]![link.number]?.value.isNull == false
                    {
                        state.rows[other]![link.number] = OwnedValue(.null)
                    }
                }
            } else if property!.kind == .list {
                let elements = (0..<[1, 3, 40][below(3)]).map { _ in Int64(below(1 << 40)) }
                try elements.map { Value.int($0) }.withUnsafeBufferPointer {
                    try tx.insert(CollectionID(owner: object(key), propertyID: property!.id), at: nil, $0)
                }
                state.lists[key]![property!.number, default: []] += elements
            } else {
                let value = cell(property!)
                try tx.set(object(key), property!.id, given(value))
                state.rows[key]![property!.number] = OwnedValue(value)
            }
        }
        if state.others != nil { try writeOthers(tx) }
        _ = try tx.commit()
    }

    private func writeOthers(_ tx: View) throws {
        let cls = try tx.findClass("Other"), x = try tx.findProperty(cls, "x"), rows = try tx.findProperty(cls, "rows"),
            keys = state.rows.keys.ascending()
        let row = try tx.findClass("Row")
        for _ in 0..<below(4) {
            let number = Int64(below(1000))
            let made = try withUnsafePointer(to: Value.int(number)) { value in
                try [x].withUnsafeBufferPointer { try tx.create(cls, $0, value) }
            }
            state.others!.append(number)
            guard let key = keys.first else { continue }
            try [Value.link(ObjectID(classID: row, storeTag: tx.shared.tag, key: key))].withUnsafeBufferPointer {
                try tx.insert(CollectionID(owner: made, propertyID: rows), at: nil, $0)
            }
        }
    }

    private func checkOthers(_ view: View, _ state: State) throws {
        guard let others = state.others else {
            do throws(StoreError) { _ = try view.findClass("Other") } catch {
                if error.code != .noSuchClass { throw fail("the dropped class: \(error)") }
                if try view.classCount() != 1 { throw fail("\(try view.classCount()) classes") }
                return
            }
            throw fail("the dropped class is there")
        }
        let cls = try view.findClass("Other"), x = try view.findProperty(cls, "x"),
            found = try view.find(Query(all: cls))
        var numbers: [Int64] = []
        for index in 0..<(try view.count(cls)) {
            numbers.append(try view.value(try found.object(at: UInt64(index)), x, nil).low)
        }
        if numbers != others { throw fail("the other class has \(numbers), not \(others)") }
        if let first = others.first,
            try view.count(Query(cls, x, .equal, .int(first))) != others.filter({ $0 == first }).count
        {
            throw fail("its index")
        }
    }

    func compact() throws {
        try forgetOld()
        try store.compact { (_, _) throws(StoreError) in }
        let view = try store.openView()
        defer { view.close() }
        let snapshot = try view.pinnedSnapshot("test")
        let cls = snapshot.schema.classes[snapshot.schema.classIndex(named: "Row")!], known = Set(cls.columns.map(\.id))
        var cursor = LeafCursor(try snapshot.trees.objects(cls), from: 0)
        while let head = try cursor.next() {
            for index in LeafExtents.entries(head) {
                let id = LeafExtents.entry(head, index).columnID
                if id != LeafKeys.column, !known.contains(id) {
                    throw fail("a leaf still has column \(id) behind a compaction")
                }
            }
        }
    }

    /// Closed, salvaged into another file, and opened there.
    func salvage() throws {
        try forgetOld()
        try store.close()
        let salvaged = try StoreFiles.salvage(
            folder["db"], to: folder["other"], progress: { (_, _) throws(StoreError) in },
            report: { (finding) throws(StoreError) in
                if case .finding(let text) = finding { throw StoreError(.corrupt, text) }
            })
        if salvaged.losses != 0 { throw fail("\(salvaged.losses) losses") }
        try StoreFiles.delete(folder["db"])
        try FileManager.default.moveItem(atPath: folder["other"], toPath: folder["db"])
        store = try SchemaHistory.open(folder["db"], state, [:], version)
    }

    /// A copy has the same in it.
    func copy() throws {
        let view = try store.openView()
        try view.copy(to: folder["copy"]) { (_, _) throws(StoreError) in }
        view.close()
        let copy = try SchemaHistory.open(folder["copy"], state, [:], version)
        let there = try copy.openView()
        let findings = try there.verify { (_, _) throws(StoreError) in }
        if !findings.isEmpty { throw fail("copy: \(findings)") }
        try check(there, state)
        there.close()
        try copy.close()
        try StoreFiles.delete(folder["copy"])
    }

    // MARK: Checking

    func check() throws {
        let view = try store.openView()
        defer { view.close() }
        let findings = try view.verify { (_, _) throws(StoreError) in }
        if !findings.isEmpty { throw fail("\(findings)") }
        try check(view, state)
        for old in kept { try check(old.view, old.state) }
    }

    private func check(_ view: View, _ state: State) throws {
        let cls = try view.findClass("Row"), tag = view.shared.tag
        try checkOthers(view, state)
        if try view.count(cls) != state.rows.count {
            throw fail("\(try view.count(cls)) objects, not \(state.rows.count)")
        }
        if try view.classInfo(cls).propertyCount != state.properties.count {
            throw fail("\(try view.classInfo(cls).propertyCount) properties")
        }
        var buffer = OutputBuffer()
        defer { OutputBuffer.free(&buffer) }
        for property in state.properties {
            let info = try view.propertyInfo(property.id)
            guard info.name == property.name, info.kind == property.kind,
                try view.findProperty(cls, property.name) == property.id
            else {
                throw fail("\(property.name) is called \(info.name)")
            }
        }
        let scalars = state.properties.filter { $0.kind != .list }, ids = scalars.map(\.id)
        for (key, row) in state.rows {
            var values = [Value](repeating: .null, count: ids.count)
            let object = ObjectID(classID: cls, storeTag: tag, key: key)
            try ids.withUnsafeBufferPointer { try view.values(object, $0, &buffer, into: &values) }
            for (index, property) in scalars.enumerated() {
                let wanted = row[property.number]!.value
                let isSame =
                    wanted.kind == .link
                    ? values[index].kind == .link && values[index].low == wanted.low : values[index].isSame(as: wanted)
                if !isSame { throw fail("\(property.name) of \(key) is \(values[index].text), not \(wanted.text)") }
            }
            for property in state.properties where property.kind == .list {
                var elements: [Int64] = []
                _ = try view.elements(
                    CollectionID(owner: object, propertyID: property.id), from: 0, limit: .max, wantsKeys: false, nil
                ) { elements.append($2.low) }
                if elements != state.lists[key]![property.number] ?? [] {
                    throw fail("\(property.name) of \(key) has \(elements.count) elements")
                }
            }
        }
        for property in scalars where property.kind == .int || property.kind == .string {
            let wanted = state.rows.values.first?[property.number]?.value ?? .null
            if wanted.isNull { continue }
            let count = state.rows.values.filter { $0[property.number]!.value.isSame(as: wanted) }.count
            if try view.count(Query(cls, property.id, .equal, wanted)) != count {
                throw fail("count of \(property.name) = \(wanted.text)")
            }
        }
    }
}

/// Texts of a test, which live for ever.
enum OwnedTexts {
    nonisolated(unsafe) private static var all: [OwnedValue] = []
    private static let lock = Lock()
    static func keep(_ value: Value) -> Value {
        let owned = OwnedValue(value)
        lock.withLock { all.append(owned) }
        return owned.value
    }
}

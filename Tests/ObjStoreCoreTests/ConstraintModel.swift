import Testing

import ObjStoreCore
import WholeModel

/// A store whose class has unique properties and compound indexes of every kind of value, and beside it what must be in
/// it: rows in a dictionary, unique values in dictionaries, every order by sorting.
final class ConstraintModel {
    struct Cell {
        let owned: OwnedValue
        /// What an index takes for equal is equal here.
        let sample: IndexSample

        init(_ value: Value) {
            owned = OwnedValue(value)
            sample = IndexSample(value)
        }
        var value: Value { owned.value }
    }
    typealias Row = [Cell]

    /// What a transaction, or a savepoint, goes back to.
    struct State {
        var rows: [Int64: Row] = [:]
        /// By unique index: tuple to object.
        var owners: [[[IndexSample]: Int64]]
    }

    static let kinds: [(name: String, kind: ValueKind, flags: SchemaDraft.Flags)] = [
        ("id", .int, [.primaryKey]), ("mail", .string, [.nullable, .unique]),
        ("price", .decimal128, [.nullable, .unique]),
        ("level", .double, [.nullable, .indexed]), ("last", .string, []), ("first", .string, [.nullable]),
        ("born", .timestamp, [.nullable]),
        ("data", .binary, [.nullable]), ("flag", .bool, []), ("n", .int, [.nullable, .unique, .indexed]),
        ("tag", .uuid, [.nullable]),
        ("single", .float, []), ("oid", .objectID, []),
    ]
    static let compounds: [(names: [String], isUnique: Bool)] = [
        (["last", "first"], true), (["level", "last", "n"], false), (["flag", "tag", "single"], true),
        (["data", "born"], false),
        (["price", "oid", "first"], false), (["last", "born", "data"], true),
    ]
    static func position(_ name: String) -> Int { kinds.firstIndex { $0.name == name }! }
    /// As the class has them: the primary key's, those of one property, compound ones.
    static let indexes: [(properties: [Int], isUnique: Bool)] =
        [([0], true)]
        + kinds.indices.filter { !kinds[$0].flags.isDisjoint(with: [.unique, .indexed]) }.map {
            ([$0], kinds[$0].flags.contains(.unique))
        }
        + compounds.map { ($0.names.map { position($0) }, $0.isUnique) }

    static func draft() throws(StoreError) -> SchemaDraft {
        var draft = SchemaDraft()
        try draft.addClass("Row")
        for (name, kind, flags) in kinds { try draft.addProperty("Row", name, kind, flags) }
        for (names, isUnique) in compounds { try draft.addIndex("Row", names, isUnique ? .unique : []) }
        return draft
    }

    let seed: UInt64
    var random: IndexRandom
    private let folder = TestFolder()
    private(set) var store: Store
    private(set) var tx: View
    private(set) var cls: UInt32 = 0
    private(set) var properties: [UInt32] = []
    private(set) var indexIDs: [UInt32] = []
    var state: State
    private var committed: State
    private var scopes: [(id: UInt64, state: State)] = []
    var operations = 0, refused = 0, checks = 0, kinds: [String: Int] = [:]

    init(seed: UInt64) throws {
        self.seed = seed
        random = IndexRandom(seed)
        state = State(owners: ConstraintModel.indexes.map { _ in [:] })
        committed = state
        store = try ConstraintModel.open(folder["db"])
        tx = try store.begin()
        try findIDs()
    }

    private static func open(_ path: String) throws -> Store {
        var configuration = StoreConfiguration()
        configuration.place = .file(path)
        configuration.schema = try draft()
        configuration.durability = .none
        return try Store.open(configuration)
    }

    private func findIDs() throws {
        cls = try tx.findClass("Row")
        properties = try ConstraintModel.kinds.map { try tx.findProperty(cls, $0.name) }
        indexIDs = try ConstraintModel.indexes.map { index in
            try index.properties.map { properties[$0] }.withUnsafeBufferPointer { try tx.findIndex(cls, $0) }
        }
    }

    func end() throws {
        tx.close()
        try store.close()
    }

    func object(_ key: Int64) -> ObjectID { ObjectID(classID: cls, storeTag: tx.shared.tag, key: key) }
    func below(_ bound: Int) -> Int { random.below(bound) }
    func anyKey() -> Int64? { state.rows.isEmpty ? nil : state.rows.keys.ascending()[below(state.rows.count)] }

    // MARK: Values

    private var pool: Int { 40 }
    private static let stem = [UInt8](repeating: 0x6c, count: 66)

    private func text(_ spread: Int) -> [UInt8] {
        switch below(10) {
        case 0: [UInt8](repeating: 0, count: below(3))
        case 1: Array("a\0b\(below(3))".utf8)
        case 2: ConstraintModel.stem + [UInt8(97 + below(4))]
        case 3: ConstraintModel.stem + [0, UInt8(97 + below(2))] + [UInt8](repeating: 0x7a, count: below(200))
        case 4: Array("é\(below(spread))".utf8)
        default: Array("n\(below(spread))".utf8)
        }
    }

    func cell(_ property: Int) -> Cell {
        let (_, kind, flags) = ConstraintModel.kinds[property]
        if flags.contains(.nullable), below(4) == 0 { return Cell(.null) }
        switch kind {
        case .int:
            return Cell(
                .int(
                    property == 0
                        ? Int64(below(400)) : [Int64.min, .max, -1, Int64(below(pool * 8))][min(3, below(12))]))
        case .bool: return Cell(.bool(below(2) == 0))
        case .double:
            return Cell(.double([-0.0, 0.0, .nan, -.nan, .infinity, -1.5, Double(below(pool)) / 4][min(6, below(12))]))
        case .float: return Cell(.float([-0.0, 0.0, .nan, -.infinity, Float(below(pool)) / 4 - 2][min(4, below(9))]))
        case .decimal128:
            if below(12) == 0 {
                let (low, high) = NaiveDecimal.random(&random)
                return Cell(.decimal128(Decimal128(low: low, high: high)))
            }
            // One number in several ways.
            let zeros = below(3)
            let power: UInt128 = [1, 10, 100][zeros]
            return Cell(
                .decimal128(
                    Decimal128(
                        isNegative: below(2) == 0, exponent: 6176 - zeros, coefficient: UInt128(below(pool * 4)) * power
                    )))
        case .timestamp:
            return Cell(.timestamp(seconds: Int64(below(5)) - 2, nanoseconds: Int32([0, 1, 999_999_999][below(3)])))
        case .uuid:
            return Cell(Value(kind: .uuid, low: Int64(below(5)) - 2, high: [.min, .max, Int64(below(4))][below(3)]))
        case .objectID: return Cell(Value(kind: .objectID, low: Int64(below(5)) - 2, high: Int64(below(3)) << 30))
        default:
            let bytes = kind == .binary ? text(4).map { $0 == 97 ? 255 : $0 } : text(pool)
            return bytes.withUnsafeBytes { Cell(Value(kind: kind, pointer: $0.baseAddress, count: bytes.count)) }
        }
    }

    func row() -> Row { ConstraintModel.kinds.indices.map { cell($0) } }

    func with<R>(_ row: Row, _ body: (UnsafePointer<Value>) throws -> R) throws -> R {
        defer { withExtendedLifetime(row) {} }
        return try row.map(\.value).withUnsafeBufferPointer { try body($0.baseAddress!) }
    }

    // MARK: The model

    static func tuple(_ row: Row, _ index: Int) -> [IndexSample] { indexes[index].properties.map { row[$0].sample } }

    /// Puts a row in the place of another of that object; false where a unique value is another object's.
    static func put(_ row: Row?, _ key: Int64, in state: inout State) -> Bool {
        for (number, index) in indexes.enumerated() where index.isUnique {
            guard let row else { continue }
            let tuple = tuple(row, number)
            if !tuple.contains(.null), let other = state.owners[number][tuple], other != key { return false }
        }
        if let old = state.rows[key] {
            for number in indexes.indices where indexes[number].isUnique {
                state.owners[number][tuple(old, number)] = nil
            }
        }
        state.rows[key] = row
        for (number, index) in indexes.enumerated() where index.isUnique {
            guard let row else { continue }
            let tuple = tuple(row, number)
            if !tuple.contains(.null) { state.owners[number][tuple] = key }
        }
        return true
    }

    /// Runs `body` in the store; it must fail exactly where the model says so.
    private func expect(_ name: String, _ isAllowed: Bool, _ body: () throws -> Void) throws {
        operations += 1
        kinds[name, default: 0] += 1
        do {
            try body()
            if !isAllowed {
                throw IndexFailure(description: "seed \(seed), operation \(operations): \(name) was to be refused")
            }
        } catch let error as StoreError {
            if isAllowed || error.code != .duplicateKey {
                throw IndexFailure(description: "seed \(seed), operation \(operations): \(name): \(error)")
            }
            refused += 1
        }
    }

    // MARK: Operations

    func step() throws {
        switch below(40) {
        case 0...11: try create()
        case 12...17: try set()
        case 18...22: try setRow()
        case 23...25: try increment()
        case 26...29: try upsert()
        case 30...32:
            guard let key = anyKey() else { return }
            try expect("delete", true) { try tx.delete(object(key)) }
            _ = ConstraintModel.put(nil, key, in: &state)
        case 33: if state.rows.count > 150 || below(60) == 0 { try deleteMany() }
        case 34...35: try insert()
        case 36:
            if scopes.count < 4 { scopes.append((try tx.beginSavepoint(), state)) }
        case 37:
            guard !scopes.isEmpty else { return }
            let at = below(scopes.count)
            if below(2) == 0 {
                try tx.releaseSavepoint(scopes[at].id)
            } else {
                try tx.rollBack(toSavepoint: scopes[at].id)
                state = scopes[at].state
            }
            scopes.removeSubrange(at...)
        case 38: if below(3) == 0 { try endTransaction() }
        default: if below(3) == 0 { try check() }
        }
    }

    private func create() throws {
        let row = row()
        var next = state
        let isFree = next.owners[0][[row[0].sample]] == nil
        let isAllowed = isFree && ConstraintModel.put(row, .max, in: &next)
        try expect("create", isAllowed) {
            let made = try with(row) { values in
                try properties.withUnsafeBufferPointer { try tx.create(cls, $0, values) }
            }
            _ = ConstraintModel.put(row, made.key, in: &state)
        }
    }

    private func change(_ name: String, _ key: Int64, _ row: Row, _ body: () throws -> Void) throws {
        var next = state
        let isAllowed = ConstraintModel.put(row, key, in: &next)
        try expect(name, isAllowed, body)
        if isAllowed { state = next }
    }

    private func set() throws {
        guard let key = anyKey() else { return }
        let property = 1 + below(properties.count - 1)
        var row = state.rows[key]!
        // Now and then what it has, or what another one has.
        if below(6) == 0, let other = anyKey() {
            row[property] = state.rows[other]![property]
        } else if below(6) != 0 {
            row[property] = cell(property)
        }
        try change("set", key, row) { try tx.set(object(key), properties[property], row[property].value) }
    }

    private func setRow() throws {
        guard let key = anyKey() else { return }
        let chosen = (1..<properties.count).shuffled(using: &random).prefix(1 + below(5))
        var row = state.rows[key]!
        let other = below(3) == 0 ? anyKey().map { state.rows[$0]! } : nil
        for property in chosen { row[property] = other?[property] ?? cell(property) }
        try change("set_row", key, row) {
            defer { withExtendedLifetime(row) {} }
            return try chosen.map { row[$0].value }.withUnsafeBufferPointer { values in
                try chosen.map { properties[$0] }.withUnsafeBufferPointer {
                    try tx.set(object(key), $0, values.baseAddress!)
                }
            }
        }
    }

    private func increment() throws {
        let property = ConstraintModel.position("n")
        guard let key = anyKey(), case .integer(let number) = state.rows[key]![property].sample else { return }
        let (sum, overflow) = number.addingReportingOverflow(Int64(below(5)))
        if overflow { return }
        var row = state.rows[key]!
        row[property] = Cell(.int(sum))
        try change("increment", key, row) { _ = try tx.increment(object(key), properties[property], sum - number) }
    }

    private func upsert() throws {
        let row = row(), policy = UpsertPolicy(rawValue: Int32(below(3)))!
        let there = state.owners[0][[row[0].sample]]
        var next = state
        let isAllowed = (there == nil || policy != .error) && ConstraintModel.put(row, there ?? .max, in: &next)
        try expect("upsert", isAllowed) {
            let (made, _) = try with(row) { values in
                try properties.withUnsafeBufferPointer { try tx.upsert(cls, policy, $0, values) }
            }
            if let there, made.key != there {
                throw IndexFailure(description: "seed \(seed): upsert changed another object")
            }
            _ = ConstraintModel.put(row, made.key, in: &state)
        }
    }

    private func deleteMany() throws {
        if below(3) == 0 {
            #expect(try tx.deleteAll(cls) == state.rows.count)
            state = State(owners: state.owners.map { _ in [:] })
            return
        }
        for key in state.rows.keys.ascending() where below(2) == 0 {
            try tx.delete(object(key))
            _ = ConstraintModel.put(nil, key, in: &state)
            operations += 1
        }
    }

    /// Rows of columns: each in its turn, all or none.
    private func insert() throws {
        let count = [1, 3, 8, 40, 90][below(5)], policy = UpsertPolicy(rawValue: Int32(below(3)))!
        var rows = (0..<count).map { _ in row() }
        // Most of a batch would clash somewhere: make values rarer.
        let isRare = below(4) != 0
        if isRare {
            for index in rows.indices {
                for name in ["mail", "price", "n", "first", "tag"] where below(40) != 0 {
                    let property = ConstraintModel.position(name)
                    rows[index][property] = below(2) == 0 ? Cell(.null) : rare(property)
                }
                rows[index][ConstraintModel.position("last")] = rare(ConstraintModel.position("last"))
                if policy == .error || below(2) == 0 { rows[index][0] = Cell(.int(Int64(random.next() >> 8))) }
            }
        }
        var next = state, isAllowed = true, isNew = Int64.max
        var given: [Int64] = []
        for row in rows where isAllowed {
            let there = next.owners[0][[row[0].sample]]
            isAllowed = (there == nil || policy != .error) && ConstraintModel.put(row, there ?? isNew, in: &next)
            given.append(there ?? isNew)
            if there == nil { isNew -= 1 }
        }
        let columns = InputColumns(rows, properties)
        var keys = [Int64](repeating: -7, count: count)
        operations += count - 1
        try expect("insert", isAllowed) {
            _ = try keys.withUnsafeMutableBufferPointer {
                try tx.insert(cls, policy, UnsafeBufferPointer(columns.columns), rows: count, keys: $0.baseAddress)
            }
        }
        if !isAllowed {
            if keys.contains(where: { $0 != -7 }) {
                throw IndexFailure(description: "seed \(seed): an insert that was refused gave keys")
            }
            return
        }
        for (index, name) in given.enumerated() where name < 1 << 60 && keys[index] != name {
            throw IndexFailure(
                description: "seed \(seed): row \(index) is said to be of object \(keys[index]), not \(name)")
        }
        var names: [Int64: Int64] = [:]
        for (index, name) in given.enumerated() { names[name] = keys[index] }
        var state = self.state
        for (key, row) in next.rows where names[key] != nil {
            if key > 1 << 60 { state.rows[names[key]!] = row } else { state.rows[key] = row }
        }
        state.owners = next.owners.map { $0.mapValues { names[$0] ?? $0 } }
        self.state = state
    }

    private func rare(_ property: Int) -> Cell {
        let number = Int64(random.next() >> 20)
        switch ConstraintModel.kinds[property].kind {
        case .int: return Cell(.int(number))
        case .decimal128:
            return Cell(.decimal128(Decimal128(isNegative: false, exponent: 6170, coefficient: UInt128(number))))
        case .uuid: return Cell(Value(kind: .uuid, low: number, high: 0))
        default:
            let bytes = (below(5) == 0 ? ConstraintModel.stem : []) + Array("r\(number)".utf8)
            return bytes.withUnsafeBytes { Cell(.string($0.baseAddress, bytes.count)) }
        }
    }

    private func endTransaction() throws {
        scopes = []
        if try !tx.endOfHistory(below(6), &store, reopen: { try ConstraintModel.open(folder["db"]) }) {
            state = committed
        }
        committed = state
        let view = try store.openView()
        let findings = try view.verify { (_, _) throws(StoreError) in }
        if !findings.isEmpty { throw IndexFailure(description: "seed \(seed), operation \(operations): \(findings)") }
        try check(view)
        view.close()
        tx = try store.begin()
    }

    // MARK: Comparing

    func check() throws { try check(tx) }

    /// Every object, the order of every index, and some questions.
    private func check(_ view: View) throws {
        checks += 1
        func fail(_ what: String) -> IndexFailure {
            IndexFailure(description: "seed \(seed), operation \(operations): \(what)")
        }
        if try view.count(cls) != state.rows.count {
            throw fail("\(try view.count(cls)) objects, not \(state.rows.count)")
        }
        var buffer = OutputBuffer()
        defer { OutputBuffer.free(&buffer) }
        for (key, row) in state.rows {
            var values = [Value](repeating: .null, count: row.count)
            try properties.withUnsafeBufferPointer { try view.values(object(key), $0, &buffer, into: &values) }
            for property in row.indices where !values[property].isSame(as: row[property].value) {
                throw fail(
                    """
                    \(ConstraintModel.kinds[property].name) of \(key) is \(values[property].text), not \
                    \(row[property].value.text)
                    """
                )
            }
        }
        for (number, index) in ConstraintModel.indexes.enumerated() {
            let entries = state.rows.map { (tuple: ConstraintModel.tuple($1, number), key: $0) }
            let sorted = WholeModel.order(entries.count) { left, right in
                for column in index.properties.indices {
                    let a = entries[left].tuple[column], b = entries[right].tuple[column]
                    if a < b { return true }
                    if b < a { return false }
                }
                return entries[left].key < entries[right].key
            }.map { entries[$0] }
            try compare(view, number, [], [], [], sorted.map(\.key))
            for _ in 0..<3 {
                let from = try bound(index.properties),
                    to = below(2) == 0 ? try bound(index.properties) : Array(from.prefix(below(from.count + 1)))
                let flags = IndexStretch.Flags(rawValue: UInt32(below(4)))
                let wanted = sorted.filter { entry in
                    let first = order(entry.tuple, from), last = order(entry.tuple, to)
                    let isAfter = flags.contains(.afterFrom) && !from.isEmpty ? first > 0 : first >= 0
                    let isBefore = flags.contains(.beforeTo) && !to.isEmpty ? last < 0 : last <= 0
                    return isAfter && isBefore
                }
                try compare(view, number, from, to, flags, wanted.map(\.key))
            }
            guard index.isUnique else { continue }
            for _ in 0..<4 {
                let other = below(2) == 0 ? anyKey() : nil
                let cells = index.properties.map { other == nil ? cell($0) : state.rows[other!]![$0] }
                let wanted = cells.contains { $0.value.isNull } ? nil : state.owners[number][cells.map(\.sample)]
                let found = try withExtendedLifetime(cells) {
                    try cells.map(\.value).withUnsafeBufferPointer { try view.find(by: indexIDs[number], $0) }
                }
                if found?.key != wanted {
                    throw fail(
                        "index \(number) finds \(String(describing: found?.key)), not \(String(describing: wanted))")
                }
            }
        }
    }

    private func bound(_ properties: [Int]) throws -> [Cell] {
        let count = below(properties.count + 1)
        if below(2) == 0, let key = anyKey() { return properties.prefix(count).map { state.rows[key]![$0] } }
        return properties.prefix(count).map { below(8) == 0 ? Cell(.null) : cell($0) }
    }

    private func order(_ tuple: [IndexSample], _ bound: [Cell]) -> Int {
        for column in bound.indices {
            let a = tuple[column], b = bound[column].sample
            if a < b { return -1 }
            if b < a { return 1 }
        }
        return 0
    }

    private func compare(
        _ view: View, _ number: Int, _ from: [Cell], _ to: [Cell], _ flags: IndexStretch.Flags, _ wanted: [Int64]
    ) throws {
        let question = try from.map(\.value).withUnsafeBufferPointer { from in
            try to.map(\.value).withUnsafeBufferPointer {
                try IndexStretch(indexIDs[number], from: from, to: $0, flags)
            }
        }
        defer { withExtendedLifetime((from, to)) {} }
        let count = try view.count(view.query(in: question))
        let results = try view.find(view.query(in: question)).list()
        let found = (0..<results.count).map { results.keys[$0] }
        if count != wanted.count || found != wanted {
            throw IndexFailure(
                description:
                    """
                    seed \(seed), operation \(operations): index \(number), \(from.map(\.value.text)) to \
                    \(to.map(\.value.text)), flags \(flags.rawValue): \(found), not \(wanted)
                    """
            )
        }
    }
}

extension View {
    /// Ends a transaction of a history in one of the ways there are: cancelled (false), committed, and then perhaps the
    /// store is opened again or compacted.
    func endOfHistory(_ way: Int, _ store: inout Store, reopen: () throws -> Store) throws -> Bool {
        if way == 0 {
            try cancel()
            return false
        }
        _ = try commit()
        if way == 1 {
            try store.close()
            store = try reopen()
        }
        if way == 2 { try store.compact { (_, _) throws(StoreError) in } }
        return true
    }
}

/// Rows as columns; owns their memory.
final class InputColumns {
    let columns: UnsafeMutableBufferPointer<InputColumn>
    private var memory: [UnsafeMutableRawPointer] = []

    init(_ rows: [ConstraintModel.Row], _ properties: [UInt32]) {
        columns = .allocate(capacity: properties.count)
        for (position, property) in properties.enumerated() {
            let kind = ConstraintModel.kinds[position].kind
            let size = kind.isText ? 0 : ValueCell.size(kind)
            let bytes = kind.isText ? rows.reduce(0) { $0 + $1[position].value.count } : size * rows.count
            let values = room(bytes), offsets = room((rows.count + 1) * 8), validity = room(rows.count / 8 + 1)
            var end = 0
            offsets.storeBytes(of: 0, as: Int64.self)
            for (index, row) in rows.enumerated() {
                let value = row[position].value
                if !value.isNull {
                    let byte = validity + index >> 3
                    byte.storeBytes(of: byte.load(as: UInt8.self) | 1 << UInt8(index & 7), as: UInt8.self)
                    if kind.isText {
                        if value.count > 0 { (values + end).copyMemory(from: value.pointer!, byteCount: value.count) }
                        end += value.count
                    } else if kind == .int || kind == .double {
                        values.storeBytes(of: value.low, toByteOffset: index * 8, as: Int64.self)
                    } else {
                        ValueCell.store(value, values + index * size)
                    }
                }
                offsets.storeBytes(of: Int64(end), toByteOffset: (index + 1) * 8, as: Int64.self)
            }
            columns.initializeElement(
                at: position,
                to: InputColumn(
                    propertyID: property, kind: kind, values: UnsafeRawPointer(values),
                    offsets: kind.isText ? UnsafePointer(offsets.assumingMemoryBound(to: Int64.self)) : nil,
                    validity: UnsafePointer(validity.assumingMemoryBound(to: UInt8.self)), valuesBytes: UInt64(end)))
        }
    }

    private func room(_ bytes: Int) -> UnsafeMutableRawPointer {
        let block = UnsafeMutableRawPointer.allocate(byteCount: max(bytes, 16), alignment: 16)
        block.initializeMemory(as: UInt8.self, repeating: 0, count: max(bytes, 16))
        memory.append(block)
        return block
    }

    deinit {
        columns.deallocate()
        for block in memory { block.deallocate() }
    }
}

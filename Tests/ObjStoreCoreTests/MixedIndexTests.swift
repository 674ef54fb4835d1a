import Testing

import ObjStoreCore
import WholeModel

/// Indexes of mixed properties, alone, unique and in tuples, and questions about them.
@Suite struct MixedIndexTests {
    private static func sign(_ number: Int) -> Int { number < 0 ? -1 : number > 0 ? 1 : 0 }

    /// The bytes of every pair of values are ordered as the values are, and none of two that differ begin the other's.
    @Test(arguments: [1, 2, 3, 4] as [UInt64]) func bytesAreOrderedAsValues(seed: UInt64) throws {
        var random = IndexRandom(seed), equal = 0
        for _ in 0..<25 {
            var all: [(value: OwnedValue, bytes: [UInt8])] = []
            for _ in 0..<100 {
                let value = try MixedSample.next(&random), key = IndexKey()
                try key.append(mixed: value.value)
                all.append((value, [UInt8](UnsafeRawBufferPointer(start: key.value.pointer, count: key.value.count))))
            }
            for a in all {
                for b in all {
                    let order = MixedIndexTests.sign(try MixedOrder.compare(a.value.value, b.value.value))
                    let bytes = a.bytes == b.bytes ? 0 : comesBefore(a.bytes, b.bytes) ? -1 : 1
                    if order != bytes {
                        Issue.record(
                            """
                            seed \(seed): \(a.value.value.text) and \(b.value.value.text): \(order), \(a.bytes), \
                            \(b.bytes)
                            """
                        )
                    }
                    if order != 0, b.bytes.starts(with: a.bytes) {
                        Issue.record("seed \(seed): \(a.bytes) begins \(b.bytes)")
                    }
                    if order == 0, !a.value.value.isSame(as: b.value.value) { equal += 1 }
                }
            }
        }
        #expect(equal > 150, "\(equal) pairs of equal values that differ")
    }

    @Test func floorOfANumber() throws {
        func expect(_ value: Value, _ floor: Double, _ isExact: Bool, sourceLocation: SourceLocation = #_sourceLocation)
        {
            #expect(ExactNumber.floor(value) == (floor, isExact), "\(value.text)", sourceLocation: sourceLocation)
        }
        expect(.int(1 << 53 + 1), 0x1p53, false)
        expect(.int(-(1 << 53) - 1), -(0x1p53.nextUp), false)
        expect(.int(.max), 0x1p63.nextDown, false)
        expect(.int(.min), -0x1p63, true)
        let texts: [(String, Double, Bool)] = [
            ("0.1", 0.1.nextDown, false), ("-0.1", -0.1, false), ("0.25", 0.25, true), ("0E-6000", 0, true),
            ("1E-400", 0, false),
            ("-1E-400", -.leastNonzeroMagnitude, false), ("1E400", .greatestFiniteMagnitude, false),
            ("-1E400", -.infinity, false),
            ("1E-340", 0, false), ("5E-324", .leastNonzeroMagnitude, false),
            ("1.7976931348623157E308", Double.greatestFiniteMagnitude.nextDown, false),
            ("Infinity", .infinity, true), ("-Infinity", -.infinity, true),
        ]
        for (text, floor, isExact) in texts { expect(.decimal128(try Decimal128(text)), floor, isExact) }
    }

    @Test(arguments: [21, 22] as [UInt64]) func historiesAgainstAModel(seed: UInt64) throws {
        let model = try MixedIndexModel(seed: seed)
        while model.operations < 6000 { try model.step() }
        try model.check()
        try model.end()
        #expect(
            model.refused > 100 && model.checks > 60, "\(model.refused) refused, \(model.checks) checks, seed \(seed)")
        print("seed \(seed): \(model.operations) operations, \(model.refused) refused, \(model.checks) checks")
    }
}

/// A store whose class has mixed properties with an index, without one, and a unique one, and beside it what must be in
/// it.
final class MixedIndexModel {
    struct Row {
        /// Of `any`, `plain` (the same without index) and `code`.
        var any: OwnedValue
        var code: OwnedValue
        var number: Int64
    }

    private let seed: UInt64, folder = TestFolder()
    private var random: IndexRandom
    private var store: Store, tx: View
    private var cls: UInt32 = 0, properties: [UInt32] = [], pair: UInt32 = 0, unique: UInt32 = 0
    private var rows: [Int64: Row] = [:], committed: [Int64: Row] = [:]
    private var scopes: [(id: UInt64, rows: [Int64: Row])] = []
    private var nextID: Int64 = 0
    private(set) var operations = 0, refused = 0, checks = 0

    init(seed: UInt64) throws {
        self.seed = seed
        random = IndexRandom(seed)
        store = try MixedIndexModel.open(folder["db"])
        tx = try store.begin()
        try findIDs()
    }

    private static func open(_ path: String) throws -> Store {
        var configuration = StoreConfiguration(), draft = SchemaDraft()
        try draft.addClass("Row")
        try draft.addProperty("Row", "id", .int, [.primaryKey])
        try draft.addProperty("Row", "any", .mixed, [.indexed])
        try draft.addProperty("Row", "plain", .mixed, [])
        try draft.addProperty("Row", "code", .mixed, [.unique])
        try draft.addProperty("Row", "number", .int, [.indexed])
        try draft.addIndex("Row", ["any", "number"], [])
        configuration.place = .file(path)
        configuration.schema = draft
        configuration.durability = .none
        return try Store.open(configuration)
    }

    private func findIDs() throws {
        cls = try tx.findClass("Row")
        properties = try ["id", "any", "plain", "code", "number"].map { try tx.findProperty(cls, $0) }
        pair = try [properties[1], properties[4]].withUnsafeBufferPointer { try tx.findIndex(cls, $0) }
        unique = try [properties[3]].withUnsafeBufferPointer { try tx.findIndex(cls, $0) }
    }

    func end() throws {
        tx.close()
        try store.close()
    }

    private func fail(_ what: String) -> IndexFailure {
        IndexFailure(description: "seed \(seed), operation \(operations): \(what)")
    }
    private func object(_ key: Int64) -> ObjectID { ObjectID(classID: cls, storeTag: tx.shared.tag, key: key) }
    private func anyKey() -> Int64? { rows.isEmpty ? nil : rows.keys.ascending()[random.below(rows.count)] }

    private func isTaken(_ code: OwnedValue, except own: Int64?) throws -> Bool {
        if code.value.isNull { return false }
        return try rows.contains { key, row in
            try key != own && !row.code.value.isNull && MixedOrder.compare(row.code.value, code.value) == 0
        }
    }

    /// Whether the store does what the model says.
    private func attempt(_ isAllowed: Bool, _ body: () throws -> Void) throws {
        operations += 1
        do {
            try body()
            if !isAllowed { throw fail("it was to be refused") }
        } catch let error as StoreError {
            if isAllowed || error.code != .duplicateKey { throw fail("\(error)") }
            refused += 1
        }
    }

    func step() throws {
        switch random.below(30) {
        case 0...9 where rows.count < 250:
            let row = Row(
                any: try MixedSample.next(&random), code: try MixedSample.next(&random), number: Int64(random.below(5)))
            let values = [.int(nextID), row.any.value, row.any.value, row.code.value, .int(row.number)]
            nextID += 1
            try attempt(try !isTaken(row.code, except: nil)) {
                let made = try values.withUnsafeBufferPointer { values in
                    try properties.withUnsafeBufferPointer { try tx.create(cls, $0, values.baseAddress!) }
                }
                rows[made.key] = row
            }
        case 10...17:
            guard let key = anyKey() else { return }
            var row = rows[key]!
            row.any = random.below(3) == 0 ? rows[anyKey()!]!.any : try MixedSample.next(&random)
            if random.below(2) == 0 { row.number = Int64(random.below(5)) }
            try attempt(true) {
                let values = [row.any.value, row.any.value, .int(row.number)]
                try values.withUnsafeBufferPointer { values in
                    try [properties[1], properties[2], properties[4]].withUnsafeBufferPointer {
                        try tx.set(object(key), $0, values.baseAddress!)
                    }
                }
                rows[key] = row
            }
        case 18...20:
            guard let key = anyKey() else { return }
            let code = random.below(2) == 0 ? rows[anyKey()!]!.code : try MixedSample.next(&random)
            try attempt(try !isTaken(code, except: key)) {
                try tx.set(object(key), properties[3], code.value)
                rows[key]!.code = code
            }
        case 21: try edit()
        case 22...24:
            guard let key = anyKey() else { return }
            try attempt(true) { try tx.delete(object(key)) }
            rows[key] = nil
        case 25: if scopes.count < 3 { scopes.append((try tx.beginSavepoint(), rows)) }
        case 26:
            guard let scope = scopes.popLast() else { return }
            if random.below(2) == 0 { return try tx.releaseSavepoint(scope.id) }
            try tx.rollBack(toSavepoint: scope.id)
            rows = scope.rows
        case 27: if random.below(4) == 0 { try endTransaction() }
        case 28: if random.below(3) == 0 { try check() }
        default: break
        }
    }

    /// An element at the end of a list.
    private func edit() throws {
        let lists = try rows.filter {
            try $1.any.value.kind == .document && MixedNode($1.any.value.pointer, $1.any.value.count).kind == .list
        }
        guard let key = lists.keys.ascending().first else { return }
        let count = try MixedContainer(MixedNode(lists[key]!.any.value.pointer, lists[key]!.any.value.count)).count
        if count > 20 { return }
        operations += 1
        let element = Value.int(Int64(random.below(4)))
        for property in properties[1...2] { try tx.edit(object(key), property, [.index(count)], .insert, element) }
        var buffer = OutputBuffer()
        defer { OutputBuffer.free(&buffer) }
        rows[key]!.any = OwnedValue(try tx.mixed(object(key), properties[1], [], whole: true, &buffer) ?? .null)
    }

    private func endTransaction() throws {
        scopes = []
        if try !tx.endOfHistory(random.below(5), &store, reopen: { try MixedIndexModel.open(folder["db"]) }) {
            rows = committed
        }
        committed = rows
        let view = try store.openView()
        let findings = try view.verify { (_, _) throws(StoreError) in }
        if !findings.isEmpty { throw fail("\(findings)") }
        try check(view)
        view.close()
        tx = try store.begin()
    }

    // MARK: Comparing

    func check() throws { try check(tx) }

    private func check(_ view: View) throws {
        checks += 1
        if try view.count(cls) != rows.count { throw fail("\(try view.count(cls)) objects, not \(rows.count)") }
        let keys = rows.keys.ascending()
        for _ in 0..<12 {
            let constant = random.below(3) == 0 || rows.isEmpty ? try MixedSample.next(&random) : rows[anyKey()!]!.any
            let comparison = Comparison(rawValue: UInt8(random.below(6)))!
            if constant.value.isNull, comparison.rawValue > 1 { continue }
            let wanted = try keys.filter { try holds(comparison, rows[$0]!.any.value, constant.value) }
            for property in properties[1...2] {
                let found = try view.find(Query(cls, property, comparison, constant.value)).list(),
                    list = (0..<found.count).map { found.keys[$0] }
                let count = try view.count(Query(cls, property, comparison, constant.value))
                let first = try view.first(Query(cls, property, comparison, constant.value))?.key
                if list != wanted || count != wanted.count || first != wanted.first {
                    throw fail(
                        """
                        property \(property) \(comparison) \(constant.value.text): \(list), \(count), \
                        \(String(describing: first)), not \(wanted)
                        """
                    )
                }
            }
        }
        for (key, row) in rows {
            let found = try [row.code.value].withUnsafeBufferPointer { try view.find(by: unique, $0) }
            if found?.key != (row.code.value.isNull ? nil : key) {
                throw fail("\(row.code.value.text) finds \(String(describing: found)), not \(key)")
            }
        }
        try checkPairs(view)
    }

    /// The definition: families are ordered only for `find(in:)`.
    private func holds(_ comparison: Comparison, _ value: Value, _ constant: Value) throws -> Bool {
        if value.isNaN || constant.isNaN { return comparison == .notEqual }
        let order = try MixedOrder.compare(value, constant),
            isSame = try MixedOrder.family(value) == MixedOrder.family(constant)
        switch comparison {
        case .equal: return order == 0
        case .notEqual: return order != 0
        case .less: return isSame && order < 0
        case .lessOrEqual: return isSame && order <= 0
        case .greater: return isSame && order > 0
        case .greaterOrEqual: return isSame && order >= 0
        }
    }

    private func checkPairs(_ view: View) throws {
        func order(_ row: Row, _ bound: [Value]) throws -> Int {
            if let first = bound.first {
                let order = try MixedOrder.compare(row.any.value, first)
                if order != 0 { return order }
            }
            return bound.count < 2 ? 0 : Int(row.number - bound[1].low)
        }
        let entries = Array(rows)
        let sorted = try WholeModel.order(entries.count) { left, right in
            let a = entries[left], b = entries[right],
                order = try order(a.value, [b.value.any.value, .int(b.value.number)])
            return order != 0 ? order < 0 : a.key < b.key
        }.map { entries[$0] }
        for round in 0..<6 {
            let owned = [try MixedSample.next(&random), rows.isEmpty ? OwnedValue(.int(1)) : rows[anyKey()!]!.any]
            let from: [Value] = round == 0 ? [] : [owned[0].value] + (random.below(2) == 0 ? [.int(2)] : [])
            let to: [Value] = round == 0 ? [] : [owned[1].value] + (random.below(2) == 0 ? [.int(3)] : [])
            let flags = IndexStretch.Flags(rawValue: UInt32(random.below(4)))
            let wanted = try sorted.filter { entry in
                let first = try order(entry.value, from), last = try order(entry.value, to)
                return (flags.contains(.afterFrom) && !from.isEmpty ? first > 0 : first >= 0)
                    && (flags.contains(.beforeTo) && !to.isEmpty ? last < 0 : last <= 0)
            }
            let question = try from.withUnsafeBufferPointer { from in
                try to.withUnsafeBufferPointer { try IndexStretch(pair, from: from, to: $0, flags) }
            }
            let results = try view.find(view.query(in: question)).list(),
                found = (0..<results.count).map { results.keys[$0] }
            if try view.count(view.query(in: question)) != wanted.count || found != wanted.map(\.key) {
                throw fail(
                    """
                    \(from.map(\.text)) to \(to.map(\.text)), flags \(flags.rawValue): \(found), not \
                    \(wanted.map(\.key))
                    """
                )
            }
            withExtendedLifetime(owned) {}
        }
    }
}

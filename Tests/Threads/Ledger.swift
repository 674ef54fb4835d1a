import ObjStoreCore
import ObjStoreSimulation

/// The content that the threads write and check: rows whose balances sum up to the same in every version, and row
/// 0, which holds a digest of all the others.
final class Ledger {
    static let rows = 256
    static let total: Int64 = 1_000_000

    private static let schema = Schema(
        classes: [
            ClassSchema(
                name: "Row", id: 0,
                properties: [
                    PropertySchema(name: "id", kind: .int, columnID: 0, isPrimaryKey: true),
                    PropertySchema(name: "balance", kind: .int, columnID: 1, isIndexed: true),
                    PropertySchema(name: "text", kind: .string, columnID: 2, isNullable: true),
                ], nextColumnID: 3)
        ], version: 1)

    private let database: Database
    private var random: RandomNumbers
    /// The text being written.
    private let text = UnsafeMutablePointer<UInt8>.allocate(capacity: 8192)
    private var count = 0

    init(_ database: Database, seed: UInt64) {
        self.database = database
        random = RandomNumbers(seed: seed)
    }

    deinit { text.deallocate() }

    // MARK: Writing

    static func prepare(_ database: Database) throws(StoreError) {
        let transaction = try WriteTransaction.begin(database)
        try transaction.setSchema(schema)
        let state = try transaction.state(0)
        var digest: UInt64 = 0
        try insert(state, [.int(0), .int(0), .null])
        for id in 1...rows {
            let values: [Value] = [.int(Int64(id)), .int(id == 1 ? total : 0), .null]
            try insert(state, values)
            digest &+= Ledger.digest(values)
        }
        try state.update(try key(state, 0), 1, .int(Int64(bitPattern: digest)))
        try transaction.commit()
    }

    /// One transaction: some transfers, new texts, rows deleted and inserted again under new object keys.
    func write() throws(StoreError) {
        let transaction = try WriteTransaction.begin(database)
        let state = try transaction.state(0)
        let home = try Ledger.key(state, 0)
        var digest = UInt64(bitPattern: try state.value(home, 1).low)
        for _ in 0..<(1 + random.below(6)) {
            let from = Int64(1 + random.below(Ledger.rows)), to = Int64(1 + random.below(Ledger.rows))
            let amount = Int64(random.below(1000))
            try change(state, from, &digest) { (random, values) in values[1] = .int(values[1].low - amount) }
            try change(state, to, &digest) { (random, values) in values[1] = .int(values[1].low + amount) }
        }
        try state.update(home, 1, .int(Int64(bitPattern: digest)))
        count += 1
        try transaction.commit(count % 64 == 0 ? .full : StoreOptions.Durability.none)
    }

    /// Changes one row in place, or deletes it and inserts it again; its text changes now and then, too.
    private func change(
        _ state: ClassState, _ id: Int64, _ digest: inout UInt64, _ body: (inout RandomNumbers, inout [Value]) -> Void
    ) throws(StoreError) {
        let key = try Ledger.key(state, id)
        var values: [Value] = [.int(id), try state.value(key, 1), try state.value(key, 2)]
        digest &-= Ledger.digest(values)
        body(&random, &values)
        let isNew = random.chance(0.3), hasNewText = random.chance(0.5)
        // Mostly short, some long enough for a place of their own (more than 4096 bytes are long values).
        let length = random.chance(0.02) ? 4000 + random.below(3000) : random.below(200)
        if hasNewText {
            for index in 0..<length { text[index] = UInt8(97 + (index &* 7 &+ length) % 26) }
            values[2] = .string(text, length)
        } else if !values[2].isNull {
            // Its bytes die with the row that it was read from.
            if let pointer = values[2].pointer {
                UnsafeMutableRawPointer(text).copyMemory(from: pointer, byteCount: values[2].count)
            }
            values[2] = .string(text, values[2].count)
        }
        digest &+= Ledger.digest(values)
        if isNew {
            try state.delete(key)
            try Ledger.insert(state, values)
        } else {
            try state.update(key, 1, values[1])
            if hasNewText { try state.update(key, 2, values[2]) }
        }
    }

    private static func insert(_ state: ClassState, _ values: [Value]) throws(StoreError) {
        _ = try values.withUnsafeBufferPointer { (values) throws(StoreError) in try state.create(values.baseAddress!) }
    }

    private static func key(_ state: ClassState, _ id: Int64) throws(StoreError) -> Int64 {
        guard let key = try state.find(primaryKey: .int(id)) else {
            throw StoreError(.corrupt, "row \(id) is not there")
        }
        return key
    }

    // MARK: Checking

    /// What is wrong with a version; nil = nothing.
    static func problem(in snapshot: Snapshot) throws(StoreError) -> String? {
        var count = 0, sum: Int64 = 0, digest: UInt64 = 0, wanted: UInt64 = 0
        try snapshot.forEachObject(0) { (_, values) throws(StoreError) in
            if values[0].low == 0 {
                wanted = UInt64(bitPattern: values[1].low)
                return
            }
            count += 1
            sum &+= values[1].low
            digest &+= Ledger.digest(values)
        }
        if count != rows { return "\(count) rows instead of \(rows)" }
        if sum != total { return "the sum is \(sum) instead of \(total)" }
        if digest != wanted { return "the content is another one than was written" }
        return nil
    }

    private static func digest(_ values: [Value]) -> UInt64 {
        var hash = mixed(UInt64(bitPattern: values[0].low)) &+ UInt64(bitPattern: values[1].low)
        hash = mixed(hash)
        guard !values[2].isNull else { return hash }
        for byte in UnsafeRawBufferPointer(start: values[2].pointer, count: values[2].count) {
            hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3
        }
        return mixed(hash &+ UInt64(values[2].count))
    }

    private static func mixed(_ value: UInt64) -> UInt64 {
        var generator = RandomNumbers(seed: value)
        return generator.next()
    }
}

/// One columnar insert: checks all rows, finds out which exist, then appends and updates.
///
/// ```
///  validate ─► findKeys: for each row  ┌ existing ─► update, in order
///                                      ├ new      ─► append in runs of columns, in order
///                                      └ again    ─► (a key that came before in the call) update, at the end
/// ```
/// Rows of different keys do not depend on each other, so the three groups may be done one after the other. Where other
/// values are unique they do: each row is then done in its turn, and the caller undoes what was done before a refusal.
final class ColumnInsert {
    let writer: ObjectWriter
    let cls: ClassSchema
    /// Those that were given, and behind them those that were generated.
    private(set) var columns: UnsafeBufferPointer<InputColumn>
    private let givenColumns: Int
    private var generated: [UnsafeMutableRawPointer] = []
    let rows: Int
    /// By input column: the property.
    private(set) var positions: [Int] = []
    /// By property: its input column.
    private var inputs: [Int?]
    /// Rows that are not just new: the object that exists, or -2 - (the row that had the key first).
    private var found: [Int64] = []
    private var hasExisting = false
    private var hasRepeated = false
    /// The row that is being written.
    private var current = 0

    private static let isNew: Int64 = -1

    init(
        _ writer: ObjectWriter, _ cls: ClassSchema, _ columns: UnsafeBufferPointer<InputColumn>, _ rows: Int
    ) throws(StoreError) {
        self.writer = writer
        self.cls = cls
        guard columns.count <= cls.columns.count else {
            throw StoreError(
                .invalidArgument,
                "\(columns.count) columns are given, class \(cls.name) has \(cls.columns.count) properties"
            ).at(class: cls.name)
        }
        let own = UnsafeMutableBufferPointer<InputColumn>.allocate(capacity: max(1, columns.count + cls.columns.count))
        for (index, column) in columns.enumerated() { own.initializeElement(at: index, to: column) }
        self.columns = UnsafeBufferPointer(rebasing: own[..<columns.count])
        givenColumns = columns.count
        self.rows = rows
        inputs = Array(repeating: nil, count: cls.columns.count)
        if cls.isEmbedded { throw cls.embeddedError }
        for (index, column) in columns.enumerated() {
            let position = try cls.position(column.propertyID)
            if inputs[position] != nil {
                throw cls.named(StoreError(.invalidArgument, "\(path(position)) is given twice"), position)
            }
            if cls.columns[position].kind == .link {
                let target = writer.schema.classes[ClassID.index(cls.columns[position].target)]
                if target.isEmbedded { throw cls.givenEmbedded(position, target) }
            }
            inputs[position] = index
            positions.append(position)
        }
    }

    deinit {
        columns.deallocate()
        for block in generated { block.deallocate() }
    }

    func path(_ position: Int) -> String { cls.name + "." + cls.properties[position].name }

    func refuse(_ code: StatusCode, _ position: Int, row: Int, _ what: String) -> StoreError {
        StoreError(code, "row \(row), \(path(position)): \(what)").at(
            class: cls.name, property: cls.properties[position].name, position: row)
    }

    // MARK: Existing objects

    /// Finds out which rows have objects already, or a key that came before. Nothing is changed.
    func findKeys(_ state: ClassState, _ policy: UpsertPolicy) throws(StoreError) {
        if rows == 0 { return }
        for position in 0..<cls.columns.count where inputs[position] == nil && cls.properties[position].isGenerated {
            try generate(state, position)
        }
        var needsDefaults = true
        if let index = cls.keyIndex {
            var parts: [Int] = []
            for part in cls.indexes[index].properties {
                if inputs[part] == nil { try fill(part, try missingKey(part)) }
                parts.append(inputs[part].unsafelyUnwrapped)
            }
            // With the policy `error` whichever row comes first is refused: a repetition, or a key that exists.
            let repeated = try findRepeated(parts, policy)
            var firstNew: Int?
            for row in 0..<(repeated ?? rows) where found.isEmpty || found[row] == ColumnInsert.isNew {
                guard let key = try existing(state, parts, row) else {
                    firstNew = firstNew ?? row
                    continue
                }
                if policy == .error { throw duplicate(parts, row) }
                if found.isEmpty {
                    try Memory.check(for: rows, each: 8)
                    found = Array(repeating: ColumnInsert.isNew, count: rows)
                }
                found[row] = key
                hasExisting = true
            }
            if let repeated { throw duplicate(parts, repeated) }
            needsDefaults = firstNew != nil
            if hasRepeated && hasExisting { linkRepeated() }
        }
        // Only new objects need a value for every property.
        if needsDefaults {
            for position in 0..<cls.columns.count where inputs[position] == nil {
                _ = try writer.missing(cls, position)
            }
        }
    }

    /// The object that has the primary key of a row; `parts` are the columns of that key.
    private func existing(_ state: ClassState, _ parts: [Int], _ row: Int) throws(StoreError) -> Int64? {
        if parts.count == 1 { return try state.find(primaryKey: columns[parts[0]].value(row)) }
        return try state.find(key: { columns[inputs[$0].unsafelyUnwrapped].value(row) })
    }

    /// A new value for every row; those of rows whose object exists are not used.
    private func generate(_ state: ClassState, _ position: Int) throws(StoreError) {
        let kind = cls.columns[position].kind, bytes = ValueCell.size(kind)
        let memory = try Memory.allocate(rows * bytes)
        generated.append(memory)
        if kind == .int {
            let first = try state.generateKeys(rows, writer.enumerations?.find(position, cls)?.values)
            for row in 0..<rows { memory.storeBytes(of: first &+ Int64(row), toByteOffset: row &* 8, as: Int64.self) }
        } else {
            for row in 0..<rows { ValueCell.store(try writer.generated(cls, position), memory + row &* bytes) }
        }
        add(
            InputColumn(
                propertyID: cls.propertyID(position), kind: kind, values: UnsafeRawPointer(memory), offsets: nil,
                validity: nil, valuesBytes: 0), position)
    }

    private func add(_ column: InputColumn, _ position: Int) {
        let index = columns.count, own = UnsafeMutablePointer(mutating: columns.baseAddress.unsafelyUnwrapped)
        (own + index).initialize(to: column)
        columns = UnsafeBufferPointer(start: own, count: index + 1)
        inputs[position] = index
        positions.append(position)
    }

    /// What a key, or a part of one, is that is left out: its default, or null.
    private func missingKey(_ position: Int) throws(StoreError) -> Value {
        do throws(StoreError) { return try writer.missing(cls, position) } catch {
            guard error.code == .missingValue else { throw error }
            throw cls.named(StoreError(.missingValue, "\(path(position)): the primary key must be given"), position)
        }
    }

    /// The same value for every row.
    private func fill(_ position: Int, _ value: Value) throws(StoreError) {
        let kind = cls.columns[position].kind,
            bytes = kind.hasBytes ? value.count : value.isNull ? 8 : ValueCell.size(kind)
        let memory = try allocate(rows * max(1, bytes))
        var offsets: UnsafeMutableRawPointer?, validity: UnsafeMutableRawPointer?
        if kind.hasBytes {
            let ends = try allocate((rows + 1) * 8)
            for row in 0...rows { ends.storeBytes(of: Int64(row * value.count), toByteOffset: row * 8, as: Int64.self) }
            for row in 0..<rows where value.count > 0 {
                (memory + row * value.count).copyMemory(from: value.pointer.unsafelyUnwrapped, byteCount: value.count)
            }
            offsets = ends
        } else if !value.isNull {
            for row in 0..<rows { ValueCell.store(value, memory + row * bytes) }
        }
        if value.isNull { validity = try allocate((rows + 7) / 8) }
        add(
            InputColumn(
                propertyID: cls.propertyID(position), kind: kind, values: UnsafeRawPointer(memory),
                offsets: offsets.map { UnsafePointer($0.assumingMemoryBound(to: Int64.self)) },
                validity: validity.map { UnsafePointer($0.assumingMemoryBound(to: UInt8.self)) },
                valuesBytes: kind.hasBytes ? UInt64(rows * value.count) : 0), position)
    }

    /// Zeros, for as long as the insert.
    private func allocate(_ count: Int) throws(StoreError) -> UnsafeMutableRawPointer {
        let memory = try Memory.allocate(max(16, count))
        memory.initializeMemory(as: UInt8.self, repeating: 0, count: max(16, count))
        generated.append(memory)
        return memory
    }

    /// A repetition of a key that exists is one more update of that object.
    private func linkRepeated() {
        for row in 0..<rows where found[row] <= -2 {
            let first = found[Int(-2 - found[row])]
            if first >= 0 { found[row] = first }
        }
    }

    private func duplicate(_ parts: [Int], _ row: Int) -> StoreError {
        let key = parts.map { columns[$0].value(row).text }.joined(separator: ", ")
        return refuse(
            .duplicateKey, positions[parts[0]], row: row,
            "an object with the key \(key) exists already, or an earlier row has it")
    }

    /// Marks the rows whose key an earlier row has; with the policy `error` the first of them is returned.
    private func findRepeated(_ parts: [Int], _ policy: UpsertPolicy) throws(StoreError) -> Int? {
        if parts.count == 1, !cls.columns[positions[parts[0]]].nullable, isAscending(columns[parts[0]]) { return nil }
        // Open addressing: row + 1, or 0.
        var capacity = 64
        while capacity < rows * 2 { capacity *= 2 }
        let table = try Memory.allocate(UInt32.self, capacity)
        table.initialize(repeating: 0, count: capacity)
        defer { table.deallocate() }
        guard rows < Int(UInt32.max) else {
            throw StoreError(.invalidArgument, "row_count is \(rows): more than 4294967294 rows in one call")
        }
        for row in 0..<rows {
            var hash: UInt64 = 0
            for part in parts { hash = hash &* 0x9e37_79b9_7f4a_7c15 ^ ColumnInsert.hash(columns[part].value(row)) }
            var place = Int(truncatingIfNeeded: hash) & (capacity - 1)
            while table[place] != 0 {
                let first = Int(table[place]) - 1
                if parts.allSatisfy({ columns[$0].value(first).isSame(as: columns[$0].value(row)) }) {
                    if policy == .error { return row }
                    if found.isEmpty {
                        try Memory.check(for: rows, each: 8)
                        found = Array(repeating: ColumnInsert.isNew, count: rows)
                    }
                    found[row] = -2 - Int64(first)
                    hasRepeated = true
                    break
                }
                place = (place + 1) & (capacity - 1)
            }
            if table[place] == 0 { table[place] = UInt32(row + 1) }
        }
        return nil
    }

    /// Keys that only rise do not repeat.
    private func isAscending(_ column: InputColumn) -> Bool {
        guard column.kind == .int, let values = column.values else { return false }
        var last = values.loadUnaligned(as: Int64.self)
        for row in 1..<max(rows, 1) {
            let next = values.loadUnaligned(fromByteOffset: row &* 8, as: Int64.self)
            if next <= last { return false }
            last = next
        }
        return true
    }

    private static func hash(_ value: Value) -> UInt64 {
        if value.kind.isPair {
            return PageHash.mix(
                UInt64(bitPattern: value.low) ^ 0x9e37_79b9_7f4a_7c15,
                UInt64(bitPattern: value.high) ^ 0xd6e8_feb8_6659_fd93)
        }
        if value.kind == .string {
            return value.count == 0
                ? 0 : IndexBits.hash(value.pointer.unsafelyUnwrapped, value.count, seed: 0x9e37_79b9_7f4a_7c15)
        }
        return PageHash.mix(UInt64(bitPattern: value.low), 0x9e37_79b9_7f4a_7c15)
    }

    // MARK: Applying

    func apply(
        _ state: ClassState, _ policy: UpsertPolicy, _ keys: UnsafeMutablePointer<Int64>?
    ) throws(StoreError) -> InsertCounts {
        var counts = InsertCounts()
        if rows == 0 { return counts }
        if !cls.constraints.isEmpty, hasExisting || hasRepeated { return try applyInOrder(state, policy, keys) }
        if hasExisting {
            for row in 0..<rows where found[row] >= 0 {
                if try update(state, found[row], row, policy) { counts.changed += 1 } else { counts.unchanged += 1 }
                keys?[row] = found[row]
                try writer.spillIfLarge(state)
            }
        }
        if hasRepeated { try Memory.check(for: rows, each: 8) }
        var created: [Int64] = hasRepeated ? Array(repeating: -1, count: rows) : []
        var row = 0
        while row < rows {
            if !found.isEmpty, found[row] != ColumnInsert.isNew {
                row += 1
                continue
            }
            var end = row + 1
            if found.isEmpty { end = rows } else { while end < rows, found[end] == ColumnInsert.isNew { end += 1 } }
            try append(state, row, end, keys, &created)
            counts.created += end - row
            row = end
        }
        if hasRepeated {
            for row in 0..<rows where found[row] <= -2 {
                let key = created[Int(-2 - found[row])]
                if try update(state, key, row, policy) { counts.changed += 1 } else { counts.unchanged += 1 }
                keys?[row] = key
                try writer.spillIfLarge(state)
            }
        }
        return counts
    }

    private func applyInOrder(
        _ state: ClassState, _ policy: UpsertPolicy, _ keys: UnsafeMutablePointer<Int64>?
    ) throws(StoreError) -> InsertCounts {
        var counts = InsertCounts()
        var created: [Int: Int64] = [:]
        let values = UnsafeMutablePointer<Value>.allocate(capacity: cls.columns.count)
        defer { values.deallocate() }
        for row in 0..<rows {
            current = row
            var key: Int64? = found[row]
            if found[row] <= -2 {
                key = created[Int(-2 - found[row])]
            } else if found[row] == ColumnInsert.isNew {
                key = nil
            }
            if let key {
                if try update(state, key, row, policy) { counts.changed += 1 } else { counts.unchanged += 1 }
                keys?[row] = key
            } else {
                try gather(row, into: values)
                let key = try state.createUnchecked(values)
                created[row] = key
                keys?[row] = key
                counts.created += 1
            }
            try writer.spillIfLarge(state)
        }
        return counts
    }

    /// The error of an `apply` that was refused, with the row.
    func naming(_ error: StoreError) -> StoreError {
        guard error.code == .duplicateKey || error.code == .valueTooLarge else { return error }
        return StoreError(error.code, "row \(current): \(error.message)").at(
            class: error.className, property: error.propertyName, position: current)
    }

    /// True where something was written.
    private func update(
        _ state: ClassState, _ key: Int64, _ row: Int, _ policy: UpsertPolicy
    ) throws(StoreError) -> Bool {
        var changes: [(position: Int, value: Value)] = []
        let reader = try state.reader()
        guard let place = try reader.find(key) else { throw state.noSuchObject(key) }
        for (index, position) in positions[..<givenColumns].enumerated() where !cls.isOfKey(position) {
            let value = columns[index].value(row)
            if policy == .modified, try reader.value(place, position).isSame(as: value) { continue }
            changes.append((position, value))
        }
        if changes.isEmpty { return false }
        current = row
        if cls.hasEncodedIndexes {
            try state.update(place, changes.map(\.position), changes.map(\.value), changes.count)
        } else {
            for change in changes { try state.update(key, change.position, change.value) }
        }
        return true
    }

    /// Appends rows `first ..< end`, which are all new.
    private func append(
        _ state: ClassState, _ first: Int, _ end: Int, _ keys: UnsafeMutablePointer<Int64>?, _ created: inout [Int64]
    ) throws(StoreError) {
        if end - first < ColumnInsert.fewRows {
            let values = UnsafeMutablePointer<Value>.allocate(capacity: cls.columns.count)
            defer { values.deallocate() }
            for row in first..<end {
                try gather(row, into: values)
                let key = try state.createUnchecked(values)
                keys?[row] = key
                if hasRepeated { created[row] = key }
            }
            return
        }
        let vectors = try ColumnVectors(cls, columns, inputs)
        var row = first
        while row < end {
            let count = min(end - row, ColumnVectors.rows)
            let key = try state.createColumns(
                try vectors.fill(from: row, count: count), count: count,
                row: { (offset, values) throws(StoreError) in try self.gather(row + offset, into: values) },
                value: { (offset, position) throws(StoreError) in try self.value(row &+ offset, position) })
            for offset in 0..<count {
                keys?[row + offset] = key + Int64(offset)
                if hasRepeated { created[row + offset] = key + Int64(offset) }
            }
            row += count
            try writer.spillIfLarge(state)
        }
    }

    private static let fewRows = 16

    /// All values of one row.
    private func gather(_ row: Int, into values: UnsafeMutablePointer<Value>) throws(StoreError) {
        current = row
        for position in 0..<cls.columns.count { values[position] = try value(row, position) }
    }

    @inline(__always)
    private func value(_ row: Int, _ position: Int) throws(StoreError) -> Value {
        guard let input = inputs[position] else { return try writer.missing(cls, position) }
        return columns[input].value(row)
    }
}

extension ObjectWriter {
    /// Inserts rows of columns, like one call of `create` or `upsert` for each in order, all or none.
    func insert(
        _ state: ClassState, _ policy: UpsertPolicy, _ columns: UnsafeBufferPointer<InputColumn>, rows: Int,
        keys: UnsafeMutablePointer<Int64>?
    ) throws(StoreError) -> InsertCounts {
        let cls = state.schema
        if policy != .error, cls.keyIndex == nil { throw cls.noPrimaryKey }
        let insert = try ColumnInsert(self, cls, columns, rows)
        try insert.validate()
        try insert.findKeys(state, policy)
        return try changing(state) { () throws(StoreError) in
            if !cls.constraints.isEmpty || cls.hasEncodedIndexes {
                return try applyUndoably(insert, state, policy, keys)
            }
            do throws(StoreError) {
                return try insert.apply(state, policy, keys)
            } catch {
                // The request itself is not at fault: memory, or a damaged page. Half of it is done.
                state.isBroken = true
                throw error
            }
        }
    }

    /// Where a row can be refused when others were written: in a savepoint.
    private func applyUndoably(
        _ insert: ColumnInsert, _ state: ClassState, _ policy: UpsertPolicy, _ keys: UnsafeMutablePointer<Int64>?
    ) throws(StoreError) -> InsertCounts {
        let transaction: WriteTransaction = self.transaction, savepoint = try transaction.beginSavepoint()
        let made = keys == nil ? nil : try Memory.allocate(Int64.self, max(1, insert.rows))
        defer { made?.deallocate() }
        do throws(StoreError) {
            let counts = try insert.apply(state, policy, made)
            try transaction.releaseSavepoint(savepoint)
            if let keys, let made { keys.update(from: made, count: insert.rows) }
            return counts
        } catch {
            do throws(StoreError) { try transaction.rollBack(toSavepoint: savepoint) } catch { state.isBroken = true }
            throw insert.naming(error)
        }
    }
}

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
    private let view: View
    private let cls: ClassSchema
    /// Those that were given, and behind them those that were generated.
    private var columns: UnsafeBufferPointer<InputColumn>
    private let givenColumns: Int
    private var generated: [UnsafeMutableRawPointer] = []
    let rows: Int
    /// By input column: the property.
    private var positions: [Int] = []
    /// By property: its input column.
    private var inputs: [Int?]
    /// Rows that are not just new: the object that exists, or -2 - (the row that had the key first).
    private var found: [Int64] = []
    private var hasExisting = false
    private var hasRepeated = false
    /// The row that is being written.
    private var current = 0

    private static let isNew: Int64 = -1

    init(_ view: View, _ cls: ClassSchema, _ columns: UnsafeBufferPointer<InputColumn>, _ rows: Int) throws(StoreError)
    {
        self.view = view
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
        if cls.isEmbedded { throw view.embeddedError(cls) }
        for (index, column) in columns.enumerated() {
            let position = try cls.position(column.propertyID)
            if inputs[position] != nil {
                throw cls.named(StoreError(.invalidArgument, "\(path(position)) is given twice"), position)
            }
            if cls.columns[position].kind == .link {
                let target = try view.schema.classes[ClassID.index(cls.columns[position].target)]
                if target.isEmbedded { throw view.givenEmbedded(position, cls, target) }
            }
            inputs[position] = index
            positions.append(position)
        }
    }

    deinit {
        columns.deallocate()
        for block in generated { block.deallocate() }
    }

    private func path(_ position: Int) -> String { cls.name + "." + cls.properties[position].name }

    private func refuse(_ code: StatusCode, _ position: Int, row: Int, _ what: String) -> StoreError {
        StoreError(code, "row \(row), \(path(position)): \(what)").at(
            class: cls.name, property: cls.properties[position].name, position: row)
    }

    // MARK: Checking

    /// Every value of every row; nothing is changed.
    func validate() throws(StoreError) {
        if rows == 0 { return }
        for (index, column) in columns.enumerated() {
            let position = positions[index], spec = cls.columns[position]
            guard column.kind == spec.kind, !spec.kind.isCollection else {
                throw cls.named(
                    StoreError(.wrongType, "\(path(position)) is of type \(spec.kind), not \(column.kind)"), position)
            }
            if !spec.kind.isBytes, column.offsets != nil || column.valuesBytes != 0 {
                let what =
                    column.offsets != nil ? "offsets is not NULL" : "values_bytes is \(column.valuesBytes), not 0"
                throw cls.named(
                    StoreError(
                        .invalidArgument, "\(path(position)): \(what), and a column of kind \(spec.kind) has none"),
                    position)
            }
            if column.validity != nil, !spec.nullable { try validateNoNulls(column, position) }
            switch spec.kind {
            case .string, .binary, .mixed: try validateText(column, position)
            case .timestamp:
                guard column.values != nil else { throw noValues(position) }
                for row in 0..<rows where !column.isNull(row) {
                    let nanoseconds = column.value(row).high
                    if nanoseconds < 0 || nanoseconds > 999_999_999 {
                        throw refuse(
                            .outOfRange, position, row: row, "nanoseconds are 0 to 999999999, not \(nanoseconds)")
                    }
                }
            case .link:
                guard column.values != nil else { throw noValues(position) }
                try validateLinks(column, position)
            default: guard column.values != nil else { throw noValues(position) }
            }
            if let enumeration = view.enumerations?.find(position, cls)?.values {
                try validate(column, position, enumeration)
            }
        }
    }

    private func validate(_ column: InputColumn, _ position: Int, _ enumeration: Enumeration) throws(StoreError) {
        for row in 0..<rows where !column.isNull(row) && !enumeration.has(column.value(row)) {
            throw refuse(.outOfRange, position, row: row, enumeration.refuse(column.value(row), "").message)
        }
    }

    private func noValues(_ position: Int) -> StoreError {
        cls.named(StoreError(.invalidArgument, "\(path(position)): values is NULL"), position)
    }

    private func validateNoNulls(_ column: InputColumn, _ position: Int) throws(StoreError) {
        for row in 0..<rows where column.isNull(row) {
            throw refuse(.notNullable, position, row: row, "it cannot be null")
        }
    }

    private func validateLinks(_ column: InputColumn, _ position: Int) throws(StoreError) {
        let targets = try view.linkTargets(position, cls)
        var row = 0
        do throws(StoreError) {
            while row < rows {
                if !column.isNull(row) { try view.checkExists(column.value(row).low, position, cls, targets) }
                row += 1
            }
        } catch {
            throw StoreError(error.code, "row \(row), \(error.message)").at(
                class: error.className, property: error.propertyName, position: row)
        }
    }

    private func validateText(_ column: InputColumn, _ position: Int) throws(StoreError) {
        guard let offsets = column.offsets else {
            throw cls.named(StoreError(.invalidArgument, "\(path(position)): offsets is NULL"), position)
        }
        guard column.valuesBytes <= UInt64(Int64.max) else {
            throw cls.named(
                StoreError(.invalidArgument, "\(path(position)): values_bytes is \(column.valuesBytes)"), position)
        }
        guard column.values != nil || column.valuesBytes == 0 else { throw noValues(position) }
        var limit = view.shared.database.options.valueLimit
        if cls.indexPosition(of: position) != nil { limit = min(limit, IndexKey.longest) }
        if cls.isOfKey(position) { limit = min(limit, ClassSchema.longestKey) }
        var last = offsets[0]
        guard last >= 0 else { throw refuse(.outOfRange, position, row: 0, "its offset is \(last)") }
        // Plain text is looked at as a whole.
        var isString = cls.columns[position].kind == .string
        if isString, let values = column.values, offsets[rows] >= last, offsets[rows] <= Int64(column.valuesBytes),
            UTF8Check.isASCII(values + Int(last), Int(offsets[rows] - last))
        {
            isString = false
        }
        let isMixed = cls.columns[position].kind == .mixed
        for row in 0..<rows {
            let next = offsets[row &+ 1]
            guard next >= last, next <= Int64(column.valuesBytes) else {
                throw refuse(
                    .outOfRange, position, row: row, "offsets \(last) and \(next) of \(column.valuesBytes) bytes")
            }
            let count = Int(next &- last)
            if !column.isNull(row) {
                if count > limit {
                    throw refuse(
                        .valueTooLarge, position, row: row, "\(count) bytes are more than the limit of \(limit)")
                }
                if isString, count > 0, !UTF8Check.isValid(column.values.unsafelyUnwrapped + Int(last), count) {
                    throw refuse(.invalidUTF8, position, row: row, "the text is not valid UTF-8")
                }
                if isMixed { try validateMixed(column.value(row), position, row) }
            }
            last = next
        }
    }

    private func validateMixed(_ cell: Value, _ position: Int, _ row: Int) throws(StoreError) {
        do throws(StoreError) { try MixedCell.check(cell) } catch {
            throw refuse(.invalidArgument, position, row: row, error.message)
        }
        do throws(StoreError) {
            try MixedLinks.forEach(cell) { (link) throws(StoreError) in
                // The bytes are the caller's, and go into the file as they are.
                guard link.givenObject.storeTag == 0 else {
                    throw StoreError(
                        .invalidArgument, "\(path(position)): a link in a column says no store: its store_tag is 0")
                }
                return true
            }
            try view.checkMixedLinks(cell, position, cls)
        } catch {
            throw StoreError(error.code, "row \(row), \(error.message)").at(
                class: cls.name, property: cls.properties[position].name, position: row)
        }
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
                _ = try view.missing(cls, position)
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
            let first = try state.generateKeys(rows, view.enumerations?.find(position, cls)?.values)
            for row in 0..<rows { memory.storeBytes(of: first &+ Int64(row), toByteOffset: row &* 8, as: Int64.self) }
        } else {
            for row in 0..<rows { ValueCell.store(try view.generated(cls, position), memory + row &* bytes) }
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
        do throws(StoreError) { return try view.missing(cls, position) } catch {
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
                try view.spillIfLarge(state)
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
                try view.spillIfLarge(state)
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
            try view.spillIfLarge(state)
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
            try view.spillIfLarge(state)
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
        guard let input = inputs[position] else { return try view.missing(cls, position) }
        return columns[input].value(row)
    }
}

/// The columns of an insert as trees take them, some thousand rows at a time: pairs split, defaults repeated.
private final class ColumnVectors {
    static let rows = 8192
    private let cls: ClassSchema
    private let columns: UnsafeBufferPointer<InputColumn>
    private let inputs: [Int?]
    private let vectors: UnsafeMutablePointer<ColumnVector>
    private var memory: [UnsafeMutableRawPointer] = []
    /// By property: where the words of pairs go.
    private var pairs: [(words: UnsafeMutablePointer<Int64>, secondWords: UnsafeMutablePointer<Int64>)?]

    init(_ cls: ClassSchema, _ columns: UnsafeBufferPointer<InputColumn>, _ inputs: [Int?]) throws(StoreError) {
        self.cls = cls
        self.columns = columns
        self.inputs = inputs
        vectors = .allocate(capacity: cls.columns.count)
        pairs = Array(repeating: nil, count: cls.columns.count)
        vectors.initialize(repeating: ColumnVector(layout: .words, allNull: true), count: cls.columns.count)
        for position in 0..<cls.columns.count {
            let kind = cls.columns[position].kind
            if inputs[position] == nil {
                vectors[position] = try constant(cls.properties[position].defaultValue?.value ?? .null, kind)
            }
            if kind.isPair, inputs[position] != nil {
                pairs[position] = (try room(Int64.self), try room(Int64.self))
            }
        }
    }

    deinit {
        vectors.deallocate()
        for block in memory { block.deallocate() }
    }

    private func room<T: BitwiseCopyable>(
        _: T.Type, _ count: Int = ColumnVectors.rows
    ) throws(StoreError) -> UnsafeMutablePointer<T> {
        let block = try Memory.allocate(max(count, 1) * MemoryLayout<T>.stride)
        memory.append(block)
        return block.assumingMemoryBound(to: T.self)
    }

    /// One value for every row.
    private func constant(_ value: Value, _ kind: ValueKind) throws(StoreError) -> ColumnVector {
        let layout: ColumnVector.Layout =
            kind == .bool ? .bytes : kind == .float ? .singles : kind.isBytes ? .text : .words
        if value.isNull { return ColumnVector(layout: layout, allNull: true) }
        let rows = ColumnVectors.rows
        switch kind {
        case .string, .binary, .list, .set, .map, .mixed:
            let offsets = try room(Int64.self, rows + 1), bytes = try room(UInt8.self, rows * value.count)
            for row in 0...rows { offsets[row] = Int64(row * value.count) }
            if value.count > 0 {
                for row in 0..<rows {
                    UnsafeMutableRawPointer(bytes + row * value.count).copyMemory(
                        from: value.pointer!, byteCount: value.count)
                }
            }
            return ColumnVector(layout: .text, offsets: offsets, bytes: UnsafeRawPointer(bytes))
        case .bool:
            let bytes = try room(UInt8.self)
            bytes.initialize(repeating: UInt8(truncatingIfNeeded: value.low), count: rows)
            return ColumnVector(layout: .bytes, numbers: UnsafeRawPointer(bytes))
        case .float:
            let singles = try room(UInt32.self)
            singles.initialize(repeating: UInt32(truncatingIfNeeded: value.low), count: rows)
            return ColumnVector(layout: .singles, numbers: UnsafeRawPointer(singles))
        default:
            let words = try room(Int64.self)
            words.initialize(repeating: value.low, count: rows)
            var vector = ColumnVector(layout: .words, numbers: UnsafeRawPointer(words))
            if kind.isPair {
                let secondWords = try room(Int64.self)
                secondWords.initialize(repeating: value.high, count: rows)
                vector.secondWords = UnsafePointer(secondWords)
            }
            return vector
        }
    }

    /// The vectors of rows `first ..< first + count`; valid until the next call.
    func fill(from first: Int, count: Int) throws(StoreError) -> UnsafePointer<ColumnVector> {
        for position in 0..<cls.columns.count {
            guard let input = inputs[position] else { continue }
            let column = columns[input]
            var vector: ColumnVector
            switch column.kind {
            case .string, .binary, .mixed:
                vector = ColumnVector(layout: .text, offsets: column.offsets.map { $0 + first }, bytes: column.values)
            case .bool: vector = ColumnVector(layout: .bytes, numbers: column.values.map { $0 + first })
            case .float: vector = ColumnVector(layout: .singles, numbers: column.values.map { $0 + first * 4 })
            case .timestamp, .decimal128, .objectID, .uuid:
                let (words, secondWords) = pairs[position]!
                for row in 0..<count {
                    let value = column.value(first &+ row)
                    words[row] = value.low
                    secondWords[row] = value.high
                }
                vector = ColumnVector(
                    layout: .words, numbers: UnsafeRawPointer(words), secondWords: UnsafePointer(secondWords))
            default: vector = ColumnVector(layout: .words, numbers: column.values.map { $0 + first * 8 })
            }
            if let validity = column.validity { vector.validity = try shifted(validity, first, count, position) }
            vectors[position] = vector
        }
        return UnsafePointer(vectors)
    }

    private var bitmaps: [Int: UnsafeMutablePointer<UInt8>] = [:]

    /// The bits from row `first` on, at bit 0.
    private func shifted(
        _ validity: UnsafePointer<UInt8>, _ first: Int, _ count: Int, _ position: Int
    ) throws(StoreError) -> UnsafePointer<UInt8> {
        if first & 7 == 0 { return validity + first >> 3 }
        let bits = if let made = bitmaps[position] { made } else { try room(UInt8.self, ColumnVectors.rows / 8 + 1) }
        bitmaps[position] = bits
        bits.update(repeating: 0, count: (count + 7) / 8)
        for row in 0..<count where validity[(first + row) >> 3] >> UInt8((first + row) & 7) & 1 != 0 {
            bits[row >> 3] |= 1 << UInt8(row & 7)
        }
        return UnsafePointer(bits)
    }
}

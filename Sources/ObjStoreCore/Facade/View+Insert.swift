/// One column of rows to insert, in the application's memory.
package struct InputColumn {
    package var propertyID: UInt32
    package var kind: ValueKind
    package var values: UnsafeRawPointer?
    /// Text: rows + 1.
    package var offsets: UnsafePointer<Int64>?
    package var validity: UnsafePointer<UInt8>?
    /// Text: bytes at `values`.
    package var valuesBytes: UInt64

    package init(
        propertyID: UInt32, kind: ValueKind, values: UnsafeRawPointer?, offsets: UnsafePointer<Int64>?,
        validity: UnsafePointer<UInt8>?,
        valuesBytes: UInt64
    ) {
        self.propertyID = propertyID; self.kind = kind; self.values = values; self.offsets = offsets
        self.validity = validity; self.valuesBytes = valuesBytes
    }

    @inline(__always)
    func isNull(_ row: Int) -> Bool {
        guard let validity else { return false }
        return validity[row &>> 3] &>> UInt8(row & 7) & 1 == 0
    }

    /// The value of a row; text is borrowed.
    @inline(__always)
    func value(_ row: Int) -> Value {
        if isNull(row) { return .null }
        switch kind {
        case .string, .binary, .mixed:
            let start = Int(offsets.unsafelyUnwrapped[row])
            return Value(
                kind: kind, pointer: values.map { $0 + start }, count: Int(offsets.unsafelyUnwrapped[row &+ 1]) &- start
            )
        case .bool:
            return Value(
                kind: .bool, low: values.unsafelyUnwrapped.load(fromByteOffset: row, as: UInt8.self) == 0 ? 0 : 1)
        case .float, .timestamp, .decimal128, .objectID, .uuid:
            return ValueCell.load(kind, values.unsafelyUnwrapped + row &* ValueCell.size(kind))
        default:
            return Value(
                kind: kind, low: values.unsafelyUnwrapped.loadUnaligned(fromByteOffset: row &* 8, as: Int64.self))
        }
    }
}

package struct InsertCounts: Sendable {
    package var created = 0
    package var changed = 0
    package var unchanged = 0
}

/// Many objects in one call.
extension View {
    /// Inserts rows of columns, like one call of `create` or `upsert` for each in order, all or none.
    ///
    /// Everything is checked before the first change. Errors name the row in `position`.
    package func insert(
        _ classID: UInt32, _ policy: UpsertPolicy, _ columns: UnsafeBufferPointer<InputColumn>, rows: Int,
        keys: UnsafeMutablePointer<Int64>?
    ) throws(StoreError) -> InsertCounts {
        try write(classID) { (state) throws(StoreError) in
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
    }

    /// Where a row can be refused when others were written: in a savepoint.
    private func applyUndoably(
        _ insert: ColumnInsert, _ state: ClassState, _ policy: UpsertPolicy, _ keys: UnsafeMutablePointer<Int64>?
    ) throws(StoreError) -> InsertCounts {
        let transaction = try writing(), savepoint = try transaction.beginSavepoint()
        let made = keys.map { _ in UnsafeMutablePointer<Int64>.allocate(capacity: max(1, insert.rows)) }
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

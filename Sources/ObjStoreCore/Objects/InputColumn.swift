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

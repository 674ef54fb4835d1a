/// A value that owns its bytes: for defaults and fill values, which outlive the call that gave them.
package final class OwnedValue: @unchecked Sendable {
    /// Its pointer stays valid as long as this object lives.
    package let value: Value
    private let storage: UnsafeMutableRawPointer?

    /// Of a value that may be long. Errors: `.outOfMemory`.
    package init(copying source: Value) throws(StoreError) {
        guard source.kind.isBytes, source.count > 0 else {
            value = source
            storage = nil
            return
        }
        let copy = try Memory.allocate(source.count)
        copy.copyMemory(from: source.pointer!, byteCount: source.count)
        storage = copy
        var owned = source
        owned.pointer = UnsafeRawPointer(copy)
        value = owned
    }

    /// Of a value that has few bytes or none: a key of a map, an element of a cell.
    package init(_ source: Value) {
        guard source.kind.isBytes, source.count > 0 else {
            value = source
            storage = nil
            return
        }
        let copy = UnsafeMutableRawPointer.allocate(byteCount: source.count, alignment: 8)
        copy.copyMemory(from: source.pointer!, byteCount: source.count)
        storage = copy
        var owned = source
        owned.pointer = UnsafeRawPointer(copy)
        value = owned
    }

    deinit { storage?.deallocate() }
}

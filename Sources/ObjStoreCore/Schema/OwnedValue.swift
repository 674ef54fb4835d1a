/// A value that owns its bytes: for defaults and fill values, which outlive the call that gave them.
package final class OwnedValue: @unchecked Sendable {
    /// Its pointer stays valid as long as this object lives.
    package let value: Value
    private let storage: UnsafeMutableRawPointer?

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

/// Values with copies of their bytes, in one piece of memory.
final class CopiedValues {
    let values: [Value]
    private let memory: UnsafeMutableRawPointer

    init(_ source: some Sequence<Value>) {
        func bytes(_ value: Value) -> Int { value.kind.isBytes ? value.count : 0 }
        let memory = UnsafeMutableRawPointer.allocate(byteCount: max(1, source.reduce(0) { $0 + bytes($1) }), alignment: 8)
        var end = memory
        values = source.map { value in
            let count = bytes(value)
            guard count > 0, let pointer = value.pointer else { return value }
            end.copyMemory(from: pointer, byteCount: count)
            var copy = value
            copy.pointer = UnsafeRawPointer(end)
            end += count
            return copy
        }
        self.memory = memory
    }

    deinit { memory.deallocate() }
}

/// Memory for the texts and binaries that functions return: it stays until the next row, or as long as a list of values
/// that are kept.
package final class FunctionTexts {
    private var blocks: [UnsafeMutableRawPointer] = []
    private var used = 0, size = 0
    private static let leastBlock = 4096

    package init() {}

    deinit { for block in blocks { block.deallocate() } }

    /// Copies bytes. Errors: `.outOfMemory`.
    package func copy(_ bytes: UnsafeRawPointer, _ count: Int) throws(StoreError) -> UnsafeRawPointer {
        if blocks.isEmpty || count > size - used {
            let room = max(FunctionTexts.leastBlock, count, min(1 << 20, size * 2))
            blocks.append(try Memory.allocate(room))
            (used, size) = (0, room)
        }
        let place = blocks[blocks.count - 1] + used
        place.copyMemory(from: bytes, byteCount: count)
        used += count
        return UnsafeRawPointer(place)
    }

    /// The value with its bytes here, where it has any.
    package func keep(_ value: Value) throws(StoreError) -> Value {
        guard value.kind.isBytes, let pointer = value.pointer, value.count > 0 else { return value }
        var own = value
        own.pointer = try copy(pointer, value.count)
        return own
    }

    /// Nothing that was copied is used any more; the last block stays.
    func reset() {
        guard used > 0 || blocks.count > 1 else { return }
        while blocks.count > 1 { blocks.removeFirst().deallocate() }
        used = 0
    }
}

/// Values that functions gave, with their bytes.
final class FunctionValues {
    private let values: UnsafeMutablePointer<Value>
    private let texts = FunctionTexts()
    private var count = 0

    init(_ capacity: Int) throws(StoreError) { values = try Memory.allocate(Value.self, max(1, capacity)) }

    deinit { values.deallocate() }

    func append(_ value: Value) throws(StoreError) {
        values[count] = try texts.keep(value)
        count += 1
    }

    /// One whose bytes stay where they are.
    func append(lasting value: Value) {
        values[count] = value
        count += 1
    }

    subscript(_ index: Int) -> Value { values[index] }
}

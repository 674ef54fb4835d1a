/// Memory for what any call of a writer needed so far: values, positions and marks of properties.
struct ValueScratch {
    private var values = UnsafeMutableBufferPointer<Value>(start: nil, count: 0)
    private var converted = UnsafeMutableBufferPointer<Value>(start: nil, count: 0)
    private var positions = UnsafeMutableBufferPointer<Int>(start: nil, count: 0)
    private var marks = UnsafeMutableBufferPointer<Bool>(start: nil, count: 0)

    mutating func reserve(_ count: Int) -> UnsafeMutablePointer<Value> { ValueScratch.room(&values, count, .null) }
    mutating func converted(_ count: Int) -> UnsafeMutablePointer<Value> { ValueScratch.room(&converted, count, .null) }
    mutating func positions(_ count: Int) -> UnsafeMutablePointer<Int> { ValueScratch.room(&positions, count, 0) }
    /// All false.
    mutating func marks(_ count: Int) -> UnsafeMutablePointer<Bool> {
        let room = ValueScratch.room(&marks, count, false)
        room.update(repeating: false, count: count)
        return room
    }

    @inline(__always)
    private static func room<T>(
        _ buffer: inout UnsafeMutableBufferPointer<T>, _ count: Int, _ zero: T
    ) -> UnsafeMutablePointer<T> {
        if _slowPath(buffer.count < count || buffer.baseAddress == nil) {
            buffer.deallocate()
            buffer = .allocate(capacity: max(count, 32))
            buffer.initialize(repeating: zero)
        }
        return buffer.baseAddress.unsafelyUnwrapped
    }

    func deallocate() {
        values.deallocate()
        converted.deallocate()
        positions.deallocate()
        marks.deallocate()
    }
}

/// Memory for the cells of the mixed values of one call: one per property.
final class CellBuffers {
    private var buffers: [Int: ByteBuffer] = [:]
    private static let kept = 1 << 16

    subscript(position: Int) -> ByteBuffer {
        // Keeping it does not keep a text of megabytes.
        if let buffer = buffers[position], buffer.count <= CellBuffers.kept { return buffer }
        let buffer = ByteBuffer(capacity: 64)
        buffers[position] = buffer
        return buffer
    }
}

/// Copies of texts and binaries that a caller passed, for callers that change the store in several steps: the originals
/// may lie in its pages.
final class KeptBytes {
    private var blocks: [UnsafeMutableRawPointer] = []

    deinit { for block in blocks { block.deallocate() } }

    /// Errors: `.outOfMemory`.
    func keep(_ values: inout [Value]) throws(StoreError) {
        let total = values.reduce(0) { $0 + ($1.pointer == nil ? 0 : $1.count) }
        if total == 0 { return }
        var next = try Memory.allocate(total)
        blocks.append(next)
        for index in values.indices {
            guard let pointer = values[index].pointer else { continue }
            next.copyMemory(from: pointer, byteCount: values[index].count)
            values[index].pointer = UnsafeRawPointer(next)
            next += values[index].count
        }
    }
}

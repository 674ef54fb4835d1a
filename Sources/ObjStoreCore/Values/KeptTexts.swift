/// Copies of texts, and of cells of mixed values, one by one; they stay where they are for its lifetime.
final class KeptTexts {
    private var blocks: [UnsafeMutableRawPointer] = []
    /// Of the last block.
    private var used = 0
    private static let bytes = 1 << 14

    deinit {
        for block in blocks { block.deallocate() }
    }

    /// Errors: `.outOfMemory`.
    func keep(_ value: Value) throws(StoreError) -> Value {
        guard let pointer = value.pointer else { return value }
        // Also an empty text lies in a block.
        if blocks.isEmpty || used + value.count > KeptTexts.bytes {
            blocks.append(try Memory.allocate(max(KeptTexts.bytes, value.count)))
            used = 0
        }
        let copy = blocks[blocks.count - 1] + used
        copy.copyMemory(from: pointer, byteCount: value.count)
        used += value.count
        var kept = value
        kept.pointer = UnsafeRawPointer(copy)
        return kept
    }
}

/// Memory for the texts of one element: a text that lies here does not move until all are forgotten.
struct JSONTexts: ~Copyable {
    private static let chunk = 1 << 16
    /// The first is kept for the next element.
    private var chunks: [UnsafeMutableRawBufferPointer] = []
    private var next: UnsafeMutableRawPointer?
    private var left = 0

    init() {}

    deinit { for chunk in chunks { chunk.deallocate() } }

    mutating func removeAll() {
        while chunks.count > 1 { chunks.removeLast().deallocate() }
        guard let first = chunks.first else { return }
        if first.count > JSONTexts.chunk {
            first.deallocate()
            chunks = []
            next = nil
            left = 0
        } else {
            next = first.baseAddress
            left = first.count
        }
    }

    /// Room for this many bytes, of which `use` keeps those that are needed. Errors: `.outOfMemory`.
    @inline(__always)
    mutating func room(_ bytes: Int) throws(StoreError) -> UnsafeMutableRawPointer {
        if _slowPath(bytes > left || next == nil) {
            try grow(bytes)
        }
        return next.unsafelyUnwrapped
    }

    @inline(__always)
    mutating func use(_ bytes: Int) {
        next = next.unsafelyUnwrapped + bytes
        left &-= bytes
    }

    @inline(never)
    private mutating func grow(_ bytes: Int) throws(StoreError) {
        let count = max(bytes, JSONTexts.chunk)
        let chunk = UnsafeMutableRawBufferPointer(start: try Memory.allocate(count), count: count)
        chunks.append(chunk)
        next = chunk.baseAddress
        left = chunk.count
    }
}

internal import CSystem

/// Memory of zeros straight from the system, of which only what is touched costs anything.
final class ZeroedMemory: @unchecked Sendable {
    let base: UnsafeMutableRawPointer
    private let bytes: Int

    init(bytes: Int) throws(StoreError) {
        let pointer = mmap(nil, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)
        guard let pointer, pointer != UnsafeMutableRawPointer(bitPattern: -1) else {
            throw StoreError(.outOfMemory, "no address space for \(bytes) bytes")
        }
        base = pointer
        self.bytes = bytes
    }

    /// Gets the first bytes at once, which costs a third of getting them page by page: for what is going to be filled.
    func populate(_ count: Int) {
        // Where the system does not know this, the pages come when they are touched.
        _ = madvise(base, min(count, bytes), 23)  // MADV_POPULATE_WRITE
    }

    deinit { munmap(base, bytes) }
}

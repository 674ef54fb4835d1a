/// Memory for one operation, freed all at once. Errors: `.outOfMemory`.
final class Scratch {
    private var block: UnsafeMutableRawPointer?
    private static let blockBytes = 64 * 1024
    private var used = 0
    private var large: [UnsafeMutableRawPointer] = []

    deinit { reset(); block?.deallocate() }

    /// Memory of any content, aligned to 64 bytes.
    @inline(__always)
    func allocate(_ bytes: Int) throws(StoreError) -> UnsafeMutableRawPointer {
        let rounded = (bytes &+ 63) & ~63
        if let block, used &+ rounded <= Scratch.blockBytes {
            let pointer = block + used
            used &+= rounded
            return pointer
        }
        return try allocateLarge(rounded)
    }

    @inline(never)
    private func allocateLarge(_ bytes: Int) throws(StoreError) -> UnsafeMutableRawPointer {
        if block == nil {
            block = try Memory.allocateAligned(Scratch.blockBytes)
            return try allocate(bytes)
        }
        let pointer = try Memory.allocateAligned(bytes)
        large.append(pointer)
        return pointer
    }

    @inline(__always)
    func reset() {
        used = 0
        if !large.isEmpty {
            for pointer in large { pointer.deallocate() }
            large.removeAll(keepingCapacity: true)
        }
    }
}

internal import CSystem

/// The private memory of one write transaction: extents that are copied from the file on first touch,
/// changed in place, and written out at commit.
///
/// A dirty ref is an index into a table of blocks that never moves, so that refs and the table's address
/// stay valid while extents grow.
package final class Arena {
    struct Block {
        /// Null: the block was freed.
        var pointer: UnsafeMutableRawPointer?
        /// Used length; what lies between it and `capacity` has any content.
        var bytes: Int
        /// A multiple of 512.
        var capacity: Int
    }

    /// From a dirty ref to memory: two loads. The address of the table stays the same for the arena's life.
    package struct Table {
        let chunks: UnsafeMutablePointer<UnsafeMutablePointer<Block>?>

        @inline(__always) func block(_ index: Int) -> UnsafeMutablePointer<Block> {
            chunks[index >> 12].unsafelyUnwrapped + (index & 4095)
        }
        @inline(__always) func pointer(_ ref: Ref) -> UnsafeMutableRawPointer {
            block(ref.arenaIndex).pointee.pointer.unsafelyUnwrapped
        }
    }

    private static let maximumChunks = 1 << 16
    package let table: Table
    private(set) var count = 0
    /// Blocks in use, and their bytes rounded up to units: what a commit will have to place.
    private(set) var liveBlocks = 0
    package private(set) var capacityInUse = 0

    /// Freed memory by size in units, kept for the next extent; larger ones go back to malloc.
    private var pools: [[UnsafeMutableRawPointer]] = Array(repeating: [], count: 130)
    private var pooledBytes = 0
    /// What is kept from one transaction to the next: more than most need.
    private static let keptBytes = 8 << 20

    /// Errors: `.outOfMemory`.
    package init() throws(StoreError) {
        let bytes = Arena.maximumChunks * MemoryLayout<UnsafeMutablePointer<Block>?>.stride
        guard let raw = cs_try_calloc(bytes, 1) else {
            throw StoreError(.outOfMemory, "no memory for the list of extents")
        }
        table = Table(chunks: raw.bindMemory(to: UnsafeMutablePointer<Block>?.self, capacity: Arena.maximumChunks))
    }

    deinit {
        truncate(0)
        freePools()
        var chunk = 0
        while chunk < Arena.maximumChunks, let blocks = table.chunks[chunk] {
            free(blocks)
            chunk += 1
        }
        free(table.chunks)
    }

    /// A new extent of `bytes` bytes with any content and room for at least `capacity`.
    func allocate(bytes: Int, capacity: Int) throws(StoreError) -> (ref: Ref, pointer: UnsafeMutableRawPointer) {
        let units = max(1, PageSize.units(max(bytes, capacity)))
        let pointer = try memory(units)
        if count & 4095 == 0, table.chunks[count >> 12] == nil {
            guard count >> 12 < Arena.maximumChunks else {
                release(pointer, units)
                throw StoreError(
                    .outOfMemory, "a transaction cannot change more than \(Arena.maximumChunks << 12) extents")
            }
            guard let chunk = cs_try_malloc(4096 * MemoryLayout<Block>.stride) else {
                release(pointer, units)
                throw StoreError(.outOfMemory, "no memory for the list of extents")
            }
            table.chunks[count >> 12] = chunk.bindMemory(to: Block.self, capacity: 4096)
        }
        let index = count
        table.block(index).initialize(to: Block(pointer: pointer, bytes: bytes, capacity: units * PageSize.unit))
        count += 1
        liveBlocks += 1
        capacityInUse += units * PageSize.unit
        return (Ref(arenaIndex: index), pointer)
    }

    /// Room for `capacity` bytes in a dirty extent; may move its memory (not its ref).
    func reserve(_ ref: Ref, capacity: Int) throws(StoreError) -> UnsafeMutableRawPointer {
        let block = table.block(ref.arenaIndex)
        let old = block.pointee
        if capacity <= old.capacity { return old.pointer! }
        let units = PageSize.units(max(capacity, old.capacity + old.capacity / 4))
        let pointer = try memory(units)
        pointer.copyMemory(from: old.pointer!, byteCount: old.bytes)
        release(old.pointer!, old.capacity / PageSize.unit)
        capacityInUse += units * PageSize.unit - old.capacity
        block.pointee.pointer = pointer
        block.pointee.capacity = units * PageSize.unit
        return pointer
    }

    @inline(__always) func bytes(_ ref: Ref) -> Int { table.block(ref.arenaIndex).pointee.bytes }
    @inline(__always) func capacity(_ ref: Ref) -> Int { table.block(ref.arenaIndex).pointee.capacity }
    /// Sets the used length; at most the capacity.
    @inline(__always) func setBytes(_ ref: Ref, _ bytes: Int) { table.block(ref.arenaIndex).pointee.bytes = bytes }

    /// Frees a dirty extent that is no longer needed.
    func discard(_ ref: Ref) {
        let block = table.block(ref.arenaIndex)
        guard let pointer = block.pointee.pointer else { return }
        release(pointer, block.pointee.capacity / PageSize.unit)
        capacityInUse -= block.pointee.capacity
        liveBlocks -= 1
        block.pointee.pointer = nil
    }

    /// Forgets every extent; their memory is kept for the next transaction, if it is not much.
    package func reset() {
        truncate(0)
        if pooledBytes > Arena.keptBytes {
            freePools()
            cs_return_memory()
        }
    }

    /// Forgets the extents that came after the first `kept`.
    func truncate(_ kept: Int) {
        var index = kept
        while index < count {
            discard(Ref(arenaIndex: index))
            index += 1
        }
        count = kept
    }

    /// Forgets the last extents, but for the first `kept`, as far as they were freed, so that their refs are used
    /// again.
    func trim(_ kept: Int) {
        while count > kept, table.block(count - 1).pointee.pointer == nil { count -= 1 }
    }

    // MARK: Memory

    private func memory(_ units: Int) throws(StoreError) -> UnsafeMutableRawPointer {
        if units < pools.count, let pointer = pools[units].popLast() {
            pooledBytes -= units * PageSize.unit
            return pointer
        }
        guard let pointer = cs_try_aligned(64, units * PageSize.unit) else {
            throw StoreError(.outOfMemory, "no memory for an extent of \(units * PageSize.unit) bytes")
        }
        return pointer
    }

    private func release(_ pointer: UnsafeMutableRawPointer, _ units: Int) {
        guard units < pools.count else { return free(pointer) }
        pools[units].append(pointer)
        pooledBytes += units * PageSize.unit
    }

    private func freePools() {
        for units in pools.indices {
            for pointer in pools[units] { free(pointer) }
            pools[units] = []
        }
        pooledBytes = 0
    }
}

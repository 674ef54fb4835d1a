internal import CSystem

/// Memory whose size follows the data, or the arguments of a call: where there is none, the call fails. Swift's own
/// `allocate` ends the process.
package enum Memory {
    /// What is small comes out of the reserve.
    private static let reserve = 4 << 20  // CS_RESERVE_BYTES

    /// For what Swift will allocate (arrays, which cannot fail): whether there is so much.
    ///
    /// Errors: `.outOfMemory`.
    @inline(__always)
    package static func check(for count: Int, each bytes: Int) throws(StoreError) {
        // So small a part that what several threads need at the same time fits.
        if _slowPath(count > reserve / 16 / bytes) {
            if !cs_take_budget(count &* bytes) { throw beyondBudget }
            if !cs_memory_has(count &* bytes) {
                throw StoreError(.outOfMemory, "there is no memory for what \(count) elements need")
            }
        }
    }

    /// Runs `body`, in which this thread may allocate so many bytes, in all.
    static func limited<T>(to bytes: Int64, _ body: () throws(StoreError) -> T) throws(StoreError) -> T {
        let thread = cs_thread_current().unsafelyUnwrapped, outer = thread.pointee.asked.budget
        // 0 is none: one more than there is.
        thread.pointee.asked.budget = UInt64(bytes) + 1
        defer { thread.pointee.asked.budget = outer }
        return try body()
    }

    private static var beyondBudget: StoreError {
        StoreError(.outOfMemory, "the query needs more memory than it may have (OBJSTORE_LIMIT_QUERY_BYTES)")
    }

    /// So much comes in large pages, for filling 2,048 small ones for the first time costs a millisecond.
    private static let large = 8 << 20, largePage = 2 << 20

    /// Memory of any content, aligned to 16 bytes, as `UnsafeMutableRawPointer.allocate` gives it: for `deallocate`.
    ///
    /// Errors: `.outOfMemory`.
    package static func allocate(_ bytes: Int) throws(StoreError) -> UnsafeMutableRawPointer {
        if _slowPath(!cs_take_budget(bytes)) { throw beyondBudget }
        if _slowPath(bytes >= large) {
            let memory = try allocateAligned(bytes, to: largePage)
            cs_prefer_large_pages(memory, bytes)
            return memory
        }
        guard let memory = cs_try_malloc(bytes) else { throw none(bytes) }
        return memory
    }

    /// The same for elements of a type.
    @inline(__always)
    package static func allocate<T>(
        _ type: T.Type, _ count: Int
    ) throws(StoreError) -> UnsafeMutablePointer<T> {
        try allocate(count &* MemoryLayout<T>.stride).bindMemory(to: type, capacity: count)
    }

    /// The same, aligned to 64 bytes, or as `alignment` says.
    package static func allocateAligned(
        _ bytes: Int, to alignment: Int = 64
    ) throws(StoreError) -> UnsafeMutableRawPointer {
        guard let memory = cs_try_aligned(alignment, bytes) else { throw none(bytes) }
        return memory
    }

    /// More of what `allocate` gave, perhaps at another place; where that fails it stays where it is.
    ///
    /// Errors: `.outOfMemory`.
    package static func reallocate(
        _ memory: UnsafeMutableRawPointer, _ bytes: Int
    ) throws(StoreError) -> UnsafeMutableRawPointer {
        if _slowPath(!cs_take_budget(bytes)) { throw beyondBudget }
        guard let larger = cs_try_realloc(memory, bytes) else { throw none(bytes) }
        return larger
    }

    private static func none(_ bytes: Int) -> StoreError {
        StoreError(.outOfMemory, "there is no memory for \(bytes) bytes")
    }
}

extension Array {
    /// Appends where there is memory: an array that grows by itself ends the process.
    ///
    /// Errors: `.outOfMemory`.
    @inline(__always)
    mutating func tryAppend(_ element: Element) throws(StoreError) {
        if _slowPath(count == capacity) { try Memory.check(for: 2 &* count, each: MemoryLayout<Element>.stride) }
        append(element)
    }

    /// `reserveCapacity` that can fail.
    @inline(__always)
    mutating func tryReserve(_ count: Int) throws(StoreError) {
        try Memory.check(for: count, each: MemoryLayout<Element>.stride)
        reserveCapacity(count)
    }
}

internal import CSystem

/// Object keys found by a scan; memory is reused when it is cleared.
package final class KeyBuffer {
    package private(set) var keys: UnsafeMutablePointer<Int64>
    package private(set) var count = 0
    private var capacity: Int

    package init(capacity: Int = 64) {
        self.capacity = max(1, capacity)
        keys = .allocate(capacity: self.capacity)
    }
    /// For about this many keys, according to a file, which may say anything: it grows with what really comes.
    /// Errors: `.outOfMemory`.
    package convenience init(expecting count: Int) throws(StoreError) {
        let capacity = min(max(16, count), KeyBuffer.mostExpected)
        try self.init(keys: KeyBuffer.memory(capacity), capacity: capacity)
    }

    /// Errors: `.outOfMemory`.
    package convenience init(copying keys: UnsafeBufferPointer<Int64>) throws(StoreError) {
        try self.init(keys: KeyBuffer.memory(max(1, keys.count)), capacity: max(1, keys.count))
        if let base = keys.baseAddress { self.keys.update(from: base, count: keys.count) }
        count = keys.count
    }

    /// None yet, in memory that `Memory.allocate` gave.
    convenience init(taking memory: UnsafeMutablePointer<Int64>, _ capacity: Int) {
        self.init(keys: memory, capacity: capacity)
    }

    private init(keys: UnsafeMutablePointer<Int64>, capacity: Int) {
        self.keys = keys
        self.capacity = capacity
    }

    /// Of malloc, as what Swift allocates, but it may fail.
    private static func memory(_ capacity: Int) throws(StoreError) -> UnsafeMutablePointer<Int64> {
        do throws(StoreError) { return try Memory.allocate(Int64.self, capacity) } catch {
            throw error.prefixed("keys of \(capacity) objects: ")
        }
    }

    private static let mostExpected = 1 << 24

    deinit { keys.deallocate() }

    package func clear() { count = 0 }

    /// Errors: `.outOfMemory`.
    @inline(__always)
    package func append(_ key: Int64) throws(StoreError) {
        if _slowPath(count == capacity) { try grow() }
        keys[count] = key
        count &+= 1
    }

    @inline(never)
    private func grow() throws(StoreError) {
        let bigger = try KeyBuffer.memory(capacity * 2)
        bigger.update(from: keys, count: count)
        keys.deallocate()
        keys = bigger
        capacity *= 2
    }

    /// O(n), at memory speed.
    func firstIndex(of key: Int64) -> Int? {
        let keys = keys
        for index in 0..<count where keys[index] == key { return index }
        return nil
    }

    /// In the same order.
    func hasSameKeys(as other: KeyBuffer) -> Bool {
        count == other.count && memcmp(keys, other.keys, count * MemoryLayout<Int64>.stride) == 0
    }

    /// Leaves the keys that another one has, too; both are ascending.
    func keepCommon(with other: KeyBuffer) {
        var kept = 0, place = 0
        for index in 0..<count {
            let key = keys[index]
            while place < other.count, other.keys[place] < key { place &+= 1 }
            if place == other.count { break }
            keys[kept] = key
            if other.keys[place] == key { kept &+= 1 }
        }
        count = kept
    }

    /// Room for so many more.
    func reserve(_ more: Int) throws(StoreError) {
        while capacity - count < more { try grow() }
    }

    func append(_ other: KeyBuffer, _ range: Range<Int>) throws(StoreError) {
        try reserve(range.count)
        (keys + count).update(from: other.keys + range.lowerBound, count: range.count)
        count += range.count
    }

    /// Ascending, as keys, which are never negative. Errors: `.outOfMemory`; those of whoever watches the query.
    func sort() throws(StoreError) {
        let words = UnsafeMutableRawPointer(keys).assumingMemoryBound(to: UInt64.self)
        let scratch = try Memory.allocate(UInt64.self, max(1, count))
        defer { scratch.deallocate() }
        try PrefixSort.sort(words, scratch, count, indexBits: 0)
    }
}

/// The values of one element of a JSON text, flat as `DocumentArray` has them, and where each began.
///
/// Numbers are ints where their text is that of an integer of 64 bits; every other number is a double that also has its
/// text: `JSONNumber` makes of it exactly what a property needs.
struct JSONValues: ~Copyable {
    private(set) var values: UnsafeMutablePointer<Value>
    /// In bytes of the text.
    private(set) var offsets: UnsafeMutablePointer<Int>
    private(set) var count = 0
    private var capacity = 256

    init() {
        values = .allocate(capacity: capacity)
        offsets = .allocate(capacity: capacity)
    }

    deinit {
        values.deallocate()
        offsets.deallocate()
    }

    /// Errors: `.outOfMemory`.
    @inline(__always)
    mutating func append(_ value: Value, _ offset: Int) throws(StoreError) {
        if _slowPath(count == capacity) {
            try resize(capacity * 2)
        }
        (values + count).initialize(to: value)
        (offsets + count).initialize(to: offset)
        count &+= 1
    }

    mutating func truncate(_ count: Int) { self.count = count }

    mutating func removeAll() {
        count = 0
        // What one large element needed is not kept, if there is memory for less.
        if capacity > 1 << 16 { do throws(StoreError) { try resize(256) } catch {} }
    }

    @inline(never)
    private mutating func resize(_ capacity: Int) throws(StoreError) {
        let values = try Memory.allocate(Value.self, capacity), offsets: UnsafeMutablePointer<Int>
        do throws(StoreError) { offsets = try Memory.allocate(Int.self, capacity) } catch {
            values.deallocate()
            throw error
        }
        values.update(from: self.values, count: count)
        offsets.update(from: self.offsets, count: count)
        self.values.deallocate()
        self.offsets.deallocate()
        self.values = values
        self.offsets = offsets
        self.capacity = capacity
    }
}

/// The elements that a query of plain values has found, in its order, with the places where they are in the collection.
/// Immutable; it has copies of all bytes, so that no version is kept.
package final class FoundValues: @unchecked Sendable {
    package let count: Int
    private let values: UnsafeMutablePointer<Value>
    /// The index of each in the list, or in the order of the set or map.
    private let places: UnsafeMutablePointer<Int64>
    /// Of a map.
    private let keys: UnsafeMutablePointer<Value>?
    private let bytes: UnsafeMutableRawPointer

    static func nothing() throws(StoreError) -> FoundValues { try FoundValues(KeyBuffer(), [], KeyBuffer(), nil) }

    /// - Parameters:
    ///   - list: which of `values`; they are copied.
    ///   - keys: of a map, of each value.
    init(_ list: KeyBuffer, _ values: [Value], _ places: KeyBuffer, _ keys: [Value]?) throws(StoreError) {
        count = list.count
        var size = 0
        for number in 0..<list.count {
            let index = Int(list.keys[number])
            size += FoundValues.size(values[index])
            if let keys { size += FoundValues.size(keys[index]) }
        }
        // In one piece, so that nothing is left where there is no memory.
        let room = max(1, list.count), each = MemoryLayout<Value>.stride
        let start = try Memory.allocate(room * (each * (keys == nil ? 1 : 2) + 8) + size)
        self.values = start.bindMemory(to: Value.self, capacity: room)
        var next = start + room * each
        if keys == nil {
            self.keys = nil
        } else {
            self.keys = next.bindMemory(to: Value.self, capacity: room)
            next += room * each
        }
        self.places = next.bindMemory(to: Int64.self, capacity: room)
        next += room * 8
        bytes = start
        for number in 0..<list.count {
            let index = Int(list.keys[number])
            self.places[number] = places.keys[index]
            self.values[number] = FoundValues.copied(values[index], &next)
            if let keys { self.keys?[number] = FoundValues.copied(keys[index], &next) }
        }
    }

    deinit { bytes.deallocate() }

    private static func size(_ value: Value) -> Int { value.kind.hasBytes ? value.count : 0 }

    private static func copied(_ value: Value, _ next: inout UnsafeMutableRawPointer) -> Value {
        guard value.kind.hasBytes, value.count > 0, let pointer = value.pointer else { return value }
        next.copyMemory(from: pointer, byteCount: value.count)
        var own = value
        own.pointer = UnsafeRawPointer(next)
        next += value.count
        return own
    }

    // Of indexes below `count`; bytes are valid as long as this object.

    package func value(_ index: Int) -> Value { values[index] }
    package func place(_ index: Int) -> Int { Int(places[index]) }
    /// Null, where it is no map.
    package func key(_ index: Int) -> Value { keys?[index] ?? .null }

    /// The indexes from `start` on, at most `limit`. Errors: `.outOfRange`.
    package func range(from start: UInt64, limit: Int) throws(StoreError) -> Range<Int> {
        guard start <= UInt64(count) else {
            throw StoreError(.outOfRange, "start \(start) of \(count.counted("value"))")
        }
        return Int(start)..<Int(start) + min(limit, count - Int(start))
    }

    func isSame(as other: FoundValues) -> Bool {
        count == other.count
            && (0..<count).allSatisfy {
                places[$0] == other.places[$0] && values[$0].isSame(as: other.values[$0])
                    && key($0).isSame(as: other.key($0))
            }
    }
}

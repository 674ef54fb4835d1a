/// The least or the greatest values of a group in their order, the best one first, with the keys of their objects: what
/// is known of the next ones when the best one goes.
///
/// ```
///  @min.price     3 (dog 7)   4 (dog 1)   4 (dog 9)   7 (dog 2)   ┊  others, which nobody has counted
///                 dog 7 goes: 4 is the least
///                 dog 5 comes with 6: before the last one, so that it belongs here; with 8 it is one of the others
/// ```
/// When none is left the values are looked through again: of `room` times once at most. Values that are equal in
/// several forms (1.0 and 1.00) are in the order of their objects, as asking takes the first one.
package struct BestValues {
    private struct Entry {
        var value: Value
        let key: Int64
        /// Of a value that has bytes, once it is kept.
        var bytes: OwnedValue?
    }

    private let isLeast: Bool
    /// While values are offered a heap, the last one in the order at its top.
    private var entries: [Entry] = []
    /// There are no others.
    private var hasAll = true

    package init(isLeast: Bool) { self.isLeast = isLeast }

    /// How many values are kept of each of so many groups.
    package static func room(groups: Int) -> Int { max(4, min(1024, (1 << 16) / max(1, groups))) }

    /// Null: there are no values, or it is not known which one is the best.
    package var best: Value { entries.first?.value ?? .null }
    /// The best of some values is not known.
    package var isLost: Bool { entries.isEmpty && !hasAll }

    private func comes(_ a: Entry, before b: Entry) throws(StoreError) -> Bool {
        let order =
            a.value.kind == .int && b.value.kind == .int
            ? (a.value.low < b.value.low ? -1 : a.value.low == b.value.low ? 0 : 1)
            : try MixedOrder.compare(a.value, b.value)
        return order == 0 ? a.key < b.key : (order < 0) == isLeast
    }

    // MARK: Finding

    /// A value of an object behind all others. Its bytes have to stay where they are until `finish`.
    package mutating func offer(_ value: Value, of key: Int64, room: Int) throws(StoreError) {
        let entry = Entry(value: value, key: key, bytes: nil)
        if entries.count < room {
            if entries.isEmpty { try Memory.check(for: 1, each: 64) }
            entries.append(entry)
            var place = entries.count - 1
            while place > 0, try comes(entries[(place - 1) / 2], before: entries[place]) {
                entries.swapAt(place, (place - 1) / 2)
                place = (place - 1) / 2
            }
            return
        }
        hasAll = false
        guard try comes(entry, before: entries[0]) else { return }
        entries[0] = entry
        try sift(to: entries.count)
    }

    /// The top of the heap goes to where it belongs, among the first so many.
    private mutating func sift(to end: Int) throws(StoreError) {
        var place = 0
        while true {
            var last = 2 * place + 1
            if last >= end { return }
            if last + 1 < end, try comes(entries[last], before: entries[last + 1]) { last += 1 }
            guard try comes(entries[place], before: entries[last]) else { return }
            entries.swapAt(place, last)
            place = last
        }
    }

    /// All are offered. Bytes belong to it from now on.
    package mutating func finish(room: Int) throws(StoreError) {
        var end = entries.count
        while end > 1 {
            end -= 1
            entries.swapAt(0, end)
            try sift(to: end)
        }
        cut(to: room)
        for place in entries.indices { try keep(place) }
    }

    private mutating func cut(to room: Int) {
        guard entries.count > room else { return }
        entries.removeSubrange(room...)
        hasAll = false
    }

    private mutating func keep(_ place: Int) throws(StoreError) {
        guard entries[place].value.kind.isBytes else { return }
        let own = try OwnedValue(copying: entries[place].value)
        (entries[place].value, entries[place].bytes) = (own.value, own)
    }

    // MARK: Following

    /// Where a value is, or would be.
    private func place(of entry: Entry) throws(StoreError) -> Int {
        var low = 0, high = entries.count
        while low < high {
            let middle = (low + high) / 2
            if try comes(entries[middle], before: entry) { low = middle + 1 } else { high = middle }
        }
        return low
    }

    package mutating func remove(_ value: Value, of key: Int64) throws(StoreError) {
        let place = try place(of: Entry(value: value, key: key, bytes: nil))
        guard place < entries.count, entries[place].key == key, !InjectedBug.active(.groupBestKept) else { return }
        entries.remove(at: place)
    }

    package mutating func insert(_ value: Value, of key: Int64, room: Int) throws(StoreError) {
        let entry = Entry(value: value, key: key, bytes: nil), place = try place(of: entry)
        // Some of the others may come before it.
        if place == entries.count && !hasAll { return }
        try Memory.check(for: 1, each: 64)
        entries.insert(entry, at: place)
        try keep(place)
        if entries.count > 2 * room { cut(to: room) }
    }

    /// The group has no values any more.
    package mutating func clear() {
        entries = []
        hasAll = true
    }
}

/// The objects of results in sections: which key each has, and which objects, in the order of the results. Immutable;
/// any thread.
///
/// ```
///  list of the results   Rex  Wolfie  Fido  Rolf        key of the section   F     R         W
///  position              0    1       2     3           positions            2     0    3    1
///                                                       place of all         0     1    2    3
/// ```
final class SectionList: @unchecked Sendable {
    package enum Order { case ofAppearance, ascending, descending }

    /// That of the results.
    let list: KeyBuffer
    /// By place: where the object is in the list.
    let positions: UnsafeMutablePointer<Int>
    /// How many objects there are in all sections.
    let objectCount: Int
    /// The place where each section begins, and behind the last the end.
    let starts: [Int]
    /// Bytes lie in `bytes`.
    let keys: [Value]
    private let bytes: AnyObject
    /// The sections in the order of their keys.
    let byKey: [Int]
    private let lock = Lock()
    /// By position: the place, or -1. Made when somebody asks.
    private var places: UnsafeMutablePointer<Int>?

    /// Of no objects.
    init() throws(StoreError) {
        (list, objectCount, starts, keys, bytes, byKey) = (KeyBuffer(capacity: 1), 0, [0], [], ByteBuffer(), [])
        positions = try Memory.allocate(Int.self, 1)
    }

    /// Of known objects, in their order. Keys are copied.
    init(of sections: [(key: Value, objects: [Int64])]) throws(StoreError) {
        let list = KeyBuffer(), bytes = KeptTexts()
        var starts = [0], keys: [Value] = [], byKey: [Int] = []
        for (section, (key, objects)) in sections.enumerated() {
            for object in objects { try list.append(object) }
            starts.append(list.count)
            keys.append(try bytes.keep(key))
            var place = byKey.count
            while place > 0, try SortColumn.order(keys[byKey[place - 1]], key) > 0 { place -= 1 }
            byKey.insert(section, at: place)
        }
        positions = try Memory.allocate(Int.self, max(1, list.count))
        for place in 0..<list.count { positions[place] = place }
        (self.list, objectCount, self.starts, self.keys) = (list, list.count, starts, keys)
        (self.byKey, self.bytes) = (byKey, bytes)
    }

    init(_ list: KeyBuffer, _ groups: SectionGroups, _ order: Order) throws(StoreError) {
        let count = groups.keys.count
        // All that is made below.
        try Memory.check(for: count, each: 3 * MemoryLayout<Int>.stride + MemoryLayout<Value>.stride)
        var chosen = Array(0..<count)
        switch order {
        case .ascending: break
        case .descending: chosen.reverse()
        // The first position of a group is its least.
        case .ofAppearance:
            chosen.sort { groups.positions[groups.starts[$0]] < groups.positions[groups.starts[$1]] }
        }
        positions = try Memory.allocate(Int.self, max(1, groups.count))
        var starts = [0], byKey = [Int](repeating: 0, count: count)
        starts.reserveCapacity(count + 1)
        for (section, group) in chosen.enumerated() {
            let start = groups.starts[group], end = group + 1 < count ? groups.starts[group + 1] : groups.count
            (positions + starts[section]).update(from: groups.positions + start, count: end - start)
            starts.append(starts[section] + end - start)
            byKey[group] = section
        }
        (self.list, self.starts, self.byKey, objectCount) = (list, starts, byKey, groups.count)
        keys = chosen.map { groups.keys[$0] }
        bytes = groups.bytes
    }

    deinit {
        positions.deallocate()
        places?.deallocate()
    }

    var count: Int { keys.count }

    func places(of section: Int) -> Range<Int> { starts[section]..<starts[section + 1] }
    func objectKey(at place: Int) -> Int64 { list.keys[positions[place]] }

    /// The same sections, of the same objects at the same positions.
    func isSame(as other: SectionList) throws(StoreError) -> Bool {
        guard starts == other.starts, list.count == other.list.count, objectCount == other.objectCount else {
            return false
        }
        for place in 0..<objectCount where positions[place] != other.positions[place] { return false }
        for index in 0..<list.count where list.keys[index] != other.list.keys[index] { return false }
        for section in 0..<count {
            let key = keys[section], otherKey = other.keys[section]
            guard key.kind == otherKey.kind, try SortColumn.order(key, otherKey) == 0 else { return false }
        }
        return true
    }

    // MARK: Searching

    /// The section with that key. O(log sections).
    func section(of key: Value) throws(StoreError) -> Int? {
        var low = 0, high = count
        while low < high {
            let middle = (low + high) / 2
            if try SortColumn.order(keys[byKey[middle]], key) < 0 { low = middle + 1 } else { high = middle }
        }
        guard low < count, try SortColumn.order(keys[byKey[low]], key) == 0 else { return nil }
        return byKey[low]
    }

    /// The section that a place is in. O(log sections).
    func section(at place: Int) -> Int {
        var low = 0, high = count
        while high - low > 1 {
            let middle = (low + high) / 2
            if starts[middle] <= place { low = middle } else { high = middle }
        }
        return low
    }

    /// The place of what is at a position of the list; nil: it is in no section. O(1), but for the first time.
    func place(ofPosition position: Int) throws(StoreError) -> Int? {
        let all = try lock.withLock { () throws(StoreError) -> UnsafeMutablePointer<Int> in
            if let places { return places }
            let made = try Memory.allocate(Int.self, max(1, list.count))
            made.update(repeating: -1, count: list.count)
            for place in 0..<objectCount { made[positions[place]] = place }
            places = made
            return made
        }
        return all[position] < 0 ? nil : all[position]
    }

    /// The position of an object. O(n), at memory speed.
    func position(of key: Int64) -> Int? { list.firstIndex(of: key) }
}

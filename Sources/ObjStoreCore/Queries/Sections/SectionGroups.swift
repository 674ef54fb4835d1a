/// The objects of a list by their keys: in the order of keys, those with equal ones together, in the order of the list.
/// What sections are made of.
///
/// Objects that were deleted since they were found are in no group. Memory: 8 bytes for each object, and what sorting
/// needs.
final class SectionGroups {
    /// In the list.
    private(set) var positions: UnsafeMutablePointer<Int>
    private(set) var count = 0
    /// Where each group begins among the positions.
    private(set) var starts: [Int] = []
    /// One for each group; their bytes lie in `bytes`.
    private(set) var keys: [Value] = []
    let bytes = ByteBuffer(capacity: 256)

    private init(capacity: Int) throws(StoreError) { positions = try Memory.allocate(Int.self, max(1, capacity)) }

    deinit { positions.deallocate() }

    /// By a value of each object, in one version or a transaction.
    convenience init(
        of list: KeyBuffer, by key: SectionKey, _ trees: TreeAccess, _ cls: ClassSchema
    ) throws(StoreError) {
        try self.init(capacity: list.count)
        // First those that are there; then, over them, where each of them stands behind the others.
        let present = try keepPresent(list, try trees.objects(cls)), there = positions
        let order = try RowOrder(present, [key.sortKey], trees, cls)
        try order.sort(first: present.count)
        let sorted = try Memory.allocate(Int.self, max(1, present.count))
        positions = sorted
        defer { there.deallocate() }
        var nextLook = WatchedQuery.stretch
        for place in 0..<present.count {
            try WatchedQuery.look(at: place, &nextLook)
            if order.isFirstOfRun(at: place) {
                try begin(at: place, try order.value(at: place), isFirstLetter: key.sortKey.isFirstLetter)
            }
            sorted[place] = there[order.index(at: place)]
        }
        end()
    }

    /// By what a function answers, which may do with the store what it likes: also delete objects that come later.
    ///
    /// - Parameter function: its value is valid until it is called again. Nil: the object is not there any more.
    convenience init(
        of list: KeyBuffer, isFirstLetter: Bool, storeTag: UInt32,
        by function: (_ key: Int64) throws(StoreError) -> Value?
    ) throws(StoreError) {
        try self.init(capacity: list.count)
        let texts = ByteBuffer(), values = try Memory.allocate(Value.self, max(1, list.count))
        defer { values.deallocate() }
        for index in 0..<list.count {
            guard let value = try function(list.keys[index]) else { continue }
            try SectionGroups.check(value, isFirstLetter: isFirstLetter, storeTag)
            values[index] = try SectionGroups.copy(value, isFirstLetter: isFirstLetter, to: texts)
            positions[count] = index
            count += 1
        }
        for place in 0..<count { SectionGroups.point(&values[positions[place]], to: texts) }
        try sort(by: values)
        for place in 0..<count {
            let value = values[positions[place]]
            var isFirst = place == 0
            if !isFirst { isFirst = try SortColumn.order(values[positions[place - 1]], value) != 0 }
            if isFirst { try begin(at: place, value, isFirstLetter: false) }
        }
        end()
    }

    // MARK: Keys

    /// Errors: `.wrongType`, `.invalidUTF8`, `.outOfRange`, `.wrongStore`.
    private static func check(_ value: Value, isFirstLetter: Bool, _ storeTag: UInt32) throws(StoreError) {
        switch value.kind {
        case .null, .string: break
        case .bool, .int, .float, .double, .decimal128, .binary, .timestamp, .objectID, .uuid, .link:
            if isFirstLetter {
                throw StoreError(
                    .wrongType, "the function answered \(value.kind.indefinite): a text has a first letter")
            }
            if value.kind == .timestamp, !(0..<1_000_000_000).contains(value.high) {
                throw StoreError(.outOfRange, "nanoseconds are 0 to 999999999, not \(value.high)")
            }
            if value.kind == .link, value.givenObject.storeTag != storeTag {
                throw StoreError(.wrongStore, "the function answered an object of another store")
            }
        default:
            throw StoreError(.wrongType, "the function answered \(value.kind.indefinite), which is no key of a section")
        }
        if value.kind == .string, !UTF8Check.isValid(value.pointer, value.count) {
            throw StoreError(.invalidUTF8, "the function answered a text that is not valid UTF-8")
        }
    }

    /// Nothing of it points to its origin any more: until `point` the bytes are counted from the beginning of `bytes`.
    private static func copy(
        _ value: Value, isFirstLetter: Bool, to bytes: ByteBuffer
    ) throws(StoreError) -> Value {
        guard value.kind.hasBytes else { return value }
        var copy = value
        copy.low = Int64(bytes.count)
        copy.pointer = nil
        if isFirstLetter {
            copy.count = try FirstLetter.append(value, to: bytes)
        } else {
            try bytes.append(bytes: value.pointer, count: value.count)
        }
        return copy
    }

    private static func point(_ value: inout Value, to bytes: ByteBuffer) {
        guard value.kind.hasBytes else { return }
        value.pointer = UnsafeRawPointer(bytes.base + Int(value.low))
        value.low = 0
    }

    private func begin(at place: Int, _ key: Value, isFirstLetter: Bool) throws(StoreError) {
        try starts.tryAppend(place)
        try keys.tryAppend(try SectionGroups.copy(key, isFirstLetter: isFirstLetter, to: bytes))
    }

    private func end() { for index in keys.indices { SectionGroups.point(&keys[index], to: bytes) } }

    // MARK: Objects

    /// The keys of the objects that are there; `positions` says where each of them is in the list.
    private func keepPresent(_ list: KeyBuffer, _ reader: ClusterReader) throws(StoreError) -> KeyBuffer {
        var finder = RowFinder(reader)
        var present: KeyBuffer?, nextLook = WatchedQuery.stretch
        for index in 0..<list.count {
            let key = list.keys[index]
            try WatchedQuery.look(at: index, &nextLook)
            if try finder.find(key) != nil {
                positions[count] = index
                count += 1
                try present?.append(key)
            } else if present == nil {
                present = try list.part(0..<index)
            }
        }
        return present ?? list
    }

    /// Stable, by merging.
    private func sort(by values: UnsafePointer<Value>) throws(StoreError) {
        let scratch = try Memory.allocate(Int.self, max(1, count))
        defer { scratch.deallocate() }
        func isLess(_ a: Int, _ b: Int) throws(StoreError) -> Bool { try SortColumn.order(values[a], values[b]) < 0 }
        var width = 1
        while width < count {
            var nextLook = WatchedQuery.stretch
            for start in stride(from: 0, to: count, by: 2 * width) {
                let middle = min(start + width, count), end = min(start + 2 * width, count)
                try WatchedQuery.look(at: end, &nextLook)
                guard middle < end, try isLess(positions[middle], positions[middle - 1]) else { continue }
                var left = start, right = middle
                for place in start..<end {
                    var takesRight = left == middle
                    if !takesRight && right < end { takesRight = try isLess(positions[right], positions[left]) }
                    scratch[place] = positions[takesRight ? right : left]
                    if takesRight { right += 1 } else { left += 1 }
                    try WatchedQuery.look(at: place, &nextLook)
                }
                (positions + start).update(from: scratch + start, count: end - start)
            }
            width *= 2
        }
    }
}

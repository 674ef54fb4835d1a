/// What leads from one list of objects to another: which went, which came, and which stand at another place among those
/// that stayed.
///
/// ```
///  before   A B C D E        deleted   B
///  after    A D C F E        inserted  F
///                            moved     D (or C: few, and first of all objects that were changed)
/// ```
/// An object that is in a list several times is told apart by its occurrences: the first one before is the first one
/// after. O(n), where much was moved O(n log n); what both begin and end with costs a comparison each.
package struct ListDifference {
    package typealias Pair = (before: Int, after: Int)

    private let before: KeyBuffer
    private let after: KeyBuffer
    /// Indices before, ascending.
    package private(set) var deleted: [Int] = []
    /// Indices after, ascending.
    package private(set) var inserted: [Int] = []
    /// What stayed and stands elsewhere among the others, ascending by the index before.
    package private(set) var moved: [Pair] = []
    /// What was changed and not moved, ascending by both.
    package private(set) var modified: [Pair] = []

    /// - Parameter changed: the objects that were modified.
    /// Errors: `.outOfMemory`.
    package init(_ before: KeyBuffer, _ after: KeyBuffer, changed: Set<Int64>) throws(StoreError) {
        self.before = before
        self.after = after
        let filter = KeyFilter(changed)
        let common = min(before.count, after.count)
        var start = 0, end = 0
        while start < common, before.keys[start] == after.keys[start] {
            let key = before.keys[start]
            if filter.mayHave(key) && changed.contains(key) { modified.append((start, start)) }
            start += 1
        }
        while end < common - start, before.keys[before.count - 1 - end] == after.keys[after.count - 1 - end] {
            end += 1
        }
        try compare(start..<before.count - end, start..<after.count - end, changed)
        if changed.isEmpty { return }
        for place in -end..<0 {
            let key = after.keys[after.count + place]
            if filter.mayHave(key) && changed.contains(key) {
                modified.append((before.count + place, after.count + place))
            }
        }
    }

    /// A look at a few bits says of most keys that they are none of some: a set takes ten times as long.
    private struct KeyFilter {
        private var bits = InlineArray<64, UInt64>(repeating: 0)

        init(_ keys: Set<Int64>) {
            for key in keys { bits[Int(key >> 6 & 63)] |= 1 << UInt64(key & 63) }
        }

        @inline(__always) func mayHave(_ key: Int64) -> Bool {
            bits[Int(key >> 6 & 63)] >> UInt64(key & 63) & 1 != 0
        }
    }

    /// Keeps of the modifications those of some objects.
    mutating func keepModified(_ keys: Set<Int64>) { modified.removeAll { !keys.contains(after.keys[$0.after]) } }

    /// What lies between the two ends.
    private mutating func compare(_ old: Range<Int>, _ new: Range<Int>, _ changed: Set<Int64>) throws(StoreError) {
        if old.isEmpty || new.isEmpty {
            deleted += old
            inserted += new
            return
        }
        try Memory.check(for: old.count + new.count, each: 64)
        // Where an object is first; its other occurrences hang on that.
        var places: [Int64: Int] = [:], next = [Int](repeating: -1, count: old.count)
        places.reserveCapacity(old.count)
        for place in old.reversed() {
            next[place - old.lowerBound] = places.updateValue(place, forKey: before.keys[place]) ?? -1
        }
        var stayed: [Pair] = [], isThere = [Bool](repeating: false, count: old.count)
        for place in new {
            let key = after.keys[place]
            guard let first = places[key], first >= 0 else {
                inserted.append(place)
                continue
            }
            places[key] = next[first - old.lowerBound]
            isThere[first - old.lowerBound] = true
            stayed.append((first, place))
        }
        for place in old where !isThere[place - old.lowerBound] { deleted.append(place) }
        let isChanged = stayed.map { changed.contains(after.keys[$0.after]) }
        let isInPlace = ListDifference.inPlace(stayed, isChanged)
        for (number, pair) in stayed.enumerated() {
            if !isInPlace[number] && !InjectedBug.active(.listUnmoved) {
                moved.append(pair)
            } else if isChanged[number] {
                modified.append(pair)
            }
        }
        moved.sort { $0.before < $1.before }
    }

    /// Which of some pairs, ascending by the index after, did not move: as many of the unchanged ones as possible, and
    /// the changed ones that fit between them.
    private static func inPlace(_ pairs: [Pair], _ isChanged: [Bool]) -> [Bool] {
        var isInPlace = [Bool](repeating: false, count: pairs.count)
        let unchanged = pairs.indices.filter { !isChanged[$0] }
        for number in longestAscending(unchanged.map { pairs[$0].before }) { isInPlace[unchanged[number]] = true }
        // Of each pair the least index before of those behind it that are in place.
        var bounds = [Int](repeating: .max, count: pairs.count + 1)
        for number in pairs.indices.reversed() {
            bounds[number] = isInPlace[number] ? pairs[number].before : bounds[number + 1]
        }
        // Of the changed ones between two of those as many as possible.
        var last = -1, fitting: [Int] = []
        for number in pairs.indices {
            let place = pairs[number].before
            if isInPlace[number] {
                last = place
            } else if isChanged[number], place > last, place < bounds[number] {
                fitting.append(number)
            }
        }
        for number in longestAscending(fitting.map { pairs[$0].before }) { isInPlace[fitting[number]] = true }
        return isInPlace
    }

    /// The places of a longest ascending part of some different numbers, ascending.
    static func longestAscending(_ numbers: [Int]) -> [Int] {
        // The last of the best part of each length, and of each number the one before it in its part.
        var ends: [Int] = [], previous = [Int](repeating: -1, count: numbers.count)
        for (place, number) in numbers.enumerated() {
            var low = 0, high = ends.count
            // They mostly ascend.
            if let last = ends.last, numbers[last] < number { low = ends.count }
            while low < high {
                let middle = (low + high) / 2
                if numbers[ends[middle]] < number { low = middle + 1 } else { high = middle }
            }
            if low > 0 { previous[place] = ends[low - 1] }
            if low == ends.count { ends.append(place) } else { ends[low] = place }
        }
        var part = [Int](repeating: 0, count: ends.count), place = ends.last ?? -1
        for number in part.indices.reversed() {
            part[number] = place
            place = previous[place]
        }
        return part
    }

    /// Another list, to which the same is done: what came, or was moved, stands behind the nearest of those before it
    /// that the list has, or where it belongs by an order. What came and is there already, since its reader does not
    /// know that it had gone, is not there twice.
    func applied(to list: KeyBuffer, _ order: ShownOrder? = nil) throws(StoreError) -> KeyBuffer {
        // By an order those that were modified have another place in it.
        let moved = order == nil ? self.moved : self.moved + modified
        let coming = (inserted + moved.map(\.after)).sorted()
        // Those that have the same order may have other values.
        if list === before || order == nil && list.hasSameKeys(as: before) {
            for place in coming { order?.note(after.keys[place]) }
            return after
        }
        // How many of an object go: those that went, and those that would be too many.
        var gone: [Int64: Int] = [:], counts: [Int64: (list: Int, after: Int)] = [:]
        for place in deleted { gone[before.keys[place], default: 0] += 1 }
        for pair in moved { gone[before.keys[pair.before], default: 0] += 1 }
        for place in coming { counts[after.keys[place]] = (0, 0) }
        for place in 0..<list.count { counts[list.keys[place]]?.list += 1 }
        for place in 0..<after.count { counts[after.keys[place]]?.after += 1 }
        for place in coming { counts[after.keys[place]]?.list += 1 }
        for (key, count) in counts { gone[key] = max(gone[key] ?? 0, count.list - count.after) }
        var keys: [Int64] = []
        for place in 0..<list.count {
            let key = list.keys[place]
            if let count = gone[key], count > 0 { gone[key] = count - 1 } else { keys.append(key) }
        }
        if let order {
            for place in coming { try order.insert(after.keys[place], into: &keys) }
        } else {
            keys = inserted(coming, into: keys)
        }
        let result = try KeyBuffer(expecting: keys.count)
        for key in keys { try result.append(key) }
        return result
    }

    /// What comes, by its indices after, ascending, each behind the nearest of those before it that the list has.
    private func inserted(_ coming: [Int], into keys: [Int64]) -> [Int64] {
        // What comes behind each of the list, or of what has come, and before all: the last that came there first.
        var all = keys, behind = [Int](repeating: -1, count: keys.count + 1), next: [Int] = []
        var last: [Int64: Int] = [:], anchor = -1, number = 0
        for (place, key) in keys.enumerated() { last[key] = place }
        for (place, key) in (0..<after.count).lazy.map({ ($0, self.after.keys[$0]) }) {
            guard number < coming.count else { break }
            guard coming[number] == place else {
                if let there = last[key] { anchor = there }
                continue
            }
            next.append(behind[anchor + 1])
            behind[anchor + 1] = all.count
            behind.append(-1)
            last[key] = all.count
            anchor = all.count
            all.append(key)
            number += 1
        }
        // From the front: each, then what came behind it, and behind that.
        var result: [Int64] = [], open: [Int] = []
        func take(_ start: Int) {
            if start >= 0 { open.append(start) }
            while let one = open.popLast() {
                result.append(all[one])
                // What came behind the same, before it; and first what came behind this one.
                if next[one - keys.count] >= 0 { open.append(next[one - keys.count]) }
                if behind[one + 1] >= 0 { open.append(behind[one + 1]) }
            }
        }
        take(behind[0])
        for place in keys.indices {
            result.append(keys[place])
            take(behind[place + 1])
        }
        return result
    }

    // MARK: Of keys

    var deletedKeys: [Int64] { deleted.map { before.keys[$0] } }
    var insertedKeys: [Int64] { inserted.map { after.keys[$0] } }
    var movedKeys: [Int64] { moved.map { after.keys[$0.after] } }
    var modifiedKeys: [Int64] { modified.map { after.keys[$0.after] } }

    var indices: ChangeSet.Indices {
        var indices = ChangeSet.Indices()
        indices.deleted = deleted.map { UInt64($0) }
        indices.inserted = inserted.map { UInt64($0) }
        indices.modifiedBefore = modified.map { UInt64($0.before) }
        indices.modifiedAfter = modified.map { UInt64($0.after) }
        indices.movedBefore = moved.map { UInt64($0.before) }
        indices.movedAfter = moved.map { UInt64($0.after) }
        return indices
    }
}

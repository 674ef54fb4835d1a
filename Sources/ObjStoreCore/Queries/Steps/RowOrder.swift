/// The objects of a list in the order of sort keys.
///
/// ```
///  list            rows: prefix of the first key, index in the list
///  k0 k1 k2 …  ──► radix sort ──► runs of equal prefixes ──► by what lies behind it ──► by the next key ──► …
/// ```
/// Memory: 16 bytes for each object and twice as much while it sorts, and 8 for each key, of texts 16: `.outOfMemory`.
final class RowOrder {
    private typealias Row = PrefixedRow

    private let list: KeyBuffer
    private let columns: [SortColumn]
    private let reader: ClusterReader
    private let rows: UnsafeMutablePointer<Row>
    private let scratch: UnsafeMutablePointer<Row>
    private var count: Int
    /// Where runs of objects begin that no key distinguishes: a bit for each row.
    private var begins: [Bool] = []

    init(
        _ list: KeyBuffer, _ keys: [SortKey], _ trees: TreeAccess, _ cls: ClassSchema
    ) throws(StoreError) {
        self.list = list
        reader = try trees.objects(cls)
        var columns: [SortColumn] = [], isAscending = true
        count = list.count
        for index in stride(from: 1, to: count, by: 1) where list.keys[index - 1] >= list.keys[index] {
            isAscending = false
            break
        }
        for key in keys {
            columns.append(try SortColumn(key, list, isAscending: isAscending, reader, trees, cls))
        }
        self.columns = columns
        rows = try Memory.allocate(Row.self, max(1, count))
        do throws(StoreError) { scratch = try Memory.allocate(Row.self, max(1, count)) } catch {
            rows.deallocate()
            throw error
        }
        for index in 0..<count { rows[index] = Row(prefix: 0, index: index) }
    }

    deinit {
        rows.deallocate()
        scratch.deallocate()
    }

    /// The keys of the first objects.
    func keys(_ limit: Int) throws(StoreError) -> KeyBuffer {
        let limit = min(limit, count), keys = try KeyBuffer(expecting: limit)
        for place in 0..<limit { try keys.append(list.keys[rows[place].index]) }
        return keys
    }

    /// Of objects with equal values the first of the list, in the order of the list. After `sort`.
    func firstOfEach() throws(StoreError) -> KeyBuffer {
        try Memory.check(for: count, each: 1)
        var isFirst = [Bool](repeating: false, count: count)
        // Equal ones are in the order of the list.
        if InjectedBug.active(.queryDistinctLate) {
            for place in 0..<count where place + 1 == count || begins[place + 1] { isFirst[rows[place].index] = true }
        } else {
            for place in 0..<count where begins[place] { isFirst[rows[place].index] = true }
        }
        let keys = KeyBuffer()
        for index in 0..<count where isFirst[index] { try keys.append(list.keys[index]) }
        return keys
    }

    /// Of each object of the list the number of its group, of those with equal values; groups are numbered in the order
    /// of their first objects. After `sort`.
    func groupNumbers() throws(StoreError) -> [Int32] {
        guard count < Int(Int32.max) else { throw StoreError(.outOfRange, "more than 2 billion objects in groups") }
        try Memory.check(for: count, each: 8)
        // The first of the list in each run, for all of the run.
        var firsts = [Int32](repeating: 0, count: count), first: Int32 = 0
        for place in 0..<count {
            if begins[place] { first = Int32(truncatingIfNeeded: rows[place].index) }
            firsts[rows[place].index] = first
        }
        var numbers = [Int32](repeating: 0, count: count), next: Int32 = 0
        for index in 0..<count {
            let first = Int(firsts[index])
            if first == index {
                numbers[index] = next
                next += 1
            } else {
                numbers[index] = numbers[first]
            }
        }
        return numbers
    }

    // MARK: Runs of objects with equal values, after `sort`

    /// The index in the list of what stands at a place.
    func index(at place: Int) -> Int { rows[place].index }
    func isFirstOfRun(at place: Int) -> Bool { begins[place] }
    /// By the first key. What it points to is valid as long as the version, or until the next value.
    func value(at place: Int) throws(StoreError) -> Value {
        var finder = RowFinder(reader)
        return try columns[0].value(rows[place].index, list, &finder)
    }

    // MARK: Sorting

    /// So that at least the first `limit` places are right.
    func sort(first limit: Int) throws(StoreError) {
        try Memory.check(for: count, each: 1)
        begins = [Bool](repeating: false, count: count)
        if count == 0 { return }
        if limit < count / 8, columns.count > 0 { keepLeast(limit) }
        try sort(0..<count, by: 0)
    }

    /// Leaves out rows that come behind the `limit` least by their first prefix alone.
    private func keepLeast(_ limit: Int) {
        if limit == 0 {
            count = 0
            return
        }
        let prefixes = columns[0].prefixes
        let words = UnsafeMutableRawPointer(scratch).assumingMemoryBound(to: UInt64.self)
        for index in 0..<count { words[index] = prefixes[index] }
        let threshold = RowOrder.least(limit, words, count)
        var kept = 0
        for index in 0..<count where prefixes[index] <= threshold {
            rows[kept] = Row(prefix: 0, index: index)
            kept += 1
        }
        count = kept
    }

    /// The limit-th least word, by halving around one of them; they come in another order.
    static func least(_ limit: Int, _ words: UnsafeMutablePointer<UInt64>, _ count: Int) -> UInt64 {
        var low = 0, high = count - 1
        while low < high {
            let pivot = words[(low + high) >> 1]
            var left = low, right = high
            while left <= right {
                while words[left] < pivot { left += 1 }
                while words[right] > pivot { right -= 1 }
                if left <= right {
                    (words[left], words[right]) = (words[right], words[left])
                    left += 1
                    right -= 1
                }
            }
            if limit - 1 <= right { high = right } else if limit - 1 >= left { low = left } else { break }
        }
        return words[max(0, limit - (InjectedBug.active(.queryBestTooFew) ? 2 : 1))]
    }

    /// Rows that are equal by all keys before.
    private func sort(_ range: Range<Int>, by level: Int) throws(StoreError) {
        begins[range.lowerBound] = true
        if level == columns.count || range.count < 2 { return }
        if level & 15 == 15 { try Stack.check() }
        let column = columns[level]
        for place in range { rows[place].prefix = column.prefixes[rows[place].index] }
        sortByPrefix(range)
        try forEachRun(range) { (run) throws(StoreError) in
            if column.isExact {
                try sort(run, by: level + 1)
            } else if column.isText {
                try sortTexts(run, by: level, from: 8)
            } else {
                try sortByValue(run, by: level)
            }
        }
    }

    private func forEachRun(
        _ range: Range<Int>, _ body: (Range<Int>) throws(StoreError) -> Void
    ) throws(StoreError) {
        var start = range.lowerBound
        while start < range.upperBound {
            let prefix = rows[start].prefix
            var end = start + 1
            while end < range.upperBound, rows[end].prefix == prefix { end += 1 }
            begins[start] = true
            if end - start > 1 { try body(start..<end) }
            start = end
        }
    }

    /// Texts whose first bytes are equal, by the next eight; the few that are long and alike by comparing.
    private func sortTexts(_ range: Range<Int>, by level: Int, from start: Int) throws(StoreError) {
        if start > 64 || range.count < 16 { return try sortByValue(range, by: level) }
        let column = columns[level]
        var finder = RowFinder(reader), areLonger = false
        for place in range {
            let (word, isLonger) = try column.word(rows[place].index, from: start, list, &finder)
            if isLonger { areLonger = true }
            rows[place].prefix = word
        }
        // Null, "" and zero bytes have the same words.
        if !areLonger { return try sortByValue(range, by: level) }
        sortByPrefix(range)
        try forEachRun(range) { (run) throws(StoreError) in try sortTexts(run, by: level, from: start + 8) }
    }

    /// By the values themselves: merging, so that equal ones stay in order.
    private func sortByValue(_ range: Range<Int>, by level: Int) throws(StoreError) {
        let column = columns[level]
        var finder = RowFinder(reader), other = RowFinder(reader)
        func isLess(_ a: Row, _ b: Row) throws(StoreError) -> Bool {
            try column.compare(a.index, b.index, list, &finder) < 0
        }
        var width = 1
        while width < range.count {
            var start = range.lowerBound
            while start < range.upperBound {
                let middle = min(start + width, range.upperBound), end = min(start + 2 * width, range.upperBound)
                // Many equal ones are in order already.
                guard middle < end, try isLess(rows[middle], rows[middle - 1]) else {
                    (scratch + start).update(from: rows + start, count: end - start)
                    start = end
                    continue
                }
                var left = start, right = middle, place = start
                while left < middle || right < end {
                    var takesRight = left == middle
                    if !takesRight && right < end { takesRight = try isLess(rows[right], rows[left]) }
                    scratch[place] = rows[takesRight ? right : left]
                    if takesRight { right += 1 } else { left += 1 }
                    place += 1
                }
                start = end
            }
            for place in range { rows[place] = scratch[place] }
            width *= 2
        }
        var start = range.lowerBound
        while start < range.upperBound {
            var end = start + 1
            while end < range.upperBound,
                try column.compare(rows[start].index, rows[end].index, list, &other) == 0
            { end += 1 }
            try sort(start..<end, by: level + 1)
            start = end
        }
    }

    /// Equal ones stay in order.
    private func sortByPrefix(_ range: Range<Int>) {
        PrefixSort.sort(rows + range.lowerBound, scratch + range.lowerBound, range.count)
    }
}

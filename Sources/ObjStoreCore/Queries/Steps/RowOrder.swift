/// The objects of a list in the order of sort keys.
///
/// ```
///  list            rows: prefix of the first key, index in the list
///  k0 k1 k2 …  ──► sort ──► runs of equal prefixes ──► by what lies behind it ──► by the next key ──► …
/// ```
/// Memory: 16 bytes for each object and twice as much while it sorts, and 8 for each key, of texts 16: `.outOfMemory`.
final class RowOrder {
    private typealias Row = PrefixedRow

    private let list: KeyBuffer
    private let columns: [SortColumn]
    private let reader: ClusterReader
    private let rows: UnsafeMutablePointer<Row>
    /// As far as it was needed.
    private var scratch: UnsafeMutablePointer<Row>?
    private var scratchCount = 0
    private var count: Int
    /// Of a list of neighbours, which needs no looking up.
    private let firstKey: Int64?
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
        let areNeighbours = isAscending && count > 0 && list.keys[count - 1] == list.keys[0] + Int64(count - 1)
        firstKey = areNeighbours ? list.keys[0] : nil
        rows = try Memory.allocate(Row.self, max(1, count))
    }

    /// By columns that are made.
    init(_ list: KeyBuffer, _ columns: [SortColumn], _ reader: ClusterReader) throws(StoreError) {
        self.list = list
        self.columns = columns
        self.reader = reader
        (count, firstKey) = (list.count, nil)
        rows = try Memory.allocate(Row.self, max(1, list.count))
    }

    deinit {
        rows.deallocate()
        scratch?.deallocate()
    }

    private func scratch(for count: Int) throws(StoreError) -> UnsafeMutablePointer<Row> {
        if let scratch, count <= scratchCount { return scratch }
        // Not a little more each time.
        let room = min(max(count, 2 * scratchCount, 1024), max(count, list.count))
        scratch?.deallocate()
        (scratch, scratchCount) = (nil, 0)
        let memory = try Memory.allocate(Row.self, room)
        (scratch, scratchCount) = (memory, room)
        return memory
    }

    /// The keys of the first objects.
    func keys(_ limit: Int) throws(StoreError) -> KeyBuffer {
        let limit = min(limit, count), keys = try KeyBuffer(expecting: limit)
        try WatchedQuery.forEachStretch(of: 0..<limit) { (stretch) throws(StoreError) in
            if let firstKey {
                for place in stretch { try keys.append(firstKey &+ Int64(rows[place].index)) }
            } else {
                for place in stretch { try keys.append(list.keys[rows[place].index]) }
            }
        }
        return keys
    }

    /// Of objects with equal values the first of the list, in the order of the list. After `sort`.
    func firstOfEach() throws(StoreError) -> KeyBuffer {
        try Memory.check(for: count, each: 1)
        var isFirst = [Bool](repeating: false, count: count)
        // Equal ones are in the order of the list.
        let isLate = InjectedBug.active(.queryDistinctLate)
        try WatchedQuery.forEachStretch(of: 0..<count) { (stretch) throws(StoreError) in
            if isLate {
                for place in stretch where place + 1 == count || begins[place + 1] { isFirst[rows[place].index] = true }
            } else {
                for place in stretch where begins[place] { isFirst[rows[place].index] = true }
            }
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
        try WatchedQuery.forEachStretch(of: 0..<count) { (stretch) throws(StoreError) in
            for place in stretch {
                if begins[place] { first = Int32(truncatingIfNeeded: rows[place].index) }
                firsts[rows[place].index] = first
            }
        }
        var numbers = [Int32](repeating: 0, count: count), next: Int32 = 0
        try WatchedQuery.forEachStretch(of: 0..<count) { (stretch) throws(StoreError) in
            for index in stretch {
                let first = Int(firsts[index])
                if first == index {
                    numbers[index] = next
                    next += 1
                } else {
                    numbers[index] = numbers[first]
                }
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

    /// So that at least the first `limit` places are right. Whoever watches the query can end it.
    func sort(first limit: Int) throws(StoreError) {
        try Memory.check(for: count, each: 1)
        begins = [Bool](repeating: false, count: count)
        if count == 0 { return }
        guard let first = columns.first else {
            for index in 0..<count { rows[index] = Row(prefix: 0, index: index) }
            begins[0] = true
            return
        }
        if limit < count / 8 {
            try keepLeast(limit, first)
        } else if try sortByFewValues(first) {
            return
        } else {
            let prefixes = first.prefixes
            try WatchedQuery.forEachStretch(of: 0..<count) { (stretch) throws(StoreError) in
                for index in stretch { rows[index] = Row(prefix: prefixes[index], index: index) }
            }
        }
        try sortLoaded(0..<count, by: 0)
    }

    /// Leaves out rows that come behind the `limit` least by their first prefix alone.
    private func keepLeast(_ limit: Int, _ column: SortColumn) throws(StoreError) {
        if limit == 0 {
            count = 0
            return
        }
        let prefixes = column.prefixes
        let words = UnsafeMutableRawPointer(rows).assumingMemoryBound(to: UInt64.self)
        words.update(from: prefixes, count: count)
        let threshold = try RowOrder.least(limit, words, count)
        var kept = 0
        try WatchedQuery.forEachStretch(of: 0..<count) { (stretch) throws(StoreError) in
            for index in stretch where prefixes[index] <= threshold {
                rows[kept] = Row(prefix: prefixes[index], index: index)
                kept += 1
            }
        }
        count = kept
    }

    /// By a first key of few values, such as an age, each of which gets its part of the rows at once, with the prefixes
    /// of the next key, which are in the order of the list; false: it has too many.
    private func sortByFewValues(_ column: SortColumn) throws(StoreError) -> Bool {
        let prefixes = column.prefixes
        guard column.isExact, count > PrefixSort.fewValues else { return false }
        var differ: UInt64 = 0
        try WatchedQuery.forEachStretch(of: 0..<count) { (stretch) throws(StoreError) in
            for index in stretch { differ |= prefixes[index] ^ prefixes[0] }
        }
        let low = UInt64(differ == 0 ? 0 : differ.trailingZeroBitCount)
        let bits = 64 - (differ &>> low).leadingZeroBitCount, mask = UInt64(1 &<< UInt64(bits & 63)) &- 1
        guard bits <= PrefixSort.fewBits else { return false }
        var ends = [Int](repeating: 0, count: 1 << bits)
        let next = columns.count > 1 ? columns[1].prefixes : nil
        try ends.withUnsafeMutableBufferPointer { (ends) throws(StoreError) in
            try WatchedQuery.forEachStretch(of: 0..<count) { (stretch) throws(StoreError) in
                for index in stretch { ends[Int(prefixes[index] &>> low & mask)] &+= 1 }
            }
            var sum = 0
            for digit in 0..<ends.count { (ends[digit], sum) = (sum, sum &+ ends[digit]) }
            try WatchedQuery.forEachStretch(of: 0..<count) { (stretch) throws(StoreError) in
                for index in stretch {
                    let digit = Int(prefixes[index] &>> low & mask)
                    rows[ends[digit]] = Row(prefix: next?[index] ?? 0, index: index)
                    ends[digit] &+= 1
                }
            }
        }
        var start = 0
        for end in ends where end > start {
            begins[start] = true
            if next != nil { try sortLoaded(start..<end, by: 1) }
            start = end
        }
        return true
    }

    /// The limit-th least word, by halving around one of them; they come in another order.
    static func least(
        _ limit: Int, _ words: UnsafeMutablePointer<UInt64>, _ count: Int
    ) throws(StoreError) -> UInt64 {
        var low = 0, high = count - 1
        while low < high {
            if _slowPath(WatchedQuery.isOn) { try WatchedQuery.look(0, work: high - low) }
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
        try WatchedQuery.forEachStretch(of: range) { (stretch) throws(StoreError) in
            for place in stretch { rows[place].prefix = column.prefixes[rows[place].index] }
        }
        try sortLoaded(range, by: level)
    }

    /// Rows that have their prefixes.
    private func sortLoaded(_ range: Range<Int>, by level: Int) throws(StoreError) {
        let column = columns[level]
        try sortByPrefix(range)
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
        let rows = rows, upper = range.upperBound
        while start < upper {
            let stop = min(start &+ WatchedQuery.stretch, upper)
            while start < stop {
                let prefix = rows[start].prefix
                var end = start &+ 1
                while end < upper, rows[end].prefix == prefix { end &+= 1 }
                begins[start] = true
                if end &- start > 1 { try body(start..<end) }
                start = end
            }
            if _slowPath(WatchedQuery.isOn) { try WatchedQuery.look(0, work: WatchedQuery.stretch) }
        }
    }

    /// Texts whose first bytes are equal, by the next eight; the few that are long and alike by comparing.
    private func sortTexts(_ range: Range<Int>, by level: Int, from start: Int) throws(StoreError) {
        if start > 64 || range.count < 16 { return try sortByValue(range, by: level) }
        let column = columns[level]
        var finder = RowFinder(reader), areLonger = false
        try WatchedQuery.forEachStretch(of: range) { (stretch) throws(StoreError) in
            for place in stretch {
                let (word, isLonger) = try column.word(rows[place].index, from: start, list, &finder)
                if isLonger { areLonger = true }
                rows[place].prefix = word
            }
        }
        // Null, "" and zero bytes have the same words.
        if !areLonger { return try sortByValue(range, by: level) }
        try sortByPrefix(range)
        try forEachRun(range) { (run) throws(StoreError) in try sortTexts(run, by: level, from: start + 8) }
    }

    /// By the values themselves: merging, so that equal ones stay in order.
    private func sortByValue(_ range: Range<Int>, by level: Int) throws(StoreError) {
        let column = columns[level], rows = rows + range.lowerBound, count = range.count
        let merged = try scratch(for: count)
        var finder = RowFinder(reader), other = RowFinder(reader)
        func isLess(_ a: Row, _ b: Row) throws(StoreError) -> Bool {
            try column.compare(a.index, b.index, list, &finder) < 0
        }
        var width = 1
        while width < count {
            var start = 0, nextLook = WatchedQuery.stretch
            while start < count {
                let middle = min(start + width, count), end = min(start + 2 * width, count)
                // Many equal ones are in order already.
                try WatchedQuery.look(at: end, &nextLook)
                guard middle < end, try isLess(rows[middle], rows[middle - 1]) else {
                    (merged + start).update(from: rows + start, count: end - start)
                    start = end
                    continue
                }
                var left = start, right = middle, place = start
                while left < middle || right < end {
                    var takesRight = left == middle
                    if !takesRight && right < end { takesRight = try isLess(rows[right], rows[left]) }
                    merged[place] = rows[takesRight ? right : left]
                    if takesRight { right += 1 } else { left += 1 }
                    place += 1
                    try WatchedQuery.look(at: place, &nextLook)
                }
                start = end
            }
            rows.update(from: merged, count: count)
            width *= 2
        }
        var start = range.lowerBound, nextLook = start &+ WatchedQuery.stretch
        while start < range.upperBound {
            var end = start + 1
            while end < range.upperBound,
                try column.compare(self.rows[start].index, self.rows[end].index, list, &other) == 0
            { end += 1; try WatchedQuery.look(at: end, &nextLook) }
            try sort(start..<end, by: level + 1)
            start = end
        }
    }

    /// Equal ones stay in order.
    private func sortByPrefix(_ range: Range<Int>) throws(StoreError) {
        try PrefixSort.sort(rows + range.lowerBound, try scratch(for: range.count), range.count)
    }
}

/// The objects of a list in the order of sort keys.
///
/// ```
///  list            rows: code of the first key's prefix │ index in the list
///  k0 k1 k2 …  ──► sort ──► runs of equal codes ──► by what lies behind it ──► by the next key ──► …
/// ```
/// Memory: 8 bytes for each object, 8 for each key as soon as it is needed, of texts 24, and while it sorts 16 for each
/// object of the largest run: `.outOfMemory`.
final class RowOrder {
    private let list: KeyBuffer
    /// Nil: made when needed, of `keys`.
    private var columns: [SortColumn?]
    private let keys: [SortKey]
    private let reader: ClusterReader
    private let trees: TreeAccess?
    private let cls: ClassSchema?
    /// The list is in the order of creation.
    private let isAscending: Bool
    private let rows: PrefixSort.Rows
    /// What a row has of the index in its list.
    private let indexBits: UInt64
    private let indexMask: UInt64
    /// As far as it was needed.
    private var scratch: PrefixSort.Rows?
    private var scratchCount = 0
    private var count: Int
    /// Of a list of neighbours, which needs no looking up.
    private let firstKey: Int64?
    /// Where runs of objects begin that no key distinguishes: a bit for each row.
    private var begins: [Bool] = []

    convenience init(
        _ list: KeyBuffer, _ keys: [SortKey], _ trees: TreeAccess, _ cls: ClassSchema
    ) throws(StoreError) {
        var isAscending = true
        for index in stride(from: 1, to: list.count, by: 1) where list.keys[index - 1] >= list.keys[index] {
            isAscending = false
            break
        }
        try self.init(
            list, keys, [SortColumn?](repeating: nil, count: keys.count), try trees.objects(cls), trees, cls,
            isAscending: isAscending)
    }

    /// By columns that are made.
    convenience init(_ list: KeyBuffer, _ columns: [SortColumn], _ reader: ClusterReader) throws(StoreError) {
        try self.init(list, columns.map(\.key), columns, reader, nil, nil, isAscending: false)
    }

    private init(
        _ list: KeyBuffer, _ keys: [SortKey], _ columns: [SortColumn?], _ reader: ClusterReader, _ trees: TreeAccess?,
        _ cls: ClassSchema?, isAscending: Bool
    ) throws(StoreError) {
        self.list = list
        self.keys = keys
        self.columns = columns
        self.reader = reader
        self.trees = trees
        self.cls = cls
        self.isAscending = isAscending
        count = list.count
        let areNeighbours = isAscending && count > 0 && list.keys[count - 1] == list.keys[0] + Int64(count - 1)
        firstKey = areNeighbours ? list.keys[0] : nil
        indexBits = UInt64(Int.bitWidth - max(0, count - 1).leadingZeroBitCount)
        indexMask = 1 &<< indexBits &- 1
        rows = try Memory.allocate(UInt64.self, max(1, count))
    }

    deinit {
        rows.deallocate()
        scratch?.deallocate()
    }

    private func column(_ level: Int) throws(StoreError) -> SortColumn {
        if let column = columns[level] { return column }
        guard let trees, let cls else { throw StoreError(.internalError, "an order has a key without a column") }
        let column = try SortColumn(keys[level], list, isAscending: isAscending, reader, trees, cls)
        columns[level] = column
        return column
    }

    /// Two parts, of so many words each.
    private func scratch(for count: Int) throws(StoreError) -> PrefixSort.Rows {
        if let scratch, count <= scratchCount { return scratch }
        // Not a little more each time.
        let room = min(max(count, 2 * scratchCount, 1024), max(count, list.count))
        scratch?.deallocate()
        (scratch, scratchCount) = (nil, 0)
        let memory = try Memory.allocate(UInt64.self, 2 * room)
        (scratch, scratchCount) = (memory, room)
        return memory
    }

    /// The keys of the first objects. Nothing else can be asked afterwards.
    func keys(_ limit: Int) throws(StoreError) -> KeyBuffer {
        let limit = min(limit, count)
        // The prefixes of the first key are needed no more: no new memory, which has to be filled with zeros first.
        let keys: KeyBuffer
        if limit > 0, limit > list.count / 2, let memory = columns.first??.takePrefixes() {
            keys = KeyBuffer(taking: UnsafeMutableRawPointer(memory).assumingMemoryBound(to: Int64.self), list.count)
        } else {
            keys = try KeyBuffer(expecting: limit)
        }
        try WatchedQuery.forEachStretch(of: 0..<limit) { (stretch) throws(StoreError) in
            if let firstKey {
                for place in stretch { try keys.append(firstKey &+ Int64(index(at: place))) }
            } else {
                for place in stretch { try keys.append(list.keys[index(at: place)]) }
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
                for place in stretch where place + 1 == count || begins[place + 1] { isFirst[index(at: place)] = true }
            } else {
                for place in stretch where begins[place] { isFirst[index(at: place)] = true }
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
                if begins[place] { first = Int32(truncatingIfNeeded: index(at: place)) }
                firsts[index(at: place)] = first
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
    @inline(__always)
    func index(at place: Int) -> Int { Int(truncatingIfNeeded: rows[place] & indexMask) }
    func isFirstOfRun(at place: Int) -> Bool { begins[place] }
    /// By the first key. What it points to is valid as long as the version, or until the next value.
    func value(at place: Int) throws(StoreError) -> Value {
        var finder = RowFinder(reader)
        return try column(0).value(index(at: place), list, &finder)
    }

    // MARK: Sorting

    /// So that at least the first `limit` places are right. Whoever watches the query can end it.
    func sort(first limit: Int) throws(StoreError) {
        try Memory.check(for: count, each: 1)
        begins = [Bool](repeating: false, count: count)
        if count == 0 { return }
        guard !columns.isEmpty else {
            for index in 0..<count { rows[index] = UInt64(index) }
            begins[0] = true
            return
        }
        if limit < count / 8 {
            try keepLeast(limit)
            try sort(0..<count, by: 0)
        } else {
            try sortAll()
        }
    }

    /// Leaves out rows that come behind the `limit` least by their first prefix alone.
    private func keepLeast(_ limit: Int) throws(StoreError) {
        if limit == 0 {
            count = 0
            return
        }
        let prefixes = try column(0).prefixes
        rows.update(from: prefixes, count: count)
        let threshold = try RowOrder.least(limit, rows, count)
        var kept = 0
        try WatchedQuery.forEachStretch(of: 0..<count) { (stretch) throws(StoreError) in
            for index in stretch where prefixes[index] <= threshold {
                rows[kept] = UInt64(index)
                kept += 1
            }
        }
        count = kept
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

    /// Every object of the list, in one pass by the highest bits of the first key, from where the prefixes lie to where
    /// the rows will be, and then one bucket after the other.
    ///
    /// Where these bits are all of the key, as of an age, the rows get the codes of the next key, whose prefixes are
    /// in the order of the list still.
    private func sortAll() throws(StoreError) {
        let first = try column(0), code = try PrefixCode(first.prefixes, count, room: 64 - Int(indexBits))
        if code.bits == 0 || code.isSorted {
            let prefixes = first.prefixes
            try WatchedQuery.forEachStretch(of: 0..<count) { (stretch) throws(StoreError) in
                for index in stretch { rows[index] = code(prefixes[index]) &<< indexBits | UInt64(index) }
            }
            return try sortRuns(0..<count, by: 0, isExact: code.isExact)
        }
        // Then a bucket has one value.
        let isWhole =
            first.isExact && code.isExact && code.bits <= PrefixSort.bits(count) && count >= RowOrder.leastApart
        if isWhole, columns.count > 1 {
            let next = try column(1), nextCode = try PrefixCode(next.prefixes, count, room: 64 - Int(indexBits))
            try forEachBucket(first.prefixes, code, holding: next.prefixes, nextCode) { (bucket) throws(StoreError) in
                begins[bucket.lowerBound] = true
                try sortCodes(bucket)
                try sortRuns(bucket, by: 1, isExact: nextCode.isExact)
            }
        } else {
            try forEachBucket(first.prefixes, code, holding: first.prefixes, code) { (bucket) throws(StoreError) in
                if !isWhole { try sortCodes(bucket) }
                try sortRuns(bucket, by: 0, isExact: code.isExact)
            }
        }
    }

    /// Few objects, of which nearly each has a bucket of its own, are sorted by the next key afterwards.
    private static let leastApart = 4096

    /// Rows of all objects, in buckets by the highest bits of their codes.
    private func forEachBucket(
        _ prefixes: UnsafeMutablePointer<UInt64>, _ code: PrefixCode, holding held: UnsafeMutablePointer<UInt64>,
        _ heldCode: PrefixCode, _ body: (Range<Int>) throws(StoreError) -> Void
    ) throws(StoreError) {
        let bits = min(PrefixSort.bits(count), code.bits), shift = UInt64(code.bits - bits)
        var ends = [Int](repeating: 0, count: 1 << bits)
        try ends.withUnsafeMutableBufferPointer { (ends) throws(StoreError) in
            try WatchedQuery.forEachStretch(of: 0..<count) { (stretch) throws(StoreError) in
                for index in stretch { ends[Int(truncatingIfNeeded: code(prefixes[index]) &>> shift)] &+= 1 }
            }
            var sum = 0
            for digit in 0..<ends.count { (ends[digit], sum) = (sum, sum &+ ends[digit]) }
            try WatchedQuery.forEachStretch(of: 0..<count) { (stretch) throws(StoreError) in
                for index in stretch {
                    let digit = Int(truncatingIfNeeded: code(prefixes[index]) &>> shift)
                    rows[ends[digit]] = heldCode(held[index]) &<< indexBits | UInt64(index)
                    ends[digit] &+= 1
                }
            }
        }
        var start = 0
        for end in ends where end > start {
            try body(start..<end)
            start = end
        }
    }

    /// Rows that are equal by all keys before, in the order of the list.
    private func sort(_ range: Range<Int>, by level: Int) throws(StoreError) {
        begins[range.lowerBound] = true
        if level == keys.count || range.count < 2 { return }
        if level & 15 == 15 { try Stack.check() }
        let prefixes = try column(level).prefixes, found = try scratch(for: range.count) + range.count
        try WatchedQuery.forEachStretch(of: range) { (stretch) throws(StoreError) in
            for place in stretch { found[place &- range.lowerBound] = prefixes[index(at: place)] }
        }
        try sortRuns(range, by: level, isExact: try sort(range, by: found))
    }

    /// Rows by prefixes, which lie in their order; false: some with equal codes have other prefixes.
    private func sort(_ range: Range<Int>, by prefixes: UnsafeMutablePointer<UInt64>) throws(StoreError) -> Bool {
        if range.count <= PrefixSort.mostInserted {
            sortFew(range, by: prefixes)
            return true
        }
        let code = try PrefixCode(prefixes, range.count, room: 64 - Int(indexBits))
        try WatchedQuery.forEachStretch(of: range) { (stretch) throws(StoreError) in
            for place in stretch {
                rows[place] = code(prefixes[place &- range.lowerBound]) &<< indexBits | rows[place] & indexMask
            }
        }
        if !code.isSorted { try sortCodes(range) }
        return code.isExact
    }

    /// By insertion. Their codes are counted.
    private func sortFew(_ range: Range<Int>, by prefixes: UnsafeMutablePointer<UInt64>) {
        let rows = rows + range.lowerBound
        var place = 1
        while place < range.count {
            let row = rows[place], prefix = prefixes[place]
            var left = place
            while left > 0, prefixes[left &- 1] > prefix {
                (rows[left], prefixes[left]) = (rows[left &- 1], prefixes[left &- 1])
                left &-= 1
            }
            (rows[left], prefixes[left]) = (row, prefix)
            place &+= 1
        }
        var code: UInt64 = 0
        for place in 0..<range.count {
            if place > 0, prefixes[place] != prefixes[place &- 1] { code &+= 1 }
            rows[place] = code &<< indexBits | rows[place] & indexMask
        }
    }

    /// Rows by the codes that they have; equal ones are in the order of the list.
    private func sortCodes(_ range: Range<Int>) throws(StoreError) {
        if range.count < 2 { return }
        try PrefixSort.sort(
            rows + range.lowerBound, try scratch(for: range.count), range.count, indexBits: indexBits)
    }

    /// Sorted rows with equal codes, by what their codes do not say.
    private func sortRuns(_ range: Range<Int>, by level: Int, isExact: Bool) throws(StoreError) {
        let column = try column(level)
        try forEachRun(range) { (run) throws(StoreError) in
            if !isExact {
                try sort(run, by: level)
            } else if column.isExact {
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
        let rows = rows, upper = range.upperBound, indexBits = indexBits
        while start < upper {
            let stop = min(start &+ WatchedQuery.stretch, upper)
            while start < stop {
                let code = rows[start] &>> indexBits
                var end = start &+ 1
                while end < upper, rows[end] &>> indexBits == code { end &+= 1 }
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
        let column = try column(level), words = try scratch(for: range.count) + range.count
        var finder = RowFinder(reader), areLonger = false
        try WatchedQuery.forEachStretch(of: range) { (stretch) throws(StoreError) in
            for place in stretch {
                let (word, isLonger) = try column.word(index(at: place), from: start, list, &finder)
                if isLonger { areLonger = true }
                words[place &- range.lowerBound] = word
            }
        }
        // Null, "" and zero bytes have the same words.
        if !areLonger { return try sortByValue(range, by: level) }
        let isExact = try sort(range, by: words)
        try forEachRun(range) { (run) throws(StoreError) in
            try sortTexts(run, by: level, from: isExact ? start + 8 : start)
        }
    }

    /// By the values themselves: merging, so that equal ones stay in order.
    private func sortByValue(_ range: Range<Int>, by level: Int) throws(StoreError) {
        let column = try column(level), rows = rows + range.lowerBound, count = range.count, indexMask = indexMask
        let merged = try scratch(for: count)
        var finder = RowFinder(reader), other = RowFinder(reader)
        func compare(_ a: UInt64, _ b: UInt64, _ finder: inout RowFinder) throws(StoreError) -> Int {
            try column.compare(Int(a & indexMask), Int(b & indexMask), list, &finder)
        }
        var width = 1
        while width < count {
            var start = 0, nextLook = WatchedQuery.stretch
            while start < count {
                let middle = min(start + width, count), end = min(start + 2 * width, count)
                // Many equal ones are in order already.
                try WatchedQuery.look(at: end, &nextLook)
                guard middle < end, try compare(rows[middle], rows[middle - 1], &finder) < 0 else {
                    (merged + start).update(from: rows + start, count: end - start)
                    start = end
                    continue
                }
                var left = start, right = middle, place = start
                while left < middle || right < end {
                    var takesRight = left == middle
                    if !takesRight && right < end { takesRight = try compare(rows[right], rows[left], &finder) < 0 }
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
            while end < range.upperBound, try compare(self.rows[start], self.rows[end], &other) == 0 {
                end += 1
                try WatchedQuery.look(at: end, &nextLook)
            }
            try sort(start..<end, by: level + 1)
            start = end
        }
    }
}

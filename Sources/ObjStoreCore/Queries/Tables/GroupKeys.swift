internal import CSystem

/// Gives each object the number of its group: objects with equal keys have the same, and numbers are counted up in the
/// order in which groups appear.
///
/// ```
///  one key of one word      few, or near the first one   an array of numbers, by the word
///                           others                       open addressing by the word
///  keys of words and texts                               open addressing by their bytes, one behind the other
///  decimals, mixed values   equal in more than one form  sorted, as DISTINCT does it
/// ```
/// Memory: of words 12 bytes a group and a table half full, of texts their bytes as well.
final class GroupKeys {
    private enum Way {
        /// No keys: all are one.
        case one
        case words(NumberColumn)
        case bytes([ObjectReader])
        /// By the place of an object in the list.
        case sorted([Int32])
    }

    private let way: Way
    /// How many groups there are.
    private(set) var count = 0
    /// How many objects are in each; where they are counted.
    private(set) var counts = GroupArray<Int64>()
    private let isCounting: Bool
    /// Of each group the key of its first object.
    private(set) var firsts = GroupArray<Int64>()
    /// Of one word, what it is; -1 in `nullGroup`: none is null.
    private var words = GroupArray<Int64>()
    private var nullGroup: Int32 = -1
    private let kind: ValueKind
    private let target: Int64

    /// Of floats and doubles, of one block.
    private var forms: UnsafeMutablePointer<Int64>?

    // Groups near the first value: number + 1, or 0.
    private var near: UnsafeMutablePointer<Int32>?
    private var nearBase: Int64 = 0
    private var nearCount = 1 << 16
    private static let mostNear = 1 << 22

    // Open addressing: number + 1, or 0; of words by `words`, of bytes by `hashes` and `places`.
    private var table: UnsafeMutablePointer<Int32>?
    private var tableSize = 0
    private var tableUsed = 0
    private let seed: UInt64
    private var hashes = GroupArray<UInt64>()
    private var places = GroupArray<(start: Int, count: Int)>()
    private let bytes = TextBuffer()
    private let scratch = TextBuffer(capacity: 256)

    /// - Parameter sorted: the number of each object of the list, where that is needed.
    init(_ readers: [ObjectReader], sorted: [Int32]? = nil, isCounting: Bool) {
        self.isCounting = isCounting
        kind = readers.first?.value.kind ?? .null
        target = readers.first?.value.target.map { Int64(ClassID.of($0)) } ?? 0
        seed = UInt64(UInt(bitPattern: Unmanaged.passUnretained(scratch).toOpaque())) &* 0x9E37_79B9_7F4A_7C15
        if let sorted {
            way = .sorted(sorted)
        } else if readers.isEmpty {
            way = .one
        } else if readers.count == 1, let number = readers[0].number {
            way = .words(number)
        } else {
            way = .bytes(readers)
        }
    }

    deinit {
        forms?.deallocate()
        near?.deallocate()
        table?.deallocate()
    }

    /// Equal values of the kind have the same bytes: it needs no sorting.
    static func isExact(_ kind: ValueKind) -> Bool {
        switch kind {
        case .bool, .int, .float, .double, .string, .binary, .timestamp, .objectID, .uuid, .link: true
        case .null, .decimal128, .mixed, .document, .list, .set, .map: false
        }
    }

    /// The numbers of the groups of a block's objects; not where they are `inPlace` afterwards.
    ///
    /// - Parameter summary: of doubles, which are added up on the way, if `hasAdded` says so afterwards.
    func assign(
        _ block: RowBlocks, into numbers: UnsafeMutablePointer<Int32>, adding summary: GroupSummary? = nil
    ) throws(StoreError) {
        inPlace = nil
        hasAdded = false
        if case .words(let column) = way {
            inPlace = try assignBytes(column, block, adding: summary)
            if inPlace != nil { return }
        }
        switch way {
        case .one:
            numbers.update(repeating: 0, count: block.count)
            if count == 0, block.count > 0 { try begin(block, 0) }
        case .words(let column): try assign(column, block, numbers)
        case .bytes(let readers):
            for index in 0..<block.count {
                let row = try block.row(index)
                scratch.clear()
                for reader in readers { try write(try reader.value(row)) }
                numbers[index] = try number(block, index)
            }
        case .sorted(let all):
            for index in 0..<block.count {
                let number = all[block.start + index]
                if Int(number) == count { try begin(block, index) }
                numbers[index] = number
            }
        }
        if isCounting {
            let counts = counts.elements
            for index in 0..<block.count { counts[Int(numbers[index])] &+= 1 }
        }
    }

    /// Where all are one, there is a group of no objects, too.
    func beginEmpty() throws(StoreError) {
        guard case .one = way, count == 0 else { return }
        try firsts.append(-1)
        try counts.append(0)
        count = 1
    }

    /// A new group, of an object of the block.
    private func begin(_ block: RowBlocks, _ index: Int) throws(StoreError) {
        guard count < Int(Int32.max) - 1 else { throw StoreError(.outOfRange, "there are more than 2 billion groups") }
        try firsts.append(try block.row(index).key)
        if isCounting { try counts.append(0) }
        count += 1
    }

    /// The key of a group, where it is one word; nil: ask its first object.
    func word(_ group: Int) -> Value? {
        guard case .words = way else { return nil }
        if group == Int(nullGroup) { return .null }
        return Value(kind: kind, low: words[group], high: kind == .link ? target : 0)
    }

    /// Each has one key, which is a word.
    var areWords: Bool { if case .words = way { true } else { false } }

    /// What is shown of a key that is a word.
    static func shown(_ value: Value) -> Value {
        switch value.kind {
        case .double: Value(kind: .double, low: canonical(value.low))
        case .float: Value(kind: .float, low: canonicalFloat(value.low))
        default: value
        }
    }

    /// The keys of all groups, where each is one word.
    var wordsAndNull: (words: UnsafePointer<Int64>, null: Int32)? {
        guard case .words = way else { return nil }
        return (UnsafePointer(words.elements), nullGroup)
    }

    // MARK: Words

    /// The groups of a block whose key is a byte of each object, as it lies in the leaf.
    struct Bytes {
        let cells: UnsafePointer<UInt8>
        /// By the byte: the number of the group, and 1.
        let table: UnsafePointer<Int32>

        @inline(__always) func number(_ index: Int) -> Int { Int(table[Int(cells[index])] &- 1) }
    }
    /// Of the block that was looked at last, if it is one: then the numbers were not written.
    private(set) var inPlace: Bytes?
    private(set) var hasAdded = false

    /// Writes the numbers of such a block.
    func write(_ bytes: Bytes, _ count: Int, into numbers: UnsafeMutablePointer<Int32>) {
        for index in 0..<count { numbers[index] = bytes.table[Int(bytes.cells[index])] &- 1 }
    }

    /// Of bytes as they lie in the leaf, which are counted first; nil: they lie otherwise.
    private func assignBytes(
        _ column: NumberColumn, _ block: RowBlocks, adding summary: GroupSummary?
    ) throws(StoreError) -> Bytes? {
        guard kind == .int, let (cells, base) = try column.bytes(block) else { return nil }
        if near == nil { try beginNear(base &+ Int64(cells[0]), column) }
        let (shift, isBeyond) = base.subtractingReportingOverflow(nearBase)
        guard let near, !isBeyond, shift >= 0, shift < Int64(nearCount) else { return nil }
        let room = Int(min(256, Int64(nearCount) - shift)), table = near + Int(shift)
        return try withUnsafeTemporaryAllocation(of: cs_group_sum.self, capacity: 256) { (buffer) throws(StoreError) in
            let found = buffer.baseAddress.unsafelyUnwrapped
            found.initialize(repeating: cs_group_sum(), count: 256)
            // What was added up before goes on: so sums are those of one value after the other.
            if let summary {
                for cell in 0..<room where table[cell] != 0 {
                    found[cell].sum = summary.sum(Int(table[cell] &- 1))
                }
            }
            hasAdded = try summary?.add(block, cells, to: found) ?? false
            if !hasAdded { GroupKeys.count(cells, block.count, found) }
            var hasNew = false
            for cell in 0..<256 where found[cell].count > 0 {
                if cell >= room {
                    hasAdded = false
                    return nil
                }
                if table[cell] == 0 { hasNew = true }
            }
            if hasNew { try beginGroups(of: cells, base, table, block) }
            let all = counts.elements
            if hasAdded { try summary?.extend(to: count) }
            for cell in 0..<room where found[cell].count > 0 {
                let group = Int(table[cell] &- 1)
                if isCounting { all[group] &+= found[cell].count }
                if hasAdded { summary?.set(group, found[cell].sum) }
            }
            return Bytes(cells: cells, table: table)
        }
    }

    private static func count(
        _ cells: UnsafePointer<UInt8>, _ count: Int, _ found: UnsafeMutablePointer<cs_group_sum>
    ) {
        withUnsafeTemporaryAllocation(of: UInt32.self, capacity: 1024) { parts in
            parts.update(repeating: 0)
            // Equal ones that follow each other would wait for each other: each fourth counts for itself.
            let counts = parts.baseAddress.unsafelyUnwrapped
            var index = 0
            while index &+ 4 <= count {
                counts[Int(cells[index])] &+= 1
                counts[256 &+ Int(cells[index &+ 1])] &+= 1
                counts[512 &+ Int(cells[index &+ 2])] &+= 1
                counts[768 &+ Int(cells[index &+ 3])] &+= 1
                index &+= 4
            }
            while index < count {
                counts[Int(cells[index])] &+= 1
                index &+= 1
            }
            for cell in 0..<256 {
                let sum = counts[cell] &+ counts[256 &+ cell] &+ counts[512 &+ cell] &+ counts[768 &+ cell]
                found[cell].count = Int64(sum)
            }
        }
    }

    /// In the order in which they appear.
    private func beginGroups(
        of cells: UnsafePointer<UInt8>, _ base: Int64, _ table: UnsafeMutablePointer<Int32>, _ block: RowBlocks
    ) throws(StoreError) {
        for index in 0..<block.count where table[Int(cells[index])] == 0 {
            let cell = Int(cells[index])
            table[cell] = Int32(truncatingIfNeeded: count &+ 1)
            try words.append(base &+ Int64(cell))
            try begin(block, index)
        }
    }

    private func assign(
        _ column: NumberColumn, _ block: RowBlocks, _ numbers: UnsafeMutablePointer<Int32>
    ) throws(StoreError) {
        try column.read(block)
        let count = block.count, values = try words(column, count)
        if near == nil, count > 0 { try beginNear(values[0], column) }
        let near = near.unsafelyUnwrapped, base = nearBase, most = UInt64(nearCount)
        for index in 0..<count {
            let word = values[index]
            if column.hasNulls, column.isNull(index) {
                if nullGroup < 0 {
                    nullGroup = Int32(truncatingIfNeeded: self.count)
                    try words.append(0)
                    try begin(block, index)
                }
                numbers[index] = nullGroup
                continue
            }
            let offset = UInt64(bitPattern: word &- base)
            if _fastPath(offset < most) {
                var number = near[Int(offset)]
                if _slowPath(number == 0) {
                    number = Int32(truncatingIfNeeded: self.count &+ 1)
                    try words.append(word)
                    try begin(block, index)
                    near[Int(offset)] = number
                }
                numbers[index] = number &- 1
            } else {
                numbers[index] = try far(word, block, index)
            }
        }
    }

    /// By what a block's values are told apart. Aggregates of the same column have to see what it has.
    private func words(_ column: NumberColumn, _ count: Int) throws(StoreError) -> UnsafePointer<Int64> {
        let values = UnsafePointer(column.values)
        guard kind == .double || kind == .float else { return values }
        let forms = if let forms { forms } else { try Memory.allocate(Int64.self, RowBlocks.most) }
        self.forms = forms
        if kind == .double {
            for index in 0..<count { forms[index] = GroupKeys.canonical(values[index]) }
        } else {
            for index in 0..<count { forms[index] = GroupKeys.canonicalFloat(values[index]) }
        }
        return UnsafePointer(forms)
    }

    private static func canonicalFloat(_ bits: Int64) -> Int64 {
        let value = Float(bitPattern: UInt32(truncatingIfNeeded: bits))
        return value.isNaN ? 0x7fc0_0000 : value == 0 ? 0 : bits
    }

    private static func canonical(_ bits: Int64) -> Int64 {
        let value = Double(bitPattern: UInt64(bitPattern: bits))
        return value.isNaN ? 0x7ff8_0000_0000_0000 : value == 0 ? 0 : bits
    }

    /// All values that the column has, where these are not many more than there are objects; else those near the first
    /// one.
    private func beginNear(_ first: Int64, _ column: NumberColumn) throws(StoreError) {
        if let bounds = try column.bounds() {
            let (range, isBeyond) = bounds.upperBound.subtractingReportingOverflow(bounds.lowerBound)
            if !isBeyond, range < Int64(min(GroupKeys.mostNear, max(nearCount, 2 * column.rows))) {
                nearCount = Int(range) + 1
                nearBase = bounds.lowerBound
            } else {
                nearBase = first &- Int64(nearCount / 2)
            }
        } else {
            nearBase = first &- Int64(nearCount / 2)
        }
        let array = try Memory.allocate(Int32.self, nearCount)
        array.update(repeating: 0, count: nearCount)
        near = array
    }

    private func far(_ word: Int64, _ block: RowBlocks, _ index: Int) throws(StoreError) -> Int32 {
        if tableUsed &* 2 >= tableSize { try growTable() }
        let table = table.unsafelyUnwrapped, mask = tableSize &- 1
        var place = Int(truncatingIfNeeded: hash(word)) & mask
        while table[place] != 0 {
            if words[Int(table[place] &- 1)] == word, table[place] &- 1 != nullGroup { return table[place] &- 1 }
            place = (place &+ 1) & mask
        }
        table[place] = Int32(truncatingIfNeeded: count &+ 1)
        tableUsed += 1
        try words.append(word)
        try begin(block, index)
        return table[place] &- 1
    }

    @inline(__always)
    private func hash(_ word: Int64) -> UInt64 {
        var mixed = (UInt64(bitPattern: word) ^ seed) &* 0x9E37_79B9_7F4A_7C15
        mixed ^= mixed &>> 32
        mixed = mixed &* 0xD6E8_FEB8_6659_FD93
        return mixed ^ mixed &>> 32
    }

    /// Twice as large, at least four times what is in it.
    private func growTable() throws(StoreError) {
        let size = max(1024, tableSize * 2), bigger = try Memory.allocate(Int32.self, size)
        bigger.update(repeating: 0, count: size)
        for old in 0..<tableSize {
            let number = table.unsafelyUnwrapped[old]
            if number == 0 { continue }
            let group = Int(number - 1)
            let hash = hashes.count > 0 ? hashes[group] : self.hash(words[group])
            var place = Int(truncatingIfNeeded: hash) & (size - 1)
            while bigger[place] != 0 { place = (place + 1) & (size - 1) }
            bigger[place] = number
        }
        table?.deallocate()
        table = bigger
        tableSize = size
    }

    // MARK: Bytes

    private func write(_ value: Value) throws(StoreError) {
        var value = value
        if value.kind == .double {
            value.low = GroupKeys.canonical(value.low)
        } else if value.kind == .float {
            value.low = GroupKeys.canonical(Value.double(Double(value.asFloat)).low)
        }
        var head = UInt64(value.kind.rawValue)
        if value.kind.hasBytes {
            head |= UInt64(value.count) << 8
            try append(&head, 8)
            if let pointer = value.pointer, value.count > 0 { try scratch.append(pointer, value.count) }
        } else {
            try append(&head, 1)
            if value.isNull { return }
            try append(&value.low, 8)
            if value.kind.isPair { try append(&value.high, 8) }
        }
    }

    @inline(__always)
    private func append<T: BitwiseCopyable>(_ value: inout T, _ count: Int) throws(StoreError) {
        try withUnsafePointer(to: &value) { (pointer) throws(StoreError) in
            try scratch.append(UnsafeRawPointer(pointer), count)
        }
    }

    /// Of the bytes that were written.
    private func number(_ block: RowBlocks, _ index: Int) throws(StoreError) -> Int32 {
        if tableUsed &* 2 >= tableSize { try growTable() }
        let table = table.unsafelyUnwrapped, mask = tableSize &- 1, length = scratch.count
        let hash = IndexBits.hash(scratch.pointer, length, seed: seed)
        var place = Int(truncatingIfNeeded: hash) & mask
        while table[place] != 0 {
            let group = Int(table[place] &- 1)
            if hashes[group] == hash, places[group].count == length,
                memcmp(bytes.pointer + places[group].start, scratch.pointer, length) == 0
            {
                return Int32(truncatingIfNeeded: group)
            }
            place = (place &+ 1) & mask
        }
        table[place] = Int32(truncatingIfNeeded: count &+ 1)
        tableUsed += 1
        try hashes.append(hash)
        try places.append((bytes.count, length))
        try bytes.append(scratch.pointer, length)
        try begin(block, index)
        return table[place] &- 1
    }
}

/// An array of plain values, one for each group, that grows; new ones are `initial`. Errors: `.outOfMemory`.
struct GroupArray<Element>: ~Copyable {
    private(set) var elements: UnsafeMutablePointer<Element>
    private(set) var count = 0
    private var capacity = 0

    init() { elements = UnsafeMutablePointer(bitPattern: 16).unsafelyUnwrapped }

    deinit { if capacity > 0 { elements.deallocate() } }

    subscript(_ index: Int) -> Element {
        @inline(__always) get { elements[index] }
        @inline(__always) nonmutating set { elements[index] = newValue }
    }

    @inline(__always)
    mutating func append(_ element: Element) throws(StoreError) {
        if _slowPath(count == capacity) { try reserve(count + 1) }
        elements[count] = element
        count &+= 1
    }

    /// At least so many elements.
    mutating func extend(to wanted: Int, with initial: Element) throws(StoreError) {
        guard wanted > count else { return }
        if wanted > capacity { try reserve(wanted) }
        (elements + count).update(repeating: initial, count: wanted - count)
        count = wanted
    }

    /// The first ones.
    mutating func cut(to fewer: Int) { count = min(count, fewer) }

    @inline(never)
    private mutating func reserve(_ wanted: Int) throws(StoreError) {
        let more = max(64, wanted, capacity * 2), bigger = try Memory.allocate(Element.self, more)
        bigger.update(from: elements, count: count)
        if capacity > 0 { elements.deallocate() }
        elements = bigger
        capacity = more
    }
}

internal import CSystem

/// Finds the rows of a leaf whose number, or whose link's key, is in a set.
struct MemberKernel {
    let source: PageSource
    let spec: ColumnSpec
    let hint: Int
    let set: NumberSet

    /// Leaves the rows of the mask that match; those of the mask exist.
    func narrow(_ head: UnsafeRawPointer, _ mask: UnsafeMutablePointer<UInt64>) throws(StoreError) {
        guard let entry = LeafHead.entry(head, id: spec.id, hint: hint) else {
            // The leaf is older than the column: every row has the fill value.
            let fits = !spec.fill.isNull && set.contains(spec.fill.low)
            if !fits { mask.update(repeating: 0, count: LeafScan.words) }
            return
        }
        guard !entry.isText else { throw LeafReader.wrongEncoding(spec) }
        let rows = LeafHead.rows(head), decoder = ColumnDecoder(source, head)
        let nulls = entry.hasAux ? (head + Int(entry.aux)).assumingMemoryBound(to: UInt64.self) : nil
        if cs_cells_level() > 0, entry.width > 1, entry.width <= 8 || set.count <= MemberKernel.few {
            return try withUnsafeTemporaryAllocation(of: UInt64.self, capacity: 2 * LeafScan.words) {
                (words) throws(StoreError) in
                let found = words.baseAddress.unsafelyUnwrapped
                try find(head, entry, rows, into: found)
                for word in 0..<((rows &+ 63) &>> 6) { mask[word] &= found[word] & ~(nulls.map { $0[word] } ?? 0) }
            }
        }
        try withUnsafeTemporaryAllocation(of: Int64.self, capacity: 64) { (block) throws(StoreError) in
            let values = block.baseAddress.unsafelyUnwrapped
            var row = 0
            while row < rows {
                let word = row &>> 6
                var bits = mask[word]
                if let nulls { bits &= ~nulls[word] }
                if bits != 0 {
                    let count = min(64, rows &- row)
                    try decoder.numbers(entry, first: row, count: count, into: values)
                    bits = set.among(values, count, bits)
                }
                mask[word] = bits
                row &+= 64
            }
        }
    }

    /// So many comparisons of whole leaves are cheaper than looking up each number.
    private static let few = 16

    /// The rows whose packed cells are those of numbers in the set, null aside. `found` has as many words again, for
    /// intermediate results.
    private func find(
        _ head: UnsafeRawPointer, _ entry: LeafEntry, _ rows: Int, into found: UnsafeMutablePointer<UInt64>
    ) throws(StoreError) {
        let width = entry.width, base = entry.base, reader = LeafReader(source: source)
        if width <= 8 {
            return try withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 32) { (memory) throws(StoreError) in
                let cells = memory.baseAddress.unsafelyUnwrapped
                set.write(cells, from: base)
                try reader.forEachPart(head, entry, rows) { part, row, count in
                    let result = found + row >> 6
                    let whole = cs_cells_in_set(part, count &>> 6, UInt32(width), cells, result) ? count & ~63 : 0
                    for word in whole &>> 6..<(count &+ 63) &>> 6 { result[word] = 0 }
                    for row in whole..<count where set.contains(NumberCodec.cell(part, row, width: width, base: base)) {
                        result[row &>> 6] |= 1 &<< UInt64(row & 63)
                    }
                }
            }
        }
        found.update(repeating: 0, count: LeafScan.words)
        let one = found + LeafScan.words
        for index in 0..<set.count {
            let number = set[index]
            if number < base || number > entry.max { continue }
            let cell = UInt64(bitPattern: width == 64 ? number : number &- base)
            try reader.forEachPart(head, entry, rows) { part, row, count in
                NumberKernels.mask(part, count, width: width, low: cell, span: 0, into: one + row >> 6)
            }
            for word in 0..<((rows &+ 63) &>> 6) { found[word] |= one[word] }
        }
    }
}

/// Numbers of which many are looked for: a bit for each where they lie close together, else in their order.
final class NumberSet {
    private let keys: KeyBuffer
    private let first: Int64
    /// How many bits; 0: there are none.
    private let width: UInt64
    private let bits: UnsafeMutablePointer<UInt64>?

    /// As many bits are spent for a number.
    private static let spread: UInt64 = 256

    /// - Parameter keys: ascending; not changed any more.
    init(_ keys: KeyBuffer) throws(StoreError) {
        self.keys = keys
        first = keys.count > 0 ? keys.keys[0] : 0
        let last = keys.count > 0 ? keys.keys[keys.count - 1] : 0
        let range = UInt64(bitPattern: last &- first)
        guard keys.count > 0, range < UInt64(keys.count) &* NumberSet.spread else {
            (bits, width) = (nil, 0)
            return
        }
        width = range &+ 1
        let words = Int(range &>> 6) &+ 1, memory = try Memory.allocate(UInt64.self, words)
        memory.update(repeating: 0, count: words)
        for index in 0..<keys.count {
            let bit = UInt64(bitPattern: keys.keys[index] &- first)
            memory[Int(bit &>> 6)] |= 1 &<< (bit & 63)
        }
        bits = memory
    }

    deinit { bits?.deallocate() }

    var count: Int { keys.count }

    /// Ascending.
    subscript(_ index: Int) -> Int64 { keys.keys[index] }

    /// Those of `base ... base + 255`, as `cs_cells_in_set` wants them.
    func write(_ cells: UnsafeMutablePointer<UInt8>, from base: Int64) {
        cells.update(repeating: 0, count: 32)
        var index = place(of: base)
        while index < keys.count {
            let cell = UInt64(bitPattern: keys.keys[index] &- base)
            if cell > 255 { break }
            cells[Int(cell & 15 | cell &>> 3 & 16)] |= 1 &<< UInt8(cell &>> 4 & 7)
            index &+= 1
        }
    }

    @inline(__always)
    func contains(_ key: Int64) -> Bool {
        if let bits {
            let bit = UInt64(bitPattern: key &- first)
            return bit < width && bits[Int(bit &>> 6)] &>> (bit & 63) & 1 != 0
        }
        return search(key)
    }

    /// Of `count` numbers, at most 64, those that are `wanted` and in the set.
    @inline(__always)
    func among(_ numbers: UnsafePointer<Int64>, _ count: Int, _ wanted: UInt64) -> UInt64 {
        var found: UInt64 = 0
        if let bits, wanted.nonzeroBitCount >= NumberSet.manyWanted {
            // Whether a number is in the set is no branch: nobody could foresee it.
            for place in 0..<count {
                let bit = UInt64(bitPattern: numbers[place] &- first)
                let inside = UInt64(unsafeBitCast(bit < width, to: UInt8.self))
                let at = bit & (0 &- inside)
                found |= (bits[Int(at &>> 6)] &>> (at & 63) & inside) &<< UInt64(place)
            }
            return found & wanted
        }
        var left = wanted
        while left != 0 {
            let place = left.trailingZeroBitCount
            if contains(numbers[place]) { found |= 1 &<< UInt64(place) }
            left &= left &- 1
        }
        return found
    }

    /// Looking at all 64 costs as much as at so many one by one.
    private static let manyWanted = 16

    private func search(_ key: Int64) -> Bool {
        let place = place(of: key)
        return place < keys.count && keys.keys[place] == key
    }

    /// How many are less.
    private func place(of key: Int64) -> Int {
        var low = 0, high = keys.count
        while low < high {
            let middle = (low &+ high) &>> 1
            if keys.keys[middle] < key { low = middle &+ 1 } else { high = middle }
        }
        return low
    }
}

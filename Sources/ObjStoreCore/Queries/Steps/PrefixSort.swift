/// An object that is being sorted: eight bytes of its value, and its index in the list.
package struct PrefixedRow {
    package var prefix: UInt64
    package var index: Int

    @inline(__always)
    package init(prefix: UInt64, index: Int) {
        self.prefix = prefix
        self.index = index
    }
}

/// Sorts rows by their prefixes; equal ones stay in order. From the highest bits on that differ, into buckets of a few
/// rows each, which fit into the cache on the way down.
///
/// ```
///  bits that all have in common    left out, of many rows
///  2,048 buckets at most           in one pass over memory
///  each of them in the same way    few rows: by insertion
/// ```
/// Afterwards the prefixes are others, equal where they were equal, and in the same order. Whoever watches the query
/// can end it: then the rows are in no order.
package enum PrefixSort {
    package typealias Rows = UnsafeMutablePointer<PrefixedRow>

    /// - Parameter scratch: room for as many rows. There are less than four billions.
    /// Errors: those of whoever watches.
    package static func sort(_ rows: Rows, _ scratch: Rows, _ count: Int) throws(StoreError) {
        if count <= mostInserted { return insert(rows, count) }
        guard var differ = try difference(rows, count) else { return }
        // Of all rows, or of none: in one bucket alone they would no longer differ from those of the next.
        if count >= leastCompressed, let compressed = Compression(differ) {
            try WatchedQuery.forEachStretch(of: 0..<count) { (stretch) throws(StoreError) in
                for index in stretch { rows[index].prefix = compressed(rows[index].prefix) }
            }
            differ = ~0 &>> UInt64(64 &- compressed.bits)
        }
        try part(rows, scratch, count, differ)
    }

    /// The bits in which they differ; nil: they are in order.
    private static func difference(_ rows: Rows, _ count: Int) throws(StoreError) -> UInt64? {
        let first = rows[0].prefix
        var differ: UInt64 = 0, previous = first, isSorted = true
        try WatchedQuery.forEachStretch(of: 1..<count) { (stretch) throws(StoreError) in
            for index in stretch {
                let prefix = rows[index].prefix
                differ |= prefix ^ first
                isSorted = isSorted && previous <= prefix
                previous = prefix
            }
        }
        return isSorted ? nil : differ
    }

    /// Of one bucket.
    private static func sortBucket(_ rows: Rows, _ scratch: Rows, _ count: Int) throws(StoreError) {
        if count <= mostInserted { return insert(rows, count) }
        if let differ = try difference(rows, count) { try part(rows, scratch, count, differ) }
    }

    /// Into buckets, by the highest of the bits that differ.
    private static func part(_ rows: Rows, _ scratch: Rows, _ count: Int, _ differ: UInt64) throws(StoreError) {
        // Of many buckets, too: fewer rows than these are in them only where there are few in all.
        if count >= WatchedQuery.least, _slowPath(WatchedQuery.isOn) { try WatchedQuery.look(0, work: count) }
        let significant = 64 &- differ.leadingZeroBitCount
        // So that a bucket has a few rows.
        let wanted = min(11, max(4, (Int.bitWidth &- count.leadingZeroBitCount) &- 3))
        let bits = min(wanted, significant), shift = UInt64(significant &- bits)
        try withUnsafeTemporaryAllocation(of: UInt32.self, capacity: 1 &<< bits &+ 1) { (memory) throws(StoreError) in
            let ends = memory.baseAddress.unsafelyUnwrapped, mask = UInt64(1 &<< bits &- 1)
            ends.update(repeating: 0, count: 1 &<< bits &+ 1)
            try WatchedQuery.forEachStretch(of: 0..<count) { (stretch) throws(StoreError) in
                for index in stretch { ends[Int(rows[index].prefix &>> shift & mask)] &+= 1 }
            }
            var sum: UInt32 = 0
            for digit in 0..<1 &<< bits { (ends[digit], sum) = (sum, sum &+ ends[digit]) }
            try WatchedQuery.forEachStretch(of: 0..<count) { (stretch) throws(StoreError) in
                for index in stretch {
                    let row = rows[index], digit = Int(row.prefix &>> shift & mask)
                    scratch[Int(ends[digit])] = row
                    ends[digit] &+= 1
                }
            }
            rows.update(from: scratch, count: count)
            if shift == 0 { return }
            var start = 0
            for digit in 0..<1 &<< bits {
                let end = Int(ends[digit])
                if end &- start > 1 { try sortBucket(rows + start, scratch + start, end &- start) }
                start = end
            }
        }
    }

    private static let mostInserted = 24
    /// A key with at most so many values is few values, for at least twice as many objects.
    static let fewBits = 11, fewValues = 4096
    /// Fewer rows are not worth it.
    private static let leastCompressed = 4096

    private static func insert(_ rows: Rows, _ count: Int) {
        var place = 1
        while place < count {
            let row = rows[place]
            var left = place
            while left > 0, rows[left &- 1].prefix > row.prefix {
                rows[left] = rows[left &- 1]
                left &-= 1
            }
            rows[left] = row
            place &+= 1
        }
    }

    /// Moves the bits that differ together, as those of letters, which have three in common.
    private struct Compression {
        private typealias Parts = (UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64, UInt64)
        private var masks: Parts = (0, 0, 0, 0, 0, 0, 0, 0)
        private var shifts: Parts = (0, 0, 0, 0, 0, 0, 0, 0)
        private var count = 0
        /// How many there are.
        private(set) var bits = 0

        /// Nil: they lie in too many places, or nearly all of them differ.
        init?(_ differ: UInt64) {
            guard differ.nonzeroBitCount &+ 8 <= 64 &- differ.leadingZeroBitCount else { return nil }
            var rest = differ
            while rest != 0 {
                let from = UInt64(rest.trailingZeroBitCount), length = UInt64((~(rest &>> from)).trailingZeroBitCount)
                guard count < 8, length < 64 else { return nil }
                let mask = (1 &<< length &- 1) &<< from
                withUnsafeMutableBytes(of: &masks) { $0.storeBytes(of: mask, toByteOffset: 8 * count, as: UInt64.self) }
                withUnsafeMutableBytes(of: &shifts) {
                    $0.storeBytes(of: from &- UInt64(bits), toByteOffset: 8 * count, as: UInt64.self)
                }
                count += 1
                bits += Int(length)
                rest &= ~mask
            }
        }

        @inline(__always)
        func callAsFunction(_ word: UInt64) -> UInt64 {
            let low = (word & masks.0) &>> shifts.0 | (word & masks.1) &>> shifts.1 | (word & masks.2) &>> shifts.2
            let high = (word & masks.3) &>> shifts.3 | (word & masks.4) &>> shifts.4 | (word & masks.5) &>> shifts.5
            return low | high | (word & masks.6) &>> shifts.6 | (word & masks.7) &>> shifts.7
        }
    }
}

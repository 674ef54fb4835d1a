/// Sorts rows, words that consist of a code above and an index below, by their codes; equal ones stay in order, which
/// is that of their indexes. From the highest bits on that differ, into buckets of a few rows each, which fit into the
/// cache on the way down.
///
/// ```
///  2,048 buckets at most           in one pass over memory
///  each of them in the same way    few rows: by insertion
/// ```
/// Whoever watches the query can end it: then the rows are in no order.
package enum PrefixSort {
    package typealias Rows = UnsafeMutablePointer<UInt64>

    /// - Parameters:
    ///   - indexBits: how many bits of a row are not looked at. Among rows with equal codes the indexes ascend.
    ///   - scratch: room for as many rows. There are less than four billions.
    /// Errors: those of whoever watches.
    package static func sort(_ rows: Rows, _ scratch: Rows, _ count: Int, indexBits: UInt64) throws(StoreError) {
        if count <= mostInserted { return insert(rows, count) }
        if let differ = try difference(rows, count, indexBits) { try part(rows, scratch, count, differ, indexBits) }
    }

    /// The bits in which their codes differ; nil: they are in order.
    private static func difference(_ rows: Rows, _ count: Int, _ indexBits: UInt64) throws(StoreError) -> UInt64? {
        let first = rows[0]
        var differ: UInt64 = 0, previous = first, isSorted = true
        try WatchedQuery.forEachStretch(of: 1..<count) { (stretch) throws(StoreError) in
            for place in stretch {
                let row = rows[place]
                differ |= row ^ first
                isSorted = isSorted && previous <= row
                previous = row
            }
        }
        return isSorted ? nil : differ & ~0 &<< indexBits
    }

    /// Into buckets, by the highest of the bits that differ.
    private static func part(
        _ rows: Rows, _ scratch: Rows, _ count: Int, _ differ: UInt64, _ indexBits: UInt64
    ) throws(StoreError) {
        // Of many buckets, too: fewer rows than these are in them only where there are few in all.
        if count >= WatchedQuery.least, _slowPath(WatchedQuery.isOn) { try WatchedQuery.look(0, work: count) }
        let significant = 64 &- differ.leadingZeroBitCount &- Int(indexBits)
        let bits = min(Self.bits(count), significant), shift = UInt64(significant &- bits) &+ indexBits
        try withUnsafeTemporaryAllocation(of: UInt32.self, capacity: 1 &<< bits) { (memory) throws(StoreError) in
            let ends = memory.baseAddress.unsafelyUnwrapped, mask = UInt64(1 &<< bits &- 1)
            ends.update(repeating: 0, count: 1 &<< bits)
            try WatchedQuery.forEachStretch(of: 0..<count) { (stretch) throws(StoreError) in
                for place in stretch { ends[Int(rows[place] &>> shift & mask)] &+= 1 }
            }
            var sum: UInt32 = 0
            for digit in 0..<1 &<< bits { (ends[digit], sum) = (sum, sum &+ ends[digit]) }
            try WatchedQuery.forEachStretch(of: 0..<count) { (stretch) throws(StoreError) in
                for place in stretch {
                    let row = rows[place], digit = Int(row &>> shift & mask)
                    scratch[Int(ends[digit])] = row
                    ends[digit] &+= 1
                }
            }
            rows.update(from: scratch, count: count)
            if shift == indexBits { return }
            var start = 0
            for digit in 0..<1 &<< bits {
                let end = Int(ends[digit])
                if end &- start > 1 { try sort(rows + start, scratch + start, end &- start, indexBits: indexBits) }
                start = end
            }
        }
    }

    static let mostInserted = 24
    /// Of a digit.
    private static let mostBits = 11

    /// By so many bits so many rows are put into buckets: a bucket has a few of them.
    static func bits(_ count: Int) -> Int { min(mostBits, max(4, (Int.bitWidth &- count.leadingZeroBitCount) &- 3)) }

    private static func insert(_ rows: Rows, _ count: Int) {
        var place = 1
        while place < count {
            let row = rows[place]
            var left = place
            while left > 0, rows[left &- 1] > row {
                rows[left] = rows[left &- 1]
                left &-= 1
            }
            rows[left] = row
            place &+= 1
        }
    }
}

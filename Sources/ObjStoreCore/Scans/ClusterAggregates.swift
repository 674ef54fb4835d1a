/// Sums and extremes of one number column, over all objects whose value is not null.
package struct IntegerSummary: Sendable {
    /// How many values were not null.
    package var count = 0
    package var sum: Int128 = 0
    /// Meaningful where `count > 0`.
    package var minimum = Int64.max
    package var maximum = Int64.min

    package var average: Double? { count == 0 ? nil : Double(sum) / Double(count) }

    @inline(__always)
    mutating func add(_ value: Int64) {
        count &+= 1
        sum &+= Int128(value)
        if value < minimum { minimum = value }
        if value > maximum { maximum = value }
    }

    mutating func add(_ other: IntegerSummary) {
        count += other.count
        sum &+= other.sum
        minimum = Swift.min(minimum, other.minimum)
        maximum = Swift.max(maximum, other.maximum)
    }
}

package struct DoubleSummary: Sendable {
    package var count = 0
    /// NaN where any value is; the order of summation is fixed by the leaves, not by the rows.
    package var sum = 0.0
    /// NaN values are left out; +infinity and -infinity where there is no other.
    package var minimum = Double.infinity
    package var maximum = -Double.infinity

    package var average: Double? { count == 0 ? nil : sum / Double(count) }

    @inline(__always)
    mutating func add(_ value: Double) {
        count &+= 1
        sum += value
        if value < minimum { minimum = value }
        if value > maximum { maximum = value }
    }

    /// Of values that come behind these: of equal ones, which 0 and -0 are, the first stays. There is no sum then.
    mutating func addExtremes(_ other: DoubleSummary) {
        count += other.count
        sum = .nan
        if other.minimum < minimum { minimum = other.minimum }
        if other.maximum > maximum { maximum = other.maximum }
    }
}

extension ClusterReader {
    /// Sum, which cannot overflow, count and, where `extremes`, least and greatest value of an int column, of the
    /// leaves that begin with keys from `from` on, below `to`.
    package func integers(
        _ column: Int, extremes: Bool, from: Int64 = 0, to: Int64 = .max
    ) throws(StoreError) -> IntegerSummary {
        let spec = columns[column]
        let values = UnsafeMutablePointer<Int64>.allocate(capacity: LeafHead.rowsPerLeaf)
        values.initialize(repeating: 0, count: LeafHead.rowsPerLeaf)
        defer { values.deallocate() }
        var result = IntegerSummary()
        var cursor = LeafCursor(self, from: from)
        while let head = try cursor.next(), LeafHead.keyBase(head) < to {
            try prefetchAhead(cursor, column: column, aux: false)
            let rows = LeafHead.rows(head)
            guard let entry = LeafHead.entry(head, id: spec.id, hint: column) else {
                if spec.fill.isNull { continue }
                let live = LeafHead.live(head)
                result.sum += Int128(spec.fill.low) * Int128(live)
                result.count += live
                result.minimum = min(result.minimum, spec.fill.low)
                result.maximum = max(result.maximum, spec.fill.low)
                continue
            }
            guard !entry.isText else { throw LeafReader.wrongEncoding(spec) }
            if !extremes, LeafHead.presence(head) == nil, !entry.hasAux, entry.width < 64 {
                result.sum += try sumOfCells(head, entry, rows)
                result.count += rows
                continue
            }
            try ColumnDecoder(source, head).numbers(entry, first: 0, count: rows, into: values)
            if !extremes, entry.width <= 32, entry.encoding == LeafEncoding.frame.rawValue {
                // Differences to the base: 64 bits hold the sum of a leaf.
                let base = entry.base
                var sum: UInt64 = 0, count = 0
                forEachWord(head, entry, rows) { row, bits in
                    for index in row..<min(row + 64, rows) { values[index] &-= base }
                    sum &+= NumberKernels.sumNumbers(values + row, where: bits)
                    count &+= bits.nonzeroBitCount
                }
                result.sum += Int128(sum) + Int128(base) * Int128(count)
                result.count += count
                continue
            }
            forEachWord(head, entry, rows) { row, bits in
                var low = result.minimum, high = result.maximum, sum: Int128 = 0, left = bits
                while left != 0 {
                    let value = values[row &+ left.trailingZeroBitCount]
                    left &= left &- 1
                    sum &+= Int128(value)
                    low = Swift.min(low, value)
                    high = Swift.max(high, value)
                }
                result.sum &+= sum
                result.count &+= bits.nonzeroBitCount
                result.minimum = low
                result.maximum = high
            }
        }
        return result
    }

    private func sumOfCells(_ head: UnsafeRawPointer, _ entry: LeafEntry, _ rows: Int) throws(StoreError) -> Int128 {
        var sum = Int128(entry.base) * Int128(rows)
        if entry.encoding == LeafEncoding.linear.rawValue { return sum + Int128(rows * (rows - 1) / 2) }
        if entry.width == 0 { return sum }
        var row = 0
        while row < rows {
            let count = min(entry.segmentRows, rows - row)
            let part = try LeafReader(source: source).mainPart(head, entry, segment: entry.segmentIndex(row), .numbers)
            sum += Int128(NumberKernels.sumCells(part, count, width: entry.width))
            row += count
        }
        return sum
    }

    /// Sum, count and, where `extremes`, least and greatest value of a double column, of the same leaves.
    package func doubles(
        _ column: Int, extremes: Bool, from: Int64 = 0, to: Int64 = .max
    ) throws(StoreError) -> DoubleSummary {
        let spec = columns[column]
        var result = DoubleSummary()
        var cursor = LeafCursor(self, from: from)
        let reader = LeafReader(source: source)
        while let head = try cursor.next(), LeafHead.keyBase(head) < to {
            try prefetchAhead(cursor, column: column, aux: false)
            let rows = LeafHead.rows(head)
            let entry = LeafHead.entry(head, id: spec.id, hint: column)
            if let entry, entry.encoding != LeafEncoding.double.rawValue { throw LeafReader.wrongEncoding(spec) }
            guard let entry, entry.width != 0 else {
                // One value for all rows.
                if entry == nil, spec.fill.isNull { continue }
                let value = entry.map { Double(bitPattern: UInt64(bitPattern: $0.base)) } ?? spec.fill.asDouble
                var count = 0
                if let entry {
                    forEachWord(head, entry, rows) { _, bits in count += bits.nonzeroBitCount }
                } else {
                    count = LeafHead.live(head)
                }
                if count == 0 { continue }
                result.count += count
                result.sum += value * Double(count)
                if value < result.minimum { result.minimum = value }
                if value > result.maximum { result.maximum = value }
                continue
            }
            let shift = NumberCodec.segmentShift(64)
            if LeafHead.presence(head) == nil, !entry.hasAux {
                var row = 0
                while row < rows {
                    let part = try reader.mainPart(head, entry, segment: row &>> shift, .numbers)
                    let next =
                        row &+ 1 &<< shift < rows
                        ? LeafSegment(head + Int(entry.main) + (row &>> shift &+ 1) &* LeafSegment.size).ref : 0
                    let ahead = next != 0 && next < UInt64(source.limit) ? source.base + Int(next & ~Ref.tagMask) : part
                    let count = min(1 &<< shift, rows &- row)
                    result.sum += NumberKernels.sumDoubles(part, count, next: ahead)
                    if extremes { NumberKernels.extremes(part, count, &result.minimum, &result.maximum) }
                    row &+= 1 &<< shift
                }
                result.count += rows
                continue
            }
            var row = 0
            while row < rows {
                let part = try reader.mainPart(head, entry, segment: row &>> shift, .numbers), first = row
                let cells = part.assumingMemoryBound(to: Double.self)
                forEachWord(head, entry, min(rows, first + 1 << shift), from: first) { row, bits in
                    let at = row &- first
                    result.count &+= bits.nonzeroBitCount
                    // Beyond the last row a part may end.
                    if row &+ 64 <= rows {
                        result.sum += NumberKernels.sumDoubles(part + at &<< 3, where: bits)
                        if !extremes { return }
                        if bits == ~0 {
                            return NumberKernels.extremes(part + at &<< 3, 64, &result.minimum, &result.maximum)
                        }
                    }
                    var left = bits
                    while left != 0 {
                        let value = cells[at &+ left.trailingZeroBitCount]
                        left &= left &- 1
                        if row &+ 64 > rows { result.sum += value }
                        if value < result.minimum { result.minimum = value }
                        if value > result.maximum { result.maximum = value }
                    }
                }
                row &+= 1 &<< shift
            }
        }
        return result
    }

    /// Sum, which is that of doubles, count, least and greatest value of a float column, of the same leaves.
    package func floats(_ column: Int, from: Int64 = 0, to: Int64 = .max) throws(StoreError) -> DoubleSummary {
        let spec = columns[column]
        let patterns = UnsafeMutablePointer<Int64>.allocate(capacity: LeafHead.rowsPerLeaf)
        defer { patterns.deallocate() }
        var result = DoubleSummary()
        var cursor = LeafCursor(self, from: from)
        while let head = try cursor.next(), LeafHead.keyBase(head) < to {
            try prefetchAhead(cursor, column: column, aux: false)
            guard let entry = LeafHead.entry(head, id: spec.id, hint: column) else {
                if !spec.fill.isNull { for _ in 0..<LeafHead.live(head) { result.add(Double(spec.fill.asFloat)) } }
                continue
            }
            guard !entry.isText else { throw LeafReader.wrongEncoding(spec) }
            let rows = LeafHead.rows(head)
            try ColumnDecoder(source, head).numbers(entry, first: 0, count: rows, into: patterns)
            forEachWord(head, entry, rows) { row, bits in
                var left = bits
                while left != 0 {
                    result.add(
                        Double(
                            Float(bitPattern: UInt32(truncatingIfNeeded: patterns[row &+ left.trailingZeroBitCount]))))
                    left &= left &- 1
                }
            }
        }
        return result
    }

    /// Calls `body` with the first row and the bits of every 64 rows that hold one that exists and is not null.
    /// `from` is a multiple of 64.
    @inline(__always)
    private func forEachWord(
        _ head: UnsafeRawPointer, _ entry: LeafEntry, _ rows: Int, from: Int = 0, _ body: (Int, UInt64) -> Void
    ) {
        let presence = LeafHead.presence(head)
        let nulls = entry.hasAux ? (head + Int(entry.aux)).assumingMemoryBound(to: UInt64.self) : nil
        var row = from
        while row < rows {
            let left = rows &- row
            var bits: UInt64 = left >= 64 ? ~0 : 1 &<< UInt64(left) &- 1
            if let presence { bits &= presence[row &>> 6] }
            if let nulls { bits &= ~nulls[row &>> 6] }
            if bits != 0 { body(row, bits) }
            row &+= 64
        }
    }
}

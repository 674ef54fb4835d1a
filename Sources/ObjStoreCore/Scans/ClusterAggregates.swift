/// Sums and extremes of one number column, over all objects whose value is not null.
package struct IntegerSummary: Sendable {
    /// How many values were not null.
    package var count = 0
    package var sum: Int128 = 0
    /// Meaningful where `count > 0`.
    package var minimum = Int64.max
    package var maximum = Int64.min

    package var average: Double? { count == 0 ? nil : Double(sum) / Double(count) }
}

package struct DoubleSummary: Sendable {
    package var count = 0
    /// NaN where any value is; the order of summation is fixed by the leaves, not by the rows.
    package var sum = 0.0
    /// NaN values are left out; +infinity and -infinity where there is no other.
    package var minimum = Double.infinity
    package var maximum = -Double.infinity

    package var average: Double? { count == 0 ? nil : sum / Double(count) }
}

extension ClusterReader {
    /// Sum and count of an int column. The sum cannot overflow.
    package func sumIntegers(_ column: Int) throws(StoreError) -> (sum: Int128, count: Int) {
        let result = try integers(column, extremes: false)
        return (result.sum, result.count)
    }

    /// Sum, count, least and greatest value of an int column.
    package func summarizeIntegers(_ column: Int) throws(StoreError) -> IntegerSummary { try integers(column, extremes: true) }

    private func integers(_ column: Int, extremes: Bool) throws(StoreError) -> IntegerSummary {
        let spec = columns[column]
        let values = UnsafeMutablePointer<Int64>.allocate(capacity: LeafHead.rowsPerLeaf)
        defer { values.deallocate() }
        var result = IntegerSummary()
        var cursor = LeafCursor(self, from: 0)
        while let head = try cursor.next() {
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
            forEachRun(head, entry, rows) { first, count in
                var low = result.minimum, high = result.maximum, sum: Int128 = 0
                for row in first..<first &+ count {
                    let value = values[row]
                    sum &+= Int128(value)
                    low = Swift.min(low, value)
                    high = Swift.max(high, value)
                }
                result.sum &+= sum
                result.count &+= count
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

    /// Sum and count of a double column.
    package func sumDoubles(_ column: Int) throws(StoreError) -> (sum: Double, count: Int) {
        let result = try doubles(column, extremes: false)
        return (result.sum, result.count)
    }

    /// Sum, count, least and greatest value of a double column.
    package func summarizeDoubles(_ column: Int) throws(StoreError) -> DoubleSummary { try doubles(column, extremes: true) }

    private func doubles(_ column: Int, extremes: Bool) throws(StoreError) -> DoubleSummary {
        let spec = columns[column]
        var result = DoubleSummary()
        var cursor = LeafCursor(self, from: 0)
        let reader = LeafReader(source: source)
        while let head = try cursor.next() {
            try prefetchAhead(cursor, column: column, aux: false)
            let rows = LeafHead.rows(head)
            let entry = LeafHead.entry(head, id: spec.id, hint: column)
            if let entry, entry.encoding != LeafEncoding.double.rawValue { throw LeafReader.wrongEncoding(spec) }
            guard let entry, entry.width != 0 else {
                // One value for all rows.
                if entry == nil, spec.fill.isNull { continue }
                let value = entry.map { Double(bitPattern: UInt64(bitPattern: $0.base)) } ?? spec.fill.asDouble
                var count = 0
                if let entry { forEachRun(head, entry, rows) { _, run in count += run } } else { count = LeafHead.live(head) }
                if count == 0 { continue }
                result.count += count
                result.sum += value * Double(count)
                if value < result.minimum { result.minimum = value }
                if value > result.maximum { result.maximum = value }
                continue
            }
            let shift = NumberCodec.segmentShift(64)
            if LeafHead.presence(head) == nil, !entry.hasAux, !extremes {
                var row = 0
                while row < rows {
                    let part = try reader.mainPart(head, entry, segment: row &>> shift, .numbers)
                    result.sum += NumberKernels.sumDoubles(part, min(1 &<< shift, rows &- row))
                    row &+= 1 &<< shift
                }
                result.count += rows
                continue
            }
            // Runs never cross a segment: they end at multiples of 64 rows at least where something is missing.
            var failure: StoreError?
            forEachRun(head, entry, rows) { first, count in
                var row = first
                let end = first + count
                while row < end, failure == nil {
                    let run = min(end - row, 1 << shift - row & (1 << shift - 1))
                    do throws(StoreError) {
                        let part = try reader.mainPart(head, entry, segment: row >> shift, .numbers) + (row & (1 << shift - 1)) << 3
                        result.sum += NumberKernels.sumDoubles(part, run)
                        if extremes {
                            let cells = part.assumingMemoryBound(to: Double.self)
                            var low = result.minimum, high = result.maximum
                            for index in 0..<run {
                                let value = cells[index]
                                if value < low { low = value }
                                if value > high { high = value }
                            }
                            result.minimum = low
                            result.maximum = high
                        }
                    } catch { failure = error }
                    row += run
                }
            }
            if let failure { throw failure }
            result.count += LeafMatcher.present(head, entry, rows)
        }
        return result
    }

    /// Calls `body` with (first row, count) of every run of rows that exist and are not null.
    @inline(__always)
    private func forEachRun(_ head: UnsafeRawPointer, _ entry: LeafEntry, _ rows: Int, _ body: (Int, Int) -> Void) {
        let presence = LeafHead.presence(head)
        if presence == nil, !entry.hasAux { return body(0, rows) }
        let nulls = entry.hasAux ? (head + Int(entry.aux)).assumingMemoryBound(to: UInt64.self) : nil
        var word = 0, start = -1
        while word &<< 6 < rows {
            let left = rows &- word &<< 6
            var bits = presence.map { $0[word] } ?? (left >= 64 ? ~0 : 1 &<< UInt64(left) &- 1)
            if let nulls { bits &= ~nulls[word] }
            let base = word &<< 6
            if start >= 0, bits & 1 == 0 { body(start, base &- start); start = -1 }
            var at = 0
            while at < 64 {
                if start < 0 {
                    let ahead = bits &>> UInt64(at)
                    if ahead == 0 { break }
                    at &+= ahead.trailingZeroBitCount
                    start = base &+ at
                }
                let ones = (~(bits &>> UInt64(at))).trailingZeroBitCount
                at &+= ones
                if at >= 64 { break }
                body(start, base &+ at &- start)
                start = -1
            }
            word &+= 1
        }
        if start >= 0 { body(start, rows &- start) }
    }
}

extension LeafMatcher {
    /// Rows that exist and are not null in a number column.
    static func present(_ head: UnsafeRawPointer, _ entry: LeafEntry, _ rows: Int) -> Int {
        guard entry.hasAux else { return LeafHead.live(head) }
        let nulls = (head + Int(entry.aux)).assumingMemoryBound(to: UInt64.self)
        var count = 0
        for word in 0..<(LeafHead.bitmapBytes(rows: rows) / 8) {
            let left = rows - word << 6
            let existing: UInt64 = LeafHead.presence(head).map { $0[word] } ?? (left >= 64 ? ~0 : 1 << UInt64(left) - 1)
            count += (existing & ~nulls[word]).nonzeroBitCount
        }
        return count
    }
}

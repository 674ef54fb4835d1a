/// What several threads find together, put together as one would have found it.
extension LeafScan {
    func count(_ pieces: LeafPieces) throws(StoreError) -> Int {
        let counts = try SharedScan<LeafScan, Int>.results(of: pieces, sharing) {
            (scan, piece) throws(StoreError) in try scan.count(in: piece)
        }
        return counts.reduce(0, &+)
    }

    /// A thread with what it has found, piece after piece.
    private final class Collector {
        let scan: LeafScan
        let keys = KeyBuffer()

        init(_ scan: LeafScan) { self.scan = scan }
    }

    /// What a piece has.
    private struct Found {
        let keys: KeyBuffer
        let range: Range<Int>
    }

    func collect(_ pieces: LeafPieces, into keys: KeyBuffer) throws(StoreError) -> Int {
        let found = try SharedScan<Collector, Found>.results(of: pieces, { Collector(self.sharing()) }) {
            (collector, piece) throws(StoreError) in
            let start = collector.keys.count
            try collector.scan.collect(in: piece, into: collector.keys)
            return Found(keys: collector.keys, range: start..<collector.keys.count)
        }
        let count = found.reduce(0) { $0 + $1.range.count }
        try keys.reserve(count)
        for piece in found { try keys.append(piece.keys, piece.range) }
        return count
    }

    /// Of the values of an int column of matching objects, null aside.
    func integers(_ column: Int) throws(StoreError) -> IntegerSummary {
        var summary = IntegerSummary()
        guard let pieces = try pieces() else {
            try forEachNumber(column) { summary.add($0) }
            return summary
        }
        let found = try SharedScan<LeafScan, IntegerSummary>.results(of: pieces, sharing) {
            (scan, piece) throws(StoreError) in
            var summary = IntegerSummary()
            try scan.forEachNumber(column, in: piece) { summary.add($0) }
            return summary
        }
        for part in found { summary.add(part) }
        return summary
    }

    /// Of a column of doubles, or floats, that `value` makes doubles of bits; `extremes`: the sum is not wanted, which
    /// depends on the order in which it is added up.
    @inline(__always)
    func doubles(
        _ column: Int, extremes: Bool, _ value: @escaping (Int64) -> Double
    ) throws(StoreError) -> DoubleSummary {
        var summary = DoubleSummary()
        guard extremes, let pieces = try pieces() else {
            try forEachNumber(column) { summary.add(value($0)) }
            return summary
        }
        let found = try SharedScan<LeafScan, DoubleSummary>.results(of: pieces, sharing) {
            (scan, piece) throws(StoreError) in
            var summary = DoubleSummary()
            try scan.forEachNumber(column, in: piece) { summary.add(value($0)) }
            return summary
        }
        for part in found { summary.addExtremes(part) }
        return summary
    }
}

extension ClusterReader {
    /// `integers` by as many threads as the query may use.
    func sharedIntegers(_ column: Int, extremes: Bool) throws(StoreError) -> IntegerSummary {
        guard let pieces = try LeafPieces(self) else { return try integers(column, extremes: extremes) }
        let found = try SharedScan<Void, IntegerSummary>.results(of: pieces, {}) { (_, piece) throws(StoreError) in
            try integers(column, extremes: extremes, from: piece.from, to: piece.to)
        }
        var summary = IntegerSummary()
        for part in found { summary.add(part) }
        return summary
    }

    /// The extremes of a column of doubles, or of floats; not the sum.
    func sharedExtremes(_ column: Int, ofFloats: Bool) throws(StoreError) -> DoubleSummary {
        @Sendable func part(_ from: Int64, _ to: Int64) throws(StoreError) -> DoubleSummary {
            ofFloats
                ? try floats(column, from: from, to: to) : try doubles(column, extremes: true, from: from, to: to)
        }
        guard let pieces = try LeafPieces(self) else { return try part(0, .max) }
        let found = try SharedScan<Void, DoubleSummary>.results(of: pieces, {}) { (_, piece) throws(StoreError) in
            try part(piece.from, piece.to)
        }
        var summary = DoubleSummary()
        for part in found { summary.addExtremes(part) }
        return summary
    }
}

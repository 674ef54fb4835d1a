/// What is taken of the values of a property.
package enum AggregateKind: Int32, Sendable {
    case sum = 1
    case minimum = 2
    case maximum = 3
    case average = 4
}

/// Of the values of a property, of all objects that the query finds; nulls are skipped. Of nothing the sum is 0, the
/// others are null.
extension QueryRun {
    /// Cost: a scan of the column, and of those that the query looks at; where something else finds its objects, of the
    /// leaves that they are in.
    func aggregate(_ propertyID: UInt32, _ aggregate: AggregateKind) throws(StoreError) -> Value {
        let position = try cls.position(propertyID)
        if query.origin.stretch != nil {
            throw StoreError(
                .notSupported, "there are no sums and extremes of a part of an index in this version"
            ).at(class: cls.name)
        }
        func named(_ code: StatusCode, _ what: String) -> StoreError {
            cls.named(StoreError(code, "\(cls.name).\(cls.properties[position].name) \(what)"), position)
        }
        switch (cls.columns[position].kind, aggregate) {
        case (.int, .sum):
            let sum = try integers(position, extremes: false).sum
            guard let exact = Int64(exactly: sum) else {
                throw named(.outOfRange, "adds up to \(sum), which does not fit in 64 bits")
            }
            return .int(exact)
        case (.int, _):
            let summary = try integers(position, extremes: aggregate != .average)
            if aggregate == .average { return summary.average.map { .double($0) } ?? .null }
            return summary.count == 0 ? .null : .int(aggregate == .minimum ? summary.minimum : summary.maximum)
        case (.double, .minimum), (.double, .maximum):
            let summary = try doubles(position, extremes: true)
            if summary.count == 0 { return .null }
            let value = aggregate == .minimum ? summary.minimum : summary.maximum
            // Infinity of nothing but NaN is no value of the column.
            if value.isInfinite, try !isThere(.double(value), position) { return .null }
            return .double(value)
        case (.double, _):
            let summary = try doubles(position, extremes: false)
            if aggregate == .sum { return .double(summary.sum) }
            return summary.average.map { .double($0) } ?? .null
        case (.float, .minimum), (.float, .maximum):
            let summary = try floats(position, extremes: true)
            if summary.count == 0 { return .null }
            let value = Float(aggregate == .minimum ? summary.minimum : summary.maximum)
            if value.isInfinite, try !isThere(.float(value), position) { return .null }
            return .float(value)
        case (.float, _):
            let summary = try floats(position, extremes: false)
            if aggregate == .sum { return .double(summary.sum) }
            return summary.average.map { .double($0) } ?? .null
        case (.timestamp, .minimum), (.timestamp, .maximum), (.decimal128, .minimum), (.decimal128, .maximum),
            (.objectID, .minimum),
            (.objectID, .maximum), (.uuid, .minimum), (.uuid, .maximum):
            return try extreme(position, isMinimum: aggregate == .minimum)
        case (.decimal128, _):
            var sum = Decimal128.zero, count: Int64 = 0
            try forEachValue(position) { (value) throws(StoreError) in
                if value.isNull { return }
                sum = sum + value.asDecimal
                count += 1
            }
            if aggregate == .sum { return .decimal128(sum) }
            return count == 0 ? .null : .decimal128(sum / ExactNumber.decimal(count))
        default:
            throw named(.wrongType, "is \(cls.columns[position].kind.indefinite): there is no \(aggregate) of it")
        }
    }

    /// Whose values they are.
    private enum Matching {
        case all
        case scan(LeafScan)
        /// In any order, some of them more than once.
        case list(KeyBuffer)
    }

    private func matching() throws(StoreError) -> Matching {
        if query.origin.collection != nil { return .list(try keys()) }
        if !query.steps.isEmpty {
            return .scan(try LeafScan(try trees.objects(cls), [.keys(try keys().ascending())], depth: 1))
        }
        if query.predicate.isTrue { return .all }
        if let few = try fewKeys() { return .scan(try LeafScan(try trees.objects(cls), [.keys(few)], depth: 1)) }
        return .scan(try scan())
    }

    /// Calls `body` with what a column of numbers has for each object, null aside, as `LeafScan.forEachNumber`.
    @inline(__always)
    private func forEachNumber(_ list: KeyBuffer, _ column: Int, _ body: (Int64) -> Void) throws(StoreError) {
        let reader = try trees.objects(cls)
        let blocks = try RowBlocks(reader, list, isAscending: false), numbers = try NumberColumn(reader, column)
        while try blocks.advance() {
            try numbers.read(blocks)
            for index in 0..<blocks.count where !numbers.isNull(index) { body(numbers.values[index]) }
        }
    }

    private func integers(_ column: Int, extremes: Bool) throws(StoreError) -> IntegerSummary {
        var summary = IntegerSummary()
        switch try matching() {
        case .all: return try trees.objects(cls).sharedIntegers(column, extremes: extremes)
        case .scan(let scan): return try scan.integers(column)
        case .list(let list): try forEachNumber(list, column) { summary.add($0) }
        }
        return summary
    }

    private func doubles(_ column: Int, extremes: Bool) throws(StoreError) -> DoubleSummary {
        var summary = DoubleSummary()
        func value(_ bits: Int64) -> Double { Double(bitPattern: UInt64(bitPattern: bits)) }
        switch try matching() {
        case .all:
            let reader = try trees.objects(cls)
            return extremes
                ? try reader.sharedExtremes(column, ofFloats: false) : try reader.doubles(column, extremes: false)
        case .scan(let scan): return try scan.doubles(column, extremes: extremes, value)
        case .list(let list): try forEachNumber(list, column) { summary.add(value($0)) }
        }
        return summary
    }

    private func floats(_ column: Int, extremes: Bool) throws(StoreError) -> DoubleSummary {
        var summary = DoubleSummary()
        func value(_ bits: Int64) -> Double { Double(Float(bitPattern: UInt32(truncatingIfNeeded: bits))) }
        switch try matching() {
        case .all:
            let reader = try trees.objects(cls)
            return extremes ? try reader.sharedExtremes(column, ofFloats: true) : try reader.floats(column)
        case .scan(let scan): return try scan.doubles(column, extremes: extremes, value)
        case .list(let list): try forEachNumber(list, column) { summary.add(value($0)) }
        }
        return summary
    }

    private func isThere(_ value: Value, _ column: Int) throws(StoreError) -> Bool {
        var isThere = false
        switch try matching() {
        case .all: return try trees.objects(cls).scan(column, .equal, value).first() != nil
        case .scan(let scan): try scan.forEachNumber(column) { if $0 == value.low { isThere = true } }
        case .list(let list): try forEachNumber(list, column) { if $0 == value.low { isThere = true } }
        }
        return isThere
    }

    /// The least or greatest value of two words, NaN aside.
    private func extreme(_ column: Int, isMinimum: Bool) throws(StoreError) -> Value {
        let comparison: Comparison = isMinimum ? .less : .greater
        var best = Value.null
        try forEachValue(column) { (value) throws(StoreError) in
            if value.isNull || value.isNaN { return }
            if best.isNull || LeafMatcher.evaluate(comparison, value, best) { best = value }
        }
        return best
    }

    /// Calls `body` with the value of each object that the query finds.
    private func forEachValue(_ column: Int, _ body: (Value) throws(StoreError) -> Void) throws(StoreError) {
        let reader = try trees.objects(cls)
        func visit(_ keys: KeyBuffer) throws(StoreError) {
            var finder = RowFinder(reader)
            for index in 0..<keys.count {
                if let row = try finder.find(keys.keys[index]) { try body(try reader.value(row, column)) }
            }
        }
        switch try matching() {
        case .list(let list): try visit(list)
        case .scan(let scan):
            let keys = KeyBuffer()
            try scan.collect(into: keys)
            try visit(keys)
        case .all:
            var next = try reader.seek(0)
            while let row = next {
                try body(try reader.value(row, column))
                next = try reader.next(row)
            }
        }
    }
}

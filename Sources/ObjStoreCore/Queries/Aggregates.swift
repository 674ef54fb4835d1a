/// What is taken of the values of a property.
package enum AggregateKind: Int32, Sendable {
    case sum = 1
    case minimum = 2
    case maximum = 3
    case average = 4
}

extension TreeAccess {
    /// Over all objects of a class, or those that satisfy a condition; nulls are skipped. Of nothing the sum is 0, the
    /// others are null.
    ///
    /// Cost: a scan of the column; with a condition, that of finding the objects and reading one value of each.
    func aggregate(
        _ cls: ClassSchema, _ propertyID: UInt32, _ aggregate: AggregateKind, where condition: Condition?
    ) throws(StoreError) -> Value {
        let position = try cls.position(propertyID)
        let reader = try objects(cls)
        let among = try condition.map { (condition) throws(StoreError) in
            try keys(cls, where: OwnedCondition(condition, isInside: try isInside(cls, condition)))
        }
        func named(_ code: StatusCode, _ what: String) -> StoreError {
            cls.named(StoreError(code, "\(cls.name).\(cls.properties[position].name) \(what)"), position)
        }
        switch (cls.columns[position].kind, aggregate) {
        case (.int, .sum):
            let sum = try reader.integers(position, among, extremes: false).sum
            guard let exact = Int64(exactly: sum) else {
                throw named(.outOfRange, "adds up to \(sum), which does not fit in 64 bits")
            }
            return .int(exact)
        case (.int, _):
            let summary = try reader.integers(position, among, extremes: aggregate != .average)
            if aggregate == .average { return summary.average.map { .double($0) } ?? .null }
            return summary.count == 0 ? .null : .int(aggregate == .minimum ? summary.minimum : summary.maximum)
        case (.double, .minimum), (.double, .maximum):
            let summary = try reader.doubles(position, among, extremes: true)
            if summary.count == 0 { return .null }
            let value = aggregate == .minimum ? summary.minimum : summary.maximum
            // Infinity of nothing but NaN is no value of the column.
            if value.isInfinite, !(try reader.contains(value, position, among)) { return .null }
            return .double(value)
        case (.double, _):
            let summary = try reader.doubles(position, among, extremes: false)
            if aggregate == .sum { return .double(summary.sum) }
            return summary.average.map { .double($0) } ?? .null
        case (.float, .minimum), (.float, .maximum):
            let summary = try reader.floats(position, among)
            if summary.count == 0 { return .null }
            let value = Float(aggregate == .minimum ? summary.minimum : summary.maximum)
            if value.isInfinite, !(try reader.contains(value, position, among)) { return .null }
            return .float(value)
        case (.float, _):
            let summary = try reader.floats(position, among)
            if aggregate == .sum { return .double(summary.sum) }
            return summary.average.map { .double($0) } ?? .null
        case (.timestamp, .minimum), (.timestamp, .maximum), (.decimal128, .minimum), (.decimal128, .maximum),
            (.objectID, .minimum),
            (.objectID, .maximum), (.uuid, .minimum), (.uuid, .maximum):
            return try reader.extreme(position, isMinimum: aggregate == .minimum, among)
        case (.decimal128, _):
            throw named(
                .notSupported,
                "is a decimal128: this version has only the minimum and the maximum of it, not the \(aggregate)")
        default:
            throw named(.wrongType, "is \(cls.columns[position].kind.indefinite): there is no \(aggregate) of it")
        }
    }
}

extension ClusterReader {
    /// Calls `body` with the rows of objects that exist; ascending keys visit each leaf once.
    fileprivate func forEach(_ keys: KeyBuffer, _ body: (RowPosition) throws(StoreError) -> Void) throws(StoreError) {
        for index in 0..<keys.count {
            guard let row = try find(keys.keys[index]) else { continue }
            try body(row)
        }
    }

    /// Of the objects `keys`, or of all.
    fileprivate func integers(_ column: Int, _ keys: KeyBuffer?, extremes: Bool) throws(StoreError) -> IntegerSummary {
        guard let keys else { return try integers(column, extremes: extremes) }
        var summary = IntegerSummary()
        try forEach(keys) { (row) throws(StoreError) in
            guard let value = try int(row, column) else { return }
            summary.count += 1
            summary.sum += Int128(value)
            summary.minimum = Swift.min(summary.minimum, value)
            summary.maximum = Swift.max(summary.maximum, value)
        }
        return summary
    }

    fileprivate func doubles(_ column: Int, _ keys: KeyBuffer?, extremes: Bool) throws(StoreError) -> DoubleSummary {
        guard let keys else { return try doubles(column, extremes: extremes) }
        var summary = DoubleSummary()
        try forEach(keys) { (row) throws(StoreError) in
            guard let bits = try int(row, column) else { return }
            let value = Double(bitPattern: UInt64(bitPattern: bits))
            summary.count += 1
            summary.sum += value
            if value < summary.minimum { summary.minimum = value }
            if value > summary.maximum { summary.maximum = value }
        }
        return summary
    }

    fileprivate func floats(_ column: Int, _ keys: KeyBuffer?) throws(StoreError) -> DoubleSummary {
        guard let keys else { return try floats(column) }
        var summary = DoubleSummary()
        try forEach(keys) { (row) throws(StoreError) in
            if let bits = try int(row, column) {
                summary.add(Double(Float(bitPattern: UInt32(truncatingIfNeeded: bits))))
            }
        }
        return summary
    }

    fileprivate func contains(_ value: Float, _ column: Int, _ keys: KeyBuffer?) throws(StoreError) -> Bool {
        guard let keys else { return try first(column, .equal, .float(value)) != nil }
        var isThere = false
        try forEach(keys) { (row) throws(StoreError) in
            if try int(row, column) == Int64(value.bitPattern) { isThere = true }
        }
        return isThere
    }

    fileprivate func contains(_ value: Double, _ column: Int, _ keys: KeyBuffer?) throws(StoreError) -> Bool {
        guard let keys else { return try first(column, .equal, .double(value)) != nil }
        var isThere = false
        try forEach(keys) { (row) throws(StoreError) in
            if try int(row, column) == Int64(bitPattern: value.bitPattern) { isThere = true }
        }
        return isThere
    }

    /// The least or greatest value of two words, NaN aside.
    fileprivate func extreme(_ column: Int, isMinimum: Bool, _ keys: KeyBuffer?) throws(StoreError) -> Value {
        let comparison: Comparison = isMinimum ? .less : .greater
        var best = Value.null
        func look(_ row: RowPosition) throws(StoreError) {
            let value = try value(row, column)
            if value.isNull || value.isNaN { return }
            if best.isNull || LeafMatcher.evaluate(comparison, value, best) { best = value }
        }
        if let keys {
            try forEach(keys, look)
        } else {
            var next = try seek(0)
            while let row = next {
                try look(row)
                next = try self.next(row)
            }
        }
        return best
    }
}

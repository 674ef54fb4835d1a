extension IndexReader {
    /// The entries of an index of one mixed property that a comparison selects: at most two ranges, in order.
    ///
    /// Null equals only null and NaN nothing; the ordering operators compare within a family. `body` gets them, since
    /// bounds point to the bytes of keys.
    func withMixedMatches<T>(
        _ comparison: Comparison, _ value: Value, _ body: (IndexMatches) throws(StoreError) -> T
    ) throws(StoreError) -> T {
        let key = IndexKey(), end = IndexKey()
        defer { withExtendedLifetime((key, end)) {} }
        func found(_ first: IndexRange? = nil, _ second: IndexRange? = nil) -> IndexMatches {
            IndexMatches(index: self, first: first, second: second)
        }
        if value.isNaN {
            return try body(comparison == .notEqual ? found(IndexRange(lower: .start, upper: nil)) : found())
        }
        try key.append(mixed: value)
        let before = try IndexBound.before(key.value, kind: .binary),
            after = try IndexBound.after(key.value, kind: .binary)
        switch comparison {
        case .equal: return try body(found(IndexRange(lower: before, upper: after)))
        case .notEqual:
            return try body(found(IndexRange(lower: .start, upper: before), IndexRange(lower: after, upper: nil)))
        case .less, .lessOrEqual:
            if value.isNull { return try body(found()) }
            try end.append(familyOf: value)
            return try body(
                found(
                    IndexRange(
                        lower: try .before(end.value, kind: .binary), upper: comparison == .less ? before : after)))
        case .greater, .greaterOrEqual:
            if value.isNull { return try body(found()) }
            try end.append(endOfFamilyOf: value)
            return try body(
                found(
                    IndexRange(
                        lower: comparison == .greater ? after : before, upper: try .before(end.value, kind: .binary))))
        }
    }
}

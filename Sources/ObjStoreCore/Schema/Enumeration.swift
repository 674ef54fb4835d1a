/// The values that a property may have, or the elements or keys of a collection: some ints or strings, or the ints of a
/// range.
package struct Enumeration: Sendable {
    /// As they were declared.
    package let first: OwnedValue
    private let ascending: [OwnedValue]
    /// Nil: it is those values.
    private let range: ClosedRange<Int64>?
    private let text: String

    /// - Parameter values: all ints or all strings; not none.
    init?(_ values: [Value]) throws(StoreError) {
        guard let first = values.first, values.allSatisfy({ $0.kind == first.kind }) else { return nil }
        self.first = try OwnedValue(copying: first)
        range = nil
        ascending = try values.map { (value) throws(StoreError) in try OwnedValue(copying: value) }.sorted {
            CollectionOrder.compare($0.value, $1.value) < 0
        }
        let shown = values.prefix(Enumeration.shown).map(\.text).joined(separator: ", ")
        text = values.count <= Enumeration.shown ? shown : "\(shown), … (\(values.count))"
    }

    /// Ints of a range that has zero.
    init(_ range: ClosedRange<Int64>) {
        first = OwnedValue(.int(0))
        ascending = []
        self.range = range
        text = "\(range.lowerBound) to \(range.upperBound)"
    }

    private static let shown = 8

    var kind: ValueKind { first.value.kind }

    func has(_ value: Value) -> Bool {
        if let range { return value.kind == .int && range.contains(value.low) }
        var low = 0, high = ascending.count
        while low < high {
            let middle = (low + high) / 2, order = CollectionOrder.compare(ascending[middle].value, value)
            if order == 0 { return true }
            if order < 0 { low = middle + 1 } else { high = middle }
        }
        return false
    }

    func refuse(_ value: Value, _ what: String) -> StoreError {
        StoreError(
            .outOfRange,
            """
            \(what)\(value.text) is \(range == nil ? "none of the values of its enumeration" : "beyond its bounds"): \
            \(text)
            """
        )
    }
}

/// The enumerations of a property: of its value or its elements, and of the keys of a map.
package struct PropertyEnumerations: Sendable {
    var values: Enumeration?
    var keys: Enumeration?
}

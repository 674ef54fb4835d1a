/// The values by which an object is sorted, and of each eight bytes in the order of the key.
package struct SortValues {
    package let values: [OwnedValue]
    /// One of two that differ stands first; where two are equal, the values may differ unless `isExact`.
    package let prefixes: [UInt64]
    package let isExact: [Bool]

    package init(_ values: [OwnedValue], by keys: [SortKeyOrder]) {
        self.values = values
        var prefixes: [UInt64] = [], isExact: [Bool] = []
        for (value, key) in zip(values, keys) {
            let prefix = key.prefix(value.value)
            prefixes.append(key.isDescending ? ~prefix : prefix)
            // Null has 0, and everything of which nothing is known 1.
            isExact.append(key.isOfNumbers && prefix != 1)
        }
        (self.prefixes, self.isExact) = (prefixes, isExact)
    }
}

/// What of a sort key decides how eight bytes of its values stand to each other.
package struct SortKeyOrder {
    package let isDescending: Bool
    /// All its values are null, or numbers of one kind.
    let isOfNumbers: Bool
    /// Or texts, compared by their bytes.
    private let isOfTexts: Bool

    package init(isDescending: Bool, kind: ValueKind, isFolded: Bool) {
        self.isDescending = isDescending
        switch kind {
        case .bool, .int, .float, .double: isOfNumbers = true
        default: isOfNumbers = false
        }
        isOfTexts = kind.isText && !isFolded
    }

    fileprivate func prefix(_ value: Value) -> UInt64 {
        if isOfNumbers { return SortColumn.prefix(ofNumber: value) }
        return isOfTexts && !value.isNull ? SortColumn.bytes(value, from: 0) : isOfTexts ? 0 : 1
    }
}

/// The values of the first keys of the chunks of an order, as they were looked up. Their prefixes lie side by side:
/// most comparisons look at nothing else.
struct OrderHeads {
    private var known: [SortValues?]
    private var isKnown: [Bool]
    /// Of each chunk as many as there are values.
    private var prefixes: [UInt64] = []
    private var levels = 0

    init(count: Int) {
        known = Array(repeating: nil, count: count)
        isKnown = Array(repeating: false, count: count)
    }

    /// Whether a head stands before some values, by the first `levels` of them; nil: by its prefixes that is not known.
    func isBefore(_ chunk: Int, _ probe: SortValues, _ levels: Int) -> Bool? {
        for level in 0..<levels {
            let own = prefixes[chunk * self.levels + level], other = probe.prefixes[level]
            if own != other { return own < other }
            if !probe.isExact[level] { return nil }
        }
        return nil
    }

    /// Looks its values up, if nobody has.
    mutating func learn(_ chunk: Int, _ values: () throws(StoreError) -> SortValues) throws(StoreError) {
        if isKnown[chunk] { return }
        let values = try values()
        if prefixes.isEmpty {
            levels = values.prefixes.count
            prefixes = Array(repeating: 0, count: levels * known.count)
        }
        for level in 0..<levels { prefixes[chunk * levels + level] = values.prefixes[level] }
        (known[chunk], isKnown[chunk]) = (values, true)
    }

    subscript(chunk: Int) -> SortValues? { known[chunk] }

    /// Another key is the first now.
    mutating func forget(_ chunk: Int) { if isKnown[chunk] { (known[chunk], isKnown[chunk]) = (nil, false) } }

    mutating func insert(at chunk: Int) {
        known.insert(nil, at: chunk)
        isKnown.insert(false, at: chunk)
        if !prefixes.isEmpty { prefixes.insert(contentsOf: repeatElement(0, count: levels), at: chunk * levels) }
    }

    mutating func remove(_ chunk: Int) {
        known.remove(at: chunk)
        isKnown.remove(at: chunk)
        if !prefixes.isEmpty { prefixes.removeSubrange(chunk * levels..<(chunk + 1) * levels) }
    }
}

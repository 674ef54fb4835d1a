/// A part of an index in which all objects lie that a condition can be true of: those that have certain values in its
/// first properties, and in the next one a value between bounds, or a text with a certain beginning.
///
/// ```
/// city == "Bern" AND zip > 3000        (city, zip)     "Bern" · 3000 … "Bern" · end
/// name BEGINSWITH "Re"                 name            "Re" … "Rf"
/// ```
struct IndexPart {
    /// In the class.
    let position: Int
    /// Of the first properties, in their order.
    var equal: [ColumnTest] = []
    /// Of the property behind those.
    var low: ColumnTest?, high: ColumnTest?, beginning: ValueTest?

    /// There is nothing in it that a condition of these alone is not true of.
    var isExact: Bool { low == nil && high == nil }
    var conjuncts: Int { equal.count + (low == nil ? 0 : 1) + (high == nil ? 0 : 1) + (beginning == nil ? 0 : 1) }
}

extension ValueTest {
    /// The bytes that the text of a property has to begin with; nil: it asks for something else.
    var beginning: UnsafeRawBufferPointer? {
        guard case .pattern(let pattern, .string) = relation, pattern.operation == .beginsWith,
            case .plain = pattern.form, left.steps.count == 1, case .property = left.steps[0], left.kind == .string,
            pattern.bytes.count > 0, pattern.bytes.count <= IndexKey.longest / 4
        else { return nil }
        return pattern.bytes
    }
}

extension QueryRun {
    /// The parts of indexes that conjuncts of the condition select: each as narrow as they make it.
    func parts(_ tests: [ColumnTest], _ beginnings: [ValueTest]) throws(StoreError) -> [IndexPart] {
        var parts: [IndexPart] = []
        for test in beginnings {
            let property = try cls.position(test.properties[0])
            guard cls.columns[property].kind == .string, let index = cls.indexPosition(of: property) else { continue }
            parts.append(IndexPart(position: index, beginning: test))
        }
        guard cls.hasEncodedIndexes else { return parts }
        var usable: [ColumnTest] = []
        for test in tests where try isOrdered(test) { usable.append(test) }
        for (position, index) in cls.indexes.enumerated() where index.isCompound {
            var part = IndexPart(position: position), place = 0
            while place < index.properties.count {
                let id = cls.propertyID(index.properties[place])
                guard let test = usable.first(where: { $0.propertyID == id && $0.comparison == .equal }) else { break }
                part.equal.append(test)
                place += 1
            }
            if place < index.properties.count {
                let id = cls.propertyID(index.properties[place])
                let next = usable.filter { $0.propertyID == id && !$0.value.isNull }
                part.low = next.first { $0.comparison == .greater || $0.comparison == .greaterOrEqual }
                part.high = next.first { $0.comparison == .less || $0.comparison == .lessOrEqual }
                if part.low == nil, part.high == nil {
                    part.beginning = beginnings.first {
                        $0.properties == [id] && cls.columns[index.properties[place]].kind == .string
                    }
                }
            }
            if part.conjuncts > 0 { parts.append(part) }
        }
        return parts
    }

    /// Whether a comparison is one of a value as a compound index has it.
    func isOrdered(_ test: ColumnTest) throws(StoreError) -> Bool {
        guard !test.hasTargets, !test.isInside, !test.value.isNaN, test.value.count <= IndexKey.longest / 4 else {
            return false
        }
        let kind = cls.columns[try cls.position(test.propertyID)].kind
        return kind != .mixed && !kind.isCollection && (test.value.isNull || test.value.kind == kind)
    }

    /// Bounds point to bytes that are valid inside `body` only.
    func within<T>(
        _ part: IndexPart, _ body: (IndexReader, IndexRange) throws(StoreError) -> T
    ) throws(StoreError) -> T {
        let index = cls.indexes[part.position], from = IndexKey(), to = IndexKey()
        guard index.isEncoded else {
            // Of one property, whose values are its keys: texts.
            let beginning = (part.beginning?.beginning).unsafelyUnwrapped
            try from.append(bytes: beginning)
            try to.append(bytes: beginning)
            to.becomeEnd()
            let lower = try IndexBound.before(from.text, kind: index.kind)
            let upper = try IndexBound.before(to.text, kind: index.kind)
            return try trees.withIndex(cls, at: part.position, asksLong: beginning.count > IndexLimits.head) {
                (reader) throws(StoreError) in
                try body(reader, IndexRange(lower: lower, upper: upper))
            }
        }
        for test in part.equal {
            try from.append(test.value)
            try to.append(test.value)
        }
        if let beginning = part.beginning?.beginning {
            try from.append(beginning: beginning)
            try to.append(beginning: beginning)
        }
        if let low = part.low { try from.append(low.value) }
        if let high = part.high { try to.append(high.value) }
        if part.low?.comparison == .greater { from.becomeEnd() }
        if part.high?.comparison != .less { to.becomeEnd() }
        return try trees.within(cls, at: part.position, from: from, to: to, body)
    }
}

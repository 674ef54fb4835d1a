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
    init?(_ values: [Value]) {
        guard let first = values.first, values.allSatisfy({ $0.kind == first.kind }) else { return nil }
        self.first = OwnedValue(first)
        range = nil
        ascending = values.map { OwnedValue($0) }.sorted { CollectionOrder.compare($0.value, $1.value) < 0 }
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

/// The enumerations of a program, by class and property.
///
/// ```
///  the program          State = open, done          what it writes is one of them, or null where that may be
///  the file             a string                    what other programs wrote stays what it is
/// ```
/// Each handle of a store has its own; nothing of them is in the file.
package struct Enumerations: Sendable {
    /// By the names that the file has.
    private var classes: [String: [String: PropertyEnumerations]] = [:]

    init() {}

    /// - Parameter draft: with the names that the file has (`SchemaDraft.stored`).
    init(_ draft: SchemaDraft) {
        for cls in draft.classes where !cls.enumerations.isEmpty { classes[cls.name] = cls.enumerations }
    }

    var isEmpty: Bool { classes.isEmpty }

    /// By position.
    fileprivate func of(_ cls: ClassSchema) -> [PropertyEnumerations?]? {
        guard let found = classes[cls.name] else { return nil }
        return cls.properties.map { found[$0.name] }
    }
}

/// Whether what a view writes is of the enumerations of its program. Serialised by the view's user.
final class EnumerationCheck {
    private let all: Enumerations
    /// By class index; a schema that changed is another object.
    private var known: [UInt32: (cls: ClassSchema, properties: [PropertyEnumerations?]?)] = [:]
    /// The one that was asked for last.
    private var last: (cls: ClassSchema, properties: [PropertyEnumerations?]?)?

    init(_ all: Enumerations) { self.all = all }

    func find(_ position: Int, _ cls: ClassSchema) -> PropertyEnumerations? {
        if let last, last.cls === cls { return last.properties?[position] }
        var found = known[cls.id]
        if found?.cls !== cls {
            found = (cls, all.of(cls))
            known[cls.id] = found
        }
        last = found
        return found?.properties?[position]
    }

    /// A value, or an element; `.outOfRange`.
    func check(_ value: Value, _ position: Int, _ cls: ClassSchema) throws(StoreError) {
        guard !value.isNull, let enumeration = find(position, cls)?.values, !enumeration.has(value) else { return }
        throw cls.naming(enumeration.refuse(value, ""), position)
    }

    func check(key: Value, _ position: Int, _ cls: ClassSchema) throws(StoreError) {
        guard let enumeration = find(position, cls)?.keys, !enumeration.has(key) else { return }
        throw cls.naming(enumeration.refuse(key, "the key "), position)
    }

    /// Whether something may be added to it: the sum could be anything.
    func checkAddition(_ position: Int, _ cls: ClassSchema) throws(StoreError) {
        if find(position, cls)?.values == nil { return }
        throw cls.naming(
            StoreError(
                .wrongType, "nothing can be added to it: its values are those of an enumeration, or have bounds"),
            position)
    }
}

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
    /// The one that was looked up last.
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

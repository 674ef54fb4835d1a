/// Whether a property may have a value: its type, null, UTF-8, size.
package enum ValueCheck {
    @inline(__always)
    package static func check(_ value: Value, for property: Int, of cls: ClassSchema, limit: Int) throws(StoreError) {
        let column = cls.columns[property]
        if _fastPath(value.kind == column.kind) {
            if try checkContent(value, property, cls, limit) { return }
        }
        try refuse(value, property, cls)
    }

    /// False: no value of that kind can be handed in.
    @inline(__always) @discardableResult
    private static func checkContent(
        _ value: Value, _ property: Int, _ cls: ClassSchema, _ limit: Int
    ) throws(StoreError) -> Bool {
        switch value.kind {
        // What a link leads to is checked where the transaction is known: `View.checkLink`.
        case .bool, .int, .double, .float, .decimal128, .objectID, .uuid, .link: return true
        // A cell, which was made here; `checkStored` looks at those of files.
        case .mixed: return true
        case .string:
            if value.count > limit { throw tooLarge(value, property, cls, limit) }
            if !UTF8Check.isValid(value.pointer, value.count) {
                throw named(
                    StoreError(.invalidUTF8, "\(path(cls, property)): the text is not valid UTF-8"), cls, property)
            }
            return true
        case .binary:
            if value.count > limit { throw tooLarge(value, property, cls, limit) }
            return true
        case .timestamp:
            if value.high < 0 || value.high > 999_999_999 {
                throw named(
                    StoreError(
                        .outOfRange, "\(path(cls, property)): nanoseconds are 0 to 999999999, not \(value.high)"), cls,
                    property)
            }
            return true
        default: return false
        }
    }

    /// The same for a value that a file has.
    package static func checkStored(_ value: Value, for property: Int, of cls: ClassSchema) throws(StoreError) {
        try check(value, for: property, of: cls, limit: Value.maximumBytes)
        if value.kind == .link, !isKey(value.low) {
            throw named(
                StoreError(
                    .outOfRange, "\(path(cls, property)): a link to an object \(value.low), which is no object's key"),
                cls, property)
        }
        if value.kind == .mixed { try checkCell(value, property, cls) }
    }

    private static func checkCell(_ cell: Value, _ property: Int, _ cls: ClassSchema) throws(StoreError) {
        do throws(StoreError) {
            try MixedCell.check(cell)
            try checkLinks(cell)
        } catch { throw cls.naming(StoreError(.outOfRange, error.message), property) }
    }

    /// Links inside a stored mixed value.
    static func checkLinks(_ cell: Value) throws(StoreError) {
        try MixedLinks.forEach(cell) { (link) throws(StoreError) in
            guard link.givenObject.storeTag == 0 else {
                throw StoreError(.outOfRange, "a link that names a store, as only links on their way in do")
            }
            guard isKey(link.low) else {
                throw StoreError(.outOfRange, "a link to an object \(link.low), which is no object's key")
            }
            return true
        }
    }

    private static func isKey(_ key: Int64) -> Bool { key >= 0 && key < LeafHead.maximumKey }

    static let noDocument = "a list or map cannot be an element of a set"

    /// Whether a value may be an element of a collection, or its key.
    static func check(
        _ value: Value, as kind: ValueKind, isNullable: Bool, _ what: String, _ property: Int, _ cls: ClassSchema,
        limit: Int
    ) throws(StoreError) {
        if value.isNull {
            if isNullable { return }
            throw named(StoreError(.notNullable, "\(path(cls, property)): \(what) cannot be null"), cls, property)
        }
        guard value.kind == kind else {
            throw named(
                StoreError(.wrongType, "\(path(cls, property)): \(what) is of type \(kind), not \(value.kindAndText)"),
                cls, property)
        }
        do throws(StoreError) { try checkContent(value, property, cls, limit) } catch {
            throw named(StoreError(error.code, "\(error.message) (\(what))"), cls, property)
        }
    }

    /// Whether key (of a map) and value may be an element of a stored collection, and, of sets and maps, whether it
    /// comes after `last`.
    static func check(
        key: Value, value: Value, elementOf property: Int, _ cls: ClassSchema, after last: OwnedValue?,
        longestKey: Int = .max
    ) throws(StoreError) {
        let elements = cls.elements(of: property), isMap = cls.columns[property].kind == .map
        try check(value, as: elements.kind, isNullable: elements.isNullable, "an element", property, cls, limit: .max)
        if value.kind == .link, value.high != 0 || !isKey(value.low) {
            throw CollectionReader.damaged("a link that is no object's key")
        }
        if value.kind == .mixed {
            try checkCell(value, property, cls)
            if cls.columns[property].kind == .set, try MixedNode(value.pointer, value.count).value().kind == .document {
                throw named(StoreError(.wrongType, "\(path(cls, property)): \(ValueCheck.noDocument)"), cls, property)
            }
        }
        if isMap { try check(key, as: elements.keyKind, isNullable: false, "a key", property, cls, limit: longestKey) }
        if let last, CollectionOrder.compare(last.value, isMap ? key : value) >= 0 {
            throw CollectionReader.damaged("\((isMap ? key : value).text) stands behind \(last.value.text)")
        }
    }

    @inline(never)
    private static func refuse(_ value: Value, _ property: Int, _ cls: ClassSchema) throws(StoreError) {
        let column = cls.columns[property]
        if value.isNull, !column.kind.isCollection {
            if column.nullable { return }
            throw named(StoreError(.notNullable, "\(path(cls, property)) cannot be null"), cls, property)
        }
        if column.kind.isCollection {
            throw named(
                StoreError(
                    .wrongType,
                    """
                    \(path(cls, property)) is \(column.kind.indefinite): its elements are changed, it is not given a \
                    value
                    """
                ), cls, property)
        }
        throw named(
            StoreError(.wrongType, "\(path(cls, property)) is of type \(column.kind), not \(value.kindAndText)"), cls,
            property)
    }

    private static func tooLarge(_ value: Value, _ property: Int, _ cls: ClassSchema, _ limit: Int) -> StoreError {
        named(
            StoreError(
                .valueTooLarge, "\(path(cls, property)): \(value.count) bytes are more than the limit of \(limit)"),
            cls, property)
    }

    private static func path(_ cls: ClassSchema, _ property: Int) -> String {
        cls.name + "." + cls.properties[property].name
    }

    private static func named(_ error: StoreError, _ cls: ClassSchema, _ property: Int) -> StoreError {
        error.at(class: cls.name, property: cls.properties[property].name)
    }
}

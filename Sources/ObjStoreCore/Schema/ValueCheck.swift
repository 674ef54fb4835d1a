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
        // What a link leads to is checked where the transaction is known: `ObjectWriter.checkLink`.
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

    static func path(_ cls: ClassSchema, _ property: Int) -> String {
        cls.name + "." + cls.properties[property].name
    }

    static func named(_ error: StoreError, _ cls: ClassSchema, _ property: Int) -> StoreError {
        error.at(class: cls.name, property: cls.properties[property].name)
    }
}

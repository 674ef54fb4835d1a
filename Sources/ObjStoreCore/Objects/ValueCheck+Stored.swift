/// Whether a file may have what was read from it: values of properties, elements of collections.
extension ValueCheck {
    /// A value of a property.
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
}

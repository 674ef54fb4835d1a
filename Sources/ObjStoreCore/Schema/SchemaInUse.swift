/// What a program uses of a file's schema: the classes that it opened the store with, as the file had them then.
///
/// ```
///  process A  opens with version 1 ─────── begin ── begin ─────────── begin: .schemaMismatch
///  process B            opens with version 2 ┘        │                  │
///                       (a property more)             │                  │
///  process C                      opens with version 3 ┘ (one of A's is gone)
/// ```
/// Another process may give the file a higher version meanwhile. While all of this is there as it was, the program
/// continues: it does not know what was added. Where it is not, no call of it could be trusted to do what it did, and a
/// transaction is not begun.
struct SchemaInUse {
    private let schema: Schema
    /// Their indexes there.
    private let classes: [Int]
    /// The newest version of the file that has all of it.
    private var checkedVersion: UInt64

    /// - Parameter names: of the program's classes, as the file calls them.
    init(_ schema: Schema, names: [String]) {
        self.schema = schema
        classes = names.compactMap { schema.classIndex(named: $0) }
        checkedVersion = schema.version
    }

    /// `.schemaMismatch`: the file has another version now, and something is gone, or is not what it was. What is there
    /// changes with the version only, so this costs one comparison.
    mutating func check(_ now: Schema) throws(StoreError) {
        if _fastPath(now.version == checkedVersion) { return }
        for index in classes { try SchemaInUse.check(schema.classes[index], in: schema, now) }
        checkedVersion = now.version
    }

    private static func check(_ cls: ClassSchema, in before: Schema, _ schema: Schema) throws(StoreError) {
        func mismatch(_ what: String, _ property: String? = nil) -> StoreError {
            let name = property.map { "\(cls.name).\($0)" } ?? "class \(cls.name)"
            return StoreError(
                .schemaMismatch,
                """
                \(name) \(what): the store was opened with schema version \(schema.version) meanwhile, and this \
                program uses version \(before.version)
                """
            ).at(class: cls.name, property: property)
        }
        let now = schema.classes[Int(cls.id)]
        if now.isDropped { throw mismatch("was dropped") }
        if now.isEmbedded != cls.isEmbedded {
            throw mismatch(now.isEmbedded ? "became embedded" : "is not embedded any more")
        }
        for property in cls.properties {
            guard let there = now.properties.first(where: { $0.columnID == property.columnID }) else {
                throw mismatch("was dropped", property.name)
            }
            if let what = difference(property, there) { throw mismatch(what, property.name) }
        }
        func key(_ cls: ClassSchema) -> UInt32? { cls.keyIndex.map { cls.indexes[$0].id } }
        if key(cls) != key(now) { throw mismatch("has another primary key") }
        // Plain ones are looked up by id, and unique ones are relied on.
        if let lost = cls.indexes.first(where: { index in !now.indexes.contains { $0.id == index.id } }) {
            throw mismatch("has no index any more", lost.isCompound ? "(\(cls.names(of: lost)))" : cls.names(of: lost))
        }
    }

    /// What is not as it was. A column keeps its kind, elements and target permanently: of another kind is another
    /// property.
    private static func difference(_ before: PropertySchema, _ now: PropertySchema) -> String? {
        if before.name != now.name { return "is called \(now.name) now" }
        if before.isNullable != now.isNullable {
            return now.isNullable ? "may be null now" : "must not be null any more"
        }
        if before.isUnique && !now.isUnique && !now.isPrimaryKey { return "is not unique any more" }
        if before.isGenerated && !now.isGenerated { return "is not generated any more" }
        if before.isCounter && !now.isCounter { return "is no counter any more" }
        if before.isFullText && !now.isFullText { return "is not full text any more" }
        return nil
    }
}

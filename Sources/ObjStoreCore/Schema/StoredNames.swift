/// A program's names of classes and properties that have other names in the file.
///
/// ```
///  the program          the file, and programs that map nothing
///  Person.firstName ──► people.first_name
/// ```
/// Both names are accepted as arguments. Results have the program's: classes, properties, JSON. Each
/// handle of a store has its own; nothing of them is in the file, and errors speak of what the file has. Names of
/// inverses are a program's, too: `dogs` of a person, for queries.
package struct StoredNames: Sendable {
    private struct ClassNames {
        var name: String
        /// The program's and the file's, in both directions.
        var stored: [String: String], told: [String: String]
    }
    /// By the program's name of a class.
    private var classes: [String: String] = [:]
    /// By the file's name of a class: only those with a name that differs.
    private var byStoredName: [String: ClassNames] = [:]

    mutating func add(_ name: String, as storedName: String, _ properties: [String: String]) {
        classes[name] = storedName
        let told = Dictionary(uniqueKeysWithValues: properties.map { ($1, $0) })
        byStoredName[storedName] = ClassNames(name: name, stored: properties, told: told)
    }

    /// By the file's name of a class, of each inverse that has a name there: the link, as the program calls it.
    private var inverses: [String: [String: InverseName]] = [:]

    struct InverseName: Sendable {
        let cls: String
        let property: String
    }

    mutating func addInverse(_ name: String, of storedName: String, _ origin: InverseName) {
        inverses[storedName, default: [:]][name] = origin
    }

    var hasInverses: Bool { !inverses.isEmpty }
    /// Of some class.
    func hasInverse(named name: String) -> Bool { inverses.values.contains { $0[name] != nil } }
    func inverseNames(_ cls: ClassSchema) -> [String] { inverses[cls.name]?.keys.sorted() ?? [] }
    /// What an inverse of a class is the inverse of.
    func inverse(_ name: String, _ cls: ClassSchema) -> InverseName? { inverses[cls.name]?[name] }

    func classIndex(_ name: String, _ schema: Schema) -> Int? { schema.classIndex(named: classes[name] ?? name) }

    func propertyIndex(_ name: String, _ cls: ClassSchema) -> Int? {
        if byStoredName.isEmpty { return cls.propertyIndex(named: name) }
        return cls.propertyIndex(named: byStoredName[cls.name]?.stored[name] ?? name)
    }

    /// The program's name of a class.
    func name(_ cls: ClassSchema) -> String { byStoredName[cls.name]?.name ?? cls.name }

    /// The program's name of a property.
    func name(_ cls: ClassSchema, _ position: Int) -> String {
        let name = cls.properties[position].name
        if byStoredName.isEmpty { return name }
        return byStoredName[cls.name]?.told[name] ?? name
    }
}

extension SchemaDraft {
    /// What classes and properties are called in the file, of those that are called otherwise here. Errors: those of
    /// `stored`.
    func storedNames() throws(StoreError) -> StoredNames {
        _ = try stored()
        var names = StoredNames()
        for cls in classes where cls.storedName != nil || !cls.storedNames.isEmpty {
            names.add(cls.name, as: cls.storedName ?? cls.name, cls.storedNames)
        }
        for cls in classes {
            for (name, origin) in cls.inverses {
                try check(origin, isInverseOf: cls, name)
                names.addInverse(name, of: cls.storedName ?? cls.name, origin)
            }
        }
        return names
    }

    /// The same schema with the names that the file has. `.invalidSchema`: two would be called the same, or a name here
    /// is another one's there.
    func stored() throws(StoreError) -> SchemaDraft {
        guard classes.contains(where: { $0.storedName != nil || !$0.storedNames.isEmpty }) else { return self }
        var names: [String: String] = [:]
        for cls in classes { names[cls.name] = cls.storedName ?? cls.name }
        var all: [String: String] = [:]
        for (name, stored) in names.sorted(by: { $0.key < $1.key }) {
            if let other = all.updateValue(name, forKey: stored) {
                throw StoreError(.invalidSchema, "the classes \(other) and \(name) are both stored as \(stored)").at(
                    class: name)
            }
            if stored != name, names[stored] != nil {
                throw StoreError(
                    .invalidSchema, "class \(name) is stored as \(stored), which is the name of another class"
                ).at(class: name)
            }
        }
        return try withNames(names)
    }
}

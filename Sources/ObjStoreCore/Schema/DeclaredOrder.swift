/// The order in which a program declares the properties of its classes: that of values which are given without names,
/// and of JSON.
///
/// ```
///  the program declares     id, name, age          [7, "Jane", 31] is id, name, age
///  the file has             id, age, name          since name was added later, or another program made the class
/// ```
/// Each handle of a store has its own; nothing of it is in the file. What a program does not declare comes last, as it
/// is in the file.
package struct DeclaredOrder: Sendable {
    /// Names of properties, by the class; all as the file has them.
    private var names: [String: [String]] = [:]

    init() {}

    /// - Parameter draft: with the names that the file has (`SchemaDraft.stored`).
    init(_ draft: SchemaDraft) {
        for cls in draft.classes { names[cls.name] = cls.properties.map(\.name) }
    }

    /// The positions of the properties of a class, in this order; nil: it is the file's.
    func positions(_ cls: ClassSchema) -> [Int]? {
        guard let declared = names[cls.name] else { return nil }
        var isSame = declared.count <= cls.properties.count, index = 0
        while isSame, index < declared.count {
            isSame = declared[index] == cls.properties[index].name
            index += 1
        }
        if isSame { return nil }
        var positions = declared.compactMap { cls.propertyIndex(named: $0) }
        let known = Set(positions)
        positions += cls.properties.indices.filter { !known.contains($0) }
        return positions
    }
}

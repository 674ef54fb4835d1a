/// Merging with the schema of a file.
extension SchemaDraft {
    /// What the file's schema becomes when the application opens it with this one; nil: it stays as it is.
    ///
    /// `.schemaMismatch` names class and property.
    package func merged(into file: Schema, version: UInt64) throws(StoreError) -> Schema? {
        try merged(into: file, version: version, migrates: false)
    }

    /// - Parameter migrates: a migration can put right what would be lost otherwise: kinds and primary keys may change.
    /// - Parameter writes: false: nothing will be created, so that it does not matter what a key that is left out would
    ///   be.
    func merged(into file: Schema, version: UInt64, migrates: Bool, writes: Bool = true) throws(StoreError) -> Schema? {
        try stored().merged(intoFile: file, version: version, migrates: migrates, writes: writes)
    }

    private func merged(
        intoFile file: Schema, version: UInt64, migrates: Bool, writes: Bool
    ) throws(StoreError) -> Schema? {
        guard version >= file.version else {
            func shown(_ version: UInt64) -> UInt64 { max(version, 1) - 1 + firstVersion }
            throw StoreError(
                .schemaMismatch,
                "the file has schema version \(shown(file.version)), the program asks for \(shown(version))")
        }
        var result = file.classes
        var changed = false
        let indexes = try classIndexes(in: file)
        for name in dropped {
            guard let index = file.classIndex(named: name) else { continue }
            guard version > file.version else {
                throw StoreError(
                    .schemaMismatch,
                    "class \(name) is to be dropped, and the schema version is not higher than the file's"
                ).at(class: name)
            }
            result[index] = ClassSchema(name: "", id: UInt32(index), properties: [], nextColumnID: 0, isDropped: true)
            changed = true
        }
        for cls in classes {
            guard let index = file.classIndex(named: cls.name) else {
                let properties = cls.properties.enumerated().map { number, property in
                    var property = property
                    property.columnID = UInt32(number)
                    property.target = cls.targets[property.name].map { indexes[$0]! }
                    return property
                }
                let compounds = cls.indexes.enumerated().map { number, index in
                    IndexSchema(
                        id: IndexSchema.firstCompoundID + UInt32(number),
                        properties: index.names.map { cls.propertyIndex(named: $0)! },
                        isUnique: index.isUnique, isPrimaryKey: index.isPrimaryKey)
                }
                result.append(
                    ClassSchema(
                        name: cls.name, id: UInt32(result.count), properties: properties,
                        nextColumnID: UInt32(properties.count), compounds: compounds,
                        nextIndexID: IndexSchema.firstCompoundID + UInt32(compounds.count), isEmbedded: cls.isEmbedded))
                changed = true
                continue
            }
            if let merged = try merge(
                cls, file.classes[index], indexes, file, mayChange: version > file.version, migrates: migrates,
                writes: writes)
            {
                result[index] = merged
                changed = true
            }
        }
        guard changed || version > file.version else { return nil }
        try SchemaDraft.checkTargets(result, file)
        return Schema(classes: result, version: version)
    }

    /// Classes that the program does not know can have links to those that become something else.
    private static func checkTargets(_ classes: [ClassSchema], _ file: Schema) throws(StoreError) {
        for cls in classes {
            for property in cls.properties {
                guard let target = property.target else { continue }
                func mismatch(_ what: String) -> StoreError {
                    StoreError(.schemaMismatch, "\(cls.name).\(property.name) \(what)").at(
                        class: cls.name, property: property.name)
                }
                if classes[target].isDropped {
                    throw mismatch("leads to class \(file.classes[target].name), which is to be dropped")
                }
                if classes[target].isEmbedded, property.kind == .set {
                    throw mismatch(
                        "is a set of \(classes[target].name), which is to be embedded: a list or a map can be")
                }
            }
        }
    }

    /// Where the draft's classes are once the file has them, and that every link leads to one of them.
    private func classIndexes(in file: Schema) throws(StoreError) -> [String: Int] {
        var indexes: [String: Int] = [:], next = file.classes.count
        for cls in classes {
            if let index = file.classIndex(named: cls.name) {
                indexes[cls.name] = index
            } else {
                indexes[cls.name] = next
                next += 1
            }
        }
        for cls in classes {
            for property in cls.properties {
                guard let target = cls.targets[property.name] else { continue }
                func invalid(_ what: String) -> StoreError {
                    StoreError(.invalidSchema, "\(cls.name).\(property.name) \(what)").at(
                        class: cls.name, property: property.name)
                }
                guard indexes[target] != nil else {
                    throw invalid("leads to class \(target), which the schema does not have")
                }
                let isEmbedded =
                    classes.first { $0.name == target }?.isEmbedded
                    ?? file.classIndex(named: target).map { file.classes[$0].isEmbedded }
                if isEmbedded == true, property.kind == .set {
                    throw invalid("is a set of \(target), an embedded class: a list or a map can be")
                }
            }
        }
        return indexes
    }

    private func merge(
        _ cls: Class, _ old: ClassSchema, _ indexes: [String: Int], _ file: Schema, mayChange: Bool, migrates: Bool,
        writes: Bool
    ) throws(StoreError) -> ClassSchema? {
        func mismatch(_ property: String, _ what: String) -> StoreError {
            StoreError(.schemaMismatch, "\(cls.name).\(property): \(what)").at(class: cls.name, property: property)
        }
        guard cls.isEmbedded == old.isEmbedded || mayChange else {
            let what =
                """
                class \(cls.name) is \(old.isEmbedded ? "" : "not ")embedded in the file, unlike in the program, and \
                the schema version is not higher than the file's
                """
            throw StoreError(.schemaMismatch, what).at(class: cls.name)
        }
        var places = try places(of: cls, in: old)
        if mayChange, migrates {
            // What is of another kind is another property: the old one goes, a new one comes.
            for (position, place) in places.enumerated() {
                guard let place, kindMismatch(cls, cls.properties[position], old.properties[place], file) != nil else {
                    continue
                }
                places[position] = nil
            }
        }
        // Where properties of the file are when what is gone has been dropped.
        var stays: [Int?] = Array(repeating: nil, count: old.properties.count)
        for case let place? in places { stays[place] = place }
        var properties: [PropertySchema] = []
        for (place, property) in old.properties.enumerated() {
            if stays[place] != nil {
                stays[place] = properties.count
                properties.append(property)
            } else if !mayChange {
                throw mismatch(
                    property.name,
                    """
                    the file has this property, the program's schema has not, and its version is not higher than the \
                    file's
                    """
                )
            }
        }
        var next = old.nextColumnID
        var lines = properties.reduce(0) { $0 + ($1.kind.isPair ? 2 : 1) }
        var changed = properties.count < old.properties.count || cls.isEmbedded != old.isEmbedded
        for (position, property) in cls.properties.enumerated() {
            guard let place = places[position], let index = stays[place] else {
                guard mayChange else {
                    throw mismatch(
                        property.name,
                        "the file lacks this property, and the schema version is not higher than the file's")
                }
                guard !property.isPrimaryKey || migrates else {
                    throw mismatch(
                        property.name,
                        "a primary key can be added to a class that exists by a migration only, which gives it values")
                }
                guard next < UInt32(SchemaDraft.maximumProperties) else {
                    throw mismatch(property.name, "the class has had too many properties")
                }
                var added = property
                // What is not given in objects that are there already: nothing that the enumeration does not have.
                if added.defaultValue == nil, !added.isNullable, !added.kind.isCollection,
                    let first = cls.enumerations[added.name]?.values?.first
                {
                    added.fill = first
                }
                added.columnID = next
                added.target = cls.targets[property.name].map { indexes[$0]! }
                next += 1
                properties.append(added)
                lines += property.kind.isPair ? 2 : 1
                guard lines <= SchemaDraft.maximumProperties else {
                    throw mismatch(property.name, "the class would have too many properties")
                }
                changed = true
                continue
            }
            let there = old.properties[place]
            if there.name != property.name {
                guard mayChange else {
                    throw mismatch(
                        property.name,
                        "the file calls it \(there.name), and the schema version is not higher than the file's")
                }
                properties[index].name = property.name
                changed = true
            }
            if let problem = kindMismatch(cls, property, there, file) {
                throw mismatch(property.name, mayChange ? "\(problem); a migration could convert it" : problem)
            }
            if there.isNullable != property.isNullable {
                guard mayChange else {
                    throw mismatch(
                        property.name,
                        """
                        it \(there.isNullable ? "may be null" : "cannot be null") in the file, unlike in the program, \
                        and the schema version is not higher than the file's
                        """
                    )
                }
                properties[index].isNullable = property.isNullable
                changed = true
            }
            if there.isPrimaryKey != property.isPrimaryKey {
                guard mayChange, migrates else {
                    throw mismatch(
                        property.name,
                        """
                        it is \(there.isPrimaryKey ? "" : "not ")the primary key in the file, unlike in the \
                        program\(mayChange ? "; a migration could change that" : "")
                        """
                    )
                }
                properties[index].isPrimaryKey = property.isPrimaryKey
                changed = true
            }
            if there.isCascading != property.isCascading || there.isGenerated != property.isGenerated
                || there.isCounter != property.isCounter || there.isFullText != property.isFullText
            {
                let what =
                    there.isCascading != property.isCascading
                    ? "it \(there.isCascading ? "cascades" : "does not cascade")"
                    : there.isCounter != property.isCounter
                        ? "it is \(there.isCounter ? "a" : "no") counter"
                        : there.isFullText != property.isFullText
                            ? "it is \(there.isFullText ? "" : "not ")full text"
                            : "it is \(there.isGenerated ? "" : "not ")generated"
                guard mayChange else {
                    throw mismatch(
                        property.name,
                        """
                        \(what) in the file, unlike in the program, and the schema version is not higher than the \
                        file's
                        """
                    )
                }
                properties[index].isCascading = property.isCascading
                properties[index].isGenerated = property.isGenerated
                properties[index].isCounter = property.isCounter
                properties[index].isFullText = property.isFullText
                changed = true
            }
            if there.isIndexed != property.isIndexed || there.isUnique != property.isUnique {
                guard mayChange else {
                    let what =
                        there.isUnique != property.isUnique
                        ? "it is \(there.isUnique ? "" : "not ")unique"
                        : "it has \(there.isIndexed ? "an" : "no") index"
                    throw mismatch(
                        property.name,
                        """
                        \(what) in the file, unlike in the program, and the schema version is not higher than the \
                        file's
                        """
                    )
                }
                properties[index].isIndexed = property.isIndexed
                properties[index].isUnique = property.isUnique
                changed = true
            }
            if !SchemaDraft.sameDefault(there.defaultValue, property.defaultValue) {
                if property.isPrimaryKey, !mayChange, property.defaultValue == nil || there.defaultValue == nil {
                    // Not every language has defaults of keys in the schema: a program without one takes what the file
                    // has, and the first with one gives it to the file.
                    if property.defaultValue == nil || !writes { continue }
                } else if !mayChange {
                    throw mismatch(
                        property.name,
                        "it has another default in the file, and the schema version is not higher than the file's")
                }
                properties[index].defaultValue = property.defaultValue
                changed = true
            }
        }
        var nextIndex = old.nextIndexID
        let (compounds, isOther) = try merge(cls, old, properties, &nextIndex, mayChange: mayChange, migrates: migrates)
        return changed || isOther
            ? ClassSchema(
                name: old.name, id: old.id, properties: properties, nextColumnID: next, compounds: compounds,
                nextIndexID: nextIndex, isEmbedded: cls.isEmbedded)
            : nil
    }

    /// How a property of the file differs from that of the program in what its values are; nil: not at all.
    private func kindMismatch(
        _ cls: Class, _ property: PropertySchema, _ there: PropertySchema, _ file: Schema
    ) -> String? {
        if there.kind != property.kind {
            return "it is of kind \(there.kind) in the file, \(property.kind) in the program"
        }
        if there.elements != property.elements {
            return "its elements, or its keys, are of another kind in the file than in the program"
        }
        if let target = there.target, let wanted = cls.targets[property.name], file.classes[target].name != wanted {
            return "it leads to class \(file.classes[target].name) in the file, to \(wanted) in the program"
        }
        return nil
    }

    /// For each property of the program's class its position in the file's, by its name or by one that it had before.
    private func places(of cls: Class, in old: ClassSchema) throws(StoreError) -> [Int?] {
        var places: [Int?] = []
        for property in cls.properties {
            let names = [property.name] + (cls.formerNames[property.name] ?? [])
            let found = names.compactMap { old.propertyIndex(named: $0) }
            if found.count > 1 {
                let both = found.map { old.properties[$0].name }.joined(separator: " and ")
                throw StoreError(
                    .schemaMismatch, "\(cls.name).\(property.name): the file has \(both), which are to be one property"
                )
                .at(class: cls.name, property: property.name)
            }
            places.append(found.first)
        }
        return places
    }

    /// The compound indexes that a class gets: what it has already keeps its id, what becomes or ceases to be unique is
    /// another.
    private func merge(
        _ cls: Class, _ old: ClassSchema, _ properties: [PropertySchema], _ next: inout UInt32, mayChange: Bool,
        migrates: Bool
    ) throws(StoreError) -> (compounds: [IndexSchema], isOther: Bool) {
        let there = old.indexes.filter(\.isCompound)
        var kept: [IndexSchema] = [], added: [IndexSchema] = []
        for index in cls.indexes {
            let positions = index.names.map { name in properties.firstIndex { $0.name == name }! }
            let columns = positions.map { properties[$0].columnID }
            let same = there.first {
                $0.isUnique == index.isUnique && $0.isPrimaryKey == index.isPrimaryKey
                    && $0.properties.map { old.properties[$0].columnID } == columns
            }
            if let same {
                kept.append(
                    IndexSchema(
                        id: same.id, properties: positions, isUnique: same.isUnique, isPrimaryKey: same.isPrimaryKey))
                continue
            }
            let list = index.names.joined(separator: ", ")
            func mismatch(_ what: String) -> StoreError {
                StoreError(.schemaMismatch, "\(cls.name).(\(list)): \(what)").at(class: cls.name, property: list)
            }
            guard mayChange else {
                throw mismatch(
                    """
                    the file has no such \(index.isUnique ? "unique " : "")index, and the schema version is not \
                    higher than the file's
                    """
                )
            }
            guard next < IndexSchema.firstMixedID else { throw mismatch("the class has had too many indexes") }
            if index.isPrimaryKey, !migrates {
                throw mismatch(
                    "it is not the primary key in the file, unlike in the program; a migration could change that")
            }
            added.append(
                IndexSchema(id: next, properties: positions, isUnique: index.isUnique, isPrimaryKey: index.isPrimaryKey)
            )
            next += 1
        }
        if kept.count != there.count, !mayChange {
            let lost = there.first { index in !kept.contains { $0.id == index.id } }!
            throw StoreError(
                .schemaMismatch,
                """
                \(old.name(of: lost)): the file has this index, the program's schema has not, and its version is not \
                higher
                """
            )
            .at(class: cls.name, property: old.names(of: lost))
        }
        if !migrates,
            let lost = there.first(where: { index in index.isPrimaryKey && !kept.contains { $0.id == index.id } })
        {
            throw StoreError(
                .schemaMismatch,
                """
                \(old.name(of: lost)): it is the primary key in the file, unlike in the program; a migration could \
                change that
                """
            )
            .at(class: cls.name, property: old.names(of: lost))
        }
        kept.sort { $0.id < $1.id }
        return (kept + added, !added.isEmpty || kept.count != there.count)
    }

    static func sameDefault(_ a: OwnedValue?, _ b: OwnedValue?) -> Bool {
        switch (a, b) {
        case (nil, nil): true
        case (let a?, let b?): a.value.isSame(as: b.value)
        default: false
        }
    }
}

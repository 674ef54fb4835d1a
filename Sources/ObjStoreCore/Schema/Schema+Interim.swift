/// The schema between those of a file and of a program, while a callback puts right what is there.
extension Schema {
    /// What a migration works with: this schema, as loose as `file` was where both have something. Nil: the same.
    func interim(from file: Schema) -> Schema? {
        var result = classes, differs = false
        for (number, before) in file.classes.enumerated() where before !== classes[number] || before.keyIndex != nil {
            guard let looser = classes[number].looser(like: before) else { continue }
            result[number] = looser
            differs = true
        }
        return differs ? Schema(classes: result, version: version) : nil
    }
}

extension ClassSchema {
    fileprivate func looser(like before: ClassSchema) -> ClassSchema? {
        var differs = false
        let looser = properties.map { property in
            var result = property
            let there = before.properties.first { $0.columnID == property.columnID }
            result.isNullable = property.isNullable || there?.isNullable == true
            result.isPrimaryKey = property.isPrimaryKey && there?.isPrimaryKey == true
            // Ints are generated above those of the key's index.
            result.isGenerated = property.isGenerated && property.kind.canBeGenerated(isPrimaryKey: result.isPrimaryKey)
            result.isUnique = property.isUnique && there?.isUnique == true
            result.isIndexed = property.isIndexed && there.map { $0.isIndexed || $0.isUnique } == true
            // Made unique afterwards, of what it has now.
            if property.isUnique, !result.isUnique, there?.isIndexed == true { result.isIndexed = true }
            if result.isNullable != property.isNullable || result.isPrimaryKey != property.isPrimaryKey
                || result.isUnique != property.isUnique
                || result.isIndexed != property.isIndexed || result.isGenerated != property.isGenerated
            {
                differs = true
            }
            return result
        }
        // Objects that are to be embedded get their parents, or go, in the migration.
        let becomesEmbedded = isEmbedded && !before.isEmbedded
        let compounds = indexes.filter(\.isCompound),
            known = compounds.filter { index in before.indexes.contains { $0.id == index.id } }
        let hasKey = looser.contains(where: \.isPrimaryKey) || known.contains(where: \.isPrimaryKey)
        guard differs || becomesEmbedded || hasKey || known.count < compounds.count else { return nil }
        return ClassSchema(
            name: name, id: id, properties: looser, nextColumnID: nextColumnID,
            compounds: known.map {
                IndexSchema(id: $0.id, properties: $0.properties, isUnique: $0.isUnique, isPrimaryKey: $0.isPrimaryKey)
            },
            nextIndexID: nextIndexID, isEmbedded: isEmbedded && !becomesEmbedded, hasLooseKey: hasKey,
            getsKey: !hasKey && keyIndex != nil, becomesEmbedded: becomesEmbedded)
    }
}

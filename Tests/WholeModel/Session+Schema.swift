import ObjStoreCore

/// The schema of a view, compared with the plan: where classes have no objects only that tells two contents from each
/// other.
extension Session {
    func compareSchema(_ when: String) throws {
        let found = try must("schema") { () throws(StoreError) in try describedSchema() }, wanted = describedPlan()
        if found == wanted { return }
        let first = zip(found, wanted).first { $0 != $1 }
        throw problem(
            """
            schema: \(when), there is \(first?.0 ?? "\(found.count) lines"), should be \
            \(first?.1 ?? "\(wanted.count) lines")
            """
        )
    }

    private struct Line {
        var cls: String, name: String, kind: ValueKind, elements: ValueKind, keys: ValueKind, target: String?
        var isOptional: Bool, flags: SchemaDraft.Flags, standard: Datum

        /// Links and mixed values can always be null.
        var text: String {
            """
            \(cls).\(name): \(kind) of \(elements) by \(keys) to \(target ?? "nothing"), \
            \(isOptional || kind == .link || kind == .mixed || elements == .mixed ? "optional" : "required"), flags \
            \(flags.rawValue), default \(standard)
            """
        }
    }

    /// Those that make no index; indexes have lines of their own.
    private static let plainFlags: SchemaDraft.Flags = [.generated, .counter, .cascade]

    private func describedSchema() throws(StoreError) -> [String] {
        var lines: [String] = []
        for cls in plan.classes {
            let info = try view.classInfo(id(cls.name))
            lines.append("\(info.name)\(info.isEmbedded ? ", embedded" : "")")
            for place in 0..<info.propertyCount {
                let property = try view.propertyInfo(info.classID, at: place)
                lines.append(
                    Line(
                        cls: info.name, name: property.name, kind: property.kind,
                        elements: property.elements?.kind ?? .null, keys: property.elements?.keyKind ?? .null,
                        target: property.target == 0 ? nil : try view.classInfo(property.target).name,
                        isOptional: property.flags.contains(.nullable),
                        flags: property.flags.intersection(Session.plainFlags), standard: Datum(property.defaultValue)
                    ).text)
            }
            var indexes: [String] = []
            for place in 0..<(try view.indexCount(info.classID)) {
                let index = try view.indexInfo(info.classID, at: place)
                var names: [String] = []
                for property in index.properties { names.append(try view.propertyInfo(property).name) }
                indexes.append(Session.index(info.name, names, isUnique: index.isUnique, isKey: index.isPrimaryKey))
            }
            lines += indexes.sorted()
        }
        return lines
    }

    private func describedPlan() -> [String] {
        var lines: [String] = []
        for cls in plan.classes {
            lines.append("\(cls.name)\(cls.isEmbedded ? ", embedded" : "")")
            for property in cls.properties {
                var flags: SchemaDraft.Flags = []
                if property.isGenerated { flags.insert(.generated) }
                if property.isCounter { flags.insert(.counter) }
                if property.cascades { flags.insert(.cascade) }
                lines.append(
                    Line(
                        cls: cls.name, name: property.name, kind: property.kind, elements: property.elements,
                        keys: property.keys, target: property.target,
                        isOptional: property.isOptional, flags: flags, standard: property.standard ?? .null
                    ).text)
            }
            // Each link has one, its inverse.
            let single = cls.properties.filter { $0.isIndexed || $0.isUnique || $0.isKey || $0.kind == .link }.map {
                Session.index(cls.name, [$0.name], isUnique: $0.isUnique || $0.isKey, isKey: $0.isKey)
            }
            let several = cls.compounds.map { compound in
                Session.index(
                    cls.name, compound.properties.map { cls.property($0).name },
                    isUnique: compound.isUnique || compound.isKey, isKey: compound.isKey)
            }
            lines += (single + several).sorted()
        }
        return lines
    }

    private static func index(_ cls: String, _ names: [String], isUnique: Bool, isKey: Bool) -> String {
        "\(cls)(\(names.joined(separator: ", ")))\(isKey ? ", the primary key" : isUnique ? ", unique" : "")"
    }
}

import ObjStoreCore

extension Plan {
    /// The schema as the engine takes it.
    ///
    /// - Parameter dropping: classes that the file is to lose.
    func draft(dropping: [String] = []) throws(StoreError) -> SchemaDraft {
        var draft = SchemaDraft()
        for cls in classes { try draft.addClass(cls.name) }
        for name in dropping { try draft.dropClass(name) }
        for cls in classes {
            if cls.isEmbedded { try draft.setEmbedded(cls.name, true) }
            for property in cls.properties {
                var flags: SchemaDraft.Flags = []
                if property.isOptional { flags.insert(.nullable) }
                if property.isIndexed { flags.insert(.indexed) }
                if property.isUnique { flags.insert(.unique) }
                if property.isKey { flags.insert(.primaryKey) }
                if property.isGenerated { flags.insert(.generated) }
                if property.isCounter { flags.insert(.counter) }
                if property.cascades { flags.insert(.cascade) }
                if property.isCollection {
                    let elements = ElementSchema(
                        kind: property.elements, isNullable: property.isOptional, keyKind: property.keys)
                    try draft.addCollection(
                        cls.name, property.name, property.kind, elements, target: property.target,
                        property.cascades ? .cascade : [])
                } else if property.kind == .link {
                    try draft.addLink(cls.name, property.name, to: property.target!, flags)
                } else {
                    try draft.addProperty(cls.name, property.name, property.kind, flags)
                }
                if let standard = property.standard {
                    let flat = Flat(standard, nil) { _, _ in .none }
                    try flat.use { (values) throws(StoreError) in
                        try draft.setDefault(cls.name, property.name, values[0])
                    }
                }
            }
            for property in cls.properties {
                for name in property.formerNames { try draft.addFormerName(cls.name, property.name, name) }
            }
            for compound in cls.compounds {
                let flags: SchemaDraft.IndexFlags = compound.isKey ? [.primaryKey] : compound.isUnique ? [.unique] : []
                try draft.addIndex(cls.name, compound.properties.map { cls.property($0).name }, flags)
            }
        }
        return draft
    }
}

extension Datum {
    /// What objects that are there get in a new property that can be nothing else.
    static func zero(_ kind: ValueKind) -> Datum {
        switch kind {
        case .bool: .bool(false)
        case .int: .int(0)
        case .float: .float(0)
        case .double: .double(0)
        case .decimal128: .decimal(0)
        case .string: .text("")
        case .binary: .binary([])
        case .timestamp: .timestamp(0, 0)
        case .objectID: .objectID(.min, 0)
        case .uuid: .uuid(.min, .min)
        default: .null
        }
    }
}

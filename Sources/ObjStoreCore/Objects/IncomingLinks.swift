/// What leads to an object, by the indexes and inverses of links.
extension TreeAccess {
    /// The objects that lead to one by a property, until `body` returns false. O(log n), and of each.
    func forEachOwner(
        of key: Int64, by link: IncomingLink, _ body: (Int64) throws(StoreError) -> Bool
    ) throws(StoreError) {
        let origin = schema.classes[link.classIndex]
        if origin.isDropped { return }
        if link.isCollection {
            try inverse(origin, link.property).forEachOwner(of: key, body)
        } else {
            let target = Value(kind: .link, low: key)
            _ = try withIndex(origin, link.property, finding: target) { (index) throws(StoreError) in
                try index.forEach(.equal, target, body)
            }
        }
    }

    /// The object that an embedded one lies in, and in which property; nil only while it is being made, or, in a
    /// migration, where it has none yet. O(log n) for each property that leads to its class.
    func parent(of key: Int64, _ cls: ClassSchema) throws(StoreError) -> (owner: Int64, link: IncomingLink)? {
        if try objects(cls).find(key) == nil { throw cls.noSuchObject(key) }
        guard cls.isEmbedded || cls.becomesEmbedded else {
            throw StoreError(.wrongType, "class \(cls.name) is not embedded: its objects have no parent").at(
                class: cls.name)
        }
        for link in schema.incoming[Int(cls.id)] {
            var owner: Int64?
            try forEachOwner(of: key, by: link) { (key) throws(StoreError) in
                owner = key
                return false
            }
            if let owner { return (owner, link) }
        }
        return nil
    }

    /// The class of a link that leads to the class of an object, which exists.
    func origin(of propertyID: UInt32, to key: Int64, _ target: ClassSchema) throws(StoreError) -> ClassSchema {
        if try objects(target).find(key) == nil { throw target.noSuchObject(key) }
        let schema = schema, (cls, position) = try schema.property(propertyID)
        if cls.mixedPosition(of: position) != nil { return cls }
        guard cls.columns[position].target != 0 else {
            let kind = cls.columns[position].kind,
                elements = kind.isCollection ? " of \(cls.elements(of: position).kind)" : ""
            throw cls.named(
                StoreError(
                    .wrongType,
                    """
                    \(cls.name).\(cls.properties[position].name) is \(kind.indefinite)\(elements), not a link or a \
                    collection of links
                    """
                ), position)
        }
        guard cls.columns[position].target == target.classID else {
            let wanted = schema.classes[ClassID.index(cls.columns[position].target)].name
            throw cls.named(
                StoreError(
                    .wrongType, "\(cls.name).\(cls.properties[position].name) leads to \(wanted), not to \(target.name)"
                ), position)
        }
        return cls
    }
}

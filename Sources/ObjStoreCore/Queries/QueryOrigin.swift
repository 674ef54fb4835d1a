/// Where a query finds the objects that its condition is asked of.
enum QueryOrigin: Sendable {
    /// All of the class, in the order of creation.
    case objects
    /// A part of an index, in its order.
    case stretch(IndexStretch)
    /// What a list, set or map has links to, in its order: an object as often as it is there.
    case collection(CollectionID)

    var isObjects: Bool { if case .objects = self { true } else { false } }
    var stretch: IndexStretch? { if case .stretch(let stretch) = self { stretch } else { nil } }
    var collection: CollectionID? { if case .collection(let collection) = self { collection } else { nil } }

    /// For messages.
    var name: String {
        switch self {
        case .objects: "a class"
        case .stretch: "a part of an index"
        case .collection: "a list, set or map"
        }
    }
}

/// What a query of a collection begins with.
extension TreeAccess {
    /// Calls `body` with the collection; nil: the version does not have its owner.
    private func elements<T>(
        of id: CollectionID, _ body: (CollectionElements) throws(StoreError) -> T
    ) throws(StoreError) -> T? {
        guard ClassID.index(id.owner.classID) < schema.classes.count else { return nil }
        let cls = try schema.cls(id.owner.classID), position = try cls.collection(id.propertyID)
        guard let row = try objects(cls).find(id.owner.key) else { return nil }
        return try body(try elements(row, cls, position, try objects(cls)))
    }

    /// How many objects it has links to.
    func count(in id: CollectionID) throws(StoreError) -> Int {
        try elements(of: id) { (elements) throws(StoreError) in
            // Links of maps may be null.
            if elements.kind != .map { return try elements.count() }
            var count = 0
            try elements.forEach { (_, link) throws(StoreError) in
                if !link.isNull { count += 1 }
                return true
            }
            return count
        } ?? 0
    }

    /// The objects that it has links to, in its order: `limit` of them at most.
    func keys(in id: CollectionID, first limit: Int) throws(StoreError) -> KeyBuffer {
        let found = KeyBuffer()
        if limit == 0 { return found }
        _ = try elements(of: id) { (elements) throws(StoreError) in
            try elements.forEach { (_, link) throws(StoreError) in
                if !link.isNull { try found.append(link.low) }
                return found.count < limit
            }
        }
        return found
    }
}

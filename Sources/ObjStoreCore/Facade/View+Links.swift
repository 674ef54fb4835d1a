/// Links from both ends. The objects that link to one are found by the index that each link property has.
extension View {
    // MARK: Forwards

    /// A link on its way in: an object of this store and of the property's class, that exists in the transaction.
    @inline(never)
    func checkLink(_ value: Value, _ position: Int, _ cls: ClassSchema) throws(StoreError) {
        let object = value.givenObject
        try checkTarget(object, position, cls)
        try checkExists(object.key, position, cls, try linkTargets(position, cls))
    }

    /// What knows whether objects of a link's class exist. Of a transaction, serialised by the caller.
    /// `.embedded` where they have a parent already.
    func linkTargets(_ position: Int, _ cls: ClassSchema) throws(StoreError) -> ClassState {
        let targets = try writing().state(ClassID.index(cls.columns[position].target))
        if targets.schema.isEmbedded { throw givenEmbedded(position, cls, targets.schema) }
        return targets
    }

    @inline(__always)
    func checkExists(_ key: Int64, _ position: Int, _ cls: ClassSchema, _ targets: ClassState) throws(StoreError) {
        if try !targets.contains(key) { throw missingTarget(key, position, cls, targets.schema) }
    }

    @inline(never)
    private func missingTarget(_ key: Int64, _ position: Int, _ cls: ClassSchema, _ target: ClassSchema) -> StoreError {
        cls.named(
            StoreError(
                .noSuchObject,
                """
                \(cls.name).\(cls.properties[position].name): the object \(target.name)#\(key) was deleted or never \
                existed
                """
            ),
            position)
    }

    /// Store and class of what a link is compared with, or shall lead to.
    func checkTarget(_ object: ObjectID, _ position: Int, _ cls: ClassSchema) throws(StoreError) {
        let target = cls.columns[position].target
        if _fastPath(object.storeTag == shared.tag && object.classID == target) { return }
        let path = "\(cls.name).\(cls.properties[position].name)"
        guard object.storeTag == shared.tag else {
            let error = View.wrongStore(object)
            throw cls.named(StoreError(error.code, "\(path): \(error.message)"), position)
        }
        let schema = try schema
        let given = ClassID.index(object.classID)
        let what =
            given >= 0 && given < schema.classes.count
            ? "\(schema.classes[given].name)#\(object.key)"
            : "an object of class id \(object.classID), which no class has"
        let link = cls.columns[position].kind.isCollection ? "has links" : "is a link"
        throw cls.named(
            StoreError(.wrongType, "\(path) \(link) to \(schema.classes[ClassID.index(target)].name), not to \(what)"),
            position)
    }

    // MARK: In mixed values

    /// The links of a value on its way into a mixed property: objects of this store, of any class but embedded ones,
    /// that exist in the transaction. Documents that were read say no store: it is this one.
    @inline(__always)
    func checkMixedLinks(_ value: Value, _ position: Int, _ cls: ClassSchema) throws(StoreError) {
        if value.kind == .link || value.kind == .document || value.kind == .mixed {
            try checkEachMixedLink(value, position, cls)
        }
    }

    @inline(never)
    private func checkEachMixedLink(_ value: Value, _ position: Int, _ cls: ClassSchema) throws(StoreError) {
        var links: [Value] = []
        do throws(StoreError) {
            try MixedLinks.forEach(value) { link in
                links.append(link)
                return true
            }
        } catch {
            throw cls.naming(MixedCell.none(error), position)
        }
        let schema = try schema
        for link in links {
            let object = try mixedObject(link, isInside: value.kind != .link, position, cls)
            let index = ClassID.index(object.classID)
            guard index >= 0, index < schema.classes.count, !schema.classes[index].isDropped else {
                throw cls.naming(schema.noSuchClass(object.classID), position)
            }
            let target = schema.classes[index]
            if target.isEmbedded { throw givenEmbedded(position, cls, target) }
            try checkExists(object.key, position, cls, try writing().state(index))
        }
    }

    /// The store of links that are only compared.
    func checkMixedStore(_ value: Value, _ position: Int, _ cls: ClassSchema) throws(StoreError) {
        guard value.kind == .link || value.kind == .document else { return }
        try MixedLinks.forEach(value) { (link) throws(StoreError) in
            _ = try mixedObject(link, isInside: value.kind == .document, position, cls)
            return true
        }
    }

    private func mixedObject(
        _ link: Value, isInside: Bool, _ position: Int, _ cls: ClassSchema
    ) throws(StoreError) -> ObjectID {
        let object = link.givenObject
        if object.storeTag == shared.tag || isInside && object.storeTag == 0 { return object }
        throw cls.naming(View.wrongStore(object), position)
    }

    // MARK: Backwards

    /// The objects whose property `propertyID` links to `object`, in the order of creation.
    package func incoming(_ object: ObjectID, _ propertyID: UInt32) throws(StoreError) -> Results {
        let (cls, _) = try serialised { () throws(StoreError) in try origin(object, propertyID) }
        return try find(cls.classID, where: Condition(propertyID, .equal, .link(object), isInside: true))
    }

    /// How many objects link to `object` by that property, an owner of a collection once. O(log n).
    package func incomingCount(_ object: ObjectID, _ propertyID: UInt32) throws(StoreError) -> Int {
        try serialised { () throws(StoreError) in
            let (cls, _) = try origin(object, propertyID)
            return try countUnlocked(cls.classID, Condition(propertyID, .equal, .link(object), isInside: true))
        }
    }

    /// The owners of collections that have a link to an object. Serialised by the caller.
    func owners(_ cls: ClassSchema, _ position: Int, ofLinksTo target: Int64) throws(StoreError) -> KeyBuffer {
        try trees.inverse(cls, position).owners(of: target)
    }

    /// The class and the position of a link that leads to the class of `object`, which exists.
    private func origin(
        _ object: ObjectID, _ propertyID: UInt32
    ) throws(StoreError) -> (cls: ClassSchema, position: Int) {
        let schema = try schema
        let target = try classOf(object, schema)
        if try reader(target).find(object.key) == nil { throw target.noSuchObject(object.key) }
        let index = PropertyID.classIndex(propertyID)
        guard index >= 0, index < schema.classes.count else {
            throw StoreError(.noSuchProperty, "no property has the id \(propertyID)")
        }
        let cls = schema.classes[index], position = try cls.position(propertyID)
        if cls.mixedPosition(of: position) != nil { return (cls, position) }
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
        guard cls.columns[position].target == object.classID else {
            let wanted = schema.classes[ClassID.index(cls.columns[position].target)].name
            throw cls.named(
                StoreError(
                    .wrongType, "\(cls.name).\(cls.properties[position].name) leads to \(wanted), not to \(target.name)"
                ), position)
        }
        return (cls, position)
    }
}

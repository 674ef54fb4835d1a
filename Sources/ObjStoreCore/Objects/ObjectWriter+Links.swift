/// Links on their way in: objects of this store and of the property's class, that exist in the transaction.
extension ObjectWriter {
    /// A link on its way in: an object of this store and of the property's class, that exists in the transaction.
    @inline(never)
    func checkLink(_ value: Value, _ position: Int, _ cls: ClassSchema) throws(StoreError) {
        let object = value.givenObject
        try checkTarget(object, position, cls)
        try checkExists(object.key, position, cls, try linkTargets(position, cls))
    }

    /// Store and class of what a link shall lead to.
    @inline(__always)
    func checkTarget(_ object: ObjectID, _ position: Int, _ cls: ClassSchema) throws(StoreError) {
        if _fastPath(object.storeTag == storeTag && object.classID == cls.columns[position].target) { return }
        throw schema.noTarget(object, position, cls, storeTag)
    }

    /// What knows whether objects of a link's class exist.
    /// `.embedded` where they have a parent already.
    func linkTargets(_ position: Int, _ cls: ClassSchema) throws(StoreError) -> ClassState {
        let targets = try transaction.state(ClassID.index(cls.columns[position].target))
        if targets.schema.isEmbedded { throw cls.givenEmbedded(position, targets.schema) }
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
        let schema = schema
        for link in links {
            let object = try cls.mixedObject(link, isInside: value.kind != .link, position, storeTag)
            let index = ClassID.index(object.classID)
            guard index >= 0, index < schema.classes.count, !schema.classes[index].isDropped else {
                throw cls.naming(schema.noSuchClass(object.classID), position)
            }
            let target = schema.classes[index]
            if target.isEmbedded { throw cls.givenEmbedded(position, target) }
            try checkExists(object.key, position, cls, try transaction.state(index))
        }
    }
}

/// Which objects links may name: those of this store, of the class that the property says. Whether they exist is known
/// where a transaction is (`ObjectWriter.checkLink`).
extension TreeAccess {
    /// Store and class of what a link is compared with, or shall lead to.
    @inline(__always)
    func checkTarget(_ object: ObjectID, _ position: Int, _ cls: ClassSchema) throws(StoreError) {
        if _fastPath(object.storeTag == storeTag && object.classID == cls.columns[position].target) { return }
        throw schema.noTarget(object, position, cls, storeTag)
    }

    /// The store of links in a mixed value that are only compared.
    func checkMixedStore(_ value: Value, _ position: Int, _ cls: ClassSchema) throws(StoreError) {
        guard value.kind == .link || value.kind == .document else { return }
        try MixedLinks.forEach(value) { (link) throws(StoreError) in
            _ = try cls.mixedObject(link, isInside: value.kind == .document, position, storeTag)
            return true
        }
    }
}

extension Schema {
    /// The error of an object that a link cannot lead to.
    @inline(never)
    func noTarget(_ object: ObjectID, _ position: Int, _ cls: ClassSchema, _ storeTag: UInt32) -> StoreError {
        let path = "\(cls.name).\(cls.properties[position].name)"
        guard object.storeTag == storeTag else {
            let error = object.wrongStore
            return cls.named(StoreError(error.code, "\(path): \(error.message)"), position)
        }
        let given = ClassID.index(object.classID)
        let what =
            given >= 0 && given < classes.count
            ? "\(classes[given].name)#\(object.key)"
            : "an object of class id \(object.classID), which no class has"
        let link = cls.columns[position].kind.isCollection ? "has links" : "is a link"
        return cls.named(
            StoreError(
                .wrongType,
                "\(path) \(link) to \(classes[ClassID.index(cls.columns[position].target)].name), not to \(what)"),
            position)
    }
}

extension ClassSchema {
    /// The object of a link in a mixed value. Documents that were read say no store: it is this one.
    func mixedObject(
        _ link: Value, isInside: Bool, _ position: Int, _ storeTag: UInt32
    ) throws(StoreError) -> ObjectID {
        let object = link.givenObject
        if object.storeTag == storeTag || isInside && object.storeTag == 0 { return object }
        throw naming(object.wrongStore, position)
    }
}

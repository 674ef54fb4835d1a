/// Finding the object that has a primary key.
extension TreeAccess {
    /// `.invalidArgument`: the key is of several properties; `.wrongType`.
    func find(_ cls: ClassSchema, primaryKey key: Value) throws(StoreError) -> Int64? {
        guard let primary = cls.primaryKey else {
            guard let index = cls.keyIndex else { throw cls.noPrimaryKey }
            let name = cls.name(of: cls.indexes[index])
            throw StoreError(
                .invalidArgument, "the primary key \(name) is of several properties: one value finds nothing"
            ).at(class: cls.name)
        }
        guard key.kind == cls.columns[primary].kind || key.isNull && cls.columns[primary].nullable else {
            throw cls.named(
                StoreError(
                    .wrongType,
                    """
                    the primary key \(cls.name).\(cls.properties[primary].name) is \
                    \(cls.columns[primary].kind.indefinite), not \(key.kind) (\(key.text))
                    """
                ),
                primary)
        }
        try ValueCheck.check(key, for: primary, of: cls, limit: Int.max)
        switch self {
        case .transaction(let transaction): return try transaction.state(Int(cls.id)).find(primaryKey: key)
        case .version:
            return try withIndex(cls, primary, finding: key) { (index) throws(StoreError) in try index.find(key) }
                ?? nil
        }
    }

    /// The object that has a key of a unique index, as the index has it.
    func find(_ cls: ClassSchema, at position: Int, key: Value) throws(StoreError) -> Int64? {
        switch self {
        case .transaction(let transaction):
            // Its writer looks keys up without bringing what waits into the tree.
            return try transaction.state(Int(cls.id)).indexes[position].find(key)
        case .version:
            return try withIndex(cls, at: position, asksLong: key.count > IndexLimits.head) {
                (index) throws(StoreError) in try index.find(key)
            }
        }
    }
}

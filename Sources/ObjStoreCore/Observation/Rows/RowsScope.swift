/// What an observer asks for whose answer is no objects.
enum RowsScope: Sendable {
    case table(TableQuery)
    /// Of a list, set or map of plain values.
    case values(ValueQuery)

    /// What the answer depends on; of values what conditions and orders of elements read besides the elements.
    var reads: QueryReads {
        switch self {
        case .table(let query): QueryReads(query)
        case .values(let query): QueryReads(query)
        }
    }

    /// Whose values they are.
    var owner: ObjectID? { if case .values(let query) = self { query.collection.owner } else { nil } }

    /// Whether a schema has all that is shown, with the kind that it had.
    func isAskable(in schema: Schema) -> Bool {
        switch self {
        case .table: return schema.hasAll(of: reads)
        case .values(let query):
            let index = ClassID.index(query.collection.owner.classID)
            if index >= schema.classes.count { return true }
            return !schema.classes[index].isDropped
                && (try? schema.classes[index].collectionOfValues(query.collection.propertyID)) != nil
        }
    }

    /// As masks have them: a bit for each column; nil: one for each property of the class.
    var columnWords: Int? { if case .table(let query) = self { (query.columns.count + 63) / 64 } else { nil } }

    var callsFunctions: Bool {
        switch self {
        case .table(let query): query.callsFunctions
        case .values(let query): query.callsFunctions
        }
    }

    /// Values behind paths are asked for, or of other objects.
    var looksFurther: Bool {
        switch self {
        case .table(let query): query.values.contains { $0.path != nil }
        case .values(let query): !query.reads.classes.isEmpty || query.reads.leadsAnywhere
        }
    }
}

extension RowsScope {
    /// Nil: it is compared with nothing.
    var questionHash: Int? {
        if callsFunctions { return nil }
        switch self {
        case .table(let query): return (try? query.text())?.hashValue
        case .values(let query): return ObjectIdentifier(query).hashValue
        }
    }

    func asksTheSame(as other: RowsScope) -> Bool {
        switch (self, other) {
        case (.table(let mine), .table(let others)):
            if mine === others { return true }
            guard mine.objects.classID == others.objects.classID, let text = try? mine.text() else { return false }
            return text == (try? others.text())
        case (.values(let mine), .values(let others)): return mine === others
        default: return false
        }
    }
}

extension TableQuery {
    /// What its rows show of their objects, as the paths of an observer. Nil: they are groups, or call functions, or
    /// lead to objects of whatever class.
    func shownPaths(in schema: Schema) -> ObservedPath? { grouping == nil ? readPaths(in: schema) : nil }

    /// What its groups are made of, the same way.
    func groupedPaths(in schema: Schema) -> ObservedPath? { grouping == nil ? nil : readPaths(in: schema) }

    private func readPaths(in schema: Schema) -> ObservedPath? {
        if grouping != nil && callsFunctions { return nil }
        var paths = QueryPaths(of: ClassID.index(objects.classID), schema)
        for value in values {
            guard value.calls.isEmpty else { return nil }
            if let path = value.path {
                if !QueryPaths.canFollow(path) { return nil }
                if InjectedBug.active(.columnUnfollowed) { continue }
                paths.add(path)
            } else {
                paths.add(value.properties)
            }
        }
        return paths.tree
    }
}

extension ValueQuery {
    var reads: QueryReads { QueryReads(self) }
}

extension ObserverScope {
    /// How it is with the object whose values are observed.
    func hasOwner(in snapshot: Snapshot) throws(StoreError) -> Bool { try has(rows?.owner, in: snapshot) }

    /// The same with the one whose objects they are, if it is of a collection.
    func hasCollection(in snapshot: Snapshot) throws(StoreError) -> Bool {
        guard let collection = query.origin.collection else { return true }
        return try has(collection.owner, in: snapshot)
    }

    private func has(_ owner: ObjectID?, in snapshot: Snapshot) throws(StoreError) -> Bool {
        guard let owner, let cls = try? snapshot.schema.cls(owner.classID) else { return false }
        return try snapshot.trees.objects(cls).find(owner.key) != nil
    }

    /// Whether his values may have been written, or what is asked of them reads something else that was.
    func mayDiffer(_ values: ValueQuery, after reader: ChangeReader) throws(StoreError) -> Bool {
        if try reader.from.schemaRef() != reader.to.schemaRef() || reads.concern(reader.classes, reader.to.schema) {
            return true
        }
        let owner = values.collection.owner, index = ClassID.index(owner.classID)
        guard let changes = reader.classes[UInt32(index)] else { return false }
        if changes.deleted.hasAscending(owner.key) { return true }
        guard let row = changes.rowOfModification(owner.key) else { return false }
        guard let place = try? reader.to.schema.classes[index].position(values.collection.propertyID) else {
            return true
        }
        return changes.hasWritten([place], in: row)
    }
}

/// What is asked of single objects, in one version.
final class RowValues {
    private let readers: [ObjectReader]
    private var finder: RowFinder

    convenience init(_ query: TableQuery, _ snapshot: Snapshot) throws(StoreError) {
        try self.init(query.values, query.objects.classID, snapshot)
    }

    init(_ values: [ObjectValue], _ classID: UInt32, _ snapshot: Snapshot) throws(StoreError) {
        let trees = TreeAccess.version(snapshot), cls = try snapshot.schema.cls(classID)
        var numbers: [NumberColumn] = [], readers: [ObjectReader] = []
        for value in values { readers.append(try ObjectReader(value, trees, cls, &numbers)) }
        self.readers = readers
        finder = RowFinder(try trees.objects(cls))
    }

    /// Of an object that is there. Bytes lie in the version.
    func values(of key: Int64) throws(StoreError) -> [Value] { try values(try finder.row(key)) }

    /// Nil: the version does not have it.
    func valuesIfThere(of key: Int64) throws(StoreError) -> [Value]? {
        guard let row = try finder.find(key) else { return nil }
        return try values(row)
    }

    func values(_ row: RowPosition) throws(StoreError) -> [Value] {
        try readers.map { (reader) throws(StoreError) in try reader.value(row) }
    }

    /// In which columns values differ; all, where there are none of one side.
    static func mask(_ before: [Value]?, _ after: [Value]?, _ words: Int) -> [UInt64] {
        guard let before, let after else { return [UInt64](repeating: .max, count: words) }
        var mask = [UInt64](repeating: 0, count: words)
        for column in before.indices where !before[column].isSame(as: after[column]) {
            mask[column >> 6] |= 1 << UInt64(column & 63)
        }
        return mask
    }
}

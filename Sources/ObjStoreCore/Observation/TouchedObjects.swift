/// Which objects' answers to a condition may have changed because of what their links lead to.
///
/// ```
///  owner.city.rank < 10     City#4.rank written ──owners──► Person#7, Person#9 ──owners──► Dog#3, Dog#8, …
/// ```
/// Through the inverses of the version after the changes: an object that linked elsewhere before was written itself.
/// Conditions about collections, inverses, aggregates and subqueries are followed as paths of an observer are.
struct TouchedObjects {
    private let reader: ChangeReader
    private let schema: Schema

    /// So many are worth looking at one by one.
    static let most = 4096

    init(_ reader: ChangeReader) {
        self.reader = reader
        schema = reader.to.schema
    }

    /// Whether all that a condition asks of other objects lies behind links that can be followed backwards.
    ///
    /// - Parameter evenCalling: also where functions are called with it.
    static func suffice(for query: Query, evenCalling: Bool = false) -> Bool {
        query.predicate.nodes.allSatisfy { node in
            switch node {
            case .paths(let test): evenCalling ? !test.leadsFar : QueryPaths.canFollow(test)
            case .test(let test):
                test.targets.map { targets in
                    targets.origin.isObjects && targets.steps.isEmpty
                        && suffice(for: targets, evenCalling: evenCalling)
                } ?? true
            case .truth, .values, .not, .and, .or: true
            }
        }
    }

    /// Ascending; nil: more than are worth it. Those that were changed themselves may be among them.
    func keys(of query: Query) throws(StoreError) -> [Int64]? {
        if !query.predicate.hasTargets && !query.predicate.hasPaths { return [] }
        return try touched(query)?.sorted()
    }

    private func touched(_ query: Query) throws(StoreError) -> Set<Int64>? {
        var found: Set<Int64> = []
        for node in query.predicate.nodes {
            if case .paths(let test) = node {
                // Whatever was written is looked for in mixed values.
                if test.leadsAnywhere, reader.classes.values.reduce(0, { $0 + $1.modified.count }) > TouchedObjects.most
                {
                    return nil
                }
                found.formUnion(try touched(test, ClassID.index(query.classID)))
                if found.count > TouchedObjects.most { return nil }
            }
            guard case .test(let test) = node else { continue }
            guard let targets = test.targets, let changed = try changedTargets(targets) else {
                if test.hasTargets { return nil }
                continue
            }
            // Without the property nothing is true, before and after.
            if changed.isEmpty || !schema.has([test.propertyID]) { continue }
            let (cls, position) = try schema.property(test.propertyID)
            let link = IncomingLink(
                classIndex: Int(cls.id), property: position, isCollection: cls.columns[position].kind.isCollection)
            for target in changed {
                var isTooMany = false
                try TreeAccess.version(reader.to).forEachOwner(of: target, by: link) { (owner) throws(StoreError) in
                    found.insert(owner)
                    isTooMany = found.count > TouchedObjects.most
                    return !isTooMany
                }
                if isTooMany { return nil }
            }
        }
        return found
    }

    private func touched(_ test: PathTest, _ classIndex: Int) throws(StoreError) -> Set<Int64> {
        // Without one of them nothing is true, before and after.
        if !schema.has(test.properties) { return [] }
        var paths = QueryPaths(of: classIndex, schema)
        paths.add(test)
        return try touched(paths.tree)
    }

    private func touched(_ tree: ObservedPath) throws(StoreError) -> Set<Int64> {
        if tree.steps.isEmpty && tree.mixed.isEmpty { return [] }
        return Set(try LinkedChanges(reader, tree.classIndex, .some(tree)).masks.keys)
    }

    /// Objects of which a value behind a path may be another, by which they are sorted: also those that were written
    /// themselves.
    func keys(sortedBy keys: [SortKey], _ classIndex: Int) throws(StoreError) -> Set<Int64> {
        var paths = QueryPaths(of: classIndex, schema)
        for key in keys { if let path = key.path { paths.add(path) } }
        var found = try touched(paths.tree)
        guard let changes = reader.classes[UInt32(classIndex)], !paths.tree.columns.isEmpty else { return found }
        let columns = schema.classes[classIndex].columns
        let positions = columns.indices.filter { paths.tree.columns.contains(columns[$0].id) }
        for (row, key) in changes.modified.enumerated() where changes.hasWritten(positions, in: row) {
            found.insert(key)
        }
        return found
    }

    /// Objects of a class of targets that may satisfy their condition now and did not before, or the other way round.
    private func changedTargets(_ targets: Query) throws(StoreError) -> Set<Int64>? {
        guard var found = try touched(targets) else { return nil }
        guard let changes = reader.classes[UInt32(ClassID.index(targets.classID))] else { return found }
        let columns = try RowTest(targets, .version(reader.to)).columns
        for (index, key) in changes.modified.enumerated() {
            if columns.map({ changes.hasWritten($0, in: index) }) != false { found.insert(key) }
        }
        return found.count > TouchedObjects.most ? nil : found
    }
}

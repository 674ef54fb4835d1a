internal import ObjStoreCore

/// The objects of a class that the program need not know: `store.dynamicObjects("Dog")`. Live, like ``Results``.
public struct DynamicResults: Sendable {
    enum Question: Sendable {
        case all
        case query(ObjStoreCore.Query)
        /// It was invalid from the start.
        case failed(ObjStoreError)
    }

    let space: ObjectSpace
    let className: String
    private let question: Question
    private let cache = ResultsCache<DynamicObject>()

    private init(_ space: ObjectSpace, _ className: String, _ question: Question) {
        self.space = space
        self.className = className
        self.question = question
    }

    init(_ space: ObjectSpace, _ className: String) { self.init(space, className, .all) }

    init(_ space: ObjectSpace, _ className: String, _ query: () throws(ObjStoreError) -> ObjStoreCore.Query) {
        let question: Question
        do throws(ObjStoreError) { question = .query(try query()) } catch { question = .failed(error) }
        self.init(space, className, question)
    }

    // MARK: Querying

    /// Those for which a condition is true, and steps behind it: as ``Results/filter(_:_:)``.
    ///
    /// Errors: `.noSuchClass`, `.invalidQuery`, `.noSuchProperty`, `.wrongType`, `.notSupported`, with the `position`
    /// in the text.
    public func filter(_ text: String, _ arguments: Any?...) throws(ObjStoreError) -> DynamicResults {
        let found = then { (view, classID) throws(ObjStoreError) in
            try QueryNodes(arguments: arguments).withArguments { (arguments) throws(StoreError) in
                try view.query(classID, parsing: text, arguments: arguments)
            }
        }
        if case .failed(let error) = found.question { throw error }
        return found
    }

    /// In the order of a property. What is wrong with its name is reported where the results are used; so with the
    /// others.
    public func sorted(by name: String, ascending: Bool = true) -> DynamicResults {
        sorted(by: [SortKey(name, ascending: ascending)])
    }
    /// In the order of several properties: `.sorted(by: [SortKey("age", ascending: false), SortKey("name")])`.
    public func sorted(by keys: [SortKey<DynamicObject>]) -> DynamicResults {
        then { (view, classID) throws(ObjStoreError) in try QueryNodes.sort(by: keys, nil).query(view, classID) }
    }
    /// Of those that have the same values the first one.
    public func distinct(by names: String...) -> DynamicResults {
        then { (view, classID) throws(ObjStoreError) in
            try QueryNodes.distinct(by: names.map { .name($0) }, nil).query(view, classID)
        }
    }
    /// So many at most.
    public func limit(_ count: Int) -> DynamicResults {
        then { (view, classID) throws(ObjStoreError) in try QueryNodes.limit(count).query(view, classID) }
    }
    /// Without the first ones.
    public func offset(_ count: Int) -> DynamicResults {
        then { (view, classID) throws(ObjStoreError) in try QueryNodes.offset(count).query(view, classID) }
    }

    /// The whole query as a text; see ``Results/queryText``.
    public var queryText: String {
        get throws(ObjStoreError) {
            let query = try query(space.current)
            return try core { () throws(StoreError) in try query.text() }
        }
    }

    /// How they are found; see ``Results/explain(running:asJSON:)``.
    public func explain(running: Bool = false, asJSON: Bool = false) throws(ObjStoreError) -> String {
        let view = space.current, query = try query(view)
        return try core { () throws(StoreError) in
            let plan = try view.explain(query, runs: running)
            return asJSON ? try plan.json() : plan.text
        }
    }

    // MARK: Tables

    /// What a text with GROUP or SELECT says of these; see ``Results/table(_:_:)``.
    public func table(_ text: String, _ arguments: Any?...) throws(ObjStoreError) -> Table {
        try tableResults(try asking(text, arguments)).table()
    }

    /// The same to be observed; see ``TableResults``.
    public func tableResults(_ text: String, _ arguments: Any?...) throws(ObjStoreError) -> TableResults {
        try tableResults(try asking(text, arguments))
    }

    private func tableResults(_ query: AnyQuery) throws(ObjStoreError) -> TableResults {
        TableResults(space: space, query: try core { () throws(StoreError) in try query.ofTable() })
    }

    /// Values of each object, which lie at the end of paths: `.select(["name"], ["owner", "name"])`.
    public func select(_ paths: [String]...) throws(ObjStoreError) -> Table { try select(paths) }
    public func select(_ paths: [[String]]) throws(ObjStoreError) -> Table {
        var nodes = QueryNodes()
        nodes.append(.truth, number: 1)
        for path in paths {
            nodes.append(.variable)
            for name in path { nodes.append(.property, name: name) }
        }
        nodes.append(.select, operands: paths.count)
        nodes.append(.query, operands: 2)
        let view = space.current, mine = try query(view)
        let classID = try core { () throws(StoreError) in try view.findClass(className) }
        let table = try nodes.withNodes { (nodes) throws(StoreError) in
            try view.table(try mine.then(try view.anyQuery(classID, nodes)).ofTable())
        }
        return Table(table: table, space: space)
    }

    /// What a text asks for: objects, or a table, which it makes only when it is wanted.
    package enum Answer {
        case objects(DynamicResults)
        case table(make: () throws(ObjStoreError) -> Table, explain: (Bool, Bool) throws(ObjStoreError) -> String)
    }
    package func answer(_ text: String, _ arguments: [Any?] = []) throws(ObjStoreError) -> Answer {
        let space = space, view = space.current
        switch try asking(text, arguments) {
        case .objects(let query): return .objects(DynamicResults(space, className, .query(query)))
        case .values: throw ObjStoreError(.invalidQuery, "a query of plain values is asked of their collection")
        case .table(let query):
            return .table(
                make: { () throws(ObjStoreError) in
                    Table(table: try core { () throws(StoreError) in try view.table(query) }, space: space)
                },
                explain: { (running, asJSON) throws(ObjStoreError) in
                    try core { () throws(StoreError) in
                        let plan = try view.explain(query, runs: running)
                        return asJSON ? try plan.json() : plan.text
                    }
                })
        }
    }

    private func asking(_ text: String, _ arguments: [Any?]) throws(ObjStoreError) -> AnyQuery {
        let view = space.current, mine = try query(view)
        return try QueryNodes(arguments: arguments).withArguments { (arguments) throws(StoreError) in
            let classID = try view.findClass(className)
            return try mine.then(try view.anyQuery(classID, parsing: text, arguments: arguments))
        }
    }

    // MARK: Inside

    private func then(_ question: (View, UInt32) throws(ObjStoreError) -> ObjStoreCore.Query) -> DynamicResults {
        if case .failed = self.question { return self }
        return DynamicResults(space, className) { () throws(ObjStoreError) in
            let view = space.current
            let other = try question(view, try core { () throws(StoreError) in try view.findClass(className) })
            guard case .query(let query) = self.question else { return other }
            return try core { () throws(StoreError) in try query.then(other) }
        }
    }

    // MARK: Using

    /// Throws what would otherwise be reported at the first use.
    @discardableResult
    public func validate() throws(ObjStoreError) -> DynamicResults {
        _ = try list()
        return self
    }

    /// Deletes all objects, in one step; how many there were. Errors: `.notInWrite` and others.
    @discardableResult
    public func deleteAll() throws(ObjStoreError) -> Int {
        let list = try list(), view = try space.handle.writing("deleteAll")
        return try core { () throws(StoreError) in try view.delete(list) }
    }

    func list() throws(ObjStoreError) -> ObjStoreCore.Results {
        let view = space.current
        if let list = cache.list(view) { return list }
        let stamp = view.stamp, query = try query(view)
        let list = try core { () throws(StoreError) in try view.find(query) }
        cache.keep(list, stamp)
        return list
    }

    func query(_ view: View) throws(ObjStoreError) -> ObjStoreCore.Query {
        switch question {
        case .all: ObjStoreCore.Query(all: try core { () throws(StoreError) in try view.findClass(className) })
        case .query(let query): query
        case .failed(let error): throw error
        }
    }

    /// The same of another space.
    func inside(_ space: ObjectSpace) -> DynamicResults { DynamicResults(space, className, question) }

    private func reporting<T>(_ none: T, _ body: () throws(ObjStoreError) -> T) -> T {
        do throws(ObjStoreError) { return try body() } catch {
            // Those of an invalidated store are empty.
            if !space.isInvalidated { space.handle.reports.report(error) }
            return none
        }
    }
}

extension DynamicResults: LiveCollection {
    public var _count: Int { reporting(0) { () throws(ObjStoreError) in try list().count } }
    public func _element(at index: Int) -> DynamicObject {
        reporting(DynamicObject(.none, space)) { () throws(ObjStoreError) in
            let list = try list()
            return DynamicObject(
                try core { () throws(StoreError) in
                    try list.object(at: try UInt64(index: index, of: list.count, "result"))
                }, space)
        }
    }
    public func _pinned(_ bounds: (Int) -> Range<Int>) -> Pinned<DynamicObject> {
        guard let list = reporting(nil, { () throws(ObjStoreError) in try list() }) else { return Pinned([]) }
        let space = space
        // The list does not change: it has them all.
        return Pinned(bounds(list.count)) { DynamicObject((try? list.object(at: UInt64($0))) ?? .none, space) }
    }
    public func _walking<R>(_ body: (inout _Walk<DynamicObject>) -> R) -> R { cache.walks.with(body) }
    public func _reportOutOfRange(_ range: Range<Int>, _ count: Int) {
        space.handle.reports.report(
            ObjStoreError(.outOfRange, "\(range) of \(count.counted("result"))", class: className))
    }
    /// Walks the objects that are there now.
    public func makeIterator() -> IndexingIterator<Pinned<DynamicObject>> { (walked ?? pinned()).makeIterator() }
}

/// What generic code sees; see ``LiveCollection``.
extension DynamicResults {
    @_disfavoredOverload public var startIndex: Int { walkStart }
    @_disfavoredOverload public var endIndex: Int { walkEnd }
    @_disfavoredOverload public var count: Int { walkCount }
    @_disfavoredOverload public var isEmpty: Bool { walkCount == 0 }
    @_disfavoredOverload public var indices: Range<Int> { 0..<walkCount }
    @_disfavoredOverload public subscript(index: Int) -> DynamicObject { walkElement(index) }
    @_disfavoredOverload public subscript(bounds: Range<Int>) -> Pinned<DynamicObject> { walkSlice(bounds) }
    @_disfavoredOverload public func index(after index: Int) -> Int { walkNext(index) }
    @_disfavoredOverload public func index(before index: Int) -> Int { walk(to: index.moved(by: -1), from: index) }
    @_disfavoredOverload public func formIndex(after index: inout Int) { index = walkNext(index) }
    @_disfavoredOverload public func formIndex(before index: inout Int) {
        index = walk(to: index.moved(by: -1), from: index)
    }
    @_disfavoredOverload public func index(_ index: Int, offsetBy distance: Int) -> Int {
        walk(to: index.moved(by: distance), from: index)
    }
    @_disfavoredOverload public func index(_ index: Int, offsetBy distance: Int, limitedBy limit: Int) -> Int? {
        walk(to: Self.index(index, distance, limit), from: index)
    }
    @_disfavoredOverload public func distance(from start: Int, to end: Int) -> Int { end.distance(from: start) }
}

extension StoreReading {
    /// All objects of a class, by its name, in the order of their creation. The class need not be among the models;
    /// `.noSuchClass` is reported where the results are used.
    public func dynamicObjects(_ className: String) -> DynamicResults { DynamicResults(_scope.space, className) }

    /// The object of a class that has that primary key; nil: there is none. Of a key of several properties an array has
    /// the values, in the order of the key.
    ///
    /// Errors: `.noSuchClass`, `.noPrimaryKey`, `.wrongType`, `.closedHandle`. Cost: O(log n).
    public func dynamicObject(ofType className: String, forPrimaryKey key: Any?) throws(ObjStoreError) -> DynamicObject?
    {
        let space = _scope.space, view = space.current
        let cls = try core { () throws(StoreError) in try view.classInfo(try view.findClass(className)) }
        let found: ObjectID?
        if cls.primaryKey == 0, cls.keyIndex != 0 {
            let index = try core { () throws(StoreError) in try view.indexInfo(cls.keyIndex) }
            guard let parts = key.flatMap({ ClassInfo.elements(of: $0) }), parts.count == index.properties.count else {
                throw ObjStoreError(
                    .wrongType,
                    """
                    the primary key of \(className) is of \(index.properties.count) properties: an array has their \
                    values
                    """,
                    class: className)
            }
            let encoder = _RowEncoder()
            for part in parts { try encoder.append(nested: part) }
            found = try encoder.withValues { (values) throws(StoreError) in try view.find(by: index.indexID, values) }
        } else {
            let encoder = _RowEncoder()
            try encoder.append(nested: key)
            found = try encoder.withValues { (values) throws(StoreError) in try view.find(cls.classID, values[0]) }
        }
        return found.map { DynamicObject($0, space) }
    }
}

extension StoreWriting {
    /// Creates an object of a class, by its name, from a dictionary, or an array of values in the order of the
    /// properties, with everything that is nested in it: as ``create(_:value:update:exact:)``, but links lead to
    /// objects of the store, or to what is described.
    ///
    /// Errors: as there.
    @discardableResult
    public func dynamicCreate(
        _ className: String, value: Any = [String: Any](), update: UpdatePolicy = .error
    ) throws(ObjStoreError) -> DynamicObject {
        let (space, view) = try writing("dynamicCreate")
        let classID = try core { () throws(StoreError) in try view.findClass(className) }
        let encoder = _RowEncoder()
        try encoder.append(nested: value)
        return DynamicObject(
            try encoder.withValues { (values) throws(StoreError) in
                try view.create(classID, from: values, update.core).0
            }, space)
    }

    /// Deletes an object. Errors: `.noSuchObject`, `.wrongStore`.
    public func delete(_ object: DynamicObject) throws(ObjStoreError) {
        let (_, view) = try writing("delete")
        try core { () throws(StoreError) in try view.delete(object.id) }
    }

    /// Deletes each of them: all, or none.
    public func delete<S: Sequence>(_ objects: S) throws(ObjStoreError) where S.Element == DynamicObject {
        let (_, view) = try writing("delete"), ids = objects.map(\.id)
        try core { () throws(StoreError) in try view.delete(ids) }
    }

    /// Deletes all objects of a class, by its name; how many there were. Errors: `.noSuchClass`.
    @discardableResult
    public func deleteAll(ofType className: String) throws(ObjStoreError) -> Int {
        let (_, view) = try writing("deleteAll")
        return try core { () throws(StoreError) in try view.deleteAll(try view.findClass(className)) }
    }
}

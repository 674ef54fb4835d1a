internal import ObjStoreCore

/// The objects of a class that the program need not know: `store.dynamicObjects("Dog")`. Live, like ``Results``.
public struct DynamicResults: Sendable {
    enum Question: Sendable {
        case all
        case comparison(ComparisonText, [Operand])
        /// Objects that have a link to the object in that property.
        case link(String, ObjectID)
    }

    /// An argument of `filter`; never changes.
    struct Operand: @unchecked Sendable {
        let value: Any?
    }

    let space: ObjectSpace
    private let className: String
    private let question: Question
    private let cache = ResultsCache<DynamicObject>()

    init(_ space: ObjectSpace, _ className: String, _ question: Question = .all) {
        self.space = space
        self.className = className
        self.question = question
    }

    /// Those that satisfy a comparison written as text: `.filter("age < $0", 2)`, `.filter("name == 'Rex'")`.
    ///
    /// Errors: `.invalidQuery` (with `position`; also a text of more than one comparison), `.notSupported` (a second
    /// `filter`); what is wrong with the property or the value is reported where the results are used, and thrown by
    /// ``validate()``.
    public func filter(_ text: String, _ arguments: Any?...) throws(ObjStoreError) -> DynamicResults {
        guard case .all = question else {
            throw ObjStoreError(.notSupported, "one comparison is all that this version knows", class: className)
        }
        let query = try core { () throws(StoreError) in try ComparisonText(text) }
        if case .argument(let number) = query.operand, number >= arguments.count {
            throw ObjStoreError(
                .invalidQuery, "the query asks for argument $\(number), and \(arguments.count) are given",
                class: className, property: query.property)
        }
        return DynamicResults(space, className, .comparison(query, arguments.map { Operand(value: $0) }))
    }

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
        let stamp = view.stamp, list = try find(view)
        cache.keep(list, stamp)
        return list
    }

    private func find(_ view: View) throws(ObjStoreError) -> ObjStoreCore.Results {
        let classID = try core { () throws(StoreError) in try view.findClass(className) }
        switch question {
        case .all: return try core { () throws(StoreError) in try view.find(ObjStoreCore.Query(all: classID)) }
        case .link(let name, let object):
            return try core { () throws(StoreError) in
                let property = try view.findProperty(classID, name), info = try view.propertyInfo(property)
                let isMixed = info.kind == .mixed || info.elements?.kind == .mixed
                guard isMixed || info.target == object.classID else {
                    throw StoreError(
                        .wrongType,
                        """
                        \(className).\(name) has no links to objects of class \
                        \(try view.classInfo(object.classID).name)
                        """
                    ).at(class: className, property: name)
                }
                return try view.find(
                    try ObjStoreCore.Query(classID, property, .equal, .link(object), isInside: isMixed))
            }
        case .comparison(let query, let arguments):
            let operand: Any? =
                switch query.operand {
                case .argument(let number): arguments[number].value
                case .null: nil
                case .bool(let value): value
                case .int(let value): value
                case .double(let value): value
                case .string(let value): value
                }
            let info = try core { () throws(StoreError) in
                try view.propertyInfo(try view.findProperty(classID, query.property))
            }
            return try info.withOperand(operand, info.kind) { (value) throws(StoreError) in
                try view.find(try ObjStoreCore.Query(classID, info.propertyID, query.comparison, value))
            }
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

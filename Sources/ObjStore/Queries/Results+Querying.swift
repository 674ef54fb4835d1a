internal import ObjStoreCore

// Each of these is a question to what the results before it find, and is live as they are. What is wrong with one is
// thrown by `filter`; of the others by `validate()`, and is reported where the results are used.

extension Results {
    /// Those for which a condition is true: `.where { $0.age < 2 && $0.name.starts(with: "A") }`. See ``Query``.
    public func `where`(_ condition: (Query<Element>) -> Query<Bool>) -> Results {
        then { (view, binding) throws(ObjStoreError) in
            let made = condition(Query(.object, QueryScope(space: space, model: binding.position)))
            guard made.scope.space.handle === space.handle else {
                throw ObjStoreError(.wrongStore, "the condition was made of objects of another store")
            }
            var nodes = made.nodes
            nodes.makeCondition()
            return try nodes.query(view, binding.classID)
        }
    }

    /// The same as text, and steps behind it: `.filter("age < $0 AND name IN $1 SORT(age DESC) LIMIT(3)", 2, names)`.
    ///
    /// `$0`, `$1` … are the arguments: values of a property, objects, nil, arrays of such.
    /// Errors: `.invalidQuery`, `.noSuchProperty`, `.wrongType`, `.notSupported`, with the `position` in the text.
    @_disfavoredOverload
    public func filter(_ text: String, _ arguments: Any?...) throws(ObjStoreError) -> Results {
        try filter(text, arguments: arguments)
    }

    func filter(_ text: String, arguments: [Any?]) throws(ObjStoreError) -> Results {
        let found = filtered(text, arguments: arguments)
        if case .failed(let error) = found.question { throw error }
        return found
    }

    /// The same; what is wrong with it is reported where the results are used.
    package func filtered(_ text: String, arguments: [Any?]) -> Results {
        then { (view, binding) throws(ObjStoreError) in
            try QueryNodes(arguments: arguments).withArguments { (arguments) throws(StoreError) in
                try view.query(binding.classID, parsing: text, arguments: arguments)
            }
        }
    }

    /// In the order of a property: `.sorted(by: \.name)`.
    public func sorted<Value: Persistable>(by keyPath: KeyPath<Element, Value>, ascending: Bool = true) -> Results {
        sorted(by: [SortKey(keyPath, ascending: ascending)])
    }

    /// In the order of several properties: `.sorted(by: [SortKey(\.age, ascending: false), SortKey(\.name)])`.
    public func sorted(by keys: [SortKey<Element>]) -> Results {
        then { (view, binding) throws(ObjStoreError) in
            try QueryNodes.sort(by: keys, binding).query(view, binding.classID)
        }
    }

    /// Of those that have the same value, or the same values, the first one: `.distinct(by: \.name)`.
    public func distinct(by keyPaths: PartialKeyPath<Element>...) -> Results { distinct(by: keyPaths) }
    public func distinct(by keyPaths: [PartialKeyPath<Element>]) -> Results {
        distinct(by: keyPaths.map { QueriedProperty($0) })
    }
    /// The same by names.
    public func distinct(by names: [String]) -> Results { distinct(by: names.map { .name($0) }) }

    private func distinct(by properties: [QueriedProperty]) -> Results {
        then { (view, binding) throws(ObjStoreError) in
            try QueryNodes.distinct(by: properties, binding).query(view, binding.classID)
        }
    }

    /// So many at most.
    public func limit(_ count: Int) -> Results {
        then { (view, binding) throws(ObjStoreError) in try QueryNodes.limit(count).query(view, binding.classID) }
    }

    /// Without the first ones.
    public func offset(_ count: Int) -> Results {
        then { (view, binding) throws(ObjStoreError) in try QueryNodes.offset(count).query(view, binding.classID) }
    }

    /// The whole query as a text, from which ``filter(_:_:)`` makes the same: `age < 2 SORT(name ASC)`.
    ///
    /// Errors: `.notSupported`: it is a stretch of an index, or there is a condition behind a limit, offset or
    /// `distinct`; those of ``validate()``.
    public var queryText: String {
        get throws(ObjStoreError) {
            try asking(space.current) { (_, _, query) throws(StoreError) in try query.text() }
        }
    }

    /// How the objects are found: by which index, inverse or scan, of how many objects, and what is done then; a line
    /// for each. With `running` they are looked for once, and what came of it is told, too; as JSON for programs, as
    /// `objstore_query_explain` describes it.
    ///
    /// Errors: those of ``validate()``.
    public func explain(running: Bool = false, asJSON: Bool = false) throws(ObjStoreError) -> String {
        try asking(space.current) { (view, _, query) throws(StoreError) in
            let plan = try view.explain(query, runs: running)
            return asJSON ? try plan.json() : plan.text
        }
    }

    /// What a question finds among these.
    func then(_ question: (View, ClassBinding) throws(ObjStoreError) -> ObjStoreCore.Query) -> Results {
        if case .failed = self.question { return self }
        return Results(space) { () throws(ObjStoreError) in
            let other = try question(space.current, try space.binding(Element.self))
            guard case .query(let query) = self.question else { return other }
            return try core { () throws(StoreError) in try query.then(other) }
        }
    }
}

extension QueryNodes {
    /// The question to the objects of a class.
    func query(_ view: View, _ classID: UInt32) throws(ObjStoreError) -> ObjStoreCore.Query {
        do throws(ObjStoreError) {
            return try withNodes { (nodes) throws(StoreError) in
                guard nodes.contains(where: \.isInside) else { return try view.query(classID, nodes) }
                guard nodes.count == 4 else {
                    throw StoreError(
                        .notSupported,
                        """
                        links(to:) of values of any type is a condition of its own: give the others to another where
                        """)
                }
                return try ObjStoreCore.Query(
                    classID, UInt32(truncatingIfNeeded: nodes[1].number), .equal, nodes[2].value, isInside: true)
            }
        } catch {
            // The position is that of a node, which nobody sees.
            throw ObjStoreError(error.code, error.message, class: error.className, property: error.propertyName)
        }
    }
}

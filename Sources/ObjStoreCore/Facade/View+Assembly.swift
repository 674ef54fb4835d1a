/// Creating objects from nested values, and giving properties such values.
extension View {
    /// Creates the object that `values` describe (`FlatValues`), or updates the one with its primary key, with
    /// everything that is nested in it; all or nothing. Errors say where in the values: "$.dogs[0].age: …".
    ///
    /// - Parameter exact: a list of values has one for each property; else those at the end may be missing that need
    ///   none.
    /// - Parameter ignoresUnknown: names that a class does not have are passed over.
    package func create(
        _ classID: UInt32, from values: UnsafeBufferPointer<Value>, _ policy: UpsertPolicy, exact: Bool = false,
        ignoresUnknown: Bool = false
    ) throws(StoreError) -> (ObjectID, UpsertOutcome) {
        try create(
            classID, from: values, Assembler.Options(policy: policy, isExact: exact, ignoresUnknown: ignoresUnknown))
    }

    /// The same, but the object that is updated is the one that has the same values in a unique index, whatever its
    /// primary key. `.invalidArgument`: the index is not unique.
    package func create(
        by indexID: UInt32, from values: UnsafeBufferPointer<Value>, _ policy: UpsertPolicy, exact: Bool = false,
        ignoresUnknown: Bool = false
    ) throws(StoreError) -> (ObjectID, UpsertOutcome) {
        let (cls, position) = try serialised { () throws(StoreError) in try schema.uniqueIndex(indexID) }
        return try create(
            cls.classID, from: values,
            Assembler.Options(policy: policy, isExact: exact, ignoresUnknown: ignoresUnknown), by: position)
    }

    func create(
        _ classID: UInt32, from values: UnsafeBufferPointer<Value>, _ options: Assembler.Options, by index: Int? = nil
    ) throws(StoreError) -> (ObjectID, UpsertOutcome) {
        var options = options
        if options.waiting == nil { options.waiting = WaitingLinks(isShared: false) }
        return try assemble(
            values, options,
            in: { () throws(StoreError) in
                let cls = try schema.cls(classID)
                if cls.isEmbedded { throw cls.embeddedError }
            }
        ) { (assembler) throws(StoreError) in
            let made = try assembler.object(
                ClassID.index(classID), 0, isRoot: true, by: index, isAlone: true)
            return (ObjectID(classID: classID, storeTag: shared.tag, key: made.key), made.outcome)
        }
    }

    /// Makes what several nodes describe that refer to each other (`Value.node`): one step, in which all objects are
    /// created or updated, each behind those that it leads to as far as that is possible, and then properties get what
    /// nodes describe for them. `position` of an error is the node.
    ///
    /// - Parameters:
    ///   - values: the descriptions of the nodes, one after the other.
    ///   - isKept: they, and their texts, lie in memory that no change of the store moves.
    ///   - embedded: as in `set(_:_:from:_:embedded:)`.
    /// Complexity: O(what is described).
    package func create(
        graph nodes: [GraphNode], _ values: UnsafeBufferPointer<Value>, _ policy: UpsertPolicy, exact: Bool = false,
        ignoresUnknown: Bool = false, isKept: Bool = false,
        embedded: ((_ index: Int, _ object: ObjectID) -> Void)? = nil
    ) throws(StoreError) -> [GraphNode.Made] {
        let options = Assembler.Options(
            policy: policy, isExact: exact, ignoresUnknown: ignoresUnknown, waiting: WaitingLinks(isShared: false),
            embedded: embedded)
        return try assemble(values, options, graph: nodes, isKept: isKept, in: {}) { (assembler) throws(StoreError) in
            try assembler.make(nodes)
        }
    }

    /// Gives links that waited over several calls what they lead to. `.noSuchObject`: it did not come.
    func connect(_ waiting: WaitingLinks) throws(StoreError) {
        if waiting.isEmpty { return }
        var failure: StoreError?
        withUnsafePointer(to: Value.null) { none in
            do throws(StoreError) {
                try assemble(
                    UnsafeBufferPointer(start: none, count: 1), Assembler.Options(policy: .modified, waiting: waiting),
                    in: {}
                ) { (assembler) throws(StoreError) in
                    try assembler.connect(waiting)
                }
            } catch { failure = error }
        }
        if let failure { throw failure }
    }

    /// Gives one property of an object what `values` describe: a value, an object that it links to, embedded objects,
    /// all elements of a collection. Objects that are described and have a primary key are updated by `policy`; with
    /// `modified`, what is there already is not written. Returns whether something changed.
    ///
    /// - Parameter embedded: is called with the embedded object that the description at an index of `values` became;
    ///   these count only once the call has returned.
    package func set(
        _ object: ObjectID, _ propertyID: UInt32, from values: UnsafeBufferPointer<Value>, _ policy: UpsertPolicy,
        embedded: ((_ index: Int, _ object: ObjectID) -> Void)? = nil
    ) throws(StoreError) -> Bool {
        try assemble(
            values, Assembler.Options(policy: policy, embedded: embedded),
            in: { () throws(StoreError) in _ = try classOf(object, try schema) }
        ) { (assembler) throws(StoreError) in
            try assembler.set(object, propertyID, 0)
        }
    }

    /// Makes the embedded object that `values` describe in a property of its parent, at a place as
    /// `createEmbedded(in:_:at:_:_:)` takes it.
    ///
    /// - Parameter embedded: as in `set(_:_:from:_:embedded:)`.
    package func createEmbedded(
        in parent: ObjectID, _ propertyID: UInt32, at place: Value, from values: UnsafeBufferPointer<Value>,
        embedded: ((_ index: Int, _ object: ObjectID) -> Void)? = nil
    ) throws(StoreError) {
        try assemble(
            values, Assembler.Options(embedded: embedded),
            in: { () throws(StoreError) in _ = try classOf(parent, try schema) }
        ) { (assembler) throws(StoreError) in
            _ = try assembler.embed(parent, propertyID, at: place, 0)
        }
    }

    /// Runs an assembler in the transaction, as one step.
    private func assemble<T>(
        _ values: UnsafeBufferPointer<Value>, _ options: Assembler.Options, graph: [GraphNode]? = nil,
        isKept: Bool = false, in check: () throws(StoreError) -> Void, _ body: (Assembler) throws(StoreError) -> T
    ) throws(StoreError) -> T {
        if kind != .transaction { throw notInWrite }
        lock.lock()
        defer { lock.unlock() }
        let transaction = try writing()
        if transaction.isBroken {
            throw StoreError(.corrupt, "a failed call could not be undone: the transaction can only be cancelled")
        }
        try check()
        defer {
            didMove()
            // A rollback closes classes.
            writer?.forgetClasses()
        }
        func run(_ values: UnsafeBufferPointer<Value>) throws(StoreError) -> T {
            let wanted = graph?.reduce(0) { if case .element = $1.target { $0 + 2 } else { $0 + 1 } } ?? 1
            let assembler = Assembler(
                writer.unsafelyUnwrapped, store.names, store.order, try FlatValues(checking: values, wanted), options)
            return try assembler.run { () throws(StoreError) in try body(assembler) }
        }
        if isKept { return try run(values) }
        // They may lie in what changes before they are read.
        try Memory.check(for: values.count, each: MemoryLayout<Value>.stride)
        var copy = Array(values)
        let bytes = KeptBytes()
        try bytes.keep(&copy)
        defer { withExtendedLifetime(bytes) {} }
        return try copy.withUnsafeBufferPointer { (copy) throws(StoreError) in try run(copy) }
    }
}

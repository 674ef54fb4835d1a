/// The C function of a typed observer.
package struct TypedFunction {
    let function: TypedCallback.Function
    let userdata: UnsafeMutableRawPointer?
    let around: CallAround?
    let failure: (Int32) -> (StoreError, isUntold: Bool)

    /// - Parameters:
    ///   - around: makes each call of the function; nil: it is made at once.
    ///   - failure: makes the error of a status that is not 0, and says whether the change set is to come again.
    package init(
        _ function: @escaping TypedCallback.Function, userdata: UnsafeMutableRawPointer?, around: CallAround?,
        failure: @escaping (Int32) -> (StoreError, isUntold: Bool)
    ) {
        self.function = function
        self.userdata = userdata
        self.around = around
        self.failure = failure
    }
}

extension ClassSchema {
    /// Errors: noSuchProperty; invalidArgument: one of them twice.
    fileprivate func typedPositions(_ propertyIDs: [UInt32]) throws(StoreError) -> [Int] {
        var positions: [Int] = []
        for id in propertyIDs {
            let position = try position(id)
            if positions.contains(position) {
                throw named(
                    StoreError(.invalidArgument, "properties: \(name).\(properties[position].name) appears twice"),
                    position)
            }
            positions.append(position)
        }
        return positions
    }
}

/// Observing through the interfaces: ids instead of positions, a handle's own observers.
extension Store {
    /// What a query finds, from now on.
    ///
    /// Errors: `.wrongStore`, `.noSuchClass`, `.noSuchProperty`; those of key paths, and of functions that it calls.
    package func observe(
        _ query: Query, _ options: ObserverOptions, on hub: ObserverHub? = nil,
        handler: @escaping Observer.Handler
    ) throws(StoreError) -> Observer {
        try checkOpen()
        let snapshot = try shared.database.snapshot()
        let paths = try paths(options, try snapshot.schema.cls(query.classID), snapshot.schema) ?? .usual
        return try (hub ?? self.hub).observe(
            ObserverScope(query, paths).calling(within: asking), from: snapshot, options: options, handler: handler)
    }

    /// A table, or plain values of a collection, from now on; of a query of objects the same as these.
    ///
    /// - Parameter hub: delivers; nil: the store's.
    /// Errors: those above; `.invalidArgument`: there are key paths, and no objects; `.noSuchObject`: the newest
    /// version does not have the owner of the collection.
    package func observe(
        _ query: AnyQuery, _ options: ObserverOptions, on hub: ObserverHub? = nil,
        handler: @escaping Observer.Handler
    ) throws(StoreError) -> Observer {
        try checkOpen()
        let snapshot = try shared.database.snapshot(), scope: ObserverScope
        switch query {
        case .objects(let query): return try observe(query, options, on: hub, handler: handler)
        case .table(let query): scope = ObserverScope(query, in: snapshot.schema).calling(within: asking)
        case .values(let query): scope = ObserverScope(query).calling(within: asking)
        }
        if options.keyPaths != nil {
            throw StoreError(
                .invalidArgument,
                "key paths are of objects: a table is observed for its columns, and plain values for what they are")
        }
        if let owner = scope.rows?.owner {
            let cls = try snapshot.schema.cls(of: owner, in: shared.tag)
            guard try scope.hasOwner(in: snapshot) else { throw cls.noSuchObject(owner.key) }
        }
        try scope.check(in: snapshot)
        let answer = try ObservedAnswer(scope, in: snapshot)
        return try (hub ?? self.hub).observe(scope, from: snapshot, answer, options, handler: handler)
    }

    /// All objects of a class, from now on.
    package func observe(
        _ classID: UInt32, _ options: ObserverOptions, handler: @escaping Observer.Handler
    ) throws(StoreError) -> Observer {
        try checkOpen()
        let snapshot = try shared.database.snapshot(), cls = try snapshot.schema.cls(classID)
        let paths = try paths(options, cls, snapshot.schema) ?? .usual
        return try hub.observe(
            ObserverScope(class: cls, paths), from: snapshot, options: options, handler: handler)
    }

    /// One object, from now on: at most one deletion or modification at a time.
    ///
    /// Errors: wrongStore, noSuchClass, noSuchObject; those of key paths.
    package func observe(
        _ object: ObjectID, _ options: ObserverOptions, handler: @escaping Observer.Handler
    ) throws(StoreError) -> Observer {
        try checkOpen()
        let snapshot = try shared.database.snapshot()
        let cls = try snapshot.schema.cls(of: object, in: shared.tag)
        return try observe(object.key, of: cls, in: snapshot, options, handler: handler)
    }

    /// That something was committed, from now on, and not what.
    package func observeCommits(
        _ options: ObserverOptions, on hub: ObserverHub? = nil, handler: @escaping Observer.Handler
    ) throws(StoreError) -> Observer {
        try checkOpen()
        return try (hub ?? self.hub).observe(.commits, options: options, handler: handler)
    }

    fileprivate func observe(
        _ key: Int64, of cls: ClassSchema, in snapshot: Snapshot, _ options: ObserverOptions,
        on hub: ObserverHub? = nil, handler: @escaping Observer.Handler
    ) throws(StoreError) -> Observer {
        guard try snapshot.trees.objects(cls).find(key) != nil else { throw cls.noSuchObject(key) }
        let paths = try paths(options, cls, snapshot.schema) ?? .own
        return try (hub ?? self.hub).observe(
            ObserverScope(class: cls, paths).only(key), from: snapshot, options: options, handler: handler)
    }

    /// Of the objects that elements are links to. Errors: `.invalidArgument`: they are none.
    private func paths(
        _ options: ObserverOptions, in collection: CollectionID, _ schema: Schema
    ) throws(StoreError) -> ObservedPaths? {
        if options.keyPaths == nil { return nil }
        let cls = try schema.cls(of: collection.owner, in: shared.tag)
        let position = try cls.collection(collection.propertyID), target = cls.columns[position].target
        guard target != 0 else {
            throw cls.named(
                StoreError(
                    .invalidArgument,
                    """
                    the elements of \(cls.name).\(cls.properties[position].name) are no objects of one class: they \
                    have no key paths
                    """), position)
        }
        return try paths(options, try schema.cls(target), schema)
    }

    /// Nil: nothing is said.
    fileprivate func paths(
        _ options: ObserverOptions, _ cls: ClassSchema, _ schema: Schema
    ) throws(StoreError) -> ObservedPaths? {
        guard let texts = options.keyPaths else { return nil }
        return .some(try ObservedPath(parsing: texts, of: cls, schema, names))
    }

    /// A list, set or map, from now on.
    ///
    /// - Parameter hub: delivers; nil: the store's.
    /// Errors: `.wrongStore`, `.noSuchClass`, `.noSuchProperty`, `.wrongType`, `.noSuchObject`: the newest version
    /// does not have the owner.
    package func observe(
        _ collection: CollectionID, _ options: ObserverOptions, on hub: ObserverHub? = nil,
        handler: @escaping Observer.Handler
    ) throws(StoreError) -> Observer {
        try checkOpen()
        let snapshot = try shared.database.snapshot()
        let paths = try paths(options, in: collection, snapshot.schema)
        let scope = try CollectionScope(collection, paths ?? .usual, in: snapshot, tag: shared.tag)
        return try (hub ?? self.hub).observe(
            ObserverScope(scope), from: snapshot, options: options, handler: handler)
    }

    /// A list or map inside of a mixed value, from now on: what is at the end of a path.
    ///
    /// - Parameter hub: delivers; nil: the store's.
    /// Errors: `.wrongStore`, `.noSuchClass`, `.noSuchProperty`, `.wrongType`, `.notFound`, `.noSuchObject`: of the
    /// newest version.
    package func observe(
        mixed object: ObjectID, _ propertyID: UInt32, _ path: [MixedStep], _ options: ObserverOptions,
        on hub: ObserverHub? = nil, handler: @escaping Observer.Handler
    ) throws(StoreError) -> Observer {
        try checkOpen()
        let snapshot = try shared.database.snapshot()
        let scope = try CollectionScope(object, propertyID, path, in: snapshot, tag: shared.tag)
        return try (hub ?? self.hub).observe(
            ObserverScope(scope), from: snapshot, options: options, handler: handler)
    }

    /// All objects of a class, each delivered as native arguments of a C function.
    ///
    /// Errors: noSuchClass, noSuchProperty, invalidArgument (a property twice), invalidSignature, wrongType.
    package func observeTyped(
        _ classID: UInt32, _ propertyIDs: [UInt32], signature: String, _ function: TypedFunction
    ) throws(StoreError) -> Observer {
        try checkOpen()
        let snapshot = try shared.database.snapshot()
        let cls = try snapshot.schema.cls(classID)
        return try observeTyped(
            ObserverScope(class: cls, .own), cls.typedPositions(propertyIDs), snapshot, signature, function,
            telling: [], paused: false)
    }

    /// The same of what a query finds; on request with the values before of what it does not find any more, and with
    /// all that is there whenever it begins.
    ///
    /// Errors: those above; `.wrongStore`; those of functions that it calls.
    package func observeTyped(
        _ query: Query, telling told: TypedEvents, paused: Bool, _ propertyIDs: [UInt32], signature: String,
        _ function: TypedFunction
    ) throws(StoreError) -> Observer {
        try checkOpen()
        let snapshot = try shared.database.snapshot()
        let cls = try snapshot.schema.cls(query.classID), positions = try cls.typedPositions(propertyIDs)
        return try observeTyped(
            ObserverScope(query, .own).calling(within: asking), positions, snapshot, signature, function,
            telling: told, paused: paused)
    }

    private func observeTyped(
        _ scope: ObserverScope, _ positions: [Int], _ snapshot: Snapshot, _ signature: String,
        _ function: TypedFunction, telling told: TypedEvents, paused: Bool
    ) throws(StoreError) -> Observer {
        let callback = try TypedCallback(
            try Signature(parsing: signature), class: snapshot.schema.classes[Int(scope.classID)],
            properties: positions, function: function.function, userdata: function.userdata, around: function.around,
            telling: told)
        let options = ObserverOptions(
            initial: told.contains(.beginnings), hasPositions: false, paused: paused)
        return try hub.observe(scope, from: snapshot, options: options) { changes in
            do throws(StoreError) {
                let status = try callback.deliver(changes, found: scope.keys(in:))
                if status == 0 { return nil }
                let (error, isUntold) = function.failure(status)
                changes.isUntold = isUntold
                return error
            } catch {
                return error
            }
        }
    }

    /// Ends an observer. Where another thread runs its handler, that call is waited for, except where that could be
    /// for ever: inside a handler, and while this thread has a transaction open, for which the handler may wait.
    package func close(_ observer: Observer) {
        observer.close(waits: !shared.isWriterThread)
    }

    /// A frozen view of a version of a change set.
    package func view(of changes: ChangeSet, before: Bool) throws(StoreError) -> View {
        let view = View(store: self, snapshot: before ? changes.before : changes.after, kind: .frozen)
        view.isPartOfChanges = true
        return try register(view)
    }
}

extension Store {
    /// One object, from what a live view shows on: at most one deletion or modification at a time.
    ///
    /// Errors: wrongView (of a view that is not live), wrongStore, noSuchClass, noSuchObject; those of key paths.
    package func observe(
        _ object: ObjectID, in view: View, _ options: ObserverOptions, on hub: ObserverHub? = nil,
        handler: @escaping Observer.Handler
    ) throws(StoreError) -> Observer {
        guard view.kind == .live else {
            throw StoreError(
                .wrongView, "an object of a \(view.kind) view never changes: only live ones can be observed")
        }
        let snapshot = try view.pinnedSnapshot("observe")
        let cls = try view.classOf(object, snapshot.schema)
        return try observe(object.key, of: cls, in: snapshot, options, on: hub, handler: handler)
    }
}

extension Results {
    /// What the query finds, against the list as it is now.
    ///
    /// - Parameter hub: delivers; nil: the store's.
    /// Errors: those of key paths; wrongView for results of a frozen view or a transaction, and if the view has moved
    /// since they were found (the version that the list is of may be gone).
    package func observe(
        _ options: ObserverOptions, on hub: ObserverHub? = nil,
        handler: @escaping Observer.Handler
    ) throws(StoreError) -> Observer {
        let (scope, snapshot, list) = try observed(options)
        return try (hub ?? view.store.hub).observe(
            scope, from: snapshot, keys: UnsafeBufferPointer(start: list.keys, count: list.count), options: options,
            handler: handler)
    }

    /// What is observed, the version that they show, and the list of that.
    func observed(_ options: ObserverOptions) throws(StoreError) -> (ObserverScope, Snapshot, KeyBuffer) {
        guard view.kind == .live else {
            throw StoreError(
                .wrongView, "results of a \(view.kind) view never change: only those of a live view can be observed")
        }
        let (list, version) = listAndVersion()
        let (snapshot, cls) = try view.serialised { () throws(StoreError) in
            guard let snapshot = view.snapshot else { throw view.closedError }
            return (snapshot, try snapshot.schema.cls(classID))
        }
        guard snapshot.version == version else {
            throw StoreError(
                .wrongView,
                """
                the view has moved from version \(version) to \(snapshot.version) since the results were asked: \
                update them first
                """
            )
        }
        let scope = ObserverScope(query, try view.store.paths(options, cls, snapshot.schema) ?? .usual)
            .calling(within: view.store.asking)
        return (scope, snapshot, list)
    }
}

extension ChangeSet {
    /// Whether a property was written in the modification at `index`; the moves follow. Errors: outOfRange,
    /// noSuchProperty.
    package func hasChanged(_ propertyID: UInt32, atModification index: UInt64) throws(StoreError) -> Bool {
        if case .table? = asked {
            throw StoreError(.wrongType, "the change set is of a table: it has columns, and no properties")
        }
        try checkModification(index)
        return hasChanged(try schema.position(propertyID), ofModification: Int(index))
    }

    func checkModification(_ index: UInt64) throws(StoreError) {
        guard index < UInt64(modified.count + moved.count) else {
            throw StoreError(
                .outOfRange,
                "index \(index) of \((modified.count + moved.count).counted("modification"))"
                    + (moved.isEmpty ? "" : ", of which \(moved.count.counted("is a move", "are moves"))"))
        }
    }

    package func object(_ key: Int64, tag: UInt32) -> ObjectID {
        ObjectID(classID: ClassID.of(Int(classID)), storeTag: tag, key: key)
    }
}

extension Signature {
    package init(parsing text: String) throws(StoreError) {
        var result: Result<Signature, StoreError>!
        var text = text
        text.withUTF8 { bytes in
            result = Result { () throws(StoreError) in try Signature(parsing: UnsafeRawBufferPointer(bytes)) }
        }
        self = try result.get()
    }
}

extension View {
    /// These observers are not told of what the transaction changes; several calls add up.
    ///
    /// Errors: `.notInWrite`, `.wrongStore` (an observer of another store), `.closedHandle` (it was closed),
    /// `.tooManyReaders`, `.invalidArgument` (inside of an asynchronous body that may share its transaction).
    package func withoutNotifying(_ silenced: [Observer]) throws(StoreError) {
        try serialised { () throws(StoreError) in
            guard kind == .transaction else { throw notInWrite }
            guard let transaction else { throw closedError }
            if let turn, !turn.isAlone {
                throw StoreError(
                    .invalidArgument,
                    "the transaction of this asynchronous write may be shared with others: it has to be begun alone")
            }
            for (index, observer) in silenced.enumerated() {
                guard observer.observes(shared.database) else {
                    throw StoreError(.wrongStore, "token \(index) observes another store")
                }
                if observer.isEnded { throw StoreError(.closedHandle, "token \(index) was closed") }
            }
            if silenced.isEmpty { return }
            let write: SilentWrite
            if let witness = transaction.witness as? SilentWrite {
                write = witness
            } else {
                write = try SilentWrite(transaction)
                transaction.witness = write
            }
            for observer in silenced { write.add(observer) }
        }
    }
}

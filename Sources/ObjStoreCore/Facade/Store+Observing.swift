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
    /// All objects of a class, from now on.
    package func observe(
        _ classID: UInt32, initial: Bool, handler: @escaping Observer.Handler
    ) throws(StoreError) -> Observer {
        try checkOpen()
        let snapshot = try shared.database.snapshot()
        return try hub.observe(
            ObserverScope(class: snapshot.schema.cls(classID)), from: snapshot, initial: initial, handler: handler)
    }

    /// What a query finds, from now on.
    ///
    /// Errors: `.wrongStore`, `.noSuchClass`, `.noSuchProperty`; `.notSupported`: it calls functions.
    package func observe(
        _ query: Query, initial: Bool, handler: @escaping Observer.Handler
    ) throws(StoreError) -> Observer {
        try checkOpen()
        let snapshot = try shared.database.snapshot()
        return try hub.observe(ObserverScope(query), from: snapshot, initial: initial, handler: handler)
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
            ObserverScope(class: cls), cls.typedPositions(propertyIDs), snapshot, signature, function, deletions: false)
    }

    /// The same of what a query finds, with the values before of what it does not find any more, if that is wanted.
    ///
    /// Errors: those above; `.wrongStore`; `.notSupported`: it calls functions.
    package func observeTyped(
        _ query: Query, deletions: Bool, _ propertyIDs: [UInt32], signature: String, _ function: TypedFunction
    ) throws(StoreError) -> Observer {
        try checkOpen()
        let snapshot = try shared.database.snapshot()
        let cls = try snapshot.schema.cls(query.classID), positions = try cls.typedPositions(propertyIDs)
        return try observeTyped(
            ObserverScope(query).modified(in: positions, of: cls), positions, snapshot, signature, function,
            deletions: deletions)
    }

    private func observeTyped(
        _ scope: ObserverScope, _ positions: [Int], _ snapshot: Snapshot, _ signature: String,
        _ function: TypedFunction, deletions: Bool
    ) throws(StoreError) -> Observer {
        let callback = try TypedCallback(
            try Signature(parsing: signature), class: snapshot.schema.classes[Int(scope.classID)],
            properties: positions, function: function.function, userdata: function.userdata, around: function.around,
            deletions: deletions)
        return try hub.observe(scope, from: snapshot, positions: false) { changes in
            do throws(StoreError) {
                let status = try callback.deliver(changes)
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
    /// - Parameter propertyIDs: modifications of other properties are not reported; nil: of all.
    /// Errors: wrongView (of a view that is not live), wrongStore, noSuchClass, noSuchObject, noSuchProperty.
    package func observe(
        _ object: ObjectID, in view: View, properties propertyIDs: [UInt32]?, handler: @escaping Observer.Handler
    ) throws(StoreError) -> Observer {
        guard view.kind == .live else {
            throw StoreError(
                .wrongView, "an object of a \(view.kind) view never changes: only live ones can be observed")
        }
        let snapshot = try view.pinnedSnapshot("observe")
        let cls = try view.classOf(object, snapshot.schema)
        guard try snapshot.trees.objects(cls).find(object.key) != nil else { throw cls.noSuchObject(object.key) }
        return try hub.observe(
            ObserverScope(class: cls).only(object.key).modified(in: propertyIDs, of: cls), from: snapshot,
            handler: handler)
    }
}

extension ObserverScope {
    fileprivate func modified(in propertyIDs: [UInt32]?, of cls: ClassSchema) throws(StoreError) -> ObserverScope {
        guard let propertyIDs else { return self }
        return modified(in: try cls.positions(propertyIDs), of: cls)
    }
}

extension Results {
    /// What the query finds, against the list as it is now.
    ///
    /// - Parameters:
    ///   - hub: delivers; nil: the store's.
    ///   - propertyIDs: modifications of other properties are not reported; nil: of all.
    /// Errors: wrongView for results of a frozen view or a transaction, and if the view has moved since they were found
    /// (the version that the list is of may be gone).
    package func observe(
        initial: Bool, on hub: ObserverHub? = nil, properties propertyIDs: [UInt32]? = nil,
        handler: @escaping Observer.Handler
    ) throws(StoreError) -> Observer {
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
        let scope = try ObserverScope(query).modified(in: propertyIDs, of: cls)
        return try (hub ?? view.store.hub).observe(
            scope, from: snapshot, keys: UnsafeBufferPointer(start: list.keys, count: list.count), initial: initial,
            handler: handler)
    }
}

extension ChangeSet {
    /// Whether a property was written in the modification at `index`; the moves follow. Errors: outOfRange,
    /// noSuchProperty.
    package func hasChanged(_ propertyID: UInt32, atModification index: UInt64) throws(StoreError) -> Bool {
        guard index < UInt64(modified.count + moved.count) else {
            throw StoreError(
                .outOfRange,
                "index \(index) of \((modified.count + moved.count).counted("modification"))"
                    + (moved.isEmpty ? "" : ", of which \(moved.count.counted("is a move", "are moves"))"))
        }
        return hasChanged(try schema.position(propertyID), ofModification: Int(index))
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

internal import ObjStoreCore

/// What to do with an object whose primary key is in the store already.
public enum UpdatePolicy: Sendable, Hashable {
    /// Throw `.duplicateKey`.
    case error
    /// Write what differs; nothing where nothing does.
    case modified
    /// Write everything.
    case all

    var core: UpsertPolicy {
        switch self {
        case .error: .error
        case .modified: .modified
        case .all: .all
        }
    }
}

/// Changing objects: what ``Store`` (inside `write`) and ``Transaction`` have in common.
///
/// Every call happens as a whole: one that throws has changed nothing, and the write can continue. Outside of a
/// write all of them throw `.notInWrite`.
public protocol StoreWriting: StoreReading {}

extension StoreWriting {
    // MARK: Adding

    /// Stores an unmanaged object: the same instance is managed from then on.
    ///
    /// With `.modified` and `.all` an object of the same primary key is updated, all its properties. An object that is
    /// managed by this store already stays as it is. When the write is undone, the object is invalid.
    ///
    /// Unmanaged objects that its links, and values of any type, lead to are added with it, each once, also in a
    /// circle: all, or none. With `.modified` and `.all` they are updated, too, where their class has a primary key.
    /// Errors: `.duplicateKey`, `.noPrimaryKey` (an update of a class without one), `.wrongStore` (managed by another
    /// store), `.wrongView` (frozen), `.noSuchObject` (deleted), `.embedded` (an embedded object: it is added with its
    /// parent; or one that has a place already), `.noSuchClass`, `.invalidUTF8`, `.valueTooLarge`.
    public func add(_ object: Object, update: UpdatePolicy = .error) throws(ObjStoreError) {
        let (space, view) = try writing("add")
        let binding = try space.binding(type(of: object))
        if let other = object._space {
            guard !other.isFrozen else {
                throw ObjStoreError(.wrongView, "a frozen object cannot be added", class: binding.info.name)
            }
            guard other.handle.sharesStore(with: space.handle) else {
                throw ObjStoreError(.wrongStore, "the object is managed by another store", class: binding.info.name)
            }
            if other.isInvalidated { throw ObjStoreError(other.invalidatedError) }
            guard binding.exists(object._key) else { throw binding.gone(object._key) }
            return
        }
        if binding.info.isEmbedded {
            throw ObjStoreError(
                .embedded, "class \(binding.info.name) is embedded: its objects are added with their parent",
                class: binding.info.name)
        }
        guard binding.info.isFlat, !binding.info.mixed.contains(where: { $0.holdsObject(in: object) }) else {
            return try ObjectGraph.add(object, space, view, update)
        }
        let encoder = space.handle.encoder
        encoder.removeAll()
        encoder.append(object, binding)
        space.adopt(object, binding, try view.put(binding, encoder, update).key)
    }

    /// Adds each of them. Those before one that is refused are added.
    public func add<S: Sequence>(_ objects: S, update: UpdatePolicy = .error) throws(ObjStoreError)
    where S.Element: Object {
        for object in objects { try add(object, update: update) }
    }

    /// Creates an object from a dictionary (names of properties to values), an array (values in the order of
    /// declaration), or any object by the names of its properties; with everything that is nested in it, all or
    /// nothing.
    ///
    /// ```swift
    /// try tx.create(
    ///     Person.self,
    ///     value: ["id": 7, "name": "Jane", "dogs": [rex, ["Buster", 5], ["name": "Buddy"]], "home": ["city": "Rome"]])
    /// ```
    /// What is not given gets its default or null, and must have one of them; an update leaves it as it is. An array
    /// may be shorter than the list of properties, unless `exact`. Numbers must fit: an integer is a double where it is
    /// exactly one, a fraction is no integer, only a bool is a bool.
    ///
    /// A link is an object of this store, or a description in its turn: created, or, with an update, updated where its
    /// primary key is known. Objects that are unmanaged or of another store are copied, with what they lead to; in
    /// values of any type each once. The elements of a collection replace those that are there. An embedded object is
    /// described in full. With `.modified` only what differs is written. An object of this store itself is with an
    /// update what it is, without one copied, its links shared.
    ///
    /// Errors: those of `add`, `.noSuchProperty`, `.wrongType`, `.notNullable`, `.missingValue`, `.outOfRange` (an
    /// array is too long, or more than 200 values inside each other), `.invalidArgument` (a graph to copy is cyclic).
    /// Of what is nested the message begins with where it is: "$.dogs[1].age: …".
    @discardableResult
    public func create<T: Object>(
        _ type: T.Type, value: Any = [String: Any](), update: UpdatePolicy = .error, exact: Bool = false
    )
        throws(ObjStoreError) -> T
    {
        try create(type, value: value, update: update, exact: exact, ignoresUnknown: false)
    }

    /// Creates an object from what a parser made of a text, such as `JSONSerialization`: dictionaries, arrays, texts,
    /// numbers and nulls.
    ///
    /// As ``create(_:value:update:exact:)``, but names that are no properties are ignored, at any depth: the author of
    /// the text may know of more. Numbers are what they were written as: `true` is no integer, 1 no bool, 1.0 no
    /// integer. A text is never a date, data or an id.
    @discardableResult
    public func create<T: Object>(
        _ type: T.Type, parsed tree: Any, update: UpdatePolicy = .error
    ) throws(ObjStoreError) -> T {
        try create(type, value: tree, update: update, exact: false, ignoresUnknown: true)
    }

    package func create<T: Object>(
        _ type: T.Type, value: Any, update: UpdatePolicy, exact: Bool = false, ignoresUnknown: Bool
    ) throws(ObjStoreError) -> T {
        let (space, view) = try writing("create")
        let binding = try space.binding(type)
        let info = binding.info
        if update != .error, let object = instance(value, of: T.self), Swift.type(of: object) == type,
            let other = object._space, !other.isFrozen,
            other.handle.sharesStore(with: space.handle)
        {
            guard binding.exists(object._key) else { throw binding.gone(object._key) }
            return object
        }
        if let object = instance(value, of: T.self), Swift.type(of: object) == type, let source = object._space,
            let own = object._binding?.takeUnretainedValue(),
            !source.handle.sharesStore(with: space.handle)
        {
            // Of another store: the core knows what leads where.
            let made = try core { () throws(StoreError) in
                let description = try source.current.description(of: own.id(object._key), for: view.shared)
                return try view.create(description, update.core).0
            }
            return space.materialise(type, binding, made.key)
        }
        if !info.isFlat || !info.mixed.isEmpty || info.isEmbedded {
            let flattener = ValueFlattener(space, view, update, isExact: exact, ignoresUnknown: ignoresUnknown)
            try flattener.object(binding, value)
            return space.materialise(type, binding, try flattener.store(.object(classID: binding.classID)).key)
        }
        // Nothing is nested in it: one row.
        let encoder = space.handle.encoder
        encoder.removeAll()
        if let object = instance(value, of: Object.self), Swift.type(of: object) == type {
            if object.isManaged, object.isInvalidated {
                throw ObjStoreError(.noSuchObject, "the \(info.name) to copy was deleted", class: info.name)
            }
            encoder.append(object, binding)
        } else {
            let pairs = try info.pairs(value, exact: exact, ignoresUnknown: ignoresUnknown)
            for (property, value) in pairs + (try binding.changingDefaults(pairs, update, by: nil, view)) {
                encoder.begin(binding.properties[Int(property.index)])
                guard property.accessor._encodeAny(value, encoder) else {
                    encoder.removeAll()
                    throw info.wrongType(property, value)
                }
            }
        }
        return space.materialise(type, binding, try view.put(binding, encoder, update).key)
    }

    /// Creates an object from values as `create(_:value:update:exact:)` does, or updates the one that has the same
    /// values in another unique property, or unique index, than the primary key:
    /// `try tx.create(Person.self, value: ["email": "j@x.org"], update: .modified, by: ["email"])`.
    ///
    /// Errors: those of `create`; `.noSuchIndex` (no unique index is of exactly these properties), `.keyImmutable` (a
    /// primary key is given, and that object has another one).
    @discardableResult
    public func create<T: Object>(
        _ type: T.Type, value: Any, update: UpdatePolicy = .error, exact: Bool = false, by names: [String]
    )
        throws(ObjStoreError) -> T
    {
        let (space, view) = try writing("create")
        let binding = try space.binding(type), identity = try binding.identity(by: names)
        let flattener = ValueFlattener(space, view, update, by: identity, isExact: exact)
        try flattener.object(binding, value)
        return space.materialise(type, binding, try flattener.store(.indexed(indexID: identity.indexID)).key)
    }

    /// Copies an object into this store: one of another store, with everything that it leads to; or of this one, with
    /// the same links.
    ///
    /// The same as `create(type(of: object), value: object, update: update)`. With an update the object that has its
    /// primary key is updated and returned. Each object is copied once; without an update, one with a primary key that
    /// something leads to twice is `.duplicateKey`. A cyclic graph cannot be copied: `.invalidArgument`, and nothing is
    /// created.
    @discardableResult
    public func create<T: Object>(copying object: T, update: UpdatePolicy = .error) throws(ObjStoreError) -> T {
        try create(Swift.type(of: object), value: object, update: update)
    }

    // MARK: Deleting

    /// Deletes an object, which is invalid from then on.
    ///
    /// Errors: `.noSuchObject` (deleted already), `.wrongView` (unmanaged or frozen), `.wrongStore`.
    public func delete(_ object: Object) throws(ObjStoreError) {
        let (space, view) = try writing("delete")
        let id = try stored(object, space)
        try core { () throws(StoreError) in try view.delete(id) }
    }

    /// The object of this store that is to be deleted.
    private func stored(_ object: Object, _ space: ObjectSpace) throws(ObjStoreError) -> ObjectID {
        let name = ClassInfo.name(of: type(of: object))
        guard let other = object._space, let binding = object._binding?.takeUnretainedValue() else {
            throw ObjStoreError(.wrongView, "an unmanaged object cannot be deleted: it is in no store", class: name)
        }
        guard !other.isFrozen else { throw ObjStoreError(.wrongView, "a frozen object cannot be deleted", class: name) }
        guard other.handle.sharesStore(with: space.handle) else {
            throw ObjStoreError(.wrongStore, "the object is managed by another store", class: name)
        }
        if other.isInvalidated { throw ObjStoreError(other.invalidatedError) }
        return binding.id(object._key)
    }

    /// Deletes each of them, as they are when it begins: all, or none. What goes with one of them may be one of them;
    /// one that is given twice is `.noSuchObject`.
    public func delete<S: Sequence>(_ objects: S) throws(ObjStoreError) where S.Element: Object {
        let (space, view) = try writing("delete")
        var all: [ObjectID] = []
        for object in objects { all.append(try stored(object, space)) }
        try core { () throws(StoreError) in try view.delete(all) }
    }

    /// Deletes all objects of a class; returns how many there were.
    @discardableResult
    public func deleteAll<T: Object>(_ type: T.Type) throws(ObjStoreError) -> Int {
        let (space, view) = try writing("deleteAll")
        let binding = try space.binding(type)
        return try core { () throws(StoreError) in try view.deleteAll(binding.classID) }
    }

    /// Deletes all objects of all classes of the store, also of those that are not among the models; the schema stays.
    /// Returns how many there were.
    @discardableResult
    public func deleteAll() throws(ObjStoreError) -> Int {
        let (_, view) = try writing("deleteAll")
        return try core { () throws(StoreError) in try view.deleteEverything() }
    }

    // MARK: Inside

    /// The transaction of this thread, which must be this one where this is a ``Transaction``.
    func writing(_ operation: String) throws(ObjStoreError) -> (space: ObjectSpace, view: View) {
        let scope = _scope
        let view = try scope.space.handle.writing(operation)
        if let number = scope.transaction, number != scope.space.handle.transactionNumber {
            throw ObjStoreError(.notInWrite, "\(operation): the transaction has ended")
        }
        return (scope.space, view)
    }
}

extension _RowEncoder {
    /// All values of an object that is flat.
    func append(_ object: Object, _ binding: ClassBinding) {
        for property in binding.info.properties {
            if property.isGenerated && property.isNothing(object) { continue }
            begin(binding.properties[Int(property.index)])
            property.accessor._encode(object, property.offset, self)
        }
    }
}

extension View {
    /// Creates or updates the object whose row is in the encoder.
    func put(
        _ binding: ClassBinding, _ encoder: _RowEncoder, _ update: UpdatePolicy
    ) throws(ObjStoreError) -> ObjectID {
        let refused = encoder.refusedProperty
        do throws(ObjStoreError) {
            return try encoder.withRow { (properties, values) throws(StoreError) in
                if update == .error { return try create(binding.classID, properties, values) }
                return try upsert(binding.classID, update.core, properties, values).0
            }
        } catch {
            guard error.className == nil else { throw error }
            throw refused.map { binding.named(error, $0) }
                ?? ObjStoreError(
                    error.code, error.message, class: binding.info.name, property: error.propertyName,
                    position: error.position)
        }
    }
}

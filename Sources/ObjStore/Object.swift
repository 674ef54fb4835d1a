/// The base of model classes: what an object of a store looks like in Swift.
///
/// ```swift
/// final class Dog: Object {
///     @Persisted(primaryKey: true) var id: Int
///     @Persisted var name = ""
///     @Persisted(indexed: true) var age = 0
///     @Persisted var weight: Double?
/// }
/// ```
/// An object is *unmanaged* until it is added to a store: an ordinary object with ordinary properties. From then
/// on it is a view of what is stored: reading a property gives what the store has now, setting one is possible
/// inside `Store.write` only. Where a property cannot do its work (the object was deleted, the store closed, no write
/// is open), nothing changes, a read gives the type's zero, and the error is thrown by the `write` or `Store.checked`
/// around it or else reported to the store's `onError`; see ``Store/checked(_:)``.
///
/// Objects of a live store may be used by any thread; they are not `Sendable`, because unmanaged ones are plain
/// mutable classes. ``Frozen`` and ``Reference`` cross threads and tasks.
nonisolated open class Object {
    // Read on every access: without the attribute, checks in the user's module cost ten times the access itself.
    // Owns the space, and through it the binding.
    @exclusivity(unchecked) @usableFromInline final var _space: ObjectSpace?
    /// The class as the space has it; nil: unmanaged. Owned by `_space`, read without counting references.
    @exclusivity(unchecked) @usableFromInline final var _binding: Unmanaged<ClassBinding>?
    @exclusivity(unchecked) @usableFromInline final var _key: Int64 = -1
    /// The tracer, while a key path is resolved; of a managed object, the hash of its primary key (`KeptHash`).
    @exclusivity(unchecked) @usableFromInline final var _companion: AnyObject?

    /// An unmanaged object with default values.
    public required init() {}

    deinit { if _binding == nil { letGo() } }

    /// Indexes of several properties; see ``Index``.
    open class var indexes: [Index] { [] }

    /// What properties were called before, so that a file with a lower schema version keeps their values:
    /// `["fullName": "name", "fullName": "title"]`. A name may stay here permanently. See
    /// ``Configuration/schemaVersion``.
    open class var formerNames: KeyValuePairs<String, String> { [:] }

    /// What the file calls properties that have other names here: `["firstName": "first_name"]`. They are looked up and
    /// listed by their names here; errors of the store have the file's. Of a whole class: ``storedName``.
    open class var storedNames: KeyValuePairs<String, String> { [:] }

    /// What the file calls the class; nil: as it is called here.
    open class var storedName: String? { nil }

    /// An unmanaged object from a dictionary (names to values), an array (values in the order of declaration), or any
    /// object by the names of its properties. What is not given has its default.
    ///
    /// A link, or an element of a collection of links, is an object, which it is then, or described in its turn:
    /// `Person(value: [123, "Jane", [rex, ["Buster", 5]]])`.
    /// Errors: `.noSuchProperty`, `.wrongType`, `.notNullable`, `.outOfRange` (too many values). Of what is nested the
    /// message begins with where it is: "$.dogs[1].age: …".
    @_disfavoredOverload
    public convenience init(value: Any) throws {
        self.init()
        try fill(from: value, ignoresUnknown: false)
    }

    package final func fill(from value: Any, ignoresUnknown: Bool) throws(ObjStoreError) {
        var builder = ObjectBuilder()
        builder.ignoresUnknown = ignoresUnknown
        try builder.fill(self, from: value)
    }

    /// The next property that a traced key path leads to.
    @usableFromInline
    final func _trace(_ index: UInt32) -> _Tracer {
        let tracer = unsafeDowncast(_companion.unsafelyUnwrapped, to: _Tracer.self)
        tracer.add(index & ~Persisted<Int>._tracing, of: self)
        return tracer
    }
}

extension Object {
    /// Does the object belong to a store (or did, before it was deleted)?
    public final var isManaged: Bool { _binding != nil }

    /// Does it permanently show one version?
    public final var isFrozen: Bool { _space?.isFrozen ?? false }

    /// Was the object deleted, its creation rolled back, or its store closed? An unmanaged object never is.
    public final var isInvalidated: Bool {
        guard let binding = _binding else { return false }
        return binding._withUnsafeGuaranteedRef { !$0.exists(_key) }
    }

    /// Do both represent the same object of the same store, live or both of the same frozen version?
    public final func isSameObject(as other: Object?) -> Bool {
        guard let other else { return false }
        if self === other { return true }
        guard let space = _space, let otherSpace = other._space, _key == other._key, type(of: self) == type(of: other)
        else { return false }
        return space.shows(otherSpace)
    }

    /// The object as it is in the newest version that its store shows, permanently; itself when it is frozen.
    ///
    /// Keeps that version: let go of it. Errors: `.wrongView` for an unmanaged object and inside a write,
    /// `.noSuchObject`, `.closedHandle`.
    public final func freeze() throws(ObjStoreError) -> Self {
        guard let space = _space, let binding = _binding?.takeUnretainedValue() else {
            throw ObjStoreError(
                .wrongView, "an unmanaged object cannot be frozen: it belongs to no store",
                class: ClassInfo.name(of: type(of: self)))
        }
        if space.isFrozen { return self }
        let frozen = try space.freeze()
        let target = frozen.bindings[binding.position]
        guard target.exists(_key) else { throw target.gone(_key) }
        return frozen.materialise(type(of: self), target, _key)
    }

    /// A property by name: nil where it is null. Errors: `.noSuchProperty`.
    @_disfavoredOverload
    public final func value(forKey name: String) throws(ObjStoreError) -> Any? { try value(named: name) }

    package final func value(named name: String) throws(ObjStoreError) -> Any? {
        let info = try ClassInfo.of(type(of: self))
        if let inverse = info.inverse(named: name) { return inverse.accessor._anyValue(self, inverse.offset) }
        let property = try info.property(named: name)
        return ClassInfo.unwrap(property.accessor._anyValue(self, property.offset))
    }

    /// Sets a property by name. A collection gets the elements of an array, a list or, of links, ``Results``. Links and
    /// embedded objects may be described by dictionaries and arrays, as for `create`:
    /// `person.setValue(["city": "Rome"], forKey: "address")`; those with a primary key that is there are updated.
    /// Errors: `.noSuchProperty`, `.wrongType`; and, for a managed object, what the property itself would report.
    @_disfavoredOverload
    public final func setValue(_ value: Any?, forKey name: String) throws { try setValue(value, named: name) }

    package final func setValue(_ value: Any?, named name: String) throws {
        let info = try ClassInfo.of(type(of: self))
        let property = try info.property(named: name)
        if try replace(property, with: value) { return }
        if property.isDescribed(by: value) { return try set(property, described: value) }
        try Store.checked { try info.assign(value, property, of: self) }
    }
}

/// As dictionaries and sets see objects: with a primary key, by class and key; without one, by identity. So an object
/// stays the same before and after it is added, and when it was deleted.
extension Object: Hashable {
    public static func == (left: Object, right: Object) -> Bool {
        if left === right { return true }
        guard left._binding != nil, left._key == right._key, (try? ClassInfo.of(type(of: left)))?.key.isEmpty == false
        else { return false }
        return left.isSameObject(as: right)
    }

    public func hash(into hasher: inout Hasher) {
        if let info = try? ClassInfo.of(type(of: self)), !info.key.isEmpty {
            hasher.combine(ObjectIdentifier(info.type))
            hasher.combine(isManaged ? KeptHash.of(self, info) : KeptHash.make(self, info))
        } else {
            hasher.combine(ObjectIdentifier(self))
        }
    }
}

/// For people. Another thread may delete the object meanwhile: that is shown, and no error.
extension Object: CustomStringConvertible {
    public var description: String {
        guard let info = try? ClassInfo.of(type(of: self)) else { return "\(type(of: self))" }
        let values = unlessGone {
            info.properties.map { property in
                let value = ClassInfo.unwrap(property.accessor._anyValue(self, property.offset))
                return "\(property.name) = \((value as? Object)?.name ?? value.map { "\($0)" } ?? "nil")"
            }
        }
        return "\(info.name) { \(values?.joined(separator: ", ") ?? "deleted or closed") }"
    }

    /// Class and primary key: links lead in circles.
    var name: String {
        guard let info = try? ClassInfo.of(type(of: self)), !info.key.isEmpty else { return "\(type(of: self))" }
        let key = unlessGone {
            info.key.map { part in ClassInfo.unwrap(part.accessor._anyValue(self, part.offset)).map { "\($0)" } ?? "nil"
            }
        }
        return key.map { "\(info.name)(\($0.joined(separator: ", ")))" } ?? "\(type(of: self))"
    }

    private func unlessGone<R>(_ body: () -> R) -> R? {
        if isInvalidated { return nil }
        return ErrorCollector.unlessGone(_space?.handle.reports, body)
    }
}

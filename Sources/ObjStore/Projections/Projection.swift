internal import ObjStoreCore

/// The base of classes that show a part of an object, under the names that a view wants:
///
/// ```swift
/// class PersonProjection: Projection<Person> {
///     @Projected(\Person.firstName) var firstName
///     @Projected(\Person.address?.city) var homeCity
///     @Projected(\Person.friends.projectTo.firstName) var firstFriendsName: ProjectedCollection<String>
/// }
/// for person in store.objects(PersonProjection.self) { print(person.firstName, person.homeCity ?? "") }
/// ```
/// It stores nothing: reading a property reads what its key path leads to, setting one sets that, inside a write. So
/// it is live, frozen, unmanaged or invalid as its object is, and what cannot be done is reported as for properties of
/// objects. Two projections are equal when they are of one class and of the same object.
///
/// See docs/decisions/0068-projections.md.
nonisolated open class Projection<Root: Object>: ProjectionType {
    /// The object that is shown.
    public final let rootObject: Root
    /// While a key path of the projection is resolved.
    final var recorder: ProjectionRecorder?

    /// A view of an object, managed or not.
    public required init(projecting object: Root) { rootObject = object }
}

/// What ``Projection`` is for generic code; nothing else conforms.
public protocol ProjectionType: _ObservedOne, Hashable, CustomStringConvertible {
    associatedtype Root: Object
    var rootObject: Root { get }
    init(projecting object: Root)
}

/// A property of a ``Projection``, and the key path of what it shows: `@Projected(\Person.firstName) var firstName`.
///
/// The key path leads to a `@Persisted` property of the class, or through links and embedded objects to one of theirs,
/// `\Person.address?.city`: null on the way reads as nil. It may also lead on from there, `\Person.name.count`; then
/// it is read only. `\Person.friends.projectTo.firstName` is a property of each object of a list, set or inverse.
@propertyWrapper
public struct Projected<Root: Object, Value> {
    let keyPath: KeyPath<Root, Value>

    public init(_ keyPath: KeyPath<Root, Value>) { self.keyPath = keyPath }

    @available(*, unavailable, message: "@Projected works in classes derived from Projection only")
    public var wrappedValue: Value {
        get { fatalError() }
        set { fatalError() }
    }

    public static subscript<Enclosing: Projection<Root>>(
        _enclosingInstance projection: Enclosing, wrapped _: ReferenceWritableKeyPath<Enclosing, Value>,
        storage storage: ReferenceWritableKeyPath<Enclosing, Self>
    ) -> Value {
        get {
            let path = ProjectedPath.of(projection[keyPath: storage].keyPath, at: storage)
            if let recorder = projection.recorder {
                recorder.read.append(path.keyPath)
                return path.placeholder()
            }
            return path.read(projection.rootObject)
        }
        set {
            let path = ProjectedPath.of(projection[keyPath: storage].keyPath, at: storage)
            do throws(ObjStoreError) { try path.write(newValue, to: projection.rootObject) } catch {
                projection.rootObject.report(error)
            }
        }
    }
}

/// Notes which properties of a projection are read.
final class ProjectionRecorder {
    var read: [AnyKeyPath] = []
}

// MARK: Objects

extension ProjectionType {
    /// Can its properties be read? Not when the object was deleted, or its store closed.
    public var isInvalidated: Bool { rootObject.isInvalidated }
    /// Does it permanently show one version?
    public var isFrozen: Bool { rootObject.isFrozen }

    /// The same of the object as it is now, permanently. Errors: those of ``Object/freeze()``.
    public func freeze() throws(ObjStoreError) -> Self { Self(projecting: try rootObject.freeze()) }

    /// The same of the live object; nil: it was deleted. Errors: those of ``Object/thaw()``.
    @_disfavoredOverload
    public func thaw() throws(ObjStoreError) -> Self? { try thawed() }

    package func thawed() throws(ObjStoreError) -> Self? { try rootObject.thawed().map { Self(projecting: $0) } }

    public static func == (left: Self, right: Self) -> Bool {
        type(of: left) == type(of: right) && left.rootObject.isSameObject(as: right.rootObject)
    }

    /// By the object; of one without a primary key, another one from when it is added to a store.
    public func hash(into hasher: inout Hasher) {
        if rootObject.isManaged, (try? ClassInfo.of(Root.self))?.key.isEmpty == true {
            hasher.combine(ObjectIdentifier(Root.self))
            hasher.combine(rootObject._key)
        } else {
            hasher.combine(rootObject)
        }
    }

    public var description: String {
        let fields = (try? ProjectionInfo.of(Self.self))?.fields ?? []
        guard !rootObject.isInvalidated else { return "\(type(of: self)) { deleted or closed }" }
        let values = ErrorCollector.unlessGone(rootObject._space?.handle.reports) {
            fields.map { field in
                let value = ClassInfo.unwrap(field.path.value(rootObject))
                return "\(field.name) = \((value as? Object)?.name ?? value.map { "\($0)" } ?? "nil")"
            }
        }
        return "\(type(of: self)) { \(values?.joined(separator: ", ") ?? "deleted or closed") }"
    }
}

// MARK: Classes

/// What a class derived from ``Projection`` shows: read once, from one of an unmanaged object.
final class ProjectionInfo: @unchecked Sendable {
    struct Field: Sendable {
        let name: String
        let path: AnyProjectedPath
    }

    let name: String
    let fields: [Field]

    private static let known = Guarded<[ObjectIdentifier: ProjectionInfo]>([:])

    /// Errors: `.invalidSchema`, those of the class that is projected.
    static func of<P: ProjectionType>(_ type: P.Type) throws(ObjStoreError) -> ProjectionInfo {
        let id = ObjectIdentifier(type)
        if let known = known.withLock({ $0[id] }) { return known }
        let info = try ProjectionInfo(type)
        return known.withLock { known in
            if let other = known[id] { return other }
            known[id] = info
            return info
        }
    }

    private init<P: ProjectionType>(_ type: P.Type) throws(ObjStoreError) {
        _ = try ClassInfo.of(P.Root.self)
        name = String(describing: type)
        var found: [Field] = []
        var mirror: Mirror? = Mirror(reflecting: P(projecting: P.Root()))
        while let level = mirror {
            let own: [Field] = level.children.compactMap { child in
                guard let projected = child.value as? any AnyProjected, let label = child.label, label.first == "_"
                else { return nil }
                return Field(name: String(label.dropFirst()), path: projected.path)
            }
            found = own + found
            mirror = level.superclassMirror
        }
        guard !found.isEmpty else {
            throw ObjStoreError(
                .invalidSchema,
                "\(name) has no @Projected property, or its module was built without reflection metadata", class: name)
        }
        fields = found
    }

    func field(named name: String) throws(ObjStoreError) -> Field {
        if let field = fields.first(where: { $0.name == name }) { return field }
        throw ObjStoreError(
            .noSuchProperty,
            """
            \(self.name) does not have a projected property \(name); it has \
            \(fields.map(\.name).joined(separator: ", "))
            """, class: self.name, property: name)
    }

    /// The property that a key path of the projection reads.
    func field<P: ProjectionType>(_ keyPath: PartialKeyPath<P>) throws(ObjStoreError) -> Field {
        let projection = P(projecting: P.Root()), recorder = ProjectionRecorder()
        (projection as? Projection<P.Root>)?.recorder = recorder
        _ = projection[keyPath: keyPath]
        guard recorder.read.count == 1, let field = fields.first(where: { $0.path.keyPath == recorder.read[0] }) else {
            throw ObjStoreError(
                .invalidQuery, "the key path does not lead to one @Projected property of \(name)", class: name)
        }
        return field
    }

    /// What observers of these properties follow, as paths of the class that is projected.
    func observed(_ fields: [Field]) throws(ObjStoreError) -> [String] {
        var names: [String] = []
        for field in fields {
            guard let path = field.path.names else {
                throw ObjStoreError(
                    .invalidQuery,
                    """
                    \(name).\(field.name) cannot be observed: its key path does not lead through @Persisted properties
                    """, class: name, property: field.name)
            }
            let key = path.map(\.name).joined(separator: ".")
            if !names.contains(key) { names.append(key) }
        }
        return names
    }
}

/// What reflection finds in a projection.
protocol AnyProjected {
    var path: AnyProjectedPath { get }
}

extension Projected: AnyProjected {
    var path: AnyProjectedPath { ProjectedPath<Root, Value>(keyPath) }
}

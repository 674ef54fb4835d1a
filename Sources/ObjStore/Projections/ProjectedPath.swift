internal import ObjStoreCore

/// Where a property of a projection leads, for code that does not know its type.
///
/// ```
///  \Person.address?.city                    Person.address ─► Address.city             exact: can be set, too
///  \Person.lastName.localizedUppercase      Person.lastName, and a value made of it    read by the key path
///  \Person.friends.projectTo.firstName      Person.friends, then Person.firstName      of each element
/// ```
class AnyProjectedPath: @unchecked Sendable {
    struct Step {
        let name: String
        let isInverse: Bool
    }

    let keyPath: AnyKeyPath

    fileprivate init(_ keyPath: AnyKeyPath) { self.keyPath = keyPath }

    /// The properties on the way; nil: it does not lead through `@Persisted` properties alone.
    var names: [Step]? { fatalError("overridden") }

    /// What an object of the class has there.
    func value(_ root: Object) -> Any { fatalError("overridden") }
}

final class ProjectedPath<Root: Object, Value>: AnyProjectedPath, @unchecked Sendable {
    private let whole: KeyPath<Root, Value>
    /// Something on the way is unwrapped by force, which must not stop the program.
    private let isForced: Bool
    private let tracing = Guarded(Tracing.notYet)

    private enum Tracing: @unchecked Sendable {
        case notYet
        case done(KeyPaths.Projected?)
    }

    init(_ keyPath: KeyPath<Root, Value>) {
        whole = keyPath
        isForced = keyPath.debugDescription.contains("!")
        super.init(keyPath)
    }

    override var names: [Step]? {
        traced.map { $0.steps.map { Step(name: $0.name, isInverse: $0.isInverse) } + $0.behind }
    }

    override func value(_ root: Object) -> Any { read(unsafeDowncast(root, to: Root.self)) }

    /// Only where it is needed: tracing runs what the key path leads to, computed properties too, on an empty object.
    private var traced: KeyPaths.Projected? {
        if case .done(let found) = tracing.withLock({ $0 }) { return found }
        let found = try? KeyPaths.projected(whole)
        tracing.withLock { $0 = .done(found) }
        return found
    }

    /// What the key path gives of an object that has everything on the way.
    func placeholder() -> Value {
        guard let info = try? ClassInfo.of(Root.self) else { return Root()[keyPath: whole] }
        return KeyPaths.prototype(Root.self, info, _Tracer())[keyPath: whole]
    }

    // MARK: Values

    /// Where something on the way is null: nil, or what a read that fails gives, and that is reported.
    func read(_ root: Root) -> Value {
        guard isForced, let traced, traced.steps.count > 1 else { return root[keyPath: whole] }
        guard let last = traced.end(from: root) else {
            if let type = Value.self as? any ExpressibleByNilLiteral.Type,
                let null = type.init(nilLiteral: ()) as? Value
            {
                return null
            }
            root.report(traced.absent(root))
            return traced.zero as? Value ?? placeholder()
        }
        guard traced.isExact, let end = traced.steps.last else { return root[keyPath: whole] }
        return end.accessor._anyValue(last, end.offset) as? Value ?? root[keyPath: whole]
    }

    /// Errors: `.invalidArgument`: it can only be read; `.noSuchObject`: something on the way is null; `.notNullable`.
    func write(_ value: Value, to root: Root) throws(ObjStoreError) {
        let writable = whole as? ReferenceWritableKeyPath<Root, Value>
        if let writable, !isForced {
            root[keyPath: writable] = value
            return
        }
        if let traced, traced.steps.count > 1 {
            guard let last = traced.end(from: root) else { throw traced.absent(root) }
            if traced.isExact, let end = traced.steps.last, !end.isInverse {
                return try end.info.assign(value, end.info.properties[end.index], of: last)
            }
        }
        guard let writable else {
            let name = ClassInfo.name(of: Root.self), path = names.map { ".\($0.path)" } ?? ""
            throw ObjStoreError(
                .invalidArgument, "what is projected of \(name)\(path) cannot be set: its key path is for reading only",
                class: name, property: names?.first?.name)
        }
        root[keyPath: writable] = value
    }

    // MARK: Finding

    private struct Known: @unchecked Sendable {
        let storage: AnyKeyPath
        let path: ProjectedPath
    }
    private static var limit: Int { 4096 }

    /// The path of a property of a projection: `storage` is where it lies there, by which it is found again.
    static func of(_ keyPath: KeyPath<Root, Value>, at storage: AnyKeyPath) -> ProjectedPath {
        let id = ObjectIdentifier(storage)
        if let known = knownPaths.withLock({ $0[id] }) as? Known, known.path.whole == keyPath { return known.path }
        let known = Known(storage: storage, path: ProjectedPath(keyPath))
        knownPaths.withLock { paths in
            if paths.count >= limit { paths.removeAll() }
            paths[id] = known
        }
        return known.path
    }
}

/// Key paths that are kept with them keep their identity. Code that makes them at run time makes new ones without end.
private let knownPaths = Guarded<[ObjectIdentifier: any Sendable]>([:])

extension [AnyProjectedPath.Step] {
    fileprivate var path: String { map(\.name).joined(separator: ".") }
}

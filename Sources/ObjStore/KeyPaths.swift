/// Listens while a key path is evaluated on an object whose getters say which property they are.
public final class _Tracer {
    /// Indexes of properties.
    var path: [UInt32] = []

    init() {}
}

/// Which property a key path leads to.
enum KeyPaths {
    /// The key path is kept: its identity stays its own.
    private struct Known: @unchecked Sendable {
        let keyPath: AnyKeyPath
        let index: UInt32
    }
    private static let known = Guarded<[ObjectIdentifier: Known]>([:])
    /// Literals are objects of the program; code that makes key paths at run time makes new ones without end.
    private static let limit = 4096

    /// Errors: `.invalidQuery` where it does not lead to a `@Persisted` property of the class itself, or beyond one
    /// (`\.age.nonzeroBitCount`).
    static func property<Root: Object>(_ keyPath: PartialKeyPath<Root>) throws(ObjStoreError) -> ClassInfo.Property {
        let info = try ClassInfo.of(Root.self), index = try index(keyPath)
        guard index < info.properties.count else { throw noProperty(info) }
        return info.properties[index]
    }

    /// The same of an inverse, too, as an index: those of inverses follow those of properties.
    static func index<Root: Object>(_ keyPath: PartialKeyPath<Root>) throws(ObjStoreError) -> Int {
        let id = ObjectIdentifier(keyPath)
        if let known = known.withLock({ $0[id] }) { return Int(known.index) }
        let info = try ClassInfo.of(Root.self), tracer = _Tracer()
        let prototype = prototype(Root.self, info, tracer)
        let value = prototype[keyPath: keyPath]
        guard tracer.path.count == 1, let accessor = info.accessor(Int(tracer.path[0])),
            ends(value, type(of: keyPath).valueType, at: accessor)
        else { throw noProperty(info) }
        known.withLock { known in
            if known.count >= limit { known.removeAll() }
            known[id] = Known(keyPath: keyPath, index: tracer.path[0])
        }
        return Int(tracer.path[0])
    }

    private static func noProperty(_ info: ClassInfo) -> ObjStoreError {
        ObjStoreError(
            .invalidQuery, "the key path does not lead to one @Persisted property of \(info.name)", class: info.name)
    }

    /// Whether a key path that has read one property ends there: what it gives is what the getter gave.
    private static func ends(_ value: Any, _ type: Any.Type, at accessor: any Persistable.Type) -> Bool {
        func isSame<Value: Persistable>(_: Value.Type) -> Bool {
            // `\.nickname!` is the property as well.
            guard type == Value.self || _openExistential(type, do: optional) == Value.self else { return false }
            // Of objects and collections each getter gives a new one: there the type says it.
            guard let value = value as? any _PersistableValue & Equatable else { return true }
            return isEqual(value, Value._traced(_Tracer()))
        }
        func optional<Wrapped>(_: Wrapped.Type) -> Any.Type { Wrapped?.self }
        func isEqual<Value: Equatable>(_ a: Value, _ b: Any) -> Bool { b as? Value == a }
        return isSame(accessor)
    }

    /// An object whose getters tell the tracer which property they are.
    static func prototype<T: Object>(_ type: T.Type, _ info: ClassInfo, _ tracer: _Tracer) -> T {
        let prototype = type.init()
        prototype._tracer = tracer
        bind(prototype, info)
        return prototype
    }

    private static func bind(_ object: Object, _ info: ClassInfo) {
        let base = Unmanaged.passUnretained(object).toOpaque()
        for (index, offset) in info.indexOffsets.enumerated() {
            (base + offset).storeBytes(of: UInt32(index) | Persisted<Int>._tracing, as: UInt32.self)
        }
    }
}

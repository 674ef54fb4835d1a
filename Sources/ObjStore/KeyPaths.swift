/// Listens while a key path is evaluated on an object whose getters say which property they are.
public final class _Tracer {
    /// Indexes of properties.
    var path: [UInt32] = []
    /// Each of them was read of the object that the one before it leads to, the first of the first.
    private(set) var isStraight = true
    private var expected: ObjectIdentifier?
    /// The class of the object that was read last.
    private var last: Object.Type?

    init() {}

    /// What a new object has in the property that was read last.
    var initialValue: Any? {
        guard let last, let index = path.last else { return nil }
        return (try? ClassInfo.of(last))?.initialValue(Int(index))
    }

    /// What is read next is of that object.
    func expect(_ object: Object) { expected = ObjectIdentifier(object) }

    func add(_ index: UInt32, of object: Object) {
        if expected != ObjectIdentifier(object) { isStraight = false }
        expected = nil
        last = type(of: object)
        path.append(index)
    }
}

/// Which property a key path leads to.
enum KeyPaths {
    /// The key path is kept: its identity stays its own.
    private struct Known: @unchecked Sendable {
        let keyPath: AnyKeyPath
        let path: [UInt32]
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
        let path = try path(keyPath)
        guard path.count == 1 else { throw noProperty(try ClassInfo.of(Root.self)) }
        return Int(path[0])
    }

    /// The same also through links and embedded objects, `\.owner?.address?.city`: an index in the class of each.
    static func path<Root: Object>(_ keyPath: PartialKeyPath<Root>) throws(ObjStoreError) -> [UInt32] {
        let id = ObjectIdentifier(keyPath)
        if let known = known.withLock({ $0[id] }) { return known.path }
        let info = try ClassInfo.of(Root.self), tracer = _Tracer()
        let prototype = prototype(Root.self, info, tracer)
        let value = prototype[keyPath: keyPath], path = tracer.path
        guard tracer.isStraight, let accessor = try accessor(path, info),
            ends(value, type(of: keyPath).valueType, at: accessor, isBehindLink: path.count > 1)
        else { throw noProperty(info) }
        known.withLock { known in
            if known.count >= limit { known.removeAll() }
            known[id] = Known(keyPath: keyPath, path: path)
        }
        return path
    }

    /// Of the last property of a path; nil: it leads to none.
    private static func accessor(
        _ path: [UInt32], _ info: ClassInfo
    ) throws(ObjStoreError) -> (any Persistable.Type)? {
        guard let last = path.last else { return nil }
        let infos = try classes(path, info)
        return infos.count == path.count ? infos[path.count - 1].accessor(Int(last)) : nil
    }

    /// The class of each property of a path; fewer where what is before one is no link.
    static func classes(_ path: [UInt32], _ info: ClassInfo) throws(ObjStoreError) -> [ClassInfo] {
        var infos = [info]
        for index in path.dropLast() {
            let properties = infos[infos.count - 1].properties
            guard index < properties.count, !properties[Int(index)].type.isCollection,
                let linked = properties[Int(index)].type.linked
            else { break }
            infos.append(try ClassInfo.of(linked))
        }
        return infos
    }

    /// `owner.address.city`.
    static func name<Root: Object>(_ keyPath: PartialKeyPath<Root>) throws(ObjStoreError) -> String {
        let info = try ClassInfo.of(Root.self), path = try path(keyPath)
        var names: [String] = []
        for (info, index) in zip(try classes(path, info), path) {
            guard index < info.properties.count else { throw noProperty(info) }
            names.append(info.properties[Int(index)].name)
        }
        return names.joined(separator: ".")
    }

    static func noProperty(_ info: ClassInfo) -> ObjStoreError {
        ObjStoreError(
            .invalidQuery, "the key path does not lead to one @Persisted property of \(info.name)", class: info.name)
    }

    /// Whether a key path that has read one property ends there: what it gives is what the getter gave.
    static func ends(
        _ value: Any, _ type: Any.Type, at accessor: any Persistable.Type, isBehindLink: Bool
    ) -> Bool {
        func isSame<Value: Persistable>(_: Value.Type) -> Bool {
            if isBehindLink {
                // What is no optional there was made of it: `owner?.age ?? 0`.
                guard type == Value?.self || type == Value.self && Value.self is any AnyOptional.Type else {
                    return false
                }
            } else {
                // `\.nickname!` is the property as well.
                guard type == Value.self || _openExistential(type, do: optional) == Value.self else { return false }
            }
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
        prototype._companion = tracer
        tracer.expect(prototype)
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

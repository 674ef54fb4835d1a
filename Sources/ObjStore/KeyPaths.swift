internal import Synchronization

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
    private static let known = Mutex<[ObjectIdentifier: Known]>([:])
    /// Literals are objects of the program; who makes key paths at run time makes new ones for ever.
    private static let limit = 4096

    /// Errors: `.invalidQuery` where it does not lead to a `@Persisted` property of the class itself.
    static func property<Root: Object>(_ keyPath: PartialKeyPath<Root>) throws(ObjStoreError) -> ClassInfo.Property {
        let info = try ClassInfo.of(Root.self)
        let id = ObjectIdentifier(keyPath)
        if let known = known.withLock({ $0[id] }) { return info.properties[Int(known.index)] }
        let tracer = _Tracer()
        let prototype = prototype(Root.self, info, tracer)
        _ = prototype[keyPath: keyPath]
        guard tracer.path.count == 1, tracer.path[0] < info.properties.count else {
            throw ObjStoreError(.invalidQuery, "the key path does not lead to one @Persisted property of \(info.name)", class: info.name)
        }
        known.withLock { known in
            if known.count >= limit { known.removeAll() }
            known[id] = Known(keyPath: keyPath, index: tracer.path[0])
        }
        return info.properties[Int(tracer.path[0])]
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

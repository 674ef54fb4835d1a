internal import ObjStoreCore

/// The hash of a managed object's primary key, which never changes: what the first to ask finds is kept for those
/// that follow, so that a set still finds an object that was deleted. Several threads may ask at a time.
final class KeptHash {
    private static let lock = Lock()
    private let value: Int

    private init(_ value: Int) { self.value = value }

    /// 0: the object was deleted, or its store closed, before anybody asked.
    static func of(_ object: Object, _ info: ClassInfo) -> Int {
        if let kept = lock.withLock({ object._companion as? KeptHash }) { return kept.value }
        if object.isInvalidated { return 0 }
        guard let found = ErrorCollector.unlessGone(object._space?.handle.reports, { make(object, info) }) else {
            return 0
        }
        let kept = KeptHash(found)
        lock.withLock { object._companion = kept }
        return found
    }

    static func make(_ object: Object, _ info: ClassInfo) -> Int {
        var hasher = Hasher()
        for part in info.key { part.accessor._hash(object, part.offset, into: &hasher) }
        return hasher.finalize()
    }
}

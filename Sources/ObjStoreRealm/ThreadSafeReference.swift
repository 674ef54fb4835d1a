public import ObjStore

/// An object, list, set or map on its way to another thread: see ``ObjStore/Reference``. It may be resolved more than
/// once. What cannot be referred to (an unmanaged object) is reported, and resolves to nil.
public struct ThreadSafeReference<Confined: Referable>: Sendable {
    let reference: Reference<Confined>?

    public init(to confined: Confined) {
        do { reference = try Reference(confined) } catch {
            Store.reportOfNoStore(error)
            reference = nil
        }
    }

    /// Whether there is nothing to resolve.
    public var isInvalidated: Bool { reference == nil }
}

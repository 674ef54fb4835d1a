internal import CSystem

extension Unmanaged {
    /// The object, unless its last reference is gone: then it is inside of its `deinit`, or about to be.
    ///
    /// Only where its memory cannot go meanwhile: its `deinit` first waits for a lock that the caller has. The caller
    /// uses the object, and releases it, after it has released that lock: its reference may be the last.
    package var strong: Instance? {
        guard let pointer = cs_try_retain(toOpaque()) else { return nil }
        return Unmanaged.fromOpaque(pointer).takeRetainedValue()
    }
}

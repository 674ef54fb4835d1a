internal import Synchronization

/// How a store reaches a view that it has to close, without keeping it alive. An object with a weak reference has its
/// references counted slowly, and every call on a view counts some.
final class ViewTether: Movable, @unchecked Sendable {
    private let lock = Lock()
    private var view: Unmanaged<View>?
    private let mayFollow = Atomic(false)

    /// Whether the store's hub was ever asked to move it.
    var hasFollowed: Bool { mayFollow.load(ordering: .sequentiallyConsistent) }

    /// The hub is going to be asked.
    func follows() { mayFollow.store(true, ordering: .sequentiallyConsistent) }

    func hold(_ view: View) { lock.withLock { self.view = Unmanaged.passUnretained(view) } }

    /// Closes the view, unless it is going and does that itself. Waits for calls of other threads on it.
    func close() {
        // The view cannot be freed inside of the lock: it first takes that to let go.
        let view = lock.withLock { self.view?.strong }
        view?.close(waitsForReaders: true)
    }

    /// Moves the view, unless it is going. It is used inside of the lock: this reference is never its last.
    func move(to newest: Snapshot) {
        lock.withLock { view?._withUnsafeGuaranteedRef { $0.move(to: newest) } }
    }

    /// The view is going.
    func letGo() { lock.withLock { view = nil } }
}

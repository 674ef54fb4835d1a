/// How a store reaches a view that it has to close, without keeping it alive. An object with a weak reference has its
/// references counted slowly, and every call on a view counts some.
final class ViewTether: @unchecked Sendable {
    private let lock = Lock()
    private var view: Unmanaged<View>?

    func hold(_ view: View) { lock.withLock { self.view = Unmanaged.passUnretained(view) } }

    /// Closes the view, unless it is going and does that itself. Waits for calls of other threads on it.
    func close() {
        // The view cannot be freed meanwhile: it first takes the lock to let go.
        lock.withLock { view?._withUnsafeGuaranteedRef { $0.close(waitsForReaders: true) } }
    }

    /// The view is going. Waits for `close`.
    func letGo() { lock.withLock { view = nil } }
}

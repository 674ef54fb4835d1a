/// Going along with what is committed: which views move, when, and what else happens then.
///
/// ```
///               live views that go along   a view that is given   handlers   bodies of asynchronous writes
///  deliver, wait         move                                      called     called
///  refresh               move                     moves            called
///  View.refresh                                   moves
/// ```
extension Store {
    /// Moves a view to the newest version, and calls the handlers of change sets that are due, unless the worker does
    /// that. Returns whether the view has moved. Inside a handler of this store, and where this thread has a
    /// transaction open, nothing happens.
    ///
    /// Errors: `.wrongView`, `.wrongStore`; those of ``View/refresh()`` and of `ObserverHub.deliver`, after which the
    /// view has moved all the same.
    package func refresh(_ view: View?) throws(StoreError) -> Bool {
        try checkOpen()
        if let view {
            guard view.kind == .live else { throw StoreError(.wrongView, "only a live view can be refreshed") }
            guard view.store === self else {
                throw StoreError(
                    .wrongStore, "the view was opened through another handle than the store that is refreshed")
            }
        }
        let before = try view?.version()
        if isInHandler || shared.isWriterThread { return false }
        var failure: StoreError?
        if !hub.deliversOnWorker {
            do throws(StoreError) { _ = try hub.deliver(changesOnly: true) } catch { failure = error }
        }
        // In the child of a fork there is nothing that could move.
        if let failure, failure.code == .forked { throw failure }
        _ = try view?.refresh()
        if let failure { throw failure }
        return try view?.version() != before
    }

    /// Whether this thread is inside a handler, whoever delivers to it.
    package var isInHandler: Bool { hub.isInCallback || otherHubs.contains { $0.isInCallback } }
}

extension View {
    /// Whether what delivers the store's change sets moves it before it calls handlers, to the version that these are
    /// told of: a live view.
    ///
    /// Errors: `.wrongView`, `.closedHandle`.
    package func setAutorefresh(_ isOn: Bool) throws(StoreError) {
        guard kind == .live else {
            throw StoreError(.wrongView, "only a live view can follow by itself, and this is \(kind)")
        }
        if isClosed { throw closedError }
        tether.follows()
        store.hub.move(tether, isOn)
        // Closed meanwhile, it was not found to be taken out.
        if isClosed { store.hub.move(tether, false) }
    }
}

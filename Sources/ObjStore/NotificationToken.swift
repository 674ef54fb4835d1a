internal import ObjStoreCore

/// An observer that is at work: it ends with `invalidate()`, or when the last reference to its token goes.
///
/// It keeps the store open. Any thread.
public final class NotificationToken: Sendable {
    /// Nil: of an observer that there is none of.
    let observer: Observer?
    let handle: StoreHandle?
    /// Nil: where the program delivers.
    private let place: HandlerPlace?

    init(_ observer: Observer, _ handle: StoreHandle, _ place: HandlerPlace? = nil) {
        self.observer = observer
        self.handle = handle
        self.place = place
    }

    /// For other modules of the package, where observing failed and was reported.
    package init() { (observer, handle, place) = (nil, nil, nil) }

    /// Ends the observer. Its handler is not called any more after this returns: a call on another thread is waited
    /// for, except inside a handler and inside a write of this thread, where that could be for ever. A second call does
    /// nothing.
    public func invalidate() {
        if let observer { handle?.store.close(observer) }
        place?.end()
    }

    /// Nothing is told any more until ``resume()``, and then all that was committed meanwhile, at once. A call that
    /// runs on another thread goes on. It keeps the version that the observer knows.
    public func pause() { observer?.pause() }
    /// Goes on after ``pause()``; otherwise nothing.
    public func resume() { observer?.resume() }

    /// How many versions were committed that the observer has not been told of.
    public var lag: Int { Int(observer?.lag ?? 0) }

    /// At least so long a time, up to a day, lies between the end of one call and the next; what is committed meanwhile
    /// is told in one piece. Zero: no rest.
    ///
    /// Errors: `.outOfRange`: it is negative, or longer.
    public func setInterval(_ interval: Duration) throws(ObjStoreError) {
        let (seconds, attoseconds) = interval.components
        guard let observer else { return }
        try core { () throws(StoreError) in
            guard (-1...86_400).contains(seconds) else {
                throw StoreError(.outOfRange, "an interval of \(interval): 0 to 24 hours")
            }
            try observer.setInterval(nanoseconds: seconds * 1_000_000_000 + attoseconds / 1_000_000_000)
        }
    }

    deinit {
        observer?.close(waits: false)
        place?.end()
    }
}

// MARK: Delivery

/// Handlers run on threads that the program lends: nothing happens behind its back.
///
/// ```swift
/// let token = try store.objects(Dog.self).observe { change in … }
/// while isRunning { try store.wait() }     // or poll `notifyDescriptor` and call `deliver()`
/// ```
/// (`for await change in results.changes` needs none of these.) With `Configuration.deliversOnWorker` a thread of the
/// library calls them as soon as something is due.
extension Store {
    /// A file descriptor that is readable while change sets may be due, for `poll`, `epoll` and event loops. It stays
    /// the store's: never read nor close it.
    ///
    /// Errors: `.notSupported` (the store delivers on its worker), `.io` (no descriptor left), `.closedHandle`.
    public var notifyDescriptor: Int32 {
        get throws(ObjStoreError) { try core { () throws(StoreError) in try hub.notifyDescriptor() } }
    }

    /// Calls the handlers for which something is due, on this thread, and the bodies and completions of asynchronous
    /// writes; returns how many calls there were. Never waits for writers.
    ///
    /// After a fifth of a millisecond of bodies the next one waits for the next call.
    ///
    /// Errors: the first one of a handler, after all were called (an ``ObjStoreError`` as it is, what accessors
    /// reported as in `write`, others as `.callback`); `.inCallback` inside a handler; `.closedHandle`, `.io`.
    @discardableResult
    public func deliver() throws(ObjStoreError) -> Int { try core { () throws(StoreError) in try hub.deliver() } }

    /// Waits until something is due, and delivers it; returns how many calls of handlers, bodies and completions there
    /// were, 0 when the time was over, a signal came, or the last asynchronous write has ended and nobody is told. Nil:
    /// for ever. Uses no processor time while it waits. What the delivery before could not read is tried again when
    /// something was committed, or the time is over.
    ///
    /// Errors: those of ``deliver()``; `.closedHandle` also when another thread closes the store meanwhile.
    @discardableResult
    public func wait(atMost timeout: Duration? = nil) throws(ObjStoreError) -> Int {
        try core { () throws(StoreError) in try hub.wait(timeout: timeout?.nanoseconds ?? -1) }
    }

    private var hub: ObserverHub { space.handle.store.hub }
}

extension Duration {
    /// Never negative; what does not fit is the longest there is.
    fileprivate var nanoseconds: Int64 {
        let (seconds, attoseconds) = components
        if seconds < 0 { return 0 }
        let (whole, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
        let (sum, tooMuch) = whole.addingReportingOverflow(attoseconds / 1_000_000_000)
        return overflow || tooMuch ? .max : sum
    }
}

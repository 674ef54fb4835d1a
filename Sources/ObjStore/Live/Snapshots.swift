/// Snapshots of something that follows, one after the other, for one loop; see
/// ``ListSource/snapshots(keyPaths:interval:)`` and ``SectionedResults/snapshots(keyPaths:interval:)``.
public struct Snapshots<Snapshot: Sendable>: AsyncSequence, Sendable {
    public typealias Element = Snapshot
    public typealias Failure = Never
    private let source = Source()

    /// - Parameters:
    ///   - observed: is observed from now on.
    ///   - make: a snapshot of what there is after a change; never called by two threads at a time.
    init<Observed: _Observed>(
        _ observed: Observed, _ keyPaths: [String]?, _ interval: Duration,
        _ make: @escaping @Sendable (Observed.Change) -> Snapshot
    ) throws {
        try source.begin(observed, keyPaths, interval, make)
    }

    public func makeAsyncIterator() -> Iterator { Iterator(source: source) }

    /// What has come and was not taken; nil: nothing. Waits for nothing.
    func next() -> Snapshot? { source.take() }

    public struct Iterator: AsyncIteratorProtocol {
        fileprivate let source: Source

        public mutating func next() async -> Snapshot? { await source.next() }
        public mutating func next(isolation actor: isolated (any Actor)?) async -> Snapshot? { await source.next() }
    }

    fileprivate final class Source: Sendable {
        private struct State {
            var due: [Snapshot] = []
            var token: NotificationToken?
            var place: HandlerPlace?
        }
        private let state = Guarded(State())
        private let signal = TaskSignal()

        func begin<Observed: _Observed>(
            _ observed: Observed, _ keyPaths: [String]?, _ interval: Duration,
            _ make: @escaping @Sendable (Observed.Change) -> Snapshot
        ) throws {
            let signal = signal, place = HandlerPlace { _ in signal.raise() }
            // The handler is the observer's, and must not keep alive what ends that.
            let token = try observed._observe(keyPaths, place) { [weak self] change in
                guard let self else { return }
                let snapshot = make(change)
                state.withLock { $0.due.append(snapshot) }
            }
            try token.setInterval(interval)
            state.withLock { ($0.token, $0.place) = (token, place) }
        }

        /// Delivers what is due.
        func take() -> Snapshot? {
            if let due = first() { return due }
            state.withLock { $0.place }?.deliver()
            return first()
        }

        private func first() -> Snapshot? {
            state.withLock { $0.due.isEmpty ? nil : $0.due.removeFirst() }
        }

        func next() async -> Snapshot? {
            while !Task.isCancelled {
                if let due = take() { return due }
                guard state.withLock({ $0.place })?.isOpen == true else { break }
                await signal.wait()
            }
            let token = state.withLock { state in
                defer { state = State() }
                return state.token
            }
            token?.invalidate()
            return nil
        }
    }
}

internal import ObjStoreCore

/// One loop over changes: those of ``Results/changes`` and its relatives.
public struct ChangeIterator<Change: Sendable>: AsyncIteratorProtocol {
    public typealias Failure = Never
    private let source: ChangeSource<Change>?

    /// - Parameters:
    ///   - space: nil: it is in no store. There are no changes, and nobody to tell why.
    ///   - begin: makes an observer.
    init(of space: ObjectSpace?, _ begin: @escaping ChangeSource<Change>.Begin) {
        source = space.map { ChangeSource($0.handle, begin) }
    }

    public mutating func next() async -> Change? { await source?.next() }
    public mutating func next(isolation actor: isolated (any Actor)?) async -> Change? { await source?.next() }
}

/// What one loop over changes waits for and gets.
final class ChangeSource<Change: Sendable>: Sendable {
    typealias Begin =
        @Sendable (_ hub: ObserverHub, _ add: @escaping @Sendable (Change) -> Void) throws(ObjStoreError) -> Void

    private let handle: StoreHandle
    private let begin: Begin
    private let signal = TaskSignal()
    private let state = Guarded(State())

    private struct State {
        var hub: ObserverHub?
        var isOver = false
        /// Delivered, and not handed out yet: an initial one, and one more at most.
        var due: [Change] = []
    }

    /// - Parameter begin: makes an observer on a hub, which adds what it is told.
    init(_ handle: StoreHandle, _ begin: @escaping Begin) {
        self.handle = handle
        self.begin = begin
    }

    deinit { end() }

    func next() async -> Change? {
        do throws(ObjStoreError) {
            while !Task.isCancelled {
                if let change = state.withLock({ $0.due.isEmpty ? nil : $0.due.removeFirst() }) {
                    handle.follow()
                    return change
                }
                guard let hub = try hub() else { return nil }
                if try core({ () throws(StoreError) in try hub.deliver() }) == 0 { await signal.wait() }
            }
        } catch {
            if error.code != .closedHandle { handle.reports.report(error) }
        }
        end()
        return nil
    }

    /// Begins at the first call; nil: it is over.
    private func hub() throws(ObjStoreError) -> ObserverHub? {
        let (known, isOver) = state.withLock { ($0.hub, $0.isOver) }
        if known != nil || isOver { return known }
        let signal = signal
        let hub = try core { () throws(StoreError) in try handle.store.makeHub { signal.raise() } }
        state.withLock { $0.hub = hub }
        // The hub's observer, and it must not keep alive what ends it.
        try begin(hub) { [weak self] change in self?.state.withLock { $0.due.append(change) } }
        return hub
    }

    private func end() {
        let hub = state.withLock { state in
            defer { state = State(isOver: true) }
            return state.hub
        }
        if let hub { handle.store.close(hub) }
    }
}

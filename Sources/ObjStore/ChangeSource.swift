internal import ObjStoreCore

/// What changes, for a task: see ``ObservableCollection/changes``. Each loop over it starts again.
public struct Changes<Element>: AsyncSequence, Sendable {
    public typealias Failure = Never
    /// Nil: it is in no store. There are no changes, and nobody to tell why.
    private let begin: (@Sendable (ChangeSource<Element>) -> Void)?

    /// - Parameters:
    ///   - bookmark: what the program has seen.
    ///   - make: an observer. What it throws is reported.
    init(in space: ObjectSpace?, since bookmark: Bookmark?, _ make: @escaping ChangeSource<Element>.Begin) {
        guard let space else {
            begin = nil
            return
        }
        begin = { source in
            do { try source.begin(since: bookmark, make) } catch {
                let error = ObjStoreError.of(error)
                if error.code != .closedHandle { space.handle.reports.report(error) }
            }
        }
    }

    public func makeAsyncIterator() -> ChangeIterator<Element> { ChangeIterator(ChangeSource(), begin) }
}

/// One loop over changes, or over snapshots.
public struct ChangeIterator<Element>: AsyncIteratorProtocol {
    public typealias Failure = Never
    private let source: ChangeSource<Element>
    private var begin: (@Sendable (ChangeSource<Element>) -> Void)?

    /// - Parameter begin: called at the first step.
    init(_ source: ChangeSource<Element>, _ begin: (@Sendable (ChangeSource<Element>) -> Void)? = nil) {
        (self.source, self.begin) = (source, begin)
    }

    public mutating func next() async -> Element? { await next(isolation: nil) }
    public mutating func next(isolation actor: isolated (any Actor)?) async -> Element? {
        begin?(source)
        begin = nil
        return await source.next(isolation: actor)
    }
}

/// What one loop waits for and gets.
final class ChangeSource<Element>: Sendable {
    /// Makes an observer whose handler is called at a place, and adds what it makes of what it is told; nothing comes
    /// after the last.
    typealias Begin =
        @Sendable (
            _ place: HandlerPlace, _ add: @escaping @Sendable (_ element: Element, _ isLast: Bool) -> Void
        ) throws -> NotificationToken

    private struct State {
        var due: [Due] = []
        var token: NotificationToken?
        /// Nil: it has not begun, or it is over.
        var place: HandlerPlace?
        var hasAll = false
    }
    /// Unchecked: nobody else has it, between the thread that delivers and the loop.
    private struct Due: @unchecked Sendable { let element: Element }
    private let state = Guarded(State())
    private let signal = TaskSignal()

    func begin(since bookmark: Bookmark? = nil, _ make: Begin) throws {
        let signal = signal, place = HandlerPlace(since: bookmark) { _ in signal.raise() }
        // The handler is the observer's, and must not keep alive what ends that.
        let token = try make(place) { [weak self] element, isLast in
            let due = Due(element: element)
            self?.state.withLock { state in
                state.due.append(due)
                if isLast { state.hasAll = true }
            }
        }
        state.withLock { ($0.token, $0.place) = (token, place) }
    }

    /// What has come and was not taken, or is due now; nil: nothing. Waits for nothing.
    func take() -> Element? {
        if let due = first() { return due }
        deliver()
        return first()
    }

    private func first() -> Element? {
        state.withLock { $0.due.isEmpty ? nil : $0.due.removeFirst() }?.element
    }

    /// False: nothing more comes.
    @discardableResult
    private func deliver() -> Bool {
        let place = state.withLock { $0.hasAll ? nil : $0.place }
        return place?.deliver() ?? false
    }

    func next(isolation: isolated (any Actor)? = #isolation) async -> Element? {
        while !Task.isCancelled {
            if let due = first() { return due }
            guard deliver() else { break }
            if let due = first() { return due }
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

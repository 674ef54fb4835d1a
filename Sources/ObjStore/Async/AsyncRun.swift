internal import ObjStoreCore
internal import Synchronization

/// Names a write, or a commit, that nobody waits for: ``Store/cancelAsyncWrite(_:)`` cancels it.
public struct AsyncWriteId: Sendable, Hashable {
    let number: UInt64
    let call: AsyncCall

    init(_ number: UInt64, _ call: AsyncCall) { (self.number, self.call) = (number, call) }

    /// For other modules of the package, where nothing could be begun, and that was reported.
    package init() { self.init(0, AsyncCall(WriteTether())) }

    public static func == (left: AsyncWriteId, right: AsyncWriteId) -> Bool { left.call === right.call }
    public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(call)) }
}

/// What cancelling an asynchronous write needs to know of it.
final class AsyncCall: Sendable {
    /// Of the store that it belongs to.
    let tether: WriteTether
    /// Its body has returned, or it is a commit: only its completion can be cancelled any more.
    let hasEnded = Atomic(false)
    /// Its completion is not to be called.
    let isSilent = Atomic(false)

    init(_ tether: WriteTether) { self.tether = tether }
}

/// One asynchronous body or commit, from the call that begins it until the core lets go of it.
///
/// Used by one thread at a time: the core calls a body, and then its completion.
final class AsyncRun {
    /// The handle keeps it alive.
    private unowned(unsafe) let space: ObjectSpace
    let call: AsyncCall
    /// What accessors report in the body.
    let collector = ErrorCollector()
    /// What the body threw, or what accessors reported in it.
    private var thrown: (any Error)?
    /// Of a commit: the body that has called it.
    private let parent: AsyncRun?
    /// The body has committed by itself and waited for that.
    var isOver = false

    init(_ space: ObjectSpace, in parent: AsyncRun? = nil) {
        self.space = space
        self.parent = parent
        call = AsyncCall(space.handle.tether)
        space.handle.keep(space)
    }

    deinit { space.handle.letGoOfSpace() }

    func id(_ number: UInt64) -> AsyncWriteId { AsyncWriteId(number, call) }

    /// Runs a body in a transaction, which is this thread's meanwhile; why it is to be undone.
    ///
    /// - Parameter silenced: observers that are not told of it.
    func run(_ view: View, silencing silenced: [Observer], _ body: (Transaction) throws -> Void) -> StoreError? {
        let handle = space.handle
        do {
            if !silenced.isEmpty { try core { () throws(StoreError) in try view.withoutNotifying(silenced) } }
            try ThreadWrites.within("an asynchronous body") {
                handle.take(view, of: self)
                let transaction = Transaction(space)
                defer { if transaction.isOpen { _ = handle.takeTransaction() } }
                try collector.run { try body(transaction) }
            }
            if let error = collector.first { throw error }
        } catch {
            thrown = error
        }
        call.hasEnded.store(true, ordering: .releasing)
        guard let thrown else { return nil }
        if !isOver { return AsyncRun.ofCore(thrown) }
        // It is stored: nobody would be told.
        self.thrown = nil
        handle.reports.tell(ObjStoreError(AsyncRun.ofCore(thrown)))
        return nil
    }

    /// What the core calls when it is over. The live store shows the result then.
    func completion(_ onComplete: (((any Error)?) -> Void)?) -> AsyncWrite.Completion {
        { [self] result in
            var error: (any Error)?
            if case .failure(let failure) = result {
                error = thrown ?? parent?.thrown ?? ObjStoreError(failure)
            }
            let isSilent = call.isSilent.load(ordering: .acquiring)
            return space.telling("a completion") {
                if isSilent { return }
                if let onComplete { return onComplete(error) }
                // Nobody is told: whoever delivers is. What the program has cancelled is no failure.
                if let error, (error as? ObjStoreError)?.code != .cancelled { throw error }
            }
        }
    }

    private static func ofCore(_ error: any Error) -> StoreError {
        (error as? ObjStoreError)?.ofCore ?? StoreError(.callback, "an asynchronous body threw \(error)")
    }
}

/// One write that nobody waits for: what waits for its turn, or a transaction that is to be committed.
///
/// What waits is a body, which is called, or a request, whose transaction is claimed. So is the outcome of a commit
/// that was requested; of another one a completion is told. Its state is that of its queue, under the queue's lock.
package final class AsyncWrite: @unchecked Sendable {
    /// Changes the store, on a thread that the application lends, and says how its transaction ends.
    package typealias Body = (AsyncWrite, WriteTransaction) -> Ending
    /// Gets the version, or why there is none, on such a thread; returns what `deliver` is to report.
    package typealias Completion = (Result<UInt64, StoreError>) -> StoreError?
    /// Learns that what was requested may be claimed: on any thread, with no lock held.
    package typealias Ready = @Sendable (UInt64) -> Void

    package let id: UInt64
    /// How its transaction may be one with those of others.
    let sharing: Sharing
    private let kind: Kind
    /// Nothing is called but `ready`: it is claimed.
    var isRequest: Bool { kind != .called }
    /// A request of a transaction.
    var isBegin: Bool { kind == .transaction }

    // Dropped as soon as they will not be called any more: what they capture is freed.
    var body: Body?
    var completion: Completion?
    var ready: Ready?
    /// For an injected bug.
    var wasTold = false
    /// While its body runs: the transaction is undone when that returns.
    var isCancelled = false
    /// Its body has returned, or there is none: its place among the completions is fixed.
    var hasEnded = false
    /// Nil: it is not decided yet.
    var result: Result<UInt64, StoreError>?

    init(id: UInt64, _ sharing: Sharing, _ end: End) {
        self.id = id
        self.sharing = sharing
        switch end {
        case .tells(let completion):
            kind = .called
            self.completion = completion
        case .transactionIsClaimed(let ready):
            kind = .transaction
            self.ready = ready
        case .outcomeIsClaimed(let ready):
            kind = .outcome
            self.ready = ready
        }
    }

    package enum Sharing {
        /// What follows begins after its commit.
        case none
        /// Its commit may be one with those of what follows.
        case withFollowing
        /// Its transaction is shared with nothing before it either.
        case alone
    }

    /// How the application learns of it.
    package enum End {
        case tells(Completion?)
        case transactionIsClaimed(Ready)
        case outcomeIsClaimed(Ready)
    }
    enum Kind { case called, transaction, outcome }

    /// How the transaction of a body ends.
    package enum Ending {
        /// Committed, and then these are told, in their order.
        case commit([AsyncWrite])
        /// Undone; these are told why. Nil: the body left it open, which is no failure.
        case cancel([AsyncWrite], StoreError?)
        /// The body has committed it by itself; these are told how that went.
        case over([AsyncWrite], Result<UInt64, StoreError>)
    }

    static var cancelled: StoreError { StoreError(.cancelled, "the asynchronous write was cancelled") }
}

/// First in, first out; taking the first costs O(1) on average.
struct AsyncWriteList {
    /// Nil: taken.
    private var writes: [AsyncWrite?] = []
    private var head = 0

    var isEmpty: Bool { head == writes.count }
    var first: AsyncWrite? { isEmpty ? nil : writes[head] }
    var last: AsyncWrite? { isEmpty ? nil : writes[writes.count - 1] }

    /// Errors: `.outOfMemory`.
    mutating func append(_ write: AsyncWrite) throws(StoreError) { try writes.tryAppend(write) }
    /// For what waited somewhere else before: the list grows by little.
    mutating func appendForSure(_ write: AsyncWrite) { writes.append(write) }

    mutating func removeFirst() -> AsyncWrite {
        let first = writes[head].unsafelyUnwrapped
        writes[head] = nil
        head += 1
        if head > 64, head * 2 > writes.count {
            writes.removeFirst(head)
            head = 0
        }
        return first
    }

    /// For an injected bug.
    mutating func removeLast() -> AsyncWrite { writes.removeLast().unsafelyUnwrapped }

    /// Takes it out. Complexity: O(n).
    mutating func remove(_ id: UInt64) -> AsyncWrite? {
        guard let index = writes[head...].firstIndex(where: { $0?.id == id }) else { return nil }
        return writes.remove(at: index)
    }

    /// Complexity: O(n).
    func first(_ id: UInt64) -> AsyncWrite? { writes[head...].lazy.compactMap { $0 }.first { $0.id == id } }
}

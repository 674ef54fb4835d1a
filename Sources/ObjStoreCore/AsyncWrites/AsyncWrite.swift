/// One write that nobody waits for: a body that waits for its turn, or a transaction that is to be committed.
///
/// Its state is that of its queue, under the queue's lock.
package final class AsyncWrite: @unchecked Sendable {
    /// Changes the store, on a thread that the application lends, and says how its transaction ends.
    typealias Body = (AsyncWrite, WriteTransaction) -> Ending
    /// Gets the version, or why there is none, on such a thread; returns what `deliver` is to report.
    package typealias Completion = (Result<UInt64, StoreError>) -> StoreError?

    package let id: UInt64
    /// Its commit may be one with those of the bodies that follow.
    let mayGroup: Bool

    // Dropped as soon as they will not be called any more: what they capture is freed.
    var body: Body?
    var completion: Completion?
    /// While its body runs: the transaction is undone when that returns.
    var isCancelled = false
    /// Its body has returned, or there is none: its place among the completions is fixed.
    var hasEnded = false
    /// Nil: it is not decided yet.
    var result: Result<UInt64, StoreError>?

    init(id: UInt64, mayGroup: Bool, body: Body?, completion: Completion?) {
        self.id = id
        self.mayGroup = mayGroup
        self.body = body
        self.completion = completion
    }

    /// How the transaction of a body ends.
    enum Ending {
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

/// Writes that nobody waits for; see `WriteQueue`.
extension Store {
    /// Changes the store with a transaction that is open while it runs; returns why it is to be undone.
    package typealias AsyncBody = (View) -> StoreError?

    /// Runs `body` in a transaction when its turn has come, and commits; then, or when that fails, calls `completion`.
    /// Both on a thread that delivers. Returns its id.
    ///
    /// - Parameter mayGroup: the commit may be one with those of the bodies that follow: all of them survive or none.
    /// Errors: `.readOnly`, `.closedHandle`, `.outOfMemory`.
    package func writeAsync(
        mayGroup: Bool = false, _ body: @escaping AsyncBody, completion: AsyncWrite.Completion? = nil
    ) throws(StoreError) -> UInt64 {
        try enqueue(mayGroup: mayGroup, commits: true, body, completion)
    }

    /// The same for a body that commits by itself, or with `View.commitAsync`: what it leaves open is undone.
    package func beginAsync(_ body: @escaping AsyncBody) throws(StoreError) -> UInt64 {
        try enqueue(mayGroup: false, commits: false, body, nil)
    }

    /// A body that has not begun never will, and nobody is told. One that runs is undone when it returns. Of a commit
    /// only the completion is not called any more. Nothing happens to what is over.
    package func cancelAsync(_ id: UInt64) { existingQueue?.cancel(id) }

    /// Whether something was begun asynchronously and has not come to its end, its completion included.
    package var isWritingAsync: Bool { existingQueue?.isActive ?? false }

    private func enqueue(
        mayGroup: Bool, commits: Bool, _ body: @escaping AsyncBody, _ completion: AsyncWrite.Completion?
    ) throws(StoreError) -> UInt64 {
        try calls.within { () throws(StoreError) in
            try checkWritable()
            let queue = try writeQueue()
            try hub.willWrite()
            return try queue.add(mayGroup: mayGroup, completion: completion) { [unowned self] (write, transaction) in
                self.run(write, transaction, commits: commits, body)
            }
        }
    }

    /// Runs a body with a view of its transaction.
    private func run(
        _ write: AsyncWrite, _ transaction: WriteTransaction, commits: Bool, _ body: AsyncBody
    ) -> AsyncWrite.Ending {
        let told = commits ? [write] : []
        shared.didBegin()
        let turn = AsyncTurn()
        let view = View(store: self, transaction: transaction)
        view.turn = turn
        var failure: StoreError?
        do throws(StoreError) { failure = body(try register(view)) } catch { failure = error }
        if shared.isInherited { return .cancel([], nil) }
        view.detach()
        // The lock, and with it the word of who writes, may be another's.
        if case .over(let result) = turn.ending { return .over(told, result) }
        shared.willEnd()
        switch turn.ending {
        case .commit(let commit): return failure.map { .cancel([commit] + told, $0) } ?? .commit([commit] + told)
        case .cancel: return .cancel(told, failure ?? AsyncWrite.cancelled)
        case nil, .over: return failure.map { .cancel(told, $0) } ?? (commits ? .commit(told) : .cancel([], nil))
        }
    }
}

/// How the transaction of an asynchronous body ends, which that has said.
final class AsyncTurn {
    enum Ending {
        case commit(AsyncWrite)
        case cancel
        case over(Result<UInt64, StoreError>)
    }
    var ending: Ending?
}

extension View {
    /// Ends a transaction by a commit that nobody waits for: the caller goes on, and `completion` is called on a thread
    /// that delivers. Inside of an asynchronous body the commit begins when that has returned. The view is closed
    /// whatever is thrown, except for `.notInWrite`. Returns its id.
    package func commitAsync(
        mayGroup: Bool = false, completion: AsyncWrite.Completion? = nil
    ) throws(StoreError) -> UInt64 {
        try store.calls.within { () throws(StoreError) in
            guard kind == .transaction else { throw notInWrite }
            let queue = try store.writeQueue()
            guard let transaction = detach() else { throw closedError }
            if let turn {
                let commit = queue.newCommit(mayGroup: mayGroup, completion: completion)
                turn.ending = .commit(commit)
                return commit.id
            }
            shared.willEnd()
            return try queue.commit(transaction, completion: completion)
        }
    }
}

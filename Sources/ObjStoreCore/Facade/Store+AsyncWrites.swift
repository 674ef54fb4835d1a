/// Writes that nobody waits for; see `WriteQueue`.
extension Store {
    /// Changes the store with a transaction that is open while it runs; returns why it is to be undone.
    package typealias AsyncBody = (View) -> StoreError?

    /// Runs `body` in a transaction when its turn has come, and commits; then, or when that fails, calls `completion`.
    /// Both on a thread that delivers. Returns its id.
    ///
    /// - Parameters:
    ///   - mayGroup: the commit may be one with those of the bodies that follow: all of them survive or none.
    ///   - isAlone: the transaction is shared with no other body, nor with one before it.
    /// Errors: `.readOnly`, `.closedHandle`, `.outOfMemory`.
    package func writeAsync(
        mayGroup: Bool = false, isAlone: Bool = false, _ body: @escaping AsyncBody,
        completion: AsyncWrite.Completion? = nil
    ) throws(StoreError) -> UInt64 {
        try enqueue(isAlone ? .alone : mayGroup ? .withFollowing : .none, commits: true, body, completion)
    }

    /// The same for a body that commits by itself, or with `View.commitAsync`: what it leaves open is undone.
    package func beginAsync(isAlone: Bool = false, _ body: @escaping AsyncBody) throws(StoreError) -> UInt64 {
        try enqueue(isAlone ? .alone : .none, commits: false, body, nil)
    }

    /// Asks for a transaction, to be claimed when its turn has come: then `ready` is called, perhaps before this
    /// returns, on any thread; it must return at once. It may be called again. Returns its id.
    ///
    /// Errors: `.readOnly`, `.closedHandle`, `.outOfMemory`.
    package func requestBegin(
        isAlone: Bool = false, ready: @escaping AsyncWrite.Ready
    ) throws(StoreError) -> UInt64 {
        try calls.within { () throws(StoreError) in
            try checkWritable()
            return try writeQueue().requestBegin(isAlone: isAlone, ready)
        }
    }

    /// The transaction that was requested, for this thread; nil: its turn has not come, or has passed, since nobody has
    /// claimed it in time, and `ready` will be called again. A claim that throws is over.
    ///
    /// Errors: `.alreadyInWrite`, and it can be claimed later; those of `begin`; `.closedHandle`; `.invalidArgument`:
    /// there is no such request.
    package func claimBegin(_ id: UInt64) throws(StoreError) -> View? {
        try calls.within { () throws(StoreError) in
            try checkWritable()
            try shared.checkOutside("claim")
            let queue = try writeQueue()
            guard let (write, group) = try queue.claimBegin(id) else { return nil }
            shared.didBegin()
            let view = View(store: self, transaction: group.transaction)
            view.turn = AsyncTurn(isAlone: write.sharing == .alone) { (ending) in
                queue.end(write, of: group, ending)
            }
            view.turn?.isShared = !group.members.isEmpty
            return try register(view)
        }
    }

    /// The version of a commit that was requested; nil: it is not over, and `ready` will be called. Also when the store
    /// was closed meanwhile, which has waited for the commit.
    ///
    /// Errors: those of committing; `.invalidArgument`: there is no such request.
    package func claimCommit(_ id: UInt64) throws(StoreError) -> UInt64? {
        try calls.within { () throws(StoreError) in
            if shared.isInherited { try checkOpen() }
            if let queue = existingQueue { return try queue.claimCommit(id) }
            return try writeQueue().claimCommit(id)
        }
    }

    /// What has not begun never will, and nobody is told. What has its turn is undone when that ends. Of a commit
    /// nobody is told any more. Nothing happens to what is over.
    package func cancelAsync(_ id: UInt64) { existingQueue?.cancel(id) }

    /// Whether something was begun asynchronously and has not come to its end, its completion included.
    package var isWritingAsync: Bool { existingQueue?.isActive ?? false }

    private func enqueue(
        _ sharing: AsyncWrite.Sharing, commits: Bool, _ body: @escaping AsyncBody,
        _ completion: AsyncWrite.Completion?
    ) throws(StoreError) -> UInt64 {
        try calls.within { () throws(StoreError) in
            try checkWritable()
            let queue = try writeQueue()
            try hub.willWrite()
            return try queue.add(sharing, completion: completion) { [unowned self] (write, transaction) in
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
        let turn = AsyncTurn(isAlone: write.sharing == .alone)
        let view = View(store: self, transaction: transaction)
        view.turn = turn
        var failure: StoreError?
        do throws(StoreError) { failure = body(try register(view)) } catch { failure = error }
        if shared.isInherited { return .cancel([], nil) }
        view.detach()
        // The lock, and with it the word of who writes, may be another's.
        if case .over(let writes, let result) = turn.ending { return .over(writes + told, result) }
        shared.willEnd()
        switch turn.ending {
        case .commit(let commits): return failure.map { .cancel(commits + told, $0) } ?? .commit(commits + told)
        case .cancel(_, let error): return .cancel(told, failure ?? error)
        case nil, .over: return failure.map { .cancel(told, $0) } ?? (commits ? .commit(told) : .cancel([], nil))
        }
    }
}

/// How the transaction of an asynchronous body or claim ends, which that has said.
final class AsyncTurn {
    /// The transaction is shared with nothing else.
    let isAlone: Bool
    /// It has changes of others already.
    fileprivate(set) var isShared = false
    private(set) var ending: AsyncWrite.Ending?
    /// Of a claim: ends it at once. That of a body ends when that returns.
    private let finish: ((AsyncWrite.Ending) -> Void)?

    fileprivate init(isAlone: Bool, finish: ((AsyncWrite.Ending) -> Void)? = nil) {
        self.isAlone = isAlone
        self.finish = finish
    }

    var isClaimed: Bool { finish != nil }

    func end(_ ending: AsyncWrite.Ending) {
        self.ending = ending
        finish?(ending)
    }
}

extension View {
    /// Ends a transaction by a commit that nobody waits for: the caller goes on, and `completion` is called on a thread
    /// that delivers. Inside of an asynchronous body the commit begins when that has returned. The view is closed
    /// whatever is thrown, except for `.notInWrite`. Returns its id.
    package func commitAsync(
        mayGroup: Bool = false, completion: AsyncWrite.Completion? = nil
    ) throws(StoreError) -> UInt64 {
        try commit(mayGroup, .tells(completion))
    }

    /// The same with an outcome that is claimed, by `Store.claimCommit`: when it is there, `ready` is called, on any
    /// thread; it must return at once.
    package func requestCommit(
        mayGroup: Bool = false, ready: @escaping AsyncWrite.Ready
    ) throws(StoreError) -> UInt64 {
        try commit(mayGroup, .outcomeIsClaimed(ready))
    }

    private func commit(_ mayGroup: Bool, _ end: AsyncWrite.End) throws(StoreError) -> UInt64 {
        try store.calls.within { () throws(StoreError) in
            guard kind == .transaction else { throw notInWrite }
            let queue = try store.writeQueue()
            guard let transaction = detach() else { throw closedError }
            // Of a body it is the queue's.
            if turn?.isClaimed != false { shared.willEnd() }
            if case .tells = end {
                do throws(StoreError) { try store.hub.willWrite() } catch {
                    guard let turn else { throw transaction.cancel(because: error, store.durability) }
                    turn.end(.cancel([], error))
                    throw error
                }
            }
            guard let turn else { return try queue.commit(transaction, end) }
            let commit = queue.newCommit(mayGroup ? .withFollowing : .none, end)
            turn.end(.commit([commit]))
            return commit.id
        }
    }
}

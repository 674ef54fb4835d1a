internal import ObjStoreCore
internal import Synchronization

// Writes of tasks. Nothing waits on the thread of a task: threads of the library wait for other writers and for the
// disk, and resume the task, which claims its transaction, runs its body and hands the commit over without an `await`
// in between. So a body is like that of `write`, on the actor of its caller.

extension Store {
    /// Like `write`, from a task, which is suspended until the changes are durable: no thread of the tasks waits for
    /// other writers, nor for the disk.
    ///
    /// ```swift
    /// actor Todos {
    ///     let store: Store
    ///     func add(_ name: String) async throws {
    ///         let todo = try await store.asyncWrite { tx in try tx.create(Todo.self, value: ["name": name]) }
    ///         print(todo.name)
    ///     }
    /// }
    /// ```
    /// The body runs where the caller does, on its actor, and may use and return what belongs to that, such as objects;
    /// while the task waits, the actor does other things. Writes have their turn in the order of the calls, together
    /// with those of ``writeAsync(allowGrouping:withoutNotifying:_:onComplete:)``; `write`, also on the same actor,
    /// goes first. A task that is cancelled before its body begins throws `CancellationError` at once, and the body
    /// does not run; afterwards it runs to its end, and is committed. Errors: as `write`.
    ///
    /// - Parameters:
    ///   - allowGrouping: the commit may be one with those of other writes: faster, and all of them survive a crash or
    ///     none.
    ///   - tokens: their handlers are not told of this write. It is grouped with no other.
    @discardableResult
    public func asyncWrite<R>(
        allowGrouping: Bool = false, withoutNotifying tokens: [NotificationToken] = [],
        isolation: isolated (any Actor)? = #isolation, _ body: (Transaction) throws -> R
    ) async throws -> R {
        try await inTurn(allowGrouping, tokens, body)
    }

    /// The same with a body that returns nothing: see `write`.
    public func asyncWrite(
        allowGrouping: Bool = false, withoutNotifying tokens: [NotificationToken] = [],
        isolation: isolated (any Actor)? = #isolation, _ body: (Transaction) throws -> Void
    ) async throws {
        try await inTurn(allowGrouping, tokens, body)
    }

    /// The same where the result is not wanted: see `write`.
    public func asyncWrite<R: ~Copyable>(
        allowGrouping: Bool = false, withoutNotifying tokens: [NotificationToken] = [],
        isolation: isolated (any Actor)? = #isolation, _ body: (Transaction) throws -> R
    ) async throws {
        try await inTurn(allowGrouping, tokens) { transaction in _ = try body(transaction) }
    }

    private func inTurn<R>(
        _ allowGrouping: Bool, _ tokens: [NotificationToken], isolation: isolated (any Actor)? = #isolation,
        _ body: (Transaction) throws -> R
    ) async throws -> R {
        try Task.checkCancellation()
        ThreadWrites.abandonLeft()
        handle.abandonIfLeft()
        let turn = TaskSignal(), store = handle.store
        let request = try ObjStore.core { () throws(StoreError) in
            try store.requestBegin(isAlone: !tokens.isEmpty) { _ in turn.raise() }
        }
        handle.tasks.add(1, ordering: .relaxed)
        defer { handle.tasks.subtract(1, ordering: .relaxed) }
        while true {
            await turn.wait()
            if Task.isCancelled {
                store.cancelAsync(request)
                throw CancellationError()
            }
            // Nil: the task was slow, or a `write` went first.
            guard let (result, end) = try claim(request, allowGrouping, tokens, body) else { continue }
            guard let end else { return result }
            defer { follow() }
            repeat {
                await end.signal.waitUntilRaised()
            } while try ObjStore.core({ () throws(StoreError) in try store.claimCommit(end.id) }) == nil
            return result
        }
    }

    /// The end of a transaction that the library is at.
    private struct AsyncEnd {
        let id: UInt64
        let signal: TaskSignal
    }

    /// Runs a body whose turn has come, and begins its commit; nil: its turn has passed. Without an `await`: the
    /// transaction is this thread's.
    private func claim<R>(
        _ request: UInt64, _ allowGrouping: Bool, _ tokens: [NotificationToken], _ body: (Transaction) throws -> R
    ) throws -> (R, AsyncEnd?)? {
        do throws(StoreError) {
            guard let view = try handle.store.claimBegin(request) else { return nil }
            handle.take(view)
        } catch {
            // Inside of a write of this thread it could be claimed later.
            handle.store.cancelAsync(request)
            throw ObjStoreError(error)
        }
        let transaction = Transaction(space)
        let result = try ThreadWrites.within("the body of asyncWrite") { try perform(transaction, tokens, body) }
        guard transaction.isOpen, let view = handle.takeTransaction() else {
            follow()
            return (result, nil)
        }
        let signal = TaskSignal()
        do throws(StoreError) {
            let id = try view.requestCommit(mayGroup: allowGrouping) { _ in signal.raise() }
            return (result, AsyncEnd(id: id, signal: signal))
        } catch {
            follow()
            throw ObjStoreError(error)
        }
    }
}

internal import ObjStoreCore
internal import Synchronization

// Writes that no thread waits for (docs/decisions/0046-asynchronous-writes.md). Bodies and completions are called where
// handlers are: in `deliver()`, `wait()` and `close()`, or on the worker. That may be another thread than the one that
// has called, so they are `sending`: the compiler lets them take along what is `Sendable`, and whatever else the caller
// does not use any more, such as an object that was looked up for the body. Each is called by one thread, once.
// (`asyncWrite` keeps its body on the actor of its caller, and needs none of this.)

extension Store {
    /// Runs `body` as one transaction when its turn has come, and commits it; returns at once, whoever is writing.
    ///
    /// ```swift
    /// let person = store.objects(Person.self).first!
    /// try store.writeAsync { tx in person.dogs.append(try tx.create(Dog.self)) } onComplete: { error in … }
    /// while isRunning { try store.wait() }     // or poll `notifyDescriptor` and call `deliver()`
    /// ```
    /// `deliver()`, `wait()` or the worker (``Configuration/deliversOnWorker``) call both, in the order of the calls;
    /// waiting for other writers and for the disk is done by threads of the library. Inside `body` the store and all
    /// live objects show what the transaction sees, as in `write`: what it throws, or accessors report, undoes it. It
    /// may end the transaction by itself with `commitAsyncWrite`, `commitWrite`, `cancelWrite` or `tx.cancel()`. A
    /// `write` that is called before it begins goes first. Keeps the store open until it is over.
    ///
    /// - Parameters:
    ///   - allowGrouping: the commit may be one with those of the bodies that follow: faster, and all of them survive a
    ///     crash or none.
    ///   - tokens: their handlers are not told of this write. It is grouped with no other. One that is of another store
    ///     (`.wrongStore`), or has ended (`.closedHandle`), is a failure of the body, which does not run.
    ///   - body: may take along what is `Sendable`, and what the caller does not use any more.
    ///   - onComplete: called once, when the changes are durable and the live store shows them, or with what has undone
    ///     them: what `body` threw as it is, else an ``ObjStoreError``; `.cancelled`: it cancelled itself. Nil: a
    ///     failure is thrown by `deliver()`, or goes to ``Configuration/onError``.
    /// Errors: `.readOnly`, `.closedHandle`.
    @discardableResult
    public func writeAsync(
        allowGrouping: Bool = false, withoutNotifying tokens: [NotificationToken] = [],
        _ body: sending @escaping (Transaction) throws -> Void,
        onComplete: sending (((any Error)?) -> Void)? = nil
    ) throws(ObjStoreError) -> AsyncWriteId {
        let silenced = try handle.observers(tokens), run = AsyncRun(space)
        return run.id(
            try ObjStore.core { () throws(StoreError) in
                try handle.store.writeAsync(
                    mayGroup: allowGrouping, isAlone: !silenced.isEmpty,
                    { run.run($0, silencing: silenced, body) }, completion: run.completion(onComplete))
            })
    }

    /// Runs `body` in a transaction when its turn has come; returns at once. What the body leaves open is undone: it
    /// commits with `commitAsyncWrite` or `commitWrite`.
    ///
    /// As ``writeAsync(allowGrouping:withoutNotifying:_:onComplete:)``, but without a completion: what `body` throws,
    /// `deliver()` throws, or goes to ``Configuration/onError``.
    ///
    /// - Parameters:
    ///   - alone: its commit is never one with that of others, so that `commitAsyncWrite(withoutNotifying:)` is
    ///     possible in it.
    ///   - tokens: as of `writeAsync`. It is alone.
    /// Errors: `.readOnly`, `.closedHandle`.
    @discardableResult
    public func beginAsyncWrite(
        alone: Bool = false, withoutNotifying tokens: [NotificationToken] = [],
        _ body: sending @escaping (Transaction) throws -> Void
    ) throws(ObjStoreError) -> AsyncWriteId {
        let silenced = try handle.observers(tokens), run = AsyncRun(space)
        return run.id(
            try ObjStore.core { () throws(StoreError) in
                try handle.store.beginAsync(isAlone: alone || !silenced.isEmpty) {
                    run.run($0, silencing: silenced, body)
                }
            })
    }

    /// Commits what `beginWrite()` of this thread, or the asynchronous body that it is in, has begun, and does not wait
    /// for that. What follows in the body is outside of the write.
    ///
    /// - Parameters:
    ///   - allowGrouping: of an asynchronous body: as for `writeAsync`.
    ///   - tokens: their handlers are not told of this write. In an asynchronous body only where that is `alone`.
    ///   - onComplete: as of `writeAsync`.
    /// Errors: `.notInWrite` (also in the body of `write`, which ends by itself), the first error that an accessor
    /// reported meanwhile; `.wrongStore`, `.closedHandle` of tokens, `.invalidArgument`: the body is not alone. But for
    /// `.notInWrite`, everything is undone.
    @available(
        *, noasync, message: "after an await the task is on another thread, and the write is lost: use asyncWrite { … }"
    )
    @discardableResult
    public func commitAsyncWrite(
        allowGrouping: Bool = false, withoutNotifying tokens: [NotificationToken] = [],
        onComplete: sending (((any Error)?) -> Void)? = nil
    ) throws(ObjStoreError) -> AsyncWriteId {
        let (view, body) = try endExplicit("commitAsyncWrite", tokens)
        let run = AsyncRun(space, in: body)
        run.call.hasEnded.store(true, ordering: .relaxed)
        do throws(StoreError) {
            return run.id(try view.commitAsync(mayGroup: allowGrouping, completion: run.completion(onComplete)))
        } catch {
            if body == nil { follow() }
            throw ObjStoreError(error)
        }
    }

    /// Cancels what was called asynchronously: a body that has not begun never does, and its completion is not called.
    /// One that runs, for instance the one that calls this, is undone when it has returned, and its completion gets
    /// `.cancelled`. Of a commit, or when the body has returned, it happens all the same, but its completion is not
    /// called. Does nothing to what is over, or belongs to another store.
    public func cancelAsyncWrite(_ id: AsyncWriteId) {
        guard id.call.tether === handle.tether else { return }
        if id.call.hasEnded.load(ordering: .acquiring) {
            id.call.isSilent.store(true, ordering: .releasing)
        } else {
            handle.store.cancelAsync(id.number)
        }
    }

    /// Is there something that was called asynchronously and is not over, its completion included?
    public var isPerformingAsynchronousWriteOperations: Bool { handle.store.isWritingAsync }
}

internal import ObjStoreCore
internal import Synchronization

/// An open store: where objects are found, and where they are changed inside `write`.
///
/// ```swift
/// let store = try Store.open(path: "dogs.objstore", models: [Dog.self])
/// try store.write { tx in
///     try tx.add(Dog(value: ["id": 1, "name": "Rex"]))
/// }
/// print(store.objects(Dog.self).where { $0.age < 2 }.count)
/// ```
/// Any thread may use it, and any live object that came from it. What it shows moves with `refresh()`, at the end of
/// each write through it, and where changes are delivered (``autorefresh``); other threads see a write when it is
/// committed. It is closed by `close()`, or when the last reference to it and its objects goes.
public final class Store: Sendable {
    private let first: ObjectSpace
    private let later = Guarded<ObjectSpace?>(nil)
    private let wasInvalidated = Atomic(false)

    /// What it shows now; another one after each `invalidate()`.
    var space: ObjectSpace {
        if _fastPath(!wasInvalidated.load(ordering: .acquiring)) { return first }
        return later.withLock { $0 } ?? first
    }
    var handle: StoreHandle { first.handle }

    /// Opens, creates or recovers a store; `Store()` opens that of ``Configuration/defaultConfiguration``. Waits for
    /// other processes that open or close it, and reads files: with `await`, ``init(configuration:actor:)`` does so
    /// elsewhere.
    ///
    /// Errors: `.notFound`, `.notAStore`, `.corrupt`, `.versionMismatch`, `.schemaMismatch` (file and models differ),
    /// `.invalidSchema` and `.notSupported` (a model cannot be stored; class and property are named), `.configMismatch`
    /// (the process has it open with other settings), `.timeout`, `.incompatibleFileSystem`, `.io` and others.
    public convenience init(_ configuration: Configuration = .defaultConfiguration) throws(ObjStoreError) {
        self.init(try ObjectSpace.open(configuration))
    }

    init(_ space: ObjectSpace) {
        first = space
        space.handle.isShown(by: self, space)
    }

    deinit { handle.isGoing(self) }

    /// Opens the store at `path`, creating it where there is none.
    public static func open(path: String, models: [Object.Type] = []) throws(ObjStoreError) -> Store {
        try Store(Configuration(path: path, models: models))
    }

    /// Closes the store. Asynchronous writes come to their end first, their bodies and completions on this thread where
    /// no other delivers; tasks whose turn has not come get `.closedHandle`. A write that another thread is in is
    /// cancelled; objects become invalid, frozen ones too; observers and loops over changes end. Waits for reads and
    /// handlers of other threads. What this was the last use of in the process is made clean: the file alone is then a
    /// whole copy. A second call does nothing.
    ///
    /// Errors: `.inCallback` inside a change handler (the store stays open), `.io` and others of the last write to the
    /// file.
    public func close() throws(ObjStoreError) {
        try ObjStore.core { () throws(StoreError) in try handle.store.close() }
    }

    public var isClosed: Bool { handle.store.isClosed }

    // MARK: Writing

    /// Runs `body` as one transaction: all of it happens, or nothing.
    ///
    /// `body` gets the ``Transaction`` and may use the store and all live objects: on this thread they show what the
    /// transaction sees. When it returns, the changes are committed and its result is returned; when it throws,
    /// everything is undone and its error is thrown; `tx.cancel()` undoes without an error. What property accessors
    /// reported meanwhile is thrown as well, and undoes everything. Waits for other writers, of all processes.
    /// A body that needs no transaction says so: `try store.write { _ in dog.age += 1 }`. (A second form without the
    /// argument would make the compiler report every mistake in a body as a wrong number of arguments.)
    ///
    /// - Parameter tokens: their handlers are not told of this write, for instance because the program has made the
    ///   same change to what it shows. Positions of later changes are right for who knows of this one.
    /// Errors: `.alreadyInWrite` inside another write of the store, `.readOnly`, `.timeout`, `.outOfSpace`, `.io`,
    /// `.outcomeUnknown`, `.poisoned`, `.closedHandle`, `.tooManyVersions`; `.wrongStore`, `.closedHandle` of tokens;
    /// and whatever `body` throws.
    @discardableResult
    public func write<R>(
        withoutNotifying tokens: [NotificationToken] = [], _ body: (Transaction) throws -> R
    ) throws -> R {
        try handle.begin(.standard)
        return try run(tokens, body)
    }

    /// The same with a body that returns nothing: where a closure may return anything, but nothing is expected of it,
    /// the compiler finds no type for the result.
    public func write(
        withoutNotifying tokens: [NotificationToken] = [], _ body: (Transaction) throws -> Void
    ) throws {
        try handle.begin(.standard)
        try run(tokens, body)
    }

    /// The same where the result is not wanted, and must not be:
    /// `Task { try store.write { tx in try tx.create(Dog.self) } }` would give an object to the code that awaits the
    /// task, and objects are not `Sendable`. More general than the others, it is taken where they do not fit.
    public func write<R: ~Copyable>(
        withoutNotifying tokens: [NotificationToken] = [], _ body: (Transaction) throws -> R
    ) throws {
        try handle.begin(.standard)
        try run(tokens) { transaction in _ = try body(transaction) }
    }

    /// Like `write`, but throws `.busy` where another writer is at work.
    @discardableResult
    public func tryWrite<R>(
        withoutNotifying tokens: [NotificationToken] = [], _ body: (Transaction) throws -> R
    ) throws -> R {
        try handle.begin(.notAtAll)
        return try run(tokens, body)
    }

    /// The same with a body that returns nothing.
    public func tryWrite(
        withoutNotifying tokens: [NotificationToken] = [], _ body: (Transaction) throws -> Void
    ) throws {
        try handle.begin(.notAtAll)
        try run(tokens, body)
    }

    /// The same where the result is not wanted: see `write`.
    public func tryWrite<R: ~Copyable>(
        withoutNotifying tokens: [NotificationToken] = [], _ body: (Transaction) throws -> R
    ) throws {
        try handle.begin(.notAtAll)
        try run(tokens) { transaction in _ = try body(transaction) }
    }

    /// Begins a write of this thread, which `commitWrite()` or `cancelWrite()` ends on the same thread.
    ///
    /// For where a closure does not fit; else `write` is safer. What property accessors report meanwhile,
    /// `commitWrite()` throws. Not for tasks, which continue on any thread after an `await`. A write that its thread
    /// leaves open when it ends, or its task when it continues elsewhere, is cancelled: `.cancelled` goes to
    /// ``Configuration/onError`` and ``lastError``, and `commitWrite()` is `.notInWrite`. Errors: as `write`.
    @available(
        *, noasync, message: "after an await the task is on another thread, and the write is lost: use write { … }"
    )
    @discardableResult
    public func beginWrite() throws(ObjStoreError) -> Transaction {
        try handle.beginExplicit()
        return Transaction(space)
    }

    /// Commits what was done since `beginWrite()`, or in an asynchronous body so far, and waits until it is durable.
    /// Where it throws, everything is undone, except for `.notInWrite`.
    ///
    /// - Parameter tokens: their handlers are not told of this write. In an asynchronous body only where that is
    ///   `alone`.
    /// Errors: `.notInWrite` (this thread has begun none, or is inside the body of `write`, which ends by itself), the
    /// first error that an accessor reported meanwhile, those of `write`.
    @available(
        *, noasync, message: "after an await the task is on another thread, and the write is lost: use write { … }"
    )
    public func commitWrite(withoutNotifying tokens: [NotificationToken] = []) throws(ObjStoreError) {
        let (view, body) = try endExplicit("commitWrite", tokens)
        defer { follow() }
        _ = try ObjStore.core { () throws(StoreError) in try view.commit() }
        body?.isOver = true
    }

    /// The transaction of this thread, which `operation` ends, and which is not the thread's any more; and the
    /// asynchronous body that it was begun for.
    ///
    /// - Parameter tokens: observers that are not told of it.
    func endExplicit(
        _ operation: String, _ tokens: [NotificationToken]
    ) throws(ObjStoreError) -> (view: View, body: AsyncRun?) {
        handle.abandonIfLeft()
        guard handle.isWriting, handle.isExplicit else {
            throw ObjStoreError(
                .notInWrite,
                """
                \(operation) ends what beginWrite of this thread, or an asynchronous body, has begun: this thread is \
                in none, or it was left open and is cancelled
                """
            )
        }
        let reported = handle.reported, body = handle.run
        guard let view = handle.takeTransaction() else {
            throw ObjStoreError(.notInWrite, "\(operation): the transaction has ended")
        }
        do throws(ObjStoreError) {
            if let reported { throw reported }
            try silence(tokens, in: view)
        } catch {
            view.close()
            follow()
            throw error
        }
        return (view, body)
    }

    /// Those observers are not told of the transaction.
    private func silence(_ tokens: [NotificationToken], in view: View) throws(ObjStoreError) {
        if tokens.isEmpty { return }
        let observers = try handle.observers(tokens)
        try ObjStore.core { () throws(StoreError) in try view.withoutNotifying(observers) }
    }

    /// Undoes everything since `beginWrite()`, or in the body of `write` so far. Waits until what the write has read of
    /// others is committed as durably as its own commit would have been.
    ///
    /// Errors: `.notInWrite`: this thread is in none; `.outcomeUnknown`: the write is undone, but what it has read may
    /// not survive.
    @available(
        *, noasync, message: "after an await the task is on another thread, and the write is lost: use write { … }"
    )
    public func cancelWrite() throws(ObjStoreError) {
        handle.abandonIfLeft()
        guard handle.isWriting, let view = handle.takeTransaction() else {
            throw ObjStoreError(.notInWrite, "cancelWrite: this thread is in no write")
        }
        defer { follow() }
        try ObjStore.core { () throws(StoreError) in try view.cancel() }
    }

    private func run<R>(_ tokens: [NotificationToken], _ body: (Transaction) throws -> R) throws -> R {
        let transaction = Transaction(space), result = try perform(transaction, tokens, body)
        defer { follow() }
        guard let view = transaction.isOpen ? handle.takeTransaction() : nil else { return result }
        _ = try ObjStore.core { () throws(StoreError) in try view.commit() }
        return result
    }

    /// The body of a transaction that this thread has begun; where it fails, that is undone.
    func perform<R>(
        _ transaction: Transaction, _ tokens: [NotificationToken], _ body: (Transaction) throws -> R
    ) throws -> R {
        let collector = ErrorCollector()
        do {
            if let view = handle.transaction { try silence(tokens, in: view) }
            let result = try collector.run { try body(transaction) }
            if let error = collector.first { throw error }
            return result
        } catch {
            if transaction.isOpen { handle.takeTransaction()?.close() }
            follow()
            throw error
        }
    }

    /// The live view after a write of its own. The write is done: that this fails is not its failure. Nor is it one
    /// that the store was closed meanwhile: the closing code knows, and an unfinished write says so itself.
    func follow() {
        do throws(StoreError) { _ = try space.view.refresh() } catch {
            if error.code != .closedHandle { handle.reports.report(ObjStoreError(error)) }
        }
    }

    /// Is this thread inside a write of the store?
    public var isInWrite: Bool { handle.isWriting }

    // MARK: Errors of accessors

    /// Runs `body` and throws the first error that a property accessor, a subscript or `count` reported in it.
    ///
    /// Those cannot throw themselves. Inside `write` and `checked` they are thrown when the body is done; elsewhere
    /// they go to ``lastError`` and `Configuration.onError`.
    @discardableResult
    public static func checked<R>(_ body: () throws -> R) throws -> R { try collected(body) }

    /// The same with a body that returns nothing.
    public static func checked(_ body: () throws -> Void) throws { try collected(body) }

    static func collected<R>(_ body: () throws -> R) throws -> R {
        let collector = ErrorCollector()
        let result = try collector.run(body)
        if let error = collector.first { throw error }
        return result
    }

    /// The last error that was reported outside of `write` and `checked`, by any thread.
    public var lastError: ObjStoreError? { handle.reports.lastError }

    /// Lets go of the version that the store shows. All live objects, results and collections that came from it become
    /// invalid for good, results and inverses empty; those that come from it afterwards show the newest version.
    ///
    /// For who keeps a store that it does not use for long. What is frozen stays, and handlers go on. Waits for the
    /// end of asynchronous writes, whose bodies and completions it calls as `deliver()` does.
    ///
    /// Errors: `.alreadyInWrite` inside a write of this thread, `.inCallback` inside a handler, `.busy`: a task is in
    /// `asyncWrite`, which may need this thread; those of ``deliver()``; `.closedHandle`.
    public func invalidate() throws(ObjStoreError) {
        handle.abandonIfLeft()
        if handle.isWriting { throw ObjStoreError(.alreadyInWrite, "invalidate: this thread is in a write") }
        try handle.endAsyncWrites()
        let new = try ObjectSpace(
            handle, ObjStore.core { () throws(StoreError) in try handle.store.openView() }, isFrozen: false)
        let old = later.withLock { later -> ObjectSpace in
            defer { later = new }
            handle.isShown(by: self, new)
            return later ?? first
        }
        wasInvalidated.store(true, ordering: .releasing)
        old.invalidate()
    }

    // MARK: Versions

    /// What the store shows now, frozen. Keeps that version: let go of it.
    public func freeze() throws(ObjStoreError) -> Snapshot { Snapshot(try space.freeze()) }
}

extension Store: StoreWriting {
    public var _scope: _Scope { _Scope(space: space) }
}

/// One version of a store: unmanaged by time, read by any thread without locks.
public final class Snapshot: StoreReading, Sendable {
    let space: ObjectSpace

    init(_ space: ObjectSpace) { self.space = space }

    public var _scope: _Scope { _Scope(space: space) }

    /// Itself.
    public func freeze() -> Snapshot { self }
    /// The store that it was made of, live.
    public func thaw() throws(ObjStoreError) -> Store { try space.handle.liveStore() }
}

/// What a body of `write` changes the store with. Of no use afterwards, nor on other threads: `.notInWrite`.
public final class Transaction: StoreWriting {
    private let space: ObjectSpace
    private let number: UInt64

    init(_ space: ObjectSpace) {
        self.space = space
        number = space.handle.transactionNumber
    }

    public var _scope: _Scope { _Scope(space: space, transaction: number) }

    var isOpen: Bool { space.handle.isWriting && space.handle.transactionNumber == number }

    /// Runs `body` as a scope of its own inside the transaction: when it throws, what it changed is undone and its
    /// error is thrown; the transaction continues, and code that catches the error may commit the rest.
    ///
    /// Scopes nest. What property accessors reported in the body is thrown as well, and undoes it. Objects that were
    /// added in a body that threw are invalid. When the body itself cancels the transaction nothing is left to undo.
    /// Errors: `.notInWrite` once the transaction has ended; and whatever `body` throws.
    @discardableResult
    public func savepoint<R>(_ body: () throws -> R) throws -> R { try scope(body) }

    /// The same with a body that returns nothing.
    public func savepoint(_ body: () throws -> Void) throws { try scope(body) }

    private func scope<R>(_ body: () throws -> R) throws -> R {
        guard isOpen else { throw ObjStoreError(.notInWrite, "savepoint: the transaction has ended") }
        let view = try space.handle.writing("savepoint")
        let savepoint = try ObjStore.core { () throws(StoreError) in try view.beginSavepoint() }
        let result: R
        do {
            result = try Store.collected(body)
        } catch {
            if isOpen { try ObjStore.core { () throws(StoreError) in try view.rollBack(toSavepoint: savepoint) } }
            throw error
        }
        if isOpen { try ObjStore.core { () throws(StoreError) in try view.releaseSavepoint(savepoint) } }
        return result
    }

    /// Undoes everything. The rest of the body runs outside of the write; `write` returns what it returns. Waits as
    /// ``Store/cancelWrite()`` does.
    ///
    /// Errors: `.notInWrite`: the transaction has ended, or is another thread's; `.outcomeUnknown`: it is undone, but
    /// what it has read may not survive.
    public func cancel() throws(ObjStoreError) {
        guard isOpen, let view = space.handle.takeTransaction() else {
            throw ObjStoreError(.notInWrite, "cancel: the transaction has ended, or is another thread's")
        }
        try ObjStore.core { () throws(StoreError) in try view.cancel() }
    }
}

/// What reading goes through; of the library only.
public struct _Scope: Sendable {
    let space: ObjectSpace
    /// Of a ``Transaction``; nil: whichever this thread is in.
    var transaction: UInt64?
}

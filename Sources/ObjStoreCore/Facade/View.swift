internal import CSystem
internal import Synchronization

/// How a store is seen: live, frozen or inside a transaction.
///
/// ```
///               what it sees                         moves       writes
///  live         a published version                  refresh     no
///  frozen       one version, for ever                never       no
///  transaction  the newest version + its own changes each write  yes
/// ```
/// Frozen views are read without a lock from any thread; a thread says that it is inside one by a store into its own
/// record (`cthread.h`), so that a store can wait for it before it closes the view. Calls on the others are serialised
/// by the view's lock, so that they may move between threads. What is borrowed from a view lives as long as `canLend`
/// says.
package final class View: @unchecked Sendable {
    package enum Kind: Int32, Sendable {
        case live = 1
        case frozen = 2
        case transaction = 3
    }

    package let kind: Kind
    package let store: Store
    package let shared: SharedStore
    let lock = Lock()
    /// The thread inside `atOnce`, and what others wait for; 0: none. Under `lock`.
    var atOnceThread: UInt = 0, atOnceGate: Lock?

    /// Of live and frozen views; nil once closed.
    package private(set) var snapshot: Snapshot? { didSet { lookUp = snapshot?.trees } }
    /// The same for reads of a few nanoseconds: a reference counted costs more than the read.
    private(set) var lookUp: VersionTrees?
    /// Of transactions.
    let writer: ObjectWriter?
    /// Nil once it ended.
    package var transaction: WriteTransaction? { writer?.transaction }
    /// Changes whenever what was read may be different.
    var epoch: UInt64 = 1
    /// Changes whenever rows may lie elsewhere, which they compare. A value that is written in place of the old one
    /// moves none.
    var layout: UInt64 = 1
    /// Given to the body of a `write`: only that `write` may end it.
    package var isEndedByBody = false
    /// A transaction that is being copied: the progress callback may read it.
    var isCopied = false
    /// How many queries that call functions are being asked in a transaction.
    var askers = 0
    /// Of an asynchronous body: the end of its transaction is the queue's.
    var turn: AsyncTurn?
    /// Belongs to a change set, which alone closes it.
    package var isPartOfChanges = false
    private let closed = Atomic<Bool>(false)
    /// Of live and frozen views: by it the store closes them.
    let tether = ViewTether()
    /// That of the store's watcher.
    private let watched: UnsafePointer<UInt64>
    /// Where the cells of mixed values are made that elements are compared with.
    let cells: CellBuffers

    init(store: Store, snapshot: Snapshot, kind: Kind) {
        self.store = store
        self.kind = kind
        self.snapshot = snapshot
        lookUp = snapshot.trees
        watched = UnsafePointer(store.watcher.flag)
        writer = nil
        cells = CellBuffers()
        shared = store.shared
        shared.didOpen(snapshot.version)
        tether.hold(self)
    }

    init(store: Store, transaction: WriteTransaction) {
        self.store = store
        kind = .transaction
        let writer = ObjectWriter(
            transaction, store.enumerations.isEmpty ? nil : EnumerationCheck(store.enumerations))
        self.writer = writer
        watched = UnsafePointer(store.watcher.flag)
        cells = writer.cells
        shared = store.shared
        shared.didOpen(nil)
        shared.isWritten(through: self)
    }

    /// Of a transaction.
    package var arenaBytes: Int { lock.withLock { transaction?.space.arena.capacityInUse ?? 0 } }

    deinit {
        if !shared.isInherited { tether.letGo() }
        close()
    }

    // MARK: Life

    @inline(__always) package var isClosed: Bool { closed.load(ordering: .acquiring) }

    /// A transaction is cancelled. Waits for calls on other threads; for those on a frozen view only where
    /// `waitsForReaders`: else the caller knows that there are none.
    package func close(waitsForReaders: Bool = false) {
        do throws(StoreError) { try end(waitsForReaders: waitsForReaders) } catch {
            shared.log?.write(.error, "cancelling a transaction of \(shared.path): \(error.message)")
        }
    }

    private func end(waitsForReaders: Bool = false) throws(StoreError) {
        if shared.isInherited { return }
        /// Of a transaction: the version that it read.
        var seen: UInt64?
        /// Of an asynchronous one: how it has ended.
        var ending: AsyncWrite.Ending?
        let wasOpen = lock.withLock { () -> Bool in
            if isClosed { return false }
            closed.store(true, ordering: .sequentiallyConsistent)
            if waitsForReaders && kind == .frozen { ReaderMark.waitForAll(Unmanaged.passUnretained(self).toOpaque()) }
            shared.didClose(snapshot?.version)
            didMove()
            if let turn {
                if let transaction {
                    ending = .cancel([], AsyncWrite.cancelled)
                    if turn.isClaimed { shared.willEnd() }
                    // Nobody waits for what it has read; and the lock is free when this returns.
                    if turn.isClaimed && !turn.isShared {
                        transaction.abandon()
                        ending = .over([], .failure(AsyncWrite.cancelled))
                    }
                }
            } else if let transaction {
                shared.willEnd()
                seen = transaction.seenVersion
                transaction.abandon()
            }
            writer?.end()
            snapshot = nil
            return true
        }
        guard wasOpen else { return }
        if kind == .transaction { shared.isNoLongerWritten(through: self) }
        store.unregister(self)
        if let ending { turn?.end(ending) }
        if let seen { try shared.database.confirm(seen, store.durability) }
    }

    /// Closes the view without ending its transaction, which is returned; nil: it has ended.
    @discardableResult
    func detach() -> WriteTransaction? {
        lock.lock()
        let transaction = transaction
        writer?.end()
        didMove()
        lock.unlock()
        close()
        return transaction
    }

    /// Moves a live view to the newest version; returns whether there was one.
    package func refresh() throws(StoreError) -> Bool {
        try lock.withLock { () throws(StoreError) in
            guard kind == .live else { throw StoreError(.wrongView, "only a live view can be refreshed") }
            guard let snapshot else { throw closedError }
            try shared.database.checkOpen()
            try shared.database.checkNotReplaced()
            if shared.database.publishedVersion == snapshot.version { return false }
            let new = try shared.database.snapshot()
            let isNewer = new.version != snapshot.version
            shared.didMove(from: snapshot.version, to: new.version)
            self.snapshot = new
            didMove()
            return isNewer
        }
    }

    /// Moves a live view on to a version, unless it shows that or a newer one.
    func move(to newest: Snapshot) {
        lock.withLock {
            guard let snapshot, snapshot.version < newest.version else { return }
            shared.didMove(from: snapshot.version, to: newest.version)
            self.snapshot = newest
            didMove()
        }
    }

    package func freeze() throws(StoreError) -> View {
        try store.register(View(store: store, snapshot: pinnedSnapshot("freeze"), kind: .frozen))
    }

    /// The snapshot of a live or frozen view, for use after the view has moved.
    package func pinnedSnapshot(_ operation: String) throws(StoreError) -> Snapshot {
        try lock.withLock { () throws(StoreError) in
            guard kind != .transaction else {
                throw StoreError(.wrongView, "\(operation): not what a transaction sees, which may never be committed")
            }
            guard let snapshot else { throw closedError }
            return snapshot
        }
    }

    /// Of a transaction, the version it started from.
    package func version() throws(StoreError) -> UInt64 {
        try serialised { () throws(StoreError) in try versionUnlocked() }
    }

    /// Serialised by the caller.
    func versionUnlocked() throws(StoreError) -> UInt64 {
        if let snapshot { return snapshot.version }
        guard let transaction else { throw closedError }
        return transaction.baseVersion
    }

    /// Commits with the durability of the store's handle. The view is closed whatever is thrown, except for
    /// `.notInWrite`. Returns the new version, or the one that it began with when nothing changed.
    package func commit() throws(StoreError) -> UInt64 {
        try store.calls.within { () throws(StoreError) in try commitInside() }
    }

    private func commitInside() throws(StoreError) -> UInt64 {
        lock.lock()
        guard kind == .transaction, let transaction else {
            lock.unlock()
            throw kind == .transaction ? closedError : notInWrite
        }
        do throws(StoreError) { try checkNotAsked("cannot be committed") } catch {
            lock.unlock()
            throw error
        }
        writer?.end()
        didMove()
        lock.unlock()
        defer { close() }
        do throws(StoreError) {
            let version = try store.end { () throws(StoreError) in try transaction.commit(store.durability) }
            turn?.end(.over([], .success(version)))
            shared.log?.write(.debug, "version \(version) of \(shared.path)")
            return version
        } catch {
            turn?.end(.over([], .failure(error)))
            throw error
        }
    }

    /// Ends the transaction without a trace. Waits like a commit for what the transaction has read of others.
    ///
    /// Throws `.outcomeUnknown` where that may not survive; the transaction is cancelled all the same.
    package func cancel() throws(StoreError) {
        guard kind == .transaction else { throw notInWrite }
        try lock.withLock { () throws(StoreError) in try checkNotAsked("cannot be cancelled") }
        try store.calls.within { () throws(StoreError) in try end() }
    }

    var closedError: StoreError {
        StoreError(.closedHandle, kind == .transaction ? "the transaction has ended" : "the view was closed")
    }
    var notInWrite: StoreError {
        StoreError(.notInWrite, "the view is \(kind), not a transaction: only a transaction can write")
    }

    /// Errors: `.notInWrite`.
    package func checkIsTransaction() throws(StoreError) { if kind != .transaction { throw notInWrite } }

    /// Whether text may be borrowed: until the view is closed, or the transaction's next write.
    package var canLend: Bool { kind != .live }

    // MARK: Access

    /// Somebody watches the queries of the store, their memory is limited, or they may use several threads.
    @inline(__always) var isWatched: Bool { cs_load64_acquire(watched) != 0 }

    /// Runs `body` alone, where the view can move.
    @inline(__always)
    func serialised<T>(_ body: () throws(StoreError) -> T) throws(StoreError) -> T {
        if kind == .frozen { return try View.inside(.passUnretained(self), body) }
        lock.lock()
        defer { lock.unlock() }
        return try body()
    }

    /// Runs `body` while a frozen view cannot be closed. Not to be nested.
    @inline(__always)
    static func inside<T>(_ view: Unmanaged<View>, _ body: () throws(StoreError) -> T) throws(StoreError) -> T {
        let mark = ReaderMark.enter(view.toOpaque())
        defer { mark.leave() }
        if _slowPath(view._withUnsafeGuaranteedRef { $0.isClosed }) {
            throw view._withUnsafeGuaranteedRef { $0.closedError }
        }
        return try body()
    }

    /// What the view sees. Serialised by the caller.
    @inline(__always)
    var trees: TreeAccess {
        get throws(StoreError) {
            if let snapshot { return .version(snapshot) }
            guard let transaction else { throw closedError }
            return .transaction(transaction)
        }
    }

    /// Another number whenever what the view shows may be another: after a refresh, after each write of a transaction.
    package var stamp: UInt64 { kind == .frozen ? 0 : lock.withLock { epoch } }

    /// The classes as the view sees them. Serialised by the caller.
    var schema: Schema { get throws(StoreError) { try trees.schema } }

    /// The objects of a class. Serialised by the caller; valid until the view moves or writes.
    @inline(__always)
    func reader(_ cls: ClassSchema) throws(StoreError) -> ClusterReader { try trees.objects(cls) }

    /// An object's row, through `reader`, which is the class's, or faster. Serialised by the caller.
    @inline(__always)
    func row(_ cls: ClassSchema, _ key: Int64, _ reader: ClusterReader) throws(StoreError) -> RowPosition? {
        if let state = writer?.written(cls.classID) {
            return try state.unretained { (state) throws(StoreError) in try state.cluster.find(key) }
        }
        return try trees.find(cls, key, reader)
    }

    /// The position of an object's class, if it is one of this store.
    @inline(__always)
    func classOf(_ object: ObjectID, _ schema: Schema) throws(StoreError) -> ClassSchema {
        try schema.cls(of: object, in: shared.tag)
    }

    /// An object of a class of this store.
    @inline(__always)
    func object(_ classID: UInt32, _ key: Int64) -> ObjectID {
        ObjectID(classID: classID, storeTag: shared.tag, key: key)
    }
}

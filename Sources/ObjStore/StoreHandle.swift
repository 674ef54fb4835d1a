internal import CRuntime
internal import ObjStoreCore
internal import Synchronization

/// An open store behind a ``Store`` and every object, result and snapshot that came from it.
final class StoreHandle: @unchecked Sendable {
    /// A class of the models, as this store has it.
    struct Model {
        let info: ClassInfo
        let classID: UInt32
        /// By index of the property; freed with the handle.
        let properties: UnsafePointer<UInt32>
        /// By index of the property: the position of the model that a link leads to, else -1. Freed with the handle.
        let targets: UnsafePointer<Int>
        /// By number of the inverse.
        let origins: [Origin]

        fileprivate func free() {
            properties.deallocate()
            targets.deallocate()
        }
    }

    /// Where the objects of an inverse are: the model that has the link, and the link's index there.
    struct Origin {
        let model: Int
        let property: UInt32
    }

    let store: ObjStoreCore.Store
    let reports: ErrorReports
    let models: [Model]
    let positions: [ObjectIdentifier: Int]
    let tag: UInt32

    /// The thread inside `write`; 0 = none. Only that thread compares it with itself, so no order is needed.
    private let writer = Atomic<UInt>(0)
    /// The task that called `beginWrite`; 0 = none, or the write has a body.
    private let task = Atomic<UInt64>(0)
    /// Of the write that is open; 0 = none.
    private let openNumber = Atomic<UInt64>(0)
    let tether = WriteTether()
    /// Whether what is live moves where changes are delivered.
    let autorefresh = Atomic(true)
    /// What asynchronous writes use, and what keeps the store open: as long as there are such.
    private let kept = Guarded<(writes: Int, spaces: [ObjectSpace])>((0, []))
    /// Of the writing thread; no other thread reads the next four, except one that takes over an abandoned write.
    private(set) var transaction: View?
    private(set) var transactionNumber: UInt64 = 0
    /// Begun by `beginWrite`, or for an asynchronous body: no body of `write` ends it.
    private(set) var isExplicit = false
    /// The asynchronous body that it was begun for.
    private(set) var run: AsyncRun?
    let encoder = _RowEncoder()

    init(_ store: ObjStoreCore.Store, _ infos: [ClassInfo], _ view: View, _ reports: ErrorReports) throws(ObjStoreError)
    {
        self.store = store
        self.reports = reports
        tag = store.shared.tag
        let origins = try infos.map { (info) throws(ObjStoreError) in try StoreHandle.origins(of: info, among: infos) }
        var models: [Model] = []
        do throws(StoreError) {
            for (number, info) in infos.enumerated() {
                let classID = try view.findClass(info.name)
                let properties = UnsafeMutablePointer<UInt32>.allocate(capacity: max(1, info.properties.count))
                let targets = UnsafeMutablePointer<Int>.allocate(capacity: max(1, info.properties.count))
                for (index, property) in info.properties.enumerated() {
                    (targets + index).initialize(
                        to: property.type.linked.flatMap { linked in infos.firstIndex { $0.type == linked } } ?? -1)
                }
                models.append(
                    Model(
                        info: info, classID: classID, properties: UnsafePointer(properties),
                        targets: UnsafePointer(targets), origins: origins[number]))
                for (index, property) in info.properties.enumerated() {
                    (properties + index).initialize(to: try view.findProperty(classID, property.name))
                }
            }
        } catch {
            for model in models { model.free() }
            throw ObjStoreError(error)
        }
        self.models = models
        positions = Dictionary(uniqueKeysWithValues: models.enumerated().map { (ObjectIdentifier($1.info.type), $0) })
        tether.hold(self)
    }

    // MARK: The live space

    /// Their addresses, which they take back before they go. (Weak references would make every reference to the space
    /// dearer, and each object has one.)
    private struct Shown: Sendable {
        var space: UInt = 0, store: UInt = 0

        static func address(_ object: AnyObject) -> UInt {
            UInt(bitPattern: Unmanaged.passUnretained(object).toOpaque())
        }
        /// Nil: it is gone, or going. Under the lock, inside of which it cannot be freed.
        static func strong<T: AnyObject>(_ address: UInt) -> T? {
            UnsafeRawPointer(bitPattern: address).flatMap { Unmanaged<T>.fromOpaque($0).strong }
        }
    }
    /// What shows the store live, while that is there.
    private let shown = Guarded(Shown())

    func isShown(by store: Store, _ space: ObjectSpace) {
        shown.withLock { $0 = Shown(space: Shown.address(space), store: Shown.address(store)) }
    }

    /// From the `deinit` of one of them.
    func isGoing(_ object: AnyObject) {
        let address = Shown.address(object)
        shown.withLock { shown in
            if shown.space == address { shown.space = 0 }
            if shown.store == address { shown.store = 0 }
        }
    }

    /// Where objects are live; made again where the program has let go of it, and of the store.
    ///
    /// Errors: `.closedHandle`.
    func liveSpace() throws(ObjStoreError) -> ObjectSpace {
        if let space: ObjectSpace = shown.withLock({ Shown.strong($0.space) }) { return space }
        let new = ObjectSpace(self, try core { () throws(StoreError) in try store.openView() }, isFrozen: false)
        return shown.withLock { shown in
            if let space: ObjectSpace = Shown.strong(shown.space) { return space }
            shown.space = Shown.address(new)
            return new
        }
    }

    func liveStore() throws(ObjStoreError) -> Store {
        if let store: Store = shown.withLock({ Shown.strong($0.store) }) { return store }
        return Store(try liveSpace())
    }

    /// Runs `body` with a store that shows a transaction, which other code began and ends.
    static func lend(
        _ view: View, _ infos: [ClassInfo], _ onError: (@Sendable (ObjStoreError) -> Void)?,
        _ body: (ObjectSpace) throws -> Void
    ) throws(StoreError) {
        do {
            let handle = try StoreHandle(view.store, infos, view, ErrorReports(onError))
            handle.take(view)
            defer { _ = handle.takeTransaction() }
            let space = ObjectSpace(handle, view, isFrozen: false), collector = ErrorCollector()
            try collector.run { try body(space) }
            if let error = collector.first { throw error }
        } catch let error as ObjStoreError {
            throw error.ofCore
        } catch {
            throw StoreError(.callback, "\(error)")
        }
    }

    deinit {
        tether.letGo()
        transaction?.close()
        for model in models { model.free() }
    }

    /// Errors: `.invalidSchema`: an inverse of what is no link to the class.
    private static func origins(of info: ClassInfo, among infos: [ClassInfo]) throws(ObjStoreError) -> [Origin] {
        var origins: [Origin] = []
        for inverse in info.inverses {
            func invalid(_ what: String) -> ObjStoreError {
                ObjStoreError(
                    .invalidSchema, "\(info.name).\(inverse.name): \(what)", class: info.name, property: inverse.name)
            }
            let name = ClassInfo.name(of: inverse.origin)
            guard let model = infos.firstIndex(where: { $0.type == inverse.origin }) else {
                throw invalid("class \(name) is not among the models")
            }
            let link = infos[model].properties.first { $0.name == inverse.originProperty }
            guard let link, link.type.isMixed || link.type.linked == info.type else {
                throw invalid("class \(name) does not have a link \(inverse.originProperty) to \(info.name)")
            }
            origins.append(Origin(model: model, property: link.index))
        }
        return origins
    }

    func sharesStore(with other: StoreHandle) -> Bool { store.shared === other.store.shared }

    // MARK: Writing

    // What is read first matters: a write of this thread that was left may be taken by another one meanwhile, which
    // forgets the writer before the task.

    /// Is this thread inside a write of this store?
    @inline(__always)
    var isWriting: Bool {
        let task = task.load(ordering: .acquiring)
        return isThisThreads && (_fastPath(task == 0) || task == StoreHandle.currentTask)
    }

    /// This thread began the open write.
    @inline(__always)
    private var isThisThreads: Bool {
        let writer = writer.load(ordering: .relaxed)
        return writer != 0 && writer == UInt(cr_thread_id())
    }

    /// The open write is this thread's; taking it over requires its number, for it may be over.
    var numberOfThisThread: UInt64? {
        let number = openNumber.load(ordering: .acquiring)
        return isThisThreads ? number : nil
    }

    /// This thread does something else than what began the open write: a task that is now elsewhere, or at its end.
    var numberIfLeft: UInt64? {
        let number = openNumber.load(ordering: .acquiring), task = task.load(ordering: .acquiring)
        return task != 0 && isThisThreads && task != StoreHandle.currentTask ? number : nil
    }

    /// This task began the open write, on another thread, which it therefore is not on any more.
    var numberIfElsewhere: UInt64? {
        let number = openNumber.load(ordering: .acquiring), task = task.load(ordering: .acquiring)
        if task == 0 { return nil }
        let writer = writer.load(ordering: .relaxed)
        return writer != 0 && writer != UInt(cr_thread_id()) && task == StoreHandle.currentTask ? number : nil
    }

    func isOpen(_ number: UInt64) -> Bool { openNumber.load(ordering: .relaxed) == number }

    func begin(_ wait: ObjStoreCore.Store.Wait) throws(ObjStoreError) {
        ThreadWrites.abandonLeft()
        abandonIfLeft()
        take(try core { () throws(StoreError) in try store.begin(wait) })
    }

    /// A write without a body.
    func beginExplicit() throws(ObjStoreError) {
        try begin(.standard)
        isExplicit = true
        reports.writer = ErrorCollector()
        let task = StoreHandle.currentTask
        if task == 0 { return }
        self.task.store(task, ordering: .relaxed)
        watch(transactionNumber)
    }

    /// The transaction is this thread's.
    ///
    /// - Parameter run: the asynchronous body that it was begun for.
    func take(_ view: View, of run: AsyncRun? = nil) {
        transaction = view
        self.run = run
        isExplicit = run != nil
        transactionNumber += 1
        encoder.removeAll()
        ThreadWrites.note(tether)
        openNumber.store(transactionNumber, ordering: .releasing)
        writer.store(UInt(cr_thread_id()), ordering: .relaxed)
    }

    /// Forgets the transaction before it ends: afterwards another thread may begin one.
    func takeTransaction() -> View? {
        if isExplicit { reports.writer = nil }
        isExplicit = false
        run = nil
        openNumber.store(0, ordering: .relaxed)
        writer.store(0, ordering: .relaxed)
        task.store(0, ordering: .releasing)
        defer { transaction = nil }
        return transaction
    }

    /// The same of a write that was seen to be left; nil: it is over, another thread was faster.
    func takeAbandoned(_ number: UInt64) -> View? {
        guard number != 0,
            openNumber.compareExchange(expected: number, desired: 0, ordering: .acquiringAndReleasing).exchanged
        else { return nil }
        writer.store(0, ordering: .relaxed)
        if isExplicit { reports.forgetWriter() }
        return takeTransaction()
    }

    /// What accessors have reported in the write that this thread is in, which no body of `write` ends.
    var reported: ObjStoreError? { run.map(\.collector.first) ?? reports.writer?.first }

    // MARK: Asynchronous writes

    /// Until `letGoOfSpace`, which has to follow.
    func keep(_ space: ObjectSpace) {
        kept.withLock {
            $0.writes += 1
            if $0.spaces.last !== space { $0.spaces.append(space) }
        }
    }

    func letGoOfSpace() {
        let unused = kept.withLock { kept -> [ObjectSpace] in
            kept.writes -= 1
            if kept.writes > 0 { return [] }
            defer { kept.spaces = [] }
            return kept.spaces
        }
        // These may be the last references to the store, which cannot be closed while it delivers, as it may do here.
        if !unused.isEmpty { Task.detached { withExtendedLifetime(unused) {} } }
    }

    /// Tasks that are inside of `asyncWrite`.
    let tasks = Atomic<Int>(0)

    /// Waits until everything is over that was called asynchronously.
    ///
    /// Errors: `.inCallback`; `.busy`: a task is inside of `asyncWrite`, which may need this thread; those of handlers,
    /// bodies and completions.
    func endAsyncWrites() throws(ObjStoreError) {
        if store.isInHandler {
            throw ObjStoreError(.inCallback, "inside a handler, or an asynchronous body, the end of others cannot come")
        }
        while store.isWritingAsync {
            if tasks.load(ordering: .relaxed) > 0 {
                throw ObjStoreError(.busy, "a task is inside of asyncWrite, and may need this thread")
            }
            // Another thread may be the one that learns of the end.
            _ = try core { () throws(StoreError) in try store.hub.wait(timeout: 10_000_000) }
        }
    }

    /// The observers of tokens. Errors: `.closedHandle`: one is of none.
    func observers(_ tokens: [NotificationToken]) throws(ObjStoreError) -> [Observer] {
        try tokens.map { (token) throws(ObjStoreError) in
            if let observer = token.observer { return observer }
            throw ObjStoreError(.closedHandle, "withoutNotifying: a token is of no observer: there was none to be made")
        }
    }

    /// The transaction of this thread.
    func writing(_ operation: String) throws(ObjStoreError) -> View {
        guard isWriting, let transaction else {
            throw ObjStoreError(notInWrite("\(operation) works inside a write only"))
        }
        return transaction
    }

    /// Why this thread is in no write: `reason`, but for a store that cannot be written any more.
    func notInWrite(_ reason: String) -> StoreError {
        store.isClosed ? StoreError(.closedHandle, "the store was closed") : StoreError(.notInWrite, reason)
    }
}

internal import CRuntime
internal import Dispatch
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

    /// What tasks write on.
    let writers = DispatchQueue(label: "objstore writes")

    /// The thread inside `write`; 0 = none. Only that thread compares it with itself, so no order is needed.
    private let writer = Atomic<UInt>(0)
    /// The task that called `beginWrite`; 0 = none, or the write has a body.
    private let task = Atomic<UInt64>(0)
    /// Of the write that is open; 0 = none.
    private let openNumber = Atomic<UInt64>(0)
    private let tether = WriteTether()
    /// Of the writing thread; no other thread reads the next three, except one that takes over an abandoned write.
    private(set) var transaction: View?
    private(set) var transactionNumber: UInt64 = 0
    /// Begun by `beginWrite`: no body of `write` ends it.
    private(set) var isExplicit = false
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
    private func take(_ view: View) {
        transaction = view
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

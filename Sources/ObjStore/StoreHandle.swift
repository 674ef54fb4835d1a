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
    }

    let store: ObjStoreCore.Store
    let reports: ErrorReports
    let models: [Model]
    let positions: [ObjectIdentifier: Int]
    let tag: UInt32

    /// The thread inside `write`; 0 = none. Only that thread compares it with itself, so no order is needed.
    private let writer = Atomic<UInt>(0)
    /// Of the writing thread; nobody else looks at the next four.
    private(set) var transaction: View?
    private(set) var transactionNumber: UInt64 = 0
    /// Begun by `beginWrite`: no body of `write` ends it.
    var isExplicit = false
    let encoder = _RowEncoder()

    init(_ store: ObjStoreCore.Store, _ infos: [ClassInfo], _ view: View, _ reports: ErrorReports) throws(ObjStoreError) {
        self.store = store
        self.reports = reports
        tag = store.shared.tag
        var models: [Model] = []
        do throws(StoreError) {
            for info in infos {
                let classID = try view.findClass(info.name)
                let properties = UnsafeMutablePointer<UInt32>.allocate(capacity: max(1, info.properties.count))
                models.append(Model(info: info, classID: classID, properties: UnsafePointer(properties)))
                for (index, property) in info.properties.enumerated() {
                    (properties + index).initialize(to: try view.findProperty(classID, property.name))
                }
            }
        } catch {
            for model in models { model.properties.deallocate() }
            throw ObjStoreError(error)
        }
        self.models = models
        positions = Dictionary(uniqueKeysWithValues: models.enumerated().map { (ObjectIdentifier($1.info.type), $0) })
    }

    deinit {
        transaction?.close()
        for model in models { model.properties.deallocate() }
    }

    func sharesStore(with other: StoreHandle) -> Bool { store.shared === other.store.shared }

    // MARK: Writing

    /// Is this thread inside a write of this store?
    @inline(__always)
    var isWriting: Bool {
        let writer = writer.load(ordering: .relaxed)
        return writer != 0 && writer == UInt(cr_thread_id())
    }

    func begin(_ wait: ObjStoreCore.Store.Wait) throws(ObjStoreError) {
        let view = try core { () throws(StoreError) in try store.begin(wait) }
        transaction = view
        transactionNumber += 1
        encoder.removeAll()
        writer.store(UInt(cr_thread_id()), ordering: .relaxed)
    }

    /// Forgets the transaction before it ends: afterwards another thread may begin one.
    func takeTransaction() -> View? {
        if isExplicit { reports.writer = nil }
        isExplicit = false
        writer.store(0, ordering: .relaxed)
        defer { transaction = nil }
        return transaction
    }

    /// The transaction of this thread.
    func writing(_ operation: String) throws(ObjStoreError) -> View {
        guard isWriting, let transaction else { throw ObjStoreError(.notInWrite, "\(operation) works inside a write only") }
        return transaction
    }
}

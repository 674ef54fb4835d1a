import Foundation
import Testing

import ObjStoreCore

/// The course of a history against a model: transactions that are committed or cancelled, savepoints in them, a store
/// that is opened again and copied. What happens in a transaction, and what is compared, says the class that inherits
/// from it.
class StoreHistory<Model> {
    let folder = TestFolder()
    private let draft: SchemaDraft
    private(set) var store: Store
    private(set) var tx: View
    var model: Model
    private var committed: Model
    private var scopes: [(id: UInt64, model: Model)] = []
    var random: IndexRandom
    private(set) var undone = 0, reopened = 0, replayed = 0

    init(_ seed: UInt64, _ draft: SchemaDraft, _ model: Model) throws {
        self.draft = draft
        random = IndexRandom(seed)
        (self.model, committed) = (model, model)
        store = try StoreHistory.open(folder["db"], draft)
        tx = try store.begin()
    }

    static func open(_ path: String, _ draft: SchemaDraft) throws -> Store {
        var configuration = StoreConfiguration()
        configuration.place = .file(path)
        configuration.schema = draft
        configuration.durability = StoreOptions.Durability.none
        return try Store.open(configuration)
    }

    func below(_ bound: Int) -> Int { random.below(bound) }

    /// Compares what the transaction shows with the model.
    func check() throws {}

    func close() throws {
        tx.close()
        try store.close()
    }

    // MARK: Savepoints

    func beginScope() throws { if scopes.count < 4 { scopes.append((try tx.beginSavepoint(), model)) } }

    func releaseScope() throws {
        guard !scopes.isEmpty else { return }
        let at = below(scopes.count)
        try tx.releaseSavepoint(scopes[at].id)
        scopes.removeSubrange(at...)
    }

    func rollBackScope() throws {
        guard !scopes.isEmpty else { return }
        let at = below(scopes.count)
        try tx.rollBack(toSavepoint: scopes[at].id)
        model = scopes[at].model
        scopes.removeSubrange(at...)
        undone += 1
        try check()
    }

    // MARK: Transactions

    /// Ends the transaction, mostly by a commit, and begins the next. `copying`: now and then also the store is copied.
    func end(copying: Bool = false, mayCancel: Bool = true) throws {
        scopes = []
        if mayCancel, below(4) == 0 {
            try tx.cancel()
            model = committed
        } else {
            _ = try tx.commit()
            committed = model
            if below(4) == 0 { try store.shared.database.compact(timeout: -1) { _, _ in } }
            try inspect(store)
            if copying, below(3) == 0 { try copies() }
            if below(3) == 0 {
                try store.close()
                store = try StoreHistory.open(folder["db"], draft)
                reopened += 1
            }
        }
        tx = try store.begin()
        try check()
    }

    /// Its trees, and what a snapshot of it shows.
    private func inspect(_ store: Store) throws {
        let view = try store.openView(), here = tx
        #expect(try view.verify { _, _ in } == [])
        tx = view
        try check()
        tx = here
        view.close()
    }

    /// As it is found after a power cut ("db"), salvaged from that ("new"), and copied ("made"): the same content, with
    /// sound inverses.
    private func copies() throws {
        let copy = TestFolder(), rescue = TestFolder()
        let view = try store.openView()
        try view.copy(to: copy["made"]) { (_, _) throws(StoreError) in }
        view.close()
        for target in [copy, rescue] {
            for name in ["db", "db-log"] {
                try FileManager.default.copyItem(atPath: folder[name], toPath: target[name])
            }
        }
        #expect(
            try StoreFiles.salvage(rescue["db"], to: copy["new"], progress: { (_, _) throws(StoreError) in }) {
                (_) throws(StoreError) in
            }.losses == 0)
        for name in ["db", "new", "made"] {
            let other = try StoreHistory.open(copy[name], draft)
            try inspect(other)
            try other.close()
        }
        replayed += 1
    }
}

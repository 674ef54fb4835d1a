/// One version of the store, pinned: its pages stay as they are until the last reference goes.
package final class Snapshot: @unchecked Sendable {
    package let version: UInt64
    package let source: PageSource
    let root: Ref
    /// Behind the version's record in the log (as of when it was pinned).
    let log: LogPosition
    package let schema: Schema
    /// Keeps the mapping that `source` points into.
    private let mapping: Mapping
    private let database: Database

    /// Of the newest version that is visible.
    convenience init(_ database: Database) throws(StoreError) {
        try self.init(database, pinned: try database.pins.pin())
    }

    private init(_ database: Database, pinned entry: SharedState.RingEntry) throws(StoreError) {
        do throws(StoreError) {
            self.database = database
            let pages: Int
            (mapping, pages) = try database.mapping(forVersionOf: entry.filePages)
            source = mapping.source(filePages: pages, seed: database.seed)
            version = entry.version
            root = entry.root
            log = entry.log
            schema = try database.schema(at: entry.root, source)
        } catch {
            database.pins.unpin(entry.version)
            throw error
        }
    }

    /// Of the version that a transaction began with, whoever sees it yet.
    convenience init(_ transaction: WriteTransaction) throws(StoreError) {
        try transaction.database.pins.pin(head: transaction.base)
        try self.init(transaction.database, pinned: transaction.base)
    }

    deinit { database.unpin(version) }

    /// Objects of all classes.
    func objectCount() throws(StoreError) -> Int {
        var count = 0
        for index in 0..<NodeHeader.count(try source.node(root, .root)) {
            // A damaged file may say anything.
            let (sum, isTooMany) = count.addingReportingOverflow(ClassNode.objectCount(try classNode(index)))
            count = isTooMany ? .max : sum
        }
        return count
    }

    /// The node of a class; null ref where the class has none yet.
    func classNode(_ index: Int) throws(StoreError) -> UnsafeRawPointer {
        let node = try source.node(root, .root)
        guard index < NodeHeader.count(node) else {
            throw StoreError(.noSuchClass, "class \(index) does not exist in version \(version)")
        }
        return try source.node(RootNode.classNode(node, index), .classRoot)
    }
}

/// One version of the store, pinned: its pages stay as they are until the last reference goes.
package final class Snapshot: @unchecked Sendable {
    package let version: UInt64
    package let source: PageSource
    /// As the ring had it when it was pinned.
    let entry: SharedState.RingEntry
    var root: Ref { entry.root }
    /// Behind the version's record in the log.
    var log: LogPosition { entry.log }
    package let schema: Schema
    package let trees: VersionTrees
    /// Keeps the mapping that `source` points into.
    private let mapping: Mapping
    private let database: Database

    /// Of the newest version that is visible.
    convenience init(_ database: Database) throws(StoreError) {
        try self.init(database, pinned: try database.pins.pin())
    }

    /// Of a version that is pinned for it, which is undone where this throws.
    init(_ database: Database, pinned entry: SharedState.RingEntry) throws(StoreError) {
        do throws(StoreError) {
            self.database = database
            self.entry = entry
            let pages: Int
            (mapping, pages) = try database.mapping(forVersionOf: entry.filePages)
            source = mapping.source(filePages: pages, seed: database.seed)
            version = entry.version
            schema = try database.schema(at: entry.root, source)
            trees = VersionTrees(source: source, root: entry.root, version: version, schema: schema)
        } catch {
            database.pins.unpin(entry.version)
            throw error
        }
    }

    /// Of the version that a transaction began with, published or not.
    convenience init(_ transaction: WriteTransaction) throws(StoreError) {
        try transaction.database.pins.pin(head: transaction.base)
        try self.init(transaction.database, pinned: transaction.base)
    }

    deinit { database.unpin(version) }

    /// See `Database.storeTag`.
    var storeTag: UInt32 { database.storeTag }
    var valueLimit: Int { database.options.valueLimit }

    /// Objects of all classes.
    func objectCount() throws(StoreError) -> Int {
        var count = 0
        for index in 0..<NodeHeader.count(try source.node(root, .root)) {
            // A damaged file may say anything.
            let (sum, isTooMany) = count.addingReportingOverflow(ClassNode.objectCount(try trees.node(index)))
            count = isTooMany ? .max : sum
        }
        return count
    }

    /// No other version has it, but for checkpoints, whose content is the same.
    func rootHash() throws(StoreError) -> UInt64 { NodeHeader.hash(try source.node(root, .root)) }
    /// The version that wrote the root: this one, or of a checkpoint the one before.
    func stateVersion() throws(StoreError) -> UInt64 { NodeHeader.word(try source.node(root, .root)) }

    /// Which bytes the schema is: versions with the same ref have the same schema.
    func schemaRef() throws(StoreError) -> Ref { RootNode.schema(try source.node(root, .root)) }
}

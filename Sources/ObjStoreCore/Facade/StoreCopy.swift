/// Copying stores: a version, or what a transaction sees, into a new one.
extension View {
    /// Writes what the view sees into a new store at `path`: compact, clean, synced, with a uuid of its own.
    ///
    /// Works under a temporary name beside it. Of a transaction what it did so far is copied, too; `progress` must not
    /// change it (`.inCallback`). `.alreadyExists`: something is there, and stays. O(size).
    package func copy(
        to path: String, machine: Machine = RealMachine.shared, _ progress: ProgressCallback
    ) throws(StoreError) {
        try store.checkOpen()
        if kind == .transaction { return try copyTransaction(to: path, machine: machine, progress) }
        try StoreFiles.makeStore(
            of: .version(try pinnedSnapshot("copy")), at: path, in: shared, machine: machine, progress)
    }

    private func copyTransaction(to path: String, machine: Machine, _ progress: ProgressCallback) throws(StoreError) {
        lock.lock()
        defer { lock.unlock() }
        let transaction = try writing()
        isCopied = true
        // The next change has to look for its class, and is refused.
        writer?.forgetClasses()
        defer { isCopied = false }
        try StoreFiles.makeStore(of: .transaction(transaction), at: path, in: shared, machine: machine) {
            (done, total) throws(StoreError) in
            let before = epoch
            // What it calls may read the transaction.
            lock.unlock()
            defer { lock.lock() }
            try progress(done, total)
            guard before == stamp else {
                throw StoreError(.inCallback, "progress: the transaction was changed, or ended, while it was copied")
            }
        }
    }
}

extension StoreFiles {
    fileprivate static func makeStore(
        of source: TreeAccess, at path: String, in store: SharedStore, machine: Machine, _ progress: ProgressCallback
    ) throws(StoreError) {
        try makeStore(at: path, of: store.isInMemory ? nil : store.path, like: store.database.file, machine: machine) {
            (database) throws(StoreError) in
            try StoreCopy(source: source, database: database).run(progress)
        }
    }

    /// A new store at `target` with the content of the one at `path`, which no process may be writing.
    ///
    /// Errors: `.alreadyExists`: something is at `target`; `.notFound`, `.notAStore`, `.needsLog` and others of the one
    /// that is copied; `.corrupt`: it has another digest. Returns the root of what was made.
    static func copy(_ path: String, _ digest: SHA256?, to target: String, machine: Machine) throws(StoreError) -> Ref {
        try withSeed(path, digest, machine) { (snapshot, file) throws(StoreError) in
            try makeStore(at: target, of: path, like: file, machine: machine) { (database) throws(StoreError) in
                try StoreCopy(source: .version(snapshot), database: database).run { (_, _) throws(StoreError) in }
                return try database.shared.headEntry().root
            }
        }
    }

    /// The same for a store that is new and empty.
    static func copy(_ path: String, _ digest: SHA256?, into database: Database, machine: Machine) throws(StoreError) {
        try withSeed(path, digest, machine) { (snapshot, _) throws(StoreError) in
            try StoreCopy(source: .version(snapshot), database: database).run { (_, _) throws(StoreError) in }
        }
    }

    private static func withSeed<T>(
        _ path: String, _ digest: SHA256?, _ machine: Machine, _ body: (Snapshot, StorageFile) throws(StoreError) -> T
    ) throws(StoreError) -> T {
        var options = StoreOptions()
        options.isReadOnly = true
        options.hasBackgroundThread = false
        do throws(StoreError) {
            let checked = try digest.map { (digest) throws(StoreError) in try check(path, digest, machine) }
            let seed = try Database.open(path, options: options, machine: machine)
            let result: T
            do throws(StoreError) {
                if let checked, try seed.file.identity() != checked {
                    throw StoreError(.busy, "it was replaced while it was read")
                }
                result = try body(try seed.snapshot(), seed.file)
            } catch {
                try? seed.close()
                throw error
            }
            try seed.close()
            return result
        } catch {
            // Of the new store's path the message speaks for itself.
            if error.code == .alreadyExists { throw error }
            throw StoreError(error.code, "the seed \(path): \(error.message)").system(error.systemError)
        }
    }

    /// The file that was checked: a store is opened by its path.
    private static func check(_ path: String, _ digest: SHA256, _ machine: Machine) throws(StoreError) -> FileIdentity {
        let file = try machine.open(path, .readOnly)
        defer { file.close() }
        let found = try SHA256(of: file)
        guard found == digest else { throw StoreError(.corrupt, "its SHA-256 is \(found.text), not \(digest.text)") }
        return try file.identity()
    }
}

/// Copies one object by object: same keys, new pages.
struct StoreCopy {
    let source: TreeAccess
    /// New and empty.
    let database: Database

    /// Objects in a transaction; its memory is bounded by that and by `bytes`.
    private static let objects = 200_000
    private static let bytes = 128 << 20
    /// Elements that are inserted at a time.
    private static let elements = 4096

    func run(_ progress: ProgressCallback) throws(StoreError) {
        let schema = source.schema
        let total = source.size
        var all = 0, done = 0
        for cls in schema.classes { all += try source.objectCount(cls) }
        try progress(0, total)
        var transaction = try WriteTransaction.begin(database)
        try transaction.setSchema(schema)
        for (index, cls) in schema.classes.enumerated() {
            let reader = try source.objects(cls)
            var values = [Value](repeating: .null, count: cls.columns.count)
            var next = try reader.seek(0)
            while let row = next {
                for property in 0..<cls.columns.count { values[property] = try reader.value(row, property) }
                try create(row, cls, &values, reader, in: transaction.state(index))
                done += 1
                if done % StoreCopy.objects == 0
                    || (done & 0xff == 0 && transaction.space.arena.capacityInUse > StoreCopy.bytes)
                {
                    try end(transaction)
                    try progress(min(total, UInt64(Double(total) * Double(done) / Double(max(1, all)))), total)
                    transaction = try WriteTransaction.begin(database)
                }
                next = try reader.next(row)
            }
            let state = try transaction.state(index)
            state.raiseNextKey(to: try source.nextKey(cls))
            state.keepGeneratedKeys(of: try source.generatedKeys(cls))
        }
        try end(transaction)
        try progress(total, total)
    }

    /// Elements that lie in a tree are put into the new one; links, and what may have some, for their inverse, wherever
    /// they lie.
    private func create(
        _ row: RowPosition, _ cls: ClassSchema, _ values: inout [Value], _ reader: ClusterReader, in state: ClassState
    ) throws(StoreError) {
        var trees: [Int] = []
        for property in cls.collections {
            let cell = CollectionCell.Bytes(start: values[property].pointer, count: values[property].count)
            guard
                CollectionCell.isInTree(cell) || cls.inversePosition(of: property) != nil
                    || cls.mixedPosition(of: property) != nil
            else { continue }
            values[property] = .zero(of: cls.columns[property].kind)
            trees.append(property)
        }
        try state.replayCreate(row.key, values)
        for property in trees {
            let elements = try source.elements(row, cls, property, reader)
            var waiting: [(key: Value, value: Value)] = [], done = 0
            func flush() throws(StoreError) {
                try state.replaceElements(try state.row(row.key), property, done..<done, waiting[...])
                done += waiting.count
                waiting.removeAll(keepingCapacity: true)
            }
            try elements.forEach { (key, value) throws(StoreError) in
                waiting.append((key, value))
                if waiting.count == StoreCopy.elements { try flush() }
                return true
            }
            if !waiting.isEmpty { try flush() }
        }
    }

    /// Nothing of it is logged: the close makes everything durable at once.
    private func end(_ transaction: WriteTransaction) throws(StoreError) {
        transaction.forceSummary()
        try transaction.commit(StoreOptions.Durability.none)
    }
}

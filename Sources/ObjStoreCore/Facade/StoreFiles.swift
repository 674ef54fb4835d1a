/// Stores as files: copying, checking, finding and deleting them.
extension View {
    /// How far a long operation is; throws `.cancelled` to end it.
    package typealias Progress = (_ done: UInt64, _ total: UInt64) throws(StoreError) -> Void

    /// Writes what the view sees into a new store at `path`: compact, clean, synced, with a uuid of its own.
    ///
    /// Works under a temporary name beside it. `.alreadyExists`: something is there, and stays. O(size).
    package func copy(to path: String, machine: Machine = RealMachine.shared, _ progress: Progress) throws(StoreError) {
        try store.checkOpen()
        let snapshot = try pinnedSnapshot("copy")
        try StoreFiles.makeStore(at: path, machine: machine) { (database) throws(StoreError) in
            try StoreCopy(snapshot: snapshot, database: database).run(progress)
        }
    }

    /// A line for each finding; empty = sound. Reads everything.
    package func verify(_ progress: Progress) throws(StoreError) -> [String] {
        var findings: [String] = []
        try verify(progress) { (text) throws(StoreError) in findings.append(text) }
        return findings
    }

    /// Tells `finding` one by one what is wrong; what it throws ends the check.
    package func verify(_ progress: Progress, finding: (String) throws(StoreError) -> Void) throws(StoreError) {
        try store.checkOpen()
        let snapshot = try pinnedSnapshot("verify")
        var steps = VerifySteps(snapshot.image)
        try progress(0, steps.total)
        let outcome = try Verifier.check(
            snapshot.image, step: { (step) throws(StoreError) in try steps.advance(step, progress) }, finding: finding)
        // A thread that has a transaction open cannot wait for itself.
        if !shared.isWriterThread {
            do throws(StoreError) {
                try shared.database.checkFreeSpace(
                    outcome.used, isWhole: outcome.isSound, timeout: nanoseconds(store.writeTimeout), finding: finding)
            } catch {
                guard error.isDamage else { throw error }
                try finding("free space: \(error.message)")
            }
        }
        try progress(steps.total, steps.total)
    }
}

/// How far a check is, in bytes: the first half of the work is to read every page, the second to compare objects
/// with indexes.
struct VerifySteps {
    let total: UInt64
    private let entries: Double
    private var read: UInt64 = 0
    private var compared = 0.0
    private var progress: StepProgress

    init(_ image: VersionImage) {
        total = UInt64(image.source.limit)
        progress = StepProgress(total: total)
        var entries = 1.0
        for (index, cls) in image.schema.classes.enumerated() {
            // A damaged one counts nothing here: it will be a finding.
            guard let node = try? image.classNode(index) else { continue }
            entries += Double(ClassNode.objectCount(node)) * Double(1 + cls.indexes.count)
        }
        self.entries = entries
    }

    mutating func advance(_ step: Verifier.Step, _ tell: View.Progress) throws(StoreError) {
        switch step {
        case .read(let count): read += UInt64(count)
        case .compared(let count): compared += Double(count)
        }
        try progress.advance(to: min(read / 2, total / 2) + UInt64(Double(total / 2) * min(compared / entries, 1)), tell)
    }
}

/// Copies one version object by object: same keys, new pages.
private struct StoreCopy {
    let snapshot: Snapshot
    let database: Database

    /// Objects in a transaction; its memory is bounded by that and by `bytes`.
    private static let objects = 200_000
    private static let bytes = 128 << 20
    /// Elements that are inserted at a time.
    private static let elements = 4096

    func run(_ progress: View.Progress) throws(StoreError) {
        let schema = snapshot.schema
        let total = UInt64(snapshot.source.limit)
        var all = 0, done = 0
        for index in schema.classes.indices { all += ClassNode.objectCount(try snapshot.classNode(index)) }
        try progress(0, total)
        var transaction = try WriteTransaction.begin(database)
        try transaction.setSchema(schema)
        for (index, cls) in schema.classes.enumerated() {
            let node = try snapshot.classNode(index)
            let reader = ClusterReader(source: snapshot.source, root: ClassNode.cluster(node), columns: cls.columns)
            var values = [Value](repeating: .null, count: cls.columns.count)
            var next = try reader.seek(0)
            while let row = next {
                for property in 0..<cls.columns.count { values[property] = try reader.value(row, property) }
                try create(row, cls, &values, reader, in: transaction.state(index))
                done += 1
                if done % StoreCopy.objects == 0 || (done & 0xff == 0 && transaction.space.arena.capacityInUse > StoreCopy.bytes) {
                    try end(transaction)
                    try progress(min(total, UInt64(Double(total) * Double(done) / Double(max(1, all)))), total)
                    transaction = try WriteTransaction.begin(database)
                }
                next = try reader.next(row)
            }
            try transaction.state(index).raiseNextKey(to: ClassNode.nextKey(node))
        }
        try end(transaction)
        try progress(total, total)
    }

    /// Elements that lie in a tree are put into the new one; links, for their inverse, wherever they lie.
    private func create(_ row: RowPosition, _ cls: ClassSchema, _ values: inout [Value], _ reader: ClusterReader, in state: ClassState) throws(StoreError) {
        var trees: [Int] = []
        for property in cls.collections {
            let cell = CollectionCell.Bytes(start: values[property].pointer, count: values[property].count)
            guard CollectionCell.isInTree(cell) || cls.inversePosition(of: property) != nil else { continue }
            values[property] = .zero(of: cls.columns[property].kind)
            trees.append(property)
        }
        try state.replayCreate(row.key, values)
        for property in trees {
            let elements = CollectionElements(
                row.key, cls, property, cell: try reader.value(row, property), tree: try snapshot.collection(cls, property))
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

package enum StoreFiles {
    /// Whether the file at `path` begins like a store.
    package static func exists(_ path: String, machine: Machine = RealMachine.shared) throws(StoreError) -> Bool {
        guard machine.exists(path) else { return false }
        let file: StorageFile
        do throws(StoreError) { file = try machine.open(path, .readOnly) } catch {
            // No system call failed: it is there, but no regular file.
            if error.code == .io && error.systemError == 0 { return false }
            throw error
        }
        defer { file.close() }
        return isStore(file)
    }

    static func isStore(_ file: StorageFile) -> Bool {
        // What cannot be read (a folder) is no store.
        for slot in 0..<2 {
            var magic: UInt64 = 0
            let isRead = withUnsafeMutableBytes(of: &magic) { bytes in
                (try? file.read(into: bytes.baseAddress!, count: 8, at: slot * PageSize.page)) != nil
            }
            if isRead, magic == Meta.magic { return true }
        }
        return false
    }

    /// Removes a store that nobody has open. `.notFound`, `.notAStore`, `.busy`.
    package static func delete(_ path: String, machine: Machine = RealMachine.shared) throws(StoreError) {
        let path = try SharedStore.resolve(path, machine)
        guard machine.exists(path) else { throw StoreError(.notFound, "there is no file at \(path)") }
        guard try exists(path, machine: machine) else { throw StoreError(.notAStore, "\(path) is not an objstore file") }
        let file = try machine.open(path, .existing)
        defer { file.close() }
        let opening = machine.makeLock(file, byte: Database.Locks.first)
        guard try opening.acquire(timeout: 0) else { throw StoreError(.busy, "\(path) is being opened or closed") }
        defer { opening.release() }
        guard try !machine.isLocked(file, bytes: Database.Locks.allLive) else { throw StoreError(.busy, "\(path) is open") }
        for name in [path + "-log", path + "-lock"] where machine.exists(name) { try machine.remove(name) }
        try machine.remove(path)
        try machine.syncFolder(of: path)
    }
}

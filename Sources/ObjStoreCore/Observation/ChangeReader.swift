/// Reads the changes between two pinned versions, class by class: from the log, or by comparing their trees.
///
/// The log says it at the price of what changed, and also that a property was written again with its old
/// value. Where the ring has lapped the reader, or a transaction was too large to be listed, the two object
/// trees are compared: equal subtrees are skipped, and only real changes are seen.
package final class ChangeReader {
    package let from: Snapshot
    package let to: Snapshot
    /// By class id, for the requested classes that changed.
    package private(set) var classes: [UInt32: ClassChanges] = [:]
    /// The same without what happened inside of embedded objects only.
    private(set) var direct: [UInt32: ClassChanges] = [:]
    /// Found by comparing.
    package private(set) var isCompared = false

    /// Something was committed; else there were only checkpoints.
    private(set) var hasCommits = false
    /// Some of it by another process. (After comparing: may have been.)
    private(set) var isFromOtherProcess = false

    /// It has what all observers ask for that came to the hub before: see `Observer.arrival`.
    var arrivals: UInt64 = 0

    private var collectors: [ChangeCollector?]
    /// The requested classes, and those that their objects have inside.
    private let wanted: [Bool]
    private let database: Database
    /// Changes of lists, sets and maps, once somebody has asked for them.
    private var splices: SpliceTable?
    private var isForSplices = false

    /// - Parameter classes: ids of the classes to report.
    package init(
        _ database: Database, from: Snapshot, to: Snapshot, classes wantedClasses: Set<UInt32>, compares: Bool = false
    ) throws(StoreError) {
        self.database = database
        self.from = from
        self.to = to
        let count = to.schema.classes.count
        let all = EmbeddedChanges.classes(inside: wantedClasses, of: to.schema)
        wanted = (0..<count).map { all.contains(UInt32($0)) }
        collectors = Array(repeating: nil, count: count)
        if from.version >= to.version { return }
        if !compares, try followLog() {
            for (index, collector) in collectors.enumerated() {
                guard let changes = try collector?.net(propertyCount: to.schema.classes[index].properties.count),
                    !changes.isEmpty
                else { continue }
                self.classes[UInt32(index)] = changes
            }
        } else {
            try compare()
        }
        collectors = []
        direct = self.classes
        try EmbeddedChanges(in: to).climb(&classes) { wanted[Int($0)] }
    }

    func covers(_ classID: UInt32) -> Bool { Int(classID) < wanted.count && wanted[Int(classID)] }

    // MARK: The log

    private func followLog() throws(StoreError) -> Bool {
        if database.shared.prepared.load() == 0 { return false }
        // The first write of a session starts a new log behind the version that all were on: the ring
        // knows, a snapshot that was taken before does not.
        if let entry = database.shared.ringEntry(ifThere: from.version) {
            if try follow(entry.log) { return true }
            if entry.log == from.log { return false }
        }
        return try follow(from.log)
    }

    /// False where the chain of records does not lead to `to`: overwritten, or not enough said.
    ///
    /// The record may be overwritten while it is read. Checked by version, epoch, the hash of the record before and its
    /// own hash; and at the end the chain must be the one that the published ring entry names.
    private func follow(_ start: LogPosition) throws(StoreError) -> Bool {
        for index in collectors.indices { collectors[index] = nil }
        (hasCommits, isFromOtherProcess) = (false, false)
        if isForSplices { splices = SpliceTable() }
        let sameSchema = try from.schemaRef() == to.schemaRef()
        var schema = from.schema
        let scanner = try database.requireLog().scanner()
        var position = start, version = from.version
        while version < to.version {
            guard let record = try scanner.next(position, version: version + 1) else { return false }
            position = record.end
            version += 1
            if record.flags.contains(.checkpoint) { continue }
            let isOwn = database.ownVersions.contains(version)
            hasCommits = true
            if !isOwn { isFromOtherProcess = true }
            var reader = ByteReader(scanner.ops.base, count: scanner.ops.count)
            if record.flags.contains(.summary) {
                // Too much to be listed; and a summary does not say how the schema changed.
                if isForSplices || reader.isAtEnd || !sameSchema { return false }
                for run in try OpLog.decodeSummary(&reader) { try collector(run.classID, isOwn)?.record(run) }
            } else {
                var cursor = OpCursor(reader, schema: schema)
                if isForSplices {
                    if try splices?.read(&cursor, of: wanted) != true { return false }
                } else {
                    try readOps(&cursor, isOwn: isOwn)
                }
                schema = cursor.schema
            }
        }
        return position.chain == to.log.chain
    }

    private func readOps(_ cursor: inout OpCursor, isOwn: Bool) throws(StoreError) {
        while try cursor.next() {
            if cursor.code == .schema { continue }
            guard let collector = collector(cursor.classID, isOwn) else { continue }
            switch cursor.code {
            case .create: try collector.record(.inserted, cursor.key)
            case .update:
                while let change = try cursor.nextChange() { try update(cursor, change.columnID, collector) }
            case .splice: try update(cursor, try cursor.splice().columnID, collector)
            case .edit: try update(cursor, try cursor.edit().columnID, collector)
            case .delete, .schema: try collector.record(.deleted, cursor.key)
            }
        }
    }

    private func update(_ cursor: OpCursor, _ column: UInt32, _ collector: ChangeCollector) throws(StoreError) {
        if let property = property(Int(cursor.classID), column) {
            try collector.recordUpdate(cursor.key, property: property)
        }
    }

    private func collector(_ classID: UInt32, _ isOwn: Bool) -> ChangeCollector? {
        let index = Int(classID)
        guard index < wanted.count, wanted[index] else { return nil }
        if collectors[index] == nil {
            collectors[index] = ChangeCollector(maskWords: ClassChanges.maskWords(to.schema.classes[index]))
        }
        if !isOwn { collectors[index]!.isFromOtherProcess = true }
        return collectors[index]
    }

    /// Position in `to` of a column; usually its id.
    private func property(_ classIndex: Int, _ column: UInt32) -> Int? {
        let columns = to.schema.classes[classIndex].columns
        if Int(column) < columns.count, columns[Int(column)].id == column { return Int(column) }
        return columns.firstIndex { $0.id == column }
    }

    /// What was done to one list, set or map, in order; nil where the log does not say it. Read once for all of them.
    func splices(of scope: CollectionScope) throws(StoreError) -> [ElementSplice]? {
        if isCompared { return nil }
        if splices == nil {
            splices = SpliceTable()
            guard try from.schemaRef() == to.schemaRef() else { return nil }
            isForSplices = true
            defer { isForSplices = false }
            if try followLog() { splices?.isWhole = true }
        }
        return splices?[scope]
    }

    // MARK: The trees

    private func compare() throws(StoreError) {
        isCompared = true
        let isFromOthers = try isPartlyFromOthers()
        hasCommits =
            isFromOthers || (from.version + 1...to.version).contains { database.ownVersions.contains($0) }
        isFromOtherProcess = isFromOthers
        for index in wanted.indices where wanted[index] {
            let cls = to.schema.classes[index]
            let before = try from.trees.objects(cls), after = try to.trees.objects(cls)
            var changes = try TreeComparison.changes(from: before, to: after, maskWords: ClassChanges.maskWords(cls))
            try addCollections(cls, to: &changes)
            if changes.isEmpty { continue }
            changes.isFromOtherProcess = isFromOthers
            classes[UInt32(index)] = changes
        }
    }

    /// Objects whose lists, sets or maps have other elements: their own rows need not differ.
    private func addCollections(_ cls: ClassSchema, to changes: inout ClassChanges) throws(StoreError) {
        for property in cls.collections {
            let before = try from.trees.collection(cls, property), after = try to.trees.collection(cls, property)
            var owners: [Int64] = []
            try CollectionComparison.forEachChangedOwner(from: before, of: from.version, to: after) { owner in
                owners.append(owner)
            }
            changes.addModified(owners, property: property)
        }
    }

    /// A version that is not ours and not known to be a checkpoint. (The trees do not say which one did what.)
    private func isPartlyFromOthers() throws(StoreError) -> Bool {
        var version = from.version + 1
        while version <= to.version {
            if !database.ownVersions.contains(version) {
                guard database.shared.ringEntry(ifThere: version)?.isCheckpoint == true else { return true }
            }
            version += 1
        }
        return false
    }
}

/// What happened between two pinned versions, class by class: from the log, or by comparing their trees.
///
/// The log says it at the price of what changed, and also that a property was written again with its old
/// value. Where the ring has lapped the reader, or a transaction was too large to be listed, the two object
/// trees are compared: equal subtrees are skipped, and only real changes are seen.
package final class ChangeReader {
    package let from: Snapshot
    package let to: Snapshot
    /// By class id, for the classes that were asked for and changed.
    package private(set) var classes: [UInt32: ClassChanges] = [:]
    /// Found by comparing.
    package private(set) var isCompared = false

    private var collectors: [ChangeCollector?]
    /// The classes that were asked for, and those that their objects have inside.
    private let wanted: [Bool]
    private let database: Database

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
                guard let changes = collector?.net(propertyCount: to.schema.classes[index].properties.count),
                    !changes.isEmpty
                else { continue }
                self.classes[UInt32(index)] = changes
            }
        } else {
            try compare()
        }
        collectors = []
        try EmbeddedChanges(in: to).climb(&classes) { wanted[Int($0)] }
    }

    func covers(_ classID: UInt32) -> Bool { Int(classID) < wanted.count && wanted[Int(classID)] }

    // MARK: The log

    private func followLog() throws(StoreError) -> Bool {
        if database.shared.prepared.load() == 0 { return false }
        // The first write of a session begins the log anew behind the version that everybody stood on: the ring
        // knows, a snapshot that was taken before does not.
        let entry = database.shared.ringEntry(from.version)
        if entry.version == from.version, try follow(entry.log) { return true }
        if entry.version == from.version && entry.log == from.log { return false }
        return try follow(from.log)
    }

    /// False where the chain of records does not lead to `to`: overwritten, or not enough said.
    ///
    /// The record may be overwritten while it is read. Version, epoch, the hash of the record before and its
    /// own hash tell; and at the end the chain must be the one that the published ring entry names.
    private func follow(_ start: LogPosition) throws(StoreError) -> Bool {
        for index in collectors.indices { collectors[index] = nil }
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
            var reader = ByteReader(scanner.ops.base, count: scanner.ops.count)
            if record.flags.contains(.summary) {
                // Too much to be listed; and a summary does not say how the schema changed.
                if reader.isAtEnd || !sameSchema { return false }
                for run in try OpLog.decodeSummary(&reader) { collector(run.classID, isOwn)?.record(run) }
            } else {
                try readOps(&reader, &schema, isOwn: isOwn)
            }
        }
        return position.chain == to.log.chain
    }

    private func readOps(_ reader: inout ByteReader, _ schema: inout Schema, isOwn: Bool) throws(StoreError) {
        while !reader.isAtEnd {
            guard let code = OpLog.Code(rawValue: try reader.read()) else {
                throw StoreError(.corrupt, "unknown operation in the log")
            }
            if code == .schema {
                schema = try SchemaCodec.read(&reader)
                continue
            }
            let classID = try reader.readVarint()
            guard classID < UInt64(schema.classes.count) else {
                throw StoreError(.corrupt, "the log names a class that does not exist")
            }
            let key = try reader.readSigned()
            let collector = collector(UInt32(classID), isOwn)
            switch code {
            case .create:
                for _ in schema.classes[Int(classID)].columns { _ = try ValueCodec.read(&reader) }
                collector?.record(.inserted, key)
            case .update:
                for _ in 0..<(try reader.readCount()) {
                    let column = try reader.readVarint()
                    _ = try ValueCodec.read(&reader)
                    if let collector, let property = property(Int(classID), column) {
                        collector.recordUpdate(key, property: property)
                    }
                }
            case .splice:
                let column = try reader.readVarint()
                guard let spec = schema.classes[Int(classID)].columns.first(where: { UInt64($0.id) == column }) else {
                    throw Op.unknownColumn
                }
                _ = try Op.Splice.read(&reader, hasKeys: spec.kind == .map)
                if let collector, let property = property(Int(classID), column) {
                    collector.recordUpdate(key, property: property)
                }
            case .edit:
                let column = try reader.readVarint()
                _ = try Op.Edit.read(&reader)
                if let collector, let property = property(Int(classID), column) {
                    collector.recordUpdate(key, property: property)
                }
            case .delete, .schema: collector?.record(.deleted, key)
            }
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
    private func property(_ classIndex: Int, _ column: UInt64) -> Int? {
        let columns = to.schema.classes[classIndex].columns
        if column < UInt64(columns.count), UInt64(columns[Int(column)].id) == column { return Int(column) }
        return columns.firstIndex { UInt64($0.id) == column }
    }

    // MARK: The trees

    private func compare() throws(StoreError) {
        isCompared = true
        let isFromOthers = try isPartlyFromOthers()
        for index in wanted.indices where wanted[index] {
            let cls = to.schema.classes[index]
            let before = try from.objects(cls), after = try to.objects(cls)
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
            let before = try from.collection(cls, property), after = try to.collection(cls, property)
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
                let entry = database.shared.ringEntry(version)
                if entry.version != version || !entry.isCheckpoint { return true }
            }
            version += 1
        }
        return false
    }
}

extension Snapshot {
    /// Which bytes the schema is: versions with the same ref have the same schema.
    func schemaRef() throws(StoreError) -> Ref { RootNode.schema(try source.node(root, .root)) }

    /// A tree of a class; null where the version does not have the class yet.
    private func tree(_ cls: ClassSchema, _ root: (_ classNode: UnsafeRawPointer) -> Ref) throws(StoreError) -> Ref {
        let node = try source.node(self.root, .root), index = Int(cls.id)
        guard index < NodeHeader.count(node) else { return .null }
        let ref = RootNode.classNode(node, index)
        return ref.isNull ? .null : root(try source.node(ref, .classRoot))
    }

    /// The elements of a class's collection property that lie in its tree.
    func collection(_ cls: ClassSchema, _ property: Int) throws(StoreError) -> CollectionReader {
        CollectionReader(
            source: source, root: try tree(cls) { ClassNode.collectionRoot($0, column: cls.columns[property].id) })
    }

    /// Who has which link in a property; nil where it has no plain index.
    func index(_ cls: ClassSchema, _ property: Int) throws(StoreError) -> IndexReader? {
        guard let position = cls.indexPosition(of: property) else { return nil }
        let index = cls.indexes[position]
        return IndexReader(source: source, root: try tree(cls) { ClassNode.root($0, of: index) }, kind: index.kind)
    }

    /// Who has which links in a collection; nil where the property is no collection of links.
    package func inverse(_ cls: ClassSchema, _ property: Int) throws(StoreError) -> IndexReader? {
        guard let position = cls.inversePosition(of: property) else { return nil }
        return IndexReader(
            source: source, root: try tree(cls) { ClassNode.root($0, of: cls.inverses[position]) }, kind: .link)
    }

    /// Who has which links in the values of a mixed property; nil where the property is none.
    func mixedInverse(_ cls: ClassSchema, _ property: Int) throws(StoreError) -> IndexReader? {
        guard let position = cls.mixedPosition(of: property) else { return nil }
        return IndexReader(
            source: source, root: try tree(cls) { ClassNode.root($0, of: cls.mixedInverses[position]) }, kind: .objectID
        )
    }

    /// The objects of a class.
    package func objects(_ cls: ClassSchema) throws(StoreError) -> ClusterReader {
        ClusterReader(source: source, root: try tree(cls, ClassNode.cluster), columns: cls.columns)
    }
}

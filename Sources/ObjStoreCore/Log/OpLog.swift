/// The operations of a transaction, as after-images: replayed after a power cut, read by observers.
///
/// ```
/// op      { u8 code · class id · …}                           all integers varints
/// create  key · values of all properties in declared order
/// update  key · count · count × { column id · value }
/// delete  key
/// splice  key · column id · at · removed · inserted · inserted × { [key of a map] value }    of a list, set or map
/// edit    key · column id · steps × { 0 · index | 1 · key } · action · [value]      inside a mixed value (MixedEdit)
/// schema  the whole schema (SchemaCodec)
/// ```
/// Beside the ops the log keeps a summary: runs of keys with what happened to them and which columns. A
/// transaction whose ops would be larger than the pages it wrote, or than an eighth of the ring, logs only
/// the summary (and is a barrier: see `Commit`).
/// ```
/// summary  count × { class id · kind · first key · keys · column mask }
/// ```
package final class OpLog {
    enum Code: UInt8 {
        case create = 1
        case update = 2
        case delete = 3
        case schema = 4
        case splice = 5
        case edit = 6
    }

    /// Keys [first, first + count) of a class to which the same happened.
    package struct Run: Equatable, Sendable {
        package var classID: UInt32
        package var kind: ChangeKind
        package var firstKey: Int64
        package var count: Int64
        /// Bit i: the property at position i changed; bit 63 represents it and all behind it.
        package var columns: UInt64

        /// Becomes the run that is both, if there is one.
        @inline(__always)
        fileprivate mutating func takes(_ next: Run) -> Bool {
            guard classID == next.classID, kind == next.kind else { return false }
            if columns == next.columns, firstKey + count == next.firstKey {
                count += next.count
                return true
            }
            guard count == 1, next.count == 1, firstKey == next.firstKey else { return false }
            columns |= next.columns
            return true
        }
    }

    /// Where there is no memory for more of them, they are given up as if they had become too large: no change fails,
    /// or is undone, because of what is said about it.
    package let bytes = ByteBuffer(capacity: 4096)
    private(set) var runs: [Run] = []
    /// The ops have become too large to be kept: only the summary is logged.
    package private(set) var isSummary = false
    /// Ops of more bytes than this become a summary.
    var limit = Int.max { didSet { mostRuns = min(limit / 3, OpLog.mostRuns) } }
    /// More runs than this are only counted. A third of `limit`: an op has three bytes and a run of the summary five,
    /// so that neither would be logged. In a large ring they might be, but take much memory until then.
    private var mostRuns = OpLog.mostRuns
    private static let mostRuns = 1 << 18
    /// What happened since there were too many runs, which end there.
    private var uncounted: (all: Int, deleted: Int)?
    /// How many savepoints are open. While there are any, ops that became a summary are kept: a roll-back may want
    /// them.
    private var savepoints = 0

    var isEmpty: Bool { runs.isEmpty && bytes.count == 0 && !isSummary }

    /// How many objects changed, and how many of those were deleted.
    var changedObjects: (all: Int, deleted: Int) {
        var (all, deleted) = uncounted ?? (0, 0)
        for run in runs {
            all += Int(run.count)
            if run.kind == .deleted { deleted += Int(run.count) }
        }
        return (all, deleted)
    }

    func removeAll() {
        bytes.removeAll()
        runs.removeAll(keepingCapacity: runs.capacity <= 4096)
        uncounted = nil
        isSummary = false
        savepoints = 0
    }

    // MARK: Undo of a failing call

    struct Mark {
        fileprivate var bytes: Int
        fileprivate var runs: Int
        fileprivate var lastRun: Run?
        fileprivate var isSummary: Bool
        fileprivate var uncounted: (all: Int, deleted: Int)?
    }

    var mark: Mark {
        Mark(bytes: bytes.count, runs: runs.count, lastRun: runs.last, isSummary: isSummary, uncounted: uncounted)
    }

    func rollBack(to mark: Mark) {
        uncounted = mark.uncounted
        runs.removeLast(runs.count - mark.runs)
        if let last = mark.lastRun { runs[runs.count - 1] = last }
        if isSummary && !mark.isSummary {
            // Where the ops before the mark are gone already, the summary is still right.
            if savepoints == 0 { return }
            isSummary = false
        }
        if !isSummary { bytes.truncate(mark.bytes) }
    }

    /// A savepoint begins: what is logged since can be taken back by `endSavepoint`.
    func beginSavepoint() -> Mark {
        savepoints += 1
        return mark
    }

    func endSavepoint(_ mark: Mark, keepsChanges: Bool) {
        if !keepsChanges { rollBack(to: mark) }
        savepoints -= 1
        if isSummary && savepoints == 0 { bytes.removeAll() }
    }

    // MARK: Recording

    func create(_ cls: ClassSchema, key: Int64, values: UnsafePointer<Value>) {
        note(cls.id, .inserted, key, count: 1, columns: ~0)
        if isSummary { return }
        write { () throws(StoreError) in
            try begin(.create, cls.id, key)
            for index in 0..<cls.columns.count { try ValueCodec.append(values[index], to: bytes) }
        }
    }

    /// Many created at once from columns: too large for ops by nature.
    func createRun(_ cls: ClassSchema, firstKey: Int64, count: Int) {
        note(cls.id, .inserted, firstKey, count: Int64(count), columns: ~0)
        becomeSummary()
    }

    func update(_ cls: ClassSchema, key: Int64, property: Int, value: Value) {
        note(cls.id, .modified, key, count: 1, columns: 1 << UInt64(min(property, 63)))
        if isSummary || (InjectedBug.active(.updateUnlogged) && value.low == 0) { return }
        write { () throws(StoreError) in
            try begin(.update, cls.id, key) { (numbers) in
                numbers.append(1)
                numbers.appendVarint(UInt64(cls.columns[property].id))
            }
            try ValueCodec.append(value, to: bytes)
        }
    }

    /// Several properties in one operation.
    func update(
        _ cls: ClassSchema, key: Int64, _ properties: UnsafePointer<Int>, _ values: UnsafePointer<Value>, _ count: Int
    ) {
        for index in 0..<count {
            note(cls.id, .modified, key, count: 1, columns: 1 << UInt64(min(properties[index], 63)))
        }
        if isSummary { return }
        write { () throws(StoreError) in
            try begin(.update, cls.id, key) { (numbers) in numbers.appendVarint(UInt64(count)) }
            for index in 0..<count {
                try bytes.appendVarint(UInt64(cls.columns[properties[index]].id))
                try ValueCodec.append(values[index], to: bytes)
            }
        }
    }

    func delete(_ cls: ClassSchema, key: Int64) {
        note(cls.id, .deleted, key, count: 1, columns: 0)
        if isSummary { return }
        write { () throws(StoreError) in
            try begin(.delete, cls.id, key)
        }
    }

    /// Elements of a collection were replaced by others; those of a map are keys and values.
    func splice(
        _ cls: ClassSchema, key: Int64, property: Int, at: Int, removed: Int,
        inserted: ArraySlice<(key: Value, value: Value)>
    ) {
        note(cls.id, .modified, key, count: 1, columns: 1 << UInt64(min(property, 63)))
        if isSummary { return }
        write { () throws(StoreError) in
            try begin(.splice, cls.id, key) { (numbers) in
                numbers.appendVarint(UInt64(cls.columns[property].id))
                numbers.appendVarint(UInt64(at))
                numbers.appendVarint(UInt64(removed))
                numbers.appendVarint(UInt64(inserted.count))
            }
            let hasKeys = cls.columns[property].kind == .map
            for (key, value) in inserted {
                if hasKeys { try ValueCodec.append(key, to: bytes) }
                try ValueCodec.append(value, to: bytes)
                if bytes.count > limit { break }
            }
        }
    }

    /// One value inside a mixed one was set, inserted or removed.
    func edit(_ cls: ClassSchema, key: Int64, property: Int, _ edit: MixedEdit) {
        note(cls.id, .modified, key, count: 1, columns: 1 << UInt64(min(property, 63)))
        if isSummary { return }
        write { () throws(StoreError) in
            try begin(.edit, cls.id, key) { (numbers) in
                numbers.appendVarint(UInt64(cls.columns[property].id))
            }
            try Op.Edit(path: edit.path, action: edit.action, value: edit.value).append(to: bytes)
        }
    }

    /// Errors: `.outOfMemory`.
    func schema(_ schema: Schema) throws(StoreError) {
        // Schema changes are always replayable: they come first in their transaction.
        try bytes.append(Code.schema.rawValue)
        try SchemaCodec.append(schema, to: bytes)
    }

    /// What every op begins with, and at most four numbers more.
    @inline(__always)
    private func begin(
        _ code: Code, _ classID: UInt32, _ key: Int64, _ more: (inout ByteBuffer.NumberBytes) -> Void = { _ in }
    ) throws(StoreError) {
        try bytes.append(atMost: 1 + 5 + 10 + 4 * 10) { (numbers) in
            numbers.append(code.rawValue)
            numbers.appendVarint(UInt64(classID))
            numbers.appendSigned(key)
            more(&numbers)
        }
    }

    /// One op, whole or not at all.
    @inline(__always)
    private func write(_ op: () throws(StoreError) -> Void) {
        let start = bytes.count
        do throws(StoreError) { try op() } catch {
            bytes.truncate(start)
            return becomeSummary()
        }
        if bytes.count > limit { becomeSummary() }
    }

    func becomeSummary() {
        isSummary = true
        if savepoints == 0 { bytes.removeAll() }
    }

    private func note(_ classID: UInt32, _ kind: ChangeKind, _ key: Int64, count: Int64, columns: UInt64) {
        let run = Run(classID: classID, kind: kind, firstKey: key, count: count, columns: columns)
        if !runs.isEmpty, uncounted == nil, runs[runs.count - 1].takes(run) { return }
        if _fastPath(uncounted == nil && runs.count < mostRuns && (runs.count < runs.capacity || mayGrow)) {
            return runs.append(run)
        }
        let before = uncounted ?? (0, 0)
        uncounted = (before.all + Int(count), before.deleted + (kind == .deleted ? Int(count) : 0))
    }

    /// Whether there is memory for twice as many runs.
    @inline(never)
    private var mayGrow: Bool {
        do throws(StoreError) { try Memory.check(for: 2 * runs.count, each: MemoryLayout<Run>.stride) } catch {
            return false
        }
        return true
    }

    /// Nothing if there were too many runs: a reader that needs them compares the versions.
    func encodeSummary(into buffer: ByteBuffer) throws(StoreError) {
        if uncounted != nil { return }
        try buffer.appendVarint(UInt64(runs.count))
        for run in runs {
            try buffer.appendVarint(UInt64(run.classID))
            try buffer.append(run.kind.rawValue)
            try buffer.appendSigned(run.firstKey)
            try buffer.appendVarint(UInt64(run.count))
            try buffer.appendVarint(run.columns)
        }
    }

    static func decodeSummary(_ reader: inout ByteReader) throws(StoreError) -> [Run] {
        var runs: [Run] = []
        for _ in 0..<(try reader.readCount()) {
            let classID = try reader.readVarint()
            guard let kind = ChangeKind(rawValue: try reader.read()), classID <= UInt64(UInt32.max) else {
                throw ByteReader.truncated
            }
            let first = try reader.readSigned()
            let count = Int64(try reader.readCount())
            runs.append(
                Run(
                    classID: UInt32(classID), kind: kind, firstKey: first, count: count,
                    columns: try reader.readVarint()))
        }
        return runs
    }
}

/// What happened to an object between two versions.
package enum ChangeKind: UInt8, Sendable {
    case inserted = 1
    case modified = 2
    case deleted = 3
}

/// One decoded op; values point into the record's bytes.
enum Op {
    case create(classID: UInt32, key: Int64, values: [Value])
    case update(classID: UInt32, key: Int64, changes: [(columnID: UInt32, value: Value)])
    case delete(classID: UInt32, key: Int64)
    case splice(classID: UInt32, key: Int64, columnID: UInt32, Splice)
    case edit(classID: UInt32, key: Int64, columnID: UInt32, Edit)
    case schema(Schema)

    /// The next one of a record; nil where there is none any more.
    static func read(_ cursor: inout OpCursor) throws(StoreError) -> Op? {
        guard try cursor.next() else { return nil }
        switch cursor.code {
        case .schema: return .schema(cursor.schema)
        case .create:
            var values: [Value] = []
            while let value = try cursor.nextValue() { values.append(value) }
            return .create(classID: cursor.classID, key: cursor.key, values: values)
        case .update:
            var changes: [(columnID: UInt32, value: Value)] = []
            while let change = try cursor.nextChange() { changes.append(change) }
            return .update(classID: cursor.classID, key: cursor.key, changes: changes)
        case .splice:
            let (column, splice) = try cursor.splice()
            return .splice(classID: cursor.classID, key: cursor.key, columnID: column, splice)
        case .edit:
            let (column, edit) = try cursor.edit()
            return .edit(classID: cursor.classID, key: cursor.key, columnID: column, edit)
        case .delete: return .delete(classID: cursor.classID, key: cursor.key)
        }
    }

    /// What happened to one value inside a mixed one.
    struct Edit {
        var path: [MixedStep]
        var action: MixedAction
        /// A node; empty where it was removed.
        var value: UnsafeRawBufferPointer

        func append(to buffer: ByteBuffer) throws(StoreError) {
            try buffer.appendVarint(UInt64(path.count))
            for step in path {
                switch step {
                case .index(let index):
                    try buffer.append(UInt8(0))
                    try buffer.appendVarint(UInt64(index))
                case .key(let key):
                    try buffer.append(UInt8(1))
                    try buffer.appendVarint(UInt64(key.count))
                    try buffer.append(bytes: key.baseAddress, count: key.count)
                }
            }
            try buffer.append(action.rawValue)
            if action == .remove { return }
            try buffer.appendVarint(UInt64(value.count))
            try buffer.append(bytes: value.baseAddress, count: value.count)
        }

        static func read(_ reader: inout ByteReader) throws(StoreError) -> Edit {
            func bytes(_ reader: inout ByteReader) throws(StoreError) -> UnsafeRawBufferPointer {
                let count = try reader.readCount()
                return UnsafeRawBufferPointer(start: try reader.readBytes(count), count: count)
            }
            let steps = try reader.readCount()
            guard (1...MixedNode.maximumDepth).contains(steps) else {
                throw StoreError(.corrupt, "a path of \(steps) steps in the log")
            }
            var path: [MixedStep] = []
            for _ in 0..<steps {
                switch try reader.read(UInt8.self) {
                case 0: path.append(.index(try reader.readCount()))
                case 1: path.append(.key(try bytes(&reader)))
                case let other: throw StoreError(.corrupt, "a step of kind \(other) in the log")
                }
            }
            guard let action = MixedAction(rawValue: try reader.read()) else {
                throw StoreError(.corrupt, "an unknown change of a value in the log")
            }
            return Edit(
                path: path, action: action,
                value: action == .remove ? UnsafeRawBufferPointer(start: nil, count: 0) : try bytes(&reader))
        }
    }

    /// Which elements of a collection gave way to which.
    struct Splice {
        var at: Int
        var removed: Int
        var inserted: [(key: Value, value: Value)]

        static func read(_ reader: inout ByteReader, hasKeys: Bool) throws(StoreError) -> Splice {
            var splice = Splice(at: try reader.readCount(), removed: try reader.readCount(), inserted: [])
            let count = try reader.readCount()
            guard count <= reader.remaining else { throw ByteReader.truncated }
            for _ in 0..<count {
                let key = hasKeys ? try ValueCodec.read(&reader) : .null
                splice.inserted.append((key, try ValueCodec.read(&reader)))
            }
            return splice
        }
    }
}

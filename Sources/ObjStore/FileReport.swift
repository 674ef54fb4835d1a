internal import ObjStoreCore

/// What a check or a salvage of a store's files found.
public struct FileReport: Sendable {
    /// One class, in the end.
    public struct Class: Sendable {
        public let name: String
        /// Objects that can be read; of a salvage: that the new store has.
        public let objects: Int
        /// Objects that cannot be read; nil: unknown.
        public let lost: Int?
        /// Of a salvage: how many objects lost their value of a property, in the order of properties.
        public internal(set) var lostValues: [(property: String, count: Int)] = []
    }

    /// A line for each thing that is damaged, or lost.
    public private(set) var findings: [String] = []
    /// What is worth knowing, but no damage.
    public private(set) var notes: [String] = []
    public private(set) var classes: [Class] = []
    /// Of a check: the file is sound. Of a salvage: everything could be read.
    public internal(set) var isComplete = true

    mutating func add(_ entry: ReportEntry) {
        switch entry {
        case .finding(let text): findings.append(text)
        case .note(let text): notes.append(text)
        case .cls(let name, let objects, let lost): classes.append(Class(name: name, objects: objects, lost: lost))
        case .property(_, let name, let lost): classes[classes.count - 1].lostValues.append((name, lost))
        }
    }
}

extension Store {
    /// How far an operation on files is, in bytes; false ends it with `.cancelled`.
    public typealias FileProgress = (_ done: UInt64, _ total: UInt64) -> Bool

    /// Checks the files of a store without opening it, also when it cannot be opened. Changes nothing.
    ///
    /// Both metas, root, schema, every object and index of the newest version, free space, and the log as far as its
    /// chain goes. Damage is no error: the report then is not complete. While it runs the store cannot be opened.
    ///
    /// Errors: `.notFound`, `.notAStore`, `.busy` (some process has it open: use ``verify()``), `.versionMismatch`,
    /// `.io`, `.cancelled`. Memory is bounded, but for the findings. O(size).
    public static func verify(
        atPath path: String, progress: FileProgress = { _, _ in true }
    ) throws(ObjStoreError) -> FileReport {
        try ObjStore.core { () throws(StoreError) in
            var report = FileReport()
            let check = try StoreFiles.verify(
                path, progress: { (done, total) throws(StoreError) in try Store.advance(progress, done, total) },
                report: { (entry) throws(StoreError) in report.add(entry) })
            report.isComplete = check.findings == 0
            return report
        }
    }

    /// Makes a new store at `newPath` of what can be read of the damaged one at `path`, which is never written.
    ///
    /// Only what its hashes prove is copied: no value in the new store is a wrong one. Objects keep their keys. A value
    /// that is lost becomes null, or the property's default; an object without its primary key is lost. Objects whose
    /// parents in the tree are damaged are not looked for. The log of a store that was not closed cleanly is applied as
    /// far as its chain goes. The report says what is lost, object by object in ranges, with the reasons.
    ///
    /// Errors: those of ``verify(atPath:progress:)``; `.alreadyExists`: something is at `newPath`, and stays;
    /// `.corrupt`: nothing can be read at all; `.outOfSpace`. On any error no file is left at `newPath`. O(size).
    public static func salvage(
        from path: String, to newPath: String, progress: FileProgress = { _, _ in true }
    ) throws(ObjStoreError) -> FileReport {
        try ObjStore.core { () throws(StoreError) in
            var report = FileReport()
            let salvaged = try StoreFiles.salvage(
                path, to: newPath,
                progress: { (done, total) throws(StoreError) in try Store.advance(progress, done, total) },
                report: { (entry) throws(StoreError) in report.add(entry) })
            report.isComplete = salvaged.losses == 0
            return report
        }
    }

    private static func advance(_ progress: FileProgress, _ done: UInt64, _ total: UInt64) throws(StoreError) {
        if !progress(done, total) { throw StoreError(.cancelled, "the progress function ended the operation") }
    }
}

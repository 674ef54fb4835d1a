/// Checking and salvaging the files of a store that is not open anywhere.
extension StoreFiles {
    /// What a check of a file comes to.
    package struct Check: Sendable {
        /// How many findings the report had; 0 = sound.
        package let findings: Int
        /// The version that was checked; 0 where none could be.
        package let version: UInt64
    }

    /// What a salvage comes to.
    package struct Salvaged: Sendable {
        /// How many findings the report had about what is lost, or may be; 0 = everything could be read.
        package let losses: Int
        /// The version whose content the new store has.
        package let version: UInt64
    }

    /// Checks the store at `path`, also one that cannot be opened. Changes nothing. O(size).
    ///
    /// The newest version that a whole meta names is checked, with the log's chain behind it.
    /// Errors: `.notFound`, `.notAStore`, `.busy` (some process has it open), `.versionMismatch`, `.io`, and what
    /// `progress` or `report` throw.
    package static func verify(
        _ path: String, machine: Machine = RealMachine.shared, progress: ProgressCallback, report: ReportSink
    ) throws(StoreError) -> Check {
        let image = try StoreImage.open(path, machine: machine)
        defer { image.close() }
        let summary = try FileVerifier.run(image, progress: progress, report: report)
        return Check(findings: summary.findings, version: summary.version)
    }

    /// Makes a new store at `target` of what can be read of the one at `path`, which is not changed. Objects keep their
    /// keys.
    ///
    /// Works under a temporary name beside `target`; on any error no file is left behind. Memory is bounded. O(size).
    /// Errors: those of `verify`; `.alreadyExists`: something is at `target`; `.corrupt`: nothing can be read at all;
    /// `.outOfSpace`.
    package static func salvage(
        _ path: String, to target: String, machine: Machine = RealMachine.shared, progress: ProgressCallback,
        report: ReportSink
    ) throws(StoreError) -> Salvaged {
        let image = try StoreImage.open(path, machine: machine)
        defer { image.close() }
        let summary = try makeStore(at: target, of: image.path, like: image.file, machine: machine) {
            (database) throws(StoreError) in
            try Salvage.run(image, into: database, progress: progress, report: report)
        }
        return Salvaged(losses: summary.losses, version: summary.version)
    }

    /// Makes a new store at `path`, filled by `fill`: under a temporary name, closed, synced, then renamed. Users that
    /// may read and write `model` may do so here. `source`: the store that it is made of; what has a name beside that
    /// one is in its way.
    static func makeStore<T>(
        at path: String, of source: String?, like model: StorageFile?, machine: Machine,
        _ fill: (Database) throws(StoreError) -> T
    ) throws(StoreError) -> T {
        let target = try machine.resolveStore(path)
        if let source, SideNames.all(try machine.resolve(source)).contains(target) {
            throw StoreError(
                .invalidArgument, "\(path) is the name of a file that belongs to \(source): no store can be made there")
        }
        guard !machine.exists(target) else { throw StoreError(.alreadyExists, "there is something at \(path) already") }
        let temporary = target + ".copy-" + String(machine.random64(), radix: 36)
        let fork = ForkGuard()
        defer {
            // What is still there was not finished; in a forked child it is the parent's, which continues.
            if !fork.isChild {
                for name in [temporary, temporary + "-log", temporary + "-lock", SideNames.temporary(temporary)] {
                    try? machine.removeIfPresent(name)
                }
            }
        }
        var options = StoreOptions()
        options.hasBackgroundThread = false
        options.leavesFileAlone = true
        options.accessModel = model
        let result: T
        do throws(StoreError) {
            let database = try Database.open(temporary, options: options, machine: machine)
            do throws(StoreError) {
                result = try fill(database)
            } catch {
                try? database.close()
                throw error
            }
            try database.close()
        } catch {
            throw notMade(path, error)
        }
        let identity = try machine.identity(of: temporary)
        do throws(StoreError) {
            try machine.renameNew(temporary, to: target)
            try machine.syncFolder(of: target)
        } catch {
            // It may have its name already, but not for certain. A process that has opened it meanwhile keeps it.
            try? delete(target, only: identity, machine: machine)
            throw error.code == .syncFailed ? StoreError(.io, error.message).system(error.systemError) : error
        }
        return result
    }

    /// How an error of a store that no other code has seen, and that is removed, appears to the caller: to it nothing
    /// is poisoned or unknown.
    private static func notMade(_ path: String, _ error: StoreError) -> StoreError {
        guard [.poisoned, .outcomeUnknown, .syncFailed].contains(error.code) else { return error }
        let reason =
            error.systemError == 0 ? StoreError(.io, "a sync of it failed") : systemError(error.systemError, "write it")
        return reason.prefixed("\(path) was not made: ")
    }
}

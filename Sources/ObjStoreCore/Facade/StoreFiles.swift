/// Stores as files: checking, finding and deleting them.
extension View {
    /// A line for each finding; empty = sound. Reads everything.
    package func verify(_ progress: ProgressCallback) throws(StoreError) -> [String] {
        var findings: [String] = []
        try verify(progress) { (text) throws(StoreError) in findings.append(text) }
        return findings
    }

    /// Passes to `finding` one by one what is wrong; what it throws ends the check.
    package func verify(_ progress: ProgressCallback, finding: (String) throws(StoreError) -> Void) throws(StoreError) {
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
                    outcome.used, isWhole: outcome.isSound, timeout: nanoseconds(store.writeTimeout),
                    until: store.waitCancellation, finding: finding)
            } catch {
                guard error.isDamage else { throw error }
                try finding("free space: \(error.message)")
            }
        }
        try progress(steps.total, steps.total)
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
        return Meta.isStore(file)
    }

    /// Removes a store that is not open anywhere. `.notFound`, `.notAStore`, `.busy`. `identity`: only if it is that
    /// file.
    package static func delete(
        _ path: String, only identity: FileIdentity? = nil, machine: Machine = RealMachine.shared
    ) throws(StoreError) {
        let path = try machine.resolveStore(path)
        guard machine.exists(path) else { throw StoreError(.notFound, "there is no file at \(path)") }
        guard try exists(path, machine: machine) else {
            throw StoreError(.notAStore, "\(path) is not an objstore file")
        }
        try alone(with: path, only: identity, machine) { (file) throws(StoreError) in
            try removeFiles(of: file, path, machine)
        }
    }

    /// Runs `body` with the file, which has the path, and which no process has open, or opens. `identity`: only if it
    /// is that file.
    private static func alone(
        with path: String, only identity: FileIdentity?, _ machine: Machine,
        _ body: (StorageFile) throws(StoreError) -> Void
    ) throws(StoreError) {
        let file = try machine.open(path, .existing)
        defer { file.close() }
        if let identity, try file.identity() != identity { return }
        let opening = machine.makeLock(file, byte: Database.Locks.first)
        guard try opening.acquire(timeout: 0) else { throw StoreError(.busy, "\(path) is being opened or closed") }
        defer { opening.release() }
        guard try machine.leads(path, to: file) else {
            throw StoreError(.notFound, "\(path) was deleted by somebody else")
        }
        guard try !machine.isLocked(file, bytes: Database.Locks.allLive),
            try !machine.isLocked(file, bytes: Database.Locks.immutable)
        else {
            throw StoreError(.busy, "\(path) is open")
        }
        try body(file)
    }

    /// Removes the file that an opening made which then failed; not if anybody has it open, or has changed it.
    /// `root`: of what the opening itself has made, of a seed or by its transaction.
    static func deleteUnused(_ path: String, _ identity: FileIdentity, root: Ref?, machine: Machine) {
        // Where it cannot be removed it stays: the opening says why it failed.
        try? alone(with: path, only: identity, machine) { (file) throws(StoreError) in
            guard let meta = Database.newestMeta(try Database.readMetas(file))?.meta, meta.isClean else { return }
            // The first version is that of a file that was never written to.
            guard meta.version == 1 || meta.root == root else { return }
            do throws(StoreError) { try removeFiles(of: file, path, machine) } catch {
                // Another process is at work there; or its place is another store's.
                if error.code == .busy || error.code == .replaced { return }
                // What is next to it is not a store's, is the reason why it could not be opened, and stays.
                if try machine.leads(path, to: file) { try machine.remove(path) }
            }
        }
    }

    /// Under OPEN of the file. `.replaced` where another one has the path now.
    private static func removeFiles(of file: StorageFile, _ path: String, _ machine: Machine) throws(StoreError) {
        try SideNames.holding(of: path, for: file, timeout: 0, machine) { (_) throws(StoreError) in
            try Database.removeLog(path + "-log", machine)
            try Database.removeLockFile(path + "-lock", machine)
            try machine.remove(path)
        }
        try machine.syncFolder(of: path)
    }
}

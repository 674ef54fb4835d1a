/// The names beside a store, `-log` and `-lock`, belong to the store that has the path; what they lead to is changed
/// only in here.
///
/// The locks of a store belong to its file, and a path can have had two: one process still opens or prepares a store
/// that was just deleted, another one makes the next. Each alone would find its file in its place, and a moment later
/// take the name of a log or a lock file that is the other's by then. So one lock belongs to the path, and under it one
/// looks again:
///
/// ```
///  store A   opening ── asks: in place? ── deleted ───────────────── takes the name: of B's log
///  store B                                           made, log made
///
///  store A   opening ──────────── deleted ── waits ── asks: in place? no: gives up
///  store B                        made, [log made    ]
/// ```
///
/// The lock is one on the file that may become the next log, `-log.new`. It is always made new, and loses that name
/// before the lock is released. One that is there already belongs to a process that is at work, or has died: it is
/// locked, never written, and then removed. What cannot be one was put there by another program, and stays.
enum SideNames {
    /// Runs `body` where `file` still has the path, alone among all processes, with a new file that it may write and
    /// give another name (`rename`); again if that file was removed meanwhile.
    /// Innermost: takes no other lock. `.replaced` where the path leads elsewhere; `.timeout`, after that many
    /// nanoseconds (negative: never), or `.busy`, where they are 0.
    static func holding<R>(
        of path: String, for file: StorageFile, timeout: Int64, _ machine: Machine,
        _ body: (StorageFile) throws(StoreError) -> R
    ) throws(StoreError) -> R {
        let name = temporary(path)
        for _ in 0..<attempts {
            guard let own = try make(name, for: file, of: path, machine) else {
                try clear(path, timeout: timeout, machine)
                continue
            }
            defer { own.close() }
            let lock = machine.makeLock(own, byte: Database.Locks.names)
            do throws(StoreError) { if try !lock.acquire(timeout: timeout) { throw held(path, timeout) } } catch {
                if (try? machine.leads(name, to: own)) == true { try? machine.remove(name) }
                throw error
            }
            defer { lock.release() }
            // Another process may have taken it for one that was left behind.
            guard try machine.leads(name, to: own) else { continue }
            let result = Result { () throws(StoreError) in
                if !InjectedBug.active(.namesUnasked), try !machine.leads(path, to: file) {
                    throw Database.replaced(path)
                }
                try own.takeAccess(of: file)
                return try body(own)
            }
            // Still under the lock: waiters see that the file has lost its name. One that cannot be removed
            // the next one clears.
            let isNamed = (try? machine.leads(name, to: own)) == true
            if isNamed { try? machine.remove(name) }
            if case .failure = result {
                // All that was next to the store may have been removed, together with it or not.
                if try !machine.leads(path, to: file) { throw Database.replaced(path) }
                if !isNamed { continue }
            }
            return try result.get()
        }
        throw StoreError(.busy, "\(name) is made and removed again and again")
    }

    /// Gives the file its name for good. `.replaced`: it was removed.
    static func rename(_ own: StorageFile, of path: String, to name: String, _ machine: Machine) throws(StoreError) {
        guard try machine.leads(temporary(path), to: own) else { throw Database.replaced(path) }
        try machine.rename(temporary(path), to: name)
    }

    /// The name of that file.
    static func temporary(_ path: String) -> String { path + "-log.new" }

    /// All names beside a store that are its own.
    static func all(_ path: String) -> [String] { [path + "-log", path + "-lock", temporary(path)] }

    private static let attempts = 10_000

    private static func held(_ path: String, _ timeout: Int64) -> StoreError {
        StoreError(
            timeout == 0 ? .busy : .timeout,
            "another process was making the files beside \(path)\(timeout == 0 ? "" : " for too long")")
    }

    /// Nil where there is one. `.replaced`: the folder is gone, or has another name, and the file with it.
    private static func make(
        _ name: String, for file: StorageFile, of path: String, _ machine: Machine
    ) throws(StoreError) -> StorageFile? {
        do throws(StoreError) { return try machine.open(name, .createNew) } catch {
            if error.code == .alreadyExists { return nil }
            if error.code == .notFound, try !machine.leads(path, to: file) { throw Database.replaced(path) }
            throw error
        }
    }

    /// Waits for processes that work with it, and removes it if there is none.
    private static func clear(_ path: String, timeout: Int64, _ machine: Machine) throws(StoreError) {
        let name = temporary(path)
        let other: StorageFile
        do throws(StoreError) { other = try machine.open(name, .side) } catch {
            // A link, or what this process may not open, has no business here.
            if error.isOfTheFile { return try machine.removeIfPresent(name) }
            if error.code == .notFound { return }
            throw error
        }
        defer { other.close() }
        let lock = machine.makeLock(other, byte: Database.Locks.names)
        guard try lock.acquire(timeout: timeout) else { throw held(path, timeout) }
        defer { lock.release() }
        guard try machine.leads(name, to: other) else { return }
        guard try LogFile.isLog(other) else {
            throw StoreError(.io, "\(name) is not the log of a store: it stays as it is, and must be moved away")
        }
        try machine.remove(name)
    }
}

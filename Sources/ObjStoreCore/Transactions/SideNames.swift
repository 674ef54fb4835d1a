/// The names beside a store, `-log` and `-lock`, belong to whoever has the path; who changes what they lead to does so in here.
///
/// The locks of a store belong to its file, and a path can have had two: one process still opens or prepares a store that was just
/// deleted, another one makes the next. Each alone would find its file in its place, and a moment later take the name of a log or a lock
/// file that is the other's by then. So one lock belongs to the path, and under it one looks again:
///
/// ```
///  store A   opening ── asks: in place? ── deleted ───────────────── takes the name: of B's log
///  store B                                           made, log made
///
///  store A   opening ──────────── deleted ── waits ── asks: in place? no: gives up
///  store B                        made, [log made    ]
/// ```
///
/// The lock is one on the file that may become the next log, `-log.new`. It is always made new, and loses that name before the lock is
/// given up. One that is there already is somebody's who works, or has died: it is locked, never written, and then removed.
enum SideNames {
    /// Runs `body` where `file` still has the path, alone among all processes, with a new file that it may write and give another name.
    /// Innermost: takes no other lock. `.replaced` where the path leads elsewhere; `.timeout` (nanoseconds, negative: never).
    static func holding<R>(
        of path: String, for file: StorageFile, timeout: Int64, _ machine: Machine, _ body: (StorageFile) throws(StoreError) -> R
    ) throws(StoreError) -> R {
        let name = temporary(path)
        for _ in 0..<attempts {
            guard let own = try make(name, machine) else {
                try clear(name, timeout: timeout, machine)
                continue
            }
            defer { own.close() }
            let lock = machine.makeLock(own, byte: Database.Locks.names)
            guard try lock.acquire(timeout: timeout) else { throw tooLong(path) }
            defer { lock.release() }
            // Somebody may have taken it for one that was left behind.
            guard try leads(name, to: own, machine) else { continue }
            let result = Result { () throws(StoreError) in
                if !InjectedBug.active(.namesUnasked), try !Database.isThere(file, path, machine) { throw Database.replaced(path) }
                try own.takeAccess(of: file)
                return try body(own)
            }
            // Still under the lock: who waits for it sees that the file has lost its name. One that cannot be removed the next one clears.
            if (try? leads(name, to: own, machine)) == true { try? machine.remove(name) }
            return try result.get()
        }
        throw StoreError(.busy, "\(name) is made and removed again and again")
    }

    /// The name of that file.
    static func temporary(_ path: String) -> String { path + "-log.new" }

    private static let attempts = 10_000

    private static func tooLong(_ path: String) -> StoreError { StoreError(.timeout, "another process was making the files beside \(path) for too long") }

    /// Nil where there is one.
    private static func make(_ name: String, _ machine: Machine) throws(StoreError) -> StorageFile? {
        do throws(StoreError) { return try machine.open(name, .createNew) } catch {
            if error.code == .alreadyExists { return nil }
            throw error
        }
    }

    /// Waits for who works with it, and removes it where nobody does.
    private static func clear(_ name: String, timeout: Int64, _ machine: Machine) throws(StoreError) {
        let other: StorageFile
        do throws(StoreError) { other = try machine.open(name, .side) } catch {
            // A link, or what this process may not open, has no business here.
            return error.code == .notFound ? () : try machine.removeIfPresent(name)
        }
        defer { other.close() }
        let lock = machine.makeLock(other, byte: Database.Locks.names)
        guard try lock.acquire(timeout: timeout) else { throw tooLong(name) }
        defer { lock.release() }
        if try leads(name, to: other, machine) { try machine.remove(name) }
    }

    private static func leads(_ name: String, to file: StorageFile, _ machine: Machine) throws(StoreError) -> Bool {
        do throws(StoreError) { return try machine.identity(of: name) == file.identity() } catch {
            if error.code == .notFound { return false }
            throw error
        }
    }
}

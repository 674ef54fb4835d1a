import Glibc
import ObjStoreCore
import ObjStoreSimulation

/// A writer or reader of a path that `lives.py` gives to another file now and then:
/// `storm lives-writer PATH ID FOLDER`, `storm lives-reader PATH`, `storm lives-check PATH FOLDER`.
///
/// What a writer was promised it notes for the file that it had open, by its inode: FOLDER/ID-INODE. (The one that
/// replaces files keeps the old ones open, so that no number comes again.)
enum Lives {
    static func writer(_ path: String, _ id: Int64, _ folder: String) throws(StoreError) -> Never {
        var random = RandomNumbers(seed: UInt64(getpid()) &* 131 &+ UInt64(id))
        while true {
            let database = try open(path)
            let inode = try database.fileForOracle.identity().inode
            let acks = Glibc.open("\(folder)/\(id)-\(inode)", O_WRONLY | O_CREAT | O_CLOEXEC, 0o644)
            if acks < 0 { fail("cannot open the file of what was promised") }
            do throws(StoreError) {
                var count = try prepare(database, id)
                for _ in 0..<(20 + random.below(200)) {
                    count += 1
                    let wasPast = inodeAt(path) != inode
                    try transfer(database, id, count, &random)
                    if wasPast {
                        fail("P10: transaction \(count) is committed to file \(inode), which had lost its name before")
                    }
                    var value = count
                    if pwrite(acks, &value, 8, 0) != 8 { fail("cannot note what was promised") }
                }
            } catch {
                guard error.code == .replaced || error.code == .outcomeUnknown else { throw error }
                if inodeAt(path) == inode { fail("file \(inode) has its name, and yet: \(error)") }
            }
            try database.close()
            Glibc.close(acks)
        }
    }

    static func reader(_ path: String) throws(StoreError) -> Never {
        while true {
            let database = try open(path)
            for _ in 0..<200 {
                let snapshot = try database.snapshot()
                if snapshot.schema.classes.isEmpty { continue }
                _ = try counters(snapshot)
            }
            try database.close()
        }
    }

    /// No process lives: the file that has the path is whole, and has all that was promised of it.
    static func check(_ path: String, _ folder: String) throws(StoreError) {
        let database = try open(path)
        let inode = try database.fileForOracle.identity().inode
        let snapshot = try database.snapshot()
        let findings = Verifier.findings(snapshot)
        if !findings.isEmpty { fail(findings.joined(separator: "\n")) }
        let counts = snapshot.schema.classes.isEmpty ? [:] : try counters(snapshot)
        for id in 0..<Int64(8) {
            let count = counts[id, default: 0], value = promised("\(folder)/\(id)-\(inode)")
            if count < value {
                fail("writer \(id) was promised transaction \(value) in file \(inode), which has \(count)")
            }
        }
        print("file \(inode): version \(snapshot.version), sound")
        _ = consume snapshot
        try database.close()
    }

    private static func inodeAt(_ path: String) -> UInt64? {
        var status = stat()
        return stat(path, &status) == 0 ? UInt64(status.st_ino) : nil
    }
}

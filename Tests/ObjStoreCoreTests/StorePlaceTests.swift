import CSystem
import Foundation
import Testing

import ObjStoreCore

/// Where a store lies: files that are deleted or replaced under it, what is next to it, and its access rights.
@Suite struct StorePlaceTests {
    private let folder = TestFolder()
    private var path: String { folder["db"] }

    /// One class `Row {id int PK}`, without the facade.
    private final class Opened {
        let database: Database
        init(_ path: String, _ change: (inout StoreOptions) -> Void = { _ in }) throws {
            var options = StoreOptions()
            options.hasBackgroundThread = false
            change(&options)
            database = try Database.open(path, options: options, machine: RealMachine.shared)
        }

        func write(_ ids: ClosedRange<Int64>, _ durability: StoreOptions.Durability = .full) throws {
            let transaction = try WriteTransaction.begin(database)
            if transaction.schema.classes.isEmpty {
                let properties = [PropertySchema(name: "id", kind: .int, columnID: 0, isPrimaryKey: true)]
                try transaction.setSchema(
                    Schema(
                        classes: [ClassSchema(name: "Row", id: 0, properties: properties, nextColumnID: 1)], version: 1)
                )
            }
            for id in ids { _ = try withUnsafePointer(to: Value.int(id)) { try transaction.state(0).create($0) } }
            try transaction.commit(durability)
        }

        var ids: [Int64] {
            get throws {
                var ids: [Int64] = []
                try database.snapshot().forEachObject(0) { (_, values) throws(StoreError) in ids.append(values[0].low) }
                return ids
            }
        }

        func close() throws { try database.close() }
    }

    private func refused(
        _ code: StatusCode, _ part: String = "", sourceLocation: SourceLocation = #_sourceLocation,
        _ body: () throws -> Void
    ) {
        do {
            try body()
            Issue.record("it worked", sourceLocation: sourceLocation)
        } catch {
            let error = error as? StoreError
            #expect(
                error?.code == code && (part.isEmpty || error?.message.contains(part) == true),
                "\(error?.message ?? "")", sourceLocation: sourceLocation)
        }
    }

    private func names() throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()
    }
    private func bytes(_ name: String) -> Int {
        (try? FileManager.default.attributesOfItem(atPath: folder[name])[.size] as? Int) ?? 0
    }

    // MARK: Deleted and replaced

    enum Fate: CaseIterable { case deleted, deletedWithSideFiles, replacedByCopy, movedAway }

    /// A process that has the old one open gets an error, and touches nothing of the new one; whether it was open for
    /// long, or not written yet.
    @Test(arguments: Fate.allCases, [false, true]) func replacedStore(fate: Fate, wasWritten: Bool) throws {
        let first = try Opened(path)
        try first.write(1...3)
        try first.close()
        if fate == .replacedByCopy { try FileManager.default.copyItem(atPath: path, toPath: folder["copy"]) }
        let old = try Opened(path) { $0.leavesFileAlone = true }
        if wasWritten { try old.write(4...4) }
        switch fate {
        case .deleted: unlink(path)
        case .deletedWithSideFiles: for end in ["", "-log", "-lock"] { unlink(path + end) }
        case .replacedByCopy: rename(folder["copy"], path)
        case .movedAway: rename(path, folder["moved"])
        }
        // What is written now would never be found.
        refused(.replaced, "was deleted, or another one has its place") { try old.write(5...5) }
        let new = try Opened(path)
        try new.write(10...12)
        refused(.replaced) { try old.write(5...5) }
        // Readers get an error if the memory that they share with others could be found.
        if fate != .deletedWithSideFiles { refused(.replaced) { try old.database.checkNotReplaced() } }
        // What it has it still reads.
        #expect(try old.ids == (wasWritten ? [1, 2, 3, 4] : [1, 2, 3]))
        try new.write(13...13)
        try old.close()
        try new.write(14...14)
        let joined = try Opened(path)
        try joined.write(15...15)
        let mine: [Int64] = fate == .replacedByCopy ? [1, 2, 3] : []
        #expect(try new.ids == mine + Array(10...15))
        try joined.close()
        try new.close()
        let last = try Opened(path)
        #expect(try last.ids == mine + Array(10...15))
        try last.close()
    }

    /// A transaction that is open when its file goes is not acknowledged.
    @Test func deletedInsideOfAWrite() throws {
        let store = try Opened(path)
        try store.write(1...1)
        let transaction = try WriteTransaction.begin(store.database)
        _ = try withUnsafePointer(to: Value.int(2)) { try transaction.state(0).create($0) }
        unlink(path)
        refused(.replaced) { try transaction.commit() }
        try store.close()
    }

    // MARK: Files beside a store

    /// Links beside a store lead nowhere: neither is what they lead to changed, nor do they block anybody.
    @Test(arguments: ["-lock", "-log", "-log.new"], [false, true]) func symbolicLinks(end: String, dangles: Bool) throws
    {
        let first = try Opened(path)
        try first.write(1...1)
        try first.close()
        let victim = Data(repeating: 0x76, count: 10_000)
        if !dangles { try victim.write(to: URL(fileURLWithPath: folder["victim"])) }
        unlink(path + end)
        #expect(symlink(folder["victim"], path + end) == 0)
        let store = try Opened(path)
        try store.write(2...2)
        #expect(try store.ids == [1, 2])
        try store.close()
        #expect(FileManager.default.contents(atPath: folder["victim"]) == (dangles ? nil : victim))
        let again = try Opened(path)
        #expect(try again.ids == [1, 2])
        try again.close()
    }

    /// What another program has put there is not ours to change.
    @Test(arguments: ["-lock", "-log"], [false, true]) func strangersFiles(end: String, isStoreItself: Bool) throws {
        let first = try Opened(path)
        try first.write(1...1)
        try first.close()
        unlink(path + end)
        let text = Data("notes of a user, who has nothing to do with this".utf8)
        if isStoreItself {
            #expect(link(path, path + end) == 0)
        } else {
            try text.write(to: URL(fileURLWithPath: path + end))
        }
        let before = FileManager.default.contents(atPath: path + end)
        refused(.io, "must be moved away") {
            let store = try Opened(path)
            defer { try? store.close() }
            try store.write(2...2)
        }
        if !isStoreItself { #expect(FileManager.default.contents(atPath: path + end) == before) }
        unlink(path + end)
        let store = try Opened(path)
        try store.write(3...3)
        #expect(try store.ids == [1, 3])
        try store.close()
    }

    /// Its folder has another name: so has all that would have to be made beside it.
    @Test(arguments: [false, true]) func aFolderThatWasMoved(wasRemoved: Bool) throws {
        mkdir(folder["in"], 0o777)
        let made = try Opened(folder["in/db"])
        try made.write(1...1)
        try made.close()
        let store = try Opened(folder["in/db"])
        rename(folder["in"], folder["out"])
        if wasRemoved { try FileManager.default.removeItem(atPath: folder["out"]) }
        refused(.replaced) { try store.write(2...2) }
        if !wasRemoved { refused(.replaced) { try store.database.compact(timeout: -1) { _, _ in } } }
        try store.close()
        if wasRemoved { return }
        let again = try Opened(folder["out/db"])
        try again.write(2...2)
        #expect(try again.ids == [1, 2])
        try again.close()
    }

    /// A store there would be in the way of the one that it was made of.
    @Test(arguments: ["-log", "-lock", "-log.new"]) func noStoreWhereAFileOfItsSourceBelongs(end: String) throws {
        var configuration = StoreConfiguration()
        configuration.place = .file(path)
        let store = try Store.open(configuration)
        unlink(path + end)
        refused(.invalidArgument, "belongs to \(path)") {
            try store.openView().copy(to: path + end) { (_, _) throws(StoreError) in }
        }
        try store.close()
        unlink(path + end)
        refused(.invalidArgument, "belongs to \(path)") {
            _ = try StoreFiles.salvage(
                path, to: folder["../" + URL(fileURLWithPath: folder.path).lastPathComponent + "/db" + end],
                progress: { (_, _) throws(StoreError) in }
            ) {
                (_) throws(StoreError) in
            }
        }
        #expect(try names() == ["db"])
    }

    /// The mode of the store counts, whatever the umask; also when it has changed.
    @Test(arguments: [UInt32(0o600), 0o660, 0o666, 0o640]) func sideFilesHaveTheModeOfTheStore(mode: UInt32) throws {
        func found(_ name: String) -> UInt32 {
            var status = stat()
            return stat(folder[name], &status) == 0 ? status.st_mode & 0o777 : 0
        }
        for existed in [false, true] {
            let store = try Opened(path)
            if existed || mode == 0o600 { try store.write(existed ? 1...1 : 0...0) }
            try store.close()
            if !existed { chmod(path, mode) }
            let again = try Opened(path)
            try again.write(existed ? 3...3 : 2...2)
            #expect([found("db"), found("db-lock"), found("db-log")] == [mode, mode, mode])
            try again.close()
        }
        // And after a crash.
        let dying = try Opened(path)
        try dying.write(4...4)
        chmod(path, 0o644)
        for end in ["", "-log"] { try FileManager.default.copyItem(atPath: path + end, toPath: folder["copy"] + end) }
        try dying.close()
        chmod(folder["copy"], mode)
        let copy = try Opened(folder["copy"])
        try copy.write(5...5)
        #expect([found("copy-lock"), found("copy-log")] == [mode, mode])
        try copy.close()
    }

    // MARK: The log

    /// A file of 64 KiB says that its log has 2 GiB: none is made of that size.
    @Test(arguments: [false, true]) func logRegionOfAForgedFile(isClean: Bool) throws {
        let first = try Opened(path)
        try first.write(1...1)
        try first.close()
        unlink(path + "-log")
        var data = try Data(contentsOf: URL(fileURLWithPath: path))
        try data.withUnsafeMutableBytes { bytes in
            for slot in 0..<2 {
                var meta = try #require(Meta.decode(bytes.baseAddress! + slot * PageSize.page))
                meta.log.region = LogRegion(offset: 4096, bytes: 2 << 30)
                meta.log.lsn = 0
                meta.isClean = isClean
                meta.encode(to: bytes.baseAddress! + slot * PageSize.page)
            }
        }
        try data.write(to: URL(fileURLWithPath: path))
        if !isClean { refused(.needsLog) { _ = try Opened(path) } }
        let store = try Opened(path) { $0.opensWithoutLog = true }
        try store.write(2...2)
        #expect(try store.ids == [1, 2])
        #expect(bytes("db-log") == 4096 + 1 << 20)
        try store.close()
    }

    /// It stays in proportion to the store, and goes back to its first size when there are no writes.
    @Test func logInProportion() throws {
        let store = try Opened(path) {
            $0.logBytes = 1 << 16
            $0.logBytesLimit = 64 << 20
        }
        var most = 0
        for round in 0..<3000 {
            try store.write(Int64(round * 4)...Int64(round * 4 + 3), .none)
            if round % 60 == 59 { try store.database.checkpoint() }
            most = max(most, bytes("db-log"))
            let limit = 4096 + max(8 << 16, bytes("db"))
            #expect(bytes("db-log") <= limit)
        }
        #expect(most > 4096 + 1 << 16)
        try store.database.checkpoint(isIdle: true)
        #expect(bytes("db-log") == 4096 + 1 << 16)
        // Others continue where the ring is now.
        for round in 3000..<3050 { try store.write(Int64(round * 4)...Int64(round * 4 + 3), .none) }
        for end in ["", "-log"] { try FileManager.default.copyItem(atPath: path + end, toPath: folder["copy"] + end) }
        let copy = try Opened(folder["copy"])
        #expect(try copy.ids.count == 3050 * 4)
        try copy.close()
        try store.close()
    }

    // MARK: Files that no process writes

    @Test func immutableBesideWriters() throws {
        let first = try Opened(path)
        try first.write(1...2)
        #expect(try first.ids.count == 2)
        refused(.needsLog) { _ = try Opened(path) { $0.isReadOnly = true } }
        try first.close()
        let idle = try Opened(path)
        refused(.busy, "the mode immutable is for files that nobody writes") {
            _ = try Opened(path) { $0.isReadOnly = true }
        }
        try idle.close()
        let readers = try (0..<2).map { _ in try Opened(path) { $0.isReadOnly = true } }
        let writer = try Opened(path)
        #expect(try writer.ids == [1, 2])
        refused(.busy, "read in the mode immutable") { try writer.write(3...3) }
        refused(.busy) { _ = try Opened(path) { $0.isReadOnly = true } }
        try readers[0].close()
        refused(.busy) { try writer.write(3...3) }
        #expect(try readers[1].ids == [1, 2])
        try readers[1].close()
        try writer.write(3...3)
        #expect(try writer.ids == [1, 2, 3])
        try writer.close()
    }

    // MARK: Openings that fail

    @Test func noFileIsLeftBehind() throws {
        try Data("no store, and longer than a page".utf8).write(to: URL(fileURLWithPath: folder["text"]))
        try Data(repeating: 0, count: 20_000).write(to: URL(fileURLWithPath: folder["zeros"]))
        for name in ["text", "zeros"] { refused(.notAStore) { _ = try Opened(folder[name]) } }
        refused(.notFound) { _ = try Opened(folder["none"]) { $0.creates = false } }
        refused(.notFound) { _ = try Opened(folder["no folder"] + "/store") }
        refused(.notFound) { _ = try Opened(folder["none"]) { $0.isReadOnly = true } }
        mkdir(folder["folder"], 0o755)
        refused(.io) { _ = try Opened(folder["folder"]) }
        #expect(try names() == ["folder", "text", "zeros"])
    }
}

import Foundation
import Testing

import ObjStoreCore

/// Files of other libraries, forged files, and the rarer ways to open a store.
@Suite struct OpeningTests {
    /// A store that was closed cleanly; `db` is its file.
    private let folder = TestFolder()
    private var path: String { folder["db"] }

    init() throws {
        let store = try open()
        try store.write(1...5)
        try store.close()
    }

    /// One class `Row {id int PK, text string?}`, without the facade.
    private final class Opened {
        let database: Database
        init(_ path: String, _ change: (inout StoreOptions) -> Void) throws {
            var options = StoreOptions()
            options.hasBackgroundThread = false
            change(&options)
            database = try Database.open(path, options: options, machine: RealMachine.shared)
        }

        func write(_ ids: ClosedRange<Int64>) throws {
            let transaction = try WriteTransaction.begin(database)
            if transaction.schema.classes.isEmpty {
                try transaction.setSchema(
                    Schema(
                        classes: [
                            ClassSchema(
                                name: "Row", id: 0,
                                properties: [
                                    PropertySchema(name: "id", kind: .int, columnID: 0, isPrimaryKey: true),
                                    PropertySchema(name: "text", kind: .string, columnID: 1, isNullable: true),
                                ], nextColumnID: 2)
                        ], version: 1))
            }
            for id in ids {
                _ = try [.int(id), .null].withUnsafeBufferPointer {
                    _ = try transaction.state(0).create($0.baseAddress!)
                }
            }
            try transaction.commit()
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

    private func open(_ path: String? = nil, _ change: (inout StoreOptions) -> Void = { _ in }) throws -> Opened {
        try Opened(path ?? self.path, change)
    }

    private func refused(
        _ status: StatusCode, _ path: String? = nil, sourceLocation: SourceLocation = #_sourceLocation,
        _ change: (inout StoreOptions) -> Void = { _ in }
    ) {
        do {
            try open(path, change).close()
            Issue.record("it was opened", sourceLocation: sourceLocation)
        } catch {
            #expect((error as? StoreError)?.code == status, "\(error)", sourceLocation: sourceLocation)
        }
    }

    /// The file with its bytes changed.
    private func edit(_ body: (UnsafeMutableRawPointer) throws -> Void) throws {
        var bytes = try Data(contentsOf: URL(fileURLWithPath: path))
        try bytes.withUnsafeMutableBytes { try body($0.baseAddress!) }
        try bytes.write(to: URL(fileURLWithPath: path))
    }

    private func seal(_ meta: UnsafeMutableRawPointer) {
        meta.storeBytes(of: Meta.hash(meta), toByteOffset: 248, as: UInt64.self)
    }

    /// Both metas, changed by `body` and written again.
    private func editMetas(_ body: (inout Meta) -> Void) throws {
        try edit { base in
            for slot in 0..<2 {
                var meta = try #require(Meta.decode(base + slot * PageSize.page))
                body(&meta)
                meta.encode(to: base + slot * PageSize.page)
            }
        }
    }

    // MARK: Closing

    /// The background thread's own last commit, in a compaction, may come after the store has stopped it: nothing would
    /// wait for a thread that started then.
    @Test func noThreadStartsAfterTheEnd() throws {
        let store = try open()
        let work = try BackgroundWork(store.database)
        work.didCommit(store.database)
        #expect(work.isRunning)
        work.stop()
        work.didCommit(store.database)
        work.syncWithin(milliseconds: 1)
        #expect(!work.isRunning)
        try store.close()
    }

    // MARK: Compatibility

    @Test(arguments: [0, 1], [8, 20, 24]) func aMetaOfALibraryThatKnowsMoreIsNotPassedOver(slot: Int, field: Int) throws
    {
        try edit { base in
            let meta = base + slot * PageSize.page
            meta.storeBytes(of: field == 24 ? 16384 : 2, toByteOffset: field, as: UInt32.self)
            seal(meta)
        }
        refused(.versionMismatch)
        refused(.versionMismatch) { $0.isReadOnly = true }
    }

    /// A torn meta says nothing, whatever is in it.
    @Test func aTornMetaIsPassedOver() throws {
        var torn = 0
        try edit { base in
            let metas = (0..<2).map { Meta.decode(base + $0 * PageSize.page)! }
            torn = metas[0].generation < metas[1].generation ? 0 : 1
            (base + torn * PageSize.page).storeBytes(of: 2, toByteOffset: 8, as: UInt32.self)
        }
        let store = try open()
        #expect(try store.ids == [1, 2, 3, 4, 5])
        try store.close()
    }

    @Test func featuresThatMustBeKnownToWrite() throws {
        try editMetas { $0.readOnlyCompatible = 4 }
        refused(.versionMismatch)
        let store = try open { $0.isReadOnly = true }
        #expect(try store.ids == [1, 2, 3, 4, 5])
        try store.close()
    }

    @Test func unknownCompatibleFeaturesAreKept() throws {
        try editMetas { $0.compatible = 0x8000_0001 }
        var store = try open()
        try store.write(6...6)
        try store.database.checkpoint()
        try store.write(7...7)
        try store.close()
        func check() throws {
            try edit { base in
                for slot in 0..<2 { #expect(Meta.decode(base + slot * PageSize.page)?.compatible == 0x8000_0001) }
            }
        }
        try check()
        // Recovery keeps them, too.
        store = try open()
        try store.write(8...8)
        for suffix in ["", "-log"] {
            try FileManager.default.copyItem(atPath: path + suffix, toPath: folder["copy"] + suffix)
        }
        try store.close()
        let recovered = try open(folder["copy"])
        #expect(recovered.database.wasRecovered)
        #expect(recovered.database.compatible == 0x8000_0001)
        #expect(try recovered.ids == [1, 2, 3, 4, 5, 6, 7, 8])
        try recovered.close()
    }

    // MARK: Damage that hashes do not show

    /// What `verify` says.
    private func findings() throws -> [String] {
        var configuration = StoreConfiguration()
        configuration.place = .file(path)
        let store = try Store.open(configuration)
        defer { try? store.close() }
        let view = try store.openView()
        defer { view.close() }
        var last: UInt64 = 0
        let findings = try view.verify { (done, total) throws(StoreError) in
            if done < last || done > total {
                throw StoreError(.cancelled, "progress went from \(last) to \(done) of \(total)")
            }
            last = done
        }
        #expect(last > 0)
        return findings
    }

    /// Found by fuzzing: the mode immutable read behind the end of the file, and the process died of it.
    @Test(arguments: [3, 4, 6, 10]) func missingEnd(pages: Int) throws {
        let file = try FileHandle(forWritingTo: URL(fileURLWithPath: path))
        try file.truncate(atOffset: UInt64(pages * PageSize.page))
        try file.close()
        refused(.corrupt)
        refused(.corrupt) { $0.isReadOnly = true }
    }

    /// Found by fuzzing: what is counted on from there overflowed.
    @Test(arguments: [56, 64, 96, 104]) func hugeNumbersInMetas(field: Int) throws {
        try edit { base in
            for slot in 0..<2 {
                let meta = base + slot * PageSize.page
                meta.storeBytes(of: UInt64.max - 1, toByteOffset: field, as: UInt64.self)
                seal(meta)
            }
        }
        refused(.corrupt)
        refused(.corrupt) { $0.isReadOnly = true }
    }

    /// Changes the class of the newest version, or its only leaf, with hashes recomputed: only the change is wrong.
    private func forge(
        _ change: (_ base: UnsafeMutableRawPointer, _ cls: UnsafeMutableRawPointer, _ leaf: UnsafeMutableRawPointer)
            throws -> Void
    ) throws {
        try edit { base in
            var metas = (0..<2).map { Meta.decode(base + $0 * PageSize.page)! }
            let newest = metas[0].generation > metas[1].generation ? 0 : 1
            func resealed(_ ref: Ref) -> Ref {
                let node = base + ref.offset
                let hash = NodeHeader.computeHash(node, bytes: NodeHeader.bytes(node), seed: metas[newest].hashSeed)
                node.storeBytes(of: hash, toByteOffset: 24, as: UInt64.self)
                return Ref(offset: ref.offset, hash: hash, born: NodeHeader.born(node))
            }
            let root = base + metas[newest].root.offset
            let cls = RootNode.classNode(root, 0)
            let leaf = ClassNode.cluster(base + cls.offset)
            try change(base, base + cls.offset, base + leaf.offset)
            ClassNode.setCluster(base + cls.offset, resealed(leaf))
            RootNode.setClassNode(root, 0, resealed(cls))
            metas[newest].root = resealed(metas[newest].root)
            metas[newest].encode(to: base + newest * PageSize.page)
        }
    }

    /// Found by fuzzing: the commit subtracted it from its own version.
    @Test func forgedEpochOfLeaf() throws {
        try forge { _, _, leaf in LeafHead.setBornEpoch(leaf, 1 << 40) }
        let store = try open()
        #expect(try store.ids == [1, 2, 3, 4, 5])
        let error = #expect(throws: StoreError.self) { try store.write(6...6) }
        #expect(error?.code == .corrupt)
        try? store.close()
    }

    /// Found by fuzzing: `verify` multiplied the number of objects. It reports what is damaged; it does not fail.
    @Test(arguments: [4, Int64.max, -1]) func forgedObjectCounts(count: Int64) throws {
        try forge { _, cls, _ in ClassNode.setObjectCount(cls, Int(count)) }
        let found = try findings()
        let what = count == 4 ? "counts 4 objects" : "classRoot is not well formed"
        #expect(found.contains { $0.hasPrefix("class Row, ") && $0.contains(what) }, "\(found)")
    }

    @Test func verifyComparesFreeSpace() throws {
        #expect(try findings() == [])
        // Every page counts as free.
        try edit { base in
            var metas = (0..<2).map { Meta.decode(base + $0 * PageSize.page)! }
            let newest = metas[0].generation > metas[1].generation ? 0 : 1
            let meta = metas[newest], node = base + meta.freeMap.offset
            var reader = ByteReader(
                UnsafeRawPointer(node) + NodeHeader.size, count: NodeHeader.bytes(node) - NodeHeader.size)
            let space = try FreeSpace(pages: meta.filePages, decoding: &reader, version: meta.version)
            let run = PageRun(page: meta.freeMap.offset / PageSize.page, count: NodeHeader.count(node))
            space.forgetLivePages()
            let forged = try #require(
                try FreeMapNode.encode(space, version: NodeHeader.born(node), run: run, seed: meta.hashSeed))
            node.copyMemory(from: UnsafeRawPointer(forged.image.base), byteCount: forged.image.count)
            metas[newest].freeMap = forged.ref
            metas[newest].encode(to: base + newest * PageSize.page)
        }
        let found = try findings()
        #expect(
            !found.isEmpty && found.allSatisfy { $0.hasPrefix("free space: page") }
                && found[0].contains("counted as free"), "\(found)")
    }

    // MARK: Options

    @Test func exclusive() throws {
        let first = try open { $0.isExclusive = true }
        refused(.busy)
        refused(.busy) { $0.isExclusive = true }
        try first.write(6...6)
        try first.close()
        let shared = try open()
        refused(.busy) { $0.isExclusive = true }
        #expect(try shared.ids.count == 6)
        try shared.close()
        let again = try open { $0.isExclusive = true }
        #expect(try again.ids.count == 6)
        try again.close()
    }

    /// The log is lost: refused, unless the last commits may be lost, too.
    @Test func withoutLog() throws {
        let store = try open()
        try store.write(6...6)
        try store.database.checkpoint()
        try store.write(7...7)
        try FileManager.default.copyItem(atPath: path, toPath: folder["copy"])
        try store.close()
        refused(.needsLog, folder["copy"])
        let rest = try open(folder["copy"]) { $0.opensWithoutLog = true }
        #expect(try rest.ids == [1, 2, 3, 4, 5, 6])
        try rest.write(8...8)
        try rest.close()
        let last = try open(folder["copy"])
        #expect(try last.ids == [1, 2, 3, 4, 5, 6, 8])
        #expect(Verifier.findings(try last.database.snapshot()) == [])
        try last.close()
    }

    private func facade(_ limits: [StoreConfiguration.Limit: Int64]) throws -> Store {
        var configuration = StoreConfiguration()
        configuration.place = .file(path)
        for (limit, value) in limits { try configuration.set(limit, value) }
        return try Store.open(configuration)
    }

    @Test func limitOfValues() throws {
        let store = try facade([.valueBytes: 100])
        let view = try store.openView(), cls = try view.findClass("Row"), text = try view.findProperty(cls, "text"),
            id = try view.findProperty(cls, "id")
        view.close()
        let bytes = UnsafeMutableRawPointer.allocate(byteCount: 101, alignment: 8)
        bytes.initializeMemory(as: UInt8.self, repeating: 65, count: 101)
        defer { bytes.deallocate() }
        for (length, isRight) in [(100, true), (101, false)] {
            let transaction = try store.begin()
            let create = {
                try [id, text].withUnsafeBufferPointer { ids in
                    try [.int(Int64(length)), .string(bytes, length)].withUnsafeBufferPointer {
                        _ = try transaction.create(cls, ids, $0.baseAddress!)
                    }
                }
            }
            if isRight { try create() } else { #expect(throws: StoreError.self) { try create() } }
            _ = try transaction.commit()
        }
        try store.close()
    }

    @Test func limitOfWaiting() throws {
        let store = try facade([.writeTimeout: 1])
        let other = try open()
        let transaction = try WriteTransaction.begin(other.database)
        do {
            _ = try store.begin().cancel()
            Issue.record("two transactions at once")
        } catch {
            #expect((error as? StoreError)?.code == .timeout, "\(error)")
        }
        try transaction.cancel()
        try store.begin().cancel()
        try other.close()
        try store.close()
    }

    /// The log never grows past its limit, and commits continue: checkpoints make room.
    @Test func limitOfTheLog() throws {
        let store = try facade([.logBytes: 1 << 20, .checkpointIdle: -1])
        let view = try store.openView(), cls = try view.findClass("Row"), text = try view.findProperty(cls, "text")
        let row = try view.find(Query(all: cls)).object(at: 0)
        view.close()
        let bytes = UnsafeMutableRawPointer.allocate(byteCount: 4096, alignment: 8)
        bytes.initializeMemory(as: UInt8.self, repeating: 66, count: 4096)
        defer { bytes.deallocate() }
        for _ in 0..<600 {
            let transaction = try store.begin()
            try transaction.set(row, text, .string(bytes, 4096))
            _ = try transaction.commit()
        }
        let statistics = try store.statistics()
        #expect(statistics.logBytesWritten > 2 << 20)
        #expect(statistics.logFileBytes <= 1 << 20 + 4096)
        #expect(statistics.checkpoints > 1)
        try store.close()
    }

    /// A store that is only read leaves a small lock file; the first write gives the rest of it space.
    @Test func lockFileGrowsWithTheFirstWrite() throws {
        func size() throws -> Int { try RealFile(path: path + "-lock", mode: .readOnly).size() }
        try open { $0.leavesFileAlone = true }.close()
        for round: Int64 in 1...2 {
            let store = try open { $0.leavesFileAlone = true }
            #expect(try store.ids.count == 5 * Int(round))
            #expect(try size() == SharedMemory.firstPart)
            try store.write((round * 10)...(round * 10 + 4))
            #expect(try size() >= SharedState.bytes(SharedState.Limits()))
            try store.close()
            #expect(!FileManager.default.fileExists(atPath: path + "-lock"))
        }
    }

    /// A thread that expects others to commit presently does not wait for ever when they do not.
    @Test func commitsWithoutTheOthers() throws {
        let store = try open()
        for _ in 1...4 { store.database.shared.setSyncPace(commits: 4, time: 1 << 40) }
        #expect(store.database.shared.syncPatience.commits == 4)
        try store.write(6...6)
        #expect(store.database.shared.syncPatience.commits == 1)
        #expect(try store.ids == [1, 2, 3, 4, 5, 6])
        try store.close()
    }

    /// What a small transaction worked with is kept for the next one, what a large one needed is freed at its end.
    @Test func largeTransactionsKeepNoMemory() throws {
        let store = try open()
        weak var state: ClassState?
        do {
            let transaction = try WriteTransaction.begin(store.database)
            #expect(try transaction.state(0).find(primaryKey: .int(3)) != nil)
            state = try transaction.state(0)
            try transaction.cancel()
        }
        #expect(state != nil)
        do {
            let transaction = try WriteTransaction.begin(store.database)
            for id: Int64 in 1_000...9_000 {
                _ = try [.int(id), .null].withUnsafeBufferPointer {
                    _ = try transaction.state(0).create($0.baseAddress!)
                }
            }
            #expect(try transaction.state(0) === state)
            try transaction.commit()
        }
        #expect(state == nil)
        try store.close()
    }
}

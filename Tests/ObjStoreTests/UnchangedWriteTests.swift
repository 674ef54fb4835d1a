import Foundation
import ObjStore
import Testing

/// A write that leaves nothing has read the newest commit, which may not be shown yet: when it has ended, no reader
/// sees less.
@Suite struct UnchangedWriteTests {
    final class Counted: Object {
        @Persisted(primaryKey: true) var id: Int
        @Persisted var n = 0
    }

    private struct Stop: Error {}

    @Test func noReaderSeesLessAfterwards() throws {
        let folder = NSTemporaryDirectory() + "objstore-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let store = try Store.open(path: folder + "/store", models: [Counted.self])
        try store.write { tx in try tx.create(Counted.self, value: ["id": 1]) }
        let ended = DispatchSemaphore(value: 0), stop = Mark()
        Thread.detachNewThread {
            do {
                let store = try Store.open(path: folder + "/store", models: [Counted.self])
                while !stop.isSet {
                    try store.write { _ in try store.object(ofType: Counted.self, forPrimaryKey: 1)?.n += 1 }
                }
                try store.close()
            } catch {
                Issue.record(error)
            }
            ended.signal()
        }
        func n() throws -> Int { try store.object(ofType: Counted.self, forPrimaryKey: 1)?.n ?? -1 }
        var wentBack: [String] = []
        for _ in 0..<60 {
            var inside = try store.write { _ in try n() }
            if try n() < inside { wentBack.append("unchanged") }
            try store.write { tx in
                inside = try n()
                try tx.create(Counted.self, value: ["id": 2])
                try tx.cancel()
            }
            if try n() < inside { wentBack.append("cancelled") }
            #expect(throws: Stop.self) {
                try store.write { _ in
                    inside = try n()
                    throw Stop()
                }
            }
            if try n() < inside { wentBack.append("thrown") }
            try store.beginWrite()
            inside = try n()
            try store.cancelWrite()
            if try n() < inside { wentBack.append("cancelWrite") }
        }
        stop.set()
        ended.wait()
        #expect(wentBack.isEmpty)
        #expect(store.objects(Counted.self).count == 1)
        try store.close()
    }
}

/// Set once, by any thread.
private final class Mark: @unchecked Sendable {
    private let lock = NSLock()
    private var value = false
    var isSet: Bool { lock.withLock { value } }
    func set() { lock.withLock { value = true } }
}

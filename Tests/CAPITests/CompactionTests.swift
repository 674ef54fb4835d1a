import CObjStore
import Foundation
import Testing

// Compaction through the C interface.

private let people = TestClass(
    name: "Person",
    properties: [
        ("id", .OBJSTORE_KIND_INT, primaryKey), ("name", .OBJSTORE_KIND_STRING, indexed),
        ("score", .OBJSTORE_KIND_DOUBLE, 0),
    ])

private func size(_ path: String) throws -> Int {
    try require(try FileManager.default.attributesOfItem(atPath: path)[.size] as? Int)
}

/// Deletes most objects at random, compacts while a writer continues, and compares everything.
@Test func compactionBesideAWriter() throws {
    let folder = TestFolder()
    let store = try openStore(folder.store, [people])
    let cls = try ClassOf(store, people)
    var expected: [Int64: String] = [:]
    for batch in 0..<4 {
        try writing(store) { tx in
            for id in (batch * 10_000)..<((batch + 1) * 10_000) {
                let name = "person \(id) " + String(repeating: "y", count: id % 60 + (id % 997 == 0 ? 6000 : 0))
                try cls.create(
                    tx,
                    [
                        "id": objstore_int(Int64(id)), "name": objstore_string(text(name)),
                        "score": objstore_double(Double(id)),
                    ])
                expected[Int64(id)] = name
            }
        }
    }
    try writing(store) { tx in
        for id in 0..<40_000 where id * 7919 % 100 >= 4 {
            try ok(objstore_delete(tx, try require(try cls.find(tx, objstore_int(Int64(id))))))
            expected[Int64(id)] = nil
        }
    }
    try ok(objstore_checkpoint(store))
    let before = try size(folder.store)
    // A writer that continues meanwhile.
    nonisolated(unsafe) let shared = store
    nonisolated(unsafe) var written = 0
    nonisolated(unsafe) var stop = false
    let done = DispatchSemaphore(value: 0)
    let lock = NSLock()
    Thread.detachNewThread {
        while !lock.withLock({ stop }) {
            do {
                try writing(shared) { tx in
                    try cls.create(
                        tx,
                        [
                            "id": objstore_int(Int64(1_000_000 + written)), "name": objstore_string(text("new")),
                            "score": objstore_double(0),
                        ])
                }
                written += 1
            } catch { Issue.record(error) }
        }
        done.signal()
    }
    try ok(objstore_compact(store, nil, nil, nil))
    lock.withLock { stop = true }
    done.wait()
    try ok(objstore_compact(store, nil, nil, nil))
    let after = try size(folder.store)
    #expect(after * 5 < before, "\(before) bytes before, \(after) after")
    for id in 0..<written { expected[Int64(1_000_000 + id)] = "new" }
    for _ in 0..<2 {
        let store = try openStore(folder.store, [people])
        try frozen(store) { view in
            #expect(try cls.count(view) == expected.count)
            for (id, name) in expected {
                let object = try require(try cls.find(view, objstore_int(id)))
                if try cls.string(view, object, "name") != name { Issue.record("person \(id) has another name") }
            }
        }
        try verify(store)
        try ok(objstore_close(store))
    }
    try ok(objstore_close(store))
    // Once more, from the file.
    let again = try openStore(folder.store, [people])
    try verify(again)
    #expect(try frozen(again) { try cls.count($0) } == expected.count)
    try ok(objstore_close(again))
}

/// After many deletions the library compacts by itself, when there is no write for a while.
@Test func compactionByItself() throws {
    let folder = TestFolder()
    let store = try openStore(folder.store, [people])
    let cls = try ClassOf(store, people)
    try writing(store) { tx in
        for id in 0..<60_000 {
            try cls.create(
                tx,
                [
                    "id": objstore_int(Int64(id)), "name": objstore_string(text("name \(id)")),
                    "score": objstore_double(0),
                ])
        }
    }
    try ok(objstore_checkpoint(store))
    let before = try size(folder.store)
    try writing(store) { tx in
        for id in 0..<60_000 where id % 50 != 0 {
            try ok(objstore_delete(tx, try require(try cls.find(tx, objstore_int(Int64(id))))))
        }
    }
    var waited = 0
    while try size(folder.store) * 5 > before, waited < 300 {
        usleep(100_000)
        waited += 1
    }
    #expect(waited < 300)
    try verify(store)
    #expect(try frozen(store) { try cls.count($0) } == 1200)
    try ok(objstore_close(store))
}

/// A class of a single leaf, most of whose objects were deleted, takes no more than a compact copy of it, about.
@Test(arguments: [20, 300, 1500, 4000, 30_000])
func compactionOfOneLeaf(bytes: Int) throws {
    let folder = TestFolder()
    let store = try openStore(folder.store, [people])
    let cls = try ClassOf(store, people)
    let long = String(repeating: "z", count: bytes)
    func name(_ id: Int64) -> String { "\(id % 7) " + long + (id % 3 == 0 ? "\(id)" : "") }
    func add(_ ids: Range<Int64>) throws {
        try writing(store) { tx in
            for id in ids {
                try cls.create(
                    tx, ["id": objstore_int(id), "name": objstore_string(text(name(id))), "score": objstore_double(0)])
            }
        }
    }
    func content() throws -> [Int64: String] {
        try frozen(store) { view in
            var found: [Int64: String] = [:]
            for id in Int64(0)..<4100 {
                if let object = try cls.find(view, objstore_int(id)) {
                    found[id] = try cls.string(view, object, "name")
                }
            }
            return found
        }
    }
    try add(0..<3000)
    try writing(store) { tx in
        for id in Int64(0)..<3000 where id % 60 != 7 {
            try ok(objstore_delete(tx, try require(try cls.find(tx, objstore_int(id)))))
        }
    }
    for round in 0..<2 {
        try ok(objstore_compact(store, nil, nil, nil))
        let other = folder.path + ["/copy", "/other"][round]
        try frozen(store) { view in try ok(objstore_copy(view, text(other), nil, nil, nil)) }
        let after = try size(folder.store), copy = try size(other)
        #expect(after <= copy * 2 + 256 << 10, "\(after) bytes after, a copy has \(copy)")
        var expected: [Int64: String] = [:]
        for id in Int64(0)..<3000 where id % 60 == 7 { expected[id] = name(id) }
        if round == 1 { for id in Int64(4000)..<4100 where id % 2 == 0 { expected[id] = name(id) } }
        #expect(try content() == expected)
        try verify(store)
        // Rows are added to the leaf that was rewritten, and some of them go.
        if round == 0 {
            try add(4000..<4100)
            try writing(store) { tx in
                for id in Int64(4000)..<4100 where id % 2 == 1 {
                    try ok(objstore_delete(tx, try require(try cls.find(tx, objstore_int(id)))))
                }
            }
        }
    }
    try ok(objstore_close(store))
}

@Test func compactionOfAStoreInMemory() throws {
    let store = try openStore(nil, [people])
    let cls = try ClassOf(store, people)
    try writing(store) { tx in
        for id in 0..<20_000 {
            try cls.create(
                tx,
                [
                    "id": objstore_int(Int64(id)), "name": objstore_string(text("name \(id)")),
                    "score": objstore_double(0),
                ])
        }
    }
    try writing(store) { tx in
        var count: UInt64 = 0
        try ok(objstore_delete_all(tx, cls.id, &count))
    }
    try ok(objstore_compact(store, nil, nil, nil))
    try verify(store)
    var statistics = objstore_statistics()
    statistics.struct_size = UInt32(MemoryLayout<objstore_statistics>.size)
    try ok(objstore_get_statistics(store, &statistics))
    #expect(statistics.file_bytes < 1 << 19, "\(statistics.file_bytes) bytes")
    try ok(objstore_close(store))
}

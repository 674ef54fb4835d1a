import Glibc
import Synchronization
import Testing

import ObjStoreCore

/// Frozen views are read without a lock.
@Suite struct FrozenReadTests {
    /// The read continues until it has seen that the store is being closed, and on: closing returns after it.
    @Test func closingWaitsForReads() throws {
        var draft = SchemaDraft()
        try draft.addClass("Dog")
        try draft.addProperty("Dog", "name", .string, [])
        var configuration = StoreConfiguration()
        configuration.place = .memory("")
        configuration.schema = draft
        let store = try Store.open(configuration)
        let transaction = try store.begin()
        let dogs = try transaction.findClass("Dog")
        let properties = [try transaction.findProperty(dogs, "name")]
        let dog = try properties.withUnsafeBufferPointer { properties in
            try "Rex".utf8CString.withUnsafeBytes { bytes in
                try withUnsafePointer(to: Value.string(bytes.baseAddress, 3)) {
                    try transaction.create(dogs, properties, $0)
                }
            }
        }
        _ = try transaction.commit()
        let view = try store.openView().freeze()
        try properties.withUnsafeBufferPointer { properties in
            let reader = try ClassReader(view, dogs, properties)
            let isReading = Atomic(false), isClosed = Atomic(false)
            nonisolated(unsafe) var closedTooEarly = false
            let thread = try BackgroundThread(name: "closes") { _ in
                while !isReading.load(ordering: .acquiring) {}
                do { try store.close() } catch { Issue.record("\(error)") }
                isClosed.store(true, ordering: .releasing)
            }
            let isNull =
                try reader.bytes(dog.key, 0) { bytes in
                    isReading.store(true, ordering: .releasing)
                    while !view.isClosed {}
                    // Long enough for a close that does not wait to be done.
                    for _ in 0..<200_000 where !isClosed.load(ordering: .acquiring) { sched_yield() }
                    closedTooEarly = isClosed.load(ordering: .acquiring)
                    #expect(bytes.elementsEqual("Rex".utf8))
                } == false
            thread.stopAndJoin()
            #expect(!isNull && !closedTooEarly && isClosed.load(ordering: .acquiring))
            #expect(throws: StoreError.self) { _ = try reader.exists(dog.key) }
            #expect(throws: StoreError.self) { _ = try view.count(dogs) }
        }
    }
}

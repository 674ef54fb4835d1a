import Foundation
import Testing

import ObjStoreCore

/// What a recovery makes of logged changes of collections whose elements have bytes of their own.
@Suite struct CollectionReplayTests {
    /// A change of a set or map is compared with its neighbours before it is replayed; these are short texts, whose
    /// memory must still be there then. (It was not, and a sound log was refused as damaged now and then: each removal
    /// is one chance.)
    @Test func removalsBetweenTextsAreReplayed() throws {
        let folder = TestFolder()
        var draft = SchemaDraft()
        try draft.addClass("Item")
        try draft.addCollection("Item", "tags", .set, ElementSchema(kind: .string))
        try draft.addCollection("Item", "notes", .map, ElementSchema(kind: .int, keyKind: .string))
        func open(_ name: String) throws -> Store {
            var configuration = StoreConfiguration()
            configuration.place = .file(folder[name])
            configuration.schema = draft
            return try Store.open(configuration)
        }
        let store = try open("db")
        var tx = try store.begin()
        let item = try tx.findClass("Item"), tags = try tx.findProperty(item, "tags"),
            notes = try tx.findProperty(item, "notes")
        let object = try withUnsafePointer(to: Value.null) {
            try tx.create(item, UnsafeBufferPointer(start: nil, count: 0), $0)
        }
        func withText<T>(_ number: Int, _ body: (Value) throws -> T) rethrows -> T {
            var text = "t\(number)"
            return try text.withUTF8 { try body(.string(UnsafeRawPointer($0.baseAddress!), $0.count)) }
        }
        func collection(_ property: UInt32) -> CollectionID { CollectionID(owner: object, propertyID: property) }
        for number in 100..<180 {
            try withText(number) {
                _ = try tx.insert(collection(tags), member: $0)
                _ = try tx.set(collection(notes), key: $0, .int(Int64(number)))
            }
        }
        _ = try tx.commit()
        try store.checkpoint()
        tx = try store.begin()
        for number in 110..<170 where number % 2 == 0 {
            try withText(number) {
                _ = try tx.remove(collection(tags), member: $0)
                _ = try tx.remove(collection(notes), key: $0)
            }
        }
        _ = try tx.commit()
        for suffix in ["", "-log"] {
            try FileManager.default.copyItem(atPath: folder["db"] + suffix, toPath: folder["copy"] + suffix)
        }
        try store.close()
        let copy = try open("copy")
        #expect(copy.wasRecovered)
        let view = try copy.openView(), owner = ObjectID(classID: item, storeTag: copy.shared.tag, key: object.key)
        for property in [tags, notes] {
            #expect(try view.elementCount(CollectionID(owner: owner, propertyID: property)) == 50)
        }
        view.close()
        try copy.close()
    }
}

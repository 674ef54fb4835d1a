import Testing

import ObjStoreCore

/// Numbers of which the last is one behind the greatest, which is the least: they do not count up, though adding one
/// leads from one to the next.
@Suite struct WrappingNumbersTests {
    @Test func leastBehindGreatest() throws {
        var draft = SchemaDraft()
        try draft.addClass("Item")
        try draft.addProperty("Item", "n", .int, [])
        var configuration = StoreConfiguration()
        configuration.place = .memory("")
        configuration.schema = draft
        let store = try Store.open(configuration)
        let tx = try store.begin(), item = try tx.findClass("Item"), property = try tx.findProperty(item, "n")
        for number in [Int64.max - 1, .max, .min, .min + 1] {
            _ = try [property].withUnsafeBufferPointer { ids in
                try withUnsafePointer(to: Value.int(number)) { try tx.create(item, ids, $0) }
            }
        }
        _ = try tx.commit()
        let view = try store.openView()
        #expect(try view.count(Query(item, property, .less, .int(0))) == 2)
        #expect(try view.count(Query(item, property, .greater, .int(0))) == 2)
        #expect(try view.count(Query(item, property, .equal, .int(.min))) == 1)
        view.close()
        try store.close()
    }
}

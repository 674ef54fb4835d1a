import Testing

import ObjStoreCore

/// What a program uses of a schema that another one gives a higher version (ruling X14).
@Suite struct SchemaInUseTests {
    /// `Thing` with everything that can be taken away; `change` says what is otherwise.
    private static func describe(_ draft: inout SchemaDraft, _ change: String = "") throws {
        func flags(_ standard: SchemaDraft.Flags, _ name: String, without flag: SchemaDraft.Flags) -> SchemaDraft.Flags
        { change == name ? standard.subtracting(flag) : standard }
        if change != "part gone" {
            try draft.addClass("Part")
            try draft.addProperty("Part", "number", .int, [])
            if change != "part not embedded" { try draft.setEmbedded("Part", true) }
        }
        try draft.addClass("Other")
        try draft.addProperty("Other", "name", .string, [])
        if change == "other embedded" { try draft.setEmbedded("Other", true) }
        try draft.addClass("Thing")
        try draft.addProperty(
            "Thing", "id", .int, flags([.primaryKey, .generated], "not generated", without: .generated))
        try draft.addProperty("Thing", "count", .int, flags([.counter], "no counter", without: .counter))
        try draft.addProperty(
            "Thing", "mail", .string,
            flags([.nullable, .unique], "not unique", without: .unique).union(change == "not unique" ? .indexed : []))
        try draft.addProperty("Thing", "born", .int, flags([.indexed], "no index", without: .indexed))
        try draft.addProperty(
            "Thing", "last", change == "another kind" ? .double : .int, change == "may be null" ? .nullable : [])
        if change == "cascades" {
            try draft.addLink("Thing", "other", to: "Other", .cascade)
        } else if change != "no link" {
            try draft.addLink("Thing", "other", to: "Other")
        }
        if change != "part gone" {
            try draft.addCollection("Thing", "parts", .list, ElementSchema(kind: .link), target: "Part")
        }
        if change == "more" { try draft.addProperty("Thing", "more", .string, [.nullable, .indexed]) }
        if change != "no pair" {
            try draft.addIndex("Thing", ["born", "last"], change == "pair not unique" ? [] : .unique)
        }
        if change == "another pair" { try draft.addIndex("Thing", ["last", "count"], []) }
        if change == "part gone" { try draft.dropClass("Part") }
    }

    /// What is reported of the change; empty: nothing is lost.
    static let changes: [(change: String, told: String)] = [
        ("same", ""), ("more", ""), ("another pair", ""), ("cascades", ""),
        ("part not embedded", "class Part is not embedded any more"),
        ("other embedded", "class Other became embedded"),
        ("part gone", "class Part was dropped"),
        ("not generated", "Thing.id is not generated any more"),
        ("no counter", "Thing.count is no counter any more"),
        ("not unique", "Thing.mail is not unique any more"),
        ("no index", "Thing.born has no index any more"),
        ("another kind", "Thing.last was dropped"),
        ("may be null", "Thing.last may be null now"),
        ("no link", "Thing.other was dropped"),
        ("no pair", "Thing.(born, last) has no index any more"),
        ("pair not unique", "Thing.(born, last) has no index any more"),
    ]

    @Test(arguments: changes) func nextBegin(change: String, told: String) throws {
        let folder = TestFolder(), path = folder["db"]
        let store = try ConstraintTests.open(path, version: 1) { try SchemaInUseTests.describe(&$0) }
        let unknowing = try ConstraintTests.open(path, version: 1) { draft in
            try draft.addClass("Other")
            try draft.addProperty("Other", "name", .string, [])
        }
        var draft = SchemaDraft()
        try SchemaInUseTests.describe(&draft, change)
        var configuration = StoreConfiguration()
        configuration.place = .file(path)
        configuration.schema = draft
        configuration.schemaVersion = 2
        configuration.steps.migration = { (_, _, _, _) throws(StoreError) in }
        let newer = try Store.open(configuration)
        for _ in 0..<2 {
            // Each of the three ways; a lock that was left behind would stop the next.
            for wait in [.standard, .notAtAll, .atMost(0)] as [Store.Wait] {
                do throws(StoreError) {
                    let tx = try store.begin(wait)
                    #expect(told.isEmpty, "begun: \(change)")
                    _ = try tx.commit()
                } catch {
                    let words = told.isEmpty ? "nothing" : told
                    #expect(
                        error.code == .schemaMismatch && error.message.hasPrefix(words + ": "), "\(change): \(error)")
                    #expect(
                        error.className == (told.contains("Part") ? "Part" : told.contains("Other") ? "Other" : "Thing")
                    )
                    #expect((error.propertyName == nil) == told.hasPrefix("class"))
                }
            }
            // It uses less, and may write unless that is what went.
            if change != "other embedded" { try unknowing.begin(.notAtAll).cancel() }
            try newer.begin(.notAtAll).cancel()
        }
        for store in [store, unknowing, newer] { try store.close() }
    }

    /// Higher and higher: each is checked once, and what is returned is there again.
    @Test func versionAfterVersion() throws {
        let folder = TestFolder(), path = folder["db"]
        let store = try ConstraintTests.open(path, version: 1) { try SchemaInUseTests.describe(&$0) }
        for (version, change, isLost) in [
            (2, "more", false), (3, "no index", true), (4, "same", false), (9, "pair not unique", true),
        ] as [(UInt64, String, Bool)] {
            let newer = try ConstraintTests.open(path, version: version) { try SchemaInUseTests.describe(&$0, change) }
            if isLost {
                #expect { try store.begin() } throws: {
                    ($0 as? StoreError)?.code == .schemaMismatch && "\($0)".contains("version \(version) meanwhile")
                }
            } else {
                _ = try store.begin().commit()
            }
            try newer.close()
        }
        // A new pair has another id: what it was is gone for good.
        let newer = try ConstraintTests.open(path, version: 10) { try SchemaInUseTests.describe(&$0) }
        #expect { try store.begin() } throws: { ($0 as? StoreError)?.code == .schemaMismatch }
        try newer.close()
        try store.close()
    }
}

import ObjStore
import Testing

class WordTask: Object {
    @Persisted(primaryKey: true) var id = 0
    @Persisted(fullText: true) var name = ""
    @Persisted(fullText: true) var note: String?
    @Persisted(indexed: true) var priority = 0
    @Persisted var plain = ""
    @Persisted var parent: WordTask?
}

/// Searching for words, and plans.
@Suite struct QueryWordsTests {
    private let store: Store

    init() throws {
        store = try memoryStore([WordTask.self])
        let names = ["Write tests", "write a Resumé", "Walk", "rewrite"]
        try store.write { tx in
            for (id, name) in names.enumerated() {
                _ = try tx.create(WordTask.self, value: ["id": id, "name": name, "priority": id % 2, "plain": name])
            }
        }
    }

    private func ids(_ condition: (Query<WordTask>) -> Query<Bool>) throws -> [Int] {
        try store.objects(WordTask.self).where(condition).validate().map(\.id)
    }

    /// A95, the words of it.
    @Test func search() throws {
        #expect(try ids { $0.name.search("write") } == [0, 1])
        #expect(try ids { $0.name.search("write -tests") } == [1])
        #expect(try ids { $0.name.search("wri* RESUME") } == [1])
        #expect(try ids { !$0.name.search("w*") } == [3])
        #expect(try ids { $0.note.search("a") } == [])
        #expect(try store.objects(WordTask.self).filter("name TEXT 'wri*'").map(\.id) == [0, 1])
        #expect(throws: ObjStoreError.self) { try ids { $0.plain.search("write") } }
        #expect(throws: ObjStoreError.self) { try store.objects(WordTask.self).filter("plain TEXT 'a'") }
        let properties = try #require(store.schema["WordTask"]?.properties)
        #expect(properties.filter(\.isFullText).map(\.name) == ["name", "note"])
        #expect("\(properties[1])".hasSuffix("full text"))
    }

    @Test func explain() throws {
        let tasks = store.objects(WordTask.self)
        let plan = try tasks.where { $0.priority == 1 && $0.name.search("walk") }.sorted(by: \.id).explain(
            running: true)
        let lines = plan.split(separator: "\n")
        #expect(lines.count == 5 && lines[0] == "WordTask: 4 objects in 1 leaf")
        #expect(lines[1] == "index: priority == 1, 2 objects" && lines[4].hasPrefix("found: 0 objects in "))
        #expect(try tasks.explain() == "WordTask: 4 objects in 1 leaf\nall of them\n")
        #expect(try tasks.explain(asJSON: true).contains("\"access\": \"all\""))
        #expect(throws: ObjStoreError.self) { try tasks.where { $0.plain.search("a") }.explain() }
    }
}

import ObjStore
import Testing

/// What is written into a property of an enum is one of its cases, whatever writes it.
@Suite struct EnumerationTests {
    enum State: String, PersistableEnum { case open, done }
    enum Level: Int, PersistableEnum { case low = 1, high = 5 }
    final class Task: Object {
        @Persisted(primaryKey: true) var id: Int
        @Persisted var state: State
        @Persisted var level: Level?
        @Persisted var states: List<State>
        @Persisted var levels: MutableSet<Level>
        @Persisted var marks: Map<String, Level?>
    }

    @Test func json() throws {
        let store = try memoryStore([Task.self])
        let fits = #"{"id": 1, "state": "done", "level": 5, "states": ["open", "done"], "levels": [1], "marks": {"a": 5, "b": null}}"#
        try store.write { tx in try tx.create(Task.self, json: fits) }
        let task = try #require(store.objects(Task.self).first)
        #expect(task.state == .done && task.level == .high && Array(task.states) == [.open, .done] && task.levels.contains(.low))
        for (json, path) in [
            (#"{"id": 2, "state": "zebra"}"#, "$.state"), (#"{"id": 1, "level": 2}"#, "$.level"), (#"{"id": 1, "states": ["open", "zebra"]}"#, "$.states[1]"),
            (#"{"id": 1, "levels": [3]}"#, "$.levels[0]"), (#"{"id": 1, "marks": {"a": 4}}"#, "$.marks.a"),
        ] {
            do {
                try store.write { tx in try tx.create(Task.self, json: json, update: .modified) }
                Issue.record("\(json) was taken")
            } catch let error as ObjStoreError {
                #expect(error.code == .outOfRange && error.message.contains(path) && error.className == "Task", "\(error)")
            }
        }
        #expect(code { try store.write { tx in try tx.create(Task.self, value: ["id": 3, "state": "zebra"]) } } != nil)
        #expect(store.objects(Task.self).count == 1 && task.state == .done && task.level == .high)
    }
}

import Foundation
import ObjStore
import Testing

final class JSONToy: Object {
    @Persisted var name: String
}
final class JSONPuppy: Object {
    @Persisted var name = ""
    @Persisted var age = 0
    @Persisted var born: Timestamp?
    @Persisted var photo: [UInt8]?
}
final class JSONPerson: Object {
    @Persisted(primaryKey: true) var id: Int
    @Persisted var name = ""
    @Persisted var dogs: List<JSONPuppy>
}

/// The scenarios of JSON, by their numbers.
@Suite struct JSONScenarioTests {
    private let store: Store
    init() throws { store = try memoryStore([JSONToy.self, JSONPuppy.self, JSONPerson.self]) }

    private func failure<R>(_ body: () throws -> R) -> ObjStoreError? {
        do { _ = try body() } catch { return error as? ObjStoreError }
        return nil
    }

    @Test func A22_A25_anObject() throws {
        try store.write { (tx) throws in
            #expect(
                try tx.create(JSONToy.self, json: #"{"name":"Tennis ball","weight":3,"maker":{"x":[]}}"#).name
                    == "Tennis ball")
        }
        #expect(store.objects(JSONToy.self).count == 1)
    }

    @Test func A23_relaxed() throws {
        let text = "{ name: \"Doctor Cucumber\", age: 1, }"
        try store.write { (tx) throws in
            let made = try tx.create(JSONPuppy.self, json: text)
            #expect(made.name == "Doctor Cucumber" && made.age == 1)
            let error = failure { try tx.create(JSONPuppy.self, json: text, syntax: []) }
            #expect(error?.code == .invalidJSON && error?.position == 2)
        }
        #expect(store.objects(JSONPuppy.self).count == 1)
    }

    @Test func A24_manyFromAStream() throws {
        try store.write { (tx) throws in
            var text = Array(#"[{"name":"a"},{"name":"b"},{"name":"c"}]"#.utf8)[...]
            let count = try tx.createAll(JSONPuppy.self) { room in
                let piece = text.prefix(7)
                room.copyBytes(from: piece)
                text = text.dropFirst(piece.count)
                return piece.count
            }
            #expect(count == 3)
            struct Missing: Error {}
            #expect(failure { try tx.createAll(JSONPuppy.self) { _ in throw Missing() } }?.code == .callback)
        }
        #expect(store.objects(JSONPuppy.self).map(\.name) == ["a", "b", "c"])
    }

    @Test func A24_manyFromAFile() throws {
        let folder = Folder(), path = folder.file() + ".json"
        try Data(#"[{"name":"a"},{"name":"b"},{"name":"c"}]"#.utf8).write(to: URL(fileURLWithPath: path))
        defer { try? FileManager.default.removeItem(atPath: path) }
        try store.write { (tx) throws in
            #expect(try tx.createAll(JSONPuppy.self, jsonFile: path) == 3)
            #expect(failure { try tx.createAll(JSONPuppy.self, jsonFile: path + "x") }?.code == .notFound)
        }
        #expect(store.objects(JSONPuppy.self).map(\.name) == ["a", "b", "c"])
    }

    @Test func A26_nested() throws {
        let jane = try store.write { (tx) throws in
            try tx.create(
                JSONPerson.self,
                json: #"{"id":1,"name":"Jane","dogs":[{"name":"Rex","age":3},{"name":"Bello","age":4}]}"#)
        }
        #expect(jane.dogs.map(\.name) == ["Rex", "Bello"] && jane.dogs.map(\.age) == [3, 4])
    }

    @Test func A27_typesMustFit() throws {
        try store.write { (tx) throws in
            for text in [#"{"name":"Rex","age":"5"}"#, #"{"age":1.5}"#, #"{"age":true}"#] {
                let error = failure { try tx.create(JSONPuppy.self, json: text) }
                #expect(
                    error?.code == .wrongType && error?.className == "JSONPuppy" && error?.propertyName == "age",
                    "\(text)")
            }
            let error = failure {
                try tx.createAll(JSONPerson.self, json: "[{\"id\":1},\n{\"id\":2,\"dogs\":[{\"age\":\"x\"}]}]")
            }
            #expect(
                error?.message.hasPrefix("line 2, column 24, at $[1].dogs[0].age: ") == true && error?.position == 34,
                "\(String(describing: error))")
        }
        #expect(store.objects(JSONPuppy.self).count == 0 && store.objects(JSONPerson.self).count == 0)
    }

    @Test func A28_datesAndBinariesOnlyByAConverter() throws {
        try store.write { (tx) throws in
            for name in ["born", "photo"] {
                let error = failure { try tx.create(JSONPuppy.self, json: "{\(name): '2026'}") }
                #expect(error?.code == .wrongType && error?.propertyName == name)
            }
            let made = try tx.create(JSONPuppy.self, json: "{born: 'zero', photo: 'abc'}") { cls, property, value in
                guard cls == "JSONPuppy", case .string(let text) = value else { return nil }
                return property == "born" ? .date(Timestamp(seconds: 0, nanoseconds: 0)) : .data(Array(text.utf8))
            }
            #expect(made.born == Timestamp(seconds: 0, nanoseconds: 0) && made.photo == Array("abc".utf8))
            let extended = try tx.create(
                JSONPuppy.self, json: #"{"born":{"$date":"1970-01-01T00:00:01Z"}}"#, syntax: .extended)
            #expect(extended.born == Timestamp(seconds: 1, nanoseconds: 0))
        }
    }

    @Test func A29_missingAndNull() throws {
        try store.write { (tx) throws in
            #expect(failure { try tx.create(JSONToy.self, json: "{}") }?.code == .missingValue)
            #expect(failure { try tx.create(JSONToy.self, json: "{name: null}") }?.code == .notNullable)
        }
        #expect(store.objects(JSONToy.self).count == 0)
    }

    @Test func A108_importingTwice() throws {
        func text(_ mark: String) -> String {
            "["
                + (0..<500).map { "{\"id\":\($0),\"name\":\"p\($0)\($0 % 100 == 0 ? mark : "")\"}" }.joined(
                    separator: ",") + "]"
        }
        try store.write { (tx) throws in
            #expect(try tx.createAll(JSONPerson.self, json: text("")) == 500)
            #expect(failure { try tx.createAll(JSONPerson.self, json: text("")) }?.code == .duplicateKey)
        }
        try store.write { (tx) throws in
            #expect(try tx.createAll(JSONPerson.self, json: text("!"), update: .modified) == 500)
        }
        #expect(
            store.objects(JSONPerson.self).count == 500
                && store.objects(JSONPerson.self).filter { $0.name.hasSuffix("!") }.count == 5)
    }
}

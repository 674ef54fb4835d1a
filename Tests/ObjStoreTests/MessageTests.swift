import ObjStore
import Testing

/// Errors say what is so, and where.
@Suite struct MessageTests {
    final class Item: Object {
        @Persisted(primaryKey: true) var id = 0
        @Persisted var name = ""
        @Persisted var small: Int8 = 100
        @Persisted var numbers: List<Int>
        @Persisted var seen: MutableSet<Int>
        @Persisted var notes: Map<String, Int>
        @Persisted var extra: AnyValue
        @Persisted var part: Part?
    }
    /// Without links.
    final class Plain: Object {
        @Persisted(primaryKey: true) var id = 0
        @Persisted var numbers: List<Int>
        @Persisted var notes: Map<String, Int>
    }
    final class Part: EmbeddedObject {
        @Persisted var numbers: List<Int>
    }
    private let store: Store

    init() throws { store = try memoryStore([Item.self, Plain.self, Part.self]) }

    private func message(_ body: () throws -> Void) -> String {
        do { try Store.checked { try body() } } catch { return (error as? ObjStoreError)?.message ?? "\(error)" }
        return "no error"
    }

    @Test func positions() throws {
        try store.write { tx in for id in 0..<3 { try tx.create(Item.self, value: ["id": id]) } }
        let items = store.objects(Item.self), none = items.where { $0.id == 9 }
        #expect(
            message { _ = none[none.count - 1] } == "index -1 of 0 results"
                && message { _ = items[3] } == "index 3 of 3 results")
        let numbers = try store.write { _ in
            items[0].numbers.append(1)
            return items[0].numbers
        }
        #expect(
            message { _ = numbers[1] } == "Item.numbers: index 1, where there is 1 element"
                && message { _ = numbers[2..<3] } == "2..<3 of 1 element")
        #expect(message { _ = store.dynamicObjects("Item")[-1] } == "index -1 of 3 results")
        let received = Received<ChangeSet<Item>>(), token = try items.observe { received.append($0) }
        try store.deliver()
        #expect(
            try #require(received.take().first).code { try $0.changedProperties(at: -1) }
                == "index -1 of 0 modifications")
        token.invalidate()
    }

    @Test func elements() throws {
        let wrong = [1, "x", 3] as [Any]
        func all(_ expected: String, _ value: [String: Any], sourceLocation: SourceLocation = #_sourceLocation) throws {
            try store.write { tx in
                for told in [
                    message { _ = try Item(value: value) }, message { _ = try Plain(value: value) },
                    message { try tx.create(Item.self, value: value) },
                    message { try tx.create(Plain.self, value: value) },
                ] { #expect(told.hasPrefix(expected), "\(told)", sourceLocation: sourceLocation) }
            }
        }
        try all("$.numbers[1]: ", ["id": 1, "numbers": wrong])
        try all("$.notes.k: ", ["id": 1, "notes": ["k": "x"]])
        #expect(
            message { _ = try Item(value: ["numbers": wrong]) }.hasSuffix(
                "Item.numbers is of type List<Int>, which has no String (x)"))
        #expect(
            message { _ = try Item(value: ["part": ["numbers": wrong]]) }.hasPrefix(
                "$.part.numbers[1]: Part.numbers is of type"))
        #expect(message { _ = try Item(value: ["seen": wrong]) }.hasPrefix("$.seen[1]: "))
        #expect(message { _ = try Item(value: ["numbers": 5]) }.contains("not Int (5)"))
        #expect(message { _ = try Item(value: ["numbers": ["a": 1]]) }.hasSuffix("(1 entry)"))
        let item = Item()
        #expect(message { try item.setValue(wrong, forKey: "numbers") }.hasPrefix("$.numbers[1]: "))
    }

    @Test func words() throws {
        #expect(
            message { _ = try Item(value: 5) }.hasPrefix("an Item is made from ")
                && message { _ = try Part(value: 5) }.hasPrefix("a Part is made from "))
        let item = try store.write { tx in
            for id in 0..<3 { try tx.create(Item.self, value: ["id": id]) }
            let item = try tx.create(Item.self, value: ["id": 7, "extra": ["k": [1]]] as [String: Any])
            #expect(
                message { try item.observe { (_: ObjectChange<Item>) in }.invalidate() }.hasSuffix(
                    "is not committed yet: it can be observed after the write"))
            return item
        }
        #expect(
            message { _ = try store.objects(Item.self).sum(of: \.small) }
                == "the sum of Item.small is 400, which is no Int8")
        try store.write { tx in
            let list = try #require(item.extra["k"]?.list)
            item.extra["k"] = "text"
            for change in [
                { list.append(2) }, { list.insert(2, at: 0) }, { list.remove(at: 0) }, { list[0] = 2 },
                { list.swapAt(0, 0) }, { _ = list.count },
            ] as [() -> Void] {
                let told = message { change() }
                #expect(told.contains("Item.extra[\"k\"] is a string now, not a list"), "\(told)")
            }
            try tx.cancel()
        }
        try store.write { tx in try tx.delete(item) }
        #expect(
            message { try item.observe { (_: ObjectChange<Item>) in }.invalidate() }.hasSuffix(
                "was deleted or never existed"))
    }

    /// To the system a path ends where a NUL is.
    @Test func paths() throws {
        let folder = Folder(), path = folder.file("a") + "\0b"
        #expect(code { try Store.open(path: path, models: [Item.self]) } == .invalidArgument)
        #expect(try !Store.exists(atPath: path) && !Store.exists(atPath: folder.file("a")))
        #expect(code { try Store.delete(atPath: path) } == .invalidArgument)
    }

    /// What reads as nil where it fails, and what as the first case.
    @Test func unknownCases() throws {
        let name = "unknown cases",
            store = try Store(Store.Configuration(.memory(name: name), models: [Everything.self]))
        try store.write { tx in try tx.add(Everything(value: ["key": "k", "color": Color.white])) }
        // A program that opens it without models has no cases.
        let other = try Store(Store.Configuration(.memory(name: name)))
        try other.write { _ in
            let object = try #require(try other.dynamicObject(ofType: "Everything", forPrimaryKey: "k"))
            try object.set("color", to: "purple")
            try object.set("colorOrNot", to: "purple")
        }
        try store.refresh()
        let object = try #require(store.objects(Everything.self).first)
        var optional: Color? = .white, color = Color.white
        #expect(code { try Store.checked { optional = object.colorOrNot } } == .outOfRange && optional == nil)
        #expect(code { try Store.checked { color = object.color } } == .outOfRange && color == .brown)
    }
}

extension ChangeSet {
    fileprivate func code(_ body: (ChangeSet) throws -> [String]) -> String {
        do { return try body(self).joined() } catch { return (error as? ObjStoreError)?.message ?? "\(error)" }
    }
}

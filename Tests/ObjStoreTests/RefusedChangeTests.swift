import ObjStore
import Testing

/// What is refused changes nothing, and what comes from a collection itself is what was there before it changed.
@Suite struct RefusedChangeTests {
    final class Shelf: Object {
        @Persisted(primaryKey: true) var id = 0
        @Persisted var numbers: List<Int>
        @Persisted var things: List<AnyValue>
        @Persisted var extra: AnyValue
        @Persisted var shelves: List<Shelf>
        @Persisted var boxes: List<Box>
        @Persisted var links: Map<String, Shelf?>
        @Persisted var named: Map<String, Box?>
        @Persisted var notes: Map<String, AnyValue>
    }
    final class Box: EmbeddedObject {
        @Persisted var n = 0
    }
    private let store: Store
    private let shelf = Shelf()
    /// Of another store.
    private let foreign: Shelf

    init() throws {
        store = try memoryStore([Shelf.self, Box.self])
        let other = try memoryStore([Shelf.self, Box.self])
        foreign = try other.write { tx in try tx.create(Shelf.self, value: ["id": 7]) }
        let shelf = shelf
        try store.write { tx in
            try tx.add(shelf)
            shelf.numbers = [1, 2, 3, 4, 5]
            shelf.things = [[1], [2], [3]]
            shelf.extra = [[1], [2], [3]]
            shelf.shelves.append(shelf)
            shelf.boxes.append(objectsIn: boxes(0..<4))
            shelf.named.merge([("a", box(1)), ("b", box(2))])
            shelf.notes = ["a": [1], "b": [2]]
        }
    }

    private func box(_ n: Int) -> Box {
        let box = Box()
        box.n = n
        return box
    }
    private func boxes(_ numbers: Range<Int>) -> [Box] { numbers.map { box($0) } }
    private var list: AnyList { shelf.extra.list! }

    private func isUnchanged() -> Bool {
        Array(shelf.numbers) == [1, 2, 3, 4, 5] && Array(shelf.things) == [[1], [2], [3]]
            && shelf.extra == [[1], [2], [3]] && shelf.shelves.count == 1
            && shelf.boxes.map(\.n) == [0, 1, 2, 3] && shelf.links.count == 0
            && shelf.named.map { $0.value?.n } == [1, 2] && shelf.notes["a"] == [1]
            && store.objects(Shelf.self).count == 1
    }

    /// The write continues, as if nothing had been requested.
    private func refuses(_ expected: ObjStoreError.Code, _ what: String, _ body: (Shelf) throws -> Void) throws {
        try store.write { _ in
            let code = code { try Store.checked { try body(shelf) } }
            #expect(code == expected, "\(what): \(String(describing: code))")
            #expect(isUnchanged(), "\(what)")
        }
        #expect(isUnchanged(), "\(what)")
    }

    @Test func positionsThatAreNotThere() throws {
        for index in [-1, 5, 99, Int.max, Int.min] {
            try refuses(.outOfRange, "numbers.swapAt \(index)") { $0.numbers.swapAt(2, index) }
            try refuses(.outOfRange, "numbers.swapAt of one") { $0.numbers.swapAt(index, index) }
            try refuses(.outOfRange, "things.swapAt \(index)") { $0.things.swapAt(index, 0) }
            try refuses(.outOfRange, "boxes.swapAt \(index)") { $0.boxes.swapAt(0, index) }
            try refuses(.outOfRange, "boxes.swapAt \(index)") { $0.boxes.swapAt(-2, index) }
            try refuses(.outOfRange, "move \(index)") { $0.numbers.move(from: 1, to: index) }
            try refuses(.outOfRange, "remove \(index)") { $0.numbers.remove(at: index) }
            try refuses(.outOfRange, "set \(index)") { $0.numbers[index] = 7 }
            try refuses(.outOfRange, "boxes set \(index)") { [new = box(7)] in $0.boxes[index] = new }
            if index != 5 {
                try refuses(.outOfRange, "insert \(index)") { $0.numbers.insert(7, at: index) }
                try refuses(.outOfRange, "boxes.insert \(index)") { [new = boxes(7..<9)] in
                    $0.boxes.insert(contentsOf: new, at: index)
                }
            }
        }
        for range in [3..<9, -1..<2, 7..<8, Int.min..<Int.max, 0..<Int.max, Int.max..<Int.max, Int.min..<0] {
            try refuses(.outOfRange, "replaceSubrange \(range)") { $0.numbers.replaceSubrange(range, with: [77, 78]) }
            try refuses(.outOfRange, "boxes.replaceSubrange \(range)") { [new = boxes(7..<9)] in
                $0.boxes.replaceSubrange(range, with: new)
            }
            try refuses(.outOfRange, "removeSubrange \(range)") { $0.numbers.removeSubrange(range) }
            try refuses(.outOfRange, "slice \(range)") { $0.numbers[range] = $0.numbers[0..<2] }
            try refuses(.outOfRange, "slice of any values \(range)") { _ in list[range] = list[0..<2] }
        }
        try refuses(.outOfRange, "removeLast") { $0.numbers.removeLast(6) }
        try refuses(.outOfRange, "removeLast") { $0.numbers.removeLast(.max) }
        try refuses(.outOfRange, "removeFirst") { $0.numbers.removeFirst(.max) }
        try refuses(.outOfRange, "a slice of another length") { $0.numbers[0..<2] = $0.numbers[0..<3] }
        try refuses(.outOfRange, "a slice of another length") { _ in list[0..<2] = list[0..<3] }
    }

    /// In a list inside of a value -1 is not the last element.
    @Test func positionsInAnyValues() throws {
        for index in [-1, 3, 99, Int.max, Int.min] {
            try refuses(.outOfRange, "read \(index)") { _ in #expect(list[index] == AnyValue.none) }
            try refuses(.outOfRange, "set \(index)") { _ in list[index] = 7 }
            try refuses(.outOfRange, "remove \(index)") { _ in list.remove(at: index) }
            if index != 3 { try refuses(.outOfRange, "insert \(index)") { _ in list.insert(7, at: index) } }
            try refuses(.outOfRange, "swapAt \(index)") { _ in list.swapAt(0, index) }
            try refuses(.outOfRange, "inside of an element \(index)") { $0.things[0].list![index] = 7 }
        }
        #expect(shelf.extra[-1] == nil && shelf.extra[3] == nil)
        try store.write { _ in
            list.append(4)
            list.insert(5, at: 4)
            list.insert(0, at: 0)
        }
        #expect(shelf.extra == [0, [1], [2], [3], 4, 5])
    }

    @Test func elementsThatAreRefused() throws {
        try refuses(.wrongStore, "replaceSubrange") { $0.shelves.replaceSubrange(0..<1, with: [foreign]) }
        try refuses(.wrongStore, "a new one before a foreign one") {
            $0.shelves.replaceSubrange(0..<1, with: [Shelf(), foreign])
        }
        try refuses(.wrongStore, "merge") { $0.links.merge([(key: "a", value: shelf), (key: "b", value: foreign)]) }
        try refuses(.wrongStore, "merge") { $0.links.merge(["a": Shelf(), "b": foreign] as [String: Shelf?]) { $1 } }
        try refuses(.embedded, "boxes.replaceSubrange") {
            $0.boxes.replaceSubrange(0..<1, with: [box(9), $0.boxes[2]])
        }
        try refuses(.embedded, "named.merge") { $0.named.merge([("c", box(9)), ("d", $0.boxes[0])]) }
        struct Refused: Error {}
        try refuses(.internalError, "a condition") {
            try $0.numbers.removeAll { if $0 > 3 { throw Refused() } else { true } }
        }
        try refuses(.internalError, "a function of merge") {
            try $0.notes.merge(["a": 1, "c": 2] as [String: AnyValue]) { _, _ in throw Refused() }
        }
    }

    @Test func changesOfSeveralSteps() throws {
        try store.write { _ in
            shelf.numbers.swapAt(0, 4)
            shelf.numbers.replaceSubrange(1..<3, with: [7, 8, 9])
            shelf.boxes.swapAt(3, 1)
            shelf.boxes.replaceSubrange(0..<1, with: boxes(20..<22))
            shelf.shelves.replaceSubrange(0..<1, with: [try Shelf(value: ["id": 1]), shelf])
            shelf.links.merge(["x": shelf, "y": nil])
            shelf.notes.merge([("a", 5), ("c", 1), ("c", 2)]) { .list(AnyList([$0, $1])) }
            shelf.named.merge([(key: "b", value: box(8)), (key: "c", value: nil)])
        }
        #expect(
            Array(shelf.numbers) == [5, 7, 8, 9, 4, 1] && shelf.boxes.map(\.n) == [20, 21, 3, 2, 1]
                && shelf.shelves.map(\.id) == [1, 0])
        #expect(
            shelf.links.keys == ["x", "y"] && shelf.notes["a"] == [[1], 5] && shelf.notes["b"] == [2]
                && shelf.notes["c"] == [1, 2])
        #expect(shelf.named.map { $0.value?.n } == [1, 8, nil] && store.objects(Shelf.self).count == 2)
        #expect(try store.verify() == [])
    }

    /// As of arrays, with ends that are open or belong to the range.
    @Test func rangesOfAnyKind() throws {
        let unmanaged = List([1, 2, 3, 4, 5])
        try store.write { _ in
            for numbers in [shelf.numbers, unmanaged] {
                numbers.removeSubrange(1...2)
                #expect(Array(numbers) == [1, 4, 5])
                numbers.replaceSubrange(...0, with: [7, 8])
                numbers.replaceSubrange(4..., with: [9])
                #expect(Array(numbers) == [7, 8, 4, 5, 9])
                numbers.removeSubrange(3...)
                numbers.removeSubrange(..<1)
                #expect(Array(numbers) == [8, 4])
            }
            for range in [0...2, 0...Int.max, -1...0] {
                #expect(code { try Store.checked { shelf.numbers.removeSubrange(range) } } == .outOfRange)
                #expect(code { try Store.checked { shelf.numbers.replaceSubrange(range, with: [1]) } } == .outOfRange)
            }
            #expect(Array(shelf.numbers) == [8, 4])
        }
    }

    /// Elements that come from the list itself, where they are lists that show what is at their place.
    @Test func ownElements() throws {
        func changing(_ expected: [AnyValue], _ body: (List<AnyValue>) -> Void) throws {
            try store.write { _ in
                shelf.things = [[1], [2], [3]]
                body(shelf.things)
            }
            #expect(Array(shelf.things) == expected)
        }
        try changing([[1], [2], [3]]) { $0.replaceSubrange(0..<1, with: $0[0..<1]) }
        try changing([[2], [1], [3]]) { $0.replaceSubrange(0..<2, with: $0[0..<2].reversed()) }
        try changing([[3], [2], [1]]) { $0.replaceSubrange(0..<3, with: $0.lazy.reversed()) }
        try changing([[1], [2], [3], [1], [2], [3]]) { $0.append(objectsIn: $0) }
        try changing([[3], [1], [2], [3]]) { $0.insert(contentsOf: $0[2...], at: 0) }
        try changing([[2], [3], [3]]) { $0[0..<2] = $0[1..<3] }
        try changing([[1], [1], [2]]) { $0[1..<3] = $0[0..<2] }
        try changing([[3], [2], [1]]) { $0.swapAt(0, 2) }
        try changing([[3], [2], [1]]) { list in
            var list = list
            list.reverse()
        }
        try changing([[1], [3]]) { list in list.removeAll { $0 == [2] } }

        func changingList(_ expected: AnyValue, _ body: (AnyList) -> Void) throws {
            try store.write { _ in
                shelf.extra = [[1], [2], [3]]
                body(list)
            }
            #expect(shelf.extra == expected)
        }
        try changingList([[2], [3], [3]]) { $0[0..<2] = $0[1..<3] }
        try changingList([[1], [1], [2]]) { $0[1..<3] = $0[0..<2] }
        try changingList([[3], [2], [1]]) { $0.swapAt(0, 2) }
        try changingList([[3], [2], [1]]) { list in
            var list = list
            list.reverse()
        }
        try changingList([[3], [1], [2], [3]]) { $0.insert($0[2], at: 0) }
        try changingList([[2], [2], [3]]) { $0[0] = $0[1] }

        // Embedded objects have one place each, and may change it with others of their list.
        try store.write { _ in
            shelf.boxes.replaceSubrange(1..<3, with: shelf.boxes[1..<3].reversed())
            shelf.boxes[0..<2] = shelf.boxes[0..<2]
            shelf.notes.merge([("b", shelf.notes["a"]!), ("a", shelf.notes["b"]!)])
        }
        #expect(shelf.boxes.map(\.n) == [0, 2, 1, 3] && shelf.notes["a"] == [2] && shelf.notes["b"] == [1])
        #expect(try store.verify() == [])
    }

    /// The condition is called once for each element, in their order, and what it changes itself shifts nothing.
    @Test func removeAllWhere() throws {
        var left = 3, asked: [Int] = []
        try store.write { _ in
            shelf.numbers.removeAll { number in
                asked.append(number)
                left -= 1
                return left >= 0
            }
        }
        #expect(asked == [1, 2, 3, 4, 5] && Array(shelf.numbers) == [4, 5])
        let unmanaged = List([1, 2, 3, 4, 5, 6])
        asked = []
        unmanaged.removeAll { number in
            asked.append(number)
            return asked.count % 2 == 0
        }
        #expect(asked == [1, 2, 3, 4, 5, 6] && Array(unmanaged) == [1, 3, 5])
        asked = []
        #expect(
            unmanaged.indices {
                asked.append($0); return $0 < 4
            } == RangeSet([0..<2]) && asked == [1, 3, 5])
        try store.write { tx in
            shelf.shelves.removeAll()
            for id in 1..<7 { shelf.shelves.append(try tx.create(Shelf.self, value: ["id": id])) }
            try shelf.shelves.removeAll { other in
                let id = other.id
                if id == 2 { try tx.delete(other) } else if id == 3 { shelf.shelves.insert(shelf, at: 0) }
                return id == 4
            }
            #expect(shelf.shelves.map(\.id) == [0, 1, 3, 5, 6])
            try shelf.shelves.removeAll { other in
                let id = other.id
                if id % 2 == 1 { try tx.delete(other) }
                return id == 6
            }
            #expect(shelf.shelves.map(\.id) == [0])
        }
        // Any change in the condition: what is there afterwards are the others, in their order, and what was inserted.
        for number in 0..<20 {
            let list = List(0..<20)
            list.removeAll { element in
                if element == number { list.remove(at: list.index(of: (number + 7) % 20)!) }
                if element == number / 2 { list.insert(100 + element, at: number) }
                return element % 3 == 0
            }
            let kept = (0..<20).filter { $0 % 3 != 0 && $0 != (number + 7) % 20 }
            #expect(
                list.filter { $0 < 100 } == kept && list.filter { $0 >= 100 } == [100 + number / 2],
                "\(number): \(list)")
        }
    }
}

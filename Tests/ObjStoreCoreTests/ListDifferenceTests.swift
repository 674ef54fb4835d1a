import ObjStoreCore
import Testing

/// What leads from one list to another, of all short lists.
@Suite struct ListDifferenceTests {
    private typealias Pair = (before: Int, after: Int)

    private static func buffer(_ keys: [Int64]) throws -> KeyBuffer {
        let buffer = KeyBuffer()
        for key in keys { try buffer.append(key) }
        return buffer
    }

    /// All lists of so many keys at most, each of which is one of some.
    private static func lists(of keys: [Int64], most: Int) -> [[Int64]] {
        var all: [[Int64]] = [[]], longest = all
        for _ in 0..<most {
            longest = longest.flatMap { list in keys.map { list + [$0] } }
            all += longest
        }
        return all
    }

    /// All lists of some of these keys, each at most once.
    private static func orders(of keys: [Int64]) -> [[Int64]] {
        var all: [[Int64]] = [[]], longest = all
        for _ in keys {
            longest = longest.flatMap { list in keys.filter { !list.contains($0) }.map { list + [$0] } }
            all += longest
        }
        return all
    }

    /// Does what is told: from the back, then from the front.
    private static func apply(
        _ deleted: [Int], _ inserted: [Int], _ moved: [Pair], to before: [Int64], _ after: [Int64]
    ) -> [Int64] {
        var list = before
        for place in (deleted + moved.map(\.before)).sorted(by: >) { list.remove(at: place) }
        for place in (inserted + moved.map(\.after)).sorted() { list.insert(after[place], at: min(place, list.count)) }
        return list
    }

    /// How many have to move: all that stay but those of a longest part that has the same order.
    private static func leastMoves(_ before: [Int64], _ after: [Int64]) -> Int {
        let order = after.compactMap { before.firstIndex(of: $0) }
        var longest = [Int](repeating: 1, count: order.count)
        for place in order.indices {
            for other in 0..<place where order[other] < order[place] {
                longest[place] = max(longest[place], longest[other] + 1)
            }
        }
        return order.count - (longest.max() ?? 0)
    }

    @Test func severalTimes() throws {
        let lists = Self.lists(of: [1, 2, 3], most: 4), buffers = try lists.map(Self.buffer)
        var wrong = 0
        for (before, old) in zip(lists, buffers) {
            for (after, new) in zip(lists, buffers) {
                for changed in [[], [2]] as [Set<Int64>] {
                    let found = try ListDifference(old, new, changed: changed)
                    if Self.apply(found.deleted, found.inserted, found.moved, to: before, after) != after { wrong += 1 }
                    // No key both goes and comes.
                    let gone = Set(found.deleted.map { before[$0] })
                    if found.inserted.contains(where: { gone.contains(after[$0]) }) { wrong += 1 }
                    if found.modified.contains(where: { !changed.contains(after[$0.after]) }) { wrong += 1 }
                }
            }
        }
        #expect(wrong == 0)
    }

    @Test func once() throws {
        let lists = Self.orders(of: [1, 2, 3, 4, 5]).filter { $0.count != 4 }, buffers = try lists.map(Self.buffer)
        var wrong = 0
        for (before, old) in zip(lists, buffers) {
            for (after, new) in zip(lists, buffers) {
                let found = try ListDifference(old, new, changed: [])
                if Self.apply(found.deleted, found.inserted, found.moved, to: before, after) != after { wrong += 1 }
                if !found.moved.isEmpty, found.moved.count != Self.leastMoves(before, after) { wrong += 1 }
                if found.moved.isEmpty, Self.leastMoves(before, after) != 0 { wrong += 1 }
            }
        }
        #expect(wrong == 0)
    }

    /// Whatever is said to leave and to come, if the others stay in their order: what is told is as if the whole lists
    /// were compared.
    @Test func sparse() throws {
        let lists = Self.orders(of: [1, 2, 3, 4]).map { (list) -> [Int64] in
            // Around them, and between, stay some.
            let between = list.flatMap { (key) -> [Int64] in key == 2 ? [key, 13] : [key] }
            return [10, 11, 12] + between + [14]
        }
        var wrong = 0, asked = 0
        for before in lists {
            for after in lists {
                let kept = before.filter(after.contains)
                let whole = try ListDifference(try Self.buffer(before), try Self.buffer(after), changed: [])
                for travels in 0..<UInt(1) << 6 {
                    let keys: [Int64] = [1, 2, 3, 4, 13, 10]
                    let travellers = Set(keys.indices.filter { travels >> UInt($0) & 1 != 0 }.map { keys[$0] })
                    let staying = kept.filter { !travellers.contains($0) }
                    if staying != after.filter({ staying.contains($0) }) { continue }
                    func places(_ list: [Int64]) -> [SparseDifference.Occurrence] {
                        list.indices.filter { !staying.contains(list[$0]) }.map { ($0, list[$0]) }
                    }
                    asked += 1
                    let found = try #require(
                        try SparseDifference(places(before), places(after), countBefore: before.count, changed: []))
                    let list = Self.apply(
                        found.deleted.map(\.position), found.inserted.map(\.position), found.moved, to: before, after)
                    if list != after || found.moved.count != whole.moved.count { wrong += 1 }
                    if found.deleted.map(\.position) != whole.deleted { wrong += 1 }
                    if found.inserted.map(\.position) != whole.inserted { wrong += 1 }
                }
            }
        }
        #expect(wrong == 0 && asked > 10_000)
    }
}

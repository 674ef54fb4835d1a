import Testing

import ObjStoreCore

/// The keys of a sorted answer, against an array: here the order is that of the numbers.
@Suite struct OrderedKeysTests {
    private static func values(_ key: Int64) -> SortValues {
        SortValues([OwnedValue(.int(key))], by: [SortKeyOrder(isDescending: false, kind: .int, isFolded: false)])
    }

    /// What is known of a key is its own value.
    private static func place(_ keys: inout OrderedKeys, _ key: Int64) throws -> OrderedKeys.Place {
        try keys.place(
            before: values(key), levels: 1, values: { (one) throws(StoreError) in values(one) },
            isBefore: { (one, known) throws(StoreError) in
                if let known { #expect(known.values[0].value.low == one) }
                return one < key
            })
    }

    private static func all(_ keys: OrderedKeys) throws -> [Int64] {
        let list = try keys.list()
        return (0..<list.count).map { list.keys[$0] }
    }

    /// How many are less, of ascending numbers.
    private static func rank(_ key: Int64, _ numbers: [Int64]) -> Int {
        var low = 0, high = numbers.count
        while low < high {
            let middle = (low + high) / 2
            if numbers[middle] < key { low = middle + 1 } else { high = middle }
        }
        return low
    }

    @Test(arguments: [0, 1, 600, 5000, 80000]) func changes(count: Int) throws {
        var random = IndexRandom(UInt64(count) + 1)
        let start = KeyBuffer()
        for key in 0..<Int64(count) { try start.append(key * 1000) }
        var keys = try OrderedKeys(start), model = try Self.all(keys)
        #expect(model == (0..<Int64(count)).map { $0 * 1000 })
        for round in 0..<60 {
            // Some go, from one corner or from everywhere; more come, also many to one place.
            let going = Set(
                (0..<Int(random.next() % 40)).compactMap { _ in
                    model.isEmpty
                        ? nil : model[Int(random.next() % UInt64(round % 3 == 0 ? min(30, model.count) : model.count))]
                })
            var places: [OrderedKeys.Place] = []
            for key in going {
                let place = try Self.place(&keys, key)
                #expect(keys.position(of: place) == Self.rank(key, model) && keys.key(at: place) == key)
                places.append(place)
            }
            keys.remove(places.sorted())
            model.removeAll(where: going.contains)
            let base = round % 2 == 0 ? 1_000_000 : Int64(random.next() % 5_000_000)
            let coming = Set(
                (0..<Int(random.next() % 400)).map { _ in
                    base + Int64(random.next() % (round % 4 == 1 ? 4_000_000 : 900))
                }
            ).subtracting(model).sorted()
            var arrivals: [(key: Int64, place: OrderedKeys.Place)] = []
            for key in coming {
                let place = try Self.place(&keys, key)
                #expect(keys.position(of: place) == Self.rank(key, model))
                arrivals.append((key, place))
            }
            keys.insert(arrivals)
            model = (model + coming).sorted()
            #expect(try Self.all(keys) == model && keys.count == model.count)
            let start = Int(random.next() % UInt64(model.count + 1)), end = start + Int(random.next() % 3000)
            let part = try keys.list(start..<end), expected = model[start..<min(end, model.count)]
            #expect((0..<part.count).map { part.keys[$0] } == Array(expected))
        }
    }
}

import ObjStoreCore
import Testing

/// Aggregates that follow what happens to the objects of a group are what asking finds, bit by bit.
@Suite struct FollowedGroupTests {
    // MARK: Sums

    /// Halves and the like, and what sums must round, or cannot hold.
    private static func double(_ random: inout IndexRandom, isNasty: Bool) -> Double {
        guard isNasty else { return Double(random.below(2001) - 1000) / [1, 2, 4, 1024][random.below(4)] }
        switch random.below(12) {
        case 0: return [.infinity, -.infinity, 0x1p1023, -0x1p950, 0x1p899][random.below(5)]
        case 1: return [.leastNonzeroMagnitude, -.leastNormalMagnitude, 0x1.8p-1060][random.below(3)]
        case 2: return Double(random.below(100)) / 3
        case 3: return Double(random.below(5)) * 0x1p52
        case 4: return -0.0
        default: return Double(random.below(64)) * [0x1p-30, 0x1p20, 1][random.below(3)]
        }
    }

    private static func decimal(_ random: inout IndexRandom, isNasty: Bool) -> Decimal128 {
        let places = isNasty ? [0, 1, 2, -3, 20, 33, 40, 6000, -6000][random.below(9)] : random.below(4)
        let most = isNasty && random.below(4) == 0 ? UInt128(10).power(34) : 10_000
        if isNasty, random.below(20) == 0 { return Decimal128.infinity }
        if !isNasty, random.below(2) == 0 {
            // 3, 3.0, 3.00: equal, and not the same.
            return Decimal128(
                isNegative: false, exponent: Decimal128.bias - places,
                coefficient: UInt128(random.below(5)) * UInt128(10).power(places))
        }
        return Decimal128(
            isNegative: random.below(3) == 0, exponent: Decimal128.bias - places,
            coefficient: random.below(6) == 0 ? 0 : UInt128(random.next()) * UInt128(random.next()) % most)
    }

    /// Values come and go; as long as the sum is said to be exact, it is that of all values in whatever order, and is
    /// so mostly where nothing is nasty.
    @Test(arguments: [false, true]) func sumsAreThoseOfAnyOrder(isNasty: Bool) {
        var exact = (doubles: 0, decimals: 0), random = IndexRandom(9)
        for history in 0..<600 {
            var doubles: [Double] = [], sum = ExactSum.doubles
            for _ in 0..<30 {
                if let last = doubles.last, random.below(3) == 0 {
                    guard sum.remove(last) else { break }
                    doubles.removeLast()
                } else {
                    let value = Self.double(&random, isNasty: isNasty)
                    guard sum.add(value) else { break }
                    doubles.append(value)
                }
                doubles.shuffle(using: &random)
                let wanted = doubles.reduce(0.0, +)
                #expect(sum.double.bitPattern == wanted.bitPattern, "history \(history): \(doubles)")
                exact.doubles += 1
            }
            var decimals: [Decimal128] = []
            sum = .decimals
            for _ in 0..<30 {
                if let last = decimals.last, random.below(3) == 0 {
                    guard sum.remove(last) else { break }
                    decimals.removeLast()
                } else {
                    let value = Self.decimal(&random, isNasty: isNasty)
                    guard sum.add(value) else { break }
                    decimals.append(value)
                }
                decimals.shuffle(using: &random)
                let wanted = decimals.reduce(Decimal128.zero, +), found = sum.decimal
                #expect(
                    found.low == wanted.low && found.high == wanted.high,
                    "history \(history): \(found.text), not \(wanted.text), of \(decimals.map(\.text))")
                exact.decimals += 1
            }
        }
        #expect(exact.doubles > (isNasty ? 1000 : 17_999) && exact.decimals > (isNasty ? 500 : 7000), "\(exact)")
    }

    /// Of doubles that are rounded the sum is that of one after the other, whichever come, go or are written, in one
    /// chunk or many.
    @Test(arguments: [5, 3000]) func keptSumsAreAddedUpInOrder(count: Int) {
        var random = IndexRandom(UInt64(count)), kept = KeptNumbers(), numbers: [(key: Int64, number: Double)] = []
        func number() -> Double { Double(random.below(100_000)) / 3 }
        for key in 0..<count {
            numbers.append((Int64(key * 10), number()))
            kept.append(numbers[key].number, of: Int64(key * 10))
        }
        for step in 0..<1500 {
            for _ in 0...random.below(3) {
                let place = random.below(numbers.count + 1)
                switch random.below(4) {
                case 0 where place < numbers.count:
                    kept.replace(numbers[place].number, nil, of: numbers.remove(at: place).key)
                case 1 where place < numbers.count:
                    let new = number()
                    kept.replace(numbers[place].number, new, of: numbers[place].key)
                    numbers[place].number = new
                case 2:
                    let key = (numbers.last?.key ?? 0) + 1
                    numbers.append((key, number()))
                    kept.replace(nil, numbers[numbers.count - 1].number, of: key)
                default:
                    let key = (place < numbers.count ? numbers[place].key : (numbers.last?.key ?? 0) + 2) - 1
                    if numbers.contains(where: { $0.key == key }) { continue }
                    numbers.insert((key, number()), at: place)
                    kept.replace(nil, numbers[place].number, of: key)
                }
            }
            kept.settle()
            let wanted = numbers.reduce(0.0) { $0 + $1.number }
            #expect(kept.sum.bitPattern == wanted.bitPattern, "step \(step): \(kept.sum), not \(wanted)")
        }
    }

    // MARK: The best values

    /// Values of a group come and go; the best one is that of all of them, or it is said that nobody knows it.
    @Test(arguments: [false, true]) func bestValuesAreThoseOfAll(isLeast: Bool) throws {
        var random = IndexRandom(isLeast ? 21 : 22), lost = 0, known = 0
        for history in 0..<400 {
            let room = 1 + random.below(5)
            var all: [(key: Int64, value: Decimal128)] = [], next: Int64 = 0
            func find() throws -> BestValues {
                var best = BestValues(isLeast: isLeast)
                for (key, value) in all { try best.offer(.decimal128(value), of: key, room: room) }
                try best.finish(room: room)
                return best
            }
            for _ in 0..<random.below(20) {
                all.append((next, Self.decimal(&random, isNasty: false)))
                next += 1
            }
            var best = try find()
            for _ in 0..<40 {
                if random.below(2) == 0, !all.isEmpty {
                    let gone = all.remove(at: random.below(all.count))
                    try best.remove(.decimal128(gone.value), of: gone.key)
                } else {
                    // Some come between others.
                    let place = random.below(all.count + 1), value = Self.decimal(&random, isNasty: false)
                    next += 1
                    let key = place == all.count ? next * 1_000_000 : all[place].key - 1
                    if all.contains(where: { $0.key == key }) { continue }
                    all.insert((key, value), at: place)
                    try best.insert(.decimal128(value), of: key, room: room)
                }
                let wanted = all.reduce(nil as Decimal128?) { best, one in
                    guard let best else { return one.value }
                    let isBetter = isLeast ? one.value.orderKey < best.orderKey : best.orderKey < one.value.orderKey
                    return isBetter ? one.value : best
                }
                if all.isEmpty { best.clear() }
                if best.isLost {
                    #expect(wanted != nil, "history \(history)")
                    lost += 1
                    best = try find()
                }
                let found = best.best
                if let wanted {
                    #expect(
                        found.isSame(as: .decimal128(wanted)),
                        "history \(history): \(found.text), not \(wanted.text), of \(all)")
                } else {
                    #expect(found.isNull, "history \(history)")
                }
                known += 1
            }
        }
        #expect(lost > 100 && known > 12_000, "\(lost) \(known)")
    }

    // MARK: Tables

    private struct Shop {
        let store: Store
        let cls: UInt32
        let properties: [UInt32]
        /// To which mixed values may link: their keys are those of some items.
        let tags: [ObjectID]
        static let names = ["city", "weight", "part", "price", "born", "name", "thing"]

        init() throws {
            var configuration = StoreConfiguration(), draft = SchemaDraft()
            configuration.place = .memory("")
            configuration.durability = .relaxed(milliseconds: 1000)
            try draft.addClass("Item")
            try draft.addClass("Tag")
            let kinds: [ValueKind] = [.int, .double, .float, .decimal128, .timestamp, .string, .mixed]
            for (name, kind) in zip(Self.names, kinds) { try draft.addProperty("Item", name, kind, .nullable) }
            configuration.schema = draft
            store = try Store.open(configuration)
            let view = try store.openView()
            defer { view.close() }
            cls = try view.findClass("Item")
            properties = try Self.names.map { [cls] name throws in try view.findProperty(cls, name) }
            let transaction = try store.begin(.atMost(5000)), tag = try view.findClass("Tag")
            var none: UInt32 = 0, nothing = Value.null
            tags = try (0..<3).map { _ in
                try transaction.create(tag, UnsafeBufferPointer(start: &none, count: 0), &nothing)
            }
            _ = try transaction.commit()
        }
    }

    private static func value(
        _ property: Int, _ random: inout IndexRandom, isNasty: Bool, links: [ObjectID] = []
    ) throws -> OwnedValue {
        if random.below(12) == 0 { return OwnedValue(.null) }
        switch property {
        case 0: return OwnedValue(.int(Int64(random.below(isNasty ? 7 : 4))))
        case 1:
            if isNasty, random.below(9) == 0 { return OwnedValue(.double(.nan)) }
            return OwnedValue(.double(double(&random, isNasty: isNasty)))
        case 2: return OwnedValue(.float(Float(random.below(1000)) / (isNasty ? 3 : 8)))
        case 3: return OwnedValue(.decimal128(decimal(&random, isNasty: isNasty)))
        case 4:
            return OwnedValue(.timestamp(seconds: Int64(random.below(9)) - 4, nanoseconds: Int32(random.below(3))))
        case 5:
            return Array(["", "Bern", "Berne", "Genf", "Züri"][random.below(5)].utf8).withUnsafeBytes {
                OwnedValue(.string($0.baseAddress, $0.count))
            }
        default:
            if !links.isEmpty, random.below(3) == 0 { return OwnedValue(.link(links[random.below(links.count)])) }
            // Equal in many forms.
            if random.below(2) == 0 {
                let number = random.below(3)
                return OwnedValue(
                    [
                        .int(Int64(number)), .double(Double(number)), .float(Float(number)), .double(-0.0),
                        .decimal128(
                            Decimal128(
                                isNegative: false, exponent: Decimal128.bias - 2, coefficient: UInt128(number * 100))),
                        .double(.nan), .double(0.5), .int(1 << 53 + 1),
                        .decimal128(Decimal128(isNegative: false, exponent: Decimal128.bias - 1, coefficient: 5)),
                    ][random.below(9)])
            }
            let sample = try MixedSample.next(&random)
            // Groups by lists and maps are not followed.
            return sample.value.kind == .document && !isNasty ? OwnedValue(.bool(true)) : sample
        }
    }

    private static func rows(_ table: Table) -> [[Value]] {
        (0..<table.rows).map { row in table.columns.map { $0.value(row) } }
    }

    /// Random histories of objects with each kind of value, observed by tables with each aggregate of it.
    @Test(arguments: [false, true]) func tablesAreWhatIsAsked(isNasty: Bool) throws {
        let aggregates = Shop.names[1...].flatMap { name in
            let numbers = ["weight", "part", "price", "thing"].contains(name) ? ["@sum.\(name)", "@avg.\(name)"] : []
            return numbers + ["@min.\(name)", "@max.\(name)"]
        }
        // Each alone, for one that cannot be followed is asked anew with all of its table; and some together.
        var texts = aggregates.map { "GROUP(city) SELECT(city, \($0))" }
        texts += aggregates.filter { $0.contains("sum") }.map { "GROUP() SELECT(\($0), @count)" }
        texts.append("GROUP(city) SORT(@sum.price DESC) SELECT(@sum.price, @avg.weight, @max.born, @min.name)")
        texts += ["thing", "price", "weight", "part"].map { "GROUP(\($0)) SELECT(\($0), @count, @max.city)" }
        // What a key is told apart by is not what it is.
        texts += ["weight", "part"].map { "GROUP(\($0)) SELECT(\($0), @min.\($0), @max.\($0))" }
        texts += [
            "GROUP(price, part) SELECT(@count, price)", "GROUP(thing, weight) SELECT(weight)", "GROUP(weight, city)",
        ]
        try follow(texts, isNasty: isNasty, steps: 500)
    }

    /// The same of objects in an order.
    @Test(arguments: [false, true]) func sortedTablesAreWhatIsAsked(isNasty: Bool) throws {
        let numbers = ["@sum.price", "@avg.weight", "@sum.part", "@min.weight", "@max.part", "@min.name", "@max.born"]
        var texts = (numbers + ["@max.thing"]).map {
            "SORT(born DESC, name ASC) GROUP(city) SELECT(city, \($0), @count)"
        }
        texts += ["thing", "price", "weight", "name", "born"].flatMap { key in
            ["city ASC", "\(key) DESC"].map { "SORT(\($0)) GROUP(\(key)) SELECT(\(key), @count, @max.city)" }
        }
        texts += [
            "SORT(name ASC) GROUP() SELECT(@sum.city, @min.part, @max.weight)",
            "weight > 1 SORT(part DESC) GROUP(price, city)", "SORT(thing DESC) GROUP(thing, weight) SELECT(weight)",
            "SORT(weight ASC) GROUP(city) HAVING(@count > 2) SORT(@count DESC) SELECT(city, @avg.weight, @max.weight)",
            "SORT(city ASC) DISTINCT(name) GROUP(part) SELECT(part, @count)", "DISTINCT(thing) GROUP(city)",
        ]
        try follow(texts, isNasty: isNasty, steps: 200)
    }

    private func follow(_ texts: [String], isNasty: Bool, steps: Int) throws {
        let shop = try Shop(), store = shop.store
        let view = try store.openView()
        defer { view.close() }
        final class Seen: @unchecked Sendable {
            var wrong: String?
            var told = 0
        }
        let seen = Seen()
        var observers: [Observer] = []
        for text in texts {
            let query = try view.anyQuery(shop.cls, parsing: text)
            guard case .table(let table) = query else { throw StoreError(.internalError, "no table") }
            observers.append(
                try store.observe(query, ObserverOptions()) { changes in
                    do {
                        let now = try store.openView()
                        defer { now.close() }
                        let tables = (try store.table(of: changes, before: false), try now.table(table))
                        let (found, wanted) = (Self.rows(tables.0), Self.rows(tables.1))
                        defer { withExtendedLifetime(tables) {} }
                        seen.told += 1
                        let isSame =
                            found.count == wanted.count
                            && zip(found, wanted).allSatisfy { $0.elementsEqual($1) { $0.isSame(as: $1) } }
                        if !isSame {
                            seen.wrong =
                                "\(text): \(found.map { $0.map(\.text) }), not \(wanted.map { $0.map(\.text) })"
                        }
                    } catch { seen.wrong = "\(text): \(error)" }
                    return nil
                })
        }
        var random = IndexRandom(isNasty ? 4 : 3), ids: [ObjectID] = []
        for step in 0..<steps {
            let transaction = try store.begin(.atMost(5000))
            for _ in 0...random.below(3) {
                let place = random.below(ids.count + 1)
                if ids.count < (isNasty ? 40 : 24), random.below(4) == 0 || place == ids.count {
                    let values = try shop.properties.indices.map { index in
                        try Self.value(index, &random, isNasty: isNasty, links: Array(ids.prefix(3)) + shop.tags)
                    }
                    ids.append(
                        try shop.properties.withUnsafeBufferPointer { properties in
                            try values.map(\.value).withUnsafeBufferPointer {
                                try transaction.create(shop.cls, properties, $0.baseAddress!)
                            }
                        })
                    withExtendedLifetime(values) {}
                } else if random.below(8) == 0, place < ids.count {
                    try transaction.delete(ids.remove(at: place))
                } else if place < ids.count {
                    let property = random.below(shop.properties.count)
                    let value = try Self.value(
                        property, &random, isNasty: isNasty, links: Array(ids.prefix(3)) + shop.tags)
                    try transaction.set(ids[place], shop.properties[property], value.value)
                    withExtendedLifetime(value) {}
                }
            }
            _ = try transaction.commit()
            _ = try store.hub.deliver()
            if let wrong = seen.wrong {
                Issue.record("step \(step): \(wrong)")
                break
            }
        }
        #expect(seen.told > 3 * steps, "\(seen.told)")
        for observer in observers { observer.close() }
        try store.close()
    }

    /// A queue: the least goes each time, more often than there are others that are kept.
    @Test func theNextBestFollowsTheBest() throws {
        let shop = try Shop(), store = shop.store, count = 2 * BestValues.room(groups: 1) + 300
        var ids: [ObjectID] = [], random = IndexRandom(77)
        var transaction = try store.begin(.atMost(5000))
        var values = (0..<count).map { Int64($0) }
        values.shuffle(using: &random)
        for value in values {
            var value = Value.int(value)
            ids.append(
                try shop.properties[..<1].withUnsafeBufferPointer { try transaction.create(shop.cls, $0, &value) })
        }
        _ = try transaction.commit()
        let view = try store.openView()
        defer { view.close() }
        final class Seen: @unchecked Sendable {
            var least: Int64?, greatest: Int64?
        }
        let seen = Seen(), text = "GROUP() SELECT(@min.city, @max.city)"
        let observer = try store.observe(try view.anyQuery(shop.cls, parsing: text), ObserverOptions()) { changes in
            do {
                let table = try store.table(of: changes, before: false)
                seen.least = table.columns[0].value(0).low
                seen.greatest = table.columns[1].value(0).low
            } catch { seen.least = nil }
            return nil
        }
        defer { observer.close() }
        _ = try store.hub.deliver()
        let byValue = ids.indices.sorted { values[$0] < values[$1] }
        for (gone, place) in byValue.dropLast(2).enumerated() {
            transaction = try store.begin(.atMost(5000))
            try transaction.delete(ids[place])
            // The greatest is written again and again.
            try transaction.set(ids[byValue[count - 1]], shop.properties[0], .int(Int64(count + gone)))
            _ = try transaction.commit()
            _ = try store.hub.deliver()
            #expect(seen.least == Int64(gone + 1) && seen.greatest == Int64(count + gone))
        }
    }
}

extension UInt128 {
    fileprivate func power(_ exponent: Int) -> UInt128 { (0..<exponent).reduce(1) { product, _ in product * self } }
}

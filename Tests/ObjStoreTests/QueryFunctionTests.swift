import ObjStore
import Synchronization
import Testing

class Town: Object {
    @Persisted(primaryKey: true) var id = 0
    @Persisted var lat = 0.0
    @Persisted var lon: Double?
    @Persisted var name = ""
    @Persisted var nick: String?
    @Persisted var seen = Timestamp(seconds: 0)
    @Persisted var raw: [UInt8] = []
    @Persisted var good = false
    @Persisted var small: Float = 0
    @Persisted var near: List<Town>
    @Persisted var next: Town?
}

/// Functions that queries call: typed closures.
@Suite struct QueryFunctionTests {
    private let store: Store
    private var towns: Results<Town> { store.objects(Town.self) }

    private struct Failure: Error, Equatable { let number: Int }

    init() throws {
        store = try memoryStore([Town.self])
        try store.write { tx in
            var all: [Town] = []
            for id in 0..<5000 {
                let town = try tx.create(Town.self, value: ["id": id])
                town.lat = Double(id * 7 % 90)
                town.lon = id % 5 == 3 ? nil : Double(id * 11 % 180)
                town.name = "town \(id % 10)"
                town.nick = id % 3 == 0 ? "n\(id % 4)" : nil
                town.seen = Timestamp(seconds: Int64(id), nanoseconds: 5)
                town.raw = [UInt8(id & 255)]
                town.good = id % 2 == 0
                town.small = Float(id % 8) / 2
                all.append(town)
                if id > 2 {
                    town.near.append(all[id - 1])
                    town.near.append(all[id - 3])
                    town.next = all[id - 2]
                }
            }
        }
    }

    private static func far(_ a: Double, _ b: Double, _ c: Double, _ d: Double) -> Double {
        ((a - c) * (a - c) + (b - d) * (b - d)).squareRoot()
    }

    private func ids(_ condition: (Town) -> Bool) -> [Int] { towns.filter(condition).map(\.id) }

    @Test func everySpellingAgreesWithALoop() throws {
        let far = try store.defineFunction("far") { (a: Double, b: Double, c: Double, d: Double) in
            Self.far(a, b, c, d)
        }
        let fars = try store.defineFunction(
            "fars",
            columns: { (a: [Double], b: [Double], c: [Double], d: [Double]) in
                a.indices.map { Self.far(a[$0], b[$0], c[$0], d[$0]) }
            })
        let wanted = ids { town in town.lon.map { Self.far(town.lat, $0, 47, 7) < 20 } ?? false }
        #expect(wanted.count > 10)
        for function in [far, fars] {
            let name = function.name
            #expect(try towns.where { function($0.lat, $0.lon, 47.0, 7) < 20 }.validate().map(\.id) == wanted)
            #expect(try towns.where { $0.call(name, $0.lat, $0.lon, 47, 7) < 20.0 }.validate().map(\.id) == wanted)
            #expect(try towns.filter("\(name)(lat, lon, $0, $1) < 20", 47, 7).map(\.id) == wanted)
            let nearest = try towns.sorted { function($0.lat, $0.lon, 47, 7) }.where { $0.lon != nil }.validate()
            let distances = nearest.map { Self.far($0.lat, $0.lon!, 47, 7) }
            #expect(distances == distances.sorted() && distances.count == 4000)
            #expect(
                try towns.where { function($0.lat, $0.lon, 47, 7) < 20 }.queryText
                    == "\(name)(lat, lon, \(name == "far" ? "47" : "47"), 7) < 20.0")
            let behind = ids { t in t.next.flatMap { n in n.lon.map { Self.far(n.lat, $0, 47, 7) < 20 } } ?? false }
            #expect(try towns.where { function($0.next.lat, $0.next.lon, 47, 7) < 20 }.validate().map(\.id) == behind)
            let some = ids { t in t.near.contains { Self.far($0.lat, 7, 47, 7) < 2 } }
            #expect(try towns.where { function($0.near.lat, 7, 47, 7) < 2 }.validate().map(\.id) == some)
            let all = ids { t in t.near.allSatisfy { Self.far($0.lat, 7, 47, 7) < 30 } }
            #expect(try towns.filter("\(name)(ALL near.lat, 7, 47, 7) < 30").map(\.id) == all)
            let counted = ids { t in t.near.filter { Self.far($0.lat, 7, 47, 7) < 10 }.count == 1 }
            #expect(
                try towns.filter("SUBQUERY(near, $x, \(name)($x.lat, 7, 47, 7) < 10).@count == 1").map(\.id) == counted)
        }
    }

    @Test func everyType() throws {
        try store.defineFunction("every") {
            (a: Bool, b: Int64, c: Float, d: String, e: [UInt8], f: Timestamp) -> Bool in
            a && b == f.seconds && c > 1 && d.hasSuffix("4") && e == [UInt8(truncatingIfNeeded: b)]
                && f.nanoseconds == 5
        }
        let wanted = ids { $0.good && $0.small > 1 && $0.name.hasSuffix("4") }
        #expect(!wanted.isEmpty)
        #expect(try towns.filter("every(good, id, small, name, raw, seen) == true").map(\.id) == wanted)
        try store.defineFunction("orNot") { (a: String?) -> String? in a == "n1" ? nil : a ?? "none" }
        #expect(try towns.filter("orNot(nick) == NULL").map(\.id) == ids { $0.nick == "n1" })
        #expect(try towns.filter("orNot(nick) == 'none'").map(\.id) == ids { $0.nick == nil })
        try store.defineFunction("later") { (a: Timestamp, b: Int) in
            Timestamp(seconds: a.seconds + Int64(b), nanoseconds: a.nanoseconds)
        }
        #expect(try towns.filter("later(seen, 3) == T8:5").map(\.id) == [5])
        try store.defineFunction("bytes") { (a: [UInt8]) in a + a }
        #expect(try towns.filter("bytes(raw) == B64'AQE='").map(\.id) == ids { $0.raw == [1] })
        try store.defineFunction("third") { (a: Float) in a / 3 }
        #expect(try towns.filter("third(small) == 0.5").map(\.id) == ids { $0.small == 1.5 })
        try store.defineFunction("one") { () in 1 }
        #expect(try towns.where { $0.call("one") == 1 }.validate().count == 5000)
        try store.defineFunction(
            "columns",
            columns: { (a: [Double?], b: [String], c: [Bool], d: [Timestamp], e: [Int]) -> [Int?] in
                a.indices.map {
                    c[$0] && b[$0].hasSuffix("2") && Int(d[$0].seconds) == e[$0] ? a[$0].map { Int($0) } : nil
                }
            })
        #expect(
            try towns.filter("columns(lon, name, good, seen, id) > 100").map(\.id)
                == ids { $0.good && $0.name.hasSuffix("2") && $0.lon ?? 0 > 100 })
        #expect(
            try towns.filter("columns(lon, name, good, seen, id) == NULL").map(\.id)
                == ids { !($0.good && $0.name.hasSuffix("2")) || $0.lon == nil })
    }

    @Test func whatIsThrownIsTheCause() throws {
        let thrower = try store.defineFunction("thrower") { (a: Int) -> Int in throw Failure(number: a) }
        let query = towns.where { thrower($0.id) == 1 && $0.lat >= 0 }
        let error = #expect(throws: ObjStoreError.self) { try query.validate() }
        #expect(error?.code == .callback && error?.cause as? Failure == Failure(number: 0))
        #expect(error?.message.hasPrefix("function thrower: Failure(number: 0)") == true)
        let collected = #expect(throws: ObjStoreError.self) { try Store.checked { #expect(query.count == 0) } }
        #expect(collected?.cause as? Failure == Failure(number: 0))
        let own = try store.defineFunction("own") { (a: Int) -> Int in
            try self.towns.filter("nothing(id) == 1").count
        }
        let inner = #expect(throws: ObjStoreError.self) { try towns.where { own($0.id) == 1 }.validate() }
        #expect((inner?.cause as? ObjStoreError)?.code == .invalidQuery)
        try store.defineFunction("short", columns: { (a: [Int]) in a.dropLast() })
        let short = #expect(throws: ObjStoreError.self) { try towns.filter("short(id) == 1").validate() }
        #expect(
            short?.code == .outOfRange && short?.message.hasPrefix("function short: it returned 4095 values") == true)
    }

    @Test func refusals() throws {
        for name in ["", "sort", "a-b", "1a"] {
            let error = #expect(throws: ObjStoreError.self) { try store.defineFunction(name) { (a: Int) in a } }
            #expect(error?.code == .invalidArgument)
        }
        let columns = #expect(throws: ObjStoreError.self) {
            try store.defineFunction("a", columns: { (a: [String]) in a })
        }
        #expect(columns?.code == .invalidArgument)
        let f = try store.defineFunction("f") { (a: Int) in a }
        #expect(throws: ObjStoreError.self) { try towns.where { f($0.name) == 1 }.validate() }
        #expect(throws: ObjStoreError.self) { try towns.where { f($0.id, 1) == 1 }.validate() }
        try store.undefineFunction("f")
        #expect(throws: ObjStoreError.self) { try towns.where { f($0.id) == 1 }.validate() }
        #expect(throws: ObjStoreError.self) { try store.undefineFunction("f") }
        let other = try memoryStore([Town.self])
        let g = try other.defineFunction("g") { (a: Int) in a }
        #expect(throws: ObjStoreError.self) { try towns.where { _ in g(1) == 1 }.validate() }
    }

    @Test func redefinition() throws {
        try store.defineFunction("f") { (a: Int) in a }
        let old = try towns.filter("f(id) == 7")
        try store.defineFunction("f") { (a: Int) in a + 1 }
        #expect(old.map(\.id) == [7])
        #expect(try towns.filter("f(id) == 7").map(\.id) == [6])
        try store.undefineFunction("f")
        #expect(old.map(\.id) == [7])
    }

    @Test func theStoreInsideOfACall() throws {
        let store = store, refused = Atomic<Int>(0)
        try store.defineFunction("inside") { (id: Int) -> Bool in
            guard id < 3 else { return false }
            let town = try #require(try store.object(ofType: Town.self, forPrimaryKey: id))
            #expect(town.id == id && store.objects(Town.self).where { $0.id < 10 }.count == 10)
            do { try Store.checked { town.lat = 1000 } } catch let error as ObjStoreError {
                let codes: [ObjStoreError.Code] = [.inCallback, .notInWrite]
                if codes.contains(error.code) { refused.add(1, ordering: .relaxed) }
            }
            let closing = #expect(throws: ObjStoreError.self) { try store.close() }
            #expect(closing?.code == .inCallback)
            return true
        }
        #expect(try towns.filter("inside(id) == true").map(\.id) == [0, 1, 2])
        let outside = refused.load(ordering: .relaxed)
        #expect(outside > 0)
        try store.write { _ in
            let inside = try towns.filter("inside(id) == true").map(\.id)
            #expect(inside == [0, 1, 2])
            towns[0].lat = 5
        }
        #expect(refused.load(ordering: .relaxed) > outside && towns[0].lat == 5)
    }

    @Test func manyThreads() throws {
        let even = try store.defineFunction("even") { (id: Int) in id % 2 == 0 }
        let evens = try store.defineFunction("evens", columns: { (id: [Int]) in id.map { $0 % 2 == 0 } })
        let store = store, right = Atomic<Int>(0)
        onThreads(8) { number in
            let function = number % 2 == 0 ? even : evens
            if store.objects(Town.self).where({ function($0.id) == true }).count == 2500 {
                right.add(1, ordering: .relaxed)
            }
        }
        #expect(right.load(ordering: .relaxed) == 8)
    }

    /// What functions gave is kept: they are called again for what was written, by rows and by columns.
    @Test func observersCallThemForWhatWasWritten() throws {
        let store = store, calls = Atomic<Int>(0), all = Array(towns.prefix(50))
        try store.defineFunction("even") { (id: Double) -> Bool in
            calls.add(1, ordering: .relaxed)
            return Int(id) % 2 == 0
        }
        try store.defineFunction(
            "evens",
            columns: { (ids: [Double]) in
                calls.add(ids.count, ordering: .relaxed)
                return ids.map { Int($0) % 2 == 0 }
            })
        for text in [
            "even(lat) == true", "evens(lat) == true", "evens(lat) == true SORT(name ASC, id ASC) LIMIT(2000)",
        ] {
            let results = try towns.filter(text)
            nonisolated(unsafe) var copy = results.map(\.id), told = 0
            let token = try results.observe { change in
                if change.isInitial { return }
                told += 1
                for place in change.deletions.reversed() { copy.remove(at: place) }
                for (place, town) in zip(change.insertions, change.inserted) { copy.insert(town.id, at: place) }
            }
            _ = try store.deliver()
            func change(_ town: Town) throws {
                try store.write { _ in town.lat += 1 }
                _ = try store.deliver()
            }
            // Where there are steps, what satisfies the condition is found once more.
            try change(all[0])
            calls.store(0, ordering: .relaxed)
            for town in all { try change(town) }
            #expect(calls.load(ordering: .relaxed) <= 50 && told > 20, "\(text)")
            #expect(copy == results.map(\.id), "\(text)")
            token.invalidate()
        }
    }
}

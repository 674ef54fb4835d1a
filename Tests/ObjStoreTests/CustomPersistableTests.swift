import ObjStore
import Testing

/// Type projections: types of the program, stored as others.
enum C {
    struct Celsius: CustomPersistable, Comparable {
        var degrees: Double
        init(_ degrees: Double) { self.degrees = degrees }
        init(persistedValue: Double) { degrees = persistedValue }
        var persistableValue: Double { degrees }
        static func < (a: Celsius, b: Celsius) -> Bool { a.degrees < b.degrees }
    }
    /// Not every text is one.
    struct Code: FailableCustomPersistable, Hashable {
        let text: String
        init?(_ text: String) {
            guard text.count == 2, text.uppercased() == text else { return nil }
            self.text = text
        }
        init?(persistedValue: String) { self.init(persistedValue) }
        var persistableValue: String { text }
    }
    struct Serial: CustomPersistable, Hashable {
        var number: Int
        init(persistedValue: Int) { number = persistedValue }
        var persistableValue: Int { number }
    }
    final class Reading: Object {
        @Persisted(primaryKey: true) var serial: Serial
        @Persisted(indexed: true) var temperature: Celsius
        @Persisted var highest = Celsius(100)
        @Persisted var lowest: Celsius?
        @Persisted var country = Code("CH")!
        @Persisted var origin: Code?
        @Persisted var others: List<Celsius>
        @Persisted var days: Map<String, Celsius?>
        @Persisted var seen: MutableSet<Serial>
    }
    /// The same class of the file, with the types that are stored.
    enum Stored {
        final class Reading: Object {
            @Persisted(primaryKey: true) var serial: Int
            @Persisted(indexed: true) var temperature: Double
            @Persisted var highest = 100.0
            @Persisted var lowest: Double?
            @Persisted var country = "CH"
            @Persisted var origin: String?
            @Persisted var others: List<Double>
            @Persisted var days: Map<String, Double?>
            @Persisted var seen: MutableSet<Int>
        }
    }
}

@Suite struct CustomPersistableTests {
    private func reading(_ number: Int, _ degrees: Double = 0) -> C.Reading {
        let made = C.Reading()
        made.serial = C.Serial(persistedValue: number)
        made.temperature = C.Celsius(degrees)
        return made
    }

    @Test func thereAndBack() throws {
        let store = try memoryStore([C.Reading.self]), made = reading(1, 21.5)
        #expect(made.highest == C.Celsius(100) && made.lowest == nil && made.country.text == "CH" && made.origin == nil)
        #expect(C.Reading().temperature == C.Celsius(0) && C.Reading().serial.number == 0)
        made.origin = C.Code("FR")
        made.others = [C.Celsius(1), C.Celsius(2)]
        made.days["mon"] = C.Celsius(3)
        made.seen.insert(C.Serial(persistedValue: 5))
        try store.write { tx in try tx.add(made) }
        #expect(made.temperature == C.Celsius(21.5) && made.origin?.text == "FR" && made.country.text == "CH")
        #expect(Array(made.others) == [C.Celsius(1), C.Celsius(2)] && made.days["mon"] == C.Celsius(3))
        #expect(made.seen.contains(C.Serial(persistedValue: 5)) && made.lowest == nil)
        try store.write { _ in
            made.temperature = C.Celsius(-3)
            made.lowest = C.Celsius(-40)
            made.country = try #require(C.Code("DE"))
            made.origin = nil
            made.others.append(C.Celsius(9))
        }
        #expect(made.temperature.degrees == -3 && made.lowest == C.Celsius(-40) && made.country.text == "DE")
        #expect(made.origin == nil && made.others.count == 3)
        let copy = try made.detached()
        #expect(copy.temperature == made.temperature && copy.country == made.country && copy.others.count == 3)
        #expect(try store.object(ofType: C.Reading.self, forPrimaryKey: C.Serial(persistedValue: 1)) == made)
        #expect(try store.object(ofType: C.Reading.self, forPrimaryKey: 1) == made)
    }

    @Test func queriesAreOfWhatIsStored() throws {
        let store = try memoryStore([C.Reading.self])
        try store.write { tx in
            for number in 0..<10 {
                let made = reading(number, Double(number) * 10)
                if number % 2 == 0 { made.country = C.Code("FR")! }
                made.lowest = number < 3 ? C.Celsius(Double(-number)) : nil
                made.others.append(C.Celsius(Double(number)))
                try tx.add(made)
            }
        }
        let all = store.objects(C.Reading.self)
        func numbers(_ results: Results<C.Reading>) -> [Int] { results.map(\.serial.number) }
        #expect(numbers(all.where { $0.temperature == C.Celsius(30) }) == [3])
        #expect(numbers(all.where { $0.temperature.persistableValue > 75 }) == [8, 9])
        #expect(numbers(all.where { $0.lowest == C.Celsius(-2) }) == [2] && all.where { $0.lowest == nil }.count == 7)
        #expect(numbers(all.where { $0.lowest.persistableValue < 0 }) == [1, 2])
        #expect(numbers(all.where { $0.temperature.in([C.Celsius(10), C.Celsius(50)]) }) == [1, 5])
        #expect(all.where { $0.country == C.Code("FR")! }.count == 5)
        #expect(all.where { $0.country.persistableValue.starts(with: "F") && $0.country != C.Code("CH")! }.count == 5)
        #expect(numbers(all.where { $0.others.contains(C.Celsius(4)) }) == [4])
        #expect(try numbers(all.filter("temperature == $0", C.Celsius(20))) == [2])
        #expect(try numbers(all.filter("temperature IN $0", [C.Celsius(20), C.Celsius(0)])) == [0, 2])
        #expect(try numbers(all.filter("temperature > 85")) == [9])
        #expect(numbers(all.sorted(by: \.temperature, ascending: false).limit(2)) == [9, 8])
        #expect(all.distinct(by: \.country).count == 2)
        #expect(try all.where { $0.temperature == C.Celsius(30) }.explain().contains("index"))
    }

    /// The file has the types that are stored, and other programs see those.
    @Test func theFileHasTheStoredType() throws {
        let folder = Folder(), path = folder.file()
        do {
            let store = try Store.open(path: path, models: [C.Reading.self])
            try store.write { tx in try tx.add(reading(1, 5)) }
            let dynamic = try #require(store.dynamicObjects("Reading").first)
            #expect(dynamic["temperature"]?.double == 5 && dynamic["country"]?.string == "CH")
            #expect(try store.objects(C.Reading.self).first?.json().contains(#""temperature":5"#) == true)
            try store.close()
        }
        let store = try Store.open(path: path, models: [C.Stored.Reading.self])
        let stored = try #require(store.objects(C.Stored.Reading.self).first)
        #expect(stored.temperature == 5 && stored.highest == 100 && stored.country == "CH" && stored.serial == 1)
        // What is none of the type: written by who does not know it.
        try store.write { _ in
            stored.country = "nowhere"
            stored.origin = "x"
        }
        try store.close()
        let again = try Store.open(path: path, models: [C.Reading.self])
        let read = try #require(again.objects(C.Reading.self).first)
        var country: C.Code?
        let problem = #expect(throws: ObjStoreError.self) { try Store.checked { country = read.country } }
        #expect(country?.text == "CH", "the default of the property")
        #expect(problem?.code == .outOfRange && problem?.className == "Reading" && problem?.propertyName == "country")
        #expect(problem?.message == "Reading.country is nowhere in the store, which is no Code")
        var origin = C.Code("DE")
        let other = #expect(throws: ObjStoreError.self) { try Store.checked { origin = read.origin } }
        #expect(origin == nil && other?.code == .outOfRange)
        #expect(throws: ObjStoreError.self, "and a write that reads it is undone") {
            try again.write { _ in read.highest = C.Celsius(read.country.text == "CH" ? 1 : 2) }
        }
        #expect(read.highest == C.Celsius(100))
        try again.close()
    }

    @Test func given() throws {
        let store = try memoryStore([C.Reading.self])
        let made = try store.write { tx in
            try tx.create(
                C.Reading.self,
                value: [
                    "serial": 1, "temperature": C.Celsius(4), "lowest": 2, "country": "FR",
                    "others": [C.Celsius(1), 2.5],
                ] as [String: Any])
        }
        #expect(made.temperature.degrees == 4 && made.lowest?.degrees == 2 && made.country.text == "FR")
        #expect(Array(made.others) == [C.Celsius(1), C.Celsius(2.5)] && made.highest == C.Celsius(100))
        try store.write { tx in try tx.create(C.Reading.self, json: #"{"serial": 2, "temperature": 7.5}"#) }
        #expect(store.objects(C.Reading.self).last?.temperature == C.Celsius(7.5))
        for (name, value) in [("country", "nowhere"), ("country", 3), ("temperature", "warm")] as [(String, Any)] {
            let problem = #expect(throws: ObjStoreError.self) {
                try store.write { tx in try tx.create(C.Reading.self, value: ["serial": 3, name: value]) }
            }
            #expect(problem?.className == "Reading" && problem?.propertyName == name, "\(problem?.message ?? "")")
            #expect(problem?.message.contains("\(value)") == true)
        }
        try store.write { _ in try made.setValue("DE", forKey: "country") }
        #expect(made.country.text == "DE" && (made.value(forKeyOrNil: "country") as? C.Code)?.text == "DE")
        #expect(try store.write { _ in try store.objects(C.Reading.self).set(\.highest, to: C.Celsius(50)) } == 2)
        #expect(made.highest.degrees == 50)
        try store.write { tx in
            try tx.insert(
                C.Reading.self,
                [
                    Column(\.serial, [8, 9].map { C.Serial(persistedValue: $0) }),
                    Column(\.temperature, [C.Celsius(1), C.Celsius(2)]), Column(\.lowest, [nil, C.Celsius(3)]),
                ])
        }
        #expect(store.objects(C.Reading.self).count == 4 && store.objects(C.Reading.self).last?.lowest == C.Celsius(3))
    }

    private final class Mark: Object {
        @Persisted var code: C.Code
    }
    /// What a new object would begin with is none of the type.
    @Test func withoutADefault() throws {
        let problem = #expect(throws: ObjStoreError.self) { try memoryStore([Mark.self]) }
        #expect(problem?.code == .invalidSchema && problem?.className == "Mark" && problem?.propertyName == "code")
        #expect(problem?.message.contains("Code: it needs a default, or to be optional") == true)
    }

    @Test func deleted() throws {
        let store = try memoryStore([C.Reading.self]), made = reading(1, 21.5)
        try store.write { tx in try tx.add(made) }
        try store.write { tx in try tx.delete(made) }
        var problem = #expect(throws: ObjStoreError.self) {
            try Store.checked { #expect(made.temperature.degrees == 0) }
        }
        #expect(problem?.code == .noSuchObject)
        problem = #expect(throws: ObjStoreError.self) { try Store.checked { #expect(made.country.text == "CH") } }
        #expect(problem?.code == .noSuchObject)
    }
}

extension Object {
    fileprivate func value(forKeyOrNil name: String) -> Any? { (try? value(forKey: name)) ?? nil }
}

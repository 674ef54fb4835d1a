import FoundationEssentials
import ObjStore
import Testing

private final class Day: Object {
    @Persisted(primaryKey: true) var id: Int
    @Persisted var date: Date
    @Persisted var dateOrNot: Date?
    @Persisted var time: Timestamp
    @Persisted var any: AnyValue
    @Persisted var list: List<Date>
    @Persisted var set: MutableSet<Date>
    @Persisted var map: Map<String, Date>
    @Persisted var link: Day?
}

/// A `Date` can be none, or beyond what a timestamp says: no way leads into a store for those.
@Suite struct DateTests {
    private static let none = [Double.nan, .infinity, -.infinity, 1e30, -1e30].map { Date(timeIntervalSince1970: $0) }
    private static let some = Date(timeIntervalSince1970: 1_000_000)

    private func refused(
        _ property: String?, _ date: Date, _ body: () throws -> Void, sourceLocation: SourceLocation = #_sourceLocation
    ) {
        do {
            try body()
            Issue.record("\(date.timeIntervalSince1970) was taken", sourceLocation: sourceLocation)
        } catch {
            guard let error = error as? ObjStoreError else {
                Issue.record(error, sourceLocation: sourceLocation); return
            }
            #expect(
                error.code == .outOfRange && error.message.contains("\(date.timeIntervalSince1970)"), "\(error)",
                sourceLocation: sourceLocation)
            if let property {
                #expect(
                    error.className == "Day" && error.propertyName == property
                        && error.message.contains("Day.\(property)"), "\(error)", sourceLocation: sourceLocation)
            }
        }
    }

    @Test func datesThatAreNoneAreRefused() throws {
        let store = try memoryStore([Day.self])
        let day = try store.write { tx in
            try tx.create(Day.self, value: ["id": 1, "date": Self.some, "time": Self.some])
        }
        #expect(day.time == Timestamp(Self.some) && day.date == Self.some)
        for date in Self.none {
            refused("date", date) { try store.write { _ in day.date = date } }
            refused("dateOrNot", date) { try store.write { _ in day.dateOrNot = date } }
            refused("any", date) { try store.write { _ in try day.setValue(date, forKey: "any") } }
            refused("date", date) { try store.write { _ in try day.setValue(date, forKey: "date") } }
            refused("time", date) { try store.write { _ in try day.setValue(date, forKey: "time") } }
            refused(nil, date) { try store.write { _ in day.list.append(date) } }
            refused(nil, date) { try store.write { _ in day.set.insert(date) } }
            refused(nil, date) { try store.write { _ in day.map["a"] = date } }
            refused(nil, date) { try store.write { _ in day.list = [Self.some, date] } }
            for property in ["date", "dateOrNot", "time", "any"] {
                refused(property, date) {
                    try store.write { tx in try tx.create(Day.self, value: ["id": 2, property: date]) }
                }
                refused(property, date) {
                    try store.write { tx in
                        try tx.create(Day.self, value: ["id": 2, "link": ["id": 3, property: date]])
                    }
                }
                refused(property, date) { _ = try Day(value: ["id": 2, property: date]) }
            }
            refused("any", date) {
                try store.write { tx in try tx.create(Day.self, value: ["id": 2, "any": ["a": [1, date] as [Any]]]) }
            }
            for (property, value) in [
                ("list", [Self.some, date] as Any), ("set", [date] as Set), ("map", ["a": date]),
            ] {
                refused(property, date) {
                    try store.write { tx in try tx.create(Day.self, value: ["id": 2, property: value]) }
                }
            }
            refused("date", date) {
                let new = Day()
                new.id = 2
                new.date = date
                try store.write { tx in try tx.add(new) }
            }
            refused(nil, date) {
                let new = Day()
                new.id = 2
                new.list.append(date)
                try store.write { tx in try tx.add(new) }
            }
            refused("date", date) {
                try store.write { tx in
                    try tx.insert(Day.self, [Column(\.id, [2, 3]), Column(\.date, [Self.some, date])])
                }
            }
            refused("date", date) { try store.write { _ in try store.objects(Day.self).set(\.date, to: date) } }
            refused(nil, date) { try store.objects(Day.self).where { $0.date > date }.validate() }
            refused(nil, date) { try store.objects(Day.self).filter("date > $0", date).validate() }
            refused(nil, date) {
                try store.write { tx in try tx.dynamicObject(ofType: "Day", forPrimaryKey: 1)?.set("date", to: date) }
            }
            #expect(code { try store.write { _ in day.time = Timestamp(date) } } == .outOfRange)
            #expect(code { try store.write { _ in day.any = .date(Timestamp(date)) } } == .outOfRange)
        }
        #expect(
            store.objects(Day.self).count == 1 && day.date == Self.some && day.list.isEmpty && day.set.isEmpty
                && day.map.isEmpty && day.any.isNone)
    }

    /// As far as a timestamp goes.
    @Test func datesFarAway() throws {
        let store = try memoryStore([Day.self])
        for time in [3.9e18, -3.9e18, 0] {
            let date = Date(timeIntervalSinceReferenceDate: time)
            let day = try store.write { tx in
                try tx.create(Day.self, value: ["id": 1, "date": date, "time": date, "any": date], update: .modified)
            }
            #expect(day.date == date && Date(day.time) == date && day.any.date.map { Date($0) } == date)
        }
    }
}

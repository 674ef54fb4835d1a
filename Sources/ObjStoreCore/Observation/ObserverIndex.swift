/// Observers that wait for the same: mostly one, which costs no memory of its own.
struct ObserverGroup {
    private var one: Observer?
    private var others: [UInt64: Observer] = [:]

    var isEmpty: Bool { one == nil && others.isEmpty }

    fileprivate mutating func add(_ observer: Observer) {
        if one == nil { one = observer } else { others[observer.number] = observer }
    }

    fileprivate mutating func remove(_ observer: Observer) {
        if one === observer { one = nil } else { others[observer.number] = nil }
    }

    func first(where isWanted: (Observer) -> Bool) -> Observer? {
        one.flatMap { isWanted($0) ? $0 : nil } ?? others.values.first(where: isWanted)
    }

    func forEach(_ body: (Observer) -> Void) {
        if let one { body(one) }
        for observer in others.values { body(observer) }
    }
}

extension ObserverGroup? {
    /// An observer comes, or goes; nil: there is none.
    mutating func change(_ observer: Observer, comes: Bool) {
        var changed = self ?? ObserverGroup()
        self = nil  // one owner: changed in place
        if comes { changed.add(observer) } else { changed.remove(observer) }
        if !changed.isEmpty { self = changed }
    }
}

/// Which observers wait for what: whom a change concerns is found by what was changed, not by asking everybody.
///
/// ```
///  Dog#7 was modified            one object    Dog#7                    ──► its observers
///    city: "Bern" ─► "Basel"     a value       city == "Bern", "Basel"  ──► observers of what is equal to that
///    age: 3 ─► 4                 a range       3 and 4                  ──► observers of a range with one of them
///                                elements      lists that Dog#7 is in   ──► observers of those
///                                anything else in the class             ──► each of them
/// ```
/// A value: whoever looks something up in it keeps a copy, which costs nothing unless an observer comes or goes
/// meanwhile.
struct ObserverIndex {
    private var objects: [ObjectPlace: ObserverGroup] = [:]
    /// By the id of a property.
    private var values: [UInt32: [ComparedValue: ObserverGroup]] = [:]
    private var ranges: [UInt32: ObservedRanges] = [:]
    private var elements: [UInt32: [Int64: ObserverGroup]] = [:]
    /// By class index: what the objects of a class are looked up in.
    private var ways: [UInt32: Ways] = [:]
    private var others: [UInt32: ObserverGroup] = [:]
    private var anywhere: ObserverGroup?
    private var commits: ObserverGroup?
    /// How many observers want to know of changes of a class.
    private var wanted: [UInt32: Int] = [:]
    /// Its keys, as they are asked for with each commit.
    private var wantedClasses: Set<UInt32> = []

    private struct Ways {
        var objects = 0
        /// Of observers of values, of ranges and of elements, how many there are by each property.
        var properties: [UInt32: Int] = [:] { didSet { findWaited() } }
        var ranges: [UInt32: Int] = [:] { didSet { findWaited() } }
        /// Properties of which somebody waits for values, or for a range.
        private(set) var waited: [UInt32] = []
        var elements: [UInt32: Int] = [:]
        var hasNone: Bool { properties.isEmpty && ranges.isEmpty && elements.isEmpty }
        var isEmpty: Bool { objects == 0 && hasNone }
        var count: Int { [properties, ranges, elements].reduce(0) { $0 + $1.values.reduce(0, +) } }

        private mutating func findWaited() {
            waited = properties.keys + ranges.keys.filter { properties[$0] == nil }
        }
    }

    init() {}

    init(_ observers: [Observer], _ schema: Schema) {
        for observer in observers { change(observer, schema, by: 1) }
    }

    mutating func add(_ observer: Observer, _ schema: Schema) { change(observer, schema, by: 1) }
    mutating func remove(_ observer: Observer, _ schema: Schema) { change(observer, schema, by: -1) }

    /// - Parameter step: 1: it comes, -1: it goes.
    private mutating func change(_ observer: Observer, _ schema: Schema, by step: Int) {
        let scope = observer.scope
        func change(_ group: inout ObserverGroup?) { group.change(observer, comes: step > 0) }
        switch scope.interest(in: schema) {
        case .object(let place):
            change(&objects[place])
            ways[place.classIndex, default: Ways()].objects += step
        case .values(let tests):
            for (propertyID, value) in tests {
                change(&values[propertyID, default: [:]][value])
                let count = (ways[scope.classID]?.properties[propertyID] ?? 0) + step
                ways[scope.classID, default: Ways()].properties[propertyID] = count == 0 ? nil : count
            }
        case .range(let propertyID, let range):
            // The same in every schema: a property keeps its kind.
            if observer.range == nil { observer.range = range }
            ranges[propertyID, default: ObservedRanges()].change(observer, range, comes: step > 0)
            let count = (ways[scope.classID]?.ranges[propertyID] ?? 0) + step
            ways[scope.classID, default: Ways()].ranges[propertyID] = count == 0 ? nil : count
            if count == 0 { ranges[propertyID] = nil }
        case .elements(let propertyID, let owner, let target):
            change(&elements[propertyID, default: [:]][owner])
            for index in [UInt32(target), UInt32(PropertyID.classIndex(propertyID))] {
                let count = (ways[index]?.elements[propertyID] ?? 0) + step
                ways[index, default: Ways()].elements[propertyID] = count == 0 ? nil : count
            }
        case .classes(let classes?):
            for id in classes { change(&others[id]) }
        case .classes(nil): change(&anywhere)
        case .commits: change(&commits)
        }
        if let classes = ways[scope.classID], classes.isEmpty { ways[scope.classID] = nil }
        if scope.observesCommits { return }
        for id in scope.classes(in: schema) {
            let count = (wanted[id] ?? 0) + step
            wanted[id] = count == 0 ? nil : count
            if count == 0 { wantedClasses.remove(id) } else { wantedClasses.insert(id) }
        }
    }

    /// The classes whose changes have to be read.
    func classes(in schema: Schema) -> Set<UInt32> {
        if anywhere != nil { return Set((0..<schema.classes.count).map { UInt32($0) }) }
        return wantedClasses
    }

    // MARK: Looking up

    /// All that may be concerned by what happened between two versions of one schema.
    func concerned(by reader: ChangeReader) throws(StoreError) -> [Observer] {
        var found: [Observer] = []
        func add(_ group: ObserverGroup?) { group?.forEach { found.append($0) } }
        if reader.hasCommits { add(commits) }
        if !reader.classes.isEmpty { add(anywhere) }
        for id in reader.classes.keys { add(others[id]) }
        for (id, ways) in self.ways {
            let changes = reader.classes[id]
            if ways.objects > 0, let changes {
                for keys in [changes.deleted, changes.inserted, changes.modified] {
                    for key in keys { add(objects[ObjectPlace(classIndex: id, key: key)]) }
                }
            }
            if ways.hasNone { continue }
            // Modified by what their links lead to.
            let touched = try touched(id, reader)
            let count = touched.count + (changes.map { $0.deleted.count + $0.inserted.count + $0.modified.count } ?? 0)
            if count == 0 { continue }
            if count > ObserverIndex.mostLookedUp(of: ways.count) {
                for propertyID in ways.properties.keys { values[propertyID]?.values.forEach { add($0) } }
                for propertyID in ways.ranges.keys { ranges[propertyID]?.forEach { found.append($0) } }
                for propertyID in ways.elements.keys { elements[propertyID]?.values.forEach { add($0) } }
                continue
            }
            try forEachValue(of: id, ways, changes, touched, reader) { (propertyID, value) in
                if let groups = values[propertyID], let value = ComparedValue(value) { add(groups[value]) }
                if let ranges = ranges[propertyID], let number = ObservedRange.number(value) {
                    ranges.forEach(with: number) { found.append($0) }
                }
            }
            for propertyID in ways.elements.keys {
                guard let groups = elements[propertyID] else { continue }
                if PropertyID.classIndex(propertyID) == Int(id), let changes {
                    for keys in [changes.deleted, changes.modified] { for key in keys { add(groups[key]) } }
                }
                try forEachOwner(by: propertyID, of: id, changes, touched, reader) { owner in add(groups[owner]) }
            }
        }
        if found.count < 2 { return found }
        found.sort { $0.number < $1.number }
        var last: Observer?
        found.removeAll { observer in
            defer { last = observer }
            return observer === last
        }
        return found
    }

    /// So many objects are looked up one by one: else asking the observers is cheaper.
    private static func mostLookedUp(of observers: Int) -> Int { max(64, observers) }

    private func touched(_ id: UInt32, _ reader: ChangeReader) throws(StoreError) -> [Int64] {
        guard Int(id) < reader.to.schema.classes.count else { return [] }
        return Array(try LinkedChanges(reader, Int(id), .usual).masks.keys)
    }

    /// The values of the properties that somebody waits for, before and after, of the objects that were changed.
    private func forEachValue(
        of id: UInt32, _ ways: Ways, _ changes: ClassChanges?, _ touched: [Int64], _ reader: ChangeReader,
        _ body: (_ propertyID: UInt32, Value) -> Void
    ) throws(StoreError) {
        let cls = reader.to.schema.classes[Int(id)]
        let places = ways.waited.compactMap { propertyID in
            PropertyID.position(propertyID, cls.id, cls.columns).map { (id: propertyID, column: $0) }
        }
        if places.isEmpty { return }
        let before = try reader.from.trees.objects(cls), after = try reader.to.trees.objects(cls)
        func look(
            _ objects: ClusterReader, _ key: Int64, where isWanted: (Int) -> Bool = { _ in true }
        ) throws(StoreError) {
            guard places.contains(where: { isWanted($0.column) }), let row = try objects.find(key) else { return }
            for place in places where isWanted(place.column) {
                body(place.id, try objects.plainValue(row, place.column))
            }
        }
        for key in touched { try look(after, key) }
        guard let changes else { return }
        for key in changes.deleted { try look(before, key) }
        for key in changes.inserted { try look(after, key) }
        for (index, key) in changes.modified.enumerated() {
            try look(after, key)
            if InjectedBug.active(.interestForgotten) { continue }
            try look(before, key) { changes.hasWritten([$0], in: index) }
        }
    }

    /// The owners of the collections that changed objects are in. Those that have lost one were written themselves.
    private func forEachOwner(
        by propertyID: UInt32, of id: UInt32, _ changes: ClassChanges?, _ touched: [Int64], _ reader: ChangeReader,
        _ body: (Int64) -> Void
    ) throws(StoreError) {
        let cls = reader.to.schema.classes[PropertyID.classIndex(propertyID)]
        guard let place = PropertyID.position(propertyID, cls.id, cls.columns),
            cls.columns[place].target == ClassID.of(Int(id)),
            let inverse = try reader.to.trees.inverse(cls, place)
        else { return }
        for keys in [changes?.modified ?? [], touched] {
            for key in keys {
                try inverse.forEachOwner(of: key) { (owner) throws(StoreError) in
                    body(owner)
                    return true
                }
            }
        }
    }
}

import Glibc
import ObjStore
import Synchronization
import Testing

final class LivePup: Object {
    @Persisted var name = ""
    @Persisted var kennel: LiveKennel?
}

final class LiveKennel: Object {
    @Persisted(primaryKey: true) var id: Int
    @Persisted var list: List<LivePup>
    @Persisted var set: MutableSet<LivePup>
    @Persisted var numbers: List<Int>
    @Persisted var words: MutableSet<String>
    @Persisted var things: List<AnyValue>
    @Persisted var extra: AnyValue
    @Persisted(originProperty: "kennel") var pups: LinkingObjects<LivePup>
}

/// Six pups and six of everything else, of which most can go while another thread reads.
final class LiveSubject: @unchecked Sendable {
    static let full = 6, few = 2
    let store: Store
    /// The same store as another part of the program has it: its writes move nothing of `store`.
    let other: Store
    let kennel: LiveKennel

    init() throws {
        let name = "live \(LiveSubject.numbers.add(1, ordering: .relaxed).newValue)"
        store = try Store(Store.Configuration(.memory(name: name), models: [LiveKennel.self, LivePup.self]))
        other = try Store(Store.Configuration(.memory(name: name), models: [LiveKennel.self, LivePup.self]))
        kennel = try store.write { tx in try tx.create(LiveKennel.self, value: ["id": 1]) }
        try fill(store)
    }
    private static let numbers = Atomic<Int>(0)

    func fill(_ store: Store) throws {
        try store.write { tx in
            let kennel = try tx.object(ofType: LiveKennel.self, forPrimaryKey: 1)!
            try tx.deleteAll(LivePup.self)
            for number in 0..<LiveSubject.full {
                let pup = try tx.create(LivePup.self, value: ["name": "pup \(number)", "kennel": kennel])
                kennel.list.append(pup)
                kennel.set.insert(pup)
            }
            kennel.numbers = List(0..<LiveSubject.full)
            kennel.words = MutableSet((0..<LiveSubject.full).map { "word \($0)" })
            kennel.things = List((0..<LiveSubject.full).map { AnyValue.int($0) })
            kennel.extra = .list(AnyList((0..<LiveSubject.full).map { AnyValue.list(AnyList([.int($0)])) }))
        }
    }

    /// Leaves two of everything.
    func thin(_ store: Store) throws { try store.write { tx in try thin(tx) } }

    func thin(_ tx: Transaction) throws {
        let kennel = try tx.object(ofType: LiveKennel.self, forPrimaryKey: 1)!
        if kennel.numbers.count == LiveSubject.few { return }
        for pup in Array(kennel.list)[LiveSubject.few...] { try tx.delete(pup) }
        kennel.numbers.removeSubrange(LiveSubject.few..<LiveSubject.full)
        for word in Array(kennel.words)[LiveSubject.few...] { kennel.words.remove(word) }
        kennel.things.removeSubrange(LiveSubject.few..<LiveSubject.full)
        for _ in LiveSubject.few..<LiveSubject.full { kennel.extra.list!.remove(at: LiveSubject.few) }
    }

    /// Calls `body` with each kind of live collection.
    func forEachKind(_ body: any LiveBody) throws {
        try body.run("results", store.objects(LivePup.self))
        try body.run("comparison", store.objects(LivePup.self).where { $0.name != "" })
        try body.run("dynamic results", store.dynamicObjects("LivePup"))
        try body.run("inverse", kennel.pups)
        try body.run("list of objects", kennel.list)
        try body.run("set of objects", kennel.set)
        try body.run("list", kennel.numbers)
        try body.run("set", kennel.words)
        try body.run("list of any", kennel.things)
        try body.run("any list", try #require(kennel.extra.list))
    }
}

protocol LiveBody {
    func run(_ kind: String, _ collection: some LiveCollection) throws
}

/// Ways to walk over a collection; each tells how many elements it saw, and calls `seen` for each.
struct Ways<C: RandomAccessCollection> where C.Index == Int {
    typealias Way = (name: String, walk: (C, @escaping () -> Void) -> Int)
    /// Those that knowing only `RandomAccessCollection` can go.
    static var generic: [Way] {
        [
            (
                "for",
                { c, seen in
                    var count = 0
                    for _ in c { seen(); count += 1 }
                    return count
                }
            ),
            (
                "map",
                { c, seen in
                    c.map { element in
                        seen(); return element
                    }.count
                }
            ),
            (
                "filter",
                { c, seen in
                    c.filter { _ in
                        seen(); return true
                    }.count
                }
            ),
            (
                "compactMap",
                { c, seen in
                    c.compactMap { element in
                        seen(); return element
                    }.count
                }
            ),
            (
                "flatMap",
                { c, seen in
                    c.flatMap { element in
                        seen(); return [element]
                    }.count
                }
            ),
            (
                "reduce",
                { c, seen in
                    c.reduce(0) { count, _ in
                        seen(); return count + 1
                    }
                }
            ),
            (
                "sorted",
                { c, seen in
                    c.sorted { _, _ in
                        seen(); return false
                    }.count
                }
            ),
            (
                "Array",
                { c, seen in
                    defer { seen() }
                    return Array(c).count
                }
            ),
            (
                "append(contentsOf:)",
                { c, seen in
                    var all: [C.Element] = []
                    all.append(contentsOf: c)
                    seen()
                    return all.count
                }
            ),
            (
                "replaceSubrange",
                { c, seen in
                    var all: [C.Element] = []
                    all.insert(contentsOf: Array(c), at: 0)
                    seen()
                    return all.count
                }
            ),
            (
                "zip",
                { c, seen in
                    zip(c, 0...).reduce(0) { count, _ in
                        seen(); return count + 1
                    }
                }
            ),
            (
                "while",
                { c, seen in
                    var index = c.startIndex, count = 0
                    while index != c.endIndex {
                        _ = c[index]
                        seen()
                        count += 1
                        c.formIndex(after: &index)
                    }
                    return count
                }
            ),
            (
                "backwards",
                { c, seen in
                    var index = c.endIndex, count = 0
                    while index != c.startIndex {
                        c.formIndex(before: &index)
                        _ = c[index]
                        seen()
                        count += 1
                    }
                    return count
                }
            ),
            (
                "indices",
                { c, seen in
                    var count = 0
                    for index in c.indices { _ = c[index]; seen(); count += 1 }
                    return count
                }
            ),
            (
                "firstIndex",
                { c, seen in
                    var count = 0
                    _ = c.firstIndex { _ in
                        seen(); count += 1; return false
                    }
                    return count
                }
            ),
            (
                "lastIndex",
                { c, seen in
                    var count = 0
                    _ = c.lastIndex { _ in
                        seen(); count += 1; return false
                    }
                    return count
                }
            ),
            (
                "contains",
                { c, seen in
                    var count = 0
                    _ = c.contains { _ in
                        seen(); count += 1; return false
                    }
                    return count
                }
            ),
            (
                "reversed",
                { c, seen in
                    c.reversed().map { element in
                        seen(); return element
                    }.count
                }
            ),
            (
                "reversed, copied",
                { c, seen in
                    defer { seen() }
                    return Array(c.reversed()).count
                }
            ),
            (
                "lazy reversed",
                { c, seen in
                    defer { seen() }
                    return Array(c.lazy.reversed()).count
                }
            ),
            (
                "enumerated",
                { c, seen in
                    c.enumerated().map { element in
                        seen(); return element
                    }.count
                }
            ),
            (
                "joined twice",
                { c, seen in
                    [c, c].joined().map { element in
                        seen(); return element
                    }.count / 2
                }
            ),
            (
                "lazy flatMap reversed",
                { c, seen in
                    defer { seen() }
                    return [0, 1].lazy.flatMap { _ in c }.reversed().map { $0 }.count / 2
                }
            ),
            (
                "range set",
                { c, seen in
                    c[c.indices { _ in true }].map { element in
                        seen(); return element
                    }.count
                }
            ),
            (
                "removingSubranges",
                { c, seen in
                    c.removingSubranges(c.indices { _ in false }).map { element in
                        seen(); return element
                    }.count
                }
            ),
            (
                "difference of it",
                { c, seen in
                    defer { seen() }
                    return c.difference(from: [] as [C.Element]) { _, _ in false }.count
                }
            ),
            (
                "difference from it",
                { c, seen in
                    defer { seen() }
                    return ([] as [C.Element]).difference(from: c) { _, _ in false }.count
                }
            ),
            (
                "slice of an array",
                { c, seen in
                    var kept: ArraySlice<C.Element> = []
                    kept.insert(contentsOf: c, at: 0)
                    seen()
                    return kept.count
                }
            ),
            (
                "AnyCollection",
                { c, seen in
                    AnyRandomAccessCollection(c).map { element in
                        seen(); return element
                    }.count
                }
            ),
        ]
    }
}

extension Ways where C: LiveCollection {
    /// Those that knowing a `LiveCollection` can go.
    static var live: [Way] {
        [
            (
                "for",
                { c, seen in
                    var count = 0
                    for _ in c { seen(); count += 1 }
                    return count
                }
            ),
            (
                "map",
                { c, seen in
                    c.map { element in
                        seen(); return element
                    }.count
                }
            ),
            (
                "reversed",
                { c, seen in
                    c.reversed().map { element in
                        seen(); return element
                    }.count
                }
            ),
            (
                "lazy",
                { c, seen in
                    c.lazy.map { element in
                        seen(); return element
                    }.reduce(0) { count, _ in count + 1 }
                }
            ),
            (
                "lazy filter",
                { c, seen in
                    c.lazy.filter { _ in
                        seen(); return true
                    }.map { $0 }.count
                }
            ),
            (
                "enumerated",
                { c, seen in
                    c.enumerated().map { element in
                        seen(); return element
                    }.count
                }
            ),
            (
                "firstIndex",
                { c, seen in
                    var count = 0
                    _ = c.firstIndex { _ in
                        seen(); count += 1; return false
                    }
                    return count
                }
            ),
            (
                "lastIndex",
                { c, seen in
                    var count = 0
                    _ = c.lastIndex { _ in
                        seen(); count += 1; return false
                    }
                    return count
                }
            ),
            (
                "last(where:)",
                { c, seen in
                    var count = 0
                    _ = c.last { _ in
                        seen(); count += 1; return false
                    }
                    return count
                }
            ),
            (
                "prefix(while:)",
                { c, seen in
                    c.prefix { _ in
                        seen(); return true
                    }.count
                }
            ),
            (
                "drop(while:)",
                { c, seen in
                    var count = 0
                    _ = c.drop { _ in
                        seen(); count += 1; return true
                    }
                    return count
                }
            ),
            (
                "split",
                { c, seen in
                    c.split { _ in
                        seen(); return false
                    }.first?.count ?? 0
                }
            ),
            (
                "trimmingPrefix",
                { c, seen in
                    c.trimmingPrefix { _ in
                        seen(); return false
                    }.count
                }
            ),
            (
                "joined",
                { c, seen in
                    [c].joined().map { element in
                        seen(); return element
                    }.count
                }
            ),
            (
                "lazy joined",
                { c, seen in
                    var count = 0
                    for _ in [0].lazy.map({ _ in c }).joined() { seen(); count += 1 }
                    return count
                }
            ),
            (
                "lazy flatMap",
                { c, seen in
                    let all = [0].lazy.flatMap { _ in c },
                        kept = all.filter { _ in
                            seen(); return true
                        }
                    return kept.reduce(0) { count, _ in count + 1 }
                }
            ),
            (
                "slice",
                { c, seen in
                    c[...].map { element in
                        seen(); return element
                    }.count
                }
            ),
            (
                "slice of a slice",
                { c, seen in
                    var count = 0
                    let slice = c[0...].dropFirst(0)
                    for index in slice.indices { _ = slice[index]; seen(); count += 1 }
                    return count
                }
            ),
            (
                "prefix",
                { c, seen in
                    c.prefix(100).map { element in
                        seen(); return element
                    }.count
                }
            ),
            (
                "suffix",
                { c, seen in
                    c.suffix(100).map { element in
                        seen(); return element
                    }.count
                }
            ),
            (
                "dropFirst",
                { c, seen in
                    c.dropFirst(0).map { element in
                        seen(); return element
                    }.count
                }
            ),
            (
                "dropLast",
                { c, seen in
                    c.dropLast(0).map { element in
                        seen(); return element
                    }.count
                }
            ),
            (
                "shuffled",
                { c, seen in
                    seen()
                    return c.shuffled().count
                }
            ),
            ("difference", { c, seen in c.difference(from: [] as [C.Element]) { _, _ in false }.count }),
        ]
    }
    /// Those that ask about what is there now, one after the other.
    static var asking: [(name: String, ask: (C) -> Void)] {
        [
            ("count and index", { c in for index in 0..<c.count { _ = c[index] } }),
            ("first", { c in _ = c.first }), ("last", { c in _ = c.last }), ("suffix", { c in _ = c.suffix(2) }),
            ("dropFirst", { c in _ = c.dropFirst(3).map { $0 } }), ("dropLast", { c in _ = c.dropLast(1) }),
            ("randomElement", { c in _ = c.randomElement() }), ("range", { c in _ = c[3..<5] }),
            ("open range", { c in _ = c[4...] }),
            ("range up to", { c in _ = c[..<5].reversed() }),
            ("distance", { c in _ = c.distance(from: c.startIndex, to: c.endIndex) }),
            (
                "joined twice",
                { c in
                    let both = [c, c].joined()
                    _ = (
                        both.map { $0 }, both.prefix(3).map { $0 }, both.first, both.last, both.reversed().map { $0 },
                        both.count
                    )
                }
            ),
            (
                "lazy flatMap twice",
                { c in
                    let both = [0, 1].lazy.flatMap { _ in c }
                    _ = (both.map { $0 }.count, both.first, both.last, Array(both), both.reversed().count)
                }
            ),
            ("description", { c in _ = "\(c) \(c.prefix(3))" }), ("isEmpty", { c in _ = c.isEmpty ? nil : c[0] }),
        ]
    }
}

@Suite struct LiveCollectionTests {
    /// What a walk sees is what was there when it began, whatever it changes.
    private struct WalkBody: LiveBody {
        let subject: LiveSubject
        let change: (LiveSubject) throws -> Void

        func run(_ kind: String, _ collection: some LiveCollection) throws {
            func all<C: LiveCollection>(_ collection: C) throws {
                for (name, walk) in Ways<C>.live + Ways<C>.generic {
                    try subject.fill(subject.store)
                    try #require(collection.count == LiveSubject.full, "\(kind), \(name)")
                    var isFirst = true, failure: (any Error)?
                    let count = walk(collection) {
                        if isFirst { do { try change(subject) } catch { failure = error } }
                        isFirst = false
                    }
                    #expect(failure == nil, "\(kind), \(name)")
                    // Code that reads everything at once has done so when it gets the first, or has not begun.
                    #expect(count == LiveSubject.full || name == "shuffled", "\(kind), \(name)")
                }
            }
            try all(collection)
        }
    }

    @Test func changesOfTheSameThread() throws {
        let subject = try LiveSubject()
        try subject.forEachKind(WalkBody(subject: subject) { subject in try subject.thin(subject.store) })
        #expect(subject.store.lastError == nil)
    }

    @Test func changesInsideOfAWrite() throws {
        let subject = try LiveSubject()
        struct InWrite: LiveBody {
            let subject: LiveSubject
            func run(_ kind: String, _ collection: some LiveCollection) throws {
                func all<C: LiveCollection>(_ collection: C) throws {
                    for (name, walk) in Ways<C>.live + Ways<C>.generic {
                        try subject.fill(subject.store)
                        try subject.store.write { tx in
                            var isFirst = true, failure: (any Error)?
                            let count = walk(collection) {
                                if isFirst { do { try subject.thin(tx) } catch { failure = error } }
                                isFirst = false
                            }
                            #expect(failure == nil, "\(kind), \(name)")
                            #expect(count == LiveSubject.full || name == "shuffled", "\(kind), \(name)")
                        }
                        #expect(collection.count == LiveSubject.few || name == "difference", "\(kind), \(name)")
                    }
                }
                try all(collection)
            }
        }
        try subject.forEachKind(InWrite(subject: subject))
    }

    @Test func aDeliveryInBetween() throws {
        let subject = try LiveSubject()
        let token = try subject.store.objects(LivePup.self).observe { _ in }
        defer { withExtendedLifetime(token) {} }
        try subject.forEachKind(
            WalkBody(subject: subject) { subject in
                try subject.thin(subject.other)
                try subject.store.deliver()
            })
    }

    /// Runs `body` while another thread makes six of two and two of six.
    private func whileAnotherThreadWrites(_ subject: LiveSubject, _ body: @escaping @Sendable () throws -> Void) {
        let ends = Atomic<Bool>(false), errors = Errors()
        onThreads(2) { number in
            do {
                if number == 0 {
                    while !ends.load(ordering: .relaxed) {
                        try subject.thin(subject.store)
                        try subject.fill(subject.store)
                    }
                } else {
                    defer { ends.store(true, ordering: .relaxed) }
                    try body()
                }
            } catch {
                errors.add(error as? ObjStoreError ?? ObjStoreErrorSample.missing)
            }
        }
        #expect(errors.all.isEmpty)
    }

    /// A walk sees six or two.
    @Test func changesOfAnotherThread() throws {
        let subject = try LiveSubject()
        struct Meanwhile: LiveBody {
            func run(_ kind: String, _ collection: some LiveCollection) throws {
                func all<C: LiveCollection>(_ collection: C) {
                    for _ in 0..<40 {
                        for (name, walk) in Ways<C>.live where name != "drop(while:)" {
                            let count = walk(collection) {}
                            #expect(count == LiveSubject.full || count == LiveSubject.few, "\(kind), \(name): \(count)")
                        }
                        for (_, walk) in Ways<C>.generic { _ = walk(collection) {} }
                        for (_, ask) in Ways<C>.asking { ask(collection) }
                    }
                }
                all(collection)
            }
        }
        whileAnotherThreadWrites(subject) {
            // What is no longer there when it is read is reported, and nothing else.
            do { try Store.checked { try subject.forEachKind(Meanwhile()) } } catch let error as ObjStoreError
                where error.code == .outOfRange
            {}
        }
    }

    /// Algorithms for patterns.
    @Test func patternsWhileAnotherThreadWrites() throws {
        let subject = try LiveSubject()
        whileAnotherThreadWrites(subject) {
            let numbers = subject.kennel.numbers, pups = subject.store.objects(LivePup.self)
            for _ in 0..<300 {
                let found = numbers.firstRange(of: [3, 4])
                #expect(found == nil || found == 3..<5)
                let ranges = numbers.ranges(of: [1])
                #expect(ranges == [1..<2] && numbers.contains([0, 1]) && !numbers.contains([1, 0]))
                let parts = numbers.split(separator: [1]).map { Array($0) }
                #expect(parts == [[0]] || parts == [[0], [2, 3, 4, 5]])
                #expect(
                    [1, 5].contains(numbers.trimmingPrefix([0]).count)
                        && [1, 5].contains(numbers.trimmingPrefix { $0 == 0 }.count))
                _ = (
                    pups.firstRange(of: pups), pups.trimmingPrefix { $0.name == "pup 0" }.map { $0 },
                    [pups, pups].joined().map(\.name)
                )
            }
        }
    }

    /// A walk that counts again while it continues comes to an end, too, where the collection becomes shorter.
    @Test func generallyCountedInBetween() throws {
        let subject = try LiveSubject()
        func steps<C: Collection>(_ c: C, _ change: () -> Void) -> Int where C.Index == Int {
            var index = c.startIndex, steps = 0
            while index != c.endIndex, steps < 1000 {
                if c.count > 100 { return -1 }
                _ = c[index]
                if steps == 3 { change() }
                index = c.index(after: index)
                steps += 1
            }
            return steps
        }
        func pairs<C: Collection>(_ c: C, _ change: () -> Void) -> Int where C.Index == Int {
            var first = c.startIndex, steps = 0
            while first != c.endIndex, steps < 1000 {
                var second = c.startIndex
                while second != c.endIndex, steps < 1000 {
                    if steps == 20 { change() }
                    c.formIndex(after: &second)
                    steps += 1
                }
                first = c.index(after: first)
            }
            return steps
        }
        struct Counted: LiveBody {
            let subject: LiveSubject
            let body: (any LiveCollection, () -> Void) -> Int
            func run(_ kind: String, _ collection: some LiveCollection) throws {
                try subject.fill(subject.store)
                let count = try Store.checked { body(collection) { try? subject.thin(subject.store) } }
                #expect(count >= 0 && count < 100, "\(kind): \(count)")
            }
        }
        func ofSteps(_ collection: any LiveCollection, _ change: () -> Void) -> Int { steps(collection, change) }
        func ofPairs(_ collection: any LiveCollection, _ change: () -> Void) -> Int { pairs(collection, change) }
        for body in [ofSteps, ofPairs] {
            // A position that is gone may be read, and is reported.
            do { try subject.forEachKind(Counted(subject: subject, body: body)) } catch let error as ObjStoreError
                where error.code == .outOfRange
            {}
        }
    }

    /// As `map` goes, where it is slow between its first two steps, or waits there for a lock of the allocator: behind
    /// another algorithm, whose count it was given.
    @Test(arguments: [false, true]) func generallyCountedAndSlow(sleeps: Bool) throws {
        struct Slow: LiveBody {
            let subject: LiveSubject
            let sleeps: Bool
            func run(_ kind: String, _ collection: some LiveCollection) throws {
                try subject.fill(subject.store)
                let begins = Atomic<Bool>(false), isThin = Atomic<Bool>(false), sleeps = sleeps
                @Sendable func met<C: Collection>(_ c: C) -> Bool where C.Index == Int {
                    let before = c.map { $0 }.count, count = c.count
                    begins.store(true, ordering: .releasing)
                    // Busy, and not asleep.
                    while !isThin.load(ordering: .acquiring) {}
                    if sleeps { usleep(100) }
                    for _ in 0..<2_000_000 { _ = isThin.load(ordering: .acquiring) }
                    var index = c.startIndex
                    for _ in 0..<count {
                        _ = c[index]
                        c.formIndex(after: &index)
                    }
                    return count == before && index == c.endIndex
                }
                let subject = subject, carried = Carried(value: collection), result = Atomic<Bool>(false)
                onThreads(2) { number in
                    if number == 0 {
                        while !begins.load(ordering: .acquiring) {}
                        try? subject.thin(subject.other)
                        isThin.store(true, ordering: .releasing)
                    } else {
                        // A position that is gone is reported.
                        do { try Store.checked { result.store(met(carried.value), ordering: .releasing) } } catch {}
                    }
                }
                let isMet = result.load(ordering: .acquiring)
                #expect(isMet, "\(kind)")
            }
        }
        let subject = try LiveSubject()
        for _ in 0..<5 { try subject.forEachKind(Slow(subject: subject, sleeps: sleeps)) }
    }

    @Test func theSmallInput() throws {
        let subject = try LiveSubject(), pups = subject.store.objects(LivePup.self)
        try subject.store.write { tx in for pup in pups.prefix(4) { try tx.delete(pup) } }
        #expect(pups.count == 2)
        try subject.fill(subject.store)
        try subject.store.write { tx in for pup in pups.suffix(2) { try tx.delete(pup) } }
        #expect(pups.count == 4)
        try subject.store.write { tx in for pup in pups[1..<3].reversed() { try tx.delete(pup) } }
        #expect(pups.map(\.name) == ["pup 0", "pup 3"])
        #expect(subject.store.objects(LivePup.self).prefix(5).description.hasPrefix("[LivePup {"))
    }

    /// Results show what is there now; what is taken from them stays.
    @Test func liveAndPinned() throws {
        let subject = try LiveSubject(), pups = subject.store.objects(LivePup.self), pinned = pups.pinned(),
            part = subject.kennel.numbers[2..<5]
        try subject.thin(subject.store)
        #expect(pups.count == 2 && pups.endIndex == 2 && pups.indices == 0..<2 && pups.last?.name == "pup 1")
        #expect(pinned.count == 6 && pinned.map(\.isInvalidated) == [false, false, true, true, true, true])
        #expect(Array(part) == [2, 3, 4] && part.startIndex == 2 && part[3] == 3)
        // Generic code that comes again sees what is there then.
        func names<C: RandomAccessCollection>(_ c: C) -> (Int, Int, Int, C.Element?) {
            (c.map { $0 }.count, c.suffix(4).count, c.count, c.last)
        }
        #expect(names(pups).0 == 2 && names(pups).1 == 2)
        try subject.fill(subject.store)
        #expect(names(pups).0 == 6 && names(pups).1 == 4 && names(pups).2 == 6 && names(pups).3?.name == "pup 5")
        #expect(names(subject.kennel.numbers).3 == 5)
    }

    /// A thread that waited for another one, which has changed something, sees it. (One that learns it without waiting,
    /// because the other one has ended by then, looks like an algorithm that goes on.)
    @Test func generallyAfterAnotherThread() throws {
        let subject = try LiveSubject(), pups = subject.store.objects(LivePup.self)
        // "process/task/thread"
        let thread = String(unsafeUninitializedCapacity: 64) {
            max(0, $0.withMemoryRebound(to: CChar.self) { readlink("/proc/thread-self", $0.baseAddress!, 64) })
        }
        /// The kernel says S of a thread that waits: behind the name, which ends with the last parenthesis.
        @Sendable func isWaiting() -> Bool {
            let file = open("/proc/\(thread)/stat", O_RDONLY)
            defer { close(file) }
            let text = [UInt8](unsafeUninitializedCapacity: 512) { $1 = max(0, read(file, $0.baseAddress, 512)) }
            return text.lastIndex(of: UInt8(ascii: ")")).map { text[$0 + 2] == UInt8(ascii: "S") } ?? true
        }
        func counts<C: RandomAccessCollection>(_ c: C) -> [Int] {
            [c.map { $0 }.count, c.count, c.reversed().count, c.first == nil ? 0 : c.suffix(9).count]
        }
        for _ in 0..<20 {
            for (count, change) in [(LiveSubject.few, subject.thin), (LiveSubject.full, subject.fill)]
                as [(Int, (Store) throws -> Void)]
            {
                nonisolated(unsafe) let change = change
                onThreads(1) { _ in
                    while !isWaiting() { sched_yield() }
                    do { try change(subject.store) } catch { Issue.record(error) }
                }
                #expect(
                    counts(pups) == [count, count, count, count]
                        && counts(subject.kennel.numbers) == [count, count, count, count])
            }
        }
    }

    /// From none to six, and algorithms of the standard library that know nothing of it.
    @Test func noneAndSome() throws {
        let store = try Store(Store.Configuration(.memory(), models: [LiveKennel.self, LivePup.self]))
        let ends = Atomic<Bool>(false)
        @Sendable func general<C: RandomAccessCollection>(_ c: C) {
            _ = (
                c.reversed().map { $0 }, c.enumerated().map { $0.offset }, [c, c].joined().map { $0 },
                Array(c.lazy.reversed())
            )
            _ = (
                c[c.indices { _ in true }].map { $0 }, c.removingSubranges(c.indices { _ in false }).map { $0 },
                c.suffix(2), c.last, c.first
            )
        }
        onThreads(2) { number in
            if number == 0 {
                for count in 0... where !ends.load(ordering: .relaxed) || count < 0 {
                    try? store.write { tx in
                        try tx.deleteAll()
                        for _ in 0..<count % 7 { try tx.create(LivePup.self) }
                    }
                    if ends.load(ordering: .relaxed) { return }
                }
            } else {
                for _ in 0..<3000 {
                    let pups = store.objects(LivePup.self)
                    _ = (Array(pups).difference(from: pups), [LivePup]().difference(from: pups))
                    var kept: ArraySlice<LivePup> = [LivePup()]
                    kept.insert(contentsOf: pups, at: 0)
                    kept.replaceSubrange(kept.endIndex - 1..<kept.endIndex, with: pups)
                    general(pups)
                }
                ends.store(true, ordering: .relaxed)
            }
        }
    }

    /// A handler of errors may look at the collection whose error it gets.
    @Test func errorsThatLookAtTheSameCollection() throws {
        final class Box: @unchecked Sendable {
            var numbers: List<Int>?
            var told = 0
        }
        @Sendable func steps<C: RandomAccessCollection>(_ c: C, _ between: () throws -> Void) rethrows -> Int
        where C.Index == Int {
            _ = c.count
            try between()
            _ = c[c.startIndex]
            return c.reversed().map { $0 }.count
        }
        let box = Box()
        var configuration = Store.Configuration(.memory(), models: [LiveKennel.self, LivePup.self])
        configuration.onError = { _ in
            box.told += 1
            _ = steps(box.numbers!) {}
        }
        let store = try Store(configuration)
        let kennel = try store.write { tx in try tx.create(LiveKennel.self, value: ["id": 1, "numbers": [1, 2]]) }
        box.numbers = kennel.numbers
        _ = try steps(kennel.numbers) { try store.write { tx in try tx.delete(kennel) } }
        // What the handler does wrong does not call it again.
        #expect(box.told > 0 && box.told < 20 && store.lastError?.code == .noSuchObject)
    }

    /// An end before the start, as a count of none has it.
    @Test func rangesThatEndBeforeTheStart() throws {
        let subject = try LiveSubject(), numbers = subject.kennel.numbers
        try subject.store.write { tx in
            try tx.deleteAll(LivePup.self)
            numbers.removeAll()
            subject.kennel.words.removeAll()
            subject.kennel.things.removeAll()
            subject.kennel.extra = .list(AnyList())
        }
        struct Ends: LiveBody {
            func run(_ kind: String, _ collection: some LiveCollection) throws {
                func all<C: LiveCollection>(_ c: C) throws {
                    #expect(code { try Store.checked { c[..<(c.count - 1)] } } == .outOfRange, "\(kind)")
                    #expect(code { try Store.checked { c[...(c.count - 2)] } } == .outOfRange, "\(kind)")
                    #expect(code { try Store.checked { c.prefix(upTo: c.count - 1) } } == .outOfRange, "\(kind)")
                    #expect(code { try Store.checked { c.prefix(through: c.count - 2) } } == .outOfRange, "\(kind)")
                    #expect(code { try Store.checked { c.prefix(through: .max) } } == .outOfRange, "\(kind)")
                    #expect(code { try Store.checked { c.suffix(from: 3) } } == .outOfRange, "\(kind)")
                    #expect(
                        try Store.checked { c[..<c.count].isEmpty && c[...(c.count - 1)].isEmpty && c[0...].isEmpty },
                        "\(kind)")
                }
                try all(collection)
            }
        }
        try subject.forEachKind(Ends())
        #expect(code { try subject.store.write { _ in numbers[..<(numbers.count - 1)].reverse() } } == .outOfRange)
    }

    /// A position that was there a moment ago, and is not any more.
    @Test func positionsThatAreGone() throws {
        let subject = try LiveSubject(), pups = subject.store.objects(LivePup.self), numbers = subject.kennel.numbers
        let error = #expect(throws: ObjStoreError.self) {
            try subject.store.write { tx in for index in 0..<pups.count { try tx.delete(pups[index]) } }
        }
        #expect(error?.code == .noSuchObject || error?.code == .outOfRange)
        #expect(pups.count == 6)
        #expect(code { try Store.checked { numbers[4..<9] } } == .outOfRange)
        #expect(code { try Store.checked { pups[7...] } } == .outOfRange)
        #expect(code { try Store.checked { pups[6] } } == .outOfRange)
        #expect(try Store.checked { Array(numbers[4...]) } == [4, 5])
        #expect(try Store.checked { Array(numbers[...1]) } == [0, 1])
        #expect(try Store.checked { numbers[6...].isEmpty })
    }

    /// Positions at the ends of the numbers are positions that are not there.
    @Test func extremePositions() throws {
        struct Extremes: LiveBody {
            func run(_ kind: String, _ collection: some LiveCollection) throws {
                func all<C: LiveCollection>(_ c: C) throws {
                    let count = c.count
                    for range in [0...Int.max, Int.min...Int.max, Int.max...Int.max, Int.min...0, Int.min...Int.min] {
                        #expect(code { try Store.checked { c[range] } } == .outOfRange, "\(kind) \(range)")
                    }
                    for range in [0..<Int.max, Int.min..<Int.max, Int.max..<Int.max, Int.min..<0, Int.min..<Int.min] {
                        #expect(code { try Store.checked { c[range] } } == .outOfRange, "\(kind) \(range)")
                        #expect(code { try Store.checked { generic(c, range) } } == .outOfRange, "\(kind) \(range)")
                    }
                    #expect(code { try Store.checked { c[Int.max...] } } == .outOfRange, "\(kind)")
                    #expect(code { try Store.checked { c[Int.min...] } } == .outOfRange, "\(kind)")
                    #expect(code { try Store.checked { c[...Int.max] } } == .outOfRange, "\(kind)")
                    #expect(code { try Store.checked { c[...Int.min] } } == .outOfRange, "\(kind)")
                    #expect(code { try Store.checked { c[..<Int.min] } } == .outOfRange, "\(kind)")
                    for index in [Int.max, Int.min, -1] {
                        #expect(code { try Store.checked { c[index] } } == .outOfRange, "\(kind) \(index)")
                    }
                    #expect(
                        c.index(1, offsetBy: .max, limitedBy: count) == nil
                            && c.index(1, offsetBy: .min, limitedBy: 0) == nil, "\(kind)")
                    #expect(
                        c.index(-2, offsetBy: .min, limitedBy: 0) == .min
                            && c.index(1, offsetBy: .max, limitedBy: 0) == .max, "\(kind)")
                    #expect(
                        c.index(1, offsetBy: .max) == .max && c.index(-2, offsetBy: .min) == .min
                            && c.index(after: .max) >= count, "\(kind)")
                    #expect(
                        c.index(before: .min) == .min && c.distance(from: .min, to: .max) == .max
                            && c.distance(from: .max, to: .min) == .min, "\(kind)")
                    #expect(count == c.count, "\(kind)")
                }
                func steps<C: Collection>(_ c: C) -> Bool where C.Index == Int {
                    c.index(1, offsetBy: .max) == .max && c.index(1, offsetBy: .max, limitedBy: c.count) == nil
                        && c.distance(from: .min, to: .max) == .max
                }
                func generic<C: Collection, R: RangeExpression>(_ c: C, _ range: R) -> C.SubSequence
                where C: LiveCollection, R.Bound == Int { c[range] }
                try all(collection)
                #expect(steps(collection), "\(kind)")
            }
        }
        let subject = try LiveSubject()
        try subject.forEachKind(Extremes())
        try subject.store.write { _ in try subject.forEachKind(Extremes()) }
    }

    /// What a value or a list has may be another thing by the time that it is changed.
    @Test func changesOfWhatIsNotThere() throws {
        let subject = try LiveSubject(), numbers = subject.kennel.numbers
        #expect(code { try subject.store.write { _ in numbers[0..<9].reverse() } } == .outOfRange)
        #expect(code { try subject.store.write { _ in subject.kennel.numbers[0..<2] = numbers[1..<4] } } == .outOfRange)
        #expect(Array(numbers) == [0, 1, 2, 3, 4, 5])
        try subject.store.write { _ in subject.kennel.numbers[...].reverse() }
        #expect(Array(numbers[...]) == [5, 4, 3, 2, 1, 0])
        #expect(code { try subject.store.write { _ in subject.kennel.extra["key"] = 1 } } == .wrongType)
        try subject.store.write { _ in subject.kennel.extra = .none }
        #expect(code { try subject.store.write { _ in subject.kennel.extra[0] = 1 } } == .wrongType)
        #expect(code { try subject.store.write { _ in subject.kennel.extra["key"] = nil } } == .wrongType)
        #expect(subject.kennel.extra.isNone)
    }

    @Test func listsAreChangedInPlace() throws {
        let subject = try LiveSubject()
        try subject.store.write { _ in
            var numbers = subject.kennel.numbers
            numbers[1..<4] = numbers[2..<5]
            #expect(Array(numbers) == [0, 2, 3, 4, 4, 5])
            numbers.sort(by: >)
            #expect(Array(numbers) == [5, 4, 4, 3, 2, 0])
            numbers[..<3].reverse()
            numbers.swapAt(0, 5)
            #expect(Array(numbers) == [0, 4, 5, 3, 2, 4])
            numbers.reverse()
            #expect(numbers.partition { $0 > 3 } == 3)
        }
    }

    /// Without a primary key `==` is about instances; whether something is in a collection is not.
    @Test func objectsAreFoundWithoutAPrimaryKey() throws {
        let subject = try LiveSubject(), pups = subject.store.objects(LivePup.self), third = pups[2]
        func generic<C: Collection<LivePup>>(_ c: C) -> (Bool, C.Index?) {
            (c.contains(third), c.firstIndex(of: third))
        }
        struct Finder: LiveBody {
            let third: LivePup
            func run(_ kind: String, _ collection: some LiveCollection) throws {
                guard let pups = collection as? any LiveCollection<LivePup> else { return }
                func find(_ pups: some LiveCollection<LivePup>) {
                    #expect(
                        pups.contains(third) && pups.firstIndex(of: third) == 2 && pups.lastIndex(of: third) == 2,
                        "\(kind)")
                    #expect(!pups.contains(LivePup()) && pups.firstIndex(of: LivePup()) == nil, "\(kind)")
                }
                find(pups)
            }
        }
        try subject.forEachKind(Finder(third: third))
        #expect(generic(pups).0 && generic(pups).1 == 2)
        #expect(
            pups.prefix(3).contains(third) && pups[1...].firstIndex(of: third) == 2 && !pups.suffix(2).contains(third))
        #expect(generic(pups.dropFirst()).1 == 2)
    }

    /// A length below 0, as `count - 10` may be, is none, and an error that is reported.
    @Test func lengthsBelowZero() throws {
        let subject = try LiveSubject()
        struct Below: LiveBody {
            func run<C: LiveCollection>(_ kind: String, _ collection: C) throws {
                let few = collection.count - 10
                func reported(_ name: String, _ count: Int, _ body: () throws -> Int) {
                    let length = Mutex(-1)
                    #expect(
                        code {
                            try Store.checked {
                                let found = try body(); length.withLock { $0 = found }
                            }
                        } == .outOfRange, "\(kind), \(name)")
                    #expect(length.withLock { $0 } == count, "\(kind), \(name)")
                }
                for length in [few, -1, .min] {
                    reported("prefix", 0) { collection.prefix(length).count }
                    reported("suffix", 0) { collection.suffix(length).count }
                    reported("dropFirst", LiveSubject.full) { collection.dropFirst(length).count }
                    reported("dropLast", LiveSubject.full) { collection.dropLast(length).count }
                    reported("split", 1) {
                        (collection.split(maxSplits: length) { _ in true } as [Pinned<C.Element>]).count
                    }
                }
                #expect(
                    collection.prefix(.max).count == LiveSubject.full
                        && collection.suffix(.max).count == LiveSubject.full)
                #expect(collection.dropFirst(.max).isEmpty && collection.dropLast(.max).isEmpty)
            }
        }
        try subject.forEachKind(Below())
        try subject.store.write { _ in
            for length in [subject.kennel.numbers.count - 10, -1, .min] {
                #expect(code { try Store.checked { subject.kennel.numbers.removeFirst(length) } } == .outOfRange)
                #expect(code { try Store.checked { subject.kennel.numbers.removeLast(length) } } == .outOfRange)
                #expect(code { try Store.checked { subject.kennel.list.removeLast(length) } } == .outOfRange)
            }
            #expect(code { try Store.checked { subject.kennel.numbers.removeLast(7) } } == .outOfRange)
        }
        #expect(subject.kennel.numbers.count == LiveSubject.full && subject.kennel.list.count == LiveSubject.full)
    }

    /// Several ranges that are not there any more, as a single one.
    @Test func rangesBeyondTheEnd() throws {
        let subject = try LiveSubject()
        struct Beyond: LiveBody {
            func run(_ kind: String, _ collection: some LiveCollection) throws {
                let some = RangeSet([1..<3, 5..<9]), all = collection.indices { _ in true }
                let kept = Mutex(0), left = Mutex(0)
                #expect(
                    code {
                        try Store.checked {
                            let count = collection[some].count; kept.withLock { $0 = count }
                        }
                    } == .outOfRange, "\(kind)")
                #expect(
                    code {
                        try Store.checked {
                            let count = collection.removingSubranges(some).count; left.withLock { $0 = count }
                        }
                    } == .outOfRange, "\(kind)")
                #expect(kept.withLock { $0 } == 3 && left.withLock { $0 } == 3, "\(kind)")
                try Store.checked {
                    #expect(
                        collection[all].count == LiveSubject.full && collection.removingSubranges(all).isEmpty,
                        "\(kind)")
                    #expect(collection.removingSubranges(RangeSet<Int>()).count == LiveSubject.full, "\(kind)")
                }
            }
        }
        try subject.forEachKind(Beyond())
    }

    /// All that asks which object it is says the same of one without a primary key.
    @Test func objectsWithoutAPrimaryKeyAreTheSameForAll() throws {
        let subject = try LiveSubject()
        let third = subject.store.objects(LivePup.self)[2], fourth = subject.store.objects(LivePup.self)[3],
            last = subject.store.objects(LivePup.self)[5]
        #expect(third != subject.store.objects(LivePup.self)[2], "== is about instances")
        struct Finder: LiveBody {
            let third: LivePup, fourth: LivePup, last: LivePup
            func run(_ kind: String, _ collection: some LiveCollection) throws {
                guard let pups = collection as? any LiveCollection<LivePup> else { return }
                func find(_ pups: some LiveCollection<LivePup>) {
                    #expect(pups.indices(of: third) == RangeSet(2..<3), "\(kind)")
                    #expect(
                        pups.split(separator: third).map(\.count) == [2, 3]
                            && pups.split(separator: [third, fourth]).map(\.indices) == [0..<2, 4..<6], "\(kind)")
                    #expect(
                        pups.contains([third, fourth]) && !pups.contains([fourth, third])
                            && pups.firstRange(of: [third, fourth]) == 2..<4, "\(kind)")
                    #expect(pups.ranges(of: [fourth]) == [3..<4], "\(kind)")
                    #expect(
                        pups.trimmingPrefix(pups.prefix(2)).map(\.name).first == "pup 2"
                            && pups[2...].trimmingPrefix([third]).startIndex == 3, "\(kind)")
                    #expect(
                        pups.elementsEqual(pups) && pups.starts(with: pups.prefix(2)) && !pups.starts(with: [third]),
                        "\(kind)")
                    #expect(
                        pups.difference(from: pups).isEmpty
                            && pups.difference(from: pups.dropLast()).insertions.count == 1, "\(kind)")
                    #expect(pups.reversed().contains(third), "\(kind)")
                    #expect(
                        pups.reversed().firstIndex(of: last) == pups.reversed().startIndex
                            && pups.reversed().lastIndex(of: third) != nil, "\(kind)")
                    #expect(
                        pups.pinned().indices(of: third) == RangeSet(2..<3)
                            && pups.pinned().ranges(of: [third]) == [2..<3], "\(kind)")
                    #expect(pups.lazy.contains(third) && pups.indices(of: LivePup()).isEmpty, "\(kind)")
                }
                find(pups)
            }
        }
        try subject.forEachKind(Finder(third: third, fourth: fourth, last: last))
        #expect(
            subject.kennel.numbers.indices(of: 2) == RangeSet(2..<3)
                && subject.kennel.numbers.split(separator: 2).map(\.count) == [2, 3])
    }
}

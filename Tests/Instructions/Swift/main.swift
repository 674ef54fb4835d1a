// The hot paths of the Swift interface, for Tests/Instructions/run.
import Glibc
import ObjStore

final class Item: Object {
    @Persisted(primaryKey: true) var id: Int
    @Persisted(indexed: true) var number = 0
    @Persisted var name = ""
    @Persisted var price = 0.0
}

/// What marks.c has, from the library that the runner names. Without it the program runs, and counts nothing.
struct Marks {
    let start: @convention(c) () -> Void
    let freshHeap: @convention(c) () -> Void
    let begin: @convention(c) (UnsafePointer<CChar>, Int) -> Void
    let end: @convention(c) () -> Void

    init?() {
        guard let path = getenv("INSTRUCTIONS_MARKS"), let library = dlopen(path, RTLD_NOW) else { return nil }
        guard let start = dlsym(library, "marks_start"), let freshHeap = dlsym(library, "marks_fresh_heap"),
            let begin = dlsym(library, "marks_begin"), let end = dlsym(library, "marks_end")
        else { return nil }
        self.start = unsafeBitCast(start, to: (@convention(c) () -> Void).self)
        self.freshHeap = unsafeBitCast(freshHeap, to: (@convention(c) () -> Void).self)
        self.begin = unsafeBitCast(begin, to: (@convention(c) (UnsafePointer<CChar>, Int) -> Void).self)
        self.end = unsafeBitCast(end, to: (@convention(c) () -> Void).self)
    }
}

let marks = Marks()
let rounds = 5

/// Rounds of `count` operations; the first is not counted: caches and what is made at the first call.
func measure(_ name: String, _ count: Int, _ body: (Range<Int>) throws -> Void) rethrows {
    marks?.freshHeap()
    for round in 0...rounds {
        if round > 0 { marks?.begin(name, count) }
        try body(round * count..<(round + 1) * count)
        if round > 0 { marks?.end() }
    }
}

func expect(_ holds: Bool, _ what: String) {
    if !holds { fatalError("wrong: \(what)") }
}

let objects = 5000
let store = try Store(Store.Configuration(.memory(), models: [Item.self]))
try store.write { transaction in
    for id in 0..<objects {
        let item = Item()
        item.id = id
        item.number = id * 7919 % 1000
        item.name = "the name of item \(id)"
        item.price = Double(id) / 4
        try transaction.add(item)
    }
}

marks?.start()
try Store.checked {
    let item = try store.object(ofType: Item.self, forPrimaryKey: 4321)!
    var sum = 0
    measure("swift_get_int", 1000) { range in
        for _ in range { sum += item.number }
    }
    expect(sum == (rounds + 1) * 1000 * (4321 * 7919 % 1000), "swift_get_int")

    var length = 0
    measure("swift_get_text", 1000) { range in
        for _ in range { length += item.name.utf8.count }
    }
    expect(length == (rounds + 1) * 1000 * 21, "swift_get_text")

    var found = 0
    try measure("swift_find", 500) { range in
        for turn in range {
            if try store.object(ofType: Item.self, forPrimaryKey: turn * 31 % objects) != nil { found += 1 }
        }
    }
    expect(found == (rounds + 1) * 500, "swift_find")

    var price = 0.0
    let cheap = store.objects(Item.self).where { $0.id < 500 }
    measure("swift_loop", 500) { _ in
        for item in cheap { price += item.price }
    }
    expect(price == Double(rounds + 1) * 31187.5, "swift_loop")

    var count = 0
    measure("swift_where_count", 20) { range in
        for turn in range { count += store.objects(Item.self).where { $0.number == turn }.count }
    }
    expect(count == (rounds + 1) * 20 * 5, "swift_where_count")

    try store.write { _ in
        measure("swift_set", 500) { range in
            for turn in range { item.price = Double(turn) }
        }
    }
}
try store.close()

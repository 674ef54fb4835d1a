import CObjStore
import CSystem
import Glibc
import Testing

// A43 to A61 again, with observers of every kind that watch, through another handle of the store: what each one's copy
// has become by its change sets is what is there.

/// What is told of a dog that comes, whoever has it.
private let ofDogs: Set = [
    "class", "every one", "sorted", "behind a link", "key path", "by age", "by keeper",
]
/// What is not.
private let ofOthers: Set = ["Luke", "Node", "who has one", "keepers", "words", "numbers", "notes", "journal", "tags"]

/// Some were told, and others not.
private func expect(
    _ told: Set<String>, has some: Set<String>, not others: Set<String> = ofOthers,
    sourceLocation: SourceLocation = #_sourceLocation
) {
    #expect(some.subtracting(told).isEmpty, "told: \(told.sorted())", sourceLocation: sourceLocation)
    #expect(others.isDisjoint(with: told), "told: \(told.sorted())", sourceLocation: sourceLocation)
}

@Test("A43, A50: appended asynchronously, and synchronously") func a43Observed() throws {
    let kennel = try ObservedKennel(), store = try #require(kennel.store)
    let three: [(String, Int64)] = [("Ben", 13), ("Lita", 9), ("Maui", 1)]
    var seen: [String] = []
    let call = ObservedKennel.Call { tx in
        try kennel.append(tx, three)
    } completion: {
        // What the observers of the other handle will be told is there.
        try kennel.follow("A50, the completion")
        seen = kennel.lines("dogs")
        expect(try kennel.isWriting)
    }
    try kennel.write(call)
    #expect(try kennel.isWriting && kennel.follow("A50, right after the call").isEmpty)
    try kennel.finish()
    #expect(try !kennel.isWriting && call.completed == [.OBJSTORE_OK])
    #expect(seen == ["Rex 5 of Dachary", "Ben 13", "Lita 9", "Maui 1"] && kennel.lines("Ben") == ["Ben 13"])
    #expect(kennel.lines("young of the list") == ["Rex 5 of Dachary", "Lita 9", "Maui 1"])
    #expect(kennel.written == [["dogs"]])
    try writing(store) { tx in try kennel.append(tx, three) }
    expect(
        try kennel.follow("A43, synchronously"),
        has: ofDogs.union(["dogs", "query", "limited", "Ben", "young of the list", "by the keeper's name"]),
        not: ["Luke", "Node", "keepers", "words", "numbers", "notes", "journal", "tags"])
    #expect(kennel.lines("dogs").suffix(6) == ["Ben 13", "Lita 9", "Maui 1", "Ben 13", "Lita 9", "Maui 1"])
    try kennel.close()
}

@Test("A44: an object by its generated id, as its observer is told of it") func a44Observed() throws {
    let kennel = try ObservedKennel(), store = try #require(kennel.store)
    // What comes in a change set is what its id finds in the version after it.
    final class Found {
        let kennel: ObservedKennel
        var names: [String] = []
        init(_ kennel: ObservedKennel) { self.kennel = kennel }
    }
    let found = Found(kennel)
    var token: OpaquePointer?
    try ok(
        objstore_observe(
            kennel.watching, kennel.object("Luke", 0).class_id, 0,
            { changes, userdata in
                let found = Unmanaged<Found>.fromOpaque(userdata!).takeUnretainedValue(), kennel = found.kennel
                do {
                    var view: OpaquePointer?, before: OpaquePointer?
                    try ok(objstore_changes_view(changes, .OBJSTORE_AFTER, &view))
                    try ok(objstore_changes_view(changes, .OBJSTORE_BEFORE, &before))
                    for object in try ObservedCopy.objects(changes, .OBJSTORE_INSERTIONS) {
                        var id = objstore_null()
                        try ok(objstore_get(view, object, kennel["Luke.id"], nil, &id))
                        expect(try kennel.find(view!, "Luke", id)?.key == object.key)
                        expect(try kennel.find(before!, "Luke", id) == nil)
                        found.names.append(try kennel.name(view!, "Luke", object.key))
                    }
                } catch {
                    Issue.record("\(error)")
                }
                return .OBJSTORE_OK
            }, Unmanaged.passUnretained(found).toOpaque(), nil, &token))
    let luke = try writing(store) { tx in try kennel.from(tx, "Luke", ["name": "Luke"]) }
    #expect(try kennel.follow("A44") == ["Luke"] && found.names == ["Luke"] && kennel.lines("Luke") == ["Luke"])
    var id = objstore_null(), other = objstore_object_id()
    try ok(objstore_object_id_new(&other))
    try reading(store) { view in
        try ok(objstore_get(view, luke, kennel["Luke.id"], nil, &id))
        expect(try kennel.find(view, "Luke", objstore_object_id_value(other)) == nil)
    }
    #expect(try kennel.find(kennel.view, "Luke", id)?.key == luke.key, "the other handle has it")
    try ok(objstore_token_close(token))
    try kennel.close()
}

@Test("A45, A46: copies of objects and sets are nobody's business") func a45Observed() throws {
    let kennel = try ObservedKennel(), store = try #require(kennel.store)
    func numbers(_ view: OpaquePointer) throws -> [Int64] {
        var values = [objstore_value](repeating: objstore_null(), count: 9), count = 0
        try ok(objstore_collection_read(view, kennel.collection("numbers"), 0, 9, nil, nil, &values, &count))
        return values.prefix(count).map(\.data.integer)
    }
    try writing(store) { tx in try kennel.append(tx, [("Kermit", 1)]) }
    try kennel.follow("two dogs")
    kennel.commits = 0
    var values = Array(repeating: objstore_null(), count: 100), count = 0, buffer = objstore_buffer_init()
    defer { _ = objstore_buffer_free(&buffer) }
    try reading(store) { view in
        try ok(objstore_describe(view, kennel.object("Hound", 1), 0, &buffer, &values, 100, &count))
        expect(values[..<count].contains { string($0) == "Kermit" })
    }
    // What was copied is changed, and given to nobody.
    for at in 0..<count where string(values[at]) == "Kermit" { values[at] = objstore_string(text("another")) }
    #expect(try kennel.follow("A45").isEmpty && kennel.commits == 0)
    var copy = try reading(store) { view in try numbers(view) }
    #expect(copy == [3059, 3062, 3064])
    copy = []
    #expect(try kennel.follow("A46").isEmpty && kennel.commits == 0 && numbers(kennel.view).count == 3)
    // Made an object of its own, it comes, and what it was copied from stays.
    try writing(store) { tx in
        var object = objstore_object()
        try ok(
            objstore_create_from(
                tx, kennel.object("Hound", 0).class_id, .OBJSTORE_POLICY_ERROR, 0, values, count, &object, nil))
    }
    expect(
        try kennel.follow("A45, stored"), has: ofDogs.union(["query", "limited"]),
        not: ofOthers.union(["distinct", "dogs", "liked"]))
    #expect(kennel.commits == 1)
    #expect(kennel.lines("sorted") == ["Kermit 1", "Rex 5 of Dachary", "another 1"])
    try writing(store) { tx in
        try ok(objstore_collection_clear(tx, kennel.collection("numbers")))
        try ok(objstore_collection_clear(tx, kennel.collection("notes")))
    }
    // The keeper of some dogs was changed, and with it they were.
    expect(
        try kennel.follow("A46, emptied"), has: ["numbers", "notes", "who has one", "class"],
        not: ["words", "key path", "keepers", "Ben", "journal", "tags"])
    #expect(copy.isEmpty)
    #expect(kennel.written.last == ["numbers", "notes"])
    try kennel.close()
}

@Test("A47: a copy in another store in memory goes its own way") func a47Observed() throws {
    let kennel = try ObservedKennel(memory: "observed A47"), other = try ObservedKennel(memory: "observed A47, other")
    let store = try #require(kennel.store), there = try #require(other.store)
    let wolfie = try writing(store) { tx in try kennel.add(tx, "Wolfie", 1) }
    try kennel.follow("A47")
    #expect(try other.follow("A47, the other").isEmpty, "two stores")
    try reading(store) { view in
        try writing(there) { tx in
            var copy = objstore_object()
            try ok(objstore_copy_object(view, wolfie, tx, .OBJSTORE_POLICY_ERROR, &copy, nil))
            try other.set(tx, copy, "Hound.age", objstore_int(2))
        }
    }
    expect(
        try other.follow("A47, copied"), has: ofDogs.union(["query", "limited", "distinct", "by the keeper's name"]),
        not: ofOthers.union(["dogs", "Ben"]))
    #expect(try kennel.follow("A47, later").isEmpty)
    #expect(other.lines("sorted") == ["Rex 5 of Dachary", "Wolfie 2"])
    #expect(kennel.lines("sorted") == ["Rex 5 of Dachary", "Wolfie 1"])
    try other.close()
    try kennel.close()
}

@Test("A48, A49: copies of what is there, and of what leads in a circle") func a48Observed() throws {
    let kennel = try ObservedKennel(), other = try ObservedKennel()
    let store = try #require(kennel.store), there = try #require(other.store)
    let ann = try writing(store) { tx in try kennel.from(tx, "Keeper", ["id": 2, "name": "Ann"]) }
    let bob = try writing(there) { tx in try other.from(tx, "Keeper", ["id": 2, "name": "Bob"]) }
    try kennel.follow("A48")
    try other.follow("A48, the other")
    func copy(_ object: objstore_object, _ policy: objstore_policy) throws -> objstore_object {
        try reading(store) { view in
            try writing(there) { tx in
                var copy = objstore_object()
                try ok(objstore_copy_object(view, object, tx, policy, &copy, nil))
                return copy
            }
        }
    }
    #expect(throws: Failure.self) { try copy(ann, .OBJSTORE_POLICY_ERROR) }
    #expect(try other.follow("A48, refused").isEmpty)
    #expect(try copy(ann, .OBJSTORE_POLICY_MODIFIED).key == bob.key)
    expect(try other.follow("A48, modified"), has: ["keepers"], not: ofDogs.union(["dogs", "who has one", "Node"]))
    #expect(other.lines("keepers").last == "Ann: []")
    #expect(try copy(ann, .OBJSTORE_POLICY_MODIFIED).key == bob.key && other.follow("A48, again").isEmpty)
    let a = try writing(store) { tx in
        let a = try kennel.from(tx, "Node", ["name": "a"])
        let b = try kennel.from(tx, "Node", ["name": "b", "next": .link(a)])
        try kennel.set(tx, a, "Node.next", objstore_link(b))
        return a
    }
    #expect(try kennel.follow("A49") == ["Node"])
    #expect(throws: Failure.self) { try copy(a, .OBJSTORE_POLICY_ERROR) }
    #expect(try other.follow("A49, the other").isEmpty && kennel.follow("A49, later").isEmpty)
    // What was begun and is taken back is told to nobody.
    var tx: OpaquePointer?
    try ok(objstore_begin(store, &tx))
    try kennel.append(tx!, [("never", 1)])
    try ok(objstore_collection_clear(tx, kennel.collection("dogs")))
    try ok(objstore_cancel(tx))
    #expect(try kennel.follow("A49, taken back").isEmpty)
    try other.close()
    try kennel.close()
}

@Test("A51 to A54: begun, committed, cancelled") func a51Observed() throws {
    let kennel = try ObservedKennel()
    let lost = ObservedKennel.Call { tx in try kennel.append(tx, [("lost", 1)]) }
    try kennel.begin(lost)
    try kennel.finish()
    #expect(try lost.ran == 1 && kennel.follow("A51").isEmpty)
    let told = ObservedKennel.Call { _ in }
    let keeping = ObservedKennel.Call { tx in
        try kennel.append(tx, [("kept", 1)])
        try kennel.commit(tx, told)
    }
    try kennel.begin(keeping)
    try kennel.finish()
    #expect(try told.completed == [.OBJSTORE_OK] && kennel.follow("A52").contains("dogs"))
    let never = ObservedKennel.Call { tx in
        try kennel.append(tx, [("never", 1)])
        try kennel.commit(tx, told)
    }
    try ok(objstore_cancel_async(kennel.store, kennel.begin(never)))
    try ok(objstore_cancel_async(kennel.store, kennel.write(never)))
    try kennel.finish()
    #expect(try never.ran == 0 && never.completed == [] && told.completed.count == 1 && kennel.follow("A53").isEmpty)
    // A commit that is called off happens, and is told to observers; its completion is not called. Inside and after.
    let silent = ObservedKennel.Call { tx in
        try kennel.append(tx, [("inside", 2)])
        try ok(objstore_cancel_async(kennel.store, kennel.commit(tx, told)))
    }
    try kennel.begin(silent)
    try kennel.finish()
    #expect(try kennel.follow("A54").contains("dogs"))
    var tx: OpaquePointer?
    try ok(objstore_begin(kennel.store, &tx))
    try kennel.append(tx!, [("after", 3)])
    try ok(objstore_cancel_async(kennel.store, kennel.commit(tx!, told)))
    try kennel.finish()
    #expect(try kennel.follow("A54, after").contains("dogs") && told.completed.count == 1)
    #expect(kennel.lines("dogs") == ["Rex 5 of Dachary", "kept 1", "inside 2", "after 3"])
    try kennel.close()
}

@Test("A55: grouped or not, observers see the same") func a55Observed() throws {
    func make(flags: Int) throws -> (lines: [[String]], syncs: UInt64) {
        let kennel = try ObservedKennel(), told = ObservedKennel.Call { _ in }
        var number: Int64 = 0, before = objstore_statistics(), after = objstore_statistics()
        before.struct_size = UInt32(MemoryLayout<objstore_statistics>.size)
        after.struct_size = before.struct_size
        try ok(objstore_get_statistics(kennel.store, &before))
        let call = ObservedKennel.Call { tx in
            try kennel.append(tx, [("dog \(number)", number % 17)])
            number += 1
            try kennel.commit(tx, told, flags: flags)
        }
        for _ in 0..<200 { try kennel.begin(call) }
        // Meanwhile the other handle looks; at the end it has all.
        while try kennel.isWriting {
            try ok(objstore_wait(kennel.store, 10_000, nil))
            if number % 40 == 7 { try kennel.follow("A55, dog \(number)") }
        }
        try kennel.follow("A55")
        try ok(objstore_get_statistics(kennel.store, &after))
        #expect(told.completed == Array(repeating: .OBJSTORE_OK, count: 200))
        let lines = kennel.copies.map(\.lines)
        try kennel.close()
        return (lines, after.syncs - before.syncs)
    }
    let grouped = try make(flags: OBJSTORE_ASYNC_ALLOW_GROUPING), alone = try make(flags: 0)
    #expect(grouped.lines == alone.lines)
    #expect(grouped.syncs < alone.syncs, "\(grouped.syncs), alone \(alone.syncs)")
}

@Test("A56: closed at once, and the observers see all that was begun") func a56Observed() throws {
    let kennel = try ObservedKennel()
    var number: Int64 = 0
    let call = ObservedKennel.Call { tx in
        try kennel.append(tx, [("last \(number)", number)])
        number += 1
    }
    for _ in 0..<20 { try kennel.write(call) }
    try ok(objstore_close(kennel.store))
    kennel.store = nil
    #expect(try kennel.follow("A56").contains("dogs") && call.completed.count == 20)
    #expect(try kennel.lines("dogs").count == 21 && kennel.count(kennel.view, "Hound") == 21)
    try kennel.close()
}

@Test("A57, A58, A61: another thread writes, and neither the loop nor observers wait") func a57Observed() throws {
    let kennel = try ObservedKennel(), store = try #require(kennel.store)
    let gate = UnsafeMutablePointer<UInt64>.allocate(capacity: 2)
    gate.initialize(repeating: 0, count: 2)
    defer { gate.deallocate() }
    let holder = try BackgroundThreadOfTests { [gate] in
        try? writing(kennel.store!) { tx in
            cs_store64(gate, 1)
            while cs_load64(gate + 1) == 0 { sched_yield() }
            try kennel.add(tx, "first", 30)
        }
    }
    while cs_load64(gate) == 0 { sched_yield() }
    // A loop that polls both handles, as a program's does.
    var mine: Int32 = 0, theirs: Int32 = 0
    try ok(objstore_notify_fd(store, &mine))
    try ok(objstore_notify_fd(kennel.watching, &theirs))
    func turn(_ timeout: Int32) throws {
        var waiting = [mine, theirs].map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
        try #require(poll(&waiting, 2, timeout) >= 0)
        if waiting[0].revents != 0 { try ok(objstore_deliver(store, nil)) }
        if waiting[1].revents != 0 { try kennel.follow("A57, in the loop") }
    }
    var item = objstore_object(), shown = ""
    let call = ObservedKennel.Call { tx in
        item = try kennel.from(tx, "Luke", ["name": "Take the ring to Mount Doom"])
    } completion: {
        // A58: what was made is an object of the store, read where the write has ended.
        shown = try reading(store) { view in try kennel.name(view, "Luke", item.key) }
    }
    try kennel.write(call)
    for _ in 0..<50 { try turn(0) }
    #expect(
        try call.ran == 0 && kennel.isWriting && kennel.lines("Luke").isEmpty && kennel.lines("every one").count == 1)
    cs_store64(gate + 1, 1)
    while try kennel.isWriting || kennel.lines("Luke").isEmpty { try turn(10_000) }
    holder.join()
    #expect(call.completed == [.OBJSTORE_OK] && shown == "Take the ring to Mount Doom")
    #expect(try kennel.follow("A61").isEmpty && kennel.lines("Luke") == [shown])
    #expect(kennel.lines("limited") == ["first 30", "Rex 5 of Dachary"])
    #expect(
        try kennel.find(
            kennel.view, "Luke",
            reading(store) { view in
                var id = objstore_null()
                try ok(objstore_get(view, item, kennel["Luke.id"], nil, &id))
                return id
            })?.key == item.key)
    try kennel.close()
}

@Test("A59: a deletion, an insertion and a modification") func a59Observed() throws {
    let kennel = try ObservedKennel(), store = try #require(kennel.store)
    let dogs = try writing(store) { tx in
        try [("A", 1), ("B", 2), ("C", 3), ("D", 3)].map { try kennel.add(tx, $0.0, $0.1) }
    }
    try kennel.follow("four more")
    try writing(store) { tx in
        try ok(objstore_delete(tx, dogs[0]))
        try kennel.add(tx, "E", 20)
        try kennel.set(tx, dogs[2], "Hound.age", objstore_int(0))
        try kennel.set(tx, dogs[1], "Hound.keeper", objstore_link(kennel.keeper))
    }
    expect(
        try kennel.follow("A59"), has: ofDogs.union(["behind a link", "inverse", "keepers"]),
        not: ["Luke", "Node", "words", "journal", "dogs"])
    #expect(kennel.lines("inverse") == ["Rex 5 of Dachary", "B 2 of Dachary"])
    #expect(kennel.written == [], "what leads here is not written in the keeper")
    // The keeper's name is read by all whose it is, and is what sections go by.
    try writing(store) { tx in try kennel.set(tx, kennel.keeper, "Keeper.name", objstore_string(text("Zoe"))) }
    #expect(try kennel.follow("A59, the keeper").isSuperset(of: ["behind a link", "by the keeper's name", "keepers"]))
    #expect(kennel.lines("inverse") == ["Rex 5 of Zoe", "B 2 of Zoe"])
    try writing(store) { tx in try ok(objstore_delete(tx, kennel.object("Hound", 0))) }
    #expect(try kennel.follow("A59, out of all").isSuperset(of: ["dogs", "liked", "inverse", "young of the list"]))
    #expect(kennel.written == [["name"], ["dogs", "liked"]])
    try kennel.close()
}

@Test("A59: a deletion, an insertion and a modification inside of a mixed value") func a59InMixedValues() throws {
    let kennel = try ObservedKennel(), store = try #require(kennel.store), journal = kennel["Keeper.journal"]
    func path(_ steps: Mixed.Step...) -> [objstore_value] { steps.map(\.value) }
    try writing(store) { tx in
        let wood = objstore_string(text("wood")), meal = objstore_string(text("meal"))
        try ok(objstore_mixed_insert(tx, kennel.keeper, journal, path(.key("entries"), .index(1)), 2, meal))
        try ok(objstore_mixed_remove(tx, kennel.keeper, journal, path(.key("entries"), .index(2)), 2))
        let tag = path(.key("entries"), .index(0), .key("tags"), .index(0))
        try ok(objstore_mixed_set(tx, kennel.keeper, journal, tag, 4, wood))
    }
    expect(
        try kennel.follow("A59, inside"), has: ["journal", "entries", "tags", "class"],
        not: ["weather", "words", "notes", "keepers", "key path"])
    #expect(kennel.lines("entries") == [#"{tags: [text("wood")], what: text("walk")}"#, #"text("meal")"#])
    #expect(kennel.lines("tags") == [#"text("wood")"#] && kennel.written == [["journal"]])
    // Where the tags were is another thing now, and then a list again, and the map goes.
    try writing(store) { tx in
        try ok(objstore_mixed_remove(tx, kennel.keeper, journal, path(.key("entries"), .index(0)), 2))
        try ok(objstore_mixed_remove(tx, kennel.keeper, journal, path(.key("weather")), 1))
    }
    expect(try kennel.follow("A59, gone"), has: ["journal", "entries", "tags", "weather"], not: ["words", "keepers"])
    #expect(kennel.lines("tags").isEmpty && kennel.lines("weather").isEmpty)
    try writing(store) { tx in
        let entry = try Mixed.map(["tags": .list([.int(1), .int(2)])]).packed()
        try ok(objstore_mixed_insert(tx, kennel.keeper, journal, path(.key("entries"), .index(0)), 2, entry))
    }
    expect(try kennel.follow("A59, again"), has: ["journal", "entries", "tags"], not: ["weather", "words", "keepers"])
    #expect(kennel.lines("tags") == ["int(1)", "int(2)"])
    try kennel.close()
}

@Test("A60: a write that one of two observers is not told of, and a later one") func a60Observed() throws {
    let kennel = try ObservedKennel(), store = try #require(kennel.store)
    try writing(store) { tx in try kennel.append(tx, [("A", 1), ("B", 2), ("C", 3)]) }
    try kennel.follow("three more")
    // Two of the writer's own: of the list, and of what a query finds; each of them twice.
    func line(_ view: OpaquePointer) throws -> [String] {
        try found(view, kennel.object("Hound", 0).class_id, "TRUEPREDICATE SORT(name ASC)").map {
            try kennel.name(view, "Hound", $0)
        }
    }
    let copies = (0..<2).map { ObservedCopy("results \($0)", line) }
    let view = try liveView(store)
    let all = try query(view, kennel.object("Hound", 0).class_id, "TRUEPREDICATE SORT(name ASC)")
    for copy in copies {
        try ok(
            objstore_query_observe(
                all, store, UInt32(OBJSTORE_OBSERVE_INITIAL), ObservedCopy.handler, copy.me, nil, &copy.token))
    }
    try ok(objstore_query_close(all))
    try ok(objstore_view_close(view))
    try ok(objstore_refresh(store, nil, nil))
    try writing(store) { tx in
        try ok(objstore_delete(tx, kennel.object("Hound", 1)))
        try ok(objstore_without_notifying(tx, [copies[0].token], 1))
    }
    try ok(objstore_refresh(store, nil, nil))
    #expect(copies.map(\.told) == [1, 2] && copies[1].lines == ["B", "C", "Rex"])
    #expect(copies[0].lines == ["A", "B", "C", "Rex"], "its program has shown it already")
    #expect(try kennel.follow("A60").isSuperset(of: ["dogs", "sorted", "young of the list", "by age"]))
    copies[0].shows(["B", "C", "Rex"])
    try writing(store) { tx in try kennel.append(tx, [("Anton", 4)]) }
    try ok(objstore_refresh(store, nil, nil))
    #expect(copies.map(\.told) == [2, 3])
    for copy in copies { #expect(copy.lines == ["Anton", "B", "C", "Rex"]) }
    try kennel.follow("A60, later")
    for copy in copies { try ok(objstore_token_close(copy.token)) }
    try kennel.close()
}

import CObjStore
import Testing

// Lists, sets and maps that are observed themselves, through the C interface.

/// What the observers of some collections were told: `tags -0 +2 ~1>0 @3>1 cleared`, by positions; keys of maps after
/// them: `notes +0 (+a ~b)`.
private final class Told {
    let store: OpaquePointer
    private(set) var lines: [String] = []
    private var heard: [Heard] = []
    private var tokens: [OpaquePointer?] = []

    init(_ store: OpaquePointer) { self.store = store }

    private final class Heard {
        unowned let told: Told
        let name: String
        init(_ told: Told, _ name: String) { (self.told, self.name) = (told, name) }
    }

    private static func list(
        _ changes: OpaquePointer?, _ change: objstore_change
    ) throws -> (objects: UnsafePointer<objstore_object>?, indices: [UInt64]) {
        var objects: UnsafePointer<objstore_object>?, indices: UnsafePointer<UInt64>?, count = 0
        try ok(objstore_changes_list(changes, change, &objects, &indices, &count))
        return (objects, (0..<count).map { indices![$0] })
    }

    private static func describe(_ changes: OpaquePointer?, _ name: String) throws -> String {
        var line = name, info = objstore_changes_info_init()
        try ok(objstore_changes_get_info(changes, &info))
        let deleted = try list(changes, .OBJSTORE_DELETIONS), inserted = try list(changes, .OBJSTORE_INSERTIONS)
        let before = try list(changes, .OBJSTORE_MODIFICATIONS),
            after = try list(changes, .OBJSTORE_MODIFICATIONS_AFTER)
        let from = try list(changes, .OBJSTORE_MOVES), to = try list(changes, .OBJSTORE_MOVES_AFTER)
        #expect(info.deletion_count == deleted.indices.count && info.move_count == from.indices.count)
        #expect(deleted.objects == nil && inserted.objects == nil && before.objects == nil && to.objects == nil)
        for index in deleted.indices { line += " -\(index)" }
        for index in inserted.indices { line += " +\(index)" }
        for (index, now) in zip(before.indices, after.indices) { line += " ~\(index)>\(now)" }
        for (index, now) in zip(from.indices, to.indices) { line += " @\(index)>\(now)" }
        line += try keys(changes, isMap: name == "notes")
        if info.flags & UInt32(OBJSTORE_CHANGES_INITIAL) != 0 { line += " initial" }
        if info.flags & UInt32(OBJSTORE_CHANGES_COMPARED) != 0 { line += " compared" }
        if info.flags & UInt32(OBJSTORE_CHANGES_CLEARED) != 0 { line += " cleared" }
        if info.flags & UInt32(OBJSTORE_CHANGES_OWNER_DELETED) != 0 { line += " gone" }
        return line
    }

    private static func keys(_ changes: OpaquePointer?, isMap: Bool) throws -> String {
        var keys: UnsafePointer<objstore_value>?, count = 0, line = ""
        if !isMap {
            refused(objstore_changes_keys(changes, .OBJSTORE_DELETIONS, &keys, &count), .OBJSTORE_ERR_WRONG_TYPE)
            return ""
        }
        for (sign, change) in [
            ("-", objstore_change.OBJSTORE_DELETIONS), ("+", .OBJSTORE_INSERTIONS), ("~", .OBJSTORE_MODIFICATIONS),
        ] {
            try ok(objstore_changes_keys(changes, change, &keys, &count))
            for index in 0..<count { line += (line.isEmpty ? "" : " ") + sign + (string(keys![index]) ?? "?") }
        }
        return line.isEmpty ? "" : " (\(line))"
    }

    func observe(
        _ name: String, _ collection: objstore_collection, flags: Int = 0
    ) throws {
        let heard = Heard(self, name)
        self.heard.append(heard)
        var token: OpaquePointer?
        try ok(
            objstore_collection_observe(
                store, collection, UInt32(flags),
                { changes, userdata in
                    let heard = Unmanaged<Heard>.fromOpaque(userdata!).takeUnretainedValue()
                    do { heard.told.lines.append(try Told.describe(changes, heard.name)) } catch {
                        heard.told.lines.append("\(error)")
                    }
                    return .OBJSTORE_OK
                }, Unmanaged.passUnretained(heard).toOpaque(), nil, &token))
        tokens.append(token)
    }

    /// What was told since the last call.
    func deliver() throws -> [String] {
        try ok(objstore_deliver(store, nil))
        defer { lines = [] }
        return lines
    }

    func end() throws { for token in tokens { try ok(objstore_token_close(token)) } }
}

private func insert(_ tx: OpaquePointer, _ list: objstore_collection, _ at: Int, _ numbers: [Int64]) throws {
    var values = numbers.map { objstore_int($0) }
    try ok(objstore_list_insert(tx, list, at, &values, values.count))
}

@Test("a list of numbers that is observed") func observedList() throws {
    let store = try Boxes.open(nil), boxes = try Boxes(store), told = Told(store)
    let box = try writing(store) { tx in try boxes.create(tx, "one") },
        list = objstore_collection_of(box, boxes.numbers)
    try writing(store) { tx in try insert(tx, list, 0, [10, 11, 12, 13, 14]) }
    try told.observe("numbers", list, flags: OBJSTORE_OBSERVE_INITIAL)
    #expect(try told.deliver() == ["numbers initial"])
    // What the operations do, composed over two commits.
    try writing(store) { tx in
        try ok(objstore_list_set(tx, list, 1, objstore_int(99)))
        try ok(objstore_collection_remove(tx, list, 0, 1))
    }
    try writing(store) { tx in try insert(tx, list, 4, [7, 8]) }
    #expect(try told.deliver() == ["numbers -0 +4 +5 ~1>0"])
    // The same again counts; there and away again is nothing, nor is a move there and back.
    try writing(store) { tx in try ok(objstore_list_set(tx, list, 0, objstore_int(99))) }
    #expect(try told.deliver() == ["numbers ~0>0"])
    try writing(store) { tx in
        try insert(tx, list, 2, [5])
        try ok(objstore_collection_remove(tx, list, 2, 1))
        try ok(objstore_list_move(tx, list, 0, 3))
        try ok(objstore_list_move(tx, list, 3, 0))
    }
    #expect(try told.deliver() == [])
    try writing(store) { tx in try ok(objstore_list_move(tx, list, 0, 3)) }
    #expect(try told.deliver() == ["numbers @0>3"])
    // Given as a whole it is compared: 12 13 14 99 7 8.
    try writing(store) { tx in
        var values = [12, 13, 50, 99, 7, 8].map { objstore_int($0) }
        try ok(objstore_collection_assign(tx, list, nil, &values, values.count))
    }
    #expect(try told.deliver() == ["numbers ~2>2 compared"])
    try writing(store) { tx in
        try ok(objstore_collection_clear(tx, list))
        try ok(objstore_collection_clear(tx, list))
    }
    #expect(try told.deliver() == ["numbers -0 -1 -2 -3 -4 -5 cleared"])
    try writing(store) { tx in try ok(objstore_collection_clear(tx, list)) }
    #expect(try told.deliver() == [])
    try told.end()
    try writing(store) { tx in try insert(tx, list, 0, [1]) }
    #expect(try told.deliver() == [])
    try ok(objstore_close(store))
}

@Test("a set and a map that are observed, by keys, until their owner goes") func observedSetAndMap() throws {
    let store = try Boxes.open(nil), boxes = try Boxes(store), told = Told(store)
    let box = try writing(store) { tx in try boxes.create(tx, "one") }
    let seen = objstore_collection_of(box, boxes.seen), notes = objstore_collection_of(box, boxes.notes)
    func add(_ tx: OpaquePointer, _ words: [String]) throws {
        for word in words { try ok(objstore_set_insert(tx, seen, objstore_string(text(word)), nil)) }
    }
    func set(_ tx: OpaquePointer, _ key: String, _ value: Double) throws {
        try ok(objstore_map_set(tx, notes, objstore_string(text(key)), objstore_double(value), nil))
    }
    try writing(store) { tx in
        try add(tx, ["b", "d", "f"])
        try set(tx, "k", 1)
        try set(tx, "m", 2)
    }
    try told.observe("seen", seen)
    try told.observe("notes", notes)
    try writing(store) { tx in
        try add(tx, ["a", "d", "e"])
        try ok(objstore_set_remove(tx, seen, objstore_string(text("b")), nil))
        try ok(objstore_set_remove(tx, seen, objstore_string(text("f")), nil))
        try add(tx, ["f"])
        try set(tx, "k", 1)
        try set(tx, "a", 0)
        try ok(objstore_map_remove(tx, notes, objstore_string(text("m")), nil))
    }
    #expect(try told.deliver() == ["seen -0 +0 +2", "notes -1 +0 ~0>1 (-m +a ~k)"])
    // Another object's.
    let other = try writing(store) { tx in try boxes.create(tx, "two") }
    try writing(store) { tx in
        try ok(
            objstore_set_insert(tx, objstore_collection_of(other, boxes.seen), objstore_string(text("x")), nil))
    }
    #expect(try told.deliver() == [])
    try writing(store) { tx in
        try set(tx, "z", 5)
        try ok(objstore_delete(tx, box))
    }
    let last = try told.deliver()
    #expect(last == ["seen -0 -1 -2 -3 cleared gone", "notes -0 -1 (-a -k) cleared gone"])
    try writing(store) { tx in try ok(objstore_delete(tx, other)) }
    #expect(try told.deliver() == [])
    var token: OpaquePointer?
    let handler: objstore_change_handler = { _, _ in .OBJSTORE_OK }
    refused(
        objstore_collection_observe(store, seen, 0, handler, nil, nil, &token), .OBJSTORE_ERR_NO_SUCH_OBJECT)
    try told.end()
    try ok(objstore_close(store))
}

@Test("two lists that are observed, and a write too large for the log") func observedLists() throws {
    let store = try Boxes.open(nil), boxes = try Boxes(store), told = Told(store)
    let box = try writing(store) { tx in try boxes.create(tx, "one") }
    let other = try writing(store) { tx in try boxes.create(tx, "two") }
    let first = objstore_collection_of(box, boxes.numbers), second = objstore_collection_of(other, boxes.numbers)
    try writing(store) { tx in
        try insert(tx, first, 0, [1, 2, 3])
        try insert(tx, second, 0, [1, 2, 3])
    }
    try told.observe("first", first)
    try told.observe("second", second)
    try writing(store) { tx in
        try ok(objstore_collection_remove(tx, second, 2, 1))
        try ok(objstore_collection_remove(tx, first, 0, 1))
        try insert(tx, second, 0, [9])
    }
    #expect(try told.deliver() == ["first -0", "second -2 +0"])
    // So much that the log has a summary only.
    try writing(store) { tx in
        for round in 0..<200 { try insert(tx, first, 0, Array(repeating: Int64(round), count: 200)) }
        try ok(objstore_collection_remove(tx, first, 0, 39_999))
    }
    let lines = try told.deliver()
    #expect(lines.count == 1 && lines[0].hasPrefix("first +0"))
    try told.end()
    try ok(objstore_close(store))
}

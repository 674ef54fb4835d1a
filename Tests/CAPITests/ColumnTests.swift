import CObjStore
import Testing

private let rows = TestClass(
    name: "Row",
    properties: [
        ("id", .OBJSTORE_KIND_INT, primaryKey), ("name", .OBJSTORE_KIND_STRING, indexed),
        ("score", .OBJSTORE_KIND_DOUBLE, nullable),
        ("time", .OBJSTORE_KIND_TIMESTAMP, nullable), ("flag", .OBJSTORE_KIND_BOOL, 0),
        ("note", .OBJSTORE_KIND_STRING, nullable),
    ],
    defaults: ["flag": objstore_bool(true), "note": objstore_string(text("none"))])

/// Columns of `ids.count` rows: id, name, score (every third null) and time.
private func insert(
    _ tx: OpaquePointer, _ cls: ClassOf, _ policy: objstore_policy, _ ids: [Int64], prefix: String = "row",
    keys: UnsafeMutablePointer<Int64>? = nil,
    counts: UnsafeMutablePointer<objstore_insert_counts>? = nil
) -> objstore_status {
    var names: [UInt8] = [], offsets: [Int64] = [0], validity = [UInt8](repeating: 0, count: (ids.count + 7) / 8)
    for (index, id) in ids.enumerated() {
        names += Array("\(prefix) \(id)".utf8)
        offsets.append(Int64(names.count))
        if id % 3 != 0 { validity[index >> 3] |= 1 << UInt8(index & 7) }
    }
    let scores = ids.map { Double($0) / 4 }
    let times = ids.map { objstore_timestamp(seconds: $0, nanoseconds: 3, reserved: 0) }
    return ids.withUnsafeBufferPointer { ids in
        names.withUnsafeBufferPointer { names in
            offsets.withUnsafeBufferPointer { offsets in
                scores.withUnsafeBufferPointer { scores in
                    times.withUnsafeBufferPointer { times in
                        validity.withUnsafeBufferPointer { validity in
                            var columns = [
                                objstore_column_init(cls["id"], .OBJSTORE_KIND_INT, ids.baseAddress),
                                objstore_column_init(cls["name"], .OBJSTORE_KIND_STRING, names.baseAddress),
                                objstore_column_init(cls["score"], .OBJSTORE_KIND_DOUBLE, scores.baseAddress),
                                objstore_column_init(cls["time"], .OBJSTORE_KIND_TIMESTAMP, times.baseAddress),
                            ]
                            columns[1].offsets = offsets.baseAddress
                            columns[1].values_bytes = UInt64(names.count)
                            columns[2].validity = validity.baseAddress
                            return objstore_insert_rows(tx, cls.id, policy, columns, 4, ids.count, keys, counts)
                        }
                    }
                }
            }
        }
    }
}

@Test(arguments: [1, 15, 16, 17, 4096, 5000, 20_000])
func columnsInAndOut(count: Int) throws {
    let store = try openStore(nil, [rows])
    defer { _ = objstore_close(store) }
    let cls = try ClassOf(store, rows)
    var keys = [Int64](repeating: -1, count: count), counts = objstore_insert_counts()
    try writing(store) { tx in
        try ok(insert(tx, cls, .OBJSTORE_POLICY_ERROR, (0..<Int64(count)).map { $0 * 2 }, keys: &keys, counts: &counts))
    }
    #expect(counts.created == UInt64(count) && counts.changed == 0 && keys == Array(0..<Int64(count)))
    try verify(store)
    try frozen(store) { view in
        expect(try cls.count(view) == count)
        let last = try require(cls.find(view, objstore_int(Int64(count - 1) * 2)))
        expect(
            try cls.string(view, last, "name") == "row \((count - 1) * 2)" && cls.string(view, last, "note") == "none")
        var found: UInt64 = 0
        try ok(countWhere(view, cls.id, cls["name"], .OBJSTORE_EQUAL, objstore_string(text("row 0")), &found))
        #expect(found == 1)
        // In pieces that fit no leaf.
        for piece in [1000, count + 3] {
            var position: Int64 = -1, total = 0, filled = piece
            var scores = [Double](repeating: -1, count: piece),
                validity = [UInt8](repeating: 0xaa, count: (piece + 7) / 8)
            var ids = [Int64](repeating: 0, count: piece),
                times = [objstore_timestamp](repeating: objstore_timestamp(), count: piece)
            while filled == piece {
                let before = position
                try ok(
                    objstore_read_column(
                        view, cls.id, cls["score"], piece, &position, &scores, &validity, &ids, &filled))
                for row in 0..<filled {
                    let id = Int64(total + row) * 2
                    let isNull = id % 3 == 0
                    guard ids[row] == id / 2, (validity[row >> 3] >> UInt8(row & 7) & 1 == 0) == isNull,
                        scores[row] == (isNull ? 0 : Double(id) / 4)
                    else {
                        Issue.record("row \(total + row) of \(count): \(ids[row]) \(scores[row]) \(validity[row >> 3])")
                        return
                    }
                }
                for row in filled..<min(piece, (filled + 7) / 8 * 8) {
                    #expect(validity[row >> 3] >> UInt8(row & 7) & 1 == 0)
                }
                var again = before, timesFilled = 0
                try ok(objstore_read_column(view, cls.id, cls["time"], piece, &again, &times, nil, nil, &timesFilled))
                #expect(timesFilled == filled && again == position)
                for row in 0..<filled where times[row].seconds != Int64(total + row) * 2 || times[row].nanoseconds != 3
                { Issue.record("time of row \(total + row)") }
                total += filled
            }
            #expect(total == count && position == Int64(count - 1))
        }
        var position: Int64 = -1, filled = 0, buffer = objstore_buffer_init(),
            offsets = [Int64](repeating: 0, count: count + 1)
        defer { _ = objstore_buffer_free(&buffer) }
        try ok(
            objstore_read_text_column(view, cls.id, cls["name"], count, &position, &buffer, &offsets, nil, nil, &filled)
        )
        #expect(filled == count && offsets[count] == Int64(buffer.length))
        let lastName = UnsafeRawBufferPointer(
            start: buffer.bytes! + Int(offsets[count - 1]), count: Int(offsets[count] - offsets[count - 1]))
        #expect(String(decoding: lastName, as: UTF8.self) == "row \((count - 1) * 2)")
        if count > 1 {
            var scores = [Double](repeating: 0, count: count), start: Int64 = -1
            refused(
                objstore_read_column(view, cls.id, cls["score"], count, &start, &scores, nil, nil, &filled),
                .OBJSTORE_ERR_NULL_VALUE)
            #expect(start == -1)
        }
    }
}

@Test func columnsUpdateByPolicyAndRepeatKeys() throws {
    let store = try openStore(nil, [rows])
    defer { _ = objstore_close(store) }
    let cls = try ClassOf(store, rows)
    var counts = objstore_insert_counts(), keys = [Int64](repeating: -1, count: 6)
    try writing(store) { tx in
        try ok(insert(tx, cls, .OBJSTORE_POLICY_MODIFIED, [5, 1, 9], counts: &counts))
        #expect(counts.created == 3)
        // 1 and 9 are there (unchanged, then again), 7 is new and repeated.
        try ok(insert(tx, cls, .OBJSTORE_POLICY_MODIFIED, [1, 7, 9, 7, 2, 1], keys: &keys, counts: &counts))
        #expect(counts.created == 2 && counts.changed == 0 && counts.unchanged == 4)
        #expect(keys == [1, 3, 2, 3, 4, 1])
        try ok(insert(tx, cls, .OBJSTORE_POLICY_MODIFIED, [1, 7, 9, 7, 2, 1], prefix: "new", counts: &counts))
        #expect(counts.created == 0 && counts.changed == 4 && counts.unchanged == 2)
        try ok(insert(tx, cls, .OBJSTORE_POLICY_ALL, [1, 1], prefix: "new", counts: &counts))
        #expect(counts.changed == 2)
        let seven = try require(cls.find(tx, objstore_int(7)))
        expect(try cls.string(tx, seven, "name") == "new 7")
        expect(try cls.count(tx) == 5)
    }
    try verify(store)
    // All or none: the row that is refused is named.
    var tx: OpaquePointer?
    try ok(objstore_begin(store, &tx))
    for ids in [[100, 101, 5], [100, 101, 100], [100, 99, 101, 99]] as [[Int64]] {
        #expect(
            refused(insert(tx!, cls, .OBJSTORE_POLICY_ERROR, ids, prefix: "bad"), .OBJSTORE_ERR_DUPLICATE_KEY).contains(
                "Row.id"))
        var error = objstore_error_init()
        try ok(objstore_last_error(&error))
        #expect(error.position == Int64(ids.count - 1))
        expect(try cls.count(tx!) == 5)
    }
    let noKey = objstore_column_init(cls["flag"], .OBJSTORE_KIND_BOOL, [UInt8(1)])
    withUnsafePointer(to: noKey) { column in
        _ = refused(
            objstore_insert_rows(tx, cls.id, .OBJSTORE_POLICY_ERROR, column, 1, 1, nil, nil),
            .OBJSTORE_ERR_MISSING_VALUE)
    }
    try ok(objstore_insert_rows(tx, cls.id, .OBJSTORE_POLICY_ERROR, nil, 0, 0, nil, &counts))
    #expect(counts.created == 0)
    try ok(objstore_cancel(tx))
    try verify(store)
}

/// Rows that came in as columns survive a killed process like any others: the log or the checkpoint has them.
@Test func columnsSurviveReopening() throws {
    let folder = TestFolder()
    var store = try openStore(folder.store, [rows])
    var cls = try ClassOf(store, rows)
    try writing(store) { tx in try ok(insert(tx, cls, .OBJSTORE_POLICY_ERROR, Array(0..<100))) }
    try writing(store) { tx in try ok(insert(tx, cls, .OBJSTORE_POLICY_ERROR, Array(100..<30_000))) }
    try writing(store) { tx in try cls.create(tx, ["id": objstore_int(-1), "name": objstore_string(text("last"))]) }
    try ok(objstore_close(store))
    store = try openStore(folder.store, [rows])
    cls = try ClassOf(store, rows)
    expect(try frozen(store) { view in try cls.count(view) } == 30_001)
    try verify(store)
    try ok(objstore_close(store))
}

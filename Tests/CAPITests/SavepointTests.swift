import CObjStore
import Testing

// Savepoints through the C interface.

private func names(_ view: OpaquePointer, _ cls: ClassOf) throws -> [String] {
    var row = objstore_row()
    try ok(objstore_row_init(view, cls.id, &row))
    var names: [String] = [], more = false
    while true {
        try ok(objstore_row_next(&row, &more))
        if !more { return names }
        var name = objstore_text()
        try ok(objstore_row_text(&row, cls["name"], nil, &name, nil))
        names.append(try require(string(name)))
    }
}

@Test func aSavepointUndoesItsPartOfATransaction() throws {
    let store = try openStore(nil, [persons])
    let cls = try ClassOf(store, persons)
    func put(_ tx: OpaquePointer, _ id: Int64, _ name: String) throws {
        try cls.upsert(tx, .OBJSTORE_POLICY_ALL, ["id": objstore_int(id), "name": objstore_string(text(name))])
    }
    nonisolated(unsafe) var heard: [Int] = []
    var token: OpaquePointer?
    try withUnsafeMutablePointer(to: &heard) { heard in
        let handler: objstore_change_handler = { changes, userdata in
            var info = objstore_changes_info()
            info.struct_size = UInt32(MemoryLayout<objstore_changes_info>.size)
            if objstore_changes_get_info(changes, &info) == .OBJSTORE_OK {
                userdata!.assumingMemoryBound(to: [Int].self).pointee.append(
                    Int(info.insertion_count + info.modification_count + info.deletion_count))
            }
            return .OBJSTORE_OK
        }
        try ok(objstore_observe(store, cls.id, 0, handler, heard, nil, &token))
        try writing(store) { tx in
            try put(tx, 1, "one")
            var outer: objstore_savepoint = 0, inner: objstore_savepoint = 0
            try ok(objstore_savepoint_begin(tx, &outer))
            try put(tx, 2, "two")
            try ok(objstore_savepoint_begin(tx, &inner))
            try put(tx, 1, "changed")
            try put(tx, 3, "three")
            #expect(try names(tx, cls) == ["changed", "two", "three"])
            try ok(objstore_savepoint_rollback(tx, inner))
            #expect(try names(tx, cls) == ["one", "two"])
            #expect(try cls.find(tx, objstore_int(3)) == nil)
            _ = refused(objstore_savepoint_rollback(tx, inner), .OBJSTORE_ERR_OUT_OF_RANGE)
            try put(tx, 3, "third")
            try ok(objstore_savepoint_release(tx, outer))
            _ = refused(objstore_savepoint_release(tx, outer), .OBJSTORE_ERR_OUT_OF_RANGE)
            try ok(objstore_savepoint_begin(tx, &outer))
            var count: UInt64 = 0
            try ok(objstore_delete_all(tx, cls.id, &count))
            try ok(objstore_savepoint_rollback(tx, outer))
        }
        try writing(store) { tx in
            var savepoint: objstore_savepoint = 0
            try ok(objstore_savepoint_begin(tx, &savepoint))
            try put(tx, 1, "nobody hears of it")
            try ok(objstore_savepoint_rollback(tx, savepoint))
        }
        try ok(objstore_deliver(store, nil))
        #expect(heard.pointee.last == 3 && heard.pointee.filter { $0 > 0 } == [3])
        try ok(objstore_token_close(token))
    }
    #expect(try frozen(store) { try names($0, cls) } == ["one", "two", "third"])
    try reading(store) { view in
        var savepoint: objstore_savepoint = 7
        _ = refused(objstore_savepoint_begin(view, &savepoint), .OBJSTORE_ERR_NOT_IN_WRITE)
        _ = refused(objstore_savepoint_begin(nil, &savepoint), .OBJSTORE_ERR_INVALID_ARGUMENT)
        #expect(savepoint == 7, "left as it was")
    }
    try verify(store)
    try ok(objstore_close(store))
}

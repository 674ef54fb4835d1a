import CObjStore
import Testing

private let dictionaries = UInt32(OBJSTORE_ARROW_DICTIONARIES), views = UInt32(OBJSTORE_ARROW_VIEWS)

/// Texts as dictionaries and views of Arrow: the structures themselves, and in which order they may be released.
@Suite struct ArrowTextTests {
    /// Nine thousand notes with a text that few differ in, one that all differ in, and bytes; some are missing.
    private struct Notes {
        let store: OpaquePointer
        let cls: objstore_class_id
        let ids: [objstore_property_id]
        let few: [String?], many: [String?]

        init() throws {
            let names = ["few", "many", "raw"]
            let notes = TestClass(
                name: "Note",
                properties: [
                    ("few", .OBJSTORE_KIND_STRING, nullable), ("many", .OBJSTORE_KIND_STRING, nullable),
                    ("raw", .OBJSTORE_KIND_BINARY, 0),
                ])
            store = try openStore(nil, [notes])
            (cls, ids) = try reading(store) { view in
                let found = Names(view), cls = try found.cls("Note")
                return (cls, try names.map { try found.property(cls, $0) })
            }
            let texts = ["", "a", "twelve bytes", "thirteen byte", "x\0y", String(repeating: "far ", count: 40)]
            let few = (0..<9000).map { $0 % 11 == 5 ? nil : texts[$0 / 3 % texts.count] }
            let many = (0..<9000).map {
                $0 % 13 == 4 ? nil : $0 == 777 ? String(repeating: "y", count: 9000) : "number \($0) of them"
            }
            let digits = (0..<3).map { text("\($0)") }
            let shared = Dictionary(uniqueKeysWithValues: texts.map { ($0, text($0)) })
            try writing(store) { [cls, ids] tx in
                for index in few.indices {
                    let values = [
                        few[index].map { objstore_string(shared[$0]!) } ?? objstore_null(),
                        many[index].map { objstore_string(text($0)) } ?? objstore_null(),
                        objstore_binary(digits[index % 3].bytes, 1),
                    ]
                    var object = objstore_object()
                    try ok(objstore_create(tx, cls, ids, values, 3, &object))
                }
            }
            (self.few, self.many) = (few, many)
        }

        func stream(_ flags: UInt32, _ condition: String = "") throws -> ArrowArrayStream {
            var stream = ArrowArrayStream()
            try reading(store) { view in
                let all = try query(view, cls, condition)
                defer { _ = objstore_query_close(all) }
                try ok(objstore_query_arrow(all, view, flags, &stream))
            }
            return stream
        }
    }

    // MARK: Reading by hand

    private func read(_ format: String, _ array: ArrowArray, _ row: Int) -> String? {
        if let bits = array.buffers[0]?.assumingMemoryBound(to: UInt8.self), bits[row >> 3] >> UInt8(row & 7) & 1 == 0 {
            return nil
        }
        switch format {
        case "i":
            let number = array.buffers[1]!.assumingMemoryBound(to: Int32.self)[row], values = array.dictionary!.pointee
            guard number >= 0, number < values.length else { return "number \(number) of \(values.length)" }
            return read("U", values, Int(number))
        case "vu", "vz":
            let view = array.buffers[1]! + row * 16, length = Int(view.load(as: Int32.self))
            if length <= 12 {
                let rest = UnsafeRawBufferPointer(start: view + 4 + length, count: 12 - length)
                guard rest.allSatisfy({ $0 == 0 }) else { return "not zero behind the text" }
                return utf8(view + 4, length)
            }
            let buffer = Int(view.load(fromByteOffset: 8, as: Int32.self)),
                start = Int(view.load(fromByteOffset: 12, as: Int32.self))
            let sizes = array.buffers[Int(array.n_buffers) - 1]!.assumingMemoryBound(to: Int64.self)
            guard buffer >= 0, buffer < array.n_buffers - 3, start >= 0, start + length <= sizes[buffer] else {
                return "beyond buffer \(buffer)"
            }
            let bytes = array.buffers[2 + buffer]! + start
            guard bytes.loadUnaligned(as: UInt32.self) == view.load(fromByteOffset: 4, as: UInt32.self) else {
                return "another beginning"
            }
            return utf8(bytes, length)
        default:
            let offsets = array.buffers[1]!.assumingMemoryBound(to: Int64.self)
            return utf8(array.buffers[2].map { $0 + Int(offsets[row]) }, Int(offsets[row + 1] - offsets[row]))
        }
    }

    private func utf8(_ bytes: UnsafeRawPointer?, _ count: Int) -> String {
        String(decoding: UnsafeRawBufferPointer(start: bytes, count: count), as: UTF8.self)
    }

    private func formats(_ stream: inout ArrowArrayStream) -> [String] {
        var schema = ArrowSchema()
        #expect(stream.get_schema(&stream, &schema) == 0)
        let found = (0..<Int(schema.n_children)).map { index -> String in
            let child = schema.children[index]!.pointee
            let own = String(cString: child.format)
            return child.dictionary.map { own + String(cString: $0.pointee.format) } ?? own
        }
        schema.release(&schema)
        #expect(schema.release == nil)
        return found
    }

    private func next(_ stream: inout ArrowArrayStream) -> ArrowArray? {
        var array = ArrowArray()
        #expect(stream.get_next(&stream, &array) == 0)
        return array.release == nil ? nil : array
    }

    private func texts(_ format: String, _ array: ArrowArray) -> [String?] {
        (0..<Int(array.length)).map { read(format, array, $0) }
    }

    // MARK: Tests

    @Test(arguments: [0, dictionaries, views])
    func allForms(_ flags: UInt32) throws {
        let notes = try Notes(), text = flags == 0 ? "U" : flags == views ? "vu" : "iU"
        let wanted = [text, text, flags == views ? "vz" : "Z"]
        var stream = try notes.stream(flags)
        #expect(formats(&stream) == wanted)
        var array = try require(next(&stream)), children = (0..<3).map { array.children[$0]!.pointee }
        let own = wanted.map { $0.hasPrefix("i") ? "i" : $0 }
        #expect(texts(own[0], children[0]) == notes.few && texts(own[1], children[1]) == notes.many)
        #expect(texts(own[2], children[2]) == notes.few.indices.map { "\($0 % 3)" })
        #expect(children[0].null_count == Int64(notes.few.count { $0 == nil }))
        if flags == dictionaries {
            #expect(children[0].n_buffers == 2 && children[0].dictionary.pointee.n_buffers == 3)
            // Each once, and no null among them.
            #expect(children[0].dictionary.pointee.length == 6 && children[0].dictionary.pointee.null_count == 0)
        } else {
            #expect(children.allSatisfy { $0.dictionary == nil })
        }
        children = []
        array.release(&array)
        #expect(array.release == nil && next(&stream) == nil)
        stream.release(&stream)
        #expect(stream.release == nil)
        try ok(objstore_close(notes.store))
    }

    /// Of a table that is there: views of its own bytes; numbers of what its column has.
    @Test func tables() throws {
        let notes = try Notes()
        var stream = ArrowArrayStream(), table: OpaquePointer?, column = objstore_table_column()
        try reading(notes.store) { view in
            let made = try query(view, notes.cls, "GROUP(many) SELECT(many)")
            defer { _ = objstore_query_close(made) }
            try ok(objstore_query_table(made, view, &table))
        }
        try ok(objstore_table_column_at(table, 0, &column))
        let bytes = column.values!, count = Int(column.values_bytes)
        var wanted: [String?] = [], seen: Set<String?> = []
        for text in notes.many where seen.insert(text).inserted { wanted.append(text) }
        for (flags, format) in [(0, "U"), (dictionaries, "i"), (views, "vu")] as [(UInt32, String)] {
            try ok(objstore_table_arrow(table, flags, &stream))
            var array = try require(next(&stream))
            let child = array.children[0]!.pointee
            #expect(texts(format, child) == wanted)
            if flags == views {
                #expect(child.n_buffers == 4)
                #expect(child.buffers[2]! >= bytes && child.buffers[2]! < bytes + count)
            }
            array.release(&array)
            #expect(next(&stream) == nil)
            stream.release(&stream)
        }
        try ok(objstore_table_arrow(table, views, &stream))
        var array = try require(next(&stream))
        try ok(objstore_table_close(table))
        try ok(objstore_close(notes.store))
        stream.release(&stream)
        #expect(texts("vu", array.children[0]!.pointee) == wanted)
        array.release(&array)
    }

    /// Columns that were taken out of their batch live longer than it, the stream and the store; so do batches, and
    /// schemas.
    @Test(arguments: [0, dictionaries, views])
    func releasedInAnyOrder(_ flags: UInt32) throws {
        let notes = try Notes(), format = flags == 0 ? "U" : flags == views ? "vu" : "i"
        var stream = try notes.stream(flags), schema = ArrowSchema()
        #expect(stream.get_schema(&stream, &schema) == 0)
        var array = try require(next(&stream)), other = try notes.stream(flags), late = try require(next(&other))
        var taken = array.children[0]!.pointee
        array.children[0]!.pointee.release = nil
        array.release(&array)
        // The other batch, but for one column, when everything else is gone.
        stream.release(&stream)
        try ok(objstore_close(notes.store))
        other.release(&other)
        #expect(texts(format, taken) == notes.few)
        taken.release(&taken)
        #expect(taken.release == nil)
        let child = late.children[1]!.pointee
        #expect(texts(format, child) == notes.many)
        late.release(&late)
        #expect(String(cString: schema.children[0]!.pointee.name) == "few")
        schema.release(&schema)
    }

    @Test func resultsAndTheirDeletedObjects() throws {
        let notes = try Notes()
        var live: OpaquePointer?, results: OpaquePointer?, stream = ArrowArrayStream()
        try ok(objstore_view_open(notes.store, &live))
        let few = try query(live, notes.cls, "few == 'a' SORT(many DESC) LIMIT(40)")
        try ok(objstore_query_find(few, live, &results))
        _ = objstore_query_close(few)
        let found = notes.many.indices.filter { notes.few[$0] == "a" }.compactMap { notes.many[$0] }
        var wanted: [String?] = found.sorted(by: >).prefix(40).map { $0 }
        var object = objstore_object()
        try ok(objstore_results_at(results, 7, &object))
        try writing(notes.store) { tx in try ok(objstore_delete(tx, object)) }
        wanted[7] = nil
        try ok(objstore_view_refresh(live, nil))
        for (flags, format) in [(0, "U"), (dictionaries, "i"), (views, "vu")] as [(UInt32, String)] {
            try ok(objstore_results_arrow(results, [notes.ids[1], notes.ids[0]], 2, flags, &stream))
            var array = try require(next(&stream))
            #expect(texts(format, array.children[0]!.pointee) == wanted)
            #expect(texts(format, array.children[1]!.pointee) == (0..<40).map { $0 == 7 ? nil : "a" })
            array.release(&array)
            stream.release(&stream)
        }
        try ok(objstore_close(notes.store))
    }

    @Test func flagsThatThereAreNot() throws {
        let notes = try Notes()
        var stream = ArrowArrayStream(), table: OpaquePointer?, results: OpaquePointer?
        try reading(notes.store) { view in
            let all = try query(view, notes.cls, ""), grouped = try query(view, notes.cls, "GROUP(few)")
            defer { for query in [all, grouped] { _ = objstore_query_close(query) } }
            try ok(objstore_query_table(grouped, view, &table))
            try ok(objstore_query_find(all, view, &results))
            for (flags, said) in [
                (4, "flags: unknown bits in 4"), (0x8000_0001, "flags: unknown bits in 2147483649"),
                (dictionaries | views, "flags: texts are given as dictionaries or as views, not both"),
            ] as [(UInt32, String)] {
                let calls = [
                    { objstore_query_arrow(all, view, flags, &stream) },
                    { objstore_table_arrow(table, flags, &stream) },
                    { objstore_results_arrow(results, nil, 0, flags, &stream) },
                ]
                for call in calls {
                    #expect(refused(call(), .OBJSTORE_ERR_INVALID_ARGUMENT) == said)
                    #expect(stream.release == nil)
                }
            }
            _ = objstore_results_close(results)
        }
        try ok(objstore_table_close(table))
        try ok(objstore_close(notes.store))
    }
}

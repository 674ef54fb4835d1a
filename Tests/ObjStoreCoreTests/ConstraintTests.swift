import Testing

import ObjStoreCore

/// Unique properties and compound indexes, through the same calls as the interfaces'.
@Suite struct ConstraintTests {
    /// Together more than 10⁵ operations.
    @Test(arguments: [11, 12] as [UInt64]) func historiesAgainstModels(seed: UInt64) throws {
        let model = try ConstraintModel(seed: seed)
        while model.operations < 27_000 { try model.step() }
        try model.check()
        try model.end()
        #expect(
            model.refused > 2000 && model.checks > 100, "\(model.refused) refused, \(model.checks) checks, seed \(seed)"
        )
        print(
            """
            seed \(seed): \(model.operations) operations, \(model.refused) refused, \(model.checks) checks, \
            \(model.kinds)
            """
        )
    }

    // MARK: Keys

    /// The bytes of every pair of tuples are ordered as the tuples are, and no tuple's bytes begin another one's of the
    /// same length.
    @Test func bytesAreOrderedAsTuples() throws {
        var random = IndexRandom(5)
        let kinds: [ValueKind] = [
            .bool, .int, .float, .double, .decimal128, .string, .binary, .timestamp, .objectID, .uuid,
        ]
        for round in 0..<150 * testScale {
            let shape = (0..<1 + random.below(3)).map { _ in kinds[random.below(kinds.count)] }
            var all: [(tuple: [IndexSample], bytes: [UInt8])] = []
            for _ in 0..<40 {
                let key = IndexKey()
                let tuple = try shape.map { kind in
                    let sample = IndexSampler(kind: kind, spread: 2 - (round & 1) * 2).next(&random)
                    // Nanoseconds are never negative in a row.
                    if case .time(let seconds, let nanoseconds) = sample, nanoseconds < 0 {
                        try key.append(.timestamp(seconds: seconds, nanoseconds: 0))
                        return IndexSample.time(seconds, 0)
                    }
                    try sample.with(kind) { try key.append($0) }
                    return sample
                }
                all.append((tuple, [UInt8](UnsafeRawBufferPointer(start: key.value.pointer, count: key.value.count))))
            }
            for a in all {
                for b in all {
                    var order = 0
                    for (x, y) in zip(a.tuple, b.tuple) where order == 0 { order = x < y ? -1 : y < x ? 1 : 0 }
                    let bytes = a.bytes == b.bytes ? 0 : comesBefore(a.bytes, b.bytes) ? -1 : 1
                    if order != bytes { Issue.record("\(shape): \(a) and \(b)") }
                    if order != 0, b.bytes.starts(with: a.bytes) { Issue.record("\(a) begins \(b)") }
                }
            }
        }
    }

    @Test func endOfPrefixIsTheLeastThatIsGreater() throws {
        for bytes in [[1, 5], [1, 255], [1, 255, 255], [0], [1, 0, 0]] as [[UInt8]] {
            let key = IndexKey()
            if bytes == [0] {
                try key.append(.null)
            } else {
                // Bytes as of an int: only what `becomeEnd` does with them is of interest.
                try key.append(.int(Int64(bitPattern: bytes.dropFirst().reduce(UInt64(0)) { $0 << 8 | UInt64($1) })))
            }
            let before = [UInt8](UnsafeRawBufferPointer(start: key.value.pointer, count: key.value.count))
            key.becomeEnd()
            let end = [UInt8](UnsafeRawBufferPointer(start: key.value.pointer, count: key.value.count))
            #expect(before.lexicographicallyPrecedes(end))
            #expect((before + [255, 255, 255]).lexicographicallyPrecedes(end))
        }
    }

    // MARK: Small cases

    private struct Small {
        let store: Store
        var tx: View
        let cls: UInt32, ids: [UInt32]

        init(_ flags: SchemaDraft.Flags, compound: Bool?) throws {
            var draft = SchemaDraft()
            try draft.addClass("T")
            try draft.addProperty("T", "a", .int, flags)
            try draft.addProperty("T", "b", .int, [.nullable])
            if let compound { try draft.addIndex("T", ["a", "b"], compound ? .unique : []) }
            var configuration = StoreConfiguration()
            configuration.place = .memory("")
            configuration.schema = draft
            store = try Store.open(configuration)
            tx = try store.begin()
            cls = try tx.findClass("T")
            ids = [try tx.findProperty(cls, "a"), try tx.findProperty(cls, "b")]
        }

        func make(_ a: Value, _ b: Value) throws -> ObjectID {
            try [a, b].withUnsafeBufferPointer { values in
                try ids.withUnsafeBufferPointer { try tx.create(cls, $0, values.baseAddress!) }
            }
        }
        /// How it was refused, if it was.
        func set(_ object: ObjectID, _ a: Value) -> StatusCode? {
            do throws(StoreError) { try tx.set(object, ids[0], a) } catch { return error.code }
            return nil
        }
        func set(_ object: ObjectID, _ a: Value, _ b: Value) throws {
            try [a, b].withUnsafeBufferPointer { values in
                try ids.withUnsafeBufferPointer { try tx.set(object, $0, values.baseAddress!) }
            }
        }
    }

    /// Every sequence of four moves of two objects among two values and null: what was refused, and the final state.
    @Test func everyMoveOfTwoObjects() throws {
        let values: [Value] = [.null, .int(1), .int(2)]
        for isCompound in [false, true] {
            let small = try Small(isCompound ? [.nullable] : [.nullable, .unique], compound: isCompound ? true : nil)
            for code in 0..<1296 {
                _ = try small.tx.deleteAll(small.cls)
                let objects = [try small.make(.null, .int(7)), try small.make(.null, .int(7))]
                var model: [Value] = [.null, .null]
                var rest = code
                for _ in 0..<4 {
                    let object = rest % 2, value = values[rest / 2 % 3]
                    rest /= 6
                    let isTaken = !value.isNull && model[1 - object].isSame(as: value)
                    let refusal = small.set(objects[object], value)
                    #expect(refusal == (isTaken ? .duplicateKey : nil))
                    if refusal == nil { model[object] = value }
                    for index in 0..<2 {
                        #expect(try small.tx.value(objects[index], small.ids[0], nil).isSame(as: model[index]))
                    }
                }
            }
            small.tx.close()
            try small.store.close()
        }
    }

    /// Two properties change at once: the state in between does not matter.
    @Test func changingTogetherIsComparedInTheEnd() throws {
        let small = try Small([], compound: true)
        let first = try small.make(.int(1), .int(1)), second = try small.make(.int(2), .int(1))
        _ = try small.make(.int(1), .int(2))
        // By (2, 2) or by (1, 1) or (1, 2): all of others, or one's own.
        try small.set(second, .int(2), .int(2))
        try small.set(first, .int(2), .int(1))
        try small.set(first, .int(1), .int(1))
        #expect { try small.set(second, .int(1), .int(2)) } throws: { error in
            let error = error as! StoreError
            return error.code == .duplicateKey && error.className == "T" && error.propertyName == "a, b"
                && error.message == "an object of class T with a = 1, b = 2 already exists"
        }
        // What an object has already it may be given again, and nulls are no one's.
        try small.set(first, .int(1), .int(1))
        try small.set(first, .int(1), .null)
        try small.set(second, .int(1), .null)
        small.tx.close()
        try small.store.close()
    }

    // MARK: Schemas

    static func open(
        _ path: String, version: UInt64, mode: StoreConfiguration.Mode = .readWrite,
        _ describe: (inout SchemaDraft) throws -> Void
    ) throws -> Store {
        var draft = SchemaDraft()
        try describe(&draft)
        var configuration = StoreConfiguration()
        configuration.place = .file(path)
        configuration.schema = draft
        configuration.schemaVersion = version
        configuration.mode = mode
        return try Store.open(configuration)
    }

    private static func person(
        _ draft: inout SchemaDraft, _ mail: SchemaDraft.Flags = [], _ indexes: [([String], Bool)] = []
    ) throws {
        try draft.addClass("Person")
        try draft.addProperty("Person", "mail", .string, mail.union(.nullable))
        try draft.addProperty("Person", "last", .string, [])
        try draft.addProperty("Person", "born", .int, [])
        for (names, isUnique) in indexes { try draft.addIndex("Person", names, isUnique ? .unique : []) }
    }

    private static func fill(_ store: Store, _ count: Int, mail: (Int) -> String?) throws {
        let tx = try store.begin()
        let cls = try tx.findClass("Person")
        let ids = try ["mail", "last", "born"].map { try tx.findProperty(cls, $0) }
        for number in 0..<count {
            let mail = mail(number).map { Array($0.utf8) }, last = Array("l\(number % 10)".utf8)
            try (mail ?? []).withUnsafeBytes { text in
                try last.withUnsafeBytes { last in
                    let values: [Value] = [
                        mail == nil ? .null : .string(text.baseAddress, text.count),
                        .string(last.baseAddress, last.count), .int(Int64(number % 7)),
                    ]
                    _ = try values.withUnsafeBufferPointer { values in
                        try ids.withUnsafeBufferPointer { try tx.create(cls, $0, values.baseAddress!) }
                    }
                }
            }
        }
        _ = try tx.commit()
    }

    /// The kinds of indexes that a class has, as text; the store must be sound.
    private static func indexes(_ store: Store) throws -> [String] {
        let view = try store.openView()
        defer { view.close() }
        #expect(try view.verify { (_, _) throws(StoreError) in } == [])
        let cls = try view.findClass("Person")
        return try (0..<(try view.indexCount(cls))).map { position in
            let info = try view.indexInfo(cls, at: position)
            #expect(try view.indexInfo(info.indexID).properties == info.properties)
            let all = try IndexStretch(
                info.indexID, from: UnsafeBufferPointer(start: nil, count: 0),
                to: UnsafeBufferPointer(start: nil, count: 0), [])
            #expect(try view.count(view.query(in: all)) == view.count(cls))
            return try info.properties.map { try view.propertyInfo($0).name }.joined(separator: ",")
                + (info.isUnique ? "!" : "")
        }
    }

    @Test func indexesComeAndGoWithTheSchema() throws {
        let folder = TestFolder(), path = folder["db"]
        var store = try ConstraintTests.open(path, version: 1) { try ConstraintTests.person(&$0) }
        try ConstraintTests.fill(store, 500) { $0 % 5 == 0 ? nil : "m\($0)" }
        #expect(try ConstraintTests.indexes(store) == [])
        try store.close()
        let steps: [(SchemaDraft.Flags, [([String], Bool)], [String])] = [
            ([.indexed], [(["last", "born"], false)], ["mail", "last,born"]),
            (
                [.unique], [(["last", "born"], false), (["born", "mail"], true)], ["mail!", "last,born", "born,mail!"]
            ),
            ([], [(["born", "mail"], true)], ["born,mail!"]),
            (
                [.unique, .indexed], [(["last", "born"], false), (["born", "mail"], false)],
                ["mail!", "last,born", "born,mail"]
            ),
            ([], [], []),
            ([.indexed], [(["born", "last", "mail"], true)], ["mail", "born,last,mail!"]),
        ]
        var ids: Set<UInt32> = []
        for (number, (mail, compounds, wanted)) in steps.enumerated() {
            let version = UInt64(number + 2)
            store = try ConstraintTests.open(path, version: version) {
                try ConstraintTests.person(&$0, mail, compounds)
            }
            #expect(try ConstraintTests.indexes(store) == wanted)
            let view = try store.openView(), cls = try view.findClass("Person")
            for position in 0..<(try view.indexCount(cls)) { ids.insert(try view.indexInfo(cls, at: position).indexID) }
            view.close()
            try store.close()
            // The same schema and version again is nothing new; another one of that version is refused.
            store = try ConstraintTests.open(path, version: version) {
                try ConstraintTests.person(&$0, mail, compounds)
            }
            try store.close()
            #expect {
                try ConstraintTests.open(path, version: version) {
                    try ConstraintTests.person(&$0, mail, compounds + [(["mail", "last"], false)])
                }
            } throws: {
                ($0 as! StoreError).code == .schemaMismatch
            }
            if !compounds.isEmpty {
                #expect {
                    try ConstraintTests.open(path, version: version) {
                        try ConstraintTests.person(&$0, mail, Array(compounds.dropLast()))
                    }
                } throws: {
                    ($0 as! StoreError).code == .schemaMismatch
                }
            }
        }
        // mail's is always one; (last, born) was dropped and made again, (born, mail) became another, and its first
        // form too.
        #expect(ids.count == 1 + 6 - 1, "\(ids)")
    }

    @Test func constraintThatTheDataBreaksIsRefused() throws {
        let folder = TestFolder(), path = folder["db"]
        let store = try ConstraintTests.open(path, version: 1) { try ConstraintTests.person(&$0, [.indexed]) }
        try ConstraintTests.fill(store, 100) { $0 == 70 ? "m3" : "m\($0)" }
        try store.close()
        func checkUnchanged() throws {
            let store = try ConstraintTests.open(path, version: 1) { try ConstraintTests.person(&$0, [.indexed]) },
                view = try store.openView()
            defer { view.close() }
            #expect(try ConstraintTests.indexes(store) == ["mail"] && view.count(try view.findClass("Person")) == 100)
        }
        try checkUnchanged()
        #expect { try ConstraintTests.open(path, version: 2) { try ConstraintTests.person(&$0, [.unique]) } } throws: {
            let error = $0 as! StoreError
            return error.code == .duplicateKey && error.propertyName == "mail"
                && error.message
                    == "Person.mail cannot become unique: the objects Person#3 and Person#70 both have mail = \"m3\""
        }
        #expect {
            try ConstraintTests.open(path, version: 2) {
                try ConstraintTests.person(&$0, [.indexed], [(["born", "last"], true)])
            }
        } throws: {
            let error = $0 as! StoreError
            return error.code == .duplicateKey
                && error.message.contains(
                    """
                    Person.(born, last) cannot become unique: the objects Person#0 and Person#70 both have born = 0, \
                    last = \"l0\"
                    """
                )
        }
        try checkUnchanged()
    }

    @Test func schemasThatContradictThemselves() throws {
        var draft = SchemaDraft()
        try ConstraintTests.person(&draft)
        func refuse(_ code: StatusCode, _ names: [String]) {
            #expect { try draft.addIndex("Person", names, []) } throws: { ($0 as! StoreError).code == code }
        }
        refuse(.invalidSchema, [])
        refuse(.invalidSchema, ["mail"])
        refuse(.invalidSchema, ["mail", "mail"])
        refuse(.noSuchProperty, ["mail", "male"])
        refuse(.invalidSchema, Array(repeating: "mail", count: 9))
        try draft.addIndex("Person", ["mail", "last"], .unique)
        refuse(.invalidSchema, ["mail", "last"])
        try draft.addIndex("Person", ["last", "mail"], .unique)
    }

    /// A file whose schema promises what its objects do not keep: made by turning the flag without looking at them.
    @Test func verifyTellsWhatIsThereTwice() throws {
        var options = StoreOptions()
        options.hasBackgroundThread = false
        let folder = TestFolder(),
            database = try Database.open(folder["db"], options: options, machine: RealMachine.shared)
        func schema(_ isUnique: Bool, _ version: UInt64) -> Schema {
            let properties = [
                PropertySchema(
                    name: "a", kind: .int, columnID: 0, isNullable: true, isIndexed: true, isUnique: isUnique),
                PropertySchema(name: "b", kind: .string, columnID: 1),
            ]
            let compound = IndexSchema(id: IndexSchema.firstCompoundID, properties: [1, 0], isUnique: isUnique)
            return Schema(
                classes: [
                    ClassSchema(
                        name: "T", id: 0, properties: properties, nextColumnID: 2, compounds: [compound],
                        nextIndexID: compound.id + 1)
                ],
                version: version)
        }
        let transaction = try WriteTransaction.begin(database)
        try transaction.setSchema(schema(false, 1))
        let text = Array("a long text that goes beyond what an index keeps of a key of its own, by far".utf8)
        try text.withUnsafeBytes { text in
            for a in [.int(1), .int(2), .int(2), .int(3)] as [Value] {
                _ = try [a, .string(text.baseAddress, text.count)].withUnsafeBufferPointer {
                    try transaction.state(0).create($0.baseAddress!)
                }
            }
        }
        try transaction.commit(StoreOptions.Durability.none)
        #expect(Verifier.findings(try database.snapshot()) == [])
        let next = try WriteTransaction.begin(database)
        try next.setSchema(schema(true, 2))
        try next.commit(StoreOptions.Durability.none)
        let findings = Verifier.findings(try database.snapshot())
        #expect(
            findings.count == 2 && findings.allSatisfy { $0.contains("one value twice, of object 2") }, "\(findings)")
        #expect(
            findings.contains { $0.hasPrefix("index of T.(b, a): ") }
                && findings.contains { $0.hasPrefix("index of T.a: ") })
        try database.close()
    }

    @Test func aDefaultIsOfTheKindOfItsProperty() throws {
        for (value, isSound) in [(Value.int(7), true), (.null, true), (.double(1), false), (.bool(true), false)] {
            for isFill in [false, true] {
                let property = PropertySchema(
                    name: "age", kind: .int, columnID: 0, isNullable: true,
                    defaultValue: isFill ? nil : OwnedValue(value), fill: OwnedValue(isFill ? value : .null))
                let buffer = ByteBuffer()
                try SchemaCodec.append(
                    Schema(
                        classes: [ClassSchema(name: "Dog", id: 0, properties: [property], nextColumnID: 1)],
                        version: 1),
                    to: buffer)
                var reader = buffer.reader
                #expect(((try? SchemaCodec.read(&reader)) != nil) == isSound, "\(value) \(isFill)")
            }
        }
    }

    /// What was written with constraints is not opened by a library that does not know them: the kind of a property is
    /// unknown there.
    @Test func schemaSaysThatThereIsMore() throws {
        var draft = SchemaDraft()
        try ConstraintTests.person(&draft, [.unique], [(["born", "last"], true)])
        let empty = Schema(classes: [], version: 0)
        let schema = try #require(try draft.merged(into: empty, version: 1))
        let buffer = ByteBuffer()
        try SchemaCodec.append(schema, to: buffer)
        var reader = buffer.reader
        let read = try SchemaCodec.read(&reader)
        #expect(
            read.classes[0].indexes.map(\.properties) == [[0], [2, 1]] && read.classes[0].indexes.allSatisfy(\.isUnique)
        )
        #expect(reader.isAtEnd)
        #expect(ValueKind(rawValue: 240) == nil)
        // One byte changed: an error, or a schema that says something else, and nothing worse.
        for position in 0..<buffer.count {
            for flip in [1, 0x80, 0xff] as [UInt8] {
                let copy = ByteBuffer()
                try copy.append(bytes: UnsafeRawPointer(buffer.base), count: buffer.count)
                copy.store(buffer.base.load(fromByteOffset: position, as: UInt8.self) ^ flip, at: position)
                var reader = copy.reader
                _ = try? SchemaCodec.read(&reader)
            }
        }
    }
}

import Glibc
import ObjStoreCore
import ObjStoreSimulation

/// A real store as its files are at some moment: what cases are made from.
struct Subject {
    let name: String
    var store: [UInt8]
    /// Nil where the store was closed cleanly.
    var log: [UInt8]?
    /// What processes shared that were killed; nil: it was not kept.
    var lock: [UInt8]?
    /// The files as each commit left them, oldest first: what recovery may come to. Of small ones only.
    var history: [Subject] = []
    /// What reading `history` answers.
    var transcripts: [Transcript] = []
    /// Byte ranges of the store where extents lie that its newest version needs, and its free map.
    var extents: [Range<Int>] = []
    /// Makes hashes fit what a case has changed.
    var forged: ForgedStore?

    private static let kinds: [(String, ValueKind, Bool, Bool)] = [
        ("flag", .bool, false, false), ("number", .int, false, true), ("score", .double, false, true),
        ("name", .string, false, true),
        ("bytes", .binary, false, false), ("time", .timestamp, false, true), ("maybe", .int, true, true),
        ("note", .string, true, false),
        ("level", .double, true, false), ("yes", .bool, true, true), ("single", .float, true, true),
        ("price", .decimal128, true, true),
        ("maker", .objectID, false, true), ("friend", .link, true, false), ("token", .uuid, true, true),
        ("any", .mixed, true, true),
    ]

    private static func classSchema(_ name: String, _ id: UInt32, key: ValueKind) -> ClassSchema {
        var properties = [PropertySchema(name: "id", kind: key, columnID: 0, isPrimaryKey: true)]
        for (index, (name, kind, isNullable, isIndexed)) in kinds.enumerated() {
            properties.append(
                PropertySchema(
                    name: name, kind: kind, columnID: UInt32(index + 1), isNullable: isNullable, isIndexed: isIndexed,
                    target: kind == .link ? 0 : nil))
        }
        for (name, kind, elements) in [
            ("words", .list, ElementSchema(kind: .string, isNullable: true)),
            ("marks", .map, ElementSchema(kind: .double, keyKind: .int)),
            ("seen", .set, ElementSchema(kind: .uuid)),
        ] as [(String, ValueKind, ElementSchema)] {
            properties.append(
                PropertySchema(name: name, kind: kind, columnID: UInt32(properties.count), elements: elements))
        }
        for (name, kind) in [("pals", .list), ("crew", .set), ("heads", .map)] as [(String, ValueKind)] {
            let elements = ElementSchema(kind: .link, isNullable: kind == .map, keyKind: kind == .map ? .int : .null)
            properties.append(
                PropertySchema(
                    name: name, kind: kind, columnID: UInt32(properties.count), target: 0, elements: elements))
        }
        properties.append(
            PropertySchema(
                name: "things", kind: .list, columnID: UInt32(properties.count),
                elements: ElementSchema(kind: .mixed, isNullable: true)))
        let compounds = [([7, 8, 2], false), ([0, 5], true)].enumerated().map {
            IndexSchema(id: 1 << 16 + UInt32($0), properties: $1.0, isUnique: $1.1)
        }
        return ClassSchema(
            name: name, id: id, properties: properties, nextColumnID: UInt32(properties.count), compounds: compounds,
            nextIndexID: 1 << 16 + 2)
    }

    private static let schema = Schema(
        classes: [classSchema("Numbered", 0, key: .int), classSchema("Named", 1, key: .string)], version: 1)

    /// Small and large, clean and with a log to be replayed.
    static func all(_ folder: String) throws -> [Subject] {
        var subjects: [Subject] = []
        for (name, rows, isClean) in [
            ("small", 12, true), ("leaf", 700, true), ("leaves", 9000, true), ("log", 300, false),
            ("summary", 40, false),
        ] {
            subjects.append(try make(name, rows, isClean: isClean, folder + "/base"))
        }
        return subjects
    }

    private static func make(_ name: String, _ rows: Int, isClean: Bool, _ path: String) throws -> Subject {
        let database = try begin(path)
        var random = RandomNumbers(seed: UInt64(rows))
        var done = 0
        while done < rows {
            let transaction = try WriteTransaction.begin(database)
            if done == 0 { try transaction.setSchema(schema) }
            for _ in 0..<min(rows - done, isClean ? 4000 : 20) {
                for cls in 0..<2 { try Row.create(try transaction.state(cls), cls, done, &random) }
                done += 1
            }
            try transaction.commit(StoreOptions.Durability.none)
        }
        let transaction = try WriteTransaction.begin(database)
        try change(transaction, Array(0..<Int64(rows)))
        if name == "summary" { transaction.forceSummary() }
        try transaction.commit(StoreOptions.Durability.none)
        if name == "leaf" { try dropProperties(database) }
        return try end(database, name, isClean: isClean, path)
    }

    private static func begin(_ path: String) throws -> Database {
        for suffix in ["", "-log", "-lock"] { unlink(path + suffix) }
        var options = StoreOptions()
        options.hasBackgroundThread = false
        options.logBytes = 65536
        options.logBytesLimit = 65536
        options.growthPages = 8
        return try Database.open(path, options: options, machine: RealMachine())
    }

    private static func change(_ transaction: WriteTransaction, _ keys: [Int64]) throws {
        for key in keys where key % 7 == 3 {
            try transaction.delete(0, key)
            try transaction.state(1).update(key, 2, .int(key * 1_000_003))
            try transaction.state(1).update(key, 8, .null)
        }
    }

    /// What is left where properties were dropped, of each a part, an index or a tree, and one was renamed: leaves have
    /// columns that the schema does not know.
    private static func dropProperties(_ database: Database) throws {
        let transaction = try WriteTransaction.begin(database)
        let classes = schema.classes.map { old in
            var properties = old.properties
            for name in ["level", "time", "seen"] { properties.removeAll { $0.name == name } }
            properties[2].name = "count"
            func index(_ number: UInt32, _ names: [String], _ isUnique: Bool) -> IndexSchema {
                IndexSchema(
                    id: 1 << 16 + number, properties: names.map { name in properties.firstIndex { $0.name == name }! },
                    isUnique: isUnique)
            }
            return ClassSchema(
                name: old.name, id: old.id, properties: properties, nextColumnID: old.nextColumnID,
                compounds: [index(0, ["maybe", "note", "count"], false), index(1, ["id", "bytes"], true)],
                nextIndexID: 1 << 16 + 2)
        }
        try transaction.change(to: Schema(classes: classes, version: 2))
        try transaction.commit(StoreOptions.Durability.none)
    }

    private static func end(_ database: Database, _ name: String, isClean: Bool, _ path: String) throws -> Subject {
        if isClean { try database.close() }
        var subject = try files(name, isClean: isClean, path)
        if !isClean { try database.close() }
        try subject.findExtents()
        return subject
    }

    private static func files(_ name: String, isClean: Bool, _ path: String) throws -> Subject {
        func side(_ suffix: String) throws -> [UInt8]? {
            isClean || access(path + suffix, R_OK) != 0 ? nil : try read(path + suffix)
        }
        return Subject(name: name, store: try read(path), log: try side("-log"), lock: try side("-lock"))
    }

    // MARK: Small ones

    /// What libFuzzer has found is of stores with more rows and longer documents than random cases have, of whose time
    /// they were a third.
    static let isLibFuzzer = getenv("OBJSTORE_LIBFUZZER") != nil

    /// See `Session.samples`.
    static let samples = 10

    /// Small enough for hundreds of cases a second, with everything in them that a file can have.
    static func small(_ folder: String) throws -> [Subject] {
        let path = folder + "/base"
        return [
            try makeSmall("leaves", leaves: 3, rows: isLibFuzzer ? 12 : 7, isClean: true, path),
            try makeSmall("sparse", leaves: 4, rows: isLibFuzzer ? 10 : 5, isClean: true, path),
            try makeSmall("log", leaves: 2, rows: 8, isClean: false, path),
            try makeSmall("summary", leaves: 1, rows: 8, isClean: false, path),
        ]
    }

    /// Leaves with few rows each, for keys may leave gaps. A reader pins an old version all the time: the free map has
    /// pages in limbo.
    private static func makeSmall(
        _ name: String, leaves: Int, rows: Int, isClean: Bool, _ path: String
    ) throws -> Subject {
        let database = try begin(path)
        var random = RandomNumbers(seed: UInt64(leaves * 100 + rows))
        var keys: [Int64] = [], history = [try files(name, isClean: false, path)]
        var reader: Snapshot?
        for leaf in 0..<leaves {
            let transaction = try WriteTransaction.begin(database)
            if leaf == 0 { try transaction.setSchema(schema) }
            for row in 0..<rows {
                for cls in 0..<2 { try Row.create(try transaction.state(cls), cls, leaf * rows + row, &random) }
                keys.append(Int64(leaf) << 12 + Int64(row))
            }
            for cls in 0..<2 { try transaction.state(cls).raiseNextKey(to: Int64(leaf + 1) << 12) }
            try transaction.commit(StoreOptions.Durability.none)
            history.append(try files(name, isClean: false, path))
            if leaf == 0 { reader = try database.snapshot() }
        }
        let transaction = try WriteTransaction.begin(database)
        try change(transaction, keys)
        if name == "summary" { transaction.forceSummary() }
        try transaction.commit(StoreOptions.Durability.none)
        history.append(try files(name, isClean: false, path))
        if name == "leaves" {
            try dropProperties(database)
            history.append(try files(name, isClean: false, path))
        }
        if name == "sparse" {
            try database.compact(timeout: -1) { (_, _) throws(StoreError) in }
            history.append(try files(name, isClean: false, path))
        }
        if name != "summary" {
            // Behind a meta that is not that of the beginning.
            try database.checkpoint()
            for key in [1, 2] as [Int64] {
                let transaction = try WriteTransaction.begin(database)
                try Array("changed".utf8).withUnsafeBytes {
                    try transaction.state(1).update(key, 4, .string($0.baseAddress, $0.count))
                }
                try transaction.state(0).update(key, 1, .bool(key == 1))
                // Of a document, one value: see `Row.mixed`.
                for edited in [3, 4] as [Int64] {
                    try Array("n".utf8).withUnsafeBytes { name in
                        let property = kinds.count
                        do throws(StoreError) {
                            try transaction.state(1).edit(edited, property, [.key(name)], .set, .int(key))
                        } catch {
                            if error.code != .noSuchObject && error.code != .wrongType { throw error }
                        }
                    }
                }
                try transaction.commit(StoreOptions.Durability.none)
                history.append(try files(name, isClean: false, path))
            }
        }
        var subject = try withExtendedLifetime(reader) { try end(database, name, isClean: isClean, path) }
        subject.history = history
        return subject
    }

    /// Reads what recovery may come to.
    mutating func readHistory(_ path: String) throws {
        for state in history + [self] {
            state.write(path)
            let transcript = Transcript()
            try Session(path: path, isWriting: false, rounds: 1, samples: Subject.samples, transcript: transcript).run()
            transcripts.append(transcript)
        }
        history = []
    }

    mutating func findExtents() throws {
        var found: [Range<Int>] = []
        try store.withUnsafeBytes { bytes in
            let metas = [0, 4096].compactMap { Meta.decode(bytes.baseAddress! + $0) }
            guard let meta = metas.max(by: { $0.generation < $1.generation }) else { return }
            try OracleTree.forEachExtent(
                of: meta.root, file: bytes.baseAddress!, bytes: bytes.count, seed: meta.hashSeed
            ) { extent in
                found.append(extent.unit * 512..<(extent.unit + extent.units) * 512)
            }
            found.append(meta.freeMap.offset..<meta.freeMap.offset + 512)
        }
        extents = found
        forged = try ForgedStore(store)
    }

    static func read(_ path: String) throws -> [UInt8] {
        let file = open(path, O_RDONLY)
        guard file >= 0 else { throw StoreError(.io, "cannot read \(path)") }
        defer { close(file) }
        let size = Int(lseek(file, 0, SEEK_END))
        return [UInt8](unsafeUninitializedCapacity: size) { buffer, count in
            count = max(0, pread(file, buffer.baseAddress!, size, 0))
        }
    }

    /// Writes the files where a case opens them.
    func write(_ path: String) {
        for (suffix, bytes) in [("", Optional(store)), ("-log", log), ("-lock", lock)] {
            unlink(path + suffix)
            if let bytes { Subject.write(bytes, path + suffix) }
        }
    }

    /// The zeros at the end are a hole: logs are mostly such.
    static func write(_ bytes: [UInt8], _ path: String) {
        let file = open(path, O_RDWR | O_CREAT | O_TRUNC, 0o600)
        let count = bytes.withUnsafeBytes { bytes in
            var count = bytes.count
            while count >= 8, bytes.loadUnaligned(fromByteOffset: count - 8, as: UInt64.self) == 0 { count -= 8 }
            return count
        }
        precondition(
            file >= 0 && bytes.withUnsafeBytes { pwrite(file, $0.baseAddress!, count, 0) } == count
                && ftruncate(file, bytes.count) == 0)
        close(file)
    }
}

/// Random values for a row of the subjects' classes.
enum Row {
    static func create(_ state: ClassState, _ cls: Int, _ index: Int, _ random: inout RandomNumbers) throws {
        let memory = UnsafeMutablePointer<UInt8>.allocate(capacity: 16384)
        defer { memory.deallocate() }
        var used = 0
        func text(_ length: Int) -> (UnsafeRawPointer, Int) {
            let start = memory + used
            for position in 0..<length { start[position] = UInt8(97 + random.below(26)) }
            used += length
            return (UnsafeRawPointer(start), length)
        }
        func string(_ length: Int) -> Value {
            let (pointer, count) = text(length)
            return .string(pointer, count)
        }
        /// One of few, so that full segments are dictionaries.
        func known(_ number: Int) -> Value {
            let start = memory + used, name = "name \(number) of six"
            for (position, byte) in name.utf8.enumerated() { start[position] = byte }
            used += name.utf8.count
            return .string(start, name.utf8.count)
        }
        let key = "key \(index)"
        for (position, byte) in key.utf8.enumerated() { memory[position] = byte }
        used = key.utf8.count
        let (bytes, count) = text(random.below(40))
        let values: [Value] = [
            cls == 0 ? .int(Int64(index)) : .string(memory, key.utf8.count), .bool(index % 3 == 0),
            .int(Int64(random.below(1000))),
            // Sums are exact, in whatever order a salvaged store adds them up.
            .double(Double(random.below(100_000)) / 8),
            random.chance(0.9)
                ? known(index * 7 % 6) : string(random.chance(0.02) ? 100 + random.below(300) : random.below(12)),
            .binary(bytes, count),
            .timestamp(seconds: Int64(random.below(1 << 30)), nanoseconds: Int32(random.below(999_999_999))),
            random.chance(0.3) ? .null : .int(Int64(bitPattern: random.next())),
            random.chance(0.3) ? .null : string(random.chance(0.05) ? 4000 + random.below(3000) : random.below(60)),
            random.chance(0.5) ? .null : .double(1), random.chance(0.5) ? .null : .bool(true),
            random.chance(0.3) ? .null : .float(Float(random.below(1000)) - 500),
            random.chance(0.3)
                ? .null
                : Value(
                    kind: .decimal128, low: Int64(random.below(1000)),
                    high: random.chance(0.1) ? Int64(bitPattern: random.next()) : 0x303c_0000_0000_0000),
            Value(kind: .objectID, low: 77, high: Int64(random.below(1 << 24))),
            // One of the first of class 0, of which one is deleted later.
            index == 0 || random.chance(0.3) ? .null : Value(kind: .link, low: Int64(random.below(min(index, 4)))),
            random.chance(0.3) ? .null : Value(kind: .uuid, low: Int64(bitPattern: random.next()), high: Int64(index)),
        ]
        let builder = DocumentBuilder(), isNull = try mixed(index, &random, builder)
        let any =
            isNull ? Value.null : Value(kind: .mixed, pointer: builder.node.baseAddress, count: builder.node.count)
        let all =
            values + [
                any, .zero(of: .list), .zero(of: .map), .zero(of: .set), .zero(of: .list), .zero(of: .set),
                .zero(of: .map), .zero(of: .list),
            ]
        let created = try all.withUnsafeBufferPointer { try state.create($0.baseAddress!) }
        // None, few that stay in the row, many that lie in the tree; of many rows most have none, for cases are to be
        // fast.
        let elements = index < 60 ? [0, 2, 0, 5, 40][index % 5] : index % 150 == 0 ? 40 : 0
        used = key.utf8.count
        let words = (0..<elements).map {
            (key: Value.null, value: $0 % 9 == 4 ? .null : string($0 == 3 ? 600 : random.below(9)))
        }
        withExtendedLifetime(builder) {}
        try state.splice(created, values.count + 1, 0..<0, words[...])
        let marks = (0..<elements).map {
            (key: Value.int(Int64($0 * 3)), value: Value.double(Double(random.below(1000))))
        }
        try state.splice(created, values.count + 2, 0..<0, marks[...])
        let seen = (0..<elements).map {
            (key: Value.null, value: Value(kind: .uuid, low: Int64($0), high: Int64(bitPattern: random.next())))
        }
        try state.splice(created, values.count + 3, 0..<0, seen[...])
        // Links to the first of class 0, some of them twice.
        let pals = (0..<(index == 0 ? 0 : elements)).map {
            (key: Value.null, value: Value(kind: .link, low: Int64($0 % min(index, 30) % 7)))
        }
        try state.splice(created, values.count + 4, 0..<0, pals[...])
        let crew = (0..<min(elements, index, 8)).map { (key: Value.null, value: Value(kind: .link, low: Int64($0))) }
        try state.splice(created, values.count + 5, 0..<0, crew[...])
        let heads = pals.enumerated().map { (key: Value.int(Int64($0)), value: $0 % 6 == 5 ? .null : $1.value) }
        try state.splice(created, values.count + 6, 0..<0, heads[...])
        // Of any type, some with links to the first of class 0, alone or inside.
        var things: [(key: Value, value: Value)] = [], builders: [DocumentBuilder] = []
        for number in 0..<elements {
            let builder = DocumentBuilder(),
                link = Value.link(ObjectID(classID: 1, storeTag: 0, key: Int64(number % max(1, min(index, 30)) % 7)))
            if number % 4 == 3, index > 0 {
                if number % 8 == 3 { try builder.begin(.list) }
                try builder.append(link)
                if number % 8 == 3 { try builder.end() }
            } else if try mixed(number == 13 ? 3 : number, &random, builder) {
                things.append((.null, .null))
                continue
            }
            builders.append(builder)
            things.append((.null, Value(kind: .mixed, pointer: builder.node.baseAddress, count: builder.node.count)))
        }
        try state.splice(created, values.count + 7, 0..<0, things[...])
        withExtendedLifetime(builders) {}
    }

    /// How many elements the longest document has: some extents full.
    private static let longest = Subject.isLibFuzzer ? 3000 : 500

    /// The node of a mixed value: null (true), a plain one, a document, seldom one in an extent of its own.
    private static func mixed(_ index: Int, _ random: inout RandomNumbers, _ builder: DocumentBuilder) throws -> Bool {
        func key(_ text: String) throws {
            var text = text
            var failure: StoreError?
            text.withUTF8 { bytes in
                do throws(StoreError) { try builder.key(UnsafeRawBufferPointer(bytes)) } catch { failure = error }
            }
            if let failure { throw failure }
        }
        switch index % 5 {
        case 0: return true
        case 1: try builder.append(.int(Int64(bitPattern: random.next()) >> Int64(random.below(64))))
        case 2: try builder.append(Value(kind: .uuid, low: Int64(bitPattern: random.next()), high: 5))
        default:
            try builder.begin(.map)
            try key("n")
            try builder.append(.int(Int64(index)))
            try key("list")
            try builder.begin(.list)
            for number in 0..<(index == 13 ? longest : random.below(6)) {
                if number % 7 == 3 {
                    try builder.begin(.list)
                    try builder.append(.bool(true))
                    try builder.append(.null)
                    try builder.end()
                } else {
                    try builder.append(
                        number % 2 == 0
                            ? .double(Double(number)) : .timestamp(seconds: Int64(random.below(1000)), nanoseconds: 7))
                }
            }
            try builder.end()
            try builder.end()
        }
        return false
    }
}

import Foundation
import Testing

import ObjStoreCore

/// Each kind of page damaged in turn: verify names it, salvage keeps all that does not depend on it, and says exactly
/// what is lost.
@Suite struct SalvageTests {
    private static let sound = Result { try SalvageFixture(rows: 9000) }
    private static let killed = Result { try SalvageFixture(rows: 700, after: 40) }
    private let fixture: SalvageFixture

    init() throws { fixture = try SalvageTests.sound.get() }

    private typealias Lost = [Int: Set<Int64>]

    /// Checks and salvages a copy with damaged places; compares the whole content.
    ///
    /// - Parameter values: by class and property, which objects lose that value.
    private func check(
        _ places: [SalvageFixture.Place], named names: String..., objects: Lost = [:],
        values: [Int: [Int: Set<Int64>]] = [:], unknown: Set<Int> = [],
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        let damaged = try DamagedStore(fixture, places)
        let findings = try damaged.verify().findings
        #expect(findings.count >= places.count, "\(findings)", sourceLocation: sourceLocation)
        for name in names {
            #expect(findings.contains { $0.contains(name) }, "\(name): \(findings)", sourceLocation: sourceLocation)
        }
        try compare(damaged, objects, values, unknown, sourceLocation: sourceLocation)
    }

    private func compare(
        _ damaged: DamagedStore, _ objects: Lost, _ values: [Int: [Int: Set<Int64>]], _ unknown: Set<Int> = [],
        sourceLocation: SourceLocation
    ) throws {
        let fixture = damaged.fixture
        let (report, losses) = try damaged.salvage()
        let content = try damaged.content()
        try #require(content.count == fixture.schema.classes.count)
        var isComplete = true, values = values
        // A link to a lost object becomes null.
        for (index, cls) in fixture.schema.classes.enumerated() {
            for (property, target) in cls.properties.enumerated().compactMap({ position, property in
                property.target.map { (position, $0) }
            }) {
                let lost = objects[target, default: []]
                let dangling = content[index].keys.filter { key in
                    let link = fixture.oracle[index][key]![property].value
                    return !link.isNull && lost.contains(link.low)
                }
                if !dangling.isEmpty { values[index, default: [:]][property, default: []].formUnion(dangling) }
            }
        }
        for (index, cls) in fixture.schema.classes.enumerated() {
            let lost = objects[index, default: []]
            #expect(
                Set(content[index].keys) == Set(fixture.oracle[index].keys).subtracting(lost), "\(cls.name)",
                sourceLocation: sourceLocation)
            #expect(
                report.lost(cls.name) == (unknown.contains(index) ? nil : lost.count), "\(report)",
                sourceLocation: sourceLocation)
            if !lost.isEmpty { isComplete = false }
            for (key, row) in content[index] {
                for property in row.indices {
                    let isLost = values[index]?[property]?.contains(key) == true
                    let wanted = isLost ? cls.substitute(property) : fixture.oracle[index][key]![property].value
                    if !row[property].value.isSame(as: wanted) {
                        Issue.record(
                            """
                            \(cls.name)#\(key).\(cls.properties[property].name) is \(row[property].value.text), not \
                            \(wanted.text)
                            """,
                            sourceLocation: sourceLocation)
                        return
                    }
                }
            }
            for property in cls.properties.indices {
                let lost = values[index]?[property, default: []] ?? []
                #expect(
                    report.lost(cls.name, cls.properties[property].name) == lost.count,
                    "\(cls.name).\(cls.properties[property].name): \(report)", sourceLocation: sourceLocation)
                if !lost.isEmpty { isComplete = false }
            }
        }
        #expect((losses == 0) == isComplete, "\(losses) losses: \(report)", sourceLocation: sourceLocation)
    }

    @Test func aSoundStoreIsCopied() throws {
        let damaged = try DamagedStore(fixture, [])
        let report = try damaged.verify()
        #expect(
            report == [
                .cls("Everything", objects: fixture.oracle[0].count, lost: 0),
                .cls("Named", objects: fixture.oracle[1].count, lost: 0),
                .cls("Plain", objects: fixture.oracle[2].count, lost: 0),
            ])
        try compare(damaged, [:], [:], sourceLocation: #_sourceLocation)
    }

    /// A place in a transaction's memory is none in a file: such a meta is none, whatever its hash says. (Found by
    /// libFuzzer.)
    @Test(arguments: [72, 80]) func aMetaThatLeadsIntoMemory(offset: Int) throws {
        let page = ByteBuffer()
        try page.append(bytes: [UInt8](repeating: 0, count: PageSize.page), count: PageSize.page)
        var meta = try fixture.store.withUnsafeBytes { try #require(Meta.decode($0.baseAddress!)) }
        (meta.uuid, meta.incarnation, meta.generation, meta.version) = ((1, 2), 3, 4, 5)
        (meta.root, meta.freeMap, meta.filePages) = (
            Ref(raw: 3 * UInt64(PageSize.page)), Ref(raw: 4 * UInt64(PageSize.page)), 6
        )
        meta.log = LogPosition(lsn: 0, epoch: 1, chain: 2, region: LogRegion(offset: 4096, bytes: 1 << 20))
        (meta.hashSeed, meta.created, meta.isClean) = (7, 8, true)
        meta.encode(to: page.base)
        #expect(Meta.decode(page.base) == meta)
        page.base.storeBytes(
            of: page.base.load(fromByteOffset: offset, as: UInt64.self) | Ref.dirtyBit, toByteOffset: offset,
            as: UInt64.self)
        page.base.storeBytes(of: Meta.hash(page.base), toByteOffset: 248, as: UInt64.self)
        #expect(Meta.decode(page.base) == nil)
    }

    /// What a file says of how many there are is no reason to take the memory for them.
    @Test func asManyKeysAsAFileSays() throws {
        for count in [Int.max, 1 << 62, -1, 0] {
            let keys = try KeyBuffer(expecting: count)
            for key in 0..<100 { try keys.append(Int64(key)) }
            #expect(keys.count == 100 && keys.keys[99] == 99)
        }
    }

    @Test(arguments: 0..<2) func aDamagedMeta(slot: Int) throws {
        for offset in [10, 60, 100, 250] {
            // As an application leaves a store that it has closed: the log is gone, and no meta was being written.
            let closed = try DamagedStore(fixture) { store, log in
                store[slot * 4096 + offset] ^= 4
                log = nil
            }
            #expect(try closed.verify().findings.contains { $0.contains("meta \(slot)") })
            let damaged = try DamagedStore(fixture) { store, _ in store[slot * 4096 + offset] ^= 4 }
            try compare(damaged, [:], [:], sourceLocation: #_sourceLocation)
        }
    }

    /// Of a file that was not closed cleanly it is unknown whether a meta was torn while it was written: nothing is
    /// lost by it.
    @Test func aMetaThatMayBeTorn() throws {
        let killed = try SalvageTests.killed.get()
        let newest = try killed.store.withUnsafeBytes { bytes in
            try #require(
                Database.newestMeta((0..<2).map { Meta.decode(bytes.baseAddress! + $0 * PageSize.page) })?.slot)
        }
        let other = (1 - newest) * PageSize.page
        var damaged = try DamagedStore(killed) { store, _ in for byte in 248..<256 { store[other + byte] ^= 0x55 } }
        let report = try damaged.verify()
        #expect(
            report.findings == [] && report.notes.contains { $0.hasPrefix("meta \(1 - newest): it is damaged") },
            "\(report)")
        try compare(damaged, [:], [:], sourceLocation: #_sourceLocation)
        // If it cannot have been being written, it is damage.
        damaged = try DamagedStore(killed) { store, log in
            store[other + 60] ^= 4
            log = nil
        }
        #expect(try damaged.verify().findings.contains { $0.hasPrefix("meta \(1 - newest): it is damaged") })
    }

    /// The same where nothing of it is left that could prove itself.
    @Test(arguments: 0..<2, [512, 4096]) func aMetaThatIsGone(slot: Int, bytes: Int) throws {
        let damaged = try DamagedStore(try SalvageTests.killed.get()) { store, _ in
            for byte in 0..<bytes { store[slot * PageSize.page + byte] = 0 }
        }
        #expect(try damaged.verify().findings == [])
        let (report, losses) = try damaged.salvage()
        #expect(losses == 0, "\(report)")
        // If the file was closed no meta was being written.
        let closed = try DamagedStore(fixture) { store, log in
            for byte in 0..<bytes { store[slot * PageSize.page + byte] = 0 }
            log = nil
        }
        #expect(try closed.verify().findings.count > 0)
        #expect(try closed.salvage().losses > 0)
    }

    private func opening(_ damaged: DamagedStore) -> StoreError? {
        do throws(StoreError) {
            try Database.open(damaged.path, options: StoreOptions(), machine: RealMachine.shared).close()
        } catch { return error }
        return nil
    }

    /// The check says what opening says, to the byte. What is missing may not be needed: then a salvage has all
    /// there is.
    @Test(arguments: [1, 64, 4095, 4096, 5000], [false, true]) func aFileThatWasCutOff(
        bytes: Int, wasKilled: Bool
    ) throws {
        let fixture = wasKilled ? try SalvageTests.killed.get() : fixture
        let damaged = try DamagedStore(fixture) { store, _ in
            store.removeLast(store.count - fixture.meta.filePages * PageSize.page + bytes)
        }
        let words =
            """
            it was cut off: it has \(fixture.meta.filePages * PageSize.page - bytes) bytes and should have \
            \(fixture.meta.filePages * PageSize.page)
            """
        #expect(try damaged.verify().findings.contains("file: \(words)"))
        let (report, _) = try damaged.salvage()
        #expect(report.notes.contains("file: \(words)"), "\(report)")
        let error = opening(damaged)
        #expect(
            error?.code == .corrupt && error?.message == "\(damaged.path): \(words)",
            "\(error?.message ?? "it was opened")")
    }

    /// A close cuts the file. The meta before is of a longer one: that nothing was cut off by anybody else must not be
    /// said otherwise.
    @Test func theNewerMetaOfAFileThatACloseCut() throws {
        let newest = try fixture.store.withUnsafeBytes { bytes in
            try #require(
                Database.newestMeta((0..<2).map { Meta.decode(bytes.baseAddress! + $0 * PageSize.page) })?.slot)
        }
        let pages = try fixture.store.withUnsafeBytes { bytes in
            try #require(Meta.decode(bytes.baseAddress! + (1 - newest) * PageSize.page)).filePages
        }
        let damaged = try DamagedStore(fixture) { store, log in
            store.removeLast(max(0, store.count - (pages - 1) * PageSize.page))
            store[newest * PageSize.page + 40] ^= 1
            log = nil
        }
        let words =
            """
            meta \(1 - newest) is of \(pages * PageSize.page): it was cut off, or meta \(newest), which is damaged, \
            was the newer one
            """
        var error = opening(damaged)
        #expect(
            error?.code == .corrupt && error?.message.contains(words) == true, "\(error?.message ?? "it was opened")")
        #expect(try damaged.verify().findings.contains { $0.contains(words) })
        // As long as it was: the log is missed that a clean file does not need.
        let long = try DamagedStore(fixture) { store, log in
            store.append(contentsOf: [UInt8](repeating: 0, count: max(0, pages * PageSize.page - store.count)))
            store[newest * PageSize.page + 40] ^= 1
            log = nil
        }
        error = opening(long)
        let doubt =
            """
            was not closed cleanly, as meta \(1 - newest) says (meta \(newest), which is damaged, may have been the \
            newer one)
            """
        #expect(
            error?.code == .needsLog && error?.message.contains(doubt) == true, "\(error?.message ?? "it was opened")")
        #expect(try long.verify().findings.contains { $0.contains(doubt) })
    }

    @Test func bothMetasDamaged() throws {
        // Their roots prove themselves.
        var damaged = try DamagedStore(fixture) { store, _ in
            store[60] ^= 4
            store[4096 + 60] ^= 4
        }
        var findings = try damaged.verify().findings
        #expect(findings.contains { $0.contains("meta 0") } && findings.contains { $0.contains("meta 1") })
        try compare(damaged, [:], [:], sourceLocation: #_sourceLocation)
        // Only a search finds one, with the seed of what is left of them.
        damaged = try DamagedStore(fixture) { store, _ in
            for slot in 0..<2 { for byte in 0..<8 { store[slot * 4096 + 72 + byte] = 0x55 } }
        }
        findings = try damaged.verify().findings
        #expect(findings.contains { $0.contains("found by a search") }, "\(findings)")
        let (report, losses) = try damaged.salvage()
        #expect(losses > 0 && report.findings.contains { $0.contains("found by a search") })
        let content = try damaged.content()
        for cls in 0..<3 { #expect(Set(content[cls].keys) == Set(fixture.oracle[cls].keys)) }
        // Nothing is left of them.
        damaged = try DamagedStore(fixture) { store, _ in for byte in 0..<8192 { store[byte] = 0 } }
        #expect(performing { _ = try damaged.verify() } == .notAStore)
        #expect(performing { _ = try damaged.salvage() } == .notAStore)
        damaged = try DamagedStore(fixture) { store, _ in for byte in 8..<8192 { store[byte] = 0 } }
        #expect(try damaged.verify().findings.contains { $0.contains("root") })
        #expect(performing { _ = try damaged.salvage() } == .corrupt)
        #expect(!FileManager.default.fileExists(atPath: damaged.newPath))
    }

    @Test func aDamagedRootOrSchema() throws {
        let root = try fixture.first(.root)
        var damaged = try DamagedStore(fixture, [root])
        #expect(try damaged.verify().findings.contains { $0.contains("root") })
        // The other meta is of the version before the last checkpoint, or the search finds an older root: never a wrong
        // value.
        let (report, losses) = try damaged.salvage()
        #expect(losses > 0 && report.findings.contains { $0.contains("root") })
        damaged = try DamagedStore(fixture, [try fixture.first(.schema)])
        #expect(try damaged.verify().findings.contains { $0.contains("schema") })
        // The only other schema is the empty one of a new store.
        #expect(performing { _ = try damaged.salvage() } == .corrupt)
        // Another one of the same kind is found: it was written again, with a property more.
        let folder = TestFolder()
        var options = StoreOptions()
        options.hasBackgroundThread = false
        let database = try Database.open(folder["db"], options: options, machine: RealMachine.shared)
        func schema(_ count: Int) -> Schema {
            let properties = (0..<count).map { PropertySchema(name: "p\($0)", kind: .int, columnID: UInt32($0)) }
            return Schema(
                classes: [ClassSchema(name: "Row", id: 0, properties: properties, nextColumnID: UInt32(count))],
                version: 1)
        }
        for round in 1...2 {
            let transaction = try WriteTransaction.begin(database)
            try transaction.setSchema(schema(round))
            let values = Array(repeating: Value.int(Int64(round)), count: round)
            for _ in 0..<100 {
                _ = try values.withUnsafeBufferPointer { try transaction.state(0).create($0.baseAddress!) }
            }
            try transaction.commit(StoreOptions.Durability.none)
            try database.checkpoint()
        }
        try database.close()
        var bytes = [UInt8](try Data(contentsOf: URL(fileURLWithPath: folder["db"])))
        let image = try StoreImage.open(folder["db"], machine: RealMachine.shared)
        let meta = try #require(Database.newestMeta(image.slots.map(\.meta))?.meta)
        bytes[RootNode.schema(try image.source(meta).node(meta.root, .root)).offset + 40] ^= 1
        image.close()
        try Data(bytes).write(to: URL(fileURLWithPath: folder["db"]))
        var entries: [ReportEntry] = []
        let salvaged = try StoreFiles.salvage(
            folder["db"], to: folder["new"], progress: { (_, _) throws(StoreError) in }
        ) { (entry) throws(StoreError) in entries.append(entry) }
        #expect(salvaged.losses == 1 && entries.findings.contains { $0.contains("found by a search") }, "\(entries)")
        let new = try Database.open(folder["new"], options: options, machine: RealMachine.shared)
        var found: [Int64] = []
        try new.snapshot().forEachObject(0) { (_, values) throws(StoreError) in
            if values.count == 1 { found.append(values[0].low) }
        }
        #expect(found == Array(repeating: 1, count: 100) + Array(repeating: 2, count: 100))
        try new.close()
    }

    @Test func aDamagedClassNode() throws {
        for cls in 0..<3 {
            try check(
                [fixture.first(.classNode, cls)], named: "class \(fixture.schema.classes[cls].name)",
                objects: [cls: Set(fixture.oracle[cls].keys)],
                unknown: [cls])
        }
    }

    @Test func aDamagedInnerNodeOrHead() throws {
        try check(
            [fixture.first(.inner, 1)], named: "class Named, all objects", objects: [1: Set(fixture.oracle[1].keys)])
        let heads = fixture.all(.head, 0)
        #expect(heads.count == 3)
        for head in heads {
            try check(
                [head], named: "class Everything, objects \(head.keys.lowerBound)–",
                objects: [0: fixture.keys(0, head.keys)])
        }
        try check(
            [heads[0], heads[2]], named: "objects 0–4095", "objects 8192–",
            objects: [0: fixture.keys(0, heads[0].keys).union(fixture.keys(0, heads[2].keys))])
    }

    @Test func damagedNumbers() throws {
        for (cls, property) in [(0, 3), (0, 6), (0, 7), (0, 9), (1, 1), (2, 0), (2, 1)] {
            let parts = fixture.all(.part(property), cls)
            let part = try #require(parts.dropFirst(parts.count / 2).first)
            let name = fixture.schema.classes[cls].properties[property].name
            // A null is known from the head.
            let lost = fixture.keys(cls, part.keys).filter { !fixture.oracle[cls][$0]![property].value.isNull }
            try check(
                [part],
                named: "class \(fixture.schema.classes[cls].name), property \(name), objects \(part.keys.lowerBound)–",
                values: [cls: [property: lost]])
        }
    }

    @Test func damagedTexts() throws {
        for (cls, property) in [(0, 4), (0, 5), (0, 8), (1, 2)] {
            let part = try #require(fixture.all(.part(property), cls).last)
            let name = fixture.schema.classes[cls].properties[property].name
            try check(
                [part], named: "property \(name), objects \(part.keys.lowerBound)–",
                values: [cls: [property: fixture.keys(cls, part.keys)]])
        }
        // Fingerprints tell null from "".
        let part = try fixture.first(.fingerprints(8), 0)
        let lost = fixture.keys(0, part.keys).filter {
            let value = fixture.oracle[0][$0]![8].value
            return value.isNull || value.count == 0
        }
        try check([part], named: "property note, objects 0–4095: fingerprints", values: [0: [8: lost]])
        try check([fixture.first(.fingerprints(4), 0)], named: "property name, objects 0–4095: fingerprints")
        let long = try #require(fixture.all(.longValue(8), 0).dropFirst(3).first)
        try check(
            [long], named: "property note, object \(long.keys.lowerBound): long value",
            values: [0: [8: fixture.keys(0, long.keys)]])
    }

    /// What an index knows is not lost.
    @Test func damagedValuesWithAnIndex() throws {
        let numbers = try fixture.first(.part(2), 0)
        try check([numbers], named: "property number, objects \(numbers.keys.lowerBound)–")
        let keys = try fixture.first(.part(0), 1)
        try check([keys], named: "property key, objects \(keys.keys.lowerBound)–")
        // Of texts with more than 64 bytes an index has the beginning only.
        let tags = try fixture.first(.part(10), 0)
        let long = fixture.keys(0, tags.keys).filter { fixture.oracle[0][$0]![10].value.count > 64 }
        #expect(!long.isEmpty)
        try check([tags], named: "property tag", values: [0: [10: long]])
        // Uuids and object ids are there whole; zero and NaN of floats, and how a decimal was written, are not.
        for property in [13, 14] {
            try check(
                [fixture.first(.part(property), 0)],
                named: "property \(fixture.schema.classes[0].properties[property].name)")
        }
        let floats = try fixture.first(.part(11), 0)
        let unsure = fixture.keys(0, floats.keys).filter {
            let value = fixture.oracle[0][$0]![11].value
            return !value.isNull && (value.asFloat == 0 || value.isNaN)
        }
        try check([floats], named: "property ratio", values: [0: [11: unsure]])
        let decimals = try fixture.first(.part(12), 0)
        try check(
            [decimals], named: "property price",
            values: [0: [12: fixture.keys(0, decimals.keys).filter { !fixture.oracle[0][$0]![12].value.isNull }]])
        for (cls, property) in [(0, 15), (0, 16), (2, 2)] {
            let links = try fixture.first(.part(property), cls)
            #expect(fixture.keys(cls, links.keys).contains { !fixture.oracle[cls][$0]![property].value.isNull })
            try check([links], named: "property \(fixture.schema.classes[cls].properties[property].name)")
        }
        // Key and index: what the leaves of the index had is lost.
        let damaged = try DamagedStore(fixture, [keys] + fixture.all(.indexLeaf(0), 1).dropFirst(5).prefix(8))
        #expect(try damaged.verify().findings.contains { $0.contains("index of Named.key") })
        let (report, losses) = try damaged.salvage()
        let content = try damaged.content()
        let lost = try #require(report.lost("Named"))
        #expect(lost > 0 && losses > 0 && content[1].count == fixture.oracle[1].count - lost)
        #expect(
            report.findings.contains { $0.contains("class Named") && $0.contains("primary key key cannot be read") })
        for (key, row) in content[1] {
            for property in row.indices {
                #expect(row[property].value.isSame(as: fixture.oracle[1][key]![property].value))
            }
        }
    }

    @Test func damagedIndexesAndFreeMap() throws {
        for (cls, property) in [
            (0, 0), (0, 2), (0, 10), (0, 13), (0, 15), (1, 0), (2, 2), (0, SalvageFixture.compound),
            (0, SalvageFixture.compound + 1),
        ] {
            let schema = fixture.schema.classes[cls]
            let name =
                property >= SalvageFixture.compound
                ? ["Everything.(origin, score)", "Everything.(tag, number, note)"][property - SalvageFixture.compound]
                : "\(schema.name).\(schema.properties[property].name)"
            try check([try #require(fixture.all(.indexInner(property), cls).last)], named: "index of \(name)")
            let leaves = fixture.all(.indexLeaf(property), cls)
            if leaves.count > 2 { try check([leaves[0], leaves[leaves.count - 1]], named: "index of \(name)") }
        }
        try check([fixture.first(.freeMap)], named: "free map")
    }

    /// A unique value that is lost in the objects and in its index, and may not be null: any replacement could be that
    /// of another object.
    @Test func lostUniqueValues() throws {
        let leaves = fixture.all(.indexLeaf(13), 0)
        let damaged = try DamagedStore(fixture, [try fixture.first(.part(13), 0)] + leaves.prefix(leaves.count / 2))
        let (report, losses) = try damaged.salvage()
        let lost = try #require(report.lost("Everything"))
        #expect(lost > 3 && losses > 0)
        #expect(report.findings.contains { $0.contains("their unique code cannot be read") })
        let content = try damaged.content()
        #expect(content[0].count == fixture.oracle[0].count - lost)
        #expect(report.lost("Everything", "code") == 0)
        for (key, row) in content[0] { #expect(row[13].value.isSame(as: fixture.oracle[0][key]![13].value)) }
    }

    @Test func aFileThatWasCutOff() throws {
        let damaged = try DamagedStore(fixture) { store, _ in store.removeLast(store.count / 3) }
        #expect(try damaged.verify().findings.contains { $0.contains("cut off") })
        try expectNothingWrong(damaged)
    }

    // MARK: The log

    @Test func theLogOfAKilledProcessIsApplied() throws {
        let killed = try SalvageTests.killed.get()
        #expect(!killed.meta.isClean)
        let damaged = try DamagedStore(killed, [])
        let report = try damaged.verify()
        #expect(
            report.findings.isEmpty && report.notes.contains { $0.contains("not closed cleanly") }
                && report.notes.contains { $0.contains("40 records") })
        try compare(damaged, [:], [:], sourceLocation: #_sourceLocation)
    }

    @Test func aDamagedLogIsAppliedUpToTheDamage() throws {
        let killed = try SalvageTests.killed.get()
        // The header is not needed: the chain proves itself.
        var damaged = try DamagedStore(killed) { _, log in log![20] ^= 1 }
        #expect(try damaged.verify().findings.contains { $0.contains("log: its header") })
        try compare(damaged, [:], [:], sourceLocation: #_sourceLocation)
        let start = Int(killed.meta.log.lsn) + killed.meta.log.region.offset
        damaged = try DamagedStore(killed) { _, log in log![start + 20 * 512 + 200] ^= 1 }
        #expect(try damaged.verify().notes.contains { $0.contains("do not continue the chain") })
        let (report, losses) = try damaged.salvage()
        #expect(losses == 1 && report.findings.contains { $0.contains("records behind version") }, "\(report)")
        let content = try damaged.content()
        #expect(content[2].count < killed.oracle[2].count && content[2].count >= killed.oracle[2].count - 40)
        damaged = try DamagedStore(killed) { _, log in log = nil }
        #expect(try damaged.verify().findings.contains { $0.contains("log: it is missing") })
        #expect(try damaged.salvage().report.findings.contains { $0.contains("log: it is missing") })
    }

    @Test func whatTheLogRenewsIsNotLost() throws {
        let killed = try SalvageTests.killed.get()
        // The log has newer values of `score` for 40 objects of this part, and deletes 40 objects of Named.
        let part = try killed.first(.part(3), 0)
        let renewed = Set((0..<40).map { Int64($0 * 7 + 1) })
        let lost = Set(killed.oracle[0].keys.filter { part.keys.contains($0) && !renewed.contains($0) })
        try compare(try DamagedStore(killed, [part]), [:], [0: [3: lost]], sourceLocation: #_sourceLocation)
        let head = try killed.first(.head, 1)
        let damaged = try DamagedStore(killed, [head])
        let (report, _) = try damaged.salvage()
        #expect(report.lost("Named") == killed.keys(1, head.keys).count)
        #expect(Set(try damaged.content()[1].keys) == Set(killed.oracle[1].keys).subtracting(head.keys))
    }

    /// Links to lost objects become null, and are counted and reported with the reason; the others stay.
    @Test func linksToLostObjects() throws {
        let head = try fixture.first(.head, 1)
        let damaged = try DamagedStore(fixture, [head])
        try compare(damaged, [1: fixture.keys(1, head.keys)], [:], sourceLocation: #_sourceLocation)
        let again = try DamagedStore(fixture, [head])
        let (report, _) = try again.salvage()
        #expect(report.lost("Everything", "named") > 1000)
        #expect(
            report.findings.contains {
                $0.contains("property named")
                    && $0.contains("now null: the object of class Named that they linked to is lost")
            })
    }

    // MARK: Other

    @Test func filesThatAreNoStoreOrInUse() throws {
        let folder = TestFolder()
        func refused(
            _ status: StatusCode, _ from: String, _ to: String, sourceLocation: SourceLocation = #_sourceLocation
        ) {
            let found = performing {
                _ = try StoreFiles.salvage(
                    from, to: to, progress: { (_, _) throws(StoreError) in }, report: { (_) throws(StoreError) in })
            }
            #expect(found == status, sourceLocation: sourceLocation)
        }
        refused(.notFound, folder["none"], folder["new"])
        try Data("no store".utf8).write(to: URL(fileURLWithPath: folder["text"]))
        refused(.notAStore, folder["text"], folder["new"])
        refused(.notAStore, folder.path, folder["new"])
        try Data().write(to: URL(fileURLWithPath: folder["empty"]))
        refused(.notAStore, folder["empty"], folder["new"])
        let damaged = try DamagedStore(fixture, [])
        refused(.alreadyExists, damaged.path, folder["text"])
        refused(.alreadyExists, damaged.path, damaged.path)
        #expect(try Data(contentsOf: URL(fileURLWithPath: folder["text"])) == Data("no store".utf8))
        refused(.notFound, damaged.path, folder["no folder/new"])
        var options = StoreOptions()
        options.hasBackgroundThread = false
        let database = try Database.open(damaged.path, options: options, machine: RealMachine.shared)
        refused(.busy, damaged.path, folder["new"])
        try database.close()
        // An interrupted one leaves nothing behind, and the file can be opened again.
        for when in 0..<3 {
            var calls = 0
            #expect(
                performing {
                    _ = try StoreFiles.salvage(
                        damaged.path, to: folder["new"],
                        progress: { (_, _) throws(StoreError) in
                            calls += 1
                            if calls > when { throw StoreError(.cancelled, "stopped") }
                        }, report: { (_) throws(StoreError) in throw StoreError(.cancelled, "stopped") })
                } == .cancelled)
        }
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted() == ["empty", "text"])
        // Read permission is enough.
        try FileManager.default.setAttributes([.posixPermissions: 0o444], ofItemAtPath: damaged.path)
        #expect(try damaged.verify().findings == [])
    }

    /// Two levels above the leaves: siblings of a damaged inner node are read.
    @Test func aDamagedInnerNodeHasSiblings() throws {
        let folder = TestFolder()
        let cls = ClassSchema(name: "Row", id: 0, properties: [PropertySchema(name: "x", kind: .int)], nextColumnID: 1)
        var options = StoreOptions()
        options.hasBackgroundThread = false
        let database = try Database.open(folder["db"], options: options, machine: RealMachine.shared)
        let count = 84 * 4096 + 5000
        var done = 0
        while done < count {
            let transaction = try WriteTransaction.begin(database)
            if done == 0 { try transaction.setSchema(Schema(classes: [cls], version: 1)) }
            let state = try transaction.state(0)
            for _ in 0..<min(100_000, count - done) {
                _ = try withUnsafePointer(to: Value.int(Int64(done) &* 7)) { try state.create($0) }
                done += 1
            }
            try transaction.commit(StoreOptions.Durability.none)
        }
        try database.close()
        var bytes = [UInt8](try Data(contentsOf: URL(fileURLWithPath: folder["db"])))
        let image = try StoreImage.open(folder["db"], machine: RealMachine.shared)
        let meta = try #require(Database.newestMeta(image.slots.map(\.meta))?.meta), source = image.source(meta)
        let root = try source.node(RootNode.classNode(try source.node(meta.root, .root), 0), .classRoot)
        let top = try source.node(ClassNode.cluster(root), .clusterInner)
        #expect(ClusterInner.level(top) == 2)
        let second = ClusterInner.keys(top)[1], rows = Int(ClusterInner.rows(top)[0])
        bytes[ClusterInner.ref(top, 0).offset + 100] ^= 1
        image.close()
        try Data(bytes).write(to: URL(fileURLWithPath: folder["db"]))
        var report: [ReportEntry] = []
        _ = try StoreFiles.verify(folder["db"], progress: { (_, _) throws(StoreError) in }) {
            (entry) throws(StoreError) in report.append(entry)
        }
        #expect(
            report.findings.count == 1
                && report.findings[0].hasPrefix("class Row, objects 0–\(second - 1), \(rows) of them: "), "\(report)")
        report = []
        _ = try StoreFiles.salvage(folder["db"], to: folder["new"], progress: { (_, _) throws(StoreError) in }) {
            (entry) throws(StoreError) in report.append(entry)
        }
        #expect(report.lost("Row") == rows)
        let new = try Database.open(folder["new"], options: options, machine: RealMachine.shared)
        var next = second
        try new.snapshot().forEachObject(0) { (key, values) throws(StoreError) in
            if key != next || values[0].low != key * 7 { Issue.record("object \(key), expected \(next)") }
            next += 1
        }
        #expect(next == Int64(count))
        try new.close()
    }

    // MARK: Random damage

    /// Whatever bits flip: no crash, and no value that is neither the right one nor said to be lost.
    @Test(arguments: 0..<6) func randomBitFlips(seed: Int) throws {
        var random = SalvageFixture.Numbers(seed: UInt64(seed))
        for _ in 0..<10 * testScale {
            let subject = try [SalvageTests.killed, SalvageTests.small, SalvageTests.compacted, SalvageTests.small][
                random.below(4)
            ].get()
            let damaged = try DamagedStore(subject) { store, log in
                for _ in 0..<(1 + random.below(8)) {
                    switch random.below(10) {
                    case 0: store[random.below(2) * 4096 + random.below(256)] ^= 1 << UInt8(random.below(8))
                    case 1 where log != nil: log![4096 + random.below(60_000)] ^= 1 << UInt8(random.below(8))
                    case 2:
                        let page = 3 + random.below(store.count / 4096 - 3)
                        for byte in 0..<4096 { store[page * 4096 + byte] = UInt8(truncatingIfNeeded: random.next()) }
                    default:
                        let place = subject.places[random.below(subject.places.count)]
                        store[place.bytes.lowerBound + random.below(place.bytes.count)] ^= 1 << UInt8(random.below(8))
                    }
                }
            }
            try expectNothingWrong(damaged, "seed \(seed)")
        }
    }

    /// Leaves that compaction has put together, and what they list: without the keys the objects are unknown.
    @Test func leavesThatListTheirKeys() throws {
        let fixture = try SalvageTests.compacted.get()
        let sound = try DamagedStore(fixture, [])
        #expect(try sound.verify().findings == [])
        try compare(sound, [:], [:], sourceLocation: #_sourceLocation)
        for cls in 0..<3 {
            let keys = try fixture.first(.keys, cls), name = fixture.schema.classes[cls].name
            let damaged = try DamagedStore(fixture, [keys])
            let findings = try damaged.verify().findings
            #expect(findings.contains { $0.contains("class \(name), object keys") }, "\(findings)")
            try compare(damaged, [cls: fixture.keys(cls, keys.keys)], [:], sourceLocation: #_sourceLocation)
            let damagedHead = try #require(fixture.all(.head, cls).first)
            try compare(
                DamagedStore(fixture, [damagedHead]), [cls: fixture.keys(cls, damagedHead.keys)], [:],
                sourceLocation: #_sourceLocation)
        }
        let numbers = try #require(fixture.all(.part(3), 0).first)
        try compare(
            DamagedStore(fixture, [numbers]), [:], [0: [3: fixture.keys(0, numbers.keys)]],
            sourceLocation: #_sourceLocation)
    }

    private static let compacted = Result { try SalvageFixture(rows: 13_000, keeps: 9) }
    private static let small = Result { try SalvageFixture(rows: 1200) }

    /// Every value is the right one, or counted as lost; every missing object is counted, where anybody knows.
    private func expectNothingWrong(_ damaged: DamagedStore, _ what: Comment = "") throws {
        let report: [ReportEntry], losses: Int
        do {
            _ = try damaged.verify()
            (report, losses) = try damaged.salvage()
        } catch let error as StoreError {
            #expect([.corrupt, .notAStore, .versionMismatch].contains(error.code), "\(error)")
            #expect(!FileManager.default.fileExists(atPath: damaged.newPath))
            return
        }
        // Another version than the newest was all there was: it is compared with nothing. Only what is wrong with the
        // root of the older meta costs nothing; then all is compared.
        let doubts = report.findings.filter {
            $0.hasPrefix("root:") || $0.hasPrefix("meta:") || $0.hasPrefix("log:") || $0.hasPrefix("schema:")
        }
        if losses > 0, !doubts.isEmpty { return }
        #expect(doubts.allSatisfy { $0.hasPrefix("root: that of meta") }, "nothing is said to be lost: \(doubts)")
        let fixture = damaged.fixture, content = try damaged.content()
        var wrong = 0
        for (index, cls) in fixture.schema.classes.enumerated() {
            let missing = fixture.oracle[index].keys.filter { content[index][$0] == nil }.count
            if let lost = report.lost(cls.name) {
                #expect(lost == missing, "\(cls.name), \(what): \(report)")
            } else {
                #expect(missing >= fixture.oracle[index].count - 40, "all but those of the log")
            }
            for property in cls.properties.indices {
                var different = 0
                for (key, row) in content[index] {
                    guard let original = fixture.oracle[index][key] else {
                        Issue.record("\(cls.name)#\(key) never existed, \(what)")
                        return
                    }
                    if row[property].value.isSame(as: original[property].value) { continue }
                    different += 1
                    #expect(
                        row[property].value.isSame(as: cls.substitute(property)),
                        "\(cls.name)#\(key).\(cls.properties[property].name), \(what)")
                }
                let lost = report.lost(cls.name, cls.properties[property].name)
                #expect(
                    different <= lost,
                    """
                    \(cls.name).\(cls.properties[property].name): \(different) differ, \(lost) are said to be lost, \
                    \(what)
                    """
                )
                wrong += different
            }
            wrong += missing
        }
        #expect(wrong == 0 || losses > 0)
    }

    private func performing(_ body: () throws -> Void) -> StatusCode {
        do {
            try body()
            return .ok
        } catch {
            return (error as? StoreError)?.code ?? .internalError
        }
    }
}

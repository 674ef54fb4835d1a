import Foundation
import Testing

import ObjStoreCore

/// Every page of collection trees damaged in turn: verify names the property, salvage keeps what can be read.
@Suite struct CollectionSalvageTests {
    typealias Elements = [(key: OwnedValue, value: OwnedValue)]

    private static let schema = Schema(
        classes: [
            ClassSchema(
                name: "Shelf", id: 0,
                properties: [
                    PropertySchema(name: "id", kind: .int, columnID: 0, isPrimaryKey: true),
                    PropertySchema(
                        name: "books", kind: .list, columnID: 1,
                        elements: ElementSchema(kind: .string, isNullable: true)),
                    PropertySchema(name: "numbers", kind: .set, columnID: 2, elements: ElementSchema(kind: .int)),
                    PropertySchema(
                        name: "notes", kind: .map, columnID: 3, elements: ElementSchema(kind: .double, keyKind: .string)
                    ),
                ], nextColumnID: 4)
        ], version: 1)

    private let folder = TestFolder()
    private let store: [UInt8]
    private let oracle: [Int64: [Int: Elements]]
    private let places: [(property: Int, bytes: Range<Int>)]

    init() throws {
        var options = StoreOptions()
        options.hasBackgroundThread = false
        let database = try Database.open(folder["db"], options: options, machine: RealMachine.shared)
        let transaction = try WriteTransaction.begin(database)
        try transaction.setSchema(CollectionSalvageTests.schema)
        let state = try transaction.state(0), holder = SampleHolder()
        for id in 0..<120 {
            let values: [Value] = [.int(Int64(id)), .zero(of: .list), .zero(of: .set), .zero(of: .map)]
            let key = try values.withUnsafeBufferPointer { try state.create($0.baseAddress!) }
            let count = [0, 2, 9, 40, id == 64 ? 1000 : 70][id % 5]
            func text(_ index: Int) -> Value {
                if index % 11 == 7 { return .null }
                return holder.value(
                    .text(Array(String(repeating: "book \(id) \(index) ", count: index % 37 == 5 ? 90 : 1).utf8)))
            }
            try state.splice(key, 1, 0..<0, (0..<count).map { (.null, text($0)) }[...])
            try state.splice(key, 2, 0..<0, (0..<count).map { (.null, .int(Int64($0 * $0 + id))) }[...])
            let names = (0..<count).map { "note \($0)" }.sorted()
            try state.splice(
                key, 3, 0..<0, names.map { (holder.value(.text(Array($0.utf8))), .double(Double($0.count) / 3)) }[...])
        }
        try transaction.commit(StoreOptions.Durability.none)
        withExtendedLifetime(holder) {}
        oracle = try CollectionSalvageTests.read(try database.snapshot())
        #expect(oracle.count == 120 && oracle[63]![2]!.count == 40 && oracle[64]![1]!.count == 1000)
        try database.close()
        store = [UInt8](try Data(contentsOf: URL(fileURLWithPath: folder["db"])))
        let image = try StoreImage.open(folder["db"], machine: RealMachine.shared)
        defer { image.close() }
        let meta = try #require(Database.newestMeta(image.slots.map(\.meta))?.meta)
        let source = image.source(meta),
            node = try source.node(RootNode.classNode(try source.node(meta.root, .root), 0), .classRoot)
        var places: [(property: Int, bytes: Range<Int>)] = []
        for property in 1...3 {
            let tree = CollectionReader(source: source, root: ClassNode.collectionRoot(node, column: UInt32(property)))
            try tree.forEachExtent { extent in
                places.append((property, extent.unit * PageSize.unit..<extent.unit * PageSize.unit + 40))
            }
        }
        self.places = places
    }

    private static func read(_ snapshot: Snapshot) throws -> [Int64: [Int: Elements]] {
        var content: [Int64: [Int: Elements]] = [:]
        try snapshot.forEachObject(0) { (key, values) throws(StoreError) in
            for property in 1...3 {
                var elements: Elements = []
                try snapshot.elements(0, property, of: key, values[property]).forEach { key, value in
                    elements.append((OwnedValue(key), OwnedValue(value)))
                    return true
                }
                content[key, default: [:]][property] = elements
            }
        }
        return content
    }

    @Test func everyPageOfTheTrees() throws {
        #expect(places.count > 30)
        // The first of each tree is its root; of the others each third.
        for (index, (property, bytes)) in places.enumerated()
        where index % 3 == 0 || index == 0 || places[index - 1].property != property {
            let name = CollectionSalvageTests.schema.classes[0].properties[property].name
            var damaged = store
            damaged[bytes.lowerBound + 36] ^= 0x10
            try Data(damaged).write(to: URL(fileURLWithPath: folder["copy"]))
            var report: [ReportEntry] = []
            _ = try StoreFiles.verify(folder["copy"], progress: { (_, _) throws(StoreError) in }) {
                (entry) throws(StoreError) in report.append(entry)
            }
            #expect(
                !report.findings.isEmpty && report.findings.allSatisfy { $0.contains("elements of \(name)") },
                "\(bytes): \(report.findings)")

            report = []
            try? FileManager.default.removeItem(atPath: folder["new"])
            _ = try StoreFiles.salvage(folder["copy"], to: folder["new"], progress: { (_, _) throws(StoreError) in }) {
                (entry) throws(StoreError) in report.append(entry)
            }
            var options = StoreOptions()
            options.hasBackgroundThread = false
            let database = try Database.open(folder["new"], options: options, machine: RealMachine.shared)
            #expect(Verifier.findings(try database.snapshot()) == [])
            let found = try CollectionSalvageTests.read(try database.snapshot())
            try database.close()
            var lost = 0
            for (key, wanted) in oracle {
                for other in 1...3 {
                    let before = wanted[other]!, after = try #require(found[key]?[other])
                    let isPrefix =
                        after.count <= before.count
                        && zip(after, before).allSatisfy {
                            $0.key.value.isSame(as: $1.key.value) && $0.value.value.isSame(as: $1.value.value)
                        }
                    #expect(isPrefix, "\(name), object \(key), property \(other): \(after.count) of \(before.count)")
                    if after.count < before.count {
                        lost += 1
                        #expect(other == property)
                    }
                }
            }
            #expect(
                lost > 0 && report.lost("Shelf", name) == lost && report.lost("Shelf") == 0,
                "\(bytes): \(lost), \(report)")
        }
    }

    /// Rows that say nothing right about their elements.
    @Test func damagedCells() throws {
        let image = try StoreImage.open(folder["db"], machine: RealMachine.shared)
        let meta = try #require(Database.newestMeta(image.slots.map(\.meta))?.meta)
        let source = image.source(meta),
            node = try source.node(RootNode.classNode(try source.node(meta.root, .root), 0), .classRoot)
        let head = try source.node(ClassNode.cluster(node), .leafHead)
        var cells: [Int] = []
        for line in 0..<LeafHead.entries(head) where LeafEntry(head + LeafHead.directory + line << 6).columnID == 1 {
            LeafExtents(source).forEachPart(head, LeafEntry(head + LeafHead.directory + line << 6)) {
                raw, bytes, _, _, kind in
                if kind == .strings { cells.append(Ref(raw: raw).offset + bytes / 2) }
            }
        }
        image.close()
        try #require(cells.count == 1)
        var damaged = store
        damaged[cells[0]] ^= 1
        try Data(damaged).write(to: URL(fileURLWithPath: folder["copy"]))
        var report: [ReportEntry] = []
        _ = try StoreFiles.verify(folder["copy"], progress: { (_, _) throws(StoreError) in }) {
            (entry) throws(StoreError) in report.append(entry)
        }
        #expect(
            report.findings.count == 1 && report.findings[0].contains("property books, objects 0–119"),
            "\(report.findings)")
        try? FileManager.default.removeItem(atPath: folder["new"])
        report = []
        _ = try StoreFiles.salvage(folder["copy"], to: folder["new"], progress: { (_, _) throws(StoreError) in }) {
            (entry) throws(StoreError) in report.append(entry)
        }
        #expect(report.lost("Shelf", "books") == 120 && report.lost("Shelf", "numbers") == 0, "\(report)")
    }
}

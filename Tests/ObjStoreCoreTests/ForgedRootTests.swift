import Foundation
import Testing

import ObjStoreCore

/// A version whose root has fewer classes than its schema, with hashes that are right.
@Suite struct ForgedRootTests {
    private let folder = TestFolder()

    private func open() throws -> Store {
        try ConstraintTests.open(folder["db"], version: 1) { draft in
            for cls in ["First", "Row"] {
                try draft.addClass(cls)
                try draft.addProperty(cls, "id", .int, [.primaryKey])
                try draft.addProperty(cls, "n", .int, [.nullable, .indexed])
                try draft.addProperty(cls, "text", .string, [.nullable])
                try draft.addProperty(cls, "any", .mixed, [.nullable])
                try draft.addIndex(cls, ["n", "text"], [])
                try draft.addLink(cls, "next", to: "Row", [.nullable])
                try draft.addCollection(cls, "all", .list, ElementSchema(kind: .link, keyKind: .null), target: "Row")
            }
        }
    }

    /// The second class's node is cut off.
    private func forge() throws {
        let store = try open(), tx = try store.begin(), row = try tx.findClass("Row")
        let ids = [try tx.findProperty(row, "id"), try tx.findProperty(row, "n")]
        for id in 1...5 as ClosedRange<Int64> {
            _ = try ids.withUnsafeBufferPointer { try tx.create(row, $0, [.int(id), .int(id)]) }
        }
        try tx.commit()
        try store.close()
        let url = URL(fileURLWithPath: folder["db"])
        var bytes = [UInt8](try Data(contentsOf: url))
        let forged = try ForgedStore(bytes)
        try bytes.withUnsafeMutableBytes { bytes in
            let metas = (0..<2).compactMap { Meta.decode(bytes.baseAddress! + $0 * PageSize.page) }
            let meta = try #require(metas.max { $0.generation < $1.generation })
            let root = bytes.baseAddress! + meta.root.offset
            #expect(NodeHeader.count(root) == 2)
            NodeHeader.setCount(root, 1)
            root.storeBytes(of: UInt32(NodeHeader.bytes(root) - 8), toByteOffset: 4, as: UInt32.self)
            RootNode.setClassNode(root, 1, .null)
        }
        forged.seal(&bytes)
        try Data(bytes).write(to: url)
    }

    /// Nothing of it is answered as if it were empty.
    @Test func aClassWithoutItsNodeIsNoEmptyClass() throws {
        try forge()
        let store = try open(), view = try store.openView(), row = try view.findClass("Row")
        let ids = try ["id", "n", "text", "any", "next"].map { try view.findProperty(row, $0) }
        let pair = try ids[1...2].withUnsafeBufferPointer { try view.findIndex(row, $0) }
        let reads: [(String, () throws -> Void)] = [
            ("count", { _ = try view.count(row) }),
            ("all", { _ = try view.find(Query(all: row)).list() }),
            ("by key", { _ = try view.find(row, .int(1)) }),
            ("by index", { _ = try view.count(Query(row, ids[1], .equal, .int(1))) }),
            ("by scan", { _ = try view.count(Query(row, ids[2], .equal, .null)) }),
            ("by mixed", { _ = try view.count(Query(row, ids[3], .equal, .int(1))) }),
            ("by link", { _ = try view.count(Query(row, ids[4], .equal, .null)) }),
            (
                "in an index",
                {
                    let none = UnsafeBufferPointer<Value>(start: nil, count: 0)
                    _ = try view.count(view.query(in: IndexStretch(pair, from: none, to: none, [])))
                }
            ),
        ]
        for (name, read) in reads {
            do {
                try read()
                Issue.record("\(name): it was answered")
            } catch {
                #expect([.corrupt, .noSuchClass].contains((error as? StoreError)?.code), "\(name): \(error)")
            }
        }
        view.close()
        try store.close()
    }
}

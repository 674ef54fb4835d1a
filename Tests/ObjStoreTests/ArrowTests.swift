import ObjStore
import Testing

/// What is exported to Arrow, read by the layout of its structures.
@Suite struct ArrowTests {
    final class Note: Object {
        @Persisted(primaryKey: true) var number: Int
        @Persisted var word: String?
        @Persisted var bytes: [UInt8]
    }

    typealias Get = @convention(c) (UnsafeMutableRawPointer, UnsafeMutableRawPointer) -> Int32
    typealias Release = @convention(c) (UnsafeMutableRawPointer) -> Void

    /// Five words for a stream, nine for a schema, ten for an array.
    private func record(_ words: Int) -> UnsafeMutableRawPointer {
        let record = UnsafeMutableRawPointer.allocate(byteCount: words * 8, alignment: 8)
        record.initializeMemory(as: Int.self, repeating: 0, count: words)
        return record
    }

    private func children(_ record: UnsafeMutableRawPointer, at offset: Int) -> [UnsafeMutableRawPointer] {
        let list = record.load(fromByteOffset: offset, as: UnsafePointer<UnsafeMutableRawPointer>.self)
        return (0..<record.load(fromByteOffset: 32, as: Int.self)).map { list[$0] }
    }

    /// The formats of the columns, and the rows of the first batch.
    private func read(_ export: (UnsafeMutableRawPointer) throws -> Void) throws -> (formats: [String], rows: Int) {
        let stream = record(5), schema = record(9), array = record(10)
        defer { for record in [stream, schema, array] { record.deallocate() } }
        try export(stream)
        defer { stream.load(fromByteOffset: 24, as: Release.self)(stream) }
        try #require(stream.load(as: Get.self)(stream, schema) == 0)
        let formats = children(schema, at: 40).map { child in
            let dictionary = child.load(fromByteOffset: 48, as: UnsafeRawPointer?.self)
            return ([UnsafeRawPointer(child)] + (dictionary.map { [$0] } ?? [])).map {
                String(cString: $0.load(as: UnsafePointer<CChar>.self))
            }.joined()
        }
        schema.load(fromByteOffset: 56, as: Release.self)(schema)
        try #require(stream.load(fromByteOffset: 8, as: Get.self)(stream, array) == 0)
        let rows = array.load(as: Int.self)
        #expect(children(array, at: 48).count == formats.count)
        array.load(fromByteOffset: 64, as: Release.self)(array)
        return (formats, rows)
    }

    @Test func formsOfTexts() throws {
        let store = try memoryStore([Note.self])
        try store.write { tx in
            for number in 0..<100 {
                let values: [String: Any] = ["number": number, "word": "\(number % 3)", "bytes": [UInt8(number)]]
                try tx.create(Note.self, value: values)
            }
        }
        let notes = store.objects(Note.self), table = try notes.table("GROUP(word)")
        let forms: [(ArrowTexts, String, String)] = [
            (.plain, "U", "Z"), (.dictionaries, "iU", "Z"), (.views, "vu", "vz"),
        ]
        for (texts, word, bytes) in forms {
            let found = try read { try notes.exportArrow(to: $0, texts: texts) }
            #expect(found.formats == ["l", word, bytes] && found.rows == 100)
            let groups = try read { table.exportArrow(to: $0, texts: texts) }
            #expect(groups.formats == [word, "l"] && groups.rows == 3)
        }
        #expect(try read { try notes.exportArrow(to: $0) }.formats == ["l", "U", "Z"])
    }
}

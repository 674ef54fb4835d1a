import Glibc
import Testing

import ObjStoreCore

/// Text columns with few values, which are stored as dictionaries.
@Suite struct DictionaryTests {
    typealias Model = ClusterTreeTests.Model

    /// Segments of text columns that are dictionaries, and others.
    private static func segments(_ reader: ClusterReader) throws -> (dictionaries: Int, plain: Int) {
        var found = (dictionaries: 0, plain: 0)
        var cursor = LeafCursor(reader, from: 0)
        while let head = try cursor.next() {
            for index in LeafExtents.entries(head) {
                let entry = LeafExtents.entry(head, index)
                guard entry.isText else { continue }
                let leaf = LeafReader(source: reader.source), rows = LeafHead.rows(head)
                for first in stride(from: 0, to: rows, by: entry.segmentRows) {
                    let part = try leaf.textSegment(
                        head, entry, segment: entry.segmentIndex(first), rows: min(entry.segmentRows, rows - first))
                    if StringSegment.isDictionary(part) { found.dictionaries += 1 } else { found.plain += 1 }
                }
            }
        }
        return found
    }

    /// Histories against a dictionary of rows, with every scan: values that are known, that are new, null, empty, long.
    @Test(arguments: Array(1...UInt64(3 * testScale))) func histories(seed: UInt64) throws {
        let model = Model(
            TestSchema([(.string, true), (.int, false), (.string, false), (.binary, true)]), seed: seed &+ 400)
        var most = 0
        for step in 0..<100 {
            if step % 6 == 0 { model.texts = [1, 3, 16, 17, 60, 130, 256, 400][model.random.below(8)] }
            switch model.random.below(10) {
            case 0...2:
                let count = model.random.chance(25) ? 520 + model.random.below(600) : 1 + model.random.below(30)
                for _ in 0..<count {
                    try model.append(model.randomRow(), skip: model.random.chance(2) ? Int64(model.random.below(9)) : 0)
                }
            case 3...6:
                for _ in 0..<1 + model.random.below(60) {
                    let column = [0, 2, 3][model.random.below(3)]
                    try model.update(model.randomKey(), column, model.randomValue(column))
                }
            case 7:
                for _ in 0..<1 + model.random.below(60) { try model.delete(model.randomKey()) }
            case 8:
                if model.random.chance(40) { try model.compact(budget: model.random.chance(50) ? .max : 3000) }
            default:
                try model.commit()
            }
            if step % 40 == 20 { try ScanTests.compareScans(model, "seed \(seed) step \(step)") }
            if step % 8 == 0 {
                try model.check("seed \(seed) step \(step)")
                most = max(most, try DictionaryTests.segments(try model.reader()).dictionaries)
            }
        }
        try model.commit()
        try model.check("seed \(seed), end")
        try ScanTests.compareScans(model, "seed \(seed), end")
        #expect(most > 6, "\(most) dictionaries at a time")
    }

    /// The encoder's choice, in bytes.
    @Test func chosenWhereItHalves() throws {
        func made(_ texts: Int, _ length: Int) throws -> (dictionaries: Int, plain: Int, units: Int) {
            let model = Model(TestSchema([(.string, false)]), seed: 9)
            for index in 0..<8192 {
                let text = Array("\(index % texts)".utf8)
                try model.append([.text(text + [UInt8](repeating: 120, count: max(0, length - text.count)))])
            }
            try model.commit()
            try model.check("\(texts) texts")
            let found = try DictionaryTests.segments(try model.reader())
            return (found.dictionaries, found.plain, model.file.liveUnitsTotal)
        }
        // 16 segments of 512 rows.
        let few = try made(3, 8), many = try made(8192, 8)
        #expect(many.dictionaries == 0 && few.units * 3 < many.units, "\(few.units) and \(many.units) units")
        #expect(
            try made(16, 12).dictionaries == 16 && made(17, 12).dictionaries == 16 && made(100, 30).dictionaries == 16)
        // Codes take as much as the texts.
        #expect(try made(3, 0).dictionaries <= 16 && made(300, 30).dictionaries == 0)
        #expect(try made(8192, 200).dictionaries == 0)
    }

    /// A text that is there already costs a code; a new one another dictionary; too many new ones a plain segment.
    @Test func oneRowIsChanged() throws {
        let model = Model(TestSchema([(.string, true)]), seed: 3)
        for index in 0..<4096 { try model.append([.text(Array("city number \(index % 10)".utf8))]) }
        try model.commit()
        #expect(try DictionaryTests.segments(try model.reader()) == (8, 0))
        for (key, value) in [
            (3, TestValue.text(Array("city number 9".utf8))), (4, .text(Array("elsewhere".utf8))), (5, .null),
            (6, .text([])), (7, .text(Array("city number 10".utf8))),
        ] {
            try model.update(Int64(key), 0, value)
            try model.check("\(key)")
            try model.commit()
            #expect(model.file.lastWritten <= 3 * PageSize.page, "\(model.file.lastWritten) bytes for one text")
            try model.check("\(key), written")
            #expect(try DictionaryTests.segments(try model.reader()) == (8, 0))
        }
        // Values that no row has any more are left out with the next new one.
        for round in 0..<300 { try model.update(20, 0, .text(Array("round \(round)".utf8))) }
        try model.check("rounds")
        #expect(try DictionaryTests.segments(try model.reader()) == (8, 0))
        for row in 0..<512 { try model.update(Int64(row), 0, .text(Array("of its own \(row)".utf8))) }
        try model.check("of their own")
        #expect(try DictionaryTests.segments(try model.reader()) == (7, 1))
        try model.update(600, 0, .text([UInt8](repeating: 65, count: 5000)))
        try model.update(601, 0, .text([UInt8](repeating: 66, count: 4096)))
        try model.check("long")
        try model.commit()
        try model.check("long, written")
        // Together too much for a plain segment: long values, from 28 KiB on.
        for row in 1024..<1536 {
            try model.update(Int64(row), 0, .text([UInt8](repeating: UInt8(row & 3), count: 300)))
        }
        try model.check("full")
        try model.commit()
        try model.check("full, written")
    }

    /// Whatever a part says, nothing is read outside of it.
    @Test func hostileParts() throws {
        var random = TestRandom(5)
        for values in [1, 2, 16, 17, 200] {
            var draft = try DictionaryDraft()
            defer { draft.release() }
            draft.begin()
            let rows = [512, 16, 33][random.below(3)]
            let texts = (0..<values).map { number in
                Array("value \(number)".utf8).withUnsafeBytes { OwnedTexts.keep(.string($0.baseAddress, $0.count)) }
            }
            for row in 0..<max(rows, values) where draft.rows < 512 {
                let text = texts[row % values]
                let isAdded = draft.append(
                    text.pointer, text.count, fingerprint: Fingerprint.of(text.pointer, text.count))
                #expect(isAdded)
            }
            let bytes = draft.bytes
            let part = UnsafeMutableRawPointer.allocate(byteCount: bytes, alignment: 64)
            defer { part.deallocate() }
            draft.write(to: part)
            #expect(
                StringSegment.isWellFormed(part, bytes: bytes) && !StringSegment.isWellFormed(part, bytes: bytes - 1))
            for row in 0..<draft.rows {
                let text = texts[row % values], found = TextDictionary.text(part, row)
                #expect(
                    UnsafeRawBufferPointer(start: found.pointer, count: found.count).elementsEqual(
                        UnsafeRawBufferPointer(start: text.pointer, count: text.count)))
            }
            for at in 0..<bytes {
                let old = part.load(fromByteOffset: at, as: UInt8.self)
                for value in [0, 1, 2, 3, 4, 8, 15, 16, 127, 128, 255, old ^ 1, old &+ 1] as [UInt8] {
                    part.storeBytes(of: value, toByteOffset: at, as: UInt8.self)
                    guard StringSegment.isWellFormed(part, bytes: bytes), StringSegment.isDictionary(part) else {
                        continue
                    }
                    var total = 0
                    for row in 0..<StringSegment.rows(part) {
                        let text = TextDictionary.text(part, row)
                        if text.pointer < UnsafeRawPointer(part) || text.count < 0
                            || text.pointer + text.count > UnsafeRawPointer(part) + bytes
                        {
                            Issue.record("byte \(at) = \(value): row \(row)")
                        }
                        total += text.count
                    }
                    if total != TextDictionary.total(part) { Issue.record("byte \(at) = \(value): total") }
                }
                part.storeBytes(of: old, toByteOffset: at, as: UInt8.self)
            }
        }
    }
}

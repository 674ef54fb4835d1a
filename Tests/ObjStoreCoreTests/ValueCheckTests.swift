import Testing

import ObjStoreCore

@Suite struct ValueCheckTests {
    /// Against Swift's own validation: texts of every length that the eight bytes at a time divide differently, with a
    /// piece of each length of code at each place, whole, cut, and with each of its bytes wrong.
    @Test func utf8AtEveryPlace() {
        let pieces: [[UInt8]] =
            ["é", "ß", "ࠀ", "€", "\u{d7ff}", "\u{e000}", "𝄞", "\u{10ffff}"].map { (text: String) in Array(text.utf8) }
            + [
                [0xc0, 0x80], [0xc1, 0xbf], [0xe0, 0x9f, 0xbf], [0xed, 0xa0, 0x80], [0xf0, 0x8f, 0xbf, 0xbf],
                [0xf4, 0x90, 0x80, 0x80], [0xf5], [0x80], [0xff],
            ]
        var compared = 0, valid = 0
        for length in 0..<28 {
            for place in 0...length {
                for piece in pieces {
                    for kept in 1...piece.count {
                        var text = [UInt8](repeating: 0x61, count: length)
                        text.insert(contentsOf: piece[..<kept], at: place)
                        check(text, &compared, &valid)
                        text[place + kept - 1] ^= 0x40
                        check(text, &compared, &valid)
                    }
                }
            }
        }
        #expect(compared > 20_000 && valid > 3000, "\(valid) of \(compared)")
    }

    private func check(_ text: [UInt8], _ compared: inout Int, _ valid: inout Int) {
        let wanted = String(validating: text, as: UTF8.self) != nil
        text.withUnsafeBytes { bytes in
            if UTF8Check.isValid(bytes.baseAddress, bytes.count) != wanted {
                Issue.record("\(text): valid is \(wanted)")
            }
            if UTF8Check.isASCII(bytes.baseAddress!, bytes.count) != text.allSatisfy({ $0 < 0x80 }) {
                Issue.record("\(text): ASCII")
            }
        }
        compared += 1
        if wanted { valid += 1 }
    }

    /// Long ones, looked at 64 bytes at a time, with one byte that is not ASCII.
    @Test func asciiOfLongTexts() {
        for length in [63, 64, 65, 127, 128, 200] {
            var text = [UInt8](repeating: 0x7f, count: length)
            #expect(text.withUnsafeBytes { UTF8Check.isASCII($0.baseAddress!, length) })
            for place in 0..<length {
                text[place] = 0x80
                #expect(!text.withUnsafeBytes { UTF8Check.isASCII($0.baseAddress!, length) })
                text[place] = 0x7f
            }
        }
    }

    /// A column whose bytes are valid as a whole, cut inside a character: no row of it is.
    @Test func aCharacterDividedBetweenTwoRows() throws {
        var draft = SchemaDraft()
        try draft.addClass("Text")
        try draft.addProperty("Text", "text", .string, [])
        var configuration = StoreConfiguration()
        configuration.place = .memory("")
        configuration.schema = draft
        let store = try Store.open(configuration)
        let tx = try store.begin()
        let cls = try tx.findClass("Text"), property = try tx.findProperty(cls, "text")
        let bytes = Array("plain €uro text".utf8)
        for (cuts, row) in [([6, 7], 1), ([6, 8], 1), ([3, 8], 1), ([7, 9], 0), ([6, 9], nil), ([9, 12], nil)]
            as [([Int64], Int?)]
        {
            let offsets = [0] + cuts + [Int64(bytes.count)]
            let failed: StoreError? = bytes.withUnsafeBytes { bytes in
                offsets.withUnsafeBufferPointer { offsets in
                    let column = InputColumn(
                        propertyID: property, kind: .string, values: bytes.baseAddress, offsets: offsets.baseAddress,
                        validity: nil, valuesBytes: UInt64(bytes.count))
                    do throws(StoreError) {
                        _ = try withUnsafePointer(to: column) { (column) throws(StoreError) in
                            try tx.insert(cls, .error, UnsafeBufferPointer(start: column, count: 1), rows: 3, keys: nil)
                        }
                        return nil
                    } catch { return error }
                }
            }
            // The piece before the cut ends inside the character, unless the cut is at its edge.
            #expect(failed?.code == (row == nil ? nil : .invalidUTF8))
            #expect(failed?.position == row)
        }
        tx.close()
        try store.close()
    }

    /// A link in a stored mixed value is of its own store, and names none. (libFuzzer found one that salvage had kept.)
    @Test func storedLinksNameNoStore() throws {
        let cls = ClassSchema(
            name: "T", id: 0, properties: [PropertySchema(name: "m", kind: .mixed, isNullable: true)], nextColumnID: 1)
        for (tag, isSound) in [(UInt8(0), true), (7, false)] {
            let link: [UInt8] = [11, 1, 0, 0, 0, tag, 0, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0]
            // The list [link], too: kind, width, count, where each ends, content.
            for bytes in [link, [12, 1, 1, 17] + link] {
                let outcome = bytes.withUnsafeBytes { bytes in
                    Result { () throws(StoreError) in
                        try ValueCheck.checkStored(
                            Value(kind: .mixed, pointer: bytes.baseAddress, count: bytes.count), for: 0, of: cls)
                    }
                }
                switch outcome {
                case .success: #expect(isSound)
                case .failure(let error):
                    #expect(
                        !isSound && error.code == .outOfRange && error.message.contains("names a store"), "\(error)")
                }
            }
        }
    }
}

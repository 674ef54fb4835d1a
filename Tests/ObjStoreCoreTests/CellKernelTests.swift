import Testing

import CSystem

import ObjStoreCore

/// Comparisons of packed cells with wide vectors, by each level that this processor has, against a loop over the cells.
@Suite(.serialized) struct CellKernelTests {
    private static let words = 3
    private static let widths = [2, 4, 8, 16, 32, 64]

    /// Runs the body with each level, and fails where a processor has none that it should.
    private func withLevels(_ body: (UInt32) throws -> Void) rethrows {
        defer { cs_cells_limit(2) }
        for level in 0...2 as ClosedRange<UInt32> {
            cs_cells_limit(level)
            if cs_cells_level() == level { try body(level) }
        }
    }

    /// Cells at their least, their greatest and in between, packed as in a leaf, behind bytes that are not theirs.
    private struct Cells {
        let width: Int
        var values: [UInt64] = []
        var bytes: [UInt8]

        init(_ width: Int, _ random: inout TestRandom) {
            self.width = width
            let count = 64 * CellKernelTests.words
            bytes = Array(repeating: 0, count: count * width / 8)
            let top = width == 64 ? UInt64.max : 1 << UInt64(width) - 1
            for index in 0..<count {
                let value: UInt64
                switch random.below(6) {
                case 0: value = 0
                case 1: value = top
                case 2: value = top / 2 &+ UInt64(random.below(3))
                case 3: value = UInt64(random.below(20))
                default: value = random.next()
                }
                values.append(value & top)
                for bit in 0..<width where values[index] >> UInt64(bit) & 1 == 1 {
                    bytes[(index * width + bit) / 8] |= 1 << UInt8((index * width + bit) % 8)
                }
            }
        }

        func expected(_ holds: (UInt64) -> Bool) -> [UInt64] {
            (0..<CellKernelTests.words).map { word in
                (0..<64).reduce(0) { $0 | (holds(values[word * 64 + $1]) ? 1 << UInt64($1) : 0) }
            }
        }
    }

    @Test(arguments: widths) func cellsInARange(width: Int) {
        var random = TestRandom(UInt64(width))
        let top = width == 64 ? UInt64.max : 1 << UInt64(width) - 1
        for _ in 0..<6 {
            let cells = Cells(width, &random)
            let some = [0, 1, top / 2, top / 2 + 1, top - 1, top, random.next() & top, cells.values[7]]
            for low in some {
                for high in some where high >= low {
                    let expected = cells.expected { low <= $0 && $0 <= high }
                    withLevels { level in
                        var mask = Array(repeating: UInt64(0x5555), count: CellKernelTests.words)
                        let isKnown = cs_cells_in_range(
                            cells.bytes, CellKernelTests.words, UInt32(width), low, high - low, &mask)
                        #expect(isKnown == (level > 0))
                        if isKnown { #expect(mask == expected, "level \(level): \(low)...\(high)") }
                    }
                }
            }
        }
    }

    @Test func doublesInARange() {
        var random = TestRandom(3)
        let edges: [Double] = [
            .nan, -.nan, 0, -0.0, .infinity, -.infinity, 1, -1, .leastNonzeroMagnitude, .greatestFiniteMagnitude,
        ]
        for _ in 0..<20 {
            var values: [Double] = []
            for _ in 0..<64 * CellKernelTests.words {
                let isEdge = random.chance(50)
                values.append(isEdge ? edges[random.below(edges.count)] : Double(bitPattern: random.next()))
            }
            for (low, high) in [(-.infinity, .infinity), (0, 0), (-0.0, 1), (values[5], values[9]), (1, -1)] {
                let expected = (0..<CellKernelTests.words).map { word in
                    (0..<64).reduce(UInt64(0)) { bits, row in
                        let value = values[word * 64 + row]
                        return bits | (low <= value && value <= high ? 1 << UInt64(row) : 0)
                    }
                }
                withLevels { level in
                    var mask = Array(repeating: UInt64.max, count: CellKernelTests.words)
                    let isKnown = cs_cells_in_doubles(values, CellKernelTests.words, low, high, &mask)
                    #expect(isKnown == (level > 0))
                    if isKnown { #expect(mask == expected, "level \(level): \(low)...\(high)") }
                }
            }
        }
    }

    @Test(arguments: [2, 4, 8]) func cellsInASet(width: Int) {
        var random = TestRandom(UInt64(width))
        for round in 0..<300 {
            let cells = Cells(width, &random)
            let most = round % 3 == 0 ? 3 : 256
            // Cells that no cell of the width can be do not matter.
            let wanted = round < 256 ? [UInt64(round)] : (0..<most).map { _ in UInt64(random.below(256)) }
            var set = Array(repeating: UInt8(0), count: 32)
            for cell in wanted { set[Int(cell & 15) + (cell >= 128 ? 16 : 0)] |= 1 << UInt8(cell >> 4 & 7) }
            let expected = cells.expected { wanted.contains($0) }
            withLevels { level in
                var mask = Array(repeating: UInt64.max, count: CellKernelTests.words)
                let isKnown = cs_cells_in_set(cells.bytes, CellKernelTests.words, UInt32(width), set, &mask)
                #expect(isKnown == (level > 0))
                if isKnown { #expect(mask == expected, "level \(level): \(wanted)") }
            }
        }
    }

    @Test func otherWidthsAreLeftToSwift() {
        var mask: UInt64 = 7
        #expect(!cs_cells_in_range([UInt8](repeating: 1, count: 8), 1, 1, 0, 0, &mask))
        #expect(!cs_cells_in_set([UInt8](repeating: 1, count: 128), 1, 16, [UInt8](repeating: 1, count: 32), &mask))
        #expect(mask == 7)
    }

    // MARK: Pairs of bytes

    @Test func pairsOfBytes() {
        var random = TestRandom(8)
        for _ in 0..<300 {
            let count = random.below(200), letters = random.below(2) == 0 ? 3 : 150
            let text = (0..<count).map { _ in UInt8(0x40 + random.below(letters)) }
            let distance = random.below(9), places = max(0, count - distance)
            let bits: UInt8 = random.below(2) == 0 ? 0x20 : 0
            func one() -> UInt8 { UInt8(0x40 + random.below(letters)) | bits }
            let pair = cs_byte_pair(first: one(), last: one(), first_bits: bits, last_bits: bits)
            for from in stride(from: 0, through: places, by: 1 + random.below(20)) {
                let expected = (from..<places).first {
                    text[$0] | bits == pair.first && text[$0 + distance] | bits == pair.last
                }
                withLevels { level in
                    var place = from
                    let isKnown = cs_cells_find_pair(text, &place, places, distance, pair)
                    #expect(isKnown == (level > 0))
                    if isKnown { #expect(place == expected ?? places, "level \(level)") }
                }
            }
        }
    }

    @Test func textsThatContainOne() throws {
        var random = TestRandom(9)
        for round in 0..<2000 {
            let letters = round % 3 == 0 ? Array("aAb") : round % 3 == 1 ? Array("abcdefgK ") : Array("abä\u{212a}k")
            func text(_ most: Int) -> [UInt8] {
                Array(String((0..<random.below(most + 1)).map { _ in letters[random.below(letters.count)] }).utf8)
            }
            let texts = (0..<64 + random.below(100)).map { _ in text(random.below(4) == 0 ? 60 : 6) }
            let wanted = text(random.below(3) == 0 ? 20 : 3), foldsCase = random.below(2) == 0
            let foldsAccents = random.below(4) == 0
            let pattern = try wanted.withUnsafeBytes {
                try TextPattern(.contains, $0, foldsCase: foldsCase, foldsAccents: foldsAccents)
            }
            var bytes: [UInt8] = [], ends: [UInt16] = []
            for text in texts {
                bytes += text
                ends.append(UInt16(bytes.count))
            }
            let expected = texts.indices.filter { index in
                texts[index].withUnsafeBytes { pattern.matches($0.baseAddress, $0.count) }
            }
            withLevels { level in
                var found: [Int] = []
                let isKnown = bytes.withUnsafeBytes {
                    pattern.find(in: $0.baseAddress ?? UnsafeRawPointer(bitPattern: 8)!, ends: ends, ends.count) {
                        found.append($0)
                    }
                }
                #expect(level > 0 || !isKnown)
                if isKnown { #expect(found == expected, "level \(level), round \(round): \(wanted)") }
            }
        }
    }

    /// Whatever matches is found; and of ASCII texts of eight bytes or more nothing else by a pattern of up to eight.
    @Test func textsThatBegin() throws {
        var random = TestRandom(10)
        for round in 0..<2000 {
            let letters =
                round % 3 == 0 ? Array("aAb") : round % 3 == 1 ? Array("ab*?K\\ ") : Array("abä\u{212a}ks\u{17f}")
            func text(_ most: Int) -> [UInt8] {
                Array(String((0..<random.below(most + 1)).map { _ in letters[random.below(letters.count)] }).utf8)
            }
            let texts = (0..<1 + random.below(200)).map { _ in text(random.below(4) == 0 ? 30 : 6) }
            let operation = [TextPattern.Operation.beginsWith, .like, .equal, .contains, .endsWith][random.below(5)]
            let wanted = text(random.below(3) == 0 ? 12 : 3), foldsCase = random.below(2) == 0
            let pattern = try wanted.withUnsafeBytes {
                try TextPattern(operation, $0, foldsCase: foldsCase, foldsAccents: random.below(4) == 0)
            }
            var bytes: [UInt8] = [], offsets: [UInt16] = [0], mask = [UInt64](repeating: 0, count: 4)
            for text in texts {
                bytes += text
                offsets.append(UInt16(bytes.count))
            }
            let matches = texts.map { text in text.withUnsafeBytes { pattern.matches($0.baseAddress, $0.count) } }
            withLevels { level in
                let isKnown = bytes.withUnsafeBytes {
                    pattern.findBeginnings(
                        in: $0.baseAddress ?? UnsafeRawPointer(bitPattern: 8)!, offsets: offsets, texts.count,
                        into: &mask)
                }
                if !isKnown { return }
                for (index, text) in texts.enumerated() {
                    let isFound = mask[index / 64] >> UInt64(index % 64) & 1 == 1
                    #expect(isFound || !matches[index], "level \(level), round \(round): \(text), \(wanted)")
                    let isDecided =
                        operation == .beginsWith && wanted.count <= 8 && text.count >= 8
                        && Int(offsets[index]) <= bytes.count - 8 && (text + wanted).allSatisfy { $0 < 0x80 }
                    if isDecided {
                        #expect(isFound == matches[index], "level \(level), round \(round): \(text), \(wanted)")
                    }
                }
            }
        }
    }

    @Test func headsInOrder() {
        var random = TestRandom(11)
        for round in 0..<500 {
            let letters = round % 3 == 0 ? Array(0...255) : [0, 1, 0x61, 0x62, 0x80, 0xff]
            let texts = (0..<1 + random.below(200)).map { _ in
                (0..<random.below(12)).map { _ in UInt8(letters[random.below(letters.count)]) }
            }
            var bytes: [UInt8] = [], offsets: [UInt16] = [0], mask = [UInt64](repeating: 0, count: 4)
            for text in texts {
                bytes += text
                offsets.append(UInt16(bytes.count))
            }
            let flip: UInt64 = round % 2 == 0 ? 0 : ~0
            func head(_ text: [UInt8]) -> UInt64 {
                (0..<8).reduce(0) { $0 << 8 | UInt64($1 < text.count ? text[$1] : 0) } ^ flip
            }
            let most = [0, .max, head(texts[random.below(texts.count)]), random.next()][random.below(4)]
            withLevels { level in
                bytes.withUnsafeBytes {
                    cs_heads_at_most(
                        $0.baseAddress ?? UnsafeRawPointer(bitPattern: 8)!, offsets, texts.count, flip, most, &mask)
                }
                for (index, text) in texts.enumerated() {
                    let isFound = mask[index / 64] >> UInt64(index % 64) & 1 == 1
                    let isLast = Int(offsets[index]) > bytes.count - 8
                    #expect(isFound == (isLast || head(text) <= most), "level \(level), \(round): \(text), \(most)")
                }
            }
        }
    }

    /// Where everything looks right, it gives up instead of taking the product of the lengths.
    @Test func muchThatLooksRight() throws {
        let wanted = Array(repeating: UInt8(ascii: "a"), count: 400) + [UInt8(ascii: "b")] + [UInt8(ascii: "a")]
        let pattern = try wanted.withUnsafeBytes {
            try TextPattern(.contains, $0, foldsCase: false, foldsAccents: false)
        }
        let bytes = Array(repeating: UInt8(ascii: "a"), count: 60_000)
        let isKnown = bytes.withUnsafeBytes {
            pattern.find(in: $0.baseAddress!, ends: [30_000, 60_000], 2) { _ in Issue.record("found") }
        }
        #expect(!isKnown)
        // What would go beyond the end of each text.
        let short = try Array(repeating: UInt8(ascii: "a"), count: 300).withUnsafeBytes {
            try TextPattern(.contains, $0, foldsCase: true, foldsAccents: false)
        }
        let ends = (1...64).map { UInt16($0 * 250) }
        let found = bytes.withUnsafeBytes {
            short.find(in: $0.baseAddress!, ends: ends, 64) { _ in Issue.record("found") }
        }
        #expect(found == (cs_cells_level() > 0))
    }
}

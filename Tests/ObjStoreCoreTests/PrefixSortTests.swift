import Testing

import ObjStoreCore

/// Sorting rows by the codes of eight bytes, against a stable sort of an array.
@Suite struct PrefixSortTests {
    /// As `RowOrder` does it: codes for which there is room, and where these are equal those of the rest.
    private static func check(_ prefixes: [UInt64], _ what: String, indexBits: UInt64) throws {
        let count = prefixes.count, end: UInt64 = 0x7777
        let memory = (0..<3).map { _ in PrefixSort.Rows.allocate(capacity: count + 1) }
        defer { for part in memory { part.deallocate() } }
        let rows = memory[0], scratch = memory[1], words = memory[2], mask: UInt64 = 1 << indexBits - 1
        // What must not be touched.
        for part in memory { part[count] = end }
        for index in 0..<count { rows[index] = UInt64(index) }
        func sort(_ range: Range<Int>, _ rounds: Int) throws {
            if range.count < 2 { return }
            for place in range { words[place - range.lowerBound] = prefixes[Int(rows[place] & mask)] }
            let code = try PrefixCode(words, range.count, room: 64 - Int(indexBits))
            for place in range {
                rows[place] = code(words[place - range.lowerBound]) << indexBits | rows[place] & mask
            }
            let isSorted = zip(range, range.dropFirst()).allSatisfy { rows[$0] < rows[$1] }
            #expect(!code.isSorted || isSorted)
            try PrefixSort.sort(rows + range.lowerBound, scratch, range.count, indexBits: indexBits)
            if code.isExact { return }
            #expect(rounds < 3)
            var start = range.lowerBound
            while start < range.upperBound {
                let next = (start..<range.upperBound).first { rows[$0] >> indexBits != rows[start] >> indexBits }
                try sort(start..<(next ?? range.upperBound), rounds + 1)
                start = next ?? range.upperBound
            }
        }
        try sort(0..<count, 0)
        let expected = prefixes.indices.sorted { (prefixes[$0], $0) < (prefixes[$1], $1) }
        #expect((0..<count).map { Int(rows[$0] & mask) } == expected, "\(what), \(count) rows, \(indexBits)")
        #expect(memory.allSatisfy { $0[count] == end })
        // All of them at once: which are equal.
        guard count > 0 else { return }
        for index in 0..<count { words[index] = prefixes[index] }
        let code = try PrefixCode(words, count, room: 64)
        let codes = expected.map { code(words[$0]) }
        for place in 1..<max(1, count) {
            let isEqual = prefixes[expected[place - 1]] == prefixes[expected[place]]
            if isEqual ? codes[place - 1] != codes[place] : codes[place - 1] >= codes[place] {
                Issue.record("\(what), \(count) rows: place \(place) is \(isEqual ? "equal" : "not equal")")
                break
            }
        }
        #expect(code.isExact)
    }

    private static func check(_ prefixes: [UInt64], _ what: String) throws {
        for bits: UInt64 in [15, 32] { try check(prefixes, what, indexBits: bits) }
    }

    @Test func allSizesAndPatterns() throws {
        var random = IndexRandom(5)
        let masks: [(String, UInt64)] = [
            ("all bits", ~0), ("no bits", 0), ("the lowest", 1), ("the highest", 1 << 63), ("few", 0x7f),
            ("letters", 0x1f1f_1f1f_1f1f_1f1f), ("every other bit", 0x5555_5555_5555_5555),
            ("ends", 0xff00_0000_0000_00ff),
            ("eight places", 0x8181_8181_0000_0000), ("doubles", 0x7fff_ffff_ffff_f000),
        ]
        for (name, mask) in masks {
            for count in [0, 1, 2, 23, 24, 25, 100, 1000, 4095, 4096, 4097, 20_000] {
                let common = random.next() & ~mask
                try Self.check((0..<count).map { _ in random.next() & mask | common }, name)
            }
        }
        // Buckets that differ in other bits each: without what tells them apart, the last of one would be the first of
        // the next.
        let buckets: [(String, [(UInt64, [UInt64])])] = [
            ("nulls", [(0, [0]), (1 << 63, [0, 4096, 8192]), (1 << 63 | 1 << 40, [0])]),
            ("two lows", [(0, [0, 1 << 20]), (1 << 45, [1, 1 << 20]), (1 << 46, [0])]),
            ("texts", [(0x4161_2d00, [0x3030_3030, 0x3030_3130]), (0x4261_2d00, [0x3030_3030, 0x3031_3030])]),
        ]
        for (name, parts) in buckets {
            var prefixes: [UInt64] = []
            for (high, lows) in parts {
                for _ in 0..<5000 {
                    prefixes.append(high << (name == "texts" ? 32 : 0) | lows.randomElement(using: &random)!)
                }
            }
            for _ in 0..<5000 { prefixes.append(parts.last!.0 << (name == "texts" ? 32 : 0) | random.next() >> 20) }
            prefixes.shuffle(using: &random)
            try Self.check(prefixes, name)
        }
        for count in [30, 5000, 20_000] {
            try Self.check((0..<count).map { UInt64($0) }, "ascending")
            try Self.check((0..<count).map { UInt64(count - $0) << 20 }, "descending")
            try Self.check((0..<count).map { _ in 1 << UInt64(random.next() % 64) }, "one bit")
            try Self.check((0..<count).map { _ in random.next() % 3 == 0 ? random.next() : 5 }, "mostly equal")
            // Each digit tells two apart.
            try Self.check((0..<count).map { ~0 << UInt64($0 % 64) }, "a long way down")
        }
    }
}

import Testing

import ObjStoreCore

/// Sorting rows by eight bytes, against a stable sort of an array.
@Suite struct PrefixSortTests {
    private static func check(_ prefixes: [UInt64], _ what: String) throws {
        let count = prefixes.count
        let rows = PrefixSort.Rows.allocate(capacity: count + 1),
            scratch = PrefixSort.Rows.allocate(capacity: count + 1)
        defer { for memory in [rows, scratch] { memory.deallocate() } }
        for index in 0..<count { rows[index] = PrefixedRow(prefix: prefixes[index], index: index) }
        // What must not be touched.
        rows[count] = PrefixedRow(prefix: 7, index: -7)
        scratch[count] = PrefixedRow(prefix: 7, index: -7)
        try PrefixSort.sort(rows, scratch, count)
        let expected = prefixes.indices.sorted { (prefixes[$0], $0) < (prefixes[$1], $1) }
        #expect((0..<count).map { rows[$0].index } == expected, "\(what), \(count) rows")
        for place in stride(from: 1, to: count, by: 1) {
            let isEqual = prefixes[expected[place - 1]] == prefixes[expected[place]]
            if (rows[place - 1].prefix == rows[place].prefix) != isEqual {
                Issue.record("\(what), \(count) rows: place \(place) is \(isEqual ? "equal" : "not equal")")
                break
            }
        }
        #expect(rows[count].index == -7 && scratch[count].index == -7)
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

import Testing

import ObjStoreCore

/// What an index has for an object before a change and has no more after it, and the other way round.
@Suite struct ClassIndexTests {
    /// Exhaustive: all pairs of subsets of seven entries.
    @Test func differencesOfEntries() throws {
        let values = [-3, -1, 0, 1, 2, 5, Int64.max].map { Value.int($0) }
        func entries(_ bits: Int) -> IndexEntries {
            let entries = IndexEntries()
            for (position, value) in values.enumerated() where bits >> position & 1 != 0 { entries.append(value) }
            return entries
        }
        for a in 0..<1 << values.count {
            for b in 0..<1 << values.count {
                var found: [Int64] = []
                try entries(a).forEach(notIn: entries(b)) { value in found.append(value.low) }
                let expected = values.indices.filter { (a & ~b) >> $0 & 1 != 0 }.map { values[$0].low }
                #expect(found == expected, "\(a) without \(b)")
            }
        }
    }
}

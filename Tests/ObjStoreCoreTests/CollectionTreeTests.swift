import Testing

import ObjStoreCore

/// Collection trees against arrays: every small case, and long random histories.
@Suite struct CollectionTreeTests {
    // MARK: Every small case

    /// Five elements inserted in every order and removed in every order, into leaves of two elements and nodes of
    /// three.
    @Test func everyOrderOfFive() throws {
        let orders = permutations(5)
        for insertion in orders {
            let subject = CollectionSubject(.list, tiny: true)
            for removal in orders {
                try subject.insertAndRemove(insertion, removal)
            }
        }
    }

    /// Seven elements in every order of insertion, each with another order of removal; three owners in every other
    /// case.
    @Test func everyInsertionOfSeven() throws {
        let orders = permutations(7)
        let subject = CollectionSubject(.list, tiny: true)
        for (index, insertion) in orders.enumerated() {
            try subject.insertAndRemove(insertion, orders[index * 31 % orders.count], owners: index % 2 == 0 ? 1 : 3)
        }
    }

    private func permutations(_ count: Int) -> [[Int]] {
        if count == 0 { return [[]] }
        return permutations(count - 1).flatMap { shorter in
            (0...shorter.count).map { Array(shorter[..<$0]) + [count - 1] + Array(shorter[$0...]) }
        }
    }

    // MARK: Random histories

    typealias History = (form: CollectionSubject.Form, seed: UInt64, content: CollectionSubject.Content)
    static let histories: [History] = [
        (.list, 1, .integers), (.list, 2, .texts), (.list, 3, .anything), (.list, 4, .longTexts), (.set, 5, .integers),
        (.set, 6, .texts),
        (.set, 7, .anything), (.map, 8, .integers), (.map, 9, .texts), (.map, 10, .anything), (.set, 11, .longTexts),
        (.map, 12, .longTexts),
        (.list, 13, .small), (.map, 14, .small), (.set, 15, .addresses), (.map, 16, .addresses),
    ]

    @Test(arguments: histories.indices)
    func history(_ index: Int) throws {
        let (form, seed, content) = Self.histories[index]
        for tiny in [true, false] {
            let subject = CollectionSubject(form, tiny: tiny)
            var random = IndexRandom(seed)
            let steps = (content == .longTexts ? 500 : 2000) * testScale
            for step in 0..<steps {
                do { try subject.step(&random, content) } catch {
                    Issue.record("\(form) seed \(seed) tiny \(tiny) step \(step): \(error)")
                    return
                }
            }
            try subject.commit()
            try subject.compare()
        }
    }

    /// One list of many elements: appended, inserted at random places, removed in ranges, with real nodes.
    @Test func aLongList() throws {
        let subject = CollectionSubject(.list, tiny: false)
        var random = IndexRandom(77)
        try subject.replace(5, 0..<0, (0..<40_000).map { (.null, .integer(Int64($0))) })
        try subject.commit()
        try subject.compare()
        for _ in 0..<1000 * testScale {
            let at = random.below(subject.model[5]!.count + 1)
            try subject.replace(5, at..<at, [(.null, .integer(Int64(random.below(1 << 20))))])
        }
        try subject.replace(5, 10_000..<35_000, [])
        try subject.compare()
        try subject.commit()
        try subject.compare()
    }

    /// The inner nodes of a set know the beginnings of the keys below, behind what all have in common.
    @Test(arguments: [CollectionSubject.Content.integers, .texts, .addresses])
    func headsDecideAlmostEverySearch(_ content: CollectionSubject.Content) throws {
        let subject = CollectionSubject(.set, tiny: false), holder = SampleHolder()
        var random = IndexRandom(5)
        var samples = Set<CollectionSample>()
        while samples.count < 6000 {
            let sample = CollectionSample.random(&random, content)
            if content != .addresses || (30..<60).contains(holder.value(sample).count) { samples.insert(sample) }
        }
        try subject.replace(3, 0..<0, samples.sorted().map { (.null, $0) })
        try subject.compare()
        var looks = 0, nodes = 0
        for sample in samples {
            var node = try subject.reader.inner(subject.writer.root, above: nil)
            while true {
                #expect(CollectionInner.hasHeads(node))
                let children = CollectionInner.candidates(
                    node, CollectionInner.children(node, of: 3), holder.value(sample))
                looks += children.count
                nodes += 1
                if CollectionInner.level(node) == 1 { break }
                node = try subject.reader.inner(CollectionInner.ref(node, max(0, children.upperBound - 1)), above: node)
            }
        }
        // Without heads a search looks into three children of a node or more.
        #expect(looks * 4 < nodes, "\(looks) looks into children in \(nodes) nodes")
    }

    @Test func damagedCountsAreAnError() throws {
        let subject = CollectionSubject(.list, tiny: true)
        try subject.replace(1, 0..<0, (0..<40).map { (.null, .integer(Int64($0))) })
        try subject.commit()
        #expect(throws: StoreError.self) { try subject.reader.value(at: 40) }
        #expect(throws: StoreError.self) { try subject.writer.replace(1, 38..<41, with: []) }
    }
}

import Testing

import ObjStoreCore

/// Observing what other processes do, and what observing costs.
@Suite(.serialized) struct ObservationProcessTests {
    @Test func commitsOfAnotherProcess() throws {
        let store = try ObservedStore(durability: .full)
        try store.write { _, items in for _ in 0..<10 { try store.create(items) } }
        let other = try OtherWriter(store.folder["db"])
        let received = Received()
        let observer = try store.hub.observe(ObserverScope(class: try store.items)) {
            received.append($0); return nil
        }

        try other.ask("create 3")
        #expect(try store.hub.wait(timeout: 5_000_000_000) == 1)
        var set = try #require(received.take().first)
        #expect(set.inserted == [10, 11, 12] && set.deleted.isEmpty && set.isFromOtherProcess && !set.isCompared)

        try other.ask("update 11 70")
        try other.ask("delete 2")
        try store.write { _, items in try store.update(items, 3, 1, .int(4)) }
        #expect(try store.hub.deliver() == 1)
        set = try #require(received.take().first)
        #expect(set.modified == [3, 11] && set.deleted == [2] && set.isFromOtherProcess)
        #expect(set.hasChanged(1, ofModification: 1) && !set.hasChanged(0, ofModification: 1))

        try store.write { _, items in try store.update(items, 3, 1, .int(5)) }
        #expect(try store.hub.deliver() == 1)
        #expect(received.take().first?.isFromOtherProcess == false)

        // A large transaction of the other one: a summary, and a checkpoint that it makes.
        try other.ask("create 5000")
        #expect(try store.hub.wait(timeout: 5_000_000_000) == 1)
        set = try #require(received.take().first)
        #expect(set.inserted.count == 5000 && set.isFromOtherProcess && !set.isCompared)
        // The other way round.
        try other.ask("observe")
        try store.write { _, items in try store.update(items, 3, 1, .int(6)) }
        #expect(try other.ask("deliver 5000") == [1, 0, 0, 1])
        observer.close()
        try store.close()
        // Its observer continues as the last process; then the file is whole.
        #expect(try other.ask("deliver 10") == [0, 0, 0, 0])
        try other.exit()
        let database = try Database.open(store.folder["db"], options: StoreOptions(), machine: RealMachine.shared)
        #expect(try database.snapshot().trees.objects(database.snapshot().schema.classes[0]).count() == 5012)
        try database.close()
    }

    /// Two writers in two processes and one here; everything once, against the naive difference.
    @Test func severalWriters() throws {
        let store = try ObservedStore(seed: 41)
        try store.write { _, items in for _ in 0..<50 { try store.create(items) } }
        let others = try (0..<2).map { _ in try OtherWriter(store.folder["db"]) }
        let received = Received()
        let observer = try store.hub.observe(ObserverScope(class: try store.items)) {
            received.append($0); return nil
        }
        var old = try store.content(try store.database.snapshot())
        for round in 0..<40 {
            for (index, other) in others.enumerated() where store.random.chance(70) {
                try other.ask("create \(1 + store.random.below(5))")
                if round > 5 {
                    try other.ask("update \(store.keys[store.random.below(store.keys.count)]) \(round * 2 + index)")
                }
            }
            try store.write { _, items in for _ in 0..<store.random.below(6) { try store.randomOperation(items) } }
            if store.random.chance(50) { continue }
            _ = try store.hub.deliver()
            let new = try store.content(try store.database.snapshot())
            let real = ObservedStore.difference(old, new)
            let sets = received.take()
            #expect(sets.count <= 1)
            #expect((sets.first?.deleted ?? []) == real.deleted)
            #expect((sets.first?.inserted ?? []) == real.inserted)
            let masks = sets.first?.changes.modifiedMasks ?? [:]
            for (key, mask) in real.modified { #expect(masks[key, default: 0] & mask == mask) }
            for (key, _) in masks { #expect(old[key] != nil && new[key] != nil) }
            old = new
        }
        observer.close()
        for other in others { try other.exit() }
        try store.close()
    }

    /// A process that observes and has nothing to do sleeps.
    @Test func idleProcessUsesNoCPU() throws {
        let store = try ObservedStore()
        try store.write { _, items in try store.create(items) }
        let other = try OtherWriter(store.folder["db"])
        try other.ask("observe")
        let cost = try other.ask("cpu 2000")
        #expect(cost[0] < 3000, "\(cost[0]) µs of processor time in 2 s")
        // ThreadSanitizer has a thread of its own that wakes now and then.
        #expect(cost[1] <= 4 || PlatformForkTests.hasThreadSanitizer, "\(cost[1]) times awake in 2 s")
        print("idle observer: \(cost[0]) µs of processor time and \(cost[1]) times awake in 2 s")
        try other.exit()
        try store.close()
    }

    /// What a delivery costs follows what changed, not how many objects there are.
    @Test func costDoesNotFollowTheNumberOfObjects() throws {
        var times: [Int: Double] = [:]
        for count in [10_000, 200_000] {
            let store = try ObservedStore(inMemory: true)
            let values: [Value] = [.int(0), .int(5), .null, .bool(true), .null, .double(1)]
            let transaction = try WriteTransaction.begin(store.database)
            let items = try transaction.state(0)
            for index in 0..<count {
                var row = values
                row[0] = .int(Int64(index))
                _ = try row.withUnsafeBufferPointer { try items.create($0.baseAddress!) }
            }
            try transaction.commit()
            let cls = try store.items
            let observers = [
                try store.hub.observe(ObserverScope(class: cls)) { _ in nil },
                try store.hub.observe(ObserverScope(Query(cls.classID, cls.propertyID(1), .less, .int(10)))) { _ in nil
                },
            ]
            var best = Double.infinity
            for round in 0..<60 {
                let transaction = try WriteTransaction.begin(store.database)
                try transaction.state(0).update(Int64(count / 2 + round), 1, .int(Int64(round % 20)))
                try transaction.commit()
                best = min(best, try milliseconds { _ = try store.hub.deliver() })
            }
            times[count] = best
            observers.forEach { $0.close() }
            try store.close()
        }
        print(
            """
            one update delivered to two observers: \(times[10_000]! * 1000) µs of 10,000 objects, \
            \(times[200_000]! * 1000) µs of 200,000
            """
        )
        #expect(times[200_000]! < times[10_000]! * 3 + 0.05)
    }
}

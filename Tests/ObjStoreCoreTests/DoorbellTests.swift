import CSystem
import Testing

import ObjStoreCore

@Suite struct DoorbellTests {
    let machine = RealMachine.shared

    /// Two words, in the place of shared memory.
    final class Words: @unchecked Sendable {
        let memory = UnsafeMutableRawPointer.allocate(byteCount: 16, alignment: 64)
        init() { memory.initializeMemory(as: UInt8.self, repeating: 0, count: 16) }
        deinit { memory.deallocate() }
        var bell: Doorbell { Doorbell(memory) }
        var sleepers: UInt64 { cs_load64(memory + 8) }
    }

    @Test func aRingAfterTheLookIsNotMissed() {
        let words = Words()
        let seen = words.bell.rings
        words.bell.ring(machine)
        words.bell.wait(machine, while: seen, timeout: -1)  // returns at once
        #expect(words.sleepers == 0)
    }

    @Test func aRingWakesAllOrNSleepers() throws {
        let words = Words()
        let awake = Words()
        let threads = try (0..<3).map { index in
            try BackgroundThread(name: "sleeper \(index)") { _ in
                let seen = words.bell.rings
                words.bell.wait(RealMachine.shared, while: seen, timeout: -1)
                _ = cs_add64(awake.memory, 1)
                awake.bell.ring(RealMachine.shared)
            }
        }
        while words.sleepers != 3 { cs_pause() }
        // A thread that has not yet reached the system's queue finds the word changed and sleeps no more: so the
        // first ring wakes one or more, and the last one all.
        words.bell.ring(machine, count: 1)
        while cs_load64(awake.memory) == 0 { cs_pause() }
        words.bell.ring(machine)
        threads.forEach { $0.stopAndJoin() }
        #expect(words.sleepers == 0)
    }

    /// A thread that waits for a version sleeps on the bell of the round that covers it, and the round's end rings that
    /// one.
    @Test func versionsFindTheirRound() throws {
        let limits = SharedState.Limits(ringEntries: 8, slots: 4, classes: 4)
        let shared = SharedState(try OwnedMemory(bytes: SharedState.bytes(limits)), limits: limits)
        var last: UInt64 = 0
        for step: UInt64 in 1...9 {
            let covered = last + step
            shared.beginRound(covering: covered)
            let round = shared.currentRound
            let ends = shared.ends
            let before = (shared.end(of: round, for: covered).rings, shared.end(of: round, for: covered + 1).rings)
            ends.this.ring(machine)
            #expect(shared.end(of: round, for: covered).rings == before.0 + 1)
            #expect(shared.end(of: round, for: 1).rings == before.0 + 1)
            #expect(shared.end(of: round, for: covered + 1).rings == before.1)
            // What the next round covers waits where this one said.
            let next = shared.end(of: round, for: covered + 1)
            shared.beginRound(covering: covered + 1)
            let rings = next.rings
            shared.ends.this.ring(machine)
            #expect(next.rings == rings + 1)
            last = covered + 1
        }
    }

    /// A sync is worth waiting for as many commits as each of the last four met; many threads fill its time by
    /// themselves.
    @Test func patienceFollowsTheLastSyncs() throws {
        let limits = SharedState.Limits(ringEntries: 8, slots: 4, classes: 4)
        let shared = SharedState(try OwnedMemory(bytes: SharedState.bytes(limits)), limits: limits)
        #expect(shared.syncPatience == (0, 0))
        let history: [(UInt64, UInt64)] = [
            (2, 0), (2, 0), (2, 0), (2, 2), (3, 2), (4, 2), (3, 2), (3, 3), (1, 1), (9, 1), (9, 1), (5, 1),
            (1 << 40, 0), (4, 4), (0, 0),
        ]
        for (commits, expected) in history {
            shared.setSyncPace(commits: commits, time: 100_000)
            #expect(shared.syncPatience == (expected, 400_000))
        }
        for (time, expected) in [(-5, 0), (0, 0), (250_001, 1_000_000), (.max, 1_000_000)] as [(Int64, Int64)] {
            shared.setSyncPace(commits: 2, time: time)
            #expect(shared.syncPatience.time == expected)
        }
    }

    /// The slots and the ring lie side by side, wherever the ring begins; the first ones are in the first page.
    @Test func tablesDoNotOverlap() throws {
        for limits in [
            SharedState.Limits(ringEntries: 8, slots: 4, classes: 4),
            SharedState.Limits(ringEntries: 1024, slots: 4096, classes: 4096),
        ] {
            let memory = try OwnedMemory(bytes: SharedState.bytes(limits))
            let shared = SharedState(memory, limits: limits)
            shared.initialize(.init(nonce: 1, boot: (2, 3), incarnation: 4), firstVersion: 1_000_003)
            for index in 0..<limits.slots { shared.slot(index).version.store(UInt64(index) + 1) }
            var entry = shared.ringEntry(1_000_003)
            for version in 1_000_003..<UInt64(1_000_003 + limits.ringEntries) {
                entry.version = version
                entry.filePages = Int(version) * 2
                shared.setRingEntry(entry)
            }
            for index in 0..<limits.classes { shared.nextKey(index).pointee = Int64(index) * 3 }
            #expect(
                (0..<limits.slots).allSatisfy {
                    shared.slot($0).version.load() == UInt64($0) + 1 && shared.slot($0).instance.load() == 0
                })
            #expect(
                (1_000_003..<UInt64(1_000_003 + limits.ringEntries)).allSatisfy {
                    shared.ringEntry($0).version == $0 && shared.ringEntry($0).filePages == Int($0) * 2
                })
            #expect((0..<limits.classes).allSatisfy { shared.nextKey($0).pointee == Int64($0) * 3 })
            #expect(shared.head.load() == 0 && shared.storedIdentity?.incarnation == 4)
            let end = memory.base + SharedMemory.firstPart
            for index in 0..<min(limits.slots, SharedState.slotsInFirstPage) {
                #expect(shared.slot(index).address + 32 <= end)
            }
            #expect(
                shared.nextKey(limits.classes - 1) + 1
                    <= UnsafeMutableRawPointer(memory.base + memory.bytes).assumingMemoryBound(to: Int64.self))
        }
    }
}

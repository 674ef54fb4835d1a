import CSystem
import Testing

@testable import ObjStoreCore

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

    @Test func aRingWakesAllOrSoManySleepers() throws {
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

    /// Who waits for a version sleeps on the bell of the round that covers it, and the round's end rings that one.
    @Test func versionsFindTheirRound() {
        let limits = SharedState.Limits(ringEntries: 8, slots: 4, classes: 4)
        let shared = SharedState(OwnedMemory(bytes: SharedState.bytes(limits)), limits: limits)
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
}

import ObjStoreCore
import ObjStoreSimulation

/// Mistakes of the toy store, each of which the simulated machine must expose.
enum ToyBug: CaseIterable {
    case acknowledgesBeforeSync, noLock, noFolderSync, trustsTornRecord, retriesFailedSync
    case trustsDeadLeader, recoveryTrustsPageCache, forgetsToWake, keepsNoPoison
}

/// A small but real store on the platform protocol: a log of checksummed, chained records, shared by
/// several processes, with group commit. It exists to test the simulated machine.
///
/// ```
///   d/toy       slots of 1536 bytes: hash, number, hash of the one before, payload, filler
///   d/toy.shm   HEAD  DURABLE  POISON  SYNCING  hash of each record
///   d/toy.lock  bytes that are locked: OPEN, WRITER, SYNC, LIVE + process
/// ```
final class ToyStore {
    static let slotBytes = 1536
    static let slots = 64

    let machine: SimulatedMachine
    let bug: ToyBug?
    let ledger: Ledger
    private let lockFile: StorageFile
    let file: StorageFile
    private let shared: SharedMemory
    private let map: FileMap
    private let writer: ExclusiveLock
    private let syncer: ExclusiveLock
    private let live: ExclusiveLock
    private let head, durable, poison, syncing: SharedWord

    init(_ machine: SimulatedMachine, _ ledger: Ledger, _ bug: ToyBug?) throws(StoreError) {
        (self.machine, self.ledger, self.bug) = (machine, ledger, bug)
        lockFile = try machine.open("d/toy.lock", .create)
        let opening = machine.makeLock(lockFile, byte: 0)
        writer = machine.makeLock(lockFile, byte: 1)
        syncer = machine.makeLock(lockFile, byte: 2)
        live = machine.makeLock(lockFile, byte: 100 + Int64(machine.process.id))
        try opening.acquire()
        let isFirst: Bool
        do throws(StoreError) {
            isFirst = try !machine.isLocked(lockFile, bytes: 100..<10_000)
            if !machine.exists("d/toy") {
                let new = try machine.open("d/toy.new", .create)
                try new.truncate(0)
                try new.reserve(ToyStore.slots * ToyStore.slotBytes)
                try new.sync()
                new.close()
                try machine.rename("d/toy.new", to: "d/toy")
            }
            file = try machine.open("d/toy", .existing)
            map = try file.map(ToyStore.slots * ToyStore.slotBytes)
            let bytes = (8 + ToyStore.slots) * 8, name = "d/toy.shm"
            let known =
                isFirst ? nil : try machine.openShared(name, bytes: bytes, machine.identity(of: name), like: nil)
            if let known {
                shared = known
            } else {
                shared = try machine.createShared(name, bytes: bytes, like: lockFile)
            }
        } catch {
            opening.release()
            throw error
        }
        head = SharedWord(shared.base)
        durable = SharedWord(shared.base + 8)
        poison = SharedWord(shared.base + 16)
        syncing = SharedWord(shared.base + 24)
        do throws(StoreError) {
            if isFirst { try recover() }
            try live.acquire()
        } catch {
            opening.release()
            throw error
        }
        opening.release()
    }

    func close() {
        live.release()
        file.close()
        lockFile.close()
    }

    // MARK: Records

    private func hashWord(_ slot: Int) -> SharedWord { SharedWord(shared.base + (8 + slot) * 8) }

    static func makeRecord(number: Int, before: UInt64, payload: UInt64) -> [UInt64] {
        var words = [UInt64](repeating: payload &* 0x9e37_79b9 &+ UInt64(number), count: slotBytes / 8)
        words[1] = UInt64(number)
        words[2] = before
        words[3] = payload
        words[0] = hash(words)
        return words
    }

    static func hash(_ words: [UInt64]) -> UInt64 {
        var hash: UInt64 = 0xcbf2_9ce4_8422_2325
        // Not by way of an iterator: this is not optimised.
        var at = 1
        while at < words.count { hash = (hash ^ words[at]) &* 0x0100_0000_01b3; hash ^= hash >> 31; at += 1 }
        return hash
    }

    private func readRecord(_ slot: Int) throws(StoreError) -> [UInt64] {
        var words = [UInt64](repeating: 0, count: ToyStore.slotBytes / 8)
        let result = words.withUnsafeMutableBytes { bytes -> StoreError? in
            do throws(StoreError) {
                try file.read(into: bytes.baseAddress!, count: bytes.count, at: slot * ToyStore.slotBytes)
                return nil
            } catch { return error }
        }
        if let result { throw result }
        return words
    }

    /// In two vectors, as an engine would.
    private func writeRecord(_ slot: Int, _ words: [UInt64]) throws(StoreError) {
        let result = words.withUnsafeBytes { bytes -> StoreError? in
            let vectors = [
                WriteVector(base: bytes.baseAddress!, count: 32),
                WriteVector(base: bytes.baseAddress! + 32, count: bytes.count - 32),
            ]
            do throws(StoreError) {
                try file.write(vectors, count: 2, at: slot * ToyStore.slotBytes)
                return nil
            } catch { return error }
        }
        if let result { throw result }
    }

    private func isValid(_ words: [UInt64], number: Int, before: UInt64) -> Bool {
        words[1] == UInt64(number) && words[2] == before
            && (bug == .trustsTornRecord || words[0] == ToyStore.hash(words))
    }

    // MARK: Recovery

    private func recover() throws(StoreError) {
        var count = 0
        var before: UInt64 = 0
        var chain: [UInt64] = []
        while count < ToyStore.slots {
            let words = try readRecord(count)
            if !isValid(words, number: count + 1, before: before) { break }
            if bug != .recoveryTrustsPageCache { try writeRecord(count, words) }
            before = words[0]
            chain.append(ToyStore.hash(words))
            hashWord(count).store(before)
            count += 1
        }
        try file.sync()
        if bug != .noFolderSync { try machine.syncFolder(of: "d/toy") }
        head.store(UInt64(count))
        durable.store(UInt64(count))
        poison.store(0)
        syncing.store(0)
        ledger.didRecover(machine, chain)
    }

    // MARK: Commit

    enum Outcome { case acknowledged, unknown, readOnly, full }

    func commit(_ payload: UInt64) throws(StoreError) -> Outcome {
        if bug != .noLock { try writer.acquire() }
        defer { if bug != .noLock { writer.release() } }
        if poison.load() != 0 { return .readOnly }
        let slot = Int(head.load())
        if slot == ToyStore.slots { return .full }
        let before = slot == 0 ? 0 : hashWord(slot - 1).load()
        let words = ToyStore.makeRecord(number: slot + 1, before: before, payload: payload)
        ledger.willCommit(words[0])
        do throws(StoreError) { try writeRecord(slot, words) } catch { return .unknown }
        hashWord(slot).store(words[0])
        head.store(UInt64(slot + 1))
        lastCommitted = (slot + 1, words[0])
        return .acknowledged
    }
    private(set) var lastCommitted = (number: 0, hash: UInt64(0))

    /// Commits and waits until it is durable.
    func commitDurably(_ payload: UInt64) throws(StoreError) -> Outcome {
        let outcome = try commit(payload)
        if outcome != .acknowledged { return outcome }
        let (number, hash) = lastCommitted
        return try waitDurable(number, hash)
    }

    private func waitDurable(_ number: Int, _ hash: UInt64) throws(StoreError) -> Outcome {
        while true {
            let seen = durable.load()
            if seen >= UInt64(number) || bug == .acknowledgesBeforeSync {
                ledger.didAcknowledge(self, number, hash)
                return .acknowledged
            }
            if poison.load() != 0 { return .unknown }
            guard try syncer.acquire(timeout: 0) else {
                machine.wait(durable, while: seen, timeout: bug == .forgetsToWake ? -1 : 100_000)
                continue
            }
            defer { syncer.release() }
            if durable.load() >= UInt64(number) || poison.load() != 0 { continue }
            if syncing.load() != 0, bug != .trustsDeadLeader, try !rewriteAfterDeath() { return .unknown }
            syncing.store(1)
            let covered = head.load()
            do throws(StoreError) { try file.sync() } catch {
                if bug == .retriesFailedSync || bug == .keepsNoPoison { syncing.store(0) } else { poison.store(1) }
                if bug == .retriesFailedSync { continue }
                machine.wake(durable)
                return .unknown
            }
            durable.store(covered)
            syncing.store(0)
            if bug != .forgetsToWake { machine.wake(durable) }
        }
    }

    /// The last leader died between its sync and the result: what it covered may be lost already. False = it is.
    private func rewriteAfterDeath() throws(StoreError) -> Bool {
        try writer.acquire()
        defer { writer.release() }
        var slot = Int(durable.load())
        while slot < Int(head.load()) {
            let words = try readRecord(slot)
            if words[0] != hashWord(slot).load() || words[0] != ToyStore.hash(words) {
                poison.store(1)
                return false
            }
            do throws(StoreError) { try writeRecord(slot, words) } catch {
                poison.store(1)
                throw error
            }
            slot += 1
        }
        return true
    }

    /// What a reader sees through the map: every durable record is whole.
    func checkMap() {
        let count = Int(durable.load())
        for slot in 0..<min(count, ToyStore.slots) {
            let bytes = UnsafeRawBufferPointer(start: map.base + slot * ToyStore.slotBytes, count: ToyStore.slotBytes)
            let words = Array(bytes.bindMemory(to: UInt64.self))
            if words[0] != ToyStore.hash(words) || words[1] != UInt64(slot + 1) {
                machine.process.world.fail("a reader sees record \(slot + 1) damaged")
            }
            machine.process.world.pause()
        }
    }
}

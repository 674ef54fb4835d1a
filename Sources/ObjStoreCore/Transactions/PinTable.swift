/// The versions that this process pins, and its slots in the shared table.
///
/// One slot per pinned version, with a local count: the first pin of a version stores it in a slot and
/// checks that PUBLISHED has not moved; further pins of it only count. A slot stays ours when its version is
/// released, so that the next pin is a store, not a search.
final class PinTable: @unchecked Sendable {
    private struct Pin {
        var entry: SharedState.RingEntry
        var slot: Int
        var count: Int
    }

    private let shared: SharedState
    private let machine: Machine
    private let instance: UInt64
    /// Whether an instance still lives; checked for slots of others when the table is full.
    private let isAlive: (UInt64) throws(StoreError) -> Bool

    private let lock = Lock()
    private var pins: [UInt64: Pin] = [:]
    private var freeSlots: [Int] = []

    init(
        shared: SharedState, machine: Machine, instance: UInt64, isAlive: @escaping (UInt64) throws(StoreError) -> Bool
    ) {
        self.shared = shared
        self.machine = machine
        self.instance = instance
        self.isAlive = isAlive
    }

    /// Pins PUBLISHED: until `unpin`, no page of that version is written.
    func pin() throws(StoreError) -> SharedState.RingEntry {
        while true {
            let version = shared.published.load()
            if let entry = join(version) { return entry }
            let slot = try claimSlot()
            shared.slot(slot).version.store(version)
            let entry = shared.ringEntry(version)
            if shared.published.load() != version && !InjectedBug.active(.pinNoRecheck) {
                releaseSlot(slot)
                continue
            }
            guard entry.version == version else {
                releaseSlot(slot)
                throw StoreError(.corrupt, "version \(version) is published, but its root is gone from the ring")
            }
            do throws(StoreError) { try shared.check(entry) } catch {
                releaseSlot(slot)
                throw error
            }
            if let other = adopt(version, entry, slot) {
                // Another thread of this process pinned the same version meanwhile.
                releaseSlot(slot)
                return other
            }
            return entry
        }
    }

    /// Pins HEAD, which need not be PUBLISHED yet. Under WRITER: no page of it is freed meanwhile.
    func pin(head entry: SharedState.RingEntry) throws(StoreError) {
        if join(entry.version) != nil { return }
        let slot = try claimSlot()
        shared.slot(slot).version.store(entry.version)
        if adopt(entry.version, entry, slot) != nil { releaseSlot(slot) }
    }

    /// One more pin of a version that this process pins already; nil: it does not.
    func pin(own version: UInt64) -> SharedState.RingEntry? { join(version) }

    func unpin(_ version: UInt64) {
        let released: Int? = lock.withLock {
            guard var pin = pins[version] else { return nil }
            pin.count -= 1
            pins[version] = pin.count == 0 ? nil : pin
            return pin.count == 0 ? pin.slot : nil
        }
        if let released { releaseSlot(released) }
    }

    /// One more pin of a version that is pinned already (a frozen view of a view).
    func retain(_ version: UInt64) {
        lock.withLock { pins[version]!.count += 1 }
    }

    private func join(_ version: UInt64) -> SharedState.RingEntry? {
        lock.withLock {
            guard pins[version] != nil else { return nil }
            pins[version]!.count += 1
            return pins[version]!.entry
        }
    }

    private func adopt(_ version: UInt64, _ entry: SharedState.RingEntry, _ slot: Int) -> SharedState.RingEntry? {
        lock.withLock {
            if pins[version] != nil {
                pins[version]!.count += 1
                return pins[version]!.entry
            }
            pins[version] = Pin(entry: entry, slot: slot, count: 1)
            return nil
        }
    }

    // MARK: Slots

    private func claimSlot() throws(StoreError) -> Int {
        if let slot = lock.withLock({ freeSlots.popLast() }) { return slot }
        return try claimSlot(for: instance)
    }

    private func claimSlot(for owner: UInt64) throws(StoreError) -> Int {
        if let slot = try searchSlot(owner) { return slot }
        try reapDeadSlots()
        if let slot = try searchSlot(owner) { return slot }
        throw StoreError(
            .tooManyReaders, "all \(shared.limits.slots) slots for pinned versions are taken: \(holders())")
    }

    private func searchSlot(_ owner: UInt64) throws(StoreError) -> Int? {
        for index in 0..<shared.limits.slots {
            if index == SharedState.slotsInFirstPage { try shared.reserveAll() }
            let slot = shared.slot(index)
            if slot.instance.current == 0, slot.instance.compareExchange(0, owner) {
                slot.process = owner == PinTable.keeper ? 0 : ThreadIdentity.process
                slot.since.store(UInt64(bitPattern: machine.wallClock()))
                while true {
                    let mark = shared.slotHighWater.load()
                    if mark >= UInt64(index + 1) || shared.slotHighWater.compareExchange(mark, UInt64(index + 1)) {
                        break
                    }
                }
                return index
            }
        }
        return nil
    }

    private func releaseSlot(_ index: Int) {
        shared.slot(index).version.store(0)
        lock.withLock { freeSlots.append(index) }
    }

    /// Frees the slots of instances that died. The kernel has released their LIVE locks.
    func reapDeadSlots() throws(StoreError) {
        var verdicts: [UInt64: Bool] = [:]
        for index in 0..<shared.usedSlots {
            let slot = shared.slot(index)
            let owner = slot.instance.load()
            if owner == 0 || owner == instance || owner == PinTable.keeper { continue }
            let lives: Bool
            if let known = verdicts[owner] {
                lives = known
            } else {
                lives = try isAlive(owner)
                verdicts[owner] = lives
            }
            // Taken over first: another process may be freeing it too, and a third one claim it.
            if !lives, InjectedBug.active(.reapUnowned) || slot.instance.compareExchange(owner, instance) {
                slot.version.store(0)
                slot.instance.store(0)
            }
        }
    }

    // MARK: Kept versions

    /// The owner of slots that belong to no process: see `KeptVersion`. Instances are smaller.
    static let keeper = UInt64.max

    /// Under WRITER, of a version that is pinned; or while nobody else has the store open.
    func keep(_ version: UInt64) throws(StoreError) {
        shared.slot(try claimSlot(for: PinTable.keeper)).version.store(version)
    }

    /// One of those of that version. Under CKPT.
    func release(kept version: UInt64) {
        for index in 0..<shared.usedSlots {
            let slot = shared.slot(index)
            guard slot.instance.load() == PinTable.keeper, slot.version.load() == version else { continue }
            slot.version.store(0)
            return slot.instance.store(0)
        }
    }

    /// Of slots that a process has left which died before their record was written, or after it went. Under CKPT.
    func kept(but versions: [UInt64]) -> [UInt64] {
        var known = versions, left: [UInt64] = []
        for index in 0..<shared.usedSlots where shared.slot(index).instance.load() == PinTable.keeper {
            let version = shared.slot(index).version.load()
            if let place = known.firstIndex(of: version) { known.remove(at: place) } else { left.append(version) }
        }
        return left
    }

    /// At close: all slots of this process.
    func releaseAll() {
        for index in 0..<shared.usedSlots where shared.slot(index).instance.load() == instance {
            shared.slot(index).version.store(0)
            shared.slot(index).instance.store(0)
        }
        lock.withLock {
            pins.removeAll()
            freeSlots.removeAll()
        }
    }

    private func holders() -> String {
        var counts: [UInt64: Int] = [:]
        for index in 0..<shared.usedSlots { counts[shared.slot(index).instance.load(), default: 0] += 1 }
        return counts.sorted { $0.key < $1.key }.map { "instance \($0.key) holds \($0.value)" }.joined(separator: ", ")
    }
}

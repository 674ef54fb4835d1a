internal import CSystem

/// The words, the ring of roots and the table of pins that all processes on one file share (`db-lock`).
///
/// Its content is disposable: the first opener recreates it, and it is not trusted after a reboot. Which process may
/// write which word, when, under which lock and in which order is in `docs/state-machine.md`; this type only says where
/// the words lie.
///
/// ```
///     0  identity: magic, layout version, sizes, nonce, boot id, incarnation
///    64  HEAD · 128 PUBLISHED · 192 DURABLE (bit 63: poison) · 256 EVENT · 320 intent · 384 SYNCING
///   448  METAVER · 512 LOGSTART · 576 metapin[0] metapin[1] durslot generation
///   640  PREPARED · 704 slot high water · 768 WRITER · 832 statistics · 904 replaced
///   960  SYNCROUND · 1024 1088 1152 1216 doorbells of the ends of rounds · 1280 SYNC · 1344 SYNCPACE
///  1536  the first 16 pin slots: 32 bytes { instance, version, since, process }
///  2048  ring of roots: N entries of 128 bytes
///     …  the other M - 16 pin slots
///     …  next object key per class
/// ```
/// A store that is only read needs nothing behind the first page, which alone has real space from the beginning: the
/// ring begins with the version that the first opener found.
package final class SharedState: @unchecked Sendable {
    /// Sizes of the tables; the simulated machine uses small ones, so that they fill up.
    package struct Limits: Sendable, Equatable {
        package var ringEntries = 1024
        package var slots = 4096
        package var classes = 4096
        package init() {}
        package init(ringEntries: Int, slots: Int, classes: Int) {
            self.ringEntries = ringEntries; self.slots = slots; self.classes = classes
        }
    }

    static let magic: UInt64 = 0x6b63_6f6c_6a62_6f01  // "\u{1}objlock"
    static let layoutVersion: UInt32 = 3
    private static let ring = 2048, firstSlots = 1536
    package static let slotsInFirstPage = 16
    static let poisonBit: UInt64 = 1 << 63

    package let limits: Limits
    private let memory: SharedMemory
    private var wasInitialized = false
    /// The version whose entry is the first of the ring; the same for all that share the memory.
    private var ringBase: UInt64 { cs_load64_relaxed(base + 56) }
    private let base: UnsafeMutableRawPointer
    var identity: FileIdentity { memory.identity }

    /// Rung when PUBLISHED or DURABLE moved, for observers.
    let event: Doorbell
    package let head, published, durable, intent, syncing, metaVersion, logStart: SharedWord
    let metaPins: [SharedWord]
    let durableSlot, generation, prepared, slotHighWater: SharedWord
    /// The sync of the log that runs or ran last.
    private let syncRound: SharedWord
    private let syncPace: SharedWord
    private let roundEnds: [Doorbell]
    package let logBytes, dbBytes, syncs, commits, checkpoints: SharedWord
    /// Not 0: the store's file was deleted, or another one has its place.
    private let replaced: SharedWord
    /// Only for the injected bug of that name.
    let barrierWord: SharedWord

    package static func bytes(_ limits: Limits) -> Int {
        SharedState.keys(limits) + limits.classes * 8
    }

    private static func moreSlots(_ limits: Limits) -> Int { ring + limits.ringEntries * 128 }
    private static func keys(_ limits: Limits) -> Int {
        moreSlots(limits) + max(0, limits.slots - slotsInFirstPage) * 32
    }

    package init(_ memory: SharedMemory, limits: Limits) {
        self.memory = memory
        self.limits = limits
        let base = memory.base
        self.base = base
        func word(_ offset: Int) -> SharedWord { SharedWord(base + offset) }
        head = word(64)
        published = word(128)
        durable = word(192)
        event = Doorbell(base + 256)
        intent = word(320)
        syncing = word(384)
        metaVersion = word(448)
        logStart = word(512)
        metaPins = [word(576), word(584)]
        durableSlot = word(592)
        generation = word(600)
        prepared = word(640)
        slotHighWater = word(704)
        logBytes = word(832)
        dbBytes = word(840)
        syncs = word(848)
        commits = word(856)
        checkpoints = word(864)
        barrierWord = word(896)
        replaced = word(904)
        syncRound = word(960)
        syncPace = word(1344)
        roundEnds = (0..<4).map { Doorbell(base + 1024 + $0 * 64) }
    }

    /// The instance that has WRITER for a transaction, while it has it: else it is for work of the store's own, as a
    /// checkpoint, or it has not said yet. Stays where the instance dies; none comes twice.
    func setWriting(_ instance: UInt64) { cs_store64_relaxed(base + SharedLock.writer.rawValue + 24, instance) }
    var isWriting: Bool {
        let writing = cs_load64_relaxed(base + SharedLock.writer.rawValue + 24)
        return writing != 0 && cs_load64_relaxed(base + SharedLock.writer.rawValue + 16) == writing
    }

    /// The words of the locks WRITER and SYNC: `0 releases · 8 waiters · 16 owner`.
    func lockWords(
        _ lock: SharedLock, instance: UInt64, isAlive: @escaping @Sendable (UInt64) throws(StoreError) -> Bool
    ) -> LockWords {
        let place = base + lock.rawValue
        return LockWords(
            owner: SharedWord(place + 16), releases: SharedWord(place), waiters: SharedWord(place + 8),
            instance: instance, isAlive: isAlive)
    }
    enum SharedLock: Int {
        case writer = 768
        case sync = 1280
    }

    // MARK: Identity

    package struct Identity: Equatable {
        var nonce: UInt64
        var boot: (UInt64, UInt64)
        package var incarnation: UInt64

        package init(nonce: UInt64, boot: (UInt64, UInt64), incarnation: UInt64) {
            self.nonce = nonce
            self.boot = boot
            self.incarnation = incarnation
        }

        package static func == (a: Identity, b: Identity) -> Bool {
            a.nonce == b.nonce && a.boot == b.boot && a.incarnation == b.incarnation
        }
    }

    /// Gives all of the memory real space: before anything is written to the store, and before a slot is taken that
    /// lies behind the first page.
    func reserveAll() throws(StoreError) { try memory.reserveAll() }

    /// Wipes everything; only under OPEN with no process alive. New memory is clean, and most of it is never touched.
    package func initialize(_ identity: Identity, firstVersion: UInt64) {
        if !memory.isNew || wasInitialized {
            base.initializeMemory(as: UInt8.self, repeating: 0, count: SharedState.bytes(limits))
        }
        wasInitialized = true
        base.storeBytes(of: SharedState.layoutVersion, toByteOffset: 8, as: UInt32.self)
        base.storeBytes(of: UInt32(limits.ringEntries), toByteOffset: 12, as: UInt32.self)
        base.storeBytes(of: UInt32(limits.slots), toByteOffset: 16, as: UInt32.self)
        base.storeBytes(of: UInt32(limits.classes), toByteOffset: 20, as: UInt32.self)
        base.storeBytes(of: identity.nonce, toByteOffset: 24, as: UInt64.self)
        base.storeBytes(of: identity.boot.0, toByteOffset: 32, as: UInt64.self)
        base.storeBytes(of: identity.boot.1, toByteOffset: 40, as: UInt64.self)
        base.storeBytes(of: identity.incarnation, toByteOffset: 48, as: UInt64.self)
        cs_store64_relaxed(base + 56, firstVersion)
        base.storeBytes(of: SharedState.magic, as: UInt64.self)
    }

    /// Nil where the memory was never initialized, or with other sizes.
    package var storedIdentity: Identity? {
        guard base.load(as: UInt64.self) == SharedState.magic,
            base.load(fromByteOffset: 8, as: UInt32.self) == SharedState.layoutVersion,
            base.load(fromByteOffset: 12, as: UInt32.self) == UInt32(limits.ringEntries),
            base.load(fromByteOffset: 16, as: UInt32.self) == UInt32(limits.slots),
            base.load(fromByteOffset: 20, as: UInt32.self) == UInt32(limits.classes)
        else { return nil }
        return Identity(
            nonce: base.load(fromByteOffset: 24, as: UInt64.self),
            boot: (base.load(fromByteOffset: 32, as: UInt64.self), base.load(fromByteOffset: 40, as: UInt64.self)),
            incarnation: base.load(fromByteOffset: 48, as: UInt64.self))
    }

    /// Whether another store has been opened in the place of this one.
    var isReplaced: Bool { replaced.current != 0 }

    /// What a lock file begins with: nothing yet, or the magic.
    static func isOurs(_ first: UInt64) -> Bool { first == 0 || first == magic }

    /// Tells processes that still use the memory that another store has the place of theirs. Only the first page is
    /// touched.
    func retire(_ machine: Machine) {
        guard base.load(as: UInt64.self) == SharedState.magic,
            base.load(fromByteOffset: 8, as: UInt32.self) == SharedState.layoutVersion
        else { return }
        replaced.store(1)
        endAllRounds(machine)
        event.ring(machine)
    }

    // MARK: Ring of roots

    /// Everything that a reader or the next writer must know of a version.
    package struct RingEntry: Equatable {
        package var version: UInt64 = 0
        var root: Ref = .null
        /// Pages of the file.
        package var filePages = 0
        /// Where the next log record may begin, and what it must name as its predecessor.
        package var log = LogPosition()
        /// Made by a checkpoint, and the pages that it allocated for the free map.
        var isCheckpoint = false
        var freeMap = PageRun()
        /// First version of the group with a summary that this entry ends, or 0: nothing from there on is
        /// acknowledged from the log alone.
        var barrier: UInt64 = 0
    }

    private func entry(_ version: UInt64) -> UnsafeMutableRawPointer {
        base + SharedState.ring + Int((version &- ringBase) % UInt64(limits.ringEntries)) * 128
    }

    /// The entry where `version` is or would be. Stable while PUBLISHED <= version <= HEAD.
    package func ringEntry(_ version: UInt64) -> RingEntry {
        cs_yield()
        cs_fence()
        let p = entry(version)
        func word(_ offset: Int) -> UInt64 { cs_load64_relaxed(p + offset) }
        // A reader that checks PUBLISHED again afterwards must not do so before the words were read.
        defer { cs_fence_acquire() }
        return RingEntry(
            version: word(0), root: Ref(raw: word(8)), filePages: Int(truncatingIfNeeded: word(16)),
            log: LogPosition(
                lsn: word(24), epoch: word(32), chain: word(40),
                region: LogRegion(offset: Int(truncatingIfNeeded: word(48)), bytes: Int(truncatingIfNeeded: word(56)))),
            isCheckpoint: word(64) != 0, freeMap: PageRun(word: word(72)), barrier: word(80))
    }

    /// The same of any version; nil where the ring has never had it: its place may have no memory yet, or it is of an
    /// earlier life.
    func ringEntry(ifThere version: UInt64) -> RingEntry? {
        guard version >= ringBase, version <= head.current else { return nil }
        let entry = ringEntry(version)
        return entry.version == version ? entry : nil
    }

    package func setRingEntry(_ e: RingEntry) {
        cs_yield()
        // A reader that sees a word of this entry sees the PUBLISHED that allowed the writer to replace the old one.
        cs_fence_release()
        let p = entry(e.version)
        func set(_ offset: Int, _ value: UInt64) { cs_store64_relaxed(p + offset, value) }
        set(8, e.root.raw)
        set(16, UInt64(e.filePages))
        set(24, e.log.lsn)
        set(32, e.log.epoch)
        set(40, e.log.chain)
        set(48, UInt64(e.log.region.offset))
        set(56, UInt64(e.log.region.bytes))
        set(64, e.isCheckpoint ? 1 : 0)
        set(72, e.freeMap.word)
        set(80, e.barrier)
        cs_store64_release(p, e.version)
        cs_fence()
    }

    /// Clears the entry of a version inside a group: a dead writer may have left one there.
    func clearRingEntry(_ version: UInt64) {
        cs_yield()
        cs_store64_release(entry(version), 0)
    }

    // MARK: Pins

    package struct Slot {
        package let address: UnsafeMutableRawPointer
        package var instance: SharedWord { SharedWord(address) }
        /// 0: owned but holding nothing.
        package var version: SharedWord { SharedWord(address + 8) }
        /// Wall clock, nanoseconds.
        var since: SharedWord { SharedWord(address + 16) }
        /// The owner's process id as it saw itself: for people to look at, never to decide anything.
        var process: UInt64 {
            get { cs_load64_relaxed(address + 24) }
            nonmutating set { cs_store64_relaxed(address + 24, newValue) }
        }
    }

    package func slot(_ index: Int) -> Slot {
        if index < SharedState.slotsInFirstPage { return Slot(address: base + SharedState.firstSlots + index * 32) }
        return Slot(address: base + SharedState.moreSlots(limits) + (index - SharedState.slotsInFirstPage) * 32)
    }

    // MARK: Object keys

    /// The next object key of a class: handed out under WRITER, never taken back while anybody lives.
    package func nextKey(_ classIndex: Int) -> UnsafeMutablePointer<Int64> {
        (base + SharedState.keys(limits) + classIndex * 8).assumingMemoryBound(to: Int64.self)
    }

    // MARK: Rounds of syncs

    /// One sync of the log: which versions it covers, and its place in the sequence of rounds.
    ///
    /// A thread that waits for a version sleeps on the doorbell of the round that covers it, so that the end of a round
    /// wakes only those that it concerns, and one more, which leads the next. A hint: what is durable says DURABLE.
    package struct SyncRound {
        /// Bits 0 and 1: number of the round; above: the last version that it covers.
        fileprivate let word: UInt64
        fileprivate static let numbers: UInt64 = 4
        fileprivate var number: UInt64 { word % SyncRound.numbers }
        fileprivate func covers(_ version: UInt64) -> Bool { version <= word / SyncRound.numbers }
    }

    package var currentRound: SyncRound { SyncRound(word: syncRound.load()) }

    /// Under SYNC.
    package func beginRound(covering version: UInt64) {
        let number = (currentRound.number + 1) % SyncRound.numbers
        syncRound.store(version * SyncRound.numbers + number)
    }

    private func end(_ number: UInt64) -> Doorbell { roundEnds[Int(number % SyncRound.numbers)] }

    /// The doorbell of the round that covers `version`: this one or the next.
    package func end(of round: SyncRound, for version: UInt64) -> Doorbell {
        end(round.covers(version) ? round.number : round.number + 1)
    }

    /// The doorbell of the running round, and that of the next.
    package var ends: (this: Doorbell, next: Doorbell) {
        let number = currentRound.number
        return (end(number), end(number + 1))
    }

    /// Under SYNC, after a sync: how many commits it covered or have come meanwhile, and the nanoseconds that it took.
    package func setSyncPace(commits: UInt64, time: Int64) {
        let before = syncPace.load() & 0xfff
        syncPace.store(before << 4 | min(commits, 15) | UInt64(max(0, min(time, 1 << 40))) << 16)
    }

    /// Commits that a sync is worth waiting for, and nanoseconds to wait for them at most.
    ///
    /// Two to four threads that commit one after another come back soon after they were acknowledged, and one sync then
    /// serves all of them: that is expected when each of the last four syncs met as many. Of more threads, those that
    /// are not in a sync have enough to do while it runs.
    package var syncPatience: (commits: UInt64, time: Int64) {
        let word = syncPace.load()
        let commits = min(word & 15, word >> 4 & 15, word >> 8 & 15, word >> 12 & 15)
        return (commits > 4 ? 0 : commits, min(SharedState.longestPatience, 4 * Int64(word >> 16)))
    }
    private static let longestPatience: Int64 = 1_000_000

    /// Wakes the waiters of all rounds.
    func endAllRounds(_ machine: Machine) { for end in roundEnds { end.ring(machine) } }

    // MARK: Composite steps

    var isPoisoned: Bool { durable.load() & SharedState.poisonBit != 0 }

    /// Compare-exchange maximum, refused once poisoned (PUBLISHED then DURABLE: an acknowledged commit is visible).
    func advance(to version: UInt64) {
        if InjectedBug.active(.publishPlain) {
            if !isPoisoned { published.store(version); durable.store(version) }
            return
        }
        if InjectedBug.active(.durableFirst) {
            raiseDurable(to: version)
            raisePublished(to: version)
            return
        }
        raisePublished(to: version)
        raiseDurable(to: version)
    }

    /// False if poison is set, or came before it was done: this does not show the version to any process.
    @discardableResult
    func raisePublished(to version: UInt64) -> Bool {
        while true {
            if isPoisoned && !InjectedBug.active(.noPoison) { return false }
            let now = published.load()
            if now >= version || published.compareExchange(now, version) { return true }
        }
    }

    func raiseDurable(to version: UInt64) {
        while true {
            let now = durable.load()
            if now & SharedState.poisonBit != 0 || now >= version || durable.compareExchange(now, version) { return }
        }
    }

    /// From now on nothing is acknowledged.
    func poison() {
        while true {
            let now = durable.load()
            if now & SharedState.poisonBit != 0 || durable.compareExchange(now, now | SharedState.poisonBit) { return }
        }
    }
}

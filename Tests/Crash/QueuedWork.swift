import ObjStoreCore
import ObjStoreSimulation

/// A process that writes asynchronously: bodies and requests, grouped or not, some of which fail, while the machine
/// fails around them and other processes write, too.
///
/// What it is told is told to the oracle: of an acknowledged write it knows whether a power cut could still take it.
/// And it checks that turns and completions come in their order, once each.
final class QueuedWork: @unchecked Sendable {
    private let history: History
    private let database: Database
    private let process: SimulatedProcess
    private let queue: WriteQueue
    private var world: World { history.world }
    private var oracle: EngineOracle { history.lives.of(database) }

    /// A transaction, and what its members have put into it so far.
    private final class Shared {
        let transaction: WriteTransaction
        let seen: UInt64
        var content: Content
        let box = EngineOracle.Box()
        init(_ transaction: WriteTransaction, _ content: Content) {
            (self.transaction, seen, self.content) = (transaction, transaction.baseVersion, content)
        }
    }
    /// The one that has been given out last.
    private var shared: Shared?
    /// By number: in whose transaction; whether it has failed by itself.
    private var joined: [Int: Shared] = [:], hasFailed: Set<Int> = []
    private var enqueued = 0, lastRun = -1, lastTold = -1
    /// Numbers of requests by id, and ids of what may be claimed.
    private var numbers: [UInt64: Int] = [:], ready: [UInt64] = []
    private var edits: [Int: [Edit]] = [:]

    init(_ history: History, _ database: Database, _ process: SimulatedProcess) {
        (self.history, self.database, self.process) = (history, database, process)
        queue = WriteQueue(database, durability: .full)
        process.own(queue)
    }

    private func pick(_ n: Int) -> Int { world.pick(.workload, n) }

    /// Everything, to the end.
    func run() {
        for _ in 0...(2 + pick(6)) {
            do throws(StoreError) { try enqueue() } catch { return fail("enqueueing: \(error)") }
            // Now and then something is done before all is enqueued.
            if pick(3) == 1 { step() }
        }
        // A second thread delivers, too.
        if pick(4) == 1 { process.spawn("lender") { [self] _ in for _ in 0..<3 { deliver() } } }
        // Closing does the rest, which begins nothing new and refuses requests; or the program does.
        if pick(3) != 1 {
            while queue.isActive, world.violation == nil {
                let seen = queue.progress.current
                step()
                if queue.isActive && !queue.isDue && ready.isEmpty {
                    process.machine.wait(queue.progress, while: seen, timeout: 2_000_000)
                }
            }
        }
        queue.finish { _ in }
        claimAll()
        queue.stop()
        process.disown(queue)
    }

    private func step() {
        deliver()
        claimAll()
    }

    private func deliver() { _ = queue.run { _ in } }

    private func fail(_ text: String) { world.fail("P12: \(text)") }

    // MARK: Enqueueing

    private func enqueue() throws(StoreError) {
        let number = enqueued
        enqueued += 1
        let kinds: [History.Kind] = [.synced, .synced, .many, .columns, .unchanged]
        let kind = kinds[pick(kinds.count)]
        edits[number] = kind == .unchanged ? [] : history.edits(kind)
        let sharing: AsyncWrite.Sharing = [.none, .withFollowing, .withFollowing, .alone][pick(4)]
        if pick(3) == 1 {
            let id = try queue.requestBegin(isAlone: sharing == .alone) { [unowned self] in ready.append($0) }
            numbers[id] = number
        } else {
            let fails = pick(6) == 1
            _ = try queue.add(
                sharing,
                completion: { [unowned self] result in
                    told(number, result)
                    return nil
                }
            ) { [unowned self] (write, transaction) in
                if let error = work(number, transaction) ?? (fails ? StoreError(.callback, "as wanted") : nil) {
                    hasFailed.insert(number)
                    return .cancel([write], error)
                }
                promise(number)
                return .commit([write])
            }
        }
    }

    // MARK: Turns

    /// The work of one; why it failed.
    private func work(_ number: Int, _ transaction: WriteTransaction) -> StoreError? {
        if number <= lastRun { fail("\(number) has its turn after \(lastRun)") }
        lastRun = number
        if shared?.transaction !== transaction {
            guard let content = oracle.content(of: database, version: transaction.baseVersion) else {
                fail("HEAD \(transaction.baseVersion) is not a version of this life")
                return StoreError(.internalError, "no content")
            }
            shared = Shared(transaction, content)
        }
        joined[number] = shared
        var editor = Editor(transaction, shared!.content)
        do throws(StoreError) { try editor.apply(edits[number]!) } catch {
            world.say("body of \(number): \(error)")
            return error
        }
        if let mismatch = editor.mismatch {
            if !world.hasEvicted { fail(mismatch) }
            return StoreError(.corrupt, "stale content after an eviction")
        }
        next = editor.content
        return nil
    }
    private var next: Content = [:]

    /// What the work has made is to be committed.
    private func promise(_ number: Int) {
        guard let shared = joined[number] else { return }
        shared.content = next
        oracle.pending[process.id] = (next, shared.box)
    }

    private func claimAll() {
        while !ready.isEmpty, world.violation == nil {
            let id = ready.removeFirst()
            // An outcome: its number is negative, so that the two are not mixed up.
            guard let number = numbers[id] else { continue }
            do throws(StoreError) {
                if number < 0 { try claimOutcome(id, -number - 1) } else { try claimTurn(id, number) }
            } catch {
                hasFailed.insert(number)
                told(number < 0 ? -number - 1 : number, .failure(error), isOrdered: false)
            }
        }
    }

    private func claimTurn(_ id: UInt64, _ number: Int) throws(StoreError) {
        guard let (write, group) = try queue.claimBegin(id) else { return }
        numbers[id] = nil
        if let error = work(number, group.transaction) {
            hasFailed.insert(number)
            return queue.end(write, of: group, .cancel([], error))
        }
        world.pause()
        if pick(6) == 1 { return queue.end(write, of: group, .cancel([], nil)) }
        promise(number)
        let commit = queue.newCommit(
            pick(2) == 1 ? .withFollowing : .none, .outcomeIsClaimed { [unowned self] in ready.append($0) })
        numbers[commit.id] = -number - 1
        queue.end(write, of: group, .commit([commit]))
    }

    private func claimOutcome(_ id: UInt64, _ number: Int) throws(StoreError) {
        let result: Result<UInt64, StoreError>
        do throws(StoreError) {
            guard let version = try queue.claimCommit(id) else { return fail("\(number) is told, and not over") }
            result = .success(version)
        } catch { result = .failure(error) }
        numbers[id] = nil
        told(number, result, isOrdered: false)
    }

    // MARK: What it is told

    /// - Parameter isOrdered: completions come in the order of the turns; claims when it suits.
    private func told(_ number: Int, _ result: Result<UInt64, StoreError>, isOrdered: Bool = true) {
        if isOrdered {
            if number <= lastTold { fail("\(number) is told after \(lastTold)") }
            lastTold = number
        }
        let shared = joined.removeValue(forKey: number)
        switch result {
        case .success(let version):
            guard let shared else { return fail("\(number) is done, and had no turn") }
            if version == shared.seen { return oracle.endedWithoutChange(database, version, durable: true) }
            shared.box.status = .committed
            oracle.acknowledge(database, version, durable: true)
        case .failure(let error):
            world.say("write \(number): \(error)")
            switch error.code {
            case .outcomeUnknown: shared?.box.status = .unknown
            case .callback, .cancelled: break
            case .poisoned, .closedHandle, .io, .outOfSpace, .tooManyReaders, .noSuchObject: break
            case .corrupt where world.hasEvicted: break
            // Not as the first change of a transaction that others have changed.
            case .invalidArgument: break
            default: fail("write \(number): \(error)")
            }
            if let shared, !hasFailed.contains(number), error.code != .outcomeUnknown {
                shared.box.status = .failed
                oracle.endedWithoutChange(database, shared.seen, durable: true)
            }
        }
    }
}

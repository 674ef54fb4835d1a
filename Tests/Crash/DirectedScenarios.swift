import ObjStoreCore
import ObjStoreSimulation

/// A course of events in which a certain rule is needed, at every place where it may be: clean in the engine as it
/// is, a violation where the rule is broken.
struct DirectedScenario: Sendable {
    let name: String
    var kernels: [SimulatedKernel] = [.errseq, .once]
    /// One place; it must come to an end by itself. Nil where there is no such place.
    let play: @Sendable (SimulatedKernel, Places) -> Stage?

    struct Result {
        var histories = 0, steps = 0, states = 0
        /// The first violation that was expected, and where.
        var violation: String?
        var place = ""
        /// One that was not expected.
        var other: String?
    }

    /// Plays every place; ends at the first violation that `isWanted`.
    func explore(isWanted: (String) -> Bool = { _ in true }, report: (String) -> Void = { _ in }) -> Result {
        var result = Result()
        Schemas.arePlain = true
        defer { Schemas.arePlain = false }
        for kernel in kernels {
            let places = Places()
            repeat {
                report("\(name) \(kernel) \(places)")
                World.note("\(name) \(kernel) \(places)")
                guard let stage = play(kernel, places) else { continue }
                let place = "\(name) \(kernel) \(places)"
                stage.calm()
                stage.world.capacity = 0
                stage.history.finish(cut: stage.cutsAtEnd, limit: 60_000)
                result.histories += 1
                result.steps += stage.world.steps
                result.states += stage.history.oracle.crashStates
                let violation = stage.world.violation
                stage.world.end()
                if let violation {
                    if isWanted(violation) {
                        result.violation = violation
                        result.place = place
                        return result
                    }
                    result.other = result.other ?? violation
                }
            } while places.advance()
        }
        return result
    }

    static let all = [
        leaderDies, checkpointerDies, staleRecord, staleAttempt, staleVersion, deadGroup, halfGroup, sameAgain,
        movingPin, tornRecovery, fullLog, fullDisk, emptiedDisk,
        leaderAndCheckpointer, stalePart, vanishingClean, failedFirstWrite, failedClose, closeBeside, twoReapers,
        largeFreeMap, largeDelta, growthThatWasCut, lateWriter, unchanged, metaBeforePages, failedMeta,
        poisonOvertakes,
    ]

    static func put(_ id: Int64, _ text: String) -> Edit { .put(Name(id: id), Item(number: id, text: text)) }
    static let relaxed = StoreOptions.Durability.relaxed(milliseconds: 1000)

    /// A store with a few objects, and two processes that have written to it.
    static func pair(_ stage: Stage) -> (Stage.Actor, Stage.Actor)? {
        guard let a = stage.open(), let b = stage.open() else { return nil }
        stage.commit(a, [put(1, "one"), put(2, "two"), put(3, "three")])
        stage.commit(b, [put(2, "zwei")])
        return (a, b)
    }

    // MARK: Deaths

    /// A leader is killed at any place of its commit, with its sync failed or not; the next one must not believe
    /// that its own sync covers what that one lost, and must not wait for it.
    static let leaderDies = DirectedScenario(name: "a leader dies") { kernel, places in
        let stage = Stage(kernel)
        guard let (a, b) = pair(stage) else { return stage }
        let fails = places.next(below: 2) == 0, steps = places.next()
        if places.isBeyond { return nil }
        if fails { stage.fault { kind, _ in kind == .sync && stage.runner === a.process ? 1 : nil } }
        let deed = stage.beginCommit(a, [[put(1, "lost?")]])
        if !stage.advance(deed, steps) { places.pastEnd() }
        stage.kill(a)
        stage.calm()
        // A description that was opened after the error had been reported does not hear of it.
        guard let heir = kernel == .once ? b : stage.open() else { return stage }
        stage.commit(heir, [put(2, "kept")])
        stage.commit(b, [put(3, "kept")])
        return stage
    }

    /// A checkpointer is killed at any place, with one of its syncs failed or not. Others write on, and one of
    /// them completes what it began.
    static let checkpointerDies = DirectedScenario(name: "a checkpointer dies") { kernel, places in
        let stage = Stage(kernel)
        guard let (a, b) = pair(stage) else { return stage }
        stage.checkpoint(b)
        // What the survivors do not write again.
        stage.commit(a, [.addClass, .put(Name(cls: 1, id: 1), Item(number: 1, text: "note"))])
        // 0: none, 1, 2: the first, the second, 3: both
        let failing = places.next(below: 4), steps = places.next()
        if places.isBeyond { return nil }
        var syncs = 0
        stage.fault { kind, _ in
            guard kind == .sync, stage.runner === a.process else { return nil }
            syncs += 1
            return failing == 3 || failing == syncs ? 1 : 0
        }
        let deed = stage.beginCheckpoint(a)
        if !stage.advance(deed, steps) { places.pastEnd() }
        stage.kill(a)
        stage.calm()
        for round in 0..<12 { stage.commit(b, [put(1, "b\(round)")], relaxed) }
        guard let heir = kernel == .once ? b : stage.open() else { return stage }
        stage.commit(heir, [put(2, "large")], summary: true)
        stage.commit(heir, [put(3, "small")])
        return stage
    }

    /// A group dies between its members' records and HEAD; the version that took its place is shorter, so that the
    /// group's second record is still behind it.
    static let deadGroup = DirectedScenario(name: "a group dies", kernels: [.errseq]) { kernel, places in
        let stage = Stage(kernel)
        guard let (a, b) = pair(stage) else { return stage }
        let deed = stage.beginCommit(a, [[put(1, "dead")], [put(2, "dead")]])
        if !stage.advance(deed, places.next()) { places.pastEnd() }
        stage.kill(a)
        stage.commit(b, [put(1, "alive")])
        stage.cutsAtEnd = false
        return stage
    }

    /// A leader looks at HEAD while a group is stopped at any place: what it publishes is read.
    static let halfGroup = DirectedScenario(name: "half a group", kernels: [.errseq]) { kernel, places in
        let stage = Stage(kernel)
        guard let (a, b) = pair(stage), let c = stage.open() else { return stage }
        let before = stage.head
        let leader = stage.beginCommit(b, [[put(3, "leader")]])
        guard stage.advance(leader, until: { stage.head > before }) else { return stage }
        if !stage.advance(leader, places.next(below: 12)) { places.pastEnd() }
        if places.isBeyond { return nil }
        let group = stage.beginCommit(a, [[put(1, "half")], [put(2, "half")]], relaxed)
        if !stage.advance(group, places.next()) { places.pastEnd() }
        stage.run { $0 === leader.task }
        stage.complete(stage.begin(c) { stage.history.read($0, $1) })
        stage.runAll()
        return stage
    }

    /// The clock stands still. After a power cut a record is missing, and one behind it is there; then the same is
    /// committed once more, in the same pages if it can be. What came behind it must stay lost.
    static let sameAgain = DirectedScenario(name: "the same again", kernels: [.errseq]) { kernel, places in
        let stage = Stage(kernel)
        stage.world.clockStands = true
        guard let a = stage.open() else { return stage }
        stage.commit(a, [put(1, "one"), put(2, "two")])
        // A group that fails leaves the next commit some pages further on: recovery will need them for its free map.
        let members = places.next(below: 6)
        if places.isBeyond { return nil }
        var writes = 0
        stage.fault { kind, _ in
            guard kind == .write, stage.world.touched === stage.log else { return nil }
            writes += 1
            return writes == members ? 1 : nil
        }
        if members > 0 { stage.complete(stage.beginCommit(a, (0..<members).map { [put(1, "failed \($0)")] })) }
        stage.calm()
        stage.commit(a, [put(1, "same")], relaxed)
        stage.commit(a, [put(2, "lost")], relaxed)
        var sectors = 0
        stage.fault { kind, options in
            guard kind == .cut || kind == .cutMode else { return nil }
            if kind == .cutMode { return 0 }
            guard stage.world.touched === stage.log else { return options - 1 }
            sectors += 1
            return sectors == 1 ? 0 : options - 1
        }
        stage.world.powerCut()
        stage.calm()
        guard let b = stage.open() else { return stage }
        stage.commit(b, [put(1, "same")])
        return stage
    }

    // MARK: Lost writes

    /// A record that failed is there again where a later one of the same version was lost; a reader that follows the
    /// log must not take it for that one.
    static let staleRecord = DirectedScenario(name: "a stale record") { kernel, places in
        let stage = Stage(kernel)
        guard let (a, b) = pair(stage), let c = stage.open() else { return stage }
        stage.commit(c, [put(3, "drei")])
        // What the failed one changed, so which pages it took, varies.
        let size = places.next(below: 4)
        if places.isBeyond { return nil }
        stage.fault { kind, _ in kind == .write && stage.world.touched === stage.log ? 3 : nil }
        stage.commit(a, [put(1, String(repeating: "failed ", count: 200 * size))])
        stage.calm()
        stage.commit(b, [put(1, "lost")], relaxed)
        stage.lose(stage.log, value: 1)
        stage.commit(c, [put(3, "after")])
        return stage
    }

    /// Pages of an attempt that died are there again where those of the version that came to be were lost: the same
    /// birth, other content.
    static let staleAttempt = DirectedScenario(name: "a stale attempt") { kernel, places in
        let stage = Stage(kernel)
        guard let (c, _) = pair(stage), let a = stage.open(), let b = stage.open() else { return stage }
        stage.checkpoint(c)
        let steps = places.next()
        let deed = stage.beginCommit(a, [[put(1, "aaaa")]])
        if !stage.advance(deed, steps) { places.pastEnd() }
        stage.kill(a)
        if stage.head > 0, deed.isFinished { return stage }
        stage.commit(b, [put(1, "bbbb")], relaxed)
        stage.lose(stage.db, value: 1)
        stage.readAgain()
        return stage
    }

    /// Pages of an older version are there again where a later one's were lost.
    static let staleVersion = DirectedScenario(name: "a stale version") { kernel, places in
        var options = History.storeOptions(false)
        options.logBytes = 65536
        let stage = Stage(kernel, options: options)
        guard let (a, _) = pair(stage) else { return stage }
        for round in 0..<20 { stage.commit(a, [put(1, "old \(round)")]) }
        stage.checkpoint(a)
        for round in 0..<places.next(below: 24) { stage.commit(a, [put(1, "new \(round)")]) }
        if places.isBeyond { return nil }
        stage.lose(stage.db)
        stage.readAgain()
        return stage
    }

    /// The power is cut in a recovery, and leaves half of a write. What was acknowledged lies behind a summary, so
    /// the newest meta is the only one that leads to it.
    static let tornRecovery = DirectedScenario(name: "a torn recovery", kernels: [.errseq]) { kernel, places in
        // Two sectors to a meta.
        let stage = Stage(kernel, sectorBytes: 128)
        guard let (a, b) = pair(stage) else { return stage }
        stage.checkpoint(a)
        stage.commit(a, [put(1, "large")], summary: true)
        stage.commit(a, [put(2, "small")])
        stage.kill(a)
        stage.kill(b)
        let first = places.next(below: 2), steps = places.next()
        if places.isBeyond { return nil }
        let process = stage.history.launch { _, _ in }
        stage.run(steps: steps) { $0.process === process }
        if process.taskCount == 0 { places.pastEnd() }
        var turn = first
        stage.fault { kind, options in
            switch kind {
            case .cutMode: return 0
            case .cut:
                turn += 1
                return turn % 2 == 0 ? options - 1 : 0
            default: return nil
            }
        }
        stage.world.powerCut()
        return stage
    }

    // MARK: Pins and space

    /// A checkpointer stands still at any place after its record; a writer that has looked at the pins stands
    /// still while the checkpoint is completed, and then writes on, in a file with few free pages.
    static let movingPin = DirectedScenario(name: "a moving pin", kernels: [.errseq]) { kernel, places in
        var options = History.storeOptions(false)
        // No checkpoint in the way of the last commits.
        options.logBytes = 65536
        let stage = Stage(kernel, options: options)
        guard let (a, b) = pair(stage) else { return stage }
        stage.checkpoint(a)
        // Several pages in a row: the taker needs no particular number.
        stage.commit(b, [put(1, String(repeating: "before ", count: 1000))], relaxed)
        let before = stage.head
        let checkpoint = stage.beginCheckpoint(a)
        guard stage.advance(checkpoint, until: { stage.head > before }) else { return stage }
        if !stage.advance(checkpoint, places.next(below: 8)) { places.pastEnd() }
        if places.isBeyond { return nil }
        // Pages of R die, and their death is published ...
        let first = stage.beginCommit(b, [[put(1, "next")]], relaxed)
        stage.run { $0 === first.task }
        if !first.isFinished {
            // The checkpointer still holds the lock.
            stage.runAll()
            _ = places.next(below: 1)
            return stage
        }
        // ... so this one may take them, unless it sees the pin.
        let second = stage.beginCommit(b, [[put(1, "second")]], relaxed)
        if !stage.advance(second, places.next()) { places.pastEnd() }
        stage.run { $0 === checkpoint.task }
        stage.runAll()
        for round in 0..<32 { stage.commit(b, [put(1, "more \(round)")], relaxed) }
        return stage
    }

    /// While a checkpointer is stopped at any place, a large group fills the ring of the log.
    static let fullLog = DirectedScenario(name: "a full log", kernels: [.errseq]) { kernel, places in
        var options = History.storeOptions(false)
        options.logBytes = 16384
        options.logBytesLimit = 16384
        let stage = Stage(kernel, options: options)
        guard let (a, b) = pair(stage) else { return stage }
        stage.checkpoint(a)
        for round in 0..<7 { stage.commit(a, [put(1, "round \(round)")]) }
        let members = 5 + places.next(below: 4)
        if places.isBeyond { return nil }
        let checkpoint = stage.beginCheckpoint(a)
        if !stage.advance(checkpoint, places.next()) { places.pastEnd() }
        let text = String(repeating: "large ", count: 280)
        let group = stage.beginCommit(b, (0..<members).map { [put(Int64($0), text)] }, relaxed)
        stage.run { $0 === group.task }
        stage.runAll()
        stage.commit(b, [put(3, "after")])
        return stage
    }

    /// The disk is full, and a commit that only a checkpoint can acknowledge takes the last free pages. The
    /// checkpoint must find some, or no commit will ever succeed again.
    static let fullDisk = DirectedScenario(name: "a full disk", kernels: [.errseq]) { kernel, places in
        let stage = Stage(kernel)
        guard let (a, b) = pair(stage) else { return stage }
        stage.checkpoint(a)
        stage.world.capacity = stage.world.usedBytes
        let pages = places.next(below: 48)
        if places.isBeyond { return nil }
        // A value of its own extent, that many pages long.
        stage.commit(a, [put(1, String(repeating: "x", count: 4096 * pages + 100))], summary: true)
        if stage.checkpoint(b)?.code == .outOfSpace {
            stage.world.fail("standstill: the disk is full, and a checkpoint finds no page for its free map")
        }
        return stage
    }

    /// The disk is full, and most of what filled it is deleted. What is free by the newest meta only may not be written
    /// yet; so the next writes must move both metas on, or they fail although there is room.
    static let emptiedDisk = DirectedScenario(name: "a full disk is emptied", kernels: [.errseq]) { kernel, places in
        let stage = Stage(kernel)
        guard let (a, b) = pair(stage) else { return stage }
        stage.checkpoint(a)
        stage.world.capacity = stage.world.usedBytes + PageSize.page * 100
        // Whether the one that meets the full disk deletes or another one does, and how large the values are.
        let other = places.next(below: 2) == 0 ? a : b, pages = 1 + places.next(below: 6)
        if places.isBeyond { return nil }
        let text = String(repeating: "x", count: PageSize.page * pages - 500)
        var ids: [Int64] = []
        for id in Int64(10)... {
            if let error = stage.commit(a, [put(id, text)]) {
                if error.code != .outOfSpace { return stage }
                break
            }
            ids.append(id)
        }
        if let error = stage.commit(other, ids.dropFirst().map { .delete(Name(id: $0)) }) {
            stage.world.fail("standstill: nothing can be deleted on a full disk: \(error.message)")
        }
        for id in ids.prefix(ids.count / 2) {
            if let error = stage.commit(a, [put(1000 + id, text)]) {
                stage.world.fail(
                    """
                    standstill: \(ids.count - 1) of \(ids.count) objects were deleted, and there is no room for one: \
                    \(error.message)
                    """
                )
                break
            }
        }
        return stage
    }
}

extension Stage {
    /// A process that has looked at nothing yet reads everything.
    func readAgain() {
        let process = history.launch { [history] in history.read($0, $1, isFirstTouch: true) }
        run { $0.process === process }
    }
}

import ObjStoreCore
import ObjStoreSimulation

/// Scenarios for rules of `docs/state-machine.md` that chance hardly ever needs: each is named after the section
/// that states the rule.
extension DirectedScenario {
    /// 4.3.2: a leader died over a failed sync, and a checkpointer is stopped anywhere, perhaps with its meta written
    /// and not yet durable. The log is written again from the durable meta on, not from the visible one.
    static let leaderAndCheckpointer = DirectedScenario(
        name: "4.3.2 a leader dies beside a checkpointer", kernels: [.once]
    ) { kernel, places in
        let stage = Stage(kernel)
        guard let (a, b) = pair(stage), let c = stage.open() else { return stage }
        stage.checkpoint(b)
        stage.dieInFailedSync(a, stage.beginCommit(a, [[put(1, "lost?")]]), steps: places.next(below: 3))
        if places.isBeyond { return nil }
        let checkpoint = stage.beginCheckpoint(c)
        if !stage.advance(checkpoint, places.next()) { places.pastEnd() }
        let commit = stage.beginCommit(b, [[put(2, "kept")]])
        stage.run { $0 === commit.task }
        stage.runAll()
        return stage
    }

    /// 4.6.6: a checkpointer died over a failed sync, and one sector is gone, each in turn. The process that completes
    /// the checkpoint looks at everything before it writes it again, parts of leaves and long values too.
    static let stalePart = DirectedScenario(name: "4.6.6 a stale part", kernels: [.once]) { kernel, places in
        var options = History.storeOptions(false)
        options.logBytes = 65536
        let stage = Stage(kernel, options: options)
        guard let (a, b) = pair(stage) else { return stage }
        stage.checkpoint(b)
        stage.commit(a, (4..<8).map { put($0, String(repeating: "text \($0) ", count: 60)) })
        stage.commit(a, [put(8, String(repeating: "long ", count: 1000))])
        let lost = places.next()
        var sectors = 0
        stage.dieInFailedSync(a, stage.beginCheckpoint(a), steps: 0) { options in
            sectors += 1
            return sectors == lost + 1 ? 0 : options - 1
        }
        if sectors <= lost { places.pastEnd() }
        stage.world.evict()
        stage.checkpoint(b)
        stage.commit(b, [put(2, "after")])
        return stage
    }

    /// 4.7.5: the power is cut in a recovery, and keeps of what was not synced the first sector alone: a meta. What it
    /// covers must be on the medium.
    static let metaBeforePages = DirectedScenario(name: "4.7.5 a meta before its pages", kernels: [.errseq]) {
        kernel, places in
        let stage = Stage(kernel)
        guard let (a, b) = pair(stage) else { return stage }
        stage.checkpoint(a)
        for round in 0..<4 { stage.commit(a, [put(1, "round \(round)")]) }
        stage.kill(a)
        stage.kill(b)
        let steps = places.next()
        let process = stage.history.launch { _, _ in }
        stage.run(steps: steps) { $0.process === process }
        if process.taskCount == 0 { places.pastEnd() }
        var sectors = 0
        stage.fault { kind, options in
            switch kind {
            case .cutMode: return 0
            case .cut:
                guard stage.world.touched === stage.db else { return options - 1 }
                sectors += 1
                return sectors == 1 ? options - 1 : 0
            default: return nil
            }
        }
        stage.world.powerCut()
        return stage
    }

    /// 4.6: a write of a checkpoint fails, though all of it is there. It may have been the meta: what that covers is
    /// not overwritten until another checkpoint has made certain which meta is durable.
    static let failedMeta = DirectedScenario(name: "4.6 a checkpoint's write that fails", kernels: [.errseq]) {
        kernel, places in
        var options = History.storeOptions(false)
        options.logBytes = 65536
        let stage = Stage(kernel, options: options)
        guard let (a, b) = pair(stage) else { return stage }
        stage.checkpoint(a)
        stage.commit(b, [put(1, "before")])
        let failing = 1 + places.next()
        if places.isBeyond { return nil }
        var writes = 0
        stage.fault { kind, _ in
            guard kind == .write, stage.world.touched === stage.db else { return nil }
            writes += 1
            return writes == failing ? 3 : 0
        }
        stage.checkpoint(a)
        stage.calm()
        if writes < failing { places.pastEnd() }
        for round in 0..<24 { stage.commit(b, [put(1, "more \(round)"), put(2, "more \(round)")], relaxed) }
        return stage
    }

    /// 4.11: a commit is stopped anywhere; a transaction that saw it, or did not, changes nothing or is cancelled. What
    /// it saw is then read by a third, and a power cut does not take it if it requested that.
    static let unchanged = DirectedScenario(name: "4.11 a transaction that changes nothing", kernels: [.errseq]) {
        kernel, places in
        let stage = Stage(kernel)
        guard let (a, b) = pair(stage), let c = stage.open() else { return stage }
        let course = places.next(below: 8)
        let commit = stage.beginCommit(a, [[put(1, "seen")]], course & 1 == 0 ? .full : relaxed)
        if !stage.advance(commit, places.next()) { places.pastEnd() }
        if places.isBeyond { return nil }
        let end = stage.begin(b) { [history = stage.history] (database, process) throws(StoreError) in
            try history.transact([[]], course & 2 == 0 ? .full : relaxed, cancels: course & 4 != 0, database, process)
        }
        stage.run { $0 === end.task }
        // The leader of the sync stands still: then it waits, and is not notified.
        if end.isFinished { stage.complete(stage.begin(c) { stage.history.read($0, $1) }) }
        stage.runAll()
        return stage
    }

    /// 4.4: a relaxed commit is stopped anywhere, and another's sync fails. A process that learned that it is there
    /// finds it.
    static let poisonOvertakes = DirectedScenario(name: "4.4 poison overtakes a relaxed commit", kernels: [.errseq]) {
        kernel, places in
        let stage = Stage(kernel)
        guard let (a, b) = pair(stage), let c = stage.open() else { return stage }
        let deed = stage.beginCommit(a, [[put(1, "shown?")]], relaxed)
        if !stage.advance(deed, places.next()) { places.pastEnd() }
        stage.fault { kind, _ in kind == .sync && stage.runner === b.process ? 1 : nil }
        let failing = stage.beginCommit(b, [[put(2, "lost?")]])
        stage.run { $0 === failing.task }
        stage.calm()
        // Where the first one held the writer's lock, the other comes after it.
        stage.complete(deed)
        stage.runAll()
        stage.complete(stage.begin(c) { stage.history.read($0, $1) })
        return stage
    }

    /// 4.8: the meta that a clean close wrote is in the page cache only, and vanishes while the first write
    /// after the next open is under way.
    static let vanishingClean = DirectedScenario(name: "4.8 a vanishing clean meta", kernels: [.once]) {
        kernel, places in
        let stage = Stage(kernel)
        guard let a = stage.open() else { return stage }
        stage.commit(a, [put(1, "one")])
        // 1, 2: which sync of the close fails
        let failing = 1 + places.next(below: 2)
        var syncs = 0
        stage.fault { kind, _ in
            guard kind == .sync, stage.world.touched === stage.db else { return nil }
            syncs += 1
            return syncs == failing ? 1 : 0
        }
        stage.close(a)
        stage.calm()
        if places.isBeyond { return nil }
        guard let b = stage.open() else { return stage }
        let deed = stage.beginCommit(b, [[put(1, "two")]])
        if !stage.advance(deed, places.next()) { places.pastEnd() }
        stage.world.evict()
        // It is refused as after any failed sync. Nothing is damaged: recovery will find the store as it was.
        if let error = stage.complete(deed), error.code == .corrupt {
            stage.world.fail("P2: a commit on a meta that is gone: \(error)")
        }
        stage.commit(b, [put(1, "three")])
        return stage
    }

    /// 4.8: a write of the first commit after a clean open fails, though all of it is there, and the store is closed.
    /// Whoever opens it next, before or after a power cut, finds what its meta needs.
    static let failedFirstWrite = DirectedScenario(name: "4.8 a first write that fails") { kernel, places in
        var options = History.storeOptions(false)
        options.leavesFileAlone = true
        let stage = Stage(kernel, options: options)
        guard let a = stage.open() else { return stage }
        stage.commit(a, [put(1, "one")])
        stage.close(a)
        stage.world.kill(a.process)
        let failing = 1 + places.next()
        if places.isBeyond { return nil }
        guard let b = stage.open() else { return stage }
        var writes = 0
        stage.fault { kind, _ in
            guard kind == .write, stage.world.touched === stage.db else { return nil }
            writes += 1
            return writes == failing ? 3 : 0
        }
        stage.commit(b, [put(1, "two")])
        stage.calm()
        if writes < failing { places.pastEnd() }
        stage.close(b)
        stage.world.kill(b.process)
        guard let c = stage.open() else {
            stage.world.fail("P1: the store cannot be opened after a first write that failed")
            return stage
        }
        stage.commit(c, [put(1, "three")])
        return stage
    }

    /// 4.7: a close dies at any place, or one of its syncs fails; the next process only looks, and the power is cut.
    /// What it was shown must still be there.
    static let failedClose = DirectedScenario(name: "4.7 a failed close") { kernel, places in
        let stage = Stage(kernel)
        guard let a = stage.open() else { return stage }
        stage.commit(a, [put(1, "one")])
        stage.commit(a, [put(2, "two")], relaxed)
        // 0: none, 1, 2: which sync of the close fails
        let failing = places.next(below: 3), steps = places.next()
        if places.isBeyond { return nil }
        var syncs = 0
        stage.fault { kind, _ in
            guard kind == .sync, stage.world.touched === stage.db else { return nil }
            syncs += 1
            return syncs == failing ? 1 : 0
        }
        let close = stage.begin(a) { stage.history.close($0, $1) }
        if !stage.advance(close, steps) { places.pastEnd() }
        stage.kill(a)
        stage.calm()
        // Once more after a clean close by a process that only looked.
        for _ in 0..<2 {
            guard let b = stage.open() else { return stage }
            stage.close(b)
            stage.world.kill(b.process)
        }
        return stage
    }

    /// 4.9: a process closes beside another one, with a relaxed commit that is not due for long; the other one never
    /// writes again, and the power is cut. What was closed is durable.
    static let closeBeside = DirectedScenario(name: "4.9 a close beside others") { kernel, places in
        var options = History.storeOptions(false, background: true)
        options.checkpointIdle = 60_000_000_000
        let stage = Stage(kernel, options: options)
        guard let (a, b) = pair(stage) else { return stage }
        stage.commit(a, [put(1, "eins")], .relaxed(milliseconds: 60_000))
        if places.next(below: 2) == 1 { stage.commit(b, [put(3, "drei")], .relaxed(milliseconds: 60_000)) }
        if places.isBeyond { return nil }
        let close = stage.begin(a) { stage.history.close($0, $1) }
        // Also its thread, which comes to its end.
        stage.run { $0.process === a.process }
        if !close.isFinished { stage.world.fail("standstill: a close waits for others") }
        stage.kill(b)
        return stage
    }

    /// 3: the slots of dead readers are freed by two processes at once, and one of them is claimed at once.
    static let twoReapers = DirectedScenario(name: "3 two reapers", kernels: [.errseq]) { kernel, places in
        // One each, and one more that a dead reader holds.
        var options = History.storeOptions(false)
        options.shared.slots = 5
        let stage = Stage(kernel, options: options)
        guard let (a, b) = pair(stage), let x = stage.open(), let z = stage.open() else { return stage }
        // All but the writers hold the version of now; the dead one holds the last free slot.
        guard let dead = stage.open() else { return stage }
        for actor in [x, z, dead] { stage.hold(actor) }
        stage.commit(a, [put(1, "held")])
        stage.kill(dead)
        let reaper = stage.begin(x) { stage.history.read($0, $1) }
        if !stage.advance(reaper, places.next()) { places.pastEnd() }
        let reader = stage.begin(z) { stage.history.read($0, $1) }
        let pins = stage.history.oracle.pinCount
        guard stage.advance(reader, until: { stage.history.oracle.pinCount > pins }) else {
            // The reaper has the only slot.
            stage.runAll()
            return stage
        }
        stage.run { $0 === reaper.task }
        for round in 0..<16 { stage.commit(b, [put(1, "round \(round)")], relaxed) }
        stage.runAll()
        return stage
    }

    /// 4.1.3: the file is so cut up that its free map takes several pages, and the disk is full. What commits leave
    /// for a checkpoint is as large as the map.
    static let largeFreeMap = DirectedScenario(name: "4.1.3 a large free map", kernels: [.errseq]) { kernel, _ in
        var options = History.storeOptions(false)
        options.logBytes = 65536
        let stage = Stage(kernel, options: options)
        guard let (a, b) = pair(stage) else { return stage }
        // Values of nine units each, every other one of which goes again.
        let text = String(repeating: "x", count: 4500)
        stage.commit(a, (100..<1500).map { put($0, text) }, summary: true)
        stage.commit(a, stride(from: Int64(100), to: 1500, by: 2).map { .delete(Name(id: $0)) }, summary: true)
        stage.checkpoint(a)
        stage.world.capacity = stage.world.usedBytes
        var id: Int64 = 5000
        var pages = 256
        while pages > 0 && stage.world.violation == nil {
            id += 1
            if stage.commit(a, [put(id, String(repeating: "y", count: 4096 * pages))], summary: true) != nil {
                pages /= 2
            }
            if stage.checkpoint(b)?.code == .outOfSpace {
                stage.world.fail(
                    "standstill: the disk is full, and a checkpoint finds no pages for a free map of several")
            }
        }
        return stage
    }

    /// 6.5 of the format: an allocation delta that does not fit in the log lies in pages that are born and die in
    /// one version; the next free map has them in limbo, and a process that loads it continues.
    static let largeDelta = DirectedScenario(name: "format 6.5 a large delta") { kernel, places in
        var options = History.storeOptions(false)
        options.logBytes = 16384
        options.logBytesLimit = 16384
        let stage = Stage(kernel, options: options)
        guard let (a, b) = pair(stage) else { return stage }
        // Which of them writes, and so whose allocator follows the log.
        let writes = places.next(below: 2)
        if places.isBeyond { return nil }
        for _ in 0..<3 { stage.commit(a, [.scattered(first: 1_000_000_000, count: 900)]) }
        guard let c = stage.open() else { return stage }
        stage.commit(writes == 0 ? b : c, [.scattered(first: 1_000_000_000, count: 900)])
        stage.commit(c, [put(1, "after")])
        stage.commit(b, [put(2, "after")])
        return stage
    }

    /// 19: one process grows the file for a commit that then finds the disk full; another one's checkpoint cuts the
    /// file to the length that HEAD says. Found by `random`, seed 101.
    static let growthThatWasCut = DirectedScenario(name: "19 a growth that was cut off", kernels: [.errseq]) {
        kernel, places in
        let stage = Stage(kernel)
        guard let (a, b) = pair(stage) else { return stage }
        let text = String(repeating: "x", count: 4000)
        stage.commit(a, (100..<160).map { put($0, text) }, summary: true)
        stage.commit(a, (100..<160).map { .delete(Name(id: $0)) }, summary: true)
        // What was deleted is free when both metas are past it, and the end of the file when the others have gone
        // round.
        for round in 0..<4 {
            stage.checkpoint(round == 0 ? a : b)
            stage.commit(b, [put(1, "round \(round)")])
        }
        let checkpoint = stage.begin(b) { (database, _) throws(StoreError) in try database.checkpoint(cutsAll: true) }
        if !stage.advance(checkpoint, places.next()) { places.pastEnd() }
        let capacity = stage.world.capacity
        stage.world.capacity = stage.world.usedBytes + 60 * 4096
        let failing = stage.beginCommit(a, [[.scattered(first: 1_000_000_000, count: 900)]])
        stage.run { $0 === failing.task }
        // Where the checkpoint is the writer, both continue together.
        if !failing.isFinished { stage.runAll() }
        stage.world.capacity = capacity
        stage.runAll()
        stage.commit(a, [put(2, "two")])
        // Of another process, whose free map does not happen to fill the file up to where it should end.
        stage.checkpoint(b)
        return stage
    }

    /// 4.9: a thread of a process is about to write while another thread closes the store.
    static let lateWriter = DirectedScenario(name: "4.9 a late writer", kernels: [.errseq]) { kernel, places in
        let stage = Stage(kernel)
        guard let a = stage.open() else { return stage }
        stage.commit(a, [put(1, "one")])
        let steps = places.next(below: 4)
        if places.isBeyond { return nil }
        let late = stage.beginCommit(a, [[put(1, "late")]])
        _ = stage.advance(late, steps)
        let close = stage.begin(a) { stage.history.close($0, $1) }
        if !stage.advance(close, places.next()) { places.pastEnd() }
        stage.run { $0 === late.task }
        stage.runAll()
        return stage
    }
}

extension Stage {
    /// The actor's next sync fails, and the actor is killed this many steps later. `loss`: what becomes of each
    /// sector (0: the old value); nothing of what the sync covered arrives by default.
    func dieInFailedSync(_ actor: Actor, _ deed: Deed, steps: Int, loss: ((_ options: Int) -> Int)? = nil) {
        var hasFailed = false
        fault { [self] kind, options in
            if kind == .loss { return loss?(options) ?? 0 }
            guard kind == .sync, runner === actor.process, !hasFailed else { return nil }
            hasFailed = true
            return 1
        }
        if advance(deed, until: { hasFailed }) { _ = advance(deed, steps) }
        calm()
        kill(actor)
    }

    /// Closes the store; the process continues without it.
    func close(_ actor: Actor) { complete(begin(actor) { [history] in history.close($0, $1) }) }

    /// The process holds a snapshot of the newest version for the rest of its life.
    func hold(_ actor: Actor) {
        complete(begin(actor) { (database, process) throws(StoreError) in process.own(try database.snapshot()) })
    }
}

#if canImport(Glibc)
internal import Glibc
#endif

/// What the outside does to the processes, and what it costs them.
extension World {
    /// After every step: nothing, power cut, a kill, a write-back error, eviction, a spurious wake-up.
    func event() {
        let chosen = pick(.event, 2 + processes.count + 3)
        if chosen == 0 { return }
        if chosen == 1 { return powerCut() }
        if chosen < 2 + processes.count { return kill(processes[chosen - 2]) }
        switch chosen - 2 - processes.count {
        case 0: failWritingBack()
        case 1: evict()
        default: wakeForNoReason()
        }
    }

    /// SIGKILL: none of its code runs again; the kernel releases its locks and descriptions.
    package func kill(_ process: SimulatedProcess, _ why: String = "kill") {
        guard process.isAlive else { return }
        say("\(why) P\(process.id)")
        statistics.kills += 1
        mix(UInt64(process.id) &+ 0x6b696c6c)
        forget(process)
        ask { $0.didKill(process) }
    }

    func leave(_ process: SimulatedProcess) {
        precondition(process.taskCount == 0, "a process with running tasks cannot exit")
        guard process.isAlive else { return }
        say("exit P\(process.id)")
        forget(process)
    }

    /// Every process dies; of what was not synced each sector, size and folder keeps any possible state.
    package func powerCut() {
        say("POWER CUT")
        ask { $0.willPowerCut(self) }
        statistics.powerCuts += 1
        boots += 1
        for process in processes { forget(process) }
        let mode = pick(.cutMode, 3)
        let choose: (Int) -> Int = { n in mode == 0 ? self.pick(.cut, n) : mode == 1 ? 0 : n - 1 }
        folders.powerCut(choose: choose)
        for file in files where !file.isShared {
            touched = file
            file.powerCut(choose: choose)
        }
        for file in files where file.isShared { powerCutShared(file) }
        isLossy = true
        hasEvicted = false
        ask { $0.didPowerCut(self) }
    }

    /// A file that processes shared as memory: whatever the kernel wrote back of it, and when.
    private func powerCutShared(_ file: DiskFile) {
        file.locks.removeAll()
        switch pick(.sharedAfterCut, 4) {
        case 0: break
        case 1: memset(file.visible, 0, file.size)
        case 2: fillWithGarbage(file, 0..<file.size)
        default:
            var at = 0
            while at < file.size {
                if pick(.garbage, 2) == 1 { memset(file.visible + at, 0, min(4096, file.size - at)) }
                at += 4096
            }
        }
    }

    private func fillWithGarbage(_ file: DiskFile, _ range: Range<Int>) {
        var random = RandomNumbers(seed: UInt64(pick(.garbage, 1 << 20)))
        for at in stride(from: range.lowerBound, to: range.upperBound & ~7, by: 8) {
            // small numbers too: they look like versions and counts
            let word = random.next()
            (file.visible + at).storeBytes(of: word & 1 == 0 ? word : word >> 56, as: UInt64.self)
        }
    }

    private func failWritingBack() {
        let candidates = files.filter { !$0.isShared && !$0.dirty.isEmpty }
        if candidates.isEmpty { return }
        failWritingBack(of: candidates[pick(.whichFile, candidates.count)])
    }

    /// The kernel writes a file back by itself, and fails.
    package func failWritingBack(of file: DiskFile) {
        say("write-back error on \(folders.name(of: file))")
        lose(file, file.sequence)
    }

    /// Writing back failed: sectors are clean now, whatever became of them.
    func lose(_ file: DiskFile, _ upTo: Int) {
        touched = file
        file.lose(upTo) { self.pick(.loss, $0) }
        statistics.inputOutputErrors += 1
        isLossy = true
        heat()
        ask { $0.didLose(file) }
    }

    /// Lost pages leave the page cache.
    package func evict() {
        if !isLossy { return }
        for file in files where !file.isShared {
            let count = file.evictLost()
            if count > 0 {
                say("\(count) lost sectors of \(folders.name(of: file)) evicted")
                hasEvicted = true
                statistics.evictions += count
                ask { $0.didEvict(file) }
            }
        }
    }

    /// An outside program deletes the file of that name, or gives the name to a copy of `image`, as cp, mv and sync do:
    /// all at once, and durable.
    ///
    /// - Parameter aside: the file that was there gets this name.
    package func replace(_ path: String, by image: [UInt8]?, aside: String? = nil) {
        say(
            """
            somebody \(aside == nil ? "deletes" : "moves away") \
            \(path)\(image == nil ? "" : " and puts another file there")
            """
        )
        if folders[path] != nil {
            if let aside { folders.rename(path, aside) } else { folders.remove(path) }
        }
        if let image {
            let file = DiskFile(
                id: files.count + 1, sectorBytes: options.sectorBytes, addressSpace: options.addressSpace)
            files.append(file)
            guard file.setSize(image.count) else { return fail("no address space for a copy") }
            image.withUnsafeBytes { file.write($0, at: 0) }
            file.settle(file.sequence)
            folders.create(path, file)
        }
        let folder = Folders.folder(of: path)
        folders.settle(folder, folders.begun(folder))
    }

    private func wakeForNoReason() {
        let sleeping = tasks.filter { if case .word = $0.waiting { true } else { false } }
        if sleeping.isEmpty { return }
        sleeping[pick(.garbage, sleeping.count)].isWoken = true
        statistics.spuriousWakes += 1
    }

    /// Faults come in clusters.
    func heat() { hotUntil = steps + choices.profile.clusterSteps }

    /// Bytes of all files that have a name.
    package var usedBytes: Int { folders.names.reduce(0) { $0 + folders[$1]!.size } }

    /// How many of a write's sectors happen before it fails. An enumeration tries nothing, one, half, all but one.
    func pickPart(_ sectors: Int) -> Int {
        if choices.isRandom || sectors < 4 { return pick(.part, sectors + 1) }
        return [0, 1, sectors / 2, sectors - 1][pick(.part, 4)]
    }
}

import Glibc
import ObjStoreCore
import ObjStoreSimulation

/// An injected bug, and what must catch it.
struct Control {
    let bug: InjectedBug
    /// The break of the design that it represents (`docs/state-machine.md`).
    let row: String
    /// What is wrong, in a few words.
    let mistake: String
    /// The assertions that name it: a violation begins with one of these.
    let named: [String]
    /// Where chance is slow or blind.
    var scenario: DirectedScenario?
    var kernel: SimulatedKernel?
    /// Where its random histories begin that would need thousands from the usual seed on.
    var seed: UInt64?
    /// The rule is masked by another one: that one is broken too, here and where the same must be clean.
    var behind: InjectedBug?
    /// Histories of the whole object model find it.
    var isWhole = false
    /// Courses of a queue of asynchronous writes find it.
    var isQueue = false
    /// Histories of silent transactions find it.
    var isSilence = false
    var isLists = false
    /// Histories of observed sections find it.
    var isSections = false
    /// Histories of observers with key paths find it.
    var isPaths = false
    /// Histories of observed lists, sets and maps find it.
    var isCollections = false
    /// Histories of observers of several processes find it.
    var isObservers = false
    /// Histories find it in which the store is replaced.
    var isReplaced = false
    /// Histories find it in which versions are kept by names.
    var isKept = false

    static let all: [Control] = [
        Control(bug: .reuseUnpublished, row: "1", mistake: "pages reusable when died <= HEAD", named: ["P4"]),
        Control(
            bug: .intentReaped, row: "2", mistake: "the intent of a dead checkpointer is no pin", named: ["P4"],
            scenario: .movingPin),
        Control(
            bug: .checkpointNoPoison, row: "2", mistake: "failed meta sync: intent dropped, work goes on", named: ["P1"]
        ),
        Control(bug: .lockStolen, row: "3", mistake: "writer lock taken from a living owner", named: ["P3"]),
        Control(bug: .twoSharedStates, row: "4", mistake: "second shared state beside the first", named: ["P1"]),
        Control(bug: .staleSharedState, row: "4", mistake: "shared state of before the reboot trusted", named: ["P1"]),
        Control(bug: .barrierIgnored, row: "5", mistake: "later commits acknowledged behind a summary", named: ["P1"]),
        Control(bug: .barrierReplayed, row: "5", mistake: "recovery steps over a summary", named: ["P2"]),
        Control(
            bug: .noPoison, row: "6", mistake: "a failed sync is retried by another", named: ["P1", "P7"], kernel: .once
        ),
        Control(bug: .slotMove, row: "7", mistake: "a pin moves between slots", named: ["P2"]),
        Control(bug: .noLimbo, row: "8", mistake: "the free map lists pages that readers use", named: ["P4", "P2"]),
        Control(bug: .publishPlain, row: "9", mistake: "PUBLISHED stored, not advanced", named: ["P4"]),
        Control(
            bug: .stranded, row: "9", mistake: "a dead leader strands followers", named: ["standstill"],
            scenario: .leaderDies),
        Control(bug: .cleanKept, row: "11, C12", mistake: "CLEAN not cleared before the first commit", named: ["P1"]),
        Control(
            bug: .folderNotSynced, row: "11", mistake: "the folder is not synced before the first acknowledgement",
            named: ["P1"]),
        Control(bug: .forkRelease, row: "13", mistake: "a forked child releases pins of its parent", named: ["P2"]),
        Control(bug: .updateUnlogged, row: "14", mistake: "updates are missing in the log", named: ["P2"]),
        Control(bug: .groupNoFlag, row: "15", mistake: "records of a group carry no flag", named: ["P5"]),
        Control(
            bug: .cutInUse, row: "19", mistake: "the file is cut where pages are still needed", named: ["P1", "P2"]),
        Control(
            bug: .growthKept, row: "19", mistake: "pages that were cut off are still counted",
            named: ["P1", "P2", "P6"], scenario: .growthThatWasCut),
        Control(
            bug: .spillUnlogged, row: "20", mistake: "pages written ahead of a commit are not in its record",
            named: ["P4", "P2", "P6"]),
        Control(
            bug: .spillReused, row: "20",
            mistake: "pages written ahead reused though a savepoint may come back to them", named: ["P2", "P6"]),
        Control(
            bug: .cutEarly, row: "19", mistake: "the file is cut before a meta says so", named: ["P1", "P2", "P6"]),
        Control(
            bug: .noRefTags, row: "16", mistake: "refs carry no tag: a stale page is believed", named: ["P2", "P6"],
            scenario: .staleVersion),
        Control(
            bug: .birthTagOnly, row: "C15", mistake: "tags of the birth, not of the content", named: ["P6", "P2"],
            scenario: .staleAttempt),
        Control(bug: .adoptBeyondHead, row: "C1", mistake: "complete records beyond HEAD adopted", named: ["P1"]),
        Control(
            bug: .checkpointPublishedOnly, row: "C2", mistake: "checkpoint only of a published root",
            named: ["standstill"]),
        Control(
            bug: .freeMapUnlogged, row: "C3", mistake: "free map's extent allocated without a record",
            named: ["P4", "P6"]),
        Control(
            bug: .intentLate, row: "C4", mistake: "intent announced after the lock is released", named: ["P4"],
            scenario: .movingPin),
        Control(
            bug: .groupHead, row: "C5", mistake: "HEAD moves inside a group", named: ["P5", "P1"],
            scenario: .halfGroup),
        Control(bug: .barrierInGroup, row: "C6", mistake: "barrier counted from the big member", named: ["P5", "P2"]),
        Control(
            bug: .barrierInWord, row: "C6", mistake: "barrier in one word that the checkpointer clears", named: ["P1"]),
        Control(
            bug: .relaxedPastBarrier, row: "C6", mistake: "relaxed commit published behind a summary", named: ["P1"]),
        Control(bug: .recoveryTrustsMeta, row: "C7", mistake: "recovery does not rewrite its meta", named: ["P4"]),
        Control(
            bug: .recoverySameSlot, row: "C7", mistake: "recovery overwrites its own meta", named: ["P1"],
            scenario: .tornRecovery),
        Control(bug: .recoveryReuses, row: "C7", mistake: "recovery writes into its meta's tree", named: ["P1"]),
        Control(
            bug: .leaderDeathTrusted, row: "C8", mistake: "result of a dead leader's sync assumed good", named: ["P1"],
            scenario: .leaderDies),
        Control(
            bug: .checkpointDeathTrusted, row: "C8", mistake: "result of a dead checkpointer's sync assumed good",
            named: ["P1"], scenario: .checkpointerDies),
        Control(
            bug: .pinScanOrder, row: "C9", mistake: "metas scanned before intent", named: ["P4"], scenario: .movingPin),
        Control(bug: .ringOverrun, row: "C10", mistake: "ring of roots has no back-pressure", named: ["P2"]),
        Control(bug: .logOverrun, row: "C10", mistake: "log has no back-pressure", named: ["P4"], scenario: .fullLog),
        Control(bug: .durableFirst, row: "C11", mistake: "DURABLE before PUBLISHED", named: ["P8"]),
        Control(
            bug: .ringChainUnchecked, row: "C16", mistake: "a stale record after a lost log write is believed",
            named: ["P1", "P6"], scenario: .staleRecord),
        Control(
            bug: .noPageReserve, row: "C17", mistake: "no pages kept for the checkpoint's free map",
            named: ["standstill", "P6"], scenario: .fullDisk),
        Control(
            bug: .fullStays, row: "-", mistake: "a full disk moves no meta on, so that what was deleted stays in use",
            named: ["standstill"], scenario: .emptiedDisk),
        Control(
            bug: .rewriteFromVisibleMeta, row: "C8", mistake: "log rewritten only behind a meta that is not durable",
            named: ["P1"], scenario: .leaderAndCheckpointer),
        Control(
            bug: .rewriteUnchecked, row: "C8", mistake: "stale parts of leaves rewritten as they are",
            named: ["P1", "P2"], scenario: .stalePart),
        Control(
            bug: .prepareAnyMeta, row: "C12", mistake: "the first write builds on another meta than HEAD",
            named: ["P1", "P2"], scenario: .vanishingClean, behind: .cleanTrusted),
        Control(
            bug: .reserveOnePage, row: "C17", mistake: "reserve of one page for a free map of several",
            named: ["standstill"], scenario: .largeFreeMap),
        Control(
            bug: .bornBeforeDied, row: "-", mistake: "a free map refused that has pages of one version's life",
            named: ["P1"], scenario: .largeDelta),
        Control(
            bug: .reapUnowned, row: "-", mistake: "a slot cleared by who does not own it", named: ["P2"],
            scenario: .twoReapers),
        Control(
            bug: .cleanTrusted, row: "-", mistake: "a clean meta shown that may stand in the page cache only",
            named: ["P1"], scenario: .failedClose),
        Control(
            bug: .closeAdmitsWriters, row: "-", mistake: "a waiting writer goes on while the store closes",
            named: ["P1"], scenario: .lateWriter),
        Control(
            bug: .recoveryUnsynced, row: "-", mistake: "recovery's meta before its pages are synced",
            named: ["P1", "P2"], scenario: .metaBeforePages),
        Control(
            bug: .intentCleared, row: "C13", mistake: "intent cleared after a failed write", named: ["P4"],
            scenario: .failedMeta),
        Control(
            bug: .oldErrorsKept, row: "C14", mistake: "recovery writes before old errors are known",
            named: ["P1", "P4"]),
        Control(
            bug: .endsUnconfirmed, row: "-",
            mistake: "a transaction without changes ends before others see what it saw", named: ["P9"],
            scenario: .unchanged),
        Control(
            bug: .poisonOvertakes, row: "-",
            mistake: "a relaxed commit acknowledged that poison kept from being published", named: ["P8"],
            scenario: .poisonOvertakes),
        Control(bug: .sameSlot, row: "-", mistake: "checkpoint overwrites the durable meta", named: ["P1"]),
        Control(bug: .metaBeforeSync, row: "-", mistake: "meta written before db is synced", named: ["P1"]),
        Control(bug: .releasedBeforeSync, row: "-", mistake: "space released before the meta is synced", named: ["P1"]),
        Control(
            bug: .logReleasedEarly, row: "-", mistake: "log released before the meta is written", named: ["P4"],
            scenario: .fullLog),
        Control(bug: .noChain, row: "-", mistake: "records not chained", named: ["P1"], scenario: .deadGroup),
        Control(bug: .noEpoch, row: "-", mistake: "recovery starts no new epoch", named: ["P1"], scenario: .sameAgain),
        Control(bug: .headBeforeLog, row: "-", mistake: "HEAD set before the record is written", named: ["P1"]),
        Control(bug: .headAfterSync, row: "-", mistake: "leader reads HEAD after its sync", named: ["P1"]),
        Control(bug: .pinsIgnored, row: "-", mistake: "pages of pinned versions reused", named: ["P2", "P4"]),
        Control(bug: .pinNoRecheck, row: "-", mistake: "a reader does not look at PUBLISHED again", named: ["P2"]),
        Control(
            bug: .closeUnsynced, row: "-",
            mistake: "a process closes beside others before its relaxed commits are durable", named: ["P1"],
            scenario: .closeBeside),
        Control(
            bug: .liveGivenUpFirst, row: "-",
            mistake: "a process that closes beside others syncs, but is not seen to live any more", named: ["P3"],
            scenario: .closeBeside),
        Control(
            bug: .replacedUnseen, row: "-", mistake: "a writer does not ask whether its file still has its name",
            named: ["P10"], isReplaced: true),
        Control(
            bug: .movedUnseen, row: "-",
            mistake: "a writer asks whether its file has a name, and not whether it is the one that it was opened by",
            named: ["P10"], isReplaced: true),
        Control(
            bug: .lockFileKept, row: "-",
            mistake: "a store that was put in another one's place takes the lock file of that one",
            named: ["P1", "P2", "P3", "P4"], isReplaced: true),
        Control(
            bug: .foreignLogKept, row: "-",
            mistake: "a store that was put in another one's place is opened beside the log of that one",
            named: ["P1", "P2"], isReplaced: true),
        Control(
            bug: .namesUnasked, row: "-",
            mistake:
                "who takes the name of a log or lock file does not ask again whether the path is still its store's",
            named: ["P1", "P2", "P4", "P10", "unexpected error"], isReplaced: true),
        Control(
            bug: .keptReleasedEarly, row: "21", mistake: "a kept version let go of before its record is gone for good",
            named: ["P11"], isKept: true),
        Control(
            bug: .keptForgotten, row: "21", mistake: "who opens a store does not look at what is kept",
            named: ["P11"], isKept: true),
        Control(
            bug: .keptTrusted, row: "21", mistake: "records of kept versions in the page cache believed",
            named: ["P11"], seed: 51_321, isKept: true),
        Control(
            bug: .inverseKept, row: "-", mistake: "a link is still found from the target that it had",
            named: ["inverse"], isWhole: true),
        Control(
            bug: .cascadeShallow, row: "-", mistake: "a cascade ends behind its first level", named: ["content"],
            isWhole: true),
        Control(
            bug: .rollbackLogged, row: "-", mistake: "what a rollback to a savepoint undoes is replayed",
            named: ["recovery"], isWhole: true),
        Control(
            bug: .mixedLinkKept, row: "-", mistake: "a link that left a mixed value still counts", named: ["inverse"],
            isWhole: true),
        Control(
            bug: .inverseWaits, row: "-", mistake: "a deletion does not see links that its transaction made",
            named: ["delete", "content"], isWhole: true),
        Control(
            bug: .orphansEmbedded, row: "-", mistake: "a class becomes embedded although objects of it have no parent",
            named: ["refusal", "verify"], isWhole: true),
        Control(
            bug: .asyncTwice, row: "-", mistake: "a completion is called twice", named: ["calls"], isQueue: true),
        Control(
            bug: .asyncCancelLost, row: "-", mistake: "a cancelled body runs", named: ["calls", "active"],
            isQueue: true),
        Control(
            bug: .asyncOvertakes, row: "-", mistake: "a body overtakes another one", named: ["calls"], isQueue: true),
        Control(
            bug: .asyncCloseHurries, row: "-", mistake: "closing does not wait", named: ["close"], isQueue: true),
        Control(
            bug: .asyncEarly, row: "-", mistake: "told as done before its commit has ended", named: ["due", "calls"],
            isQueue: true),
        Control(
            bug: .asyncReadyOnce, row: "-", mistake: "a request is not told again", named: ["calls"], isQueue: true),
        Control(
            bug: .asyncNotAlone, row: "-", mistake: "a request shares a transaction that it must not share",
            named: ["calls", "active", "due"], isQueue: true),
        Control(
            bug: .silenceTold, row: "-", mistake: "observers are told of a silent transaction", named: ["told"],
            isSilence: true),
        Control(
            bug: .silenceUnplaced, row: "-", mistake: "positions do not follow a silent transaction",
            named: ["positions"], isSilence: true),
        Control(
            bug: .rankStale, row: "-", mistake: "positions after a change are those before it", named: ["positions"],
            isLists: true),
        Control(
            bug: .listStale, row: "-", mistake: "an observed answer does not follow what links lead to",
            named: ["content", "positions"], isLists: true),
        Control(
            bug: .linkUntouched, row: "-", mistake: "objects that link to what was changed are not asked again",
            // An order in which such an object is looked for says so, too.
            named: ["content", "unexpected error: internalError"], isLists: true),
        Control(
            bug: .firstsStale, row: "-", mistake: "behind the first object with a value nobody comes when it goes",
            // An order in which one is looked for that is not there says so, too.
            named: ["content", "unexpected error: internalError"], isLists: true),
        Control(
            bug: .elementUnflagged, row: "-", mistake: "what begins or stops to satisfy a condition counts as it did",
            // A place at which another object is says so, too.
            named: ["content", "positions", "unexpected error: internalError"], isLists: true),
        Control(
            bug: .firstElementKept, row: "-",
            mistake: "the first one with its values stays in the answer when another one comes before it",
            named: ["missed", "content", "positions"], isLists: true),
        Control(
            bug: .elementTieLost, row: "-", mistake: "of equal values that of a list stands last which came last",
            named: ["content", "positions"], isLists: true),
        Control(
            bug: .listUnmoved, row: "-", mistake: "what was moved is told as modified where it was",
            named: ["positions", "content"], isLists: true),
        Control(
            bug: .pathUnfollowed, row: "-", mistake: "what lies behind links is not told of", named: ["paths"],
            isPaths: true),
        Control(
            bug: .interestForgotten, row: "-", mistake: "who waits for the value that an object had is not found",
            named: ["content", "paths"], isPaths: true),
        Control(
            bug: .elementMisplaced, row: "-", mistake: "an element that was replaced is told of where it was",
            named: ["positions"], isCollections: true),
        Control(
            bug: .elementKeyLost, row: "-", mistake: "one of the new keys of a map is left out", named: ["keys"],
            isCollections: true),
        Control(
            bug: .elementUnsilenced, row: "-", mistake: "a reader is told of what he did to a collection himself",
            named: ["told"], isCollections: true),
        Control(
            bug: .sharedStep, row: "-", mistake: "one who has stayed behind is told what others are told",
            named: ["content", "paths", "positions", "values"], isPaths: true),
        Control(
            bug: .sectionStale, row: "-", mistake: "an object stays in its section whatever that changes with",
            named: ["sections"], isSections: true),
        Control(
            bug: .toldTwice, row: "-", mistake: "what was told beside a silent transaction is told again",
            named: ["twice"], isObservers: true),
        Control(
            bug: .rowUncompared, row: "-", mistake: "a group that stays has the values that it had",
            named: ["content", "missed"], isObservers: true),
        Control(
            bug: .columnUnfollowed, row: "-", mistake: "what the columns of a table read behind links is not followed",
            named: ["missed", "modified"], isObservers: true),
        Control(
            bug: .rowUnsilenced, row: "-", mistake: "a reader of rows is told of what he did himself",
            named: ["content", "modified", "positions", "told"], isObservers: true),
        Control(
            bug: .groupExtremeKept, row: "-", mistake: "the least of a group stays it when its object goes",
            named: ["columns", "content", "missed"], isObservers: true),
        Control(
            bug: .sumUnordered, row: "-", mistake: "a sum of doubles is followed that is rounded on the way",
            named: ["columns", "content", "missed", "modified"], isObservers: true),
        Control(
            bug: .groupFirstKept, row: "-", mistake: "a group stays where it stood when its first object goes",
            // Of the first object what lies behind a key is read.
            named: ["columns", "content", "missed", "unexpected error: corrupt"], isObservers: true),
        Control(
            bug: .groupUnarranged, row: "-",
            mistake: "a group stays where the object stands that it began with, which is in another group now",
            named: ["columns", "content", "missed", "modified", "positions"], isObservers: true),
        Control(
            bug: .sumStale, row: "-", mistake: "a sum whose values are kept is not added up again",
            named: ["columns", "content", "missed", "modified"], isObservers: true),
        Control(
            bug: .valueMisplaced, row: "-", mistake: "what comes stands where it does in its collection",
            named: ["columns", "content", "missed", "modified", "positions"], isObservers: true),
        Control(
            bug: .valueUnsorted, row: "-", mistake: "a value that leaves an order of plain values stays in it",
            named: ["columns", "content", "missed", "modified", "positions"], isObservers: true),
        Control(
            bug: .groupBestKept, row: "-", mistake: "one of the least values that are kept stays when its object goes",
            named: ["columns", "content", "missed", "modified"], isObservers: true),
    ]
}

/// Each bug must be caught by an assertion that names it, and the same must be clean without it: every place of
/// the scenario, or the seed. Each runs in a process of its own, for some make the engine trap.
func runControls(_ arguments: Arguments) -> Int32 {
    var caught = 0, total = 0
    var missed: [String] = []
    for control in Control.all where arguments.bug == nil || control.bug == arguments.bug {
        total += 1
        let finding =
            control.isQueue || control.isSilence || control.isLists || control.isSections || control.isPaths
                || control.isCollections || control.isObservers
            ? findByItself(control) : control.scenario.map { find(control, in: $0) } ?? find(control, arguments)
        if finding.isCaught { caught += 1 } else { missed.append("\(control.bug)") }
        print(
            """
            \(control.row)\t\(control.bug)\t\(finding.place)\t\
            \(finding.isCaught ? "" : "NOT CAUGHT (\(control.mistake)) ")\(finding.text.prefix(160))
            """
        )
        fflush(nil)
    }
    if !missed.isEmpty { print("missed: \(missed.joined(separator: ", "))") }
    print("caught \(caught)/\(total)")
    return caught == total ? 0 : 1
}

private struct Finding {
    var isCaught = false
    var place: Substring = ""
    var text: Substring = ""
}

extension Control {
    func names(_ violation: String) -> Bool { named.contains { violation.hasPrefix($0 + ":") } }
}

private func find(_ control: Control, in scenario: DirectedScenario) -> Finding {
    let child = ChildProcess.start { send in
        InjectedBug.set(control.bug, true)
        if let behind = control.behind { InjectedBug.set(behind, true) }
        let result = scenario.explore(isWanted: control.names) { send("at \($0)\n") }
        InjectedBug.set(control.bug, false)
        guard let violation = result.violation else {
            return send("missed: \(result.other ?? "clean at all \(result.histories) places")\n")
        }
        let clean = scenario.explore()
        send(
            clean.violation.map { "missed: NOT CLEAN without the bug: \(clean.place): \($0)\n" }
                ?? "caught: \(violation)\n")
    }
    return finding(child.finish().text, prefix: "at ")
}

/// In what needs no machine: courses of a queue, histories that are told by their seeds.
private func findByItself(_ control: Control) -> Finding {
    let kind: String, seeds: Range<UInt64>, violation: (Range<UInt64>) -> String?
    func counting<Counts>(
        from none: Counts, _ find: @escaping (Range<UInt64>, inout Counts) -> String?
    ) -> (Range<UInt64>) -> String? {
        { seeds in
            var counts = none
            return find(seeds, &counts)
        }
    }
    if control.isPaths {
        (kind, seeds, violation) = ("observed paths", 1..<20, counting(from: 0, pathViolation))
    } else if control.isLists {
        (kind, seeds, violation) = ("observed lists", 1..<60, counting(from: 0, listViolation))
    } else if control.isSections {
        (kind, seeds, violation) = ("observed sections", 1..<60, counting(from: 0, sectionViolation))
    } else if control.isCollections {
        (kind, seeds) = ("observed collections", 1..<20)
        violation = counting(from: CollectionCounts(), collectionViolation)
    } else if control.isObservers {
        (kind, seeds, violation) = ("observers", 1..<12, observersViolation)
    } else if control.isQueue {
        (kind, seeds, violation) = ("courses of a queue", 1..<2, { _ in queueViolation(depth: 5) })
    } else {
        (kind, seeds, violation) = ("silent transactions", 1..<60, silenceViolation)
    }
    let child = ChildProcess.start { send in
        send("in \(kind)\n")
        for seed in seeds {
            InjectedBug.set(control.bug, true)
            let found = violation(seed..<seed + 1)
            InjectedBug.set(control.bug, false)
            guard let found else { continue }
            guard control.names(found) else { return send("missed: \(found)\n") }
            // The same seeds.
            let clean = violation(seeds.lowerBound..<seed + 1)
            return send(clean.map { "missed: NOT CLEAN without the bug: \($0)\n" } ?? "caught: \(found)\n")
        }
        send("missed: clean\n")
    }
    return finding(child.finish().text, prefix: "in ")
}

/// Random histories until one is caught by name; what others find in between is a consequence.
private func find(_ control: Control, _ arguments: Arguments) -> Finding {
    var seed = control.seed ?? arguments.seed
    let start = now(), end = seed &+ UInt64(clamping: arguments.histories)
    func goesOn(_ seed: UInt64) -> Bool { seed < end && now() - start < arguments.seconds }
    while goesOn(seed) {
        let first = seed
        let child = ChildProcess.start { send in
            InjectedBug.set(control.bug, true)
            var seed = first
            var other: String?
            while goesOn(seed) {
                send("seed \(seed)\n")
                let kernel = control.kernel ?? (seed % 2 == 0 ? .errseq : .once)
                if let violation = control.isWhole
                    ? wholeViolation(seed)
                    : randomHistory(
                        seed, kernel: kernel, isReplaced: control.isReplaced, isKept: control.isKept
                    ).violation
                {
                    if control.names(violation) {
                        InjectedBug.set(control.bug, false)
                        let clean =
                            control.isWhole
                            ? wholeViolation(seed)
                            : randomHistory(
                                seed, kernel: kernel, isReplaced: control.isReplaced, isKept: control.isKept
                            ).violation
                        return send(
                            clean.map { "missed: NOT CLEAN without the bug: \($0)\n" } ?? "caught: \(violation)\n")
                    }
                    other = other ?? violation
                }
                seed += 1
            }
            send("missed: \(other ?? "clean")\n")
        }
        let (text, signal) = child.finish()
        let result = finding(text, prefix: "seed ")
        // A trap is a consequence too: continue behind it.
        if signal == 0 { return result }
        seed = (UInt64(result.place.dropFirst(5)) ?? seed) + 1
    }
    return Finding(place: "seed \(seed)", text: "the engine stops with a signal")
}

private func finding(_ text: String, prefix: String) -> Finding {
    let lines = text.split(separator: "\n")
    var result = Finding(place: lines.last { $0.hasPrefix(prefix) } ?? "nowhere")
    guard let last = lines.last else { return result }
    result.isCaught = last.hasPrefix("caught: ")
    result.text = last.hasPrefix(prefix) ? "it stops with a signal" : last.dropFirst(8)
    return result
}

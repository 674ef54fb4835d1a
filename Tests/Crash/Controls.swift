import Glibc
import ObjStoreCore
import ObjStoreSimulation

/// An injected bug and where it is known to be caught.
struct Control {
    let bug: InjectedBug
    /// The break of the design that it stands for (`docs/state-machine.md`).
    let row: String
    /// What is wrong, in a few words.
    let mistake: String
    /// A seed whose history catches it; found by chance, kept because chance is slow.
    var seed: UInt64?
    var kernel: SimulatedKernel?

    /// Chance needs minutes for these, or has not found them yet: `--quick` leaves them out.
    static let rare: Set<InjectedBug> = [
        .noRefTags, .birthTagOnly, .recoverySameSlot, .leaderDeathTrusted, .checkpointDeathTrusted, .pinScanOrder, .ringChainUnchecked,
        .noPageReserve, .logReleasedEarly, .noChain, .noEpoch, .intentLate, .stranded,
    ]

    static let all: [Control] = [
        Control(bug: .reuseUnpublished, row: "1", mistake: "pages reusable when died <= HEAD"),
        Control(bug: .intentReaped, row: "2", mistake: "the intent of a dead checkpointer is no pin"),
        Control(bug: .checkpointNoPoison, row: "2", mistake: "failed meta sync: intent dropped, work goes on"),
        Control(bug: .lockStolen, row: "3", mistake: "writer lock taken from a living owner"),
        Control(bug: .twoSharedStates, row: "4", mistake: "second shared state beside the first"),
        Control(bug: .staleSharedState, row: "4", mistake: "shared state of before the reboot trusted"),
        Control(bug: .barrierIgnored, row: "5", mistake: "later commits acknowledged behind a summary"),
        Control(bug: .barrierReplayed, row: "5", mistake: "recovery steps over a summary"),
        Control(bug: .noPoison, row: "6", mistake: "a failed sync is retried by another", kernel: .once),
        Control(bug: .slotMove, row: "7", mistake: "a pin moves between slots"),
        Control(bug: .noLimbo, row: "8", mistake: "the free map lists pages that readers use"),
        Control(bug: .publishPlain, row: "9", mistake: "PUBLISHED stored, not advanced"),
        Control(bug: .stranded, row: "9", mistake: "a dead leader strands followers"),
        Control(bug: .cleanKept, row: "11, C12", mistake: "CLEAN not cleared before the first commit"),
        Control(bug: .folderNotSynced, row: "11", mistake: "the folder is not synced before the first acknowledgement"),
        Control(bug: .forkRelease, row: "13", mistake: "a forked child releases pins of its parent"),
        Control(bug: .groupNoFlag, row: "15", mistake: "records of a group carry no flag"),
        Control(bug: .noRefTags, row: "16", mistake: "refs carry no tag: a stale page is believed"),
        Control(bug: .birthTagOnly, row: "C15", mistake: "tags of the birth, not of the content", kernel: .once),
        Control(bug: .adoptBeyondHead, row: "C1", mistake: "complete records beyond HEAD adopted"),
        Control(bug: .checkpointPublishedOnly, row: "C2", mistake: "checkpoint only of a published root"),
        Control(bug: .freeMapUnlogged, row: "C3", mistake: "free map's extent allocated without a record"),
        Control(bug: .intentLate, row: "C4", mistake: "intent announced after the lock is released"),
        Control(bug: .groupHead, row: "C5", mistake: "HEAD moves inside a group"),
        Control(bug: .barrierInGroup, row: "C6", mistake: "barrier counted from the big member"),
        Control(bug: .barrierWord, row: "C6", mistake: "barrier in one word that the checkpointer clears"),
        Control(bug: .relaxedPastBarrier, row: "C6", mistake: "relaxed commit published behind a summary"),
        Control(bug: .recoveryTrustsMeta, row: "C7", mistake: "recovery does not rewrite its meta"),
        Control(bug: .recoverySameSlot, row: "C7", mistake: "recovery overwrites its own meta"),
        Control(bug: .recoveryReuses, row: "C7", mistake: "recovery writes into its meta's tree"),
        Control(bug: .leaderDeathTrusted, row: "C8", mistake: "result of a dead leader's sync assumed good", kernel: .once),
        Control(bug: .checkpointDeathTrusted, row: "C8", mistake: "result of a dead checkpointer's sync assumed good", kernel: .once),
        Control(bug: .pinScanOrder, row: "C9", mistake: "metas scanned before intent"),
        Control(bug: .ringOverrun, row: "C10", mistake: "ring of roots has no back-pressure"),
        Control(bug: .logOverrun, row: "C10", mistake: "log has no back-pressure"),
        Control(bug: .durableFirst, row: "C11", mistake: "DURABLE before PUBLISHED"),
        Control(bug: .ringChainUnchecked, row: "C16", mistake: "a stale record after a lost log write is believed", kernel: .once),
        Control(bug: .noPageReserve, row: "C17", mistake: "no pages kept for the checkpoint's free map"),
        Control(bug: .sameSlot, row: "-", mistake: "checkpoint overwrites the durable meta"),
        Control(bug: .metaBeforeSync, row: "-", mistake: "meta written before db is synced"),
        Control(bug: .releasedBeforeSync, row: "-", mistake: "space released before the meta is synced"),
        Control(bug: .logReleasedEarly, row: "-", mistake: "log released before the meta is written"),
        Control(bug: .noChain, row: "-", mistake: "records not chained"),
        Control(bug: .noEpoch, row: "-", mistake: "recovery starts no new epoch"),
        Control(bug: .headBeforeLog, row: "-", mistake: "HEAD set before the record is written"),
        Control(bug: .headAfterSync, row: "-", mistake: "leader reads HEAD after its sync"),
        Control(bug: .pinsIgnored, row: "-", mistake: "pages of pinned versions reused"),
        Control(bug: .pinNoRecheck, row: "-", mistake: "a reader does not look at PUBLISHED again"),
    ]
}

/// Each bug must be caught, and the same history must be clean without it. Every bug runs in a process of its
/// own: some make the engine trap, which counts.
func runControls(_ arguments: Arguments) -> Int32 {
    var caught = 0, total = 0
    var missed: [String] = []
    for control in Control.all where arguments.bug == nil || control.bug == arguments.bug {
        if arguments.isQuick && Control.rare.contains(control.bug) { continue }
        total += 1
        let child = ChildProcess.start { send in
            InjectedBug.set(control.bug, true)
            let start = now()
            var seed = control.seed ?? arguments.seed
            while now() - start < arguments.seconds {
                send("seed \(seed)\n")
                let kernel = control.kernel ?? (seed % 2 == 0 ? .errseq : .once)
                if let violation = randomHistory(seed, kernel: kernel).violation {
                    InjectedBug.set(control.bug, false)
                    let clean = randomHistory(seed, kernel: kernel).violation
                    send(clean == nil ? "caught: \(violation)\n" : "NOT CLEAN without the bug, seed \(seed): \(clean!)\n")
                    return
                }
                seed += 1
            }
        }
        let (text, signal) = child.finish()
        let lines = text.split(separator: "\n")
        let seed = lines.last { $0.hasPrefix("seed ") } ?? "no seed"
        if let line = lines.last, line.hasPrefix("caught: ") {
            caught += 1
            print("\(control.row)\t\(control.bug)\t\(seed)\t\(line.dropFirst(8).prefix(140))")
        } else if signal != 0 {
            // A trap of the engine is a finding of its own assertions; without the bug the history must be clean.
            let value = UInt64(seed.dropFirst(5)) ?? 0
            let kernel = control.kernel ?? (value % 2 == 0 ? .errseq : .once)
            let isClean = randomHistory(value, kernel: kernel).violation == nil
            if isClean { caught += 1 } else { missed.append("\(control.bug)") }
            print("\(control.row)\t\(control.bug)\t\(seed)\t\(isClean ? "" : "NOT CLEAN ")the engine stops with signal \(signal)")
        } else {
            missed.append("\(control.bug)")
            print("\(control.row)\t\(control.bug)\tNOT CAUGHT: \(lines.last ?? "") (\(control.mistake))")
        }
        fflush(nil)
    }
    if !missed.isEmpty { print("missed: \(missed.joined(separator: ", "))") }
    print("caught \(caught)/\(total)")
    return caught == total ? 0 : 1
}

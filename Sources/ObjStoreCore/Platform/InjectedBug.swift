internal import CSystem

/// Mistakes that tests switch on to prove that the checks would find them; never set in production.
///
/// Named after what goes wrong; numbers C… and rows are those of `docs/state-machine.md`, which says which
/// assertion catches each. A switch costs a load and a predicted branch; none stands on a reader's path.
package enum InjectedBug: Int32, CaseIterable, Sendable {
    case reuseUnpublished  // row 1: pages reusable when died <= HEAD
    case intentReaped  // row 2: the intent of a dead checkpointer is no pin
    case checkpointNoPoison  // row 2: a failed meta sync drops the intent and goes on
    case lockStolen  // row 3: the writer lock is taken from a living owner
    case staleSharedState  // row 4: the shared state of before the reboot is trusted
    case barrierIgnored  // row 5: commits behind a summary are acknowledged
    case barrierReplayed  // row 5: recovery steps over a summary
    case noPoison  // row 6: a failed sync is retried by another
    case slotMove  // row 7: a pin moves between slots
    case noLimbo  // row 8: the free map lists pages that readers use
    case publishPlain  // row 9: PUBLISHED is stored, not advanced
    case cleanKept  // row 11, C12: CLEAN is not cleared before the first commit
    case forkRelease  // row 13: a forked child releases the parent's pins
    case groupNoFlag  // row 15: records of a group carry no flag
    case noRefTags  // row 16: refs carry no tag
    case birthTagOnly  // C15: tags of the birth, not of the content
    case adoptBeyondHead  // C1
    case checkpointPublishedOnly  // C2
    case freeMapUnlogged  // C3
    case intentLate  // C4
    case groupHead  // C5
    case barrierInGroup  // C6
    case barrierWord  // C6
    case relaxedPastBarrier  // C6
    case recoveryTrustsMeta  // C7
    case recoverySameSlot
    case recoveryReuses
    case leaderDeathTrusted  // C8
    case checkpointDeathTrusted  // C8
    case pinScanOrder  // C9
    case ringOverrun  // C10
    case logOverrun  // C10
    case durableFirst  // C11
    case ringChainUnchecked  // C16
    case noPageReserve  // C17
    case sameSlot
    case metaBeforeSync
    case releasedBeforeSync
    case logReleasedEarly
    case noChain
    case noEpoch
    case headBeforeLog
    case headAfterSync
    case pinNoRecheck
    case folderNotSynced  // row 11
    case stranded  // row 9: a dead leader strands followers
    case twoSharedStates  // row 4: a second shared state beside the first
    case hashUnchecked  // for fuzzing: damage gets past hashes and tags, as in a file that somebody made on purpose
    case pinsIgnored  // section 3: pages are reused although readers have pinned them
    case rewriteFromVisibleMeta  // C8: the log is written again only behind a meta that may never become durable
    case rewriteUnchecked  // C8: parts of leaves are written again as they are found
    case prepareAnyMeta  // C12: the first write builds on whatever meta is there
    case reapUnowned  // a dead reader's slot is cleared by who does not own it
    case reserveOnePage  // C17: the reserve for the free map does not follow its size
    case bornBeforeDied  // a free map with pages that were born and died in one version is refused
    case cleanTrusted  // 4.7: a clean meta is shown that may stand in the page cache only
    case closeAdmitsWriters  // a writer that waited for the lock goes on while the store closes
    case updateUnlogged  // row 14: some updates are not in the log
    case cutInUse  // the file is cut where a reader, or a meta, still needs pages
    case cutEarly  // the file is cut before a meta that says so is durable
    case spillUnlogged  // pages that were written ahead of the commit are not in its record
    case spillReused  // they are written again although a savepoint may come back to them
    case growthKept  // pages that the file got for a commit that failed are used after another process has cut them off
    case closeUnsynced  // 4.9: a process closes beside others before its relaxed commits are durable
    case inverseKept  // a link that gets another target is still found from the old one
    case cascadeShallow  // what goes with an object goes, but not what goes with that
    case rollbackLogged  // changes that a rollback to a savepoint undoes stay in the log
    case mixedLinkKept  // a link that leaves a mixed value, or element, is still in the inverse
    case orphansEmbedded  // a class becomes embedded although some of its objects have no parent
    case recoveryUnsynced  // 4.7.5: recovery's meta is written before the pages that it stands for are durable
    case intentCleared  // C13: a write of a checkpoint that failed counts as one that left nothing
    case oldErrorsKept  // C14: recovery does not ask for errors of writes before it, and writes on
    case endsUnconfirmed  // 4.11: a transaction without changes ends before others can see what it read
    case poisonOvertakes  // 4.4: a relaxed commit is acknowledged though poison came before it was published
    case liveGivenUpFirst  // 4.9: who closes takes locks when it is not seen to live any more
    case replacedUnseen  // 4.12: a writer does not ask whether its file still has its name
    case movedUnseen  // 4.12: a writer asks whether its file has a name, and not whether it is the one it was opened by
    case lockFileKept  // 4.7: who finds nobody alive takes the lock file of that name, though others may use it
    case foreignLogKept  // 4.7: a clean store that was put in another one's place is opened beside the log of that one
    case namesUnasked  // 4.7: who names a log or lock file does not check again that the path is its store's
    case fullStays  // 4.6: on a full disk no meta moves on, so that pages of what was deleted stay in use
    case inverseWaits  // what a transaction has just changed in an inverse is not seen by its deletions

    /// Whether the mistake is to be made now.
    @inline(__always)
    package static func active(_ bug: InjectedBug) -> Bool { cs_bug(bug.rawValue) }

    package static func set(_ bug: InjectedBug, _ on: Bool) { cs_set_bug(bug.rawValue, on) }
}

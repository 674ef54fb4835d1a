internal import CSystem

/// Mistakes that tests switch on to prove that the checks would find them; never set in production.
///
/// Named after what goes wrong; numbers C… and rows are those of `docs/state-machine.md`, which says which
/// assertion catches each. A switch costs a load and a predicted branch; none is on a reader's path but those of
/// queries, which are met once for a query or a leaf. Numbers and no enumeration, so that the library that is shipped
/// has none of the names: `InjectedBug+Names.swift` of the simulation has them.
package struct InjectedBug: Equatable, Sendable {
    package let number: Int32

    @inline(__always) private init(_ number: Int32) { self.number = number }

    /// Numbers go up to here.
    package static let count: Int32 = 145

    /// Row 1: pages reusable when died <= HEAD.
    @inline(__always) package static var reuseUnpublished: InjectedBug { InjectedBug(0) }
    /// Row 2: the intent of a dead checkpointer is no pin.
    @inline(__always) package static var intentReaped: InjectedBug { InjectedBug(1) }
    /// Row 2: a failed meta sync drops the intent and continues.
    @inline(__always) package static var checkpointNoPoison: InjectedBug { InjectedBug(2) }
    /// Row 3: the writer lock is taken from a living owner.
    @inline(__always) package static var lockStolen: InjectedBug { InjectedBug(3) }
    /// Row 4: the shared state of before the reboot is trusted.
    @inline(__always) package static var staleSharedState: InjectedBug { InjectedBug(4) }
    /// Row 5: commits behind a summary are acknowledged.
    @inline(__always) package static var barrierIgnored: InjectedBug { InjectedBug(5) }
    /// Row 5: recovery steps over a summary.
    @inline(__always) package static var barrierReplayed: InjectedBug { InjectedBug(6) }
    /// Row 6: a failed sync is retried by another.
    @inline(__always) package static var noPoison: InjectedBug { InjectedBug(7) }
    /// Row 7: a pin moves between slots.
    @inline(__always) package static var slotMove: InjectedBug { InjectedBug(8) }
    /// Row 8: the free map lists pages that readers use.
    @inline(__always) package static var noLimbo: InjectedBug { InjectedBug(9) }
    /// Row 9: PUBLISHED is stored, not advanced.
    @inline(__always) package static var publishPlain: InjectedBug { InjectedBug(10) }
    /// Row 11, C12: CLEAN is not cleared before the first commit.
    @inline(__always) package static var cleanKept: InjectedBug { InjectedBug(11) }
    /// Row 13: a forked child releases the parent's pins.
    @inline(__always) package static var forkRelease: InjectedBug { InjectedBug(12) }
    /// Row 15: records of a group carry no flag.
    @inline(__always) package static var groupNoFlag: InjectedBug { InjectedBug(13) }
    /// Row 16: refs carry no tag.
    @inline(__always) package static var noRefTags: InjectedBug { InjectedBug(14) }
    /// C15: tags of the birth, not of the content.
    @inline(__always) package static var birthTagOnly: InjectedBug { InjectedBug(15) }
    /// C1.
    @inline(__always) package static var adoptBeyondHead: InjectedBug { InjectedBug(16) }
    /// C2.
    @inline(__always) package static var checkpointPublishedOnly: InjectedBug { InjectedBug(17) }
    /// C3.
    @inline(__always) package static var freeMapUnlogged: InjectedBug { InjectedBug(18) }
    /// C4.
    @inline(__always) package static var intentLate: InjectedBug { InjectedBug(19) }
    /// C5.
    @inline(__always) package static var groupHead: InjectedBug { InjectedBug(20) }
    /// C6.
    @inline(__always) package static var barrierInGroup: InjectedBug { InjectedBug(21) }
    /// C6.
    @inline(__always) package static var barrierInWord: InjectedBug { InjectedBug(22) }
    /// C6.
    @inline(__always) package static var relaxedPastBarrier: InjectedBug { InjectedBug(23) }
    /// C7.
    @inline(__always) package static var recoveryTrustsMeta: InjectedBug { InjectedBug(24) }
    @inline(__always) package static var recoverySameSlot: InjectedBug { InjectedBug(25) }
    @inline(__always) package static var recoveryReuses: InjectedBug { InjectedBug(26) }
    /// C8.
    @inline(__always) package static var leaderDeathTrusted: InjectedBug { InjectedBug(27) }
    /// C8.
    @inline(__always) package static var checkpointDeathTrusted: InjectedBug { InjectedBug(28) }
    /// C9.
    @inline(__always) package static var pinScanOrder: InjectedBug { InjectedBug(29) }
    /// C10.
    @inline(__always) package static var ringOverrun: InjectedBug { InjectedBug(30) }
    /// C10.
    @inline(__always) package static var logOverrun: InjectedBug { InjectedBug(31) }
    /// C11.
    @inline(__always) package static var durableFirst: InjectedBug { InjectedBug(32) }
    /// C16.
    @inline(__always) package static var ringChainUnchecked: InjectedBug { InjectedBug(33) }
    /// C17.
    @inline(__always) package static var noPageReserve: InjectedBug { InjectedBug(34) }
    @inline(__always) package static var sameSlot: InjectedBug { InjectedBug(35) }
    @inline(__always) package static var metaBeforeSync: InjectedBug { InjectedBug(36) }
    @inline(__always) package static var releasedBeforeSync: InjectedBug { InjectedBug(37) }
    @inline(__always) package static var logReleasedEarly: InjectedBug { InjectedBug(38) }
    @inline(__always) package static var noChain: InjectedBug { InjectedBug(39) }
    @inline(__always) package static var noEpoch: InjectedBug { InjectedBug(40) }
    @inline(__always) package static var headBeforeLog: InjectedBug { InjectedBug(41) }
    @inline(__always) package static var headAfterSync: InjectedBug { InjectedBug(42) }
    @inline(__always) package static var pinNoRecheck: InjectedBug { InjectedBug(43) }
    /// Row 11.
    @inline(__always) package static var folderNotSynced: InjectedBug { InjectedBug(44) }
    /// Row 9: a dead leader strands followers.
    @inline(__always) package static var stranded: InjectedBug { InjectedBug(45) }
    /// Row 4: a second shared state beside the first.
    @inline(__always) package static var twoSharedStates: InjectedBug { InjectedBug(46) }
    /// For fuzzing: damage gets past hashes and tags, as in a file forged on purpose.
    @inline(__always) package static var hashUnchecked: InjectedBug { InjectedBug(47) }
    /// Section 3: pages are reused although readers have pinned them.
    @inline(__always) package static var pinsIgnored: InjectedBug { InjectedBug(48) }
    /// C8: the log is written again only behind a meta that may never become durable.
    @inline(__always) package static var rewriteFromVisibleMeta: InjectedBug { InjectedBug(49) }
    /// C8: parts of leaves are written again as they are found.
    @inline(__always) package static var rewriteUnchecked: InjectedBug { InjectedBug(50) }
    /// C12: the first write builds on whatever meta is there.
    @inline(__always) package static var prepareAnyMeta: InjectedBug { InjectedBug(51) }
    /// A dead reader's slot is cleared by a process that does not own it.
    @inline(__always) package static var reapUnowned: InjectedBug { InjectedBug(52) }
    /// C17: the reserve for the free map does not follow its size.
    @inline(__always) package static var reserveOnePage: InjectedBug { InjectedBug(53) }
    /// A free map with pages that were born and died in one version is refused.
    @inline(__always) package static var bornBeforeDied: InjectedBug { InjectedBug(54) }
    /// 4.7: a clean meta is shown that may be in the page cache only.
    @inline(__always) package static var cleanTrusted: InjectedBug { InjectedBug(55) }
    /// A writer that waited for the lock continues while the store closes.
    @inline(__always) package static var closeAdmitsWriters: InjectedBug { InjectedBug(56) }
    /// Row 14: some updates are not in the log.
    @inline(__always) package static var updateUnlogged: InjectedBug { InjectedBug(57) }
    /// The file is cut where a reader, or a meta, still needs pages.
    @inline(__always) package static var cutInUse: InjectedBug { InjectedBug(58) }
    /// The file is cut before a meta that says so is durable.
    @inline(__always) package static var cutEarly: InjectedBug { InjectedBug(59) }
    /// Pages that were written ahead of the commit are not in its record.
    @inline(__always) package static var spillUnlogged: InjectedBug { InjectedBug(60) }
    /// They are written again although a savepoint may come back to them.
    @inline(__always) package static var spillReused: InjectedBug { InjectedBug(61) }
    /// Pages that the file got for a commit that failed are used after another process has cut them off.
    @inline(__always) package static var growthKept: InjectedBug { InjectedBug(62) }
    /// 4.9: a process closes beside others before its relaxed commits are durable.
    @inline(__always) package static var closeUnsynced: InjectedBug { InjectedBug(63) }
    /// A link that gets another target is still found from the old one.
    @inline(__always) package static var inverseKept: InjectedBug { InjectedBug(64) }
    /// What goes with an object goes, but not what goes with that.
    @inline(__always) package static var cascadeShallow: InjectedBug { InjectedBug(65) }
    /// Changes that a rollback to a savepoint undoes stay in the log.
    @inline(__always) package static var rollbackLogged: InjectedBug { InjectedBug(66) }
    /// A link that leaves a mixed value, or element, is still in the inverse.
    @inline(__always) package static var mixedLinkKept: InjectedBug { InjectedBug(67) }
    /// A class becomes embedded although some of its objects have no parent.
    @inline(__always) package static var orphansEmbedded: InjectedBug { InjectedBug(68) }
    /// 4.7.5: recovery's meta is written before the pages that it covers are durable.
    @inline(__always) package static var recoveryUnsynced: InjectedBug { InjectedBug(69) }
    /// C13: a write of a checkpoint that failed counts as one that left nothing.
    @inline(__always) package static var intentCleared: InjectedBug { InjectedBug(70) }
    /// C14: recovery does not check for errors of earlier writes, and continues writing.
    @inline(__always) package static var oldErrorsKept: InjectedBug { InjectedBug(71) }
    /// 4.11: a transaction without changes ends before others can see what it read.
    @inline(__always) package static var endsUnconfirmed: InjectedBug { InjectedBug(72) }
    /// 4.4: a relaxed commit is acknowledged though poison came before it was published.
    @inline(__always) package static var poisonOvertakes: InjectedBug { InjectedBug(73) }
    /// 4.9: a closing process takes locks after it has released LIVE.
    @inline(__always) package static var liveGivenUpFirst: InjectedBug { InjectedBug(74) }
    /// 4.12: a writer does not check whether its file still has its name.
    @inline(__always) package static var replacedUnseen: InjectedBug { InjectedBug(75) }
    /// 4.12: a writer checks that its file has a name, but not that it is the one it was opened by.
    @inline(__always) package static var movedUnseen: InjectedBug { InjectedBug(76) }
    /// 4.7: an opener that finds no process alive takes the lock file of that name, though others may use it.
    @inline(__always) package static var lockFileKept: InjectedBug { InjectedBug(77) }
    /// 4.7: a clean store that was put in another one's place is opened beside the log of that one.
    @inline(__always) package static var foreignLogKept: InjectedBug { InjectedBug(78) }
    /// 4.7: a process that names a log or lock file does not check again that the path is its store's.
    @inline(__always) package static var namesUnasked: InjectedBug { InjectedBug(79) }
    /// 4.6: on a full disk no meta moves on, so that pages of what was deleted stay in use.
    @inline(__always) package static var fullStays: InjectedBug { InjectedBug(80) }
    /// What a transaction has just changed in an inverse is not seen by its deletions.
    @inline(__always) package static var inverseWaits: InjectedBug { InjectedBug(81) }
    /// A completion of an asynchronous write is called twice.
    @inline(__always) package static var asyncTwice: InjectedBug { InjectedBug(82) }
    /// A body that was cancelled runs.
    @inline(__always) package static var asyncCancelLost: InjectedBug { InjectedBug(83) }
    /// The last of the waiting bodies runs first.
    @inline(__always) package static var asyncOvertakes: InjectedBug { InjectedBug(84) }
    /// Closing does not wait for asynchronous writes.
    @inline(__always) package static var asyncCloseHurries: InjectedBug { InjectedBug(85) }
    /// An asynchronous write is told as done before its commit has ended.
    @inline(__always) package static var asyncEarly: InjectedBug { InjectedBug(86) }
    /// A request is not told again that its turn has come, after it has passed.
    @inline(__always) package static var asyncReadyOnce: InjectedBug { InjectedBug(87) }
    /// Whose transaction is claimed while a group is open joins it, also where it has to be alone.
    @inline(__always) package static var asyncNotAlone: InjectedBug { InjectedBug(88) }
    /// Observers are told of a transaction that they are not to be told of.
    @inline(__always) package static var silenceTold: InjectedBug { InjectedBug(89) }
    /// Positions do not follow a transaction that an observer is not told of.
    @inline(__always) package static var silenceUnplaced: InjectedBug { InjectedBug(90) }

    // Of queries; found by `Tests/QueryOracle/ask controls`.

    /// A bound is the other one: `<=` finds what is at least as great.
    @inline(__always) package static var queryBoundTurned: InjectedBug { InjectedBug(91) }
    /// A bound of an index is excluded that is not.
    @inline(__always) package static var queryBoundOpen: InjectedBug { InjectedBug(92) }
    /// What a null's cell has is compared as if it were a value.
    @inline(__always) package static var queryNullForgotten: InjectedBug { InjectedBug(93) }
    /// What is null is not unequal to anything.
    @inline(__always) package static var queryNullEqual: InjectedBug { InjectedBug(94) }
    /// A pattern is not folded, the texts are.
    @inline(__always) package static var queryFoldHalf: InjectedBug { InjectedBug(95) }
    /// The code that a constant has in one dictionary is looked for in the next one.
    @inline(__always) package static var queryStaleDictionary: InjectedBug { InjectedBug(96) }
    /// A value that changes gets no new entry in its index.
    @inline(__always) package static var queryEntryMissing: InjectedBug { InjectedBug(97) }
    /// What an index finds is not asked what else the condition says.
    @inline(__always) package static var queryRestUnasked: InjectedBug { InjectedBug(98) }
    /// The bounds of a leaf exclude what is just at its upper one.
    @inline(__always) package static var queryZoneNarrow: InjectedBug { InjectedBug(99) }
    /// What links may lead to lacks its last object.
    @inline(__always) package static var queryTargetMissing: InjectedBug { InjectedBug(100) }
    /// ALL is not the opposite of ANY of the opposite.
    @inline(__always) package static var queryAllUnturned: InjectedBug { InjectedBug(101) }
    /// NONE is ANY.
    @inline(__always) package static var queryNoneIsAny: InjectedBug { InjectedBug(102) }
    /// A limit counts before its sort.
    @inline(__always) package static var queryCutUnsorted: InjectedBug { InjectedBug(103) }
    /// Of a sort with a limit one too few stay to be sorted.
    @inline(__always) package static var queryBestTooFew: InjectedBug { InjectedBug(104) }
    /// A descending key behind the first one ascends.
    @inline(__always) package static var queryDescentLost: InjectedBug { InjectedBug(105) }
    /// Counting does not know what an offset leaves out.
    @inline(__always) package static var queryOffsetUncounted: InjectedBug { InjectedBug(106) }
    /// The first object is the first before the sort.
    @inline(__always) package static var queryOldestIsFirst: InjectedBug { InjectedBug(107) }
    /// Of objects with equal values the last one stays.
    @inline(__always) package static var queryDistinctLate: InjectedBug { InjectedBug(108) }
    /// A condition behind a limit is asked before it.
    @inline(__always) package static var queryJoinedBefore: InjectedBug { InjectedBug(109) }
    /// What a null's cell has is added up.
    @inline(__always) package static var querySumOfNulls: InjectedBug { InjectedBug(110) }
    /// The text of a query has no parentheses.
    @inline(__always) package static var queryPrintedBare: InjectedBug { InjectedBug(111) }
    /// What a query finds in a list is in the order of creation, each once.
    @inline(__always) package static var queryListSorted: InjectedBug { InjectedBug(112) }
    /// What lies in a part of an index satisfies the whole condition.
    @inline(__always) package static var queryPartWhole: InjectedBug { InjectedBug(113) }
    /// The first objects in the order of an index satisfy the condition.
    @inline(__always) package static var queryWalkUnasked: InjectedBug { InjectedBug(114) }
    /// An observed answer is not found anew where objects changed that it only leads to.
    @inline(__always) package static var listStale: InjectedBug { InjectedBug(115) }
    /// What was moved is told as modified where it was.
    @inline(__always) package static var listUnmoved: InjectedBug { InjectedBug(116) }
    /// Objects whose links lead to what was changed are not asked again.
    @inline(__always) package static var linkUntouched: InjectedBug { InjectedBug(117) }
    /// What lies behind links is not told of, as key paths say.
    @inline(__always) package static var pathUnfollowed: InjectedBug { InjectedBug(118) }
    /// Who waits for a value that an object had before is not looked up.
    @inline(__always) package static var interestForgotten: InjectedBug { InjectedBug(119) }
    /// An element that was replaced is told of at the place that it had before.
    @inline(__always) package static var elementMisplaced: InjectedBug { InjectedBug(120) }
    /// Of the new keys of a map one is left out.
    @inline(__always) package static var elementKeyLost: InjectedBug { InjectedBug(121) }
    /// A reader is told of what he did to a list, set or map himself.
    @inline(__always) package static var elementUnsilenced: InjectedBug { InjectedBug(122) }

    /// An observer that has stayed behind gets the last step of those who ask the same.
    @inline(__always) package static var sharedStep: InjectedBug { InjectedBug(123) }

    /// A kept version's slot goes before it is certain that its record does.
    @inline(__always) package static var keptReleasedEarly: InjectedBug { InjectedBug(124) }
    /// Who opens a store that nobody has open does not look at what is kept.
    @inline(__always) package static var keptForgotten: InjectedBug { InjectedBug(125) }

    /// What the page cache says of kept versions is believed.
    @inline(__always) package static var keptTrusted: InjectedBug { InjectedBug(126) }
    /// Objects do not change their sections when that changes which says what section they belong to.
    @inline(__always) package static var sectionStale: InjectedBug { InjectedBug(127) }
    /// What an observer was told beside a silent transaction it is told again.
    @inline(__always) package static var toldTwice: InjectedBug { InjectedBug(128) }
    /// Where the first object with a value goes, nobody comes in its place.
    @inline(__always) package static var firstsStale: InjectedBug { InjectedBug(129) }
    /// An element that begins or stops to satisfy a condition counts as it did in an observed answer.
    @inline(__always) package static var elementUnflagged: InjectedBug { InjectedBug(130) }
    /// Of elements with equal values the one that came last stands last, wherever the list has it.
    @inline(__always) package static var elementTieLost: InjectedBug { InjectedBug(131) }
    /// Of an observed answer the positions after a change are those before it.
    @inline(__always) package static var rankStale: InjectedBug { InjectedBug(132) }
    /// A row of an observed table that stays in it has the values that it had.
    @inline(__always) package static var rowUncompared: InjectedBug { InjectedBug(133) }
    /// Of a table of objects what its columns read behind links is not followed.
    @inline(__always) package static var columnUnfollowed: InjectedBug { InjectedBug(134) }
    /// Rows that a reader has written himself are told to him.
    @inline(__always) package static var rowUnsilenced: InjectedBug { InjectedBug(135) }
    /// Of a followed group the least value stays it when its object goes.
    @inline(__always) package static var groupExtremeKept: InjectedBug { InjectedBug(136) }
    /// A sum of doubles is followed although it depends on the order in which they are added up.
    @inline(__always) package static var sumUnordered: InjectedBug { InjectedBug(137) }
    /// A followed group whose first object goes stays where it stood.
    @inline(__always) package static var groupFirstKept: InjectedBug { InjectedBug(138) }
    /// A sum of doubles stays what it was when one of its values goes, or comes between others.
    @inline(__always) package static var sumStale: InjectedBug { InjectedBug(139) }
    /// A value that is kept as one of the least of a followed group stays it when its object goes.
    @inline(__always) package static var groupBestKept: InjectedBug { InjectedBug(140) }
    /// In an observed answer of plain values what comes stands where it does in its collection.
    @inline(__always) package static var valueMisplaced: InjectedBug { InjectedBug(141) }
    /// A value that leaves an observed order of plain values stays in it.
    @inline(__always) package static var valueUnsorted: InjectedBug { InjectedBug(142) }
    /// A followed group stays where the object stands that it began with, once that object is in another group.
    @inline(__always) package static var groupUnarranged: InjectedBug { InjectedBug(143) }
    /// In an observed DISTINCT of a collection an element stays when another one comes before it.
    @inline(__always) package static var firstElementKept: InjectedBug { InjectedBug(144) }

    /// Whether the mistake is to be made now.
    @inline(__always)
    package static func active(_ bug: InjectedBug) -> Bool { cs_bug(bug.number) }

    package static func set(_ bug: InjectedBug, _ on: Bool) { cs_set_bug(bug.number, on) }
}

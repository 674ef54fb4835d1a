/// One observer: what it looks at, what it knows, and its handler.
///
/// Its state is that of its hub, under the hub's lock; what belongs to a delivery (`known`, `answer`) is touched
/// only by the thread that has claimed it.
package final class Observer: @unchecked Sendable {
    /// Gets a change set; what it returns, if anything, is the failure that `deliver` reports.
    package typealias Handler = (ChangeSet) -> StoreError?

    package let scope: ObserverScope
    private var handler: Handler?
    /// As they were given.
    let keyPaths: [String]?
    let hub: ObserverHub

    /// Of its hub's observers, in the order in which they began.
    let number: UInt64

    /// How many had come into the hub's index when it had; set once, before anybody delivers to it.
    var arrival: UInt64 = .max

    // Under the hub's lock. Flags stand where something ends inside of a word: there may be very many observers.
    /// Its place among the hub's followers.
    var place: Int?
    var isClosed = false
    /// It has a version of its own, and is looked at by itself; else it knows what those know.
    var isApart = true
    /// It was so far behind that it has let go of what it knew, and begins anew.
    var isLost = false
    /// It is told nothing till it goes on.
    var isPaused = false
    /// Nanoseconds between two calls of its handler at least, and when the next one may be.
    var interval: Int64 = 0
    var notBefore: Int64 = .min
    /// Those who ask the same have it in common; nil: nobody does.
    var group: SharedAnswer?
    /// The thread that delivers to it now.
    var runner: UInt?
    var wantsInitial: Bool
    /// The version that it got last; `known` is that version while no thread delivers.
    var knownVersion: UInt64
    /// Changes that it is not told of, and that are not behind it yet; oldest first.
    var silences: [Silence] = []

    /// Where the hub's index looks for it; set once, when it comes into it.
    var range: ObservedRange?
    /// It is told of positions.
    let hasPositions: Bool
    /// Of the thread that has claimed it: what it asks about was dropped, and it has told so.
    private var isGone = false
    /// The same: it has been told that nothing more comes.
    var isOver = false

    /// Under the hub's lock: a transaction that it is not told of has not been published yet. It stays where it is.
    func isHeld(at published: UInt64) -> Bool {
        guard let last = silences.last else { return false }
        return last.after.map { $0.version > published } ?? true
    }

    // Of the thread that has claimed it.
    /// Nil where it follows with others.
    var known: Snapshot?
    /// Nil: it is the shared one.
    private var answer: ObservedAnswer?
    /// Of which version it was; nothing that was committed between that and the one that it knows concerned it.
    private var answeredAt: UInt64 = 0
    /// As of the last claim.
    private var shared: SharedAnswer?

    init(
        _ hub: ObserverHub, _ number: UInt64, _ scope: ObserverScope, known: Snapshot, _ answer: ObservedAnswer?,
        options: ObserverOptions, handler: @escaping Handler
    ) {
        self.hub = hub
        self.number = number
        self.scope = scope
        self.known = known
        self.answer = answer ?? ObservedAnswer()
        hasPositions = answer != nil
        keyPaths = options.keyPaths
        wantsInitial = options.isInitial
        isPaused = options.isPaused
        self.handler = handler
        knownVersion = known.version
        answeredAt = known.version
    }

    /// Ends it. Its handler is not called again after this returns; where another thread runs it, that call is
    /// waited for, except from inside a handler (two could wait for each other) and where `waits` is false.
    package func close(waits: Bool = true) { hub.close(self, waits: waits) }

    /// It is told nothing from now on, and of all that was committed meanwhile when it goes on. A call that runs on
    /// another thread is not waited for.
    package func pause() { hub.pause(self) }
    package func resume() { hub.resume(self) }

    /// It is not told sooner than so long after it was told before; what is committed meanwhile comes in
    /// one piece. 0: at once.
    ///
    /// Errors: `.outOfRange`: negative, or more than a day.
    package func setInterval(nanoseconds: Int64) throws(StoreError) {
        guard (0...86_400_000_000_000).contains(nanoseconds) else {
            throw StoreError(.outOfRange, "an interval of \(nanoseconds) nanoseconds: 0 to 24 hours")
        }
        hub.setInterval(nanoseconds, of: self)
    }

    package func setInterval(milliseconds: Int64) throws(StoreError) {
        guard (0...86_400_000).contains(milliseconds) else {
            throw StoreError(.outOfRange, "an interval of \(milliseconds) milliseconds: 0 to 86,400,000, a day")
        }
        hub.setInterval(milliseconds * 1_000_000, of: self)
    }

    /// How many versions it has not been told of.
    package var lag: UInt64 { hub.lag(of: self) }

    /// Knows a version from now on, and nothing of what was before; nil: it has been told that nothing more comes.
    func begin(anewAt snapshot: Snapshot) throws(StoreError) -> ChangeSet? {
        if isOver {
            // Also where what it asks about has been dropped since its owner went.
            (known, answeredAt, answer, isGone) = (snapshot, snapshot.version, ObservedAnswer(), !scope.isCollection)
            return nil
        }
        isGone = try scope.isOver(in: snapshot) && !scope.isCollection
        answer = isGone ? ObservedAnswer() : try find(in: snapshot)
        (known, answeredAt) = (snapshot, snapshot.version)
        let changes = try initial(isLost: true)
        if scope.key != nil { changes.isOfDeletedObject = try !scope.isThere(in: snapshot) }
        return changes
    }

    /// The initial change set, of the version that it knows: empty. It says, too, where nothing more will come.
    func initial(isLost: Bool = false) throws(StoreError) -> ChangeSet {
        let known = known!, initial: ChangeSet
        if scope.observesCommits {
            initial = ChangeSet(commits: known, known, isInitial: !isLost)
        } else {
            let changes = ClassChanges(maskWords: ClassChanges.maskWords(known.schema.classes[Int(scope.classID)]))
            initial = ChangeSet(
                classID: scope.classID, before: known, after: known, changes: changes,
                indices: hasPositions ? ChangeSet.Indices() : nil, isInitial: !isLost)
        }
        if case .collection(let collection) = scope.way { collection.describe(initial) }
        initial.describe(scope)
        if scope.sections != nil { initial.sections = ChangedSections() }
        initial.isLost = isLost
        initial.isOwnerDeleted = try scope.isOver(in: known)
        return initial
    }

    /// Moves on to a version; nil where nothing happened to what is observed.
    func advance(_ reader: ChangeReader) throws(StoreError) -> ChangeSet? {
        if scope.observesCommits { return tellCommits([(reader, false)]) }
        if case .collection(let collection) = scope.way { return try advance(collection, [(reader, false)]) }
        if let end = try end([(reader, false)]) { return end }
        guard let before = known else { return nil }
        let range = min(answeredAt, before.version)...before.version
        share(range)
        if let shared {
            if let step = try shared.step(scope, from: before, in: range, reader) {
                (known, answeredAt, answer) = (reader.to, reader.to.version, nil)
                return told(step, before, reader.to)
            }
            if answer == nil { answer = try find(in: before) }
        }
        let step = try answer?.advance(scope, from: before, reader) ?? nil
        (known, answeredAt) = (reader.to, reader.to.version)
        share(answeredAt...answeredAt)
        return told(step, before, reader.to)
    }

    /// The same in several parts, of which it is not told of the silent ones.
    func advance(_ parts: [(reader: ChangeReader, isSilent: Bool)]) throws(StoreError) -> ChangeSet? {
        if scope.observesCommits { return tellCommits(parts) }
        if case .collection(let collection) = scope.way { return try advance(collection, parts) }
        if let end = try end(parts) { return end }
        guard let before = known, let after = parts.last?.reader.to else { return nil }
        if answer == nil {
            let range = min(answeredAt, before.version)...before.version
            if let copy = shared?.copy(in: range) { answer = copy } else { answer = try find(in: before) }
        }
        let step = try answer?.advance(scope, from: before, parts) ?? nil
        (known, answeredAt) = (after, after.version)
        share(answeredAt...answeredAt)
        let changes = told(step, before, after)
        changes?.silentVersions = parts.compactMap { $0.isSilent ? $0.reader.to : nil }
        changes?.columns?.silent = parts.compactMap { $0.isSilent ? ($0.reader.from, $0.reader.to) : nil }
        return changes
    }

    /// The answer in a version that it is going to know.
    func answer(in snapshot: Snapshot) throws(StoreError) {
        answer = scope.observesCommits ? nil : try find(in: snapshot)
        (isGone, answeredAt) = (false, snapshot.version)
    }

    /// Nil: what it asks can be asked still.
    private func end(_ parts: [ObservedAnswer.Part]) throws(StoreError) -> ChangeSet?? {
        guard let before = known, let after = parts.last?.reader.to else { return nil }
        if !isGone {
            if try before.schemaRef() == after.schemaRef() || scope.isAskable(in: after.schema) { return nil }
            let changes = try VanishedAnswer(scope, from: before, parts).told(hasPositions: hasPositions)
            changes?.describe(scope)
            (known, isGone, answeredAt) = (after, true, after.version)
            return .some(changes)
        }
        (known, answer, answeredAt) = (after, ObservedAnswer(), after.version)
        return .some(nil)
    }

    private func find(in snapshot: Snapshot) throws(StoreError) -> ObservedAnswer {
        hasPositions ? try ObservedAnswer(scope, in: snapshot) : ObservedAnswer()
    }

    /// Has no answer of its own where others have it, too.
    ///
    /// - Parameter range: the versions that it is of.
    private func share(_ range: ClosedRange<UInt64>) {
        if let shared, let answer, !isGone, shared.takes(answer, in: range) { self.answer = nil }
    }

    private func told(_ step: ObservedAnswer.Step?, _ before: Snapshot, _ after: Snapshot) -> ChangeSet? {
        guard let step else { return nil }
        let changes = ChangeSet(
            classID: scope.classID, before: before, after: after, changes: step.changes, indices: step.indices,
            isCompared: step.isCompared)
        (changes.rows, changes.keys) = (step.rows, step.keys)
        changes.describe(scope)
        changes.silent = step.silent
        changes.listBefore = step.listBefore
        changes.sections = step.sections
        changes.isOwnerDeleted = step.isOwnerDeleted
        changes.isOfDeletedObject = scope.key.map { changes.deleted == [$0] } ?? false
        return changes
    }

    private func tellCommits(_ parts: [(reader: ChangeReader, isSilent: Bool)]) -> ChangeSet? {
        guard let before = known, let after = parts.last?.reader.to else { return nil }
        known = after
        let told = parts.filter { !$0.isSilent && $0.reader.hasCommits }
        if told.isEmpty { return nil }
        return ChangeSet(
            commits: before, after, isCompared: told.contains { $0.reader.isCompared },
            isFromOtherProcess: told.contains { $0.reader.isFromOtherProcess })
    }

    /// A list, set or map.
    private func advance(
        _ collection: CollectionScope, _ parts: [CollectionStep.Part]
    ) throws(StoreError) -> ChangeSet? {
        guard let before = known, let after = parts.last?.reader.to else { return nil }
        let told = try CollectionStep(collection, from: before, parts)?.told()
        known = after
        return told
    }

    /// By the thread that has claimed it, under the hub's lock.
    func takeGroup() { if shared !== group { shared = group } }

    func tell(_ changes: ChangeSet) -> StoreError? {
        changes.observer = self
        let failure = handler!(changes)
        isOver = !changes.isUntold && (changes.isOwnerDeleted || changes.isOfDeletedObject)
        return failure
    }

    /// Goes back to before a change set, which its handler did not take.
    func goBack(before changes: ChangeSet) {
        (known, answeredAt) = (changes.before, changes.before.version)
        if isGone {
            isGone = false
            return
        }
        // Of a shared one the step is taken again, or the answer found.
        answer?.goBack(scope, before: changes)
    }

    func observes(_ database: Database) -> Bool { hub.database === database }

    /// Closed while its handler runs: what that was going to say is not wanted any more.
    var isEnded: Bool { hub.isClosed(self) }

    /// Lets go of the version and of the handler. Once, by the thread that closed it or, if it was running, by its
    /// runner.
    func finish() {
        known = nil
        answer = nil
        shared = nil
        handler = nil
        hub.forgetSilences(of: self)
    }
}

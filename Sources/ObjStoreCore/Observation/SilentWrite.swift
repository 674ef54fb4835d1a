/// What an observer is not told of: from one version to a later one.
struct Silence {
    let before: Snapshot
    /// Nil: the commit is just becoming visible.
    var after: Snapshot?
}

/// A transaction that some observers are not told of, because what shows its changes has shown them already.
///
/// ```
///  version   3 ──────────── 7 ─── 8 ──────── 11
///            known        before after      newest
///              others' part  silent   told by itself
/// ```
/// The reader has applied it to what he knew then, which may be older than what the transaction began with. So one
/// change set leads from `known` to `after`: of the others' changes alone, with positions in a list that has the silent
/// ones already; see `SilencedChanges`.
final class SilentWrite: CommitWitness {
    private let before: Snapshot
    private(set) var observers: [Observer] = []

    /// Errors: `.tooManyReaders`: the version that the transaction began with is to be pinned.
    init(_ transaction: WriteTransaction) throws(StoreError) { before = try Snapshot(transaction) }

    func add(_ observer: Observer) { if !observers.contains(where: { $0 === observer }) { observers.append(observer) } }

    /// Whoever delivers from now on leaves these observers where they are until the version is published.
    func willBecomeVisible(_ version: UInt64) {
        if InjectedBug.active(.silenceTold) { observers = [] }
        for observer in observers { observer.hub.silence(observer, from: before) }
    }

    func isVisible(_ transaction: WriteTransaction) {
        var after: Snapshot?
        do throws(StoreError) { after = try Snapshot(transaction) } catch {
            // Without a slot to pin it, they are told: more is better than less.
        }
        for observer in observers { observer.hub.silence(observer, until: after) }
    }
}

extension ObserverHub {
    fileprivate func silence(_ observer: Observer, from before: Snapshot) {
        lock.withLock {
            if observer.isClosed { return }
            setApart(observer)
            observer.silences.append(Silence(before: before))
        }
    }

    /// - Parameter after: nil: it is told, after all.
    fileprivate func silence(_ observer: Observer, until after: Snapshot?) {
        // What they pin is let go of without the lock.
        var dropped: [Silence] = []
        lock.withLock {
            guard let last = observer.silences.popLast() else { return }
            dropped.append(last)
            guard let after else { return }
            // One after the other they are one, unless the reader knows an older version: he has applied each to that.
            if let previous = observer.silences.last, previous.after?.version == last.before.version,
                observer.knownVersion >= previous.before.version
            {
                dropped.append(previous)
                observer.silences[observer.silences.count - 1].after = after
            } else {
                observer.silences.append(Silence(before: last.before, after: after))
            }
        }
        withExtendedLifetime(dropped) {}
    }

    func forgetSilences(of observer: Observer) {
        var dropped: [Silence] = []
        lock.withLock { swap(&dropped, &observer.silences) }
    }

    /// The parts of an observer's next step on its way to `newest`; empty: it is there, or cannot go on now.
    func nextStep(of observer: Observer, to newest: Snapshot) -> [(to: Snapshot, isSilent: Bool)] {
        var passed: [Silence] = []
        defer { withExtendedLifetime(passed) {} }
        let isPoisoned = database.shared.isPoisoned
        return lock.withLock { () -> [(Snapshot, Bool)] in
            var at = observer.knownVersion
            while let first = observer.silences.first, let after = first.after, after.version <= at {
                passed.append(observer.silences.removeFirst())
            }
            guard at < newest.version else { return [] }
            if observer.silences.isEmpty { return [(newest, false)] }
            if observer.isHeld(at: newest.version) {
                // Where a sync has failed it is never published.
                return isPoisoned ? [(newest, false)] : []
            }
            var parts: [(Snapshot, Bool)] = []
            for silence in observer.silences {
                guard let after = silence.after else { break }
                if silence.before.version > at { parts.append((silence.before, false)) }
                parts.append((after, true))
                at = after.version
            }
            return parts
        }
    }
}

/// What happened to a list in several parts, of which its reader has applied the silent ones by himself, to what he
/// knew at the beginning.
///
/// An object counts as in his list where the last silent change of it has left it so; else where it was in it before.
struct SilencedChanges {
    /// To be told: the way from his list to what it is at the end.
    private(set) var told: ClassChanges
    /// What he has done to the list himself.
    private(set) var removed: [Int64] = []
    private(set) var added: [Int64] = []

    private struct Fate {
        let wasThere: Bool
        var isThere: Bool
        /// Nil: no silent change put it in or out.
        var isShown: Bool?
        /// Another change has: where it is back in the end, anything in it may be another.
        var hasMoved = false
    }
    private var fates: [Int64: Fate] = [:]
    private var masks: [Int64: [UInt64]] = [:]

    /// - Parameter maskWords: as the version at the end has it.
    init(maskWords: Int) { told = ClassChanges(maskWords: maskWords) }

    /// - Parameter hasOtherProperties: than the version at the end: which of them were written is not known.
    mutating func add(_ changes: ClassChanges, isSilent: Bool, hasOtherProperties: Bool) {
        for key in changes.deleted { note(key, isThere: false, isSilent) }
        for key in changes.inserted { note(key, isThere: true, isSilent) }
        if isSilent { return }
        told.isFromOtherProcess = told.isFromOtherProcess || changes.isFromOtherProcess
        for (index, key) in changes.modified.enumerated() {
            var mask = masks[key] ?? Array(repeating: 0, count: told.maskWords)
            for word in 0..<told.maskWords {
                mask[word] |= hasOtherProperties ? .max : changes.masks[index * changes.maskWords + word]
            }
            masks[key] = mask
        }
    }

    private mutating func note(_ key: Int64, isThere: Bool, _ isSilent: Bool) {
        var fate = fates[key] ?? Fate(wasThere: !isThere, isThere: isThere)
        fate.isThere = isThere
        if isSilent { fate.isShown = isThere } else { fate.hasMoved = true }
        fates[key] = fate
    }

    /// When all parts are added.
    mutating func finish() throws(StoreError) {
        for key in fates.keys.sorted() {
            let fate = fates[key].unsafelyUnwrapped, isShown = fate.isShown ?? fate.wasThere
            if isShown && !fate.wasThere { added.append(key) }
            if !isShown && fate.wasThere { removed.append(key) }
            if isShown && !fate.isThere { try told.append(.deleted, key) }
            if !isShown && fate.isThere { try told.append(.inserted, key) }
            if isShown && fate.isThere && fate.hasMoved {
                masks[key] = Array(repeating: .max, count: told.maskWords)
            }
        }
        for key in masks.keys.sorted() {
            if let fate = fates[key], !fate.isThere || !(fate.isShown ?? fate.wasThere) { continue }
            try told.appendModified(key, masks[key].unsafelyUnwrapped[...])
        }
    }
}

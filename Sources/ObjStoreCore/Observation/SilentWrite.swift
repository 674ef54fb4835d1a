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
///                 told     silent    told                 each with its own positions
/// ```
/// The observer moves over the transaction without a word when it gets there: its positions follow.
final class SilentWrite: CommitWitness {
    private let before: Snapshot
    private(set) var observers: [Observer] = []

    /// Errors: `.tooManyReaders`: the version that the transaction began with is to be pinned.
    init(_ transaction: WriteTransaction) throws(StoreError) { before = try Snapshot(transaction) }

    func add(_ observer: Observer) { if !observers.contains(where: { $0 === observer }) { observers.append(observer) } }

    /// Whoever delivers from now on stops in front of it.
    func willBecomeVisible(_ version: UInt64) {
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
        lock.withLock { if !observer.isClosed { observer.silences.append(Silence(before: before)) } }
    }

    /// - Parameter after: nil: it is told, after all.
    fileprivate func silence(_ observer: Observer, until after: Snapshot?) {
        // What they pin is let go of without the lock.
        var dropped: [Silence] = []
        lock.withLock {
            guard let last = observer.silences.popLast() else { return }
            dropped.append(last)
            guard let after else { return }
            if let previous = observer.silences.last, previous.after?.version == last.before.version {
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

    /// Where an observer goes next on its way to `newest`; nil: it is there, or cannot go on now.
    func nextStep(of observer: Observer, to newest: Snapshot) -> (to: Snapshot, isSilent: Bool)? {
        var passed: [Silence] = []
        return lock.withLock { () -> (Snapshot, Bool)? in
            let known = observer.knownVersion
            while let first = observer.silences.first, let after = first.after, after.version <= known {
                passed.append(observer.silences.removeFirst())
            }
            guard known < newest.version else { return nil }
            guard let first = observer.silences.first, first.before.version <= newest.version else {
                return (newest, false)
            }
            if first.before.version > known { return (first.before, false) }
            guard let after = first.after, after.version <= newest.version else { return nil }
            return (after, true)
        }
    }
}

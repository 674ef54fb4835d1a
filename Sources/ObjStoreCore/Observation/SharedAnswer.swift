/// The answer that several observers have in common who ask the same: it is kept once, and each step is computed once,
/// by whichever of them takes it first.
///
/// ```
///  version 7 ──── step, computed ────► version 8        the first one, who also keeps what is told
///            ╰─── the same step ─────► version 8        all others
///  version 5 ──── his own answer, asked anew ────►      one that has stayed behind, till he is where the others are
/// ```
/// Commits that concern nobody leave the answer as it is, and move those on who have it without asking it. So who has
/// had the answer of one version, and was not concerned up to another one, takes it from any version in between.
final class SharedAnswer: @unchecked Sendable {
    private let lock = Lock()
    // Under the lock.
    /// Nil: nobody has brought one yet.
    private var answer: ObservedAnswer?
    private var version: UInt64 = 0
    /// The last step, from one of these versions.
    private var last: (from: ClosedRange<UInt64>, to: UInt64, step: ObservedAnswer.Step?)?

    /// Nil: it is of another version, and the observer has to find an answer of his own.
    ///
    /// - Parameter range: the versions in which he knows that the answer is what he has had.
    func step(
        _ scope: ObserverScope, from before: Snapshot, in range: ClosedRange<UInt64>, _ reader: ChangeReader
    ) throws(StoreError) -> ObservedAnswer.Step?? {
        lock.lock()
        defer { lock.unlock() }
        if let last, last.from.overlaps(range) || InjectedBug.active(.sharedStep), last.to == reader.to.version {
            return .some(last.step)
        }
        guard range.contains(version), answer != nil else { return nil }
        let step = try answer.unsafelyUnwrappedInPlace { (answer) throws(StoreError) in
            try answer.advance(scope, from: before, reader)
        }
        version = reader.to.version
        var kept = step
        kept?.listBefore = nil
        last = (range, version, kept)
        return .some(step)
    }

    /// A copy for one who goes on by himself.
    func copy(in range: ClosedRange<UInt64>) -> ObservedAnswer? {
        lock.withLock { range.contains(version) ? answer : nil }
    }

    /// Whether an observer who has an answer of some versions needs none of his own any more. Of two the newer one is
    /// kept.
    func takes(_ one: ObservedAnswer, in range: ClosedRange<UInt64>) -> Bool {
        lock.withLock {
            if answer == nil || version < range.lowerBound { (answer, version) = (one, range.upperBound) }
            return range.contains(version)
        }
    }
}

extension Optional {
    /// Works on the value where it is: a copy would have two owners.
    fileprivate mutating func unsafelyUnwrappedInPlace<Result, Failure: Error>(
        _ body: (inout Wrapped) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        var value = self.take().unsafelyUnwrapped
        defer { self = value }
        return try body(&value)
    }
}

/// Snapshots of something that follows, one after the other, for one loop; see
/// ``ListSource/snapshots(keyPaths:interval:)`` and ``SectionedResults/snapshots(keyPaths:interval:)``.
public struct Snapshots<Snapshot: Sendable>: AsyncSequence, Sendable {
    public typealias Element = Snapshot
    public typealias Failure = Never
    private let source = ChangeSource<Snapshot>()

    /// - Parameters:
    ///   - observed: is observed from now on.
    ///   - make: a snapshot of what there is after a change; never called by two threads at a time.
    init<Observed: _Observed>(
        _ observed: Observed, _ keyPaths: [String]?, _ interval: Duration,
        _ make: @escaping @Sendable (Observed.Change) -> Snapshot
    ) throws {
        nonisolated(unsafe) let observed = observed
        try source.begin { place, add in
            let token = try observed._observe(keyPaths, place) { add(make($0), false) }
            try token.setInterval(interval)
            return token
        }
    }

    public func makeAsyncIterator() -> ChangeIterator<Snapshot> { ChangeIterator(source) }

    /// What has come and was not taken; nil: nothing. Waits for nothing.
    func next() -> Snapshot? { source.take() }
}

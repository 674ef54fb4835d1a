internal import ObjStoreCore

/// Where a change set says that elements went, came, moved and were changed.
public protocol PositionedChange: SendableMetatype {
    var isInitial: Bool { get }
    var isLost: Bool { get }
    var deletions: [Int] { get }
    var insertions: [Int] { get }
    var modifications: [Int] { get }
    var moves: [PositionMove] { get }
}
extension ChangeSet: PositionedChange {}
extension ProjectedChangeSet: PositionedChange {}
extension CollectionChange: PositionedChange {}
extension DynamicChange: PositionedChange {}

/// What a screen can show as a list: see ``LiveList`` and ``ListSource/snapshots(keyPaths:interval:)``.
public protocol ListSource<ListElement>: ObservableCollection
where Change: PositionedChange, ObservingFailure == ObjStoreError {
    associatedtype ListElement
    /// The elements after a change, frozen.
    static func _listed(after change: Change) -> Pinned<ListElement>
}

extension Results: ListSource {
    public static func _listed(after change: ChangeSet<Element>) -> Pinned<Element> { change.results.pinned() }
}
extension ProjectedResults: ListSource {
    public static func _listed(after change: ProjectedChangeSet<Element>) -> Pinned<Element> {
        change.results.pinned()
    }
}
extension List: ListSource {
    public static func _listed(after change: CollectionChange<List>) -> Pinned<Element> { change.collection.pinned() }
}
extension MutableSet: ListSource {
    public static func _listed(after change: CollectionChange<MutableSet>) -> Pinned<Element> {
        change.collection.pinned()
    }
}
extension Map: ListSource {
    /// In the order of the keys.
    public static func _listed(after change: CollectionChange<Map>) -> Pinned<(key: Key, value: Value)> {
        Pinned(change.collection.map { ($0.key, $0.value) })
    }
}
extension DynamicCollection: ListSource {
    /// Objects as values of any type; of a map in the order of the keys.
    public static func _listed(after change: DynamicCollectionChange) -> Pinned<AnyValue> {
        Pinned(change.collection.values)
    }
}

extension DynamicResults: ListSource {
    public static func _listed(after change: DynamicResultsChange) -> Pinned<DynamicObject> { change.results.pinned() }
}

/// An element in a list that follows, and which one it is.
@dynamicMemberLookup
public struct ListRow<Element>: Identifiable {
    /// The same as long as the element is there, also where it moves and changes, and never another's.
    public let id: Int
    /// As it is in this snapshot; objects are frozen.
    public let element: Element

    public subscript<Value>(dynamicMember member: KeyPath<Element, Value>) -> Value { element[keyPath: member] }
}

/// A list as it was in one version, and what has changed since the snapshot before: a collection of rows.
///
/// It keeps its version: let go of it. Any thread.
public struct ListSnapshot<Element>: RandomAccessCollection, @unchecked Sendable {
    // Unchecked: the elements are frozen, or values.
    private let elements: Pinned<Element>
    private let ids: [Int]
    /// The first one, or one that came too late to say what changed: everything is new.
    public let isNew: Bool
    /// Positions, ascending: of what went and what moved, in the snapshot before.
    public let deletions: [Int]
    /// Of what came and what moved, in this one.
    public let insertions: [Int]
    /// Of what was changed and stands where it was, in this one.
    public let modifications: [Int]
    /// What is among both of the first: from where to where.
    public let moves: [PositionMove]

    /// An empty one, before the first.
    init() {
        elements = Pinned([])
        ids = []
        isNew = true
        (deletions, insertions, modifications, moves) = ([], [], [], [])
    }

    fileprivate init(_ elements: Pinned<Element>, _ change: some PositionedChange, after ids: inout RowIDs) {
        self.elements = elements
        isNew = change.isInitial || change.isLost
        if isNew {
            ids.begin(elements.count)
            (deletions, insertions, modifications, moves) = ([], [], [], [])
        } else {
            deletions = change.deletions
            insertions = change.insertions
            modifications = change.modifications
            moves = change.moves
            ids.follow(deletions, insertions, moves)
        }
        self.ids = ids.all
    }

    public var startIndex: Int { 0 }
    public var endIndex: Int { ids.count }
    public subscript(index: Int) -> ListRow<Element> { ListRow(id: ids[index], element: elements[index]) }

    /// Where the row with an id is. Cost: O(n).
    public func index(ofID id: Int) -> Int? { ids.firstIndex(of: id) }
}

/// Which element is which: numbers that go with them.
private struct RowIDs {
    private(set) var all: [Int] = []
    private var last = 0

    private mutating func next() -> Int {
        last += 1
        return last
    }

    mutating func begin(_ count: Int) {
        all = []
        all.reserveCapacity(count)
        for _ in 0..<count { all.append(next()) }
    }

    /// In one pass over them.
    mutating func follow(_ deletions: [Int], _ insertions: [Int], _ moves: [PositionMove]) {
        if deletions.isEmpty && insertions.isEmpty { return }
        let moved = Dictionary(uniqueKeysWithValues: moves.map { ($0.to, all[$0.from]) })
        var after: [Int] = []
        after.reserveCapacity(all.count - deletions.count + insertions.count)
        var gone = deletions[...], come = insertions[...]
        func insert(_ ids: inout RowIDs) {
            while let position = come.first, position == after.count {
                after.append(moved[position] ?? ids.next())
                come.removeFirst()
            }
        }
        for (position, id) in all.enumerated() {
            if gone.first == position {
                gone.removeFirst()
                continue
            }
            insert(&self)
            after.append(id)
        }
        insert(&self)
        all = after
    }
}

extension ListSource {
    /// What is there, again whenever it has changed, for a list that is drawn by differences:
    ///
    /// ```swift
    /// for await rows in try results.snapshots() { draw(rows, rows.deletions, rows.insertions, rows.modifications) }
    /// ```
    /// From this call on, for one loop. A loop that is slower than the writers gets what happened meanwhile as one
    /// change; it ends as one over ``Results/changes`` does. There is no need to call `deliver()`.
    ///
    /// - Parameters:
    ///   - keyPaths: which modifications count, as of `observe`.
    ///   - interval: at least so long between two.
    /// Errors: as of `observe`.
    public func snapshots(
        keyPaths: [String]? = nil, interval: Duration = .zero
    ) throws(ObjStoreError) -> ListSnapshots<ListElement> { try ListSnapshots(self, keyPaths, interval) }
}

/// Snapshots of a list, one after the other; see ``ListSource/snapshots(keyPaths:interval:)``.
public struct ListSnapshots<Element>: AsyncSequence, Sendable {
    public typealias Failure = Never
    private let source: Source

    init<Observed: ListSource<Element>>(
        _ observed: Observed, _ keyPaths: [String]?, _ interval: Duration
    ) throws(ObjStoreError) {
        let source = Source()
        try source.begin(observed, keyPaths, interval)
        self.source = source
    }

    public func makeAsyncIterator() -> Iterator { Iterator(source: source) }

    /// What has come and was not taken; nil: nothing. Waits for nothing.
    func next() -> ListSnapshot<Element>? { source.take() }

    public struct Iterator: AsyncIteratorProtocol {
        fileprivate let source: Source

        public mutating func next() async -> ListSnapshot<Element>? { await source.next() }
        public mutating func next(isolation actor: isolated (any Actor)?) async -> ListSnapshot<Element>? {
            await source.next()
        }
    }

    fileprivate final class Source: Sendable {
        private struct State {
            var ids = RowIDs()
            var due: [ListSnapshot<Element>] = []
            var token: NotificationToken?
            var place: HandlerPlace?
        }
        private let state = Guarded(State())
        private let signal = TaskSignal()

        func begin<Observed: ListSource<Element>>(
            _ observed: Observed, _ keyPaths: [String]?, _ interval: Duration
        ) throws(ObjStoreError) {
            let signal = signal, place = HandlerPlace { _ in signal.raise() }
            // The handler is the observer's, and must not keep alive what ends that.
            let token = try observed._observe(keyPaths, place) { [weak self] change in
                guard let self else { return }
                let elements = Observed._listed(after: change)
                state.withLock { state in
                    state.due.append(ListSnapshot(elements, change, after: &state.ids))
                }
            }
            try token.setInterval(interval)
            state.withLock { ($0.token, $0.place) = (token, place) }
        }

        /// Delivers what is due.
        func take() -> ListSnapshot<Element>? {
            if let due = first() { return due }
            state.withLock { $0.place }?.deliver()
            return first()
        }

        private func first() -> ListSnapshot<Element>? {
            state.withLock { $0.due.isEmpty ? nil : $0.due.removeFirst() }
        }

        func next() async -> ListSnapshot<Element>? {
            while !Task.isCancelled {
                if let due = take() { return due }
                guard state.withLock({ $0.place })?.isOpen == true else { break }
                await signal.wait()
            }
            let token = state.withLock { state in
                defer { state = State() }
                return state.token
            }
            token?.invalidate()
            return nil
        }
    }
}

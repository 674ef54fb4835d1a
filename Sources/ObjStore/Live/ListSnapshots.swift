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
extension NestedChange: PositionedChange {}

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

/// Where something else was put in its place, there is nothing to show.
extension AnyList: ListSource {
    public static func _listed(after change: NestedChange) -> Pinned<AnyValue> {
        change.value?.list?.pinned() ?? Pinned([])
    }
}
extension AnyMap: ListSource {
    /// In the order of the keys.
    public static func _listed(after change: NestedChange) -> Pinned<(key: String, value: AnyValue)> {
        Pinned(change.value?.dictionary.map { Array($0) } ?? [])
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
        isNew = change.isInitial || change.isLost || !ids.follow(change, to: elements.count)
        if isNew {
            ids.begin(elements.count)
            (deletions, insertions, modifications, moves) = ([], [], [], [])
        } else {
            (deletions, insertions) = (change.deletions, change.insertions)
            (modifications, moves) = (change.modifications, change.moves)
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

    /// False: the change does not lead to so many. A query whose functions answer otherwise when they are asked again
    /// does so.
    mutating func follow(_ change: some PositionedChange, to count: Int) -> Bool {
        let deletions = change.deletions, insertions = change.insertions
        guard (deletions.last ?? -1) < all.count else { return false }
        if !deletions.isEmpty || !insertions.isEmpty {
            let moved = Dictionary(uniqueKeysWithValues: change.moves.map { ($0.to, all[$0.from]) })
            all = all.without(deletions, with: insertions) { moved[$0] ?? next() }
        }
        return all.count == count
    }
}

extension Array {
    /// In one pass: what is at some positions goes, then others come at positions among what there is then; both
    /// ascend.
    func without(_ deletions: [Int], with insertions: [Int], _ new: (Int) -> Element) -> [Element] {
        var after: [Element] = []
        after.reserveCapacity(count - deletions.count + insertions.count)
        var gone = deletions[...], come = insertions[...]
        func insert() {
            while let position = come.first, position == after.count {
                after.append(new(position))
                come.removeFirst()
            }
        }
        for (position, element) in enumerated() {
            if gone.first == position {
                gone.removeFirst()
                continue
            }
            insert()
            after.append(element)
        }
        insert()
        return after
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
    ) throws(ObjStoreError) -> ListSnapshots<ListElement> {
        let ids = Guarded(RowIDs())
        do {
            return try Snapshots(self, keyPaths, interval) { change in
                let elements = Self._listed(after: change)
                return ids.withLock { ListSnapshot(elements, change, after: &$0) }
            }
        } catch {
            // Nothing else is thrown by a list.
            throw error as? ObjStoreError ?? ObjStoreError(.callback, "\(error)")
        }
    }
}

/// Snapshots of a list; see ``ListSource/snapshots(keyPaths:interval:)``.
public typealias ListSnapshots<Element> = Snapshots<ListSnapshot<Element>>

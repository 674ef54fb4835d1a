/// The objects of a class as projections: `store.objects(PersonProjection.self)`.
///
/// It is as live as ``Results``, of which it is made, and all that is said there is true here. Conditions and orders
/// are about the properties of the class, under their names there: `where { $0.firstName == "Jason" }`.
public struct ProjectedResults<Element: ProjectionType>: Sendable {
    /// The objects themselves.
    public let base: Results<Element.Root>
    private let place = Place()

    private final class Place: Sendable {
        let walks = Walks<Element>()
    }

    init(_ base: Results<Element.Root>) { self.base = base }

    /// Throws what would otherwise be reported at the first use; see ``Results/validate()``.
    @discardableResult
    public func validate() throws(ObjStoreError) -> ProjectedResults {
        _ = try ProjectionInfo.of(Element.self)
        return ProjectedResults(try base.validate())
    }

    /// Do they permanently show one version?
    public var isFrozen: Bool { base.isFrozen }
    /// Was their store closed, or invalidated?
    public var isInvalidated: Bool { base.isInvalidated }

    /// The results in the version that the store shows now, frozen.
    public func freeze() throws(ObjStoreError) -> ProjectedResults { ProjectedResults(try base.freeze()) }
    /// The live ones. Errors: those of ``Results/thaw()``.
    @_disfavoredOverload
    public func thaw() throws(ObjStoreError) -> ProjectedResults { try thawed() }
    package func thawed() throws(ObjStoreError) -> ProjectedResults { ProjectedResults(try base.thawed()) }

    package func report(_ error: any Error) { base.report(error) }
}

extension StoreReading {
    /// All objects of a class, in the order of their creation, each shown by a projection.
    public func objects<P: ProjectionType>(_ type: P.Type) -> ProjectedResults<P> {
        ProjectedResults(objects(P.Root.self))
    }
}

extension Results {
    /// The same objects, shown by a projection.
    public func projected<P: ProjectionType>(to type: P.Type) -> ProjectedResults<P> where P.Root == Element {
        ProjectedResults(self)
    }
}

// MARK: Questions

extension ProjectedResults {
    public func `where`(_ condition: (Query<Element.Root>) -> Query<Bool>) -> ProjectedResults {
        ProjectedResults(base.where(condition))
    }
    /// Errors: those of ``Results/filter(_:_:)``.
    @_disfavoredOverload
    public func filter(_ text: String, _ arguments: Any?...) throws(ObjStoreError) -> ProjectedResults {
        ProjectedResults(try base.filter(text, arguments: arguments))
    }
    package func filtered(_ text: String, arguments: [Any?]) -> ProjectedResults {
        ProjectedResults(base.filtered(text, arguments: arguments))
    }
    public func sorted<Value: Persistable>(
        by keyPath: KeyPath<Element.Root, Value>, ascending: Bool = true
    ) -> ProjectedResults { ProjectedResults(base.sorted(by: keyPath, ascending: ascending)) }
    public func sorted(by keys: [SortKey<Element.Root>]) -> ProjectedResults {
        ProjectedResults(base.sorted(by: keys))
    }
    public func distinct(by keyPaths: PartialKeyPath<Element.Root>...) -> ProjectedResults {
        ProjectedResults(base.distinct(by: keyPaths))
    }
    public func distinct(by names: [String]) -> ProjectedResults { ProjectedResults(base.distinct(by: names)) }
    public func limit(_ count: Int) -> ProjectedResults { ProjectedResults(base.limit(count)) }
    public func offset(_ count: Int) -> ProjectedResults { ProjectedResults(base.offset(count)) }

    /// The index of a projection's object; nil: it is none of them.
    public func firstIndex(of element: Element) -> Int? { base.firstIndex(of: element.rootObject) }
    public func index(of element: Element) -> Int? { firstIndex(of: element) }
}

// MARK: Elements

extension ProjectedResults: LiveCollection {
    public var first: Element? { base.first.map { Element(projecting: $0) } }
    public var _count: Int { base._count }
    public func _element(at index: Int) -> Element { Element(projecting: base._element(at: index)) }
    public func _pinned(_ bounds: (Int) -> Range<Int>) -> Pinned<Element> {
        let objects = base._pinned(bounds)
        return Pinned(objects.startIndex..<objects.endIndex) { Element(projecting: objects[$0]) }
    }
    public func _walking<R>(_ body: (inout _Walk<Element>) -> R) -> R { place.walks.with(body) }
    public func _reportOutOfRange(_ range: Range<Int>, _ count: Int) { base._reportOutOfRange(range, count) }
    public func makeIterator() -> IndexingIterator<Pinned<Element>> { (walked ?? pinned()).makeIterator() }
}

/// What generic code sees; see ``LiveCollection``.
extension ProjectedResults {
    @_disfavoredOverload public var startIndex: Int { walkStart }
    @_disfavoredOverload public var endIndex: Int { walkEnd }
    @_disfavoredOverload public var count: Int { walkCount }
    @_disfavoredOverload public var isEmpty: Bool { walkCount == 0 }
    @_disfavoredOverload public var indices: Range<Int> { 0..<walkCount }
    @_disfavoredOverload public subscript(index: Int) -> Element { walkElement(index) }
    @_disfavoredOverload public subscript(bounds: Range<Int>) -> Pinned<Element> { walkSlice(bounds) }
    @_disfavoredOverload public func index(after index: Int) -> Int { walkNext(index) }
    @_disfavoredOverload public func index(before index: Int) -> Int { walk(to: index.moved(by: -1), from: index) }
    @_disfavoredOverload public func formIndex(after index: inout Int) { index = walkNext(index) }
    @_disfavoredOverload public func formIndex(before index: inout Int) {
        index = walk(to: index.moved(by: -1), from: index)
    }
    @_disfavoredOverload public func index(_ index: Int, offsetBy distance: Int) -> Int {
        walk(to: index.moved(by: distance), from: index)
    }
    @_disfavoredOverload public func index(_ index: Int, offsetBy distance: Int, limitedBy limit: Int) -> Int? {
        walk(to: Self.index(index, distance, limit), from: index)
    }
    @_disfavoredOverload public func distance(from start: Int, to end: Int) -> Int { end.distance(from: start) }
}

/// A property of each object of a list, set or inverse, in a ``Projection``:
/// `@Projected(\Person.friends.projectTo.firstName) var firstFriendsName: ProjectedCollection<String>`.
///
/// It has as many elements as the collection, in its order, and is as live. Setting an element, inside a write, sets
/// the property of that object.
public struct ProjectedCollection<Element> {
    fileprivate let source: ProjectedSource<Element>

    fileprivate init(_ source: ProjectedSource<Element>) { self.source = source }

    /// Does it permanently show one version?
    public var isFrozen: Bool { source.isFrozen }
    /// Was its owner deleted, or the store closed?
    public var isInvalidated: Bool { source.isInvalidated }
}

/// What stands before the property of the elements: `friends.projectTo.firstName`.
@dynamicMemberLookup
public struct ElementMapper<Objects: ProjectableCollection> {
    fileprivate let objects: Objects

    public subscript<Value>(dynamicMember keyPath: KeyPath<Objects.Element, Value>) -> ProjectedCollection<Value> {
        ProjectedCollection(SourceOfObjects(objects, keyPath))
    }
}

/// A list, set or inverse of objects.
public protocol ProjectableCollection: LiveCollection where Element: Object {
    var isFrozen: Bool { get }
    var isInvalidated: Bool { get }
}
extension List: ProjectableCollection where Element: Object {}
extension MutableSet: ProjectableCollection where Element: Object {}
extension LinkingObjects: ProjectableCollection {}

extension ProjectableCollection {
    /// For projections: a property of each of the objects.
    public var projectTo: ElementMapper<Self> { ElementMapper(objects: self) }
}

/// Objects, and what is read of each.
private class ProjectedSource<Element> {
    let walks = Walks<Element>()
    var isFrozen: Bool { fatalError("overridden") }
    var isInvalidated: Bool { fatalError("overridden") }
    var count: Int { fatalError("overridden") }
    func element(at index: Int) -> Element { fatalError("overridden") }
    func set(_ element: Element, at index: Int) { fatalError("overridden") }
    func pinned(_ bounds: (Int) -> Range<Int>) -> Pinned<Element> { fatalError("overridden") }
    func reportOutOfRange(_ range: Range<Int>, _ count: Int) { fatalError("overridden") }
    func memberSteps() throws(ObjStoreError) -> [AnyProjectedPath.Step] { fatalError("overridden") }
}

private final class SourceOfObjects<Objects: ProjectableCollection, Element>: ProjectedSource<Element> {
    private let objects: Objects
    private let path: ProjectedPath<Objects.Element, Element>

    init(_ objects: Objects, _ keyPath: KeyPath<Objects.Element, Element>) {
        self.objects = objects
        path = ProjectedPath(keyPath)
    }

    override var isFrozen: Bool { objects.isFrozen }
    override var isInvalidated: Bool { objects.isInvalidated }
    override var count: Int { objects._count }
    override func element(at index: Int) -> Element { path.read(objects._element(at: index)) }
    override func set(_ element: Element, at index: Int) {
        let object = objects._element(at: index)
        do throws(ObjStoreError) { try path.write(element, to: object) } catch { object.report(error) }
    }
    override func pinned(_ bounds: (Int) -> Range<Int>) -> Pinned<Element> {
        let objects = objects._pinned(bounds), path = path
        return Pinned(objects.startIndex..<objects.endIndex) { path.read(objects[$0]) }
    }
    override func reportOutOfRange(_ range: Range<Int>, _ count: Int) { objects._reportOutOfRange(range, count) }
    override func memberSteps() throws(ObjStoreError) -> [AnyProjectedPath.Step] {
        guard let names = path.names else { throw KeyPaths.noProperty(try ClassInfo.of(Objects.Element.self)) }
        return names
    }
}

/// For code that does not know the type of the elements.
protocol AnyProjectedCollection {
    func memberSteps() throws(ObjStoreError) -> [AnyProjectedPath.Step]
    var elements: [Any] { get }
}

extension ProjectedCollection: AnyProjectedCollection {
    func memberSteps() throws(ObjStoreError) -> [AnyProjectedPath.Step] { try source.memberSteps() }
    var elements: [Any] { pinned().map { $0 } }
}

extension ProjectedCollection: CustomStringConvertible {
    public var description: String { "\(Array(pinned()))" }
}

extension ProjectedCollection: LiveCollection {
    public var _count: Int { source.count }
    public func _element(at index: Int) -> Element { source.element(at: index) }
    public func _pinned(_ bounds: (Int) -> Range<Int>) -> Pinned<Element> { source.pinned(bounds) }
    public func _walking<R>(_ body: (inout _Walk<Element>) -> R) -> R { source.walks.with(body) }
    public func _reportOutOfRange(_ range: Range<Int>, _ count: Int) { source.reportOutOfRange(range, count) }
    public func makeIterator() -> IndexingIterator<Pinned<Element>> { (walked ?? pinned()).makeIterator() }
}

/// What generic code sees; see ``LiveCollection``.
extension ProjectedCollection {
    @_disfavoredOverload public var startIndex: Int { walkStart }
    @_disfavoredOverload public var endIndex: Int { walkEnd }
    @_disfavoredOverload public var count: Int { walkCount }
    @_disfavoredOverload public var isEmpty: Bool { walkCount == 0 }
    @_disfavoredOverload public var indices: Range<Int> { 0..<walkCount }
    /// Setting it sets the property of that object, inside a write.
    @_disfavoredOverload public subscript(index: Int) -> Element {
        get { walkElement(index) }
        nonmutating set { source.set(newValue, at: index) }
    }
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

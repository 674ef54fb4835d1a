internal import ObjStoreCore

/// Different values in ascending order: `@Persisted var seen: MutableSet<String>`.
///
/// Of a managed object it shows what the object has, and changes inside a write only. What is equal is what the store's
/// order says: numbers by size (NaN equals NaN), text by code point. Objects are in the order of their creation, in an
/// unmanaged set in that of their insertion. Cost of finding and changing: O(log n).
public final class MutableSet<Element: _SingleElement> {
    /// Of an unmanaged one; ascending.
    private var elements: [Element] = [] { didSet { ThisThread.didMove() } }
    let place: CollectionPlace?
    private let walks = Walks<Element>()

    public init() { place = nil }
    init(_ place: CollectionPlace) { self.place = place }

    public convenience init(_ elements: some Sequence<Element>) {
        self.init()
        insert(objectsIn: elements)
    }

    /// Where an equal element is in an unmanaged set, or would be.
    private func search(_ element: Element) -> (index: Int, found: Bool) {
        guard MutableSet.isOrdered(element) else {
            // Behind everything else.
            let index = elements.firstIndex { MutableSet.isSame(element, $0) }
            return (index ?? elements.count, index != nil)
        }
        var low = 0, high = elements.count
        while low < high {
            let middle = (low + high) / 2, order = MutableSet.compare(elements[middle], element)
            if order == 0 { return (middle, true) }
            if order < 0 { low = middle + 1 } else { high = middle }
        }
        return (low, false)
    }

    /// Whether it has a place in the store's order: objects have none, nor has what has one inside, or is too deep for
    /// a store, which is refused when it is stored.
    private static func isOrdered(_ element: Element) -> Bool {
        guard Element._linked(element) == nil else { return false }
        guard Element._isMixed, AnyValue._convert(element)?.reference != nil else { return true }
        guard Element._objects(element).isEmpty else { return false }
        return (try? withEncoded(CollectionOfOne(element)) { _ in }) != nil
    }

    private static func isSame(_ a: Element, _ b: Element) -> Bool {
        if let object = Element._linked(a) { return object.isSameObject(as: Element._linked(b)) }
        return AnyValue._convert(a) == AnyValue._convert(b)
    }

    /// - Parameter b: one that is ordered.
    private static func compare(_ a: Element, _ b: Element) -> Int {
        if !isOrdered(a) { return 1 }
        let order = try? withEncoded([a, b]) { (values) throws(StoreError) in
            Element._isMixed
                ? MixedOrder.compareElements(values[0], values[1]) : CollectionOrder.compare(values[0], values[1])
        }
        return order ?? 1
    }

    // MARK: Changing

    /// Whether it is new.
    @discardableResult
    public func insert(_ element: Element) -> Bool {
        guard let place else {
            let (index, found) = search(element)
            if !found { elements.insert(element, at: index) }
            return !found
        }
        return place.changing(false, with: CollectionOfOne(element)) { (view, id, values) throws(StoreError) in
            try view.insert(id, member: values[0])
        }
    }

    /// All of them, or none.
    public func insert(objectsIn new: some Sequence<Element>) {
        guard let place else {
            for element in Array(new) { insert(element) }
            return
        }
        place.combine(.union, new)
    }

    /// Whether it was there.
    @discardableResult
    public func remove(_ element: Element) -> Bool {
        guard let place else {
            let (index, found) = search(element)
            if found { elements.remove(at: index) }
            return found
        }
        if Element._objects(element).contains(where: { !$0.isManaged }) { return false }
        return place.changing(false) { (view, id) throws(StoreError) in
            try withEncoded(CollectionOfOne(element)) { (values) throws(StoreError) in
                try view.remove(id, member: values[0])
            }
        }
    }

    public func removeAll() { if let place { place.clear() } else { elements.removeAll() } }

    public func formUnion(_ other: some Sequence<Element>) { insert(objectsIn: other) }
    public func subtract(_ other: some Sequence<Element>) {
        if let place { return place.combine(.subtraction, MutableSet.stored(other)) }
        for element in Array(other) { remove(element) }
    }
    public func formIntersection(_ other: some Sequence<Element>) {
        if let place { return place.combine(.intersection, MutableSet.stored(other)) }
        let kept = MutableSet(other)
        for element in Array(self) where !kept.contains(element) { remove(element) }
    }
    public func formSymmetricDifference(_ other: some Sequence<Element>) {
        if let place { return place.combine(.symmetricDifference, other) }
        for element in MutableSet(other) where !remove(element) { insert(element) }
    }

    /// An unmanaged object is in no set of a store.
    private static func stored(_ elements: some Sequence<Element>) -> [Element] {
        elements.filter { Element._objects($0).allSatisfy(\.isManaged) }
    }

    // MARK: Searching

    public func contains(_ element: Element) -> Bool {
        guard let place else { return search(element).found }
        return place.asking(nil, about: element) { (view, id, value) throws(StoreError) in
            try view.firstIndex(id, of: value)
        } != nil
    }

    public func isSubset(of other: MutableSet) -> Bool { allSatisfy { other.contains($0) } }
    public func isSuperset(of other: MutableSet) -> Bool { other.isSubset(of: self) }
    public func intersects(_ other: MutableSet) -> Bool { contains { other.contains($0) } }

    public var isInvalidated: Bool { place?.object.isInvalidated ?? false }
    public var isManaged: Bool { place != nil }
    public var isFrozen: Bool { place?.object.isFrozen ?? false }
}

extension MutableSet: LiveCollection {
    public var _count: Int { place?.count ?? elements.count }
    public func _element(at index: Int) -> Element {
        if let place { place.element(at: index) } else { elements[index] }
    }
    public func _pinned(_ bounds: (Int) -> Range<Int>) -> Pinned<Element> {
        guard let place else { return Pinned(elements)[bounds(elements.count)] }
        return place.pinned(bounds)
    }
    public func _walking<R>(_ body: (inout _Walk<Element>) -> R) -> R { walks.with(body) }
    public func _reportOutOfRange(_ range: Range<Int>, _ count: Int) {
        guard let place else { preconditionFailure("\(range) of \(count.counted("element"))") }
        place.binding.report(StoreError(.outOfRange, "\(range) of \(count.counted("element"))"), place.index)
    }
    /// The elements as they are now.
    public func makeIterator() -> IndexingIterator<[Element]> {
        (walked.map { Array($0) } ?? place?.values(as: Element.self) ?? elements).makeIterator()
    }
}

/// What generic code sees; see ``LiveCollection``.
extension MutableSet {
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

extension MutableSet: ExpressibleByArrayLiteral {
    public convenience init(arrayLiteral elements: Element...) { self.init(elements) }
}

extension MutableSet: CustomStringConvertible {
    public var description: String { "{" + map(Element._text).joined(separator: ", ") + "}" }
}

extension MutableSet: Persistable, _CollectionProperty {
    public typealias _Storage = MutableSet?
    public static var _type: _PropertyType { _PropertyType(.set, of: Element._elementType) }
    public static func _managed(_ object: Object, _ index: UInt32) -> MutableSet {
        MutableSet(CollectionPlace(object: object, index: index))
    }
    public func _copy() -> MutableSet {
        if Element._isMixed { return _mapped { $0 } }
        let copy = MutableSet()
        copy.elements = Array(self)
        return copy
    }
    public var _links: [Object] { flatMap { Element._objects($0) } }
    public func _mapped(_ other: (Object) -> Object?) -> MutableSet {
        let copy = MutableSet()
        // Different objects have different copies; one that has none leaves the set.
        copy.elements = compactMap { element in
            guard let mapped = Element._mapped(element, other) else { return nil }
            return Element._linked(element) != nil && Element._linked(mapped) == nil ? nil : mapped
        }
        return copy
    }
    public static func _encodeElement(any value: Any?, _ encoder: _RowEncoder) -> Bool {
        Element.encode(any: value, encoder)
    }
    public func _replace(_ object: Object, _ index: UInt32) {
        CollectionPlace(object: object, index: index).changing((), with: self) {
            (view, id, values) throws(StoreError) in
            try view.assign(id, nil, values.baseAddress, values.count)
        }
    }
    public func _encode(to encoder: _RowEncoder) {
        let elements = Array(self)
        encoder.append(Value(kind: .list, low: Int64(elements.count)))
        for element in elements { Element._encodeElement(element, encoder) }
    }
    /// A set, or an array or Swift set of what its elements can be.
    public static func _convert(_ value: Any?) -> MutableSet? {
        if let set = instance(value, of: MutableSet.self) { return set }
        if let results = value as? any AnyResults { return _convert(results.objects) }
        guard let array = (value as? any GivenArray)?.givenElements ?? (value as? any GivenSet)?.givenMembers else {
            return nil
        }
        let elements = array.map { Element._convertElement(ClassInfo.unwrap($0)) }
        guard !elements.contains(where: { $0 == nil }) else { return nil }
        return MutableSet(elements.map { $0! })
    }
}

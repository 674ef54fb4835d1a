internal import ObjStoreCore

/// Values in the order that they were given: `@Persisted var toys: List<String>`.
///
/// Of a managed object it shows what the object has, and changes inside a write only; of an unmanaged one it is an
/// array. Elements may be equal. Reading and changing cost O(log n) anywhere in the list. What fails is reported as for
/// properties (docs/swift.md).
public final class List<Element: CollectionElement> {
    private var elements: [Element] = [] {
        didSet {
            ThisThread.didMove()
            changeCount &+= 1
        }
    }
    private var changeCount: UInt64 = 0
    let place: CollectionPlace?
    private let walks = Walks<Element>()

    public init() { place = nil }
    init(_ place: CollectionPlace) { self.place = place }

    public convenience init(_ elements: some Sequence<Element>) {
        self.init()
        self.elements = Array(elements)
    }

    // MARK: Changing

    public func append(_ element: Element) { append(objectsIn: CollectionOfOne(element)) }

    public func append(objectsIn new: some Sequence<Element>) {
        // Copied first: what comes may be made of what is in the list.
        guard let place else { return elements.append(contentsOf: Array(new)) }
        if place.embeds { return place.embed(new, at: nil) }
        place.changing((), with: new) { (view, id, values) throws(StoreError) in try view.insert(id, at: nil, values) }
    }

    public func insert(_ element: Element, at index: Int) { insert(contentsOf: CollectionOfOne(element), at: index) }

    public func insert(contentsOf new: some Sequence<Element>, at index: Int) {
        guard let place else { return elements.insert(contentsOf: Array(new), at: index) }
        if place.embeds { return place.embed(new, at: index) }
        place.changing((), with: new) { (view, id, values) throws(StoreError) in try view.insert(id, at: index, values)
        }
    }

    public func remove(at index: Int) {
        guard let place else {
            elements.remove(at: index)
            return
        }
        place.changing(()) { (view, id) throws(StoreError) in try view.remove(id, at: index, count: 1) }
    }

    public func removeSubrange(_ range: Range<Int>) {
        guard let place else { return elements.removeSubrange(range) }
        place.changing(()) { (view, id) throws(StoreError) in
            try place.check(range, of: try view.elementCount(id))
            try view.remove(id, at: range.lowerBound, count: range.count)
        }
    }

    public func removeSubrange(_ range: some RangeExpression<Int>) { removeSubrange(range.range(of: _count)) }

    public func removeFirst(_ count: Int = 1) {
        if count < 0 { return _reportOutOfRange(count..<0, self.count) }
        removeSubrange(0..<count)
    }
    public func removeLast(_ count: Int = 1) {
        let end = self.count  // once: outside of a write, which is an error, it may change
        if count < 0 { return _reportOutOfRange(count..<0, end) }
        removeSubrange(end - count..<end)
    }
    public func removeAll() { if let place { place.clear() } else { elements.removeAll() } }

    /// Removes the elements for which `condition` is true. It is called for the current elements, once for each, in
    /// their order; then they are removed, all of them or none: what it removes or inserts itself shifts nothing.
    public func removeAll(where condition: (Element) throws -> Bool) rethrows {
        // Lists and dictionaries among the elements show what is at their place.
        func content() -> [Element] {
            Element._isMixed ? pinned().map { Element._mapped($0) { $0 } ?? $0 } : Array(pinned())
        }
        let stamp = stamp, asked = pinned(), before = Element._isMixed ? content() : Array(asked)
        let indexes = try asked.indices(where: condition)
        if indexes.isEmpty { return }
        removeAll(at: self.stamp == stamp ? indexes : Realigned(before, content(), List.isSame).now(indexes))
    }

    /// Another number whenever the elements may be others.
    private var stamp: UInt64 { place.map { $0.binding.space.current.stamp } ?? changeCount }

    /// All of them, or none.
    package func removeAll(at indexes: some Sequence<Int>) {
        var all = RangeSet<Int>()
        for index in Set(indexes).sorted() {
            // Beyond everything, and no range can be made of it.
            if index == .max { return _reportOutOfRange(index..<index, count) }
            all.insert(contentsOf: index..<index + 1)
        }
        removeAll(at: all)
    }

    private func removeAll(at indexes: RangeSet<Int>) {
        if let place { place.remove(indexes) } else { elements.removeSubranges(indexes) }
    }

    /// Puts others where the elements in `range` are.
    public func replaceSubrange(_ range: Range<Int>, with new: some Sequence<Element>) {
        replace(range, with: Array(new), fits: false)
    }

    public func replaceSubrange(_ range: some RangeExpression<Int>, with new: some Sequence<Element>) {
        // Copied first: evaluating the new elements may change the list.
        let new = Array(new)
        replace(range.range(of: _count), with: new, fits: false)
    }

    /// - Parameter fits: there must be as many as before.
    private func replace(_ range: Range<Int>, with new: [Element], fits: Bool) {
        guard let place else { return elements.replaceSubrange(range, with: new) }
        func check(_ view: View, _ id: CollectionID) throws(StoreError) {
            try place.check(range, of: try view.elementCount(id))
            if !fits || new.count == range.count { return }
            throw StoreError(
                .outOfRange, "\(place.binding.path(place.index)): \(new.count.counted("element")) for \(range)")
        }
        if place.embeds { return replaceEmbedded(range, with: new, place, check) }
        // What comes may be made of what goes: it is encoded now. Errors in it are reported by the first of the two
        // steps.
        place.changing((), with: new) { (view, id, values) throws(StoreError) in
            try check(view, id)
            try view.insert(id, at: range.upperBound, values)
            try view.remove(id, at: range.lowerBound, count: range.count)
        }
    }

    private func replaceEmbedded(
        _ range: Range<Int>, with new: [Element], _ place: CollectionPlace,
        _ check: (View, CollectionID) throws(StoreError) -> Void
    ) {
        let isHere = place.changing(false) { (view, id) throws(StoreError) in
            try check(view, id)
            return true
        }
        guard isHere else { return }
        if new.contains(where: { Element._linked($0)?.isManaged == true }) {
            // Some that are here already: the list is given as a whole, in which each has one place.
            var all = place.values(as: Element.self)
            all.replaceSubrange(range, with: new)
            return place.embed(List(all))
        }
        place.changing(()) { (view, id) throws(StoreError) in
            try place.embed(
                new.compactMap { Element._linked($0) }.enumerated().map { ($1, .int(Int64(range.upperBound + $0))) },
                view, id)
            try view.remove(id, at: range.lowerBound, count: range.count)
        }
    }

    /// Afterwards the element at `from` has the index `to`.
    public func move(from: Int, to: Int) {
        guard let place else {
            elements.insert(elements.remove(at: from), at: to)
            return
        }
        place.changing(()) { (view, id) throws(StoreError) in try view.move(id, from: from, to: to) }
    }

    public func swapAt(_ first: Int, _ second: Int) {
        guard let place else { return elements.swapAt(first, second) }
        place.changing(()) { (view, id) throws(StoreError) in
            try place.check([first, second], of: try view.elementCount(id))
            // Moved, not read: an embedded object may not lose its place, nor anything what it is.
            let (low, high) = (Swift.min(first, second), Swift.max(first, second))
            if low == high { return }
            try view.move(id, from: low, to: high)
            if high - low > 1 { try view.move(id, from: high - 1, to: low) }
        }
    }

    // MARK: Searching

    /// The index of the first element that equals one. Cost: O(n).
    public func index(of element: Element) -> Int? {
        guard let place else { return elements.firstIndex { List.isSame($0, element) } }
        return place.asking(nil, about: element) { (view, id, value) throws(StoreError) in
            try view.firstIndex(id, of: value)
        }
    }

    private static func isSame(_ a: Element, _ b: Element) -> Bool {
        if Element._isMixed { return AnyValue._convert(a) == AnyValue._convert(b) }
        if let object = Element._linked(a) { return object.isSameObject(as: Element._linked(b)) }
        if Element._linked(b) != nil { return false }
        return
            (try? withEncoded(CollectionOfOne(a)) { (a) throws(StoreError) in
                try withEncoded(CollectionOfOne(b)) { (b) throws(StoreError) in a[0].isSame(as: b[0]) }
            }) ?? false
    }

    /// Whether the object is deleted, or its store closed.
    public var isInvalidated: Bool { place?.object.isInvalidated ?? false }
    public var isManaged: Bool { place != nil }
    public var isFrozen: Bool { place?.object.isFrozen ?? false }
}

extension List: MutableLiveCollection {
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

    public func _set(_ element: Element, at index: Int) {
        guard let place else {
            elements[index] = element
            return
        }
        // A managed one may be given where it is already.
        if place.embeds, let object = Element._linked(element), !object.isManaged {
            return embed(object, at: index, place)
        }
        place.changing((), with: CollectionOfOne(element)) { (view, id, values) throws(StoreError) in
            try view.set(id, at: index, values[0])
        }
    }

    public func _set(_ new: Pinned<Element>, in bounds: Range<Int>) {
        if place != nil { return replace(bounds, with: Array(new), fits: true) }
        guard new.count == bounds.count else { return _reportOutOfRange(bounds, elements.count) }
        for (index, element) in zip(bounds, new) { elements[index] = element }
    }

    /// What sorts elements gets embedded objects in an array of its own, and afterwards they are moved: one by one they
    /// could not be given places of each other. Cost for such: O(n²) moves in memory, O(n) in the store.
    public func withContiguousMutableStorageIfAvailable<R>(
        _ body: (inout UnsafeMutableBufferPointer<Element>) throws -> R
    ) rethrows -> R? {
        guard let place, place.embeds else { return nil }
        var elements = ContiguousArray(self)
        var keys = elements.map { Element._linked($0)?._key }
        let result = try elements.withUnsafeMutableBufferPointer { try body(&$0) }
        for (target, element) in elements.enumerated() {
            let key = Element._linked(element)?._key
            if keys[target] == key { continue }
            if let key, let from = keys[target...].firstIndex(of: key) {
                move(from: from, to: target)
                keys.insert(keys.remove(at: from), at: target)
            } else {
                _set(element, at: target)
            }
        }
        return result
    }

    /// Makes an unmanaged embedded object where another one is, which goes.
    private func embed(_ object: Object, at index: Int, _ place: CollectionPlace) {
        place.changing(()) { (view, id) throws(StoreError) in
            _ = try view.element(id, at: index, nil)  // which may not be there
            try place.embed([(object, .int(Int64(index)))], view, id)
            try view.remove(id, at: index + 1, count: 1)
        }
    }

    /// The elements as they are now: what changes meanwhile does not disturb.
    public func makeIterator() -> IndexingIterator<[Element]> {
        (walked.map { Array($0) } ?? place?.values(as: Element.self) ?? elements).makeIterator()
    }
}

/// What generic code sees; see ``LiveCollection``.
extension List {
    @_disfavoredOverload public var startIndex: Int { walkStart }
    @_disfavoredOverload public var endIndex: Int { walkEnd }
    @_disfavoredOverload public var count: Int { walkCount }
    @_disfavoredOverload public var isEmpty: Bool { walkCount == 0 }
    @_disfavoredOverload public var indices: Range<Int> { 0..<walkCount }
    @_disfavoredOverload public subscript(index: Int) -> Element {
        get { walkElement(index) }
        set { _set(newValue, at: index) }
    }
    @_disfavoredOverload public subscript(bounds: Range<Int>) -> Pinned<Element> {
        get { walkSlice(bounds) }
        set { _set(newValue, in: bounds) }
    }
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

extension List: ExpressibleByArrayLiteral {
    public convenience init(arrayLiteral elements: Element...) { self.init(elements) }
}

extension List: CustomStringConvertible {
    public var description: String { "[" + map(Element._text).joined(separator: ", ") + "]" }
}

extension List: Persistable, _CollectionProperty {
    public typealias _Storage = List?
    public static var _type: _PropertyType { _PropertyType(.list, of: Element._elementType) }
    public static func _managed(_ object: Object, _ index: UInt32) -> List {
        List(CollectionPlace(object: object, index: index))
    }
    public func _copy() -> List { Element._isMixed ? _mapped { $0 } : List(self) }
    public var _links: [Object] { flatMap { Element._objects($0) } }
    public func _mapped(_ other: (Object) -> Object?) -> List { List(compactMap { Element._mapped($0, other) }) }
    public static func _encodeElement(any value: Any?, _ encoder: _RowEncoder) -> Bool {
        Element.encode(any: value, encoder)
    }
    public func _replace(_ object: Object, _ index: UInt32) {
        let place = CollectionPlace(object: object, index: index)
        if place.embeds { return place.embed(self) }
        place.changing((), with: self) { (view, id, values) throws(StoreError) in
            try view.assign(id, nil, values.baseAddress, values.count)
        }
    }
    public func _encode(to encoder: _RowEncoder) {
        let elements = Array(self)
        encoder.append(Value(kind: .list, low: Int64(elements.count)))
        for element in elements { Element._encodeElement(element, encoder) }
    }
    /// A list, or an array of what its elements can be.
    public static func _convert(_ value: Any?) -> List? {
        if let list = instance(value, of: List.self) { return list }
        if let results = value as? any AnyResults { return _convert(results.objects) }
        guard let array = (value as? any GivenArray)?.givenElements else { return nil }
        let elements = array.map { Element._convertElement(ClassInfo.unwrap($0)) }
        guard !elements.contains(where: { $0 == nil }) else { return nil }
        return List(elements.map { $0! })
    }
}

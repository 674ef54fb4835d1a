internal import ObjStoreCore

/// The elements of a list, set or map of plain values that a question finds, in its order.
///
/// ```swift
/// for tag in try dog.tags.where({ $0.starts(with: "g") }).sorted(ascending: true) { … }
/// ```
/// Live: it shows what the collection has, and is asked again when that may have changed. A loop visits the elements
/// that were there when it began. Where the owner was deleted there are none. Like the collection it is not `Sendable`.
///
/// It cannot throw: what goes wrong is treated as in ``Results``. ``validate()`` checks beforehand.
/// `Key` is that of a map; of lists and sets it is `Never`.
public struct ValueResults<Element: PlainElement, Key> {
    let place: CollectionPlace
    let question: Question
    private let cache = ValueCache<Element>()

    enum Question {
        case query(ValueQuery)
        /// It was invalid from the start.
        case failed(ObjStoreError)
    }

    init(_ place: CollectionPlace, _ question: Question) {
        self.place = place
        self.question = question
    }

    /// What was found for a question in the view of a place.
    init(_ place: CollectionPlace, _ query: ValueQuery, _ found: FoundValues) {
        self.init(place, .query(query))
        let view = space.view
        cache.keep(found, view, view.stamp)
    }

    var space: ObjectSpace { place.binding.space }

    /// Errors: it was invalid from the start.
    var query: ValueQuery {
        get throws(ObjStoreError) {
            switch question {
            case .query(let query): return query
            case .failed(let error): throw error
            }
        }
    }

    /// Throws what would otherwise be reported at the first use: the query cannot be made, the store was closed.
    @discardableResult
    public func validate() throws(ObjStoreError) -> ValueResults {
        _ = try found()
        return self
    }

    /// Do they permanently show one version?
    public var isFrozen: Bool { space.isFrozen }

    /// The results in the version that the store shows now, frozen. Errors: as of ``List/freeze()``.
    public func freeze() throws(ObjStoreError) -> ValueResults {
        isFrozen ? self : ValueResults(try place.frozen(), question)
    }

    /// What it finds now.
    func found() throws(ObjStoreError) -> FoundValues {
        let query = try query, view = space.current
        return try core { () throws(StoreError) in
            if let known = cache.found(view) { return known }
            let stamp = view.stamp, new = try view.find(query)
            cache.keep(new, view, stamp)
            return new
        }
    }

    func reporting<T>(_ none: T, _ body: () throws(ObjStoreError) -> T) -> T {
        do throws(ObjStoreError) { return try body() } catch {
            // Those of an invalidated store are empty.
            if !space.isInvalidated { space.handle.reports.report(error) }
            return none
        }
    }

    /// An element as its type.
    private func element(_ found: FoundValues, _ index: Int) -> Element {
        let key = found.key(index)
        return place.element(found.value(index), at: key.isNull ? .index(found.place(index)) : .key(key.keyText))
    }

    private func all(_ found: FoundValues, _ range: Range<Int>) -> [Element] { range.map { element(found, $0) } }
}

// MARK: Places

extension ValueResults {
    /// Where each of them is: its index in the list, or in the order of the set or map.
    public var places: [Int] {
        reporting([]) { () throws(ObjStoreError) in
            let found = try found()
            return (0..<found.count).map { found.place($0) }
        }
    }
}

extension ValueResults where Key: CollectionElement {
    /// The key of each in the map.
    public var keys: [Key] {
        reporting([]) { () throws(ObjStoreError) in
            let found = try found()
            return (0..<found.count).map { place.element(found.key($0), at: .index($0)) }
        }
    }
}

// MARK: Elements

extension ValueResults: LiveCollection {
    public var _count: Int { reporting(0) { () throws(ObjStoreError) in try found().count } }
    public func _element(at index: Int) -> Element {
        reporting(Element._emptyElement) { () throws(ObjStoreError) in
            let found = try found()
            return try core { () throws(StoreError) in
                guard found.count > 0, (0..<found.count).contains(index) else {
                    throw StoreError(.outOfRange, "index \(index) of \(found.count.counted("value"))")
                }
                return element(found, index)
            }
        }
    }
    public func _pinned(_ bounds: (Int) -> Range<Int>) -> Pinned<Element> {
        reporting(Pinned([])) { () throws(ObjStoreError) in
            let found = try found(), range = bounds(found.count)
            return Pinned(all(found, range), from: range.lowerBound)
        }
    }
    public func _walking<R>(_ body: (inout _Walk<Element>) -> R) -> R { cache.walks.with(body) }
    public func _reportOutOfRange(_ range: Range<Int>, _ count: Int) {
        place.binding.report(StoreError(.outOfRange, "\(range) of \(count.counted("value"))"), place.index)
    }

    /// The elements as they are now: what changes meanwhile does not disturb.
    public func makeIterator() -> IndexingIterator<[Element]> {
        if let walked { return Array(walked).makeIterator() }
        return reporting([]) { () throws(ObjStoreError) in
            let found = try found()
            return all(found, 0..<found.count)
        }.makeIterator()
    }
}

/// What generic code sees; see ``LiveCollection``.
extension ValueResults {
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

extension ValueResults: CustomStringConvertible {
    public var description: String { "[" + map { "\($0)" }.joined(separator: ", ") + "]" }
}

/// What was found in one view at one time.
private final class ValueCache<Element>: Sendable {
    private struct Entry: Sendable {
        var found: FoundValues
        let view: View
        var stamp: UInt64
    }
    private let entry = Guarded<Entry?>(nil)
    let walks = Walks<Element>()

    func found(_ view: View) -> FoundValues? {
        guard let entry = entry.withLock({ $0 }), entry.view === view, entry.stamp == view.stamp else { return nil }
        return entry.found
    }

    func keep(_ found: FoundValues, _ view: View, _ stamp: UInt64) {
        entry.withLock { $0 = Entry(found: found, view: view, stamp: stamp) }
    }
}

/// Elements of a ``LiveCollection`` as they were at one moment: what is taken from it, and what it is walked over by.
///
/// Which elements there are, and in which order, no change of the store touches. Objects among them are live: one that
/// was deleted since is invalid (``Object/isInvalidated``). Of ``Results`` the objects are made when they are accessed.
/// Its indices are those that the elements had in the whole. It is a value: setting an element changes this one alone,
/// neither the store nor the collection.
public struct Pinned<Element> {
    public let startIndex: Int
    public let endIndex: Int
    private var storage: Storage

    private enum Storage {
        /// And the index of the first.
        case array([Element], Int)
        /// The same for an index each time.
        case made((Int) -> Element)
    }

    /// - Parameter element: the one at an index of `bounds`, the same each time.
    init(_ bounds: Range<Int>, _ element: @escaping (Int) -> Element) { self.init(bounds, .made(element)) }

    /// - Parameter start: the index of the first.
    init(_ elements: [Element], from start: Int = 0) {
        self.init(start..<start + elements.count, .array(elements, start))
    }

    private init(_ bounds: Range<Int>, _ storage: Storage) {
        startIndex = bounds.lowerBound
        endIndex = bounds.upperBound
        self.storage = storage
    }
}

extension Pinned: RandomAccessCollection, MutableCollection {
    /// Like an array, it stops the program where there is no such element: what a `Pinned` has, it keeps.
    public subscript(index: Int) -> Element {
        get {
            check(index)
            switch storage {
            case .array(let elements, let start): return elements[index - start]
            case .made(let element): return element(index)
            }
        }
        set {
            check(index)
            if case .array(var elements, let start) = storage {
                storage = .array([], 0)  // so that the array is not copied
                elements[index - start] = newValue
                storage = .array(elements, start)
            } else {
                var elements = Array(self)
                elements[index - startIndex] = newValue
                storage = .array(elements, startIndex)
            }
        }
    }

    public subscript(bounds: Range<Int>) -> Pinned {
        get {
            precondition(
                bounds.lowerBound >= startIndex && bounds.upperBound <= endIndex,
                "\(bounds) is not in \(startIndex)..<\(endIndex)")
            return Pinned(bounds, storage)
        }
        set {
            precondition(newValue.count == bounds.count, "\(newValue.count) elements for \(bounds)")
            for (index, element) in zip(bounds, newValue) { self[index] = element }
        }
    }

    private func check(_ index: Int) {
        precondition(index >= startIndex && index < endIndex, "index \(index) is not in \(startIndex)..<\(endIndex)")
    }
}

extension Pinned {
    /// The condition is called once for each element; the standard library calls it twice for the first ones.
    public func indices(where condition: (Element) throws -> Bool) rethrows -> RangeSet<Int> {
        var found = RangeSet<Int>()
        for index in indices where try condition(self[index]) { found.insert(contentsOf: index..<index + 1) }
        return found
    }
}

extension Pinned: CustomStringConvertible {
    public var description: String { "\(Array(self))" }
}

/// Which object is meant: the same one of the store, with or without a primary key.
extension Pinned where Element: Object {
    public func contains(_ object: Element) -> Bool { firstIndex(of: object) != nil }
    public func firstIndex(of object: Element) -> Int? { firstIndex { $0.isSameObject(as: object) } }
    public func lastIndex(of object: Element) -> Int? { lastIndex { $0.isSameObject(as: object) } }
    public func indices(of object: Element) -> RangeSet<Int> { indices { $0.isSameObject(as: object) } }
    public func split(separator: Element, maxSplits: Int = .max, omittingEmptySubsequences: Bool = true) -> [Pinned] {
        split(maxSplits: maxSplits, omittingEmptySubsequences: omittingEmptySubsequences) {
            $0.isSameObject(as: separator)
        }
    }
    public func difference<C: BidirectionalCollection>(from other: C) -> CollectionDifference<Element>
    where C.Element == Element {
        difference(from: other) { $0.isSameObject(as: $1) }
    }
    public func elementsEqual<S: Sequence>(_ other: S) -> Bool where S.Element == Element {
        elementsEqual(other) { $0.isSameObject(as: $1) }
    }
    public func starts<S: Sequence>(with prefix: S) -> Bool where S.Element == Element {
        starts(with: prefix) { $0.isSameObject(as: $1) }
    }

    public func contains<C: Collection>(_ other: C) -> Bool where C.Element == Element {
        compared.contains(other.map { SameObject($0) })
    }
    public func firstRange<C: Collection>(of other: C) -> Range<Int>? where C.Element == Element {
        compared.firstRange(of: other.map { SameObject($0) })
    }
    public func ranges<C: Collection>(of other: C) -> [Range<Int>] where C.Element == Element {
        compared.ranges(of: other.map { SameObject($0) })
    }
    public func split<C: Collection>(
        separator: C, maxSplits: Int = .max, omittingEmptySubsequences: Bool = true
    ) -> [Pinned] where C.Element == Element {
        compared.split(
            separator: separator.map { SameObject($0) }, maxSplits: maxSplits,
            omittingEmptySubsequences: omittingEmptySubsequences
        )
        .map { self[$0.startIndex..<$0.endIndex] }
    }
    public func trimmingPrefix<Prefix: Sequence>(_ prefix: Prefix) -> Pinned where Prefix.Element == Element {
        self[compared.trimmingPrefix(prefix.map { SameObject($0) }).startIndex..<endIndex]
    }

    /// As the algorithms that compare with `==` are to see them.
    private var compared: Pinned<SameObject> { Pinned<SameObject>(map { SameObject($0) }, from: startIndex) }
}

/// What ``Pinned`` alone is.
public protocol _PinnedElements: RandomAccessCollection {}
extension Pinned: _PinnedElements {}

extension ReversedCollection where Base: _PinnedElements, Element: Object {
    public func contains(_ object: Element) -> Bool { firstIndex(of: object) != nil }
    public func firstIndex(of object: Element) -> Index? { firstIndex { $0.isSameObject(as: object) } }
    public func lastIndex(of object: Element) -> Index? { lastIndex { $0.isSameObject(as: object) } }
}

private struct SameObject: Equatable {
    private let object: Object

    init(_ object: Object) { self.object = object }

    static func == (left: SameObject, right: SameObject) -> Bool { left.object.isSameObject(as: right.object) }
}

extension Pinned {
    public func _customContainsEquatableElement(_ element: Element) -> Bool? {
        index(ofObject: element).map { $0 != nil }
    }
    public func _customIndexOfEquatableElement(_ element: Element) -> Int?? { index(ofObject: element) }
    public func _customLastIndexOfEquatableElement(_ element: Element) -> Int?? {
        (element as? Object).map { object in lastIndex { ($0 as? Object)?.isSameObject(as: object) == true } }
    }

    /// Nil: it is no object, and found by `==`.
    private func index(ofObject element: Element) -> Int?? {
        (element as? Object).map { object in firstIndex { ($0 as? Object)?.isSameObject(as: object) == true } }
    }
}

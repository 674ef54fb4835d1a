/// A collection that shows what its store has now, while this thread or another one changes it: ``Results``, ``List``,
/// ``MutableSet``, ``LinkingObjects``, ``DynamicResults``, ``AnyList``.
///
/// The algorithms of the standard library query the end of a collection more than once, and stop the program when the
/// answers differ. So each of them works here on one ``Pinned`` list (docs/decisions/0034-live-collections.md):
///
/// ```
///  results.map { … }, .prefix(2), [1..<3], .reversed(), .lazy …   the extension below: Pinned, read once
///  for dog in results, Array(results), .filter, .reduce …      makeIterator, _copyToContiguousArray: the same
///  results.count, results[0], .first, .last                  live: what is there now
///  func f(_ c: some Collection) { c.map { … } }              knows none of this: _Walk keeps a list for its thread
/// ```
/// The conforming types have the requirements of `Collection` as witnesses for the last line; code that knows the
/// type gets the members of this extension, which are preferred.
public protocol LiveCollection<Element>: RandomAccessCollection
where Index == Int, Indices == Range<Int>, SubSequence == Pinned<Element> {
    /// How many there are now.
    var _count: Int { get }
    /// The element that is there now. Where there is none (any more): a placeholder, and `.outOfRange` is reported.
    func _element(at index: Int) -> Element
    /// The elements of one moment, or a part of them: `bounds` gets how many there are.
    func _pinned(_ bounds: (_ count: Int) -> Range<Int>) -> Pinned<Element>
    /// Where generic code of this thread is in the collection.
    func _walking<R>(_ body: (inout _Walk<Element>) -> R) -> R
    func _reportOutOfRange(_ range: Range<Int>, _ count: Int)
}

extension LiveCollection {
    /// The elements as they are now, permanently; objects among them show what the store has.
    public func pinned() -> Pinned<Element> { _pinned { 0..<$0 } }

    // MARK: Live

    public var count: Int { _count }
    public var isEmpty: Bool { _count == 0 }
    public var startIndex: Int { 0 }
    public var endIndex: Int { _count }
    public var indices: Range<Int> { 0..<_count }
    public subscript(index: Int) -> Element { _element(at: index) }
    public var first: Element? { _pinned { 0..<Swift.min(1, $0) }.first }
    public var last: Element? { suffix(1).first }
    public func index(after index: Int) -> Int { index.moved(by: 1) }
    public func index(before index: Int) -> Int { index.moved(by: -1) }
    public func formIndex(after index: inout Int) { index = index.moved(by: 1) }
    public func formIndex(before index: inout Int) { index = index.moved(by: -1) }
    public func index(_ index: Int, offsetBy distance: Int) -> Int { index.moved(by: distance) }
    public func index(_ index: Int, offsetBy distance: Int, limitedBy limit: Int) -> Int? {
        Self.index(index, distance, limit)
    }
    public func distance(from start: Int, to end: Int) -> Int { end.distance(from: start) }

    public func randomElement() -> Element? { pinned().randomElement() }
    public func randomElement(using generator: inout some RandomNumberGenerator) -> Element? {
        pinned().randomElement(using: &generator)
    }

    // MARK: Of one moment

    /// The elements there, in one moment. Of a range that there is not (any more) those that are there, and
    /// `.outOfRange` is reported.
    public subscript(bounds: Range<Int>) -> Pinned<Element> { _slice(bounds) }
    public subscript(bounds: some RangeExpression<Int>) -> Pinned<Element> { _slice(bounds) }
    public subscript(_: UnboundedRange) -> Pinned<Element> { pinned() }
    /// The same of several ranges, all in one moment.
    public subscript(subranges: RangeSet<Int>) -> DiscontiguousSlice<Pinned<Element>> {
        let all = pinned()
        return all[within(subranges, all.count)]
    }
    /// The others.
    public func removingSubranges(_ subranges: RangeSet<Int>) -> DiscontiguousSlice<Pinned<Element>> {
        let all = pinned()
        return all.removingSubranges(within(subranges, all.count))
    }

    func _slice(_ bounds: Range<Int>) -> Pinned<Element> { _pinned { within(bounds, $0) } }
    func _slice(_ bounds: some RangeExpression<Int>) -> Pinned<Element> { _pinned { within(bounds.range(of: $0), $0) } }

    private func within(_ range: Range<Int>, _ count: Int) -> Range<Int> {
        let here = range.clamped(to: 0..<count)
        if here != range { _reportOutOfRange(range, count) }
        return here
    }

    private func within(_ set: RangeSet<Int>, _ count: Int) -> RangeSet<Int> {
        let here = set.intersection(RangeSet(0..<count))
        if let missing = set.subtracting(here).ranges.first { _reportOutOfRange(missing, count) }
        return here
    }

    /// How many of `count` elements a length is. One below 0, as `count - 10` may be, is none, and `.outOfRange` is
    /// reported.
    private func length(_ length: Int, _ count: Int) -> Int {
        if length < 0 { _reportOutOfRange(length..<0, count) }
        return Swift.min(Swift.max(0, length), count)
    }

    fileprivate func splits(_ most: Int) -> Int { most < 0 ? length(most, _count) : most }

    public func prefix(_ maxLength: Int) -> Pinned<Element> {
        _pinned { 0..<length(maxLength, $0) }
    }
    public func suffix(_ maxLength: Int) -> Pinned<Element> {
        _pinned { $0 - length(maxLength, $0)..<$0 }
    }
    public func dropFirst(_ count: Int = 1) -> Pinned<Element> {
        _pinned { length(count, $0)..<$0 }
    }
    public func dropLast(_ count: Int = 1) -> Pinned<Element> {
        _pinned { 0..<$0 - length(count, $0) }
    }
    public func prefix(upTo end: Int) -> Pinned<Element> { self[..<end] }
    public func prefix(through index: Int) -> Pinned<Element> { self[...index] }
    public func suffix(from start: Int) -> Pinned<Element> { self[start...] }
    public func prefix(while condition: (Element) throws -> Bool) rethrows -> Pinned<Element> {
        try pinned().prefix(while: condition)
    }
    public func drop(while condition: (Element) throws -> Bool) rethrows -> Pinned<Element> {
        try pinned().drop(while: condition)
    }

    public func map<T, Failure: Error>(_ transform: (Element) throws(Failure) -> T) throws(Failure) -> [T] {
        try pinned().map(transform)
    }
    public func reversed() -> ReversedCollection<Pinned<Element>> { pinned().reversed() }
    public var lazy: LazySequence<Pinned<Element>> { pinned().lazy }
    public func enumerated() -> EnumeratedSequence<Pinned<Element>> { pinned().enumerated() }
    public func split(
        maxSplits: Int = .max, omittingEmptySubsequences: Bool = true,
        whereSeparator isSeparator: (Element) throws -> Bool
    ) rethrows -> [Pinned<Element>] {
        try pinned().split(
            maxSplits: splits(maxSplits), omittingEmptySubsequences: omittingEmptySubsequences,
            whereSeparator: isSeparator)
    }

    public func firstIndex(where condition: (Element) throws -> Bool) rethrows -> Int? {
        try pinned().firstIndex(where: condition)
    }
    public func lastIndex(where condition: (Element) throws -> Bool) rethrows -> Int? {
        try pinned().lastIndex(where: condition)
    }
    public func last(where condition: (Element) throws -> Bool) rethrows -> Element? {
        try pinned().last(where: condition)
    }
    public func indices(where condition: (Element) throws -> Bool) rethrows -> RangeSet<Int> {
        try pinned().indices(where: condition)
    }
    public func difference<C: BidirectionalCollection>(
        from other: C, by areEquivalent: (Element, C.Element) -> Bool
    ) -> CollectionDifference<Element>
    where C.Element == Element { pinned().difference(from: Array(other), by: areEquivalent) }
}

extension LiveCollection where Element: Equatable {
    public func split(
        separator: Element, maxSplits: Int = .max, omittingEmptySubsequences: Bool = true
    ) -> [Pinned<Element>] {
        pinned().split(
            separator: separator, maxSplits: splits(maxSplits), omittingEmptySubsequences: omittingEmptySubsequences)
    }
    public func firstIndex(of element: Element) -> Int? { pinned().firstIndex(of: element) }
    public func lastIndex(of element: Element) -> Int? { pinned().lastIndex(of: element) }
    public func indices(of element: Element) -> RangeSet<Int> { pinned().indices(of: element) }
    public func difference<C: BidirectionalCollection>(from other: C) -> CollectionDifference<Element>
    where C.Element == Element {
        pinned().difference(from: Array(other))
    }
}

// MARK: Patterns

extension LiveCollection {
    public func trimmingPrefix(while condition: (Element) throws -> Bool) rethrows -> Pinned<Element> {
        try pinned().trimmingPrefix(while: condition)
    }
}

extension LiveCollection where Element: Equatable {
    public func contains<C: Collection>(_ other: C) -> Bool where C.Element == Element {
        pinned().contains(Array(other))
    }
    public func firstRange<C: Collection>(of other: C) -> Range<Int>? where C.Element == Element {
        pinned().firstRange(of: Array(other))
    }
    public func ranges<C: Collection>(of other: C) -> [Range<Int>] where C.Element == Element {
        pinned().ranges(of: Array(other))
    }
    public func split<C: Collection>(
        separator: C, maxSplits: Int = .max, omittingEmptySubsequences: Bool = true
    ) -> [Pinned<Element>] where C.Element == Element {
        pinned().split(
            separator: Array(separator), maxSplits: splits(maxSplits),
            omittingEmptySubsequences: omittingEmptySubsequences)
    }
    public func trimmingPrefix<Prefix: Sequence>(_ prefix: Prefix) -> Pinned<Element> where Prefix.Element == Element {
        pinned().trimmingPrefix(Array(prefix))
    }
}

extension RangeExpression<Int> {
    /// Which positions of this many it names, where one side may be open. An end before the start, as
    /// `..<(results.count - 1)` of none has, is the positions between them, which are not there. What ends at the
    /// largest number there is ends before it: it is not there either.
    func range(of count: Int) -> Range<Int> {
        func after(_ index: Int) -> Int { index.moved(by: 1) }
        let start: Int, end: Int
        switch self {
        case let range as Range<Int>: (start, end) = (range.lowerBound, range.upperBound)
        case let range as ClosedRange<Int>: (start, end) = (range.lowerBound, after(range.upperBound))
        case let range as PartialRangeFrom<Int>: (start, end) = (range.lowerBound, Swift.max(count, range.lowerBound))
        case let range as PartialRangeUpTo<Int>: (start, end) = (0, range.upperBound)
        case let range as PartialRangeThrough<Int>: (start, end) = (0, after(range.upperBound))
        default:
            let range = relative(to: 0..<count)
            (start, end) = (range.lowerBound, range.upperBound)
        }
        return Swift.min(start, end)..<Swift.max(start, end)
    }
}

extension Int {
    /// No further than to the end of the numbers: a position there is none of any collection.
    func moved(by distance: Int) -> Int {
        let (sum, isBeyond) = addingReportingOverflow(distance)
        return isBeyond ? distance < 0 ? .min : .max : sum
    }

    func distance(from start: Int) -> Int {
        let (distance, isBeyond) = subtractingReportingOverflow(start)
        return isBeyond ? self < start ? .min : .max : distance
    }
}

// MARK: Several of them

// What is joined is walked over more than once, too: each of them is pinned when the others are.
extension Sequence where Element: LiveCollection {
    public func joined() -> FlattenSequence<[Pinned<Element.Element>]> { map { $0.pinned() }.joined() }
}

extension LazySequenceProtocol where Element: LiveCollection {
    public func joined() -> LazySequence<FlattenSequence<[Pinned<Element.Element>]>> { flatMap { $0 } }
}

extension LazySequenceProtocol {
    /// The collections are taken when this is called, their elements when they are needed.
    public func flatMap<Live: LiveCollection>(
        _ transform: @escaping (Elements.Element) -> Live
    ) -> LazySequence<FlattenSequence<[Pinned<Live.Element>]>> {
        var pins: [Pinned<Live.Element>] = []
        for element in elements { pins.append(transform(element).pinned()) }
        return pins.joined().lazy
    }
}

// MARK: Witnesses that are the same for all

extension LiveCollection {
    /// What is there now may be less when it is copied.
    public var underestimatedCount: Int { 0 }
    public func _copyToContiguousArray() -> ContiguousArray<Element> { walkCopy() }
    public func withContiguousStorageIfAvailable<R>(_ body: (UnsafeBufferPointer<Element>) throws -> R) rethrows -> R? {
        nil
    }
    public func _customContainsEquatableElement(_ element: Element) -> Bool? {
        element is Object ? pinned()._customContainsEquatableElement(element) : nil
    }
    public func _customIndexOfEquatableElement(_ element: Element) -> Int?? {
        element is Object ? pinned()._customIndexOfEquatableElement(element) : nil
    }
    public func _customLastIndexOfEquatableElement(_ element: Element) -> Int?? {
        element is Object ? pinned()._customLastIndexOfEquatableElement(element) : nil
    }
    // What is out of range is dealt with where it is used.
    public func _failEarlyRangeCheck(_ index: Int, bounds: Range<Int>) {}
    public func _failEarlyRangeCheck(_ index: Int, bounds: ClosedRange<Int>) {}
    public func _failEarlyRangeCheck(_ range: Range<Int>, bounds: Range<Int>) {}

    static func index(_ index: Int, _ distance: Int, _ limit: Int) -> Int? {
        let target = index.moved(by: distance)
        if distance >= 0 ? limit >= index && target > limit : limit <= index && target < limit { return nil }
        return target
    }
}

// MARK: Objects

/// Which object is meant: the same one of the store, with or without a primary key (``Object/isSameObject(as:)``),
/// which is more than `==` says. One of another store, or unmanaged, is not there.
extension LiveCollection where Element: Object {
    public func contains(_ object: Element) -> Bool { firstIndex(of: object) != nil }
    public func firstIndex(of object: Element) -> Int? { firstIndex { $0.isSameObject(as: object) } }
    public func lastIndex(of object: Element) -> Int? { lastIndex { $0.isSameObject(as: object) } }
    public func indices(of object: Element) -> RangeSet<Int> { pinned().indices(of: object) }
    public func split(
        separator: Element, maxSplits: Int = .max, omittingEmptySubsequences: Bool = true
    ) -> [Pinned<Element>] {
        split(maxSplits: maxSplits, omittingEmptySubsequences: omittingEmptySubsequences) {
            $0.isSameObject(as: separator)
        }
    }
    public func difference<C: BidirectionalCollection>(from other: C) -> CollectionDifference<Element>
    where C.Element == Element {
        pinned().difference(from: Array(other))
    }
    public func elementsEqual<S: Sequence>(_ other: S) -> Bool where S.Element == Element {
        pinned().elementsEqual(other)
    }
    public func starts<S: Sequence>(with prefix: S) -> Bool where S.Element == Element { pinned().starts(with: prefix) }

    public func contains<C: Collection>(_ other: C) -> Bool where C.Element == Element {
        pinned().contains(Array(other))
    }
    public func firstRange<C: Collection>(of other: C) -> Range<Int>? where C.Element == Element {
        pinned().firstRange(of: Array(other))
    }
    public func ranges<C: Collection>(of other: C) -> [Range<Int>] where C.Element == Element {
        pinned().ranges(of: Array(other))
    }
    public func split<C: Collection>(
        separator: C, maxSplits: Int = .max, omittingEmptySubsequences: Bool = true
    ) -> [Pinned<Element>] where C.Element == Element {
        pinned().split(
            separator: Array(separator), maxSplits: splits(maxSplits),
            omittingEmptySubsequences: omittingEmptySubsequences)
    }
    public func trimmingPrefix<Prefix: Sequence>(_ prefix: Prefix) -> Pinned<Element> where Prefix.Element == Element {
        pinned().trimmingPrefix(Array(prefix))
    }
}

// MARK: Changing elements

/// A live collection whose elements can be given other values.
public protocol MutableLiveCollection<Element>: LiveCollection, MutableCollection {
    func _set(_ element: Element, at index: Int)
    /// All of them, or none; as many as there are in `bounds`, else `.outOfRange` is reported.
    func _set(_ new: Pinned<Element>, in bounds: Range<Int>)
}

extension MutableLiveCollection {
    /// What is there now. Setting replaces an element that is there; else `.outOfRange` is reported.
    public subscript(index: Int) -> Element {
        get { _element(at: index) }
        nonmutating set { _set(newValue, at: index) }
    }
    /// The elements there, in one moment. Setting replaces each by the one that takes its place.
    public subscript(bounds: Range<Int>) -> Pinned<Element> {
        get { _slice(bounds) }
        nonmutating set { _set(newValue, in: bounds) }
    }

    public subscript(bounds: some RangeExpression<Int>) -> Pinned<Element> {
        get { _slice(bounds) }
        nonmutating set { _set(newValue, in: bounds.range(of: _count)) }
    }
    public subscript(_: UnboundedRange) -> Pinned<Element> {
        get { pinned() }
        nonmutating set { _set(newValue, in: 0..<newValue.count) }
    }
}

internal import ObjStoreCore

/// A list of values of any type, in an ``AnyValue``.
///
/// Of a managed object it shows what is at its place in the document, and changes inside a write only; a change
/// writes the element alone to the log. What fails is reported as for properties (docs/swift.md).
public final class AnyList {
    private var elements: [AnyValue] = [] { didSet { ThisThread.didMove() } }
    let place: AnyPlace?
    private let walks = Walks<AnyValue>()

    public init() { place = nil }
    init(_ place: AnyPlace) { self.place = place }

    deinit { AnyValue.letGo(&elements) }

    public convenience init(_ elements: some Sequence<AnyValue>) {
        self.init()
        self.elements = Array(elements)
    }

    public func append(_ value: AnyValue) {
        if let place { place.change(.insert, at: nil, to: value) } else { elements.append(value.detached()) }
    }

    /// Before the element at `index`; `count` is the end. `.outOfRange` is reported.
    public func insert(_ value: AnyValue, at index: Int) {
        if let place {
            place.change(.insert, at: index, to: value)
        } else {
            elements.insert(value.detached(), at: index)
        }
    }

    public func remove(at index: Int) {
        if let place { place.change(.remove, at: index) } else { elements.remove(at: index) }
    }

    public func swapAt(_ first: Int, _ second: Int) {
        if let place { place.swap(first, second) } else { elements.swapAt(first, second) }
    }

    /// The elements as they are now, copied.
    var values: [AnyValue] { place.map { $0.copy(.list).list?.elements ?? [] } ?? elements }

    /// An unmanaged list with the same elements.
    public func detached() -> AnyList {
        AnyValue.list(self).detached().list ?? AnyList()
    }

    /// Gives a list copies of the elements, which `copy` makes.
    func fill(_ new: AnyList, _ copy: (AnyValue) -> AnyValue) { new.elements = values.map(copy) }

    public var isManaged: Bool { place != nil }
}

extension AnyList: MutableLiveCollection {
    public var _count: Int { place?.count(.list) ?? elements.count }
    public func _element(at index: Int) -> AnyValue { place.map { $0.element(at: index) } ?? elements[index] }
    /// Replaces an element that is there.
    public func _set(_ element: AnyValue, at index: Int) {
        if let place { place.change(.set, at: index, to: element) } else { elements[index] = element.detached() }
    }
    public func _set(_ new: Pinned<AnyValue>, in bounds: Range<Int>) {
        guard let place else {
            guard new.count == bounds.count else { return _reportOutOfRange(bounds, elements.count) }
            for (index, element) in zip(bounds, new) { elements[index] = element.detached() }
            return
        }
        place.set(new, in: bounds)
    }
    public func _pinned(_ bounds: (Int) -> Range<Int>) -> Pinned<AnyValue> {
        let values = values, pinned = Pinned(values)[bounds(values.count)]
        guard let place else { return pinned }
        // Lists and dictionaries among them stay managed.
        return Pinned(pinned.indices) { values[$0].shown(at: place.at(.index($0))) }
    }
    public func _walking<R>(_ body: (inout _Walk<AnyValue>) -> R) -> R { walks.with(body) }
    public func _reportOutOfRange(_ range: Range<Int>, _ count: Int) {
        guard let place = place?.place else { preconditionFailure("\(range) of \(count.counted("element"))") }
        place.binding.report(StoreError(.outOfRange, "\(range) of \(count.counted("element"))"), place.index)
    }
    /// The elements as they are now.
    public func makeIterator() -> IndexingIterator<Pinned<AnyValue>> { (walked ?? pinned()).makeIterator() }
}

/// What generic code sees; see ``LiveCollection``.
extension AnyList {
    @_disfavoredOverload public var startIndex: Int { walkStart }
    @_disfavoredOverload public var endIndex: Int { walkEnd }
    @_disfavoredOverload public var count: Int { walkCount }
    @_disfavoredOverload public var isEmpty: Bool { walkCount == 0 }
    @_disfavoredOverload public var indices: Range<Int> { 0..<walkCount }
    @_disfavoredOverload public subscript(index: Int) -> AnyValue {
        get { walkElement(index) }
        set { _set(newValue, at: index) }
    }
    @_disfavoredOverload public subscript(bounds: Range<Int>) -> Pinned<AnyValue> {
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

extension AnyList: Equatable {
    public static func == (left: AnyList, right: AnyList) -> Bool { AnyValue.list(left) == .list(right) }
}

extension AnyList: CustomStringConvertible {
    public var description: String { describe(0) }

    func describe(_ level: Int) -> String { "[" + values.map { $0.describe(level + 1) }.joined(separator: ", ") + "]" }
}

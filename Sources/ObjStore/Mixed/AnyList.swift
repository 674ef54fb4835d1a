internal import ObjStoreCore

/// A list of values of any type, in an ``AnyValue``.
///
/// Of a managed object it shows what stands at its place in the document, and changes inside a write only; a change writes the
/// element alone to the log. What fails is reported as for properties (docs/swift.md).
public final class AnyList {
    private var elements: [AnyValue] = []
    let place: AnyPlace?

    public init() { place = nil }
    init(_ place: AnyPlace) { self.place = place }

    public convenience init(_ elements: some Sequence<AnyValue>) {
        self.init()
        self.elements = Array(elements)
    }

    public func append(_ value: AnyValue) { insert(value, at: -1) }

    /// Before the element at `index`; `count` is the end.
    public func insert(_ value: AnyValue, at index: Int) {
        guard let place else { return elements.insert(value.detached(), at: index == -1 ? elements.count : index) }
        place.at(.index(index)).change(.insert, to: value)
    }

    public func remove(at index: Int) {
        if let place { place.at(.index(index)).change(.remove) } else { elements.remove(at: index) }
    }

    /// Lists and dictionaries among the elements show what stands at their place: copied before that changes.
    public func swapAt(_ first: Int, _ second: Int) {
        if first == second { return }
        let (one, other) = (self[first].detached(), self[second].detached())
        self[first] = other
        self[second] = one
    }

    /// The elements as they are now, copied.
    var values: [AnyValue] { place == nil ? elements : detached().elements }

    /// An unmanaged list with the same elements.
    public func detached() -> AnyList {
        guard let place else { return AnyList(elements.map { $0.detached() }) }
        return place.copy().list ?? AnyList()
    }

    public var isManaged: Bool { place != nil }
}

extension AnyList: RandomAccessCollection, MutableCollection {
    public var startIndex: Int { 0 }
    public var endIndex: Int { place?.count() ?? elements.count }

    /// Setting replaces an element that is there.
    public subscript(index: Int) -> AnyValue {
        get { place.map { $0.at(.index(index)).value() ?? AnyValue.none } ?? elements[index] }
        set { if let place { place.at(.index(index)).change(.set, to: newValue) } else { elements[index] = newValue.detached() } }
    }
}

extension AnyList: Equatable {
    public static func == (left: AnyList, right: AnyList) -> Bool { left === right || left.values == right.values }
}

extension AnyList: CustomStringConvertible {
    public var description: String { "[" + values.map(\.description).joined(separator: ", ") + "]" }
}

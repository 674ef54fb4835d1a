internal import ObjStoreCore

/// A dictionary from texts to values of any type, in an ``AnyValue``. Its keys are in ascending order of their UTF-8.
///
/// Of a managed object it shows what stands at its place in the document, and changes inside a write only; a change writes the
/// value of that key alone to the log. What fails is reported as for properties (docs/swift.md).
public final class AnyMap {
    private var content: [String: AnyValue] = [:]
    let place: AnyPlace?

    public init() { place = nil }
    init(_ place: AnyPlace) { self.place = place }

    public convenience init(_ entries: [String: AnyValue]) {
        self.init()
        content = entries
    }

    /// Nil: it does not have the key. Setting adds or replaces; nil removes, ``AnyValue/none`` is a null that is there.
    public subscript(key: String) -> AnyValue? {
        get { if let place { place.at(.key(key)).value() } else { content[key] } }
        set {
            guard let place else {
                content[key] = newValue.map { $0.detached() }
                return
            }
            if let newValue {
                place.at(.key(key)).change(.set, to: newValue)
            } else if place.at(.key(key)).value() != nil {
                place.at(.key(key)).change(.remove)
            }
        }
    }

    public var count: Int { place?.count() ?? content.count }
    public var isEmpty: Bool { count == 0 }
    public var keys: [String] { place?.keys() ?? content.keys.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) } }

    /// The entries as they are now, copied.
    var entries: [String: AnyValue] { place == nil ? content : detached().content }

    /// An unmanaged dictionary with the same entries.
    public func detached() -> AnyMap {
        guard let place else { return AnyMap(content.mapValues { $0.detached() }) }
        return place.copy().dictionary ?? AnyMap()
    }

    public var isManaged: Bool { place != nil }
}

extension AnyMap: Sequence {
    /// The entries as they are now, in the order of the keys; lists and dictionaries in them stay managed.
    public func makeIterator() -> IndexingIterator<[(key: String, value: AnyValue)]> {
        let entries = entries.sorted { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }
        guard let place else { return entries.map { ($0.key, $0.value) }.makeIterator() }
        return entries.map { (key: $0.key, value: $0.value.shown(at: place.at(.key($0.key)))) }.makeIterator()
    }
}

extension AnyMap: Equatable {
    public static func == (left: AnyMap, right: AnyMap) -> Bool { left === right || left.entries == right.entries }
}

extension AnyMap: CustomStringConvertible {
    public var description: String { isEmpty ? "[:]" : "[" + map { "\($0.key): \($0.value)" }.joined(separator: ", ") + "]" }
}

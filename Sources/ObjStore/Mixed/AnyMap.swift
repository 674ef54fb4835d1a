internal import ObjStoreCore

/// A dictionary from texts to values of any type, in an ``AnyValue``. Its keys are in ascending order of their UTF-8.
///
/// Of a managed object it shows what is at its place in the document, and changes inside a write only; a change
/// writes the value of that key alone to the log. What fails is reported as for properties (docs/swift.md).
public final class AnyMap {
    typealias Content = [ExactKey<String>: AnyValue]
    /// Of an unmanaged one.
    private var content: Content = [:]
    let place: AnyPlace?

    public init() { place = nil }
    init(_ place: AnyPlace) { self.place = place }

    deinit { AnyValue.letGo(&content) }

    public convenience init(_ entries: [String: AnyValue]) {
        self.init(entries: entries.lazy.map { ($0.key, $0.value) })
    }

    /// Of a key that comes twice the last value.
    convenience init(entries: some Sequence<(String, AnyValue)>) {
        self.init()
        for (key, value) in entries { content[ExactKey(key)] = value }
    }

    /// Nil: it does not have the key. Setting adds or replaces; nil removes, ``AnyValue/none`` is a null that is there.
    public subscript(key: String) -> AnyValue? {
        get { if let place { place.at(.key(key)).value() } else { content[ExactKey(key)] } }
        set {
            guard let place else {
                content[ExactKey(key)] = newValue.map { $0.detached() }
                return
            }
            if let newValue {
                place.at(.key(key)).change(.set, to: newValue)
            } else if place.at(.key(key)).value() != nil {
                place.at(.key(key)).change(.remove)
            }
        }
    }

    public var count: Int { place?.count(.map) ?? content.count }
    public var isEmpty: Bool { count == 0 }
    public var keys: [String] {
        place?.keys() ?? content.keys.map(\.key).sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
    }

    /// The entries as they are now, copied.
    var entries: Content { place.map { $0.copy(.map).dictionary?.content ?? [:] } ?? content }

    /// The same in the order of the keys.
    var sortedEntries: [(key: String, value: AnyValue)] {
        entries.map { (key: $0.key.key, value: $0.value) }.sorted { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }
    }

    /// An unmanaged dictionary with the same entries.
    public func detached() -> AnyMap {
        AnyValue.dictionary(self).detached().dictionary ?? AnyMap()
    }

    /// Gives a dictionary copies of the values, which `copy` makes.
    func fill(_ new: AnyMap, _ copy: (AnyValue) -> AnyValue) { new.content = entries.mapValues(copy) }

    public var isManaged: Bool { place != nil }
}

extension AnyMap: Sequence {
    /// The entries as they are now, in the order of the keys; lists and dictionaries in them stay managed.
    public func makeIterator() -> IndexingIterator<[(key: String, value: AnyValue)]> {
        guard let place else { return sortedEntries.makeIterator() }
        return sortedEntries.map { (key: $0.key, value: $0.value.shown(at: place.at(.key($0.key)))) }.makeIterator()
    }
}

extension AnyMap: Equatable {
    public static func == (left: AnyMap, right: AnyMap) -> Bool { AnyValue.dictionary(left) == .dictionary(right) }
}

extension AnyMap: CustomStringConvertible {
    public var description: String { describe(0) }

    func describe(_ level: Int) -> String {
        isEmpty ? "[:]" : "[" + map { "\($0.key): \($0.value.describe(level + 1))" }.joined(separator: ", ") + "]"
    }
}

/// Links of created objects to objects that do not exist yet.
final class WaitingLinks {
    enum Target {
        case given(Value)
        case object(Int64)
        /// What a node of the graph becomes, which was not made yet.
        case node(Int)
        /// The parts of the primary key of what is not there yet, and what to say where it does not come.
        case waits([(position: Int, value: OwnedValue)], StoreError)

        var isWaiting: Bool {
            switch self {
            case .given, .object: false
            case .waits, .node: true
            }
        }

        func value(_ cls: ClassSchema, _ position: Int, in storeTag: UInt32) -> Value {
            switch self {
            case .given(let value): value
            case .object(let key):
                .link(ObjectID(classID: cls.columns[position].target, storeTag: storeTag, key: key))
            case .waits, .node: .null
            }
        }
    }

    /// A mixed value, or all elements of a collection of such, with references in them: a copy of what was given.
    struct Nested {
        let values: [Value]
        private let bytes = KeptBytes()
        /// By the index of the key in `values`: what to say where it does not come.
        let missing: [Int: StoreError]
        let convert: Assembler.Options.Convert?

        init(
            _ values: Slice<UnsafeBufferPointer<Value>>, _ missing: [Int: StoreError],
            _ convert: Assembler.Options.Convert?
        ) throws(StoreError) {
            try Memory.check(for: values.count, each: MemoryLayout<Value>.stride)
            var copy = Array(values)
            try bytes.keep(&copy)
            self.values = copy
            self.missing = missing
            self.convert = convert
        }
    }

    enum Waiting {
        /// Of a list, set or map all; of a single link that one.
        case links([(key: OwnedValue?, link: Target)])
        case nested(Nested)
    }

    struct Place: Hashable {
        var classIndex: Int
        var key: Int64
        var position: Int
    }

    private var waiting: [(place: Place, what: Waiting, node: Int?)?] = []
    private var indexes: [Place: Int] = [:]
    /// Several calls use it: its creator connects the links.
    let isShared: Bool

    init(isShared: Bool) { self.isShared = isShared }

    var isEmpty: Bool { indexes.isEmpty }

    /// The last of a place counts.
    ///
    /// - Parameter node: of a graph, whose description it is part of.
    func wait(_ place: Place, _ what: Waiting, of node: Int?) {
        forget(place)
        indexes[place] = waiting.count
        waiting.append((place, what, node))
    }

    func forget(_ place: Place) {
        if let index = indexes.removeValue(forKey: place) { waiting[index] = nil }
    }

    /// All, in the order in which they came; afterwards there is nothing.
    func take() -> [(place: Place, what: Waiting, node: Int?)] {
        defer { (waiting, indexes) = ([], [:]) }
        return waiting.compactMap { $0 }
    }
}

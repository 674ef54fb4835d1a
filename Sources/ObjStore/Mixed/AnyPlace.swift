internal import ObjStoreCore

/// A step into a document.
enum AnyStep {
    case index(Int)
    case key(String)

    /// For messages.
    var text: String {
        switch self {
        case .index(let index): "[\(index)]"
        case .key(let key): "[\"\(key)\"]"
        }
    }

    static func withBytes<T>(_ text: String, _ body: (UnsafeRawBufferPointer) throws(StoreError) -> T) throws(StoreError) -> T {
        var text = text, result: Result<T, StoreError>?
        text.withUTF8 { bytes in result = Result { () throws(StoreError) in try body(UnsafeRawBufferPointer(bytes)) } }
        return try result.unsafelyUnwrapped.get()
    }

    /// Calls `body` with the steps as the core takes them; valid until it returns.
    static func withPath<T>(_ steps: [AnyStep], _ body: ([MixedStep]) throws(StoreError) -> T) throws(StoreError) -> T {
        try withPath(steps[...], [], body)
    }

    private static func withPath<T>(
        _ steps: ArraySlice<AnyStep>, _ path: [MixedStep], _ body: ([MixedStep]) throws(StoreError) -> T
    ) throws(StoreError) -> T {
        guard let first = steps.first else { return try body(path) }
        switch first {
        case .index(let index): return try withPath(steps.dropFirst(), path + [.index(index)], body)
        case .key(let key):
            return try withBytes(key) { (bytes) throws(StoreError) in try withPath(steps.dropFirst(), path + [.key(bytes)], body) }
        }
    }
}

/// Where a value inside a managed mixed property is.
struct AnyPlace {
    let place: CollectionPlace
    let path: [AnyStep]

    init(_ place: CollectionPlace, _ path: [AnyStep] = []) {
        self.place = place
        self.path = path
    }

    var space: ObjectSpace { place.binding.space }

    func at(_ step: AnyStep) -> AnyPlace { AnyPlace(place, path + [step]) }

    /// The list or dictionary that a document is, which stands here; nil: it is damaged.
    func nested(_ document: Value) -> AnyValue? {
        guard let kind = try? MixedNode(document.pointer, document.count).kind else { return nil }
        return kind == .list ? .list(AnyList(self)) : .dictionary(AnyMap(self))
    }

    /// The value, its lists and dictionaries managed; nil: there is none.
    func value() -> AnyValue? {
        place.readingTexts(nil) { (view, id, buffer) throws(StoreError) in
            try AnyStep.withPath(path) { (path) throws(StoreError) -> AnyValue? in
                guard let value = try view.mixed(id.owner, id.propertyID, path, whole: false, buffer) else { return nil }
                switch value.kind {
                case .list: return .list(AnyList(self))
                case .map: return .dictionary(AnyMap(self))
                case .link: return try AnyValue(link: value, space)
                default: return AnyValue(scalar: value)
                }
            }
        }
    }

    // What a list or dictionary asks, in whose place another value may stand by now, or none: that is reported.

    /// Everything in the list or dictionary, copied.
    func copy(_ kind: ValueKind) -> AnyValue {
        place.readingTexts(AnyValue.none) { (view, id, buffer) throws(StoreError) in
            try AnyStep.withPath(path) { (path) throws(StoreError) in
                guard let value = try view.mixed(id.owner, id.propertyID, path, whole: true, buffer) else { throw gone(kind) }
                try check(kind, value.kind == .document ? try MixedNode(value.pointer, value.count).kind : value.kind)
                return try AnyValue(copying: value, space)
            }
        }
    }

    /// How many elements the list or dictionary has.
    func count(_ kind: ValueKind) -> Int {
        place.readingTexts(0) { (view, id, buffer) throws(StoreError) in
            try AnyStep.withPath(path) { (path) throws(StoreError) in
                guard let value = try view.mixed(id.owner, id.propertyID, path, whole: false, buffer) else { throw gone(kind) }
                try check(kind, value.kind)
                return Int(value.low)
            }
        }
    }

    private func check(_ kind: ValueKind, _ found: ValueKind) throws(StoreError) {
        if found != kind { throw StoreError(.wrongType, "\(text) is \(found.indefinite) now, not \(kind.indefinite)") }
    }

    private func gone(_ kind: ValueKind) -> StoreError { StoreError(.notFound, "\(text) is \(kind.indefinite) no more: there is nothing") }

    private var text: String { place.binding.path(place.index) + path.map(\.text).joined() }

    func keys() -> [String] {
        place.readingTexts([]) { (view, id, buffer) throws(StoreError) in
            try AnyStep.withPath(path) { (path) throws(StoreError) in
                var keys: [String] = []
                let count = try view.mixedKeys(id.owner, id.propertyID, path, from: 0, limit: .max, buffer) { _, key in keys.append(_StoredValue(value: key).text) }
                if count == nil { throw gone(.map) }
                return keys
            }
        }
    }

    /// Inside a write; what fails is reported. Unmanaged objects in the value are added, and stay out where it fails.
    func change(_ action: MixedAction, to value: AnyValue = AnyValue.none) {
        place.changing(()) { (view, id) throws(StoreError) in
            try ObjectGraph.adding(value, space, view) { (created) throws(StoreError) in
                try AnyStep.withPath(path) { (path) throws(StoreError) in
                    try value.withValue(created) { (value) throws(StoreError) in try view.edit(id.owner, id.propertyID, path, action, value) }
                }
            }
        }
    }
}

extension AnyValue {
    /// What was copied from a place, its lists and dictionaries managed.
    func shown(at place: AnyPlace) -> AnyValue {
        switch self {
        case .list: .list(AnyList(place))
        case .dictionary: .dictionary(AnyMap(place))
        default: self
        }
    }
}

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

    static func withBytes<T>(
        _ text: String, _ body: (UnsafeRawBufferPointer) throws(StoreError) -> T
    ) throws(StoreError) -> T {
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
            return try withBytes(key) { (bytes) throws(StoreError) in
                try withPath(steps.dropFirst(), path + [.key(bytes)], body)
            }
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

    /// The list or dictionary that a document is, which is here; nil: it is damaged.
    func nested(_ document: Value) -> AnyValue? {
        guard let kind = try? MixedNode(document.pointer, document.count).kind else { return nil }
        return kind == .list ? .list(AnyList(self)) : .dictionary(AnyMap(self))
    }

    /// The value, its lists and dictionaries managed; nil: there is none.
    func value() -> AnyValue? {
        place.readingTexts(nil) { (view, id, buffer) throws(StoreError) in try value(view, id, buffer) }
    }

    private func value(
        _ view: View, _ id: CollectionID, _ buffer: UnsafeMutablePointer<OutputBuffer>?
    ) throws(StoreError) -> AnyValue? {
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

    // Queries by a list or dictionary whose place may have another value by now, or none: that is reported.

    /// Everything in the list or dictionary, copied.
    func copy(_ kind: ValueKind) -> AnyValue {
        place.readingTexts(AnyValue.none) { (view, id, buffer) throws(StoreError) in
            guard let value = try whole(view, id, buffer, kind) else { throw gone(kind) }
            return value
        }
    }

    /// - Parameter kind: what it must be; nil: anything.
    private func whole(
        _ view: View, _ id: CollectionID, _ buffer: UnsafeMutablePointer<OutputBuffer>?, _ kind: ValueKind? = nil
    ) throws(StoreError) -> AnyValue? {
        try AnyStep.withPath(path) { (path) throws(StoreError) in
            guard let value = try view.mixed(id.owner, id.propertyID, path, whole: true, buffer) else { return nil }
            if let kind {
                try check(kind, value.kind == .document ? try MixedNode(value.pointer, value.count).kind : value.kind)
            }
            return try AnyValue(copying: value, space)
        }
    }

    /// How many elements the list or dictionary has.
    func count(_ kind: ValueKind) -> Int {
        place.readingTexts(0) { (view, id, buffer) throws(StoreError) in try count(kind, view, id, buffer) }
    }

    private func count(
        _ kind: ValueKind, _ view: View, _ id: CollectionID, _ buffer: UnsafeMutablePointer<OutputBuffer>?
    ) throws(StoreError) -> Int {
        try AnyStep.withPath(path) { (path) throws(StoreError) in
            guard let value = try view.mixed(id.owner, id.propertyID, path, whole: false, buffer) else {
                throw gone(kind)
            }
            try check(kind, value.kind)
            return Int(value.low)
        }
    }

    /// An element of the list, its lists and dictionaries managed. `.outOfRange` is reported: to the core an index
    /// below 0 is one from the end.
    func element(at index: Int) -> AnyValue {
        place.readingTexts(AnyValue.none) { (view, id, buffer) throws(StoreError) in
            if index >= 0, let value = try at(.index(index)).value(view, id, buffer) { return value }
            throw outOfRange(index, try count(.list, view, id, buffer))
        }
    }

    private func outOfRange(_ index: Int, _ count: Int) -> StoreError {
        StoreError(.outOfRange, "\(text): index \(index), \(count.elementsThere)")
    }

    private func check(_ kind: ValueKind, _ found: ValueKind) throws(StoreError) {
        if found != kind { throw StoreError(.wrongType, "\(text) is \(found.indefinite) now, not \(kind.indefinite)") }
    }

    private func gone(_ kind: ValueKind) -> StoreError {
        StoreError(.notFound, "\(text) is \(kind.indefinite) no more: there is nothing")
    }

    private var text: String { place.binding.path(place.index) + path.map(\.text).joined() }

    func keys() -> [String] {
        place.readingTexts([]) { (view, id, buffer) throws(StoreError) in
            try AnyStep.withPath(path) { (path) throws(StoreError) in
                var keys: [String] = []
                let count = try view.mixedKeys(id.owner, id.propertyID, path, from: 0, limit: .max, buffer) { _, key in
                    keys.append(_StoredValue(value: key).text)
                }
                if count == nil { throw gone(.map) }
                return keys
            }
        }
    }

    /// Inside a write; what fails is reported. Unmanaged objects in the value are added, and stay out where it fails.
    func change(_ action: MixedAction, to value: AnyValue = AnyValue.none) {
        place.changing(()) { (view, id) throws(StoreError) in try change(action, to: value, view, id) }
    }

    private func change(_ action: MixedAction, to value: AnyValue, _ view: View, _ id: CollectionID) throws(StoreError)
    {
        try ObjectGraph.adding(value, space, view) { (links) throws(StoreError) in
            try AnyStep.withPath(path) { (path) throws(StoreError) in
                try value.withValue(links) { (value) throws(StoreError) in
                    try view.edit(id.owner, id.propertyID, path, action, value)
                }
            }
        }
    }

    // MARK: Changing the list

    /// Inserts, sets or removes an element of the list; nil: inserts at its end.
    func change(_ action: MixedAction, at index: Int?, to value: AnyValue = AnyValue.none) {
        changingList { (view, id, count) throws(StoreError) in
            let index = index ?? count
            guard index >= 0, index < count || action == .insert && index == count else {
                throw outOfRange(index, count)
            }
            try at(.index(index)).change(action, to: value, view, id)
        }
    }

    func swap(_ first: Int, _ second: Int) {
        changingList { (view, id, count) throws(StoreError) in
            for index in [first, second] where index < 0 || index >= count { throw outOfRange(index, count) }
            if first == second { return }
            // Lists and dictionaries among the elements show what is at their place: copied before that changes.
            func copied(_ index: Int) throws(StoreError) -> AnyValue {
                var buffer = OutputBuffer()
                defer { OutputBuffer.free(&buffer) }
                guard let value = try at(.index(index)).whole(view, id, &buffer) else { throw outOfRange(index, count) }
                return value
            }
            let one = try copied(first), other = try copied(second)
            try view.atOnce { () throws(StoreError) in
                try at(.index(first)).change(.set, to: other, view, id)
                try at(.index(second)).change(.set, to: one, view, id)
            }
        }
    }

    /// Gives elements of the list other values, as many as they are: in one step, for some may be refused, or come from
    /// the list itself.
    func set(_ new: Pinned<AnyValue>, in bounds: Range<Int>) {
        changingList { (view, id, count) throws(StoreError) in
            guard bounds.lowerBound >= 0, bounds.upperBound <= count else {
                throw StoreError(.outOfRange, "\(text): \(bounds), \(count.elementsThere)")
            }
            guard new.count == bounds.count else {
                throw StoreError(.outOfRange, "\(text): \(new.count.counted("element")) for \(bounds)")
            }
            var buffer = OutputBuffer()
            defer { OutputBuffer.free(&buffer) }
            guard let elements = try whole(view, id, &buffer, .list)?.list else { throw gone(.list) }
            let collector = ErrorCollector()
            collector.run { for (index, element) in zip(bounds, new) { elements[index] = element } }
            if let error = collector.first { throw error.ofCore }
            try change(.set, to: .list(elements), view, id)
        }
    }

    private func changingList(_ body: (_ view: View, _ id: CollectionID, _ count: Int) throws(StoreError) -> Void) {
        place.changing(()) { (view, id) throws(StoreError) in
            var buffer = OutputBuffer()
            defer { OutputBuffer.free(&buffer) }
            try body(view, id, try count(.list, view, id, &buffer))
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

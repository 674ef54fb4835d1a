internal import ObjStoreCore

// Values that are nested: copied, compared and let go with a list of what is still to do, for those of no store may be
// deep beyond any stack.

extension AnyValue {
    /// What it keeps alive.
    var reference: AnyObject? {
        switch self {
        case .object(let object): object
        case .list(let list): list
        case .dictionary(let map): map
        default: nil
        }
    }

    /// The values of a list that is going: none afterwards.
    static func letGo(_ elements: inout [AnyValue]) {
        if elements.allSatisfy({ $0.reference == nil }) { return }
        _References.collecting { references in
            for value in elements { if let reference = value.reference { references.add(reference) } }
            // Here, for what is collected goes before this function returns, and must not be shared.
            elements = []
        }
    }

    /// The same of a dictionary.
    static func letGo(_ content: inout AnyMap.Content) {
        if content.values.allSatisfy({ $0.reference == nil }) { return }
        var values = Array(content.values)
        content = [:]
        letGo(&values)
    }

    /// The objects in it, at any depth, as often as they come.
    var objects: [Object] { objects { _ in true } }

    /// Those that are in no store yet. Nothing in a store leads to one.
    var unmanagedObjects: [Object] { objects { !$0 }.filter { $0._binding == nil } }

    /// Of lists and dictionaries for which `isIn` is true: it gets whether they are managed.
    private func objects(_ isIn: (Bool) -> Bool) -> [Object] {
        var found: [Object] = [], rest = [self]
        while let value = rest.popLast() {
            switch value {
            case .object(let object): found.append(object)
            case .list(let list): if isIn(list.isManaged) { rest += list.values.reversed() }
            case .dictionary(let map): if isIn(map.isManaged) { rest += map.sortedEntries.reversed().lazy.map(\.value) }
            default: break
            }
        }
        return found
    }

    /// The same value, its lists and dictionaries copied out of the store; the objects stay the same.
    public func detached() -> AnyValue { reference == nil ? self : copied(wholePlaces: true) { $0 } }

    /// A copy with other objects instead of these, and none instead of those that are nil.
    func mapObjects(_ other: (Object) -> Object?) -> AnyValue {
        reference == nil ? self : copied(wholePlaces: false, other)
    }

    /// - Parameter wholePlaces: what a store has is copied in one step, with the same objects.
    private func copied(wholePlaces: Bool, _ other: (Object) -> Object?) -> AnyValue {
        var unfilled: [(AnyValue, AnyValue)] = []
        func begun(_ value: AnyValue) -> AnyValue {
            let new: AnyValue
            switch value {
            case .object(let object): return other(object).map { .object($0) } ?? AnyValue.none
            case .list(let list):
                if wholePlaces, let place = list.place { return .list(place.copy(.list).list ?? AnyList()) }
                new = .list(AnyList())
            case .dictionary(let map):
                if wholePlaces, let place = map.place { return .dictionary(place.copy(.map).dictionary ?? AnyMap()) }
                new = .dictionary(AnyMap())
            default: return value
            }
            unfilled.append((value, new))
            return new
        }
        let copy = begun(self)
        while let (value, new) = unfilled.popLast() {
            if case (.list(let list), .list(let new)) = (value, new) { list.fill(new, begun) }
            if case (.dictionary(let map), .dictionary(let new)) = (value, new) { map.fill(new, begun) }
        }
        return copy
    }
}

/// Values are equal when they are of one type and equal; an `.int` equals no `.double`. Objects are equal as
/// ``Object/isSameObject(as:)`` says.
extension AnyValue: Equatable {
    public static func == (left: AnyValue, right: AnyValue) -> Bool {
        var uncompared: [(AnyValue, AnyValue)] = []
        guard left.equals(right, but: &uncompared) else { return false }
        while let (left, right) = uncompared.popLast() {
            guard left.equals(right, but: &uncompared) else { return false }
        }
        return true
    }

    /// But for what is in lists and dictionaries, which it adds to `pairs`.
    private func equals(_ other: AnyValue, but pairs: inout [(AnyValue, AnyValue)]) -> Bool {
        switch (self, other) {
        case (.none, .none): return true
        case (.bool(let a), .bool(let b)): return a == b
        case (.int(let a), .int(let b)): return a == b
        case (.float(let a), .float(let b)): return a == b
        case (.double(let a), .double(let b)): return a == b
        case (.decimal128(let a), .decimal128(let b)): return a == b
        case (.string(let a), .string(let b)): return a == b
        case (.data(let a), .data(let b)): return a == b
        case (.date(let a), .date(let b)): return a == b
        case (.objectId(let a), .objectId(let b)): return a == b
        case (.uuid(let a), .uuid(let b)): return a == b
        case (.list(let a), .list(let b)):
            if a === b { return true }
            let mine = a.values, others = b.values
            pairs += zip(mine, others)
            return mine.count == others.count
        case (.dictionary(let a), .dictionary(let b)):
            if a === b { return true }
            let mine = a.entries, others = b.entries
            for (key, value) in mine {
                guard let other = others[key] else { return false }
                pairs.append((value, other))
            }
            return mine.count == others.count
        case (.object(let a), .object(let b)): return a.isSameObject(as: b)
        default: return false
        }
    }
}

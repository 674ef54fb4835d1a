/// Giving a list, set or map other elements as a whole.
extension CollectionEditor {
    /// Replaces all elements; `keys` are a map's, else nil. Of equal values a set takes the first, of a key that comes
    /// twice a map the last value.
    func assign(
        _ keys: UnsafePointer<Value>?, _ values: UnsafePointer<Value>?, _ count: Int
    ) throws(StoreError) {
        let cls = cls, kind = cls.columns[position].kind
        if keys != nil, kind != .map { throw cls.wrongCollection(position, "a map", "only its entries have keys") }
        if keys == nil, kind == .map, count > 0 {
            throw cls.named(
                StoreError(
                    .invalidArgument,
                    """
                    \(cls.name).\(cls.properties[position].name) is a map: its values need keys
                    """),
                position)
        }
        var new: [(key: Value, value: Value)] = []
        try new.tryReserve(count)
        // They may lie where the first ones are written.
        let kept = KeptTexts()
        defer { withExtendedLifetime(kept) {} }
        for index in 0..<count {
            if let keys { try writer.check(keys[index], newKeyOf: position, cls) }
            let value = try writer.checked(values.unsafelyUnwrapped[index], elementOf: position, cls)
            let key = if let keys { try kept.keep(keys[index]) } else { Value.null }
            new.append((key, try kept.keep(value)))
        }
        if kind != .list { new = try new.inOrder(CollectionOrder.entries(kind)) { _ in kind == .map } }
        try replaceAll(with: new)
    }

    /// Replaces all links of a list or set by links to objects of a class, in their order. `.noSuchObject` where one is
    /// not there.
    func assign(_ found: KeyBuffer, ofClass classID: UInt32) throws(StoreError) {
        let cls = cls
        guard cls.elements(of: position).kind == .link else {
            throw cls.wrongCollection(
                position, "a collection of links", "its elements are of type \(cls.elements(of: position).kind)")
        }
        try writer.checkTarget(
            ObjectID(classID: classID, storeTag: writer.storeTag, key: found.count > 0 ? found.keys[0] : 0), position,
            cls)
        let keys = cls.columns[position].kind == .set ? try found.ascending() : found
        let targets = try writer.linkTargets(position, cls)
        var new: [(key: Value, value: Value)] = []
        try new.tryReserve(keys.count)
        for index in 0..<keys.count {
            try writer.checkExists(keys.keys[index], position, cls, targets)
            new.append((.null, Value(kind: .link, low: keys.keys[index])))
        }
        try replaceAll(with: new)
    }

    private func replaceAll(with new: [(key: Value, value: Value)]) throws(StoreError) {
        let old = try elements.count()
        // Also nothing instead of nothing is written: observers see it.
        try writer.whole(state) { (transaction) throws(StoreError) in
            var done = 0
            repeat {
                let end = min(done + CollectionEditor.atOnce, new.count)
                if done == 0 {
                    try writer.replace(state, try state.elements(owner, position), position, 0..<old, new[..<end])
                } else {
                    try state.splice(owner, position, done..<done, new[done..<end])
                }
                try transaction.spillIfLarge()
                done = end
            } while done < new.count
        }
    }
}

extension CollectionOrder {
    /// Of what a set or a map has.
    static func entries(_ kind: ValueKind) -> (_ a: (key: Value, value: Value), _ b: (key: Value, value: Value)) -> Int
    {
        kind == .map ? { compare($0.key, $1.key) } : { compare($0.value, $1.value) }
    }
}

extension Array {
    /// As a set or map has them: ascending, each once. `replaces` says of each that equals the one before it whether it
    /// takes its place.
    func inOrder(
        _ compare: (Element, Element) -> Int, _ replaces: (Element) throws(StoreError) -> Bool
    ) throws(StoreError) -> [Element] {
        // Of sorting, too: a copy, and half of one.
        try Memory.check(for: count, each: 3 * MemoryLayout<Element>.stride)
        var result: [Element] = []
        result.reserveCapacity(count)
        // Equal ones stay in the order in which they were given: sorting is stable.
        for element in sorted(by: { compare($0, $1) < 0 }) {
            guard let last = result.last, compare(last, element) == 0 else {
                result.append(element)
                continue
            }
            if try replaces(element) { result[result.count - 1] = element }
        }
        return result
    }
}

/// Giving a list, set or map other elements as a whole.
extension View {
    /// Replaces all elements; `keys` are a map's, else nil. A set takes equal values once, of a key that comes twice a map keeps
    /// the last value.
    package func assign(_ id: CollectionID, _ keys: UnsafePointer<Value>?, _ values: UnsafePointer<Value>?, _ count: Int) throws(StoreError) {
        try changing(id, .all) { (state, elements, position) throws(StoreError) in
            let cls = state.schema, kind = cls.columns[position].kind
            if keys != nil, kind != .map { throw cls.wrongCollection(position, "a map", "only its entries have keys") }
            if keys == nil, kind == .map, count > 0 {
                throw cls.named(StoreError(.invalidArgument, "\(cls.name).\(cls.properties[position].name) is a map: its values need keys"), position)
            }
            var new: [(key: Value, value: Value)] = []
            new.reserveCapacity(count)
            let kept = cls.elements(of: position).kind == .mixed ? KeptTexts() : nil
            defer { withExtendedLifetime(kept) {} }
            var bytes = 0
            for index in 0..<count {
                if let keys { try check(keys[index], keyOf: position, cls) }
                let value = try checked(values.unsafelyUnwrapped[index], elementOf: position, cls)
                let element = (key: keys?[index] ?? .null, value: kept?.keep(value) ?? value)
                bytes += (element.key.kind.hasBytes ? element.key.count : 0) + (element.value.kind.hasBytes ? element.value.count : 0)
                new.append(element)
            }
            // They may lie where the first ones are written.
            let copy = UnsafeMutableRawPointer.allocate(byteCount: max(bytes, 1), alignment: 1)
            defer { copy.deallocate() }
            if bytes > 0 {
                var at = copy
                for index in new.indices {
                    new[index].key.move(to: &at)
                    new[index].value.move(to: &at)
                }
            }
            try replaceAll(state, id.owner.key, position, try elements.count(), with: kind == .list ? new : new.inOrder(isMap: kind == .map))
        }
    }

    /// Replaces all links of a list or set by links to the objects of results, in their order. `.noSuchObject` where one was deleted
    /// since.
    package func assign(_ id: CollectionID, _ results: Results) throws(StoreError) {
        let found = results.list(), tag = results.view.shared.tag
        guard tag == shared.tag else { throw View.wrongResults }
        try changing(id, [.list, .set]) { (state, elements, position) throws(StoreError) in
            let cls = state.schema
            guard cls.elements(of: position).kind == .link else {
                throw cls.wrongCollection(position, "a collection of links", "its elements are of type \(cls.elements(of: position).kind)")
            }
            try checkTarget(ObjectID(classID: results.classID, storeTag: tag, key: found.count > 0 ? found.keys[0] : 0), position, cls)
            let keys = cls.columns[position].kind == .set ? found.ascending() : found
            let targets = try linkTargets(position, cls)
            var new: [(key: Value, value: Value)] = []
            new.reserveCapacity(keys.count)
            for index in 0..<keys.count {
                try checkExists(keys.keys[index], position, cls, targets)
                new.append((.null, Value(kind: .link, low: keys.keys[index])))
            }
            try replaceAll(state, id.owner.key, position, try elements.count(), with: new)
        }
    }

    private func replaceAll(
        _ state: ClassState, _ key: Int64, _ position: Int, _ old: Int, with new: [(key: Value, value: Value)]
    ) throws(StoreError) {
        // Also nothing instead of nothing is written: observers see it.
        try whole(state) { (transaction) throws(StoreError) in
            var done = 0
            repeat {
                let end = min(done + View.insertedAtOnce, new.count)
                if done == 0 {
                    try replace(state, try state.elements(key, position), position, 0..<old, new[..<end])
                } else {
                    try state.splice(key, position, done..<done, new[done..<end])
                }
                try transaction.spillIfLarge()
                done = end
            } while done < new.count
        }
    }
}

extension Value {
    /// A text or binary goes to memory that has room for it, and behind which `at` stands then.
    fileprivate mutating func move(to at: inout UnsafeMutableRawPointer) {
        guard kind.hasBytes, let old = pointer, count > 0 else { return }
        at.copyMemory(from: old, byteCount: count)
        pointer = UnsafeRawPointer(at)
        at += count
    }
}

extension [(key: Value, value: Value)] {
    /// As a set or map has them: ascending, each once, of equal ones the last.
    fileprivate func inOrder(isMap: Bool) -> Self {
        func compare(_ left: Int, _ right: Int) -> Int {
            isMap ? CollectionOrder.compare(self[left].key, self[right].key) : CollectionOrder.compare(self[left].value, self[right].value)
        }
        let sorted = indices.sorted { left, right in
            let order = compare(left, right)
            return order == 0 ? left < right : order < 0
        }
        var result: Self = []
        result.reserveCapacity(count)
        for place in sorted.indices where place == sorted.count - 1 || compare(sorted[place], sorted[place + 1]) != 0 { result.append(self[sorted[place]]) }
        return result
    }
}

/// Queries of a part of an index, or of a collection: they begin with a list of objects, which have their order.
extension QueryRun {
    /// How many satisfy the condition.
    func foundElsewhere() throws(StoreError) -> Int {
        switch query.origin {
        case .stretch(let stretch) where query.predicate.isTrue: return try trees.count(in: stretch)
        case .collection(let id) where query.predicate.isTrue: return try trees.count(in: id)
        case .stretch, .collection, .objects: return try keysElsewhere(first: .max).count
        }
    }

    /// The key of the first that satisfies the condition.
    func firstElsewhere() throws(StoreError) -> Int64? {
        if query.predicate.isTrue, let stretch = query.origin.stretch { return try trees.first(in: stretch) }
        let keys = try keysElsewhere(first: 1)
        return keys.count > 0 ? keys.keys[0] : nil
    }

    /// Those that satisfy the condition, in the order of the origin: the first `limit`, perhaps more.
    func keysElsewhere(first limit: Int) throws(StoreError) -> KeyBuffer {
        switch query.origin {
        case .objects: return try satisfying(first: limit)
        case .stretch(let stretch):
            if query.predicate.isTrue { return try trees.keys(in: stretch, first: limit) }
            return try satisfying(among: try trees.keys(in: stretch, first: .max), first: limit)
        case .collection(let id):
            if query.predicate.isTrue { return try trees.keys(in: id, first: limit) }
            let list = try trees.keys(in: id, first: .max)
            let asked = InjectedBug.active(.queryListSorted) ? try list.ascending() : list
            return try satisfying(among: asked, first: limit)
        }
    }

    /// Those of a list, in its order.
    private func satisfying(among list: KeyBuffer, first limit: Int) throws(StoreError) -> KeyBuffer {
        // What a version does not have is an error, however long the list.
        try check()
        if limit == 0 || list.count == 0 { return KeyBuffer() }
        // Looking at one object costs as much as scanning a few dozens.
        if try list.count <= max(64, trees.objectCount(cls) / 50) {
            return try RowTest(query, trees).kept(of: list, first: limit)
        }
        var matching = KeyBuffer()
        if let few = try fewKeys() { matching = few } else { try scan().collect(into: matching) }
        let set = try NumberSet(matching), kept = KeyBuffer()
        for index in 0..<list.count where set.contains(list.keys[index]) {
            try kept.append(list.keys[index])
            if kept.count == limit { break }
        }
        return kept
    }
}

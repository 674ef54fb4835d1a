/// Links in lists, sets and maps that go because what they lead to goes.
extension ClassState {
    /// The objects that have links to `target` in a collection, ascending, but for one of them.
    func owners(ofLinksTo target: Int64, _ property: Int, without: Int64?) throws(StoreError) -> KeyBuffer {
        try inverses[schema.inversePosition(of: property)!].reader(ofLinksTo: target).owners(
            of: target, without: without)
    }

    /// All objects that have links in a collection, ascending.
    func ownersOfLinks(_ property: Int) throws(StoreError) -> KeyBuffer {
        let all = KeyBuffer(), owners = KeyBuffer()
        try inverses[schema.inversePosition(of: property)!].reader().forEach(in: IndexRange(lower: .start, upper: nil))
        { (owner) throws(StoreError) in
            try all.append(owner)
            return true
        }
        try all.sort()
        for index in 0..<all.count where index == 0 || all.keys[index] != all.keys[index - 1] {
            try owners.append(all.keys[index])
        }
        return owners
    }

    /// Takes the links that `isGone` names out of a list or set; in a map their keys get null. Logged like by any other
    /// caller. Returns how many there were.
    func removeLinks(_ owner: Int64, _ property: Int, where isGone: LinkSelection) throws(StoreError) -> Int {
        let elements = try elements(owner, property), isMap = elements.kind == .map
        // Those that follow on each other go together.
        var runs: [Range<Int>] = [], keys: [OwnedValue] = [], index = 0, count = 0
        try forEachLink(elements, property, isGone) { (index, key) throws(StoreError) in
            count += 1
            if isMap { keys.append(OwnedValue(key)) }
            if let last = runs.last, last.upperBound == index {
                runs[runs.count - 1] = last.lowerBound..<index + 1
            } else {
                runs.append(index..<index + 1)
            }
        }
        if isMap {
            for run in runs {
                try splice(
                    owner, property, run, keys[index..<index + run.count].map { (key: $0.value, value: .null) }[...])
                index += run.count
            }
        } else {
            // From the end: the others stay where they are.
            for run in runs.reversed() { try splice(owner, property, run, []) }
        }
        if case .to(let target) = isGone { linkPlaces.remove(target, property, elements) }
        return count
    }

    /// Those that are going to be removed.
    private func forEachLink(
        _ elements: CollectionElements, _ property: Int, _ selection: LinkSelection,
        _ body: (_ index: Int, _ key: Value) throws(StoreError) -> Void
    ) throws(StoreError) {
        guard case .to(let target) = selection, elements.kind != .set, let range = try elements.range(),
            range.count > ClassState.manyElements
        else {
            return try elements.forEachLink(selection, body)
        }
        // Behind the last one a walk need not continue.
        let count = try inverses[schema.inversePosition(of: property)!].reader(ofLinksTo: target).linkCount(
            from: elements.owner, to: target)
        guard let indexes = try linkPlaces.indexes(of: target, count: count, property, elements, range) else {
            return try elements.forEachLink(selection, in: range, atMost: count, body)
        }
        for index in indexes {
            try body(index, elements.kind == .map ? try elements.tree.entry(at: range.lowerBound + index).key : .null)
        }
    }

    /// Walking through this many takes less time than a look-up in the inverse.
    private static let manyElements = 1000
}

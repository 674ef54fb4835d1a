/// Which links of a collection are meant.
enum LinkSelection {
    /// Those to one object.
    case to(Int64)
    case all
    /// Those to objects with such keys.
    case such((Int64) throws(StoreError) -> Bool)

    func has(_ target: Int64) throws(StoreError) -> Bool {
        switch self {
        case .to(let one): target == one
        case .all: true
        case .such(let isSuch): try isSuch(target)
        }
    }
}

/// Links in lists, sets and maps that go because what they lead to goes.
extension ClassState {
    /// The objects that have links to `target` in a collection, ascending, but for one of them.
    func owners(ofLinksTo target: Int64, _ property: Int, without: Int64?) throws(StoreError) -> KeyBuffer {
        try inverses[schema.inversePosition(of: property)!].reader().owners(of: target, without: without)
    }

    /// All objects that have links in a collection, ascending.
    func ownersOfLinks(_ property: Int) throws(StoreError) -> KeyBuffer {
        let all = KeyBuffer(), owners = KeyBuffer()
        try inverses[schema.inversePosition(of: property)!].reader().forEach(in: IndexRange(lower: .start, upper: nil)) { (owner) throws(StoreError) in
            all.append(owner)
            return true
        }
        all.sort()
        for index in 0..<all.count where index == 0 || all.keys[index] != all.keys[index - 1] { owners.append(all.keys[index]) }
        return owners
    }

    /// Takes the links that `isGone` names out of a list or set; in a map their keys get null. Logged like by any other caller. Returns
    /// how many there were.
    func removeLinks(_ owner: Int64, _ property: Int, where isGone: LinkSelection) throws(StoreError) -> Int {
        let elements = try elements(owner, property), isMap = elements.kind == .map
        // Those that follow on each other go together.
        var runs: [Range<Int>] = [], keys: [OwnedValue] = [], index = 0, count = 0
        try elements.forEachLink(isGone, atMost: try linkCount(elements, property, isGone)) { (index, key) throws(StoreError) in
            count += 1
            if isMap { keys.append(OwnedValue(key)) }
            if let last = runs.last, last.upperBound == index { runs[runs.count - 1] = last.lowerBound..<index + 1 } else { runs.append(index..<index + 1) }
        }
        if isMap {
            for run in runs {
                try splice(owner, property, run, keys[index..<index + run.count].map { (key: $0.value, value: .null) }[...])
                index += run.count
            }
        } else {
            // From the end: the others stay where they are.
            for run in runs.reversed() { try splice(owner, property, run, []) }
        }
        return count
    }

    /// How many links a walk through many elements looks for: behind the last one it need not go on.
    private func linkCount(_ elements: CollectionElements, _ property: Int, _ selection: LinkSelection) throws(StoreError) -> Int {
        guard case .to(let target) = selection, elements.kind != .set, let range = try elements.range(), range.count > ClassState.manyElements else { return .max }
        return try inverses[schema.inversePosition(of: property)!].reader().linkCount(from: elements.owner, to: target)
    }

    /// So many are walked through in less time than the inverse is asked.
    private static let manyElements = 1000
}

extension CollectionElements {
    /// Calls `body` with the index, and of maps the key, of the selected links, in order. Cost: O(n); of one link in a set O(log n).
    ///
    /// - Parameter most: there are no more.
    func forEachLink(
        _ selection: LinkSelection, atMost most: Int = .max, _ body: (_ index: Int, _ key: Value) throws(StoreError) -> Void
    ) throws(StoreError) {
        if case .to(let target) = selection, kind == .set {
            let (index, found) = try search(Value(kind: .link, low: target))
            if found { try body(index, .null) }
            return
        }
        if let range = try range() { return try forEachLink(selection, in: range, atMost: most, body) }
        var index = 0
        try forEach { (key, value) throws(StoreError) in
            if !value.isNull, try selection.has(value.low) { try body(index, key) }
            index += 1
            return true
        }
    }

    /// A leaf at a time, and its column of links alone, which need not be read either where its base says enough: a list may be long.
    private func forEachLink(
        _ selection: LinkSelection, in range: Range<Int>, atMost most: Int, _ body: (_ index: Int, _ key: Value) throws(StoreError) -> Void
    ) throws(StoreError) {
        if range.isEmpty { return }
        var cursor = try tree.cursor(at: range.lowerBound), left = range.count, missing = most
        while true {
            let leaf = cursor.leaf, rest = cursor.rest(left), column = leaf.values
            func found(_ index: Int) throws(StoreError) {
                missing -= 1
                try body(range.count - left + index - rest.lowerBound, kind == .map ? leaf.keys.stored(index).value : .null)
            }
            if case .to(let target) = selection {
                let wanted = UInt64(bitPattern: target &- Int64(bitPattern: column.lows.base))
                if wanted <= IndexColumn.limit(column.lows.width) {
                    for index in rest where column.lows.offset(index) == wanted && column.kindByte(index) == ValueKind.link.rawValue { try found(index) }
                }
            } else {
                for index in rest where column.kindByte(index) == ValueKind.link.rawValue {
                    if try selection.has(Int64(bitPattern: column.lows.base &+ column.lows.offset(index))) { try found(index) }
                }
            }
            left -= rest.count
            if left == 0 || missing == 0 { return }
            cursor.skip(to: rest.upperBound - 1)
            guard try cursor.advance() else { throw CollectionReader.damaged("it ends before the elements of \(owner)") }
        }
    }
}

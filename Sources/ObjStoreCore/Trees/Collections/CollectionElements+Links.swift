/// Selects links of a collection.
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

extension CollectionElements {
    /// Calls `body` with the index, and of maps the key, of the selected links, in order. Cost: O(n); of one link in a
    /// set O(log n).
    func forEachLink(
        _ selection: LinkSelection, _ body: (_ index: Int, _ key: Value) throws(StoreError) -> Void
    ) throws(StoreError) {
        if case .to(let target) = selection, kind == .set {
            let (index, found) = try search(Value(kind: .link, low: target))
            if found { try body(index, .null) }
            return
        }
        if let range = try range() { return try forEachLink(selection, in: range, atMost: .max, body) }
        var index = 0
        try forEach { (key, value) throws(StoreError) in
            if !value.isNull, try selection.has(value.low) { try body(index, key) }
            index += 1
            return true
        }
    }

    /// A leaf at a time, and its column of links alone, which need not be read either where its base says enough: a
    /// list may be long.
    ///
    /// - Parameter most: there are no more.
    func forEachLink(
        _ selection: LinkSelection, in range: Range<Int>, atMost most: Int,
        _ body: (_ index: Int, _ key: Value) throws(StoreError) -> Void
    ) throws(StoreError) {
        var missing = most
        try forEachLeaf(in: range) { (leaf, rest, first) throws(StoreError) in
            let column = leaf.values
            func found(_ index: Int) throws(StoreError) {
                missing -= 1
                try body(first + index - rest.lowerBound, kind == .map ? leaf.keys.stored(index).value : .null)
            }
            if case .to(let target) = selection {
                let wanted = UInt64(bitPattern: target &- Int64(bitPattern: column.lows.base))
                if wanted <= IndexColumn.limit(column.lows.width) {
                    for index in rest
                    where column.lows.offset(index) == wanted && column.kindByte(index) == ValueKind.link.rawValue {
                        try found(index)
                    }
                }
            } else {
                for index in rest where column.kindByte(index) == ValueKind.link.rawValue {
                    if try selection.has(Int64(bitPattern: column.lows.base &+ column.lows.offset(index))) {
                        try found(index)
                    }
                }
            }
            return missing > 0
        }
    }
}

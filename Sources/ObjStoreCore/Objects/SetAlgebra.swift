/// What becomes of a set and other values.
package enum SetOperation: Int32, Sendable {
    /// What either has.
    case union = 1
    /// What the set has and the others have not.
    case subtraction = 2
    /// What both have.
    case intersection = 3
    /// What one of them has and the other has not.
    case symmetricDifference = 4
}

/// How a set relates to other values.
package struct SetRelation: OptionSet, Sendable {
    package let rawValue: UInt32
    package init(rawValue: UInt32) { self.rawValue = rawValue }

    package static let intersects = SetRelation(rawValue: 1)
    /// All of the set is among the others.
    package static let isSubset = SetRelation(rawValue: 2)
    /// All of the others is in the set.
    package static let isSuperset = SetRelation(rawValue: 4)
}

/// Sets and other values, both in the order of sets, side by side:
///
/// ```
///  set      a  c     f  g            union: d h come, each before the element that follows it
///  others      c  d  f     h         intersection: a g go
/// ```
/// Few others beside a large set are looked up.
extension CollectionEditor {
    /// Makes the set what the operation says: all of it, or nothing. Returns how many elements came or went. Cost: O(n
    /// + m log m), of few values but for an intersection O(m log n).
    func combine(
        _ operation: SetOperation, _ values: UnsafePointer<Value>?, _ count: Int
    ) throws(StoreError) -> Int {
        let adds = operation == .union || operation == .symmetricDifference
        let kept = KeptTexts()
        defer { withExtendedLifetime(kept) {} }
        let others = try kept.members(values, count) { (value) throws(StoreError) in
            adds ? try writer.checked(value, elementOf: position, cls) : try asked(value)
        }
        var changes: [(indexes: Range<Int>, new: [(key: Value, value: Value)])] = [], changed = 0
        func change(_ indexes: Range<Int>, _ new: Value?) {
            changed += 1
            let element = new.map { [(key: Value.null, value: $0)] } ?? []
            // What follows on the last change is one with it.
            if let last = changes.last, last.indexes.upperBound == indexes.lowerBound,
                last.indexes.isEmpty == (new != nil)
            {
                changes[changes.count - 1].indexes = last.indexes.lowerBound..<indexes.upperBound
                changes[changes.count - 1].new += element
            } else {
                changes.append((indexes, element))
            }
        }
        try elements.merge(others, wantsMine: operation == .intersection) { place in
            switch place {
            case .mine(let index): if operation == .intersection { change(index..<index + 1, nil) }
            case .both(let index):
                if operation == .subtraction || operation == .symmetricDifference { change(index..<index + 1, nil) }
            case .others(let value, let index): if adds { change(index..<index, value) }
            }
        }
        if changes.isEmpty { return 0 }
        try writer.whole(state) { (transaction) throws(StoreError) in
            // From the end: the others stay where they are.
            for (indexes, new) in changes.reversed() {
                var done = 0
                repeat {
                    let end = min(done + CollectionEditor.atOnce, new.count), from = indexes.lowerBound + done
                    try state.splice(
                        owner, position, from..<(done == 0 ? indexes.upperBound : from), new[done..<end])
                    done = end
                } while done < new.count
                try transaction.spillIfLarge()
            }
        }
        return changed
    }
}

extension CollectionElements {
    /// How the set relates to values as it would have them (`KeptTexts.members`). Cost: O(n + m), of few values
    /// O(m log n).
    func relation(to others: [Value]) throws(StoreError) -> SetRelation {
        var both = 0
        try merge(others, wantsMine: false) { if case .both = $0 { both += 1 } }
        var relation: SetRelation = both > 0 ? .intersects : []
        if both == (try count()) { relation.insert(.isSubset) }
        if both == others.count { relation.insert(.isSuperset) }
        return relation
    }

    enum MergePlace {
        case mine(Int)
        case both(Int)
        /// Before the element of the set that has the index.
        case others(Value, Int)
    }

    /// A search costs as much as a walk through this many elements.
    private static let searchCost = 16

    func merge(
        _ others: [Value], wantsMine: Bool, _ body: (MergePlace) -> Void
    ) throws(StoreError) {
        if !wantsMine, try count() / CollectionElements.searchCost > others.count {
            for value in others {
                let (index, found) = try search(value)
                body(found ? .both(index) : .others(value, index))
            }
            return
        }
        var index = 0, next = 0
        try forEach { (_, value) in
            while next < others.count, CollectionOrder.compare(others[next], value) < 0 {
                body(.others(others[next], index))
                next += 1
            }
            if next < others.count, CollectionOrder.compare(others[next], value) == 0 {
                body(.both(index))
                next += 1
            } else {
                body(.mine(index))
            }
            index += 1
            return true
        }
        while next < others.count {
            body(.others(others[next], index))
            next += 1
        }
    }
}

extension KeptTexts {
    /// The values as a set would have them: in its order, each once, where nothing moves them.
    ///
    /// - Parameter stored: checks a value, and says how it is stored.
    func members(
        _ values: UnsafePointer<Value>?, _ count: Int, _ stored: (Value) throws(StoreError) -> Value
    ) throws(StoreError) -> [Value] {
        var all: [Value] = []
        try all.tryReserve(count)
        for index in 0..<count { all.append(try keep(try stored(values.unsafelyUnwrapped[index]))) }
        return try all.inOrder(CollectionOrder.compare) { _ in false }
    }
}

/// A step of an observer of a part of an index: the index of each version says how many entries are before one, so that
/// nothing is kept of the answer.
///
/// ```
///  index before   … │ a b c d e │ …      b: 1, by the values that it had
///  index after    … │ a c d b e │ …      b: 3, by those that it has
/// ```
/// O(log n) for each object of the class that was changed.
struct StretchStep {
    private let scope: ObserverScope
    private let sides: (before: IndexPlaces, after: IndexPlaces)
    /// Positions of the properties by which objects stand in the index.
    private let properties: [Int]

    init?(_ scope: ObserverScope, from before: Snapshot, to after: Snapshot) throws(StoreError) {
        guard let stretch = scope.query.origin.stretch else { return nil }
        self.scope = scope
        sides = (try IndexPlaces(stretch, .version(before)), try IndexPlaces(stretch, .version(after)))
        properties = sides.after.properties
    }

    /// What is to be told; nil: the answer has to be asked anew.
    func told(_ few: ObservedAnswer.FewChanges) throws(StoreError) -> ToldDifference? {
        let changes = few.changed
        typealias Occurrence = SparseDifference.Occurrence
        var leaving: [Occurrence] = [], coming = leaving, staying = leaving
        for key in changes.deleted { try sides.before.add(key, to: &leaving) }
        for key in changes.inserted { try sides.after.add(key, to: &coming) }
        for (row, key) in changes.modified.enumerated() {
            if changes.hasWritten(properties, in: row) {
                try sides.before.add(key, to: &leaving)
                try sides.after.add(key, to: &coming)
            } else {
                try sides.before.add(key, to: &staying)
            }
        }
        if leaving.isEmpty && coming.isEmpty && staying.isEmpty { return ToldDifference(noneOf: changes) }
        leaving.sort { $0.position < $1.position }
        coming.sort { $0.position < $1.position }
        staying.sort { $0.position < $1.position }
        guard
            let difference = try SparseDifference(
                leaving, coming, staying: staying, countBefore: sides.before.count, changed: Set(changes.modified))
        else { return nil }
        let after = sides.after
        return try difference.told(few) { (position) throws(StoreError) in
            try after.key(at: position)
        }
    }
}

extension IndexPlaces {
    /// With its position, if it is there.
    fileprivate func add(_ key: Int64, to list: inout [SparseDifference.Occurrence]) throws(StoreError) {
        if let position = try position(of: key) { list.append((position, key)) }
    }
}

/// A step of an observer of a sorted answer whose objects say by their own values whether they are in it, and where:
/// only those that changed are looked at, in both versions.
///
/// ```
///  before   a b c d e f     deleted b, d sorts elsewhere     their places, by the values before
///           a   c   e f     what stays                       has the same values in both versions
///  after    a   c X e d f   d and the new X belong there     by the values after
/// ```
/// What stays counts where something was and where it is: an object that has as many of it before it as it had has not
/// moved.
struct OrderStep {
    private let sides: (before: Side, after: Side)
    private let keys: [SortKey]
    private var order: OrderedKeys
    /// Objects whose first values differ are in different sections: whoever changes that has moved.
    private let isSectioned: Bool

    /// An object that leaves its place, or comes to one.
    private struct Traveller {
        let key: Int64
        /// Of its modification; nil: it comes or goes.
        var row: Int?
        /// Its position, and how many of those that stay are before it; nil: it is not there.
        var old: (position: Int, gap: Int)?
        var new: (position: Int, gap: Int)?
    }

    /// - Parameter order: as it is in `from`.
    init(
        _ query: Query, _ keys: [SortKey], _ order: OrderedKeys, from: Snapshot, to: Snapshot, isSectioned: Bool = false
    ) throws(StoreError) {
        (self.order, self.keys, self.isSectioned) = (order, keys, isSectioned)
        sides = (try Side(query, keys, from), try Side(query, keys, to))
    }

    /// - Parameters:
    ///   - changes: of the answer, without an order.
    ///   - isTold: of which modifications; nil: of all.
    ///   - resorted: those of which a value may be another that lies behind a path.
    /// Returns: what is to be told, the order after it, and where those are there that came, or may have moved.
    consuming func told(
        _ changes: ClassChanges, _ isTold: [Bool]?, _ resorted: Set<Int64>
    ) throws(StoreError) -> (
        changes: ClassChanges, indices: ChangeSet.Indices, order: OrderedKeys, touched: [Int]
    ) {
        let turned = try TurnedObjects(changes, resorted, keys, sides.before, sides.after)

        // Where they were.
        var leaving = changes.deleted.map { Traveller(key: $0) }, staying: [(row: Int, position: Int)] = []
        var places: [OrderedKeys.Place] = []
        for row in changes.modified.indices where turned.contains(row) {
            leaving.append(Traveller(key: changes.modified[row], row: row))
        }
        for index in leaving.indices {
            let place = try sides.before.place(of: leaving[index].key, in: &order)
            leaving[index].old = (order.position(of: place), 0)
            places.append(place)
        }
        for row in changes.modified.indices where !turned.contains(row) && isTold?[row] != false {
            let place = try sides.before.place(of: changes.modified[row], in: &order)
            staying.append((row, order.position(of: place)))
        }
        leaving.sort { $0.old.unsafelyUnwrapped.position < $1.old.unsafelyUnwrapped.position }
        for index in leaving.indices {
            let position = leaving[index].old.unsafelyUnwrapped.position
            leaving[index].old = (position, position - index)
        }
        order.remove(places.sorted())

        // Where they belong.
        var coming = leaving.filter { $0.row != nil } + changes.inserted.map { Traveller(key: $0) }
        try sides.after.sort(&coming) { $0.key }
        var arrivals: [(key: Int64, place: OrderedKeys.Place)] = []
        for index in coming.indices {
            let place = try sides.after.place(for: coming[index].key, in: &order), gap = order.position(of: place)
            coming[index].new = (gap + index, gap)
            arrivals.append((coming[index].key, place))
        }
        order.insert(arrivals)
        let (told, indices) = try told(changes, leaving, coming, staying, isTold)
        return (told, indices, order, coming.map { $0.new.unsafelyUnwrapped.position })
    }

    private func told(
        _ all: ClassChanges, _ leaving: [Traveller], _ coming: [Traveller], _ staying: [(row: Int, position: Int)],
        _ isTold: [Bool]?
    ) throws(StoreError) -> (ClassChanges, ChangeSet.Indices) {
        var changes = ClassChanges(maskWords: all.maskWords), indices = ChangeSet.Indices()
        changes.isFromOtherProcess = all.isFromOtherProcess
        for one in leaving where one.row == nil {
            changes.deleted.append(one.key)
            indices.deleted.append(UInt64(one.old.unsafelyUnwrapped.position))
        }
        for one in coming where one.row == nil {
            changes.inserted.append(one.key)
            indices.inserted.append(UInt64(one.new.unsafelyUnwrapped.position))
        }
        // Those that went by nobody who stays, and, among themselves, as many as possible.
        var near = coming.filter { $0.old.map(\.gap) == $0.new.map(\.gap) }
        if isSectioned {
            var staying: [Traveller] = []
            for one in near { if try !changesSection(one.key) { staying.append(one) } }
            near = staying
        }
        let inPlace = Set(
            ListDifference.longestAscending(near.map { $0.old.unsafelyUnwrapped.position }).map { near[$0].key })
        var modified: [(row: Int, before: Int, after: Int)] = []
        var moved: [(row: Int, before: Int, after: Int)] = []
        for one in coming {
            guard let row = one.row, let old = one.old, let new = one.new else { continue }
            if !inPlace.contains(one.key) && !InjectedBug.active(.listUnmoved) {
                moved.append((row, old.position, new.position))
            } else if isTold?[row] != false {
                modified.append((row, old.position, new.position))
            }
        }
        let gaps = coming.map { $0.new.unsafelyUnwrapped.gap }, gone = leaving.map { $0.old.unsafelyUnwrapped.position }
        for one in staying {
            let stays = one.position - gone.placeAscending(one.position)
            modified.append((one.row, one.position, stays + gaps.placeAscending(stays + 1)))
        }
        modified.sort { $0.before < $1.before }
        moved.sort { $0.before < $1.before }
        for one in modified + moved {
            changes.masks += all.mask(one.row)
        }
        changes.modified = modified.map { all.modified[$0.row] }
        changes.moved = moved.map { all.modified[$0.row] }
        indices.modifiedBefore = modified.map { UInt64($0.before) }
        indices.modifiedAfter = modified.map { UInt64($0.after) }
        indices.movedBefore = moved.map { UInt64($0.before) }
        indices.movedAfter = moved.map { UInt64($0.after) }
        return (changes, indices)
    }

    private func changesSection(_ key: Int64) throws(StoreError) -> Bool {
        let before = try OwnedValue(copying: try sides.before.value(0, of: key))
        return try SortColumn.order(before.value, try sides.after.value(0, of: key)) != 0
    }

    /// The sort keys of objects in one version.
    final class Side {
        let cls: ClassSchema
        private let keys: [SortKey]
        private let orders: [SortKeyOrder]
        private let positions: [[Int]]
        private let reader: ClusterReader
        private var finder: RowFinder
        private var other: RowFinder
        private let letter = ByteBuffer(capacity: 8)
        /// Of values behind paths.
        private let runs: [PathRun?]

        init(_ query: Query, _ keys: [SortKey], _ snapshot: Snapshot) throws(StoreError) {
            self.keys = keys
            orders = keys.map { key in
                SortKeyOrder(
                    isDescending: key.isDescending, kind: key.value.kind,
                    isFolded: !key.modifiers.isEmpty || key.isFirstLetter)
            }
            let cls = try snapshot.schema.cls(query.classID)
            self.cls = cls
            positions = try keys.map { (key) throws(StoreError) in try cls.positions(key.properties) }
            let trees = TreeAccess.version(snapshot)
            runs = try keys.map { (key) throws(StoreError) in
                try key.path.map { (path) throws(StoreError) in
                    try PathRun(trees, path.properties, levels: path.levels)
                }
            }
            reader = try snapshot.trees.objects(cls)
            finder = RowFinder(reader)
            other = RowFinder(reader)
        }

        private func value(_ level: Int, _ row: RowPosition) throws(StoreError) -> Value {
            let value: Value
            if let run = runs[level], let path = keys[level].path {
                run.begin(row, cls)
                value = try run.value(path.source)
            } else {
                value = try keys[level].value.value(nil) { (number) throws(StoreError) in
                    try reader.plainValue(row, positions[level][number])
                }
            }
            return keys[level].isFirstLetter && !value.isNull ? try FirstLetter.text(value, letter) : value
        }

        /// Valid until the next one.
        func value(_ level: Int, of key: Int64) throws(StoreError) -> Value { try value(level, try finder.row(key)) }

        func values(_ key: Int64) throws(StoreError) -> SortValues {
            let row = try finder.row(key)
            var values: [OwnedValue] = []
            for level in keys.indices { values.append(try OwnedValue(copying: try value(level, row))) }
            return SortValues(values, by: orders)
        }

        func has(_ key: Int64) throws(StoreError) -> Bool { try finder.find(key) != nil }

        /// As in another version.
        func hasSameValues(_ key: Int64, _ other: Side) throws(StoreError) -> Bool {
            let values = try values(key).values
            for (level, value) in values.enumerated() {
                if try SortColumn.compare(value.value, try other.value(level, of: key), keys[level].modifiers) != 0 {
                    return false
                }
            }
            return true
        }

        /// How an object stands to some values, by the first `levels` of them: negative before them.
        ///
        /// - Parameter known: all its own values, if somebody has looked them up.
        func order(
            of one: Int64, _ known: SortValues?, _ values: SortValues, _ levels: Int
        ) throws(StoreError) -> Int {
            let row = known == nil ? try other.row(one) : nil
            for level in 0..<levels {
                let own: Value
                if let row { own = try value(level, row) } else { own = known.unsafelyUnwrapped.values[level].value }
                let order = try SortColumn.compare(own, values.values[level].value, keys[level].modifiers)
                if order != 0 { return keys[level].isDescending ? -order : order }
            }
            return 0
        }

        /// Where an object with some values belongs, by the first `levels` of them and then its key; without one before
        /// all that have them.
        func place(
            of values: SortValues, _ levels: Int, _ key: Int64?, in order: inout OrderedKeys
        ) throws(StoreError) -> OrderedKeys.Place {
            try order.place(
                before: values, levels: levels,
                values: { (one) throws(StoreError) in try self.values(one) },
                isBefore: { (one, known) throws(StoreError) in
                    if one == key { return false }
                    let order = try self.order(of: one, known, values, levels)
                    return order == 0 ? key.map { one < $0 } ?? false : order < 0
                })
        }

        /// Where one belongs.
        func place(for key: Int64, in order: inout OrderedKeys) throws(StoreError) -> OrderedKeys.Place {
            try place(of: try values(key), keys.count, key, in: &order)
        }

        /// Where one is.
        func place(of key: Int64, in order: inout OrderedKeys) throws(StoreError) -> OrderedKeys.Place {
            let place = try place(for: key, in: &order)
            guard order.key(at: place) == key else {
                throw StoreError(.internalError, "an observed order does not have the object \(key) where it belongs")
            }
            return place
        }

        /// - Parameter place: what decides where values are equal; nil: the key.
        func sort<T>(
            _ elements: inout [T], _ key: (T) -> Int64, by place: ((T) -> Int)? = nil
        ) throws(StoreError) {
            if elements.count < 2 { return }
            let values = try elements.map { (element) throws(StoreError) in try self.values(key(element)) }
            var numbers = Array(elements.indices)
            var failure: StoreError?
            numbers.sort { a, b in
                do throws(StoreError) {
                    let (left, right) = (elements[a], elements[b])
                    return try isLess(
                        place.map { Int64($0(left)) } ?? key(left), values[a],
                        place.map { Int64($0(right)) } ?? key(right), values[b])
                } catch {
                    failure = error
                    return false
                }
            }
            if let failure { throw failure }
            elements = numbers.map { elements[$0] }
        }

        /// Whether one object stands before another one, by the values behind the first `level` ones.
        func isLess(_ a: Int64, _ b: Int64, from level: Int) throws(StoreError) -> Bool {
            try isLess(a, try values(a), b, try values(b), from: level)
        }

        private func isLess(
            _ a: Int64, _ left: SortValues, _ b: Int64, _ right: SortValues, from first: Int = 0
        ) throws(StoreError) -> Bool {
            for level in first..<keys.count {
                let order = try SortColumn.compare(
                    left.values[level].value, right.values[level].value, keys[level].modifiers)
                if order != 0 { return keys[level].isDescending ? order > 0 : order < 0 }
            }
            return a < b
        }
    }
}

/// Which of some modified objects may stand elsewhere in an order: those of which a property was written that they are
/// sorted by, and those that have another value behind a path. One that has not stays, and others may go by it.
struct TurnedObjects {
    private let changes: ClassChanges
    private var mask: [UInt64]
    private var resorted: Set<Int64> = []

    /// - Parameter resorted: those of which a value may be another that lies behind a path.
    init(
        _ changes: ClassChanges, _ resorted: Set<Int64>, _ keys: [SortKey], _ before: OrderStep.Side,
        _ after: OrderStep.Side
    ) throws(StoreError) {
        self.changes = changes
        mask = [UInt64](repeating: 0, count: changes.maskWords)
        for place in try after.cls.positions(keys.flatMap(\.properties)) { mask[place >> 6] |= 1 << UInt64(place & 63) }
        if resorted.isEmpty { return }
        for key in changes.modified where resorted.contains(key) {
            if try !before.hasSameValues(key, after) { self.resorted.insert(key) }
        }
    }

    /// - Parameter row: of a modification.
    func contains(_ row: Int) -> Bool {
        let words = changes.maskWords
        return (0..<words).contains { changes.masks[row * words + $0] & mask[$0] != 0 }
            || !resorted.isEmpty && resorted.contains(changes.modified[row])
    }
}

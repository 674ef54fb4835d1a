/// An answer that is no objects, as it was found in one version: a table, or plain values of a collection.
///
/// ```
///  GROUP(city)      before              after
///                   Bern     3          Bern     4        modified: it is the same group, by its key
///                   Genf     1                            deleted
///                                       Sion     1        inserted
/// ```
/// Rows are found again by what they are known by: objects, keys of groups, keys of a map, and values of a list or set
/// by themselves. They are compared as lists of numbers, which stand for that. Costs O(n) of the n rows of both.
final class ObservedRows: FoundAnswer {
    private enum Source {
        case table(FoundTable)
        case values(FoundValues, isMap: Bool)
        case nothing

        var count: Int {
            switch self {
            case .table(let found): found.table.rows
            case .values(let found, _): found.count
            case .nothing: 0
            }
        }
    }

    private let sources: [Source]
    /// Which rows of which of them; nil: all of the only one.
    private let rows: [(source: Int, row: Int)]?
    /// What is told of what is another: a bit for each column, or that of the property.
    private let mask: [UInt64]

    /// Of one that was found, and not put together.
    var table: Table? { if case .table(let found) = sources[0], rows == nil { found.table } else { nil } }
    var values: FoundValues? { if case .values(let found, _) = sources[0], rows == nil { found } else { nil } }

    var groups: FollowedGroups? {
        if case .table(let found) = sources[0], rows == nil { found.groups } else { nil }
    }

    convenience init(_ table: FoundTable) { self.init([.table(table)], nil, []) }

    private init(_ sources: [Source], _ rows: [(source: Int, row: Int)]?, _ mask: [UInt64]) {
        (self.sources, self.rows, self.mask) = (sources, rows, mask)
    }

    /// - Parameter list: not nil: nothing.
    static func found(
        _ scope: ObserverScope, _ list: KeyBuffer?, in snapshot: Snapshot
    ) throws(StoreError) -> ObservedRows {
        guard let asked = scope.rows else { throw StoreError(.internalError, "an observer of objects looks for rows") }
        // Its version has what is needed, or is older than the class.
        guard list == nil, scope.isAskable(in: snapshot.schema), Int(scope.classID) < snapshot.schema.classes.count
        else {
            return ObservedRows([.nothing], nil, [])
        }
        return try scope.asking { () throws(StoreError) in
            let trees = TreeAccess.version(snapshot)
            switch asked {
            case .table(let query):
                let run = try TableRun(query, trees)
                // Of objects that nobody has any more there is no group, not even one of no keys.
                let isThere = try scope.hasCollection(in: snapshot), isOver = query.grouping != nil && !isThere
                return ObservedRows(
                    [.table(try isOver ? run.foundNothing() : run.found(scope.followedGroups))], nil, [])
            case .values(let query):
                let run = try ValueRun(query, trees)
                return ObservedRows([.values(try run.found(), isMap: run.isOfMap)], nil, run.mask)
            }
        }
    }

    /// Values that are compared with others of the same query; of a map with their keys.
    convenience init(_ values: [Value], _ keys: [Value]?, _ mask: [UInt64]) throws(StoreError) {
        let list = try KeyBuffer(expecting: values.count)
        for index in values.indices { try list.append(Int64(index)) }
        self.init([.values(try FoundValues(list, values, list, keys), isMap: keys != nil)], nil, mask)
    }

    /// Groups of some objects.
    static func found(
        _ query: TableQuery, of objects: KeyBuffer, in snapshot: Snapshot
    ) throws(StoreError) -> ObservedRows {
        ObservedRows(try TableRun(query, .version(snapshot), of: objects).found(nil))
    }

    // MARK: Rows

    var count: Int { rows?.count ?? sources[0].count }

    private func place(_ index: Int) -> (source: Source, row: Int) {
        guard let rows else { return (sources[0], index) }
        return (sources[rows[index].source], rows[index].row)
    }

    fileprivate func name(_ index: Int) -> RowName {
        let (source, row) = place(index)
        switch source {
        case .table(let found): return found.name(row)
        case .values(let found, let isMap): return .value(ElementValue(isMap ? found.key(row) : found.value(row)))
        case .nothing: return .values([])
        }
    }

    private func key(_ index: Int) -> Value {
        let (source, row) = place(index)
        if case .values(let found, isMap: true) = source { return found.key(row) }
        return .null
    }

    /// Rows with the same name may be different.
    private var hasCells: Bool {
        sources.contains {
            switch $0 {
            case .table, .values(_, isMap: true): true
            case .values, .nothing: false
            }
        }
    }

    /// What is another in a row that has the same name; nil: nothing.
    private func differences(_ index: Int, _ other: ObservedRows, _ otherIndex: Int) -> [UInt64]? {
        let (source, row) = place(index), (otherSource, otherRow) = other.place(otherIndex)
        switch (source, otherSource) {
        case (.table(let found), .table(let others)):
            var mask: [UInt64]?
            let columns = found.table.columns, otherColumns = others.table.columns
            for column in columns.indices
            where !columns[column].value(row).isSame(as: otherColumns[column].value(otherRow)) {
                if mask == nil { mask = [UInt64](repeating: 0, count: (columns.count + 63) / 64) }
                mask?[column >> 6] |= 1 << UInt64(column & 63)
            }
            return mask
        case (.values(let found, _), .values(let others, _)):
            return found.value(row).isSame(as: others.value(otherRow)) ? nil : other.mask
        default: return nil
        }
    }

    // MARK: Comparing

    func difference(
        to next: ObservedRows, _ scope: ObserverScope, _: ModifiedObjects, maskWords: Int
    ) throws(StoreError) -> ToldDifference {
        let numbers = try RowNumbers(self, next), hasCells = hasCells || next.hasCells
        var masks: [Int64: [UInt64]] = [:]
        if hasCells && !InjectedBug.active(.rowUncompared) {
            try numbers.forEachPair { (before, after) throws(StoreError) in
                guard let mask = differences(before, next, after) else { return }
                try Memory.check(for: 1, each: 128)
                masks[numbers.new.keys[after]] = mask
            }
        }
        let found = try ListDifference(numbers.old, numbers.new, changed: Set(masks.keys))
        var told = ToldDifference(
            changes: ClassChanges(maskWords: scope.rows?.columnWords ?? maskWords), indices: found.indices)
        told.changes.deleted = try place(found.deleted)
        told.changes.inserted = try next.place(found.inserted)
        told.changes.modified = try next.place(found.modified.map(\.after))
        told.changes.moved = try next.place(found.moved.map(\.after))
        let none = [UInt64](repeating: 0, count: told.changes.maskWords)
        for pair in found.modified + found.moved {
            told.changes.masks += masks[numbers.new.keys[pair.after]] ?? none
        }
        if isOfMap || next.isOfMap {
            told.keys = try ChangedKeys(
                deleted: found.deleted.map(key), inserted: found.inserted.map(next.key),
                modified: found.modified.map { next.key($0.after) })
        }
        return told
    }

    var isOfMap: Bool { if case .values(_, isMap: true) = sources[0] { true } else { false } }

    /// As change sets have them: keys of objects, where rows are these, else positions.
    private func place(_ indices: [Int]) throws(StoreError) -> [Int64] {
        try Memory.check(for: indices.count, each: 8)
        return indices.map { index in if case .number(let key) = name(index) { key } else { Int64(index) } }
    }

    func shown(
        to next: ObservedRows, by shown: ObservedRows, _: ShownOrder?
    ) throws(StoreError) -> ObservedRows {
        if InjectedBug.active(.rowUnsilenced) { return shown }
        var numbers = RowNumbers.Numbers()
        let lists = (try numbers.list(self), try numbers.list(next), try numbers.list(shown))
        let list = try ListDifference(lists.0, lists.1, changed: []).applied(to: lists.2)
        func rows(_ list: KeyBuffer) -> [Int64: Int] {
            var rows: [Int64: Int] = [:]
            for row in 0..<list.count { rows[list.keys[row]] = row }
            return rows
        }
        try Memory.check(for: lists.0.count + lists.1.count + lists.2.count + list.count, each: 64)
        let (before, after, his) = (rows(lists.0), rows(lists.1), rows(lists.2))
        var result: [(source: Int, row: Int)] = []
        for index in 0..<list.count {
            let number = list.keys[index], new = after[number], own = his[number]
            var isHis = new == nil
            // What he has written himself he has as it is now, the rest as he knows it.
            if let new, let old = before[number] { isHis = differences(old, next, new) == nil }
            if let own, isHis {
                result.append(shown.rows?[own] ?? (0, own))
            } else if let new {
                let (source, row) = next.rows?[new] ?? (0, new)
                result.append((shown.sources.count + source, row))
            }
        }
        return ObservedRows(shown.sources + next.sources, result, next.mask)
    }
}

/// Rows of two answers as numbers, which are the same where they are known by the same.
private struct RowNumbers {
    let old: KeyBuffer
    let new: KeyBuffer
    /// How many rows both begin and end with: these are known by their places.
    private let (start, end): (Int, Int)

    init(_ before: ObservedRows, _ after: ObservedRows) throws(StoreError) {
        let common = min(before.count, after.count)
        var start = 0, end = 0
        while start < common, before.name(start) == after.name(start) { start += 1 }
        while end < common - start, before.name(before.count - 1 - end) == after.name(after.count - 1 - end) {
            end += 1
        }
        var numbers = Numbers(from: Int64(start + end))
        func list(_ rows: ObservedRows) throws(StoreError) -> KeyBuffer {
            let list = try KeyBuffer(expecting: rows.count)
            for row in 0..<start { try list.append(Int64(row)) }
            for row in start..<rows.count - end { try list.append(try numbers.number(rows.name(row))) }
            for row in 0..<end { try list.append(Int64(start + row)) }
            return list
        }
        (old, new) = (try list(before), try list(after))
        (self.start, self.end) = (start, end)
    }

    /// Calls `body` with the places of rows that are in both; of several with the same name with one before.
    func forEachPair(_ body: (_ before: Int, _ after: Int) throws(StoreError) -> Void) throws(StoreError) {
        for row in 0..<start { try body(row, row) }
        try Memory.check(for: old.count - start - end, each: 32)
        var places: [Int64: Int] = [:]
        for row in start..<old.count - end { places[old.keys[row]] = row }
        for row in start..<new.count - end {
            if let before = places[new.keys[row]] { try body(before, row) }
        }
        for row in 0..<end { try body(old.count - end + row, new.count - end + row) }
    }

    struct Numbers {
        private var numbers: [RowName: Int64] = [:]
        private let first: Int64

        init(from first: Int64 = 0) { self.first = first }

        mutating func number(_ name: RowName) throws(StoreError) -> Int64 {
            if let known = numbers[name] { return known }
            try Memory.check(for: 1, each: 96)
            let next = first + Int64(numbers.count)
            numbers[name] = next
            return next
        }

        mutating func list(_ rows: ObservedRows) throws(StoreError) -> KeyBuffer {
            let list = try KeyBuffer(expecting: rows.count)
            for row in 0..<rows.count { try list.append(try number(rows.name(row))) }
            return list
        }
    }
}

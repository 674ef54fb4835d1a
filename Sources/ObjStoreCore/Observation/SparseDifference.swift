/// What leads from one long list of objects to another, where it is known who may have left a place and who has come to
/// one: `ListDifference` of lists in which what stays is cut short.
///
/// ```
///  before   a b c d e f g h     d and f leave        s s d s f s s       between those two, and around them, stays
///  after    a b f c e g h X     f and X come         s s f s s s X       at most so much as can count
/// ```
/// Of what stays between two places as many are taken as others could make them move: one more than there are in both
/// lists of those that leave and come. So the same ones move as in the whole lists.
package struct SparseDifference {
    package typealias Occurrence = (position: Int, key: Int64)

    /// Each ascends, by the position before, or by that after.
    package private(set) var deleted: [Occurrence] = []
    package private(set) var inserted: [Occurrence] = []
    /// By the positions before.
    package private(set) var moved: [(before: Int, after: Int)] = []
    /// Of those that left and came, and stand where they stood among the others.
    package private(set) var unmoved: [(before: Int, after: Int)] = []

    /// So long may lists become.
    private static let most = 1 << 16

    /// Nil: it would take longer than to compare the lists.
    ///
    /// - Parameters:
    ///   - leaving: ascending, with their positions before.
    ///   - coming: ascending, with their positions after.
    ///   - staying: objects that were modified where they are; the same.
    ///   - countBefore: of all.
    ///   - changed: the objects that were modified.
    package init?(
        _ leaving: [Occurrence], _ coming: [Occurrence], staying: [Occurrence] = [], countBefore: Int,
        changed: Set<Int64>
    ) throws(StoreError) {
        let both = SparseDifference.countOfBoth(leaving.map(\.key), coming.map(\.key))
        let places = SparseDifference.after(staying.map(\.position), leaving, coming)
        if both == 0 {
            (deleted, inserted) = (leaving, coming)
            unmoved = zip(staying, places).map { ($0.position, $1) }
            return
        }
        if SparseDifference.isTooLong(leaving.count + coming.count, both: both, staying: staying.count) { return nil }
        // They are passed by rather than others; what is as it was moves last of all.
        try compare(
            SparseDifference.merged(leaving, staying),
            SparseDifference.merged(coming, zip(staying, places).map { ($1, $0.key) }), both + staying.count,
            countBefore, changed)
    }

    /// Whether that would take longer than to compare the lists.
    ///
    /// - Parameters:
    ///   - travelling: how many leave and come.
    ///   - both: how many of them do both.
    static func isTooLong(_ travelling: Int, both: Int, staying: Int) -> Bool {
        both > 0 && (travelling + 2 * staying + 1) * (both + staying + 2) > SparseDifference.most
    }

    static func countOfBoth(_ leaving: [Int64], _ coming: [Int64]) -> Int {
        let known = Set(leaving)
        return coming.count { known.contains($0) }
    }

    private static func merged(_ a: [Occurrence], _ b: [Occurrence]) -> [Occurrence] {
        b.isEmpty ? a : (a + b).sorted { $0.position < $1.position }
    }

    /// Where those are after that stay, by their positions before, which ascend.
    static func after(_ positions: [Int], _ leaving: [Occurrence], _ coming: [Occurrence]) -> [Int] {
        if positions.isEmpty { return [] }
        let left = leaving.map(\.position), gaps = coming.indices.map { coming[$0].position - $0 }
        return positions.map { position in
            let stays = position - left.placeAscending(position)
            return stays + gaps.placeAscending(stays + 1)
        }
    }

    private mutating func compare(
        _ leaving: [Occurrence], _ coming: [Occurrence], _ both: Int, _ countBefore: Int, _ changed: Set<Int64>
    ) throws(StoreError) {
        // Where they stand among those that stay, by how many of these are before them.
        let gapsBefore = leaving.indices.map { leaving[$0].position - $0 }
        let gaps = coming.indices.map { coming[$0].position - $0 }
        let staying = countBefore - leaving.count, cuts = Set(gapsBefore + gaps + [staying]).sorted()

        // What stays has numbers that no object has; `places` are its positions, -1 where there are more of them.
        let before = KeyBuffer(), after = KeyBuffer()
        var places: (before: [Int], after: [Int]) = ([], []), gone = 0, come = 0, start = 0, number: Int64 = -1
        for cut in cuts {
            let count = min(cut - start, both + 1), isWhole = count == cut - start
            for offset in 0..<count {
                try before.append(number)
                try after.append(number)
                number -= 1
                places.before.append(isWhole ? start + offset + gone : -1)
                places.after.append(isWhole ? start + offset + come : -1)
            }
            while gone < leaving.count, gapsBefore[gone] == cut {
                try before.append(leaving[gone].key)
                places.before.append(leaving[gone].position)
                gone += 1
            }
            while come < coming.count, gaps[come] == cut {
                try after.append(coming[come].key)
                places.after.append(coming[come].position)
                come += 1
            }
            start = cut
        }
        let difference = try ListDifference(before, after, changed: changed)
        deleted = difference.deleted.map { (places.before[$0], before.keys[$0]) }
        inserted = difference.inserted.map { (places.after[$0], after.keys[$0]) }
        moved = difference.moved.map { (places.before[$0.before], places.after[$0.after]) }
        unmoved = difference.modified.map { (places.before[$0.before], places.after[$0.after]) }
        if moved.contains(where: { $0.before < 0 }) {
            throw StoreError(.internalError, "an observed answer has moved more than its changes move")
        }
    }
    /// As an observer is told of it.
    ///
    /// - Parameter key: of which object is at a position after.
    func told(
        _ few: ObservedAnswer.FewChanges, key: (Int) throws(StoreError) -> Int64
    ) throws(StoreError) -> ToldDifference {
        var rows: [Int64: Int] = [:]
        for (row, key) in few.changed.modified.enumerated() { rows[key] = row }
        var modified: [(before: Int, after: Int, key: Int64)] = []
        for pair in unmoved {
            let key = try key(pair.after)
            if let row = rows[key], few.isTold?[row] != false { modified.append((pair.before, pair.after, key)) }
        }
        modified.sort { $0.before < $1.before }

        var changes = ClassChanges(maskWords: few.changed.maskWords), indices = ChangeSet.Indices()
        changes.isFromOtherProcess = few.changed.isFromOtherProcess
        (changes.deleted, changes.inserted) = (deleted.map(\.key), inserted.map(\.key))
        changes.modified = modified.map(\.key)
        for pair in moved { changes.moved.append(try key(pair.after)) }
        let none = [UInt64](repeating: 0, count: changes.maskWords)[...]
        for key in changes.modified + changes.moved {
            changes.masks += rows[key].map { few.changed.mask($0) } ?? none
        }
        indices.deleted = deleted.map { UInt64($0.position) }
        indices.inserted = inserted.map { UInt64($0.position) }
        indices.modifiedBefore = modified.map { UInt64($0.before) }
        indices.modifiedAfter = modified.map { UInt64($0.after) }
        indices.movedBefore = moved.map { UInt64($0.before) }
        indices.movedAfter = moved.map { UInt64($0.after) }
        return ToldDifference(changes: changes, indices: indices)
    }
}

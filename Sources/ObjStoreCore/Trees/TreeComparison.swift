/// The differences between two versions of an object tree, found without reading what they share.
///
/// Copy-on-write leaves equal refs where nothing changed, at every level: those subtrees are skipped. While
/// both versions are pinned no extent of either is reused, so equal refs mean equal bytes.
/// ```
///        A  ● root          B  ● root'         different: go down
///          /|\                /|\
///         ● ● ●              ● ●' ●            the first and the third are skipped
/// ```
/// Cost: O(changed leaves × rows of a leaf) and the inner nodes above them.
package enum TreeComparison {
    package static func changes(
        from before: ClusterReader, to after: ClusterReader, maskWords: Int
    ) throws(StoreError) -> ClassChanges {
        var changes = ClassChanges(maskWords: maskWords)
        if before.root == after.root { return changes }
        var a = try Walk(before), b = try Walk(after)
        let rows = LeafComparison(before, after, maskWords: maskWords)
        while a.current != nil || b.current != nil {
            if let left = a.current, let right = b.current {
                if left.ref == right.ref {
                    a.skip()
                    b.skip()
                    continue
                }
                if left.level > 0, left.key < right.key || (left.key == right.key && left.level >= right.level) {
                    try a.enter(left)
                    continue
                }
                if right.level > 0, right.key <= left.key {
                    try b.enter(right)
                    continue
                }
            } else if let left = a.current, left.level > 0 {
                try a.enter(left)
                continue
            } else if let right = b.current, right.level > 0 {
                try b.enter(right)
                continue
            }
            try stretch(&a, &b, rows, &changes)
        }
        return changes
    }

    /// Compares the leaves of the next stretch of keys at whose end both trees have a boundary between leaves: as a
    /// rule one leaf of each, or of one of them; more where compaction has put leaves together.
    private static func stretch(
        _ a: inout Walk, _ b: inout Walk, _ rows: LeafComparison, _ changes: inout ClassChanges
    ) throws(StoreError) {
        var left: [Subtree] = [], right: [Subtree] = []
        var end = Int64.min
        if let next = a.current, next.level == 0, b.current.map({ next.key <= $0.key }) ?? true {
            end = try rows.end(next, before: true)
            left.append(next)
            a.skip()
        } else if let next = b.current {
            end = try rows.end(next, before: false)
            right.append(next)
            b.skip()
        }
        while true {
            if let next = a.current, next.key < end {
                if try a.enterOrTake(next) {
                    end = max(end, try rows.end(next, before: true))
                    left.append(next)
                }
            } else if let next = b.current, next.key < end {
                if try b.enterOrTake(next) {
                    end = max(end, try rows.end(next, before: false))
                    right.append(next)
                }
            } else {
                break
            }
        }
        try rows.compare(left, right, &changes)
    }

    /// A subtree that a walk is in front of.
    struct Subtree {
        var ref: Ref
        /// Lower bound of its keys; exact for leaves (level 0).
        var key: Int64
        var level: Int
    }

    /// Visits a tree from left to right, going down only on request.
    struct Walk {
        private let reader: ClusterReader
        private var path: [(node: UnsafeRawPointer, index: Int)] = []
        private(set) var current: Subtree?

        init(_ reader: ClusterReader) throws(StoreError) {
            self.reader = reader
            switch try reader.rootNode() {
            case .empty: current = nil
            case .leaf(let head): current = Subtree(ref: reader.root, key: LeafHead.keyBase(head), level: 0)
            case .inner(let node):
                current = Subtree(ref: reader.root, key: ClusterInner.keys(node)[0], level: ClusterInner.level(node))
            }
        }

        /// To the first child.
        mutating func enter(_ subtree: Subtree) throws(StoreError) {
            let node = try reader.source.node(subtree.ref, .clusterInner)
            guard ClusterInner.level(node) == subtree.level else {
                throw ClusterReader.damaged("levels of the object tree")
            }
            path.append((node, 0))
            stand()
        }

        /// Past the subtree.
        mutating func skip() {
            while let last = path.last {
                if last.index + 1 < NodeHeader.count(last.node) {
                    path[path.count - 1].index += 1
                    return stand()
                }
                path.removeLast()
            }
            current = nil
        }

        /// Goes down one level; true at a leaf, which the walk has then passed.
        mutating func enterOrTake(_ subtree: Subtree) throws(StoreError) -> Bool {
            if subtree.level > 0 {
                try enter(subtree)
                return false
            }
            skip()
            return true
        }

        private mutating func stand() {
            let (node, index) = path[path.count - 1]
            current = Subtree(
                ref: ClusterInner.ref(node, index), key: ClusterInner.keys(node)[index],
                level: ClusterInner.level(node) - 1)
        }
    }
}

/// Compares two versions of one leaf, row by row, skipping columns and segments that they share.
struct LeafComparison {
    private let before: ClusterReader
    private let after: ClusterReader
    private let maskWords: Int

    init(_ before: ClusterReader, _ after: ClusterReader, maskWords: Int) {
        self.before = before
        self.after = after
        self.maskWords = maskWords
    }

    private func head(_ reader: ClusterReader, _ subtree: TreeComparison.Subtree) throws(StoreError) -> UnsafeRawPointer
    {
        let head = try reader.source.node(subtree.ref, .leafHead)
        guard LeafHead.keyBase(head) == subtree.key else { throw ClusterReader.damaged("a leaf holds other keys") }
        return head
    }

    /// The key behind all that a leaf can hold.
    func end(_ leaf: TreeComparison.Subtree, before isBefore: Bool) throws(StoreError) -> Int64 {
        let reader = isBefore ? before : after
        return try LeafKeys(reader.source, try head(reader, leaf)).end()
    }

    /// Compares two lists of leaves in key order that hold the same stretch of keys.
    func compare(
        _ left: [TreeComparison.Subtree], _ right: [TreeComparison.Subtree], _ changes: inout ClassChanges
    ) throws(StoreError) {
        if left.count == 1, right.count == 1, left[0].key == right[0].key {
            let a = try head(before, left[0]), b = try head(after, right[0])
            if !LeafHead.isSparse(a), !LeafHead.isSparse(b) { return try compare(left[0].key, a, b, &changes) }
        }
        let old = try places(before, left), new = try places(after, right)
        var i = 0, j = 0
        while i < old.count || j < new.count {
            if j == new.count || (i < old.count && old[i].key < new[j].key) {
                try changes.append(.deleted, old[i].key)
                i += 1
            } else if i == old.count || new[j].key < old[i].key {
                try changes.append(.inserted, new[j].key)
                j += 1
            } else {
                try compare(old[i], new[j], &changes)
                i += 1
                j += 1
            }
        }
    }

    private func places(_ reader: ClusterReader, _ leaves: [TreeComparison.Subtree]) throws(StoreError) -> [RowPosition]
    {
        var places: [RowPosition] = []
        for leaf in leaves {
            let head = try head(reader, leaf)
            try LeafKeys(reader.source, head).forEach { (slot, key) throws(StoreError) in
                places.append(RowPosition(head: head, slot: slot, key: key))
                return true
            }
        }
        return places
    }

    /// One object that both versions have.
    private func compare(_ old: RowPosition, _ new: RowPosition, _ changes: inout ClassChanges) throws(StoreError) {
        var mask = [UInt64](repeating: 0, count: maskWords)
        let was = LeafReader(source: before.source), now = LeafReader(source: after.source)
        for column in after.columns.indices {
            let spec = after.columns[column]
            if !(try was.value(old.head, spec, hint: column, old.slot)).isSame(
                as: try now.value(new.head, spec, hint: column, new.slot))
            {
                mask[column >> 6] |= 1 << UInt64(column & 63)
            }
        }
        guard mask.contains(where: { $0 != 0 }) else { return }
        try changes.appendModified(new.key, mask[...])
    }

    /// Two dense leaves of the same keys.
    private func compare(
        _ keyBase: Int64, _ a: UnsafeRawPointer, _ b: UnsafeRawPointer, _ changes: inout ClassChanges
    ) throws(StoreError) {
        let rows = max(LeafHead.rows(a), LeafHead.rows(b))
        var masks = [UInt64](repeating: 0, count: rows * maskWords)
        for column in after.columns.indices { try compareColumn(column, a, b, &masks) }
        for slot in 0..<rows {
            let was = LeafHead.isLive(a, slot), isLive = LeafHead.isLive(b, slot)
            let key = keyBase + Int64(slot)
            if was && !isLive {
                try changes.append(.deleted, key)
            } else if isLive && !was {
                try changes.append(.inserted, key)
            } else if was {
                let mask = masks[(slot * maskWords)..<((slot + 1) * maskWords)]
                if mask.contains(where: { $0 != 0 }) {
                    try changes.appendModified(key, mask)
                }
            }
        }
    }

    private func compareColumn(
        _ column: Int, _ a: UnsafeRawPointer, _ b: UnsafeRawPointer, _ masks: inout [UInt64]
    ) throws(StoreError) {
        let spec = after.columns[column]
        let left = LeafHead.entry(a, id: spec.id, hint: column), right = LeafHead.entry(b, id: spec.id, hint: column)
        if left == nil && right == nil { return }
        let shared = sharesPages(spec, a, left, b, right)
        if shared.everything { return }
        let old = LeafReader(source: before.source), new = LeafReader(source: after.source)
        let rows = min(LeafHead.rows(a), LeafHead.rows(b))
        let bit: UInt64 = 1 << UInt64(column & 63)
        var slot = 0
        while slot < rows {
            if shared.segments, let left, let right, slot & (left.segmentRows - 1) == 0 {
                let index = left.segmentIndex(slot)
                let was = LeafSegment(a + Int(left.main) + index * LeafSegment.size),
                    now = LeafSegment(b + Int(right.main) + index * LeafSegment.size)
                if was.ref == now.ref {
                    slot += left.segmentRows
                    continue
                }
            }
            if LeafHead.isLive(a, slot), LeafHead.isLive(b, slot),
                !(try old.value(a, spec, hint: column, slot)).isSame(as: try new.value(b, spec, hint: column, slot))
            {
                masks[slot * maskWords + column >> 6] |= bit
            }
            slot += 1
        }
    }

    /// Whether both directory lines represent the same bytes; `segments`: all but the segments themselves.
    private func sharesPages(
        _ spec: ColumnSpec, _ a: UnsafeRawPointer, _ left: LeafEntry?, _ b: UnsafeRawPointer, _ right: LeafEntry?
    ) -> (everything: Bool, segments: Bool) {
        guard let left, let right, left.encoding == right.encoding, left.width == right.width, left.base == right.base,
            left.isSegmented == right.isSegmented, left.segmentShift == right.segmentShift, sharesAux(a, left, b, right)
        else { return (false, false) }
        if spec.kind.isPair {
            let fine = LeafHead.secondLine(a, id: spec.id), fineNow = LeafHead.secondLine(b, id: spec.id)
            guard let fine, let fineNow, fine.encoding == fineNow.encoding, fine.width == fineNow.width,
                fine.base == fineNow.base,
                !fine.hasMain
                    || (!fine.isSegmented && !fine.isMainInline && !fineNow.isSegmented && !fineNow.isMainInline
                        && fine.main == fineNow.main)
            else { return (false, false) }
        }
        if !left.hasMain { return (true, false) }
        if left.isSegmented { return (false, true) }
        return (!left.isMainInline && !right.isMainInline && left.main == right.main, false)
    }

    private func sharesAux(_ a: UnsafeRawPointer, _ left: LeafEntry, _ b: UnsafeRawPointer, _ right: LeafEntry) -> Bool
    {
        if !left.hasAux || !right.hasAux { return left.hasAux == right.hasAux }
        if !left.isAuxInline && !right.isAuxInline { return left.aux == right.aux }
        guard left.isAuxInline, right.isAuxInline else { return false }
        // Rows that only one has are deletions or insertions anyway.
        let bytes = min(left.auxBytes, right.auxBytes)
        return UnsafeRawBufferPointer(start: a + Int(left.aux), count: bytes)
            .elementsEqual(UnsafeRawBufferPointer(start: b + Int(right.aux), count: bytes))
    }
}

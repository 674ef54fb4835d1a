/// What differs between two versions of an object tree, found without looking at what they share.
///
/// Copy-on-write leaves equal refs where nothing changed, at every level: those subtrees are skipped. While
/// both versions are pinned no extent of either is reused, so equal refs mean equal bytes.
/// ```
///        A  ● root          B  ● root'         different: go down
///          /|\                /|\
///         ● ● ●              ● ●' ●            the first and the third are skipped
/// ```
/// Cost: O(changed leaves × rows of a leaf) and the inner nodes above them.
enum TreeComparison {
    static func changes(from before: ClusterReader, to after: ClusterReader, maskWords: Int) throws(StoreError) -> ClassChanges {
        var changes = ClassChanges(maskWords: maskWords)
        if before.root == after.root { return changes }
        var a = try Walk(before), b = try Walk(after)
        let rows = LeafComparison(before, after, maskWords: maskWords)
        while true {
            switch (a.current, b.current) {
            case (nil, nil): return changes
            case (let left?, nil): if try a.enterOrTake(left) { try rows.all(left, .deleted, &changes) }
            case (nil, let right?): if try b.enterOrTake(right) { try rows.all(right, .inserted, &changes) }
            case (let left?, let right?):
                if left.ref == right.ref {
                    a.skip()
                    b.skip()
                } else if left.key < right.key {
                    // The other tree has nothing before `right.key`.
                    if try a.enterOrTake(left) { try rows.all(left, .deleted, &changes) }
                } else if right.key < left.key {
                    if try b.enterOrTake(right) { try rows.all(right, .inserted, &changes) }
                } else if left.level > right.level {
                    try a.enter(left)
                } else if right.level > left.level {
                    try b.enter(right)
                } else if left.level > 0 {
                    try a.enter(left)
                    try b.enter(right)
                } else {
                    a.skip()
                    b.skip()
                    try rows.compare(left, right, &changes)
                }
            }
        }
    }

    /// A subtree that a walk stands before.
    struct Subtree {
        var ref: Ref
        /// Lower bound of its keys; exact for leaves (level 0).
        var key: Int64
        var level: Int
    }

    /// Visits a tree from left to right, going down only where told.
    struct Walk {
        private let reader: ClusterReader
        private var path: [(node: UnsafeRawPointer, index: Int)] = []
        private(set) var current: Subtree?

        init(_ reader: ClusterReader) throws(StoreError) {
            self.reader = reader
            switch try reader.rootNode() {
            case .empty: current = nil
            case .leaf(let head): current = Subtree(ref: reader.root, key: LeafHead.keyBase(head), level: 0)
            case .inner(let node): current = Subtree(ref: reader.root, key: ClusterInner.keys(node)[0], level: ClusterInner.level(node))
            }
        }

        /// To the first child.
        mutating func enter(_ subtree: Subtree) throws(StoreError) {
            let node = try reader.source.node(subtree.ref, .clusterInner)
            guard ClusterInner.level(node) == subtree.level else { throw ClusterReader.damaged("levels of the object tree") }
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
            current = Subtree(ref: ClusterInner.ref(node, index), key: ClusterInner.keys(node)[index], level: ClusterInner.level(node) - 1)
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

    private func head(_ reader: ClusterReader, _ subtree: TreeComparison.Subtree) throws(StoreError) -> UnsafeRawPointer {
        let head = try reader.source.node(subtree.ref, .leafHead)
        guard LeafHead.keyBase(head) == subtree.key else { throw ClusterReader.damaged("a leaf holds other keys") }
        return head
    }

    /// Every row of a leaf that only one version has.
    func all(_ leaf: TreeComparison.Subtree, _ kind: ChangeKind, _ changes: inout ClassChanges) throws(StoreError) {
        let head = try head(kind == .deleted ? before : after, leaf)
        var slot = LeafHead.nextLive(head, from: 0)
        while slot < LeafHead.rows(head) {
            changes.append(kind, leaf.key + Int64(slot))
            slot = LeafHead.nextLive(head, from: slot + 1)
        }
    }

    func compare(_ left: TreeComparison.Subtree, _ right: TreeComparison.Subtree, _ changes: inout ClassChanges) throws(StoreError) {
        let a = try head(before, left), b = try head(after, right)
        let rows = max(LeafHead.rows(a), LeafHead.rows(b))
        var masks = [UInt64](repeating: 0, count: rows * maskWords)
        for column in after.columns.indices { try compareColumn(column, a, b, &masks) }
        for slot in 0..<rows {
            let was = LeafHead.isLive(a, slot), isLive = LeafHead.isLive(b, slot)
            let key = left.key + Int64(slot)
            if was && !isLive {
                changes.deleted.append(key)
            } else if isLive && !was {
                changes.inserted.append(key)
            } else if was {
                let mask = masks[(slot * maskWords)..<((slot + 1) * maskWords)]
                if mask.contains(where: { $0 != 0 }) {
                    changes.modified.append(key)
                    changes.masks.append(contentsOf: mask)
                }
            }
        }
    }

    private func compareColumn(_ column: Int, _ a: UnsafeRawPointer, _ b: UnsafeRawPointer, _ masks: inout [UInt64]) throws(StoreError) {
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
                let was = LeafSegment(a + Int(left.main) + index * LeafSegment.size), now = LeafSegment(b + Int(right.main) + index * LeafSegment.size)
                if was.ref == now.ref {
                    slot += left.segmentRows
                    continue
                }
            }
            if LeafHead.isLive(a, slot), LeafHead.isLive(b, slot),
                !(try old.value(a, spec, hint: column, slot)).equals(try new.value(b, spec, hint: column, slot))
            {
                masks[slot * maskWords + column >> 6] |= bit
            }
            slot += 1
        }
    }

    /// Whether both directory lines stand for the same bytes; `segments`: all but the segments themselves.
    private func sharesPages(
        _ spec: ColumnSpec, _ a: UnsafeRawPointer, _ left: LeafEntry?, _ b: UnsafeRawPointer, _ right: LeafEntry?
    ) -> (everything: Bool, segments: Bool) {
        guard let left, let right, left.encoding == right.encoding, left.width == right.width, left.base == right.base,
            left.isSegmented == right.isSegmented, left.segmentShift == right.segmentShift, sharesAux(a, left, b, right)
        else { return (false, false) }
        if spec.kind == .timestamp {
            let fine = LeafHead.nanoseconds(a, id: spec.id), fineNow = LeafHead.nanoseconds(b, id: spec.id)
            guard let fine, let fineNow, fine.encoding == fineNow.encoding, fine.width == fineNow.width, fine.base == fineNow.base,
                !fine.hasMain || (!fine.isSegmented && !fine.isMainInline && !fineNow.isSegmented && !fineNow.isMainInline && fine.main == fineNow.main)
            else { return (false, false) }
        }
        if !left.hasMain { return (true, false) }
        if left.isSegmented { return (false, true) }
        return (!left.isMainInline && !right.isMainInline && left.main == right.main, false)
    }

    private func sharesAux(_ a: UnsafeRawPointer, _ left: LeafEntry, _ b: UnsafeRawPointer, _ right: LeafEntry) -> Bool {
        if !left.hasAux || !right.hasAux { return left.hasAux == right.hasAux }
        if !left.isAuxInline && !right.isAuxInline { return left.aux == right.aux }
        guard left.isAuxInline, right.isAuxInline else { return false }
        // Rows that only one has are deletions or insertions anyway.
        let bytes = min(left.auxBytes, right.auxBytes)
        return UnsafeRawBufferPointer(start: a + Int(left.aux), count: bytes)
            .elementsEqual(UnsafeRawBufferPointer(start: b + Int(right.aux), count: bytes))
    }
}

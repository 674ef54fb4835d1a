internal import CSystem

/// Finds the rows for which a predicate is true, one leaf after the other: a bit for each of its 4,096 rows. AND, OR
/// and NOT are operations on words of 64 rows. Leaves whose bounds exclude or include everything are not looked into.
package final class LeafScan {
    /// Of a program for a stack of masks; see `Predicate`.
    enum Step {
        case truth(Bool)
        case column(Int, Comparison, Value)
        /// Objects that something else has found, ascending.
        case keys(KeyBuffer)
        /// Numbers of a column, or keys of links, that are in a set.
        case members(Int, NumberSet)
        /// Computed for each row.
        case values(BoundValues)
        case not, and, or
    }

    /// An object: values of these sizes would be copied for each leaf.
    private final class Boxed<Content> {
        let content: Content
        init(_ content: Content) { self.content = content }
    }

    private enum Operation {
        case truth(Bool)
        case matcher(Boxed<LeafMatcher>)
        case keys(KeyBuffer)
        case members(Boxed<MemberKernel>)
        case values(Boxed<BoundValues>)
        /// The same for the rows of the mask on top alone, which it narrows: `values and`.
        case narrowing(Boxed<BoundValues>)
        case narrowingMembers(Boxed<MemberKernel>)
        case not, and, or
    }

    let reader: ClusterReader
    /// The one comparison that it is; then there are no operations.
    private let single: LeafMatcher?
    private let operations: [Operation]
    /// Prefetched while the leaf before is scanned.
    private let column: Int?
    private let prefetchesTexts: Bool
    /// The stack, and behind it what a matcher needs beside its result.
    private let masks: UnsafeMutablePointer<UInt64>
    private let capacity: Int
    /// Constants point to what it owns.
    private let owner: AnyObject?

    static let words = LeafHead.rowsPerLeaf / 64

    /// - Parameter depth: how many masks the stack has at most.
    init(_ reader: ClusterReader, _ steps: [Step], depth: Int, of owner: AnyObject? = nil) throws(StoreError) {
        self.reader = reader
        self.owner = owner
        var operations: [Operation] = [], column: Int?, prefetchesTexts = false
        for step in steps {
            switch step {
            case .truth(let truth): operations.append(.truth(truth))
            case .keys(let keys): operations.append(.keys(keys))
            case .members(let position, let set):
                operations.append(
                    .members(
                        Boxed(
                            MemberKernel(
                                source: reader.source, spec: reader.columns[position], hint: position, set: set))))
                if column == nil { (column, prefetchesTexts) = (position, false) }
            case .values(let test):
                operations.append(.values(Boxed(test)))
                if column == nil, let first = test.positions.first {
                    (column, prefetchesTexts) = (first, reader.columns[first].kind.hasOffsets)
                }
            case .not: operations.append(.not)
            case .and:
                switch operations.last {
                case .values(let test): operations[operations.count - 1] = .narrowing(test)
                case .members(let kernel): operations[operations.count - 1] = .narrowingMembers(kernel)
                default: operations.append(.and)
                }
            case .or: operations.append(.or)
            case .column(let position, let comparison, let constant):
                let spec = reader.columns[position]
                operations.append(
                    .matcher(Boxed(try LeafMatcher(reader.source, spec, hint: position, comparison, constant))))
                if column == nil { (column, prefetchesTexts) = (position, constant.kind.isText || spec.kind == .mixed) }
            }
        }
        self.operations = operations
        single = nil
        (self.column, self.prefetchesTexts) = (column, prefetchesTexts)
        capacity = (max(1, depth) - 1) * LeafScan.words + LeafMatcher.maskWords
        masks = .allocate(capacity: capacity)
    }

    /// Of one comparison.
    init(
        _ reader: ClusterReader, _ column: Int, _ comparison: Comparison, _ constant: Value, of owner: AnyObject? = nil
    ) throws(StoreError) {
        self.reader = reader
        self.owner = owner
        self.column = column
        let spec = reader.columns[column]
        prefetchesTexts = constant.kind.isText || spec.kind == .mixed
        single = try LeafMatcher(reader.source, spec, hint: column, comparison, constant)
        operations = []
        capacity = LeafMatcher.maskWords
        masks = .allocate(capacity: capacity)
    }

    /// The same for another thread: what it finds with is never changed.
    private init(sharing other: LeafScan) {
        (reader, single, operations, owner) = (other.reader, other.single, other.operations, other.owner)
        (column, prefetchesTexts, capacity) = (other.column, other.prefetchesTexts, other.capacity)
        masks = .allocate(capacity: capacity)
    }

    deinit { masks.deallocate() }

    // MARK: By several threads

    /// The leaves in pieces, of which each thread has its own `sharing`; nil: this one scans them all.
    func pieces() throws(StoreError) -> LeafPieces? {
        guard QueryThreads.count > 1 else { return nil }
        for operation in operations {
            switch operation {
            case .keys where operations.count == 1: return nil
            case .values(let test), .narrowing(let test): if !test.content.isShareable { return nil }
            case .truth, .matcher, .keys, .members, .narrowingMembers, .not, .and, .or: break
            }
        }
        return try LeafPieces(reader)
    }

    func sharing() -> LeafScan { LeafScan(sharing: self) }

    /// Calls `body` with each leaf of a piece, as long as that is wanted.
    @inline(__always)
    private func forEachLeaf(
        of piece: LeafPiece, _ body: (UnsafeRawPointer) throws(StoreError) -> Void
    ) throws(StoreError) {
        var cursor = LeafCursor(reader, from: piece.from)
        while let head = try cursor.next(), LeafHead.keyBase(head) < piece.to, piece.isWanted {
            if let column { try reader.prefetchAhead(cursor, column: column, aux: prefetchesTexts) }
            try piece.look(LeafHead.live(head))
            try body(head)
        }
    }

    func count(in piece: LeafPiece) throws(StoreError) -> Int {
        var total = 0
        try forEachLeaf(of: piece) { (head) throws(StoreError) in
            if let single {
                total &+= try single.count(head, masks)
            } else {
                total &+= LeafScan.count(try mask(head))
            }
        }
        return total
    }

    func collect(in piece: LeafPiece, into keys: KeyBuffer) throws(StoreError) {
        try forEachLeaf(of: piece) { (head) throws(StoreError) in
            let mask = try mask(head), leafKeys = LeafKeys(reader.source, head)
            for word in 0..<LeafScan.words {
                var bits = mask[word]
                while bits != 0 {
                    try keys.append(try leafKeys.key(word &<< 6 &+ bits.trailingZeroBitCount))
                    bits &= bits &- 1
                }
            }
        }
    }

    /// As `forEachNumber(_:_:)`.
    @inline(__always)
    func forEachNumber(_ column: Int, in piece: LeafPiece, _ body: (Int64) -> Void) throws(StoreError) {
        try withUnsafeTemporaryAllocation(of: Int64.self, capacity: 64) { (block) throws(StoreError) in
            let values = block.baseAddress.unsafelyUnwrapped
            try forEachLeaf(of: piece) { (head) throws(StoreError) in
                try forEachNumber(column, of: head, into: values, body)
            }
        }
    }

    // MARK: Walking

    /// Calls `body` with each leaf from that of a key on, until it returns false.
    @inline(__always)
    private func forEachLeaf(
        from: Int64 = 0, _ body: (UnsafeRawPointer) throws(StoreError) -> Bool
    ) throws(StoreError) {
        if operations.count == 1, case .keys(let keys) = operations[0] { return try forEachLeaf(of: keys, from, body) }
        var cursor = LeafCursor(reader, from: from)
        while let head = try cursor.next() {
            if let column { try reader.prefetchAhead(cursor, column: column, aux: prefetchesTexts) }
            if _slowPath(WatchedQuery.isOn) { try WatchedQuery.look(LeafHead.live(head)) }
            if !(try body(head)) { return }
        }
    }

    /// The same of leaves that have one of the keys only.
    @inline(never)
    private func forEachLeaf(
        of keys: KeyBuffer, _ from: Int64, _ body: (UnsafeRawPointer) throws(StoreError) -> Bool
    ) throws(StoreError) {
        var index = 0
        while index < keys.count {
            let key = keys.keys[index]
            var cursor = LeafCursor(reader, from: key)
            guard key >= from, let head = try cursor.next() else { index += 1; continue }
            if _slowPath(WatchedQuery.isOn) { try WatchedQuery.look(LeafHead.live(head)) }
            if !(try body(head)) { return }
            let end = try LeafKeys(reader.source, head).end()
            repeat { index += 1 } while index < keys.count && keys.keys[index] < end
        }
    }

    /// How many objects match.
    package func count() throws(StoreError) -> Int {
        if let pieces = try pieces() { return try count(pieces) }
        var total = 0
        if let single {
            try forEachLeaf { (head) throws(StoreError) in
                total &+= try single.count(head, masks)
                return true
            }
            return total
        }
        try forEachLeaf { (head) throws(StoreError) in
            total &+= LeafScan.count(try mask(head))
            return true
        }
        return total
    }

    /// Appends the keys of matching objects from key `from` on, at most `limit` of them; returns how many.
    @discardableResult
    package func collect(into keys: KeyBuffer, from: Int64 = 0, limit: Int = .max) throws(StoreError) -> Int {
        var found = 0
        if limit <= 0 { return 0 }
        if limit == .max, from == 0, QueryThreads.count > 1, !QueryThreads.isBudgeted, let pieces = try pieces() {
            return try collect(pieces, into: keys)
        }
        try forEachLeaf(from: from) { (head) throws(StoreError) in
            let mask = try mask(head), leafKeys = LeafKeys(reader.source, head)
            for word in 0..<LeafScan.words {
                var bits = mask[word]
                while bits != 0 {
                    let key = try leafKeys.key(word &<< 6 &+ bits.trailingZeroBitCount)
                    bits &= bits &- 1
                    if key < from { continue }
                    try keys.append(key)
                    found &+= 1
                    if found == limit { return false }
                }
            }
            return true
        }
        return found
    }

    /// The least key, from `from` on.
    package func first(from: Int64 = 0) throws(StoreError) -> Int64? {
        let keys = KeyBuffer(capacity: 1)
        return try collect(into: keys, from: from, limit: 1) == 1 ? keys.keys[0] : nil
    }

    /// Calls `body` with what a column of numbers has for each matching object, null aside: of floats and doubles their
    /// bit patterns. Only blocks of 64 rows are unpacked in which there is one.
    @inline(__always)
    func forEachNumber(_ column: Int, _ body: (Int64) -> Void) throws(StoreError) {
        try withUnsafeTemporaryAllocation(of: Int64.self, capacity: 64) { (block) throws(StoreError) in
            let values = block.baseAddress.unsafelyUnwrapped
            try forEachLeaf { (head) throws(StoreError) in
                try forEachNumber(column, of: head, into: values, body)
                return true
            }
        }
    }

    /// - Parameter values: room for 64.
    @inline(__always)
    private func forEachNumber(
        _ column: Int, of head: UnsafeRawPointer, into values: UnsafeMutablePointer<Int64>, _ body: (Int64) -> Void
    ) throws(StoreError) {
        let spec = reader.columns[column], mask = try mask(head), rows = LeafHead.rows(head)
        guard let entry = LeafHead.entry(head, id: spec.id, hint: column) else {
            if !spec.fill.isNull { for _ in 0..<LeafScan.count(mask) { body(spec.fill.low) } }
            return
        }
        guard !entry.isText else { throw LeafReader.wrongEncoding(spec) }
        let hasNulls = entry.hasAux && !InjectedBug.active(.querySumOfNulls)
        let nulls = hasNulls ? (head + Int(entry.aux)).assumingMemoryBound(to: UInt64.self) : nil
        let decoder = ColumnDecoder(reader.source, head)
        var row = 0
        while row < rows {
            var bits = mask[row &>> 6]
            if let nulls { bits &= ~nulls[row &>> 6] }
            if bits != 0 {
                try decoder.numbers(entry, first: row, count: min(64, rows &- row), into: values)
            }
            while bits != 0 {
                body(values[bits.trailingZeroBitCount])
                bits &= bits &- 1
            }
            row &+= 64
        }
    }

    // MARK: One leaf

    /// Whether bounds alone say which rows of a leaf match: no values of it are looked at.
    func isDecided(_ head: UnsafeRawPointer) throws(StoreError) -> Bool {
        if let single { return single.isDecided(head) }
        return operations.allSatisfy {
            switch $0 {
            case .truth, .keys, .not, .and, .or: true
            case .matcher(let matcher): matcher.content.isDecided(head)
            case .members, .values, .narrowing, .narrowingMembers: false
            }
        }
    }

    private static func count(_ mask: UnsafePointer<UInt64>) -> Int {
        var total = 0
        for word in 0..<words { total &+= mask[word].nonzeroBitCount }
        return total
    }

    /// The rows of a leaf that match; only existing ones. Valid until the next call.
    func mask(_ head: UnsafeRawPointer) throws(StoreError) -> UnsafePointer<UInt64> {
        if let single {
            try single.matches(head, into: masks)
            return UnsafePointer(masks)
        }
        var top = masks - LeafScan.words
        for operation in operations {
            switch operation {
            case .truth(let truth):
                top += LeafScan.words
                if truth { LeafScan.existing(head, top) } else { top.update(repeating: 0, count: LeafScan.words) }
            case .matcher(let matcher):
                top += LeafScan.words
                try matcher.content.matches(head, into: top)
            case .keys(let keys):
                top += LeafScan.words
                try find(keys, head, top)
            case .members(let kernel):
                top += LeafScan.words
                LeafScan.existing(head, top)
                try kernel.content.narrow(head, top)
            case .values(let test):
                top += LeafScan.words
                LeafScan.existing(head, top)
                try narrow(top, test.content, head)
            case .narrowing(let test): try narrow(top, test.content, head)
            case .narrowingMembers(let kernel): try kernel.content.narrow(head, top)
            case .not:
                LeafScan.complement(head, top)
            case .and:
                top -= LeafScan.words
                for word in 0..<LeafScan.words { top[word] &= top[word &+ LeafScan.words] }
            case .or:
                top -= LeafScan.words
                for word in 0..<LeafScan.words { top[word] |= top[word &+ LeafScan.words] }
            }
        }
        if operations.isEmpty { LeafScan.existing(head, masks) }
        return UnsafePointer(masks)
    }

    /// Leaves the rows for which it is true.
    private func narrow(
        _ mask: UnsafeMutablePointer<UInt64>, _ test: BoundValues, _ head: UnsafeRawPointer
    ) throws(StoreError) {
        if try test.narrow(head, mask) { return }
        let keys = LeafKeys(reader.source, head)
        for word in 0..<LeafScan.words {
            var bits = mask[word]
            while bits != 0 {
                let bit = bits & (0 &- bits)
                bits ^= bit
                let slot = word &<< 6 &+ bit.trailingZeroBitCount
                let row = RowPosition(head: head, slot: slot, key: try keys.key(slot))
                if !(try test.holds(row)) { mask[word] ^= bit }
            }
        }
    }

    @inline(__always)
    private static func existing(_ head: UnsafeRawPointer, _ word: Int) -> UInt64 {
        if let presence = LeafHead.presence(head) { return presence[word] }
        let left = LeafHead.rows(head) &- word &<< 6
        return left >= 64 ? ~0 : left <= 0 ? 0 : 1 &<< UInt64(left) &- 1
    }

    private static func existing(_ head: UnsafeRawPointer, _ mask: UnsafeMutablePointer<UInt64>) {
        for word in 0..<words { mask[word] = existing(head, word) }
    }

    private static func complement(_ head: UnsafeRawPointer, _ mask: UnsafeMutablePointer<UInt64>) {
        for word in 0..<words { mask[word] = existing(head, word) & ~mask[word] }
    }

    private func find(
        _ keys: KeyBuffer, _ head: UnsafeRawPointer, _ mask: UnsafeMutablePointer<UInt64>
    ) throws(StoreError) {
        mask.update(repeating: 0, count: LeafScan.words)
        let leaf = LeafKeys(reader.source, head), first = LeafHead.keyBase(head), end = try leaf.end()
        var low = 0, high = keys.count
        while low < high {
            let middle = (low + high) >> 1
            if keys.keys[middle] < first { low = middle + 1 } else { high = middle }
        }
        while low < keys.count, keys.keys[low] < end {
            if let slot = try leaf.slot(of: keys.keys[low]) { mask[slot &>> 6] |= 1 &<< UInt64(slot & 63) }
            low += 1
        }
    }
}

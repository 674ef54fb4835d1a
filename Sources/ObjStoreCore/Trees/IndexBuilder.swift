internal import Glibc

/// A child of an inner node while a tree is being changed.
struct IndexChild {
    var ref: Ref
    /// Entries below it.
    var count: Int
    /// Between the child before and this one; of the first child of a list anything.
    var separator: IndexEntry
    /// Whether it should be joined with a neighbour if that has room.
    var isSmall: Bool
}

/// Makes index nodes in the arena from entries and children that are in order: chooses where nodes end and
/// how leaves are encoded.
final class IndexBuilder {
    let space: WriteSpace
    let limits: IndexLimits
    let order: IndexOrder
    let unique: Bool

    /// Bytes of texts that were put together from prefix and suffix; valid until the next leaf is taken up.
    var scratch = IndexBump()
    /// Bytes of separators; valid until the merge is over.
    var kept = IndexBump()
    /// Finished nodes of the level at hand, in order: a stack that callers mark and take from.
    var built: ContiguousArray<IndexChild> = []

    init(space: WriteSpace, order: IndexOrder, unique: Bool, limits: IndexLimits) {
        self.unique = unique
        self.space = space
        self.order = order
        self.limits = limits
    }

    deinit {
        scratch.release()
        kept.release()
    }

    // MARK: Leaves

    /// Bytes that a leaf may have for the time being.
    private var room = 0

    /// A place in a list of runs.
    struct Place {
        var span: Int
        var offset: Int
    }

    struct LeafPlan {
        var encoding: UInt8
        var from: Place
        var entries: Int
        var to: Place
        /// Runs of a leaf of runs.
        var runs = 0
    }

    /// Appends leaves with all of `spans` to `built`. When `isAppend`, more is expected behind them, so the
    /// last leaf may stay as small as it comes out; otherwise the last two share evenly.
    func buildLeaves(_ spans: UnsafePointer<IndexEntry>, _ count: Int, isAppend: Bool) throws(StoreError) {
        var place = Place(span: 0, offset: 0)
        var previous: LeafPlan?
        var last: IndexEntry?
        room = limits.leafBytes
        var plan = planLeaf(spans, count, from: place, cap: .max)
        if plan.to.span < count, !unique {
            // Entries of such an index move about: full leaves would all be split by the first changes.
            room = limits.leafBytes - limits.leafBytes / 16
            plan = planLeaf(spans, count, from: place, cap: .max)
        }
        while true {
            if var before = previous {
                if plan.to.span == count, !isAppend { balance(spans, count, &before, &plan) }
                try emit(spans, before, after: &last)
            }
            previous = plan
            place = plan.to
            if place.span == count { break }
            plan = planLeaf(spans, count, from: place, cap: .max)
        }
        if let previous { try emit(spans, previous, after: &last) }
    }

    /// The leaf if all of `spans` fit into one.
    func buildOneLeaf(_ spans: UnsafePointer<IndexEntry>, _ count: Int) throws(StoreError) -> IndexChild? {
        room = limits.leafBytes
        let plan = planLeaf(spans, count, from: Place(span: 0, offset: 0), cap: .max)
        if plan.to.span < count { return nil }
        var last: IndexEntry?
        try emit(spans, plan, after: &last)
        return built.removeLast()
    }

    private func planLeaf(_ spans: UnsafePointer<IndexEntry>, _ count: Int, from place: Place, cap: Int) -> LeafPlan {
        let first = spans[place.span]
        if order.isText && !first.isNull { return planText(spans, count, from: place, cap: cap) }
        if cap == .max, first.run - place.offset >= limits.longRun {
            return planRuns(spans, count, from: place, cap: limits.runs)
        }
        return planPacked(spans, count, from: place, cap: cap)
    }

    /// Moves entries from the last leaf but one to the last.
    private func balance(_ spans: UnsafePointer<IndexEntry>, _ count: Int, _ a: inout LeafPlan, _ b: inout LeafPlan) {
        guard a.encoding == b.encoding, spans[a.from.span].isNull == spans[b.from.span].isNull else { return }
        if a.encoding == IndexLeaf.runs {
            if b.runs >= a.runs { return }
            let half = (a.runs + b.runs + 1) / 2
            let left = planRuns(spans, count, from: a.from, cap: half)
            let right = planRuns(spans, count, from: left.to, cap: limits.runs)
            if right.to.span == b.to.span { (a, b) = (left, right) }
            return
        }
        if b.entries >= a.entries { return }
        let half = (a.entries + b.entries + 1) / 2
        let left = planLeaf(spans, count, from: a.from, cap: half)
        guard left.entries == half else { return }
        let right = planLeaf(spans, count, from: left.to, cap: a.entries + b.entries - half)
        if right.to.span == b.to.span, right.to.offset == b.to.offset { (a, b) = (left, right) }
    }

    private func planRuns(_ spans: UnsafePointer<IndexEntry>, _ count: Int, from place: Place, cap: Int) -> LeafPlan {
        let first = spans[place.span]
        var span = place.span, entries = 0, runs = 0
        while span < count, runs < min(cap, max(1, (limits.leafBytes - IndexLeaf.data) / IndexLeaf.runBytes)) {
            let run = spans[span]
            if run.isNull != first.isNull || run.low != first.low { break }
            // A short run is taken only on the way to a long one.
            if runs > 0, run.run < 8, span + 1 >= count || spans[span + 1].run < limits.longRun { break }
            entries += run.run - (runs == 0 ? place.offset : 0)
            span += 1
            runs += 1
        }
        return LeafPlan(
            encoding: IndexLeaf.runs, from: place, entries: entries, to: Place(span: span, offset: 0), runs: runs)
    }

    private func planPacked(_ spans: UnsafePointer<IndexEntry>, _ count: Int, from place: Place, cap: Int) -> LeafPlan {
        let first = spans[place.span]
        let firstBits = first.bits &+ first.step &* UInt64(place.offset)
        var keyLow = first.key &+ Int64(place.offset), keyHigh = keyLow
        var low = first.low, high = first.low
        let maximum = min(cap, limits.leafEntries), room = room - IndexLeaf.data
        var width = 0, entries = 0, isFull = false
        var best = (entries: 0, place: place, bytes: 1)
        var at = place
        scan: while at.span < count {
            let span = spans[at.span]
            if span.isNull != first.isNull { break }
            let run = span.run
            if entries > 0, cap == .max, run &- at.offset >= limits.longRun { break }
            while at.offset < run {
                let bits = span.bits &+ span.step &* UInt64(truncatingIfNeeded: at.offset)
                let key = span.key &+ Int64(at.offset)
                let newKeyLow = min(keyLow, key), newKeyHigh = max(keyHigh, key)
                let newLow = min(low, span.low), newHigh = max(high, span.low)
                let wider =
                    IndexColumn.width(bits &- firstBits)
                    &+ IndexColumn.width(UInt64(bitPattern: newKeyHigh &- newKeyLow))
                    &+ IndexColumn.width(UInt64(newHigh &- newLow))
                if entries == maximum || (entries &+ 1) &* wider > room {
                    isFull = true
                    break scan
                }
                if wider != width {
                    if entries > 0,
                        entries &* PageSize.units(best.bytes) > best.entries
                            &* PageSize.units(IndexLeaf.data &+ entries &* width)
                    {
                        best = (entries, at, IndexLeaf.data &+ entries &* width)
                    }
                    width = wider
                }
                keyLow = newKeyLow
                keyHigh = newKeyHigh
                low = newLow
                high = newHigh
                entries &+= 1
                at.offset &+= 1
            }
            at = Place(span: at.span &+ 1, offset: 0)
        }
        if at.span < count, at.offset == spans[at.span].run { at = Place(span: at.span + 1, offset: 0) }
        // Ending before the numbers got wider may hold more in the same space.
        if isFull, cap == .max,
            best.entries &* PageSize.units(IndexLeaf.data &+ entries &* width) > entries &* PageSize.units(best.bytes)
        {
            entries = best.entries
            at = best.place
            if at.offset == spans[at.span].run { at = Place(span: at.span + 1, offset: 0) }
        }
        return LeafPlan(encoding: IndexLeaf.packed, from: place, entries: entries, to: at)
    }

    private func planText(_ spans: UnsafePointer<IndexEntry>, _ count: Int, from place: Place, cap: Int) -> LeafPlan {
        let first = spans[place.span]
        let maximum = min(cap, limits.leafEntries)
        var prefix = first.head, heads = 0, trailers = 0, entries = 0
        var keyLow = first.key, keyHigh = first.key
        var span = place.span
        while span < count, entries < maximum {
            let entry = spans[span]
            if entry.isNull { break }
            prefix = IndexBuilder.commonPrefix(first, entry, limit: prefix)
            keyLow = min(keyLow, entry.key)
            keyHigh = max(keyHigh, entry.key)
            heads += entry.head
            if entry.isLong { trailers += IndexLeaf.longTrailer }
            let n = entries + 1
            let bytes =
                IndexLeaf.textData + 2 * (n + 1) + n * IndexColumn.width(UInt64(bitPattern: keyHigh &- keyLow)) + prefix
                + heads - n * prefix + trailers
            if bytes > room, entries > 0 { break }
            entries = n
            span += 1
        }
        return LeafPlan(encoding: IndexLeaf.text, from: place, entries: entries, to: Place(span: span, offset: 0))
    }

    /// How many of the first `limit` stored bytes two texts have in common.
    static func commonPrefix(_ a: IndexEntry, _ b: IndexEntry, limit: Int) -> Int {
        let end = min(limit, a.head, b.head)
        let x = a.address, y = b.address
        var same = 0
        while same < end, x.load(fromByteOffset: same, as: UInt8.self) == y.load(fromByteOffset: same, as: UInt8.self) {
            same &+= 1
        }
        return same
    }

    private func emit(
        _ spans: UnsafePointer<IndexEntry>, _ plan: LeafPlan, after last: inout IndexEntry?
    ) throws(StoreError) {
        let first = spans[plan.from.span].advanced(plan.from.offset)
        var separator = IndexEntry.lowest
        if let last { separator = try self.separator(last, first) }
        let ref: Ref, bytes: Int
        switch plan.encoding {
        case IndexLeaf.runs: (ref, bytes) = try emitRuns(spans, plan)
        case IndexLeaf.text: (ref, bytes) = try emitText(spans, plan)
        default: (ref, bytes) = try emitPacked(spans, plan)
        }
        let end = plan.to.offset == 0 ? spans[plan.to.span - 1] : spans[plan.to.span]
        last = end.advanced(plan.to.offset == 0 ? end.run - 1 : plan.to.offset - 1)
        if order.isText { last = end }
        let fill = plan.encoding == IndexLeaf.runs ? (plan.runs, limits.runs) : (plan.entries, limits.leafEntries)
        built.append(
            IndexChild(
                ref: ref, count: plan.entries, separator: separator, isSmall: isSmall(bytes, limits.leafBytes, fill)))
    }

    func isSmall(_ bytes: Int, _ most: Int, _ fill: (count: Int, most: Int)) -> Bool {
        bytes * 3 <= most && fill.count * 3 <= fill.most
    }

    private func emitRuns(_ spans: UnsafePointer<IndexEntry>, _ plan: LeafPlan) throws(StoreError) -> (Ref, Int) {
        let bytes = IndexLeaf.data + plan.runs * IndexLeaf.runBytes
        let first = spans[plan.from.span]
        let (ref, leaf) = try space.newNode(
            .indexLeaf, bytes: bytes, capacity: bytes,
            word: IndexLeaf.word(encoding: IndexLeaf.runs, isNull: first.isNull, keyWidth: 0))
        NodeHeader.setCount(leaf, plan.runs)
        leaf.storeBytes(of: UInt64(plan.entries), toByteOffset: 32, as: UInt64.self)
        leaf.storeBytes(of: 0, toByteOffset: 40, as: UInt64.self)
        leaf.storeBytes(of: UInt64(first.low), toByteOffset: 48, as: UInt64.self)
        var start = 0
        for index in 0..<plan.runs {
            let run = index == 0 ? first.advanced(plan.from.offset) : spans[plan.from.span + index]
            let at = leaf + (IndexLeaf.data + index * IndexLeaf.runBytes)
            at.storeBytes(of: run.bits, as: UInt64.self)
            at.storeBytes(of: run.key, toByteOffset: 8, as: Int64.self)
            at.storeBytes(of: UInt64(start) << 1 | run.step, toByteOffset: 16, as: UInt64.self)
            start += run.run
        }
        return (ref, bytes)
    }

    private func emitPacked(_ spans: UnsafePointer<IndexEntry>, _ plan: LeafPlan) throws(StoreError) -> (Ref, Int) {
        let count = plan.entries
        let first = spans[plan.from.span].advanced(plan.from.offset)
        var keyLow = first.key, keyHigh = first.key, low = first.low, high = first.low, lastBits = first.bits
        forEachRun(spans, plan) { run, entries in
            keyLow = min(keyLow, run.key)
            keyHigh = max(keyHigh, run.key &+ Int64(entries - 1))
            low = min(low, run.low)
            high = max(high, run.low)
            lastBits = run.bits &+ run.step &* UInt64(entries - 1)
        }
        let valueWidth = IndexColumn.width(lastBits &- first.bits)
        let keyWidth = IndexColumn.width(UInt64(bitPattern: keyHigh &- keyLow))
        let lowWidth = IndexColumn.width(UInt64(high - low))
        let bytes = IndexLeaf.data + count * (valueWidth + keyWidth + lowWidth)
        let (ref, leaf) = try space.newNode(
            .indexLeaf, bytes: bytes, capacity: max(bytes, limits.leafBytes),
            word: IndexLeaf.word(
                encoding: IndexLeaf.packed, isNull: first.isNull, keyWidth: keyWidth, valueWidth: valueWidth,
                lowWidth: lowWidth))
        NodeHeader.setCount(leaf, count)
        leaf.storeBytes(of: first.bits, toByteOffset: 32, as: UInt64.self)
        leaf.storeBytes(of: keyLow, toByteOffset: 40, as: Int64.self)
        leaf.storeBytes(of: UInt64(low), toByteOffset: 48, as: UInt64.self)
        var value = leaf + IndexLeaf.data
        var key = value + count * valueWidth
        var nanos = key + count * keyWidth
        let valueEnd = key, keyEnd = nanos, nanosEnd = leaf + bytes
        forEachRun(spans, plan) { run, entries in
            var bits = run.bits &- first.bits, offset = UInt64(bitPattern: run.key &- keyLow)
            var left = entries
            while left > 0 {
                if valueWidth > 0 { IndexColumn.storeForward(bits, value, width: valueWidth, end: valueEnd) }
                if keyWidth > 0 { IndexColumn.storeForward(offset, key, width: keyWidth, end: keyEnd) }
                if lowWidth > 0 {
                    IndexColumn.storeForward(UInt64(run.low &- low), nanos, width: lowWidth, end: nanosEnd)
                }
                value += valueWidth
                key += keyWidth
                nanos += lowWidth
                bits &+= run.step
                offset &+= 1
                left &-= 1
            }
        }
        return (ref, bytes)
    }

    /// The runs of a plan, the first and last cut to what belongs to it.
    @inline(__always)
    private func forEachRun(_ spans: UnsafePointer<IndexEntry>, _ plan: LeafPlan, _ body: (IndexEntry, Int) -> Void) {
        var left = plan.entries
        var at = plan.from
        while left > 0 {
            let run = at.offset == 0 ? spans[at.span] : spans[at.span].advanced(at.offset)
            let taken = min(left, run.run)
            body(run, taken)
            left &-= taken
            at = Place(span: at.span &+ 1, offset: 0)
        }
    }

    private func emitText(_ spans: UnsafePointer<IndexEntry>, _ plan: LeafPlan) throws(StoreError) -> (Ref, Int) {
        let count = plan.entries
        let entries = spans + plan.from.span
        // In order, so what the first and the last share all share; a forged page may be out of order.
        var prefix = IndexBuilder.commonPrefix(entries[0], entries[count - 1], limit: .max)
        var keyLow = entries[0].key, keyHigh = keyLow, size = 0
        for index in 0..<count {
            let entry = entries[index]
            keyLow = min(keyLow, entry.key)
            keyHigh = max(keyHigh, entry.key)
            prefix = min(prefix, entry.head)
            size += entry.head + (entry.isLong ? IndexLeaf.longTrailer : 0)
        }
        size -= count * prefix
        let keyWidth = IndexColumn.width(UInt64(bitPattern: keyHigh &- keyLow))
        let offsets = IndexLeaf.textData, keys = offsets + 2 * (count + 1)
        let blob = keys + count * keyWidth + prefix
        let (ref, leaf) = try space.newNode(
            .indexLeaf, bytes: blob + size, capacity: max(blob + size, limits.leafBytes),
            word: IndexLeaf.word(encoding: IndexLeaf.text, isNull: false, keyWidth: keyWidth, prefixLength: prefix))
        NodeHeader.setCount(leaf, count)
        leaf.storeBytes(of: keyLow, toByteOffset: 32, as: Int64.self)
        if prefix > 0 { (leaf + (blob - prefix)).copyMemory(from: entries[0].address, byteCount: prefix) }
        var position = 0
        for index in 0..<count {
            let entry = entries[index]
            IndexColumn.store(
                UInt64(bitPattern: entry.key &- keyLow), leaf + (keys + index * keyWidth), width: keyWidth)
            leaf.storeBytes(
                of: UInt16(position) | (entry.isLong ? IndexLeaf.longBit : 0), toByteOffset: offsets + 2 * index,
                as: UInt16.self)
            position += IndexBuilder.storeText(entry, from: prefix, at: leaf + (blob + position))
        }
        leaf.storeBytes(of: UInt16(position), toByteOffset: offsets + 2 * count, as: UInt16.self)
        return (ref, blob + size)
    }

    /// Suffix and, for a long one, length and hash. Returns the bytes written.
    static func storeText(_ entry: IndexEntry, from prefix: Int, at: UnsafeMutableRawPointer) -> Int {
        var size = entry.head - prefix
        at.copyMemory(from: entry.address + prefix, byteCount: size)
        if entry.isLong {
            at.storeBytes(of: entry.low, toByteOffset: size, as: UInt32.self)
            at.storeBytes(of: entry.bits, toByteOffset: size + 4, as: UInt64.self)
            size += IndexLeaf.longTrailer
        }
        return size
    }

    // MARK: Separators

    /// The smallest thing between two neighbours: greater than `left`, not greater than `right`.
    func separator(_ left: IndexEntry, _ right: IndexEntry) throws(StoreError) -> IndexEntry {
        if right.isNull { return IndexEntry(bits: 0, key: right.key, flags: 0) }
        if !order.isText {
            let isSame = !left.isNull && left.bits == right.bits && left.low == right.low
            // Without a key where values differ; zero rather than the smallest, so that all are near each other.
            let key = unique ? .min : isSame ? right.key : min(0, right.key)
            return IndexEntry(bits: right.bits, low: right.low, key: key, flags: IndexEntry.present)
        }
        if left.isNull {
            return IndexEntry(
                bits: 0, low: 0, key: .min, extra: UInt(bitPattern: IndexBits.nothing), flags: IndexEntry.present)
        }
        let common = IndexBuilder.commonPrefix(left, right, limit: .max)
        if common < right.head {
            return try copied(
                right.address, common + 1,
                IndexEntry(bits: 0, low: UInt32(common + 1), key: .min, flags: IndexEntry.present))
        }
        return try entrySeparator(right)
    }

    /// An entry as a separator of itself and what is less. In a unique index without its key, which may
    /// change while the value stays; a long one is replaced then.
    func entrySeparator(_ entry: IndexEntry) throws(StoreError) -> IndexEntry {
        var separator = IndexEntry(
            bits: entry.bits, low: entry.low, key: unique && !entry.isLong ? .min : entry.key,
            flags: entry.flags & (IndexEntry.present | IndexEntry.long))
        if entry.isNull || !order.isText { return separator }
        separator.extra = UInt(bitPattern: entry.address)
        return try copied(entry.address, entry.head, separator)
    }

    private func copied(_ bytes: UnsafeRawPointer, _ count: Int, _ entry: IndexEntry) throws(StoreError) -> IndexEntry {
        let copy = try kept.allocate(max(count, 1))
        copy.copyMemory(from: bytes, byteCount: count)
        var entry = entry
        entry.extra = UInt(bitPattern: copy)
        return entry
    }
}

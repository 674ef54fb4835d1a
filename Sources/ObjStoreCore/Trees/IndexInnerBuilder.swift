/// Size and widths of an inner node that is being put together.
private struct InnerMeasure {
    let isText: Bool
    var count = 0
    var nulls = 0
    var values: (low: UInt64, high: UInt64)?
    var keyLow = Int64.max, keyHigh = Int64.min
    var low = UInt32.max, high: UInt32 = 0
    var largest = 1
    var firstText: IndexEntry?
    var texts = 0, prefix = 0, heads = 0, trailers = 0

    init(isText: Bool) { self.isText = isText }

    mutating func add(_ child: IndexChild) {
        largest = max(largest, child.count)
        count += 1
        if count == 1 { return }
        let separator = child.separator
        if separator.isNull { nulls = count }
        if isText {
            if separator.isNull {
                trailers += 8
                return
            }
            if let firstText {
                prefix = IndexBuilder.commonPrefix(firstText, separator, limit: prefix)
            } else {
                firstText = separator
                prefix = separator.head
            }
            texts += 1
            heads += separator.head
            trailers += (separator.isLong ? IndexLeaf.longTrailer : 0) + (separator.key != .min ? 8 : 0)
            return
        }
        keyLow = min(keyLow, separator.key)
        keyHigh = max(keyHigh, separator.key)
        if separator.isNull { return }
        low = min(low, separator.low)
        high = max(high, separator.low)
        values = (
            min(values?.low ?? separator.bits, separator.bits), max(values?.high ?? separator.bits, separator.bits)
        )
    }

    var countWidth: Int { IndexColumn.width(UInt64(largest)) }
    var keyWidth: Int { keyLow <= keyHigh ? IndexColumn.width(UInt64(bitPattern: keyHigh &- keyLow)) : 0 }
    var valueWidth: Int { values.map { IndexColumn.width($0.high - $0.low) } ?? 0 }
    var lowWidth: Int { low <= high ? IndexColumn.width(UInt64(high - low)) : 0 }
    var bytes: Int {
        if isText {
            return IndexInner.textData + 2 * (count + 1) + count * (countWidth + 8) + prefix + heads - texts * prefix
                + trailers
        }
        return IndexInner.data + count * (valueWidth + keyWidth + lowWidth + countWidth + 8)
    }
}

extension IndexBuilder {
    /// Appends inner nodes over all of `children` to `built`.
    func buildInner(_ children: ContiguousArray<IndexChild>, level: Int, isAppend: Bool) throws(StoreError) {
        guard level <= IndexInner.deepest else {
            throw StoreError(.corrupt, "an index is deeper than \(IndexInner.deepest) levels")
        }
        var cuts: ContiguousArray<Int> = [0]
        while cuts.last! < children.count {
            cuts.append(planInner(children, from: cuts.last!, cap: limits.innerChildren))
        }
        if cuts.count > 2, !isAppend {
            // The last two share evenly.
            let from = cuts[cuts.count - 3], half = (children.count - from + 1) / 2
            if cuts[cuts.count - 2] > from + half,
                planInner(children, from: from + half, cap: limits.innerChildren) == children.count
            {
                cuts[cuts.count - 2] = from + half
            }
        }
        for index in 0..<cuts.count - 1 {
            built.append(try emitInner(children, cuts[index], cuts[index + 1], level: level))
        }
    }

    /// The node if all of `children` fit into one.
    func buildOneInner(_ children: ContiguousArray<IndexChild>, level: Int) throws(StoreError) -> IndexChild? {
        if planInner(children, from: 0, cap: limits.innerChildren) < children.count { return nil }
        return try emitInner(children, 0, children.count, level: level)
    }

    private func planInner(_ children: ContiguousArray<IndexChild>, from: Int, cap: Int) -> Int {
        var measure = InnerMeasure(isText: order.isText)
        var end = from
        while end < children.count, end - from < cap {
            measure.add(children[end])
            if measure.bytes > limits.innerBytes, end - from >= 2 { break }
            end += 1
        }
        return end
    }

    private func emitInner(
        _ children: ContiguousArray<IndexChild>, _ from: Int, _ to: Int, level: Int
    ) throws(StoreError) -> IndexChild {
        var measure = InnerMeasure(isText: order.isText)
        for index in from..<to { measure.add(children[index]) }
        let count = to - from, bytes = measure.bytes
        let (ref, node) = try space.newNode(
            .indexInner, bytes: bytes, capacity: bytes,
            word: IndexInner.word(
                encoding: order.isText ? IndexInner.text : IndexInner.numbers, level: level,
                keyWidth: order.isText ? 0 : measure.keyWidth,
                valueWidth: measure.valueWidth, lowWidth: measure.lowWidth, countWidth: measure.countWidth,
                nullSeparators: measure.nulls))
        NodeHeader.setCount(node, count)
        if order.isText {
            storeTexts(node, children, from, to, measure)
        } else {
            storeNumbers(node, children, from, to, measure)
        }
        var total = 0
        let counts = IndexInner.countsOffset(node, count)
        for index in 0..<count {
            let child = children[from + index]
            IndexColumn.store(
                UInt64(child.count), node + (counts + index * measure.countWidth), width: measure.countWidth)
            IndexInner.setRef(node, index, child.ref)
            total += child.count
        }
        return IndexChild(
            ref: ref, count: total, separator: children[from].separator,
            isSmall: isSmall(bytes, limits.innerBytes, (count, limits.innerChildren)))
    }

    private func storeNumbers(
        _ node: UnsafeMutableRawPointer, _ children: ContiguousArray<IndexChild>, _ from: Int, _ to: Int,
        _ measure: InnerMeasure
    ) {
        let count = to - from
        let base = measure.values?.low ?? 0
        let keyBase = measure.keyLow <= measure.keyHigh ? measure.keyLow : 0
        let lowBase = measure.low <= measure.high ? measure.low : 0
        node.storeBytes(of: base, toByteOffset: 32, as: UInt64.self)
        node.storeBytes(of: keyBase, toByteOffset: 40, as: Int64.self)
        node.storeBytes(of: UInt64(lowBase), toByteOffset: 48, as: UInt64.self)
        let values = node + IndexInner.data
        let keys = values + count * measure.valueWidth
        let lows = keys + count * measure.keyWidth
        for index in 0..<count {
            let separator = children[from + index].separator
            let isStored = index > 0
            let isValue = isStored && !separator.isNull
            IndexColumn.store(
                isValue ? separator.bits &- base : 0, values + index * measure.valueWidth, width: measure.valueWidth)
            IndexColumn.store(
                isStored ? UInt64(bitPattern: separator.key &- keyBase) : 0, keys + index * measure.keyWidth,
                width: measure.keyWidth)
            IndexColumn.store(
                isValue ? UInt64(separator.low &- lowBase) : 0, lows + index * measure.lowWidth, width: measure.lowWidth
            )
        }
    }

    private func storeTexts(
        _ node: UnsafeMutableRawPointer, _ children: ContiguousArray<IndexChild>, _ from: Int, _ to: Int,
        _ measure: InnerMeasure
    ) {
        let count = to - from
        node.storeBytes(of: UInt64(measure.prefix), toByteOffset: 32, as: UInt64.self)
        let prefix = node + (IndexInner.textData + 2 * (count + 1) + count * (measure.countWidth + 8))
        if let first = measure.firstText { prefix.copyMemory(from: first.address, byteCount: measure.prefix) }
        let blob = prefix + measure.prefix
        var position = 0
        for index in 0..<count {
            let separator = children[from + index].separator
            var word = UInt16(position)
            if index > 0 {
                if !separator.isNull {
                    position += IndexBuilder.storeText(separator, from: measure.prefix, at: blob + position)
                }
                if separator.isLong { word |= IndexLeaf.longBit }
                if separator.isNull || separator.key != .min {
                    word |= IndexText.keyedBit
                    (blob + position).storeBytes(of: separator.key, as: Int64.self)
                    position += 8
                }
            }
            node.storeBytes(of: word, toByteOffset: IndexInner.textData + 2 * index, as: UInt16.self)
        }
        node.storeBytes(of: UInt16(position), toByteOffset: IndexInner.textData + 2 * count, as: UInt16.self)
    }

    // MARK: Reading back

    /// Child `index` of a node with its separator; the text of that is copied to `kept`.
    func child(_ node: UnsafeRawPointer, _ index: Int) throws(StoreError) -> IndexChild {
        var separator = IndexEntry.lowest
        if index > 0 { separator = try self.separator(of: node, index) }
        return IndexChild(
            ref: IndexInner.ref(node, index), count: Int(IndexInner.counts(node).offset(index)), separator: separator,
            isSmall: false)
    }

    func separator(of node: UnsafeRawPointer, _ index: Int) throws(StoreError) -> IndexEntry {
        let isNull = index < IndexInner.nullSeparators(node)
        if IndexInner.encoding(node) == IndexInner.numbers {
            let key = Int64(bitPattern: IndexInner.keys(node)[index])
            if isNull { return IndexEntry(bits: 0, key: key, flags: 0) }
            return IndexEntry(
                bits: IndexInner.values(node)[index], low: UInt32(truncatingIfNeeded: IndexInner.lows(node)[index]),
                key: key,
                flags: IndexEntry.present)
        }
        let view = IndexInner.view(node)
        let key = IndexInner.separatorKey(view, index)
        if isNull { return IndexEntry(bits: 0, key: key, flags: 0) }
        return try IndexBuilder.text(view, index, key: key, in: &kept)
    }

    /// Text `index` of a node, put together from prefix and suffix.
    static func text(
        _ view: IndexText, _ index: Int, key: Int64, in memory: inout IndexBump
    ) throws(StoreError) -> IndexEntry {
        let (bytes, count, word) = view.suffix(index)
        let head = view.prefixLength + count
        let copy = try memory.allocate(max(head, 1))
        copy.copyMemory(from: view.prefix, byteCount: view.prefixLength)
        (copy + view.prefixLength).copyMemory(from: bytes, byteCount: count)
        var entry = IndexEntry(
            bits: 0, low: UInt32(head), key: key, extra: UInt(bitPattern: copy), flags: IndexEntry.present)
        if word & IndexLeaf.longBit != 0 {
            (entry.low, entry.bits) = IndexText.long(bytes + count)
            entry.flags |= IndexEntry.long
        }
        return entry
    }

    /// Appends the entries of a leaf to a list; texts are put together in `memory`.
    static func decode(
        _ leaf: UnsafeRawPointer, into list: inout IndexEntryBuffer, _ memory: inout IndexBump
    ) throws(StoreError) {
        let count = NodeHeader.count(leaf)
        try list.reserve(list.count + count)
        switch IndexLeaf.encoding(leaf) {
        case IndexLeaf.runs:
            for index in 0..<count { try list.append(IndexLeaf.run(leaf, index)) }
        case IndexLeaf.packed:
            let values = IndexLeaf.values(leaf), keys = IndexLeaf.keys(leaf), lows = IndexLeaf.lows(leaf)
            let flags = IndexLeaf.isNull(leaf) ? 0 : IndexEntry.present
            for index in 0..<count {
                try list.append(
                    IndexEntry(
                        bits: values[index], low: UInt32(truncatingIfNeeded: lows[index]),
                        key: Int64(bitPattern: keys[index]), flags: flags))
            }
        default:
            let view = IndexLeaf.view(leaf), keys = IndexLeaf.textKeys(leaf)
            for index in 0..<count {
                try list.append(try text(view, index, key: Int64(bitPattern: keys[index]), in: &memory))
            }
        }
    }
}

/// The changes to the objects of one class between two versions, each object once.
///
/// Lists ascend by key. Created and deleted since = nothing; created and changed = inserted; changed and
/// deleted = deleted.
package struct ClassChanges: Sendable {
    package internal(set) var deleted: [Int64] = []
    package internal(set) var inserted: [Int64] = []
    package internal(set) var modified: [Int64] = []
    /// Of a list with an order of its own: those that are in it before and after, but at another place among the
    /// others. None of them is in `modified`.
    package internal(set) var moved: [Int64] = []
    /// For each modified object, and then for each moved one, `maskWords` words; bit i % 64 of word i / 64 = the
    /// property at position i.
    package internal(set) var masks: [UInt64] = []
    package let maskWords: Int
    /// Another process committed some of it.
    package internal(set) var isFromOtherProcess = false

    package init(maskWords: Int) { self.maskWords = maskWords }

    package var isEmpty: Bool { deleted.isEmpty && inserted.isEmpty && modified.isEmpty && moved.isEmpty }

    /// Which properties of the modification at an index were written.
    @inline(__always)
    func mask(_ index: Int) -> ArraySlice<UInt64> { masks[(index * maskWords)..<((index + 1) * maskWords)] }

    /// Whether one of the properties at some positions was written in the modification at an index.
    @inline(__always)
    func hasWritten(_ columns: [Int], in index: Int) -> Bool {
        let mask = mask(index)
        return columns.contains { mask[mask.startIndex + $0 >> 6] >> UInt64($0 & 63) & 1 != 0 }
    }

    mutating func keep(only key: Int64) {
        deleted = deleted.hasAscending(key) ? [key] : []
        inserted = inserted.hasAscending(key) ? [key] : []
        let row = rowOfModification(key)
        masks = row.map { Array(mask($0)) } ?? []
        modified = row == nil ? [] : [key]
    }

    /// Where a modification stands.
    func rowOfModification(_ key: Int64) -> Int? {
        let place = modified.placeAscending(key)
        return place < modified.count && modified[place] == key ? place : nil
    }

    /// Keeps those modifications of which it is true.
    mutating func keepModifications(where isKept: (_ index: Int) -> Bool) {
        let kept = modified.indices.filter(isKept)
        if kept.count == modified.count { return }
        masks = kept.flatMap { mask($0) }
        modified = kept.map { modified[$0] }
    }

    /// Marks a property of some objects, in ascending order, as changed; those that are new or gone stay so.
    mutating func addModified(_ keys: [Int64], property: Int) {
        if keys.isEmpty { return }
        let gone = Set(deleted), new = Set(inserted)
        var merged: [Int64] = [], words: [UInt64] = [], at = 0
        func take(_ key: Int64) {
            merged.append(key)
            words.append(contentsOf: masks[at * maskWords..<(at + 1) * maskWords])
            at += 1
        }
        for key in keys where !gone.contains(key) && !new.contains(key) {
            while at < modified.count, modified[at] < key { take(modified[at]) }
            if at < modified.count, modified[at] == key {
                take(key)
            } else {
                merged.append(key)
                words.append(contentsOf: repeatElement(0, count: maskWords))
            }
            words[words.count - maskWords + property >> 6] |= 1 << UInt64(property & 63)
        }
        while at < modified.count { take(modified[at]) }
        modified = merged
        masks = words
    }

    static func maskWords(_ cls: ClassSchema) -> Int { max(1, (cls.properties.count + 63) / 64) }

    mutating func append(_ kind: ChangeKind, _ key: Int64) throws(StoreError) {
        switch kind {
        case .deleted: try deleted.tryAppend(key)
        case .inserted: try inserted.tryAppend(key)
        case .modified: try modified.tryAppend(key)
        }
    }
}

/// Of keys, and of positions.
extension Array where Element: FixedWidthInteger {
    /// Of ascending ones, how many are less: where one is, or belongs.
    func placeAscending(_ one: Element) -> Int {
        var low = 0, high = count
        while low < high {
            let middle = (low + high) / 2
            if self[middle] < one { low = middle + 1 } else { high = middle }
        }
        return low
    }

    func hasAscending(_ one: Element) -> Bool {
        let place = placeAscending(one)
        return place < count && self[place] == one
    }
}

extension ClassChanges {
    /// An object that was modified, and which of its properties.
    mutating func appendModified(_ key: Int64, _ mask: ArraySlice<UInt64>) throws(StoreError) {
        try append(.modified, key)
        for word in mask { try masks.tryAppend(word) }
    }
}

/// Collects what commits did to the objects of one class, in order, and nets it.
///
/// Costs O(1) an event to record and O(passes of a radix sort) to net: nothing here depends on how many
/// objects there are.
final class ChangeCollector {
    /// 24 bytes; `mask` is word `word` of a mask.
    private struct Event {
        var key: Int64
        var mask: UInt64
        var kind: ChangeKind
        var word: UInt16
    }

    private var events: [Event] = []
    private let maskWords: Int
    var isFromOtherProcess = false

    init(maskWords: Int) {
        // A class has at most 65,000 properties.
        precondition(maskWords <= 1 << 16)
        self.maskWords = maskWords
    }

    func record(_ kind: ChangeKind, _ key: Int64) throws(StoreError) {
        try events.tryAppend(Event(key: key, mask: 0, kind: kind, word: 0))
    }

    func recordUpdate(_ key: Int64, property: Int) throws(StoreError) {
        try events.tryAppend(
            Event(key: key, mask: 1 << UInt64(property & 63), kind: .modified, word: UInt16(property >> 6)))
    }

    /// A run of a summary, whose bit 63 represents the property at 63 and all behind it.
    func record(_ run: OpLog.Run) throws(StoreError) {
        var key = run.firstKey
        let end = run.firstKey + run.count
        while key < end {
            try events.tryAppend(Event(key: key, mask: run.columns, kind: run.kind, word: 0))
            if run.kind == .modified && maskWords > 1 && run.columns >> 63 != 0 {
                for word in 1..<maskWords {
                    try events.tryAppend(Event(key: key, mask: ~0, kind: .modified, word: UInt16(word)))
                }
            }
            key += 1
        }
    }

    /// - Parameter valid: bits of properties that exist, word by word.
    func net(propertyCount: Int) throws(StoreError) -> ClassChanges {
        // Sorting takes as much again, twice, and there are at most as many changes, in lists that grow.
        try Memory.check(for: events.count, each: 2 * MemoryLayout<Event>.stride + 24 * (1 + maskWords))
        sort()
        var changes = ClassChanges(maskWords: maskWords)
        changes.isFromOtherProcess = isFromOtherProcess
        var mask = [UInt64](repeating: 0, count: maskWords)
        let last = maskWords - 1
        let lastBits = propertyCount - last * 64
        let valid: UInt64 = lastBits >= 64 ? ~0 : (1 << UInt64(max(0, lastBits))) - 1
        events.withUnsafeBufferPointer { events in
            var index = 0
            while index < events.count {
                let key = events[index].key
                var wasCreated = false, isDeleted = false
                for word in 0..<maskWords { mask[word] = 0 }
                while index < events.count, events[index].key == key {
                    let event = events[index]
                    switch event.kind {
                    case .inserted: wasCreated = true
                    case .deleted: isDeleted = true
                    case .modified: mask[Int(event.word)] |= event.mask
                    }
                    index += 1
                }
                if isDeleted {
                    if !wasCreated { changes.deleted.append(key) }
                } else if wasCreated {
                    changes.inserted.append(key)
                } else {
                    changes.modified.append(key)
                    mask[last] &= valid
                    changes.masks.append(contentsOf: mask)
                }
            }
        }
        return changes
    }

    /// By key; the order of one key's events does not matter any more: keys are never used again, so what was
    /// created here was created first, and what was deleted was deleted last.
    private func sort() {
        var low = Int64.max, high = Int64.min, isSorted = true, previous = Int64.min
        for event in events {
            if event.key < previous { isSorted = false }
            previous = event.key
            low = min(low, event.key)
            high = max(high, event.key)
        }
        if isSorted { return }
        if events.count < 64 {
            events.sort { $0.key < $1.key }
            return
        }
        let bits = 64 - UInt64(bitPattern: high &- low).leadingZeroBitCount
        var shift = 0
        var from = events
        var to = events
        while shift < bits {
            var starts = [Int](repeating: 0, count: 2049)
            for event in from { starts[Int(UInt64(bitPattern: event.key &- low) >> UInt64(shift) & 2047) + 1] += 1 }
            for digit in 1..<2049 { starts[digit] += starts[digit - 1] }
            for event in from {
                let digit = Int(UInt64(bitPattern: event.key &- low) >> UInt64(shift) & 2047)
                to[starts[digit]] = event
                starts[digit] += 1
            }
            swap(&from, &to)
            shift += 11
        }
        events = from
    }
}

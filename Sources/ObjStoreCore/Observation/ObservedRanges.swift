/// Between which values of a property an observer waits for objects, as numbers in the same order.
struct ObservedRange {
    var least: UInt64 = 0
    var greatest: UInt64 = .max

    var isEmpty: Bool { least > greatest }

    func contains(_ number: UInt64) -> Bool { least <= number && number <= greatest }

    /// A value as a number: of two values the greater one has none that is less, and different ones may have the same.
    /// Nil: null, not a number, or of a kind that is not looked up so.
    static func number(_ value: Value) -> UInt64? {
        func ordered(_ number: Double) -> UInt64? {
            if number.isNaN { return nil }
            // The two zeros are equal.
            let bits = (number == 0 ? 0 : number).bitPattern
            return bits >> 63 == 0 ? bits | 1 << 63 : ~bits
        }
        switch value.kind {
        case .int, .timestamp: return UInt64(bitPattern: value.low) ^ 1 << 63
        case .double: return ordered(Double(bitPattern: UInt64(bitPattern: value.low)))
        case .float: return ordered(Double(Float(bitPattern: UInt32(truncatingIfNeeded: value.low))))
        case .string:
            // Its first eight bytes.
            var number: UInt64 = 0
            for index in 0..<8 {
                let byte = index < value.count ? value.pointer?.load(fromByteOffset: index, as: UInt8.self) ?? 0 : 0
                number = number << 8 | UInt64(byte)
            }
            return number
        default: return nil
        }
    }
}

/// Which observers wait for objects with a value of one property in a range, found by a value: those that wait for
/// others cost nothing.
///
/// A range with two ends lies in one or two neighbouring blocks of the smallest size that it is no longer than, a power
/// of two; it is written down at these. A value is looked up in its block of each size that has any.
/// ```
///  blocks of 8      |       |       |       |       |
///  blocks of 4      |   |   |   |   |   |   |   |   |
///  3 ... 5              ├──────┤                         4: at the two blocks of 4 that it touches
/// ```
/// Ranges with one end are in the order of that end.
struct ObservedRanges {
    private struct Block: Hashable {
        let size: UInt8
        let place: UInt64
    }

    private var blocks: [Block: ObserverGroup] = [:]
    /// How many ranges there are at each size, in bits.
    private var sizes: [Int] = Array(repeating: 0, count: 65)
    private var fromHere = RangeEnds()
    private var upToHere = RangeEnds()

    mutating func change(_ observer: Observer, _ range: ObservedRange, comes: Bool) {
        switch (range.least, range.greatest) {
        case (let least, .max): fromHere.change(observer, at: least, comes: comes)
        case (0, let greatest): upToHere.change(observer, at: greatest, comes: comes)
        case (let least, let greatest):
            let size = 64 - (greatest - least).leadingZeroBitCount
            sizes[size] += comes ? 1 : -1
            for place in Set([least, greatest].map { ObservedRanges.place($0, size) }) {
                blocks[Block(size: UInt8(size), place: place)].change(observer, comes: comes)
            }
        }
    }

    private static func place(_ number: UInt64, _ size: Int) -> UInt64 { size >= 64 ? 0 : number >> UInt64(size) }

    /// Those whose range has the number.
    func forEach(with number: UInt64, _ body: (Observer) -> Void) {
        fromHere.forEach(upTo: number, body)
        upToHere.forEach(from: number, body)
        for size in sizes.indices where sizes[size] > 0 {
            blocks[Block(size: UInt8(size), place: ObservedRanges.place(number, size))]?.forEach { observer in
                if observer.range?.contains(number) == true { body(observer) }
            }
        }
    }

    func forEach(_ body: (Observer) -> Void) {
        fromHere.forEach(upTo: .max, body)
        upToHere.forEach(from: 0, body)
        // One that lies in two blocks comes twice.
        for group in blocks.values { group.forEach(body) }
    }
}

/// Observers by the one end of their ranges, in its order.
private struct RangeEnds {
    private var ends: [UInt64] = []
    private var observers: [Observer] = []

    mutating func change(_ observer: Observer, at end: UInt64, comes: Bool) {
        let number = observer.number
        let place = first { ends[$0] > end || ends[$0] == end && observers[$0].number >= number }
        if comes {
            ends.insert(end, at: place)
            observers.insert(observer, at: place)
        } else if place < ends.count, observers[place] === observer {
            ends.remove(at: place)
            observers.remove(at: place)
        }
    }

    func forEach(upTo number: UInt64, _ body: (Observer) -> Void) {
        for place in 0..<first(where: { ends[$0] > number }) { body(observers[place]) }
    }
    func forEach(from number: UInt64, _ body: (Observer) -> Void) {
        for place in first(where: { ends[$0] >= number })..<ends.count { body(observers[place]) }
    }

    /// From which place on it is so, by halving.
    private func first(where isBehind: (Int) -> Bool) -> Int {
        var low = 0, high = ends.count
        while low < high {
            let middle = (low + high) / 2
            if isBehind(middle) { high = middle } else { low = middle + 1 }
        }
        return low
    }
}

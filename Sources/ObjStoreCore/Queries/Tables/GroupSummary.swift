internal import CSystem

/// One aggregate of all groups. Null and NaN do not count; of nothing a sum is 0, everything else null.
final class GroupSummary {
    private enum Way {
        case ints, doubles, decimals
        case leastInt, greatestInt, leastDouble, greatestDouble
        case extreme
    }

    private let aggregate: QueryAggregate
    private let reader: ObjectReader
    private let way: Way
    private let sums: PathSum

    /// How many values count.
    private var counts = GroupArray<Int64>()
    private var ints = GroupArray<Int128>()
    private var doubles = GroupArray<Double>()
    private var extremes = GroupArray<Int64>()
    /// Their bytes are in the pages that are read.
    private var values = GroupArray<Value>()
    private var decimals = GroupArray<Decimal128>()
    /// Sums of doubles and decimals once more, so that they can be followed; as long as they are exact.
    private var exact = GroupArray<ExactSum>()
    private var isExact = false
    /// Or their values.
    private var kept: [KeptNumbers] = []
    private var keptCount = 0
    private var isKeeping = false
    /// Of least or greatest values the next ones.
    private var best: [BestValues] = []
    private var keepsBest = false

    init(
        _ aggregate: QueryAggregate, _ reader: ObjectReader, _ sums: PathSum, _ following: GroupFollowing? = nil
    ) {
        self.aggregate = aggregate
        self.reader = reader
        self.sums = sums
        let isLeast = aggregate == .minimum, kind = reader.value.kind
        if isLeast || aggregate == .maximum {
            switch kind {
            case .int where reader.number != nil: way = isLeast ? .leastInt : .greatestInt
            case .double where reader.number != nil: way = isLeast ? .leastDouble : .greatestDouble
            default: way = .extreme
            }
            keepsBest = following?.keepsBest == true
        } else {
            way = sums == .decimals ? .decimals : sums == .ints ? .ints : .doubles
            isKeeping = following?.sums == .byValues && way == .doubles
            isExact = following != nil && sums != .ints && !isKeeping
        }
    }

    /// The values of a block, whose groups have these numbers; there are `groups` of them.
    func add(_ block: RowBlocks, _ numbers: UnsafePointer<Int32>, groups: Int) throws(StoreError) {
        try extend(to: groups)
        if isExact { try addExactly(block, numbers) }
        if isKeeping { try keep(block, numbers) }
        if keepsBest { try keepBest(block, numbers, groups: groups) }
        guard let column = reader.number else {
            return try reader.forEach(block) { (index, value) throws(StoreError) in
                try add(value, Int(numbers[index]))
            }
        }
        try column.read(block)
        let count = block.count
        switch way {
        case .ints:
            for index in 0..<count where !column.isNull(index) {
                let group = Int(numbers[index])
                ints.elements[group] &+= Int128(column.values[index])
                counts.elements[group] &+= 1
            }
        case .doubles: addDoubles(column, count, numbers)
        case .leastInt:
            for index in 0..<count where !column.isNull(index) {
                let group = Int(numbers[index]), value = column.values[index]
                if value < extremes[group] || counts[group] == 0 { extremes[group] = value }
                counts.elements[group] &+= 1
            }
        case .greatestInt:
            for index in 0..<count where !column.isNull(index) {
                let group = Int(numbers[index]), value = column.values[index]
                if value > extremes[group] || counts[group] == 0 { extremes[group] = value }
                counts.elements[group] &+= 1
            }
        case .leastDouble, .greatestDouble:
            let isLeast = way == .leastDouble
            for index in 0..<count where !column.isNull(index) {
                let group = Int(numbers[index])
                let value = Double(bitPattern: UInt64(bitPattern: column.values[index]))
                if value.isNaN { continue }
                if counts[group] == 0 || (isLeast ? value < doubles[group] : value > doubles[group]) {
                    doubles[group] = value
                }
                counts.elements[group] &+= 1
            }
        case .decimals, .extreme:
            let kind = reader.value.kind
            for index in 0..<count where !column.isNull(index) {
                try add(Value(kind: kind, low: column.values[index]), Int(numbers[index]))
            }
        }
    }

    private func addExactly(_ block: RowBlocks, _ numbers: UnsafePointer<Int32>) throws(StoreError) {
        func sum(_ index: Int, _ initial: ExactSum) throws(StoreError) -> UnsafeMutablePointer<ExactSum> {
            let group = Int(numbers[index])
            if group >= exact.count { try exact.extend(to: group + 1, with: initial) }
            return exact.elements + group
        }
        if way == .doubles {
            return try forEachDouble(block) { (index, number) throws(StoreError) in
                isExact = try sum(index, .doubles).pointee.add(number)
                return isExact
            }
        }
        try reader.forEach(block) { (index, value) throws(StoreError) in
            guard isExact, !value.isNaN, let number = ValueProgram.decimal(value) else { return }
            isExact = try sum(index, .decimals).pointee.add(number)
        }
    }

    private func keep(_ block: RowBlocks, _ numbers: UnsafePointer<Int32>) throws(StoreError) {
        keptCount += block.count
        isKeeping = keptCount <= KeptNumbers.most
        if !isKeeping { return }
        try Memory.check(for: block.count, each: 32)
        try forEachDouble(block) { (index, number) throws(StoreError) in
            let group = Int(numbers[index])
            while group >= kept.count { kept.append(KeptNumbers()) }
            kept[group].append(number, of: try block.row(index).key)
            return true
        }
    }

    private func keepBest(_ block: RowBlocks, _ numbers: UnsafePointer<Int32>, groups: Int) throws(StoreError) {
        let room = BestValues.room(groups: groups), isLeast = aggregate == .minimum
        while best.count < groups { best.append(BestValues(isLeast: isLeast)) }
        func offer(_ index: Int, _ value: Value) throws(StoreError) {
            if value.isNull || value.isNaN { return }
            try best[Int(numbers[index])].offer(value, of: try block.row(index).key, room: room)
        }
        guard let column = reader.number else { return try reader.forEach(block, offer) }
        try column.read(block)
        for index in 0..<block.count where !column.isNull(index) {
            try offer(index, Value(kind: reader.value.kind, low: column.values[index]))
        }
    }

    /// Calls `body` with the place and the value of each object of a block whose value counts, until it returns false.
    private func forEachDouble(
        _ block: RowBlocks, _ body: (Int, Double) throws(StoreError) -> Bool
    ) throws(StoreError) {
        if let column = reader.number, reader.value.kind == .double {
            try column.read(block)
            for index in 0..<block.count where !column.isNull(index) {
                let number = Double(bitPattern: UInt64(bitPattern: column.values[index]))
                if !number.isNaN, try !body(index, number) { return }
            }
            return
        }
        var goesOn = true
        try reader.forEach(block) { (index, value) throws(StoreError) in
            guard goesOn, !value.isNaN, let number = ValueProgram.number(value) else { return }
            goesOn = try body(index, number)
        }
    }

    /// A sum of doubles, which `GroupKeys` can add up while it counts.
    var isSumOfDoubles: Bool {
        way == .doubles && aggregate == .sum && reader.value.kind == .double && reader.number != nil && !isExact
            && !isKeeping
    }

    /// Adds the values of a block where they lie in the leaf to what is there, by their cells; false: they lie
    /// otherwise.
    func add(
        _ block: RowBlocks, _ cells: UnsafePointer<UInt8>, to sums: UnsafeMutablePointer<cs_group_sum>
    ) throws(StoreError) -> Bool {
        guard let column = reader.number else { return false }
        return try column.forEachRun(block) { (words, first, count) in
            let values = UnsafeRawPointer(words).assumingMemoryBound(to: Double.self)
            cs_sums_by_byte(cells + first, values, count, sums)
        }
    }

    func sum(_ group: Int) -> Double { group < doubles.count ? doubles[group] : 0 }
    func set(_ group: Int, _ sum: Double) { doubles[group] = sum }

    /// The sum of doubles where they lie in the leaf; false: it is something else, or they lie otherwise.
    func addInPlace(_ block: RowBlocks, _ bytes: GroupKeys.Bytes, groups: Int) throws(StoreError) -> Bool {
        guard isSumOfDoubles, let column = reader.number else { return false }
        try extend(to: groups)
        let sums = doubles.elements
        return try column.forEachRun(block) { (words, first, count) in
            for index in 0..<count {
                let value = Double(bitPattern: UInt64(bitPattern: words[index]))
                // NaN does not count.
                sums[bytes.number(first &+ index)] += value == value ? value : 0
            }
        }
    }

    private func addDoubles(_ column: NumberColumn, _ count: Int, _ numbers: UnsafePointer<Int32>) {
        let values = column.values, sums = doubles.elements, counts = counts.elements
        if reader.value.kind == .double, !column.hasNulls {
            if aggregate == .sum {
                for index in 0..<count {
                    let value = Double(bitPattern: UInt64(bitPattern: values[index]))
                    // NaN does not count.
                    sums[Int(numbers[index])] += value == value ? value : 0
                }
                return
            }
            for index in 0..<count {
                let group = Int(numbers[index]), value = Double(bitPattern: UInt64(bitPattern: values[index]))
                if _fastPath(value == value) {
                    sums[group] += value
                    counts[group] &+= 1
                }
            }
            return
        }
        let isFloat = reader.value.kind == .float
        for index in 0..<count where !column.isNull(index) {
            let value =
                isFloat
                ? Double(Float(bitPattern: UInt32(truncatingIfNeeded: values[index])))
                : Double(bitPattern: UInt64(bitPattern: values[index]))
            if value.isNaN { continue }
            let group = Int(numbers[index])
            sums[group] += value
            counts[group] &+= 1
        }
    }

    /// Sums of doubles, of all groups; nil: they are something else.
    var words: UnsafePointer<Int64>? {
        guard way == .doubles, aggregate == .sum else { return nil }
        return UnsafeRawPointer(doubles.elements).assumingMemoryBound(to: Int64.self)
    }

    private func add(_ value: Value, _ group: Int) throws(StoreError) {
        if value.isNull || value.isNaN { return }
        switch way {
        case .extreme, .leastInt, .greatestInt, .leastDouble, .greatestDouble:
            let best = values[group], order = best.isNull ? 0 : try MixedOrder.compare(value, best)
            if best.isNull || (aggregate == .minimum ? order < 0 : order > 0) { values[group] = value }
        case .decimals:
            guard let number = ValueProgram.decimal(value) else { return }
            decimals[group] = decimals[group] + number
        case .ints: ints[group] += Int128(value.low)
        case .doubles:
            guard let number = ValueProgram.number(value) else { return }
            doubles[group] += number
        }
        counts[group] += 1
    }

    /// So many groups, also those that have nothing.
    func extend(to groups: Int) throws(StoreError) {
        try counts.extend(to: groups, with: 0)
        switch way {
        case .ints: try ints.extend(to: groups, with: 0)
        case .doubles, .leastDouble, .greatestDouble: try doubles.extend(to: groups, with: 0)
        case .leastInt, .greatestInt: try extremes.extend(to: groups, with: 0)
        case .decimals: try decimals.extend(to: groups, with: .zero)
        case .extreme: try values.extend(to: groups, with: .null)
        }
    }

    /// What it knows of all groups, to be followed from there; nil: it cannot be.
    func followed(_ groups: Int) throws(StoreError) -> GroupTotals? {
        func all<Element>(_ array: borrowing GroupArray<Element>) -> [Element] {
            Array(UnsafeBufferPointer(start: array.elements, count: groups))
        }
        func best(_ value: (Int) -> Value) throws(StoreError) -> GroupTotals {
            let isLeast = aggregate == .minimum
            if keepsBest {
                while self.best.count < groups { self.best.append(BestValues(isLeast: isLeast)) }
                return try GroupTotals(keeping: self.best, all(counts), isLeast: isLeast)
            }
            let best = (0..<groups).map { group in counts[group] == 0 ? .null : value(group) }
            return try GroupTotals(best: best, all(counts), isLeast: isLeast)
        }
        try Memory.check(for: groups, each: 128)
        let isMean = aggregate != .sum
        switch way {
        case .ints: return GroupTotals(ints: all(ints), all(counts), isMean: isMean)
        case .doubles where isKeeping:
            while kept.count < groups { kept.append(KeptNumbers()) }
            return GroupTotals(kept: kept, all(counts), isMean: isMean)
        case .doubles, .decimals:
            guard isExact else { return nil }
            try exact.extend(to: groups, with: way == .decimals ? .decimals : .doubles)
            return GroupTotals(exact: all(exact), all(counts), isMean: isMean, isOfDecimals: way == .decimals)
        case .leastInt, .greatestInt: return try best { .int(extremes[$0]) }
        case .leastDouble, .greatestDouble: return try best { .double(doubles[$0]) }
        case .extreme: return try best { values[$0] }
        }
    }

    static func sum(_ sum: Int128) -> Value { Int64(exactly: sum).map { .int($0) } ?? .null }
    static func mean(_ sum: Int128, of count: Int64) -> Value {
        mean(Double(sum), of: count)
    }
    static func mean(_ sum: Double, of count: Int64) -> Value {
        count == 0 ? .null : .double(sum / Double(count))
    }
    static func mean(_ sum: Decimal128, of count: Int64) -> Value {
        count == 0 ? .null : .decimal128(sum / ExactNumber.decimal(count))
    }

    func value(_ group: Int) -> Value {
        let count = counts[group]
        switch (way, aggregate) {
        // What leaves 64 bits is null, as everywhere in the language.
        case (.ints, .sum): return GroupSummary.sum(ints[group])
        case (.ints, _): return GroupSummary.mean(ints[group], of: count)
        case (.doubles, .sum): return .double(doubles[group])
        case (.doubles, _): return GroupSummary.mean(doubles[group], of: count)
        case (.decimals, .sum): return .decimal128(decimals[group])
        case (.decimals, _): return GroupSummary.mean(decimals[group], of: count)
        case (.leastInt, _), (.greatestInt, _): return count == 0 ? .null : .int(extremes[group])
        case (.leastDouble, _), (.greatestDouble, _): return count == 0 ? .null : .double(doubles[group])
        case (.extreme, _): return values[group]
        }
    }
}

internal import CSystem

/// Evaluates programs with functions that take columns, for up to 4,096 rows at once: each function is called once.
///
/// ```
///  f(lat, g(lon) + 1) < 50         g(lon)               columns: lon                    result 0
///                                  f(lat, result 0 + 1) columns: lat, result 0 + 1      result 1
///                                  result 1 < 50        row by row
/// ```
/// Rows in which an argument is null that must not be are left out of the columns: their result is null.
final class FunctionBatch {
    /// A call, and what its arguments are. A property behind the last one is the result of a call before it.
    private struct Site {
        let call: FunctionCall
        let arguments: [ValueProgram]
        let results: UnsafeMutableRawPointer
        /// A byte a row: 1 = the result is null.
        let nulls: UnsafeMutablePointer<UInt8>
    }

    /// Of a block.
    private enum Rows {
        /// Slots of a leaf, ascending.
        case leaf(UnsafeRawPointer, UnsafeBufferPointer<UInt16>)
        case any(UnsafeBufferPointer<RowPosition>)

        var count: Int {
            switch self {
            case .leaf(_, let slots): slots.count
            case .any(let rows): rows.count
            }
        }
    }

    private let reader: ClusterReader
    private let positions: [Int]
    private let functions: FunctionRun
    private var sites: [Site] = []
    private var programs: [ValueProgram] = []
    private var memory: [UnsafeMutableRawPointer] = []
    /// Of each parameter, while a function is called.
    private let columns: [UnsafeMutableRawPointer]
    private let validities: [UnsafeMutablePointer<UInt8>]
    private let slots: UnsafeMutablePointer<UInt16>
    /// The rows that are in the columns, by their numbers in the block.
    private let kept: UnsafeMutablePointer<UInt16>
    /// A byte a row: 1 = it is left out.
    private let missing: UnsafeMutablePointer<UInt8>
    private let outputValidity: UnsafeMutablePointer<UInt8>

    static let rows = LeafHead.rowsPerLeaf
    private static let widest = 16

    /// Errors: `.outOfMemory`.
    init(
        _ programs: [ValueProgram], _ positions: [Int], _ reader: ClusterReader, _ functions: FunctionRun
    ) throws(StoreError) {
        self.reader = reader
        self.positions = positions
        self.functions = functions
        var memory: [UnsafeMutableRawPointer] = []
        func allocate<T>(_ type: T.Type, _ count: Int) throws(StoreError) -> UnsafeMutablePointer<T> {
            let part = try Memory.allocate(type, count)
            memory.append(UnsafeMutableRawPointer(part))
            return part
        }
        let most = programs.flatMap(\.calls).reduce(0) { $1.isBatch ? max($0, $1.count) : $0 }
        do throws(StoreError) {
            var columns: [UnsafeMutableRawPointer] = [], validities: [UnsafeMutablePointer<UInt8>] = []
            for _ in 0..<most {
                columns.append(UnsafeMutableRawPointer(try allocate(UInt8.self, FunctionBatch.rows * 16)))
                validities.append(try allocate(UInt8.self, FunctionBatch.rows / 8))
            }
            (self.columns, self.validities) = (columns, validities)
            slots = try allocate(UInt16.self, FunctionBatch.rows)
            kept = try allocate(UInt16.self, FunctionBatch.rows)
            missing = try allocate(UInt8.self, FunctionBatch.rows)
            outputValidity = try allocate(UInt8.self, FunctionBatch.rows / 8)
            var sites: [Site] = []
            for program in programs {
                self.programs.append(
                    try FunctionBatch.split(program, positions.count, &sites) { (stride) throws(StoreError) in
                        (
                            UnsafeMutableRawPointer(try allocate(UInt8.self, FunctionBatch.rows * stride)),
                            try allocate(UInt8.self, FunctionBatch.rows)
                        )
                    })
            }
            self.sites = sites
            self.memory = memory
        } catch {
            for part in memory { part.deallocate() }
            throw error
        }
    }

    deinit { for part in memory { part.deallocate() } }

    /// The program with results in place of calls with columns; those are added to `sites`.
    private static func split(
        _ program: ValueProgram, _ properties: Int, _ sites: inout [Site],
        _ allocate: (Int) throws(StoreError) -> (UnsafeMutableRawPointer, UnsafeMutablePointer<UInt8>)
    ) throws(StoreError) -> ValueProgram {
        // Of each value on the stack, the steps that make it.
        var stack: [[ValueProgram.Step]] = []
        for step in program.steps {
            switch step {
            case .constant, .property: stack.append([step])
            case .length, .arithmetic(.negate): stack[stack.count - 1].append(step)
            case .arithmetic:
                let last = stack.removeLast()
                stack[stack.count - 1] += last + [step]
            case .call(let call):
                let arguments = Array(stack.suffix(call.count))
                stack.removeLast(call.count)
                guard call.isBatch else {
                    stack.append(arguments.flatMap { $0 } + [step])
                    continue
                }
                let (results, nulls) = try allocate(call.function.signature.result.kind.columnStride)
                sites.append(
                    Site(
                        call: call,
                        arguments: arguments.map { ValueProgram(steps: $0, kind: .mixed, depth: program.depth) },
                        results: results, nulls: nulls))
                stack.append([.property(properties + sites.count - 1)])
            }
        }
        return ValueProgram(steps: stack[0], kind: program.kind, depth: program.depth)
    }

    // MARK: Values

    /// Calls the functions for a block.
    private func evaluate(_ rows: Rows) throws(StoreError) {
        functions.begin()
        for site in sites { try evaluate(site, rows) }
    }

    private func value(_ program: ValueProgram, _ row: Int, _ rows: Rows) throws(StoreError) -> Value {
        try program.value(functions) { (number) throws(StoreError) in
            if number >= positions.count { return try result(sites[number - positions.count], row) }
            return try reader.plainValue(try position(row, rows), positions[number])
        }
    }

    private func position(_ row: Int, _ rows: Rows) throws(StoreError) -> RowPosition {
        switch rows {
        case .any(let rows): return rows[row]
        case .leaf(let head, let slots):
            let slot = Int(slots[row])
            return RowPosition(head: head, slot: slot, key: try LeafKeys(reader.source, head).key(slot))
        }
    }

    @inline(__always)
    private func result(_ site: Site, _ row: Int) throws(StoreError) -> Value {
        if site.nulls[row] != 0 { return .null }
        let column = FunctionColumn(kind: site.call.function.signature.result.kind, data: site.results, validity: nil)
        return try site.call.named { () throws(StoreError) in try column.value(row) }
    }

    /// Calls `body` with what the only program gives for each of at most 4,096 rows.
    func forEach(_ rows: [RowPosition], _ body: (Value) throws(StoreError) -> Void) throws(StoreError) {
        try rows.withUnsafeBufferPointer { (rows) throws(StoreError) in
            let block = Rows.any(rows)
            try evaluate(block)
            for row in 0..<rows.count { try body(try value(programs[0], row, block)) }
        }
    }

    // MARK: Calling

    private func evaluate(_ site: Site, _ rows: Rows) throws(StoreError) {
        let count = rows.count, call = site.call
        missing.update(repeating: 0, count: count)
        var isWhole = true
        for (index, argument) in site.arguments.enumerated() {
            let parameter = call.parameters[index]
            let column = FunctionColumn(
                kind: parameter.kind, data: columns[index],
                validity: parameter.isNullable ? validities[index] : nil)
            column.validity?.update(repeating: 0xff, count: FunctionBatch.rows / 8)
            let hasNull = try fill(column, argument, rows)
            if hasNull, !parameter.isNullable { isWhole = false }
        }
        var called = count
        if !isWhole {
            called = 0
            for row in 0..<count where missing[row] == 0 {
                kept[called] = UInt16(truncatingIfNeeded: row)
                called += 1
            }
            for (index, parameter) in call.parameters.enumerated() { pack(index, parameter, called) }
        }
        site.nulls.update(repeating: isWhole ? 0 : 1, count: count)
        if called == 0 { return }
        let result = call.function.signature.result
        let output = FunctionColumn(
            kind: result.kind, data: site.results, validity: result.isNullable ? outputValidity : nil)
        output.validity?.update(repeating: 0xff, count: FunctionColumn.validityBytes(called))
        // What the function does not fill is no rest of another call.
        memset(site.results, 0, called * result.kind.columnStride)
        guard case .batch(let body) = call.function.body else { return }
        try withUnsafeTemporaryAllocation(of: FunctionColumn.self, capacity: call.count) {
            (arguments) throws(StoreError) in
            for (index, parameter) in call.parameters.enumerated() {
                arguments.initializeElement(
                    at: index,
                    to: FunctionColumn(
                        kind: parameter.kind, data: columns[index],
                        validity: parameter.isNullable ? validities[index] : nil))
            }
            try functions.outside { () throws(StoreError) in
                try call.named { () throws(StoreError) in
                    try body(UnsafeBufferPointer(arguments), called, output)
                }
            }
        }
        spread(site, output, called, isWhole)
    }

    /// Leaves those rows of a column that are kept.
    private func pack(_ index: Int, _ parameter: FunctionSignature.Parameter, _ count: Int) {
        let stride = parameter.kind.columnStride, data = columns[index]
        for place in 0..<count where Int(kept[place]) != place {
            (data + place * stride).copyMemory(from: data + Int(kept[place]) * stride, byteCount: stride)
        }
        guard parameter.isNullable else { return }
        let bits = validities[index]
        for place in 0..<count {
            let row = Int(kept[place]), bit = bits[row >> 3] >> UInt8(row & 7) & 1
            let mask = UInt8(1) << UInt8(place & 7)
            bits[place >> 3] = bit == 0 ? bits[place >> 3] & ~mask : bits[place >> 3] | mask
        }
    }

    /// Moves results to their rows.
    private func spread(_ site: Site, _ output: FunctionColumn, _ count: Int, _ isWhole: Bool) {
        let stride = output.kind.columnStride
        for place in (0..<count).reversed() {
            let row = isWhole ? place : Int(kept[place])
            site.nulls[row] = output.isValid(place) ? 0 : 1
            if row == place { continue }
            (site.results + row * stride).copyMemory(from: site.results + place * stride, byteCount: stride)
        }
    }

    // MARK: Columns

    /// Whether there is a null; of a parameter that must not be null the row is missing then.
    private func fill(
        _ column: FunctionColumn, _ program: ValueProgram, _ rows: Rows
    ) throws(StoreError) -> Bool {
        if case .leaf(let head, let slots) = rows, program.steps.count == 1,
            case .property(let number) = program.steps[0],
            number < positions.count, let isFilled = try fill(column, number, head, slots)
        {
            return isFilled
        }
        var hasNull = false
        for row in 0..<rows.count {
            let value = FunctionCall.converted(try value(program, row, rows), to: column.kind)
            if value.isNull {
                hasNull = true
                setNull(column, row)
            }
            column.set(row, value)
        }
        return hasNull
    }

    private func setNull(_ column: FunctionColumn, _ row: Int) {
        if let validity = column.validity {
            validity[row >> 3] &= ~(1 << UInt8(row & 7))
        } else {
            missing[row] = 1
        }
    }

    /// Of a property of numbers, by blocks of 64 rows; nil: it is another one, or not what is wanted.
    private func fill(
        _ column: FunctionColumn, _ number: Int, _ head: UnsafeRawPointer, _ slots: UnsafeBufferPointer<UInt16>
    ) throws(StoreError) -> Bool? {
        let spec = reader.columns[positions[number]]
        switch (spec.kind, column.kind) {
        case (.int, .int), (.int, .double), (.double, .double): break
        default: return nil
        }
        guard let entry = LeafHead.entry(head, id: spec.id, hint: positions[number]), !entry.isText else { return nil }
        let nulls = entry.hasAux ? (head + Int(entry.aux)).assumingMemoryBound(to: UInt64.self) : nil
        let decoder = ColumnDecoder(reader.source, head), rows = LeafHead.rows(head)
        let isConverted = spec.kind != column.kind, data = column.data.assumingMemoryBound(to: Int64.self)
        return try withUnsafeTemporaryAllocation(of: Int64.self, capacity: 64) { (block) throws(StoreError) in
            let values = block.baseAddress.unsafelyUnwrapped
            var hasNull = false, row = 0
            while row < slots.count {
                let first = Int(slots[row]) & ~63, count = min(64, rows &- first)
                try decoder.numbers(entry, first: first, count: count, into: values)
                let word = nulls?[first &>> 6] ?? 0
                while row < slots.count, Int(slots[row]) &- first < 64 {
                    let place = Int(slots[row]) &- first
                    if _slowPath(word &>> UInt64(place) & 1 != 0) {
                        hasNull = true
                        setNull(column, row)
                        data[row] = 0
                    } else if isConverted {
                        data[row] = Int64(bitPattern: Double(values[place]).bitPattern)
                    } else {
                        data[row] = values[place]
                    }
                    row &+= 1
                }
            }
            return hasNull
        }
    }
}

// MARK: Tests

extension FunctionBatch {
    /// Leaves the rows of a leaf for which a test of the two programs, or the one, is true; those of the mask exist.
    func narrow(
        _ head: UnsafeRawPointer, _ mask: UnsafeMutablePointer<UInt64>, _ test: ValueTest
    ) throws(StoreError) {
        var count = 0
        for word in 0..<LeafScan.words {
            var bits = mask[word]
            while bits != 0 {
                slots[count] = UInt16(truncatingIfNeeded: word &<< 6 &+ bits.trailingZeroBitCount)
                count &+= 1
                bits &= bits &- 1
            }
        }
        if count == 0 { return }
        let rows = Rows.leaf(head, UnsafeBufferPointer(start: slots, count: count))
        try evaluate(rows)
        if case .comparison(let comparison) = test.relation, let site = numbers(0), let constant = constant(1) {
            return narrow(mask, site, comparison, constant, count)
        }
        let test = ValueTest(programs[0], test.relation, programs.count > 1 ? programs[1] : nil, test.properties)
        for row in 0..<count {
            let holds = try test.holds { (program) throws(StoreError) in try value(program, row, rows) }
            if !holds { clear(mask, row) }
        }
    }

    @inline(__always)
    private func clear(_ mask: UnsafeMutablePointer<UInt64>, _ row: Int) {
        let slot = Int(slots[row])
        mask[slot &>> 6] &= ~(1 &<< UInt64(slot & 63))
    }

    /// The call whose result a program is, of doubles.
    private func numbers(_ program: Int) -> Site? {
        guard programs[program].steps.count == 1, case .property(let number) = programs[program].steps[0],
            number >= positions.count, sites[number - positions.count].call.function.signature.result.kind == .double
        else { return nil }
        return sites[number - positions.count]
    }

    /// The number that a program is for all rows, where it is exactly a double.
    private func constant(_ program: Int) -> Double? {
        guard program < programs.count, programs[program].steps.count == 1,
            case .constant(let value) = programs[program].steps[0]
        else { return nil }
        switch value.kind {
        case .double: return value.asDouble
        case .float: return Double(value.asFloat)
        case .int: return Int64(exactly: Double(value.low)) == value.low ? Double(value.low) : nil
        default: return nil
        }
    }

    /// A result, where it is not null, with a number.
    private func narrow(
        _ mask: UnsafeMutablePointer<UInt64>, _ site: Site, _ comparison: Comparison, _ constant: Double, _ count: Int
    ) {
        let results = site.results.assumingMemoryBound(to: Double.self)
        @inline(__always) func keep(ofNull: Bool, _ holds: (Double) -> Bool) {
            for row in 0..<count {
                let isKept = site.nulls[row] != 0 ? ofNull : holds(results[row])
                if !isKept { clear(mask, row) }
            }
        }
        switch comparison {
        case .equal: keep(ofNull: false) { $0 == constant }
        case .notEqual: keep(ofNull: true) { $0 != constant }
        case .less: keep(ofNull: false) { $0 < constant }
        case .lessOrEqual: keep(ofNull: false) { $0 <= constant }
        case .greater: keep(ofNull: false) { $0 > constant }
        case .greaterOrEqual: keep(ofNull: false) { $0 >= constant }
        }
    }
}

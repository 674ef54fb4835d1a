internal import CSystem

/// A comparison that is computed for one object after the other: of two properties, of what is computed from them, of
/// texts by other than their bytes, of a property with many constants.
package final class ValueTest: Sendable {
    enum Relation: Sendable {
        case comparison(Comparison)
        /// With a text, or a binary, that is the same for all objects.
        case pattern(TextPattern, of: ValueKind)
        /// With a text of the object.
        case text(TextPattern.Operation, QueryNode.Modifiers)
        case isOneOf(ValueSet)
    }

    let left: ValueProgram
    let relation: Relation
    /// Of `comparison` and `text` only.
    let right: ValueProgram?
    /// Ids of the properties that the programs use.
    let properties: [UInt32]
    /// Of functions, in the programs.
    let calls: [FunctionCall]

    init(_ left: ValueProgram, _ relation: Relation, _ right: ValueProgram?, _ properties: [UInt32]) {
        self.left = left
        self.relation = relation
        self.right = right
        self.properties = properties
        calls = left.calls + (right?.calls ?? [])
    }

    /// Of two values of any kinds: exact among numbers, bytewise among texts and binaries, as of mixed values; null
    /// equals null only, NaN nothing; values of different families are unequal, and neither less nor greater.
    static func holds(_ comparison: Comparison, _ a: Value, _ b: Value) throws(StoreError) -> Bool {
        // What there is most of.
        if a.kind == .int, b.kind == .int { return comparison.holds(a.low < b.low ? -1 : a.low > b.low ? 1 : 0) }
        if a.kind == .string, b.kind == .string, comparison == .equal || comparison == .notEqual {
            let isEqual =
                a.count == b.count
                && (a.count == 0 || memcmp(a.pointer.unsafelyUnwrapped, b.pointer.unsafelyUnwrapped, a.count) == 0)
            return isEqual == (comparison == .equal)
        }
        if a.isNull || b.isNull || a.isNaN || b.isNaN {
            let isEqual = a.isNull && b.isNull
            return comparison == .equal ? isEqual : comparison == .notEqual ? !isEqual : false
        }
        guard try MixedOrder.family(a) == MixedOrder.family(b) else { return comparison == .notEqual }
        return comparison.holds(try MixedOrder.compare(a, b))
    }
}

/// A value test with the columns of one version.
struct BoundValues {
    private enum Test {
        case values(ValueTest)
        case paths(PathTest, PathRun, ClassSchema)
    }
    private let test: Test
    private let reader: ClusterReader
    /// Of the properties.
    let positions: [Int]
    /// Finds the rows of whole leaves.
    let kernel: Kernel
    /// Of a test that calls functions.
    private let functions: FunctionRun?

    enum Kernel {
        case none
        /// Of a property of texts, with a pattern.
        case text(TextKernel)
        /// Of a property of ints that are in a list.
        case members(MemberKernel)
        /// With functions that take columns: see `narrow`.
        case columns(FunctionBatch)
        /// Of what links to all objects, counted in one pass.
        case origins(OriginValues)
    }

    /// Errors: `.noSuchProperty`.
    init(
        _ test: ValueTest, _ trees: TreeAccess, _ reader: ClusterReader, _ cls: ClassSchema
    ) throws(StoreError) {
        self.test = .values(test)
        self.reader = reader
        positions = try cls.positions(test.properties)
        if !test.calls.isEmpty {
            let run = FunctionRun(trees)
            functions = run
            kernel =
                test.calls.contains(where: \.isBatch)
                ? .columns(try FunctionBatch([test.left] + (test.right.map { [$0] } ?? []), positions, reader, run))
                : .none
            return
        }
        functions = nil
        if case .pattern(let pattern, _) = test.relation, test.left.steps.count == 1, test.left.kind.isText {
            kernel = .text(
                TextKernel(
                    source: reader.source, spec: reader.columns[positions[0]], hint: positions[0], pattern: pattern))
        } else if case .isOneOf(let set) = test.relation, test.left.steps.count == 1, test.left.kind == .int,
            let numbers = try set.ints()
        {
            kernel = .members(
                MemberKernel(
                    source: reader.source, spec: reader.columns[positions[0]], hint: positions[0], set: numbers))
        } else {
            kernel = .none
        }
    }

    /// Errors: `.noSuchProperty`, `.noSuchClass`.
    init(
        _ test: PathTest, _ trees: TreeAccess, _ reader: ClusterReader, _ cls: ClassSchema
    ) throws(StoreError) {
        self.test = .paths(test, try PathRun(trees, test.properties, levels: test.levels), cls)
        self.reader = reader
        positions = []
        let origins = try test.origins.flatMap { (test) throws(StoreError) in try OriginValues(test, trees, reader) }
        kernel = origins.map { .origins($0) } ?? .none
        functions = nil
    }

    /// It only reads: the pages, and what never changes. Functions are called on the thread that asks, and paths keep
    /// what they were read with.
    var isShareable: Bool {
        if case .values = test { return functions == nil }
        return false
    }

    private func value(_ program: ValueProgram, _ row: RowPosition) throws(StoreError) -> Value {
        try program.value(functions) { (number) throws(StoreError) in try reader.plainValue(row, positions[number]) }
    }

    func holds(_ row: RowPosition) throws(StoreError) -> Bool {
        switch test {
        case .values(let test): return try holds(test, row)
        case .paths(let test, let run, let cls):
            if _slowPath(WatchedQuery.isOn) { try WatchedQuery.look(0) }
            run.begin(row, cls)
            return try run.holds(test.condition)
        }
    }

    private func holds(_ test: ValueTest, _ row: RowPosition) throws(StoreError) -> Bool {
        functions?.begin()
        return try test.holds { (program) throws(StoreError) in try value(program, row) }
    }

    /// Leaves the rows of the mask for which it is true; those of the mask exist. False: it has to be asked of each.
    func narrow(_ head: UnsafeRawPointer, _ mask: UnsafeMutablePointer<UInt64>) throws(StoreError) -> Bool {
        switch kernel {
        case .none: return false
        case .text(let kernel): try kernel.narrow(head, mask)
        case .members(let kernel): try kernel.narrow(head, mask)
        case .columns(let batch):
            guard case .values(let test) = test else { return false }
            try batch.narrow(head, mask, test)
        case .origins(let values):
            if values.isLeft(mask) { return false }
            try values.narrow(head, mask)
        }
        return true
    }
}

extension ValueTest {
    /// - Parameter value: what a program gives.
    @inline(__always)
    func holds(_ value: (ValueProgram) throws(StoreError) -> Value) throws(StoreError) -> Bool {
        let left = try value(self.left)
        switch relation {
        case .comparison(let comparison):
            return try ValueTest.holds(comparison, left, try value(right.unsafelyUnwrapped))
        case .isOneOf(let set): return try set.contains(left)
        case .pattern(let pattern, let kind):
            return left.kind == kind && pattern.matches(left.pointer, left.count)
        case .text(let operation, let modifiers):
            let right = try value(self.right.unsafelyUnwrapped)
            guard left.kind == .string || left.kind == .binary, left.kind == right.kind else {
                return operation == .equal && left.isNull && right.isNull
            }
            return try TextPattern(operation, right, modifiers).matches(left.pointer, left.count)
        }
    }

    /// Whether it is true where every property is null.
    func holdsOfNothing() throws(StoreError) -> Bool {
        try holds { (program) throws(StoreError) in try program.value { (_) throws(StoreError) in .null } }
    }
}

extension ClusterReader {
    /// The same as `value`, of a mixed property what its cell has.
    @inline(__always)
    func plainValue(_ row: RowPosition, _ column: Int) throws(StoreError) -> Value {
        let value = try value(row, column)
        if _fastPath(columns[column].kind != .mixed) || value.isNull { return value }
        return try MixedNode(value.pointer, value.count).value()
    }
}

/// Values of which one is looked for: ascending in the order of mixed values.
struct ValueSet: Sendable {
    private let values: [Value]
    private let hasNull: Bool

    /// Whoever has it owns the bytes.
    init(_ all: [Value]) throws(StoreError) {
        hasNull = all.contains { $0.isNull }
        var values = all.filter { !$0.isNull && !$0.isNaN }, failure: StoreError?
        values.sort { a, b in
            do throws(StoreError) { return try MixedOrder.compare(a, b) < 0 } catch {
                failure = error
                return false
            }
        }
        if let failure { throw failure }
        self.values = values
    }

    /// Nil: not only ints are in it.
    func ints() throws(StoreError) -> NumberSet? {
        if hasNull || values.contains(where: { $0.kind != .int }) { return nil }
        let keys = try KeyBuffer(expecting: values.count)
        for value in values { try keys.append(value.low) }
        return try NumberSet(keys)
    }

    func contains(_ value: Value) throws(StoreError) -> Bool {
        if value.isNull { return hasNull }
        if value.isNaN { return false }
        var low = 0, high = values.count
        while low < high {
            let middle = (low + high) >> 1
            if try MixedOrder.compare(values[middle], value) < 0 { low = middle + 1 } else { high = middle }
        }
        if low == values.count { return false }
        return try MixedOrder.compare(values[low], value) == 0
    }
}

extension TextPattern {
    /// Of a text or a binary.
    init(_ operation: Operation, _ value: Value, _ modifiers: QueryNode.Modifiers) throws(StoreError) {
        try self.init(
            operation, UnsafeRawBufferPointer(start: value.pointer, count: value.count),
            foldsCase: modifiers.contains(.ignoresCase), foldsAccents: modifiers.contains(.ignoresAccents),
            isBinary: value.kind == .binary)
    }
}

/// A value that is computed from the properties of an object: `age`, `age * 2 + 1`, the length of a name.
///
/// In post-order, as a program for a stack of values. What is computed with null is null, and so is a sum that leaves
/// 64 bits, an int divided by zero, and what is computed with something that is no number. Decimals beat floats and
/// doubles, those beat ints.
struct ValueProgram: Sendable {
    enum Step: Sendable {
        case constant(Value)
        /// One of the properties of the test that it is part of.
        case property(Int)
        case arithmetic(Arithmetic)
        /// Characters of a text, bytes of a binary.
        case length
        case call(FunctionCall)
    }

    var steps: [Step] = []
    /// What it gives where it is not null; of a mixed property anything.
    var kind: ValueKind
    /// How many values the stack has at most.
    var depth = 1

    /// - Parameters:
    ///   - functions: of a program that calls some.
    ///   - property: the value of one of the properties.
    func value(
        _ functions: FunctionRun? = nil, _ property: (Int) throws(StoreError) -> Value
    ) throws(StoreError) -> Value {
        if steps.count == 1 {
            switch steps[0] {
            case .constant(let value): return value
            case .property(let number): return try property(number)
            case .arithmetic, .length, .call: break
            }
        }
        return try withUnsafeTemporaryAllocation(of: Value.self, capacity: depth) { (stack) throws(StoreError) in
            var top = -1
            for step in steps {
                switch step {
                case .constant(let value):
                    top += 1
                    stack[top] = value
                case .property(let number):
                    top += 1
                    stack[top] = try property(number)
                case .arithmetic(.negate): stack[top] = ValueProgram.negated(stack[top])
                case .arithmetic(let operation):
                    top -= 1
                    stack[top] = ValueProgram.compute(operation, stack[top], stack[top + 1])
                case .length: stack[top] = ValueProgram.length(stack[top])
                case .call(let call):
                    top -= call.count - 1
                    guard let functions, let place = stack.baseAddress else { throw ValueProgram.notCalled }
                    stack[top] = try call.value(place + top, functions)
                }
            }
            return stack[0]
        }
    }

    private static var notCalled: StoreError {
        StoreError(.internalError, "a function is called where nothing was made ready for it")
    }

    /// The functions that it calls, in their order.
    var calls: [FunctionCall] {
        steps.compactMap { if case .call(let call) = $0 { call } else { nil } }
    }

    static func length(_ value: Value) -> Value {
        switch value.kind {
        case .binary: return .int(Int64(value.count))
        case .string:
            var characters: Int64 = 0
            for index in 0..<value.count {
                let byte = value.pointer.unsafelyUnwrapped.load(fromByteOffset: index, as: UInt8.self)
                if byte & 0xc0 != 0x80 { characters += 1 }
            }
            return .int(characters)
        default: return .null
        }
    }

    /// Not zero minus it: of 0.0 that is -0.0.
    static func negated(_ value: Value) -> Value {
        switch value.kind {
        case .int: compute(.subtract, .int(0), value)
        case .decimal128: .decimal128(-value.asDecimal)
        default: number(value).map { .double(-$0) } ?? .null
        }
    }

    static func compute(_ operation: Arithmetic, _ a: Value, _ b: Value) -> Value {
        if a.kind == .int && b.kind == .int {
            let (result, isBeyond): (Int64, Bool) =
                switch operation {
                case .add: a.low.addingReportingOverflow(b.low)
                case .subtract, .negate: a.low.subtractingReportingOverflow(b.low)
                case .multiply: a.low.multipliedReportingOverflow(by: b.low)
                case .divide: a.low.dividedReportingOverflow(by: b.low)
                }
            return isBeyond ? .null : .int(result)
        }
        if a.kind == .decimal128 || b.kind == .decimal128 {
            guard let x = decimal(a), let y = decimal(b) else { return .null }
            switch operation {
            case .add: return .decimal128(x + y)
            case .subtract, .negate: return .decimal128(x - y)
            case .multiply: return .decimal128(x * y)
            case .divide: return .decimal128(x / y)
            }
        }
        guard let x = number(a), let y = number(b) else { return .null }
        switch operation {
        case .add: return .double(x + y)
        case .subtract, .negate: return .double(x - y)
        case .multiply: return .double(x * y)
        case .divide: return .double(x / y)
        }
    }

    static func number(_ value: Value) -> Double? {
        switch value.kind {
        case .int: Double(value.low)
        case .float: Double(value.asFloat)
        case .double: value.asDouble
        default: nil
        }
    }

    /// A float or a double by the fewest digits that mean it.
    static func decimal(_ value: Value) -> Decimal128? {
        switch value.kind {
        case .int: ExactNumber.decimal(value.low)
        case .float: Decimal128(shortest: value.asFloat)
        case .double: Decimal128(shortest: value.asDouble)
        case .decimal128: value.asDecimal
        default: nil
        }
    }
}

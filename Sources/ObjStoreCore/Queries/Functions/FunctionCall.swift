/// A call of a function, as a step of a program: it takes as many values as the function has parameters.
package final class FunctionCall: Sendable {
    let function: QueryFunction

    init(_ function: QueryFunction) { self.function = function }

    var parameters: [FunctionSignature.Parameter] { function.signature.parameters }
    var count: Int { function.signature.parameters.count }
    var isBatch: Bool { function.signature.isBatch }

    /// What a value is as an argument: ints and floats are doubles where those are wanted, the nearest ones; what does
    /// not fit, of a mixed property, is null.
    @inline(__always)
    static func converted(_ value: Value, to kind: ValueKind) -> Value {
        if value.kind == kind { return value }
        if kind == .double {
            switch value.kind {
            case .int: return .double(Double(value.low))
            case .float: return .double(Double(value.asFloat))
            default: break
            }
        }
        return .null
    }

    /// What the function gives for the values, which become its arguments. Null where one is null that must not be.
    func value(_ values: UnsafeMutablePointer<Value>, _ run: FunctionRun) throws(StoreError) -> Value {
        for (index, parameter) in parameters.enumerated() {
            let value = FunctionCall.converted(values[index], to: parameter.kind)
            if value.isNull, !parameter.isNullable { return .null }
            values[index] = value
        }
        let arguments = UnsafeBufferPointer(start: UnsafePointer(values), count: count)
        switch function.body {
        case .row(let body):
            return try run.outside { () throws(StoreError) in
                try named { () throws(StoreError) in try body(arguments, run.texts) }
            }
        case .batch(let body):
            return try run.outside { () throws(StoreError) in
                try named { () throws(StoreError) in try FunctionCall.single(arguments, self, body) }
            }
        }
    }

    /// A function that takes columns, with columns of one row.
    private static func single(
        _ arguments: UnsafeBufferPointer<Value>, _ call: FunctionCall,
        _ body: (UnsafeBufferPointer<FunctionColumn>, Int, FunctionColumn) throws(StoreError) -> Void
    ) throws(StoreError) -> Value {
        let count = arguments.count, result = call.function.signature.result
        // 16 bytes of data and 8 of validity for each, and for the result.
        return try withUnsafeTemporaryAllocation(byteCount: 24 * (count + 1), alignment: 16) {
            (memory) throws(StoreError) in
            let data = memory.baseAddress.unsafelyUnwrapped, bits = data + 16 * (count + 1)
            memory.initializeMemory(as: UInt8.self, repeating: 0)
            func column(_ index: Int, _ parameter: FunctionSignature.Parameter) -> FunctionColumn {
                FunctionColumn(
                    kind: parameter.kind, data: data + 16 * index,
                    validity: parameter.isNullable ? (bits + 8 * index).assumingMemoryBound(to: UInt8.self) : nil)
            }
            return try withUnsafeTemporaryAllocation(of: FunctionColumn.self, capacity: count) {
                (columns) throws(StoreError) in
                for index in 0..<count {
                    let column = column(index, call.parameters[index])
                    column.set(0, arguments[index])
                    column.validity?.pointee = arguments[index].isNull ? 0 : 1
                    columns.initializeElement(at: index, to: column)
                }
                let output = column(count, result)
                output.validity?.pointee = 1
                try body(UnsafeBufferPointer(columns), 1, output)
                return output.isValid(0) ? try output.value(0) : .null
            }
        }
    }

    /// Errors name the function.
    func named<T>(_ body: () throws(StoreError) -> T) throws(StoreError) -> T {
        do throws(StoreError) { return try body() } catch { throw error.prefixed("function \(function.name): ") }
    }
}

/// What calls of functions need while a query is asked: memory for what they return, and the way out of a transaction.
final class FunctionRun {
    let texts = FunctionTexts()
    private let gate: (any TransactionGate)?

    init(_ trees: TreeAccess) {
        if case .transaction(let transaction) = trees { gate = transaction.gate } else { gate = nil }
    }

    /// Another row begins: texts that were returned before are not looked at any more.
    func begin() { texts.reset() }

    /// Runs what calls the application, which may use the store meanwhile, also by other queries of this kind.
    ///
    /// Errors: `.outOfRange`: there is no room on the stack; `.inCallback`: it has ended the transaction.
    @inline(__always)
    func outside<T>(_ body: () throws(StoreError) -> T) throws(StoreError) -> T {
        try Stack.check()
        guard let gate else { return try body() }
        let mark = gate.leave(), result: T
        do throws(StoreError) { result = try body() } catch {
            try gate.enter(mark)
            throw error
        }
        try gate.enter(mark)
        return result
    }
}

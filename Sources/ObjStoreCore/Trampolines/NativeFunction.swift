internal import CFFI

/// A C function that queries call, with its arguments as native ones.
///
/// ```
/// word      C arguments, by row               of a batch
/// f64       double                            const double *
/// f64?      const double *, NULL for null     const double *, const uint8_t *validity
/// str       const char *, int64_t             const objstore_text *, with str? validity
/// n                                           size_t
/// result    double *                          double *
/// result?   double *, bool *is_null           double *, uint8_t *validity
/// ```
/// Then userdata; it returns a status. Any thread, also at the same time.
package final class NativeFunction: @unchecked Sendable {
    package typealias Function = @convention(c) () -> Void

    private let signature: FunctionSignature
    private let function: Function
    private let userdata: UnsafeMutableRawPointer?
    private let around: CallAround?
    private let failure: @Sendable (Int32) -> StoreError
    private let description: CallDescription
    /// Of each C argument the place of its value in the block, in words.
    private let places: [Int]
    /// Of a batch: how many parameters stand before the number of rows.
    private let countPlace: Int
    private let blockWords: Int

    /// In the block: four words for each parameter, of which two are C arguments and two what they may point to.
    private static let wordsPerParameter = 4
    // Behind those: the result, whether it is null; addresses of both, userdata, the number of rows.
    private var result: Int { signature.parameters.count * NativeFunction.wordsPerParameter }
    private var isNull: Int { result + 2 }
    private var addresses: Int { result + 3 }

    /// - Parameters:
    ///   - around: makes each call; nil: it is made at once.
    ///   - failure: what a status that is not 0 means.
    package init(
        _ native: NativeSignature, function: @escaping Function, userdata: UnsafeMutableRawPointer?,
        around: CallAround?, failure: @escaping @Sendable (Int32) -> StoreError
    ) throws(StoreError) {
        let signature = native.signature
        self.signature = signature
        self.function = function
        self.userdata = userdata
        self.around = around
        self.failure = failure
        countPlace = native.countPlace ?? -1
        let end = signature.parameters.count * NativeFunction.wordsPerParameter + 3
        blockWords = end + 4
        var types: [CallDescription.ArgumentType] = [], places: [Int] = []
        func add(_ type: CallDescription.ArgumentType, _ place: Int) {
            types.append(type)
            places.append(place)
        }
        for (index, parameter) in signature.parameters.enumerated() {
            let place = index * NativeFunction.wordsPerParameter
            if index == countPlace { add(.int64, end + 3) }
            if signature.isBatch {
                add(.pointer, place)
                if parameter.isNullable { add(.pointer, place + 1) }
                continue
            }
            switch parameter.kind {
            case .string, .binary:
                add(.pointer, place)
                add(.int64, place + 1)
            case _ where parameter.isNullable: add(.pointer, place)
            case .timestamp:
                add(.int64, place)
                add(.int32, place + 1)
            case .bool: add(.bool, place)
            case .float: add(.float, place)
            case .double: add(.double, place)
            default: add(.int64, place)
            }
        }
        if countPlace == signature.parameters.count { add(.int64, end + 3) }
        add(.pointer, end)
        // A text that is null points to nothing.
        if signature.result.isNullable, signature.isBatch || !signature.result.kind.isBytes { add(.pointer, end + 1) }
        add(.pointer, end + 2)
        description = try CallDescription(types, returning: .int32)
        self.places = places
    }

    /// As what a query calls.
    package var body: QueryFunction.Body {
        if signature.isBatch {
            return .batch { (columns, count, output) throws(StoreError) in
                try self.call { block in self.fill(block, columns, count, output) }
            }
        }
        return .row { (arguments, texts) throws(StoreError) in
            var value = Value.null
            try self.call(
                { block in for index in arguments.indices { self.fill(block, index, arguments[index]) } },
                after: { (block) throws(StoreError) in value = try self.value(block, texts) })
            return value
        }
    }

    private func call(
        _ fill: (UnsafeMutablePointer<Int64>) -> Void,
        after: (UnsafeMutablePointer<Int64>) throws(StoreError) -> Void = { _ in }
    ) throws(StoreError) {
        try withUnsafeTemporaryAllocation(of: Int64.self, capacity: blockWords) { (block) throws(StoreError) in
            let block = block.baseAddress.unsafelyUnwrapped
            block.initialize(repeating: 0, count: blockWords)
            block[addresses] = Int64(Int(bitPattern: block + result))
            block[addresses + 1] = Int64(Int(bitPattern: block + isNull))
            block[addresses + 2] = Int64(Int(bitPattern: userdata))
            fill(block)
            try withUnsafeTemporaryAllocation(of: UnsafeMutableRawPointer?.self, capacity: places.count) {
                (arguments) throws(StoreError) in
                for (index, place) in places.enumerated() {
                    arguments.initializeElement(at: index, to: UnsafeMutableRawPointer(block + place))
                }
                func callFunction() -> Int32 {
                    var status: ffi_sarg = 0
                    ffi_call(description.cif, function, &status, arguments.baseAddress)
                    return Int32(truncatingIfNeeded: status)
                }
                let around = around
                let status = try ApplicationCall.run { around?(callFunction) ?? callFunction() }
                if status != 0 { throw failure(status) }
            }
            try after(block)
        }
    }

    // MARK: Arguments

    private func fill(_ block: UnsafeMutablePointer<Int64>, _ index: Int, _ value: Value) {
        let place = block + index * NativeFunction.wordsPerParameter, parameter = signature.parameters[index]
        if parameter.kind.isBytes {
            place[0] = value.isNull ? 0 : Int64(Int(bitPattern: value.pointer ?? FunctionColumn.nothing))
            place[1] = value.isNull ? 0 : Int64(value.count)
        } else if parameter.isNullable {
            place[0] = value.isNull ? 0 : Int64(Int(bitPattern: place + 2))
            place[2] = value.low
            place[3] = value.high
        } else {
            place[0] = value.low
            place[1] = value.high
        }
    }

    private func fill(
        _ block: UnsafeMutablePointer<Int64>, _ columns: UnsafeBufferPointer<FunctionColumn>, _ count: Int,
        _ output: FunctionColumn
    ) {
        for (index, column) in columns.enumerated() {
            let place = block + index * NativeFunction.wordsPerParameter
            place[0] = Int64(Int(bitPattern: column.data))
            place[1] = Int64(Int(bitPattern: column.validity))
        }
        block[addresses] = Int64(Int(bitPattern: output.data))
        block[addresses + 1] = Int64(Int(bitPattern: output.validity))
        block[addresses + 3] = Int64(count)
    }

    // MARK: Results

    private func value(_ block: UnsafeMutablePointer<Int64>, _ texts: FunctionTexts) throws(StoreError) -> Value {
        let kind = signature.result.kind, place = UnsafeMutableRawPointer(block + result)
        if kind.isBytes { return try text(block, texts) }
        if signature.result.isNullable, (block + isNull).pointee & 0xff != 0 { return .null }
        return try FunctionColumn(kind: kind, data: place, validity: nil).value(0)
    }

    /// Copied: the function may use its memory again.
    private func text(_ block: UnsafeMutablePointer<Int64>, _ texts: FunctionTexts) throws(StoreError) -> Value {
        let kind = signature.result.kind, length = block[result + 1]
        guard let bytes = UnsafeRawPointer(bitPattern: Int(block[result])) else {
            if length != 0 { throw StoreError(.invalidArgument, "a result with NULL for its \(length) bytes") }
            return signature.result.isNullable ? .null : Value(kind: kind, pointer: FunctionColumn.nothing, count: 0)
        }
        guard length >= 0 || length == -1 && kind == .string else {
            throw StoreError(.invalidArgument, "a result of \(length) bytes")
        }
        var count = Int(length)
        if length == -1 {
            count = 0
            while bytes.load(fromByteOffset: count, as: UInt8.self) != 0 { count += 1 }
        }
        guard count <= Value.maximumBytes else {
            throw StoreError(.valueTooLarge, "a result of \(count) bytes: at most \(Value.maximumBytes) are allowed")
        }
        if kind == .string, !UTF8Check.isValid(bytes, count) {
            throw StoreError(.invalidUTF8, "its result is not valid UTF-8")
        }
        return Value(kind: kind, pointer: try texts.copy(bytes, count), count: count)
    }
}

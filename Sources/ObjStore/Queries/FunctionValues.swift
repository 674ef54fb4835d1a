internal import ObjStoreCore

/// Types that a function for queries takes and returns: `Bool`, `Int`, `Int64`, `Float`, `Double`, `String`, `[UInt8]`,
/// ``Timestamp``, and an optional of each. See ``Store/defineFunction(_:_:)``.
///
/// The requirements are those of the library.
public protocol FunctionValue: QueryOperand, SendableMetatype {
    /// As in `ValueKind`.
    static var _functionKind: UInt8 { get }
    static var _isNullable: Bool { get }
    static func _argument(_ argument: _FunctionArgument) -> Self
    static func _arguments(_ column: _FunctionArguments) -> [Self]
}

/// An argument of a function, of the kind that it declares; null where that is optional.
public struct _FunctionArgument {
    let value: Value
}

/// A column of such.
public struct _FunctionArguments {
    let column: FunctionColumn
    let count: Int

    /// Of a type that lies in memory as the column has it.
    fileprivate func plain<Element>(_ type: Element.Type) -> [Element] {
        Array(UnsafeBufferPointer(start: UnsafePointer(column.data.assumingMemoryBound(to: type)), count: count))
    }
}

extension FunctionValue {
    public static var _isNullable: Bool { false }
    public static func _arguments(_ column: _FunctionArguments) -> [Self] {
        (0..<column.count).map { _argument(_FunctionArgument(value: column.column.argument($0))) }
    }

    static var parameter: FunctionSignature.Parameter {
        FunctionSignature.Parameter(ValueKind(rawValue: _functionKind) ?? .null, isNullable: _isNullable)
    }
}

extension Bool: FunctionValue {
    public static var _functionKind: UInt8 { ValueKind.bool.rawValue }
    public static func _argument(_ argument: _FunctionArgument) -> Bool { argument.value.low != 0 }
}

extension Int: FunctionValue {
    public static var _functionKind: UInt8 { ValueKind.int.rawValue }
    public static func _argument(_ argument: _FunctionArgument) -> Int { Int(argument.value.low) }
    public static func _arguments(_ column: _FunctionArguments) -> [Int] { column.plain(Int.self) }
}

extension Int64: FunctionValue {
    public static var _functionKind: UInt8 { ValueKind.int.rawValue }
    public static func _argument(_ argument: _FunctionArgument) -> Int64 { argument.value.low }
    public static func _arguments(_ column: _FunctionArguments) -> [Int64] { column.plain(Int64.self) }
}

extension Float: FunctionValue {
    public static var _functionKind: UInt8 { ValueKind.float.rawValue }
    public static func _argument(_ argument: _FunctionArgument) -> Float { argument.value.asFloat }
    public static func _arguments(_ column: _FunctionArguments) -> [Float] { column.plain(Float.self) }
}

extension Double: FunctionValue {
    public static var _functionKind: UInt8 { ValueKind.double.rawValue }
    public static func _argument(_ argument: _FunctionArgument) -> Double { argument.value.asDouble }
    public static func _arguments(_ column: _FunctionArguments) -> [Double] { column.plain(Double.self) }
}

extension String: FunctionValue {
    public static var _functionKind: UInt8 { ValueKind.string.rawValue }
    public static func _argument(_ argument: _FunctionArgument) -> String {
        let value = argument.value
        return String(decoding: UnsafeRawBufferPointer(start: value.pointer, count: value.count), as: UTF8.self)
    }
}

extension Array: FunctionValue where Element == UInt8 {
    public static var _functionKind: UInt8 { ValueKind.binary.rawValue }
    public static func _argument(_ argument: _FunctionArgument) -> [UInt8] {
        Array(UnsafeRawBufferPointer(start: argument.value.pointer, count: argument.value.count))
    }
}

extension Timestamp: FunctionValue {
    public static var _functionKind: UInt8 { ValueKind.timestamp.rawValue }
    public static func _argument(_ argument: _FunctionArgument) -> Timestamp {
        Timestamp(seconds: argument.value.low, nanoseconds: Int32(truncatingIfNeeded: argument.value.high))
    }
}

extension Optional: FunctionValue where Wrapped: FunctionValue {
    public static var _functionKind: UInt8 { Wrapped._functionKind }
    public static var _isNullable: Bool { true }
    public static func _argument(_ argument: _FunctionArgument) -> Wrapped? {
        argument.value.isNull ? nil : Wrapped._argument(argument)
    }
}

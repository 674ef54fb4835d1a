internal import ObjStoreCore

/// A decimal number of up to 34 digits, from ±10⁻⁶¹⁷⁶ to ±9.99…·10⁶¹⁴⁴: what a store keeps of prices and amounts, digit
/// by digit (decimal128 of IEEE 754-2008).
///
/// ```swift
/// @Persisted var price: Decimal128 = 0
/// dog.price = try Decimal128("12.50")
/// ```
/// Equality and order are those of the numbers: 12.5 and 12.50 are equal, and have the same hash, but `description`
/// distinguishes them. Unlike a `Double`'s, every NaN is equal to every NaN and greater than all numbers; in a query it
/// equals nothing, as everywhere.
public struct Decimal128: Sendable {
    /// Bits 0 to 63 of the binary encoding (BID).
    public var low: UInt64
    /// Bits 64 to 127.
    public var high: UInt64

    /// From the bits; any are allowed.
    public init(low: UInt64, high: UInt64) {
        self.low = low
        self.high = high
    }

    /// The number that a text says, exactly: `"12.50"`, `"-1E-3"`, `"Infinity"`, `"NaN"`.
    ///
    /// Errors: `.invalidArgument` (no number), `.outOfRange` (more than 34 digits, an exponent too large or too small).
    public init(_ text: String) throws(ObjStoreError) {
        do throws(StoreError) { self.init(try ObjStoreCore.Decimal128(text)) } catch { throw ObjStoreError(error) }
    }

    public init(_ integer: Int) {
        self.init(
            ObjStoreCore.Decimal128(
                isNegative: integer < 0, exponent: ObjStoreCore.Decimal128.bias, coefficient: UInt128(integer.magnitude)
            ))
    }

    public static let nan = Decimal128(ObjStoreCore.Decimal128.nan)
    public static let infinity = Decimal128(ObjStoreCore.Decimal128.infinity)

    public var isNaN: Bool { core.isNaN }
    /// Neither infinite nor NaN.
    public var isFinite: Bool { core.isFinite }

    init(_ core: ObjStoreCore.Decimal128) { self.init(low: core.low, high: core.high) }
    var core: ObjStoreCore.Decimal128 { ObjStoreCore.Decimal128(low: low, high: high) }
}

extension Decimal128: Comparable, Hashable {
    public static func == (left: Decimal128, right: Decimal128) -> Bool { left.core == right.core }
    public static func < (left: Decimal128, right: Decimal128) -> Bool { left.core < right.core }
    public func hash(into hasher: inout Hasher) { core.hash(into: &hasher) }
}

extension Decimal128: ExpressibleByIntegerLiteral {
    public init(integerLiteral value: Int) { self.init(value) }
}

extension Decimal128: CustomStringConvertible {
    /// Every digit: `init` of it is the same number, zeros at its end included.
    public var description: String { core.text }
}

extension Decimal128: _PersistableValue {
    public static var _initial: Decimal128 { 0 }
    public static var _type: _PropertyType { _PropertyType(.decimal128) }
    public static func _get(_ object: Object, _ index: UInt32) -> Decimal128 { _getOptional(object, index) ?? _initial }
    public static func _getOptional(_ object: Object, _ index: UInt32) -> Decimal128? {
        object._value(index).map { Decimal128($0.asDecimal) }
    }
    public static func _set(_ object: Object, _ index: UInt32, _ value: Decimal128) {
        object._set(index, .decimal128(value.core))
    }
    public static func _encode(_ value: Decimal128, _ encoder: _RowEncoder) { encoder.append(.decimal128(value.core)) }
    /// A decimal, also a `Decimal`, an integer, or the text of a decimal; never a double, whose decimal digits are an
    /// artefact.
    public static func _convert(_ value: Any?) -> Decimal128? {
        switch value {
        case let value as Decimal128: return value
        case let value as String: return try? Decimal128(value)
        case let value as any FixedWidthInteger: return try? Decimal128("\(value)")
        case let value?:
            return (value as? GivenNumber ?? GivenNumber(decimal: value)).flatMap { try? Decimal128($0.description) }
        case nil: return nil
        }
    }
}

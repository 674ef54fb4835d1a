internal import ObjStoreCore

/// A number that is counted up and down: `@Persisted var fliesEaten: Counter`, or `Counter?`.
///
/// ```swift
/// try store.write { _ in
///     try frog.fliesEaten.increment()
///     try frog.fliesEaten.decrement(by: 3)
///     frog.fliesEaten.set(0)
/// }
/// ```
/// Stored as an integer that all languages and tools see as a counter. Nothing else changes it: arithmetic is done with
/// `value`, and gives plain numbers. It is no primary key. Where it is nil, `frog.fliesEaten?.increment()` does
/// nothing.
public struct Counter: Hashable, Sendable {
    public private(set) var value: Int

    public init(_ value: Int = 0) { self.value = value }

    /// `.outOfRange`: the sum does not fit 64 bits; nothing is changed.
    public mutating func increment(by delta: Int = 1) throws(ObjStoreError) {
        let (sum, overflow) = value.addingReportingOverflow(delta)
        if overflow { throw ObjStoreError(.outOfRange, "\(value) + \(delta) does not fit in 64 bits") }
        value = sum
    }

    /// `.outOfRange`: the difference does not fit 64 bits; nothing is changed.
    public mutating func decrement(by delta: Int = 1) throws(ObjStoreError) {
        let (difference, overflow) = value.subtractingReportingOverflow(delta)
        if overflow { throw ObjStoreError(.outOfRange, "\(value) - \(delta) does not fit in 64 bits") }
        value = difference
    }

    public mutating func set(_ value: Int) { self.value = value }
}

extension Counter: ExpressibleByIntegerLiteral, Comparable, CustomStringConvertible {
    public init(integerLiteral value: Int) { self.init(value) }
    public static func < (left: Counter, right: Counter) -> Bool { left.value < right.value }
    public var description: String { "\(value)" }
}

extension Counter: _PersistableValue, NumericQueryOperand {
    public typealias _QueryFamily = Double
    public var _queryValue: _QueryValue { .int(Int64(value)) }
    public static var _initial: Counter { Counter() }
    public static var _type: _PropertyType {
        var type = _PropertyType(.int)
        type.isCounter = true
        return type
    }
    public static func _get(_ object: Object, _ index: UInt32) -> Counter { Counter(Int._get(object, index)) }
    public static func _getOptional(_ object: Object, _ index: UInt32) -> Counter? {
        Int._getOptional(object, index).map { Counter($0) }
    }
    public static func _set(_ object: Object, _ index: UInt32, _ value: Counter) {
        Int._set(object, index, value.value)
    }
    public static func _encode(_ value: Counter, _ encoder: _RowEncoder) { Int._encode(value.value, encoder) }
    public static func _convert(_ value: Any?) -> Counter? {
        value as? Counter ?? Int._convert(value).map { Counter($0) }
    }
}

extension Counter: Incrementable {
    public static func _aggregate(_ value: _QueryValue) -> Counter? { Int._aggregate(value).map { Counter($0) } }
}

internal import ObjStoreCore

/// Numbers that have a sum and an average.
public protocol Summable: Aggregatable {}
/// What has a least and a greatest value.
public protocol Aggregatable: _PersistableValue {
    static func _aggregate(_ value: _QueryValue) -> Self?
}

extension Aggregatable where Self: _PersistableInteger {
    public static func _aggregate(_ value: _QueryValue) -> Self? {
        if case .int(let number) = value { Self(exactly: number) } else { nil }
    }
}
extension Int: Summable {}
extension Int64: Summable {}
extension Int32: Summable {}
extension Int16: Summable {}
extension Int8: Summable {}
extension Double: Summable {
    public static func _aggregate(_ value: _QueryValue) -> Double? {
        if case .double(let number) = value { number } else { nil }
    }
}
/// Added as doubles; the sum is the nearest float, or infinite.
extension Float: Summable {
    public static func _aggregate(_ value: _QueryValue) -> Float? {
        switch value {
        case .float(let number): number
        case .double(let number): Float(number)
        default: nil
        }
    }
}
extension Decimal128: Aggregatable {
    public static func _aggregate(_ value: _QueryValue) -> Decimal128? {
        if case .decimal128(let number) = value { number } else { nil }
    }
}
extension ObjectId: Aggregatable {
    public static func _aggregate(_ value: _QueryValue) -> ObjectId? {
        if case .objectId(let id) = value { id } else { nil }
    }
}
extension Timestamp: Aggregatable {
    public static func _aggregate(_ value: _QueryValue) -> Timestamp? {
        if case .timestamp(let time) = value { time } else { nil }
    }
}

extension _QueryValue {
    /// Nil: of nothing.
    init?(aggregate value: Value) {
        switch value.kind {
        case .int: self = .int(value.low)
        case .float: self = .float(value.asFloat)
        case .double: self = .double(value.asDouble)
        case .decimal128: self = .decimal128(Decimal128(value.asDecimal))
        case .objectID: self = .objectId(ObjectId(value))
        case .uuid: self = .uuid(value.low, value.high)
        case .timestamp:
            self = .timestamp(Timestamp(seconds: value.low, nanoseconds: Int32(truncatingIfNeeded: value.high)))
        default: return nil
        }
    }
}

/// Over all results, without making objects: a scan of one column, or after `where` and `filter` a read of one value
/// for each result. Nulls are skipped.
///
/// Errors: `.outOfRange` (the sum does not fit), those of ``Results/validate()``.
extension Results {
    /// Of nothing it is 0.
    @_disfavoredOverload public func sum<Value: Summable>(
        of keyPath: KeyPath<Element, Value>
    ) throws(ObjStoreError) -> Value { try total(keyPath) }
    @_disfavoredOverload public func sum<Value: Summable>(
        of keyPath: KeyPath<Element, Value?>
    ) throws(ObjStoreError) -> Value { try total(keyPath) }

    /// Nil of nothing. NaN is skipped.
    @_disfavoredOverload public func min<Value: Aggregatable>(
        of keyPath: KeyPath<Element, Value>
    ) throws(ObjStoreError) -> Value? { try aggregate(keyPath, .minimum) }
    @_disfavoredOverload public func min<Value: Aggregatable>(
        of keyPath: KeyPath<Element, Value?>
    ) throws(ObjStoreError) -> Value? { try aggregate(keyPath, .minimum) }
    @_disfavoredOverload public func max<Value: Aggregatable>(
        of keyPath: KeyPath<Element, Value>
    ) throws(ObjStoreError) -> Value? { try aggregate(keyPath, .maximum) }
    @_disfavoredOverload public func max<Value: Aggregatable>(
        of keyPath: KeyPath<Element, Value?>
    ) throws(ObjStoreError) -> Value? { try aggregate(keyPath, .maximum) }

    @_disfavoredOverload public func average<Value: Summable>(
        of keyPath: KeyPath<Element, Value>
    ) throws(ObjStoreError) -> Double? { try aggregate(keyPath, .average) }
    @_disfavoredOverload public func average<Value: Summable>(
        of keyPath: KeyPath<Element, Value?>
    ) throws(ObjStoreError) -> Double? { try aggregate(keyPath, .average) }

    private func total<Value: Summable>(_ keyPath: PartialKeyPath<Element>) throws(ObjStoreError) -> Value {
        try aggregate(keyPath, .sum) ?? Value._initial
    }

    private func aggregate<Value: Aggregatable>(
        _ keyPath: PartialKeyPath<Element>, _ kind: AggregateKind
    ) throws(ObjStoreError) -> Value? {
        try aggregate(of: try KeyPaths.property(keyPath), kind)
    }

    // By name, and of key paths that say no type, for other modules of the package.
    package func sum<Value: Summable>(at keyPath: PartialKeyPath<Element>) throws(ObjStoreError) -> Value {
        try total(keyPath)
    }
    package func min<Value: Aggregatable>(at keyPath: PartialKeyPath<Element>) throws(ObjStoreError) -> Value? {
        try aggregate(keyPath, .minimum)
    }
    package func max<Value: Aggregatable>(at keyPath: PartialKeyPath<Element>) throws(ObjStoreError) -> Value? {
        try aggregate(keyPath, .maximum)
    }
    package func average(at keyPath: PartialKeyPath<Element>) throws(ObjStoreError) -> Double? {
        try aggregate(keyPath, .average)
    }
    package func sum<Value: Summable>(named name: String) throws(ObjStoreError) -> Value {
        try aggregate(named: name, .sum) ?? Value._initial
    }
    package func min<Value: Aggregatable>(named name: String) throws(ObjStoreError) -> Value? {
        try aggregate(named: name, .minimum)
    }
    package func max<Value: Aggregatable>(named name: String) throws(ObjStoreError) -> Value? {
        try aggregate(named: name, .maximum)
    }
    package func average(named name: String) throws(ObjStoreError) -> Double? { try aggregate(named: name, .average) }

    private func aggregate<Value: Aggregatable>(
        named name: String, _ kind: AggregateKind
    ) throws(ObjStoreError) -> Value? {
        try aggregate(of: try ClassInfo.of(Element.self).property(named: name), kind)
    }

    private func aggregate<Value: Aggregatable>(
        of property: ClassInfo.Property, _ kind: AggregateKind
    ) throws(ObjStoreError) -> Value? {
        guard let value = try aggregate(property, kind) else { return nil }
        guard let converted = Value._aggregate(value) else {
            throw ObjStoreError(
                .outOfRange,
                """
                the \(kind) of \(ClassInfo.name(of: Element.self)).\(property.name) is \(value.plainText), which is \
                no \(Value.self)
                """,
                class: ClassInfo.name(of: Element.self), property: property.name)
        }
        return converted
    }
}

/// `property op value`.
package struct Condition {
    package let propertyID: UInt32
    package let comparison: Comparison
    package let value: Value
    /// Objects that have the link `value` as the value or anywhere inside of it; the comparison is `equal`.
    package let isInside: Bool

    /// `value` is borrowed.
    package init(_ propertyID: UInt32, _ comparison: Comparison, _ value: Value, isInside: Bool = false) {
        self.propertyID = propertyID
        self.comparison = comparison
        self.value = value
        self.isInside = isInside
    }
}

/// A condition with a copy of its value, to be evaluated again and again.
struct OwnedCondition {
    let propertyID: UInt32
    let comparison: Comparison
    let value: OwnedValue
    /// Which mixed values, or collections of them, have the link anywhere inside; `comparison` is `equal`.
    let isInside: Bool

    init(_ condition: Condition, isInside: Bool) throws(StoreError) {
        propertyID = condition.propertyID
        comparison = condition.comparison
        value = try OwnedValue(copying: condition.value)
        self.isInside = isInside
    }
}

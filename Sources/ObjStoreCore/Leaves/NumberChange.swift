/// How a number changes.
enum NumberChange {
    case set(Value)
    /// Of the property's kind. Null stays null.
    case add(Value)

    /// Nil: the sum does not fit 64 bits.
    @inline(__always)
    func apply(to old: Value) -> Value? {
        switch self {
        case .set(let value): return value
        case .add(let delta):
            switch delta.kind {
            case .int:
                let (sum, overflow) = old.low.addingReportingOverflow(delta.low)
                return overflow ? nil : .int(sum)
            case .float: return .float(old.asFloat + delta.asFloat)
            default: return .double(old.asDouble + delta.asDouble)
            }
        }
    }
}

/// Why a change of numbers was not made.
enum NumberFailure {
    case none
    case missing(Int64)
    case unfit(Value)
}

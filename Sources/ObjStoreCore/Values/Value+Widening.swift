extension Value {
    /// The same number as another kind, where that has it: ints exactly, doubles as the nearest float; nil: it cannot
    /// be one.
    package func widened(to wanted: ValueKind) -> Value? {
        switch (kind, wanted) {
        case (.int, .double): Double(exactly: low).map { .double($0) }
        case (.int, .float): Float(exactly: low).map { .float($0) }
        case (.int, .decimal128): .decimal128(ExactNumber.decimal(low))
        case (.double, .float):
            asDouble.isFinite && !Float(asDouble).isFinite ? nil : .float(Float(asDouble))
        default: nil
        }
    }
}

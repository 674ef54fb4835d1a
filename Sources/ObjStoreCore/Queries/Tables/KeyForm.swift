/// Values that are equal, and so the keys of one group, may have several forms: 1, 1.0 and the decimals 1 and 1.00.
extension ValueKind {
    /// Equal values of a property of this kind may differ.
    var hasForms: Bool {
        switch self {
        case .float, .double, .decimal128, .mixed: true
        default: false
        }
    }
}

extension Value {
    /// The form that all values have in common that are equal to this one, as keys of groups are: see `MixedOrder`.
    /// Nil: a list or map, whose elements may have forms.
    var keyForm: Value? {
        switch kind {
        case .float, .double, .int, .decimal128: numberForm
        case .binary:
            // Of mixed values; equal bytes are equal.
            Value(kind: .string, pointer: pointer, count: count)
        case .document: nil
        default: self
        }
    }

    private var numberForm: Value {
        let (floor, isExact) = ExactNumber.floor(self)
        if isExact { return .double(floor.isNaN ? .nan : floor == 0 ? 0 : floor) }
        guard kind == .decimal128 else { return self }
        let decimal = asDecimal
        var coefficient = decimal.coefficient, exponent = decimal.exponent
        while coefficient % 10 == 0 {
            coefficient /= 10
            exponent += 1
        }
        // Ints that are no doubles.
        if exponent >= Decimal128.bias, exponent < Decimal128.bias + 19 {
            let (number, isBeyond) = coefficient.multipliedReportingOverflow(
                by: Decimal128.power(exponent - Decimal128.bias))
            if !isBeyond, let magnitude = Int64(exactly: number) {
                return .int(decimal.isNegative ? -magnitude : magnitude)
            }
        }
        return .decimal128(
            Decimal128(isNegative: decimal.isNegative, exponent: exponent, coefficient: coefficient))
    }
}

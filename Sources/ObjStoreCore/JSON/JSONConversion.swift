/// Makes values of the kinds that properties want of those that JSON has.
package enum JSONConversion {
    /// Makes a value of the kind that a property wants of one that JSON has: of a string, say, a timestamp; nil: it
    /// cannot. Called while the transaction is in use: must not use the store.
    package typealias Convert = (_ value: Value, _ kind: ValueKind, _ propertyID: UInt32) throws(StoreError) -> Value?

    /// Numbers by themselves, what else is not of the kind by `convert`; nil: it cannot be one.
    static func converted(
        _ value: Value, _ kind: ValueKind, _ propertyID: UInt32, _ convert: Convert?
    ) throws(StoreError) -> Value? {
        let isNumber = value.kind == .int || value.kind == .double
        switch kind {
        case .int, .float, .double, .decimal128, .mixed: if isNumber { return try JSONNumber.convert(value, to: kind) }
        default: break
        }
        // Without its text, which should not leak.
        let plain = value.kind == .double ? Value.double(value.asDouble) : value
        if let convert, kind != .mixed, let converted = try convert(plain, kind, propertyID) {
            guard converted.kind == kind || converted.isNull else {
                throw StoreError(
                    .wrongType, "it was converted into \(converted.kind.indefinite), not into \(kind.indefinite)")
            }
            return converted
        }
        return value.kind == .double ? plain : nil
    }
}

extension JSONReader.Source {
    /// Calls `body` with a file as a source, which is read as it goes. `.notFound`, `.io`.
    static func withFile<T>(
        _ path: String, _ machine: Machine, _ body: (JSONReader.Source) throws(StoreError) -> T
    ) throws(StoreError) -> T {
        guard machine.exists(path) else { throw StoreError(.notFound, "there is no file \(path)") }
        let file = try machine.open(try machine.resolve(path), .readOnly)
        defer { file.close() }
        let size = try file.size()
        var done = 0
        return try body(
            .read { (room) throws(StoreError) in
                let count = min(room.count, size - done)
                if count > 0, let base = room.baseAddress { try file.read(into: base, count: count, at: done) }
                done += count
                return count
            })
    }
}

/// What a property of kind mixed has in its column: the node of its value; null where it is null.
package enum MixedCell {
    /// The value of a cell, on its way out: a text, binary or document points into the cell. A document is checked as a
    /// whole.
    package static func value(_ cell: Value) throws(StoreError) -> Value {
        if cell.isNull { return .null }
        let node = try MixedNode(cell.pointer, cell.count), value = try node.value()
        if value.isNull { throw MixedNode.damaged("a null that is stored") }
        if value.kind == .document { try node.check() }
        return value
    }

    /// Everything in a cell is as it should be.
    package static func check(_ cell: Value) throws(StoreError) { _ = try value(cell) }

    /// The node of a value on its way in, in `buffer`; of null, null.
    ///
    /// `.wrongType`, `.invalidUTF8`, `.outOfRange`, `.valueTooLarge`; `.invalidArgument` for a document that is none.
    static func encode(_ value: Value, limit: Int, into buffer: ByteBuffer) throws(StoreError) -> Value {
        buffer.removeAll()
        if value.isNull { return .null }
        try admit(value, limit: limit)
        try MixedNode.append(value, to: buffer)
        if value.kind == .link || value.kind == .document { try MixedLinks.forgetStore(buffer.base, buffer.count) }
        return Value(kind: .mixed, pointer: UnsafeRawPointer(buffer.base), count: buffer.count)
    }

    /// Whether a value is allowed in a mixed property, or in a document; returns how deep it is.
    @discardableResult
    static func admit(_ value: Value, limit: Int) throws(StoreError) -> Int {
        switch value.kind {
        // What a link leads to is checked where the transaction is known: `ObjectWriter.checkMixedLinks`.
        case .null, .bool, .int, .float, .double, .decimal128, .objectID, .uuid, .link: return 0
        case .string:
            if value.count >= limit { throw tooLarge(value.count, limit) }
            guard UTF8Check.isValid(value.pointer, value.count) else {
                throw StoreError(.invalidUTF8, "the text is not valid UTF-8")
            }
            return 0
        case .binary:
            if value.count >= limit { throw tooLarge(value.count, limit) }
            return 0
        case .timestamp:
            if value.high < 0 || value.high > 999_999_999 {
                throw StoreError(.outOfRange, "nanoseconds are 0 to 999999999, not \(value.high)")
            }
            return 0
        case .document:
            if value.count > limit { throw tooLarge(value.count, limit) }
            do throws(StoreError) {
                let depth = try MixedNode(value.pointer, value.count).check()
                if depth == 0 { throw MixedNode.damaged("it begins with neither a list nor a map") }
                return depth
            } catch {
                throw none(error)
            }
        case .list, .set, .map, .mixed:
            throw StoreError(
                .wrongType,
                """
                \(value.kind.indefinite) is no value: lists and maps are given as documents, a mixed value cannot \
                hold a set
                """
            )
        }
    }

    static func none(_ error: StoreError) -> StoreError {
        StoreError(.invalidArgument, "it is no document: \(error.message)")
    }

    static func tooLarge(_ count: Int, _ limit: Int) -> StoreError {
        StoreError(
            .valueTooLarge,
            "\(count) bytes are more than the limit of \(limit), of which a value inside any values takes some")
    }
}

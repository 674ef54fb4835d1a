/// Documents as flat arrays: a list or map (with its number of elements in `low`), and then its elements, each in the
/// same way; before each value of a map its key, a string.
package enum DocumentArray {
    /// Writes the node of the value that the array describes into `output`, and returns the value: a document, or
    /// another one.
    ///
    /// Keys may come in any order. `.invalidArgument` where values are missing or left over, or a key comes twice.
    ///
    /// - Parameter naming: says which of the values an error is about.
    package static func pack(
        _ values: UnsafeBufferPointer<Value>, into output: UnsafeMutablePointer<OutputBuffer>,
        naming: (StoreError, Int) -> StoreError = { StoreError($0.code, "values[\($1)]: \($0.message)") }
    ) throws(StoreError) -> Value {
        let builder = DocumentBuilder()
        var next = 0
        do throws(StoreError) { try append(values, &next, to: builder) } catch {
            throw naming(error, min(next, values.count) - 1)
        }
        guard next == values.count else {
            throw StoreError(.invalidArgument, "values[\(next)]: the value before it is complete")
        }
        let node = builder.node, bytes = try OutputBuffer.start(output, node.count)
        if let base = node.baseAddress { bytes.copyMemory(from: base, byteCount: node.count) }
        return try MixedNode(bytes, node.count).value()
    }

    private static func append(
        _ values: UnsafeBufferPointer<Value>, _ next: inout Int, to builder: DocumentBuilder
    ) throws(StoreError) {
        func take(_ what: String) throws(StoreError) -> Value {
            guard next < values.count else { throw StoreError(.invalidArgument, "values ends where \(what) is due") }
            next += 1
            return values[next - 1]
        }
        let value = try take("a value")
        guard value.kind == .list || value.kind == .map else { return try builder.append(value) }
        guard value.low >= 0, value.low <= values.count - next else {
            throw StoreError(
                .invalidArgument,
                "\(value.kind.indefinite) of \(value.low) elements, and \(values.count - next) values follow")
        }
        try builder.begin(value.kind)
        for _ in 0..<value.low {
            if value.kind == .map {
                let key = try take("a key")
                guard key.kind == .string else {
                    throw StoreError(.wrongType, "a key of a map is a string, not \(key.kind.indefinite)")
                }
                try builder.key(UnsafeRawBufferPointer(start: key.pointer, count: key.count))
            }
            try append(values, &next, to: builder)
        }
        try builder.end()
    }

    /// Calls `body` with everything that `pack` would have been given; texts point into the document. It is checked
    /// first.
    package static func unpack(_ document: Value, _ body: (Value) throws(StoreError) -> Void) throws(StoreError) {
        let node: MixedNode
        do throws(StoreError) {
            node = try MixedNode(document.pointer, document.count)
            try node.check()
        } catch {
            throw MixedCell.none(error)
        }
        try visit(node, body)
    }

    private static func visit(_ node: MixedNode, _ body: (Value) throws(StoreError) -> Void) throws(StoreError) {
        let kind = try node.kind
        guard kind == .list || kind == .map else { return try body(try node.value()) }
        let container = try MixedContainer(node)
        try body(Value(kind: kind, low: Int64(container.count)))
        for index in 0..<container.count {
            if kind == .map {
                let key = try container.key(index)
                try body(.string(key.baseAddress, key.count))
            }
            try visit(try container.node(index), body)
        }
    }
}

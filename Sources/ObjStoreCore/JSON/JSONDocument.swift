/// Whole JSON texts as values of mixed properties, and back.
package enum JSONDocument {
    /// Writes the value of a text into `output`, and returns it: a document, or another value.
    ///
    /// Errors name line, column and path. `.invalidJSON`, `.invalidUTF8`; `.invalidArgument` for a key that comes
    /// twice, or an extended object that is none; `.outOfRange` for a number that nothing can hold, and lists and maps
    /// more than 100 deep.
    package static func parse(
        _ text: UnsafeRawBufferPointer, _ options: JSONOptions, into output: UnsafeMutablePointer<OutputBuffer>
    ) throws(StoreError) -> Value {
        let reader = JSONReader(.memory(text), elements: false, options: options)
        guard try reader.next() else { throw StoreError(.internalError, "a JSON text without a value") }
        try reader.convertNumbers()
        return try DocumentArray.pack(reader.values, into: output, naming: { reader.naming($0, value: $1) })
    }

    package static func write(
        _ value: Value, _ options: JSONWriter.Options, into output: UnsafeMutablePointer<OutputBuffer>
    ) throws(StoreError) -> Value {
        let writer = JSONWriter(options)
        if value.kind == .document {
            do throws(StoreError) { try MixedNode(value.pointer, value.count).check() } catch {
                throw MixedCell.none(error)
            }
        }
        if value.kind == .string, !UTF8Check.isValid(value.pointer, value.count) {
            throw StoreError(.invalidUTF8, "the text is not valid UTF-8")
        }
        try writer.append(value)
        return try writer.copy(into: output)
    }
}

extension JSONReader {
    /// Makes of every number what a mixed property has of it.
    fileprivate func convertNumbers() throws(StoreError) {
        for index in 0..<flat.count where flat.values[index].kind == .double {
            do throws(StoreError) { flat.values[index] = try JSONNumber.convert(flat.values[index], to: .mixed) } catch
            { throw naming(error, value: index) }
        }
    }
}

extension JSONWriter {
    /// What was written, as a text in `output`, with a NUL behind it.
    package func copy(into output: UnsafeMutablePointer<OutputBuffer>) throws(StoreError) -> Value {
        let text = text, memory = try OutputBuffer.start(output, text.count + 1)
        if let base = text.baseAddress { memory.copyMemory(from: base, byteCount: text.count) }
        memory.storeBytes(of: 0, toByteOffset: text.count, as: UInt8.self)
        output.pointee.length = text.count
        return .string(memory, text.count)
    }
}

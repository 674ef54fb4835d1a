import ObjStoreCore

/// Reads texts, and shows what a reader made of them: numbers with a text of their own as #text, errors as their code
/// and place.
enum JSONSample {
    static func read(_ text: String, _ options: JSONOptions = [], elements: Bool = false, piece: Int? = nil) -> String {
        read(bytes: Array(text.utf8), options, elements: elements, piece: piece)
    }

    /// - Parameter piece: bytes that a function hands out at a time; nil: the text lies in memory.
    static func read(bytes: [UInt8], _ options: JSONOptions = [], elements: Bool = false, piece: Int? = nil) -> String {
        bytes.withUnsafeBytes { text in
            var shown: [String] = []
            let reader = JSONReader(source(text, piece), elements: elements, options: options)
            do throws(StoreError) {
                while try reader.next() {
                    var next = 0
                    shown.append(show(reader.values, &next))
                    if next != reader.values.count { shown.append("LEFT OVER") }
                }
            } catch {
                shown.append("\(error.code) \(error.position)")
            }
            return shown.joined(separator: " | ")
        }
    }

    static func source(_ text: UnsafeRawBufferPointer, _ piece: Int?) -> JSONReader.Source {
        guard let piece else { return .memory(text) }
        var at = 0
        return .read { (room) throws(StoreError) in
            let count = min(piece, text.count - at, room.count)
            if count > 0 { room.baseAddress!.copyMemory(from: text.baseAddress! + at, byteCount: count) }
            at += count
            return count
        }
    }

    static func show(_ values: UnsafeBufferPointer<Value>, _ next: inout Int) -> String {
        let value = values[next]
        next += 1
        switch value.kind {
        case .list:
            return "[" + (0..<Int(value.low)).map { _ in show(values, &next) }.joined(separator: ",") + "]"
        case .map:
            return "{"
                + (0..<Int(value.low)).map { _ in show(values, &next) + ":" + show(values, &next) }.joined(
                    separator: ",") + "}"
        case .double where value.pointer != nil:
            return "#"
                + String(decoding: UnsafeRawBufferPointer(start: value.pointer, count: value.count), as: UTF8.self)
        default: return value.text
        }
    }

    static func pack(_ values: [Value], into output: inout OutputBuffer) throws(StoreError) -> Value {
        try values.withUnsafeBufferPointer { (values) throws(StoreError) in
            try DocumentArray.pack(values, into: &output)
        }
    }

    /// Calls `body` with the values of a text that is one value.
    static func values<T>(
        _ text: String, _ options: JSONOptions = [], _ body: (JSONReader) throws(StoreError) -> T
    ) throws(StoreError) -> T {
        let bytes = UnsafeMutableRawBufferPointer.allocate(byteCount: text.utf8.count, alignment: 1)
        defer { bytes.deallocate() }
        bytes.copyBytes(from: text.utf8)
        let reader = JSONReader(.memory(UnsafeRawBufferPointer(bytes)), elements: false, options: options)
        guard try reader.next() else { throw StoreError(.notFound, "no value") }
        return try body(reader)
    }
}

extension IndexRandom {
    mutating func chance(_ probability: Double) -> Bool { Double.random(in: 0..<1, using: &self) < probability }
}

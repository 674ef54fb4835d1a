/// Reads a JSON text element by element: of an array each element, or the one value that the text is.
///
/// ```
/// let reader = JSONReader(elements: .memory(text))
/// while try reader.next() { use(reader.values) }      values, and the texts in them, are valid until the next call
/// ```
/// Memory is needed for one element at a time, whatever the length of the text: its text, as far as that is read by
/// pieces, and 48 bytes a value. What is read is RFC 8259, UTF-8, a byte order mark allowed: strings must be valid
/// Unicode (no lone surrogate escaped either); \u0000 is a character like others; a key may come twice here.
/// `JSONOptions` allows more.
package final class JSONReader {
    /// Where a text comes from.
    package enum Source {
        /// Memory that stays as it is as long as the reader is used: texts without escapes are borrowed from it.
        case memory(UnsafeRawBufferPointer)
        /// Fills memory with the next bytes and returns how many; 0 at the end.
        case read((UnsafeMutableRawBufferPointer) throws(StoreError) -> Int)
    }

    /// How deep lists and maps may be nested, the array whose elements are read not counted.
    package static let maximumDepth = FlatValues.deepest
    /// More digits than are needed to distinguish a double from its neighbours.
    package static let longestNumber = 4096

    struct Frame {
        /// Of the list or map, and of the key that came last, in `values`.
        var header: Int
        var key: Int
        var count: Int
        var isMap: Bool
        /// A key begins with `$`.
        var hasDollar = false
    }
    private enum State { case beginning, inArray, ended }

    let window: JSONWindow
    let options: JSONOptions
    let textLimit: Int
    private let readsElements: Bool
    private var state = State.beginning

    /// Where the next byte is in the window.
    var index = 0
    var flat = JSONValues()
    var texts = JSONTexts()
    var frames: UnsafeMutablePointer<Frame>
    var depth = 0
    /// Of the element at hand in the array; -1: the text is one value.
    package private(set) var element = -1

    /// - Parameter elements: the text is an array, whose elements are read; else it is one value.
    /// - Parameter textLimit: bytes of one string: `.valueTooLarge` beyond.
    package init(_ source: Source, elements: Bool, options: JSONOptions = [], textLimit: Int = Value.maximumBytes) {
        switch source {
        case .memory(let text): window = JSONWindow(text)
        case .read(let read): window = JSONWindow(read)
        }
        readsElements = elements
        self.options = options
        self.textLimit = textLimit
        frames = .allocate(capacity: JSONReader.maximumDepth + 1)
    }

    deinit { frames.deallocate() }

    /// The element that `next` read.
    package var values: UnsafeBufferPointer<Value> { UnsafeBufferPointer(start: flat.values, count: flat.count) }

    /// Reads the next element; false at the end of the text. After an error there is nothing more to read.
    package func next() throws(StoreError) -> Bool {
        flat.removeAll()
        texts.removeAll()
        do throws(StoreError) { return try advance() } catch {
            state = .ended
            throw error
        }
    }

    private func advance() throws(StoreError) -> Bool {
        switch state {
        case .ended: return false
        case .beginning:
            if try peek() == 0xef, try peek(1) == 0xbb, try peek(2) == 0xbf { index += 3 }
            guard let byte = try skipBlanks() else { throw syntax("there is no value in the text") }
            if readsElements {
                guard byte == UInt8(ascii: "[") else {
                    throw syntax("an array of objects was expected, not \(try shownByte())")
                }
                index += 1
                element = 0
                state = .inArray
                if try skipBlanks() == UInt8(ascii: "]") {
                    index += 1
                    return try end()
                }
                try parseValue()
            } else {
                try parseValue()
                _ = try end()
            }
            return true
        case .inArray:
            index -= window.slide(index)
            let byte = try skipBlanks()
            element += 1
            if byte == UInt8(ascii: ",") {
                index += 1
                let isLast = options.contains(.relaxed) ? try skipBlanks() == UInt8(ascii: "]") : false
                if !isLast {
                    try parseValue()
                    return true
                }
            } else if byte != UInt8(ascii: "]") {
                throw byte == nil
                    ? syntax("the text ends within its array")
                    : syntax("\",\" or \"]\" was expected, not \(try shownByte())")
            }
            index += 1
            return try end()
        }
    }

    /// Nothing may follow.
    private func end() throws(StoreError) -> Bool {
        state = .ended
        depth = 0
        if try skipBlanks() != nil {
            element = -1
            throw syntax("the text goes on after its end, with \(try shownByte())")
        }
        return false
    }

    // MARK: Errors

    /// An error about the byte at `index`.
    func syntax(_ what: String, at index: Int? = nil, _ code: StatusCode = .invalidJSON) -> StoreError {
        let offset = window.offset(index ?? self.index)
        var path = element < 0 ? "$" : "$[\(element)]"
        for position in 0..<depth {
            let frame = frames[position]
            if !frame.isMap {
                path += "[\(frame.count)]"
            } else if frame.key >= 0 {
                path += JSONPath.step(flat.values[frame.key])
            }
        }
        return isCharacter(index ?? self.index)
            ? placed(StoreError(code, what), offset, path)
            : placed(StoreError(.invalidUTF8, "the text is not valid UTF-8"), offset, path)
    }

    /// False: the byte does not begin one.
    private func isCharacter(_ index: Int) -> Bool {
        guard index < window.count, window.base[index] >= 0x80 else { return true }
        do throws(StoreError) {
            while index + 4 > window.count, try window.more() {}
        } catch {
            // What can be read no further ends here; the error at hand came first.
        }
        return (2...4).contains { index + $0 <= window.count && UTF8Check.isValid(window.base + index, $0) }
    }

    /// The same error with place and path of one of `values`, a member's key standing for the member.
    package func naming(_ error: StoreError, value: Int) -> StoreError {
        let index = min(max(value, 0), flat.count - 1)
        return placed(error, flat.offsets[index], (element < 0 ? "$" : "$[\(element)]") + JSONPath.text(values, index))
    }

    private func placed(_ error: StoreError, _ offset: Int, _ path: String) -> StoreError {
        let place = window.place(offset: offset)
        return StoreError(error.code, "line \(place.line), column \(place.column), at \(path): \(error.message)")
            .at(class: error.className, property: error.propertyName, position: offset).callback(error.callbackCode)
            .system(error.systemError)
    }

    /// For messages.
    func shownByte() throws(StoreError) -> String {
        guard let byte = try peek() else { return "the end" }
        return byte > 0x20 && byte < 0x7f
            ? "\"\(Character(UnicodeScalar(byte)))\"" : "the byte 0x" + String(byte, radix: 16)
    }
}

/// What a JSON text may have beyond RFC 8259.
package struct JSONOptions: OptionSet, Sendable {
    package let rawValue: UInt32
    package init(rawValue: UInt32) { self.rawValue = rawValue }

    /// Keys without quotes (ASCII letters, digits, _ and $, and whatever is not ASCII; no digit first), strings in
    /// single quotes, a comma behind the last element, comments (// to the end of the line, /* … */), NaN, Infinity and
    /// -Infinity.
    package static let relaxed = JSONOptions(rawValue: 2)
    /// {"$oid": …}, {"$date": …}, {"$binary": …}, {"$uuid": …}, {"$numberLong": …}, {"$numberInt": …},
    /// {"$numberDouble": …} and {"$numberDecimal": …} are the values that MongoDB's Extended JSON (canonical and
    /// relaxed) means by them.
    package static let extended = JSONOptions(rawValue: 1)
    package static let all: JSONOptions = [.relaxed, .extended]
}

/// Where in a JSON text a value is: `[7].dogs[0].age`.
package enum JSONPath {
    /// The path to one of the values of an element, from the element.
    package static func text(_ values: UnsafeBufferPointer<Value>, _ index: Int) -> String {
        var path = "", open: [(isMap: Bool, count: Int, done: Int, key: Int)] = [], at = 0
        while at < index {
            let value = values[at]
            if value.kind == .list || value.kind == .map {
                open.append((value.kind == .map, Int(value.low), 0, -1))
            } else if let top = open.indices.last, open[top].isMap, open[top].key < 0 {
                open[top].key = at
                at += 1
                continue
            } else {
                complete(&open)
            }
            at += 1
            while let top = open.last, top.done == top.count {
                open.removeLast()
                complete(&open)
            }
        }
        for (isMap, _, done, key) in open { path += isMap ? step(values[key < 0 ? at : key]) : "[\(done)]" }
        return path
    }

    private static func complete(_ open: inout [(isMap: Bool, count: Int, done: Int, key: Int)]) {
        guard let top = open.indices.last else { return }
        open[top].done += 1
        open[top].key = -1
    }

    static func step(_ key: Value) -> String {
        let bytes = UnsafeRawBufferPointer(start: key.pointer, count: key.count)
        let isName =
            !bytes.isEmpty && bytes.count <= 60
            && bytes.allSatisfy { $0 == 0x5f || $0 &- 0x30 <= 9 || ($0 | 0x20) &- 0x61 < 26 }
        return isName ? "." + String(decoding: bytes, as: UTF8.self) : "[\(key.text)]"
    }
}

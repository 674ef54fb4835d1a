/// The grammar: one value of the text, with all that is in it, as flat values.
extension JSONReader {
    /// Reads a value, and fills `flat`; blanks may come before it.
    func parseValue() throws(StoreError) {
        depth = 0
        while true {
            // A value is due.
            guard let byte = try skipBlanks() else { throw syntax("the text ends where a value is due") }
            switch byte {
            case UInt8(ascii: "{"):
                try open(isMap: true)
                if try skipBlanks() == UInt8(ascii: "}") {
                    try close()
                } else {
                    try parseKey()
                    continue
                }
            case UInt8(ascii: "["):
                try open(isMap: false)
                if try skipBlanks() != UInt8(ascii: "]") { continue }
                try close()
            case UInt8(ascii: "\""):
                let offset = window.offset(index)
                try flat.append(parseString(byte), offset)
            case UInt8(ascii: "-"), 0x30...0x39: try parseNumber()
            case UInt8(ascii: "t"): try parseWord("true", .bool(true))
            case UInt8(ascii: "f"): try parseWord("false", .bool(false))
            case UInt8(ascii: "n"): try parseWord("null", .null)
            case UInt8(ascii: "'") where options.contains(.relaxed):
                let offset = window.offset(index)
                try flat.append(parseString(byte), offset)
            case UInt8(ascii: "N") where options.contains(.relaxed): try parseWord("NaN", .double(.nan))
            case UInt8(ascii: "I") where options.contains(.relaxed): try parseWord("Infinity", .double(.infinity))
            default: throw syntax("a value was expected, not \(try shownByte())")
            }

            // A value is complete, and perhaps lists and maps with it.
            while true {
                if depth == 0 { return }
                let isMap = frames[depth - 1].isMap, end = isMap ? UInt8(ascii: "}") : UInt8(ascii: "]")
                frames[depth - 1].count &+= 1
                let byte = try skipBlanks()
                if byte == UInt8(ascii: ",") {
                    index += 1
                    if isMap { frames[depth - 1].key = -1 }
                    if options.contains(.relaxed), try skipBlanks() == end {
                        try close()
                        continue
                    }
                    if isMap { try parseKey() }
                    break
                }
                guard byte == end else {
                    let what = isMap ? "\"}\"" : "\"]\""
                    throw byte == nil
                        ? syntax("the text ends within \(isMap ? "an object" : "an array")")
                        : syntax("\",\" or \(what) was expected, not \(try shownByte())")
                }
                try close()
            }
        }
    }

    private func open(isMap: Bool) throws(StoreError) {
        guard depth < JSONReader.maximumDepth else {
            throw syntax("lists and objects are nested more than \(JSONReader.maximumDepth) deep", .outOfRange)
        }
        frames[depth] = Frame(header: flat.count, key: -1, count: 0, isMap: isMap)
        depth &+= 1
        try flat.append(Value(kind: isMap ? .map : .list), window.offset(index))
        index += 1
    }

    private func close() throws(StoreError) {
        let frame = frames[depth - 1]
        flat.values[frame.header].low = Int64(frame.count)
        if frame.isMap, frame.count > 0, options.contains(.extended) {
            do throws(StoreError) {
                if let value = try ExtendedJSON.value(
                    UnsafeBufferPointer(start: flat.values + frame.header, count: flat.count - frame.header), &texts)
                {
                    flat.values[frame.header] = value
                    flat.truncate(frame.header + 1)
                } else if frame.hasDollar {
                    ExtendedJSON.end(
                        UnsafeMutableBufferPointer(start: flat.values + frame.header, count: flat.count - frame.header))
                }
            } catch {
                throw syntax(error.message, error.code)
            }
        }
        depth &-= 1
        index += 1
    }

    /// A key and the colon behind it; blanks may come before.
    private func parseKey() throws(StoreError) {
        guard let byte = try skipBlanks() else { throw syntax("the text ends within an object") }
        let offset = window.offset(index), key: Value
        if byte == UInt8(ascii: "\"") || (byte == UInt8(ascii: "'") && options.contains(.relaxed)) {
            key = try parseString(byte)
        } else if options.contains(.relaxed), JSONReader.isOfName(byte), byte &- 0x30 > 9 {
            let start = index
            while let next = try peek(), JSONReader.isOfName(next) { index += 1 }
            key = try text(start, index, mayBeWrong: true)
        } else {
            throw syntax(
                "a key in \(options.contains(.relaxed) ? "" : "double ")quotes was expected, not \(try shownByte())")
        }
        frames[depth - 1].key = flat.count
        if key.count > 0, key.pointer.unsafelyUnwrapped.load(as: UInt8.self) == UInt8(ascii: "$") {
            frames[depth - 1].hasDollar = true
        }
        try flat.append(key, offset)
        guard try skipBlanks() == UInt8(ascii: ":") else {
            throw syntax("\":\" was expected behind a key, not \(try shownByte())")
        }
        index += 1
    }

    @inline(__always)
    private static func isOfName(_ byte: UInt8) -> Bool {
        (byte | 0x20) &- 0x61 < 26 || byte &- 0x30 <= 9 || byte == UInt8(ascii: "_") || byte == UInt8(ascii: "$")
            || byte >= 0x80
    }

    private func parseWord(_ word: StaticString, _ value: Value) throws(StoreError) {
        for position in 0..<word.utf8CodeUnitCount where try peek(position) != word.utf8Start[position] {
            throw syntax("a value was expected, perhaps \(word)")
        }
        if let next = try peek(word.utf8CodeUnitCount), JSONReader.isOfName(next) {
            throw syntax("a value was expected, perhaps \(word)")
        }
        try flat.append(value, window.offset(index))
        index += word.utf8CodeUnitCount
    }

    // MARK: Numbers

    private func parseNumber() throws(StoreError) {
        let start = index
        var at = index, isInteger = true
        let isNegative = try peek() == UInt8(ascii: "-")
        if isNegative { at += 1 }
        if isNegative, options.contains(.relaxed), try byte(at) == UInt8(ascii: "I") {
            index = at
            try parseWord("Infinity", .double(-.infinity))
            flat.offsets[flat.count - 1] = window.offset(start)
            return
        }
        var magnitude: UInt64 = 0
        let firstDigit = at
        while let byte = try byte(at), byte &- 0x30 <= 9 {
            magnitude = magnitude &* 10 &+ UInt64(byte &- 0x30)
            at &+= 1
        }
        if at == firstDigit { throw syntax("a digit was expected", at: at) }
        if at > firstDigit + 1, window.base[firstDigit] == 0x30 {
            throw syntax("a number cannot begin with 0", at: firstDigit)
        }
        let digits = at - firstDigit
        if try byte(at) == UInt8(ascii: ".") {
            isInteger = false
            at = try self.digits(from: at + 1)
        }
        if let byte = try byte(at), byte | 0x20 == UInt8(ascii: "e") {
            isInteger = false
            at += 1
            if let sign = try self.byte(at), sign == UInt8(ascii: "+") || sign == UInt8(ascii: "-") { at += 1 }
            at = try self.digits(from: at)
        }
        if let byte = try byte(at), JSONReader.isOfName(byte) || byte == UInt8(ascii: ".") {
            index = at
            throw syntax("a number cannot go on with \(try shownByte())")
        }
        index = at

        if isInteger, digits <= 19, magnitude <= UInt64(Int64.max) + (isNegative ? 1 : 0),
            !(isNegative && magnitude == 0)
        {
            return try flat.append(
                .int(isNegative ? 0 &- Int64(bitPattern: magnitude) : Int64(bitPattern: magnitude)),
                window.offset(start))
        }
        guard at - start <= JSONReader.longestNumber else {
            throw syntax("a number of more than \(JSONReader.longestNumber) characters", at: start, .outOfRange)
        }
        let bytes = try kept(start, at)
        var number = Value.double(JSONNumber.double(bytes))
        number.pointer = bytes.baseAddress
        number.count = bytes.count
        number.high = FlatValues.numberText
        try flat.append(number, window.offset(start))
    }

    /// At least one digit; where they end.
    private func digits(from first: Int) throws(StoreError) -> Int {
        var at = first
        while let byte = try byte(at), byte &- 0x30 <= 9 { at &+= 1 }
        if at == first { throw syntax("a digit was expected", at: at) }
        return at
    }

    // MARK: Strings

    private static let ones: UInt64 = 0x0101_0101_0101_0101, high: UInt64 = 0x8080_8080_8080_8080

    /// The string that begins at `index` with a quote.
    private func parseString(_ quote: UInt8) throws(StoreError) -> Value {
        let quotes = UInt64(quote) &* JSONReader.ones, backslashes = UInt64(UInt8(ascii: "\\")) &* JSONReader.ones
        let start = index + 1
        var at = start, hasEscape = false, seen: UInt64 = 0
        while true {
            let base = UnsafeRawPointer(window.base), count = window.count
            // Eight bytes at a time, up to one that means something.
            while at &+ 8 <= count {
                let word = base.loadUnaligned(fromByteOffset: at, as: UInt64.self)
                let quoted = word ^ quotes, escaped = word ^ backslashes
                let found =
                    ((quoted &- JSONReader.ones) & ~quoted | (escaped &- JSONReader.ones) & ~escaped
                        | (word &- 0x20 &* JSONReader.ones) & ~word) & JSONReader.high
                seen |= word
                if found != 0 {
                    at &+= found.trailingZeroBitCount &>> 3
                    break
                }
                at &+= 8
            }
            guard let byte = try byte(at) else {
                index = start - 1
                throw syntax("the text ends within a string")
            }
            if byte == quote { break }
            if byte == UInt8(ascii: "\\") {
                hasEscape = true
                at &+= 2
            } else if byte < 0x20 {
                throw syntax(
                    "a string has the control character 0x\(String(byte, radix: 16)), which must be escaped", at: at)
            } else {
                seen |= UInt64(byte)
                at &+= 1
            }
        }
        if at - start > textLimit {
            throw syntax("a string of \(at - start) bytes, more than the limit of \(textLimit)", .valueTooLarge)
        }
        let value =
            hasEscape ? try unescape(start, at, quote) : try text(start, at, mayBeWrong: seen & JSONReader.high != 0)
        index = at + 1
        return value
    }

    /// Bytes of the window as they are.
    private func text(_ start: Int, _ end: Int, mayBeWrong: Bool) throws(StoreError) -> Value {
        if mayBeWrong { try checkUTF8(start, end) }
        let bytes = try kept(start, end)
        return .string(bytes.baseAddress, bytes.count)
    }

    /// Bytes of the window, where they stay as long as the values.
    private func kept(_ start: Int, _ end: Int) throws(StoreError) -> UnsafeRawBufferPointer {
        let source = UnsafeRawPointer(window.base + start), count = end - start
        if window.canLend { return UnsafeRawBufferPointer(start: source, count: count) }
        let copy = try texts.room(count)
        copy.copyMemory(from: source, byteCount: count)
        texts.use(count)
        return UnsafeRawBufferPointer(start: copy, count: count)
    }

    private func checkUTF8(_ start: Int, _ end: Int) throws(StoreError) {
        if UTF8Check.isValid(window.base + start, end - start) { return }
        var at = start
        while at < end {
            let lead = window.base[at], length = lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4
            guard at + length <= end, UTF8Check.isValid(window.base + at, length) else { break }
            at += length
        }
        throw syntax("the text is not valid UTF-8", at: at, .invalidUTF8)
    }

    private func unescape(_ start: Int, _ end: Int, _ quote: UInt8) throws(StoreError) -> Value {
        try checkUTF8(start, end)
        let source = window.base, target = try texts.room(end - start).assumingMemoryBound(to: UInt8.self)
        var at = start, length = 0
        while at < end {
            let byte = source[at]
            if byte != UInt8(ascii: "\\") {
                target[length] = byte
                length &+= 1
                at &+= 1
                continue
            }
            switch source[at + 1] {
            case UInt8(ascii: "n"): target[length] = 0x0a
            case UInt8(ascii: "t"): target[length] = 0x09
            case UInt8(ascii: "r"): target[length] = 0x0d
            case UInt8(ascii: "b"): target[length] = 0x08
            case UInt8(ascii: "f"): target[length] = 0x0c
            case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): target[length] = source[at + 1]
            case UInt8(ascii: "'") where options.contains(.relaxed): target[length] = UInt8(ascii: "'")
            case UInt8(ascii: "u"):
                let (scalar, next) = try escapedScalar(at, end)
                at = next
                for byte in UTF8.encode(scalar).unsafelyUnwrapped {
                    target[length] = byte
                    length &+= 1
                }
                continue
            default: throw syntax("\\ is followed by none of \" \\ / b f n r t u", at: at)
            }
            length &+= 1
            at &+= 2
        }
        texts.use(length)
        return .string(target, length)
    }

    /// The character that \uXXXX at `at` is, or two of them, and what follows.
    private func escapedScalar(_ at: Int, _ end: Int) throws(StoreError) -> (UnicodeScalar, Int) {
        let first = try hexadecimal(at, end)
        if let scalar = UnicodeScalar(first) { return (scalar, at + 6) }
        guard first < 0xdc00, at + 12 <= end, window.base[at + 6] == UInt8(ascii: "\\"),
            window.base[at + 7] == UInt8(ascii: "u"),
            case let second = try hexadecimal(at + 6, end), second >= 0xdc00, second < 0xe000
        else { throw syntax("half of a surrogate pair is no character", at: at, .invalidUTF8) }
        return (UnicodeScalar(0x10000 + (first - 0xd800) << 10 + (second - 0xdc00)).unsafelyUnwrapped, at + 12)
    }

    private func hexadecimal(_ at: Int, _ end: Int) throws(StoreError) -> UInt32 {
        var number: UInt32 = 0
        for position in at + 2..<at + 6 {
            guard position < end, let digit = HexDigits.digit(window.base[position]) else {
                throw syntax("\\u takes four hexadecimal digits", at: at)
            }
            number = number << 4 | UInt32(digit)
        }
        return number
    }

    // MARK: Bytes

    /// A byte of the window, read if need be; nil behind the end of the text.
    @inline(__always)
    private func byte(_ at: Int) throws(StoreError) -> UInt8? {
        if _fastPath(at < window.count) { return window.base[at] }
        while try window.more() { if at < window.count { return window.base[at] } }
        return nil
    }

    @inline(__always) func peek(_ ahead: Int = 0) throws(StoreError) -> UInt8? { try byte(index &+ ahead) }

    /// Skips to the next byte that is no blank, and returns it; nil at the end of the text.
    @inline(__always)
    func skipBlanks() throws(StoreError) -> UInt8? {
        if _fastPath(index < window.count) {
            let byte = window.base[index]
            if _fastPath(byte > 0x20 && byte != UInt8(ascii: "/")) { return byte }
            // One space, as behind commas and colons.
            if byte == 0x20, index &+ 1 < window.count, case let next = window.base[index &+ 1], next > 0x20,
                next != UInt8(ascii: "/")
            {
                index &+= 1
                return next
            }
        }
        return try skipMany()
    }

    @inline(never)
    private func skipMany() throws(StoreError) -> UInt8? {
        while let byte = try peek() {
            switch byte {
            case 0x20, 0x0a, 0x0d, 0x09: index += 1
            case UInt8(ascii: "/") where options.contains(.relaxed): try skipComment()
            default: return byte
            }
        }
        return nil
    }

    private func skipComment() throws(StoreError) {
        let start = index
        switch try peek(1) {
        case UInt8(ascii: "/"):
            while let byte = try peek(), byte != 0x0a { index += 1 }
        case UInt8(ascii: "*"):
            index += 2
            while let byte = try peek() {
                index += 1
                if byte == UInt8(ascii: "*"), try peek() == UInt8(ascii: "/") {
                    index += 1
                    return
                }
            }
            throw syntax("the text ends within a comment", at: start)
        default: throw syntax("a value was expected, not \"/\"")
        }
    }
}

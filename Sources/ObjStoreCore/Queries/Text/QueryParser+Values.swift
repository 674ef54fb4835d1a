/// Operands of comparisons: constants, arguments, lists, and quantifiers of lists and paths.
extension QueryParser {
    mutating func value() throws(StoreError) {
        switch token.kind {
        case .word:
            switch token.keyword {
            case .any: try quantified(.any)
            case .all: try quantified(.all)
            case .none: try quantified(.none)
            default: if try !constant() { try path("a value") }
            }
        case .openBrace: try list()
        case .argument:
            let index = try argumentIndex(token.start + 1)
            if case .list(let values) = arguments.all[index] {
                try list(values, index)
            } else {
                _ = try constant()
            }
        default: if try !constant() { try path("a value") }
        }
    }

    private mutating func quantified(_ quantifier: Quantifier) throws(StoreError) {
        let position = token.start, length = token.end - token.start
        try advance()
        switch token.kind {
        case .openBrace: try list()
        case .argument:
            let index = try argumentIndex(token.start + 1)
            guard case .list(let values) = arguments.all[index] else {
                throw lexer.error("ANY, ALL and NONE are for paths and lists, and $\(index) is no list", at: position)
            }
            try list(values, index)
        default:
            let lexer = lexer
            try path("a path or a list (a property of that name is @self.\(lexer.shown(position, position + length)))")
        }
        try deepen(depth, at: position)
        try append(.quantified, operands: 1, choice: quantifier.rawValue, at: position)
    }

    // MARK: Lists

    private mutating func list() throws(StoreError) {
        let position = token.start
        try advance()
        var count = 0, deepest = 0
        while token.kind != .closeBrace {
            if count > 0 { try expect(.comma, "\",\" or \"}\"") }
            try element()
            deepest = max(deepest, depth)
            count += 1
        }
        try advance()
        try deepen(deepest, at: position)
        try append(.list, operands: count, at: position)
    }

    /// A constant of a list, perhaps with a sign.
    private mutating func element() throws(StoreError) {
        if token.kind == .minus || token.kind == .plus {
            let sign = token
            try advance()
            return try number(sign)
        }
        if try !constant() { throw lexer.expected("a constant", token) }
    }

    private mutating func list(_ values: [Value], _ index: Int) throws(StoreError) {
        let position = token.start
        var next = arguments.start(index)
        for value in values {
            guard value.kind != .document else { throw unusable(value, index) }
            try constant(checked(QueryArguments.own(value, &next), index), at: position)
        }
        try advance()
        try deepen(values.isEmpty ? 0 : 1, at: position)
        try append(.list, operands: values.count, at: position)
    }

    /// `{1, 2}` of BETWEEN, or an argument that is a list of two.
    mutating func range() throws(StoreError) {
        let position = token.start
        if token.kind == .openBrace {
            try list()
        } else {
            guard token.kind == .argument else { throw lexer.expected("{from, to}", token) }
            let index = try argumentIndex(token.start + 1)
            guard case .list(let values) = arguments.all[index] else {
                throw lexer.error("BETWEEN takes a list of two, and $\(index) is no list", at: position)
            }
            try list(values, index)
        }
        let count = Int(nodes[nodes.count - 1].operands)
        guard count == 2 else { throw lexer.error("BETWEEN takes two values, not \(count)", at: position) }
    }

    // MARK: Arguments

    /// The number whose digits begin there, of an argument that is given.
    func argumentIndex(_ digits: Int) throws(StoreError) -> Int {
        var index = 0
        for byte in lexer.bytes(digits, token.end) { index = min(index * 10 + Int(byte - 0x30), 1 << 40) }
        guard index < arguments.all.count else {
            let given = arguments.all.count, wanted = lexer.shown(token.start, token.end)
            throw lexer.error(
                "the query asks for argument \(wanted), and \(given) \(given == 1 ? "is" : "are") given",
                at: token.start)
        }
        return index
    }

    /// The argument at hand, which is one value; the token stays.
    func argumentValue() throws(StoreError) -> Value {
        let index = try argumentIndex(token.start + 1)
        switch arguments.all[index] {
        case .value(let value):
            var next = arguments.start(index)
            return try checked(QueryArguments.own(value, &next), index)
        case .list: throw lexer.error("$\(index) is a list where one value was expected", at: token.start)
        }
    }

    private func checked(_ value: Value, _ index: Int) throws(StoreError) -> Value {
        guard value.kind.isScalar || value.kind == .null || value.kind == .link || value.kind == .document else {
            throw unusable(value, index)
        }
        return value
    }

    private func unusable(_ value: Value, _ index: Int) -> StoreError {
        lexer.error("$\(index) is \(value.kind.indefinite): no constant of a query", at: token.start, .wrongType)
    }

    // MARK: Constants

    mutating func constant(_ value: Value, at position: Int) throws(StoreError) {
        try append(.constant, operands: 0, value: value, at: position)
        depth = 1
    }

    /// A constant without a sign, which is read; false: there is none.
    @inline(__always)
    private mutating func constant() throws(StoreError) -> Bool {
        let position = token.start
        switch token.kind {
        case .string: try constant(string(), at: position)
        case .integer, .hexadecimal, .fraction, .float:
            try number(nil)
            return true
        case .argument: try constant(argumentValue(), at: position)
        case .timestamp: try constant(timestamp(), at: position)
        case .date: try constant(date(), at: position)
        case .word: return try word()
        default: return false
        }
        try advance()
        return true
    }

    private mutating func word() throws(StoreError) -> Bool {
        let position = token.start
        switch token.keyword {
        case .yes: try constant(.bool(true), at: position)
        case .no: try constant(.bool(false), at: position)
        case .null: try constant(.null, at: position)
        case .infinity: try constant(.double(.infinity), at: position)
        case .nan: try constant(.double(.nan), at: position)
        case .objectID, .uuid, .binary, .decimal, .float, .link:
            guard isCall else { return false }
            try called()
            return true
        case .object:
            guard isCall else { return false }
            try object()
            return true
        case .base64:
            let quote = lexer.byte(token.end)
            guard quote == UInt8(ascii: "\"") || quote == UInt8(ascii: "'") else { return false }
            try advance()
            try constant(base64(), at: position)
        default: return false
        }
        try advance()
        return true
    }

    /// The string at hand, as what it means.
    func string() -> Value {
        let start = token.start + 1, end = token.end - 1
        guard token.hasEscapes else { return .string(copy + start, end - start) }
        return .string(copy + start, lexer.unescape(start, end, inName: false, to: copy + start))
    }

    private func base64() throws(StoreError) -> Value {
        let start = token.start + 1, end = token.end - 1
        guard !token.hasEscapes,
            let count = TextForms.binary(base64: UnsafeRawBufferPointer(lexer.bytes(start, end)), to: copy + start)
        else {
            throw lexer.error("\(lexer.shown(token.start, token.end)) is not base64 with padding", at: token.start)
        }
        return .binary(copy + start, count)
    }

    /// `obj('Class', key)`.
    private mutating func object() throws(StoreError) {
        let position = token.start
        try advance()
        try expect(.open, "\"(\"")
        guard token.kind == .string else { throw lexer.expected("the name of a class in quotes", token) }
        let name = string()
        try advance()
        try expect(.comma, "\",\" and the primary key")
        try element()
        guard token.kind == .close else { throw lexer.expected("\")\"", token) }
        try advance()
        try deepen(depth, at: position)
        try append(.object, operands: 1, value: name, at: position)
    }
}

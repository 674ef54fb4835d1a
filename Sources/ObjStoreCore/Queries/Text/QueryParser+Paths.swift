/// Paths: `owner.name`, `toys[0]`, `notes['a']`, `@links.Dog.owner`, `$x.toys.@sum.price`.
extension QueryParser {
    /// A path with all that may follow one.
    ///
    /// - Parameter wanted: for the error where there is none.
    mutating func path(_ wanted: @autoclosure () -> String = "a path") throws(StoreError) {
        let position = token.start
        switch token.kind {
        case .keyPath:
            try variable(0, at: position)
            try keyPath()
        case .atWord where token.keyword == .itself:
            try variable(0, at: position)
            try advance()
        case .atWord where token.keyword == .links:
            try variable(0, at: position)
            if try incoming() { return }
        case .atWord where beginsAggregate:
            try variable(0, at: position)
            _ = try tail()
            return
        case .word where !token.keyword.isReserved:
            if let level = variableLevel() {
                try variable(level, at: position)
                try advance()
            } else {
                try variable(0, at: position)
                try property()
            }
        default: throw lexer.expected(wanted(), token)
        }
        try steps(tails: true)
    }

    /// Of the variable that the token names; nil: it is the name of a property.
    private func variableLevel() -> Int? {
        if variables.isEmpty || token.hasEscapes { return nil }
        let name = lexer.bytes(token.start, token.end)
        return variables.lastIndex { $0.elementsEqual(name) }.map { $0 + 1 }
    }

    mutating func variable(_ level: Int, at position: Int) throws(StoreError) {
        try append(.variable, operands: 0, number: Int64(level), at: position)
        depth = 1
    }

    /// The name at hand, as what it means.
    mutating func name() -> Value {
        let start = token.start
        guard token.hasEscapes else { return .string(copy + start, token.end - start) }
        return .string(copy + start, lexer.unescape(start, token.end, inName: true, to: copy + start))
    }

    private mutating func step(
        _ kind: QueryNode.Kind, choice: UInt8 = 0, value: Value = .null, number: Int64 = 0, at position: Int
    ) throws(StoreError) {
        try deepen(depth, at: position)
        try append(kind, operands: 1, choice: choice, number: number, value: value, at: position)
    }

    private mutating func property() throws(StoreError) {
        let position = token.start
        try step(.property, value: name(), at: position)
        try advance()
    }

    /// The steps that follow; `tails`: also what ends a path, such as `@count`.
    private mutating func steps(tails: Bool) throws(StoreError) {
        while true {
            if token.kind == .openBracket {
                let mark = (lexer, token)
                try advance()
                if modifiers != nil, lexer.peek() == UInt8(ascii: "]") {
                    // `name[c]` of SORT.
                    (lexer, token) = mark
                    return
                }
                if try index(tails: tails) { return }
                continue
            }
            guard token.kind == .dot else { return }
            try advance()
            switch token.kind {
            case .word: try property()
            case .keyPath: try keyPath()
            case .atWord where token.keyword == .links:
                if try incoming() { return }
            case .atWord where token.keyword == .keys || token.keyword == .values:
                try step(token.keyword == .keys ? .keys : .values, at: token.start)
                try advance()
            case .atWord where tails:
                if try !tail() { throw lexer.expected("a property", token) }
                return
            default: throw lexer.expected("a property", token)
            }
        }
    }

    /// What ends a path; false: it is something else.
    mutating func tail() throws(StoreError) -> Bool {
        let position = token.start, aggregate: QueryAggregate
        switch token.keyword {
        case .count, .type:
            try step(token.keyword == .count ? .count : .type, at: position)
            try advance()
            return true
        case .sum: aggregate = .sum
        case .minimum: aggregate = .minimum
        case .maximum: aggregate = .maximum
        case .average: aggregate = .average
        default: return false
        }
        try advance()
        let collection = depth
        try variable(variables.count + 1, at: position)
        try steps(tails: false)
        try deepen(max(collection, depth), at: position)
        try append(.aggregate, operands: 2, choice: aggregate.rawValue, at: position)
        return true
    }

    /// `@links.Class.property`, or `@links.@count` with true: the path ends.
    private mutating func incoming() throws(StoreError) -> Bool {
        let position = token.start
        try advance()
        guard token.kind == .dot else { throw lexer.expected("\".\" and the name of a class, or \".@count\",", token) }
        try advance()
        if token.kind == .atWord {
            try step(.allIncoming, at: position)
            if try !tail() { throw lexer.expected("@count or @size", token) }
            return true
        }
        guard token.kind == .word else { throw lexer.expected("the name of a class, or @count,", token) }
        try append(.name, operands: 0, value: name(), at: token.start)
        try advance()
        try expect(.dot, "\".\" and a property of the class")
        guard token.kind == .word else { throw lexer.expected("a property of the class", token) }
        try deepen(depth, at: position)
        try append(.incoming, operands: 2, value: name(), at: token.start)
        try advance()
        return false
    }

    /// What is in brackets; true: the path ends.
    private mutating func index(tails: Bool) throws(StoreError) -> Bool {
        let position = token.start
        switch token.kind {
        case .integer, .minus:
            let isNegative = token.kind == .minus
            if isNegative { try advance() }
            guard token.kind == .integer, let index = integer(isNegative: isNegative) else {
                throw lexer.expected("an index of 64 bits", token)
            }
            try step(.element, choice: Place.at.rawValue, number: index, at: position)
        case .star: try step(.element, choice: Place.every.rawValue, at: position)
        case .string: try step(.key, value: string(), at: position)
        case .argument:
            let value = try argumentValue()
            switch value.kind {
            case .int: try step(.element, choice: Place.at.rawValue, number: value.low, at: position)
            case .string: try step(.key, value: value, at: position)
            default:
                throw lexer.error(
                    "an index is an int and a key a string, but \(lexer.shown(token.start, token.end)) is "
                        + value.kind.indefinite, at: position)
            }
        case .word where token.keyword == .first: try step(.element, choice: Place.first.rawValue, at: position)
        case .word where token.keyword == .last: try step(.element, choice: Place.last.rawValue, at: position)
        case .word where token.keyword == .size && tails:
            try step(.count, at: position)
            try advance()
            try expect(.closeBracket, "\"]\"")
            return true
        default: throw lexer.expected("an index, a key in quotes, FIRST, LAST, SIZE or *", token)
        }
        try advance()
        try expect(.closeBracket, "\"]\"")
        return false
    }

    // MARK: Paths as arguments

    /// `$K0`: the steps that a text argument spells.
    private mutating func keyPath() throws(StoreError) {
        if lexer.origin >= 0 { throw lexer.expected("a property", token) }
        let argument = try argumentIndex(token.start + 2)
        guard case .value(let text) = arguments.all[argument], text.kind == .string else {
            throw lexer.error("a key path is a string, but $\(argument) is none", at: token.start)
        }
        let outer = (lexer, copy)
        lexer = QueryLexer(UnsafeRawBufferPointer(start: text.pointer, count: text.count))
        lexer.origin = token.start
        copy = arguments.start(argument).assumingMemoryBound(to: UInt8.self)
        try advance()
        if token.kind == .atWord, token.keyword == .links {
            if try incoming() { throw lexer.expected("a property", token) }
        } else {
            guard token.kind == .word else { throw lexer.expected("a property", token) }
            try property()
        }
        try steps(tails: false)
        guard token.kind == .end else { throw lexer.expected("\".\", \"[\" or the end", token) }
        (lexer, copy) = outer
        try advance()
    }
}

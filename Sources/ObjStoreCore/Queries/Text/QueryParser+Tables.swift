/// What makes a table of objects: GROUP, HAVING, SELECT.
extension QueryParser {
    /// `GROUP(city, age / 10 AS decade)`; `GROUP()`: all objects are one group.
    mutating func group() throws(StoreError) {
        let position = token.start
        try advance()
        try expect(.open, "\"(\" of GROUP")
        var count = 0
        while token.kind != .close {
            if count > 0 { try expect(.comma, "\",\" or \")\" of GROUP") }
            try column()
            count += 1
        }
        try advance()
        try append(.group, operands: count, at: position)
        isGrouped = true
    }

    /// `HAVING(@count > 3)`.
    mutating func having() throws(StoreError) {
        let position = token.start
        try advance()
        guard token.kind == .open else { throw lexer.expected("\"(\" of HAVING", token) }
        try predicate()
        try append(.having, operands: 1, at: position)
    }

    mutating func select() throws(StoreError) {
        let position = token.start
        try advance()
        try expect(.open, "\"(\" of SELECT")
        var count = 0
        repeat {
            if count > 0 { try advance() }
            try column()
            count += 1
        } while token.kind == .comma
        try expect(.close, "\",\" or \")\" of SELECT")
        try append(.select, operands: count, at: position)
    }

    /// A value, perhaps with a name: `age / 10 AS decade`.
    private mutating func column() throws(StoreError) {
        try expression()
        guard token.kind == .word, token.keyword == .alias else { return }
        let position = token.start
        try advance()
        let name: Value
        switch token.kind {
        case .word: name = self.name()
        case .string: name = string()
        default: throw lexer.expected("a name behind AS", token)
        }
        guard name.count > 0 else { throw lexer.expected("a name behind AS", token) }
        try append(.named, operands: 1, value: name, at: position)
        try advance()
    }

    /// What begins the path of a group: `@count`, `@sum.price`.
    var beginsAggregate: Bool {
        guard isGrouped, variables.isEmpty, token.kind == .atWord else { return false }
        switch token.keyword {
        case .count, .sum, .minimum, .maximum, .average: return true
        default: return false
        }
    }
}

/// Calls of functions: `haversine(lat, lon, $0, $1)`. Each argument is a value like the side of a comparison.
extension QueryParser {
    /// The token is the name of a function.
    var isAtCall: Bool {
        token.kind == .word && token.keyword == .name && !token.hasEscapes && isCall
            && lexer.byte(token.start) != UInt8(ascii: "$")
    }

    /// The name and the parenthesis; true: arguments follow.
    mutating func beginCall() throws(StoreError) -> Bool {
        var entry = Pending(kind: .call, position: token.start)
        entry.name = name()
        try advance()
        if lexer.peek() == UInt8(ascii: ")") {
            try advance()
            try advance()
            depth = 1
            try append(.call, operands: 0, value: entry.name, at: entry.position)
            return false
        }
        entry.operands = 1
        try push(entry)
        return true
    }

    /// At a comma; false: it separates no arguments.
    mutating func nextArgument() throws(StoreError) -> Bool {
        guard pending.contains(where: { $0.kind == .call }) else { return false }
        try reduce(to: .or)
        guard let last = pending.last, last.kind == .call else { return false }
        try checkArgument()
        pending[pending.count - 1].operands += 1
        pending[pending.count - 1].depth = max(last.depth, depth)
        try advance()
        return true
    }

    private func checkArgument() throws(StoreError) {
        if isTruth {
            throw lexer.error("a condition is no argument of a function: a value is expected", at: token.start)
        }
    }

    /// At the parenthesis that closes a call.
    mutating func endCall(_ entry: Pending) throws(StoreError) {
        try checkArgument()
        try deepen(max(entry.depth, depth), at: entry.position)
        try append(.call, operands: Int(entry.operands), value: entry.name, at: entry.position)
        try advance()
    }

    /// What SORT and DISTINCT are about: a path, or something that begins with a call.
    mutating func key() throws(StoreError) {
        guard isAtCall else { return try path() }
        while true {
            if try operand() { continue }
            if try !operators() { break }
        }
        try reduce(to: .or)
        if pending.last != nil { throw lexer.expected("\",\" or \")\" of the arguments", token) }
        if isTruth { throw lexer.error("a condition is nothing to sort by", at: token.start) }
    }
}

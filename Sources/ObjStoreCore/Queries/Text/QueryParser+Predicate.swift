/// The predicate: operands, operators between them, and the parentheses of both.
extension QueryParser {
    mutating func predicate() throws(StoreError) {
        try operation()
        if !isTruth { throw lexer.expected("an operator, as in `age > 2`,", token) }
    }

    /// A condition or a value: `isTruth` says which.
    private mutating func operation() throws(StoreError) {
        while true {
            if try operand() { continue }
            if try !operators() { break }
        }
        try reduce(to: .or)
        if let last = pending.last {
            throw lexer.expected(
                last.kind == .group
                    ? "\")\", or an operator"
                    : last.kind == .call ? "\",\" or \")\" of the arguments" : "\")\" of the subquery", token)
        }
    }

    /// A value that may be computed, and no condition.
    mutating func expression() throws(StoreError) {
        let start = token.start
        try operation()
        if isTruth { throw lexer.error("a condition where a value was expected", at: start) }
    }

    /// Reads what an operand begins with; true: there is more of it to come.
    @inline(__always)
    mutating func operand() throws(StoreError) -> Bool {
        switch token.kind {
        case .open:
            try push(Pending(kind: .group, position: token.start))
            return true
        case .not:
            try negation()
            return true
        case .minus, .plus:
            let sign = token
            try advance()
            if token.isNumber || token.kind == .word && (token.keyword == .infinity || token.keyword == .nan) {
                try number(sign)
            } else if sign.kind == .plus || token.kind == .minus || token.kind == .plus {
                throw lexer.expected("a number", token)
            } else {
                pending.append(Pending(kind: .negate, position: sign.start))
                return true
            }
        case .word:
            switch token.keyword {
            case .not:
                try negation()
                return true
            case .truePredicate, .falsePredicate:
                let number: Int64 = token.keyword == .truePredicate ? 1 : 0
                try append(.truth, operands: 0, number: number, at: token.start)
                try advance()
                isTruth = true
                depth = 1
                return false
            case .subquery where isCall:
                try subquery()
                return true
            case .name where isAtCall: if try beginCall() { return true }
            default: try value()
            }
        default: try value()
        }
        isTruth = false
        return false
    }

    mutating func push(_ entry: Pending) throws(StoreError) {
        // A printed NOT has parentheses, too.
        if entry.kind == .not { negations += 1 } else { open += 1 }
        if max(open, negations) > QueryLimits.depth { throw tooDeep(entry.position) }
        pending.append(entry)
        try advance()
    }

    private mutating func negation() throws(StoreError) {
        if let last = pending.last, last.kind.rawValue >= Pending.Kind.compare.rawValue {
            throw lexer.expected("a value", token)
        }
        try push(Pending(kind: .not, position: token.start))
    }

    /// `SUBQUERY(path, $x,`: the predicate follows.
    private mutating func subquery() throws(StoreError) {
        let position = token.start
        try advance()
        try expect(.open, "\"(\"")
        try path()
        var entry = Pending(kind: .subquery, position: position)
        entry.depth = depth
        try expect(.comma, "\",\" and the variable of the subquery")
        guard token.kind == .word, lexer.byte(token.start) == UInt8(ascii: "$"), !token.hasEscapes else {
            throw lexer.expected("a variable such as $x", token)
        }
        variables.append(lexer.bytes(token.start, token.end))
        try advance()
        guard token.kind == .comma else { throw lexer.expected("\",\" and the condition of the subquery", token) }
        try push(entry)
    }

    /// Reads what follows an operand; false: nothing that belongs to the predicate.
    @inline(__always)
    mutating func operators() throws(StoreError) -> Bool {
        while true {
            switch token.kind {
            case .close:
                try reduce(to: .or)
                guard let entry = pending.popLast() else { return false }
                try close(entry)
                continue
            case .comma: if try !nextArgument() { return false }
            case .and: try connect(.and)
            case .or: try connect(.or)
            case .plus: try arithmetic(.add, .add)
            case .minus: try arithmetic(.add, .subtract)
            case .star: try arithmetic(.multiply, .multiply)
            case .slash: try arithmetic(.multiply, .divide)
            case .equal: try compare(.equal)
            case .notEqual: try compare(.notEqual)
            case .less: try compare(.less)
            case .lessOrEqual: try compare(.lessOrEqual)
            case .greater: try compare(.greater)
            case .greaterOrEqual: try compare(.greaterOrEqual)
            case .word:
                switch token.keyword {
                case .and: try connect(.and)
                case .or: try connect(.or)
                case .isIn: try compare(.isIn)
                case .beginsWith: try compare(.beginsWith)
                case .endsWith: try compare(.endsWith)
                case .contains: try compare(.contains)
                case .like: try compare(.like)
                case .text: try compare(.text)
                case .between, .geoWithin:
                    try within(token.keyword == .between ? .between : .geoWithin)
                    continue
                default: return false
                }
            default: return false
            }
            return true
        }
    }

    private mutating func connect(_ kind: Pending.Kind) throws(StoreError) {
        try reduce(to: kind, including: false)
        if !isTruth { throw lexer.expected("an operator, as in `age > 2`,", token) }
        if let last = pending.last, last.kind == kind {
            pending[pending.count - 1].operands += 1
            pending[pending.count - 1].depth = max(last.depth, depth)
        } else {
            var entry = Pending(kind: kind, position: token.start)
            entry.depth = depth
            pending.append(entry)
        }
        try advance()
    }

    private mutating func arithmetic(_ kind: Pending.Kind, _ choice: Arithmetic) throws(StoreError) {
        if isTruth { throw lexer.expected("AND, OR or the end", token) }
        try reduce(to: kind)
        var entry = Pending(kind: kind, position: token.start)
        entry.choice = choice.rawValue
        entry.depth = depth
        pending.append(entry)
        try advance()
    }

    /// The operator with its `[c]`.
    private mutating func compare(_ choice: QueryOperator) throws(StoreError) {
        var entry = try comparison(choice)
        try advance()
        if token.kind == .openBracket {
            guard choice.takesModifiers else { throw lexer.expected("a value", token) }
            try advance()
            guard let modifiers else {
                throw lexer.expected("c, d or cd (a list has braces, `{1, 2}`)", token)
            }
            entry.modifiers = modifiers
            try advance()
            try expect(.closeBracket, "\"]\"")
        }
        pending.append(entry)
    }

    private mutating func comparison(_ choice: QueryOperator) throws(StoreError) -> Pending {
        try reduce(to: .add)
        if isTruth || pending.last?.kind == .compare { throw lexer.expected("AND, OR or the end", token) }
        var entry = Pending(kind: .compare, position: token.start)
        entry.choice = choice.rawValue
        entry.depth = depth
        return entry
    }

    /// `BETWEEN {1, 2}`, `GEOWITHIN geoCircle(…)`: what is right of them is no operand like others.
    private mutating func within(_ choice: QueryOperator) throws(StoreError) {
        let entry = try comparison(choice)
        try advance()
        if choice == .between { try range() } else { try shape() }
        pending.append(entry)
        isTruth = false
        try reduce(to: .compare)
    }

    /// Closes what `entry` opened; a subquery becomes a value by what follows it.
    private mutating func close(_ entry: Pending) throws(StoreError) {
        open -= 1
        if entry.kind == .call { return try endCall(entry) }
        if entry.kind == .subquery, !isTruth { throw lexer.expected("an operator, as in `age > 2`,", token) }
        try advance()
        guard entry.kind == .subquery else { return }
        variables.removeLast()
        try deepen(max(entry.depth, depth), at: entry.position)
        try append(.filter, operands: 2, at: entry.position)
        isTruth = false
        guard token.kind == .dot else { throw lexer.expected("\".@count\" of the subquery", token) }
        try advance()
        guard token.kind == .atWord, try tail() else {
            throw lexer.expected("@count, @size, @min, @max, @sum or @avg", token)
        }
        if nodes[nodes.count - 1].kind == .type { throw lexer.error("a subquery has no @type", at: entry.position) }
    }

    // MARK: Reducing

    /// Appends the operators that wait and bind at least as strongly as `kind`, or more strongly.
    mutating func reduce(to kind: Pending.Kind, including: Bool = true) throws(StoreError) {
        let bound = including ? kind.rawValue : kind.rawValue + 1
        while let entry = pending.last, entry.kind.rawValue >= bound {
            pending.removeLast()
            try reduce(entry)
        }
    }

    private mutating func reduce(_ entry: Pending) throws(StoreError) {
        let wantsTruth = entry.kind.rawValue <= Pending.Kind.not.rawValue
        if isTruth != wantsTruth {
            throw wantsTruth
                ? lexer.expected("an operator, as in `age > 2`,", token)
                : lexer.error("on the right side is a condition where a value was expected", at: entry.position)
        }
        try deepen(max(entry.depth, depth), at: entry.position)
        switch entry.kind {
        case .or: try append(.or, operands: Int(entry.operands), at: entry.position)
        case .and: try append(.and, operands: Int(entry.operands), at: entry.position)
        case .not:
            negations -= 1
            try append(.not, operands: 1, at: entry.position)
        case .compare:
            try append(
                .compare, operands: 2, choice: entry.choice, modifiers: entry.modifiers, at: entry.position)
        case .add, .multiply: try append(.arithmetic, operands: 2, choice: entry.choice, at: entry.position)
        case .negate:
            try append(.arithmetic, operands: 1, choice: Arithmetic.negate.rawValue, at: entry.position)
        case .group, .subquery, .call: break
        }
        isTruth = entry.kind.rawValue <= Pending.Kind.compare.rawValue
    }
}

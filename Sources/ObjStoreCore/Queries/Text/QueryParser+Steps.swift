/// What stands behind the predicate, and places on the earth.
extension QueryParser {
    /// SORT, DISTINCT, LIMIT and OFFSET in any order, perhaps GROUP with what is said of groups, and SELECT; then the
    /// end.
    mutating func steps() throws(StoreError) {
        var count = 1
        while token.kind != .end {
            guard token.kind == .word else { throw endExpected }
            switch token.keyword {
            case .sort: try sort()
            case .distinct where !isGrouped: try distinct()
            case .limit: try limit(.limit)
            case .offset: try limit(.offset)
            case .group where !isGrouped: try group()
            case .having where isGrouped: try having()
            case .select:
                try select()
                guard token.kind == .end else { throw lexer.expected("the end behind SELECT", token) }
            default: throw endExpected
            }
            count += 1
        }
        try append(.query, operands: count, at: 0)
    }

    private var endExpected: StoreError {
        lexer.expected(
            isGrouped
                ? "HAVING, SORT, LIMIT, OFFSET, SELECT or the end"
                : "AND, OR, SORT, DISTINCT, LIMIT, OFFSET, GROUP, SELECT or the end", token)
    }

    private mutating func sort() throws(StoreError) {
        let position = token.start
        try advance()
        try expect(.open, "\"(\" of SORT")
        var count = 0
        repeat {
            if count > 0 { try advance() }
            let start = token.start
            if isGrouped { try expression() } else { try key() }
            var folds: QueryNode.Modifiers = []
            if token.kind == .openBracket {
                try advance()
                guard let found = modifiers else { throw lexer.expected("[c], [d] or [cd]", token) }
                folds = found
                try advance()
                try expect(.closeBracket, "\"]\"")
            }
            guard token.keyword == .ascending || token.keyword == .descending else {
                throw lexer.expected("ASC or DESC", token)
            }
            let choice: UInt8 = token.keyword == .descending ? 1 : 0
            try append(.sortKey, operands: 1, choice: choice, modifiers: folds, at: start)
            try advance()
            count += 1
        } while token.kind == .comma
        try expect(.close, "\",\" or \")\" of SORT")
        try append(.sort, operands: count, at: position)
    }

    private mutating func distinct() throws(StoreError) {
        let position = token.start
        try advance()
        try expect(.open, "\"(\" of DISTINCT")
        var count = 0
        repeat {
            if count > 0 { try advance() }
            try key()
            count += 1
        } while token.kind == .comma
        try expect(.close, "\",\" or \")\" of DISTINCT")
        try append(.distinct, operands: count, at: position)
    }

    /// LIMIT(n) or OFFSET(n).
    private mutating func limit(_ kind: QueryNode.Kind) throws(StoreError) {
        let position = token.start
        try advance()
        try expect(.open, "\"(\"")
        var number: Int64?
        if token.kind == .integer {
            number = integer(isNegative: false)
        } else if token.kind == .argument {
            let value = try argumentValue()
            if value.kind == .int, value.low >= 0 { number = value.low }
        }
        guard let number else { throw lexer.expected("a number of objects", token) }
        try advance()
        try expect(.close, "\")\"")
        try append(kind, operands: 0, number: number, at: position)
    }

    // MARK: Places

    /// What is right of GEOWITHIN.
    mutating func shape() throws(StoreError) {
        let position = token.start
        if token.kind == .argument { return try shapeArgument() }
        guard token.kind == .word, [.geoBox, .geoCircle, .geoPolygon].contains(token.keyword) else {
            throw lexer.expected("geoBox, geoCircle, geoPolygon or an argument", token)
        }
        let keyword = token.keyword
        try advance()
        try expect(.open, "\"(\"")
        switch keyword {
        case .geoBox:
            try point()
            try expect(.comma, "\",\" and the other corner")
            try point()
            try append(.box, operands: 4, at: position)
        case .geoCircle:
            try point()
            try expect(.comma, "\",\" and the radius")
            try coordinate()
            try append(.circle, operands: 3, at: position)
        default: try rings(at: position)
        }
        depth = keyword == .geoPolygon ? 3 : 2
        try expect(.close, "\")\"")
    }

    private mutating func rings(at position: Int) throws(StoreError) {
        var rings = 0
        repeat {
            if token.kind == .comma { try advance() }
            let start = token.start
            try expect(.openBrace, "\"{\" and the points of a ring")
            var count = 0
            repeat {
                if count > 0 { try advance() }
                try point()
                count += 2
            } while token.kind == .comma
            try expect(.closeBrace, "\",\" or \"}\"")
            try append(.list, operands: count, at: start)
            rings += 1
        } while token.kind == .comma || token.kind == .openBrace
        try append(.polygon, operands: rings, at: position)
    }

    /// `[longitude, latitude]`, and perhaps a height, which does not count.
    private mutating func point() throws(StoreError) {
        try expect(.openBracket, "\"[\" and a longitude")
        try coordinate()
        try expect(.comma, "\",\" and a latitude")
        try coordinate()
        if token.kind == .comma {
            try advance()
            try coordinate()
            nodes.removeLast()
        }
        try expect(.closeBracket, "\"]\"")
    }

    private mutating func coordinate() throws(StoreError) {
        let start = token
        if token.kind == .argument {
            try constant(argumentValue(), at: token.start)
            try advance()
        } else if token.kind == .minus || token.kind == .plus {
            try advance()
            try number(start)
        } else {
            try number(nil)
        }
        let value = nodes[nodes.count - 1].value, double: Double
        switch value.kind {
        case .int: double = Double(value.low)
        case .float: double = Double(value.asFloat)
        case .double: double = value.asDouble
        default:
            throw lexer.error(
                "\(lexer.shown(start.start, start.end)) is \(value.kind.indefinite) where a number was expected",
                at: start.start)
        }
        nodes[nodes.count - 1].value = .double(double)
    }

    /// The text of a shape, whose numbers are all in it.
    private mutating func shapeArgument() throws(StoreError) {
        let index = try argumentIndex(token.start + 1)
        guard case .value(let value) = arguments.all[index], value.kind == .string else {
            throw lexer.error("$\(index) is no text of a box, circle or polygon", at: token.start)
        }
        let bytes = UnsafeMutableRawBufferPointer(start: arguments.start(index), count: value.count)
        var inner = try QueryParser(
            UnsafeRawBufferPointer(bytes), copy: arguments.start(index),
            QueryArguments([], size: 0, to: arguments.start(index)), origin: QueryLexer.place + token.start)
        try inner.shape()
        if inner.token.kind != .end { throw inner.lexer.expected("the end", inner.token) }
        for node in inner.nodes { try append(node) }
        depth = inner.depth
        try advance()
    }
}

/// Paths and places as text.
extension QueryPrinter {
    /// Steps from the last one to the first.
    mutating func path(_ index: Int, _ level: Int) throws(StoreError) {
        var index = index, isEnd = true, isBeforeTail = false
        while true {
            let node = nodes[index]
            switch node.kind {
            case .variable:
                guard node.number >= 0, node.number <= level else { throw noText(index) }
                // Of a group of objects.
                if isBeforeTail, node.number == 0, level == 0, index > firstOfGroups { return withoutDot() }
                return variable(of: node)
            case .property, .element, .key, .incoming, .allIncoming, .keys, .values: parts.append(.step(index))
            case .count where isEnd, .type where isEnd: parts.append(.step(index))
            case .aggregate where isEnd:
                // From the variable of its level, which is not written.
                var inner = index - 1
                while nodes[inner].isPlainStep {
                    parts.append(.step(inner))
                    inner = shape.firstOperand(of: inner, in: nodes)
                }
                guard nodes[inner].kind == .variable, nodes[inner].number == level + 1 else { throw noText(inner) }
                parts.append(.text(QueryAggregate(rawValue: node.choice).unsafelyUnwrapped.text))
            // The language has nothing else behind SUBQUERY.
            case .filter where isBeforeTail:
                parts.append(.text(")"))
                parts.append(.node(index - 1, level: level + 1))
                parts.append(.text(", "))
                parts.append(.variable(level + 1))
                parts.append(.text(", "))
                parts.append(.node(shape.firstOperand(of: index, in: nodes), level: level))
                parts.append(.text("SUBQUERY("))
                return
            default: throw noText(index)
            }
            isBeforeTail = isEnd && (node.kind == .count || node.kind == .aggregate)
            isEnd = false
            index = shape.firstOperand(of: index, in: nodes)
        }
    }

    /// The tail that is written next begins the path.
    private mutating func withoutDot() {
        guard case .text(let text)? = parts.last else {
            parts[parts.count - 1] = .text("@count")
            return
        }
        let tails: [StaticString] = ["@sum", "@min", "@max", "@avg"]
        let name = UnsafeBufferPointer(start: text.utf8Start + 1, count: text.utf8CodeUnitCount - 1)
        for tail in tails where tail.withUTF8Buffer({ $0.elementsEqual(name) }) {
            parts[parts.count - 1] = .text(tail)
        }
    }

    /// Of the object, only what follows is written, if that can begin a path.
    private mutating func variable(of node: QueryNode) {
        var isImplied = false
        if case .step(let next) = parts.last { isImplied = nodes[next].isFirstStep && !isReserved(next) }
        if node.number != 0 {
            parts.append(.variable(Int(node.number)))
        } else if !isImplied {
            parts.append(.text("@self"))
        }
    }

    private func noText(_ index: Int) -> StoreError {
        StoreError(
            .notSupported, "node \(index) of the query, \(nodes[index].kind), cannot be written where it stands")
    }

    private func isReserved(_ index: Int) -> Bool {
        guard nodes[index].kind == .property, let name = try? name(index) else { return false }
        return name.first == UInt8(ascii: "$") || name.withUnsafeBufferPointer { QueryKeyword.of($0).isReserved }
    }

    /// `$x`, `$y`, `$z`, `$x4` …
    mutating func variable(_ level: Int) {
        switch level {
        case 1: write("$x")
        case 2: write("$y")
        case 3: write("$z")
        default: output.append(contentsOf: "$x\(level)".utf8)
        }
    }

    mutating func step(_ index: Int) throws(StoreError) {
        let node = nodes[index]
        switch node.kind {
        case .property:
            dot(index)
            named(try name(index))
        case .element:
            switch Place(rawValue: node.choice).unsafelyUnwrapped {
            case .at: output.append(contentsOf: "[\(node.number)]".utf8)
            case .first: write("[FIRST]")
            case .last: write("[LAST]")
            case .every: write("[*]")
            }
        case .key:
            // Keys that are no texts have no form.
            guard node.value.kind == .string else { throw noText(index) }
            write("[")
            quoted(node.value.utf8, "'")
            write("]")
        case .incoming:
            dot(index)
            write("@links.")
            named(try name(index - 1))
            write(".")
            named(try name(index))
        case .allIncoming:
            dot(index)
            write("@links")
        case .keys: write(".@keys")
        case .values: write(".@values")
        case .type: write(".@type")
        default: write(".@count")
        }
    }

    /// Unless the path begins there.
    private mutating func dot(_ index: Int) {
        let before = nodes[shape.firstOperand(of: index, in: nodes)]
        if before.kind != .variable || before.number != 0 || isReserved(index) { write(".") }
    }

    // MARK: Places

    mutating func place(_ index: Int) {
        let node = nodes[index]
        write(node.kind == .box ? "geoBox(" : node.kind == .circle ? "geoCircle(" : "geoPolygon(")
        if node.kind == .polygon {
            for (position, ring) in shape.operands(of: index, in: nodes).reversed().enumerated() {
                write(position > 0 ? ", {" : "{")
                coordinates(Int(shape.starts[ring]), ring)
                write("}")
            }
        } else {
            coordinates(Int(shape.starts[index]), index)
        }
        write(")")
    }

    /// Of constants from one node up to another: points in brackets, what is left over without.
    private mutating func coordinates(_ start: Int, _ end: Int) {
        for index in start..<end {
            if index > start { write(", ") }
            let isFirst = (index - start) & 1 == 0
            if isFirst, index + 1 < end { write("[") }
            constant(nodes[index].value)
            if !isFirst { write("]") }
        }
    }
}

extension QueryNode {
    /// It belongs to a path and need not end it.
    fileprivate var isPlainStep: Bool {
        switch kind {
        case .property, .element, .key, .incoming, .keys, .values: true
        default: false
        }
    }

    /// A path can begin with it.
    fileprivate var isFirstStep: Bool { kind == .property || kind == .incoming || kind == .allIncoming }
}

/// What comes behind the condition.
extension QueryBinder {
    func step(_ index: Int) throws(StoreError) -> QueryStep {
        let node = nodes[index]
        switch node.kind {
        case .limit: return .limit(try count(index))
        case .offset: return .offset(try count(index))
        case .sort:
            try checkKeys(index, "SORT")
            var keys: [SortKey] = []
            for operand in operands(index) {
                guard nodes[operand].kind == .sortKey else {
                    throw error(.invalidQuery, operand, "SORT has keys, and not \(described(operand))")
                }
                var key = try sortKey(operand - 1)
                key.isDescending = nodes[operand].choice == 1
                if InjectedBug.active(.queryDescentLost), !keys.isEmpty { key.isDescending = false }
                key.modifiers = nodes[operand].modifiers
                keys.append(key)
            }
            return .sort(keys)
        case .distinct:
            try checkKeys(index, "DISTINCT")
            var keys: [SortKey] = []
            for operand in operands(index) { keys.append(try sortKey(operand)) }
            return .distinct(keys)
        default:
            throw error(
                .invalidQuery, index, "SORT, DISTINCT, LIMIT or OFFSET is expected here, and not \(described(index))")
        }
    }

    private func checkKeys(_ index: Int, _ step: StaticString) throws(StoreError) {
        let count = nodes[index].operands
        guard count <= QueryLimits.sortKeys else {
            throw error(
                .invalidQuery, index, "\(step) has \(count) keys: at most \(QueryLimits.sortKeys) are allowed")
        }
    }

    private func count(_ index: Int) throws(StoreError) -> Int {
        guard nodes[index].number >= 0 else {
            throw error(.invalidQuery, index, "\(nodes[index].number) is no number of objects")
        }
        return Int(nodes[index].number)
    }

    private func sortKey(_ index: Int) throws(StoreError) -> SortKey {
        if needsPaths(below: index) {
            let path = try PathValue(of: index, self)
            if path.kind == .link { throw notSupported(index, "an order of links") }
            return SortKey(value: ValueProgram(kind: path.kind), properties: [], path: path)
        }
        var properties: [UInt32] = []
        let program = try program(try operand(index), index, &properties)
        if properties.isEmpty { throw error(.invalidQuery, index, "\(described(index)) is the same for all objects") }
        if program.kind == .link { throw notSupported(index, "an order of links") }
        return SortKey(value: program, properties: properties)
    }
}

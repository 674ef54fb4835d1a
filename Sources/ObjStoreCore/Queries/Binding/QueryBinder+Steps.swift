/// What comes behind the condition.
extension QueryBinder {
    /// One of objects, not of a table.
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

    func count(_ index: Int) throws(StoreError) -> Int {
        guard nodes[index].number >= 0 else {
            throw error(
                .invalidQuery, index, "\(nodes[index].number) is below 0: LIMIT and OFFSET take a number from 0 on")
        }
        return Int(nodes[index].number)
    }

    /// Of the value at a node. Links have no order that a program could want, but there are sections by them.
    func sortKey(_ index: Int, takesLinks: Bool = false) throws(StoreError) -> SortKey {
        let value = try objectValue(index)
        if value.kind == .link && !takesLinks { throw notSupported(index, "an order of links") }
        return SortKey(of: value)
    }

    /// One value of each object.
    func objectValue(_ index: Int) throws(StoreError) -> ObjectValue {
        if element != nil || needsPaths(below: index) {
            let path = try PathValue(of: index, self)
            return ObjectValue(
                program: ValueProgram(kind: path.kind), properties: [], path: path, target: path.target)
        }
        var properties: [UInt32] = []
        let operand = try operand(index), program = try program(operand, index, &properties)
        if properties.isEmpty, program.calls.isEmpty {
            throw error(.invalidQuery, index, "\(described(index)) is the same for all objects")
        }
        var target: Int?
        if case .property(let position) = operand { target = cls.properties[position].target }
        return ObjectValue(program: program, properties: properties, target: target)
    }
}

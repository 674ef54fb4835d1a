/// The two sides of comparisons, and what is sorted by.
extension QueryBinder {
    /// One side of a comparison.
    enum Operand {
        case constant(Value)
        case list([Value])
        /// A property of the object, with a single value.
        case property(Int)
        /// A collection of links, or of mixed values, of which any element is meant.
        case links(Int)
        case computed(ValueProgram, [UInt32])
    }

    func operand(_ index: Int) throws(StoreError) -> Operand {
        let node = nodes[index]
        switch node.kind {
        case .constant:
            if node.value.kind == .string, !UTF8Check.isValid(node.value.pointer, node.value.count) {
                throw error(.invalidUTF8, index, "the text is not valid UTF-8")
            }
            if node.value.kind == .document {
                do throws(StoreError) { try MixedCell.admit(node.value, limit: .max) } catch {
                    throw placed(error, index)
                }
            }
            return .constant(node.value)
        case .list:
            // The values, and what IN makes of them.
            try Memory.check(for: Int(node.operands), each: 10 * MemoryLayout<Value>.stride)
            var values: [Value] = []
            values.reserveCapacity(Int(node.operands))
            for operand in operands(index) {
                guard case .constant(let value) = try self.operand(operand) else {
                    throw error(.invalidQuery, operand, "a list has constants only, and not \(described(operand))")
                }
                if value.kind == .document {
                    throw error(.wrongType, operand, "a list of constants has no lists or maps inside")
                }
                values.append(value)
            }
            return .list(values)
        case .property: return try property(index)
        case .arithmetic, .count: return try computed(index)
        case .quantified: return try quantified(index)
        case .object: return .constant(try object(index))
        case .call: return try called(index)
        default: throw error(.invalidQuery, index, "a value is expected here, and not \(described(index))")
        }
    }

    private func property(_ index: Int) throws(StoreError) -> Operand {
        let position = try position(index, in: cls)
        return cls.columns[position].kind.isCollection ? .links(position) : .property(position)
    }

    /// `obj('Class', key)`: a link to it, or to nothing where there is none.
    private func object(_ index: Int) throws(StoreError) -> Value {
        guard let name = QueryBinder.text(nodes[index].value), let number = storedNames.classIndex(name, trees.schema)
        else {
            throw placed(
                StoreError(
                    .noSuchClass,
                    "there is no class \(QueryBinder.shortened(QueryBinder.text(nodes[index].value) ?? ""))"), index)
        }
        let cls = trees.schema.classes[number]
        guard case .constant(let key) = try operand(index - 1) else {
            throw error(.invalidQuery, index - 1, "a primary key is expected here, and not \(described(index - 1))")
        }
        let found: Int64?
        do throws(StoreError) { found = try trees.find(cls, primaryKey: QueryBinder.plain(key)) } catch {
            throw placed(error, index)
        }
        // No object has a negative key.
        return .link(ObjectID(classID: cls.classID, storeTag: trees.storeTag, key: found ?? -1))
    }

    /// Of the property that a node names, in a class.
    func position(_ index: Int, in cls: ClassSchema) throws(StoreError) -> Int {
        let node = nodes[index]
        if node.value.isNull {
            do throws(StoreError) { return try cls.position(UInt32(truncatingIfNeeded: node.number)) } catch {
                throw placed(error, index)
            }
        }
        let name = QueryBinder.text(node.value) ?? ""
        if let position = storedNames.propertyIndex(name, cls) { return position }
        var message = "class \(storedNames.name(cls)) does not have a property \(QueryBinder.shortened(name))"
        let all = cls.properties.indices.map { storedNames.name(cls, $0) } + storedNames.inverseNames(cls)
        if let nearest = NearestName.of(name, in: all) { message += ": did you mean \(nearest)?" }
        throw placed(StoreError(.noSuchProperty, message).at(class: cls.name, property: name), index)
    }

    /// For messages: a name that may be anything.
    static func shortened(_ name: String) -> String {
        name.utf8.count > 240 ? String(decoding: name.utf8.prefix(60), as: UTF8.self) + "…" : name
    }

    static func text(_ value: Value) -> String? {
        value.kind == .string
            ? String(decoding: UnsafeRawBufferPointer(start: value.pointer, count: value.count), as: UTF8.self) : nil
    }

    private func quantified(_ index: Int) throws(StoreError) -> Operand {
        let inner = try operand(index - 1)
        if index == lifted { return inner }
        if case .links = inner { return inner }
        throw error(
            .invalidQuery, index, "\(described(index - 1)) is no collection: there is no ANY, ALL or NONE of it")
    }

    // MARK: Computed

    /// What an operand is as a program; its properties are added to `properties`.
    ///
    /// - Parameter keepsDigits: a fraction of a text stands beside decimals.
    func program(
        _ operand: Operand, _ index: Int, _ properties: inout [UInt32], keepsDigits: Bool = false
    ) throws(StoreError) -> ValueProgram {
        switch operand {
        case .constant(let value):
            let value = keepsDigits ? try converted(value, to: .decimal128) : QueryBinder.plain(value)
            return ValueProgram(steps: [.constant(value)], kind: value.kind)
        case .property(let position):
            return ValueProgram(steps: [.property(number(position, &properties))], kind: cls.columns[position].kind)
        case .computed(var program, let own):
            let numbers = own.map { id in number(id, &properties) }
            for step in program.steps.indices {
                if case .property(let old) = program.steps[step] { program.steps[step] = .property(numbers[old]) }
            }
            return program
        case .list, .links: throw error(.invalidQuery, index, "one value is expected here, and not \(described(index))")
        }
    }

    /// A property of decimals.
    private func isDecimal(_ index: Int) -> Bool {
        guard nodes[index].kind == .property, let position = try? position(index, in: cls) else { return false }
        return cls.columns[position].kind == .decimal128
    }

    private func number(_ position: Int, _ properties: inout [UInt32]) -> Int {
        number(cls.propertyID(position), &properties)
    }

    private func number(_ id: UInt32, _ properties: inout [UInt32]) -> Int {
        if let number = properties.firstIndex(of: id) { return number }
        properties.append(id)
        return properties.count - 1
    }

    private func computed(_ index: Int) throws(StoreError) -> Operand {
        let node = nodes[index]
        var properties: [UInt32] = []
        if node.kind == .count {
            let counted = try operand(index - 1)
            let program = try program(counted, index - 1, &properties)
            return .computed(
                ValueProgram(steps: program.steps + [.length], kind: .int, depth: program.depth), properties)
        }
        let operation = Arithmetic(rawValue: node.choice).unsafelyUnwrapped
        let operands = operands(index)
        var programs: [ValueProgram] = []
        for operand in operands {
            let program = try program(
                try self.operand(operand), operand, &properties, keepsDigits: operands.contains(where: isDecimal))
            switch program.kind {
            case .int, .float, .double, .decimal128, .mixed, .null: break
            default:
                throw error(
                    .wrongType, operand, "\(described(operand)) is \(program.kind.indefinite): a number is expected")
            }
            programs.append(program)
        }
        let first = programs[0], last = programs[programs.count - 1]
        var kind = ValueKind.double
        if programs.contains(where: { $0.kind == .decimal128 }) { kind = .decimal128 }
        if programs.contains(where: { $0.kind == .mixed }) { kind = .mixed }
        if programs.allSatisfy({ $0.kind == .int || $0.kind == .null }) { kind = .int }
        let steps = operation == .negate ? first.steps : first.steps + last.steps
        let depth = operation == .negate ? first.depth : max(first.depth, last.depth + 1)
        return .computed(ValueProgram(steps: steps + [.arithmetic(operation)], kind: kind, depth: depth), properties)
    }

    /// A number of a text without what was written.
    static func plain(_ value: Value) -> Value {
        value.kind == .double && value.pointer != nil ? .double(value.asDouble) : value
    }
}

/// What somebody who misspelt a name has meant.
enum NearestName {
    /// Nil: nothing is near.
    static func of(_ name: String, in all: [String]) -> String? {
        let wanted = Array(name.utf8)
        guard wanted.count <= 64 else { return nil }
        var best: (name: String, distance: Int)?
        for candidate in all {
            let letters = Array(candidate.utf8)
            guard letters.count <= 64 else { continue }
            let distance = distance(wanted, letters)
            if distance <= max(1, wanted.count / 3), distance < best?.distance ?? .max { best = (candidate, distance) }
        }
        return best?.name
    }

    /// How many letters have to be changed, added, left out or exchanged with their neighbour; upper and lower case
    /// count as the same.
    private static func distance(_ a: [UInt8], _ b: [UInt8]) -> Int {
        func fold(_ byte: UInt8) -> UInt8 { byte >= 0x41 && byte <= 0x5a ? byte | 0x20 : byte }
        var before: [Int] = [], last = Array(0...b.count)
        for row in a.indices {
            var current = [row + 1]
            for column in b.indices {
                let isSame = fold(a[row]) == fold(b[column])
                var least = min(last[column] + (isSame ? 0 : 1), last[column + 1] + 1, current[column] + 1)
                if row > 0, column > 0, fold(a[row]) == fold(b[column - 1]), fold(a[row - 1]) == fold(b[column]) {
                    least = min(least, before[column - 1] + 1)
                }
                current.append(least)
            }
            (before, last) = (last, current)
        }
        return last[b.count]
    }
}

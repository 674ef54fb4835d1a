/// Which function a node calls, and whether its arguments fit.
extension QueryBinder {
    /// The function, with as many arguments as it has parameters.
    func function(_ index: Int) throws(StoreError) -> QueryFunction {
        let name = QueryBinder.text(nodes[index].value) ?? ""
        guard let function = functions.named(name) else {
            var message = "there is no function \(name)"
            let all = functions.names
            if let nearest = NearestName.of(name, in: all) { message += ": did you mean \(nearest)?" }
            throw error(.invalidQuery, index, message)
        }
        let wanted = function.signature.parameters.count, given = Int(nodes[index].operands)
        guard wanted == given else {
            throw error(
                .invalidQuery, index,
                """
                function \(name) takes \(wanted.counted("argument"))\(QueryBinder.list(function)), and \
                \(given == 0 ? "none" : "\(given)") \(given == 1 ? "is" : "are") given
                """)
        }
        return function
    }

    private static func list(_ function: QueryFunction) -> String {
        let all = function.signature.parameters.map(\.description).joined(separator: ", ")
        return all.isEmpty ? "" : " (\(all))"
    }

    /// Of the given kind an argument may be. Errors: `.wrongType`, with its place.
    func check(_ kind: ValueKind, _ function: QueryFunction, argument number: Int, _ index: Int) throws(StoreError) {
        let wanted = function.signature.parameters[number].kind
        switch (wanted, kind) {
        case (_, .null), (_, .mixed), (.double, .int), (.double, .float): return
        case _ where kind == wanted: return
        default:
            throw error(
                .wrongType, index,
                """
                argument \(number + 1) of \(function.name), \(described(index)), is \(kind.indefinite): \
                \(function.signature.parameters[number]) is expected
                """)
        }
    }

    /// A constant as an argument, of the parameter's kind or null. Errors: `.wrongType`, with its place.
    func argument(
        _ constant: Value, _ function: QueryFunction, _ number: Int, _ index: Int
    ) throws(StoreError) -> Value {
        let wanted = function.signature.parameters[number].kind
        var value = QueryBinder.plain(constant)
        // A number that stands there means the nearest float.
        if wanted == .float, value.kind == .int || value.kind == .double {
            value = .float(Float(value.kind == .int ? Double(value.low) : value.asDouble))
        }
        // A list or map fits nothing.
        if value.kind == .document { throw wrong(value, function, number, index) }
        try check(value.kind, function, argument: number, index)
        return FunctionCall.converted(value, to: wanted)
    }

    private func wrong(_ value: Value, _ function: QueryFunction, _ number: Int, _ index: Int) -> StoreError {
        error(
            .wrongType, index,
            """
            argument \(number + 1) of \(function.name) is \(value.kind.indefinite): \
            \(function.signature.parameters[number]) is expected
            """)
    }

    func called(_ index: Int) throws(StoreError) -> Operand {
        let function = try function(index)
        var steps: [ValueProgram.Step] = [], properties: [UInt32] = [], depth = 1
        for (number, place) in operands(index).enumerated() {
            switch try operand(place) {
            case .constant(let value): steps.append(.constant(try argument(value, function, number, place)))
            case let other:
                let program = try program(other, place, &properties)
                try check(program.kind, function, argument: number, place)
                steps += program.steps
                depth = max(depth, number + program.depth)
            }
            depth = max(depth, number + 1)
        }
        let call = ValueProgram.Step.call(FunctionCall(function))
        return .computed(
            ValueProgram(steps: steps + [call], kind: function.signature.result.kind, depth: depth), properties)
    }
}

extension PathBinder {
    /// A call of which an argument lies behind paths.
    mutating func call(_ index: Int) throws(StoreError) -> Side {
        let function = try binder.function(index), call = FunctionCall(function)
        calls.append(call)
        var sources: [PathSource] = [], quantifier: Quantifier?, isMany = false
        for (number, place) in binder.operands(index).enumerated() {
            let side = try side(place)
            guard !side.isList, !side.isType, side.isMany || side.operand.quantifier == nil else {
                throw binder.error(
                    .invalidQuery, place, "one value is expected here, and not \(binder.described(place))")
            }
            if let constant = side.constants?.first {
                sources.append(.constants([try binder.argument(constant, function, number, place)]))
                continue
            }
            try binder.check(side.kind, function, argument: number, place)
            guard !isMany || !side.isMany else {
                throw binder.error(.invalidQuery, place, "one argument may be a collection, and not two")
            }
            if side.isMany { (isMany, quantifier) = (true, side.operand.quantifier) }
            sources.append(side.operand.source)
        }
        return Side(
            operand: PathOperand(source: .call(call, sources), quantifier: quantifier),
            kind: function.signature.result.kind, isMany: isMany, index: index)
    }
}

internal import ObjStoreCore

extension QueryNodes {
    /// What a program gives for `$0`, `$1` …: values of any type that a property can have, objects, nil; arrays, sets
    /// and other sequences of such, for `IN` and its like.
    init(arguments: [Any?]) {
        self.init()
        for argument in arguments {
            if let shape = argument.flatMap({ ClassInfo.unwrap($0) }) as? any GeoShape {
                append(constant: shape.text._queryValue)
                continue
            }
            guard let given = argument.flatMap({ ClassInfo.unwrap($0) }), QueryNodes.constant(given) == nil,
                let elements = ClassInfo.elements(of: given)
            else {
                append(argument: argument)
                continue
            }
            for element in elements { append(argument: element) }
            append(.list, operands: elements.count)
        }
    }

    private mutating func append(argument: Any?) {
        guard let given = argument.flatMap({ ClassInfo.unwrap($0) }) else { return append(constant: .null) }
        if let value = QueryNodes.constant(given) { return append(constant: value) }
        fail(
            ObjStoreError(
                .wrongType, "a \(type(of: given)) is no value of a property (\(ClassInfo.text(of: given)))"))
    }

    /// Nil: it is no single value.
    private static func constant(_ value: Any) -> _QueryValue? {
        if let object = value as? DynamicObject { return .link(_ObjectName(object.id)) }
        // An empty array conforms to everything that one of bytes does.
        if value is any GivenArray, type(of: value) != [UInt8].self { return nil }
        if let operand = value as? any QueryOperand { return operand._queryValue }
        guard let value = AnyValue._convert(value), value.list == nil else { return nil }
        return value._queryValue
    }
}

internal import ObjStoreCore

/// Values for programs without model classes: what the core makes objects from, made from Swift values.
extension _RowEncoder {
    /// Appends a value with everything that is nested in it: an array or another sequence as a list, a dictionary as a
    /// map.
    ///
    /// Errors: `.wrongType`: no property can have it; `.outOfRange`: more than 200 inside each other.
    func append(nested value: Any?, _ left: Int = ClassInfo.deepest) throws(ObjStoreError) {
        guard let value = value.flatMap({ ClassInfo.unwrap($0) }) else { return append(.null) }
        if let object = value as? DynamicObject { return append(.link(object.id)) }
        if let object = instance(value, of: Object.self) { return append(object) }
        if let value = value as? AnyValue { return try append(nested: value, left) }
        if let collection = value as? DynamicCollection { return try append(nested: collection.content, left) }
        if let value = _RowEncoder.single(value) { return encode(value) }
        if let value = value as? any FixedWidthInteger {
            guard let exact = Int(exactly: value) else {
                throw ObjStoreError(.outOfRange, "\(value) does not fit 64 bits")
            }
            return append(.int(Int64(exact)))
        }
        if let value = value as? Substring { return append(String(value)) }
        if let number = value as? GivenNumber {
            guard number.converted(to: .mixed, { append($0) }) != nil else {
                throw ObjStoreError(.outOfRange, "\(number) has more digits than a decimal")
            }
            return
        }
        guard left > 0 else {
            throw ObjStoreError(.outOfRange, "values are more than \(ClassInfo.deepest) deep inside each other")
        }
        if let entries = (value as? any GivenDictionary)?.givenEntries {
            append(Value(kind: .map, low: Int64(entries.count)))
            // The order of a dictionary is another one each time: errors should not be.
            for (key, value) in entries.sorted(by: { "\($0.key)" < "\($1.key)" }) {
                guard let key = _RowEncoder.single(key.base) else {
                    throw ObjStoreError(.wrongType, "\(key.base) is no key: keys are texts, integers and ids")
                }
                appendKey { encoder in encoder.encode(key) }
                try append(nested: value, left - 1)
            }
            return
        }
        guard let elements = ClassInfo.elements(of: value) else {
            throw ObjStoreError(
                .wrongType,
                "a \(type(of: value)) is no value of a property, and describes no object (\(ClassInfo.text(of: value)))"
            )
        }
        append(Value(kind: .list, low: Int64(elements.count)))
        for element in elements { try append(nested: element, left - 1) }
    }

    private func append(nested value: AnyValue, _ left: Int) throws(ObjStoreError) {
        switch value {
        case .list(let list): try append(nested: list.values as [Any], left)
        case .dictionary(let map):
            try append(
                nested: GivenEntries(map.sortedEntries.map { (key: AnyHashable($0.key), value: $0.value as Any) }), left
            )
        case .object(let object): append(object)
        default: AnyValue._encode(value, self)
        }
    }

    /// A value that is no list or dictionary. An array of anything but bytes conforms where a program runs, though the
    /// compiler refuses it.
    private static func single(_ value: Any) -> (any _PersistableValue)? {
        value is any GivenArray && type(of: value) != [UInt8].self ? nil : value as? any _PersistableValue
    }

    private func encode<Value: _PersistableValue>(_ value: Value) { Value._encode(value, self) }
}

extension PropertyInfo {
    /// Calls `body` with a value that the property, its elements or its keys are compared with, or looked up by.
    /// `.wrongType`: it can be none.
    func withOperand<T>(
        _ operand: Any?, _ kind: ValueKind, isKey: Bool = false, _ body: (Value) throws(StoreError) -> T
    ) throws(ObjStoreError) -> T {
        let encoder = _RowEncoder()
        try encoder.append(nested: operand)
        return try encoder.withValues { (values) throws(StoreError) in
            let value = values[0]
            if value.kind == kind || kind == .mixed || value.isNull { return try body(value) }
            guard let widened = value.widened(to: kind) else {
                throw StoreError(
                    .wrongType,
                    "\(isKey ? "the keys of \(name) are" : "\(name) is") of type \(kind), not \(value.kindAndText)"
                ).at(class: nil, property: name)
            }
            return try body(widened)
        }
    }
}

internal import ObjStoreCore

/// Reading what an application gives to make an object of.
extension ClassInfo {
    /// Objects inside each other. The core has the same bound for what it takes.
    static let deepest = 200

    /// What a value gives to which property: a dictionary (names to values), an array (values in the order of
    /// declaration), an object of a model class, or any other struct, class or tuple by the names of its stored
    /// properties. Names that only another object has are passed over; those of a dictionary must be properties, unless
    /// they are to be ignored.
    ///
    /// Errors: `.noSuchProperty`, `.outOfRange` (an array with too many values), `.missingValue` (`exact`, and too
    /// few), `.wrongType`, `.noSuchObject` (an object that was deleted).
    func pairs(
        _ value: Any, exact: Bool = false, ignoresUnknown: Bool = false
    ) throws(ObjStoreError) -> [(property: Property, value: Any?)] {
        let value = ClassInfo.unwrap(value) ?? value
        if let source = instance(value, of: Object.self) { return try pairs(of: source) }
        if let names = (value as? any GivenDictionary)?.givenNames {
            var pairs: [(property: Property, value: Any?)] = []
            for (name, value) in names {
                if ignoresUnknown, find(name) == nil { continue }
                pairs.append((try property(named: name), ClassInfo.unwrap(value)))
            }
            // The order of a dictionary is another one each time: errors should not be.
            return pairs.sorted { $0.property.index < $1.property.index }
        }
        if let array = (value as? any GivenArray)?.givenElements {
            guard array.count <= properties.count else {
                throw ObjStoreError(
                    .outOfRange, "more values (\(array.count)) than properties (\(properties.count)) of class \(name)",
                    class: name)
            }
            if exact, array.count < properties.count {
                let missing = properties[array.count].name
                throw ObjStoreError(
                    .missingValue,
                    """
                    \(array.count) values for the \(properties.count) properties of class \(name): that of \(missing) \
                    is missing
                    """,
                    class: name, property: missing)
            }
            return zip(properties, array).map { ($0, ClassInfo.unwrap($1)) }
        }
        let pairs = reflected(value)
        guard !pairs.isEmpty else {
            throw ObjStoreError(
                .wrongType,
                """
                \(ClassInfo.indefinite(name)) is made from a dictionary with names of properties, an array, or an \
                object that has some of them, not from \(Swift.type(of: value))
                """,
                class: name)
        }
        return pairs
    }

    private func pairs(of source: Object) throws(ObjStoreError) -> [(property: Property, value: Any?)] {
        let other = Swift.type(of: source) == type ? self : try ClassInfo.of(Swift.type(of: source))
        guard !source.isManaged || !source.isInvalidated else {
            throw ObjStoreError(.noSuchObject, "the \(other.name) to copy was deleted", class: other.name)
        }
        var pairs: [(property: Property, value: Any?)] = []
        for property in properties {
            guard let from = other.find(property.name) else { continue }
            if source._binding == nil, from.isGenerated, from.isNothing(source) { continue }
            pairs.append((property, ClassInfo.unwrap(from.accessor._anyValue(source, from.offset))))
        }
        guard !pairs.isEmpty || other === self else {
            throw ObjStoreError(.wrongType, "no property of \(other.name) is one of \(name)", class: name)
        }
        return pairs
    }

    private func reflected(_ value: Any) -> [(property: Property, value: Any?)] {
        var pairs: [(property: Property, value: Any?)] = []
        var next: Mirror? = Mirror(reflecting: value)
        while let mirror = next {
            guard mirror.displayStyle == .struct || mirror.displayStyle == .class || mirror.displayStyle == .tuple
            else { break }
            for child in mirror.children {
                guard let label = child.label, let property = find(label) else { continue }
                pairs.append((property, ClassInfo.unwrap(child.value)))
            }
            next = mirror.superclassMirror
        }
        return pairs.sorted { $0.property.index < $1.property.index }
    }

    /// The elements of any sequence but a dictionary; nil: it is none.
    static func elements(of value: Any) -> [Any?]? {
        if let array = value as? any GivenArray { return array.givenElements.map { unwrap($0) } }
        if let set = value as? any GivenSet { return set.givenMembers.map { unwrap($0) } }
        guard let sequence = value as? any Sequence, !(value is any GivenDictionary), !(value is String) else {
            return nil
        }
        func all(_ sequence: some Sequence) -> [Any?] { sequence.map { unwrap($0) } }
        return all(sequence)
    }

    /// Optionals inside `Any` become optionals of `Any`; `NSNull` is nil, other classes of what Foundation parses are
    /// what they hold.
    static func unwrap(_ value: Any) -> Any? {
        if let optional = value as? any AnyOptional { return optional.wrapped.flatMap { unwrap($0) } }
        if Swift.type(of: value) is AnyClass, !(value is Object) { return native(value as AnyObject) }
        return value
    }

    // MARK: Errors

    func wrongType(_ property: Property, _ value: Any?) -> ObjStoreError {
        guard let given = value else {
            return ObjStoreError(
                .notNullable, "\(name).\(property.name) cannot be nil", class: name, property: property.name)
        }
        let value = ClassInfo.unwrap(given) ?? given
        if property.type.isMixed, AnyValue.isTooDeep(value) {
            return ObjStoreError(
                .outOfRange,
                "\(name).\(property.name): values are more than \(ClassInfo.deepest) deep inside each other",
                class: name, property: property.name)
        }
        if let error = misfit(property, value) { return error }
        if let error = refusal(property, property.type.valueKind, value) { return error }
        return ObjStoreError(
            .wrongType,
            """
            \(name).\(property.name) is of type \(property.accessor), not \(ClassInfo.typeName(of: value)) \
            (\(ClassInfo.text(of: value)))
            """,
            class: name, property: property.name)
    }

    func wrongElement(_ property: Property, _ value: Any?) -> ObjStoreError {
        guard let given = value else {
            return ObjStoreError(
                .notNullable, "\(name).\(property.name): an element cannot be nil", class: name, property: property.name
            )
        }
        let value = ClassInfo.unwrap(given) ?? given
        if let error = refusal(property, property.type.elements.kind, value) { return error }
        return ObjStoreError(
            .wrongType,
            """
            \(name).\(property.name) is of type \(property.accessor), which has no \(ClassInfo.typeName(of: value)) \
            (\(ClassInfo.text(of: value)))
            """,
            class: name, property: property.name)
    }

    /// Of what could be a collection the first element that does not fit, with where it is: "$.nums[1]: …".
    private func misfit(_ property: Property, _ value: Any) -> ObjStoreError? {
        guard let type = property.accessor as? any _CollectionProperty.Type else { return nil }
        func at(_ step: String, _ error: ObjStoreError) -> ObjStoreError {
            ObjStoreError(
                error.code, "$.\(property.name)\(step): \(error.message)", class: error.className,
                property: error.propertyName)
        }
        let encoder = _RowEncoder()
        if property.type.valueKind == .map {
            for (key, value) in type._entries(of: value) ?? [] {
                guard type._encodeKey(key, encoder) else { return wrongKey(property, key.base) }
                guard type._encodeElement(any: value, encoder) else {
                    return at(".\(key)", wrongElement(property, value))
                }
            }
            return nil
        }
        for (number, element) in (ClassInfo.elements(of: value) ?? []).enumerated()
        where !type._encodeElement(any: element, encoder) {
            return at("[\(number)]", wrongElement(property, element))
        }
        return nil
    }

    /// `.outOfRange`: a number with more digits than its kind has, or beyond it; a date that is none, also inside of
    /// what is given.
    private func refusal(_ property: Property, _ kind: ValueKind, _ value: Any) -> ObjStoreError? {
        if let error = ClassInfo.dateRefusal(value) {
            return ObjStoreError(
                .outOfRange, "\(name).\(property.name): \(error.message)", class: name, property: property.name)
        }
        let number = value as? GivenNumber ?? (kind == .decimal128 ? GivenNumber(decimal: value) : nil)
        guard kind != .int, let error = number?.refusal(kind), error.code == .outOfRange else { return nil }
        return ObjStoreError(
            .outOfRange, "\(name).\(property.name): \(error.message)", class: name, property: property.name)
    }

    private static func typeName(of value: Any) -> String {
        value is GivenNumber ? "NSNumber" : "\(Swift.type(of: value))"
    }

    func wrongKey(_ property: Property, _ key: Any) -> ObjStoreError {
        let text = key is String ? "\"\(key)\"" : "\(key)"
        return ObjStoreError(
            .wrongType,
            """
            \(name).\(property.name) is of type \(property.accessor), whose keys are no \(Swift.type(of: key)) \
            (\(text))
            """,
            class: name, property: property.name)
    }

    func tooDeep() -> ObjStoreError {
        ObjStoreError(.outOfRange, "values are more than \(ClassInfo.deepest) deep inside each other", class: name)
    }
}

protocol AnyOptional {
    var wrapped: Any? { get }
}

extension Optional: AnyOptional {
    var wrapped: Any? { self }
}

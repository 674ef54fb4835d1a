internal import ObjStoreCore

/// Fills unmanaged objects from nested values: what `Object(value:)` does.
///
/// Objects among the values stay the same instances, managed or not, but for embedded ones of an object that is copied:
/// these have one parent each.
struct ObjectBuilder {
    private var path: [String] = []
    /// Names in dictionaries that are no properties.
    var ignoresUnknown = false

    mutating func fill(_ object: Object, from value: Any) throws(ObjStoreError) {
        let info = try ClassInfo.of(type(of: object))
        guard path.count < ClassInfo.deepest else { throw located(info.tooDeep()) }
        let pairs: [(property: ClassInfo.Property, value: Any?)]
        do throws(ObjStoreError) { pairs = try info.pairs(value, ignoresUnknown: ignoresUnknown) } catch {
            throw located(error)
        }
        for (number, (property, given)) in pairs.enumerated() {
            path.append(".\(property.name)")
            do throws(ObjStoreError) {
                let value = try prepared(info, property, given, isCopy: instance(value, of: Object.self) != nil)
                do throws(ObjStoreError) { try info.assign(value, property, of: object) } catch { throw located(error) }
            } catch {
                // What came before the misfit does not stay either.
                let new = info.type.init()
                for (property, _) in pairs[..<number] {
                    property.accessor._copy(from: new, to: object, property.offset)
                }
                throw error
            }
            path.removeLast()
        }
    }

    /// The value with objects in it instead of their descriptions.
    private mutating func prepared(
        _ info: ClassInfo, _ property: ClassInfo.Property, _ value: Any?, isCopy: Bool
    ) throws(ObjStoreError) -> Any? {
        guard let linked = property.type.linked, let value else { return value }
        guard property.type.isCollection else { return try one(linked, value, isCopy: isCopy) }
        if let type = property.accessor as? any _CollectionProperty.Type, property.type.valueKind == .map {
            guard let entries = type._entries(of: value) else { throw located(info.wrongType(property, value)) }
            var objects: [(key: AnyHashable, value: Any)] = []
            for (key, value) in entries {
                path.append(".\(key)")
                objects.append((key, try one(linked, value, isCopy: isCopy) as Any))
                path.removeLast()
            }
            return GivenEntries(objects)
        }
        guard let elements = ClassInfo.elements(of: value) else { throw located(info.wrongType(property, value)) }
        var objects: [Any] = []
        for (number, element) in elements.enumerated() {
            path.append("[\(number)]")
            guard let object = try one(linked, element, isCopy: isCopy) else {
                throw located(info.wrongElement(property, nil))
            }
            objects.append(object)
            path.removeLast()
        }
        return objects
    }

    private mutating func one(_ type: Object.Type, _ value: Any?, isCopy: Bool) throws(ObjStoreError) -> Any? {
        guard let value = value.flatMap({ ClassInfo.unwrap($0) }) else { return nil }
        // One of another class is refused where it is assigned.
        if instance(value, of: Object.self) != nil, !(isCopy && type is EmbeddedObject.Type) { return value }
        let object = type.init()
        try fill(object, from: value)
        return object
    }

    private func located(_ error: ObjStoreError) -> ObjStoreError {
        if path.isEmpty { return error }
        if error.message.hasPrefix("$.") {
            // It says itself where in the property it is.
            return ObjStoreError(
                error.code, "$\(path.dropLast().joined())\(error.message.dropFirst())", class: error.className,
                property: error.propertyName)
        }
        return ObjStoreError(
            error.code, "$\(path.joined()): \(error.message)", class: error.className, property: error.propertyName)
    }
}

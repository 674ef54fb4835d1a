internal import ObjStoreCore

// Properties that are set by name to what describes objects: `person.setValue(["city": "Rome"], forKey: "address")`.

extension ClassInfo.Property {
    /// Whether a value for the property describes objects, as in `create`: it, or one of its elements, is no object,
    /// and not nil.
    func isDescribed(by value: Any?) -> Bool {
        guard type.linked != nil, let value = value.flatMap({ ClassInfo.unwrap($0) }) else { return false }
        guard type.isCollection else { return instance(value, of: Object.self) == nil }
        if value is any AnyResults || value is any LinkCollection { return false }
        if type.valueKind == .map {
            let entries = (accessor as? any _CollectionProperty.Type)?._entries(of: value) ?? []
            return entries.contains { entry in
                entry.value.flatMap { ClassInfo.unwrap($0) }.map { instance($0, of: Object.self) == nil } ?? false
            }
        }
        return ClassInfo.elements(of: value)?.contains { element in
            element.map { instance($0, of: Object.self) == nil } ?? false
        } == true
    }
}

extension Object {
    /// Sets a property to what describes objects: links are found by their primary keys, or made, embedded objects are
    /// made.
    final func set(_ property: ClassInfo.Property, described value: Any?) throws(ObjStoreError) {
        guard let binding = _binding?.takeUnretainedValue() else {
            var builder = ObjectBuilder()
            return try builder.fill(self, from: [property.name: value as Any])
        }
        guard !isFrozen else {
            throw ObjStoreError(.wrongView, "setValue: the object is frozen", class: binding.info.name)
        }
        try binding.set(binding.id(_key), property, described: value, try binding.space.handle.writing("setValue"))
    }
}

extension ClassBinding {
    func set(
        _ object: ObjectID, _ property: ClassInfo.Property, described value: Any?, _ view: View
    ) throws(ObjStoreError) {
        let flattener = ValueFlattener(space, view, .all)
        try flattener.property(info, property, value)
        try flattener.store(.property(object, properties[Int(property.index)]))
    }
}

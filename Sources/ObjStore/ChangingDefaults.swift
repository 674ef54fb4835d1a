internal import ObjStoreCore

// Defaults that are another value each time are evaluated here, for a new object; the schema has the others.

/// What an object gets in a property.
typealias GivenValue = (property: ClassInfo.Property, value: Any?)

extension ClassBinding {
    /// A unique index that determines which object is updated.
    struct Identity {
        let indexID: UInt32
        /// In the order of the index.
        let properties: [ClassInfo.Property]
    }

    /// That of the primary key; nil: there is none.
    private func keyIdentity(_ view: View) throws(ObjStoreError) -> Identity? {
        if info.key.isEmpty { return nil }
        let id = try core { () throws(StoreError) in try view.classInfo(classID).keyIndex }
        return id == 0 ? nil : Identity(indexID: id, properties: info.key)
    }

    /// That of a unique index of these properties.
    func identity(by names: [String]) throws(ObjStoreError) -> Identity {
        let (id, order) = try uniqueIndex(names)
        var properties: [ClassInfo.Property] = []
        for position in order { properties.append(try info.property(named: names[position])) }
        return Identity(indexID: id, properties: properties)
    }

    /// What comes to given values: defaults that are evaluated, but in an update, which leaves alone what is not given,
    /// those alone by which the object is known.
    ///
    /// - Parameter identity: nil: the primary key.
    func changingDefaults(
        _ given: [GivenValue], _ update: UpdatePolicy, by identity: Identity?, _ view: View
    ) throws(ObjStoreError) -> [GivenValue] {
        let missing = info.properties.filter { property in
            property.hasChangingDefault && !given.contains { $0.property.index == property.index }
        }
        if missing.isEmpty { return [] }
        var prototype: Object?
        func evaluated(_ properties: [ClassInfo.Property]) -> [GivenValue] {
            if properties.isEmpty { return [] }
            let object = prototype ?? info.type.init()
            prototype = object
            return properties.map { ($0, ClassInfo.unwrap($0.accessor._anyValue(object, $0.offset))) }
        }
        if update == .error { return evaluated(missing) }
        let key = try keyIdentity(view)
        guard let identity = identity ?? key else { return evaluated(missing) }
        func isPart(_ property: ClassInfo.Property) -> Bool {
            identity.properties.contains { $0.index == property.index }
        }
        let parts = evaluated(missing.filter { isPart($0) })
        if try find(given + parts, identity, view) != nil { return parts }
        return parts + evaluated(missing.filter { !isPart($0) })
    }

    /// The object that has these values; a missing one is replaced by its default.
    private func find(_ given: [GivenValue], _ identity: Identity, _ view: View) throws(ObjStoreError) -> ObjectID? {
        var parts: [OwnedValue] = []
        for part in identity.properties {
            let probe = _RowEncoder()
            if let pair = given.first(where: { $0.property.index == part.index }) {
                // What is of another type is refused in a moment.
                guard try encode(pair.value, part, probe, view), probe.refusal == nil else { return nil }
                try probe.withValue { (value) throws(StoreError) in parts.append(OwnedValue(value)) }
            } else {
                if part.isGenerated { return nil }
                let value = try core { () throws(StoreError) in
                    OwnedValue(try view.propertyInfo(properties[Int(part.index)]).defaultValue)
                }
                guard !value.value.isNull || part.type.isOptional || part.type.isMixed else { return nil }
                parts.append(value)
            }
        }
        defer { withExtendedLifetime(parts) {} }
        return try core { () throws(StoreError) in
            var found: Result<ObjectID?, StoreError>!
            parts.map(\.value).withUnsafeBufferPointer { values in
                found = Result { () throws(StoreError) in try view.find(by: identity.indexID, values) }
            }
            return try found.get()
        }
    }

    /// False: it is no value of the property, or an object that is not there yet.
    private func encode(
        _ value: Any?, _ part: ClassInfo.Property, _ encoder: _RowEncoder, _ view: View
    ) throws(ObjStoreError) -> Bool {
        guard let linked = part.type.linked, let value else { return part.accessor._encodeAny(value, encoder) }
        if let object = instance(value, of: Object.self), object._space?.handle.sharesStore(with: space.handle) == true
        {
            return part.accessor._encodeAny(object, encoder)
        }
        // What it describes is found in its turn.
        let target = try space.binding(linked)
        guard let identity = try target.keyIdentity(view) else { return false }
        guard let found = try target.find(try target.info.pairs(value, ignoresUnknown: true), identity, view) else {
            return false
        }
        encoder.append(.link(found))
        return true
    }
}

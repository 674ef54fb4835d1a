internal import ObjStoreCore

// Objects in values of any type cannot be described in place, since a map there is a value: those that are not of
// this store are made before what links to them.
extension ValueFlattener {
    /// Calls `body` with a flattener, and takes back the objects that it made if that fails.
    static func run<T>(
        _ space: ObjectSpace, _ view: View, _ update: UpdatePolicy, by identity: ClassBinding.Identity? = nil,
        isExact: Bool, ignoresUnknown: Bool = false,
        _ body: (ValueFlattener) throws(ObjStoreError) -> T
    ) throws(ObjStoreError) -> T {
        let flattener = ValueFlattener(
            space, view, update, by: identity, isExact: isExact, ignoresUnknown: ignoresUnknown)
        do throws(ObjStoreError) {
            let result = try body(flattener)
            if let savepoint = flattener.savepoint {
                try core { () throws(StoreError) in try view.releaseSavepoint(savepoint) }
            }
            return result
        } catch {
            if let savepoint = flattener.savepoint {
                try core { () throws(StoreError) in try view.rollBack(toSavepoint: savepoint) }
            }
            throw error
        }
    }

    /// Describes what a mixed property gets.
    func mixed(_ info: ClassInfo, _ property: ClassInfo.Property, _ given: Any?) throws(ObjStoreError) {
        // Copied, so that its objects are the same instances each time.
        guard let value = AnyValue._convert(given)?.detached() else { throw located(info.wrongType(property, given)) }
        if !isGraph { for object in value.objects { try make(object) } }
        encoder.created.merge(created) { _, new in new }
        AnyValue._encode(value, encoder)
        if let refusal = encoder.refusal { throw located(refusal) }
    }

    /// Makes an object of this store of one that is not; each once.
    private func make(_ object: Object) throws(ObjStoreError) {
        if object is EmbeddedObject { throw located(ObjStoreError(AnyValue.embedded(object))) }
        if object._space?.handle.sharesStore(with: space.handle) == true { return }
        let identity = ObjectCopier.Identity(object), binding = try space.binding(type(of: object))
        if made[identity] == nil {
            if savepoint == nil { savepoint = try core { () throws(StoreError) in try view.beginSavepoint() } }
            let outer = encoder
            encoder = _RowEncoder()
            defer { encoder = outer }
            try self.object(binding, object)
            // A linked object without a primary key can only be created.
            let policy = binding.info.key.isEmpty ? .error : update
            do throws(ObjStoreError) {
                made[identity] = try store { (values) throws(StoreError) in
                    try view.create(binding.classID, from: values, policy.core).0
                }
            } catch {
                // The core says where in the object.
                guard error.message.hasPrefix("$") else { throw located(error) }
                throw ObjStoreError(
                    error.code, "$\(path.joined())\(error.message.dropFirst())", class: error.className,
                    property: error.propertyName)
            }
        }
        created[ObjectIdentifier(object)] = made[identity]
        kept.append(object)
    }
}

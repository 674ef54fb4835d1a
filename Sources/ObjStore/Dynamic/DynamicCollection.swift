internal import ObjStoreCore

/// A list, set or map of a ``DynamicObject``: `dog.collection("toys")`. Shows what the object has now.
///
/// What cannot be read is reported, as in properties; what changes throws. Elements that are objects are read as such,
/// others as values.
public struct DynamicCollection: Sendable {
    let object: DynamicObject
    let name: String

    init(_ object: DynamicObject, _ name: String) {
        self.object = object
        self.name = name
    }

    func place() throws(StoreError) -> CollectionID {
        CollectionID(owner: object.id, propertyID: try object.property(name))
    }

    // MARK: Reading

    public var count: Int { object.reporting(0) { () throws(StoreError) in try object.view.elementCount(try place()) } }
    public var isEmpty: Bool { count == 0 }

    /// The elements of a list or set, the values of a map in the order of its keys; objects are those of the models.
    public var values: [AnyValue] {
        all([]) { (_, value) throws(StoreError) in try AnyValue(copying: value, object.space) }
    }

    /// The objects that the elements are; nil for a key of a map whose object was deleted.
    public var objects: [DynamicObject?] { all([]) { (_, value) throws(StoreError) in try linked(value) } }

    /// The same as results, to be filtered and sorted: in their order, an object as often as it is there, without nil.
    ///
    /// Errors: `.wrongType`: the elements are no objects; `.noSuchObject`: the owner was deleted.
    public func results() throws(ObjStoreError) -> DynamicResults {
        let (query, name) = try core { () throws(StoreError) in
            let query = try object.view.query(of: try place())
            return (query, try object.view.classInfo(query.classID).name)
        }
        return DynamicResults(object.space, name) { () in query }
    }

    /// Plain values of a list, set or map that a text finds, in its order; `@self` is an element: see
    /// ``ValueResults/filter(_:_:)``.
    ///
    /// Errors: `.wrongType`: the elements are objects; `.noSuchObject`: the owner was deleted; those of a `filter`.
    public func filter(_ text: String, _ arguments: Any?...) throws(ObjStoreError) -> [AnyValue] {
        try QueryNodes(arguments: arguments).withArguments { (arguments) throws(StoreError) in
            let query = try object.view.valueQuery(try place(), parsing: text, arguments: arguments)
            let found = try object.view.find(query)
            var values: [AnyValue] = []
            for index in 0..<found.count { values.append(try AnyValue(copying: found.value(index), object.space)) }
            return values
        }
    }

    /// The keys of a map, ascending.
    public var keys: [AnyValue] {
        all([], wantsKeys: true) { (key, _) throws(StoreError) in try AnyValue(copying: key, object.space) }
    }

    /// The element at an index of a list or set, which is a value; nil: null. `.outOfRange` is reported.
    public subscript(index: Int) -> AnyValue? {
        element(at: index) { (value) throws(StoreError) in
            value.isNull ? nil : try AnyValue(copying: value, object.space)
        }
    }

    /// The element at an index, which is an object.
    public func object(at index: Int) -> DynamicObject? {
        element(at: index) { (value) throws(StoreError) in try linked(value) }
    }

    /// The value of a key of a map; nil: null, or the key is not there.
    public func value(forKey key: Any) -> AnyValue? {
        value(of: key) { (value) throws(StoreError) in value.isNull ? nil : try AnyValue(copying: value, object.space) }
    }

    /// The object of a key of a map; nil: none, or the key is not there.
    public func object(forKey key: Any) -> DynamicObject? {
        value(of: key) { (value) throws(StoreError) in try linked(value) }
    }

    /// Is it an element? Of a map: one of the values.
    public func contains(_ value: Any?) -> Bool {
        object.reporting(false) { () throws(StoreError) in
            let place = try place(), info = try object.view.propertyInfo(place.propertyID)
            do throws(ObjStoreError) {
                return try info.withOperand(value, info.elements?.kind ?? .null) { (value) throws(StoreError) in
                    try object.view.firstIndex(place, of: value) != nil
                }
            } catch {
                throw error.ofCore
            }
        }
    }

    /// What it is given as a whole: for `set(_:to:)` of another object.
    var content: Any {
        object.reporting([Any]()) { () throws(StoreError) -> Any in
            let info = try object.view.propertyInfo(try place().propertyID)
            let elements: [Any?] = info.elements?.kind == .link ? objects : values
            if info.kind != .map { return elements.map { $0 as Any } }
            return GivenEntries(zip(keys, elements).map { (key: AnyHashable($0.description), value: $1 as Any) })
        }
    }

    // MARK: Changing

    /// Adds an element at the end of a list: a value, an object, or what describes one that is made. Errors: as of
    /// ``DynamicObject/set(_:to:update:)``.
    public func append(_ value: Any?) throws(ObjStoreError) { try insert(value, at: nil) }

    /// Inserts an element of a list before the one at `index`. `.outOfRange`.
    public func insert(_ value: Any?, at index: Int) throws(ObjStoreError) { try insert(value, at: .some(index)) }

    private func insert(_ value: Any?, at index: Int?) throws(ObjStoreError) {
        try changing(value, place: index.map { .int(Int64($0)) } ?? .null) { (view, id, value) throws(StoreError) in
            try withUnsafeBuffer(of: value) { (values) throws(StoreError) in try view.insert(id, at: index, values) }
        }
    }

    /// Gives an element of a list another value; of embedded objects what describes a new one, which takes the place.
    /// `.outOfRange`.
    public func set(_ value: Any?, at index: Int) throws(ObjStoreError) {
        try changing(value, place: .int(Int64(index)), takesPlace: true) { (view, id, value) throws(StoreError) in
            try view.set(id, at: index, value)
        }
    }

    /// Removes an element of a list, set or map by its index. `.outOfRange`.
    public func remove(at index: Int) throws(ObjStoreError) {
        try core { () throws(StoreError) in try object.view.remove(try place(), at: index, count: 1) }
    }

    /// Moves an element of a list.
    public func move(from index: Int, to target: Int) throws(ObjStoreError) {
        try core { () throws(StoreError) in try object.view.move(try place(), from: index, to: target) }
    }

    /// Adds a value to a set; false: it was there.
    @discardableResult
    public func insert(_ value: Any?) throws(ObjStoreError) -> Bool {
        var isNew = false
        try changing(value) { (view, id, value) throws(StoreError) in isNew = try view.insert(id, member: value) }
        return isNew
    }

    /// Takes a value out of a set; false: it was not there.
    @discardableResult
    public func remove(_ value: Any?) throws(ObjStoreError) -> Bool {
        var wasThere = false
        try changing(value) { (view, id, value) throws(StoreError) in wasThere = try view.remove(id, member: value) }
        return wasThere
    }

    /// Gives a key of a map a value.
    public func set(_ value: Any?, forKey key: Any) throws(ObjStoreError) {
        try withKey(key) { (key) throws(StoreError) in
            do throws(ObjStoreError) {
                try changing(value, place: key) { (view, id, value) throws(StoreError) in
                    _ = try view.set(id, key: key, value)
                }
            } catch {
                throw error.ofCore
            }
        }
    }

    /// Takes a key out of a map; false: it was not there.
    @discardableResult
    public func removeValue(forKey key: Any) throws(ObjStoreError) -> Bool {
        try withKey(key) { (key) throws(StoreError) in try object.view.remove(try place(), key: key) }
    }

    public func removeAll() throws(ObjStoreError) {
        try core { () throws(StoreError) in try object.view.removeAllElements(try place()) }
    }

    // MARK: Inside

    private func linked(_ value: Value) throws(StoreError) -> DynamicObject? {
        if value.isNull { return nil }
        guard value.kind == .link else {
            throw StoreError(.wrongType, "an element of \(name) is \(value.kind.indefinite), no object").at(
                class: nil, property: name)
        }
        return DynamicObject(
            ObjectID(classID: UInt32(truncatingIfNeeded: value.high), storeTag: object.id.storeTag, key: value.low),
            object.space, fixed: object.fixedView)
    }

    private func all<T>(
        _ none: [T], wantsKeys: Bool = false, _ body: (_ key: Value, _ value: Value) throws(StoreError) -> T
    ) -> [T] {
        object.reporting(none) { () throws(StoreError) in
            var found: [T] = [], failure: StoreError?, buffer = OutputBuffer()
            defer { OutputBuffer.free(&buffer) }
            _ = try object.view.elements(try place(), from: 0, limit: .max, wantsKeys: wantsKeys, &buffer) {
                _, key, value in
                if failure != nil { return }
                do throws(StoreError) { found.append(try body(key, value)) } catch { failure = error }
            }
            if let failure { throw failure }
            return found
        }
    }

    private func element<T>(at index: Int, _ body: (Value) throws(StoreError) -> T?) -> T? {
        object.reporting(nil) { () throws(StoreError) in
            var buffer = OutputBuffer()
            defer { OutputBuffer.free(&buffer) }
            return try body(try object.view.element(try place(), at: index, &buffer).value)
        }
    }

    private func value<T>(of key: Any, _ body: (Value) throws(StoreError) -> T?) -> T? {
        object.reporting(nil) { () throws(StoreError) in
            do throws(ObjStoreError) {
                return try withKey(key) { (key) throws(StoreError) in
                    var buffer = OutputBuffer()
                    defer { OutputBuffer.free(&buffer) }
                    guard let value = try object.view.value(try place(), ofKey: key, &buffer) else { return nil }
                    return try body(value)
                }
            } catch {
                throw error.ofCore
            }
        }
    }

    private func withKey<T>(_ key: Any, _ body: (Value) throws(StoreError) -> T) throws(ObjStoreError) -> T {
        let info = try core { () throws(StoreError) in try object.view.propertyInfo(try place().propertyID) }
        return try info.withOperand(key, info.elements?.keyKind ?? .null, isKey: true, body)
    }

    /// Calls `body` with an element as the core takes it. What describes an object is made first: with `place` an
    /// embedded one is made there, and `body` is not called.
    ///
    /// - Parameter takesPlace: the one that is at this place of a list goes.
    private func changing(
        _ value: Any?, place: Value? = nil, takesPlace: Bool = false,
        _ body: (View, CollectionID, Value) throws(StoreError) -> Void
    ) throws(ObjStoreError) {
        let view = object.view, id = try core { () throws(StoreError) in try self.place() }
        let info = try core { () throws(StoreError) in try view.propertyInfo(id.propertyID) },
            kind = info.elements?.kind ?? .null
        let encoder = _RowEncoder()
        try encoder.append(nested: value)
        try encoder.withValues { (values) throws(StoreError) in
            let first = values[0]
            if kind == .link, first.kind == .list || first.kind == .map {
                if try view.classInfo(info.target).isEmbedded, let place {
                    if takesPlace { _ = try view.element(id, at: Int(place.low), nil) }  // which may not be there
                    try view.createEmbedded(in: id.owner, id.propertyID, at: place, from: values)
                    if takesPlace { try view.remove(id, at: Int(place.low) + 1, count: 1) }
                    return
                }
                let savepoint = try view.beginSavepoint()
                do throws(StoreError) {
                    let made = try view.create(info.target, from: values, .error).0
                    try body(view, id, .link(made))
                    try view.releaseSavepoint(savepoint)
                } catch {
                    try view.rollBack(toSavepoint: savepoint)
                    throw error
                }
                return
            }
            if kind == .mixed, values.count > 1 {
                // A list or dictionary in a value of any type: one document.
                guard let given = AnyValue._convert(value) else {
                    guard let value, AnyValue.isTooDeep(value) else {
                        throw StoreError(.wrongType, "\(name): no value of any type").at(class: nil, property: name)
                    }
                    throw StoreError(
                        .outOfRange, "\(name): values are more than \(ClassInfo.deepest) deep inside each other"
                    ).at(class: nil, property: name)
                }
                return try given.withValue { (value) throws(StoreError) in try body(view, id, value) }
            }
            try body(view, id, kind == .mixed ? first : first.widened(to: kind) ?? first)
        }
    }

    private func withUnsafeBuffer<T>(
        of value: Value, _ body: (UnsafeBufferPointer<Value>) throws(StoreError) -> T
    ) throws(StoreError) -> T {
        var result: Result<T, StoreError>!
        withUnsafePointer(to: value) { value in
            result = Result { () throws(StoreError) in try body(UnsafeBufferPointer(start: value, count: 1)) }
        }
        return try result.get()
    }
}

internal import ObjStoreCore

// MARK: Properties

// By its protocol: the compiler takes structs for classes when a superclass is required.
extension Query where Value: _ObservableObject {
    public subscript<Property: Persistable>(dynamicMember keyPath: KeyPath<Value, Property>) -> Query<Property> {
        step(keyPath)
    }
}

extension Query {
    /// Of the object that a link leads to, or of one that is embedded; null where there is none.
    public subscript<Linked: Object, Property: Persistable>(
        dynamicMember keyPath: KeyPath<Linked, Property>
    ) -> Query<Property> where Value == Linked? { step(keyPath) }

    /// Of each object of a collection: a comparison with it asks whether there is one.
    public subscript<Linked: Object, Property: Persistable>(
        dynamicMember keyPath: KeyPath<Linked, Property>
    ) -> Query<Property> where Value == List<Linked> { step(keyPath) }
    public subscript<Linked: Object, Property: Persistable>(
        dynamicMember keyPath: KeyPath<Linked, Property>
    ) -> Query<Property> where Value == MutableSet<Linked> { step(keyPath) }
    public subscript<Key, Linked: Object, Property: Persistable>(
        dynamicMember keyPath: KeyPath<Linked, Property>
    ) -> Query<Property> where Value == Map<Key, Linked?> {
        // Said, because in a text a name behind a map is one of its keys.
        let values: Query<Linked?> = moved(isObject: true) { $0.append(.values, operands: 1) }
        return values.step(keyPath)
    }
    public subscript<Linked: Object, Property: Persistable>(
        dynamicMember keyPath: KeyPath<Linked, Property>
    ) -> Query<Property> where Value == LinkingObjects<Linked> { step(keyPath) }

    private func step<Root: Object, Property>(_ keyPath: KeyPath<Root, Property>) -> Query<Property> {
        do throws(ObjStoreError) {
            let index = try KeyPaths.index(keyPath), space = scope.space
            let binding = scope.model < 0 ? try space.binding(Root.self) : space.bindings[scope.model]
            var nodes = nodes, scope = scope
            if index < binding.info.properties.count {
                nodes.append(.property, operands: 1, number: Int64(binding.properties[index]))
                scope.model = binding.target(of: index)
                guard binding.info.properties[index].type.isCollection else { return Query<Property>(nodes, scope) }
            } else {
                let origin = binding.origins[index - binding.info.properties.count]
                let other = space.bindings[origin.model]
                nodes.append(className: other.info.name)
                nodes.append(.incoming, operands: 2, number: Int64(other.properties[Int(origin.property)]))
                scope.model = origin.model
            }
            if scope.elements == 0, scope.model >= 0 { nodes.beginElements() }
            scope.outer = scope.elements
            scope.elements = nodes.nodes.count
            scope.isMany = true
            return Query<Property>(nodes, scope)
        } catch {
            return Query<Property>(QueryNodes(failed: error), scope)
        }
    }

    /// What is no path any more.
    func combined<Result>(_ body: (inout QueryNodes) -> Void) -> Query<Result> {
        var nodes = nodes
        body(&nodes)
        return Query<Result>(nodes, scope.computed)
    }
}

// MARK: Elements

extension Query {
    /// The element of a list at a place; counted from its end where negative, so that -1 is the last. Null where there
    /// is none.
    @_disfavoredOverload public subscript(_ index: Int) -> Query<Value._QueriedElement._QueryNullable>
    where Value: _QueriedList, Value._QueriedElement: QueryOperand { element(.at, index) }
    public subscript<Linked: Object>(_ index: Int) -> Query<Linked?> where Value == List<Linked> { element(.at, index) }

    /// The value of a key of a map; null where it does not have the key.
    public subscript(_ key: Value._QueriedKey) -> Query<Value._QueriedElement._QueryNullable>
    where Value: _QueriedMap, Value._QueriedKey: QueryOperand, Value._QueriedElement: QueryOperand {
        single { $0.append(key: key._queryValue) }
    }

    private func element<Result>(_ place: Place, _ index: Int) -> Query<Result> {
        single { $0.append(.element, choice: place.rawValue, operands: 1, number: Int64(index)) }
    }

    /// One element of a collection.
    private func single<Result>(_ body: (inout QueryNodes) -> Void) -> Query<Result> {
        var nodes = nodes, scope = scope
        nodes.endElements(of: scope.elements)
        body(&nodes)
        scope.elements = scope.outer
        scope.isMany = scope.outer > 0
        return Query<Result>(nodes, scope)
    }

    /// What is a collection like the one before it: its keys, its values.
    fileprivate func moved<Result>(isObject: Bool, _ body: (inout QueryNodes) -> Void) -> Query<Result> {
        var nodes = nodes, scope = scope
        nodes.endElements(of: scope.elements)
        body(&nodes)
        if !isObject { scope.model = -1 }
        if scope.model < 0 { scope.isSpread = true }
        if scope.outer == 0, scope.model >= 0 { nodes.beginElements() }
        scope.elements = nodes.nodes.count
        return Query<Result>(nodes, scope)
    }
}

/// Lists, in a `where`.
public protocol _QueriedList: _QueriedCollection {}
extension List: _QueriedList {}

/// Maps, in a `where`.
public protocol _QueriedMap: _QueriedCollection {
    associatedtype _QueriedKey
}
extension Map: _QueriedMap { public typealias _QueriedKey = Key }

extension Query where Value: _QueriedMap {
    /// The keys: a comparison with them asks whether there is one, `$0.notes.keys == "a"`.
    public var keys: Query<Value._QueriedKey> { moved(isObject: false) { $0.append(.keys, operands: 1) } }
    /// The values, in the same way.
    public var values: Query<Value._QueriedElement> { moved(isObject: true) { $0.append(.values, operands: 1) } }
}

// MARK: Values of any type

extension Query where Value == AnyValue {
    /// An element of the list that it is, counted from the end where negative; null where it is none.
    public subscript(_ index: Int) -> Query<AnyValue> {
        nested { $0.append(.element, choice: Place.at.rawValue, operands: 1, number: Int64(index)) }
    }
    /// The value of a key of the dictionary that it is, in the same way.
    public subscript(_ key: String) -> Query<AnyValue> { nested { $0.append(key: .string(key)) } }
    /// Each element of the list or dictionary that it is: a comparison asks whether there is one.
    public var any: Query<AnyValue> { anyElement() }

    private func nested(_ body: (inout QueryNodes) -> Void) -> Query<AnyValue> {
        var nodes = nodes
        body(&nodes)
        return Query(nodes, scope)
    }
}

extension Query where Value: _QueriedCollection, Value._QueriedElement == AnyValue {
    /// Each element: a comparison asks whether there is one. Its own elements are reached from there.
    public var any: Query<AnyValue> { anyElement() }
}

extension Query {
    fileprivate func anyElement() -> Query<AnyValue> {
        var nodes = nodes, scope = scope
        nodes.append(.element, choice: Place.every.rawValue, operands: 1)
        scope.isMany = true
        scope.isSpread = true
        return Query<AnyValue>(nodes, scope)
    }
}

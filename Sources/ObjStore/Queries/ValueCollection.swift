internal import ObjStoreCore

/// What is no object, and no link to one: what a list, set or map of plain values holds.
public protocol PlainElement: CollectionElement {}
extension AnyValue: PlainElement {}
extension Optional: PlainElement where Wrapped: PlainElement & _SingleElement {}

/// A list, set or map of plain values: its elements can be filtered, sorted and cut, as objects can.
///
/// ```swift
/// let large = try dog.rooms.where { $0 > 12 }.sorted(ascending: false).limit(3)
/// ```
/// What comes of it is in the order of the collection until it is sorted: of a set ascending, of a map by its keys.
///
/// Errors of all: `.wrongView`: an unmanaged object's; `.noSuchObject`: the owner was deleted; those of
/// ``ValueResults``.
public protocol ValueCollection {
    associatedtype QueriedElement: PlainElement
    associatedtype QueriedKey
    /// All its elements as results: for what cannot be asked here, such as sums.
    func results() throws(ObjStoreError) -> ValueResults<QueriedElement, QueriedKey>
}

extension List: ValueCollection where Element: PlainElement {
    public func results() throws(ObjStoreError) -> ValueResults<Element, Never> {
        try CollectionPlace.values(of: place)
    }
}
extension MutableSet: ValueCollection where Element: PlainElement {
    public func results() throws(ObjStoreError) -> ValueResults<Element, Never> {
        try CollectionPlace.values(of: place)
    }
}
extension Map: ValueCollection where Value: PlainElement {
    public func results() throws(ObjStoreError) -> ValueResults<Value, Key> { try CollectionPlace.values(of: place) }
}

extension ValueCollection {
    /// Those for which a condition is true, which is given the element; see ``Results/where(_:)``.
    public func `where`(
        _ condition: (Query<QueriedElement>) -> Query<Bool>
    ) throws(ObjStoreError) -> ValueResults<QueriedElement, QueriedKey> { try results().where(condition) }

    /// The same as text, in which `@self` is the element, and steps behind it; see ``Results/filter(_:_:)``.
    @_disfavoredOverload
    public func filter(
        _ text: String, _ arguments: Any?...
    ) throws(ObjStoreError) -> ValueResults<QueriedElement, QueriedKey> {
        try results().filter(text, arguments: arguments)
    }

    /// In their order: nil first, texts by code point, with `.caseInsensitive` without regard to upper and lower case.
    public func sorted(
        ascending: Bool, options: StringOptions = []
    ) throws(ObjStoreError) -> ValueResults<QueriedElement, QueriedKey> {
        try results().sorted(ascending: ascending, options: options)
    }

    /// Of equal ones the first.
    public func distinct() throws(ObjStoreError) -> ValueResults<QueriedElement, QueriedKey> {
        try results().distinct()
    }

    /// So many at most.
    public func limit(_ count: Int) throws(ObjStoreError) -> ValueResults<QueriedElement, QueriedKey> {
        try results().limit(count)
    }

    /// Without the first ones.
    public func offset(_ count: Int) throws(ObjStoreError) -> ValueResults<QueriedElement, QueriedKey> {
        try results().offset(count)
    }
}

extension CollectionPlace {
    /// - Parameter place: nil: of an unmanaged object.
    fileprivate static func values<Element, Key>(
        of place: CollectionPlace?
    ) throws(ObjStoreError) -> ValueResults<Element, Key> {
        guard let place else {
            throw ObjStoreError(
                .wrongView, "a collection of an unmanaged object is in no store: only what is there can be asked")
        }
        let query = try core { () throws(StoreError) in try place.binding.space.current.valueQuery(place.id) }
        return ValueResults(place, .query(query))
    }
}

// MARK: Narrowing

// As those of `Results`: what is wrong with a `filter` is thrown, of the others reported where the results are used.
extension ValueResults {
    /// Those for which a condition is true: `.where { $0 > 3 && $0 != 5 }`. See ``Query``.
    public func `where`(_ condition: (Query<Element>) -> Query<Bool>) -> ValueResults {
        then { (view, id) throws(ObjStoreError) in
            let made = condition(Query(.object, QueryScope(space: space, model: -1)))
            guard made.scope.space.handle === space.handle else {
                throw ObjStoreError(.wrongStore, "the condition was made of objects of another store")
            }
            var nodes = made.nodes
            nodes.makeCondition()
            return try nodes.valueQuery(view, id)
        }
    }

    /// The same as text, and steps behind it: `.filter("@self > $0 SORT(@self DESC) LIMIT(3)", 2)`.
    ///
    /// Errors: as of ``Results/filter(_:_:)``.
    @_disfavoredOverload
    public func filter(_ text: String, _ arguments: Any?...) throws(ObjStoreError) -> ValueResults {
        try filter(text, arguments: arguments)
    }

    func filter(_ text: String, arguments: [Any?]) throws(ObjStoreError) -> ValueResults {
        let found = then { (view, id) throws(ObjStoreError) in
            try QueryNodes(arguments: arguments).withArguments { (arguments) throws(StoreError) in
                try view.valueQuery(id, parsing: text, arguments: arguments)
            }
        }
        if case .failed(let error) = found.question { throw error }
        return found
    }

    /// In the order of the values: nil first, texts by code point, with `.caseInsensitive` without regard to upper and
    /// lower case.
    public func sorted(ascending: Bool, options: StringOptions = []) -> ValueResults {
        then { (view, id) throws(ObjStoreError) in
            try QueryNodes.sort(by: .object, ascending: ascending, options).valueQuery(view, id)
        }
    }

    /// Of equal ones the first.
    public func distinct() -> ValueResults {
        then { (view, id) throws(ObjStoreError) in try QueryNodes.distinct(by: .object).valueQuery(view, id) }
    }

    /// So many at most.
    public func limit(_ count: Int) -> ValueResults {
        then { (view, id) throws(ObjStoreError) in try QueryNodes.limit(count).valueQuery(view, id) }
    }

    /// Without the first ones.
    public func offset(_ count: Int) -> ValueResults {
        then { (view, id) throws(ObjStoreError) in try QueryNodes.offset(count).valueQuery(view, id) }
    }

    /// What a question finds among these.
    private func then(_ question: (View, CollectionID) throws(ObjStoreError) -> ValueQuery) -> ValueResults {
        guard case .query(let query) = self.question else { return self }
        do throws(ObjStoreError) {
            let other = try question(space.current, place.id)
            return ValueResults(place, .query(try core { () throws(StoreError) in try query.then(other) }))
        } catch { return ValueResults(place, .failed(error)) }
    }
}

extension QueryNodes {
    /// The question to the elements of a collection.
    fileprivate func valueQuery(_ view: View, _ id: CollectionID) throws(ObjStoreError) -> ValueQuery {
        do throws(ObjStoreError) {
            return try withNodes { (nodes) throws(StoreError) in
                guard !nodes.contains(where: \.isInside) else {
                    throw StoreError(.notSupported, "links(to:) is a question to objects: ask elements by ==")
                }
                return try view.valueQuery(id, nodes)
            }
        } catch {
            // The position is that of a node, which nobody sees.
            throw ObjStoreError(error.code, error.message, class: error.className, property: error.propertyName)
        }
    }
}

// MARK: Numbers

/// Over all results; nil and NaN are skipped.
///
/// Errors: `.outOfRange` (the sum does not fit), those of ``ValueResults/validate()``.
extension ValueResults where Element: Summable {
    /// Of nothing it is 0.
    public func sum() throws(ObjStoreError) -> Element { try aggregate(.sum) ?? Element._initial }
    public func average() throws(ObjStoreError) -> Double? { try aggregate(.average) }
}
extension ValueResults where Element: Aggregatable {
    /// Nil of nothing.
    public func min() throws(ObjStoreError) -> Element? { try aggregate(.minimum) }
    public func max() throws(ObjStoreError) -> Element? { try aggregate(.maximum) }
}
extension ValueResults {
    public func sum<Value: Summable>() throws(ObjStoreError) -> Value where Element == Value? {
        try aggregate(.sum) ?? Value._initial
    }
    public func average<Value: Summable>() throws(ObjStoreError) -> Double? where Element == Value? {
        try aggregate(.average)
    }
    public func min<Value: Aggregatable>() throws(ObjStoreError) -> Value? where Element == Value? {
        try aggregate(.minimum)
    }
    public func max<Value: Aggregatable>() throws(ObjStoreError) -> Value? where Element == Value? {
        try aggregate(.maximum)
    }

    private func aggregate<Value: Aggregatable>(_ kind: AggregateKind) throws(ObjStoreError) -> Value? {
        guard let value = _QueryValue(aggregate: try aggregated(kind).1) else { return nil }
        guard let converted = Value._aggregate(value) else {
            throw ObjStoreError(
                .outOfRange,
                "the \(kind) of \(place.binding.path(place.index)) is \(value.plainText), which is no \(Value.self)",
                class: place.binding.info.name)
        }
        return converted
    }

    /// With what has its bytes.
    private func aggregated(_ kind: AggregateKind) throws(ObjStoreError) -> (FoundValues, Value) {
        let found = try found()
        guard case .query(let query) = question else { return (found, .null) }
        return (found, try core { () throws(StoreError) in try query.aggregate(kind, of: found) })
    }
}

/// Of values of any type: what is no number counts in extremes only, in the order of such values.
extension ValueResults where Element == AnyValue {
    /// A decimal; of nothing it is 0.
    public func sum() throws(ObjStoreError) -> AnyValue { try anyAggregate(.sum) }
    /// `.none` of nothing.
    public func average() throws(ObjStoreError) -> AnyValue { try anyAggregate(.average) }
    public func min() throws(ObjStoreError) -> AnyValue { try anyAggregate(.minimum) }
    public func max() throws(ObjStoreError) -> AnyValue { try anyAggregate(.maximum) }

    private func anyAggregate(_ kind: AggregateKind) throws(ObjStoreError) -> AnyValue {
        let (found, value) = try aggregated(kind)
        return try withExtendedLifetime(found) { () throws(ObjStoreError) in
            try core { () throws(StoreError) in try AnyValue(copying: value, space) }
        }
    }
}

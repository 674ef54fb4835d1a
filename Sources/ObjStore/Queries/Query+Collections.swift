internal import ObjStoreCore

/// Lists, sets, maps and inverses, in a `where`.
public protocol _QueriedCollection {
    associatedtype _QueriedElement
}
extension List: _QueriedCollection { public typealias _QueriedElement = Element }
extension MutableSet: _QueriedCollection { public typealias _QueriedElement = Element }
extension Map: _QueriedCollection { public typealias _QueriedElement = Value }
extension LinkingObjects: _QueriedCollection { public typealias _QueriedElement = Element }

// Where the value is an object, its own properties may have these names: so these are of the types that are none.
extension Query where Value: _QueriedCollection {
    /// Is there an element, or a value of a map, that equals it?
    public func contains(_ element: Value._QueriedElement) -> Query<Bool> where Value._QueriedElement: QueryOperand {
        anyEquals(element)
    }

    /// How many elements there are.
    public var count: Query<Int> { combined { $0.append(.count, operands: 1) } }
}

extension Query {
    /// The value of a key of a map; null where it does not have the key.
    public subscript<Element: CollectionElement>(_ key: String) -> Query<Element> where Value == Map<String, Element> {
        combined { $0.append(.key, name: key) }
    }
}

/// What may have links.
public protocol _LinkingOperand {
    static var _isQuantified: Bool { get }
}
extension Optional: _LinkingOperand where Wrapped: Object { public static var _isQuantified: Bool { false } }
extension AnyValue: _LinkingOperand {}
extension List: _LinkingOperand {}
extension MutableSet: _LinkingOperand {}
extension Map: _LinkingOperand {}
extension _LinkingOperand { public static var _isQuantified: Bool { true } }

extension Query where Value: _LinkingOperand {
    /// Objects that have a link to the object, as the value, as an element, or anywhere inside of a value of any type:
    /// the inverse of a property that declares none, `store.objects(Shelter.self).where { $0.dogs.links(to: rex) }`. A
    /// collection that has no links: `.wrongType`.
    public func links(to object: Object) -> Query<Bool> {
        Value._isQuantified ? anyEquals(object) : compared(.equal, object)
    }
}

extension Query {
    fileprivate func anyEquals(_ value: some QueryOperand) -> Query<Bool> {
        combined { nodes in
            nodes.append(.quantified, choice: Quantifier.any.rawValue, operands: 1)
            nodes.append(constant: value._queryValue)
            nodes.append(.equal)
        }
    }
}

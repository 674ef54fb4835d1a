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

/// Where links may be.
public protocol _LinkHolder {
    static var _links: _LinkPlace { get }
}
public enum _LinkPlace: Sendable { case value, elements, inside }
extension Optional: _LinkHolder where Wrapped: Object { public static var _links: _LinkPlace { .value } }
extension AnyValue: _LinkHolder { public static var _links: _LinkPlace { .inside } }
extension List: _LinkHolder {}
extension MutableSet: _LinkHolder {}
extension Map: _LinkHolder {}
extension _LinkHolder where Self: _QueriedCollection {
    public static var _links: _LinkPlace { _QueriedElement.self == AnyValue.self ? .inside : .elements }
}

extension Query where Value: _LinkHolder {
    /// Objects that have a link to the object, as the value, as an element, or anywhere inside of a value of any type:
    /// the inverse of a property that declares none, `store.objects(Shelter.self).where { $0.dogs.links(to: rex) }`. A
    /// collection that has no links: `.wrongType`. Of values of any type it is a whole condition: what else is asked
    /// has a `where` of its own.
    public func links(to object: Object) -> Query<Bool> {
        switch Value._links {
        case .value: compared(.equal, object)
        case .elements: anyEquals(object)
        case .inside: combined { $0.appendInside(object._queryValue) }
        }
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

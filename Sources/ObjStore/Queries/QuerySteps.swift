internal import ObjStoreCore

/// What objects are sorted by, and in which direction: `dogs.sorted(by: [SortKey(\.age, ascending: false)])`.
///
/// Nil comes first, ascending; texts are sorted by code point, with `.caseInsensitive` without regard to upper and
/// lower case.
public struct SortKey<Element>: Sendable {
    let property: QueriedProperty
    let isAscending: Bool
    let options: StringOptions

    public init<Value: Persistable>(
        _ keyPath: KeyPath<Element, Value>, ascending: Bool = true, options: StringOptions = []
    ) where Element: Object {
        self.init(QueriedProperty(keyPath), ascending, options)
    }

    /// By name; of an object that a link leads to `"owner.name"`.
    public init(_ name: String, ascending: Bool = true, options: StringOptions = []) {
        self.init(.name(name), ascending, options)
    }

    init(_ property: QueriedProperty, _ isAscending: Bool, _ options: StringOptions = []) {
        self.property = property
        self.isAscending = isAscending
        self.options = options
    }
}

/// A property that a step is about.
enum QueriedProperty: Sendable {
    /// By indexes in the classes: of the object, then of what that links to.
    case path([UInt32])
    case name(String)
    case failed(ObjStoreError)

    init<Root: Object>(_ keyPath: PartialKeyPath<Root>) {
        do throws(ObjStoreError) { self = .path(try KeyPaths.path(keyPath)) } catch { self = .failed(error) }
    }
}

extension SortKey where Element: Object {
    // For other modules of the package.
    package static func name(of keyPath: PartialKeyPath<Element>) throws(ObjStoreError) -> String {
        try KeyPaths.name(keyPath)
    }
}

extension QueryNodes {
    /// Sorts by the first key, where that is equal by the second, and so on.
    static func sort(by keys: some Sequence<SortKey<some Any>>, _ binding: ClassBinding?) -> QueryNodes {
        step { nodes in
            var count = 0
            for key in keys {
                nodes.append(key.property, binding)
                nodes.append(
                    .sortKey, choice: key.isAscending ? 0 : 1, modifiers: key.options.modifiers, operands: 1)
                count += 1
            }
            nodes.append(.sort, operands: count)
        }
    }

    /// Sorts by a value.
    static func sort(by value: QueryNodes, ascending: Bool, _ options: StringOptions = []) -> QueryNodes {
        step { nodes in
            nodes.append(value)
            nodes.append(.sortKey, choice: ascending ? 0 : 1, modifiers: options.modifiers, operands: 1)
            nodes.append(.sort, operands: 1)
        }
    }

    /// The first of those that have the same in all properties.
    static func distinct(by properties: some Sequence<QueriedProperty>, _ binding: ClassBinding?) -> QueryNodes {
        step { nodes in
            var count = 0
            for property in properties {
                nodes.append(property, binding)
                count += 1
            }
            nodes.append(.distinct, operands: count)
        }
    }

    /// The first of those that have the same value.
    static func distinct(by value: QueryNodes) -> QueryNodes {
        step { nodes in
            nodes.append(value)
            nodes.append(.distinct, operands: 1)
        }
    }

    static func limit(_ count: Int) -> QueryNodes { step { $0.append(.limit, number: Int64(count)) } }
    static func offset(_ count: Int) -> QueryNodes { step { $0.append(.offset, number: Int64(count)) } }

    /// A value of the object alone.
    static func value(of property: QueriedProperty, _ binding: ClassBinding?) -> QueryNodes {
        var nodes = QueryNodes()
        nodes.append(property, binding)
        return nodes
    }

    /// A query of all objects, with one step.
    private static func step(_ body: (inout QueryNodes) -> Void) -> QueryNodes {
        var nodes = QueryNodes()
        nodes.append(.truth, number: 1)
        body(&nodes)
        nodes.append(.query, operands: 2)
        return nodes
    }

    private mutating func append(_ property: QueriedProperty, _ binding: ClassBinding?) {
        append(.variable)
        switch property {
        case .path(let path):
            var binding = binding
            for index in path {
                guard let of = binding, index < of.info.properties.count else {
                    return fail(ObjStoreError(.invalidQuery, "objects are not sorted by an inverse"))
                }
                append(.property, operands: 1, number: Int64(of.properties[Int(index)]))
                let target = of.target(of: Int(index))
                binding = target < 0 ? nil : of.space.bindings[target]
            }
        case .name(let path): for name in path.split(separator: ".") { append(.property, name: String(name)) }
        case .failed(let error): fail(error)
        }
    }
}

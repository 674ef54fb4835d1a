internal import ObjStoreCore

/// Nested values of Swift on their way to the core, which takes them as one flat array (`View.create(_:from:_:)`).
///
/// ```
/// ["name": "Jane", "dogs": [rex, ["Buster", 5]]]
///  →  map 2 · "name" · "Jane" · "dogs" · list 2 · link · map 2 · "name" · "Buster" · "age" · 5
/// ```
/// Types say what a value must be, so that enums, integers of few bits and texts of ids are checked here; everything
/// else is the core's.
///
/// Objects of the same store become links, all others are described by their properties: what is created is a copy. In
/// a graph that is being added, embedded objects alone are described, and the others are there already.
final class ValueFlattener {
    let space: ObjectSpace
    let view: View
    let update: UpdatePolicy
    /// How the outermost object is known; nil: by its primary key.
    private let identity: ClassBinding.Identity?
    private let isExact: Bool
    /// Names in dictionaries that are no properties.
    private let ignoresUnknown: Bool
    let isGraph: Bool
    var encoder = _RowEncoder()
    /// Unmanaged embedded objects of a graph, by where their description begins.
    private var embedded: [Int: Object] = [:]
    var path: [String] = []
    /// Objects whose descriptions have begun: what leads back to one of them has no end.
    private var open: [Object] = []

    // Of objects in values of any type, which are made before what links to them.
    var made: [ObjectCopier.Identity: ObjectID] = [:]
    /// The same by instances, which `kept` keeps.
    var created: [ObjectIdentifier: ObjectID] = [:]
    var kept: [Object] = []
    /// Before the first of them.
    var savepoint: UInt64?

    init(
        _ space: ObjectSpace, _ view: View, _ update: UpdatePolicy, by identity: ClassBinding.Identity?, isExact: Bool,
        ignoresUnknown: Bool
    ) {
        self.space = space
        self.view = view
        self.update = update
        self.identity = identity
        self.isExact = isExact
        self.ignoresUnknown = ignoresUnknown
        isGraph = false
    }

    /// For embedded objects of a graph.
    ///
    /// - Parameter created: its other unmanaged objects.
    init(_ space: ObjectSpace, _ view: View, created: [ObjectIdentifier: ObjectID]) {
        self.space = space
        self.view = view
        update = .error
        identity = nil
        isExact = false
        ignoresUnknown = false
        isGraph = true
        self.created = created
        encoder.created = created
    }

    // MARK: Objects

    /// Describes an object: a dictionary, an array, an object of any kind.
    func object(_ binding: ClassBinding, _ value: Any) throws(ObjStoreError) {
        let info = binding.info, source = instance(value, of: Object.self)
        guard path.count < ClassInfo.deepest else { throw located(info.tooDeep()) }
        if let source {
            guard !open.contains(where: { $0.isSameObject(as: source) }) else {
                throw located(
                    ObjStoreError(
                        .invalidArgument,
                        """
                        a cyclic graph: the \(info.name) leads back to itself, and a copy of it would have no end; \
                        add objects with add
                        """,
                        class: info.name))
            }
            open.append(source)
            if isGraph, source._binding == nil { embedded[encoder.count] = source }
        }
        var pairs: [GivenValue]
        do throws(ObjStoreError) { pairs = try info.pairs(value, exact: isExact, ignoresUnknown: ignoresUnknown) } catch
        { throw located(error) }
        pairs += try binding.changingDefaults(pairs, update, by: path.isEmpty ? identity : nil, view)
        encoder.append(Value(kind: .map, low: Int64(pairs.count)))
        for (property, value) in pairs {
            encoder.append(property.name)
            try self.property(info, property, value)
        }
        if source != nil { open.removeLast() }
    }

    // MARK: Properties

    /// Describes what a property gets.
    func property(_ info: ClassInfo, _ property: ClassInfo.Property, _ value: Any?) throws(ObjStoreError) {
        path.append(".\(property.name)")
        if property.type.isCollection {
            try collection(info, property, value)
        } else if property.type.linked != nil {
            try link(info, property, value)
        } else if property.type.valueKind == .mixed {
            try mixed(info, property, value)
        } else {
            guard property.accessor._encodeAny(value, encoder) else { throw located(info.wrongType(property, value)) }
        }
        path.removeLast()
    }

    private func link(_ info: ClassInfo, _ property: ClassInfo.Property, _ value: Any?) throws(ObjStoreError) {
        guard let linked = property.type.linked, let value = value.flatMap({ ClassInfo.unwrap($0) }) else {
            return encoder.append(.null)
        }
        guard let object = instance(value, of: Object.self) else {
            return try self.object(try space.binding(linked), value)
        }
        guard type(of: object) == linked else { throw located(info.wrongType(property, value)) }
        // What may be linked to, the core says.
        let isLink =
            isGraph
            ? !property.embeds || object._binding != nil
            : !property.embeds && object._space?.handle.sharesStore(with: space.handle) == true
        if isLink { return encoder.append(object) }
        if object.isManaged, object.isInvalidated {
            throw located(
                ObjStoreError(
                    .noSuchObject, "the \(ClassInfo.name(of: linked)) was deleted", class: info.name,
                    property: property.name))
        }
        try self.object(try space.binding(linked), object)
    }

    private func collection(_ info: ClassInfo, _ property: ClassInfo.Property, _ value: Any?) throws(ObjStoreError) {
        guard let type = property.accessor as? any _CollectionProperty.Type else {
            throw located(info.wrongType(property, value))
        }
        if property.type.valueKind == .map {
            guard let entries = value.flatMap({ type._entries(of: $0) }) else {
                throw located(info.wrongType(property, value))
            }
            encoder.append(Value(kind: .map, low: Int64(entries.count)))
            for entry in entries {
                guard type._encodeKey(entry.key, encoder) else {
                    throw located(info.wrongKey(property, entry.key.base))
                }
                try element(info, property, type, entry.value, ".\(entry.key)")
            }
        } else {
            guard let elements = value.flatMap({ ClassInfo.elements(of: $0) }) else {
                throw located(info.wrongType(property, value))
            }
            encoder.append(Value(kind: .list, low: Int64(elements.count)))
            for (number, value) in elements.enumerated() { try element(info, property, type, value, "[\(number)]") }
        }
    }

    private func element(
        _ info: ClassInfo, _ property: ClassInfo.Property, _ type: any _CollectionProperty.Type, _ value: Any?,
        _ step: String
    ) throws(ObjStoreError) {
        path.append(step)
        if property.type.linked != nil {
            try link(info, property, value)
        } else if property.type.hasMixedElements {
            try mixed(info, property, value)
        } else {
            guard type._encodeElement(any: value, encoder) else { throw located(info.wrongElement(property, value)) }
        }
        path.removeLast()
    }

    // MARK: Into the store

    /// Whether it is null, or a collection without elements.
    var isNothing: Bool { encoder.isNothing }

    /// Calls `body` with the array, and what is to be reported of embedded objects; they are managed when the whole
    /// graph is.
    func store<T>(
        _ managed: inout [ObjectGraph.Stored],
        _ body: (UnsafeBufferPointer<Value>, @escaping (Int, ObjectID) -> Void) throws(StoreError) -> T
    ) throws(ObjStoreError) -> T {
        let told = Told()
        let result = try encoder.withValues { (values) throws(StoreError) in try body(values) { told.ids[$0] = $1 } }
        for (index, object) in embedded {
            guard let id = told.ids[index] else {
                throw ObjStoreError(.internalError, "an embedded object of a graph was not added")
            }
            managed.append(
                ObjectGraph.Stored(object: object, binding: try space.binding(type(of: object)), key: id.key))
        }
        return result
    }

    private final class Told {
        var ids: [Int: ObjectID] = [:]
    }

    /// The same where no objects become managed.
    func store<T>(_ body: (UnsafeBufferPointer<Value>) throws(StoreError) -> T) throws(ObjStoreError) -> T {
        try encoder.withValues(body)
    }

    func located(_ error: ObjStoreError) -> ObjStoreError {
        if path.isEmpty { return error }
        return ObjStoreError(
            error.code, "$\(path.joined()): \(error.message)", class: error.className, property: error.propertyName)
    }
}

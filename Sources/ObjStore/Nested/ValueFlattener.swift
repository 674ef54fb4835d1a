internal import ObjStoreCore

/// Nested values of Swift on their way to the core, which takes them as one flat array (`View.create(graph:_:_:…)`).
///
/// ```
/// ["name": "Jane", "dogs": [rex, ["Buster", 5]]]
///  →  map 2 · "name" · "Jane" · "dogs" · list 2 · link · map 2 · "name" · "Buster" · "age" · 5
/// ```
/// Types say what a value must be, so that enums, integers of few bits and texts of ids are checked here; everything
/// else is the core's.
///
/// Objects of the same store become links, all others are described by their properties: what is created is a copy. In
/// values of any type, where a map is a value, they are nodes of their own.
final class ValueFlattener {
    private let space: ObjectSpace
    private let view: View
    private let update: UpdatePolicy
    /// How the outermost object is known; nil: by its primary key.
    private let identity: ClassBinding.Identity?
    private let isExact: Bool
    /// Names in dictionaries that are no properties.
    private let ignoresUnknown: Bool
    private var encoder = _RowEncoder()
    private var path: [String] = []
    /// Objects whose descriptions have begun: what leads back to one of them has no end.
    private var open: [Object] = []

    /// Objects in values of any type, which are nodes behind that of the outermost one; and how they are reached.
    private var nodes: [(classID: UInt32, encoder: _RowEncoder, path: String)] = []
    private var numbers: [ObjectCopier.Identity: Int] = [:]
    /// Keeps those of which `links` has the instances.
    private var kept: [Object] = []
    private var links: [ObjectIdentifier: Value] = [:]

    init(
        _ space: ObjectSpace, _ view: View, _ update: UpdatePolicy, by identity: ClassBinding.Identity? = nil,
        isExact: Bool = false, ignoresUnknown: Bool = false
    ) {
        self.space = space
        self.view = view
        self.update = update
        self.identity = identity
        self.isExact = isExact
        self.ignoresUnknown = ignoresUnknown
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
        if !property.embeds, object._space?.handle.sharesStore(with: space.handle) == true {
            return encoder.append(object)
        }
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

    // MARK: Values of any type

    private func mixed(_ info: ClassInfo, _ property: ClassInfo.Property, _ given: Any?) throws(ObjStoreError) {
        // Copied, so that its objects are the same instances each time.
        guard let value = AnyValue._convert(given)?.detached() else { throw located(info.wrongType(property, given)) }
        for object in value.objects { try number(object) }
        encoder.links = links
        AnyValue._encode(value, encoder)
        encoder.links = [:]
        if let refusal = encoder.refusal { throw located(refusal) }
    }

    /// Describes an object that is not of this store as a node; each once.
    private func number(_ object: Object) throws(ObjStoreError) {
        if object is EmbeddedObject { throw located(ObjStoreError(AnyValue.embedded(object))) }
        if object._space?.handle.sharesStore(with: space.handle) == true { return }
        let identity = ObjectCopier.Identity(object), binding = try space.binding(type(of: object))
        if numbers[identity] == nil {
            let outer = encoder
            encoder = _RowEncoder()
            defer { encoder = outer }
            try self.object(binding, object)
            nodes.append((binding.classID, encoder, path.joined()))
            numbers[identity] = nodes.count
        }
        links[ObjectIdentifier(object)] = numbers[identity].map { .node($0) }
        kept.append(object)
    }

    // MARK: Into the store

    /// Makes what was described; the object that the target is.
    @discardableResult
    func store(_ target: GraphNode.Target) throws(ObjStoreError) -> ObjectID {
        for node in nodes { encoder.append(contentsOf: node.encoder) }
        let graph =
            [GraphNode(target, isRoot: true, isDescribed: true)]
            + nodes.map { GraphNode(.object(classID: $0.classID), isDescribed: true) }
        do throws(ObjStoreError) {
            return try encoder.withValues { (values) throws(StoreError) in
                try view.create(graph: graph, values, update.core, isKept: true)[0].object
            }
        } catch {
            // The core says where in which node.
            let path = error.position.map { $0 > 0 ? nodes[$0 - 1].path : "" } ?? ""
            let message =
                error.message.hasPrefix("$")
                ? "$\(path)\(error.message.dropFirst())" : path.isEmpty ? error.message : "$\(path): \(error.message)"
            throw ObjStoreError(error.code, message, class: error.className, property: error.propertyName)
        }
    }

    private func located(_ error: ObjStoreError) -> ObjStoreError {
        if path.isEmpty { return error }
        return ObjStoreError(
            error.code, "$\(path.joined()): \(error.message)", class: error.className, property: error.propertyName)
    }
}

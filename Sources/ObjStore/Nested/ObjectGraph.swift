internal import ObjStoreCore

/// Unmanaged objects on their way into a store, with all that they lead to: each is a node of one call of the core,
/// which knows in what order they are made.
///
/// ```
///  add(jane)      0: Person ["Jane", [→1, →2], ["Rome"]]     1: Dog ["Rex", →0]     2: Dog ["Ben", nil]
///                                             └ an embedded object is described in its parent
/// ```
/// Without recursion but for embedded objects, for a chain may be long.
final class ObjectGraph {
    private let space: ObjectSpace
    private let view: View
    private let update: UpdatePolicy
    private let encoder = _RowEncoder()
    /// Those that are no unmanaged objects come first.
    private var nodes: [GraphNode] = []
    private let firstObject: Int
    private var objects: [(object: Object, binding: ClassBinding)] = []
    /// And where their descriptions begin.
    private var embedded: [(index: Int, object: Object, binding: ClassBinding)] = []
    /// Embedded objects inside each other.
    private var depth = 0

    /// - Parameter first: how many nodes there are besides objects.
    private init(_ space: ObjectSpace, _ view: View, _ update: UpdatePolicy, after first: Int = 0) {
        self.space = space
        self.view = view
        self.update = update
        firstObject = first
        encoder.graph = self
    }

    // MARK: Calls

    static func add(_ root: Object, _ space: ObjectSpace, _ view: View, _ update: UpdatePolicy) throws(ObjStoreError) {
        let graph = ObjectGraph(space, view, update)
        _ = try graph.link(to: root)
        try graph.store()
    }

    /// Adds objects, then calls `body`, which gets links to them: all of it, or nothing.
    static func adding<T>(
        _ objects: [Object], _ space: ObjectSpace, _ view: View,
        _ body: (_ links: [ObjectIdentifier: Value]) throws(StoreError) -> T
    ) throws(StoreError) -> T {
        if objects.isEmpty { return try body([:]) }
        var result: T?
        do throws(ObjStoreError) {
            let graph = ObjectGraph(space, view, .error)
            for object in objects { _ = try graph.link(to: object) }
            try graph.store(wantsSavepoint: true) { (links) throws(StoreError) in result = try body(links) }
        } catch {
            throw error.ofCore
        }
        return result.unsafelyUnwrapped
    }

    /// Makes unmanaged embedded objects in a property of a stored object, each at its place as `View.createEmbedded`
    /// takes it.
    static func embed(
        _ objects: [(object: Object, place: Value)], in owner: ObjectID, _ binding: ClassBinding,
        _ property: ClassInfo.Property, _ view: View
    ) throws(ObjStoreError) {
        let graph = ObjectGraph(binding.space, view, .error, after: objects.count)
        for (object, place) in objects {
            graph.nodes.append(GraphNode(.element(owner, binding.properties[Int(property.index)])))
            if place.kind.isText {
                graph.encoder.append(UnsafeRawBufferPointer(start: place.pointer, count: place.count), place.kind)
            } else {
                graph.encoder.append(place)
            }
            graph.append(object)
        }
        try graph.store()
    }

    /// Gives a property of a stored object the elements of a collection of embedded objects instead of its own.
    static func embed(
        _ collection: any _CollectionProperty, in owner: ObjectID, _ binding: ClassBinding,
        _ property: ClassInfo.Property, _ view: View
    ) throws(ObjStoreError) {
        let graph = ObjectGraph(binding.space, view, .error, after: 1)
        graph.nodes.append(GraphNode(.property(owner, binding.properties[Int(property.index)])))
        collection._encode(to: graph.encoder)
        try graph.store()
    }

    // MARK: Describing

    /// A link to an unmanaged object, which becomes a node where it is none yet.
    func link(to object: Object) throws(ObjStoreError) -> Value {
        if let link = encoder.links[ObjectIdentifier(object)] { return link }
        let binding = try space.binding(type(of: object)), link = Value.node(firstObject + objects.count)
        encoder.links[ObjectIdentifier(object)] = link
        objects.append((object, binding))
        return link
    }

    /// What a link to an unmanaged object is in a description: where it is embedded, all of it.
    func append(_ object: Object) {
        do throws(ObjStoreError) {
            guard object is EmbeddedObject else { return encoder.append(try link(to: object)) }
            let binding = try space.binding(type(of: object))
            guard encoder.links.updateValue(.null, forKey: ObjectIdentifier(object)) == nil else {
                throw ObjStoreError(
                    .embedded,
                    """
                    objects of class \(binding.info.name) are embedded: one has one parent, and this one has two places
                    """, class: binding.info.name)
            }
            guard depth < ClassInfo.deepest else { throw binding.info.tooDeep() }
            depth += 1
            embedded.append((encoder.count, object, binding))
            try describe(object, binding)
            depth -= 1
        } catch {
            encoder.refuse(error)
        }
    }

    private func describe(_ object: Object, _ binding: ClassBinding) throws(ObjStoreError) {
        encoder.append(Value(kind: .list, low: Int64(binding.info.properties.count)))
        for property in binding.info.properties {
            if property.isGenerated && property.isNothing(object) {
                encoder.append(.notGiven)
                continue
            }
            property.accessor._encode(object, property.offset, encoder)
            guard let refusal = encoder.refusal else { continue }
            throw refusal.className == nil
                ? binding.named(refusal, binding.properties[Int(property.index)]) : refusal
        }
    }

    /// Makes all of it, then calls `last` with links to the objects: all, or nothing. They are managed afterwards.
    ///
    /// - Parameter wantsSavepoint: `last` does something.
    private func store(
        wantsSavepoint: Bool = false, _ last: (_ links: [ObjectIdentifier: Value]) throws(StoreError) -> Void = { _ in }
    ) throws(ObjStoreError) {
        var next = 0
        while next < objects.count {
            let (object, binding) = objects[next]
            nodes.append(GraphNode(.object(classID: binding.classID), isRoot: nodes.isEmpty))
            try describe(object, binding)
            next += 1
        }
        var made: [GraphNode.Made] = [], keys: [Int: Int64] = [:]
        do throws(ObjStoreError) {
            try encoder.withValues { (values) throws(StoreError) in
                func make() throws(StoreError) {
                    made = try view.create(graph: nodes, values, update.core, isKept: true) { keys[$0] = $1.key }
                }
                if !wantsSavepoint { return try make() }
                try view.atOnce { () throws(StoreError) in
                    try make()
                    var links: [ObjectIdentifier: Value] = [:]
                    for ((object, _), made) in zip(objects, made[firstObject...]) {
                        links[ObjectIdentifier(object)] = .link(made.object)
                    }
                    try last(links)
                }
            }
        } catch {
            // Which node it was is nobody's business.
            throw ObjStoreError(error.code, error.message, class: error.className, property: error.propertyName)
        }
        for ((object, binding), made) in zip(objects, made[firstObject...]) {
            space.adopt(object, binding, made.object.key)
        }
        for (index, object, binding) in embedded { space.adopt(object, binding, keys[index].unsafelyUnwrapped) }
    }
}

internal import ObjStoreCore

/// Unmanaged objects that lead to each other by links, also in values of any type, on their way into a store: each
/// once, all or none.
///
/// ```
///  a ──► b ──► c          added in the order c, b, a: what a link leads to is there before the link,
///  ▲           │          but for one link of each circle (c ──► a), which is set at the end
///  └───────────┘
/// ```
/// Collections of links get their elements when all objects are there, and embedded objects their place at last.
struct ObjectGraph {
    let space: ObjectSpace
    let view: View
    let update: UpdatePolicy

    init(_ space: ObjectSpace, _ view: View, _ update: UpdatePolicy) {
        self.space = space
        self.view = view
        self.update = update
    }

    /// A link that closes a circle, or a value of any type with one.
    private struct Late {
        let object: ObjectID
        let propertyID: UInt32
        let target: AnyValue
    }

    /// A collection of links.
    private struct LateCollection {
        let object: ObjectID
        let binding: ClassBinding
        let elements: CollectionElements
        let existed: Bool
    }

    /// An object of the graph, and whose row it has become.
    struct Stored {
        let object: Object
        let binding: ClassBinding
        let key: Int64
    }

    func add(_ root: Object) throws(ObjStoreError) {
        try add([root], wantsSavepoint: false) { (_, _) throws(ObjStoreError) in }
    }

    /// Makes unmanaged embedded objects in a property of a stored object, each at its place as `View.createEmbedded`
    /// takes it.
    func embed(
        _ objects: [(object: Object, place: Value)], in owner: ObjectID, _ binding: ClassBinding,
        _ property: ClassInfo.Property
    ) throws(ObjStoreError) {
        try add(objects.map(\.object), wantsSavepoint: objects.count > 1) { (created, stored) throws(ObjStoreError) in
            for (object, place) in objects {
                let flattener = ValueFlattener(space, view, created: created)
                try flattener.object(try space.binding(type(of: object)), object)
                try flattener.store(&stored) { (values, tell) throws(StoreError) in
                    try view.createEmbedded(
                        in: owner, binding.properties[Int(property.index)], at: place, from: values, embedded: tell)
                }
            }
        }
    }

    /// Gives a property of a stored object the elements of a collection of embedded objects instead of its own.
    func embed(
        _ collection: any _CollectionProperty, in owner: ObjectID, _ binding: ClassBinding,
        _ property: ClassInfo.Property
    ) throws(ObjStoreError) {
        try add(collection._links.filter { $0._binding == nil }, wantsSavepoint: false) {
            (created, stored) throws(ObjStoreError) in
            let flattener = ValueFlattener(space, view, created: created)
            try flattener.property(binding.info, property, collection)
            try set(flattener, owner, binding, property, .all, &stored)
        }
    }

    private func set(
        _ flattener: ValueFlattener, _ owner: ObjectID, _ binding: ClassBinding, _ property: ClassInfo.Property,
        _ policy: UpdatePolicy, _ stored: inout [Stored]
    ) throws(ObjStoreError) {
        try flattener.store(&stored) { (values, tell) throws(StoreError) in
            _ = try view.set(owner, binding.properties[Int(property.index)], from: values, policy.core, embedded: tell)
        }
    }

    /// Adds objects and what they lead to but embedded ones among `roots`, which `last` gives their place.
    func add(
        _ roots: [Object], wantsSavepoint: Bool,
        _ last: (_ created: [ObjectIdentifier: ObjectID], _ stored: inout [Stored]) throws(ObjStoreError) -> Void
    ) throws(ObjStoreError) {
        let all = try order(from: roots), order = all.filter { !$0.binding.info.isEmbedded }
        let encoder = _RowEncoder()
        // The store is as before if one of them fails. A call that only creates undoes what was created, which costs
        // less; but not by deleting what deletes others.
        var savepoint: UInt64?
        let updates =
            update != .error
            && (all.count > 1
                || all.contains {
                    $0.binding.info.links.contains { $0.type.isCollection || $0.embeds }
                        || !$0.binding.info.mixed.isEmpty
                })
        if wantsSavepoint || updates || all.contains(where: \.binding.info.hasCascades) {
            savepoint = try core { () throws(StoreError) in try view.beginSavepoint() }
        }
        var ids: [ObjectID] = [], stored: [Stored] = []
        do throws(ObjStoreError) {
            var late: [Late] = [], collections: [LateCollection] = []
            for (object, binding) in order {
                let id = try put(object, binding, isRoot: object === roots[0], encoder, &late, &collections)
                ids.append(id)
                stored.append(Stored(object: object, binding: binding, key: id.key))
                encoder.created[ObjectIdentifier(object)] = id
            }
            for link in late { try set(link, encoder.created) }
            for collection in collections { try fill(collection, encoder.created) }
            for (number, (object, binding)) in order.enumerated() {
                try embed(object, binding, ids[number], encoder.created, &stored)
            }
            try last(encoder.created, &stored)
            if let savepoint { try core { () throws(StoreError) in try view.releaseSavepoint(savepoint) } }
        } catch {
            try core { () throws(StoreError) in
                if let savepoint {
                    try view.rollBack(toSavepoint: savepoint)
                } else {
                    for id in ids.reversed() { try view.delete(id) }
                }
            }
            throw error
        }
        for object in stored { space.adopt(object.object, object.binding, object.key) }
    }

    /// Gives an object that was stored its embedded objects.
    private func embed(
        _ object: Object, _ binding: ClassBinding, _ id: ObjectID, _ created: [ObjectIdentifier: ObjectID],
        _ stored: inout [Stored]
    ) throws(ObjStoreError) {
        for property in binding.info.embedding {
            let flattener = ValueFlattener(space, view, created: created)
            try flattener.property(
                binding.info, property, ClassInfo.unwrap(property.accessor._anyValue(object, property.offset)))
            if update == .error, flattener.isNothing { continue }
            try set(flattener, id, binding, property, update, &stored)
        }
    }

    /// Unmanaged objects in the order in which they are left when they are visited in depth: without recursion, for a
    /// chain may be long.
    private func order(from roots: [Object]) throws(ObjStoreError) -> [(object: Object, binding: ClassBinding)] {
        var order: [(object: Object, binding: ClassBinding)] = []
        var seen: Set<ObjectIdentifier> = []
        var path: [(object: Object, binding: ClassBinding, targets: [Object], next: Int)] = []
        func visit(_ object: Object) throws(ObjStoreError) {
            guard seen.insert(ObjectIdentifier(object)).inserted else {
                if !(object is EmbeddedObject) { return }
                let name = ClassInfo.name(of: type(of: object))
                throw ObjStoreError(
                    .embedded, "objects of class \(name) are embedded: one has one parent, and this one has two places",
                    class: name)
            }
            let binding = try space.binding(type(of: object))
            var targets: [Object] = []
            for link in binding.info.links {
                let more = ObjectGraph.targets(object, link)
                if link.type.hasMixedElements { try ObjectGraph.check(more, link, binding) }
                targets += more
            }
            for property in binding.info.mixed {
                let more = ObjectGraph.value(object, property).unmanagedObjects
                try ObjectGraph.check(more, property, binding)
                targets += more
            }
            path.append((object, binding, targets, 0))
        }
        for root in roots {
            try visit(root)
            while let (object, binding, targets, next) = path.last {
                guard next < targets.count else {
                    order.append((object, binding))
                    path.removeLast()
                    continue
                }
                path[path.count - 1].next += 1
                try visit(targets[next])
            }
        }
        return order
    }

    /// Values of any type have no embedded objects.
    private static func check(
        _ objects: [Object], _ property: ClassInfo.Property, _ binding: ClassBinding
    ) throws(ObjStoreError) {
        guard let embedded = objects.first(where: { $0 is EmbeddedObject }) else { return }
        throw ObjStoreError(AnyValue.embedded(embedded).at(class: binding.info.name, property: property.name))
    }

    /// The unmanaged objects that a property leads to.
    private static func targets(_ object: Object, _ link: ClassInfo.Property) -> [Object] {
        let all =
            link.type.isCollection
            ? (link.accessor._anyValue(object, link.offset) as? any _CollectionProperty)?._links ?? []
            : [target(object, link)].compactMap { $0 }
        return all.filter { $0._binding == nil }
    }

    private static func target(_ object: Object, _ link: ClassInfo.Property) -> Object? {
        ClassInfo.unwrap(link.accessor._anyValue(object, link.offset)) as? Object
    }

    private static func value(_ object: Object, _ property: ClassInfo.Property) -> AnyValue {
        property.accessor._anyValue(object, property.offset) as? AnyValue ?? AnyValue.none
    }

    /// Whether values of any type of an unmanaged object have unmanaged objects in them.
    static func linksInMixed(_ object: Object, _ binding: ClassBinding) -> Bool {
        binding.info.mixed.contains { !value(object, $0).unmanagedObjects.isEmpty }
    }

    private func put(
        _ object: Object, _ binding: ClassBinding, isRoot: Bool, _ encoder: _RowEncoder, _ late: inout [Late],
        _ lateCollections: inout [LateCollection]
    ) throws(ObjStoreError) -> ObjectID {
        encoder.removeAll()
        var after: [(propertyID: UInt32, target: AnyValue)] = []
        let collections = encoder.append(object, binding) { property in
            if property.embeds { return true }
            if property.type.valueKind == .mixed {
                let value = ObjectGraph.value(object, property)
                guard value.unmanagedObjects.contains(where: { encoder.created[ObjectIdentifier($0)] == nil }) else {
                    return false
                }
                after.append((binding.properties[Int(property.index)], value))
                if update != .error { return true }
                // Not its default, which another object may have.
                encoder.begin(binding.properties[Int(property.index)])
                encoder.append(.null)
                return true
            }
            guard property.type.valueKind == .link, let target = ObjectGraph.target(object, property),
                target._binding == nil,
                encoder.created[ObjectIdentifier(target)] == nil
            else { return false }
            after.append((binding.properties[Int(property.index)], .object(target)))
            return true
        }
        // A linked object without a primary key can only be created.
        let (id, existed) = try view.put(
            binding, encoder, isRoot || !binding.info.key.isEmpty ? update : .error,
            collections.filter { !$0.property.type.hasLinks })
        for elements in collections where elements.property.type.hasLinks && !elements.property.embeds {
            lateCollections.append(LateCollection(object: id, binding: binding, elements: elements, existed: existed))
        }
        for link in after { late.append(Late(object: id, propertyID: link.propertyID, target: link.target)) }
        return id
    }

    private func fill(_ late: LateCollection, _ created: [ObjectIdentifier: ObjectID]) throws(ObjStoreError) {
        try view.fill(late.object, late.binding, late.elements, update, existed: late.existed, created)
    }

    private func set(_ link: Late, _ created: [ObjectIdentifier: ObjectID]) throws(ObjStoreError) {
        try core { () throws(StoreError) in
            try link.target.withValue(created) { (value) throws(StoreError) in
                if update != .modified { return try view.set(link.object, link.propertyID, value) }
                var result: Result<Void, StoreError>?
                withUnsafePointer(to: value) { value in
                    result = Result { () throws(StoreError) in
                        _ = try view.set(
                            link.object, link.propertyID, from: UnsafeBufferPointer(start: value, count: 1), .modified)
                    }
                }
                try result.unsafelyUnwrapped.get()
            }
        }
    }
}

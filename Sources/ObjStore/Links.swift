internal import ObjStoreCore

// A link is an optional of a model class: `@Persisted var owner: Person?`. Its inverse is found, not stored:
// `@Persisted(originProperty: "owner") var dogs: LinkingObjects<Dog>`. Lists, sets and maps have links as elements, with the same inverse.

extension Object: _OptionalPersistable {
    public typealias _OptionalStorage = Object?
    public static var _noValue: Object? { nil }
    public static var _optionalType: _PropertyType {
        var type = _PropertyType(.link)
        type.isOptional = true
        type.linked = self
        return type
    }
    // What is written is of the property's class, which is `Self` here.
    public static func _readOptional(_ storage: inout Object?) -> Self? { storage.map { unsafeDowncast($0, to: self) } }
    public static func _writeOptional(_ storage: inout Object?, _ value: Object?) { storage = value }
    public static func _getOptional(_ object: Object, _ index: UInt32) -> Self? {
        object._binding.unsafelyUnwrapped._withUnsafeGuaranteedRef { binding in
            guard let key = binding.number(object._key, index) else { return nil }
            return binding.space.materialise(self, binding.target(index), key)
        }
    }
    public static func _setOptional(_ object: Object, _ index: UInt32, _ value: Object?) {
        guard let value else { return object._setNull(index) }
        object._binding.unsafelyUnwrapped.takeUnretainedValue().setLink(object._key, index, to: value)
    }
    /// A key path that goes on from here leads to a property of the other class, which the tracer is told, too.
    public static func _tracedOptional(_ tracer: _Tracer) -> Self? {
        (try? ClassInfo.of(self)).map { KeyPaths.prototype(self, $0, tracer) }
    }
    public static func _convertOptional(_ value: Any) -> Self? {
        guard let object = value as? Object, type(of: object) == self else { return nil }
        return unsafeDowncast(object, to: self)
    }
    public static func _encodeOptional(_ value: Object?, _ encoder: _RowEncoder) { encoder.append(value) }
}

extension ClassBinding {
    /// An unmanaged object is added first, with all that it leads to.
    fileprivate func setLink(_ key: Int64, _ index: UInt32, to value: Object) {
        guard value._binding == nil, !space.isFrozen, space.handle.isWriting else {
            guard let target = value._binding?.takeUnretainedValue() else { return set(key, index, .null) }  // which reports why it cannot
            return set(key, index, .link(target.id(value._key)))
        }
        do throws(ObjStoreError) {
            let view = try space.handle.writing("a link")
            guard exists(key) else { throw gone(key) }
            if value is EmbeddedObject {
                return try ObjectGraph(space, view, .error).embed([(value, .null)], in: id(key), self, info.properties[Int(index)])
            }
            try ObjectGraph(space, view, .error).add(value)
        } catch {
            return report(error)
        }
        if let target = value._binding?.takeUnretainedValue() { set(key, index, .link(target.id(value._key))) }
    }
}

/// Unmanaged objects that lead to each other by links, on their way into a store: each once, all or none.
///
/// ```
///  a ──► b ──► c          added in the order c, b, a: what a link leads to is there before the link,
///  ▲           │          but for one link of each circle (c ──► a), which is set at the end
///  └───────────┘
/// ```
/// Collections of links get their elements when all objects are there, and embedded objects their place at last.
struct ObjectGraph {
    private let space: ObjectSpace
    private let view: View
    private let update: UpdatePolicy

    init(_ space: ObjectSpace, _ view: View, _ update: UpdatePolicy) {
        self.space = space
        self.view = view
        self.update = update
    }

    /// A link that closes a circle.
    private struct Late {
        let object: ObjectID
        let propertyID: UInt32
        let target: Object
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

    func add(_ root: Object) throws(ObjStoreError) { try add([root], wantsSavepoint: false) { (_, _) throws(ObjStoreError) in } }

    /// Makes unmanaged embedded objects in a property of a stored object, each at its place as `View.createEmbedded` takes it.
    func embed(
        _ objects: [(object: Object, place: Value)], in owner: ObjectID, _ binding: ClassBinding, _ property: ClassInfo.Property
    ) throws(ObjStoreError) {
        try add(objects.map(\.object), wantsSavepoint: objects.count > 1) { (created, stored) throws(ObjStoreError) in
            for (object, place) in objects {
                let flattener = ValueFlattener(space, view, created: created)
                try flattener.object(try space.binding(type(of: object)), object)
                try flattener.store(&stored) { (values, tell) throws(StoreError) in
                    try view.createEmbedded(in: owner, binding.properties[Int(property.index)], at: place, from: values, embedded: tell)
                }
            }
        }
    }

    /// Gives a property of a stored object the elements of a collection of embedded objects instead of its own.
    func embed(_ collection: any _CollectionProperty, in owner: ObjectID, _ binding: ClassBinding, _ property: ClassInfo.Property) throws(ObjStoreError) {
        try add(collection._links.filter { $0._binding == nil }, wantsSavepoint: false) { (created, stored) throws(ObjStoreError) in
            let flattener = ValueFlattener(space, view, created: created)
            try flattener.property(binding.info, property, collection)
            try set(flattener, owner, binding, property, .all, &stored)
        }
    }

    private func set(
        _ flattener: ValueFlattener, _ owner: ObjectID, _ binding: ClassBinding, _ property: ClassInfo.Property, _ policy: UpdatePolicy, _ stored: inout [Stored]
    ) throws(ObjStoreError) {
        try flattener.store(&stored) { (values, tell) throws(StoreError) in
            _ = try view.set(owner, binding.properties[Int(property.index)], from: values, policy.core, embedded: tell)
        }
    }

    /// Adds objects and what they lead to but embedded ones among `roots`, which `last` gives their place.
    private func add(
        _ roots: [Object], wantsSavepoint: Bool,
        _ last: (_ created: [ObjectIdentifier: ObjectID], _ stored: inout [Stored]) throws(ObjStoreError) -> Void
    ) throws(ObjStoreError) {
        let all = try order(from: roots), order = all.filter { !$0.binding.info.isEmbedded }
        let encoder = _RowEncoder()
        // The store is as before if one of them fails. Who only creates takes back what was created, which costs less; but not by deleting
        // what deletes others.
        var savepoint: UInt64?
        let updates = update != .error && (all.count > 1 || all.contains { $0.binding.info.links.contains { $0.type.isCollection || $0.embeds } })
        if wantsSavepoint || updates || all.contains(where: \.binding.info.hasCascades) { savepoint = try core { () throws(StoreError) in try view.beginSavepoint() } }
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
            for (number, (object, binding)) in order.enumerated() { try embed(object, binding, ids[number], encoder.created, &stored) }
            try last(encoder.created, &stored)
            if let savepoint { try core { () throws(StoreError) in try view.releaseSavepoint(savepoint) } }
        } catch {
            try core { () throws(StoreError) in
                if let savepoint { try view.rollBack(toSavepoint: savepoint) } else { for id in ids.reversed() { try view.delete(id) } }
            }
            throw error
        }
        for object in stored { space.adopt(object.object, object.binding, object.key) }
    }

    /// Gives an object that was stored its embedded objects.
    private func embed(
        _ object: Object, _ binding: ClassBinding, _ id: ObjectID, _ created: [ObjectIdentifier: ObjectID], _ stored: inout [Stored]
    ) throws(ObjStoreError) {
        for property in binding.info.embedding {
            let flattener = ValueFlattener(space, view, created: created)
            try flattener.property(binding.info, property, ClassInfo.unwrap(property.accessor._anyValue(object, property.offset)))
            if update == .error, flattener.isNothing { continue }
            try set(flattener, id, binding, property, update, &stored)
        }
    }

    /// Unmanaged objects in the order in which they are left when they are visited in depth: without recursion, for a chain may be long.
    private func order(from roots: [Object]) throws(ObjStoreError) -> [(object: Object, binding: ClassBinding)] {
        var order: [(object: Object, binding: ClassBinding)] = []
        var seen: Set<ObjectIdentifier> = []
        var path: [(object: Object, binding: ClassBinding, targets: [Object], next: Int)] = []
        func visit(_ object: Object) throws(ObjStoreError) {
            guard seen.insert(ObjectIdentifier(object)).inserted else {
                if !(object is EmbeddedObject) { return }
                let name = ClassInfo.name(of: type(of: object))
                throw ObjStoreError(.embedded, "objects of class \(name) are embedded: one has one parent, and this one has two places", class: name)
            }
            let binding = try space.binding(type(of: object))
            path.append((object, binding, binding.info.links.flatMap { ObjectGraph.targets(object, $0) }, 0))
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

    /// The unmanaged objects that a property leads to.
    private static func targets(_ object: Object, _ link: ClassInfo.Property) -> [Object] {
        let all = link.type.isCollection
            ? (link.accessor._anyValue(object, link.offset) as? any _CollectionProperty)?._links ?? [] : [target(object, link)].compactMap { $0 }
        return all.filter { $0._binding == nil }
    }

    private static func target(_ object: Object, _ link: ClassInfo.Property) -> Object? {
        ClassInfo.unwrap(link.accessor._anyValue(object, link.offset)) as? Object
    }

    private func put(
        _ object: Object, _ binding: ClassBinding, isRoot: Bool, _ encoder: _RowEncoder, _ late: inout [Late], _ lateCollections: inout [LateCollection]
    ) throws(ObjStoreError) -> ObjectID {
        encoder.removeAll()
        var after: [(propertyID: UInt32, target: Object)] = []
        let collections = encoder.append(object, binding) { property in
            if property.embeds { return true }
            guard property.type.valueKind == .link, let target = ObjectGraph.target(object, property), target._binding == nil,
                encoder.created[ObjectIdentifier(target)] == nil
            else { return false }
            after.append((binding.properties[Int(property.index)], target))
            return true
        }
        // A linked object without a primary key can only be created.
        let (id, existed) = try view.put(binding, encoder, isRoot || !binding.info.key.isEmpty ? update : .error, collections.filter { !$0.property.type.hasLinks })
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
        guard let target = created[ObjectIdentifier(link.target)] else { throw ObjStoreError(.internalError, "an object of a graph was not added") }
        try core { () throws(StoreError) in
            if update == .modified, try view.value(link.object, link.propertyID, nil).isSame(as: .link(target)) { return }
            try view.set(link.object, link.propertyID, .link(target))
        }
    }
}

/// The objects whose link leads to an object: the inverse of the link, always up to date.
///
/// ```swift
/// final class Person: Object {
///     @Persisted var name = ""
///     @Persisted(originProperty: "owner") var dogs: LinkingObjects<Dog>
/// }
/// ```
/// In the order of their creation; live like ``Results``, and as they are for `count`, `first` and subscripts. Of an unmanaged
/// object it is empty, and a subscript gives an unmanaged object and reports `.outOfRange`. It cannot be set: set the link of the other object.
public struct LinkingObjects<Element: Object>: Sendable {
    /// Nil: of an unmanaged object.
    private let found: Results<Element>?

    init() { found = nil }
    init(_ found: Results<Element>) { self.found = found }

    /// The same as results, to be observed or frozen. Errors: `.wrongView`: the object is unmanaged.
    public func results() throws(ObjStoreError) -> Results<Element> {
        guard let found else {
            throw ObjStoreError(.wrongView, "an unmanaged object is in no store: nothing links to it", class: ClassInfo.name(of: Element.self))
        }
        return found
    }
}

extension LinkingObjects: RandomAccessCollection {
    public var startIndex: Int { 0 }
    public var endIndex: Int { count }
    /// O(log n).
    public var count: Int { found?.count ?? 0 }
    public var first: Element? { found?.first }
    public subscript(index: Int) -> Element {
        if let found { return found[index] }
        ErrorReports.reportOfNoStore(ObjStoreError(.outOfRange, "index \(index) of 0 objects: nothing links to an unmanaged object", class: ClassInfo.name(of: Element.self)))
        return Element()
    }
    /// Walks the objects that are there now.
    public func makeIterator() -> Results<Element>.Iterator { found?.makeIterator() ?? .nothing }
}

extension LinkingObjects: Persistable {
    public typealias _Storage = String?
    public static var _initial: String? { nil }
    public static var _type: _PropertyType {
        var type = _PropertyType(.null)
        type.linked = Element.self
        type.isInverse = true
        return type
    }
    public static func _originProperty(_ object: Object, _ offset: Int) -> String? { wrapper(object, offset).pointee.value }
    public static func _read(_ storage: inout String?) -> LinkingObjects { LinkingObjects() }
    public static func _write(_ storage: inout String?, _ value: LinkingObjects) {}
    public static func _get(_ object: Object, _ index: UInt32) -> LinkingObjects {
        object._binding.unsafelyUnwrapped._withUnsafeGuaranteedRef { binding in
            let origin = binding.origins[Int(index) - binding.info.properties.count], id = binding.id(object._key)
            let target = _ObjectName(classID: id.classID, storeTag: id.storeTag, key: id.key)
            return LinkingObjects(Results(binding.space, .success(ComparisonNode(index: origin.property, comparison: .equal, value: .link(target)))))
        }
    }
    public static func _set(_ object: Object, _ index: UInt32, _ value: LinkingObjects) {
        let binding = object._binding.unsafelyUnwrapped.takeUnretainedValue()
        binding.report(StoreError(.invalidArgument, "\(binding.path(index)) cannot be set: it is what links lead here, and these can be set"), index)
    }
    public static func _traced(_ tracer: _Tracer) -> LinkingObjects { LinkingObjects() }
    public static func _encode(_ value: LinkingObjects, _ encoder: _RowEncoder) { encoder.append(.null) }
}

extension Object: _SingleElement {
    public static var _elementType: _PropertyType {
        var type = _PropertyType(.link)
        type.linked = self
        return type
    }
    public static var _emptyElement: Self { self.init() }
    public static func _element(_ value: _StoredValue) -> Self? {
        guard value.value.kind == .link, let target = value.target else { return nil }
        return target.space.materialise(self, target, value.value.low)
    }
    public static func _convertElement(_ value: Any?) -> Self? { value.flatMap { _convertOptional($0) } }
    public static func _encodeElement(_ value: Object, _ encoder: _RowEncoder) { encoder.append(value) }
    public static func _linked(_ value: Object) -> Object? { value }
}

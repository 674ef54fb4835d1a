internal import ObjStoreCore

/// Unmanaged copies of objects and of what they lead to: each once, whatever leads to it, so that circles stay circles.
///
/// Breadth first: an object that can be reached in several ways has the shortest, so that `depth` does not depend on
/// the order of properties. Embedded objects are parts of their parent at any depth. Without recursion, for a chain may
/// be long.
final class ObjectCopier {
    enum Identity: Hashable {
        case stored(space: ObjectIdentifier, model: Int, key: Int64)
        case unmanaged(ObjectIdentifier)

        init(_ object: Object) {
            if let space = object._space, let binding = object._binding?.takeUnretainedValue() {
                self = .stored(space: ObjectIdentifier(space), model: binding.position, key: object._key)
            } else {
                self = .unmanaged(ObjectIdentifier(object))
            }
        }
    }

    private let depth: Int
    private var copies: [Identity: Object] = [:]
    private var queue: [(source: Object, copy: Object, level: Int)] = []
    /// Embedded objects, which are filled before the rest of the queue: they are as near as their parent.
    private var parts: [(source: Object, copy: Object, level: Int)] = []

    private init(_ depth: Int) { self.depth = depth }

    /// Calls `body` with a copier; its copies are complete when this returns.
    static func run<T>(_ depth: Int, _ body: (ObjectCopier) throws(ObjStoreError) -> T) throws(ObjStoreError) -> T {
        let copier = ObjectCopier(depth), collector = ErrorCollector()
        do {
            let result = try collector.run {
                let result = try body(copier)
                try copier.finish()
                return result
            }
            if let error = collector.first { throw error }
            return result
        } catch let error as ObjStoreError {
            throw error
        } catch {
            throw ObjStoreError(.internalError, "\(error)")
        }
    }

    private func finish() throws(ObjStoreError) {
        var next = 0
        while true {
            if let (source, copy, level) = parts.popLast() {
                try fill(copy, from: source, level)
            } else if next < queue.count {
                let (source, copy, level) = queue[next]
                next += 1
                try fill(copy, from: source, level)
            } else {
                return
            }
        }
    }

    /// The copy of an object, which is filled later. `level`: how many links lead there.
    func copy(_ source: Object, level: Int = 0) -> Object {
        let identity = Identity(source)
        if let copy = copies[identity] { return copy }
        let copy = type(of: source).init()
        copies[identity] = copy
        queue.append((source, copy, level))
        return copy
    }

    /// The copy of a collection whose object is copied at `level`, or is not.
    func copy<C: _CollectionProperty>(_ collection: C, level: Int = 0) -> C {
        if !C._type.hasLinks { return collection._copy() }
        return collection._mapped { source in
            if source is EmbeddedObject { return part(source, level) }
            return level < depth ? copy(source, level: level + 1) : nil
        }
    }

    /// The copy of an embedded object whose parent is copied at `level`.
    private func part(_ source: Object, _ level: Int) -> Object {
        let identity = Identity(source)
        if let copy = copies[identity] { return copy }
        let copy = type(of: source).init()
        copies[identity] = copy
        parts.append((source, copy, level))
        return copy
    }

    private func fill(_ copy: Object, from source: Object, _ level: Int) throws(ObjStoreError) {
        let info = try ClassInfo.of(type(of: source))
        if let binding = source._binding?.takeUnretainedValue(), !binding.exists(source._key) {
            throw binding.gone(source._key)
        }
        for property in info.properties {
            if property.type.valueKind == .mixed,
                let value = (property.accessor._anyValue(source, property.offset) as? AnyValue)?.detached()
            {
                let copied = value.mapObjects { level < depth ? self.copy($0, level: level + 1) : nil }
                _ = property.accessor._assign(copied, to: copy, property.offset)
                continue
            }
            guard property.type.hasLinks else {
                property.accessor._copy(from: source, to: copy, property.offset)
                continue
            }
            let value = property.accessor._anyValue(source, property.offset)
            if let collection = value as? any _CollectionProperty {
                _ = property.accessor._assign(self.copy(collection, level: level), to: copy, property.offset)
            } else if let target = ClassInfo.unwrap(value) as? Object {
                if target is EmbeddedObject {
                    _ = property.accessor._assign(part(target, level), to: copy, property.offset)
                } else {
                    _ = property.accessor._assign(
                        level < depth ? self.copy(target, level: level + 1) : nil, to: copy, property.offset)
                }
            } else {
                _ = property.accessor._assign(nil, to: copy, property.offset)
            }
        }
    }
}

extension Object {
    /// An unmanaged copy, with unmanaged copies of all that it leads to: each object once, also in a circle.
    ///
    /// - Parameter depth: how many links are followed from the object; beyond, links are nil, lists and sets of links
    ///   empty, maps of links have nil for each key, and values of any type `.none` for each object. Embedded objects
    ///   belong to their parent. 0: the object alone.
    ///
    /// Read while the store may move: of a version that stays, copy what ``freeze()`` gives. Errors: `.noSuchObject`,
    /// `.closedHandle`.
    public final func detached(depth: Int = .max) throws(ObjStoreError) -> Self {
        let copy = try ObjectCopier.run(depth) { (copier) throws(ObjStoreError) in copier.copy(self) }
        return unsafeDowncast(copy, to: Self.self)
    }
}

extension List {
    /// An unmanaged list with the same elements; of links with copies of the objects, as ``Object/detached(depth:)``
    /// makes them.
    public func detached(depth: Int = .max) throws(ObjStoreError) -> List { try detachedCollection(self, depth) }
}

extension MutableSet {
    /// An unmanaged set with the same elements; of links with copies of the objects, as ``Object/detached(depth:)``
    /// makes them.
    public func detached(depth: Int = .max) throws(ObjStoreError) -> MutableSet { try detachedCollection(self, depth) }
}

extension Map {
    /// An unmanaged map with the same entries; of links with copies of the objects, as ``Object/detached(depth:)``
    /// makes them.
    public func detached(depth: Int = .max) throws(ObjStoreError) -> Map { try detachedCollection(self, depth) }
}

private func detachedCollection<C: _CollectionProperty>(_ collection: C, _ depth: Int) throws(ObjStoreError) -> C {
    // The elements themselves are requested: they are not behind a link of a copied object.
    try ObjectCopier.run(depth == .max ? .max : depth + 1) { (copier) throws(ObjStoreError) in copier.copy(collection) }
}

extension Results {
    /// Unmanaged copies of the objects, as ``Object/detached(depth:)`` makes them; what several lead to is one copy.
    public func detached(depth: Int = .max) throws(ObjStoreError) -> [Element] {
        try validate()
        return try ObjectCopier.run(depth) { (copier) throws(ObjStoreError) in
            map { unsafeDowncast(copier.copy($0), to: Element.self) }
        }
    }
}

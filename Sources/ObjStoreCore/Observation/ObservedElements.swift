/// The elements of an observed collection in one version: of a list, set or map, or of what a path leads to inside of
/// a mixed value. They hold while the version is pinned.
enum ObservedElements {
    case stored(CollectionElements)
    case nested([CollectionDifference.Entry])

    func count() throws(StoreError) -> Int {
        switch self {
        case .stored(let elements): try elements.count()
        case .nested(let entries): entries.count
        }
    }

    func allEntries() throws(StoreError) -> [CollectionDifference.Entry] {
        switch self {
        case .stored(let elements): try elements.allEntries()
        case .nested(let entries): entries
        }
    }

    func forEach(_ body: (_ key: Value, _ value: Value) throws(StoreError) -> Bool) throws(StoreError) {
        switch self {
        case .stored(let elements): try elements.forEach(body)
        case .nested(let entries):
            for (key, value) in entries where try !body(key, value) { return }
        }
    }
}

/// The way to a list or map inside of a mixed value, kept: a place, at which each version has what it has.
final class NestedPath: @unchecked Sendable {
    let steps: [MixedStep]
    /// Of the keys.
    private let bytes: UnsafeMutableRawPointer

    /// - Parameter steps: copied.
    init(_ steps: [MixedStep]) throws(StoreError) {
        let count = steps.reduce(0) { if case .key(let key) = $1 { $0 + key.count } else { $0 } }
        bytes = try Memory.allocate(max(1, count))
        var kept: [MixedStep] = [], used = 0
        for step in steps {
            guard case .key(let key) = step else {
                kept.append(step)
                continue
            }
            if let base = key.baseAddress { (bytes + used).copyMemory(from: base, byteCount: key.count) }
            kept.append(.key(UnsafeRawBufferPointer(start: bytes + used, count: key.count)))
            used += key.count
        }
        self.steps = kept
    }

    deinit { bytes.deallocate() }

    /// Of a list or map at its end; none where a version has nothing there, or something else.
    func entries(
        _ trees: TreeAccess, _ cls: ClassSchema, _ id: CollectionID, _ kind: ValueKind
    ) throws(StoreError) -> [CollectionDifference.Entry] {
        do throws(StoreError) {
            return try trees.withMixed(cls, id.owner.key, id.propertyID, steps) { (node, _, _) throws(StoreError) in
                guard let node, try node.kind == kind else { return [] }
                return try NestedPath.entries(node)
            }
        } catch {
            if error.code == .wrongType || error.code == .notFound { return [] }
            throw error
        }
    }

    private static func entries(_ node: MixedNode) throws(StoreError) -> [CollectionDifference.Entry] {
        let container = try MixedContainer(node)
        try Memory.check(for: container.count, each: MemoryLayout<CollectionDifference.Entry>.stride)
        var entries: [CollectionDifference.Entry] = []
        entries.reserveCapacity(container.count)
        for index in 0..<container.count {
            var key = Value.null
            if container.kind == .map {
                let bytes = try container.key(index)
                guard UTF8Check.isValid(bytes.baseAddress, bytes.count) else {
                    throw MixedNode.damaged("a key that is not valid UTF-8")
                }
                key = .string(bytes.baseAddress, bytes.count)
            }
            let element = try container.node(index)
            entries.append((key, Value(kind: .mixed, pointer: element.start, count: element.count)))
        }
        return entries
    }
}

extension CollectionScope {
    /// A list or map inside of a mixed value.
    ///
    /// Errors: `.wrongStore`, `.noSuchClass`, `.noSuchProperty`, `.noSuchObject`; `.notFound`: nothing is there;
    /// `.wrongType`: it is no list or map, or the property has no mixed values.
    convenience init(
        _ owner: ObjectID, _ propertyID: UInt32, _ steps: [MixedStep], in snapshot: Snapshot, tag: UInt32
    ) throws(StoreError) {
        let cls = try snapshot.schema.cls(of: owner, in: tag), path = try NestedPath(steps)
        let kind = try TreeAccess.version(snapshot).withMixed(cls, owner.key, propertyID, steps) {
            (node, cls, position) throws(StoreError) -> ValueKind in
            guard let kind = try node?.kind else {
                if steps.isEmpty {
                    throw cls.naming(StoreError(.wrongType, "the value is null, not a list or map"), position)
                }
                throw cls.naming(
                    StoreError(.notFound, "there is nothing at \(MixedStep.text(steps[...]))"), position)
            }
            guard kind == .list || kind == .map else {
                throw cls.naming(
                    StoreError(.wrongType, "the value is \(kind.indefinite), not a list or map"), position)
            }
            return kind
        }
        let position = try cls.mixed(propertyID, orElements: true)
        self.init(CollectionID(owner: owner, propertyID: propertyID), kind, path, cls.columns[position])
    }
}

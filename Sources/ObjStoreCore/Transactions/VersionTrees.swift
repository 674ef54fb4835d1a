/// From the root of one version to its trees: the way to open them, of every reader. A value without references, valid
/// as long as what pins the version.
package struct VersionTrees {
    private let source: PageSource
    private let root: Ref
    private let version: UInt64
    private let classes: UnsafeBufferPointer<Unmanaged<ClassSchema>>

    /// - Parameter schema: that of the version; whatever keeps the version keeps it as well.
    init(source: PageSource, root: Ref, version: UInt64, schema: Schema) {
        self.source = source
        self.root = root
        self.version = version
        classes = schema.table
    }

    /// The node of a class that the version's schema has.
    @inline(__always)
    func node(_ index: Int) throws(StoreError) -> UnsafeRawPointer {
        let node = try source.node(root, .root)
        guard _fastPath(index < NodeHeader.count(node)) else {
            throw StoreError(.noSuchClass, "class \(index) does not exist in version \(version)")
        }
        return try source.node(RootNode.classNode(node, index), .classRoot)
    }

    /// Nil where the version does not have the class yet.
    @inline(__always)
    func nodeIfAny(_ index: Int) throws(StoreError) -> UnsafeRawPointer? {
        let node = try source.node(root, .root)
        guard index < NodeHeader.count(node) else { return nil }
        let ref = RootNode.classNode(node, index)
        return ref.isNull ? nil : try source.node(ref, .classRoot)
    }

    // MARK: Trees of a class, empty ones where the version does not have it yet

    package func objects(_ cls: ClassSchema) throws(StoreError) -> ClusterReader {
        ClusterReader(source: source, root: try tree(cls, ClassNode.cluster), columns: cls.columns)
    }

    /// The elements of a collection property that lie in its tree.
    func collection(_ cls: ClassSchema, _ property: Int) throws(StoreError) -> CollectionReader {
        CollectionReader(
            source: source, root: try tree(cls) { ClassNode.collectionRoot($0, column: cls.columns[property].id) })
    }

    /// The plain index of a property; nil where it has none.
    func index(_ cls: ClassSchema, of property: Int) throws(StoreError) -> IndexReader? {
        guard let position = cls.indexPosition(of: property) else { return nil }
        return try reader(cls, cls.indexes[position])
    }

    /// Which objects have which links in a collection; nil where the property is no collection of links.
    package func inverse(_ cls: ClassSchema, _ property: Int) throws(StoreError) -> IndexReader? {
        guard let position = cls.inversePosition(of: property) else { return nil }
        return try reader(cls, cls.inverses[position])
    }

    /// Which objects have which links in the values of a mixed property; nil where the property is none.
    func mixedInverse(_ cls: ClassSchema, _ property: Int) throws(StoreError) -> IndexReader? {
        guard let position = cls.mixedPosition(of: property) else { return nil }
        return try reader(cls, cls.mixedInverses[position])
    }

    /// Of any kind of index; long keys cannot be looked up by it.
    private func reader(_ cls: ClassSchema, _ index: IndexSchema) throws(StoreError) -> IndexReader {
        IndexReader(source: source, root: try tree(cls) { ClassNode.root($0, of: index) }, kind: index.kind)
    }

    @inline(__always)
    private func tree(_ cls: ClassSchema, _ root: (_ classNode: UnsafeRawPointer) -> Ref) throws(StoreError) -> Ref {
        try nodeIfAny(Int(cls.id)).map(root) ?? .null
    }

    // MARK: Reads of a few nanoseconds

    /// Where a property of an object lies; nil where anything is not as it should be, which others say better.
    @inline(__always)
    func find(
        _ object: ObjectID, _ propertyID: UInt32
    ) throws(StoreError) -> (reader: ClusterReader, row: RowPosition, column: Int)? {
        let index = ClassID.index(object.classID)
        guard index >= 0, index < classes.count else { return nil }
        let columns = classes.baseAddress.unsafelyUnwrapped[index]._withUnsafeGuaranteedRef { $0.columns }
        guard let column = PropertyID.position(propertyID, object.classID &- 1, columns), let cls = try nodeIfAny(index)
        else { return nil }
        let reader = ClusterReader(source: source, root: ClassNode.cluster(cls), columns: columns)
        guard let row = try reader.find(object.key) else { return nil }
        return (reader, row, column)
    }

    /// The key of the object with a primary key, or nil; nil instead of it where others have to look.
    @inline(__always)
    func find(_ classID: UInt32, _ key: Value) throws(StoreError) -> Int64?? {
        let index = ClassID.index(classID)
        guard index >= 0, index < classes.count else { return nil }
        guard
            let spec = classes.baseAddress.unsafelyUnwrapped[index]._withUnsafeGuaranteedRef({ cls in
                cls.primaryKey.map { cls.columns[$0] }
            }),
            spec.kind == key.kind
        else { return nil }
        // Of texts those that lie in the index as a whole.
        let isShort =
            key.kind == .string && key.count <= IndexLimits.head && UTF8Check.isValid(key.pointer, key.count)
        guard key.kind == .int || isShort, let cls = try nodeIfAny(index) else { return nil }
        // The primary key's index is the first.
        guard NodeHeader.count(cls) > 0, ClassNode.indexID(cls, 0) == spec.id else { return nil }
        return .some(try IndexReader(source: source, root: ClassNode.indexRoot(cls, 0), kind: key.kind).find(key))
    }
}

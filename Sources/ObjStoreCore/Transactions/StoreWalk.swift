/// Visits everything that a version consists of.
enum StoreWalk {
    /// Every extent that a root reaches, the root included: parents before children, each checked (bounds,
    /// hash, tag, structure) before it is visited, and none twice.
    static func forEachExtent(
        root: Ref, source: PageSource, visit: (VisitedExtent) throws(StoreError) -> Void
    ) throws(StoreError) {
        let used = UsedUnits(fileBytes: source.limit)
        func once(_ extent: VisitedExtent) throws(StoreError) {
            try used.insert(extent)
            try visit(extent)
        }
        let classes = try forEachHead(root: root, source: source, visit: once)
        for node in classes { try forEachExtent(ofClass: node, source: source, visit: once) }
    }

    /// Root, schema and classes; returns the nodes of the classes. The caller sees to it that no extent is visited
    /// twice.
    static func forEachHead(
        root: Ref, source: PageSource, visit: (VisitedExtent) throws(StoreError) -> Void
    ) throws(StoreError) -> [UnsafeRawPointer] {
        func node(_ ref: Ref, _ kind: NodeKind) throws(StoreError) -> UnsafeRawPointer {
            let node = try source.node(ref, kind)
            try visit(
                VisitedExtent(
                    unit: ref.unit, units: PageSize.units(NodeHeader.bytes(node)), born: NodeHeader.born(node)))
            return node
        }
        let rootNode = try node(root, .root)
        let schemaNode = try node(RootNode.schema(rootNode), .schema)
        var reader = ByteReader(schemaNode + NodeHeader.size, count: NodeHeader.bytes(schemaNode) - NodeHeader.size)
        let schema = try SchemaCodec.read(&reader)
        guard NodeHeader.count(rootNode) <= schema.classes.count else {
            throw StoreError(.corrupt, "a class node without a class in the schema")
        }
        var classes: [UnsafeRawPointer] = []
        for index in 0..<NodeHeader.count(rootNode) {
            classes.append(try node(RootNode.classNode(rootNode, index), .classRoot))
        }
        return classes
    }

    /// The trees of one class.
    static func forEachExtent(
        ofClass node: UnsafeRawPointer, source: PageSource, visit: (VisitedExtent) throws(StoreError) -> Void
    ) throws(StoreError) {
        try ClusterReader.forEachExtent(root: ClassNode.cluster(node), source: source, visit: visit)
        for position in 0..<NodeHeader.count(node) {
            try IndexTree.forEachExtent(ClassNode.indexRoot(node, position), source, visit)
        }
        for position in 0..<ClassNode.collectionCount(node) {
            try CollectionReader(source: source, root: ClassNode.collectionRoot(node, position)).forEachExtent(visit)
        }
    }
}

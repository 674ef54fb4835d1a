/// Visits everything that a version consists of.
enum StoreWalk {
    /// Every extent that a root reaches, the root included: parents before children, each checked (bounds,
    /// hash, tag, structure) before it is visited.
    static func forEachExtent(root: Ref, source: PageSource, visit: (VisitedExtent) throws(StoreError) -> Void) throws(StoreError) {
        func node(_ ref: Ref, _ kind: NodeKind) throws(StoreError) -> UnsafeRawPointer {
            let node = try source.node(ref, kind)
            try visit(VisitedExtent(unit: ref.unit, units: PageSize.units(NodeHeader.bytes(node)), born: NodeHeader.born(node)))
            return node
        }
        let rootNode = try node(root, .root)
        let schemaNode = try node(RootNode.schema(rootNode), .schema)
        var reader = ByteReader(schemaNode + NodeHeader.size, count: NodeHeader.bytes(schemaNode) - NodeHeader.size)
        let schema = try SchemaCodec.read(&reader)
        for index in 0..<NodeHeader.count(rootNode) {
            let classNode = try node(RootNode.classNode(rootNode, index), .classRoot)
            guard index < schema.classes.count else { throw StoreError(.corrupt, "a class node without a class in the schema") }
            try ClusterReader.forEachExtent(root: ClassNode.cluster(classNode), source: source, visit: visit)
            for position in 0..<NodeHeader.count(classNode) {
                try IndexTree.forEachExtent(ClassNode.indexRoot(classNode, position), source, visit)
            }
        }
    }
}

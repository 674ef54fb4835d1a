/// Looks whether each object of an embedded class has one parent: one link, of all properties that lead to its class,
/// leads to it, and not from the object itself, nor from what lies in it.
///
/// The indexes and inverses of those properties were compared with the objects that have the links already; here they
/// are believed.
struct ParentCheck {
    let image: VersionImage
    let classIndex: Int

    /// Contradictions that are reported one by one; the others are counted.
    private static let told = 20

    func run(finding: (String) throws(StoreError) -> Void) throws(StoreError) {
        let cls = image.schema.classes[classIndex]
        var contradictions = 0
        do throws(StoreError) {
            var indexes: [(link: IncomingLink, reader: IndexReader)] = []
            for link in image.schema.incoming[classIndex] { indexes.append((link, try reader(link))) }
            let objects = image.reader(classIndex, try image.classNode(classIndex))
            var circles =
                EmbeddingCircles.canHave(image.schema, classIndex) ? EmbeddingCircles(image.schema, index: reader) : nil
            var next = try objects.seek(.min)
            while let row = next {
                var parents = 0
                for (link, reader) in indexes { parents += try link.count(to: row.key, reader) }
                let liesInItself = try circles?.has(classIndex, row.key) == true
                if parents != 1 || liesInItself {
                    contradictions += 1
                    let what = parents == 1 ? "lies in itself" : "has \(parents) parents"
                    if contradictions <= ParentCheck.told {
                        try finding("class \(cls.name): the embedded object \(row.key) \(what)")
                    }
                }
                next = try objects.next(row)
            }
        } catch {
            // Damage is reported elsewhere.
            guard error.isDamage else { throw error }
        }
        if contradictions > ParentCheck.told {
            try finding(
                "class \(cls.name): \(contradictions - ParentCheck.told) more embedded objects do not have one parent")
        }
    }

    private func reader(_ link: IncomingLink) throws(StoreError) -> IndexReader {
        let origin = image.schema.classes[link.classIndex], node = try image.classNode(link.classIndex)
        let index =
            link.isCollection
            ? origin.inverses[origin.inversePosition(of: link.property)!]
            : origin.indexes[origin.indexPosition(of: link.property)!]
        return IndexReader(source: image.source, root: ClassNode.root(node, of: index), kind: .link)
    }
}

/// Compares the links in the values of one mixed property, or in the mixed elements of one collection, with their
/// inverse: every object must be in it once for each object that it links to there, there must be no other entries, and
/// what they lead to must exist.
struct MixedLinkCheck {
    let image: VersionImage
    let cls: ClassSchema
    let property: Int
    /// Of the inverse, and how many entries it has.
    let root: Ref
    let entries: Int
    /// Of a collection: its elements.
    let elements: CollectionReader?

    /// Contradictions that are reported one by one; the others are counted.
    private static let told = 20

    func run(
        _ reader: ClusterReader, isObjectTreeSound: Bool, _ finding: (String) throws(StoreError) -> Void
    ) throws(StoreError) {
        let name = "\(cls.name).\(cls.properties[property].name)"
        let inverse = IndexReader(source: image.source, root: root, kind: .objectID)
        var links = 0, contradictions = 0, targets: [UInt32: ClusterReader] = [:]
        func contradiction(_ what: String) throws(StoreError) {
            contradictions += 1
            if contradictions <= MixedLinkCheck.told { try finding("links of \(name): \(what)") }
        }
        do throws(StoreError) {
            var next = try reader.seek(.min)
            while let row = next {
                var stored: Set<MixedTarget> = []
                try forEachLink(of: row, try reader.value(row, property)) { (link) throws(StoreError) in
                    stored.insert(MixedTarget(link))
                    if link.givenObject.storeTag != 0 {
                        try contradiction(
                            "object \(row.key) has a link that names a store, as only links on their way in do")
                    }
                    return true
                }
                for target in stored.sorted() {
                    links += 1
                    if try !inverse.contains(target.indexed, row.key) {
                        try contradiction(
                            """
                            object \(row.key) links to object \(target.key) of class id \(target.classID), and the \
                            inverse says otherwise
                            """
                        )
                    }
                    if try !exists(target, &targets) {
                        try contradiction(
                            """
                            object \(row.key) links to object \(target.key) of class id \(target.classID), which does \
                            not exist
                            """
                        )
                    }
                }
                next = try reader.next(row)
            }
            if isObjectTreeSound, links != entries {
                try finding("inverse of \(name): it has \(entries) entries for \(links) links")
            }
        } catch {
            // What cannot be read, others say.
            guard error.isDamage else { throw error }
        }
        if contradictions > MixedLinkCheck.told {
            try finding("links of \(name): \(contradictions - MixedLinkCheck.told) more contradictions")
        }
    }

    private func forEachLink(
        of row: RowPosition, _ value: Value, _ body: (Value) throws(StoreError) -> Bool
    ) throws(StoreError) {
        guard let elements else { return try MixedLinks.forEach(value, body) }
        try CollectionElements(row.key, cls, property, cell: value, tree: elements).forEach {
            (_, value) throws(StoreError) in
            try MixedLinks.forEach(value, body)
            return true
        }
    }

    /// True also where a page of the objects is damaged, which others say.
    private func exists(_ target: MixedTarget, _ targets: inout [UInt32: ClusterReader]) throws(StoreError) -> Bool {
        let index = ClassID.index(target.classID)
        guard index >= 0, index < image.schema.classes.count, !image.schema.classes[index].isDropped,
            !image.schema.classes[index].isEmbedded
        else { return false }
        do throws(StoreError) {
            let reader =
                if let known = targets[target.classID] { known } else {
                    image.reader(index, try image.classNode(index))
                }
            targets[target.classID] = reader
            return try reader.find(target.key) != nil
        } catch {
            guard error.isDamage else { throw error }
            return true
        }
    }
}

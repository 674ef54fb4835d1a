/// One thing that a check or a salvage has to say, in the order in which it is found.
package enum ReportEntry: Sendable, Equatable {
    /// Something is damaged or was lost.
    case finding(String)
    /// Worth knowing, but no damage.
    case note(String)
    /// What is known of a class in the end: objects that can be read, and how many cannot; nil = unknown.
    case cls(String, objects: Int, lost: Int?)
    /// How many objects of a class have lost their value of a property, and have another one now.
    case property(String, String, lost: Int)
}

extension ReportEntry {
    /// The line to be printed.
    package var text: String {
        switch self {
        case .finding(let text), .note(let text): return text
        case .cls(let name, let objects, let lost):
            let rest = lost.map { $0 == 0 ? "" : ", \($0) lost" } ?? ", nobody knows how many lost"
            return "class \(name): \(objects) objects\(rest)"
        case .property(let cls, let name, let lost): return "class \(cls), property \(name): \(lost) values lost"
        }
    }
}

/// Receives the entries of a report; what it throws ends the operation.
package typealias ReportSink = (ReportEntry) throws(StoreError) -> Void

/// One version of a store, however it is reached: what checks and salvages read.
struct VersionImage {
    let source: PageSource
    let root: Ref
    let version: UInt64
    let schema: Schema

    func classNode(_ index: Int) throws(StoreError) -> UnsafeRawPointer {
        let node = try source.node(root, .root)
        guard index < NodeHeader.count(node) else { throw StoreError(.noSuchClass, "the root has no class \(index)") }
        let found = try source.node(RootNode.classNode(node, index), .classRoot)
        guard NodeHeader.word(found) == UInt64(index) else {
            throw StoreError(.corrupt, "damaged page: the node of another class")
        }
        return found
    }

    func reader(_ index: Int, _ classNode: UnsafeRawPointer) -> ClusterReader {
        ClusterReader(source: source, root: ClassNode.cluster(classNode), columns: schema.classes[index].columns)
    }
}

extension Snapshot {
    var image: VersionImage { VersionImage(source: source, root: root, version: version, schema: schema) }
}

/// "objects 4096–8191": where in a class something lies.
func objectsText(_ keys: Range<Int64>) -> String {
    if keys.upperBound == .max { return keys.lowerBound == 0 ? "all objects" : "objects from \(keys.lowerBound) on" }
    return keys.count <= 1 ? "object \(keys.lowerBound)" : "objects \(keys.lowerBound)–\(keys.upperBound - 1)"
}

/// Finds embedded objects that lie in each other in a circle: each has one parent, and yet no other object has them.
///
/// ```
///  Page#1 ── head ──► Part#4 ── inner ──► Part#5           Part#4, Part#5: Page#1 has them
///                     Part#8 ── inner ──► Part#9           Part#8, Part#9, what lies in them: nothing leads to them,
///                        ▲────── inner ─────┘              and nothing would ever delete them
/// ```
/// Cost: O(n) steps upwards and as much memory, where classes lie in each other in a circle; else nothing.
struct EmbeddingCircles {
    private struct Place: Hashable {
        let classIndex: Int
        let key: Int64
    }
    private let schema: Schema
    private let index: (IncomingLink) throws(StoreError) -> IndexReader
    /// Of objects that were looked up, and of those in which they lie.
    private var isRooted: [Place: Bool] = [:]

    /// - Parameter index: that of a link, or its inverse.
    init(_ schema: Schema, index: @escaping (IncomingLink) throws(StoreError) -> IndexReader) {
        self.schema = schema
        self.index = index
    }

    /// Whether objects of an embedded class can lie in each other in a circle at all.
    static func canHave(_ schema: Schema, _ classIndex: Int) -> Bool {
        var known = Set<Int>(), next = [classIndex]
        while let index = next.popLast() {
            for link in schema.owning[index] where link.isEmbedding {
                if link.target == classIndex { return true }
                if known.insert(link.target).inserted { next.append(link.target) }
            }
        }
        return false
    }

    /// Whether an embedded object lies, through whatever others, in itself, or in one that does.
    mutating func has(_ classIndex: Int, _ key: Int64) throws(StoreError) -> Bool {
        var path: [Place] = [], onPath = Set<Place>(), place = Place(classIndex: classIndex, key: key)
        var rooted = true
        while schema.classes[place.classIndex].isEmbedded {
            if let known = isRooted[place] {
                rooted = known
                break
            }
            guard onPath.insert(place).inserted else {
                rooted = false
                break
            }
            path.append(place)
            // One without a parent is none of ours.
            guard let parent = try parent(of: place) else { break }
            place = parent
        }
        for place in path { isRooted[place] = rooted }
        return !rooted
    }

    private func parent(of place: Place) throws(StoreError) -> Place? {
        for link in schema.incoming[place.classIndex] {
            var owner: Int64?
            func take(_ key: Int64) -> Bool {
                owner = key
                return false
            }
            let reader = try index(link)
            if link.isCollection {
                try reader.forEachOwner(of: place.key) { (key) throws(StoreError) in take(key) }
            } else {
                _ = try reader.forEach(.equal, Value(kind: .link, low: place.key)) { (key) throws(StoreError) in
                    take(key)
                }
            }
            if let owner { return Place(classIndex: link.classIndex, key: owner) }
        }
        return nil
    }
}

/// How many links away the objects of other classes are at least, from those of one class.
///
/// What is embedded is no link away. A mixed value may lead to any class.
final class LinkReach: Sendable {
    static let never: UInt8 = .max

    /// By class index.
    let distances: [UInt8]
    /// Its objects, or what is embedded in them, may link to others.
    let leadsAway: Bool

    fileprivate init(from classIndex: Int, _ schema: Schema) {
        let distances = LinkReach.distances(from: classIndex, schema)
        self.distances = distances
        leadsAway =
            distances.contains { $0 != 0 && $0 != LinkReach.never }
            // Others of its own class.
            || schema.incoming[classIndex].contains { distances[$0.classIndex] != LinkReach.never }
    }

    private static func distances(from classIndex: Int, _ schema: Schema) -> [UInt8] {
        var distances = [UInt8](repeating: never, count: schema.classes.count)
        var near = [classIndex], distance: UInt8 = 0
        distances[classIndex] = 0
        while !near.isEmpty && distance < never - 1 {
            var next: [Int] = [], leadsAnywhere = false
            while let index = near.popLast() {
                let cls = schema.classes[index]
                if !cls.mixed.isEmpty { leadsAnywhere = true }
                for property in cls.properties {
                    guard let target = property.target else { continue }
                    let step: UInt8 = schema.classes[target].isEmbedded ? 0 : 1
                    if distances[target] <= distance + step { continue }
                    distances[target] = distance + step
                    if step == 0 { near.append(target) } else { next.append(target) }
                }
            }
            if leadsAnywhere {
                for target in distances.indices where distances[target] > distance + 1 {
                    if schema.classes[target].isDropped || schema.classes[target].isEmbedded { continue }
                    distances[target] = distance + 1
                    next.append(target)
                }
            }
            near = next
            distance += 1
        }
        return distances
    }
}

/// Those of a schema; each is computed once.
final class LinkReaches: @unchecked Sendable {
    private let lock = Lock()
    private var known: [Int: LinkReach] = [:]

    func reach(from classIndex: Int, _ schema: Schema) -> LinkReach {
        lock.withLock {
            if let found = known[classIndex] { return found }
            let found = LinkReach(from: classIndex, schema)
            known[classIndex] = found
            return found
        }
    }
}

extension Schema {
    func linkReach(from classIndex: Int) -> LinkReach { linkReaches.reach(from: classIndex, self) }
}

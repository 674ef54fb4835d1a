/// Makes sure that each embedded object has one parent, after links to what is lost are removed.
///
/// ```
///  two parents   Person#1.home ──► Address#5 ◄── Person#2.places   the first one keeps it; the other loses its link
///  none          Address#6                                         left out, with what is embedded in it
///  a circle      Part#8.inner ──► Part#9.inner ──► Part#8          left out, though each has a parent
/// ```
/// A store that this library made has none of these; one whose pages or log were lost in part may have lost parents,
/// and one made by another program may have all.
struct ParentSalvage {
    let target: SalvageTarget

    /// Objects that are looked for before the first of them is changed, at most: memory is bounded.
    private static let window = 4096

    func run(_ classes: inout [ClassSalvage], _ lose: (String) throws(StoreError) -> Void) throws(StoreError) {
        let embedded = target.schema.classes.indices.filter { target.schema.classes[$0].isEmbedded }
        for index in embedded {
            let shared = try takeFromOthers(index)
            if shared > 0 {
                try lose(
                    """
                    class \(target.schema.classes[index].name): \(shared) embedded objects had several parents, and \
                    were left to the first
                    """
                )
            }
        }
        for index in embedded {
            try leaveOut(index, &classes, "embedded objects have lost their parent", lose) {
                (first) throws(StoreError) in try orphans(index, from: first)
            }
        }
        for index in embedded where EmbeddingCircles.canHave(target.schema, index) {
            try leaveOut(index, &classes, "embedded objects lay in themselves", lose) { (first) throws(StoreError) in
                try circles(index, from: first)
            }
        }
    }

    // MARK: Several parents

    /// A link that leads to an embedded object.
    private struct ParentLink: Hashable {
        let link: Int
        let owner: Int64
    }

    /// Lets each object of a class with its first parent, by the order of classes, properties and keys, alone. Returns
    /// how many had more.
    private func takeFromOthers(_ index: Int) throws(StoreError) -> Int {
        var from: Int64? = 0, count = 0
        while let first = from {
            let (found, next) = try collect(index, from: first) { (_, parents) in parents > 1 }
            for key in found { try takeFromOthers(index, key) }
            count += found.count
            from = next
        }
        return count
    }

    private func takeFromOthers(_ index: Int, _ key: Int64) throws(StoreError) {
        let incoming = target.schema.incoming[index]
        var parents: [ParentLink] = []
        for (number, link) in incoming.enumerated() {
            for owner in try owners(link, key) where !parents.contains(ParentLink(link: number, owner: owner)) {
                parents.append(ParentLink(link: number, owner: owner))
            }
        }
        for (place, parent) in parents.enumerated() {
            let link = incoming[parent.link], origin = try target.state(link.classIndex)
            if link.isCollection {
                try origin.removeLinks(parent.owner, link.property, to: key, keepsFirst: place == 0)
            } else if place > 0 {
                try origin.replayUpdate(
                    parent.owner, [(columnID: origin.schema.columns[link.property].id, value: .null)])
            }
            try target.didChange()
        }
    }

    private func owners(_ link: IncomingLink, _ key: Int64) throws(StoreError) -> [Int64] {
        let reader = try target.state(link.classIndex).linkIndex(link.property, isCollection: link.isCollection)
        var owners: [Int64] = []
        func take(_ owner: Int64) -> Bool {
            owners.append(owner)
            return true
        }
        if link.isCollection {
            try reader.forEachOwner(of: key) { (owner) throws(StoreError) in take(owner) }
        } else {
            _ = try reader.forEach(.equal, Value(kind: .link, low: key)) { (owner) throws(StoreError) in take(owner) }
        }
        return owners
    }

    // MARK: None

    private func orphans(_ index: Int, from first: Int64) throws(StoreError) -> (found: [Int64], next: Int64?) {
        try collect(index, from: first) { (_, parents) in parents == 0 }
    }

    private func circles(_ index: Int, from first: Int64) throws(StoreError) -> (found: [Int64], next: Int64?) {
        let transaction = target.transaction
        var circles = EmbeddingCircles(target.schema) { (link) throws(StoreError) in
            try transaction.state(link.classIndex).linkIndex(link.property, isCollection: link.isCollection)
        }
        return try collect(index, from: first) { (key, _) throws(StoreError) in try circles.has(index, key) }
    }

    private func leaveOut(
        _ index: Int, _ classes: inout [ClassSalvage], _ what: String, _ lose: (String) throws(StoreError) -> Void,
        _ find: (Int64) throws(StoreError) -> (found: [Int64], next: Int64?)
    ) throws(StoreError) {
        var from: Int64? = 0, all: [Int: Int] = [:]
        while let first = from {
            let (found, next) = try find(first)
            all.merge(try target.leaveOut(index, found), uniquingKeysWith: +)
            from = next
        }
        for (cls, count) in all.sorted(by: { $0.key < $1.key }) {
            classes[cls].didLoseParents(count)
            try lose("class \(target.schema.classes[cls].name): \(count) \(what), and were left out")
        }
    }

    /// The next objects of a class that are meant, by their key and how many links lead to them, and where to continue.
    private func collect(
        _ index: Int, from first: Int64, _ isMeant: (Int64, Int) throws(StoreError) -> Bool
    ) throws(StoreError) -> (found: [Int64], next: Int64?) {
        var found: [Int64] = []
        let next = try target.transaction.forEachParentCount(of: try target.state(index), from: first) {
            (key, parents) throws(StoreError) in
            if try isMeant(key, parents) { found.append(key) }
            return found.count < ParentSalvage.window
        }
        return (found, next)
    }
}

extension ClassState {
    /// Takes the links to an object out of a list, set or map; in a map their keys get null.
    fileprivate func removeLinks(_ owner: Int64, _ property: Int, to target: Int64, keepsFirst: Bool) throws(StoreError)
    {
        var isFirst = keepsFirst
        // Called for each element, in their order.
        _ = try removeLinks(
            owner, property,
            where: .such { key in
                if key != target { return false }
                defer { isFirst = false }
                return !isFirst
            })
    }
}

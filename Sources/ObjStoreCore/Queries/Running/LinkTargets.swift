/// What the links of a query's tests lead to, found once for each time that it is asked.
final class LinkTargets {
    /// Whose tests they are.
    let cls: ClassSchema
    private var targets: [ObjectIdentifier: KeyBuffer] = [:]
    private var owners: [ObjectIdentifier: KeyBuffer] = [:]

    init(_ cls: ClassSchema) { self.cls = cls }

    func targets(_ query: Query, _ find: () throws(StoreError) -> KeyBuffer) throws(StoreError) -> KeyBuffer {
        try LinkTargets.known(&targets, query, find)
    }

    func owners(_ query: Query, _ find: () throws(StoreError) -> KeyBuffer) throws(StoreError) -> KeyBuffer {
        try LinkTargets.known(&owners, query, find)
    }

    private static func known(
        _ all: inout [ObjectIdentifier: KeyBuffer], _ query: Query, _ find: () throws(StoreError) -> KeyBuffer
    ) throws(StoreError) -> KeyBuffer {
        if let known = all[ObjectIdentifier(query)] { return known }
        let found = try find()
        all[ObjectIdentifier(query)] = found
        return found
    }
}

/// A condition about what a link leads to is asked of the class that it leads to, once; then the links are followed
/// back: by the index of a link, or the inverse of a collection, where it finds few objects; else the column of links
/// is looked through for them.
extension BoundTest {
    var isCollection: Bool { cls.columns[position].kind.isCollection }

    /// Ascending.
    private func targets() throws(StoreError) -> KeyBuffer {
        let query = test.targets.unsafelyUnwrapped
        func find() throws(StoreError) -> KeyBuffer {
            // One query inside of another for each link of a path.
            try Stack.check()
            let found = try QueryRun(query, trees).keys()
            return InjectedBug.active(.queryTargetMissing) ? try found.part(0..<max(0, found.count - 1)) : found
        }
        guard let links else { return try find() }
        return try links.targets(query, find)
    }

    /// Of a collection: those that have a link to one of the targets, ascending.
    func owners() throws(StoreError) -> KeyBuffer {
        let query = test.targets.unsafelyUnwrapped
        func find() throws(StoreError) -> KeyBuffer {
            let targets = try targets()
            return try targets.count <= trees.objectCount(cls) ? ownersBack(from: targets) : ownersAhead(to: targets)
        }
        guard let links else { return try find() }
        return try links.owners(query, find)
    }

    private func ownersBack(from targets: KeyBuffer) throws(StoreError) -> KeyBuffer {
        let inverse = try trees.inverse(cls, position), found = KeyBuffer()
        for index in 0..<targets.count {
            try inverse.forEachOwner(of: targets.keys[index]) { (key) throws(StoreError) in
                try found.append(key)
                return true
            }
        }
        return try found.ascending()
    }

    /// Where there are fewer objects than targets.
    private func ownersAhead(to targets: KeyBuffer) throws(StoreError) -> KeyBuffer {
        let reader = try trees.objects(cls), set = try NumberSet(targets), found = KeyBuffer()
        var next = try reader.seek(0)
        while let row = next {
            var isOwner = false
            try trees.elements(row, cls, position, reader).forEach { (_, link) throws(StoreError) in
                isOwner = !link.isNull && set.contains(link.low)
                return !isOwner
            }
            if isOwner { try found.append(row.key) }
            next = try reader.next(row)
        }
        return found
    }

    /// More targets are not looked up one by one.
    private static let fewTargets = 1000

    /// How many objects have such a link; nil: only a scan knows.
    func countLinks() throws(StoreError) -> Int? {
        if isCollection { return try owners().count }
        let targets = try targets()
        guard targets.count <= BoundTest.fewTargets else { return nil }
        return try withLinkIndex { (index) throws(StoreError) in
            var count = 0
            for number in 0..<targets.count {
                count += try index.count(.equal, Value(kind: .link, low: targets.keys[number]))
            }
            return count
        }
    }

    /// Ascending; nil: a scan is the better way.
    func keysOfLinks() throws(StoreError) -> KeyBuffer? {
        if isCollection { return try owners() }
        guard let count = try countLinks(), try count <= mostSorted else { return nil }
        let targets = try targets()
        return try withLinkIndex { (index) throws(StoreError) in
            let found = KeyBuffer()
            for number in 0..<targets.count {
                try index.forEach(.equal, Value(kind: .link, low: targets.keys[number])) { (key) throws(StoreError) in
                    try found.append(key)
                    return true
                }
            }
            try found.sort()
            return found
        }
    }

    private func withLinkIndex<T>(_ body: (IndexReader) throws(StoreError) -> T) throws(StoreError) -> T? {
        try trees.withIndex(cls, position, finding: Value(kind: .link), body)
    }

    /// Of a scan: nil: it is about something else.
    func linkStep() throws(StoreError) -> LeafScan.Step? {
        guard source == .targets else { return nil }
        if isCollection { return .keys(try owners()) }
        return .members(position, try NumberSet(try targets()))
    }
}

/// Objects that go with others: embedded ones with their parent, and what a cascading link leads to with the object
/// that has it.
///
/// ```
///  Person#3 ── address ──► Address#8 (embedded)         delete Person#3:  Person#3, Address#8, Dog#4 go;
///     └────── dogs: cascades ──► Dog#4 ◄── Club#1.dogs                    Club#1.dogs loses an element
/// ```
/// All that will go is found first, each object once, so that circles end. Then one after the other goes like any
/// object: its links leave their inverses, links to it become null, both are logged as what they are, and a replay
/// derives nothing.
///
/// That an embedded object has one parent is kept by `View`: only what makes the object gives it to a property. Its
/// parent is found by the inverses of the properties that lead to its class; nothing is stored in the object.
extension WriteTransaction {
    /// Deletes an object of a class with owning links.
    func deleteOwner(_ state: ClassState, _ key: Int64) throws(StoreError) {
        _ = try state.row(key)
        try delete(try victims([(Int(state.schema.id), key)]))
    }

    /// Deletes embedded objects that no link leads to any more, and what goes with them.
    func deleteOrphans(_ classIndex: Int, _ keys: [Int64]) throws(StoreError) {
        if keys.isEmpty { return }
        try delete(try victims(keys.map { (classIndex, $0) }))
    }

    func deleteAllOwners(_ state: ClassState) throws(StoreError) -> Int {
        let count = state.objectCount
        var all: [(classIndex: Int, key: Int64)] = []
        let reader = try state.cluster.reader()
        var next = try reader.seek(.min)
        while let row = next {
            all.append((Int(state.schema.id), row.key))
            next = try reader.next(row)
        }
        try delete(try victims(all))
        return count
    }

    /// What fails leaves the transaction fit for nothing but cancelling, unless nothing was deleted.
    private func delete(_ victims: [(classIndex: Int, key: Int64)]) throws(StoreError) {
        var last: ClassState?
        do throws(StoreError) {
            for (classIndex, key) in victims {
                let state = try state(classIndex)
                if state.incoming.isEmpty, try !hasMixedLinks(to: state) {
                    try state.delete(key)
                } else {
                    try deleteAlone(state, key)
                }
                last = state
            }
        } catch {
            last?.isBroken = true
            throw error
        }
    }

    /// Some objects, and all that go with them, owners before what they own.
    private func victims(
        _ first: [(classIndex: Int, key: Int64)], onlyEmbedded: Bool = false
    ) throws(StoreError) -> [(classIndex: Int, key: Int64)] {
        struct Victim: Hashable {
            let classIndex: Int
            let key: Int64
        }
        var known = Set<Victim>(minimumCapacity: first.count), all: [(classIndex: Int, key: Int64)] = []
        func add(_ classIndex: Int, _ key: Int64) {
            if known.insert(Victim(classIndex: classIndex, key: key)).inserted { all.append((classIndex, key)) }
        }
        for victim in first { add(victim.classIndex, victim.key) }
        var next = 0
        while next < all.count {
            let (classIndex, key) = all[next], state = try state(classIndex)
            next += 1
            if state.owning.isEmpty || InjectedBug.active(.cascadeShallow) && next > first.count { continue }
            let row = try state.row(key)
            for link in state.owning where link.isEmbedding || !onlyEmbedded {
                try state.forEachTarget(row, link) { key in add(link.target, key) }
            }
        }
        return all
    }

    /// Deletes the embedded objects of a class that have no parent, and what goes with them. Cost: O(n). Returns how
    /// many.
    ///
    /// Where the class becomes embedded, what lies in an object does not go with it yet, for it may have other parents:
    /// it goes where it has none any more.
    func deleteOrphans(_ classIndex: Int) throws(StoreError) -> Int {
        let state = try state(classIndex)
        var orphans: [Int64] = [], total = 0
        try forEachParentCount(of: state) { (key, parents) in
            if parents == 0 { orphans.append(key) }
            return true
        }
        while !orphans.isEmpty {
            let inside = state.schema.becomesEmbedded ? try targets(of: orphans, state) : []
            try deleteOrphans(classIndex, orphans)
            total += orphans.count
            orphans = []
            for key in inside where try state.contains(key) {
                if try hasNoParent(state, key) { orphans.append(key) }
            }
        }
        return total
    }

    /// The objects of a class that others of it lead to.
    private func targets(of keys: [Int64], _ state: ClassState) throws(StoreError) -> Set<Int64> {
        var found = Set<Int64>()
        for link in state.incoming where link.classIndex == Int(state.schema.id) {
            let owning = OwningLink(
                property: link.property, target: link.classIndex, isCollection: link.isCollection, isEmbedding: false)
            for key in keys { try state.forEachTarget(try state.row(key), owning) { found.insert($0) } }
        }
        return found
    }

    private func hasNoParent(_ state: ClassState, _ key: Int64) throws(StoreError) -> Bool {
        for link in state.incoming {
            let origin = try self.state(link.classIndex)
            if try link.count(to: key, try origin.linkIndex(link.property, isCollection: link.isCollection)) > 0 {
                return false
            }
        }
        return true
    }

    /// Deletes embedded objects and what is embedded in them, but not what their links cascade to: they are left
    /// out, not deleted by the program. Returns how many of each class.
    func leaveOut(_ classIndex: Int, _ keys: [Int64]) throws(StoreError) -> [Int: Int] {
        let all = try victims(keys.map { (classIndex, $0) }, onlyEmbedded: true)
        try delete(all)
        return Dictionary(all.map { ($0.classIndex, 1) }, uniquingKeysWith: +)
    }

    /// Calls `body` with the key of each object of a class, from a key on, and how many links lead to it, until it
    /// returns false. Returns the key to continue with; nil: that was all.
    @discardableResult
    func forEachParentCount(
        of state: ClassState, from first: Int64 = .min, _ body: (Int64, Int) throws(StoreError) -> Bool
    ) throws(StoreError) -> Int64? {
        var indexes: [(link: IncomingLink, reader: IndexReader)] = []
        for link in state.incoming {
            let origin = try self.state(link.classIndex)
            indexes.append((link, try origin.linkIndex(link.property, isCollection: link.isCollection)))
        }
        let reader = try state.cluster.reader()
        var next = try reader.seek(first)
        while let row = next {
            var parents = 0
            for (link, reader) in indexes { parents += try link.count(to: row.key, reader) }
            if try !body(row.key, parents) { return row.key + 1 }
            next = try reader.next(row)
        }
        return nil
    }
}

extension ClassState {
    /// Calls `body` with the key of each object that an owning property leads to.
    func forEachTarget(_ row: RowPosition, _ link: OwningLink, _ body: (Int64) -> Void) throws(StoreError) {
        if link.isCollection {
            try elements(row, link.property).forEach { (_, value) throws(StoreError) in
                if !value.isNull { body(value.low) }
                return true
            }
            return
        }
        let value = try value(row, link.property)
        if !value.isNull { body(value.low) }
    }

    /// Which objects link to which by a property.
    func linkIndex(_ property: Int, isCollection: Bool) throws(StoreError) -> IndexReader {
        if isCollection { return try inverses[schema.inversePosition(of: property)!].reader() }
        return try indexes[schema.indexPosition(of: property)!].reader()
    }

    /// The class of the embedded objects that a property holds; nil: it holds none.
    func embedded(_ property: Int) -> OwningLink? {
        for link in owning where link.isEmbedding && link.property == property { return link }
        return nil
    }
}

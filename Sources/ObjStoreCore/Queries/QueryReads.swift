/// What an answer depends on: changes of anything else leave it as it is.
///
/// ```
///  owner.city == "Bern" SORT(age ASC)      Dog.owner, Person.city, Dog.age
///                                          objects of Dog and Person that come and go
/// ```
struct QueryReads: Sendable, Hashable {
    /// Ids, of any classes.
    private(set) var properties: Set<UInt32> = []
    /// As indexes in the schema. Of a class of which a property is read, new objects and deleted ones count.
    private(set) var classes: Set<Int> = []
    /// Any modification counts: all of them stand in an index.
    private(set) var wholeClasses: Set<Int> = []
    /// Some path leads to objects of whatever class: everything counts.
    private(set) var leadsAnywhere = false

    init(_ query: Query) { add(query) }

    init(_ query: TableQuery) {
        add(query.objects)
        for value in query.values { add(value) }
    }

    /// Of what elements are asked; not the elements.
    init(_ query: ValueQuery) { self.init(query.steps) }
    init(_ steps: [QueryStep]) { add(steps) }

    private mutating func add(_ query: Query) {
        classes.insert(ClassID.index(query.classID))
        if case .collection(let collection) = query.origin { add([collection.propertyID]) }
        if case .stretch = query.origin { wholeClasses.insert(ClassID.index(query.classID)) }
        add(query.predicate)
        add(query.steps)
    }

    private mutating func add(_ steps: [QueryStep]) {
        for step in steps {
            switch step {
            case .sort(let keys), .distinct(let keys): for key in keys { add(key) }
            case .filter(let predicate): add(predicate)
            case .limit, .offset: break
            }
        }
    }

    mutating func add(_ key: SortKey) { add(key.of) }

    private mutating func add(_ value: ObjectValue) {
        add(value.properties)
        if let path = value.path { add(path.properties, leadsAnywhere: path.leadsAnywhere) }
    }

    /// What a function reads is not known.
    mutating func addAnything() { leadsAnywhere = true }

    private mutating func add(_ predicate: Predicate) {
        for node in predicate.nodes {
            switch node {
            case .test(let test):
                add([test.propertyID])
                if let targets = test.targets { add(targets) }
            case .values(let test): add(test.properties)
            case .paths(let test): add(test.properties, leadsAnywhere: test.leadsAnywhere)
            case .truth, .not, .and, .or: break
            }
        }
    }

    private mutating func add(_ ids: [UInt32], leadsAnywhere: Bool = false) {
        for id in ids {
            properties.insert(id)
            classes.insert(PropertyID.classIndex(id))
        }
        self.leadsAnywhere = self.leadsAnywhere || leadsAnywhere
    }

    /// Whether what happened between two versions may have changed the answer.
    ///
    /// - Parameter schema: of the second; properties have other places in that of the first where it is another.
    func concern(_ changes: [UInt32: ClassChanges], _ schema: Schema) -> Bool {
        if leadsAnywhere { return !changes.isEmpty }
        for index in classes {
            guard let changes = changes[UInt32(index)], !changes.isEmpty else { continue }
            if !changes.inserted.isEmpty || !changes.deleted.isEmpty || wholeClasses.contains(index) { return true }
            var mask = [UInt64](repeating: 0, count: changes.maskWords)
            for id in properties where PropertyID.classIndex(id) == index {
                // Dropped: whoever asks is told.
                guard let place = try? schema.classes[index].position(id) else { return true }
                mask[place >> 6] |= 1 << UInt64(place & 63)
            }
            for number in changes.masks.indices where changes.masks[number] & mask[number % changes.maskWords] != 0 {
                return true
            }
        }
        return false
    }
}

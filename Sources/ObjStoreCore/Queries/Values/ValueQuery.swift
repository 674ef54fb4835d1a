/// A question to a list, set or map of plain values: which of its elements, and in what order. Immutable; any thread
/// may ask it, in any view of its store.
///
/// ```
///  list ──► elements ──► filter ──► sort, distinct, limit, offset, filter … ──► FoundValues
///           @self is one            in the order in which they were said
/// ```
package final class ValueQuery: Sendable {
    package let collection: CollectionID
    /// What the elements are.
    let kind: ValueKind
    /// They have keys.
    let isOfMap: Bool
    /// For messages: class and property.
    private let path: String
    let storeTag: UInt32
    /// Conditions are steps, too. Of each filter the predicate is one test of paths that begin with an element.
    let steps: [QueryStep]
    /// Functions of the application are called while it is asked.
    package let callsFunctions: Bool
    /// Nil: an answer to it cannot follow what happens to the collection.
    let followable: FollowableValues?
    /// They own the bytes that the steps point to.
    private let trees: [QueryTree]

    private init(_ other: ValueQuery, then steps: [QueryStep], _ trees: [QueryTree]) {
        (collection, kind, path, storeTag) = (other.collection, other.kind, other.path, other.storeTag)
        isOfMap = other.isOfMap
        self.steps = other.steps + steps
        self.trees = other.trees + trees
        callsFunctions = other.callsFunctions || steps.contains(where: \.callsFunctions)
        followable = FollowableValues(self.steps, of: kind, isOfMap: isOfMap)
    }

    /// All elements.
    init(
        _ collection: CollectionID, _ trees: TreeAccess, _ cls: ClassSchema, _ position: Int, _ names: StoredNames
    ) {
        self.collection = collection
        kind = cls.elements(of: position).kind
        isOfMap = cls.columns[position].kind == .map
        path = "\(names.name(cls)).\(names.name(cls, position))"
        storeTag = trees.storeTag
        (steps, self.trees, callsFunctions) = ([], [], false)
        followable = FollowableValues([], of: kind, isOfMap: isOfMap)
    }

    /// What `next` finds among what this one finds, and in its order.
    ///
    /// Errors: `.invalidArgument`: they are of two collections; `.wrongStore`.
    package func then(_ next: ValueQuery) throws(StoreError) -> ValueQuery {
        if storeTag != next.storeTag { throw StoreError(.wrongStore, "the queries are of two stores") }
        guard collection.propertyID == next.collection.propertyID, collection.owner.key == next.collection.owner.key
        else { throw StoreError(.invalidArgument, "the queries are of two collections") }
        return ValueQuery(self, then: next.steps, next.trees)
    }

    /// What nodes find among these: a condition, or a `query` of one and steps.
    ///
    /// Errors: as of a query of objects, with the name of the collection.
    func then(
        _ tree: QueryTree, _ trees: TreeAccess, _ cls: ClassSchema, _ names: StoredNames, _ functions: QueryFunctions
    ) throws(StoreError) -> ValueQuery {
        do throws(StoreError) {
            var binder = try QueryBinder(tree.nodes, trees, cls, names, functions)
            binder.element = kind
            return ValueQuery(self, then: try binder.bindElements(), [tree])
        } catch { throw named(error) }
    }

    /// An aggregate over what it has found; nulls and NaN do not count. Of nothing the sum is 0, the others are null.
    /// Bytes are those of `values`.
    ///
    /// Errors: `.wrongType`: values of the kind have none; `.outOfRange`: a sum of ints leaves 64 bits.
    package func aggregate(_ aggregate: AggregateKind, of values: FoundValues) throws(StoreError) -> Value {
        do throws(StoreError) { return try values.aggregate(aggregate, of: kind) } catch { throw named(error) }
    }

    private func named(_ error: StoreError) -> StoreError { error.prefixed("\(path): ") }
}

extension QueryBinder {
    /// The same as `bind`, about elements: see `element`.
    func bindElements() throws(StoreError) -> [QueryStep] {
        let root = nodes.count - 1, operands = nodes[root].kind == .query ? operands(root) : [root]
        var found: [QueryStep] = []
        let condition = operands[0]
        if nodes[condition].kind != .truth || nodes[condition].number == 0 {
            let test = try PathTest(ofElements: condition, self)
            found.append(.filter(try Predicate([.paths(test)])))
        }
        for operand in operands.dropFirst() {
            if nodes[operand].kind == .group || nodes[operand].kind == .select {
                throw error(.notSupported, operand, "GROUP and SELECT are about objects: plain values have no tables")
            }
            found.append(try step(operand))
        }
        return found
    }
}

extension ClassSchema {
    /// The position of a property that is a collection of plain values: of anything but objects of one class.
    func collectionOfValues(_ propertyID: UInt32) throws(StoreError) -> Int {
        let position = try collection(propertyID)
        if elements(of: position).kind == .link {
            throw wrongCollection(position, "a collection of plain values", "its elements are objects")
        }
        return position
    }
}

/// A question to a list, set or map of plain values: which of its elements, and in what order. Immutable; any thread may
/// ask it, in any view of its store.
///
/// ```
///  list ──► elements ──► filter ──► sort, distinct, limit, offset, filter … ──► FoundValues
///           @self is one            in the order in which they were said
/// ```
package final class ValueQuery: Sendable {
    package let collection: CollectionID
    let storeTag: UInt32
    /// Conditions are steps, too. Of each filter the predicate is one test of paths that begin with an element.
    let steps: [QueryStep]
    /// Functions of the application are called while it is asked.
    package let callsFunctions: Bool
    /// They own the bytes that the steps point to.
    private let trees: [QueryTree]

    init(_ collection: CollectionID, storeTag: UInt32, steps: [QueryStep] = [], trees: [QueryTree] = []) {
        self.collection = collection
        self.storeTag = storeTag
        self.steps = steps
        self.trees = trees
        callsFunctions = steps.contains(where: \.callsFunctions)
    }

    /// What `next` finds among what this one finds, and in its order.
    ///
    /// Errors: `.invalidArgument`: they are of two collections; `.wrongStore`.
    package func then(_ next: ValueQuery) throws(StoreError) -> ValueQuery {
        if storeTag != next.storeTag { throw StoreError(.wrongStore, "the queries are of two stores") }
        guard collection.propertyID == next.collection.propertyID, collection.owner.key == next.collection.owner.key
        else { throw StoreError(.invalidArgument, "then: the queries are of two collections") }
        return ValueQuery(collection, storeTag: storeTag, steps: steps + next.steps, trees: trees + next.trees)
    }
}

extension ValueQuery {
    /// Of nodes, which are a condition, or a `query` of one and steps.
    ///
    /// Errors: as of a query of objects, with the name of the collection.
    convenience init(
        _ collection: CollectionID, _ tree: QueryTree, _ trees: TreeAccess, _ cls: ClassSchema, _ position: Int,
        _ storedNames: StoredNames, _ functions: QueryFunctions
    ) throws(StoreError) {
        let steps: [QueryStep]
        do throws(StoreError) {
            var binder = try QueryBinder(tree.nodes, trees, cls, storedNames, functions)
            binder.element = cls.elements(of: position).kind
            steps = try binder.bindElements()
        } catch {
            let name = "\(storedNames.name(cls)).\(storedNames.name(cls, position))"
            throw cls.named(error.prefixed("\(name): "), position)
        }
        self.init(collection, storeTag: trees.storeTag, steps: steps, trees: [tree])
    }
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

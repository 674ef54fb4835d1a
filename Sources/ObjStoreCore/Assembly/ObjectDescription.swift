/// Describes an object of a view, with everything that its links lead to, so that it can be created elsewhere, mostly
/// in another store.
///
/// ```
///  Person#1 ──► Dog#3 ──► Toy#5         parts: Toy#5, Dog#3, Dog#4, Person#1
///     └───────► Dog#4 ──► Toy#5         each once, and behind all that it leads to
/// ```
package struct ObjectDescription {
    struct Part {
        let object: ObjectID
        let className: String
        /// Its links lead to objects of the view.
        let describer: Describer
    }

    /// The last one is the object itself.
    let parts: [Part]
    /// An object that something leads to again, and its class has a primary key: what it is, for messages.
    let repeated: (className: String, text: String)?
    let isOfSameStore: Bool

    /// - Parameter isOfSameStore: links stay links to the same objects.
    /// Errors: `.invalidArgument`: the links lead in a circle. Complexity: O(what is described).
    init(
        of object: ObjectID, _ trees: TreeAccess, _ declared: DeclaredOrder, storeTag: UInt32, isOfSameStore: Bool
    ) throws(StoreError) {
        var parts: [Part] = [], repeated: (className: String, text: String)?
        /// Begun, and how many of its links have been followed; described.
        var open: [(part: Part, next: Int)] = [], states: [ObjectID: Bool] = [:]
        func begin(_ object: ObjectID) throws(StoreError) {
            let cls = try trees.schema.cls(of: object, in: storeTag),
                describer = Describer(trees, declared, storeTag: storeTag)
            try describer.describe(object, depth: 0)
            open.append(
                (
                    Part(object: object, className: cls.name, describer: describer),
                    isOfSameStore ? describer.values.count : 0
                ))
            states[object] = false
        }
        try begin(object)
        while let (part, next) = open.last {
            guard let index = part.describer.values[next...].firstIndex(where: { $0.kind == .link }) else {
                states[part.object] = true
                parts.append(part)
                open.removeLast()
                continue
            }
            open[open.count - 1].next = index + 1
            let target = part.describer.values[index].givenObject, cls = try trees.schema.cls(of: target, in: storeTag)
            switch states[target] {
            case nil: try begin(target)
            case false?:
                let what =
                    """
                    a cyclic graph cannot be copied: \(part.className)#\(part.object.key) leads back to \
                    \(cls.name)#\(target.key)
                    """
                throw StoreError(.invalidArgument, what).at(class: cls.name)
            case true?:
                if cls.keyIndex != nil, repeated == nil { repeated = (cls.name, "\(cls.name)#\(target.key)") }
            }
        }
        self.parts = parts
        self.repeated = repeated
        self.isOfSameStore = isOfSameStore
    }
}

/// Describes an object of a view, with everything that its links lead to, so that it can be created elsewhere, mostly
/// in another store.
///
/// ```
///  Person#1 ──► Dog#3 ──► Toy#5         parts: Toy#5, Dog#3, Dog#4, Person#1
///     └───────► Dog#4 ──► Toy#5         each once, and behind all that it leads to
/// ```
package struct ObjectDescription {
    fileprivate struct Part {
        let object: ObjectID
        let className: String
        /// Its links lead to objects of the view.
        let describer: Describer
    }

    /// The last one is the object itself.
    fileprivate let parts: [Part]
    /// An object that something leads to again, and its class has a primary key: what it is, for messages.
    fileprivate let repeated: (className: String, text: String)?
    fileprivate let isOfSameStore: Bool
}

extension View {
    /// In the same store it links to the same objects.
    ///
    /// `.invalidArgument`: the links lead in a circle. Cost: O(what is described).
    package func description(of object: ObjectID, for target: SharedStore?) throws(StoreError) -> ObjectDescription {
        try serialised { () throws(StoreError) in
            let isOfSameStore = shared === target
            var parts: [ObjectDescription.Part] = [], repeated: (className: String, text: String)?
            /// Begun, and how many of its links have been followed; described.
            var open: [(part: ObjectDescription.Part, next: Int)] = [], states: [ObjectID: Bool] = [:]
            func begin(_ object: ObjectID) throws(StoreError) {
                let cls = try classOf(object, try schema), describer = Describer(self)
                try describer.describe(object, depth: 0)
                open.append(
                    (
                        ObjectDescription.Part(object: object, className: cls.name, describer: describer),
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
                let target = part.describer.values[index].givenObject, cls = try classOf(target, try schema)
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
            return ObjectDescription(parts: parts, repeated: repeated, isOfSameStore: isOfSameStore)
        }
    }

    /// Makes an object of a description, whose classes and properties are found by their names, or updates the one with
    /// its primary key; all or nothing. Without a policy, what has a primary key is led to once: a second copy would
    /// have the same.
    package func create(
        _ description: ObjectDescription, _ policy: UpsertPolicy
    ) throws(StoreError) -> (ObjectID, UpsertOutcome) {
        if policy == .error, !description.isOfSameStore, let repeated = description.repeated {
            let what =
                """
                the objects to be copied lead twice to \(repeated.text), and the second copy would have the primary \
                key of the first; a policy makes one of them
                """
            throw StoreError(.duplicateKey, what).at(class: repeated.className)
        }
        let savepoint = try beginSavepoint()
        do throws(StoreError) {
            var made: [ObjectID: ObjectID] = [:], last: (ObjectID, UpsertOutcome)?
            for (number, part) in description.parts.enumerated() {
                let result = try create(
                    part, isRoot: number == description.parts.count - 1, description.isOfSameStore ? nil : made, policy)
                made[part.object] = result.0
                last = result
            }
            try releaseSavepoint(savepoint)
            return last.unsafelyUnwrapped
        } catch {
            try rollBack(toSavepoint: savepoint)
            throw error
        }
    }

    /// - Parameter made: what became of the objects that links lead to; nil: they are of this store.
    private func create(
        _ part: ObjectDescription.Part, isRoot: Bool, _ made: [ObjectID: ObjectID]?, _ policy: UpsertPolicy
    ) throws(StoreError) -> (ObjectID, UpsertOutcome) {
        let cls = try findClass(part.className)
        var values = part.describer.values
        if let made {
            for index in values.indices where values[index].kind == .link {
                values[index] = .link(made[values[index].givenObject].unsafelyUnwrapped)
            }
        }
        // Without a primary key it can only be created, unless that is what was requested.
        let hasKey = try classInfo(cls).keyIndex != 0
        defer { withExtendedLifetime(part.describer) {} }
        var result: Result<(ObjectID, UpsertOutcome), StoreError>!
        values.withUnsafeBufferPointer { values in
            result = Result { () throws(StoreError) in try create(cls, from: values, isRoot || hasKey ? policy : .error)
            }
        }
        return try result.get()
    }
}

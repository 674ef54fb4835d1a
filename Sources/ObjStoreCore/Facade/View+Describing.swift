/// Objects as nested values, and as descriptions from which they are made elsewhere.
extension View {
    /// An object as nested values, all of whose texts are copied into `buffer`, or borrowed during `body` where there
    /// is none.
    package func describe<T>(
        _ object: ObjectID, depth: Int, _ buffer: UnsafeMutablePointer<OutputBuffer>?,
        _ body: ([Value]) throws(StoreError) -> T
    ) throws(StoreError) -> T {
        let describer = try serialised { () throws(StoreError) in
            let describer = Describer(try trees, store.order, storeTag: shared.tag)
            try describer.describe(object, depth: depth)
            return describer
        }
        defer { withExtendedLifetime(describer) {} }
        guard let buffer else { return try body(describer.values) }
        try Memory.check(for: describer.values.count, each: MemoryLayout<Value>.stride)
        var values = describer.values
        try values.withUnsafeMutableBufferPointer { (values) throws(StoreError) in
            if let base = values.baseAddress { try OutputBuffer.copy(base, values.count, into: buffer) }
        }
        return try body(values)
    }

    package func checkWriting() throws(StoreError) { if kind != .transaction { throw notInWrite } }

    /// In the same store it links to the same objects.
    ///
    /// `.invalidArgument`: the links lead in a circle. Cost: O(what is described).
    package func description(of object: ObjectID, for target: SharedStore?) throws(StoreError) -> ObjectDescription {
        try serialised { () throws(StoreError) in
            try ObjectDescription(
                of: object, try trees, store.order, storeTag: shared.tag, isOfSameStore: shared === target)
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

/// The scope of an observer: all objects of a class, those that satisfy one comparison or have a link in a collection,
/// or one object.
package struct ObservedQuery: Sendable {
    package let classID: UInt32
    /// Nil: all objects.
    private let condition: Condition?
    /// Nil: not one object.
    private var key: Int64?
    /// Ids of the columns whose modifications count; nil: of all.
    private var columnIDs: [UInt32]?

    private struct Condition: Sendable {
        let columnID: UInt32
        let comparison: Comparison
        let constant: OwnedValue
        /// It is a link that mixed values have anywhere inside.
        let isInside: Bool
    }

    package init(class cls: ClassSchema) {
        classID = cls.id
        condition = nil
    }

    /// - Parameter constant: of the property's kind, or null; its bytes are copied. Of a collection of links: one that
    ///   it has (`equal`).
    /// - Parameter isInside: the constant is a link, and the values of a mixed property, or of a collection of them,
    ///   have it anywhere inside.
    package init(
        class cls: ClassSchema, property: Int, _ comparison: Comparison, _ constant: Value, isInside: Bool = false
    ) throws(StoreError) {
        guard cls.columns.indices.contains(property) else {
            throw StoreError(.noSuchProperty, "class \(cls.name) has no property \(property)").at(class: cls.name)
        }
        let spec = cls.columns[property]
        let isLinked = cls.inversePosition(of: property) != nil && constant.kind == .link && comparison == .equal
        guard constant.isNull || constant.kind == spec.kind || spec.kind == .mixed || isLinked || isInside else {
            let name = cls.properties[property].name
            throw StoreError(
                .wrongType, "\(cls.name).\(name) is of type \(spec.kind), the constant is \(constant.kind)"
            ).at(class: cls.name, property: name)
        }
        classID = cls.id
        condition = Condition(
            columnID: spec.id, comparison: comparison, constant: OwnedValue(constant), isInside: isInside)
    }

    package var isWholeClass: Bool { condition == nil }

    /// Only what happens to one object.
    package func only(_ key: Int64) -> ObservedQuery {
        var query = self
        query.key = key
        return query
    }

    /// Only modifications of one of the properties (positions in `cls`); insertions and deletions are reported all the
    /// same.
    package func modified(in properties: [Int], of cls: ClassSchema) -> ObservedQuery {
        var query = self
        query.columnIDs = properties.map { cls.columns[$0].id }
        return query
    }

    /// Position in a version of the class of the property that the answer depends on.
    func property(in cls: ClassSchema) -> Int? {
        condition.flatMap { condition in cls.columns.firstIndex { $0.id == condition.columnID } }
    }

    /// The keys that satisfy it in a version, ascending. Costs a scan.
    func keys(in snapshot: Snapshot) throws(StoreError) -> KeyBuffer {
        let keys = KeyBuffer()
        guard Int(classID) < snapshot.schema.classes.count else { return keys }
        let cls = snapshot.schema.classes[Int(classID)]
        let reader = try snapshot.trees.objects(cls)
        if let condition {
            guard let property = property(in: cls) else { return keys }
            if condition.isInside, let inverse = try snapshot.trees.mixedInverse(cls, property) {
                return try inverse.owners(of: MixedTarget(condition.constant.value))
            }
            if let inverse = try snapshot.trees.inverse(cls, property) {
                return try inverse.owners(of: condition.constant.value.low)
            }
            try reader.collect(property, condition.comparison, condition.constant.value, into: keys)
        } else {
            var row = try reader.seek(.min)
            while let found = row {
                try keys.append(found.key)
                row = try reader.next(found)
            }
        }
        return keys
    }

    /// Queries one version about single objects.
    struct Test {
        private let reader: ClusterReader
        private let property: Int
        private let condition: Condition
        /// Of a collection of links, or of a mixed property that is searched for links inside.
        private let inverse: IndexReader?

        init?(_ query: ObservedQuery, in snapshot: Snapshot) throws(StoreError) {
            guard let condition = query.condition, Int(query.classID) < snapshot.schema.classes.count else {
                return nil
            }
            let cls = snapshot.schema.classes[Int(query.classID)]
            guard let property = query.property(in: cls) else { return nil }
            self.condition = condition
            self.property = property
            reader = try snapshot.trees.objects(cls)
            inverse =
                condition.isInside
                ? try snapshot.trees.mixedInverse(cls, property) : try snapshot.trees.inverse(cls, property)
        }

        /// The object exists in the version.
        func holds(_ key: Int64) throws(StoreError) -> Bool {
            guard let row = try reader.find(key) else {
                throw StoreError(.corrupt, "the log names the object \(key), which the version does not have")
            }
            if let inverse {
                let link = condition.constant.value
                return try condition.isInside
                    ? inverse.contains(MixedTarget(link).indexed, key)
                    : inverse.contains(target: link.low, occurrence: 0, owner: key)
            }
            return try LeafMatcher.holds(
                condition.comparison, try reader.value(row, property), condition.constant.value,
                in: reader.columns[property].kind)
        }
    }

    /// Turns what happened to objects of the class into what happened to the answer: an object that begins to
    /// satisfy the question is an insertion, one that stops a deletion. Looks at changed objects only.
    func filter(_ changes: ClassChanges, from: Snapshot, to: Snapshot) throws(StoreError) -> ClassChanges {
        var changes = changes
        if let key { changes.keep(only: key) }
        if condition != nil { changes = try holding(changes, from: from, to: to) }
        if let columnIDs {
            let columns = to.schema.classes[Int(classID)].columns
            changes.keepModifications(in: columns.indices.filter { columnIDs.contains(columns[$0].id) })
        }
        return changes
    }

    private func holding(_ changes: ClassChanges, from: Snapshot, to: Snapshot) throws(StoreError) -> ClassChanges {
        var result = ClassChanges(maskWords: changes.maskWords)
        result.isFromOtherProcess = changes.isFromOtherProcess
        let before = try Test(self, in: from), after = try Test(self, in: to)
        if let before {
            for key in changes.deleted where try before.holds(key) { try result.append(.deleted, key) }
        }
        if let after {
            for key in changes.inserted where try after.holds(key) { try result.append(.inserted, key) }
        }
        let property = property(in: to.schema.classes[Int(classID)])
        for (index, key) in changes.modified.enumerated() {
            let mask = changes.masks[(index * changes.maskWords)..<((index + 1) * changes.maskWords)]
            let holds = try after?.holds(key) ?? false
            var held = holds
            if let property, mask[mask.startIndex + property >> 6] >> UInt64(property & 63) & 1 == 0 {
                // The property was not written.
            } else {
                held = try before?.holds(key) ?? false
            }
            switch (held, holds) {
            case (false, false): break
            case (true, false): try result.append(.deleted, key)
            case (false, true): try result.append(.inserted, key)
            case (true, true):
                try result.appendModified(key, mask)
            }
        }
        // What left and what came was found in two passes, each ascending.
        result.deleted.sort()
        result.inserted.sort()
        return result
    }
}

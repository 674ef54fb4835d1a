/// Changes of a class that touch several properties or many objects.
extension ClassState {
    /// Writes several properties of an object, all or none; `positions` are distinct, none is the primary key.
    ///
    /// What has its value already is logged as changed, but not written: its page need not be copied. `row` is what
    /// `row` gave, since when no other was changed.
    package func update(
        _ row: RowPosition, _ positions: UnsafePointer<Int>, _ values: UnsafePointer<Value>, _ count: Int
    ) throws(StoreError) {
        if count == 1 { return try update(row, positions[0], values[0]) }
        var differing = 0, last = 0
        for index in 0..<count where !(try value(row, positions[index]).isSame(as: values[index])) {
            differing += 1
            last = index
        }
        // First what is logged: values may lie in the leaf that changes.
        let mark = ops.mark
        if schema.hasEncodedIndexes {
            // What changes together is replayed together: no compound key exists between the old and the new one.
            ops.update(schema, key: row.key, positions, values, count)
        } else {
            for index in 0..<count {
                ops.update(schema, key: row.key, property: positions[index], value: values[index])
            }
        }
        do throws(StoreError) {
            // One that fails changes nothing, several have to be undone.
            if differing == 1 { try change(row, positions[last], values[last]) }
            if differing > 1 { try changeSeveral(row, positions, values, count) }
        } catch {
            ops.rollBack(to: mark)
            throw error
        }
        hasChanges = true
    }

    func changeSeveral(
        _ row: RowPosition, _ positions: UnsafePointer<Int>, _ values: UnsafePointer<Value>, _ count: Int
    ) throws(StoreError) {
        for index in 0..<count where schema.changePlan(positions[index]) == ClassSchema.changesTogether {
            return try changeTogether(row, positions, values, count)
        }
        var old: [(index: Int, value: OwnedValue)] = []
        for index in 0..<count {
            let value = try value(row, positions[index])
            if !value.isSame(as: values[index]) { old.append((index, try OwnedValue(copying: value))) }
        }
        var done = 0
        do throws(StoreError) {
            while done < old.count {
                let index = old[done].index
                try change(try self.row(row.key), positions[index], values[index])
                done += 1
            }
        } catch {
            undo { () throws(StoreError) in
                for (index, value) in old[..<done].reversed() {
                    try change(try self.row(row.key), positions[index], value.value)
                }
            }
            throw error
        }
    }

    /// Fills an index that is empty with all objects. `.duplicateKey` where two have one key of a unique one.
    fileprivate func fillIndex(_ position: Int, _ transaction: WriteTransaction) throws(StoreError) {
        let index = schema.indexes[position], writer = indexes[position]
        var reader = try self.reader()
        var next = try reader.seek(.min)
        while let row = next {
            let key = try index.extract(row.key, into: lookUpKey) { (property) throws(StoreError) in
                try reader.value(row, property)
            }
            if index.isPrimaryKey {
                for property in index.properties {
                    let count = try reader.value(row, property).count
                    if count <= ClassSchema.longestKey || !schema.columns[property].kind.hasBytes { continue }
                    throw StoreError(
                        .valueTooLarge,
                        """
                        \(schema.name(of: index)) cannot become the primary key: \(schema.name)#\(row.key) has \
                        \(count) bytes there; keys have \(ClassSchema.longestKey) at most
                        """
                    ).at(class: schema.name, property: schema.properties[property].name)
                }
            }
            if index.isUnique, !index.isShared(key, lookUpKey), let other = try writer.find(key) {
                let values = try schema.text(of: index) { (property) throws(StoreError) in
                    try reader.value(row, property)
                }
                throw StoreError(
                    .duplicateKey,
                    """
                    \(schema.name(of: index)) cannot become unique: the objects \(schema.name)#\(other) and \
                    \(schema.name)#\(row.key) both have \(values)
                    """
                ).at(class: schema.name, property: schema.names(of: index))
            }
            try writer.insert(key, row.key)
            if _slowPath(space.isLarge) {
                try transaction.spill()
                reader = try self.reader()
                next = try reader.seek(row.key + 1)
            } else {
                next = try reader.next(row)
            }
        }
        hasChanges = true
    }
}

extension WriteTransaction {
    /// Makes `new` the schema, as the first thing that the transaction does. What indexes become or cease to be is done
    /// at once.
    ///
    /// The commit is a barrier: it is acknowledged with a checkpoint. A log with changes on both sides of a
    /// change of schema need not be replayed that way.
    package func change(to new: Schema) throws(StoreError) {
        let old = schema
        try checkNulls(new)
        for (number, before) in old.classes.enumerated() where !before.isDropped && new.classes[number].isDropped {
            try dropAll(before)
        }
        try setSchema(new)
        isChangingIndexes = true
        defer { isChangingIndexes = false }
        for (number, before) in old.classes.enumerated() where before !== new.classes[number] {
            let after = new.classes[number], state = try state(number)
            // A new property is empty everywhere: its inverse needs only its place in the node.
            if !after.inverses.isEmpty { state.hasChanges = true }
            for (position, index) in after.indexes.enumerated() {
                let known = before.indexes.first { $0.id == index.id }
                if let known, known.isUnique || !index.isUnique {
                    state.hasChanges = true
                    continue
                }
                if known != nil { try state.indexes[position].removeAll() }
                try state.fillIndex(position, self)
            }
        }
        for (number, before) in old.classes.enumerated() where !before.isDropped && new.classes[number].isDropped {
            try clearMixedLinks(toClass: before.classID, exceptOwn: false)
        }
        for (number, cls) in new.classes.enumerated() where cls.isEmbedded && number < old.classes.count {
            if !old.classes[number].isEmbedded {
                if try findMixedLinks(to: cls.classID) {
                    throw StoreError(
                        .schemaMismatch, "class \(cls.name) cannot become embedded: mixed values link to its objects"
                    ).at(class: cls.name)
                }
                try checkParents(number)
                continue
            }
            // Objects that lay in a property that is gone have no parent any more.
            func column(_ link: IncomingLink, _ schema: Schema) -> UInt32 {
                schema.classes[link.classIndex].columns[link.property].id
            }
            let losesParents = old.incoming[number].contains { link in
                !new.incoming[number].contains {
                    $0.classIndex == link.classIndex && column($0, new) == column(link, old)
                }
            }
            if losesParents { _ = try deleteOrphans(number) }
        }
        ops.becomeSummary()
    }

    /// Frees everything that a class has; its node follows when the transaction is written.
    private func dropAll(_ cls: ClassSchema) throws(StoreError) {
        let number = Int(cls.id), root = try space.source.node(base.root, .root)
        guard number < NodeHeader.count(root), !RootNode.classNode(root, number).isNull else { return }
        let state = ClassState(
            cls, incoming: [], owning: [], space: space, nextKey: database.shared.nextKey(number), ops: ops)
        try state.open(RootNode.classNode(root, number))
        try state.discardAll()
    }

    /// Each object of a class that becomes embedded must have one parent.
    private func checkParents(_ number: Int) throws(StoreError) {
        let state = try state(number), cls = state.schema
        var wrong = 0, first: (key: Int64, parents: Int)?
        try forEachParentCount(of: state) { (key, parents) in
            if parents == 1 || InjectedBug.active(.orphansEmbedded) && parents == 0 { return true }
            wrong += 1
            if first == nil { first = (key, parents) }
            return true
        }
        guard let first else { return try checkCircles(state) }
        let what = first.parents == 0 ? "no object links to it" : "\(first.parents) links lead to it"
        throw StoreError(
            .schemaMismatch,
            """
            class \(cls.name) cannot become embedded: \(wrong) of \(state.objectCount) objects do not have one \
            parent, the first is \(cls.name)#\(first.key): \(what); a migration can put that right
            """
        ).at(class: cls.name)
    }

    /// Nor may its objects be parents of themselves.
    private func checkCircles(_ state: ClassState) throws(StoreError) {
        let cls = state.schema
        guard EmbeddingCircles.canHave(schema, Int(cls.id)) else { return }
        var circles = EmbeddingCircles(schema) { [self] (link) throws(StoreError) in
            try self.state(link.classIndex).linkIndex(link.property, isCollection: link.isCollection)
        }
        let reader = try state.cluster.reader()
        var next = try reader.seek(.min), wrong = 0, first: Int64?
        while let row = next {
            if try circles.has(Int(cls.id), row.key) {
                wrong += 1
                if first == nil { first = row.key }
            }
            next = try reader.next(row)
        }
        guard let first else { return }
        throw StoreError(
            .schemaMismatch,
            """
            class \(cls.name) cannot become embedded: \(wrong) of \(state.objectCount) objects lie in themselves, the \
            first is \(cls.name)#\(first); a migration can put that right
            """
        ).at(class: cls.name)
    }

    /// Properties that may not be null any more must have a value in every object.
    private func checkNulls(_ new: Schema) throws(StoreError) {
        let root = try space.source.node(base.root, .root)
        for (number, before) in schema.classes.enumerated()
        where before !== new.classes[number] && number < NodeHeader.count(root) {
            for property in new.classes[number].properties where !property.isNullable {
                guard let position = before.columns.firstIndex(where: { $0.id == property.columnID }),
                    before.columns[position].nullable
                else { continue }
                let node = try space.source.node(RootNode.classNode(root, number), .classRoot)
                let reader = ClusterReader(source: space.source, root: ClassNode.cluster(node), columns: before.columns)
                var next = try reader.seek(.min), nulls = 0, first: Int64?
                while let row = next {
                    if try reader.value(row, position).isNull {
                        nulls += 1
                        if first == nil { first = row.key }
                    }
                    next = try reader.next(row)
                }
                guard let first else { continue }
                throw StoreError(
                    .schemaMismatch,
                    """
                    \(before.name).\(property.name) cannot become required: \(nulls) of \
                    \(ClassNode.objectCount(node)) objects have null there, the first is \(before.name)#\(first); a \
                    migration can give them values
                    """
                ).at(class: before.name, property: property.name)
            }
        }
    }
}

extension ClassState {
    /// Creates `count` objects with consecutive keys from vectors, one for each property; primary keys are known
    /// to be free. Returns the first key.
    ///
    /// `row` gathers the values of one, for indexes of several properties and for the log; `value` gives a single one,
    /// by row and property. What fails, a unique value that is taken included, leaves half of it done.
    package func createColumns(
        _ vectors: UnsafePointer<ColumnVector>, count: Int,
        row: (Int, UnsafeMutablePointer<Value>) throws(StoreError) -> Void,
        value: (Int, Int) throws(StoreError) -> Value
    ) throws(StoreError) -> Int64 {
        let first = try takeObjectKeys(count)
        try cluster.appendColumns(firstKey: first, count: count, vectors)
        // A single op for each while the log keeps ops: small inserts are then no barrier.
        let isLogged = !ops.isSummary && count <= ClassState.mostLogged
        if !isLogged { ops.createRun(schema, firstKey: first, count: count) }
        if !isLogged && schema.constraints.isEmpty {
            // Index by index.
            for (property, index) in indexed {
                try index.unretained { (index) throws(StoreError) in
                    for offset in 0..<count { try index.insert(try value(offset, property), first &+ Int64(offset)) }
                }
            }
            for index in extracted {
                for offset in 0..<count {
                    let key = first &+ Int64(offset)
                    try index.prepare(key) { (property) throws(StoreError) in try value(offset, property) }
                    for entry in 0..<index.new.count { try index.insert(index.new[entry], key) }
                }
            }
        } else {
            let values = UnsafeMutablePointer<Value>.allocate(capacity: schema.columns.count)
            defer { values.deallocate() }
            for offset in 0..<count {
                try row(offset, values)
                if !schema.constraints.isEmpty { try checkConstraints(values) }
                for (property, index) in indexed {
                    try index.unretained { (index) throws(StoreError) in
                        try index.insert(values[property], first + Int64(offset))
                    }
                }
                for index in extracted {
                    try index.prepare(first + Int64(offset)) { (property) throws(StoreError) in values[property] }
                    for entry in 0..<index.new.count { try index.insert(index.new[entry], first + Int64(offset)) }
                }
                if isLogged { ops.create(schema, key: first + Int64(offset), values: values) }
            }
        }
        hasChanges = true
        objectCount += count
        storedNextKey = max(storedNextKey, first + Int64(count))
        if isCountingKeys, let primary = schema.primaryKey {
            for offset in 0..<count { generatedKeys.didGive(try value(offset, primary)) }
        }
        return first
    }

    private static let mostLogged = 4096

    /// Object keys below it are not given out, though no object here has had them.
    package func raiseNextKey(to key: Int64) {
        sharedNextKey.pointee = max(sharedNextKey.pointee, key)
        storedNextKey = max(storedNextKey, key)
        hasChanges = true
    }

    /// What was generated in the store that this one is a copy of, deleted objects included.
    func keepGeneratedKeys(of other: GeneratedKeys) {
        if isCountingKeys { generatedKeys.didGive(other.kept) }
        hasChanges = true
    }
}

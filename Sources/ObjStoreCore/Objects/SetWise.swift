/// Changes of many objects at once: one call, all or nothing.
///
/// ```
///  savepoint ── leaf ── leaf ── … ──┬── release
///               4096 keys each      └── what fails goes back to it, whatever it was
/// ```
/// Objects are given by ascending keys, so that each leaf is visited once. What is logged is what single changes would
/// log.
extension WriteTransaction {
    /// Makes changes of several steps: where one fails, none has happened.
    package func whole<T>(_ body: () throws(StoreError) -> T) throws(StoreError) -> T {
        let savepoint = try beginSavepoint()
        do throws(StoreError) {
            let result = try body()
            try releaseSavepoint(savepoint)
            return result
        } catch {
            try rollBack(toSavepoint: savepoint)
            throw error
        }
    }

    /// Writes the same values to all the objects; `positions` are distinct, none is the primary key. Embedded objects
    /// that lose their place go. `.noSuchObject`, `.duplicateKey`.
    ///
    /// Half of it may be done when it throws.
    package func update(
        _ state: ClassState, _ keys: KeyBuffer, _ positions: UnsafePointer<Int>, _ values: UnsafePointer<Value>,
        _ count: Int
    ) throws(StoreError) {
        let embedding = (0..<count).compactMap { state.embedded(positions[$0]) }
        try forEachRun(of: keys) { (run) throws(StoreError) in
            if !embedding.isEmpty {
                for key in run { try self.update(state, key, positions, values, count, embedding) }
                return
            }
            if count == 1, state.isChangedTogether(run, positions[0]) {
                _ = try state.change(run, positions[0], .set(values[0]))
                return
            }
            for key in run { try state.update(try state.row(key), positions, values, count) }
        }
    }

    private func update(
        _ state: ClassState, _ key: Int64, _ positions: UnsafePointer<Int>, _ values: UnsafePointer<Value>,
        _ count: Int, _ embedding: [OwningLink]
    ) throws(StoreError) {
        let row = try state.row(key)
        var orphans: [(target: Int, key: Int64)] = []
        for link in embedding { try state.forEachTarget(row, link) { orphans.append((link.target, $0)) } }
        try state.update(row, positions, values, count)
        for orphan in orphans { try deleteOrphans(orphan.target, [orphan.key]) }
    }

    /// Adds `delta` to a property of all the objects but those where it is null; returns how many got another value.
    /// `.noSuchObject`, `.outOfRange`, `.duplicateKey`. Half of it may be done when it throws.
    ///
    /// - Parameter delta: of the property's kind: int, float or double.
    package func increment(
        _ state: ClassState, _ keys: KeyBuffer, _ property: Int, _ delta: Value
    ) throws(StoreError) -> Int {
        var changed = 0
        let change = NumberChange.add(delta)
        try forEachRun(of: keys) { (run) throws(StoreError) in
            if state.isChangedTogether(run, property) {
                changed += try state.change(run, property, change)
                return
            }
            for key in run {
                let row = try state.row(key), old = try state.value(row, property)
                if old.isNull { continue }
                guard let new = change.apply(to: old) else { throw state.doesNotFit(old, delta, property) }
                try state.update(row, property, new)
                changed += 1
            }
        }
        return changed
    }

    /// Deletes all the objects. `.noSuchObject`. Half of it may be done when it throws.
    package func delete(_ state: ClassState, _ keys: KeyBuffer) throws(StoreError) {
        let hasMixedLinks = try hasMixedLinks(to: state),
            isLinked = hasMixedLinks || !state.incoming.isEmpty || !state.owning.isEmpty
        // One may take others with it: that all are there is known before.
        if isLinked {
            for index in 0..<keys.count { _ = try state.row(keys.keys[index]) }
            try removeSharedLinks(to: keys, of: state, fromMixed: hasMixedLinks)
        }
        try forEachRun(of: keys) { (run) throws(StoreError) in
            if isLinked {
                for key in run where try state.contains(key) { try self.delete(Int(state.schema.id), key) }
            } else {
                for key in run { try state.delete(key) }
            }
        }
    }

    /// Deletes all objects of all classes; returns how many there were. The schema stays.
    package func deleteEverything() throws(StoreError) -> Int {
        var count = 0
        // Links go with their objects: none has to become null.
        for index in schema.classes.indices { count += try state(index).deleteAll() }
        return count
    }

    /// Calls `body` with the keys that lie in one leaf, leaf by leaf.
    private func forEachRun(
        of keys: KeyBuffer, _ body: (UnsafeBufferPointer<Int64>) throws(StoreError) -> Void
    ) throws(StoreError) {
        var first = 0
        while first < keys.count {
            let base = LeafHead.keyBase(of: keys.keys[first])
            var end = first + 1
            while end < keys.count, LeafHead.keyBase(of: keys.keys[end]) == base { end += 1 }
            try body(UnsafeBufferPointer(start: keys.keys + first, count: end - first))
            try spillIfLarge()
            first = end
        }
    }
}

extension ClassState {
    /// Whether a column of numbers is better unpacked, changed and encoded once than changed row by row.
    fileprivate func isChangedTogether(_ run: UnsafeBufferPointer<Int64>, _ property: Int) -> Bool {
        run.count >= 64 && !schema.columns[property].kind.isBytes && schema.changePlan(property) == -1
    }

    /// Changes a number without an index in rows of one leaf; returns how many got another value.
    fileprivate func change(
        _ run: UnsafeBufferPointer<Int64>, _ property: Int, _ change: NumberChange
    ) throws(StoreError) -> Int {
        var changed = 0
        let failed = try cluster.changeNumbers(run, property, change) { key, value in
            ops.update(schema, key: key, property: property, value: value)
            changed += 1
        }
        switch failed {
        case .none: break
        case .missing(let key): throw noSuchObject(key)
        case .unfit(let old):
            guard case .add(let delta) = change else { preconditionFailure() }
            throw doesNotFit(old, delta, property)
        }
        hasChanges = true
        return changed
    }

    fileprivate func doesNotFit(_ old: Value, _ delta: Value, _ property: Int) -> StoreError {
        let name = schema.properties[property].name
        return StoreError(.outOfRange, "\(schema.name).\(name): \(old.low) + \(delta.low) does not fit in 64 bits").at(
            class: schema.name, property: name)
    }
}

extension ClusterWriter {
    /// Changes a column of numbers in rows of one leaf, which `keys` lead to, and encodes it once. Nothing happens to
    /// the tree where a row is missing or a sum does not fit; `body`, which is called for each row, may have been
    /// called.
    func changeNumbers(
        _ keys: UnsafeBufferPointer<Int64>, _ column: Int, _ change: NumberChange,
        _ body: (_ key: Int64, _ value: Value) -> Void
    ) throws(StoreError) -> NumberFailure {
        // What waits for its leaf is brought into the tree.
        guard try reader().leaf(keys[0]) != nil else { return .missing(keys[0]) }
        return try self.change { () throws(StoreError) in
            guard let leaf = try self.writableLeaf(keys[0]) else { throw ClusterReader.damaged("a leaf is gone") }
            return try self.editor.changeNumbers(leaf, keys, column, change, body)
        }
    }
}

/// Changes one list, set or map of an object.
///
/// Each call happens as a whole: values and indexes are checked before the first change.
struct CollectionEditor {
    let writer: ObjectWriter
    /// The class of the object.
    let state: ClassState
    /// As they are before the call.
    let elements: CollectionElements
    /// Of the property.
    let position: Int

    var cls: ClassSchema { state.schema }
    var owner: Int64 { elements.owner }

    /// A value that is looked for among the elements, as they are stored; a mixed one until the next.
    func asked(_ value: Value) throws(StoreError) -> Value {
        try writer.asked(value, elementOf: position, cls)
    }

    /// Inserts values into a list before `index`, or at its end (`index` = its count, or nil). `.outOfRange`.
    func insert(_ values: UnsafeBufferPointer<Value>, at index: Int?) throws(StoreError) {
        let cls = cls, count = try elements.count(), at = index ?? count
        guard at >= 0, at <= count else { throw cls.outOfRange(position, at, count) }
        if values.isEmpty { return }
        if cls.elements(of: position).kind == .mixed {
            let kept = KeptTexts()
            var cells: [Value] = []
            try cells.tryReserve(values.count)
            for value in values { cells.append(try kept.keep(try writer.checked(value, elementOf: position, cls))) }
            try cells.withUnsafeBufferPointer { (cells) throws(StoreError) in
                try insertChecked(cells, at)
            }
            return withExtendedLifetime(kept) {}
        }
        for value in values { _ = try writer.checked(value, elementOf: position, cls) }
        try insertChecked(values, at)
    }

    static let atOnce = 4096

    private func insertChecked(_ values: UnsafeBufferPointer<Value>, _ at: Int) throws(StoreError) {
        // Texts may be lent by this transaction, which may move them with the first step.
        try Memory.check(for: values.count, each: MemoryLayout<Value>.stride)
        var later = Array(values.dropFirst(CollectionEditor.atOnce))
        let kept = KeptBytes()
        try kept.keep(&later)
        defer { withExtendedLifetime(kept) {} }
        var done = 0
        while done < values.count {
            let some =
                done == 0
                ? Array(values.prefix(CollectionEditor.atOnce))
                : Array(later.dropFirst(done - CollectionEditor.atOnce).prefix(CollectionEditor.atOnce))
            do throws(StoreError) {
                try state.splice(owner, position, at + done..<at + done, some.map { (.null, $0.asElement) }[...])
            } catch {
                // What was inserted before cannot stay, and what failed may have left anything.
                if done > 0 { state.isBroken = true }
                throw error
            }
            done += some.count
            try writer.spillIfLarge(state)
        }
    }

    /// Gives an element of a list another value; of embedded objects only the one that is there. `.outOfRange`,
    /// `.embedded`.
    func set(_ value: Value, at index: Int) throws(StoreError) {
        let count = try elements.count()
        guard index >= 0, index < count else { throw cls.outOfRange(position, index, count) }
        let isThere = try writer.isGiven(value, state, position) { () throws(StoreError) in
            try elements.element(at: index).value
        }
        let value = isThere ? value.asElement : try writer.checked(value, elementOf: position, cls)
        try state.splice(owner, position, index..<index + 1, [(.null, value)])
    }

    /// Removes elements by index, of lists, sets and maps. `.outOfRange`.
    func remove(at index: Int, count removed: Int) throws(StoreError) {
        let count = try elements.count()
        guard index >= 0, removed >= 0, index <= count, removed <= count - index else {
            // The first that does not exist.
            throw cls.outOfRange(position, index < 0 || index > count ? index : count, count)
        }
        if removed > 0 { try writer.replace(state, elements, position, index..<index + removed, []) }
    }

    /// Moves an element of a list so that it has index `target` afterwards. `.outOfRange`.
    func move(from index: Int, to target: Int) throws(StoreError) {
        let count = try elements.count()
        for place in [index, target] where place < 0 || place >= count {
            throw cls.outOfRange(position, place, count)
        }
        if index == target { return }
        // It must outlive its place.
        let value = try OwnedValue(copying: try elements.element(at: index).value)
        try state.splice(owner, position, index..<index + 1, [])
        do throws(StoreError) {
            try state.splice(owner, position, target..<target, [(.null, value.value)])
        } catch {
            state.isBroken = true
            throw error
        }
    }

    /// Adds a value to a set; false: it was there.
    func insert(member value: Value) throws(StoreError) -> Bool {
        let value = try writer.checked(value, elementOf: position, cls)
        let (index, found) = try elements.search(value)
        if found { return false }
        try state.splice(owner, position, index..<index, [(.null, value)])
        return true
    }

    /// Takes a value out of a set; false: it was not there.
    func remove(member value: Value) throws(StoreError) -> Bool {
        let (index, found) = try elements.search(try asked(value))
        if found { try state.splice(owner, position, index..<index + 1, []) }
        return found
    }

    /// Gives a key of a map a value, of embedded objects null, or the one that is there; true: the key is new.
    /// `.embedded`.
    func set(_ value: Value, ofKey key: Value) throws(StoreError) -> Bool {
        try writer.check(key, newKeyOf: position, cls)
        let (index, found) = try elements.search(key)
        if try writer.isGiven(
            value, state, position,
            there: { () throws(StoreError) in found ? try elements.element(at: index).value : .null })
        {
            try state.splice(owner, position, index..<index + 1, [(key, value.asElement)])
            return false
        }
        let value = try writer.checked(value, elementOf: position, cls)
        try writer.replace(state, elements, position, index..<(found ? index + 1 : index), [(key, value)])
        return !found
    }

    /// Takes a key out of a map; false: it was not there.
    func remove(key: Value) throws(StoreError) -> Bool {
        try cls.check(key, keyOf: position)
        let (index, found) = try elements.search(key)
        if found { try writer.replace(state, elements, position, index..<index + 1, []) }
        return found
    }

    func removeAll() throws(StoreError) {
        let count = try elements.count()
        if count > 0 { try writer.replace(state, elements, position, 0..<count, []) }
    }
}

/// Nested values in one array: a list or map (with its number of elements in `low`), and then its elements, each in the
/// same way; before each value of a map its key, a string.
///
/// ```
/// ["Jane", [{"name": "Rex"}]]   →   list 2 · "Jane" · list 1 · map 1 · "name" · "Rex"
/// ```
package struct FlatValues {
    let values: UnsafeBufferPointer<Value>

    /// Objects inside each other: each level takes some of the thread's stack.
    static let deepestObjects = 200
    /// Lists and maps inside each other: those objects, each in a list, and in the last one a list of mixed values, the
    /// deepest that there are, with a reference or a binary of Extended JSON in them.
    static let deepest = 2 * deepestObjects + MixedNode.maximumDepth + 12

    /// Where each of several begins that follow each other; of a single one nothing is kept.
    let starts: [Int]

    /// - Parameter wanted: how many there are.
    ///
    /// `.invalidArgument` where values are missing or left over, `.wrongType` where a key is no string, `.outOfRange`
    /// where it is too deep.
    init(checking values: UnsafeBufferPointer<Value>, _ wanted: Int = 1) throws(StoreError) {
        self.values = values
        var starts: [Int] = []
        func refuse(_ index: Int, _ code: StatusCode, _ what: String) -> StoreError {
            StoreError(code, "values[\(index)]: \(what)")
        }
        if values.isEmpty, wanted > 0 {
            throw StoreError(.invalidArgument, "values is empty: there is nothing to make an object of")
        }
        // What is still to come of each list or map; of a map keys and values.
        var open: [(left: Int, isMap: Bool)] = [(wanted, false)]
        for (index, value) in values.enumerated() {
            while let last = open.last, last.left == 0 { open.removeLast() }
            guard let last = open.last else { throw refuse(index, .invalidArgument, "the value before it is complete") }
            if wanted != 1, open.count == 1 { starts.append(index) }
            open[open.count - 1].left -= 1
            if last.isMap, last.left % 2 == 0, value.kind != .string {
                throw refuse(index, .wrongType, "a name or key of a map is a string, not \(value.kind.indefinite)")
            }
            guard value.kind == .list || value.kind == .map else { continue }
            guard value.low >= 0, value.low <= values.count else {
                throw refuse(
                    index, .invalidArgument,
                    "\(value.kind.indefinite) of \(value.low) elements, and \(values.count - index - 1) values follow")
            }
            guard open.count <= FlatValues.deepest else {
                throw refuse(index, .outOfRange, "lists and maps are more than \(FlatValues.deepest) deep")
            }
            open.append((value.kind == .map ? 2 * Int(value.low) : Int(value.low), value.kind == .map))
        }
        let missing = open.reduce(0) { $0 + $1.left }
        guard missing == 0 else {
            throw refuse(values.count, .invalidArgument, "values ends where \(missing) more are due")
        }
        self.starts = wanted == 1 ? [0] : starts
    }

    subscript(index: Int) -> Value { values[index] }

    /// In `high` of a map: it is a reference, `{"$ref": class, "$id": key}`, and no map of the application that looks
    /// like one.
    static let reference: Int64 = 2

    /// Behind the value that begins at an index.
    func end(_ start: Int) -> Int { FlatValues.end(values, start) }

    static func end(_ values: UnsafeBufferPointer<Value>, _ start: Int) -> Int {
        var index = start, left = 1
        while left > 0 {
            let value = values[index]
            index += 1
            left -= 1
            if value.kind == .list { left += Int(value.low) }
            if value.kind == .map { left += 2 * Int(value.low) }
        }
        return index
    }

    /// In `high` of a double: it also has its text (`JSONNumber`), and `Assembler.Options.convert` makes of it one of
    /// the kind that is wanted.
    static let numberText: Int64 = 1

    package static func name(_ value: Value) -> String {
        String(decoding: UnsafeRawBufferPointer(start: value.pointer, count: value.count), as: UTF8.self)
    }

    static func isSame(_ value: Value, _ name: String) -> Bool {
        guard name.utf8.count == value.count else { return false }
        return UnsafeRawBufferPointer(start: value.pointer, count: value.count).elementsEqual(name.utf8)
    }
}

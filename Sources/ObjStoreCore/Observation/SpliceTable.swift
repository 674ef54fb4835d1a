/// The changes of all lists, sets and maps of some classes, as the log has them.
struct SpliceTable {
    private struct Place: Hashable {
        let classID: UInt32
        let key: Int64
        let columnID: UInt32
    }
    private var splices: [Place: [ElementSplice]] = [:]
    /// Nothing is missing.
    var isWhole = false

    /// Of one, in order; nil: not all that was done is known.
    subscript(scope: CollectionScope) -> [ElementSplice]? {
        if !isWhole { return nil }
        return splices[
            Place(classID: UInt32(scope.ownerClass), key: scope.id.owner.key, columnID: scope.columnID), default: []]
    }

    /// Takes what a record has. False: elements changed in another way.
    mutating func read(_ cursor: inout OpCursor, of wanted: [Bool]) throws(StoreError) -> Bool {
        while try cursor.next() {
            switch cursor.code {
            case .splice:
                let (classID, key) = (cursor.classID, cursor.key), (columnID, splice) = try cursor.splice()
                guard Int(classID) < wanted.count, wanted[Int(classID)] else { continue }
                let short = ElementSplice(at: splice.at, removed: splice.removed, inserted: splice.inserted.count)
                splices[Place(classID: classID, key: key, columnID: columnID), default: []].append(short)
            case .update:
                while let change = try cursor.nextChange() { if change.value.kind.isCollection { return false } }
            case .schema: return false
            case .create, .delete, .edit: continue
            }
        }
        return true
    }
}

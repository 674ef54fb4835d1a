/// One index of a class inside a write transaction: its tree, and which entries it has for an object.
///
/// ```
///                   over                   entries of an object               found in
///  ClassIndex       one property           1: its value                       the row
///  EncodedIndex     several, or a mixed    1: the values as one key           the row
///  MixedInverse     mixed values           one for each object that they      the row, or elements of a
///                                          link to                            collection
///  InverseWriter    a collection of links  one for each link                  elements of a collection
/// ```
/// Beginning, savepoints, writing ahead and the commit treat all of them alike. So a new kind of index, of words or of
/// places, is a class that says what its entries are: by `extract` if a row has them all, by `note` if elements of a
/// collection come and go one by one.
package class ClassIndex {
    final let schema: IndexSchema
    final let writer: IndexWriter
    private final let longValues: LongValues?
    /// Of an object as it is (`look`), and as it shall be (`prepare`).
    final let old = IndexEntries(), new = IndexEntries()

    init(
        _ schema: IndexSchema, space: WriteSpace, unique: Bool = false, longValues: LongValues? = nil
    ) {
        self.schema = schema
        self.longValues = longValues
        writer = IndexWriter(
            space: space, root: .null, kind: schema.kind, unique: unique, isLookedUp: schema.isUnique,
            longValues: longValues)
    }

    // MARK: Entries that a row has

    /// Adds the entries of an object, whose values `value` gives by position: distinct, and ascending.
    func extract(
        _ objectKey: Int64, into entries: IndexEntries, _ value: (Int) throws(StoreError) -> Value
    ) throws(StoreError) {
        entries.append(try value(schema.first))
    }

    /// True only where it has no entries: what objects had need not be looked at.
    var isEmpty: Bool { false }

    /// Finds the entries of an object as it is.
    final func look(at row: RowPosition, _ reader: ClusterReader) throws(StoreError) {
        old.removeAll()
        if isEmpty { return }
        try extract(row.key, into: old) { (property) throws(StoreError) in try reader.value(row, property) }
    }

    /// Finds those that an object is to have.
    final func prepare(_ objectKey: Int64, _ value: (Int) throws(StoreError) -> Value) throws(StoreError) {
        new.removeAll()
        try extract(objectKey, into: new, value)
    }

    func insert(_ entry: Value, _ objectKey: Int64) throws(StoreError) { try writer.insert(entry, objectKey) }

    final func remove(_ entry: Value, _ objectKey: Int64) throws(StoreError) { try writer.remove(entry, objectKey) }

    // MARK: Entries that elements have

    /// Elements of a collection are about to be noted, and to change then.
    func willNote() throws(StoreError) {}

    /// An owner's collection gets an element, or loses one.
    func note(element: Value, of owner: Int64, isRemoval: Bool) throws(StoreError) {
        fatalError("its entries are those of rows")
    }

    /// Brings what was noted into the index.
    func resolve() throws(StoreError) {}

    // MARK: From one end of a transaction to the other

    /// For the next transaction, which begins with that tree and these objects; those from `nextKey` on do not exist
    /// yet.
    func begin(root: Ref, _ objects: ClusterReader, nextKey: Int64) {
        longValues?.reader = objects
        writer.begin(root: root)
    }

    /// Whether its memory is worth keeping for the next transaction.
    var isSmall: Bool { writer.isSmall }

    /// Reads the transaction's own state. Valid until the next change.
    final func reader() throws(StoreError) -> IndexReader {
        try resolve()
        return try writer.reader()
    }

    /// The whole tree's root, for a savepoint that begins: nothing waits.
    final func settle() throws(StoreError) -> Ref {
        try resolve()
        return try writer.settle()
    }

    /// Goes back to what `settle` returned.
    func restore(root: Ref) { writer.restore(root: root) }

    /// Takes every entry away.
    func removeAll() throws(StoreError) { try writer.removeAll() }

    /// Places the dirty nodes that no savepoint holds; the transaction continues. What waits keeps waiting.
    final func spill(into writer: ExtentWriter) throws(StoreError) { try self.writer.spill(into: writer) }

    /// Places all dirty nodes. Returns the new root.
    final func flush(into writer: ExtentWriter) throws(StoreError) -> Ref {
        try resolve()
        return try self.writer.flush(into: writer)
    }
}

/// An index whose keys are made by `IndexKey`: a compound one, or that of a mixed property.
final class EncodedIndex: ClassIndex {
    override func extract(
        _ objectKey: Int64, into entries: IndexEntries, _ value: (Int) throws(StoreError) -> Value
    ) throws(StoreError) {
        let key = try schema.extract(objectKey, into: entries.key, value)
        entries.isShared = schema.isShared(key, entries.key)
        entries.append(key)
    }
}

/// What an index has for one object.
package final class IndexEntries {
    private(set) var values: [Value] = []
    /// Memory of an encoded one.
    let key = IndexKey()
    /// Other objects may have the same, though the index is unique.
    var isShared = false

    package init() {}

    @inline(__always) var count: Int { values.count }
    @inline(__always) subscript(position: Int) -> Value { values[position] }

    func removeAll() {
        if values.count <= IndexEntries.mostKept {
            values.removeAll(keepingCapacity: true)
        } else {
            values = []
        }
        isShared = false
    }
    private static let mostKept = 1 << 10

    @inline(__always) package func append(_ value: Value) { values.append(value) }

    /// Calls `body` with each value that is not among those of `other`. O(n): both ascend.
    package func forEach(
        notIn other: IndexEntries, _ body: (Value) throws(StoreError) -> Void
    ) throws(StoreError) {
        var next = 0
        for value in values {
            while next < other.count, CollectionOrder.compare(other[next], value) < 0 { next += 1 }
            if next == other.count || !other[next].isSame(as: value) { try body(value) }
        }
    }
}

/// Long keys of an index in one version, from the objects: the index holds only their beginning and hash.
final class LongValues: IndexLongValues {
    var reader: ClusterReader
    private let index: IndexSchema
    private let key = IndexKey()

    private override init() { fatalError("made with a reader") }

    init(_ reader: ClusterReader, index: IndexSchema) {
        self.reader = reader
        self.index = index
    }

    override func bytes(of objectKey: Int64) throws(StoreError) -> UnsafeRawBufferPointer {
        if let row = try reader.find(objectKey) {
            if !index.isEncoded, let bytes = try reader.bytes(row, index.first) { return bytes }
            if index.isEncoded {
                let value = try index.extract(objectKey, into: key) { (property) throws(StoreError) in
                    try reader.value(row, property)
                }
                return UnsafeRawBufferPointer(start: value.pointer, count: value.count)
            }
        }
        throw StoreError(.corrupt, "an index names the object \(objectKey), which does not exist or has no value")
    }
}

/// Changes objects in one write transaction: completes and checks what an application gives, and hands rows to the
/// states of classes.
///
/// ```
///  ids, values ──► positions ──► completed, checked ──► ClassState ──► moved?
///                                RowCompletion, …        trees, log     what the view has to say
/// ```
/// Properties are given by id, values must be of exactly the property's kind. Every failing call leaves the
/// transaction as it was: everything is checked before the first change, and what can still fail then (memory,
/// a damaged page) is undone by inverse operations. Used by one thread at a time.
final class ObjectWriter {
    /// What became of what was read before.
    enum Moved: UInt8 {
        case nothing
        /// A value was written in place of the old one.
        case values
        /// Rows may lie elsewhere.
        case rows
    }

    /// Until it ends.
    private(set) var transaction: WriteTransaction!
    let storeTag: UInt32
    let valueLimit: Int
    /// Nil where the program has none.
    let enumerations: EnumerationCheck?
    /// Since the view has told it.
    var moved = Moved.nothing
    /// The class that was written last: looking it up again costs more than many changes.
    private var last: (classID: UInt32, state: Unmanaged<ClassState>)?
    /// Memory for the values of one call.
    var scratch = ValueScratch()
    /// Where the cells of mixed values are made.
    let cells = CellBuffers()

    init(_ transaction: WriteTransaction, _ enumerations: EnumerationCheck?) {
        self.transaction = transaction
        self.enumerations = enumerations
        storeTag = transaction.database.storeTag
        valueLimit = transaction.database.options.valueLimit
    }

    deinit { scratch.deallocate() }

    /// The transaction has ended, or is to be ended by others.
    func end() {
        transaction = nil
        last = nil
    }

    var trees: TreeAccess { .transaction(transaction) }
    var schema: Schema { transaction.schema }

    @inline(__always)
    func object(_ cls: ClassSchema, _ key: Int64) -> ObjectID {
        ObjectID(classID: cls.classID, storeTag: storeTag, key: key)
    }

    // MARK: Classes

    /// The class, if it is the one that was written last and nothing has gone wrong since.
    @inline(__always)
    func written(_ classID: UInt32) -> Unmanaged<ClassState>? {
        guard let last, last.classID == classID, !(last.state._withUnsafeGuaranteedRef { $0.space.mayBeBroken })
        else { return nil }
        return last.state
    }

    func open(_ cls: ClassSchema) throws(StoreError) -> Unmanaged<ClassState> {
        let state = Unmanaged.passUnretained(try transaction.state(Int(cls.id)))
        last = (cls.classID, state)
        return state
    }

    /// Classes may have been closed, as by a rollback.
    func forgetClasses() { last = nil }

    // MARK: Steps

    /// The step that changes something: rows look again, and a failed undo is remembered.
    @inline(__always)
    func changing<T>(_ state: ClassState, _ body: () throws(StoreError) -> T) throws(StoreError) -> T {
        moved = .rows
        do throws(StoreError) {
            return try body()
        } catch {
            if state.cluster.isBroken { state.isBroken = true }
            throw error
        }
    }

    /// A change of one object's values. Where its leaf was the transaction's own already, and is where it was, so is
    /// everything else: no row looks again.
    @inline(__always)
    func changing(
        _ state: ClassState, _ row: RowPosition, _ body: () throws(StoreError) -> Void
    ) throws(StoreError) {
        let before = moved
        try changing(state, body)
        if state.cluster.isInPlace(row) { moved = before == .rows ? .rows : .values }
    }

    /// A change of several steps: all of them, or none.
    func whole<T>(_ state: ClassState, _ body: (WriteTransaction) throws(StoreError) -> T) throws(StoreError) -> T {
        let transaction: WriteTransaction = self.transaction
        defer { forgetAll() }
        return try transaction.whole { () throws(StoreError) in
            try changing(state) { () throws(StoreError) in try body(transaction) }
        }
    }

    /// Nothing that was read or looked up before holds: objects may lie elsewhere, classes may have been closed.
    func forgetAll() {
        moved = .rows
        last = nil
    }

    /// Where the transaction has changed more than it keeps in memory: to be called where nothing that was read is used
    /// any more.
    @inline(__always)
    func spillIfLarge(_ state: ClassState) throws(StoreError) { if _slowPath(state.space.isLarge) { try spill() } }

    @inline(never)
    private func spill() throws(StoreError) {
        moved = .rows
        try transaction.spill()
    }
}

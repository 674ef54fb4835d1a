/// How calls reach the transaction: the lock, the class, and what has moved afterwards.
extension View {
    @inline(__always)
    func write<T>(
        _ classID: UInt32, _ body: (ObjectWriter, ClassState) throws(StoreError) -> T
    ) throws(StoreError) -> T {
        guard let writer else { throw notInWrite }
        lock.lock()
        defer { lock.unlock() }
        if let state = writer.written(classID) { return try write(writer, state, body) }
        return try write(writer, try openState(nil, classID), body)
    }

    @inline(__always)
    func write<T>(
        _ object: ObjectID, _ body: (ObjectWriter, ClassState) throws(StoreError) -> T
    ) throws(StoreError) -> T {
        guard let writer else { throw notInWrite }
        lock.lock()
        defer { lock.unlock() }
        if object.storeTag == shared.tag, let state = writer.written(object.classID) {
            return try write(writer, state, body)
        }
        return try write(writer, try openState(object, object.classID), body)
    }

    @inline(__always)
    private func write<T>(
        _ writer: ObjectWriter, _ state: Unmanaged<ClassState>,
        _ body: (ObjectWriter, ClassState) throws(StoreError) -> T
    ) throws(StoreError) -> T {
        defer { tellMoves(of: writer) }
        return try state.unretained { (state) throws(StoreError) in
            let result = try body(writer, state)
            try writer.spillIfLarge(state)
            return result
        }
    }

    /// The same for changes of several classes.
    func writeAll<T>(_ body: (ObjectWriter) throws(StoreError) -> T) throws(StoreError) -> T {
        guard let writer else { throw notInWrite }
        lock.lock()
        defer { lock.unlock() }
        _ = try usable()
        defer { tellMoves(of: writer) }
        return try body(writer)
    }

    @inline(never)
    private func openState(_ object: ObjectID?, _ classID: UInt32) throws(StoreError) -> Unmanaged<ClassState> {
        let transaction = try usable()
        let cls: ClassSchema
        if let object {
            cls = try classOf(object, transaction.schema)
        } else {
            cls = try transaction.schema.cls(classID)
        }
        let writer = writer.unsafelyUnwrapped, state = try writer.open(cls)
        // While one thread is alone among the changes, each one of others has to wait.
        if _slowPath(atOnceThread != 0) { writer.forgetClasses() }
        return state
    }

    /// The transaction, unless it can only be cancelled. Serialised by the caller.
    func usable() throws(StoreError) -> WriteTransaction {
        let transaction = try writing()
        if transaction.isBroken {
            throw StoreError(.corrupt, "a failed call could not be undone: the transaction can only be cancelled")
        }
        return transaction
    }

    /// The transaction, to be changed; everything borrowed is void afterwards. Serialised by the caller.
    @inline(__always)
    func writing() throws(StoreError) -> WriteTransaction {
        if _slowPath(atOnceThread != 0) { waitForOthers() }
        guard let transaction else { throw kind == .transaction ? closedError : notInWrite }
        if isCopied {
            throw StoreError(
                .inCallback, "the transaction is being copied: until that is done it can be read, but not changed")
        }
        try checkNotAsked("can be read, but not changed")
        return transaction
    }

    /// What was read before a change may not hold any more.
    @inline(__always)
    func tellMoves(of writer: ObjectWriter) {
        if writer.moved == .nothing { return }
        epoch &+= 1
        if writer.moved == .rows { layout &+= 1 }
        writer.moved = .nothing
        ThisThread.didMove()
    }

    /// Nothing that was read before holds any more.
    func didMove() {
        epoch &+= 1
        layout &+= 1
        writer?.moved = .nothing
        ThisThread.didMove()
    }
}

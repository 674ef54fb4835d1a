/// A cursor on one object of a class, for reading its properties one by one, fast: plain memory of the caller.
///
/// It resolves its view once; then a read of a frozen view costs a comparison and the read. The other views move:
/// their lock is taken, and where they have moved the row looks for its object again.
/// Owns nothing: its user ensures that the view is open.
package struct RowCursor {
    private let view: Unmanaged<View>
    /// The view's, when everything below was looked up.
    private var layout: UInt64
    private var cluster: ClusterReader
    private let classID: UInt32
    private let isFrozen: Bool
    private var state: State
    /// The object it is on, or was on when that was deleted; -1 before the first.
    private var key: Int64
    private var head: UnsafeRawPointer?
    private var slot: Int

    private enum State: UInt32 {
        case before = 0
        /// On an object, which may have been deleted since.
        case on = 1
        case behind = 2
        /// A seek failed.
        case nowhere = 3
    }

    package init(_ view: View, _ classID: UInt32) throws(StoreError) {
        self.view = Unmanaged.passUnretained(view)
        self.classID = classID
        isFrozen = view.kind == .frozen
        state = .before
        key = -1
        head = nil
        slot = 0
        (cluster, layout) = try view.serialised { () throws(StoreError) in
            (try view.reader(try view.schema.cls(classID)), view.layout)
        }
    }

    // MARK: Moving

    /// Steps to the next object; false = there is none, and the row is behind the last.
    package mutating func next() throws(StoreError) -> Bool {
        try access { (row) throws(StoreError) in
            switch row.state {
            case .behind: return false
            case .nowhere: throw row.notPositioned()
            case .before, .on: break
            }
            if let head = row.head {
                let slot = LeafHead.nextLive(head, from: row.slot &+ 1)
                if _fastPath(slot < LeafHead.rows(head)) {
                    row.slot = slot
                    row.key = try LeafKeys(row.cluster.source, head).key(slot)
                    return true
                }
            }
            guard let position = try row.cluster.seek(row.key &+ 1) else {
                row.state = .behind
                row.head = nil
                return false
            }
            row.stand(position)
            return true
        }
    }

    /// Puts the row on an object; on failure it is on none.
    package mutating func seek(_ object: ObjectID) throws(StoreError) {
        try access { (row) throws(StoreError) in
            row.state = .nowhere
            row.head = nil
            // Nothing that counts references: a view and its class take twice as long for that as the rest.
            guard _fastPath(object.classID == row.classID && object.storeTag == row.storeTag) else {
                throw row.notItsClass(object)
            }
            guard let position = try row.cluster.find(object.key) else { throw row.gone(object.key) }
            row.stand(position)
        }
    }

    private mutating func stand(_ position: RowPosition) {
        head = position.head
        slot = position.slot
        key = position.key
        state = .on
    }

    package mutating func object() throws(StoreError) -> ObjectID {
        guard state == .on else { throw notPositioned() }
        return ObjectID(classID: classID, storeTag: storeTag, key: key)
    }

    // MARK: Reading

    /// An int, bool (0 or 1), or the bits of a float or double; nil = null. `.wrongType` unless the property is of that
    /// kind.
    ///
    /// Frozen views have their own path, without a closure: the row is then read in place.
    @inline(__always)
    private mutating func number(_ propertyID: UInt32, _ kind: ValueKind) throws(StoreError) -> Int64? {
        if _fastPath(isFrozen) {
            let position = try position(), column = try column(propertyID, kind)
            return try cluster.int(position, column)
        }
        return try movingNumber(propertyID, kind)
    }

    @inline(never)
    private mutating func movingNumber(_ propertyID: UInt32, _ kind: ValueKind) throws(StoreError) -> Int64? {
        try access { (row) throws(StoreError) in
            let position = try row.position(), column = try row.column(propertyID, kind)
            return try row.cluster.int(position, column)
        }
    }

    package mutating func int(_ propertyID: UInt32) throws(StoreError) -> Int64? { try number(propertyID, .int) }
    package mutating func bool(_ propertyID: UInt32) throws(StoreError) -> Bool? {
        try number(propertyID, .bool).map { $0 != 0 }
    }
    package mutating func double(_ propertyID: UInt32) throws(StoreError) -> Double? {
        guard let bits = try number(propertyID, .double) else { return nil }
        return Double(bitPattern: UInt64(bitPattern: bits))
    }

    package mutating func float(_ propertyID: UInt32) throws(StoreError) -> Float? {
        guard let bits = try number(propertyID, .float) else { return nil }
        return Float(bitPattern: UInt32(truncatingIfNeeded: bits))
    }

    /// A value of two words, or null.
    package mutating func pair(_ propertyID: UInt32, _ kind: ValueKind) throws(StoreError) -> Value {
        try access { (row) throws(StoreError) in
            let column = try row.column(propertyID, kind), position = try row.position()
            return try row.cluster.value(position, column)
        }
    }

    /// Text or binary, borrowed or copied into `buffer`; a null has no pointer.
    package mutating func bytes(
        _ propertyID: UInt32, _ kind: ValueKind, _ buffer: UnsafeMutablePointer<OutputBuffer>?
    ) throws(StoreError)
        -> (pointer: UnsafeRawPointer?, count: Int, isNull: Bool)
    {
        if _fastPath(isFrozen && buffer == nil) {
            let position = try position(), column = try column(propertyID, kind)
            guard let bytes = try cluster.bytes(position, column) else { return (nil, 0, true) }
            return (bytes.baseAddress, bytes.count, false)
        }
        return try movingBytes(propertyID, kind, buffer)
    }

    @inline(never)
    private mutating func movingBytes(
        _ propertyID: UInt32, _ kind: ValueKind, _ buffer: UnsafeMutablePointer<OutputBuffer>?
    ) throws(StoreError)
        -> (pointer: UnsafeRawPointer?, count: Int, isNull: Bool)
    {
        try access { (row) throws(StoreError) in
            let column = try row.column(propertyID, kind), position = try row.position()
            guard let bytes = try row.cluster.bytes(position, column) else { return (nil, 0, true) }
            if buffer == nil, row.canLend { return (bytes.baseAddress, bytes.count, false) }
            let copy = try row.handOut(
                Value(kind: kind, pointer: bytes.baseAddress, count: bytes.count), column, buffer)
            return (copy.pointer, copy.count, false)
        }
    }

    /// What a link leads to; nil = null.
    package mutating func link(_ propertyID: UInt32) throws(StoreError) -> ObjectID? {
        guard let key = try number(propertyID, .link) else { return nil }
        let target = cluster.columns.baseAddress.unsafelyUnwrapped[try column(propertyID)].target
        return ObjectID(classID: target, storeTag: storeTag, key: key)
    }

    package var storeTag: UInt32 { view._withUnsafeGuaranteedRef { $0.shared.tag } }

    package mutating func value(
        _ propertyID: UInt32, _ buffer: UnsafeMutablePointer<OutputBuffer>?
    ) throws(StoreError) -> Value {
        try access { (row) throws(StoreError) in
            let column = try row.column(propertyID), position = try row.position()
            let kind = row.cluster.columns[column].kind
            if kind.isCollection { return .collection(kind, try row.object(), propertyID) }
            return try row.handOut(try row.cluster.value(position, column), column, buffer)
        }
    }

    // MARK: Inside

    // Every function that a read can end in is `mutating`: it gets the row in place. Others would get a copy, made
    // before every read, from which the processor cannot read on until it is written.

    /// Runs `body` alone and with everything looked up.
    @inline(__always)
    private mutating func access<T>(_ body: (inout RowCursor) throws(StoreError) -> T) throws(StoreError) -> T {
        // What never moves needs no lock.
        if _fastPath(isFrozen) { return try body(&self) }
        lock()
        defer { unlock() }
        try follow()
        return try body(&self)
    }

    private var canLend: Bool { view._withUnsafeGuaranteedRef { $0.canLend } }
    private func lock() { view._withUnsafeGuaranteedRef { $0.lock.lock() } }
    private func unlock() { view._withUnsafeGuaranteedRef { $0.lock.unlock() } }

    @inline(__always)
    private mutating func follow() throws(StoreError) {
        if _fastPath(layout == view._withUnsafeGuaranteedRef { $0.layout }) { return }
        try lookAgain()
    }

    /// Looks everything up again: the view has moved or written.
    @inline(never)
    private mutating func lookAgain() throws(StoreError) {
        let view = view.takeUnretainedValue()
        let cls = try view.schema.cls(classID)
        cluster = try view.reader(cls)
        layout = view.layout
        head = nil
        if state == .on, let position = try view.row(cls, key, cluster) { stand(position) }
    }

    /// Where the object lies; it may be gone.
    @inline(__always)
    private mutating func position() throws(StoreError) -> RowPosition {
        guard _fastPath(state == .on), let head else { throw state == .on ? gone(key) : notPositioned() }
        return RowPosition(head: head, slot: slot, key: key)
    }

    @inline(__always)
    private mutating func column(_ propertyID: UInt32) throws(StoreError) -> Int {
        guard let column = PropertyID.position(propertyID, classID &- 1, cluster.columns) else {
            throw noSuchProperty(propertyID)
        }
        return column
    }

    @inline(__always)
    private mutating func column(_ propertyID: UInt32, _ kind: ValueKind) throws(StoreError) -> Int {
        let column = try column(propertyID)
        guard _fastPath(cluster.columns.baseAddress.unsafelyUnwrapped[column].kind == kind) else {
            throw wrongType(column, kind)
        }
        return column
    }

    private func handOut(
        _ value: Value, _ column: Int, _ buffer: UnsafeMutablePointer<OutputBuffer>?
    ) throws(StoreError) -> Value {
        let view = view.takeUnretainedValue()
        return try view.handOut(value, try view.schema.cls(classID), column, buffer)
    }

    // MARK: Errors

    private mutating func cls() throws(StoreError) -> ClassSchema { try view.takeUnretainedValue().schema.cls(classID) }

    @inline(never) private mutating func notPositioned() -> StoreError {
        StoreError(
            .notPositioned,
            state == .before
                ? "the row stands before the first object: step to the next" : "the row stands on no object")
    }
    @inline(never) private mutating func notItsClass(_ object: ObjectID) -> StoreError {
        do throws(StoreError) {
            let view = view.takeUnretainedValue(), cls = try view.classOf(object, try view.schema)
            return StoreError(.wrongType, "an object of class \(cls.name) in a row of another class").at(
                class: cls.name)
        } catch {
            return error
        }
    }
    @inline(never) private mutating func gone(_ key: Int64) -> StoreError {
        do throws(StoreError) { return try cls().noSuchObject(key) } catch { return error }
    }
    @inline(never) private mutating func noSuchProperty(_ propertyID: UInt32) -> StoreError {
        do throws(StoreError) { return try cls().noSuchProperty(propertyID) } catch { return error }
    }
    @inline(never) private mutating func wrongType(_ column: Int, _ kind: ValueKind) -> StoreError {
        do throws(StoreError) {
            let cls = try cls()
            return cls.named(
                StoreError(
                    .wrongType,
                    """
                    \(cls.name).\(cls.properties[column].name) is \(cls.columns[column].kind.indefinite), not \
                    \(kind.indefinite)
                    """
                ), column)
        } catch {
            return error
        }
    }
}

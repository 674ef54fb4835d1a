/// Reads properties of objects of one class in one view, with everything looked up once: property access of the Swift
/// interface is built on it.
///
/// A frozen view costs the way to the row; the others move, so their lock is taken, and the row of the last object is
/// kept. Owns nothing: its user keeps the view alive.
package final class ClassReader: @unchecked Sendable {
    private let view: Unmanaged<View>
    private let classID: UInt32
    private let propertyIDs: UnsafeBufferPointer<UInt32>
    private let isFrozen: Bool
    /// The view's.
    private let lock: Unmanaged<Lock>
    /// The view's, when what follows was looked up.
    // Changed under the lock, or never: no checks of exclusive access.
    @exclusivity(unchecked) private var layout: UInt64
    @exclusivity(unchecked) private var cluster: ClusterReader
    /// Whose columns they are.
    private var cls: ClassSchema
    /// Columns by the index of the property in `propertyIDs`.
    private let columns: UnsafeMutablePointer<Int>
    /// The last object, of views that move.
    @exclusivity(unchecked) private var key: Int64 = -1
    @exclusivity(unchecked) private var row: RowPosition?

    /// `propertyIDs` must stay valid.
    package init(_ view: View, _ classID: UInt32, _ propertyIDs: UnsafeBufferPointer<UInt32>) throws(StoreError) {
        self.view = Unmanaged.passUnretained(view)
        self.classID = classID
        self.propertyIDs = propertyIDs
        isFrozen = view.kind == .frozen
        lock = .passUnretained(view.lock)
        let columns = UnsafeMutablePointer<Int>.allocate(capacity: max(1, propertyIDs.count))
        self.columns = columns
        do throws(StoreError) {
            (cls, cluster, layout) = try view.serialised { () throws(StoreError) in
                let cls = try view.schema.cls(classID)
                for index in 0..<propertyIDs.count { columns[index] = try cls.position(propertyIDs[index]) }
                return (cls, try view.reader(cls), view.layout)
            }
        } catch {
            columns.deallocate()
            throw error
        }
    }

    deinit { columns.deallocate() }

    // MARK: Reading

    /// An int, a bool (0 or 1) or the bits of a float or double; nil = null. The property must be of such a kind.
    package func number(_ key: Int64, _ index: Int) throws(StoreError) -> Int64? {
        if _fastPath(isFrozen) {
            return try inside { () throws(StoreError) in try cluster.int(try frozenRow(key), columns[index]) }
        }
        lock._withUnsafeGuaranteedRef { $0.lock() }
        defer { lock._withUnsafeGuaranteedRef { $0.unlock() } }
        let row = try movingRow(key)
        return try cluster.int(row, columns[index])
    }

    /// Of any kind but text and binary.
    package func value(_ key: Int64, _ index: Int) throws(StoreError) -> Value {
        if _fastPath(isFrozen) {
            return try inside { () throws(StoreError) in try cluster.value(try frozenRow(key), columns[index]) }
        }
        lock._withUnsafeGuaranteedRef { $0.lock() }
        defer { lock._withUnsafeGuaranteedRef { $0.unlock() } }
        let row = try movingRow(key)
        return try cluster.value(row, columns[index])
    }

    /// Calls `body` with a text or binary, which is valid until it returns; false = null. `body` must not use the view.
    package func bytes(_ key: Int64, _ index: Int, _ body: (UnsafeRawBufferPointer) -> Void) throws(StoreError) -> Bool
    {
        if _fastPath(isFrozen) {
            return try inside { () throws(StoreError) in
                try pass(try cluster.bytes(try frozenRow(key), columns[index]), body)
            }
        }
        lock._withUnsafeGuaranteedRef { $0.lock() }
        defer { lock._withUnsafeGuaranteedRef { $0.unlock() } }
        let row = try movingRow(key)
        return try pass(try cluster.bytes(row, columns[index]), body)
    }

    private func pass(
        _ bytes: UnsafeRawBufferPointer?, _ body: (UnsafeRawBufferPointer) -> Void
    ) throws(StoreError) -> Bool {
        guard let bytes else { return false }
        body(bytes)
        return true
    }

    package func exists(_ key: Int64) throws(StoreError) -> Bool {
        if isFrozen { return try inside { () throws(StoreError) in try cluster.find(key) != nil } }
        lock._withUnsafeGuaranteedRef { $0.lock() }
        defer { lock._withUnsafeGuaranteedRef { $0.unlock() } }
        try follow()
        return try cluster.find(key) != nil
    }

    // MARK: Rows

    /// Reads while the frozen view cannot be closed.
    @inline(__always)
    private func inside<T>(_ body: () throws(StoreError) -> T) throws(StoreError) -> T {
        try View.inside(view, body)
    }

    @inline(__always)
    private func frozenRow(_ key: Int64) throws(StoreError) -> RowPosition {
        guard let row = try cluster.find(key) else { throw gone(key) }
        return row
    }

    /// May change `cluster`: called before that is used.
    @inline(__always)
    private func movingRow(_ key: Int64) throws(StoreError) -> RowPosition {
        if _fastPath(layout == view._withUnsafeGuaranteedRef { $0.layout }), self.key == key, let row { return row }
        return try findRow(key)
    }

    private func findRow(_ key: Int64) throws(StoreError) -> RowPosition {
        try follow()
        guard let found = try cluster.find(key) else { throw gone(key) }
        self.key = key
        row = found
        return found
    }

    /// Looks everything up again where the view has moved, written or been closed.
    private func follow() throws(StoreError) {
        let view = view.takeUnretainedValue()
        if layout == view.layout { return }
        row = nil
        let cls = try view.schema.cls(classID)
        // Another schema: columns may lie elsewhere, and what was dropped is missing.
        if cls !== self.cls {
            for index in 0..<propertyIDs.count { columns[index] = try cls.position(propertyIDs[index]) }
            self.cls = cls
        }
        cluster = try view.reader(cls)
        layout = view.layout
    }

    @inline(never)
    private func gone(_ key: Int64) -> StoreError {
        do throws(StoreError) {
            return try view.takeUnretainedValue().schema.cls(classID).noSuchObject(key)
        } catch {
            return error
        }
    }
}

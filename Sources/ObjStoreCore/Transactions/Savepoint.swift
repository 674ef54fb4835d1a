/// A point inside a transaction to which its later changes can be undone.
///
/// ```
///  begin ── A ── savepoint 1 ── B ── savepoint 2 ── C ──┐
///                     ^                   └── roll back: C is undone, B stays
///                     └── roll back: B and C are undone; release: nothing is
/// ```
/// What the arena holds when one begins is not changed any more, but copied like pages of the file, until the savepoint
/// ends: going back means discarding the copies. What waits (index changes, rows of a bulk insert) is brought into the
/// trees first. So a savepoint costs what these merges cost, plus a copy of each extent that is changed again.
struct Savepoint {
    let id: UInt64
    /// Of a call that calls the application, which may end no savepoint around it meanwhile.
    fileprivate let isOfCall: Bool
    fileprivate let space: WriteSpace.Mark
    fileprivate let ops: OpLog.Mark
    fileprivate let states: [(index: Int, mark: ClassState.Mark)]
}

extension WriteTransaction {
    /// Begins a savepoint inside those that are open. Returns what `releaseSavepoint` and `rollBack` name it by.
    package func beginSavepoint(ofCall: Bool = false) throws(StoreError) -> UInt64 {
        try checkUsable()
        let states = try memory.markStates()
        savepointCount += 1
        savepoints.append(
            Savepoint(
                id: savepointCount, isOfCall: ofCall, space: space.mark(), ops: ops.beginSavepoint(), states: states))
        return savepointCount
    }

    /// Ends a savepoint and those that began after it; the changes stay part of the transaction.
    package func releaseSavepoint(_ id: UInt64, ofCall: Bool = false) throws(StoreError) {
        let position = try savepoint(id, ofCall)
        while savepoints.count > position { releaseInnermost() }
    }

    /// Undoes everything since the savepoint began, and ends it and those that began after it.
    ///
    /// What broke the transaction since is undone, too.
    package func rollBack(toSavepoint id: UInt64, ofCall: Bool = false) throws(StoreError) {
        let position = try savepoint(id, ofCall)
        while savepoints.count > position {
            let last = savepoints.removeLast()
            space.rollBack(to: last.space)
            ops.endSavepoint(last.ops, keepsChanges: InjectedBug.active(.rollbackLogged))
            memory.restoreStates(last.states)
        }
    }

    func releaseAllSavepoints() {
        while !savepoints.isEmpty { releaseInnermost() }
    }

    private func releaseInnermost() {
        let last = savepoints.removeLast()
        space.release(last.space)
        ops.endSavepoint(last.ops, keepsChanges: true)
    }

    private func savepoint(_ id: UInt64, _ ofCall: Bool) throws(StoreError) -> Int {
        guard isActive else { throw StoreError(.closedHandle, "the transaction has ended") }
        guard let position = savepoints.firstIndex(where: { $0.id == id }) else {
            throw StoreError(
                .outOfRange, "savepoint \(id) is not open: it was released or rolled back, or an outer one was")
        }
        if !ofCall, savepoints[position...].contains(where: \.isOfCall) {
            throw StoreError(.inCallback, "a call that began inside of savepoint \(id) is not over")
        }
        return position
    }
}

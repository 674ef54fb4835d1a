extension WriteTransaction {
    /// Applies one operation of the log; `.corrupt` where it does not fit.
    func replay(_ op: Op) throws(StoreError) {
        if let reason = try misfit(op) {
            throw StoreError(.corrupt, "the log has an operation that does not fit: \(reason)")
        }
        do throws(StoreError) { try apply(op) } catch {
            // It gives two objects one unique value, or makes a key that is too long.
            guard error.code == .duplicateKey || error.isDamage || error.isUnfit else { throw error }
            throw StoreError(.corrupt, "the log has an operation that does not fit: \(error.message)")
        }
    }

    /// The same for one that was looked at.
    func apply(_ op: Op) throws(StoreError) {
        switch op {
        case .schema(let schema): try setSchema(schema)
        case .create(let classID, let key, let values): try state(Int(classID)).replayCreate(key, values)
        case .update(let classID, let key, let changes):
            try state(Int(classID)).replayUpdate(key, changes)
        case .splice(let classID, let key, let column, let splice):
            try state(Int(classID)).replaySplice(key, column: column, splice)
        case .edit(let classID, let key, let column, let edit):
            try state(Int(classID)).replayEdit(key, column: column, edit)
        case .delete(let classID, let key): try state(Int(classID)).replayDelete(key)
        }
    }
}

/// Transactions that change more than should be kept in memory.
///
/// ```
///  change, change, …  arena > transactionBytes ──► free pages of the file      nothing refers to them yet
///  change, change, …  arena > transactionBytes ──► …
///  commit             the rest, the root, the log's record, HEAD               as always
/// ```
/// What is spilled goes where the commit would have put it: to pages that are free as of HEAD, with the birth of the
/// version that the transaction will be. A cancelled transaction has only written to free pages; a crash finds them
/// free. What is changed again is copied back, and its place used again (`SpilledPages`).
extension WriteTransaction {
    /// To be called where nothing that was read is used any more. Where it throws, the transaction can only be
    /// cancelled.
    @inline(__always)
    package func spillIfLarge() throws(StoreError) { if _slowPath(space.isLarge) { try spill() } }

    @inline(never)
    func spill() throws(StoreError) {
        do throws(StoreError) {
            try prepareForSpace()
            let writer = memory.extents, runs = memory.takenRuns.count
            writer.begin(
                version: base.version + 1, estimate: space.arena.capacityInUse, mapping: mapping, isSpilling: true)
            for state in memory.openStates { try state.spill(into: writer) }
            if schemaRef.isDirty, space.isOwn(schemaRef) { schemaRef = try writer.node(schemaRef) }
            try writer.finish(database.file)
            // While the transaction continues.
            database.file.startWriting()
            database.shared.dbBytes.add(UInt64(writer.bytesPlaced))
            // They belong to the spilled pages from now on.
            memory.takenRuns.removeLast(memory.takenRuns.count - runs)
            let filePages = database.allocator!.space.pages
            let newest = try database.mapping(forPages: filePages)
            if newest !== mapping { mappings.append(newest) }
            space.didSpill(writer, newest.source(filePages: filePages, seed: database.seed, arena: space.arena))
        } catch {
            memory.spillFailed = true
            throw StoreError(
                error.code,
                """
                the transaction has changed more than it keeps in memory, and could not be written ahead: it can only \
                be cancelled: \(error.message)
                """
            )
        }
    }

    /// Before the transaction takes its first pages, and again before a commit.
    func prepareForSpace() throws(StoreError) {
        if group.members == 0, space.spilled.isEmpty { try database.prepareAllocator(for: base) }
        giveBackEmptied()
    }

    private func giveBackEmptied() {
        for page in space.spilled.takeEmptied() { database.allocator?.space.release(page: page, count: 1) }
    }

    /// The spilled pages become pages like those that the commit takes. Returns what lies there.
    @discardableResult
    func claimSpilled() -> [ExtentWriter.PlacedPage] {
        if space.spilled.isEmpty { return [] }
        giveBackEmptied()
        let placed = space.spilled.placed
        for page in placed {
            if let last = memory.takenRuns.last, last.page + last.count == page.page {
                memory.takenRuns[memory.takenRuns.count - 1].count += 1
            } else {
                memory.takenRuns.append((page.page, 1))
            }
        }
        space.spilled.begin(version: base.version + 1)
        return InjectedBug.active(.spillUnlogged) ? [] : placed
    }
}

/// Versions that are kept by name, and finding those that a program has written down.
///
/// A kept version is pinned by a slot that belongs to no process, and is in page 2 of the file besides:
/// ```
///  keep     a meta of it or a later one is durable ─► slot, under WRITER ─► record ─► sync db ─► the name's former one
///                                                                                                is released
///  release  record goes ─► sync db ─► slot
///  open     records ─► slots, before anybody else may join; a recovery frees no page that they need
/// ```
/// All under CKPT. A process that dies in between leaves a slot without a record, which the next call lets go of after
/// a sync, or the last process with all the memory. What lies in the page cache only, because a process died or a sync
/// failed, could be another on the medium: it is written again and synced before a page is used, by a recovery and
/// before the first write after a clean open (`rewriteKept`).
extension Database {
    package func bookmark(of snapshot: Snapshot) throws(StoreError) -> Bookmark {
        Bookmark(uuid: uuid, version: try snapshot.stateVersion(), root: try snapshot.rootHash())
    }

    /// One of `keptVersions`.
    package struct Kept: Sendable {
        package let name: String
        /// As it is pinned.
        package let version: UInt64
        package let bookmark: Bookmark
        /// Since when, in milliseconds since 1970.
        package let since: Int64
    }

    /// In the order of their names.
    package func keptVersions() throws(StoreError) -> [Kept] {
        try checkOpen()
        let kept = try KeptVersions(file, incarnation: incarnation)
        return kept.newest.map {
            Kept(
                name: $0.name, version: $0.version,
                bookmark: Bookmark(uuid: uuid, version: $0.stateVersion, root: $0.rootHash),
                since: $0.time / 1_000_000)
        }.sorted { $0.name < $1.name }
    }

    // MARK: Finding

    /// A version that was written down, pinned.
    ///
    /// Errors: `.wrongStore`; `.versionGone`: nobody has kept it, and something was committed since; `.timeout`:
    /// another one was writing for so long; `.tooManyReaders`.
    package func snapshot(
        at bookmark: Bookmark, timeout: Int64, until end: WaitCancellation?
    ) throws(StoreError) -> Snapshot {
        guard bookmark.isOf(uuid: uuid) else {
            throw StoreError(.wrongStore, "the bookmark is of version \(bookmark.version) of another store")
        }
        let newest = try snapshot()
        if try newest.rootHash() == bookmark.root { return newest }
        let own = pins.pin(own: bookmark.version)
        if let own {
            let snapshot = try Snapshot(self, pinned: own)
            if try snapshot.rootHash() == bookmark.root { return snapshot }
        }
        if !options.isReadOnly {
            // A pin that moves from one slot to another may be missed by whoever looks at them, who has WRITER.
            guard try acquireWriterForUpkeep(timeout: timeout, until: end) else {
                throw StoreError(
                    .timeout, "a transaction held the writer's lock for too long: looking for a version needs it")
            }
            defer { releaseWriterAfterUpkeep() }
            for entry in try pinnedEntries(for: bookmark) {
                do throws(StoreError) {
                    try shared.check(entry)
                    try pins.pin(head: entry)
                    let snapshot = try Snapshot(self, pinned: entry)
                    if try snapshot.rootHash() == bookmark.root { return snapshot }
                } catch {
                    // A record that does not say the truth is no better than none.
                    if error.code != .corrupt { throw error }
                }
            }
        }
        throw StoreError(
            .versionGone,
            """
            version \(bookmark.version) is not kept by anybody any more, the newest is \(newest.version): begin anew
            """)
    }

    /// Versions that somebody pins, and that may be the one of a bookmark. Under WRITER.
    private func pinnedEntries(for bookmark: Bookmark) throws(StoreError) -> [SharedState.RingEntry] {
        var found = try KeptVersions(file, incarnation: incarnation).all.filter { $0.rootHash == bookmark.root }
            .map(\.entry)
        let pinned = Set(scanPins().pins)
        found += try readMetas().compactMap { (meta) -> SharedState.RingEntry? in
            guard let meta, pinned.contains(meta.version), meta.version >= bookmark.version else { return nil }
            return SharedState.RingEntry(
                version: meta.version, root: meta.root, filePages: meta.filePages, log: meta.log)
        }
        for version in pinned.sorted() where version >= bookmark.version {
            // A checkpoint has the root of the version before.
            if let entry = shared.ringEntry(ifThere: version), version == bookmark.version || entry.isCheckpoint {
                found.append(entry)
            }
        }
        return found
    }

    // MARK: Keeping

    /// Keeps a version that is pinned by `snapshot`, whoever else has the store open, until it is released or the name
    /// is given to another one. Makes a checkpoint where the version is in the log only.
    ///
    /// Errors: `.readOnly`, `.invalidArgument` (the name), `.tooManyVersions` (16 are kept), `.timeout`, `.poisoned`,
    /// `.outcomeUnknown` (a sync failed), `.outOfSpace`, `.io`.
    package func keep(
        _ name: String, _ snapshot: Snapshot, timeout: Int64, until end: WaitCancellation?
    ) throws(StoreError) {
        try checkKeeping(name)
        let deadline = timeout < 0 ? -1 : machine.monotonic() &+ timeout
        let rootHash = try snapshot.rootHash(), stateVersion = try snapshot.stateVersion()
        try checkpoint(atLeast: snapshot.version, timeout: timeout, until: end)
        try whileKeeping(deadline, until: end) { (kept) throws(StoreError) in
            let old = kept.places(of: name)
            guard let place = kept.freePlace, !old.isEmpty || kept.all.count < KeptVersion.places - 1 else {
                let names = kept.newest.map { "'\($0.name)'" }.sorted().joined(separator: ", ")
                throw StoreError(
                    .tooManyVersions, "\(KeptVersion.places - 1) versions may be kept, and these are: \(names)")
            }
            let sequence = (kept.all.map(\.sequence).max() ?? 0) + 1
            try underWriter(deadline, until: end) { () throws(StoreError) in try pins.keep(snapshot.version) }
            let record = KeptVersion(
                name: name, sequence: sequence, entry: snapshot.entry, rootHash: rootHash,
                stateVersion: stateVersion, time: machine.wallClock())
            // Where this fails it may be there all the same; the slot stays till somebody looks again.
            try kept.write(record, at: place, to: file, incarnation: incarnation)
            try syncKept()
            try release(&kept, old)
        }
    }

    /// The opposite.
    ///
    /// Errors: `.notFound`: nothing is kept by that name; those of `keep`.
    package func release(kept name: String, timeout: Int64, until end: WaitCancellation?) throws(StoreError) {
        try checkKeeping(name)
        let deadline = timeout < 0 ? -1 : machine.monotonic() &+ timeout
        try whileKeeping(deadline, until: end) { (kept) throws(StoreError) in
            let places = kept.places(of: name)
            guard let newest = places.last else {
                throw StoreError(.notFound, "no version is kept by the name '\(name)'")
            }
            // Those first that count only when that one is gone.
            if places.count > 1 { try release(&kept, places.dropLast()) }
            try release(&kept, [newest])
        }
    }

    private func release(_ kept: inout KeptVersions, _ places: [Int]) throws(StoreError) {
        let records = places.compactMap { kept.places[$0] }
        if records.isEmpty { return }
        for place in places { try kept.write(nil, at: place, to: file, incarnation: incarnation) }
        // Else a power cut could bring it back when its pages have been used.
        if !InjectedBug.active(.keptReleasedEarly) { try syncKept() }
        for record in records { pins.release(kept: record.version) }
    }

    private func checkKeeping(_ name: String) throws(StoreError) {
        try checkOpen()
        if options.isReadOnly {
            throw StoreError(.readOnly, "a store that is open read-only keeps no versions")
        }
        guard (1...KeptVersion.nameBytes).contains(name.utf8.count), !name.utf8.contains(0) else {
            throw StoreError(
                .invalidArgument,
                "the name of a kept version has 1 to \(KeptVersion.nameBytes) bytes, and no zero among them: '\(name)'")
        }
    }

    /// Under CKPT, with what is kept.
    private func whileKeeping(
        _ deadline: Int64, until end: WaitCancellation?, _ body: (inout KeptVersions) throws(StoreError) -> Void
    ) throws(StoreError) {
        guard try wait(for: locks.checkpoint, timeout: left(until: deadline), until: end) else {
            throw StoreError(.timeout, "a checkpoint took too long")
        }
        defer { locks.checkpoint.release() }
        if shared.isPoisoned { throw poisonedError }
        if !options.isInMemory, try !file.hasName() { throw replacedError }
        var kept = try KeptVersions(file, incarnation: incarnation)
        let left = pins.kept(but: kept.all.map(\.version))
        if !left.isEmpty {
            // By a process that died, perhaps before it was certain that a record has gone.
            try syncKept()
            for version in left { pins.release(kept: version) }
        }
        try body(&kept)
    }

    private func left(until deadline: Int64) -> Int64 { deadline < 0 ? -1 : max(0, deadline - machine.monotonic()) }

    private func underWriter(
        _ deadline: Int64, until end: WaitCancellation?, _ body: () throws(StoreError) -> Void
    ) throws(StoreError) {
        guard try acquireWriterForUpkeep(timeout: left(until: deadline), until: end) else {
            throw StoreError(.timeout, "a transaction held the writer's lock for too long")
        }
        defer { releaseWriterAfterUpkeep() }
        try body()
    }

    private func syncKept() throws(StoreError) {
        do throws(StoreError) { try syncDB() } catch {
            throw error.code != .syncFailed
                ? error
                : StoreError(
                    .outcomeUnknown,
                    "a sync failed while a version was kept: the store is read-only until every process has closed it")
        }
    }

    // MARK: Opening

    /// Before the first page is written of a life of the file, and a sync that comes before that: alone, or under CKPT
    /// and WRITER.
    func rewriteKept() throws(StoreError) {
        if InjectedBug.active(.keptTrusted) { return }
        let count = KeptVersion.places * KeptVersion.size
        let bytes = UnsafeMutableRawPointer.allocate(byteCount: count, alignment: 8)
        defer { bytes.deallocate() }
        try file.read(into: bytes, count: count, at: KeptVersion.first)
        try file.write(UnsafeRawPointer(bytes), count: count, at: KeptVersion.first)
    }

    /// Alone, under OPEN: what is kept in a file whose meta is `meta`. Records that cannot be of it go for good,
    /// before anything else is written: their pages may be used.
    func readKept(_ meta: Meta) throws(StoreError) -> [UInt64] {
        var kept = try KeptVersions(file, incarnation: incarnation), dropped: [Int] = []
        for place in kept.places.indices {
            guard let record = kept.places[place] else { continue }
            if kept.places(of: record.name).last == place, try isThere(record, meta) { continue }
            dropped.append(place)
        }
        if !dropped.isEmpty {
            // What takes their place may be in the page cache only.
            try rewriteKept()
            try file.sync()
            for place in dropped { try kept.write(nil, at: place, to: file, incarnation: incarnation) }
            try file.sync()
        }
        return kept.all.map(\.version).sorted()
    }

    private func isThere(_ record: KeptVersion, _ meta: Meta) throws(StoreError) -> Bool {
        guard record.version <= meta.version else { return false }
        let source = try mapping(forPages: meta.filePages).source(filePages: meta.filePages, seed: seed)
        do throws(StoreError) {
            return NodeHeader.hash(try source.node(record.entry.root, .root)) == record.rootHash
        } catch {
            if error.code == .corrupt { return false }
            throw error
        }
    }

    func holdKept(_ versions: [UInt64]) throws(StoreError) {
        if InjectedBug.active(.keptForgotten) { return }
        for version in versions { try pins.keep(version) }
    }
}

extension KeptVersions {
    /// One for each name.
    var newest: [KeptVersion] { places.indices.filter { isNewest($0) }.map { places[$0]! } }

    private func isNewest(_ index: Int) -> Bool { places[index].map { places(of: $0.name).last == index } ?? false }

    fileprivate var freePlace: Int? { places.firstIndex { $0 == nil } }
}

import ObjStoreCore
import ObjStoreSimulation

/// What the program of an observer has written down: which version it has seen.
struct WatchedNote {
    let bookmark: Bookmark
    let kind: WatchedKind
    let owner: Int64
}

/// Observers that end and begin again where they were, in this process, in another one, or when the store was closed by
/// all meanwhile.
///
/// ```
///  P1  ── note 7 ── keep 'index' at 7 ── ends          all close or die        P5  observes, paused, since 7 ──► one
///  P2  ───────────────── commits 8, 9 ───────────────►                         change set of 8 … 12, or that 7 is lost
/// ```
extension WatchedHistory {
    private static let names = ["cache", "index", "replica", "search"]
    private static let mostNotes = 8

    /// - Parameter view: frozen, or live: what the note is of.
    func writeDown(_ reader: WatchedReader, _ view: View, _ actor: Actor) throws(StoreError) {
        if notes.count >= WatchedHistory.mostNotes { notes.remove(at: random.below(notes.count)) }
        notes.append(
            WatchedNote(bookmark: try actor.store.bookmark(of: view), kind: reader.kind, owner: reader.owner))
    }

    func comeAndGo(_ actor: Actor) throws(StoreError) {
        switch random.below(10) {
        case 0...2: try leave(actor)
        case 3: try keep(actor)
        case 4: try rewind(actor)
        case 5: try look(actor)
        default:
            for _ in 0..<3 {
                // Mostly to what is there for sure.
                let some = random.chance(0.8) ? notes.filter { isKept($0.bookmark) } : notes
                if let note = random.one(of: some) { try comeBack(note, actor) }
            }
        }
    }

    // MARK: Writing down

    /// A program writes down what it shows, and mostly ends.
    private func leave(_ actor: Actor) throws(StoreError) {
        guard let reader = random.one(of: actor.readers.filter({ !$0.isEnded })) else { return }
        try perform(actor) { [self] () throws(StoreError) in
            let view = try actor.store.openView()
            defer { view.close() }
            try settle(view)
            try writeDown(reader, view, actor)
            if random.chance(0.8) { try keep(notes.last!.bookmark, random.one(of: WatchedHistory.names)!, actor) }
            if random.chance(0.6) { reader.observer!.close() } else { return }
            actor.readers.removeAll { $0 === reader }
        }
    }

    /// A name is given to what is noted, or to nothing; now and then the process dies over it.
    private func keep(_ actor: Actor) throws(StoreError) {
        let name = random.one(of: WatchedHistory.names)!, note = random.chance(0.8) ? random.one(of: notes) : nil
        let dies = actor !== actors[0] && random.chance(0.2)
        try perform(actor, steps: dies ? 1 + random.below(300) : .max) { [self] () throws(StoreError) in
            guard let note else { return try release(name, actor) }
            try keep(note.bookmark, name, actor)
        }
    }

    private func keep(_ bookmark: Bookmark, _ name: String, _ actor: Actor) throws(StoreError) {
        let old = kept[name], wasUncertain = uncertain.contains(name), isCertain = isKept(bookmark)
        (kept[name], uncertain) = (nil, uncertain.union([name]))
        do throws(StoreError) { try actor.store.keepVersion(name, at: bookmark) } catch {
            if error.code != .versionGone || isCertain { throw error }
            kept[name] = old
            if !wasUncertain { uncertain.remove(name) }
            return
        }
        kept[name] = bookmark
        uncertain.remove(name)
        counts.kept += 1
    }

    private func release(_ name: String, _ actor: Actor) throws(StoreError) {
        let isThere = kept[name] != nil, wasUncertain = uncertain.contains(name)
        (kept[name], uncertain) = (nil, uncertain.union([name]))
        do throws(StoreError) {
            try actor.store.releaseVersion(name)
            if !isThere && !wasUncertain { fail("kept: \(name) is released, which is not kept") }
        } catch {
            if error.code != .notFound || isThere { throw error }
        }
        uncertain.remove(name)
    }

    /// Certainly.
    private func isKept(_ bookmark: Bookmark) -> Bool { kept.values.contains { $0.isSameState(as: bookmark) } }

    /// What is kept is what was kept, and has the content that it had.
    private func look(_ actor: Actor) throws(StoreError) {
        try perform(actor) { [self] () throws(StoreError) in
            let found = try actor.store.keptVersions()
            for name in WatchedHistory.names where !uncertain.contains(name) {
                let bookmark = found.first { $0.name == name }?.bookmark
                if bookmark.map({ kept[name]?.isSameState(as: $0) ?? false }) ?? (kept[name] == nil) { continue }
                fail("kept: \(name) is \(bookmark?.version ?? 0), not \(kept[name]?.version ?? 0)")
            }
            guard let note = random.one(of: notes) else { return }
            let view: View
            do throws(StoreError) { view = try actor.store.view(at: note.bookmark) } catch {
                if error.code == .versionGone && !isKept(note.bookmark) { return }
                throw error
            }
            defer { view.close() }
            let content = past.content(at: note.bookmark.version)
            if let problem = try Editor(view, content, random).difference() {
                fail("kept: version \(note.bookmark.version): \(problem)")
            }
        }
    }

    // MARK: Coming back

    private func comeBack(_ note: WatchedNote, _ actor: Actor) throws(StoreError) {
        let kind = note.kind
        try perform(actor) { [self] () throws(StoreError) in
            let view = try actor.store.openView()
            defer { view.close() }
            try settle(view)
            let content = past.content(at: try view.version())
            if !kind.needs.allSatisfy({ content.schema.has($0) }) { return }
            if kind.hasOwner, !kind.isThere(note.owner, in: content) { return }
            let reader = makeReader(kind, note.owner, content, at: try view.version())
            reader.observer = try begin(reader, actor, view, ObserverOptions(keyPaths: kind.paths, paused: true))
            actor.readers.append(reader)
            reader.isPaused = true
            // It is not told of that twice.
            if random.chance(0.2) { try writeInside(actor, silencing: []) }
            try begin(reader, at: note, actor)
        }
    }

    /// One that goes on all the time is to begin once more with what was written down.
    private func rewind(_ actor: Actor) throws(StoreError) {
        for reader in actor.readers {
            guard let note = notes.first(where: { $0.kind.name == reader.kind.name && $0.owner == reader.owner }) else {
                continue
            }
            try perform(actor) { [self] () throws(StoreError) in
                let view = try actor.store.openView()
                try settle(view)
                view.close()
                // One whose property was dropped cannot be asked again.
                if !reader.isAskable(in: past.newest) { return }
                reader.observer!.pause()
                (reader.isPaused, reader.wantsInitial, reader.isEnded) = (true, false, false)
                // What it was not told of it is told of now.
                readerNumbers += 1
                reader.number = readerNumbers
                try begin(reader, at: note, actor)
            }
            return
        }
    }

    private func begin(_ reader: WatchedReader, at note: WatchedNote, _ actor: Actor) throws(StoreError) {
        let version = note.bookmark.version, content = past.content(at: version)
        try actor.store.begin(reader.observer!, at: note.bookmark)
        let isOther =
            content.schema.version != past.newest.schema.version || !reader.kind.wasThere(reader.owner, in: content)
        reader.begin(content, at: version)
        // A query finds nothing where its owner is gone already, and has nothing more to tell.
        reader.isEnded = reader.kind.endsWithOwner && !isOther && !reader.exists(in: content)
        reader.isReturning = true
        reader.mayBeLost = isOther || !isKept(note.bookmark)
        reader.mustBeLost = isOther
        if random.chance(0.5) {
            reader.isPaused = false
            reader.observer!.resume()
        }
        counts.returns += 1
        say("P\(actor.number) \(reader.name) begins since \(version)")
    }

    /// All processes close the store, or die; then somebody opens it.
    func reopen() throws(StoreError) {
        let dies = random.chance(0.4)
        for actor in actors {
            if dies {
                world.kill(actor.process)
                _ = Unmanaged.passRetained(actor)
            } else {
                try close(actor)
            }
        }
        actors = []
        let first = startActor()
        try open(first)
        past.openedAt = past.newestVersion
        counts.reopened += 1
        for note in notes { try comeBack(note, first) }
        for kind in WatchedKind.all where random.chance(0.2) { try observe(kind, first) }
    }
}

extension WatchedKind {
    /// Whether it can be observed of an owner.
    func isThere(_ owner: Int64, in content: WatchedContent) -> Bool {
        guard content[isObject ? kind : .tag, owner] != nil else { return false }
        guard case .nested(let path) = way else { return true }
        return content[.tag, owner]!.notes?.at(path)?.isContainer ?? false
    }

    /// Whether a version has what is observed of an owner, where that is one thing: an object, or a collection.
    fileprivate func wasThere(_ owner: Int64, in content: WatchedContent) -> Bool {
        switch way {
        case .object, .collection, .nested, .values: content[isObject ? kind : .tag, owner] != nil
        case .whole, .query, .inverse, .part, .commits: true
        }
    }
}

/// What a program that comes back asks: what it has seen before, and what was done since.
extension Store {
    /// Names the version that a live or frozen view shows.
    ///
    /// Errors: `.wrongView` (a transaction).
    package func bookmark(of view: View) throws(StoreError) -> Bookmark {
        try shared.database.bookmark(of: try view.pinnedSnapshot("bookmark"))
    }

    /// Names the version that an observer has been told of.
    ///
    /// Errors: those of `ObserverHub.known(of:)`.
    package func bookmark(of observer: Observer) throws(StoreError) -> Bookmark {
        try checkOpen()
        return try shared.database.bookmark(of: try observer.hub.known(of: observer))
    }

    /// A frozen view of a version that was written down.
    ///
    /// Errors: those of `Database.snapshot(at:)`; `.alreadyInWrite`.
    package func view(at bookmark: Bookmark) throws(StoreError) -> View {
        try calls.within { () throws(StoreError) in
            try register(View(store: self, snapshot: try snapshot(at: bookmark), kind: .frozen))
        }
    }

    /// A paused observer begins where its program has stopped: see `ObserverHub.begin(_:at:)`. Where the version is
    /// gone it begins anew, and is told so.
    ///
    /// Errors: those of `Database.snapshot(at:)`, and of `ObserverHub.begin(_:at:)`.
    package func begin(_ observer: Observer, at bookmark: Bookmark) throws(StoreError) {
        guard observer.observes(shared.database) else {
            throw StoreError(.wrongStore, "the token observes another store")
        }
        var known: Snapshot?
        do throws(StoreError) { known = try snapshot(at: bookmark) } catch {
            if error.code != .versionGone { throw error }
        }
        try observer.hub.begin(observer, at: known)
    }

    func snapshot(at bookmark: Bookmark) throws(StoreError) -> Snapshot {
        try checkOpen()
        try shared.checkOutside("look for a version")
        return try shared.database.snapshot(
            at: bookmark, timeout: nanoseconds(writeTimeout), until: waitCancellation)
    }

    /// Keeps a version by a name, under which another one was kept till now or none; nil: the newest.
    ///
    /// Errors: those of `Database.keep` and `Database.snapshot(at:)`.
    package func keepVersion(_ name: String, at bookmark: Bookmark?) throws(StoreError) {
        try upkeep("keep a version") { () throws(StoreError) in
            let database = shared.database, snapshot: Snapshot
            if let bookmark { snapshot = try self.snapshot(at: bookmark) } else { snapshot = try database.snapshot() }
            try database.keep(name, snapshot, timeout: nanoseconds(writeTimeout), until: waitCancellation)
        }
    }

    /// Errors: those of `Database.release`.
    package func releaseVersion(_ name: String) throws(StoreError) {
        try upkeep("release a version") { () throws(StoreError) in
            try shared.database.release(kept: name, timeout: nanoseconds(writeTimeout), until: waitCancellation)
        }
    }

    package func keptVersions() throws(StoreError) -> [Database.Kept] {
        try checkOpen()
        return try shared.database.keptVersions()
    }
}

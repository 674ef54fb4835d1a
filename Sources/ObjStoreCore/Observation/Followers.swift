/// The version that most observers of a hub know: those for whom nothing is due. They go on to the next version
/// together, but for those that are concerned by what happened: these are set apart, each with the version that it
/// knows, till they have been told.
///
/// ```
///  followers, 9,998 ──────────── version 7 ─────────► version 8      one step, however many they are
///       concerned, 2 ─► apart    version 7 ─ change set ─► handler ─► version 8 ─► followers
/// ```
struct Followers {
    /// Nil: there are none.
    fileprivate(set) var known: Snapshot?
    private(set) var count = 0
    /// Some thread is about to move them on.
    fileprivate(set) var areMoving = false

    var isBehind: Bool { known != nil && !areMoving }

    /// Whether one joins who knows a version.
    fileprivate mutating func take(_ snapshot: Snapshot) -> Bool {
        if areMoving { return false }
        if let known {
            if known.version != snapshot.version { return false }
        } else {
            known = snapshot
        }
        count += 1
        return true
    }

    /// One leaves, with the version that he knows.
    fileprivate mutating func leave() -> Snapshot? {
        count -= 1
        defer { if count == 0 { known = nil } }
        return known
    }

    /// They know that version now.
    fileprivate mutating func move(to newest: Snapshot) { if count > 0 { known = newest } }
}

/// Who is where. All under the hub's lock, but for what is looked up. Versions that are not needed any more are
/// returned, to be let go of without the lock.
extension ObserverHub {
    /// Under the lock, and lets go of a version without it. Where the optimizer sees that nobody uses what a closure
    /// returns, it lets go of it at once, inside.
    func lettingGo<T>(_ body: () -> (T, Snapshot?)) -> T {
        let (result, passed) = lock.withLock(body)
        withExtendedLifetime(passed) {}
        return result
    }

    func begin(_ observer: Observer) -> Snapshot? {
        observer.isApart = true
        insert(observer)
        return join(observer)
    }

    func end(_ observer: Observer) -> Snapshot? {
        defer { forget(observer) }
        if observer.isApart {
            removeApart(observer)
            return nil
        }
        observer.isApart = true
        return followers.leave()
    }

    /// One for whom nothing is due goes on with the others.
    func join(_ observer: Observer) -> Snapshot? {
        guard observer.isApart, !observer.isClosed, observer.runner == nil, !observer.wantsInitial, !observer.isPaused,
            !observer.isLost, observer.silences.isEmpty, let known = observer.known, followers.take(known)
        else { return nil }
        removeApart(observer)
        observer.isApart = false
        observer.known = nil
        return known
    }

    func setApart(_ observer: Observer) {
        guard !observer.isApart, !observer.isClosed, let known = followers.leave() else { return }
        observer.known = known
        observer.knownVersion = known.version
        observer.isApart = true
        addApart(observer)
    }

    // MARK: Those who stay behind

    func lag(of observer: Observer) -> UInt64 {
        let published = database.publishedVersion
        return lock.withLock {
            let known = observer.isApart ? observer.knownVersion : followers.known?.version ?? published
            return published - min(published, known)
        }
    }

    /// Takes the versions from those that are farther behind than they may be.
    func lose(at version: UInt64) {
        guard mostLag < .max, version > mostLag else { return }
        let oldest = version - mostLag
        // Let go of without the lock.
        var held: [Snapshot] = []
        lock.withLock {
            if let known = followers.known, known.version < oldest, !followers.areMoving { all.forEach(setApart) }
            for observer in apart.all
            where observer.runner == nil && observer.knownVersion < oldest && !observer.isLost {
                if let known = observer.known { held.append(known) }
                held += observer.silences.flatMap { [$0.before] + ($0.after.map { [$0] } ?? []) }
                observer.known = nil
                observer.silences = observer.silences.filter { $0.after == nil }
                observer.isLost = true
            }
        }
        withExtendedLifetime(held) {}
    }

    // MARK: Rests

    func pause(_ observer: Observer) {
        lock.withLock {
            if observer.isClosed { return }
            setApart(observer)
            observer.isPaused = true
        }
    }

    func resume(_ observer: Observer) {
        lettingGo {
            observer.isPaused = false
            return ((), join(observer))
        }
        noticeResumed()
    }

    func setInterval(_ nanoseconds: Int64, of observer: Observer) {
        lock.withLock {
            observer.interval = nanoseconds
            observer.notBefore = .min
            if nanoseconds > 0 { hasIntervals = true }
        }
        noticeTime()
    }

    // MARK: Steps

    /// Moves the followers on, and sets those apart that are concerned by what happened meanwhile.
    ///
    /// Errors: what reading it failed with; they stay where they are.
    func follow(to newest: Snapshot, _ readers: inout [UInt64: ChangeReader]) throws(StoreError) {
        let (start, index, arrivals) = lock.withLock { () -> (Snapshot?, ObserverIndex, UInt64) in
            guard let known = followers.known, !followers.areMoving, known.version < newest.version else {
                return (nil, self.index, 0)
            }
            followers.areMoving = true
            return (known, self.index, self.arrivals)
        }
        guard let start else { return }
        do throws(StoreError) {
            let reader = try ChangeReader(
                database, from: start, to: newest, classes: index.classes(in: newest.schema))
            readers[start.version] = reader
            let isOtherSchema = try start.schemaRef() != newest.schemaRef()
            if !isOtherSchema { reader.arrivals = arrivals }
            let concerned = isOtherSchema ? nil : try index.concerned(by: reader)
            lock.withLock {
                if isOtherSchema { remake(newest.schema) }
                for observer in concerned ?? all { setApart(observer) }
                followers.move(to: newest)
                followers.areMoving = false
            }
        } catch {
            lock.withLock { followers.areMoving = false }
            throw error
        }
    }
}

internal import ObjStoreCore

/// Names one version of one store, in 40 bytes to write down: what a program has seen. What was committed since is
/// told to an observer that begins there (`since:`), where somebody has kept that version.
public struct Bookmark: Hashable, Sendable, Codable {
    let core: ObjStoreCore.Bookmark

    init(_ core: ObjStoreCore.Bookmark) { self.core = core }

    /// Nil: these bytes are none, or were changed.
    public init?(bytes: [UInt8]) {
        guard let core = bytes.withUnsafeBytes({ try? ObjStoreCore.Bookmark(reading: $0) }) else { return nil }
        self.core = core
    }

    public var bytes: [UInt8] {
        [UInt8](unsafeUninitializedCapacity: ObjStoreCore.Bookmark.size) { buffer, count in
            core.write(to: UnsafeMutableRawPointer(buffer.baseAddress.unsafelyUnwrapped))
            count = ObjStoreCore.Bookmark.size
        }
    }

    /// Of two of one store the later one has the greater number.
    public var version: UInt64 { core.version }

    public static func == (a: Bookmark, b: Bookmark) -> Bool { a.core == b.core }
    public func hash(into hasher: inout Hasher) { hasher.combine(bytes) }

    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        guard let found = Bookmark(bytes: try container.decode([UInt8].self)) else {
            throw DecodingError.dataCorruptedError(in: container, debugDescription: "these bytes are no bookmark")
        }
        self = found
    }
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(bytes)
    }
}

/// A version that a store keeps by a name, whoever has it open: see ``Store/keepVersion(_:at:)``.
public struct KeptVersion: Sendable {
    public let name: String
    public let bookmark: Bookmark
    public let since: Timestamp
}

extension StoreReading {
    /// Names what is read here. Inside a write: what was before it.
    public var bookmark: Bookmark {
        get throws(ObjStoreError) {
            let space = _scope.space
            return Bookmark(try core { () throws(StoreError) in try space.handle.store.bookmark(of: space.view) })
        }
    }
}

extension NotificationToken {
    /// Names the version that the observer has been told of, also where that told it of nothing; inside its handler,
    /// that of the change set. The observer keeps it until it is told of a later one: time for
    /// ``Store/keepVersion(_:at:)``. A call of the handler that runs on another thread is waited for. Of an observer on
    /// a queue or actor it is what has been handed to that.
    ///
    /// Errors: `.versionGone`: it was too far behind, and has not begun anew yet; `.inCallback`: inside of a handler,
    /// while another thread runs the observer's own; `.closedHandle`.
    public var bookmark: Bookmark {
        get throws(ObjStoreError) {
            guard let observer, let handle else {
                throw ObjStoreError(.closedHandle, "a token is of no observer: there was none to be made")
            }
            return Bookmark(try core { () throws(StoreError) in try handle.store.bookmark(of: observer) })
        }
    }
}

extension Store {
    /// The store as it was in a version that was written down.
    ///
    /// Errors: `.versionGone`: nobody keeps it any more; `.wrongStore`; `.alreadyInWrite`; `.timeout` (another one was
    /// writing for so long), `.tooManyReaders`, `.closedHandle`.
    public func at(_ bookmark: Bookmark) throws(ObjStoreError) -> Snapshot {
        let handle = space.handle
        let view = try core { () throws(StoreError) in try handle.store.view(at: bookmark.core) }
        return Snapshot(ObjectSpace(handle, view, isFrozen: true))
    }

    /// Keeps a version by a name of up to 64 bytes until it is released, or the name is given to another one, whoever
    /// has the store open, after restarts, crashes and power cuts, too. A program that is away, such as a search index
    /// or a replica, asks later what was committed meanwhile (`since:`). What is written after it makes the file grow:
    /// move it on now and then. Up to 16 names; two or three syncs.
    ///
    /// - Parameter bookmark: nil: the newest version.
    /// Errors: `.versionGone`, `.wrongStore`, `.invalidArgument` (the name), `.tooManyVersions`, `.alreadyInWrite`,
    /// `.readOnly`, `.timeout`, `.poisoned`, `.outcomeUnknown` (a sync failed), `.outOfSpace`, `.io`, `.closedHandle`.
    public func keepVersion(_ name: String, at bookmark: Bookmark? = nil) throws(ObjStoreError) {
        try core { () throws(StoreError) in try space.handle.store.keepVersion(name, at: bookmark?.core) }
    }

    /// Lets go of a version that was kept by that name.
    ///
    /// Errors: `.notFound`: there is none; the others of ``keepVersion(_:at:)``.
    public func releaseVersion(_ name: String) throws(ObjStoreError) {
        try core { () throws(StoreError) in try space.handle.store.releaseVersion(name) }
    }

    /// In the order of their names.
    public func keptVersions() throws(ObjStoreError) -> [KeptVersion] {
        try core { () throws(StoreError) in try space.handle.store.keptVersions() }.map {
            KeptVersion(
                name: $0.name, bookmark: Bookmark($0.bookmark),
                since: Timestamp(seconds: $0.since / 1000, nanoseconds: Int32($0.since % 1000 * 1_000_000)))
        }
    }
}

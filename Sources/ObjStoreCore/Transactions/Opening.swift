/// Creating, opening, joining and closing a store.
///
/// Everything happens under the OPEN lock: an opener that finds no process alive recovers and recreates the shared
/// state, otherwise it joins it.
extension Database {
    /// Opens a store. `path` is that of the `db` file; `-log` and `-lock` are next to it. `isKnown`: it is resolved,
    /// and the file was there a moment ago.
    package static func open(
        _ path: String, options: StoreOptions, machine: Machine, probe: (any EngineProbe)? = nil, isKnown: Bool = false
    ) throws(StoreError) -> Database {
        if options.isInMemory { return try openInMemory(path, options: options, machine: machine, probe: probe) }
        var options = options
        options.logBytes = max(16384, (options.logBytes + PageSize.page - 1) & ~(PageSize.page - 1))
        options.logBytesLimit = max(options.logBytes, options.logBytesLimit & ~(PageSize.page - 1))
        let resolved = isKnown ? path : try machine.resolve(path)
        var isKnown = isKnown
        for _ in 0..<attempts {
            do throws(StoreError) {
                if let database = try openNow(
                    resolved, options: options, machine: machine, probe: probe, isKnown: isKnown)
                {
                    return database
                }
            } catch {
                throw error.code == .syncFailed ? StoreError(.io, error.message) : error
            }
            isKnown = false
        }
        throw StoreError(.busy, "\(path) is deleted again and again")
    }

    /// How often a file that is deleted in the meantime is looked for.
    static let attempts = 100

    /// Nil: the file was deleted before it was open; there may be another one, or none.
    private static func openNow(
        _ path: String, options: StoreOptions, machine: Machine, probe: (any EngineProbe)?, isKnown: Bool
    ) throws(StoreError) -> Database? {
        var made: (UInt64, UInt64)?
        if !isKnown, !machine.exists(path) {
            guard options.creates && !options.isReadOnly else {
                throw StoreError(.notFound, "there is no store at \(path)")
            }
            made = try createFile(path, like: options.accessModel, machine: machine)
        }
        let file: StorageFile
        do throws(StoreError) { file = try machine.open(path, options.isReadOnly ? .readOnly : .existing) } catch {
            if error.code != .notFound, machine.exists(path) { throw error }
            return nil
        }
        do throws(StoreError) {
            if options.isReadOnly {
                return try openImmutable(file, path: path, options: options, machine: machine, probe: probe)
            }
            if let database = try open(file, path: path, options: options, machine: machine, probe: probe) {
                database.isOwnMake = made.map { $0 == database.uuid } ?? false
                return database
            }
            file.close()
            return nil
        } catch {
            file.close()
            throw error
        }
    }

    private static func open(
        _ file: StorageFile, path: String, options: StoreOptions, machine: Machine, probe: (any EngineProbe)?
    ) throws(StoreError) -> Database? {
        let isCoherent = try machine.fileSystem(of: file) == .coherent
        guard isCoherent || options.isExclusive else {
            throw StoreError(
                .incompatibleFileSystem,
                "\(path) lies on a file system where several processes cannot share a mapped file")
        }
        let instance = max(1, machine.random64() >> 3)
        let locks = Locks(machine, file, instance: instance)
        guard try wait(for: locks.open, timeout: options.openTimeout, until: options.openCancellation, machine) else {
            throw StoreError(.timeout, "another process was opening or closing \(path) for too long")
        }
        defer { locks.open.release() }
        // The process that had the lock may have deleted the file.
        guard try machine.leads(path, to: file) else { return nil }
        let isFirst = !(try machine.isLocked(file, bytes: Locks.allLive)) || InjectedBug.active(.twoSharedStates)
        if options.isExclusive {
            let isRead = isFirst ? try machine.isLocked(file, bytes: Locks.immutable) : true
            if isRead { throw StoreError(.busy, "\(path) is open in another process") }
        }
        let database: Database
        do throws(StoreError) {
            database =
                isFirst
                ? try openFirst(
                    file, path: path, options: options, machine: machine, locks: locks, instance: instance, probe: probe
                )
                : try join(
                    file, path: path, options: options, machine: machine, locks: locks, instance: instance, probe: probe
                )
        } catch {
            // What it found beside the path, or did not, was not its own.
            if try !machine.leads(path, to: file) { return nil }
            throw error
        }
        let shared = database.shared
        guard try locks.live.acquire(timeout: 0) else {
            throw StoreError(.busy, "another process has the same instance id")
        }
        locks.attach(shared, instance: instance, isAlive: Locks.isAlive(machine, file))
        if options.hasBackgroundThread && !options.isReadOnly { database.background = try BackgroundWork(database) }
        database.markOpen()
        return database
    }

    // MARK: The session page

    /// Page 2: which lock file and which life of it belong to the processes that have the store open now.
    ///
    /// `0 "objsess\u{1}" · 8 device, inode of the lock file · 24 nonce · 32 boot id (16) · 48 incarnation ·
    /// 56 u32 layout version · 64 generation of a meta that is known to be durable, or 0 ·
    /// 72 device, inode of the store itself: a copy has
    /// another`
    private enum Session {
        static let magic: UInt64 = 0x0173_7365_736a_626f
        static let offset = 2 * PageSize.page
        static let size = 88
        /// In the word of the layout version: no process may join.
        static let exclusive: UInt64 = 1 << 63

        static func write(
            _ file: StorageFile, lockFile: FileIdentity, _ identity: SharedState.Identity, isExclusive: Bool,
            durable: UInt64
        ) throws(StoreError) {
            let own = try file.identity()
            let words: [UInt64] = [
                magic, lockFile.device, lockFile.inode, identity.nonce, identity.boot.0, identity.boot.1,
                identity.incarnation,
                UInt64(SharedState.layoutVersion) | (isExclusive ? exclusive : 0), durable, own.device, own.inode,
            ]
            let buffer = ByteBuffer(capacity: size)
            for word in words { try buffer.append(word) }
            try file.write(UnsafeRawPointer(buffer.base), count: size, at: offset)
        }

        /// After a sync that covered the meta of that generation.
        static func noteDurable(_ file: StorageFile, _ generation: UInt64) throws(StoreError) {
            try withUnsafeBytes(of: generation) { (bytes) throws(StoreError) in
                try file.write(bytes.baseAddress!, count: 8, at: offset + 64)
            }
        }

        /// Nil where none was written into this file, or only into one that it is a copy of.
        static func read(
            _ file: StorageFile
        ) throws(StoreError) -> (
            lockFile: FileIdentity, identity: SharedState.Identity, layout: UInt64, durable: UInt64
        )? {
            let words = UnsafeMutablePointer<UInt64>.allocate(capacity: size / 8)
            defer { words.deallocate() }
            try file.read(into: UnsafeMutableRawPointer(words), count: size, at: offset)
            guard words[0] == magic, try FileIdentity(device: words[9], inode: words[10]) == file.identity() else {
                return nil
            }
            return (
                FileIdentity(device: words[1], inode: words[2]),
                SharedState.Identity(nonce: words[3], boot: (words[4], words[5]), incarnation: words[6]), words[7],
                words[8]
            )
        }
    }

    // MARK: Shared memory

    /// The memory of an opener that finds no process alive. That of the last session serves again if it certainly is
    /// not in use elsewhere: its file is named by this very store. Else a new one: what has the name may still be used
    /// by a process that had a store open that was deleted or replaced.
    private static func makeShared(
        _ file: StorageFile, _ slot: Int, _ meta: Meta, path: String, options: StoreOptions, machine: Machine
    ) throws(StoreError) -> (SharedState, isNew: Bool) {
        let name = path + "-lock", bytes = SharedState.bytes(options.shared)
        let session = try Session.read(file)
        // Another program's file may have the inode of a lock file that was deleted: it is not touched.
        if let session, isLockFile(named: name, bytes, machine),
            let memory = try? machine.openShared(name, bytes: bytes, session.lockFile, like: file)
        {
            let shared = SharedState(memory, limits: options.shared)
            if shared.storedIdentity == session.identity || InjectedBug.active(.staleSharedState) {
                return (shared, false)
            }
        }
        if InjectedBug.active(.lockFileKept), machine.exists(name),
            let memory = try machine.openShared(name, bytes: bytes, try machine.identity(of: name), like: file)
        {
            return (SharedState(memory, limits: options.shared), false)
        }
        return try SideNames.holding(of: path, for: file, timeout: options.openTimeout, machine) {
            (_) throws(StoreError) in
            try retireLockFile(name, bytes, of: session?.identity, machine)
            // A clean store needs no log. That of a store which was replaced by a copy of itself is of the same
            // incarnation, and may still be written by processes that had the old one open.
            if meta.isClean, !InjectedBug.active(.foreignLogKept), try isLogOrLink(path + "-log", machine) {
                // The meta may be in the page cache only, where a close died: the one before it needs the log.
                try writeMeta(meta, slot: slot, to: file)
                try file.sync()
                try machine.removeIfPresent(path + "-log")
            }
            return (SharedState(try machine.createShared(name, bytes: bytes, like: file), limits: options.shared), true)
        }
    }

    /// Whether it is there and may go: a log, or what cannot be opened, as a symbolic link, and would make room for a
    /// log anyway.
    private static func isLogOrLink(_ name: String, _ machine: Machine) throws(StoreError) -> Bool {
        let found: StorageFile?
        do throws(StoreError) { found = try openSide(name, machine) } catch {
            if error.isOfTheFile { return true }
            throw error
        }
        guard let file = found else { return false }
        defer { file.close() }
        return try LogFile.isLog(file)
    }

    /// What is none was put there by another program, and stays.
    static func removeLog(_ name: String, _ machine: Machine) throws(StoreError) {
        if try isLogOrLink(name, machine) { try machine.removeIfPresent(name) }
    }

    /// Its content says so, or its size, for a power cut may leave any content. That the last session's had this inode
    /// says nothing: what is deleted leaves its inode to the next file.
    private static func isLockFile(_ file: StorageFile, _ bytes: Int) throws(StoreError) -> Bool {
        var first: UInt64 = 0
        try withUnsafeMutableBytes(of: &first) { (bytes) throws(StoreError) in
            try file.read(into: bytes.baseAddress!, count: 8, at: 0)
        }
        let size = try file.size()
        return SharedState.isOurs(first) || size == bytes || size == SharedMemory.firstPart
    }

    private static func isLockFile(named name: String, _ bytes: Int, _ machine: Machine) -> Bool {
        guard let file = try? machine.open(name, .side) else { return false }
        defer { file.close() }
        return (try? isLockFile(file, bytes)) == true
    }

    /// Removes the lock file beside a store that goes. What is none was put there by another program, and stays.
    static func removeLockFile(_ name: String, _ machine: Machine) throws(StoreError) {
        let file: StorageFile
        do throws(StoreError) { file = try machine.open(name, .side) } catch {
            if error.code == .notFound { return }
            // A link, or what this process may not open.
            if error.isOfTheFile { return try machine.removeIfPresent(name) }
            throw error
        }
        defer { file.close() }
        if try isLockFile(file, SharedState.bytes(SharedState.Limits())) { try machine.removeIfPresent(name) }
    }

    /// Before another one gets its name. Throws where it is none. `session`: the last one of this store.
    private static func retireLockFile(
        _ name: String, _ bytes: Int, of session: SharedState.Identity?, _ machine: Machine
    ) throws(StoreError) {
        let old: StorageFile
        // What cannot be opened (a symbolic link, another user's) only loses its name.
        do throws(StoreError) { old = try machine.open(name, .side) } catch { return }
        defer { old.close() }
        let identity = try old.identity(), names = try old.nameCount()
        guard try isLockFile(old, bytes) else {
            throw StoreError(.io, "\(name) is not the lock file of a store: it stays as it is, and must be moved away")
        }
        guard let memory = try machine.openShared(name, bytes: SharedMemory.firstPart, identity, like: nil) else {
            return
        }
        let state = SharedState(memory, limits: SharedState.Limits())
        // With two names it may be the lock file of another store, whose users have nothing to do with this one. Its
        // inode says nothing.
        if names == 1 || session != nil && state.storedIdentity == session { state.retire(machine) }
    }

    // MARK: First and joining

    private static func openFirst(
        _ file: StorageFile, path: String, options: StoreOptions, machine: Machine, locks: Locks, instance: UInt64,
        probe: (any EngineProbe)?
    ) throws(StoreError) -> Database {
        // Before anything is made or removed: it is a store, and whole.
        let (slot, meta, metas) = try chooseMeta(file, path: path)
        let bytes = try file.size()
        try checkLength(metas, bytes, path)
        let (shared, isNew) = try makeShared(file, slot, meta, path: path, options: options, machine: machine)
        do throws(StoreError) {
            return try openFirst(
                file, slot, metas, bytes: bytes, path: path, options: options, machine: machine, shared: shared,
                locks: locks, instance: instance, probe: probe)
        } catch {
            // A file that cannot be opened keeps no lock file: the next opener recreates it.
            if isNew {
                try? SideNames.holding(of: path, for: file, timeout: 0, machine) { (_) throws(StoreError) in
                    try machine.remove(path + "-lock")
                }
            }
            throw error
        }
    }

    private static func openFirst(
        _ file: StorageFile, _ slot: Int, _ metas: [Meta?], bytes: Int, path: String, options: StoreOptions,
        machine: Machine, shared: SharedState, locks: Locks,
        instance: UInt64, probe: (any EngineProbe)?
    ) throws(StoreError) -> Database {
        let meta = metas[slot]!
        let boot = try machine.bootID()
        if InjectedBug.active(.staleSharedState), let old = shared.storedIdentity, old.incarnation == meta.incarnation,
            shared.head.load() != 0
        {
            // The mistake: what the memory says is believed.
            let log = try openLog(file, path, meta, machine)
            return try make(file, path, options, machine, shared, locks, instance, meta, log, probe, bytes: bytes)
        }
        let identity = SharedState.Identity(
            nonce: PageHash.mix(instance, 0x6e6f_6e63_65), boot: boot, incarnation: meta.incarnation)
        if meta.isClean {
            // A close that died, or whose sync failed, leaves a meta that a power cut may take back. It shows in the
            // session page of this boot, which a close marks when its sync has returned; what an earlier boot left
            // comes from the medium.
            if let last = try Session.read(file), last.identity.boot == boot,
                last.durable != meta.generation || last.identity.incarnation != meta.incarnation
            {
                if !InjectedBug.active(.cleanTrusted) {
                    try writeMeta(meta, slot: slot, to: file)
                    try file.sync()
                }
            }
            let database = try make(
                file, path, options, machine, shared, locks, instance, meta, nil, probe, bytes: bytes)
            try probe?.didRecover(database, chain: meta.log.chain, newChain: meta.log.chain, version: meta.version)
            let kept = try database.readKept(meta)
            database.startSharedState(meta, slot: slot, otherPin: meta.version, identity: identity, isPrepared: false)
            try database.holdKept(kept)
            try Session.write(
                file, lockFile: shared.identity, identity, isExclusive: options.isExclusive, durable: meta.generation)
            return database
        }
        try shared.reserveAll()
        let log = try openLog(file, path, meta, machine)
        if log == nil && !options.opensWithoutLog {
            throw StoreError(
                .needsLog,
                """
                \(path) was not closed cleanly\(doubt(metas)), and its log \(path)-log is missing or belongs to \
                another file
                """
            )
        }
        // The mode of the store may have changed since. What recovery needs it needs in any case.
        if let log { _ = log.file.canTakeAccess(of: file) }
        let database = try make(file, path, options, machine, shared, locks, instance, meta, log, probe, bytes: bytes)
        if log == nil {
            try database.makeLog(meta)
            _ = try database.requireLog()
        }
        try database.recover(meta, slot: slot, identity: identity)
        database.wasRecovered = true
        try Session.write(file, lockFile: shared.identity, identity, isExclusive: options.isExclusive, durable: 0)
        return database
    }

    private static func join(
        _ file: StorageFile, path: String, options: StoreOptions, machine: Machine, locks: Locks, instance: UInt64,
        probe: (any EngineProbe)?
    ) throws(StoreError) -> Database {
        let session = try Session.read(file)
        if let session, session.layout & Session.exclusive != 0 {
            throw StoreError(.busy, "another process has \(path) open, exclusively")
        }
        guard let session, session.layout == UInt64(SharedState.layoutVersion),
            let memory = try machine.openShared(
                path + "-lock", bytes: SharedState.bytes(options.shared), session.lockFile, like: nil)
        else { throw notShared(path) }
        let shared = SharedState(memory, limits: options.shared)
        guard shared.storedIdentity == session.identity else { throw notShared(path) }
        let (_, meta, _) = try chooseMeta(file, path: path)
        let log = shared.prepared.load() == 0 ? nil : try openLog(file, path, meta, machine)
        return try make(file, path, options, machine, shared, locks, instance, meta, log, probe)
    }

    private static func notShared(_ path: String) -> StoreError {
        StoreError(
            .versionMismatch,
            """
            \(path) is open in another process with which this one cannot share it: its lock file was replaced or \
            removed, or the library differs
            """
        )
    }

    /// The one that counts, and both.
    private static func chooseMeta(
        _ file: StorageFile, path: String, writes: Bool = true
    ) throws(StoreError) -> (slot: Int, meta: Meta, metas: [Meta?]) {
        let metas: [Meta?]
        do throws(StoreError) { metas = try readMetas(file) } catch {
            throw error.code == .versionMismatch ? StoreError(.versionMismatch, "\(path): \(error.message)") : error
        }
        if let newest = newestMeta(metas) {
            guard !writes || newest.meta.readOnlyCompatible == 0 else {
                throw StoreError(
                    .versionMismatch,
                    """
                    \(path) has features that this library cannot keep up (bits \(newest.meta.readOnlyCompatible)): \
                    open it in the mode immutable
                    """
                )
            }
            return (newest.slot, newest.meta, metas)
        }
        guard Meta.isStore(file) else { throw StoreError(.notAStore, "\(path) is not an objstore file") }
        throw StoreError(.corrupt, "both metas of \(path) are damaged")
    }

    /// What is missing at the end could be mapped, but not read: the system would end the process.
    private static func checkLength(_ metas: [Meta?], _ bytes: Int, _ path: String) throws(StoreError) {
        if let problem = lengthProblem(metas, bytes) { throw StoreError(.corrupt, "\(path): \(problem)") }
    }

    /// Why that a file was not closed cleanly may not be so, in words that follow it; empty where both metas are whole.
    static func doubt(_ metas: [Meta?]) -> String {
        guard let damaged = metas.firstIndex(of: nil), metas[damaged ^ 1] != nil else { return "" }
        return ", as meta \(damaged ^ 1) says (meta \(damaged), which is damaged, may have been the newer one)"
    }

    /// What is wrong with a file of this many bytes; nil: nothing. A close cuts the file: where the meta that it wrote
    /// is damaged, the one before it is of a longer file, from which nothing was cut that is needed.
    static func lengthProblem(_ metas: [Meta?], _ bytes: Int) -> String? {
        guard let (slot, meta) = newestMeta(metas), meta.filePages * PageSize.page > bytes else { return nil }
        let wanted = meta.filePages * PageSize.page
        if metas[slot ^ 1] != nil { return "it was cut off: it has \(bytes) bytes and should have \(wanted)" }
        return
            """
            it has \(bytes) bytes, and meta \(slot) is of \(wanted): it was cut off, or meta \(slot ^ 1), which is \
            damaged, was the newer one
            """
    }

    /// The log of that store; nil where there is none, or another one's. `.replaced` where the path leads to another
    /// store: what is next to it may be the log of a copy.
    static func openLog(
        _ store: StorageFile, _ path: String, uuid: (UInt64, UInt64), incarnation: UInt64, seed: UInt64,
        _ machine: Machine
    ) throws(StoreError) -> LogFile? {
        let found = try openSide(path + "-log", machine)
        do throws(StoreError) {
            // Checked when it is open: the log is the one that was next to the store at that time, or an older one.
            if !InjectedBug.active(.namesUnasked), try !machine.leads(path, to: store) { throw replaced(path) }
            if let found, try LogFile.matches(found, uuid: uuid, incarnation: incarnation) {
                return LogFile(file: found, seed: seed)
            }
        } catch {
            found?.close()
            throw error
        }
        found?.close()
        return nil
    }

    private static func openLog(
        _ store: StorageFile, _ path: String, _ meta: Meta, _ machine: Machine
    ) throws(StoreError) -> LogFile? {
        try openLog(store, path, uuid: meta.uuid, incarnation: meta.incarnation, seed: meta.hashSeed, machine)
    }

    /// A file beside the store; nil where there is none.
    static func openSide(_ path: String, _ machine: Machine) throws(StoreError) -> StorageFile? {
        do throws(StoreError) { return try machine.open(path, .side) } catch {
            if error.code == .notFound { return nil }
            throw error
        }
    }

    private static func make(
        _ file: StorageFile, _ path: String, _ options: StoreOptions, _ machine: Machine, _ shared: SharedState,
        _ locks: Locks,
        _ instance: UInt64, _ meta: Meta, _ log: LogFile?, _ probe: (any EngineProbe)?,
        bytes: Int? = nil
    ) throws(StoreError) -> Database {
        let size = if let bytes { bytes } else { try file.size() }
        let mapping = try Mapping(file, bytes: Mapping.bytes(forFile: max(size, meta.filePages * PageSize.page)))
        return Database(
            machine: machine, options: options, path: path, file: file, shared: shared, locks: locks,
            instance: instance, meta: meta,
            mapping: mapping, log: log, probe: probe)
    }

    // MARK: Creating

    /// Writes a new, empty, clean store; what another process created meanwhile wins.
    /// The uuid of the one that this process has made.
    private static func createFile(
        _ path: String, like model: StorageFile?, machine: Machine
    ) throws(StoreError) -> (UInt64, UInt64) {
        var uuid: (UInt64, UInt64) = (0, 0)
        try machine.create(path, like: model) { (file) throws(StoreError) in uuid = try format(file, machine: machine) }
        if !InjectedBug.active(.folderNotSynced) { try machine.syncFolder(of: path) }
        return uuid
    }

    /// Version 1 of every store: no classes.
    /// ```
    /// page 0, 1 metas (the same)   2 session   3 root and schema   4 free map   … free
    /// ```
    @discardableResult
    static func format(_ file: StorageFile, machine: Machine, pages: Int = 16) throws(StoreError) -> (UInt64, UInt64) {
        try file.reserve(pages * PageSize.page)
        let seed = machine.random64()
        let arena = try Arena()
        let space = try FreeSpace(pages: pages)
        space.releaseAll()
        let writer = ExtentWriter(
            version: 1, seed: seed, arena: arena, estimate: PageSize.page,
            takeRun: { (minimum, wanted) throws(StoreError) in space.takeRun(minimum: minimum, wanted: wanted)! },
            release: { space.release(page: $0, count: $1) })
        let encoded = ByteBuffer()
        try SchemaCodec.append(Schema(classes: [], version: 0), to: encoded)
        let (schema, schemaPointer) = try arena.allocate(bytes: NodeHeader.size + encoded.count, capacity: 0)
        NodeHeader.initialize(schemaPointer, kind: .schema, bytes: NodeHeader.size + encoded.count)
        (schemaPointer + NodeHeader.size).copyMemory(from: encoded.base, byteCount: encoded.count)
        let (root, rootPointer) = try arena.allocate(bytes: RootNode.headerSize, capacity: 0)
        (rootPointer).initializeMemory(as: UInt8.self, repeating: 0, count: RootNode.headerSize)
        NodeHeader.initialize(rootPointer, kind: .root, bytes: RootNode.headerSize, word: 1)
        RootNode.setSchema(rootPointer, try writer.node(schema))
        let rootRef = try writer.node(root)
        try writer.finish(file)
        for page in writer.placed { try space.allocate(page: page.page, units: page.liveUnits, version: 1) }
        let mapRun = space.takeRun(minimum: 1, wanted: 1)!
        try space.allocate(page: mapRun.page, units: PageSize.unitsPerPage, version: 1)
        let (image, mapRef) = try FreeMapNode.encode(
            space, version: 1, run: PageRun(page: mapRun.page, count: 1), seed: seed)!
        try file.write(UnsafeRawPointer(image.base), count: image.count, at: mapRef.offset)
        let meta = Meta(
            uuid: (machine.random64(), machine.random64()), incarnation: machine.random64(), generation: 1, version: 1,
            root: rootRef,
            freeMap: mapRef, filePages: pages,
            log: LogPosition(lsn: 0, epoch: 1, chain: machine.random64(), region: LogRegion()),
            hashSeed: seed, created: machine.wallClock(), isClean: true)
        try writeMeta(meta, slot: 0, to: file)
        try writeMeta(meta, slot: 1, to: file)
        return meta.uuid
    }

    private static func openInMemory(
        _ name: String, options: StoreOptions, machine: Machine, probe: (any EngineProbe)?
    ) throws(StoreError) -> Database {
        let file = try machine.openAnonymous("objstore " + name)
        try format(file, machine: machine)
        let bytes = SharedState.bytes(options.shared)
        let memory = try OwnedMemory(bytes: bytes)
        let shared = SharedState(memory, limits: options.shared)
        let instance = max(1, machine.random64() >> 3)
        let locks = Locks(machine, file, instance: instance)
        locks.attach(shared, instance: instance) { (_) throws(StoreError) in true }
        let (slot, meta, _) = try chooseMeta(file, path: name)
        let database = try make(file, "", options, machine, shared, locks, instance, meta, nil, probe)
        let identity = SharedState.Identity(nonce: 1, boot: (0, 0), incarnation: meta.incarnation)
        database.startSharedState(meta, slot: slot, otherPin: meta.version, identity: identity, isPrepared: false)
        guard try locks.live.acquire(timeout: 0) else {
            throw StoreError(.internalError, "a new in-memory store is locked")
        }
        if options.hasBackgroundThread { database.background = try BackgroundWork(database) }
        database.markOpen()
        return database
    }

    /// A file that no process writes: no locks, no shared state, nothing but a clean file that can be read.
    private static func openImmutable(
        _ file: StorageFile, path: String, options: StoreOptions, machine: Machine, probe: (any EngineProbe)?
    ) throws(StoreError) -> Database {
        let isAlone = try machine.lockShared(file, bytes: Locks.immutable)
        let (slot, meta, metas) = try chooseMeta(file, path: path, writes: false)
        guard meta.isClean else {
            throw StoreError(
                .needsLog,
                """
                \(path) is open for writing, or was not closed cleanly\(doubt(metas)): open it for writing once, so \
                that it can be recovered
                """
            )
        }
        // A writer looks at our lock before its first write, and we at the writers' after we have it: one sees the
        // other.
        guard isAlone, try !machine.isLocked(file, bytes: Locks.allLive) else {
            throw StoreError(.busy, "\(path) is open for writing: the mode immutable is for files that nobody writes")
        }
        let bytes = try file.size()
        try checkLength(metas, bytes, path)
        let shared = SharedState(try OwnedMemory(bytes: SharedState.bytes(options.shared)), limits: options.shared)
        let instance = max(1, machine.random64() >> 3)
        let database = try make(
            file, path, options, machine, shared, Locks(machine, file, instance: instance), instance, meta, nil, probe,
            bytes: bytes)
        let identity = SharedState.Identity(nonce: 1, boot: (0, 0), incarnation: meta.incarnation)
        database.startSharedState(meta, slot: slot, otherPin: meta.version, identity: identity, isPrepared: false)
        database.markOpen()
        return database
    }

    // MARK: Closing

    /// Ends this process's use of the store. The last one makes a checkpoint and marks the file clean: the db
    /// file alone is then a whole copy. Snapshots and transactions must be gone. A second call does nothing.
    package func close() throws(StoreError) {
        if isClosed { return }
        watch.stop()
        let mayOweSync = background?.stop() ?? false
        background = nil
        if options.isInMemory || options.isReadOnly {
            markClosed()
            file.close()
            return
        }
        guard try locks.open.acquire(timeout: -1) else { return }
        if isClosed { return locks.open.release() }
        // Before the checkpoint: a commit after it would not be in the clean file.
        markClosed()
        defer {
            locks.open.release()
            file.close()
            log?.file.close()
        }
        var failure: StoreError?
        do throws(StoreError) {
            pins.releaseAll()
            // No other process can open or close now. A process that dies here leaves the store to the recovery of the
            // next one.
            let isLast = !(try machine.isLocked(file, bytes: Locks.allLive))
            if InjectedBug.active(.liveGivenUpFirst) { locks.live.release() }
            // No other process knows that a sync was due. Before LIVE is released: from then on others take the locks
            // from their owner.
            if !isLast && mayOweSync && !shared.isPoisoned && !InjectedBug.active(.closeUnsynced) {
                try waitDurable(shared.published.load())
            }
            if !InjectedBug.active(.liveGivenUpFirst) { locks.live.release() }
            // A file that can no longer be found is left as it is: its log may be that of the store in its place.
            if isLast && !shared.isPoisoned && shared.prepared.load() != 0, try file.hasName() {
                try checkpoint(clean: true)
                try Session.noteDurable(file, shared.generation.load())
            }
            if isLast && !shared.isPoisoned && options.leavesFileAlone {
                // Where the folder has another name, or none, nothing is next to the path.
                do throws(StoreError) { try removeSideFiles() } catch { if error.code != .replaced { throw error } }
            }
        } catch {
            failure = error
        }
        if let failure { throw failure }
    }

    /// Under OPEN: the next opener recreates them.
    private func removeSideFiles() throws(StoreError) {
        try SideNames.holding(of: path, for: file, timeout: options.openTimeout, machine) { (_) throws(StoreError) in
            // A log that was never written to was made for a meta that is not clean, whose writing failed; it may be in
            // the file all the same, and needs the log.
            if try Database.newestMeta(readMetas())?.meta.isClean == true {
                try Database.removeLog(path + "-log", machine)
            }
            try machine.removeIfPresent(path + "-lock")
        }
    }
}

/// Memory that only this process has, in the place of a shared one.
package final class OwnedMemory: SharedMemory, @unchecked Sendable {
    package init(bytes: Int) throws(StoreError) {
        let base = try Memory.allocateAligned(bytes, to: 4096)
        base.initializeMemory(as: UInt8.self, repeating: 0, count: bytes)
        super.init(base: base, bytes: bytes, identity: FileIdentity(device: 0, inode: 0), isNew: true)
    }
    deinit { base.deallocate() }
}

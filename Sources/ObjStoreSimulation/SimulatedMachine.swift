internal import CFibers
internal import CSystem
package import ObjStoreCore

/// The `Machine` of one simulated process. Every call that touches what others can touch is a scheduling
/// point first; time, randomness and `resolve` touch nothing and are none. Outside of a task (a check
/// after the history, say) calls work at once, without faults being likely: switch `World.faults` off.
package final class SimulatedMachine: Machine, @unchecked Sendable {
    package let process: SimulatedProcess
    private let world: World

    init(_ process: SimulatedProcess) {
        self.process = process
        world = process.world
        super.init()
    }

    // MARK: Names

    package override func open(_ path: String, _ mode: OpenMode) throws(StoreError) -> StorageFile {
        try enter("open")
        if let file = world.folders[path] {
            if mode == .createNew { throw StoreError(.alreadyExists, "\(path) exists") }
            return SimulatedFile(
                OpenDescription(file, process, world.options.kernel), self, path, writes: mode != .readOnly)
        }
        if mode == .readOnly || mode == .existing || mode == .side {
            throw StoreError(.notFound, "\(path): no such file")
        }
        let file = makeFile()
        world.folders.create(path, file)
        world.say("create \(path)")
        return SimulatedFile(OpenDescription(file, process, world.options.kernel), self, path, writes: true)
    }

    package override func create(
        _ path: String, like model: StorageFile?, _ fill: (StorageFile) throws(StoreError) -> Void
    ) throws(StoreError) {
        try enter("open")
        let unnamed = makeFile()
        let file = SimulatedFile(OpenDescription(unnamed, process, world.options.kernel), self, path, writes: true)
        defer { file.close() }
        try fill(file)
        try file.sync()
        try enter("link")
        if world.folders[path] != nil { return }
        world.say("create \(path)")
        world.folders.create(path, unnamed)
    }

    package override func openAnonymous(_ name: String) throws(StoreError) -> StorageFile {
        try enter("memfd")
        let file = makeFile()
        file.isShared = true
        file.isAnonymous = true
        return SimulatedFile(OpenDescription(file, process, world.options.kernel), self, name, writes: true)
    }

    func hasName(_ file: DiskFile) -> Bool { file.isAnonymous || world.folders.contains(file) }

    private func makeFile() -> DiskFile {
        let file = DiskFile(
            id: world.files.count + 1, sectorBytes: world.options.sectorBytes,
            addressSpace: world.options.addressSpace)
        world.files.append(file)
        return file
    }

    package override func exists(_ path: String) -> Bool {
        fiber_yield()
        return world.folders[path] != nil
    }

    package override func resolve(_ path: String) throws(StoreError) -> String {
        world.symbolicLinks[path] ?? path
    }

    package override func identity(of path: String) throws(StoreError) -> FileIdentity {
        guard let file = world.folders[try resolve(path)] else { throw StoreError(.notFound, "\(path) does not exist") }
        return FileIdentity(device: 1, inode: UInt64(file.id))
    }

    package override func rename(_ from: String, to: String) throws(StoreError) {
        try enter("rename")
        guard world.folders[from] != nil else { throw StoreError(.io, "\(from): no such file") }
        world.say("rename \(from) to \(to)")
        world.folders.rename(from, to)
    }

    package override func renameNew(_ from: String, to: String) throws(StoreError) {
        try enter("rename")
        guard world.folders[from] != nil else { throw StoreError(.io, "\(from): no such file") }
        if world.folders[to] != nil { throw StoreError(.alreadyExists, "\(to) exists") }
        world.say("rename \(from) to \(to)")
        world.folders.rename(from, to)
    }

    package override func remove(_ path: String) throws(StoreError) {
        try enter("unlink")
        guard world.folders[path] != nil else { throw StoreError(.notFound, "\(path): no such file") }
        world.say("remove \(path)")
        world.folders.remove(path)
    }

    package override func syncFolder(of path: String) throws(StoreError) {
        let folder = Folders.folder(of: path)
        fiber_yield()
        let covered = world.folders.begun(folder)
        try enter("sync of a folder", .syncFailed)
        world.folders.settle(folder, covered)
        world.say("sync of folder \(folder)")
    }

    // MARK: Locks and shared memory

    package override func makeLock(_ file: StorageFile, byte: Int64) -> ExclusiveLock {
        SimulatedLock(simulated(file), byte)
    }

    package override func isLocked(_ file: StorageFile, bytes: Range<Int64>) throws(StoreError) -> Bool {
        fiber_yield()
        let description = simulated(file).description
        return description.file.locks.contains { byte, lock in
            bytes.contains(byte) && lock.owner != nil && lock.owner !== description
        }
    }

    package override func lockShared(_ file: StorageFile, bytes: Range<Int64>) throws(StoreError) -> Bool {
        fiber_yield()
        let description = simulated(file).description
        // Each has a byte of its own: as far as can be observed, they share all of them.
        guard let byte = bytes.first(where: { description.file.locks[$0]?.owner == nil }) else { return false }
        let lock = description.file.locks[byte] ?? ByteLock(byte)
        description.file.locks[byte] = lock
        description.take(lock)
        return true
    }

    package override func createShared(
        _ path: String, bytes: Int, like model: StorageFile
    ) throws(StoreError) -> SharedMemory {
        try enter("unlink")
        if world.folders[path] != nil { world.folders.remove(path) }
        try enter("open")
        let file = makeFile()
        world.folders.create(path, file)
        return try share(file, path, bytes, isNew: true)
    }

    package override func openShared(
        _ path: String, bytes: Int, _ identity: FileIdentity, like model: StorageFile?
    ) throws(StoreError) -> SharedMemory? {
        try enter("open")
        guard let file = world.folders[path], UInt64(file.id) == identity.inode else { return nil }
        return try share(file, path, bytes, isNew: false)
    }

    private func share(_ file: DiskFile, _ path: String, _ bytes: Int, isNew: Bool) throws(StoreError) -> SharedMemory {
        if !file.isShared {
            file.settle(file.sequence)
            file.isShared = true
        }
        if file.size < bytes, !file.setSize(bytes) { throw StoreError(.outOfMemory, "\(path): no address space") }
        return SharedMemory(
            base: file.visible, bytes: bytes, identity: FileIdentity(device: 1, inode: UInt64(file.id)), isNew: isNew)
    }

    private func simulated(_ file: StorageFile) -> SimulatedFile {
        guard let file = file as? SimulatedFile else { fatalError("a file of another machine") }
        return file
    }

    // MARK: Waiting

    package override func wait(_ word: SharedWord, while value: UInt64, timeout: Int64) {
        fiber_yield()
        if cs_load32(word.address) != UInt32(truncatingIfNeeded: value) { return }
        guard let task = world.running else {
            if timeout < 0 { fatalError("would wait for ever outside of a task") }
            return
        }
        task.block(.word(word.address, UInt32(truncatingIfNeeded: value)), timeout: timeout)
    }

    package override func wake(_ word: SharedWord, count: Int32) {
        fiber_yield()
        var left = count
        for task in world.tasks where left > 0 && !task.isWoken {
            guard case .word(let address, _) = task.waiting, address == word.address else { continue }
            task.isWoken = true
            left -= 1
        }
    }

    package override func startThread(
        _ name: String, _ body: @escaping @Sendable (WorkerThread) -> Void
    ) throws(StoreError) -> WorkerThread {
        SimulatedThread(process, name, body)
    }

    package override var threadNumber: UInt { world.running.map { UInt($0.id) } ?? .max }

    // MARK: Time and randomness

    package override func monotonic() -> Int64 { world.now }
    package override func wallClock() -> Int64 { 1_700_000_000_000_000_000 + (world.clockStands ? 0 : world.now) }
    package override func random64() -> UInt64 { world.random64() }
    package override func bootID() throws(StoreError) -> (UInt64, UInt64) {
        (0x9e37_79b9_7f4a_7c15 &* UInt64(world.boots), UInt64(world.boots))
    }
    package override func fileSystem(of file: StorageFile) throws(StoreError) -> FileSystemKind {
        world.options.fileSystem
    }

    /// The scheduling point of a call that may fail without having done anything.
    private func enter(_ call: String, _ code: StatusCode = .io) throws(StoreError) {
        fiber_yield()
        if !process.isAlive { throw StoreError(.io, "the process is dead") }
        if world.faults, world.pick(.metadata, 2) == 1 {
            world.say("\(call) FAILS")
            world.statistics.inputOutputErrors += 1
            world.heat()
            throw StoreError(code, "\(call) failed (injected)").system(5)
        }
    }
}

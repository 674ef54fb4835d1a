internal import CFibers
package import ObjStoreCore

/// An open file description: what OFD locks and reported errors belong to. Forked children share it.
final class OpenDescription {
    let file: DiskFile
    /// Processes that have it open.
    var holders = 1
    /// The last write-back error that this description knows of.
    var seenErrors: Int
    private var held: [ByteLock] = []

    init(_ file: DiskFile, _ process: SimulatedProcess, _ kernel: SimulatedKernel) {
        self.file = file
        seenErrors = file.reported ? file.errors : file.errors - 1
        process.descriptions.append(self)
    }

    func take(_ lock: ByteLock) {
        lock.owner = self
        held.append(lock)
    }

    func release(_ lock: ByteLock) {
        lock.owner = nil
        held.removeAll { $0 === lock }
    }

    /// One process has closed it or is gone; the last one takes the locks along.
    func drop() {
        holders -= 1
        if holders == 0 {
            for lock in held where lock.owner === self { lock.owner = nil }
            held = []
        }
    }
}

/// A `StorageFile` on the simulated disk: writes tear at sectors, fail, or kill their process in the middle.
package final class SimulatedFile: StorageFile, @unchecked Sendable {
    let description: OpenDescription
    private let machine: SimulatedMachine
    private let path: String
    private let canWrite: Bool
    private var isClosed = false
    private var scratch: [UInt8] = []

    private var file: DiskFile { description.file }
    private var world: World { machine.process.world }
    var process: SimulatedProcess { machine.process }
    /// The file on the disk, for oracles.
    package var diskFile: DiskFile { description.file }

    init(_ description: OpenDescription, _ machine: SimulatedMachine, _ path: String, writes: Bool) {
        self.description = description
        self.machine = machine
        self.path = path
        canWrite = writes
        super.init()
    }

    deinit { closeNow() }

    package override func size() throws(StoreError) -> Int {
        try enter()
        return file.size
    }

    package override func read(into buffer: UnsafeMutableRawPointer, count: Int, at offset: Int) throws(StoreError) {
        try enter()
        if world.faults, !file.isShared, world.pick(.read, 2) == 1 { throw failed("read") }
        let present = max(0, min(count, file.size - offset))
        if present > 0 { buffer.copyMemory(from: file.visible + offset, byteCount: present) }
        if present < count { (buffer + present).initializeMemory(as: UInt8.self, repeating: 0, count: count - present) }
    }

    package override func write(_ vectors: UnsafePointer<WriteVector>, count: Int, at offset: Int) throws(StoreError) {
        try enter()
        if !canWrite { throw StoreError(.io, "\(path) is open read-only") }
        if count == 1 {
            try write(UnsafeRawBufferPointer(start: vectors[0].base, count: vectors[0].count), at: offset)
        } else {
            // A buffer of its own: another task may write while this one is between two pieces.
            var bytes = scratch
            scratch = []
            bytes.removeAll(keepingCapacity: true)
            for index in 0..<count {
                bytes.append(
                    contentsOf: UnsafeRawBufferPointer(start: vectors[index].base, count: vectors[index].count))
            }
            let result = bytes.withUnsafeBytes { bytes -> Result<Void, StoreError> in
                do throws(StoreError) { return .success(try write(bytes, at: offset)) } catch { return .failure(error) }
            }
            scratch = bytes
            try result.get()
        }
    }

    private func write(_ bytes: UnsafeRawBufferPointer, at offset: Int) throws(StoreError) {
        if bytes.count == 0 { return }
        world.statistics.writes += 1
        let sectorBytes = file.sectorBytes
        let firstSector = offset / sectorBytes
        let sectors = (offset + bytes.count - 1) / sectorBytes - firstSector + 1
        /// Bytes that lie in the first sectors of the write.
        func length(_ sectors: Int) -> Int { max(0, min(bytes.count, (firstSector + sectors) * sectorBytes - offset)) }
        let faults = world.faults && !file.isShared
        world.touched = file

        if offset + bytes.count > file.size, !hasRoom(for: offset + bytes.count - file.size) {
            let part = length(world.pick(.part, sectors + 1))
            if part > 0, offset + part <= file.size { put(bytes, 0..<part, offset) }
            world.statistics.outOfSpace += 1
            world.heat()
            throw StoreError(.outOfSpace, "\(path): no space left")
        }
        let outcome = faults ? world.pick(.write, 4) : 0
        if outcome == 0 {
            let cut = faults ? length(world.pick(.split, sectors)) : 0
            put(bytes, 0..<cut, offset)
            if cut > 0 { fiber_yield() }
            put(bytes, cut..<bytes.count, offset)
            return
        }
        let part = outcome == 3 ? bytes.count : length(world.pickPart(sectors))
        put(bytes, 0..<part, offset)
        world.statistics.inputOutputErrors += 1
        if outcome == 2, fiber_current() != nil {
            world.killAfterStep = process
            fiber_stop()
        }
        throw failed("write, \(part) of \(bytes.count) bytes written,")
    }

    private func put(_ bytes: UnsafeRawBufferPointer, _ range: Range<Int>, _ offset: Int) {
        if range.isEmpty { return }
        let part = UnsafeRawBufferPointer(rebasing: bytes[range])
        world.say("write \(path) \(offset + range.lowerBound)..<\(offset + range.upperBound)")
        world.mix(UInt64(file.id) << 48 ^ UInt64(offset + range.lowerBound))
        world.mix(part)
        world.ask { $0.willWrite(process, file, part, at: offset + range.lowerBound) }
        let end = offset + range.upperBound
        if end > file.size, !file.setSize(end) { fatalError("\(path) outgrows its address space") }
        file.write(part, at: offset + range.lowerBound)
    }

    /// What was written before it began is on the medium when it succeeds. It looks at the errors of writing
    /// back only at its end; other tasks run meanwhile.
    package override func sync() throws(StoreError) {
        try enter()
        if file.isShared { return }
        world.statistics.syncs += 1
        let covered = file.sequence
        fiber_yield()
        world.now += 50_000
        world.touched = file
        let once = world.options.kernel == .once
        if world.faults, world.pick(.sync, 2) == 1 {
            world.lose(file, covered)
        } else if file.errors == 0 || once || description.seenErrors >= file.errors {
            file.settle(covered)
        }
        let isBad = once ? !file.reported : description.seenErrors < file.errors
        world.say("sync \(path) \(isBad ? "FAILS" : "ok")")
        world.mix(UInt64(covered) << 1 ^ (isBad ? 0x5155 : 0x5154))
        if isBad {
            file.reported = true
            description.seenErrors = file.errors
            world.ask { $0.didSync(process, file, covered: covered, succeeded: false) }
            throw StoreError(.syncFailed, "\(path): sync failed (injected)")
        }
        file.settle(covered)
        world.ask { $0.didSync(process, file, covered: covered, succeeded: true) }
    }

    package override func reserve(_ size: Int) throws(StoreError) { try resize(max(size, file.size), "reserve") }
    package override func truncate(_ size: Int) throws(StoreError) { try resize(size, "truncate") }

    private func resize(_ size: Int, _ call: String) throws(StoreError) {
        try enter()
        if !canWrite { throw StoreError(.io, "\(path) is open read-only") }
        world.touched = file
        if world.faults, !file.isShared, world.pick(.metadata, 2) == 1 { throw failed(call) }
        // While this one waited another may have made it longer.
        let wanted = call == "reserve" ? max(size, file.size) : size
        if wanted == file.size { return }
        if wanted > file.size, !hasRoom(for: wanted - file.size) {
            world.statistics.outOfSpace += 1
            throw StoreError(.outOfSpace, "\(path): no space left")
        }
        world.say("\(call) \(path) \(wanted)")
        if !file.setSize(wanted) { throw StoreError(.outOfSpace, "\(path) outgrows its address space") }
    }

    package override func map(_ bytes: Int) throws(StoreError) -> FileMap {
        try enter()
        if bytes > world.options.addressSpace { throw StoreError(.outOfMemory, "\(path): map too large") }
        return FileMap(base: UnsafeRawPointer(file.visible), bytes: bytes)
    }

    package override func identity() throws(StoreError) -> FileIdentity {
        try enter()
        return FileIdentity(device: 1, inode: UInt64(file.id))
    }

    package override func nameCount() throws(StoreError) -> Int { machine.hasName(description.file) ? 1 : 0 }

    package override func close() {
        fiber_yield()
        closeNow()
    }

    /// For `deinit` too, which must not stop in the middle.
    private func closeNow() {
        if isClosed || !process.isAlive { return }
        isClosed = true
        description.drop()
        process.descriptions.removeAll { $0 === description }
    }

    // MARK: Faults

    private func enter() throws(StoreError) {
        fiber_yield()
        if !process.isAlive { throw StoreError(.io, "the process is dead") }
        if isClosed { throw StoreError(.io, "\(path) is closed") }
    }

    private func hasRoom(for bytes: Int) -> Bool {
        if world.capacity > 0, world.usedBytes + bytes > world.capacity { return false }
        return !(world.faults && !file.isShared && world.pick(.outOfSpace, 2) == 1)
    }

    private func failed(_ call: String) -> StoreError {
        world.say("\(call) FAILS on \(path)")
        world.heat()
        return StoreError(.io, "\(path): \(call) failed (injected)")
    }
}

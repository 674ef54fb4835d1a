import ObjStoreCore
import ObjStoreSimulation
import Testing

/// Each promise of the simulated platform by itself.
@Suite(.serialized) struct MachineTests {
    /// A world without chance in which only what the script says deviates.
    private func makeWorld(_ script: [Int32] = [], kernel: SimulatedKernel = .errseq, capacity: Int = 0) -> World {
        var options = World.Options()
        options.kernel = kernel
        options.capacity = capacity
        options.addressSpace = 1 << 24
        let choices = Choices(script: script)
        choices.startRecording()
        let world = World(choices, options)
        world.faults = false
        return world
    }

    private func write(_ file: StorageFile, _ byte: UInt8, _ count: Int, at offset: Int) throws {
        try [UInt8](repeating: byte, count: count).withUnsafeBytes {
            try file.write($0.baseAddress!, count: count, at: offset)
        }
    }

    private func byte(_ file: StorageFile, _ offset: Int) throws -> UInt8 {
        var value: UInt8 = 0
        try file.read(into: &value, count: 1, at: offset)
        return value
    }

    @Test func sectorsHaveEveryUnsyncedValue() throws {
        let world = makeWorld()
        let file = try world.startProcess().machine.open("d/f", .createNew)
        try file.reserve(1024)
        try write(file, 1, 1024, at: 0)
        try file.sync()
        let disk = try #require(world.folders["d/f"])
        #expect(disk.isCertain(0..<1024) && disk.possibleSizes() == [1024])
        try write(file, 2, 512, at: 0)
        try write(file, 3, 512, at: 512)
        try write(file, 4, 100, at: 512)
        let first = disk.possibleValues(ofSector: 0).map { $0.load(as: UInt8.self) }
        let second = disk.possibleValues(ofSector: 1).map { $0.load(as: UInt8.self) }
        #expect(first == [1, 2] && second == [1, 3, 4])
        #expect(!disk.isCertain(0..<1) && disk.uncertainSectors() == [0, 1])
        var seen: Set<[UInt8]> = []
        disk.choosable(0..<1024) { seen.insert([$0[0], $0[512], $0[1023]]) }
        #expect(seen == [[1, 1, 1], [1, 3, 3], [1, 4, 3], [2, 1, 1], [2, 3, 3], [2, 4, 3]])
        #expect(disk.isCertain(1024..<1024))
        try file.sync()
        #expect(disk.isCertain(0..<1024) && disk.possibleValues(ofSector: 1).count == 1)
        try write(file, 4, 100, at: 512)  // the same again: nothing to lose
        #expect(disk.isCertain(0..<1024))
        world.end()
    }

    @Test func powerCutTakesWhatIsNotSynced() throws {
        // cut modes 1 = nothing unsynced survives, 2 = everything does
        for mode in [Int32(1), 2] {
            let world = makeWorld([mode])
            let machine = world.startProcess().machine
            let file = try machine.open("d/f", .create)
            try write(file, 1, 512, at: 0)
            try file.sync()
            try machine.syncFolder(of: "d/f")
            try write(file, 2, 1024, at: 0)
            _ = try machine.open("d/g", .create)
            try machine.rename("d/g", to: "d/h")
            let boot = try machine.bootID().0
            world.powerCut()
            #expect(world.processes.isEmpty)
            #expect(throws: StoreError.self) { try file.size() }
            let after = world.startProcess().machine
            let again = try after.open("d/f", .existing)
            #expect(try again.size() == (mode == 1 ? 512 : 1024))
            #expect(try byte(again, 0) == (mode == 1 ? 1 : 2))
            #expect(after.exists("d/h") == (mode == 2) && !after.exists("d/g"))
            #expect(try after.bootID().0 != boot)
            world.end()
        }
    }

    /// The only deviation: the second sync fails and the sector keeps its old value.
    @Test(arguments: [SimulatedKernel.errseq, .once])
    func failedSyncIsFinal(_ kernel: SimulatedKernel) throws {
        let world = makeWorld([1, 0], kernel: kernel)
        let a = try world.startProcess().machine.open("d/f", .create)
        let b = try world.startProcess().machine.open("d/f", .existing)
        try write(a, 1, 512, at: 0)
        try a.sync()
        try write(a, 2, 512, at: 0)
        world.faults = true
        #expect(throws: StoreError.self) { try a.sync() }
        world.faults = false
        let disk = try #require(world.folders["d/f"])
        #expect(try byte(b, 0) == 2)
        #expect(!disk.isCertain(0..<512) && disk.possibleValues(ofSector: 0).count == 1)
        try a.sync()  // says nothing any more
        #expect(!disk.isCertain(0..<512))
        if kernel == .errseq {
            #expect(throws: StoreError.self) { try b.sync() }
        } else {
            try b.sync()
        }
        let c = try world.startProcess().machine.open("d/f", .existing)
        try c.sync()  // opened after the error was reported
        try write(c, 2, 512, at: 0)  // writing again is what helps
        try c.sync()
        #expect(disk.isCertain(0..<512))
        world.end()
    }

    @Test func fullDiskIsAnErrorThatChangesNothing() throws {
        let world = makeWorld(capacity: 4096)
        let file = try world.startProcess().machine.open("d/f", .create)
        try file.reserve(4000)
        #expect(throws: StoreError.self) { try file.reserve(5000) }
        #expect(try file.size() == 4000)
        try write(file, 7, 4000, at: 0)  // reserved space never fails
        #expect { try write(file, 8, 600, at: 3900) } throws: { ($0 as? StoreError)?.code == .outOfSpace }
        #expect(try file.size() == 4000)
        try file.truncate(100)
        try file.reserve(4000)
        #expect(try byte(file, 99) == 7 && byte(file, 100) == 0)
        world.end()
    }

    @Test func locksAreExclusiveAndDieWithTheirOwner() throws {
        let world = makeWorld()
        var order: [String] = []
        var inside = 0
        var processes: [SimulatedProcess] = []
        for p in 0..<2 {
            let process = world.startProcess()
            processes.append(process)
            process.spawn { machine in
                guard let file = try? machine.open("d/l", .create) else { return }
                let lock = machine.makeLock(file, byte: 5)
                process.own(lock)
                for t in 0..<3 {
                    process.spawn { _ in
                        try? lock.acquire()
                        inside += 1
                        if inside != 1 { world.fail("two owners") }
                        order.append("\(p)\(t)")
                        for _ in 0..<5 { world.pause() }
                        inside -= 1
                        lock.release()
                    }
                }
            }
        }
        world.run(steps: 10_000)
        #expect(world.violation == nil && order.count == 6)
        #expect(order.filter { $0.hasPrefix("0") } == ["00", "01", "02"])  // first come, first served in a process

        // A killed owner's lock is free; a forked child that kept the descriptions keeps it.
        for closing in [true, false] {
            let owner = world.startProcess(), other = world.startProcess()
            let file = try owner.machine.open("d/l", .existing)
            #expect(try owner.machine.makeLock(file, byte: 6).acquire(timeout: 0))
            let child = owner.fork(closingFiles: closing)
            world.kill(owner)
            let otherFile = try other.machine.open("d/l", .existing)
            let lock = other.machine.makeLock(otherFile, byte: 6)
            #expect(try lock.acquire(timeout: 0) == closing)
            #expect(try other.machine.isLocked(otherFile, bytes: 0..<10) == !closing)
            world.kill(child)
            if !closing { #expect(try lock.acquire(timeout: 0)) }
            world.kill(other)
        }
        world.end()
    }

    @Test func waitersWakeOnlyForAReason() throws {
        let world = makeWorld()
        let process = world.startProcess()
        let shared = try process.machine.createShared("d/s", bytes: 64, like: process.machine.open("d/f", .create))
        let word = SharedWord(shared.base)
        var woken: [String] = []
        process.spawn { machine in
            machine.wait(word, while: 0, timeout: -1); woken.append("wake \(word.current)")
        }
        process.spawn { machine in
            let before = machine.monotonic()
            machine.wait(SharedWord(shared.base + 8), while: 0, timeout: 5_000_000)
            woken.append(machine.monotonic() - before >= 5_000_000 ? "timeout" : "too early")
        }
        process.spawn { _ in word.store(1) }
        world.run(steps: 1000)
        #expect(woken == ["timeout"])  // a change alone wakes no thread, as with a futex
        process.spawn { machine in machine.wake(word) }
        world.run(steps: 1000)
        #expect(woken == ["timeout", "wake 1"])
        process.spawn { machine in
            machine.wait(word, while: 0, timeout: -1); woken.append("at once")
        }
        world.run(steps: 1000)
        #expect(woken.last == "at once")
        // Two processes see one memory; a task that waits for ever is found.
        let second = try #require(
            try world.startProcess().machine.openShared("d/s", bytes: 64, shared.identity, like: nil))
        #expect(SharedWord(second.base).load() == 1 && second.identity == shared.identity)
        process.spawn("sleeper") { machine in machine.wait(word, while: 1, timeout: -1) }
        world.drain()
        #expect(world.violation?.contains("sleeper") == true)
        world.end()
    }

    @Test func mapsStayWhenTheFileGrows() throws {
        let world = makeWorld()
        let machine = world.startProcess().machine
        let file = try machine.open("d/f", .create)
        let map = try file.map(1 << 20)
        try write(file, 9, 100, at: 0)
        try write(file, 8, 100, at: 500_000)
        #expect(map.base.load(as: UInt8.self) == 9 && map.base.load(fromByteOffset: 500_099, as: UInt8.self) == 8)
        world.end()
    }

    /// A property that is being modified by one task while another runs is Swift's own check; tasks that are
    /// killed inside must not leave their marks behind.
    @Test func killedTasksLeaveNoAccessBehind() {
        final class Box { var value = 0 }
        func modify(_ value: inout Int, _ world: World) { value += 1; world.pause(); value += 1 }
        for _ in 0..<50 {
            let world = makeWorld()
            let box = Box()
            let process = world.startProcess()
            process.spawn { _ in modify(&box.value, world) }
            world.step()
            world.kill(process)
            let other = world.startProcess()
            other.spawn { _ in modify(&box.value, world) }
            world.run(steps: 10)
            #expect(box.value == 3)
            world.end()
        }
    }
}

import CSystem
import Foundation
import Testing

import ObjStoreCore

@Suite struct PlatformFileTests {
    let folder = TestFolder()
    let machine = RealMachine.shared

    func bytes(_ count: Int) -> [UInt8] { (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 7 &+ $0 >> 8) } }

    func message(_ code: StatusCode, _ body: () throws -> Void) -> String {
        do { try body() } catch let error as StoreError {
            #expect(error.code == code)
            return error.message
        } catch { Issue.record(error) }
        Issue.record("no error")
        return ""
    }

    // MARK: Opening

    @Test func modesOfOpening() throws {
        let path = folder["db"]
        #expect(message(.notFound) { _ = try machine.open(path, .existing) }.contains("open \(path): No such file"))
        #expect(!machine.exists(path))
        let file = try machine.open(path, .createNew)
        #expect(machine.exists(path))
        #expect(message(.alreadyExists) { _ = try machine.open(path, .createNew) }.contains("create \(path)"))
        _ = try machine.open(path, .create)
        let reader = try machine.open(path, .readOnly)
        #expect(try reader.identity() == file.identity())
        #expect(message(.io) { try reader.write([1] as [UInt8], count: 1, at: 0) }.contains(path))
        #expect(message(.io) { _ = try machine.open(folder.path, .readOnly) }.contains("not a regular file"))
        file.close()
        #expect(message(.io) { _ = try file.size() }.contains("\(path): the file was closed"))
    }

    @Test func descriptorIsNotInheritedByPrograms() throws {
        let file = try RealFile(path: folder["db"], mode: .create)
        let descriptor = try file.descriptor("test")
        #expect(descriptor > 2)
        #expect(fcntl_getfd(descriptor) & FD_CLOEXEC != 0)
    }

    private func fcntl_getfd(_ descriptor: Int32) -> Int32 { fcntl(descriptor, F_GETFD) }

    // MARK: Reading and writing

    @Test func writesVectorsAndReadsZerosPastTheEnd() throws {
        let file = try machine.open(folder["db"], .create)
        let data = bytes(100_000)
        try data.withUnsafeBytes { data in
            // 2500 vectors, more than two calls of the kernel's 1024, some of them empty.
            let vectors = (0..<2500).map { WriteVector(base: data.baseAddress! + $0 * 40, count: 40) }
                .flatMap { [$0, WriteVector(base: nil, count: 0)] }
            try file.write(vectors, count: vectors.count, at: 4096)
        }
        #expect(try file.size() == 4096 + 100_000)
        var read = [UInt8](repeating: 0xFF, count: 110_000)
        try file.read(into: &read, count: read.count, at: 4000)
        #expect(read[..<96].allSatisfy { $0 == 0 })
        #expect(Array(read[96..<100_096]) == data)
        #expect(read[100_096...].allSatisfy { $0 == 0 })
        try file.sync()
        try file.truncate(5000)
        #expect(try file.size() == 5000)
    }

    /// Every way in which short writes may cut three vectors ends with the same bytes.
    @Test func shortWritesAnywhere() throws {
        let data = bytes(12)
        try data.withUnsafeBytes { data in
            let vectors = [
                WriteVector(base: data.baseAddress!, count: 5), WriteVector(base: nil, count: 0),
                WriteVector(base: data.baseAddress! + 5, count: 3), WriteVector(base: data.baseAddress! + 8, count: 4),
            ]
            for cuts in 0..<(1 << 11) {  // bit i: a write ends behind byte i
                var disk = [UInt8](repeating: 0, count: 12)
                try RealFile.writeAll(vectors, count: vectors.count, at: 0, path: "disk") { vectors, count, offset in
                    var written = 0
                    for vector in UnsafeBufferPointer(start: vectors, count: Int(count)) {
                        for index in 0..<vector.count {
                            let position = Int(offset) + written
                            disk[position] = vector.base!.load(fromByteOffset: index, as: UInt8.self)
                            written += 1
                            if cuts >> position & 1 != 0 { return Int64(written) }
                        }
                    }
                    return Int64(written)
                }
                #expect(disk.elementsEqual(data), "cuts \(cuts)")
            }
        }
    }

    @Test func writeWithoutProgressIsAnError() throws {
        let vector = WriteVector(base: folder.path, count: 10)
        var calls = 0
        let text = message(.io) {
            try withUnsafePointer(to: vector) {
                try RealFile.writeAll($0, count: 1, at: 100, path: "disk") { _, _, _ in
                    calls += 1
                    return calls == 1 ? 4 : 0
                }
            }
        }
        #expect(text.contains("write 10 bytes at 100 of disk (4 of them were written)"))
        #expect(calls == 2)
    }

    enum Disk: String { case tmpfs, ext4 }

    /// Mounts a small disk, where the machine allows it (root, and loop devices for ext4).
    static func mount(_ disk: Disk, at path: String) -> Bool {
        let command =
            switch disk {
            case .tmpfs: "mount -t tmpfs -o size=64k objstore-test '\(path)'"
            case .ext4:
                "truncate -s 4M '\(path).img' && mkfs.ext4 -q '\(path).img' && mount -o loop '\(path).img' '\(path)'"
            }
        return CSystem.system("mkdir '\(path)' && { \(command); } 2> /dev/null") == 0
    }

    static func unmount(_ path: String) { _ = CSystem.system("umount '\(path)'") }

    static func canMount(_ disk: Disk) -> Bool {
        let folder = TestFolder()
        if !mount(disk, at: folder["disk"]) { return false }
        unmount(folder["disk"])
        return true
    }

    @Test(.enabled(if: canMount(.tmpfs), "mounting is not allowed here"))
    func fullDisk() throws {
        let mount = folder["disk"]
        try #require(Self.mount(.tmpfs, at: mount))
        defer { Self.unmount(mount) }
        let file = try machine.open(mount + "/db", .create)
        defer { file.close() }
        let data = bytes(100_000)
        let text = message(.outOfSpace) { try file.write(data, count: data.count, at: 0) }
        #expect(text.contains("write 100000 bytes at 0 of \(mount)/db (65536 of them were written): No space left"))
        try file.truncate(0)
        let grow = message(.outOfSpace) { try file.reserve(1 << 20) }
        #expect(grow.contains("grow \(mount)/db by 1048576 bytes from 0 to 1048576: No space left"))
        #expect(try file.size() == 0)
        let zeros = message(.outOfSpace) { try (file as! RealFile).writeZeros(from: 0, to: 1 << 20) }
        #expect(zeros.contains("grow \(mount)/db by 1048576 bytes"))
        #expect(try file.size() == 0)
        try file.reserve(32768)
        // Its first part still fits, the rest does not; what was there before must have all its space at once.
        let memory = try machine.createShared(mount + "/lock", bytes: 1 << 20, like: file)
        memory.base.storeBytes(of: 1, as: UInt64.self)
        for _ in 0..<2 { #expect(message(.outOfSpace) { try memory.reserveAll() }.contains("/lock")) }
        #expect(
            message(.outOfSpace) {
                _ = try machine.openShared(mount + "/lock", bytes: 1 << 20, memory.identity, like: nil)
            }.contains("/lock"))
    }

    /// A failed `reserve` leaves the disk as free as it was (ext4 itself would keep all it got).
    @Test(.enabled(if: canMount(.ext4), "mounting is not allowed here"), arguments: [0, 100_000])
    func failedReserveTakesNothing(size: Int) throws {
        let mount = folder["disk"]
        try #require(Self.mount(.ext4, at: mount))
        defer { Self.unmount(mount) }
        let file = try machine.open(mount + "/db", .create)
        defer { file.close() }
        try file.write(bytes(size), count: size, at: 0)
        try file.sync()
        for _ in 0..<3 {
            #expect(message(.outOfSpace) { try file.reserve(100 << 20) }.contains("grow \(mount)/db"))
            #expect(try file.size() == size)
        }
        let other = try machine.open(mount + "/other", .create)
        defer { other.close() }
        try other.reserve(2 << 20)
        var read = [UInt8](repeating: 0, count: size)
        try file.read(into: &read, count: size, at: 0)
        #expect(read == bytes(size))
        try file.reserve(size + 4096)
        #expect(try file.size() == size + 4096)
    }

    // MARK: Space

    @Test func reservesRealSpace() throws {
        let file = try machine.open(folder["db"], .create)
        try file.write([1, 2, 3] as [UInt8], count: 3, at: 0)
        try file.reserve(1 << 20)
        #expect(try file.size() == 1 << 20)
        var status = stat()
        stat(folder["db"], &status)
        #expect(status.st_blocks * 512 >= 1 << 20)
        try file.reserve(100)
        #expect(try file.size() == 1 << 20)
        try (file as! RealFile).writeZeros(from: 1 << 20, to: 3 << 20 + 5)
        #expect(try file.size() == 3 << 20 + 5)
        var read = [UInt8](repeating: 1, count: 3 << 20 + 5)
        try file.read(into: &read, count: read.count, at: 0)
        #expect(Array(read[..<3]) == [1, 2, 3] && read[3...].allSatisfy { $0 == 0 })
    }

    // MARK: Maps

    @Test func mapSeesLaterWritesAndOutlivesTheFile() throws {
        let file = try machine.open(folder["db"], .create)
        let map = try file.map(1 << 30)  // far beyond the end
        try file.write([7, 8, 9] as [UInt8], count: 3, at: 0)
        #expect(map.base.load(fromByteOffset: 2, as: UInt8.self) == 9)
        file.close()
        #expect(map.base.load(as: UInt8.self) == 7)
        #expect(
            message(.outOfMemory) { _ = try machine.open(folder["db"], .existing).map(1 << 60) }.contains(
                "map \(1 << 60) bytes of"))
    }

    @Test func mapGoesWithItsLastReference() throws {
        let file = try machine.open(folder["db"], .create)
        func mapped() throws -> Bool {
            // Read to the end: Foundation stops at the first page of such a file.
            let maps = try #require(fopen("/proc/self/maps", "r"))
            defer { fclose(maps) }
            var line = [CChar](repeating: 0, count: 4096)
            while fgets(&line, Int32(line.count), maps) != nil {
                if strstr(line, folder["db"]) != nil { return true }
            }
            return false
        }
        var map: FileMap? = try file.map(4096)
        #expect(try mapped())
        #expect(map != nil)
        map = nil
        #expect(try !mapped())
    }

    @Test func sharedMemory() throws {
        let file = try machine.open(folder["db"], .create)
        let one = try machine.createShared(folder["lock"], bytes: 8192, like: file)
        #expect(one.isNew && one.base.load(fromByteOffset: 4088, as: UInt64.self) == 0)
        #expect(try machine.identity(of: folder["lock"]) == one.identity)
        #expect(try machine.open(folder["lock"], .readOnly).size() == SharedMemory.firstPart)
        for _ in 0..<2 { try one.reserveAll() }
        #expect(try machine.open(folder["lock"], .readOnly).size() == 8192)
        let other = try #require(try machine.openShared(folder["lock"], bytes: 4096, one.identity, like: nil))
        #expect(!other.isNew)
        #expect(one.identity == other.identity && other.bytes == 4096)
        #expect(one.base != other.base)
        SharedWord(one.base + 8).store(42)
        #expect(SharedWord(other.base + 8).load() == 42)
        #expect(try machine.open(folder["lock"], .readOnly).size() == 8192)
        // Another file, a symbolic link, what is too small: none of them is touched. New memory takes the name only.
        #expect(try machine.openShared(folder["lock"], bytes: 4096, file.identity(), like: nil) == nil)
        symlink(folder["lock"], folder["link"])
        #expect(
            message(.io) { _ = try machine.openShared(folder["link"], bytes: 4096, one.identity, like: nil) }.contains(
                "symbolic link"))
        #expect(
            try machine.openShared(folder["db"], bytes: 4096, file.identity(), like: nil) == nil && file.size() == 0)
        #expect(try machine.openShared(folder["nothing"], bytes: 4096, one.identity, like: nil) == nil)
        for name in ["link", "lock"] {
            let new = try machine.createShared(folder[name], bytes: 4096, like: file)
            #expect(new.isNew && new.identity != one.identity && SharedWord(one.base + 8).load() == 42)
        }
    }

    /// Users that may use one file may use the other, whatever the umask says.
    @Test func access() throws {
        func mode(_ name: String) -> UInt32 {
            var status = stat()
            return stat(folder[name], &status) == 0 ? status.st_mode & 0o777 : 0
        }
        let old = umask(0o027)
        defer { umask(old) }
        let model = try machine.open(folder["db"], .create)
        #expect(mode("db") == 0o640)
        for (wanted, given) in [
            (UInt32(0o600), 0o600), (0o666, 0o666), (0o660, 0o660), (0o644, 0o444), (0o666, 0o777), (0o640, 0o4640),
        ] as [(UInt32, UInt32)] {
            chmod(folder["db"], given)
            for name in ["lock", "new", "renamed"] { unlink(folder[name]) }
            _ = try machine.createShared(folder["lock"], bytes: 4096, like: model)
            try machine.create(folder["new"], like: model) { (_) throws(StoreError) in }
            try machine.createByRenaming(folder["renamed"]) { (file) throws(StoreError) in
                try file.takeAccess(of: model)
            }
            for name in ["lock", "new", "renamed"] {
                #expect(mode(name) == wanted, "\(name) of a file with \(String(given, radix: 8))")
            }
        }
        if geteuid() == 0 {
            chown(folder["db"], 1234, 4321)
            _ = try machine.createShared(folder["lock"], bytes: 4096, like: model)
            var status = stat()
            #expect(stat(folder["lock"], &status) == 0 && status.st_uid == 1234 && status.st_gid == 4321)
        }
    }

    @Test func hasName() throws {
        let file = try machine.open(folder["db"], .create)
        #expect(try file.hasName() && machine.openAnonymous("memory").hasName())
        try machine.rename(folder["db"], to: folder["other"])
        #expect(try file.hasName())
        let other = try machine.open(folder["db"], .create)
        try machine.rename(folder["db"], to: folder["other"])
        #expect(try !file.hasName() && other.hasName())
        try machine.remove(folder["other"])
        #expect(try !other.hasName())
    }

    /// Readers share it, by descriptors that cannot write; others see it.
    @Test func sharedLock() throws {
        let bytes: Range<Int64> = 100..<108
        let writer = try machine.open(folder["db"], .create),
            readers = try (0..<2).map { _ in try machine.open(folder["db"], .readOnly) }
        for reader in readers { #expect(try machine.lockShared(reader, bytes: bytes)) }
        #expect(
            try machine.isLocked(writer, bytes: bytes) && machine.isLocked(writer, bytes: 107..<200)
                && !machine.isLocked(writer, bytes: 108..<200))
        readers[0].close()
        #expect(try machine.isLocked(writer, bytes: bytes))
        readers[1].close()
        #expect(try !machine.isLocked(writer, bytes: bytes))
        let lock = machine.makeLock(writer, byte: 104)
        #expect(try lock.acquire(timeout: 0))
        #expect(try !machine.lockShared(machine.open(folder["db"], .readOnly), bytes: bytes))
        lock.release()
    }

    @Test func anonymous() throws {
        let file = try machine.openAnonymous("test")
        try file.reserve(8192)
        let map = try file.map(1 << 20)
        try file.write([5] as [UInt8], count: 1, at: 4096)
        try file.sync()
        #expect(map.base.load(fromByteOffset: 4096, as: UInt8.self) == 5)
        #expect(try machine.fileSystem(of: file) == .coherent)
        let lock = machine.makeLock(file, byte: 1)
        #expect(try lock.acquire(timeout: 0))
        lock.release()
    }

    // MARK: Names

    /// A file gets its name when it is whole: as one without a name before, and where there are no such files.
    @Test(arguments: [false, true]) func creating(byRenaming: Bool) throws {
        func create(_ path: String, _ fill: (StorageFile) throws(StoreError) -> Void) throws(StoreError) {
            if byRenaming {
                try machine.createByRenaming(path, fill)
            } else {
                try machine.create(path, like: nil, fill)
            }
        }
        func names() -> [String] { (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? [] }
        var seen: [String] = []
        try create(folder["a"]) { (file) throws(StoreError) in
            try file.write([1, 2] as [UInt8], count: 2, at: 0)
            seen = names()
        }
        #expect(seen.count == (byRenaming ? 1 : 0) && !seen.contains("a"))
        #expect(names() == ["a"])
        // One that is there stays as it is.
        try create(folder["a"]) { (file) throws(StoreError) in try file.write([3] as [UInt8], count: 1, at: 0) }
        let file = try machine.open(folder["a"], .readOnly)
        var byte: UInt8 = 0
        try file.read(into: &byte, count: 1, at: 0)
        #expect(try file.size() == 2 && byte == 1)
        // What cannot be filled leaves nothing.
        #expect(
            message(.outOfSpace) {
                try create(folder["b"]) { (_) throws(StoreError) in throw StoreError(.outOfSpace, "full") }
            } == "full")
        #expect(names() == ["a"])
        #expect(
            message(.notFound) { try create(folder["none/c"]) { (_) throws(StoreError) in } }.contains(folder["none/c"])
        )
    }

    @Test func renaming() throws {
        for name in ["a", "b"] { try machine.open(folder[name], .create).write(Array(name.utf8), count: 1, at: 0) }
        #expect(message(.alreadyExists) { try machine.renameNew(folder["a"], to: folder["b"]) }.contains(folder["b"]))
        #expect(
            message(.alreadyExists) { try RealMachine.linkAndUnlink(folder["a"], to: folder["b"]) }.contains(
                folder["b"]))
        try machine.renameNew(folder["a"], to: folder["c"])
        try RealMachine.linkAndUnlink(folder["c"], to: folder["d"])
        #expect(!machine.exists(folder["a"]) && !machine.exists(folder["c"]))
        try machine.rename(folder["d"], to: folder["b"])
        var byte: UInt8 = 0
        try machine.open(folder["b"], .readOnly).read(into: &byte, count: 1, at: 0)
        #expect(byte == UInt8(ascii: "a"))
        try machine.syncFolder(of: folder["b"])
        try machine.remove(folder["b"])
        #expect(message(.notFound) { try machine.remove(folder["b"]) }.contains("remove \(folder["b"]): No such file"))
        #expect(message(.notFound) { try machine.syncFolder(of: folder["none/b"]) }.contains(folder["none"]))
    }

    @Test func symbolicLinks() throws {
        let root = try machine.resolve(folder.path)
        try FileManager.default.createDirectory(atPath: folder["real"], withIntermediateDirectories: true)
        symlink("real", folder["folder"])
        symlink("../real/target", folder["real/relative"])
        symlink(folder["folder/relative"], folder["absolute"])
        symlink("loop", folder["loop"])
        let expected = root + "/real/target"
        for _ in 0..<2 {  // the target is missing first, then exists
            #expect(try machine.resolve(folder["folder/target"]) == expected)
            #expect(try machine.resolve(folder["folder/relative"]) == expected)
            #expect(try machine.resolve(folder["absolute"]) == expected)
            #expect(try machine.resolve(folder["real/../folder/./target"]) == expected)
            _ = try machine.open(folder["absolute"], .create)
            #expect(machine.exists(expected))
        }
        #expect(try machine.resolve("/no-such-file") == "/no-such-file")
        #expect(try machine.resolve("no-such-file") == FileManager.default.currentDirectoryPath + "/no-such-file")
        #expect(message(.io) { _ = try machine.resolve(folder["loop"]) }.contains(folder["loop"]))
        #expect(
            message(.notFound) { _ = try machine.resolve(folder["none/file"]) }.contains("its folder \(folder["none"])")
        )
        #expect(message(.io) { _ = try machine.resolve(folder["none/"]) }.contains("names no file"))
        #expect(message(.io) { _ = try machine.resolve("") }.contains("names no file"))
    }

    // MARK: The rest

    @Test func fileSystems() throws {
        #expect(RealMachine.kind(ofType: 0xEF53) == .coherent)
        // As 32-bit systems give it.
        #expect(RealMachine.kind(ofType: Int64(Int32(bitPattern: 0x9123_683E))) == .coherent)
        #expect(RealMachine.kind(ofType: 0x6969) == .incoherent)  // NFS
        #expect(RealMachine.kind(ofType: 0x6573_5546) == .incoherent)  // FUSE
        #expect(RealMachine.kind(ofType: 0x0102_1997) == .incoherent)  // 9p
        #expect(RealMachine.kind(ofType: 0) == .incoherent)
    }

    @Test func clocksAndChance() throws {
        let start = machine.monotonic()
        usleep(2000)
        #expect(machine.monotonic() - start >= 2_000_000)
        #expect(abs(Double(machine.wallClock()) / 1e9 - Date().timeIntervalSince1970) < 5)
        #expect(Set((0..<1000).map { _ in machine.random64() }).count == 1000)
        let boot = try machine.bootID()
        let text = try String(contentsOfFile: "/proc/sys/kernel/random/boot_id", encoding: .utf8).filter(\.isHexDigit)
        #expect(String(format: "%016lx%016lx", UInt(boot.0), UInt(boot.1)) == text)
    }
}

import CSystem
import Foundation
import Testing

import ObjStoreCore

/// What a forked child sees. That it keeps no lock of a killed parent is tested with real processes by
/// Tests/Package/fork.sh.
@Suite(.serialized) struct PlatformForkTests {
    let folder = TestFolder()
    let machine = RealMachine.shared

    /// Swift does not show fork. The child runs the body and exits with its result; it may only do little,
    /// since this process has other threads.
    static let fork = unsafeBitCast(dlsym(nil, "fork"), to: (@convention(c) () -> Int32).self)
    /// _Fork of glibc 2.34: no handlers.
    static let bareFork = unsafeBitCast(dlsym(nil, "_Fork"), to: (@convention(c) () -> Int32).self)
    static let hasThreadSanitizer = dlsym(nil, "__tsan_init") != nil

    /// Ends the process after so many seconds, whatever it waits for: threads of libdispatch have all signals blocked.
    private static func limit(_ seconds: UInt32) {
        var alarms = sigset_t()
        sigemptyset(&alarms)
        sigaddset(&alarms, SIGALRM)
        pthread_sigmask(SIG_UNBLOCK, &alarms, nil)
        alarm(seconds)
    }

    /// Another thread may have held a lock of the language's runtime, which does not know of fork: then the child waits
    /// for ever, is ended, and another one tries.
    func inChild(_ body: () -> Int32) -> Int32 {
        var status: Int32 = 0
        for _ in 0..<3 {
            let child = Self.fork()
            if child == 0 {
                Self.limit(10)
                _exit(body())
            }
            waitpid(child, &status, 0)
            if status != SIGALRM { break }
        }
        return status
    }

    @Test(.enabled(if: !hasThreadSanitizer, "ThreadSanitizer allows no work after fork"))
    func inheritedObjectsRefuseAndTouchNothing() throws {
        let file = try RealFile(path: folder["db"], mode: .create)
        let lock = RealLock(file, byte: 7)
        let descriptor = try file.descriptor("test")
        try file.write([9] as [UInt8], count: 1, at: 0)
        let map = try file.map(4096)
        let memory = try machine.createShared(folder["lock"], bytes: 4096, like: file)
        let word = SharedWord(memory.base)
        word.store(5)
        try lock.acquire()
        let fork = ForkGuard()
        #expect(!fork.isChild)

        let path = folder["db"]
        let status = inChild {
            if !fork.isChild { return 1 }
            if fcntl(descriptor, F_GETFD) != -1 { return 2 }  // closed
            do throws(StoreError) {
                _ = try file.size()
                return 3
            } catch {
                if error.code != .forked || !error.message.contains("after fork") { return 4 }
            }
            if (try? lock.acquire(timeout: 0)) != nil { return 5 }
            lock.release()
            if map.base.load(as: UInt8.self) != 0 { return 6 }  // harmless memory in its place
            if word.load() != 0 { return 7 }
            word.store(77)
            file.close()
            // What the child opens itself is its own, and the parent has the lock still.
            guard let own = try? RealFile(path: path, mode: .existing), (try? own.size()) == 1 else { return 8 }
            guard (try? RealMachine.shared.isLocked(own, bytes: 7..<8)) == true else { return 9 }
            if (try? RealLock(own, byte: 7).acquire(timeout: 0)) != false { return 10 }
            if ForkGuard().isChild { return 11 }
            return 0
        }
        #expect(status == 0, "exit status \(status >> 8), signal \(status & 127)")
        #expect(word.load() == 5)
        #expect(map.base.load(as: UInt8.self) == 9)
        #expect(try file.size() == 1)
        let other = try RealFile(path: path, mode: .existing)
        #expect(try machine.isLocked(other, bytes: 7..<8))
        lock.release()
        #expect(try !machine.isLocked(other, bytes: 7..<8))
    }

    /// Without handlers (a bare clone) the wiped page alone tells the child.
    @Test(.enabled(if: !hasThreadSanitizer, "ThreadSanitizer allows no work after fork"))
    func forkWithoutHandlers() throws {
        let fork = ForkGuard()
        let file = try RealFile(path: folder["db"], mode: .create)
        let lock = RealLock(file, byte: 7)
        try lock.acquire()
        var status: Int32 = 0
        for _ in 0..<20 {
            let child = Self.bareFork()
            if child == 0 {
                Self.limit(2)
                file.close()
                _exit(fork.isChild ? 0 : 1)
            }
            waitpid(child, &status, 0)
            // Another test was opening or closing a file at that moment: without handlers nobody waits for that, and
            // the child waits for ever.
            if status != SIGALRM { break }
        }
        #expect(status == 0)
        let other = try RealFile(path: folder["db"], mode: .existing)
        #expect(try machine.isLocked(other, bytes: 7..<8))
        lock.release()
    }
}

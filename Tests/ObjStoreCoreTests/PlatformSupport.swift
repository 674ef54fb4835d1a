import CSystem
import Foundation
import Testing

import ObjStoreCore

/// A folder of its own for each test, removed when the test lets go of it.
final class TestFolder: Sendable {
    let path: String

    init() {
        path =
            try! RealMachine.shared.resolve(FileManager.default.temporaryDirectory.path)
            + "/objstore-test-\(UUID().uuidString)"
        try! FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    subscript(name: String) -> String { path + "/" + name }
}

/// Runs the body on `count` threads at once and returns when all have ended.
func onThreads(_ count: Int, _ body: @escaping @Sendable (Int) -> Void) throws {
    let threads = try (0..<count).map { index in try BackgroundThread(name: "test \(index)") { _ in body(index) } }
    threads.forEach { $0.stopAndJoin() }
}

/// A Python program in a process of its own that says "ready" when it is where the test wants it.
final class OtherProcess {
    private let process = Process()

    init(_ program: String, _ arguments: String...) throws {
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = ["python3", "-c", program] + arguments
        let output = Pipe()
        process.standardOutput = output
        try process.run()
        let line = String(decoding: output.fileHandleForReading.availableData, as: UTF8.self)
        try #require(line.hasPrefix("ready"), "the other process said '\(line)'")
    }

    deinit { kill() }

    func kill() {
        if process.isRunning {
            CSystem.kill(process.processIdentifier, SIGKILL)
            process.waitUntilExit()
        }
    }

    /// Takes the lock on a byte of a file and keeps it.
    static func holding(_ path: String, byte: Int64) throws -> OtherProcess {
        try OtherProcess(
            """
            import fcntl, struct, sys, time
            file = open(sys.argv[1], "r+b")
            F_OFD_SETLK = 37
            fcntl.fcntl(file, F_OFD_SETLK, struct.pack("hhqqi4x", fcntl.F_WRLCK, 0, int(sys.argv[2]), 1, 0))
            print("ready", flush=True)
            time.sleep(600)
            """, path, String(byte))
    }
}

/// Two words in ordinary memory, for locks of this process that play two processes.
final class SharedWords: @unchecked Sendable {
    let memory = UnsafeMutablePointer<UInt64>.allocate(capacity: 3)
    init() { memory.initialize(repeating: 0, count: 3) }
    deinit { memory.deallocate() }
    var releases: SharedWord { SharedWord(memory) }
    var waiters: SharedWord { SharedWord(memory + 1) }
    var owner: SharedWord { SharedWord(memory + 2) }

    /// Byte by whose lock a process shows that it lives.
    static func liveByte(_ instance: UInt64) -> Int64 { 1 << 50 + Int64(instance) }

    func lockWords(_ file: StorageFile, instance: UInt64) -> LockWords {
        LockWords(owner: owner, releases: releases, waiters: waiters, instance: instance) {
            (other) throws(StoreError) in
            if other == instance { return true }
            let byte = SharedWords.liveByte(other)
            return try RealMachine.shared.isLocked(file, bytes: byte..<(byte + 1))
        }
    }
}

func milliseconds(_ body: () throws -> Void) rethrows -> Double {
    let start = cs_monotonic_ns()
    try body()
    return Double(cs_monotonic_ns() - start) / 1e6
}

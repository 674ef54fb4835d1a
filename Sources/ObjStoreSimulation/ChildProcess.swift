internal import CFibers

/// A real process that runs a batch of histories: what killed tasks leak goes with it, and a trap of the code
/// under test ends the batch, not the run. Several may run at the same time.
///
/// Start them from a program with one thread (`fork`); a test process has many.
package struct ChildProcess {
    private let id: Int32
    private let output: Int32

    /// `body` gets a function that sends text to the parent; what it sent before a trap arrives too, so a batch
    /// names each seed before it runs it.
    package static func start(_ body: @escaping (_ send: (String) -> Void) -> Void) -> ChildProcess {
        final class Box {
            let body: ((String) -> Void) -> Void
            init(_ body: @escaping ((String) -> Void) -> Void) { self.body = body }
        }
        let box = Box(body)
        var output: Int32 = -1
        let id = fiber_child_start(
            { argument, descriptor in
                Unmanaged<Box>.fromOpaque(argument!).takeUnretainedValue().body { text in
                    var text = text
                    text.withUTF8 { bytes in
                        bytes.withMemoryRebound(to: CChar.self) {
                            _ = fiber_child_write(descriptor, $0.baseAddress, $0.count)
                        }
                    }
                }
            }, Unmanaged.passUnretained(box).toOpaque(), &output)
        if id < 0 { fatalError("no child process: error \(-id)") }
        return ChildProcess(id: id, output: output)
    }

    /// Waits for its end. `signal`: what killed it, 0 = it came to its end.
    package func finish(limit: Int = 1 << 20) -> (text: String, signal: Int32) {
        var signal: Int32 = 0
        let bytes = [UInt8](unsafeUninitializedCapacity: limit) { buffer, count in
            count = buffer.withMemoryRebound(to: CChar.self) {
                fiber_child_finish(id, output, $0.baseAddress, limit, &signal)
            }
        }
        return (String(decoding: bytes, as: UTF8.self), signal)
    }
}

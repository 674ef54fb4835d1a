internal import CRuntime
internal import Synchronization

/// A value that one thread at a time uses: a `Mutex` that ThreadSanitizer knows.
///
/// The standard library's is in a library that is not instrumented: in programs that are, a race would be reported at
/// each value it guards.
package struct Guarded<Value>: ~Copyable, Sendable {
    private let mutex: Mutex<Value>

    package init(_ value: consuming sending Value) { mutex = Mutex(value) }

    package borrowing func withLock<Result, Failure: Error>(
        _ body: (inout sending Value) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result {
        // Not that of the value: reading it would be an access before the sanitizer knows of the lock.
        let place = withUnsafePointer(to: mutex) { UnsafeRawPointer($0) }
        return try mutex.withLock { (value: inout sending Value) throws(Failure) in
            cr_locked(place)
            defer { cr_unlocks(place) }
            return try body(&value)
        }
    }
}

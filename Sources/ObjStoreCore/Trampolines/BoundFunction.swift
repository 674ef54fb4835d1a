internal import CFFI

/// A plain C function, made at run time, that calls another one with a context built in.
///
/// For callers that can pass a function but no userdata: `int32_t (*)(void *subject, void *ignored)`, the type
/// of transaction bodies and change handlers. Any number may be alive, on any thread. The code lives as long as
/// this object, and every call of it holds a reference: who lets go from inside a call loses nothing before the
/// call returns. About 34 ns a call.
package final class BoundFunction: @unchecked Sendable {
    package typealias Body = @convention(c) (UnsafeMutableRawPointer?, UnsafeMutableRawPointer?) -> Int32
    package typealias Release = @convention(c) (UnsafeMutableRawPointer?) -> Void

    /// What to call.
    package let function: Body
    private let body: Body
    private let userdata: UnsafeMutableRawPointer?
    private let release: Release?
    private let closure: UnsafeMutableRawPointer
    private let description: CallDescription

    /// One description for all: libffi only reads it.
    private static let shared: Result<CallDescription, StoreError> = Result { () throws(StoreError) in
        try CallDescription([.pointer, .pointer], returning: .int32)
    }

    /// - Parameter release: called once with `userdata`, when nothing calls the function any more; also when
    ///   this throws (outOfMemory: the system gives no executable memory).
    package init(_ body: @escaping Body, userdata: UnsafeMutableRawPointer?, release: Release?) throws(StoreError) {
        let made: (UnsafeMutableRawPointer, UnsafeMutableRawPointer, CallDescription)
        do throws(StoreError) {
            let description = try BoundFunction.shared.get()
            var code: UnsafeMutableRawPointer?
            guard let closure = ffi_closure_alloc(MemoryLayout<ffi_closure>.size, &code), let code else {
                throw StoreError(.outOfMemory, "the system gives no memory for the code of a bound function")
            }
            made = (closure, code, description)
        } catch {
            release?(userdata)
            throw error
        }
        closure = made.0
        function = unsafeBitCast(made.1, to: Body.self)
        description = made.2
        self.body = body
        self.userdata = userdata
        self.release = release
        let status = ffi_prep_closure_loc(
            closure.assumingMemoryBound(to: ffi_closure.self), description.cif, BoundFunction.enter,
            Unmanaged.passUnretained(self).toOpaque(), made.1)
        // Deinit frees and releases.
        guard status == FFI_OK else { throw StoreError(.internalError, "libffi made no closure (\(status))") }
    }

    deinit {
        ffi_closure_free(closure)
        release?(userdata)
    }

    /// Where every bound function arrives.
    private static let enter: @convention(c) (
        UnsafeMutablePointer<ffi_cif>?, UnsafeMutableRawPointer?, UnsafeMutablePointer<UnsafeMutableRawPointer?>?, UnsafeMutableRawPointer?
    ) -> Void = { _, result, arguments, context in
        let this = Unmanaged<BoundFunction>.fromOpaque(context!).takeUnretainedValue()
        let status = withExtendedLifetime(this) { this.body(arguments![0]!.load(as: UnsafeMutableRawPointer?.self), this.userdata) }
        // Results narrower than a word are written as a word.
        result!.storeBytes(of: ffi_sarg(status), as: ffi_sarg.self)
    }
}

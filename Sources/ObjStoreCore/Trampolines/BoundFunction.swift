internal import CFFI

/// A plain C function, made at run time, that calls another one with a context built in.
///
/// For callers that can pass a function but no userdata: `int32_t (*)(void *subject, void *ignored)`, the type
/// of transaction bodies and change handlers. Any number may be alive, on any thread. The code lives as long as
/// this object, and every call of it holds a reference: who lets go from inside a call loses nothing before the
/// call returns. About 34 ns a call.
package final class BoundFunction: @unchecked Sendable {
    package typealias Body = @convention(c) (UnsafeMutableRawPointer?, UnsafeMutableRawPointer?) -> Int32

    /// What to call.
    package let function: Body
    private let body: Body
    private let userdata: UnsafeMutableRawPointer?
    /// Of the userdata: goes with this object.
    private let owner: AnyObject?
    private let closure: UnsafeMutableRawPointer
    private let description: CallDescription

    /// One description for all: libffi only reads it.
    private static let shared: Result<CallDescription, StoreError> = Result { () throws(StoreError) in
        try CallDescription([.pointer, .pointer], returning: .int32)
    }

    /// - Parameter owner: let go of when nothing calls the function any more: whatever `userdata` belongs to.
    /// Errors: outOfMemory (the system gives no executable memory).
    package init(_ body: @escaping Body, userdata: UnsafeMutableRawPointer?, owner: AnyObject?) throws(StoreError) {
        description = try BoundFunction.shared.get()
        var code: UnsafeMutableRawPointer?
        guard let closure = ffi_closure_alloc(MemoryLayout<ffi_closure>.size, &code), let code else {
            throw StoreError(.outOfMemory, "the system gives no memory for the code of a bound function")
        }
        self.closure = closure
        function = unsafeBitCast(code, to: Body.self)
        self.body = body
        self.userdata = userdata
        self.owner = owner
        let status = ffi_prep_closure_loc(
            closure.assumingMemoryBound(to: ffi_closure.self), description.cif, BoundFunction.enter,
            Unmanaged.passUnretained(self).toOpaque(), code)
        // Deinit frees it.
        guard status == FFI_OK else { throw StoreError(.internalError, "libffi made no closure (\(status))") }
    }

    deinit {
        ffi_closure_free(closure)
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

internal import CFFI

/// Makes the call of a function of the application, and says what its status is.
package typealias CallAround = (() -> Int32) -> Int32

/// A plain C function, made at run time, that calls another one with a context built in.
///
/// For callers that can pass a function but no userdata: `int32_t (*)(void *subject, void *ignored)`, the type
/// of transaction bodies and change handlers. Any number may be alive, on any thread. Every call of it holds a
/// reference to what it calls: releasing it from inside a call frees nothing before the call returns. About 40 ns a
/// call.
///
/// The code outlives this object: a call that comes too late is answered with a status (`BoundCode`).
package final class BoundFunction: @unchecked Sendable {
    package typealias Body = @convention(c) (UnsafeMutableRawPointer?, UnsafeMutableRawPointer?) -> Int32

    /// What to call.
    package var function: Body { code.function }
    private let code: BoundCode

    /// - Parameters:
    ///   - around: makes each call; nil: it is made at once.
    ///   - owner: let go of when nothing calls the function any more: whatever `userdata` belongs to.
    ///   - codes: where its code comes from, which says what a call returns that comes when this object is gone.
    /// Errors: outOfMemory (the system gives no executable memory).
    package init(
        _ body: @escaping Body, userdata: UnsafeMutableRawPointer?, owner: AnyObject?, around: CallAround? = nil,
        codes: BoundCodes = .plain
    ) throws(StoreError) {
        code = try codes.take()
        code.begin(BoundCode.Target(body, userdata, owner, around))
    }

    deinit { code.end() }
}

/// The code of a bound function. It is never unmapped, and used again only when many others have ended since (first in,
/// first out), so a function that was kept too long finds its code closed.
///
/// ```
///  gate   63       62      …       0
///        ┌────────┬──────┬──────────┐   a call: +1 before, −1 after. Closing sets `closed`. Whoever brings the gate to
///        │ closed │ free │ calls    │   `closed` with no calls sets `free`, and lets go of what is called.
///        └────────┴──────┴──────────┘
/// ```
private final class BoundCode: @unchecked Sendable {
    fileprivate let function: BoundFunction.Body
    private let gate: SharedWord
    private let description: CallDescription
    private let codes: BoundCodes
    private var target: Unmanaged<Target>?

    fileprivate final class Target {
        let body: BoundFunction.Body
        let userdata: UnsafeMutableRawPointer?
        private let owner: AnyObject?
        let around: CallAround?

        init(
            _ body: @escaping BoundFunction.Body, _ userdata: UnsafeMutableRawPointer?, _ owner: AnyObject?,
            _ around: CallAround?
        ) {
            self.body = body
            self.userdata = userdata
            self.owner = owner
            self.around = around
        }
    }

    private static let closedBit: UInt64 = 1 << 63
    private static let freeBit: UInt64 = 1 << 62

    /// One description for all: libffi only reads it.
    private static let shared: Result<CallDescription, StoreError> = Result { () throws(StoreError) in
        try CallDescription([.pointer, .pointer], returning: .int32)
    }

    fileprivate init(_ codes: BoundCodes) throws(StoreError) {
        self.codes = codes
        description = try BoundCode.shared.get()
        var code: UnsafeMutableRawPointer?
        guard let closure = ffi_closure_alloc(MemoryLayout<ffi_closure>.size, &code), let code else {
            throw StoreError(.outOfMemory, "the system gives no memory for the code of a bound function")
        }
        function = unsafeBitCast(code, to: BoundFunction.Body.self)
        let word = UnsafeMutablePointer<UInt64>.allocate(capacity: 1)
        word.initialize(to: BoundCode.closedBit | BoundCode.freeBit)
        gate = SharedWord(word)
        // It is never freed from here on.
        let status = ffi_prep_closure_loc(
            closure.assumingMemoryBound(to: ffi_closure.self), description.cif, BoundCode.enter,
            Unmanaged.passRetained(self).toOpaque(), code)
        guard status == FFI_OK else { throw StoreError(.internalError, "libffi made no closure (\(status))") }
    }

    fileprivate func begin(_ target: Target) {
        self.target = Unmanaged.passRetained(target)
        // A call that comes too late leaves at once.
        while !gate.compareExchange(BoundCode.closedBit | BoundCode.freeBit, 0) {}
    }

    fileprivate func end() {
        _ = gate.add(BoundCode.closedBit)
        leave(0)
    }

    /// A call ends, or nothing of the kind (0).
    private func leave(_ calls: UInt64) {
        let left = gate.add(0 &- calls) &- calls
        guard left == BoundCode.closedBit, gate.compareExchange(left, left | BoundCode.freeBit) else { return }
        let last = target
        target = nil
        codes.put(self)
        last?.release()
    }

    /// Where every bound function arrives.
    private static let enter:
        @convention(c) (
            UnsafeMutablePointer<ffi_cif>?, UnsafeMutableRawPointer?, UnsafeMutablePointer<UnsafeMutableRawPointer?>?,
            UnsafeMutableRawPointer?
        ) -> Void = { _, result, arguments, context in
            let this = Unmanaged<BoundCode>.fromOpaque(context!).takeUnretainedValue()
            let status = this.call(arguments![0]!.load(as: UnsafeMutableRawPointer?.self))
            // Results narrower than a word are written as a word.
            result!.storeBytes(of: ffi_sarg(status), as: ffi_sarg.self)
        }

    private func call(_ subject: UnsafeMutableRawPointer?) -> Int32 {
        let isOpen = gate.add(1) & BoundCode.closedBit == 0
        defer { leave(1) }
        guard isOpen else { return codes.closed() }
        return target!._withUnsafeGuaranteedRef { target in
            guard let around = target.around else { return target.body(subject, target.userdata) }
            return around { target.body(subject, target.userdata) }
        }
    }
}

/// The codes of bound functions whose calls are answered alike once they have ended, and which of them may be used
/// again.
package final class BoundCodes: @unchecked Sendable {
    package static let plain = BoundCodes { StatusCode.closedHandle.rawValue }
    private static let leastWaiting = 256

    /// What a call returns that comes too late.
    fileprivate let closed: @Sendable () -> Int32
    private let lock = Lock()
    private var waiting: [BoundCode] = []
    private var first = 0

    package init(closed: @escaping @Sendable () -> Int32) { self.closed = closed }

    fileprivate func take() throws(StoreError) -> BoundCode {
        let old = lock.withLock { () -> BoundCode? in
            guard waiting.count - first > BoundCodes.leastWaiting else { return nil }
            let code = waiting[first]
            first += 1
            if first > BoundCodes.leastWaiting {
                waiting.removeFirst(first)
                first = 0
            }
            return code
        }
        if let old { return old }
        return try BoundCode(self)
    }

    /// Has ended: it waits till many others have.
    fileprivate func put(_ code: BoundCode) { lock.withLock { waiting.append(code) } }
}

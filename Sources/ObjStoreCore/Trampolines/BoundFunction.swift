internal import CFFI

/// Makes the call of a function of the application, and says what its status is.
package typealias CallAround = (() -> Int32) -> Int32

/// A plain C function, made at run time, that calls another one with a context built in.
///
/// For callers that can pass a function but no userdata. What it is called with is said by its shape. Any number may
/// be alive, on any thread. Every call of it holds a reference to what it calls: releasing it from inside a call, or
/// from another thread while one runs, frees nothing before the call returns. About 40 ns a call; 80 where the shape
/// is another one than two pointers or three.
///
/// The code outlives this object: a call that comes too late is answered with a status (`BoundCode`).
package final class BoundFunction: @unchecked Sendable {
    /// Of the shape `subject`, the most frequent one.
    package typealias Body = @convention(c) (UnsafeMutableRawPointer?, UnsafeMutableRawPointer?) -> Int32
    /// Of any shape; to be cast to that.
    package typealias Function = @convention(c) () -> Void

    /// What to call.
    package var plain: Function { code.function }
    /// The same, of the shape `subject`.
    package var function: Body { unsafeBitCast(code.function, to: Body.self) }
    private let code: BoundCode

    /// - Parameters:
    ///   - body: of the shape of `codes`.
    ///   - around: makes each call; nil: it is made at once.
    ///   - owner: let go of when nothing calls the function any more: whatever `userdata` belongs to.
    ///   - codes: where its code comes from, which says what a call returns that comes when this object is gone.
    /// Errors: outOfMemory (the system gives no executable memory).
    package init(
        _ body: @escaping Function, userdata: UnsafeMutableRawPointer?, owner: AnyObject?, around: CallAround? = nil,
        codes: BoundCodes
    ) throws(StoreError) {
        code = try codes.take()
        code.begin(BoundCode.Target(body, userdata, owner, around))
    }

    package convenience init(
        _ body: @escaping Body, userdata: UnsafeMutableRawPointer?, owner: AnyObject?
    ) throws(StoreError) {
        try self.init(unsafeBitCast(body, to: Function.self), userdata: userdata, owner: owner, codes: .plain)
    }

    deinit { code.end() }
}

/// The code of a bound function. It is never unmapped, and used again only when many others have ended since (first
/// in, first out), so a function that was kept too long finds its code closed.
///
/// ```
///  gate   63       62      …       0
///        ┌────────┬──────┬──────────┐   a call: +1 before, −1 after. Closing sets `closed`. Whoever brings the gate to
///        │ closed │ free │ calls    │   `closed` with no calls sets `free`, and lets go of what is called.
///        └────────┴──────┴──────────┘
/// ```
private final class BoundCode: @unchecked Sendable {
    fileprivate let function: BoundFunction.Function
    private let gate: SharedWord
    private let descriptions: BoundCodes.Descriptions
    private let codes: BoundCodes
    private var target: Unmanaged<Target>?

    fileprivate final class Target {
        let body: BoundFunction.Function
        let userdata: UnsafeMutableRawPointer?
        private let owner: AnyObject?
        let around: CallAround?

        init(
            _ body: @escaping BoundFunction.Function, _ userdata: UnsafeMutableRawPointer?, _ owner: AnyObject?,
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

    fileprivate init(_ codes: BoundCodes) throws(StoreError) {
        self.codes = codes
        descriptions = try codes.descriptions.get()
        var code: UnsafeMutableRawPointer?
        guard let closure = ffi_closure_alloc(MemoryLayout<ffi_closure>.size, &code), let code else {
            throw StoreError(.outOfMemory, "the system gives no memory for the code of a bound function")
        }
        function = unsafeBitCast(code, to: BoundFunction.Function.self)
        let word = UnsafeMutablePointer<UInt64>.allocate(capacity: 1)
        word.initialize(to: BoundCode.closedBit | BoundCode.freeBit)
        gate = SharedWord(word)
        // It is never freed from here on.
        let status = ffi_prep_closure_loc(
            closure.assumingMemoryBound(to: ffi_closure.self), descriptions.plain.cif, BoundCode.enter,
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
            let status = this.call(arguments!)
            // Results narrower than a word are written as a word.
            if this.codes.shape.result != .nothing { result!.storeBytes(of: ffi_sarg(status), as: ffi_sarg.self) }
        }

    private func call(_ arguments: UnsafeMutablePointer<UnsafeMutableRawPointer?>) -> Int32 {
        let isOpen = gate.add(1) & BoundCode.closedBit == 0
        defer { leave(1) }
        guard isOpen else {
            let status = codes.closed()
            return codes.shape.hasStatus ? status : 0
        }
        return target!._withUnsafeGuaranteedRef { target in
            guard let around = target.around else { return self.call(target, arguments) }
            return around { self.call(target, arguments) }
        }
    }

    private func call(_ target: Target, _ arguments: UnsafeMutablePointer<UnsafeMutableRawPointer?>) -> Int32 {
        typealias Pointer = UnsafeMutableRawPointer
        switch codes.shape {
        case .subject:
            let body = unsafeBitCast(target.body, to: BoundFunction.Body.self)
            return body(arguments[0]!.load(as: Pointer?.self), target.userdata)
        case .comparator:
            typealias Comparator = @convention(c) (Pointer?, Pointer?, Pointer?) -> Int32
            let body = unsafeBitCast(target.body, to: Comparator.self)
            return body(
                arguments[0]!.load(as: Pointer?.self), arguments[1]!.load(as: Pointer?.self), target.userdata)
        default: return forward(target, arguments)
        }
    }

    /// The same arguments, but for the userdata.
    private func forward(_ target: Target, _ arguments: UnsafeMutablePointer<UnsafeMutableRawPointer?>) -> Int32 {
        let description = descriptions.full
        return withUnsafeTemporaryAllocation(
            of: UnsafeMutableRawPointer?.self, capacity: description.argumentCount
        ) { given in
            for index in 0..<codes.shape.plainCount { given.initializeElement(at: index, to: arguments[index]) }
            var userdata = target.userdata
            return withUnsafeMutablePointer(to: &userdata) { userdata in
                given.initializeElement(at: codes.shape.userdata, to: UnsafeMutableRawPointer(userdata))
                var status: ffi_sarg = 0
                ffi_call(description.cif, target.body, &status, given.baseAddress)
                return Int32(truncatingIfNeeded: status)
            }
        }
    }
}

/// The codes of bound functions of one shape, whose calls are answered alike once they have ended, and which of them
/// may be used again.
package final class BoundCodes: @unchecked Sendable {
    package static let plain = BoundCodes(.subject) { StatusCode.closedHandle.rawValue }
    private static let leastWaiting = 256

    /// How the plain function is called, and how what it calls is. libffi only reads them.
    fileprivate struct Descriptions {
        let plain: CallDescription
        let full: CallDescription
    }

    fileprivate let shape: BoundShape
    fileprivate let descriptions: Result<Descriptions, StoreError>
    /// What a call returns that comes too late.
    fileprivate let closed: @Sendable () -> Int32
    private let lock = Lock()
    private var waiting: [BoundCode] = []
    private var first = 0

    package init(_ shape: BoundShape, closed: @escaping @Sendable () -> Int32) {
        self.shape = shape
        self.closed = closed
        descriptions = Result { () throws(StoreError) in
            let arguments = shape.arguments
            return Descriptions(
                plain: try CallDescription(Array(arguments.prefix(shape.plainCount)), returning: shape.result),
                full: try CallDescription(arguments, returning: shape.result))
        }
    }

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

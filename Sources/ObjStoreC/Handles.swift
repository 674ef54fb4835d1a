internal import CSystem
import CObjStore
internal import ObjStoreCore

/// What a handle refers to.
enum HandleKind: UInt64 {
    case store = 1
    case schema = 2
    case config = 3
    case view = 4
    case results = 5
    case changes = 6
    case token = 7
    case bound = 8
    case query = 9
    case table = 10
    case sections = 11
    case values = 12

    var name: String {
        [
            "closed handle", "store", "schema", "config", "view", "results", "change set", "token", "bound function",
            "query", "table", "sections", "values",
        ][
            Int(rawValue)]
    }
    var isPlural: Bool { self == .results || self == .sections || self == .values }
    /// Nothing but memory: the child of a fork uses its own copy.
    var survivesFork: Bool { self == .schema || self == .config || self == .table }
}

/// Handles: opaque words that name small headers, which are never unmapped, so that every misuse is found.
///
/// ```
///  handle   63          32 31           0        header (64 bytes)
///          ┌──────────────┬──────────────┐      ┌───────────────────┬───────┬────────┬──────┬───────────────┐
///          │ generation   │ index        │ ───► │ generation | kind │ birth │ object │ pins │ family, links │
///          └──────────────┴──────────────┘      └───────────────────┴───────┴────────┴──────┴───────────────┘
/// ```
/// A call is *inside* a handle in one of two ways:
/// - `use`: short, runs no callback, does not wait. The thread's record says where it is (see `cthread.h`):
///   no shared cache line is written.
/// - `pin`: may take long, or runs callbacks. Counted in the header.
///
/// Closing makes the kind 0, so that no more calls get in, then waits until none is inside, closes the
/// children in the same way, and gives the header a new generation.
enum Handles {
    private static func withLock<T>(_ body: () -> T) -> T {
        cs_global_lock(Int32(CS_LOCK_HANDLES))
        defer { cs_global_unlock(Int32(CS_LOCK_HANDLES)) }
        return body()
    }

    @inline(__always) private static func at(_ index: UInt32) -> UnsafeMutablePointer<cs_handle> { cs_handle_at(index) }

    // MARK: Opening

    /// Headers are used again first in, first out, and only when there are many: an old word finds its own header
    /// closed.
    private nonisolated(unsafe) static var firstFree: UInt32 = 0
    private nonisolated(unsafe) static var lastFree: UInt32 = 0
    private nonisolated(unsafe) static var freeCount = 0
    private static let minimumFree = 256

    /// Makes a handle that owns `object`, closed with `parent` at the latest.
    ///
    /// - Parameter isLent: to a callback, by a call that is inside `parent`: closing the parent waits for that call,
    ///   which ends the handle.
    static func open(
        _ kind: HandleKind, _ object: AnyObject, parent: OpaquePointer? = nil, isLent: Bool = false
    ) throws(StoreError) -> OpaquePointer {
        if cs_memory_is_low(), !cs_memory_refill() { throw memoryIsLow }
        // Handles may come before the first store, which would begin a new generation and make them the parent's.
        if cs_fork_generation() == 0, cs_fork_start() != 0 {
            throw StoreError(.outOfMemory, "no memory to notice a fork")
        }
        let index = withLock { () -> UInt32 in
            var index = firstFree
            if freeCount >= minimumFree {
                firstFree = at(index).pointee.next_free
                freeCount -= 1
            } else {
                index = cs_handle_new()
                if index == 0 { return 0 }
            }
            let header = at(index)
            header.pointee.birth = cs_fork_generation()
            header.pointee.object = UnsafeRawPointer(Unmanaged.passRetained(object).toOpaque())
            header.pointee.owner = UnsafeRawPointer(cs_thread_current())
            header.pointee.visited = 0
            header.pointee.is_lent = isLent ? 1 : 0
            header.pointee.first_child = 0
            header.pointee.parent = UInt32(truncatingIfNeeded: UInt(bitPattern: parent))
            header.pointee.previous = 0
            header.pointee.next = 0
            if parent != nil {
                let above = at(header.pointee.parent)
                header.pointee.next = above.pointee.first_child
                if above.pointee.first_child != 0 { at(above.pointee.first_child).pointee.previous = index }
                above.pointee.first_child = index
            }
            cs_store64(header, header.pointee.state & generationMask | kind.rawValue)
            return index
        }
        guard index != 0 else { throw StoreError(.outOfMemory, "there are too many handles") }
        return word(index)
    }

    static let generationMask: UInt64 = 0xffff_ffff_0000_0000

    private static func word(_ index: UInt32) -> OpaquePointer {
        OpaquePointer(bitPattern: UInt(at(index).pointee.state & generationMask | UInt64(index)))!
    }

    // MARK: Being inside

    /// Runs a short call on the object of a handle.
    ///
    /// - Parameter ends: it gives something back, and is not refused where memory is low.
    @inline(__always)
    static func use<Object: AnyObject>(
        _ handle: OpaquePointer?, _ kind: HandleKind, _ argument: StaticString, place: Int32 = Int32(CS_PLACE_HANDLE),
        ends: Bool = false,
        _ blame: @autoclosure () -> Blame = [:], _ body: (Object) throws(StoreError) -> Void
    ) -> objstore_status {
        let thread = cs_thread_current().unsafelyUnwrapped
        guard let header = cs_handle_of(UnsafeRawPointer(handle)) else { return misused(handle, kind, argument) }
        cs_enter(thread, place, header)
        cs_visit(thread, header)
        guard _fastPath(isOpen(header, handle, kind, thread)) else {
            cs_leave(thread, place)
            return misused(handle, kind, argument)
        }
        if _slowPath(cs_memory_is_low()), !ends, !cs_memory_refill() {
            cs_leave(thread, place)
            return report(memoryIsLow)
        }
        let failure = Unmanaged<Object>.fromOpaque(header.pointee.object.unsafelyUnwrapped)._withUnsafeGuaranteedRef {
            (object: Object) -> StoreError? in
            do throws(StoreError) {
                try body(object)
                return nil
            } catch {
                return error
            }
        }
        cs_leave(thread, place)
        if let failure { return report(failure, blame()) }
        return .OBJSTORE_OK
    }

    /// Runs a call that may take long or call back: what is closed inside the callback then gets an error.
    ///
    /// - Parameter ends: as of `use`.
    static func pin<Object: AnyObject>(
        _ handle: OpaquePointer?, _ kind: HandleKind, _ argument: StaticString, ends: Bool = false,
        _ blame: @autoclosure () -> Blame = [:],
        _ body: (Object) throws(StoreError) -> objstore_status
    ) -> objstore_status {
        let thread = cs_thread_current().unsafelyUnwrapped
        guard let header = cs_handle_of(UnsafeRawPointer(handle)) else { return misused(handle, kind, argument) }
        let pins = pinsWord(header), state = cs_cancel_off()
        cs_add64(pins, 1)
        defer {
            cs_add64(pins, ~0)
            cs_cancel_restore(state)
        }
        guard isOpen(header, handle, kind, thread) else { return misused(handle, kind, argument) }
        if cs_memory_is_low(), !ends, !cs_memory_refill() { return report(memoryIsLow) }
        var frame = cs_frame(
            handle: UInt64(UInt(bitPattern: handle)), store: root(header), outer: thread.pointee.frames)
        return withUnsafeMutablePointer(to: &frame) { (frame) -> objstore_status in
            thread.pointee.frames = frame
            defer { thread.pointee.frames = frame.pointee.outer }
            do throws(StoreError) {
                let object = Unmanaged<Object>.fromOpaque(header.pointee.object).takeUnretainedValue()
                return try body(object)
            } catch {
                return report(error, blame())
            }
        }
    }

    @inline(__always)
    private static func isOpen(
        _ header: UnsafeMutablePointer<cs_handle>, _ handle: OpaquePointer?, _ kind: HandleKind,
        _ thread: UnsafeMutablePointer<cs_thread>
    ) -> Bool {
        let expected = UInt64(UInt(bitPattern: handle)) & generationMask | kind.rawValue
        return cs_load64_acquire(header) == expected && thread.pointee.silent == 0
            && (header.pointee.birth == cs_fork_generation() || kind.survivesFork)
    }

    static var memoryIsLow: StoreError { StoreError(.outOfMemory, "the system has no memory left") }

    /// For a caller that stays inside of a handle when the call has returned: one more pin, which it has to remove.
    static func keepPin(_ handle: OpaquePointer) -> UnsafeMutablePointer<UInt64> {
        let pins = pinsWord(cs_handle_of(UnsafeRawPointer(handle))!)
        cs_add64(pins, 1)
        return pins.assumingMemoryBound(to: UInt64.self)
    }

    private static func pinsWord(_ header: UnsafeMutablePointer<cs_handle>) -> UnsafeMutableRawPointer {
        UnsafeMutableRawPointer(header) + MemoryLayout<cs_handle>.offset(of: \.pins)!
    }

    /// The handle that everything came from: a store, or the handle itself.
    private static func root(_ header: UnsafeMutablePointer<cs_handle>) -> UInt64 {
        var index = cs_handle_index(header)
        while at(index).pointee.parent != 0 { index = at(index).pointee.parent }
        return UInt64(index)
    }

    /// The handle that a handle came from.
    static func parent(_ handle: OpaquePointer) -> OpaquePointer? {
        guard let header = cs_handle_of(UnsafeRawPointer(handle)), header.pointee.parent != 0 else { return nil }
        return word(header.pointee.parent)
    }

    /// The store's handle that a handle came from.
    static func store(of handle: OpaquePointer) -> OpaquePointer {
        word(UInt32(truncatingIfNeeded: root(cs_handle_of(UnsafeRawPointer(handle))!)))
    }

    /// What is wrong with a handle that a call was refused.
    @inline(never)
    static func misused(_ handle: OpaquePointer?, _ kind: HandleKind, _ argument: StaticString) -> objstore_status {
        if isSilent { return fail(.inCallback, "\(argument): this callback must not call the library") }
        guard let handle else { return failNull(argument) }
        guard let header = cs_handle_of(UnsafeRawPointer(handle)) else {
            return fail(.wrongKind, "\(argument) is no handle")
        }
        let state = cs_load64_acquire(header)
        let word = UInt64(UInt(bitPattern: handle))
        if state & generationMask != word & generationMask || state & ~generationMask == 0 {
            return fail(.closedHandle, "\(argument): the \(kind.name) \(kind.isPlural ? "were" : "was") closed")
        }
        if header.pointee.birth != cs_fork_generation() {
            return fail(
                .forked,
                kind.isPlural
                    ? "\(argument): the \(kind.name) belong to the parent process; open the store anew after fork"
                    : """
                    \(argument): the \(kind.name) belongs to the parent process; open \
                    \(kind == .store ? "it" : "the store") anew after fork
                    """
            )
        }
        let actual = HandleKind(rawValue: state & ~generationMask)
        func one(_ kind: HandleKind) -> String { kind.isPlural ? kind.name : "a \(kind.name)" }
        return fail(.wrongKind, "\(argument) is \(actual.map(one) ?? "a handle of another library"), not \(one(kind))")
    }

    /// In a callback that may not call the library at all.
    static var isSilent: Bool { cs_thread_current().pointee.silent != 0 }

    // MARK: Closing

    enum Claim {
        case mine(AnyObject)
        case refused(objstore_status)
        /// Of the parent process: dead already.
        case inherited
    }

    /// Makes a handle closed, waits until no call is inside, closes its children; the caller then ends the object
    /// and calls `forget`.
    static func claim(_ handle: OpaquePointer, _ kind: HandleKind, _ argument: StaticString) -> Claim {
        guard !isSilent, let header = cs_handle_of(UnsafeRawPointer(handle)) else {
            return .refused(misused(handle, kind, argument))
        }
        let word = UInt64(UInt(bitPattern: handle))
        let expected = word & generationMask | kind.rawValue
        if cs_load64_acquire(header) == expected && header.pointee.birth != cs_fork_generation() && !kind.survivesFork {
            cs_store64(header, word & generationMask)
            return .inherited
        }
        if isInside(handle) {
            return .refused(
                fail(
                    .inCallback,
                    """
                    \(argument): the \(kind.name) \(kind.isPlural ? "are" : "is") in use by the call that runs this \
                    callback
                    """
                ))
        }
        guard cs_cas64(header, expected, word & generationMask) else {
            return .refused(misused(handle, kind, argument))
        }
        drain(header)
        return .mine(Unmanaged<AnyObject>.fromOpaque(header.pointee.object).takeUnretainedValue())
    }

    /// Whether a callback of this thread runs inside the handle or something that came from it.
    static func isInside(_ handle: OpaquePointer) -> Bool {
        let word = UInt64(UInt(bitPattern: handle))
        var frame = cs_thread_current().pointee.frames
        while let current = frame {
            if current.pointee.handle == word || current.pointee.store == word & 0xffff_ffff { return true }
            frame = current.pointee.outer
        }
        return false
    }

    /// Waits until no call is inside a closed header and all its children are gone, closing those. A child that is lent
    /// to a callback is left to the call that lent it, which is inside: what the callback does with it continues, also
    /// with its queries. So these are closed when no child is lent any more.
    private static func drain(_ header: UnsafeMutablePointer<cs_handle>) {
        var pause: Int64 = 1_000, hasQueriesOnly = false
        while true {
            let (child, hasNone) = withLock {
                (nextToClose(header.pointee.first_child, &hasQueriesOnly), header.pointee.first_child == 0)
            }
            if child != 0, closeChild(child) { continue }
            let wasVisited = cs_was_visited(cs_thread_current(), header)
            if wasVisited { cs_barrier_all_threads() }
            if hasNone, cs_load64(pinsWord(header)) == 0, !wasVisited || !cs_any_inside(header) { return }
            cs_sleep_ns(pause)
            pause = min(pause * 2, 1_000_000)
        }
    }

    /// Under the lock. 0: the only ones left are lent, or queries that are in use there.
    private static func nextToClose(_ first: UInt32, _ hasQueriesOnly: inout Bool) -> UInt32 {
        if hasQueriesOnly { return first }
        var index = first, query: UInt32 = 0, hasLent = false
        while index != 0 {
            if at(index).pointee.is_lent != 0 {
                hasLent = true
            } else if cs_load64(at(index)) & ~generationMask != HandleKind.query.rawValue {
                return index
            } else if query == 0 {
                query = index
            }
            index = at(index).pointee.next
        }
        if hasLent { return 0 }
        hasQueriesOnly = true
        return query
    }

    /// False: another thread is closing it.
    private static func closeChild(_ index: UInt32) -> Bool {
        let header = at(index)
        let state = cs_load64(header)
        if state & ~generationMask == 0 || !cs_cas64(header, state, state & generationMask) { return false }
        drain(header)
        let object = Unmanaged<AnyObject>.fromOpaque(header.pointee.object).takeUnretainedValue()
        (object as! any ClosedWithParent).closeWithParent()
        forget(OpaquePointer(bitPattern: UInt(state & generationMask | UInt64(index)))!)
        return true
    }

    /// Releases the object of a claimed handle, and makes the header free.
    static func forget(_ handle: OpaquePointer) {
        let index = UInt32(truncatingIfNeeded: UInt(bitPattern: handle))
        let header = at(index)
        Unmanaged<AnyObject>.fromOpaque(header.pointee.object).release()
        withLock {
            let (parent, previous, next) = (header.pointee.parent, header.pointee.previous, header.pointee.next)
            if previous != 0 {
                at(previous).pointee.next = next
            } else if parent != 0 {
                at(parent).pointee.first_child = next
            }
            if next != 0 { at(next).pointee.previous = previous }
            header.pointee.object = nil
            header.pointee.parent = 0
            header.pointee.next_free = 0
            // Generation 0 would make index 0...255 look like small numbers; any other is as good.
            cs_store64(header, (header.pointee.state &+ (1 << 32)) & generationMask)
            if freeCount == 0 { firstFree = index } else { at(lastFree).pointee.next_free = index }
            lastFree = index
            freeCount += 1
        }
    }

    /// Closes a handle whose object only needs to be released. NULL is fine.
    static func close(
        _ handle: OpaquePointer?, _ kind: HandleKind, _ argument: StaticString, _ body: (AnyObject) -> Void = { _ in }
    ) -> objstore_status {
        guard let handle else { return .OBJSTORE_OK }
        let state = cs_cancel_off()
        defer { cs_cancel_restore(state) }
        switch claim(handle, kind, argument) {
        case .refused(let status): return status
        case .inherited: return .OBJSTORE_OK
        case .mine(let object):
            body(object)
            forget(handle)
            return .OBJSTORE_OK
        }
    }
}

/// Objects of handles that can have a parent.
protocol ClosedWithParent: AnyObject {
    func closeWithParent()
}

extension View: ClosedWithParent {
    func closeWithParent() { close() }
}

/// The application's userdata and how it is released: exactly once, when the last reference goes.
final class Userdata: @unchecked Sendable {
    let pointer: UnsafeMutableRawPointer?
    private let free: objstore_free_userdata?

    init(_ pointer: UnsafeMutableRawPointer?, _ free: objstore_free_userdata?) {
        self.pointer = pointer
        self.free = free
    }

    deinit {
        if let free { Userdata.silently { free(pointer) } }
    }

    /// Calls a function of the application with the userdata; how it ended. Errors: those of `ApplicationCall`.
    func call(_ function: (UnsafeMutableRawPointer?) -> objstore_status) throws(StoreError) -> objstore_status {
        try ApplicationCall.run { status(function) }
    }

    /// The same of a function that must not call the library.
    func callSilently(_ function: (UnsafeMutableRawPointer?) -> objstore_status) throws(StoreError) -> objstore_status {
        let thread = cs_thread_current()!
        thread.pointee.silent += 1
        defer { thread.pointee.silent -= 1 }
        return try call(function)
    }

    /// The same inside of what `ApplicationCall` runs.
    ///
    /// One that must finish says so by objstore_finish: what it returns may be anything. Others may be called inside of
    /// it: it has not finished when they have.
    func status(_ function: (UnsafeMutableRawPointer?) -> objstore_status) -> objstore_status {
        let thread = cs_thread_current()!
        thread.pointee.was_left = false
        guard mustFinish else { return function(pointer) }
        thread.pointee.has_finished = false
        _ = function(pointer)
        let hasFinished = thread.pointee.has_finished
        thread.pointee.has_finished = false
        thread.pointee.was_left = !hasFinished
        if hasFinished { return unsafeBitCast(thread.pointee.finished_status, to: objstore_status.self) }
        return fail(.callback, "a callback was left before it had finished")
    }

    /// Whether the callback that returned last on this thread was left before it had finished.
    static var wasLeft: Bool { cs_thread_current()!.pointee.was_left }

    /// The same around a function that other code calls; nil where it would make no difference.
    var around: CallAround? {
        guard mustFinish else { return nil }
        return { call in self.status { _ in unsafeBitCast(call(), to: objstore_status.self) }.rawValue }
    }

    private var mustFinish: Bool {
        guard let free else { return false }
        let mark: objstore_free_userdata = objstore_must_finish
        return unsafeBitCast(free, to: UnsafeRawPointer.self) == unsafeBitCast(mark, to: UnsafeRawPointer.self)
    }

    /// Runs a callback that must not call the library.
    static func silently(_ body: () -> Void) {
        let thread = cs_thread_current()!
        thread.pointee.silent += 1
        ApplicationCall.runLast(body)
        thread.pointee.silent -= 1
    }
}

internal import CRuntime
internal import Glibc

// Property accessors, subscripts and `count` cannot throw. What goes wrong in them is never a crash and never
// silence (docs/decisions/0005-swift-setters.md):
//
//   inside Store.write or Store.checked on this thread   the call throws it when its body is done
//   after Store.beginWrite on this thread, or in this task   commitWrite throws it
//   elsewhere                                            Store.lastError, and Configuration.onError or a line on stderr

/// Collects what accessors report while a body runs on this thread; the innermost one gets it.
final class ErrorCollector {
    private(set) var first: ObjStoreError?

    func add(_ error: ObjStoreError) { if first == nil { first = error } }

    /// Runs `body` with this collector in place. What it throws itself comes before what was reported.
    func run<R>(_ body: () throws -> R) rethrows -> R {
        let outer = cr_collector()
        cr_set_collector(Unmanaged.passUnretained(self).toOpaque())
        defer { cr_set_collector(outer) }
        return try body()
    }

    /// What `body` gives; nil where what it reads was deleted or closed, maybe just now and by another thread, which is
    /// nothing to report. Everything else that `body` reports goes to `reports`.
    static func unlessGone<R>(_ reports: ErrorReports?, _ body: () -> R) -> R? {
        let collector = ErrorCollector(), result = collector.run(body)
        guard let error = collector.first else { return result }
        if error.code == .noSuchObject || error.code == .closedHandle { return nil }
        if let reports { reports.report(error) } else { ErrorReports.reportOfNoStore(error) }
        return result
    }

    /// The one that is in place on this thread.
    static var current: ErrorCollector? {
        cr_collector().map { Unmanaged<ErrorCollector>.fromOpaque($0).takeUnretainedValue() }
    }
}

/// Where a store's errors go that are not collected.
final class ErrorReports: Sendable {
    private let handler: (@Sendable (ObjStoreError) -> Void)?
    private let last = Guarded<ObjStoreError?>(nil)
    private let explicit = Guarded<ExplicitWrite?>(nil)

    private struct ExplicitWrite: @unchecked Sendable {
        let thread: UInt
        /// 0: none.
        let task: UInt64
        /// Of that thread alone.
        let collector: ErrorCollector
    }

    /// Of this thread, which is in a write without a body; not for what another task does there.
    var writer: ErrorCollector? {
        get {
            explicit.withLock { write in
                guard let write, write.thread == UInt(cr_thread_id()),
                    write.task == 0 || write.task == StoreHandle.currentTask
                else { return nil }
                return write.collector
            }
        }
        set {
            explicit.withLock {
                $0 = newValue.map {
                    ExplicitWrite(thread: UInt(cr_thread_id()), task: StoreHandle.currentTask, collector: $0)
                }
            }
        }
    }

    /// Of whichever thread.
    func forgetWriter() { explicit.withLock { $0 = nil } }

    init(_ handler: (@Sendable (ObjStoreError) -> Void)?) { self.handler = handler }

    var lastError: ObjStoreError? { last.withLock { $0 } }

    @inline(never)
    func report(_ error: ObjStoreError) {
        if let collector = ErrorCollector.current ?? writer { return collector.add(error) }
        tell(error)
    }

    /// The same of what is no failure of what this thread does.
    func tell(_ error: ObjStoreError) {
        last.withLock { $0 = error }
        guard let handler else { return ErrorReports.print(error) }
        // What the handler does wrong itself would call it again, without an end.
        let own = ErrorCollector()
        own.run { handler(error) }
        guard let further = own.first else { return }
        last.withLock { $0 = further }
        ErrorReports.print(further)
    }

    /// The same where no store is involved.
    static func reportOfNoStore(_ error: ObjStoreError) {
        if let collector = ErrorCollector.current { collector.add(error) } else { print(error) }
    }

    static func print(_ error: ObjStoreError) {
        let line = "objstore: \(error)\n"
        var text = line
        text.withUTF8 { _ = Glibc.write(2, $0.baseAddress, $0.count) }
    }
}

internal import CSystem
public import CObjStore
internal import ObjStoreCore

/// The application's callbacks of an operation on files.
private struct FileCallbacks {
    let progress: objstore_progress?
    let report: objstore_report?
    let userdata: Userdata

    func advance(_ done: UInt64, _ total: UInt64) throws(StoreError) {
        guard let progress else { return }
        try check(try userdata.call { progress(done, total, $0) }, "progress")
    }

    func tell(_ entry: ReportEntry) throws(StoreError) {
        guard let report else { return }
        var line = objstore_report_line()
        line.struct_size = UInt32(MemoryLayout<objstore_report_line>.size)
        var className = "", propertyName = ""
        switch entry {
        case .finding: line.kind = .OBJSTORE_REPORT_FINDING
        case .note: line.kind = .OBJSTORE_REPORT_NOTE
        case .cls(let name, let objects, let lost):
            line.kind = .OBJSTORE_REPORT_CLASS
            className = name
            line.objects = UInt64(objects)
            line.lost = lost.map(Int64.init) ?? -1
        case .property(let cls, let name, let lost):
            line.kind = .OBJSTORE_REPORT_PROPERTY
            (className, propertyName) = (cls, name)
            line.lost = Int64(lost)
        }
        let status = try userdata.call { context in
            FileCallbacks.withText(entry.text) { text in
                FileCallbacks.withText(className) { className in
                    FileCallbacks.withText(propertyName) { propertyName in
                        line.text = text
                        line.class_name = className
                        line.property_name = propertyName
                        return withUnsafePointer(to: line) { report($0, context) }
                    }
                }
            }
        }
        try check(status, "report")
    }

    private func check(_ status: objstore_status, _ callback: StaticString) throws(StoreError) {
        if status != .OBJSTORE_OK { throw cancelled(by: callback, status) }
    }

    /// NUL-terminated, beyond its length.
    private static func withText(_ string: String, _ body: (objstore_text) -> objstore_status) -> objstore_status {
        string.withCString { body(objstore_text(bytes: $0, length: Int64(string.utf8.count))) }
    }
}

@c @implementation
public func objstore_verify_file(
    _ path: objstore_text, _ progress: objstore_progress?, _ report: objstore_report?,
    _ userdata: UnsafeMutableRawPointer?,
    _ free_userdata: objstore_free_userdata?, _ findings: UnsafeMutablePointer<UInt64>?
) -> objstore_status {
    let userdata = Userdata(userdata, free_userdata)
    defer { withExtendedLifetime(userdata) {} }
    var first = "", count = 0
    let status = withoutHandle([.notFound: "path", .notAStore: "path", .busy: "path"]) { () throws(StoreError) in
        let callbacks = FileCallbacks(progress: progress, report: report, userdata: userdata)
        let check = try StoreFiles.verify(
            try ObjStoreC.path(path),
            progress: { (done, total) throws(StoreError) in try callbacks.advance(done, total) }
        ) { (entry) throws(StoreError) in
            if case .finding(let text) = entry, first.isEmpty { first = text }
            try callbacks.tell(entry)
        }
        count = check.findings
    }
    guard status == .OBJSTORE_OK else { return status }
    findings?.pointee = UInt64(count)
    return count == 0 ? .OBJSTORE_OK : fail(.corrupt, "\(count) findings, the first: \(first)")
}

@c @implementation
public func objstore_salvage(
    _ path: objstore_text, _ new_path: objstore_text, _ progress: objstore_progress?, _ report: objstore_report?,
    _ userdata: UnsafeMutableRawPointer?, _ free_userdata: objstore_free_userdata?,
    _ losses: UnsafeMutablePointer<UInt64>?
) -> objstore_status {
    let userdata = Userdata(userdata, free_userdata)
    defer { withExtendedLifetime(userdata) {} }
    return withoutHandle([
        .notFound: "path", .notAStore: "path", .busy: "path", .alreadyExists: "new_path", .invalidArgument: "new_path",
    ]) { () throws(StoreError) in
        let callbacks = FileCallbacks(progress: progress, report: report, userdata: userdata)
        let salvaged = try StoreFiles.salvage(
            try ObjStoreC.path(path), to: try ObjStoreC.path(new_path, "new_path"),
            progress: { (done, total) throws(StoreError) in try callbacks.advance(done, total) },
            report: { (entry) throws(StoreError) in try callbacks.tell(entry) })
        losses?.pointee = UInt64(salvaged.losses)
    }
}

@c @implementation
public func objstore_file_exists(_ path: objstore_text, _ exists: UnsafeMutablePointer<Bool>?) -> objstore_status {
    guard let exists else { return failNull("exists") }
    return withoutHandle([.notFound: "path"]) { () throws(StoreError) in
        exists.pointee = try StoreFiles.exists(try ObjStoreC.path(path))
    }
}

@c @implementation
public func objstore_delete_files(_ path: objstore_text) -> objstore_status {
    withoutHandle([.notFound: "path", .notAStore: "path", .busy: "path"]) { () throws(StoreError) in
        try StoreFiles.delete(try ObjStoreC.path(path))
    }
}

/// A call without a handle.
func withoutHandle(_ blame: Blame = [:], _ body: () throws(StoreError) -> Void) -> objstore_status {
    if Handles.isSilent { return fail(.inCallback, "this callback must not call the library") }
    let state = cs_cancel_off()
    defer { cs_cancel_restore(state) }
    do throws(StoreError) {
        if cs_memory_is_low(), !cs_memory_refill() { throw Handles.memoryIsLow }
        try body()
        return .OBJSTORE_OK
    } catch {
        return report(error, blame)
    }
}
